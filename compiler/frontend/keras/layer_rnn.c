/* Recurrent layers of Keras, and layers around layers. Keras has kernels [in, gates *
 * units]: of LSTM in the order input, forget, cell, output, of GRU update, reset, cell.
 * Source: keras.layers, "Recurrent layers". */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

enum { KERNEL, RECURRENT, BIAS, N_WEIGHTS, MAX_GATES = 4, MAX_WORDS = 6 };

typedef struct cell {
    const kiln_op_def *op;
    int n_gates;
    int64_t units, in;
    bool has_bias, resets_after, gives_all, is_reverse;
    bool has_zeros;             /* where a step does not count */
    const kiln_keras_steps *by; /* those that count; NULL: all */
    const char *words[3];       /* activations of one direction */
    size_t n_words;
    kiln_value *w[N_WEIGHTS];
} cell;

static kiln_status read_words(kiln_keras_call *k, cell *c) {
    static const struct {
        const char *name, *word;
    } known[] = {{"tanh", "tanh"},         {"sigmoid", "sigmoid"},
                 {"relu", "relu"},         {"hard_sigmoid", "hard_sigmoid"},
                 {"softsign", "softsign"}, {"softplus", "softplus"},
                 {"elu", "elu"},           {"linear", "affine"}};
    static const char *const members[] = {"recurrent_activation", "activation"};
    const char *found[2] = {NULL, NULL};
    for (int m = c->op == &kiln_op_rnn ? 1 : 0; m < 2; m++) {
        const kiln_json *const v = kiln_keras_get(k, members[m], "inner_activation");
        const char *const name =
            v != NULL ? kiln_keras_activation_name(v) : (m == 0 ? "sigmoid" : "tanh");
        for (size_t i = 0; name != NULL && i < sizeof known / sizeof known[0]; i++)
            if (strcmp(name, known[i].name) == 0)
                found[m] = known[i].word;
        if (found[m] == NULL)
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "'%s' is none that recurrent layers are read with",
                             members[m]);
    }
    c->n_words = 0;
    if (c->op != &kiln_op_rnn)
        c->words[c->n_words++] = found[0];
    c->words[c->n_words++] = found[1];
    if (c->op == &kiln_op_lstm) /* of the cell's state, too */
        c->words[c->n_words++] = found[1];
    return KILN_OK;
}

static kiln_status check_plain(kiln_keras_call *k) {
    static const char *const not_read[] = {"return_state", "stateful", "time_major"};
    for (size_t i = 0; i < sizeof not_read / sizeof not_read[0]; i++)
        if (kiln_keras_bool(k, not_read[i], false))
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "recurrent layers with '%s' are not read", not_read[i]);
    if (k->in[0]->type.rank == 3)
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                     "its input must be [N, steps, C], is %s",
                     kiln_type_text(&k->cx->common.scratch, &k->in[0]->type));
}

static kiln_status read_cell(kiln_keras_call *k, const kiln_op_def *op,
                             const char *part, const char *path, cell *c) {
    static const char *const roles[N_WEIGHTS] = {"kernel", "recurrent_kernel", "bias"};
    *c = (cell){.op = op,
                .n_gates = op == &kiln_op_lstm  ? 4
                           : op == &kiln_op_gru ? 3
                                                : 1,
                .in = k->in[0]->type.dim[2]};
    KILN_TRY(check_plain(k));
    KILN_TRY(read_words(k, c));
    KILN_TRY(kiln_keras_int(k, "units", "output_dim", 0, &c->units));
    if (c->units < 1 || c->units > INT32_MAX)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'units' must be 1 at least, is %" PRId64, c->units);
    c->has_bias = kiln_keras_bool(k, "use_bias", true);
    c->gives_all = kiln_keras_bool(k, "return_sequences", false);
    c->is_reverse = kiln_keras_bool(k, "go_backwards", false);
    c->has_zeros = kiln_keras_bool(k, "zero_output_for_mask", false);
    c->resets_after = op == &kiln_op_gru && kiln_keras_bool(k, "reset_after", false);
    KILN_TRY(kiln_keras_part_weights(k, part, path, roles, c->has_bias ? 3 : 2, c->w));
    const int64_t wide = c->n_gates * c->units;
    const int64_t kernel[] = {c->in, wide}, recurrent[] = {c->units, wide};
    const int64_t bias[] = {2, wide};
    KILN_TRY(kiln_keras_check_shape(k, c->w[KERNEL], "kernel", 2, kernel));
    KILN_TRY(
        kiln_keras_check_shape(k, c->w[RECURRENT], "recurrent_kernel", 2, recurrent));
    if (!c->has_bias)
        return KILN_OK;
    return kiln_keras_check_shape(k, c->w[BIAS], "bias", c->resets_after ? 2 : 1,
                                  c->resets_after ? bias : bias + 1);
}

