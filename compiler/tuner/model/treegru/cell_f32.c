/* TreeGRU forward and backward (treegru.h has the equations). Plain loops over rows of
 * matrices, whose lengths are constants: what compilers turn into vectors without being
 * allowed to reorder sums. So dot products are none: matrices are walked by rows. */
#include "compiler/tuner/model/treegru/treegru.h"

#include <math.h>
#include <string.h>

enum {
    X = KILN_TREEGRU_X,
    H = KILN_TREEGRU_H,
    GATES = 2 * H, /* z and r */
    ALL = 3 * H,
    SLOTS = KILN_TREEGRU_SLOTS
};

/* ---- vectors ---------------------------------------------------------------------
 * Of weights, trees and tapes, which forward and backward ask for whole. */

/* y[n] += sum of x[k] times row k of m. Features that say nothing are 0. */
KILN_ASKED_WHOLE static inline void add_product(float *restrict y,
                                                const float *restrict x,
                                                const float *restrict m, int n_x,
                                                int n) {
    for (int k = 0; k < n_x; k++) {
        const float factor = x[k], *row = m + (ptrdiff_t)k * n;
        if (factor == 0)
            continue;
        for (int i = 0; i < n; i++)
            y[i] += factor * row[i];
    }
}

/* Row k of m += x[k] * y[n]. */
KILN_ASKED_WHOLE static inline void add_outer(float *restrict m,
                                              const float *restrict x,
                                              const float *restrict y, int n_x, int n) {
    for (int k = 0; k < n_x; k++) {
        const float factor = x[k];
        float *row = m + (ptrdiff_t)k * n;
        if (factor == 0)
            continue;
        for (int i = 0; i < n; i++)
            row[i] += factor * y[i];
    }
}

/* The ninth convergent of Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 +
 * ...))), which is within 2e-6 of tanh as far as it is read: without a call, so that
 * loops over it become vectors. */
static inline float tanh_of(float x) {
    const float far = 7;
    x = x > far ? far : x;
    x = x < -far ? -far : x;
    const float y = x * x;
    const float over =
        x * ((((y + 990.0F) * y + 135135.0F) * y + 4729725.0F) * y + 34459425.0F);
    const float under =
        (((45.0F * y + 13860.0F) * y + 945945.0F) * y + 16216200.0F) * y + 34459425.0F;
    return over / under;
}

static inline float sigmoid_of(float x) { return 0.5F + 0.5F * tanh_of(0.5F * x); }

/* ---- forward --------------------------------------------------------------------- */

static void run_cell(const kiln_treegru_weights *w, const kiln_treegru_node *node,
                     kiln_treegru_tape *t) {
    float sum[ALL], looked_at[H];
    memcpy(sum, w->bias[node->kind], sizeof sum);
    add_product(sum, node->x, w->input[node->kind][0], X, ALL);
    if (t->has_parts)
        add_product(sum, t->s, w->gate[0], H, GATES);
    for (int i = 0; i < H; i++) {
        t->z[i] = sigmoid_of(sum[i]);
        t->r[i] = sigmoid_of(sum[H + i]);
    }
    for (int i = 0; i < H; i++)
        looked_at[i] = t->r[i] * t->s[i];
    if (t->has_parts)
        add_product(sum + GATES, looked_at, w->candidate[0], H, H);
    for (int i = 0; i < H; i++) {
        t->c[i] = tanh_of(sum[GATES + i]);
        t->h[i] = t->z[i] * t->s[i] + (1 - t->z[i]) * t->c[i];
    }
}

/* The softmax over slots, and what the state is worth in each. */
static float run_readout(const kiln_treegru_weights *w, kiln_treegru_tape *t) {
    float score = 0, most = -INFINITY, sum = 0;
    memcpy(t->p, w->slot_bias, sizeof t->p);
    memset(t->value, 0, sizeof t->value);
    add_product(t->p, t->h, w->slot[0], H, SLOTS);
    add_product(t->value, t->h, w->readout[0], H, SLOTS);
    for (int i = 0; i < SLOTS; i++)
        most = fmaxf(most, t->p[i]);
    for (int i = 0; i < SLOTS; i++) {
        t->p[i] = expf(t->p[i] - most);
        sum += t->p[i];
    }
    for (int i = 0; i < SLOTS; i++) {
        t->p[i] /= sum;
        score += t->p[i] * t->value[i];
    }
    return score;
}

