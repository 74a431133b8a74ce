/* Winograd's minimal filtering F(m, 3): m outputs of a filter of three taps out of
 * m + 2 products instead of 3 m (Lavin and Gray, "Fast algorithms for convolutional
 * neural networks", CVPR'16, section 4). In two dimensions, for one tile of one pair of
 * channels:
 *
 *     Y = A^T [(G g G^T) * (B^T d B)] A
 *
 * g: 3 x 3 taps, d: (m + 2) x (m + 2) elements of x, Y: m x m outputs, * by element;
 * products are summed over the channels of x before the outer A.
 *
 * Rounding errors of the transforms are multiplied: amplification() is the factor on
 * the error bound of the plain sum, c * k * 2^-24 * sum|a*b|. */
#ifndef KILN_COMPILER_GRAPH_WINOGRAD_H
#define KILN_COMPILER_GRAPH_WINOGRAD_H

#include "base/base.h"

enum {
    KILN_WINOGRAD_TAPS = 3,
    KILN_WINOGRAD_MAX_TILE = 4,
    KILN_WINOGRAD_MAX_N = KILN_WINOGRAD_MAX_TILE + KILN_WINOGRAD_TAPS - 1
};

typedef struct kiln_winograd {
    int tile, n; /* outputs; products, tile + 2 */
    double amplification;
    double at[KILN_WINOGRAD_MAX_TILE][KILN_WINOGRAD_MAX_N]; /* A^T */
    double bt[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_MAX_N];    /* B^T */
    /* G: g[i][k] / divisor[i]. Factors of powers of two make exact products of taps, so
     * that a multiply-add gives the same sum whether it is fused or not: transformed
     * weights are the same bits whoever computes them. */
    double g[KILN_WINOGRAD_MAX_N][KILN_WINOGRAD_TAPS];
    double divisor[KILN_WINOGRAD_MAX_N];
} kiln_winograd;

/* F(tile, 3); NULL: there is none. */
const kiln_winograd *kiln_winograd_of(int tile);

#endif
