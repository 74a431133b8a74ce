/* UNIDIRECTIONAL_SEQUENCE_LSTM with what the operator lstm has not: a clipped cell, a
 * projection, layer normalisation. One step is the body of a scan; products with the
 * input are made of all steps at once before. Source: TensorFlow Lite, reference kernels
 * (lstm_eval); Sak et al. (arXiv:1402.1128) for the projection. */
#include "compiler/frontend/tflite/lstm.h"

#include <math.h>
#include <string.h>

enum { INPUT, FORGET, CELL, OUTPUT, N_GATES };

/* The body being built, and what it captures. */
typedef struct steps {
    kiln_tflite_cx *cx;
    kiln_compose *c;
    kiln_graph *around, *body;
    KILN_VEC(kiln_value *) outer; /* the scan's operands, in the body's order */
    int first;                    /* gate: FORGET without an input gate */
    int64_t hidden;
} steps;

/* The body's own name for an operand of the scan that stays the same. */
static kiln_value *capture(steps *s, kiln_value *outer) {
    if (outer == NULL || s->c->status != KILN_OK)
        return outer;
    kiln_vec_push(&s->cx->common.scratch, &s->outer, outer);
    return kiln_graph_add_input(s->body, outer->name, &outer->type);
}

static kiln_value *input_or_null(steps *s, int first, int gate, bool is_there) {
    return is_there ? capture(s, kiln_tflite_real(s->cx, s->c, first + gate)) : NULL;
}

/* ---- one step ----------------------------------------------------------------------- */

/* (z - mean) / sqrt(variance + 1e-8) along the last axis, times coefficients. */
static kiln_value *normalise(kiln_compose *c, kiln_value *z, kiln_value *by) {
    const double least = 1e-8;
    const int64_t axis = 1;
    kiln_value *const mean =
        kiln_compose_reduce(c, &kiln_op_reduce_mean, z, &axis, 1, true);
    z = kiln_compose_2(c, &kiln_op_sub, z, mean);
    kiln_value *v = kiln_compose_2(c, &kiln_op_mul, z, z);
    v = kiln_compose_reduce(c, &kiln_op_reduce_mean, v, &axis, 1, true);
    v = kiln_compose_1(c, &kiln_op_sqrt,
                       kiln_compose_scalar(c, &kiln_op_add, v, least));
    return kiln_compose_2(c, &kiln_op_mul, kiln_compose_2(c, &kiln_op_div, z, v), by);
}

/* A gate before its activation: its part of all products, and what it looks at. */
static kiln_value *gate_sum(steps *s, kiln_value *z, int gate, kiln_value *cell) {
    KILN_ASSERT(gate >= s->first && gate < N_GATES, "gate %d is in no sum", gate);
    const bool has_norm = kiln_tflite_in(s->cx, KILN_LSTM_NORM + FORGET) != NULL;
    const bool has_peephole = kiln_tflite_in(s->cx, KILN_LSTM_PEEPHOLE + 1) != NULL;
    z = kiln_compose_slice(s->c, z, 1, (gate - s->first) * s->hidden, 1, s->hidden);
    kiln_value *const eye = input_or_null(
        s, KILN_LSTM_PEEPHOLE, gate == OUTPUT ? 2 : gate, has_peephole && gate != CELL);
    if (eye != NULL)
        z = kiln_compose_2(s->c, &kiln_op_add, z,
                           kiln_compose_2(s->c, &kiln_op_mul, cell, eye));
    if (!has_norm)
        return z;
    kiln_value *const by = input_or_null(s, KILN_LSTM_NORM, gate, true);
    kiln_value *const bias = input_or_null(s, KILN_LSTM_BIAS, gate, true);
    if (by == NULL || bias == NULL)
        return z;
    return kiln_compose_2(s->c, &kiln_op_add, normalise(s->c, z, by), bias);
}

static kiln_value *hold(kiln_compose *c, kiln_value *x, double clip) {
    return clip > 0 && isfinite(clip) ? kiln_tflite_clip(c, x, -clip, clip) : x;
}

