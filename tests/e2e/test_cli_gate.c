/* kiln accept and kiln gate from outside: verdicts, exit codes, JSON. KILN names the
 * program; "@x" in an argument is a file in the test's folder. */
#include "tests/support/program/cli_run.h"
#include "tests/support/package/package_vary.h"

#include <stdlib.h>
#include <string.h>

#define MODEL "demo/samplenet/samplenet.onnx"
#define NEW "@new/samplenet-1-native.kiln.tar.zst"

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"asks_what_was_accepted", {"gate", "@new"}, 2, NULL, "by --against FOLDER"},
    {"asks_where_to", {"accept", "@new"}, 2, NULL, "by --to FOLDER"},
    {"takes_seconds_above_0",
     {"gate", "@new", "--against", "@accepted", "--seconds", "0"},
     2,
     NULL,
     "--seconds must be a number above 0, at most 60, is '0'"},
    {"injects_above_0",
     {"gate", "@new", "--against", "@accepted", "--inject", "0"},
     2,
     NULL,
     "--inject must be a share above 0%, at most 1000%, such as 5%, is '0'"},
    {"limits_are_in_order",
     {"gate", "@new", "--against", "@accepted", "--fail-above", "4%"},
     2,
     NULL,
     "limits must be 0% <= fail above < pass below <= 100%, are 4% and 3%"},
    {"builds", {"build", MODEL, "--profile", "native", "-o", "@new/"}, 0, NULL, NULL},
    {"builds_for_two_threads",
     {"build", MODEL, "--profile", "native", "--threads", "2", "-o", "@two/"},
     0,
     "samplenet-1-native-t2.kiln.tar.zst",
     NULL},
    {"nothing_is_accepted_yet",
     {"gate", NEW, "--against", "@accepted"},
     0,
     "new          samplenet, native, 1 thread: nothing is accepted for it",
     NULL},
    {"says_what_it_would_accept",
     {"accept", "@new", "--to", "@accepted", "--dry-run", "--trust"},
     0,
     "would accept samplenet, version 1, native, 1 thread: sha256 ",
     NULL},
    {"dry_runs_accept_nothing",
     {"gate", NEW, "--against", "@accepted"},
     0,
     "new          samplenet",
     NULL},
    {"trusts_no_archive_unasked",
     {"accept", "@new", "--to", "@accepted"},
     2,
     NULL,
     "itself says that it is right: give the model that it was built from, by --model"},
    {"accepts",
     {"accept", "@new", "@two", "--to", "@accepted", "--model", MODEL, "--json", "-"},
     0,
     "\"judged_by\": \"reference\"",
     NULL},
    {"finds_it",
     {"gate", NEW, "--against", "@accepted"},
     0,
     "equal        samplenet, native, 1 thread: same code, plan and parameters",
     NULL},
    {"each_number_of_threads_has_its_own",
     {"gate", "@two", "@new", "--against", "@accepted"},
     0,
     "2 archives: 2 equal",
     NULL},
    {"accepts_once",
     {"accept", "@new", "--to", "@accepted"},
     0,
     "unchanged samplenet",
     NULL},
    {"refuses_a_model",
     {"accept", MODEL, "--to", "@accepted"},
     3,
     NULL,
     "is no package: it does not begin as zstd does"},
    {"a_model_is_no_candidate",
     {"gate", MODEL, "--against", "@accepted"},
     6,
     "invalid      demo/samplenet/samplenet.onnx: ",
     NULL},
    {"finds_no_file",
     {"gate", "@none", "--against", "@accepted"},
     3,
     NULL,
     "No such file or directory"},
};

static const char *dir;

static void check_row(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static const kiln_json *gate_with_seed(int seed, int *code) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_json *doc = NULL;
    const char *const arg[KILN_TEST_CLI_ARGS] = {"gate",
                                                 NEW,
                                                 "--against",
                                                 "@accepted",
                                                 "--time-equal",
                                                 "--seconds",
                                                 "0.01",
                                                 "--seed",
                                                 kiln_format(a, "%d", seed),
                                                 "--json",
                                                 "-",
                                                 NULL};
    const kiln_process_result got = kiln_test_cli_run(a, dir, arg);
    kiln_assert_status_ok(kiln_json_parse(a, got.out, "gate", &doc, &err), &err);
    *code = got.code;
    return doc;
}

