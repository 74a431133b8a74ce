/* The machine's own limits, and clocks. */
#ifndef KILN_PIPELINE_KERNELS_METER_H
#define KILN_PIPELINE_KERNELS_METER_H

#include "compiler/codegen/codegen.h"
#include "pipeline/kernels/team.h"
#include "reports/documents.h"
#include "runtime/kernel.h"

enum { KILN_N_LEVELS = 4 }; /* L1, L2, L3, memory */

/* Kernels that measure the machine, made by kiln's own code generator; each thread of
 * the team runs them by itself, and what they reach counts together. */
typedef struct kiln_meter {
    const kiln_profile *profile;
    kiln_team team;
    void ***fma_args, ***chain_args; /* by thread */
    kiln_kernel_fn *fma, *chain;
    size_t fma_bytes;
    double fma_flops, chain_steps; /* of one call */
    double lanes;                  /* f32 in a vector */
    double fma_unit;               /* what multiply-adds per cycle come in */
    double fma_per_cycle;          /* vector multiply-adds: a whole number */
} kiln_meter;

/* KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code. */
kiln_status kiln_meter_new(kiln_arena *a, const kiln_profile *p, kiln_team team,
                           kiln_meter *out, kiln_err *err);
/* The kernels of the peak as objects, for processes without a compiler. */
typedef struct kiln_meter_code {
    kiln_object fma, chain;
    const char *fma_name, *chain_name;
    double fma_flops, chain_steps; /* of one call */
    size_t fma_bytes;              /* that fma writes */
    double lanes;                  /* f32 in a vector */
    double fma_unit;               /* multiply-adds per cycle come in multiples of it */
} kiln_meter_code;
/* fma takes {f32[1], f32[1], f32[chains * lanes]}, chain {i64[3], i64[1]}. */
kiln_status kiln_meter_code_make(kiln_arena *a, const kiln_profile *p,
                                 kiln_meter_code *out, kiln_err *err);
typedef struct kiln_peak {
    double measured_gflops, clock_ghz;
    double fma_per_cycle;
    double gflops; /* the larger of measured and by clock */
} kiln_peak;
/* As documents have it. */
kiln_results_peak kiln_peak_results(const kiln_peak *p, int threads);
/* One slice of less than a millisecond: interleave it with what is measured. */
kiln_peak kiln_meter_slice(const kiln_meter *m);
/* Best of several slices. */
kiln_peak kiln_meter_best(const kiln_meter *m, int slices);
/* Kernels that copy (bytes read and written count) and read a part of a level: of half
 * of L1 or L2, a share of L3, four times the last cache. Functions kiln_meter_copy and
 * kiln_meter_read, both of {x, y}; no bytes: the profile knows no such level. */
typedef struct kiln_meter_level {
    kiln_object copy, read;
    int64_t copy_bytes, read_bytes; /* that a call moves */
} kiln_meter_level;
kiln_status kiln_meter_level_make(kiln_arena *a, const kiln_profile *p, int level,
                                  kiln_meter_level *out, kiln_err *err);
/* The level that holds `bytes` in all: caches of each core hold a thread's part. */
int kiln_level_of(const kiln_profile *p, int threads, int64_t bytes);
const char *kiln_level_name(int level);

/* Two clocks of the calling thread: what passed, and what it got of the processor; and
 * how often somebody took a processor away from this process. */
typedef struct kiln_watch {
    int64_t wall_ns, cpu_ns, preempted;
} kiln_watch;
kiln_watch kiln_watch_now(void);
/* Nanoseconds since `begin` of work by so many threads, by the rule that baselines have
 * too (kiln_baseline_ms). *disturbed (may be NULL): others had a processor meanwhile.
 */
double kiln_watch_ns(const kiln_watch *begin, int threads, bool *disturbed);

#endif
