/* pipeline/tune: a part of each of several spaces, measured whole, so that searches and
 * models can be compared without a clock (docs/tuning.md, "The corpus").
 *
 *     kiln_corpus_collect(a, &works, &o, &r, err);         minutes: measures, on record
 *     kiln_corpus_put(&text, a, &works, &o, err);          what is on record, as text
 *     kiln_corpus_read(a, text, "autotvm.jsonl", &c, err);
 *     kiln_corpus_replay(&c.work.v[0], &kiln_search_annealing, &so, &r, err);
 *
 * The part: of each knob the options of the template's rule and of the best that a short
 * search found, and random ones, more of knobs that have more, as many as their product
 * allows. So every combination is a point of a space with knobs, and searches move in
 * it as in the whole one.
 */
#ifndef KILN_PIPELINE_TUNE_CORPUS_H
#define KILN_PIPELINE_TUNE_CORPUS_H

#include "compiler/tuner/tuner_transfer.h"
#include "pipeline/tune/tune.h"

#define KILN_CORPUS_FILE "autotvm.jsonl" /* that comes with kiln */

typedef struct kiln_corpus_options {
    kiln_tune_options tune; /* profile, threads, database, seed; the rest is not read */
    int configurations;     /* of each part, at most; 0: 384 */
    double seconds;         /* for all works; 0: as long as it takes */
} kiln_corpus_options;

/* The works of the papers: the convolutions C1 to C12 of ResNet-18 and a product of two
 * matrices of 1024 by 1024. */
kiln_status kiln_corpus_works(kiln_arena *a, kiln_tune_works *out, kiln_err *err);
/* Keeps those that `names` lists, separated by commas; NULL: all. KILN_ERR_ARG: a name
 * that is none of them. */
kiln_status kiln_corpus_select(kiln_arena *a, const char *names, kiln_tune_works *works,
                               kiln_err *err);
/* What the database has of the works, for this profile and number of threads, goes: for
 * programs that are others now, which their knobs do not tell. */
kiln_status kiln_corpus_forget(kiln_arena *a, const kiln_tune_works *works,
                               const kiln_corpus_options *o, kiln_err *err);
/* Goes on where an earlier call with the same options and database stopped. *n_new: the
 * trials of this call. */
kiln_status kiln_corpus_collect(kiln_arena *a, const kiln_tune_works *works,
                                const kiln_corpus_options *o, int64_t *n_new,
                                kiln_err *err);
/* One line for each work of which anything is on record. */
kiln_status kiln_corpus_put(kiln_buf *out, kiln_arena *a, const kiln_tune_works *works,
                            const kiln_corpus_options *o, kiln_err *err);
/* The text `old` (empty: none), with the lines of `made` in place of those of the same
 * works; works that it lacks come behind. */
kiln_status kiln_corpus_merge(kiln_buf *out, kiln_arena *scratch, kiln_str old,
                              kiln_str made, kiln_err *err);

/* One work, and what each configuration of the part costs. */
typedef struct kiln_corpus_work {
    const char *name, *anchor;
    kiln_tune_task task;      /* its space is the part */
    kiln_trial *trial;        /* by index; of those that are not recorded: LOST */
    const uint64_t *recorded; /* indexes, ascending */
    size_t n_recorded;
    kiln_trial best, rule; /* rule: the template's own, LOST where not recorded */
    /* Encoded once for all replays, by kind of cost model in the order of the table;
     * kinds that encode alike have the same. */
    kiln_candidates **candidates;
} kiln_corpus_work;
/* As that kind of the table encodes them; NULL: one that is not there. */
kiln_candidates *kiln_corpus_candidates(const kiln_corpus_work *w,
                                        const kiln_cost_model_kind *kind);
typedef struct kiln_corpus {
    KILN_VEC(kiln_corpus_work) work;
} kiln_corpus;
/* KILN_ERR_PARSE, with the line; work or configurations that are none of today's:
 * KILN_ERR_UNSUPPORTED: collect it anew. */
kiln_status kiln_corpus_read(kiln_arena *a, kiln_str text, const char *name,
                             kiln_corpus *out, kiln_err *err);

/* ---- replays --------------------------------------------------------------------- */

