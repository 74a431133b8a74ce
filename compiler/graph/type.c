/* Element types, shapes, layouts: queries and checks. Broadcasting is numpy's (aligned
 * at the last axis, an extent of 1 stretches); blocked layouts are NeoCPU's (ATC'19,
 * section 3.1). */
#include "compiler/graph/type.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- dtypes ---------------------------------------------------------------------- */

static const kiln_dtype_info dtype_info[KILN_N_DTYPES] = {
    [KILN_F32] = {"f32", "<f4", 4, true, true, 24, 0, 0},
    [KILN_F16] = {"f16", "<f2", 2, true, true, 11, 0, 0},
    [KILN_BF16] = {"bf16", NULL, 2, true, true, 8, 0, 0},
    [KILN_F64] = {"f64", "<f8", 8, true, true, 53, 0, 0},
    [KILN_I8] = {"i8", "|i1", 1, false, true, 0, INT8_MIN, INT8_MAX},
    [KILN_U8] = {"u8", "|u1", 1, false, false, 0, 0, UINT8_MAX},
    [KILN_I16] = {"i16", "<i2", 2, false, true, 0, INT16_MIN, INT16_MAX},
    [KILN_U16] = {"u16", "<u2", 2, false, false, 0, 0, UINT16_MAX},
    [KILN_I32] = {"i32", "<i4", 4, false, true, 0, INT32_MIN, INT32_MAX},
    [KILN_U32] = {"u32", "<u4", 4, false, false, 0, 0, UINT32_MAX},
    [KILN_I64] = {"i64", "<i8", 8, false, true, 0, INT64_MIN, INT64_MAX},
    [KILN_U64] = {"u64", "<u8", 8, false, false, 0, 0, INT64_MAX},
    [KILN_BOOL] = {"bool", "|b1", 1, false, false, 0, 0, 1},
    [KILN_F8E4M3FN] = {"f8e4m3fn", "|u1", 1, true, true, 4, 0, 0},
    [KILN_F8E4M3FNUZ] = {"f8e4m3fnuz", "|u1", 1, true, true, 4, 0, 0},
    [KILN_F8E5M2] = {"f8e5m2", "|u1", 1, true, true, 3, 0, 0},
    [KILN_F8E5M2FNUZ] = {"f8e5m2fnuz", "|u1", 1, true, true, 3, 0, 0},
    [KILN_F8E8M0] = {"f8e8m0", "|u1", 1, true, false, 1, 0, 0},
    [KILN_F4E2M1] = {"f4e2m1", "|u1", 1, true, true, 2, 0, 0},
    [KILN_I4] = {"i4", "|i1", 1, false, true, 0, -8, 7},
    [KILN_U4] = {"u4", "|u1", 1, false, false, 0, 0, 15},
    [KILN_I2] = {"i2", "|i1", 1, false, true, 0, -2, 1},
    [KILN_U2] = {"u2", "|u1", 1, false, false, 0, 0, 3},
};

const kiln_dtype_info *kiln_dtype_get(kiln_dtype dtype) {
    KILN_ASSERT((unsigned)dtype < KILN_N_DTYPES, "dtype %d", (int)dtype);
    return &dtype_info[dtype];
}

const char *kiln_dtype_name(kiln_dtype dtype) { return kiln_dtype_get(dtype)->name; }

size_t kiln_dtype_bytes(kiln_dtype dtype) { return kiln_dtype_get(dtype)->bytes; }

bool kiln_dtype_is_float(kiln_dtype dtype) { return kiln_dtype_get(dtype)->is_float; }

bool kiln_dtype_is_in(kiln_dtype dtype, unsigned set) {
    return (set & KILN_DT(dtype)) != 0;
}

bool kiln_dtype_parse(kiln_str name, kiln_dtype *out) {
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        if (kiln_str_is(name, dtype_info[d].name)) {
            *out = (kiln_dtype)d;
            return true;
        }
    }
    return false;
}

kiln_dtype kiln_dtype_stored(kiln_dtype dtype) {
    if (!kiln_dtype_is_in(dtype, KILN_DT_LOW))
        return dtype;
    return dtype == KILN_I4 || dtype == KILN_I2 ? KILN_I8 : KILN_U8;
}

int kiln_dtype_bits(kiln_dtype dtype) {
    if (kiln_dtype_is_in(dtype,
                         KILN_DT(KILN_F4E2M1) | KILN_DT(KILN_I4) | KILN_DT(KILN_U4)))
        return 4;
    if (kiln_dtype_is_in(dtype, KILN_DT(KILN_I2) | KILN_DT(KILN_U2)))
        return 2;
    return dtype == KILN_BOOL ? 1 : 8 * (int)kiln_dtype_bytes(dtype);
}

