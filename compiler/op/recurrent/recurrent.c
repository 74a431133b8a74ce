/* Shared parts of rnn, gru and lstm; see recurrent.h. */
#include "compiler/op/recurrent/recurrent.h"

#include <inttypes.h>
#include <math.h>

#include "compiler/op/gemm_f64.h"
#include "compiler/op/op_window.h"

enum { FORWARD, REVERSE, BIDIRECTIONAL };
const char *const kiln_rnn_directions[] = {"forward", "reverse", "bidirectional", NULL};

/* ---- activations: formulas of ONNX RNN-22 ---------------------------------------- */

static double relu(double x, double a, double b) {
    (void)a, (void)b;
    return x > 0 || isnan(x) ? x : 0.0;
}
static double tanh_of(double x, double a, double b) {
    (void)a, (void)b;
    return tanh(x);
}
static double sigmoid(double x, double a, double b) {
    (void)a, (void)b;
    return 1.0 / (1.0 + exp(-x));
}
static double affine(double x, double a, double b) { return a * x + b; }
static double leaky_relu(double x, double a, double b) {
    (void)b;
    return x >= 0 ? x : a * x;
}
static double thresholded_relu(double x, double a, double b) {
    (void)b;
    return x >= a || isnan(x) ? x : 0.0;
}
static double scaled_tanh(double x, double a, double b) { return a * tanh(b * x); }
static double hard_sigmoid(double x, double a, double b) {
    const double v = a * x + b;
    return v < 0 ? 0.0 : v > 1 ? 1.0 : v;
}
static double elu(double x, double a, double b) {
    (void)b;
    return x >= 0 ? x : a * expm1(x);
}
static double softsign(double x, double a, double b) {
    (void)a, (void)b;
    return x / (1.0 + fabs(x));
}
static double softplus(double x, double a, double b) {
    (void)a, (void)b;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

const char *const kiln_rnn_activations[] = {
    "relu",        "tanh",         "sigmoid",
    "affine",      "leaky_relu",   "thresholded_relu",
    "scaled_tanh", "hard_sigmoid", "elu",
    "softsign",    "softplus",     NULL};

typedef struct activation {
    double (*fn)(double x, double a, double b);
    double alpha, beta; /* where the node gives none: those of the ONNX operators */
} activation;
static const activation activations[] = {
    {relu, 0, 0},        {tanh_of, 0, 0},          {sigmoid, 0, 0},
    {affine, 1, 0},      {leaky_relu, 0.01, 0},    {thresholded_relu, 1, 0},
    {scaled_tanh, 1, 1}, {hard_sigmoid, 0.2, 0.5}, {elu, 1, 0},
    {softsign, 0, 0},    {softplus, 0, 0},
};
_Static_assert(KILN_COUNT(activations) + 1 == KILN_COUNT(kiln_rnn_activations),
               "one function per word");

double kiln_rnn_activate(const kiln_rnn_run *run, int i, double x) {
    KILN_ASSERT(i >= 0 && i < KILN_RNN_MAX_ACTIVATIONS, "activation %d of a cell", i);
    const double v = x < -run->clip ? -run->clip : x > run->clip ? run->clip : x;
    return activations[run->activation[i]].fn(v, run->alpha[i], run->beta[i]);
}

/* ---- types ----------------------------------------------------------------------- */

int kiln_rnn_n_directions(const kiln_node *n) {
    return n->attr[KILN_RNN_DIRECTION].i == BIDIRECTIONAL ? 2 : 1;
}

bool kiln_rnn_is_reverse(const kiln_node *n, int d) {
    return n->attr[KILN_RNN_DIRECTION].i == REVERSE || d == 1;
}

static kiln_status check_shape(const kiln_node *n, int in, int rank,
                               const int64_t *want, kiln_err *err) {
    if (!kiln_has_in(n, in))
        return KILN_OK;
    const kiln_type *t = &n->in[in]->type;
    bool same = t->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = t->dim[i] == want[i];
    if (same)
        return in == KILN_RNN_LENGTHS ? KILN_OK
                                      : kiln_check_same_dtype(n, KILN_RNN_X, in, err);
    kiln_arena a = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must have shape %s, has %s",
                  kiln_in_name(n, in), kiln_shape_text(&a, rank, want),
                  kiln_shape_text(&a, t->rank, t->dim));
    kiln_arena_fini(&a);
    return st;
}

