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
/* An output: zeros where a counted value has filling. */
kiln_value *kiln_compose_settled(kiln_compose *c, kiln_value *v);

/* The counted ones among an operator's operands, and the axis that they share. */
typedef struct kiln_counted {
    kiln_value *value; /* the first; NULL: there is none */
    kiln_value *count;
    int axis;       /* of `value`; -1: another counts otherwise */
    int from_right; /* the axis, counted from the last */
    int n;          /* how many there are */
} kiln_counted;
/* One more operand; those that are not counted (or NULL) change nothing. */
void kiln_counted_note(kiln_counted *c, kiln_value *v);
/* Does v, broadcast against them, stretch along the axis? Else its own length would have
 * to be theirs, which nobody knows. */
bool kiln_counted_stretches(const kiln_counted *c, const kiln_value *v);
/* What a slice takes of the axis: where it lies in the result (-1: nowhere), of how many
 * elements, and whether these are the first, counted from the front. */
typedef struct kiln_counted_cut {
    int axis;
    int64_t size;
    bool is_first;
} kiln_counted_cut;
/* Where the axis lies in a shape that is asked for with one entry open (-1), which must be
 * the axis, with as many elements before it as there were; -1: it is not so. */
int kiln_counted_reshaped(const kiln_counted *c, const int64_t *want, size_t n);
/* Is the axis among these of `value` (each once)? *before: how many of them lie before
 * it, *others: elements along those that are not it. KILN_ERR_SHAPE: there is no such
 * axis. */
kiln_status kiln_counted_over(const kiln_counted *c, const int64_t *axes, size_t n,
                              bool *is_over, int *before, int64_t *others,
                              kiln_err *err);
/* What changes nothing in a reduction or an extreme's place; NAN: there is no such
 * number. */
double kiln_counted_neutral(const kiln_op_def *op);
/* A sum of `value` along the axis and `others` elements more as their mean. */
kiln_value *kiln_compose_mean_of(kiln_compose *c, const kiln_counted *of,
                                 kiln_value *sum, int64_t others);

#endif
