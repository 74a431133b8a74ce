/* Counted values and operators that treat each row by itself: whatever the filling
 * becomes stays filling. And those that join rows, whose filling is made neutral. */
#include "compiler/frontend/counted_rules.h"
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include <math.h>

/* ---- element by element ---- */

/* All counted operands count along one axis of the result, and alike; an operand whose
 * length is known may have one element there. */
typedef struct alignment {
    int from_right; /* the axis, counted from the last; 0: none is counted */
    kiln_value *count;
} alignment;

static kiln_status align(kiln_onnx_cx *cx, const kiln_value *v, alignment *a) {
    const int from_right = v->type.rank - v->bounded_axis;
    if (a->count == NULL) {
        *a = (alignment){from_right, v->count};
        return KILN_OK;
    }
    if (a->from_right != from_right)
        return kiln_onnx_refuse_counted(cx, v,
                                        "so is another operand, on another axis");
    if (!kiln_onnx_is_same_count(cx, a->count, v->count))
        return kiln_onnx_refuse_counted(
            cx, v, "another operand's length is not seen to be the same");
    return KILN_OK;
}

static kiln_status align_all(kiln_onnx_cx *cx, const kiln_onnx_node *n, alignment *a) {
    *a = (alignment){0};
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (kiln_value_is_counted(v))
            KILN_TRY(align(cx, v, a));
    }
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (v == NULL || kiln_value_is_counted(v) || v->type.rank < a->from_right)
            continue;
        if (v->type.dim[v->type.rank - a->from_right] != 1)
            return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "operand '%s' has as many elements along an axis as "
                                  "another one, whose length depends on data; take "
                                  "its shape from that of the other",
                                  kiln_onnx_show(cx, kiln_str_from(v->name)));
    }
    return KILN_OK;
}

static kiln_status mark_outputs(kiln_onnx_cx *cx, const kiln_onnx_node *n, int axis,
                                kiln_value *count) {
    for (int i = 0; i < kiln_onnx_n_out(n); i++)
        KILN_TRY(kiln_onnx_mark(cx, n, i, axis, count));
    return KILN_OK;
}

/* Axes of the first output; 0 where nobody asks for it. */
static int rank_of_result(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return kiln_onnx_wants(n, 0)
               ? ((kiln_value *)kiln_map_get(&cx->scope->values, n->output[0]))
                     ->type.rank
               : 0;
}

kiln_status kiln_onnx_counted_along(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    alignment a;
    if (cx->row->op == &kiln_op_det) /* a "unary" operator of matrices */
        return kiln_onnx_refuse_counted(cx, kiln_onnx_in(cx, n, 0),
                                        "determinants have no rule for it");
    KILN_TRY(align_all(cx, n, &a));
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    return mark_outputs(cx, n, rank_of_result(cx, n) - a.from_right, a.count);
}

/* ---- row by row ---- */

/* Only operand `which` is counted; on which axis. */
static kiln_status only_one(kiln_onnx_cx *cx, const kiln_onnx_node *n, int which,
                            kiln_value **x) {
    *x = kiln_onnx_in(cx, n, which);
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (i != which && kiln_value_is_counted(v))
            return kiln_onnx_refuse_counted(cx, v, "this operand may not be so here");
    }
    return KILN_OK;
}

static kiln_status on_first_axis(kiln_onnx_cx *cx, const kiln_value *x) {
    return x->bounded_axis == 0 ? KILN_OK
                                : kiln_onnx_refuse_counted(
                                      cx, x, "it must be along the first axis here");
}

/* Images of a batch, rows of a matrix. */
kiln_status kiln_onnx_counted_first(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(only_one(cx, n, 0, &x));
    KILN_TRY(on_first_axis(cx, x));
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    return mark_outputs(cx, n, 0, x->count);
}

kiln_status kiln_onnx_counted_gemm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_value *const x = kiln_onnx_in(cx, n, 0), *const bias =
                                                            kiln_onnx_in(cx, n, 2);
    if (x != NULL && kiln_onnx_attr_i(cx, n, "transA", 0) != 0)
        return kiln_onnx_refuse_counted(cx, x, "transA has no rule for it");
    if (x != NULL && bias != NULL && bias->type.rank == 2 && bias->type.dim[0] != 1)
        return kiln_onnx_refuse_counted(cx, x, "the bias has rows of its own");
    return kiln_onnx_counted_first(cx, n);
}

/* Rows of the left matrices; the right ones are whole. */
kiln_status kiln_onnx_counted_matmul(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(only_one(cx, n, 0, &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &y));
    if (!kiln_value_is_counted(x) || x->bounded_axis != x->type.rank - 2)
        return kiln_onnx_refuse_counted(cx, kiln_value_is_counted(x) ? x : y,
                                        "only rows of the left matrices have a rule");
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    const int rank = rank_of_result(cx, n);
    return kiln_onnx_mark(cx, n, 0, y->type.rank == 1 ? rank - 1 : rank - 2, x->count);
}

