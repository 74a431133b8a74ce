/* Quantised operators of TensorFlow Lite rounded as its reference kernels do: hand-checked
 * integers beside those of the default, and random ones against a plain statement of what
 * gemmlowp and the reference kernels define. */
#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/import/tflite_quant_rows.h"

/* ---- by hand ------------------------------------------------------------------------ */

#define BOOLS(shape_, ...)                                                             \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_BOOL, .v = { __VA_ARGS__ }                 \
    }

#define CONV                                                                           \
    .code = 3, .option = {{0, 1, 0}, {1, 4, 1}, {2, 4, 1}}, .n_options = 3, .n_in = 2, \
    EXACT, .in = {I8("1x1x5x1", .25F, 0, 1, 5, -1, -3, 7), W8("1x1x1x1", 1, 1)}
#define PRODUCT                                                                        \
    .code = 9, .n_in = 2, EXACT,                                                       \
    .in = {I8("4x1", .5F, 0, 3, 5, -3, -5), W8("1x1", 1, 1)}
#define ADD                                                                            \
    .code = 0, .n_in = 2, EXACT,                                                       \
    .in = {I8("4", .5F, 0, 1, 3, -1, -3), I8("4", .5F, 5, 5, 5, 5, 5)}
#define MUL                                                                            \
    .code = 18, .n_in = 2, EXACT,                                                      \
    .in = {I8("4", .25F, 0, 1, 5, -1, -3), I8("4", 1, 0, 1, 1, 1, 1)}
#define LEAKY(alpha)                                                                   \
    .code = 98, .option = {{0, 0, (alpha)}}, .n_options = 1, .n_in = 1, EXACT,         \
    .in = {I8("4", .25F, 0, 1, 5, -3, -12)}
#define QUANTIZE .code = 114, .n_in = 1, EXACT, .in = {I8("4", .25F, 0, 1, 5, -1, -3)}
#define LESS                                                                           \
    .code = 58, .n_in = 2,                                                             \
    .in = {I8("3", 0x1p-10F, 0, 1, 2, -3), I8("3", 0x1p-10F, 0, 2, 3, 5)}
#define TRANSPOSED                                                                     \
    .code = 67, .option = {{0, 1, 1}, {1, 4, 2}, {2, 4, 1}}, .n_options = 3,           \
    .n_in = 3, EXACT,                                                                  \
    .in = {{.shape = "4", .type = KILN_TFW_I32, .v = {1, 1, 5, 1}, .is_const = true},  \
           {.shape = "1x1x3x1",                                                        \
            .type = KILN_TFW_U8,                                                       \
            .scale = .5F,                                                              \
            .zero = 100,                                                               \
            .v = {101, 105, 97},                                                       \
            .is_const = true},                                                         \
           U8("1x1x2x1", .5F, 1, 2, 3)}
#define RESIZE                                                                         \
    .code = 23, .n_in = 2, EXACT, .in = {I8("1x1x2x1", 1, 0, 1, 0), SIZE(1, 12)}

