/* What a TensorFlow graph says about itself, before any shape is bound. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 16 /* of an axis that a suggestion takes up */, MAX_SIZES = 64 };

kiln_status kiln_tf_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_declared_input **out, size_t *n, kiln_err *err) {
    (void)path;
    kiln_tf_graph g;
    KILN_TRY(kiln_tf_decode_graph(a, bytes, &g, err));
    kiln_declared_input *const list = kiln_array(a, kiln_declared_input, g.n_node);
    size_t count = 0;
    for (size_t i = 0; i < g.n_node; i++)
        if (kiln_tf_is_input(&g.node[i]))
            kiln_tf_declare(a, &g.node[i], &list[count++]);
    *out = list;
    *n = count;
    return KILN_OK;
}

static void add_size(kiln_arena *a, kiln_model_survey *out, int64_t size) {
    if (size < 2 || size > MAX_SIZE || out->size.n == MAX_SIZES)
        return;
    for (size_t i = 0; i < out->size.n; i++)
        if (out->size.v[i] == size)
            return;
    kiln_vec_push(a, &out->size, size);
}

static void count_weight(kiln_arena *a, kiln_model_survey *out,
                         const kiln_tf_tensor *t) {
    kiln_type type;
    if (kiln_tf_tensor_type(t, &type, NULL) != KILN_OK)
        return;
    for (int i = 0; type.rank > 1 && i < type.rank; i++)
        add_size(a, out, type.dim[i]);
    for (size_t i = 0; type.dtype == KILN_I32 && i < t->n_i32 && i < 8; i++)
        add_size(a, out, t->i32[i]);
    if (type.dtype == KILN_I32 && t->content.n <= 8 * sizeof(int32_t))
        for (size_t i = 0; i + sizeof(int32_t) <= t->content.n; i += sizeof(int32_t)) {
            int32_t v;
            memcpy(&v, t->content.p + i, sizeof v);
            add_size(a, out, v);
        }
    out->const_bytes += kiln_type_bytes(&type);
    if (kiln_dtype_is_float(type.dtype))
        out->n_params += kiln_type_elems(&type);
}

static void count_node(kiln_tf_cx *cx, kiln_model_survey *out, kiln_map *seen,
                       const kiln_tf_node *n) {
    kiln_arena *const a = cx->common.arena;
    const uintptr_t at = (uintptr_t)kiln_map_get(seen, n->op);
    out->n_nodes++;
    if (at != 0) {
        out->op.v[at - 1].count++;
    } else {
        const kiln_model_op op = {.op = kiln_str_printable(a, n->op, 120),
                                  .count = 1,
                                  .is_read = kiln_tf_find_op(cx, n->op) != NULL};
        kiln_vec_push(a, &out->op, op);
        kiln_map_set(&cx->common.scratch, seen, n->op, (void *)(uintptr_t)out->op.n);
    }
    for (size_t i = 0; i < n->n_attr; i++) {
        const kiln_tf_attr *const attr = &n->attr[i];
        if (attr->tensor != NULL)
            count_weight(a, out, attr->tensor);
        if (!kiln_str_is(attr->name, "strides") || attr->list == NULL)
            continue;
        int64_t most = 1;
        for (size_t k = 0; k < attr->list->n_i; k++)
            most = attr->list->i[k] > most ? attr->list->i[k] : most;
        if (most <= MAX_SIZE / out->stride)
            out->stride *= most;
    }
}

static kiln_status add_outputs(kiln_tf_cx *cx, kiln_model_survey *out) {
    kiln_arena *const a = cx->common.arena;
    kiln_tf_frame f;
    const size_t *root;
    size_t n;
    KILN_TRY(kiln_tf_frame_init(cx, &f, cx->graph->node, cx->graph->n_node));
    KILN_TRY(kiln_tf_find_outputs(cx, &f, &root, &n));
    out->output = kiln_array(a, kiln_declared_input, n);
    out->n_outputs = n;
    for (size_t i = 0; i < n; i++) /* their types come of the import */
        out->output[i] =
            (kiln_declared_input){.name = kiln_str_dupv(a, f.node[root[i]].name),
                                  .what = "of a type that its nodes decide",
                                  .rank = -1};
    return KILN_OK;
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

static kiln_status fill(kiln_tf_cx *cx, kiln_str bytes, const char *path,
                        kiln_model_survey *out) {
    const kiln_tf_graph *const g = cx->graph;
    kiln_map seen = {0};
    kiln_tf_add_rows(cx);
    for (size_t i = 0; i < g->n_node; i++)
        count_node(cx, out, &seen, &g->node[i]);
    qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    KILN_TRY(add_outputs(cx, out));
    return kiln_tf_list_inputs(cx->common.arena, bytes, path, &out->input,
                               &out->n_inputs, cx->common.err);
}

kiln_status kiln_tf_survey(kiln_arena *a, kiln_str bytes, const char *path,
                           kiln_model_survey *out, kiln_err *err) {
    kiln_tf_graph g;
    kiln_err own = {0};
    kiln_tf_cx cx = {.graph = &g};
    KILN_TRY(kiln_tf_decode_graph(a, bytes, &g, err));
    kiln_import_begin(&cx.common, &kiln_tf_format, a, err == NULL ? &own : err);
    *out = (kiln_model_survey){
        .format = "tensorflow", .producer = "", .ir_version = g.producer, .stride = 1};
    const kiln_status st = fill(&cx, bytes, path, out);
    kiln_import_end(&cx.common);
    return st;
}
