/* Trials of several workloads as rows that a model learns from. */
#include "compiler/tuner/tuner.h"

#include <math.h>

void kiln_sample_set_init(kiln_sample_set *s, kiln_arena *a, bool relation_only) {
    *s = (kiln_sample_set){.arena = a, .relation_only = relation_only};
}

static size_t width(const kiln_sample_set *s) {
    return s->relation_only ? kiln_n_relation_features() : kiln_n_features();
}

void kiln_sample_set_add(kiln_sample_set *s, kiln_candidates *c, const kiln_trial *t,
                         size_t n) {
    double best = (double)INFINITY;
    for (size_t i = 0; i < n; i++)
        if (t[i].outcome == KILN_OUTCOME_MEASURED && t[i].cost_ns < best)
            best = t[i].cost_ns;
    for (size_t i = 0; i < n; i++) {
        const float *row = t[i].outcome == KILN_OUTCOME_LOST
                               ? NULL
                               : kiln_candidates_features(c, t[i].index);
        if (row == NULL)
            continue;
        for (size_t f = 0; f < width(s); f++)
            kiln_vec_push(s->arena, &s->features, row[f]);
        kiln_vec_push(s->arena, &s->score, kiln_trial_score(&t[i], best));
        kiln_vec_push(s->arena, &s->group, s->n_groups);
    }
    s->n_groups++;
}

kiln_samples kiln_sample_set_view(const kiln_sample_set *s) {
    return (kiln_samples){.n = s->score.n,
                          .n_features = width(s),
                          .features = s->features.v,
                          .score = s->score.v,
                          .group = s->group.v};
}

float kiln_trial_score(const kiln_trial *t, double best_ns) {
    switch (t->outcome) {
    case KILN_OUTCOME_MEASURED:
        return (float)(best_ns / t->cost_ns);
    case KILN_OUTCOME_SLOW: /* at least so slow: it may be slower than the bound */
        return t->cost_ns > best_ns ? (float)(best_ns / t->cost_ns) : 0;
    case KILN_OUTCOME_NOBUILD:
    case KILN_OUTCOME_LETHAL:
    case KILN_OUTCOME_WRONG:
    case KILN_OUTCOME_LOST:
        break;
    }
    return 0;
}
