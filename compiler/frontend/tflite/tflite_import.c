/* Import of a TensorFlow Lite model: inputs, operators in the file's order (which is the
 * order they run in), outputs. Source: TensorFlow Lite, schema.fbs, version 3. */
#include "compiler/frontend/tflite/quant.h"
#include "compiler/frontend/frontend_inputs.h"

#include "compiler/frontend/frontend_internal.h"

#include <inttypes.h>
#include <string.h>

enum { EXTRA_OPS = 100000 }; /* beyond 16 for each operator of the file */

/* ---- names -------------------------------------------------------------------------- */

static kiln_str name_of(const kiln_tflite_cx *cx, size_t i) {
    const kiln_tflite_op *const op = cx->op;
    if (op == NULL || op->n_output == 0)
        return KILN_STR_LIT("value");
    const size_t k = i < op->n_output ? i : 0;
    KILN_ASSERT((size_t)op->output[k] < cx->g->n_tensor, "output %zu is tensor %d", k,
                (int)op->output[k]);
    return cx->g->tensor[op->output[k]].name;
}

static const char *node_name(kiln_import_cx *common, const void *site) {
    (void)site;
    return kiln_str_dupv(&common->scratch, name_of(kiln_tflite_of(common), 0));
}

static const char *out_name(kiln_import_cx *common, const void *site, int i) {
    (void)site;
    return kiln_str_dupv(&common->scratch, name_of(kiln_tflite_of(common), (size_t)i));
}

/* What no rule reads (tflite_counted.c): in branches and loops, too. */
static kiln_status refuse_bounded(kiln_import_cx *cx, kiln_value *const *in, int n_in) {
    for (int i = 0; i < n_in; i++)
        if (kiln_value_is_counted(in[i]))
            return kiln_fail(
                cx->err, KILN_ERR_UNSUPPORTED,
                "'%s' is as long as data has it, and is read where that has no rule; "
                "convert the model up to there",
                in[i]->name);
    return KILN_OK;
}

static const kiln_import_format format = {
    .node_name = node_name, .out_name = out_name, .may_read = refuse_bounded};

kiln_tflite_cx *kiln_tflite_of(kiln_import_cx *common) {
    _Static_assert(offsetof(kiln_tflite_cx, common) == 0, "they begin together");
    KILN_ASSERT(common->format == &format, "an import of another format");
    return (kiln_tflite_cx *)common;
}

/* ---- what an importer asks ---------------------------------------------------------- */

kiln_compose kiln_tflite_compose(kiln_tflite_cx *cx) {
    return (kiln_compose){.cx = &cx->common, .site = cx->op};
}

int kiln_tflite_n_in(const kiln_tflite_cx *cx) { return (int)cx->op->n_input; }
int kiln_tflite_n_out(const kiln_tflite_cx *cx) { return (int)cx->op->n_output; }

const kiln_tflite_tensor *kiln_tflite_in_tensor(const kiln_tflite_cx *cx, int i) {
    if (i < 0 || (size_t)i >= cx->op->n_input || cx->op->input[i] < 0)
        return NULL;
    KILN_ASSERT((size_t)cx->op->input[i] < cx->g->n_tensor, "input %d is tensor %d", i,
                (int)cx->op->input[i]);
    return &cx->g->tensor[cx->op->input[i]];
}

const kiln_tflite_tensor *kiln_tflite_out_tensor(const kiln_tflite_cx *cx, int i) {
    if (i < 0 || (size_t)i >= cx->op->n_output)
        return NULL;
    return &cx->g->tensor[cx->op->output[i]];
}

kiln_value *kiln_tflite_in(kiln_tflite_cx *cx, int i) {
    return kiln_tflite_in_tensor(cx, i) != NULL ? cx->in[i] : NULL;
}

kiln_status kiln_tflite_need(kiln_tflite_cx *cx, int i, const char *name,
                             kiln_value **out) {
    KILN_ASSERT(i >= 0 && name != NULL, "input %d is needed", i);
    *out = kiln_tflite_in(cx, i);
    if (*out == NULL)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "input %d ('%s') is missing", i,
                                name);
    return KILN_OK;
}

