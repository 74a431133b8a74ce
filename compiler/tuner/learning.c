/* What a search learns from its trials: the local model on the global one's margins
 * (Chen's thesis, section 5.4: f = f_global + f_local), and what it maximizes. */
#include "compiler/tuner/tuner_search_internal.h"

#include <math.h>
#include <string.h>

/* All trials but those that the template refuses: of these there is no program. */
static kiln_samples samples_of(kiln_arena *scratch, const kiln_search *s,
                               double best_ns) {
    const kiln_encodings all = kiln_encoding_list_view(&s->encoding);
    size_t *begin = kiln_array(scratch, size_t, all.n + 1), n = 0;
    float *score = kiln_array(scratch, float, all.n);
    for (size_t i = 0; i < all.n; i++) {
        if (kiln_encodings_at(&all, i).n == 0)
            continue;
        score[n++] = kiln_trial_score(&s->trial.v[i], best_ns);
        begin[n] = all.begin[i + 1];
    }
    return (kiln_samples){.encoding = {n, all.bytes, begin},
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

kiln_status kiln_search_learn(kiln_search *s, kiln_err *err) {
    kiln_trial best;
    if (!s->is_stale || !kiln_search_best(s, &best))
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st = learn(&scratch, s, best.cost_ns, err);
    kiln_arena_fini(&scratch);
    s->is_stale = st != KILN_OK;
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
