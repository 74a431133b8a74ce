/* A regular part of each axis: out[i] = x[start + i * step] for i < size (ONNX Slice 13
 * with starts and ends resolved, so that steps may be negative and no bound is left to
 * clamp). */
#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { STARTS, STEPS, SIZES, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "starts",
     .kind = KILN_ATTR_INTS,
     .doc = "first element on each axis",
     .is_required = true},
    {.name = "steps",
     .kind = KILN_ATTR_INTS,
     .doc = "distance of neighbours on each axis, not 0",
     .is_required = true},
    {.name = "sizes",
     .kind = KILN_ATTR_INTS,
     .doc = "elements taken on each axis",
     .is_required = true},
};

static kiln_status check_axis(int axis, int64_t start, int64_t step, int64_t size,
                              int64_t dim, kiln_err *err) {
    if (step == 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "the step of axis %d must not be 0",
                         axis);
    if (size < 0 || size > dim)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the size of axis %d must be in [0, %" PRId64 "], is %" PRId64,
                         axis, dim, size);
    if (size == 0)
        return KILN_OK;
    /* |step| < dim first, so that the product below stays inside int64_t. */
    const bool fits =
        start >= 0 && start < dim &&
        (size == 1 || (step > -dim && step < dim && start + (size - 1) * step >= 0 &&
                       start + (size - 1) * step < dim));
    if (!fits)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "start %" PRId64 ", step %" PRId64 ", size %" PRId64
                         " leave axis %d of %" PRId64 " elements",
                         start, step, size, axis, dim);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    for (int i = 0; i < N_ATTR; i++)
        KILN_TRY(kiln_check_per_axis(n, i, err));
    for (int i = 0; i < x->rank; i++)
        KILN_TRY(check_axis(i, n->attr[STARTS].ints[i], n->attr[STEPS].ints[i],
                            n->attr[SIZES].ints[i], x->dim[i], err));
    return kiln_move_type(n, x->dtype, x->rank, n->attr[SIZES].ints, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    int64_t stride[KILN_MAX_RANK], offset = 0;
    if (kiln_type_elems(&cx->out[0].type) == 0)
        return KILN_OK;
    kiln_strides(x->rank, x->dim, stride);
    for (int i = 0; i < x->rank; i++) {
        offset += n->attr[STARTS].ints[i] * stride[i];
        /* The step of an axis of one element is never taken and may be any number. */
        stride[i] = n->attr[SIZES].ints[i] > 1 ? stride[i] * n->attr[STEPS].ints[i] : 0;
    }
    kiln_move_strided(cx, offset, stride);
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < cx->in[0].type.rank; i++) {
        /* The step of an axis of one element is never taken and may be any number. */
        const int64_t step = n->attr[SIZES].ints[i] > 1 ? n->attr[STEPS].ints[i] : 1;
        index[i] = kiln_x_add(
            a, kiln_x_mul(a, index[i], kiln_x_index(a, step)),
            kiln_x_index(a, KILN_FAULT(slice_start) ? 0 : n->attr[STARTS].ints[i]));
    }
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, index));
}

const kiln_op_def kiln_op_slice = {
    KILN_ROW_REARRANGE,
    .name = "slice",
    .doc = "size elements of each axis of x, from start on, step apart",
    .attr = attrs,
    .n_attr = N_ATTR,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
