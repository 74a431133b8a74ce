/* Computes that families of operators share; see tensor/compute.h. */
#ifndef KILN_COMPILER_GRAPH_OP_OP_COMPUTE_H
#define KILN_COMPILER_GRAPH_OP_OP_COMPUTE_H

#include "compiler/graph/op/op_common.h"
#include "compiler/graph/op/window.h"
#include "compiler/tensor/compute.h"

/* kiln_compute_unary and kiln_compute_binary (op_common.h): y = x1(x), x2(a, b) with
 * numpy broadcasting; f16 and bf16 in f32. Rows that give bool (predicates,
 * comparisons) return bool expressions. */

/* Output k is input i: without a stage where both have one layout. */
kiln_status kiln_compute_copy(kiln_compute_cx *cx, int k, int i);

/* An integer divisor with 1 in place of 0, and of -1 where the dtype is signed: the
 * smallest integer has no quotient by it. */
const kiln_expr *kiln_compute_safe_divisor(kiln_arena *a, const kiln_expr *y);

/* The input with zeros around its spatial axes, as far as windows reach: a stage
 * tagged "pad", or the input itself where nothing is padded. Window position p of tap k
 * then reads p * stride + k * dilation. */
kiln_status kiln_compute_pad(kiln_compute_cx *cx, const kiln_te_value *x,
                             const kiln_window *w, const kiln_expr *fill,
                             kiln_te_value *out);

#endif
