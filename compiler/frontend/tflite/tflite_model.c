/* TensorFlow Lite's tables for the flatbuffers reader, and what they must say of each
 * other. Source: schema.fbs, version 3. */
#include "compiler/frontend/tflite/tflite_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/frontend/tflite/tflite_tables.h"

static const kiln_fb_field quantization_fields[] = {
    LIST(2, kiln_tflite_quantization, scale, KILN_FB_F32S),
    LIST(3, kiln_tflite_quantization, zero_point, KILN_FB_I64S),
    FIELD(4, kiln_tflite_quantization, details_type, KILN_FB_U8),
    FIELD(6, kiln_tflite_quantization, axis, KILN_FB_I32),
};
static const kiln_fb_table quantization_table =
    TABLE("QuantizationParameters", kiln_tflite_quantization, quantization_fields);

static const kiln_fb_field dim_fields[] = {
    FIELD(0, kiln_tflite_dim, format, KILN_FB_I8),
    FIELD(1, kiln_tflite_dim, dense_size, KILN_FB_I32),
    FIELD(2, kiln_tflite_dim, segments_type, KILN_FB_U8),
    FIELD(3, kiln_tflite_dim, segments, KILN_FB_REF),
    FIELD(4, kiln_tflite_dim, indices_type, KILN_FB_U8),
    FIELD(5, kiln_tflite_dim, indices, KILN_FB_REF),
};
static const kiln_fb_table dim_table =
    TABLE("DimensionMetadata", kiln_tflite_dim, dim_fields);

static const kiln_fb_field sparsity_fields[] = {
    LIST(0, kiln_tflite_sparsity, traversal_order, KILN_FB_I32S),
    LIST(1, kiln_tflite_sparsity, block_map, KILN_FB_I32S),
    SUBS(2, kiln_tflite_sparsity, dim, dim_table),
};
static const kiln_fb_table sparsity_table =
    TABLE("SparsityParameters", kiln_tflite_sparsity, sparsity_fields);

static const kiln_fb_field tensor_fields[] = {
    LIST(0, kiln_tflite_tensor, shape, KILN_FB_I32S),
    FIELD(1, kiln_tflite_tensor, type, KILN_FB_I8),
    FIELD(2, kiln_tflite_tensor, buffer, KILN_FB_U32),
    FIELD(3, kiln_tflite_tensor, name, KILN_FB_STRING),
    SUB(4, kiln_tflite_tensor, quantization, quantization_table),
    FIELD(5, kiln_tflite_tensor, is_variable, KILN_FB_BOOL),
    SUB(6, kiln_tflite_tensor, sparsity, sparsity_table),
    LIST(7, kiln_tflite_tensor, signature, KILN_FB_I32S),
};
static const kiln_fb_table tensor_table =
    TABLE("Tensor", kiln_tflite_tensor, tensor_fields);

static const kiln_fb_field op_fields[] = {
    FIELD(0, kiln_tflite_op, code, KILN_FB_U32),
    LIST(1, kiln_tflite_op, input, KILN_FB_I32S),
    LIST(2, kiln_tflite_op, output, KILN_FB_I32S),
    FIELD(3, kiln_tflite_op, options_type, KILN_FB_U8),
    FIELD(4, kiln_tflite_op, options, KILN_FB_REF),
    FIELD(5, kiln_tflite_op, custom_options, KILN_FB_BYTES),
    LIST(8, kiln_tflite_op, intermediate, KILN_FB_I32S),
};
static const kiln_fb_table op_table = TABLE("Operator", kiln_tflite_op, op_fields);

static const kiln_fb_field subgraph_fields[] = {
    SUBS(0, kiln_tflite_subgraph, tensor, tensor_table),
    LIST(1, kiln_tflite_subgraph, input, KILN_FB_I32S),
    LIST(2, kiln_tflite_subgraph, output, KILN_FB_I32S),
    SUBS(3, kiln_tflite_subgraph, op, op_table),
    FIELD(4, kiln_tflite_subgraph, name, KILN_FB_STRING),
};
static const kiln_fb_table subgraph_table =
    TABLE("SubGraph", kiln_tflite_subgraph, subgraph_fields);

static const kiln_fb_field code_fields[] = {
    FIELD(0, kiln_tflite_code, old_builtin, KILN_FB_I8),
    FIELD(1, kiln_tflite_code, custom, KILN_FB_STRING),
    FIELD_ELSE(2, kiln_tflite_code, version, KILN_FB_I32, 1),
    FIELD(3, kiln_tflite_code, builtin, KILN_FB_I32),
};
static const kiln_fb_table code_table =
    TABLE("OperatorCode", kiln_tflite_code, code_fields);

