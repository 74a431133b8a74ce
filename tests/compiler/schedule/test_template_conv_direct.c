/* The conv_direct template: random convolutions and configurations equal the reference,
 * interpreted and, some of them, compiled; what cannot be is refused by name.
 *
 * Tolerance: |x| <= 1 and at most k = 300 terms, so sums in f32 are within
 * 300 * 300 * 2^-24 = 6e-3 at the very worst, and within 1e-4 in every draw seen;
 * outputs in f16 round once more. Integers are exact. */
#include "compiler/codegen/codegen.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_conv.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static kiln_profile profiles[8];
static int n_profiles;

/* ---- interpreted and compiled equal the reference -------------------------------- */

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 2e-4, 200, NULL},
    {"f16_is_the_reference", KILN_F16, 2e-3, 1e-2, 15, NULL},
    {"f64_is_the_reference", KILN_F64, 1e-12, 1e-12, 15, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 15, NULL},
};

static void one_draw(kiln_arena *a, const template_property *p, int64_t i,
                     int *n_refused) {
    kiln_rng rng;
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_rng_init(&rng, kiln_test_seed() * 1000003u + (uint64_t)i);
    const kiln_graph *g = random_convolution(a, &rng, p->dtype, RANDOM_LARGE);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_profile profile = profiles[kiln_rng_range(&rng, 0, n_profiles - 1)];
    if (i % 2 == 1) /* weights are more than the half that may stay in the L2 cache */
        profile.l2_bytes = (int64_t)kiln_type_bytes(&w.anchor->in[1]->type) * 3 / 2;
    const template_check t = {.tmpl = &kiln_template_conv_direct,
                              .profile = &profile,
                              .compiled = kiln_rng_range(&rng, 1, 10) == 1,
                              .seed = (uint64_t)i,
                              .rtol = p->rtol,
                              .atol = p->atol};
    assert_true(t.tmpl->fits(&w, t.profile));
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t.tmpl->space(&w, t.profile, &s, &err), &err);
    const bool is_guess = i % 5 == 0;
    kiln_config c =
        is_guess ? t.tmpl->guess(&w, t.profile, &s) : kiln_config_random(&s, &rng);
    for (int k = 0; k < 4 && !template_check_run(a, &t, &w, &s, &c, &err); k++) {
        assert_false(is_guess); /* what is guessed is never refused */
        assert_non_null(strstr(err.text, "conv_direct: "));
        c = kiln_config_random(&s, &rng);
        ++*n_refused;
    }
}

static void random_configurations(void **state) {
    const template_property *p = *state;
    const int64_t runs = kiln_test_cases(p->runs);
    int n_refused = 0;
    for (int64_t i = 0; i < runs; i++) {
        kiln_arena a = {0};
        kiln_arena_init(&a);
        one_draw(&a, p, i, &n_refused);
        kiln_arena_fini(&a);
    }
    print_message("%" PRId64 " checked, %d refused\n", runs, n_refused);
}

/* ---- guesses --------------------------------------------------------------------- */

/* Layers of ResNet-18. */
typedef struct layer {
    const char *name, *profile;
    int64_t h, ic, oc, k, stride, pad_begin, pad_end;
    int adds;  /* multiply-adds of the hottest loop */
    int loads; /* at most */
} layer;

static layer layers[] = {
    {"c1_avx512", "x86-avx512", 224, 3, 64, 7, 2, 2, 3, .adds = 24, .loads = 11},
    {"c2_avx512", "x86-avx512", 56, 64, 64, 3, 1, 1, 1, .adds = 24, .loads = 11},
    {"c6_avx512", "x86-avx512", 28, 128, 128, 3, 1, 1, 1, .adds = 24, .loads = 11},
    {"c9_avx512", "x86-avx512", 14, 256, 256, 3, 1, 1, 1, .adds = 24, .loads = 11},
    {"c12_avx512", "x86-avx512", 7, 512, 512, 3, 1, 1, 1, .adds = 28, .loads = 16},
    {"c1_avx2", "x86-avx2", 224, 3, 64, 7, 2, 2, 3, .adds = 12, .loads = 8},
    {"c2_avx2", "x86-avx2", 56, 64, 64, 3, 1, 1, 1, .adds = 12, .loads = 8},
    {"c6_avx2", "x86-avx2", 28, 128, 128, 3, 1, 1, 1, .adds = 12, .loads = 8},
    {"c9_avx2", "x86-avx2", 14, 256, 256, 3, 1, 1, 1, .adds = 12, .loads = 8},
    {"c12_avx2", "x86-avx2", 7, 512, 512, 3, 1, 1, 1, .adds = 14, .loads = 15},
};

