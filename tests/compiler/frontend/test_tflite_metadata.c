/* What TensorFlow Lite files say for people: labels in the archive behind the model,
 * normalisation, and damage, which is a note and no failure. */
#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/tflite_run.h"

#include <string.h>

/* ---- an archive behind the model --------------------------------------------------- */

static void put(kiln_buf *b, uint64_t v, size_t bytes) {
    static const char zeros[8] = {0};
    const size_t own = bytes < sizeof v ? bytes : sizeof v;
    kiln_buf_add(b, &v, own);
    kiln_buf_add(b, zeros, bytes - own);
}

/* Signature, then what local and central headers have in common. */
static void put_head(kiln_buf *b, bool is_central, int method, size_t n_name,
                     size_t n) {
    kiln_buf_add(b, is_central ? "PK\x01\x02" : "PK\x03\x04", 4);
    put(b, 20, is_central ? 4 : 2);
    put(b, 0, 2);
    put(b, (uint64_t)method, 2);
    put(b, 0, 8);
    put(b, n, 4);
    put(b, n, 4);
    put(b, n_name, 2);
    put(b, 0, 2);
}

/* One entry behind the file's last byte; offsets count from the file's beginning. */
static kiln_str with_archive(kiln_str model, const char *name, const char *text,
                             int method) {
    const size_t n_name = strlen(name), n = strlen(text), at = model.n;
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_buf_add(&b, model.p, model.n);
    put_head(&b, false, method, n_name, n);
    kiln_buf_add(&b, name, n_name);
    kiln_buf_add(&b, text, n);
    const size_t directory = b.n;
    put_head(&b, true, method, n_name, n);
    put(&b, 0, 10);
    put(&b, at, 4);
    kiln_buf_add(&b, name, n_name);
    const size_t size = b.n - directory;
    kiln_buf_add(&b, "PK\x05\x06", 4);
    put(&b, 0, 4);
    put(&b, 1, 2);
    put(&b, 1, 2);
    put(&b, size, 4);
    put(&b, directory, 4);
    put(&b, 0, 2);
    return kiln_buf_str(&b);
}

/* ---- metadata ---------------------------------------------------------------------- */

/* An image of RGB, normalised, and an output with labels. */
static kiln_str metadata(void) {
    static const float mean[] = {127.5F, 1, 2, 3, 4}, deviation[] = {128};
    kiln_fbw_table *const m = kiln_fbw_new();
    kiln_fbw_text(m, 0, "flowers");
    kiln_fbw_text(m, 4, "someone");
    kiln_fbw_table *const g = kiln_fbw_add(kiln_fbw_tables(m, 3));
    kiln_fbw_table *const in = kiln_fbw_add(kiln_fbw_tables(g, 2));
    kiln_fbw_text(in, 0, "image");
    kiln_fbw_table *const content = kiln_fbw_sub(in, 3);
    kiln_fbw_int(content, 0, 1, 2);
    kiln_fbw_int(kiln_fbw_sub(content, 1), 0, 1, 1);
    kiln_fbw_table *const unit = kiln_fbw_add(kiln_fbw_tables(in, 4));
    kiln_fbw_int(unit, 0, 1, 1);
    kiln_fbw_table *const n = kiln_fbw_sub(unit, 1);
    kiln_fbw_vector(n, 0, mean, 5, sizeof *mean);
    kiln_fbw_vector(n, 1, deviation, 1, sizeof *deviation);
    kiln_fbw_table *const out = kiln_fbw_add(kiln_fbw_tables(g, 3));
    kiln_fbw_text(out, 1, "what\nit is");
    kiln_fbw_table *const f = kiln_fbw_add(kiln_fbw_tables(out, 6));
    kiln_fbw_text(f, 0, "labels.txt");
    kiln_fbw_int(f, 2, 1, 2);
    return kiln_fbw_write(m, "M001");
}

static kiln_str model(kiln_str said) {
    static const int32_t shape[] = {1}, x = 0, y = 1;
    kiln_tfw m = kiln_tfw_begin();
    kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 1, shape, NULL, 0);
    kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 1, shape, NULL, 0);
    kiln_tfw_input(&m, 0);
    kiln_tfw_output(&m, 1);
    kiln_tfw_op(&m, 19, NULL, 1, &x, 1, &y);
    kiln_fbw_vector(kiln_fbw_add(m.buffers), 0, said.p, said.n, 1);
    kiln_fbw_table *const entry = kiln_fbw_add(kiln_fbw_tables(m.model, 6));
    kiln_fbw_text(entry, 0, "TFLITE_METADATA");
    kiln_fbw_int(entry, 1, 4, m.n_buffers++);
    return kiln_tfw_write(&m);
}