static kiln_status check_activations(const kiln_node *n, const kiln_rnn_cell *cell,
                                     kiln_err *err) {
    const size_t want = (size_t)cell->n_activations * (size_t)kiln_rnn_n_directions(n);
    for (int i = KILN_RNN_ACTIVATIONS; i <= KILN_RNN_BETA; i++) {
        if (n->attr[i].n != 0 && n->attr[i].n != want)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "attribute '%s' must have %zu values, has %zu",
                             n->op->attr[i].name, want, n->attr[i].n);
    }
    if (!(n->attr[KILN_RNN_CLIP].f >= 0))
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'clip' must be >= 0, is %g",
                         n->attr[KILN_RNN_CLIP].f);
    return KILN_OK;
}

kiln_status kiln_infer_recurrent(const kiln_node *n, const kiln_rnn_cell *cell,
                                 kiln_type *out, kiln_err *err) {
    KILN_ASSERT(cell->gates > 0 && cell->n_activations <= KILN_RNN_MAX_ACTIVATIONS,
                "a cell of %d gates and %d activations", cell->gates,
                cell->n_activations);
    KILN_TRY(kiln_check_rank(n, KILN_RNN_X, 3, err));
    if (!kiln_has_in(n, KILN_RNN_R))
        return kiln_fail(err, KILN_ERR_SHAPE, "input 'r' must be given");
    KILN_TRY(kiln_check_rank(n, KILN_RNN_R, 3, err));
    KILN_TRY(check_activations(n, cell, err));
    const kiln_type *x = &n->in[KILN_RNN_X]->type;
    const int64_t steps = x->dim[0], batch = x->dim[1], d = kiln_rnn_n_directions(n);
    const int64_t h = n->in[KILN_RNN_R]->type.dim[2];
    const int64_t gh = kiln_mul_sat(h, cell->gates);
    if (!kiln_has_in(n, KILN_RNN_W))
        KILN_TRY(check_shape(n, KILN_RNN_X, 3,
                             (int64_t[]){steps, batch, kiln_mul_sat(gh, d)}, err));
    KILN_TRY(check_shape(n, KILN_RNN_W, 3, (int64_t[]){d, gh, x->dim[2]}, err));
    KILN_TRY(check_shape(n, KILN_RNN_R, 3, (int64_t[]){d, gh, h}, err));
    KILN_TRY(
        check_shape(n, KILN_RNN_BIAS, 2, (int64_t[]){d, kiln_mul_sat(gh, 2)}, err));
    KILN_TRY(check_shape(n, KILN_RNN_LENGTHS, 1, &batch, err));
    if (kiln_has_in(n, KILN_RNN_LENGTHS))
        KILN_TRY(kiln_check_dtype(n, KILN_RNN_LENGTHS, KILN_DT(KILN_I32), err));
    const int64_t state[] = {d, batch, h};
    KILN_TRY(check_shape(n, KILN_RNN_INITIAL_H, 3, state, err));
    if (cell->has_c) {
        KILN_TRY(check_shape(n, KILN_RNN_INITIAL_C, 3, state, err));
        KILN_TRY(check_shape(n, KILN_RNN_PEEPHOLES, 2,
                             (int64_t[]){d, kiln_mul_sat(h, 3)}, err));
    }
    out[KILN_RNN_Y] = kiln_type_make(x->dtype, 4, (int64_t[]){steps, d, batch, h});
    for (int i = KILN_RNN_Y_H; i < n->n_out; i++)
        out[i] = kiln_type_make(x->dtype, 3, state);
    return KILN_OK;
}

/* ---- evaluation ------------------------------------------------------------------ */

