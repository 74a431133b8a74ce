/* TensorProto to tensor. Source: onnx.proto (TensorProto, its data fields per type) and
 * "ONNX External Data": raw little-endian bytes, typed fields, or a slice of a file
 * beside the model. */
#include "compiler/frontend/onnx/onnx_tensor.h"

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Small constants are copied when they do not lie aligned, so that most pointers are;
 * large ones stay views, as copying would double the memory of an import. */
enum { ALIGN_UP_TO_BYTES = 64 * 1024 };

static const struct {
    const char *name; /* in onnx.proto */
    bool is_known;
    kiln_dtype dtype;
} type_rows[] = {
    {"UNDEFINED", false, 0},
    {"FLOAT", true, KILN_F32},
    {"UINT8", true, KILN_U8},
    {"INT8", true, KILN_I8},
    {"UINT16", true, KILN_U16},
    {"INT16", true, KILN_I16},
    {"INT32", true, KILN_I32},
    {"INT64", true, KILN_I64},
    {"STRING", false, 0},
    {"BOOL", true, KILN_BOOL},
    {"FLOAT16", true, KILN_F16},
    {"DOUBLE", true, KILN_F64},
    {"UINT32", true, KILN_U32},
    {"UINT64", true, KILN_U64},
    {"COMPLEX64", false, 0},
    {"COMPLEX128", false, 0},
    {"BFLOAT16", true, KILN_BF16},
    {"FLOAT8E4M3FN", true, KILN_F8E4M3FN},
    {"FLOAT8E4M3FNUZ", true, KILN_F8E4M3FNUZ},
    {"FLOAT8E5M2", true, KILN_F8E5M2},
    {"FLOAT8E5M2FNUZ", true, KILN_F8E5M2FNUZ},
    {"UINT4", true, KILN_U4},
    {"INT4", true, KILN_I4},
    {"FLOAT4E2M1", true, KILN_F4E2M1},
    {"FLOAT8E8M0", true, KILN_F8E8M0},
    {"UINT2", true, KILN_U2},
    {"INT2", true, KILN_I2},
};

enum { N_TYPES = sizeof type_rows / sizeof type_rows[0] };

const char *kiln_onnx_type_name(int64_t onnx_type, char buf[32]) {
    if (onnx_type >= 0 && onnx_type < N_TYPES)
        return type_rows[onnx_type].name;
    snprintf(buf, 32, "number %" PRId64, onnx_type);
    return buf;
}

kiln_status kiln_onnx_dtype(int64_t onnx_type, kiln_dtype *out, kiln_err *err) {
    char buf[32];
    if (onnx_type < 0 || onnx_type >= N_TYPES || !type_rows[onnx_type].is_known)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "element type %s is not read; floats of 4 to 64 bits, integers "
            "of 2 to 64 bits and bool are",
            kiln_onnx_type_name(onnx_type, buf));
    *out = type_rows[onnx_type].dtype;
    return KILN_OK;
}

enum { SHOWN_BYTES = 120 }; /* of a name in a message */

static void note_name(const kiln_onnx_tensor *t, kiln_err *err) {
    kiln_arena scratch = {0};
    if (t->name.n > 0)
        kiln_note(err, "reading tensor '%s'",
                  kiln_str_printable(&scratch, t->name, SHOWN_BYTES));
    kiln_arena_fini(&scratch);
}

static kiln_status read_type(const kiln_onnx_tensor *t, kiln_type *out, kiln_err *err) {
    kiln_dtype dtype;
    KILN_TRY(kiln_onnx_dtype(t->data_type, &dtype, err));
    if (t->n_dims > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                         KILN_MAX_RANK, t->n_dims);
    const kiln_type type = kiln_type_make(dtype, (int)t->n_dims, t->dims);
    KILN_TRY(kiln_type_check(&type, err));
    *out = type;
    return KILN_OK;
}

kiln_status kiln_onnx_tensor_type(const kiln_onnx_tensor *t, kiln_type *out,
                                  kiln_err *err) {
    const kiln_status st = read_type(t, out, err);
    if (st != KILN_OK)
        note_name(t, err);
    return st;
}

/* ---- raw bytes ------------------------------------------------------------------- */

/* A bool is one byte, 0 or 1; files may hold others. */
static bool has_odd_bools(kiln_str bytes) {
    for (size_t i = 0; i < bytes.n; i++)
        if ((unsigned char)bytes.p[i] > 1)
            return true;
    return false;
}

static bool is_packed(kiln_dtype dtype) {
    return dtype != KILN_BOOL && kiln_dtype_bits(dtype) < 8;
}

/* Elements of 4 and 2 bits, the first in the lowest bits, to one byte each. */
static void *unpack(kiln_arena *a, const kiln_type *type, const unsigned char *packed) {
    const int bits = kiln_dtype_bits(type->dtype), per_byte = 8 / bits;
    const int64_t n = kiln_type_elems(type);
    unsigned char *const out = kiln_arena_array(a, (size_t)n, 1);
    const int sign = kiln_dtype_stored(type->dtype) == KILN_I8 ? 1 << (bits - 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        const int v = packed[i / per_byte] >> i % per_byte * bits & ((1 << bits) - 1);
        out[i] = (unsigned char)((v ^ sign) - sign);
    }
    return out;
}

