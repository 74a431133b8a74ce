#include "packager/crypto.h"

#include <sodium.h>
#include <string.h>

_Static_assert(KILN_ED25519_PUBLIC == crypto_sign_ed25519_PUBLICKEYBYTES, "public key");
_Static_assert(KILN_ED25519_SECRET == crypto_sign_ed25519_SECRETKEYBYTES, "secret key");
_Static_assert(KILN_ED25519_SIGNATURE == crypto_sign_ed25519_BYTES, "signature");
_Static_assert(KILN_SCRYPT_SALT == crypto_pwhash_scryptsalsa208sha256_SALTBYTES,
               "salt");

static const unsigned char *bytes_of(kiln_str s) {
    return (const unsigned char *)(s.n > 0 ? s.p : "");
}

kiln_status kiln_crypto_start(kiln_err *err) {
    if (sodium_init() < 0)
        return kiln_fail(err, KILN_ERR_LIB,
                         "libsodium cannot start: no random numbers");
    return KILN_OK;
}

void kiln_random_fill(void *p, size_t bytes) { randombytes_buf(p, bytes); }

void kiln_wipe(void *p, size_t bytes) { sodium_memzero(p, bytes); }

bool kiln_secret_equal(const void *x, const void *y, size_t bytes) {
    return sodium_memcmp(x, y, bytes) == 0;
}

void kiln_blake2b_of(const kiln_str *piece, size_t n, unsigned char *out,
                     size_t bytes) {
    KILN_ASSERT(bytes >= crypto_generichash_blake2b_BYTES_MIN &&
                    bytes <= crypto_generichash_blake2b_BYTES_MAX,
                "a hash of %zu bytes", bytes);
    crypto_generichash_blake2b_state h;
    crypto_generichash_blake2b_init(&h, NULL, 0, bytes);
    for (size_t i = 0; i < n; i++)
        crypto_generichash_blake2b_update(&h, bytes_of(piece[i]), piece[i].n);
    crypto_generichash_blake2b_final(&h, out, bytes);
    sodium_memzero(&h, sizeof h);
}

void kiln_ed25519_make(unsigned char public_key[KILN_ED25519_PUBLIC],
                       unsigned char secret[KILN_ED25519_SECRET]) {
    crypto_sign_ed25519_keypair(public_key, secret);
}

bool kiln_ed25519_is_whole(const unsigned char secret[KILN_ED25519_SECRET]) {
    unsigned char public_key[KILN_ED25519_PUBLIC], again[KILN_ED25519_SECRET];
    unsigned char seed[crypto_sign_ed25519_SEEDBYTES];
    crypto_sign_ed25519_sk_to_seed(seed, secret);
    crypto_sign_ed25519_seed_keypair(public_key, again, seed);
    const bool is_whole = sodium_memcmp(again, secret, sizeof again) == 0;
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(again, sizeof again);
    return is_whole;
}

void kiln_ed25519_sign(const unsigned char secret[KILN_ED25519_SECRET],
                       kiln_str message,
                       unsigned char signature[KILN_ED25519_SIGNATURE]) {
    crypto_sign_ed25519_detached(signature, NULL, bytes_of(message), message.n, secret);
}

bool kiln_ed25519_holds(const unsigned char public_key[KILN_ED25519_PUBLIC],
                        kiln_str message,
                        const unsigned char signature[KILN_ED25519_SIGNATURE]) {
    return crypto_sign_ed25519_verify_detached(signature, bytes_of(message), message.n,
                                               public_key) == 0;
}

kiln_status kiln_scrypt(kiln_str password, const unsigned char salt[KILN_SCRYPT_SALT],
                        uint64_t ops, uint64_t most_bytes, void *out, size_t bytes,
                        kiln_err *err) {
    if (ops > KILN_SCRYPT_MOST_OPS || most_bytes > KILN_SCRYPT_MOST_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "its password costs more than is allowed: at most %llu steps "
                         "and %llu bytes",
                         (unsigned long long)KILN_SCRYPT_MOST_OPS,
                         (unsigned long long)KILN_SCRYPT_MOST_BYTES);
    if (crypto_pwhash_scryptsalsa208sha256(out, bytes, password.n > 0 ? password.p : "",
                                           password.n, salt, ops,
                                           (size_t)most_bytes) != 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "there is no memory for scrypt: it needs up to %llu bytes",
                         (unsigned long long)most_bytes);
    return KILN_OK;
}

void kiln_base64_write(const void *p, size_t bytes, char *text) {
    KILN_ASSERT(bytes <= KILN_BASE64_MAX, "%zu bytes of base64", bytes);
    sodium_bin2base64(text, KILN_BASE64_TEXT(bytes), p, bytes,
                      sodium_base64_VARIANT_ORIGINAL);
}

/* libsodium 1.0.18 reads any byte above 127 as '/' where char has a sign: what was read
 * must be what is written again. */
bool kiln_base64_read(kiln_str text, void *out, size_t bytes) {
    char again[KILN_BASE64_TEXT(KILN_BASE64_MAX)];
    size_t n = 0;
    const char *end = NULL;
    KILN_ASSERT(bytes <= KILN_BASE64_MAX, "nothing here is larger");
    if (text.n != KILN_BASE64_TEXT(bytes) - 1 ||
        sodium_base642bin(out, bytes, text.p, text.n, NULL, &n, &end,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        n != bytes)
        return false;
    kiln_base64_write(out, bytes, again);
    const bool is_same = sodium_memcmp(again, text.p, text.n) == 0;
    sodium_memzero(again, sizeof again);
    return is_same;
}
