/* Families of random graphs: what repeats and what chooses. */
#include "tests/support/random/random_graph_internal.h"

#include <math.h>

/* ---- recurrent cells ------------------------------------------------------------- */

typedef struct cell {
    const kiln_op_def *op;
    int gates;
} cell;

static kiln_value *weights(maker *m, kiln_dtype dtype, int64_t d, int64_t rows,
                           int64_t terms) {
    const int64_t dim[3] = {d, rows, terms};
    return one_in(m, 6) ? draw_operand(m, dtype, 3, dim, term_scale(terms))
                        : draw_const(m, dtype, 3, dim, term_scale(terms));
}

bool random_graph_recurrent(maker *m) {
    static const cell cells[] = {
        {&kiln_op_rnn, 1}, {&kiln_op_gru, 3}, {&kiln_op_lstm, 4}};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    const cell *c = &cells[draw(m, 0, 2)];
    const unsigned halves = KILN_DT(KILN_F16) | KILN_DT(KILN_BF16);
    kiln_value *x = draw_value(m, KILN_DT_FLOAT & ~halves, 3, 3), *in[8] = {x};
    const int64_t way = draw(m, 0, 2), d = way == 2 ? 2 : 1;
    const int64_t hidden = draw(m, 1, one_in(m, 3) ? 33 : 9), rows = c->gates * hidden;
    const int64_t batch = x->type.dim[1];
    const int64_t bias[2] = {d, 2 * rows}, state[3] = {d, batch, hidden},
                  peep[2] = {d, 3 * hidden};
    const kiln_dtype t = x->type.dtype;
    if (x->type.dim[0] > 8)
        return false; /* long sequences forget, slowly */
    in[1] = weights(m, t, d, rows, x->type.dim[2]);
    in[2] = weights(m, t, d, rows, hidden);
    in[3] = one_in(m, 2) ? draw_operand(m, t, 2, bias, 0.5) : NULL;
    in[4] =
        one_in(m, 4) ? draw_indices(m, KILN_I32, 1, &batch, 0, x->type.dim[0]) : NULL;
    in[5] = one_in(m, 2) ? draw_operand(m, t, 3, state, 1) : NULL;
    if (c->op == &kiln_op_lstm) {
        in[6] = one_in(m, 2) ? draw_operand(m, t, 3, state, 1) : NULL;
        in[7] = one_in(m, 3) ? draw_operand(m, t, 2, peep, 0.5) : NULL;
    }
    kiln_attr_arg args[2] = {kiln_arg_word("direction", directions[way])};
    size_t n = 1;
    if (c->op == &kiln_op_gru)
        args[n++] = kiln_arg_bool("linear_before_reset", one_in(m, 2));
    return add_node(m, c->op, in, c->op->n_in_max, (int)draw(m, 1, c->op->n_out_max),
                    args, n) != NULL;
}

/* ---- regions --------------------------------------------------------------------- */

/* A graph inside the graph in the making. */
typedef struct region {
    maker *m;
    kiln_graph *g;
    int depth; /* of regions around it */
} region;

static kiln_value *region_op(const region *r, const kiln_op_def *op,
                             kiln_value *const *in, int n_in, const kiln_attr_arg *args,
                             size_t n_args) {
    kiln_err err = {.status = KILN_OK};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {
        .op = op, .in = in, .n_in = n_in, .args = args, .n_args = n_args};
    for (int i = 0; i < n_in; i++)
        if (in[i] == NULL)
            return NULL;
    return kiln_graph_add_node(r->g, &spec, &n, &err) == KILN_OK ? n->out[0] : NULL;
}

static kiln_value *region_node(const region *r, const kiln_op_def *op,
                               kiln_value *const *in, int n_in) {
    return region_op(r, op, in, n_in, NULL, 0);
}

static kiln_value *region_weights(const region *r, kiln_dtype dtype, int rank,
                                  const int64_t *dim) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const kiln_tensor w = kiln_ref_random(r->g->arena, &t, kiln_rng_next(&r->m->rng));
    return kiln_graph_add_const(r->g, "w", &t, w.data);
}

/* A product or a convolution that keeps the type; v: there is none. */
static kiln_value *region_sum(const region *r, kiln_value *v) {
    const int64_t k = v->type.rank >= 2 ? v->type.dim[1] : 0;
    const int64_t size = one_in(r->m, 2) ? 1 : 3, side = size / 2;
    const int64_t dim[4] = {k, k, size, size}, pads[4] = {side, side, side, side};
    const kiln_attr_arg arg = kiln_arg_ints("pads", pads, 4);
    kiln_value *in[2] = {v, NULL};
    if ((v->type.rank != 2 && v->type.rank != 4) || k > 40)
        return v;
    in[1] = region_weights(r, v->type.dtype, v->type.rank, dim);
    return v->type.rank == 2 ? region_node(r, &kiln_op_matmul, in, 2)
                             : region_op(r, &kiln_op_conv, in, 2, &arg, 1);
}

static kiln_graph *branch(maker *m, const char *name, const kiln_value *captured,
                          int depth);

