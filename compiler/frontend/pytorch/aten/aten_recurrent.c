/* Makers of recurrent networks of several layers. PyTorch has weights [gates * H, in],
 * of LSTM in the order input, forget, cell, output, of GRU reset, update, new; kiln's
 * operators have input, output, forget, cell and update, reset, new.
 * Source: PyTorch's documentation of torch.nn.LSTM, GRU and RNN. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

enum { MAX_GATES = 4, MAX_WEIGHTS = 5, X = 0, W, R, BIAS, LENGTHS, H0, C0, N_IN };

typedef struct network {
    const kiln_op_def *op;
    const char *word; /* rnn: its activation */
    int gates;
    const int *order; /* gate i of the operator is gate order[i] of PyTorch */
    int64_t layers, hidden;
    int directions, per_cell; /* weights of a layer in one direction */
    bool has_bias, batch_first;
    kiln_value **weight;
    size_t n_weights;
    kiln_value *state[2]; /* h0 and c0: [layers * directions, N, H] */
    int n_states;
} network;

/* w [gates * H, ...] with its gates in the operator's order. */
static kiln_value *ordered(kiln_aten_args *k, const network *n, kiln_value *w) {
    kiln_value *part[MAX_GATES];
    const kiln_attr_arg arg = kiln_arg_int("axis", 0);
    if (n->gates == 1)
        return w;
    for (int i = 0; i < n->gates; i++)
        part[i] =
            kiln_compose_slice(&k->c, w, 0, n->order[i] * n->hidden, 1, n->hidden);
    return kiln_compose_op(&k->c, &kiln_op_concat, part, n->gates, &arg, 1);
}

/* Both directions of one weight: [directions, gates * H, ...]. */
static kiln_value *of_layer(kiln_aten_args *k, const network *n, int64_t layer,
                            int which) {
    kiln_value *part[2];
    const kiln_attr_arg arg = kiln_arg_int("axis", 0);
    for (int d = 0; d < n->directions; d++) {
        const int64_t at = (layer * n->directions + d) * n->per_cell + which;
        int64_t dim[3] = {1};
        kiln_value *const w = ordered(k, n, n->weight[at]);
        for (int i = 0; i < w->type.rank && i < 2; i++)
            dim[i + 1] = w->type.dim[i];
        part[d] = kiln_compose_reshape(&k->c, w, w->type.rank + 1, dim);
    }
    return n->directions == 1
               ? part[0]
               : kiln_compose_op(&k->c, &kiln_op_concat, part, 2, &arg, 1);
}

static kiln_status check_weights(kiln_aten_args *k, const network *n) {
    const int64_t cells = n->layers * n->directions;
    const int64_t wide = n->gates * n->hidden;
    bool fits = n->n_weights == (size_t)(cells * n->per_cell);
    for (size_t i = 0; fits && i < n->n_weights; i++) {
        const kiln_type *const t = &n->weight[i]->type;
        const bool is_matrix = i % (size_t)n->per_cell < 2;
        fits = t->rank == (is_matrix ? 2 : 1) && t->dim[0] == wide;
    }
    if (!fits)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: %zu weights of %" PRId64 " layers with %d gates of %" PRId64
                       " are not read (projections are not)",
                       k->row->name, n->n_weights, n->layers, n->gates, n->hidden);
    return k->c.status;
}

static kiln_status read_network(kiln_aten_args *k, network *n) {
    enum { MAX_LAYERS = 1024 };
    n->has_bias = kiln_aten_bool(k, "has_biases");
    n->layers = kiln_aten_int(k, "num_layers");
    n->directions = kiln_aten_bool(k, "bidirectional") ? 2 : 1;
    n->batch_first = kiln_aten_bool(k, "batch_first");
    n->per_cell = n->has_bias ? 4 : 2;
    n->n_weights = kiln_aten_tensors(k, "params", &n->weight);
    if (k->c.status == KILN_OK &&
        (n->layers < 1 || n->layers > MAX_LAYERS || n->n_weights < 2))
        kiln_aten_fail(k, KILN_ERR_LIMIT, "%s: 1 to %d layers are read", k->row->name,
                       (int)MAX_LAYERS);
    const double dropout = kiln_aten_float(k, "dropout");
    if (kiln_aten_bool(k, "train") && dropout > 0 && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: the model was saved in training; call model.eval() before "
                       "it is exported",
                       k->row->name);
    KILN_TRY(k->c.status);
    const kiln_type *const r = &n->weight[1]->type;
    n->hidden = r->rank == 2 ? r->dim[1] : 0;
    return check_weights(k, n);
}