/* ---- weights as the Graph's operators have them ---------------------------------- */

static float at(const kiln_value *v, int64_t i) {
    float x;
    KILN_ASSERT(i >= 0 && i < kiln_type_elems(&v->type), "element %" PRId64 " of '%s'",
                i, v->name);
    memcpy(&x, (const char *)v->data + (size_t)i * sizeof x, sizeof x);
    return x;
}

/* Gate g of the operator is gate order[g] of Keras. */
static const int *order_of(const cell *c) {
    static const int lstm[MAX_GATES] = {0, 3, 1, 2}, same[MAX_GATES] = {0, 1, 2, 3};
    return c->op == &kiln_op_lstm ? lstm : same;
}

static kiln_status spend(kiln_keras_call *k, int rank, const int64_t *dim,
                         kiln_tensor *out) {
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    KILN_TRY(kiln_type_check(&t, k->cx->common.err));
    KILN_TRY(kiln_import_spend(&k->cx->common, kiln_type_bytes(&t)));
    *out = kiln_tensor_new(k->cx->common.arena, &t);
    return KILN_OK;
}

/* [rows, gates * units] of each direction to [directions, gates * units, rows]. */
static kiln_status turn_matrix(kiln_keras_call *k, const cell *c, int n, int which,
                               kiln_value **out) {
    const int64_t rows = which == KERNEL ? c->in : c->units, h = c->units;
    const int64_t dim[] = {n, c->n_gates * h, rows};
    kiln_tensor t;
    KILN_TRY(spend(k, 3, dim, &t));
    float *to = t.data;
    for (int d = 0; d < n; d++)
        for (int g = 0; g < c->n_gates; g++)
            for (int64_t u = 0; u < h; u++)
                for (int64_t r = 0; r < rows; r++)
                    *to++ =
                        at(c[d].w[which], r * c->n_gates * h + order_of(c)[g] * h + u);
    KILN_ASSERT(to == (float *)t.data + kiln_type_elems(&t.type), "a matrix has gaps");
    *out = kiln_graph_add_const(k->cx->common.graph, which == KERNEL ? "w" : "r",
                                &t.type, t.data);
    return KILN_OK;
}

/* Of the input, then of the state: [directions, 2 * gates * units]. */
static kiln_status turn_bias(kiln_keras_call *k, const cell *c, int n,
                             kiln_value **out) {
    const int64_t h = c->units, wide = c->n_gates * h, dim[] = {n, 2 * wide};
    kiln_tensor t;
    KILN_TRY(spend(k, 2, dim, &t));
    float *to = t.data;
    for (int d = 0; d < n; d++)
        for (int side = 0; side < 2; side++)
            for (int g = 0; g < c->n_gates; g++)
                for (int64_t u = 0; u < h; u++) {
                    const bool is_given = side == 0 || c->resets_after;
                    *to++ = is_given
                                ? at(c[d].w[BIAS], side * wide + order_of(c)[g] * h + u)
                                : 0.0F;
                }
    KILN_ASSERT(to == (float *)t.data + kiln_type_elems(&t.type), "a bias has gaps");
    *out = kiln_graph_add_const(k->cx->common.graph, "b", &t.type, t.data);
    return KILN_OK;
}

/* ---- the operator ---------------------------------------------------------------- */

static double alpha_of(const kiln_keras_call *k, const char *word) {
    return strcmp(word, "hard_sigmoid") == 0 ? (k->cx->file.major >= 3 ? 1.0 / 6 : 0.2)
                                             : 1;
}

