/* Signed archives (docs/signatures.md): Ed25519, in the files of minisign, whose own
 * program reads them and writes what is read here.
 *
 *     NAME.pub, NAME.key        a pair of keys
 *     ARCHIVE.minisig           a signature beside an archive
 *     kiln_keyring              the public keys that somebody trusts
 */
#ifndef KILN_PACKAGER_SIGN_H
#define KILN_PACKAGER_SIGN_H

#include "base/base.h"

#define KILN_SIGNATURE_ENDING ".minisig"
#define KILN_PROVENANCE_ENDING ".intoto.json"

enum {
    KILN_KEY_ID = 8,
    KILN_KEY_ID_TEXT = 17, /* hexadecimal digits and a terminator */
    KILN_KEY_FILE_MAX = 4096,
    KILN_SIGNATURE_FILE_MAX = 16384,
    KILN_SECRET_KEY_TEXT = 512,
    KILN_TRUSTED_MAX = 8192, /* bytes of a trusted comment */
    KILN_PASSWORD_MAX = 1024,
    KILN_KEYRING_MAX = 1000
};

/* ---- keys ------------------------------------------------------------------------ */

typedef struct kiln_public_key {
    unsigned char id[KILN_KEY_ID], key[32];
    const char *name; /* of its file, for messages; borrowed */
} kiln_public_key;

/* As minisign shows it: "7C856AEE4BA8B2A1". */
void kiln_key_id_text(const unsigned char id[KILN_KEY_ID], char text[KILN_KEY_ID_TEXT]);
kiln_status kiln_public_key_read(kiln_str text, const char *name, kiln_public_key *out,
                                 kiln_err *err);
void kiln_public_key_write(kiln_buf *out, const kiln_public_key *k);

/* Wiped by who had it. Never in an arena: those are not wiped. */
typedef struct kiln_secret_key {
    unsigned char id[KILN_KEY_ID], key[64];
} kiln_secret_key;
void kiln_secret_key_wipe(kiln_secret_key *k);

/* A new pair; secret->id is public_key->id. */
kiln_status kiln_keys_make(kiln_public_key *public_key, kiln_secret_key *secret,
                           kiln_err *err);
/* False also for what is no secret key at all: reading says so. */
bool kiln_secret_key_wants_password(kiln_str text);
/* password.p NULL: none was given, which is KILN_ERR_ARG where one is needed. */
kiln_status kiln_secret_key_read(kiln_str text, const char *name, kiln_str password,
                                 kiln_secret_key *out, kiln_err *err);

/* What a password costs whoever guesses it, and whoever signs. */
typedef struct kiln_password_cost {
    uint64_t ops, bytes;
} kiln_password_cost;
extern const kiln_password_cost kiln_password_cost_usual;
/* password.p NULL: the key is written as it is. `cost` NULL: the usual one. `text` is
 * the caller's to wipe. */
kiln_status kiln_secret_key_write(const kiln_secret_key *k, kiln_str password,
                                  const kiln_password_cost *cost,
                                  char text[KILN_SECRET_KEY_TEXT], kiln_err *err);
/* STEM.pub and STEM.key (mode 0600): both or none, and never over what is there. */
kiln_status kiln_keys_save(kiln_arena *a, const char *stem, kiln_str password,
                           const kiln_password_cost *cost, kiln_public_key *out,
                           kiln_err *err);

/* ---- signatures ------------------------------------------------------------------ */

typedef struct kiln_signature {
    bool is_prehashed; /* of the file's BLAKE2b-512, not of the file itself */
    unsigned char id[KILN_KEY_ID], bytes[64];
    const char *trusted;      /* what the signer said, one line */
    unsigned char global[64]; /* of bytes and trusted */
} kiln_signature;

kiln_status kiln_signature_read(kiln_arena *a, kiln_str text, const char *name,
                                kiln_signature *out, kiln_err *err);
void kiln_signature_write(kiln_buf *out, const kiln_signature *s);
/* `trusted` is borrowed: one line of UTF-8, tabs allowed, at most KILN_TRUSTED_MAX. */
kiln_status kiln_signature_make(const kiln_secret_key *k, kiln_str bytes,
                                const char *trusted, kiln_signature *out,
                                kiln_err *err);
/* Of these bytes, by this key, comment included? */
bool kiln_signature_holds(const kiln_signature *s, const kiln_public_key *k,
                          kiln_str bytes);

/* ---- keyrings and archives ------------------------------------------------------- */

typedef struct kiln_keyring {
    const char *path;
    const kiln_public_key *key;
    size_t n;
} kiln_keyring;
/* A public key's file, or a folder: all of its *.pub, of which one must be there. A
 * file that is no key, or two keys with one number, are refused by name. */
kiln_status kiln_keyring_open(kiln_arena *a, const char *path, kiln_keyring *out,
                              kiln_err *err);

/* What a signature beside an archive was found to say. */
typedef struct kiln_signed {
    const kiln_public_key *key; /* of the keyring */
    const char *trusted;
    char sha256[KILN_SHA256_HEX]; /* of the archive */
    const char *provenance; /* SHA-256 that the signer saw; NULL: none was there */
    bool says_provenance;   /* false: a signature that is not of `kiln sign` */
    bool has_provenance;    /* it is beside the archive, and is that very one */
} kiln_signed;
/* Is `bytes`, which is what the caller goes on with, what the signature beside `path`
 * was made of, by a key of the ring, under this name, and is the provenance beside it,
 * if there is one, the one that the signer saw? KILN_ERR_PARSE names what is wrong and
 * the remedy. */
kiln_status kiln_archive_check(kiln_arena *a, const kiln_keyring *ring,
                               const char *path, kiln_str bytes, kiln_signed *out,
                               kiln_err *err);
/* Writes the signature beside the archive, which must be a whole one. *sha256 (may be
 * NULL): of what was signed. */
kiln_status kiln_archive_sign(const kiln_secret_key *k, const char *path,
                              char sha256[KILN_SHA256_HEX], kiln_err *err);

#endif
