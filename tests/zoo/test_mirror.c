/* The catalog that ships, in its form, and against files where they are at hand; and
 * fetching from mirrors: folders and servers that have files by their paths. */
#include <string.h>

#include "tests/support/program/http_server.h"
#include "zoo/zoo_fetch.h"

enum { N_BYTES = 70000 };
static unsigned char content[N_BYTES];
static char hash[KILN_SHA256_HEX];
static kiln_test_server server;

/* ---- addresses ------------------------------------------------------------------- */

typedef struct address_row {
    const char *name, *mirror, *url, *path;
    const char *want;    /* NULL: refused */
    const char *refusal; /* text */
} address_row;

static address_row addresses[] = {
    {"its_own", NULL, "https://x.org/a/y.onnx?z=1", "b/y.onnx",
     "https://x.org/a/y.onnx?z=1", NULL},
    {"a_path_under_a_server", "https://m.org/base", NULL, "b/y.onnx",
     "https://m.org/base/b/y.onnx", NULL},
    {"a_slash_at_the_end_counts_once", "https://m.org//", NULL, "y.onnx",
     "https://m.org/y.onnx", NULL},
    {"a_path_is_written_as_urls_have_it", "https://m.org", NULL, "a b/50%+#?.onnx",
     "https://m.org/a%20b/50%25%2B%23%3F.onnx", NULL},
    {"a_path_goes_before_the_url", "https://m.org", "https://x.org/a/y.onnx",
     "b/z.onnx", "https://m.org/b/z.onnx", NULL},
    {"the_path_of_a_url", "http://m.org/base/", "https://x.org/a/y%20z.onnx?z=1#f",
     NULL, "http://m.org/base/a/y%20z.onnx", NULL},
    {"the_path_of_a_file", "https://m.org", "file:///a/y.onnx", NULL,
     "https://m.org/a/y.onnx", NULL},
    {"under_a_files_url", "file:///srv/models", NULL, "b/y.onnx",
     "file:///srv/models/b/y.onnx", NULL},
    {"refuses_what_has_no_address", NULL, NULL, "b/y.onnx", NULL,
     "it has no address of its own: it is from the package p; put the file into a "
     "folder "
     "as 'b/y.onnx', and name the folder by --mirror"},
    {"refuses_a_folder_that_is_not_there", "/there/is/no/such", NULL, "b/y.onnx", NULL,
     "the mirror '/there/is/no/such' is no folder that is there; name one, or a URL: "
     "https://, http:// or file:///"},
    {"refuses_other_kinds", "ftp://m.org", NULL, "b/y.onnx", NULL,
     "a mirror must be a folder, or begin with https://, http:// or file:///"},
    {"refuses_a_query", "https://m.org/?key=1", NULL, "b/y.onnx", NULL,
     "no blank, '?' or '#', is 'https://m.org/?key=1'"},
    {"refuses_a_url_that_names_no_file", "https://m.org", "https://x.org", NULL, NULL,
     "'https://x.org' names no file that a mirror could have"},
};

static void check_address(void **state) {
    const address_row *r = *state;
    kiln_err err = {0};
    const char *got = NULL;
    const kiln_fetch_entry e = {
        .name = "it", .url = r->url, .path = r->path, .source = "the package p"};
    const kiln_status st =
        kiln_fetch_address(kiln_test_arena(), &e, r->mirror, &got, &err);
    if (r->want == NULL) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->refusal);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_string_equal(got, r->want);
}

/* ---- mirrors --------------------------------------------------------------------- */

static const kiln_fetch_beside *beside(void) {
    static kiln_fetch_beside b;
    b = (kiln_fetch_beside){"variables/part one", hash, N_BYTES};
    return &b;
}

/* A model of two files, both with the same bytes. */
static kiln_fetch_entry entry(void) {
    return (kiln_fetch_entry){.name = "it",
                              .path = "files/it/model 1.pb",
                              .sha256 = hash,
                              .bytes = N_BYTES,
                              .beside = beside(),
                              .n_beside = 1};
}

static void put(const char *folder, const char *name, size_t n) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *path = kiln_path_join(a, folder, name);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(a, path), &err), &err);
    kiln_assert_status_ok(kiln_file_write(path, content, n, &err), &err);
}

static const char *folder_of_both(void) {
    const char *folder =
        kiln_path_join(kiln_test_arena(), kiln_test_dir(), "50% of a mirror");
    put(folder, "files/it/model 1.pb", N_BYTES);
    put(folder, "files/it/variables/part one", N_BYTES);
    return folder;
}

static kiln_fetch_options options(const char *mirror) {
    return (kiln_fetch_options){.cache = kiln_test_dir(),
                                .mirror = mirror,
                                .allow_http = true,
                                .retries = -1,
                                .connect_s = KILN_TEST_PATIENCE_S,
                                .stall_s = KILN_TEST_PATIENCE_S};
}

static void holds_it(const char *path) {
    kiln_err err = {0};
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &got, &err), &err);
    assert_int_equal(got.n, N_BYTES);
    assert_memory_equal(got.p, content, N_BYTES);
}

