/* A tensor repeated along its axes (ONNX Tile 13): out[i] = x[i mod dim]. */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { REPEATS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "repeats",
     .kind = KILN_ATTR_INTS,
     .doc = "how often x appears on each axis",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    KILN_TRY(kiln_check_per_axis(n, REPEATS, err));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        const int64_t times = n->attr[REPEATS].ints[i];
        if (times < 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "repeats of axis %d must be >= 0, is %" PRId64, i, times);
        if (x->dim[i] > 0 && times > KILN_MAX_ELEMS / x->dim[i])
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "axis %d must have at most %" PRId64
                             " elements, repeats are %" PRId64,
                             i, KILN_MAX_ELEMS, times);
        dim[i] = x->dim[i] * times;
    }
    return kiln_move_type(n, x->dtype, x->rank, dim, out, err);
}

/* One output row along the last axis: the input row from `s` on, again and again. */
static void tile_row(kiln_eval_cx *cx, int64_t at, int64_t s, int64_t row,
                     int64_t times) {
    for (int64_t k = 0; k < times; k++)
        kiln_copy_run(&cx->out[0], at + k * row, &cx->in[0], s, row);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *y = &cx->out[0].type;
    if (kiln_type_elems(y) == 0)
        return KILN_OK;
    if (x->rank == 0) {
        kiln_copy_elem(&cx->out[0], 0, &cx->in[0], 0);
        return KILN_OK;
    }
    const int last = x->rank - 1;
    int64_t stride[KILN_MAX_RANK], coord[KILN_MAX_RANK] = {0}, at = 0;
    kiln_strides(x->rank, x->dim, stride);
    do {
        int64_t s = 0;
        for (int i = 0; i < last; i++)
            s += coord[i] % x->dim[i] * stride[i];
        tile_row(cx, at, s, x->dim[last], n->attr[REPEATS].ints[last]);
        at += y->dim[last];
    } while (kiln_next_coord(last, y->dim, coord));
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *x = &cx->in[0].type;
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < x->rank; i++)
        index[i] = kiln_compute_mod(cx, index[i], x->dim[i] > 0 ? x->dim[i] : 1);
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, index));
}

const kiln_op_def kiln_op_tile = {
    KILN_ROW_REARRANGE,
    .name = "tile",
    .doc = "x repeated along each axis, as often as the attribute repeats says for it",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
