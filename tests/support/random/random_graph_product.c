/* Families of random graphs: matrix products, and what is made of them. */
#include "tests/support/random/random_graph_internal.h"

#include <math.h>

static kiln_value *swap_last(maker *m, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return add_transpose(m, x, perm);
}

static kiln_value *scaled(maker *m, kiln_value *x, double factor) {
    if (x == NULL || !kiln_dtype_is_float(x->type.dtype))
        return x;
    kiln_value *in[2] = {x, kiln_graph_const_scalar(m->g, "s", x->type.dtype, factor)};
    return add_op(m, &kiln_op_mul, in, 2, NULL, 0);
}

/* The other operand: a matrix, with batches as x has or without. */
static kiln_value *draw_matrix(maker *m, const kiln_type *x, int64_t rows, int64_t cols,
                               int64_t terms) {
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    const bool is_batched = x->rank > 2 && one_in(m, 4);
    for (int i = 0; is_batched && i < x->rank - 2; i++)
        dim[rank++] = one_in(m, 4) ? 1 : x->dim[i];
    dim[rank++] = rows;
    dim[rank++] = cols;
    if (x->dtype == KILN_I32 && one_in(m, 2)) /* for dot products of bytes */
        return add_cast(m, draw_const(m, KILN_I8, rank, dim, 1), KILN_I32);
    return one_in(m, 5) ? draw_operand(m, x->dtype, rank, dim, term_scale(terms))
                        : draw_const(m, x->dtype, rank, dim, term_scale(terms));
}

/* Of what bytes stand for: a product of bytes, where passes make one of it. */
static bool dequantized_product(maker *m) {
    enum { BYTES = KILN_DT(KILN_I8) | KILN_DT(KILN_U8) };
    kiln_value *x = draw_value(m, BYTES, 2, 4);
    const int64_t terms = x->type.dim[x->type.rank - 1], n = draw_dim(m);
    const bool is_gemm = x->type.rank == 2 && one_in(m, 2);
    const bool turned = is_gemm && one_in(m, 2);
    const int64_t along[2] = {terms, n}, across[2] = {n, terms};
    kiln_value *w =
        draw_const(m, one_in(m, 2) ? KILN_I8 : KILN_U8, 2, turned ? across : along, 1);
    const int axis = (int)draw(m, -1, 1);
    kiln_value *in[3] = {add_dequantized(m, x, -1), add_dequantized(m, w, axis)};
    if (in[0] == NULL || in[1] == NULL)
        return false;
    if (!is_gemm)
        return add_op(m, &kiln_op_matmul, in, 2, NULL, 0) != NULL;
    const bool has_bias = one_in(m, 2);
    if (has_bias)
        in[2] = draw_operand(m, KILN_F32, 1, &n, 1);
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", turned);
    return add_op(m, &kiln_op_gemm, in, has_bias ? 3 : 2, &arg, 1) != NULL;
}

bool random_graph_product(maker *m) {
    if (one_in(m, 6))
        return dequantized_product(m);
    kiln_value *x = draw_value(m, KILN_DT_NUMBER, 1, 5), *in[2] = {x, NULL};
    const int rank = x->type.rank;
    const int64_t last = x->type.dim[rank - 1];
    const int64_t n = one_in(m, 8) ? 1 : draw_dim(m);
    const int64_t kind = draw(m, 0, 9);
    in[0] = x = one_in(m, 2) ? add_widened(m, x) : x;
    if (x == NULL)
        return false;
    if (rank > 1 && kind == 0) { /* with its own transpose */
        in[1] = swap_last(m, x);
        in[0] = scaled(m, x, 1 / sqrt((double)last));
        if (in[0] == NULL || in[1] == NULL)
            return false;
    } else if (rank > 1 && kind < 4) { /* from the left */
        in[1] = x;
        in[0] =
            draw_matrix(m, &x->type, n, x->type.dim[rank - 2], x->type.dim[rank - 2]);
    } else if (kind == 4) { /* a vector */
        in[1] = draw_operand(m, x->type.dtype, 1, &last, term_scale(last));
    } else {
        in[1] = draw_matrix(m, &x->type, last, n, last);
    }
    return in[0] != NULL && in[1] != NULL &&
           add_op(m, &kiln_op_matmul, in, 2, NULL, 0) != NULL;
}

/* As a matrix: axes are put together. */
static kiln_value *flattened(maker *m, kiln_value *x) {
    const int cut = (int)draw(m, 1, x->type.rank - 1);
    int64_t dim[2] = {1, 1};
    for (int i = 0; i < x->type.rank; i++)
        dim[i >= cut] *= x->type.dim[i];
    return x->type.rank == 2 ? x : add_reshape(m, x, 2, dim);
}

