/* Scales of quantize_linear that are known: where they are within limits the operator need
 * not divide (compiler/op/convert/quantize_linear.c). */
#include "compiler/pass/simplify.h"

/* As KILN_INTRIN_quotient has them. */
static const double least_scale = 0x1p-60, most_scale = 0x1p60;

kiln_status kiln_simplify_quantize_linear(kiln_sweep *s, kiln_node *n,
                                          kiln_value **same) {
    (void)same;
    kiln_attr *const tame = kiln_node_own_attr(n, "tame");
    double scale = 0;
    if (tame->i != 0 || !kiln_pass_number(n->in[1], &scale) || scale < least_scale ||
        scale > most_scale)
        return KILN_OK;
    /* Of which types and in which precision it may be tame, the operator says. */
    kiln_type y;
    kiln_err refused = {0};
    tame->i = 1;
    if (n->op->infer(n, &y, &refused) == KILN_OK)
        s->cx->changed = true;
    else
        tame->i = 0;
    return KILN_OK;
}
