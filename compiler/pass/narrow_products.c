/* Products of whole numbers that come from bytes, by constants, are convolutions of one
 * tap, which narrow_convs makes convolutions of bytes: what a frontend composes quantised
 * layers of a transformer, or fully connected ones, of.
 *
 *     (i32(x) - z) w  =  conv(i32(x) - z, w)        rows are pixels, terms are channels
 *
 * A zero point that is computed (dynamic quantisation) is taken off the sums instead, by
 * the sums of w's columns:
 *
 *     (i32(x) - z) w  =  conv(i32(x), w) - z sum over terms of w
 *
 * x and y are transposed around it, which cancel_transposes and the layouts, where
 * channels come last again, make free. Weights whose range 8 bits do not hold, and
 * products of few terms or one column, stay. Sums wrap either way. */
#include "compiler/pass/byte_source.h"

typedef struct product {
    const kiln_node *node;
    kiln_byte_source x;
    kiln_byte_matrix of; /* w */
    kiln_wide w, bias;
    bool has_bias;
} product;

/* ---- what is taken ---------------------------------------------------------------- */

static bool is_plain_const(const kiln_value *v) {
    return kiln_value_is_const(v) && v->type.dtype == KILN_I32 &&
           kiln_layout_is_plain(&v->type.layout);
}

/* A gemm's addend is of columns, or absent. */
static bool takes_addend(const kiln_node *n, product *p) {
    p->has_bias = n->n_in > 2 && n->in[2] != NULL;
    if (!p->has_bias)
        return true;
    const kiln_type *t = &n->in[2]->type;
    return kiln_node_attr(n, "beta")->f == 1 && is_plain_const(n->in[2]) &&
           kiln_type_elems(t) == p->of.columns && t->rank > 0 &&
           t->dim[t->rank - 1] == p->of.columns;
}

static bool is_taken(kiln_sweep *s, const kiln_node *n, product *p) {
    kiln_byte_weights as;
    *p = (product){.node = n};
    if (!kiln_byte_product_pays(n, &p->of) || n->out[0]->type.dtype != KILN_I32 ||
        !is_plain_const(n->in[1]) || !kiln_byte_source_of(n->in[0], &p->x) ||
        !takes_addend(n, p))
        return false;
    const kiln_value *w = n->in[1];
    p->w = kiln_wide_new(s->cx->scratch, &w->type);
    kiln_widen(&w->type, w->data, &p->w);
    if (p->has_bias) {
        p->bias = kiln_wide_new(s->cx->scratch, &n->in[2]->type);
        kiln_widen(&n->in[2]->type, n->in[2]->data, &p->bias);
    }
    return kiln_byte_weights_of(&p->w, true, &as);
}

/* ---- constants -------------------------------------------------------------------- */

/* [columns, terms, 1] */
static kiln_value *filters_of(kiln_sweep *s, const product *p) {
    const int64_t dim[] = {p->of.columns, p->of.terms, 1};
    const kiln_type t = kiln_type_make(KILN_I32, 3, dim);
    kiln_wide out = kiln_wide_new(s->cx->scratch, &t);
    for (int64_t c = 0; c < p->of.columns; c++)
        for (int64_t k = 0; k < p->of.terms; k++)
            out.i[c * p->of.terms + k] = p->w.i[k * p->of.row + c * p->of.col];
    return kiln_byte_const(s, p->node->in[1]->name, &out);
}

static kiln_value *bias_of(kiln_sweep *s, const product *p) {
    const kiln_type t = kiln_type_make(KILN_I32, 1, &p->of.columns);
    const kiln_wide bias = {.type = t, .i = p->bias.i};
    return kiln_byte_const(s, p->node->in[2]->name, &bias);
}

static kiln_value *column_sums(kiln_sweep *s, const product *p) {
    const kiln_type t = kiln_type_make(KILN_I32, 1, &p->of.columns);
    kiln_wide sum = kiln_wide_new(s->cx->scratch, &t);
    for (int64_t c = 0; c < p->of.columns; c++) {
        sum.i[c] = 0;
        for (int64_t k = 0; k < p->of.terms; k++)
            sum.i[c] += p->w.i[k * p->of.row + c * p->of.col];
    }
    return kiln_byte_const(s, "sums", &sum);
}

