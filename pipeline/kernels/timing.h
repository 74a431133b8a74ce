/* A call timed in slices beside the machine's peak. */
#ifndef KILN_PIPELINE_KERNELS_TIMING_H
#define KILN_PIPELINE_KERNELS_TIMING_H

#include "pipeline/kernels/call.h"
#include "pipeline/kernels/meter.h"

typedef struct kiln_timing {
    size_t n_slices;
    size_t n_disturbed; /* of them: others had the processor for a part. They count only
                           where fewer than seven are left */
    int64_t n_runs;
    double min_ms, q1_ms, median_ms, q3_ms;
    kiln_peak peak;     /* medians of the slices between */
    double gflops, gbs; /* at the median */
    double peak_share;  /* median over pairs of neighbouring slices */
    double roofline_ms; /* what peak and bandwidth allow */
    const char *bound;  /* "compute", "L1", "L2", "L3" or "memory" */
} kiln_timing;
kiln_status kiln_call_time(kiln_arena *a, kiln_call *c, kiln_meter *m, double seconds,
                           kiln_timing *out, kiln_err *err);

#endif
