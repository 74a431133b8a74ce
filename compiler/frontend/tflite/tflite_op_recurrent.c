/* Importers of LSTM, sequences of LSTM and RNN in one direction or both, and SVDF. Their states are variables of the
 * file, which the interpreter keeps from one run to the next; here each run begins with
 * zeros, as its first does, unless they are inputs (tflite_state.c). Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/lstm.h"

#include <string.h>

enum { N_GATES = 4 };

/* Gates as the file has them, input, forget, cell, output, in the order of lstm: input,
 * output, forget, cell. */
static const int gate_at[N_GATES] = {0, 3, 1, 2};

/* Without an input gate it is 1 - the forget gate: 1 - s(z) = s(-z), so it has the
 * forget gate's numbers with the other sign. */
static kiln_status gate(kiln_tflite_cx *cx, kiln_compose *c, int first, int which,
                        const char *name, kiln_value **out) {
    const bool is_coupled = which == 0 && kiln_tflite_in(cx, KILN_LSTM_W) == NULL;
    KILN_TRY(kiln_tflite_need(cx, first + (is_coupled ? 1 : which), name, out));
    *out = kiln_tflite_real(cx, c, first + (is_coupled ? 1 : which));
    if (is_coupled)
        *out = kiln_compose_1(c, &kiln_op_neg, *out);
    return c->status;
}

/* The gates' matrices one below the other: [1, 4 * H, K]; biases [1, 8 * H], of which
 * the second half, those of r, are zeros. */
static kiln_status join_gates(kiln_tflite_cx *cx, kiln_compose *c, int first, int rank,
                              const char *name, kiln_value **out) {
    kiln_value *part[2 * N_GATES];
    for (int i = 0; i < N_GATES; i++) {
        KILN_TRY(gate(cx, c, first, gate_at[i], name, &part[i]));
        if (part[i]->type.rank != rank)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "'%s' must have rank %d, has %d", name, rank,
                                    part[i]->type.rank);
        part[N_GATES + i] = kiln_import_scalar(&cx->common, part[i]->type.dtype, 0);
        if (rank == 1)
            part[N_GATES + i] =
                kiln_compose_expand(c, part[N_GATES + i], 1, part[i]->type.dim);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_value *const all = kiln_compose_op(
        c, &kiln_op_concat, part, rank == 1 ? 2 * N_GATES : N_GATES, &axis, 1);
    KILN_TRY(c->status);
    const int64_t dim[] = {1, all->type.dim[0], rank == 1 ? 0 : all->type.dim[1]};
    *out = kiln_compose_reshape(c, all, rank + 1, dim);
    return c->status;
}

/* Peepholes in lstm's order: input, output, forget. */
static kiln_status join_peepholes(kiln_tflite_cx *cx, kiln_compose *c,
                                  kiln_value **out) {
    kiln_value *part[3];
    *out = NULL;
    if (kiln_tflite_in(cx, KILN_LSTM_PEEPHOLE + 1) == NULL)
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, KILN_LSTM_PEEPHOLE + 1, "cell_to_forget_weights",
                              &part[2]));
    KILN_TRY(kiln_tflite_need(cx, KILN_LSTM_PEEPHOLE + 2, "cell_to_output_weights",
                              &part[1]));
    if (kiln_tflite_in(cx, KILN_LSTM_W) == NULL)
        part[0] = kiln_compose_1(c, &kiln_op_neg, part[2]);
    else
        KILN_TRY(kiln_tflite_need(cx, KILN_LSTM_PEEPHOLE, "cell_to_input_weights",
                                  &part[0]));
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_value *const all = kiln_compose_op(c, &kiln_op_concat, part, 3, &axis, 1);
    KILN_TRY(c->status);
    const int64_t dim[] = {1, all->type.dim[0]};
    *out = kiln_compose_reshape(c, all, 2, dim);
    return c->status;
}

/* Does it need what the operator lstm has not? A cell grows by less than 1 a step, so a
 * clip beyond the number of steps says nothing, where it begins with zeros. */
static bool needs_steps(kiln_tflite_cx *cx, int64_t n_steps) {
    const double clip = cx->opt.cell_clip;
    return kiln_tflite_in(cx, KILN_LSTM_PROJECTION) != NULL ||
           kiln_tflite_in(cx, KILN_LSTM_NORM + 1) != NULL ||
           cx->opt.activation != KILN_TFLITE_TANH ||
           (clip > 0 &&
            (clip < (double)n_steps || kiln_tflite_keeps(cx, KILN_LSTM_STATE + 1)));
}