static const kiln_fb_field buffer_fields[] = {
    FIELD(0, kiln_tflite_buffer, data, KILN_FB_BYTES),
    FIELD(1, kiln_tflite_buffer, offset, KILN_FB_U64),
    FIELD(2, kiln_tflite_buffer, size, KILN_FB_U64),
};
static const kiln_fb_table buffer_table =
    TABLE("Buffer", kiln_tflite_buffer, buffer_fields);

static const kiln_fb_field metadata_fields[] = {
    FIELD(0, kiln_tflite_metadata, name, KILN_FB_STRING),
    FIELD(1, kiln_tflite_metadata, buffer, KILN_FB_U32),
};
static const kiln_fb_table metadata_table =
    TABLE("Metadata", kiln_tflite_metadata, metadata_fields);

static const kiln_fb_field map_fields[] = {
    FIELD(0, kiln_tflite_map, name, KILN_FB_STRING),
    FIELD(1, kiln_tflite_map, tensor, KILN_FB_U32),
};
static const kiln_fb_table map_table = TABLE("TensorMap", kiln_tflite_map, map_fields);

static const kiln_fb_field signature_fields[] = {
    SUBS(0, kiln_tflite_signature, input, map_table),
    SUBS(1, kiln_tflite_signature, output, map_table),
    FIELD(2, kiln_tflite_signature, key, KILN_FB_STRING),
    FIELD(4, kiln_tflite_signature, subgraph, KILN_FB_U32),
};
static const kiln_fb_table signature_table =
    TABLE("SignatureDef", kiln_tflite_signature, signature_fields);

static const kiln_fb_field model_fields[] = {
    FIELD(0, kiln_tflite_model, version, KILN_FB_U32),
    SUBS(1, kiln_tflite_model, code, code_table),
    SUBS(2, kiln_tflite_model, subgraph, subgraph_table),
    FIELD(3, kiln_tflite_model, description, KILN_FB_STRING),
    SUBS(4, kiln_tflite_model, buffer, buffer_table),
    SUBS(6, kiln_tflite_model, metadata, metadata_table),
    SUBS(7, kiln_tflite_model, signature, signature_table),
};
static const kiln_fb_table model_table =
    TABLE("Model", kiln_tflite_model, model_fields);

bool kiln_tflite_sniff(kiln_str bytes) {
    return bytes.n >= 8 && memcmp(bytes.p + 4, "TFL3", 4) == 0;
}

/* ---- what parts say of each other --------------------------------------------------- */

/* The number in an error's way, with what it counts. */
static kiln_status check_index(const kiln_fb *fb, const char *what, int64_t v,
                               int64_t least, size_t n) {
    if (v >= least && (v < 0 || (uint64_t)v < n))
        return KILN_OK;
    return kiln_fail(fb->err, KILN_ERR_PARSE,
                     "tflite: %s must be one of %zu, is %" PRId64
                     "; is the file damaged?",
                     what, n, v);
}

static kiln_status check_indexes(const kiln_fb *fb, const char *what, const int32_t *v,
                                 size_t n_v, int64_t least, size_t n) {
    for (size_t i = 0; i < n_v; i++)
        KILN_TRY(check_index(fb, what, v[i], least, n));
    return KILN_OK;
}

static kiln_status check_tensor(const kiln_fb *fb, const kiln_tflite_model *m,
                                const kiln_tflite_tensor *t) {
    if (t->n_shape > KILN_MAX_RANK)
        return kiln_fail(fb->err, KILN_ERR_LIMIT,
                         "tflite: the rank of a tensor must be at most %d, is %zu",
                         KILN_MAX_RANK, t->n_shape);
    for (size_t i = 0; i < t->n_shape; i++)
        if (t->shape[i] < 0 && t->shape[i] != -1)
            return kiln_fail(fb->err, KILN_ERR_PARSE,
                             "tflite: a tensor with a dimension of %" PRId32
                             "; is the file damaged?",
                             t->shape[i]);
    if (t->n_signature != 0 && t->n_signature != t->n_shape)
        return kiln_fail(fb->err, KILN_ERR_PARSE,
                         "tflite: a tensor of rank %zu has a signature of %zu "
                         "dimensions; is the file damaged?",
                         t->n_shape, t->n_signature);
    if (t->buffer != 0 || m->n_buffer != 0)
        KILN_TRY(check_index(fb, "the buffer of a tensor", t->buffer, 0, m->n_buffer));
    return KILN_OK;
}

