/* The conv_winograd template: the tensor expression itself, random convolutions and
 * configurations, interpreted and some of them compiled, equal the reference; what it
 * does not take, and where it is the default.
 *
 * Tolerance: |x| <= 1 and at most 32 * 9 terms. F(4, 3) multiplies rounding errors by
 * up to 30: within 30 * 1e-4 in every draw seen of what conv_direct keeps to 2e-4. That
 * its own bound holds, element by element, is
 * tests/pipeline/kernels/test_winograd_bound.c. */
#include "compiler/graph/winograd.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/packed.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

static const template_check check = {
    .tmpl = &kiln_template_conv_winograd, .rtol = 1e-4, .atol = 2e-3};

/* ---- workloads ------------------------------------------------------------------- */

typedef struct shape {
    int64_t n, c, o, h, w, kernel[2], stride, dilation, pads[4], groups;
    kiln_dtype dtype;
    bool is_input; /* the weights are no constant */
} shape;

static const shape plain = {.n = 1,
                            .c = 16,
                            .o = 16,
                            .h = 8,
                            .w = 8,
                            .kernel = {3, 3},
                            .stride = 1,
                            .dilation = 1,
                            .pads = {1, 1, 1, 1},
                            .groups = 1,
                            .dtype = KILN_F32};

static kiln_value *convolution(kiln_graph *g, const shape *s, bool has_bias) {
    const int64_t x[] = {s->n, s->c, s->h, s->w};
    const int64_t w[] = {s->o, s->c / s->groups, s->kernel[0], s->kernel[1]};
    const int64_t strides[] = {s->stride, s->stride};
    const int64_t dilations[] = {s->dilation, s->dilation};
    const kiln_type tx = kiln_type_make(s->dtype, 4, x);
    const kiln_type tw = kiln_type_make(s->dtype, 4, w);
    const kiln_type tb = kiln_type_make(s->dtype, 1, w);
    const kiln_attr_arg args[] = {
        kiln_arg_ints("strides", strides, 2), kiln_arg_ints("dilations", dilations, 2),
        kiln_arg_ints("pads", s->pads, 4), kiln_arg_int("groups", s->groups)};
    kiln_value *in[3] = {kiln_graph_add_input(g, "x", &tx)};
    in[1] = s->is_input ? kiln_graph_add_input(g, "w", &tw)
                        : random_operand(g, "c", &tw, true, 7);
    if (has_bias)
        in[2] = random_operand(g, "c", &tb, true, 8);
    return graph_node_with(g, &kiln_op_conv, in, has_bias ? 3 : 2, args, 4);
}

static kiln_graph *graph_of(kiln_arena *a, const shape *s) {
    kiln_graph *g = kiln_graph_new(a, "convolution");
    kiln_graph_add_output(g, convolution(g, s, false), "y");
    return g;
}

static int64_t pick(kiln_rng *rng, const int64_t *of, int n) {
    return of[kiln_rng_range(rng, 0, n - 1)];
}

static bool one_in(kiln_rng *rng, int n) { return kiln_rng_range(rng, 1, n) == 1; }

/* Channels that no block divides, extents that no tile does, uneven padding, batches,
 * and what is fused behind. */
static kiln_graph *random_convolution(kiln_arena *a, kiln_rng *rng) {
    static const int64_t channels[] = {4, 5, 8, 16, 17, 20, 32};
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 14};
    /* As often as others those of three by three. */
    static const struct {
        int64_t taps[2], stride;
    } windows[] = {{{3, 3}, 1}, {{3, 3}, 1}, {{3, 3}, 1}, {{3, 3}, 1}, {{3, 3}, 2},
                   {{3, 3}, 2}, {{5, 5}, 2}, {{1, 3}, 2}, {{5, 5}, 1}, {{1, 7}, 1},
                   {{7, 1}, 1}, {{1, 3}, 1}, {{5, 1}, 1}, {{3, 5}, 1}, {{7, 3}, 1},
                   {{2, 2}, 1}, {{2, 3}, 1}, {{4, 4}, 1}, {{4, 4}, 2}, {{7, 7}, 1}};
    enum { N_WINDOWS = sizeof windows / sizeof windows[0] };
    const int window = (int)kiln_rng_range(rng, 0, N_WINDOWS - 1);
    shape s = plain;
    kiln_graph *g = kiln_graph_new(a, "convolution");
    s.n = one_in(rng, 4) ? 2 : 1;
    s.c = pick(rng, channels, 7);
    s.o = pick(rng, channels, 7);
    memcpy(s.kernel, windows[window].taps, sizeof s.kernel);
    s.stride = windows[window].stride;
    for (int i = 0; i < 4; i++)
        s.pads[i] = kiln_rng_range(rng, 0, s.kernel[i % 2] - 1);
    for (int i = 0; i < 2; i++) { /* at least one window */
        int64_t *in = i == 0 ? &s.h : &s.w;
        *in = (pick(rng, extents, 10) - 1) * s.stride + s.kernel[i] - s.pads[i] -
              s.pads[2 + i] + kiln_rng_range(rng, 0, s.stride - 1);
        *in = *in < 1 ? 1 : *in;
        while (*in + s.pads[i] + s.pads[2 + i] < s.kernel[i])
            ++*in;
    }
    kiln_value *y = convolution(g, &s, one_in(rng, 2));
    if (one_in(rng, 3)) {
        kiln_value *in[] = {y, kiln_graph_add_input(g, "r", &y->type)};
        y = graph_node(g, &kiln_op_add, in, 2);
    }
    if (one_in(rng, 2))
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

