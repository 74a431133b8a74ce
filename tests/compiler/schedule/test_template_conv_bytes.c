/* Convolutions of bytes by every template that takes them: random shapes, padding, zero
 * points and configurations, numbers from end to end of their ranges, equal to the
 * reference bit by bit, interpreted and, some of them, compiled. */
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/template_check.h"
#include "tests/support/random/random_conv.h"

static const random_bytes u8_i8 = {KILN_U8, KILN_I8, .is_depthwise = false};
static const random_bytes i8_i8 = {KILN_I8, KILN_I8, .is_depthwise = false};
static const random_bytes u8_u8 = {KILN_U8, KILN_U8, .is_depthwise = false};
static const random_bytes i8_u8 = {KILN_I8, KILN_U8, .is_depthwise = false};
static const random_bytes u8_i16 = {KILN_U8, KILN_I16, .is_depthwise = false};
static const random_bytes pixel_u8_i8 = {KILN_U8, KILN_I8, .is_pixel = true};
static const random_bytes pixel_i8_i8 = {KILN_I8, KILN_I8, .is_pixel = true};
static const random_bytes pixel_u8_u8 = {KILN_U8, KILN_U8, .is_pixel = true};
static const random_bytes pixel_u8_i16 = {KILN_U8, KILN_I16, .is_pixel = true};
static const random_bytes depth_u8_i8 = {KILN_U8, KILN_I8, .is_depthwise = true};
static const random_bytes depth_i8_i16 = {KILN_I8, KILN_I16, .is_depthwise = true};

static template_property direct[] = {
    {"direct_u8_i8", KILN_U8, 0, 0, 80, &u8_i8},
    {"direct_i8_i8", KILN_I8, 0, 0, 30, &i8_i8},
    {"direct_u8_u8", KILN_U8, 0, 0, 30, &u8_u8},
    {"direct_i8_u8", KILN_I8, 0, 0, 15, &i8_u8},
    {"direct_u8_i16", KILN_U8, 0, 0, 15, &u8_i16},
};
static template_property pixels[] = {
    {"pixels_u8_i8", KILN_U8, 0, 0, 80, &pixel_u8_i8},
    {"pixels_i8_i8", KILN_I8, 0, 0, 30, &pixel_i8_i8},
    {"pixels_u8_u8", KILN_U8, 0, 0, 30, &pixel_u8_u8},
    {"pixels_u8_i16", KILN_U8, 0, 0, 15, &pixel_u8_i16},
};
static template_property depth[] = {
    {"depthwise_u8_i8", KILN_U8, 0, 0, 40, &depth_u8_i8},
    {"depthwise_i8_i16", KILN_I8, 0, 0, 40, &depth_i8_i16},
};

static kiln_graph *make(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    return random_conv_bytes(a, rng, p->of);
}

static void by_conv_direct(void **state) {
    template_property_check(*state, &kiln_template_conv_direct, make);
}

static void by_conv_1x1(void **state) {
    template_property_check(*state, &kiln_template_conv_1x1, make);
}

static void by_depthwise(void **state) {
    template_property_check(*state, &kiln_template_depthwise, make);
}

int main(void) {
    kiln_test_add_rows(by_conv_direct, direct);
    kiln_test_add_rows(by_conv_1x1, pixels);
    kiln_test_add_rows(by_depthwise, depth);
    return kiln_test_run("template_conv_bytes");
}
