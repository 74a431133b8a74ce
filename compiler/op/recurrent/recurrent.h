/* What the recurrent operators rnn, gru and lstm share.
 *
 * With S steps, N images, D directions, H hidden and G gates of a cell:
 *   inputs   x [S,N,I]  w [D,G*H,I]  r [D,G*H,H]  bias [D,2*G*H] (of w, then of r)
 *            lengths [N] i32  initial_h [D,N,H]
 *            lstm also initial_c [D,N,H] and peepholes [D,3*H]
 *   outputs  y [S,D,N,H]  y_h [D,N,H]; lstm also y_c [D,N,H]
 *
 * Steps past an image's length are zeros in y and leave the state as it is; the
 * backward direction begins at an image's last step. Source: ONNX RNN-22, GRU-22,
 * LSTM-22 (layout 0; the importer transposes for layout 1).
 *
 * Without w, x [S,N,D*G*H] holds the products w * x already: what the pass
 * hoist_recurrent leaves, and what runs step by step.
 */
#ifndef KILN_COMPILER_OP_RECURRENT_RECURRENT_H
#define KILN_COMPILER_OP_RECURRENT_RECURRENT_H

#include "compiler/op/op_common.h"

/* Inputs, attributes and outputs of all three; their own follow. */
enum {
    KILN_RNN_X,
    KILN_RNN_W,
    KILN_RNN_R,
    KILN_RNN_BIAS,
    KILN_RNN_LENGTHS,
    KILN_RNN_INITIAL_H,
    KILN_RNN_INITIAL_C,
    KILN_RNN_PEEPHOLES
};
enum { KILN_RNN_Y, KILN_RNN_Y_H, KILN_RNN_Y_C };
enum {
    KILN_RNN_DIRECTION,
    KILN_RNN_ACTIVATIONS,
    KILN_RNN_ALPHA,
    KILN_RNN_BETA,
    KILN_RNN_CLIP,
    KILN_RNN_N_ATTR
};
extern const char *const kiln_rnn_directions[];  /* forward, reverse, bidirectional */
extern const char *const kiln_rnn_activations[]; /* relu, tanh, ... */
/* clang-format off */
#define KILN_RNN_ATTRS                                                                 \
    {.name = "direction", .kind = KILN_ATTR_WORD, .choices = kiln_rnn_directions,      \
     .doc = "order of the steps; bidirectional: two directions"},                      \
    {.name = "activations", .kind = KILN_ATTR_WORDS, .choices = kiln_rnn_activations,  \
     .doc = "functions of the cell, for each direction in turn; empty: the usual"},    \
    {.name = "alpha", .kind = KILN_ATTR_FLOATS,                                        \
     .doc = "first parameter of each activation; empty: the usual"},                   \
    {.name = "beta", .kind = KILN_ATTR_FLOATS,                                         \
     .doc = "second parameter of each activation; empty: the usual"},                  \
    {.name = "clip", .kind = KILN_ATTR_FLOAT, .default_f = (double)INFINITY,           \
     .doc = "inputs of activations are held in [-clip, clip]"}
/* clang-format on */

enum {
    KILN_RNN_MAX_ACTIVATIONS = 3,
    KILN_RNN_GROUP = 4 /* images that go through a step together, at most */
};

/* One direction of a cell while it runs. */
typedef struct kiln_rnn_run {
    int64_t hidden;
    const double *r;               /* [G*H,H] */
    const double *w_bias, *r_bias; /* [G*H]; NULL: none */
    const double *peepholes;       /* [3*H]; NULL: none */
    double *gates;                 /* [G*H], scratch of the step */
    const kiln_attr *attr;         /* the node's */
    int activation[KILN_RNN_MAX_ACTIVATIONS];
    double alpha[KILN_RNN_MAX_ACTIVATIONS], beta[KILN_RNN_MAX_ACTIVATIONS];
    double clip;
} kiln_rnn_run;

/* One step of one image: xw [G*H] is w * x; h and c [H] are replaced (c only for lstm).
 */
typedef void (*kiln_rnn_step)(const kiln_rnn_run *run, const double *xw, double *h,
                              double *c);

struct kiln_rnn_program; /* recurrent_expr.h */

typedef struct kiln_rnn_cell {
    int gates;
    int n_activations;
    int usual[KILN_RNN_MAX_ACTIVATIONS]; /* indexes in kiln_rnn_activations */
    bool has_c;                          /* lstm */
    kiln_rnn_step step;
    /* The same step as statements. */
    const struct kiln_stmt *(*program)(const struct kiln_rnn_program *p);
} kiln_rnn_cell;

enum { KILN_RNN_RELU, KILN_RNN_TANH, KILN_RNN_SIGMOID }; /* the first of the words */

kiln_status kiln_infer_recurrent(const kiln_node *n, const kiln_rnn_cell *cell,
                                 kiln_type *out, kiln_err *err);
kiln_status kiln_eval_recurrent(const kiln_node *n, kiln_eval_cx *cx,
                                const kiln_rnn_cell *cell);
/* Activation number i of the run, of a clipped input. */
double kiln_rnn_activate(const kiln_rnn_run *run, int i, double x);
/* xw + r * h + both biases for element `row` of the gates. */
double kiln_rnn_gate(const kiln_rnn_run *run, const double *xw, const double *h,
                     int64_t row);
/* r * h of one row, without bias. */
double kiln_rnn_product(const kiln_rnn_run *run, const double *h, int64_t row);

/* As a node has them; a row of activations per direction. */
void kiln_rnn_activations_of(const kiln_node *n, const kiln_rnn_cell *cell, int d,
                             int *which, double *alpha, double *beta);
/* One activation, by its index in kiln_rnn_activations, as an expression. */
const kiln_expr *kiln_rnn_activation(kiln_arena *a, int which, double alpha,
                                     double beta, const kiln_expr *x);
int kiln_rnn_n_directions(const kiln_node *n);
bool kiln_rnn_is_reverse(const kiln_node *n, int d);
kiln_status kiln_compute_recurrent(const kiln_node *n, kiln_compute_cx *cx,
                                   const kiln_rnn_cell *cell);

void kiln_cost_recurrent(const kiln_node *n, kiln_cost *c);
/* 16 ulp, or 4 * (64 + I + H) unit roundoffs: a step sums I + H products (H without w),
 * the activations are of unit size and their slopes at most 1, so that errors of
 * earlier steps fade. */
kiln_bound kiln_bound_recurrent(const kiln_node *n);

/* What the rows share; a row adds name, doc, in_names, n_in_max, n_out_max and its
 * attributes. The cell is the file's own. */
#define KILN_ROW_RECURRENT                                                             \
    .n_in_min = 1, /* r must be given, too: infer says so */                           \
        .n_out_min = 1, .dtypes = KILN_DT_FLOAT, .fuse = KILN_FUSE_OPAQUE,             \
    .layout = KILN_LAYOUT_DEPENDENT, .cost = kiln_cost_recurrent,                      \
    .error_bound = kiln_bound_recurrent

#endif
