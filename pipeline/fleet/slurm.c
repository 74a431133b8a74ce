/* Slurm, by its commands: sbatch, squeue, sacct, scancel (their manual pages; 21.08 and
 * newer have all that is asked here). */
#include "pipeline/fleet/fleet_engine.h"

#include <stdlib.h>
#include <string.h>

enum { COMMAND_MS = 60000 };

/* Runs one of Slurm's commands; what it printed. */
static kiln_status ask(kiln_arena *a, const char *const *argv, kiln_process_result *out,
                       kiln_err *err) {
    const kiln_process_options o = {.argv = argv, .time_limit_ms = COMMAND_MS};
    const kiln_status st = kiln_process_run(a, &o, out, err);
    if (st != KILN_OK && st != KILN_ERR_INTERRUPTED)
        kiln_note(err,
                  "asking Slurm: its commands must be here (Debian: slurm-client)");
    return st;
}

static bool is_well(const kiln_process_result *r) {
    return r->end == KILN_PROCESS_EXITED && r->code == 0;
}

/* The first line of what it has against it. */
static const char *complaint(kiln_arena *a, const kiln_process_result *r) {
    kiln_str rest = kiln_str_trim(r->err.n > 0 ? r->err : r->out), line = rest;
    if (r->end == KILN_PROCESS_TIMED_OUT)
        return "no answer for a minute; is slurmctld running?";
    (void)kiln_str_cut(&rest, '\n', &line);
    return kiln_str_printable(a, line.n > 0 ? line : kiln_str_from("it failed"), 300);
}

/* ---- submitting ------------------------------------------------------------------ */

typedef struct words {
    kiln_arena *arena;
    KILN_VEC(const char *) list;
} words;

static void add(words *w, const char *word) { kiln_vec_push(w->arena, &w->list, word); }

/* A node of its own, unless an option says otherwise: beside others nothing is measured
 * well. What failed with its node begins again on another. */
static kiln_status submit(kiln_arena *a, const kiln_fleet_options *o,
                          const char *script, int n, const char *after,
                          const char **job, kiln_err *err) {
    words w = {.arena = a};
    kiln_process_result r;
    add(&w, "sbatch");
    add(&w, "--parsable");
    add(&w, "--exclusive");
    add(&w, "--requeue");
    add(&w, "--open-mode=append");
    add(&w, kiln_format(a, "--job-name=%s", o->name));
    add(&w, kiln_format(a, "--chdir=%s", o->dir));
    if (n > 0) {
        add(&w, kiln_format(a, "--array=0-%d", n - 1));
        add(&w, kiln_format(a, "--output=%s/%%A.%%a.log", o->dir));
    } else {
        add(&w, kiln_format(a, "--output=%s/%%j.last.log", o->dir));
        add(&w, kiln_format(a, "--dependency=afterany:%s", after));
    }
    for (size_t i = 0; o->engine_option != NULL && o->engine_option[i] != NULL; i++)
        add(&w, o->engine_option[i]);
    add(&w, script);
    add(&w, NULL);
    KILN_TRY(ask(a, w.list.v, &r, err));
    const size_t digits = is_well(&r) ? strspn(r.out.p, "0123456789") : 0;
    if (digits == 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "Slurm does not take the job: %s; 'sinfo' shows what there is",
                         complaint(a, &r));
    *job = kiln_format(a, "%.*s", (int)digits, r.out.p); /* ";CLUSTER" may follow */
    return KILN_OK;
}

/* ---- looking --------------------------------------------------------------------- */

/* How a job's state goes on: all others are on their way (squeue's manual, "JOB STATE
 * CODES"). */
static const struct {
    const char *state;
    bool is_good;
} ends[] = {
    {"COMPLETED", true}, {"FAILED", false},    {"CANCELLED", false},
    {"TIMEOUT", false},  {"NODE_FAIL", false}, {"OUT_OF_MEMORY", false},
    {"DEADLINE", false}, {"BOOT_FAIL", false}, {"PREEMPTED", false},
    {"REVOKED", false},
};

static void judge(kiln_fleet_said *s) {
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strncmp(s->state, ends[i].state, strlen(ends[i].state)) == 0) {
            s->has_ended = true;
            s->is_good = ends[i].is_good;
        }
}

static const char *cell(kiln_arena *a, kiln_str *line) {
    kiln_str text = *line;
    if (!kiln_str_cut(line, '|', &text))
        *line = (kiln_str){"", 0};
    return kiln_str_dupv(a, kiln_str_trim(text));
}

/* A member's number of "17_3", "3" or "N/A" (the job has one member). */
static int member_of(const char *text) {
    const char *at = strrchr(text, '_');
    at = at != NULL ? at + 1 : text;
    return at[0] >= '0' && at[0] <= '9' ? (int)strtol(at, NULL, 10) : -1;
}

static void read_lines(kiln_arena *a, kiln_str text, bool has_more,
                       kiln_fleet_says *out) {
    kiln_str line;
    while (text.n > 0) {
        line = text;
        if (!kiln_str_cut(&text, '\n', &line))
            text = (kiln_str){"", 0};
        if (kiln_str_trim(line).n == 0)
            continue;
        kiln_fleet_said s = {.member = member_of(cell(a, &line))};
        s.state = cell(a, &line);
        s.node = cell(a, &line);
        s.reason = has_more ? cell(a, &line) : "";
        s.restarts = has_more ? (int)strtol(cell(a, &line), NULL, 10) : 0;
        judge(&s);
        kiln_vec_push(a, out, s);
    }
}

/* Of jobs that it has forgotten squeue says that their number is none; accounting, where
 * there is any, remembers. */
static kiln_status look(kiln_arena *a, const char *job, kiln_fleet_says *out,
                        kiln_err *err) {
    const char *const queue[] = {
        "squeue", "-h",  "-r",
        "-t",     "all", "-j",
        job,      "-O",  "ArrayTaskID:|,State:|,NodeList:|,Reason:|,RestartCnt:|",
        NULL};
    const char *const past[] = {
        "sacct", "-n", "-P", "-X", "-j", job, "-o", "JobID,State,NodeList", NULL};
    kiln_process_result r;
    *out = (kiln_fleet_says){.n = 0};
    KILN_TRY(ask(a, queue, &r, err));
    if (is_well(&r)) {
        read_lines(a, r.out, true, out);
        return KILN_OK;
    }
    if (strstr(r.err.p, "Invalid job id") == NULL)
        return kiln_fail(err, KILN_ERR_IO,
                         "Slurm does not say what becomes of job %s: %s", job,
                         complaint(a, &r));
    kiln_err why = {0};
    if (ask(a, past, &r, &why) == KILN_OK && is_well(&r))
        read_lines(a, r.out, false, out);
    return KILN_OK;
}

const kiln_fleet_engine kiln_fleet_engine_slurm = {
    .name = "slurm",
    .doc = "an array job of Slurm's",
    .job_variable = "SLURM_ARRAY_JOB_ID",
    .last_job_variable = "SLURM_JOB_ID",
    .member_variable = "SLURM_ARRAY_TASK_ID",
    .submit = submit,
    .look = look,
    .look_command = "squeue -t all -j ",
    .end_command = "scancel ",
    .separator = ",",
};
