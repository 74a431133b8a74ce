/* TensorProto to tensor. Source: tensor.proto: raw little-endian bytes, or typed fields
 * of which the last element is repeated until the tensor is full. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Small constants are copied when they do not lie aligned; large ones stay views. */
enum { ALIGN_UP_TO_BYTES = 64 * 1024 };

static const struct {
    const char *name; /* in types.proto, without DT_ */
    bool is_known;
    kiln_dtype dtype;
} type_rows[] = {
    {"INVALID", false, 0},         {"FLOAT", true, KILN_F32},
    {"DOUBLE", true, KILN_F64},    {"INT32", true, KILN_I32},
    {"UINT8", true, KILN_U8},      {"INT16", true, KILN_I16},
    {"INT8", true, KILN_I8},       {"STRING", false, 0},
    {"COMPLEX64", false, 0},       {"INT64", true, KILN_I64},
    {"BOOL", true, KILN_BOOL},     {"QINT8", false, 0},
    {"QUINT8", false, 0},          {"QINT32", false, 0},
    {"BFLOAT16", true, KILN_BF16}, {"QINT16", false, 0},
    {"QUINT16", false, 0},         {"UINT16", true, KILN_U16},
    {"COMPLEX128", false, 0},      {"HALF", true, KILN_F16},
    {"RESOURCE", false, 0},        {"VARIANT", false, 0},
    {"UINT32", true, KILN_U32},    {"UINT64", true, KILN_U64},
};

enum { N_TYPES = sizeof type_rows / sizeof type_rows[0], REF = 100 };

const char *kiln_tf_type_name(int64_t type, char buf[32]) {
    if (type >= 0 && type < N_TYPES)
        return type_rows[type].name;
    snprintf(buf, 32, "number %" PRId64, type);
    return buf;
}

kiln_status kiln_tf_dtype(int64_t type, kiln_dtype *out, kiln_err *err) {
    char buf[32];
    if (type > REF && type < REF + N_TYPES) /* a reference to such a tensor */
        type -= REF;
    if (type < 0 || type >= N_TYPES || !type_rows[type].is_known)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "element type %s is not read; floats of 16 to 64 bits, "
                         "integers of 8 to 64 bits and bool are",
                         kiln_tf_type_name(type, buf));
    *out = type_rows[type].dtype;
    return KILN_OK;
}

kiln_status kiln_tf_tensor_type(const kiln_tf_tensor *t, kiln_type *out,
                                kiln_err *err) {
    kiln_dtype dtype;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_dtype(t->dtype, &dtype, err));
    if (t->shape.is_unknown)
        return kiln_fail(err, KILN_ERR_PARSE, "a constant must have a known shape");
    if (t->shape.n_dim > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                         KILN_MAX_RANK, t->shape.n_dim);
    for (size_t i = 0; i < t->shape.n_dim; i++)
        dim[i] = t->shape.dim[i].size;
    const kiln_type type = kiln_type_make(dtype, (int)t->shape.n_dim, dim);
    KILN_TRY(kiln_type_check(&type, err));
    *out = type;
    return KILN_OK;
}

/* ---- raw bytes -------------------------------------------------------------------- */

/* A bool is one byte, 0 or 1; files may hold others. */
static bool has_odd_bools(kiln_str bytes) {
    for (size_t i = 0; i < bytes.n; i++)
        if ((unsigned char)bytes.p[i] > 1)
            return true;
    return false;
}

kiln_status kiln_tf_tensor_raw(kiln_import_cx *cx, const kiln_type *type,
                               kiln_str bytes, const char *where, kiln_tensor *out) {
    const size_t need = (size_t)kiln_type_bytes(type);
    if (bytes.n != need)
        return kiln_fail(cx->err, KILN_ERR_PARSE,
                         "%s needs %zu bytes of %s, the file has %zu",
                         kiln_type_text(&cx->scratch, type), need, where, bytes.n);
    const bool is_aligned = (uintptr_t)bytes.p % kiln_dtype_bytes(type->dtype) == 0;
    const bool must_fix = type->dtype == KILN_BOOL && has_odd_bools(bytes);
    *out = (kiln_tensor){*type, (void *)(uintptr_t)bytes.p};
    if (need == 0) {
        out->data = kiln_arena_alloc(cx->arena, 0);
    } else if (must_fix || (!is_aligned && need <= ALIGN_UP_TO_BYTES)) {
        KILN_TRY(kiln_import_spend(cx, (int64_t)need));
        unsigned char *const copy = kiln_arena_dup(cx->arena, bytes.p, need);
        for (size_t i = 0; must_fix && i < need; i++)
            copy[i] = copy[i] != 0;
        out->data = copy;
    }
    return KILN_OK;
}

