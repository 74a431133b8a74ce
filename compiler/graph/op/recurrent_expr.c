/* rnn, gru and lstm as stages: the products with x for all steps at once are a tensor
 * expression, the steps an extern stage over them. See recurrent.h for the shapes. */
#include "compiler/graph/op/recurrent_expr.h"

#include <math.h>

/* ---- activations: formulas of ONNX RNN-22 ---------------------------------------- */

static const kiln_expr *affine(kiln_arena *a, const kiln_expr *x, const kiln_attr *p) {
    return kiln_x_add(a, kiln_x_mul(a, kiln_x_like(a, x, p[0].f), x),
                      kiln_x_like(a, x, p[1].f));
}
/* Unlike the operator, from the threshold on. */
static const kiln_expr *thresholded(kiln_arena *a, const kiln_expr *x,
                                    const kiln_attr *p) {
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, p[0].f)),
                         kiln_x_like(a, x, 0), x);
}
static const kiln_expr *scaled_tanh(kiln_arena *a, const kiln_expr *x,
                                    const kiln_attr *p) {
    const kiln_expr *t =
        kiln_x_fn(a, KILN_INTRIN_tanh, kiln_x_mul(a, kiln_x_like(a, x, p[1].f), x));
    return kiln_x_mul(a, kiln_x_like(a, x, p[0].f), t);
}

const kiln_expr *kiln_rnn_activation(kiln_arena *a, int which, double alpha,
                                     double beta, const kiln_expr *x) {
    /* In the order of kiln_rnn_activations; an operator's attributes are its
     * parameters. */
    static const kiln_op_def *const ops[] = {&kiln_op_relu,
                                             &kiln_op_tanh,
                                             &kiln_op_sigmoid,
                                             NULL,
                                             &kiln_op_leaky_relu,
                                             NULL,
                                             NULL,
                                             &kiln_op_hard_sigmoid,
                                             &kiln_op_elu,
                                             &kiln_op_softsign,
                                             &kiln_op_softplus};
    static const kiln_expr *(*const own[])(kiln_arena *, const kiln_expr *,
                                           const kiln_attr *) = {
        NULL, NULL, NULL, affine, NULL, thresholded, scaled_tanh};
    const kiln_attr parameters[2] = {{.f = alpha}, {.f = beta}};
    KILN_ASSERT(which >= 0 && (size_t)which < KILN_COUNT(ops), "activation %d", which);
    return ops[which] != NULL ? ops[which]->x1(a, x, parameters)
                              : own[which](a, x, parameters);
}

/* ---- what cells are made of ------------------------------------------------------ */

const kiln_expr *kiln_rnn_at(const kiln_rnn_program *p, const kiln_buffer *v,
                             const kiln_expr *i) {
    return kiln_x_load(p->a, v, &i, 1, NULL);
}

const kiln_stmt *kiln_rnn_set(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_expr *i, const kiln_expr *x) {
    return kiln_s_store(p->a, v, &i, x, NULL);
}

static const kiln_expr *row_of(const kiln_rnn_program *p, int g, const kiln_expr *i) {
    return kiln_x_add(p->a, kiln_x_index(p->a, g * p->hidden), i);
}

const kiln_expr *kiln_rnn_gate_at(const kiln_rnn_program *p, int g,
                                  const kiln_expr *i) {
    return kiln_rnn_at(p, p->gate, row_of(p, g, i));
}

const kiln_stmt *kiln_rnn_gate_set(const kiln_rnn_program *p, int g, const kiln_expr *i,
                                   const kiln_expr *v) {
    return kiln_rnn_set(p, p->gate, row_of(p, g, i), v);
}

static const kiln_expr *bias_at(const kiln_rnn_program *p, int64_t begin,
                                const kiln_expr *row) {
    const kiln_expr *at[2] = {p->xw_at[1],
                              kiln_x_add(p->a, row, kiln_x_index(p->a, begin))};
    return kiln_x_load(p->a, p->bias, at, 2, NULL);
}

const kiln_expr *kiln_rnn_from_x(const kiln_rnn_program *p, int g, const kiln_expr *i) {
    const kiln_expr *row = row_of(p, g, i);
    const kiln_expr *at[4] = {p->xw_at[0], p->xw_at[1], p->xw_at[2], row};
    const kiln_expr *v = kiln_x_load(p->a, p->xw, at, 4, NULL);
    return p->bias == NULL ? v : kiln_x_add(p->a, v, bias_at(p, 0, row));
}