bool random_graph_general_product(maker *m) {
    kiln_value *x = flattened(m, draw_value(m, KILN_DT_NUMBER, 2, 4));
    x = x != NULL && one_in(m, 2) ? add_widened(m, x) : x;
    if (x == NULL)
        return false;
    const bool turn_a = one_in(m, 3), turn_b = one_in(m, 2), is_right = one_in(m, 4);
    const bool turn_x = is_right ? turn_b : turn_a;
    const int64_t n = draw_dim(m);
    /* x is rows by terms on the left, terms by columns on the right. */
    const int64_t terms = x->type.dim[is_right == turn_x ? 1 : 0];
    const int64_t other = x->type.dim[is_right == turn_x ? 0 : 1];
    const int64_t along[2] = {terms, n}, across[2] = {n, terms};
    const bool turned = is_right ? !turn_a : turn_b; /* n comes first */
    kiln_value *y =
        draw_operand(m, x->type.dtype, 2, turned ? across : along, term_scale(terms));
    const int64_t rows = is_right ? n : other, cols = is_right ? other : n;
    const int64_t bias[2] = {one_in(m, 3) ? rows : 1, one_in(m, 4) ? 1 : cols};
    kiln_value *in[3] = {is_right ? y : x, is_right ? x : y};
    const bool has_bias = one_in(m, 2);
    if (has_bias)
        in[2] = draw_operand(m, x->type.dtype, bias[0] == 1 ? 1 : 2,
                             bias[0] == 1 ? bias + 1 : bias, 1);
    kiln_attr_arg args[4] = {kiln_arg_bool("trans_a", turn_a),
                             kiln_arg_bool("trans_b", turn_b)};
    size_t n_args = 2;
    if (kiln_dtype_is_float(x->type.dtype) && one_in(m, 3)) {
        args[n_args++] = kiln_arg_float("alpha", 0.5);
        args[n_args++] = kiln_arg_float("beta", 1.5);
    }
    return add_op(m, &kiln_op_gemm, in, has_bias ? 3 : 2, args, n_args) != NULL;
}

/* [batch, n, heads * d] to [batch, heads, n, d], of a product with weights. */
static kiln_value *head(maker *m, kiln_value *x, int64_t heads, int64_t d) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const int64_t *dim = x->type.dim, w[2] = {dim[2], heads * d};
    const int64_t split[4] = {dim[0], dim[1], heads, d};
    kiln_value *in[2] = {x, draw_const(m, x->type.dtype, 2, w, term_scale(dim[2]))};
    kiln_value *y = add_op(m, &kiln_op_matmul, in, 2, NULL, 0);
    y = y != NULL ? add_reshape(m, y, 4, split) : NULL;
    return add_transpose(m, y, perm);
}

/* As the operator, of what heads are made of: rows ahead of heads, or behind them. */
static bool attention_as_one(maker *m, kiln_value *x, int64_t heads, int64_t d) {
    static const int64_t behind[] = {0, 2, 1, 3}, columns[] = {0, 1, 3, 2};
    const int64_t *own = x->type.dim, dim[4] = {own[0], own[1], heads, d};
    kiln_value *in[4] = {NULL};
    const kiln_attr_arg args[] = {
        kiln_arg_float("scale", 1 / sqrt((double)d)),
        kiln_arg_ints("perm_q", behind, 4), kiln_arg_ints("perm_v", behind, 4),
        kiln_arg_ints("perm_k", one_in(m, 2) ? behind : columns, 4),
        kiln_arg_ints("perm_y", behind, one_in(m, 2) ? 4 : 0)};
    for (int i = 0; i < 3; i++) {
        const int64_t keys[4] = {dim[0], heads, d, dim[1]};
        const bool is_columns = i == 1 && args[3].value.ints == columns;
        in[i] = draw_operand(m, x->type.dtype, 4, is_columns ? keys : dim, 1);
    }
    const int64_t mask[2] = {dim[1], dim[1]};
    const bool has_mask = one_in(m, 2);
    if (has_mask)
        in[3] = draw_operand(m, x->type.dtype, 2, mask, 1);
    return add_op(m, &kiln_op_attention, in, has_mask ? 4 : 3, args, 5) != NULL;
}

bool random_graph_attention(maker *m) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const int64_t heads = draw(m, 1, 4), d = draw(m, 1, 17);
    kiln_value *x = draw_value(m, KILN_DT_FLOAT, 3, 3);
    const int64_t n = x->type.dim[1], joined[3] = {x->type.dim[0], n, heads * d};
    if (one_in(m, 3))
        return attention_as_one(m, x, heads, d);
    kiln_value *q = head(m, x, heads, d), *k = head(m, x, heads, d);
    kiln_value *v = head(m, x, heads, d);
    if (q == NULL || k == NULL || v == NULL)
        return false;
    kiln_value *in[2] = {scaled(m, q, 1 / sqrt((double)d)), swap_last(m, k)};
    kiln_value *s = in[0] && in[1] ? add_op(m, &kiln_op_matmul, in, 2, NULL, 0) : NULL;
    if (s != NULL && one_in(m, 2)) { /* a mask */
        const int64_t mask[2] = {n, n};
        kiln_value *sum[2] = {s, draw_operand(m, x->type.dtype, 2, mask, 1)};
        s = add_op(m, &kiln_op_add, sum, 2, NULL, 0);
    }
    kiln_value *p[2] = {s != NULL ? add_unary(m, &kiln_op_softmax, s) : NULL, v};
    kiln_value *y = p[0] ? add_op(m, &kiln_op_matmul, p, 2, NULL, 0) : NULL;
    y = add_transpose(m, y, perm);
    return y != NULL && add_reshape(m, y, 3, joined) != NULL;
}
