/* Training of a TreeGRU: Adam (Kingma and Ba, ICLR'15, algorithm 1) with a step that
 * falls to nothing, over batches of one group each, so that the rank loss finds its
 * pairs in them. */
#include "compiler/tuner/model/treegru/treegru.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/model/rank.h"

/* A search begins with a few samples, which some steps must do for; a database may have
 * more than an epoch has time for. */
enum { BATCH = 32, LEAST_STEPS = 120, MOST_STEPS = 2000 };

typedef struct batch {
    size_t begin, end; /* in `order` */
} batch;

typedef struct trainer {
    const kiln_samples *s;
    kiln_objective objective;
    kiln_rng rng;
    const kiln_treegru_scale *scale;
    kiln_arena scratch; /* of one batch's gradient of the loss */
    size_t *order;      /* samples, shuffled within their groups */
    KILN_VEC(batch) batches;
    /* Of one batch: */
    kiln_treegru_node (*tree)[KILN_TREEGRU_NODES];
    kiln_treegru_tape (*tape)[KILN_TREEGRU_NODES];
    size_t n_nodes[BATCH];
    float (*flow)[KILN_TREEGRU_H];
    kiln_treegru_transposed *transposed;
    kiln_treegru_weights *gradient, *mean, *square; /* the latter two: of gradients */
} trainer;

/* ---- batches --------------------------------------------------------------------- */

static void make_batches(kiln_arena *a, trainer *t) {
    const kiln_samples *s = t->s;
    const size_t n = s->encoding.n;
    t->order = kiln_array(a, size_t, n);
    for (size_t i = 0; i < n; i++)
        t->order[i] = i;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && s->group[end] == s->group[begin];)
            end++;
        const size_t size = end - begin, parts = (size + BATCH - 1) / BATCH;
        for (size_t i = 0; i < parts; i++)
            kiln_vec_push(
                a, &t->batches,
                ((batch){begin + size * i / parts, begin + size * (i + 1) / parts}));
    }
}

/* Samples stay in their group, so that batches are of one. */
static void shuffle(trainer *t) {
    const uint32_t *group = t->s->group;
    size_t begin = 0;
    for (size_t i = 1; i < t->s->encoding.n; i++) {
        if (group[i] != group[begin])
            begin = i;
        const size_t k = (size_t)kiln_rng_range(&t->rng, (int64_t)begin, (int64_t)i);
        const size_t swap = t->order[i];
        t->order[i] = t->order[k];
        t->order[k] = swap;
    }
    for (size_t i = 1; i < t->batches.n; i++) {
        const size_t k = (size_t)kiln_rng_range(&t->rng, 0, (int64_t)i);
        const batch swap = t->batches.v[i];
        t->batches.v[i] = t->batches.v[k];
        t->batches.v[k] = swap;
    }
}

/* The loss by each score of the batch, of samples as the objective takes them. */
static void loss_gradient(trainer *t, const batch *b, const float *predicted,
                          float *out) {
    const kiln_samples *s = t->s;
    const size_t n = b->end - b->begin;
    float score[BATCH], weight[BATCH], hessian[BATCH];
    uint32_t group[BATCH] = {0};
    for (size_t i = 0; i < n; i++) {
        const size_t from = t->order[b->begin + i];
        score[i] = s->score[from];
        weight[i] = s->weight != NULL ? s->weight[from] : 1;
    }
    const kiln_samples part = {
        .encoding = {.n = n}, .score = score, .group = group, .weight = weight};
    kiln_arena_reset(&t->scratch);
    kiln_objective_gradient(&t->scratch, t->objective, &part, predicted, out, hessian);
}

/* Sets t->gradient. */
static void run_batch(trainer *t, const kiln_treegru_weights *w, const batch *b) {
    const kiln_samples *s = t->s;
    const size_t n = b->end - b->begin;
    float predicted[BATCH], d_score[BATCH];
    for (size_t i = 0; i < n; i++) {
        const size_t from = t->order[b->begin + i];
        t->n_nodes[i] = kiln_treegru_read(
            t->scale, kiln_encodings_at(&s->encoding, from), t->tree[i]);
        predicted[i] = kiln_treegru_forward(w, t->tree[i], t->n_nodes[i], t->tape[i]) +
                       (s->base != NULL ? s->base[from] : 0);
    }
    loss_gradient(t, b, predicted, d_score);
    kiln_treegru_transpose(w, t->transposed);
    memset(t->gradient, 0, sizeof *t->gradient);
    for (size_t i = 0; i < n; i++)
        kiln_treegru_backward(w, t->transposed, t->tree[i], t->n_nodes[i], t->tape[i],
                              d_score[i], t->flow, t->gradient);
}

