/* Archives where a key is required: taken when signed, else refused by name before
 * anything is unpacked. Hundreds of seeded mutants of archives, signatures, public keys
 * and provenance, each refused with a text that names its file. */
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_craft.h"
#include "tests/support/package/signed_archive.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "good.kiln.tar.zst"
#define PROVENANCE "{\"_type\": \"what was said of it\"}\n"

static const char *dir, *archive; /* signed by `mine`, with provenance beside it */
static signed_keys mine, other;
static kiln_str good, tar, signature;

static const char *path_in(const char *folder, const char *name) {
    return kiln_path_join(kiln_test_arena(), folder, name);
}

/* ---- a place of its own for each case -------------------------------------------- */

typedef struct place {
    const char *folder, *archive, *signature, *provenance, *key, *out;
} place;

static place place_for(const char *name) {
    kiln_err err = {0};
    place p = {.folder = path_in(dir, name)};
    p.archive = path_in(p.folder, NAME);
    p.signature = signed_beside(p.archive, KILN_SIGNATURE_ENDING);
    p.provenance = signed_beside(p.archive, KILN_PROVENANCE_ENDING);
    p.key = path_in(p.folder, "keys/mine.pub");
    p.out = path_in(p.folder, "out");
    kiln_assert_status_ok(kiln_dir_make(path_in(p.folder, "keys"), &err), &err);
    signed_write(p.archive, good);
    signed_write(p.signature, signature);
    signed_write(p.provenance, kiln_str_from(PROVENANCE));
    signed_write(p.key, signed_read(mine.ring.path));
    return p;
}

static kiln_status open_place(const place *p, kiln_err *err) {
    kiln_arena a = {0};
    kiln_keyring ring = {.path = NULL};
    kiln_package_facts f;
    kiln_status st = kiln_keyring_open(&a, path_in(p->folder, "keys"), &ring, err);
    const kiln_unpack_options o = {.keys = &ring, .is_for_now = true};
    if (st == KILN_OK) {
        st = kiln_package_unpack_by(&a, p->archive, p->out, &o, &f, err);
        /* Whoever looks before unpacking sees as little. */
        assert_int_equal(kiln_package_inspect_by(&a, p->archive, &ring, &f, NULL, NULL),
                         st);
    }
    kiln_arena_fini(&a);
    return st;
}

static void assert_nothing_left(const place *p) {
    kiln_err err = {0};
    char **name = NULL;
    size_t n = 0;
    assert_false(kiln_dir_exists(p->out));
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), p->folder, &name, &n, &err),
                          &err);
    for (size_t i = 0; i < n; i++)
        assert_false(kiln_str_starts(kiln_str_from(name[i]), ".kiln-"));
}

/* ---- by name --------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    void (*change)(const place *p);
    const char *why; /* NULL: it is taken all the same */
} row;

static void leave(const place *p) { (void)p; }
static void unsign(const place *p) { assert_int_equal(unlink(p->signature), 0); }
static void sign_by_other(const place *p) { signed_sign(&other, p->archive); }

/* Its own hashes, seal and signature all fit one another. */
static void make_anew_by_other(const place *p) {
    craft *c = kiln_new(kiln_test_arena(), craft);
    craft_open(c, kiln_test_arena(), archive);
    craft_replace(c, "\"version\": \"1\"", "\"version\": \"9\"", false);
    craft_write(p->archive, craft_compress(kiln_test_arena(), craft_tar(c)));
    signed_sign(&other, p->archive);
}

static void make_anew(const place *p) {
    make_anew_by_other(p);
    signed_write(p->signature, signature);
}

/* The other key with the number of the trusted one. */
static void sign_by_liar(const place *p) {
    signed_keys liar = other;
    memcpy(liar.secret.id, mine.secret.id, sizeof liar.secret.id);
    signed_sign(&liar, p->archive);
}

static void sign_another_name(const place *p) {
    const char *elsewhere = path_in(p->folder, "elsewhere.kiln.tar.zst");
    signed_write(elsewhere, good);
    signed_write(signed_beside(elsewhere, KILN_PROVENANCE_ENDING),
                 kiln_str_from(PROVENANCE));
    signed_sign(&mine, elsewhere);
    signed_write(p->signature,
                 signed_read(signed_beside(elsewhere, KILN_SIGNATURE_ENDING)));
}

