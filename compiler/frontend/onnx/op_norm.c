/* Importers of the normalisations.
 *
 *   BatchNormalization 6, 7, 9, 14, 15 (inference)   InstanceNormalization 6, 22 (a
 * group per channel) GroupNormalization 18 (factors per group), 21 LayerNormalization
 * 17, RMSNormalization 23 LRN 1, 13      LpNormalization 1, 22
 * MeanVarianceNormalization 9, 13
 */
#include <inttypes.h>

#include "compiler/frontend/onnx/onnx_internal.h"

kiln_status kiln_onnx_import_batch_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const names[] = {"X", "scale", "B", "mean", "var"};
    kiln_value *in[5], *y;
    for (int i = 0; i < 5; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &in[i]));
    bool trains = kiln_onnx_attr_i(cx, n, "training_mode", 0) != 0;
    for (int i = 1; i < kiln_onnx_n_out(n); i++)
        trains = trains || kiln_onnx_wants(n, i);
    if (trains)
        return kiln_onnx_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "training mode is not read; export the model for inference");
    if (kiln_onnx_attr_i(cx, n, "spatial", 1) == 0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "moments per position (spatial = 0) are not read; export "
                              "with opset 9 or later");
    const kiln_attr_arg epsilon =
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", 1e-5));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_batch_norm, in, 5, &epsilon, 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* x, scale and bias of channels, normalised in groups. */
static kiln_status group_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              kiln_value **in, int64_t groups) {
    kiln_value *y;
    const kiln_attr_arg args[] = {
        kiln_arg_int("groups", groups),
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", 1e-5)),
    };
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_group_norm, in, 3, args, 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

static kiln_status need_channels(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                 kiln_value **in) {
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "scale", &in[1]));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "bias", &in[2]));
    if (in[0]->type.rank < 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'X' must have shape [N, C, ...], has rank %d",
                              in[0]->type.rank);
    return KILN_OK;
}

kiln_status kiln_onnx_import_instance_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3];
    KILN_TRY(need_channels(cx, n, in));
    return group_norm(cx, n, in, in[0]->type.dim[1]);
}

/* GroupNormalization-18 has one factor per group: each is repeated for the group's
 * channels. */
static kiln_status per_channel(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               int64_t groups, int64_t channels, kiln_value **v) {
    if ((*v)->type.rank != 1 || (*v)->type.dim[0] != groups)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "scale and bias must have one element per group, %" PRId64, groups);
    const int64_t wide[] = {groups, channels / groups};
    const kiln_attr_arg shape = kiln_arg_ints("shape", wide, 2);
    KILN_TRY(kiln_onnx_reshape(cx, n, *v, 2, (int64_t[]){groups, 1}, v));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_expand, *v, &shape, 1, v));
    return kiln_onnx_reshape(cx, n, *v, 1, &channels, v);
}

kiln_status kiln_onnx_import_group_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3];
    KILN_TRY(need_channels(cx, n, in));
    const int64_t channels = in[0]->type.dim[1];
    const int64_t groups = kiln_onnx_attr_i(cx, n, "num_groups", 0);
    if (groups < 1 || channels % groups != 0)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "attribute 'num_groups' must be >= 1 and divide the %" PRId64
            " channels, is %" PRId64,
            channels, groups);
    for (int i = 1; kiln_onnx_version(cx) < 21 && i < 3; i++)
        KILN_TRY(per_channel(cx, n, groups, channels, &in[i]));
    return group_norm(cx, n, in, groups);
}

kiln_status kiln_onnx_import_layer_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3], *out[3];
    kiln_dtype stash;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "Scale", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "stash_type", 1), &stash,
                             kiln_onnx_err(cx)));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", -1)),
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", 1e-5)),
        kiln_arg_dtype("stash", stash),
    };
    const int n_out = kiln_onnx_wants(n, 2) ? 3 : kiln_onnx_wants(n, 1) ? 2 : 1;
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_layer_norm, in, 3, args, 3, n_out, out));
    for (int i = 0; i < n_out; i++)
        kiln_onnx_set(cx, n, i, out[i]);
    return KILN_OK;
}

kiln_status kiln_onnx_import_rms_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[2], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "scale", &in[1]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", -1)),
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", 1e-5)),
    };
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_rms_norm, in, 2, args, 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_lrn(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    const kiln_attr_arg args[] = {
        kiln_arg_int("size", kiln_onnx_attr_i(cx, n, "size", 0)),
        kiln_arg_float("alpha", kiln_onnx_attr_f(cx, n, "alpha", 1e-4)),
        kiln_arg_float("beta", kiln_onnx_attr_f(cx, n, "beta", 0.75)),
        kiln_arg_float("bias", kiln_onnx_attr_f(cx, n, "bias", 1.0)),
    };
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_lrn, x, args, 4, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* x / norm(x) along one axis. */
kiln_status kiln_onnx_import_lp_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *norm, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int64_t axis = kiln_onnx_attr_i(cx, n, "axis", -1);
    const int64_t p = kiln_onnx_attr_i(cx, n, "p", 2);
    if (p != 1 && p != 2)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'p' must be 1 or 2, is %" PRId64, p);
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", &axis, 1),
                                  kiln_arg_bool("keepdims", true)};
    KILN_TRY(kiln_onnx_emit1(cx, n, p == 1 ? &kiln_op_reduce_l1 : &kiln_op_reduce_l2, x,
                             args, 2, &norm));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, x, norm, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* (x - mean) / (sqrt(var) + 1e-9): the function body of MeanVarianceNormalization-13,
 * with the variance as the mean of squared differences, which does not cancel. */
kiln_status kiln_onnx_import_mean_variance_norm(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    static const int64_t usual[] = {0, 2, 3};
    kiln_value *x, *mean, *diff, *squares, *var, *spread, *y;
    const int64_t *axes;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (axes == NULL) {
        axes = usual;
        n_axes = 3;
    }
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", axes, n_axes),
                                  kiln_arg_bool("keepdims", true)};
    kiln_value *tiny = kiln_onnx_scalar(cx, x->type.dtype, 1e-9);
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_reduce_mean, x, args, 2, &mean));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_sub, x, mean, &diff));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_mul, diff, diff, &squares));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_reduce_mean, squares, args, 2, &var));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_sqrt, var, NULL, 0, &spread));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_add, spread, tiny, &spread));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, diff, spread, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