double kiln_rnn_product(const kiln_rnn_run *run, const double *h, int64_t row) {
    return kiln_dot_f64(run->hidden, run->r + row * run->hidden, 1, h, 1);
}

double kiln_rnn_gate(const kiln_rnn_run *run, const double *xw, const double *h,
                     int64_t row) {
    double v = xw[row] + kiln_rnn_product(run, h, row);
    if (run->w_bias != NULL)
        v += run->w_bias[row] + run->r_bias[row];
    return v;
}

static const double *part(const kiln_node *n, const kiln_eval_cx *cx, int in,
                          int64_t offset) {
    return kiln_has_in(n, in) ? cx->in[in].f + offset : NULL;
}

void kiln_rnn_activations_of(const kiln_node *n, const kiln_rnn_cell *cell, int d,
                             int *which, double *alpha, double *beta) {
    const kiln_attr *attr = n->attr;
    for (int i = 0; i < cell->n_activations; i++) {
        const int at = d * cell->n_activations + i;
        which[i] = attr[KILN_RNN_ACTIVATIONS].n != 0
                       ? (int)attr[KILN_RNN_ACTIVATIONS].ints[at]
                       : cell->usual[i];
        alpha[i] = attr[KILN_RNN_ALPHA].n != 0 ? attr[KILN_RNN_ALPHA].floats[at]
                                               : activations[which[i]].alpha;
        beta[i] = attr[KILN_RNN_BETA].n != 0 ? attr[KILN_RNN_BETA].floats[at]
                                             : activations[which[i]].beta;
    }
}

static kiln_rnn_run start(const kiln_node *n, const kiln_eval_cx *cx,
                          const kiln_rnn_cell *cell, int d) {
    const int64_t h = n->in[KILN_RNN_R]->type.dim[2], gh = h * cell->gates;
    const kiln_attr *attr = n->attr;
    kiln_rnn_run run = {.hidden = h,
                        .r = cx->in[KILN_RNN_R].f + d * gh * h,
                        .w_bias = part(n, cx, KILN_RNN_BIAS, 2 * gh * d),
                        .r_bias = part(n, cx, KILN_RNN_BIAS, 2 * gh * d + gh),
                        .gates = kiln_array(cx->scratch, double, gh),
                        .attr = attr,
                        .clip = attr[KILN_RNN_CLIP].f};
    if (cell->has_c)
        run.peepholes = part(n, cx, KILN_RNN_PEEPHOLES, 3 * h * d);
    kiln_rnn_activations_of(n, cell, d, run.activation, run.alpha, run.beta);
    return run;
}

/* x * w' for all steps and images at once: [S * N, G*H], `*row` apart. */
static const double *input_products(const kiln_node *n, const kiln_eval_cx *cx,
                                    int64_t gh, int d, int64_t *row) {
    *row = gh;
    if (!kiln_has_in(n, KILN_RNN_W)) {
        *row *= kiln_rnn_n_directions(n);
        return cx->in[KILN_RNN_X].f + d * gh;
    }
    const kiln_type *x = &n->in[KILN_RNN_X]->type;
    const int64_t rows = x->dim[0] * x->dim[1], k = x->dim[2];
    const kiln_gemm_matrix w = {cx->in[KILN_RNN_W].f + d * gh * k, 1, k};
    double *xw = kiln_array(cx->scratch, double, rows *gh);
    const kiln_gemm_f64 g = {.m = rows,
                             .n = gh,
                             .k = k,
                             .a = cx->in[KILN_RNN_X].f,
                             .a_row = k,
                             .a_col = 1,
                             .pack_b = kiln_gemm_pack_matrix,
                             .user = &w,
                             .c = xw,
                             .c_row = gh};
    kiln_gemm_f64_run(&g, cx->scratch);
    return xw;
}

static void init_state(const kiln_node *n, const kiln_eval_cx *cx, int in,
                       int64_t offset, int64_t count, double *state) {
    const double *from = part(n, cx, in, offset);
    for (int64_t i = 0; i < count; i++)
        state[i] = from == NULL ? 0.0 : from[i];
}

