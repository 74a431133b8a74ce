/* Floats of 8 and 4 bits, in software: one byte each, of which the 4-bit format uses
 * the low half. Sources: ONNX, "Float stored in 8 bits" and "Float stored in 4 bits";
 * OCP Microscaling Formats 1.0 (E8M0, E2M1).
 *
 *   E4M3FN    largest 448, NaN S.1111.111, no infinities
 *   E4M3FNUZ  largest 240, one zero, one NaN (0x80), no infinities
 *   E5M2      largest 57344, infinities and NaNs as IEEE 754 has them
 *   E5M2FNUZ  largest 57344, one zero, one NaN (0x80), no infinities
 *   E8M0      powers of two from 2^-127 to 2^127, NaN 0xFF, no sign, no zero
 *   E2M1      0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, nothing else
 */
#ifndef KILN_BASE_LOW_FLOAT_H
#define KILN_BASE_LOW_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum kiln_low_format {
    KILN_LOW_E4M3FN,
    KILN_LOW_E4M3FNUZ,
    KILN_LOW_E5M2,
    KILN_LOW_E5M2FNUZ,
    KILN_LOW_E8M0,
    KILN_LOW_E2M1,
    KILN_N_LOW_FORMATS
} kiln_low_format;

/* Rounding to E8M0; the others know ties to even only. */
typedef enum kiln_low_round {
    KILN_LOW_UP,     /* to the next power of two, or the number itself */
    KILN_LOW_DOWN,   /* to the one before */
    KILN_LOW_NEAREST /* ties up */
} kiln_low_round;

/* What tells a format from the others. Magnitudes are codes without the sign. */
typedef struct kiln_low_float {
    int mantissa_bits; /* without the hidden one */
    int bias;
    uint8_t sign;     /* its bit; 0: no negative numbers */
    uint8_t max;      /* magnitude of the largest number */
    uint8_t overflow; /* magnitude of what is beyond, where it does not saturate */
    uint8_t nan;      /* magnitude of the NaN that conversions make; with the sign of
                         what was converted, unless it is the only one */
    bool has_one_nan; /* `nan` is the code, sign and all: UZ, E8M0 and E2M1 */
    bool has_negative_zero;
} kiln_low_float;
const kiln_low_float *kiln_low_float_of(kiln_low_format format);

/* Exact. */
double kiln_low_to_f64(kiln_low_format format, uint8_t code);

/* Directly from double, once. What rounds to more than the largest number is that
 * number where `saturate` is set, infinities included, else infinity or, without one,
 * NaN. E2M1 always saturates, and its NaN is -0, as the ONNX project's own data has it.
 *
 * E8M0 rounds as `round` says. Below 2^-127 (zero included) and above 2^127 it
 * saturates or is NaN; so are negative numbers, which ONNX leaves open. */
uint8_t kiln_low_from_f64(kiln_low_format format, double x, bool saturate,
                          kiln_low_round round);

#endif
