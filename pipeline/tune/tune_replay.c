/* Searches and models, answered from a corpus. */
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

/* A part is small: short annealing sees most of it. */
enum { MOST_TRIALS = 256, MOST_BATCH = 32, N_CHAINS = 16, N_STEPS = 40 };
static const double loser = 1.5; /* as kiln_measure_options has it */

const double kiln_replay_reached[KILN_N_REACHED] = {0.90, 0.95, 0.99};
const int kiln_replay_looks[KILN_N_LOOKS] = {4, 8, 16, 32};
enum { LAST_LOOK = 32 };

/* What a measurement would say that has seen `best_ns`; 0: nothing yet. */
static kiln_trial measured(const kiln_trial *recorded, double best_ns) {
    kiln_trial t = *recorded;
    if (best_ns > 0 && t.cost_ns > loser * best_ns) {
        t.outcome = KILN_OUTCOME_SLOW;
        t.cost_ns = loser * best_ns;
    }
    return t;
}

/* The n-th trial: what it was, the best by now, and the least with what was too slow
 * when it was recorded: some began with nothing else. */
static void note(kiln_replay *r, const kiln_corpus_work *w, int n,
                 const kiln_trial *recorded, const kiln_trial *t, double best_ns,
                 double least_ns) {
    for (int i = 0; i < KILN_N_LOOKS; i++)
        if (n <= kiln_replay_looks[i])
            r->after_ns[i] = least_ns;
    for (int i = 0; i < KILN_N_REACHED; i++)
        if (!r->is_there[i] && best_ns > 0 &&
            w->best.cost_ns >= kiln_replay_reached[i] * best_ns) {
            r->is_there[i] = true;
            r->n_trials[i] = n;
        }
    if (n > LAST_LOOK)
        return;
    r->whole_ns += recorded->cost_ns;
    r->run_ns += t->cost_ns;
    r->n_slow += t->outcome == KILN_OUTCOME_SLOW;
}

static kiln_status replay(const kiln_corpus_work *w, kiln_search *s, int most,
                          kiln_replay *r, kiln_err *err) {
    double best_ns = 0, least_ns = 0;
    int n = 0;
    for (int i = 0; i < KILN_N_REACHED; i++)
        r->n_trials[i] = most;
    while (n < most && !(r->is_there[KILN_N_REACHED - 1] && n >= LAST_LOOK)) {
        uint64_t index[MOST_BATCH];
        size_t n_index = 0, batch = kiln_search_batch(s);
        batch = batch < (size_t)(most - n) ? batch : (size_t)(most - n);
        KILN_TRY(kiln_search_next(s, batch, index, &n_index, err));
        if (n_index == 0)
            break; /* all that is recorded was asked for */
        for (size_t i = 0; i < n_index; i++) {
            const kiln_trial *recorded = &w->trial[index[i]];
            const kiln_trial t = measured(recorded, best_ns);
            KILN_TRY(kiln_search_report(s, &t, err));
            if (t.outcome == KILN_OUTCOME_MEASURED &&
                (best_ns <= 0 || t.cost_ns < best_ns))
                best_ns = t.cost_ns;
            if (least_ns <= 0 || recorded->cost_ns < least_ns)
                least_ns = recorded->cost_ns;
            note(r, w, ++n, recorded, &t, best_ns, least_ns);
        }
    }
    return KILN_OK;
}

kiln_status kiln_corpus_replay(const kiln_corpus_work *w, const kiln_search_kind *kind,
                               const kiln_search_options *o, int most, kiln_replay *out,
                               kiln_err *err) {
    kiln_arena a = {0};
    kiln_search *s = NULL;
    kiln_search_options options = *o;
    kiln_replay r = {.n_slow = 0};
    options.only = w->recorded;
    options.n_only = w->n_recorded;
    options.candidates = kiln_corpus_candidates(
        w, o->model != NULL ? o->model : &kiln_cost_model_xgboost);
    options.without_guess = true;
    options.n_chains = o->n_chains > 0 ? o->n_chains : N_CHAINS;
    options.n_steps = o->n_steps > 0 ? o->n_steps : N_STEPS;
    options.n_fresh = o->n_fresh != 0 ? o->n_fresh : -1; /* each is made but once */
    kiln_status st = kiln_search_new(&a, kind, &w->task, &options, &s, err);
    if (st == KILN_OK)
        st = replay(w, s, most > 0 ? most : MOST_TRIALS, &r, err);
    kiln_arena_fini(&a);
    if (st == KILN_OK)
        *out = r;
    return st;
}

/* ---- models ---------------------------------------------------------------------- */

static void add(kiln_arena *a, kiln_candidates *c, const kiln_trial *t,
                kiln_encoding_list *list, double *cost, size_t *n) {
    const kiln_encoding *e = kiln_candidates_encoding(c, t->index);
    if (e == NULL)
        return;
    kiln_encoding_list_add(a, list, e->bytes);
    cost[(*n)++] = t->cost_ns;
}

void kiln_corpus_lesson(kiln_arena *a, const kiln_corpus_work *w,
                        const kiln_cost_model_kind *kind, uint32_t workload,
                        size_t n_most, kiln_lesson *out) {
    kiln_candidates *c = kiln_corpus_candidates(w, kind);
    kiln_encoding_list *list = kiln_new(a, kiln_encoding_list);
    const size_t n = w->n_recorded < n_most ? w->n_recorded : n_most;
    double *cost = kiln_array(a, double, n + 1);
    const bool has_rule = w->rule.outcome == KILN_OUTCOME_MEASURED;
    size_t n_cost = 0;
    if (has_rule)
        add(a, c, &w->rule, list, cost, &n_cost);
    *out = (kiln_lesson){
        .workload = workload, .cost_ns = cost, .rule = n_cost > 0 ? 0 : -1};
    for (size_t i = 0; i < n; i++) {
        const uint64_t index = w->recorded[i * w->n_recorded / n];
        if (n_cost == 0 || !has_rule || index != w->rule.index)
            add(a, c, &w->trial[index], list, cost, &n_cost);
    }
    KILN_ASSERT(n_cost <= n + 1, "%zu costs of %zu trials", n_cost, n);
    out->encoding = kiln_encoding_list_view(list);
}

kiln_status kiln_corpus_predict(const kiln_corpus_work *w, const kiln_cost_model *m,
                                kiln_trial *out, kiln_err *err) {
    kiln_arena a = {0};
    kiln_lesson all;
    kiln_status st = KILN_OK;
    kiln_corpus_lesson(&a, w, m->kind, 0, w->n_recorded, &all);
    float *score = kiln_array(&a, float, all.encoding.n + 1);
    size_t top = 0;
    st = kiln_cost_model_predict(m, &all.encoding, NULL, score, err);
    for (size_t i = 1; st == KILN_OK && i < all.encoding.n; i++)
        top = score[i] > score[top] ? i : top;
    if (st == KILN_OK)
        *out =
            (kiln_trial){.outcome = KILN_OUTCOME_MEASURED, .cost_ns = all.cost_ns[top]};
    kiln_arena_fini(&a);
    return st;
}
