/* Members that nights and verbs say alike: see reports_fields.h. */
#include "reports/results/reports_fields.h"

const char *const kiln_results_states[] = {"absent",   "failed",   "wrong",
                                           "emulated", "measured", NULL};
const char *const kiln_results_verdicts[] = {"pass",  "fail", "inconclusive", "invalid",
                                             "equal", "new",  "wrong",        NULL};

#define T kiln_results_peak
static const kiln_record_field peak_rows[] = {
    KILN_MEMBER(threads, "number of threads"),
    KILN_MEMBER_POSITIVE(
        gflops, "the larger of what multiply-adds reached between the runs and "
                "what the clock allows, or of a network on a GPU what its profile "
                "says; median"),
    KILN_MEMBER_POSITIVE(measured_gflops, "what multiply-adds reached"),
    KILN_MEMBER_POSITIVE(fma_per_cycle, "vector multiply-adds that a core begins"),
    KILN_MEMBER_POSITIVE(clock_ghz, "clock, median"),
};
KILN_RECORD(kiln_results_peak_table, peak_rows, "A peak")
#undef T

#define T kiln_results_level
static const kiln_record_field level_rows[] = {
    KILN_MEMBER(name, "`L1`, `L2`, `L3`, `memory`"),
    KILN_MEMBER(threads, "number of threads"),
    KILN_MEMBER_POSITIVE(gbs, "GB/s of reading or copying, whichever is faster; of a "
                              "night, the best of all lists of operators"),
};
KILN_RECORD(kiln_results_level_table, level_rows, "A level of the memory")
#undef T

#define T kiln_results_machine
static const kiln_record_field machine_rows[] = {
    KILN_MEMBER(cpu, "name of the processor; of a network on a GPU, with that"),
    KILN_MEMBER(os, "operating system"),
    KILN_MEMBER(cores, "that the process may use"),
    KILN_MEMBER(memory_bytes, "main memory"),
    KILN_MEMBER_POSITIVE(bandwidth_gbs, "GB/s of copying with all cores"),
    KILN_MEMBER_LIST("peaks", peak, kiln_results_peak_table,
                     "for each number of threads"),
    KILN_MEMBER_LIST("levels", level, kiln_results_level_table,
                     "caches and memory, as far as lists of operators measured them"),
};
KILN_RECORD(kiln_results_machine_table, machine_rows, "The machine")
#undef T

#define T kiln_stats_interval
static const kiln_record_field ratio_rows[] = {
    KILN_MEMBER_POSITIVE(estimate, "the value"),
    KILN_MEMBER_POSITIVE(low, "lower end of the 95% interval"),
    KILN_MEMBER_POSITIVE(high, "upper end"),
};
KILN_RECORD(kiln_results_ratio_table, ratio_rows, "A ratio")
static const kiln_record_field interval_rows[] = {
    KILN_MEMBER(estimate, "the value; null where nothing was timed"),
    KILN_MEMBER(low, "lower end; null where there is no bound"),
    KILN_MEMBER(high, "upper end; the same"),
};
KILN_RECORD(kiln_results_interval_table, interval_rows, "An interval")
#undef T

#define T kiln_results_latency
static const kiln_record_field latency_rows[] = {
    KILN_MEMBER_POSITIVE(median_ms,
                         "of undisturbed samples; of all, where fewer than seven were "
                         "undisturbed"),
    KILN_MEMBER_POSITIVE(q1_ms, "first quartile"),
    KILN_MEMBER_POSITIVE(q3_ms, "third quartile"),
    KILN_MEMBER_POSITIVE(min_ms, "fastest sample"),
    KILN_MEMBER_AS("runs_of_a_sample", runs,
                   "a sample of a short network is the mean of several"),
    KILN_MEMBER(n_samples, "how many there are"),
    KILN_MEMBER(n_disturbed, "of them, while somebody else had a processor"),
    KILN_MEMBER_POSITIVE(gflops, "at the median; two operations for each multiply-add"),
    KILN_MEMBER_POSITIVE(
        peak_share, "derived: of the machine's peak with as many threads; 1: all of "
                    "it"),
    KILN_MEMBER(session_bytes, "what the runtime allocated"),
    KILN_MEMBER_NUMBERS("samples_ms", sample_ms, "in the order they were taken"),
    KILN_MEMBER_NUMBERS("disturbed_at", disturbed_at,
                        "places among them, from 0, of those that were disturbed"),
};
KILN_RECORD(kiln_results_latency_table, latency_rows, "Latency")
#undef T

