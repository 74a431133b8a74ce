/* Importers of operations that work element by element, along axes, or by matrix
 * products. Source: coremltools, converters/mil/mil/ops/defs/iOS15. */
#include <math.h>

#include "compiler/frontend/mlprogram/mil.h"

kiln_status kiln_mil_import_unary(kiln_mil_call *k) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    return kiln_mil_end(k, kiln_compose_1(&k->c, k->row->op, x));
}

kiln_status kiln_mil_import_identity(kiln_mil_call *k) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    return kiln_mil_set(k, 0, x);
}

kiln_status kiln_mil_import_binary(kiln_mil_call *k) {
    kiln_value *x, *y;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_need(k, "y", &y));
    return kiln_mil_end(k, kiln_compose_2(&k->c, k->row->op, x, y));
}

/* One number that shapes an activation. */
kiln_status kiln_mil_import_alpha(kiln_mil_call *k) {
    kiln_value *x;
    double alpha = 0;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_float(k, "alpha", &alpha));
    const kiln_attr_arg arg = kiln_arg_float("alpha", alpha);
    return kiln_mil_end(k, kiln_compose_op(&k->c, k->row->op, &x, 1, &arg, 1));
}

static kiln_status clip(kiln_mil_call *k, double low, double high) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    const kiln_attr_arg args[] = {kiln_arg_float("min", low),
                                  kiln_arg_float("max", high)};
    return kiln_mil_end(k, kiln_compose_op(&k->c, &kiln_op_clip, &x, 1, args, 2));
}

kiln_status kiln_mil_import_clip(kiln_mil_call *k) {
    double low = -HUGE_VAL, high = HUGE_VAL;
    KILN_TRY(kiln_mil_float(k, "alpha", &low));
    KILN_TRY(kiln_mil_float(k, "beta", &high));
    return clip(k, low, high);
}

kiln_status kiln_mil_import_relu6(kiln_mil_call *k) { return clip(k, 0, 6); }

kiln_status kiln_mil_import_sigmoid_hard(kiln_mil_call *k) {
    kiln_value *x;
    double alpha = 0.2, beta = 0.5;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_float(k, "alpha", &alpha));
    KILN_TRY(kiln_mil_float(k, "beta", &beta));
    const kiln_attr_arg args[] = {kiln_arg_float("alpha", alpha),
                                  kiln_arg_float("beta", beta)};
    return kiln_mil_end(k,
                        kiln_compose_op(&k->c, &kiln_op_hard_sigmoid, &x, 1, args, 2));
}

kiln_status kiln_mil_import_silu(kiln_mil_call *k) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    kiln_value *const gate = kiln_compose_1(&k->c, &kiln_op_sigmoid, x);
    return kiln_mil_end(k, kiln_compose_2(&k->c, &kiln_op_mul, x, gate));
}

kiln_status kiln_mil_import_square(kiln_mil_call *k) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    return kiln_mil_end(k, kiln_compose_2(&k->c, &kiln_op_mul, x, x));
}

kiln_status kiln_mil_import_gelu(kiln_mil_call *k) {
    kiln_value *x;
    kiln_str mode = KILN_STR_LIT("EXACT");
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_word(k, "mode", &mode));
    if (kiln_str_is(mode, "SIGMOID_APPROXIMATION")) {
        kiln_value *const gate =
            kiln_compose_1(&k->c, &kiln_op_sigmoid,
                           kiln_compose_scalar(&k->c, &kiln_op_mul, x, 1.702));
        return kiln_mil_end(k, kiln_compose_2(&k->c, &kiln_op_mul, x, gate));
    }
    const bool is_tanh = kiln_str_is(mode, "TANH_APPROXIMATION");
    if (!is_tanh && !kiln_str_is(mode, "EXACT"))
        return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED, "this 'mode' is not read");
    const kiln_attr_arg arg = kiln_arg_word("approximate", is_tanh ? "tanh" : "none");
    return kiln_mil_end(k, kiln_compose_op(&k->c, &kiln_op_gelu, &x, 1, &arg, 1));
}

/* x + epsilon, by default 1e-12 or, for logarithms, 1e-45. */
static kiln_status with_epsilon(kiln_mil_call *k, double epsilon,
                                const kiln_op_def *op) {
    kiln_value *x;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_float(k, "epsilon", &epsilon));
    x = kiln_compose_scalar(&k->c, &kiln_op_add, x, epsilon);
    return kiln_mil_end(k, kiln_compose_1(&k->c, op, x));
}

kiln_status kiln_mil_import_rsqrt(kiln_mil_call *k) {
    return with_epsilon(k, 1e-12, &kiln_op_rsqrt);
}

kiln_status kiln_mil_import_log(kiln_mil_call *k) {
    return with_epsilon(k, 1e-45, &kiln_op_log);
}

kiln_status kiln_mil_import_cast(kiln_mil_call *k) {
    static const struct {
        const char *word;
        kiln_dtype dtype;
    } words[] = {{"fp16", KILN_F16},  {"fp32", KILN_F32},   {"int32", KILN_I32},
                 {"bool", KILN_BOOL}, {"int8", KILN_I8},    {"uint8", KILN_U8},
                 {"int16", KILN_I16}, {"uint16", KILN_U16}, {"fp64", KILN_F64},
                 {"int64", KILN_I64}};
    kiln_value *x;
    kiln_str dtype = {NULL, 0};
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_word(k, "dtype", &dtype));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (kiln_str_is(dtype, words[i].word))
            return kiln_mil_end(k, kiln_compose_cast(&k->c, x, words[i].dtype));
    return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED, "a cast to '%s' is not read",
                         kiln_import_show(&k->cx->common, dtype));
}

