/* Import of an MXNet model: variables, nodes in the symbol's order, heads. Source:
 * apache/mxnet 1.9, its operators' documentation and shape inference. */
#include "compiler/frontend/mxnet/mxnet.h"
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <string.h>

#define ALL SIZE_MAX
static const kiln_mx_row rows[] = {
#define KILN_MX(op, importer, emits, min_in, n_data)                                   \
    {op, kiln_mx_import_##importer, emits, min_in, n_data, false},
#define KILN_MX_JUDGED(op, importer, min_in, n_data)                                   \
    {op, kiln_mx_import_##importer, NULL, min_in, n_data, true},
#include "compiler/frontend/mxnet/mxnet_ops.def"
#undef KILN_MX_JUDGED
#undef KILN_MX
};

const kiln_mx_row *kiln_mx_find(const char *op) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(op, rows[i].op) == 0)
            return &rows[i];
    return NULL;
}

/* ---- names ----------------------------------------------------------------------- */

static const char *show(kiln_mx_cx *cx, const char *name) {
    return kiln_import_show(&cx->common, kiln_str_from(name));
}

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_mx_node *const n = site;
    return kiln_str_dup(&cx->scratch, n->name);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    const kiln_mx_node *const n = site;
    return i == 0 ? kiln_str_dup(&cx->scratch, n->name)
                  : kiln_format(&cx->scratch, "%s_output%d", n->name, i);
}

static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

/* ---- for importers --------------------------------------------------------------- */

kiln_status kiln_mx_axis(kiln_mx_cx *cx, const char *what, int64_t given, int limit,
                         int *out) {
    const int64_t axis = given < 0 && given >= -limit ? given + limit : given;
    if (axis < 0 || axis >= limit)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'%s' must be in [-%d, %d), is %" PRId64, what, limit, limit,
                         given);
    *out = (int)axis;
    return KILN_OK;
}

const char *kiln_mx_shape(kiln_mx_cx *cx, const kiln_value *v) {
    return kiln_shape_text(&cx->common.scratch, v->type.rank, v->type.dim);
}

kiln_status kiln_mx_need_rank(kiln_mx_cx *cx, const kiln_value *x, int min_rank) {
    if (x->type.rank >= min_rank)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its input must have %d axes at least, has shape %s", min_rank,
                     kiln_mx_shape(cx, x));
}

kiln_status kiln_mx_need_channels_first(kiln_mx_cx *cx, const kiln_mx_node *n) {
    const char *const text = kiln_mx_text(cx, n, "layout");
    if (text == NULL || strcmp(text, "NCW") == 0 || strcmp(text, "NCHW") == 0 ||
        strcmp(text, "NCDHW") == 0)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "attribute 'layout' must be NCW, NCHW or NCDHW, is '%s'; make the "
                     "model with channels first",
                     show(cx, text));
}

/* ---- nodes ----------------------------------------------------------------------- */

static kiln_status read_input(kiln_mx_cx *cx, const kiln_mx_node *n, size_t i,
                              kiln_value **out) {
    const kiln_mx_entry e = n->in[i];
    KILN_ASSERT(e.node < n->index, "node %zu reads what comes behind it", n->index);
    const kiln_mx_values *const made = &cx->made[e.node];
    if (e.index >= made->n)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "input %zu is output %zu of node '%s', which kiln does not "
                         "compute",
                         i, e.index, show(cx, cx->symbol->node[e.node].name));
    *out = made->v[e.index];
    return KILN_OK;
}

static kiln_status run_importer(kiln_mx_cx *cx, const kiln_mx_node *n) {
    const kiln_mx_row *const row = cx->row;
    kiln_mx_node seen = *n;
    KILN_ASSERT(n->index < cx->symbol->n_node, "node %zu of %zu", n->index,
                cx->symbol->n_node);
    kiln_mx_values *const out = &cx->made[n->index];
    if (row->has_labels && seen.n_in > row->n_data)
        seen.n_in = row->n_data;
    if (seen.n_in < row->min_in)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have %zu inputs at least, has %zu", row->min_in,
                         seen.n_in);
    kiln_value **const in =
        kiln_array(&cx->common.scratch, kiln_value *, seen.n_in + 1);
    for (size_t i = 0; i < seen.n_in; i++)
        KILN_TRY(read_input(cx, &seen, i, &in[i]));
    *out = (kiln_mx_values){kiln_array(&cx->common.scratch, kiln_value *, 1), 1};
    cx->attrs_read = 0;
    cx->attr_err = (kiln_err){0};
    const kiln_status st = row->import(cx, &seen, in, out);
    if (cx->attr_err.status != KILN_OK) {
        *cx->common.err = cx->attr_err; /* the cause of what came after */
        return cx->attr_err.status;
    }
    KILN_TRY(st);
    KILN_ASSERT(out->v[0] != NULL, "the importer of '%s' made nothing", row->op);
    return kiln_mx_check_attrs(cx, n);
}