/* A loop over rows [begin, begin + n) in vectors where they divide it. */
static const kiln_stmt *over_rows(kiln_arena *a, int64_t n, const kiln_var *row,
                                  int64_t begin, const kiln_stmt *body) {
    static const int64_t widths[] = {16, 8, 4};
    int64_t width = 1;
    for (size_t i = 0; i < KILN_COUNT(widths) && width == 1; i++)
        width = n % widths[i] == 0 ? widths[i] : 1;
    kiln_var *outer = kiln_var_new(a, "row.outer", KILN_I64);
    kiln_var *inner = kiln_var_new(a, "row.inner", KILN_I64);
    const kiln_expr *at = kiln_x_ref(a, outer);
    if (width > 1)
        at = kiln_x_add(a, kiln_x_mul(a, at, kiln_x_index(a, width)),
                        kiln_x_ref(a, inner));
    const kiln_subst map = {row, kiln_x_add(a, kiln_x_index(a, begin), at)};
    body = kiln_stmt_substitute(a, body, &map, 1);
    if (width > 1)
        body = kiln_s_for(a, inner, kiln_x_index(a, 0), kiln_x_index(a, width),
                          KILN_LOOP_VECTORIZED, NULL, body);
    return kiln_s_times(a, outer, kiln_x_index(a, n / width), body);
}

const kiln_stmt *kiln_rnn_products(const kiln_rnn_program *p, const kiln_buffer *v,
                                   int g, int end) {
    kiln_arena *a = p->a;
    const int64_t begin = g * p->hidden, n = (end - g) * p->hidden;
    kiln_var *jv = kiln_var_new(a, "j", KILN_I64);
    kiln_var *first = kiln_var_new(a, "row", KILN_I64);
    kiln_var *second = kiln_var_new(a, "row", KILN_I64);
    const kiln_expr *row = kiln_x_ref(a, first);
    const kiln_expr *start = p->bias == NULL ? kiln_x_number(a, p->gate->dtype, 0)
                                             : bias_at(p, p->n_rows, row);
    const kiln_stmt *init =
        over_rows(a, n, first, begin, kiln_rnn_set(p, p->gate, row, start));
    row = kiln_x_ref(a, second);
    const kiln_expr *at[3] = {p->xw_at[1], kiln_x_ref(a, jv), row};
    const kiln_expr *product = kiln_x_mul(a, kiln_x_load(a, p->r, at, 3, NULL),
                                          kiln_rnn_at(p, v, kiln_x_ref(a, jv)));
    const kiln_expr *sum = kiln_x_add(a, kiln_rnn_at(p, p->gate, row), product);
    const kiln_stmt *update =
        over_rows(a, n, second, begin, kiln_rnn_set(p, p->gate, row, sum));
    return kiln_s_both(a, init,
                       kiln_s_times(a, jv, kiln_x_index(a, p->hidden), update));
}

const kiln_expr *kiln_rnn_act(const kiln_rnn_program *p, int k, const kiln_expr *x) {
    kiln_arena *a = p->a;
    const double clip = p->attr[KILN_RNN_CLIP].f;
    if (clip != HUGE_VAL) {
        const kiln_expr *low = kiln_x_like(a, x, -clip),
                        *high = kiln_x_like(a, x, clip);
        x = kiln_x_select(a, kiln_x_less(a, x, low), low, x);
        x = kiln_x_select(a, kiln_x_less(a, high, x), high, x);
    }
    return kiln_rnn_activation(a, p->activation[k], p->alpha[k], p->beta[k], x);
}

/* ---- the extern stage ------------------------------------------------------------ */

enum { IN_XW, IN_R, N_FIXED };

/* Which of the stage's inputs the optional ones are; 0: absent. */
typedef struct params {
    const kiln_node *node;
    const kiln_rnn_cell *cell;
    int bias, lengths, initial_h, initial_c, peepholes;
} params;

static kiln_buffer *vector(kiln_arena *a, const kiln_te *te, const char *name,
                           int64_t n) {
    kiln_buffer *b = kiln_buffer_new(a, kiln_format(a, "%s.%s", te->name, name),
                                     te->dtype[0], 1, &n, KILN_SCOPE_LOCAL);
    b->arg = -1;
    return b;
}

static const kiln_buffer *given(const kiln_buffer *const *in, int i) {
    return i == 0 ? NULL : in[i];
}

/* v[i] = from[direction, image, i], 0 without it. */
static const kiln_stmt *start(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_buffer *from) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at[3] = {p->xw_at[1], p->xw_at[2], kiln_x_ref(a, iv)};
    const kiln_expr *x = from == NULL ? kiln_x_number(a, v->dtype, 0)
                                      : kiln_x_load(a, from, at, 3, NULL);
    return kiln_s_times(a, iv, kiln_x_index(a, p->hidden),
                        kiln_rnn_set(p, v, at[2], x));
}

