/* Products of dequantised numbers are products of whole ones, scaled afterwards: what the
 * pairs of quantize_linear and dequantize_linear around an operator mean.
 *
 *     product(s (i32(x) - z), t (i32(w) - v)) + b  =  s t product(i32(x) - z, i32(w) - v) + b
 *
 * for bytes x with one scale s and bytes w, constant, with one scale t or one for each
 * channel of the result; products are convolutions, matmul and gemm. Whole sums are exact, so
 * what is left is a rounding of the sum and two of the scales: the reals' sums round each
 * term. Source of the equation: Jacob et al., "Quantization and Training of Neural
 * Networks for Efficient Integer-Arithmetic-Only Inference", CVPR'18, section 2.2; that of
 * the pairs' meaning: ONNX, QuantizeLinear-21.
 *
 * Runs before constants are folded, or w would be real numbers already. Products of bytes
 * are what is wanted, so what narrow_products and narrow_convs would leave as it is (which
 * they ask byte_source.h as well) stays real numbers: products of 32-bit integers are no
 * faster. */
#include "compiler/pass/byte_source.h"

typedef struct dequantized {
    kiln_value *whole, *scale, *zero; /* zero NULL: none */
    int64_t axis;                     /* of scales, where there are several */
} dequantized;

typedef struct product {
    const kiln_node *node;
    dequantized x, w;
    kiln_value *bias;     /* NULL: none */
    int out_axis, w_axis; /* of the channels of y, and of w */
    int64_t terms;        /* that are summed up */
    bool is_dot;          /* several at once */
} product;

/* ---- what is taken ---------------------------------------------------------------- */

static bool of_bytes(const kiln_value *v, dequantized *out) {
    const kiln_node *n = v->def;
    if (n == NULL || v->count != NULL || n->op != &kiln_op_dequantize_linear ||
        v->type.dtype != KILN_F32)
        return false;
    const kiln_type *t = &n->in[0]->type;
    const int64_t axis = kiln_node_attr(n, "axis")->i;
    *out = (dequantized){.whole = n->in[0],
                         .scale = n->in[1],
                         .zero = n->n_in > 2 ? n->in[2] : NULL,
                         .axis = axis < 0 ? axis + t->rank : axis};
    return (t->dtype == KILN_I8 || t->dtype == KILN_U8) &&
           kiln_node_attr(n, "block")->i == 0 && out->scale->type.dtype == KILN_F32;
}

static bool is_one(const kiln_value *v) { return kiln_type_elems(&v->type) == 1; }

/* Constant, with one scale, or one for each channel. */
static bool takes_weights(const product *p) {
    const dequantized *w = &p->w;
    return kiln_value_is_const(w->whole) && kiln_value_is_const(w->scale) &&
           (w->zero == NULL || kiln_value_is_const(w->zero)) &&
           (is_one(w->scale) || w->axis == p->w_axis);
}

static bool is_conv(const kiln_node *n, product *p) {
    if (n->op != &kiln_op_conv)
        return false;
    const kiln_type *w = &n->in[1]->type;
    p->out_axis = 1;
    p->w_axis = 0;
    p->terms = kiln_type_elems(w) / (w->dim[0] > 0 ? w->dim[0] : 1);
    /* Padding is the zero point, so it must be known. */
    return kiln_byte_conv_pays(n, &p->is_dot) &&
           (p->x.zero == NULL || kiln_value_is_const(p->x.zero));
}

static bool is_matrix(const kiln_node *n, product *p) {
    kiln_byte_matrix w;
    if (!kiln_byte_product_pays(n, &w))
        return false;
    p->out_axis = n->out[0]->type.rank - 1;
    p->w_axis = kiln_node_attr(n, "trans_b")->i != 0 ? 0 : 1;
    p->terms = w.terms;
    p->is_dot = true;
    return n->op != &kiln_op_gemm || p->bias == NULL ||
           kiln_node_attr(n, "beta")->f == 1;
}

/* The largest factors of whole sums, both less a zero point. */
static bool sums_fit(int64_t terms) {
    return terms > 0 && terms <= INT32_MAX / ((int64_t)UINT8_MAX * UINT8_MAX);
}

/* Elements of w that have one scale, one after the other. */
static int64_t run_of(const dequantized *w) {
    int64_t n = 1;
    for (int i = (int)w->axis + 1; i < w->whole->type.rank && !is_one(w->scale); i++)
        n *= w->whole->type.dim[i];
    return n;
}

/* Less their zero points. */
static bool weights_fit(kiln_sweep *s, const product *p) {
    const kiln_type *t = &p->w.whole->type;
    const kiln_value *zero = p->w.zero;
    kiln_byte_weights as;
    kiln_wide w = kiln_wide_new(s->cx->scratch, t);
    kiln_widen(t, p->w.whole->data, &w);
    if (zero == NULL)
        return kiln_byte_weights_of(&w, p->is_dot, &as);
    const int64_t n = kiln_type_elems(t), zeros = kiln_type_elems(&zero->type);
    const int64_t run = run_of(&p->w);
    kiln_wide z = kiln_wide_new(s->cx->scratch, &zero->type);
    kiln_widen(&zero->type, zero->data, &z);
    for (int64_t i = 0; i < n; i++)
        w.i[i] -= z.i[i / run % zeros];
    return kiln_byte_weights_of(&w, p->is_dot, &as);
}