kiln_status kiln_tflite_need_ints(kiln_tflite_cx *cx, int i, const char *name,
                                  const int64_t **out, size_t *n) {
    kiln_value *v;
    KILN_TRY(kiln_tflite_need(cx, i, name, &v));
    return kiln_import_const_ints(&cx->common, v, name, out, n);
}

/* ---- results ------------------------------------------------------------------------ */

static kiln_status check_dtype(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                               const kiln_value *v) {
    kiln_dtype want;
    KILN_TRY(kiln_tflite_dtype(t->type, &want, cx->common.err));
    if (want == v->type.dtype)
        return KILN_OK;
    return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                            "the file declares its result as %s, but it is %s; is the "
                            "file damaged?",
                            kiln_dtype_name(want), kiln_dtype_name(v->type.dtype));
}

kiln_status kiln_tflite_set(kiln_tflite_cx *cx, int i, kiln_value *v) {
    const kiln_tflite_tensor *const t = kiln_tflite_out_tensor(cx, i);
    KILN_ASSERT(v != NULL, "output %d is set to nothing", i);
    if (t == NULL)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "output %d is missing", i);
    if (cx->in_steps && kiln_tflite_is_quantized(t) &&
        kiln_dtype_is_float(v->type.dtype)) {
        kiln_compose c = kiln_tflite_compose(cx);
        v = kiln_tflite_quantize(&c, v, t);
        KILN_TRY(c.status);
    }
    if (!kiln_tflite_is_complex(t))
        KILN_TRY(check_dtype(cx, t, v));
    cx->value[cx->op->output[i]] = v;
    return KILN_OK;
}

kiln_status kiln_tflite_end(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *v) {
    KILN_TRY(c->status);
    return kiln_tflite_set(cx, 0, v);
}

kiln_value *kiln_tflite_clip(kiln_compose *c, kiln_value *x, double low, double high) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", low),
                                  kiln_arg_float("max", high)};
    return kiln_compose_op(c, &kiln_op_clip, &x, 1, args, 2);
}

kiln_value *kiln_tflite_activate(kiln_compose *c, kiln_value *x, int64_t activation) {
    if (c->status != KILN_OK)
        return x;
    switch ((kiln_tflite_activation)activation) {
    case KILN_TFLITE_NONE:
        return x;
    case KILN_TFLITE_RELU:
        return kiln_compose_1(c, &kiln_op_relu, x);
    case KILN_TFLITE_RELU_N1_TO_1:
        return kiln_tflite_clip(c, x, -1, 1);
    case KILN_TFLITE_RELU6:
        return kiln_tflite_clip(c, x, 0, 6);
    case KILN_TFLITE_TANH:
        return kiln_compose_1(c, &kiln_op_tanh, x);
    case KILN_TFLITE_SIGN_BIT:
        break;
    }
    kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                                   "the fused activation %" PRId64 " is not read",
                                   activation));
    return x;
}

/* ---- operators ---------------------------------------------------------------------- */

/* Is a quantised tensor among those that the operator reads or makes? */
static bool has_quantized(const kiln_tflite_cx *cx) {
    for (int i = 0; i < kiln_tflite_n_in(cx); i++) {
        const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, i);
        if (t != NULL && kiln_tflite_is_quantized(t))
            return true;
    }
    for (int i = 0; i < kiln_tflite_n_out(cx); i++)
        if (kiln_tflite_is_quantized(kiln_tflite_out_tensor(cx, i)))
            return true;
    return false;
}

static kiln_status read_operands(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    cx->in = kiln_array(&cx->common.scratch, kiln_value *, cx->op->n_input);
    for (size_t i = 0; i < cx->op->n_input; i++) {
        if (cx->op->input[i] < 0 || kiln_tflite_keeps(cx, (int)i))
            continue;
        KILN_TRY(kiln_tflite_value(cx, cx->op->input[i], &cx->in[i]));
        const kiln_tflite_tensor *const t = &cx->g->tensor[cx->op->input[i]];
        if (cx->in_steps && kiln_tflite_is_quantized(t))
            cx->in[i] = kiln_tflite_dequantize(&c, cx->in[i], t);
    }
    return c.status;
}

