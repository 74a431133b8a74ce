/* Importers of reductions, ArgMax, cumulative sums and TopK. */
#include "compiler/frontend/tensorflow/tf_internal.h"

/* The axes that operand 1 names; *n_axes 0 is none, not all. */
static kiln_status read_axes(kiln_tf_cx *cx, const kiln_tf_node *n, int rank,
                             int64_t *axes, size_t *n_axes) {
    const int64_t *v;
    bool is_taken[KILN_MAX_RANK] = {false};
    KILN_TRY(kiln_tf_ints(cx, n, 1, "reduction_indices", &v, n_axes));
    if (*n_axes > (size_t)rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'reduction_indices' names %zu axes of a tensor of rank %d",
                            *n_axes, rank);
    for (size_t i = 0; i < *n_axes; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(v[i], rank, &axis, cx->common.err));
        if (is_taken[axis])
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "'reduction_indices' names axis %d twice", axis);
        is_taken[axis] = true;
        axes[i] = axis;
    }
    return KILN_OK;
}

/* As kiln_compose_reduce, where no axes mean none. */
static kiln_status reduced(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_compose *c,
                           kiln_value **x) {
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes;
    KILN_TRY(read_axes(cx, n, (*x)->type.rank, axes, &n_axes));
    const bool keep = kiln_tf_attr_b(cx, n, "keep_dims", false);
    if (n_axes > 0)
        *x = kiln_compose_reduce(c, kiln_tf_row_op(cx), *x, axes, n_axes, keep);
    return KILN_OK;
}

kiln_status kiln_tf_import_reduce(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(reduced(cx, n, &c, &x));
    return kiln_tf_end(&c, n, x);
}

/* All and Any: the smallest and the largest of 0 and 1. */
kiln_status kiln_tf_import_reduce_bool(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    x = kiln_compose_cast(&c, x, KILN_I32);
    KILN_TRY(reduced(cx, n, &c, &x));
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, x, KILN_BOOL));
}

kiln_status kiln_tf_import_arg(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_dtype to;
    int axis = 0;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    if (n->n_in > 1)
        KILN_TRY(kiln_tf_axis(cx, n, 1, "dimension", x->type.rank, &axis));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "output_type", KILN_I64, &to));
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", false)};
    x = kiln_compose_op(&c, kiln_tf_row_op(cx), &x, 1, args, 2);
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, x, to));
}

kiln_status kiln_tf_import_cumulative(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int axis;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    KILN_TRY(kiln_tf_axis(cx, n, 1, "axis", x->type.rank, &axis));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", axis),
        kiln_arg_bool("exclusive", kiln_tf_attr_b(cx, n, "exclusive", false)),
        kiln_arg_bool("reverse", kiln_tf_attr_b(cx, n, "reverse", false)),
    };
    return kiln_tf_end(&c, n, kiln_compose_op(&c, kiln_tf_row_op(cx), &x, 1, args, 3));
}

/* The number is an operand, in the first version an attribute. */
kiln_status kiln_tf_import_top_k(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y[2];
    kiln_dtype to;
    int64_t k = kiln_tf_attr_i(cx, n, "k", 0);
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    if (n->n_in > 1)
        KILN_TRY(kiln_tf_int(cx, n, 1, "k", &k));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "index_type", KILN_I32, &to));
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", k),
        kiln_arg_int("axis", -1),
        kiln_arg_bool("sorted", kiln_tf_attr_b(cx, n, "sorted", true)),
    };
    KILN_TRY(kiln_import_emit(&cx->common, n, &kiln_op_topk, &x, 1, args, 3, 2, y));
    y[1] = kiln_compose_cast(&c, y[1], to);
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, 2);
}
