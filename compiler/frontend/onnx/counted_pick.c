/* Picking by data: NonZero, Compress, TopK and NonMaxSuppression make counted values;
 * Gather and GatherND read them and are read by them. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* ---- NonZero, Compress ---- */

/* Is x not 0, and no filling? One axis. */
static kiln_value *is_chosen(kiln_compose *c, kiln_value *x) {
    const int64_t n = kiln_type_elems(&x->type);
    x = kiln_compose_fill(c, x, 0);
    if (x->type.dtype != KILN_BOOL)
        x = kiln_compose_1(c, &kiln_op_logical_not,
                           kiln_compose_2(c, &kiln_op_equal, x,
                                          kiln_import_scalar(c->cx, x->type.dtype, 0)));
    return kiln_compose_reshape(c, x, 1, &n);
}

/* Places in row-major order to one index of each axis: i64[rank, n]. */
static kiln_value *unravel(kiln_compose *c, kiln_value *at, const kiln_type *t) {
    kiln_value *row[KILN_MAX_RANK];
    const int64_t dim[2] = {1, at->type.dim[0]};
    at = kiln_compose_reshape(c, at, 2, dim);
    for (int i = t->rank - 1; i >= 0; i--) {
        kiln_value *const d = kiln_compose_number(c, t->dim[i]);
        row[i] = i == 0 ? at : kiln_compose_2(c, &kiln_op_mod, at, d);
        at = i == 0 ? at : kiln_compose_2(c, &kiln_op_div, at, d);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    return kiln_compose_op(c, &kiln_op_concat, row, t->rank, &axis, 1);
}

/* By its own importer where the operand can be known; *done says so. */
static kiln_status import_known(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *operand, bool *done) {
    kiln_tensor known;
    *done = true;
    if (kiln_value_is_const(operand) && !kiln_value_is_counted(operand))
        return kiln_onnx_import_given(cx, n, NULL, 0);
    const kiln_err before = *cx->common.err;
    const int64_t bytes = cx->common.bytes_left, flops = cx->common.const_flops;
    if (!kiln_value_is_counted(operand) &&
        kiln_onnx_const(cx, operand, "X", &known) == KILN_OK)
        return kiln_onnx_import_given(cx, n, NULL, 0);
    *cx->common.err = before; /* it is none: nothing was computed */
    cx->common.bytes_left = bytes;
    cx->common.const_flops = flops;
    *done = false;
    return KILN_OK;
}

kiln_status kiln_onnx_counted_non_zero(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *count;
    bool done;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(import_known(cx, n, x, &done));
    if (done)
        return KILN_OK;
    const int64_t none[2] = {x->type.rank, 0};
    if (x->type.rank == 0)
        return kiln_onnx_refuse_counted(cx, x, "it has no axis to be found along");
    if (kiln_type_elems(&x->type) == 0) {
        kiln_onnx_set(cx, n, 0, kiln_compose_ints(&c, 2, none, NULL));
        return c.status;
    }
    kiln_value *const at = kiln_compose_partition(&c, is_chosen(&c, x), &count);
    kiln_onnx_set(cx, n, 0,
                  kiln_compose_counted(&c, unravel(&c, at, &x->type), 1, count));
    return c.status;
}

kiln_status kiln_onnx_counted_compress(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *condition, *count;
    bool done;
    int axis = 0;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "condition", &condition));
    if (kiln_value_is_counted(x))
        return kiln_onnx_refuse_counted(cx, x, "Compress has no rule for it");
    KILN_TRY(import_known(cx, n, condition, &done));
    if (done)
        return KILN_OK;
    const int64_t elems = kiln_type_elems(&x->type);
    if (kiln_onnx_has_attr(n, "axis"))
        KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                     &axis, kiln_onnx_err(cx)));
    else
        x = kiln_compose_reshape(&c, x, 1, &elems);
    if (condition->type.rank != 1 || condition->type.dim[0] < 1 ||
        condition->type.dim[0] > x->type.dim[axis])
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'condition' must be a list of 1 to %" PRId64 " elements, is %s",
            x->type.dim[axis], kiln_type_text(&cx->common.scratch, &condition->type));
    kiln_value *const at = kiln_compose_partition(&c, is_chosen(&c, condition), &count);
    kiln_value *const y = kiln_compose_axis(&c, &kiln_op_gather, x, at, axis);
    kiln_onnx_set(cx, n, 0, kiln_compose_counted(&c, y, axis, count));
    return c.status;
}

/* ---- Gather, GatherND ---- */

static bool may_be_negative(kiln_onnx_cx *cx, const kiln_value *index) {
    kiln_onnx_extent e;
    for (int64_t i = 0; i < kiln_type_elems(&index->type); i++)
        if (!kiln_value_is_const(index) || !kiln_onnx_find_extent(cx, index, i, &e) ||
            e.lo < 0)
            return true;
    return false;
}

/* The filling of an index picks the first element. */
static kiln_status import_picked(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                 kiln_compose *c, kiln_value *index) {
    index = kiln_compose_fill(c, index, 0);
    kiln_value *const given[2] = {NULL, index};
    KILN_TRY(c->status);
    return kiln_onnx_import_given(cx, n, given, 2);
}

