/* From what stages wrote to results: for this folder alone.
 *
 * Texts are borrowed from the parsed files, which live in the run's arena. */
#ifndef KILN_PIPELINE_NIGHTLY_COLLECT_H
#define KILN_PIPELINE_NIGHTLY_COLLECT_H

#include "pipeline/nightly/nightly_internal.h"

/* collect_*.c: one for each kind of file (docs/bench-json.md and so on). */
void nightly_take_build(kiln_arena *a, const kiln_json *v, kiln_results_job *out);
void nightly_take_tune(kiln_arena *a, const kiln_json *v, kiln_results_tuning *out);
/* Also adds the peak that was measured to the machine's. */
void nightly_take_bench(kiln_arena *a, const kiln_json *v, kiln_results_job *out,
                        kiln_results_machine *machine);
void nightly_take_ops(kiln_arena *a, const kiln_json *v, kiln_results_ops *out,
                      kiln_results_machine *machine);
void nightly_take_gate(kiln_arena *a, const kiln_json *v, kiln_results_job *out);

/* Members of any file; what is missing is not known. */
const char *nightly_text(const kiln_json *v, const char *member); /* NULL */
int64_t nightly_count(const kiln_json *v, const char *member);    /* 0 */
double nightly_positive(const kiln_json *v, const char *member);  /* 0 */
double nightly_number(const kiln_json *v, const char *member);    /* NaN */
kiln_stats_interval nightly_interval(const kiln_json *v, const char *estimate);

/* verdict.c: what the gate said of all jobs together. */
void nightly_judge_all(kiln_arena *a, kiln_results *r);

#endif
