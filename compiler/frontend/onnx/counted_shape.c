/* Counted values under another shape, and shapes that depend on counts. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>

static kiln_status operand(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value **x) {
    return kiln_onnx_need(cx, n, 0, "data", x);
}

/* The operator's own importer; its result counts along `axis`. */
static kiln_status keep(kiln_onnx_cx *cx, const kiln_onnx_node *n, const kiln_value *x,
                        int axis) {
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    for (int i = 0; i < kiln_onnx_n_out(n); i++)
        KILN_TRY(kiln_onnx_mark(cx, n, i, axis, x->count));
    return KILN_OK;
}

/* ---- Shape, Size ---- */

kiln_status kiln_onnx_counted_shape(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *dim[KILN_MAX_RANK];
    const int64_t one = 1;
    KILN_TRY(operand(cx, n, &x));
    const int rank = x->type.rank;
    int64_t start = 0, end = rank;
    if (cx->version >= 15) {
        start = kiln_onnx_attr_i(cx, n, "start", 0);
        end = kiln_onnx_attr_i(cx, n, "end", rank);
        start += start < 0 ? rank : 0;
        end += end < 0 ? rank : 0;
    }
    int n_dim = 0;
    for (int i = 0; i < rank; i++)
        if (i >= start && i < end)
            dim[n_dim++] =
                kiln_compose_reshape(&c, kiln_compose_length(&c, x, i), 1, &one);
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_onnx_set(cx, n, 0,
                  n_dim == 0
                      ? kiln_compose_iota(&c, 0)
                      : kiln_compose_op(&c, &kiln_op_concat, dim, n_dim, &axis, 1));
    return c.status;
}

kiln_status kiln_onnx_counted_size(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    KILN_TRY(operand(cx, n, &x));
    int64_t rest = 1;
    for (int i = 0; i < x->type.rank; i++)
        rest *= i == x->bounded_axis ? 1 : x->type.dim[i];
    kiln_onnx_set(
        cx, n, 0,
        kiln_compose_2(&c, &kiln_op_mul, x->count, kiln_compose_number(&c, rest)));
    return c.status;
}

/* ---- axes that come, go and change places ---- */

static kiln_status read_axes(kiln_onnx_cx *cx, const kiln_onnx_node *n, int rank,
                             bool *marked, size_t *count) {
    const int64_t *axes = NULL;
    kiln_value *const v = kiln_onnx_in(cx, n, 1);
    *count = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (v != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, v, "axes", &axes, count));
    /* How many there are decides the rank of an Unsqueeze. */
    for (size_t i = 0; i < *count && marked != NULL; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], rank, &axis, kiln_onnx_err(cx)));
        marked[axis] = true;
    }
    return KILN_OK;
}

kiln_status kiln_onnx_counted_squeeze(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    bool drop[KILN_MAX_RANK] = {false};
    size_t count;
    KILN_TRY(operand(cx, n, &x));
    KILN_TRY(read_axes(cx, n, x->type.rank, drop, &count));
    if (count == 0 || drop[x->bounded_axis])
        return kiln_onnx_refuse_counted(cx, x, "so it is where it may be dropped");
    int axis = x->bounded_axis;
    for (int i = 0; i < x->bounded_axis; i++)
        axis -= drop[i];
    return keep(cx, n, x, axis);
}

kiln_status kiln_onnx_counted_unsqueeze(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    bool added[KILN_MAX_RANK] = {false};
    size_t count;
    KILN_TRY(operand(cx, n, &x));
    KILN_TRY(read_axes(cx, n, 0, NULL, &count));
    if (count > (size_t)(KILN_MAX_RANK - x->type.rank)) /* its importer says so */
        return kiln_onnx_import_given(cx, n, NULL, 0);
    const int rank = x->type.rank + (int)count;
    KILN_TRY(read_axes(cx, n, rank, added, &count));
    int axis = 0;
    for (int from = 0; axis < rank - 1 && (added[axis] || from < x->bounded_axis);
         axis++)
        from += !added[axis];
    return keep(cx, n, x, axis);
}

