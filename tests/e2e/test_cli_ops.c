/* kiln bench and kiln explain from outside: exit codes, tables, JSON, refusals. KILN
 * names the program; "@x" in an argument is a file that prepare() makes. */
#include "compiler/target/target.h"
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>

#define SMALL "matmul small m=8 k=5 n=6"
#if defined(__x86_64__)
#define NEWER_ONEDNN "'kiln baselines install --only onednn' gets 3.2 (of 2023)"
#else
#define NEWER_ONEDNN "there is no wheel of a newer one for this machine ("
#endif

static kiln_test_cli_row rows[] = {
    {"bench_has_an_example", {"bench", "--help"}, 0, "example:\n", NULL},
    {"explain_has_an_example", {"explain", "--help"}, 0, "example:\n", NULL},
    {"bench_asks_what",
     {"bench"},
     2,
     NULL,
     "say what to measure: a model, or operators by --ops LIST or by --op LINE"},
    {"bench_asks_for_one_thing",
     {"bench", "--ops", "gemm", "--op", SMALL},
     2,
     NULL,
     "say what to measure: a model, or operators by --ops LIST or by --op LINE"},
    {"bench_measures_one",
     {"bench", "--op", SMALL, "--seconds", "0"},
     0,
     "1 measured, 0 wrong, 0 refused",
     NULL},
    {"bench_runs_on_two_threads",
     {"bench", "--op", "conv t h=9 ic=16 oc=32 k=3", "--threads", "2", "--seconds",
      "0"},
     0,
     ", 2 threads; peak ",
     NULL},
    {"bench_stands_beside_another_profile",
     {"bench", "--op", SMALL, "--beside", "native", "--seconds", "0"},
     0,
     "beside ms",
     NULL},
    {"bench_beside_writes_no_json",
     {"bench", "--op", SMALL, "--beside", "native", "--json", "-"},
     2,
     NULL,
     "--beside has no --json: measure each profile by itself"},
    {"bench_prints_json_and_nothing_else",
     {"bench", "--op", SMALL, "--seconds", "0", "--json", "-"},
     0,
     "\"wrong\": 0",
     NULL},
    {"bench_reads_a_file_and_filters",
     {"bench", "--ops", "@ops.txt", "--filter", "first", "--seconds", "0"},
     0,
     "1 measured, 0 wrong, 0 refused",
     NULL},
    {"bench_refuses_a_filter_that_leaves_nothing",
     {"bench", "--ops", "gemm", "--filter", "C7"},
     2,
     NULL,
     "no operator's name contains 'C7'"},
    {"bench_refuses_a_bad_line",
     {"bench", "--ops", "@bad.txt"},
     3,
     NULL,
     "conv has no key 'stride'"},
    {"bench_refuses_an_unknown_list",
     {"bench", "--ops", "resnet19"},
     3,
     NULL,
     "'resnet19' is no file and no list of operators that ships; these are: "
     "resnet18, "},
    {"bench_names_configurations_that_fit_nothing",
     {"bench", "--op", SMALL, "--config-file", "@none.json", "--seconds", "0"},
     1,
     "--config-file: entry 0, for 'no_such_op', fits no kernel here\n",
     NULL},
    {"bench_explains_its_columns",
     {"bench", "--op", SMALL, "--seconds", "0"},
     0,
     "err/max: largest error",
     NULL},
    {"build_names_configurations_that_fit_nothing",
     {"build", "demo/samplenet/samplenet.onnx", "--profile", "native", "--config-file",
      "@none.json", "-o", "@c.kiln.tar.zst"},
     1,
     "--config-file: entry 0, for 'no_such_op', fits no kernel here\n",
     NULL},
    {"bench_counts_what_has_no_kernel",
     {"bench", "--ops", "@refused.txt", "--seconds", "0"},
     1,
     "1 measured, 0 wrong, 1 refused",
     NULL},
    {"bench_takes_a_configuration",
     {"bench", "--op", SMALL, "--config-file", "@good.json", "--seconds", "0"},
     0,
     " file ",
     NULL},
    {"bench_refuses_a_configuration_with_its_options",
     {"bench", "--op", SMALL, "--config-file", "@bad.json", "--seconds", "0"},
     2,
     NULL,
     "while choosing a configuration for 'small'"},
    {"bench_refuses_what_is_no_list",
     {"bench", "--op", SMALL, "--config-file", "@object.json"},
     3,
     NULL,
     "a list of configurations was expected"},
    {"bench_refuses_an_unknown_template",
     {"bench", "--op", SMALL, "--template", "magic"},
     2,
     NULL,
     "there is no template 'magic'; those that fit 'small' are: "},
    {"bench_refuses_another_machines_profile",
     {"bench", "--op", SMALL, "--profile", "aarch64"},
     3,
     NULL,
     "profile 'aarch64' does not run on this machine"},
    {"bench_refuses_no_threads",
     {"bench", "--op", SMALL, "--threads", "0"},
     2,
     NULL,
     "--threads must be a number from 1 to 1024, is '0'"},
    {"bench_refuses_seconds",
     {"bench", "--op", SMALL, "--seconds", "-1"},
     2,
     NULL,
     "--seconds must be a number from 0 to 3600, is '-1'"},
    {"bench_measures_a_model",
     {"bench", "zoo:dqn", "--rounds", "2", "--threads", "1,2", "--steps"},
     0,
     "steps at 2 threads, slowest first",
     NULL},
    {"bench_says_percentiles_that_samples_know",
     {"bench", "zoo:dqn", "--rounds", "2"},
     0,
     "at 1 thread, of 2 samples",
     NULL},
    {"bench_runs_several_at_once",
     {"bench", "zoo:dqn", "--instances", "1,2", "--duration", "0.2", "--threads", "1"},
     0,
     "instances threads     runs/s",
     NULL},
    {"bench_prints_a_loads_json",
     {"bench", "zoo:dqn", "--duration", "0.1", "--json", "-"},
     0,
     "\"load\": [",
     NULL},
    {"bench_refuses_rounds_of_a_load",
     {"bench", "zoo:dqn", "--instances", "2", "--rounds", "3"},
     2,
     NULL,
     "a load (--instances, --duration) has no --rounds"},
    {"bench_refuses_a_duration",
     {"bench", "zoo:dqn", "--duration", "0"},
     2,
     NULL,
     "--duration must be a number from 0.1 to 3600, is '0'"},
    {"bench_refuses_many_instances",
     {"bench", "zoo:dqn", "--instances", "1,257"},
     2,
     NULL,
     "--instances must be a number from 1 to 256, is '257'"},
    {"bench_refuses_instances_of_operators",
     {"bench", "--op", SMALL, "--instances", "2"},
     2,
     NULL,
     "a list of operators has no --instances"},
    {"bench_says_which_baseline_is_absent",
     {"bench", "zoo:dqn", "--rounds", "2", "--baselines", "onnxruntime"},
     1,
     "onnxruntime            absent: not in '",
     NULL},
    {"bench_asks_the_profile_for_baselines",
     {"bench", "zoo:dqn", "--baselines", "profile"},
     2,
     NULL,
     "profile 'native' names no baselines of models: add \"baselines\" to its file"},
    {"bench_measures_here_alone",
     {"bench", "zoo:dqn", "--profile", "@elsewhere.json"},
     3,
     NULL,
     "profile 'elsewhere' is measured on device 'qemu-aarch64', not on this machine"},
    {"tune_measures_here_alone",
     {"tune", "zoo:dqn", "--profile", "@elsewhere.json"},
     3,
     NULL,
     "profile 'elsewhere' is measured on device 'qemu-aarch64', not on this machine"},
    {"builds_for_elsewhere",
     {"build", "zoo:dqn", "--profile", "@elsewhere.json", "-o", "@e.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"bench_measures_packages_here_alone",
     {"bench", "@e.kiln.tar.zst"},
     3,
     NULL,
     "profile 'elsewhere' is measured on device 'qemu-aarch64', not on this machine"},
    {"verify_sends_packages_there",
     {"verify", "@e.kiln.tar.zst"},
     3,
     NULL,
     "profile 'elsewhere' is measured on device 'qemu-aarch64', which cannot run it "
     "here: "},
    {"but_runs_them_where_it_can",
     {"run", "@e.kiln.tar.zst", "--random", "1", "--output-dir", "@out"},
     0,
     "ran in ",
     NULL},
    {"profile_detect_says_where_to_measure",
     {"profile", "detect", "--no-measure"},
     0,
     "\"measure\": \"local\",\n  \"baselines\": [",
     NULL},
    {"bench_knows_its_baselines",
     {"bench", "zoo:dqn", "--baselines", "mxnet"},
     2,
     NULL,
     "there is no baseline 'mxnet'; there are: onnxruntime, openvino"},
    {"bench_knows_which_baselines_run_operators",
     {"bench", "--op", SMALL, "--baselines", "openvino"},
     2,
     NULL,
     "baseline 'openvino' runs models; those of operators are: onednn, onednn2, "
     "xnnpack"},
    {"bench_says_which_library_has_no_words",
     {"bench", "--op", "add x in=f32[4,8] const=f32[8]", "--seconds", "0",
      "--baselines", "onednn,xnnpack"},
     1,
     "xnnpack",
     NULL},
    {"bench_prints_json_of_operators_beside_libraries",
     {"bench", "--op", "add x in=f32[4,8] const=f32[8]", "--seconds", "0",
      "--baselines", "xnnpack", "--json", "-"},
     1,
     "\"name\": \"xnnpack\"",
     NULL},
    {"baselines_install_no_library_of_kilns",
     {"baselines", "install", "--only", "xnnpack", "--dir", "@nowhere"},
     2,
     NULL,
     "'xnnpack' comes with kiln: install Debian's libxnnpack-dev libpthreadpool-dev "
     "and "
     "build kiln again"},
    {"baselines_lists_what_is_absent",
     {"baselines", "list", "--dir", "@nowhere"},
     0,
     "onnxruntime      models     absent   not in '",
     NULL},
    {"baselines_lists_libraries_of_operators",
     {"baselines", "list", "--dir", "@nowhere"},
     0,
     "xnnpack          operators  ",
     NULL},
    {"baselines_says_how_to_have_a_newer_onednn",
     {"baselines", "list", "--only", "onednn", "--dir", "@nowhere"},
     0,
     NEWER_ONEDNN,
     NULL},
    {"baselines_lists_hints_as_json",
     {"baselines", "list", "--only", "xnnpack", "--dir", "@nowhere", "--json", "-"},
     0,
     "\"hint\": null",
     NULL},
    {"baselines_lists_as_json",
     {"baselines", "list", "--dir", "@nowhere", "--json", "-"},
     0,
     "\"state\": \"absent\"",
     NULL},
    {"baselines_refuses_what_it_does_not_do",
     {"baselines", "remove"},
     2,
     NULL,
     "kiln baselines does 'list' or 'install', not 'remove'"},
    {"bench_prints_a_models_json",
     {"bench", "zoo:dqn", "--rounds", "2", "--json", "-"},
     0,
     "\"peak_share\": ",
     NULL},
    {"bench_knows_its_zoo",
     {"bench", "zoo:nope"},
     2,
     NULL,
     "the zoo has no network 'nope'"},
    {"bench_refuses_seconds_for_a_model",
     {"bench", "zoo:dqn", "--seconds", "1"},
     2,
     NULL,
     "kiln bench: a model has no --seconds"},
    {"bench_refuses_rounds_for_operators",
     {"bench", "--op", SMALL, "--rounds", "1"},
     2,
     NULL,
     "kiln bench: a list of operators has no --rounds"},
    {"bench_refuses_a_list_that_is_none",
     {"bench", "zoo:dqn", "--threads", "1,two"},
     2,
     NULL,
     "--threads must be a number from 1 to 1024, is 'two'"},
    {"bench_refuses_another_machines_model",
     {"bench", "zoo:dqn", "--profile", "aarch64"},
     3,
     NULL,
     "aarch64"},
    {"explain_sums_up",
     {"explain", "--op", SMALL},
     0,
     "workload: matmul(%0: f32[8,5], %1: const f32[5,6]) -> %2",
     NULL},
    {"explain_checks_the_output", {"explain", "--op", SMALL}, 0, "output: right", NULL},
    {"explain_shows_the_expression",
     {"explain", "--op", SMALL, "--stage", "expression"},
     0,
     "= sum(",
     NULL},
    {"explain_shows_loops_before_passes",
     {"explain", "--op", SMALL, "--stage", "lowered"},
     0,
     "for ",
     NULL},
    {"explain_shows_the_program",
     {"explain", "--op", SMALL, "--stage", "program"},
     0,
     "program ",
     NULL},
    {"explain_shows_the_schedule",
     {"explain", "--op", SMALL, "--stage", "schedule"},
     0,
     "matmul",
     NULL},
    {"explain_shows_hot_loops",
     {"explain", "--ops", "gemm", "M1", "--stage", "assembly"},
     0,
     "the hottest: ",
     NULL},
    {"explain_lists_knobs",
     {"explain", "--op", SMALL, "--knobs"},
     0,
     "  chosen ",
     NULL},
    {"explain_makes_code_for_other_machines",
     {"explain", "--op", SMALL, "--profile", "aarch64"},
     0,
     "not measured: profile 'aarch64' does not run on this machine",
     NULL},
    {"explain_prints_json",
     {"explain", "--op", SMALL, "--stage", "program", "--stage", "knobs", "--json",
      "-"},
     0,
     "\"program\": \"",
     NULL},
    {"explain_prints_knobs_as_a_list",
     {"explain", "--op", SMALL, "--knobs", "--json", "-"},
     0,
     "\"options\": [",
     NULL},
    {"explain_prints_its_summary_as_a_row",
     {"explain", "--op", SMALL, "--json", "-"},
     0,
     "\"worst_error_of_bound\": ",
     NULL},
    {"explain_takes_a_schedule",
     {"explain", "--op", SMALL, "--schedule", "@cpu.txt"},
     0,
     "cycles of one core, by the machine model: ",
     NULL},
    {"explain_counts_its_threads",
     {"explain", "--op", SMALL, "--schedule", "@cpu.txt"},
     0,
     "threads: 1 fork of 2 iterations",
     NULL},
    {"explain_lowers_a_schedule",
     {"explain", "--op", SMALL, "--schedule", "@cpu.txt", "--stage", "lowered"},
     0,
     "parallel i0.outer in 0 .. +2",
     NULL},
    /* With a time where there is such a GPU, else without. */
    {"explain_counts_what_warps_move",
     {"explain", "--op", SMALL, "--profile", "cuda-sm80"},
     0,
     "warps of 32: ",
     NULL},
    {"explain_launches_what_is_for_a_gpu",
     {"explain", "--op", SMALL, "--schedule", "@gpu.txt", "--stage", "program"},
     0,
     "launch kiln_kernel.launch0[8, 1, 1; 6, 1, 1](a.device, b.device, "
     "matmul.device)",
     NULL},
    {"explain_says_why_there_is_no_code",
     {"explain", "--op", SMALL, "--schedule", "@gpu.txt", "--profile", "x86-avx2"},
     0,
     "for a GPU\nno code for profile 'x86-avx2': llvm_cpu has no device memory for '",
     NULL},
    {"explain_prints_a_schedule_as_an_object",
     {"explain", "--op", SMALL, "--schedule", "@gpu.txt", "--json", "-"},
     0,
     "\"target\": \"GPU\"",
     NULL},
    {"explain_refuses_a_schedule_by_place",
     {"explain", "--op", SMALL, "--schedule", "@broken.txt"},
     2,
     NULL,
     "broken.txt:2:14: stage 'matmul' has no loop 'i9'; it has i0, i1, k"},
    {"explain_has_no_knobs_of_a_schedule",
     {"explain", "--op", SMALL, "--schedule", "@cpu.txt", "--knobs"},
     2,
     NULL,
     "a schedule of one's own has no knobs"},
    {"explain_refuses_two_schedules",
     {"explain", "--op", SMALL, "--schedule", "@cpu.txt", "--template", "generic"},
     2,
     NULL,
     "option '--template' chooses a schedule, --schedule brings one"},
    {"explain_schedules_no_network",
     {"explain", "zoo:dqn", "--schedule", "@cpu.txt"},
     2,
     NULL,
     "option '--schedule' is for operators"},
    {"explain_asks_what",
     {"explain"},
     2,
     NULL,
     "say what to explain: a package, a model, --op LINE, or --ops LIST NAME"},
    {"explain_names_what_a_list_has",
     {"explain", "--ops", "gemm", "M9"},
     2,
     NULL,
     "gemm has no operator 'M9'; there are M1, M2, "},
    {"explain_refuses_a_stage",
     {"explain", "--op", SMALL, "--stage", "magic"},
     2,
     NULL,
     "--stage must be summary, expression, schedule, lowered, program, assembly, knobs "
     "or all, is 'magic'"},
};

static const struct file {
    const char *name, *text;
} files[] = {
    {"bad.txt", "conv x h=8 ic=1 oc=1 k=3 stride=2\n"},
    {"refused.txt", "size x in=f32[3,3]\nmatmul y m=3 k=3 n=3\n"},
    {"bad.json", "[{\"op\": \"small\", \"template\": \"generic\", \"config\": "
                 "{\"speed\": 11}}]"},
    {"object.json", "{}"},
    {"cpu.txt", "split matmul i0 4 # rows of a thread\nparallel matmul i0.outer\n"},
    {"gpu.txt", "bind matmul i0 blockIdx.x\nbind matmul i1 threadIdx.x\n"},
    {"broken.txt", "\nsplit matmul i9 4\n"},
};

typedef struct fixture {
    kiln_arena arena;
    const char *dir;
} fixture;

static void write_text(const fixture *f, const char *name, kiln_str text) {
    kiln_err err = {0};
    kiln_arena a = {0};
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(&a, f->dir, name), text.p, text.n, &err), &err);
    kiln_arena_fini(&a);
}

