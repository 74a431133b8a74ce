/* Scripts, and what becomes of members: with a scheduler that is made up, and with
 * Slurm's commands as scripts of the test's own that say what Slurm says. */
#include "pipeline/fleet/fleet_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/kiln_test.h"

static kiln_arena *arena(void) { return kiln_test_arena(); }

static void write_file(const char *path, const char *text, mode_t mode) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    assert_int_equal(chmod(path, mode), 0);
}

static const char *in(const char *dir, const char *name) {
    return kiln_path_join(arena(), dir, name);
}

/* ---- scripts --------------------------------------------------------------------- */

typedef struct script_row {
    const char *name;
    const char *program; /* what it does; NULL: there is none */
    const char *version;
    bool is_last;
    int code;
    const char *out, *err; /* parts */
} script_row;

#define SAYS_1                                                                         \
    "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'kiln 1'; echo \"it's\"; exit; }\n"
#define IS_1 "kiln 1\nit's"

static script_row script_rows[] = {
    {"runs_the_command", SAYS_1 "printf '<%s>' \"$@\"", IS_1, false, 0,
     "<tune><a 'b'><--shard><3/4><--as><x-17.3><--json><", NULL},
    {"runs_the_last_one", SAYS_1 "printf '<%s>' \"$@\"", IS_1, true, 0,
     "<tune><a 'b'><it's $HOME 18 last>", NULL},
    {"keeps_how_it_ends", SAYS_1 "exit 3", IS_1, false, 3, NULL, NULL},
    {"another_version", SAYS_1 "exit 0", "kiln 2", false, 4, NULL,
     "kiln there is another one: kiln 1"},
    {"no_program", NULL, "kiln 1", false, 4, NULL, "there is no program '"},
};