kiln_status kiln_onnx_counted_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    const int64_t *perm;
    KILN_TRY(operand(cx, n, &x));
    const int rank = x->type.rank;
    const size_t count = kiln_onnx_attr_ints(cx, n, "perm", &perm);
    int axis = rank - 1 - x->bounded_axis;
    for (size_t i = 0; i < count && i < (size_t)rank; i++)
        if (perm[i] == x->bounded_axis)
            axis = (int)i;
    return keep(cx, n, x, axis);
}

/* ---- lists of dims ---- */

/* A list of dims, the largest they may be; *open: the axis whose dim depends on counts,
 * or -1; *count: that dim. */
static kiln_status largest(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *shape,
                           int64_t *dim, int *open, kiln_value **count) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_onnx_extent e[KILN_MAX_RANK];
    *open = -1;
    *count = NULL;
    if (!kiln_onnx_find_extents(cx, shape, e))
        return kiln_onnx_refuse_counted(cx, shape, "it has no bound");
    for (int i = 0; i < kiln_type_elems(&shape->type); i++) {
        dim[i] = e[i].hi;
        if (e[i].lo == e[i].hi)
            continue;
        if (*open >= 0)
            return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "dims %d and %d of the shape depend on data; one may",
                                  *open, i);
        *open = i;
        *count = kiln_compose_reshape(&c, kiln_compose_slice(&c, shape, 0, i, 1, 1), 0,
                                      NULL);
    }
    return c.status;
}

static kiln_value *as_list(kiln_compose *c, const int64_t *v, int64_t n) {
    return kiln_compose_ints(c, 1, &n, v);
}

/* ---- Reshape, Flatten ---- */

static int64_t product(const int64_t *dim, int first, int last) {
    int64_t p = 1;
    for (int i = first; i < last; i++)
        p *= dim[i];
    return p;
}

/* x under the shape `dim` (largest), whose axis b takes x's counted one, joined with
 * axes behind it or parted from them. */
static kiln_status reshape_to(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              int rank, const int64_t *dim, int b) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const int a = x->bounded_axis;
    const int64_t inner = product(x->type.dim, a + 1, x->type.rank);
    const int64_t other = product(dim, b + 1, rank);
    kiln_value *count = x->count;
    if (other > 0 && inner > other)
        count = kiln_compose_2(&c, &kiln_op_mul, count,
                               kiln_compose_number(&c, inner / other));
    if (inner > 0 && inner < other)
        count = kiln_compose_2(&c, &kiln_op_div, count,
                               kiln_compose_number(&c, other / inner));
    kiln_value *const y = kiln_compose_reshape(&c, x, rank, dim);
    kiln_onnx_set(cx, n, 0, kiln_compose_counted(&c, y, b, count));
    return c.status;
}

/* Does axis b of `dim` begin where x's counted axis does, and end with whole rows? */
static bool is_place(const kiln_value *x, int rank, const int64_t *dim, int b) {
    const int a = x->bounded_axis;
    const int64_t inner = product(x->type.dim, a + 1, x->type.rank);
    const int64_t other = product(dim, b + 1, rank);
    return product(dim, 0, b) == product(x->type.dim, 0, a) &&
           dim[b] * other == x->type.dim[a] * inner && inner > 0 && other > 0 &&
           (inner % other == 0 || other % inner == 0);
}

static bool is_count_of(kiln_onnx_cx *cx, const kiln_onnx_extent *e,
                        const kiln_value *x) {
    return e->of->type.rank == 0 && kiln_onnx_is_same_count(cx, e->of, x->count);
}

/* The wanted dims: 0 copies, -1 is what is left, and so is one that depends on counts:
 * that is x's own length, as there must be as many elements. With both, it must be seen
 * to be x's count. *open is the axis that x's counted one becomes. */
