/* A model's identity: its file, and the files beside it that hold its weights; and what
 * those files may be. */
#include "pipeline/pipeline.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"
#include "tests/support/model/tf_writer.h"

#include <string.h>
#include <unistd.h>

static const char *at(const char *dir, const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static void put(const char *path, const void *p, size_t n) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, p, n, &err), &err);
}

/* y = x + w, w of 24 bytes in `location`. */
static const char *model_in(const char *dir, const char *location) {
    kiln_arena *a = kiln_test_arena();
    kiln_onnx_writer w;
    const char *path = at(dir, "m.onnx");
    kiln_onnx_writer_init(&w, a, "m");
    kiln_onnx_put_input(&w, "x", KILN_ONNX_FLOAT, "2,3");
    if (location != NULL)
        kiln_onnx_put_initializer(&w,
                                  kiln_onnx_external_tensor(a, "w", KILN_ONNX_FLOAT,
                                                            "2,3", location, -1, -1));
    kiln_onnx_put_node(&w, "Add", "sum", location != NULL ? "x,w" : "x,x", "y");
    kiln_onnx_put_output(&w, "y", KILN_ONNX_FLOAT, "2,3");
    const kiln_str bytes = kiln_onnx_finish_model(&w, 8, 17);
    put(path, bytes.p, bytes.n);
    return path;
}

static const char *hash_of(const char *path) {
    char hex[KILN_SHA256_HEX];
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_source_hash(path, hex, &err), &err);
    return kiln_str_dup(kiln_test_arena(), hex);
}

static void a_file_alone_is_its_hash(void **state) {
    (void)state;
    const char *path = model_in(kiln_test_dir(), NULL);
    kiln_str bytes;
    char hex[KILN_SHA256_HEX];
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    kiln_sha256_of(bytes.p, bytes.n, hex);
    assert_string_equal(hash_of(path), hex);
}

static void data_beside_it_count(void **state) {
    (void)state;
    static const float w[6] = {1, 2, 3, 4, 5, 6}, other[6] = {1, 2, 3, 4, 5, 7};
    const char *dir = kiln_test_dir(), *path = model_in(dir, "w.bin");
    const char *absent = hash_of(path);
    put(at(dir, "w.bin"), w, sizeof w);
    const char *one = hash_of(path);
    put(at(dir, "w.bin"), other, sizeof other);
    const char *two = hash_of(path);
    put(at(dir, "w.bin"), w, sizeof w);
    assert_string_not_equal(absent, one);
    assert_string_not_equal(one, two);
    assert_string_equal(one, hash_of(path));
    kiln_source s;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_source_read(kiln_test_arena(), path, NULL, &s, &err),
                          &err);
    assert_string_equal(s.sha256, one);
}

/* As docs/package-format.md has it, so that others can do it too. */
static void the_form_is_the_documents(void **state) {
    (void)state;
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    const char *dir = kiln_test_dir(), *path = model_in(dir, "w.bin");
    char of_model[KILN_SHA256_HEX], of_data[KILN_SHA256_HEX], want[KILN_SHA256_HEX];
    kiln_str bytes;
    kiln_err err = {0};
    put(at(dir, "w.bin"), w, sizeof w);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    kiln_sha256_of(bytes.p, bytes.n, of_model);
    kiln_sha256_of(w, sizeof w, of_data);
    const char *text =
        kiln_format(kiln_test_arena(), "%s\n%s  w.bin\n", of_model, of_data);
    kiln_sha256_of(text, strlen(text), want);
    assert_string_equal(hash_of(path), want);
}

static void what_is_no_model_has_a_hash(void **state) {
    (void)state;
    const char *path = at(kiln_test_dir(), "bad.onnx");
    put(path, "no model", 8);
    assert_int_equal(strlen(hash_of(path)), 64);
}

/* ---- links ----------------------------------------------------------------------- */

static kiln_status read_it(const char *path, kiln_err *err) {
    kiln_source s;
    return kiln_source_import(kiln_test_arena(), path, NULL, &s, err);
}

