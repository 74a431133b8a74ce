/* Operators that scale: BatchNorm, InstanceNorm, LayerNorm, GroupNorm, L2Normalization,
 * LRN, and the softmaxes. Source: apache/mxnet 1.9, src/operator/nn, l2_normalization.cc,
 * softmax_output-inl.h. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

/* Each of in[first, last) must be a list of as many as the axis has. */
static kiln_status check_lists(kiln_mx_cx *cx, kiln_value *const *in, int first,
                               int last, int64_t size) {
    for (int i = first; i < last; i++)
        if (in[i]->type.rank != 1 || in[i]->type.dim[0] != size)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "input %d must have shape [%" PRId64 "], has %s", i, size,
                             kiln_mx_shape(cx, in[i]));
    return KILN_OK;
}

/* A list along one axis, for values of this rank. */
static kiln_value *along(kiln_compose *c, kiln_value *v, int rank, int axis) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? v->type.dim[0] : 1;
    return c->status == KILN_OK ? kiln_compose_reshape(c, v, rank, dim) : v;
}

static kiln_value *ones(kiln_compose *c, kiln_dtype dtype, int64_t size) {
    kiln_value *const one = kiln_import_scalar(c->cx, dtype, 1);
    return kiln_compose_expand(c, one, 1, &size);
}

/* fix_gamma, MXNet's default: whatever gamma holds, it is 1. */
IMPORTER(batch_norm) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const double eps = kiln_mx_float(cx, n, "eps", 1e-3);
    const bool is_fixed = kiln_mx_bool(cx, n, "fix_gamma", true);
    const int64_t given = kiln_mx_int(cx, n, "axis", 1);
    int axis;
    (void)kiln_mx_bool(cx, n, "use_global_stats", false); /* inference always does */
    (void)kiln_mx_text(cx, n, "ndev"); /* of SyncBatchNorm: who trains together */
    (void)kiln_mx_text(cx, n, "key");
    (void)kiln_mx_bool(cx, n, "output_mean_var", false); /* who reads them is refused */
    KILN_TRY(kiln_mx_axis(cx, "axis", given, in[0]->type.rank, &axis));
    KILN_TRY(check_lists(cx, in, 1, 5, in[0]->type.dim[axis]));
    kiln_value *from[] = {in[0], in[1], in[2], in[3], in[4]};
    if (is_fixed)
        from[1] = ones(&c, in[1]->type.dtype, in[1]->type.dim[0]);
    if (axis == 1) {
        const kiln_attr_arg epsilon = kiln_arg_float("epsilon", eps);
        out->v[0] = kiln_compose_op(&c, &kiln_op_batch_norm, from, 5, &epsilon, 1);
        return c.status;
    }
    const int rank = in[0]->type.rank;
    kiln_value *by = kiln_compose_scalar(&c, &kiln_op_add, from[4], eps);
    by = kiln_compose_2(&c, &kiln_op_mul, kiln_compose_1(&c, &kiln_op_rsqrt, by),
                        from[1]);
    kiln_value *y =
        kiln_compose_2(&c, &kiln_op_sub, in[0], along(&c, from[3], rank, axis));
    y = kiln_compose_2(&c, &kiln_op_mul, y, along(&c, by, rank, axis));
    out->v[0] = kiln_compose_2(&c, &kiln_op_add, y, along(&c, from[2], rank, axis));
    return c.status;
}

static kiln_status in_groups(kiln_mx_cx *cx, const kiln_mx_node *n,
                             kiln_value *const *in, int64_t groups, double eps,
                             kiln_value **out) {
    kiln_compose c = kiln_mx_compose(cx, n);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 3));
    const int64_t channels = in[0]->type.dim[1];
    KILN_TRY(check_lists(cx, in, 1, 3, channels));
    if (groups < 1 || channels % groups != 0)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "%" PRId64 " groups must divide the %" PRId64 " channels",
                         groups, channels);
    const kiln_attr_arg args[] = {kiln_arg_int("groups", groups),
                                  kiln_arg_float("epsilon", eps)};
    *out = kiln_compose_op(&c, &kiln_op_group_norm, in, 3, args, 2);
    return c.status;
}

IMPORTER(instance_norm) {
    const double eps = kiln_mx_float(cx, n, "eps", 1e-3);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 3));
    return in_groups(cx, n, in, in[0]->type.dim[1], eps, &out->v[0]);
}

IMPORTER(group_norm) {
    const double eps = kiln_mx_float(cx, n, "eps", 1e-5);
    (void)kiln_mx_bool(cx, n, "output_mean_var", false);
    return in_groups(cx, n, in, kiln_mx_int(cx, n, "num_groups", 1), eps, &out->v[0]);
}

