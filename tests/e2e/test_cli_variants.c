/* One archive for several shapes and profiles, from outside. KILN names the program;
 * "@x" in an argument is a file in the test's folder. */
#include "tests/support/program/cli_run.h"
#include "tests/support/model/residual_model.h"
#include "zoo/onnx_write.h"

#include "compiler/frontend/frontend.h"
#include "packager/packager.h"

#include <stdlib.h>
#include <string.h>

static const char *folder(void) {
    static const char *dir;
    if (dir == NULL)
        dir = kiln_test_dir();
    return dir;
}

static const char *file(const char *name) {
    return kiln_path_join(kiln_test_arena(), folder(), name);
}

/* Images of a batch: each the same one, so that all of a batch's scores are. */
static void write_images(const char *name, int64_t n) {
    enum { PIXELS = 3 * 8 * 8, MOST = 9 };
    static float v[MOST * PIXELS];
    kiln_err err = {0};
    const kiln_type type = kiln_type_make(KILN_F32, 4, (const int64_t[]){n, 3, 8, 8});
    for (int64_t i = 0; i < n * PIXELS; i++)
        v[i] = (float)(i % PIXELS) / PIXELS;
    const kiln_tensor t = {type, v};
    kiln_assert_status_ok(kiln_tensor_write_npy(file(name), &t, &err), &err);
}

/* Of no parameters. */
static void write_relu(void) {
    kiln_onnx_writer w;
    kiln_err err = {0};
    kiln_onnx_writer_init(&w, kiln_test_arena(), "relu");
    kiln_onnx_put_input(&w, "data", KILN_ONNX_FLOAT, "batch,3,8,8");
    kiln_onnx_put_node(&w, "Relu", "", "data", "y");
    kiln_onnx_put_output(&w, "y", KILN_ONNX_FLOAT, "batch,3,8,8");
    kiln_assert_status_ok(kiln_onnx_write_model(&w, 8, 17, file("relu.onnx"), &err),
                          &err);
}

/* One convolution, which Winograd's algorithm is for where the image is large enough: a
 * profile's rules pack its weights otherwise for small ones. */
static void write_sizes(void) {
    static const int64_t pads[] = {1, 1, 1, 1};
    kiln_onnx_writer w;
    kiln_err err = {0};
    kiln_onnx_writer_init(&w, kiln_test_arena(), "sizes");
    kiln_onnx_put_input(&w, "data", KILN_ONNX_FLOAT, "1,16,side,side");
    kiln_onnx_put_uniform(&w, "weight", "16,16,3,3", 1, -0.2, 0.2);
    kiln_onnx_put_node(&w, "Conv", "", "data,weight", "y");
    kiln_onnx_put_attr_ints(&w, "pads", pads, 4);
    kiln_onnx_put_output(&w, "y", KILN_ONNX_FLOAT, "1,16,side,side");
    kiln_assert_status_ok(kiln_onnx_write_model(&w, 8, 17, file("sizes.onnx"), &err),
                          &err);
}

