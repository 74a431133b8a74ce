/* Sizes are odd, prime or 1 on purpose: no split divides them all. */
#include "tests/support/kernel/te_build.h"

/* ---- element-wise ---------------------------------------------------------------- */

void te_make_relu_chain(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(17, 23));
    kiln_te *scaled = kiln_te_begin(a, "scaled", 2, TE_DIMS(17, 23));
    const kiln_expr *i = kiln_te_var(scaled, 0), *j = kiln_te_var(scaled, 1);
    te_seal(scaled, kiln_x_mul(a, te_at(a, in, TE_INDEX(i, j)),
                               kiln_x_float(a, KILN_F32, 1.5)));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(17, 23));
    i = kiln_te_var(out, 0);
    j = kiln_te_var(out, 1);
    te_seal(out, kiln_x_binary(a, KILN_EXPR_MAX, te_at(a, scaled, TE_INDEX(i, j)),
                               kiln_x_float(a, KILN_F32, 0)));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = scaled;
    x->arg[x->n_args++] = out;
}

void te_make_sigmoid_1d(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 1, TE_DIMS(101));
    kiln_te *out = kiln_te_begin(a, "y", 1, TE_DIMS(101));
    const kiln_expr *v = te_at(a, in, TE_INDEX(kiln_te_var(out, 0)));
    te_seal(out, kiln_x_call(a, KILN_INTRIN_sigmoid, &v));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

void te_make_broadcast_add(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(3, 5, 7));
    kiln_te *bias = kiln_te_placeholder(a, "b", KILN_F32, 1, TE_DIMS(5));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(3, 5, 7));
    const kiln_expr *c = kiln_te_var(out, 1);
    te_seal(out,
            kiln_x_add(
                a, te_at(a, in, TE_INDEX(kiln_te_var(out, 0), c, kiln_te_var(out, 2))),
                te_at(a, bias, TE_INDEX(c))));
    te_inputs(x, in, bias);
    x->arg[x->n_args++] = out;
}

void te_make_transposed(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_I32, 3, TE_DIMS(4, 9, 5));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(5, 4, 9));
    te_seal(out, te_at(a, in,
                       TE_INDEX(kiln_te_var(out, 1), kiln_te_var(out, 2),
                                kiln_te_var(out, 0))));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Reads backwards, and only every third element. */
void te_make_strided_slice(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F64, 1, TE_DIMS(50));
    kiln_te *out = kiln_te_begin(a, "y", 1, TE_DIMS(17));
    const kiln_expr *i = kiln_te_var(out, 0);
    te_seal(
        out,
        te_at(a, in, TE_INDEX(kiln_x_sub(a, kiln_x_index(a, 49), te_times(a, i, 3)))));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Collapses and splits axes by division and remainder, as reshape does. */
void te_make_reshaped(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(6, 35));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(5, 3, 14));
    const kiln_expr *flat = kiln_x_add(
        a,
        te_times(
            a, kiln_x_add(a, te_times(a, kiln_te_var(out, 0), 3), kiln_te_var(out, 1)),
            14),
        kiln_te_var(out, 2));
    const kiln_expr *n = kiln_x_index(a, 35);
    te_seal(out, te_at(a, in,
                       TE_INDEX(kiln_x_binary(a, KILN_EXPR_FLOORDIV, flat, n),
                                kiln_x_binary(a, KILN_EXPR_FLOORMOD, flat, n))));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Indexes that are data. */
void te_make_gathered(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(3, 7));
    kiln_te *index = kiln_te_placeholder(a, "index", KILN_BOOL, 1, TE_DIMS(11));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(11, 7));
    const kiln_expr *row =
        kiln_x_cast(a, KILN_I64, te_at(a, index, TE_INDEX(kiln_te_var(out, 0))));
    te_seal(out, te_at(a, in, TE_INDEX(row, kiln_te_var(out, 1))));
    te_inputs(x, in, index);
    x->arg[x->n_args++] = out;
}

/* ---- reductions ------------------------------------------------------------------ */

static void matmul_of(kiln_arena *a, te_example *x, int64_t m, int64_t n, int64_t k,
                      kiln_dtype in, kiln_dtype acc) {
    kiln_te *p = kiln_te_placeholder(a, "p", in, 2, TE_DIMS(m, k));
    kiln_te *q = kiln_te_placeholder(a, "q", in, 2, TE_DIMS(k, n));
    kiln_te *c = kiln_te_begin(a, "c", 2, TE_DIMS(m, n));
    const kiln_axis *r = kiln_te_reduce_axis(c, "k", k);
    const kiln_expr *kk = kiln_axis_var(a, r);
    const kiln_expr *pv =
        kiln_x_cast(a, acc, te_at(a, p, TE_INDEX(kiln_te_var(c, 0), kk)));
    const kiln_expr *qv =
        kiln_x_cast(a, acc, te_at(a, q, TE_INDEX(kk, kiln_te_var(c, 1))));
    te_seal(c, kiln_te_sum(c, kiln_x_mul(a, pv, qv), &r, 1));
    te_inputs(x, p, q);
    x->arg[x->n_args++] = c;
}

