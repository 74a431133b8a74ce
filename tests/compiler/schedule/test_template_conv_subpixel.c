/* The conv_subpixel template: random shapes and configurations equal the reference; hot
 * loops of what is guessed hold no spill; what it does not take; which panels are the
 * outer loop. Tolerance as for matmul: at most 40 terms. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

typedef struct shape {
    kiln_dtype dtype;
    int n; /* spatial axes */
    int64_t images, c, o, in[3], taps[3];
    bool has_bias, is_const;
} shape;

static kiln_value *deconv(kiln_graph *g, const shape *s) {
    int64_t dx[KILN_MAX_RANK] = {s->images, s->c}, dw[KILN_MAX_RANK] = {s->c, s->o};
    for (int i = 0; i < s->n; i++) {
        dx[2 + i] = s->in[i];
        dw[2 + i] = s->taps[i];
    }
    const kiln_type tx = kiln_type_make(s->dtype, 2 + s->n, dx);
    const kiln_type tw = kiln_type_make(s->dtype, 2 + s->n, dw);
    const kiln_type tb = kiln_type_make(s->dtype, 1, &s->o);
    const kiln_attr_arg strides = kiln_arg_ints("strides", s->taps, (size_t)s->n);
    kiln_value *in[3] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, s->is_const, 6)};
    if (s->has_bias)
        in[2] = random_operand(g, "b", &tb, true, 8);
    return graph_node_with(g, &kiln_op_conv_transpose, in, s->has_bias ? 3 : 2,
                           &strides, 1);
}

static kiln_graph *random_deconv(kiln_arena *a, kiln_rng *rng,
                                 const template_property *p) {
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 11};
    static const int64_t channels[] = {1, 2, 3, 8, 16, 17, 20, 32, 40};
    shape s = {.dtype = p->dtype,
               .n = (int)kiln_rng_range(rng, 1, 3),
               .images = kiln_rng_range(rng, 1, 2),
               .c = random_pick(rng, channels, 9),
               .o = random_pick(rng, channels + 1, 8),
               .has_bias = kiln_rng_range(rng, 0, 1) == 0,
               .is_const = kiln_rng_range(rng, 0, 3) > 0};
    for (int i = 0; i < s.n; i++) {
        s.in[i] = random_pick(rng, sizes, s.n == 3 ? 3 : 7);
        s.taps[i] = kiln_rng_range(rng, 1, s.n == 3 ? 2 : 4);
    }
    kiln_graph *g = kiln_graph_new(a, "deconv");
    kiln_graph_add_output(g, random_epilogue(g, rng, deconv(g, &s), 1), "y");
    return g;
}

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 3e-4, 80, NULL},
    {"f16_is_the_reference", KILN_F16, 4e-3, 4e-3, 16, NULL},
    {"bf16_is_the_reference", KILN_BF16, 3e-2, 3e-2, 16, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 16, NULL},
    {"i8_is_the_reference", KILN_I8, 0, 0, 16, NULL},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_conv_subpixel, random_deconv);
}

/* ---- what it takes --------------------------------------------------------------- */

typedef struct fit_row {
    const char *name, *text;
    bool want;
} fit_row;

#define DECONV(x, w, attrs)                                                            \
    "graph \"g\" { input %x : " x " input %w : " w                                     \
    " %y = conv_transpose(%x, %w) {" attrs "} output %y }"

static fit_row fit_rows[] = {
    {"takes_taps_side_by_side", DECONV("f32[1,8,3,4]", "f32[8,8,2,3]", "strides=[2,3]"),
     true},
    {"takes_gaps_between_single_taps",
     DECONV("f32[1,8,4]", "f32[8,8,1]", "dilations=[3]"), true},
    {"leaves_taps_that_overlap", DECONV("f32[1,8,4]", "f32[8,8,3]", "strides=[2]"),
     false},
    {"leaves_taps_with_gaps",
     DECONV("f32[1,8,4]", "f32[8,8,2]", "strides=[2], dilations=[2]"), false},
    {"leaves_padding", DECONV("f32[1,8,4]", "f32[8,8,2]", "strides=[2], pads=[1,1]"),
     false},
    {"leaves_what_no_tap_makes",
     DECONV("f32[1,8,4]", "f32[8,8,2]", "strides=[2], output_padding=[1]"), false},
    {"leaves_padding_made_good",
     DECONV("f32[1,8,4]", "f32[8,8,2]", "strides=[2], pads=[0,1], output_padding=[1]"),
     false},
    {"leaves_groups", DECONV("f32[1,8,4]", "f32[8,4,2]", "strides=[2], groups=2"),
     false},
    {"leaves_one_output_channel", DECONV("f32[1,8,4]", "f32[8,1,2]", "strides=[2]"),
     false},
    {"leaves_more_taps_than_registers",
     DECONV("f32[1,8,4]", "f32[8,8,40]", "strides=[40]"), false},
};

