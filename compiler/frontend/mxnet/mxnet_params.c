/* MXNet's lists of arrays: dense ones, of all versions. Everything is little endian.
 *
 *     u64 0x112, u64 0, u64 n, n arrays, u64 n, n names (u64 length, bytes)
 *     array: u32 magic; V2, V3: i32 storage (0: dense); shape; i32 device type, i32
 *            device number; i32 type; elements
 *     shape: u32 n, n times i64; of version 0 the magic is the n, and u32 follow
 *
 * An array of V0 to V2 without axes, or of V3 with -1, ends behind its shape: it is none.
 * Source: apache/mxnet 1.9, src/ndarray/ndarray.cc, NDArray::Save and Load. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <string.h>

#define V1 UINT32_C(0xF993FAC8)
#define V2 UINT32_C(0xF993FAC9)
#define V3 UINT32_C(0xF993FACA)

enum { MAX_NAME = 120, MIN_ARRAY_BYTES = 8, MIN_NAME_BYTES = 8 };

typedef struct reader {
    kiln_arena *arena;
    kiln_str all, rest;
    kiln_err *err;
} reader;

static const struct {
    int64_t flag;
    kiln_dtype dtype;
} dtypes[] = {{0, KILN_F32}, {1, KILN_F64},  {2, KILN_F16}, {3, KILN_U8},
              {4, KILN_I32}, {5, KILN_I8},   {6, KILN_I64}, {7, KILN_BOOL},
              {8, KILN_I16}, {12, KILN_BF16}};

bool kiln_mx_dtype(int64_t flag, kiln_dtype *out) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (dtypes[i].flag == flag) {
            *out = dtypes[i].dtype;
            return true;
        }
    return false;
}

static kiln_status cut_off(reader *r) {
    return kiln_fail(
        r->err, KILN_ERR_PARSE,
        "the list of arrays ends at byte %zu, in the midst of an entry; is "
        "the file truncated?",
        r->all.n);
}

static size_t offset_of(const reader *r) {
    KILN_ASSERT(r->rest.n <= r->all.n, "more is left than there was");
    return r->all.n - r->rest.n;
}

static kiln_status take(reader *r, size_t bytes, uint64_t *out) {
    KILN_ASSERT(bytes <= sizeof *out, "a number of %zu bytes", bytes);
    if (r->rest.n < bytes)
        return cut_off(r);
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out |= (uint64_t)(unsigned char)r->rest.p[i] << (8 * i);
    r->rest = (kiln_str){r->rest.p + bytes, r->rest.n - bytes};
    return KILN_OK;
}

static kiln_status take_i32(reader *r, int64_t *out) {
    uint64_t v;
    KILN_TRY(take(r, 4, &v));
    *out = (int64_t)v - (v > INT32_MAX ? INT64_C(0x100000000) : 0);
    return KILN_OK;
}

static kiln_status take_shape(reader *r, uint64_t magic, int *rank, int64_t *dim) {
    const bool is_new = magic == V1 || magic == V2 || magic == V3;
    int64_t n = (int64_t)magic;
    const size_t at = offset_of(r);
    if (is_new)
        KILN_TRY(take_i32(r, &n));
    if (n < -1 || n > KILN_MAX_RANK || (n == -1 && magic != V3))
        return kiln_fail(r->err, KILN_ERR_PARSE,
                         "the array at byte %zu must have 0 to %d axes, has %" PRId64
                         "; is the file damaged?",
                         at, KILN_MAX_RANK, n);
    *rank = (int)n;
    for (int i = 0; i < *rank; i++) {
        uint64_t v;
        KILN_TRY(take(r, is_new ? 8 : 4, &v));
        if (v > (uint64_t)KILN_MAX_ELEMS)
            return kiln_fail(r->err, KILN_ERR_PARSE,
                             "axis %d of the array at byte %zu has %" PRIu64
                             " elements; is the file damaged?",
                             i, at, v);
        dim[i] = (int64_t)v;
    }
    return KILN_OK;
}

/* out->data NULL: none. */
static kiln_status take_array(reader *r, kiln_tensor *out) {
    uint64_t magic;
    int64_t storage = 0, flag, dim[KILN_MAX_RANK] = {0};
    int rank;
    kiln_dtype dtype;
    const size_t at = offset_of(r);
    *out = (kiln_tensor){.data = NULL};
    KILN_TRY(take(r, 4, &magic));
    if (magic == V2 || magic == V3)
        KILN_TRY(take_i32(r, &storage));
    if (storage != 0)
        return kiln_fail(r->err, KILN_ERR_UNSUPPORTED,
                         "the array at byte %zu is sparse (storage %" PRId64
                         "); save it dense: array.tostype('default')",
                         at, storage);
    KILN_TRY(take_shape(r, magic, &rank, dim));
    if (rank < 0 || (rank == 0 && magic != V3))
        return KILN_OK;
    KILN_TRY(take_i32(r, &flag)); /* where it was: device type and number */
    KILN_TRY(take_i32(r, &flag));
    KILN_TRY(take_i32(r, &flag));
    if (!kiln_mx_dtype(flag, &dtype))
        return kiln_fail(r->err, KILN_ERR_UNSUPPORTED,
                         "the array at byte %zu has elements of type %" PRId64
                         ", which kiln does not read; cast it to float32",
                         at, flag);
    out->type = kiln_type_make(dtype, rank, dim);
    KILN_TRY(kiln_type_check(&out->type, r->err));
    const uint64_t bytes = (uint64_t)kiln_type_bytes(&out->type);
    if (bytes > r->rest.n)
        return cut_off(r);
    out->data = (void *)(uintptr_t)r->rest.p;
    r->rest = (kiln_str){r->rest.p + bytes, r->rest.n - (size_t)bytes};
    return KILN_OK;
}

