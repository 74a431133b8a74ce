/* Fetching against a small server that misbehaves: what is wrong is named, what is
 * broken never stays, what is good goes on where it stopped. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/program/http_server.h"
#include "zoo/zoo_fetch.h"

enum { N_BYTES = 300000 };
static unsigned char content[N_BYTES];
static kiln_test_server server;

static kiln_fetch_entry entry(const char *url) {
    static char hex[KILN_SHA256_HEX];
    kiln_sha256_of(content, N_BYTES, hex);
    return (kiln_fetch_entry){
        .name = "it", .url = url, .sha256 = hex, .bytes = N_BYTES};
}

static const char *at_server(const char *path) {
    return kiln_format(kiln_test_arena(), "http://127.0.0.1:%d%s/it.onnx", server.port,
                       path);
}

static kiln_fetch_options options(const char *cache) {
    return (kiln_fetch_options){.cache = cache,
                                .allow_http = true,
                                .retries = 2,
                                .first_wait_s = 0.01,
                                .connect_s = KILN_TEST_PATIENCE_S,
                                .stall_s = KILN_TEST_PATIENCE_S};
}

static void count_from_zero(void) {
    server.n_requests = 0;
    server.n_ranges = 0;
    server.n_proxied = 0;
}

static void holds_it(const char *path) {
    kiln_err err = {0};
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &got, &err), &err);
    assert_int_equal(got.n, N_BYTES);
    assert_memory_equal(got.p, content, N_BYTES);
}

static size_t n_files(const char *folder) {
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    if (!kiln_dir_exists(folder))
        return 0;
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), folder, &names, &n, &err),
                          &err);
    return n;
}

/* ---- each way of serving --------------------------------------------------------- */

typedef struct fetch_row {
    const char *name, *path;
    kiln_status want;
    const char *text;
    int requests; /* 0: not counted */
    bool keeps_partial;
} fetch_row;

static fetch_row rows[] = {
    {"gets_a_file", "/good", KILN_OK, NULL, 1, false},
    {"gets_a_file_without_ranges", "/norange", KILN_OK, NULL, 1, false},
    {"goes_on_after_cuts", "/cut", KILN_OK, NULL, 0, false},
    {"waits_for_a_busy_server", "/busy", KILN_OK, NULL, 3, false},
    {"follows", "/moved", KILN_OK, NULL, 2, false},
    {"goes_on_after_stalls", "/stall", KILN_OK, NULL, 0, false},
    {"refuses_other_bytes", "/wrong", KILN_ERR_PARSE, "the catalog states", 1, false},
    {"refuses_endless_ones", "/big", KILN_ERR_PARSE, "more than 300000 bytes", 1, true},
    {"refuses_shorter_ones", "/short", KILN_ERR_IO, "the server", 0, true},
    {"says_what_is_missing", "/missing", KILN_ERR_IO, "answers 404 (not found)", 1,
     true},
    {"ends_loops", "/loop", KILN_ERR_IO, "redirect", 0, true},
    {"never_turns_to_files", "/local", KILN_ERR_IO, "rotocol", 1, true},
    {"refuses_a_trickle", "/trickle", KILN_ERR_IO, "too slow", 0, true},
    {"survives_garbage", "/garbage", KILN_ERR_IO, "it.onnx", 0, true},
};

static void fetches(void **state) {
    const fetch_row *r = *state;
    kiln_err err = {0};
    const char *cache = kiln_test_dir(), *path = NULL;
    kiln_fetch_options o = options(cache);
    const kiln_fetch_entry e = entry(at_server(r->path));
    if (strcmp(r->path, "/trickle") == 0) {
        o.stall_s = 1;
        o.retries = 1;
    }
    if (strcmp(r->path, "/stall") == 0) { /* and so may this machine, by chance */
        o.stall_s = 1;
        o.retries = 100;
    }
    count_from_zero();
    const kiln_status st = kiln_fetch(kiln_test_arena(), &e, &o, &path, &err);
    if (r->want == KILN_OK) {
        kiln_assert_status_ok(st, &err);
        holds_it(path);
    } else {
        kiln_assert_fails(st, r->want, &err, r->text);
        assert_int_equal(n_files(kiln_format(kiln_test_arena(), "%s/models", cache)),
                         0);
    }
    if (r->requests > 0)
        assert_int_equal(server.n_requests, r->requests);
    if (!r->keeps_partial)
        assert_int_equal(n_files(kiln_format(kiln_test_arena(), "%s/partial", cache)),
                         0);
}

