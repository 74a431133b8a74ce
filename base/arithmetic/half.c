/* 16-bit floats (IEEE 754-2019, binary16; bfloat16 is the upper half of binary32): see
 * half.h.
 *
 * Everything is done on the bits: the result depends on neither the rounding mode nor
 * the flags of the floating-point unit, which generated code may have changed.
 */
#include "base/arithmetic/half.h"

#include <string.h>

enum {
    F64_MANTISSA_BITS = 52,
    F64_BIAS = 1023,
    F64_EXPONENT_MAX = 2047 /* infinities and NaNs */
};

/* What differs between the two formats; both have one sign bit and 16 bits in all. */
typedef struct format {
    int mantissa_bits;
    int bias;
} format;

static const format F16 = {.mantissa_bits = 10, .bias = 15};
static const format BF16 = {.mantissa_bits = 7, .bias = 127};

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* sig / 2^shift, to nearest, ties to even. sig < 2^53. */
static uint64_t shift_rounding(uint64_t sig, int shift) {
    if (shift > F64_MANTISSA_BITS + 2)
        return 0; /* less than a quarter */
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t rest = sig & ((half << 1) - 1);
    const uint64_t quotient = sig >> shift;
    const uint64_t odd = quotient & 1;
    return quotient + (rest > half || (rest == half && odd == 1) ? 1 : 0);
}

static uint16_t narrow(double x, format f) {
    const uint64_t bits = bits_of(x);
    const uint64_t sign = bits >> 63 << 15;
    const uint64_t infinity = (UINT64_C(0x7FFF) >> f.mantissa_bits) << f.mantissa_bits;
    const int exponent = (int)(bits >> F64_MANTISSA_BITS & F64_EXPONENT_MAX);
    const uint64_t mantissa = bits & ((UINT64_C(1) << F64_MANTISSA_BITS) - 1);
    const int drop = F64_MANTISSA_BITS - f.mantissa_bits;

    if (exponent == F64_EXPONENT_MAX) {
        const uint64_t quiet = UINT64_C(1) << (f.mantissa_bits - 1);
        const uint64_t payload = mantissa == 0 ? 0 : quiet | mantissa >> drop;
        return (uint16_t)(sign | infinity | payload);
    }
    if (exponent == 0)
        return (uint16_t)sign; /* zero, or far below half of the smallest subnormal */

    const uint64_t sig = mantissa | UINT64_C(1) << F64_MANTISSA_BITS;
    const int biased = exponent - F64_BIAS + f.bias; /* in the narrow format */
    uint64_t magnitude;
    if (biased >= 1) {
        /* The leading bit of the significand adds one to the exponent field, and so
         * does a carry out of rounding: 1.11..1 becomes the next power of two, the
         * largest number infinity. */
        magnitude =
            ((uint64_t)(biased - 1) << f.mantissa_bits) + shift_rounding(sig, drop);
        if (magnitude > infinity)
            magnitude = infinity;
    } else {
        magnitude = shift_rounding(sig, drop + 1 - biased);
    }
    return (uint16_t)(sign | magnitude);
}

static double widen(uint16_t h, format f) {
    const uint64_t sign = (uint64_t)(h >> 15) << 63;
    const int exponent_max = 0x7FFF >> f.mantissa_bits;
    const int exponent = h >> f.mantissa_bits & exponent_max;
    const uint64_t mantissa = h & ((UINT64_C(1) << f.mantissa_bits) - 1);
    const int gain = F64_MANTISSA_BITS - f.mantissa_bits;

    if (exponent == exponent_max) {
        const uint64_t quiet =
            mantissa == 0 ? 0 : UINT64_C(1) << (F64_MANTISSA_BITS - 1);
        return double_of(sign | (uint64_t)F64_EXPONENT_MAX << F64_MANTISSA_BITS |
                         quiet | mantissa << gain);
    }
    if (exponent == 0) {
        /* A multiple of the smallest subnormal, 2^(1 - bias - mantissa_bits): exact. */
        const int scale = 1 - f.bias - f.mantissa_bits;
        const double unit =
            double_of((uint64_t)(scale + F64_BIAS) << F64_MANTISSA_BITS);
        const double magnitude = (double)mantissa * unit;
        return sign != 0 ? -magnitude : magnitude;
    }
    return double_of(sign |
                     (uint64_t)(exponent - f.bias + F64_BIAS) << F64_MANTISSA_BITS |
                     mantissa << gain);
}

uint16_t kiln_f16_from_f64(double x) { return narrow(x, F16); }

uint16_t kiln_bf16_from_f64(double x) { return narrow(x, BF16); }

double kiln_f16_to_f64(uint16_t h) { return widen(h, F16); }

double kiln_bf16_to_f64(uint16_t h) { return widen(h, BF16); }
