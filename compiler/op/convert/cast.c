/* Conversion of the elements to another dtype (ONNX Cast 13). To a float: nearest, ties
 * to even. Float to integer: towards zero; outside the range, which ONNX leaves open,
 * the nearest end, and 0 for NaN (as LLVM's llvm.fptosi.sat and llvm.fptoui.sat).
 * Integer to integer: modulo 2^bits. To bool: x != 0, so NaN is true. Exact: one
 * rounding.
 *
 * To integers of 4 and 2 bits floats go through i32, then modulo 2^bits, as the ONNX
 * project's data has it. Floats of 8 and 4 bits are cast_low's, which has its own
 * attributes. */
#include "compiler/op/op_low.h"

enum { TO };

static const kiln_attr_def attrs[] = {
    [TO] = {.name = "to",
            .kind = KILN_ATTR_DTYPE,
            .doc = "dtype of the output",
            .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_dtype to = (kiln_dtype)n->attr[TO].i;
    if (kiln_dtype_is_in(to, KILN_DT_LOW_FLOAT))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute 'to' must not be %s: operator 'cast_low' makes it",
                         kiln_dtype_name(to));
    KILN_TRY(kiln_infer_broadcast(n, to, out, err));
    if (n->in[0]->type.dtype != KILN_F8E8M0) /* zero bits are 2^-127 */
        out->facts = n->in[0]->type.facts;   /* zero stays zero */
    return KILN_OK;
}

static double to_float(const kiln_wide *x, int64_t at, kiln_dtype to) {
    if (x->f != NULL)
        return x->f[at];
    return kiln_f64_from_int(x->type.dtype, to, x->i[at]);
}

static int64_t to_int(const kiln_wide *x, int64_t at, kiln_dtype to) {
    if (to == KILN_BOOL)
        return x->f != NULL ? x->f[at] != 0 : x->i[at] != 0;
    if (kiln_dtype_is_in(to, KILN_DT_LOW_INT) && x->f != NULL)
        to = KILN_I32; /* the output is wrapped where it is stored */
    return x->f != NULL ? kiln_i_from_f64(x->f[at], to) : x->i[at];
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_dtype to = (kiln_dtype)n->attr[TO].i;
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    const int64_t n_elems = cx->pick != NULL ? cx->n_pick : kiln_type_elems(&x->type);
    for (int64_t k = 0; k < n_elems; k++) {
        const int64_t at = cx->pick != NULL ? cx->pick[k] : k;
        if (y->f != NULL)
            y->f[k] = to_float(x, at, to);
        else
            y->i[k] = to_int(x, at, to);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_dtype to = (kiln_dtype)n->attr[TO].i;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const kiln_expr *x = kiln_low_read(cx, 0, index);
    if (kiln_dtype_is_in(to, KILN_DT_LOW_INT))
        x = kiln_low_wrap(cx->arena, to, x);
    return kiln_compute_end(cx, 0, y, x);
}

const kiln_op_def kiln_op_cast = {
    KILN_ROW_ELEMENTWISE,
    .name = "cast",
    .doc = "x as another dtype",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = kiln_names_x,
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_STORED,
    .infer = infer,
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