static kiln_value *region_choice(const region *r, kiln_value *v) {
    const kiln_attr_arg flat = kiln_arg_bool("keepdims", false);
    kiln_value *mean = region_op(r, &kiln_op_reduce_mean, &v, 1, &flat, 1);
    kiln_value *pair[2] = {mean,
                           kiln_graph_const_scalar(r->g, "limit", v->type.dtype, 0.02)};
    kiln_value *in[3] = {region_node(r, &kiln_op_greater, pair, 2), v, v};
    kiln_graph *yes = branch(r->m, "yes", v, r->depth + 1);
    kiln_graph *no = branch(r->m, "no", v, r->depth + 1);
    if (yes == NULL || no == NULL)
        return NULL;
    const kiln_attr_arg args[] = {kiln_arg_graph("then_branch", yes),
                                  kiln_arg_graph("else_branch", no)};
    return region_op(r, &kiln_op_if, in, 3, args, 2);
}

/* A few operators that keep the type of `v`. */
static kiln_value *region_chain(const region *r, kiln_value *v) {
    static const kiln_op_def *const maps[] = {&kiln_op_tanh, &kiln_op_neg,
                                              &kiln_op_sigmoid, &kiln_op_relu};
    kiln_value *const x = v;
    for (int64_t n = draw(r->m, 0, 3); n > 0 && v != NULL; n--) {
        kiln_value *in[2] = {v, x};
        if (one_in(r->m, 3))
            v = region_sum(r, v);
        else if (r->depth < 2 && one_in(r->m, 6))
            v = region_choice(r, v);
        else if (one_in(r->m, 3))
            v = region_node(r, &kiln_op_add, in, 2);
        else
            v = region_node(r, maps[draw(r->m, 0, 3)], &v, 1);
    }
    return v;
}

static kiln_graph *branch(maker *m, const char *name, const kiln_value *captured,
                          int depth) {
    const region r = {m, kiln_graph_new(m->g->arena, name), depth};
    kiln_value *v = kiln_graph_add_input(r.g, "v", &captured->type);
    kiln_value *y = region_chain(&r, v);
    if (y == NULL)
        return NULL;
    kiln_graph_add_output(r.g, y, "y");
    kiln_graph_renumber(r.g);
    return r.g;
}

static kiln_value *draw_condition(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 0, 4);
    const kiln_attr_arg flat = kiln_arg_bool("keepdims", false);
    if (one_in(m, 2))
        return draw_input(m, KILN_BOOL, 0, NULL);
    x = add_op(m, &kiln_op_reduce_mean, &x, 1, &flat, 1);
    if (x == NULL)
        return NULL;
    kiln_value *in[2] = {x, kiln_graph_const_scalar(m->g, "zero", x->type.dtype, 0.03)};
    return add_op(m, &kiln_op_greater, in, 2, NULL, 0);
}

static bool is_same_type(const kiln_value *v, const void *user) {
    return kiln_type_eq(&v->type, user);
}

bool random_graph_branches(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 1, 4), *cond = draw_condition(m);
    kiln_value *other = find_value(m, is_same_type, &x->type);
    kiln_value *in[3] = {cond, x, other != NULL ? other : x};
    kiln_graph *yes = branch(m, "then", in[1], 1), *no = branch(m, "else", in[2], 1);
    if (yes == NULL || no == NULL || cond == NULL)
        return false;
    const kiln_attr_arg args[] = {kiln_arg_graph("then_branch", yes),
                                  kiln_arg_graph("else_branch", no)};
    return add_node(m, &kiln_op_if, in, 3, 1, args, 2) != NULL;
}

/* state = tanh(state + element), and a sequence of what else is made of it. */
bool random_graph_steps(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 2, 4);
    if (x->type.dim[0] > 9)
        return false;
    const kiln_type t =
        kiln_type_make(x->type.dtype, x->type.rank - 1, x->type.dim + 1);
    kiln_graph *body = kiln_graph_new(m->g->arena, "step");
    const region r = {m, body, 1};
    kiln_value *s = kiln_graph_add_input(body, "s", &t);
    kiln_value *e = kiln_graph_add_input(body, "e", &t);
    kiln_value *c = kiln_graph_add_input(body, "c", &t);
    kiln_value *sum[2] = {s, e}, *scaled[2] = {region_chain(&r, e), c};
    kiln_value *next = region_node(&r, &kiln_op_add, sum, 2);
    next = next != NULL ? region_node(&r, &kiln_op_tanh, &next, 1) : NULL;
    kiln_value *y = scaled[0] != NULL ? region_node(&r, &kiln_op_mul, scaled, 2) : NULL;
    if (next == NULL || y == NULL)
        return false;
    kiln_graph_add_output(body, next, "s");
    kiln_graph_add_output(body, y, "y");
    kiln_graph_renumber(body);
    kiln_value *in[3] = {draw_operand(m, t.dtype, t.rank, t.dim, 1), x,
                         draw_operand(m, t.dtype, t.rank, t.dim, 1)};
    const kiln_attr_arg args[] = {kiln_arg_graph("body", body),
                                  kiln_arg_int("n_state", 1),
                                  kiln_arg_int("n_scan", 1)};
    return add_node(m, &kiln_op_scan, in, 3, 2, args, 3) != NULL;
}
