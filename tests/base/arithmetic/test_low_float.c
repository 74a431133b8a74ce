/* Floats of 8 and 4 bits. The oracle knows the formats by their definitions alone: the
 * value of each code by arithmetic, and of a number the code whose value is nearest, by
 * going through all of them. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

typedef struct format_row {
    const char *name;
    kiln_low_format format;
    int sign_bit;            /* number of the bit; -1: none */
    int mantissa_bits, bias; /* as the tables of the formats say */
    int largest;             /* magnitude */
    bool has_inf, has_one_nan, has_negative_zero;
} format_row;

static format_row formats[] = {
    {"e4m3fn", KILN_LOW_E4M3FN, 7, 3, 7, 0x7E, false, false, true},
    {"e4m3fnuz", KILN_LOW_E4M3FNUZ, 7, 3, 8, 0x7F, false, true, false},
    {"e5m2", KILN_LOW_E5M2, 7, 2, 15, 0x7B, true, false, true},
    {"e5m2fnuz", KILN_LOW_E5M2FNUZ, 7, 2, 16, 0x7F, false, true, false},
    {"e2m1", KILN_LOW_E2M1, 3, 1, 1, 0x07, false, false, true},
};

/* Magnitude of a finite code. */
static double value_of(const format_row *f, int magnitude) {
    const int exponent = magnitude >> f->mantissa_bits;
    const double fraction =
        (magnitude & ((1 << f->mantissa_bits) - 1)) / ldexp(1, f->mantissa_bits);
    return exponent == 0 ? ldexp(fraction, 1 - f->bias)
                         : ldexp(1 + fraction, exponent - f->bias);
}

static uint8_t oracle_nan(const format_row *f, bool is_negative) {
    if (f->has_one_nan)
        return 0x80;
    if (f->format == KILN_LOW_E2M1)
        return 0x08; /* has none: -0 */
    const uint8_t magnitude = f->format == KILN_LOW_E5M2 ? 0x7E : 0x7F;
    return (uint8_t)(magnitude | (is_negative ? 0x80 : 0));
}

/* The nearest code, of two the even one; behind the largest number one that continues
 * the row decides what rounds beyond. */
static uint8_t oracle(const format_row *f, double x, bool saturate) {
    const bool is_negative = signbit(x) != 0;
    int best = 0;
    if (isnan(x))
        return oracle_nan(f, is_negative);
    for (int m = 1; m <= f->largest + 1; m++) {
        const double old = fabs(fabs(x) - value_of(f, best));
        const double new = fabs(fabs(x) - value_of(f, m));
        if (new < old || (new == old &&m % 2 == 0))
            best = m;
    }
    if (fabs(x) > 2 * value_of(f, f->largest)) /* far away distances lose their bits */
        best = f->largest + 1;
    const int sign = is_negative ? 1 << f->sign_bit : 0;
    if (best > f->largest && !saturate && f->format != KILN_LOW_E2M1)
        return f->has_inf ? (uint8_t)(sign | 0x7C) : oracle_nan(f, is_negative);
    if (best > f->largest)
        best = f->largest;
    return best == 0 && !f->has_negative_zero ? 0 : (uint8_t)(sign | best);
}

static void check_one(const format_row *f, double x) {
    for (int saturate = 0; saturate < 2; saturate++) {
        const uint8_t got = kiln_low_from_f64(f->format, x, saturate != 0, KILN_LOW_UP);
        const uint8_t want = oracle(f, x, saturate != 0);
        if (got != want)
            fail_msg("%s of %a (saturate %d) is 0x%02x, must be 0x%02x", f->name, x,
                     saturate, got, want);
    }
}

static void check_codes(void **state) {
    const format_row *f = *state;
    for (int code = 0; code < 1 << (f->sign_bit + 1); code++) {
        const int magnitude = code & ((1 << f->sign_bit) - 1);
        const bool is_negative = code >> f->sign_bit != 0;
        const double x = kiln_low_to_f64(f->format, (uint8_t)code);
        const uint8_t back = kiln_low_from_f64(f->format, x, false, KILN_LOW_NEAREST);
        const bool is_one_nan = f->has_one_nan && code == 0x80;
        if (is_one_nan ||
            (magnitude > f->largest && !(f->has_inf && magnitude == 0x7C))) {
            assert_true(isnan(x));
            assert_int_equal(signbit(x) != 0, is_negative);
            assert_int_equal(back, oracle_nan(f, is_negative));
            continue;
        }
        const double want = magnitude > f->largest ? HUGE_VAL : value_of(f, magnitude);
        assert_true(x == (is_negative ? -want : want));
        assert_int_equal(signbit(x) != 0, is_negative);
        assert_int_equal(back, code);
    }
}

static void check_every_f16(void **state) {
    for (uint32_t h = 0; h <= UINT16_MAX; h++)
        check_one(*state, kiln_f16_to_f64((uint16_t)h));
}

static double f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* Every 2^32 / 99991th pattern, and all around ties. */
static void check_many_f32(void **state) {
    const format_row *f = *state;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 42953)
        check_one(f, f32_of((uint32_t)bits));
    for (int m = 0; m <= f->largest; m++) {
        const double tie = (value_of(f, m) + value_of(f, m + 1)) / 2;
        for (int sign = -1; sign <= 1; sign += 2) {
            check_one(f, sign * tie);
            check_one(f, sign * nextafter(tie, 0));
            check_one(f, sign * nextafter(tie, HUGE_VAL));
            check_one(f, sign * value_of(f, m));
        }
    }
    const double edges[] = {0.0,    -0.0,    HUGE_VAL, -HUGE_VAL, 1e300,      -1e300,
                            5e-324, -5e-324, 0x1p64,   -0x1p64,   (double)NAN};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_one(f, edges[i]);
    check_one(f, -(double)NAN);
}

