/* Tasks, and their configurations as features. */
#include "compiler/tuner/tuner.h"

#include <string.h>

kiln_status kiln_tune_task_make(kiln_arena *a, const kiln_workload *w,
                                const kiln_profile *p, const kiln_template *tmpl,
                                kiln_tune_task *out, kiln_err *err) {
    kiln_tune_task t = {
        .work = w, .profile = p, .tmpl = tmpl != NULL ? tmpl : kiln_template_for(w, p)};
    if (t.tmpl == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no template takes operator '%s'",
                         w->anchor->op->name);
    if (!t.tmpl->fits(w, p))
        return kiln_fail(err, KILN_ERR_ARG, "template '%s' does not take operator '%s'",
                         t.tmpl->name, w->anchor->op->name);
    kiln_space_init(&t.space, a);
    KILN_TRY(t.tmpl->space(w, p, &t.space, err));
    *out = t;
    return KILN_OK;
}

/* The latest features by index, one place each: 4096 of 2 KB. */
enum { CACHE_BITS = 12, CACHE_SIZE = 1 << CACHE_BITS };

typedef enum entry_state { EMPTY, TAKEN, REFUSED } entry_state;

struct kiln_candidates {
    const kiln_tune_task *task;
    kiln_arena scratch; /* one candidate */
    uint64_t index[CACHE_SIZE];
    uint8_t state[CACHE_SIZE];
    float *features; /* CACHE_SIZE rows */
    kiln_candidates_stats stats;
};

static void release(void *p) {
    kiln_candidates *c = p;
    kiln_arena_fini(&c->scratch);
}

kiln_candidates *kiln_candidates_new(kiln_arena *a, const kiln_tune_task *t) {
    kiln_candidates *c = kiln_new(a, kiln_candidates);
    c->task = t;
    c->features = kiln_array(a, float, CACHE_SIZE *kiln_n_features());
    kiln_arena_defer(a, release, c);
    return c;
}

static size_t place_of(uint64_t index) {
    return (size_t)(index * UINT64_C(0x9E3779B97F4A7C15) >> (64 - CACHE_BITS));
}

/* Only lowered: loop passes refuse little, and cost six times as much. */
static bool lower(kiln_candidates *c, uint64_t index, float *out) {
    const kiln_tune_task *t = c->task;
    const kiln_config config = kiln_config_at(&t->space, index);
    kiln_scheduled s;
    kiln_program *p;
    kiln_arena_reset(&c->scratch);
    if (kiln_template_apply(&c->scratch, t->tmpl, t->work, t->profile, &t->space,
                            &config, &s, NULL) != KILN_OK ||
        kiln_lower(&c->scratch, s.schedule, s.te.arg, s.te.n_args, s.te.n_inputs, "k",
                   &p, NULL) != KILN_OK)
        return false;
    kiln_program_features(&c->scratch, p, out);
    return true;
}

const float *kiln_candidates_features(kiln_candidates *c, uint64_t index) {
    const size_t at = place_of(index);
    float *row = c->features + at * kiln_n_features();
    c->stats.asked++;
    if (c->state[at] == EMPTY || c->index[at] != index) {
        c->stats.lowered++;
        c->index[at] = index;
        c->state[at] = lower(c, index, row) ? TAKEN : REFUSED;
        c->stats.refused += c->state[at] == REFUSED;
    }
    return c->state[at] == TAKEN ? row : NULL;
}

kiln_candidates_stats kiln_candidates_count(const kiln_candidates *c) {
    return c->stats;
}