/* ---- rewriting -------------------------------------------------------------------- */

static kiln_status reshape(kiln_sweep *s, const kiln_node *like, const int64_t *dim,
                           int rank, kiln_value **v) {
    const kiln_type want = kiln_type_make((*v)->type.dtype, rank, dim);
    if (kiln_type_same_shape(&(*v)->type, &want))
        return KILN_OK;
    const kiln_attr_arg arg = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_reshape, like, v, 1, &arg, 1, v);
}

static kiln_status turn(kiln_sweep *s, const kiln_node *like, kiln_value **v) {
    static const int64_t perm[] = {0, 2, 1};
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, 3);
    return kiln_sweep_add(s, &kiln_op_transpose, like, v, 1, &arg, 1, v);
}

/* Images of rows, as the product has them; a row each is one image of all. */
static void images_of(const kiln_type *x, int64_t *images, int64_t *rows) {
    const int64_t terms = x->dim[x->rank - 1];
    *rows = x->rank == 3 ? x->dim[1] : 0;
    if (*rows <= 1)
        *rows = kiln_type_elems(x) / terms;
    *images = kiln_type_elems(x) / terms / *rows;
}

/* What is left of x where its zero point is taken off the sums. */
static kiln_status uncentered(kiln_sweep *s, const product *p, kiln_value **x) {
    const kiln_attr_arg to = kiln_arg_dtype("to", KILN_I32);
    *x = p->node->in[0];
    if (p->x.by == NULL)
        return KILN_OK;
    *x = p->x.x;
    KILN_TRY(kiln_sweep_add(s, &kiln_op_cast, p->node, x, 1, &to, 1, x));
    return kiln_byte_source_move(s, &p->x, x);
}

static kiln_status take_off(kiln_sweep *s, const product *p, kiln_value **y) {
    static const int64_t one = 1;
    kiln_value *by[2] = {p->x.by, column_sums(s, p)};
    KILN_TRY(reshape(s, p->node, &one, 1, &by[0]));
    kiln_value *in[2] = {*y, NULL};
    KILN_TRY(kiln_sweep_add(s, &kiln_op_mul, p->node, by, 2, NULL, 0, &in[1]));
    return kiln_sweep_add(s, &kiln_op_sub, p->node, in, 2, NULL, 0, y);
}

static kiln_status narrow(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    product p;
    int64_t images, rows;
    if (!is_taken(s, n, &p))
        return KILN_OK;
    images_of(&n->in[0]->type, &images, &rows);
    const kiln_type *y = &n->out[0]->type;
    const int64_t x_dim[] = {images, rows, p.of.terms};
    const int64_t pixels[] = {images, p.of.terms, rows};
    kiln_value *in[3] = {NULL, filters_of(s, &p), NULL}, *v;
    KILN_TRY(uncentered(s, &p, &in[0]));
    if (rows == 1) { /* of one pixel there is nothing to turn */
        KILN_TRY(reshape(s, n, pixels, 3, &in[0]));
    } else {
        KILN_TRY(reshape(s, n, x_dim, 3, &in[0]));
        KILN_TRY(turn(s, n, &in[0]));
    }
    if (p.has_bias)
        in[2] = bias_of(s, &p);
    KILN_TRY(kiln_sweep_add(s, &kiln_op_conv, n, in, p.has_bias ? 3 : 2, NULL, 0, &v));
    if (rows > 1)
        KILN_TRY(turn(s, n, &v));
    KILN_TRY(reshape(s, n, y->dim, y->rank, &v));
    if (p.x.by != NULL)
        KILN_TRY(take_off(s, &p, &v));
    *same = v;
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, narrow);
}

const kiln_pass kiln_pass_narrow_products = {
    .name = "narrow_products",
    .doc = "products of bytes less zero points by constants become convolutions",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .is_exact = true,
    .run = run,
};