/* One layer: y [S, N, directions * H]; its last states are added to `last`. */
static kiln_value *run_layer(kiln_aten_args *k, const network *n, int64_t layer,
                             kiln_value *x, kiln_value **last[2]) {
    static const int64_t perm[] = {0, 2, 1, 3};
    kiln_compose *const c = &k->c;
    kiln_value *in[N_IN] = {x, of_layer(k, n, layer, 0), of_layer(k, n, layer, 1)};
    kiln_value *y[3] = {x, x, x};
    const char *words[] = {n->word, n->word};
    kiln_attr_arg args[2];
    size_t n_args = 0;
    if (n->has_bias) {
        kiln_value *const b[] = {of_layer(k, n, layer, 2), of_layer(k, n, layer, 3)};
        const kiln_attr_arg arg = kiln_arg_int("axis", 1);
        in[BIAS] = kiln_compose_op(c, &kiln_op_concat, b, 2, &arg, 1);
    }
    for (int i = 0; i < n->n_states; i++)
        in[H0 + i] = kiln_compose_slice(c, n->state[i], 0, layer * n->directions, 1,
                                        n->directions);
    args[n_args++] =
        kiln_arg_word("direction", n->directions == 2 ? "bidirectional" : "forward");
    if (n->op == &kiln_op_gru)
        args[n_args++] = kiln_arg_bool("linear_before_reset", true);
    else if (n->op == &kiln_op_rnn)
        args[n_args++] = kiln_arg_words("activations", words, (size_t)n->directions);
    if (c->status != KILN_OK)
        return x;
    kiln_compose_fail(c,
                      kiln_import_emit(c->cx, c->site, n->op, in,
                                       n->op->n_in_max < N_IN ? n->op->n_in_max : N_IN,
                                       args, n_args, 1 + n->n_states, y));
    if (c->status != KILN_OK)
        return x;
    for (int i = 0; i < n->n_states; i++)
        last[i][layer] = y[1 + i];
    const int64_t *const d = y[0]->type.dim; /* [S, directions, N, H] */
    const int64_t flat[] = {d[0], d[2], d[1] * d[3]};
    return kiln_compose_reshape(c, kiln_compose_transpose(c, y[0], perm), 3, flat);
}

static kiln_status give_network(kiln_aten_args *k, network *n) {
    static const int64_t steps_first[] = {1, 0, 2};
    kiln_compose *const c = &k->c;
    kiln_value **last[2], *x = kiln_aten_tensor(k, "input");
    KILN_TRY(read_network(k, n));
    const bool is_single = x->type.rank == 2;
    if (is_single) {
        const int64_t dim[] = {x->type.dim[0], 1, x->type.dim[1]};
        x = kiln_compose_reshape(c, x, 3, dim);
    } else if (n->batch_first && kiln_aten_need_rank(k, x, 3, 3)) {
        x = kiln_compose_transpose(c, x, steps_first);
    }
    if (!kiln_aten_need_rank(k, x, 3, 3))
        return c->status;
    const int64_t states[] = {n->layers * n->directions, x->type.dim[1], n->hidden};
    for (int i = 0; i < n->n_states; i++) {
        n->state[i] = kiln_compose_reshape(c, n->state[i], 3, states);
        last[i] = kiln_array(&c->cx->scratch, kiln_value *, n->layers);
    }
    for (int64_t layer = 0; layer < n->layers; layer++)
        x = run_layer(k, n, layer, x, last);
    KILN_TRY(c->status);
    if (is_single)
        x = kiln_compose_reshape(c, x, 2, (int64_t[]){x->type.dim[0], x->type.dim[2]});
    else if (n->batch_first)
        x = kiln_compose_transpose(c, x, steps_first);
    KILN_TRY(kiln_aten_give(k, x));
    const kiln_attr_arg arg = kiln_arg_int("axis", 0);
    for (int i = 0; i < n->n_states; i++) {
        kiln_value *h = last[i][0];
        if (n->layers > 1)
            h = kiln_compose_op(c, &kiln_op_concat, last[i], (int)n->layers, &arg, 1);
        if (is_single)
            h = kiln_compose_reshape(c, h, 2, (int64_t[]){states[0], states[2]});
        KILN_TRY(kiln_aten_give(k, h));
    }
    return c->status;
}

kiln_status kiln_aten_make_lstm(kiln_aten_args *k) {
    static const int order[] = {0, 3, 1, 2};
    network n = {.op = &kiln_op_lstm, .gates = 4, .order = order, .n_states = 2};
    kiln_value **state;
    const size_t count = kiln_aten_tensors(k, "hx", &state);
    if (count != 2 && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "lstm: 'hx' must be two states; packed sequences are not read");
    KILN_TRY(k->c.status);
    n.state[0] = state[0];
    n.state[1] = state[1];
    return give_network(k, &n);
}

static kiln_status give_of_one_state(kiln_aten_args *k, network *n) {
    n->n_states = 1;
    n->state[0] = kiln_aten_tensor(k, "hx");
    return give_network(k, n);
}

kiln_status kiln_aten_make_gru(kiln_aten_args *k) {
    static const int order[] = {1, 0, 2};
    network n = {.op = &kiln_op_gru, .gates = 3, .order = order};
    return give_of_one_state(k, &n);
}

kiln_status kiln_aten_make_rnn_tanh(kiln_aten_args *k) {
    network n = {.op = &kiln_op_rnn, .gates = 1, .word = "tanh"};
    return give_of_one_state(k, &n);
}

kiln_status kiln_aten_make_rnn_relu(kiln_aten_args *k) {
    network n = {.op = &kiln_op_rnn, .gates = 1, .word = "relu"};
    return give_of_one_state(k, &n);
}
