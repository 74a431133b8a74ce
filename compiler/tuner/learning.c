/* What a search learns from its trials: the local model on the global one's margins
 * (Chen's thesis, section 5.4: f = f_global + f_local), and what it maximizes. */
#include "compiler/tuner/tuner_search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fit to thousands takes longer than to build and run what it proposes, and says no
 * more of the best than one to the faster half and a sample of the others. */
enum { MOST_LEARNED = 512 };

typedef struct place {
    size_t trial;
    float score;
} place;

static int best_first(const void *x, const void *y) {
    const place *a = x, *b = y;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return a->trial < b->trial ? -1 : a->trial > b->trial;
}

static int in_order(const void *x, const void *y) {
    const place *a = x, *b = y;
    return a->trial < b->trial ? -1 : a->trial > b->trial;
}

/* Of n, of which there are more than MOST_LEARNED: the best half of these, and the others
 * in even steps. */
static size_t keep_some(place *p, size_t n) {
    const size_t head = MOST_LEARNED / 2, rest = MOST_LEARNED - head;
    qsort(p, n, sizeof *p, best_first);
    for (size_t i = 0; i < rest; i++)
        p[head + i] = p[head + i * (n - head) / rest];
    qsort(p, MOST_LEARNED, sizeof *p, in_order);
    return MOST_LEARNED;
}

/* Trials but those that the template refuses: of these there is no program. */
static kiln_samples samples_of(kiln_arena *scratch, const kiln_search *s,
                               double best_ns) {
    const kiln_encodings all = kiln_encoding_list_view(&s->encoding);
    kiln_encoding_list *list = kiln_new(scratch, kiln_encoding_list);
    place *p = kiln_array(scratch, place, all.n);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++)
        if (kiln_encodings_at(&all, i).n > 0)
            p[n++] = (place){i, kiln_trial_score(&s->trial.v[i], best_ns)};
    n = n > MOST_LEARNED ? keep_some(p, n) : n;
    float *score = kiln_array(scratch, float, n);
    for (size_t i = 0; i < n; i++) {
        kiln_encoding_list_add(scratch, list, kiln_encodings_at(&all, p[i].trial));
        score[i] = p[i].score;
    }
    return (kiln_samples){.encoding = kiln_encoding_list_view(list),
                          .score = score,
                          .group = kiln_array(scratch, uint32_t, n)};
}

/* The best of the trials as the model has them: what an improvement improves on. */
static kiln_status find_incumbent(kiln_arena *scratch, kiln_search *s,
                                  const kiln_samples *samples, kiln_err *err) {
    float *score = kiln_array(scratch, float, samples->encoding.n);
    KILN_TRY(kiln_cost_model_predict(&s->model, &samples->encoding, samples->base,
                                     score, err));
    s->incumbent = score[0];
    for (size_t i = 1; i < samples->encoding.n; i++)
        s->incumbent = fmaxf(s->incumbent, score[i]);
    return KILN_OK;
}

static kiln_status learn(kiln_arena *scratch, kiln_search *s, double best_ns,
                         kiln_err *err) {
    kiln_samples samples = samples_of(scratch, s, best_ns);
    if (samples.encoding.n == 0)
        return KILN_OK;
    if (s->options.global != NULL) {
        float *base = kiln_array(scratch, float, samples.encoding.n);
        samples.base = base;
        KILN_TRY(kiln_cost_model_predict(s->options.global, &samples.encoding, NULL,
                                         base, err));
    }
    KILN_TRY(kiln_cost_model_fit(&s->model, &samples, err));
    return s->options.acquisition == KILN_ACQUIRE_IMPROVEMENT
               ? find_incumbent(scratch, s, &samples, err)
               : KILN_OK;
}

bool kiln_search_is_stale(const kiln_search *s) {
    enum { FEW = 256, PART = 16 }; /* a few more of many change nothing */
    const size_t n_new = s->trial.n - s->n_fitted;
    return s->is_stale && (s->n_fitted < FEW || PART * n_new >= s->n_fitted);
}

kiln_status kiln_search_learn(kiln_search *s, kiln_err *err) {
    kiln_trial best;
    if (!kiln_search_is_stale(s) || !kiln_search_best(s, &best))
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st = learn(&scratch, s, best.cost_ns, err);
    kiln_arena_fini(&scratch);
    s->is_stale = st != KILN_OK;
    if (st == KILN_OK)
        s->n_fitted = s->trial.n;
    return st;
}

/* ---- acquisition ----------------------------------------------------------------- */

double kiln_log_improvement(double above, double spread) {
    static const double root_2pi = 2.5066282746310002, far = -6;
    if (spread <= 0)
        return above > 0 ? log(above) : -HUGE_VAL;
    const double z = above / spread, density = exp(-z * z / 2) / root_2pi;
    if (z < far) /* where the difference below cancels: its first term for large -z */
        return log(spread) - z * z / 2 - log(root_2pi) - 2 * log(-z);
    return log(spread) + log(density + z * erfc(-z / sqrt(2)) / 2);
}

static float acquire(const kiln_search *s, float mean, float spread) {
    static const float least = 1e-6F; /* members agree: still in an order */
    const double doubt = (double)fmaxf(spread, least);
    switch (s->options.acquisition) {
    case KILN_ACQUIRE_MEAN:
        return mean;
    case KILN_ACQUIRE_UPPER_BOUND:
        return mean + spread;
    case KILN_ACQUIRE_IMPROVEMENT:
        return (float)kiln_log_improvement((double)mean - (double)s->incumbent, doubt);
    }
    return mean;
}

/* At most KILN_SCORE_ROWS. */
static kiln_status score_rows(kiln_search *s, const kiln_encodings *e, float *out,
                              kiln_err *err) {
    float base[KILN_SCORE_ROWS] = {0}, spread[KILN_SCORE_ROWS];
    if (s->options.global != NULL)
        KILN_TRY(kiln_cost_model_predict(s->options.global, e, NULL, base, err));
    if (s->options.acquisition == KILN_ACQUIRE_MEAN || !s->model.is_fitted ||
        s->model.kind->predict_spread == NULL)
        return kiln_cost_model_predict(&s->model, e, base, out, err);
    KILN_TRY(kiln_cost_model_predict_spread(&s->model, e, base, out, spread, err));
    for (size_t i = 0; i < e->n; i++)
        out[i] = acquire(s, out[i], spread[i]);
    return KILN_OK;
}

kiln_status kiln_search_score(kiln_search *s, const kiln_encodings *e, float *out,
                              kiln_err *err) {
    for (size_t at = 0; at < e->n; at += KILN_SCORE_ROWS) {
        const size_t n = e->n - at < KILN_SCORE_ROWS ? e->n - at : KILN_SCORE_ROWS;
        const kiln_encodings part = kiln_encodings_part(e, at, n);
        KILN_TRY(score_rows(s, &part, out + at, err));
    }
    return KILN_OK;
}
