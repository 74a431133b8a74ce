/* Floats of 8 and 4 bits: see low_float.h. Rounding is done on integers: the result
 * depends on neither the rounding mode nor the flags of the floating-point unit. */
#include "base/arithmetic/low_float.h"

#include <math.h>
#include <string.h>

enum { E8M0_BIAS = 127, E8M0_NAN = 0xFF, E8M0_MAX = 0xFE };

static const kiln_low_float formats[KILN_N_LOW_FORMATS] = {
    [KILN_LOW_E4M3FN] = {3, 7, 0x80, 0x7E, 0x7F, 0x7F, false, true},
    [KILN_LOW_E4M3FNUZ] = {3, 8, 0x80, 0x7F, 0x80, 0x80, true, false},
    [KILN_LOW_E5M2] = {2, 15, 0x80, 0x7B, 0x7C, 0x7E, false, true},
    [KILN_LOW_E5M2FNUZ] = {2, 16, 0x80, 0x7F, 0x80, 0x80, true, false},
    [KILN_LOW_E8M0] = {0, E8M0_BIAS, 0, E8M0_MAX, E8M0_NAN, E8M0_NAN, true, false},
    [KILN_LOW_E2M1] = {1, 1, 0x08, 0x07, 0x07, 0x08, true, true},
};

const kiln_low_float *kiln_low_float_of(kiln_low_format format) {
    return &formats[format];
}

double kiln_low_to_f64(kiln_low_format format, uint8_t code) {
    const kiln_low_float *f = &formats[format];
    if (format == KILN_LOW_E8M0)
        return code == E8M0_NAN ? (double)NAN : ldexp(1, code - E8M0_BIAS);
    const int magnitude = code & (f->sign - 1);
    const double sign = (code & f->sign) != 0 ? -1 : 1;
    if (format == KILN_LOW_E5M2 && magnitude == f->overflow)
        return sign * HUGE_VAL;
    if (f->has_one_nan ? code == f->nan && !f->has_negative_zero : magnitude > f->max)
        return copysign((double)NAN, sign);
    const int exponent = magnitude >> f->mantissa_bits;
    const int mantissa = magnitude & ((1 << f->mantissa_bits) - 1);
    const int lead = exponent == 0 ? 0 : 1 << f->mantissa_bits;
    return sign * ldexp(lead + mantissa,
                        (exponent == 0 ? 1 : exponent) - f->bias - f->mantissa_bits);
}

/* sig / 2^shift to nearest, ties to even. */
static uint64_t shift_to_even(uint64_t sig, int shift) {
    if (shift > 54)
        return 0; /* less than a half: sig < 2^53 */
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t rest = sig & ((half << 1) - 1), quotient = sig >> shift;
    return quotient + (rest > half || (rest == half && quotient % 2 == 1) ? 1 : 0);
}

/* A finite x > 0 as fraction * 2^exponent, fraction in [2^52, 2^53). */
static uint64_t split(double x, int *exponent) {
    const double fraction = frexp(x, exponent);
    *exponent -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

static uint8_t e8m0_from(double x, bool saturate, kiln_low_round round) {
    const double least = ldexp(1, -E8M0_BIAS), most = ldexp(1, E8M0_BIAS);
    if (isnan(x) || x < 0)
        return E8M0_NAN;
    if (x < least || x > most)
        return !saturate ? E8M0_NAN : x < least ? 0 : E8M0_MAX;
    int exponent;
    const uint64_t above = split(x, &exponent) - (UINT64_C(1) << 52);
    const bool up = (round == KILN_LOW_UP && above > 0) ||
                    (round == KILN_LOW_NEAREST && above >= UINT64_C(1) << 51);
    return (uint8_t)(exponent + 52 + E8M0_BIAS + (up ? 1 : 0));
}

/* Magnitude of a finite number, which may be beyond the largest. */
static uint64_t magnitude_of(const kiln_low_float *f, double x) {
    if (x == 0)
        return 0;
    int exponent;
    const uint64_t sig = split(x, &exponent);
    const int biased = exponent + 52 + f->bias, drop = 52 - f->mantissa_bits;
    if (biased > 64)
        return UINT8_MAX;
    /* The leading bit adds one to the exponent field, and so does a carry. */
    return biased >= 1
               ? ((uint64_t)(biased - 1) << f->mantissa_bits) + shift_to_even(sig, drop)
               : shift_to_even(sig, drop + 1 - biased);
}

uint8_t kiln_low_from_f64(kiln_low_format format, double x, bool saturate,
                          kiln_low_round round) {
    const kiln_low_float *f = &formats[format];
    if (format == KILN_LOW_E8M0)
        return e8m0_from(x, saturate, round);
    const uint8_t sign = signbit(x) ? f->sign : 0;
    if (isnan(x))
        return f->has_one_nan ? f->nan : (uint8_t)(sign | f->nan);
    uint64_t magnitude = isinf(x) ? UINT8_MAX : magnitude_of(f, fabs(x));
    if (magnitude > f->max)
        magnitude = saturate ? f->max : f->overflow;
    if (magnitude == 0 && !f->has_negative_zero)
        return 0;
    return (uint8_t)(sign | magnitude);
}