/* The configuration that the program chose itself, as a file to give it. */
static void write_good_configuration(fixture *f) {
    static const char *const arg[KILN_TEST_CLI_ARGS] = {
        "bench", "--op", SMALL, "--seconds", "0", "--json", "-"};
    const kiln_process_result r = kiln_test_cli_run(&f->arena, f->dir, arg);
    const char *begin = strstr(r.out.p, "\"config\": {");
    assert_non_null(begin);
    const char *end = strchr(begin, '}');
    const char *tmpl = strstr(r.out.p, "\"template\": ");
    assert_true(end != NULL && tmpl != NULL);
    const char *tmpl_end = strchr(tmpl, ',');
    kiln_buf out;
    kiln_buf_init(&out, &f->arena);
    kiln_buf_printf(&out, "[{\"op\": \"small\", %.*s, %.*s}]", (int)(tmpl_end - tmpl),
                    tmpl, (int)(end + 1 - begin), begin);
    write_text(f, "good.json", kiln_buf_str(&out));
    write_text(f, "none.json",
               kiln_str_from("[{\"op\": \"no_such_op\", \"template\": \"matmul\", "
                             "\"config\": {}}]"));
}

static void write_profile(fixture *f) {
    kiln_buf text;
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(&f->arena, &p, &err), &err);
    p.name = "elsewhere";
    p.measure = "qemu-aarch64";
    kiln_buf_init(&text, &f->arena);
    kiln_profile_document(&text, &p);
    write_text(f, "elsewhere.json", kiln_buf_str(&text));
}

