/* Packages in OCI layouts: the same bytes for the same archives, back as they went in,
 * and layouts that lie are refused by name, whichever bit of them it is. */
#include "packager/oci.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <stdio.h>
#include <string.h>

#define TAG "small-1-x86-avx2"
#define OTHER_TAG "other-1-x86-avx2"

static kiln_arena *arena(void) { return kiln_test_arena(); }

static const char *in(const char *dir, const char *name) {
    return kiln_path_join(arena(), dir, name);
}

static kiln_str bytes_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &text, &err), &err);
    return text;
}

static void write_text(const char *path, const char *p, size_t n) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, p, n, &err), &err);
}

static struct {
    const char *small,
        *other; /* archives; the first has a signature's file beside it */
} made;

static void makes_archives(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_find(arena(), "x86-avx2", &p, &err), &err);
    made.small = in(dir, TAG ".kiln.tar.zst");
    made.other = in(dir, OTHER_TAG ".kiln.tar.zst");
    kiln_test_package_file("graph \"small\" { input %x : f32[1,3,9,9] %r = relu(%x) "
                           "output %r }",
                           &p, made.small);
    kiln_test_package_file("graph \"other\" { input %x : f32[1,3,9,9] %r = relu(%x) "
                           "output %r }",
                           &p, made.other);
    write_text(kiln_format(arena(), "%s.minisig", made.small), "a signature\n", 12);
}

static kiln_oci put(const char *archive, const char *layout) {
    kiln_err err = {0};
    kiln_oci out;
    kiln_assert_status_ok(kiln_oci_write(archive, layout, NULL, &out, &err), &err);
    return out;
}

static const char *reference(const char *layout, const char *tag) {
    return tag == NULL ? kiln_format(arena(), "oci:%s", layout)
                       : kiln_format(arena(), "oci:%s:%s", layout, tag);
}

static void comes_back_as_it_went(void **state) {
    (void)state;
    const char *layout = in(kiln_test_dir(), "a:layout"), *path = NULL;
    kiln_err err = {0};
    const kiln_oci o = put(made.small, layout);
    assert_string_equal(o.tag, TAG);
    assert_int_equal(o.n_layers, 3); /* archive, signature, SBOM */
    for (int i = 0; i < 2; i++) {
        kiln_assert_status_ok(kiln_oci_resolve(arena(),
                                               reference(layout, i == 0 ? NULL : TAG),
                                               &path, &err),
                              &err);
        assert_string_equal(kiln_path_base(path), TAG ".kiln.tar.zst");
        assert_true(kiln_str_eq(bytes_of(path), bytes_of(made.small)));
        assert_true(kiln_str_eq(bytes_of(kiln_format(arena(), "%s.minisig", path)),
                                kiln_str_from("a signature\n")));
        assert_false(kiln_file_exists(kiln_format(arena(), "%s.intoto.json", path)));
    }
}

static void order_and_repeats_change_nothing(void **state) {
    (void)state;
    const char *x = in(kiln_test_dir(), "x"), *y = in(kiln_test_dir(), "y");
    put(made.small, x);
    put(made.other, x);
    put(made.other, y);
    put(made.small, y);
    put(made.other, y);
    assert_true(
        kiln_str_eq(bytes_of(in(x, "index.json")), bytes_of(in(y, "index.json"))));
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_dir_list(arena(), in(x, "blobs/sha256"), &names, &n, &err), &err);
    /* Two archives, manifests and SBOMs, one signature, one "{}". */
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++) {
        char sha256[KILN_SHA256_HEX];
        const kiln_str text = bytes_of(in(in(x, "blobs/sha256"), names[i]));
        kiln_sha256_of(text.p, text.n, sha256);
        assert_string_equal(sha256, names[i]);
    }
}

static void several_need_a_tag(void **state) {
    (void)state;
    const char *x = in(kiln_test_dir(), "x"), *path = NULL;
    kiln_err err = {0};
    put(made.small, x);
    put(made.other, x);
    kiln_assert_fails(
        kiln_oci_resolve(arena(), reference(x, NULL), &path, &err), KILN_ERR_ARG, &err,
        "several packages: name one by its tag; its tags: " OTHER_TAG ", " TAG);
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_oci_resolve(arena(), reference(x, "no"), &path, &err),
                      KILN_ERR_ARG, &err, "has no tag 'no'; its tags: ");
    kiln_err_clear(&err);
    kiln_assert_status_ok(
        kiln_oci_resolve(arena(), reference(x, OTHER_TAG), &path, &err), &err);
    assert_true(kiln_str_eq(bytes_of(path), bytes_of(made.other)));
}

