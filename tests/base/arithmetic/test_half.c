/* 16-bit floats. Each of the 65536 patterns goes to double and back; every midpoint
 * between two neighbours, and the doubles next to it, must round as IEEE 754 says. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

typedef struct half_format {
    const char *name;
    uint16_t (*narrow)(double);
    double (*widen)(uint16_t);
    int mantissa_bits;
    int bias;
} half_format;

static half_format formats[] = {
    {"f16", kiln_f16_from_f64, kiln_f16_to_f64, 10, 15},
    {"bf16", kiln_bf16_from_f64, kiln_bf16_to_f64, 7, 127},
};

static uint16_t infinity_of(const half_format *f) {
    return (uint16_t)(0x7FFF >> f->mantissa_bits << f->mantissa_bits);
}

/* From the definition of the format, by arithmetic instead of bits; finite patterns
 * only. */
static double value_of(const half_format *f, uint16_t h) {
    const int exponent = (h & 0x7FFF) >> f->mantissa_bits;
    const int mantissa = h & ((1 << f->mantissa_bits) - 1);
    const int lead = exponent == 0 ? 0 : 1 << f->mantissa_bits;
    const double magnitude =
        ldexp((double)(lead + mantissa),
              (exponent == 0 ? 1 : exponent) - f->bias - f->mantissa_bits);
    return h & 0x8000 ? -magnitude : magnitude;
}

static void check_round_trips(void **state) {
    const half_format *f = *state;
    const uint16_t infinity = infinity_of(f);
    const uint16_t quiet = (uint16_t)(1 << (f->mantissa_bits - 1));
    for (uint32_t i = 0; i <= UINT16_MAX; i++) {
        const uint16_t h = (uint16_t)i;
        const double x = f->widen(h);
        const uint16_t back = f->narrow(x);
        if ((h & 0x7FFF) > infinity) {
            assert_true(isnan(x));
            assert_int_equal(back,
                             h | quiet); /* sign and payload stay, signalling goes */
        } else {
            assert_int_equal(back, h);
            if ((h & 0x7FFF) < infinity)
                assert_true(x == value_of(f, h));
            else
                assert_true(isinf(x) && signbit(x) == (h >> 15 ? signbit(-1.0) : 0));
        }
    }
}

static void check_ties(void **state) {
    const half_format *f = *state;
    const uint16_t infinity = infinity_of(f);
    for (uint16_t h = 0; h < infinity; h++) {
        const double low = value_of(f, h);
        /* Above the largest number the next one would be a power of two: from half of
         * that on, numbers are infinite. */
        const double high =
            h + 1 < infinity ? value_of(f, (uint16_t)(h + 1)) : ldexp(1.0, f->bias + 1);
        const double middle = low + (high - low) / 2; /* exact: 53 bits are plenty */
        const uint16_t even = (uint16_t)(h % 2 == 0 ? h : h + 1);
        assert_int_equal(f->narrow(middle), even);
        assert_int_equal(f->narrow(nextafter(middle, 0)), h);
        assert_int_equal(f->narrow(nextafter(middle, HUGE_VAL)), h + 1);
        assert_int_equal(f->narrow(nextafter(high, 0)), h + 1);
        assert_int_equal(f->narrow(-middle), even | 0x8000);
        assert_int_equal(f->narrow(-nextafter(middle, 0)), h | 0x8000);
    }
}

typedef struct value_row {
    const char *name;
    double x;
    uint16_t f16, bf16;
} value_row;

static value_row value_rows[] = {
    {"zero", 0.0, 0x0000, 0x0000},
    {"minus_zero", -0.0, 0x8000, 0x8000},
    {"one", 1.0, 0x3C00, 0x3F80},
    {"minus_two", -2.0, 0xC000, 0xC000},
    {"a_third", 1.0 / 3.0, 0x3555, 0x3EAB},
    {"largest_f16", 65504.0, 0x7BFF, 0x4780},
    {"just_below_f16_overflow", 65519.999999999, 0x7BFF, 0x4780},
    {"f16_overflow", 65520.0, 0x7C00, 0x4780},
    {"smallest_f16_subnormal", 0x1p-24, 0x0001, 0x3380},
    {"half_of_it_ties_to_zero", 0x1p-25, 0x0000, 0x3300},
    {"just_more_rounds_up", 0x1.0000000000001p-25, 0x0001, 0x3300},
    {"smallest_bf16_subnormal", 0x1p-133, 0x0000, 0x0001},
    {"half_of_that_ties_to_zero", -0x1p-134, 0x8000, 0x8000},
    {"bf16_overflow", 0x1.ffp127, 0x7C00, 0x7F80},
    {"largest_double", 0x1.fffffffffffffp1023, 0x7C00, 0x7F80},
    {"smallest_double", 0x1p-1074, 0x0000, 0x0000},
    {"infinity", (double)INFINITY, 0x7C00, 0x7F80},
    /* To float first this is the tie 1 + 2^-11, and from there 1: rounded twice. */
    {"is_not_rounded_twice_f16", 0x1.0020000000001p+0, 0x3C01, 0x3F80},
    {"is_not_rounded_twice_bf16", 0x1.0100000000001p+0, 0x3C04, 0x3F81},
};

static void check_value(void **state) {
    const value_row *r = *state;
    assert_int_equal(kiln_f16_from_f64(r->x), r->f16);
    assert_int_equal(kiln_bf16_from_f64(r->x), r->bf16);
}

static void nan_without_upper_payload_stays_nan(void **state) {
    (void)state;
    const uint64_t bits =
        UINT64_C(0xFFF0000000000001); /* signalling; the payload is cut off */
    double x;
    memcpy(&x, &bits, sizeof x);
    assert_int_equal(kiln_f16_from_f64(x), 0xFE00);
    assert_int_equal(kiln_bf16_from_f64(x), 0xFFC0);
}

int main(void) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        half_format *f = &formats[i];
        kiln_arena *a = kiln_test_arena();
        kiln_test_add(kiln_format(a, "%s_round_trips_all_patterns", f->name),
                      check_round_trips, f);
        kiln_test_add(kiln_format(a, "%s_rounds_ties_to_even", f->name), check_ties, f);
    }
    kiln_test_add_rows(check_value, value_rows);
    kiln_test_add("nan_without_upper_payload_stays_nan",
                  nan_without_upper_payload_stays_nan, NULL);
    return kiln_test_run("half");
}