/* A quarter of 1 is 1/2 rounded up, then half of that rounded away from zero. */
static kiln_tflite_case rows[] = {
    {.name = "conv_by_default", CONV, .out = {I8("1x1x5x1", 1, 0, 0, 1, 0, -1, 2)}},
    {.name = "conv",
     CONV,
     .as_reference = true,
     .out = {I8("1x1x5x1", 1, 0, 1, 2, 0, -1, 2)}},
    {.name = "product_by_default", PRODUCT, .out = {I8("4x1", 1, 0, 2, 2, -2, -2)}},
    /* once, half away from zero */
    {.name = "product",
     PRODUCT,
     .as_reference = true,
     .out = {I8("4x1", 1, 0, 2, 3, -2, -3)}},
    {.name = "add_by_default", ADD, .out = {I8("4", 1, 0, 1, 2, 0, -1)}},
    {.name = "add", ADD, .as_reference = true, .out = {I8("4", 1, 0, 1, 2, -1, -2)}},
    {.name = "mul_by_default", MUL, .out = {I8("4", 1, 0, 0, 1, 0, -1)}},
    {.name = "mul", MUL, .as_reference = true, .out = {I8("4", 1, 0, 1, 2, 0, -1)}},
    {.name = "leaky_relu_by_default", LEAKY(.5), .out = {I8("4", 1, 0, 0, 1, 0, -1)}},
    {.name = "leaky_relu",
     LEAKY(.5),
     .as_reference = true,
     .out = {I8("4", 1, 0, 1, 2, 0, -2)}},
    {.name = "leaky_relu_turns",
     LEAKY(-.5),
     .as_reference = true,
     .out = {I8("4", 1, 0, 1, 2, 1, 2)}},
    {.name = "another_scale_by_default", QUANTIZE, .out = {I8("4", 1, 0, 0, 1, 0, -1)}},
    {.name = "another_scale",
     QUANTIZE,
     .as_reference = true,
     .out = {I8("4", 1, 0, 1, 2, 0, -1)}},
    /* quarters of 2 and 3 are 1, both: by default, too */
    {.name = "less_by_default", LESS, .out = {BOOLS("3", 1, 0, 1)}},
    {.name = "less", LESS, .as_reference = true, .out = {BOOLS("3", 1, 0, 1)}},
    {.name = "transpose_conv_by_default",
     TRANSPOSED,
     .out = {U8("1x1x5x1", 1, 5, 5, 6, 5, 8, 3)}},
    {.name = "transpose_conv",
     TRANSPOSED,
     .as_reference = true,
     .out = {U8("1x1x5x1", 1, 5, 6, 7, 5, 8, 3)}},
    {.name = "resize_bilinear_by_default",
     RESIZE,
     .out = {I8("1x1x12x1", 1, 0, 1, 1, 1, 1)}},
    /* steps of 171 of 1024: the third leaves 511 of the first element */
    {.name = "resize_bilinear",
     RESIZE,
     .as_reference = true,
     .out = {I8("1x1x12x1", 1, 0, 1, 1, 1)}},
};

/* ---- as defined ---------------------------------------------------------------------- */

/* SaturatingRoundingDoublingHighMul, but for the product of two INT32_MIN, which no
 * multiplier makes. */
static int32_t high_mul(int32_t a, int32_t b) {
    const int64_t ab = (int64_t)a * b;
    const int64_t nudge = ab >= 0 ? 1 << 30 : 1 - (1 << 30);
    return (int32_t)((ab + nudge) / (INT64_C(1) << 31));
}

/* RoundingDivideByPOT */
static int32_t shift_right(int32_t x, int by) {
    const int32_t mask = (int32_t)((INT64_C(1) << by) - 1), rest = x & mask;
    const int32_t most = (mask >> 1) + (x < 0);
    return (int32_t)floor(ldexp(x, -by)) + (rest > most);
}

/* QuantizeMultiplier, then MultiplyByQuantizedMultiplier */
static int32_t times(int32_t x, double real) {
    int shift = 0;
    int64_t m = llround(frexp(real, &shift) * 0x1p31);
    if (m == INT64_C(1) << 31) {
        m /= 2;
        shift++;
    }
    if (shift < -31)
        return 0;
    const int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return shift_right(high_mul(x * (1 << left), (int32_t)m), right);
}

static int32_t held(int64_t v) {
    return (int32_t)(v < -128 ? -128 : v > 127 ? 127 : v);
}

typedef struct numbers {
    float scale[3], alpha; /* of both operands and the result */
    int zero[3];
} numbers;

static int32_t add_of(const numbers *n, int32_t x, int32_t y, int sign) {
    const float larger = n->scale[0] > n->scale[1] ? n->scale[0] : n->scale[1];
    const double twice = 2 * (double)larger;
    const int32_t a = times((x - n->zero[0]) * (1 << 20), (double)n->scale[0] / twice);
    const int32_t b =
        times(sign * (y - n->zero[1]) * (1 << 20), (double)n->scale[1] / twice);
    return n->zero[2] + times(a + b, twice / ((1 << 20) * (double)n->scale[2]));
}

static int32_t wanted(int code, const numbers *n, int32_t x, int32_t y) {
    const int32_t a = x - n->zero[0], b = y - n->zero[1];
    const float ratio = n->scale[0] / n->scale[2];
    switch (code) {
    case 0:
        return held(add_of(n, x, y, 1));
    case 41:
        return held(add_of(n, x, y, -1));
    case 18:
        return held((int64_t)n->zero[2] +
                    times(a * b, (double)(n->scale[0] * n->scale[1] / n->scale[2])));
    case 98:
        return held((int64_t)n->zero[2] +
                    times(a, a >= 0 ? (double)ratio
                                    : (double)(n->scale[0] * n->alpha / n->scale[2])));
    default:
        return held((int64_t)n->zero[2] +
                    times(a, (double)n->scale[0] / (double)n->scale[2]));
    }
}

