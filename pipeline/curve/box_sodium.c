/* libsodium, for keys and sessions. */
#include "pipeline/curve/box.h"

#include <sodium.h>

_Static_assert(KILN_CURVE_KEY == crypto_box_PUBLICKEYBYTES, "public key");
_Static_assert(KILN_CURVE_KEY == crypto_box_SECRETKEYBYTES, "secret key");
_Static_assert(KILN_CURVE_KEY == crypto_box_BEFORENMBYTES, "shared key");
_Static_assert(KILN_BOX_TAG == crypto_box_MACBYTES, "tag");
_Static_assert(KILN_BOX_NONCE == crypto_box_NONCEBYTES, "nonce");

kiln_status kiln_curve_start(kiln_err *err) {
    if (sodium_init() < 0)
        return kiln_fail(err, KILN_ERR_LIB,
                         "libsodium cannot start: no random numbers");
    return KILN_OK;
}

void kiln_curve_wipe(void *p, size_t bytes) { sodium_memzero(p, bytes); }

void kiln_curve_pair_make(kiln_curve_pair *out) {
    (void)crypto_box_keypair(out->public_key.bytes, out->secret.bytes);
}

void kiln_curve_pair_of(const kiln_curve_key *secret, kiln_curve_pair *out) {
    out->secret = *secret;
    (void)crypto_scalarmult_base(out->public_key.bytes, secret->bytes);
}

bool kiln_curve_key_eq(const kiln_curve_key *a, const kiln_curve_key *b) {
    return sodium_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void kiln_box_random(void *p, size_t bytes) { randombytes_buf(p, bytes); }

bool kiln_box_key(const kiln_curve_key *theirs, const kiln_curve_key *secret,
                  kiln_curve_key *out) {
    return crypto_box_beforenm(out->bytes, theirs->bytes, secret->bytes) == 0;
}

void kiln_box_close(const kiln_curve_key *key,
                    const unsigned char nonce[KILN_BOX_NONCE], const void *in, size_t n,
                    unsigned char *out) {
    (void)crypto_box_easy_afternm(out, in, n, nonce, key->bytes);
}

bool kiln_box_open(const kiln_curve_key *key, const unsigned char nonce[KILN_BOX_NONCE],
                   const void *in, size_t n, unsigned char *out) {
    return crypto_box_open_easy_afternm(out, in, n, nonce, key->bytes) == 0;
}
