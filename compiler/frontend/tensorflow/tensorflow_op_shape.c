/* Importers of shapes: Shape and its like, Reshape, ExpandDims, Squeeze, Fill, Range,
 * LinSpace, BroadcastTo, InvertPermutation. Shapes are static, so that what computes with them becomes constant. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>
#include <math.h>

/* The shape of x as a constant of out_type. */
static kiln_status shape_of(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                            kiln_value **out) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_dtype to;
    KILN_TRY(kiln_tf_need(cx, n, i, "input", &x));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "out_type", KILN_I32, &to));
    const int64_t rank = x->type.rank;
    kiln_value *const y = kiln_compose_ints(&c, 1, &rank, x->type.dim);
    *out = kiln_compose_cast(&c, y, to);
    return c.status;
}

kiln_status kiln_tf_import_shape(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *y;
    KILN_TRY(shape_of(cx, n, 0, &y));
    return kiln_tf_set(cx, n, y);
}

kiln_status kiln_tf_import_shape_n(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value **const y = kiln_array(&cx->common.scratch, kiln_value *, n->n_in + 1);
    for (int i = 0; i < n->n_in; i++)
        KILN_TRY(shape_of(cx, n, i, &y[i]));
    return kiln_tf_set_all(cx, n, y, n->n_in);
}

kiln_status kiln_tf_import_size(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_dtype to;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "out_type", KILN_I32, &to));
    const int64_t count = kiln_type_elems(&x->type);
    kiln_value *const y = kiln_compose_ints(&c, 0, NULL, &count);
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, y, to));
}

kiln_status kiln_tf_import_rank(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    return kiln_tf_set(cx, n, kiln_import_scalar(&cx->common, KILN_I32, x->type.rank));
}

/* ---- reshapes --------------------------------------------------------------------- */

/* One size may be -1: what is left. */
static kiln_status fill_rest(kiln_tf_cx *cx, const kiln_value *x, size_t rank,
                             int64_t *dim) {
    const int64_t count = kiln_type_elems(&x->type);
    int64_t product = 1;
    int open = -1;
    for (size_t i = 0; i < rank; i++) {
        if (dim[i] == -1 && open < 0) {
            open = (int)i;
            continue;
        }
        if (dim[i] < 0 || (dim[i] > 0 && product > KILN_MAX_ELEMS / dim[i]))
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "'shape' must have sizes >= 0, of which one may be -1, "
                                "and at most 2^40 elements; axis %zu is %" PRId64,
                                i, dim[i]);
        product *= dim[i];
    }
    if (open >= 0)
        dim[open] = product == 0 ? 0 : count / product;
    if ((open >= 0 ? product * dim[open] : product) == count)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "%s cannot be reshaped to %s: the elements are not as many",
                        kiln_type_text(&cx->common.scratch, &x->type),
                        kiln_shape_text(&cx->common.scratch, (int)rank, dim));
}

kiln_status kiln_tf_import_reshape(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *given;
    int64_t dim[KILN_MAX_RANK];
    size_t rank;
    KILN_TRY(kiln_tf_need(cx, n, 0, "tensor", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "shape", &given, &rank));
    if (rank > KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                            KILN_MAX_RANK, rank);
    for (size_t i = 0; i < rank; i++)
        dim[i] = given[i];
    KILN_TRY(fill_rest(cx, x, rank, dim));
    return kiln_tf_end(&c, n, kiln_compose_reshape(&c, x, (int)rank, dim));
}

kiln_status kiln_tf_import_expand_dims(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t dim[KILN_MAX_RANK + 1];
    int axis;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    const int rank = x->type.rank;
    KILN_TRY(kiln_tf_axis(cx, n, 1, "dim", rank + 1, &axis));
    if (rank == KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d", rank);
    for (int i = 0, k = 0; i <= rank; i++)
        dim[i] = i == axis ? 1 : x->type.dim[k++];
    return kiln_tf_end(&c, n, kiln_compose_reshape(&c, x, rank + 1, dim));
}

kiln_status kiln_tf_import_squeeze(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *v;
    bool is_gone[KILN_MAX_RANK] = {false};
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    const size_t count = kiln_tf_attr_ints(cx, n, "squeeze_dims", &v);
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(v[i], x->type.rank, &axis, cx->common.err));
        if (x->type.dim[axis] != 1)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "axis %d must have one element to go, has %" PRId64,
                                axis, x->type.dim[axis]);
        is_gone[axis] = true;
    }
    for (int i = 0; i < x->type.rank; i++)
        if (count == 0 ? x->type.dim[i] != 1 : !is_gone[i])
            dim[rank++] = x->type.dim[i];
    return kiln_tf_end(&c, n, kiln_compose_reshape(&c, x, rank, dim));
}

/* ---- of a shape ------------------------------------------------------------------- */

static kiln_status need_shape(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                              const char *name, kiln_dtype dtype, kiln_type *out) {
    const int64_t *dim;
    size_t rank;
    KILN_TRY(kiln_tf_ints(cx, n, i, name, &dim, &rank));
    if (rank > KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                            KILN_MAX_RANK, rank);
    *out = kiln_type_make(dtype, (int)rank, dim);
    return kiln_type_check(out, cx->common.err);
}

