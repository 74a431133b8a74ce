/* Decoded ONNX messages: views into the file, arrays in the arena. Field numbers are in
 * onnx_model.c's tables. Source: onnx.proto (ONNX IR versions 3 to 14). */
#ifndef KILN_COMPILER_FRONTEND_ONNX_ONNX_MODEL_H
#define KILN_COMPILER_FRONTEND_ONNX_ONNX_MODEL_H

#include "base/base.h"

typedef struct kiln_onnx_pair { /* StringStringEntryProto */
    kiln_str key, value;
} kiln_onnx_pair;

typedef struct kiln_onnx_tensor { /* TensorProto */
    kiln_str name;
    int64_t data_type;
    const int64_t *dims;
    size_t n_dims;
    kiln_str raw_data; /* view into the file */
    bool has_raw_data;
    const float *float_data; /* typed fields; arena or view */
    size_t n_float_data;
    const double *double_data;
    size_t n_double_data;
    const int32_t *int32_data;
    size_t n_int32_data;
    const int64_t *int64_data;
    size_t n_int64_data;
    const uint64_t *uint64_data;
    size_t n_uint64_data;
    const kiln_str *string_data;
    size_t n_string_data;
    int64_t data_location; /* 1: external */
    const kiln_onnx_pair *external_data;
    size_t n_external_data;
} kiln_onnx_tensor;

typedef struct kiln_onnx_graph kiln_onnx_graph;

typedef struct kiln_onnx_attr { /* AttributeProto */
    kiln_str name;
    int64_t type; /* 1 FLOAT 2 INT 3 STRING 4 TENSOR 5 GRAPH 6 FLOATS 7 INTS 8 STRINGS
                     ... */
    float f;
    int64_t i;
    kiln_str s;
    bool has_f, has_i, has_s; /* given: files older than IR version 3 leave type out */
    const kiln_onnx_tensor *t;
    kiln_onnx_graph *g;
    const float *floats;
    size_t n_floats;
    const int64_t *ints;
    size_t n_ints;
    const kiln_str *strings;
    size_t n_strings;
    kiln_str
        ref_attr_name; /* inside functions: takes the caller's attribute of this name */
} kiln_onnx_attr;

typedef struct kiln_onnx_node { /* NodeProto */
    kiln_str name, op_type, domain;
    const kiln_str *input;
    size_t n_input;
    const kiln_str *output;
    size_t n_output;
    kiln_str overload; /* picks one of several functions of one name (IR version 10) */
    kiln_onnx_attr *attribute;
    size_t n_attribute;
    int64_t index; /* in its graph: names nodes that have no name, "#12" */
} kiln_onnx_node;

typedef struct kiln_onnx_dim { /* TensorShapeProto.Dimension */
    bool has_value;
    int64_t value;
    kiln_str param; /* symbolic name */
} kiln_onnx_dim;

typedef struct kiln_onnx_value_info { /* ValueInfoProto with its TypeProto.Tensor */
    kiln_str name;
    bool has_type;        /* a TypeProto was given */
    bool has_tensor_type; /* else one of the following, which are unsupported */
    bool has_sequence_type, has_map_type, has_sparse_type, has_optional_type;
    int64_t elem_type;
    bool has_shape;
    const kiln_onnx_dim *dims;
    size_t n_dims;
} kiln_onnx_value_info;

struct kiln_onnx_graph { /* GraphProto */
    kiln_str name;
    kiln_onnx_node *node;
    size_t n_node;
    const kiln_onnx_tensor *initializer;
    size_t n_initializer;
    const kiln_onnx_value_info *input, *output;
    size_t n_input, n_output;
    size_t n_sparse_initializer; /* only counted: unsupported */
};

typedef struct kiln_onnx_opset { /* OperatorSetIdProto */
    kiln_str domain;
    int64_t version;
} kiln_onnx_opset;

typedef struct kiln_onnx_function { /* FunctionProto: model-local functions */
    kiln_str name, domain, overload;
    const kiln_str *input, *output, *attribute;
    size_t n_input, n_output, n_attribute;
    const kiln_onnx_attr *attribute_default; /* attribute_proto */
    size_t n_attribute_default;
    kiln_onnx_node *node;
    size_t n_node;
    const kiln_onnx_opset *opset_import;
    size_t n_opset_import;
} kiln_onnx_function;

typedef struct kiln_onnx_model { /* ModelProto */
    int64_t ir_version;
    kiln_str producer_name, producer_version;
    const kiln_onnx_opset *opset_import;
    size_t n_opset_import;
    kiln_onnx_graph *graph;
    kiln_onnx_function *function;
    size_t n_function;
} kiln_onnx_model;

/* Decodes without copying bulk data. KILN_ERR_PARSE names message, field and byte
 * offset. */
kiln_status kiln_onnx_decode_model(kiln_arena *a, kiln_str bytes, kiln_onnx_model *out,
                                   kiln_err *err);
kiln_status kiln_onnx_decode_tensor(kiln_arena *a, kiln_str bytes,
                                    kiln_onnx_tensor *out, kiln_err *err);

/* True when the bytes look like a ModelProto: for finding a file's format. */
bool kiln_onnx_sniff(kiln_str bytes);

#endif
