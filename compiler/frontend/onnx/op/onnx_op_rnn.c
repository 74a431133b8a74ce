/* Importers of RNN (7, 14, 22), GRU (7, 14, 22) and LSTM (7, 14, 22).
 *
 * Layout 1 (batch first, version 14) is transposed to layout 0 around the operator. The
 * graph's operators have all inputs in ONNX's order.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/frontend/onnx/onnx_recurrent.h"

enum { MAX_OUT = 3, MAX_ACTIVATIONS = 6 };
enum { X_IN = 0, FIRST_STATE_IN = 5, LAST_STATE_IN = 6 };

/* ONNX's spelling and ours; which of activation_alpha and activation_beta the function
 * takes, and its usual values where a list is too short. */
typedef struct activation {
    const char *onnx, *word;
    bool has_alpha, has_beta;
    double alpha, beta;
} activation;
static const activation activations[] = {
    {"Relu", "relu", false, false, 0, 0},
    {"Tanh", "tanh", false, false, 0, 0},
    {"Sigmoid", "sigmoid", false, false, 0, 0},
    {"Affine", "affine", true, true, 1, 0},
    {"LeakyRelu", "leaky_relu", true, false, 0.01, 0},
    {"ThresholdedRelu", "thresholded_relu", true, false, 1, 0},
    {"ScaledTanh", "scaled_tanh", true, true, 1, 1},
    {"HardSigmoid", "hard_sigmoid", true, true, 0.2, 0.5},
    {"Elu", "elu", true, false, 1, 0},
    {"Softsign", "softsign", false, false, 0, 0},
    {"Softplus", "softplus", false, false, 0, 0},
};
enum { N_ACTIVATIONS = sizeof activations / sizeof activations[0] };

/* Exporters write the names in any case. */
static bool same_word(kiln_str a, const char *b) {
    size_t i = 0;
    for (; i < a.n && b[i] != '\0'; i++) {
        const char lower_a =
            (char)(a.p[i] >= 'A' && a.p[i] <= 'Z' ? a.p[i] + 32 : a.p[i]);
        const char lower_b = (char)(b[i] >= 'A' && b[i] <= 'Z' ? b[i] + 32 : b[i]);
        if (lower_a != lower_b)
            return false;
    }
    return i == a.n && b[i] == '\0';
}

static const activation *find_activation(kiln_str name) {
    for (size_t i = 0; i < N_ACTIVATIONS; i++) {
        if (same_word(name, activations[i].onnx))
            return &activations[i];
    }
    return NULL;
}

typedef struct chosen {
    const char *words[MAX_ACTIVATIONS];
    double alpha[MAX_ACTIVATIONS], beta[MAX_ACTIVATIONS];
    size_t n;
} chosen;

/* The lists hold values for those activations that take some, in their order. */
static kiln_status read_activations(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                    chosen *c) {
    const kiln_str *names;
    const double *alpha, *beta;
    size_t next_alpha = 0, next_beta = 0;
    const size_t n_names = kiln_onnx_attr_strings(cx, n, "activations", &names);
    const size_t n_alpha = kiln_onnx_attr_floats(cx, n, "activation_alpha", &alpha);
    const size_t n_beta = kiln_onnx_attr_floats(cx, n, "activation_beta", &beta);
    *c = (chosen){.n = n_names};
    if (n_names > MAX_ACTIVATIONS)
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "attribute 'activations' must have at most %d names, has %zu",
            (int)MAX_ACTIVATIONS, n_names);
    for (size_t i = 0; i < n_names; i++) {
        const activation *a = find_activation(names[i]);
        if (a == NULL)
            return kiln_onnx_fail(
                cx, KILN_ERR_PARSE,
                "attribute 'activations' must name activations of RNN-22, has '%s'",
                kiln_str_printable(kiln_onnx_arena(cx), names[i], 40));
        c->words[i] = a->word;
        c->alpha[i] =
            a->has_alpha && next_alpha < n_alpha ? alpha[next_alpha++] : a->alpha;
        c->beta[i] = a->has_beta && next_beta < n_beta ? beta[next_beta++] : a->beta;
    }
    return KILN_OK;
}