/* What the elements of a type take in a file. */
static int64_t packed_bytes(const kiln_type *type) {
    const int bits = kiln_dtype_bits(type->dtype);
    const int64_t n = kiln_type_elems(type);
    return is_packed(type->dtype) ? n / (8 / bits) + (n % (8 / bits) != 0)
                                  : kiln_type_bytes(type);
}

static void *view_or_copy(kiln_arena *a, const kiln_type *type, kiln_str bytes) {
    const bool is_aligned = (uintptr_t)bytes.p % kiln_dtype_bytes(type->dtype) == 0;
    const bool must_fix = type->dtype == KILN_BOOL && has_odd_bools(bytes);
    if (is_packed(type->dtype))
        return unpack(a, type, (const unsigned char *)bytes.p);
    if (!must_fix && bytes.p != NULL && (is_aligned || bytes.n > ALIGN_UP_TO_BYTES))
        return (void *)(uintptr_t)bytes.p; /* never written: constants are read only */
    if (bytes.n == 0)
        return kiln_arena_alloc(a, 0);
    unsigned char *const copy = kiln_arena_dup(a, bytes.p, bytes.n);
    for (size_t i = 0; must_fix && i < bytes.n; i++)
        copy[i] = copy[i] != 0;
    return copy;
}

static kiln_status read_raw(kiln_arena *a, const kiln_type *type, kiln_str bytes,
                            const char *where, kiln_tensor *out, kiln_err *err) {
    const size_t need = (size_t)packed_bytes(type);
    if (bytes.n != need) {
        kiln_arena scratch = {0};
        const kiln_status st =
            kiln_fail(err, KILN_ERR_PARSE, "%s needs %zu bytes of %s, the file has %zu",
                      kiln_type_text(&scratch, type), need, where, bytes.n);
        kiln_arena_fini(&scratch);
        return st;
    }
    *out = (kiln_tensor){*type, view_or_copy(a, type, bytes)};
    return KILN_OK;
}

/* ---- external data --------------------------------------------------------------- */

static kiln_status read_number(kiln_arena *a, kiln_str text, const char *key,
                               int64_t *out, kiln_err *err) {
    if (!kiln_parse_i64(text, out) || *out < 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "external data: %s must be a number of bytes, is '%s'", key,
                         kiln_str_printable(a, text, SHOWN_BYTES));
    return KILN_OK;
}

static kiln_status map_file(kiln_arena *a, kiln_onnx_files *files, kiln_str location,
                            kiln_str *out, kiln_err *err) {
    kiln_str *known = kiln_map_get(&files->mapped, location);
    if (known == NULL) {
        kiln_str bytes;
        KILN_TRY(kiln_onnx_data_map(a, files, location, &bytes, err));
        known = kiln_new(a, kiln_str);
        *known = bytes;
        kiln_map_set(a, &files->mapped, location, known);
    }
    *out = *known;
    return KILN_OK;
}

static kiln_status read_external(kiln_arena *a, const kiln_onnx_tensor *t,
                                 const kiln_type *type, kiln_onnx_files *files,
                                 kiln_tensor *out, kiln_err *err) {
    kiln_str location = {0}, file;
    int64_t offset = 0, length = -1;
    for (size_t i = 0; i < t->n_external_data; i++) {
        const kiln_onnx_pair *const e = &t->external_data[i];
        if (kiln_str_is(e->key, "location"))
            location = e->value;
        else if (kiln_str_is(e->key, "offset"))
            KILN_TRY(read_number(a, e->value, "offset", &offset, err));
        else if (kiln_str_is(e->key, "length"))
            KILN_TRY(read_number(a, e->value, "length", &length, err));
    }
    if (files == NULL || files->dir == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "external data is not allowed here: there is no model folder");
    KILN_TRY(map_file(a, files, location, &file, err));
    const int64_t need = packed_bytes(type);
    if (length >= 0 && length != need)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "external data: length must be %" PRId64 " bytes, is %" PRId64,
                         need, length);
    if ((uint64_t)offset > file.n || (uint64_t)need > file.n - (uint64_t)offset)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "external data: '%.*s' has %zu bytes, but bytes %" PRId64
                         " to %" PRIu64 " are asked for; is the file complete?",
                         KILN_STR_ARG(location), file.n, offset,
                         (uint64_t)offset + (uint64_t)need);
    const kiln_str bytes = {file.p + offset, (size_t)need};
    return read_raw(a, type, bytes, "external data", out, err);
}

/* ---- typed fields ---------------------------------------------------------------- */

typedef struct field {
    const char *name;
    const void *p;
    size_t n, bytes; /* elements, and bytes of one */
} field;

