/* Rules of simplify_inference: each looks at one kind of node.
 *
 * A rule may make nodes through the sweep, and sets *same to the value that replaces
 * output 0 (the only output) of the node; it leaves *same alone where it has nothing to
 * say. */
#ifndef KILN_COMPILER_PASS_SIMPLIFY_H
#define KILN_COMPILER_PASS_SIMPLIFY_H

#include "compiler/pass/pass_internal.h"

/* With so many rows at most, what a product reads the other operand for is over when it
 * has come from memory: it is best read as it lies. */
enum { KILN_FEW_ROWS = 8 };

typedef kiln_status (*kiln_simplify_rule)(kiln_sweep *s, kiln_node *n,
                                          kiln_value **same);

/* Data movement (simplify_move.c). */
kiln_status kiln_simplify_same_type(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_cast(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_reshape(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_transpose(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_pad(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_slice(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_concat(kiln_sweep *s, kiln_node *n, kiln_value **same);

/* Arithmetic with a neutral constant (simplify_neutral.c). */
/* Is v a constant, all of whose elements have the bits of `x` in its dtype? */
bool kiln_simplify_is_filled(const kiln_value *v, double x);
kiln_status kiln_simplify_add(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_sub(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_mul(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_div(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_simplify_pow(kiln_sweep *s, kiln_node *n, kiln_value **same);

/* Known scales (simplify_quantize.c). */
kiln_status kiln_simplify_quantize_linear(kiln_sweep *s, kiln_node *n,
                                          kiln_value **same);

/* Batch norm (simplify_batch_norm.c). */
kiln_status kiln_simplify_batch_norm(kiln_sweep *s, kiln_node *n, kiln_value **same);

#endif
