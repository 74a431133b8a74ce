/* Random numbers: see rng.h. SplitMix64 after Steele, Lea and Flood, OOPSLA 2014,
 * figure 14 with Stafford's constants (variant 13); the counter-based one is the
 * MurmurHash3 32-bit finaliser. */
#include "base/arithmetic/rng.h"

#include "base/core/core.h"

void kiln_rng_init(kiln_rng *r, uint64_t seed) { r->state = seed; }

uint64_t kiln_rng_next(kiln_rng *r) {
    r->state += KILN_RNG_STEP;
    return kiln_rng_of_state(r->state);
}

/* Two's complement without relying on how the compiler converts what is out of range.
 */
static int64_t as_signed(uint64_t x) {
    if (x <= INT64_MAX)
        return (int64_t)x;
    return -(int64_t)(UINT64_MAX - x) - 1;
}

int64_t kiln_rng_range(kiln_rng *r, int64_t lo, int64_t hi) {
    KILN_ASSERT(lo <= hi, "an empty range has no element");
    const uint64_t n = (uint64_t)hi - (uint64_t)lo + 1;
    if (n == 0) /* all of int64_t */
        return as_signed(kiln_rng_next(r));
    /* Draws below 2^64 mod n would make some results more frequent: they are drawn
     * again. */
    const uint64_t reject_below = (UINT64_MAX - n + 1) % n;
    uint64_t x = kiln_rng_next(r);
    while (x < reject_below)
        x = kiln_rng_next(r);
    return as_signed((uint64_t)lo + x % n);
}

double kiln_rng_unit(kiln_rng *r) { return (double)(kiln_rng_next(r) >> 11) * 0x1p-53; }

double kiln_counter_unit(uint32_t i, uint32_t seed) {
    uint32_t x = i * UINT32_C(0x9E3779B1) + seed * UINT32_C(0x85EBCA77);
    x = (x ^ (x >> 16)) * UINT32_C(0x85EBCA6B);
    x = (x ^ (x >> 13)) * UINT32_C(0xC2B2AE35);
    x ^= x >> 16;
    return (double)(x >> 8) * 0x1p-24;
}