/* ---- right ----------------------------------------------------------------------- */

static void equals_the_reference(void **state) {
    (void)state;
    template_runs runs = {.n = 100};
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        assert_true(template_runs_check(&runs, &check,
                                        random_convolution(runs.arena, &runs.rng)));
}

/* Packed inputs as a stage reads them: their bytes, one axis. */
static kiln_wide packed(kiln_arena *a, const kiln_te_graph *te, size_t i,
                        const kiln_tensor *x) {
    const int64_t n = kiln_type_stored_elems(&te->arg_type[i]);
    const kiln_type flat = kiln_type_make(KILN_F32, 1, &n);
    void *bytes = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&te->arg_type[i]));
    kiln_wide wide = kiln_wide_new(a, &flat);
    const kiln_packing k = kiln_test_packing(te, i);
    kiln_test_pack(&k, x->data, bytes);
    kiln_widen(&flat, bytes, &wide);
    return wide;
}

/* With no schedule at all: sums in double, so that only roundings of the stages are
 * left. */
static void check_expression(kiln_arena *a, kiln_rng *rng, uint64_t seed) {
    const kiln_graph *g = random_convolution(a, rng);
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    kiln_scheduled x;
    kiln_tensor in[8], want;
    size_t n_graph_in = 0, n_topo = 0;
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &p, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(check.tmpl->space(&w, &p, &s, &err), &err);
    const kiln_config c = kiln_config_random(&s, rng);
    kiln_assert_status_ok(kiln_template_apply(a, check.tmpl, &w, &p, &s, &c, &x, &err),
                          &err);
    kiln_wide wide[8], got;
    kiln_tensor given[8];
    assert_true(x.te.n_inputs <= 8 && x.te.n_args == x.te.n_inputs + 1);
    const kiln_te **topo = kiln_te_topo(a, x.te.arg + x.te.n_inputs, 1, &n_topo);
    for (size_t i = 0; i < x.te.n_inputs; i++) {
        const kiln_value *v = x.te.arg_value[i];
        in[i] = (kiln_tensor){v->type, (void *)(uintptr_t)v->data};
        if (v->data == NULL)
            given[n_graph_in++] = in[i] = kiln_ref_random(a, &v->type, seed + i);
        size_t at = 0, place = 0; /* in the order of the stages */
        for (; topo[at] != x.te.arg[i]; at++)
            place += topo[at]->kind == KILN_TE_PLACEHOLDER;
        wide[place] = packed(a, &x.te, i, &in[i]);
    }
    kiln_assert_status_ok(
        kiln_te_eval(a, x.te.arg + x.te.n_inputs, 1, wide, x.te.n_inputs, &got, &err),
        &err);
    kiln_assert_status_ok(kiln_ref_run(a, g, given, n_graph_in, &want, &err), &err);
    const kiln_type *type = &x.te.arg_type[x.te.n_inputs];
    const int64_t n = kiln_type_stored_elems(type);
    float *bytes = kiln_array(a, float, n), *y;
    for (int64_t i = 0; i < n; i++)
        bytes[i] = (float)got.f[i];
    kiln_tensor out = kiln_tensor_new(a, &want.type);
    kiln_layout_unpack(type, bytes, out.data);
    kiln_diff d;
    kiln_assert_status_ok(
        kiln_ref_compare(&out, &want, check.rtol, check.atol, &d, &err), &err);
    y = out.data;
    if (!d.ok)
        fail_msg("element %d is %g, must be %g", (int)d.worst_index, d.worst_got,
                 d.worst_want);
    assert_non_null(y);
}