static const char *verdict_of(const kiln_json *doc) {
    return kiln_json_string(kiln_json_get(doc, "verdict"), "");
}

/* Times are not looked at: only that the same code does not fail, and what the JSON
 * says of it. Chance may find it slower, but not with seed after seed. */
static void times_the_same_code(void **state) {
    (void)state;
    int seed = 5, code = -1;
    const kiln_json *doc = gate_with_seed(seed, &code);
    while (strcmp(verdict_of(doc), "fail") == 0 && seed < 8)
        doc = gate_with_seed(++seed, &code);
    const char *verdict = verdict_of(doc);
    const kiln_json *s = kiln_json_at(kiln_json_get(doc, "series"), 0);
    print_message("%s: %s\n", verdict,
                  kiln_json_string(kiln_json_get(s, "reason"), ""));
    assert_string_not_equal(verdict, "fail");
    assert_int_equal(code, strcmp(verdict, "invalid") == 0 ? 6 : 0);
    assert_string_equal(kiln_json_string(kiln_json_get(doc, "format"), ""),
                        "kiln-gate-1");
    assert_true(kiln_json_size(kiln_json_get(s, "processes")) >= 60);
    assert_true(kiln_json_number(kiln_json_get(s, "seed"), 0) == seed);
    assert_true(kiln_json_number(kiln_json_get(s, "detectable"), 0) > 0);
    assert_non_null(
        strstr(kiln_json_string(kiln_json_get(s, "command"), ""),
               kiln_format(kiln_test_arena(), " --seed %d --seconds 0.01 --time-equal",
                           seed)));
}

/* A candidate that computes something else never gets as far as the clock. */
static void a_wrong_candidate_ends_the_night(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_test_cli_row row = {
        "wrong",
        {"gate", "@wrong.kiln.tar.zst", "--against", "@accepted"},
        1,
        "wrong        small, ",
        NULL};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    package_vary(&(package_variant){.is_wrong = true},
                 kiln_path_join(&a, dir, "wrong.kiln.tar.zst"));
    kiln_test_cli_check(&a, dir, &row);
    kiln_arena_fini(&a);
}

/* Kernels that do nothing, in an archive that expects just that: its own self-test
 * passes, and nobody believes it. */
static kiln_test_cli_row idle_rows[] = {
    {"an_idle_package_calls_itself_right",
     {"verify", "@idle.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"the_reference_does_not",
     {"verify", "@idle.kiln.tar.zst", "--model", MODEL},
     1,
     "failed      reference, 1 thread: ",
     NULL},
    {"the_gate_does_not",
     {"gate", "@idle.kiln.tar.zst", "--against", "@accepted"},
     1,
     "self-test of the accepted archive, 1 thread: ",
     NULL},
    {"acceptance_does_not",
     {"accept", "@idle.kiln.tar.zst", "--to", "@accepted"},
     3,
     NULL,
     "is not accepted: self-test of the accepted archive, 1 thread: "},
    {"acceptance_does_not_trust_it",
     {"accept", "@idle.kiln.tar.zst", "--to", "@accepted", "--trust"},
     3,
     NULL,
     "is not accepted: self-test of the accepted archive, 1 thread: "},
    {"the_first_acceptance_does_not",
     {"accept", "@idle.kiln.tar.zst", "--to", "@empty"},
     2,
     NULL,
     "itself says that it is right"},
    {"nor_does_it_by_the_model",
     {"accept", "@idle.kiln.tar.zst", "--to", "@empty", "--model", MODEL},
     3,
     NULL,
     "is not accepted: reference, 1 thread: "},
    {"nor_does_a_new_one_by_the_model",
     {"gate", "@idle.kiln.tar.zst", "--against", "@empty", "--model", MODEL},
     1,
     "reference, 1 thread: ",
     NULL},
};

static void makes_an_idle_package(void **state) {
    (void)state;
    kiln_arena a = {0};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    package_idle(kiln_path_join(&a, dir, "new/samplenet-1-native.kiln.tar.zst"),
                 kiln_path_join(&a, dir, "idle.kiln.tar.zst"));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("makes_an_idle_package", makes_an_idle_package, NULL);
    kiln_test_add_rows(check_row, idle_rows);
    kiln_test_add("times_the_same_code", times_the_same_code, NULL);
    kiln_test_add("a_wrong_candidate_ends_the_night", a_wrong_candidate_ends_the_night,
                  NULL);
    return kiln_test_run("gate from outside");
}
