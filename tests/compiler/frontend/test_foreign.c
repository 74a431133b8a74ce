/* Files of other frameworks are named by their content, whatever they are called. */
#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name;
    const char *bytes;
    size_t n;
    const char *text;
} row;

#define B(s) (s), sizeof(s) - 1

static row rows[] = {
    {"cntk_1", B("B\0C\0N\0\0\0B\0V\0"), "is a model of CNTK 1"},
    {"executorch", B("\x1c\0\0\0ET12\0\0"), "is an ExecuTorch program"},
    {"safetensors", B("\x0c\0\0\0\0\0\0\0{\"w\": {}}   ...."),
     "is a safetensors file: weights without a model"},
    {"gguf", B("GGUF\x03\0\0\0"), "is a GGUF file"},
    {"ncnn", B("7767517\n3 3\n"), "is an ncnn model"},
    {"openvino",
     B("<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\"><layers><layer "
       "id=\"0\""),
     "is an OpenVINO model"},
    {"nothing_that_is_known", B("hello"), "is of no format that kiln reads: "},
    {"a_length_beyond_the_file", B("\xff\0\0\0\0\0\0\0{}"),
     "is of no format that kiln"},
    {"an_archive_of_something", B("PK\x03\x04.....readme.txt"), "is of no format that"},
};

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    const char *const path = kiln_path_join(a, kiln_test_dir(), "model.bin");
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, r->bytes, r->n, &err), &err);
    kiln_assert_fails(kiln_import(a, path, NULL, &g, NULL, &err), KILN_ERR_UNSUPPORTED,
                      &err, r->text);
}

/* An ending that lies does not hide what a file is. */
static void believes_no_ending(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const char *const path = kiln_path_join(a, kiln_test_dir(), "model.onnx");
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, rows[0].bytes, rows[0].n, &err), &err);
    kiln_assert_fails(kiln_import(a, path, NULL, &g, NULL, &err), KILN_ERR_UNSUPPORTED,
                      &err, rows[0].text);
}

static void knows_a_saved_models_folder(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const char *const dir = kiln_path_join(a, kiln_test_dir(), "saved");
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_fails(kiln_import(a, dir, NULL, &g, NULL, &err), KILN_ERR_IO, &err,
                      "saved' is a folder without a model: kiln reads files, folders "
                      "with saved_model.pb");
    kiln_err_clear(&err);
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(a, dir, "saved_model.pb"), "", 0, &err), &err);
    kiln_assert_fails(kiln_import(a, dir, NULL, &g, NULL, &err), KILN_ERR_PARSE, &err,
                      "saved_model.pb' is empty");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("believes_no_ending", believes_no_ending, NULL);
    kiln_test_add("knows_a_saved_models_folder", knows_a_saved_models_folder, NULL);
    return kiln_test_run("foreign");
}
