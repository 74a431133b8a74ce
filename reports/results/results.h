/* The results of a nightly run: everything that its report says, as data.
 *
 * `results.json` (docs/results-json.md) is this struct written down; the HTML page and
 * the CSV are made from it alone, so equal results give equal bytes, and each number of
 * the page is found in the JSON. Whoever measured fills it in (pipeline/nightly), this
 * folder never measures.
 *
 * Numbers that are not known are 0 where 0 cannot be measured, else NaN (null in JSON);
 * texts that are not known are NULL. Lists keep the order of the pipeline's file.
 */
#ifndef KILN_REPORTS_RESULTS_H
#define KILN_REPORTS_RESULTS_H

#include "reports/stats/stats.h"

#define KILN_RESULTS_SCHEMA "kiln-results-1"

/* ---- where it was measured ------------------------------------------------------- */

typedef struct kiln_results_peak {
    int threads;
    /* Multiply-adds, measured between the runs; medians. gflops: the larger of what was
     * measured and what the clock allows. */
    double gflops, measured_gflops, fma_per_cycle, clock_ghz;
} kiln_results_peak;

/* How fast a level of the memory is read or copied, with so many threads. */
typedef struct kiln_results_level {
    const char *name; /* "L1", "L2", "L3", "memory" */
    int threads;
    double gbs;
} kiln_results_level;

typedef struct kiln_results_machine {
    const char *cpu, *os; /* "AMD EPYC ...", "Linux 6.1.0 x86_64" */
    int cores;            /* that this process may use */
    int64_t memory_bytes;
    double bandwidth_gbs; /* of copying, all cores; 0: not measured */
    KILN_VEC(kiln_results_peak) peak;
    KILN_VEC(kiln_results_level) level; /* as far as lists of operators needed them */
} kiln_results_machine;

/* ---- one job: model x profile x threads ------------------------------------------ */

typedef enum kiln_stage_state {
    KILN_STAGE_DONE,
    KILN_STAGE_FAILED,    /* exit code and message say how */
    KILN_STAGE_TIMED_OUT, /* its limit was over; it was ended */
    KILN_STAGE_SKIPPED    /* something that it needs failed, or nobody asked for it */
} kiln_stage_state;
const char *kiln_stage_state_name(kiln_stage_state s); /* "done", "timed out", ... */

typedef struct kiln_results_stage {
    const char *name; /* "fetch", "tune", "build", "verify", "bench", "gate" */
    kiln_stage_state state;
    double seconds;
    int exit_code;
    const char *message; /* the last error; NULL: none */
    const char *command; /* that repeats it, as a shell has it */
    bool is_reused;      /* finished by an earlier process of this run */
} kiln_results_stage;

typedef KILN_VEC(double) kiln_results_numbers;

typedef struct kiln_results_latency {
    double median_ms, q1_ms, q3_ms, min_ms;
    int64_t runs; /* of each sample */
    size_t n_samples, n_disturbed;
    double gflops, peak_share;
    int64_t session_bytes;
    kiln_results_numbers sample_ms;    /* in the order they were taken */
    kiln_results_numbers disturbed_at; /* places in it: others had a processor */
} kiln_results_latency;

/* A baseline beside it: `state` is kiln_rival_state's word (absent, failed, wrong, emulated,
 * measured), and only a measured one has numbers. */
typedef struct kiln_results_baseline {
    const char *name, *version, *state, *problem;
    const char *implementation; /* what the library chose, in its words; NULL: unsaid */
    const char *file;           /* the model's, that it was given; NULL: none */
    double median_ms, q1_ms, q3_ms, min_ms;
    int64_t runs;
    size_t n_disturbed;
    kiln_stats_interval ratio; /* kiln / baseline: below 1 where kiln is faster */
    /* NaN: not compared so. Of networks, root of the mean square; of operators, 1 is as
     * far off as the operator's bound allows. */
    double max_abs_error, rms_error, error_of_bound;
    kiln_results_numbers sample_ms, disturbed_at; /* as a latency's */
} kiln_results_baseline;
typedef KILN_VEC(kiln_results_baseline) kiln_results_baselines;

