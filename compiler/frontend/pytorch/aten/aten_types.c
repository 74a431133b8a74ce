/* Dtypes of PyTorch's operators. Source: PyTorch's documentation, "Tensor Attributes",
 * torch.dtype: type promotion. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

bool kiln_aten_dtype_from_number(int64_t number, kiln_dtype *out) {
    switch (number) {
    case 0:
        *out = KILN_U8;
        return true;
    case 1:
        *out = KILN_I8;
        return true;
    case 2:
        *out = KILN_I16;
        return true;
    case 3:
        *out = KILN_I32;
        return true;
    case 4:
        *out = KILN_I64;
        return true;
    case 5:
        *out = KILN_F16;
        return true;
    case 6:
        *out = KILN_F32;
        return true;
    case 7:
        *out = KILN_F64;
        return true;
    case 11:
        *out = KILN_BOOL;
        return true;
    case 15:
        *out = KILN_BF16;
        return true;
    default:
        return false;
    }
}

/* Kinds in order: what is of a later one wins. */
static int kind_of(kiln_dtype d) {
    return kiln_dtype_is_float(d) ? 2 : d == KILN_BOOL ? 0 : 1;
}

/* Of two dtypes with equal claims. */
kiln_dtype kiln_aten_wider(kiln_dtype x, kiln_dtype y) {
    if (x == y)
        return x;
    if (kind_of(x) != kind_of(y))
        return kind_of(x) > kind_of(y) ? x : y;
    if (kiln_dtype_is_float(x)) {
        if (x == KILN_F64 || y == KILN_F64)
            return KILN_F64;
        return KILN_F32; /* also of f16 and bf16 */
    }
    if (x == KILN_U8 || y == KILN_U8) {
        const kiln_dtype other = x == KILN_U8 ? y : x;
        return other == KILN_I8 ? KILN_I16 : other;
    }
    return kiln_dtype_bytes(x) > kiln_dtype_bytes(y) ? x : y;
}

/* What an argument claims: 2 a tensor, 1 a tensor of rank 0, 0 a number. */
typedef struct claim {
    int weight;
    kiln_dtype dtype;
} claim;

static claim claim_of(const kiln_aten_value *v) {
    if (v->kind == KILN_ATEN_TENSOR)
        return (claim){v->tensor->type.rank > 0 ? 2 : 1, v->tensor->type.dtype};
    if (v->kind == KILN_ATEN_INT)
        return (claim){0, KILN_I64};
    return (claim){0, v->kind == KILN_ATEN_BOOL ? KILN_BOOL : KILN_F32};
}

kiln_dtype kiln_aten_promote(kiln_aten_args *k, const char *x, const char *y) {
    claim a = claim_of(kiln_aten_get(k, x)), b = claim_of(kiln_aten_get(k, y));
    if (a.weight == b.weight)
        return kiln_aten_wider(a.dtype, b.dtype);
    if (a.weight < b.weight) {
        const claim t = a;
        a = b;
        b = t;
    }
    return kind_of(b.dtype) > kind_of(a.dtype) ? b.dtype : a.dtype;
}

kiln_value *kiln_aten_as(kiln_aten_args *k, const char *name, kiln_dtype dtype) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    if (v->kind == KILN_ATEN_FLOAT)
        return kiln_import_scalar(k->c.cx, dtype, v->f);
    return kiln_compose_cast(&k->c, kiln_aten_tensor(k, name), dtype);
}

kiln_value *kiln_aten_real(kiln_aten_args *k, kiln_value *x) {
    return kiln_dtype_is_float(x->type.dtype) ? x
                                              : kiln_compose_cast(&k->c, x, KILN_F32);
}
