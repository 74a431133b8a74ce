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
    kiln_peak peak;         /* medians of the slices between */
    double gflops, gbs;     /* at the median */
    double peak_share;      /* median over pairs of neighbouring slices */
    double memory_ms;       /* what the bandwidth of where it lies allows */
    double instructions_ms; /* what the kernel's operations, loads and stores take as
                               full vectors (kiln_issue); 0: not told */
    double roofline_ms;     /* the longest of these, and of flops at the peak */
    const char *bound;      /* "compute", "instr", "L1", "L2", "L3" or "memory" */
} kiln_timing;

#endif