float kiln_treegru_forward(const kiln_treegru_weights *w, const kiln_treegru_node *tree,
                           size_t n, kiln_treegru_tape *tape) {
    float score = w->score;
    kiln_ask_whole(w, sizeof *w);
    kiln_ask_whole(tree, n * sizeof *tree);
    kiln_ask_whole(tape, n * sizeof *tape);
    for (size_t i = 0; i < n; i++) {
        memset(tape[i].s, 0, sizeof tape[i].s);
        tape[i].has_parts = false;
    }
    for (size_t i = n; i-- > 0;) {
        kiln_treegru_tape *t = &tape[i];
        run_cell(w, &tree[i], t);
        score += run_readout(w, t);
        if (tree[i].parent < 0)
            continue;
        kiln_treegru_tape *parent = &tape[tree[i].parent];
        parent->has_parts = true;
        for (int k = 0; k < H; k++)
            parent->s[k] += t->h[k];
    }
    return score;
}

/* ---- backward -------------------------------------------------------------------- */

void kiln_treegru_transpose(const kiln_treegru_weights *w,
                            kiln_treegru_transposed *out) {
    for (int k = 0; k < H; k++) {
        for (int i = 0; i < GATES; i++)
            out->gate[i][k] = w->gate[k][i];
        for (int i = 0; i < H; i++)
            out->candidate[i][k] = w->candidate[k][i];
    }
}

/* Adds to d_h what the readout asks for. */
static void turn_readout(const kiln_treegru_weights *w, const kiln_treegru_tape *t,
                         float d_score, float *d_h, kiln_treegru_weights *gradient) {
    float d_value[SLOTS], d_slot[SLOTS], mean = 0;
    for (int i = 0; i < SLOTS; i++)
        mean += t->p[i] * t->value[i];
    for (int i = 0; i < SLOTS; i++) {
        d_value[i] = d_score * t->p[i];
        d_slot[i] = d_value[i] * (t->value[i] - mean);
        gradient->slot_bias[i] += d_slot[i];
    }
    add_outer(gradient->readout[0], t->h, d_value, H, SLOTS);
    add_outer(gradient->slot[0], t->h, d_slot, H, SLOTS);
    for (int k = 0; k < H; k++)
        for (int i = 0; i < SLOTS; i++)
            d_h[k] += w->readout[k][i] * d_value[i] + w->slot[k][i] * d_slot[i];
}

/* d_sum: of the three gates before they are squashed; d_s: of the state that came up. */
static void turn_cell(const kiln_treegru_transposed *m, const kiln_treegru_tape *t,
                      const float *d_h, float *d_sum, float *d_s,
                      kiln_treegru_weights *gradient) {
    float d_looked_at[H] = {0}, looked_at[H];
    for (int i = 0; i < H; i++) {
        const float z = t->z[i], c = t->c[i];
        d_sum[i] = d_h[i] * (t->s[i] - c) * z * (1 - z);
        d_sum[H + i] = 0;
        d_sum[GATES + i] = d_h[i] * (1 - z) * (1 - c * c);
        d_s[i] = d_h[i] * z;
    }
    if (!t->has_parts)
        return;
    add_product(d_looked_at, d_sum + GATES, m->candidate[0], H, H);
    for (int i = 0; i < H; i++) {
        const float r = t->r[i];
        looked_at[i] = r * t->s[i];
        d_sum[H + i] = d_looked_at[i] * t->s[i] * r * (1 - r);
        d_s[i] += d_looked_at[i] * r;
    }
    add_product(d_s, d_sum, m->gate[0], GATES, H);
    add_outer(gradient->gate[0], t->s, d_sum, H, GATES);
    add_outer(gradient->candidate[0], looked_at, d_sum + GATES, H, H);
}

void kiln_treegru_backward(const kiln_treegru_weights *w,
                           const kiln_treegru_transposed *t,
                           const kiln_treegru_node *tree, size_t n,
                           const kiln_treegru_tape *tape, float d_score,
                           float (*flow)[KILN_TREEGRU_H],
                           kiln_treegru_weights *gradient) {
    kiln_ask_whole(t, sizeof *t);
    kiln_ask_whole(tree, n * sizeof *tree);
    kiln_ask_whole(tape, n * sizeof *tape);
    kiln_ask_whole(flow, n * sizeof *flow);
    kiln_ask_whole(gradient, sizeof *gradient);
    gradient->score += d_score;
    for (size_t i = 0; i < n; i++) {
        const kiln_treegru_node *node = &tree[i];
        float d_h[H] = {0}, d_sum[ALL];
        if (node->parent >= 0)
            memcpy(d_h, flow[node->parent], sizeof d_h);
        turn_readout(w, &tape[i], d_score, d_h, gradient);
        turn_cell(t, &tape[i], d_h, d_sum, flow[i], gradient);
        float *bias = gradient->bias[node->kind];
        for (int k = 0; k < ALL; k++)
            bias[k] += d_sum[k];
        add_outer(gradient->input[node->kind][0], node->x, d_sum, X, ALL);
    }
}