static kiln_status run_importer(kiln_tflite_cx *cx) {
    KILN_TRY(kiln_fb_at(&cx->fb, cx->op->options, cx->row->options, &cx->opt));
    const bool is_quantized = has_quantized(cx);
    if (is_quantized && cx->row->quant == KILN_TFLITE_REFUSES)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "the operator is not read with quantised tensors; "
                                "convert the model without quantising it");
    bool done = false;
    const kiln_tflite_quant_import quant =
        is_quantized ? kiln_tflite_find_quant(cx->row->code) : NULL;
    cx->in_steps = false;
    KILN_TRY(read_operands(cx));
    if (quant != NULL)
        KILN_TRY(quant(cx, &done));
    if (!done && is_quantized && cx->row->quant == KILN_TFLITE_STEPS) {
        cx->in_steps = true;
        KILN_TRY(read_operands(cx));
    }
    if (!done)
        KILN_TRY(kiln_tflite_import_parts(cx, &done));
    if (!done)
        KILN_TRY(kiln_tflite_import_counted(cx, &done));
    if (!done)
        KILN_TRY(cx->row->import(cx));
    for (size_t i = 0; i < cx->op->n_output; i++)
        if (cx->value[cx->op->output[i]] == NULL)
            return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                    "output %zu of this operator is not computed by "
                                    "kiln",
                                    i);
    return KILN_OK;
}

static kiln_status import_op(kiln_tflite_cx *cx, const kiln_tflite_op *op) {
    const kiln_tflite_code *const code = &cx->model->code[op->code];
    const kiln_tflite_cx outer = *cx; /* importers of subgraphs come back here */
    if (--cx->ops_left < 0)
        return kiln_tflite_fail(
            cx, KILN_ERR_LIMIT,
            "writing out its subgraphs makes the model more than 16 "
            "times as large as the file");
    cx->op = op;
    cx->row = kiln_tflite_find(code);
    KILN_ASSERT(cx->row != NULL, "kiln_tflite_check_support let an operator pass");
    kiln_status st = run_importer(cx);
    if (st == KILN_ERR_ARG) /* what the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing node #%" PRId64 " ('%s', %s)", op->index,
                  kiln_import_show(&cx->common, name_of(cx, 0)),
                  kiln_tflite_code_name(&cx->common.scratch, code));
    cx->report->n_imported += st == KILN_OK;
    cx->op = outer.op;
    cx->row = outer.row;
    cx->opt = outer.opt;
    cx->in = outer.in;
    cx->in_steps = outer.in_steps;
    return st;
}

static kiln_status import_ops(kiln_tflite_cx *cx) {
    for (size_t i = 0; i < cx->g->n_op; i++)
        KILN_TRY(import_op(cx, &cx->g->op[i]));
    return KILN_OK;
}

/* ---- subgraphs ---------------------------------------------------------------------- */

/* With cx->g and cx->value those of the subgraph. */
static kiln_status fill_subgraph(kiln_tflite_cx *cx, kiln_value *const *in, size_t n_in,
                                 kiln_value **out) {
    if (cx->g->n_input != n_in)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "a subgraph takes %zu inputs, %zu are given",
                                cx->g->n_input, n_in);
    for (size_t i = 0; i < n_in; i++)
        cx->value[cx->g->input[i]] = in[i];
    KILN_TRY(import_ops(cx));
    for (size_t i = 0; i < cx->g->n_output; i++)
        KILN_TRY(kiln_tflite_value(cx, cx->g->output[i], &out[i]));
    return KILN_OK;
}