static void expression_means_the_same(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 12; i++) {
        kiln_arena a = {0};
        check_expression(&a, &rng, (uint64_t)i);
        kiln_arena_fini(&a);
    }
}

/* ---- what it takes --------------------------------------------------------------- */

typedef struct fit_row {
    const char *name;
    shape s; /* 0: as `plain` has it */
    kiln_numerics numerics;
    bool fits;
} fit_row;

static fit_row fit_rows[] = {
    {"fits_three_by_three", {.n = 0}, KILN_NUMERICS_FAST, true},
    {"fits_odd_channels", {.c = 17, .o = 5}, KILN_NUMERICS_FAST, true},
    {"never_where_numerics_are_strict", {.n = 0}, KILN_NUMERICS_STRICT, false},
    {"fits_steps_of_two", {.stride = 2}, KILN_NUMERICS_FAST, true},
    {"not_seven_in_steps_of_two",
     {.kernel = {1, 7}, .stride = 2},
     KILN_NUMERICS_FAST,
     false},
    {"not_in_steps_of_three", {.stride = 3}, KILN_NUMERICS_FAST, false},
    {"not_dilated", {.dilation = 2}, KILN_NUMERICS_FAST, false},
    {"not_grouped", {.groups = 2}, KILN_NUMERICS_FAST, false},
    {"fits_five_by_five", {.kernel = {5, 5}}, KILN_NUMERICS_FAST, true},
    {"fits_one_by_seven", {.kernel = {1, 7}}, KILN_NUMERICS_FAST, true},
    {"fits_five_by_one", {.kernel = {5, 1}}, KILN_NUMERICS_FAST, true},
    {"fits_three_by_one", {.kernel = {3, 1}}, KILN_NUMERICS_FAST, true},
    {"fits_seven_by_seven", {.kernel = {7, 7}}, KILN_NUMERICS_FAST, true},
    {"fits_two_by_two", {.kernel = {2, 2}}, KILN_NUMERICS_FAST, true},
    {"fits_four_by_four_in_steps",
     {.kernel = {4, 4}, .stride = 2},
     KILN_NUMERICS_FAST,
     true},
    {"not_by_six", {.kernel = {1, 6}}, KILN_NUMERICS_FAST, false},
    {"not_one_by_one", {.kernel = {1, 1}}, KILN_NUMERICS_FAST, false},
    {"not_three_channels", {.c = 3}, KILN_NUMERICS_FAST, false},
    {"not_in_double", {.dtype = KILN_F64}, KILN_NUMERICS_FAST, false},
    {"not_in_halves", {.dtype = KILN_F16}, KILN_NUMERICS_FAST, false},
    {"not_with_weights_that_come_later", {.is_input = true}, KILN_NUMERICS_FAST, false},
};

