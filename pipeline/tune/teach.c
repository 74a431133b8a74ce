/* A model of some works of a corpus, for another one of it. */
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

void kiln_corpus_lessons_of(kiln_arena *a, const kiln_corpus *c,
                            const kiln_cost_model_kind *kind,
                            kiln_corpus_lessons *out) {
    kiln_lesson *lesson = kiln_array(a, kiln_lesson, c->work.n);
    for (size_t i = 0; i < c->work.n; i++)
        kiln_corpus_lesson(a, &c->work.v[i], kind, (uint32_t)i, KILN_CORPUS_LESSON,
                           &lesson[i]);
    *out = (kiln_corpus_lessons){kind, lesson, c->work.n};
}

static double weight_of(const kiln_corpus *c, size_t pupil, size_t teacher) {
    kiln_setting here, there;
    kiln_setting_of(&c->work.v[pupil].task, 1, &here);
    kiln_setting_of(&c->work.v[teacher].task, 1, &there);
    return kiln_nearness(&here, &there);
}

kiln_status kiln_corpus_teach(const kiln_corpus *c, const kiln_corpus_lessons *l,
                              size_t pupil, kiln_teaching how, uint64_t seed,
                              kiln_cost_model *out, kiln_err *err) {
    KILN_ASSERT(pupil < c->work.n && l->n_teaching <= c->work.n,
                "workload %zu of %zu learns from %zu", pupil, c->work.n, l->n_teaching);
    kiln_arena a = {0};
    kiln_lesson *others = kiln_array(&a, kiln_lesson, l->n_teaching);
    const kiln_cost_model_options o = {.seed = seed};
    size_t n = 0;
    for (size_t i = 0; i < l->n_teaching; i++) {
        if (strcmp(c->work.v[i].anchor, c->work.v[pupil].anchor) == 0)
            continue;
        others[n] = l->lesson[i];
        if (how != KILN_TAUGHT_EQUALLY)
            others[n].weight = weight_of(c, pupil, i);
        n++;
    }
    const kiln_cost_model_kind *kind =
        how == KILN_TAUGHT_BY_ENSEMBLE ? &kiln_cost_model_bootstrap : l->kind;
    kiln_status st = kiln_cost_model_init(out, kind, &o, err);
    if (st == KILN_OK)
        st = kiln_lessons_fit(out, others, n, err);
    if (st != KILN_OK)
        kiln_cost_model_fini(out);
    kiln_arena_fini(&a);
    return st;
}
