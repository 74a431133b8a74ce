/* ML programs as they lie in a file: tables of MIL.proto for the protobuf reader, and
 * which function is read. Maps are lists of entries. */
#include "compiler/frontend/mlprogram/mil.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>

static const kiln_pb_field size_fields[] = {FIELD(1, kiln_mil_size, size, KILN_PB_U64)};
static const kiln_pb_message size_message =
    MESSAGE("ConstantDimension", kiln_mil_size, size_fields);
static const kiln_pb_field dim_fields[] = {
    SUB(1, kiln_mil_dim, constant, size_message)};
static const kiln_pb_message dim_message =
    MESSAGE("Dimension", kiln_mil_dim, dim_fields);
static const kiln_pb_field tensor_type_fields[] = {
    FIELD(1, kiln_mil_tensor_type, dtype, KILN_PB_I64),
    SUBS(3, kiln_mil_tensor_type, dim, dim_message),
};
static const kiln_pb_message tensor_type_message =
    MESSAGE("TensorType", kiln_mil_tensor_type, tensor_type_fields);
static const kiln_pb_field type_fields[] = {
    SUB(1, kiln_mil_type, tensor, tensor_type_message)};
static const kiln_pb_message type_message =
    MESSAGE("ValueType", kiln_mil_type, type_fields);

static const kiln_pb_field floats_fields[] = {LIST(1, kiln_mil_floats, v, KILN_PB_F32)};
static const kiln_pb_message floats_message =
    MESSAGE("RepeatedFloats", kiln_mil_floats, floats_fields);
static const kiln_pb_field ints_fields[] = {LIST(1, kiln_mil_longs, v, KILN_PB_I64)};
static const kiln_pb_message ints_message =
    MESSAGE("RepeatedInts", kiln_mil_longs, ints_fields);
static const kiln_pb_field strings_fields[] = {
    LIST(1, kiln_mil_strings, v, KILN_PB_BYTES)};
static const kiln_pb_message strings_message =
    MESSAGE("RepeatedStrings", kiln_mil_strings, strings_fields);
static const kiln_pb_field bytes_fields[] = {
    FIELD(1, kiln_mil_bytes, v, KILN_PB_BYTES)};
static const kiln_pb_message bytes_message =
    MESSAGE("RepeatedBytes", kiln_mil_bytes, bytes_fields);
static const kiln_pb_field tensor_fields[] = {
    SUB(1, kiln_mil_tensor, floats, floats_message),
    SUB(2, kiln_mil_tensor, ints, ints_message),
    SUB(3, kiln_mil_tensor, bools, ints_message),
    SUB(4, kiln_mil_tensor, strings, strings_message),
    SUB(5, kiln_mil_tensor, longs, ints_message),
    SUB(7, kiln_mil_tensor, bytes, bytes_message),
};
static const kiln_pb_message tensor_message =
    MESSAGE("TensorValue", kiln_mil_tensor, tensor_fields);
static const kiln_pb_field immediate_fields[] = {
    SUB(1, kiln_mil_immediate, tensor, tensor_message)};
static const kiln_pb_message immediate_message =
    MESSAGE("ImmediateValue", kiln_mil_immediate, immediate_fields);
static const kiln_pb_field blob_fields[] = {
    FIELD(1, kiln_mil_blob, file, KILN_PB_BYTES),
    FIELD(2, kiln_mil_blob, offset, KILN_PB_U64),
};
static const kiln_pb_message blob_message =
    MESSAGE("BlobFileValue", kiln_mil_blob, blob_fields);
static const kiln_pb_field value_fields[] = {
    SUB(2, kiln_mil_value, type, type_message),
    SUB(3, kiln_mil_value, immediate, immediate_message),
    SUB(5, kiln_mil_value, blob, blob_message),
};
static const kiln_pb_message value_message =
    MESSAGE("Value", kiln_mil_value, value_fields);

static const kiln_pb_field binding_fields[] = {
    FIELD(1, kiln_mil_binding, name, KILN_PB_BYTES),
    SUB(2, kiln_mil_binding, value, value_message),
};
static const kiln_pb_message binding_message =
    MESSAGE("Binding", kiln_mil_binding, binding_fields);
static const kiln_pb_field argument_fields[] = {
    SUBS(1, kiln_mil_argument, binding, binding_message)};
static const kiln_pb_message argument_message =
    MESSAGE("Argument", kiln_mil_argument, argument_fields);
static const kiln_pb_field argument_entry_fields[] = {
    FIELD(1, kiln_mil_argument, key, KILN_PB_BYTES),
    FLAT(2, "value", argument_message),
};
static const kiln_pb_message argument_entry =
    MESSAGE("Operation.InputsEntry", kiln_mil_argument, argument_entry_fields);