static kiln_status check_subgraph(const kiln_fb *fb, const kiln_tflite_model *m,
                                  const kiln_tflite_subgraph *g) {
    const size_t n = g->n_tensor;
    for (size_t i = 0; i < n; i++) {
        const kiln_status st = check_tensor(fb, m, &g->tensor[i]);
        if (st != KILN_OK) {
            kiln_note(fb->err, "reading tensor %zu ('%s')", i,
                      kiln_str_printable(fb->arena, g->tensor[i].name, 120));
            return st;
        }
    }
    KILN_TRY(check_indexes(fb, "an input of a subgraph", g->input, g->n_input, 0, n));
    KILN_TRY(
        check_indexes(fb, "an output of a subgraph", g->output, g->n_output, 0, n));
    for (size_t i = 0; i < g->n_op; i++) {
        kiln_tflite_op *const op = &g->op[i];
        op->index = (int64_t)i;
        KILN_TRY(check_index(fb, "an operator's code", op->code, 0, m->n_code));
        KILN_TRY(check_indexes(fb, "an input of an operator", op->input, op->n_input,
                               -1, n));
        KILN_TRY(check_indexes(fb, "an output of an operator", op->output, op->n_output,
                               0, n));
        KILN_TRY(check_indexes(fb, "an intermediate of an operator", op->intermediate,
                               op->n_intermediate, -1, n));
    }
    return KILN_OK;
}

static kiln_status check_model(const kiln_fb *fb, kiln_tflite_model *m) {
    if (m->version != 3)
        return kiln_fail(
            fb->err, KILN_ERR_UNSUPPORTED,
            "tflite: the schema must be of version 3, is of version %" PRId64
            "; convert the model with a newer converter",
            m->version);
    if (m->n_subgraph == 0)
        return kiln_fail(fb->err, KILN_ERR_PARSE, "tflite: the model has no subgraph");
    for (size_t i = 0; i < m->n_code; i++)
        if (m->code[i].builtin < m->code[i].old_builtin)
            m->code[i].builtin = m->code[i].old_builtin;
    for (size_t i = 0; i < m->n_subgraph; i++) {
        const kiln_status st = check_subgraph(fb, m, &m->subgraph[i]);
        if (st != KILN_OK) {
            kiln_note(fb->err, "reading subgraph %zu", i);
            return st;
        }
    }
    return KILN_OK;
}

kiln_status kiln_tflite_decode(kiln_fb *fb, kiln_tflite_model *out) {
    kiln_tflite_model m;
    if (!kiln_tflite_sniff(fb->bytes))
        return kiln_fail(fb->err, KILN_ERR_PARSE,
                         "tflite: the identifier at byte 4 must be TFL3");
    KILN_TRY(kiln_fb_root(fb, &model_table, &m));
    KILN_TRY(check_model(fb, &m));
    *out = m;
    return KILN_OK;
}

/* ---- tensors ------------------------------------------------------------------------ */

kiln_status kiln_tflite_data(const kiln_fb *fb, const kiln_tflite_model *m,
                             const kiln_tflite_tensor *t, kiln_str *out) {
    *out = (kiln_str){NULL, 0};
    if (t->buffer == 0 || m->n_buffer == 0)
        return KILN_OK;
    const kiln_tflite_buffer *const b = &m->buffer[t->buffer];
    *out = b->data;
    if (b->data.n > 0 || b->offset <= 1) /* 1: none, written so by converters */
        return KILN_OK;
    const uint64_t at = (uint64_t)b->offset, n = (uint64_t)b->size;
    if (at > fb->bytes.n || n > fb->bytes.n - at)
        return kiln_fail(fb->err, KILN_ERR_PARSE,
                         "tflite: buffer %" PRId64
                         " lies past the end of the file (is the file truncated?)",
                         t->buffer);
    *out = (kiln_str){fb->bytes.p + at, (size_t)n};
    return KILN_OK;
}

static const struct {
    int64_t number;
    const char *name;
    kiln_dtype dtype; /* KILN_N_DTYPES: none */
} types[] = {
#define KILN_TFLITE_TYPE(number, name, dtype) {number, #name, dtype},
#define KILN_TFLITE_NO_TYPE(number, name) {number, #name, KILN_N_DTYPES},
#include "compiler/frontend/tflite/tflite_types.def"
#undef KILN_TFLITE_TYPE
#undef KILN_TFLITE_NO_TYPE
};

const char *kiln_tflite_type_name(int64_t type, char *buf) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].number == type)
            return types[i].name;
    snprintf(buf, 32, "%" PRId64, type);
    return buf;
}

kiln_status kiln_tflite_dtype(int64_t type, kiln_dtype *out, kiln_err *err) {
    char buf[32];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].number != type || types[i].dtype == KILN_N_DTYPES)
            continue;
        *out = types[i].dtype;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "elements of type %s are not read",
                     kiln_tflite_type_name(type, buf));
}
