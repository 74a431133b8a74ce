/* Matrix product in double for the reference: C[m,n] = A[m,k] * B[k,n].
 *
 * The only place of the reference that is written for speed. After Goto and van de
 * Geijn, Anatomy of High-Performance Matrix Multiplication (ACM TOMS 2008): B is packed
 * by blocks of KC x NC and A by blocks of MC x KC into panels, and a micro-kernel keeps
 * 4 x 4 sums in registers.
 *
 * Order of summation, part of the meaning: products of one block of KILN_GEMM_KC terms
 * are added in ascending order of k starting from 0, then the sums of the blocks are
 * added in ascending order. kiln_dot_f64 adds in the same order, so a chosen element
 * has the same bits as in a whole result.
 */
#ifndef KILN_COMPILER_OP_GEMM_F64_H
#define KILN_COMPILER_OP_GEMM_F64_H

#include <string.h>

#include "base/base.h"

enum {
    KILN_GEMM_MR = 4,   /* rows of the micro-kernel */
    KILN_GEMM_NR = 4,   /* columns of it: with SSE2, 8 of 16 registers hold sums */
    KILN_GEMM_KC = 256, /* terms of a block: one panel of A and one of B are 8 KiB each,
                           half of L1 */
    KILN_GEMM_MC = 64,  /* rows of a packed block of A: 128 KiB, inside L2 */
    KILN_GEMM_NC = 512, /* columns of a packed block of B: 1 MiB */
};

/* Writes rows [k0, k0 + kc) and columns [j0, j0 + nc) of B to dst in panels of NR
 * columns: dst[(j / NR) * kc * NR + k * NR + j % NR]. nc is a multiple of NR but at B's
 * right edge, where the missing columns of the last panel are to be zero. */
typedef void (*kiln_gemm_pack_fn)(const void *user, int64_t k0, int64_t kc, int64_t j0,
                                  int64_t nc, double *dst);

typedef struct kiln_gemm_f64 {
    int64_t m, n, k;
    const double *a; /* A[i,p] is a[i * a_row + p * a_col] */
    int64_t a_row, a_col;
    kiln_gemm_pack_fn pack_b;
    const void *user; /* for pack_b */
    double *c;        /* row-major, overwritten; k == 0 gives zeros */
    int64_t c_row;    /* elements from one row of C to the next */
} kiln_gemm_f64;

/* Scratch memory for the packed blocks is released before it returns. */
void kiln_gemm_f64_run(const kiln_gemm_f64 *g, kiln_arena *scratch);

/* A matrix in memory as `user` of kiln_gemm_pack_matrix: B[p,j] is b[p * row + j *
 * col]. */
typedef struct kiln_gemm_matrix {
    const double *b;
    int64_t row, col;
} kiln_gemm_matrix;

void kiln_gemm_pack_matrix(const void *user, int64_t k0, int64_t kc, int64_t j0,
                           int64_t nc, double *dst);

/* Sum of a[p * a_step] * b[p * b_step] for p in [0, k), in the order given above. */
double kiln_dot_f64(int64_t k, const double *a, int64_t a_step, const double *b,
                    int64_t b_step);

/* Floats at any address: from element i on, and element i. */
static inline const void *kiln_f32_from(const void *p, int64_t i) {
    return (const char *)p + i * (int64_t)sizeof(float);
}
static inline double kiln_f32_at(const void *p, int64_t i) {
    float f;
    memcpy(&f, kiln_f32_from(p, i), sizeof f);
    return (double)f;
}

/* So many sums at once: each is a chain of additions that wait for one another. */
enum { KILN_DOT_LANES = 4 };
typedef struct kiln_dot_f32 {
    const void *a, *b; /* first factors of the sum */
} kiln_dot_f32;
/* n sums, each as kiln_dot_f64 adds it, and beside each the sum of its terms' absolute
 * values. */
void kiln_dots_f32(int64_t k, const kiln_dot_f32 *dot, int64_t n, int64_t a_step,
                   int64_t b_step, double *sum, double *magnitude);

#endif