static fixture shared;

static int prepare(void **state) {
    (void)state;
    kiln_arena_init(&shared.arena);
    shared.dir = kiln_test_dir();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        write_text(&shared, files[i].name, kiln_str_from(files[i].text));
    write_text(
        &shared, "ops.txt",
        KILN_STR_LIT("# two\nmatmul first m=8 k=5 n=6\nrelu second in=f32[9]\n"));
    write_profile(&shared);
    if (getenv("KILN") != NULL)
        write_good_configuration(&shared);
    return 0;
}

static int clean_up(void **state) {
    (void)state;
    kiln_arena_fini(&shared.arena);
    return 0;
}

static void check_program(void **state) {
    kiln_test_cli_check(&shared.arena, shared.dir, *state);
}

/* Ctrl-C after some seconds. */
static kiln_process_result bench_interrupted_after(const char *const *what, int after_s,
                                                   const char *json) {
    const char *seconds = kiln_format(&shared.arena, "%d", after_s);
    kiln_err err = {0};
    kiln_process_result r;
    const char *const argv[] = {"timeout", "--preserve-status",
                                "-s",      "INT",
                                seconds,   getenv("KILN"),
                                "bench",   what[0],
                                what[1],   what[2],
                                what[3],   "--json",
                                json,      NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = 2 * KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(&shared.arena, &o, &r, &err), &err);
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    return r;
}

