/* TensorProto to tensor: inside the ONNX frontend. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_ONNX_TENSOR_H
#define KILN_COMPILER_FRONTEND_ONNX_ONNX_TENSOR_H

#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/graph/graph.h"

/* Where external data is looked for; each file is mapped once. */
typedef struct kiln_onnx_files {
    const char *dir;   /* NULL: none is allowed */
    const char *model; /* path of the model's file; NULL: it is in memory */
    kiln_map mapped;   /* location -> kiln_str */
} kiln_onnx_files;
/* data.c: maps one of them. KILN_ERR_PARSE where it lies outside of the folder, by its
 * name or by links; one that is where the model's own link leads is inside. */
kiln_status kiln_onnx_data_map(kiln_arena *a, const kiln_onnx_files *files,
                               kiln_str location, kiln_str *out, kiln_err *err);

/* "INT64", "FLOAT8E4M3FN" or "number 99", in words of onnx.proto; static or in the
 * buffer. */
const char *kiln_onnx_type_name(int64_t onnx_type, char buf[32]);

/* Dtype and dims, checked against the limits of a value. The message names the tensor.
 */
kiln_status kiln_onnx_tensor_type(const kiln_onnx_tensor *t, kiln_type *out,
                                  kiln_err *err);

/* The elements: a view into the file where they lie raw and aligned or are larger than
 * 64 KiB (then perhaps at an odd address: native bytes are read with memcpy), else a
 * copy in `a`. Checked: the number of elements against the dims; external data against
 * its file, which must lie in files->dir. */
kiln_status kiln_onnx_tensor_read(kiln_arena *a, const kiln_onnx_tensor *t,
                                  kiln_onnx_files *files, kiln_tensor *out,
                                  kiln_err *err);

#endif
