/* TreeGRU: a recurrent network over the loops of a program, from leaves to root (Chen's
 * thesis, 5.2.1 and 5.3; over trees: Tai et al., ACL'15, section 3.1; its unit: Cho et
 * al., EMNLP'14). Of a node with context features x and the nodes right inside it:
 *
 *     s = sum of their h
 *     z = sigmoid(W_z x + U_z s + b_z)      how much of it stays
 *     r = sigmoid(W_r x + U_r s + b_r)      how much of it is looked at
 *     c = tanh(W_c x + U_c (r * s) + b_c)
 *     h = z * s + (1 - z) * c
 *     p = softmax(V h + a)                  to which memory slot it goes
 *
 *     score = d + sum over nodes and slots of p_i (R_i . h)
 *
 * which is the thesis' scatter, out_i = p_i h summed over all levels, read linearly.
 * Every kind of node has a W and b of its own. Inside compiler/tuner/model. */
#ifndef KILN_COMPILER_TUNER_MODEL_TREEGRU_TREEGRU_H
#define KILN_COMPILER_TUNER_MODEL_TREEGRU_TREEGRU_H

#include "compiler/tuner/tuner.h"

enum {
    KILN_TREEGRU_VERSION = 1, /* of encodings: the features of nodes, and their order */
    KILN_TREEGRU_X = 28,      /* features of a node */
    KILN_TREEGRU_H = 32,      /* width of its state */
    KILN_TREEGRU_SLOTS = 4,
    KILN_TREEGRU_NODES = 256 /* of one program, at most; more are left out */
};

/* ---- trees ----------------------------------------------------------------------- */

typedef enum kiln_treegru_kind {
    KILN_TREEGRU_PROGRAM, /* the root */
    KILN_TREEGRU_LOOP,
    KILN_TREEGRU_STMT,
    KILN_TREEGRU_KINDS
} kiln_treegru_kind;

/* A candidate's bytes are an array of these: the root, and each node behind its parent.
 */
typedef struct kiln_treegru_node {
    int32_t parent; /* index; -1: none */
    int32_t kind;
    float x[KILN_TREEGRU_X];
} kiln_treegru_node;

/* For kiln_cost_model_kind.encode. */
void kiln_treegru_encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out);

/* x is read as (x - mean) * factor, held to a few units: of a feature that never
 * differed the factor is 0. */
typedef struct kiln_treegru_scale {
    float mean[KILN_TREEGRU_KINDS][KILN_TREEGRU_X];
    float factor[KILN_TREEGRU_KINDS][KILN_TREEGRU_X];
} kiln_treegru_scale;
/* Of all nodes of all encodings; n > 0. */
void kiln_treegru_scale_of(kiln_arena *scratch, const kiln_encodings *e,
                           kiln_treegru_scale *out);
/* The nodes of one encoding, scaled, to out[KILN_TREEGRU_NODES]; how many. Asserts that
 * the bytes are of kiln_treegru_encode. */
size_t kiln_treegru_read(const kiln_treegru_scale *scale, kiln_str encoding,
                         kiln_treegru_node *out);

/* ---- the network ----------------------------------------------------------------- */

/* Nothing but floats, so that it is also an array of KILN_TREEGRU_WEIGHTS of them. Rows
 * of matrices are for inputs, columns for outputs; of three gates z, r and c in that
 * order. */
typedef struct kiln_treegru_weights {
    float input[KILN_TREEGRU_KINDS][KILN_TREEGRU_X][3 * KILN_TREEGRU_H]; /* W */
    float bias[KILN_TREEGRU_KINDS][3 * KILN_TREEGRU_H];
    float gate[KILN_TREEGRU_H][2 * KILN_TREEGRU_H];    /* U_z, U_r */
    float candidate[KILN_TREEGRU_H][KILN_TREEGRU_H];   /* U_c */
    float slot[KILN_TREEGRU_H][KILN_TREEGRU_SLOTS];    /* V */
    float slot_bias[KILN_TREEGRU_SLOTS];               /* a */
    float readout[KILN_TREEGRU_H][KILN_TREEGRU_SLOTS]; /* R */
    float score;                                       /* d */
} kiln_treegru_weights;
enum { KILN_TREEGRU_WEIGHTS = sizeof(kiln_treegru_weights) / sizeof(float) };

/* What forward leaves of each node for backward. */
typedef struct kiln_treegru_tape {
    float s[KILN_TREEGRU_H], z[KILN_TREEGRU_H], r[KILN_TREEGRU_H], c[KILN_TREEGRU_H],
        h[KILN_TREEGRU_H];
    float p[KILN_TREEGRU_SLOTS], value[KILN_TREEGRU_SLOTS]; /* value: R_i . h */
    bool has_parts; /* else s is 0, and nothing flows into it */
} kiln_treegru_tape;

/* The score of a tree of n nodes; tape: room for as many. */
float kiln_treegru_forward(const kiln_treegru_weights *w, const kiln_treegru_node *tree,
                           size_t n, kiln_treegru_tape *tape);

/* What backward needs of the weights beside themselves: gate and candidate transposed.
 */
typedef struct kiln_treegru_transposed {
    float gate[2 * KILN_TREEGRU_H][KILN_TREEGRU_H];
    float candidate[KILN_TREEGRU_H][KILN_TREEGRU_H];
} kiln_treegru_transposed;
void kiln_treegru_transpose(const kiln_treegru_weights *w,
                            kiln_treegru_transposed *out);

/* Adds d_score times the derivative of the score by each weight, of the tree that
 * forward left the tape of. flow: room for n states. */
void kiln_treegru_backward(const kiln_treegru_weights *w,
                           const kiln_treegru_transposed *t,
                           const kiln_treegru_node *tree, size_t n,
                           const kiln_treegru_tape *tape, float d_score,
                           float (*flow)[KILN_TREEGRU_H],
                           kiln_treegru_weights *gradient);

/* ---- training -------------------------------------------------------------------- */

typedef struct kiln_treegru_training {
    int n_epochs;
    double learning_rate;
} kiln_treegru_training;

/* By Adam (Kingma and Ba, ICLR'15), from weights that the seed draws, in batches of one
 * group each. Equal samples, options and seed give equal weights. */
void kiln_treegru_train(const kiln_treegru_training *o, kiln_objective objective,
                        uint64_t seed, const kiln_samples *s, kiln_treegru_scale *scale,
                        kiln_treegru_weights *out);
/* Drawn: where training starts. */
void kiln_treegru_draw(kiln_rng *rng, kiln_treegru_weights *out);

#endif
