/* The corpus inside of pipeline/tune. */
#ifndef KILN_PIPELINE_TUNE_CORPUS_INTERNAL_H
#define KILN_PIPELINE_TUNE_CORPUS_INTERNAL_H

#include "pipeline/tune/corpus.h"
#include "pipeline/tune/tune_internal.h"

void kiln_corpus_put_head(kiln_buf *out);
/* ns: of each configuration of t->space, as the file has it. rule: the text of what the
 * template's rule chose of the whole space. */
void kiln_corpus_put_work(kiln_buf *out, kiln_arena *scratch, const char *name,
                          const kiln_db_task *task, const kiln_tune_task *t,
                          const char *rule, const double *ns);

/* Parts of kiln_corpus_compare: rows of C7 to C9, taught by C1 to C6 or not (only NULL:
 * all of them); and what a model of the other works would choose. */
kiln_status kiln_corpus_transfer(kiln_arena *a, const kiln_corpus *c, int n_seeds,
                                 const char *only, kiln_study *out, kiln_err *err);
kiln_status kiln_corpus_without_trials(kiln_arena *a, const kiln_corpus *c,
                                       kiln_study *out, kiln_err *err);
/* Adds accuracy and recall of a kind: means over the works that have something to hold
 * out. */
kiln_status kiln_corpus_own_works(const kiln_corpus *c,
                                  const kiln_cost_model_kind *kind,
                                  kiln_study_model *out, kiln_err *err);
/* How good kinds of models are on trials that they were not fitted to (only NULL: all
 * that learn). */
kiln_status kiln_corpus_models(kiln_arena *a, const kiln_corpus *c, const char *only,
                               kiln_study *out, kiln_err *err);

/* ---- teaching: works of a corpus for another one --------------------------------- */

enum { KILN_CORPUS_LESSON = 128 }; /* trials of each, at most */

typedef struct kiln_corpus_lessons {
    const kiln_cost_model_kind *kind; /* that they are encoded for, and that teaches */
    const kiln_lesson *lesson;        /* of each work */
    size_t n_teaching;                /* the first so many works teach */
} kiln_corpus_lessons;
void kiln_corpus_lessons_of(kiln_arena *a, const kiln_corpus *c,
                            const kiln_cost_model_kind *kind, kiln_corpus_lessons *out);

typedef enum kiln_teaching {
    KILN_NOT_TAUGHT,
    KILN_TAUGHT_EQUALLY,
    KILN_TAUGHT_BY_NEAR,    /* lessons count by kiln_nearness */
    KILN_TAUGHT_BY_ENSEMBLE /* the same, by a bootstrap ensemble, which encodes as
                               xgboost does */
} kiln_teaching;
/* Of all works that teach but those with the pupil's anchor; the caller's to release,
 * and empty where this fails. */
kiln_status kiln_corpus_teach(const kiln_corpus *c, const kiln_corpus_lessons *l,
                              size_t pupil, kiln_teaching how, uint64_t seed,
                              kiln_cost_model *out, kiln_err *err);

#endif
