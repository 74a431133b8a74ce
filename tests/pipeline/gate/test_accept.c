/* Archives become the accepted ones, all at once or not at all; what is replaced is
 * remembered; what is wrong is refused by name. */
#include "pipeline/gate/gate_internal.h"
#include "pipeline/nightly/nightly.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_vary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kiln_arena *arena(void) { return kiln_test_arena(); }

static const char *in(const char *dir, const char *name) {
    return kiln_path_join(arena(), dir, name);
}

static kiln_status accept(const char *path, const char *to, bool is_dry,
                          kiln_accept_rows *rows, kiln_err *err) {
    const kiln_accept_options o = {
        .to = to, .who = "ada", .is_trusting = true, .is_dry = is_dry};
    return kiln_accept(arena(), &path, 1, &o, rows, err);
}

static kiln_accept_row accepted(const char *path, const char *to) {
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    kiln_assert_status_ok(accept(path, to, false, &rows, &err), &err);
    assert_int_equal(rows.n, 1);
    return rows.v[0];
}

static kiln_accepted_list list_of(const char *to) {
    kiln_err err = {0};
    kiln_accepted_list l;
    kiln_assert_status_ok(kiln_accepted_read(arena(), to, &l, &err), &err);
    return l;
}

static size_t n_archives(const char *dir) {
    kiln_err err = {0};
    char **name = NULL;
    size_t n = 0, found = 0;
    kiln_assert_status_ok(kiln_dir_list(arena(), dir, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        found += kiln_str_ends(kiln_str_from(name[i]), ".zst");
    return found;
}

static void keeps_one_of_each_and_a_history(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *first = in(dir, "1.kiln.tar.zst"), *second = in(dir, "2.kiln.tar.zst"),
               *third = in(dir, "3.kiln.tar.zst");
    package_vary(&(package_variant){.version = "1"}, first);
    package_vary(&(package_variant){.version = "2"}, second);
    package_vary(&(package_variant){.version = "3"}, third);
    assert_int_equal(list_of(to).now.n, 0); /* no such folder */
    const kiln_accept_row one = accepted(first, to);
    assert_false(one.is_unchanged);
    assert_null(one.replaces);
    assert_true(accepted(first, to).is_unchanged);
    const kiln_accept_row two = accepted(second, to);
    assert_string_equal(two.replaces, one.entry.sha256);
    const kiln_accepted_list l = list_of(to);
    assert_int_equal(l.now.n, 1);
    assert_string_equal(l.now.v[0].version, "2");
    assert_string_equal(l.now.v[0].who, "ada");
    assert_true(kiln_file_exists(in(to, l.now.v[0].file)));
    assert_int_equal(l.history.n, 1);
    assert_string_equal(l.history.v[0].sha256, one.entry.sha256);
    assert_non_null(l.history.v[0].replaced);
    /* The old one stays until the next acceptance: a gate may just have read of it. */
    assert_int_equal(n_archives(to), 2);
    const kiln_accept_row three = accepted(third, to);
    assert_string_equal(three.replaces, two.entry.sha256);
    /* The first is frozen, and stays. */
    assert_int_equal(n_archives(to), 3);
    assert_true(kiln_file_exists(in(to, one.entry.file)));
    assert_true(kiln_file_exists(in(to, two.entry.file)));
    (void)accepted(second, to); /* back again: what is accepted is never removed */
    assert_true(kiln_file_exists(in(to, two.entry.file)));
    assert_int_equal(n_archives(to), 3);
    (void)accepted(third, to);
    (void)accepted(first, to);
    assert_false(kiln_file_exists(in(to, two.entry.file)));
    assert_int_equal(n_archives(to), 2);
}

/* ---- what is frozen -------------------------------------------------------------- */

static kiln_accept_rows froze(const char *to, const char *model) {
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    kiln_assert_status_ok(
        kiln_freeze(arena(), to, &model, model != NULL ? 1 : 0, &rows, &err), &err);
    return rows;
}

static void the_first_is_frozen_until_somebody_says_so(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *path[3];
    kiln_accept_row row[3];
    for (int i = 0; i < 3; i++) {
        path[i] = in(dir, kiln_format(arena(), "%d.kiln.tar.zst", i));
        package_vary(&(package_variant){.version = kiln_format(arena(), "%d", i + 1)},
                     path[i]);
    }
    row[0] = accepted(path[0], to);
    row[1] = accepted(path[1], to);
    assert_int_equal(list_of(to).frozen.n, 1);
    assert_string_equal(list_of(to).frozen.v[0].sha256, row[0].entry.sha256);
    assert_int_equal(froze(to, NULL).n, 1);
    const kiln_accept_rows again = froze(to, "small");
    assert_int_equal(again.n, 0); /* it is frozen already */
    assert_string_equal(list_of(to).frozen.v[0].sha256, row[1].entry.sha256);
    /* The old one's file goes with the next acceptance, as what was replaced does. */
    assert_true(kiln_file_exists(in(to, row[0].entry.file)));
    row[2] = accepted(path[2], to);
    assert_string_equal(row[2].replaces, row[1].entry.sha256);
    assert_false(kiln_file_exists(in(to, row[0].entry.file)));
    assert_true(kiln_file_exists(in(to, row[1].entry.file)));
}

/* Newest first, and the oldest are left out, never what has just gone. */
static void a_long_history_forgets_the_oldest(void **state) {
    (void)state;
    enum { MOST = 1000 };
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *first = in(dir, "1.kiln.tar.zst"), *second = in(dir, "2.kiln.tar.zst");
    kiln_err err = {0};
    kiln_buf json;
    package_vary(&(package_variant){.version = "1"}, first);
    package_vary(&(package_variant){.version = "2"}, second);
    const kiln_accept_row one = accepted(first, to), two = accepted(second, to);
    kiln_accepted_list l = list_of(to);
    for (size_t i = l.history.n; i < MOST; i++)
        kiln_vec_push(arena(), &l.history, one.entry);
    for (size_t i = 0; i < l.history.n; i++) {
        l.history.v[i].file = "gone.kiln.tar.zst";
        l.history.v[i].replaced = "2026-01-01T00:00:00Z";
    }
    kiln_buf_init(&json, arena());
    kiln_accepted_json(&json, &l);
    kiln_assert_status_ok(
        kiln_file_write(in(to, "accepted.json"), json.p, json.n, &err), &err);
    assert_int_equal(froze(to, NULL).n, 1);
    l = list_of(to);
    assert_int_equal(l.history.n, MOST);
    assert_string_equal(l.history.v[0].file, one.entry.file);
    (void)accepted(second, to);
    assert_false(kiln_file_exists(in(to, one.entry.file)));
    assert_true(kiln_file_exists(in(to, two.entry.file)));
}

static void lists_without_frozen_ones_get_theirs(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *first = in(dir, "1.kiln.tar.zst"), *second = in(dir, "2.kiln.tar.zst");
    kiln_err err = {0};
    kiln_str text;
    package_vary(&(package_variant){.version = "1"}, first);
    package_vary(&(package_variant){.version = "2"}, second);
    const kiln_accept_row one = accepted(first, to);
    kiln_assert_status_ok(
        kiln_file_map(arena(), in(to, "accepted.json"), 0, &text, &err), &err);
    const char *at = strstr(text.p, ",\n  \"frozen\""); /* as an older kiln wrote it */
    assert_non_null(at);
    const char *old = kiln_format(arena(), "%.*s\n}\n", (int)(at - text.p), text.p);
    kiln_assert_status_ok(
        kiln_file_write(in(to, "accepted.json"), old, strlen(old), &err), &err);
    assert_int_equal(list_of(to).frozen.n, 0);
    (void)accepted(second, to);
    assert_int_equal(list_of(to).frozen.n, 1);
    assert_string_equal(list_of(to).frozen.v[0].sha256, one.entry.sha256);
}

static void nothing_to_freeze_is_said(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *path = in(dir, "1.kiln.tar.zst"), *name = "large";
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    kiln_assert_fails(kiln_freeze(arena(), to, NULL, 0, &rows, &err), KILN_ERR_MISSING,
                      &err, "'kiln accept ARCHIVE... --to ");
    package_vary(&(package_variant){0}, path);
    (void)accepted(path, to);
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_freeze(arena(), to, &name, 1, &rows, &err), KILN_ERR_ARG,
                      &err, "nothing is accepted in '");
}

/* With no emulator in reach; a variant of its profile among others, or alone. */
static kiln_accept_row accepted_without_emulators(const char *path, const char *to) {
    const char *was = kiln_str_dup(arena(), getenv("PATH"));
    assert_int_equal(setenv("PATH", kiln_test_dir(), 1), 0);
    const kiln_accept_row row = accepted(path, to);
    assert_int_equal(setenv("PATH", was, 1), 0);
    return row;
}

static void what_nobody_can_run_is_said(void **state) {
    (void)state;
    static const char text[] =
        "graph \"small\" { input %x : f32[1,3,9,9] %r = relu(%x) output %r }";
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *const part[] = {in(dir, "own.kiln.tar.zst"),
                                in(dir, "other.kiln.tar.zst")};
    const char *both = in(dir, "both.kiln.tar.zst");
    kiln_err err = {0};
    kiln_profile own, other;
    kiln_assert_status_ok(kiln_profile_detect(arena(), &own, &err), &err);
    kiln_assert_status_ok(
        kiln_profile_find(arena(),
                          own.arch == KILN_ARCH_AARCH64 ? "riscv64" : "aarch64", &other,
                          &err),
        &err);
    kiln_test_package_file(text, &own, part[0]);
    kiln_test_package_file(text, &other, part[1]);
    kiln_assert_status_ok(
        kiln_package_write_variants(part, 2, KILN_PACKAGE_TIME, both, NULL, &err),
        &err);
    const kiln_accept_row alone = accepted_without_emulators(part[1], to);
    assert_non_null(strstr(alone.not_tested, "is not in PATH"));
    const kiln_accept_row row = accepted_without_emulators(both, to);
    print_message("%s\n", row.not_tested);
    assert_non_null(strstr(row.not_tested, "v1: "));
    assert_non_null(strstr(row.not_tested, "is not in PATH"));
    assert_int_equal(row.judge, KILN_JUDGED_NOBODY);
}

static void threads_have_places_of_their_own(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    kiln_assert_status_ok(kiln_dir_make(in(dir, "run/jobs/a"), &err), &err);
    kiln_assert_status_ok(kiln_dir_make(in(dir, "run/jobs/b"), &err), &err);
    package_vary(&(package_variant){.threads = 1},
                 in(dir, "run/jobs/a/x.kiln.tar.zst"));
    package_vary(&(package_variant){.threads = 2},
                 in(dir, "run/jobs/b/x.kiln.tar.zst"));
    kiln_assert_status_ok(accept(in(dir, "run"), to, false, &rows, &err), &err);
    assert_int_equal(rows.n, 2);
    const kiln_accepted_list l = list_of(to);
    assert_int_equal(l.now.n, 2);
    for (int threads = 1; threads <= 3; threads++) {
        kiln_package_facts f = {
            .model = "small", .threads = threads, .profile.name = l.now.v[0].profile};
        const kiln_accepted *e = kiln_accepted_find(&l, &f);
        assert_int_equal(e != NULL, threads < 3);
        if (e != NULL)
            assert_int_equal(e->threads, threads);
    }
}

static void dry_runs_change_nothing(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *path = in(dir, "1.kiln.tar.zst");
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    package_vary(&(package_variant){0}, path);
    kiln_assert_status_ok(accept(path, to, true, &rows, &err), &err);
    assert_int_equal(rows.n, 1);
    assert_false(kiln_dir_exists(to));
}

/* Kernels that do nothing, and say that so it must be. */
static void replaces_by_nothing_idle(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *good = in(dir, "1.kiln.tar.zst"), *idle = in(dir, "2.kiln.tar.zst"),
               *next = in(dir, "3.kiln.tar.zst");
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    package_vary(&(package_variant){.version = "1"}, good);
    package_vary(&(package_variant){.version = "2"}, next);
    package_idle(good, idle);
    assert_int_equal(accepted(good, to).judge, KILN_JUDGED_NOBODY);
    kiln_assert_fails(accept(idle, to, false, &rows, &err), KILN_ERR_PARSE, &err,
                      "is not accepted: self-test of the accepted archive, 1 thread: ");
    assert_int_equal(accepted(good, to).judge, KILN_JUDGED_UNCHANGED);
    assert_int_equal(accepted(next, to).judge, KILN_JUDGED_ACCEPTED);
    assert_int_equal(list_of(to).now.n, 1);
}

/* Nobody else to ask: somebody must say that he trusts it. */
static void trusts_nobody_unasked(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *path = in(dir, "1.kiln.tar.zst");
    const kiln_accept_options o = {.to = in(dir, "accepted")};
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    package_vary(&(package_variant){0}, path);
    kiln_assert_fails(kiln_accept(arena(), &path, 1, &o, &rows, &err), KILN_ERR_ARG,
                      &err, "by --model, or say --trust");
    assert_false(kiln_dir_exists(o.to));
}

static void put(const char *path, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(arena(), path), &err), &err);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static const char *marker(const char *ended, const char *command, const char *product,
                          int code) {
    return kiln_format(arena(),
                       "{\"schema\": \"kiln-stage-1\", \"inputs\": \"0\", "
                       "\"state\": \"done\", \"exit_code\": %d, \"seconds\": 1, "
                       "\"ended\": \"%s\", \"message\": null, \"command\": \"%s\", "
                       "\"product\": \"%s\"}",
                       code, ended, command, product);
}

