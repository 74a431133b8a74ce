/* Inside the frontend of Core ML's ML programs: the program as structs, values, one
 * operation's call. Source: MIL.proto, Model.proto. */
#ifndef KILN_COMPILER_FRONTEND_MLPROGRAM_MIL_H
#define KILN_COMPILER_FRONTEND_MLPROGRAM_MIL_H

#include "compiler/frontend/compose.h"
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/protobuf.h"

/* ---- the file: mlprogram_program.c ----------------------------------------------- */

typedef struct kiln_mil_size {
    uint64_t size;
} kiln_mil_size;

typedef struct kiln_mil_dim {      /* Dimension */
    const kiln_mil_size *constant; /* NULL: not known */
} kiln_mil_dim;

typedef struct kiln_mil_tensor_type { /* TensorType */
    int64_t dtype;
    const kiln_mil_dim *dim;
    size_t n_dim;
} kiln_mil_tensor_type;

typedef struct kiln_mil_type { /* ValueType */
    const kiln_mil_tensor_type *tensor;
} kiln_mil_type;

/* TensorValue: one of these has something. */
typedef struct kiln_mil_floats {
    const float *v;
    size_t n_v;
} kiln_mil_floats;
typedef struct kiln_mil_longs {
    const int64_t *v;
    size_t n_v;
} kiln_mil_longs;
typedef struct kiln_mil_strings {
    const kiln_str *v;
    size_t n_v;
} kiln_mil_strings;
typedef struct kiln_mil_bytes {
    kiln_str v;
} kiln_mil_bytes;
typedef struct kiln_mil_tensor {
    const kiln_mil_floats *floats;
    const kiln_mil_longs *ints, *bools, *longs;
    const kiln_mil_strings *strings;
    const kiln_mil_bytes *bytes;
} kiln_mil_tensor;

typedef struct kiln_mil_immediate {
    const kiln_mil_tensor *tensor;
} kiln_mil_immediate;
typedef struct kiln_mil_blob { /* BlobFileValue */
    kiln_str file;
    uint64_t offset;
} kiln_mil_blob;

typedef struct kiln_mil_value { /* Value */
    const kiln_mil_type *type;
    const kiln_mil_immediate *immediate;
    const kiln_mil_blob *blob;
} kiln_mil_value;

typedef struct kiln_mil_binding { /* Argument.Binding: one of them */
    kiln_str name;
    const kiln_mil_value *value;
} kiln_mil_binding;

typedef struct kiln_mil_argument { /* an entry of Operation.inputs */
    kiln_str key;
    const kiln_mil_binding *binding;
    size_t n_binding;
} kiln_mil_argument;

typedef struct kiln_mil_attribute { /* an entry of Operation.attributes */
    kiln_str key;
    const kiln_mil_value *value;
} kiln_mil_attribute;

typedef struct kiln_mil_named { /* NamedValueType */
    kiln_str name;
    const kiln_mil_type *type;
} kiln_mil_named;

typedef struct kiln_mil_op { /* Operation */
    kiln_str type;
    const kiln_mil_argument *input;
    size_t n_input;
    const kiln_mil_named *output;
    size_t n_output;
    size_t n_blocks;
    const kiln_mil_attribute *attribute;
    size_t n_attribute;
} kiln_mil_op;

typedef struct kiln_mil_block { /* an entry of Function.block_specializations */
    kiln_str key;
    const kiln_str *output;
    size_t n_output;
    const kiln_mil_op *op;
    size_t n_op;
} kiln_mil_block;

typedef struct kiln_mil_function { /* an entry of Program.functions */
    kiln_str key, opset;
    const kiln_mil_named *input;
    size_t n_input;
    const kiln_mil_block *block;
    size_t n_block;
} kiln_mil_function;

typedef struct kiln_mil_program {
    int64_t spec; /* specificationVersion */
    const kiln_mil_function *function;
    const kiln_mil_block *block; /* of the function's opset */
} kiln_mil_program;

/* The function 'main', or the only one. */
kiln_status kiln_mil_decode(kiln_arena *a, kiln_str bytes, kiln_mil_program *out,
                            kiln_err *err);
kiln_status kiln_mil_dtype(int64_t type, kiln_dtype *out, kiln_err *err);

/* ---- an import -------------------------------------------------------------------- */

typedef struct kiln_mil_cx {
    kiln_import_cx common; /* first */
    kiln_mil_program program;
    const kiln_import_options *options;
    kiln_import_report *report;
    const char *dir, *model;  /* of the file; dir NULL: none is looked for beside it */
    const char *weights_name; /* NULL: not read yet */
    kiln_str weights;
    kiln_map values; /* name -> kiln_mil_named_value */
} kiln_mil_cx;

/* What a name stands for: a tensor, or a word that decides something. */
typedef struct kiln_mil_known {
    kiln_value *value; /* NULL: a word */
    kiln_str word;
} kiln_mil_known;

typedef struct kiln_mil_call {
    kiln_mil_cx *cx;
    const kiln_mil_op *op;
    const struct kiln_mil_row *row;
    kiln_compose c;
} kiln_mil_call;

typedef kiln_status kiln_mil_import_fn(kiln_mil_call *k);
typedef struct kiln_mil_row {
    const char *name;
    kiln_mil_import_fn *import;
    const kiln_op_def *op; /* of shared importers */
} kiln_mil_row;
const kiln_mil_row *kiln_mil_find(kiln_str type);

#define kiln_mil_fail(k, status, ...)                                                  \
    kiln_fail((k)->cx->common.err, status, __VA_ARGS__)

/* ---- mlprogram_values.c ---------------------------------------------------------- */

/* A constant of the file: in it, or in the file of weights beside it (a view). */
kiln_status kiln_mil_const(kiln_mil_cx *cx, const kiln_mil_value *v, const char *name,
                           kiln_mil_known *out);
/* Operand `name`; *out NULL: it is left out. */
kiln_status kiln_mil_get(kiln_mil_call *k, const char *name, kiln_value **out);
/* The same; KILN_ERR_PARSE where it is left out. */
kiln_status kiln_mil_need(kiln_mil_call *k, const char *name, kiln_value **out);
/* All bindings of one operand, in scratch. */
kiln_status kiln_mil_list(kiln_mil_call *k, const char *name, kiln_value ***out,
                          size_t *n);
/* Operands that must be constant; where they are left out, *n is 0 and numbers keep what
 * they hold. */
kiln_status kiln_mil_ints(kiln_mil_call *k, const char *name, const int64_t **out,
                          size_t *n);
kiln_status kiln_mil_int(kiln_mil_call *k, const char *name, int64_t *out);
kiln_status kiln_mil_float(kiln_mil_call *k, const char *name, double *out);
kiln_status kiln_mil_bool(kiln_mil_call *k, const char *name, bool *out);
kiln_status kiln_mil_word(kiln_mil_call *k, const char *name, kiln_str *out);
/* Output i of the operation. */
kiln_status kiln_mil_set(kiln_mil_call *k, size_t i, kiln_value *v);
/* The only one, of what was composed. */
kiln_status kiln_mil_end(kiln_mil_call *k, kiln_value *v);

#define KILN_MIL(name, importer, op) kiln_mil_import_fn kiln_mil_import_##importer;
#include "compiler/frontend/mlprogram/mil_ops.def"
#undef KILN_MIL

#endif