/* out[at, direction, image, i] = v[i]; v NULL: 0. */
static const kiln_stmt *put(const kiln_rnn_program *p, const kiln_buffer *out,
                            const kiln_expr *at, const kiln_buffer *v) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const kiln_expr *to[4] = {at, p->xw_at[1], p->xw_at[2], i};
    const kiln_expr *x =
        v == NULL ? kiln_x_number(a, out->dtype, 0) : kiln_rnn_at(p, v, i);
    return kiln_s_times(a, iv, kiln_x_index(a, p->hidden),
                        kiln_s_store(a, out, to, x, NULL));
}

/* Step number s: one for the cell, then y at its place, and the state as it is. */
static const kiln_stmt *one_step(kiln_rnn_program *p, const kiln_te *te,
                                 const params *q, int d, const kiln_expr *s,
                                 const kiln_buffer *lengths,
                                 const kiln_buffer *const *out) {
    kiln_arena *a = p->a;
    const int64_t steps = kiln_te_dim(te, 0);
    const kiln_expr *length = kiln_x_index(a, steps), *t = s;
    if (lengths != NULL)
        length = kiln_x_load(a, lengths, &p->xw_at[2], 1, NULL);
    if (kiln_rnn_is_reverse(q->node, d))
        t = kiln_x_sub(a, kiln_x_sub(a, length, kiln_x_index(a, 1)), s);
    p->xw_at[0] = lengths == NULL ? t : kiln_x_clamped(a, t, steps);
    const kiln_stmt *run =
        kiln_s_both(a, q->cell->program(p), put(p, out[0], p->xw_at[0], p->h));
    if (lengths != NULL)
        run = kiln_s_if(a, kiln_x_less(a, s, length), run, put(p, out[0], s, NULL));
    if (te->n_out > 1)
        run = kiln_s_both(a, run, put(p, out[1], s, p->h));
    if (te->n_out > 2)
        run = kiln_s_both(a, run, put(p, out[2], s, p->c));
    return run;
}

static const kiln_stmt *direction(kiln_arena *a, const kiln_te *te, int d,
                                  const kiln_buffer *const *in,
                                  const kiln_buffer *const *out) {
    const params *q = te->ext->data;
    const int64_t hidden = kiln_te_dim(te, 3), batch = kiln_te_dim(te, 2);
    kiln_var *bv = kiln_var_new(a, "image", KILN_I64);
    kiln_var *sv = kiln_var_new(a, "step", KILN_I64);
    const char *names[3];
    static const char *const base[3] = {"h", "c", "gate"};
    for (int i = 0; i < 3; i++)
        names[i] = kiln_format(a, "%s%d", base[i], d);
    kiln_rnn_program p = {.a = a,
                          .attr = q->node->attr,
                          .hidden = hidden,
                          .n_rows = hidden * q->cell->gates,
                          .h = vector(a, te, names[0], hidden),
                          .c = vector(a, te, names[1], hidden),
                          .gate = vector(a, te, names[2], hidden * q->cell->gates),
                          .xw = in[IN_XW],
                          .xw_at = {NULL, kiln_x_index(a, d), kiln_x_ref(a, bv)},
                          .r = in[IN_R],
                          .bias = given(in, q->bias),
                          .peepholes = given(in, q->peepholes)};
    kiln_rnn_activations_of(q->node, q->cell, d, p.activation, p.alpha, p.beta);
    const kiln_stmt *begin = kiln_s_both(a, start(&p, p.h, given(in, q->initial_h)),
                                         start(&p, p.c, given(in, q->initial_c)));
    const kiln_stmt *step =
        one_step(&p, te, q, d, kiln_x_ref(a, sv), given(in, q->lengths), out);
    const kiln_stmt *image = kiln_s_both(
        a, begin, kiln_s_times(a, sv, kiln_x_index(a, kiln_te_dim(te, 0)), step));
    image = kiln_s_alloc(a, p.h, kiln_s_alloc(a, p.c, kiln_s_alloc(a, p.gate, image)));
    return kiln_s_for(a, bv, kiln_x_index(a, 0), kiln_x_index(a, batch),
                      KILN_LOOP_PARALLEL, NULL, image);
}

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const kiln_stmt *s = kiln_s_nothing(a);
    for (int d = 0; d < (int)kiln_te_dim(te, 1); d++)
        s = kiln_s_both(a, s, direction(a, te, d, in, out));
    return s;
}

/* ---- stages ---------------------------------------------------------------------- */

/* xw[s,d,b,row] = sum over i of x[s,b,i] * w[d,row,i] */
static kiln_status input_products(kiln_compute_cx *cx, kiln_dtype dtype,
                                  kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[KILN_RNN_X].type, *w = &cx->in[KILN_RNN_W].type;
    const int64_t dim[4] = {x->dim[0], w->dim[0], x->dim[1], w->dim[1]};
    const kiln_type t = kiln_type_make(dtype, 4, dim);
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, "xw", &t, index);
    const kiln_axis *axis = kiln_te_reduce_axis(te, "i", x->dim[2]);
    const kiln_expr *i = kiln_axis_var(a, axis);
    const kiln_expr *at_x[3] = {index[0], index[2], i};
    const kiln_expr *at_w[3] = {index[1], index[3], i};
    const kiln_expr *product =
        kiln_x_mul(a, kiln_compute_widened(cx, kiln_compute_read(cx, KILN_RNN_X, at_x)),
                   kiln_compute_widened(cx, kiln_compute_read(cx, KILN_RNN_W, at_w)));
    return kiln_compute_inner(cx, te, &t, kiln_te_sum(te, product, &axis, 1), out);
}