/* What was measured before Ctrl-C is there, in the text and in the JSON; not all of it
 * was, so the end is no success. A slow machine has measured nothing at first, or compiles
 * still, and gets more time. The state is what to measure. */
static void keeps_what_it_measured(void **state) {
    static const char measured[] = "error: interrupted after ";
    kiln_arena *a = &shared.arena;
    kiln_err err = {0};
    const kiln_json *doc = NULL;
    kiln_process_result r = {.err = {.p = ""}};
    const char *json = kiln_path_join(a, shared.dir, "interrupted.json");
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    for (int s = 3; s < KILN_TEST_PATIENCE_S && strstr(r.err.p, measured) == NULL;
         s *= 3)
        r = bench_interrupted_after(*state, s, json);
    if (r.code != 7 || strstr(r.out.p, "interrupted") == NULL ||
        strstr(r.err.p, measured) == NULL)
        fail_msg(
            "exit code %d, and it must say that it was interrupted; it says:\n%s%s",
            r.code, r.out.p, r.err.p);
    kiln_assert_status_ok(kiln_json_read(a, json, &doc, &err), &err);
    assert_true(kiln_json_bool(kiln_json_get(doc, "interrupted"), false));
}

int main(void) {
    kiln_test_own_home();
    enum { N_ROWS = sizeof rows / sizeof rows[0] };
    static const char *const slow[2][4] = {
        {"--ops", "gemm", "--seconds", "60"},
        {"zoo:dqn", "--rounds=100000", "--threads=1", "--steps"}};
    static struct CMUnitTest tests[N_ROWS + 2];
    if (setenv("KILN_BASELINES", "/nowhere", 1) != 0) /* whatever is installed here */
        return 1;
    for (size_t i = 0; i < 2; i++)
        tests[N_ROWS + i] = (struct CMUnitTest){
            i == 0 ? "bench_of_operators_keeps_what_it_measured_when_interrupted"
                   : "bench_of_a_model_keeps_what_it_measured_when_interrupted",
            keeps_what_it_measured, NULL, NULL, (void *)(uintptr_t)slow[i]};
    for (size_t i = 0; i < N_ROWS; i++)
        tests[i] =
            (struct CMUnitTest){rows[i].name, check_program, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
