/* results.json, as a table (docs/results-json.md): written, read and documented by it.
 */
#include "reports/results/reports_fields.h"

static const char *const states[] = {"done", "failed", "timed out", "skipped", NULL};
_Static_assert(sizeof states / sizeof states[0] == KILN_STAGE_SKIPPED + 2,
               "each state has a name");

const char *kiln_stage_state_name(kiln_stage_state s) {
    KILN_ASSERT((size_t)s < sizeof states / sizeof states[0], "no state %d of a stage",
                (int)s);
    return states[s];
}

static const char *const job_status[] = {"ok",     "regressed",   "unjudged",
                                         "failed", "interrupted", NULL};
static const char *const trend[] = {"stable", "step", "drift", "faster", NULL};

#define T kiln_results_stage
static const kiln_record_field stage_rows[] = {
    KILN_MEMBER(name, "`fetch`, `tune`, `build`, `verify`, `bench`, `gate`"),
    KILN_MEMBER_ENUM(
        state, kiln_stage_state, states,
        "`done`; `failed`; `timed out`: ended at its limit; `skipped`: what it "
        "needs failed, or nobody asked for it"),
    KILN_MEMBER(seconds, "that it took"),
    KILN_MEMBER(exit_code, "of its process"),
    KILN_MEMBER(message, "the last error"),
    KILN_MEMBER(command, "that repeats it, for a shell"),
    KILN_MEMBER(is_reused, "finished by an earlier process of this run"),
};
KILN_RECORD_STATIC(stage, stage_rows, "A stage")
#undef T

#define T kiln_results_versus
static const kiln_record_field versus_rows[] = {
    KILN_MEMBER(name, "of the baseline"),
    KILN_MEMBER(measured, "jobs, or operators, that both were measured in"),
    KILN_MEMBER(faster, "of them, where the ratio's whole interval is below 1"),
    KILN_MEMBER(slower, "where it is above 1"),
    KILN_MEMBER(left_out,
                "jobs that both were measured in, but disturbed: most of kiln's "
                "samples were taken while somebody else had a processor"),
    KILN_MEMBER_OBJECT("ratio", ratio, kiln_results_ratio_table,
                       "geometric mean of the ratios kiln / baseline"),
};
KILN_RECORD_STATIC(versus, versus_rows, "A baseline over all")
#undef T

#define T kiln_results_night
static const kiln_record_field night_rows[] = {
    KILN_MEMBER(run, "name of the run"),
    KILN_MEMBER(started, "ISO 8601, UTC"),
    KILN_MEMBER_OBJECT("ratio", ratio, kiln_results_ratio_table,
                       "time / time of the frozen archive; null: not known that night"),
    KILN_MEMBER_WORD(verdict, kiln_results_verdicts, "the gate's; null: none"),
    KILN_MEMBER_WORD(
        trend, trend,
        "what was said of it: `stable`; `step`, `drift`: slower at once, little by "
        "little; `faster`; null: it has no ratio"),
    KILN_MEMBER(is_change, "seen from today, nights differ from here on (E-divisive)"),
    KILN_MEMBER(is_accepted, "the accepted archive is another than the night before"),
    KILN_MEMBER(is_commit, "kiln is another than the night before"),
};
KILN_RECORD_STATIC(night, night_rows, "A night of a job")
#undef T

#define T kiln_results_history
static const kiln_record_field history_rows[] = {
    KILN_MEMBER_WORD(trend, trend, "of tonight, as a night's; null: it has no ratio"),
    KILN_MEMBER(reason, "one sentence"),
    KILN_MEMBER(change, "of the ratio, that was found tonight; null: nothing was"),
    KILN_MEMBER(findable,
                "the least step of the ratio that would have been found tonight"),
    KILN_MEMBER(alarms, "steps and drifts among these nights"),
    KILN_MEMBER_OBJECT("ratio", ratio, kiln_results_ratio_table,
                       "tonight's, to the frozen archive"),
    KILN_MEMBER_LIST("nights", night, night,
                     "oldest first, the last is tonight; at most 60"),
};
KILN_RECORD_STATIC(history, history_rows, "The history of a job")
#undef T

#define T kiln_results_past
static const kiln_record_field past_rows[] = {
    KILN_MEMBER(nights, "that the history has of this pipeline, tonight too"),
    KILN_MEMBER(before, "the run before; null: this is the first"),
    KILN_MEMBER_WORD(trend, trend, "the worst of the jobs'; null: none has one"),
    KILN_MEMBER(problem, "why tonight is not in the history; null: it is"),
    KILN_MEMBER(note, "that the clock was set back"),
    KILN_MEMBER_TEXTS("since", since,
                      "what changed since the run before, a sentence each"),
};
KILN_RECORD_STATIC(past, past_rows, "The nights before")
#undef T

