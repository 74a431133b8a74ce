/* What the pooling operators share: attributes, output shape, and the input elements
 * under one window. */
#ifndef KILN_COMPILER_OP_POOL_POOL_H
#define KILN_COMPILER_OP_POOL_POOL_H

#include "compiler/op/op_window.h"

/* Attributes of every pooling operator, in this order; its own follow. */
enum { KILN_POOL_KERNEL = KILN_WINDOW_N_ATTR, KILN_POOL_CEIL_MODE, KILN_POOL_N_ATTR };
/* clang-format off */
#define KILN_POOL_ATTRS                                                                    \
    KILN_WINDOW_ATTRS,                                                                     \
    {.name = "kernel", .kind = KILN_ATTR_INTS, .is_required = true,                        \
     .doc = "size of the window along each spatial axis"},                                 \
    {.name = "ceil_mode", .kind = KILN_ATTR_BOOL,                                          \
     .doc = "a last window that only partly fits is kept"}
/* clang-format on */

typedef struct kiln_pool {
    kiln_window window;
    int64_t planes, ins, outs; /* N * C; elements of an input and of an output plane */
    int64_t room;              /* most elements that one window can hold */
} kiln_pool;

/* Input 0 is [N, C, spatial...]. */
kiln_status kiln_pool_read(const kiln_node *n, kiln_pool *p, kiln_err *err);
/* One output of input 0's dtype. */
kiln_status kiln_infer_pool(const kiln_node *n, kiln_type *out, kiln_err *err);
/* Row-major indices inside the plane of what window `index` of a plane covers, in order
 * of taps; padding is left out. `at` has p->room entries; returns how many it wrote.
 * With `n_padded` not NULL also how many taps lie in the input or its padding. */
int64_t kiln_pool_gather(const kiln_pool *p, int64_t index, int64_t *at,
                         int64_t *n_padded);
/* One flop per tap of each output element. */
void kiln_cost_pool(const kiln_node *n, kiln_cost *c);
int64_t kiln_pool_taps(const kiln_node *n); /* product of kernel */

#endif