/* ---- the cache ------------------------------------------------------------------- */

static void asks_once(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL, *again = NULL;
    kiln_fetch_options o = options(kiln_test_dir());
    const kiln_fetch_entry e = entry(at_server("/good"));
    count_from_zero();
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), &err);
    o.offline = true;
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &again, &err), &err);
    assert_string_equal(path, again);
    assert_int_equal(server.n_requests, 1);
    /* What was damaged since is no file of ours. */
    kiln_assert_status_ok(kiln_file_write(path, "", 0, &err), &err);
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &e, &o, &again, &err), KILN_ERR_IO,
                      &err, "--offline forbids");
    kiln_err_clear(&err);
    o.offline = false;
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &again, &err), &err);
    holds_it(again);
    unsigned char *flipped = kiln_arena_dup(kiln_test_arena(), content, N_BYTES);
    flipped[7] ^= 1;
    kiln_assert_status_ok(kiln_file_write(path, flipped, N_BYTES, &err), &err);
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &again, &err), &err);
    holds_it(again);
}

/* A partial file of an earlier run: gone on with where it is right, begun anew where it
 * is not, or too long. */
static void goes_on_with_partial_files(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t bytes;
        bool is_wrong;
        int requests;
    } left[] = {{"/good", 100000, false, 1},    {"/good", 100000, true, 2},
                {"/good", N_BYTES, true, 1},    {"/good", N_BYTES + 5, false, 1},
                {"/norange", 100000, false, 2}, {"/half", 100000, false, 4},
                {"/no416", 100000, false, 2}};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        kiln_err err = {0};
        const char *cache = kiln_test_dir(), *path = NULL;
        const kiln_fetch_options o = options(cache);
        const kiln_fetch_entry e = entry(at_server(left[i].path));
        unsigned char *part = kiln_array(kiln_test_arena(), unsigned char, N_BYTES + 5);
        memcpy(part, content, N_BYTES);
        part[5] ^= left[i].is_wrong;
        const char *folder = kiln_format(kiln_test_arena(), "%s/partial", cache);
        kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
        kiln_assert_status_ok(
            kiln_file_write(kiln_path_join(kiln_test_arena(), folder, e.sha256), part,
                            left[i].bytes, &err),
            &err);
        count_from_zero();
        kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), &err);
        holds_it(path);
        assert_int_equal(server.n_requests, left[i].requests);
        assert_int_equal(n_files(folder), 0);
    }
}

/* ---- places ---------------------------------------------------------------------- */

static void reads_files(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    kiln_fetch_options o = options(kiln_test_dir());
    const char *source = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "m.onnx");
    kiln_assert_status_ok(kiln_file_write(source, content, N_BYTES, &err), &err);
    const kiln_fetch_entry e =
        entry(kiln_format(kiln_test_arena(), "file://%s", source));
    o.allow_http = false;
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), &err);
    holds_it(path);
    assert_string_equal(kiln_path_base(path), "m.onnx");
    const kiln_fetch_entry none = entry("file:///there/is/no/such.onnx");
    o.cache = kiln_test_dir();
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &none, &o, &path, &err),
                      KILN_ERR_IO, &err, "such.onnx");
}

/* Whoever opens it waits for a writer that never comes. */
static void refuses_a_pipe(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    kiln_fetch_options o = options(kiln_test_dir());
    const char *pipe = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "a pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *url = kiln_format(kiln_test_arena(), "file://%s/a%%20pipe",
                                  kiln_path_dir(kiln_test_arena(), pipe));
    const kiln_fetch_entry e = entry(url);
    alarm(KILN_TEST_PATIENCE_S);
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), KILN_ERR_IO,
                      &err, "it is no regular file");
    alarm(0);
}

