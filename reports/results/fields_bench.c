/* What `kiln bench` writes of a network, as a table (docs/bench-json.md). */
#include "reports/results/reports_fields.h"

#define T kiln_doc_own
static const kiln_record_field own_rows[] = {
    KILN_MEMBER(kiln, "version"),
    KILN_MEMBER(
        commit,
        "of its sources, `-modified` behind it where they differed; null: not known"),
    KILN_MEMBER(build, "compiler and flags that built it"),
};
KILN_RECORD(kiln_doc_own_table, own_rows, "Which kiln")
#undef T

kiln_doc_own kiln_doc_own_of(kiln_arena *a) {
    return (kiln_doc_own){.kiln = KILN_VERSION,
                          .commit = kiln_own_version().commit,
                          .build = kiln_own_build(a)};
}

#define T kiln_doc_output
static const kiln_record_field output_rows[] = {
    KILN_MEMBER(ok, "right, on every number of threads"),
    KILN_MEMBER(problem, "what is wrong"),
    KILN_MEMBER(max_abs_error, "the largest, of all numbers of threads"),
    KILN_MEMBER(rms_error, "root of the mean square"),
    KILN_MEMBER(rms_expected, "of the reference's outputs"),
};
KILN_RECORD_STATIC(output, output_rows, "The output, against the reference")
#undef T

#define T kiln_doc_percentiles
static const kiln_record_field percentiles_rows[] = {
    KILN_MEMBER(samples, "how many"),
    KILN_MEMBER(mean, "of them"),
    KILN_MEMBER(min, "the least"),
    KILN_MEMBER_AS("p50", at[0],
                   "by the nearest rank; null where no sample lies above: it takes 2"),
    KILN_MEMBER_AS("p90", at[1], "it takes 10"),
    KILN_MEMBER_AS("p95", at[2], "it takes 20"),
    KILN_MEMBER_AS("p99", at[3], "it takes 100"),
    KILN_MEMBER_AS("p99.9", at[4], "it takes 1000"),
    KILN_MEMBER(max, "the largest"),
};
KILN_RECORD_STATIC(percentiles, percentiles_rows, "Percentiles, in ms")
#undef T

#define T kiln_doc_round
static const kiln_record_field round_rows[] = {
    KILN_MEMBER(gflops, "of the peak"),
    KILN_MEMBER(measured_gflops, "that multiply-adds reached"),
    KILN_MEMBER(clock_ghz, "of the clock"),
};
KILN_RECORD_STATIC(a_round, round_rows, "A round")
#undef T

#define T kiln_doc_side
static const kiln_record_field side_rows[] = {
    KILN_MEMBER(threads, "number of them"),
    KILN_MEMBER_PART(latency, kiln_results_latency_table),
    KILN_MEMBER_OBJECT("percentiles_ms", percentiles, percentiles,
                       "of the same samples; of a short network, of means: single "
                       "runs are what a load counts"),
    KILN_MEMBER_OBJECT("peak", peak, kiln_results_peak_table, "medians of the rounds"),
    KILN_MEMBER_ROWS("rounds", round, a_round,
                     "the slice of the peak before each sample"),
    KILN_MEMBER_LIST("steps", step, kiln_results_step_table,
                     "with `--steps`: in the order they run; of 20 runs of their "
                     "own, which read the clock between steps"),
    KILN_MEMBER_POSITIVE(steps_ms, "sum of the steps' medians"),
    KILN_MEMBER_POSITIVE(steps_run_ms, "of those runs, median"),
    KILN_MEMBER_LIST("coverage", coverage, kiln_results_coverage_table,
                     "with `--steps`: by where configurations come from, `copy`: "
                     "no kernel; longest first"),
    KILN_MEMBER_LIST("baselines", baseline, kiln_results_baseline_table,
                     "with `--baselines`: in the order asked for"),
};
KILN_RECORD_STATIC(side, side_rows, "A number of threads")
#undef T

#define T kiln_doc_throughput
static const kiln_record_field throughput_rows[] = {
    KILN_MEMBER(runs, "of all instances, that ended in time"),
    KILN_MEMBER(per_s, "of them in a second"),
    KILN_MEMBER(low, "lower end of its 95% bootstrap interval over `slices`"),
    KILN_MEMBER(high, "upper end"),
    KILN_MEMBER_NUMBERS("slices", slice,
                        "runs that ended in each twentieth of the time"),
};
KILN_RECORD_STATIC(throughput, throughput_rows, "Throughput")
#undef T

#define T kiln_doc_load
static const kiln_record_field load_rows[] = {
    KILN_MEMBER(instances, "sessions at once"),
    KILN_MEMBER(threads, "of each"),
    KILN_MEMBER(seconds, "that were measured"),
    KILN_MEMBER_AS("cut", is_cut,
                   "fewer than asked for: more than 16777216 runs are not kept"),
    KILN_MEMBER(session_bytes, "what the runtime allocated for each"),
    KILN_MEMBER_OBJECT("throughput", throughput, throughput, "of all instances"),
    KILN_MEMBER_OBJECT("latency_ms", latency, percentiles,
                       "of every run that was begun in time, wall time as its "
                       "caller sees it; nothing is left out, whoever disturbed it"),
};
KILN_RECORD_STATIC(load, load_rows, "A load")
#undef T

#define T kiln_doc_bench
static const kiln_record_field bench_rows[] = {
    KILN_MEMBER_PART(own, kiln_doc_own_table),
    KILN_MEMBER_OBJECT(
        "machine", machine, kiln_results_machine_table,
        "where; its bandwidth is the best of five copies behind everything else"),
    KILN_MEMBER(model, "its name"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(multiply_adds, "of one run, after the graph passes"),
    KILN_MEMBER(flops, "the same, element-wise operations too"),
    KILN_MEMBER_OBJECT("output", output, output, "was it right?"),
    KILN_MEMBER_OBJECT("memory", memory, kiln_results_memory_table,
                       "of a session; at the first number of threads"),
    KILN_MEMBER_POSITIVE(open_ms, "that opening the package took once, its archive "
                                  "verified and in memory; packing included"),
    KILN_MEMBER_LIST("threads", side, side,
                     "of each number of threads; empty where the output was wrong, "
                     "and under load"),
    KILN_MEMBER_LIST(
        "load", load, load,
        "with `--instances` or `--duration`: of each pair of numbers, in the order "
        "they were measured; empty where an output was wrong"),
    KILN_MEMBER_AS("interrupted", is_interrupted,
                   "Ctrl-C came; there are fewer samples than were asked for, the "
                   "last load is shorter"),
};
KILN_RECORD_STATIC(bench, bench_rows, "The document")
#undef T

const kiln_record_document kiln_bench_document = {
    .format_key = "format",
    .format = "kiln-bench-1",
    .table = &bench,
    .docs = "docs/bench-json.md",
    .what = "made by 'kiln bench MODEL --json'"};
