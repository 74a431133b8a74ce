/* Sizes are odd, prime or 1 on purpose: no split divides them all. */
#include "tests/support/te_examples.h"

#include "tests/support/kiln_test.h"

#define DIMS(...)                                                                      \
    (const int64_t[]) { __VA_ARGS__ }
#define INDEX(...)                                                                     \
    (const kiln_expr *[]) { __VA_ARGS__ }

static void seal(kiln_te *te, const kiln_expr *body) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_te_end(te, 1, &body, &err), &err);
}

static void inputs(te_example *x, const kiln_te *p, const kiln_te *q) {
    x->arg[x->n_args++] = p;
    if (q != NULL)
        x->arg[x->n_args++] = q;
    x->n_inputs = x->n_args;
}

static const kiln_expr *at(kiln_arena *a, const kiln_te *te, const kiln_expr **index) {
    return kiln_te_read(a, te, index);
}

static const kiln_expr *plus(kiln_arena *a, const kiln_expr *x, int64_t v) {
    return kiln_x_add(a, x, kiln_x_index(a, v));
}

static const kiln_expr *times(kiln_arena *a, const kiln_expr *x, int64_t v) {
    return kiln_x_mul(a, x, kiln_x_index(a, v));
}

/* ---- element-wise ------------------------------------------------------------------
 */

static void relu_chain(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(17, 23));
    kiln_te *scaled = kiln_te_begin(a, "scaled", 2, DIMS(17, 23));
    const kiln_expr *i = kiln_te_var(scaled, 0), *j = kiln_te_var(scaled, 1);
    seal(scaled, kiln_x_mul(a, at(a, in, INDEX(i, j)), kiln_x_float(a, KILN_F32, 1.5)));
    kiln_te *out = kiln_te_begin(a, "y", 2, DIMS(17, 23));
    i = kiln_te_var(out, 0);
    j = kiln_te_var(out, 1);
    seal(out, kiln_x_binary(a, KILN_EXPR_MAX, at(a, scaled, INDEX(i, j)),
                            kiln_x_float(a, KILN_F32, 0)));
    inputs(x, in, NULL);
    x->stage[x->n_stages++] = scaled;
    x->arg[x->n_args++] = out;
}

static void sigmoid_1d(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 1, DIMS(101));
    kiln_te *out = kiln_te_begin(a, "y", 1, DIMS(101));
    const kiln_expr *v = at(a, in, INDEX(kiln_te_var(out, 0)));
    seal(out, kiln_x_call(a, KILN_INTRIN_sigmoid, &v));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

static void broadcast_add(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, DIMS(3, 5, 7));
    kiln_te *bias = kiln_te_placeholder(a, "b", KILN_F32, 1, DIMS(5));
    kiln_te *out = kiln_te_begin(a, "y", 3, DIMS(3, 5, 7));
    const kiln_expr *c = kiln_te_var(out, 1);
    seal(out,
         kiln_x_add(a, at(a, in, INDEX(kiln_te_var(out, 0), c, kiln_te_var(out, 2))),
                    at(a, bias, INDEX(c))));
    inputs(x, in, bias);
    x->arg[x->n_args++] = out;
}

static void transposed(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_I32, 3, DIMS(4, 9, 5));
    kiln_te *out = kiln_te_begin(a, "y", 3, DIMS(5, 4, 9));
    seal(out, at(a, in,
                 INDEX(kiln_te_var(out, 1), kiln_te_var(out, 2), kiln_te_var(out, 0))));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Reads backwards, and only every third element. */
static void strided_slice(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F64, 1, DIMS(50));
    kiln_te *out = kiln_te_begin(a, "y", 1, DIMS(17));
    const kiln_expr *i = kiln_te_var(out, 0);
    seal(out, at(a, in, INDEX(kiln_x_sub(a, kiln_x_index(a, 49), times(a, i, 3)))));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Collapses and splits axes by division and remainder, as reshape does. */