static void swap_provenance(const place *p) {
    signed_write(p->provenance, KILN_STR_LIT("{}\n"));
}
static void lose_provenance(const place *p) {
    assert_int_equal(unlink(p->provenance), 0);
}
static void add_provenance(const place *p) {
    lose_provenance(p);
    signed_sign(&mine, p->archive);
    swap_provenance(p);
}
static void sign_as_minisign(const place *p) {
    signed_sign_saying(&mine, p->archive, "timestamp:1\tfile:" NAME "\thashed", true);
}
static void sign_as_old_minisign(const place *p) {
    signed_sign_saying(&mine, p->archive, "timestamp:1\tfile:" NAME, false);
}
static void sign_a_release(const place *p) {
    signed_sign_saying(&mine, p->archive, "release 7", true);
}
static void sign_another_hash(const place *p) {
    signed_sign_saying(&mine, p->archive, "file:" NAME "\tsha256:0123", true);
}
static void sign_twice(const place *p) {
    signed_sign_saying(&mine, p->archive, "file:" NAME "\tfile:" NAME, true);
}
static void put_folder_for_signature(const place *p) {
    kiln_err err = {0};
    unsign(p);
    kiln_assert_status_ok(kiln_dir_make(p->signature, &err), &err);
}
static void make_signature_huge(const place *p) {
    const size_t n = KILN_SIGNATURE_FILE_MAX + 1;
    char *all = kiln_arena_alloc(kiln_test_arena(), n);
    signed_write(p->signature, (kiln_str){all, n});
}
static void add_second_key(const place *p) {
    signed_write(path_in(p->folder, "keys/other.pub"), signed_read(other.ring.path));
    signed_sign(&other, p->archive);
}
static void put_no_key(const place *p) {
    signed_write(path_in(p->folder, "keys/bad.pub"), KILN_STR_LIT("hello\n"));
}

static row rows[] = {
    {"signed", leave, NULL},
    {"signed_by_the_second_key", add_second_key, NULL},
    {"signed_by_minisign", sign_as_minisign, NULL},
    {"signed_by_minisign_unhashed", sign_as_old_minisign, NULL},
    {"signed_with_another_comment", sign_a_release, NULL},
    {"signed_and_without_its_provenance", lose_provenance, NULL},
    {"unsigned", unsign, NAME "' is not signed, and a signature by a key of '"},
    {"signed_by_another_key", sign_by_other, "which is none of the 1 of '"},
    {"made_anew_and_signed_by_another_key", make_anew_by_other,
     "which is none of the 1 of '"},
    {"made_anew_with_the_old_signature", make_anew,
     "for these bytes: archive or signature was changed"},
    {"signed_by_another_key_with_our_number", sign_by_liar,
     "for these bytes: archive or signature was changed"},
    {"signed_under_another_name", sign_another_name,
     "was signed as 'elsewhere.kiln.tar.zst': give it that name"},
    {"provenance_swapped", swap_provenance,
     NAME ".intoto.json' is not the provenance with which"},
    {"provenance_added", add_provenance, NAME ".intoto.json' was not there when"},
    {"signature_of_another_hash", sign_another_hash,
     "its signature speaks of another SHA-256"},
    {"signature_that_says_two_names", sign_twice, "its signature says a thing twice"},
    {"signature_that_is_a_folder", put_folder_for_signature,
     NAME ".minisig': not a regular file"},
    {"signature_too_large", make_signature_huge, "bytes; at most 16384 are read"},
    {"keyring_with_a_bad_key", put_no_key, "bad.pub' is no public key"},
};

static void check_row(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    const place p = place_for(r->name);
    r->change(&p);
    const kiln_status st = open_place(&p, &err);
    if (r->why == NULL) {
        kiln_assert_status_ok(st, &err);
        assert_true(kiln_dir_exists(p.out));
        return;
    }
    assert_int_not_equal(st, KILN_OK);
    kiln_assert_fails(st, st, &err, r->why);
    assert_nothing_left(&p);
}

/* ---- mutants --------------------------------------------------------------------- */

typedef struct mutation {
    const char *name;
    int n;
    void (*damage)(const place *p, kiln_rng *rng);
    const char *file; /* what the text must name */
} mutation;

static size_t draw(kiln_rng *rng, size_t n) {
    return (size_t)kiln_rng_range(rng, 0, (int64_t)n - 1);
}

static void flip(const char *path, size_t from, kiln_rng *rng) {
    const kiln_str s = signed_read(path);
    char *copy = kiln_arena_dup(kiln_test_arena(), s.p, s.n);
    const size_t at = from + draw(rng, s.n - from);
    copy[at] = (char)(copy[at] ^ (1 << draw(rng, 8)));
    signed_write(path, (kiln_str){copy, s.n});
}

static void cut(const char *path, kiln_rng *rng) {
    const kiln_str s = signed_read(path);
    const kiln_str copy = {kiln_arena_dup(kiln_test_arena(), s.p, s.n), draw(rng, s.n)};
    signed_write(path, copy);
}

/* The first line is nobody's word: it says nothing, and is not read. */
static size_t second_line(const char *path) {
    const kiln_str s = signed_read(path);
    const char *end = memchr(s.p, '\n', s.n);
    assert_non_null(end);
    return (size_t)(end - s.p) + 1;
}

static void archive_bits(const place *p, kiln_rng *rng) { flip(p->archive, 0, rng); }
static void archive_cut(const place *p, kiln_rng *rng) { cut(p->archive, rng); }
static void signature_bits(const place *p, kiln_rng *rng) {
    flip(p->signature, second_line(p->signature), rng);
}
static void signature_cut(const place *p, kiln_rng *rng) { cut(p->signature, rng); }
static void key_bits(const place *p, kiln_rng *rng) {
    flip(p->key, second_line(p->key), rng);
}
static void key_cut(const place *p, kiln_rng *rng) { cut(p->key, rng); }
static void provenance_bits(const place *p, kiln_rng *rng) {
    flip(p->provenance, 0, rng);
}
static void provenance_cut(const place *p, kiln_rng *rng) { cut(p->provenance, rng); }

