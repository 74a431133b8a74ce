/* Where whole numbers come from: bytes less a zero point, moved about; and what products
 * of them by constants become products of bytes. Inside compiler/pass: merge_quantized.c,
 * narrow_convs.c, narrow_products.c. */
#ifndef KILN_COMPILER_PASS_BYTE_SOURCE_H
#define KILN_COMPILER_PASS_BYTE_SOURCE_H

#include "compiler/pass/pass_internal.h"

enum { KILN_BYTE_SOURCE_MOVES = 4 };

/* v = moves(i32(x) - zero), or - by. */
typedef struct kiln_byte_source {
    kiln_value *x; /* 8 bits */
    int64_t zero;
    kiln_value *by; /* a zero point that is computed, one element; NULL: `zero` is it */
    const kiln_node *move[KILN_BYTE_SOURCE_MOVES]; /* the last first */
    int n_moves;                                   /* transpositions and reshapes */
} kiln_byte_source;

/* False: it is no such value, or its zero point is none of x's numbers. */
bool kiln_byte_source_of(kiln_value *v, kiln_byte_source *out);
/* The moves again, in their order, on *v, which has the shape of x. */
kiln_status kiln_byte_source_move(kiln_sweep *s, const kiln_byte_source *x,
                                  kiln_value **v);

/* ---- what is taken ---- */

/* The second operand of a product that is a matrix. */
typedef struct kiln_byte_matrix {
    int64_t terms,
        columns;      /* terms are summed up, a column is a channel of the result */
    int64_t row, col; /* strides, in elements */
} kiln_byte_matrix;

/* Weights as products of bytes have them: less - zero, of the dtype. */
typedef struct kiln_byte_weights {
    kiln_dtype dtype; /* i8, or i16 */
    int64_t zero;
} kiln_byte_weights;

/* Would a convolution of bytes read more than one of them at a time? *is_dot: several are
 * summed up at once. */
bool kiln_byte_conv_pays(const kiln_node *conv, bool *is_dot);
/* The same of a matmul or gemm, but for gemm's addend and beta. */
bool kiln_byte_product_pays(const kiln_node *n, kiln_byte_matrix *out);
/* False: 8 bits do not hold the numbers, nor, where they are not for dots, 16. */
bool kiln_byte_weights_of(const kiln_wide *w, bool is_dot, kiln_byte_weights *out);
/* A constant of v's type, in the sweep's graph. */
kiln_value *kiln_byte_const(kiln_sweep *s, const char *name, const kiln_wide *v);

#endif
