/* Tensor expressions as networks have them: blocked layouts, groups, mixed dtypes,
 * chains of stages, indexes that are data, conditions at edges. Sizes are odd, prime or
 * 1; channel counts are such that no block divides them. */
#include "tests/support/kernel/te_build.h"

/* ---- convolutions ---------------------------------------------------------------- */

/* NCHW to NCHW[4]c with padding, 17 channels in 5 blocks whose tail is zero. */
static kiln_te *block_and_pad(kiln_arena *a, const kiln_te *in, int64_t pad) {
    const int64_t c = kiln_te_dim(in, 0), h = kiln_te_dim(in, 1),
                  w = kiln_te_dim(in, 2);
    kiln_te *out = kiln_te_begin(a, "packed", 4,
                                 TE_DIMS((c + 3) / 4, h + 2 * pad, w + 2 * pad, 4));
    const kiln_expr *y = kiln_te_var(out, 1), *x = kiln_te_var(out, 2);
    const kiln_expr *channel =
        kiln_x_add(a, te_times(a, kiln_te_var(out, 0), 4), kiln_te_var(out, 3));
    const kiln_expr *cond = te_binary(a, KILN_EXPR_AND, te_inside(a, y, pad, h + pad),
                                      te_inside(a, x, pad, w + pad));
    cond = te_binary(a, KILN_EXPR_AND, cond,
                     te_binary(a, KILN_EXPR_LT, channel, kiln_x_index(a, c)));
    const kiln_expr *v =
        te_at(a, in, TE_INDEX(channel, te_plus(a, y, -pad), te_plus(a, x, -pad)));
    te_seal(out, kiln_x_select(a, cond, v, kiln_x_float(a, KILN_F32, 0)));
    return out;
}

/* NCHW[4]c, weights [oc][ic/4][kh][kw][4ic][4oc], 17 channels to 11. */
void te_make_conv_blocked(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(17, 4, 3));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 6, TE_DIMS(3, 5, 2, 2, 4, 4));
    kiln_te *packed = block_and_pad(a, in, 1);
    kiln_te *blocked = kiln_te_begin(a, "blocked", 4, TE_DIMS(3, 5, 4, 4));
    const kiln_axis *r[] = {
        kiln_te_reduce_axis(blocked, "ic", 5), kiln_te_reduce_axis(blocked, "kh", 2),
        kiln_te_reduce_axis(blocked, "kw", 2), kiln_te_reduce_axis(blocked, "ci", 4)};
    const kiln_expr *ic = kiln_axis_var(a, r[0]), *kh = kiln_axis_var(a, r[1]),
                    *kw = kiln_axis_var(a, r[2]), *ci = kiln_axis_var(a, r[3]);
    const kiln_expr *oc = kiln_te_var(blocked, 0), *co = kiln_te_var(blocked, 3);
    const kiln_expr *v =
        te_at(a, packed,
              TE_INDEX(ic, kiln_x_add(a, kiln_te_var(blocked, 1), kh),
                       kiln_x_add(a, kiln_te_var(blocked, 2), kw), ci));
    te_seal(blocked,
            kiln_te_sum(blocked,
                        kiln_x_mul(a, v, te_at(a, w, TE_INDEX(oc, ic, kh, kw, ci, co))),
                        r, 4));
    /* Back to NCHW, with a ReLU on the way. */
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(11, 5, 4));
    const kiln_expr *c = kiln_te_var(out, 0), *four = kiln_x_index(a, 4);
    v = te_at(a, blocked,
              TE_INDEX(te_binary(a, KILN_EXPR_FLOORDIV, c, four), kiln_te_var(out, 1),
                       kiln_te_var(out, 2), te_binary(a, KILN_EXPR_FLOORMOD, c, four)));
    te_seal(out, te_binary(a, KILN_EXPR_MAX, v, kiln_x_float(a, KILN_F32, 0)));
    te_inputs(x, in, w);
    x->stage[x->n_stages++] = packed;
    x->stage[x->n_stages++] = blocked;
    x->arg[x->n_args++] = out;
}

