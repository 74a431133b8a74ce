/* What the node of an attention says: sizes, and where elements lie. For its row, its
 * reference and the template that schedules it. */
#ifndef KILN_COMPILER_OP_PRODUCT_OP_ATTENTION_H
#define KILN_COMPILER_OP_PRODUCT_OP_ATTENTION_H

#include "compiler/graph/graph.h"

/* Inputs and attributes by number. */
enum { KILN_ATTENTION_Q, KILN_ATTENTION_K, KILN_ATTENTION_V, KILN_ATTENTION_MASK };
enum {
    KILN_ATTENTION_SCALE,
    KILN_ATTENTION_PERM_Q,
    KILN_ATTENTION_PERM_K,
    KILN_ATTENTION_PERM_V,
    KILN_ATTENTION_PERM_Y,
    KILN_ATTENTION_N_ATTR
};

/* A tensor with its axes permuted: [..., row, column]. Steps in elements. */
typedef struct kiln_attention_view {
    int64_t dim[KILN_MAX_RANK], step[KILN_MAX_RANK];
} kiln_attention_view;

typedef struct kiln_attention {
    int rank;
    int row, col;       /* the last two axes */
    int64_t m, s, d, e; /* queries, keys, terms of a score, columns of v */
    kiln_attention_view q, k, v, mask; /* of the mask only steps: 0 where stretched */
    bool has_mask;
    double scale;
} kiln_attention;

/* Entry i of a permutation; none is empty. */
int kiln_attention_axis(const kiln_attr *perm, int i);
/* KILN_ERR_SHAPE says what must hold and what is. Reads types of inputs only. */
kiln_status kiln_attention_read(const kiln_node *n, kiln_attention *p, kiln_err *err);
/* The row's eval_ref (attention_f64.c). */
kiln_status kiln_attention_eval(const kiln_node *n, kiln_eval_cx *cx);

#endif
