/* A model with tables of i4, f8e4m3fn and f4e2m1, an input and an output of low-bit
 * types: built, packed, verified, given its input as bytes of numpy, held to golden
 * outputs that are bytes. */
#include "pipeline/package/package.h"
#include "packager/packager.h"
#include "tests/support/kiln_test.h"
#include "zoo/onnx_write.h"

#include <string.h>

enum { F8 = 17, I4 = 22, F4 = 23, E8M0 = 24 }; /* TensorProto.DataType */

/* Rows of tables by the index, scaled by powers of two, plus x; in f8e5m2 too. Gathered
 * rows keep the tables from being folded. */
static const char *write_model(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_err err = {0};
    unsigned char packed[8], codes[16];
    const unsigned char scale = 126; /* 2^-1 */
    for (int i = 0; i < 16; i++)
        codes[i] = (unsigned char)(37 * i % 126 + (i % 3 == 0 ? 128 : 0));
    for (int i = 0; i < 8; i++)
        packed[i] = (unsigned char)(61 * i + 5);
    const char *path = kiln_path_join(a, kiln_test_dir(), "low.onnx");
    kiln_onnx_writer_init(&m, a, "low");
    kiln_onnx_put_input(&m, "at", KILN_ONNX_INT64, "3");
    kiln_onnx_put_input(&m, "x", F8, "3,4");
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(a, "i4", I4, "4,4", packed, 8));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(a, "f4", F4, "4,4", packed, 8));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(a, "f8", F8, "4,4", codes, 16));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(a, "s", E8M0, "", &scale, 1));
    static const char *const table[] = {"i4", "f4", "f8"};
    for (int t = 0; t < 3; t++) {
        kiln_onnx_put_node(&m, "Gather", kiln_format(a, "g%d", t),
                           kiln_format(a, "%s,at", table[t]), kiln_format(a, "r%d", t));
        kiln_onnx_put_node(&m, "DequantizeLinear", kiln_format(a, "d%d", t),
                           kiln_format(a, "r%d,s", t), kiln_format(a, "v%d", t));
        kiln_onnx_put_attr_int(&m, "output_dtype", KILN_ONNX_FLOAT);
    }
    kiln_onnx_put_node(&m, "Cast", "wide", "x", "w");
    kiln_onnx_put_attr_int(&m, "to", KILN_ONNX_FLOAT);
    kiln_onnx_put_node(&m, "Sum", "sum", "v0,v1,v2,w", "y");
    kiln_onnx_put_node(&m, "Cast", "narrow", "y", "z");
    kiln_onnx_put_attr_int(&m, "to", F8);
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "3,4");
    kiln_onnx_put_output(&m, "z", F8, "3,4");
    kiln_onnx_put_output(&m, "r0", I4, "3,4");
    const kiln_str bytes = kiln_onnx_finish_model(&m, 14, 25);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return path;
}

typedef struct low_model {
    const char *path;
    kiln_source source;
    kiln_build build;
    kiln_tensor in[2], out[3]; /* what the reference says */
} low_model;

static low_model here;

static void build_it(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_expectation t;
    const kiln_build_options o = {.folder = kiln_test_dir(), .seed = 1};
    here.path = write_model(a);
    kiln_assert_status_ok(kiln_profile_find(a, "native", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, here.path, NULL, &here.source, &err),
                          &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &here.source, 1, &t, &err), &err);
    kiln_assert_status_ok(
        kiln_package_build(a, &here.source, &t, &p, &o, &here.build, &err), &err);
    const kiln_graph *g = here.source.imported;
    for (size_t i = 0; i < 2; i++)
        here.in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, 7 + i);
    kiln_assert_status_ok(kiln_ref_run(a, g, here.in, 2, here.out, &err), &err);
}

static void check_package(const kiln_verify_options *o, size_t n_passed) {
    kiln_checks c = {0};
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_verify_package(kiln_test_arena(), here.build.path, o, &c, &err), &err);
    for (size_t i = 0; i < c.list.n; i++)
        if (c.list.v[i].outcome != KILN_PASSED)
            fail_msg("%s: %s", c.list.v[i].name, c.list.v[i].reason);
    assert_int_equal(c.n_passed, n_passed);
}

static void passes_its_self_test(void **state) {
    (void)state;
    static const int threads[] = {1, 2};
    const kiln_verify_options o = {
        .threads = threads, .n_threads = 2, .model = here.path, .seed = 3};
    check_package(&o, 1 + 2 * 2);
}

