/* Import of a TensorFlow graph: inputs, the nodes that its outputs need, outputs.
 * Source: graph.proto, node_def.proto, and the operators' documentation of TensorFlow
 * 2.16. */
#include "compiler/frontend/tensorflow/tf_internal.h"
#include "compiler/frontend/frontend_inputs.h"

#include "compiler/frontend/frontend_internal.h"

#include <string.h>

enum { EXTRA_NODES = 100000 /* imported beyond 16 per node: functions are inlined */ };

/* Outputs lie where their node does, unless it begins or ends a branch. */
static void place_outputs(kiln_tf_cx *cx, const kiln_tf_node *n,
                          const kiln_tf_branch *branch) {
    const kiln_tf_outs *const outs = &cx->frame->out[n - cx->frame->node];
    if (branch == NULL || kiln_str_is(n->op, "Switch") || kiln_str_is(n->op, "Merge"))
        return;
    for (int i = 0; i < outs->n; i++)
        outs->slot[i].branch = branch;
}

static kiln_status run_importer(kiln_tf_cx *cx, const kiln_tf_node *n) {
    if (--cx->nodes_left < 0)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "inlining its functions makes the graph more than 16 times "
                            "as large as the file");
    if (n->n_attr > KILN_TF_MAX_ATTRS)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "a node may have at most %d attributes, has %zu",
                            KILN_TF_MAX_ATTRS, n->n_attr);
    kiln_tf_slot where;
    KILN_TRY(kiln_tf_find_branch(cx, n, &where));
    cx->branch = where.branch;
    if (where.is_dead && !kiln_str_is(n->op, "Merge")) {
        kiln_tf_set_slots(cx, n, NULL, 0);
        cx->frame->out[n - cx->frame->node].is_dead = true;
        return KILN_OK;
    }
    const kiln_tf_function *const function = kiln_tf_find_function(cx, n);
    if (function != NULL) {
        KILN_TRY(kiln_tf_call(cx, n, function));
        place_outputs(cx, n, where.branch);
        return KILN_OK;
    }
    cx->row = kiln_tf_find_op(cx, n->op);
    KILN_ASSERT(cx->row != NULL, "kiln_tf_check_support let an operator pass");
    cx->node = n;
    memset(cx->attrs_read, 0, sizeof cx->attrs_read);
    bool is_done = false;
    kiln_status st = kiln_tf_import_parts(cx, n, &is_done);
    if (!is_done && st == KILN_OK)
        st = kiln_tf_import_counted(cx, n, &is_done);
    if (!is_done && st == KILN_OK)
        st = cx->row->import(cx, n);
    if (cx->attr_err.status != KILN_OK) {
        *cx->common.err = cx->attr_err; /* the cause of what came after */
        return cx->attr_err.status;
    }
    KILN_TRY(st);
    place_outputs(cx, n, where.branch);
    return kiln_tf_check_attrs(cx, n);
}

static kiln_status import_node(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_status st = run_importer(cx, n);
    if (st == KILN_ERR_ARG) /* a call that the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing node %s", kiln_tf_show_node(cx, n));
    cx->report->n_imported += st == KILN_OK;
    return st;
}

kiln_status kiln_tf_import_nodes(kiln_tf_cx *cx, const size_t *root, size_t n_root) {
    kiln_tf_frame *const f = cx->frame;
    const size_t *order;
    size_t n;
    KILN_TRY(kiln_tf_order(cx, f, root, n_root, &order, &n));
    for (size_t i = 0; i < n; i++)
        if (f->out[order[i]].slot == NULL)
            KILN_TRY(import_node(cx, &f->node[order[i]]));
    return KILN_OK;
}

static kiln_status add_output(kiln_tf_cx *cx, const kiln_tf_result *r, int k) {
    kiln_compose c = kiln_tf_compose(cx, &cx->frame->node[r->node]);
    kiln_arena *const a = cx->common.arena;
    const kiln_tf_outs *const outs = &cx->frame->out[r->node];
    const char *const name = kiln_str_dupv(a, r->name);
    if (k < outs->n && outs->slot[k].value != NULL) {
        const bool is_first = k == 0 || r->k >= 0;
        kiln_value *const y = kiln_compose_settled(&c, outs->slot[k].value);
        kiln_graph_add_output(cx->common.graph, y,
                              is_first ? name : kiln_format(a, "%s:%d", name, k));
        return c.status;
    }
    if (k < outs->n && outs->slot[k].parts != NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "output '%s' is complex: end the model with its parts, or "
                            "its size",
                            kiln_tf_show(cx, r->name));
    return r->k < 0 ? KILN_OK
                    : kiln_tf_fail(cx, KILN_ERR_PARSE,
                                   "output '%s' of the signature must be a tensor of "
                                   "the graph",
                                   kiln_tf_show(cx, r->name));
}

/* "y", and "y:1" where a node makes more than one value. */
static kiln_status add_outputs(kiln_tf_cx *cx, const kiln_tf_result *result, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const int count = cx->frame->out[result[i].node].n;
        if (result[i].k >= 0)
            KILN_TRY(add_output(cx, &result[i], result[i].k));
        for (int k = 0; result[i].k < 0 && k < count; k++)
            KILN_TRY(add_output(cx, &result[i], k));
    }
    return KILN_OK;
}