static void wants_encryption(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    kiln_fetch_options o = options(kiln_test_dir());
    const kiln_fetch_entry e = entry(at_server("/good"));
    o.allow_http = false;
    count_from_zero();
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), KILN_ERR_IO,
                      &err, "rotocol");
    assert_int_equal(server.n_requests, 0);
}

static void goes_through_proxies(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    const kiln_fetch_options o = options(kiln_test_dir());
    const kiln_fetch_entry e = entry("http://models.invalid/good/it.onnx");
    count_from_zero();
    setenv("http_proxy",
           kiln_format(kiln_test_arena(), "http://127.0.0.1:%d", server.port), 1);
    const kiln_status st = kiln_fetch(kiln_test_arena(), &e, &o, &path, &err);
    unsetenv("http_proxy");
    kiln_assert_status_ok(st, &err);
    holds_it(path);
    assert_int_equal(server.n_proxied, 1);
}

static void nobody_listens(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = NULL;
    const kiln_fetch_options o = options(kiln_test_dir());
    const kiln_fetch_entry e = entry("http://127.0.0.1:1/it.onnx");
    kiln_assert_fails(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), KILN_ERR_IO,
                      &err, "the same command goes on");
}

/* A file that may not grow past a third stands for a full disk. */
static void names_a_full_disk(void **state) {
    (void)state;
    const char *cache = kiln_test_dir();
    const kiln_fetch_entry e = entry(at_server("/good"));
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {N_BYTES / 3, N_BYTES / 3};
        const kiln_fetch_options o = options(cache);
        kiln_err err = {0};
        const char *path = NULL;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        const kiln_status st = kiln_fetch(kiln_test_arena(), &e, &o, &path, &err);
        _exit(st == KILN_ERR_IO && strstr(err.text, "cannot write '") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kiln_err err = {0};
    const char *path = NULL;
    const kiln_fetch_options o = options(cache);
    count_from_zero();
    kiln_assert_status_ok(kiln_fetch(kiln_test_arena(), &e, &o, &path, &err), &err);
    holds_it(path);
    assert_int_equal(server.n_ranges, 1);
}

/* Three processes, one cache: one download. */
static void shares_a_cache(void **state) {
    (void)state;
    const char *cache = kiln_test_dir();
    const kiln_fetch_entry e = entry(at_server("/good"));
    pid_t pid[3];
    count_from_zero();
    for (int i = 0; i < 3; i++)
        if ((pid[i] = fork()) == 0) {
            const kiln_fetch_options o = options(cache);
            const char *path = NULL;
            const kiln_status st = kiln_fetch(kiln_test_arena(), &e, &o, &path, NULL);
            _exit(st == KILN_OK ? 0 : 1);
        }
    for (int i = 0; i < 3; i++) {
        int status = 0;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(server.n_requests, 1);
}

/* Ctrl-C while another process has the file: at once, not when that one ends. */
static void an_interrupt_ends_waiting(void **state) {
    (void)state;
    enum { BUSY = 3 };
    int ready[2];
    char byte;
    const char *cache = kiln_test_dir();
    const kiln_fetch_entry e = entry(at_server("/good"));
    const char *partial =
        kiln_format(kiln_test_arena(), "%s/partial/%s", cache, e.sha256);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_dir_make(kiln_path_dir(kiln_test_arena(), partial), &err), &err);
    const int fd = open(partial, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const kiln_fetch_options o = options(cache);
        const char *path = NULL;
        alarm(KILN_TEST_PATIENCE_S);
        kiln_interrupt_catch();
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        _exit(kiln_fetch(kiln_test_arena(), &e, &o, &path, NULL) == KILN_ERR_INTERRUPTED
                  ? BUSY
                  : 0);
    }
    /* It most likely waits by then; where it has not begun to, it must end too. */
    const struct timespec while_it_waits = {.tv_nsec = 300000000};
    int status = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    nanosleep(&while_it_waits, NULL);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd);
    close(ready[0]);
    close(ready[1]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == BUSY);
}