/* No loop with multiply-adds touches the stack, and the hottest is what the register
 * tile says: one load for each broadcast and each vector of weights. */
static void check_loops(kiln_arena *a, const template_check *t, const kiln_workload *w,
                        const kiln_space *s, const kiln_config *c, const layer *l) {
    kiln_err err = {0};
    kiln_asm_loop *loop;
    size_t n = 0;
    const kiln_str text = template_assembly(a, t, w, s, c, &err);
    assert_true(text.n > 0);
    kiln_assert_status_ok(
        kiln_asm_innermost_loops(a, text, t->profile->arch, &loop, &n, &err), &err);
    kiln_asm_loop hot = {.vector_fma = 0};
    for (size_t i = 0; i < n; i++) {
        if (loop[i].vector_fma > 0)
            assert_int_equal(loop[i].spills, 0);
        if (loop[i].vector_fma > hot.vector_fma)
            hot = loop[i];
    }
    print_message("%d multiply-adds, %d loads of %d instructions\n", hot.vector_fma,
                  hot.vector_loads, hot.instructions);
    assert_int_equal(hot.vector_stores, 0);
    assert_int_equal(hot.vector_fma, l->adds);
    assert_true(hot.vector_loads <= l->loads);
}

static void hot_loops_hold_no_spill(void **state) {
    const layer *l = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    const random_conv_shape x = {
        .n_spatial = 2,
        .batch = 1,
        .groups = 1,
        .c = l->ic,
        .o = l->oc,
        .in = {l->h, l->h},
        .kernel = {l->k, l->k},
        .stride = {l->stride, l->stride},
        .dilation = {1, 1},
        .pads = {l->pad_begin, l->pad_begin, l->pad_end, l->pad_end}};
    kiln_graph *g = kiln_graph_new(&a, "layer");
    kiln_graph_add_output(g, random_conv_of(g, &x, KILN_F32, false), "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(&a, l->profile, &p, &err), &err);
    const template_check t = {.tmpl = &kiln_template_conv_direct, .profile = &p};
    kiln_space_init(&s, &a);
    kiln_assert_status_ok(t.tmpl->space(&w, &p, &s, &err), &err);
    const kiln_config guess = t.tmpl->guess(&w, &p, &s);
    check_loops(&a, &t, &w, &s, &guess, l);
    assert_true(s.size > 100000); /* a search has something to choose from */
    kiln_arena_fini(&a);
}

/* ---- the next panel of weights ---------------------------------------------------- */

typedef struct fetch_row {
    const char *name;
    int64_t rows, columns, l2;
    template_knob knobs[3];
    const char *want; /* the first fetch; NULL: there is none */
} fetch_row;

/* 32 to 64 channels by 3 x 3: weights are [4][2][3][3][16][16], 72 KiB, in panels of two
 * blocks, 9216 elements. Two tiles fetch halves of the 256 that each tap reads of a
 * block. */
static fetch_row fetch_rows[] = {
    {"each_row_of_tiles_fetches_its_part",
     6,
     6,
     128 << 10,
     {{NULL, 0, NULL}},
     "c[i0.i1.outer.outer.fused.i2.outer.outer.fused*9216 + ic.outer*2304 + "
     "k0*768 + k1*256 + ic.inner*8 + i2.outer.inner % 2*128 + 13824]"},
    {"each_tile_of_a_row_fetches_its_part",
     1,
     30,
     128 << 10,
     {{NULL, 0, NULL}},
     "c[i0.i1.outer.outer.fused.i2.outer.outer.fused*9216 + ic.outer*2304 + "
     "k0*768 + k1*256 + ic.inner*8 + i3.outer % 2*128 + 13824]"},
    {"steps_of_one_body_fetch_together",
     6,
     6,
     128 << 10,
     {{"unroll", 4, NULL}},
     "c[i0.i1.outer.outer.fused.i2.outer.outer.fused*9216 + ic.outer*2304 + "
     "k0*768 + k1*256 + ic.inner.outer*32 + i2.outer.inner % 2*128 + 13840]"},
    {"leaves_what_the_l2_cache_holds", 6, 6, 1 << 20, {{NULL, 0, NULL}}, NULL},
    {"leaves_panels_that_the_l2_cache_does_not_hold",
     6,
     6,
     24 << 10,
     {{NULL, 0, NULL}},
     NULL},
    {"leaves_a_single_tile", 1, 6, 128 << 10, {{NULL, 0, NULL}}, NULL},
    {"is_a_knob", 6, 6, 128 << 10, {{"fetch", 0, "off"}}, NULL},
};

static void fetches_what_comes(void **state) {
    const fetch_row *r = *state;
    kiln_profile p;
    template_check t =
        template_check_on(&kiln_template_conv_direct, "x86-avx512", &p, 3e-4);
    p.l2_bytes = r->l2;
    t.knobs = r->knobs;
    const random_conv_shape x = {.n_spatial = 2,
                                 .batch = 1,
                                 .groups = 1,
                                 .c = 32,
                                 .o = 64,
                                 .in = {r->rows, r->columns},
                                 .kernel = {3, 3},
                                 .stride = {1, 1},
                                 .dilation = {1, 1},
                                 .pads = {1, 1, 1, 1}};
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), "layer");
    kiln_graph_add_output(g, random_conv_of(g, &x, KILN_F32, false), "y");
    template_check_fetch(&t, g, r->want);
}

