/* The members of results.json: see results_fields.h. The kind of a plain member follows
 * from its C type, so a row cannot state a wrong one. */
#include "reports/results_fields.h"

#include <string.h>

static const char *const states[] = {"done", "failed", "timed out", "skipped"};
enum { N_STATES = sizeof states / sizeof states[0] };
_Static_assert(N_STATES == KILN_STAGE_SKIPPED + 1, "each state has a name");

const char *kiln_stage_state_name(kiln_stage_state s) { return states[s]; }

bool kiln_stage_state_of(const char *name, kiln_stage_state *out) {
    for (int i = 0; i < N_STATES; i++) {
        if (strcmp(name, states[i]) == 0) {
            *out = (kiln_stage_state)i;
            return true;
        }
    }
    return false;
}

kiln_results_list kiln_results_list_at(const void *p) {
    kiln_results_list list;
    memcpy(&list, p, sizeof list);
    return list;
}

static const char *const job_status[] = {"ok",     "regressed",   "unjudged",
                                         "failed", "interrupted", NULL};
static const char *const rival_state[] = {"absent", "failed", "wrong", "measured",
                                          NULL};
static const char *const verdict[] = {
    "pass", "fail", "inconclusive", "invalid", "equal", "new", NULL};
static const char *const trend[] = {"stable", "step", "drift", "faster", NULL};

#define KIND(m)                                                                        \
    _Generic(((T *)0)->m,                                                              \
        const char *: KILN_FIELD_TEXT,                                                 \
        kiln_stage_state: KILN_FIELD_STATE,                                            \
        int64_t: KILN_FIELD_I64,                                                       \
        size_t: KILN_FIELD_SIZE,                                                       \
        int: KILN_FIELD_INT,                                                           \
        bool: KILN_FIELD_BOOL,                                                         \
        double: KILN_FIELD_F64)
/* The kind `k`, for a member that has type t. */
#define ONLY(m, t, k) _Generic(((T *)0)->m, t : (k))

#define ROW(name, m, kind_, doc_, ...)                                                 \
    { (name), (kind_), offsetof(T, m), (doc_), __VA_ARGS__ }
