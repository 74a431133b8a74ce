/* SHA-256 (FIPS 180-4) through libsodium, and a table hash of our own: see hash.h. */
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

/* The finaliser of SplitMix64 (Steele, Lea, Flood, 2014): each input bit reaches each
 * output bit. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Up to eight bytes as a little-endian number, whatever the machine's order is. */
static uint64_t read_le(const unsigned char *p, size_t n) {
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

uint64_t kiln_hash64(const void *p, size_t bytes, uint64_t seed) {
    /* 2^64 / golden ratio: an odd constant without structure, so that a zero word still
     * moves the state. The length goes in first: "a" and "a\0" differ. */
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
    const unsigned char *at = p;
    uint64_t h = mix(seed + golden * ((uint64_t)bytes + 1));
    for (; bytes >= 8; bytes -= 8, at += 8)
        h = mix((h ^ read_le(at, 8)) + golden);
    if (bytes > 0)
        h = mix((h ^ read_le(at, bytes)) + golden);
    return h;
}
