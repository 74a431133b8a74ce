/* ONNX conformance folders: every model.onnx below a folder, run on its test data sets
 * by the reference.
 *
 * Layout: the ONNX project's backend test data. Inputs that decide a shape are graph
 * inputs there, so every input's value is given to the importer as a hint.
 */
#include "pipeline/pipeline.h"
#include "compiler/pass/pass.h"

#include <string.h>

enum {
    MAX_DEPTH = 6,  /* folders below the one given */
    MAX_FILES = 64, /* inputs or outputs of one test */
    MAX_DATA_SETS = 16
};

/* The ONNX backend test runner's default tolerances. */
static const double default_rtol = 1e-3, default_atol = 1e-7;

typedef struct test {
    const char *name; /* path below the folder */
    const char *path;
    const char *group;
    double rtol, atol;
} test;

typedef KILN_VEC(test) test_list;

static kiln_status find_tests(kiln_arena *a, const char *dir, const char *name,
                              int depth, test_list *out, kiln_err *err) {
    if (kiln_file_exists(kiln_path_join(a, dir, "model.onnx"))) {
        const test t = {.name = name[0] != '\0' ? name : kiln_path_base(dir),
                        .path = dir,
                        .group = "",
                        .rtol = default_rtol,
                        .atol = default_atol};
        kiln_vec_push(a, out, t);
        return KILN_OK;
    }
    if (depth == MAX_DEPTH)
        return KILN_OK;
    char **entry = NULL;
    size_t n = 0;
    KILN_TRY(kiln_dir_list(a, dir, &entry, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *path = kiln_path_join(a, dir, entry[i]);
        if (!kiln_dir_exists(path))
            continue;
        const char *below =
            name[0] != '\0' ? kiln_path_join(a, name, entry[i]) : entry[i];
        KILN_TRY(find_tests(a, path, below, depth + 1, out, err));
    }
    return KILN_OK;
}

/* index.json: class, tier and tolerances by test name. */
static kiln_status read_index(kiln_arena *a, const char *dir, test_list *tests,
                              kiln_err *err) {
    const char *path = kiln_path_join(a, dir, "index.json");
    if (!kiln_file_exists(path))
        return KILN_OK;
    const kiln_json *doc = NULL;
    KILN_TRY(kiln_json_read(a, path, &doc, err));
    kiln_map by_name = {0};
    const kiln_json *list = kiln_json_get(doc, "tests");
    for (const kiln_json *j = kiln_json_first(list); j != NULL; j = kiln_json_next(j)) {
        const char *name = kiln_json_string(kiln_json_get(j, "name"), NULL);
        const char *class = kiln_json_string(kiln_json_get(j, "class"), "?");
        const char *tier = kiln_json_string(kiln_json_get(j, "tier"), NULL);
        if (name == NULL)
            continue;
        test *t = kiln_new(a, test);
        t->group = tier != NULL ? kiln_format(a, "class %s %s", class, tier)
                                : kiln_format(a, "class %s", class);
        t->rtol = kiln_json_number(kiln_json_get(j, "rtol"), default_rtol);
        t->atol = kiln_json_number(kiln_json_get(j, "atol"), default_atol);
        kiln_map_set(a, &by_name, kiln_str_from(name), t);
    }
    for (size_t i = 0; i < tests->n; i++) {
        const test *t = kiln_map_get(&by_name, kiln_str_from(tests->v[i].name));
        if (t == NULL)
            continue;
        tests->v[i].group = t->group;
        tests->v[i].rtol = t->rtol;
        tests->v[i].atol = t->atol;
    }
    return KILN_OK;
}

/* input_0.pb, input_1.pb, ... until one is missing. */
static kiln_status read_tensors(kiln_arena *a, const char *dir, const char *prefix,
                                kiln_tensor *out, size_t *n, kiln_err *err) {
    for (*n = 0; *n < MAX_FILES; ++*n) {
        const char *path =
            kiln_path_join(a, dir, kiln_format(a, "%s_%zu.pb", prefix, *n));
        if (!kiln_file_exists(path))
            return KILN_OK;
        KILN_TRY(kiln_tensor_read_onnx(a, path, &out[*n], err));
    }
    return kiln_fail(err, KILN_ERR_LIMIT, "'%s' holds more than %d %s files", dir,
                     MAX_FILES, prefix);
}

typedef struct data_set {
    kiln_tensor in[MAX_FILES], want[MAX_FILES];
    size_t n_in, n_want;
} data_set;

/* Imports the model for this data set: the shapes of the inputs are bound, their values
 * are hints. */
static kiln_status import_for(kiln_arena *a, const char *model, const data_set *d,
                              kiln_graph **out, kiln_err *err) {
    kiln_declared_input *in = NULL;
    size_t n = 0;
    KILN_TRY(kiln_import_inputs(a, model, &in, &n, err));
    if (d->n_in > n)
        return kiln_fail(err, KILN_ERR_PARSE, "%zu input files for %zu graph inputs",
                         d->n_in, n);
    kiln_shape_binding *shapes = kiln_array(a, kiln_shape_binding, d->n_in);
    kiln_value_binding *hints = kiln_array(a, kiln_value_binding, d->n_in);
    for (size_t i = 0; i < d->n_in; i++) {
        const kiln_type *t = &d->in[i].type;
        shapes[i] = (kiln_shape_binding){.name = in[i].name, .rank = t->rank};
        memcpy(shapes[i].dim, t->dim, sizeof t->dim);
        hints[i] = (kiln_value_binding){.name = in[i].name, .value = d->in[i]};
    }
    const kiln_import_options o = {
        .shapes = shapes, .n_shapes = d->n_in, .hints = hints, .n_hints = d->n_in};
    kiln_import_report report = {0};
    return kiln_import(a, model, &o, out, &report, err);
}

/* Bounded outputs, each of which has its count behind the model's own outputs. */
static size_t count_bounded(const kiln_graph *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->outputs.n; i++)
        n += g->outputs.v[i]->count != NULL;
    return n;
}