static kiln_attr_arg direction_of(bool is_backward) {
    return kiln_arg_word("direction", is_backward ? "reverse" : "forward");
}

/* x [S, N, I] by the operator lstm. */
static kiln_status whole(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                         bool is_backward, kiln_value **y) {
    kiln_value *in[8] = {x}, *out[3];
    KILN_TRY(join_gates(cx, c, KILN_LSTM_W, 2, "input_to_gate_weights", &in[1]));
    KILN_TRY(join_gates(cx, c, KILN_LSTM_R, 2, "recurrent_to_gate_weights", &in[2]));
    KILN_TRY(join_gates(cx, c, KILN_LSTM_BIAS, 1, "gate_bias", &in[3]));
    KILN_TRY(join_peepholes(cx, c, &in[7]));
    const int64_t state[] = {1, x->type.dim[1], in[2]->type.dim[2]};
    in[5] = kiln_tflite_state(cx, c, KILN_LSTM_STATE, 3, state);
    in[6] = kiln_tflite_state(cx, c, KILN_LSTM_STATE + 1, 3, state);
    KILN_TRY(c->status);
    const kiln_attr_arg direction = direction_of(is_backward);
    KILN_TRY(kiln_import_emit(&cx->common, cx->op, &kiln_op_lstm, in, 8, &direction, 1,
                              3, out));
    const int64_t *const d = out[0]->type.dim; /* [S, 1, N, H] */
    const int64_t flat[] = {d[0], d[2], d[3]};
    *y = kiln_compose_reshape(c, out[0], 3, flat);
    kiln_tflite_keep(cx, c, KILN_LSTM_STATE, out[1]);
    kiln_tflite_keep(cx, c, KILN_LSTM_STATE + 1, out[2]);
    return c->status;
}

/* x [S, N, I] with the last step first. */
static kiln_value *flip(kiln_compose *c, kiln_value *x) {
    const int64_t n = x->type.dim[0];
    return kiln_compose_slice(c, x, 0, n - 1, -1, n);
}

/* An operator of one direction on x [S, N, I], or, backward, from the last step on: y
 * [S, N, H], each step where x has it. */
typedef kiln_status one_way(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                            bool is_backward, kiln_value **y);

static kiln_status lstm_one_way(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                                bool is_backward, kiln_value **y) {
    if (!needs_steps(cx, x->type.dim[0]))
        return whole(cx, c, x, is_backward, y);
    x = is_backward ? flip(c, x) : x;
    KILN_TRY(c->status);
    KILN_TRY(kiln_tflite_lstm_steps(cx, c, x, y));
    *y = is_backward ? flip(c, *y) : *y;
    return c->status;
}

static const int64_t swap[] = {1, 0, 2};

/* The input with its steps first. */
static kiln_status need_steps_first(kiln_tflite_cx *cx, kiln_compose *c,
                                    kiln_value **x) {
    KILN_TRY(kiln_tflite_need(cx, 0, "input", x));
    if ((*x)->type.rank != 3)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the input must have rank 3, has %d", (*x)->type.rank);
    if (!cx->opt.time_major)
        *x = kiln_compose_transpose(c, *x, swap);
    return c->status;
}

static kiln_value *as_asked(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *y) {
    return cx->opt.time_major ? y : kiln_compose_transpose(c, y, swap);
}

static kiln_status forward(kiln_tflite_cx *cx, one_way *run) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(need_steps_first(cx, &c, &x));
    KILN_TRY(run(cx, &c, x, false, &y));
    return kiln_tflite_end(cx, &c, as_asked(cx, &c, y));
}

kiln_status kiln_tflite_import_sequence_lstm(kiln_tflite_cx *cx) {
    return forward(cx, lstm_one_way);
}

/* ---- both directions ---------------------------------------------------------------- */

/* The input, `n_block` operands of each direction, then what else each has of the `n` that
 * the operator of one direction has: its operand i of direction d is at this place. */
static size_t place_of(size_t i, size_t d, size_t n_block, size_t n) {
    const size_t behind = n - 1 - n_block;
    return i == 0         ? 0
           : i <= n_block ? i + n_block * d
                          : 1 + 2 * n_block + behind * d + (i - 1 - n_block);
}

