/* What kiln's verbs write with --json, as data: `bench`, `bench --ops`, `tune`, `build`
 * and `gate`. They are made of the same structs as a night's results (results.h), which
 * takes them over as they are; each document is a table (base/text/record.h) that writes it,
 * reads it, and stands in its page of docs/.
 */
#ifndef KILN_REPORTS_DOCUMENTS_H
#define KILN_REPORTS_DOCUMENTS_H

#include "reports/results/results.h"

/* Which kiln. */
typedef struct kiln_doc_own {
    const char *kiln;   /* version */
    const char *commit; /* of its sources; "-modified" behind: they differed; or NULL */
    const char *build;  /* compiler and flags */
} kiln_doc_own;
kiln_doc_own kiln_doc_own_of(kiln_arena *a); /* this one */

/* ---- kiln bench MODEL (docs/bench-json.md) --------------------------------------- */

typedef struct kiln_doc_output {
    bool ok;
    const char *problem; /* NULL: none */
    double max_abs_error, rms_error, rms_expected;
} kiln_doc_output;

enum { KILN_DOC_N_PERCENTILES = 5 };  /* p50, p90, p95, p99, p99.9 */
typedef struct kiln_doc_percentiles { /* of ms */
    size_t samples;
    double mean, min, max;
    double at[KILN_DOC_N_PERCENTILES]; /* NaN: no sample lies above */
} kiln_doc_percentiles;

typedef struct kiln_doc_round { /* the slice of the peak before each sample */
    double gflops, measured_gflops, clock_ghz;
} kiln_doc_round;

typedef struct kiln_doc_side { /* one number of threads */
    int threads;
    kiln_results_latency latency;
    kiln_doc_percentiles percentiles; /* of the same samples */
    kiln_results_peak peak;           /* medians of the rounds */
    KILN_VEC(kiln_doc_round) round;
    kiln_results_steps step;       /* empty: not asked for */
    double steps_ms, steps_run_ms; /* as a job's */
    kiln_results_coverages coverage;
    kiln_results_baselines baseline;
} kiln_doc_side;

typedef struct kiln_doc_throughput { /* in a second */
    int64_t runs;
    double per_s, low, high;
    kiln_results_numbers slice;
} kiln_doc_throughput;
typedef struct kiln_doc_load { /* so many instances of so many threads */
    int instances, threads;
    double seconds;
    bool is_cut;
    int64_t session_bytes;
    kiln_doc_throughput throughput;
    kiln_doc_percentiles latency;
} kiln_doc_load;

typedef struct kiln_doc_bench {
    kiln_doc_own own;
    kiln_results_machine machine;
    const char *model, *profile;
    int64_t multiply_adds, flops;
    kiln_doc_output output;
    kiln_results_memory memory;
    double open_ms;
    KILN_VEC(kiln_doc_side) side;
    KILN_VEC(kiln_doc_load) load;
    bool is_interrupted;
} kiln_doc_bench;
extern const kiln_record_document kiln_bench_document;

/* ---- kiln bench --ops (docs/bench-ops-json.md) -------------------------------------
 */

typedef struct kiln_doc_op_output {
    bool ok;
    const char *problem;
    double worst_error_of_bound, max_abs_error;
    int64_t checked, elements;
} kiln_doc_op_output;
typedef struct kiln_doc_op_time {
    size_t slices, disturbed_slices;
    int64_t runs;
    double gbs, peak_share, memory_ms, instructions_ms, roofline_ms;
    const char *bound;
    kiln_results_peak peak;
} kiln_doc_op_time;
typedef struct kiln_doc_code {
    int64_t bytes, workspace_bytes, scratch_bytes, forks, parallel_iterations;
    double gain_on_2_threads;
    int innermost_loops, hot_instructions, hot_vector_fma, hot_vector_registers,
        hot_spills;
    double lower_ms, codegen_ms;
} kiln_doc_code;

typedef struct kiln_doc_op {
    kiln_results_op op;
    const char *workload; /* NULL: the line was not read */
    const char *config;   /* JSON; NULL: none was chosen */
    const char *refusal;  /* NULL: it was measured, or its output is wrong */
    const char *failure;  /* a word; NULL: its kernel is good, or there is none */
    int64_t flops, bytes;
    bool has_output, has_time, has_code;
    kiln_doc_op_output output;
    kiln_doc_op_time time;
    kiln_doc_code code;
    kiln_results_numbers sample_ms, disturbed_at; /* in the rounds with baselines */
} kiln_doc_op;

typedef struct kiln_doc_standing { /* of a baseline, over all operators */
    const char *name, *version;
    int64_t measured;
    kiln_stats_interval ratio;
} kiln_doc_standing;

typedef struct kiln_doc_ops {
    kiln_doc_own own;
    const char *profile;
    int threads;
    kiln_results_peak peak;             /* best of slices before anything else */
    KILN_VEC(kiln_results_level) level; /* as far as operators needed them */
    KILN_VEC(kiln_doc_op) op;
    KILN_VEC(kiln_doc_standing) baseline;
    int64_t wrong, refused, failed;
    double mean_peak_share;
    bool is_interrupted;
} kiln_doc_ops;
extern const kiln_record_document kiln_ops_document;
extern const kiln_record_table kiln_op_table; /* of one of them */

