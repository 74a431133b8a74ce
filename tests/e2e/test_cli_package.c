/* Packages from outside: built, looked at, unpacked; and one model built in twenty
 * different surroundings. KILN names the program; "@x" in an argument is a file in the
 * test's folder. */
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "demo/samplenet/samplenet.onnx"
#define PACKAGE "@samplenet-1-x86-avx2.kiln.tar.zst"

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"builds",
     {"build", MODEL, "--profile", "x86-avx2", "-o", "@"},
     0,
     "archive: ",
     NULL},
    {"inspects_the_archive",
     {"inspect", PACKAGE},
     0,
     "inputs           data: f32[1,3,32,32]\noutputs          fc3: f32[1,10]\n",
     NULL},
    {"inspects_as_json",
     {"inspect", PACKAGE, "--json", "-"},
     0,
     "\"source_sha256\": "
     "\"981c89d15016f849acde4e556754fff92439bc8993f7ead4578d6c6fd08406ab\"",
     NULL},
    {"unpacks",
     {"unpack", PACKAGE, "-o", "@folder"},
     0,
     "entries          graph.json, ",
     NULL},
    {"inspects_the_folder",
     {"inspect", "@folder"},
     0,
     "model            samplenet, version 1\n",
     NULL},
    {"builds_what_is_packed_when_it_is_opened",
     {"build", MODEL, "--profile", "native", "--pack", "open", "-o", "@open",
      "--provenance"},
     0,
     "packed when it is opened: ",
     NULL},
    {"builds_in_layouts_that_a_search_chose",
     {"build", MODEL, "--profile", "native", "--layouts", "search", "-o", "@searched",
      "--provenance"},
     0,
     "layouts: search expects ",
     NULL},
    {"rebuilds_in_layouts_that_a_search_chose",
     {"rebuild", "--check", "@searched", "--model", MODEL},
     0,
     NULL,
     NULL},
    {"says_what_a_search_expects",
     {"build", MODEL, "--profile", "native", "--layouts", "search", "-o", "@expected",
      "--json", "-"},
     0,
     "\"greedy_us\": ",
     NULL},
    {"searches_by_no_other_name",
     {"build", MODEL, "--profile", "native", "--layouts", "magic", "-o", "@never"},
     2,
     NULL,
     "--layouts must be measured or greedy or search, is 'magic'"},
    {"counts_what_is_packed_when_it_is_opened",
     {"build", MODEL, "--profile", "native", "--pack", "open", "-o", "@counted",
      "--json", "-"},
     0,
     "\"packed_bytes\": 2",
     NULL},
    {"inspects_what_is_packed_when_it_is_opened",
     {"inspect", "@open"},
     0,
     "packed           when it is opened, once: ",
     NULL},
    {"rebuilds_what_is_packed_when_it_is_opened",
     {"rebuild", "--check", "@open", "--model", MODEL},
     0,
     NULL,
     NULL},
    {"verifies_what_is_packed_when_it_is_opened",
     {"verify", "@open", "--golden", "demo/samplenet/golden"},
     0,
     "7 passed, 0 failed",
     NULL},
    {"builds_for_two_devices",
     {"build", MODEL, "--profile", "native", "--place", "conv=host2", "--place",
      "random:3=host2", "-o", "@placed", "--provenance"},
     0,
     "  wait ",
     NULL},
    {"inspects_two_devices",
     {"inspect", "@placed"},
     0,
     "devices          host, host2\n",
     NULL},
    {"rebuilds_for_two_devices",
     {"rebuild", "--check", "@placed", "--model", MODEL},
     0,
     NULL,
     NULL},
    {"verifies_on_two_devices",
     {"verify", "@placed", "--golden", "demo/samplenet/golden"},
     0,
     "7 passed, 0 failed",
     NULL},
    {"builds_for_a_device_that_it_does_not_know",
     {"build", MODEL, "--profile", "native", "--place", "conv=npu", "--no-verify", "-o",
      "@unknown"},
     0,
     NULL,
     NULL},
    {"runs_nothing_for_a_device_that_it_does_not_know",
     {"verify", "@unknown"},
     1,
     "the package is for a device 'npu', which this runtime does not know",
     NULL},
    {"places_no_operator_that_there_is_not",
     {"build", MODEL, "--profile", "native", "--place", "konv=host2", "-o", "@never"},
     2,
     NULL,
     "'konv' is no operator"},
    {"packs_at_no_other_time",
     {"build", MODEL, "--profile", "native", "--pack", "never", "-o", "@never"},
     2,
     NULL,
     "--pack must be build or open, is 'never'"},
    {"unpacks_only_once",
     {"unpack", PACKAGE, "-o", "@folder"},
     2,
     NULL,
     "exists; name a folder that does not, or remove it"},
    {"asks_for_a_folder", {"unpack", PACKAGE}, 2, NULL, "needs a folder to make"},
    {"refuses_a_model",
     {"unpack", MODEL, "-o", "@model"},
     3,
     NULL,
     "is no package: it does not begin as zstd does"},
    {"finds_no_archive",
     {"unpack", "@none", "-o", "@model"},
     3,
     NULL,
     "none': No such file or directory"},
    {"verifies_nothing_that_is_not_there",
     {"verify", "@none"},
     3,
     NULL,
     "there is no file and no package's folder '"},
    {"verifies_a_model_by_golden_outputs",
     {"verify", MODEL},
     2,
     NULL,
     "samplenet.onnx' is no package; a model is verified by --golden DIR"},
    {"bench_asks_for_the_model_of_a_package",
     {"bench", PACKAGE, "--baselines", "onnxruntime"},
     2,
     NULL,
     "kiln bench: beside a package baselines run the model that it was built from: "
     "name it by --model"},
    {"bench_holds_the_model_against_the_package",
     {"bench", "@folder", "--model", "zoo:dqn", "--baselines", "onnxruntime"},
     2,
     NULL,
     "the package was built from a file with SHA-256 981c89d1"},
    {"bench_of_a_model_has_no_other",
     {"bench", MODEL, "--model", MODEL},
     2,
     NULL,
     "kiln bench: a model has no --model"},
    {"bench_measures_a_package_beside_what_is_not_there",
     {"bench", PACKAGE, "--model", MODEL, "--baselines", "onnxruntime", "--rounds",
      "2"},
     1,
     "onnxruntime            absent: not in '",
     NULL},
    {"verify_binds_inputs_of_models_alone",
     {"verify", PACKAGE, "--bind", "x=1"},
     2,
     NULL,
     "--bind x: the package was built without a value for such an input"},
    {"builds_with_a_licence",
     {"build", MODEL, "--profile", "x86-avx2", "--licence", "MIT OR Apache-2.0", "-o",
      "@licensed"},
     0,
     "archive: ",
     NULL},
    {"keeps_the_licence",
     {"inspect", "@licensed"},
     0,
     "licence          MIT OR Apache-2.0\n",
     NULL},
    {"asks_for_a_licence_in_spdx",
     {"build", MODEL, "--profile", "x86-avx2", "--licence", "<mine>", "-o",
      "@licensed"},
     2,
     NULL,
     "--licence must be an SPDX expression such as 'MIT OR Apache-2.0', is '<mine>'"},
    {"explains_every_step",
     {"explain", PACKAGE},
     0,
     "samplenet, x86-avx2, 1 thread: ",
     NULL},
    {"explains_one_step",
     {"explain", PACKAGE, "--step", "2"},
     0,
     "== assembly ==\n",
     NULL},
    {"explains_with_the_model",
     {"explain", PACKAGE, "--step", "2", "--model", MODEL, "--json", "-"},
     0,
     "\"note\": null,\n      \"schedule\": \"stage ",
     NULL},
    {"explains_no_step_that_is_not_there",
     {"explain", PACKAGE, "--step", "200"},
     2,
     NULL,
     "or a step's name, is '200'; without it all are listed"},
    {"explains_packages_as_they_are",
     {"explain", PACKAGE, "--threads", "2"},
     2,
     NULL,
     "option '--threads' is for models: a package has its own"},
    {"explains_no_stage_of_a_network",
     {"explain", MODEL, "--stage", "program"},
     2,
     NULL,
     "option '--stage' is for operators (--op, --ops)"},
    {"explains_a_model",
     {"explain", MODEL, "--profile", "x86-avx2", "--step", "2"},
     0,
     "== schedule ==\nstage ",
     NULL},
    {"builds_an_oci_layout",
     {"build", MODEL, "--profile", "x86-avx2", "--provenance", "-o", "@", "--oci",
      "@oci"},
     0,
     "samplenet-1-x86-avx2, 3 layers, manifest sha256:",
     NULL},
    {"has_no_graph_to_print",
     {"inspect", PACKAGE, "--graph"},
     2,
     NULL,
     "option '--graph' is for models"},
};