static kiln_status read_direction(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  const char **out) {
    static const char *const words[] = {"forward", "reverse", "bidirectional"};
    const kiln_str given = kiln_onnx_attr_s(cx, n, "direction", "forward");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (same_word(given, words[i])) {
            *out = words[i];
            return KILN_OK;
        }
    }
    return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                          "attribute 'direction' must be forward, reverse or "
                          "bidirectional, is '%s'",
                          kiln_str_printable(kiln_onnx_arena(cx), given, 40));
}

/* Batch first to steps first: x and the states swap their first two axes. */
static kiln_status turn_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               kiln_value **in) {
    static const int64_t perm[] = {1, 0, 2};
    for (int i = 0; i <= LAST_STATE_IN; i++) {
        if (in[i] == NULL || (i != X_IN && i < FIRST_STATE_IN))
            continue;
        if (in[i]->type.rank != 3)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "input %d must have rank 3 for layout 1, has %d", i,
                                  in[i]->type.rank);
        KILN_TRY(kiln_onnx_transpose(cx, n, in[i], perm, &in[i]));
    }
    return KILN_OK;
}

static kiln_status set_outputs(kiln_onnx_cx *cx, const kiln_onnx_node *n, bool turned,
                               kiln_value **out, int n_out) {
    static const int64_t y_perm[] = {2, 0, 1, 3}, state_perm[] = {1, 0, 2};
    for (int i = 0; i < n_out; i++) {
        if (!kiln_onnx_wants(n, i))
            continue;
        if (turned)
            KILN_TRY(kiln_onnx_transpose(cx, n, out[i], i == 0 ? y_perm : state_perm,
                                         &out[i]));
        kiln_onnx_set(cx, n, i, out[i]);
    }
    return KILN_OK;
}

static kiln_status check_hidden(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_value *r) {
    if (!kiln_onnx_has_attr(n, "hidden_size") || r->type.rank != 3)
        return KILN_OK;
    const int64_t hidden = kiln_onnx_attr_i(cx, n, "hidden_size", 0);
    if (hidden == r->type.dim[2])
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "attribute 'hidden_size' must be the last axis of R, %" PRId64
                          ", is %" PRId64,
                          r->type.dim[2], hidden);
}

kiln_status kiln_onnx_emit_recurrent(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                     const kiln_op_def *op, kiln_value **in) {
    kiln_value *out[MAX_OUT];
    chosen c;
    const char *direction = NULL;
    KILN_ASSERT(in[0] != NULL && in[1] != NULL && in[2] != NULL,
                "'%s' without its weights", op->name);
    KILN_TRY(check_hidden(cx, n, in[2]));
    KILN_TRY(read_activations(cx, n, &c));
    KILN_TRY(read_direction(cx, n, &direction));
    const bool turned = kiln_onnx_attr_i(cx, n, "layout", 0) != 0;
    if (turned)
        KILN_TRY(turn_inputs(cx, n, in));
    kiln_attr_arg args[6] = {
        kiln_arg_word("direction", direction),
        kiln_arg_words("activations", c.words, c.n),
        kiln_arg_floats("alpha", c.alpha, c.n),
        kiln_arg_floats("beta", c.beta, c.n),
        kiln_arg_float("clip", kiln_onnx_attr_f(cx, n, "clip", (double)INFINITY)),
    };
    size_t n_args = 5;
    if (op == &kiln_op_gru)
        args[n_args++] =
            kiln_arg_bool("linear_before_reset",
                          kiln_onnx_attr_i(cx, n, "linear_before_reset", 0) != 0);
    if (op == &kiln_op_lstm)
        args[n_args++] = kiln_arg_bool("input_forget",
                                       kiln_onnx_attr_i(cx, n, "input_forget", 0) != 0);
    int n_out = 1;
    for (int i = 1; i < op->n_out_max; i++)
        n_out = kiln_onnx_wants(n, i) ? i + 1 : n_out;
    KILN_TRY(kiln_onnx_emit(cx, n, op, in, op->n_in_max, args, n_args, n_out, out));
    return set_outputs(cx, n, turned, out, n_out);
}

/* The row's operator says which of the three it is; lstm has two inputs and one output
 * more. */
kiln_status kiln_onnx_import_recurrent(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_op_def *op = kiln_onnx_row(cx)->op;
    kiln_value *in[KILN_ONNX_RECURRENT_IN] = {NULL};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &in[1]));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "R", &in[2]));
    for (int i = 3; i < op->n_in_max; i++)
        in[i] = kiln_onnx_in(cx, n, i);
    return kiln_onnx_emit_recurrent(cx, n, op, in);
}
