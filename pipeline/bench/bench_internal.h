/* Inside pipeline/bench. */
#ifndef KILN_PIPELINE_BENCH_INTERNAL_H
#define KILN_PIPELINE_BENCH_INTERNAL_H

#include "pipeline/bench/bench.h"

/* What is made once, when the first baseline needs it; zeroed before. */
typedef struct kiln_net_made {
    const char *exported; /* the model as ONNX; NULL: not asked for, or refused */
    kiln_err refusal;     /* no status: none */
    /* What other engines are held to where the subject's own bounds are too narrow for
     * them (kiln_wanted_elsewhere); NULL: all were right so far. */
    const kiln_wanted *elsewhere;
} kiln_net_made;

/* Every baseline of `o` at one number of threads, made ready and compared (bench_rivals.c).
 */
kiln_rivals *kiln_net_rivals_open(kiln_arena *a, const kiln_subject *s,
                                  const kiln_net_bench_options *o, kiln_net_made *made,
                                  kiln_net_side *side);

/* This machine, with the GPU that the network runs on, if it does, beside its processor.
 */
void kiln_bench_machine(kiln_arena *a, const kiln_subject *s, kiln_machine *out);
/* GB/s of copying, by all cores that this process may use (bench_machine.c); 0: there are no
 * threads for it. A few hundred milliseconds. */
double kiln_copy_gbs(const kiln_profile *p, const kiln_machine *m);

/* ---- what every report says (bench_report.c) ------------------------------------------- */

/* What is measured, and whether it is right: false, and why, where it is not. */
bool kiln_bench_head_text(kiln_buf *out, const kiln_subject *s, const kiln_check *c,
                          const kiln_machine *m, double bandwidth_gbs);

/* ---- steps (report_steps.c) ------------------------------------------------------ */

/* Of all its operations, element-wise ones too. */
double kiln_step_gflops(const kiln_subject_step *step, double ms);

/* Sums over the steps whose configurations are of one origin; "copy": no kernel. The
 * one that takes longest comes first. */
kiln_results_coverages kiln_steps_coverage(kiln_arena *a, const kiln_subject *s,
                                           const double *step_ms);

void kiln_steps_text(kiln_buf *out, const kiln_net_side *r);

#endif
