/* What only tests write into ONNX models. Source: onnx.proto. */
#include "tests/support/model/onnx_writer.h"

#include <inttypes.h>
#include <string.h>

void kiln_onnx_put_domain(kiln_onnx_writer *w, const char *domain) {
    kiln_pb_put_text(&w->node, 7, domain);
}

void kiln_onnx_put_attr_graph(kiln_onnx_writer *w, const char *name, kiln_str graph) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_bytes(&attr, 6, graph);
    kiln_onnx_put_attr(w, &attr, name, 5);
}

void kiln_onnx_put_attr_ref(kiln_onnx_writer *w, const char *name, const char *of,
                            int attr_type) {
    kiln_buf attr;
    kiln_buf_init(&attr, w->arena);
    kiln_pb_put_text(&attr, 21, of);
    kiln_onnx_put_attr(w, &attr, name, attr_type);
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
    kiln_onnx_put_names(&fn, 4, inputs);
    kiln_onnx_put_names(&fn, 5, outputs);
    kiln_onnx_put_names(&fn, 6, attributes);
    copy_nodes(&fn, kiln_onnx_finish_graph(body));
    kiln_onnx_put_opset_id(&fn, 9, w->arena, "", opset);
    kiln_pb_put_text(&fn, 10, domain);
    kiln_pb_put_bytes(&w->model, 25, kiln_buf_str(&fn));
}

void kiln_onnx_put_opset(kiln_onnx_writer *w, const char *domain, int64_t version) {
    kiln_onnx_put_opset_id(&w->model, 8, w->arena, domain, version);
}

kiln_str kiln_onnx_float_tensor(kiln_arena *a, const char *name, const char *shape,
                                const float *v, size_t n) {
    kiln_buf b;
    kiln_onnx_begin_tensor(&b, a, name, KILN_ONNX_FLOAT, shape);
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
    kiln_onnx_begin_tensor(&b, a, name, KILN_ONNX_INT64, shape);
    put_packed(&b, a, 7, v, n);
    return kiln_buf_str(&b);
}

kiln_str kiln_onnx_int32_tensor(kiln_arena *a, const char *name, int type,
                                const char *shape, const int32_t *v, size_t n) {
    kiln_buf b;
    kiln_onnx_begin_tensor(&b, a, name, type, shape);
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
    kiln_onnx_begin_tensor(&b, a, name, type, shape);
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
