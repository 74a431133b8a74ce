/* Whose archives are taken: public keys in a folder, and the signature beside an
 * archive. The trusted comment of `kiln sign` is what minisign's own is, words between
 * tabs, and two words more:
 *
 *     timestamp:1795382227  file:NAME  hashed  sha256:HEX  provenance-sha256:HEX|none
 */
#include "packager/crypto.h"
#include "packager/packager_internal.h"
#include "packager/sign_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_ENDING ".pub"
#define NO_PROVENANCE "none"
enum { MAX_PROVENANCE = 64 << 20, NAME_DIGITS = 12, HEX = KILN_SHA256_HEX - 1 };

/* ---- keyrings -------------------------------------------------------------------- */

typedef KILN_VEC(kiln_public_key) keys;

static kiln_status add_key(kiln_arena *a, const char *path, keys *all, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text;
    kiln_public_key k;
    kiln_status st = kiln_file_map(&scratch, path, KILN_KEY_FILE_MAX, &text, err);
    if (st == KILN_OK)
        st = kiln_public_key_read(text, path, &k, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        return st;
    for (size_t i = 0; i < all->n; i++)
        if (memcmp(all->v[i].id, k.id, sizeof k.id) == 0)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "'%s' and '%s' are keys of one number: keep one of them",
                             all->v[i].name, path);
    if (all->n == KILN_KEYRING_MAX)
        return kiln_fail(err, KILN_ERR_LIMIT, "a keyring has at most %d keys",
                         KILN_KEYRING_MAX);
    kiln_vec_push(a, all, k);
    return KILN_OK;
}

static kiln_status add_folder(kiln_arena *a, const char *path, keys *all,
                              kiln_err *err) {
    char **name = NULL;
    size_t n = 0;
    KILN_TRY(kiln_dir_list(a, path, &name, &n, err));
    for (size_t i = 0; i < n; i++)
        if (kiln_str_ends(kiln_str_from(name[i]), KEY_ENDING))
            KILN_TRY(add_key(a, kiln_path_join(a, path, name[i]), all, err));
    if (all->n == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the folder has no *" KEY_ENDING
                         ": copy the public keys there that are trusted");
    return KILN_OK;
}

kiln_status kiln_keyring_open(kiln_arena *a, const char *path, kiln_keyring *out,
                              kiln_err *err) {
    keys all = {.n = 0};
    const char *own = kiln_str_dup(a, path);
    const kiln_status st = kiln_dir_exists(path) ? add_folder(a, own, &all, err)
                                                 : add_key(a, own, &all, err);
    if (st != KILN_OK) {
        kiln_note(err, "opening the keyring '%s'", path);
        return st;
    }
    *out = (kiln_keyring){own, all.v, all.n};
    return KILN_OK;
}

/* ---- what a trusted comment says ------------------------------------------------- */

typedef struct said {
    kiln_str file, sha256, provenance; /* p NULL: not a word of it */
} said;

static bool take_word(kiln_str word, const char *key, kiln_str *out) {
    if (!kiln_str_starts(word, key))
        return true;
    const bool is_first = out->p == NULL;
    *out = (kiln_str){word.p + strlen(key), word.n - strlen(key)};
    return is_first;
}

/* False: a word comes twice. */
static bool read_said(const char *trusted, said *out) {
    kiln_str rest = kiln_str_from(trusted), word;
    bool is_good = true;
    *out = (said){{NULL, 0}, {NULL, 0}, {NULL, 0}};
    while (is_good && kiln_str_cut(&rest, '\t', &word))
        is_good = take_word(word, "file:", &out->file) &&
                  take_word(word, "sha256:", &out->sha256) &&
                  take_word(word, "provenance-sha256:", &out->provenance);
    return is_good;
}

/* `kiln accept` calls an archive by its contents: such a name is as good as the signed
 * one. */
