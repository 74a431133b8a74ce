/* Coordinate descent (Canesche et al., "The Droplet Search Algorithm for Kernel
 * Scheduling", TACO 2024): from the best of a first sample, steps along one knob at a
 * time, to whatever is better. Where no step is, another sample begins another descent.
 *
 * Batches are wider than one step: they hold the nearest untried option of every knob in
 * both directions, then the ones behind these. */
#include "compiler/tuner/tuner_search_internal.h"

enum { SAMPLE = 8 };

typedef struct droplet {
    size_t since;     /* the trial with which this descent begins */
    size_t n_sampled; /* proposed for it at random */
    int knob;         /* first of the next batch: knobs take turns */
} droplet;

static kiln_status init(kiln_search *s, kiln_err *err) {
    (void)err;
    s->state = kiln_new(s->arena, droplet);
    return KILN_OK;
}

/* The best trial of this descent; false: none has run. */
static bool centre_of(const kiln_search *s, kiln_config *out) {
    const droplet *x = s->state;
    const kiln_trial *best = NULL;
    for (size_t i = x->since; i < s->trial.n; i++)
        if (s->trial.v[i].outcome == KILN_OUTCOME_MEASURED &&
            (best == NULL || s->trial.v[i].cost_ns < best->cost_ns))
            best = &s->trial.v[i];
    if (best != NULL)
        *out = kiln_config_at(&s->task->space, best->index);
    return best != NULL;
}

/* The nearest free configuration along a line, from `step` options away on; false:
 * there is none, or what lies there was tried and is no better. */
static bool find_on_line(kiln_search *s, const kiln_config *centre, int knob, int sign,
                         int step, uint64_t *out) {
    kiln_config c = *centre;
    for (int at = centre->option[knob] + sign * step;
         at >= 0 && at < s->task->space.knob[knob].n; at += sign) {
        c.option[knob] = (int16_t)at;
        const uint64_t index = kiln_config_index(&s->task->space, &c);
        if (kiln_index_map_get(&s->trial_of, index) != NULL)
            return false;
        *out = index;
        if (kiln_search_is_free(s, index) && kiln_search_is_likely(s, index))
            return true;
    }
    return false;
}

/* One step of each line; false: no line has one. */
static bool step_all(kiln_search *s, const kiln_config *centre, int step, size_t n,
                     uint64_t *out, size_t *n_out) {
    droplet *x = s->state;
    const size_t before = *n_out;
    const int n_knobs = s->task->space.n;
    for (int i = 0; i < n_knobs && *n_out < n; i++) {
        const int knob = (x->knob + i) % n_knobs;
        for (int sign = -1; sign <= 1 && *n_out < n; sign += 2) {
            uint64_t index = 0;
            if (!find_on_line(s, centre, knob, sign, step, &index))
                continue;
            kiln_search_propose(s, index);
            out[(*n_out)++] = index;
        }
    }
    return *n_out > before;
}

static void sample(kiln_search *s, size_t n, uint64_t *out, size_t *n_out) {
    droplet *x = s->state;
    const size_t left = SAMPLE - x->n_sampled, room = n - *n_out;
    const size_t before = *n_out, more = left < room ? left : room;
    kiln_search_fill(s, before + more, out, n_out);
    x->n_sampled += *n_out - before;
}

static kiln_status next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err) {
    droplet *x = s->state;
    kiln_config centre;
    (void)err;
    if (x->n_sampled < SAMPLE)
        sample(s, n, out, n_out);
    else if (centre_of(s, &centre)) {
        for (int step = 1; *n_out < n && step_all(s, &centre, step, n, out, n_out);)
            step++;
        x->knob = s->task->space.n > 0 ? (x->knob + 1) % s->task->space.n : 0;
    }
    if (*n_out == 0) { /* a valley, or nothing ran: elsewhere */
        *x = (droplet){.since = s->trial.n, .knob = x->knob};
        sample(s, n, out, n_out);
    }
    kiln_search_fill(s, n, out, n_out); /* a batch that is wider than what is near */
    return KILN_OK;
}

const kiln_search_kind kiln_search_droplet = {
    .name = "droplet",
    .doc = "coordinate descent from the best of a sample",
    .init = init,
    .next = next,
};
