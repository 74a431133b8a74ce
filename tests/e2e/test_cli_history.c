/* kiln history and kiln compare from outside: tables, files, refusals. */
#include "tests/support/program/cli_run.h"

#include <string.h>
#include <unistd.h>

#define RUN(n) "2026-11-0" n "T02-00-00"
#define OUT(n) ("@out/" RUN(n))

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"has_an_example", {"history", "--help"}, 0, "example:\n", NULL},
    {"knows_its_actions",
     {"history", "forge", "@accepted"},
     2,
     NULL,
     "list, show, export, check, add, prune or freeze, not 'forge'"},
    {"wants_a_history", {"history", "list"}, 2, NULL, "HISTORY"},
    {"says_that_there_is_none",
     {"history", "list", "@accepted"},
     3,
     NULL,
     "there is no history '"},
    {"refuses_a_run_without_results",
     {"history", "add", "@accepted", "@out"},
     3,
     NULL,
     "results.json"},
    {"refuses_interrupted_runs",
     {"history", "add", "@accepted", "@broken"},
     2,
     NULL,
     "let kiln nightly end it first"},
    {"refuses_parts_of_pipelines",
     {"history", "add", "@accepted", "@part"},
     2,
     NULL,
     "the history holds whole nights"},
    {"refuses_all_where_one_is_refused",
     {"history", "add", "@accepted", OUT("1"), "@part"},
     2,
     NULL,
     "the history holds whole nights"},
    {"makes_no_history_of_refusals",
     {"history", "check", "@accepted"},
     3,
     NULL,
     "kiln nightly makes one"},
    {"adds_nights",
     {"history", "add", "@accepted", OUT("1"), OUT("2"),
      "@out/" RUN("3") "/results.json"},
     0,
     "added " RUN("1") " of demo\nadded " RUN("2") " of demo\n",
     NULL},
    {"adds_them_again", {"history", "add", "@accepted", OUT("2")}, 0, "added ", NULL},
    {"lists", {"history", "list", "@accepted"}, 0, "3 nights, ", NULL},
    {"lists_by_the_files_name",
     {"history", "list", "@accepted/history.db"},
     0,
     RUN("3"),
     NULL},
    {"lists_some",
     {"history", "list", "@accepted", "--last", "1"},
     0,
     "1 night, ",
     NULL},
    {"lists_for_programs",
     {"history", "list", "@accepted", "--json", "-"},
     0,
     "\"format\": \"kiln-history-1\"",
     NULL},
    {"lists_another_pipeline",
     {"history", "list", "@accepted", "--pipeline", "x"},
     0,
     "0 nights, ",
     NULL},
    {"shows_one",
     {"history", "show", "@accepted", RUN("3")},
     0,
     "1.0400 (1.0300 to 1.0500) of the frozen archive  step +",
     NULL},
    {"shows_what_changed",
     {"history", "show", "@accepted", RUN("3")},
     0,
     "since " RUN("2") ":\n  net, native, 1 thread: archive: ",
     NULL},
    {"shows_none",
     {"history", "show", "@accepted", "yesterday"},
     2,
     NULL,
     "the history has no run 'yesterday'"},
    {"exports",
     {"history", "export", "@accepted"},
     0,
     "night,run,pipeline,started,kiln,commit,",
     NULL},
    {"exports_to_a_file",
     {"history", "export", "@accepted", "-o", "@n.csv", "--json", "@n.json"},
     0,
     NULL,
     NULL},
    {"checks", {"history", "check", "@accepted"}, 0, "history.db: 0 problems\n", NULL},
    {"finds_damage",
     {"history", "check", "@damaged.db"},
     3,
     NULL,
     "is not a history of nights, or damaged"},
    {"wants_a_rule",
     {"history", "prune", "@accepted", "--out", "@out"},
     2,
     NULL,
     "which stay by --keep N, --gb X or both"},
    {"tries_to_prune",
     {"history", "prune", "@accepted", "--out", "@out", "--keep", "1", "--dry-run"},
     0,
     "would remove " RUN("1") ", ",
     NULL},
    {"prunes",
     {"history", "prune", "@accepted", "--out", "@out", "--keep", "1"},
     0,
     "2 runs removed, 0.0 MB freed; 1 left, ",
     NULL},
    {"lists_what_is_pruned", {"history", "list", "@accepted"}, 0, " pruned ", NULL},
    {"forgets",
     {"history", "prune", "@accepted", "--forget", "2"},
     0,
     "1 night left the history\n",
     NULL},
    {"takes_no_strange_option",
     {"history", "check", "@accepted", "--keep", "1"},
     2,
     NULL,
     "kiln history check takes no option '--keep'"},
    {"freezes_what_is_accepted",
     {"history", "freeze", "@nothing"},
     3,
     NULL,
     "nothing is accepted in '"},
    {"compares_runs",
     {"compare", OUT("3"), "@broken"},
     0,
     "; times in brackets are the ",
     NULL},
    {"compares_for_programs",
     {"compare", OUT("3"), "@broken/results.json", "--json", "-"},
     0,
     "\"format\": \"kiln-compare-1\"",
     NULL},
    {"compares_two", {"compare", "@broken"}, 2, NULL, "RUN_A RUN_B"},
    {"compares_what_is_there", {"compare", "@broken", "@none"}, 3, NULL, "none"},
};