/* ---- steps ----------------------------------------------------------------------- */

/* Step number `step` of Adam, from 1. */
static void descend(trainer *t, int step, double rate, kiln_treegru_weights *w) {
    static const double keep_mean = 0.9, keep_square = 0.999;
    static const float least = 1e-8F;
    const float a = (float)keep_mean, b = (float)keep_square;
    const double bias = sqrt(1 - pow(keep_square, step)) / (1 - pow(keep_mean, step));
    const float factor = (float)(rate * bias);
    float *x = (float *)w, *mean = (float *)t->mean, *square = (float *)t->square;
    const float *g = (const float *)t->gradient;
    for (int i = 0; i < KILN_TREEGRU_WEIGHTS; i++) {
        mean[i] = a * mean[i] + (1 - a) * g[i];
        square[i] = b * square[i] + (1 - b) * g[i] * g[i];
        x[i] -= factor * mean[i] / (sqrtf(square[i]) + least);
    }
}

/* Uniform, with a variance of about gain^2 / n_in. */
static void draw(kiln_rng *rng, float *out, size_t n, int n_in, double gain) {
    const double most = gain * sqrt(3.0 / n_in);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(most * (2 * kiln_rng_unit(rng) - 1));
}

void kiln_treegru_draw(kiln_rng *rng, kiln_treegru_weights *out) {
    enum { X = KILN_TREEGRU_X, H = KILN_TREEGRU_H };
    static const double of_input = 0.7, of_readout = 0.3; /* features are correlated */
    *out = (kiln_treegru_weights){.score = 0};
    draw(rng, out->input[0][0], sizeof out->input / sizeof(float), X, of_input);
    draw(rng, out->gate[0], sizeof out->gate / sizeof(float), H, of_input);
    draw(rng, out->candidate[0], sizeof out->candidate / sizeof(float), H, of_input);
    draw(rng, out->slot[0], sizeof out->slot / sizeof(float), H, 1);
    draw(rng, out->readout[0], sizeof out->readout / sizeof(float), H, of_readout);
}

/* Regression begins at the mean of what is to be learned; ranks have no zero. */
static float mean_target(const kiln_samples *s) {
    double sum = 0;
    for (size_t i = 0; i < s->encoding.n; i++)
        sum += (double)s->score[i] - (s->base != NULL ? (double)s->base[i] : 0);
    return (float)(sum / (double)s->encoding.n);
}

/* What carries over is learned first: in more epochs of several works other works are
 * judged worse (77% of their pairs in order become 75%). */
static int steps_of(const kiln_treegru_training *o, const kiln_samples *s,
                    size_t n_batches) {
    enum { CARRIED_PART = 4 };
    const double epochs = (double)o->n_epochs / (s->carries_over ? CARRIED_PART : 1);
    const double wanted = (double)n_batches * epochs;
    return wanted < LEAST_STEPS  ? LEAST_STEPS
           : wanted > MOST_STEPS ? MOST_STEPS
                                 : (int)wanted;
}

void kiln_treegru_train(const kiln_treegru_training *o, kiln_objective objective,
                        uint64_t seed, const kiln_samples *s, kiln_treegru_scale *scale,
                        kiln_treegru_weights *out) {
    kiln_arena a = {0};
    trainer t = {.s = s, .objective = objective, .scale = scale};
    kiln_rng_init(&t.rng, seed);
    kiln_treegru_scale_of(&a, &s->encoding, scale);
    t.tree = kiln_arena_array(&a, BATCH, sizeof *t.tree);
    t.tape = kiln_arena_array(&a, BATCH, sizeof *t.tape);
    t.flow = kiln_arena_array(&a, KILN_TREEGRU_NODES, sizeof *t.flow);
    t.transposed = kiln_new(&a, kiln_treegru_transposed);
    t.gradient = kiln_new(&a, kiln_treegru_weights);
    t.mean = kiln_new(&a, kiln_treegru_weights);
    t.square = kiln_new(&a, kiln_treegru_weights);
    make_batches(&a, &t);
    kiln_treegru_draw(&t.rng, out);
    if (objective == KILN_OBJECTIVE_REGRESSION)
        out->score = mean_target(s);
    const int n_steps = steps_of(o, s, t.batches.n);
    for (int i = 0; i < n_steps; i++) {
        const size_t at = (size_t)i % t.batches.n;
        if (at == 0)
            shuffle(&t);
        run_batch(&t, out, &t.batches.v[at]);
        descend(&t, i + 1, o->learning_rate * (n_steps - i) / n_steps, out);
    }
    kiln_arena_fini(&t.scratch);
    kiln_arena_fini(&a);
}
