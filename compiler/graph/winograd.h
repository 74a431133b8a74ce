/* Winograd's minimal filtering F(m, r): m outputs of a filter of r taps out of m + r - 1
 * products instead of m r (Lavin and Gray, "Fast algorithms for convolutional neural
 * networks", CVPR'16, section 4). In two dimensions, for one tile of one pair of
 * channels:
 *
 *     Y = A^T [(G g G^T) * (B^T d B)] A
 *
 * g: taps, d: elements of x, Y: outputs, * by element; products are summed over the
 * channels of x before the outer A. Rows and columns each have matrices of their own: of
 * 3 x 3 taps and of 5 x 5 both are alike; along an axis of one tap, as 1 x 7 have one,
 * nothing is transformed.
 *
 * In steps of two, taps of even numbers meet elements of even numbers alone, and odd ones
 * odd ones: two filters of half the taps (in two dimensions four), whose products are
 * those of one tile, and whose outputs A^T adds up. Of three taps 2 m + 1 products in
 * place of 3 m.
 *
 * Rounding errors of the transforms are multiplied: amplification is the factor on
 * the error bound of the plain sum, c * k * 2^-24 * sum|a*b|. */
#ifndef KILN_COMPILER_GRAPH_WINOGRAD_H
#define KILN_COMPILER_GRAPH_WINOGRAD_H

#include "base/base.h"

enum {
    KILN_WINOGRAD_MAX_TAPS = 7,
    KILN_WINOGRAD_MAX_TILE = 4,
    KILN_WINOGRAD_MAX_N = 8,
    KILN_WINOGRAD_MAX_POSITIONS = 64 /* of a tile in two dimensions */
};
#define KILN_WINOGRAD_LEAST_SHARE 0.25 /* of multiply-adds: F(4, 3) along both axes */

/* Along one axis. */
typedef struct kiln_winograd {
    int tile, taps, stride; /* outputs; of the filter, and its steps */
    int n;                /* products, and elements of x: stride * (tile - 1) + taps */
    double amplification; /* of both axes alike */
    double at[KILN_WINOGRAD_MAX_TILE][KILN_WINOGRAD_MAX_N]; /* A^T */
    const double (*bt)[KILN_WINOGRAD_MAX_N];                /* B^T, n rows */
    /* G: g[i][k] / divisor[i]. Factors of powers of two make exact products of taps, so
     * that a multiply-add gives the same sum whether it is fused or not: transformed
     * weights are the same bits whoever computes them. */
    double g[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_TAPS];
    double divisor[KILN_WINOGRAD_MAX_N];
} kiln_winograd;

/* Rows and columns. */
typedef struct kiln_winograd_pair {
    const kiln_winograd *f[2];
} kiln_winograd_pair;

/* F(tile, taps) in such steps; NULL: there is none. F(1, 1) changes nothing. */
const kiln_winograd *kiln_winograd_of(int64_t tile, int64_t taps, int64_t stride);
/* Tiles of `size` outputs along each axis of more than one tap; false where there are no
 * such tiles for these taps, or nothing is saved. */
bool kiln_winograd_pair_of(int64_t size, const int64_t taps[2], int64_t stride,
                           kiln_winograd_pair *out);
int64_t kiln_winograd_positions(const kiln_winograd_pair *p); /* products of a tile */
double kiln_winograd_amplification(const kiln_winograd_pair *p);
/* Of the convolution's multiply-adds, the part that is left. */
double kiln_winograd_share(const kiln_winograd_pair *p);

#endif
