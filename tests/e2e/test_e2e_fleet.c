/* kiln tune --dispatch slurm: a Slurm of four nodes and a server of PostgreSQL, both the
 * test's own, tune together; a node that dies takes its trials in flight with it and
 * nothing else. */
#include "base/host/child.h"
#include "sql/sql.h"
#include "tests/support/program/cli_run.h"
#include "tests/support/database/db_engine.h"
#include "tests/support/database/db_make.h"
#include "tests/support/measuring/slurm_cluster.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir; /* one for all */

#define SMALL "matmul small m=5 k=60 n=36"

/* ---- refusals -------------------------------------------------------------------- */

static kiln_test_cli_row rows[] = {
    {"no_such_scheduler",
     {"tune", "--op", SMALL, "--dispatch", "none", "--db", "postgresql:///x"},
     2,
     NULL,
     "--dispatch must be one of slurm, is 'none'"},
    {"a_file_is_of_one_machine",
     {"tune", "--op", SMALL, "--dispatch", "slurm", "--db", "@t.db"},
     2,
     NULL,
     "--dispatch needs a database that all machines reach"},
    {"runners_are_elsewhere",
     {"tune", "--op", SMALL, "--dispatch", "slurm", "--runner", "unix:/x", "--db",
      "postgresql:///x"},
     2,
     NULL,
     "--runner does not go with --dispatch"},
    {"no_tuners",
     {"tune", "--op", SMALL, "--dispatch", "slurm", "--tuners", "0", "--db",
      "postgresql:///x"},
     2,
     NULL,
     "--tuners"},
    {"a_password_is_not_shown",
     {"tune", "--op", SMALL, "--dispatch", "slurm", "--db",
      "postgresql://me:secret@host/x"},
     2,
     NULL,
     "must hold no password"},
    {"a_shard_behind_the_last",
     {"tune", "--op", SMALL, "--shard", "4/4", "--db", "@t.db"},
     2,
     NULL,
     "--shard must be K/N with K from 0 to N - 1, is '4/4'"},
    {"a_name_of_two_words",
     {"tune", "--op", SMALL, "--as", "a b", "--db", "@t.db"},
     2,
     NULL,
     "--as takes letters"},
    {"another_machine",
     {"tune", "--op", SMALL, "--profile-key", "00ff", "--db", "@t.db"},
     3,
     NULL,
     "has another key than was asked for"},
};

static void run_row(void **state) {
    kiln_arena a = {0};
    (void)kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* ---- a fleet --------------------------------------------------------------------- */

/* The same trials from another engine are the same bytes. */
static void exports_are_equal(const char *place) {
    static int n_files;
    kiln_err err = {0};
    kiln_buf one, two;
    kiln_db_import_counts n;
    kiln_db *server = kiln_test_db_open(place);
    kiln_db *file = kiln_test_db_open(
        kiln_path_join(kiln_test_arena(), dir,
                       kiln_format(kiln_test_arena(), "same-%d.db", n_files++)));
    kiln_buf_init(&one, kiln_test_arena());
    kiln_buf_init(&two, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(server, &one, &err), &err);
    kiln_assert_status_ok(kiln_db_import(file, kiln_buf_str(&one), "x", &n, &err),
                          &err);
    kiln_assert_status_ok(kiln_db_export(file, &two, &err), &err);
    kiln_assert_text_equal(kiln_buf_str(&two), kiln_buf_str(&one));
    kiln_test_db_is_sound(server);
    kiln_db_close(server);
    kiln_db_close(file);
}

static kiln_db_stats stats_of(const char *place) {
    kiln_err err = {0};
    kiln_db_stats s;
    kiln_db *db = kiln_test_db_open(place);
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    kiln_db_close(db);
    return s;
}

static int n_times(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

static void four_nodes_tune_together(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_slurm();
    const char *place = kiln_test_postgresql_place("fleet");
    const kiln_test_cli_row row = {"fleet",
                                   {"tune", "--op", SMALL, "--trials", "10", "--search",
                                    "random", "--no-transfer", "--dispatch", "slurm",
                                    "--tuners", "4", "--dispatch-dir", "@fleet", "--db",
                                    place},
                                   0,
                                   "ended by trials spent",
                                   "4 tuners, and job "};
    const kiln_process_result r = kiln_test_cli_check(&a, dir, &row);
    if (n_times(r.out.p, " well ") != 5)
        fail_msg("%s", r.out.p);
    const kiln_db_stats s = stats_of(place);
    assert_int_equal(s.n_trials - s.n_repeats, 10); /* so many candidates, together */
    assert_int_equal(s.n_claims, 0);
    exports_are_equal(place);
    static kiln_test_cli_row looks[] = {
        {"stats", {"db", "stats", "--db", NULL}, 0, "claims       0", NULL},
        {"check", {"db", "check", "--db", NULL}, 0, "no problems", NULL},
        {"doctor", {"doctor", "--db", NULL}, 0, "trials of 1 task", NULL},
    };
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        looks[i].arg[i == 2 ? 2 : 3] = place;
        (void)kiln_test_cli_check(&a, dir, &looks[i]);
    }
    kiln_arena_fini(&a);
}

/* ---- a node dies ----------------------------------------------------------------- */

/* A number of the database's, asked behind its back. */
static int64_t number(const char *place, const char *question) {
    static const kiln_sql_options o = {.busy_ms = 60000, .what = "db", .remedy = ""};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_sql *s = NULL;
    kiln_query q = {0};
    bool has_row = false;
    kiln_assert_status_ok(kiln_sql_open(&a, place, &o, &s, &err), &err);
    kiln_assert_status_ok(kiln_query_open(s, question, &q, &err), &err);
    kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    const int64_t n = has_row ? kiln_query_get_i64(&q, 0) : -1;
    kiln_query_close(&q);
    kiln_sql_close(s);
    kiln_arena_fini(&a);
    return n;
}

typedef struct soak {
    kiln_child child;
    const char *log, *place;
} soak;

static void begin_fleet(soak *s) {
    kiln_err err = {0};
    const kiln_cpus any = {0};
    s->log = kiln_path_join(kiln_test_arena(), dir, "soak.log");
    const char *const argv[] = {
        "/bin/sh", "-c",
        kiln_format(kiln_test_arena(),
                    "exec \"$KILN\" tune zoo:resnet18 --trials 4 --time-limit 3m "
                    "--seed 3 --dispatch "
                    "slurm --tuners 4 --dispatch-dir %s/soak --db '%s' >%s 2>&1",
                    dir, s->place, s->log),
        NULL};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &s->child, &err), &err);
}