/* A run's verify stage has asked the reference about this very archive, or has not. */
static void goes_by_a_nights_verify_stage(void **state) {
    (void)state;
    static const struct {
        const char *ended, *command;
        int code;
        bool is_other, is_good;
    } nights[] = {
        {"2026-01-02", "kiln verify a --model m.onnx", 0, false, true},
        {"2026-01-02", "kiln verify a", 0, false, false},
        {"2026-01-02", "kiln verify a --model m.onnx", 1, false, false},
        {"2026-01-02", "kiln verify a --model m.onnx", 0, true, false},
        {"2025-12-31", "kiln verify a --model m.onnx", 0, false, false},
    };
    for (size_t i = 0; i < sizeof nights / sizeof nights[0]; i++) {
        const char *dir = kiln_test_dir(), *path = in(dir, "build/1.kiln.tar.zst");
        const kiln_accept_options o = {.to = in(dir, "accepted"),
                                       .nights = &kiln_nightly_nights};
        kiln_err err = {0};
        kiln_accept_rows rows = {.n = 0};
        kiln_str file;
        char sha256[KILN_SHA256_HEX];
        kiln_assert_status_ok(kiln_dir_make(in(dir, "build"), &err), &err);
        package_vary(&(package_variant){0}, path);
        kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &file, &err), &err);
        kiln_sha256_of(file.p, file.n, sha256);
        put(in(dir, "build/done.json"),
            marker("2026-01-01", "kiln build", nights[i].is_other ? "1" : sha256, 0));
        put(in(dir, "verify/done.json"),
            marker(nights[i].ended, nights[i].command, "", nights[i].code));
        const kiln_status st = kiln_accept(arena(), &path, 1, &o, &rows, &err);
        assert_int_equal(st, nights[i].is_good ? KILN_OK : KILN_ERR_ARG);
        if (nights[i].is_good)
            assert_int_equal(rows.v[0].judge, KILN_JUDGED_NIGHTLY);
    }
}

