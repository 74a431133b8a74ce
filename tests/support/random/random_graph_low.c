/* Families of random graphs: floats of 8 and 4 bits, integers of 4 and 2. */
#include "tests/support/random/random_graph_internal.h"

/* Where a type without a sign can hold it. */
static kiln_value *without_sign(maker *m, kiln_value *x) {
    const bool has_sign =
        kiln_dtype_is_in(x->type.dtype, KILN_DT_FLOAT | KILN_DT_SIGNED);
    return has_sign ? add_unary(m, &kiln_op_abs, x) : x;
}

/* Over more of the type's range than the values around 1 that floats are. */
static kiln_value *spread(maker *m, kiln_value *x) {
    if (!kiln_dtype_is_in(x->type.dtype, KILN_DT_FLOAT) || one_in(m, 3))
        return x;
    const double by = one_in(m, 2) ? 3 : 0.25;
    kiln_value *in[2] = {x, kiln_graph_const_scalar(m->g, "by", x->type.dtype, by)};
    return add_op(m, &kiln_op_mul, in, 2, NULL, 0);
}

/* x as a type of few bits. */
static kiln_value *into(maker *m, kiln_value *x, kiln_dtype to) {
    kiln_attr_arg args[3] = {kiln_arg_dtype("to", to)};
    x = spread(m, x);
    if (x != NULL && !kiln_dtype_get(to)->is_signed)
        x = without_sign(m, x);
    if (x == NULL)
        return NULL;
    if (kiln_dtype_is_in(to, KILN_DT_LOW_INT))
        return add_cast(m, x, to);
    static const char *const rounds[] = {"up", "down", "nearest"};
    args[1] = kiln_arg_bool("saturate", !one_in(m, 3));
    args[2] = kiln_arg_word("round", rounds[draw(m, 0, 2)]);
    return add_op(m, &kiln_op_cast_low, &x, 1, args, 3);
}

/* Powers of two for each of x's blocks along an axis, as f8e8m0 or in the precision. */
static kiln_value *block_scales(maker *m, const kiln_type *x, int axis, int64_t block,
                                kiln_dtype precision) {
    int64_t dim[KILN_MAX_RANK], n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= dim[i] = i == axis ? (x->dim[i] + block - 1) / block : x->dim[i];
    double *v = kiln_array(m->g->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = one_in(m, 2) ? 0.5 : 0.125;
    return draw_known(m, one_in(m, 2) ? KILN_F8E8M0 : precision, x->rank, dim, v);
}

/* Numbers that can be computed with. */
static kiln_value *out_of(maker *m, kiln_value *x) {
    static const kiln_dtype floats[] = {KILN_F32, KILN_F16, KILN_BF16};
    const kiln_dtype to = floats[draw(m, 0, 2)];
    if (x->type.dtype == KILN_F8E8M0 || x->type.rank == 0 || one_in(m, 2))
        return add_cast(m, x, one_in(m, 6) ? KILN_I32 : to);
    const int axis = (int)draw(m, 0, x->type.rank - 1);
    const int64_t block = one_in(m, 2) ? draw(m, 1, 8) : 32;
    kiln_value *in[2] = {x, block_scales(m, &x->type, axis, block, to)};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_int("block", block),
                                  kiln_arg_dtype("dtype", to)};
    return add_op(m, &kiln_op_dequantize_linear, in, 2, args, 3);
}

bool random_graph_low_bit(maker *m) {
    const bool is_low = one_in(m, 3); /* those that are there, and new inputs */
    kiln_value *x = draw_value(m, is_low ? KILN_DT_LOW : KILN_DT_ANY, 0, 5);
    if (!is_low || one_in(m, 4)) {
        x = into(m, x, (kiln_dtype)draw(m, KILN_F8E4M3FN, KILN_U2));
        if (x == NULL || one_in(m, 3))
            return x != NULL;
    }
    return out_of(m, x) != NULL;
}
