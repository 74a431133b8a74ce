/* Hashes: SHA-256 for identity (nettle), a 64-bit mix for tables. */
#ifndef KILN_BASE_HASH_H
#define KILN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { KILN_SHA256_BYTES = 32, KILN_SHA256_HEX = 65 };

typedef struct kiln_sha256 {
    _Alignas(
        16) unsigned char opaque[128]; /* nettle's state; size asserted in hash.c */
} kiln_sha256;

void kiln_sha256_init(kiln_sha256 *h);
void kiln_sha256_add(kiln_sha256 *h, const void *p, size_t bytes);
/* 64 lower-case hexadecimal digits and a terminator. */
void kiln_sha256_hex(kiln_sha256 *h, char hex[KILN_SHA256_HEX]);
void kiln_sha256_of(const void *p, size_t bytes, char hex[KILN_SHA256_HEX]);
/* The same as bytes. */
void kiln_sha256_end(kiln_sha256 *h, unsigned char digest[KILN_SHA256_BYTES]);
void kiln_sha256_digest(const void *p, size_t bytes,
                        unsigned char digest[KILN_SHA256_BYTES]);

/* Not for identity across files: a table hash, the same on every machine. */
uint64_t kiln_hash64(const void *p, size_t bytes, uint64_t seed);

#endif