typedef struct kiln_results_step {
    const char *name, *op;
    const char *tmpl, *origin; /* of the kernel; NULL: a copy */
    const char *epilogue;      /* "bias, add, relu"; "": none; NULL: not known */
    const char *layout_in, *layout_out;  /* "NCHW16c"; NULL: not known */
    int64_t multiply_adds, flops, bytes; /* bytes that it must read and write, once */
    double median_ms, gflops, peak_share;
    double time_share, intensity; /* derived: of the steps' sum; flops / bytes */
    double gbs;                   /* derived: `bytes` in the median time */
} kiln_results_step;
typedef KILN_VEC(kiln_results_step) kiln_results_steps;

typedef struct kiln_results_memory { /* bytes */
    int64_t activation, lower_bound, parameter, workspace, scratch;
    int64_t packed; /* of the model, beside `parameter`: at opening, by the package */
    double over_lower_bound; /* derived: activation / lower_bound */
} kiln_results_memory;

/* The coverage ledger: multiply-adds and steps by where their configuration is from. */
typedef struct kiln_results_coverage {
    const char *origin; /* "tuned", "transferred", "predicted", "default", "generic" */
    int64_t steps, multiply_adds;
    double ms;                             /* of the steps' medians */
    double time_share, multiply_add_share; /* derived: of all rows */
} kiln_results_coverage;
typedef KILN_VEC(kiln_results_coverage) kiln_results_coverages;

typedef struct kiln_results_point {
    int64_t trial; /* how many had come in */
    double ns;     /* sum of calls times best by then */
} kiln_results_point;
typedef struct kiln_results_count {
    const char *name;
    int64_t n;
} kiln_results_count;
typedef struct kiln_results_work {
    const char *name, *tmpl, *best; /* best: configuration as JSON */
    const char *workload;           /* the database's key */
    double configurations;          /* of the space; may be past 2^53 */
    double calls, start_ns, best_ns, best_share;
    double speedup; /* derived: start / best */
    int64_t known_trials, new_trials;
    bool is_from_ready; /* start is a ready record's */
} kiln_results_work;
/* The report card: how well the searches themselves did; geometric means of those with
 * trials enough. */
typedef struct kiln_results_reached {
    double share;  /* of the best that is known */
    double trials; /* until then */
} kiln_results_reached;
typedef struct kiln_results_look {
    int64_t trials;
    double share; /* of the best that is known, by then */
} kiln_results_look;
typedef struct kiln_results_card {
    int64_t searches, taught; /* taught: began with a model of other work */
    KILN_VEC(kiln_results_reached) reached;
    KILN_VEC(kiln_results_look) look;
    double taught_trials, alone_trials; /* to 95%; 0: there are none */
    double accuracy, recall;            /* of the model, held out; NaN: not known */
    double build_s, run_s;              /* of all workers */
    double model_s, search_s;           /* of the tuner itself, by the wall; */
    double think_cpu_s;                 /* of both, of the processor */
    double now_ns, later_ns; /* if stopped now, after later_s more; 0: not known */
    double later_s;
} kiln_results_card;
typedef struct kiln_results_tuning {
    int64_t new_trials;
    double seconds, start_ns, best_ns;
    double speedup;  /* derived: start / best */
    const char *end; /* why it ended */
    KILN_VEC(kiln_results_count) by_error;
    KILN_VEC(kiln_results_work) work;
    KILN_VEC(kiln_results_point) curve; /* best so far, each point an improvement */
    bool has_card;
    kiln_results_card card;
} kiln_results_tuning;

typedef struct kiln_results_archive {
    const char *path, *sha256;
    int64_t bytes;
} kiln_results_archive;

/* Two processes of the gate's, one of each archive: of both attempts the faster. */
typedef struct kiln_results_pair {
    int series; /* 0; 1: of the confirmation */
    double candidate_ms, control_ms;
} kiln_results_pair;
/* A step whose time changed, between two archives. */
typedef struct kiln_results_moved {
    const char *name, *op;
    const char *tmpl, *origin;       /* of the candidate's kernel; NULL: none */
    double candidate_ms, control_ms; /* NaN: this side has no such step */
    double difference_ms;            /* candidate - control: centre of the pairs' */
} kiln_results_moved;

