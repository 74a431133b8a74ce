/* What the steps of rnn, gru and lstm are made of: activations, products with r, loops
 * over units. */
#include "compiler/op/recurrent/recurrent_expr.h"

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

/* ---- values of a cell ------------------------------------------------------------ */

static const kiln_expr *member_of(const kiln_rnn_program *p) {
    return kiln_x_ref(p->a, p->member);
}

static const kiln_expr *image_of(const kiln_rnn_program *p) {
    return kiln_x_add(p->a, p->first_image, member_of(p));
}

const kiln_expr *kiln_rnn_at(const kiln_rnn_program *p, const kiln_buffer *v,
                             const kiln_expr *i) {
    const kiln_expr *at[2] = {member_of(p), i};
    return kiln_x_load(p->a, v, at, 2, NULL);
}

const kiln_stmt *kiln_rnn_set(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_expr *i, const kiln_expr *x) {
    const kiln_expr *at[2] = {member_of(p), i};
    return kiln_s_store(p->a, v, at, x, NULL);
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
    const kiln_expr *at[2] = {p->direction,
                              kiln_x_add(p->a, row, kiln_x_index(p->a, begin))};
    return kiln_x_load(p->a, p->bias, at, 2, NULL);
}

const kiln_expr *kiln_rnn_from_x(const kiln_rnn_program *p, int g, const kiln_expr *i) {
    kiln_arena *a = p->a;
    const kiln_expr *row = row_of(p, g, i);
    const kiln_expr *at[4] = {kiln_x_ref(a, p->time), image_of(p), p->direction, row};
    if (p->xw->rank == 3)
        at[2] =
            kiln_x_add(a, kiln_x_mul(a, p->direction, kiln_x_index(a, p->n_rows)), row);
    const kiln_expr *v = kiln_x_load(a, p->xw, at, p->xw->rank, NULL);
    return p->bias == NULL ? v : kiln_x_add(a, v, bias_at(p, 0, row));
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

/* ---- loops over units ------------------------------------------------------------ */

enum { LANES = 16 }; /* of a vector: one register of 512 bits of f32, or several */

/* A step's loops below so many multiply-adds or units are one thread's: they take about
 * a microsecond, and other threads would first have to fetch what the step before it
 * made. */
enum { MIN_SHARED_UNITS = 256 };

const kiln_stmt *kiln_rnn_units(const kiln_rnn_program *p, const kiln_var *i,
                                kiln_loop_kind kind, const kiln_stmt *body) {
    kiln_arena *a = p->a;
    const int64_t lanes = p->hidden < LANES ? p->hidden : LANES;
    const int64_t n = (p->hidden + lanes - 1) / lanes;
    kiln_var *outer = kiln_var_new(a, "unit.outer", KILN_I64);
    kiln_var *inner = kiln_var_new(a, "unit.inner", KILN_I64);
    const kiln_expr *at =
        kiln_x_add(a, kiln_x_mul(a, kiln_x_ref(a, outer), kiln_x_index(a, lanes)),
                   kiln_x_ref(a, inner));
    const kiln_subst map = {i, at};
    body = kiln_stmt_substitute(a, body, &map, 1);
    if (p->hidden % lanes != 0)
        body = kiln_s_if(a, kiln_x_less(a, at, kiln_x_index(a, p->hidden)), body, NULL);
    body = kiln_s_for(a, inner, kiln_x_index(a, 0), kiln_x_index(a, lanes),
                      KILN_LOOP_VECTORIZED, NULL, body);
    return kiln_s_for(a, outer, kiln_x_index(a, 0), kiln_x_index(a, n), kind, NULL,
                      body);
}

const kiln_stmt *kiln_rnn_members(const kiln_rnn_program *p, const kiln_stmt *body) {
    kiln_arena *a = p->a;
    kiln_var *v = kiln_var_new(a, "image", KILN_I64);
    const kiln_subst map = {p->member,
                            p->members == 1 ? kiln_x_index(a, 0) : kiln_x_ref(a, v)};
    body = kiln_stmt_substitute(a, body, &map, 1);
    return p->members == 1 ? body
                           : kiln_s_times(a, v, kiln_x_index(a, p->members), body);
}

/* y of the image at a step, unit i. */
static const kiln_stmt *put(const kiln_rnn_program *p, const kiln_expr *step,
                            const kiln_expr *i, const kiln_expr *x) {
    const kiln_expr *to[4] = {step, p->direction, image_of(p), i};
    return kiln_s_store(p->a, p->y, to, x, NULL);
}

/* One image's part of a loop over units, and zeros where it has no such step. */
static const kiln_stmt *of_image(const kiln_rnn_program *p, const kiln_expr *i,
                                 const kiln_stmt *body, bool is_last) {
    kiln_arena *a = p->a;
    if (is_last)
        body = kiln_s_both(a, body,
                           put(p, kiln_x_ref(a, p->time), i, kiln_rnn_at(p, p->h, i)));
    const kiln_expr *image = image_of(p), *time = p->step;
    const kiln_expr *length = kiln_x_index(a, p->steps);
    if (p->lengths != NULL)
        length = kiln_x_load(a, p->lengths, &image, 1, NULL);
    if (p->is_reverse)
        time = kiln_x_sub(a, kiln_x_sub(a, length, kiln_x_index(a, 1)), time);
    if (p->lengths == NULL) {
        const kiln_subst map = {p->time, time};
        return kiln_stmt_substitute(a, body, &map, 1);
    }
    kiln_var *v = kiln_var_new(a, "time", KILN_I64);
    const kiln_subst map = {p->time, kiln_x_ref(a, v)};
    body = kiln_s_let(a, v, kiln_x_clamped(a, time, p->steps),
                      kiln_stmt_substitute(a, body, &map, 1));
    const kiln_expr *zero = kiln_x_number(a, p->y->dtype, 0);
    return kiln_s_if(a, kiln_x_less(a, p->step, length), body,
                     is_last ? put(p, p->step, i, zero) : NULL);
}

const kiln_stmt *kiln_rnn_each_unit(const kiln_rnn_program *p, const kiln_var *i,
                                    const kiln_stmt *body, bool is_last) {
    kiln_arena *a = p->a;
    const bool is_parallel = p->is_shared && p->members * p->hidden >= MIN_SHARED_UNITS;
    body = of_image(p, kiln_x_ref(a, i), body, is_last);
    return kiln_rnn_units(p, i, is_parallel ? KILN_LOOP_PARALLEL : KILN_LOOP_SERIAL,
                          kiln_rnn_members(p, body));
}

/* ---- products with r ------------------------------------------------------------- */

/* A block of rows whose sums stay in registers while the units j of v pass by:
 * accumulators [M, rows], in vectors. */
typedef struct tile {
    const kiln_rnn_program *p;
    const kiln_buffer *acc;
    const kiln_expr *block; /* which */
    int64_t lanes, vectors; /* of a block's rows: those that there are */
    int64_t rows;           /* of a block */
    int64_t begin;          /* rows before it stay as they are */
} tile;

/* For each image and row of the tile, at acc[at]: all unrolled. */
typedef const kiln_stmt *tile_fn(const tile *t, const kiln_expr *const *at,
                                 const kiln_expr *row, const void *user);

static const kiln_stmt *over_tile(const tile *t, tile_fn *fn, const void *user) {
    kiln_arena *a = t->p->a;
    const kiln_expr *zero = kiln_x_index(a, 0);
    kiln_var *image = kiln_var_new(a, "image", KILN_I64);
    kiln_var *vector = kiln_var_new(a, "vector", KILN_I64);
    kiln_var *lane = kiln_var_new(a, "lane", KILN_I64);
    const kiln_expr *in_block =
        kiln_x_add(a, kiln_x_mul(a, kiln_x_ref(a, vector), kiln_x_index(a, t->lanes)),
                   kiln_x_ref(a, lane));
    const kiln_expr *row =
        kiln_x_add(a, kiln_x_mul(a, t->block, kiln_x_index(a, t->rows)), in_block);
    const kiln_expr *at[2] = {kiln_x_ref(a, image), in_block};
    const kiln_stmt *s = fn(t, at, row, user);
    s = kiln_s_for(a, lane, zero, kiln_x_index(a, t->lanes), KILN_LOOP_VECTORIZED, NULL,
                   s);
    s = kiln_s_for(a, vector, zero, kiln_x_index(a, t->vectors), KILN_LOOP_UNROLLED,
                   NULL, s);
    return kiln_s_for(a, image, zero, kiln_x_index(a, t->p->members),
                      KILN_LOOP_UNROLLED, NULL, s);
}

static const kiln_stmt *first_sum(const tile *t, const kiln_expr *const *at,
                                  const kiln_expr *row, const void *user) {
    kiln_arena *a = t->p->a;
    const kiln_expr *v = kiln_x_number(a, t->acc->dtype, 0);
    (void)user;
    if (t->p->bias != NULL)
        v = kiln_x_select(a, kiln_x_less(a, row, kiln_x_index(a, t->p->n_rows)),
                          bias_at(t->p, t->p->n_rows, row), v);
    return kiln_s_store(a, t->acc, at, v, NULL);
}

typedef struct term {
    const kiln_buffer *v;
    const kiln_expr *unit;
} term;

static const kiln_stmt *next_sum(const tile *t, const kiln_expr *const *at,
                                 const kiln_expr *row, const void *user) {
    kiln_arena *a = t->p->a;
    const term *x = user;
    (void)row;
    const kiln_expr *at_r[4] = {t->p->direction, t->block, x->unit, at[1]};
    const kiln_expr *at_v[2] = {at[0], x->unit};
    const kiln_expr *r =
        kiln_x_cast(a, t->acc->dtype, kiln_x_load(a, t->p->r, at_r, 4, NULL));
    const kiln_expr *product = kiln_x_mul(a, r, kiln_x_load(a, x->v, at_v, 2, NULL));
    const kiln_expr *sum = kiln_x_load(a, t->acc, at, 2, NULL);
    return kiln_s_store(a, t->acc, at, kiln_x_add(a, sum, product), NULL);
}

static const kiln_stmt *keep_sum(const tile *t, const kiln_expr *const *at,
                                 const kiln_expr *row, const void *user) {
    kiln_arena *a = t->p->a;
    (void)user;
    const kiln_expr *to[2] = {at[0], row};
    const kiln_stmt *s =
        kiln_s_store(a, t->p->gate, to, kiln_x_load(a, t->acc, at, 2, NULL), NULL);
    return kiln_s_if(a, kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, t->begin), row),
                     s, NULL);
}

