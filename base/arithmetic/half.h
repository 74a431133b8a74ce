/* 16-bit floats: IEEE 754 binary16 and bfloat16, in software, rounding to nearest even.
 */
#ifndef KILN_BASE_HALF_H
#define KILN_BASE_HALF_H

#include <stdint.h>

/* Directly from double: going through float would round twice. NaN stays a quiet NaN,
 * overflow becomes infinity, subnormals are kept. */
uint16_t kiln_f16_from_f64(double x);
uint16_t kiln_bf16_from_f64(double x);
double kiln_f16_to_f64(uint16_t h);
double kiln_bf16_to_f64(uint16_t h);

#endif
