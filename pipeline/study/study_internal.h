/* Inside pipeline/study. */
#ifndef KILN_PIPELINE_STUDY_INTERNAL_H
#define KILN_PIPELINE_STUDY_INTERNAL_H

#include "pipeline/bench/bench.h"
#include "pipeline/study/study.h"

/* ---- several ways to make one network (study_ways.c) ----------------------------------- */

typedef struct kiln_study_way {
    const char *name;
    kiln_network_options net; /* without `choose`, which all share */
    double published;         /* gain over the first way; 0: not known */
} kiln_study_way;

/* A row for each way, in turns, round by round. `scratch` holds networks and processes
 * until it is reset. KILN_ERR_INTERRUPTED: before anything was measured; what was, is
 * in `out`. Other failures are of the source: no way of it could be measured. */
kiln_status kiln_study_compare(kiln_arena *a, kiln_arena *scratch,
                               const kiln_source *source, const kiln_study_way *way,
                               int n_ways, const kiln_study_options *o,
                               kiln_doc_study_part *out, kiln_err *err);

/* ---- what every row says (rows.c) ------------------------------------------------ */

/* Numbers of a row, and its gain over the samples of its group's first; first NULL, or
 * empty: nobody knows. */
void kiln_study_add_up(kiln_doc_study_row *row, const kiln_sample_list *own,
                       const kiln_sample_list *first);
/* A row that has a reason instead of numbers; texts are copied. */
kiln_doc_study_row kiln_study_failed(kiln_arena *a, const char *group,
                                     const char *model, const char *way, int threads,
                                     const char *state, const char *problem);
/* Of a bench's numbers: a library's, and kiln's own; gains over `first`. */
kiln_doc_study_row kiln_study_rival_row(kiln_arena *a, const char *group,
                                        const char *model, int threads,
                                        const kiln_rival *r,
                                        const kiln_sample_list *first);
kiln_doc_study_row kiln_study_own_row(kiln_arena *a, const char *group,
                                      const char *model, const kiln_net_bench *b,
                                      const kiln_net_side *side,
                                      const kiln_sample_list *first);
/* What all studies begin with. */
void kiln_study_begin(kiln_arena *a, const char *name, const kiln_study_options *o,
                      kiln_doc_study *out);
/* How a model ended: a failure is a row of the part, and is forgotten; an interruption is
 * passed on. */
kiln_status kiln_study_settle(kiln_arena *a, kiln_doc_study_part *part,
                              const char *model, const char *way, int threads,
                              kiln_status st, kiln_err *err);
/* How the study ended: interrupted, it says so and is good all the same. */
kiln_status kiln_study_end(kiln_doc_study *s, kiln_status st, kiln_doc_study *out,
                           kiln_err *err);
/* The name of a model without a path: "resnet18" of "zoo:resnet18". */
const char *kiln_study_name(kiln_arena *a, const char *model);

/* ---- one network left out (study_transfer.c) ------------------------------------- */

/* A copy in memory of a database without the works of a network, and without the same
 * works at other batches; the caller's to close. */
kiln_status kiln_transfer_apart(kiln_arena *a, kiln_db *db,
                                const kiln_tune_works *without, kiln_db **out,
                                kiln_err *err);

enum { KILN_BY_RULE, KILN_BY_MODEL, KILN_BY_TUNING, KILN_TRANSFER_WAYS };

/* A configuration of a kernel, and its times. */
typedef struct kiln_transfer_way {
    bool has; /* false: nobody knows one, and nothing below is set */
    kiln_choice choice;
    const char *config; /* as records have it */
    double *ns;         /* one for each round; n of them */
    size_t n;
    const char *problem; /* it failed; NULL: it did not */
} kiln_transfer_way;

/* Who measures: begun with the options and an arena, nothing else set. */
typedef struct kiln_transfer_meter {
    kiln_arena *arena;
    const kiln_transfer_options *o;
    kiln_measure *pool; /* opened for the first kernel that wants it */
    int64_t spent_ns;   /* that measuring took */
    bool is_late;       /* something was not measured, as time was over */
} kiln_transfer_meter;
/* Fills in times: those on record, and as far as there is time the others, the ways in
 * turns. What is lacking then has fewer rounds. `a`: of the times. */
kiln_status kiln_transfer_time(kiln_transfer_meter *m, kiln_arena *a,
                               const kiln_tune_work *w,
                               kiln_transfer_way way[KILN_TRANSFER_WAYS],
                               kiln_err *err);

/* ---- what the papers say (published.c) ------------------------------------------- */

enum { KILN_STUDY_STEPS_OF_PAPER = 4 };

/* A network of NeoCPU's Table 2: milliseconds on 18 cores of Skylake. */
typedef struct kiln_published {
    const char *model; /* of the zoo */
    double mxnet, tensorflow, openvino, neocpu;
    /* Table 3; 0: it is not in it. */
    double gain[KILN_STUDY_STEPS_OF_PAPER];
} kiln_published;
const kiln_published *kiln_published_at(int i); /* in the paper's order; NULL: end */
const kiln_published *kiln_published_find(const char *model); /* NULL: not in it */

#endif
