/* Tensors in a pickle: what torch._utils rebuilds them from.
 * Source: torch/_utils.py, _rebuild_tensor_v2 and its neighbours. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/pytorch/pickle/pickle.h"

#define UTILS "torch._utils"

/* Storages by their class; tensors of version 3 say the dtype itself. */
static const struct {
    const char *storage, *dtype;
    kiln_dtype type;
} dtypes[] = {
    {"FloatStorage", "float32", KILN_F32},
    {"HalfStorage", "float16", KILN_F16},
    {"DoubleStorage", "float64", KILN_F64},
    {"BFloat16Storage", "bfloat16", KILN_BF16},
    {"LongStorage", "int64", KILN_I64},
    {"IntStorage", "int32", KILN_I32},
    {"ShortStorage", "int16", KILN_I16},
    {"CharStorage", "int8", KILN_I8},
    {"ByteStorage", "uint8", KILN_U8},
    {"BoolStorage", "bool", KILN_BOOL},
    {NULL, "uint16", KILN_U16},
    {NULL, "uint32", KILN_U32},
    {NULL, "uint64", KILN_U64},
    {NULL, "float8_e4m3fn", KILN_F8E4M3FN},
    {NULL, "float8_e5m2", KILN_F8E5M2},
    {NULL, "float8_e4m3fnuz", KILN_F8E4M3FNUZ},
    {NULL, "float8_e5m2fnuz", KILN_F8E5M2FNUZ},
};

static const kiln_pickle_value *arg(const kiln_pickle_value *v, size_t i) {
    return v != NULL && i < v->item.n ? v->item.v[i] : NULL;
}

static bool is_kind(const kiln_pickle_value *v, kiln_pickle_kind kind) {
    return v != NULL && v->kind == kind;
}

static bool is_rebuild(const kiln_pickle_value *v, const char *name) {
    return kiln_pickle_is_object(v, UTILS, name);
}

bool kiln_pickle_is_tensor(const kiln_pickle_value *v) {
    return v->kind == KILN_PICKLE_OBJECT && kiln_str_is(v->module, UTILS) &&
           kiln_str_starts(v->s, "_rebuild_");
}

/* "torch.FloatStorage", or torch.float32 of a tensor of version 3. */
static kiln_status find_dtype(kiln_str name, kiln_dtype *out, kiln_err *err) {
    char shown[64];
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if ((dtypes[i].storage != NULL && kiln_str_is(name, dtypes[i].storage)) ||
            kiln_str_is(name, dtypes[i].dtype)) {
            *out = dtypes[i].type;
            return KILN_OK;
        }
    size_t n = 0;
    for (; n < name.n && n + 1 < sizeof shown; n++)
        shown[n] = (char)(name.p[n] > ' ' && name.p[n] < 127 ? name.p[n] : '?');
    shown[n] = '\0';
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "a tensor of '%s' is not read; convert the model's tensors to "
                     "floats, integers or bool before saving",
                     shown);
}

static kiln_status read_numbers(const kiln_pickle_value *v, int *rank, int64_t *out,
                                kiln_err *err) {
    if (!is_kind(v, KILN_PICKLE_TUPLE) && !is_kind(v, KILN_PICKLE_LIST))
        return kiln_fail(err, KILN_ERR_PARSE, "a tensor's sizes must be a tuple");
    if (v->item.n > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a tensor has %zu axes, more than %d are not read", v->item.n,
                         KILN_MAX_RANK);
    for (size_t i = 0; i < v->item.n; i++) {
        const kiln_pickle_value *const d = v->item.v[i];
        if (d->kind != KILN_PICKLE_INT || d->i < 0 || d->i > KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "a tensor's sizes and strides must be integers from 0 to "
                             "2^40");
        out[i] = d->i;
    }
    *rank = (int)v->item.n;
    return KILN_OK;
}

/* ('storage', class, key, device, n) */
static kiln_status read_storage(const kiln_pickle_value *v, kiln_dtype *dtype,
                                kiln_pickle_tensor *out, kiln_err *err) {
    const kiln_pickle_value *const id = v != NULL ? v->args : NULL;
    const kiln_pickle_value *const of = arg(id, 1), *const key = arg(id, 2),
                                   *const n = arg(id, 4);
    if (!is_kind(v, KILN_PICKLE_STORAGE) || !is_kind(id, KILN_PICKLE_TUPLE) ||
        !is_kind(of, KILN_PICKLE_GLOBAL) || !is_kind(key, KILN_PICKLE_STR) ||
        !is_kind(n, KILN_PICKLE_INT) || n->i < 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a tensor must have a storage: its class, key and size");
    out->key = key->s;
    out->n_stored = n->i;
    /* Of version 3: the storage counts bytes, and the tensor says what they are. */
    return kiln_str_is(of->s, "UntypedStorage") ? KILN_OK
                                                : find_dtype(of->s, dtype, err);
}

/* Strides of axes that are empty say nothing. */
kiln_status kiln_pickle_tensor_check(const kiln_pickle_tensor *t, kiln_err *err) {
    int64_t last = t->offset;
    if (kiln_type_elems(&t->type) == 0 && last <= t->n_stored)
        return KILN_OK;
    for (int d = 0; d < t->type.rank; d++) {
        const int64_t steps = t->type.dim[d] - 1;
        if (steps > 0 && t->stride[d] > (t->n_stored - last) / steps)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "a tensor reaches past its storage of %" PRId64
                             " elements",
                             t->n_stored);
        last += steps > 0 ? steps * t->stride[d] : 0;
    }
    if (last >= t->n_stored)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a tensor reaches past its storage of %" PRId64 " elements",
                         t->n_stored);
    return KILN_OK;
}

