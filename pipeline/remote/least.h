/* Inside pipeline/remote: what no machine takes less time for. A runner elsewhere is
 * somebody else's program, and its clock is too. */
#ifndef KILN_PIPELINE_REMOTE_LEAST_H
#define KILN_PIPELINE_REMOTE_LEAST_H

#include "pipeline/remote/remote.h"

/* Of a step: zero where it is no call, or in a branch or a repetition. */
typedef struct kiln_step_least {
    double flops, written_bytes;
} kiln_step_least;

/* By step of the network; in `a`. */
const kiln_step_least *kiln_least_of(kiln_arena *a, const kiln_network *n);
/* What is too fast in the answer to a turn of so many runs: a text in `a`, or NULL:
 * nothing. Clocks may be coarse: a microsecond for each time that was read is not
 * missed. */
const char *kiln_least_broken(kiln_arena *a, const kiln_profile *p, int threads,
                              const kiln_step_least *least, size_t n_steps,
                              int64_t runs, const kiln_wire_told *told);

#endif
