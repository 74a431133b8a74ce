/* mma: a warp's matrix product, c[i, j] += sum over k of a[i, k] * b[k, j], 16 x 16 at a
 * time: two of mma.sync.m16n8k16 (f16, bf16 into f32) or m16n8k32 (i8 into i32), whose
 * operands lie in shared memory, rows of 16 bytes at least and 16-byte aligned, and whose sums
 * are a fragment (compiler/loop/fragment.h).
 *
 * There is no rule: each part is a call, which names what it computes. Code generators
 * that have tensor cores know the names; all others refuse them. */
#include "compiler/loop/fragment.h"
#include "compiler/loop/tensor_intrin.h"

/* How b lies: terms of a column next to each other, or columns of a term. */
static const kiln_te *declare(kiln_arena *a, kiln_dtype of, kiln_dtype into,
                              int64_t depth, bool b_along_k) {
    const int64_t m = KILN_FRAGMENT_ROWS, n = KILN_FRAGMENT_COLUMNS;
    const kiln_te *x = kiln_te_placeholder(a, "a", of, 2, (int64_t[]){m, depth});
    const kiln_te *y = kiln_te_placeholder(
        a, "b", of, 2, (int64_t[]){b_along_k ? n : depth, b_along_k ? depth : n});
    kiln_te *c = kiln_te_begin(a, "c", 2, (int64_t[]){m, n});
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", depth);
    const kiln_expr *i = kiln_te_var(c, 0), *j = kiln_te_var(c, 1),
                    *term = kiln_axis_var(a, k);
    const kiln_expr *at_x[2] = {i, term};
    const kiln_expr *at_y[2] = {b_along_k ? j : term, b_along_k ? term : j};
    const kiln_expr *product =
        kiln_x_mul(a, kiln_x_cast(a, into, kiln_te_read(a, x, at_x)),
                   kiln_x_cast(a, into, kiln_te_read(a, y, at_y)));
    const kiln_expr *sum = kiln_te_sum(c, product, &k, 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "mma does not declare itself");
    return c;
}

/* The block is the instruction's, whatever lanes are asked for. */
#define MMA(name_, of, into, depth, b_along_k, doc_)                                   \
    static const kiln_te *declare_##name_(kiln_arena *a, int lanes) {                  \
        (void)lanes;                                                                   \
        return declare(a, of, into, depth, b_along_k);                                 \
    }                                                                                  \
    const kiln_tensor_intrin kiln_tensor_##name_ = {.name = #name_,                    \
                                                    .doc = doc_,                       \
                                                    .declare = declare_##name_,        \
                                                    .parts = KILN_TENSOR_RESET |       \
                                                             KILN_TENSOR_UPDATE,       \
                                                    .has_strides = true}

MMA(mma_f16, KILN_F16, KILN_F32, 16, false,
    "c[i, j] += sum(k < 16) f32(a[i, k]) * f32(b[k, j]), 16 x 16, f16");
MMA(mma_f16_t, KILN_F16, KILN_F32, 16, true,
    "c[i, j] += sum(k < 16) f32(a[i, k]) * f32(b[j, k]), 16 x 16, f16");
MMA(mma_bf16, KILN_BF16, KILN_F32, 16, false,
    "c[i, j] += sum(k < 16) f32(a[i, k]) * f32(b[k, j]), 16 x 16, bf16");
MMA(mma_bf16_t, KILN_BF16, KILN_F32, 16, true,
    "c[i, j] += sum(k < 16) f32(a[i, k]) * f32(b[j, k]), 16 x 16, bf16");
MMA(mma_s8_t, KILN_I8, KILN_I32, 32, true,
    "c[i, j] += sum(k < 32) i32(a[i, k]) * i32(b[j, k]), 16 x 16, i8");
