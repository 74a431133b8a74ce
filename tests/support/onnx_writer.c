/* ONNX models for tests. Source: onnx.proto, and Protocol Buffers, "Encoding". */
#include "tests/support/onnx_writer.h"

#include <inttypes.h>
#include <string.h>

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

/* ---- protobuf
 * ------------------------------------------------------------------------------- */

void kiln_pb_put_varint(kiln_buf *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) {
        const char c = (char)(unsigned char)(v | 0x80);
        kiln_buf_add(b, &c, 1);
    }
    const char c = (char)v;
    kiln_buf_add(b, &c, 1);
}

static void put_tag(kiln_buf *b, uint32_t field, unsigned type) {
    kiln_pb_put_varint(b, ((uint64_t)field << 3) | type);
}

void kiln_pb_put_int(kiln_buf *b, uint32_t field, int64_t v) {
    put_tag(b, field, VARINT);
    kiln_pb_put_varint(b, (uint64_t)v);
}

void kiln_pb_put_float(kiln_buf *b, uint32_t field, float v) {
    put_tag(b, field, FIXED32);
    kiln_buf_add(b, &v, sizeof v);
}

void kiln_pb_put_bytes(kiln_buf *b, uint32_t field, kiln_str v) {
    put_tag(b, field, BYTES);
    kiln_pb_put_varint(b, v.n);
    if (v.n > 0)
        kiln_buf_add(b, v.p, v.n);
}

void kiln_pb_put_text(kiln_buf *b, uint32_t field, const char *v) {
    kiln_pb_put_bytes(b, field, kiln_str_from(v));
}

/* ---- graphs
 * --------------------------------------------------------------------------------- */

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
static void put_names(kiln_buf *b, uint32_t field, const char *names) {
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
    put_names(&w->node, 1, inputs);
    put_names(&w->node, 2, outputs);
    if (name != NULL)
        kiln_pb_put_text(&w->node, 3, name);
    kiln_pb_put_text(&w->node, 4, op);
}

void kiln_onnx_put_domain(kiln_onnx_writer *w, const char *domain) {
    kiln_pb_put_text(&w->node, 7, domain);
}

static void put_attr(kiln_onnx_writer *w, kiln_buf *attr, const char *name, int type) {
    kiln_pb_put_text(attr, 1, name);
    kiln_pb_put_int(attr, 20, type);
    kiln_pb_put_bytes(&w->node, 5, kiln_buf_str(attr));
}

void kiln_onnx_put_attr_int(kiln_onnx_writer *w, const char *name, int64_t v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_int(&attr, 3, v);
    put_attr(w, &attr, name, 2);
}

void kiln_onnx_put_attr_float(kiln_onnx_writer *w, const char *name, float v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_float(&attr, 2, v);
    put_attr(w, &attr, name, 1);
}

void kiln_onnx_put_attr_text(kiln_onnx_writer *w, const char *name, const char *v) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_text(&attr, 4, v);
    put_attr(w, &attr, name, 3);
}

void kiln_onnx_put_attr_ints(kiln_onnx_writer *w, const char *name, const int64_t *v,
                             size_t n) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_int(&attr, 8, v[i]);
    put_attr(w, &attr, name, 7);
}

void kiln_onnx_put_attr_tensor(kiln_onnx_writer *w, const char *name, kiln_str tensor) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_bytes(&attr, 5, tensor);
    put_attr(w, &attr, name, 4);
}

void kiln_onnx_put_attr_graph(kiln_onnx_writer *w, const char *name, kiln_str graph) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_bytes(&attr, 6, graph);
    put_attr(w, &attr, name, 5);
}

void kiln_onnx_put_attr_ref(kiln_onnx_writer *w, const char *name, const char *of,
                            int attr_type) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_text(&attr, 21, of);
    put_attr(w, &attr, name, attr_type);
}

void kiln_onnx_put_initializer(kiln_onnx_writer *w, kiln_str tensor) {
    end_node(w);
    kiln_pb_put_bytes(&w->graph, 5, tensor);
}

kiln_str kiln_onnx_finish_graph(kiln_onnx_writer *w) {
    end_node(w);
    return kiln_buf_str(&w->graph);
}

static void put_opset(kiln_buf *b, uint32_t field, kiln_arena *a, const char *domain,
                      int64_t version) {
    kiln_buf opset;
    kiln_buf_init(&opset, a);
    kiln_pb_put_text(&opset, 1, domain);
    kiln_pb_put_int(&opset, 2, version);
    kiln_pb_put_bytes(b, field, kiln_buf_str(&opset));
}

/* NodeProtos of a GraphProto go into a FunctionProto under another number. */
static void copy_nodes(kiln_buf *fn, kiln_str graph) {
    while (graph.n > 0) {
        const unsigned char tag = (unsigned char)graph.p[0];
        size_t len = 0, at = 1;
        for (int shift = 0;; shift += 7) {
            const unsigned char c = (unsigned char)graph.p[at++];
            len |= (size_t)(c & 0x7f) << shift;
            if ((c & 0x80) == 0)
                break;
        }
        if (tag >> 3 == 1)
            kiln_pb_put_bytes(fn, 7, (kiln_str){graph.p + at, len});
        graph.p += at + len;
        graph.n -= at + len;
    }
}

