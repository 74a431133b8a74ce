/* The conv_1x1 template: random shapes and configurations equal the reference; hot
 * loops of what is guessed hold no spill; panels of weights are fetched ahead.
 * Tolerance as for matmul: at most 40 terms. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

static kiln_value *conv(kiln_graph *g, kiln_value *const *in, int n_in,
                        const int64_t *strides, size_t n_strides) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_attr_arg arg = kiln_arg_ints("strides", strides, n_strides);
    const kiln_node_spec spec = {
        .op = &kiln_op_conv, .in = in, .n_in = n_in, .args = &arg, .n_args = 1};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n->out[0];
}

/* An operand that is broadcast along some axes of y, in the end that y's tile is not
 * one of pixels: rows apart from columns. */
static kiln_value *add_mixed(kiln_graph *g, kiln_rng *rng, kiln_value *y) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < y->type.rank; i++)
        dim[i] = kiln_rng_range(rng, 0, 1) == 0 ? 1 : y->type.dim[i];
    const int drop = (int)kiln_rng_range(rng, 0, y->type.rank - 1);
    const kiln_type t = kiln_type_make(y->type.dtype, y->type.rank - drop, dim + drop);
    kiln_value *in[2] = {y, random_operand(g, "mixed", &t, true, 9)};
    return graph_node(g, &kiln_op_mul, in, 2);
}

static kiln_graph *random_conv(kiln_arena *a, kiln_rng *rng,
                               const template_property *p) {
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 11};
    static const int64_t channels[] = {1, 2, 3, 8, 16, 17, 20, 32, 40};
    const int n_spatial = (int)kiln_rng_range(rng, 1, 3);
    int64_t dx[KILN_MAX_RANK], dw[KILN_MAX_RANK], strides[KILN_MAX_RANK];
    dx[0] = kiln_rng_range(rng, 1, 2);
    dx[1] = dw[1] = random_pick(rng, channels, 9);
    dw[0] = random_pick(rng, channels + 1, 8);
    const bool is_strided = kiln_rng_range(rng, 0, 2) == 0;
    for (int i = 0; i < n_spatial; i++) {
        dx[2 + i] = random_pick(rng, sizes, n_spatial == 3 ? 4 : 7);
        dw[2 + i] = 1;
        strides[i] = is_strided ? kiln_rng_range(rng, 1, 3) : 1;
    }
    const kiln_type tx = kiln_type_make(p->dtype, 2 + n_spatial, dx);
    const kiln_type tw = kiln_type_make(p->dtype, 2 + n_spatial, dw);
    const kiln_type tb = kiln_type_make(p->dtype, 1, dw);
    kiln_graph *g = kiln_graph_new(a, "conv");
    kiln_value *in[3] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, kiln_rng_range(rng, 0, 3) > 0, 6)};
    const bool has_bias = kiln_rng_range(rng, 0, 1) == 0;
    if (has_bias)
        in[2] = random_operand(g, "b", &tb, true, 8);
    kiln_value *y = conv(g, in, has_bias ? 3 : 2, strides, (size_t)n_spatial);
    if (kiln_rng_range(rng, 0, 4) == 0 && kiln_dtype_is_float(p->dtype))
        y = add_mixed(g, rng, y);
    kiln_graph_add_output(g, random_epilogue(g, rng, y, 1), "y");
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
    template_property_check(*state, &kiln_template_conv_1x1, random_conv);
}

/* ---- what it takes --------------------------------------------------------------- */

typedef struct fit_row {
    const char *name;
    int64_t groups, kernel, pad, channels;
    bool want;
} fit_row;

static fit_row fit_rows[] = {
    {"takes_one_tap", 1, 1, 0, 8, true},
    {"leaves_groups", 2, 1, 0, 8, false},
    {"leaves_taps", 1, 3, 0, 8, false},
    {"leaves_padding", 1, 1, 1, 8, false},
    {"leaves_one_output_channel", 1, 1, 0, 1, false},
};

static void fits_as_said(void **state) {
    const fit_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_node *n = NULL;
    kiln_workload w;
    const int64_t pads[] = {r->pad, r->pad, r->pad, r->pad};
    const kiln_type tx = kiln_type_make(KILN_F32, 4, (int64_t[]){1, 8, 6, 6});
    const kiln_type tw = kiln_type_make(
        KILN_F32, 4, (int64_t[]){r->channels, 8 / r->groups, r->kernel, r->kernel});
    kiln_graph *g = kiln_graph_new(a, "conv");
    kiln_value *in[2] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, true, 1)};
    const kiln_attr_arg arg[] = {kiln_arg_ints("pads", pads, 4),
                                 kiln_arg_int("groups", r->groups)};
    const kiln_node_spec spec = {
        .op = &kiln_op_conv, .in = in, .n_in = 2, .args = arg, .n_args = 2};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    kiln_graph_add_output(g, n->out[0], "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_int_equal(kiln_template_conv_1x1.fits(&w, kiln_profile_at(0)), r->want);
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    int64_t size, ic, oc, stride;
    template_hot_loop want;
    bool has_relu;
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_c3", "x86-avx512", 56, 64, 64, 1, {24, 50}, false},
    {"avx512_c5", "x86-avx512", 56, 64, 128, 2, {24, 50}, false},
    {"avx512_c8", "x86-avx512", 28, 128, 256, 2, {24, 50}, false},
    {"avx512_c11", "x86-avx512", 14, 256, 512, 2, {24, 50}, false},
    {"avx512_small_pixels", "x86-avx512", 7, 512, 512, 1, {24, 50}, false},
    {"avx512_tail_of_channels", "x86-avx512", 14, 144, 90, 1, {24, 50}, true},
    {"avx512_tail_and_next_panel", "x86-avx512", 7, 512, 1000, 1, {20, 50}, true},
    {"avx2_c3", "x86-avx2", 56, 64, 64, 1, {10, 26}, false},
    {"avx2_c11", "x86-avx2", 14, 256, 512, 2, {10, 26}, false},
};

