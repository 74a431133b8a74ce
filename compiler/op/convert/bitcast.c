/* The same bits read as another dtype of the same size (ONNX BitCast 26). As bool, any
 * byte but 0 is true. Exact: no arithmetic. */
#include "compiler/op/op_compute.h"

enum { TO };

static const kiln_attr_def attrs[] = {
    [TO] = {.name = "to",
            .kind = KILN_ATTR_DTYPE,
            .doc = "dtype of the output",
            .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_dtype from = n->in[0]->type.dtype, to = (kiln_dtype)n->attr[TO].i;
    if (kiln_dtype_is_in(to, KILN_DT_LOW))
        return kiln_fail(err, KILN_ERR_SHAPE, "output must not be %s%s",
                         kiln_dtype_name(to), kiln_dtype_remedy(to));
    if (kiln_dtype_bytes(from) != kiln_dtype_bytes(to))
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "input and output must have elements of one size, are %s and %s",
            kiln_dtype_name(from), kiln_dtype_name(to));
    KILN_TRY(kiln_infer_broadcast(n, to, out, err));
    out->facts = n->in[0]->type.facts; /* zero bits are zero in every dtype */
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    /* Plain types: the wide form is row-major whatever the layout. */
    const kiln_wide *x = &cx->in[0];
    const kiln_type from = kiln_type_make(x->type.dtype, x->type.rank, x->type.dim);
    const kiln_type to = kiln_type_make(cx->out[0].type.dtype, from.rank, from.dim);
    kiln_tensor bits = kiln_tensor_new(cx->scratch, &from);
    kiln_wide in = *x, out = cx->out[0];
    in.type = from;
    out.type = to;
    kiln_narrow(&in, bits.data);
    kiln_widen(&to, bits.data, &out);
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_dtype to = n->out[0]->type.dtype;
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const kiln_expr *x = kiln_compute_read(cx, 0, index);
    if (x->dtype != KILN_BOOL && to != KILN_BOOL)
        x = kiln_x_bitcast(cx->arena, to, x);
    return kiln_compute_end(cx, 0, y, x); /* bool: its values are its bits */
}

const kiln_op_def kiln_op_bitcast = {
    .name = "bitcast",
    .doc = "the bits of x as another dtype of the same size",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = kiln_names_x,
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_OBLIVIOUS,
    .infer = infer,
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