void kiln_onnx_put_function(kiln_onnx_writer *w, kiln_onnx_writer *body,
                            const char *domain, const char *name, const char *inputs,
                            const char *outputs, const char *attributes,
                            int64_t opset) {
    kiln_buf fn;
    kiln_buf_init(&fn, w->arena);
    kiln_pb_put_text(&fn, 1, name);
    put_names(&fn, 4, inputs);
    put_names(&fn, 5, outputs);
    put_names(&fn, 6, attributes);
    copy_nodes(&fn, kiln_onnx_finish_graph(body));
    put_opset(&fn, 9, w->arena, "", opset);
    kiln_pb_put_text(&fn, 10, domain);
    kiln_pb_put_bytes(&w->model, 25, kiln_buf_str(&fn));
}

void kiln_onnx_put_opset(kiln_onnx_writer *w, const char *domain, int64_t version) {
    put_opset(&w->model, 8, w->arena, domain, version);
}

kiln_str kiln_onnx_finish_model(kiln_onnx_writer *w, int64_t ir_version,
                                int64_t opset) {
    kiln_buf b;
    kiln_buf_init(&b, w->arena);
    kiln_pb_put_int(&b, 1, ir_version);
    kiln_pb_put_text(&b, 2, "kiln tests");
    if (opset > 0)
        put_opset(&b, 8, w->arena, "", opset);
    if (w->model.n > 0)
        kiln_buf_add(&b, w->model.p, w->model.n);
    kiln_pb_put_bytes(&b, 7, kiln_onnx_finish_graph(w));
    return kiln_buf_str(&b);
}

/* ---- tensors
 * -------------------------------------------------------------------------------- */

static void begin_tensor(kiln_buf *b, kiln_arena *a, const char *name, int type,
                         const char *shape) {
    kiln_str rest = kiln_str_from(shape), part;
    kiln_buf_init(b, a);
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &part)) {
        int64_t v = 0;
        kiln_parse_i64(part, &v);
        kiln_pb_put_int(b, 1, v);
    }
    kiln_pb_put_int(b, 2, type);
    if (name != NULL)
        kiln_pb_put_text(b, 8, name);
}

kiln_str kiln_onnx_raw_tensor(kiln_arena *a, const char *name, int type,
                              const char *shape, const void *data, size_t bytes) {
    kiln_buf b;
    begin_tensor(&b, a, name, type, shape);
    kiln_pb_put_bytes(&b, 9, (kiln_str){data, bytes});
    return kiln_buf_str(&b);
}

kiln_str kiln_onnx_float_tensor(kiln_arena *a, const char *name, const char *shape,
                                const float *v, size_t n) {
    kiln_buf b;
    begin_tensor(&b, a, name, KILN_ONNX_FLOAT, shape);
    kiln_pb_put_bytes(&b, 4, (kiln_str){(const char *)v, n * sizeof *v});
    return kiln_buf_str(&b);
}

static void put_packed(kiln_buf *b, kiln_arena *a, uint32_t field, const int64_t *v,
                       size_t n) {
    kiln_buf packed;
    kiln_buf_init(&packed, a);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_varint(&packed, (uint64_t)v[i]);
    kiln_pb_put_bytes(b, field, kiln_buf_str(&packed));
}

kiln_str kiln_onnx_int64_tensor(kiln_arena *a, const char *name, const char *shape,
                                const int64_t *v, size_t n) {
    kiln_buf b;
    begin_tensor(&b, a, name, KILN_ONNX_INT64, shape);
    put_packed(&b, a, 7, v, n);
    return kiln_buf_str(&b);
}

kiln_str kiln_onnx_int32_tensor(kiln_arena *a, const char *name, int type,
                                const char *shape, const int32_t *v, size_t n) {
    kiln_buf b;
    begin_tensor(&b, a, name, type, shape);
    int64_t *const wide = kiln_array(a, int64_t, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = v[i];
    put_packed(&b, a, 5, wide, n);
    return kiln_buf_str(&b);
}

kiln_str kiln_onnx_external_tensor(kiln_arena *a, const char *name, int type,
                                   const char *shape, const char *location,
                                   int64_t offset, int64_t length) {
    const struct {
        const char *key, *value;
    } pairs[] = {
        {"location", location},
        {"offset", offset < 0 ? NULL : kiln_format(a, "%" PRId64, offset)},
        {"length", length < 0 ? NULL : kiln_format(a, "%" PRId64, length)},
    };
    kiln_buf b, pair;
    begin_tensor(&b, a, name, type, shape);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].value == NULL)
            continue;
        kiln_buf_init(&pair, a);
        kiln_pb_put_text(&pair, 1, pairs[i].key);
        kiln_pb_put_text(&pair, 2, pairs[i].value);
        kiln_pb_put_bytes(&b, 13, kiln_buf_str(&pair));
    }
    kiln_pb_put_int(&b, 14, 1);
    return kiln_buf_str(&b);
}
