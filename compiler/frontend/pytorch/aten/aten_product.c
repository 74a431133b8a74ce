/* Makers of products of matrices, and of attention. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>
#include <math.h>

#include "compiler/frontend/einsum.h"

static kiln_value *turned(kiln_aten_args *k, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return kiln_compose_transpose(&k->c, x, perm);
}

kiln_status kiln_aten_make_matmul(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *const y = kiln_aten_tensor(k, "other");
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_matmul, x, y));
}

/* x w^T + bias. */
kiln_status kiln_aten_make_linear(kiln_aten_args *k) {
    kiln_value *in[] = {kiln_aten_tensor(k, "input"), kiln_aten_tensor(k, "weight"),
                        kiln_aten_optional(k, "bias")};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    const int rank = in[0]->type.rank;
    if (!kiln_aten_need_rank(k, in[1], 1, 2))
        return k->c.status;
    if (rank == 2 && in[1]->type.rank == 2)
        return kiln_aten_give(k, kiln_compose_op(&k->c, &kiln_op_gemm, in,
                                                 in[2] != NULL ? 3 : 2, &arg, 1));
    if (in[1]->type.rank == 2)
        in[1] = turned(k, in[1]);
    kiln_value *y = kiln_compose_2(&k->c, &kiln_op_matmul, in[0], in[1]);
    if (in[2] != NULL)
        y = kiln_compose_2(&k->c, &kiln_op_add, y, in[2]);
    return kiln_aten_give(k, y);
}

/* beta self + alpha mat1 mat2, of matrices or batches of them. */
kiln_status kiln_aten_make_addmm(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *in[] = {kiln_aten_tensor(k, "mat1"), kiln_aten_tensor(k, "mat2"),
                        kiln_aten_tensor(k, "self")};
    const double alpha = kiln_aten_float(k, "alpha"), beta = kiln_aten_float(k, "beta");
    if (in[0]->type.rank == 2 && in[1]->type.rank == 2) {
        const kiln_attr_arg args[] = {kiln_arg_float("alpha", alpha),
                                      kiln_arg_float("beta", beta)};
        return kiln_aten_give(
            k, kiln_compose_op(c, &kiln_op_gemm, in, beta != 0 ? 3 : 2, args, 2));
    }
    kiln_value *y = kiln_compose_2(c, &kiln_op_matmul, in[0], in[1]);
    if (alpha != 1)
        y = kiln_compose_scalar(c, &kiln_op_mul, y, alpha);
    if (beta == 0)
        return kiln_aten_give(k, y);
    if (beta != 1)
        in[2] = kiln_compose_scalar(c, &kiln_op_mul, in[2], beta);
    return kiln_aten_give(k, kiln_compose_2(c, &kiln_op_add, in[2], y));
}

kiln_status kiln_aten_make_outer(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self"), *const y = kiln_aten_tensor(k, "vec2");
    x = kiln_compose_reshape(&k->c, x, 2, (int64_t[]){kiln_type_elems(&x->type), 1});
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_mul, x, y));
}

kiln_status kiln_aten_make_einsum(kiln_aten_args *k) {
    kiln_value **in;
    const kiln_str equation = kiln_aten_string(k, "equation");
    const size_t n = kiln_aten_tensors(k, "tensors", &in);
    if (n == 0 && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_PARSE, "einsum: there are no tensors");
    KILN_TRY(k->c.status);
    return kiln_aten_give(k, kiln_compose_einsum(&k->c, equation, in, (int)n));
}

/* ---- attention -------------------------------------------------------------------- */

/* 0 where bool `allowed`, -inf elsewhere. */
static kiln_value *bias_of(kiln_aten_args *k, kiln_value *allowed, kiln_dtype d) {
    return kiln_compose_where(&k->c, allowed, kiln_import_scalar(k->c.cx, d, 0),
                              kiln_import_scalar(k->c.cx, d, -(double)INFINITY));
}

