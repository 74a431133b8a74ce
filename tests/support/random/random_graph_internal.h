/* Shared by the families of random_graph.def. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_GRAPH_INTERNAL_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_GRAPH_INTERNAL_H

#include "tests/support/random/random_graph.h"

/* A graph in the making. */
typedef struct maker {
    kiln_graph *g;
    kiln_rng rng;
    graph_values values;
    KILN_VEC(kiln_value *) pool; /* what nodes may read, newest last */
    KILN_VEC(kiln_value *) consts;
    kiln_dtype dtype;  /* of most values */
    int64_t max_elems; /* of a value */
    bool is_large;     /* longer axes than usual */
    bool is_chain;     /* nodes read the newest value, where it is as they want it */
} maker;

/* False: it was not taken, nothing was added. */
#define FAMILY(name, ...) bool random_graph_##name(maker *m);
#include "tests/support/random/random_graph.def"
#undef FAMILY

/* ---- drawing ---- */

int64_t draw(maker *m, int64_t lo, int64_t hi);
bool one_in(maker *m, int64_t n);
int64_t draw_dim(maker *m); /* odd and even lengths around those of vectors */
int64_t draw_channels(maker *m);
/* Factor of a sum of n terms that leaves its magnitude near 1. */
double term_scale(int64_t n);

/* ---- values ---- */

/* An old value of one of these dtypes and a rank from lo to hi with elements, often the
 * newest; else a new input. */
kiln_value *draw_value(maker *m, unsigned dtypes, int lo, int hi);
/* One of the pool that is as wanted; NULL: there is none. */
typedef bool (*value_test)(const kiln_value *v, const void *user);
kiln_value *find_value(maker *m, value_test is_wanted, const void *user);
/* A new constant or input, or a constant that is there already: floats in
 * [-scale, scale), integers small. */
kiln_value *draw_const(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       double scale);
kiln_value *draw_input(maker *m, kiln_dtype dtype, int rank, const int64_t *dim);
/* Mostly a constant, sometimes an input, sometimes an old value of the shape. */
kiln_value *draw_operand(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                         double scale);
/* Integers in [lo, hi], as a constant or an input. */
kiln_value *draw_indices(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                         int64_t lo, int64_t hi);
/* Numbers as a constant or an input. */
kiln_value *draw_known(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       const double *v);
kiln_value *const_ints(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       const int64_t *v);

/* ---- nodes ---- */

/* NULL: refused, or its results are wild, and nothing was added. Its outputs join the
 * pool. n_out 0: as few as there may be. */
kiln_node *add_node(maker *m, const kiln_op_def *op, kiln_value *const *in, int n_in,
                    int n_out, const kiln_attr_arg *args, size_t n_args);
/* Output 0, or NULL. */
kiln_value *add_op(maker *m, const kiln_op_def *op, kiln_value *const *in, int n_in,
                   const kiln_attr_arg *args, size_t n_args);
/* One input, no attributes. */
kiln_value *add_unary(maker *m, const kiln_op_def *op, kiln_value *x);
kiln_value *add_reshape(maker *m, kiln_value *x, int rank, const int64_t *dim);
/* Axes in any order. */
kiln_value *add_transpose(maker *m, kiln_value *x, const int64_t *perm);
kiln_value *add_cast(maker *m, kiln_value *x, kiln_dtype to);
/* Integers of eight bits as wider ones, now and then less a zero point; anything else as
 * it is. */
kiln_value *add_widened(maker *m, kiln_value *x);
/* Bytes as floats, with one scale or, where axis is not negative, one for each of its
 * elements; with a zero point now and then. */
kiln_value *add_dequantized(maker *m, kiln_value *q, int axis);
/* Attributes of a row that have no meaning to shapes, drawn: numbers, words, booleans.
 */
size_t draw_attrs(maker *m, const kiln_op_def *op, kiln_attr_arg *args);

#endif
