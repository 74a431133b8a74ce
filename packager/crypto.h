/* Ed25519, BLAKE2b, scrypt and base64 by libsodium: crypto_sodium.c alone includes its
 * header. What all of it means is sign.h's. */
#ifndef KILN_PACKAGER_CRYPTO_H
#define KILN_PACKAGER_CRYPTO_H

#include "base/base.h"

enum {
    KILN_ED25519_PUBLIC = 32,
    KILN_ED25519_SECRET = 64, /* the seed, then the public key */
    KILN_ED25519_SIGNATURE = 64,
    KILN_SCRYPT_SALT = 32
};
/* What scrypt may cost: seconds and a gibibyte, or a tenth of a second and 16 MiB. */
#define KILN_SCRYPT_MOST_OPS ((uint64_t)33554432)
#define KILN_SCRYPT_MOST_BYTES ((uint64_t)1 << 30)
#define KILN_SCRYPT_LEAST_OPS ((uint64_t)524288)
#define KILN_SCRYPT_LEAST_BYTES ((uint64_t)1 << 24)

/* Before anything else here, as often as one likes. */
kiln_status kiln_crypto_start(kiln_err *err);

void kiln_random_fill(void *p, size_t bytes);
/* Zeros that no compiler leaves out. */
void kiln_wipe(void *p, size_t bytes);
/* In a time that says nothing about where they differ. */
bool kiln_secret_equal(const void *x, const void *y, size_t bytes);

/* Of all pieces, one behind another; `bytes` is 16 to 64. */
void kiln_blake2b_of(const kiln_str *piece, size_t n, unsigned char *out, size_t bytes);

void kiln_ed25519_make(unsigned char public_key[KILN_ED25519_PUBLIC],
                       unsigned char secret[KILN_ED25519_SECRET]);
/* Is the second half the public key of the first? */
bool kiln_ed25519_is_whole(const unsigned char secret[KILN_ED25519_SECRET]);
void kiln_ed25519_sign(const unsigned char secret[KILN_ED25519_SECRET],
                       kiln_str message,
                       unsigned char signature[KILN_ED25519_SIGNATURE]);
bool kiln_ed25519_holds(const unsigned char public_key[KILN_ED25519_PUBLIC],
                        kiln_str message,
                        const unsigned char signature[KILN_ED25519_SIGNATURE]);

/* KILN_ERR_LIMIT: more than the most above. */
kiln_status kiln_scrypt(kiln_str password, const unsigned char salt[KILN_SCRYPT_SALT],
                        uint64_t ops, uint64_t most_bytes, void *out, size_t bytes,
                        kiln_err *err);

/* base64 (RFC 4648, 4) with its padding; a terminator is written too. */
#define KILN_BASE64_TEXT(bytes) (((bytes) + 2) / 3 * 4 + 1)
enum { KILN_BASE64_MAX = 256 };
void kiln_base64_write(const void *p, size_t bytes, char *text);
/* Only what the writer would have written for exactly so many bytes, at most
 * KILN_BASE64_MAX. */
bool kiln_base64_read(kiln_str text, void *out, size_t bytes);

#endif
