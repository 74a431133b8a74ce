/* Quantised operators of TensorFlow Lite: the fixed-point multiplication against its
 * definition, operators with hand-checked integers. */
#include "compiler/frontend/tflite/quant.h"

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/import/tflite_quant_rows.h"

/* ---- the definition ----------------------------------------------------------------- */

/* gemmlowp's SaturatingRoundingDoublingHighMul, then RoundingDivideByPOT, as TensorFlow
 * Lite's MultiplyByQuantizedMultiplier chains them. */
static int64_t defined(int64_t x, const kiln_tflite_fixed *f) {
    const int64_t left = f->shift > 0 ? f->shift : 0;
    const int64_t right = f->shift < 0 ? -f->shift : 0;
    const int64_t ab = x * (INT64_C(1) << left) * f->multiplier;
    const int64_t nudge = ab >= 0 ? INT64_C(1) << 30 : 1 - (INT64_C(1) << 30);
    const int64_t high = (ab + nudge) / (INT64_C(1) << 31);
    const int64_t mask = (INT64_C(1) << right) - 1;
    const int64_t rest = high & mask, most = (mask >> 1) + (high < 0);
    /* shifted as two's complement: floor */
    const int64_t down = high >= 0 ? high >> right : ~(~high >> right);
    return down + (rest > most);
}

static const char *name_of(kiln_import_cx *cx, const void *site) {
    (void)cx;
    (void)site;
    return "n";
}
static const char *out_name_of(kiln_import_cx *cx, const void *site, int i) {
    (void)i;
    return name_of(cx, site);
}
static const kiln_import_format format = {.node_name = name_of,
                                          .out_name = out_name_of};

/* Factors: from 2^-31 to 2^4, some exact powers of 2; operands: around halves of what is
 * shifted out, and the ends of 32 bits. */
static void multiplies_as_defined(void **state) {
    enum { N = 4000 };
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_import_cx cx;
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_import_begin(&cx, &format, a, &err);
    cx.graph = kiln_graph_new(a, "g");
    kiln_compose c = {.cx = &cx};
    const int64_t n = N;
    const kiln_type t = kiln_type_make(KILN_I32, 1, &n);
    const kiln_tensor x = kiln_tensor_new(a, &t);
    kiln_tflite_fixed *const f = kiln_array(a, kiln_tflite_fixed, N);
    for (int i = 0; i < N; i++) {
        const uint64_t r = kiln_rng_next(&rng);
        const double mantissa = r % 4 == 0 ? 1.0 : 1.0 + (double)(r % 1000) / 1000;
        const double sign = r / 35000 % 4 == 0 ? -1 : 1;
        f[i] = kiln_tflite_fixed_of(sign * ldexp(mantissa, (int)(r / 1000 % 35) - 31));
        const int32_t any = i == 0 ? INT32_MIN
                            : i == 1
                                ? INT32_MAX
                                : (int32_t)kiln_rng_range(&rng, INT32_MIN, INT32_MAX);
        const int less = r % 2 == 0 ? (f[i].shift > 0 ? f[i].shift : 0) : 18;
        ((int32_t *)x.data)[i] = any / (1 << less);
    }
    kiln_value *const in = kiln_graph_add_input(cx.graph, "x", &t);
    kiln_value *const y = kiln_tflite_multiply_fixed(&c, in, f, N, 1, &n);
    kiln_assert_status_ok(c.status, &err);
    kiln_graph_add_output(cx.graph, y, "y");
    cx.graph->facts |= KILN_TYPED;
    kiln_tensor out;
    kiln_assert_status_ok(kiln_ref_run(a, cx.graph, &x, 1, &out, &err), &err);
    for (int i = 0; i < N; i++)
        if (((int64_t *)out.data)[i] != defined(((int32_t *)x.data)[i], &f[i]))
            fail_msg("%d * %lld * 2^(%d - 31) must be %lld, is %lld",
                     ((int32_t *)x.data)[i], (long long)f[i].multiplier, f[i].shift,
                     (long long)defined(((int32_t *)x.data)[i], &f[i]),
                     (long long)((int64_t *)out.data)[i]);
    kiln_import_end(&cx);
}