static const kiln_pb_field attribute_fields[] = {
    FIELD(1, kiln_mil_attribute, key, KILN_PB_BYTES),
    SUB(2, kiln_mil_attribute, value, value_message),
};
static const kiln_pb_message attribute_entry =
    MESSAGE("Operation.AttributesEntry", kiln_mil_attribute, attribute_fields);
static const kiln_pb_field named_fields[] = {
    FIELD(1, kiln_mil_named, name, KILN_PB_BYTES),
    SUB(2, kiln_mil_named, type, type_message),
};
static const kiln_pb_message named_message =
    MESSAGE("NamedValueType", kiln_mil_named, named_fields);
static const kiln_pb_field op_fields[] = {
    FIELD(1, kiln_mil_op, type, KILN_PB_BYTES),
    SUBS(2, kiln_mil_op, input, argument_entry),
    SUBS(3, kiln_mil_op, output, named_message),
    {4, KILN_PB_COUNT, true, "blocks", offsetof(kiln_mil_op, n_blocks), KILN_PB_NONE,
     NULL},
    SUBS(5, kiln_mil_op, attribute, attribute_entry),
};
static const kiln_pb_message op_message = MESSAGE("Operation", kiln_mil_op, op_fields);
static const kiln_pb_field block_fields[] = {
    LIST(2, kiln_mil_block, output, KILN_PB_BYTES),
    SUBS(3, kiln_mil_block, op, op_message),
};
static const kiln_pb_message block_message =
    MESSAGE("Block", kiln_mil_block, block_fields);
static const kiln_pb_field block_entry_fields[] = {
    FIELD(1, kiln_mil_block, key, KILN_PB_BYTES),
    FLAT(2, "value", block_message),
};
static const kiln_pb_message block_entry =
    MESSAGE("Function.BlockSpecializationsEntry", kiln_mil_block, block_entry_fields);
static const kiln_pb_field function_fields[] = {
    SUBS(1, kiln_mil_function, input, named_message),
    FIELD(2, kiln_mil_function, opset, KILN_PB_BYTES),
    SUBS(3, kiln_mil_function, block, block_entry),
};
static const kiln_pb_message function_message =
    MESSAGE("Function", kiln_mil_function, function_fields);
static const kiln_pb_field function_entry_fields[] = {
    FIELD(1, kiln_mil_function, key, KILN_PB_BYTES),
    FLAT(2, "value", function_message),
};
static const kiln_pb_message function_entry =
    MESSAGE("Program.FunctionsEntry", kiln_mil_function, function_entry_fields);

typedef struct program {
    const kiln_mil_function *functions;
    size_t n_functions;
} program;
typedef struct model {
    int64_t spec;
    const program *program;
} model;
static const kiln_pb_field program_fields[] = {
    SUBS(2, program, functions, function_entry)};
static const kiln_pb_message program_message =
    MESSAGE("Program", program, program_fields);
static const kiln_pb_field model_fields[] = {
    FIELD(1, model, spec, KILN_PB_I64),
    SUB(502, model, program, program_message),
};
static const kiln_pb_message model_message = MESSAGE("Model", model, model_fields);

static const kiln_mil_function *main_of(const program *p) {
    for (size_t i = 0; p != NULL && i < p->n_functions; i++)
        if (p->n_functions == 1 || kiln_str_is(p->functions[i].key, "main"))
            return &p->functions[i];
    return NULL;
}

kiln_status kiln_mil_decode(kiln_arena *a, kiln_str bytes, kiln_mil_program *out,
                            kiln_err *err) {
    model m;
    KILN_TRY(kiln_pb_read(a, &model_message, bytes, &m, err));
    *out = (kiln_mil_program){.spec = m.spec, .function = main_of(m.program)};
    if (out->function == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the ML program must have a function 'main'; is it damaged?");
    for (size_t i = 0; i < out->function->n_block; i++)
        if (kiln_str_eq(out->function->block[i].key, out->function->opset))
            out->block = &out->function->block[i];
    if (out->block == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the function has no block for its opset '%s'; is it damaged?",
                         kiln_str_printable(a, out->function->opset, 60));
    return KILN_OK;
}

kiln_status kiln_mil_dtype(int64_t type, kiln_dtype *out, kiln_err *err) {
    static const struct {
        int64_t number;
        kiln_dtype dtype;
    } types[] = {{1, KILN_BOOL},  {10, KILN_F16}, {11, KILN_F32}, {12, KILN_F64},
                 {13, KILN_BF16}, {21, KILN_I8},  {22, KILN_I16}, {23, KILN_I32},
                 {24, KILN_I64},  {31, KILN_U8},  {32, KILN_U16}, {33, KILN_U32},
                 {34, KILN_U64}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].number == type) {
            *out = types[i].dtype;
            return KILN_OK;
        }
    return kiln_fail(
        err, KILN_ERR_UNSUPPORTED,
        "elements of type %" PRId64 " of MIL.proto's DataType are not read", type);
}
