/* gru: gated recurrent unit. Gates in the order update z, reset r, hidden n.
 *
 * z = f(wz x + rz h + biases), r = f(wr x + rr h + biases), n = g(wn x + rn (r . h) +
 * biases) or, with linear_before_reset, n = g(wn x + wbn + r . (rn h + rbn)); h = (1 -
 * z) . n + z . h. Source: ONNX GRU-22; Cho et al. (arXiv:1406.1078).
 */
#include <math.h>

#include "compiler/graph/op/recurrent.h"

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

static const kiln_rnn_cell cell = {.gates = N_GATES,
                                   .n_activations = 2,
                                   .usual = {KILN_RNN_SIGMOID, KILN_RNN_TANH},
                                   .step = step};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return kiln_infer_recurrent(n, &cell, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_recurrent(n, cx, &cell);
}

const kiln_op_def kiln_op_gru = {
    .name = "gru",
    .doc = "Gated recurrent unit: h = (1 - z) * n + z * h with gates z, r and n.",
    .n_in_min = 3,
    .n_in_max = 6,
    .n_out_min = 1,
    .n_out_max = 2,
    .in_names =
        (const char *const[]){"x", "w", "r", "bias", "lengths", "initial_h", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = kiln_cost_recurrent,
    .error_bound = kiln_bound_recurrent,
};
