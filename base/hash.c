/* SHA-256 (FIPS 180-4) through libsodium: see hash.h. */
#include "base/hash.h"

#include <sodium.h>
#include <string.h>

#include "base/status.h"

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof((kiln_sha256 *)0)->opaque,
               "kiln_sha256 is too small for libsodium's state");
_Static_assert(crypto_hash_sha256_BYTES == KILN_SHA256_BYTES, "SHA-256 has 32 bytes");

/* The state is copied in and out (104 bytes): reading an array of unsigned char as
 * libsodium's struct would break the aliasing rules. */
static void load(crypto_hash_sha256_state *state, const kiln_sha256 *h) {
    memcpy(state, h->opaque, sizeof *state);
}

static void store(kiln_sha256 *h, const crypto_hash_sha256_state *state) {
    memcpy(h->opaque, state, sizeof *state);
}

void kiln_sha256_init(kiln_sha256 *h) {
    KILN_ASSERT(sodium_init() >= 0, "libsodium could not be initialised");
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    store(h, &state);
}

void kiln_sha256_add(kiln_sha256 *h, const void *p, size_t bytes) {
    if (bytes == 0)
        return;
    crypto_hash_sha256_state state;
    load(&state, h);
    crypto_hash_sha256_update(&state, p, bytes);
    store(h, &state);
}

void kiln_sha256_hex(kiln_sha256 *h, char hex[KILN_SHA256_HEX]) {
    crypto_hash_sha256_state state;
    load(&state, h);
    unsigned char digest[KILN_SHA256_BYTES];
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(hex, KILN_SHA256_HEX, digest, sizeof digest);
}

void kiln_sha256_of(const void *p, size_t bytes, char hex[KILN_SHA256_HEX]) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    kiln_sha256_add(&h, p, bytes);
    kiln_sha256_hex(&h, hex);
}