/* ---- catalogs -------------------------------------------------------------------- */

typedef struct catalog_row {
    const char *name, *text, *message;
} catalog_row;

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define MODEL(name, url, hash, bytes)                                                  \
    "{\"name\": \"" name "\", \"url\": \"" url "\", \"sha256\": \"" hash               \
    "\", \"bytes\": " bytes "}"

#define WITH_FILES(files)                                                              \
    "{\"name\": \"a\", \"path\": \"m/a\", \"sha256\": \"" HASH                         \
    "\", \"bytes\": 1, \"files\": " files "}"

static catalog_row catalog_rows[] = {
    {"no_list", "{}", "must be {\"models\": [...]}"},
    {"no_object", "{\"models\": [3]}", "reading model 0"},
    {"a_member_beside_the_list", "{\"models\": [], \"model\": []}",
     "has an unknown member beside 'models'"},
    {"a_licence_of_another_type",
     "{\"models\": [{\"name\": \"a\", \"url\": \"https://x/y\", \"licence\": 3}]}",
     "'licence' must be a string"},
    {"another_member", "{\"models\": [{\"rope\": \"x\"}]}",
     "an unknown member 'rope'; there are name, url, path, "},
    {"neither_url_nor_path", "{\"models\": [{\"name\": \"a\"}]}",
     "it must have a 'url', or a 'path' under mirrors"},
    {"a_path_out_of_its_folder",
     "{\"models\": [{\"name\": \"a\", \"path\": \"b/../../c\"}]}",
     "'path' must name a file below its folder, as models/mine.onnx, is 'b/../../c'"},
    {"a_path_of_a_folder", "{\"models\": [{\"name\": \"a\", \"path\": \"b/\"}]}",
     "'path' must name a file below its folder"},
    {"files_that_are_none", "{\"models\": [" WITH_FILES("3") "]}", "must be a list"},
    {"a_file_without_a_hash",
     "{\"models\": [" WITH_FILES("[{\"path\": \"b\", \"bytes\": 1}]") "]}",
     "reading its file 0"},
    {"a_file_with_an_address",
     "{\"models\": [" WITH_FILES("[{\"url\": \"https://x/y\"}]") "]}",
     "an unknown member 'url'; there are path, sha256 and bytes"},
    {"a_file_out_of_its_folder",
     "{\"models\": [" WITH_FILES("[{\"path\": \"/b\", \"sha256\": \"" HASH
                                 "\", \"bytes\": 1}]") "]}",
     "'path' must name a file below its folder"},
    {"files_beside_a_query",
     "{\"models\": [{\"name\": \"a\", \"url\": \"https://x/y?z\", \"sha256\": \"" HASH
     "\", \"bytes\": 1, \"files\": []}]}",
     "has no '?' or '#'"},
    {"a_task_of_another_type",
     "{\"models\": [{\"name\": \"a\", \"url\": \"https://x/y\", \"task\": []}]}",
     "'task' must be a string"},
    {"no_name", "{\"models\": [{}]}", "it must have a name"},
    {"another_kind_of_url", "{\"models\": [" MODEL("a", "ftp://x/y", HASH, "1") "]}",
     "is 'ftp://x/y'"},
    {"a_url_with_blanks", "{\"models\": [" MODEL("a", "https://x/y z", HASH, "1") "]}",
     "'url' must begin"},
    {"a_short_hash", "{\"models\": [" MODEL("a", "https://x/y", "9f", "1") "]}",
     "64 lower-case"},
    {"no_size", "{\"models\": [" MODEL("a", "https://x/y", HASH, "0") "]}",
     "a size from 1"},
    {"an_absurd_size", "{\"models\": [" MODEL("a", "https://x/y", HASH, "1e15") "]}",
     "a size from 1"},
    {"one_name_twice",
     "{\"models\": [" MODEL("a", "https://x/y", HASH,
                            "1") ", " MODEL("a", "https://x/z", HASH, "1") "]}",
     "another one is called 'a' too"},
};