static void factors_are_in_range(void **state) {
    (void)state;
    const kiln_tflite_fixed half = kiln_tflite_fixed_of(0.5);
    assert_true(half.multiplier == INT64_C(1) << 30 && half.shift == 0);
    const kiln_tflite_fixed below_one = kiln_tflite_fixed_of(1 - 0x1p-40);
    assert_true(below_one.multiplier == INT64_C(1) << 30 && below_one.shift == 1);
    assert_true(kiln_tflite_fixed_of(0).multiplier == 0);
    assert_true(kiln_tflite_fixed_of(0x1p-40).multiplier == 0);
    assert_true(kiln_tflite_fixed_of(0x1p40).multiplier == INT32_MAX);
    assert_true(kiln_tflite_fixed_of(-0.75).multiplier == -INT64_C(3) * (1 << 29));
    assert_true(kiln_tflite_fixed_of(-0x1p40).multiplier == -(int64_t)INT32_MAX);
}

/* ---- operators ---------------------------------------------------------------------- */

#define BIAS(shape_, scale_, ...)                                                      \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_I32, .scale = (scale_),                    \
        .v = {__VA_ARGS__}, .is_const = true                                           \
    }

#define SVDF(bias)                                                                     \
    .code = 27, .option = {{0, 4, 2}, {1, 1, 1}}, .n_options = 2, .n_in = 5, EXACT,    \
    .in = {I8("1x1", 1, 1, 3),                                                         \
           W8("2x1", 1, 1, 2),                                                         \
           {.shape = "2x1",                                                            \
            .type = KILN_TFW_I16,                                                      \
            .scale = .5F,                                                              \
            .v = {3, 4},                                                               \
            .is_const = true},                                                         \
           BIAS("1", .5F, (bias)),                                                     \
           {.shape = "1x2", .type = KILN_TFW_I16, .scale = 1, .is_variable = true}}