/* Query i sees the keys j <= i. */
static kiln_value *causal(kiln_aten_args *k, const kiln_value *q,
                          const kiln_value *key) {
    kiln_compose *const c = &k->c;
    const int64_t n = q->type.dim[q->type.rank - 2];
    const int64_t m = key->type.dim[key->type.rank - 2];
    kiln_value *i = kiln_compose_iota(c, n), *const j = kiln_compose_iota(c, m);
    i = kiln_compose_reshape(c, i, 2, (int64_t[]){n, 1});
    return bias_of(k, kiln_compose_2(c, &kiln_op_less_equal, j, i), q->type.dtype);
}

/* A row that is masked whole has no weights: PyTorch gives 0. */
static kiln_value *softmax(kiln_aten_args *k, kiln_value *scores, bool may_mask_rows) {
    kiln_compose *const c = &k->c;
    const int last = scores->type.rank - 1;
    kiln_value *const y = kiln_compose_axis(c, &kiln_op_softmax, scores, NULL, last);
    if (!may_mask_rows)
        return y;
    const int64_t axis = last;
    kiln_value *top =
        kiln_compose_reduce(c, &kiln_op_reduce_max, scores, &axis, 1, true);
    top = kiln_compose_scalar(c, &kiln_op_equal, top, -(double)INFINITY);
    return kiln_compose_where(c, top, kiln_import_scalar(c->cx, y->type.dtype, 0), y);
}

/* Heads of keys and values that several heads of queries share. */
static kiln_value *shared_heads(kiln_aten_args *k, const kiln_value *q, kiln_value *x) {
    const int64_t heads = q->type.rank == 4 ? q->type.dim[1] : 1;
    const int64_t of_x = x->type.rank == 4 ? x->type.dim[1] : 1;
    if (x->type.rank != 4 || of_x < 1 || heads % of_x != 0) {
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: the heads of keys must divide those of queries",
                       k->row->name);
        return x;
    }
    return kiln_compose_repeat_heads(&k->c, x, heads / of_x);
}

kiln_status kiln_aten_make_attention(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *q = kiln_aten_tensor(k, "query"), *key = kiln_aten_tensor(k, "key");
    kiln_value *v = kiln_aten_tensor(k, "value");
    kiln_value *mask = kiln_aten_optional(k, "attn_mask");
    bool may_mask_rows = false;
    if (!kiln_aten_need_rank(k, q, 2, KILN_MAX_RANK) ||
        !kiln_aten_need_rank(k, key, 2, KILN_MAX_RANK) ||
        !kiln_aten_need_rank(k, v, 2, KILN_MAX_RANK))
        return c->status;
    if (kiln_aten_bool(k, "enable_gqa")) {
        key = shared_heads(k, q, key);
        v = shared_heads(k, q, v);
    }
    const int64_t size = q->type.dim[q->type.rank - 1];
    double scale = size > 0 ? 1 / sqrt((double)size) : 1;
    if (!kiln_aten_is_none(k, "scale"))
        scale = kiln_aten_float(k, "scale");
    if (mask != NULL && mask->type.dtype == KILN_BOOL) {
        mask = bias_of(k, mask, q->type.dtype);
        may_mask_rows = true;
    }
    if (kiln_aten_bool(k, "is_causal")) {
        kiln_value *const bias = causal(k, q, key);
        mask = mask == NULL ? bias : kiln_compose_2(c, &kiln_op_add, mask, bias);
    }
    kiln_value *y = kiln_compose_2(c, &kiln_op_matmul, q, turned(k, key));
    y = kiln_compose_scalar(c, &kiln_op_mul, y, scale);
    if (mask != NULL)
        y = kiln_compose_2(c, &kiln_op_add, y, mask);
    y = softmax(k, y, may_mask_rows);
    return kiln_aten_give(k, kiln_compose_2(c, &kiln_op_matmul, y, v));
}
