/* What only tests write into ONNX models, beside zoo/onnx_write.h: functions, regions,
 * data in typed fields and in other files, references that lead nowhere. */
#ifndef KILN_TESTS_SUPPORT_MODEL_ONNX_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_ONNX_WRITER_H

#include "zoo/onnx_write.h"

void kiln_onnx_put_domain(kiln_onnx_writer *w, const char *domain); /* of the node */
void kiln_onnx_put_attr_graph(kiln_onnx_writer *w, const char *name, kiln_str graph);
/* Takes the attribute `of` of the function that the node is in. */
void kiln_onnx_put_attr_ref(kiln_onnx_writer *w, const char *name, const char *of,
                            int attr_type);
/* A FunctionProto out of the nodes of `body` (whose inputs and outputs are named here).
 */
void kiln_onnx_put_function(kiln_onnx_writer *w, kiln_onnx_writer *body,
                            const char *domain, const char *name, const char *inputs,
                            const char *outputs, const char *attributes, int64_t opset);
void kiln_onnx_put_opset(kiln_onnx_writer *w, const char *domain, int64_t version);
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
