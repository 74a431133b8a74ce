/* Seeded random numbers, the same on every machine. Never for secrets. */
#ifndef KILN_BASE_RNG_H
#define KILN_BASE_RNG_H

#include <stdint.h>

#include "base/core/core.h"

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * 2014). Any seed is good. */
typedef struct kiln_rng {
    uint64_t state;
} kiln_rng;

void kiln_rng_init(kiln_rng *r, uint64_t seed);
uint64_t kiln_rng_next(kiln_rng *r);

/* The same in parts, for loops over many: a draw adds KILN_RNG_STEP to the state, and is
 * made of what that becomes. */
#define KILN_RNG_STEP UINT64_C(0x9E3779B97F4A7C15)
static KILN_INLINE uint64_t kiln_rng_of_state(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}
/* Uniform in [lo, hi], both included, without modulo bias; lo <= hi. */
int64_t kiln_rng_range(kiln_rng *r, int64_t lo, int64_t hi);
/* Uniform in [0, 1). */
double kiln_rng_unit(kiln_rng *r);

/* Counter-based: element i of stream `seed`, uniform in [0, 1) with 24 bits. The
 * MurmurHash3 finaliser (Appleby, public domain) of i * 0x9E3779B1 + seed * 0x85EBCA77,
 * as 32-bit arithmetic: the generator that golden inputs name, so they can be made
 * again in any language. */
double kiln_counter_unit(uint32_t i, uint32_t seed);

#endif