/* Archives that lie in the folder without being its own stay; an own one that was taken
 * away comes back. */
static void other_files_are_left_alone(void **state) {
    (void)state;
    const char *to = kiln_test_dir(), *path = in(to, "mine.kiln.tar.zst");
    const char *source = in(kiln_test_dir(), "1.kiln.tar.zst");
    kiln_err err = {0};
    package_vary(&(package_variant){0}, source);
    (void)accepted(source, to);
    package_vary(&(package_variant){.version = "2"}, path);
    (void)accepted(path, to);
    assert_int_equal(n_archives(to), 3); /* and the one that was just replaced */
    const char *own = in(to, list_of(to).now.v[0].file);
    kiln_assert_status_ok(kiln_remove_tree(own, &err), &err);
    assert_false(accepted(path, to).is_unchanged);
    assert_true(kiln_file_exists(own));
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct refusal {
    const char *name;
    void (*prepare)(const char *dir);
    const char *path; /* in the folder */
    kiln_status status;
    const char *text;
} refusal;

static void wrong_outputs(const char *dir) {
    package_vary(&(package_variant){.is_wrong = true}, in(dir, "x.kiln.tar.zst"));
}

static void flip_a_byte(const char *dir) {
    kiln_err err = {0};
    kiln_str file;
    const char *path = in(dir, "x.kiln.tar.zst");
    package_vary(&(package_variant){0}, path);
    kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &file, &err), &err);
    char *copy = kiln_arena_dup(arena(), file.p, file.n);
    copy[file.n / 2] ^= 1;
    kiln_assert_status_ok(kiln_file_write(path, copy, file.n, &err), &err);
}

