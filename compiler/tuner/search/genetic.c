/* A genetic search (the black box that AutoTVM is compared with: NIPS'18, section 5):
 * parents drawn by score among the best trials, knobs from either, some changed. */
#include "compiler/tuner/tuner_search_internal.h"

enum { POPULATION = 64, TRIES = 64 };
static const double mutation = 0.1; /* of each knob */

static kiln_status init(kiln_search *s, kiln_err *err) {
    (void)s;
    (void)err;
    return KILN_OK;
}

typedef struct parent {
    kiln_config config;
    double score, until; /* until: sum of the scores up to this one */
} parent;

/* The best trials, best first. */
static size_t parents_of(const kiln_search *s, parent *out) {
    kiln_trial best;
    size_t n = 0;
    if (!kiln_search_best(s, &best))
        return 0;
    for (size_t i = 0; i < s->trial.n; i++) {
        const double score = (double)kiln_trial_score(&s->trial.v[i], best.cost_ns);
        if (score <= 0 || (n == POPULATION && score <= out[n - 1].score))
            continue;
        n += n < POPULATION ? 1 : 0;
        size_t at = n - 1;
        for (; at > 0 && out[at - 1].score < score; at--)
            out[at] = out[at - 1];
        out[at] =
            (parent){.config = kiln_config_at(&s->task->space, s->trial.v[i].index),
                     .score = score};
    }
    for (size_t i = 0; i < n; i++)
        out[i].until = out[i].score + (i > 0 ? out[i - 1].until : 0);
    return n;
}

static const kiln_config *draw(kiln_rng *rng, const parent *p, size_t n) {
    const double at = kiln_rng_unit(rng) * p[n - 1].until;
    size_t i = 0;
    while (i < n - 1 && p[i].until <= at)
        i++;
    return &p[i].config;
}

static kiln_config child_of(kiln_search *s, const parent *p, size_t n) {
    const kiln_space *space = &s->task->space;
    const kiln_config *x = draw(&s->rng, p, n), *y = draw(&s->rng, p, n);
    kiln_config c = kiln_config_cross(space, x, y, &s->rng);
    for (int k = 0; k < space->n; k++)
        if (kiln_rng_unit(&s->rng) < mutation)
            c.option[k] = (int16_t)kiln_rng_range(&s->rng, 0, space->knob[k].n - 1);
    return c;
}

static kiln_status next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err) {
    (void)err;
    parent p[POPULATION];
    const size_t n_parents = parents_of(s, p);
    if (n_parents >= POPULATION / 2)
        for (size_t tries = 0; *n_out < n && tries < TRIES * n; tries++) {
            const kiln_config c = child_of(s, p, n_parents);
            const uint64_t index = kiln_config_index(&s->task->space, &c);
            if (!kiln_search_is_free(s, index) || !kiln_search_is_likely(s, index))
                continue;
            kiln_search_propose(s, index);
            out[(*n_out)++] = index;
        }
    kiln_search_fill(s, n, out, n_out);
    return KILN_OK;
}

const kiln_search_kind kiln_search_genetic = {
    .name = "genetic",
    .doc = "children of the best trials",
    .init = init,
    .next = next,
};
