/* The kiln program from outside: exit codes, messages, JSON. KILN names the program. */
#include "compiler/target/target.h"
#include "tests/support/program/cli_run.h"

#include <stdlib.h>

#define DEMO "demo/samplenet/samplenet.onnx"
#define GOLDEN "demo/samplenet/golden"
#if defined(__aarch64__)
#define OTHER_PROCESSOR "x86-avx2"
#else
#define OTHER_PROCESSOR "aarch64"
#endif

static kiln_test_cli_row rows[] = {
    {"says_how_to_use_it_when_called_without_a_verb",
     {NULL},
     2,
     NULL,
     "usage: kiln VERB"},
    {"prints_help_to_stdout", {"--help"}, 0, "exit codes: 0 good", NULL},
    {"prints_its_version", {"--version"}, 0, "kiln " KILN_VERSION "\ncommit ", NULL},
    {"says_what_it_was_built_by", {"-V"}, 0, "\nbuilt by ", NULL},
    {"helps_with_a_verb", {"help", "tune"}, 0, "usage: kiln tune", NULL},
    {"helps_with_no_verb", {"help", "inspct"}, 2, NULL, "did you mean 'inspect'?"},
    {"guesses_a_misspelt_verb", {"inspct"}, 2, NULL, "did you mean 'inspect'?"},
    {"refuses_an_unknown_verb",
     {"frobnicate"},
     2,
     NULL,
     "kiln has no verb 'frobnicate'"},
    {"every_verb_has_an_example_inspect", {"inspect", "--help"}, 0, "example:\n", NULL},
    {"every_verb_has_an_example_verify", {"verify", "--help"}, 0, "example:\n", NULL},
    {"every_verb_has_an_example_profile", {"profile", "--help"}, 0, "example:\n", NULL},
    {"measuring_is_for_detection",
     {"profile", "list", "--measure"},
     2,
     NULL,
     "--measure and --no-measure are for kiln profile detect"},
    {"measuring_or_not",
     {"profile", "detect", "--measure", "--no-measure"},
     2,
     NULL,
     "exclude each other"},
    {"says_what_guesses_go_by",
     {"doctor"},
     0,
     "machine model: not measured: guesses go by what is known of such CPUs",
     NULL},
    {"lists_profiles", {"profile", "list"}, 0, "x86-avx2", NULL},
    {"shows_a_profile",
     {"profile", "show", "aarch64"},
     0,
     "\"arch\": \"aarch64\"",
     NULL},
    {"detects_this_machine",
     {"profile", "detect", "--no-measure"},
     0,
     "\"vector_bytes\"",
     NULL},
    {"lists_gpus_or_why_there_are_none",
     {"profile", "detect", "--no-measure"},
     0,
     NULL,
     "cuda: "},
    {"detects_no_such_gpu",
     {"profile", "detect", "--gpu", "nonesuch"},
     4,
     NULL,
     "--gpu nonesuch: this machine has no such GPU, of "},
    {"measures_no_gpu",
     {"profile", "detect", "--gpu", "1", "--measure"},
     2,
     NULL,
     "--gpu is for kiln profile detect, which measures no GPU"},
    {"refuses_an_unknown_profile",
     {"profile", "show", "nope"},
     2,
     NULL,
     "'nope' is no profile and no file; profiles: native, x86-avx512"},
    {"refuses_an_unknown_word",
     {"profile", "paint"},
     2,
     NULL,
     "kiln profile takes detect, list, or show NAME"},
    {"every_verb_has_an_example_doctor", {"doctor", "--help"}, 0, "example:\n", NULL},
    {"lists_profiles_as_json",
     {"profile", "list", "--json", "-"},
     0,
     "\"runs_here\"",
     NULL},
    {"writes_json_to_a_device",
     {"profile", "list", "--json", "/dev/null"},
     0,
     "x86-avx2",
     NULL},
    {"shows_a_profile_as_it_is",
     {"profile", "show", "aarch64", "--json", "-"},
     2,
     NULL,
     "--json is for list"},
    {"doctor_tells_what_disturbs", {"doctor"}, 0, "governor: ", NULL},
    {"doctor_tells_what_is_there",
     {"doctor"},
     0,
     "tuning database: there is none yet at '",
     NULL},
    {"guesses_a_misspelt_option",
     {"inspect", DEMO, "--jsn", "-"},
     2,
     NULL,
     "did you mean '--json'?"},
    {"refuses_an_option_without_its_value",
     {"inspect", DEMO, "--json"},
     2,
     NULL,
     "option '--json' needs a value: --json FILE"},
    {"refuses_a_flag_with_a_value",
     {"inspect", DEMO, "--graph=yes"},
     2,
     NULL,
     "option '--graph' takes no value"},
    {"refuses_an_option_given_twice",
     {"inspect", DEMO, "--json", "-", "--json", "-"},
     2,
     NULL,
     "option '--json' is given twice"},
    {"refuses_a_missing_argument",
     {"inspect"},
     2,
     NULL,
     "takes at least 1 argument, 0 given"},
    {"refuses_an_argument_too_many",
     {"inspect", DEMO, DEMO},
     2,
     NULL,
     "takes at most 1 argument, 2 given"},
    {"names_a_file_that_is_not_there",
     {"inspect", "no/such.onnx"},
     3,
     NULL,
     "no/such.onnx"},
    {"refuses_a_file_that_is_no_model", {"inspect", "README.md"}, 3, NULL, "README.md"},
    {"refuses_a_shape_that_is_none",
     {"inspect", DEMO, "--shape", "data:1xax3"},
     2,
     NULL,
     "'a' is not a dimension"},
    {"refuses_a_shape_that_breaks_off",
     {"inspect", DEMO, "--shape", "data:1x3x"},
     2,
     NULL,
     "'' is not a dimension; write DIMS as 1x3x224x224, none for one number"},
    {"takes_a_shape_of_no_dimensions",
     {"inspect", DEMO, "--shape", "data:"},
     3,
     NULL,
     "but [] is given; ranks must be equal"},
    {"refuses_a_binding_without_a_name",
     {"inspect", DEMO, "--bind", "7"},
     2,
     NULL,
     "--bind must be NAME=VALUE or NAME=FILE, is '7'"},
    {"refuses_a_shape_that_contradicts_the_model",
     {"inspect", DEMO, "--shape", "data:1x3x31x32"},
     3,
     NULL,
     "'data'"},
    {"refuses_an_unknown_pass",
     {"inspect", DEMO, "--print-after", "magic"},
     2,
     NULL,
     "no pass 'magic'; passes: all"},
    {"names_the_passes_of_the_driver_too",
     {"inspect", DEMO, "--print-after", "magic"},
     2,
     NULL,
     " eliminate_dead fuse choose lay_out place share devices plan generate"},
    {"prints_after_a_pass_of_the_driver",
     {"inspect", DEMO, "--print-after", "lay_out", "--profile", "x86-avx2",
      "--check-passes"},
     0,
     " for \"x86-avx2\" facts=fused+chosen+laid_out {\n  tensor 0 input 0 ",
     NULL},
    {"wants_a_pass_to_print_for_a_profile",
     {"inspect", DEMO, "--profile", "x86-avx2"},
     2,
     NULL,
     "--profile needs --print-after"},
    {"inspects_parameters_and_multiply_adds",
     {"inspect", DEMO},
     0,
     "parameters       62006 ",
     NULL},
    {"prints_the_graph", {"inspect", DEMO, "--graph"}, 0, "graph \"", NULL},
    {"prints_json_and_nothing_else",
     {"inspect", DEMO, "--json", "-"},
     0,
     "\"parameters\": 62006",
     NULL},
    {"verifies_the_demo",
     {"verify", DEMO, "--golden", GOLDEN, "--reference"},
     0,
     "2 passed, 0 failed, 0 unsupported",
     NULL},
    {"verifies_the_demo_with_checked_passes",
     {"verify", DEMO, "--golden", GOLDEN, "--reference", "--check-passes"},
     0,
     "2 passed",
     NULL},
    {"verifies_the_demo_as_imported",
     {"verify", DEMO, "--golden", GOLDEN, "--reference", "--no-passes"},
     0,
     "2 passed",
     NULL},
    {"ends_with_1_when_an_output_differs",
     {"verify", DEMO, "--golden", "@wrong", "--reference"},
     1,
     "elements differ",
     NULL},
    {"refuses_a_profile_of_another_processor",
     {"verify", DEMO, "--golden", GOLDEN, "--profile", OTHER_PROCESSOR},
     3,
     NULL,
     "profile '" OTHER_PROCESSOR "' does not run on this machine"},
    {"refuses_a_profile_with_more_than_this_processor_has",
     {"verify", DEMO, "--golden", GOLDEN, "--profile", "@greedy.json"},
     3,
     NULL,
     "profile 'greedy' does not run on this machine: 'greedy' needs "},
    {"refuses_it_before_the_first_conformance_test",
     {"verify", "--onnx-tests", "no/such/folder", "--profile", "@greedy.json"},
     3,
     NULL,
     "profile 'greedy' does not run on this machine"},
    {"asks_for_one_thing_to_verify",
     {"verify", DEMO, "--reference"},
     2,
     NULL,
     "is no package; a model is verified by --golden DIR"},
    {"says_that_an_empty_folder_holds_no_test",
     {"verify", "--onnx-tests", "docs", "--reference"},
     2,
     NULL,
     "holds no conformance test"},
    {"looks_at_the_machine", {"doctor"}, 0, "cpu: ", NULL},
    {"says_whether_candidates_are_confined", {"doctor"}, 0, "confinement: ", NULL},
    {"looks_for_baselines", {"doctor"}, 0, "baseline onednn: ", NULL},
    {"looks_for_devices", {"doctor"}, 0, "device local: runs packages for ", NULL},
    {"writes_what_it_found_as_json",
     {"doctor", "--json", "-"},
     0,
     "\"ok\": true",
     NULL},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

typedef struct fixture {
    kiln_arena arena;
    const char *dir; /* scratch folder */
} fixture;

/* A copy of the demo's golden folder with the outputs of its two cases exchanged: they
 * cannot match. */
static void make_wrong_golden(kiln_arena *a, const char *dir) {
    static const char *const copy[][2] = {
        {"golden.json", "golden.json"}, {"c0_in0.npy", "c0_in0.npy"},
        {"c1_in0.npy", "c1_in0.npy"},   {"c0_out0.npy", "c1_out0.npy"},
        {"c1_out0.npy", "c0_out0.npy"},
    };
    kiln_err err = {0};
    assert_int_equal(kiln_dir_make(dir, &err), KILN_OK);
    for (size_t i = 0; i < sizeof copy / sizeof copy[0]; i++) {
        kiln_str bytes;
        assert_int_equal(
            kiln_file_map(a, kiln_path_join(a, GOLDEN, copy[i][0]), 0, &bytes, &err),
            KILN_OK);
        assert_int_equal(
            kiln_file_write(kiln_path_join(a, dir, copy[i][1]), bytes.p, bytes.n, &err),
            KILN_OK);
    }
}

/* This machine with the integer dot products of two processors: none has both. */
static void make_greedy_profile(kiln_arena *a, const char *path) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_buf json;
    assert_int_equal(kiln_profile_detect(a, &p, &err), KILN_OK);
    p.name = "greedy";
    p.has_vnni = p.has_dotprod = true;
    kiln_buf_init(&json, a);
    kiln_profile_json(&json, &p);
    assert_int_equal(kiln_file_write(path, json.p, json.n, &err), KILN_OK);
}

static fixture shared;

static int prepare(void **state) {
    (void)state;
    fixture *f = &shared;
    kiln_arena_init(&f->arena);
    const char *base = getenv("TMPDIR");
    f->dir = kiln_format(&f->arena, "%s/kiln-e2e-%lld", base != NULL ? base : "/tmp",
                         (long long)kiln_now_ns());
    make_wrong_golden(&f->arena, kiln_path_join(&f->arena, f->dir, "wrong"));
    make_greedy_profile(&f->arena, kiln_path_join(&f->arena, f->dir, "greedy.json"));
    return 0;
}

static int clean_up(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_status st = kiln_remove_tree(shared.dir, &err);
    kiln_arena_fini(&shared.arena);
    return st == KILN_OK ? 0 : -1;
}

static void check_program(void **state) {
    kiln_test_cli_check(&shared.arena, shared.dir, *state);
}

int main(void) {
    kiln_test_own_home();
    static struct CMUnitTest tests[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++)
        tests[i] =
            (struct CMUnitTest){rows[i].name, check_program, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