static const char *text_of(const char *path) {
    kiln_err err = {0};
    kiln_str text;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 1 << 24, &text, &err),
                          &err);
    return kiln_str_dupv(kiln_test_arena(), text);
}

/* Until it answers with so many, or the fleet has ended too early. */
static void wait_for(soak *s, const char *question, int64_t least) {
    for (int64_t ms = 0; number(s->place, question) < least; ms += 100) {
        if (waitpid(s->child.pid, NULL, WNOHANG) != 0 || ms > KILN_TEST_PATIENCE_MS)
            fail_msg("the fleet has ended too early: %s", text_of(s->log));
        poll(NULL, 0, 100);
    }
}

static void a_node_dies(void **state) {
    (void)state;
    soak s = {.place = NULL};
    int status = 0;
    if (getenv("KILN_SOAK") == NULL)
        kiln_test_skip("takes minutes; KILN_SOAK=1 asks for it");
    kiln_test_slurm();
    s.place = kiln_test_postgresql_place("soak");
    kiln_db_close(kiln_test_db_open(s.place));
    begin_fleet(&s);
    wait_for(&s, "SELECT count(*) FROM trial", 8);
    const kiln_process_result r =
        kiln_test_shell("squeue -h -r -t running -w n2 -o %F.%K");
    const char *mine = kiln_format(kiln_test_arena(), "owner LIKE 'slurm-%.*s %%'",
                                   (int)strcspn(r.out.p, "\n"), r.out.p);
    wait_for(
        &s, kiln_format(kiln_test_arena(), "SELECT count(*) FROM trial WHERE %s", mine),
        1);
    kiln_test_slurm_kill_node(2);
    const int64_t n_mine =
        number(s.place, kiln_format(kiln_test_arena(),
                                    "SELECT count(*) FROM trial WHERE %s", mine));
    const int64_t n_flying =
        number(s.place, kiln_format(kiln_test_arena(),
                                    "SELECT count(*) FROM claim WHERE %s", mine));
    const int64_t n_all = number(s.place, "SELECT count(*) FROM trial");
    assert_int_equal(waitpid(s.child.pid, &status, 0), s.child.pid);
    const char *said = text_of(s.log);
    print_message(
        "killed with %d trials of its own on record, %d in flight, %d of all\n"
        "%s\n",
        (int)n_mine, (int)n_flying, (int)n_all, said);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* What was on record is, what flew was measured by another: nothing is missing. */
    assert_true(number(s.place, kiln_format(kiln_test_arena(),
                                            "SELECT count(*) FROM trial WHERE %s",
                                            mine)) >= n_mine);
    const int64_t n_works = number(
        s.place, "SELECT count(*) FROM task k JOIN workload w ON w.id = k.workload"
                 " WHERE k.cache = 'rotated' AND w.key NOT LIKE '%convert%'");
    const int64_t n_candidates =
        number(s.place, "SELECT count(*) FROM trial t JOIN task k ON k.id = t.task JOIN"
                        " workload w ON w.id = k.workload WHERE t.round = 0 AND"
                        " k.cache = 'rotated' AND w.key NOT LIKE '%convert%'");
    print_message("%d kernels, %d candidates\n", (int)n_works, (int)n_candidates);
    assert_true(n_candidates >= 4 * n_works);
    assert_int_equal(number(s.place, "SELECT count(*) FROM claim"), 0);
    exports_are_equal(s.place);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(run_row, rows);
    kiln_test_add("four_nodes_tune_together", four_nodes_tune_together, NULL);
    kiln_test_add("a_node_dies", a_node_dies, NULL);
    return kiln_test_run("fleet");
}