static kiln_status read_shape(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const kiln_value *x, int *rank, int64_t *dim, int *open) {
    kiln_value *shape;
    kiln_onnx_extent e[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 1, "shape", &shape));
    if (!kiln_onnx_find_extents(cx, shape, e))
        return kiln_onnx_refuse_counted(cx, x, "the shape it gets has no bound");
    const bool allow_zero = kiln_onnx_attr_i(cx, n, "allowzero", 0) != 0;
    const int a = x->bounded_axis;
    int minus = -1;
    *rank = (int)kiln_type_elems(&shape->type);
    *open = -1;
    for (int i = 0; i < *rank; i++) {
        const bool copies = e[i].lo == 0 && e[i].hi == 0 && !allow_zero;
        if (copies && i >= x->type.rank)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "dim %d of 'shape' is 0 (keep), but 'data' has rank %d", i,
                x->type.rank);
        const bool is_open = e[i].lo != e[i].hi || (copies && i == a);
        if (is_open && *open >= 0)
            return kiln_onnx_refuse_counted(cx, x, "two dims of its new shape do, too");
        *open = is_open ? i : *open;
        minus = e[i].hi == -1 ? i : minus;
        dim[i] = copies ? x->type.dim[i] : is_open || e[i].hi == -1 ? 1 : e[i].hi;
    }
    const int left = minus >= 0 ? minus : *open;
    if (left < 0)
        return kiln_onnx_refuse_counted(cx, x, "the shape it gets does not");
    if (*open >= 0 && minus >= 0) {
        const bool copies = e[*open].hi == 0;
        if (!copies && !is_count_of(cx, &e[*open], x))
            return kiln_onnx_refuse_counted(
                cx, x, "the dim beside -1 is not seen to be its length");
        dim[*open] = x->type.dim[a];
    }
    dim[left] = 1;
    const int64_t have = kiln_type_elems(&x->type), rest = product(dim, 0, *rank);
    if (rest <= 0 || have % rest != 0)
        return kiln_onnx_refuse_counted(cx, x,
                                        "its elements do not fill the new shape");
    dim[left] = have / rest;
    *open = *open >= 0 ? *open : left;
    return KILN_OK;
}

/* Only the shape has to do with counts: it must be known after all. */
static kiln_status reshape_known(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *shape, *count;
    int64_t dim[KILN_MAX_RANK];
    int open;
    KILN_TRY(kiln_onnx_need(cx, n, 1, "shape", &shape));
    KILN_TRY(largest(cx, n, shape, dim, &open, &count));
    if (open >= 0)
        return kiln_onnx_refuse_counted(cx, shape, "the input's length does not");
    kiln_value *const given[2] = {NULL,
                                  as_list(&c, dim, kiln_type_elems(&shape->type))};
    KILN_TRY(c.status);
    return kiln_onnx_import_given(cx, n, given, 2);
}

kiln_status kiln_onnx_counted_reshape(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int64_t dim[KILN_MAX_RANK];
    int rank = 0, open = -1;
    KILN_TRY(operand(cx, n, &x));
    if (!kiln_value_is_counted(x))
        return reshape_known(cx, n);
    KILN_TRY(read_shape(cx, n, x, &rank, dim, &open));
    if (is_place(x, rank, dim, open))
        return reshape_to(cx, n, x, rank, dim, open);
    return kiln_onnx_refuse_counted(cx, x,
                                    "the new shape mixes rows that count with others");
}

kiln_status kiln_onnx_counted_flatten(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(operand(cx, n, &x));
    int64_t axis = kiln_onnx_attr_i(cx, n, "axis", 1);
    axis += axis < 0 ? x->type.rank : 0;
    if (axis < 0 || axis > x->type.rank) /* its importer says so */
        return kiln_onnx_import_given(cx, n, NULL, 0);
    const int64_t dim[2] = {product(x->type.dim, 0, (int)axis),
                            product(x->type.dim, (int)axis, x->type.rank)};
    const int b = x->bounded_axis >= axis;
    if (is_place(x, 2, dim, b))
        return reshape_to(cx, n, x, 2, dim, b);
    return kiln_onnx_refuse_counted(cx, x,
                                    "flattening mixes rows that count with others");
}

/* ---- Expand, ConstantOfShape, Range ---- */