static void reshaped(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(6, 35));
    kiln_te *out = kiln_te_begin(a, "y", 3, DIMS(5, 3, 14));
    const kiln_expr *flat = kiln_x_add(
        a,
        times(a, kiln_x_add(a, times(a, kiln_te_var(out, 0), 3), kiln_te_var(out, 1)),
              14),
        kiln_te_var(out, 2));
    const kiln_expr *n = kiln_x_index(a, 35);
    seal(out, at(a, in,
                 INDEX(kiln_x_binary(a, KILN_EXPR_FLOORDIV, flat, n),
                       kiln_x_binary(a, KILN_EXPR_FLOORMOD, flat, n))));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Indexes that are data. */
static void gathered(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(3, 7));
    kiln_te *index = kiln_te_placeholder(a, "index", KILN_BOOL, 1, DIMS(11));
    kiln_te *out = kiln_te_begin(a, "y", 2, DIMS(11, 7));
    const kiln_expr *row =
        kiln_x_cast(a, KILN_I64, at(a, index, INDEX(kiln_te_var(out, 0))));
    seal(out, at(a, in, INDEX(row, kiln_te_var(out, 1))));
    inputs(x, in, index);
    x->arg[x->n_args++] = out;
}

/* ---- reductions --------------------------------------------------------------------
 */

static void matmul_of(kiln_arena *a, te_example *x, int64_t m, int64_t n, int64_t k,
                      kiln_dtype in, kiln_dtype acc) {
    kiln_te *p = kiln_te_placeholder(a, "p", in, 2, DIMS(m, k));
    kiln_te *q = kiln_te_placeholder(a, "q", in, 2, DIMS(k, n));
    kiln_te *c = kiln_te_begin(a, "c", 2, DIMS(m, n));
    const kiln_axis *r = kiln_te_reduce_axis(c, "k", k);
    const kiln_expr *kk = kiln_axis_var(a, r);
    const kiln_expr *pv = kiln_x_cast(a, acc, at(a, p, INDEX(kiln_te_var(c, 0), kk)));
    const kiln_expr *qv = kiln_x_cast(a, acc, at(a, q, INDEX(kk, kiln_te_var(c, 1))));
    seal(c, kiln_te_sum(c, kiln_x_mul(a, pv, qv), &r, 1));
    inputs(x, p, q);
    x->arg[x->n_args++] = c;
}

static void matmul(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 13, 19, 11, KILN_F32, KILN_F32);
}

static void matmul_i8(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 7, 17, 20, KILN_I8, KILN_I32);
}

static void matmul_one(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 1, 1, 1, KILN_F64, KILN_F64);
}

static void row_sum(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(5, 37));
    kiln_te *out = kiln_te_begin(a, "y", 1, DIMS(5));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 37);
    seal(out,
         kiln_te_sum(out, at(a, in, INDEX(kiln_te_var(out, 0), kiln_axis_var(a, r))),
                     &r, 1));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

static void total(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_I32, 2, DIMS(7, 9));
    kiln_te *out = kiln_te_begin(a, "y", 0, NULL);
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "r", 7),
                            kiln_te_reduce_axis(out, "s", 9)};
    seal(out, kiln_te_sum(
                  out, at(a, in, INDEX(kiln_axis_var(a, r[0]), kiln_axis_var(a, r[1]))),
                  r, 2));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Two outputs from one tuple reduction. */