static void hot_loop_is_clean(void **state) {
    const hot_row *r = *state;
    const int64_t strides[] = {r->stride, r->stride};
    const kiln_type tx =
        kiln_type_make(KILN_F32, 4, (int64_t[]){1, r->ic, r->size, r->size});
    const kiln_type tw = kiln_type_make(KILN_F32, 4, (int64_t[]){r->oc, r->ic, 1, 1});
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), "conv");
    kiln_value *in[2] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, true, 1)};
    kiln_value *y = conv(g, in, 2, strides, 2);
    kiln_graph_add_output(g, r->has_relu ? graph_node(g, &kiln_op_relu, &y, 1) : y,
                          "y");
    const template_check t = {.tmpl = &kiln_template_conv_1x1};
    template_check_hot_loop(&t, g, r->profile, &r->want);
}

/* ---- the next panel of weights --------------------------------------------------- */

typedef struct fetch_row {
    const char *name;
    int64_t oc, l1, l2;
    bool want;
} fetch_row;

static fetch_row fetch_rows[] = {
    {"fetches_the_next_panel", 200, 1024, 1 << 20, true},
    {"leaves_one_panel", 16, 1024, 1 << 20, false},
    {"leaves_what_the_l1_cache_holds", 200, 1 << 20, 1 << 21, false},
    {"leaves_what_the_l2_cache_does_not_hold", 200, 1024, 1 << 12, false},
};

/* Of 5 x 5 pixels. */
static kiln_graph *conv_of(int64_t ic, int64_t oc) {
    const int64_t strides[] = {1, 1};
    const kiln_type tx = kiln_type_make(KILN_F32, 4, (int64_t[]){1, ic, 5, 5});
    const kiln_type tw = kiln_type_make(KILN_F32, 4, (int64_t[]){oc, ic, 1, 1});
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), "conv");
    kiln_value *in[2] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, true, 1)};
    kiln_graph_add_output(g, conv(g, in, 2, strides, 2), "y");
    return g;
}

static void fetches_what_comes(void **state) {
    const fetch_row *r = *state;
    kiln_profile p;
    const template_check t =
        template_check_on(&kiln_template_conv_1x1, "x86-avx512", &p, 3e-4);
    p.l1d_bytes = r->l1;
    p.l2_bytes = r->l2;
    const char *text =
        template_guess_program(kiln_test_arena(), &t, conv_of(40, r->oc));
    assert_int_equal(strstr(text, "prefetch(w") != NULL, r->want);
}

/* ---- the loops over channels ------------------------------------------------- */

typedef struct tail_row {
    const char *name;
    int64_t ic, oc;
    const char *want; /* a loop over channels in blocks of 16 */
} tail_row;

static tail_row tail_rows[] = {
    {"sums_half_of_the_last_block", 24, 32, "for ic.inner.outer in 0 .. +8 {"},
    {"sums_a_quarter_of_it", 36, 32, "for ic.inner.outer in 0 .. +4 {"},
    {"sums_zeros_in_place_of_a_loop_more", 31, 32, "for ic.outer in 0 .. +2 {"},
    {"sums_whole_blocks", 32, 32, "for ic.outer in 0 .. +2 {"},
    {"reads_a_channel_of_each_pixel", 32, 32, "for ic.inner.outer in 0 .. +16 {"},
    {"reads_four_where_the_tile_is_narrow", 32, 16, "for ic.inner.outer in 0 .. +4 {"},
    {"reads_four_of_the_last_block", 24, 16, "for ic.inner.outer in 0 .. +2 {"},
};

static void sums_few_zeros(void **state) {
    const tail_row *r = *state;
    kiln_profile p;
    const template_check t =
        template_check_on(&kiln_template_conv_1x1, "x86-avx512", &p, 3e-4);
    const char *text =
        template_guess_program(kiln_test_arena(), &t, conv_of(r->ic, r->oc));
    if (strstr(text, r->want) == NULL)
        fail_msg("'%s' must be in\n%s", r->want, text);
}

int main(void) {
    kiln_test_add_rows(fetches_what_comes, fetch_rows);
    kiln_test_add_rows(sums_few_zeros, tail_rows);
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(fits_as_said, fit_rows);
    kiln_test_add_rows(hot_loop_is_clean, hot_rows);
    return kiln_test_run("template_conv_1x1");
}