static kiln_status import_graph(kiln_tf_cx *cx, kiln_graph **out) {
    const kiln_tf_graph *const g = cx->graph;
    kiln_tf_frame *const f = kiln_new(&cx->common.scratch, kiln_tf_frame);
    const kiln_tf_result *result;
    size_t n;
    kiln_tf_add_rows(cx);
    KILN_TRY(kiln_tf_add_functions(cx));
    cx->nodes_left = EXTRA_NODES + 16 * (int64_t)g->n_node;
    for (size_t i = 0; i < g->n_function; i++)
        cx->nodes_left += 16 * (int64_t)g->function[i].n_node;
    KILN_TRY(kiln_tf_frame_init(cx, f, g->node, g->n_node));
    cx->frame = f;
    cx->common.graph = kiln_graph_new(cx->common.arena, "tensorflow");
    KILN_TRY(kiln_tf_results(cx, f, &result, &n));
    size_t *const root = kiln_array(&cx->common.scratch, size_t, n);
    for (size_t i = 0; i < n; i++)
        root[i] = result[i].node;
    KILN_TRY(kiln_tf_check_support(cx, f, root, n));
    KILN_TRY(kiln_tf_bind_inputs(cx, f));
    KILN_TRY(kiln_tf_import_nodes(cx, root, n));
    KILN_TRY(add_outputs(cx, result, n));
    kiln_import_add_counts(&cx->common, cx->common.graph);
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

/* Files beside the model that were read. */
static void list_read(kiln_tf_cx *cx) {
    for (size_t i = 0; i < cx->bundle.files.n; i++) {
        const kiln_import_data data = {cx->bundle.files.v[i], cx->bundle.bytes.v[i]};
        kiln_vec_push(cx->common.arena, &cx->report->data, data);
    }
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    const kiln_import_options none = {0};
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_tf_cx cx = {
        .bundle = {.dir = dir, .model = name},
        .options = o == NULL ? &none : o,
        .report = report == NULL ? &unused : report,
    };
    kiln_import_begin(&cx.common, &kiln_tf_format, a, err == NULL ? &own : err);
    *cx.report = (kiln_import_report){.format = "tensorflow", .producer = ""};
    kiln_status st = kiln_tf_open(&cx, bytes);
    if (st == KILN_OK) {
        cx.report->producer = cx.producer;
        cx.report->ir_version = cx.graph->producer;
        st = import_graph(&cx, out);
    }
    list_read(&cx);
    if (st != KILN_OK)
        kiln_note(cx.common.err, "importing '%s'", name);
    kiln_import_make_printable(cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}

static bool sniff(kiln_str bytes) {
    return kiln_tf_sniff_graph(bytes) || kiln_tf_sniff_saved(bytes);
}

static const char *const extensions[] = {".pb", NULL};

const kiln_frontend kiln_frontend_tensorflow = {
    .name = "tensorflow",
    .doc = "TensorFlow frozen GraphDef, or SavedModel with its variables",
    .extensions = extensions,
    .has_signatures = true,
    .sniff = sniff,
    .import = import,
    .list_inputs = kiln_tf_list_inputs,
    .survey = kiln_tf_survey,
    .list_data = kiln_tf_list_data,
};