/* Regions of interest. */
kiln_status kiln_onnx_counted_roi_align(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    enum { IMAGES, ROIS, BATCH, N };
    kiln_value *given[N] = {NULL}, *image, *rois, *batch;
    kiln_compose c = kiln_onnx_compose(cx, n);
    KILN_TRY(kiln_onnx_need(cx, n, IMAGES, "X", &image));
    KILN_TRY(kiln_onnx_need(cx, n, ROIS, "rois", &rois));
    KILN_TRY(kiln_onnx_need(cx, n, BATCH, "batch_indices", &batch));
    if (kiln_value_is_counted(image))
        return kiln_onnx_refuse_counted(cx, image, "the images may not be so");
    if (!kiln_value_is_counted(rois) || !kiln_value_is_counted(batch) ||
        !kiln_onnx_is_same_count(cx, rois->count, batch->count))
        return kiln_onnx_refuse_counted(
            cx, kiln_value_is_counted(rois) ? rois : batch,
            "'rois' and 'batch_indices' are not seen to have as many");
    KILN_TRY(on_first_axis(cx, rois));
    given[BATCH] = kiln_compose_fill(&c, batch, 0);
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, N));
    return kiln_onnx_mark(cx, n, 0, 0, rois->count);
}

kiln_status kiln_onnx_counted_softmax(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *given[1];
    kiln_compose c = kiln_onnx_compose(cx, n);
    int axis;
    KILN_TRY(only_one(cx, n, 0, &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", -1), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    /* The exponential of -inf is 0. */
    if (axis == x->bounded_axis && cx->row->op == &kiln_op_hardmax)
        return kiln_onnx_refuse_counted(cx, x, "hardmax along it has no rule");
    given[0] = axis == x->bounded_axis ? kiln_compose_fill(&c, x, -HUGE_VAL) : NULL;
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, 1));
    return kiln_onnx_mark(cx, n, 0, x->bounded_axis, x->count);
}

/* Below opset 13 all axes from `axis` on are one. */
kiln_status kiln_onnx_counted_softmax_flat(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int axis;
    KILN_TRY(only_one(cx, n, 0, &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 1), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    if (x->bounded_axis >= axis)
        return kiln_onnx_refuse_counted(cx, x, "softmax over it has no rule");
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    return kiln_onnx_mark(cx, n, 0, x->bounded_axis, x->count);
}

/* ---- reductions ---- */

/* Which axes go, and what is left of the counted one: its place in the result. */
static kiln_status reduce(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                          const bool *gone) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *given[1] = {NULL};
    const bool keepdims = kiln_onnx_attr_i(cx, n, "keepdims", 1) != 0;
    if (gone[x->bounded_axis]) {
        const double v = kiln_counted_neutral(cx->row->op);
        if (isnan(v))
            return kiln_onnx_refuse_counted(cx, x, "this reduction has no rule for it");
        given[0] = kiln_compose_fill(&c, x, v);
        KILN_TRY(c.status);
        return kiln_onnx_import_given(cx, n, given, 1);
    }
    int axis = x->bounded_axis;
    for (int i = 0; i < x->bounded_axis; i++)
        axis -= gone[i] && !keepdims;
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    return kiln_onnx_mark(cx, n, 0, axis, x->count);
}

kiln_status kiln_onnx_counted_reduce(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *const operand = kiln_onnx_in(cx, n, 1);
    const int64_t *axes = NULL;
    KILN_TRY(only_one(cx, n, 0, &x));
    bool gone[KILN_MAX_RANK] = {false};
    size_t count = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (operand != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, operand, "axes", &axes, &count));
    if (count == 0 && kiln_onnx_attr_i(cx, n, "noop_with_empty_axes", 0) != 0)
        return kiln_onnx_refuse_counted(cx, x, "noop_with_empty_axes has no rule");
    for (int i = 0; i < x->type.rank && count == 0; i++)
        gone[i] = true;
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], x->type.rank, &axis, kiln_onnx_err(cx)));
        gone[axis] = true;
    }
    return reduce(cx, n, x, gone);
}

kiln_status kiln_onnx_counted_arg(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    bool gone[KILN_MAX_RANK] = {false};
    int axis;
    KILN_TRY(only_one(cx, n, 0, &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    if (axis == x->bounded_axis && kiln_onnx_attr_i(cx, n, "select_last_index", 0) != 0)
        return kiln_onnx_refuse_counted(cx, x, "select_last_index has no rule for it");
    gone[axis] = true;
    return reduce(cx, n, x, gone);
}
