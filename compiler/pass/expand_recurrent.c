/* A cell of one step is no loop: a product of the state, and element-wise operators,
 * which have templates on every kind of target, and which the product's neighbours join.
 *
 *     y, h, c = lstm(xw as [1,N,4*H], _, r, bias, _, h0, c0)
 *
 *     z = xw + h0 * r' + biases         as [N,4*H]: gates i, o, f, g
 *     c = sigmoid(f) * c0 + sigmoid(i) * tanh(g)
 *     h = sigmoid(o) * tanh(c)
 *
 * Behind hoist_recurrent, of cells whose products with x are done. What writes texts one
 * word at a time is such a model. Not exact: biases are added up ahead. */
#include "compiler/pass/pass_internal.h"

#include <math.h>
#include <string.h>

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES }; /* inputs */
enum { Y, Y_H, Y_C };                                             /* outputs */
enum { GATE_I, GATE_O, GATE_F, GATE_G, N_GATES };

static bool has(const kiln_node *n, int in) {
    return n->n_in > in && n->in[in] != NULL;
}

static bool is_word(const kiln_node *n, const char *attr, const char *word) {
    const kiln_attr_def *def = n->op->attr;
    const kiln_attr *a = kiln_node_attr(n, attr);
    while (strcmp(def->name, attr) != 0)
        def++;
    return strcmp(def->choices[a->i], word) == 0;
}

/* Sigmoid, tanh, tanh: by default, or said so. */
static bool is_usual(const kiln_node *n) {
    enum { N_USUAL = 3 };
    static const char *const usual[N_USUAL] = {"sigmoid", "tanh", "tanh"};
    const kiln_attr *a = kiln_node_attr(n, "activations");
    const kiln_attr_def *def = n->op->attr;
    while (strcmp(def->name, "activations") != 0)
        def++;
    bool same = a->n == 0 || a->n == N_USUAL;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(def->choices[a->ints[i]], usual[i]) == 0;
    return same && isinf(kiln_node_attr(n, "clip")->f) &&
           kiln_node_attr(n, "input_forget")->i == 0;
}

static bool fits(const kiln_node *n) {
    if (n->op != &kiln_op_lstm || has(n, W) || has(n, LENGTHS) || has(n, PEEPHOLES) ||
        is_word(n, "direction", "bidirectional") || !is_usual(n))
        return false;
    const kiln_value *x = n->in[X], *r = n->in[R];
    const bool has_bias = has(n, BIAS);
    return x->type.dim[0] == 1 && x->count == NULL && kiln_value_is_const(r) &&
           (!has_bias || kiln_value_is_const(n->in[BIAS])) &&
           (r->type.dtype == KILN_F32 || r->type.dtype == KILN_F64) &&
           kiln_layout_is_plain(&x->type.layout) &&
           kiln_layout_is_plain(&r->type.layout) && kiln_type_elems(&x->type) > 0 &&
           kiln_type_elems(&r->type) > 0;
}

typedef struct cell {
    kiln_sweep *s;
    const kiln_node *n;
    int64_t batch, hidden;
} cell;

static kiln_status one(const cell *x, const kiln_op_def *op, kiln_value *v,
                       kiln_value **out) {
    return kiln_sweep_add(x->s, op, x->n, &v, 1, NULL, 0, out);
}

static kiln_status two(const cell *x, const kiln_op_def *op, kiln_value *v,
                       kiln_value *w, kiln_value **out) {
    kiln_value *in[] = {v, w};
    return kiln_sweep_add(x->s, op, x->n, in, 2, NULL, 0, out);
}

static kiln_status matrix(const cell *x, kiln_value *v, int64_t columns,
                          kiln_value **out) {
    const kiln_attr_arg shape =
        kiln_arg_ints("shape", (const int64_t[]){x->batch, columns}, 2);
    return kiln_sweep_add(x->s, &kiln_op_reshape, x->n, &v, 1, &shape, 1, out);
}

/* Of w and of r, which are always added. */
static kiln_value *bias_of(const cell *x) {
    const kiln_value *b = x->n->in[BIAS];
    const int64_t rows = N_GATES * x->hidden;
    const kiln_type t = kiln_type_make(b->type.dtype, 1, &rows);
    void *sum = kiln_tensor_new(x->s->g->arena, &t).data;
    for (int64_t i = 0; i < rows; i++)
        if (t.dtype == KILN_F32)
            ((float *)sum)[i] =
                ((const float *)b->data)[i] + ((const float *)b->data)[rows + i];
        else
            ((double *)sum)[i] =
                ((const double *)b->data)[i] + ((const double *)b->data)[rows + i];
    return kiln_graph_add_const(x->s->g, b->name, &t, sum);
}

