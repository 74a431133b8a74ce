/* Matrix products. */
#include "compiler/export/onnx/say_ops.h"

/* The last two axes exchanged. */
static const char *turned(kiln_say *s, const char *x, int rank) {
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return kiln_say_transpose(s, x, rank, perm, NULL);
}

/* ONNX multiplies integers of 32 bits and more; small ones wrap there as they do by
 * themselves. */
kiln_status kiln_say_op_matmul(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    const bool is_small = kiln_dtype_is_in(dtype, KILN_SAY_SMALL_INT);
    const char *a = kiln_say_in(s, 0), *b = kiln_say_in(s, 1);
    if (is_small) {
        a = kiln_say_cast(s, a, KILN_I32, NULL);
        b = kiln_say_cast(s, b, KILN_I32, NULL);
    }
    if (kiln_say_attr(s, "trans_b")->i != 0)
        b = turned(s, b, n->in[1]->type.rank);
    const char *const y =
        kiln_say_2(s, "MatMul", a, b, is_small ? NULL : kiln_say_out(s, 0));
    if (is_small)
        kiln_say_cast(s, y, dtype, kiln_say_out(s, 0));
    return KILN_OK;
}

/* Of whole numbers, without factors: a product and a sum, since ONNX Runtime's Gemm takes
 * floats alone. */
static void say_whole_gemm(kiln_say *s, const char *const in[3], const char *out) {
    static const char *const flag[] = {"trans_a", "trans_b"};
    static const int64_t swap[] = {1, 0};
    const char *x[2];
    for (int i = 0; i < 2; i++)
        x[i] = kiln_say_attr(s, flag[i])->i != 0
                   ? kiln_say_transpose(s, in[i], 2, swap, NULL)
                   : in[i];
    if (*in[2] == '\0')
        kiln_say_2(s, "MatMul", x[0], x[1], out);
    else
        kiln_say_2(s, "Add", kiln_say_2(s, "MatMul", x[0], x[1], NULL), in[2], out);
}

/* ONNX has the products of wide integers; small ones wrap in i32 as by themselves, where
 * no factor is a fraction. */
kiln_status kiln_say_op_gemm(kiln_say *s, const kiln_node *n) {
    static const struct {
        const char *own, *onnx;
    } flag[] = {{"trans_a", "transA"}, {"trans_b", "transB"}};
    static const char *const factor[] = {"alpha", "beta"};
    const kiln_dtype dtype = n->in[0]->type.dtype;
    const bool is_small = kiln_dtype_is_in(dtype, KILN_SAY_SMALL_INT);
    const char *in[3] = {"", "", ""};
    for (int i = 0; i < n->n_in; i++) {
        in[i] = kiln_say_in(s, i);
        if (is_small && kiln_say_has_in(s, i))
            in[i] = kiln_say_cast(s, in[i], KILN_I32, NULL);
    }
    const char *const y = is_small ? kiln_say_temp(s, "i32") : kiln_say_out(s, 0);
    for (int i = 0; i < 2; i++)
        if (is_small && kiln_say_attr(s, factor[i])->f != 1)
            return kiln_say_refuse(s,
                                   "ONNX's Gemm does not take %s, and with a '%s' it "
                                   "cannot go through i32",
                                   kiln_dtype_name(dtype), factor[i]);
    if (kiln_dtype_is_in(dtype, KILN_DT_INT) && kiln_say_attr(s, "alpha")->f == 1 &&
        kiln_say_attr(s, "beta")->f == 1) {
        say_whole_gemm(s, in, y);
        if (is_small)
            kiln_say_cast(s, y, dtype, kiln_say_out(s, 0));
        return KILN_OK;
    }
    kiln_say_begin(s, "Gemm", KILN_SAY_BASE_OPSET);
    for (int i = 0; i < n->n_in; i++)
        kiln_say_take(s, in[i]);
    for (int i = 0; i < 2; i++)
        if (kiln_say_attr(s, factor[i])->f != 1)
            kiln_say_float(s, factor[i], kiln_say_attr(s, factor[i])->f);
    for (int i = 0; i < 2; i++)
        kiln_say_int(s, flag[i].onnx, kiln_say_attr(s, flag[i].own)->i);
    kiln_say_give(s, y);
    kiln_say_end(s);
    if (is_small)
        kiln_say_cast(s, y, dtype, kiln_say_out(s, 0));
    return KILN_OK;
}

/* An input with its axes as the attribute says. */
static const char *permuted(kiln_say *s, int i, const char *perm) {
    const kiln_attr *p = kiln_say_attr(s, perm);
    const char *const x = kiln_say_in(s, i);
    return p->n == 0 ? x : kiln_say_transpose(s, x, (int)p->n, p->ints, NULL);
}

/* The products and the softmax that it was merged from. */
kiln_status kiln_say_op_attention(kiln_say *s, const kiln_node *n) {
    const kiln_type *q = &n->in[0]->type;
    const kiln_attr *back = kiln_say_attr(s, "perm_y");
    const double scale = kiln_say_attr(s, "scale")->f;
    const char *const k = turned(s, permuted(s, 1, "perm_k"), q->rank);
    const char *z = kiln_say_2(s, "MatMul", permuted(s, 0, "perm_q"), k, NULL);
    if (scale != 1)
        z = kiln_say_2(s, "Mul", z, kiln_say_scalar(s, q->dtype, scale), NULL);
    if (kiln_say_has_in(s, 3))
        z = kiln_say_2(s, "Add", z, kiln_say_in(s, 3), NULL);
    z = kiln_say_1(s, "Softmax", z, NULL); /* along the last axis */
    const bool is_turned = back->n > 0;
    z = kiln_say_2(s, "MatMul", z, permuted(s, 2, "perm_v"),
                   is_turned ? NULL : kiln_say_out(s, 0));
    if (is_turned)
        kiln_say_transpose(s, z, q->rank, back->ints, kiln_say_out(s, 0));
    return KILN_OK;
}