static void writes_into_nothing_else(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_oci o;
    write_text(in(dir, "mine.txt"), "mine", 4);
    kiln_assert_fails(kiln_oci_write(made.small, dir, NULL, &o, &err), KILN_ERR_ARG,
                      &err, "has files and is no OCI layout; name a new folder");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_oci_write(made.small, in(dir, "new"), "-x", &o, &err),
                      KILN_ERR_ARG, &err, "'-x' cannot be a tag");
    kiln_err_clear(&err);
    kiln_assert_fails(
        kiln_oci_write(in(dir, "mine.txt"), in(dir, "new"), NULL, &o, &err),
        KILN_ERR_PARSE, &err, "is no package");
    assert_false(kiln_dir_exists(in(dir, "new")));
}

/* ---- layouts that lie ------------------------------------------------------------ */

static const char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (at == NULL)
        fail_msg("no '%s' in %s", from, text);
    return kiln_format(arena(), "%.*s%s%s", (int)(at - text), text, to,
                       at + strlen(from));
}

static void edit(const char *path, const char *from, const char *to) {
    const char *text = replaced(kiln_str_dupv(arena(), bytes_of(path)), from, to);
    write_text(path, text, strlen(text));
}

static const char *blob(const char *layout, const char *sha256) {
    return kiln_format(arena(), "%s/blobs/sha256/%s", layout, sha256);
}

/* The manifest with other text, and an index that says so: hashes are right. */
static void edit_manifest(const char *layout, const kiln_oci *o, const char *from,
                          const char *to) {
    const kiln_str was = bytes_of(blob(layout, o->digest));
    const char *text = replaced(kiln_str_dupv(arena(), was), from, to);
    char sha256[KILN_SHA256_HEX];
    kiln_sha256_of(text, strlen(text), sha256);
    write_text(blob(layout, sha256), text, strlen(text));
    edit(in(layout, "index.json"), o->digest, sha256);
    edit(in(layout, "index.json"), kiln_format(arena(), "\"size\": %zu", was.n),
         kiln_format(arena(), "\"size\": %zu", strlen(text)));
}

typedef struct lie {
    const char *name;
    const char *file; /* of the layout; NULL: the manifest, hashed again */
    const char *from, *to;
    kiln_status want;
    const char *text;
} lie;

static const lie lies[] = {
    {"another_layout", "oci-layout", "1.0.0", "9.0.0", KILN_ERR_UNSUPPORTED,
     "imageLayoutVersion must be 1.0.0, is '9.0.0'"},
    {"no_layout", "oci-layout", "{", "[", KILN_ERR_PARSE, "oci-layout:1:"},
    {"another_index", "index.json", "\"schemaVersion\": 2", "\"schemaVersion\": 1",
     KILN_ERR_PARSE, "index.json: schemaVersion must be 2"},
    {"index_of_something_else", "index.json", "image.index.v1", "image.list.v1",
     KILN_ERR_PARSE, "index.json: mediaType must be "},
    {"manifests_are_no_list", "index.json", "\"manifests\": [", "\"manifest\": [",
     KILN_ERR_PARSE, "manifests must be a list"},
    {"a_manifest_of_manifests", "index.json", "image.manifest.v1", "image.index.v1",
     KILN_ERR_PARSE, "which is no manifest"},
    {"a_path_for_a_digest", "index.json", "\"sha256:", "\"sha256:../../",
     KILN_ERR_PARSE,
     "its digest must be sha256: and 64 digits of 0-9a-f, is 'sha256:../../"},
    {"another_hash", "index.json", "\"sha256:", "\"sha512:", KILN_ERR_PARSE,
     "its digest must be sha256:"},
    {"a_tag_that_is_a_path", "index.json", TAG, "../" TAG, KILN_ERR_PARSE,
     "manifests[0] has no tag"},
    {"a_negative_size", "index.json", "\"size\": ", "\"size\": -", KILN_ERR_PARSE,
     "its size must be a whole number of bytes"},
    {"another_size", "index.json", "\"size\": ", "\"size\": 1", KILN_ERR_PARSE,
     "its descriptor says 1"},
    {"another_artifact", NULL, "vnd.kiln.package.v1\"", "vnd.kiln.package.v2\"",
     KILN_ERR_PARSE,
     "artifactType must be application/vnd.kiln.package.v1, is "
     "'application/vnd.kiln.package.v2'"},
    {"an_image", NULL, "vnd.oci.empty.v1", "vnd.oci.image.config.v1", KILN_ERR_PARSE,
     "config must be application/vnd.oci.empty.v1+json, is "},
    {"layers_are_no_list", NULL, "\"layers\": [", "\"layer\": [", KILN_ERR_PARSE,
     "layers must be a list of at most 16"},
    {"a_layer_of_another_kind", NULL, "application/spdx+json", "application/x-sh",
     KILN_ERR_PARSE, "layers[2] is 'application/x-sh', which is no part of a kiln"},
    {"two_archives", NULL, "application/spdx+json",
     "application/vnd.kiln.package.v1.tar+zstd", KILN_ERR_PARSE,
     "layers[2]: a second 'application/vnd.kiln.package"},
    {"no_archive", NULL, "application/vnd.kiln.package.v1.tar+zstd",
     "application/vnd.in-toto+json", KILN_ERR_PARSE, "no layer is an archive"},
    {"a_title_that_is_a_path", NULL, "\"" TAG ".kiln.tar.zst\"",
     "\"../../etc/" TAG ".kiln.tar.zst\"", KILN_ERR_PARSE,
     "title must be a file's name that ends in .kiln.tar.zst, is '../../etc/"},
    {"a_title_that_hides", NULL, "\"" TAG ".kiln.tar.zst\"",
     "\"." TAG ".kiln.tar.zst\"", KILN_ERR_PARSE, "title must be a file's name"},
    {"a_title_of_another_kind", NULL, "\"" TAG ".kiln.tar.zst\"", "\"a.sh\"",
     KILN_ERR_PARSE, "title must be a file's name"},
    {"a_layer_that_is_not_there", NULL, "\"digest\": \"sha256:44136fa3",
     "\"digest\": \"sha256:44136fa4", KILN_ERR_MISSING, "No such file"},
};
static lie rows[sizeof lies / sizeof lies[0]];