/* One direction, as if it were the operator of one. */
static kiln_status run_one(kiln_tflite_cx *cx, kiln_compose *c, one_way *run, size_t d,
                           size_t n_block, size_t n, kiln_value *x, kiln_value **y) {
    const kiln_tflite_op *const op = cx->op;
    kiln_value **const in = cx->in;
    kiln_arena *const a = &cx->common.scratch;
    kiln_tflite_op *const one = kiln_array(a, kiln_tflite_op, 1);
    int32_t *const at = kiln_array(a, int32_t, n);
    kiln_value **const given = kiln_array(a, kiln_value *, n);
    for (size_t i = 0; i < n; i++) {
        const size_t from = place_of(i, d, n_block, n);
        at[i] = from < op->n_input ? op->input[from] : -1;
        given[i] = from < op->n_input ? in[from] : NULL;
    }
    *one = *op;
    one->input = at;
    one->n_input = n;
    cx->op = one;
    cx->in = given;
    const kiln_status st = run(cx, c, x, d == 1, y);
    cx->op = op;
    cx->in = in;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing its %s direction, with that one's inputs",
                  d == 0 ? "forward" : "backward");
    return st;
}

static kiln_status both_ways(kiln_tflite_cx *cx, one_way *run, size_t n_block,
                             size_t n) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y[2];
    const size_t more = 1 + 2 * (n - 1);
    KILN_TRY(need_steps_first(cx, &c, &x));
    for (size_t i = more; i < cx->op->n_input; i++)
        if (cx->in[i] != NULL)
            return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                    "a second input (input %zu) is not read", i);
    for (size_t d = 0; d < 2; d++) {
        KILN_TRY(run_one(cx, &c, run, d, n_block, n, x, &y[d]));
        y[d] = as_asked(cx, &c, y[d]);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 2);
    if (cx->opt.merges)
        return kiln_tflite_end(cx, &c,
                               kiln_compose_op(&c, &kiln_op_concat, y, 2, &axis, 1));
    KILN_TRY(c.status);
    KILN_TRY(kiln_tflite_set(cx, 0, y[0]));
    return kiln_tflite_n_out(cx) > 1 ? kiln_tflite_set(cx, 1, y[1]) : KILN_OK;
}

kiln_status kiln_tflite_import_bidirectional_lstm(kiln_tflite_cx *cx) {
    return both_ways(cx, lstm_one_way, KILN_LSTM_STATE - 1, KILN_LSTM_NORM);
}

/* One step, without an axis of time. */
kiln_status kiln_tflite_import_lstm(kiln_tflite_cx *cx) {
    enum { FULL = 0 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (cx->opt.kernel_type != FULL || x->type.rank != 2)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "only the full kernel is read, of an input of rank 2");
    const int64_t one_step[] = {1, x->type.dim[0], x->type.dim[1]};
    x = kiln_compose_reshape(&c, x, 3, one_step);
    KILN_TRY(c.status);
    KILN_TRY(needs_steps(cx, 1) ? kiln_tflite_lstm_steps(cx, &c, x, &y)
                                : whole(cx, &c, x, false, &y));
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, y, 2, y->type.dim + 1));
}

/* x, w [H, I], r [H, H], bias [H], and the state. */
enum { RNN_STATE = 4, RNN_IN = 5 };

static kiln_status rnn_one_way(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                               bool is_backward, kiln_value **y) {
    enum { N_IN = 6 };
    kiln_value *in[N_IN] = {x}, *out[2];
    const char *word = cx->opt.activation == KILN_TFLITE_TANH   ? "tanh"
                       : cx->opt.activation == KILN_TFLITE_RELU ? "relu"
                                                                : NULL;
    for (int i = 1; i < 4; i++) {
        KILN_TRY(kiln_tflite_need(cx, i, "weights", &in[i]));
        in[i] = kiln_tflite_real(cx, c, i);
    }
    KILN_TRY(c->status);
    if (word == NULL)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "only the activations tanh and relu are read");
    if (in[1]->type.rank != 2 || in[2]->type.rank != 2 || in[3]->type.rank != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "weights and bias must have ranks 2, 2 and 1");
    const int64_t w[] = {1, in[1]->type.dim[0], in[1]->type.dim[1]};
    const int64_t r[] = {1, in[2]->type.dim[0], in[2]->type.dim[1]};
    const int64_t h = in[3]->type.dim[0], bias[] = {1, 2 * h};
    const int64_t behind[] = {0, h};
    in[1] = kiln_compose_reshape(c, in[1], 3, w);
    in[2] = kiln_compose_reshape(c, in[2], 3, r);
    in[3] = kiln_compose_pad(c, in[3], behind, 0);
    in[3] = kiln_compose_reshape(c, in[3], 2, bias);
    KILN_TRY(c->status);
    const int64_t state[] = {1, x->type.dim[1], h};
    in[5] = kiln_tflite_state(cx, c, RNN_STATE, 3, state);
    KILN_TRY(c->status);
    const kiln_attr_arg args[] = {direction_of(is_backward),
                                  kiln_arg_words("activations", &word, 1)};
    KILN_TRY(
        kiln_import_emit(&cx->common, cx->op, &kiln_op_rnn, in, N_IN, args, 2, 2, out));
    const int64_t *const d = out[0]->type.dim; /* [S, 1, N, H] */
    const int64_t flat[] = {d[0], d[2], d[3]};
    *y = kiln_compose_reshape(c, out[0], 3, flat);
    kiln_tflite_keep(cx, c, RNN_STATE, out[1]);
    return c->status;
}