static bool find_contiguous(const kiln_pickle_tensor *t) {
    int64_t want[KILN_MAX_RANK];
    kiln_strides(t->type.rank, t->type.dim, want);
    for (int d = 0; d < t->type.rank; d++)
        if (t->type.dim[d] > 1 && t->stride[d] != want[d])
            return false;
    return true;
}

/* (storage, offset, size, stride, requires_grad, hooks[, metadata]); of version 3 with
 * the dtype behind. */
static kiln_status rebuild(const kiln_pickle_value *args, bool has_dtype,
                           kiln_pickle_tensor *t, kiln_err *err) {
    const kiln_pickle_value *const offset = arg(args, 1), *const type = arg(args, 6);
    kiln_dtype dtype = KILN_F32;
    int64_t dim[KILN_MAX_RANK];
    int rank = 0, n_strides = 0;
    KILN_TRY(read_storage(arg(args, 0), &dtype, t, err));
    if (has_dtype) {
        if (!is_kind(type, KILN_PICKLE_GLOBAL))
            return kiln_fail(err, KILN_ERR_PARSE, "a tensor must have a dtype");
        KILN_TRY(find_dtype(type->s, &dtype, err));
        t->n_stored /= (int64_t)kiln_dtype_bytes(dtype);
    }
    KILN_TRY(read_numbers(arg(args, 2), &rank, dim, err));
    KILN_TRY(read_numbers(arg(args, 3), &n_strides, t->stride, err));
    if (n_strides != rank || !is_kind(offset, KILN_PICKLE_INT) || offset->i < 0 ||
        offset->i > t->n_stored)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a tensor must have a stride for each axis, and an offset in "
                         "its storage");
    t->offset = offset->i;
    t->type = kiln_type_make(dtype, rank, dim);
    KILN_TRY(kiln_type_check(&t->type, err));
    KILN_TRY(kiln_pickle_tensor_check(t, err));
    t->is_contiguous = find_contiguous(t);
    return KILN_OK;
}

kiln_status kiln_pickle_tensor_of(const kiln_pickle_value *v, kiln_pickle_tensor *out,
                                  kiln_err *err) {
    kiln_pickle_tensor t = {.offset = 0};
    while ((is_rebuild(v, "_rebuild_parameter") ||
            is_rebuild(v, "_rebuild_parameter_with_state")) &&
           arg(v->args, 0) != NULL)
        v = arg(v->args, 0);
    if (is_rebuild(v, "_rebuild_qtensor"))
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "a quantized tensor is not read; export the float model, or the "
            "quantized one as ONNX");
    const bool has_dtype = is_rebuild(v, "_rebuild_tensor_v3");
    if (!has_dtype && !is_rebuild(v, "_rebuild_tensor_v2"))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "a tensor is neither dense nor on a CPU; convert it with "
                         ".to_dense().cpu() before saving");
    KILN_TRY(rebuild(v->args, has_dtype, &t, err));
    *out = t;
    return KILN_OK;
}

kiln_status kiln_pickle_tensor_data(kiln_arena *a, const kiln_pickle_tensor *t,
                                    kiln_str storage, const void **out, kiln_err *err) {
    const size_t size = kiln_dtype_bytes(t->type.dtype);
    const int64_t n = kiln_type_elems(&t->type);
    if ((uint64_t)t->n_stored > storage.n / size)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a storage must have %" PRId64
                         " elements, its entry has %zu bytes; is the file truncated?",
                         t->n_stored, storage.n);
    KILN_ASSERT(t->offset >= 0 && t->offset <= t->n_stored,
                "a tensor from element %" PRId64 " of %" PRId64, t->offset,
                t->n_stored);
    const char *const from = storage.p + (size_t)t->offset * size;
    if (t->is_contiguous) {
        *out = from;
        return KILN_OK;
    }
    char *const to = kiln_arena_array(a, (size_t)n, size);
    int64_t index[KILN_MAX_RANK] = {0}, at = 0;
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
        for (int d = t->type.rank - 1; d >= 0; d--) {
            at += t->stride[d];
            if (++index[d] < t->type.dim[d])
                break;
            at -= index[d] * t->stride[d];
            index[d] = 0;
        }
    }
    KILN_ASSERT(at == 0, "a walk over all elements ends at %" PRId64, at);
    *out = to;
    return KILN_OK;
}