static kiln_status import_node(kiln_mx_cx *cx, const kiln_mx_node *n) {
    cx->row = kiln_mx_find(n->op);
    KILN_ASSERT(cx->row != NULL, "check_support let an operator pass");
    kiln_status st = run_importer(cx, n);
    if (st == KILN_ERR_ARG) /* a call that the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing node '%s' (%s)", show(cx, n->name),
                  show(cx, n->op));
    cx->report->n_imported += st == KILN_OK;
    return st;
}

static kiln_status check_support(kiln_mx_cx *cx) {
    for (size_t i = 0; i < cx->symbol->n_node; i++) {
        const kiln_mx_node *const n = &cx->symbol->node[i];
        if (!kiln_mx_is_variable(n) &&
            (kiln_mx_find(n->op) == NULL || n->has_subgraphs))
            kiln_import_add_unread(&cx->common, cx->report, show(cx, n->op),
                                   show(cx, n->name));
    }
    return kiln_import_check_unread(
        &cx->common, cx->report, "operator",
        "cut the symbol before them, or export it by mxnet.onnx.export_model");
}

/* ---- the model ------------------------------------------------------------------- */

/* A parameter that some node reads. */
static void add_param(kiln_mx_cx *cx, const kiln_mx_node *n, kiln_value **out) {
    const kiln_tensor *const t = kiln_map_get(cx->params, kiln_str_from(n->name));
    if (t != NULL)
        *out = kiln_graph_add_const(cx->common.graph,
                                    kiln_str_dup(cx->common.arena, n->name), &t->type,
                                    t->data);
}

static kiln_status add_variables(kiln_mx_cx *cx) {
    kiln_arena *const scratch = &cx->common.scratch;
    const kiln_mx_symbol *const s = cx->symbol;
    kiln_declared_input *in;
    size_t n, *const place = kiln_array(scratch, size_t, s->n_node);
    KILN_TRY(kiln_mx_declare(scratch, s, cx->params, &in, &n, place, cx->common.err));
    kiln_value **const v = kiln_array(scratch, kiln_value *, n);
    KILN_TRY(
        kiln_import_bind_inputs(&cx->common, cx->options, in, n, false, cx->report, v));
    for (size_t i = 0; i < s->n_node; i++) {
        if (!kiln_mx_is_variable(&s->node[i]))
            continue;
        kiln_value **const one = kiln_array(scratch, kiln_value *, 1);
        KILN_ASSERT(place[i] <= n, "input %zu of %zu", place[i] - 1, n);
        if (place[i] != 0)
            one[0] = v[place[i] - 1];
        else
            add_param(cx, &s->node[i], one);
        cx->made[i] = (kiln_mx_values){one, one[0] != NULL}; /* labels: none */
    }
    return KILN_OK;
}

/* "softmax_output", as MXNet calls it; the node's own name is the model's. */
static kiln_status add_outputs(kiln_mx_cx *cx) {
    for (size_t i = 0; i < cx->symbol->n_head; i++) {
        const kiln_mx_entry e = cx->symbol->head[i];
        KILN_ASSERT(e.node < cx->symbol->n_node, "head %zu is of node %zu", i, e.node);
        const char *const name = cx->symbol->node[e.node].name;
        if (e.index >= cx->made[e.node].n)
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "head %zu is output %zu of node '%s', which kiln does not "
                             "compute",
                             i, e.index, show(cx, name));
        kiln_graph_add_output(
            cx->common.graph, cx->made[e.node].v[e.index],
            cx->made[e.node].n == 1
                ? kiln_str_dup(cx->common.arena, name)
                : kiln_format(cx->common.arena, "%s_output%zu", name, e.index));
    }
    return KILN_OK;
}

