/* Diagonals of matrices, for formats that have operators of them. */
#ifndef KILN_COMPILER_FRONTEND_DIAGONAL_H
#define KILN_COMPILER_FRONTEND_DIAGONAL_H

#include "compiler/frontend/compose.h"

/* bool[rows, columns]: true where the column is `above` the row by k (below it, where k
 * is negative). Charged to the import. */
kiln_value *kiln_compose_diagonal(kiln_compose *c, int64_t rows, int64_t columns,
                                  int64_t k);
/* How many elements that diagonal has; 0 where it lies outside. */
int64_t kiln_diagonal_length(int64_t rows, int64_t columns, int64_t k);
/* x [.., rows, columns] with the elements of `on` [.., length] on diagonal k. KILN_ERR_SHAPE
 * where on has another length. */
kiln_value *kiln_compose_set_diagonal(kiln_compose *c, kiln_value *x, kiln_value *on,
                                      int64_t k);
/* Diagonal k of x [.., rows, columns]: [.., length]. KILN_ERR_SHAPE where there is none. */
kiln_value *kiln_compose_diagonal_part(kiln_compose *c, kiln_value *x, int64_t k);
/* Matrices [.., rows, columns] of `filling` (a scalar) with the elements of `on`
 * [.., length] on diagonal k. */
kiln_value *kiln_compose_diagonal_matrix(kiln_compose *c, kiln_value *on, int64_t rows,
                                         int64_t columns, int64_t k,
                                         kiln_value *filling);
/* x [.., rows, columns] where it is at most `lower` below and `upper` above the diagonal,
 * 0 elsewhere; a negative number is no limit. KILN_ERR_SHAPE of fewer than two axes. */
kiln_value *kiln_compose_band_part(kiln_compose *c, kiln_value *x, int64_t lower,
                                   int64_t upper);

#endif
