/* ONNX activations with operands or modes of their own: Clip, PRelu, Dropout. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <math.h>

/* ---- Clip ---- */

/* A bound that the operator's attribute can hold exactly. */
static kiln_status read_bound(kiln_onnx_cx *cx, kiln_value *v, const char *name,
                              double *out, bool *is_exact) {
    const double *bound = NULL;
    size_t n_elems = 0;
    *is_exact = false;
    if (!kiln_value_is_const(v))
        return KILN_OK;
    KILN_TRY(kiln_onnx_const_floats(cx, v, name, &bound, &n_elems));
    if (n_elems != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input '%s' must be a scalar, has %zu elements", name,
                              n_elems);
    /* Integers of more than 53 bits would be rounded; a NaN bound makes all elements
     * NaN. */
    if (isnan(bound[0]) ||
        (!kiln_dtype_is_float(v->type.dtype) && fabs(bound[0]) >= 0x1p53))
        return KILN_OK;
    *out = bound[0];
    *is_exact = true;
    return KILN_OK;
}

static kiln_status emit_clip(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                             double min, double max, kiln_value **out) {
    if (isinf(min) && min < 0 && isinf(max) && max > 0) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg args[] = {kiln_arg_float("min", min),
                                  kiln_arg_float("max", max)};
    return kiln_onnx_emit1(cx, n, &kiln_op_clip, x, args, 2, out);
}

/* Clip before 11: bounds are attributes. */
kiln_status kiln_onnx_import_clip_attr(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(emit_clip(cx, n, x, kiln_onnx_attr_f(cx, n, "min", -HUGE_VAL),
                       kiln_onnx_attr_f(cx, n, "max", HUGE_VAL), &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Clip since 11: bounds are operands; those that are not constant become max and min.
 */
kiln_status kiln_onnx_import_clip(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const name[] = {"min", "max"};
    kiln_value *y = NULL,
               *operand[2] = {kiln_onnx_in(cx, n, 1), kiln_onnx_in(cx, n, 2)};
    double bound[2] = {-HUGE_VAL, HUGE_VAL};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &y));
    for (int i = 0; i < 2; i++) {
        bool is_exact = true;
        if (operand[i] != NULL)
            KILN_TRY(read_bound(cx, operand[i], name[i], &bound[i], &is_exact));
        if (is_exact)
            operand[i] = NULL;
    }
    if (operand[0] != NULL)
        KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_max, y, operand[0], &y));
    /* An attribute for max must not be applied before an operand for min: min(max(x,
     * min), max). */
    KILN_TRY(emit_clip(cx, n, y, bound[0], bound[1], &y));
    if (operand[1] != NULL)
        KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_min, y, operand[1], &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- PRelu ---- */

kiln_status kiln_onnx_import_prelu(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *slope = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "slope", &slope));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_prelu, x, slope, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* PRelu before 7: one slope for all, or one for each channel (axis 1). */
kiln_status kiln_onnx_import_prelu_channels(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *slope = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "slope", &slope));
    const int64_t n_slopes = kiln_type_elems(&slope->type);
    int64_t dim[KILN_MAX_RANK] = {n_slopes, 1, 1, 1, 1, 1, 1, 1};
    int rank = 0;
    if (n_slopes != 1) {
        if (x->type.rank < 2 || x->type.dim[1] != n_slopes)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "input 'slope' must have one element or one for each channel of 'X', "
                "has "
                "%lld for %s",
                (long long)n_slopes,
                kiln_shape_text(kiln_onnx_arena(cx), x->type.rank, x->type.dim));
        rank = x->type.rank - 1;
    }
    KILN_TRY(kiln_onnx_reshape(cx, n, slope, rank, dim, &slope));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_prelu, x, slope, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- Dropout ---- */

/* Nothing is dropped: the output is the input, the mask is all ones. */
static kiln_status keep_all(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            kiln_dtype mask) {
    kiln_value *x = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    kiln_onnx_set(cx, n, 0, x);
    if (!kiln_onnx_wants(n, 1))
        return KILN_OK;
    const kiln_attr_arg shape =
        kiln_arg_ints("shape", x->type.dim, (size_t)x->type.rank);
    kiln_value *y = NULL;
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_expand, kiln_onnx_scalar(cx, mask, 1),
                             &shape, 1, &y));
    kiln_onnx_set(cx, n, 1, y);
    return KILN_OK;
}

static kiln_status refuse_training(kiln_onnx_cx *cx, const char *remedy) {
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                          "training mode draws random numbers; %s", remedy);
}

/* Dropout before 7: a test mode that has to be asked for. */
kiln_status kiln_onnx_import_dropout_is_test(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    if (kiln_onnx_attr_i(cx, n, "is_test", 0) == 0 &&
        kiln_onnx_attr_f(cx, n, "ratio", 0.5) > 0)
        return refuse_training(cx, "export with is_test = 1");
    kiln_value *x = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    return keep_all(cx, n, x->type.dtype);
}

/* Dropout 7 to 11: inference only; the mask had the input's dtype before 10. */
kiln_status kiln_onnx_import_dropout_inference(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_value *x = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    return keep_all(cx, n, kiln_onnx_version(cx) < 10 ? x->type.dtype : KILN_BOOL);
}

/* Dropout since 12: operands ratio and training_mode. */
kiln_status kiln_onnx_import_dropout(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *ratio = kiln_onnx_in(cx, n, 1), *mode = kiln_onnx_in(cx, n, 2);
    const int64_t *is_training = NULL;
    const double *p = NULL;
    size_t n_mode = 0, n_ratio = 0;
    if (mode != NULL)
        KILN_TRY(
            kiln_onnx_const_ints(cx, mode, "training_mode", &is_training, &n_mode));
    if (n_mode == 0 || !is_training[0])
        return keep_all(cx, n, KILN_BOOL);
    if (ratio != NULL)
        KILN_TRY(kiln_onnx_const_floats(cx, ratio, "ratio", &p, &n_ratio));
    if (n_ratio == 0 || p[0] != 0)
        return refuse_training(cx, "export with training_mode false");
    return keep_all(cx, n, KILN_BOOL);
}
