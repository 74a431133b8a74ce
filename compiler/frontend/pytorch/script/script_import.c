/* Import of TorchScript: the archive, the run of `forward`, its Graph. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <inttypes.h>

enum { MAX_RUNS = 16 /* one for each input whose type is found, and the last */ };

/* ---- names ----------------------------------------------------------------------- */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_script_site *const s = site;
    if (s == NULL)
        return "constant";
    return s->path[0] == '\0'
               ? kiln_str_dupv(&cx->scratch, s->op)
               : kiln_format(&cx->scratch, "%s.%.*s", s->path, KILN_STR_ARG(s->op));
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)i;
    return node_name(cx, site);
}

static const kiln_import_format format = {
    .node_name = node_name, .out_name = out_name, .may_read = kiln_aten_may_read};

/* ---- the archive ------------------------------------------------------------------ */

static kiln_status read_pickle(kiln_script_cx *cx, const char *name,
                               const kiln_pickle_value **out) {
    const kiln_str *const bytes =
        kiln_map_get(&cx->archive->entry, kiln_str_from(name));
    *out = NULL;
    return bytes == NULL
               ? KILN_OK
               : kiln_pickle_read(cx->kept, *bytes, name, out, cx->common.err);
}

static kiln_status check_archive(kiln_script_cx *cx) {
    const kiln_str *const order =
        kiln_map_get(&cx->archive->entry, KILN_STR_LIT("byteorder"));
    if (order != NULL && !kiln_str_is(*order, "little"))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "the archive's tensors are not little-endian; save it again "
                         "on a machine that is");
    KILN_TRY(read_pickle(cx, "data.pkl", &cx->root));
    KILN_TRY(read_pickle(cx, "constants.pkl", &cx->constants));
    if (cx->root == NULL || cx->root->kind != KILN_PICKLE_OBJECT ||
        !kiln_str_starts(cx->root->module, "__torch__"))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "the archive has no model (an object of '__torch__' in "
                         "data.pkl); is it damaged?");
    return KILN_OK;
}

static kiln_status find_forward(kiln_script_cx *cx, kiln_script_value *self,
                                const kiln_script_function **out) {
    const kiln_script_class *type = NULL;
    KILN_TRY(kiln_script_unpickle(cx, cx->root, "", self));
    KILN_TRY(kiln_script_find_class(cx, self->object->type, &type));
    *out = kiln_script_method(type, KILN_STR_LIT("forward"));
    if (*out != NULL && (*out)->n_params > 0)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "the model's class '%s' has no method 'forward'",
                     kiln_import_show(&cx->common, self->object->type));
}

/* ---- one run ---------------------------------------------------------------------- */

static kiln_status run(kiln_script_cx *cx, const char *name) {
    kiln_script_value self, result;
    const kiln_script_function *forward = NULL;
    kiln_script_args args;
    cx->common.graph = kiln_graph_new(cx->common.arena, kiln_path_base(name));
    KILN_TRY(find_forward(cx, &self, &forward));
    KILN_TRY(kiln_script_bind(cx, forward, &args));
    KILN_TRY(
        kiln_script_call_method(cx, &self, KILN_STR_LIT("forward"), &args, &result));
    KILN_TRY(kiln_script_add_outputs(cx, &result));
    cx->common.graph->facts |= KILN_TYPED;
    return KILN_OK;
}

/* What stays from run to run, and what begins again. */
typedef struct kept {
    kiln_arena arena;
    kiln_map files;
    kiln_dtype *dtype;
    bool *is_fixed;
} kept;

static void begin(kiln_script_cx *cx, kept *k, kiln_arena *a,
                  const kiln_script_archive *z, const kiln_import_options *o,
                  kiln_import_report *report, kiln_err *err) {
    static const kiln_import_options none = {.n_shapes = 0};
    *cx = (kiln_script_cx){.archive = z,
                           .options = o != NULL ? o : &none,
                           .report = report,
                           .kept = &k->arena,
                           .files = &k->files,
                           .input_dtype = k->dtype,
                           .is_input_fixed = k->is_fixed,
                           .path = "",
                           .steps_left = KILN_SCRIPT_MAX_STEPS};
    kiln_import_begin(&cx->common, &format, a, err);
}

