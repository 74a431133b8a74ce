/* Import of an ML program: the inputs of its function, operations in the file's order,
 * outputs. Weights are beside the file, as a Core ML package has them. Source:
 * MIL.proto. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/mlprogram/mil.h"

static const kiln_mil_row rows[] = {
#define KILN_MIL(name, importer, op) {#name, kiln_mil_import_##importer, op},
#include "compiler/frontend/mlprogram/mil_ops.def"
#undef KILN_MIL
};

const kiln_mil_row *kiln_mil_find(kiln_str type) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (kiln_str_is(type, rows[i].name))
            return &rows[i];
    return NULL;
}

/* ---- names ------------------------------------------------------------------------ */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_mil_op *const op = site;
    return op == NULL || op->n_output == 0 || op->output[0].name.n == 0
               ? "node"
               : kiln_str_dupv(&cx->scratch, op->output[0].name);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    const kiln_mil_op *const op = site;
    if (op == NULL || i < 0 || (size_t)i >= op->n_output || op->output[i].name.n == 0)
        return "value";
    return kiln_str_dupv(&cx->scratch, op->output[i].name);
}

static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

static const char *show(kiln_mil_cx *cx, const kiln_mil_op *op) {
    return kiln_format(
        &cx->common.scratch, "'%s' (%s)",
        op->n_output > 0 ? kiln_import_show(&cx->common, op->output[0].name) : "",
        kiln_import_show(&cx->common, op->type));
}

/* ---- operations ------------------------------------------------------------------- */

static bool is_const(const kiln_mil_op *op) { return kiln_str_is(op->type, "const"); }

static kiln_status check_support(kiln_mil_cx *cx) {
    const kiln_mil_block *const b = cx->program.block;
    for (size_t i = 0; i < b->n_op; i++)
        if (!is_const(&b->op[i]) &&
            (kiln_mil_find(b->op[i].type) == NULL || b->op[i].n_blocks > 0))
            kiln_import_add_unread(
                &cx->common, cx->report, kiln_import_show(&cx->common, b->op[i].type),
                b->op[i].n_output > 0
                    ? kiln_import_show(&cx->common, b->op[i].output[0].name)
                    : "");
    return kiln_import_check_unread(
        &cx->common, cx->report, "operation",
        "export the model as ONNX from the framework it was made in");
}

/* The value stands in attribute 'val'. */
static kiln_status import_const(kiln_mil_cx *cx, const kiln_mil_op *op) {
    kiln_mil_known *const known = kiln_new(&cx->common.scratch, kiln_mil_known);
    const kiln_mil_value *v = NULL;
    for (size_t i = 0; i < op->n_attribute; i++)
        if (kiln_str_is(op->attribute[i].key, "val"))
            v = op->attribute[i].value;
    if (op->n_output != 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "it must have one output");
    KILN_TRY(kiln_mil_const(cx, v, node_name(&cx->common, op), known));
    kiln_map_set(&cx->common.scratch, &cx->values, op->output[0].name, known);
    return KILN_OK;
}

static kiln_status import_op(kiln_mil_cx *cx, const kiln_mil_op *op) {
    if (is_const(op))
        return import_const(cx, op);
    kiln_mil_call k = {.cx = cx,
                       .op = op,
                       .row = kiln_mil_find(op->type),
                       .c = {.cx = &cx->common, .site = op}};
    KILN_ASSERT(k.row != NULL, "check_support let an operation pass");
    KILN_TRY(k.row->import(&k));
    KILN_TRY(k.c.status);
    for (size_t i = 0; i < op->n_output; i++)
        if (!kiln_map_has(&cx->values, op->output[i].name))
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "output %zu is not computed by kiln", i);
    return KILN_OK;
}

static kiln_status import_ops(kiln_mil_cx *cx) {
    const kiln_mil_block *const b = cx->program.block;
    for (size_t i = 0; i < b->n_op; i++) {
        kiln_status st = import_op(cx, &b->op[i]);
        if (st == KILN_ERR_ARG) /* what the file asked for: nobody else's fault */
            st = cx->common.err->status = KILN_ERR_PARSE;
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "importing operation %s", show(cx, &b->op[i]));
            return st;
        }
        cx->report->n_imported++;
    }
    return KILN_OK;
}

/* ---- ends ------------------------------------------------------------------------- */

static void declare(kiln_arena *a, const kiln_mil_named *n, kiln_declared_input *d) {
    const kiln_mil_tensor_type *const t = n->type != NULL ? n->type->tensor : NULL;
    *d = (kiln_declared_input){.name = kiln_str_dupv(a, n->name), .rank = -1};
    d->has_type = t != NULL && kiln_mil_dtype(t->dtype, &d->dtype, NULL) == KILN_OK;
    if (!d->has_type)
        d->what = t == NULL ? "no tensor" : "a tensor of elements that kiln has not";
    if (t == NULL || t->n_dim > KILN_MAX_RANK)
        return;
    d->rank = (int)t->n_dim;
    for (size_t i = 0; i < t->n_dim; i++) {
        const kiln_mil_size *const s = t->dim[i].constant;
        d->dim[i] =
            s != NULL && s->size <= (uint64_t)KILN_MAX_ELEMS ? (int64_t)s->size : -1;
    }
}