static const char *dir;

static void write_at(const char *name, const char *text) {
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), dir, name);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(kiln_test_arena(), path), &err),
                          &err);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static void write_run(const char *folder, const char *run, const char *status,
                      double ratio) {
    kiln_arena *a = kiln_test_arena();
    const char *results = kiln_format(
        a,
        "{\"schema\": \"kiln-results-1\", \"name\": \"demo\", \"run\": \"%s\","
        " \"started\": \"%.10sT02:00:00Z\", \"status\": \"%s\", \"jobs\": [{\"model\":"
        " \"net\", \"profile\": \"native\", \"threads\": 1, \"status\": \"ok\","
        " \"archive\": {\"sha256\": \"%s\"}, \"gate\": {\"verdict\": \"pass\","
        " \"frozen_sha256\": \"f\", \"frozen\": {\"estimate\": %g, \"low\": %g,"
        " \"high\": %g}}}]}",
        run, run, status, run, ratio, ratio - .01, ratio + .01);
    const char *json = "{\"schema\": \"kiln-run-1\", \"pipeline\": \"demo\","
                       " \"is_ended\": true}";
    write_at(kiln_format(a, "%s/results.json", folder), results);
    write_at(kiln_format(a, "%s/run.json", folder), json);
}

static void check(void **state) {
    (void)kiln_test_cli_check(kiln_test_arena(), dir, *state);
}

static void files_were_written(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    assert_true(kiln_file_exists(kiln_path_join(a, dir, "n.csv")));
    assert_true(kiln_file_exists(kiln_path_join(a, dir, "n.json")));
    assert_false(kiln_dir_exists(kiln_path_join(a, dir, "out/" RUN("1"))));
    assert_true(kiln_dir_exists(kiln_path_join(a, dir, "out/" RUN("3"))));
    assert_true(kiln_file_exists(kiln_path_join(a, dir, "out/index.html")));
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    write_run("out/" RUN("1"), RUN("1"), "ok", 1);
    write_run("out/" RUN("2"), RUN("2"), "ok", 1.001);
    write_run("out/" RUN("3"), RUN("3"), "ok", 1.04);
    write_run("broken", "broken", "interrupted", 1);
    write_run("part", "part", "ok", 1);
    write_at("part/run.json", "{\"schema\": \"kiln-run-1\", \"pipeline\": \"demo\","
                              " \"is_ended\": true, \"is_part\": true}");
    write_at("damaged.db", "this is no database, and long enough to be read as one");
    if (symlink(RUN("3"), kiln_path_join(kiln_test_arena(), dir, "out/latest")) != 0)
        return 1;
    kiln_test_add_rows(check, rows);
    kiln_test_add("files_were_written", files_were_written, NULL);
    return kiln_test_run("kiln history");
}