#define T kiln_results_baseline
static const kiln_record_field baseline_rows[] = {
    KILN_MEMBER(name, "of the library"),
    KILN_MEMBER(version, "null: absent, or nobody could tell"),
    KILN_MEMBER_WORD(
        state, kiln_results_states,
        "`absent`: not installed, or it reads neither the model's file nor an "
        "exported one; "
        "`failed`: here, and it refused, crashed or did not end; `wrong`: its outputs "
        "are not the reference's; `emulated`: they are, and as an emulator ran it "
        "nothing was timed; `measured`"),
    KILN_MEMBER(problem, "why it was not measured"),
    KILN_MEMBER(implementation, "what the library chose for the operator, in its words "
                                "(`brgconv:avx512_core`); null: it does not say"),
    KILN_MEMBER(file, "name of the model's file that it was given: the very one that "
                      "kiln was given, or `NAME.onnx, exported`; null: it was given "
                      "none, or of an operator"),
    KILN_MEMBER_POSITIVE(median_ms, "as kiln's own, from the same rounds"),
    KILN_MEMBER_POSITIVE(q1_ms, "first quartile"),
    KILN_MEMBER_POSITIVE(q3_ms, "third quartile"),
    KILN_MEMBER_POSITIVE(min_ms, "fastest sample"),
    KILN_MEMBER_AS("runs_of_a_sample", runs, "as kiln's own"),
    KILN_MEMBER(n_disturbed, "samples, while somebody else had a processor"),
    KILN_MEMBER_OBJECT(
        "ratio", ratio, kiln_results_ratio_table,
        "quotient of the medians, kiln / baseline: below 1 where kiln is faster; of "
        "undisturbed samples where both sides have seven, else of all"),
    KILN_MEMBER(max_abs_error, "of its outputs against the reference"),
    KILN_MEMBER(rms_error, "the same, root of the mean square; null: of an operator"),
    KILN_MEMBER(error_of_bound, "of an operator's output: 1 is as far off as the bound "
                                "that holds for kiln's allows; null: of a network"),
    KILN_MEMBER_NUMBERS("samples_ms", sample_ms,
                        "from the same rounds as kiln's own; a baseline that failed on "
                        "the way keeps those it had"),
    KILN_MEMBER_NUMBERS("disturbed_at", disturbed_at,
                        "places among them, from 0, of those that were disturbed"),
};
KILN_RECORD(kiln_results_baseline_table, baseline_rows, "A baseline")
#undef T

#define T kiln_results_step
static const kiln_record_field step_rows[] = {
    KILN_MEMBER(name, "of the step"),
    KILN_MEMBER(op, "the operator"),
    KILN_MEMBER_AS("template", tmpl, "of the kernel; null: a copy"),
    KILN_MEMBER(origin, "where its configuration is from; null: a copy"),
    KILN_MEMBER(epilogue, "operators fused behind it; empty: none"),
    KILN_MEMBER(layout_in, "of its first input"),
    KILN_MEMBER(layout_out, "of its output"),
    KILN_MEMBER(multiply_adds, "of one run"),
    KILN_MEMBER(flops, "of one run, element-wise operations too"),
    KILN_MEMBER(bytes, "that it must read and write, once"),
    KILN_MEMBER_POSITIVE(median_ms, "of one run"),
    KILN_MEMBER_POSITIVE(gflops, "at the median"),
    KILN_MEMBER_POSITIVE(peak_share,
                         "derived: of the machine's peak with as many threads"),
    KILN_MEMBER_POSITIVE(time_share, "derived: of `steps_ms`"),
    KILN_MEMBER_POSITIVE(intensity, "derived: `flops` / `bytes`"),
    KILN_MEMBER_POSITIVE(gbs, "derived: GB/s, `bytes` in `median_ms`"),
};
KILN_RECORD(kiln_results_step_table, step_rows, "A step")
#undef T

