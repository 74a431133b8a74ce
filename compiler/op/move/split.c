/* Parts of one axis, one output each (ONNX Split 18 with the sizes resolved). */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { AXIS, SIZES, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis",
     .kind = KILN_ATTR_INT,
     .doc = "axis that is cut",
     .is_required = true},
    {.name = "sizes",
     .kind = KILN_ATTR_INTS,
     .doc = "elements of the axis for each output",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_attr *sizes = &n->attr[SIZES];
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    if (sizes->n != (size_t)n->n_out)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "'sizes' must have one entry per output (%d), has %zu",
                         n->n_out, sizes->n);
    int64_t left = x->dim[axis];
    for (int k = 0; k < n->n_out; k++) {
        if (sizes->ints[k] < 0 || sizes->ints[k] > left)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "size %d must be in [0, %" PRId64 "], is %" PRId64, k,
                             left, sizes->ints[k]);
        left -= sizes->ints[k];
    }
    if (left != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "'sizes' must add up to %" PRId64 ", add up to %" PRId64,
                         x->dim[axis], x->dim[axis] - left);
    for (int k = 0; k < n->n_out; k++) {
        out[k] = kiln_type_make(x->dtype, x->rank, x->dim);
        out[k].place = x->place;
        out[k].dim[axis] = sizes->ints[k];
    }
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    const kiln_lanes whole = kiln_lanes_at(&cx->in[0].type, axis);
    int64_t at = 0;
    for (int k = 0; k < n->n_out; k++) {
        const int64_t run = n->attr[SIZES].ints[k] * whole.inner;
        for (int64_t o = 0; o < whole.outer; o++)
            kiln_copy_run(&cx->out[k], o * run, &cx->in[0],
                          o * whole.n * whole.inner + at, run);
        at += run;
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    int axis;
    int64_t at = 0;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    for (int k = 0; k < n->n_out; k++) {
        const char *suffix = kiln_format(cx->arena, "part%d", k);
        kiln_te *y = kiln_compute_begin(cx, suffix, &cx->out[k].type, index);
        index[axis] = kiln_x_add(cx->arena, index[axis], kiln_x_index(cx->arena, at));
        KILN_TRY(kiln_compute_end(cx, k, y, kiln_compute_read(cx, 0, index)));
        at += n->attr[SIZES].ints[k];
    }
    return KILN_OK;
}

const kiln_op_def kiln_op_split = {
    KILN_ROW_REARRANGE,
    .name = "split",
    .doc = "x cut along an axis, one output per part",
    .n_out_min = 1,
    .n_out_max = KILN_VARIADIC,
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