static void check_lie(void **state) {
    const lie *l = *state;
    const char *layout = in(kiln_test_dir(), "layout"), *path = NULL;
    kiln_err err = {0};
    const kiln_oci o = put(made.small, layout);
    if (l->file != NULL)
        edit(in(layout, l->file), l->from, l->to);
    else
        edit_manifest(layout, &o, l->from, l->to);
    kiln_assert_fails(kiln_oci_resolve(arena(), reference(layout, NULL), &path, &err),
                      l->want, &err, l->text);
}

/* ---- any bit --------------------------------------------------------------------- */

/* Nobody waits for the disk. */
static void write_soon(const char *path, const char *p, size_t n) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Of short ones every bit, of long ones some in each stretch. What is not refused is
 * the same archive. */
static void check_bits(const char *layout, const char *path, bool must_refuse) {
    const kiln_str was = bytes_of(path);
    char *copy = kiln_arena_dup(arena(), was.p, was.n);
    const size_t step = was.n > 97 ? was.n / 97 : 1;
    size_t n_refused = 0, n = 0;
    for (size_t i = 0; i < was.n; i += step)
        for (int bit = 0; bit<8; bit += step> 1 ? 3 : 1) {
            kiln_arena a = {0};
            kiln_err err = {0};
            const char *archive = NULL;
            copy[i] = (char)(copy[i] ^ 1 << bit);
            write_soon(path, copy, was.n);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            const kiln_status st =
                kiln_oci_resolve(&a, reference(layout, TAG), &archive, &err);
            n++;
            n_refused += st != KILN_OK;
            assert_true(!must_refuse || st != KILN_OK);
            if (st == KILN_OK)
                assert_true(kiln_str_eq(bytes_of(archive), bytes_of(made.small)));
            kiln_arena_fini(&a);
        }
    write_text(path, copy, was.n);
    print_message("%s: %zu of %zu refused\n", kiln_path_base(path), n_refused, n);
}

static void bits_count(void **state) {
    (void)state;
    const char *layout = in(kiln_test_dir(), "layout");
    kiln_err err = {0};
    const kiln_oci o = put(made.small, layout);
    char **names = NULL;
    size_t n = 0;
    check_bits(layout, in(layout, "oci-layout"), false);
    check_bits(layout, in(layout, "index.json"), false);
    kiln_assert_status_ok(
        kiln_dir_list(arena(), in(layout, "blobs/sha256"), &names, &n, &err), &err);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++)
        check_bits(layout, blob(layout, names[i]), true);
    assert_true(kiln_file_exists(blob(layout, o.digest)));
}

int main(void) {
    kiln_test_add("makes_archives", makes_archives, NULL);
    kiln_test_add("comes_back_as_it_went", comes_back_as_it_went, NULL);
    kiln_test_add("order_and_repeats_change_nothing", order_and_repeats_change_nothing,
                  NULL);
    kiln_test_add("several_need_a_tag", several_need_a_tag, NULL);
    kiln_test_add("writes_into_nothing_else", writes_into_nothing_else, NULL);
    memcpy(rows, lies, sizeof rows);
    kiln_test_add_rows(check_lie, rows);
    kiln_test_add("bits_count", bits_count, NULL);
    return kiln_test_run("OCI layouts");
}