/* Over one axis, which need not be the last. */
IMPORTER(layer_norm) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const double eps = kiln_mx_float(cx, n, "eps", 1e-5);
    const int64_t given = kiln_mx_int(cx, n, "axis", -1);
    const int rank = in[0]->type.rank;
    int axis;
    (void)kiln_mx_bool(cx, n, "output_mean_var", false);
    KILN_TRY(kiln_mx_axis(cx, "axis", given, rank, &axis));
    KILN_TRY(check_lists(cx, in, 1, 3, in[0]->type.dim[axis]));
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    const kiln_attr_arg args[] = {kiln_arg_int("axis", -1),
                                  kiln_arg_float("epsilon", eps)};
    kiln_value *const from[] = {kiln_compose_transpose(&c, in[0], perm), in[1], in[2]};
    kiln_value *const y = kiln_compose_op(&c, &kiln_op_layer_norm, from, 3, args, 2);
    out->v[0] = kiln_compose_transpose(&c, y, perm);
    return c.status;
}

/* x / sqrt(sum of squares + eps) */
IMPORTER(l2_normalization) {
    static const char *const modes[] = {"instance", "channel", "spatial", NULL};
    enum { INSTANCE, CHANNEL };
    kiln_compose c = kiln_mx_compose(cx, n);
    const double eps = kiln_mx_float(cx, n, "eps", 1e-10);
    const int mode = kiln_mx_word(cx, n, "mode", modes);
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes = 0;
    KILN_TRY(kiln_mx_need_rank(cx, in[0], mode == INSTANCE ? 2 : 3));
    const int first = mode == INSTANCE || mode == CHANNEL ? 1 : 2;
    const int last = mode == CHANNEL ? 2 : in[0]->type.rank;
    for (int i = first; i < last; i++)
        axes[n_axes++] = i;
    kiln_value *y = kiln_compose_2(&c, &kiln_op_mul, in[0], in[0]);
    y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, axes, n_axes, true);
    y = kiln_compose_scalar(&c, &kiln_op_add, y, eps);
    y = kiln_compose_1(&c, &kiln_op_sqrt, y);
    out->v[0] = kiln_compose_2(&c, &kiln_op_div, in[0], y);
    return c.status;
}

IMPORTER(lrn) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t size = kiln_mx_int(cx, n, "nsize", 0);
    const kiln_attr_arg args[] = {
        kiln_arg_int("size", size),
        kiln_arg_float("alpha", kiln_mx_float(cx, n, "alpha", 1e-4)),
        kiln_arg_float("beta", kiln_mx_float(cx, n, "beta", 0.75)),
        kiln_arg_float("bias", kiln_mx_float(cx, n, "knorm", 2)),
    };
    if (size < 1 || size % 2 == 0 || size > INT32_MAX)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute 'nsize' must be odd and 1 or more, is %" PRId64,
                         size);
    out->v[0] = kiln_compose_op(&c, &kiln_op_lrn, in, 1, args, 4);
    return c.status;
}

/* ---- softmax --------------------------------------------------------------------- */

IMPORTER(softmax) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "axis", -1);
    const double temperature = kiln_mx_float(cx, n, "temperature", 1);
    const char *const dtype = kiln_mx_text(cx, n, "dtype");
    kiln_value *x = in[0];
    int axis;
    if (kiln_mx_bool(cx, n, "use_length", false) || n->n_in > 1)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "lengths ('use_length') are not read");
    if (dtype != NULL && !kiln_str_is(kiln_str_from(dtype), "float32"))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "attribute 'dtype' must be float32 or None, is '%s'",
                         kiln_import_show(&cx->common, kiln_str_from(dtype)));
    KILN_TRY(kiln_mx_axis(cx, "axis", given, x->type.rank, &axis));
    if (temperature != 1)
        x = kiln_compose_scalar(&c, &kiln_op_div, x, temperature);
    out->v[0] = kiln_compose_axis(&c, cx->row->emits, x, NULL, axis);
    return c.status;
}

/* Over all axes but the first, as one. */
static kiln_value *flat_softmax(kiln_compose *c, kiln_value *x) {
    const kiln_type t = x->type;
    int64_t flat[] = {t.dim[0], 1};
    for (int i = 1; i < t.rank; i++)
        flat[1] *= t.dim[i];
    kiln_value *y = kiln_compose_reshape(c, x, 2, flat);
    y = kiln_compose_axis(c, &kiln_op_softmax, y, NULL, 1);
    return kiln_compose_reshape(c, y, t.rank, t.dim);
}

IMPORTER(softmax_output) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const bool is_multi = kiln_mx_bool(cx, n, "multi_output", false);
    const bool keeps = kiln_mx_bool(cx, n, "preserve_shape", false);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], is_multi ? 2 : 1));
    const int last = in[0]->type.rank - 1;
    out->v[0] =
        is_multi || keeps || last <= 1
            ? kiln_compose_axis(&c, &kiln_op_softmax, in[0], NULL, is_multi ? 1 : last)
            : flat_softmax(&c, in[0]);
    return c.status;
}

IMPORTER(softmax_activation) {
    static const char *const modes[] = {"instance", "channel", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const bool by_channel = kiln_mx_word(cx, n, "mode", modes) == 1;
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 2));
    out->v[0] = by_channel ? kiln_compose_axis(&c, &kiln_op_softmax, in[0], NULL, 1)
                           : flat_softmax(&c, in[0]);
    return c.status;
}