static const char *dir;

static void check_row(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* What build wrote there is a package to all that take one. */
static void takes_packages_from_oci_layouts(void **state) {
    (void)state;
    const char *layout = kiln_path_join(kiln_test_arena(), dir, "oci");
    const char *all = kiln_format(kiln_test_arena(), "oci:%s", layout);
    const char *one = kiln_format(kiln_test_arena(), "%s:samplenet-1-x86-avx2", all);
    const char *none = kiln_format(kiln_test_arena(), "%s:other", all);
    const kiln_test_cli_row row[] = {
        {"inspects",
         {"inspect", all},
         0,
         "model            samplenet, version 1",
         NULL},
        {"verifies", {"verify", one}, 0, "passed      ", NULL},
        {"unpacks", {"unpack", one, "-o", "@from-oci"}, 0, "entries ", NULL},
        {"explains", {"explain", one, "--step", "1"}, 0, "step 1 of ", NULL},
        {"finds_no_tag", {"verify", none}, 2, NULL, "has no tag 'other'; its tags: "},
        {"is_no_model", {"build", all, "--profile", "native"}, 3, NULL, "oci:"},
    };
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_arena a = {0};
        print_message("%s\n", row[i].name);
        (void)kiln_test_cli_check(&a, dir, &row[i]);
        kiln_arena_fini(&a);
    }
}

