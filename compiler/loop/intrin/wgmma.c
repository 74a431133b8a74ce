/* wgmma: a warpgroup's matrix product, c[i, j] += sum over k of a[i, k] * b[k, j], 64 rows, 16
 * terms and as many columns as lanes are asked for, in panels of 64: wgmma.mma_async.m64nNk16
 * (f16, bf16 into f32; NVIDIA, PTX ISA 8.5, 9.7.14.7). Operands lie in shared memory, rows of
 * 64 halves, which is 128 bytes, right beneath each other: a in rows of terms, b so too, or in
 * panels of 64 columns, terms beneath each other. Sums are a warpgroup's fragment
 * (compiler/loop/fragment.h).
 *
 * Operands are meant to be swizzled: the eight pieces of 16 bytes of row r change places with
 * piece XOR r % 8. That is the code generator's matter, who does it with all accesses to
 * such a buffer alike.
 *
 * A call is done when the next statement begins; inside KILN_STMT_ATTR_PRODUCTS, when a
 * barrier has waited for it. There is no rule: see mma.c. */
#include "compiler/loop/fragment.h"
#include "compiler/loop/tensor_intrin.h"

enum { ROWS = KILN_WARPGROUP * KILN_FRAGMENT_ROWS, DEPTH = 16, MAX_COLUMNS = 256 };

static const kiln_te *declare(kiln_arena *a, kiln_dtype of, int lanes, bool b_along_k) {
    const int64_t width = KILN_WARPGROUP_COLUMNS, panels = lanes / width;
    KILN_ASSERT(panels >= 1 && lanes % width == 0 && lanes <= MAX_COLUMNS,
                "wgmma of %d columns", lanes);
    const int64_t terms[] = {panels, DEPTH, width}, turned[] = {panels, width, DEPTH};
    const kiln_te *x = kiln_te_placeholder(a, "a", of, 2, (int64_t[]){ROWS, DEPTH});
    const kiln_te *y = kiln_te_placeholder(a, "b", of, 3, b_along_k ? turned : terms);
    kiln_te *c = kiln_te_begin(a, "c", 3, (int64_t[]){ROWS, panels, width});
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", DEPTH);
    const kiln_expr *term = kiln_axis_var(a, k), *column = kiln_te_var(c, 2);
    const kiln_expr *at_x[2] = {kiln_te_var(c, 0), term};
    const kiln_expr *at_y[3] = {kiln_te_var(c, 1), b_along_k ? column : term,
                                b_along_k ? term : column};
    const kiln_expr *product =
        kiln_x_mul(a, kiln_x_cast(a, KILN_F32, kiln_te_read(a, x, at_x)),
                   kiln_x_cast(a, KILN_F32, kiln_te_read(a, y, at_y)));
    const kiln_expr *sum = kiln_te_sum(c, product, &k, 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "wgmma does not declare itself");
    return c;
}

#define WGMMA(name_, of, b_along_k, doc_)                                              \
    static const kiln_te *declare_##name_(kiln_arena *a, int lanes) {                  \
        return declare(a, of, lanes, b_along_k);                                       \
    }                                                                                  \
    const kiln_tensor_intrin kiln_tensor_##name_ = {.name = #name_,                    \
                                                    .doc = doc_,                       \
                                                    .declare = declare_##name_,        \
                                                    .parts = KILN_TENSOR_RESET |       \
                                                             KILN_TENSOR_UPDATE,       \
                                                    .has_strides = true}

WGMMA(wgmma_f16, KILN_F16, false,
      "c[i, p, j] += sum(k < 16) f32(a[i, k]) * f32(b[p, k, j]), 64 x lanes, f16");
WGMMA(wgmma_f16_t, KILN_F16, true,
      "c[i, p, j] += sum(k < 16) f32(a[i, k]) * f32(b[p, j, k]), 64 x lanes, f16");
WGMMA(wgmma_bf16, KILN_BF16, false,
      "c[i, p, j] += sum(k < 16) f32(a[i, k]) * f32(b[p, k, j]), 64 x lanes, bf16");
WGMMA(wgmma_bf16_t, KILN_BF16, true,
      "c[i, p, j] += sum(k < 16) f32(a[i, k]) * f32(b[p, j, k]), 64 x lanes, bf16");
