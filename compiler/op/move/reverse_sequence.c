/* Sequences of their own lengths reversed (ONNX ReverseSequence 10): for batch b, the
 * first lens[b] elements along time_axis in reverse order, the rest as it is. */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { BATCH_AXIS, TIME_AXIS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "batch_axis",
     .kind = KILN_ATTR_INT,
     .doc = "axis of sequences",
     .default_i = 1},
    {.name = "time_axis", .kind = KILN_ATTR_INT, .doc = "axis that is reversed"},
};

static const char *const names[] = {"x", "lens", NULL};

static kiln_status axes_of(const kiln_node *n, int *batch, int *time, kiln_err *err) {
    KILN_TRY(kiln_check_axis(n, BATCH_AXIS, batch, err));
    KILN_TRY(kiln_check_axis(n, TIME_AXIS, time, err));
    if (*batch == *time)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "batch_axis and time_axis must differ, both are %d", *batch);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *lens = &n->in[1]->type;
    int batch, time;
    KILN_TRY(axes_of(n, &batch, &time, err));
    KILN_TRY(kiln_check_dtype(n, 1, KILN_DT_INDEX, err));
    KILN_TRY(kiln_check_rank(n, 1, 1, err));
    if (lens->dim[0] != x->dim[batch])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'lens' must have %" PRId64
                         " elements, one per batch, has %" PRId64,
                         x->dim[batch], lens->dim[0]);
    return kiln_move_type(n, x->dtype, x->rank, x->dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    int batch, time;
    KILN_TRY(axes_of(n, &batch, &time, cx->err));
    for (int64_t b = 0; b < x->dim[batch]; b++) {
        const int64_t len = cx->in[1].i[b];
        if (len < 0 || len > x->dim[time])
            return kiln_fail(cx->err, KILN_ERR_SHAPE,
                             "length %" PRId64
                             " in input 'lens' is outside [0, %" PRId64 "]",
                             len, x->dim[time]);
    }
    int64_t stride[KILN_MAX_RANK], coord[KILN_MAX_RANK] = {0};
    kiln_strides(x->rank, x->dim, stride);
    const int64_t count = kiln_type_elems(x);
    for (int64_t e = 0; e < count; e++) {
        const int64_t len = cx->in[1].i[coord[batch]], t = coord[time];
        const int64_t s = t < len ? e + (len - 1 - 2 * t) * stride[time] : e;
        kiln_copy_elem(&cx->out[0], e, &cx->in[0], s);
        kiln_next_coord(x->rank, x->dim, coord);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    int batch, time;
    KILN_TRY(axes_of(n, &batch, &time, cx->err));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    /* A length that is too large, which the reference refuses, must not lead outside.
     */
    const kiln_expr *steps = kiln_x_index(a, cx->in[0].type.dim[time]);
    const kiln_expr *length =
        kiln_x_cast(a, KILN_I64, kiln_compute_read(cx, 1, &index[batch]));
    length = kiln_x_binary(a, KILN_EXPR_MIN, length, steps);
    const kiln_expr *t = index[time];
    const kiln_expr *mirrored =
        kiln_x_sub(a, kiln_x_sub(a, length, kiln_x_index(a, 1)), t);
    const kiln_expr *from = kiln_x_select(a, kiln_x_less(a, t, length), mirrored, t);
    /* Always inside, which nobody else could tell. */
    from =
        kiln_x_binary(a, KILN_EXPR_MIN, from, kiln_x_sub(a, steps, kiln_x_index(a, 1)));
    index[time] = kiln_x_binary(a, KILN_EXPR_MAX, from, kiln_x_index(a, 0));
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, index));
}

const kiln_op_def kiln_op_reverse_sequence = {
    KILN_ROW_MOVE,
    .name = "reverse_sequence",
    .doc = "the first lens[b] elements of each sequence of x in reverse order",
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = names,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