/* The field that onnx.proto names for a type. */
static field field_of(const kiln_onnx_tensor *t, kiln_dtype dtype) {
    switch (dtype) {
    case KILN_F32:
        return (field){"float_data", t->float_data, t->n_float_data, sizeof(float)};
    case KILN_F64:
        return (field){"double_data", t->double_data, t->n_double_data, sizeof(double)};
    case KILN_I64:
        return (field){"int64_data", t->int64_data, t->n_int64_data, sizeof(int64_t)};
    case KILN_U32:
    case KILN_U64:
        return (field){"uint64_data", t->uint64_data, t->n_uint64_data,
                       sizeof(uint64_t)};
    case KILN_F16:
    case KILN_BF16:
    case KILN_I8:
    case KILN_U8:
    case KILN_I16:
    case KILN_U16:
    case KILN_I32:
    case KILN_BOOL:
    case KILN_DTYPES_LOW_FLOAT:
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        break;
    }
    return (field){"int32_data", t->int32_data, t->n_int32_data, sizeof(int32_t)};
}

/* Keeps the low bytes of each element: integers wrap as a cast, floats of 16 bits and
 * less are their bits, and so is a byte of packed elements. */
static void *narrow_field(kiln_arena *a, const field *f, kiln_dtype dtype) {
    const size_t size = kiln_dtype_bytes(dtype);
    unsigned char *const out = kiln_arena_array(a, f->n, size);
    const unsigned char *const in = f->p;
    KILN_ASSERT(f->bytes == sizeof(int32_t) || f->bytes == sizeof(uint64_t),
                "elements of %zu bytes in %s", f->bytes, f->name);
    KILN_ASSERT(size < f->bytes, "%s has nothing to leave out", f->name);
    for (size_t i = 0; i < f->n; i++) {
        uint64_t v = 0;
        if (f->bytes == sizeof(int32_t)) {
            uint32_t low;
            memcpy(&low, in + i * sizeof low, sizeof low);
            v = low;
        } else {
            memcpy(&v, in + i * sizeof v, sizeof v);
        }
        if (dtype == KILN_BOOL)
            v = v != 0;
        for (size_t k = 0; k < size; k++)
            out[i * size + k] = (unsigned char)(v >> (8 * k));
    }
    return out;
}

static kiln_status read_typed(kiln_arena *a, const kiln_onnx_tensor *t,
                              const kiln_type *type, kiln_tensor *out, kiln_err *err) {
    const field f = field_of(t, type->dtype);
    const bool packed = is_packed(type->dtype);
    const int64_t need = packed ? packed_bytes(type) : kiln_type_elems(type);
    if ((uint64_t)need != f.n) {
        kiln_arena scratch = {0};
        const kiln_status st =
            kiln_fail(err, KILN_ERR_PARSE,
                      "%s needs %" PRId64 " elements in %s, the file has %zu",
                      kiln_type_text(&scratch, type), need, f.name, f.n);
        kiln_arena_fini(&scratch);
        return st;
    }
    void *data;
    if (f.n == 0)
        data = kiln_arena_alloc(a, 0);
    else if (kiln_dtype_bytes(type->dtype) == f.bytes)
        data = (void *)(uintptr_t)f.p; /* decoded into the arena, or an aligned view */
    else
        data = narrow_field(a, &f, type->dtype);
    if (packed && f.n > 0)
        data = unpack(a, type, data);
    *out = (kiln_tensor){*type, data};
    return KILN_OK;
}

kiln_status kiln_onnx_tensor_read(kiln_arena *a, const kiln_onnx_tensor *t,
                                  kiln_onnx_files *files, kiln_tensor *out,
                                  kiln_err *err) {
    enum { EXTERNAL = 1 };
    kiln_type type;
    kiln_status st = read_type(t, &type, err);
    if (st != KILN_OK)
        ;
    else if (t->data_location == EXTERNAL)
        st = read_external(a, t, &type, files, out, err);
    else if (t->has_raw_data)
        st = read_raw(a, &type, t->raw_data, "raw_data", out, err);
    else
        st = read_typed(a, t, &type, out, err);
    KILN_ASSERT(st != KILN_OK || out->data != NULL || kiln_type_elems(&type) == 0,
                "a tensor was read that has no elements");
    if (st != KILN_OK)
        note_name(t, err);
    return st;
}

kiln_status kiln_tensor_read_onnx(kiln_arena *a, const char *path, kiln_tensor *out,
                                  kiln_err *err) {
    kiln_str bytes;
    kiln_onnx_tensor t;
    KILN_TRY(kiln_file_map(a, path, 0, &bytes, err));
    kiln_status st = kiln_onnx_decode_tensor(a, bytes, &t, err);
    if (st == KILN_OK)
        st = kiln_onnx_tensor_read(a, &t, NULL, out, err);
    if (st != KILN_OK)
        kiln_note(err, "reading '%s'", path);
    return st;
}
