/* pipeline/kernels: operators measured by themselves, a list of them at a time. Each is
 * described by a line (op_line.h), compiled with a template and a configuration
 * (compiler/network), proved and timed by other processes (pipeline/measure), beside
 * the machine's own limits (meter.h) and what vendor libraries take (timing.h). Whatever
 * a kernel does is a row, and the rest goes on.
 */
#ifndef KILN_PIPELINE_KERNELS_H
#define KILN_PIPELINE_KERNELS_H

#include "compiler/network/network_kernel.h"
#include "pipeline/baselines/baselines_rivals.h"
#include "pipeline/kernels/kernels_compare.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/kernels/timing.h"
#include "pipeline/kernels/workers.h"

/* A baseline's operators together. */
typedef struct kiln_op_standing {
    const kiln_baseline *baseline;
    const char *version; /* NULL: absent, or nobody could tell */
    size_t n_measured;
    kiln_stats_interval ratio; /* geometric mean, where something was measured */
} kiln_op_standing;

/* One operator's result. */
typedef struct kiln_bench_row {
    const char *name, *line; /* line: as in the ops file */
    const char *key;         /* the workload's; NULL: not that far */
    kiln_choice choice;      /* tmpl NULL: not that far */
    const char *refusal;     /* why it was not measured; NULL: it was, or is wrong */
    /* How its kernel ended (docs/workers.md: "crash", "wrong", ...); NULL: it was
     * measured, or not made. */
    const char *failure;
    kiln_verdict verdict;
    kiln_timing timing;
    kiln_cost cost;
    int n_loops, spills, vector_registers, hot_instructions, hot_fma;
    double lower_ms, codegen_ms;
    size_t code_bytes, workspace_bytes, scratch_bytes;
    kiln_spread spread; /* of the work on two threads */
    /* One for each baseline asked for, and kiln's own samples in the order of rounds;
     * both are empty where nothing was measured. */
    kiln_rival_list rival;
    kiln_sample_list sample;
} kiln_bench_row;

typedef struct kiln_bench {
    const kiln_profile *profile;
    kiln_peak peak;                  /* best slices, before anything else */
    double level_gbs[KILN_N_LEVELS]; /* as far as measured, else 0 */
    int threads;
    KILN_VEC(kiln_bench_row) row;
    size_t n_wrong, n_refused; /* outputs; those that could not be made */
    size_t n_failed;   /* kernels that crashed, hung, or did what they must not */
    double mean_share; /* geometric, of what was measured; 0: nothing was */
    KILN_VEC(kiln_op_standing) standing; /* one for each baseline asked for */
    bool is_interrupted;                 /* not all lines were measured */
} kiln_bench;

typedef struct kiln_bench_options {
    const char *filter; /* only names that contain it; NULL: all */
    int threads;        /* 0 counts as 1 */
    double seconds;     /* for timing each */
    uint64_t seed;
    kiln_choose_options choose;
    /* To compare with: a list that ends in NULL, all of operators; NULL: none. */
    const kiln_baseline *const *baseline;
    const char *baselines_dir;  /* where their wheels are; NULL: nowhere */
    int64_t baselines_limit_ms; /* of each answer; 0: as the adapters have it */
    kiln_workers workers;
    void (*progress)(void *user, const char *name, size_t done, size_t total);
    void *user;
} kiln_bench_options;

/* Measures each line. What cannot be made is a row with a refusal; a wrong output is a
 * row with a verdict, a kernel that crashed, hung or wrote where it must not one with
 * its failure; neither has times. Wrong usage (KILN_ERR_ARG: a configuration that the template
 * refuses) fails the call, as does a filter that leaves nothing. An interrupt
 * (kiln_interrupted) ends measuring; what was measured stays. */
kiln_status kiln_bench_run(kiln_arena *a, const kiln_op_lines *lines,
                           const kiln_profile *p, const kiln_bench_options *o,
                           kiln_bench *out, kiln_err *err);
/* Was each baseline measured that was asked for? */
bool kiln_bench_is_compared(const kiln_bench *b);
void kiln_bench_text(kiln_buf *out, const kiln_bench *b);
/* The same operators by another profile's code, measured before or behind, not in turns:
 * medians and their ratios, of what both have. */
void kiln_bench_beside_text(kiln_buf *out, const kiln_bench *b,
                            const kiln_bench *other);
/* docs/bench-ops-json.md */
void kiln_bench_json(kiln_buf *out, const kiln_bench *b);

#endif
