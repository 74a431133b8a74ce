/* What one operator became (`kiln explain --op`). */
#ifndef KILN_PIPELINE_KERNELS_KERNELS_EXPLAIN_H
#define KILN_PIPELINE_KERNELS_KERNELS_EXPLAIN_H

#include "compiler/network/network_choose.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/kernels/workers.h"

/* What `kiln explain` shows of one operator. */
typedef enum kiln_explain_stage {
    KILN_EXPLAIN_SUMMARY,
    KILN_EXPLAIN_KNOBS,
    KILN_EXPLAIN_EXPRESSION,
    KILN_EXPLAIN_SCHEDULE,
    KILN_EXPLAIN_LOWERED,  /* the program before the loop passes */
    KILN_EXPLAIN_PROGRAM,  /* and after them */
    KILN_EXPLAIN_ASSEMBLY, /* hot loops */
    KILN_N_EXPLAIN_STAGES
} kiln_explain_stage;
const char *kiln_explain_stage_name(kiln_explain_stage s);
/* A schedule that somebody wrote (docs/schedule-text.md), in place of a template's. */
typedef struct kiln_own_schedule {
    const char *file; /* for messages */
    kiln_str text;    /* untrusted */
} kiln_own_schedule;

/* Appends the texts of the stages asked for (bits 1 << stage) to `text`, and each as a
 * member of the object that `json` is in: the summary as an object like a row of
 * kiln_bench_json, the knobs as a list, the others as texts. The summary has workers
 * prove and time the kernel, where this machine can run it; *is_wrong: its output was,
 * or the kernel crashed, hung, or wrote where it must not. With `own` (NULL: a template's
 * schedule) nothing is chosen and nothing runs: the summary says what the machine model
 * and the code generator make of it, and there are no knobs (KILN_ERR_ARG). */
kiln_status kiln_explain(kiln_arena *a, const kiln_op_line *line, const kiln_profile *p,
                         const kiln_choose_options *choose,
                         const kiln_own_schedule *own, const kiln_workers *workers,
                         unsigned stages, kiln_buf *text, kiln_json_writer *json,
                         bool *is_wrong, kiln_err *err);

#endif