/* Both files, one beside the other; and once they are there, nothing else is needed. */
static void fetch_both(const kiln_fetch_options *with) {
    kiln_arena *a = kiln_test_arena();
    kiln_fetch_options o = *with;
    kiln_err err = {0};
    const char *path = NULL;
    const kiln_fetch_entry e = entry();
    kiln_assert_status_ok(kiln_fetch(a, &e, &o, &path, &err), &err);
    assert_string_equal(path, kiln_format(a, "%s/models/%s/model 1.pb", o.cache, hash));
    holds_it(path);
    holds_it(kiln_path_join(a, kiln_path_dir(a, path), "variables/part one"));
    o.mirror = NULL;
    o.offline = true;
    kiln_assert_status_ok(kiln_fetch(a, &e, &o, &path, &err), &err);
    o.offline = false;
    kiln_assert_status_ok(kiln_fetch(a, &e, &o, &path, &err), &err);
}

static void takes_a_folder(void **state) {
    (void)state;
    const kiln_fetch_options o = options(folder_of_both());
    fetch_both(&o);
}

static void takes_a_folders_url(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *folder = folder_of_both();
    const kiln_fetch_options o = options(kiln_format(
        a, "file://%s/50%%25%%20of%%20a%%20mirror/", kiln_path_dir(a, folder)));
    fetch_both(&o);
}

static const char *at_server(const char *path) {
    return kiln_format(kiln_test_arena(), "http://127.0.0.1:%d%s", server.port, path);
}

static void takes_a_server(void **state) {
    (void)state;
    const kiln_fetch_options o = options(at_server("/good"));
    server.n_requests = 0;
    fetch_both(&o);
    assert_int_equal(server.n_requests, 2);
}

/* A file of a catalog's own address too: the mirror alone is asked. */
static void asks_the_mirror_alone(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    const kiln_fetch_options o = options(folder_of_both());
    kiln_fetch_entry e = entry();
    e.url = at_server("/good/model%201.pb");
    server.n_requests = 0;
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), &err);
    assert_int_equal(server.n_requests, 0);
    e.url = at_server("/good/files/it/model%201.pb");
    e.path = NULL;
    server.n_requests = 0;
    const kiln_fetch_options own = options(NULL);
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &own, &path, &err), &err);
    assert_int_equal(server.n_requests, 2);
}

/* Each names the file, where it was looked for, and what helps. */
typedef struct refusal_row {
    const char *name;
    const char *mirror; /* of the server; NULL: a folder */
    size_t first, second;
    kiln_status want;
    const char *text[3];
} refusal_row;

static refusal_row refusals[] = {
    {"nothing_in_the_folder",
     NULL,
     0,
     0,
     KILN_ERR_IO,
     {"files/it/model%201.pb", "looking for 'it' in the mirror '",
      "which must have 'files/it/model 1.pb'"}},
    {"the_second_is_not_in_the_folder",
     NULL,
     N_BYTES,
     0,
     KILN_ERR_IO,
     {"fetching 'it: variables/part one' from 'file:///",
      "which must have 'files/it/variables/part one'", ""}},
    {"a_shorter_file",
     NULL,
     N_BYTES,
     N_BYTES - 1,
     KILN_ERR_IO,
     {"the server sends 69999 bytes, the catalog states 70000", "it: variables", ""}},
    {"a_server_without_it",
     "/missing",
     0,
     0,
     KILN_ERR_IO,
     {"the server answers 404 (not found)", "/missing/files/it/model%201.pb'",
      "which must have 'files/it/model 1.pb'"}},
    {"other_bytes",
     "/wrong",
     0,
     0,
     KILN_ERR_PARSE,
     {"what came has SHA-256 ", "the catalog states ", "which must have"}},
};

static void check_refusal(void **state) {
    const refusal_row *r = *state;
    kiln_err err = {0};
    const char *path = NULL;
    const char *folder = kiln_test_dir();
    const kiln_fetch_options o =
        options(r->mirror != NULL ? at_server(r->mirror) : folder);
    const kiln_fetch_entry e = entry();
    if (r->first > 0)
        put(folder, "files/it/model 1.pb", r->first);
    if (r->second > 0)
        put(folder, "files/it/variables/part one", r->second);
    assert_int_equal(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), r->want);
    print_message("%s\n", err.text);
    for (size_t i = 0; i < sizeof r->text / sizeof r->text[0]; i++)
        assert_non_null(strstr(err.text, r->text[i]));
}

static void wants_encryption(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    kiln_fetch_options o = options(at_server("/good"));
    const kiln_fetch_entry e = entry();
    o.allow_http = false;
    server.n_requests = 0;
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), KILN_ERR_IO,
                      &err, "--allow-http takes it all the same, hashes protect");
    assert_int_equal(server.n_requests, 0);
}

/* ---- the catalog that ships ------------------------------------------------------ */

static bool is_hash(const char *z) {
    return strlen(z) == 64 && strspn(z, "0123456789abcdef") == 64;
}