/* Of the comparison with the accepted archive. */
typedef struct kiln_results_gate {
    const char
        *verdict; /* "pass", "fail", "wrong", "inconclusive", "invalid", "equal" (the
                     same code: nothing to time), "new" (nothing was accepted) */
    const char *reason; /* one sentence */
    int pairs;
    kiln_stats_interval slowdown; /* candidate / control - 1 */
    double p, detectable;
    KILN_VEC(kiln_results_pair) timed; /* in the order they were taken */
    const char *accepted_sha256, *accepted_commit;
    /* Against the archive that stays (docs/history.md). */
    const char *frozen_sha256;  /* NULL: nothing is frozen, or nobody asked */
    kiln_stats_interval frozen; /* candidate / frozen; 1 exactly: the same code; NaN */
    const char *frozen_problem; /* why there is no ratio; NULL: there is */
    KILN_VEC(const char *) change; /* of structure: "kernel x: tuned -> default" */
    KILN_VEC(kiln_results_moved) moved;
    const char *moved_says; /* of all steps, in a sentence; NULL: they were not timed */
    const char *command;
} kiln_results_gate;

/* ---- the nights before (docs/history.md) ----------------------------------------- */

typedef struct kiln_results_night { /* of one job */
    const char *run, *started;
    kiln_stats_interval ratio; /* to the frozen archive; NaN: not known that night */
    const char *verdict;       /* the gate's; NULL: none */
    const char *trend; /* "stable", "step", "drift", "faster"; NULL: it has no ratio */
    bool is_change;    /* nights differ from here on, seen from today */
    bool is_accepted;  /* the accepted archive is another than the night before */
    bool is_commit;    /* kiln is another than the night before */
} kiln_results_night;
typedef struct kiln_results_history { /* of one job */
    const char *trend;                /* of tonight; NULL: tonight has no ratio */
    const char *reason;               /* one sentence */
    double change;             /* ratio - 1 that was found tonight; NaN: nothing was */
    double findable;           /* the least step that would have been found; NaN */
    int64_t alarms;            /* steps and drifts in `night` */
    kiln_stats_interval ratio; /* tonight's, to the frozen archive */
    KILN_VEC(kiln_results_night) night; /* oldest first; the last is tonight */
} kiln_results_history;
typedef struct kiln_results_past { /* of the whole */
    int64_t nights;      /* that the history has of this pipeline, tonight too */
    const char *before;  /* the run before; NULL: this is the first */
    const char *trend;   /* the worst of the jobs'; NULL: none has one */
    const char *problem; /* why tonight is not in the history; NULL: it is */
    const char *note;    /* the clock was set back; NULL: nothing to say */
    KILN_VEC(const char *) since; /* what changed since the run before */
} kiln_results_past;

typedef struct kiln_results_job {
    const char *model, *profile;
    int threads;
    const char *status; /* "ok", "failed": a stage did, or its outputs are wrong,
                           "regressed": its gate's verdict is fail, "unjudged": it is
                           invalid, "interrupted" */
    KILN_VEC(kiln_results_stage) stage;
    bool has_latency, has_tuning, has_archive, has_gate;
    kiln_results_latency latency;
    kiln_results_baselines baseline;
    kiln_results_steps step;
    kiln_results_memory memory;
    kiln_results_coverages coverage;
    kiln_results_tuning tuning;
    kiln_results_archive archive;
    kiln_results_gate gate;
    double max_abs_error, rms_error; /* outputs against the reference */
    double steps_ms;                 /* derived: sum of the steps' medians */
    double steps_run_ms; /* of a whole run with a clock read at each step; 0: unknown */
    double open_ms;      /* that opening its package took once; 0: unknown */
    bool has_history;
    kiln_results_history history;
} kiln_results_job;

/* Derived: a baseline over all jobs (or operators) that it was measured in. */
typedef struct kiln_results_versus {
    const char *name;
    int64_t measured, faster, slower; /* faster: the whole interval is below 1 */
    int64_t left_out;                 /* measured too, but disturbed */
    kiln_stats_interval ratio;        /* geometric mean, kiln / baseline */
} kiln_results_versus;
typedef KILN_VEC(kiln_results_versus) kiln_results_versus_list;

/* ---- lists of operators, with operator baselines --------------------------------- */

