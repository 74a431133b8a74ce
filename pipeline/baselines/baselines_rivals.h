/* Baselines in the rounds of a bench: a network's or an operator's, on the same inputs,
 * held against the same expectation. One that fails is out, and the rest goes on.
 *
 *     kiln_rival_list list = {0};             what is found, part of a report
 *     r = kiln_rivals_open(...);              found, made ready, compared
 *     kiln_rivals_round(r);                   a sample of each, again and again
 *     kiln_rivals_add_up(r, &own);            medians, and kiln's over theirs
 */
#ifndef KILN_PIPELINE_BASELINES_BASELINES_RIVALS_H
#define KILN_PIPELINE_BASELINES_BASELINES_RIVALS_H

#include "pipeline/baselines/baselines.h"
#include "reports/results/results.h"

/* ---- samples, of kiln and of its rivals ------------------------------------------ */

typedef struct kiln_sample {
    double ms;         /* of one run */
    bool is_disturbed; /* others had a processor for a part of it */
} kiln_sample;
typedef KILN_VEC(kiln_sample) kiln_sample_list;

size_t kiln_samples_disturbed(const kiln_sample_list *s);
/* Are at least seven undisturbed? Then the others are left out. */
bool kiln_samples_suffice(const kiln_sample_list *s);
/* Of all, or of those that were not disturbed, in `a`; *n of them. */
double *kiln_samples_ms(kiln_arena *a, const kiln_sample_list *s, bool all, size_t *n);
/* So many runs in a row that a sample is about a millisecond long: long against the
 * clock's steps, short against what else a machine does. */
int64_t kiln_sample_runs(double ms_of_one);

/* Threads of a team spin for a while after a run (runtime/pool.c): on as many as there
 * are processors whoever comes next would be timed beside them. Three milliseconds. */
void kiln_rest(void);

/* ---- rivals ---------------------------------------------------------------------- */

/* What the samples say; all 0 unless it was measured. */
typedef struct kiln_rival_numbers {
    int64_t runs; /* of each sample */
    size_t n_disturbed;
    double min_ms, q1_ms, median_ms, q3_ms;
    /* Median of kiln's over median of its own, with a 95% bootstrap interval: below 1
     * where kiln is faster. Of undisturbed samples where both sides have seven, else of
     * all. */
    kiln_stats_interval ratio;
} kiln_rival_numbers;

typedef struct kiln_rival {
    const kiln_baseline *baseline;
    const char *version;        /* NULL: absent, or nobody could tell */
    const char *implementation; /* as the library calls what it chose; NULL: unsaid */
    /* That it was given: the model's, or what was exported of it; NULL: an operator, or
     * none. */
    const char *file;
    bool is_exported;
    kiln_rival_state state;
    bool is_left_out;   /* absent since it reads no files that there are */
    const char *reason; /* "" where measured */
    double max_abs;     /* largest |got - want| of its outputs */
    double error;       /* by the measure of whoever compared */
    kiln_sample_list sample;
    kiln_rival_numbers number;
} kiln_rival;
typedef KILN_VEC(kiln_rival) kiln_rival_list;

/* What they are asked to run; used by kiln_rivals_open alone. */
typedef struct kiln_rivals_subject {
    const char *dir; /* of wheels; "" for operators */
    /* Of a model: its file's name, and its format as frontends.def calls it; NULL: an
     * operator. */
    const char *file, *format;
    int threads;
    /* Makes one ready, of what `file` and `is_exported` say: calls its open or open_op. */
    kiln_status (*open)(void *user, const kiln_rival *r, kiln_baseline_session *out,
                        kiln_err *err);
    /* Writes the model as ONNX, for those that read this and not the file, and names what
     * it wrote; called for each of them. NULL: nobody does. */
    kiln_status (*export)(void *user, const char **file, kiln_err *err);
    /* Holds its outputs against what they must be: sets max_abs and error, and where
     * they are not right, KILN_RIVAL_WRONG and a reason that outlives the rivals. */
    kiln_status (*compare)(void *user, const kiln_baseline_session *s, kiln_rival *r,
                           kiln_err *err);
    void *user;
} kiln_rivals_subject;

/* `which` ends in NULL. What is found is kept in `out`, whose memory is in `a`, and
 * borrowed; processes end with `sessions`. Nothing of it fails as a whole. */
typedef struct kiln_rivals kiln_rivals;
kiln_rivals *kiln_rivals_open(kiln_arena *a, kiln_arena *sessions,
                              const kiln_baseline *const *which,
                              const kiln_rivals_subject *s, kiln_rival_list *out);
/* A sample of each that still runs, after a rest. */
void kiln_rivals_round(kiln_rivals *r);
/* Fills the numbers of those that were measured; own: kiln's samples, not empty. */
void kiln_rivals_add_up(kiln_rivals *r, const kiln_sample_list *own);
/* All of them, but those that read no such files: a list of baselines may serve models
 * of several formats. */
bool kiln_rivals_are_measured(const kiln_rival_list *list);

/* ---- what a report says of them (report_rivals.c) -------------------------------- */

/* A table: `what` and `of` are the first column's head and cell. */
void kiln_rivals_text_head(kiln_buf *out, const char *what);
void kiln_rival_text(kiln_buf *out, const char *of, const kiln_rival *r);
/* As documents have them (reports/results/documents.h), in `a`; what `error` is of, operators
 * say by another member than networks. */
kiln_results_baselines kiln_rivals_results(kiln_arena *a, const kiln_rival_list *list,
                                           bool are_operators);
void kiln_samples_results(kiln_arena *a, const kiln_sample_list *s,
                          kiln_results_numbers *ms, kiln_results_numbers *disturbed_at);

#endif