kiln_status kiln_script_import_archive(kiln_arena *a, const kiln_script_archive *z,
                                       const char *name, const kiln_import_options *o,
                                       kiln_graph **out, kiln_import_report *report,
                                       kiln_err *err) {
    kept k = {.dtype = NULL};
    kiln_script_cx cx;
    kiln_status st = KILN_OK;
    for (int i = 0; i < MAX_RUNS; i++) {
        begin(&cx, &k, a, z, o, report, err);
        st = check_archive(&cx);
        if (st == KILN_OK)
            st = run(&cx, name);
        if (st == KILN_OK)
            *out = cx.common.graph;
        k.dtype = cx.input_dtype;
        k.is_fixed = cx.is_input_fixed;
        kiln_import_end(&cx.common);
        if (st == KILN_OK || !cx.is_again)
            break;
        kiln_err_clear(err);
        report->n_imported = 0;
    }
    kiln_arena_fini(&k.arena);
    if (st != KILN_OK)
        kiln_import_make_printable(err);
    return st;
}

kiln_status kiln_script_import(kiln_arena *a, kiln_str bytes, const char *name,
                               const kiln_import_options *o, kiln_graph **out,
                               kiln_import_report *report, kiln_err *err) {
    kiln_script_archive z;
    kiln_arena scratch = {0};
    kiln_status st = kiln_script_open(&scratch, bytes, &z, err);
    if (st == KILN_OK)
        st = kiln_script_import_archive(a, &z, name, o, out, report, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- what a file says of itself ------------------------------------------------------ */

static kiln_status look(kiln_script_cx *cx, const kiln_script_function **forward) {
    kiln_script_value self;
    KILN_TRY(check_archive(cx));
    cx->common.graph = kiln_graph_new(&cx->common.scratch, "look");
    return find_forward(cx, &self, forward);
}

/* Names live in scratch: the caller's arena gets copies. */
static kiln_status list_inputs(kiln_script_cx *cx, kiln_arena *a,
                               kiln_declared_input **out, size_t *n) {
    const kiln_script_function *forward = NULL;
    kiln_declared_input *in = NULL;
    KILN_TRY(look(cx, &forward));
    KILN_TRY(kiln_script_declared(cx, forward, &in, n));
    *out = kiln_array(a, kiln_declared_input, *n);
    for (size_t i = 0; i < *n; i++) {
        (*out)[i] = in[i];
        (*out)[i].name = kiln_str_dup(a, in[i].name);
    }
    return KILN_OK;
}

/* What is asked of a file: its inputs, or all that a survey tells. */
typedef struct question {
    kiln_arena *a;
    kiln_declared_input **input;
    size_t *n_inputs;
    kiln_model_survey *survey; /* NULL: inputs alone */
} question;

static kiln_status ask(const question *q, kiln_str bytes, kiln_err *err) {
    kiln_import_report report = {.format = "pytorch", .producer = ""};
    kiln_script_archive z;
    kiln_script_cx cx;
    kept k = {.dtype = NULL};
    kiln_err own_err = {0};
    err = err != NULL ? err : &own_err;
    begin(&cx, &k, q->a, &z, NULL, &report, err);
    kiln_status st = kiln_script_open(&cx.common.scratch, bytes, &z, err);
    if (st == KILN_OK)
        st = list_inputs(&cx, q->a, q->input, q->n_inputs);
    if (st == KILN_OK && q->survey != NULL)
        kiln_script_survey_code(&cx, q->a, q->survey);
    kiln_import_end(&cx.common);
    kiln_arena_fini(&k.arena);
    return st;
}

kiln_status kiln_script_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err) {
    (void)path;
    const question q = {.a = a, .input = out, .n_inputs = n};
    return ask(&q, bytes, err);
}

kiln_status kiln_script_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err) {
    (void)path;
    *out = (kiln_model_survey){.format = "pytorch", .producer = ""};
    const question q = {
        .a = a, .input = &out->input, .n_inputs = &out->n_inputs, .survey = out};
    return ask(&q, bytes, err);
}
