/* lstm: long short-term memory. Gates in the order input i, output o, forget f, cell g;
 * peepholes i, o, f.
 *
 * i = f(wi x + ri h + pi . c + biases), f likewise (or 1 - i with input_forget), g =
 * g(wg x + rg h + biases), c = f . c + i . g, o = f(wo x + ro h + po . c + biases) with
 * the new c, h = o . h(c). Source: ONNX LSTM-22; Hochreiter and Schmidhuber (Neural
 * Computation 9, 1997), Gers and Schmidhuber (2000).
 */
#include <math.h>

#include "compiler/op/recurrent/recurrent.h"
#include "base/fault.h"
#include "compiler/op/recurrent/recurrent_expr.h"

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

/* gate[g] = activation k of what x, h and the peephole `which` (below 0: none) of c
 * give. */
static const kiln_stmt *activate(const kiln_rnn_program *p, int g, int k, int which,
                                 const kiln_expr *i) {
    kiln_arena *a = p->a;
    const kiln_expr *v =
        kiln_x_add(a, kiln_rnn_from_x(p, g, i), kiln_rnn_gate_at(p, g, i));
    if (p->peepholes != NULL && which >= 0) {
        const kiln_expr *at[2] = {p->direction,
                                  kiln_x_add(a, kiln_x_index(a, which * p->hidden), i)};
        v = kiln_x_add(a, v,
                       kiln_x_mul(a, kiln_x_load(a, p->peepholes, at, 2, NULL),
                                  kiln_rnn_at(p, p->c, i)));
    }
    return kiln_s_both(
        a, kiln_rnn_gate_set(p, g, i, v),
        kiln_rnn_gate_set(p, g, i, kiln_rnn_act(p, k, kiln_rnn_gate_at(p, g, i))));
}

static const kiln_stmt *program(const kiln_rnn_program *p) {
    kiln_arena *a = p->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const bool is_coupled = p->attr[INPUT_FORGET].i != 0;
    const kiln_expr *in = kiln_rnn_gate_at(p, GATE_I, i);
    const kiln_expr *forget =
        is_coupled ? kiln_x_sub(a, kiln_x_like(a, in, 1), in)
                   : kiln_rnn_gate_at(p, KILN_FAULT(lstm_gates) ? GATE_O : GATE_F, i);
    const kiln_expr *c = kiln_x_add(a, kiln_x_mul(a, forget, kiln_rnn_at(p, p->c, i)),
                                    kiln_x_mul(a, in, kiln_rnn_gate_at(p, GATE_G, i)));
    const kiln_expr *h = kiln_x_mul(a, kiln_rnn_gate_at(p, GATE_O, i),
                                    kiln_rnn_act(p, ACT_OUT, kiln_rnn_at(p, p->c, i)));
    const kiln_stmt *const unit[] = {
        activate(p, GATE_I, ACT_GATE, PEEP_I, i),
        is_coupled ? kiln_s_nothing(a) : activate(p, GATE_F, ACT_GATE, PEEP_F, i),
        activate(p, GATE_G, ACT_CELL, -1, i),
        kiln_rnn_set(p, p->c, i, c),
        activate(p, GATE_O, ACT_GATE, PEEP_O, i), /* of the new c */
        kiln_rnn_set(p, p->h, i, h)};
    return kiln_s_both(
        a, kiln_rnn_products(p, p->h, 0, N_GATES),
        kiln_rnn_each_unit(p, iv, kiln_s_seq(a, unit, (int)KILN_COUNT(unit)), true));
}

static const kiln_rnn_cell cell = {
    .gates = N_GATES,
    .n_activations = 3,
    .usual = {KILN_RNN_SIGMOID, KILN_RNN_TANH, KILN_RNN_TANH},
    .has_c = true,
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

const kiln_op_def kiln_op_lstm = {
    KILN_ROW_RECURRENT,
    .name = "lstm",
    .doc = "Long short-term memory: c = f * c + i * g, h = o * h(c) with gates i, o, f "
           "and g.",
    .n_in_max = 8,
    .n_out_max = 3,
    .in_names = (const char *const[]){"x", "w", "r", "bias", "lengths", "initial_h",
                                      "initial_c", "peepholes", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