kiln_status kiln_onnx_counted_gather(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *index;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "indices", &index));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    kiln_value *const own = index->count; /* what becomes of it loses the mark */
    const int own_axis = axis + index->bounded_axis;
    const bool keeps = kiln_value_is_counted(x) && x->bounded_axis != axis;
    if (keeps && own != NULL)
        return kiln_onnx_refuse_counted(cx, x, "so is another axis of the result");
    if (kiln_value_is_counted(x) && !keeps && may_be_negative(cx, index)) {
        kiln_value *const shifted = kiln_compose_from_the_end(&c, index, x->count);
        index = own == NULL
                    ? shifted
                    : kiln_compose_counted(&c, shifted, index->bounded_axis, own);
    }
    KILN_TRY(import_picked(cx, n, &c, index));
    if (own != NULL)
        return kiln_onnx_mark(cx, n, 0, own_axis, own);
    const int shift = x->bounded_axis > axis ? index->type.rank - 1 : 0;
    return keeps ? kiln_onnx_mark(cx, n, 0, x->bounded_axis + shift, x->count)
                 : KILN_OK;
}

/* Lengths of the axes that are indexed, as one row. */
static kiln_value *lengths(kiln_compose *c, kiln_value *x, int first, int64_t n) {
    kiln_value *dim[KILN_MAX_RANK];
    const int64_t one = 1;
    for (int i = 0; i < n; i++)
        dim[i] = kiln_compose_reshape(c, kiln_compose_length(c, x, first + i), 1, &one);
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    return kiln_compose_op(c, &kiln_op_concat, dim, (int)n, &axis, 1);
}

kiln_status kiln_onnx_counted_gather_nd(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *index;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "indices", &index));
    const int rank = index->type.rank,
              batch = (int)kiln_onnx_attr_i(cx, n, "batch_dims", 0);
    const int64_t k = rank > 0 ? index->type.dim[rank - 1] : 0;
    kiln_value *const own = index->count;
    const int own_axis = index->bounded_axis;
    if (own != NULL && own_axis == rank - 1)
        return kiln_onnx_refuse_counted(cx, index, "that is the axis of one index");
    if (k < 1 || k > x->type.rank) /* its importer says so */
        return kiln_onnx_import_given(cx, n, NULL, 0);
    if (batch != 0)
        return kiln_onnx_refuse_counted(cx, own != NULL ? index : x,
                                        "batch_dims has no rule for it");
    const bool keeps = kiln_value_is_counted(x) && x->bounded_axis >= k;
    if (keeps && own != NULL)
        return kiln_onnx_refuse_counted(cx, x, "so is another axis of the result");
    if (kiln_value_is_counted(x) && !keeps) {
        kiln_value *const shifted =
            kiln_compose_from_the_end(&c, index, lengths(&c, x, 0, k));
        index =
            own == NULL ? shifted : kiln_compose_counted(&c, shifted, own_axis, own);
    }
    KILN_TRY(import_picked(cx, n, &c, index));
    if (own != NULL)
        return kiln_onnx_mark(cx, n, 0, own_axis, own);
    return keeps
               ? kiln_onnx_mark(cx, n, 0, rank - 1 + x->bounded_axis - (int)k, x->count)
               : KILN_OK;
}

/* ---- TopK ---- */

kiln_status kiln_onnx_counted_topk(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *given[2] = {NULL}, *k = kiln_onnx_in(cx, n, 1);
    kiln_onnx_extent e;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", -1), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    const bool keeps = kiln_value_is_counted(x) && x->bounded_axis != axis;
    const double worst =
        kiln_onnx_attr_i(cx, n, "largest", 1) != 0 ? -HUGE_VAL : HUGE_VAL;
    bool is_open = false;
    if (k != NULL && !kiln_value_is_const(k)) {
        if (kiln_type_elems(&k->type) != 1 || !kiln_onnx_find_extent(cx, k, 0, &e))
            return kiln_onnx_refuse_counted(cx, x, "K has no bound");
        const int64_t one = 1, d = x->type.dim[axis], most = e.hi < d ? e.hi : d;
        is_open = e.lo != e.hi;
        given[1] = kiln_compose_ints(&c, 1, &one, &most);
    }
    if (keeps && is_open)
        return kiln_onnx_refuse_counted(cx, x, "so is another axis of the result");
    /* The filling comes behind all equals: its places are the last. */
    given[0] = keeps ? NULL : kiln_compose_fill(&c, x, worst);
    kiln_value *const count = is_open ? kiln_compose_reshape(&c, k, 0, NULL) : x->count;
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, 2));
    for (int i = 0; i < kiln_onnx_n_out(n) && (keeps || is_open); i++)
        KILN_TRY(kiln_onnx_mark(cx, n, i, is_open ? axis : x->bounded_axis, count));
    return KILN_OK;
}

/* ---- NonMaxSuppression ---- */

kiln_status kiln_onnx_counted_non_max_suppression(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    enum { BOXES, SCORES, MOST, IOU, THRESHOLD, N };
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *boxes, *scores, *given[N] = {NULL};
    KILN_TRY(kiln_onnx_need(cx, n, BOXES, "boxes", &boxes));
    KILN_TRY(kiln_onnx_need(cx, n, SCORES, "scores", &scores));
    if (!kiln_value_is_counted(boxes) || !kiln_value_is_counted(scores) ||
        boxes->bounded_axis != 1 || scores->bounded_axis != 2 ||
        !kiln_onnx_is_same_count(cx, boxes->count, scores->count))
        return kiln_onnx_refuse_counted(
            cx, kiln_value_is_counted(boxes) ? boxes : scores,
            "boxes and scores are not seen to have as many");
    /* -inf is above no threshold; without one, every finite score but the lowest is. */
    given[SCORES] = kiln_compose_fill(&c, scores, -HUGE_VAL);
    if (kiln_onnx_in(cx, n, THRESHOLD) == NULL)
        given[THRESHOLD] = kiln_onnx_scalar(cx, KILN_F64, -(double)FLT_MAX);
    KILN_TRY(c.status);
    return kiln_onnx_import_given(cx, n, given, N);
}