static kiln_workload workload(kiln_arena *a, const char *text) {
    kiln_err err = {0};
    kiln_graph *g;
    kiln_workload w;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    return w;
}

static void fits_as_said(void **state) {
    const fit_row *r = *state;
    const kiln_workload w = workload(kiln_test_arena(), r->text);
    assert_int_equal(kiln_template_conv_subpixel.fits(&w, kiln_profile_at(0)), r->want);
    if (r->want)
        assert_ptr_equal(kiln_template_for(&w, kiln_profile_at(0)),
                         &kiln_template_conv_subpixel);
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    int64_t size, c, o;
    template_hot_loop want;
    bool has_relu;
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_bottom", "x86-avx512", 16, 1024, 512, {20, 50}, false},
    {"avx512_top", "x86-avx512", 128, 128, 64, {20, 50}, false},
    {"avx512_tail_of_channels", "x86-avx512", 14, 144, 90, {20, 50}, true},
    {"avx2_bottom", "x86-avx2", 16, 1024, 512, {8, 26}, false},
    {"avx2_top", "x86-avx2", 128, 128, 64, {8, 26}, false},
    {"aarch64_top", "aarch64", 128, 128, 64, {20, 60}, false},
};

static kiln_graph *square(const char *name, int64_t size, int64_t c, int64_t o) {
    const shape s = {.dtype = KILN_F32,
                     .n = 2,
                     .images = 1,
                     .c = c,
                     .o = o,
                     .in = {size, size},
                     .taps = {2, 2},
                     .is_const = true};
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), name);
    kiln_graph_add_output(g, deconv(g, &s), "y");
    return g;
}

static void hot_loop_is_clean(void **state) {
    const hot_row *r = *state;
    kiln_graph *g = square(r->name, r->size, r->c, r->o);
    if (r->has_relu) {
        kiln_value *y = g->outputs.v[0];
        g->outputs.n = 0;
        kiln_graph_add_output(g, graph_node(g, &kiln_op_relu, &y, 1), "z");
    }
    const template_check t = {.tmpl = &kiln_template_conv_subpixel};
    template_check_hot_loop(&t, g, r->profile, &r->want);
}

/* ---- which panels are the outer loop --------------------------------------------- */

typedef struct order_row {
    const char *name;
    int64_t size, c, o, l2;
    const char *want;
} order_row;

static order_row order_rows[] = {
    {"weights_that_stay_near_pass_by_again", 64, 32, 32, 1 << 20, "pixels"},
    {"an_image_that_stays_near_passes_by_again", 4, 512, 512, 1 << 20, "channels"},
    {"of_two_that_do_not_the_smaller_sum", 128, 256, 256, 1 << 16, "channels"},
};

static void panels_in_order(void **state) {
    const order_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    p.l2_bytes = r->l2;
    p.core.l2_kib = 0;
    kiln_assert_status_ok(
        kiln_workload_of(square(r->name, r->size, r->c, r->o), &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(kiln_template_conv_subpixel.space(&w, &p, &s, &err), &err);
    const kiln_config c = kiln_template_conv_subpixel.guess(&w, &p, &s);
    for (int k = 0; k < s.n; k++)
        if (strcmp(s.knob[k].name, "order") == 0)
            assert_string_equal(kiln_config_word(&s, &c, k), r->want);
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(fits_as_said, fit_rows);
    kiln_test_add_rows(hot_loop_is_clean, hot_rows);
    kiln_test_add_rows(panels_in_order, order_rows);
    return kiln_test_run("template_conv_subpixel");
}