kiln_low_format kiln_dtype_low_format(kiln_dtype dtype) {
    KILN_ASSERT(kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT), "%s is no low-bit float",
                kiln_dtype_name(dtype));
    return (kiln_low_format)((int)dtype - KILN_F8E4M3FN);
}

const char *kiln_dtype_remedy(kiln_dtype dtype) {
    if (kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT))
        return "; low-bit types are stored and converted only: cast to f32 or f16 "
               "first";
    return kiln_dtype_is_in(dtype, KILN_DT_LOW_INT)
               ? "; low-bit types are stored and converted only: cast to i8 or f32 "
                 "first"
               : "";
}

char *kiln_dtype_set_text(kiln_arena *a, unsigned set) {
    int left = 0;
    for (int d = 0; d < KILN_N_DTYPES; d++)
        left += kiln_dtype_is_in((kiln_dtype)d, set) ? 1 : 0;
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, left == 0 ? "nothing" : "");
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        if (!kiln_dtype_is_in((kiln_dtype)d, set))
            continue;
        left--;
        kiln_buf_puts(&b, dtype_info[d].name);
        kiln_buf_puts(&b, left > 1 ? ", " : left == 1 ? " or " : "");
    }
    return b.p;
}

/* ---- layouts --------------------------------------------------------------------- */

/* Logical axis at place i of the memory order; an empty order is the identity. */
static int order_at(const kiln_layout *l, int i) {
    return i < l->n_order ? l->order[i] : i;
}

static bool same_order(const kiln_layout *a, const kiln_layout *b) {
    const int n = a->n_order > b->n_order ? a->n_order : b->n_order;
    for (int i = 0; i < n; i++) {
        if (order_at(a, i) != order_at(b, i))
            return false;
    }
    return true;
}

bool kiln_layout_is_plain(const kiln_layout *l) {
    const kiln_layout plain = {0};
    return l->n_blocks == 0 && same_order(l, &plain);
}

bool kiln_layout_eq(const kiln_layout *a, const kiln_layout *b) {
    if (a->n_blocks != b->n_blocks || !same_order(a, b))
        return false;
    for (int i = 0; i < a->n_blocks; i++) {
        if (a->block[i].axis != b->block[i].axis ||
            a->block[i].size != b->block[i].size)
            return false;
    }
    return true;
}

int64_t kiln_layout_channel_block(const kiln_layout *l) {
    return l->n_order == 0 && l->n_blocks == 1 && l->block[0].axis == 1
               ? l->block[0].size
               : 0;
}

static kiln_status check_layout(const kiln_type *t, kiln_err *err) {
    const kiln_layout *l = &t->layout;
    if (l->n_order != 0 && l->n_order != t->rank)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "layout order must name each of %d axes once, has %d", t->rank,
                         l->n_order);
    unsigned seen = 0;
    for (int i = 0; i < l->n_order; i++) {
        if (l->order[i] >= t->rank || (seen & 1u << l->order[i]) != 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "layout order must be a permutation of the %d axes, has "
                             "axis %d at place %d",
                             t->rank, l->order[i], i);
        seen |= 1u << l->order[i];
    }
    if (l->n_blocks > KILN_MAX_BLOCKS)
        return kiln_fail(err, KILN_ERR_LIMIT, "a layout has at most %d blocks, has %d",
                         KILN_MAX_BLOCKS, l->n_blocks);
    for (int i = 0; i < l->n_blocks; i++) {
        if (l->block[i].axis >= t->rank)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "layout block axis must be below the rank %d, is %d",
                             t->rank, l->block[i].axis);
        if (l->block[i].size < 1)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "layout block size must be >= 1, is %" PRId32,
                             l->block[i].size);
    }
    return KILN_OK;
}

/* ---- types ----------------------------------------------------------------------- */

kiln_type kiln_type_make(kiln_dtype dtype, int rank, const int64_t *dim) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "rank %d", rank);
    kiln_type t = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        t.dim[i] = dim[i];
    return t;
}

kiln_type kiln_type_scalar(kiln_dtype dtype) { return kiln_type_make(dtype, 0, NULL); }

