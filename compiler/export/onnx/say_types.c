/* Element types, shapes and constants as ONNX has them. Source: onnx.proto
 * (TensorProto.DataType, ValueInfoProto), "ONNX External Data". */
#include "compiler/export/onnx/say.h"

#include <string.h>

/* Number, and the opset whose release brought the type. */
static const struct {
    uint8_t number, opset;
} type_rows[KILN_N_DTYPES] = {
    [KILN_F32] = {1, 1},          [KILN_F16] = {10, 1},
    [KILN_BF16] = {16, 13},       [KILN_F64] = {11, 1},
    [KILN_I8] = {3, 1},           [KILN_U8] = {2, 1},
    [KILN_I16] = {5, 1},          [KILN_U16] = {4, 1},
    [KILN_I32] = {6, 1},          [KILN_U32] = {12, 1},
    [KILN_I64] = {7, 1},          [KILN_U64] = {13, 1},
    [KILN_BOOL] = {9, 1},         [KILN_F8E4M3FN] = {17, 19},
    [KILN_F8E4M3FNUZ] = {18, 19}, [KILN_F8E5M2] = {19, 19},
    [KILN_F8E5M2FNUZ] = {20, 19}, [KILN_F8E8M0] = {24, 24},
    [KILN_F4E2M1] = {23, 23},     [KILN_I4] = {22, 21},
    [KILN_U4] = {21, 21},         [KILN_I2] = {26, 25},
    [KILN_U2] = {25, 25},
};

int64_t kiln_say_dtype(kiln_dtype dtype) {
    KILN_ASSERT(dtype >= 0 && dtype < KILN_N_DTYPES && type_rows[dtype].number != 0,
                "dtype %d has no number in ONNX", (int)dtype);
    return type_rows[dtype].number;
}

int64_t kiln_say_dtype_opset(kiln_dtype dtype) { return type_rows[dtype].opset; }

void kiln_say_value_info(kiln_say *s, kiln_buf *graph, uint32_t field, const char *name,
                         const kiln_type *t) {
    kiln_buf shape, tensor, type, info;
    kiln_buf_init(&shape, s->arena);
    kiln_buf_init(&tensor, s->arena);
    kiln_buf_init(&type, s->arena);
    kiln_buf_init(&info, s->arena);
    for (int i = 0; i < t->rank; i++) {
        kiln_buf dim;
        kiln_buf_init(&dim, s->arena);
        kiln_pb_put_int(&dim, 1, t->dim[i]);
        kiln_pb_put_bytes(&shape, 1, kiln_buf_str(&dim));
    }
    kiln_pb_put_int(&tensor, 1, kiln_say_dtype(t->dtype));
    kiln_pb_put_bytes(&tensor, 2, kiln_buf_str(&shape));
    kiln_pb_put_bytes(&type, 1, kiln_buf_str(&tensor));
    kiln_pb_put_text(&info, 1, name);
    kiln_pb_put_bytes(&info, 2, kiln_buf_str(&type));
    kiln_pb_put_bytes(graph, field, kiln_buf_str(&info));
    kiln_say_needs(s, kiln_say_dtype_opset(t->dtype));
}

/* ---- constants ------------------------------------------------------------------- */

/* Elements of 4 and 2 bits, the first in the lowest bits. */
static kiln_str pack(kiln_arena *a, const unsigned char *from, int64_t n, int bits) {
    const int per_byte = 8 / bits;
    const size_t bytes = (size_t)(n / per_byte + (n % per_byte != 0));
    unsigned char *const to = kiln_arena_array(a, bytes, 1);
    const unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i++) {
        const unsigned v = (from[i] & mask) << i % per_byte * bits;
        to[i / per_byte] = (unsigned char)(to[i / per_byte] | v);
    }
    return (kiln_str){(const char *)to, bytes};
}

kiln_str kiln_say_raw(kiln_say *s, const kiln_say_constant *c) {
    const int bits = kiln_dtype_bits(c->type.dtype);
    const int64_t n = kiln_type_elems(&c->type);
    if (bits < 8 && c->type.dtype != KILN_BOOL)
        return pack(s->arena, c->data, n, bits);
    return (kiln_str){c->data, (size_t)kiln_type_bytes(&c->type)};
}

void kiln_say_tensor_head(kiln_say *s, kiln_buf *b, const kiln_say_constant *c) {
    for (int i = 0; i < c->type.rank; i++)
        kiln_pb_put_int(b, 1, c->type.dim[i]);
    kiln_pb_put_int(b, 2, kiln_say_dtype(c->type.dtype));
    kiln_pb_put_text(b, 8, c->name);
    kiln_say_needs(s, kiln_say_dtype_opset(c->type.dtype));
}

kiln_status kiln_say_may_make(kiln_say *s, const kiln_type *t) {
    enum { MAX_MADE = 1 << 24 };
    if (kiln_type_elems(t) <= MAX_MADE)
        return KILN_OK;
    return kiln_say_refuse(s, "it takes a constant of %s, more than %d elements",
                           kiln_type_text(s->arena, t), (int)MAX_MADE);
}

const char *kiln_say_constant_of(kiln_say *s, const char *want, const kiln_type *t,
                                 const void *data) {
    const char *const key =
        kiln_format(s->arena, "%s %p", kiln_type_text(s->arena, t), data);
    const char *name = kiln_map_get(&s->constant_of, kiln_str_from(key));
    if (name != NULL)
        return name;
    name = kiln_say_fresh(s, want);
    kiln_map_set(s->arena, &s->constant_of, kiln_str_from(key), name);
    const kiln_say_constant c = {name, *t, data};
    kiln_vec_push(s->arena, &s->constants, c);
    return name;
}

/* What a node's operands are: named after the node. */
static const char *operand(kiln_say *s, const kiln_type *t, const void *data) {
    const char *const of = s->node != NULL ? s->node->name : "value";
    const size_t bytes = (size_t)kiln_type_bytes(t);
    const void *const own = bytes > 0 ? kiln_arena_dup(s->arena, data, bytes)
                                      : kiln_arena_alloc(s->arena, 0);
    const kiln_say_constant c = {
        kiln_say_fresh(s, kiln_format(s->arena, "%s/operand", of)), *t, own};
    kiln_vec_push(s->arena, &s->constants, c);
    return c.name;
}

const char *kiln_say_list(kiln_say *s, const int64_t *v, size_t n) {
    const int64_t dim = (int64_t)n;
    const kiln_type t = kiln_type_make(KILN_I64, 1, &dim);
    return operand(s, &t, v);
}

const char *kiln_say_i64(kiln_say *s, int64_t v) {
    const kiln_type t = kiln_type_scalar(KILN_I64);
    return operand(s, &t, &v);
}

const char *kiln_say_scalar(kiln_say *s, kiln_dtype dtype, double v) {
    const kiln_type t = kiln_type_scalar(dtype);
    uint64_t bytes = 0;
    kiln_wide w = kiln_wide_new(s->arena, &t);
    if (w.f != NULL)
        w.f[0] = v;
    else
        w.i[0] = (int64_t)v;
    kiln_narrow(&w, &bytes);
    return operand(s, &t, &bytes);
}