/* n directions of one cell: y [S, D, N, H], and the last states [D, N, H]. */
static kiln_status emit(kiln_keras_call *k, const cell *c, int n, kiln_value **out) {
    static const int64_t steps_first[] = {1, 0, 2};
    kiln_value *const x =
        c->by != NULL ? kiln_keras_pack(k, c->by, k->in[0]) : k->in[0];
    kiln_value *in[5] = {kiln_compose_transpose(&k->c, x, steps_first)};
    const char *words[MAX_WORDS];
    double alpha[MAX_WORDS], beta[MAX_WORDS];
    size_t n_words = 0;
    KILN_TRY(turn_matrix(k, c, n, KERNEL, &in[1]));
    KILN_TRY(turn_matrix(k, c, n, RECURRENT, &in[2]));
    if (c->has_bias)
        KILN_TRY(turn_bias(k, c, n, &in[3]));
    if (c->by != NULL)
        in[4] = c->by->lengths;
    for (int d = 0; d < n; d++)
        for (size_t i = 0; i < c->n_words; i++, n_words++) {
            words[n_words] = c[d].words[i];
            alpha[n_words] = alpha_of(k, words[n_words]);
            beta[n_words] = strcmp(words[n_words], "hard_sigmoid") == 0 ? 0.5 : 0;
        }
    KILN_ASSERT(n_words <= MAX_WORDS, "%zu activations", n_words);
    const kiln_attr_arg args[] = {
        kiln_arg_word("direction", n == 2          ? "bidirectional"
                                   : c->is_reverse ? "reverse"
                                                   : "forward"),
        kiln_arg_words("activations", words, n_words),
        kiln_arg_floats("alpha", alpha, n_words),
        kiln_arg_floats("beta", beta, n_words),
        kiln_arg_bool("linear_before_reset", c->resets_after)};
    KILN_TRY(k->c.status);
    return kiln_import_emit(&k->cx->common, k->layer, c->op, in, 5, args,
                            c->op == &kiln_op_gru ? 5 : 4, 2, out);
}

/* Direction d as [N, S, H] or [N, H]. */
static kiln_value *take(kiln_keras_call *k, const cell *c, kiln_value *const *y,
                        int d) {
    static const int64_t batch_first[] = {1, 0, 2};
    const int64_t n = k->in[0]->type.dim[0], s = k->in[0]->type.dim[1];
    const int64_t all[] = {s, n, c->units}, last[] = {n, c->units};
    kiln_value *x = kiln_compose_slice(&k->c, y[c->gives_all ? 0 : 1],
                                       c->gives_all ? 1 : 0, d, 1, 1);
    if (!c->gives_all)
        return kiln_compose_reshape(&k->c, x, 2, last);
    x = kiln_compose_reshape(&k->c, x, 3, all);
    x = kiln_compose_transpose(&k->c, x, batch_first);
    return c->by == NULL
               ? x
               : kiln_keras_unpack(k, c->by, x, c->is_reverse || d == 1, c->has_zeros);
}

/* The steps that count, for n directions; false in *has: all do. */
static kiln_status read_steps(kiln_keras_call *k, kiln_keras_steps *steps, bool *has) {
    kiln_value *mask = NULL;
    KILN_TRY(kiln_keras_read_mask(k, &mask));
    *has = mask != NULL;
    return *has ? kiln_keras_count_steps(k, mask, steps) : KILN_OK;
}

/* Who reads all steps is told which of them count: the mask as it came, backwards too. */
static kiln_status finish(kiln_keras_call *k, const cell *c) {
    KILN_TRY(k->c.status);
    return c->gives_all && c->by != NULL ? kiln_keras_set_mask(k, k->out, c->by->mask)
                                         : KILN_OK;
}

kiln_status kiln_keras_import_recurrent(kiln_keras_call *k) {
    cell c;
    kiln_value *y[2];
    kiln_keras_steps steps;
    bool has_steps = false;
    KILN_TRY(kiln_keras_min_rank(k, 3));
    KILN_TRY(read_cell(k, k->op, k->layer->place.part, "/cell", &c));
    KILN_TRY(read_steps(k, &steps, &has_steps));
    c.by = has_steps ? &steps : NULL;
    KILN_TRY(emit(k, &c, 1, y));
    k->out = take(k, &c, y, 0);
    if (c.gives_all && c.is_reverse) { /* Keras gives them as they were computed */
        const int64_t n = k->in[0]->type.dim[1];
        k->out = kiln_compose_slice(&k->c, k->out, 1, n - 1, -1, n);
    }
    return finish(k, &c);
}

/* ---- around layers --------------------------------------------------------------- */

