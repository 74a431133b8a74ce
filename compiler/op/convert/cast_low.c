/* Conversion to a float of 8 or 4 bits (ONNX Cast 25 and its tables): to nearest, ties
 * to even; f8e8m0 as `round` says. What is out of range is the largest number where
 * `saturate` is set, infinities included, else infinity or NaN; f4e2m1 always
 * saturates. See base/arithmetic/low_float.h. Exact: one rounding. */
#include "compiler/op/op_low.h"

enum { TO, SATURATE, ROUND, N_ATTR };

/* In the order of kiln_low_round. */
static const char *const rounds[] = {"up", "down", "nearest", NULL};

static const kiln_attr_def attrs[N_ATTR] = {
    [TO] = {.name = "to",
            .kind = KILN_ATTR_DTYPE,
            .doc = "dtype of the output: a float of 8 or 4 bits",
            .is_required = true},
    [SATURATE] = {.name = "saturate",
                  .kind = KILN_ATTR_BOOL,
                  .doc = "what is out of range becomes the largest number",
                  .default_i = 1},
    [ROUND] = {.name = "round",
               .kind = KILN_ATTR_WORD,
               .doc = "to powers of two, f8e8m0",
               .choices = rounds},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_dtype to = (kiln_dtype)n->attr[TO].i;
    if (!kiln_dtype_is_in(to, KILN_DT_LOW_FLOAT))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute 'to' must be a float of 8 or 4 bits, is %s: "
                         "operator 'cast' makes it",
                         kiln_dtype_name(to));
    KILN_TRY(kiln_infer_broadcast(n, to, out, err));
    if (to != KILN_F8E8M0 && n->in[0]->type.dtype != KILN_F8E8M0)
        out->facts = n->in[0]->type.facts; /* zero stays zero, where there is one */
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_dtype to = (kiln_dtype)n->attr[TO].i;
    const kiln_low_format format = kiln_dtype_low_format(to);
    const kiln_wide *x = &cx->in[0];
    const int64_t n_elems = cx->pick != NULL ? cx->n_pick : kiln_type_elems(&x->type);
    for (int64_t k = 0; k < n_elems; k++) {
        const int64_t at = cx->pick != NULL ? cx->pick[k] : k;
        const double v =
            x->f != NULL ? x->f[at] : kiln_f64_from_int(x->type.dtype, to, x->i[at]);
        const uint8_t code = kiln_low_from_f64(format, v, n->attr[SATURATE].i != 0,
                                               (kiln_low_round)n->attr[ROUND].i);
        cx->out[0].f[k] = kiln_low_to_f64(format, code);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const kiln_expr *code = kiln_low_encode(
        cx->arena, (kiln_dtype)n->attr[TO].i, kiln_low_read(cx, 0, index),
        n->attr[SATURATE].i != 0, (kiln_low_round)n->attr[ROUND].i);
    return kiln_compute_end(cx, 0, y, code);
}

const kiln_op_def kiln_op_cast_low = {
    KILN_ROW_ELEMENTWISE, .name = "cast_low",   .doc = "x as a float of 8 or 4 bits",
    .n_in_min = 1,        .n_in_max = 1,        .in_names = kiln_names_x,
    .attr = attrs,        .n_attr = N_ATTR,     .dtypes = KILN_DT_STORED,
    .infer = infer,       .eval_ref = eval_ref, .error_bound = kiln_bound_exact,
    .compute = compute,
};
