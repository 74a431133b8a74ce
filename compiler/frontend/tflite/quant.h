/* Integer arithmetic as TensorFlow Lite's interpreter does it where nobody tells it
 * otherwise: sums of 32 bits, which its kernels bring to a result's scale in one of two
 * ways. Operators that its delegate XNNPACK takes (products, sums, means) are
 * multiplied by an f32 and rounded once, half to even. Its own kernels, for all others,
 * multiply by a real number that is held as an integer and a power of 2, and round
 * twice; they are built of integer operators of 64 bits. Both give every bit the same.
 * With kiln_import_options.as_reference all are computed the second way, as reference
 * kernels do.
 * Sources: XNNPACK, microparams and "fp32" requantization; TensorFlow Lite, reference
 * kernels; Jacob et al., "Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference", appendix. */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_QUANT_H
#define KILN_COMPILER_FRONTEND_TFLITE_QUANT_H

#include "compiler/frontend/tflite/tflite_internal.h"

/* multiplier / 2^31 * 2^shift; multiplier is 0 or in [2^30, 2^31), or the negative of
 * such. */
typedef struct kiln_tflite_fixed {
    int64_t multiplier;
    int shift; /* -31 to 30 */
} kiln_tflite_fixed;

/* Nearest to a real number. */
kiln_tflite_fixed kiln_tflite_fixed_of(double real);

/* x (integers of at most 32 bits, or i64 that hold such) times f: the high half of the
 * doubled product, half rounded up, then shifted right, half rounded away from zero.
 * One number for all, n 1 and rank 0, or n in the shape `dim`, which stretches to x.
 * i64. */
kiln_value *kiln_tflite_multiply_fixed(kiln_compose *c, kiln_value *x,
                                       const kiln_tflite_fixed *f, size_t n, int rank,
                                       const int64_t *dim);

/* An 8-bit operand less its zero point, as i32. */
kiln_value *kiln_tflite_centered(kiln_compose *c, kiln_value *x,
                                 const kiln_tflite_scale *q);

/* Where a result goes: its scale, and the range that its dtype and a fused activation
 * leave. */
typedef struct kiln_tflite_target {
    kiln_tflite_scale q;
    kiln_dtype dtype;
    int64_t low, high;
} kiln_tflite_target;
kiln_status kiln_tflite_target_of(kiln_tflite_cx *cx, int output, int64_t activation,
                                  kiln_tflite_target *out);
/* Sums (i32) times `by` as floats, rounded half to even, or by kiln_tflite_multiply_fixed
 * as reference kernels do, plus the zero point, held in the range, as the target's dtype.
 * One factor for all, n 1 and rank 0, or n in the shape `dim`, which stretches to x. */
kiln_value *kiln_tflite_requantize(kiln_compose *c, kiln_value *x, const double *by,
                                   size_t n, int rank, const int64_t *dim,
                                   const kiln_tflite_target *t);
/* The same as reference kernels of matrix products have it: as doubles, rounded half away
 * from zero. */
kiln_value *kiln_tflite_requantize_once(kiln_compose *c, kiln_value *x,
                                        const double *by, int rank, const int64_t *dim,
                                        const kiln_tflite_target *t);
/* i64 plus the zero point, held in the range, as the target's dtype. */
kiln_value *kiln_tflite_settle(kiln_compose *c, kiln_value *x,
                               const kiln_tflite_target *t);

/* Do all operators round as reference kernels do (kiln_import_options.as_reference)? */
bool kiln_tflite_as_reference(const kiln_tflite_cx *cx);

/* Are inputs [0, n) of 8 bits, with one scale each, and output 0 of the dtype of input
 * 0? Else the operator goes through real numbers. */
bool kiln_tflite_is_8_bit(const kiln_tflite_cx *cx, int n);

/* An operator of integers; *done stays false where it has no such form: then it goes
 * through real numbers. */
typedef kiln_status (*kiln_tflite_quant_import)(kiln_tflite_cx *cx, bool *done);
/* NULL: the operator has none. */
kiln_tflite_quant_import kiln_tflite_find_quant(int64_t code);

#define KILN_TFLITE_QUANT(code, name, import)                                          \
    kiln_status kiln_tflite_quant_##import(kiln_tflite_cx *cx, bool *done);
#include "compiler/frontend/tflite/tflite_quant.def"
#undef KILN_TFLITE_QUANT

#endif