typedef struct kiln_results_op {
    const char *name, *line; /* of the operators' file */
    const char *tmpl, *origin;
    int64_t multiply_adds;
    double median_ms, q1_ms, q3_ms, min_ms, gflops, peak_share;
    kiln_results_baselines baseline;
} kiln_results_op;
typedef struct kiln_results_ops {
    const char *set, *profile;
    int threads;
    const char *status;
    KILN_VEC(kiln_results_stage) stage;
    KILN_VEC(kiln_results_op) row;
    bool has_tuning;
    kiln_results_tuning tuning;
    kiln_results_versus_list versus; /* derived */
} kiln_results_ops;

/* ---- all of it ------------------------------------------------------------------- */

typedef struct kiln_results {
    const char *name, *run; /* of the pipeline; of this run, "2026-11-21T02-00-00" */
    const char *kiln;       /* version */
    const char *commit;     /* of its sources; "-modified" behind: they differed */
    const char *build;      /* "gcc 12.2.0, release -O2 -DNDEBUG" */
    const char *started;    /* ISO 8601, UTC */
    double seconds;
    const char *status;  /* as a job's; the worst of them */
    const char *failure; /* of the whole: "nothing was measured"; NULL: none */
    const char *command; /* that makes this run again */
    double injected;     /* share that the gate slowed candidates by; 0: it did not */
    /* Of the whole night: the worst of the jobs' verdicts, and how many of each. */
    const char *verdict; /* NULL: no gate */
    KILN_VEC(kiln_results_count) by_verdict;
    KILN_VEC(kiln_results_count) by_status; /* derived: jobs, in the order met */
    kiln_results_versus_list versus;        /* derived */
    kiln_stats_interval geomean_slowdown;   /* of jobs that were timed; NaN: none */
    kiln_results_machine machine;
    KILN_VEC(kiln_results_job) job;
    KILN_VEC(kiln_results_ops) ops;
    bool has_past;
    kiln_results_past past;
} kiln_results;

/* Fills in the members called derived from the others; whoever measured calls it once,
 * before anything is written. Calling it again changes nothing. Lives in `a`. */
void kiln_results_derive(kiln_arena *a, kiln_results *r);
/* The same of parts, for what verbs write (documents.h). peak in GFLOP/s; 0: unknown.
 * Returns the sum of the steps' medians. */
double kiln_results_derive_steps(const kiln_results_steps *s, double peak);
void kiln_results_derive_coverage(const kiln_results_coverages *c);
void kiln_results_derive_memory(kiln_results_memory *m);
void kiln_results_derive_tuning(kiln_results_tuning *t);

/* Others had a processor during most of its samples: its numbers say little. */
bool kiln_results_is_disturbed(const kiln_results_job *j);

/* Everything read lives in `a`. Members that are not known are refused by name, members
 * that are missing are "not known"; KILN_ERR_PARSE names the member's path. */
enum { KILN_RESULTS_MAX_JOBS = 4096 }; /* and lists of operators */
kiln_status kiln_results_read(kiln_arena *a, const char *path, kiln_results *out,
                              kiln_err *err);
/* The same of a text; `name` is for messages. */
kiln_status kiln_results_parse(kiln_arena *a, kiln_str text, const char *name,
                               kiln_results *out, kiln_err *err);
void kiln_results_json(kiln_buf *out, const kiln_results *r);

/* One self-contained page: nothing loaded, its one script is not needed. */
void kiln_results_html(kiln_buf *out, const kiln_results *r);
/* A line for each job, and one for each of its baselines (docs/results-csv.md). */
void kiln_results_csv(kiln_buf *out, const kiln_results *r);
/* For CI systems: stages and verdicts as test cases, the night on one screen, and one
 * line for each thing that needs a look (GitHub's workflow commands). */
void kiln_results_junit(kiln_buf *out, const kiln_results *r);
void kiln_results_markdown(kiln_buf *out, const kiln_results *r);
void kiln_results_annotations(kiln_buf *out, const kiln_results *r);
/* What it found, one sentence without its end. */
void kiln_results_found(kiln_buf *out, const kiln_results *r);

/* What lies in a run's folder: each made of the results alone. */
typedef struct kiln_results_file {
    const char *name;
    void (*make)(kiln_buf *out, const kiln_results *r);
} kiln_results_file;
extern const kiln_results_file kiln_results_files[];
extern const size_t kiln_results_n_files;

#endif
