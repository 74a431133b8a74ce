/* Writes ONNX models: message by message, in the order of the calls.
 *
 *     kiln_onnx_writer m;
 *     kiln_onnx_writer_init(&m, arena, "g");
 *     kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "N,3");
 *     kiln_onnx_put_node(&m, "Relu", "relu_1", "x", "y");
 *     kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "N,3");
 *     const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 17);
 *
 * Nothing is checked: tests write broken models. Lists of names are separated by commas
 * ("x,,b" leaves the middle one out); shapes too: numbers, symbolic names, "?" for an
 * unknown dimension, "" for a scalar, NULL for no shape at all.
 */
#ifndef KILN_ZOO_ONNX_WRITE_H
#define KILN_ZOO_ONNX_WRITE_H

#include "base/base.h"
#include "compiler/export/protobuf_write.h"

enum { /* TensorProto.DataType */
       KILN_ONNX_FLOAT = 1,
       KILN_ONNX_INT32 = 6,
       KILN_ONNX_INT64 = 7,
       KILN_ONNX_STRING = 8,
       KILN_ONNX_BOOL = 9,
       KILN_ONNX_FLOAT16 = 10,
       KILN_ONNX_DOUBLE = 11
};

/* ---- graphs ---------------------------------------------------------------------- */

/* Numbers that are made when the model is written; onnx_write.c alone looks inside. */
typedef struct kiln_onnx_weight {
    size_t at; /* in the graph's text */
    uint64_t n_elems, seed;
    double lo, hi;
} kiln_onnx_weight;

typedef struct kiln_onnx_writer {
    kiln_arena *arena; /* borrowed */
    kiln_buf graph;    /* GraphProto */
    kiln_buf node;     /* NodeProto being written; empty: none */
    kiln_buf model; /* fields of the ModelProto beside the graph: functions, opsets */
    KILN_VEC(kiln_onnx_weight) weights; /* in the order of the graph's text */
    uint64_t weight_bytes;              /* of all of them */
} kiln_onnx_writer;

void kiln_onnx_writer_init(kiln_onnx_writer *w, kiln_arena *a, const char *graph_name);
void kiln_onnx_put_input(kiln_onnx_writer *w, const char *name, int type,
                         const char *shape);
void kiln_onnx_put_output(kiln_onnx_writer *w, const char *name, int type,
                          const char *shape);
/* Begins a node; the attributes that follow belong to it. */
void kiln_onnx_put_node(kiln_onnx_writer *w, const char *op, const char *name,
                        const char *inputs, const char *outputs);
void kiln_onnx_put_attr_int(kiln_onnx_writer *w, const char *name, int64_t v);
void kiln_onnx_put_attr_float(kiln_onnx_writer *w, const char *name, float v);
void kiln_onnx_put_attr_text(kiln_onnx_writer *w, const char *name, const char *v);
void kiln_onnx_put_attr_ints(kiln_onnx_writer *w, const char *name, const int64_t *v,
                             size_t n);
void kiln_onnx_put_initializer(kiln_onnx_writer *w, kiln_str tensor);
/* The GraphProto so far: for attributes. Without kiln_onnx_put_uniform. */
kiln_str kiln_onnx_finish_graph(kiln_onnx_writer *w);
/* The ModelProto; opset 0: none for the default domain. The outline has zeros for what
 * kiln_onnx_put_uniform promised, in pages that nobody touches: enough to count. */
kiln_str kiln_onnx_finish_model(kiln_onnx_writer *w, int64_t ir_version, int64_t opset);
kiln_str kiln_onnx_finish_outline(kiln_onnx_writer *w, int64_t ir_version,
                                  int64_t opset);
/* The same into a file, whole or not at all (kiln_file_writer), weights in pieces:
 * never in memory. KILN_ERR_LIMIT for models that protobuf cannot hold in one file. */
#define KILN_ONNX_MAX_FILE_BYTES UINT64_C(2147483647)
kiln_status kiln_onnx_write_model(kiln_onnx_writer *w, int64_t ir_version,
                                  int64_t opset, const char *path, kiln_err *err);

/* ---- tensors --------------------------------------------------------------------- */

/* TensorProto with raw_data. */
kiln_str kiln_onnx_raw_tensor(kiln_arena *a, const char *name, int type,
                              const char *shape, const void *data, size_t bytes);
/* An initializer of float, uniform in [lo, hi] by kiln_rng from this seed; lo == hi is
 * a constant. All dimensions are numbers above 0. */
void kiln_onnx_put_uniform(kiln_onnx_writer *w, const char *name, const char *shape,
                           uint64_t seed, double lo, double hi);

/* ---- pieces that other writers of messages need ---------------------------------- */

/* Fields `field` = each name. */
void kiln_onnx_put_names(kiln_buf *b, uint32_t field, const char *names);
/* Adds name and AttributeProto.AttributeType to `attr`, and it to the node. */
void kiln_onnx_put_attr(kiln_onnx_writer *w, kiln_buf *attr, const char *name,
                        int type);
/* An OperatorSetIdProto as field `field`. */
void kiln_onnx_put_opset_id(kiln_buf *b, uint32_t field, kiln_arena *a,
                            const char *domain, int64_t version);
/* A TensorProto without its data. */
void kiln_onnx_begin_tensor(kiln_buf *b, kiln_arena *a, const char *name, int type,
                            const char *shape);

#endif
