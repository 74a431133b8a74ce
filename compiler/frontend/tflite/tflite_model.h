/* Decoded TensorFlow Lite tables: views into the file, arrays in the arena. Slots are in
 * tflite_model.c's tables. Source: TensorFlow Lite, schema.fbs, version 3. */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_TFLITE_MODEL_H
#define KILN_COMPILER_FRONTEND_TFLITE_TFLITE_MODEL_H

#include "compiler/frontend/flatbuffers.h"
#include "compiler/graph/graph.h"

typedef struct kiln_tflite_quantization { /* QuantizationParameters */
    const float *scale;
    size_t n_scale;
    const int64_t *zero_point;
    size_t n_zero_point;
    int64_t details_type; /* not 0: quantised in a way of its own */
    int64_t axis;         /* quantized_dimension */
} kiln_tflite_quantization;

typedef struct kiln_tflite_dim { /* DimensionMetadata */
    int64_t format;              /* 0 dense, 1 compressed */
    int64_t dense_size;
    int64_t segments_type, indices_type; /* 1 Int32Vector, 2 Uint16, 3 Uint8 */
    kiln_fb_ref segments, indices;
} kiln_tflite_dim;

typedef struct kiln_tflite_sparsity { /* SparsityParameters */
    const int32_t *traversal_order, *block_map;
    size_t n_traversal_order, n_block_map;
    const kiln_tflite_dim *dim;
    size_t n_dim;
} kiln_tflite_sparsity;

typedef struct kiln_tflite_tensor { /* Tensor */
    kiln_str name;
    const int32_t *shape, *signature; /* signature: -1 for a dynamic dimension */
    size_t n_shape, n_signature;
    int64_t type;   /* TensorType */
    int64_t buffer; /* 0: the empty one */
    int64_t is_variable;
    const kiln_tflite_quantization *quantization; /* or NULL */
    const kiln_tflite_sparsity *sparsity;         /* or NULL */
} kiln_tflite_tensor;

typedef struct kiln_tflite_op { /* Operator */
    int64_t code;               /* opcode_index */
    const int32_t *input, *output, *intermediate;
    size_t n_input, n_output, n_intermediate;
    int64_t options_type;
    kiln_fb_ref options;
    kiln_str custom_options;
    int64_t index; /* in its subgraph: for messages */
} kiln_tflite_op;

typedef struct kiln_tflite_subgraph { /* SubGraph */
    kiln_str name;
    const kiln_tflite_tensor *tensor;
    size_t n_tensor;
    const int32_t *input, *output;
    size_t n_input, n_output;
    kiln_tflite_op *op;
    size_t n_op;
} kiln_tflite_subgraph;

typedef struct kiln_tflite_code { /* OperatorCode */
    int64_t old_builtin, builtin; /* old: of 8 bits, which 127 outgrew */
    kiln_str custom;
    int64_t version;
} kiln_tflite_code;

typedef struct kiln_tflite_buffer { /* Buffer */
    kiln_str data;
    int64_t offset, size; /* of a buffer behind the tables: files over 2 GB */
} kiln_tflite_buffer;

typedef struct kiln_tflite_metadata { /* Metadata */
    kiln_str name;
    int64_t buffer;
} kiln_tflite_metadata;

typedef struct kiln_tflite_map { /* TensorMap */
    kiln_str name;
    int64_t tensor;
} kiln_tflite_map;

typedef struct kiln_tflite_signature { /* SignatureDef */
    const kiln_tflite_map *input, *output;
    size_t n_input, n_output;
    kiln_str key;
    int64_t subgraph;
} kiln_tflite_signature;

typedef struct kiln_tflite_model { /* Model */
    int64_t version;
    kiln_tflite_code *code;
    size_t n_code;
    const kiln_tflite_subgraph *subgraph;
    size_t n_subgraph;
    kiln_str description;
    const kiln_tflite_buffer *buffer;
    size_t n_buffer;
    const kiln_tflite_metadata *metadata;
    size_t n_metadata;
    const kiln_tflite_signature *signature;
    size_t n_signature;
} kiln_tflite_model;

bool kiln_tflite_sniff(kiln_str bytes);
/* Reads the model and checks what its parts say of each other: indexes of tensors,
 * buffers, operator codes and subgraphs; ranks; a subgraph there must be. */
kiln_status kiln_tflite_decode(kiln_fb *fb, kiln_tflite_model *out);

/* The bytes of a tensor's buffer; empty: it has none. */
kiln_status kiln_tflite_data(const kiln_fb *fb, const kiln_tflite_model *m,
                             const kiln_tflite_tensor *t, kiln_str *out);
/* Element type; KILN_ERR_UNSUPPORTED names one that kiln does not have. */
kiln_status kiln_tflite_dtype(int64_t type, kiln_dtype *out, kiln_err *err);
/* "COMPLEX64"; of what no version of the schema has, its number in `buf` (32 bytes). */
const char *kiln_tflite_type_name(int64_t type, char *buf);

/* ---- options.c -------------------------------------------------------------------- */

enum { KILN_TFLITE_SAME, KILN_TFLITE_VALID }; /* Padding */
typedef enum kiln_tflite_activation {         /* ActivationFunctionType */
                                      KILN_TFLITE_NONE,
                                      KILN_TFLITE_RELU,
                                      KILN_TFLITE_RELU_N1_TO_1,
                                      KILN_TFLITE_RELU6,
                                      KILN_TFLITE_TANH,
                                      KILN_TFLITE_SIGN_BIT
} kiln_tflite_activation;

/* Options of all operators that kiln reads: each has those that its table names. */
typedef struct kiln_tflite_options {
    int64_t padding, stride_w, stride_h, stride_d;
    int64_t dilation_w, dilation_h, dilation_d;
    int64_t filter_w, filter_h;
    int64_t activation;
    int64_t depth_multiplier;
    int64_t weights_format, keep_num_dims;
    int64_t axis, batch_dims, count, block_size;
    int64_t keep_dims, align_corners, half_pixel;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask, offset;
    int64_t mode, type, adj_x, adj_y, exclusive, reverse, approximate, time_major;
    int64_t merges; /* both directions are one output */
    int64_t rank, seq_dim, batch_dim, kernel_type, radius;
    int64_t first, second; /* subgraphs: then and else, condition and body */
    int64_t bits, is_narrow;
    double beta, alpha, bias, cell_clip, proj_clip, min, max;
    const int32_t *dims; /* new_shape, squeeze_dims */
    size_t n_dims;
} kiln_tflite_options;

/* Tables of options: kiln_tflite_conv_2d_options, ... */
#define KILN_TFLITE_OPTIONS(name)                                                      \
    extern const kiln_fb_table kiln_tflite_##name##_options;
#include "compiler/frontend/tflite/tflite_options.def"
#undef KILN_TFLITE_OPTIONS

#endif