#define PLAIN(name, m, doc_) ROW(name, m, KIND(m), doc_, .of = NULL)
#define SAME(m, doc_) PLAIN(#m, m, doc_)
#define POSITIVE(m, doc_)                                                              \
    ROW(#m, m, ONLY(m, double, KILN_FIELD_POSITIVE), doc_, .of = NULL)
#define WORD(m, words, doc_)                                                           \
    ROW(#m, m, ONLY(m, const char *, KILN_FIELD_WORD), doc_, .word = (words))
#define OBJECT(name, m, table, doc_)                                                   \
    ROW(name, m, KILN_FIELD_OBJECT, doc_, .of = &(table))
#define OPTIONAL(name, m, table, doc_)                                                 \
    ROW(name, m, KILN_FIELD_OBJECT, doc_, .of = &(table),                              \
        .has_offset = offsetof(T, has_##m))
#define LIST(name, m, table, doc_) ROW(name, m, KILN_FIELD_LIST, doc_, .of = &(table))
#define TABLE(name, rows, title_)                                                      \
    static const kiln_results_table name = {                                           \
        (title_), (rows), sizeof(rows) / sizeof((rows)[0]), sizeof(T)}

#define T kiln_results_peak
static const kiln_results_field peak_rows[] = {
    SAME(threads, "number of threads"),
    POSITIVE(gflops, "the larger of what multiply-adds reached between the runs and "
                     "what the clock allows; median"),
    POSITIVE(clock_ghz, "clock, median"),
};
TABLE(peak, peak_rows, "A peak");
#undef T

#define T kiln_results_machine
static const kiln_results_field machine_rows[] = {
    SAME(cpu, "name of the processor"),
    SAME(os, "operating system"),
    SAME(cores, "that the process may use"),
    SAME(memory_bytes, "main memory"),
    POSITIVE(bandwidth_gbs, "GB/s of copying with all cores"),
    LIST("peaks", peak, peak, "for each number of threads"),
};
TABLE(machine, machine_rows, "The machine");
#undef T

#define T kiln_results_stage
static const kiln_results_field stage_rows[] = {
    SAME(name, "`fetch`, `tune`, `build`, `verify`, `bench`, `gate`"),
    SAME(state, "`done`; `failed`; `timed out`: ended at its limit; `skipped`: what it "
                "needs failed, or nobody asked for it"),
    SAME(seconds, "that it took"),
    SAME(exit_code, "of its process"),
    SAME(message, "the last error"),
    SAME(command, "that repeats it, for a shell"),
    SAME(is_reused, "finished by an earlier process of this run"),
};
TABLE(stage, stage_rows, "A stage");
#undef T

#define T kiln_stats_interval
static const kiln_results_field ratio_rows[] = {
    POSITIVE(estimate, "the value"),
    POSITIVE(low, "lower end of the 95% interval"),
    POSITIVE(high, "upper end"),
};
TABLE(ratio, ratio_rows, "A ratio");
static const kiln_results_field interval_rows[] = {
    SAME(estimate, "the value; null where nothing was timed"),
    SAME(low, "lower end; null where there is no bound"),
    SAME(high, "upper end; the same"),
};
TABLE(interval, interval_rows, "An interval");
#undef T

#define T kiln_results_latency
static const kiln_results_field latency_rows[] = {
    POSITIVE(median_ms, "of undisturbed samples; of all, where fewer than seven were "
                        "undisturbed"),
    POSITIVE(q1_ms, "first quartile"),
    POSITIVE(q3_ms, "third quartile"),
    POSITIVE(min_ms, "fastest sample"),
    SAME(n_samples, "how many there are"),
    SAME(n_disturbed, "of them, while somebody else had a processor"),
    POSITIVE(gflops, "at the median; two operations for each multiply-add"),
    POSITIVE(peak_share,
             "derived: of the machine's peak with as many threads; 1: all of "
             "it"),
    SAME(session_bytes, "what the runtime allocated"),
    ROW("samples_ms", sample_ms, KILN_FIELD_NUMBERS, "in the order they were taken",
        .of = NULL),
};
TABLE(latency, latency_rows, "Latency");
#undef T

#define T kiln_results_baseline
static const kiln_results_field baseline_rows[] = {
    SAME(name, "of the library"),
    SAME(version, "null: absent, or nobody could tell"),
    WORD(state, rival_state,
         "`absent`: not installed; `failed`: here, and it refused, crashed or did not "
         "end; `wrong`: its outputs are not the reference's; `measured`"),
    SAME(problem, "why it was not measured"),
    SAME(implementation, "what the library chose for the operator, in its words "
                         "(`brgconv:avx512_core`); null: it does not say"),
    POSITIVE(median_ms, "as kiln's own, from the same rounds"),
    POSITIVE(q1_ms, "first quartile"),
    POSITIVE(q3_ms, "third quartile"),
    POSITIVE(min_ms, "fastest sample"),
    OBJECT("ratio", ratio, ratio, "kiln / baseline: below 1 where kiln is faster"),
    SAME(max_abs_error, "of its outputs against the reference"),
};
TABLE(baseline, baseline_rows, "A baseline");
#undef T

#define T kiln_results_versus
static const kiln_results_field versus_rows[] = {
    SAME(name, "of the baseline"),
    SAME(measured, "jobs, or operators, that both were measured in"),
    SAME(faster, "of them, where the ratio's whole interval is below 1"),
    SAME(slower, "where it is above 1"),
    SAME(left_out, "jobs that both were measured in, but disturbed: most of kiln's "
                   "samples were taken while somebody else had a processor"),
    OBJECT("ratio", ratio, ratio, "geometric mean of the ratios kiln / baseline"),
};
TABLE(versus, versus_rows, "A baseline over all");
#undef T

#define T kiln_results_step
static const kiln_results_field step_rows[] = {
    SAME(name, "of the step"),
    SAME(op, "the operator"),
    PLAIN("template", tmpl, "of the kernel; null: a copy"),
    SAME(origin, "where its configuration is from; null: a copy"),
    SAME(epilogue, "operators fused behind it; empty: none"),
    SAME(layout_in, "of its first input"),
    SAME(layout_out, "of its output"),
    SAME(multiply_adds, "of one run"),
    SAME(flops, "of one run, element-wise operations too"),
    SAME(bytes, "that it must read and write, once"),
    POSITIVE(median_ms, "of one run"),
    POSITIVE(gflops, "at the median"),
    POSITIVE(peak_share, "derived: of the machine's peak with as many threads"),
    POSITIVE(time_share, "derived: of `steps_ms`"),
    POSITIVE(intensity, "derived: `flops` / `bytes`"),
};
TABLE(step, step_rows, "A step");
static const kiln_results_field moved_rows[] = {
    SAME(name, "of the step"),
    SAME(op, "the operator"),
    PLAIN("template", tmpl, "of the candidate's kernel"),
    SAME(origin, "of its configuration"),
    PLAIN("difference_ms", median_ms, "candidate - control; above 0: slower"),
};
TABLE(moved, moved_rows, "A step that moved");
#undef T

#define T kiln_results_memory
static const kiln_results_field memory_rows[] = {
    PLAIN("activation_bytes", activation, "as planned"),
    PLAIN("lower_bound_bytes", lower_bound, "that any plan needs"),
    PLAIN("parameter_bytes", parameter, "weights"),
    PLAIN("workspace_bytes", workspace, "of one kernel at most"),
    PLAIN("scratch_bytes", scratch, "of each thread"),
    POSITIVE(over_lower_bound, "derived: `activation_bytes` / `lower_bound_bytes`"),
};
TABLE(memory, memory_rows, "Memory");
#undef T

#define T kiln_results_coverage
static const kiln_results_field coverage_rows[] = {
    SAME(origin, "`tuned`, `timed`, `transferred`, `predicted`, `file`, `default`, "
                 "`generic`"),
    SAME(steps, "whose configuration came from there"),
    SAME(multiply_adds, "of these steps"),
    SAME(ms, "sum of their medians"),
    SAME(time_share, "derived: of all rows"),
    SAME(multiply_add_share, "derived: of all rows"),
};
TABLE(coverage, coverage_rows, "A row of the coverage ledger");
#undef T

#define T kiln_results_count
static const kiln_results_field count_rows[] = {
    SAME(name, "what is counted"),
    SAME(n, "how many"),
};
TABLE(count, count_rows, "A count");
#undef T

#define T kiln_results_point
static const kiln_results_field point_rows[] = {
    SAME(trial, "how many had come in"),
    POSITIVE(ns, "sum of calls times best by then"),
};
TABLE(point, point_rows, "A point of the tuning curve");
#undef T

#define T kiln_results_work
static const kiln_results_field work_rows[] = {
    SAME(name, "of the workload"),
    PLAIN("template", tmpl, "that it was tuned with"),
    SAME(best, "the best configuration, as JSON in a text"),
    POSITIVE(calls, "in one run of the network"),
    POSITIVE(start_ns, "of one call, before"),
    POSITIVE(best_ns, "of one call, after"),
    POSITIVE(best_share, "of the machine's peak, after"),
    POSITIVE(speedup, "derived: `start_ns` / `best_ns`"),
    SAME(known_trials, "that the database had"),
    SAME(new_trials, "of this session"),
};
TABLE(work, work_rows, "A tuned workload");
#undef T

#define T kiln_results_tuning
static const kiln_results_field tuning_rows[] = {
    SAME(new_trials, "of this session"),
    SAME(seconds, "that it took"),
    POSITIVE(start_ns, "sum of calls times time of one call, before"),
    POSITIVE(best_ns, "the same, after"),
    POSITIVE(speedup, "derived: `start_ns` / `best_ns`"),
    SAME(end, "why it ended"),
    LIST("by_error", by_error, count, "trials that gave no time, by reason"),
    LIST("work", work, work, "the workloads"),
    LIST("curve", curve, point, "best so far; each point is an improvement"),
};
TABLE(tuning, tuning_rows, "Tuning");
#undef T

#define T kiln_results_archive
static const kiln_results_field archive_rows[] = {
    SAME(path, "the file"),
    SAME(sha256, "its hash"),
    SAME(bytes, "its size"),
};
TABLE(archive, archive_rows, "An archive");
#undef T

#define T kiln_results_gate
static const kiln_results_field gate_rows[] = {
    WORD(verdict, verdict,
         "`pass`, `fail`, `inconclusive`, `invalid`; `equal`: the same code, nothing "
         "to time; `new`: nothing was accepted"),
    SAME(reason, "one sentence"),
    SAME(pairs, "of processes that were timed"),
    OBJECT("slowdown", slowdown, interval, "candidate / control - 1"),
    SAME(p, "of the signed-rank test against a slowdown of at most 1%"),
    SAME(detectable, "slowdown that so many pairs would have found"),
    SAME(accepted_sha256, "of the archive it was compared with"),
    SAME(accepted_commit, "of the kiln that built that archive"),
    SAME(frozen_sha256, "of the archive that stays what it is, which every night is "
                        "held against; null: there is none, or nobody asked"),
    OBJECT("frozen", frozen, ratio,
           "candidate / that archive; 1 exactly: the same code; null: not known"),
    SAME(frozen_problem, "why it is not known"),
    ROW("changes", change, KILN_FIELD_TEXTS, "of structure, a sentence each",
        .of = NULL),
    LIST("moved", moved, moved, "steps whose time changed"),
    SAME(moved_says, "what all steps say of it; null: they were not timed"),
    SAME(command, "that repeats it, for a shell"),
};
TABLE(gate, gate_rows, "A gate's verdict");
#undef T

#define T kiln_results_night
static const kiln_results_field night_rows[] = {
    SAME(run, "name of the run"),
    SAME(started, "ISO 8601, UTC"),
    OBJECT("ratio", ratio, ratio,
           "time / time of the frozen archive; null: not known that night"),
    WORD(verdict, verdict, "the gate's; null: none"),
    WORD(trend, trend,
         "what was said of it: `stable`; `step`, `drift`: slower at once, little by "
         "little; `faster`; null: it has no ratio"),
    SAME(is_change, "seen from today, nights differ from here on (E-divisive)"),
    SAME(is_accepted, "the accepted archive is another than the night before"),
    SAME(is_commit, "kiln is another than the night before"),
};
TABLE(night, night_rows, "A night of a job");
#undef T

#define T kiln_results_history
static const kiln_results_field history_rows[] = {
    WORD(trend, trend, "of tonight, as a night's; null: it has no ratio"),
    SAME(reason, "one sentence"),
    SAME(change, "of the ratio, that was found tonight; null: nothing was"),
    SAME(findable, "the least step of the ratio that would have been found tonight"),
    SAME(alarms, "steps and drifts among these nights"),
    OBJECT("ratio", ratio, ratio, "tonight's, to the frozen archive"),
    LIST("nights", night, night, "oldest first, the last is tonight; at most 60"),
};
TABLE(history, history_rows, "The history of a job");
#undef T

#define T kiln_results_past
static const kiln_results_field past_rows[] = {
    SAME(nights, "that the history has of this pipeline, tonight too"),
    SAME(before, "the run before; null: this is the first"),
    WORD(trend, trend, "the worst of the jobs'; null: none has one"),
    SAME(problem, "why tonight is not in the history; null: it is"),
    SAME(note, "that the clock was set back"),
    ROW("since", since, KILN_FIELD_TEXTS,
        "what changed since the run before, a "
        "sentence each",
        .of = NULL),
};
TABLE(past, past_rows, "The nights before");
#undef T

#define T kiln_results_job
static const kiln_results_field job_rows[] = {
    SAME(model, "its name"),
    SAME(profile, "that code was made for"),
    SAME(threads, "number of threads"),
    WORD(status, job_status,
         "`ok`; `failed`: a stage did; `regressed`: its gate's verdict is `fail`; "
         "`unjudged`: it is `invalid`; `interrupted`"),
    LIST("stages", stage, stage, "in the order they ran"),
    OPTIONAL("latency", latency, latency, "null: not measured"),
    LIST("baselines", baseline, baseline, "beside it"),
    LIST("steps", step, step, "of the network, in the order they run"),
    SAME(steps_ms, "derived: sum of the steps' medians"),
    POSITIVE(steps_run_ms,
             "of a whole run with a clock read at each step, median: where "
             "the steps' times are from"),
    OBJECT("memory", memory, memory, "of a session"),
    LIST("coverage", coverage, coverage,
         "time and work by where configurations come "
         "from"),
    OPTIONAL("tuning", tuning, tuning, "null: not tuned"),
    OPTIONAL("archive", archive, archive, "null: not built"),
    OPTIONAL("gate", gate, gate, "null: not compared"),
    SAME(max_abs_error, "of the outputs against the reference"),
    SAME(rms_error, "the same, root of the mean square"),
    OPTIONAL("history", history, history, "null: there is none"),
};
TABLE(job, job_rows, "A job: model, profile, number of threads");
#undef T

#define T kiln_results_op
static const kiln_results_field op_rows[] = {
    SAME(name, "of the operator's line"),
    SAME(line, "as in the operators' file"),
    PLAIN("template", tmpl, "of its kernel"),
    SAME(origin,
         "of its configuration: `tuned`, `timed`, `transferred`, `predicted`; `table`: "
         "ships with kiln; `guess`: the template's own rule"),
    SAME(multiply_adds, "of one run"),
    POSITIVE(median_ms, "of one run"),
    POSITIVE(gflops, "at the median"),
    POSITIVE(peak_share, "derived: of the machine's peak with as many threads"),
    LIST("baselines", baseline, baseline, "beside it"),
};
TABLE(op, op_rows, "An operator");
#undef T

#define T kiln_results_ops
static const kiln_results_field ops_rows[] = {
    SAME(set, "name of the list"),
    SAME(profile, "that code was made for"),
    SAME(threads, "number of threads"),
    WORD(status, job_status, "as a job's"),
    LIST("stages", stage, stage, "in the order they ran"),
    LIST("rows", row, op, "the operators"),
    OPTIONAL("tuning", tuning, tuning, "null: not tuned"),
    LIST("versus", versus, versus, "derived: each baseline over all operators"),
};
TABLE(ops, ops_rows, "A list of operators");
#undef T

#define T kiln_results
static const kiln_results_field root_rows[] = {
    SAME(name, "of the pipeline"),
    SAME(run, "of this run"),
    SAME(kiln, "its version"),
    SAME(commit, "of its sources; `-modified` behind: they differed from it"),
    SAME(build, "compiler and flags that built it"),
    SAME(started, "ISO 8601, UTC"),
    SAME(seconds, "that the run took"),
    WORD(status, job_status,
         "`ok`; `failed`: a stage did; `regressed`: a verdict is `fail`; `unjudged`: "
         "one "
         "is `invalid`; `interrupted`"),
    SAME(failure, "of the whole: nothing was measured, nothing was tuned; null: none"),
    SAME(command, "that makes this run again"),
    WORD(verdict, verdict, "the worst of the jobs' verdicts; null: no gate"),
    LIST("by_verdict", by_verdict, count, "jobs by verdict"),
    LIST("by_status", by_status, count, "derived: jobs by status"),
    OBJECT("geomean_slowdown", geomean_slowdown, interval,
           "of jobs that the gate timed: candidate / control - 1"),
    LIST("versus", versus, versus, "derived: each baseline over all jobs"),
    OBJECT("machine", machine, machine, "where it was measured"),
    ROW("jobs", job, KILN_FIELD_LIST, "in the order of the pipeline's file", .of = &job,
        .most = KILN_RESULTS_MAX_JOBS),
    ROW("ops", ops, KILN_FIELD_LIST, "lists of operators", .of = &ops,
        .most = KILN_RESULTS_MAX_JOBS),
    OPTIONAL("history", past, past, "null: there is none"),
};
#undef T

const kiln_results_table kiln_results_root = {"The document", root_rows,
                                              sizeof root_rows / sizeof root_rows[0],
                                              sizeof(kiln_results)};

const kiln_results_table *const kiln_results_tables[] = {
    &kiln_results_root,
    &machine,
    &peak,
    &job,
    &stage,
    &latency,
    &baseline,
    &ratio,
    &step,
    &memory,
    &coverage,
    &tuning,
    &work,
    &point,
    &count,
    &archive,
    &gate,
    &moved,
    &interval,
    &history,
    &night,
    &past,
    &ops,
    &op,
    &versus,
};
const size_t kiln_results_n_tables =
    sizeof kiln_results_tables / sizeof kiln_results_tables[0];