/* ---- kiln tune (docs/tune-json.md) ----------------------------------------------- */

typedef struct kiln_doc_settled { /* compared inside the network */
    bool is_cut;
    int works, changed;
    double alone_ns, chosen_ns;
} kiln_doc_settled;
typedef struct kiln_doc_layouts { /* a search over layouts, after tuning */
    int64_t kernels, conversions, trials;
    int changed;
    double greedy_ns, search_ns;
    double ran_greedy_ns, ran_search_ns; /* 0: they were not run */
} kiln_doc_layouts;
typedef struct kiln_doc_tune {
    kiln_doc_own own;
    kiln_results_tuning tuning;
    int64_t measured_again, unbelieved_records, slices, disturbed_slices;
    bool is_interrupted;
    KILN_VEC(kiln_results_count) trials; /* of each kind, those with a time too */
    bool has_settled;
    kiln_doc_settled settled;
    bool has_layouts;
    kiln_doc_layouts layouts;
} kiln_doc_tune;
extern const kiln_record_document kiln_tune_document;

/* ---- kiln build (docs/build-json.md) --------------------------------------------- */

typedef struct kiln_doc_ledger { /* of an operator, or of all */
    const char *op;
    kiln_results_coverages coverage; /* origins that occur */
    int64_t copies, tried;
} kiln_doc_ledger;
typedef struct kiln_doc_proof {
    bool proved;
    const char *device; /* NULL: nobody ran it */
    int steps, proved_steps, unknown_steps, unseen_steps;
    int64_t elements, compared_elements, time_ms;
} kiln_doc_proof;
typedef struct kiln_doc_selftest {
    const char *inputs; /* the law they were drawn by */
    int64_t elements, elements_held, elements_held_weakly;
} kiln_doc_selftest;
/* What a search over layouts expects of one run on one core. */
typedef struct kiln_doc_layout_search {
    double greedy_us, search_us, chosen_us; /* 0: nothing is to be done */
    int greedy_conversions, steps, ways, measured_steps, changed_steps;
    bool least;
} kiln_doc_layout_search;
typedef struct kiln_doc_build {
    const char *model, *profile, *numerics;
    kiln_results_archive archive;
    int64_t multiply_adds;
    int steps, conversions, ready_kernels, predicted_kernels;
    bool has_layout_search;
    kiln_doc_layout_search layout_search;
    int64_t kernels, time_ms;
    kiln_doc_proof proof;
    kiln_doc_selftest selftest;
    kiln_results_memory memory;
    KILN_VEC(kiln_doc_ledger) ledger;
    kiln_doc_ledger all;
} kiln_doc_build;
typedef struct kiln_doc_builds {
    KILN_VEC(kiln_doc_build) build; /* one for each profile */
} kiln_doc_builds;
extern const kiln_record_document kiln_build_document;
extern const kiln_record_table kiln_build_table; /* of one of them */

/* ---- kiln gate (docs/gate-json.md) ----------------------------------------------- */

typedef struct kiln_doc_accepted {
    const char *path, *sha256;
    int64_t bytes;
    const char *accepted_at, *who, *kiln, *commit, *machine; /* NULL: not known */
} kiln_doc_accepted;
typedef struct kiln_doc_look { /* one series of pairs, or the control against itself */
    const char *verdict;
    int pairs;
    kiln_stats_interval slowdown;
    double p;
} kiln_doc_look;
typedef struct kiln_doc_busy { /* programs of one name */
    const char *name;
    int64_t processes;
    double processors; /* on average */
} kiln_doc_busy;
typedef struct kiln_doc_others { /* who else had the processors */
    double seconds, processors, taken, hypervisor, unseen;
    KILN_VEC(kiln_doc_busy) greatest;
} kiln_doc_others;
/* A fresh process of a comparison. */
typedef struct kiln_doc_process {
    int series; /* 0; 1: the confirmation */
    int pair;
    const char *side; /* "candidate", "control", "again" */
    double ms, min_ms, clock_ghz;
    int64_t disturbed; /* runs */
    bool is_used;      /* false: taken again */
} kiln_doc_process;
typedef struct kiln_doc_limits { /* shares of slowdown */
    double fail_above, pass_below;
} kiln_doc_limits;
typedef struct kiln_doc_series { /* of one candidate */
    const char *model, *profile;
    int threads;
    kiln_results_gate gate;
    kiln_results_archive candidate;
    bool has_accepted, has_frozen, has_itself, has_confirmation;
    kiln_doc_accepted accepted, frozen;
    int frozen_pairs;
    kiln_doc_look itself, confirmation;
    const char *machine;
    double seed; /* NaN: nothing was timed */
    int runs_of_a_process, retaken;
    int throttled, degrees;
    KILN_VEC(kiln_doc_process) process; /* in the order they were run */
    double pairs_needed;
    kiln_doc_limits limits;
    bool gave_up, has_others;
    kiln_doc_others others;
} kiln_doc_series;
typedef struct kiln_doc_gate {
    kiln_doc_own own;
    double injected; /* share that candidates were slowed by; 0: they were not */
    const char *verdict;
    KILN_VEC(kiln_results_count) by_verdict;
    kiln_stats_interval geomean_slowdown;
    KILN_VEC(kiln_doc_series) series;
} kiln_doc_gate;
extern const kiln_record_document kiln_gate_document;

#endif