static kiln_import_report read(kiln_str file) {
    kiln_import_report report = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_import(kiln_test_arena(), kiln_test_tflite_file(file),
                                      NULL, &g, &report, &err),
                          &err);
    return report;
}

static void check_note(const kiln_import_report *r, size_t i, const char *about,
                       const char *text) {
    assert_true(i < r->notes.n);
    assert_string_equal(r->notes.v[i].about, about);
    assert_string_equal(r->notes.v[i].text, text);
}

static void notes_name_labels_and_normalisation(void **state) {
    (void)state;
    const kiln_import_report r =
        read(with_archive(model(metadata()), "labels.txt", "rose\ntulip\n", 0));
    assert_int_equal(r.notes.n, 3);
    check_note(&r, 0, "model", "flowers; by someone");
    check_note(
        &r, 1, "input 'x'",
        "image; image, RGB; normalised: (x - mean) / deviation, mean 127.5, 1, 2, "
        "3, ..., deviation 128");
    check_note(&r, 2, "output 'y'",
               "what\\x0ait is; labels of an axis: labels.txt, 2 lines, first 'rose'");
}

static void labels_may_be_packed_or_missing(void **state) {
    (void)state;
    kiln_import_report r =
        read(with_archive(model(metadata()), "labels.txt", "rose\n", 8));
    assert_non_null(strstr(r.notes.v[2].text, "labels.txt (packed)"));
    r = read(with_archive(model(metadata()), "others.txt", "rose\n", 0));
    assert_non_null(strstr(r.notes.v[2].text, "labels.txt (not in the file)"));
    r = read(model(metadata()));
    assert_non_null(strstr(r.notes.v[2].text, "labels.txt (not in the file)"));
}

static void variables_are_a_note(void **state) {
    static const int32_t shape[] = {1}, x = 0, y = 1;
    (void)state;
    kiln_tfw m = kiln_tfw_begin();
    kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 1, shape, NULL, 0);
    kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 1, shape, NULL, 0);
    kiln_tfw_tensor(&m, "kept", KILN_TFW_F32, 1, shape, NULL, 0);
    kiln_fbw_int(m.tensor, 5, 1, 1);
    kiln_tfw_input(&m, 0);
    kiln_tfw_output(&m, 1);
    kiln_tfw_op(&m, 19, NULL, 1, &x, 1, &y);
    const kiln_import_report r = read(kiln_tfw_write(&m));
    assert_int_equal(r.notes.n, 1);
    assert_string_equal(r.notes.v[0].about, "state");
    assert_non_null(
        strstr(r.notes.v[0].text, "1 variable; each run begins with zeros"));
}

/* A byte of it changed, at each place; a part of it. The network is what it was. */
static void damage_is_a_note(void **state) {
    (void)state;
    const kiln_str good = metadata();
    kiln_import_report r = read(model((kiln_str){"abc", 3}));
    check_note(&r, 0, "metadata",
               "cannot be read: no ModelMetadata is where it should be");
    size_t n_damaged = 0;
    for (size_t i = 0; i < good.n; i += 11) {
        char *const bad = kiln_arena_alloc(kiln_test_arena(), good.n);
        memcpy(bad, good.p, good.n);
        bad[i] = (char)(bad[i] ^ 0x85);
        r = read(model((kiln_str){bad, good.n}));
        for (size_t k = 0; k < r.notes.n; k++)
            n_damaged += strcmp(r.notes.v[k].about, "metadata") == 0;
    }
    assert_true(n_damaged > 0);
    r = read(model((kiln_str){good.p, good.n / 2}));
    assert_true(r.notes.n > 0);
}

int main(void) {
    kiln_test_add("notes_name_labels_and_normalisation",
                  notes_name_labels_and_normalisation, NULL);
    kiln_test_add("labels_may_be_packed_or_missing", labels_may_be_packed_or_missing,
                  NULL);
    kiln_test_add("variables_are_a_note", variables_are_a_note, NULL);
    kiln_test_add("damage_is_a_note", damage_is_a_note, NULL);
    return kiln_test_run("tflite_metadata");
}