void te_make_matmul(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 13, 19, 11, KILN_F32, KILN_F32);
}

void te_make_matmul_i8(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 7, 17, 20, KILN_I8, KILN_I32);
}

void te_make_matmul_one(kiln_arena *a, te_example *x) {
    matmul_of(a, x, 1, 1, 1, KILN_F64, KILN_F64);
}

void te_make_row_sum(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(5, 37));
    kiln_te *out = kiln_te_begin(a, "y", 1, TE_DIMS(5));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 37);
    te_seal(out,
            kiln_te_sum(
                out, te_at(a, in, TE_INDEX(kiln_te_var(out, 0), kiln_axis_var(a, r))),
                &r, 1));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

void te_make_total(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_I32, 2, TE_DIMS(7, 9));
    kiln_te *out = kiln_te_begin(a, "y", 0, NULL);
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "r", 7),
                            kiln_te_reduce_axis(out, "s", 9)};
    te_seal(out,
            kiln_te_sum(
                out,
                te_at(a, in, TE_INDEX(kiln_axis_var(a, r[0]), kiln_axis_var(a, r[1]))),
                r, 2));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Two outputs from one tuple reduction. */
void te_make_argmax(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(6, 29));
    kiln_te *out = kiln_te_begin(a, "y", 1, TE_DIMS(6));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 29);
    const kiln_reducer *reducer = kiln_reducer_argmax(a, KILN_F32);
    const kiln_expr *source[] = {
        kiln_axis_var(a, r),
        te_at(a, in, TE_INDEX(kiln_te_var(out, 0), kiln_axis_var(a, r)))};
    const kiln_expr *body[] = {kiln_x_reduce(a, reducer, source, &r, 1, NULL, 0),
                               kiln_x_reduce(a, reducer, source, &r, 1, NULL, 1)};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_te_end(out, 2, body, &err), &err);
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

/* Three stages, the last reads the first two along different axes. */
void te_make_normalized(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F64, 2, TE_DIMS(4, 21));
    kiln_te *top = kiln_te_begin(a, "top", 1, TE_DIMS(4));
    const kiln_axis *r = kiln_te_reduce_axis(top, "r", 21);
    const kiln_expr *v =
        te_at(a, in, TE_INDEX(kiln_te_var(top, 0), kiln_axis_var(a, r)));
    te_seal(top, kiln_x_reduce(a, kiln_reducer_max(a, KILN_F64), &v, &r, 1, NULL, 0));
    kiln_te *shifted = kiln_te_begin(a, "shifted", 2, TE_DIMS(4, 21));
    const kiln_expr *i = kiln_te_var(shifted, 0);
    v = kiln_x_sub(a, te_at(a, in, TE_INDEX(i, kiln_te_var(shifted, 1))),
                   te_at(a, top, TE_INDEX(i)));
    te_seal(shifted, kiln_x_call(a, KILN_INTRIN_exp, &v));
    kiln_te *sum = kiln_te_begin(a, "sum", 1, TE_DIMS(4));
    r = kiln_te_reduce_axis(sum, "s", 21);
    te_seal(sum, kiln_te_sum(sum,
                             te_at(a, shifted,
                                   TE_INDEX(kiln_te_var(sum, 0), kiln_axis_var(a, r))),
                             &r, 1));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(4, 21));
    i = kiln_te_var(out, 0);
    te_seal(out, kiln_x_binary(a, KILN_EXPR_DIV,
                               te_at(a, shifted, TE_INDEX(i, kiln_te_var(out, 1))),
                               te_at(a, sum, TE_INDEX(i))));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = top;
    x->stage[x->n_stages++] = shifted;
    x->stage[x->n_stages++] = sum;
    x->arg[x->n_args++] = out;
}

/* ---- convolutions ---------------------------------------------------------------- */

