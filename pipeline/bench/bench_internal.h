/* Inside pipeline/bench. */
#ifndef KILN_PIPELINE_BENCH_INTERNAL_H
#define KILN_PIPELINE_BENCH_INTERNAL_H

#include "pipeline/bench/bench.h"

/* The session's error as a status. */
kiln_status kiln_session_failed(const kiln_session *s, kiln_err *err);

/* Are at least seven undisturbed? Then the others are left out. */
bool kiln_samples_suffice(const kiln_net_samples *s);
/* `member` (its offset in kiln_net_sample) of all, or of those that were not disturbed.
 * In `a`; *n of them. */
double *kiln_samples_column(kiln_arena *a, const kiln_net_samples *s, bool all,
                            size_t member, size_t *n);

/* ---- baselines (rivals.c) -----------------------------------------------------------
 */

/* Every baseline of `o` at one number of threads, made ready and compared. */
typedef struct kiln_rivals kiln_rivals;
kiln_rivals *kiln_rivals_open(kiln_arena *a, const kiln_subject *s,
                              const kiln_net_bench_options *o, kiln_net_side *side);
/* A sample of each that still runs, with the peak's slice of this round. */
void kiln_rivals_round(kiln_rivals *r, const kiln_net_sample *peak);
void kiln_rivals_add_up(kiln_rivals *r);

/* GB/s of copying, by all cores that this process may use (machine.c); 0: there are no
 * threads for it. A few hundred milliseconds. */
double kiln_copy_gbs(const kiln_profile *p, const kiln_machine *m);

/* ---- steps (report_steps.c)
 * ----------------------------------------------------------
 */

/* Of all its operations, element-wise ones too. */
double kiln_step_gflops(const kiln_subject_step *step, double ms);

/* Sums over the steps whose configurations are of one origin; "copy": no kernel. The
 * one that takes longest comes first. */
typedef struct kiln_step_coverage {
    const char *origin;
    int steps;
    int64_t muladds;
    double ms;
} kiln_step_coverage;
typedef KILN_VEC(kiln_step_coverage) kiln_step_coverages;
kiln_step_coverages kiln_steps_coverage(kiln_arena *a, const kiln_subject *s,
                                        const double *step_ms);

void kiln_steps_text(kiln_buf *out, const kiln_subject *s, const kiln_net_side *r);
/* Members "steps" and "coverage". */
void kiln_steps_json(kiln_json_writer *w, const kiln_subject *s,
                     const kiln_net_side *r);

/* Tables and members of them (report_rivals.c). */
void kiln_rivals_text(kiln_buf *out, const kiln_net_bench *b);
void kiln_rivals_json(kiln_json_writer *w, const kiln_net_side *side);
void kiln_samples_json(kiln_json_writer *w, const kiln_net_samples *s);

#endif
