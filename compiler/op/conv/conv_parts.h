/* What convolutions of one dtype and of bytes share: inputs x, w and perhaps bias,
 * attributes of the window, then groups. Inside compiler/op/conv. */
#ifndef KILN_COMPILER_OP_CONV_CONV_PARTS_H
#define KILN_COMPILER_OP_CONV_CONV_PARTS_H

#include "compiler/op/conv/conv_f64.h"
#include "compiler/op/op_compute.h"

/* The output's type, of dtype `sums` as the bias must be. */
kiln_status kiln_conv_infer(const kiln_node *n, kiln_dtype sums, kiln_type *out,
                            kiln_err *err);
kiln_status kiln_conv_window(const kiln_node *n, kiln_window *w, kiln_err *err);
/* All but the arrays. */
kiln_status kiln_conv_plan(const kiln_node *n, kiln_conv *cv, kiln_err *err);
/* All or the chosen elements, with the bias of cx->in[2], if any. */
void kiln_conv_eval_i(const kiln_conv *cv, kiln_eval_cx *cx);
void kiln_conv_cost(const kiln_node *n, kiln_cost *c);
/* The sum of products that stage y is, of x as its windows read it. */
const kiln_expr *kiln_conv_contraction(kiln_compute_cx *cx, kiln_te *y,
                                       const kiln_window *w, const kiln_te_value *x,
                                       const kiln_expr *const *index);

#endif
