/* Importers of the normalisations.
 *
 *   BatchNormalization     6, 7, 9, 14, 15 (inference)
 *   InstanceNormalization  6, 22 (a group per channel)
 *   GroupNormalization     18 (factors per group), 21
 *   LayerNormalization     17
 *   RMSNormalization       23
 *   LRN                    1, 13
 */
#include <inttypes.h>

#include "compiler/frontend/onnx/onnx_internal.h"

/* given * momentum + now * (1 - momentum), as output i. */
static void set_running(kiln_compose *c, int i, kiln_value *given, kiln_value *now,
                        double momentum) {
    const kiln_dtype dtype = given->type.dtype;
    if (!kiln_onnx_wants(c->site, i))
        return;
    given = kiln_compose_cast(c, given, now->type.dtype);
    given = kiln_compose_scalar(c, &kiln_op_mul, given, momentum);
    now = kiln_compose_scalar(c, &kiln_op_mul, now, 1 - momentum);
    now = kiln_compose_2(c, &kiln_op_add, given, now);
    kiln_onnx_set(kiln_onnx_of(c->cx), c->site, i, kiln_compose_cast(c, now, dtype));
}

/* Training mode (14, 15): the moments are those of x itself, in f32 at least, and of
 * all elements of a channel, not one less. */
static kiln_status train(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                         kiln_value *const *in) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x = in[0];
    const kiln_type t = x->type;
    const kiln_dtype dtype = t.dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    const double momentum = kiln_onnx_attr_f(cx, n, "momentum", 0.9);
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes = 0;
    if (t.rank < 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'X' must have shape [N, C, ...], has rank %d",
                              t.rank);
    for (int i = 0; i < t.rank; i++)
        if (i != 1)
            axes[n_axes++] = i;
    x = kiln_compose_cast(&c, x, dtype);
    kiln_value *mean =
        kiln_compose_reduce(&c, &kiln_op_reduce_mean, x, axes, n_axes, true);
    kiln_value *away = kiln_compose_2(&c, &kiln_op_sub, x, mean);
    away = kiln_compose_2(&c, &kiln_op_mul, away, away);
    kiln_value *var =
        kiln_compose_reduce(&c, &kiln_op_reduce_mean, away, axes, n_axes, false);
    mean = kiln_compose_reshape(&c, mean, 1, t.dim + 1);
    kiln_value *const from[] = {in[0], in[1], in[2], mean, var};
    const kiln_attr_arg epsilon =
        kiln_arg_float("epsilon", kiln_onnx_attr_f(cx, n, "epsilon", 1e-5));
    kiln_onnx_set(cx, n, 0,
                  kiln_compose_op(&c, &kiln_op_batch_norm, from, 5, &epsilon, 1));
    set_running(&c, 1, in[3], mean, momentum);
    set_running(&c, 2, in[4], var, momentum);
    return c.status;
}

kiln_status kiln_onnx_import_batch_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const names[] = {"X", "scale", "B", "mean", "var"};
    kiln_value *in[5], *y;
    for (int i = 0; i < 5; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &in[i]));
    bool trains = kiln_onnx_attr_i(cx, n, "training_mode", 0) != 0;
    if (trains && kiln_onnx_version(cx) >= 14 && kiln_onnx_n_out(n) <= 3)
        return train(cx, n, in);
    for (int i = 1; i < kiln_onnx_n_out(n); i++)
        trains = trains || kiln_onnx_wants(n, i);
    if (kiln_onnx_version(cx) < 7)
        trains = trains || kiln_onnx_attr_i(cx, n, "is_test", 0) == 0;
    if (trains)
        return kiln_onnx_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "training mode of this opset, or moments as outputs of inference, are not "
            "read; export the model for inference, or with opset 14 or later");
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

/* The dtype that the moments of x have on the way. kiln takes f32 or, where x has more
 * digits, those of x; fewer are not imitated. */
static kiln_status check_stash(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const kiln_value *x) {
    kiln_dtype stash;
    KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "stash_type", 1), &stash,
                             kiln_onnx_err(cx)));
    if (stash == KILN_F32 || stash == x->type.dtype)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                          "attribute 'stash_type' must be f32 or the dtype of 'X', %s, "
                          "is %s; export with stash_type = 1",
                          kiln_dtype_name(x->type.dtype), kiln_dtype_name(stash));
}

kiln_status kiln_onnx_import_group_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3];
    KILN_TRY(need_channels(cx, n, in));
    if (kiln_onnx_version(cx) >= 21)
        KILN_TRY(check_stash(cx, n, in[0]));
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
    KILN_TRY(check_stash(cx, n, in[0]));
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