/* Zero padding as a stage of its own: a select guards the read. */
static kiln_te *pad_2d(kiln_arena *a, const kiln_te *in, int64_t pad) {
    const int64_t n = kiln_te_dim(in, 0), c = kiln_te_dim(in, 1);
    const int64_t h = kiln_te_dim(in, 2), w = kiln_te_dim(in, 3);
    kiln_te *out =
        kiln_te_begin(a, "padded", 4, TE_DIMS(n, c, h + 2 * pad, w + 2 * pad));
    const kiln_expr *y = kiln_te_var(out, 2), *x = kiln_te_var(out, 3);
    const kiln_expr *cond = kiln_x_binary(
        a, KILN_EXPR_AND,
        kiln_x_binary(a, KILN_EXPR_AND,
                      kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, pad), y),
                      kiln_x_binary(a, KILN_EXPR_LT, y, kiln_x_index(a, h + pad))),
        kiln_x_binary(a, KILN_EXPR_AND,
                      kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, pad), x),
                      kiln_x_binary(a, KILN_EXPR_LT, x, kiln_x_index(a, w + pad))));
    const kiln_expr *v = te_at(a, in,
                               TE_INDEX(kiln_te_var(out, 0), kiln_te_var(out, 1),
                                        te_plus(a, y, -pad), te_plus(a, x, -pad)));
    te_seal(out, kiln_x_select(a, cond, v, kiln_x_float(a, KILN_F32, 0)));
    return out;
}

static void conv_of(kiln_arena *a, te_example *x, int64_t c, int64_t o, int64_t size,
                    int64_t k, int64_t stride, int64_t pad, int64_t dilation) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 4, TE_DIMS(1, c, size, size));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 4, TE_DIMS(o, c, k, k));
    kiln_te *padded = pad_2d(a, in, pad);
    const int64_t n = (size + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
    kiln_te *out = kiln_te_begin(a, "y", 4, TE_DIMS(1, o, n, n));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "ic", c),
                            kiln_te_reduce_axis(out, "kh", k),
                            kiln_te_reduce_axis(out, "kw", k)};
    const kiln_expr *ic = kiln_axis_var(a, r[0]), *kh = kiln_axis_var(a, r[1]),
                    *kw = kiln_axis_var(a, r[2]);
    const kiln_expr *y = kiln_x_add(a, te_times(a, kiln_te_var(out, 2), stride),
                                    te_times(a, kh, dilation));
    const kiln_expr *xx = kiln_x_add(a, te_times(a, kiln_te_var(out, 3), stride),
                                     te_times(a, kw, dilation));
    te_seal(out, kiln_te_sum(
                     out,
                     kiln_x_mul(
                         a, te_at(a, padded, TE_INDEX(kiln_te_var(out, 0), ic, y, xx)),
                         te_at(a, w, TE_INDEX(kiln_te_var(out, 1), ic, kh, kw))),
                     r, 3));
    te_inputs(x, in, w);
    x->stage[x->n_stages++] = padded;
    x->arg[x->n_args++] = out;
}

void te_make_conv_3x3(kiln_arena *a, te_example *x) {
    conv_of(a, x, 3, 5, 9, 3, 1, 1, 1);
}
void te_make_conv_7x7_s2(kiln_arena *a, te_example *x) {
    conv_of(a, x, 2, 3, 13, 7, 2, 3, 1);
}
void te_make_conv_dilated(kiln_arena *a, te_example *x) {
    conv_of(a, x, 2, 4, 11, 3, 1, 2, 2);
}
void te_make_conv_1x1(kiln_arena *a, te_example *x) {
    conv_of(a, x, 17, 20, 5, 1, 1, 0, 1);
}

void te_make_depthwise(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(7, 11, 11));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 3, TE_DIMS(7, 3, 3));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(7, 9, 9));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *c = kiln_te_var(out, 0), *kh = kiln_axis_var(a, r[0]),
                    *kw = kiln_axis_var(a, r[1]);
    te_seal(
        out,
        kiln_te_sum(out,
                    kiln_x_mul(a,
                               te_at(a, in,
                                     TE_INDEX(c, kiln_x_add(a, kiln_te_var(out, 1), kh),
                                              kiln_x_add(a, kiln_te_var(out, 2), kw))),
                               te_at(a, w, TE_INDEX(c, kh, kw))),
                    r, 2));
    te_inputs(x, in, w);
    x->arg[x->n_args++] = out;
}

void te_make_max_pool(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(3, 13, 13));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(3, 6, 6));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *v =
        te_at(a, in,
              TE_INDEX(kiln_te_var(out, 0),
                       kiln_x_add(a, te_times(a, kiln_te_var(out, 1), 2),
                                  kiln_axis_var(a, r[0])),
                       kiln_x_add(a, te_times(a, kiln_te_var(out, 2), 2),
                                  kiln_axis_var(a, r[1]))));
    te_seal(out, kiln_x_reduce(a, kiln_reducer_max(a, KILN_F32), &v, r, 2, NULL, 0));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}

const te_example_def te_examples[] = {
#define TE_EXAMPLE(name) {#name, te_make_##name},
#include "tests/support/kernel/te_examples.def"
#undef TE_EXAMPLE
};
const size_t n_te_examples = sizeof te_examples / sizeof te_examples[0];
