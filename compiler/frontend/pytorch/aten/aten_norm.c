/* Makers of normalisations and softmax. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

/* One number for each of n, the same. */
static kiln_value *all_of(kiln_aten_args *k, kiln_dtype d, int64_t n, double v) {
    kiln_value *const one = kiln_import_scalar(k->c.cx, d, v);
    return kiln_compose_expand(&k->c, one, 1, &n);
}

static kiln_value *or_all(kiln_aten_args *k, const char *name, const kiln_value *x,
                          int64_t n, double v) {
    kiln_value *const given = kiln_aten_optional(k, name);
    return given != NULL ? given : all_of(k, x->type.dtype, n, v);
}

/* The first value, and nobody's yet behind it. */
static kiln_status give_first(kiln_aten_args *k, kiln_value *y, int n_out) {
    KILN_TRY(kiln_aten_give(k, y));
    for (int i = 1; i < n_out; i++)
        KILN_TRY(kiln_aten_give_value(k, kiln_aten_none()));
    return k->c.status;
}

static kiln_status give_batch_norm(kiln_aten_args *k, int n_out) {
    kiln_value *const x = kiln_aten_tensor(k, "input");
    if (!kiln_aten_need_rank(k, x, 2, KILN_MAX_RANK))
        return k->c.status;
    const int64_t n = x->type.dim[1];
    if (kiln_aten_is_none(k, "running_mean") || kiln_aten_is_none(k, "running_var")) {
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: a batch norm without running statistics takes those of "
                       "the batch, which is not read",
                       k->row->name);
        return k->c.status;
    }
    kiln_value *const in[] = {
        x, or_all(k, "weight", x, n, 1), or_all(k, "bias", x, n, 0),
        kiln_aten_tensor(k, "running_mean"), kiln_aten_tensor(k, "running_var")};
    const kiln_attr_arg arg = kiln_arg_float("epsilon", kiln_aten_float(k, "eps"));
    return give_first(k, kiln_compose_op(&k->c, &kiln_op_batch_norm, in, 5, &arg, 1),
                      n_out);
}

/* Rows of aten with a switch for training leave it off, or are refused. */
kiln_status kiln_aten_make_batch_norm(kiln_aten_args *k) {
    if (kiln_aten_bool(k, "training")) {
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: the model was saved in training; call model.eval() before "
                       "it is exported",
                       k->row->name);
        return k->c.status;
    }
    return give_batch_norm(k, 3);
}

kiln_status kiln_aten_make_batch_norm_inference(kiln_aten_args *k) {
    return give_batch_norm(k, 3);
}

/* The last axes of x, as many as "normalized_shape" has. */
static int norm_axis(kiln_aten_args *k, const kiln_value *x) {
    int64_t dim[KILN_MAX_RANK];
    const int n = (int)kiln_aten_ints(k, "normalized_shape", dim, KILN_MAX_RANK);
    const int first = x->type.rank - n;
    bool fits = n >= 1 && first >= 0;
    for (int i = 0; fits && i < n; i++)
        fits = x->type.dim[first + i] == dim[i];
    if (!fits && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: 'normalized_shape' does not end %s",
                       k->row->name, kiln_type_text(&k->c.cx->scratch, &x->type));
    return first;
}

kiln_status kiln_aten_make_layer_norm(kiln_aten_args *k) {
    kiln_value *in[] = {kiln_aten_tensor(k, "input"), kiln_aten_optional(k, "weight"),
                        kiln_aten_optional(k, "bias")};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", norm_axis(k, in[0])),
                                  kiln_arg_float("epsilon", kiln_aten_float(k, "eps"))};
    KILN_TRY(k->c.status);
    return give_first(k, kiln_compose_op(&k->c, &kiln_op_layer_norm, in, 3, args, 2),
                      3);
}

kiln_status kiln_aten_make_rms_norm(kiln_aten_args *k) {
    static const double f32_epsilon = 0x1p-23, f64_epsilon = 0x1p-52;
    kiln_value *in[] = {kiln_aten_tensor(k, "input"), kiln_aten_optional(k, "weight")};
    const double eps = !kiln_aten_is_none(k, "eps")    ? kiln_aten_float(k, "eps")
                       : in[0]->type.dtype == KILN_F64 ? f64_epsilon
                                                       : f32_epsilon;
    const kiln_attr_arg args[] = {kiln_arg_int("axis", norm_axis(k, in[0])),
                                  kiln_arg_float("epsilon", eps)};
    KILN_TRY(k->c.status);
    return give_first(k, kiln_compose_op(&k->c, &kiln_op_rms_norm, in, 2, args, 2), 2);
}

static kiln_status give_group_norm(kiln_aten_args *k, int64_t groups, int n_out) {
    kiln_value *const x = kiln_aten_tensor(k, "input");
    if (!kiln_aten_need_rank(k, x, 2, KILN_MAX_RANK))
        return k->c.status;
    const int64_t n = x->type.dim[1];
    kiln_value *const in[] = {x, or_all(k, "weight", x, n, 1),
                              or_all(k, "bias", x, n, 0)};
    const kiln_attr_arg args[] = {kiln_arg_int("groups", groups > 0 ? groups : n),
                                  kiln_arg_float("epsilon", kiln_aten_float(k, "eps"))};
    return give_first(k, kiln_compose_op(&k->c, &kiln_op_group_norm, in, 3, args, 2),
                      n_out);
}

kiln_status kiln_aten_make_group_norm(kiln_aten_args *k) {
    return give_group_norm(k, kiln_aten_int(k, "num_groups"), 3);
}

/* Each channel of each image by itself, unless it has running statistics. */
kiln_status kiln_aten_make_instance_norm(kiln_aten_args *k) {
    if (!kiln_aten_bool(k, "use_input_stats"))
        return give_batch_norm(k, 1);
    kiln_aten_get(k, "running_mean"); /* trained only */
    kiln_aten_get(k, "running_var");
    return give_group_norm(k, 0, 1);
}

/* v scaled to the length g along an axis: v * g / |v|, the norm over all other axes. */
kiln_status kiln_aten_make_weight_norm(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const v = kiln_aten_tensor(k, "v"), *const g = kiln_aten_tensor(k, "g");
    const int axis = kiln_aten_axis(k, "dim", v->type.rank);
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    for (int i = 0; i < v->type.rank; i++)
        if (i != axis)
            axes[n++] = i;
    if (!kiln_aten_need_rank(k, v, 2, KILN_MAX_RANK))
        return c->status;
    kiln_value *const norm =
        kiln_compose_reduce(c, &kiln_op_reduce_l2, v, axes, n, true);
    kiln_value *const y = kiln_compose_2(c, &kiln_op_div, g, norm);
    return give_first(k, kiln_compose_2(c, &kiln_op_mul, v, y), 2);
}

/* ---- softmax ---------------------------------------------------------------------- */

/* In the dtype asked for. */
kiln_status kiln_aten_make_softmax(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    x = kiln_compose_cast(&k->c, x, kiln_aten_dtype(k, "dtype", x->type.dtype));
    x = kiln_aten_real(k, x);
    if (x->type.rank == 0)
        x = kiln_compose_reshape(&k->c, x, 1, (int64_t[]){1});
    const int rank = x->type.rank, axis = kiln_aten_axis(k, "dim", rank);
    return kiln_aten_give(k, kiln_compose_axis(&k->c, k->row->op, x, NULL, axis));
}
