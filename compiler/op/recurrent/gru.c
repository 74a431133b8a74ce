/* gru: gated recurrent unit. Gates in the order update z, reset r, hidden n.
 *
 * z = f(wz x + rz h + biases), r = f(wr x + rr h + biases), n = g(wn x + rn (r . h) +
 * biases) or, with linear_before_reset, n = g(wn x + wbn + r . (rn h + rbn)); h = (1 -
 * z) . n + z . h. Source: ONNX GRU-22; Cho et al. (arXiv:1406.1078).
 */
#include <math.h>

#include "compiler/op/recurrent/recurrent.h"
#include "compiler/op/recurrent/recurrent_expr.h"

enum { LINEAR_BEFORE_RESET = KILN_RNN_N_ATTR, N_ATTR };
enum { GATE_Z, GATE_R, GATE_N, N_GATES };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_RNN_ATTRS,
    {.name = "linear_before_reset",
     .kind = KILN_ATTR_BOOL,
     .doc = "the reset gate acts on the product with r, not on the hidden state"},
};

static double candidate(const kiln_rnn_run *run, const double *xw, const double *h,
                        const double *reset_h, int64_t i) {
    const int64_t row = GATE_N * run->hidden + i;
    const double w_bias = run->w_bias != NULL ? run->w_bias[row] : 0.0;
    const double r_bias = run->r_bias != NULL ? run->r_bias[row] : 0.0;
    const double reset = run->gates[GATE_R * run->hidden + i];
    const double from_h = run->attr[LINEAR_BEFORE_RESET].i != 0
                              ? reset * (kiln_rnn_product(run, h, row) + r_bias)
                              : kiln_rnn_product(run, reset_h, row) + r_bias;
    return kiln_rnn_activate(run, 1, xw[row] + w_bias + from_h);
}

static void step(const kiln_rnn_run *run, const double *xw, double *h, double *c) {
    const int64_t n = run->hidden;
    double *gate = run->gates;
    for (int64_t i = 0; i < GATE_N * n; i++)
        gate[i] = kiln_rnn_activate(run, 0, kiln_rnn_gate(run, xw, h, i));
    double *reset_h = c; /* a gru has no cell state: its storage serves here */
    for (int64_t i = 0; i < n; i++)
        reset_h[i] = gate[GATE_R * n + i] * h[i];
    for (int64_t i = 0; i < n; i++)
        gate[GATE_N * n + i] = candidate(run, xw, h, reset_h, i);
    for (int64_t i = 0; i < n; i++) {
        const double z = gate[GATE_Z * n + i];
        h[i] = (1.0 - z) * gate[GATE_N * n + i] + z * h[i];
    }
}

/* gate[g] = activation k of what x and `from_h` give. */
static const kiln_stmt *activate(const kiln_rnn_program *p, int g, int k,
                                 const kiln_expr *from_h, const kiln_expr *i) {
    kiln_arena *a = p->a;
    const kiln_expr *v = kiln_x_add(a, kiln_rnn_from_x(p, g, i), from_h);
    return kiln_s_both(
        a, kiln_rnn_gate_set(p, g, i, v),
        kiln_rnn_gate_set(p, g, i, kiln_rnn_act(p, k, kiln_rnn_gate_at(p, g, i))));
}

/* z and r in place of their gates. */
static const kiln_stmt *gates(const kiln_rnn_program *p, const kiln_expr *i) {
    return kiln_s_both(p->a, activate(p, GATE_Z, 0, kiln_rnn_gate_at(p, GATE_Z, i), i),
                       activate(p, GATE_R, 0, kiln_rnn_gate_at(p, GATE_R, i), i));
}

static const kiln_stmt *new_state(const kiln_rnn_program *p, const kiln_expr *from_h,
                                  const kiln_expr *i) {
    kiln_arena *a = p->a;
    const kiln_expr *z = kiln_rnn_gate_at(p, GATE_Z, i);
    const kiln_expr *rest = kiln_x_sub(a, kiln_x_like(a, z, 1), z);
    const kiln_expr *h =
        kiln_x_add(a, kiln_x_mul(a, rest, kiln_rnn_gate_at(p, GATE_N, i)),
                   kiln_x_mul(a, z, kiln_rnn_at(p, p->h, i)));
    return kiln_s_both(a, activate(p, GATE_N, 1, from_h, i),
                       kiln_rnn_set(p, p->h, i, h));
}

static const kiln_stmt *program(const kiln_rnn_program *p) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64), *jv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv), *j = kiln_x_ref(a, jv);
    const kiln_expr *r = kiln_rnn_gate_at(p, GATE_R, i);
    if (p->attr[LINEAR_BEFORE_RESET].i != 0) {
        const kiln_expr *from_h = kiln_x_mul(a, r, kiln_rnn_gate_at(p, GATE_N, i));
        const kiln_stmt *unit = kiln_s_both(a, gates(p, i), new_state(p, from_h, i));
        return kiln_s_both(a, kiln_rnn_products(p, p->h, 0, N_GATES),
                           kiln_rnn_each_unit(p, iv, unit, true));
    }
    const kiln_stmt *reset =
        kiln_rnn_set(p, p->c, i, kiln_x_mul(a, r, kiln_rnn_at(p, p->h, i)));
    const kiln_stmt *const s[] = {
        kiln_rnn_products(p, p->h, 0, GATE_N),
        kiln_rnn_each_unit(p, iv, kiln_s_both(a, gates(p, i), reset), false),
        kiln_rnn_products(p, p->c, GATE_N, N_GATES),
        kiln_rnn_each_unit(p, jv, new_state(p, kiln_rnn_gate_at(p, GATE_N, j), j),
                           true)};
    return kiln_s_seq(a, s, 4);
}

static const kiln_rnn_cell cell = {.gates = N_GATES,
                                   .n_activations = 2,
                                   .usual = {KILN_RNN_SIGMOID, KILN_RNN_TANH},
                                   .step = step,
                                   .program = program};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return kiln_infer_recurrent(n, &cell, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_recurrent(n, cx, &cell);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    return kiln_compute_recurrent(n, cx, &cell);
}

const kiln_op_def kiln_op_gru = {
    KILN_ROW_RECURRENT,
    .name = "gru",
    .doc = "Gated recurrent unit: h = (1 - z) * n + z * h with gates z, r and n.",
    .n_in_max = 6,
    .n_out_max = 2,
    .in_names =
        (const char *const[]){"x", "w", "r", "bias", "lengths", "initial_h", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