/* Three groups of 2 to 3 channels, stride 2, dilation 2: the group is a quotient. */
void te_make_conv_grouped(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(6, 9, 11));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 4, TE_DIMS(9, 2, 3, 3));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(9, 3, 4));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "ic", 2),
                            kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *ic = kiln_axis_var(a, r[0]), *kh = kiln_axis_var(a, r[1]),
                    *kw = kiln_axis_var(a, r[2]), *o = kiln_te_var(out, 0);
    const kiln_expr *group = te_binary(a, KILN_EXPR_FLOORDIV, o, kiln_x_index(a, 3));
    const kiln_expr *v = te_at(
        a, in,
        TE_INDEX(
            kiln_x_add(a, te_times(a, group, 2), ic),
            kiln_x_add(a, te_times(a, kiln_te_var(out, 1), 2), te_times(a, kh, 2)),
            kiln_x_add(a, te_times(a, kiln_te_var(out, 2), 2), te_times(a, kw, 2))));
    te_seal(
        out,
        kiln_te_sum(out, kiln_x_mul(a, v, te_at(a, w, TE_INDEX(o, ic, kh, kw))), r, 3));
    te_inputs(x, in, w);
    x->arg[x->n_args++] = out;
}

/* One axis of a transposed convolution of stride 2 and pad 1: input position of tap k
 * of output y, and whether there is one. */
static const kiln_expr *deconv_at(kiln_arena *a, const kiln_expr *y, const kiln_expr *k,
                                  int64_t size, const kiln_expr **is_there) {
    const kiln_expr *two = kiln_x_index(a, 2);
    const kiln_expr *far = kiln_x_sub(a, te_plus(a, y, 1), k);
    const kiln_expr *at = te_binary(a, KILN_EXPR_FLOORDIV, far, two);
    *is_there =
        te_binary(a, KILN_EXPR_AND,
                  te_binary(a, KILN_EXPR_EQ, te_binary(a, KILN_EXPR_FLOORMOD, far, two),
                            kiln_x_index(a, 0)),
                  te_inside(a, at, 0, size));
    return at;
}

void te_make_deconv(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(3, 4, 5));
    kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 4, TE_DIMS(3, 2, 3, 3));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(2, 7, 9));
    const kiln_axis *r[] = {kiln_te_reduce_axis(out, "ic", 3),
                            kiln_te_reduce_axis(out, "kh", 3),
                            kiln_te_reduce_axis(out, "kw", 3)};
    const kiln_expr *ic = kiln_axis_var(a, r[0]), *kh = kiln_axis_var(a, r[1]),
                    *kw = kiln_axis_var(a, r[2]);
    const kiln_expr *cond[2];
    const kiln_expr *y = deconv_at(a, kiln_te_var(out, 1), kh, 4, &cond[0]);
    const kiln_expr *xx = deconv_at(a, kiln_te_var(out, 2), kw, 5, &cond[1]);
    const kiln_expr *v =
        kiln_x_select(a, te_binary(a, KILN_EXPR_AND, cond[0], cond[1]),
                      te_at(a, in, TE_INDEX(ic, y, xx)), kiln_x_float(a, KILN_F32, 0));
    te_seal(out, kiln_te_sum(
                     out,
                     kiln_x_mul(a, v,
                                te_at(a, w, TE_INDEX(ic, kiln_te_var(out, 0), kh, kw))),
                     r, 3));
    te_inputs(x, in, w);
    x->arg[x->n_args++] = out;
}

/* ---- pooling and resizing -------------------------------------------------------- */

/* How many of the taps 2 * at - 1 .. 2 * at + 1 lie in [0, size). */
static const kiln_expr *taps_inside(kiln_arena *a, const kiln_expr *at, int64_t size) {
    const kiln_expr *lo = te_binary(
        a, KILN_EXPR_MAX, te_plus(a, te_times(a, at, 2), -1), kiln_x_index(a, 0));
    const kiln_expr *hi = te_binary(a, KILN_EXPR_MIN, te_plus(a, te_times(a, at, 2), 2),
                                    kiln_x_index(a, size));
    return kiln_x_sub(a, hi, lo);
}

/* Taps outside take no part: the reduction has a condition. */
void te_make_avg_pool_edges(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(3, 9, 12));
    kiln_te *sum = kiln_te_begin(a, "sum", 3, TE_DIMS(3, 5, 6));
    const kiln_axis *r[] = {kiln_te_reduce_axis(sum, "kh", 3),
                            kiln_te_reduce_axis(sum, "kw", 3)};
    const kiln_expr *at[2];
    for (int i = 0; i < 2; i++)
        at[i] = te_plus(a,
                        kiln_x_add(a, te_times(a, kiln_te_var(sum, 1 + i), 2),
                                   kiln_axis_var(a, r[i])),
                        -1);
    const kiln_expr *cond = te_binary(a, KILN_EXPR_AND, te_inside(a, at[0], 0, 9),
                                      te_inside(a, at[1], 0, 12));
    const kiln_expr *v = te_at(a, in, TE_INDEX(kiln_te_var(sum, 0), at[0], at[1]));
    te_seal(sum, kiln_x_reduce(a, kiln_reducer_sum(a, KILN_F32), &v, r, 2, cond, 0));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(3, 5, 6));
    const kiln_expr *c = kiln_te_var(out, 0), *i = kiln_te_var(out, 1),
                    *j = kiln_te_var(out, 2);
    const kiln_expr *n = kiln_x_mul(a, taps_inside(a, i, 9), taps_inside(a, j, 12));
    te_seal(out, te_binary(a, KILN_EXPR_DIV, te_at(a, sum, TE_INDEX(c, i, j)),
                           kiln_x_cast(a, KILN_F32, n)));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = sum;
    x->arg[x->n_args++] = out;
}