static kiln_tflite_case rows[] = {
    /* 10 + 40 + 3 = 53 eighths, 6.6 */
    {.name = "fully_connected",
     .code = 9,
     .n_in = 3,
     EXACT,
     .in = {I8("1x2", .5F, 0, 10, 20), W8("1x2", .25F, 1, 2), BIAS("1", .125F, 3)},
     .out = {I8("1x1", 1, -1, 6)}},
    /* (10 - 4) * 2 = 12 halves; padding is the zero point */
    {.name = "conv_2d_pads_with_the_zero_point",
     .code = 3,
     EXACT,
     .option = {{0, 1, 0}, {1, 4, 1}, {2, 4, 1}, {3, 1, 1}},
     .n_options = 4,
     .n_in = 2,
     .in = {I8("1x1x2x1", .5F, 4, 10, 2), W8("1x1x2x1", 1, 2, 1)},
     .out = {I8("1x1x2x1", .5F, -10, 0, -10)}},
    {.name = "depthwise",
     .code = 4,
     EXACT,
     .option = {{0, 1, 1}, {1, 4, 1}, {2, 4, 1}},
     .n_options = 3,
     .n_in = 2,
     .in = {U8("1x1x1x2", .5F, 4, 10, 2),
            {.shape = "1x1x1x2",
             .type = KILN_TFW_U8,
             .scale = 1,
             .zero = 1,
             .v = {3, 6},
             .is_const = true}},
     .out = {U8("1x1x1x2", .5F, 100, 112, 90)}},
    /* y[2i + t] += (x[i] - 1) * w[t], a quarter of it */
    {.name = "transpose_conv",
     .code = 67,
     EXACT,
     .option = {{0, 1, 1}, {1, 4, 2}, {2, 4, 1}},
     .n_options = 3,
     .n_in = 3,
     .in = {{.shape = "4", .type = KILN_TFW_I32, .v = {1, 1, 5, 1}, .is_const = true},
            W8("1x1x3x1", .5F, 4, 8, 12),
            I8("1x1x2x1", .5F, 1, 2, 3)},
     .out = {I8("1x1x5x1", 1, 5, 6, 7, 10, 9, 11)}},
    /* 5 + 1 = 6 */
    {.name = "add",
     .code = 0,
     .n_in = 2,
     EXACT,
     .in = {I8("1", .5F, 0, 10), I8("1", .25F, 0, 4)},
     .out = {I8("1", .5F, 2, 14)}},
    {.name = "sub_saturates",
     .code = 41,
     .n_in = 2,
     EXACT,
     .in = {I8("2", 1, 0, 100, -100), I8("2", 1, 0, -100, 100)},
     .out = {I8("2", 1, 0, 127, -128)}},
    {.name = "mul",
     .code = 18,
     .n_in = 2,
     EXACT,
     .in = {I8("1", .5F, 0, 10), I8("1", .25F, 0, 4)},
     .out = {I8("1", .5F, 0, 10)}},
    /* 3 * 0.5 = 1.5 and 5 * 0.5 = 2.5 are ties, and XNNPACK's go to even */
    {.name = "products_round_once_half_to_even",
     .code = 9,
     .n_in = 2,
     EXACT,
     .in = {I8("4x1", .5F, 0, 3, 5, -3, -5), W8("1x1", 1, 1)},
     .out = {I8("4x1", 1, 0, 2, 2, -2, -2)}},
    /* sums and changes of scale: half up, (1 * 1 + 0) / 2 and so on */
    {.name = "add_rounds_half_up",
     .code = 0,
     .n_in = 2,
     EXACT,
     .in = {I8("4", .5F, 0, 1, 3, -1, -3), I8("4", .5F, 5, 5, 5, 5, 5)},
     .out = {I8("4", 1, 0, 1, 2, 0, -1)}},
    /* a ratio of 2^-11, which XNNPACK does not take */
    {.name = "add_of_far_scales",
     .code = 0,
     .n_in = 2,
     EXACT,
     .in = {I8("2", 0x1p-11F, 0, 127, -128), I8("2", 1, 0, 3, -100)},
     .out = {I8("2", 1, 0, 3, -100)}},
    {.name = "add_at_the_ends_of_its_range",
     .code = 0,
     .n_in = 2,
     EXACT,
     .in = {U8("2", 0x1.fp-10F, 0, 255, 0), U8("2", 0x1.fp-10F, 255, 255, 0)},
     .out = {U8("2", 1, 3, 3, 3)}},
    {.name = "leaky_relu",
     .code = 98,
     .option = {{0, 0, .25}},
     .n_options = 1,
     .n_in = 1,
     EXACT,
     .in = {I8("4", .5F, 1, 5, -7, 1, -3)},
     .out = {I8("4", .25F, -2, 6, -6, -2, -4)}},
    {.name = "average_pool_rounds_away_from_zero",
     .code = 1,
     EXACT,
     .option = {{0, 1, 0}, {1, 4, 2}, {2, 4, 1}, {3, 4, 2}, {4, 4, 1}},
     .n_options = 5,
     .n_in = 1,
     .in = {I8("1x1x5x1", 1, 0, 1, 2, -1, -2, 7)},
     .out = {I8("1x1x3x1", 1, 0, 2, -2, 7)}},
    {.name = "max_pool",
     .code = 17,
     EXACT,
     .option = {{0, 1, 1}, {1, 4, 2}, {2, 4, 1}, {3, 4, 2}, {4, 4, 1}, {5, 1, 1}},
     .n_options = 6,
     .n_in = 1,
     .in = {I8("1x1x4x1", 1, 0, 1, 2, -1, -2)},
     .out = {I8("1x1x2x1", 1, 0, 2, 0)}},
    {.name = "resize_bilinear_rounds_half_up",
     .code = 23,
     .n_in = 2,
     EXACT,
     .in = {U8("1x1x2x1", .1F, 3, 0, 255), SIZE(1, 4)},
     .out = {U8("1x1x4x1", .1F, 3, 0, 128, 255, 255)}},
    {.name = "resize_bilinear_rounds_away_from_zero",
     .code = 23,
     .n_in = 2,
     EXACT,
     .in = {I8("1x1x3x1", .1F, 5, -128, -127, 126), SIZE(1, 6)},
     .out = {I8("1x1x6x1", .1F, 5, -128, -128, -127, -1, 126, 126)}},
    {.name = "resize_bilinear_to_the_same_size",
     .code = 23,
     .n_in = 2,
     EXACT,
     .in = {I8("1x1x3x1", .1F, 5, -128, 7, 127), SIZE(1, 3)},
     .out = {I8("1x1x3x1", .1F, 5, -128, 7, 127)}},
    {.name = "resize_bilinear_to_another_scale",
     .code = 23,
     .n_in = 2,
     EXACT,
     .in = {I8("1x1x2x1", 1, 0, 4, 8), SIZE(1, 4)},
     .out = {I8("1x1x4x1", 2, 1, 3, 4, 5, 5)}},
    {.name = "another_scale",
     .code = 114,
     .n_in = 1,
     EXACT,
     .in = {I8("3", 1, 0, 5, 100, -100)},
     .out = {I8("3", .5F, 1, 11, 127, -128)}},
    {.name = "quantize_rounds_away_from_zero",
     .code = 114,
     .n_in = 1,
     EXACT,
     .in = {{.shape = "4", .type = KILN_TFW_F32, .v = {.25, -.25, 1000, .2}}},
     .out = {I8("4", .5F, 1, 2, 0, 127, 1)}},
    {.name = "dequantize",
     .code = 6,
     .n_in = 1,
     .in = {U8("2", .5F, 10, 0, 12)},
     .out = {{.shape = "2", .type = KILN_TFW_F32, .v = {-5, 1}}}},
    {.name = "softmax",
     .code = 25,
     .option = {{0, 0, 1}},
     .n_options = 1,
     .n_in = 1,
     EXACT,
     .in = {I8("1x2", 1, 0, 3, 3)},
     .out = {I8("1x2", 1.0F / 256, -128, 0, 0)}},
    {.name = "concatenation_of_two_scales",
     .code = 2,
     .n_in = 2,
     EXACT,
     .in = {I8("1", 1, 0, 3), I8("1", .5F, 0, 3)},
     .out = {I8("2", .5F, 0, 6, 3)}},
    {.name = "pad_with_the_zero_point",
     .code = 34,
     .n_in = 2,
     EXACT,
     .in = {I8("1", 1, 7, 3),
            {.shape = "1x2", .type = KILN_TFW_I32, .v = {1, 0}, .is_const = true}},
     .out = {I8("2", 1, 7, 7, 3)}},
    {.name = "weights_of_a_float_operator",
     .code = 9,
     .n_in = 2,
     .in = {{.shape = "1x2", .type = KILN_TFW_F32, .v = {1, 2}}, W8("1x2", .5F, 2, 4)},
     .out = {{.shape = "1x1", .type = KILN_TFW_F32, .v = {5}}}},
    /* 6 features of 2, in 16 bits; times 3, 4 of scale 1/2: (2 * 3 + 4 * 4 + 2) / 2 */
    {.name = "svdf", SVDF(2), .out = {I8("1x1", 1, 5, 17)}},
    /* the same and 2^31 - 1 more, which is below -2^31 in 32 bits */
    {.name = "svdf_wraps", SVDF(INT32_MAX), .out = {I8("1x1", 1, 5, -128)}},
    {.name = "scales_that_are_no_numbers",
     .code = 114,
     .n_in = 1,
     .in = {I8("1", HUGE_VALF, 0, 1)},
     .out = {I8("1", 1, 0, 1)},
     .fails = KILN_ERR_PARSE,
     .text = "has a scale of inf"},
};

