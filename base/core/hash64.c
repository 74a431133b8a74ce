/* The table hash: apart from hash.c, so that programs with tables need no library. */
#include "base/core/hash.h"

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