/* Nearest: positions are quotients that no stride describes. */
void te_make_resize_nearest(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_U8, 3, TE_DIMS(3, 5, 4));
    kiln_te *wide = kiln_te_begin(a, "wide", 3, TE_DIMS(3, 5, 4));
    const kiln_expr *v = te_at(
        a, in,
        TE_INDEX(kiln_te_var(wide, 0), kiln_te_var(wide, 1), kiln_te_var(wide, 2)));
    te_seal(wide, kiln_x_mul(a, kiln_x_cast(a, KILN_F32, v),
                             kiln_x_float(a, KILN_F32, 0x1p-8)));
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(3, 7, 11));
    const kiln_expr *at[2];
    const int64_t from[] = {5, 4}, to[] = {7, 11};
    for (int i = 0; i < 2; i++)
        at[i] = te_binary(a, KILN_EXPR_FLOORDIV,
                          te_times(a, kiln_te_var(out, 1 + i), from[i]),
                          kiln_x_index(a, to[i]));
    te_seal(out, te_at(a, wide, TE_INDEX(kiln_te_var(out, 0), at[0], at[1])));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = wide;
    x->arg[x->n_args++] = out;
}

/* ---- dtypes ---------------------------------------------------------------------- */

/* u8 x i8 in groups of four (as vpdpbusd and udot take them) to i32, then
 * clamp((sum * 3 + 8) >> 4) to i8. */
void te_make_dot_requantized(kiln_arena *a, te_example *x) {
    kiln_te *p = kiln_te_placeholder(a, "p", KILN_U8, 2, TE_DIMS(3, 20));
    kiln_te *q = kiln_te_placeholder(a, "q", KILN_I8, 3, TE_DIMS(5, 17, 4));
    kiln_te *dot = kiln_te_begin(a, "dot", 2, TE_DIMS(3, 17));
    const kiln_axis *r[] = {kiln_te_reduce_axis(dot, "ko", 5),
                            kiln_te_reduce_axis(dot, "ki", 4)};
    const kiln_expr *ko = kiln_axis_var(a, r[0]), *ki = kiln_axis_var(a, r[1]);
    const kiln_expr *pv = te_at(
        a, p, TE_INDEX(kiln_te_var(dot, 0), kiln_x_add(a, te_times(a, ko, 4), ki)));
    const kiln_expr *qv = te_at(a, q, TE_INDEX(ko, kiln_te_var(dot, 1), ki));
    te_seal(dot, kiln_te_sum(dot,
                             kiln_x_mul(a, kiln_x_cast(a, KILN_I32, pv),
                                        kiln_x_cast(a, KILN_I32, qv)),
                             r, 2));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(3, 17));
    const kiln_expr *v =
        te_at(a, dot, TE_INDEX(kiln_te_var(out, 0), kiln_te_var(out, 1)));
    v = kiln_x_add(a, kiln_x_mul(a, v, kiln_x_int(a, KILN_I32, 3)),
                   kiln_x_int(a, KILN_I32, 8));
    v = te_binary(a, KILN_EXPR_SHR, v, kiln_x_int(a, KILN_I32, 4));
    v = te_binary(a, KILN_EXPR_MAX, v, kiln_x_int(a, KILN_I32, -128));
    v = te_binary(a, KILN_EXPR_MIN, v, kiln_x_int(a, KILN_I32, 127));
    te_seal(out, kiln_x_cast(a, KILN_I8, v));
    te_inputs(x, p, q);
    x->stage[x->n_stages++] = dot;
    x->arg[x->n_args++] = out;
}