#define T kiln_results_memory
static const kiln_record_field memory_rows[] = {
    KILN_MEMBER_AS("activation_bytes", activation, "as planned"),
    KILN_MEMBER_AS("lower_bound_bytes", lower_bound, "that any plan needs"),
    KILN_MEMBER_AS("parameter_bytes", parameter, "weights"),
    KILN_MEMBER_AS("workspace_bytes", workspace, "of one kernel at most"),
    KILN_MEMBER_AS("scratch_bytes", scratch, "of each thread"),
    KILN_MEMBER_AS("packed_bytes", packed,
                   "of the model: parameters that are packed when it is opened "
                   "(`kiln build --pack open`), beside `parameter_bytes`"),
    KILN_MEMBER_POSITIVE(over_lower_bound,
                         "derived: `activation_bytes` / `lower_bound_bytes`"),
};
KILN_RECORD(kiln_results_memory_table, memory_rows, "Memory")
#undef T

#define T kiln_results_coverage
static const kiln_record_field coverage_rows[] = {
    KILN_MEMBER(origin,
                "`tuned`, `timed`, `transferred`, `predicted`, `file`, `default`, "
                "`generic`"),
    KILN_MEMBER(steps, "whose configuration came from there"),
    KILN_MEMBER(multiply_adds, "of these steps"),
    KILN_MEMBER(ms, "sum of their medians"),
    KILN_MEMBER(time_share, "derived: of all rows"),
    KILN_MEMBER(multiply_add_share, "derived: of all rows"),
};
KILN_RECORD(kiln_results_coverage_table, coverage_rows, "A row of the coverage ledger")
#undef T

#define T kiln_results_count
static const kiln_record_field count_rows[] = {
    KILN_MEMBER(name, "what is counted"),
    KILN_MEMBER(n, "how many"),
};
KILN_RECORD(kiln_results_count_table, count_rows, "A count")
#undef T

#define T kiln_results_point
static const kiln_record_field point_rows[] = {
    KILN_MEMBER(trial, "how many had come in"),
    KILN_MEMBER_POSITIVE(ns, "sum of calls times best by then"),
};
KILN_RECORD_STATIC(point, point_rows, "A point of the tuning curve")
#undef T

#define T kiln_results_work
static const kiln_record_field work_rows[] = {
    KILN_MEMBER(name, "of the workload"),
    KILN_MEMBER_AS("template", tmpl, "that it was tuned with"),
    KILN_MEMBER(workload, "the database's key"),
    KILN_MEMBER_POSITIVE(configurations, "of the space that was searched"),
    KILN_MEMBER(best, "the best configuration, as JSON in a text"),
    KILN_MEMBER_POSITIVE(calls, "in one run of the network"),
    KILN_MEMBER_POSITIVE(start_ns, "of one call, before"),
    KILN_MEMBER_POSITIVE(best_ns, "of one call, after"),
    KILN_MEMBER_POSITIVE(best_share, "of the machine's peak, after"),
    KILN_MEMBER_POSITIVE(speedup, "derived: `start_ns` / `best_ns`"),
    KILN_MEMBER(known_trials, "that the database had"),
    KILN_MEMBER(new_trials, "of this session"),
    KILN_MEMBER_AS("starts_from_ready", is_from_ready,
                   "`start_ns` is a ready record's time"),
};
KILN_RECORD_STATIC(work, work_rows, "A tuned workload")
#undef T

