/* Import of a TensorFlow graph: inputs, the nodes that its outputs need, outputs.
 * Source: graph.proto, node_def.proto, and the operators' documentation of TensorFlow
 * 2.16. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include "compiler/frontend/frontend_internal.h"

#include <string.h>

enum { EXTRA_NODES = 100000 /* imported beyond 16 per node: functions are inlined */ };

static kiln_status run_importer(kiln_tf_cx *cx, const kiln_tf_node *n) {
    if (--cx->nodes_left < 0)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "inlining its functions makes the graph more than 16 times "
                            "as large as the file");
    if (n->n_attr > KILN_TF_MAX_ATTRS)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "a node may have at most %d attributes, has %zu",
                            KILN_TF_MAX_ATTRS, n->n_attr);
    cx->row = kiln_tf_find_op(cx, n->op);
    KILN_ASSERT(cx->row != NULL, "kiln_tf_check_support let an operator pass");
    cx->node = n;
    memset(cx->attrs_read, 0, sizeof cx->attrs_read);
    const kiln_status st = cx->row->import(cx, n);
    if (cx->attr_err.status != KILN_OK) {
        *cx->common.err = cx->attr_err; /* the cause of what came after */
        return cx->attr_err.status;
    }
    KILN_TRY(st);
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

/* "y", and "y:1" where a node makes more than one value. */
static void add_outputs(kiln_tf_cx *cx, const size_t *root, size_t n_root) {
    kiln_arena *const a = cx->common.arena;
    for (size_t i = 0; i < n_root; i++) {
        const kiln_tf_outs *const outs = &cx->frame->out[root[i]];
        const char *const name = kiln_str_dupv(a, cx->frame->node[root[i]].name);
        for (int k = 0; k < outs->n; k++)
            if (outs->slot[k].value != NULL)
                kiln_graph_add_output(cx->common.graph, outs->slot[k].value,
                                      k == 0 ? name : kiln_format(a, "%s:%d", name, k));
    }
}

static kiln_status import_graph(kiln_tf_cx *cx, kiln_graph **out) {
    const kiln_tf_graph *const g = cx->graph;
    kiln_tf_frame f;
    const size_t *root;
    size_t n_root;
    kiln_tf_add_rows(cx);
    cx->nodes_left = EXTRA_NODES + 16 * (int64_t)g->n_node;
    KILN_TRY(kiln_tf_frame_init(cx, &f, g->node, g->n_node));
    cx->frame = &f;
    cx->common.graph = kiln_graph_new(cx->common.arena, "tensorflow");
    KILN_TRY(kiln_tf_find_outputs(cx, &f, &root, &n_root));
    KILN_TRY(kiln_tf_check_support(cx, &f, root, n_root));
    KILN_TRY(kiln_tf_bind_inputs(cx, &f));
    KILN_TRY(kiln_tf_import_nodes(cx, root, n_root));
    add_outputs(cx, root, n_root);
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

/* Names inside the Graph are the file's own bytes, and messages of its parts carry
 * them. */
static void make_printable(kiln_err *err) {
    for (size_t i = 0; i < err->len; i++) {
        const unsigned char c = (unsigned char)err->text[i];
        if ((c < ' ' && c != '\n') || c == 0x7f)
            err->text[i] = '?';
    }
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    const kiln_import_options none = {0};
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_tf_graph graph;
    kiln_tf_cx cx = {
        .graph = &graph,
        .options = o == NULL ? &none : o,
        .report = report == NULL ? &unused : report,
    };
    (void)dir;
    kiln_import_begin(&cx.common, &kiln_tf_format, a, err == NULL ? &own : err);
    *cx.report = (kiln_import_report){.format = "tensorflow", .producer = ""};
    kiln_status st = kiln_tf_decode_graph(a, bytes, &graph, cx.common.err);
    if (st == KILN_OK) {
        cx.report->ir_version = graph.producer;
        st = import_graph(&cx, out);
    }
    if (st != KILN_OK)
        kiln_note(cx.common.err, "importing '%s'", name);
    make_printable(cx.common.err);
    kiln_import_end(&cx.common);
    return st;
}

static const char *const extensions[] = {".pb", NULL};

const kiln_frontend kiln_frontend_tensorflow = {
    .name = "tensorflow",
    .doc = "TensorFlow GraphDef, frozen: constants in place of variables",
    .extensions = extensions,
    .sniff = kiln_tf_sniff_graph,
    .import = import,
    .list_inputs = kiln_tf_list_inputs,
    .survey = kiln_tf_survey,
};
