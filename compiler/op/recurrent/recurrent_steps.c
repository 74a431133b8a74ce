/* rnn, gru and lstm as stages: the products with x for all steps at once are a tensor
 * expression (or an input: see recurrent.h), the steps an extern stage over them.
 *
 * A step multiplies r with the state, so r is streamed once a step for a group of
 * images. It is read in blocks of rows, transposed: r[d, row / B, j, row % B]. A
 * template gives it that layout ahead ({block=1xB}, B a power of two); otherwise a
 * stage packs it on the way. */
#include "compiler/op/recurrent/recurrent_expr.h"

enum { IN_XW, IN_R, N_FIXED };
enum {
    USUAL_ROWS = 64,              /* of a block that is packed on the way */
    MAX_ROWS = 1024,              /* of any block: registers hold their sums */
    MIN_SHARED_PRODUCTS = 1 << 17 /* of a step: a microsecond or two of one core */
};

/* Which of the stage's inputs the optional ones are; 0: absent. */
typedef struct params {
    const kiln_node *node;
    const kiln_rnn_cell *cell;
    int bias, lengths, initial_h, initial_c, peepholes;
} params;

/* ---- the extern stage ------------------------------------------------------------ */

static kiln_buffer *scratch(kiln_arena *a, const kiln_te *te, const char *name,
                            int64_t members, int64_t n) {
    const int64_t dim[2] = {members, n};
    kiln_buffer *b = kiln_buffer_new(a, kiln_format(a, "%s.%s", te->name, name),
                                     te->dtype[0], 2, dim, KILN_SCOPE_LOCAL);
    b->arg = -1;
    return b;
}

static const kiln_buffer *given(const kiln_buffer *const *in, int i) {
    return i == 0 ? NULL : in[i];
}

/* The group's states v = from[direction, image], 0 without it. */
static const kiln_stmt *start(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_buffer *from) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const kiln_expr *at[3] = {
        p->direction, kiln_x_add(a, p->first_image, kiln_x_ref(a, p->member)), i};
    const kiln_expr *x = from == NULL ? kiln_x_number(a, v->dtype, 0)
                                      : kiln_x_load(a, from, at, 3, NULL);
    return kiln_rnn_units(p, iv, KILN_LOOP_SERIAL,
                          kiln_rnn_members(p, kiln_rnn_set(p, v, i, x)));
}

/* out[last step, direction, image] = the group's states v: the other steps of it are
 * never read. */
static const kiln_stmt *finish(const kiln_rnn_program *p, const kiln_buffer *out,
                               const kiln_buffer *v) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const kiln_expr *to[4] = {kiln_x_index(a, p->steps - 1), p->direction,
                              kiln_x_add(a, p->first_image, kiln_x_ref(a, p->member)),
                              i};
    const kiln_stmt *s = kiln_s_store(a, out, to, kiln_rnn_at(p, v, i), NULL);
    return kiln_rnn_units(p, iv, KILN_LOOP_SERIAL, kiln_rnn_members(p, s));
}

/* A group of images through all steps. */
static const kiln_stmt *group(kiln_rnn_program p, const kiln_te *te, const params *q,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    kiln_arena *a = p.a;
    kiln_var *step = kiln_var_new(a, "step", KILN_I64);
    const int64_t rows = kiln_buffer_dim(p.r, 1) * kiln_buffer_dim(p.r, 3);
    const kiln_buffer *h = scratch(a, te, "h", p.members, p.hidden);
    const kiln_buffer *c = scratch(a, te, "c", p.members, p.hidden);
    const kiln_buffer *gate = scratch(a, te, "gate", p.members, rows);
    p.h = h;
    p.c = c;
    p.gate = gate;
    p.step = kiln_x_ref(a, step);
    const kiln_stmt *part[5] = {
        start(&p, h, given(in, q->initial_h)), start(&p, c, given(in, q->initial_c)),
        kiln_s_times(a, step, kiln_x_index(a, p.steps), q->cell->program(&p))};
    int n = 3;
    if (te->n_out > 1)
        part[n++] = finish(&p, out[1], h);
    if (te->n_out > 2)
        part[n++] = finish(&p, out[2], c);
    const kiln_stmt *s = kiln_s_seq(a, part, n);
    return kiln_s_alloc(a, h, kiln_s_alloc(a, c, kiln_s_alloc(a, gate, s)));
}

