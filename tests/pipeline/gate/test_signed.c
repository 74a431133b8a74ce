/* Where a key is required, an archive whose hashes are all consistent and whose
 * signature is another key's never runs: not by who runs, verifies, measures, gates or
 * accepts it. Beside each refusal the same call with the right key goes on. */
#include "pipeline/bench/bench.h"
#include "pipeline/gate/gate.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package_vary.h"
#include "tests/support/signed_archive.h"

#include <string.h>

static signed_keys ours, theirs;
/* Signed by theirs; unpacked; signed by theirs and cut at its end. */
static const char *dir, *archive, *folder, *damaged;

static kiln_arena *arena(void) { return kiln_test_arena(); }
static const char *in(const char *where, const char *name) {
    return kiln_path_join(arena(), where, name);
}

/* ---- who runs archives ----------------------------------------------------------- */

typedef kiln_status user_fn(const char *path, const kiln_keyring *keys, kiln_err *err);

static kiln_status unpack(const char *path, const kiln_keyring *keys, kiln_err *err) {
    const kiln_unpack_options o = {.keys = keys};
    const char *to = in(dir, "unpacked");
    kiln_arena own = {0};
    const kiln_status st = kiln_package_unpack_by(&own, path, to, &o, NULL, err);
    assert_int_equal(kiln_dir_exists(to), st == KILN_OK);
    kiln_arena_fini(&own);
    (void)kiln_remove_tree(to, NULL);
    return st;
}

static kiln_status run(const char *path, const kiln_keyring *keys, kiln_err *err) {
    kiln_arena own = {0};
    kiln_opened p;
    const kiln_status st = kiln_package_open_by(&own, path, keys, &p, err);
    kiln_arena_fini(&own);
    return st;
}

/* A failed check is its refusal. */
static kiln_status verify(const char *path, const kiln_keyring *keys, kiln_err *err) {
    static const int threads[] = {1};
    const kiln_verify_options o = {.threads = threads, .n_threads = 1, .keys = keys};
    kiln_arena own = {0};
    kiln_checks checks = {.n_failed = 0};
    kiln_status st = kiln_verify_package(&own, path, &o, &checks, err);
    if (st == KILN_OK && checks.n_failed > 0) {
        assert_int_equal(checks.list.n, 1); /* nothing was asked of it afterwards */
        st = kiln_fail(err, KILN_ERR_PARSE, "%s", checks.list.v[0].reason);
    }
    kiln_arena_fini(&own);
    return st;
}

static kiln_status bench(const char *path, const kiln_keyring *keys, kiln_err *err) {
    const kiln_fixed_inputs fixed = {.n = 0};
    kiln_arena own = {0};
    kiln_subject s;
    const kiln_status st =
        kiln_subject_of_signed(&own, path, keys, NULL, NULL, &fixed, &s, err);
    kiln_arena_fini(&own);
    return st;
}

static kiln_status gated(const char *path, const char *against,
                         const kiln_keyring *keys, kiln_err *err) {
    const kiln_gate_options o = {.against = against, .keys = keys};
    kiln_gate_report r;
    KILN_TRY(kiln_gate_run(arena(), &path, 1, &o, &r, err));
    if (r.outcome == KILN_GATED_INVALID)
        return kiln_fail(err, KILN_ERR_PARSE, "%s", r.result.v[0].reason);
    return KILN_OK;
}

static kiln_status gate(const char *path, const kiln_keyring *keys, kiln_err *err) {
    return gated(path, path, keys, err);
}

static kiln_status accept(const char *path, const kiln_keyring *keys, kiln_err *err) {
    const char *to = in(dir, "accepted by whom");
    const kiln_accept_options o = {
        .to = to, .who = "ada", .is_trusting = true, .keys = keys};
    kiln_accept_rows rows;
    const kiln_status st = kiln_accept(arena(), &path, 1, &o, &rows, err);
    assert_int_equal(kiln_file_exists(in(to, "accepted.json")), st == KILN_OK);
    (void)kiln_remove_tree(to, NULL);
    return st;
}

typedef struct row {
    const char *name;
    user_fn *use;
    bool takes_folders;
} row;

static row users[] = {{"unpack", unpack, false}, {"run", run, true},
                      {"verify", verify, true},  {"bench", bench, true},
                      {"gate", gate, true},      {"accept", accept, false}};

static void never_runs_anothers(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_assert_fails(r->use(archive, &ours.ring, &err), KILN_ERR_PARSE, &err,
                      "is signed by key ");
    assert_non_null(strstr(err.text, "which is none of the 1 of '"));
    assert_non_null(strstr(err.text, "x.kiln.tar.zst"));
    kiln_err_clear(&err);
    kiln_assert_status_ok(r->use(archive, &theirs.ring, &err), &err);
    kiln_assert_status_ok(r->use(archive, NULL, &err), &err);
}

