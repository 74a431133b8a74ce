/* kiln db from outside: exit codes, tables, JSON, refusals. */
#include "tests/support/program/cli_run.h"
#include "tests/support/database/db_make.h"

#include <stdlib.h>

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"has_an_example", {"db", "--help"}, 0, "example:\n", NULL},
    {"counts",
     {"db", "stats", "--db", "@t.db"},
     0,
     "trials       3\ngood         2\n",
     NULL},
    {"counts_failures",
     {"db", "stats", "--db", "@t.db", "--json", "-"},
     0,
     "\"crash\": 1",
     NULL},
    {"finds_nothing_wrong", {"db", "check", "--db", "@t.db"}, 0, "no problems\n", NULL},
    {"exports", {"db", "export", "--db", "@t.db", "-o", "@t.jsonl"}, 0, NULL, NULL},
    {"exports_nothing_that_no_template_takes",
     {"db", "export", "--best", "--db", "@t.db", "-o", "@best.jsonl"},
     0,
     NULL,
     "left out: conv (x86-test, 1 thread, fast): "},
    {"checks_ready_records",
     {"db", "check", "@best.jsonl"},
     0,
     "0 ready records, 0 wrong, 0 stale\n",
     NULL},
    {"checks_ready_records_for_programs",
     {"db", "check", "@best.jsonl", "--json", "-"},
     0,
     "\"stale\": []",
     NULL},
    {"refuses_records_that_are_not_ready",
     {"db", "check", "@t.jsonl"},
     3,
     NULL,
     "no file of ready records"},
    {"checks_one_of_both",
     {"db", "check", "@best.jsonl", "--db", "@t.db"},
     2,
     NULL,
     "kiln db check takes no file"},
    {"imports_into_a_new_file",
     {"db", "import", "@t.jsonl", "--db", "@u.db"},
     0,
     "3 new, 0 known\n",
     NULL},
    {"imports_again",
     {"db", "import", "@t.jsonl", "@t.jsonl", "--db", "@u.db"},
     0,
     "0 new, 3 known\n",
     NULL},
    {"learns_only_from_several_works",
     {"db", "learn", "--db", "@u.db"},
     0,
     "too few workloads to learn from",
     NULL},
    {"prunes",
     {"db", "prune", "--keep", "1", "--db", "@u.db"},
     0,
     "1 trial removed",
     NULL},
    {"says_what_is_wrong",
     {"db", "check", "--db", "@bad.db"},
     1,
     "trial 1: median 1 ns, its samples say 100\n",
     NULL},
    {"refuses_another_file",
     {"db", "stats", "--db", "@t.jsonl"},
     3,
     NULL,
     "is not a tuning database"},
    {"refuses_a_file_that_is_not_there",
     {"db", "export", "--db", "@none.db"},
     3,
     NULL,
     "there is no tuning database"},
    {"refuses_another_action", {"db", "drop"}, 2, NULL, "stats, check, export"},
    {"refuses_another_actions_option",
     {"db", "stats", "--keep", "3"},
     2,
     NULL,
     "kiln db stats takes no option '--keep'"},
    {"wants_files_to_import",
     {"db", "import", "--db", "@u.db"},
     2,
     NULL,
     "takes the files to import"},
    {"refuses_a_torn_import",
     {"db", "import", "@torn.jsonl", "--db", "@u.db"},
     3,
     NULL,
     "importing line 2"},
    {"refuses_no_number",
     {"db", "prune", "--keep", "few", "--db", "@u.db"},
     2,
     NULL,
     "--keep must be a number"},
};

static const char *dir; /* one for all */

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static const char *file(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static void make_files(void **state) {
    static const double ns[] = {100, 200};
    kiln_err err = {0};
    (void)state;
    dir = kiln_test_dir();
    kiln_db *db = kiln_test_db_open(file("t.db"));
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    for (int i = 0; i < 3; i++) {
        const kiln_db_trial t =
            kiln_test_db_trial(i, i < 2 ? &ns[i] : NULL, i < 2 ? NULL : "crash");
        assert_true(kiln_test_db_record(db, id, &t));
    }
    kiln_db_close(db);
    db = kiln_test_db_open(file("bad.db"));
    const kiln_db_trial t = kiln_test_db_trial(0, &ns[0], NULL);
    assert_true(kiln_test_db_record(db, kiln_test_db_task_id(db, &task), &t));
    kiln_test_db_run(db, "UPDATE trial SET median_ns = 1");
    kiln_db_close(db);
    static const char torn[] = "{\"kiln_tuning_records\": 1}\n{\"workload\": ";
    kiln_assert_status_ok(
        kiln_file_write(file("torn.jsonl"), torn, sizeof torn - 1, &err), &err);
}

/* Who only looks makes no folder; who imports does. */
static void makes_a_folder_where_it_writes(void **state) {
    static const struct {
        const char *arg[3];
        bool makes;
    } row[] = {{{"db", "stats"}, false},
               {{"db", "check"}, false},
               {{"db", "prune"}, false},
               {{"db", "import", "t.jsonl"}, true}};
    const char *kiln = getenv("KILN");
    kiln_arena *a = kiln_test_arena();
    (void)state;
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the program");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *home = kiln_test_dir();
        const char *env[] = {kiln_format(a, "XDG_DATA_HOME=%s", home),
                             "KILN_DB=", NULL};
        const char *argv[] = {kiln, row[i].arg[0], row[i].arg[1],
                              row[i].arg[2] != NULL ? file(row[i].arg[2]) : NULL, NULL};
        const kiln_process_options o = {
            .argv = argv, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
        kiln_process_result r;
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
        assert_int_equal(kiln_dir_exists(kiln_path_join(a, home, "kiln")),
                         row[i].makes);
        if (r.code != (row[i].makes ? 0 : 3))
            fail_msg("kiln db %s: %d: %.*s", row[i].arg[1], r.code,
                     KILN_STR_ARG(r.err));
    }
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("make_files", make_files, NULL);
    kiln_test_add_rows(check, rows);
    kiln_test_add("makes_a_folder_where_it_writes", makes_a_folder_where_it_writes,
                  NULL);
    return kiln_test_run("kiln db");
}