static kiln_value *joined(kiln_keras_call *k, const char *mode, kiln_value *x,
                          kiln_value *y) {
    kiln_compose *const c = &k->c;
    if (strcmp(mode, "concat") == 0)
        return kiln_compose_axis(c, &kiln_op_concat, x, y, x->type.rank - 1);
    if (strcmp(mode, "mul") == 0)
        return kiln_compose_2(c, &kiln_op_mul, x, y);
    x = kiln_compose_2(c, &kiln_op_add, x, y);
    return strcmp(mode, "ave") == 0 ? kiln_compose_scalar(c, &kiln_op_mul, x, 0.5) : x;
}

kiln_status kiln_keras_import_bidirectional(kiln_keras_call *k) {
    static const char *const modes[] = {"concat", "sum", "mul", "ave"};
    const char *const mode = kiln_keras_text(k, "merge_mode", NULL, "");
    kiln_keras_layer inner;
    cell c[2];
    kiln_value *y[2];
    kiln_keras_steps steps;
    bool is_mode = false, has_steps = false;
    KILN_TRY(kiln_keras_min_rank(k, 3));
    KILN_TRY(kiln_keras_inner_layer(k, &inner));
    inner.place = k->layer->place;
    const kiln_keras_row *const row = kiln_keras_find(inner.class_name);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        is_mode = is_mode || strcmp(mode, modes[i]) == 0;
    if (row == NULL || row->import != kiln_keras_import_recurrent || !is_mode)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is read around LSTM, GRU and SimpleRNN, with merge_mode "
                         "concat, sum, mul or ave");
    kiln_keras_call in = *k;
    in.layer = &inner;
    KILN_TRY(read_cell(&in, row->op, "forward_", "/forward_layer/cell", &c[0]));
    KILN_TRY(read_cell(&in, row->op, "backward_", "/backward_layer/cell", &c[1]));
    if (c[0].is_reverse)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its layer must not go backwards itself");
    KILN_TRY(read_steps(k, &steps, &has_steps));
    c[0].by = has_steps ? &steps : NULL;
    c[0].has_zeros = true; /* whatever its layer says */
    KILN_TRY(emit(k, c, 2, y));
    k->out = joined(k, mode, take(k, c, y, 0), take(k, c, y, 1));
    return finish(k, &c[0]);
}

/* The layer in this one, whose weights lie in its folder. */
static kiln_status wrapped_layer(kiln_keras_call *k, kiln_keras_layer *out) {
    KILN_TRY(kiln_keras_inner_layer(k, out));
    out->place = k->layer->place;
    out->place.path =
        kiln_format(&k->cx->common.scratch, "%s/layer", k->layer->place.path);
    return kiln_keras_is_model(out->class_name)
               ? kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                           "it is read around layers, not around models")
               : KILN_OK;
}

/* Steps become images of one batch. */
kiln_status kiln_keras_import_time_distributed(kiln_keras_call *k) {
    kiln_keras_layer inner;
    const kiln_type t = k->in[0]->type;
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_keras_min_rank(k, 3));
    KILN_TRY(wrapped_layer(k, &inner));
    dim[0] = t.dim[0] * t.dim[1];
    memcpy(dim + 1, t.dim + 2, (size_t)(t.rank - 2) * sizeof *dim);
    kiln_value *x = kiln_compose_reshape(&k->c, k->in[0], t.rank - 1, dim), *y = NULL;
    KILN_TRY(k->c.status);
    KILN_TRY(kiln_keras_run(k->cx, &inner, &x, 1, &y));
    const int rank = y->type.rank + 1;
    if (rank < 2 || rank > KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "its output may have at most %d axes, has %d", KILN_MAX_RANK,
                         rank);
    int64_t out[KILN_MAX_RANK] = {t.dim[0], t.dim[1]};
    memcpy(out + 2, y->type.dim + 1, (size_t)(rank - 2) * sizeof *out);
    k->out = kiln_compose_reshape(&k->c, y, rank, out);
    return k->c.status;
}

/* The wrapped layer as it is: its kernel is divided by its norm when it is trained, and
 * kept so. */
kiln_status kiln_keras_import_spectral_normalization(kiln_keras_call *k) {
    kiln_keras_layer inner;
    KILN_TRY(wrapped_layer(k, &inner));
    return kiln_keras_run(k->cx, &inner, k->in, k->n_in, &k->out);
}
