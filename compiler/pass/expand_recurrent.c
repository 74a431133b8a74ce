/* A step of a cell is no loop: a product of the state, and element-wise operators, which
 * have templates on every kind of target, and which the product's neighbours join.
 *
 *     y, h, c = lstm(xw as [S,N,4*H], _, r, bias, _, h0, c0)
 *
 *     xw = split(xw + biases)           for each step, h and c those of the one before:
 *     z = xw + h * r'                   as [N,4*H]: gates i, o, f, g
 *     c = sigmoid(f) * c + sigmoid(i) * tanh(g)
 *     h = sigmoid(o) * tanh(c)
 *     y = concat(h)
 *
 * Behind hoist_recurrent, of cells whose products with x are done. Those of one step
 * always: what writes texts one word at a time is such a model. Of more where the target
 * has no loop for them (recurrent_steps). Not exact: biases are added up ahead. */
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

static bool fits(const kiln_node *n, int64_t most) {
    if (n->op != &kiln_op_lstm || has(n, W) || has(n, LENGTHS) || has(n, PEEPHOLES) ||
        is_word(n, "direction", "bidirectional") || !is_usual(n))
        return false;
    const kiln_value *x = n->in[X], *r = n->in[R];
    const bool has_bias = has(n, BIAS);
    return x->type.dim[0] <= most && x->count == NULL && kiln_value_is_const(r) &&
           (!has_bias || kiln_value_is_const(n->in[BIAS])) &&
           (r->type.dtype == KILN_F32 || r->type.dtype == KILN_F64) &&
           kiln_layout_is_plain(&x->type.layout) &&
           kiln_layout_is_plain(&r->type.layout) && kiln_type_elems(&x->type) > 0 &&
           kiln_type_elems(&r->type) > 0;
}