kiln_status kiln_tflite_import_sequence_rnn(kiln_tflite_cx *cx) {
    return forward(cx, rnn_one_way);
}

kiln_status kiln_tflite_import_bidirectional_rnn(kiln_tflite_cx *cx) {
    return both_ways(cx, rnn_one_way, RNN_IN - 1, RNN_IN);
}

kiln_value *kiln_tflite_svdf_memory(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *y,
                                    int64_t columns) {
    const int64_t *const d = y->type.dim;
    const int64_t all[] = {d[0], d[1], columns}, last[] = {d[0], d[1], 1};
    kiln_value *part[2] = {kiln_tflite_state(cx, c, KILN_SVDF_STATE, 3, all)};
    if (part[0] == NULL) /* it failed */
        return y;
    part[1] = kiln_compose_reshape(c, y, 3, last);
    kiln_value *memory = part[1];
    if (columns > 1) {
        const kiln_attr_arg axis = kiln_arg_int("axis", 2);
        part[0] = kiln_compose_slice(c, part[0], 2, 1, 1, columns - 1);
        memory = kiln_compose_op(c, &kiln_op_concat, part, 2, &axis, 1);
    }
    kiln_tflite_keep(cx, c, KILN_SVDF_STATE, memory);
    return memory;
}

/* Features of the input, each weighted by how long ago it was: the state holds those of
 * earlier runs. Where these are zeros, the last column of the weights in time is all
 * that counts. `rank` features make one output. */
kiln_status kiln_tflite_import_svdf(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *features, *time, *bias = kiln_tflite_in(cx, 3);
    const kiln_attr_arg trans = kiln_arg_bool("trans_b", true);
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "weights_feature", &features));
    KILN_TRY(kiln_tflite_need(cx, 2, "weights_time", &time));
    const int64_t rank = cx->opt.rank, last = time->type.dim[1] - 1;
    if (x->type.rank != 2 || features->type.rank != 2 || time->type.rank != 2 ||
        last < 0 || rank < 1 || time->type.dim[0] % rank != 0 ||
        features->type.dim[0] != time->type.dim[0])
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input, features and time must have rank 2, and 'rank' "
                                "divide their filters");
    features = kiln_tflite_real(cx, &c, 1);
    time = kiln_tflite_real(cx, &c, 2);
    KILN_TRY(c.status);
    kiln_value *const in[] = {x, features};
    kiln_value *y = kiln_compose_op(&c, &kiln_op_gemm, in, 2, &trans, 1);
    const int64_t filters = time->type.dim[0];
    const int64_t apart[] = {x->type.dim[0], filters / rank, rank}, axis = 2;
    KILN_TRY(c.status);
    if (kiln_tflite_keeps(cx, KILN_SVDF_STATE)) {
        y = kiln_tflite_svdf_memory(cx, &c, y, last + 1);
        y = kiln_compose_2(&c, &kiln_op_mul, y, time);
        y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, &axis, 1, false);
    } else {
        time = kiln_compose_slice(&c, time, 1, last, 1, 1);
        time = kiln_compose_reshape(&c, time, 1, &filters);
        y = kiln_compose_2(&c, &kiln_op_mul, y, time);
    }
    y = kiln_compose_reshape(&c, y, 3, apart);
    y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, &axis, 1, false);
    if (bias != NULL)
        y = kiln_compose_2(&c, &kiln_op_add, y, bias);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, cx->opt.activation));
}
