/* SHA-256 (FIPS 180-4) through nettle, which takes the processor's own instructions for
 * it where there are some: archives of half a gigabyte are hashed several times on
 * their way. */
#include "base/core/hash.h"

#include <nettle/sha2.h>
#include <string.h>

#include "base/core/status.h"

_Static_assert(sizeof(struct sha256_ctx) <= sizeof((kiln_sha256 *)0)->opaque,
               "kiln_sha256 is too small for nettle's state");
_Static_assert(SHA256_DIGEST_SIZE == KILN_SHA256_BYTES, "SHA-256 has 32 bytes");

/* The state is copied in and out (112 bytes): reading an array of unsigned char as
 * nettle's struct would break the aliasing rules. */
static struct sha256_ctx load(const kiln_sha256 *h) {
    struct sha256_ctx state;
    memcpy(&state, h->opaque, sizeof state);
    return state;
}

static void store(kiln_sha256 *h, const struct sha256_ctx *state) {
    memcpy(h->opaque, state, sizeof *state);
}

void kiln_sha256_init(kiln_sha256 *h) {
    struct sha256_ctx state;
    sha256_init(&state);
    store(h, &state);
}

void kiln_sha256_add(kiln_sha256 *h, const void *p, size_t bytes) {
    if (bytes == 0)
        return;
    struct sha256_ctx state = load(h);
    sha256_update(&state, bytes, p);
    store(h, &state);
}

void kiln_sha256_end(kiln_sha256 *h, unsigned char digest[KILN_SHA256_BYTES]) {
    struct sha256_ctx state = load(h);
    sha256_digest(&state, KILN_SHA256_BYTES, digest);
}

void kiln_sha256_hex(kiln_sha256 *h, char hex[KILN_SHA256_HEX]) {
    static const char digit[] = "0123456789abcdef";
    unsigned char digest[KILN_SHA256_BYTES];
    kiln_sha256_end(h, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digit[digest[i] >> 4];
        hex[2 * i + 1] = digit[digest[i] & 15];
    }
    hex[2 * sizeof digest] = '\0';
}

void kiln_sha256_of(const void *p, size_t bytes, char hex[KILN_SHA256_HEX]) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    kiln_sha256_add(&h, p, bytes);
    kiln_sha256_hex(&h, hex);
}

void kiln_sha256_digest(const void *p, size_t bytes,
                        unsigned char digest[KILN_SHA256_BYTES]) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    kiln_sha256_add(&h, p, bytes);
    kiln_sha256_end(&h, digest);
}
