/* pipeline/study: experiments of papers on whole networks, repeated here
 * (docs/study.md).
 *
 *     kiln_doc_study s;
 *     kiln_study_neocpu(a, &options, &s, err);     NeoCPU: Tables 2 and 3, Figure 4
 *     kiln_study_fusion(a, &options, &s, err);     TVM: Figure 4
 *     kiln_study_rivals(a, &options, &s, err);     models of any format beside libraries
 *     kiln_study_transfer(a, &options, &s, err);   builds of what was never tuned
 *     kiln_doc_study_text, _csv, _html             reports/results/reports_study.h
 *
 * All ways to run a network are timed in turns, round by round, after the outputs of each
 * were held against the reference. One that fails is a row that says why, and the rest
 * goes on.
 */
#ifndef KILN_PIPELINE_STUDY_H
#define KILN_PIPELINE_STUDY_H

#include "pipeline/baselines/baselines.h"
#include "compiler/network/network_choose.h"
#include "pipeline/tune/tune.h"
#include "reports/results/reports_study.h"

/* Parts of the study of NeoCPU. */
enum {
    KILN_STUDY_STEPS = 1u << 0,   /* Table 3: what each step gains */
    KILN_STUDY_BESIDE = 1u << 1,  /* Table 2: beside libraries */
    KILN_STUDY_THREADS = 1u << 2, /* Figure 4: gain of threads */
    KILN_STUDY_ALL = (1u << 3) - 1
};
/* "steps,threads"; KILN_ERR_ARG names those there are. */
kiln_status kiln_study_parts(const char *list, unsigned *out, kiln_err *err);

/* All borrowed. */
typedef struct kiln_study_options {
    const kiln_profile *profile;
    const kiln_choose_options *choose; /* who knows costs; NULL: rules */
    /* As kiln_source_read has them, NULL at the end; NULL: those of the paper. */
    const char *const *model;
    unsigned parts; /* of kiln_study_neocpu; 0: all */
    int threads;    /* of steps and libraries; of curves the most; at least 1 */
    int rounds;     /* at least 1 */
    /* Beside it, NULL at the end; NULL: none. */
    const kiln_baseline *const *baseline;
    const char *baselines_dir;  /* where their wheels are */
    int64_t baselines_limit_ms; /* of each answer; 0: as the adapters have it */
} kiln_study_options;

/* "resnet18,a/model.onnx" as models: names of the zoo, or files that are there.
 * KILN_ERR_ARG: it is neither, or twice in the list. */
kiln_status kiln_study_models(kiln_arena *a, const char *list, const char *const **out,
                              kiln_err *err);

/* Interrupted, they are KILN_OK: what was measured is in `out`, which says so. A model
 * that cannot be measured is a row that says why. */
kiln_status kiln_study_neocpu(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err);
/* The models of the list on one thread and on `threads`, beside libraries. KILN_ERR_ARG:
 * there is no list. */
kiln_status kiln_study_rivals(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err);
/* Pieces of networks, and the models of the list where there is one, fused and not. */
kiln_status kiln_study_fusion(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err);

/* ---- transfer -------------------------------------------------------------------- */

/* All borrowed. */
typedef struct kiln_transfer_options {
    const kiln_profile *profile; /* must run here, unless it replays */
    const char *const *model;    /* NULL at the end */
    kiln_db *db;                 /* records of tuning */
    kiln_db *ready;              /* ready records; NULL: none */
    kiln_db *measured;           /* times of this study; what it lacks is measured */
    int threads, rounds;         /* at least 1 */
    double seconds;              /* of measuring; 0: no limit */
    bool replays;                /* nothing is measured */
    /* As kiln_measure_options has them; for tests. */
    const char *const *builder_argv, *const *runner_argv;
} kiln_transfer_options;

/* Leave one network out: what a build of it takes whose database knows every other
 * network of it and no work of this one, beside its templates' rules and its own tuned
 * configurations, kernel by kernel. Interrupted, or out of time, it is KILN_OK: `out`
 * has what was measured, and the same call goes on. */
kiln_status kiln_study_transfer(kiln_arena *a, const kiln_transfer_options *o,
                                kiln_doc_study *out, kiln_err *err);

#endif
