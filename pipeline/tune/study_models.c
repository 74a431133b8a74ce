/* Kinds of cost models on trials of a corpus that they were not fitted to: without any
 * search, so that only the models differ. */
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

/* All trials of one work that are on record, as samples. */
static kiln_samples samples_of(kiln_arena *a, const kiln_corpus_work *w,
                               const kiln_cost_model_kind *kind) {
    kiln_sample_set *set = kiln_new(a, kiln_sample_set);
    kiln_trial *t = kiln_array(a, kiln_trial, w->n_recorded);
    for (size_t i = 0; i < w->n_recorded; i++)
        t[i] = w->trial[w->recorded[i]];
    kiln_sample_set_init(set, a, false);
    kiln_sample_set_add(set, kiln_corpus_candidates(w, kind), t, w->n_recorded);
    return kiln_sample_set_view(set);
}

kiln_status kiln_corpus_own_works(const kiln_corpus *c,
                                  const kiln_cost_model_kind *kind,
                                  kiln_study_model *out, kiln_err *err) {
    int n = 0;
    for (size_t i = 0; i < c->work.n; i++) {
        kiln_arena a = {0};
        kiln_hold_out h;
        const kiln_samples s = samples_of(&a, &c->work.v[i], kind);
        const kiln_status st = kiln_cost_model_hold_out(kind, NULL, &s, &h, err);
        kiln_arena_fini(&a);
        if (st != KILN_OK)
            return st;
        if (h.accuracy < 0)
            continue;
        out->accuracy += h.accuracy;
        out->recall += h.recall;
        n++;
    }
    out->accuracy /= n > 0 ? n : 1;
    out->recall /= n > 0 ? n : 1;
    return KILN_OK;
}

kiln_status kiln_corpus_models(kiln_arena *a, const kiln_corpus *c, const char *only,
                               kiln_study *out, kiln_err *err) {
    for (int i = 0; kiln_cost_model_at(i) != NULL; i++) {
        const kiln_cost_model_kind *kind = kiln_cost_model_at(i);
        kiln_study_model m = {.name = kind->name};
        kiln_corpus_lessons l;
        if (only != NULL ? strcmp(only, kind->name) != 0
                         : kind == &kiln_cost_model_random)
            continue;
        kiln_progress_step("models", "kinds", (double)i, 0, kind->name);
        KILN_TRY(kiln_corpus_own_works(c, kind, &m, err));
        kiln_corpus_lessons_of(a, c, kind, &l);
        KILN_TRY(kiln_held_out_score(kind, NULL, l.lesson, c->work.n, &m.others, err));
        kiln_vec_push(a, &out->model, m);
        KILN_TRY(kiln_interrupt_check(err));
    }
    return KILN_OK;
}