static void argmax(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(6, 29));
    kiln_te *out = kiln_te_begin(a, "y", 1, DIMS(6));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 29);
    const kiln_reducer *reducer = kiln_reducer_argmax(a, KILN_F32);
    const kiln_expr *source[] = {
        kiln_axis_var(a, r),
        at(a, in, INDEX(kiln_te_var(out, 0), kiln_axis_var(a, r)))};
    const kiln_expr *body[] = {kiln_x_reduce(a, reducer, source, &r, 1, NULL, 0),
                               kiln_x_reduce(a, reducer, source, &r, 1, NULL, 1)};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_te_end(out, 2, body, &err), &err);
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Three stages, the last reads the first two along different axes. */
static void normalized(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F64, 2, DIMS(4, 21));
    kiln_te *top = kiln_te_begin(a, "top", 1, DIMS(4));
    const kiln_axis *r = kiln_te_reduce_axis(top, "r", 21);
    const kiln_expr *v = at(a, in, INDEX(kiln_te_var(top, 0), kiln_axis_var(a, r)));
    seal(top, kiln_x_reduce(a, kiln_reducer_max(a, KILN_F64), &v, &r, 1, NULL, 0));
    kiln_te *shifted = kiln_te_begin(a, "shifted", 2, DIMS(4, 21));
    const kiln_expr *i = kiln_te_var(shifted, 0);
    v = kiln_x_sub(a, at(a, in, INDEX(i, kiln_te_var(shifted, 1))),
                   at(a, top, INDEX(i)));
    seal(shifted, kiln_x_call(a, KILN_INTRIN_exp, &v));
    kiln_te *sum = kiln_te_begin(a, "sum", 1, DIMS(4));
    r = kiln_te_reduce_axis(sum, "s", 21);
    seal(sum, kiln_te_sum(
                  sum, at(a, shifted, INDEX(kiln_te_var(sum, 0), kiln_axis_var(a, r))),
                  &r, 1));
    kiln_te *out = kiln_te_begin(a, "y", 2, DIMS(4, 21));
    i = kiln_te_var(out, 0);
    seal(out,
         kiln_x_binary(a, KILN_EXPR_DIV, at(a, shifted, INDEX(i, kiln_te_var(out, 1))),
                       at(a, sum, INDEX(i))));
    inputs(x, in, NULL);
    x->stage[x->n_stages++] = top;
    x->stage[x->n_stages++] = shifted;
    x->stage[x->n_stages++] = sum;
    x->arg[x->n_args++] = out;
}

/* ---- convolutions ------------------------------------------------------------------
 */

/* Zero padding as a stage of its own: a select guards the read. */
static kiln_te *pad_2d(kiln_arena *a, const kiln_te *in, int64_t pad) {
    const int64_t n = kiln_te_dim(in, 0), c = kiln_te_dim(in, 1);
    const int64_t h = kiln_te_dim(in, 2), w = kiln_te_dim(in, 3);
    kiln_te *out = kiln_te_begin(a, "padded", 4, DIMS(n, c, h + 2 * pad, w + 2 * pad));
    const kiln_expr *y = kiln_te_var(out, 2), *x = kiln_te_var(out, 3);
    const kiln_expr *cond = kiln_x_binary(
        a, KILN_EXPR_AND,
        kiln_x_binary(a, KILN_EXPR_AND,
                      kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, pad), y),
                      kiln_x_binary(a, KILN_EXPR_LT, y, kiln_x_index(a, h + pad))),
        kiln_x_binary(a, KILN_EXPR_AND,
                      kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, pad), x),
                      kiln_x_binary(a, KILN_EXPR_LT, x, kiln_x_index(a, w + pad))));
    const kiln_expr *v = at(a, in,
                            INDEX(kiln_te_var(out, 0), kiln_te_var(out, 1),
                                  plus(a, y, -pad), plus(a, x, -pad)));
    seal(out, kiln_x_select(a, cond, v, kiln_x_float(a, KILN_F32, 0)));
    return out;
}