/* f16 activations, bf16 weights, sums in f32, and f16 again. */
void te_make_mixed_floats(kiln_arena *a, te_example *x) {
    kiln_te *p = kiln_te_placeholder(a, "p", KILN_F16, 2, TE_DIMS(5, 17));
    kiln_te *q = kiln_te_placeholder(a, "q", KILN_BF16, 2, TE_DIMS(17, 13));
    kiln_te *acc = kiln_te_begin(a, "acc", 2, TE_DIMS(5, 13));
    const kiln_axis *r = kiln_te_reduce_axis(acc, "k", 17);
    const kiln_expr *k = kiln_axis_var(a, r);
    const kiln_expr *pv = te_at(a, p, TE_INDEX(kiln_te_var(acc, 0), k));
    const kiln_expr *qv = te_at(a, q, TE_INDEX(k, kiln_te_var(acc, 1)));
    te_seal(acc, kiln_te_sum(acc,
                             kiln_x_mul(a, kiln_x_cast(a, KILN_F32, pv),
                                        kiln_x_cast(a, KILN_F32, qv)),
                             &r, 1));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(5, 13));
    const kiln_expr *v =
        te_at(a, acc, TE_INDEX(kiln_te_var(out, 0), kiln_te_var(out, 1)));
    te_seal(out,
            kiln_x_cast(a, KILN_F16,
                        te_binary(a, KILN_EXPR_MAX, v, kiln_x_float(a, KILN_F32, -1))));
    te_inputs(x, p, q);
    x->stage[x->n_stages++] = acc;
    x->arg[x->n_args++] = out;
}

/* ---- chains ---------------------------------------------------------------------- */

/* sum over the last axis of `te` of f(te) as a stage of rank 2. */
static kiln_te *row_mean(kiln_arena *a, const kiln_te *te, const char *name,
                         bool squares) {
    const int64_t n = kiln_te_dim(te, 2);
    kiln_te *out = kiln_te_begin(a, name, 2, TE_DIMS(kiln_te_dim(te, 0), 1));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", n);
    const kiln_expr *v = te_at(
        a, te, TE_INDEX(kiln_te_var(out, 0), kiln_te_var(out, 1), kiln_axis_var(a, r)));
    v = kiln_x_mul(a, squares ? kiln_x_mul(a, v, v) : v,
                   kiln_x_float(a, KILN_F32, 1.0 / (double)n));
    te_seal(out, kiln_te_sum(out, v, &r, 1));
    return out;
}

/* Moments of rows, over axes one of which has extent 1. */
void te_make_layer_norm(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 3, TE_DIMS(5, 1, 31));
    kiln_te *gain = kiln_te_placeholder(a, "gain", KILN_F32, 1, TE_DIMS(31));
    kiln_te *mean = row_mean(a, in, "mean", false);
    kiln_te *centered = kiln_te_begin(a, "centered", 3, TE_DIMS(5, 1, 31));
    const kiln_expr *i = kiln_te_var(centered, 0), *j = kiln_te_var(centered, 1),
                    *k = kiln_te_var(centered, 2);
    te_seal(centered, kiln_x_sub(a, te_at(a, in, TE_INDEX(i, j, k)),
                                 te_at(a, mean, TE_INDEX(i, j))));
    kiln_te *var = row_mean(a, centered, "var", true);
    kiln_te *out = kiln_te_begin(a, "y", 3, TE_DIMS(5, 1, 31));
    i = kiln_te_var(out, 0);
    j = kiln_te_var(out, 1);
    k = kiln_te_var(out, 2);
    const kiln_expr *v =
        kiln_x_add(a, te_at(a, var, TE_INDEX(i, j)), kiln_x_float(a, KILN_F32, 1e-5));
    v = kiln_x_mul(a, te_at(a, centered, TE_INDEX(i, j, k)),
                   kiln_x_call(a, KILN_INTRIN_rsqrt, &v));
    te_seal(out, kiln_x_mul(a, v, te_at(a, gain, TE_INDEX(k))));
    te_inputs(x, in, gain);
    x->stage[x->n_stages++] = mean;
    x->stage[x->n_stages++] = centered;
    x->stage[x->n_stages++] = var;
    x->arg[x->n_args++] = out;
}

/* Two outputs of different shapes that read one stage. */
void te_make_shared_producer(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F64, 2, TE_DIMS(7, 13));
    kiln_te *both = kiln_te_begin(a, "both", 2, TE_DIMS(7, 13));
    const kiln_expr *v =
        te_at(a, in, TE_INDEX(kiln_te_var(both, 0), kiln_te_var(both, 1)));
    te_seal(both, kiln_x_call(a, KILN_INTRIN_tanh, &v));
    kiln_te *first = kiln_te_begin(a, "first", 2, TE_DIMS(13, 7));
    te_seal(first,
            kiln_x_add(
                a,
                te_at(a, both, TE_INDEX(kiln_te_var(first, 1), kiln_te_var(first, 0))),
                kiln_x_float(a, KILN_F64, 1)));
    kiln_te *second = kiln_te_begin(a, "second", 1, TE_DIMS(13));
    const kiln_axis *r = kiln_te_reduce_axis(second, "r", 7);
    v = te_at(a, both, TE_INDEX(kiln_axis_var(a, r), kiln_te_var(second, 0)));
    te_seal(second,
            kiln_x_reduce(a, kiln_reducer_min(a, KILN_F64), &v, &r, 1, NULL, 0));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = both;
    x->arg[x->n_args++] = first;
    x->arg[x->n_args++] = second;
}

