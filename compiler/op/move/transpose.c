/* Permuted axes: output axis i is input axis perm[i] (ONNX Transpose 13). */
#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { PERM, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "perm",
     .kind = KILN_ATTR_INTS,
     .doc = "for each output axis, the input axis it is",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t *perm = n->attr[PERM].ints;
    KILN_TRY(kiln_check_per_axis(n, PERM, err));
    bool seen[KILN_MAX_RANK] = {false};
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        if (perm[i] < 0 || perm[i] >= x->rank || seen[perm[i]])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "'perm' must name each of the %d axes once, entry %d is "
                             "%" PRId64,
                             x->rank, i, perm[i]);
        seen[perm[i]] = true;
        dim[i] = x->dim[perm[i]];
    }
    return kiln_move_type(n, x->dtype, x->rank, dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    int64_t source[KILN_MAX_RANK], stride[KILN_MAX_RANK];
    kiln_strides(x->rank, x->dim, source);
    for (int i = 0; i < x->rank; i++)
        stride[i] = source[n->attr[PERM].ints[i]];
    kiln_move_strided(cx, 0, stride);
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < cx->in[0].type.rank; i++)
        if (KILN_FAULT(transpose_inverse))
            at[i] = index[n->attr[PERM].ints[i]];
        else
            at[n->attr[PERM].ints[i]] = index[i];
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, at));
}

const kiln_op_def kiln_op_transpose = {
    KILN_ROW_REARRANGE,
    .name = "transpose",
    .doc = "x with its axes permuted: output axis i is input axis perm[i]",
    .attr = attrs,
    .n_attr = N_ATTR,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
