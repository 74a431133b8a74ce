/* Values that are as long as data has them (docs/bounded-outputs.md): kiln_value.count
 * elements along kiln_value.bounded_axis count, and what lies behind them is filling.
 * What importers of every format make of them. */
#ifndef KILN_COMPILER_FRONTEND_BOUNDED_H
#define KILN_COMPILER_FRONTEND_BOUNDED_H

#include "compiler/frontend/compose.h"

static inline bool kiln_value_is_counted(const kiln_value *v) {
    return v != NULL && v->count != NULL;
}

/* A scalar i64. */
kiln_value *kiln_compose_number(kiln_compose *c, int64_t v);
/* A value without its count: of the same elements. */
kiln_value *kiln_compose_uncounted(kiln_compose *c, kiln_value *v);
/* bool[1.., dim, 1..] of `rank` axes: true for the first `count` along the axis. */
kiln_value *kiln_compose_mask(kiln_compose *c, int rank, int axis, int64_t dim,
                              kiln_value *count);
/* v, of which the first `count` (i64) along an axis count; a value of its own, so that
 * others may know v as it is. A count that is constant cuts v instead. */
kiln_value *kiln_compose_bounded(kiln_compose *c, kiln_value *v, int axis,
                                 kiln_value *count);
/* An order of the n elements of mask (bool[n]): those that are true first, else as they
 * were; i64[n]. *count: how many are true. */
kiln_value *kiln_compose_partition(kiln_compose *c, kiln_value *mask,
                                   kiln_value **count);
/* Where the elements of x (an axis or more, one element or more) are not zero: rows of
 * positions in their order, i64[elements, rank], of which as many count. */
kiln_value *kiln_compose_places(kiln_compose *c, kiln_value *x);
/* x (counted) with `v` as its filling, uncounted; -HUGE_VAL and HUGE_VAL become the
 * dtype's lowest and highest. Others: x itself. */
kiln_value *kiln_compose_fill(kiln_compose *c, kiln_value *x, double v);
/* Negative indices count from the end of an axis, which is where `length` (i64) says. */
kiln_value *kiln_compose_from_the_end(kiln_compose *c, kiln_value *index,
                                      kiln_value *length);
/* An output: zeros where a counted value has filling. */
kiln_value *kiln_compose_settled(kiln_compose *c, kiln_value *v);

#endif
