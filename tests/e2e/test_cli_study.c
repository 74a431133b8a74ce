/* kiln study from outside: what it prints and refuses, files that it writes, Ctrl-C. */
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>

static const char *dir; /* one for all */

static kiln_test_cli_row rows[] = {
    {"has_an_example", {"study", "--help"}, 0, "kiln study neocpu", NULL},
    {"knows_its_studies",
     {"study", "alexnet"},
     2,
     NULL,
     "kiln study does autotvm, neocpu, fusion, rivals or transfer, not 'alexnet'"},
    {"refuses_options_of_another_study",
     {"study", "neocpu", "--seeds", "3"},
     2,
     NULL,
     "kiln study neocpu has no --seeds"},
    {"rivals_wants_models",
     {"study", "rivals"},
     2,
     NULL,
     "name what is measured: --models a/model.tflite,resnet18"},
    {"transfer_wants_models",
     {"study", "transfer"},
     2,
     NULL,
     "name networks that the database has trials of: --models"},
    {"transfer_replays",
     {"study", "transfer", "--models", "dqn", "--replay", "--db", "@few.db",
      "--measured", "@times.db"},
     0,
     "dqn: 0 of ",
     NULL},
    {"fusion_has_no_libraries",
     {"study", "fusion", "--baselines", "onnxruntime"},
     2,
     NULL,
     "kiln study fusion has no --baselines"},
    {"autotvm_has_no_json",
     {"study", "autotvm", "--json", "@never.json"},
     2,
     NULL,
     "kiln study autotvm has no --json"},
    {"whole_spaces_have_no_page",
     {"study", "autotvm", "--whole-spaces", "--html", "@never.html"},
     2,
     NULL,
     "--whole-spaces has no --html"},
    {"whole_spaces_go_without_a_corpus",
     {"study", "autotvm", "--whole-spaces", "--corpus", "@never.jsonl"},
     2,
     NULL,
     "--whole-spaces goes without a corpus"},
    {"works_are_of_a_collection",
     {"study", "autotvm", "--works", "C2"},
     2,
     NULL,
     "--works is of --collect, which measures: kiln study autotvm --collect --works "
     "C2,C6; a replay is of the whole corpus"},
    {"a_database_is_of_a_collection",
     {"study", "autotvm", "--whole-spaces", "--db", "@never.db"},
     2,
     NULL,
     "--db is of --collect"},
    {"a_work_of_whole_spaces_has_a_name",
     {"study", "autotvm", "--whole-spaces", "--works", "C99"},
     2,
     NULL,
     "no work of the corpus is called 'C99'"},
    {"names_the_networks",
     {"study", "neocpu", "--models", "resnet19"},
     2,
     NULL,
     "the zoo has no network 'resnet19'; it has: resnet18"},
    {"names_a_file_that_is_not_there",
     {"study", "rivals", "--models", "/nowhere"},
     2,
     NULL,
     "there is no file '/nowhere'; name models by their paths"},
    {"names_the_parts",
     {"study", "neocpu", "--parts", "table9"},
     2,
     NULL,
     "there is no part 'table9'; there are: steps, beside, threads"},
    {"names_the_libraries",
     {"study", "neocpu", "--models", "dqn", "--baselines", "caffe"},
     2,
     NULL,
     "there is no baseline 'caffe'"},
    {"wants_a_round",
     {"study", "fusion", "--rounds", "0"},
     2,
     NULL,
     "--rounds must be"},
    {"measures_the_steps",
     {"study", "neocpu", "--models", "dqn", "--parts", "steps", "--threads", "1",
      "--rounds", "2", "--csv", "@steps.csv", "--html", "@steps.html", "--no-ready"},
     0,
     "  search ",
     NULL},
    {"says_how_to_get_libraries",
     {"study", "neocpu", "--models", "dqn", "--parts", "beside,threads", "--threads",
      "2", "--rounds", "2"},
     0,
     "'kiln baselines install --only openvino' gets it",
     NULL},
    {"writes_json_and_nothing_else",
     {"study", "fusion", "--threads", "1", "--rounds", "2", "--json", "-"},
     0,
     "\"format\": \"kiln-study-1\"",
     NULL},
    {"gives_a_bad_model_as_a_row",
     {"study", "neocpu", "--models", "@bad.onnx", "--parts", "steps", "--rounds", "1"},
     1,
     "failed: ",
     NULL},
};

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static void check_files(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_str csv, page;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "steps.csv"), 0, &csv, &err), &err);
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "steps.html"), 0, &page, &err), &err);
    const char *text = kiln_str_dupv(a, csv);
    assert_true(kiln_str_starts(csv, "study,part,group,"));
    assert_non_null(strstr(text, "neocpu,steps,dqn,dqn,plain,1,measured"));
    assert_non_null(strstr(text, "neocpu,steps,dqn,dqn,search,1,measured"));
    assert_true(kiln_str_starts(page, "<!DOCTYPE html>"));
}

/* ---- Ctrl-C ---------------------------------------------------------------------- */

static kiln_process_result interrupted_after(int after_s, const char *json) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_process_result r;
    const char *const argv[] = {"timeout",
                                "--preserve-status",
                                "-s",
                                "INT",
                                kiln_format(a, "%d", after_s),
                                getenv("KILN"),
                                "study",
                                "neocpu",
                                "--models=dqn",
                                "--parts=steps",
                                "--rounds=100000",
                                "--json",
                                json,
                                NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = 2 * KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    return r;
}

static size_t n_rows(const char *json, const kiln_json **doc) {
    kiln_err err = {0};
    if (!kiln_file_exists(json))
        return 0;
    kiln_assert_status_ok(kiln_json_read(kiln_test_arena(), json, doc, &err), &err);
    return kiln_json_size(
        kiln_json_get(kiln_json_first(kiln_json_get(*doc, "parts")), "rows"));
}

/* What was measured until then is given; a slow machine gets more time for it. */
static void keeps_what_it_measured(void **state) {
    (void)state;
    const char *json = kiln_path_join(kiln_test_arena(), dir, "interrupted.json");
    const kiln_json *doc = NULL;
    kiln_process_result r = {.code = 7};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    for (int s = 4; s < KILN_TEST_PATIENCE_S && n_rows(json, &doc) == 0; s *= 3)
        r = interrupted_after(s, json);
    assert_int_equal(r.code, 7);
    assert_non_null(strstr(r.err.p, "rows above were measured"));
    assert_int_equal(n_rows(json, &doc), 4);
    assert_true(kiln_json_bool(kiln_json_get(doc, "interrupted"), false));
}

int main(void) {
    kiln_err err = {0};
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(kiln_test_arena(), dir, "bad.onnx"), "x", 1,
                        &err),
        &err);
    kiln_test_add_rows(check, rows);
    kiln_test_add("writes_files", check_files, NULL);
    kiln_test_add("keeps_what_it_measured_when_interrupted", keeps_what_it_measured,
                  NULL);
    return kiln_test_run("cli_study");
}