static kiln_value *project(steps *s, kiln_value *h) {
    kiln_value *const w =
        capture(s, kiln_tflite_real(s->cx, s->c, KILN_LSTM_PROJECTION));
    kiln_value *const bias =
        capture(s, kiln_tflite_real(s->cx, s->c, KILN_LSTM_PROJECTION + 1));
    if (w == NULL)
        return h;
    kiln_value *const in[] = {h, w, bias};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    h = kiln_compose_op(s->c, &kiln_op_gemm, in, 3, &arg, 1);
    return hold(s->c, h, s->cx->opt.proj_clip);
}

/* Adds the body's outputs: the next states, and the first of them to be stacked. */
static void build_step(steps *s, kiln_value *h, kiln_value *cell, kiln_value *xw,
                       kiln_value *r) {
    kiln_compose *const c = s->c;
    kiln_value *gate[N_GATES] = {NULL};
    kiln_value *const in[] = {h, r, xw};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    kiln_value *const z = kiln_compose_op(c, &kiln_op_gemm, in, 3, &arg, 1);
    for (int i = FORGET; i <= CELL; i++)
        gate[i] = gate_sum(s, z, i, cell);
    gate[FORGET] = kiln_compose_1(c, &kiln_op_sigmoid, gate[FORGET]);
    gate[CELL] = kiln_tflite_activate(c, gate[CELL], s->cx->opt.activation);
    if (s->first == INPUT)
        gate[INPUT] = kiln_compose_1(c, &kiln_op_sigmoid, gate_sum(s, z, INPUT, cell));
    else
        gate[INPUT] = kiln_compose_2(
            c, &kiln_op_sub, kiln_import_scalar(c->cx, h->type.dtype, 1), gate[FORGET]);
    cell = kiln_compose_2(c, &kiln_op_add,
                          kiln_compose_2(c, &kiln_op_mul, gate[FORGET], cell),
                          kiln_compose_2(c, &kiln_op_mul, gate[INPUT], gate[CELL]));
    cell = hold(c, cell, s->cx->opt.cell_clip);
    gate[OUTPUT] = kiln_compose_1(c, &kiln_op_sigmoid, gate_sum(s, z, OUTPUT, cell));
    h = kiln_compose_2(c, &kiln_op_mul, gate[OUTPUT],
                       kiln_tflite_activate(c, cell, s->cx->opt.activation));
    h = project(s, h);
    kiln_graph_add_output(s->body, h, "h");
    kiln_graph_add_output(s->body, cell, "c");
    kiln_graph_add_output(s->body, h, "y");
}

/* ---- all steps ---------------------------------------------------------------------- */

