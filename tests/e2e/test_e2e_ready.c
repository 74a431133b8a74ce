/* Ready records from outside: made of a tuning run, read by builds and tuners on a
 * machine that has no database of its own, left out, missing, damaged. */
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "demo/samplenet/samplenet.onnx"

static const char *dir; /* one for all; the user has no database in it */

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"a_machine_tunes",
     {"tune", MODEL, "--trials", "3", "--no-ready", "--db", "@t.db"},
     0,
     " trials in ",
     NULL},
    {"its_best_become_ready",
     {"db", "export", "--best", "--db", "@t.db", "-o", "@ready.jsonl"},
     0,
     NULL,
     " ready records, 0 tasks left out\n"},
    {"they_hold", {"db", "check", "@ready.jsonl"}, 0, ", 0 wrong, 0 stale\n", NULL},
    /* Each kernel by itself: a search over layouts may leave a record for what it
     * estimates to be faster, as these few trials turn out. */
    {"builds_read_them",
     {"build", MODEL, "--profile", "native", "--layouts", "greedy", "--require-tuned",
      "50%", "-o", "@a.kiln.tar.zst"},
     0,
     "ready records chose for ",
     NULL},
    {"a_build_as_before",
     {"build", MODEL, "--profile", "native", "--layouts", "greedy", "-o",
      "@b.kiln.tar.zst"},
     0,
     "ready records chose for ",
     NULL},
    {"the_package_is_right", {"verify", "@a.kiln.tar.zst"}, 0, NULL, NULL},
    {"builds_leave_them_out",
     {"build", MODEL, "--profile", "native", "--no-ready", "--require-tuned", "50%",
      "-o", "@c.kiln.tar.zst"},
     1,
     "too little is tuned",
     NULL},
    {"other_threads_are_another_matter",
     {"build", MODEL, "--profile", "native", "--threads", "2", "-o", "@d.kiln.tar.zst",
      "--json", "-"},
     0,
     "\"ready_kernels\": 0",
     NULL},
    {"each_profile_has_its_own_answer",
     {"build", MODEL, "--profile", "native", "--profile", "aarch64", "-o",
      "@packages/"},
     0,
     "for profile aarch64",
     NULL},
    {"tuners_begin_with_them",
     {"tune", MODEL, "--trials", "1", "--db", "@u.db"},
     0,
     " kernels began with a ready record; ",
     NULL},
    {"tuners_leave_them_out",
     {"tune", MODEL, "--trials", "1", "--no-ready", "--db", "@v.db", "--json", "-"},
     0,
     "\"starts_from_ready\": false",
     NULL},
    {"benches_may_leave_them_out",
     {"bench", "--op", "conv x h=7 ic=16 oc=32 k=3", "--seconds", "0", "--no-ready"},
     0,
     NULL,
     NULL},
};

static kiln_test_cli_row bad_rows[] = {
    {"a_damaged_file_is_named",
     {"build", MODEL, "--profile", "native", "-o", "@e.kiln.tar.zst"},
     3,
     NULL,
     "while opening the ready records that come with kiln: install kiln again, or "
     "leave "
     "them out by --no-ready"},
    {"and_may_be_left_out",
     {"build", MODEL, "--profile", "native", "--no-ready", "-o", "@e.kiln.tar.zst"},
     0,
     "coverage",
     NULL},
};

static kiln_test_cli_row gone_rows[] = {
    {"a_missing_file_is_named",
     {"tune", MODEL, "--trials", "1", "--db", "@w.db"},
     4,
     NULL,
     "file 'ready.jsonl' is not in '"},
    {"a_night_misses_it_at_once",
     {"nightly", "@night.json"},
     4,
     NULL,
     "leave them out by --no-ready"},
    {"a_night_may_leave_it_out",
     {"nightly", "@night.json", "--no-ready", "--check"},
     0,
     "tuning.db --no-ready",
     NULL},
};

static const char *file(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static void put_file(const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(file(name), text, strlen(text), &err), &err);
}

static void a_machine_without_records(void **state) {
    char root[4096];
    (void)state;
    dir = kiln_test_dir();
    assert_int_equal(setenv("KILN_DATA", dir, 1), 0);
    assert_int_equal(setenv("KILN_DB", "", 1), 0);
    assert_int_equal(setenv("XDG_DATA_HOME", dir, 1), 0);
    assert_non_null(getcwd(root, sizeof root));
    put_file("night.json",
             kiln_format(kiln_test_arena(),
                         "{\"models\": [{\"name\": \"s\", \"source\": \"%s/" MODEL
                         "\"}]}",
                         root));
}

static void archives_are_equal(void **state) {
    kiln_err err = {0};
    kiln_str a, b, c;
    (void)state;
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), file("a.kiln.tar.zst"), 0, &a, &err), &err);
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), file("b.kiln.tar.zst"), 0, &b, &err), &err);
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), file("c.kiln.tar.zst"), 0, &c, &err), &err);
    assert_true(kiln_str_eq(a, b));
    assert_false(kiln_str_eq(a, c)); /* without them it says so */
}

static void the_file_is_damaged(void **state) {
    (void)state;
    put_file("ready.jsonl", "{\"kiln_ready_records\": 1}\n{\"workload\": ");
}

static void the_file_is_gone(void **state) {
    (void)state;
    assert_int_equal(unlink(file("ready.jsonl")), 0);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("a_machine_without_records", a_machine_without_records, NULL);
    kiln_test_add_rows(check, rows);
    kiln_test_add("archives_are_equal", archives_are_equal, NULL);
    kiln_test_add("the_file_is_damaged", the_file_is_damaged, NULL);
    kiln_test_add_rows(check, bad_rows);
    kiln_test_add("the_file_is_gone", the_file_is_gone, NULL);
    kiln_test_add_rows(check, gone_rows);
    return kiln_test_run("ready records");
}
