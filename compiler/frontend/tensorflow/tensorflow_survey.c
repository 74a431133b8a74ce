/* What a TensorFlow graph says about itself, before any shape is bound. */
#include "compiler/frontend/tensorflow/tf_internal.h"
#include "base/numbers.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 16 /* of an axis that a suggestion takes up */, MAX_SIZES = 64 };

static kiln_status list_inputs(kiln_tf_cx *cx, kiln_declared_input **out, size_t *n) {
    kiln_arena *const a = cx->common.arena;
    const kiln_tf_graph *const g = cx->graph;
    kiln_declared_input *const list = kiln_array(a, kiln_declared_input, g->n_node);
    size_t count = 0;
    for (size_t i = 0; i < g->n_node; i++)
        if (kiln_tf_is_input(&g->node[i]))
            kiln_tf_declare(a, &g->node[i], &list[count++]);
    *out = list;
    *n = count;
    return KILN_OK;
}

kiln_status kiln_tf_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_err own = {0};
    kiln_tf_cx cx = {.graph = NULL};
    (void)path;
    kiln_import_begin(&cx.common, &kiln_tf_format, a, err == NULL ? &own : err);
    kiln_status st = kiln_tf_open(&cx, bytes);
    if (st == KILN_OK)
        st = list_inputs(&cx, out, n);
    kiln_import_end(&cx.common);
    return st;
}

/* The table of variables and its shards, as far as they are there. */
kiln_status kiln_tf_list_data(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_import_locations *out, kiln_err *err) {
    kiln_tf_bundle b = {.dir = kiln_path_dir(a, path), .model = path};
    const char *const index = "variables/variables.index";
    if (!kiln_tf_sniff_saved(bytes) ||
        !kiln_file_exists(kiln_path_join(a, b.dir, index)))
        return KILN_OK;
    KILN_TRY(kiln_tf_bundle_open(a, &b, err));
    for (int64_t i = 0; i < b.n_shards; i++)
        kiln_vec_push(a, out, kiln_tf_bundle_shard(a, i, b.n_shards));
    kiln_vec_push(a, out, index);
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

typedef struct counting {
    kiln_model_survey *out;
    kiln_numbers seen; /* operators -> index + 1 */
} counting;

static void count_strides(kiln_model_survey *out, const kiln_tf_attr *attr) {
    int64_t most = 1;
    if (!kiln_str_is(attr->name, "strides") || attr->list == NULL)
        return;
    for (size_t k = 0; k < attr->list->n_i; k++)
        most = attr->list->i[k] > most ? attr->list->i[k] : most;
    if (most <= MAX_SIZE / out->stride)
        out->stride *= most;
}

/* A variable says of what type it is; where its bytes lie does not matter here. */
static void count_variable(kiln_arena *a, kiln_model_survey *out,
                           const kiln_tf_node *n) {
    kiln_tf_tensor t = {.dtype = 0};
    for (size_t i = 0; i < n->n_attr; i++) {
        if (kiln_str_is(n->attr[i].name, "dtype"))
            t.dtype = n->attr[i].type;
        if (kiln_str_is(n->attr[i].name, "shape") && n->attr[i].shape != NULL)
            t.shape = *n->attr[i].shape;
    }
    count_weight(a, out, &t);
}

static void count_node(kiln_tf_cx *cx, const kiln_tf_node *n, void *user) {
    counting *const c = user;
    kiln_arena *const a = cx->common.arena;
    kiln_model_survey *const out = c->out;
    const size_t at = kiln_numbers_get(&c->seen, n->op);
    out->n_nodes++;
    if (at != 0) {
        out->op.v[at - 1].count++;
    } else {
        const kiln_model_op op = {.op = kiln_str_printable(a, n->op, 120),
                                  .count = 1,
                                  .is_read = kiln_tf_find_op(cx, n->op) != NULL ||
                                             kiln_tf_find_function(cx, n) != NULL};
        kiln_vec_push(a, &out->op, op);
        kiln_numbers_set(&cx->common.scratch, &c->seen, n->op, out->op.n);
    }
    if (kiln_str_is(n->op, "VarHandleOp"))
        count_variable(a, out, n);
    for (size_t i = 0; i < n->n_attr; i++) {
        if (n->attr[i].tensor != NULL)
            count_weight(a, out, n->attr[i].tensor);
        count_strides(out, &n->attr[i]);
    }
}

/* Their types come of the import. */
static void declare_outputs(kiln_tf_cx *cx, kiln_model_survey *out,
                            const kiln_tf_result *result, size_t n) {
    kiln_arena *const a = cx->common.arena;
    out->output = kiln_array(a, kiln_declared_input, n);
    out->n_outputs = n;
    for (size_t i = 0; i < n; i++)
        out->output[i] =
            (kiln_declared_input){.name = kiln_str_dupv(a, result[i].name),
                                  .what = "of a type that its nodes decide",
                                  .rank = -1};
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

static kiln_status fill(kiln_tf_cx *cx, kiln_model_survey *out) {
    kiln_tf_frame f;
    counting c = {.out = out};
    const kiln_tf_result *result;
    size_t n;
    kiln_tf_add_rows(cx);
    KILN_TRY(kiln_tf_add_functions(cx));
    KILN_TRY(kiln_tf_frame_init(cx, &f, cx->graph->node, cx->graph->n_node));
    KILN_TRY(kiln_tf_results(cx, &f, &result, &n));
    size_t *const root = kiln_array(&cx->common.scratch, size_t, n);
    for (size_t i = 0; i < n; i++)
        root[i] = result[i].node;
    KILN_TRY(kiln_tf_walk(cx, &f, root, n, count_node, &c));
    if (out->op.n > 0)
        qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    declare_outputs(cx, out, result, n);
    return list_inputs(cx, &out->input, &out->n_inputs);
}

kiln_status kiln_tf_survey(kiln_arena *a, kiln_str bytes, const char *path,
                           kiln_model_survey *out, kiln_err *err) {
    kiln_err own = {0};
    kiln_tf_cx cx = {.graph = NULL};
    (void)path;
    *out = (kiln_model_survey){.format = "tensorflow", .producer = "", .stride = 1};
    kiln_import_begin(&cx.common, &kiln_tf_format, a, err == NULL ? &own : err);
    kiln_status st = kiln_tf_open(&cx, bytes);
    if (st == KILN_OK) {
        out->producer = cx.producer;
        out->ir_version = cx.graph->producer;
        st = fill(&cx, out);
    }
    kiln_import_end(&cx.common);
    return st;
}
