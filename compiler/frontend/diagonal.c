/* Diagonals of matrices; see diagonal.h. An element of diagonal k >= 0 is called by its
 * row, one of k < 0 by its column: both count from 0. */
#include "compiler/frontend/diagonal.h"

#include <inttypes.h>

int64_t kiln_diagonal_length(int64_t rows, int64_t columns, int64_t k) {
    const int64_t high = k < 0 ? rows + k : rows, wide = k < 0 ? columns : columns - k;
    const int64_t n = high < wide ? high : wide;
    return n < 0 ? 0 : n;
}

kiln_value *kiln_compose_diagonal(kiln_compose *c, int64_t rows, int64_t columns,
                                  int64_t k) {
    const int64_t column[] = {rows, 1};
    kiln_value *row = kiln_compose_iota(c, rows);
    row = kiln_compose_scalar(c, &kiln_op_add, row, (double)k);
    row = kiln_compose_reshape(c, row, 2, column);
    return kiln_compose_2(c, &kiln_op_equal, row, kiln_compose_iota(c, columns));
}

static kiln_value *refuse(kiln_compose *c, kiln_value *x, int64_t k) {
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "diagonal %" PRId64 " of %s is not as long as "
                                       "what goes there",
                                       k, kiln_type_text(&c->cx->scratch, &x->type)));
    return x;
}

/* [.., length] to [.., size, 1], or [.., 1, size]: what lies behind it is not looked at. */
static kiln_value *spread(kiln_compose *c, kiln_value *on, int64_t size,
                          bool is_column) {
    const int rank = on->type.rank;
    int64_t pads[2 * KILN_MAX_RANK] = {0}, dim[KILN_MAX_RANK];
    pads[2 * rank - 1] = size - on->type.dim[rank - 1];
    on = kiln_compose_pad(c, on, pads, 0);
    for (int i = 0; i < rank - 1; i++)
        dim[i] = on->type.dim[i];
    dim[rank - 1] = is_column ? size : 1;
    dim[rank] = is_column ? 1 : size;
    return kiln_compose_reshape(c, on, rank + 1, dim);
}

kiln_value *kiln_compose_set_diagonal(kiln_compose *c, kiln_value *x, kiln_value *on,
                                      int64_t k) {
    const int rank = x->type.rank;
    if (c->status != KILN_OK)
        return x;
    if (rank < 2 || on->type.rank != rank - 1)
        return refuse(c, x, k);
    const int64_t rows = x->type.dim[rank - 2], columns = x->type.dim[rank - 1];
    if (on->type.dim[rank - 2] != kiln_diagonal_length(rows, columns, k))
        return refuse(c, x, k);
    kiln_value *const is_there = kiln_compose_diagonal(c, rows, columns, k);
    on = spread(c, on, k < 0 ? columns : rows, k >= 0);
    return kiln_compose_where(c, is_there, on, x);
}

kiln_value *kiln_compose_diagonal_part(kiln_compose *c, kiln_value *x, int64_t k) {
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK];
    if (c->status != KILN_OK)
        return x;
    if (rank < 2)
        return refuse(c, x, k);
    const int64_t rows = x->type.dim[rank - 2], columns = x->type.dim[rank - 1];
    const int64_t length = kiln_diagonal_length(rows, columns, k);
    if (length < 1)
        return refuse(c, x, k);
    for (int i = 0; i < rank - 2; i++)
        dim[i] = x->type.dim[i];
    dim[rank - 2] = rows * columns;
    x = kiln_compose_reshape(c, x, rank - 1, dim);
    return kiln_compose_slice(c, x, rank - 2, k < 0 ? -k * columns : k, columns + 1,
                              length);
}

kiln_value *kiln_compose_diagonal_matrix(kiln_compose *c, kiln_value *on, int64_t rows,
                                         int64_t columns, int64_t k,
                                         kiln_value *filling) {
    const int rank = on->type.rank;
    int64_t dim[KILN_MAX_RANK];
    if (c->status != KILN_OK)
        return on;
    if (rank < 1 || rank >= KILN_MAX_RANK)
        return refuse(c, on, k);
    for (int i = 0; i < rank - 1; i++)
        dim[i] = on->type.dim[i];
    dim[rank - 1] = rows;
    dim[rank] = columns;
    return kiln_compose_set_diagonal(c, kiln_compose_expand(c, filling, rank + 1, dim),
                                     on, k);
}

/* Positions of a matrix's rows as a column, or of its columns as a row. */
static kiln_value *positions(kiln_compose *c, int64_t size, bool is_column) {
    const int64_t dim[] = {is_column ? size : 1, is_column ? 1 : size};
    return kiln_compose_reshape(c, kiln_compose_iota(c, size), 2, dim);
}

kiln_value *kiln_compose_band_part(kiln_compose *c, kiln_value *x, int64_t lower,
                                   int64_t upper) {
    const int rank = x->type.rank;
    if (rank < 2) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "its input must be a matrix or more"));
        return x;
    }
    kiln_value *const zero = kiln_import_scalar(c->cx, x->type.dtype, 0);
    kiln_value *const row = positions(c, x->type.dim[rank - 2], true);
    kiln_value *const column = positions(c, x->type.dim[rank - 1], false);
    kiln_value *const below = kiln_compose_2(c, &kiln_op_sub, row, column);
    if (lower >= 0)
        x = kiln_compose_where(
            c, kiln_compose_scalar(c, &kiln_op_greater, below, (double)lower), zero, x);
    if (upper >= 0)
        x = kiln_compose_where(
            c, kiln_compose_scalar(c, &kiln_op_less, below, -(double)upper), zero, x);
    return x;
}
