/* Trials of several workloads as samples that a model learns from. */
#include "compiler/tuner/tuner.h"

#include <math.h>

void kiln_sample_set_init(kiln_sample_set *s, kiln_arena *a, bool carries_over) {
    *s = (kiln_sample_set){.arena = a, .carries_over = carries_over};
}

void kiln_sample_set_add(kiln_sample_set *s, kiln_candidates *c, const kiln_trial *t,
                         size_t n) {
    double best = (double)INFINITY;
    for (size_t i = 0; i < n; i++)
        if (t[i].outcome == KILN_OUTCOME_MEASURED && t[i].cost_ns < best)
            best = t[i].cost_ns;
    for (size_t i = 0; i < n; i++) {
        const kiln_encoding *e = t[i].outcome == KILN_OUTCOME_LOST
                                     ? NULL
                                     : kiln_candidates_encoding(c, t[i].index);
        if (e == NULL)
            continue;
        kiln_encoding_list_add(s->arena, &s->encoding, e->bytes);
        kiln_vec_push(s->arena, &s->score, kiln_trial_score(&t[i], best));
        kiln_vec_push(s->arena, &s->weight, 1);
        kiln_vec_push(s->arena, &s->group, s->n_groups);
    }
    s->n_groups++;
}

kiln_samples kiln_sample_set_view(const kiln_sample_set *s) {
    KILN_ASSERT(s->score.n == s->group.n, "%zu scores of samples in %zu groups",
                s->score.n, s->group.n);
    return (kiln_samples){.encoding = kiln_encoding_list_view(&s->encoding),
                          .score = s->score.v,
                          .group = s->group.v,
                          .weight = s->weight.v,
                          .carries_over = s->carries_over};
}

float kiln_trial_score(const kiln_trial *t, double best_ns) {
    KILN_ASSERT(best_ns > 0, "the best trial took %g ns", best_ns);
    switch (t->outcome) {
    case KILN_OUTCOME_MEASURED:
        return (float)(best_ns / t->cost_ns);
    case KILN_OUTCOME_SLOW: /* at least so slow: it may be slower than the bound */
        return t->cost_ns > best_ns ? (float)(best_ns / t->cost_ns) : 0;
    case KILN_OUTCOME_SPILLS:
    case KILN_OUTCOME_NOBUILD:
    case KILN_OUTCOME_LETHAL:
    case KILN_OUTCOME_WRONG:
    case KILN_OUTCOME_LOST:
        break;
    }
    return 0;
}