typedef struct cell {
    kiln_sweep *s;
    const kiln_node *n;
    int64_t steps, batch, hidden;
    kiln_value *r; /* [4*H,H] */
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

/* Of each step xw, [N,4*H], and biases where there are several. */
static kiln_status parts(const cell *x, kiln_value **part) {
    kiln_arena *a = x->s->cx->scratch;
    kiln_value *all = x->n->in[X];
    kiln_node *split = NULL;
    int64_t *size = kiln_array(a, int64_t, x->steps);
    const char **names = kiln_array(a, const char *, x->steps);
    if (x->steps > 1 && has(x->n, BIAS)) /* once for all of them */
        KILN_TRY(two(x, &kiln_op_add, all, bias_of(x), &all));
    part[0] = all;
    for (int64_t i = 0; i < x->steps; i++) {
        size[i] = 1;
        names[i] = x->n->out[0]->name;
    }
    const kiln_attr_arg args[] = {kiln_arg_int("axis", 0),
                                  kiln_arg_ints("sizes", size, (size_t)x->steps)};
    const kiln_node_spec spec = {.op = &kiln_op_split,
                                 .name = x->n->name,
                                 .in = &all,
                                 .n_in = 1,
                                 .out_names = names,
                                 .n_out = (int)x->steps,
                                 .args = args,
                                 .n_args = 2};
    if (x->steps > 1) {
        KILN_TRY(kiln_graph_add_node(x->s->g, &spec, &split, x->s->cx->err));
        kiln_sweep_count(x->s, split);
        for (int64_t i = 0; i < x->steps; i++)
            part[i] = split->out[i];
    }
    for (int64_t i = 0; i < x->steps; i++)
        KILN_TRY(matrix(x, part[i], N_GATES * x->hidden, &part[i]));
    return KILN_OK;
}

/* z + h * r'. */
static kiln_status add_state(const cell *x, kiln_value *h, kiln_value **z) {
    const kiln_attr_arg transposed = kiln_arg_bool("trans_b", true);
    kiln_value *in[] = {h, x->r}, *product;
    KILN_TRY(
        kiln_sweep_add(x->s, &kiln_op_gemm, x->n, in, 2, &transposed, 1, &product));
    return two(x, &kiln_op_add, product, *z, z);
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

/* As output `out` has it, or one step of it. */
static kiln_status shaped(const cell *x, int out, kiln_value *v, kiln_value **shaped) {
    kiln_type like = x->n->out[out]->type;
    if (out == Y)
        like.dim[0] = 1;
    const kiln_attr_arg shape = kiln_arg_ints("shape", like.dim, (size_t)like.rank);
    return kiln_sweep_add(x->s, &kiln_op_reshape, x->n, &v, 1, &shape, 1, shaped);
}

static kiln_status give(const cell *x, int out, kiln_value *v) {
    if (out >= x->n->n_out)
        return KILN_OK;
    KILN_TRY(shaped(x, out, v, &v));
    kiln_sweep_replace(x->s, x->n->out[out], v);
    return KILN_OK;
}

/* All steps' h. */
static kiln_status give_all(const cell *x, kiln_value **y) {
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_value *all;
    for (int64_t i = 0; i < x->steps; i++)
        KILN_TRY(shaped(x, Y, y[i], &y[i]));
    all = y[0];
    if (x->steps > 1)
        KILN_TRY(kiln_sweep_add(x->s, &kiln_op_concat, x->n, y, (int)x->steps, &axis, 1,
                                &all));
    kiln_sweep_replace(x->s, x->n->out[Y], all);
    return KILN_OK;
}

/* h and c: of the step before, NULL: this is the first one; then of this one. */
static kiln_status step(const cell *x, kiln_value *z, kiln_value **h, kiln_value **c) {
    kiln_value *g[N_GATES], *kept = *c;
    const bool is_first = *h == NULL;
    if (is_first && has(x->n, INITIAL_H))
        KILN_TRY(matrix(x, x->n->in[INITIAL_H], x->hidden, h));
    if (*h != NULL)
        KILN_TRY(add_state(x, *h, &z));
    if (x->steps == 1 && has(x->n, BIAS))
        KILN_TRY(two(x, &kiln_op_add, z, bias_of(x), &z));
    for (int i = 0; i < N_GATES; i++)
        KILN_TRY(gate(x, z, i, &g[i]));
    KILN_TRY(two(x, &kiln_op_mul, g[GATE_I], g[GATE_G], c));
    if (is_first && has(x->n, INITIAL_C))
        KILN_TRY(matrix(x, x->n->in[INITIAL_C], x->hidden, &kept));
    if (kept != NULL) {
        KILN_TRY(two(x, &kiln_op_mul, g[GATE_F], kept, &kept));
        KILN_TRY(two(x, &kiln_op_add, kept, *c, c));
    }
    KILN_TRY(one(x, &kiln_op_tanh, *c, h));
    return two(x, &kiln_op_mul, g[GATE_O], *h, h);
}

static kiln_status expand(kiln_sweep *s, const kiln_node *n) {
    const kiln_type *xw = &n->in[X]->type, *r = &n->in[R]->type;
    cell x = {
        .s = s, .n = n, .steps = xw->dim[0], .batch = xw->dim[1], .hidden = r->dim[2]};
    const kiln_type matrix_of_r =
        kiln_type_make(r->dtype, 2, (const int64_t[]){N_GATES * x.hidden, x.hidden});
    kiln_value **part = kiln_array(s->cx->scratch, kiln_value *, x.steps),
               **y = kiln_array(s->cx->scratch, kiln_value *, x.steps);
    kiln_value *h = NULL, *c = NULL;
    const bool is_reverse = is_word(n, "direction", "reverse");
    x.r = kiln_graph_add_const(s->g, n->in[R]->name, &matrix_of_r, n->in[R]->data);
    KILN_TRY(parts(&x, part));
    for (int64_t i = 0; i < x.steps; i++) {
        const int64_t at = is_reverse ? x.steps - 1 - i : i;
        KILN_TRY(step(&x, part[at], &h, &c));
        y[at] = h;
    }
    KILN_TRY(give_all(&x, y));
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
        if (fits(n, cx->steps))
            st = expand(&s, n);
        else
            kiln_sweep_keep(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

const kiln_pass kiln_pass_expand_recurrent = {
    .name = "expand_recurrent",
    .doc = "steps of an lstm become products and element-wise operators",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
