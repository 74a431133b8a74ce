/* Families of random graphs: what goes over several elements of one value. */
#include "tests/support/random/random_graph_internal.h"

#include <string.h>

static int64_t draw_axis(maker *m, const kiln_value *x) {
    const int64_t axis = draw(m, 0, x->type.rank - 1);
    return one_in(m, 3) ? axis - x->type.rank : axis;
}

/* Greater than zero. */
static kiln_value *draw_variance(maker *m, kiln_dtype dtype, int64_t n) {
    const kiln_type t = kiln_type_make(dtype, 1, &n);
    const kiln_tensor x = kiln_tensor_new(m->g->arena, &t);
    kiln_wide w = kiln_wide_new(m->g->arena, &t);
    for (int64_t i = 0; i < n; i++)
        w.f[i] = 0.25 + kiln_rng_unit(&m->rng);
    kiln_narrow(&w, x.data);
    return kiln_graph_add_const(m->g, "var", &t, x.data);
}

static bool batch_norm(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 2, 5);
    const int64_t c = x->type.dim[1];
    const kiln_dtype d = x->type.dtype;
    kiln_value *in[5] = {x, draw_const(m, d, 1, &c, 1), draw_const(m, d, 1, &c, 1),
                         draw_const(m, d, 1, &c, 1), draw_variance(m, d, c)};
    return add_op(m, &kiln_op_batch_norm, in, 5, NULL, 0) != NULL;
}

static bool group_norm(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 3, 5);
    const int64_t c = x->type.dim[1], g = draw(m, 1, c);
    const kiln_dtype d = x->type.dtype;
    kiln_value *in[3] = {x, draw_operand(m, d, 1, &c, 1), draw_operand(m, d, 1, &c, 1)};
    const kiln_attr_arg args[] = {kiln_arg_int("groups", c % g == 0 ? g : 1),
                                  kiln_arg_float("epsilon", 0.01)};
    return add_op(m, &kiln_op_group_norm, in, 3, args, 2) != NULL;
}

static bool layer_norm(maker *m, bool is_rms) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 1, 4), *in[3] = {x};
    const int64_t axis = draw(m, 0, x->type.rank - 1);
    const kiln_dtype d = x->type.dtype;
    const int rank = x->type.rank - (int)axis;
    int n_in = 1;
    if (one_in(m, 2))
        in[n_in++] = draw_operand(m, d, rank, x->type.dim + axis, 1);
    if (n_in == 2 && !is_rms && one_in(m, 2))
        in[n_in++] = draw_operand(m, d, rank, x->type.dim + axis, 1);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_float("epsilon", 0.01)};
    return add_node(m, is_rms ? &kiln_op_rms_norm : &kiln_op_layer_norm, in, n_in,
                    is_rms ? 1 : (int)draw(m, 1, 3), args, 2) != NULL;
}

static bool response_norm(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 3, 4);
    const kiln_attr_arg args[] = {kiln_arg_int("size", draw(m, 1, 5)),
                                  kiln_arg_float("alpha", 0.25),
                                  kiln_arg_float("bias", 1.5)};
    return add_op(m, &kiln_op_lrn, &x, 1, args, 3) != NULL;
}

bool random_graph_norm(maker *m) {
    switch (draw(m, 0, 5)) {
    case 0:
    case 1:
        return batch_norm(m);
    case 2:
        return group_norm(m);
    case 3:
        return response_norm(m);
    case 4:
        return layer_norm(m, true);
    default:
        return layer_norm(m, false);
    }
}

bool random_graph_lanes(maker *m) {
    static const kiln_op_def *const ops[] = {&kiln_op_softmax, &kiln_op_softmax,
                                             &kiln_op_log_softmax, &kiln_op_hardmax};
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 1, 5);
    const kiln_attr_arg axis = kiln_arg_int("axis", draw_axis(m, x));
    return add_op(m, ops[draw(m, 0, 3)], &x, 1, &axis, 1) != NULL;
}

static const kiln_op_def *draw_reduction(maker *m) {
    for (;;) {
        const kiln_op_def *op = kiln_op_at((int)draw(m, 0, KILN_N_OPS - 1));
        if (strncmp(op->name, "reduce_", 7) == 0)
            return op;
    }
}

bool random_graph_reduction(maker *m) {
    const kiln_op_def *op = draw_reduction(m);
    kiln_value *x = draw_value(m, op->dtypes, 1, 5);
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (one_in(m, 2))
            axes[n++] = one_in(m, 4) ? i - x->type.rank : i;
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", axes, n),
                                  kiln_arg_bool("keepdims", one_in(m, 2))};
    if (add_op(m, op, &x, 1, args, 2) != NULL)
        return true;
    x = kiln_dtype_is_float(x->type.dtype) ? add_unary(m, &kiln_op_sigmoid, x) : NULL;
    return x != NULL && add_op(m, op, &x, 1, args, 2) != NULL;
}

bool random_graph_extreme(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_NUMBER, 1, 4);
    const int64_t axis = draw(m, 0, x->type.rank - 1);
    if (one_in(m, 2)) {
        const kiln_attr_arg args[] = {kiln_arg_int("k", draw(m, 1, x->type.dim[axis])),
                                      kiln_arg_int("axis", axis),
                                      kiln_arg_bool("largest", one_in(m, 2))};
        return add_node(m, &kiln_op_topk, &x, 1, 2, args, 3) != NULL;
    }
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", one_in(m, 2)),
                                  kiln_arg_bool("select_last_index", one_in(m, 2))};
    return add_op(m, one_in(m, 2) ? &kiln_op_argmax : &kiln_op_argmin, &x, 1, args,
                  3) != NULL;
}

bool random_graph_running(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_NUMBER, 1, 4);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", draw_axis(m, x)),
                                  kiln_arg_bool("exclusive", one_in(m, 3)),
                                  kiln_arg_bool("reverse", one_in(m, 3))};
    return add_op(m, one_in(m, 3) ? &kiln_op_cumprod : &kiln_op_cumsum, &x, 1, args,
                  3) != NULL;
}

/* Matrices with large diagonals: the others may have no determinant to speak of. */
bool random_graph_determinant(maker *m) {
    const int64_t n = draw(m, 1, 5), dim[3] = {draw(m, 1, 4), n, n};
    const int rank = one_in(m, 2) ? 2 : 3;
    const kiln_dtype d = kiln_dtype_is_float(m->dtype) ? m->dtype : KILN_F32;
    kiln_value *x = draw_operand(m, d, rank, dim + 3 - rank, 1);
    int64_t *eye = kiln_array(m->g->arena, int64_t, n * n);
    for (int64_t i = 0; i < n; i++)
        eye[i * n + i] = 2;
    kiln_value *i32 = const_ints(m, KILN_I32, 2, dim + 1, eye);
    kiln_value *in[2] = {x, add_cast(m, i32, d)};
    x = in[1] != NULL ? add_op(m, &kiln_op_add, in, 2, NULL, 0) : NULL;
    return x != NULL && add_unary(m, &kiln_op_det, x) != NULL;
}
