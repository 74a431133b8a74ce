/* Importers of UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF. Their states are variables of the
 * file, which the interpreter keeps from one run to the next; here each run begins with
 * zeros, as its first does. Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <math.h>
#include <string.h>

enum { N_GATES = 4 };

/* Gates as the file has them, input, forget, cell, output, in the order of lstm: input,
 * output, forget, cell. */
static const int gate_at[N_GATES] = {0, 3, 1, 2};

enum {
    W = 1,        /* of the input */
    R = 5,        /* of the state */
    PEEPHOLE = 9, /* input, forget, output */
    BIAS = 12,
    PROJECTION = 16,
    STATE = 18,
    NORM = 20,
    N_LSTM_IN = 24
};

/* Without an input gate it is 1 - the forget gate: 1 - s(z) = s(-z), so it has the
 * forget gate's numbers with the other sign. */
static kiln_status gate(kiln_tflite_cx *cx, kiln_compose *c, int first, int which,
                        const char *name, kiln_value **out) {
    const bool is_coupled = which == 0 && kiln_tflite_in(cx, W) == NULL;
    KILN_TRY(kiln_tflite_need(cx, first + (is_coupled ? 1 : which), name, out));
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
    if (kiln_tflite_in(cx, PEEPHOLE + 1) == NULL)
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, PEEPHOLE + 1, "cell_to_forget_weights", &part[2]));
    KILN_TRY(kiln_tflite_need(cx, PEEPHOLE + 2, "cell_to_output_weights", &part[1]));
    if (kiln_tflite_in(cx, W) == NULL)
        part[0] = kiln_compose_1(c, &kiln_op_neg, part[2]);
    else
        KILN_TRY(kiln_tflite_need(cx, PEEPHOLE, "cell_to_input_weights", &part[0]));
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_value *const all = kiln_compose_op(c, &kiln_op_concat, part, 3, &axis, 1);
    KILN_TRY(c->status);
    const int64_t dim[] = {1, all->type.dim[0]};
    *out = kiln_compose_reshape(c, all, 2, dim);
    return c->status;
}

static kiln_status check_lstm(kiln_tflite_cx *cx) {
    if (kiln_tflite_in(cx, PROJECTION) != NULL)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED, "a projection is not read");
    for (int i = NORM; i < N_LSTM_IN; i++)
        if (kiln_tflite_in(cx, i) != NULL)
            return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                    "layer normalisation is not read");
    if (cx->opt.cell_clip > 0 && isfinite(cx->opt.cell_clip))
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "clipping of the cell (%g) is not read",
                                cx->opt.cell_clip);
    if (cx->opt.activation != KILN_TFLITE_TANH)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "only the activation tanh is read");
    return KILN_OK;
}

kiln_status kiln_tflite_import_sequence_lstm(kiln_tflite_cx *cx) {
    static const int64_t swap[] = {1, 0, 2};
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[8] = {NULL};
    KILN_TRY(check_lstm(cx));
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &in[0]));
    if (in[0]->type.rank != 3)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the input must have rank 3, has %d", in[0]->type.rank);
    KILN_TRY(join_gates(cx, &c, W, 2, "input_to_gate_weights", &in[1]));
    KILN_TRY(join_gates(cx, &c, R, 2, "recurrent_to_gate_weights", &in[2]));
    KILN_TRY(join_gates(cx, &c, BIAS, 1, "gate_bias", &in[3]));
    KILN_TRY(join_peepholes(cx, &c, &in[7]));
    if (!cx->opt.time_major)
        in[0] = kiln_compose_transpose(&c, in[0], swap);
    const kiln_attr_arg direction = kiln_arg_word("direction", "forward");
    kiln_value *y = kiln_compose_op(&c, &kiln_op_lstm, in, 8, &direction, 1);
    KILN_TRY(c.status);
    const int64_t *const d = y->type.dim; /* [S, 1, N, H] */
    const int64_t flat[] = {d[0], d[2], d[3]};
    y = kiln_compose_reshape(&c, y, 3, flat);
    if (!cx->opt.time_major)
        y = kiln_compose_transpose(&c, y, swap);
    return kiln_tflite_end(cx, &c, y);
}

/* Features of the input, each weighted by how long ago it was: the state holds those of
 * earlier runs, zeros, so the last column of the weights in time is all that counts.
 * `rank` features make one output. */
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
    time = kiln_compose_slice(&c, time, 1, last, 1, 1);
    time = kiln_compose_reshape(&c, time, 1, &filters);
    y = kiln_compose_2(&c, &kiln_op_mul, y, time);
    const int64_t apart[] = {x->type.dim[0], filters / rank, rank}, axis = 2;
    y = kiln_compose_reshape(&c, y, 3, apart);
    y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, &axis, 1, false);
    if (bias != NULL)
        y = kiln_compose_2(&c, &kiln_op_add, y, bias);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, cx->opt.activation));
}
