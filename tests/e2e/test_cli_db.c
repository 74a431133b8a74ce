/* kiln db from outside: exit codes, tables, JSON, refusals. */
#include "tests/support/cli_run.h"
#include "tests/support/db_make.h"

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
    {"prunes", {"db", "prune", "--keep", "1", "--db", "@u.db"}, 0, "1 trials", NULL},
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
     4,
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

int main(void) {
    kiln_test_add("make_files", make_files, NULL);
    kiln_test_add_rows(check, rows);
    return kiln_test_run("kiln db");
}