kiln_status kiln_onnx_counted_expand(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *shape, *count;
    int64_t dim[KILN_MAX_RANK];
    int open;
    KILN_TRY(operand(cx, n, &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "shape", &shape));
    KILN_TRY(largest(cx, n, shape, dim, &open, &count));
    const int n_dim = (int)kiln_type_elems(&shape->type);
    const int rank = n_dim > x->type.rank ? n_dim : x->type.rank;
    int axis = open < 0 ? -1 : rank - n_dim + open;
    if (kiln_value_is_counted(x)) {
        const int own = rank - x->type.rank + x->bounded_axis;
        const int there = own - (rank - n_dim); /* in `dim` */
        const bool fits = there < 0 || dim[there] == 1 || there == open;
        if (!fits || (open >= 0 && axis != own) ||
            (open >= 0 && !kiln_onnx_is_same_count(cx, x->count, count)))
            return kiln_onnx_refuse_counted(cx, x, "it is expanded to another length");
        axis = own;
        count = x->count;
        if (open >= 0)
            dim[open] = x->type.dim[x->bounded_axis];
    } else if (axis >= 0 && axis >= rank - x->type.rank &&
               x->type.dim[axis - (rank - x->type.rank)] != 1)
        return kiln_onnx_refuse_counted(cx, shape,
                                        "the input has another length there");
    kiln_value *const given[2] = {NULL, as_list(&c, dim, n_dim)};
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, 2));
    return axis < 0 ? KILN_OK : kiln_onnx_mark(cx, n, 0, axis, count);
}

kiln_status kiln_onnx_counted_constant_of_shape(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *shape, *count;
    int64_t dim[KILN_MAX_RANK];
    int open;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &shape));
    KILN_TRY(largest(cx, n, shape, dim, &open, &count));
    kiln_value *const given[1] = {as_list(&c, dim, kiln_type_elems(&shape->type))};
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, 1));
    return open < 0 ? KILN_OK : kiln_onnx_mark(cx, n, 0, open, count);
}

kiln_status kiln_onnx_counted_range(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const name[3] = {"start", "limit", "delta"};
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3];
    kiln_onnx_extent e[3];
    for (int i = 0; i < 3; i++) {
        KILN_TRY(kiln_onnx_need(cx, n, i, name[i], &in[i]));
        if (!kiln_onnx_find_extent(cx, in[i], 0, &e[i]))
            return kiln_onnx_import_given(cx, n, NULL, 0);
    }
    if (e[0].lo != 0 || e[0].hi != 0 || e[2].lo != 1 || e[2].hi != 1)
        return kiln_onnx_refuse_counted(cx, in[1],
                                        "a range has a rule from 0 in steps of 1 only");
    const kiln_dtype dtype = in[1]->type.dtype;
    const int64_t most = e[1].hi > 0 ? e[1].hi : 0;
    kiln_value *const y = kiln_compose_cast(&c, kiln_compose_iota(&c, most), dtype);
    kiln_value *count = kiln_compose_reshape(&c, in[1], 0, NULL);
    count = kiln_compose_cast(&c, count, KILN_I64);
    if (e[1].lo < 0)
        count = kiln_compose_2(&c, &kiln_op_max, count, kiln_compose_number(&c, 0));
    kiln_onnx_set(cx, n, 0,
                  e[1].lo == e[1].hi ? y : kiln_compose_counted(&c, y, 0, count));
    return c.status;
}

/* ---- Split ---- */

kiln_status kiln_onnx_counted_split(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int axis;
    KILN_TRY(operand(cx, n, &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    if (!kiln_value_is_counted(x) ||
        (axis == x->bounded_axis && kiln_onnx_n_out(n) != 1))
        return kiln_onnx_refuse_counted(cx, x, "its parts along it have no rule");
    if (axis != x->bounded_axis)
        return keep(cx, n, x, x->bounded_axis);
    const int64_t *sizes;
    (void)kiln_onnx_attr_i(cx, n, "num_outputs", 1);
    (void)kiln_onnx_attr_ints(cx, n, "split", &sizes);
    kiln_onnx_set(cx, n, 0, x); /* one part: all of it */
    return KILN_OK;
}
