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
#include "compiler/graph/op/recurrent_expr.h"

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

/* Pre-activation of gate g, with the peephole `which` (below 0: none) of c. */
static const kiln_expr *input_of(const kiln_rnn_program *p, int g, int which,
                                 const kiln_expr *i, const kiln_expr *c) {
    kiln_arena *a = p->a;
    const kiln_expr *v =
        kiln_x_add(a, kiln_rnn_from_x(p, g, i), kiln_rnn_gate_at(p, g, i));
    if (p->peepholes == NULL || which < 0)
        return v;
    const kiln_expr *at[2] = {p->xw_at[1],
                              kiln_x_add(a, kiln_x_index(a, which * p->hidden), i)};
    return kiln_x_add(a, v,
                      kiln_x_mul(a, kiln_x_load(a, p->peepholes, at, 2, NULL), c));
}

static const kiln_stmt *program(const kiln_rnn_program *p) {
    kiln_arena *a = p->a;
    kiln_lets l = {.a = a};
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *i = kiln_x_ref(a, iv);
    const kiln_expr *c = kiln_lets_add(&l, "c", kiln_rnn_at(p, p->c, i));
    const kiln_expr *v = kiln_lets_add(&l, "vi", input_of(p, GATE_I, PEEP_I, i, c));
    const kiln_expr *in = kiln_lets_add(&l, "in", kiln_rnn_act(p, ACT_GATE, v));
    const kiln_expr *forget = kiln_x_sub(a, kiln_x_like(a, in, 1), in);
    if (p->attr[INPUT_FORGET].i == 0) {
        v = kiln_lets_add(&l, "vf", input_of(p, GATE_F, PEEP_F, i, c));
        forget = kiln_rnn_act(p, ACT_GATE, v);
    }
    v = kiln_lets_add(&l, "vg", input_of(p, GATE_G, -1, i, c));
    const kiln_expr *fresh = kiln_x_mul(a, in, kiln_rnn_act(p, ACT_CELL, v));
    const kiln_expr *next =
        kiln_lets_add(&l, "next", kiln_x_add(a, kiln_x_mul(a, forget, c), fresh));
    v = kiln_lets_add(&l, "vo", input_of(p, GATE_O, PEEP_O, i, next));
    const kiln_expr *h =
        kiln_x_mul(a, kiln_rnn_act(p, ACT_GATE, v), kiln_rnn_act(p, ACT_OUT, next));
    const kiln_stmt *put =
        kiln_s_both(a, kiln_rnn_set(p, p->c, i, next), kiln_rnn_set(p, p->h, i, h));
    return kiln_s_both(
        a, kiln_rnn_products(p, p->h, 0, N_GATES),
        kiln_s_times(a, iv, kiln_x_index(a, p->hidden), kiln_lets_around(&l, put)));
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
    .compute = compute,
};