static bool is_taken(kiln_sweep *s, const kiln_node *n, product *p) {
    *p = (product){.node = n};
    if (n->n_in < 2 || !of_bytes(n->in[0], &p->x) || !of_bytes(n->in[1], &p->w) ||
        !is_one(p->x.scale) || (p->x.zero != NULL && !is_one(p->x.zero)))
        return false;
    p->bias = n->n_in > 2 ? n->in[2] : NULL;
    return (is_conv(n, p) || is_matrix(n, p)) && takes_weights(p) &&
           sums_fit(p->terms) && weights_fit(s, p);
}

/* ---- rewriting -------------------------------------------------------------------- */

static kiln_status add(kiln_sweep *s, const kiln_op_def *op, const product *p,
                       kiln_value *a, kiln_value *b, kiln_value **out) {
    kiln_value *in[2] = {a, b};
    return kiln_sweep_add(s, op, p->node, in, 2, NULL, 0, out);
}

static kiln_status cast(kiln_sweep *s, const product *p, kiln_dtype dtype,
                        kiln_value **v) {
    const kiln_attr_arg to = kiln_arg_dtype("to", dtype);
    return kiln_sweep_add(s, &kiln_op_cast, p->node, v, 1, &to, 1, v);
}

/* One number as a scalar; several along an axis of so many. */
static kiln_status along(kiln_sweep *s, const product *p, int axis, int rank,
                         kiln_value **v) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? kiln_type_elems(&(*v)->type) : 1;
    const kiln_attr_arg arg =
        kiln_arg_ints("shape", dim, is_one(*v) ? 0 : (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_reshape, p->node, v, 1, &arg, 1, v);
}

/* i32(whole) - zero */
static kiln_status centered(kiln_sweep *s, const product *p, const dequantized *q,
                            kiln_value **out) {
    kiln_value *zero = q->zero;
    *out = q->whole;
    KILN_TRY(cast(s, p, KILN_I32, out));
    if (zero == NULL)
        return KILN_OK;
    KILN_TRY(cast(s, p, KILN_I32, &zero));
    KILN_TRY(along(s, p, (int)q->axis, q->whole->type.rank, &zero));
    return add(s, &kiln_op_sub, p, *out, zero, out);
}

/* The product again, of whole numbers. */
static kiln_status repeat(kiln_sweep *s, const product *p, kiln_value *const *in,
                          kiln_value **out) {
    enum { MOST_ATTRS = 8 };
    kiln_attr_arg arg[MOST_ATTRS];
    size_t n = 0;
    const kiln_op_def *op = p->node->op;
    KILN_ASSERT(op->n_attr <= MOST_ATTRS, "'%s' has %d attributes", op->name,
                (int)op->n_attr);
    for (int i = 0; i < (int)op->n_attr; i++) {
        const char *name = op->attr[i].name;
        const kiln_attr *a = &p->node->attr[i];
        if (op->attr[i].kind == KILN_ATTR_INTS)
            arg[n++] = kiln_arg_ints(name, a->ints, a->n);
        else if (op->attr[i].kind == KILN_ATTR_INT)
            arg[n++] = kiln_arg_int(name, a->i);
        else if (op->attr[i].kind == KILN_ATTR_BOOL)
            arg[n++] = kiln_arg_bool(name, a->i != 0);
    }
    return kiln_sweep_add(s, op, p->node, in, 2, arg, n, out);
}

static kiln_status merge(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    product p;
    kiln_value *in[2], *scale, *y;
    if (!is_taken(s, n, &p))
        return KILN_OK;
    const int rank = n->out[0]->type.rank;
    kiln_value *x_scale = p.x.scale, *w_scale = p.w.scale;
    KILN_TRY(centered(s, &p, &p.x, &in[0]));
    KILN_TRY(centered(s, &p, &p.w, &in[1]));
    KILN_TRY(repeat(s, &p, in, &y));
    KILN_TRY(along(s, &p, 0, 0, &x_scale));
    KILN_TRY(along(s, &p, p.out_axis, rank, &w_scale));
    KILN_TRY(add(s, &kiln_op_mul, &p, x_scale, w_scale, &scale));
    KILN_TRY(cast(s, &p, KILN_F32, &y));
    KILN_TRY(add(s, &kiln_op_mul, &p, y, scale, &y));
    if (p.bias != NULL) {
        kiln_value *bias = p.bias;
        if (n->op == &kiln_op_conv)
            KILN_TRY(along(s, &p, p.out_axis, rank, &bias));
        KILN_TRY(add(s, &kiln_op_add, &p, y, bias, &y));
    }
    *same = y;
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, merge);
}

const kiln_pass kiln_pass_merge_quantized = {
    .name = "merge_quantized",
    .doc = "products of dequantised bytes become products of whole numbers, scaled",
    .needs = KILN_TYPED | KILN_SHAPES_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED,
    .run = run,
};