kiln_status kiln_tflite_inline(kiln_tflite_cx *cx, int64_t subgraph,
                               kiln_value *const *in, size_t n_in, kiln_value ***out,
                               size_t *n_out) {
    enum { MAX_DEPTH = KILN_MAX_REGION_DEPTH - 1 };
    const kiln_tflite_subgraph *const outer = cx->g;
    kiln_value **const value = cx->value;
    if (subgraph < 1 || (uint64_t)subgraph >= cx->model->n_subgraph)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "the file has no subgraph %" PRId64 " for an operator",
                                subgraph);
    if (cx->depth >= MAX_DEPTH)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT,
                                "subgraphs lie more than %d deep in each other",
                                MAX_DEPTH);
    cx->g = &cx->model->subgraph[subgraph];
    cx->ops_left -= (int64_t)cx->g->n_tensor / 8; /* they cost memory each time */
    cx->value = kiln_array(&cx->common.scratch, kiln_value *, cx->g->n_tensor);
    *n_out = cx->g->n_output;
    *out = kiln_array(&cx->common.scratch, kiln_value *, *n_out);
    cx->depth++;
    const kiln_status st = fill_subgraph(cx, in, n_in, *out);
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing subgraph %" PRId64, subgraph);
    cx->depth--;
    cx->g = outer;
    cx->value = value;
    return st;
}

/* ---- the model ---------------------------------------------------------------------- */

static kiln_status add_outputs(kiln_tflite_cx *cx) {
    if (cx->g->n_output == 0)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "the graph must have outputs");
    for (size_t i = 0; i < cx->g->n_output; i++) {
        kiln_compose c = kiln_tflite_compose(cx);
        const kiln_tflite_tensor *const t = &cx->g->tensor[cx->g->output[i]];
        kiln_value *v;
        if (kiln_tflite_is_complex(t))
            return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                    "output '%s' is complex: end the model with its "
                                    "parts, or its size",
                                    kiln_import_show(&cx->common, t->name));
        KILN_TRY(kiln_tflite_value(cx, cx->g->output[i], &v));
        v = kiln_compose_settled(&c, v);
        KILN_TRY(c.status);
        kiln_graph_add_output(cx->common.graph, v,
                              kiln_tflite_port_name(cx->common.arena, cx->g, false, i));
    }
    return KILN_OK;
}

static kiln_status import_model(kiln_tflite_cx *cx, kiln_graph **out) {
    kiln_tflite_model *const m = kiln_new(cx->common.arena, kiln_tflite_model);
    KILN_TRY(kiln_tflite_decode(&cx->fb, m));
    cx->model = m;
    cx->g = &m->subgraph[0];
    cx->report->producer = kiln_str_printable(cx->common.arena, m->description, 120);
    kiln_tflite_read_metadata(cx);
    KILN_TRY(kiln_tflite_check_support(cx));
    cx->common.graph = kiln_graph_new(
        cx->common.arena,
        cx->g->name.n > 0 ? kiln_str_dupv(cx->common.arena, cx->g->name) : "main");
    cx->value = kiln_array(&cx->common.scratch, kiln_value *, cx->g->n_tensor);
    KILN_TRY(kiln_tflite_bind_inputs(cx));
    cx->ops_left = EXTRA_OPS + 16 * (int64_t)cx->g->n_op;
    KILN_TRY(import_ops(cx));
    KILN_TRY(add_outputs(cx));
    KILN_TRY(kiln_tflite_add_states(cx));
    kiln_import_add_counts(&cx->common, cx->common.graph);
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    const kiln_import_options none = {0};
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_tflite_cx cx = {.options = o == NULL ? &none : o,
                         .report = report == NULL ? &unused : report};
    (void)dir;
    *cx.report = (kiln_import_report){.format = "tflite", .producer = ""};
    kiln_import_begin(&cx.common, &format, a, err == NULL ? &own : err);
    cx.fb = kiln_fb_begin(a, bytes, cx.common.err);
    const kiln_status st = import_model(&cx, out);
    if (st != KILN_OK)
        kiln_note(cx.common.err, "importing '%s'", name);
    kiln_import_make_printable(cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}

static const char *const extensions[] = {".tflite", ".lite", NULL};

const kiln_frontend kiln_frontend_tflite = {
    .name = "tflite",
    .doc = "TensorFlow Lite FlatBuffer, schema version 3",
    .extensions = extensions,
    .sniff = kiln_tflite_sniff,
    .import = import,
    .list_inputs = kiln_tflite_list_inputs,
    .survey = kiln_tflite_survey,
    .has_variables = true,
    .has_roundings = true,
};
