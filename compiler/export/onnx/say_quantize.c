/* QuantizeLinear and DequantizeLinear. Their opset follows from the dtypes: scales of
 * another dtype than x, outputs of another dtype than the scales came with 23. */
#include "compiler/export/onnx/say_ops.h"

static bool is_single(const kiln_type *t) { return kiln_type_elems(t) == 1; }

static void say_scale(kiln_say *s) {
    const kiln_type *scale = kiln_say_in_type(s, 1);
    const bool is_whole = is_single(scale) && scale->rank <= 1; /* of all of x */
    const int64_t block = is_whole ? 0 : kiln_say_attr(s, "block")->i;
    for (int i = 0; i < s->node->n_in; i++) {
        kiln_say_take(s, kiln_say_in(s, i));
        if (kiln_say_has_in(s, i))
            kiln_say_needs(s, kiln_say_dtype_opset(kiln_say_in_type(s, i)->dtype));
    }
    if (!is_whole)
        kiln_say_int(s, "axis", kiln_say_attr(s, "axis")->i);
    if (block != 0)
        kiln_say_int(s, "block_size", block);
}

kiln_status kiln_say_op_dequantize(kiln_say *s, const kiln_node *n) {
    const kiln_dtype to = (kiln_dtype)kiln_say_attr(s, "dtype")->i;
    const bool is_usual = to == n->in[1]->type.dtype;
    kiln_say_begin(s, "DequantizeLinear", is_usual ? KILN_SAY_BASE_OPSET : 23);
    say_scale(s);
    if (!is_usual)
        kiln_say_int(s, "output_dtype", kiln_say_dtype(to));
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* A scale or zero point as it stretches over x: one axis of x, all others 1. */
static kiln_status stretched(kiln_say *s, int i, kiln_dtype dtype, const char **out) {
    const kiln_type *x = kiln_say_in_type(s, 0), *t = kiln_say_in_type(s, i);
    const int64_t given = kiln_say_attr(s, "axis")->i;
    const int64_t axis = given < 0 ? given + x->rank : given;
    int64_t dim[KILN_MAX_RANK];
    *out = kiln_say_in(s, i);
    if (t->dtype != dtype)
        *out = kiln_say_cast(s, *out, dtype, NULL);
    if (kiln_say_attr(s, "block")->i != 0)
        return kiln_say_refuse(s, "scales of blocks for floats of 8 and 4 bits are not "
                                  "written; use scales of an axis");
    for (int k = 0; k < x->rank; k++)
        dim[k] = k == axis ? kiln_type_elems(t) : 1;
    if (t->rank != 0)
        *out = kiln_say_reshape(s, *out, is_single(t) ? 0 : x->rank, dim, NULL);
    return KILN_OK;
}

/* x / scale + zero in the precision, not rounded to integers: what a cast to a float of
 * 8 or 4 bits follows. */
static kiln_status say_quotient(kiln_say *s, const kiln_node *n, kiln_dtype precision) {
    const bool has_zero = kiln_say_has_in(s, 2);
    const char *x = kiln_say_in(s, 0), *scale, *zero = NULL;
    KILN_TRY(stretched(s, 1, precision, &scale));
    if (has_zero)
        KILN_TRY(stretched(s, 2, precision, &zero));
    if (n->in[0]->type.dtype != precision)
        x = kiln_say_cast(s, x, precision, NULL);
    const char *const y =
        kiln_say_2(s, "Div", x, scale, has_zero ? NULL : kiln_say_out(s, 0));
    if (has_zero)
        kiln_say_2(s, "Add", y, zero, kiln_say_out(s, 0));
    return KILN_OK;
}

kiln_status kiln_say_op_quantize(kiln_say *s, const kiln_node *n) {
    const kiln_dtype to = (kiln_dtype)kiln_say_attr(s, "dtype")->i;
    const kiln_dtype precision = (kiln_dtype)kiln_say_attr(s, "precision")->i;
    const kiln_dtype x = n->in[0]->type.dtype, scale = n->in[1]->type.dtype;
    if (kiln_dtype_is_float(to))
        return say_quotient(s, n, precision);
    const bool is_usual = scale == x && precision == scale;
    kiln_say_begin(s, "QuantizeLinear", is_usual ? KILN_SAY_BASE_OPSET : 23);
    kiln_say_needs(s, kiln_say_dtype_opset(to));
    say_scale(s);
    if (!kiln_say_has_in(s, 2) && to != KILN_U8)
        kiln_say_int(s, "output_dtype", kiln_say_dtype(to));
    if (precision != (scale == KILN_F8E8M0 ? KILN_F32 : scale))
        kiln_say_int(s, "precision", kiln_say_dtype(precision));
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}