static const kiln_stmt *tile_of(const tile *like, int64_t vectors,
                                const kiln_buffer *v) {
    kiln_arena *a = like->p->a;
    kiln_var *unit = kiln_var_new(a, "unit", KILN_I64);
    const int64_t dim[2] = {like->p->members, vectors * like->lanes};
    kiln_buffer *acc =
        kiln_buffer_new(a, kiln_format(a, "%s.sum", like->p->gate->name),
                        like->p->gate->dtype, 2, dim, KILN_SCOPE_REGISTER);
    acc->arg = -1;
    tile t = *like;
    t.acc = acc;
    t.vectors = vectors;
    const term x = {v, kiln_x_ref(a, unit)};
    const kiln_stmt *const part[3] = {over_tile(&t, first_sum, NULL),
                                      kiln_s_times(a, unit,
                                                   kiln_x_index(a, t.p->hidden),
                                                   over_tile(&t, next_sum, &x)),
                                      over_tile(&t, keep_sum, NULL)};
    return kiln_s_alloc(a, acc, kiln_s_seq(a, part, 3));
}

const kiln_stmt *kiln_rnn_products(const kiln_rnn_program *p, const kiln_buffer *v,
                                   int g, int end) {
    kiln_arena *a = p->a;
    kiln_var *block = kiln_var_new(a, "block", KILN_I64);
    const int64_t rows = kiln_buffer_dim(p->r, 3), n = end * p->hidden;
    tile t = {.p = p,
              .block = kiln_x_ref(a, block),
              .rows = rows,
              .lanes = rows < LANES ? rows : LANES,
              .begin = g * p->hidden};
    const int64_t whole = n / rows, rest = n % rows, first = t.begin / rows;
    const int64_t last = whole + (rest > 0 ? 1 : 0);
    const kiln_stmt *s = tile_of(&t, rows / t.lanes, v);
    const int64_t fewer = (rest + t.lanes - 1) / t.lanes;
    if (rest > 0 && fewer < rows / t.lanes)
        s = kiln_s_if(a, kiln_x_less(a, t.block, kiln_x_index(a, whole)), s,
                      tile_of(&t, fewer, v));
    s = kiln_s_for(a, block, kiln_x_index(a, first), kiln_x_index(a, last - first),
                   p->is_shared ? KILN_LOOP_PARALLEL : KILN_LOOP_SERIAL, NULL, s);
    /* Each step reads all of r again, and of what is larger than the cache none would be
     * there any more. To and fro, as much is there as fits: 31 GB/s become 38 where r is
     * 3.4 times a core's own cache, 55 where it is 1.7 times (Emerald Rapids). */
    return p->is_shared ? kiln_s_attr(a, KILN_STMT_ATTR_SWING, NULL, NULL, p->step, s)
                        : s;
}
