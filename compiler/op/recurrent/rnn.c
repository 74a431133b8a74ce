/* rnn: h = f(w * x + r * h + biases), step by step. Source: ONNX RNN-22; Elman
 * (Cognitive Science 14, 1990). */
#include <math.h>

#include "compiler/op/recurrent/recurrent.h"
#include "compiler/op/recurrent/recurrent_expr.h"

static const kiln_attr_def attrs[KILN_RNN_N_ATTR] = {KILN_RNN_ATTRS};

static void step(const kiln_rnn_run *run, const double *xw, double *h, double *c) {
    (void)c;
    for (int64_t i = 0; i < run->hidden; i++)
        run->gates[i] = kiln_rnn_activate(run, 0, kiln_rnn_gate(run, xw, h, i));
    for (int64_t i = 0; i < run->hidden; i++)
        h[i] = run->gates[i];
}

static const kiln_stmt *program(const kiln_rnn_program *p) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const kiln_expr *v =
        kiln_x_add(a, kiln_rnn_from_x(p, 0, i), kiln_rnn_gate_at(p, 0, i));
    const kiln_expr *h = kiln_rnn_act(p, 0, kiln_rnn_gate_at(p, 0, i));
    const kiln_stmt *unit =
        kiln_s_both(a, kiln_rnn_gate_set(p, 0, i, v), kiln_rnn_set(p, p->h, i, h));
    return kiln_s_both(a, kiln_rnn_products(p, p->h, 0, 1),
                       kiln_rnn_each_unit(p, iv, unit, true));
}

static const kiln_rnn_cell cell = {.gates = 1,
                                   .n_activations = 1,
                                   .usual = {KILN_RNN_TANH},
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

const kiln_op_def kiln_op_rnn = {
    KILN_ROW_RECURRENT,
    .name = "rnn",
    .doc = "Simple recurrent network: h = f(w * x + r * h + biases).",
    .n_in_max = 6,
    .n_out_max = 2,
    .in_names =
        (const char *const[]){"x", "w", "r", "bias", "lengths", "initial_h", NULL},
    .attr = attrs,
    .n_attr = KILN_RNN_N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
