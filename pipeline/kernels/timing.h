/* What slices of an operator say, beside the machine's peak. */
#ifndef KILN_PIPELINE_KERNELS_TIMING_H
#define KILN_PIPELINE_KERNELS_TIMING_H

#include "pipeline/kernels/meter.h"

typedef struct kiln_timing {
    size_t n_slices;    /* 0: it was not timed */
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

#endif
