/* Families of random graphs: element by element. */
#include "tests/support/random/random_graph_internal.h"

#include <string.h>

enum { MAX_ARGS = 8 };

static bool is_map(const kiln_op_def *op, int n_in) {
    const bool has_meaning =
        n_in == 1 ? op->f1 != NULL || op->i1 != NULL : op->f2 != NULL || op->i2 != NULL;
    return has_meaning && op->n_in_max == n_in && op->fuse == KILN_FUSE_INJECTIVE;
}

/* Often one of those that networks are made of. */
static const kiln_op_def *draw_map(maker *m, int n_in) {
    static const kiln_op_def *const unary[] = {
        &kiln_op_relu, &kiln_op_relu,       &kiln_op_sigmoid, &kiln_op_tanh,
        &kiln_op_gelu, &kiln_op_hard_swish, &kiln_op_clip,    &kiln_op_neg};
    static const kiln_op_def *const binary[] = {&kiln_op_add, &kiln_op_add,
                                                &kiln_op_mul, &kiln_op_sub};
    if (one_in(m, 3))
        return n_in == 1 ? unary[draw(m, 0, 7)] : binary[draw(m, 0, 3)];
    for (;;) {
        const kiln_op_def *op = kiln_op_at((int)draw(m, 0, KILN_N_OPS - 1));
        if (is_map(op, n_in))
            return op;
    }
}

/* Into (0, 1), or into [1.5, ...): where operators are defined that are not
 * everywhere. */
static kiln_value *into_domain(maker *m, kiln_value *x, int kind) {
    if (x == NULL || !kiln_dtype_is_float(x->type.dtype) || kind == 0)
        return x;
    if (kind == 1)
        return add_unary(m, &kiln_op_sigmoid, x);
    kiln_value *y = add_unary(m, &kiln_op_abs, x);
    if (y == NULL)
        return NULL;
    kiln_value *in[2] = {y, kiln_graph_const_scalar(m->g, "shift", x->type.dtype, 1.5)};
    return add_op(m, &kiln_op_add, in, 2, NULL, 0);
}

bool random_graph_unary(maker *m) {
    kiln_attr_arg args[MAX_ARGS];
    const kiln_op_def *op = draw_map(m, 1);
    kiln_value *x = draw_value(m, op->dtypes, 0, 5);
    const size_t n = draw_attrs(m, op, args);
    for (int kind = 0; kind < 3; kind++) {
        kiln_value *in = into_domain(m, x, kind);
        if (in != NULL && add_op(m, op, &in, 1, args, n) != NULL)
            return true;
    }
    return false;
}

/* What goes with x: an old value, itself, a scalar, a row, a column or an image's
 * channels, as a constant or an input. */
static kiln_value *draw_other(maker *m, kiln_value *x, kiln_dtype dtype) {
    int64_t dim[KILN_MAX_RANK] = {0};
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++)
        dim[i] = x->type.dim[i];
    const int64_t kind = draw(m, 0, 6);
    if (kind == 0 && x->type.dtype == dtype)
        return x;
    if (kind < 3)
        return draw_operand(m, dtype, rank, dim, 1);
    if (kind == 3)
        return draw_const(m, dtype, 0, NULL, 1);
    if (kind == 4 && rank > 0)
        return draw_operand(m, dtype, 1, &dim[rank - 1], 1);
    for (int i = 0; i < rank; i++)
        if (kind == 5 ? i != 1 : one_in(m, 2))
            dim[i] = 1;
    return draw_operand(m, dtype, rank, dim, 1);
}

bool random_graph_binary(maker *m) {
    kiln_attr_arg args[MAX_ARGS];
    const kiln_op_def *op = draw_map(m, 2);
    kiln_value *x = draw_value(m, op->dtypes, 0, 5);
    kiln_value *y = draw_other(m, x, x->type.dtype);
    const size_t n = draw_attrs(m, op, args);
    const bool is_turned = one_in(m, 3);
    for (int kind = 0; kind < 3; kind++) {
        kiln_value *z = into_domain(m, y, kind);
        kiln_value *in[2] = {is_turned ? z : x, is_turned ? x : z};
        if (z != NULL && add_op(m, op, in, 2, args, n) != NULL)
            return true;
    }
    return false;
}

bool random_graph_choice(maker *m) {
    static const kiln_op_def *const compare[] = {&kiln_op_less, &kiln_op_greater_equal,
                                                 &kiln_op_equal};
    kiln_value *x = draw_value(m, KILN_DT_NUMBER, 0, 5);
    kiln_value *y = draw_other(m, x, x->type.dtype), *cond = NULL;
    if (one_in(m, 2)) {
        kiln_value *in[2] = {x, draw_other(m, x, x->type.dtype)};
        cond = add_op(m, compare[draw(m, 0, 2)], in, 2, NULL, 0);
    }
    if (cond == NULL)
        cond = draw_other(m, x, KILN_BOOL);
    kiln_value *in[3] = {cond, x, y};
    if (one_in(m, 3)) {
        in[1] = y;
        in[2] = x;
    }
    return add_op(m, &kiln_op_where, in, 3, NULL, 0) != NULL;
}