bool kiln_type_same_shape(const kiln_type *a, const kiln_type *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

bool kiln_type_eq(const kiln_type *a, const kiln_type *b) {
    return a->dtype == b->dtype && kiln_type_same_shape(a, b) &&
           kiln_layout_eq(&a->layout, &b->layout) &&
           a->place.device == b->place.device && a->place.space == b->place.space &&
           a->facts == b->facts;
}

int64_t kiln_type_elems(const kiln_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

/* a * b for factors >= 0, or KILN_MAX_ELEMS + 1 when the product passes KILN_MAX_ELEMS.
 */
static int64_t mul_capped(int64_t a, int64_t b) {
    if (a == 0 || b == 0)
        return 0;
    return a > KILN_MAX_ELEMS / b ? KILN_MAX_ELEMS + 1 : a * b;
}

/* With empty axes counted as 1 when `empty_as_one`: then the result bounds every
 * partial product, such as a stride. */
static int64_t stored_capped(const kiln_type *t, bool empty_as_one) {
    int64_t block[KILN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < t->layout.n_blocks; i++) {
        int64_t *b = &block[t->layout.block[i].axis];
        *b = mul_capped(*b, t->layout.block[i].size);
    }
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        const int64_t dim = t->dim[i] == 0 && empty_as_one ? 1 : t->dim[i];
        const int64_t outer = dim / block[i] + (dim % block[i] != 0 ? 1 : 0);
        n = mul_capped(mul_capped(n, outer), outer == 0 ? 1 : block[i]);
    }
    return n;
}

int64_t kiln_type_stored_elems(const kiln_type *t) { return stored_capped(t, false); }

int64_t kiln_type_bytes(const kiln_type *t) {
    return kiln_type_stored_elems(t) * (int64_t)kiln_dtype_bytes(t->dtype);
}

kiln_status kiln_type_check(const kiln_type *t, kiln_err *err) {
    if ((unsigned)t->dtype >= KILN_N_DTYPES)
        return kiln_fail(err, KILN_ERR_SHAPE, "dtype %d does not exist", (int)t->dtype);
    if (t->rank < 0 || t->rank > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "rank must be in [0, %d], is %d",
                         KILN_MAX_RANK, t->rank);
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "axis %d must have an extent >= 0, has %" PRId64, i,
                             t->dim[i]);
        n = t->dim[i] > KILN_MAX_ELEMS ? KILN_MAX_ELEMS + 1
                                       : mul_capped(n, t->dim[i] == 0 ? 1 : t->dim[i]);
        if (n > KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "a value may have at most 2^40 elements; axis %d with "
                             "extent %" PRId64 " passes that",
                             i, t->dim[i]);
    }
    KILN_TRY(check_layout(t, err));
    if (stored_capped(t, true) > KILN_MAX_ELEMS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a value may have at most 2^40 elements; the blocks of its "
                         "layout pass that");
    if ((t->facts & ~(unsigned)KILN_FACT_TAIL_ZERO) != 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "type facts %#x do not exist",
                         t->facts & ~(unsigned)KILN_FACT_TAIL_ZERO);
    return KILN_OK;
}

/* ---- shapes ---------------------------------------------------------------------- */

void kiln_strides(int rank, const int64_t *dim, int64_t *stride) {
    int64_t s = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = s;
        s *= dim[i];
    }
}

/* Into a fixed buffer, so that a message needs no arena: at most 8 extents of 20
 * digits. */
enum { SHAPE_TEXT = KILN_MAX_RANK * 21 + 3 };

static const char *shape_into(char buf[SHAPE_TEXT], const kiln_type *t) {
    size_t n = 0;
    buf[n++] = '[';
    for (int i = 0; i < t->rank; i++)
        n += (size_t)snprintf(buf + n, SHAPE_TEXT - n, "%s%" PRId64, i == 0 ? "" : ",",
                              t->dim[i]);
    buf[n++] = ']';
    buf[n] = '\0';
    return buf;
}

kiln_status kiln_broadcast(const kiln_type *a, const kiln_type *b, int *rank,
                           int64_t *dim, kiln_err *err) {
    const int r = a->rank > b->rank ? a->rank : b->rank;
    int64_t d[KILN_MAX_RANK];
    for (int i = 0; i < r; i++) {
        const int ia = i - (r - a->rank);
        const int ib = i - (r - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dim[ia];
        const int64_t db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1) {
            char ta[SHAPE_TEXT];
            char tb[SHAPE_TEXT];
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "shapes %s and %s do not broadcast: axis %d must be equal "
                             "or 1, is %" PRId64 " and %" PRId64,
                             shape_into(ta, a), shape_into(tb, b), i, da, db);
        }
        d[i] = da == 1 ? db : da;
    }
    *rank = r;
    for (int i = 0; i < r; i++)
        dim[i] = d[i];
    return KILN_OK;
}

kiln_status kiln_axis_normalize(int64_t axis, int rank, int *out, kiln_err *err) {
    if (axis < -rank || axis >= rank)
        return kiln_fail(err, KILN_ERR_SHAPE, "axis %" PRId64 " is outside [%d, %d)",
                         axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return KILN_OK;
}
