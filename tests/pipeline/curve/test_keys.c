/* Keys of devices: written once, read by who may, listed; what is none is refused. */
#include <string.h>
#include <sys/stat.h>

#include "pipeline/curve/curve.h"
#include "tests/support/kiln_test.h"

static const char *in_folder(const char *name) {
    static const char *folder;
    kiln_err err = {.len = 0};
    if (folder == NULL)
        kiln_assert_status_ok(kiln_dir_temp(kiln_test_arena(), &folder, &err), &err);
    return kiln_path_join(kiln_test_arena(), folder, name);
}

static const char *file_of(const char *name, const char *text) {
    const char *path = in_folder(name);
    kiln_err err = {.len = 0};
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    return path;
}

static void a_pair_is_what_was_saved(void **state) {
    kiln_err err = {.len = 0};
    kiln_curve_pair made, read;
    kiln_curve_key k;
    struct stat st;
    (void)state;
    kiln_assert_status_ok(kiln_curve_start(&err), &err);
    kiln_curve_pair_make(&made);
    kiln_assert_status_ok(
        kiln_curve_pair_save(kiln_test_arena(), in_folder("board"), &made, &err), &err);
    kiln_assert_status_ok(kiln_curve_pair_read(in_folder("board.key"), &read, &err),
                          &err);
    kiln_assert_status_ok(kiln_curve_public_read(in_folder("board.pub"), &k, &err),
                          &err);
    assert_memory_equal(&made, &read, sizeof made);
    assert_true(kiln_curve_key_eq(&k, &made.public_key));
    assert_int_equal(stat(in_folder("board.key"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    kiln_assert_fails(
        kiln_curve_pair_save(kiln_test_arena(), in_folder("board"), &made, &err),
        KILN_ERR_ARG, &err, "never written over");
    assert_int_equal(chmod(in_folder("board.key"), 0640), 0);
    err.len = 0;
    kiln_assert_fails(kiln_curve_pair_read(in_folder("board.key"), &read, &err),
                      KILN_ERR_UNSUPPORTED, &err, "chmod 600");
}

static const char digits[] =
    "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

static void lists_hold_several(void **state) {
    kiln_err err = {.len = 0};
    kiln_curve_allowed all = {0};
    kiln_curve_key k;
    char text[KILN_CURVE_KEY_TEXT];
    (void)state;
    const char *list =
        kiln_format(kiln_test_arena(),
                    "# mine\n\ncurve-public %s laptop of mine\n  curve-public %.63s1\n",
                    digits, digits);
    kiln_assert_status_ok(kiln_curve_allow(kiln_test_arena(), digits, &all, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_curve_allow(kiln_test_arena(), file_of("allowed", list), &all, &err),
        &err);
    assert_int_equal(all.list.n, 3);
    kiln_curve_key_text(&all.list.v[0], text);
    assert_string_equal(text, "00112233445566778899aabbccddeeff"
                              "00112233445566778899aabbccddeeff");
    kiln_assert_status_ok(kiln_curve_public_read(digits, &k, &err), &err);
    assert_true(kiln_curve_is_allowed(&all, &k));
    k.bytes[0] ^= 1;
    assert_false(kiln_curve_is_allowed(&all, &k));
}

typedef struct bad_row {
    const char *name, *text;
    kiln_status status;
    const char *says;
} bad_row;
static bad_row bad_rows[] = {
    {"refuses_a_missing_file", NULL, KILN_ERR_MISSING, "64 digits, or a file"},
    {"refuses_short_digits", "curve-public 0011", KILN_ERR_PARSE, "no public key"},
    {"refuses_a_secret", "curve-secret %s", KILN_ERR_PARSE, "is a secret key"},
    {"refuses_other_words", "curve %s", KILN_ERR_PARSE, "line 1"},
    {"refuses_two", "curve-public %s\ncurve-public %s", KILN_ERR_PARSE,
     "2 public keys"},
    {"refuses_none", "", KILN_ERR_PARSE, "0 public keys"},
};

static void refuses(void **state) {
    const bad_row *r = *state;
    kiln_err err = {.len = 0};
    kiln_curve_key k;
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    for (const char *c = r->text; c != NULL && *c != '\0'; c++)
        if (c[0] == '%' && c[1] == 's') {
            kiln_buf_puts(&text, digits);
            c++;
        } else {
            kiln_buf_add(&text, c, 1);
        }
    kiln_buf_add(&text, "", 1);
    const char *path =
        r->text != NULL ? file_of(r->name, text.p) : in_folder("missing");
    kiln_assert_fails(kiln_curve_public_read(path, &k, &err), r->status, &err, r->says);
}

int main(void) {
    kiln_test_add("a_pair_is_what_was_saved", a_pair_is_what_was_saved, NULL);
    kiln_test_add("lists_hold_several", lists_hold_several, NULL);
    kiln_test_add_rows(refuses, bad_rows);
    return kiln_test_run("keys");
}
