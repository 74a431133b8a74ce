/* Computes that families of operators share; see tensor/compute.h. */
#ifndef KILN_COMPILER_GRAPH_OP_OP_COMPUTE_H
#define KILN_COMPILER_GRAPH_OP_OP_COMPUTE_H

#include "compiler/graph/op/op_common.h"
#include "compiler/graph/op/window.h"
#include "compiler/tensor/compute.h"

/* y = x1(x), x2(a, b) with numpy broadcasting; f16 and bf16 in f32. Rows that give
 * bool (predicates, comparisons) return bool expressions. */
kiln_status kiln_compute_unary(const kiln_node *n, kiln_compute_cx *cx);
kiln_status kiln_compute_binary(const kiln_node *n, kiln_compute_cx *cx);

/* The input with zeros around its spatial axes, as far as windows reach: a stage
 * tagged "pad", or the input itself where nothing is padded. Window position p of tap k
 * then reads p * stride + k * dilation. */
kiln_status kiln_compute_pad(kiln_compute_cx *cx, const kiln_te_value *x,
                             const kiln_window *w, const kiln_expr *fill,
                             kiln_te_value *out);

#endif