/* ---- few channels ----------------------------------------------------------------- */

typedef struct pay_row {
    const char *name, *profile;
    int64_t o, h, k, stride, groups;
    bool pays;
} pay_row;

static pay_row pay_rows[] = {
    {"three_of_sixteen_lanes", "x86-avx512", 3, 64, 3, 1, 1, false},
    {"three_of_eight_lanes", "x86-avx2", 3, 64, 3, 1, 1, false},
    {"one_of_four_lanes", "aarch64", 1, 64, 3, 1, 1, false},
    {"half_of_the_lanes", "x86-avx512", 8, 64, 3, 1, 1, true},
    {"three_of_four_lanes", "aarch64", 3, 64, 3, 1, 1, true},
    {"rows_of_half_a_vector", "x86-avx512", 3, 8, 3, 1, 1, true},
    {"pixels_that_are_no_neighbours", "x86-avx512", 3, 64, 3, 2, 1, true},
    {"groups", "x86-avx512", 2, 64, 3, 1, 2, true},
};

static void is_left_to_pixels(void **state) {
    const pay_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_profile p;
    kiln_graph *g;
    const int pad = (int)r->k / 2, h = (int)r->h;
    const char *text = kiln_format(
        a,
        "graph \"g\" { input %%x : f32[1,64,%d,%d] input %%w : f32[%d,%d,%d,%d] "
        "%%y = conv(%%x, %%w) {pads=[%d,%d,%d,%d], strides=[%d,%d], groups=%d} "
        "output %%y }",
        h, h, (int)r->o, (int)(64 / r->groups), (int)r->k, (int)r->k, pad, pad, pad,
        pad, (int)r->stride, (int)r->stride, (int)r->groups);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "g", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &p, &err), &err);
    assert_ptr_equal(kiln_template_for(&w, &p),
                     r->pays ? &kiln_template_conv_direct : &kiln_template_generic);
}

int main(void) {
    kiln_profile machine;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err), &err);
    for (int i = 0; kiln_profile_at(i) != NULL && n_profiles < 8; i++) {
        char missing[128];
        if (kiln_profile_runs_on(kiln_profile_at(i), &machine, missing))
            profiles[n_profiles++] = *kiln_profile_at(i);
    }
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(hot_loops_hold_no_spill, layers);
    kiln_test_add_rows(fetches_what_comes, fetch_rows);
    kiln_test_add_rows(is_left_to_pixels, pay_rows);
    return kiln_test_run("template_conv_direct");
}
