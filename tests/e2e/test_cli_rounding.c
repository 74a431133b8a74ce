/* --rounding on the command line: a model of one convolution whose integers the two ways
 * differ in, as a package that keeps the choice; and how it is refused. KILN names the
 * program; "@x" in an argument is a file in the test's folder. */
#include "tests/support/import/tflite_run.h"
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>

#define ONNX "demo/samplenet/samplenet.onnx"
#define PACKAGE "@ref.kiln.tar.zst"
#define BUILD "build", "@conv.tflite", "--profile", "x86-avx2"

static kiln_tflite_case conv = {
    .code = 3,
    .option = {{0, 1, 0}, {1, 4, 1}, {2, 4, 1}},
    .n_options = 3,
    .n_in = 2,
    .in = {{.shape = "1x1x5x1", .type = KILN_TFW_I8, .scale = .25F},
           {.shape = "1x1x1x1",
            .type = KILN_TFW_I8,
            .scale = 1,
            .v = {1},
            .is_const = true}},
    .out = {{.shape = "1x1x5x1", .type = KILN_TFW_I8, .scale = 1}},
};

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"builds_by_the_reference",
     {BUILD, "-o", PACKAGE, "--rounding", "reference", "--provenance"},
     0,
     "archive: ",
     NULL},
    {"the_package_says_so",
     {"unpack", PACKAGE, "-o", "@folder"},
     0,
     "entries          graph.json, ",
     NULL},
    {"verifies_with_its_model",
     {"verify", PACKAGE, "--model", "@conv.tflite"},
     0,
     "passed      ",
     NULL},
    {"rebuilds",
     {"rebuild", "--check", PACKAGE, "--model", "@conv.tflite"},
     0,
     NULL,
     NULL},
    {"golden_by_the_reference",
     {"verify", "@conv.tflite", "--golden", "@golden", "--reference", "--rounding",
      "reference"},
     0,
     "1 passed, 0 failed",
     NULL},
    {"golden_compiled",
     {"verify", "@conv.tflite", "--golden", "@golden", "--profile", "native",
      "--rounding", "reference"},
     0,
     "1 passed, 0 failed",
     NULL},
    {"the_default_rounds_otherwise",
     {"verify", "@conv.tflite", "--golden", "@golden", "--reference", "--rounding",
      "default"},
     0,
     "largest error 1",
     NULL},
    {"exports",
     {"export", "@conv.tflite", "--to", "onnx", "-o", "@conv.onnx", "--rounding",
      "reference"},
     0,
     NULL,
     NULL},
    {"other_formats_have_one_way",
     {"build", ONNX, "--profile", "x86-avx2", "--rounding", "reference", "-o", "@"},
     2,
     NULL,
     "--rounding reference: models of format onnx are rounded in one way only"},
    {"other_formats_have_a_default",
     {"inspect", ONNX, "--rounding", "default"},
     0,
     "data",
     NULL},
    {"two_ways",
     {"inspect", "@conv.tflite", "--rounding", "twice"},
     2,
     NULL,
     "--rounding must be 'default' or 'reference', is 'twice'"},
    {"packages_have_their_own",
     {"explain", PACKAGE, "--rounding", "reference"},
     2,
     NULL,
     "--rounding' is for models: a package has its own"},
};

static const char *dir;

static void check_row(void **state) {
    kiln_arena a = {0};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static void the_manifest_has_it(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_str text;
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    const char *const path = kiln_path_join(a, dir, "folder/manifest.json");
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &text, &err), &err);
    assert_non_null(strstr(kiln_str_dupv(a, text), "\"rounding\": \"reference\""));
}

static void put(const char *name, const void *p, size_t n) {
    kiln_err err = {0};
    const char *const path = kiln_path_join(kiln_test_arena(), dir, name);
    kiln_assert_status_ok(kiln_file_write(path, p, n, &err), &err);
}

/* 1, 5, -1, -3 and 7 quarters. */
static void writes_the_model(void **state) {
    static const char golden[] =
        "{\"id\": \"conv\", \"runtime\": \"by hand\", \"cases\": [{"
        "\"inputs\": [{\"name\": \"x0\", \"dtype\": \"int8\", \"shape\": [1, 1, 5, 1], "
        "\"npy\": \"in.npy\"}], \"outputs\": [{\"name\": \"y0\", \"dtype\": \"int8\", "
        "\"shape\": [1, 1, 5, 1], \"npy\": \"out.npy\"}]}]}";
    static const int64_t dim[] = {1, 1, 5, 1};
    static int8_t in[] = {1, 5, -1, -3, 7}, out[] = {1, 2, 0, -1, 2};
    const kiln_type t = kiln_type_make(KILN_I8, 4, dim);
    const kiln_tensor x = {.type = t, .data = in}, y = {.type = t, .data = out};
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    (void)state;
    const kiln_str model = kiln_test_tflite_model(&conv);
    put("conv.tflite", model.p, model.n);
    const char *const folder = kiln_path_join(a, dir, "golden");
    kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
    put("golden/golden.json", golden, sizeof golden - 1);
    const char *const in_path = kiln_path_join(a, folder, "in.npy");
    const char *const out_path = kiln_path_join(a, folder, "out.npy");
    kiln_assert_status_ok(kiln_tensor_write_npy(in_path, &x, &err), &err);
    kiln_assert_status_ok(kiln_tensor_write_npy(out_path, &y, &err), &err);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add("writes_the_model", writes_the_model, NULL);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("the_manifest_has_it", the_manifest_has_it, NULL);
    return kiln_test_run("rounding");
}
