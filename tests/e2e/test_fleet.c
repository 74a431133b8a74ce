/* kiln tune --dispatch slurm: a Slurm of four nodes and a server of PostgreSQL, both the
 * test's own, tune together; a node that dies takes its trials in flight with it and
 * nothing else. */
#include "tests/support/cli_run.h"
#include "tests/support/db_engine.h"
#include "tests/support/db_make.h"
#include "tests/support/slurm_cluster.h"

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
    kiln_err err = {0};
    kiln_buf one, two;
    kiln_db_import_counts n;
    kiln_db *server = kiln_test_db_open(place);
    kiln_db *file =
        kiln_test_db_open(kiln_path_join(kiln_test_arena(), dir, "same.db"));
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
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(run_row, rows);
    kiln_test_add("four_nodes_tune_together", four_nodes_tune_together, NULL);
    return kiln_test_run("fleet");
}
