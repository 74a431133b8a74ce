/* Writing ONNX. Source: onnx.proto. */
#include "zoo/onnx_write.h"

#include <inttypes.h>
#include <string.h>

/* ---- graphs ---------------------------------------------------------------------- */

void kiln_onnx_writer_init(kiln_onnx_writer *w, kiln_arena *a, const char *graph_name) {
    *w = (kiln_onnx_writer){.arena = a};
    kiln_buf_init(&w->graph, a);
    kiln_buf_init(&w->node, a);
    kiln_buf_init(&w->model, a);
    kiln_pb_put_text(&w->graph, 2, graph_name);
}

/* Attributes come after the node's own fields, so a node is complete when the next
 * thing begins. */
static void end_node(kiln_onnx_writer *w) {
    if (w->node.n == 0)
        return;
    kiln_pb_put_bytes(&w->graph, 1, kiln_buf_str(&w->node));
    kiln_buf_init(&w->node, w->arena);
}

static void put_dims(kiln_buf *shape, kiln_arena *a, const char *text) {
    kiln_str rest = kiln_str_from(text), part;
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &part)) {
        kiln_buf dim;
        kiln_buf_init(&dim, a);
        int64_t v;
        if (kiln_parse_i64(part, &v))
            kiln_pb_put_int(&dim, 1, v);
        else if (!kiln_str_is(part, "?"))
            kiln_pb_put_bytes(&dim, 2, part);
        kiln_pb_put_bytes(shape, 1, kiln_buf_str(&dim));
    }
}

static void put_value_info(kiln_onnx_writer *w, uint32_t field, const char *name,
                           int type, const char *shape) {
    kiln_buf dims, tensor, proto, info;
    end_node(w);
    kiln_buf_init(&dims, w->arena);
    kiln_buf_init(&tensor, w->arena);
    kiln_buf_init(&proto, w->arena);
    kiln_buf_init(&info, w->arena);
    kiln_pb_put_int(&tensor, 1, type);
    if (shape != NULL) {
        put_dims(&dims, w->arena, shape);
        kiln_pb_put_bytes(&tensor, 2, kiln_buf_str(&dims));
    }
    kiln_pb_put_bytes(&proto, 1, kiln_buf_str(&tensor));
    kiln_pb_put_text(&info, 1, name);
    kiln_pb_put_bytes(&info, 2, kiln_buf_str(&proto));
    kiln_pb_put_bytes(&w->graph, field, kiln_buf_str(&info));
}

void kiln_onnx_put_input(kiln_onnx_writer *w, const char *name, int type,
                         const char *shape) {
    put_value_info(w, 11, name, type, shape);
}

void kiln_onnx_put_output(kiln_onnx_writer *w, const char *name, int type,
                          const char *shape) {
    put_value_info(w, 12, name, type, shape);
}

/* "x,,b" is three names, "" none. */
void kiln_onnx_put_names(kiln_buf *b, uint32_t field, const char *names) {
    if (names == NULL || *names == '\0')
        return;
    const char *p = names;
    for (;;) {
        const char *const comma = strchr(p, ',');
        const size_t n = comma == NULL ? strlen(p) : (size_t)(comma - p);
        kiln_pb_put_bytes(b, field, (kiln_str){p, n});
        if (comma == NULL)
            return;
        p = comma + 1;
    }
}

void kiln_onnx_put_node(kiln_onnx_writer *w, const char *op, const char *name,
                        const char *inputs, const char *outputs) {
    end_node(w);
    kiln_onnx_put_names(&w->node, 1, inputs);
    kiln_onnx_put_names(&w->node, 2, outputs);
    if (name != NULL)
        kiln_pb_put_text(&w->node, 3, name);
    kiln_pb_put_text(&w->node, 4, op);
}

void kiln_onnx_put_attr(kiln_onnx_writer *w, kiln_buf *attr, const char *name,
                        int type) {
    kiln_pb_put_text(attr, 1, name);
    kiln_pb_put_int(attr, 20, type);
    kiln_pb_put_bytes(&w->node, 5, kiln_buf_str(attr));
}

void kiln_onnx_put_attr_int(kiln_onnx_writer *w, const char *name, int64_t v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_int(&attr, 3, v);
    kiln_onnx_put_attr(w, &attr, name, 2);
}

