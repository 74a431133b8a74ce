/* Writes ONNX models for tests: message by message, in the order of the calls.
 *
 *     kiln_onnx_writer m;
 *     kiln_onnx_writer_init(&m, arena, "g");
 *     kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "N,3");
 *     kiln_onnx_put_node(&m, "Relu", "relu_1", "x", "y");
 *     kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "N,3");
 *     const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 13);
 *
 * Nothing is checked: broken models are what it is for. Lists of names are separated by
 * commas ("x,,b" leaves the middle one out); shapes too: numbers, symbolic names, "?"
 * for an unknown dimension, "" for a scalar, NULL for no shape at all.
 */
#ifndef KILN_TESTS_SUPPORT_ONNX_WRITER_H
#define KILN_TESTS_SUPPORT_ONNX_WRITER_H

#include "base/base.h"

enum { /* TensorProto.DataType */
       KILN_ONNX_FLOAT = 1,
       KILN_ONNX_INT32 = 6,
       KILN_ONNX_INT64 = 7,
       KILN_ONNX_STRING = 8,
       KILN_ONNX_BOOL = 9,
       KILN_ONNX_FLOAT16 = 10,
       KILN_ONNX_DOUBLE = 11
};

/* ---- protobuf
 * ------------------------------------------------------------------------------- */

void kiln_pb_put_varint(kiln_buf *b, uint64_t v); /* without a tag */
void kiln_pb_put_int(kiln_buf *b, uint32_t field, int64_t v);
void kiln_pb_put_float(kiln_buf *b, uint32_t field, float v);
void kiln_pb_put_bytes(kiln_buf *b, uint32_t field, kiln_str v);
void kiln_pb_put_text(kiln_buf *b, uint32_t field, const char *v);

/* ---- graphs
 * --------------------------------------------------------------------------------- */

typedef struct kiln_onnx_writer {
    kiln_arena *arena; /* borrowed */
    kiln_buf graph;    /* GraphProto */
    kiln_buf node;     /* NodeProto being written; empty: none */
    kiln_buf model; /* fields of the ModelProto beside the graph: functions, opsets */
} kiln_onnx_writer;

void kiln_onnx_writer_init(kiln_onnx_writer *w, kiln_arena *a, const char *graph_name);
void kiln_onnx_put_input(kiln_onnx_writer *w, const char *name, int type,
                         const char *shape);
void kiln_onnx_put_output(kiln_onnx_writer *w, const char *name, int type,
                          const char *shape);
/* Begins a node; the attributes that follow belong to it. */
void kiln_onnx_put_node(kiln_onnx_writer *w, const char *op, const char *name,
                        const char *inputs, const char *outputs);
void kiln_onnx_put_domain(kiln_onnx_writer *w, const char *domain); /* of the node */
void kiln_onnx_put_attr_int(kiln_onnx_writer *w, const char *name, int64_t v);
void kiln_onnx_put_attr_float(kiln_onnx_writer *w, const char *name, float v);
void kiln_onnx_put_attr_text(kiln_onnx_writer *w, const char *name, const char *v);
void kiln_onnx_put_attr_ints(kiln_onnx_writer *w, const char *name, const int64_t *v,
                             size_t n);
void kiln_onnx_put_attr_tensor(kiln_onnx_writer *w, const char *name, kiln_str tensor);
void kiln_onnx_put_attr_graph(kiln_onnx_writer *w, const char *name, kiln_str graph);
/* Takes the attribute `of` of the function that the node is in. */
void kiln_onnx_put_attr_ref(kiln_onnx_writer *w, const char *name, const char *of,
                            int attr_type);
void kiln_onnx_put_initializer(kiln_onnx_writer *w, kiln_str tensor);
/* The GraphProto so far: for attributes. */
kiln_str kiln_onnx_finish_graph(kiln_onnx_writer *w);
/* A FunctionProto out of the nodes of `body` (whose inputs and outputs are named here).
 */
void kiln_onnx_put_function(kiln_onnx_writer *w, kiln_onnx_writer *body,
                            const char *domain, const char *name, const char *inputs,
                            const char *outputs, const char *attributes, int64_t opset);
void kiln_onnx_put_opset(kiln_onnx_writer *w, const char *domain, int64_t version);
/* The ModelProto; opset 0: none for the default domain. */
kiln_str kiln_onnx_finish_model(kiln_onnx_writer *w, int64_t ir_version, int64_t opset);

/* ---- tensors
 * -------------------------------------------------------------------------------- */

/* TensorProto with raw_data. */
kiln_str kiln_onnx_raw_tensor(kiln_arena *a, const char *name, int type,
                              const char *shape, const void *data, size_t bytes);
/* With float_data / int64_data. */
kiln_str kiln_onnx_float_tensor(kiln_arena *a, const char *name, const char *shape,
                                const float *v, size_t n);
kiln_str kiln_onnx_int64_tensor(kiln_arena *a, const char *name, const char *shape,
                                const int64_t *v, size_t n);
/* With int32_data, for the types that lie there. */
kiln_str kiln_onnx_int32_tensor(kiln_arena *a, const char *name, int type,
                                const char *shape, const int32_t *v, size_t n);
/* In a file beside the model; offset or length < 0: left out. */
kiln_str kiln_onnx_external_tensor(kiln_arena *a, const char *name, int type,
                                   const char *shape, const char *location,
                                   int64_t offset, int64_t length);

#endif