bool random_graph_casting(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_ANY, 0, 5);
    static const kiln_dtype floats[] = {KILN_F32, KILN_F16, KILN_BF16, KILN_F64};
    const kiln_dtype to = one_in(m, 2) ? floats[draw(m, 0, 3)]
                                       : (kiln_dtype)draw(m, 0, KILN_N_DTYPES - 1);
    if (kiln_dtype_is_float(x->type.dtype) && !kiln_dtype_is_float(to) &&
        one_in(m, 2)) {
        kiln_value *in[2] = {x,
                             kiln_graph_const_scalar(m->g, "scale", x->type.dtype, 12)};
        x = add_op(m, &kiln_op_mul, in, 2, NULL, 0);
    }
    /* What does not fit the type is anybody's. */
    if (x != NULL && kiln_dtype_is_in(to, KILN_DT_UNSIGNED) &&
        kiln_dtype_is_float(x->type.dtype))
        x = add_unary(m, &kiln_op_abs, x);
    return x != NULL && add_cast(m, x, to) != NULL;
}

/* Scales of a tensor, one or along an axis, powers of two now and then. */
static kiln_value *draw_scales(maker *m, kiln_dtype dtype, int rank,
                               const int64_t *dim) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const kiln_tensor s = kiln_tensor_new(m->g->arena, &t);
    kiln_wide w = kiln_wide_new(m->g->arena, &t);
    const bool is_power = one_in(m, 2);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w.f[i] = is_power ? 0.0625 : 0.01 + 0.1 * kiln_rng_unit(&m->rng);
    kiln_narrow(&w, s.data);
    return kiln_graph_add_const(m->g, "scale", &t, s.data);
}

static kiln_value *draw_zeros(maker *m, kiln_dtype dtype, int rank,
                              const int64_t *dim) {
    const int64_t lo = kiln_dtype_is_in(dtype, KILN_DT_SIGNED) ? -9 : 0;
    const int64_t n = rank > 0 ? *dim : 1;
    int64_t *v = kiln_array(m->g->arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = draw(m, lo, 12);
    return const_ints(m, dtype, rank, dim, v);
}

static kiln_value *dequantize(maker *m, kiln_value *q, int64_t axis, kiln_value *scale,
                              kiln_value *zero) {
    kiln_value *in[3] = {q, scale, zero};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_dtype("dtype", scale->type.dtype)};
    return add_op(m, &kiln_op_dequantize_linear, in, zero != NULL ? 3 : 2, args, 2);
}

kiln_value *add_dequantized(maker *m, kiln_value *q, int axis) {
    const int rank = axis < 0 ? 0 : 1;
    const int64_t n = axis < 0 ? 1 : q->type.dim[axis];
    kiln_value *scale = draw_scales(m, KILN_F32, rank, &n);
    return dequantize(m, q, axis < 0 ? 0 : axis, scale,
                      one_in(m, 2) ? draw_zeros(m, q->type.dtype, rank, &n) : NULL);
}

bool random_graph_quantized(maker *m) {
    static const kiln_dtype to[] = {KILN_I8, KILN_U8, KILN_I8, KILN_U8, KILN_I16};
    const bool is_whole = one_in(m, 4); /* integers that are there */
    kiln_value *x =
        draw_value(m,
                   is_whole ? KILN_DT(KILN_I8) | KILN_DT(KILN_U8) | KILN_DT(KILN_I32)
                            : KILN_DT(KILN_F32) | KILN_DT(KILN_F16),
                   1, 5);
    const kiln_dtype q = is_whole ? x->type.dtype : to[draw(m, 0, 4)];
    const int64_t axis = draw(m, 0, x->type.rank - 1);
    const int rank = one_in(m, 2) ? 1 : 0;
    const int64_t n = x->type.dim[axis];
    const kiln_dtype real = is_whole ? KILN_F32 : x->type.dtype;
    kiln_value *scale = draw_scales(m, real, rank, &n), *zero = NULL;
    if (one_in(m, 2) && q != KILN_I32)
        zero = draw_zeros(m, q, rank, &n);
    if (is_whole)
        return dequantize(m, x, axis, scale, zero) != NULL;
    kiln_value *in[3] = {x, scale, zero};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_dtype("dtype", q)};
    kiln_value *y =
        add_op(m, &kiln_op_quantize_linear, in, zero != NULL ? 3 : 2, args, 2);
    return y != NULL && (one_in(m, 3) || dequantize(m, y, axis, scale, zero) != NULL);
}

bool random_graph_bits(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_ANY & ~KILN_DT_BOOL, 0, 4);
    kiln_dtype to = (kiln_dtype)draw(m, 0, KILN_N_DTYPES - 1);
    if (kiln_dtype_bytes(to) != kiln_dtype_bytes(x->type.dtype) || to == KILN_BOOL ||
        kiln_dtype_is_float(to))
        return false; /* bits of integers as floats are wild */
    const kiln_attr_arg arg = kiln_arg_dtype("to", to);
    return add_op(m, &kiln_op_bitcast, &x, 1, &arg, 1) != NULL;
}