static bool is_own_name(const char *base, const char *sha256) {
    kiln_arena a = {0};
    const bool is_own =
        kiln_str_ends(kiln_str_from(base),
                      kiln_format(&a, "-%.*s.kiln.tar.zst", NAME_DIGITS, sha256));
    kiln_arena_fini(&a);
    return is_own;
}

/* ---- provenance ------------------------------------------------------------------ */

static const char *beside(kiln_arena *a, const char *path, const char *ending) {
    return kiln_format(a, "%s%s", path, ending);
}

/* sha256 "": there is none. */
static kiln_status hash_provenance(const char *path, char sha256[KILN_SHA256_HEX],
                                   kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text;
    kiln_err own = {0};
    kiln_status st =
        kiln_file_map(&scratch, beside(&scratch, path, KILN_PROVENANCE_ENDING),
                      MAX_PROVENANCE, &text, &own);
    sha256[0] = '\0';
    if (st == KILN_OK)
        kiln_sha256_of(text.p, text.n, sha256);
    else if (st == KILN_ERR_MISSING)
        st = KILN_OK;
    else if (err != NULL)
        *err = own;
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status check_provenance(kiln_arena *a, const char *path, kiln_str was,
                                    kiln_signed *out, kiln_err *err) {
    char sha256[KILN_SHA256_HEX];
    out->says_provenance = was.p != NULL;
    if (was.p == NULL)
        return KILN_OK;
    if (!kiln_str_is(was, NO_PROVENANCE))
        out->provenance = kiln_str_dupv(a, was);
    KILN_TRY(hash_provenance(path, sha256, err));
    out->has_provenance = sha256[0] != '\0';
    if (!out->has_provenance || kiln_str_is(was, sha256))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "'%s" KILN_PROVENANCE_ENDING "' %s '%s' was signed; get it again, "
                     "or take it away",
                     path,
                     out->provenance != NULL ? "is not the provenance with which"
                                             : "was not there when",
                     path);
}

/* ---- an archive ------------------------------------------------------------------ */

static kiln_status read_signature(kiln_arena *a, const kiln_keyring *ring,
                                  const char *path, kiln_signature *out,
                                  kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text;
    const char *name = beside(a, path, KILN_SIGNATURE_ENDING);
    kiln_status st = kiln_file_map(&scratch, name, KILN_SIGNATURE_FILE_MAX, &text, err);
    if (st == KILN_OK)
        st = kiln_signature_read(a, text, name, out, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_ERR_MISSING)
        return st;
    kiln_err_clear(err);
    return kiln_fail(
        err, KILN_ERR_PARSE,
        "'%s' is not signed, and a signature by a key of '%s' is required: "
        "there is no '%s'; whoever has such a key makes it by 'kiln sign "
        "%s --key NAME.key'",
        path, ring->path, name, path);
}

static const kiln_public_key *find_key(const kiln_keyring *ring,
                                       const kiln_signature *s) {
    for (size_t i = 0; i < ring->n; i++)
        if (memcmp(ring->key[i].id, s->id, sizeof s->id) == 0)
            return &ring->key[i];
    return NULL;
}

static kiln_status check_said(const said *what, const char *path, const char *sha256,
                              kiln_err *err) {
    const char *base = kiln_path_base(path);
    if (what->sha256.p != NULL && !kiln_str_is(what->sha256, sha256))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': its signature speaks of another SHA-256: %.*s", path,
                         KILN_STR_ARG(what->sha256));
    if (what->file.p != NULL && !kiln_str_is(what->file, base) &&
        !is_own_name(base, sha256))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' was signed as '%.*s': give it that name, or have it "
                         "signed under this one",
                         path, KILN_STR_ARG(what->file));
    return KILN_OK;
}