/* The signature comes first: nothing was read that would have told the damage. */
static void looks_into_none_of_anothers(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_assert_fails(r->use(damaged, &ours.ring, &err), KILN_ERR_PARSE, &err,
                      "is signed by key ");
    kiln_err_clear(&err);
    kiln_assert_fails(r->use(damaged, &theirs.ring, &err), KILN_ERR_PARSE, &err,
                      "is truncated");
}

static void never_runs_a_folder(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_assert_fails(r->use(folder, &theirs.ring, &err), KILN_ERR_PARSE, &err,
                      "is a folder, which has no signature");
    kiln_err_clear(&err);
    kiln_assert_status_ok(r->use(folder, NULL, &err), &err);
}

/* ---- accepted archives ----------------------------------------------------------- */

static const char *version_of(const char *version) {
    const char *path = in(dir, kiln_format(arena(), "v%s.kiln.tar.zst", version));
    package_vary(&(package_variant){.version = version}, path);
    return path;
}

static const char *accepted_file(const char *to) {
    kiln_err err = {0};
    kiln_accepted_list l;
    kiln_assert_status_ok(kiln_accepted_read(arena(), to, &l, &err), &err);
    assert_int_equal(l.now.n, 1);
    return in(to, l.now.v[0].file);
}

static void accept_to(const char *path, const char *to, const kiln_keyring *keys) {
    kiln_err err = {0};
    const kiln_accept_options o = {
        .to = to, .who = "ada", .is_trusting = true, .keys = keys};
    kiln_accept_rows rows;
    kiln_assert_status_ok(kiln_accept(arena(), &path, 1, &o, &rows, &err), &err);
}

/* The signature goes with the archive, whatever that is called there, and leaves with
 * it; what was accepted without one is no control where a key is required. */
static void accepts_the_signature_too(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *to = in(dir, "accepted"), *first = version_of("1");
    const char *note = signed_beside(first, KILN_PROVENANCE_ENDING);
    accept_to(first, to, NULL);
    const char *file = accepted_file(to);
    assert_false(kiln_file_exists(signed_beside(file, KILN_SIGNATURE_ENDING)));
    signed_write(note, KILN_STR_LIT("{}\n"));
    signed_sign(&ours, first);
    kiln_assert_fails(gated(first, to, &ours.ring, &err), KILN_ERR_PARSE, &err,
                      "is not signed, and a signature by a key of '");
    kiln_err_clear(&err);
    accept_to(first, to, &ours.ring); /* the same bytes: the signature is new */
    assert_true(kiln_file_exists(signed_beside(file, KILN_SIGNATURE_ENDING)));
    assert_true(kiln_file_exists(signed_beside(file, KILN_PROVENANCE_ENDING)));
    kiln_assert_status_ok(gated(first, to, &ours.ring, &err), &err);
    const char *gone = "";
    for (int i = 2; i < 5; i++) {
        const char *next = version_of(kiln_format(arena(), "%d", i));
        signed_sign(&ours, next);
        accept_to(next, to, &ours.ring);
        if (i == 2)
            gone = accepted_file(to);
    }
    assert_false(kiln_file_exists(gone));
    assert_false(kiln_file_exists(signed_beside(gone, KILN_SIGNATURE_ENDING)));
    /* The first is frozen: it stays, and so does what lies beside it. */
    assert_true(kiln_file_exists(file));
    assert_true(kiln_file_exists(signed_beside(file, KILN_SIGNATURE_ENDING)));
    assert_true(kiln_file_exists(signed_beside(file, KILN_PROVENANCE_ENDING)));
}

static void prepare(void) {
    kiln_err err = {0};
    dir = kiln_test_dir();
    archive = in(dir, "x.kiln.tar.zst");
    folder = in(dir, "folder");
    signed_keys_make(in(dir, "ours"), "ours", &ours);
    signed_keys_make(in(dir, "theirs"), "theirs", &theirs);
    package_vary(&(package_variant){.version = "1"}, archive);
    signed_sign(&theirs, archive);
    damaged = in(dir, "y.kiln.tar.zst");
    const kiln_str whole = signed_read(archive);
    signed_write(damaged, (kiln_str){whole.p, whole.n - 10});
    signed_sign_saying(&theirs, damaged, "cut", true);
    kiln_assert_status_ok(kiln_package_unpack(arena(), archive, folder, NULL, &err),
                          &err);
}

int main(void) {
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        kiln_test_add(kiln_format(arena(), "%s_never_runs_anothers", users[i].name),
                      never_runs_anothers, &users[i]);
        kiln_test_add(
            kiln_format(arena(), "%s_looks_into_none_of_anothers", users[i].name),
            looks_into_none_of_anothers, &users[i]);
        if (users[i].takes_folders)
            kiln_test_add(kiln_format(arena(), "%s_never_runs_a_folder", users[i].name),
                          never_runs_a_folder, &users[i]);
    }
    kiln_test_add("accepts_the_signature_too", accepts_the_signature_too, NULL);
    prepare();
    return kiln_test_run("required keys");
}