static void make_files(void **state) {
    (void)state;
    write_relu();
    write_sizes();
    kiln_test_write_residual(file("m.onnx"));
    write_images("1.npy", 1);
    write_images("4.npy", 4);
    write_images("9.npy", 9);
}

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"builds_for_two_shapes",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "native", "-o", "@both.kiln.tar.zst"},
     0,
     "both.kiln.tar.zst, ",
     NULL},
    {"names_the_archive_by_itself",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "x86-baseline", "-o", "@folder/", "--json", "-"},
     0,
     "folder/m-1-x86-baseline.kiln.tar.zst\"",
     NULL},
    {"inspects_all",
     {"inspect", "@both.kiln.tar.zst"},
     0,
     "\nvariant          v1\nmodel            m, version 1\n",
     NULL},
    {"inspects_as_json",
     {"inspect", "@both.kiln.tar.zst", "--json", "-"},
     0,
     "\"format_version\": 2,",
     NULL},
    {"verifies_all",
     {"verify", "@both.kiln.tar.zst", "--threads", "1"},
     0,
     "v1 self-test, 1 thread",
     NULL},
    {"unpacks", {"unpack", "@both.kiln.tar.zst", "-o", "@unpacked"}, 0, NULL, NULL},
    {"inspects_the_folder", {"inspect", "@unpacked"}, 0, "data: f32[4,3,8,8]", NULL},
    {"inspects_one_folder", {"inspect", "@unpacked/v1"}, 0, "data: f32[4,3,8,8]", NULL},
    {"runs_one",
     {"run", "@both.kiln.tar.zst", "--input", "data=@1.npy", "--output-dir", "@out1"},
     0,
     "scores f32[1,10]",
     NULL},
    {"runs_four",
     {"run", "@both.kiln.tar.zst", "--input", "data=@4.npy", "--output-dir", "@out4"},
     0,
     "scores f32[4,10]",
     NULL},
    {"runs_four_of_the_folder",
     {"run", "@unpacked", "--input", "data=@4.npy", "--output-dir", "@out4"},
     0,
     "scores f32[4,10]",
     NULL},
    {"runs_no_nine",
     {"run", "@both.kiln.tar.zst", "--input", "data=@9.npy", "--output-dir", "@out9"},
     3,
     NULL,
     "'m' was not built for data [9,3,8,8]; it was for: data [1,3,8,8]; data "
     "[4,3,8,8]"},
    {"builds_what_is_packed_when_it_is_opened",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "native", "--pack", "open", "-o", "@open.kiln.tar.zst"},
     0,
     "packed when it is opened: ",
     NULL},
    {"runs_what_is_packed_when_it_is_opened",
     {"run", "@open.kiln.tar.zst", "--input", "data=@4.npy", "--output-dir", "@out"},
     0,
     "scores f32[4,10]",
     NULL},
    {"builds_without_parameters",
     {"build", "@relu.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "native", "-o", "@relu.kiln.tar.zst"},
     0,
     "relu.kiln.tar.zst, ",
     NULL},
    {"runs_without_parameters",
     {"run", "@relu.kiln.tar.zst", "--input", "data=@4.npy", "--output-dir", "@out"},
     0,
     "y f32[4,3,8,8]",
     NULL},
    {"accepts_all",
     {"accept", "@both.kiln.tar.zst", "--to", "@accepted", "--model", "@m.onnx"},
     0,
     "accepted m, version 1, native, 1 thread",
     NULL},
    {"gates_each",
     {"gate", "@both.kiln.tar.zst", "--against", "@accepted"},
     0,
     "2 archives: 2 equal",
     NULL},
    {"builds_for_one_shape",
     {"build", "@m.onnx", "--shape", "data:4x3x8x8", "--profile", "native", "-o",
      "@four/"},
     0,
     NULL,
     NULL},
    {"gates_one_beside_the_variant",
     {"gate", "@four", "--against", "@accepted"},
     0,
     "equal        m, native, 1 thread",
     NULL},
    /* Of this profile on every machine. */
    {"builds_two_shapes_that_pack_otherwise",
     {"build", "@sizes.onnx", "--shape", "data:1x16x2x2", "--shape", "data:1x16x16x16",
      "--profile", "x86-baseline", "-o", "@sizes.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"accepts_these",
     {"accept", "@sizes.kiln.tar.zst", "--to", "@accepted", "--model", "@sizes.onnx"},
     0,
     "accepted sizes, version 1, x86-baseline, 1 thread",
     NULL},
    {"builds_the_small_shape",
     {"build", "@sizes.onnx", "--shape", "data:1x16x2x2", "--profile", "x86-baseline",
      "-o", "@small.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"builds_the_large_shape",
     {"build", "@sizes.onnx", "--shape", "data:1x16x16x16", "--profile", "x86-baseline",
      "-o", "@large.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"gates_the_small_shape",
     {"gate", "@small.kiln.tar.zst", "--against", "@accepted"},
     0,
     "equal        sizes, x86-baseline, 1 thread: same code, plan and parameters",
     NULL},
    {"gates_the_large_shape",
     {"gate", "@large.kiln.tar.zst", "--against", "@accepted"},
     0,
     "equal        sizes, x86-baseline, 1 thread: same code, plan and parameters",
     NULL},
    {"explains_the_first", {"explain", "@both.kiln.tar.zst"}, 0, NULL, NULL},
    {"tells_what_it_was_made_of",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "x86-baseline", "--profile", "native", "-o", "@made.kiln.tar.zst",
      "--provenance"},
     0,
     "made.kiln.tar.zst.intoto.json",
     NULL},
    {"builds_the_same_bytes_again",
     {"rebuild", "--check", "@made.kiln.tar.zst"},
     0,
     "built again, the same",
     NULL},
    {"tells_of_shapes_alone",
     {"build", "@relu.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--profile", "native", "-o", "@shapes.kiln.tar.zst", "--provenance"},
     0,
     "shapes.kiln.tar.zst.intoto.json",
     NULL},
    {"builds_these_again",
     {"rebuild", "--check", "@shapes.kiln.tar.zst", "--json", "-"},
     0,
     "\"identical\": true",
     NULL},
    {"refuses_shapes_that_do_not_go_together",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--shape", "data:4x3x8x8",
      "--shape", "x:1", "--shape", "x:2", "--shape", "x:3", "--profile", "native"},
     2,
     NULL,
     "this input has 3 shapes, that of --shape data:1x3x8x8 has 2"},
    {"refuses_a_profile_twice",
     {"build", "@m.onnx", "--shape", "data:1x3x8x8", "--profile", "native", "--profile",
      "native", "-o", "@twice.kiln.tar.zst"},
     2,
     NULL,
     "profile 'native' is given twice for one archive"},
};

static void check(void **state) {
    kiln_test_cli_row row = *(kiln_test_cli_row *)*state;
    /* Of inputs the file lies there too. */
    for (int i = 0; i < KILN_TEST_CLI_ARGS && row.arg[i] != NULL; i++)
        if (strncmp(row.arg[i], "data=@", 6) == 0)
            row.arg[i] =
                kiln_format(kiln_test_arena(), "data=%s", file(row.arg[i] + 6));
    kiln_test_cli_check(kiln_test_arena(), folder(), &row);
}

/* Each image of the four has the scores of the one. */
static void computes_the_same(void **state) {
    enum { SCORES = 10 };
    kiln_err err = {0};
    kiln_tensor one, four;
    (void)state;
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    kiln_assert_status_ok(
        kiln_tensor_read_npy(kiln_test_arena(), file("out1/scores.npy"), &one, &err),
        &err);
    kiln_assert_status_ok(
        kiln_tensor_read_npy(kiln_test_arena(), file("out4/scores.npy"), &four, &err),
        &err);
    const float *x = one.data, *y = four.data;
    for (int i = 0; i < 4 * SCORES; i++)
        assert_float_equal(y[i], x[i % SCORES], 1e-4F);
}

static uint64_t param_bytes(const char *name) {
    kiln_package_facts f;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_package_inspect(kiln_test_arena(), file(name), &f, &err),
                          &err);
    return f.memory.params;
}

/* Else the gate would have found equal files of parameters equal. */
static void sizes_pack_otherwise(void **state) {
    (void)state;
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    const uint64_t both = param_bytes("sizes.kiln.tar.zst");
    assert_true(both > param_bytes("small.kiln.tar.zst"));
    assert_true(both > param_bytes("large.kiln.tar.zst"));
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("make_files", make_files, NULL);
    kiln_test_add_rows(check, rows);
    kiln_test_add("computes_the_same", computes_the_same, NULL);
    kiln_test_add("sizes_pack_otherwise", sizes_pack_otherwise, NULL);
    return kiln_test_run("variants from outside");
}
