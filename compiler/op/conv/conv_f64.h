/* Convolution in double for the reference (and in int64_t, modulo 2^64).
 *
 * y[b,o,p] = sum over c in the group, taps t of x[b, c, p * stride + t * dilation -
 * pads] * w[o,c,t]; taps in the padding contribute nothing, whatever the weight is.
 *
 * Large groups go through the blocked matrix product (im2col by tiles), where padding
 * is a zero factor; that is harmless only for finite weights, so others, and groups of
 * few output channels, add the taps directly.
 */
#ifndef KILN_COMPILER_OP_CONV_CONV_F64_H
#define KILN_COMPILER_OP_CONV_CONV_F64_H

#include "compiler/op/op_window.h"

typedef struct kiln_conv {
    kiln_window window;
    int64_t n_batch, n_groups;
    int64_t c, o;            /* channels of one group */
    int64_t taps, ins, outs; /* products of the window's kernel, in, out */
    const double *x,
        *w;    /* [n_batch, n_groups * c, ins...], [n_groups * o, c, taps...] */
    double *y; /* [n_batch, n_groups * o, outs...] */
    const int64_t *xi, *wi; /* the same in integers when x is NULL */
    int64_t *yi;
} kiln_conv;

/* Writes all of y. */
void kiln_conv_f64_run(const kiln_conv *cv, kiln_arena *scratch);
void kiln_conv_i64_run(const kiln_conv *cv);

/* One element at a row-major index of y, with the bits that run gives it. `is_direct`
 * from below. */
double kiln_conv_f64_at(const kiln_conv *cv, int64_t index, bool is_direct);
int64_t kiln_conv_i64_at(const kiln_conv *cv, int64_t index);
/* Chosen elements of floats at any address, in place of cv's x, w and y: values with
 * the bits that run gives them, and the same of the factors' absolute values. */
void kiln_conv_f32_pick(const kiln_conv *cv, const void *x, const void *w,
                        const int64_t *pick, int64_t n_pick, double *value,
                        double *magnitude, kiln_arena *scratch);
/* Whether run adds taps directly: decides the order of summation. */
bool kiln_conv_f64_is_direct(const kiln_conv *cv);

#endif