#define T kiln_results_job
static const kiln_record_field job_rows[] = {
    KILN_MEMBER(model, "its name"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(threads, "number of threads"),
    KILN_MEMBER_WORD(status, job_status,
                     "`ok`; `failed`: a stage did, or a verdict is `wrong`; "
                     "`regressed`: its gate's verdict is `fail`; "
                     "`unjudged`: it is `invalid`; `interrupted`"),
    KILN_MEMBER_LIST("stages", stage, stage, "in the order they ran"),
    KILN_MEMBER_OPTIONAL("latency", latency, kiln_results_latency_table,
                         "null: not measured"),
    KILN_MEMBER_LIST("baselines", baseline, kiln_results_baseline_table, "beside it"),
    KILN_MEMBER_LIST("steps", step, kiln_results_step_table,
                     "of the network, in the order they run"),
    KILN_MEMBER(steps_ms, "derived: sum of the steps' medians"),
    KILN_MEMBER_POSITIVE(steps_run_ms,
                         "of a whole run with a clock read at each step, median: where "
                         "the steps' times are from"),
    KILN_MEMBER_POSITIVE(open_ms, "that opening its package took once, its archive "
                                  "verified and in memory; packing included"),
    KILN_MEMBER_OBJECT("memory", memory, kiln_results_memory_table, "of a session"),
    KILN_MEMBER_LIST("coverage", coverage, kiln_results_coverage_table,
                     "time and work by where configurations come "
                     "from"),
    KILN_MEMBER_OPTIONAL("tuning", tuning, kiln_results_tuning_table,
                         "null: not tuned"),
    KILN_MEMBER_OPTIONAL("archive", archive, kiln_results_archive_table,
                         "null: not built"),
    KILN_MEMBER_OPTIONAL("gate", gate, kiln_results_gate_table, "null: not compared"),
    KILN_MEMBER(max_abs_error, "of the outputs against the reference"),
    KILN_MEMBER(rms_error, "the same, root of the mean square"),
    KILN_MEMBER_OPTIONAL("history", history, history, "null: there is none"),
};
KILN_RECORD_STATIC(job, job_rows, "A job: model, profile, number of threads")
#undef T

#define T kiln_results_ops
static const kiln_record_field ops_rows[] = {
    KILN_MEMBER(set, "name of the list"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(threads, "number of threads"),
    KILN_MEMBER_WORD(status, job_status, "as a job's"),
    KILN_MEMBER_LIST("stages", stage, stage, "in the order they ran"),
    KILN_MEMBER_LIST("rows", row, kiln_results_op_table, "the operators"),
    KILN_MEMBER_OPTIONAL("tuning", tuning, kiln_results_tuning_table,
                         "null: not tuned"),
    KILN_MEMBER_LIST("versus", versus, versus,
                     "derived: each baseline over all operators"),
};
KILN_RECORD_STATIC(ops, ops_rows, "A list of operators")
#undef T

#define T kiln_results
static const kiln_record_field root_rows[] = {
    KILN_MEMBER(name, "of the pipeline"),
    KILN_MEMBER(run, "of this run"),
    KILN_MEMBER(kiln, "its version"),
    KILN_MEMBER(commit, "of its sources; `-modified` behind: they differed from it"),
    KILN_MEMBER(build, "compiler and flags that built it"),
    KILN_MEMBER(started, "ISO 8601, UTC"),
    KILN_MEMBER(seconds, "that the run took"),
    KILN_MEMBER_WORD(status, job_status,
                     "`ok`; `failed`: a stage did, or a verdict is `wrong`; "
                     "`regressed`: a verdict is "
                     "`fail`; `unjudged`: "
                     "one "
                     "is `invalid`; `interrupted`"),
    KILN_MEMBER(failure,
                "of the whole: nothing was measured, nothing was tuned; null: none"),
    KILN_MEMBER(command, "that makes this run again"),
    KILN_MEMBER_POSITIVE(
        injected, "share by which the gate slowed candidates on purpose, to test an "
                  "alarm: its verdicts say nothing of any archive; null: it did "
                  "not"),
    KILN_MEMBER_WORD(verdict, kiln_results_verdicts,
                     "the worst of the jobs' verdicts; null: no gate"),
    KILN_MEMBER_LIST("by_verdict", by_verdict, kiln_results_count_table,
                     "jobs by verdict"),
    KILN_MEMBER_LIST("by_status", by_status, kiln_results_count_table,
                     "derived: jobs by status"),
    KILN_MEMBER_OBJECT("geomean_slowdown", geomean_slowdown,
                       kiln_results_interval_table,
                       "of jobs that the gate timed: candidate / control - 1"),
    KILN_MEMBER_LIST("versus", versus, versus, "derived: each baseline over all jobs"),
    KILN_MEMBER_OBJECT("machine", machine, kiln_results_machine_table,
                       "where it was measured"),
    KILN_MEMBER_ROW("jobs", job, KILN_RECORD_LIST,
                    "in the order of the pipeline's file", .of = &job,
                    .most = KILN_RESULTS_MAX_JOBS),
    KILN_MEMBER_ROW("ops", ops, KILN_RECORD_LIST, "lists of operators", .of = &ops,
                    .most = KILN_RESULTS_MAX_JOBS),
    KILN_MEMBER_OPTIONAL("history", past, past, "null: there is none"),
};
KILN_RECORD_STATIC(root, root_rows, "The document")
#undef T

const kiln_record_document kiln_results_document = {
    .format_key = "schema",
    .format = KILN_RESULTS_SCHEMA,
    .table = &root,
    .docs = "docs/results-json.md",
    .what = "a results.json of 'kiln nightly'"};

void kiln_results_json(kiln_buf *out, const kiln_results *r) {
    kiln_record_write(out, &kiln_results_document, r);
}

kiln_status kiln_results_parse(kiln_arena *a, kiln_str text, const char *name,
                               kiln_results *out, kiln_err *err) {
    return kiln_record_parse(a, text, name, &kiln_results_document, out, err);
}

kiln_status kiln_results_read(kiln_arena *a, const char *path, kiln_results *out,
                              kiln_err *err) {
    return kiln_record_read(a, path, &kiln_results_document, out, err);
}
