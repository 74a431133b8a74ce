/* --shape, --bind, --rounding: what the user says about a model's inputs. */
#include "cli/cli.h"
#include "pipeline/pipeline.h"

#include <string.h>

/* Names may hold colons ("input:0"), so the last separator counts. */
static bool split_last(kiln_str text, char separator, kiln_str *name, kiln_str *value) {
    for (size_t i = text.n; i-- > 0;) {
        if (text.p[i] != separator)
            continue;
        *name = (kiln_str){text.p, i};
        *value = (kiln_str){text.p + i + 1, text.n - i - 1};
        return name->n > 0;
    }
    return false;
}

kiln_status kiln_cli_shape_binding(kiln_arena *a, const char *text,
                                   kiln_shape_binding *out, kiln_err *err) {
    kiln_str name, dims, word;
    if (!split_last(kiln_str_from(text), ':', &name, &dims))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--shape must be NAME:DIMS such as x:1x3x224x224, is '%s'",
                         text);
    kiln_shape_binding b = {.name = kiln_str_dupv(a, name)};
    const bool is_scalar = dims.n == 0;
    while (!is_scalar && kiln_str_cut(&dims, 'x', &word)) {
        int64_t d = 0;
        if (!kiln_parse_i64(word, &d) || d < 0 || d > KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_ARG,
                             "--shape %s: '%.*s' is not a dimension; write DIMS as "
                             "1x3x224x224, none for one number",
                             text, KILN_STR_ARG(word));
        if (b.rank == KILN_MAX_RANK)
            return kiln_fail(err, KILN_ERR_LIMIT, "--shape %s: at most %d dimensions",
                             text, KILN_MAX_RANK);
        b.dim[b.rank++] = d;
    }
    *out = b;
    return KILN_OK;
}

static const kiln_declared_input *find_input(const kiln_declared_input *in, size_t n,
                                             const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(in[i].name, name) == 0)
            return &in[i];
    return NULL;
}

/* One number for every element. */
static kiln_status scalar_of(kiln_arena *a, const char *name, kiln_str value,
                             const kiln_type *t, kiln_tensor *out, kiln_err *err) {
    KILN_TRY(kiln_type_check(t, err));
    kiln_wide w = kiln_wide_new(a, t);
    double f = 0;
    KILN_ASSERT((w.f != NULL) != (w.i != NULL), "'%s' is of numbers of one kind", name);
    int64_t v = 0;
    const bool is_int = kiln_parse_i64(value, &v);
    if (!is_int && !(w.f != NULL && kiln_parse_f64(value, &f)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--bind %s: '%.*s' is neither %s nor a file", name,
                         KILN_STR_ARG(value), w.f != NULL ? "a number" : "an integer");
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        if (w.f != NULL)
            w.f[i] = is_int ? (double)v : f;
        else
            w.i[i] = v;
    }
    *out = kiln_tensor_new(a, t);
    kiln_narrow(&w, out->data);
    return KILN_OK;
}

/* Scalar text takes the dtype that the model declares, and the shape where all of it is
 * static. */
static kiln_status scalar_binding(kiln_arena *a, const char *model, const char *name,
                                  kiln_str value, kiln_tensor *out, kiln_err *err) {
    kiln_declared_input *in = NULL;
    size_t n = 0;
    KILN_TRY(kiln_source_path(a, model, &model, err));
    KILN_TRY(kiln_import_inputs(a, model, &in, &n, err));
    const kiln_declared_input *d = find_input(in, n, name);
    if (d == NULL || !d->has_type)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--bind %s: the model has no tensor input '%s'", name, name);
    int rank = d->rank < 0 ? 0 : d->rank;
    for (int i = 0; i < rank; i++)
        if (d->dim[i] < 0)
            return kiln_fail(
                err, KILN_ERR_ARG,
                "--bind %s: axis %d of the input is dynamic; give a tensor "
                "file (%s=FILE.npy)",
                name, i, name);
    const kiln_type t = kiln_type_make(d->dtype, rank, d->dim);
    return scalar_of(a, name, value, &t, out, err);
}
/* Where a number is given, whoever knows the input's type makes a tensor of it. */
typedef kiln_status number_fn(kiln_arena *a, const void *user, const char *name,
                              kiln_str value, kiln_tensor *out, kiln_err *err);

