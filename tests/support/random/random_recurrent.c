#include "tests/support/random/random_recurrent.h"

#include <math.h>

#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES, MAX_IN };
enum { MAX_ACTIVATIONS = 6 };

typedef struct maker {
    kiln_graph *g;
    kiln_rng *rng;
    kiln_dtype dtype;
    uint64_t seed;
    kiln_value *in[MAX_IN];
} maker;

static bool maybe(const maker *m) { return kiln_rng_range(m->rng, 0, 1) == 1; }

static void operand(maker *m, int k, const char *name, bool is_const, int rank,
                    const int64_t *dim) {
    const kiln_type t = kiln_type_make(m->dtype, rank, dim);
    m->in[k] = random_operand(m->g, name, &t, is_const, ++m->seed);
}

/* Lengths are constants: random ones would be refused. */
static void lengths(maker *m, int64_t batch, int64_t steps) {
    const kiln_type t = kiln_type_make(KILN_I32, 1, &batch);
    int32_t *n = kiln_tensor_new(m->g->arena, &t).data;
    for (int64_t i = 0; i < batch; i++)
        n[i] = (int32_t)kiln_rng_range(m->rng, 0, steps);
    m->in[LENGTHS] = kiln_graph_add_const(m->g, "lengths", &t, n);
}

static void optional_inputs(maker *m, bool is_lstm, int64_t d, int64_t batch,
                            int64_t hidden, int64_t rows) {
    const int64_t state[] = {d, batch, hidden};
    if (maybe(m))
        operand(m, BIAS, "bias", maybe(m), 2, (const int64_t[]){d, 2 * rows});
    if (maybe(m))
        operand(m, INITIAL_H, "h", false, 3, state);
    if (is_lstm && maybe(m))
        operand(m, INITIAL_C, "c", false, 3, state);
    if (is_lstm && maybe(m))
        operand(m, PEEPHOLES, "peepholes", maybe(m), 2,
                (const int64_t[]){d, 3 * hidden});
}

/* With a clip, so that states stay small whatever the activations are. */
static void add_cell(maker *m, const kiln_op_def *op, int64_t d, int n_activations,
                     const char *direction) {
    static const char *const all[] = {"relu",        "tanh",         "sigmoid",
                                      "affine",      "leaky_relu",   "thresholded_relu",
                                      "scaled_tanh", "hard_sigmoid", "elu",
                                      "softsign",    "softplus"};
    const char *words[MAX_ACTIVATIONS];
    const size_t n = maybe(m) ? (size_t)(n_activations * d) : 0;
    for (size_t i = 0; i < n; i++)
        words[i] = all[kiln_rng_range(m->rng, 0, 10)];
    kiln_attr_arg args[5] = {kiln_arg_word("direction", direction),
                             kiln_arg_words("activations", words, n),
                             kiln_arg_float("clip", n > 0      ? 1.5
                                                    : maybe(m) ? 0.75
                                                               : (double)INFINITY)};
    size_t n_args = 3;
    if (op == &kiln_op_gru)
        args[n_args++] = kiln_arg_bool("linear_before_reset", maybe(m));
    if (op == &kiln_op_lstm)
        args[n_args++] = kiln_arg_bool("input_forget", maybe(m));
    const kiln_node_spec spec = {.op = op,
                                 .in = m->in,
                                 .n_in = op->n_in_max,
                                 .args = args,
                                 .n_args = n_args,
                                 .n_out =
                                     (int)kiln_rng_range(m->rng, 1, op->n_out_max)};
    kiln_node *node = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_add_node(m->g, &spec, &node, &err), &err);
    for (int i = 0; i < node->n_out; i++)
        kiln_graph_add_output(m->g, node->out[i], "y");
}

kiln_graph *random_recurrent_graph(kiln_arena *a, kiln_rng *rng,
                                   const random_recurrent *o) {
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    static const int64_t sizes[] = {1, 3, 8, 15, 16, 17, 33};
    const int gates = o->op == &kiln_op_rnn ? 1 : o->op == &kiln_op_gru ? 3 : 4;
    const int n_activations = o->op == &kiln_op_rnn ? 1 : o->op == &kiln_op_gru ? 2 : 3;
    const int64_t which = kiln_rng_range(rng, 0, 2), d = which == 2 ? 2 : 1;
    const int64_t steps = kiln_rng_range(rng, 1, 3), batch = kiln_rng_range(rng, 1, 6);
    const int64_t k = kiln_rng_range(rng, 1, 9);
    const int64_t hidden = o->hidden > 0 ? o->hidden : random_pick(rng, sizes, 7);
    const int64_t rows = gates * hidden;
    maker m = {.g = kiln_graph_new(a, "cell"), .rng = rng, .dtype = o->dtype};
    m.seed = (uint64_t)kiln_rng_range(rng, 0, 1 << 20);
    operand(&m, X, "x", false, 3,
            (const int64_t[]){steps, batch, o->is_hoisted ? d * rows : k});
    if (!o->is_hoisted)
        operand(&m, W, "w", true, 3, (const int64_t[]){d, rows, k});
    operand(&m, R, "r", true, 3, (const int64_t[]){d, rows, hidden});
    optional_inputs(&m, o->op == &kiln_op_lstm, d, batch, hidden, rows);
    if (maybe(&m))
        lengths(&m, batch, steps);
    add_cell(&m, o->op, d, n_activations, directions[which]);
    return m.g;
}
