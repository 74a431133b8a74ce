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

/* As few channels as narrow_convs takes, and columns as templates of convolutions do. */
enum { LEAST_TERMS = 3, LEAST_COLUMNS = 2 };

typedef struct product {
    const kiln_node *node;
    kiln_byte_source x;
    int64_t terms, columns;
    int64_t row, col; /* strides of w */
    kiln_wide w, bias;
    bool has_bias;
} product;

/* ---- what is taken ---------------------------------------------------------------- */

static bool is_plain_const(const kiln_value *v) {
    return kiln_value_is_const(v) && v->type.dtype == KILN_I32 &&
           kiln_layout_is_plain(&v->type.layout);
}

/* As 8 bits and a zero point. */
static bool fits_bytes(const kiln_wide *w, int64_t n) {
    int64_t lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        lo = w->i[i] < lo ? w->i[i] : lo;
        hi = w->i[i] > hi ? w->i[i] : hi;
    }
    return lo >= INT16_MIN && hi <= INT16_MAX &&
           ((lo >= INT8_MIN && hi <= INT8_MAX) || hi - lo <= UINT8_MAX);
}

/* A gemm is a product where it has no factors and its addend is of columns, or absent. */
static bool is_gemm(const kiln_node *n, product *p) {
    const bool turned = kiln_node_attr(n, "trans_b")->i != 0;
    const int64_t columns = n->in[1]->type.dim[turned ? 0 : 1];
    const double factors[] = {kiln_node_attr(n, "alpha")->f,
                              kiln_node_attr(n, "beta")->f};
    p->row = turned ? 1 : columns;
    p->col = turned ? n->in[1]->type.dim[1] : 1;
    p->columns = columns;
    p->has_bias = n->n_in > 2 && n->in[2] != NULL;
    if (factors[0] != 1 || (p->has_bias && factors[1] != 1) ||
        kiln_node_attr(n, "trans_a")->i != 0)
        return false;
    return !p->has_bias ||
           (is_plain_const(n->in[2]) && kiln_type_elems(&n->in[2]->type) == columns &&
            n->in[2]->type.rank > 0 &&
            n->in[2]->type.dim[n->in[2]->type.rank - 1] == columns);
}

static bool is_matmul(const kiln_node *n, product *p) {
    const kiln_type *w = &n->in[1]->type;
    const bool turned = kiln_node_attr(n, "trans_b")->i != 0;
    p->columns = w->rank == 2 ? w->dim[turned ? 0 : 1] : 0;
    p->row = turned ? 1 : p->columns;
    p->col = turned && w->rank == 2 ? w->dim[1] : 1;
    return w->rank == 2 && n->in[0]->type.rank > 1;
}

static bool is_taken(kiln_sweep *s, const kiln_node *n, product *p) {
    const kiln_value *w = n->n_in > 1 ? n->in[1] : NULL;
    *p = (product){.node = n};
    if ((n->op != &kiln_op_matmul && n->op != &kiln_op_gemm) ||
        n->out[0]->type.dtype != KILN_I32 || kiln_type_elems(&n->out[0]->type) == 0 ||
        !is_plain_const(w) || !kiln_byte_source_of(n->in[0], &p->x) ||
        !(n->op == &kiln_op_gemm ? is_gemm(n, p) : is_matmul(n, p)))
        return false;
    const int64_t all = kiln_type_elems(&w->type);
    p->terms = all / p->columns;
    if (p->terms < LEAST_TERMS || p->columns < LEAST_COLUMNS)
        return false;
    p->w = kiln_wide_new(s->cx->scratch, &w->type);
    kiln_widen(&w->type, w->data, &p->w);
    if (p->has_bias) {
        p->bias = kiln_wide_new(s->cx->scratch, &n->in[2]->type);
        kiln_widen(&n->in[2]->type, n->in[2]->data, &p->bias);
    }
    return fits_bytes(&p->w, all);
}

/* ---- constants -------------------------------------------------------------------- */

static kiln_value *constant(kiln_sweep *s, const char *name, const kiln_wide *v) {
    void *made = kiln_tensor_new(s->g->arena, &v->type).data;
    kiln_narrow(v, made);
    return kiln_graph_add_const(s->g, name, &v->type, made);
}

/* [columns, terms, 1] */
static kiln_value *filters_of(kiln_sweep *s, const product *p) {
    const int64_t dim[] = {p->columns, p->terms, 1};
    const kiln_type t = kiln_type_make(KILN_I32, 3, dim);
    kiln_wide out = kiln_wide_new(s->cx->scratch, &t);
    for (int64_t c = 0; c < p->columns; c++)
        for (int64_t k = 0; k < p->terms; k++)
            out.i[c * p->terms + k] = p->w.i[k * p->row + c * p->col];
    return constant(s, p->node->in[1]->name, &out);
}

static kiln_value *bias_of(kiln_sweep *s, const product *p) {
    const kiln_type t = kiln_type_make(KILN_I32, 1, &p->columns);
    const kiln_wide bias = {.type = t, .i = p->bias.i};
    return constant(s, p->node->in[2]->name, &bias);
}

static kiln_value *column_sums(kiln_sweep *s, const product *p) {
    const kiln_type t = kiln_type_make(KILN_I32, 1, &p->columns);
    kiln_wide sum = kiln_wide_new(s->cx->scratch, &t);
    for (int64_t c = 0; c < p->columns; c++) {
        sum.i[c] = 0;
        for (int64_t k = 0; k < p->terms; k++)
            sum.i[c] += p->w.i[k * p->row + c * p->col];
    }
    return constant(s, "sums", &sum);
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
    const int64_t x_dim[] = {images, rows, p.terms};
    const int64_t pixels[] = {images, p.terms, rows};
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