#define T kiln_results_reached
static const kiln_record_field reached_rows[] = {
    KILN_MEMBER_POSITIVE(share, "of the best that is known now"),
    KILN_MEMBER_POSITIVE(trials, "of a search until it was there; geometric mean"),
};
KILN_RECORD_STATIC(reached, reached_rows, "How soon near the best")
#undef T

#define T kiln_results_look
static const kiln_record_field look_rows[] = {
    KILN_MEMBER(trials, "of a search"),
    KILN_MEMBER_POSITIVE(share,
                         "of the best that is known now, by then; geometric mean"),
};
KILN_RECORD_STATIC(look, look_rows, "How near after so many trials")
#undef T

#define T kiln_results_card
static const kiln_record_field card_rows[] = {
    KILN_MEMBER(searches, "that it is of: those with 8 trials or more on record"),
    KILN_MEMBER(taught, "of them began with a model of other work"),
    KILN_MEMBER_LIST("trials_to", reached, reached, "how soon near the best"),
    KILN_MEMBER_LIST("after", look, look, "how near after so many trials"),
    KILN_MEMBER_POSITIVE(taught_trials,
                         "to 95% of the best, of searches that were taught"),
    KILN_MEMBER_POSITIVE(alone_trials, "the same, of the others"),
    KILN_MEMBER(accuracy, "of trials that a model of these searches had not seen: "
                          "the part of all pairs that it has in order"),
    KILN_MEMBER(recall, "of the best fifth of these: the part that is in its own"),
    KILN_MEMBER(build_s, "seconds of building, of all workers"),
    KILN_MEMBER(run_s, "seconds of proving and timing, of all workers"),
    KILN_MEMBER(model_s, "seconds of fitting the model of all work"),
    KILN_MEMBER(search_s, "seconds of proposing, fitting each search's own model too"),
    KILN_MEMBER(think_cpu_s, "of both, seconds of the processor"),
    KILN_MEMBER_POSITIVE(now_ns, "sum of calls times best"),
    KILN_MEMBER_POSITIVE(later_ns, "the same after `later_s` more, at this rate: "
                                   "extrapolated, as the scheduler expects it"),
    KILN_MEMBER_POSITIVE(later_s, "seconds"),
};
KILN_RECORD_STATIC(card, card_rows, "The report card")
#undef T

#define T kiln_results_tuning
static const kiln_record_field tuning_rows[] = {
    KILN_MEMBER(new_trials, "of this session"),
    KILN_MEMBER(seconds, "that it took"),
    KILN_MEMBER_POSITIVE(start_ns, "sum of calls times time of one call, before"),
    KILN_MEMBER_POSITIVE(best_ns, "the same, after"),
    KILN_MEMBER_POSITIVE(speedup, "derived: `start_ns` / `best_ns`"),
    KILN_MEMBER(end, "why it ended"),
    KILN_MEMBER_LIST("by_error", by_error, kiln_results_count_table,
                     "trials that gave no time, by reason"),
    KILN_MEMBER_LIST("work", work, work, "the workloads"),
    KILN_MEMBER_LIST("curve", curve, point,
                     "best so far; each point is an improvement"),
    KILN_MEMBER_OPTIONAL("card", card, card,
                         "how well the searches did ([tuning.md](tuning.md)); "
                         "null: they had too few trials"),
};
KILN_RECORD(kiln_results_tuning_table, tuning_rows, "Tuning")
#undef T

#define T kiln_results_archive
static const kiln_record_field archive_rows[] = {
    KILN_MEMBER(path, "the file"),
    KILN_MEMBER(sha256, "its hash"),
    KILN_MEMBER(bytes, "its size"),
};
KILN_RECORD(kiln_results_archive_table, archive_rows, "An archive")
#undef T