/* Compressed and sealed again: nothing but the signature tells. */
static void archive_resealed(const place *p, kiln_rng *rng) {
    char *copy = kiln_arena_dup(kiln_test_arena(), tar.p, tar.n);
    const size_t at = draw(rng, tar.n);
    copy[at] = (char)(copy[at] ^ (1 << draw(rng, 8)));
    craft_write(p->archive, craft_compress(kiln_test_arena(), (kiln_str){copy, tar.n}));
}

static mutation mutations[] = {
    {"bits_of_the_archive", 60, archive_bits, NAME},
    {"archive_cut", 20, archive_cut, NAME},
    {"archive_resealed", 40, archive_resealed, NAME},
    {"bits_of_the_signature", 80, signature_bits, NAME},
    {"signature_cut", 30, signature_cut, NAME ".minisig"},
    {"bits_of_the_public_key", 60, key_bits, ""}, /* key or archive, as it falls */
    {"public_key_cut", 20, key_cut, "mine.pub"},
    {"bits_of_the_provenance", 30, provenance_bits, NAME ".intoto.json"},
    {"provenance_cut", 10, provenance_cut, NAME ".intoto.json"},
};

static void check_mutation(void **state) {
    const mutation *m = *state;
    for (int i = 0; i < m->n; i++) {
        kiln_err err = {0};
        kiln_rng rng;
        const uint64_t seed = kiln_test_seed() + (uint64_t)i;
        kiln_rng_init(&rng, seed);
        const place p = place_for(m->name);
        m->damage(&p, &rng);
        if (open_place(&p, &err) == KILN_OK)
            fail_msg("%s: not refused with seed %llu", m->name,
                     (unsigned long long)seed);
        assert_int_not_equal(err.status, KILN_ERR_BUG);
        if (strstr(err.text, m->file) == NULL ||
            (strstr(err.text, NAME) == NULL && strstr(err.text, "mine.pub") == NULL))
            fail_msg("%s, seed %llu: '%s' does not name the file", m->name,
                     (unsigned long long)seed, err.text);
        assert_nothing_left(&p);
    }
    print_message("%s: %d refused\n", m->name, m->n);
}

/* ---- the rest -------------------------------------------------------------------- */

/* What was signed is what is unpacked: the name says what the contents are. */
static void takes_the_name_of_its_contents(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_signed says;
    char sha256[KILN_SHA256_HEX];
    kiln_sha256_of(good.p, good.n, sha256);
    const char *path = path_in(dir, kiln_format(a, "x-%.12s.kiln.tar.zst", sha256));
    signed_write(path, good);
    signed_write(signed_beside(path, KILN_SIGNATURE_ENDING), signature);
    kiln_assert_status_ok(kiln_archive_check(a, &mine.ring, path, good, &says, &err),
                          &err);
    assert_string_equal(says.sha256, sha256);
    assert_true(says.says_provenance && says.provenance != NULL);
    assert_false(says.has_provenance);
}

static void signs_no_damaged_archive(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_rng rng;
    const place p = place_for("signs_no_damaged_archive");
    kiln_rng_init(&rng, kiln_test_seed());
    flip(p.archive, 4, &rng);
    kiln_assert_fails(kiln_archive_sign(&mine.secret, p.archive, NULL, &err),
                      KILN_ERR_PARSE, &err, NAME);
    kiln_err_clear(&err);
    const char *odd = path_in(p.folder, "a\nb.kiln.tar.zst");
    signed_write(odd, good);
    kiln_assert_fails(kiln_archive_sign(&mine.secret, odd, NULL, &err), KILN_ERR_ARG,
                      &err, "a name with control characters");
    assert_false(kiln_file_exists(signed_beside(odd, KILN_SIGNATURE_ENDING)));
}

static void prepare(void) {
    kiln_arena *a = kiln_test_arena();
    dir = kiln_test_dir();
    assert_int_equal(setenv("SOURCE_DATE_EPOCH", "1795382227", 1), 0); /* replays */
    archive = path_in(dir, NAME);
    signed_keys_make(path_in(dir, "mine"), "mine", &mine);
    signed_keys_make(path_in(dir, "other"), "other", &other);
    kiln_test_package_file(kiln_test_network_text, NULL, archive);
    signed_write(signed_beside(archive, KILN_PROVENANCE_ENDING),
                 kiln_str_from(PROVENANCE));
    signed_sign(&mine, archive);
    good = signed_read(archive);
    signature = signed_read(signed_beside(archive, KILN_SIGNATURE_ENDING));
    tar = craft_decompress(a, good);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(check_mutation, mutations);
    kiln_test_add("takes_the_name_of_its_contents", takes_the_name_of_its_contents,
                  NULL);
    kiln_test_add("signs_no_damaged_archive", signs_no_damaged_archive, NULL);
    prepare();
    return kiln_test_run("signed archives");
}