static void links_lead_nowhere_else(void **state) {
    (void)state;
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    const char *dir = kiln_test_dir(), *secret = at(kiln_test_dir(), "secret");
    const char *path = model_in(dir, "w.bin");
    kiln_err err = {0};
    put(secret, w, sizeof w);
    assert_int_equal(symlink(secret, at(dir, "w.bin")), 0);
    kiln_assert_fails(read_it(path, &err), KILN_ERR_PARSE, &err,
                      "is a link out of the model's folder");
    kiln_err_clear(&err);
    const char *through = model_in(dir, "inner/secret");
    assert_int_equal(
        symlink(kiln_path_dir(kiln_test_arena(), secret), at(dir, "inner")), 0);
    kiln_assert_fails(read_it(through, &err), KILN_ERR_PARSE, &err,
                      "is a link out of the model's folder");
}

static void links_inside_are_followed(void **state) {
    (void)state;
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    const char *dir = kiln_test_dir();
    const char *path = model_in(dir, "w.bin");
    kiln_err err = {0};
    put(at(dir, "real.bin"), w, sizeof w);
    assert_int_equal(symlink("real.bin", at(dir, "w.bin")), 0);
    kiln_assert_status_ok(read_it(path, &err), &err);
}

/* As caches have it: names in one folder, both files in another. */
static void a_model_and_its_data_may_be_links_together(void **state) {
    (void)state;
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    const char *names = kiln_test_dir(), *store = kiln_test_dir();
    const char *path = model_in(store, "w.bin");
    kiln_err err = {0};
    put(at(store, "blob"), w, sizeof w);
    assert_int_equal(symlink(path, at(names, "m.onnx")), 0);
    assert_int_equal(symlink(at(store, "blob"), at(names, "w.bin")), 0);
    kiln_assert_status_ok(read_it(at(names, "m.onnx"), &err), &err);
}

/* A SavedModel is named by its folder, too. */
static void a_folder_is_the_model_in_it(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const char *const dir = at(kiln_test_dir(), "saved");
    const char *const file = at(dir, "saved_model.pb");
    const kiln_str graph =
        kiln_tf_graph_of(a, "given Placeholder dtype=t1 shape=S1,2\ny Relu given");
    const kiln_str model = kiln_tf_saved_of(a, graph, "x=given:0", "y=y:0");
    kiln_source s;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    put(file, model.p, model.n);
    assert_string_equal(hash_of(dir), hash_of(file));
    kiln_assert_status_ok(kiln_source_import(a, dir, NULL, &s, &err), &err);
    assert_string_equal(s.format, "tensorflow");
    assert_string_equal(s.name, "saved");
    assert_string_equal(s.sha256, hash_of(file));
}

/* A folder that is a model is named as it is, however its path ends. */
static void folders_have_names(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    static const kiln_shape_binding x = {"conv2d_9_input", 4, {1, 32, 32, 3}};
    const kiln_import_options o = {.shapes = &x, .n_shapes = 1};
    const char *const path =
        kiln_test_shared("models/files/samplenet_savedmodel/samplenet_tf2");
    kiln_source s;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_source_import(a, kiln_format(a, "%s/", path), &o, &s, &err), &err);
    assert_string_equal(s.name, "samplenet_tf2");
}

int main(void) {
    kiln_test_add("a_file_alone_is_its_hash", a_file_alone_is_its_hash, NULL);
    kiln_test_add("data_beside_it_count", data_beside_it_count, NULL);
    kiln_test_add("the_form_is_the_documents", the_form_is_the_documents, NULL);
    kiln_test_add("what_is_no_model_has_a_hash", what_is_no_model_has_a_hash, NULL);
    kiln_test_add("links_lead_nowhere_else", links_lead_nowhere_else, NULL);
    kiln_test_add("links_inside_are_followed", links_inside_are_followed, NULL);
    kiln_test_add("a_model_and_its_data_may_be_links_together",
                  a_model_and_its_data_may_be_links_together, NULL);
    kiln_test_add("a_folder_is_the_model_in_it", a_folder_is_the_model_in_it, NULL);
    kiln_test_add("folders_have_names", folders_have_names, NULL);
    return kiln_test_run("sources of models");
}