/* From 2^-7 to 1, one in four a power of 2: ties. */
static float any_scale(kiln_rng *rng) {
    const double mantissa = kiln_rng_range(rng, 0, 3) == 0
                                ? 1
                                : 1 + (double)kiln_rng_range(rng, 0, 9999) / 1e4;
    return (float)ldexp(mantissa, (int)kiln_rng_range(rng, -7, -1));
}

enum { N = 300 };

static const char *write_model(int code, const numbers *n, int n_in) {
    static const int32_t shape[] = {N};
    static const char *const name[] = {"x", "y", "z"};
    int32_t at[3];
    kiln_tfw m = kiln_tfw_begin();
    for (int i = 0; i < 3; i++) {
        const int64_t zero = n->zero[i];
        at[i] = kiln_tfw_tensor(&m, name[i], KILN_TFW_I8, 1, shape, NULL, 0);
        kiln_tfw_scales(&m, &n->scale[i], &zero, 1, 0);
        if (i < n_in)
            kiln_tfw_input(&m, at[i]);
    }
    kiln_tfw_output(&m, at[2]);
    kiln_fbw_table *const o = kiln_tfw_op(&m, code, NULL, (size_t)n_in, at, 1, &at[2]);
    if (code == 98)
        kiln_fbw_float(o, 0, n->alpha);
    return kiln_test_tflite_file(kiln_tfw_write(&m));
}

static void check_operator(int code, int n_in, kiln_rng *rng) {
    kiln_arena *const a = kiln_test_arena();
    const kiln_import_options o = {.as_reference = true};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor in[2], out;
    numbers n = {.alpha = (float)kiln_rng_range(rng, -1000, 1000) / 700};
    for (int i = 0; i < 3; i++) {
        n.scale[i] = any_scale(rng);
        n.zero[i] = (int)kiln_rng_range(rng, -128, 127);
    }
    const char *const path = write_model(code, &n, n_in);
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
    for (int i = 0; i < n_in; i++) {
        in[i] = kiln_tensor_new(a, &g->inputs.v[i]->type);
        int8_t *const v = in[i].data;
        for (int k = 0; k < N; k++)
            v[k] = (int8_t)(k < 4 ? (k >> i & 1) * 255 - 128
                                  : kiln_rng_range(rng, -128, 127));
    }
    kiln_assert_status_ok(kiln_ref_run(a, g, in, (size_t)n_in, &out, &err), &err);
    for (int k = 0; k < N; k++) {
        const int x = ((int8_t *)in[0].data)[k];
        const int y = n_in == 2 ? ((int8_t *)in[1].data)[k] : 0;
        const int want = wanted(code, &n, x, y), got = ((int8_t *)out.data)[k];
        if (got != want)
            fail_msg("operator %d of %d and %d (scales %g, %g, %g, zeros %d, %d, %d, "
                     "alpha %g) must be %d, is %d",
                     code, x, y, (double)n.scale[0], (double)n.scale[1],
                     (double)n.scale[2], n.zero[0], n.zero[1], n.zero[2],
                     (double)n.alpha, want, got);
    }
}

static void rounds_as_defined(void **state) {
    enum { ADD_ = 0, MUL_ = 18, SUB_ = 41, LEAKY_ = 98, QUANTIZE_ = 114 };
    static const int code[] = {ADD_, SUB_, MUL_, LEAKY_, QUANTIZE_};
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 40; i++)
        for (size_t k = 0; k < sizeof code / sizeof code[0]; k++)
            check_operator(code[k], k < 3 ? 2 : 1, &rng);
}

/* ---- convolutions ------------------------------------------------------------------- */

enum { OUTS = 6, PIXELS = 60, INS = 5 };

typedef struct filters {
    float x_scale, y_scale, scale[OUTS];
    int8_t weight[OUTS][INS];
    int32_t bias[OUTS];
    int x_zero, y_zero;
} filters;

