/* Scales of quantize_linear that are known: where they are within limits the operator need
 * not divide (compiler/op/convert/quantize_linear.c). */
#include "compiler/pass/simplify.h"

/* As KILN_INTRIN_quotient has them. */
static const double least_scale = 0x1p-60, most_scale = 0x1p60;

kiln_status kiln_simplify_quantize_linear(kiln_sweep *s, kiln_node *n,
                                          kiln_value **same) {
    (void)same;
    const unsigned wide =
        KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I16) | KILN_DT(KILN_U16);
    const kiln_dtype dtype = n->out[0]->type.dtype;
    const kiln_dtype precision = (kiln_dtype)kiln_node_attr(n, "precision")->i;
    double scale = 0;
    if (kiln_node_attr(n, "tame")->i != 0 || kiln_node_attr(n, "block")->i != 0 ||
        precision != KILN_F32 || n->in[1]->type.dtype != KILN_F32 ||
        !kiln_dtype_is_in(dtype, wide) || !kiln_pass_number(n->in[1], &scale) ||
        scale < least_scale || scale > most_scale)
        return KILN_OK;
    /* In its place: the node that users know by its name computes the same. */
    for (size_t i = 0; i < n->op->n_attr; i++)
        if (kiln_str_is(kiln_str_from("tame"), n->op->attr[i].name))
            n->attr[i].i = 1;
    s->cx->changed = true;
    return KILN_OK;
}