static kiln_status run_data_set(kiln_arena *a, const test *t, const char *dir,
                                const kiln_conformance_options *o, kiln_check *check,
                                kiln_err *err) {
    data_set *d = kiln_new(a, data_set);
    const char *model = kiln_path_join(a, t->path, "model.onnx");
    kiln_declared_input *in = NULL;
    size_t n = 0;
    /* The model first: what it asks for names the reason better than an unreadable
     * tensor. */
    KILN_TRY(kiln_import_inputs(a, model, &in, &n, err));
    for (size_t i = 0; i < n; i++)
        if (!in[i].has_type)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "input '%s' must be a tensor of numbers or bool, is %s",
                             in[i].name, in[i].what);
    KILN_TRY(read_tensors(a, dir, "input", d->in, &d->n_in, err));
    kiln_graph *g = NULL;
    KILN_TRY(import_for(a, model, d, &g, err));
    KILN_TRY(read_tensors(a, dir, "output", d->want, &d->n_want, err));
    const size_t n_out = g->outputs.n - count_bounded(g);
    if (g->inputs.n != d->n_in || n_out != d->n_want || d->n_want == 0)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "the graph has %zu inputs and %zu outputs, the data %zu and %zu",
            g->inputs.n, n_out, d->n_in, d->n_want);
    const kiln_pass_options passes = {
        .verify = true, .check = o->check_passes, .check_seed = 1};
    if (o->optimize)
        KILN_TRY(kiln_graph_optimize(g, &passes, err));
    kiln_tensor *got = kiln_array(a, kiln_tensor, g->outputs.n);
    const kiln_runner *r = o->runner != NULL ? o->runner : &kiln_runner_reference;
    KILN_TRY(r->run(r->user, a, g, d->in, d->n_in, got, err));
    for (size_t i = 0; i < d->n_want; i++) {
        const kiln_tensor rows = kiln_counted_rows(a, g->output_names.v, got,
                                                   g->outputs.n, i, &d->want[i].type);
        KILN_TRY(kiln_check_compare(a, check, g->output_names.v[i], &rows, &d->want[i],
                                    t->rtol, t->atol, err));
    }
    return KILN_OK;
}

static kiln_status run_test(kiln_arena *a, const test *t,
                            const kiln_conformance_options *o, kiln_check *check,
                            kiln_err *err) {
    int n_sets = 0;
    for (; n_sets < MAX_DATA_SETS; n_sets++) {
        const char *dir =
            kiln_path_join(a, t->path, kiln_format(a, "test_data_set_%d", n_sets));
        if (!kiln_dir_exists(dir))
            break;
        KILN_TRY(run_data_set(a, t, dir, o, check, err));
    }
    if (n_sets == 0)
        return kiln_fail(err, KILN_ERR_IO, "'%s' has no test_data_set_0", t->path);
    return KILN_OK;
}

/* The chain on one line: reasons are table cells. */
static const char *one_line(kiln_arena *a, const char *text) {
    char *line = kiln_str_dup(a, text);
    for (char *p = line; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
    return line;
}

kiln_status kiln_verify_conformance(kiln_arena *a, const char *dir,
                                    const kiln_conformance_options *o, kiln_checks *out,
                                    kiln_err *err) {
    test_list tests = {0}, chosen = {0};
    KILN_TRY(find_tests(a, dir, "", 0, &tests, err));
    KILN_TRY(read_index(a, dir, &tests, err));
    for (size_t i = 0; i < tests.n; i++)
        if (o->filter == NULL || strstr(tests.v[i].name, o->filter) != NULL)
            kiln_vec_push(a, &chosen, tests.v[i]);
    if (chosen.n == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' holds no conformance test%s%s: a test is a folder with "
                         "model.onnx and test_data_set_0",
                         dir, o->filter != NULL ? " whose name contains " : "",
                         o->filter != NULL ? o->filter : "");
    kiln_arena each;
    kiln_arena_init(&each);
    for (size_t i = 0; i < chosen.n; i++) {
        const test *t = &chosen.v[i];
        kiln_check c = {.name = t->name, .group = t->group, .reason = ""};
        kiln_err why = {0};
        const int64_t begin = kiln_now_ns();
        const kiln_status st = run_test(&each, t, o, &c, &why);
        c.time_ms = (kiln_now_ns() - begin) / 1000000;
        if (st != KILN_OK) {
            c.outcome = st == KILN_ERR_UNSUPPORTED ? KILN_UNSUPPORTED : KILN_FAILED;
            c.reason = why.text;
        }
        c.reason = one_line(a, c.reason); /* out of the arena that is reset */
        kiln_checks_add(a, out, &c);
        if (o->progress != NULL)
            o->progress(o->user, &c, i + 1, chosen.n);
        kiln_arena_reset(&each);
    }
    kiln_arena_fini(&each);
    return KILN_OK;
}