static void bad_catalogs_are_refused(void **state) {
    const catalog_row *r = *state;
    kiln_err err = {0};
    kiln_catalog c;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "c.json");
    kiln_assert_status_ok(kiln_file_write(path, r->text, strlen(r->text), &err), &err);
    kiln_assert_fails(kiln_catalog_read(kiln_test_arena(), path, &c, &err),
                      KILN_ERR_PARSE, &err, r->message);
}

static void good_catalogs_are_read(void **state) {
    (void)state;
    static const char text[] = "{\"models\": [" MODEL(
        "a", "https://x/y", HASH,
        "7") ", "
             "{\"name\": \"b\", \"url\": null, \"path\": \"b/b.pb\", \"sha256\": "
             "\"" HASH "\", \"bytes\": 8, \"format\": \"tensorflow\", \"task\": \"t\", "
             "\"source\": "
             "\"s\", \"inputs\": \"x: f32[1]\", \"golden\": \"golden/b\", \"licence\": "
             "\"MIT\", \"files\": [{\"path\": \"v/v.index\", \"sha256\": \"" HASH
             "\", \"bytes\": 9}]}]}";
    kiln_err err = {0};
    kiln_catalog c;
    kiln_fetch_entry e;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "c.json");
    kiln_assert_status_ok(kiln_file_write(path, text, sizeof text - 1, &err), &err);
    kiln_assert_status_ok(kiln_catalog_read(kiln_test_arena(), path, &c, &err), &err);
    kiln_assert_status_ok(kiln_catalog_find(&c, "a", &e, &err), &err);
    assert_int_equal(e.bytes, 7);
    assert_null(e.path);
    assert_int_equal(e.n_beside, 0);
    kiln_assert_status_ok(kiln_catalog_find(&c, "b", &e, &err), &err);
    assert_null(e.url);
    assert_string_equal(e.path, "b/b.pb");
    assert_string_equal(e.format, "tensorflow");
    assert_string_equal(e.task, "t");
    assert_string_equal(e.source, "s");
    assert_string_equal(e.inputs, "x: f32[1]");
    assert_string_equal(e.golden, "golden/b");
    assert_string_equal(e.licence, "MIT");
    assert_int_equal(e.n_beside, 1);
    assert_string_equal(e.beside[0].path, "v/v.index");
    assert_int_equal(e.beside[0].bytes, 9);
    kiln_assert_fails(kiln_catalog_find(&c, "c", &e, &err), KILN_ERR_ARG, &err,
                      "no model of this name");
}

int main(void) {
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    for (size_t i = 0; i < N_BYTES; i++)
        content[i] = (unsigned char)kiln_rng_next(&rng);
    kiln_test_server_open(&server, content, N_BYTES);
    kiln_test_add_rows(fetches, rows);
    kiln_test_add("asks_once", asks_once, NULL);
    kiln_test_add("goes_on_with_partial_files", goes_on_with_partial_files, NULL);
    kiln_test_add("reads_files", reads_files, NULL);
    kiln_test_add("refuses_a_pipe", refuses_a_pipe, NULL);
    kiln_test_add("wants_encryption", wants_encryption, NULL);
    kiln_test_add("goes_through_proxies", goes_through_proxies, NULL);
    kiln_test_add("nobody_listens", nobody_listens, NULL);
    kiln_test_add("names_a_full_disk", names_a_full_disk, NULL);
    kiln_test_add("shares_a_cache", shares_a_cache, NULL);
    kiln_test_add("an_interrupt_ends_waiting", an_interrupt_ends_waiting, NULL);
    kiln_test_add_rows(bad_catalogs_are_refused, catalog_rows);
    kiln_test_add("good_catalogs_are_read", good_catalogs_are_read, NULL);
    const int code = kiln_test_run("zoo: fetch");
    kiln_test_server_close(&server);
    return code;
}