static void conv_of(kiln_arena *a, te_example *x, int64_t c, int64_t o, int64_t size,
                    int64_t k, int64_t stride, int64_t pad, int64_t dilation) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 4, DIMS(1, c, size, size));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 4, DIMS(o, c, k, k));
    kiln_te *padded = pad_2d(a, in, pad);
    const int64_t n = (size + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
    kiln_te *out = kiln_te_begin(a, "y", 4, DIMS(1, o, n, n));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "ic", c),
                            kiln_te_reduce_axis(out, "kh", k),
                            kiln_te_reduce_axis(out, "kw", k)};
    const kiln_expr *ic = kiln_axis_var(a, r[0]), *kh = kiln_axis_var(a, r[1]),
                    *kw = kiln_axis_var(a, r[2]);
    const kiln_expr *y =
        kiln_x_add(a, times(a, kiln_te_var(out, 2), stride), times(a, kh, dilation));
    const kiln_expr *xx =
        kiln_x_add(a, times(a, kiln_te_var(out, 3), stride), times(a, kw, dilation));
    seal(out,
         kiln_te_sum(out,
                     kiln_x_mul(a, at(a, padded, INDEX(kiln_te_var(out, 0), ic, y, xx)),
                                at(a, w, INDEX(kiln_te_var(out, 1), ic, kh, kw))),
                     r, 3));
    inputs(x, in, w);
    x->stage[x->n_stages++] = padded;
    x->arg[x->n_args++] = out;
}

static void conv_3x3(kiln_arena *a, te_example *x) {
    conv_of(a, x, 3, 5, 9, 3, 1, 1, 1);
}
static void conv_7x7_s2(kiln_arena *a, te_example *x) {
    conv_of(a, x, 2, 3, 13, 7, 2, 3, 1);
}
static void conv_dilated(kiln_arena *a, te_example *x) {
    conv_of(a, x, 2, 4, 11, 3, 1, 2, 2);
}
static void conv_1x1(kiln_arena *a, te_example *x) {
    conv_of(a, x, 17, 20, 5, 1, 1, 0, 1);
}

static void depthwise(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, DIMS(7, 11, 11));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 3, DIMS(7, 3, 3));
    kiln_te *out = kiln_te_begin(a, "y", 3, DIMS(7, 9, 9));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *c = kiln_te_var(out, 0), *kh = kiln_axis_var(a, r[0]),
                    *kw = kiln_axis_var(a, r[1]);
    seal(out, kiln_te_sum(out,
                          kiln_x_mul(a,
                                     at(a, in,
                                        INDEX(c, kiln_x_add(a, kiln_te_var(out, 1), kh),
                                              kiln_x_add(a, kiln_te_var(out, 2), kw))),
                                     at(a, w, INDEX(c, kh, kw))),
                          r, 2));
    inputs(x, in, w);
    x->arg[x->n_args++] = out;
}

static void max_pool(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, DIMS(3, 13, 13));
    kiln_te *out = kiln_te_begin(a, "y", 3, DIMS(3, 6, 6));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *v = at(
        a, in,
        INDEX(kiln_te_var(out, 0),
              kiln_x_add(a, times(a, kiln_te_var(out, 1), 2), kiln_axis_var(a, r[0])),
              kiln_x_add(a, times(a, kiln_te_var(out, 2), 2), kiln_axis_var(a, r[1]))));
    seal(out, kiln_x_reduce(a, kiln_reducer_max(a, KILN_F32), &v, r, 2, NULL, 0));
    inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

const te_example_def te_examples[] = {
    {"relu_chain", relu_chain},
    {"sigmoid_1d", sigmoid_1d},
    {"broadcast_add", broadcast_add},
    {"transposed", transposed},
    {"strided_slice", strided_slice},
    {"reshaped", reshaped},
    {"gathered", gathered},
    {"matmul", matmul},
    {"matmul_i8", matmul_i8},
    {"matmul_one", matmul_one},
    {"row_sum", row_sum},
    {"total", total},
    {"argmax", argmax},
    {"normalized", normalized},
    {"conv_3x3", conv_3x3},
    {"conv_7x7_s2", conv_7x7_s2},
    {"conv_dilated", conv_dilated},
    {"conv_1x1", conv_1x1},
    {"depthwise", depthwise},
    {"max_pool", max_pool},
};
const size_t n_te_examples = sizeof te_examples / sizeof te_examples[0];