/* Two output channels of scales 1/4 and 1/2. */
static void a_convolution_has_a_scale_for_each_channel(void **state) {
    static const int32_t x_shape[] = {1, 1, 1, 1}, w_shape[] = {2, 1, 1, 1};
    static const int32_t y_shape[] = {1, 1, 1, 2};
    static const int8_t weights[] = {8, 8};
    static const float scales[] = {.25F, .5F}, one = 1;
    static const int64_t zeros[] = {0, 0};
    (void)state;
    kiln_tfw m = kiln_tfw_begin();
    const int x = kiln_tfw_tensor(&m, "x", KILN_TFW_I8, 4, x_shape, NULL, 0);
    kiln_tfw_scales(&m, &one, zeros, 1, 0);
    const int w = kiln_tfw_tensor(&m, "w", KILN_TFW_I8, 4, w_shape, weights, 2);
    kiln_tfw_scales(&m, scales, zeros, 2, 0);
    const int y = kiln_tfw_tensor(&m, "y", KILN_TFW_I8, 4, y_shape, NULL, 0);
    kiln_tfw_scales(&m, &one, zeros, 1, 0);
    kiln_tfw_input(&m, x);
    kiln_tfw_output(&m, y);
    kiln_fbw_table *const o =
        kiln_tfw_op(&m, 3, NULL, 2, (const int32_t[]){x, w}, 1, (const int32_t[]){y});
    kiln_fbw_int(o, 1, 4, 1);
    kiln_fbw_int(o, 2, 4, 1);
    kiln_graph *g;
    kiln_err err = {0};
    kiln_arena *const a = kiln_test_arena();
    const char *const path = kiln_test_tflite_file(kiln_tfw_write(&m));
    kiln_assert_status_ok(kiln_import(a, path, NULL, &g, NULL, &err), &err);
    kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type), out;
    *(int8_t *)in.data = 5;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    assert_int_equal(((int8_t *)out.data)[0], 10);
    assert_int_equal(((int8_t *)out.data)[1], 20);
}

int main(void) {
    kiln_test_add("multiplies_as_defined", multiplies_as_defined, NULL);
    kiln_test_add("factors_are_in_range", factors_are_in_range, NULL);
    kiln_test_add("a_convolution_has_a_scale_for_each_channel",
                  a_convolution_has_a_scale_for_each_channel, NULL);
    kiln_test_add_rows(kiln_test_check_tflite, rows);
    return kiln_test_run("tflite_quant");
}