/* 1x1, each output channel with its own scale. */
static const char *write_filters(const filters *f) {
    static const int32_t x_shape[] = {1, 1, PIXELS, INS}, w_shape[] = {OUTS, 1, 1, INS};
    static const int32_t y_shape[] = {1, 1, PIXELS, OUTS}, b_shape[] = {OUTS};
    static const int64_t zeros[OUTS] = {0};
    const int64_t x_zero = f->x_zero, y_zero = f->y_zero;
    kiln_tfw m = kiln_tfw_begin();
    const int x = kiln_tfw_tensor(&m, "x", KILN_TFW_I8, 4, x_shape, NULL, 0);
    kiln_tfw_scales(&m, &f->x_scale, &x_zero, 1, 0);
    const int w =
        kiln_tfw_tensor(&m, "w", KILN_TFW_I8, 4, w_shape, f->weight, sizeof f->weight);
    kiln_tfw_scales(&m, f->scale, zeros, OUTS, 0);
    const int b =
        kiln_tfw_tensor(&m, "b", KILN_TFW_I32, 1, b_shape, f->bias, sizeof f->bias);
    const int y = kiln_tfw_tensor(&m, "y", KILN_TFW_I8, 4, y_shape, NULL, 0);
    kiln_tfw_scales(&m, &f->y_scale, &y_zero, 1, 0);
    kiln_tfw_input(&m, x);
    kiln_tfw_output(&m, y);
    kiln_fbw_table *const o = kiln_tfw_op(&m, 3, NULL, 3, (const int32_t[]){x, w, b}, 1,
                                          (const int32_t[]){y});
    kiln_fbw_int(o, 1, 4, 1);
    kiln_fbw_int(o, 2, 4, 1);
    return kiln_test_tflite_file(kiln_tfw_write(&m));
}

static int32_t conv_wanted(const filters *f, const int8_t *x, int channel) {
    int32_t sum = f->bias[channel];
    for (int i = 0; i < INS; i++)
        sum += (x[i] - f->x_zero) * f->weight[channel][i];
    return held((int64_t)f->y_zero +
                times(sum, (double)f->x_scale * (double)f->scale[channel] /
                               (double)f->y_scale));
}

static void check_filters(kiln_rng *rng) {
    kiln_arena *const a = kiln_test_arena();
    const kiln_import_options o = {.as_reference = true};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out;
    filters f = {.x_scale = any_scale(rng),
                 .y_scale = 8 * any_scale(rng),
                 .x_zero = (int)kiln_rng_range(rng, -128, 127),
                 .y_zero = (int)kiln_rng_range(rng, -128, 127)};
    for (int c = 0; c < OUTS; c++) {
        f.scale[c] = any_scale(rng);
        f.bias[c] = (int32_t)kiln_rng_range(rng, -2000, 2000);
        for (int i = 0; i < INS; i++)
            f.weight[c][i] = (int8_t)kiln_rng_range(rng, -127, 127);
    }
    kiln_assert_status_ok(kiln_import(a, write_filters(&f), &o, &g, NULL, &err), &err);
    kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type);
    int8_t *const x = in.data;
    for (int i = 0; i < PIXELS * INS; i++)
        x[i] = (int8_t)kiln_rng_range(rng, -128, 127);
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    for (int i = 0; i < PIXELS * OUTS; i++)
        assert_int_equal(((int8_t *)out.data)[i],
                         conv_wanted(&f, x + i / OUTS * INS, i % OUTS));
}

static void convolutions_round_as_defined(void **state) {
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 40; i++)
        check_filters(&rng);
}

/* ---- other formats ------------------------------------------------------------------- */

static void other_formats_round_in_one_way(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    static const char text[] =
        "graph g(x: f32[1]) {\n  y: f32[1] = relu(x)\n  return y\n}\n";
    const char *const path = kiln_path_join(a, kiln_test_dir(), "g.kgraph");
    const kiln_import_options o = {.as_reference = true};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, sizeof text - 1, &err), &err);
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "--rounding reference: models of format graph are rounded in one "
                      "way only");
}

int main(void) {
    kiln_test_add_rows(kiln_test_check_tflite, rows);
    kiln_test_add("rounds_as_defined", rounds_as_defined, NULL);
    kiln_test_add("convolutions_round_as_defined", convolutions_round_as_defined, NULL);
    kiln_test_add("other_formats_round_in_one_way", other_formats_round_in_one_way,
                  NULL);
    return kiln_test_run("tflite_reference");
}