static kiln_status check(kiln_arena *a, const kiln_keyring *ring, const char *path,
                         kiln_str bytes, kiln_signed *out, kiln_err *err) {
    kiln_signature s;
    said what;
    char id[KILN_KEY_ID_TEXT];
    KILN_TRY(read_signature(a, ring, path, &s, err));
    kiln_signed r = {.key = find_key(ring, &s), .trusted = s.trusted};
    kiln_key_id_text(s.id, id);
    if (r.key == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is signed by key %s, which is none of the %zu of '%s'; "
                         "add its public key there only if you trust whose it is",
                         path, id, ring->n, ring->path);
    if (!kiln_signature_holds(&s, r.key, bytes))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': the signature beside it is not one of key %s for these "
                         "bytes: archive or signature was changed; get both again",
                         path, id);
    if (!read_said(s.trusted, &what))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': its signature says a thing twice: '%s'", path,
                         s.trusted);
    kiln_sha256_of(bytes.p, bytes.n, r.sha256);
    KILN_TRY(check_said(&what, path, r.sha256, err));
    KILN_TRY(check_provenance(a, path, what.provenance, &r, err));
    *out = r;
    return KILN_OK;
}

kiln_status kiln_archive_check(kiln_arena *a, const kiln_keyring *ring,
                               const char *path, kiln_str bytes, kiln_signed *out,
                               kiln_err *err) {
    const kiln_status st = check(a, ring, path, bytes, out, err);
    if (st != KILN_OK)
        kiln_note(err, "checking the signature of '%s'", path);
    return st;
}

/* ---- signing --------------------------------------------------------------------- */

/* SOURCE_DATE_EPOCH, or now. */
static kiln_status time_of_signing(int64_t *out, kiln_err *err) {
    const char *text = getenv("SOURCE_DATE_EPOCH");
    if (text != NULL && text[0] != '\0')
        return kiln_package_time(out, err);
    *out = (int64_t)time(NULL);
    return KILN_OK;
}

/* A damaged archive is not signed. */
static kiln_status check_seal(kiln_str bytes, const char *path, kiln_err *err) {
    kiln_sealing sealing;
    kiln_str frame;
    KILN_TRY(kiln_seal_cut(bytes, path, &frame, err));
    kiln_sealing_begin(&sealing, frame, path);
    KILN_TRY(kiln_sealing_end(&sealing, err));
    return kiln_seal_check_frame(frame, path, err);
}

static kiln_status sign(kiln_arena *a, const kiln_secret_key *k, const char *path,
                        char sha256[KILN_SHA256_HEX], kiln_err *err) {
    char provenance[KILN_SHA256_HEX];
    kiln_signature s;
    kiln_str bytes;
    kiln_buf text;
    int64_t when = 0;
    const char *base = kiln_path_base(path);
    if (!kiln_sign_is_line(kiln_str_from(base)) || strchr(base, '\t') != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s': a name with control characters, or that is no UTF-8, "
                         "cannot be signed; give the file another",
                         path);
    KILN_TRY(kiln_file_map(a, path, 0, &bytes, err));
    KILN_TRY(check_seal(bytes, path, err));
    KILN_TRY(hash_provenance(path, provenance, err));
    KILN_TRY(time_of_signing(&when, err));
    kiln_sha256_of(bytes.p, bytes.n, sha256);
    const char *trusted = kiln_format(
        a, "timestamp:%" PRId64 "\tfile:%s\thashed\tsha256:%s\tprovenance-sha256:%s",
        when, base, sha256, provenance[0] != '\0' ? provenance : NO_PROVENANCE);
    KILN_TRY(kiln_signature_make(k, bytes, trusted, &s, err));
    kiln_buf_init(&text, a);
    kiln_signature_write(&text, &s);
    return kiln_file_write(beside(a, path, KILN_SIGNATURE_ENDING), text.p, text.n, err);
}

kiln_status kiln_archive_sign(const kiln_secret_key *k, const char *path,
                              char sha256[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena scratch = {0};
    char own[KILN_SHA256_HEX];
    const kiln_status st = sign(&scratch, k, path, sha256 != NULL ? sha256 : own, err);
    if (st != KILN_OK)
        kiln_note(err, "signing '%s'", path);
    kiln_arena_fini(&scratch);
    return st;
}