#define T kiln_results_moved
static const kiln_record_field moved_rows[] = {
    KILN_MEMBER(name, "of the step"),
    KILN_MEMBER(op, "the operator"),
    KILN_MEMBER_AS("template", tmpl, "of the candidate's kernel"),
    KILN_MEMBER(origin, "of its configuration"),
    KILN_MEMBER(candidate_ms, "null: it has no such step"),
    KILN_MEMBER(control_ms, "the same"),
    KILN_MEMBER(difference_ms,
                "candidate - control, centre of the pairs'; above 0: slower"),
};
KILN_RECORD_STATIC(moved, moved_rows, "A step that moved")
#undef T

#define T kiln_results_pair
static const kiln_record_field pair_rows[] = {
    KILN_MEMBER(series, "0; 1: of the confirmation"),
    KILN_MEMBER_POSITIVE(candidate_ms, "of one run: the faster of two processes"),
    KILN_MEMBER_POSITIVE(control_ms, "of the accepted archive, the same"),
};
KILN_RECORD_STATIC(pair, pair_rows, "A pair of the gate")
#undef T

#define T kiln_results_gate
static const kiln_record_field gate_rows[] = {
    KILN_MEMBER_WORD(verdict, kiln_results_verdicts,
                     "`pass`, `fail`, `inconclusive`, `invalid`; `wrong`: its "
                     "outputs are; `equal`: the same "
                     "code, nothing "
                     "to time; `new`: nothing was accepted"),
    KILN_MEMBER(reason, "one sentence"),
    KILN_MEMBER(pairs, "of processes that were timed"),
    KILN_MEMBER_OBJECT("slowdown", slowdown, kiln_results_interval_table,
                       "candidate / control - 1"),
    KILN_MEMBER(p, "of the signed-rank test against a slowdown of at most the limit"),
    KILN_MEMBER(detectable, "slowdown that so many pairs would have found"),
    KILN_MEMBER_LIST("timed", timed, pair, "the pairs, in the order they were taken"),
    KILN_MEMBER(accepted_sha256, "of the archive it was compared with"),
    KILN_MEMBER(accepted_commit, "of the kiln that built that archive"),
    KILN_MEMBER(frozen_sha256,
                "of the archive that stays what it is, which every night is "
                "held against; null: there is none, or nobody asked"),
    KILN_MEMBER_OBJECT(
        "frozen", frozen, kiln_results_ratio_table,
        "candidate / that archive; 1 exactly: the same code; null: not known"),
    KILN_MEMBER(frozen_problem, "why it is not known"),
    KILN_MEMBER_TEXTS("changes", change, "of structure, a sentence each"),
    KILN_MEMBER_LIST("moved", moved, moved,
                     "steps whose time changed by more than their noise, largest "
                     "slowdown first"),
    KILN_MEMBER(moved_says, "what all steps say of it; null: they were not timed"),
    KILN_MEMBER(command, "that repeats it, for a shell"),
};
KILN_RECORD(kiln_results_gate_table, gate_rows, "A gate's verdict")
#undef T

#define T kiln_results_op
static const kiln_record_field op_rows[] = {
    KILN_MEMBER(name, "of the operator's line"),
    KILN_MEMBER(line, "as in the operators' file"),
    KILN_MEMBER_AS("template", tmpl, "of its kernel"),
    KILN_MEMBER(
        origin,
        "of its configuration: `tuned`, `timed`, `transferred`, `predicted`; `table`: "
        "ships with kiln; `guess`: the template's own rule"),
    KILN_MEMBER(multiply_adds, "of one run"),
    KILN_MEMBER_POSITIVE(median_ms, "of one run"),
    KILN_MEMBER_POSITIVE(q1_ms, "first quartile"),
    KILN_MEMBER_POSITIVE(q3_ms, "third quartile"),
    KILN_MEMBER_POSITIVE(min_ms, "the least"),
    KILN_MEMBER_POSITIVE(gflops, "at the median"),
    KILN_MEMBER_POSITIVE(peak_share,
                         "derived: of the machine's peak with as many threads"),
    KILN_MEMBER_LIST("baselines", baseline, kiln_results_baseline_table, "beside it"),
};
KILN_RECORD(kiln_results_op_table, op_rows, "An operator")
#undef T
