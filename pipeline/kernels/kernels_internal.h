/* Inside pipeline/kernels. */
#ifndef KILN_PIPELINE_KERNELS_INTERNAL_H
#define KILN_PIPELINE_KERNELS_INTERNAL_H

#include "compiler/schedule/cycles.h"
#include "pipeline/kernels/kernels_compare.h"
#include "pipeline/kernels/kernels_explain.h"
#include "pipeline/kernels/kernels.h"
#include "pipeline/measure/measure.h"

/* Cuts the next word off; false where there is none. */
bool kiln_op_word(kiln_str *rest, kiln_str *word);

/* ---- schedules that somebody wrote (own_schedule.c) ------------------------------ */

typedef struct kiln_own_kernel {
    const kiln_own_schedule *text;
    kiln_target_kind target; /* that its loops are for */
    kiln_cycles cycles;      /* of one core, where that is the profile's kind */
    const char *refusal;     /* why there is no code; NULL: there is */
} kiln_own_kernel;
/* Fills work, scheduled and program of *k, and its code where there is no refusal. */
kiln_status kiln_own_kernel_make(kiln_arena *a, const kiln_op_work *w,
                                 const kiln_own_schedule *text, const kiln_profile *p,
                                 kiln_own_kernel *own, kiln_kernel *k, kiln_err *err);
void kiln_own_summary_put(const kiln_own_kernel *own, const kiln_kernel *k,
                          const kiln_profile *p, kiln_buf *out);
void kiln_own_summary_json(const kiln_own_kernel *own, const kiln_kernel *k,
                           const kiln_profile *p, kiln_json_writer *w);

/* ---- measured by other processes (kernels_trial.c) ------------------------------- */

/* A pool of workers, and what is known of the machine. */
typedef struct kiln_op_trials {
    kiln_arena *arena;
    kiln_measure *pool; /* closed with the arena */
    const kiln_profile *profile;
    int threads;
    kiln_peak peak;                  /* best slices, before anything else */
    double level_gbs[KILN_N_LEVELS]; /* 0: not measured yet */
} kiln_op_trials;
typedef struct kiln_op_trials_options {
    int threads;    /* at least 1 */
    double seconds; /* for slices of each operator */
    uint64_t seed;
    const kiln_workers *workers;
} kiln_op_trials_options;
kiln_status kiln_op_trials_open(kiln_arena *a, const kiln_profile *p,
                                const kiln_op_trials_options *o, kiln_op_trials *out,
                                kiln_err *err);
/* Who else takes a turn in each round; opened once the kernel is proved. */
typedef struct kiln_op_others {
    kiln_rivals *(*open)(void *user);
    void *user;
} kiln_op_others;
/* Has it made, proved and timed. What becomes of the kernel is in the row, whose memory
 * is in `a`: verdict, timing, samples beside others (NULL: there are none), code, or
 * failure and its refusal. KILN_ERR_UNSUPPORTED: there is no bound to prove it by. */
kiln_status kiln_op_trial(kiln_arena *a, kiln_op_trials *t, const kiln_op_work *w,
                          double seconds, const kiln_op_others *others,
                          kiln_bench_row *row, kiln_err *err);

/* ---- baselines (kernels_rivals.c) ------------------------------------------------ */

/* Those of `o` for one operator, made ready and compared; kept in the row, whose memory
 * is in `a`. They end with `scratch`. */
kiln_rivals *kiln_op_rivals_open(kiln_arena *a, kiln_arena *scratch,
                                 const kiln_op_work *w, const kiln_bench_options *o,
                                 kiln_bench_row *row);

/* How all operators stand to each of `which` (NULL: none). */
void kiln_op_standings(kiln_arena *a, kiln_bench *b, const kiln_baseline *const *which);
void kiln_op_rivals_text(kiln_buf *out, const kiln_bench *b);

/* What is known of a row's code; and the row, on so many threads, as a JSON object. */
void kiln_bench_row_fill(kiln_bench_row *row, const kiln_kernel *k,
                         const kiln_hot_loops *h, const kiln_profile *p);
void kiln_bench_row_put(kiln_json_writer *w, const kiln_bench_row *r, int threads);

#endif