enum { KILN_N_REACHED = 3, KILN_N_LOOKS = 4 };
extern const double kiln_replay_reached[KILN_N_REACHED]; /* 0.90, 0.95, 0.99 */
extern const int kiln_replay_looks[KILN_N_LOOKS];        /* 4, 8, 16, 32 */

typedef struct kiln_replay {
    /* Until a configuration was within that part of the best recorded; where none was,
     * the limit. */
    int n_trials[KILN_N_REACHED];
    bool is_there[KILN_N_REACHED];
    double after_ns[KILN_N_LOOKS]; /* the best after so many trials */
    /* What trials would run for if none were stopped early, and what they do; until the
     * last of the looks. */
    double whole_ns, run_ns;
    int n_slow; /* were stopped early until then: they count as trials like any */
} kiln_replay;

/* A search that is answered from the corpus instead of a clock: only what is recorded
 * is proposed, no guess is given. As in a measurement, what is 1.5 times slower than
 * the best so far is stopped: the search hears that it is at least so slow, no more.
 * `o`: seed, model and the like; its candidates, `only` and without_guess are set here.
 * most 0: 256. */
kiln_status kiln_corpus_replay(const kiln_corpus_work *w, const kiln_search_kind *kind,
                               const kiln_search_options *o, int most, kiln_replay *out,
                               kiln_err *err);

/* At most n_most of its recorded trials, evenly drawn, with the rule's, as `kind`, one
 * of the table, encodes them; the lesson's encodings are in `a`. `workload` is the
 * caller's number for it. */
void kiln_corpus_lesson(kiln_arena *a, const kiln_corpus_work *w,
                        const kiln_cost_model_kind *kind, uint32_t workload,
                        size_t n_most, kiln_lesson *out);
/* What a build without trials of this work would take: the recorded configuration that
 * the model likes best. */
kiln_status kiln_corpus_predict(const kiln_corpus_work *w, const kiln_cost_model *m,
                                kiln_trial *out, kiln_err *err);

/* ---- the study ------------------------------------------------------------------- */

/* A search and a model, over all works and seeds. */
typedef struct kiln_study_row {
    const char *name;
    /* Until 90, 95 and 99% of the best; geometric mean, and the median. */
    double trials[KILN_N_REACHED], median[KILN_N_REACHED];
    int n_there, n;             /* replays that got to 95%, of all */
    double after[KILN_N_LOOKS]; /* share of the best by then; geometric mean */
    /* Of the first 32 trials: the part that was stopped early, and the part of the time
     * of kernels that this saved. */
    double slow, saved;
} kiln_study_row;
/* A work without trials. */
typedef struct kiln_study_work {
    const char *name;
    size_t n_recorded;
    double best_ns, rule_ns; /* rule_ns 0: not recorded */
    double predicted_ns;     /* by a model of the other works */
    double accuracy;         /* of that model here: pairs in order */
} kiln_study_work;
/* A kind of model on trials that it was not fitted to. */
typedef struct kiln_study_model {
    const char *name;
    /* Of a fifth of each work, by a model of the other four fifths: pairs in order, and
     * the part of the best fifth that it finds; means over works. */
    double accuracy, recall;
    kiln_held_out others; /* of works that it has not seen */
} kiln_study_model;
typedef struct kiln_study {
    KILN_VEC(kiln_study_row) row;
    KILN_VEC(kiln_study_model) model;
    KILN_VEC(kiln_study_row) transfer; /* of C7 to C9, taught by C1 to C6 or not */
    KILN_VEC(kiln_study_work) work;
    kiln_held_out held_out; /* of lessons of all works: what a build would go by */
    double gain;            /* the rule's time over what is predicted; geometric mean */
} kiln_study;
/* only NULL: all rows, models, transfer and what needs no trials; else that row alone.
 */
kiln_status kiln_corpus_compare(kiln_arena *a, const kiln_corpus *c, int n_seeds,
                                const char *only, kiln_study *out, kiln_err *err);
void kiln_study_text(kiln_buf *out, const kiln_study *s);
/* A line for each row, model and work; what a part has no number for is empty. */
void kiln_study_csv(kiln_buf *out, const kiln_study *s);
/* The figures of the AutoTVM thesis, each beside what it shows there. */
void kiln_study_html(kiln_buf *out, const kiln_study *s);

#endif
