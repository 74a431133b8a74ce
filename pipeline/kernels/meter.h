/* The machine's own limits: kernels that measure them, and what is measured. */
#ifndef KILN_PIPELINE_KERNELS_METER_H
#define KILN_PIPELINE_KERNELS_METER_H

#include "compiler/codegen/codegen.h"
#include "pipeline/measure/wire/wire.h"
#include "reports/results/documents.h"

enum { KILN_N_LEVELS = 4 }; /* L1, L2, L3, memory */

/* The kernels of the peak, made by kiln's own code generator; processes without a
 * compiler run them. */
typedef struct kiln_meter_code {
    kiln_object fma, chain;
    const char *fma_name, *chain_name;
    double fma_flops, chain_steps; /* of one call */
    double lanes;                  /* f32 in a vector */
    double fma_unit;               /* multiply-adds per cycle come in multiples of it */
} kiln_meter_code;
/* fma takes {f32[1], f32[1], f32[chains * lanes]}, chain {i64[3], i64[1]}. */
kiln_status kiln_meter_code_make(kiln_arena *a, const kiln_profile *p,
                                 kiln_meter_code *out, kiln_err *err);
/* For a runner: views of it. */
kiln_wire_meter kiln_meter_message(const kiln_meter_code *code);
typedef struct kiln_peak {
    double measured_gflops, clock_ghz;
    double fma_per_cycle;
    double gflops; /* the larger of measured and by clock */
} kiln_peak;
/* Of a slice in which so many threads reached so many GFLOP/s at such a clock. */
kiln_peak kiln_peak_of(const kiln_profile *p, int threads, double fma_per_cycle,
                       double measured_gflops, double clock_ghz);
/* Vector multiply-adds of a thread in a cycle, from the best of several slices: a whole
 * number of units, so that one that was disturbed seldom gives another. */
double kiln_peak_fma(const kiln_profile *p, int threads, double measured_gflops,
                     double clock_ghz);
/* As documents have it. */
kiln_results_peak kiln_peak_results(const kiln_peak *p, int threads);
/* Kernels that copy (bytes read and written count) and read a part of a level: of half
 * of L1 or L2, a share of L3, four times the last cache. Functions kiln_meter_copy and
 * kiln_meter_read, both of {x, y}; no bytes: the profile knows no such level. */
typedef struct kiln_meter_level {
    kiln_object copy, read;
    int64_t copy_bytes, read_bytes; /* that a call moves */
} kiln_meter_level;
kiln_status kiln_meter_level_make(kiln_arena *a, const kiln_profile *p, int level,
                                  kiln_meter_level *out, kiln_err *err);
/* The same of so many bytes, wherever they lie. */
kiln_status kiln_meter_bytes_make(kiln_arena *a, const kiln_profile *p, int64_t bytes,
                                  kiln_meter_level *out, kiln_err *err);
/* The level that holds `bytes` in all: caches of each core hold a thread's part. */
int kiln_level_of(const kiln_profile *p, int threads, int64_t bytes);
/* More of a core's own cache than its bandwidth was measured with: sets fill unevenly,
 * and what fits by its size comes from the next cache in part. */
bool kiln_level_is_crowded(const kiln_profile *p, int threads, int level,
                           int64_t bytes);
const char *kiln_level_name(int level);

#endif