kiln_status kiln_tf_import_fill(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_type t;
    KILN_TRY(kiln_tf_need(cx, n, 1, "value", &x));
    KILN_TRY(need_shape(cx, n, 0, "dims", x->type.dtype, &t));
    return kiln_tf_end(&c, n, kiln_compose_expand(&c, x, t.rank, t.dim));
}

kiln_status kiln_tf_import_broadcast_to(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_type t;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(need_shape(cx, n, 1, "shape", x->type.dtype, &t));
    return kiln_tf_end(&c, n, kiln_compose_expand(&c, x, t.rank, t.dim));
}

/* v, as many times as x has elements. */
static kiln_status like(kiln_tf_cx *cx, const kiln_tf_node *n, double v) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    kiln_value *const one = kiln_import_scalar(&cx->common, x->type.dtype, v);
    return kiln_tf_end(&c, n, kiln_compose_expand(&c, one, x->type.rank, x->type.dim));
}

kiln_status kiln_tf_import_ones_like(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return like(cx, n, 1);
}

kiln_status kiln_tf_import_zeros_like(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return like(cx, n, 0);
}

kiln_status kiln_tf_import_range(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const char *const names[] = {"start", "limit", "delta"};
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *first;
    const double *v[3];
    for (int i = 0; i < 3; i++) {
        size_t count;
        KILN_TRY(kiln_tf_floats(cx, n, i, names[i], &v[i], &count));
        if (count != 1)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE, "'%s' must be one number, has %zu",
                                names[i], count);
    }
    KILN_TRY(kiln_tf_need(cx, n, 0, "start", &first));
    const kiln_dtype dtype = first->type.dtype;
    const double count = ceil((v[1][0] - v[0][0]) / v[2][0]);
    if (v[2][0] == 0 || !(count <= (double)KILN_MAX_ELEMS))
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "a range from %g to %g in steps of %g has no end, or more "
                            "than 2^40 elements",
                            v[0][0], v[1][0], v[2][0]);
    kiln_value *y = kiln_compose_iota(&c, count > 0 ? (int64_t)count : 0);
    y = kiln_compose_cast(&c, y, dtype);
    y = kiln_compose_scalar(&c, &kiln_op_mul, y, v[2][0]);
    return kiln_tf_end(&c, n, kiln_compose_scalar(&c, &kiln_op_add, y, v[0][0]));
}

/* num numbers from start to stop, both among them. */
kiln_status kiln_tf_import_lin_space(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *first;
    const double *start, *stop;
    size_t n_start, n_stop;
    int64_t num;
    KILN_TRY(kiln_tf_need(cx, n, 0, "start", &first));
    KILN_TRY(kiln_tf_floats(cx, n, 0, "start", &start, &n_start));
    KILN_TRY(kiln_tf_floats(cx, n, 1, "stop", &stop, &n_stop));
    KILN_TRY(kiln_tf_int(cx, n, 2, "num", &num));
    if (n_start != 1 || n_stop != 1 || num < 1 || num > KILN_MAX_ELEMS)
        return kiln_tf_fail(
            cx, KILN_ERR_SHAPE,
            "'start' and 'stop' must be one number and 'num' 1 to 2^40, "
            "is %" PRId64,
            num);
    KILN_TRY(kiln_import_spend(&cx->common, 8 * num));
    double *const v = kiln_array(&cx->common.scratch, double, num);
    const double step = num > 1 ? (*stop - *start) / (double)(num - 1) : 0;
    for (int64_t i = 0; i < num; i++)
        v[i] = i > 0 && i == num - 1 ? *stop : *start + step * (double)i;
    return kiln_tf_end(&c, n, kiln_compose_floats(&c, first->type.dtype, 1, &num, v));
}

kiln_status kiln_tf_import_invert_permutation(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *v;
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 0, "x", &v, &count));
    int64_t *const inverse = kiln_array(&cx->common.scratch, int64_t, count);
    bool *const is_taken = kiln_array(&cx->common.scratch, bool, count);
    for (size_t i = 0; i < count; i++) {
        if (v[i] < 0 || (uint64_t)v[i] >= count || is_taken[v[i]])
            return kiln_tf_fail(cx, KILN_ERR_PARSE,
                                "'x' must have each of 0 to %zu once", count - 1);
        is_taken[v[i]] = true;
        inverse[v[i]] = (int64_t)i;
    }
    const int64_t size = (int64_t)count;
    kiln_value *const y = kiln_compose_ints(&c, 1, &size, inverse);
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, y, x->type.dtype));
}

/* The shape that two shapes broadcast to. */
kiln_status kiln_tf_import_broadcast_args(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *first;
    kiln_type a, b;
    int rank;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_need(cx, n, 0, "s0", &first));
    KILN_TRY(need_shape(cx, n, 0, "s0", KILN_F32, &a));
    KILN_TRY(need_shape(cx, n, 1, "s1", KILN_F32, &b));
    KILN_TRY(kiln_broadcast(&a, &b, &rank, dim, cx->common.err));
    const int64_t size = rank;
    kiln_value *const y = kiln_compose_ints(&c, 1, &size, dim);
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, y, first->type.dtype));
}
