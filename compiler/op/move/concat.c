/* Inputs one behind the other along an axis (ONNX Concat 13). */
#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { AXIS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis",
     .kind = KILN_ATTR_INT,
     .doc = "axis that grows",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *first = &n->in[0]->type;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < first->rank; i++)
        dim[i] = i == axis ? 0 : first->dim[i];
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            return kiln_fail(err, KILN_ERR_SHAPE, "input %d must be given", k);
        const kiln_type *t = &n->in[k]->type;
        bool fits = t->dtype == first->dtype && t->rank == first->rank;
        for (int i = 0; fits && i < t->rank; i++)
            fits = i == axis || t->dim[i] == first->dim[i];
        if (!fits) {
            kiln_arena scratch = {0};
            const kiln_status st = kiln_fail(
                err, KILN_ERR_SHAPE,
                "input %d must be as input 0 but for axis %d, they are %s and %s", k,
                axis, kiln_type_text(&scratch, t), kiln_type_text(&scratch, first));
            kiln_arena_fini(&scratch);
            return st;
        }
        dim[axis] += t->dim[axis];
        if (dim[axis] > KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "axis %d must have at most %" PRId64 " elements", axis,
                             KILN_MAX_ELEMS);
    }
    return kiln_move_type(n, first->dtype, first->rank, dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    const kiln_lanes whole = kiln_lanes_at(&cx->out[0].type, axis);
    int64_t at = 0;
    for (int k = 0; k < n->n_in; k++) {
        const int64_t run = cx->in[k].type.dim[axis] * whole.inner;
        for (int64_t o = 0; o < whole.outer; o++)
            kiln_copy_run(&cx->out[0], o * whole.n * whole.inner + at, &cx->in[k],
                          o * run, run);
        at += run;
    }
    return KILN_OK;
}

/* Where each input begins along the axis. */
typedef struct joint {
    kiln_compute_cx *cx;
    const kiln_expr *const *index;
    int axis;
    int64_t *begin;
} joint;

/* The element, which is in one of inputs [from, to): by halving. */
static const kiln_expr *pick_part(const joint *j, int from, int to) {
    kiln_arena *a = j->cx->arena;
    const kiln_expr *at[KILN_MAX_RANK];
    if (to - from > 1) {
        const int mid = (from + to) / 2;
        const kiln_expr *is_left =
            kiln_x_less(a, j->index[j->axis], kiln_x_index(a, j->begin[mid]));
        return kiln_x_select(a, is_left, pick_part(j, from, mid),
                             pick_part(j, mid, to));
    }
    for (int i = 0; i < j->cx->out[0].type.rank; i++)
        at[i] = j->index[i];
    at[j->axis] = kiln_x_sub(a, at[j->axis], kiln_x_index(a, j->begin[from]));
    return kiln_compute_read(
        j->cx, from > 0 && KILN_FAULT(concat_order) ? from - 1 : from, at);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    joint j = {
        .cx = cx, .index = index, .begin = kiln_array(cx->arena, int64_t, n->n_in + 1)};
    KILN_TRY(kiln_check_axis(n, AXIS, &j.axis, cx->err));
    for (int k = 0; k < n->n_in; k++)
        j.begin[k + 1] = j.begin[k] + cx->in[k].type.dim[j.axis];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    return kiln_compute_end(cx, 0, y, pick_part(&j, 0, n->n_in));
}

const kiln_op_def kiln_op_concat = {
    KILN_ROW_MOVE,
    .name = "concat",
    .doc = "the inputs one behind the other along an axis",
    .n_in_min = 1,
    .n_in_max = KILN_VARIADIC,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_STORED,
    .fuse = KILN_FUSE_INJECTIVE,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