static void takes(void **state) {
    const fit_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_profile p;
    shape s = plain;
    s.c = r->s.c > 0 ? r->s.c : s.c;
    s.o = r->s.o > 0 ? r->s.o : s.o;
    s.stride = r->s.stride > 0 ? r->s.stride : s.stride;
    s.dilation = r->s.dilation > 0 ? r->s.dilation : s.dilation;
    s.groups = r->s.groups > 0 ? r->s.groups : s.groups;
    if (r->s.kernel[0] > 0)
        memcpy(s.kernel, r->s.kernel, sizeof s.kernel);
    s.dtype = r->s.dtype;
    s.is_input = r->s.is_input;
    kiln_assert_status_ok(kiln_workload_of(graph_of(a, &s), &w, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    p.numerics = r->numerics;
    assert_int_equal(kiln_template_conv_winograd.fits(&w, &p), r->fits);
    if (!r->fits)
        assert_ptr_not_equal(kiln_template_for(&w, &p), &kiln_template_conv_winograd);
}

/* ---- where it is the default ----------------------------------------------------- */

typedef struct pay_row {
    const char *name, *profile;
    int64_t n, h, c, o;
    int size; /* of its tiles; 0: conv_direct is faster */
    int64_t kernel[2], stride;
} pay_row;

static pay_row pay_rows[] = {
    {"c2_avx512", "x86-avx512", 1, 56, 64, 64, 4, {3, 3}, 1},
    {"c6_avx512", "x86-avx512", 1, 28, 128, 128, 4, {3, 3}, 1},
    {"c9_avx512", "x86-avx512", 1, 14, 256, 256, 4, {3, 3}, 1},
    {"c2_avx2", "x86-avx2", 1, 56, 64, 64, 4, {3, 3}, 1},
    {"c6_avx2", "x86-avx2", 1, 28, 128, 128, 4, {3, 3}, 1},
    /* Weights of F(4, 3) weigh more than what is saved; those of F(2, 3) come while
     * others are multiplied. */
    {"c12_avx512", "x86-avx512", 1, 7, 512, 512, 2, {3, 3}, 1},
    {"c12_avx2", "x86-avx2", 1, 7, 512, 512, 4, {3, 3}, 1},
    {"vgg_1_2", "x86-avx512", 1, 224, 64, 64, 4, {3, 3}, 1},
    {"vgg_4_2", "x86-avx512", 1, 28, 512, 512, 4, {3, 3}, 1},
    {"one_pixel", "x86-avx512", 1, 1, 64, 64, 0, {3, 3}, 1},
    {"few_channels", "x86-avx512", 1, 56, 8, 64, 0, {3, 3}, 1},
    {"two_by_two", "x86-avx512", 1, 15, 128, 64, 4, {2, 2}, 1},
    {"one_by_seven", "x86-avx512", 1, 17, 192, 192, 2, {1, 7}, 1},
    {"seven_by_one", "x86-avx2", 1, 17, 128, 192, 2, {7, 1}, 1},
    {"five_by_five", "x86-avx512", 1, 35, 48, 64, 2, {5, 5}, 1},
    {"one_by_three", "x86-avx512", 1, 8, 384, 384, 4, {1, 3}, 1},
    {"c4_in_steps", "x86-avx512", 1, 56, 64, 128, 2, {3, 3}, 2},
    {"c7_in_steps", "x86-avx512", 1, 28, 128, 256, 2, {3, 3}, 2},
    {"c10_in_steps", "x86-avx512", 1, 14, 256, 512, 0, {3, 3}, 2}, /* its weights */
    {"many_channels_in_steps", "x86-avx512", 1, 35, 288, 384, 3, {3, 3}, 2},
};

static void is_the_default(void **state) {
    const pay_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_profile p;
    kiln_space space;
    shape s = plain;
    s.n = r->n;
    s.h = s.w = r->h;
    s.c = r->c;
    s.o = r->o;
    s.stride = r->stride;
    memcpy(s.kernel, r->kernel, sizeof s.kernel);
    for (int i = 0; i < 4; i++)
        s.pads[i] = s.kernel[i % 2] / 2;
    kiln_assert_status_ok(kiln_workload_of(graph_of(a, &s), &w, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &p, &err), &err);
    const kiln_template *t = kiln_template_for(&w, &p);
    assert_ptr_equal(t, r->size > 0 ? &kiln_template_conv_winograd
                                    : &kiln_template_conv_direct);
    if (r->size == 0)
        return;
    kiln_space_init(&space, a);
    kiln_assert_status_ok(t->space(&w, &p, &space, &err), &err);
    const kiln_config c = t->guess(&w, &p, &space);
    assert_int_equal(kiln_config_int(&space, &c, 0, 0), r->size);
    const double amplification = kiln_template_amplification(t, &w, &space, &c);
    kiln_winograd_pair by;
    assert_true(kiln_winograd_pair_of(r->size, s.kernel, s.stride, &by));
    assert_true(amplification == kiln_winograd_amplification(&by));
}

/* ---- hot loops ------------------------------------------------------------------- */

typedef struct loop_row {
    const char *name, *profile;
    int64_t h, c;
    template_hot_loop want;
} loop_row;

static loop_row loop_rows[] = {
    {"c2_stays_in_32_registers", "x86-avx512", 56, 64, {28, 48}},
    {"c6_stays_in_32_registers", "x86-avx512", 28, 128, {20, 50}},
    {"c2_stays_in_16_registers", "x86-avx2", 56, 64, {40, 72}},
    {"c6_stays_in_16_registers", "x86-avx2", 28, 128, {14, 36}},
};

static void hot_loop(void **state) {
    const loop_row *r = *state;
    shape s = plain;
    s.h = s.w = r->h;
    s.c = s.o = r->c;
    template_check_hot_loop(&check, graph_of(kiln_test_arena(), &s), r->profile,
                            &r->want);
}

int main(void) {
    kiln_test_add("equals_the_reference", equals_the_reference, NULL);
    kiln_test_add("expression_means_the_same", expression_means_the_same, NULL);
    kiln_test_add_rows(takes, fit_rows);
    kiln_test_add_rows(is_the_default, pay_rows);
    kiln_test_add_rows(hot_loop, loop_rows);
    return kiln_test_run("template_conv_winograd");
}
