/* A signature's file as minisign keeps it, four lines:
 *
 *     untrusted comment: ...           nobody's word, and not read
 *     base64 of "ED" number[8] signature[64]
 *     trusted comment: ...
 *     base64 of a signature[64] of the first one's 64 bytes and the trusted comment
 *
 * "ED" signs the file's BLAKE2b-512, which minisign writes today, "Ed" the file itself.
 */
#include "packager/crypto.h"
#include "packager/sign_internal.h"

#include <string.h>

enum { HASH_BYTES = 64 };

typedef struct signature_bytes {
    char algorithm[2];
    unsigned char id[KILN_KEY_ID], bytes[KILN_ED25519_SIGNATURE];
} signature_bytes;
_Static_assert(sizeof(signature_bytes) == 74, "as minisign has it");

static const char prehashed[] = "ED", plain[] = "Ed";

static kiln_status is_none(const char *name, const char *why, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE, "'%s' is no signature: %s", name, why);
}

kiln_status kiln_signature_read(kiln_arena *a, kiln_str text, const char *name,
                                kiln_signature *out, kiln_err *err) {
    signature_bytes b;
    kiln_signature s = {.trusted = ""};
    kiln_str comment, line;
    KILN_TRY(kiln_crypto_start(err));
    if (!kiln_sign_cut_comment(&text, KILN_SIGN_UNTRUSTED, KILN_SIGN_COMMENT_MAX,
                               &comment))
        return is_none(name, "its first line must be '" KILN_SIGN_UNTRUSTED "...'",
                       err);
    if (!kiln_sign_cut_line(&text, &line) || !kiln_base64_read(line, &b, sizeof b))
        return is_none(name, "its second line is no signature in base64", err);
    if (!kiln_sign_cut_comment(&text, KILN_SIGN_TRUSTED, KILN_TRUSTED_MAX, &comment))
        return is_none(name, "its third line must be '" KILN_SIGN_TRUSTED "...'", err);
    if (!kiln_sign_cut_line(&text, &line) ||
        !kiln_base64_read(line, s.global, sizeof s.global))
        return is_none(name, "its fourth line is no signature in base64", err);
    if (text.n > 0)
        return is_none(name, "more follows its four lines", err);
    s.is_prehashed = memcmp(b.algorithm, prehashed, sizeof b.algorithm) == 0;
    if (!s.is_prehashed && memcmp(b.algorithm, plain, sizeof b.algorithm) != 0)
        return is_none(name, "it is not by Ed25519", err);
    memcpy(s.id, b.id, sizeof s.id);
    memcpy(s.bytes, b.bytes, sizeof s.bytes);
    s.trusted = kiln_str_dupv(a, comment);
    *out = s;
    return KILN_OK;
}

void kiln_signature_write(kiln_buf *out, const kiln_signature *s) {
    char text[KILN_BASE64_TEXT(sizeof(signature_bytes))];
    char global[KILN_BASE64_TEXT(KILN_ED25519_SIGNATURE)], id[KILN_KEY_ID_TEXT];
    signature_bytes b;
    memcpy(b.algorithm, s->is_prehashed ? prehashed : plain, sizeof b.algorithm);
    memcpy(b.id, s->id, sizeof b.id);
    memcpy(b.bytes, s->bytes, sizeof b.bytes);
    kiln_base64_write(&b, sizeof b, text);
    kiln_base64_write(s->global, sizeof s->global, global);
    kiln_key_id_text(s->id, id);
    kiln_buf_printf(out,
                    KILN_SIGN_UNTRUSTED
                    "signature by kiln, key %s\n%s\n" KILN_SIGN_TRUSTED "%s\n%s\n",
                    id, text, s->trusted, global);
}

/* ---- signing and holding it against bytes ---------------------------------------- */

static kiln_str hash_of(kiln_str bytes, unsigned char hash[HASH_BYTES]) {
    kiln_blake2b_of(&bytes, 1, hash, HASH_BYTES);
    return (kiln_str){(const char *)hash, HASH_BYTES};
}

/* What the global signature is of; its size is bounded by KILN_TRUSTED_MAX. */
static kiln_str all_of(const kiln_signature *s,
                       char all[KILN_ED25519_SIGNATURE + KILN_TRUSTED_MAX]) {
    const size_t n = strlen(s->trusted);
    KILN_ASSERT(n <= KILN_TRUSTED_MAX, "a trusted comment of %zu bytes", n);
    memcpy(all, s->bytes, KILN_ED25519_SIGNATURE);
    memcpy(all + KILN_ED25519_SIGNATURE, s->trusted, n);
    return (kiln_str){all, KILN_ED25519_SIGNATURE + n};
}

kiln_status kiln_signature_make(const kiln_secret_key *k, kiln_str bytes,
                                const char *trusted, kiln_signature *out,
                                kiln_err *err) {
    unsigned char hash[HASH_BYTES];
    char all[KILN_ED25519_SIGNATURE + KILN_TRUSTED_MAX];
    const kiln_str line = kiln_str_from(trusted);
    kiln_signature s = {.is_prehashed = true, .trusted = trusted};
    KILN_TRY(kiln_crypto_start(err));
    if (line.n > KILN_TRUSTED_MAX || !kiln_sign_is_line(line))
        return kiln_fail(err, KILN_ERR_ARG,
                         "what is signed must be one line of text of at most %d bytes",
                         KILN_TRUSTED_MAX);
    memcpy(s.id, k->id, sizeof s.id);
    kiln_ed25519_sign(k->key, hash_of(bytes, hash), s.bytes);
    kiln_ed25519_sign(k->key, all_of(&s, all), s.global);
    *out = s;
    return KILN_OK;
}

bool kiln_signature_holds(const kiln_signature *s, const kiln_public_key *k,
                          kiln_str bytes) {
    unsigned char hash[HASH_BYTES];
    char all[KILN_ED25519_SIGNATURE + KILN_TRUSTED_MAX];
    return strlen(s->trusted) <= KILN_TRUSTED_MAX &&
           kiln_ed25519_holds(k->key, s->is_prehashed ? hash_of(bytes, hash) : bytes,
                              s->bytes) &&
           kiln_ed25519_holds(k->key, all_of(s, all), s->global);
}