static void parameters_are_bytes(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_str file;
    const char *folder = kiln_path_join(a, kiln_test_dir(), "unpacked");
    kiln_assert_status_ok(kiln_package_unpack(a, here.build.path, folder, NULL, &err),
                          &err);
    kiln_assert_status_ok(kiln_file_map(a,
                                        kiln_path_join(a, folder, "params.safetensors"),
                                        0, &file, &err),
                          &err);
    const char *text = kiln_str_dupv(a, (kiln_str){file.p + 8, file.n - 8});
    static const char *const want[] = {
        "\"i4\": \"i4[4,4]\"",        "\"f4\": \"f4e2m1[4,4]\"",
        "\"f8\": \"f8e4m3fn[4,4]\"",  "\"i4\": {\"dtype\": \"U8\"",
        "\"f4\": {\"dtype\": \"U8\"", "\"f8\": {\"dtype\": \"F8_E4M3\""};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        if (strstr(text, want[i]) == NULL)
            fail_msg("%s is not in %s", want[i], text);
}

/* ---- golden outputs ---- */

static void put_tensor(kiln_buf *json, const char *dir, const char *name,
                       const char *dtype, const char *shape, const kiln_tensor *t) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *file = kiln_format(a, "%s.npy", name);
    kiln_assert_status_ok(kiln_tensor_write_npy(kiln_path_join(a, dir, file), t, &err),
                          &err);
    kiln_buf_printf(json,
                    "{\"name\": \"%s\", \"dtype\": \"%s\", \"shape\": [%s], "
                    "\"npy\": \"%s\"}",
                    name, dtype, shape, file);
}

static const char *write_golden(const char *name, const kiln_tensor *last) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_buf json;
    const char *dir = kiln_path_join(a, kiln_test_dir(), name);
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_buf_init(&json, a);
    kiln_buf_puts(&json, "{\"cases\": [{\"inputs\": [");
    put_tensor(&json, dir, "at", "int64", "3", &here.in[0]);
    kiln_buf_puts(&json, ", ");
    put_tensor(&json, dir, "x", "float8_e4m3fn", "3, 4", &here.in[1]);
    kiln_buf_puts(&json, "], \"outputs\": [");
    put_tensor(&json, dir, "y", "float32", "3, 4", &here.out[0]);
    kiln_buf_puts(&json, ", ");
    put_tensor(&json, dir, "z", "float8_e4m3fn", "3, 4", &here.out[1]);
    kiln_buf_puts(&json, ", ");
    put_tensor(&json, dir, "r0", "int4", "3, 4", last);
    kiln_buf_puts(&json, "]}]}");
    const kiln_str text = kiln_buf_str(&json);
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(a, dir, "golden.json"), text.p, text.n, &err),
        &err);
    return dir;
}

static void meets_golden_bytes(void **state) {
    (void)state;
    static const int threads[] = {1};
    const char *dir = write_golden("golden", &here.out[2]);
    const kiln_verify_options o = {.threads = threads, .n_threads = 1, .golden = dir};
    kiln_checks c = {0};
    kiln_err err = {0};
    check_package(&o, 1 + 2);
    kiln_assert_status_ok(kiln_verify_golden(kiln_test_arena(), here.path, dir, NULL,
                                             NULL, NULL, &c, &err),
                          &err);
    assert_int_equal(c.n_passed, 1);
}

static void golden_bytes_must_fit(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_checks c = {0};
    kiln_tensor wrong = here.out[2];
    wrong.type.dtype = KILN_I8;
    wrong.data = kiln_arena_dup(kiln_test_arena(), wrong.data, 12);
    ((signed char *)wrong.data)[5] = 8;
    const char *dir = write_golden("wrong", &wrong);
    kiln_assert_fails(kiln_verify_golden(kiln_test_arena(), here.path, dir, NULL, NULL,
                                         NULL, &c, &err),
                      KILN_ERR_SHAPE, &err,
                      "element 5 must be -8 to 7, a byte of i4, is 8");
}

int main(void) {
    kiln_test_add("builds", build_it, NULL); /* first: the others look at it */
    kiln_test_add("passes_its_self_test", passes_its_self_test, NULL);
    kiln_test_add("parameters_are_bytes", parameters_are_bytes, NULL);
    kiln_test_add("meets_golden_bytes", meets_golden_bytes, NULL);
    kiln_test_add("golden_bytes_must_fit", golden_bytes_must_fit, NULL);
    return kiln_test_run("low_bit_package");
}