/* ---- typed fields ----------------------------------------------------------------- */

typedef struct field {
    const char *name;
    const void *p;
    size_t n, bytes; /* elements, and bytes of one */
} field;

/* The field that tensor.proto names for a type. */
static field field_of(const kiln_tf_tensor *t, kiln_dtype dtype) {
    switch (dtype) {
    case KILN_F32:
        return (field){"float_val", t->f32, t->n_f32, sizeof(float)};
    case KILN_F64:
        return (field){"double_val", t->f64, t->n_f64, sizeof(double)};
    case KILN_I64:
        return (field){"int64_val", t->i64, t->n_i64, sizeof(int64_t)};
    case KILN_U32:
        return (field){"uint32_val", t->u32, t->n_u32, sizeof(uint64_t)};
    case KILN_U64:
        return (field){"uint64_val", t->u64, t->n_u64, sizeof(uint64_t)};
    case KILN_F16:
    case KILN_BF16:
        return (field){"half_val", t->halves, t->n_halves, sizeof(int32_t)};
    case KILN_BOOL:
        return (field){"bool_val", t->flags, t->n_flags, sizeof(int32_t)};
    case KILN_I8:
    case KILN_U8:
    case KILN_I16:
    case KILN_U16:
    case KILN_I32:
    case KILN_DTYPES_LOW_FLOAT:
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        break;
    }
    return (field){"int_val", t->i32, t->n_i32, sizeof(int32_t)};
}

/* The low bytes of an element, as its dtype has them. */
static void put(unsigned char *to, const field *f, size_t i, kiln_dtype dtype) {
    const size_t size = kiln_dtype_bytes(dtype);
    const unsigned char *const from = (const unsigned char *)f->p + i * f->bytes;
    if (size == f->bytes) {
        memcpy(to, from, size);
        return;
    }
    KILN_ASSERT(size <= f->bytes, "%zu bytes of elements of %zu", size, f->bytes);
    uint64_t v = 0;
    if (f->bytes == sizeof(uint32_t)) {
        uint32_t low;
        memcpy(&low, from, sizeof low);
        v = low;
    } else {
        memcpy(&v, from, sizeof v);
    }
    if (dtype == KILN_BOOL)
        v = v != 0;
    for (size_t k = 0; k < size; k++)
        to[k] = (unsigned char)(v >> (8 * k));
}

static kiln_status read_typed(kiln_import_cx *cx, const kiln_tf_tensor *t,
                              const kiln_type *type, kiln_tensor *out) {
    const field f = field_of(t, type->dtype);
    const size_t n = (size_t)kiln_type_elems(type);
    const size_t size = kiln_dtype_bytes(type->dtype);
    if (f.n > n)
        return kiln_fail(cx->err, KILN_ERR_PARSE,
                         "%s needs %zu elements in %s, the file has %zu",
                         kiln_type_text(&cx->scratch, type), n, f.name, f.n);
    *out = (kiln_tensor){*type, (void *)(uintptr_t)f.p};
    if (f.n == n && f.bytes == size && n > 0)
        return KILN_OK; /* decoded into the arena, or an aligned view */
    KILN_TRY(kiln_import_spend(cx, kiln_type_bytes(type)));
    unsigned char *const v = kiln_arena_array(cx->arena, n, size);
    for (size_t i = 0; i < n && f.n > 0; i++)
        put(v + i * size, &f, i < f.n ? i : f.n - 1, type->dtype);
    out->data = v;
    return KILN_OK;
}

kiln_status kiln_tf_tensor_read(kiln_import_cx *cx, const kiln_tf_tensor *t,
                                kiln_tensor *out) {
    kiln_type type;
    KILN_TRY(kiln_tf_tensor_type(t, &type, cx->err));
    if (t->has_content && t->content.n > 0)
        return kiln_tf_tensor_raw(cx, &type, t->content, "tensor_content", out);
    return read_typed(cx, t, &type, out);
}
