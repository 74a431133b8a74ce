/* TensorFlow Lite models for tests. Everything is made in the test
 * arena. */
#ifndef KILN_TESTS_SUPPORT_MODEL_TFLITE_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_TFLITE_WRITER_H

#include "tests/support/model/flatbuffer_writer.h"

enum { /* TensorType */
       KILN_TFW_F32 = 0,
       KILN_TFW_F16 = 1,
       KILN_TFW_I32 = 2,
       KILN_TFW_U8 = 3,
       KILN_TFW_I64 = 4,
       KILN_TFW_BOOL = 6,
       KILN_TFW_I16 = 7,
       KILN_TFW_I8 = 9
};

typedef struct kiln_tfw {
    kiln_fbw_table *model, *subgraph;
    kiln_fbw_list *subgraphs, *codes, *tensors, *ops, *buffers;
    kiln_fbw_table *tensor, *op; /* added last */
    int n_tensors, n_codes, n_buffers;
    KILN_VEC(int32_t) inputs, outputs;
} kiln_tfw;

kiln_tfw kiln_tfw_begin(void);
/* shape: dimensions; data: as it lies in memory, or NULL. Returns its number. */
int kiln_tfw_tensor(kiln_tfw *m, const char *name, int type, size_t rank,
                    const int32_t *shape, const void *data, size_t bytes);
/* Of the tensor added last: scales and as many zero points, along an axis. */
void kiln_tfw_scales(kiln_tfw *m, const float *scale, const int64_t *zero, size_t n,
                     int axis);
void kiln_tfw_input(kiln_tfw *m, int tensor);
void kiln_tfw_output(kiln_tfw *m, int tensor);
/* Its options, to be filled. custom: the name of a custom operator (code 32), or NULL. */
kiln_fbw_table *kiln_tfw_op(kiln_tfw *m, int code, const char *custom, size_t n_in,
                            const int32_t *in, size_t n_out, const int32_t *out);
/* What follows is of another subgraph: 1, 2, ... */
void kiln_tfw_next_subgraph(kiln_tfw *m);
/* The file. */
kiln_str kiln_tfw_write(kiln_tfw *m);

#endif