/* ---- along axes ------------------------------------------------------------------- */

kiln_status kiln_mil_import_reduce(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *axes;
    size_t n;
    bool keeps = false;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "axes", &axes, &n));
    KILN_TRY(kiln_mil_bool(k, "keep_dims", &keeps));
    return kiln_mil_end(k, kiln_compose_reduce(&k->c, k->row->op, x, axes, n, keeps));
}

static kiln_status read_axis(kiln_mil_call *k, const char *name, int64_t otherwise,
                             int rank, int *out) {
    int64_t axis = otherwise;
    KILN_TRY(kiln_mil_int(k, name, &axis));
    return kiln_axis_normalize(axis, rank, out, k->cx->common.err);
}

kiln_status kiln_mil_import_softmax(kiln_mil_call *k) {
    kiln_value *x;
    int axis;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(read_axis(k, "axis", -1, x->type.rank, &axis));
    return kiln_mil_end(k, kiln_compose_axis(&k->c, &kiln_op_softmax, x, NULL, axis));
}

/* gamma and beta have the shape of the axes, which are the last ones. */
kiln_status kiln_mil_import_layer_norm(kiln_mil_call *k) {
    kiln_value *in[3];
    const int64_t *axes;
    size_t n;
    double epsilon = 1e-5;
    KILN_TRY(kiln_mil_need(k, "x", &in[0]));
    KILN_TRY(kiln_mil_get(k, "gamma", &in[1]));
    KILN_TRY(kiln_mil_get(k, "beta", &in[2]));
    KILN_TRY(kiln_mil_ints(k, "axes", &axes, &n));
    KILN_TRY(kiln_mil_float(k, "epsilon", &epsilon));
    const int rank = in[0]->type.rank;
    if (n == 0 || n > (size_t)rank)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "'axes' must be 1 to %d axes", rank);
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], rank, &axis, k->cx->common.err));
        if (axis != rank - (int)n + (int)i)
            return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED,
                                 "'axes' must be the last ones, in their order");
    }
    const int64_t *const dim = in[0]->type.dim + rank - n;
    for (int i = 1; i < 3; i++)
        if (in[i] == NULL)
            in[i] = kiln_compose_expand(
                &k->c,
                kiln_import_scalar(&k->cx->common, in[0]->type.dtype, i == 1 ? 1 : 0),
                (int)n, dim);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", -(int64_t)n),
                                  kiln_arg_float("epsilon", epsilon)};
    return kiln_mil_end(k, kiln_compose_op(&k->c, &kiln_op_layer_norm, in, 3, args, 2));
}

kiln_status kiln_mil_import_batch_norm(kiln_mil_call *k) {
    kiln_value *in[5];
    double epsilon = 1e-5;
    KILN_TRY(kiln_mil_need(k, "x", &in[0]));
    KILN_TRY(kiln_mil_get(k, "gamma", &in[1]));
    KILN_TRY(kiln_mil_get(k, "beta", &in[2]));
    KILN_TRY(kiln_mil_need(k, "mean", &in[3]));
    KILN_TRY(kiln_mil_need(k, "variance", &in[4]));
    KILN_TRY(kiln_mil_float(k, "epsilon", &epsilon));
    for (int i = 1; i < 3; i++)
        if (in[i] == NULL)
            in[i] = kiln_compose_expand(
                &k->c,
                kiln_import_scalar(&k->cx->common, in[0]->type.dtype, i == 1 ? 1 : 0),
                in[3]->type.rank, in[3]->type.dim);
    const kiln_attr_arg arg = kiln_arg_float("epsilon", epsilon);
    return kiln_mil_end(k, kiln_compose_op(&k->c, &kiln_op_batch_norm, in, 5, &arg, 1));
}

/* ---- products --------------------------------------------------------------------- */

static kiln_value *turned(kiln_mil_call *k, kiln_value *x, bool is_turned) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    if (!is_turned || rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return kiln_compose_transpose(&k->c, x, perm);
}

kiln_status kiln_mil_import_matmul(kiln_mil_call *k) {
    kiln_value *x, *y;
    bool turns_x = false, turns_y = false;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_need(k, "y", &y));
    KILN_TRY(kiln_mil_bool(k, "transpose_x", &turns_x));
    KILN_TRY(kiln_mil_bool(k, "transpose_y", &turns_y));
    return kiln_mil_end(k, kiln_compose_2(&k->c, &kiln_op_matmul, turned(k, x, turns_x),
                                          turned(k, y, turns_y)));
}

/* x [..., in], weight [out, in]. */
kiln_status kiln_mil_import_linear(kiln_mil_call *k) {
    kiln_value *x, *w, *bias;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_need(k, "weight", &w));
    KILN_TRY(kiln_mil_get(k, "bias", &bias));
    if (x->type.rank < 1 || w->type.rank != 2)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'weight' must be a matrix");
    if (x->type.rank == 2) {
        kiln_value *const in[] = {x, w, bias};
        const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
        return kiln_mil_end(k, kiln_compose_op(&k->c, &kiln_op_gemm, in, 3, &arg, 1));
    }
    x = kiln_compose_2(&k->c, &kiln_op_matmul, x, turned(k, w, true));
    return kiln_mil_end(k, bias != NULL ? kiln_compose_2(&k->c, &kiln_op_add, x, bias)
                                        : x);
}