/* rt[d,j,row] = r[d,row,j]: rows side by side, for vectors. */
static kiln_status transposed(kiln_compute_cx *cx, kiln_dtype dtype,
                              kiln_te_value *out) {
    const kiln_type *r = &cx->in[KILN_RNN_R].type;
    const int64_t dim[3] = {r->dim[0], r->dim[2], r->dim[1]};
    const kiln_type t = kiln_type_make(dtype, 3, dim);
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, "rt", &t, index);
    const kiln_expr *at[3] = {index[0], index[2], index[1]};
    const kiln_expr *v = kiln_compute_read(cx, KILN_RNN_R, at);
    return kiln_compute_inner(cx, te, &t, kiln_x_cast(cx->arena, dtype, v), out);
}

/* A state after the last step; before the first where there are none. */
static kiln_status last_state(kiln_compute_cx *cx, int k, int initial,
                              const char *suffix, const kiln_te_value *states) {
    const kiln_expr *index[KILN_MAX_RANK];
    const int64_t steps = states->type.dim[0];
    kiln_te *te = kiln_compute_begin(cx, suffix, &cx->out[k].type, index);
    const kiln_expr *at[4] = {kiln_x_index(cx->arena, steps - 1), index[0], index[1],
                              index[2]};
    const kiln_expr *v;
    if (steps > 0)
        v = kiln_compute_read_value(cx, states, at);
    else if (kiln_has_in(cx->node, initial))
        v = kiln_compute_read(cx, initial, index);
    else
        v = kiln_x_number(cx->arena, cx->out[k].type.dtype, 0);
    return kiln_compute_end(cx, k, te, v);
}

/* Stages: "xw", "rt", "steps"; the outputs. */
kiln_status kiln_compute_recurrent(const kiln_node *n, kiln_compute_cx *cx,
                                   const kiln_rnn_cell *cell) {
    const kiln_type *t = &cx->out[KILN_RNN_Y].type;
    const kiln_dtype wide = kiln_compute_wide_dtype(t->dtype);
    const kiln_dtype dtype[3] = {wide, wide, wide};
    kiln_te_value in[N_FIXED + 5], out[3];
    params *q = kiln_new(cx->arena, params);
    *q = (params){.node = n, .cell = cell};
    const struct optional {
        int from;
        int *to;
        kiln_dtype dtype;
        const char *suffix;
    } optional[] = {
        {KILN_RNN_BIAS, &q->bias, wide, "bias"},
        {KILN_RNN_LENGTHS, &q->lengths, KILN_I64, "lengths"},
        {KILN_RNN_INITIAL_H, &q->initial_h, wide, "initial_h"},
        {KILN_RNN_INITIAL_C, &q->initial_c, wide, "initial_c"},
        {KILN_RNN_PEEPHOLES, &q->peepholes, wide, "peepholes"},
    };
    int n_in = N_FIXED;
    KILN_TRY(input_products(cx, wide, &in[IN_XW]));
    KILN_TRY(transposed(cx, wide, &in[IN_R]));
    for (size_t i = 0; i < KILN_COUNT(optional); i++) {
        const struct optional *o = &optional[i];
        if (!kiln_has_in(n, o->from))
            continue;
        KILN_TRY(
            kiln_compute_plain(cx, o->suffix, &cx->in[o->from], o->dtype, &in[n_in]));
        *o->to = n_in++;
    }
    const kiln_extern_spec spec = {.name = "recurrent",
                                   .build = build,
                                   .data = q,
                                   .in = in,
                                   .n_in = n_in,
                                   .n_out = n->n_out,
                                   .rank = t->rank,
                                   .dim = t->dim,
                                   .dtype = dtype};
    kiln_compute_extern(cx, "steps", &spec, out);
    KILN_TRY(kiln_compute_give(cx, KILN_RNN_Y, "", &out[0]));
    if (n->n_out > KILN_RNN_Y_H)
        KILN_TRY(last_state(cx, KILN_RNN_Y_H, KILN_RNN_INITIAL_H, "y_h", &out[1]));
    if (n->n_out > KILN_RNN_Y_C)
        KILN_TRY(last_state(cx, KILN_RNN_Y_C, KILN_RNN_INITIAL_C, "y_c", &out[2]));
    return KILN_OK;
}