/* "arg:conv1_weight" */
static kiln_status take_name(reader *r, kiln_str *out) {
    uint64_t n;
    KILN_TRY(take(r, 8, &n));
    if (n > r->rest.n)
        return cut_off(r);
    *out = (kiln_str){r->rest.p, (size_t)n};
    r->rest = (kiln_str){r->rest.p + n, r->rest.n - (size_t)n};
    if (kiln_str_starts(*out, "arg:") || kiln_str_starts(*out, "aux:"))
        *out = (kiln_str){out->p + 4, out->n - 4};
    return KILN_OK;
}

/* A count of entries that the bytes left can hold. */
static kiln_status take_count(reader *r, size_t min_bytes, const char *what,
                              uint64_t *out) {
    KILN_TRY(take(r, 8, out));
    if (*out <= r->rest.n / min_bytes)
        return KILN_OK;
    return kiln_fail(r->err, KILN_ERR_PARSE,
                     "the list must hold %" PRIu64
                     " %s, but only %zu bytes are left; is "
                     "the file truncated?",
                     *out, what, r->rest.n);
}

kiln_status kiln_mx_read_params(kiln_arena *a, kiln_str bytes, kiln_map *out,
                                kiln_err *err) {
    reader r = {.arena = a, .all = bytes, .rest = bytes, .err = err};
    uint64_t v, n, n_names;
    KILN_TRY(take(&r, 8, &v));
    if (!kiln_mx_is_params(bytes))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a file of MXNet parameters must begin with 0x112");
    KILN_TRY(take(&r, 8, &v));
    KILN_TRY(take_count(&r, MIN_ARRAY_BYTES, "arrays", &n));
    kiln_tensor *const array = kiln_array(a, kiln_tensor, n);
    for (uint64_t i = 0; i < n; i++)
        KILN_TRY(take_array(&r, &array[i]));
    KILN_TRY(take_count(&r, MIN_NAME_BYTES, "names", &n_names));
    if (n_names != n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%" PRIu64 " arrays must have as many names, have %" PRIu64
                         "; save them with model.save_checkpoint or export",
                         n, n_names);
    for (uint64_t i = 0; i < n; i++) {
        kiln_str name;
        KILN_TRY(take_name(&r, &name));
        if (array[i].data != NULL && !kiln_map_set(a, out, name, &array[i]))
            return kiln_fail(err, KILN_ERR_PARSE, "array '%s' is there twice",
                             kiln_str_printable(a, name, MAX_NAME));
    }
    return KILN_OK;
}