static kiln_status import_model(kiln_mx_cx *cx, kiln_graph **out) {
    KILN_TRY(check_support(cx));
    cx->common.graph = kiln_graph_new(cx->common.arena, "mxnet");
    cx->made = kiln_array(&cx->common.scratch, kiln_mx_values, cx->symbol->n_node);
    KILN_TRY(add_variables(cx));
    for (size_t i = 0; i < cx->symbol->n_node; i++)
        if (!kiln_mx_is_variable(&cx->symbol->node[i]))
            KILN_TRY(import_node(cx, &cx->symbol->node[i]));
    KILN_TRY(add_outputs(cx));
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

/* "MXNet 1.3.1" */
static const char *producer(kiln_arena *a, int64_t v) {
    return v == 0 ? ""
                  : kiln_format(a, "MXNet %" PRId64 ".%" PRId64 ".%" PRId64, v / 10000,
                                v / 100 % 100, v % 100);
}

static kiln_status import_files(kiln_arena *a, const kiln_mx_files *f,
                                const kiln_import_options *o, kiln_graph **out,
                                kiln_import_report *report, kiln_err *err) {
    static const kiln_import_options none = {0};
    kiln_mx_symbol symbol;
    kiln_map params = {0};
    kiln_mx_cx cx = {.symbol = &symbol,
                     .params = &params,
                     .params_name = f->params_name,
                     .options = o == NULL ? &none : o,
                     .report = report};
    kiln_import_begin(&cx.common, &format, a, err);
    kiln_status st = kiln_mx_read_symbol(&cx.common.scratch, f->symbol, f->symbol_name,
                                         &symbol, err);
    if (st == KILN_OK) {
        report->producer = producer(a, symbol.version);
        st = kiln_mx_read_params(&cx.common.scratch, f->params, &params, err);
        if (st != KILN_OK)
            kiln_note(err, "reading '%s'", f->params_name);
    }
    if (st == KILN_OK)
        st = import_model(&cx, out);
    if (st != KILN_OK)
        kiln_note(err, "importing '%s'", f->symbol_name);
    kiln_import_make_printable(err);
    kiln_import_end(&cx.common);
    return st;
}

kiln_status kiln_import_mxnet_bytes(kiln_arena *a, kiln_str symbol, kiln_str params,
                                    const char *name, const kiln_import_options *o,
                                    kiln_graph **out, kiln_import_report *report,
                                    kiln_err *err) {
    kiln_import_report unused = {0};
    kiln_err own = {0};
    const kiln_mx_files f = {.symbol = symbol,
                             .params = params,
                             .symbol_name = name,
                             .params_name = "the parameters"};
    report = report != NULL ? report : &unused;
    *report = (kiln_import_report){.format = "mxnet", .producer = ""};
    return import_files(a, &f, o, out, report, err != NULL ? err : &own);
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_mx_files f;
    (void)dir; /* `name` is the path */
    report = report != NULL ? report : &unused;
    err = err != NULL ? err : &own;
    *report = (kiln_import_report){.format = "mxnet", .producer = ""};
    KILN_TRY(kiln_mx_open(a, bytes, name, &f, err));
    const kiln_import_data data = {f.other,
                                   f.symbol.p == bytes.p ? f.params : f.symbol};
    kiln_vec_push(a, &report->data, data);
    return import_files(a, &f, o, out, report, err);
}

static kiln_status list_data(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_import_locations *out, kiln_err *err) {
    kiln_mx_files f;
    KILN_TRY(kiln_mx_open(a, bytes, path, &f, err));
    kiln_vec_push(a, out, f.other);
    return KILN_OK;
}

static bool sniff(kiln_str bytes) {
    return kiln_mx_is_params(bytes) || kiln_mx_is_symbol(bytes);
}

static const char *const extensions[] = {"-symbol.json", ".params", NULL};

const kiln_frontend kiln_frontend_mxnet = {
    .name = "mxnet",
    .doc = "MXNet symbols (JSON) with their .params, dense arrays of all versions",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
    .list_inputs = kiln_mx_list_inputs,
    .survey = kiln_mx_survey,
    .list_data = list_data,
};