void kiln_onnx_put_attr_float(kiln_onnx_writer *w, const char *name, float v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_float(&attr, 2, v);
    kiln_onnx_put_attr(w, &attr, name, 1);
}

void kiln_onnx_put_attr_text(kiln_onnx_writer *w, const char *name, const char *v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_text(&attr, 4, v);
    kiln_onnx_put_attr(w, &attr, name, 3);
}

void kiln_onnx_put_attr_ints(kiln_onnx_writer *w, const char *name, const int64_t *v,
                             size_t n) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_int(&attr, 8, v[i]);
    kiln_onnx_put_attr(w, &attr, name, 7);
}

void kiln_onnx_put_initializer(kiln_onnx_writer *w, kiln_str tensor) {
    end_node(w);
    kiln_pb_put_bytes(&w->graph, 5, tensor);
}

kiln_str kiln_onnx_finish_graph(kiln_onnx_writer *w) {
    KILN_ASSERT(w->weights.n == 0, "weights are filled in by the model as a whole");
    end_node(w);
    return kiln_buf_str(&w->graph);
}

void kiln_onnx_put_opset_id(kiln_buf *b, uint32_t field, kiln_arena *a,
                            const char *domain, int64_t version) {
    kiln_buf opset;
    kiln_buf_init(&opset, a);
    kiln_pb_put_text(&opset, 1, domain);
    kiln_pb_put_int(&opset, 2, version);
    kiln_pb_put_bytes(b, field, kiln_buf_str(&opset));
}

/* ---- tensors --------------------------------------------------------------------- */

void kiln_onnx_begin_tensor(kiln_buf *b, kiln_arena *a, const char *name, int type,
                            const char *shape) {
    kiln_str rest = kiln_str_from(shape), part;
    kiln_buf_init(b, a);
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &part)) {
        int64_t v = 0;
        const bool is_number = kiln_parse_i64(part, &v);
        KILN_ASSERT(is_number, "'%s' is no tensor's shape", shape);
        kiln_pb_put_int(b, 1, v);
    }
    kiln_pb_put_int(b, 2, type);
    if (name != NULL)
        kiln_pb_put_text(b, 8, name);
}

kiln_str kiln_onnx_raw_tensor(kiln_arena *a, const char *name, int type,
                              const char *shape, const void *data, size_t bytes) {
    kiln_buf b;
    kiln_onnx_begin_tensor(&b, a, name, type, shape);
    kiln_pb_put_bytes(&b, 9, (kiln_str){data, bytes});
    return kiln_buf_str(&b);
}

/* ---- weights --------------------------------------------------------------------- */

/* The raw_data field: its bytes do not lie in the graph's text, only their place. */
void kiln_onnx_put_uniform(kiln_onnx_writer *w, const char *name, const char *shape,
                           uint64_t seed, double lo, double hi) {
    kiln_str rest = kiln_str_from(shape), part;
    int64_t n = 1;
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &part)) {
        int64_t dim = 0;
        const bool is_size = kiln_parse_i64(part, &dim) && dim > 0;
        KILN_ASSERT(is_size && n <= INT64_MAX / 8 / dim,
                    "'%s' has no shape of a weight: '%s'", name, shape);
        n *= dim;
    }
    const uint64_t bytes = (uint64_t)n * sizeof(float);
    kiln_buf b;
    end_node(w);
    kiln_onnx_begin_tensor(&b, w->arena, name, KILN_ONNX_FLOAT, shape);
    kiln_pb_put_head(&b, 9, bytes);
    kiln_pb_put_head(&w->graph, 5, b.n + bytes);
    kiln_buf_add(&w->graph, b.p, b.n);
    const kiln_onnx_weight weight = {w->graph.n, (uint64_t)n, seed, lo, hi};
    kiln_vec_push(w->arena, &w->weights, weight);
    w->weight_bytes += bytes;
}

/* Where a model goes, piece by piece, in order. */
typedef struct sink {
    kiln_file_writer *file; /* NULL: into memory */
    char *p;
    bool with_weights; /* false, in memory only: their place stays zero */
} sink;

static kiln_status put_piece(sink *to, const void *p, size_t n, kiln_err *err) {
    if (n == 0)
        return KILN_OK;
    if (to->file != NULL)
        return kiln_file_writer_add(to->file, p, n, err);
    memcpy(to->p, p, n);
    to->p += n;
    return KILN_OK;
}

enum { PIECE = 16384 }; /* floats made at a time: stays in the first cache */