static void is_told(const char *text) {
    assert_non_null(text);
    assert_true(text[0] != '\0');
    for (; *text != '\0'; text++)
        assert_in_range(*text, ' ', '~');
}

/* It holds what a user's must, and says of each model what people ask. */
static void the_shipped_one_is_sound(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_catalog c;
    kiln_fetch_entry e;
    kiln_err err = {0};
    kiln_map seen = {0}, paths = {0};
    kiln_catalog_shipped(a, &c);
    assert_true(c.list.n >= 60);
    for (size_t i = 0; i < c.list.n; i++) {
        const kiln_fetch_entry *x = &c.list.v[i];
        assert_true(is_hash(x->sha256) && x->bytes > 0);
        assert_true(x->url == NULL || strncmp(x->url, "https://", 8) == 0);
        assert_true(kiln_path_is_contained(kiln_str_from(x->path)));
        is_told(x->name);
        is_told(x->licence);
        is_told(x->format);
        is_told(x->task);
        is_told(x->source);
        assert_null(kiln_map_get(&seen, kiln_str_from(x->name)));
        assert_null(kiln_map_get(&paths, kiln_str_from(x->path)));
        kiln_map_set(a, &seen, kiln_str_from(x->name), &c);
        kiln_map_set(a, &paths, kiln_str_from(x->path), &c);
        for (size_t k = 0; k < x->n_beside; k++) {
            assert_true(is_hash(x->beside[k].sha256) && x->beside[k].bytes > 0);
            assert_true(kiln_path_is_contained(kiln_str_from(x->beside[k].path)));
        }
    }
    kiln_assert_status_ok(kiln_catalog_find(&c, "resnet18-v1-7", &e, &err), &err);
    kiln_assert_fails(kiln_catalog_find(&c, "resnet18-v9", &e, &err), KILN_ERR_ARG,
                      &err, "is 'resnet18-v1-7' meant?");
}

static void the_shipped_one_has_all_formats(void **state) {
    (void)state;
    static const char *const formats[] = {"onnx",    "tflite", "tensorflow", "keras",
                                          "pytorch", "mxnet",  "caffe",      "coreml"};
    kiln_catalog c;
    size_t n = 0;
    kiln_catalog_shipped(kiln_test_arena(), &c);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        const size_t before = n;
        for (size_t i = 0; i < c.list.n; i++)
            n += strcmp(c.list.v[i].format, formats[k]) == 0;
        if (n == before)
            fail_msg("no model of format '%s'", formats[k]);
    }
    assert_int_equal(n, c.list.n); /* and no others */
}

/* Those at hand, by their paths under a mirror: sizes and golden outputs of all, and the
 * bytes of the smaller ones, each with all of its files. */
static void the_files_are_what_it_states(void **state) {
    (void)state;
    enum { SMALL = 500000 };
    kiln_arena *a = kiln_test_arena();
    const char *mirror = kiln_test_shared("models");
    const kiln_fetch_options o = options(mirror);
    kiln_catalog c;
    size_t n = 0;
    kiln_catalog_shipped(a, &c);
    for (size_t i = 0; i < c.list.n; i++) {
        const kiln_fetch_entry *x = &c.list.v[i];
        const char *file = kiln_path_join(a, mirror, x->path), *path;
        kiln_str bytes;
        kiln_err err = {0};
        if (strncmp(x->path, "files/", 6) != 0)
            continue;
        kiln_assert_status_ok(kiln_file_map(a, file, 0, &bytes, &err), &err);
        assert_int_equal(bytes.n, x->bytes);
        if (x->golden != NULL)
            assert_true(kiln_file_exists(kiln_path_join(
                a, kiln_path_join(a, mirror, x->golden), "golden.json")));
        if (x->bytes < SMALL) {
            kiln_assert_status_ok(kiln_fetch(a, x, &o, &path, &err), &err);
            n++;
        }
    }
    assert_true(n >= 15);
}

int main(void) {
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    for (size_t i = 0; i < N_BYTES; i++)
        content[i] = (unsigned char)kiln_rng_next(&rng);
    kiln_sha256_of(content, N_BYTES, hash);
    kiln_test_server_open(&server, content, N_BYTES);
    kiln_test_add_rows(check_address, addresses);
    kiln_test_add("takes_a_folder", takes_a_folder, NULL);
    kiln_test_add("takes_a_folders_url", takes_a_folders_url, NULL);
    kiln_test_add("takes_a_server", takes_a_server, NULL);
    kiln_test_add("asks_the_mirror_alone", asks_the_mirror_alone, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("wants_encryption", wants_encryption, NULL);
    kiln_test_add("the_shipped_one_is_sound", the_shipped_one_is_sound, NULL);
    kiln_test_add("the_shipped_one_has_all_formats", the_shipped_one_has_all_formats,
                  NULL);
    kiln_test_add("the_files_are_what_it_states", the_files_are_what_it_states, NULL);
    const int code = kiln_test_run("zoo: mirror");
    kiln_test_server_close(&server);
    return code;
}
