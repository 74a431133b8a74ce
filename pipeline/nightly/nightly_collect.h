/* From what stages wrote to results: for this folder alone.
 *
 * Texts are borrowed from what was read, which lives in the run's arena. */
#ifndef KILN_PIPELINE_NIGHTLY_NIGHTLY_COLLECT_H
#define KILN_PIPELINE_NIGHTLY_NIGHTLY_COLLECT_H

#include "pipeline/nightly/nightly_internal.h"
#include "reports/results/documents.h"

/* collect_stages.c: one for each kind of document. */
void kiln_nightly_take_build(const kiln_doc_builds *d, kiln_results_job *out);
/* Also adds the peak that was measured to the machine's. */
void kiln_nightly_take_bench(kiln_arena *a, const kiln_doc_bench *d,
                             kiln_results_job *out, kiln_results_machine *machine);
void kiln_nightly_take_ops(kiln_arena *a, const kiln_doc_ops *d, kiln_results_ops *out,
                           kiln_results_machine *machine);
void kiln_nightly_take_gate(const kiln_doc_gate *d, kiln_results_job *out);

/* verdict.c: what the gate said of all jobs together. */
void kiln_nightly_judge_all(kiln_arena *a, kiln_results *r);

#endif