static kiln_declared_input *declare_all(kiln_arena *a, const kiln_mil_function *f) {
    kiln_declared_input *const in = kiln_array(a, kiln_declared_input, f->n_input);
    for (size_t i = 0; i < f->n_input; i++)
        declare(a, &f->input[i], &in[i]);
    return in;
}

static kiln_status add_inputs(kiln_mil_cx *cx) {
    kiln_arena *const a = &cx->common.scratch;
    const kiln_mil_function *const f = cx->program.function;
    kiln_value **const v = kiln_array(a, kiln_value *, f->n_input);
    KILN_TRY(kiln_import_bind_inputs(&cx->common, cx->options, declare_all(a, f),
                                     f->n_input, false, cx->report, v));
    for (size_t i = 0; i < f->n_input; i++) {
        kiln_mil_known *const known = kiln_new(a, kiln_mil_known);
        known->value = v[i];
        kiln_map_set(a, &cx->values, f->input[i].name, known);
    }
    return KILN_OK;
}

static kiln_status add_outputs(kiln_mil_cx *cx) {
    const kiln_mil_block *const b = cx->program.block;
    for (size_t i = 0; i < b->n_output; i++) {
        const kiln_mil_known *const known = kiln_map_get(&cx->values, b->output[i]);
        if (known == NULL || known->value == NULL)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "output '%s' is made by no operation",
                             kiln_import_show(&cx->common, b->output[i]));
        kiln_graph_add_output(cx->common.graph, known->value,
                              kiln_str_dupv(cx->common.arena, b->output[i]));
    }
    return b->n_output > 0 ? KILN_OK
                           : kiln_fail(cx->common.err, KILN_ERR_PARSE,
                                       "the program must have outputs");
}

/* ---- the model -------------------------------------------------------------------- */

static kiln_status run(kiln_mil_cx *cx, kiln_str bytes, const char *name) {
    KILN_TRY(kiln_mil_decode(&cx->common.scratch, bytes, &cx->program, cx->common.err));
    cx->report->ir_version = cx->program.spec;
    KILN_TRY(check_support(cx));
    cx->common.graph = kiln_graph_new(cx->common.arena, kiln_path_base(name));
    KILN_TRY(add_inputs(cx));
    KILN_TRY(import_ops(cx));
    KILN_TRY(add_outputs(cx));
    cx->common.graph->facts |= KILN_TYPED;
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_import_report own_report;
    kiln_err own = {0};
    kiln_mil_cx cx = {.options = o,
                      .report = report != NULL ? report : &own_report,
                      .dir = dir,
                      .model = name};
    *cx.report = (kiln_import_report){.format = "mlprogram", .producer = ""};
    kiln_import_begin(&cx.common, &format, a, err != NULL ? err : &own);
    const kiln_status st = run(&cx, bytes, name);
    if (st == KILN_OK)
        *out = cx.common.graph;
    else
        kiln_note(cx.common.err, "importing '%s'", name);
    kiln_import_make_printable(cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}

static kiln_status list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_mil_program p;
    (void)path;
    KILN_TRY(kiln_mil_decode(a, bytes, &p, err));
    *out = declare_all(a, p.function);
    *n = p.function->n_input;
    return KILN_OK;
}

static kiln_status survey(kiln_arena *a, kiln_str bytes, const char *path,
                          kiln_model_survey *out, kiln_err *err) {
    enum { SHOWN_BYTES = 80 };
    kiln_mil_program p;
    KILN_TRY(kiln_mil_decode(a, bytes, &p, err));
    *out = (kiln_model_survey){
        .format = "mlprogram", .producer = "", .ir_version = p.spec, .stride = 1};
    for (size_t i = 0; i < p.block->n_op; i++)
        if (!is_const(&p.block->op[i]))
            kiln_survey_add_op(a, out,
                               kiln_str_printable(a, p.block->op[i].type, SHOWN_BYTES),
                               kiln_mil_find(p.block->op[i].type) != NULL);
    kiln_survey_sort_ops(out);
    return list_inputs(a, bytes, path, &out->input, &out->n_inputs, err);
}

/* Where every constant of its operations lies in one file. */
static kiln_status list_data(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_import_locations *out, kiln_err *err) {
    static const char weights[] = "weights/weight.bin";
    (void)bytes;
    (void)err;
    if (kiln_file_exists(kiln_path_join(a, kiln_path_dir(a, path), weights)))
        kiln_vec_push(a, out, weights);
    return KILN_OK;
}

/* specificationVersion first, a description, and an ML program. */
static bool sniff(kiln_str bytes) {
    enum { ML_PROGRAM = 502 };
    bool is_first = true, is_program = false;
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        if (is_first && (w.number != 1 || w.type != 0))
            return false;
        is_first = false;
        is_program = is_program || (w.number == ML_PROGRAM && w.type == 2);
    }
    return bytes.n == 0 && is_program;
}

static const char *const extensions[] = {".mlpackage", NULL};

const kiln_frontend kiln_frontend_mlprogram = {
    .name = "mlprogram",
    .doc = "Core ML ML program, with its weights beside it",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
    .list_inputs = list_inputs,
    .survey = survey,
    .list_data = list_data,
};