/* ---- powers of two ---- */

/* By comparing with all of them. */
static uint8_t oracle_e8m0(double x, bool saturate, kiln_low_round round) {
    int below = -1;
    if (isnan(x) || x < 0)
        return 0xFF;
    if (x < ldexp(1, -127))
        return saturate ? 0 : 0xFF;
    if (x > ldexp(1, 127))
        return saturate ? 0xFE : 0xFF;
    while (below < 254 && ldexp(1, below + 1 - 127) <= x)
        below++;
    const double low = ldexp(1, below - 127);
    const bool up = round == KILN_LOW_UP        ? x > low
                    : round == KILN_LOW_NEAREST ? x - low >= 2 * low - x
                                                : false;
    return (uint8_t)(below + (up ? 1 : 0));
}

static void check_e8m0_one(double x) {
    for (int round = KILN_LOW_UP; round <= KILN_LOW_NEAREST; round++)
        for (int saturate = 0; saturate < 2; saturate++) {
            const kiln_low_round r = (kiln_low_round)round;
            const uint8_t want = oracle_e8m0(x, saturate != 0, r);
            const uint8_t got = kiln_low_from_f64(KILN_LOW_E8M0, x, saturate != 0, r);
            if (got != want)
                fail_msg("e8m0 of %a (round %d, saturate %d) is 0x%02x, must be 0x%02x",
                         x, round, saturate, got, want);
        }
}

static void check_e8m0(void **state) {
    (void)state;
    for (int code = 0; code < 255; code++) {
        const double x = kiln_low_to_f64(KILN_LOW_E8M0, (uint8_t)code);
        assert_true(x == ldexp(1, code - 127));
        check_e8m0_one(x);
        check_e8m0_one(-x);
        check_e8m0_one(1.5 * x);
        for (int side = 0; side < 2; side++) {
            check_e8m0_one(nextafter(x, side == 0 ? 0 : HUGE_VAL));
            check_e8m0_one(nextafter(1.5 * x, side == 0 ? 0 : HUGE_VAL));
        }
    }
    assert_true(isnan(kiln_low_to_f64(KILN_LOW_E8M0, 0xFF)));
    for (uint32_t h = 0; h <= UINT16_MAX; h++)
        check_e8m0_one(kiln_f16_to_f64((uint16_t)h));
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 42953)
        check_e8m0_one(f32_of((uint32_t)bits));
    const double edges[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 1e300, 5e-324, (double)NAN};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_e8m0_one(edges[i]);
}

typedef struct special_row {
    const char *name;
    kiln_low_format format;
    double x;
    bool saturate;
    uint8_t want;
} special_row;

/* What the tables of ONNX's Cast say, and its conformance data. */
static special_row specials[] = {
    {"e4m3fn_saturates", KILN_LOW_E4M3FN, 1e6, true, 0x7E},
    {"e4m3fn_overflows_to_nan", KILN_LOW_E4M3FN, -1e6, false, 0xFF},
    {"e4m3fn_464_is_448", KILN_LOW_E4M3FN, 464, false, 0x7E},
    {"e4m3fn_infinity_saturates", KILN_LOW_E4M3FN, -HUGE_VAL, true, 0xFE},
    {"e4m3fnuz_infinity_saturates", KILN_LOW_E4M3FNUZ, HUGE_VAL, true, 0x7F},
    {"e4m3fnuz_infinity_is_nan", KILN_LOW_E4M3FNUZ, HUGE_VAL, false, 0x80},
    {"e4m3fnuz_has_one_zero", KILN_LOW_E4M3FNUZ, -1e-9, true, 0x00},
    {"e5m2_infinity_stays", KILN_LOW_E5M2, -HUGE_VAL, false, 0xFC},
    {"e5m2_overflows_to_infinity", KILN_LOW_E5M2, 61440, false, 0x7C},
    {"e5m2_keeps_minus_zero", KILN_LOW_E5M2, -1e-9, true, 0x80},
    {"e5m2fnuz_overflows_to_nan", KILN_LOW_E5M2FNUZ, 1e6, false, 0x80},
    {"e2m1_always_saturates", KILN_LOW_E2M1, -HUGE_VAL, false, 0x0F},
    {"e2m1_has_no_nan", KILN_LOW_E2M1, (double)NAN, true, 0x08},
    {"e8m0_zero_saturates", KILN_LOW_E8M0, 0, true, 0x00},
    {"e8m0_zero_is_nan", KILN_LOW_E8M0, 0, false, 0xFF},
    {"e8m0_infinity_saturates", KILN_LOW_E8M0, HUGE_VAL, true, 0xFE},
};

static void check_special(void **state) {
    const special_row *r = *state;
    assert_int_equal(kiln_low_from_f64(r->format, r->x, r->saturate, KILN_LOW_UP),
                     r->want);
}

int main(void) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const char *name = formats[i].name;
        kiln_arena *a = kiln_test_arena();
        kiln_test_add(kiln_format(a, "%s_codes", name), check_codes, &formats[i]);
        kiln_test_add(kiln_format(a, "%s_every_f16", name), check_every_f16,
                      &formats[i]);
        kiln_test_add(kiln_format(a, "%s_many_f32", name), check_many_f32, &formats[i]);
    }
    kiln_test_add("e8m0", check_e8m0, NULL);
    kiln_test_add_rows(check_special, specials);
    return kiln_test_run("low_float");
}
