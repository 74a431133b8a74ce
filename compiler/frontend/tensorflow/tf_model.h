/* Decoded TensorFlow messages: views into the file, arrays in the arena. Field numbers
 * are in tensorflow_model.c's tables. Source: tensorflow/core/framework: graph.proto,
 * node_def.proto, attr_value.proto, tensor.proto, tensor_shape.proto, function.proto. */
#ifndef KILN_COMPILER_FRONTEND_TENSORFLOW_TF_MODEL_H
#define KILN_COMPILER_FRONTEND_TENSORFLOW_TF_MODEL_H

#include "base/base.h"

typedef struct kiln_tf_dim { /* TensorShapeProto.Dim */
    int64_t size;            /* -1: not known */
} kiln_tf_dim;

typedef struct kiln_tf_shape { /* TensorShapeProto */
    const kiln_tf_dim *dim;
    size_t n_dim;
    bool is_unknown; /* its rank, too */
} kiln_tf_shape;

typedef struct kiln_tf_tensor { /* TensorProto */
    int64_t dtype;
    kiln_tf_shape shape;
    kiln_str content; /* view into the file */
    bool has_content;
    const float *f32; /* typed fields; arena or view */
    size_t n_f32;
    const double *f64;
    size_t n_f64;
    const int32_t *i32; /* all integers of up to 32 bits */
    size_t n_i32;
    const int64_t *i64;
    size_t n_i64;
    const int32_t *flags; /* bools */
    size_t n_flags;
    const int32_t *halves; /* bits of f16 and bf16 */
    size_t n_halves;
    const uint64_t *u32;
    size_t n_u32;
    const uint64_t *u64;
    size_t n_u64;
    const kiln_str *text;
    size_t n_text;
} kiln_tf_tensor;

typedef struct kiln_tf_list { /* AttrValue.ListValue */
    const int64_t *i;
    size_t n_i;
    const kiln_str *s;
    size_t n_s;
    const int64_t *type;
    size_t n_type;
} kiln_tf_list;

typedef struct kiln_tf_attr { /* an entry of NodeDef.attr, with its AttrValue */
    kiln_str name;
    kiln_str s;
    int64_t i, type;
    float f;
    bool b, has_s, has_i, has_f, has_b, has_type;
    kiln_tf_list *list;
    kiln_tf_shape *shape;
    kiln_tf_tensor *tensor;
    kiln_str placeholder; /* takes the function's attribute of this name */
    kiln_str func;        /* NameAttrList, of which only the name is used */
    bool has_func;
} kiln_tf_attr;

typedef struct kiln_tf_node { /* NodeDef */
    kiln_str name, op;
    const kiln_str *input; /* data first, then "^control" */
    size_t n_input;
    kiln_tf_attr *attr;
    size_t n_attr;
    int n_in; /* of data, counted when it is decoded */
    /* What a caller says for it: its name, or the signature's. */
    kiln_str label;
    bool is_hidden; /* a placeholder that the signature does not name */
} kiln_tf_node;

typedef struct kiln_tf_arg { /* OpDef.ArgDef */
    kiln_str name;
    int64_t type;
} kiln_tf_arg;

typedef struct kiln_tf_pair { /* map<string, string> */
    kiln_str key, value;
} kiln_tf_pair;

typedef struct kiln_tf_function { /* FunctionDef, with its OpDef */
    kiln_str name;
    const kiln_tf_arg *input, *output;
    size_t n_input, n_output;
    kiln_tf_node *node;
    size_t n_node;
    const kiln_tf_pair *ret;
    size_t n_ret;
} kiln_tf_function;

typedef struct kiln_tf_graph { /* GraphDef */
    kiln_tf_node *node;
    size_t n_node;
    kiln_tf_function *function; /* of its library */
    size_t n_function;
    int64_t producer; /* versions.producer */
} kiln_tf_graph;

typedef struct kiln_tf_tensor_info { /* an entry of SignatureDef, with its TensorInfo */
    kiln_str key, name;              /* name: "node:0" */
    bool is_sparse;
} kiln_tf_tensor_info;

typedef struct kiln_tf_signature { /* an entry of MetaGraphDef.signature_def */
    kiln_str key;
    const kiln_tf_tensor_info *input, *output;
    size_t n_input, n_output;
} kiln_tf_signature;

typedef struct kiln_tf_meta { /* MetaGraphDef */
    const kiln_str *tag;
    size_t n_tag;
    kiln_str version; /* tensorflow_version */
    kiln_tf_graph *graph;
    const kiln_tf_signature *signature;
    size_t n_signature;
} kiln_tf_meta;

typedef struct kiln_tf_saved { /* SavedModel */
    int64_t version;
    const kiln_tf_meta *meta;
    size_t n_meta;
} kiln_tf_saved;

/* Decodes without copying bulk data. KILN_ERR_PARSE names message, field and byte
 * offset. */
kiln_status kiln_tf_decode_graph(kiln_arena *a, kiln_str bytes, kiln_tf_graph *out,
                                 kiln_err *err);

kiln_status kiln_tf_decode_saved(kiln_arena *a, kiln_str bytes, kiln_tf_saved *out,
                                 kiln_err *err);

/* True when the bytes look like a GraphDef, or a SavedModel: for finding a file's
 * format. */
bool kiln_tf_sniff_graph(kiln_str bytes);
bool kiln_tf_sniff_saved(kiln_str bytes);

#endif