/* ---- twenty builds --------------------------------------------------------------- */

static const char *const zones[] = {"UTC", "Asia/Tokyo", "America/Los_Angeles",
                                    "Pacific/Kiritimati", "XYZ-13:45"};
static const mode_t masks[] = {022, 077, 0, 027};

/* Its own folder, umask and time zone; every third one also has each object in memory
 * of its own. */
static void build_there(kiln_arena *a, const char *own, int i, const char *model,
                        const char *kiln) {
    kiln_err err = {0};
    kiln_process_result r;
    const char *env[] = {kiln_format(a, "TZ=%s", zones[i % 5]),
                         kiln_format(a, "TMPDIR=%s", own),
                         kiln_format(a, "HOME=%s", i % 2 == 0 ? own : ""),
                         i % 3 == 0 ? "KILN_ARENA_EACH=1" : "LC_ALL=de_DE.UTF-8", NULL};
    const char *const argv[] = {kiln,       "build", model,    "--profile",
                                "x86-avx2", "-o",    "it.zst", NULL};
    const kiln_process_options o = {
        .argv = argv, .dir = own, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_dir_make(own, &err), &err);
    const mode_t before = umask(masks[i % 4]);
    const kiln_status st = kiln_process_run(a, &o, &r, &err);
    umask(before);
    kiln_assert_status_ok(st, &err);
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        fail_msg("%.*s", KILN_STR_ARG(r.err));
}

static void builds_equal_bytes_twenty_times(void **state) {
    (void)state;
    char first[KILN_SHA256_HEX] = "", sha256[KILN_SHA256_HEX], here[4096];
    const char *kiln = getenv("KILN");
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the program");
    assert_non_null(getcwd(here, sizeof here));
    for (int i = 0; i < 20; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_str file;
        char **names = NULL;
        size_t n = 0;
        const char *own = kiln_format(&a, "%s/build %d", dir, i);
        build_there(&a, own, i, kiln_path_join(&a, here, MODEL), kiln);
        kiln_assert_status_ok(
            kiln_file_map(&a, kiln_path_join(&a, own, "it.zst"), 0, &file, &err), &err);
        kiln_sha256_of(file.p, file.n, sha256);
        if (i == 0)
            memcpy(first, sha256, sizeof first);
        assert_string_equal(sha256, first);
        kiln_assert_status_ok(kiln_dir_list(&a, own, &names, &n, &err), &err);
        assert_int_equal(n, 1); /* no temporary file is left */
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("takes_packages_from_oci_layouts", takes_packages_from_oci_layouts,
                  NULL);
    kiln_test_add("builds_equal_bytes_twenty_times", builds_equal_bytes_twenty_times,
                  NULL);
    return kiln_test_run("packages");
}