/* ---- indexes that are data, conditions on axes ----------------------------------- */

/* Rows of a table, picked by indexes that wrap, and summed. */
void te_make_embedding_bag(kiln_arena *a, te_example *x) {
    kiln_te *table = kiln_te_placeholder(a, "table", KILN_F32, 2, TE_DIMS(7, 11));
    kiln_te *index = kiln_te_placeholder(a, "index", KILN_I32, 2, TE_DIMS(5, 3));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(5, 11));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 3);
    const kiln_expr *row =
        te_at(a, index, TE_INDEX(kiln_te_var(out, 0), kiln_axis_var(a, r)));
    row = te_binary(a, KILN_EXPR_FLOORMOD, kiln_x_cast(a, KILN_I64, row),
                    kiln_x_index(a, 7));
    te_seal(out, kiln_te_sum(out, te_at(a, table, TE_INDEX(row, kiln_te_var(out, 1))),
                             &r, 1));
    te_inputs(x, table, index);
    x->arg[x->n_args++] = out;
}

/* The place of the least element of each 3 x 29 plane (small integers: ties are many),
 * then what stands there, read through the place. */
void te_make_argmin_picked(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_I16, 3, TE_DIMS(5, 3, 29));
    kiln_te *best = kiln_te_begin(a, "best", 1, TE_DIMS(5));
    const kiln_axis *r[] = {kiln_te_reduce_axis(best, "r", 3),
                            kiln_te_reduce_axis(best, "s", 29)};
    const kiln_expr *rv = kiln_axis_var(a, r[0]), *sv = kiln_axis_var(a, r[1]);
    const kiln_reducer *reducer = kiln_reducer_argmin(a, KILN_I16);
    const kiln_expr *source[] = {kiln_x_add(a, te_times(a, rv, 29), sv),
                                 te_at(a, in, TE_INDEX(kiln_te_var(best, 0), rv, sv))};
    const kiln_expr *body[] = {kiln_x_reduce(a, reducer, source, r, 2, NULL, 0),
                               kiln_x_reduce(a, reducer, source, r, 2, NULL, 1)};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_te_end(best, 2, body, &err), &err);
    kiln_te *out = kiln_te_begin(a, "y", 1, TE_DIMS(5));
    const kiln_expr *i = kiln_te_var(out, 0), *n = kiln_x_index(a, 29);
    const kiln_expr *place = kiln_x_read(a, best, 0, &i, 1);
    const kiln_expr *v = te_at(a, in,
                               TE_INDEX(i, te_binary(a, KILN_EXPR_FLOORDIV, place, n),
                                        te_binary(a, KILN_EXPR_FLOORMOD, place, n)));
    v = kiln_x_sub(a, te_times(a, kiln_x_cast(a, KILN_I64, v), 100), place);
    te_seal(out,
            kiln_x_sub(a, v, kiln_x_cast(a, KILN_I64, kiln_x_read(a, best, 1, &i, 1))));
    te_inputs(x, in, NULL);
    x->stage[x->n_stages++] = best;
    x->arg[x->n_args++] = out;
}

/* The condition of the reduction depends on the axis that is computed. */
void te_make_prefix_sum(kiln_arena *a, te_example *x) {
    kiln_te *in = kiln_te_placeholder(a, "x", KILN_F32, 2, TE_DIMS(3, 23));
    kiln_te *out = kiln_te_begin(a, "y", 2, TE_DIMS(3, 23));
    const kiln_axis *r = kiln_te_reduce_axis(out, "r", 23);
    const kiln_expr *k = kiln_axis_var(a, r);
    const kiln_expr *v = te_at(a, in, TE_INDEX(kiln_te_var(out, 0), k));
    te_seal(out, kiln_x_reduce(a, kiln_reducer_sum(a, KILN_F32), &v, &r, 1,
                               te_binary(a, KILN_EXPR_LE, k, kiln_te_var(out, 1)), 0));
    te_inputs(x, in, NULL);
    x->arg[x->n_args++] = out;
}