/* xw + h0 * r' + biases, [N,4*H]. */
static kiln_status sums(const cell *x, kiln_value **out) {
    const kiln_node *n = x->n;
    const kiln_value *r = n->in[R];
    const int64_t rows = N_GATES * x->hidden;
    kiln_value *h, *product;
    KILN_TRY(matrix(x, n->in[X], rows, out));
    if (has(n, INITIAL_H)) {
        const kiln_type t =
            kiln_type_make(r->type.dtype, 2, (const int64_t[]){rows, x->hidden});
        const kiln_attr_arg transposed = kiln_arg_bool("trans_b", true);
        KILN_TRY(matrix(x, n->in[INITIAL_H], x->hidden, &h));
        kiln_value *in[] = {h, kiln_graph_add_const(x->s->g, r->name, &t, r->data)};
        KILN_TRY(
            kiln_sweep_add(x->s, &kiln_op_gemm, n, in, 2, &transposed, 1, &product));
        KILN_TRY(two(x, &kiln_op_add, product, *out, out));
    }
    if (has(n, BIAS))
        KILN_TRY(two(x, &kiln_op_add, *out, bias_of(x), out));
    return KILN_OK;
}

static kiln_status gate(const cell *x, kiln_value *z, int which, kiln_value **out) {
    const kiln_attr_arg arg[] = {
        kiln_arg_ints("starts", (const int64_t[]){0, which * x->hidden}, 2),
        kiln_arg_ints("steps", (const int64_t[]){1, 1}, 2),
        kiln_arg_ints("sizes", (const int64_t[]){x->batch, x->hidden}, 2)};
    kiln_value *part;
    KILN_TRY(kiln_sweep_add(x->s, &kiln_op_slice, x->n, &z, 1, arg, 3, &part));
    return one(x, which == GATE_G ? &kiln_op_tanh : &kiln_op_sigmoid, part, out);
}

static kiln_status give(const cell *x, int out, kiln_value *v) {
    if (out >= x->n->n_out)
        return KILN_OK;
    const kiln_value *like = x->n->out[out];
    const kiln_attr_arg shape =
        kiln_arg_ints("shape", like->type.dim, (size_t)like->type.rank);
    KILN_TRY(kiln_sweep_add(x->s, &kiln_op_reshape, x->n, &v, 1, &shape, 1, &v));
    kiln_sweep_replace(x->s, like, v);
    return KILN_OK;
}

static kiln_status expand(kiln_sweep *s, const kiln_node *n) {
    const cell x = {.s = s,
                    .n = n,
                    .batch = n->in[X]->type.dim[1],
                    .hidden = n->in[R]->type.dim[2]};
    kiln_value *z, *g[N_GATES], *c, *kept, *h;
    KILN_TRY(sums(&x, &z));
    for (int i = 0; i < N_GATES; i++)
        KILN_TRY(gate(&x, z, i, &g[i]));
    KILN_TRY(two(&x, &kiln_op_mul, g[GATE_I], g[GATE_G], &c));
    if (has(n, INITIAL_C)) {
        KILN_TRY(matrix(&x, n->in[INITIAL_C], x.hidden, &kept));
        KILN_TRY(two(&x, &kiln_op_mul, g[GATE_F], kept, &kept));
        KILN_TRY(two(&x, &kiln_op_add, kept, c, &c));
    }
    KILN_TRY(one(&x, &kiln_op_tanh, c, &h));
    KILN_TRY(two(&x, &kiln_op_mul, g[GATE_O], h, &h));
    KILN_TRY(give(&x, Y, h));
    KILN_TRY(give(&x, Y_H, h));
    KILN_TRY(give(&x, Y_C, c));
    kiln_sweep_drop(s, n);
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;) {
        if (fits(n))
            st = expand(&s, n);
        else
            kiln_sweep_keep(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

const kiln_pass kiln_pass_expand_recurrent = {
    .name = "expand_recurrent",
    .doc = "an lstm of one step becomes a product and element-wise operators",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