static void scripts_check_and_run(void **state) {
    const script_row *r = *state;
    kiln_buf text;
    kiln_err err = {0};
    kiln_str got;
    const char *dir = in(kiln_test_dir(), "it's a folder");
    const char *const all[] = {"tune", "a 'b'", NULL};
    const char *const each[] = {"--shard", "{member}/4", "--as", "x-{job}.{member}",
                                "--json",  "{out}.json", NULL};
    const char *const last[] = {"it's $HOME {job} {member}", NULL};
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    const kiln_fleet_options o = {.n = 4,
                                  .dir = dir,
                                  .name = "x",
                                  .cwd = dir,
                                  .program = in(dir, "program"),
                                  .version = r->version,
                                  .all = all,
                                  .each = each,
                                  .last = last};
    if (r->program != NULL)
        write_file(o.program, r->program, 0755);
    kiln_buf_init(&text, arena());
    kiln_fleet_script(&text, kiln_fleet_engine_find("slurm"), &o, r->is_last);
    write_file(in(dir, "script"), text.p, 0755);
    const char *const argv[] = {in(dir, "script"), NULL};
    const char *const env[] = {"SLURM_ARRAY_JOB_ID=17", "SLURM_ARRAY_TASK_ID=3",
                               "SLURM_JOB_ID=18", NULL};
    const kiln_process_options p = {
        .argv = argv, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result ran;
    kiln_assert_status_ok(kiln_process_run(arena(), &p, &ran, &err), &err);
    const char *out = in(dir, r->is_last ? "18.last" : "17.3");
    if (ran.code != r->code)
        fail_msg("ended with %d: %s\n%s", ran.code, ran.err.p, text.p);
    kiln_assert_status_ok(
        kiln_file_map(arena(), kiln_format(arena(), "%s.code", out), 64, &got, &err),
        &err);
    assert_int_equal(strtol(kiln_str_dupv(arena(), got), NULL, 10), r->code);
    if (r->err != NULL && strstr(ran.err.p, r->err) == NULL)
        fail_msg("'%s' is not in '%s'", r->err, ran.err.p);
    if (r->out == NULL)
        return;
    kiln_assert_status_ok(
        kiln_file_map(arena(), kiln_format(arena(), "%s.txt", out), 4096, &got, &err),
        &err);
    if (strstr(kiln_str_dupv(arena(), got), r->out) == NULL)
        fail_msg("'%s' is not in '%.*s'", r->out, KILN_STR_ARG(got));
}

/* ---- waiting, with a scheduler that is made up ------------------------------------ */

enum { N_LOOKS = 4, N_MADE_UP = 3 };

/* What it says of members 0 and 1 and of the last one, look by look; "" is nothing. */
typedef struct story {
    const char *name;
    const char *says[N_LOOKS][N_MADE_UP];
    const char *code[N_MADE_UP], *log[N_MADE_UP]; /* what they left; NULL: nothing */
    const char *want;
} story;

static story stories[] = {
    {"all_is_well",
     {{"R", "P", "P"}, {"C", "C", "R"}, {"C", "C", "C"}},
     {"0", "0", "0"},
     {0},
     "0 good, 1 good, last good"},
    {"one_fails",
     {{"C", "F", "R"}, {"C", "F", "C"}},
     {"0", "4", "0"},
     {NULL, "error: first\nerror: node n2: no program\nmore"},
     "0 good, 1 failed (4, node n2: no program), last good"},
    {"its_node_fails_and_it_comes_back",
     {{"R", "F", "P"}, {"C", "R", "P"}, {"C", "C", "C"}},
     {"0", "0", "0"},
     {0},
     "0 good, 1 good, last good"},
    {"it_says_well_and_left_a_failure",
     {{"C", "C", "C"}},
     {"0", "3", "0"},
     {0},
     "0 good, 1 failed (3, because), last good"},
    {"files_come_late", {{"C", "C", "C"}}, {0}, {0}, "0 good, 1 good, last good"},
    {"it_forgets",
     {{"R", "R", "P"}, {"", "", "R"}, {"", "", ""}},
     {"0", NULL, "0"},
     {0},
     "0 good, 1 failed (-1, the scheduler does not know it any more), last good"},
    {"it_does_not_answer_for_a_while",
     {{"R", "R", "P"}, {"!", "!", "!"}, {"C", "C", "C"}},
     {"0", "0", "0"},
     {0},
     "0 good, 1 good, last good"},
};

static const story *told;
static int n_looks;

static kiln_status submit_nothing(kiln_arena *a, const kiln_fleet_options *o,
                                  const char *script, int n, const char *after,
                                  const char **job, kiln_err *err) {
    (void)o;
    (void)err;
    assert_true(kiln_file_exists(script));
    assert_true((n == 0) == (after != NULL));
    *job = kiln_format(a, "%d", n == 0 ? 18 : 17);
    return KILN_OK;
}

static kiln_status look_up(kiln_arena *a, const char *job, kiln_fleet_says *out,
                           kiln_err *err) {
    const bool is_last = strcmp(job, "18") == 0;
    int at = n_looks / 2;
    while (at > 0 && (at >= N_LOOKS || told->says[at][0] == NULL))
        at--;
    n_looks++;
    *out = (kiln_fleet_says){.n = 0};
    for (int i = is_last ? 2 : 0; i < (is_last ? 3 : 2); i++) {
        const char *word = told->says[at][i];
        if (word[0] == '!') {
            n_looks += !is_last; /* whoever hears it asks no more this time */
            return kiln_fail(err, KILN_ERR_IO, "away");
        }
        const kiln_fleet_said s = {.member = is_last ? -1 : i,
                                   .state = word,
                                   .node = "n",
                                   .reason = "because",
                                   .has_ended = word[0] == 'C' || word[0] == 'F',
                                   .is_good = word[0] == 'C'};
        if (word[0] != '\0')
            kiln_vec_push(a, out, s);
    }
    return KILN_OK;
}

static const kiln_fleet_engine made_up = {.name = "made_up",
                                          .job_variable = "JOB",
                                          .last_job_variable = "JOB",
                                          .member_variable = "MEMBER",
                                          .submit = submit_nothing,
                                          .look = look_up,
                                          .look_command = "look ",
                                          .end_command = "end ",
                                          .separator = ","};

static void members_end(void **state) {
    const char *const none[] = {NULL};
    kiln_err err = {0};
    kiln_fleet fleet;
    kiln_buf got;
    const kiln_fleet_options o = {.n = 2,
                                  .dir = kiln_test_dir(),
                                  .name = "x",
                                  .cwd = "/",
                                  .program = "x",
                                  .version = "",
                                  .all = none,
                                  .each = none,
                                  .last = none,
                                  .poll_ms = 1};
    told = *state;
    n_looks = 0;
    kiln_assert_status_ok(kiln_fleet_submit(arena(), &made_up, &o, &fleet, &err), &err);
    assert_string_equal(kiln_fleet_look_command(arena(), &fleet), "look 17,18");
    assert_string_equal(kiln_fleet_end_command(arena(), &fleet), "end 17 18");
    for (size_t i = 0; i < N_MADE_UP; i++) {
        const char *out = fleet.member.v[i].out;
        if (told->code[i] != NULL)
            write_file(kiln_format(arena(), "%s.code", out), told->code[i], 0644);
        if (told->log[i] != NULL)
            write_file(kiln_format(arena(), "%s.log", out), told->log[i], 0644);
    }
    kiln_assert_status_ok(kiln_fleet_wait(arena(), &fleet, &err), &err);
    kiln_buf_init(&got, arena());
    for (size_t i = 0; i < fleet.member.n; i++) {
        const kiln_fleet_member *m = &fleet.member.v[i];
        kiln_buf_printf(&got, "%s%s %s", i > 0 ? ", " : "", m->name,
                        m->is_good ? "good" : "failed");
        if (!m->is_good)
            kiln_buf_printf(&got, " (%d, %s)", m->code, m->why);
    }
    assert_string_equal(got.p, told->want);
}

/* ---- Slurm's words --------------------------------------------------------------- */

/* Commands of that name in a folder that is alone in PATH but for the system's own. */
static const char *with_command(const char *name, const char *script) {
    static const char *dir;
    const char *was = getenv("PATH");
    if (dir == NULL) {
        dir = kiln_test_dir();
        setenv("PATH", kiln_format(arena(), "%s:%s", dir, was), 1);
    }
    write_file(in(dir, name), kiln_format(arena(), "#!/bin/sh\n%s\n", script), 0755);
    return dir;
}

static kiln_status submit_to_slurm(const char *script, const char **job,
                                   kiln_err *err) {
    const char *const more[] = {"--partition=a b", NULL};
    const kiln_fleet_options o = {
        .n = 3, .dir = "/dir", .name = "x", .engine_option = more};
    (void)with_command("sbatch", script);
    return kiln_fleet_engine_find("slurm")->submit(arena(), &o, "script", 3, NULL, job,
                                                   err);
}

static void slurm_takes_jobs(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *job = NULL;
    kiln_assert_status_ok(
        submit_to_slurm("for w; do case $w in --array=0-2|'--partition=a b'|script) "
                        "n=x$n;; esac; done; [ \"$n\" = xxx ] && echo '4711;cluster'",
                        &job, &err),
        &err);
    assert_string_equal(job, "4711");
    kiln_assert_fails(
        submit_to_slurm("echo 'sbatch: error: invalid partition' >&2; exit 1", &job,
                        &err),
        KILN_ERR_IO, &err, "does not take the job: sbatch: error: invalid partition");
    kiln_err_clear(&err);
    kiln_assert_fails(submit_to_slurm("echo what", &job, &err), KILN_ERR_IO, &err,
                      "does not take the job: what");
}

typedef struct look_row {
    const char *name, *squeue, *sacct, *want; /* want NULL: it fails */
} look_row;

static look_row look_rows[] = {
    {"states",
     "echo '0|RUNNING|n1|None|0|'; echo '1|NODE_FAIL|n2|NodeDown|2|';"
     "echo '2|CANCELLED by 0|n3|None|0|'; echo; echo '3|COMPLETED|n4|None|0'",
     "exit 1",
     "0 RUNNING n1 0 on; 1 NODE_FAIL n2 2 failed; 2 CANCELLED by 0 n3 0 failed; "
     "3 COMPLETED n4 0 good; "},
    {"a_job_of_one", "echo 'N/A|PENDING||Dependency|0|'", "exit 1",
     "-1 PENDING  0 on; "},
    {"half_a_line", "printf '0|RUN'", "exit 1", "0 RUN  0 on; "},
    {"forgotten", "echo 'error: Invalid job id specified' >&2; exit 1",
     "echo '17_0|COMPLETED|n1'; echo '17_1|TIMEOUT|n2'",
     "0 COMPLETED n1 0 good; 1 TIMEOUT n2 0 failed; "},
    {"forgotten_by_all", "echo 'error: Invalid job id specified' >&2; exit 1", "exit 1",
     ""},
    {"away", "echo 'error: Unable to contact slurm controller' >&2; exit 1", "exit 1",
     NULL},
};

static void slurm_says(void **state) {
    const look_row *r = *state;
    kiln_err err = {0};
    kiln_fleet_says says;
    kiln_buf got;
    (void)with_command("squeue", r->squeue);
    (void)with_command("sacct", r->sacct);
    const kiln_status st =
        kiln_fleet_engine_find("slurm")->look(arena(), "17", &says, &err);
    if (r->want == NULL) {
        kiln_assert_fails(st, KILN_ERR_IO, &err, "Unable to contact");
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf_init(&got, arena());
    kiln_buf_puts(&got, "");
    for (size_t i = 0; i < says.n; i++)
        kiln_buf_printf(&got, "%d %s %s %d %s; ", says.v[i].member, says.v[i].state,
                        says.v[i].node, says.v[i].restarts,
                        !says.v[i].has_ended ? "on"
                        : says.v[i].is_good  ? "good"
                                             : "failed");
    assert_string_equal(got.p, r->want);
}

static void engines_are_named(void **state) {
    (void)state;
    assert_string_equal(kiln_fleet_engine_names(arena()), "slurm");
    assert_null(kiln_fleet_engine_find("none"));
}

int main(void) {
    kiln_test_add_rows(scripts_check_and_run, script_rows);
    kiln_test_add_rows(members_end, stories);
    kiln_test_add("slurm_takes_jobs", slurm_takes_jobs, NULL);
    kiln_test_add_rows(slurm_says, look_rows);
    kiln_test_add("engines_are_named", engines_are_named, NULL);
    return kiln_test_run("fleet");
}