/* The gates' matrices (rank 2) or biases (rank 1) one below the other. */
static kiln_value *stack(steps *s, int first, int rank) {
    kiln_value *part[N_GATES];
    int n = 0;
    for (int i = s->first; i < N_GATES; i++) {
        kiln_value *const v = kiln_tflite_real(s->cx, s->c, first + i);
        if (s->c->status != KILN_OK)
            return v != NULL ? v : kiln_tflite_in(s->cx, 0);
        if (v == NULL || v->type.rank != rank ||
            (first != KILN_LSTM_W && v->type.dim[0] != s->hidden)) {
            kiln_compose_fail(s->c, kiln_tflite_fail(s->cx, KILN_ERR_SHAPE,
                                                     "input %d must have rank %d, and "
                                                     "a row for each cell",
                                                     first + i, rank));
            return kiln_tflite_in(s->cx, 0);
        }
        part[n++] = v;
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    return kiln_compose_op(s->c, &kiln_op_concat, part, n, &axis, 1);
}

/* x [S, N, I] times the input's weights: [S, N, gates * H]. */
static kiln_value *input_products(steps *s, kiln_value *x) {
    const int64_t *const d = x->type.dim;
    const int64_t rows[] = {d[0] * d[1], d[2]};
    const bool has_norm = kiln_tflite_in(s->cx, KILN_LSTM_NORM + FORGET) != NULL;
    kiln_value *const w = stack(s, KILN_LSTM_W, 2);
    kiln_value *const bias = has_norm ? NULL : stack(s, KILN_LSTM_BIAS, 1);
    kiln_value *const in[] = {kiln_compose_reshape(s->c, x, 2, rows), w, bias};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    kiln_value *const y = kiln_compose_op(s->c, &kiln_op_gemm, in, 3, &arg, 1);
    const int64_t apart[] = {d[0], d[1], s->c->status == KILN_OK ? y->type.dim[1] : 0};
    return kiln_compose_reshape(s->c, y, 3, apart);
}

/* State i before the first step. */
static kiln_value *begin_with(steps *s, int i, int64_t rows, int64_t columns) {
    const int64_t dim[] = {rows, columns};
    kiln_value *const kept =
        kiln_tflite_state(s->cx, s->c, KILN_LSTM_STATE + i, 2, dim);
    if (kept != NULL)
        return kept;
    return kiln_compose_expand(s->c, kiln_import_scalar(s->c->cx, KILN_F32, 0), 2, dim);
}

/* h, c and x's products become the body's first inputs, in this order. */
static kiln_status emit_scan(steps *s, kiln_value *xw, kiln_value *h, kiln_value *cell,
                             kiln_value *r, kiln_value **y) {
    kiln_value *out[3]; /* states at the end, all steps */
    const kiln_type step = kiln_type_make(KILN_F32, 2, xw->type.dim + 1);
    s->body = kiln_graph_new(s->cx->common.arena, "step");
    s->around = s->cx->common.graph;
    kiln_value *const own_h = capture(s, h), *const own_c = capture(s, cell);
    kiln_vec_push(&s->cx->common.scratch, &s->outer, xw);
    kiln_value *const own_x = kiln_graph_add_input(s->body, "x", &step);
    kiln_value *const own_r = capture(s, r);
    s->cx->common.graph = s->body;
    build_step(s, own_h, own_c, own_x, own_r);
    s->cx->common.graph = s->around;
    KILN_TRY(s->c->status);
    s->body->facts |= KILN_TYPED;
    const kiln_attr_arg args[] = {kiln_arg_graph("body", s->body),
                                  kiln_arg_int("n_state", 2),
                                  kiln_arg_int("n_scan", 1)};
    KILN_TRY(kiln_import_emit(&s->cx->common, s->cx->op, &kiln_op_scan, s->outer.v,
                              (int)s->outer.n, args, 3, 3, out));
    *y = out[2];
    kiln_tflite_keep(s->cx, s->c, KILN_LSTM_STATE, out[0]);
    kiln_tflite_keep(s->cx, s->c, KILN_LSTM_STATE + 1, out[1]);
    return s->c->status;
}

kiln_status kiln_tflite_lstm_steps(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                                   kiln_value **y) {
    steps s = {.cx = cx, .c = c};
    kiln_value *const w = kiln_tflite_in(cx, KILN_LSTM_W + FORGET);
    kiln_value *const projection = kiln_tflite_in(cx, KILN_LSTM_PROJECTION);
    s.first = kiln_tflite_in(cx, KILN_LSTM_W) == NULL ? FORGET : INPUT;
    if (w == NULL || w->type.rank != 2 || x->type.dtype != KILN_F32 ||
        (projection != NULL && projection->type.rank != 2))
        return kiln_tflite_fail(
            cx, KILN_ERR_SHAPE,
            "weights and projection must have rank 2, and the input "
            "be f32");
    s.hidden = w->type.dim[0];
    const int64_t n = x->type.dim[1];
    kiln_value *const xw = input_products(&s, x);
    kiln_value *const r = stack(&s, KILN_LSTM_R, 2);
    kiln_value *const h =
        begin_with(&s, 0, n, projection != NULL ? projection->type.dim[0] : s.hidden);
    kiln_value *const cell = begin_with(&s, 1, n, s.hidden);
    KILN_TRY(c->status);
    return emit_scan(&s, xw, h, cell, r, y);
}