static void unproved(const char *dir) {
    package_vary(&(package_variant){.is_unproved = true}, in(dir, "x.kiln.tar.zst"));
}

static void two_of_one_place(const char *dir) {
    package_vary(&(package_variant){.version = "1"}, in(dir, "1.kiln.tar.zst"));
    package_vary(&(package_variant){.version = "2"}, in(dir, "2.kiln.tar.zst"));
}

static void unpacked(const char *dir) {
    kiln_err err = {0};
    package_vary(&(package_variant){0}, in(dir, "x.kiln.tar.zst"));
    kiln_assert_status_ok(kiln_package_unpack(arena(), in(dir, "x.kiln.tar.zst"),
                                              in(dir, "folder"), NULL, &err),
                          &err);
}

static void nothing(const char *dir) { (void)dir; }

static refusal refusals[] = {
    {"wrong_outputs", wrong_outputs, "x.kiln.tar.zst", KILN_ERR_PARSE,
     "is not accepted: self-test, 1 thread: "},
    {"damaged", flip_a_byte, "x.kiln.tar.zst", KILN_ERR_PARSE,
     "is not accepted: archive: "},
    {"unproved", unproved, "x.kiln.tar.zst", KILN_ERR_PARSE,
     "is not accepted: it was packed by --no-verify"},
    {"two_of_one_place", two_of_one_place, "", KILN_ERR_ARG, "accept one of them"},
    {"nothing_there", nothing, "", KILN_ERR_ARG, "has no *.kiln.tar.zst"},
    {"no_such_file", nothing, "x", KILN_ERR_MISSING, "No such file"},
    {"unpacked_folder", unpacked, "folder", KILN_ERR_ARG,
     "is an unpacked package; accept its archive"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    const char *dir = kiln_test_dir(),
               *to = kiln_path_join(arena(), kiln_test_dir(), "t");
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    r->prepare(dir);
    kiln_assert_fails(accept(in(dir, r->path), to, false, &rows, &err), r->status, &err,
                      r->text);
    assert_false(kiln_dir_exists(to)); /* nothing was begun */
}

/* ---- accepted.json --------------------------------------------------------------- */

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ENTRY(file, sha, threads)                                                      \
    "{\"model\": \"m\", \"profile\": \"p\", \"version\": \"1\", \"bytes\": 5, "        \
    "\"file\": \"" file "\", \"sha256\": \"" sha "\", \"threads\": " threads "}"
#define LIST(entries)                                                                  \
    "{\"format\": \"kiln-accepted-1\", \"accepted\": [" entries "], \"history\": []}"

typedef struct list_row {
    const char *name, *json, *text; /* text NULL: it is read */
} list_row;

static list_row lists[] = {
    {"good", LIST(ENTRY("a.zst", SHA, "1")), NULL},
    {"no_json", "{", "accepted.json:1:"},
    {"other_format", "{\"format\": \"x\"}", "'format' must be 'kiln-accepted-1'"},
    {"outside_of_the_folder", LIST(ENTRY("../a.zst", SHA, "1")),
     "'accepted[0].file' must be the name of a file in the folder"},
    {"absolute", LIST(ENTRY("/etc/passwd", SHA, "1")), "'accepted[0].file' must be"},
    {"short_hash", LIST(ENTRY("a.zst", "0123", "1")),
     "'accepted[0].sha256' must be 64 hexadecimal digits"},
    {"no_threads", LIST(ENTRY("a.zst", SHA, "0")),
     "'accepted[0].threads' must be a number from 1 to 1024"},
    {"twice", LIST(ENTRY("a.zst", SHA, "1") "," ENTRY("b.zst", SHA, "1")),
     "'accepted[1].model' must be accepted once"},
    {"no_model", LIST("{}"), "'accepted[0].model' must be a text"},
    {"frozen_twice",
     "{\"format\": \"kiln-accepted-1\", \"frozen\": [" ENTRY(
         "a.zst", SHA, "1") "," ENTRY("b.zst", SHA, "1") "]}",
     "'frozen[1].model' must be frozen once"},
};

static void check_list(void **state) {
    const list_row *r = *state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_accepted_list l;
    kiln_assert_status_ok(
        kiln_file_write(in(dir, "accepted.json"), r->json, strlen(r->json), &err),
        &err);
    const kiln_status st = kiln_accepted_read(arena(), dir, &l, &err);
    if (r->text == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_PARSE, &err, r->text);
}

static void a_folder_that_nobody_accepted(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_accepted_list l;
    kiln_assert_status_ok(kiln_file_write(in(dir, "a.kiln.tar.zst"), "x", 1, &err),
                          &err);
    kiln_assert_fails(kiln_accepted_read(arena(), dir, &l, &err), KILN_ERR_ARG, &err,
                      "holds archives, but no accepted.json: 'kiln accept");
}

/* ---- one at a time --------------------------------------------------------------- */

static void accept_in_child(void *arg) {
    const char *const *path = arg;
    kiln_err err = {0};
    kiln_accept_rows rows = {.n = 0};
    const kiln_status st = accept(path[0], path[1], false, &rows, &err);
    _exit(st == KILN_ERR_IO && strstr(err.text, "another 'kiln accept' is at work")
              ? 17
              : 1);
}

static void one_at_a_time(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *to = in(dir, "accepted");
    const char *path = in(dir, "1.kiln.tar.zst");
    package_vary(&(package_variant){0}, path);
    (void)accepted(path, to);
    const int fd = open(in(to, ".lock"), O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_true(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
    const char *paths[] = {path, to};
    kiln_test_death d;
    kiln_test_in_child(accept_in_child, paths, &d);
    close(fd);
    assert_int_equal(d.exit_code, 17);
    assert_true(accepted(path, to).is_unchanged);
}

int main(void) {
    kiln_test_add("keeps_one_of_each_and_a_history", keeps_one_of_each_and_a_history,
                  NULL);
    kiln_test_add("the_first_is_frozen_until_somebody_says_so",
                  the_first_is_frozen_until_somebody_says_so, NULL);
    kiln_test_add("a_long_history_forgets_the_oldest",
                  a_long_history_forgets_the_oldest, NULL);
    kiln_test_add("lists_without_frozen_ones_get_theirs",
                  lists_without_frozen_ones_get_theirs, NULL);
    kiln_test_add("nothing_to_freeze_is_said", nothing_to_freeze_is_said, NULL);
    kiln_test_add("what_nobody_can_run_is_said", what_nobody_can_run_is_said, NULL);
    kiln_test_add("threads_have_places_of_their_own", threads_have_places_of_their_own,
                  NULL);
    kiln_test_add("dry_runs_change_nothing", dry_runs_change_nothing, NULL);
    kiln_test_add("other_files_are_left_alone", other_files_are_left_alone, NULL);
    kiln_test_add("replaces_by_nothing_idle", replaces_by_nothing_idle, NULL);
    kiln_test_add("trusts_nobody_unasked", trusts_nobody_unasked, NULL);
    kiln_test_add("goes_by_a_nights_verify_stage", goes_by_a_nights_verify_stage, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add_rows(check_list, lists);
    kiln_test_add("a_folder_that_nobody_accepted", a_folder_that_nobody_accepted, NULL);
    kiln_test_add("one_at_a_time", one_at_a_time, NULL);
    return kiln_test_run("gate: accept");
}