static kiln_status put_weight(sink *to, const kiln_onnx_weight *x, kiln_err *err) {
    if (!to->with_weights) {
        to->p += x->n_elems * sizeof(float);
        return KILN_OK;
    }
    float piece[PIECE];
    kiln_rng rng;
    kiln_rng_init(&rng, x->seed);
    const double span = x->hi - x->lo;
    for (uint64_t left = x->n_elems; left > 0;) {
        const size_t n = left < PIECE ? (size_t)left : PIECE;
        for (size_t i = 0; i < n; i++) {
            /* Two statements: a compiler that joins them into one fused operation
             * would give other bits on another machine. */
            const double above = span * kiln_rng_unit(&rng);
            piece[i] = (float)(x->lo + above);
        }
        KILN_TRY(put_piece(to, piece, n * sizeof piece[0], err));
        left -= n;
    }
    return KILN_OK;
}

/* What stands before the graph: everything else, then the graph's tag and length. */
static kiln_str model_head(kiln_onnx_writer *w, int64_t ir_version, int64_t opset) {
    kiln_buf b;
    end_node(w);
    kiln_buf_init(&b, w->arena);
    kiln_pb_put_int(&b, 1, ir_version);
    kiln_pb_put_text(&b, 2, "kiln");
    if (opset > 0)
        kiln_onnx_put_opset_id(&b, 8, w->arena, "", opset);
    if (w->model.n > 0)
        kiln_buf_add(&b, w->model.p, w->model.n);
    kiln_pb_put_head(&b, 7, w->graph.n + w->weight_bytes);
    return kiln_buf_str(&b);
}

static kiln_status put_model(const kiln_onnx_writer *w, kiln_str head, sink *to,
                             kiln_err *err) {
    size_t at = 0;
    KILN_TRY(put_piece(to, head.p, head.n, err));
    for (size_t i = 0; i < w->weights.n; i++) {
        const kiln_onnx_weight *x = &w->weights.v[i];
        KILN_ASSERT(x->at >= at && x->at <= w->graph.n, "weight %zu lies at %zu of %zu",
                    i, x->at, w->graph.n);
        KILN_TRY(put_piece(to, w->graph.p + at, x->at - at, err));
        KILN_TRY(put_weight(to, x, err));
        at = x->at;
    }
    return put_piece(to, w->graph.p + at, w->graph.n - at, err);
}

static kiln_str model_in_memory(kiln_onnx_writer *w, int64_t ir_version, int64_t opset,
                                bool with_weights) {
    const kiln_str head = model_head(w, ir_version, opset);
    const size_t bytes = head.n + w->graph.n + (size_t)w->weight_bytes;
    char *const p = kiln_arena_alloc(w->arena, bytes);
    sink to = {.p = p, .with_weights = with_weights};
    const kiln_status st = put_model(w, head, &to, NULL);
    KILN_ASSERT(st == KILN_OK && to.p == p + bytes, "memory takes every piece");
    return (kiln_str){p, bytes};
}

kiln_str kiln_onnx_finish_model(kiln_onnx_writer *w, int64_t ir_version,
                                int64_t opset) {
    return model_in_memory(w, ir_version, opset, true);
}

kiln_str kiln_onnx_finish_outline(kiln_onnx_writer *w, int64_t ir_version,
                                  int64_t opset) {
    return model_in_memory(w, ir_version, opset, false);
}

kiln_status kiln_onnx_write_model(kiln_onnx_writer *w, int64_t ir_version,
                                  int64_t opset, const char *path, kiln_err *err) {
    const kiln_str head = model_head(w, ir_version, opset);
    const uint64_t bytes = head.n + w->graph.n + w->weight_bytes;
    if (bytes > KILN_ONNX_MAX_FILE_BYTES)
        return kiln_fail(
            err, KILN_ERR_LIMIT,
            "'%s' would have %" PRIu64
            " bytes; an ONNX file without external data has at most %" PRIu64,
            path, bytes, KILN_ONNX_MAX_FILE_BYTES);
    sink to = {.with_weights = true};
    KILN_TRY(kiln_file_writer_open(&to.file, path, err));
    const kiln_status st = put_model(w, head, &to, err);
    if (st != KILN_OK) {
        kiln_file_writer_close(to.file);
        return st;
    }
    return kiln_file_writer_commit(to.file, err);
}