/* Groups of images on several threads; the steps of a single one. */
static const kiln_stmt *direction(kiln_arena *a, const kiln_te *te, int d,
                                  const kiln_buffer *const *in,
                                  const kiln_buffer *const *out) {
    const params *q = te->ext->data;
    const int64_t hidden = kiln_te_dim(te, 3), images = kiln_te_dim(te, 2);
    const int64_t members = images < KILN_RNN_GROUP ? images : KILN_RNN_GROUP;
    const int64_t groups = images / members, rest = images % members;
    kiln_rnn_program p = {.a = a,
                          .attr = q->node->attr,
                          .hidden = hidden,
                          .n_rows = hidden * q->cell->gates,
                          .members = members,
                          .member = kiln_var_new(a, "member", KILN_I64),
                          .time = kiln_var_new(a, "time", KILN_I64),
                          .direction = kiln_x_index(a, d),
                          .xw = in[IN_XW],
                          .r = in[IN_R],
                          .bias = given(in, q->bias),
                          .peepholes = given(in, q->peepholes),
                          .lengths = given(in, q->lengths),
                          .y = out[0],
                          .steps = kiln_te_dim(te, 0),
                          .is_reverse = kiln_rnn_is_reverse(q->node, d)};
    kiln_rnn_activations_of(q->node, q->cell, d, p.activation, p.alpha, p.beta);
    p.is_shared =
        groups == 1 && kiln_mul_sat(members * hidden, p.n_rows) >= MIN_SHARED_PRODUCTS;
    kiln_var *first = kiln_var_new(a, "group", KILN_I64);
    p.first_image = kiln_x_mul(a, kiln_x_ref(a, first), kiln_x_index(a, members));
    const kiln_stmt *s =
        kiln_s_for(a, first, kiln_x_index(a, 0), kiln_x_index(a, groups),
                   groups > 1 ? KILN_LOOP_PARALLEL : KILN_LOOP_SERIAL, NULL,
                   group(p, te, q, in, out));
    if (rest == 0)
        return s;
    p.members = rest;
    p.first_image = kiln_x_index(a, groups * members);
    return kiln_s_both(a, s, group(p, te, q, in, out));
}

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const kiln_stmt *s = kiln_s_nothing(a);
    for (int d = 0; d < (int)kiln_te_dim(te, 1) && kiln_te_elems(te) > 0; d++)
        s = kiln_s_both(a, s, direction(a, te, d, in, out));
    return s;
}

/* ---- stages ---------------------------------------------------------------------- */

/* xw[s,b,d,row] = sum over i of x[s,b,i] * w[d,row,i] */
static kiln_status input_products(kiln_compute_cx *cx, kiln_dtype dtype,
                                  kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[KILN_RNN_X].type, *w = &cx->in[KILN_RNN_W].type;
    const int64_t dim[4] = {x->dim[0], x->dim[1], w->dim[0], w->dim[1]};
    const kiln_type t = kiln_type_make(dtype, 4, dim);
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, "xw", &t, index);
    const kiln_axis *axis = kiln_te_reduce_axis(te, "i", x->dim[2]);
    const kiln_expr *i = kiln_axis_var(a, axis);
    const kiln_expr *at_x[3] = {index[0], index[1], i};
    const kiln_expr *at_w[3] = {index[2], index[3], i};
    const kiln_expr *product =
        kiln_x_mul(a, kiln_compute_widened(cx, kiln_compute_read(cx, KILN_RNN_X, at_x)),
                   kiln_compute_widened(cx, kiln_compute_read(cx, KILN_RNN_W, at_w)));
    return kiln_compute_inner(cx, te, &t, kiln_te_sum(te, product, &axis, 1), out);
}

/* Is r in blocks of rows already? */
static bool is_packed(const kiln_te_value *r) {
    const kiln_layout *l = &r->type.layout;
    const int64_t rows = l->n_blocks == 1 ? l->block[0].size : 0;
    bool in_order = true;
    for (int i = 0; i < l->n_order; i++)
        in_order = in_order && l->order[i] == i;
    return in_order && r->te->n_out == 1 && rows > 0 && rows <= MAX_ROWS &&
           (rows & (rows - 1)) == 0 && l->block[0].axis == 1;
}

/* rp[d,block,j,row % B] = r[d,row,j] */
static kiln_status packed(kiln_compute_cx *cx, kiln_dtype dtype, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_type *r = &cx->in[KILN_RNN_R].type;
    if (is_packed(&cx->in[KILN_RNN_R])) {
        *out = cx->in[KILN_RNN_R];
        return KILN_OK;
    }
    int64_t rows = 1;
    while (rows < USUAL_ROWS && rows < r->dim[1])
        rows *= 2;
    const int64_t dim[4] = {r->dim[0], (r->dim[1] + rows - 1) / rows, r->dim[2], rows};
    const kiln_type t = kiln_type_make(dtype, 4, dim);
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, "rp", &t, index);
    const kiln_expr *row =
        kiln_x_add(a, kiln_x_mul(a, index[1], kiln_x_index(a, rows)), index[3]);
    const kiln_expr *at[3] = {index[0], row, index[2]};
    const kiln_expr *v = kiln_x_cast(a, dtype, kiln_compute_read(cx, KILN_RNN_R, at));
    v = kiln_x_select(a, kiln_x_less(a, row, kiln_x_index(a, r->dim[1])), v,
                      kiln_x_number(a, dtype, 0));
    return kiln_compute_inner(cx, te, &t, v, out);
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

/* Stages: "xw", "rp", "steps"; the outputs. */
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
    if (kiln_has_in(n, KILN_RNN_W))
        KILN_TRY(input_products(cx, wide, &in[IN_XW]));
    else
        KILN_TRY(kiln_compute_plain(cx, "xw", &cx->in[KILN_RNN_X], wide, &in[IN_XW]));
    KILN_TRY(packed(cx, wide, &in[IN_R]));
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
