/* lstm: long short-term memory. Gates in the order input i, output o, forget f, cell g;
 * peepholes i, o, f.
 *
 * i = f(wi x + ri h + pi . c + biases), f likewise (or 1 - i with input_forget), g =
 * g(wg x + rg h + biases), c = f . c + i . g, o = f(wo x + ro h + po . c + biases) with
 * the new c, h = o . h(c). Source: ONNX LSTM-22; Hochreiter and Schmidhuber (Neural
 * Computation 9, 1997), Gers and Schmidhuber (2000).
 */
#include <math.h>

#include "compiler/graph/op/recurrent.h"

enum { INPUT_FORGET = KILN_RNN_N_ATTR, N_ATTR };
enum { GATE_I, GATE_O, GATE_F, GATE_G, N_GATES };
enum { PEEP_I, PEEP_O, PEEP_F };
enum { ACT_GATE, ACT_CELL, ACT_OUT };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_RNN_ATTRS,
    {.name = "input_forget",
     .kind = KILN_ATTR_BOOL,
     .doc = "the forget gate is 1 - the input gate"},
};

static double peep(const kiln_rnn_run *run, int which, int64_t i, double c) {
    return run->peepholes != NULL ? run->peepholes[which * run->hidden + i] * c : 0.0;
}

static void step(const kiln_rnn_run *run, const double *xw, double *h, double *c) {
    const int64_t n = run->hidden;
    for (int64_t i = 0; i < N_GATES * n; i++)
        run->gates[i] = kiln_rnn_gate(run, xw, h, i);
    for (int64_t i = 0; i < n; i++) {
        const double *gate = run->gates + i;
        const double in = kiln_rnn_activate(
            run, ACT_GATE, gate[GATE_I * n] + peep(run, PEEP_I, i, c[i]));
        const double forget =
            run->attr[INPUT_FORGET].i != 0
                ? 1.0 - in
                : kiln_rnn_activate(run, ACT_GATE,
                                    gate[GATE_F * n] + peep(run, PEEP_F, i, c[i]));
        c[i] = forget * c[i] + in * kiln_rnn_activate(run, ACT_CELL, gate[GATE_G * n]);
        const double out = kiln_rnn_activate(
            run, ACT_GATE, gate[GATE_O * n] + peep(run, PEEP_O, i, c[i]));
        h[i] = out * kiln_rnn_activate(run, ACT_OUT, c[i]);
    }
}

static const kiln_rnn_cell cell = {
    .gates = N_GATES,
    .n_activations = 3,
    .usual = {KILN_RNN_SIGMOID, KILN_RNN_TANH, KILN_RNN_TANH},
    .has_c = true,
    .step = step};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return kiln_infer_recurrent(n, &cell, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_recurrent(n, cx, &cell);
}

const kiln_op_def kiln_op_lstm = {
    .name = "lstm",
    .doc = "Long short-term memory: c = f * c + i * g, h = o * h(c) with gates i, o, f "
           "and g.",
    .n_in_min = 3,
    .n_in_max = 8,
    .n_out_min = 1,
    .n_out_max = 3,
    .in_names = (const char *const[]){"x", "w", "r", "bias", "lengths", "initial_h",
                                      "initial_c", "peepholes", NULL},
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