static void run_direction(const kiln_node *n, kiln_eval_cx *cx,
                          const kiln_rnn_cell *cell, int d, bool is_reverse) {
    const kiln_type *x = &n->in[KILN_RNN_X]->type;
    const kiln_rnn_run run = start(n, cx, cell, d);
    const int64_t steps = x->dim[0], batch = x->dim[1], size = run.hidden;
    const int64_t gh = size * cell->gates, dirs = kiln_rnn_n_directions(n);
    int64_t row = 0;
    const double *xw = input_products(n, cx, gh, d, &row);
    double *h = kiln_array(cx->scratch, double, size);
    double *c = kiln_array(cx->scratch, double, size);
    for (int64_t b = 0; b < batch; b++) {
        const int64_t state = (d * batch + b) * size;
        init_state(n, cx, KILN_RNN_INITIAL_H, state, size, h);
        if (cell->has_c)
            init_state(n, cx, KILN_RNN_INITIAL_C, state, size, c);
        const int64_t length =
            kiln_has_in(n, KILN_RNN_LENGTHS) ? cx->in[KILN_RNN_LENGTHS].i[b] : steps;
        for (int64_t s = 0; s < steps; s++) {
            const int64_t t = is_reverse && s < length ? length - 1 - s : s;
            double *y = cx->out[KILN_RNN_Y].f + ((t * dirs + d) * batch + b) * size;
            if (s < length)
                cell->step(&run, xw + (t * batch + b) * row, h, c);
            for (int64_t i = 0; i < size; i++)
                y[i] = s < length ? h[i] : 0.0;
        }
        for (int64_t i = 0; i < size && n->n_out > KILN_RNN_Y_H; i++)
            cx->out[KILN_RNN_Y_H].f[state + i] = h[i];
        for (int64_t i = 0; i < size && n->n_out > KILN_RNN_Y_C; i++)
            cx->out[KILN_RNN_Y_C].f[state + i] = c[i];
    }
}

kiln_status kiln_eval_recurrent(const kiln_node *n, kiln_eval_cx *cx,
                                const kiln_rnn_cell *cell) {
    const kiln_type *x = &n->in[KILN_RNN_X]->type;
    for (int64_t b = 0; kiln_has_in(n, KILN_RNN_LENGTHS) && b < x->dim[1]; b++) {
        const int64_t length = cx->in[KILN_RNN_LENGTHS].i[b];
        if (length < 0 || length > x->dim[0])
            return kiln_fail(cx->err, KILN_ERR_SHAPE,
                             "lengths must be in [0, %" PRId64 "], is %" PRId64
                             " at %" PRId64,
                             x->dim[0], length, b);
    }
    for (int d = 0; d < kiln_rnn_n_directions(n); d++)
        run_direction(n, cx, cell, d, kiln_rnn_is_reverse(n, d));
    return KILN_OK;
}

void kiln_cost_recurrent(const kiln_node *n, kiln_cost *c) {
    const kiln_type *x = &n->in[KILN_RNN_X]->type;
    int64_t weights = kiln_type_elems(&n->in[KILN_RNN_R]->type);
    if (kiln_has_in(n, KILN_RNN_W))
        weights += kiln_type_elems(&n->in[KILN_RNN_W]->type);
    c->muladds = kiln_mul_sat(kiln_mul_sat(x->dim[0], x->dim[1]), weights);
    c->flops = kiln_mul_sat(c->muladds, 2);
}

kiln_bound kiln_bound_recurrent(const kiln_node *n) {
    double terms = (double)n->in[KILN_RNN_R]->type.dim[2];
    if (kiln_has_in(n, KILN_RNN_W))
        terms += (double)n->in[KILN_RNN_X]->type.dim[2];
    return (kiln_bound){
        .kind = KILN_BOUND_ULP, .c = 16.0, .floor = 4.0 * (64.0 + terms)};
}