static kiln_status read_binding(kiln_arena *a, const char *text, number_fn *number,
                                const void *user, kiln_value_binding *out,
                                kiln_err *err) {
    kiln_str name, value;
    if (!split_last(kiln_str_from(text), '=', &name, &value))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--bind must be NAME=VALUE or NAME=FILE, is '%s'", text);
    kiln_value_binding b = {.name = kiln_str_dupv(a, name)};
    const char *path = kiln_str_dupv(a, value);
    if (kiln_str_ends(value, ".npy"))
        KILN_TRY(kiln_tensor_read_npy(a, path, &b.value, err));
    else if (kiln_str_ends(value, ".pb"))
        KILN_TRY(kiln_tensor_read_onnx(a, path, &b.value, err));
    else
        KILN_TRY(number(a, user, b.name, value, &b.value, err));
    *out = b;
    return KILN_OK;
}

static kiln_status number_of_model(kiln_arena *a, const void *model, const char *name,
                                   kiln_str value, kiln_tensor *out, kiln_err *err) {
    return scalar_binding(a, model, name, value, out, err);
}

kiln_status kiln_cli_value_binding(kiln_arena *a, const char *model, const char *text,
                                   kiln_value_binding *out, kiln_err *err) {
    return read_binding(a, text, number_of_model, model, out, err);
}

static kiln_status number_of_package(kiln_arena *a, const void *facts, const char *name,
                                     kiln_str value, kiln_tensor *out, kiln_err *err) {
    const kiln_package_facts *const f = facts;
    for (size_t i = 0; i < f->n_fixed; i++) {
        kiln_str rest = kiln_str_from(f->fixed[i].type);
        kiln_type t;
        if (strcmp(f->fixed[i].name, name) != 0)
            continue;
        KILN_TRY(kiln_type_parse(&rest, &t, err));
        return scalar_of(a, name, value, &t, out, err);
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "--bind %s: the package was built without a value for such an "
                     "input; kiln inspect shows its inputs",
                     name);
}

kiln_status kiln_cli_package_binding(kiln_arena *a, const kiln_package_facts *f,
                                     const char *text, kiln_value_binding *out,
                                     kiln_err *err) {
    return read_binding(a, text, number_of_package, f, out, err);
}

static kiln_status read_rounding(const char *word, bool *as_reference, kiln_err *err) {
    *as_reference = strcmp(word, "reference") == 0;
    if (!*as_reference && strcmp(word, "default") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--rounding must be 'default' or 'reference', is '%s'", word);
    return KILN_OK;
}

kiln_status kiln_cli_import_options(const kiln_cli_args *args, const char *model,
                                    const kiln_cli_import_at *at,
                                    kiln_import_options *out, kiln_err *err) {
    KILN_ASSERT(at->shape != at->bind, "shapes and values are option %d", at->bind);
    kiln_arena *a = args->arena;
    const size_t n_shapes = args->n_value[at->shape],
                 n_values = args->n_value[at->bind];
    kiln_shape_binding *shapes = kiln_array(a, kiln_shape_binding, n_shapes);
    kiln_value_binding *values = kiln_array(a, kiln_value_binding, n_values);
    for (size_t i = 0; i < n_shapes; i++)
        KILN_TRY(kiln_cli_shape_binding(a, args->value[at->shape][i], &shapes[i], err));
    for (size_t i = 0; i < n_values; i++)
        KILN_TRY(kiln_cli_value_binding(a, model, args->value[at->bind][i], &values[i],
                                        err));
    *out = (kiln_import_options){
        .shapes = shapes, .n_shapes = n_shapes, .values = values, .n_values = n_values};
    if (at->signature >= 0)
        out->signature = kiln_args_get(args, at->signature, NULL);
    out->has_state = at->state >= 0 && kiln_args_has(args, at->state);
    if (at->rounding < 0)
        return KILN_OK;
    return read_rounding(kiln_args_get(args, at->rounding, "default"),
                         &out->as_reference, err);
}
