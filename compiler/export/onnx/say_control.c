/* Regions, and recurrent networks. */
#include "compiler/export/onnx/say_ops.h"

#include <math.h>
#include <string.h>

/* ---- regions --------------------------------------------------------------------- */

kiln_status kiln_say_op_if(kiln_say *s, const kiln_node *n) {
    static const char *const branch[] = {"then_branch", "else_branch"};
    kiln_str graph[2];
    size_t captured = 1;
    for (int i = 0; i < 2; i++) {
        const kiln_graph *region = kiln_say_attr(s, branch[i])->graph;
        graph[i] = kiln_say_region(s, region, 0, captured);
        captured += region->inputs.n;
    }
    kiln_say_begin(s, "If", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    for (int i = 0; i < 2; i++)
        kiln_say_graph(s, branch[i], graph[i]);
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_scan(kiln_say *s, const kiln_node *n) {
    const int64_t n_scan = kiln_say_attr(s, "n_scan")->i;
    const size_t formal = (size_t)(kiln_say_attr(s, "n_state")->i + n_scan);
    const kiln_graph *body = kiln_say_attr(s, "body")->graph;
    const kiln_str graph = kiln_say_region(s, body, formal, formal);
    kiln_say_begin(s, "Scan", KILN_SAY_BASE_OPSET);
    for (size_t i = 0; i < formal; i++)
        kiln_say_take(s, kiln_say_in(s, (int)i));
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    kiln_say_int(s, "num_scan_inputs", n_scan);
    kiln_say_graph(s, "body", graph);
    kiln_say_end(s);
    return KILN_OK;
}

/* ---- recurrent networks ---------------------------------------------------------- */

/* ONNX's lists hold values for those activations alone that take some. */
static const struct {
    const char *word, *onnx;
    bool has_alpha, has_beta;
} activations[] = {
    {"relu", "Relu", false, false},
    {"tanh", "Tanh", false, false},
    {"sigmoid", "Sigmoid", false, false},
    {"affine", "Affine", true, true},
    {"leaky_relu", "LeakyRelu", true, false},
    {"thresholded_relu", "ThresholdedRelu", true, false},
    {"scaled_tanh", "ScaledTanh", true, true},
    {"hard_sigmoid", "HardSigmoid", true, true},
    {"elu", "Elu", true, false},
    {"softsign", "Softsign", false, false},
    {"softplus", "Softplus", false, false},
};
enum { N_ACTIVATIONS = sizeof activations / sizeof activations[0], MAX_CHOSEN = 8 };

static size_t row_of(const char *word) {
    size_t i = 0;
    while (i < N_ACTIVATIONS && strcmp(activations[i].word, word) != 0)
        i++;
    KILN_ASSERT(i < N_ACTIVATIONS, "activation '%s' has no row", word);
    return i;
}

static const char *const *words_of(const kiln_op_def *op, const char *name) {
    size_t i = 0;
    while (strcmp(op->attr[i].name, name) != 0)
        i++;
    return op->attr[i].choices;
}

static void say_activations(kiln_say *s, const kiln_node *n) {
    const kiln_attr *chosen = kiln_say_attr(s, "activations");
    const kiln_attr *alpha = kiln_say_attr(s, "alpha");
    const kiln_attr *beta = kiln_say_attr(s, "beta");
    const char *const *words = words_of(n->op, "activations");
    const char *name[MAX_CHOSEN];
    double a[MAX_CHOSEN], b[MAX_CHOSEN];
    size_t n_alpha = 0, n_beta = 0;
    KILN_ASSERT(chosen->n <= MAX_CHOSEN, "%zu activations", chosen->n);
    if (chosen->n == 0)
        return;
    for (size_t i = 0; i < chosen->n; i++) {
        const size_t row = row_of(words[chosen->ints[i]]);
        name[i] = activations[row].onnx;
        if (activations[row].has_alpha && i < alpha->n)
            a[n_alpha++] = alpha->floats[i];
        if (activations[row].has_beta && i < beta->n)
            b[n_beta++] = beta->floats[i];
    }
    kiln_say_texts(s, "activations", name, chosen->n);
    if (n_alpha > 0)
        kiln_say_floats(s, "activation_alpha", a, n_alpha);
    if (n_beta > 0)
        kiln_say_floats(s, "activation_beta", b, n_beta);
}

/* After the pass hoist_recurrent x holds the products with the weights: ONNX multiplies
 * once more, by ones where a gate's part of x is, and zeros. */
static kiln_status weights_of(kiln_say *s, const kiln_node *n, const char **out) {
    enum { X, WEIGHTS, RECURRENT };
    const kiln_type *x = &n->in[X]->type, *r = &n->in[RECURRENT]->type;
    const int64_t rows = r->dim[1], all = x->dim[2], dim[] = {r->dim[0], rows, all};
    const kiln_type t = kiln_type_make(x->dtype, 3, dim);
    if (kiln_say_has_in(s, WEIGHTS)) {
        *out = kiln_say_in(s, WEIGHTS);
        return KILN_OK;
    }
    const kiln_status st = kiln_type_check(&t, NULL) == KILN_OK
                               ? kiln_say_may_make(s, &t)
                               : KILN_ERR_LIMIT;
    if (st != KILN_OK)
        return kiln_say_refuse(s,
                               "its weights were multiplied before it by a pass, and "
                               "ones in their place are too many; export without "
                               "--passes");
    kiln_wide w = kiln_wide_new(s->arena, &t);
    const kiln_tensor ones = kiln_tensor_new(s->arena, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w.f[i] = i / all == i % all;
    kiln_narrow(&w, ones.data);
    *out = kiln_say_constant_of(s, kiln_format(s->arena, "%s/ones", n->name), &t,
                                ones.data);
    return KILN_OK;
}

kiln_status kiln_say_op_recurrent(kiln_say *s, const kiln_node *n) {
    enum { WEIGHTS = 1, RECURRENT = 2 };
    const double clip = kiln_say_attr(s, "clip")->f;
    const char *weights = NULL;
    KILN_TRY(weights_of(s, n, &weights));
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    for (int i = 0; i < n->n_in; i++)
        kiln_say_take(s, i == WEIGHTS ? weights : kiln_say_in(s, i));
    kiln_say_text(s, "direction", kiln_say_word(s, "direction"));
    kiln_say_int(s, "hidden_size", n->in[RECURRENT]->type.dim[2]);
    say_activations(s, n);
    if (clip != HUGE_VAL)
        kiln_say_float(s, "clip", clip);
    if (n->op == &kiln_op_gru)
        kiln_say_int(s, "linear_before_reset",
                     kiln_say_attr(s, "linear_before_reset")->i);
    if (n->op == &kiln_op_lstm)
        kiln_say_int(s, "input_forget", kiln_say_attr(s, "input_forget")->i);
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    kiln_say_end(s);
    return KILN_OK;
}
