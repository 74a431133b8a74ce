/* The depthwise template: random convolutions and configurations equal the reference;
 * no loop of the measured networks' layers spills, for what is guessed. Tolerance as
 * for conv_direct: at most 49 terms. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

typedef struct shape {
    int n_spatial;
    int64_t batch, c, multiplier, groups; /* 0: as many groups as channels */
    int64_t in[3], kernel[3], stride[3], dilation[3], pads[6];
} shape;

static kiln_value *depthwise(kiln_graph *g, const shape *s, kiln_dtype dtype,
                             bool has_bias) {
    kiln_err err = {0};
    kiln_node *node = NULL;
    const int64_t groups = s->groups > 0 ? s->groups : s->c;
    int64_t x[KILN_MAX_RANK] = {s->batch, s->c};
    int64_t w[KILN_MAX_RANK] = {s->c * s->multiplier, s->c / groups};
    const size_t n = (size_t)s->n_spatial;
    for (size_t i = 0; i < n; i++) {
        x[2 + i] = s->in[i];
        w[2 + i] = s->kernel[i];
    }
    const kiln_type tx = kiln_type_make(dtype, s->n_spatial + 2, x);
    const kiln_type tw = kiln_type_make(dtype, s->n_spatial + 2, w);
    const kiln_type tb = kiln_type_make(dtype, 1, w);
    const kiln_attr_arg args[] = {kiln_arg_ints("strides", s->stride, n),
                                  kiln_arg_ints("dilations", s->dilation, n),
                                  kiln_arg_ints("pads", s->pads, 2 * n),
                                  kiln_arg_int("groups", groups)};
    kiln_value *in[3] = {random_operand(g, "x", &tx, false, 0),
                         random_operand(g, "w", &tw, true, 1), NULL};
    if (has_bias)
        in[2] = random_operand(g, "b", &tb, true, 2);
    const kiln_node_spec spec = {.op = &kiln_op_conv,
                                 .in = in,
                                 .n_in = has_bias ? 3 : 2,
                                 .args = args,
                                 .n_args = 4};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    return node->out[0];
}

/* ---- interpreted and compiled equal the reference -------------------------------- */

/* Channels that no block divides, windows of one to seven taps a row, one to three
 * axes. */
static shape random_shape(kiln_rng *rng) {
    static const int64_t channels[] = {2, 3, 8, 16, 17, 20, 40};
    static const int64_t kernels[] = {1, 2, 3, 3, 5, 7};
    shape s = {.n_spatial = (int)kiln_rng_range(rng, 1, 5),
               .batch = kiln_rng_range(rng, 1, 2),
               .c = random_pick(rng, channels, 7),
               .multiplier = 1};
    s.n_spatial = s.n_spatial > 3 ? 2 : s.n_spatial;
    for (int i = 0; i < s.n_spatial; i++) {
        s.kernel[i] = random_pick(rng, kernels, s.n_spatial == 3 ? 4 : 6);
        s.stride[i] = kiln_rng_range(rng, 0, 2) == 0 ? 2 : 1;
        s.dilation[i] = kiln_rng_range(rng, 0, 3) == 0 ? 2 : 1;
        s.pads[i] = kiln_rng_range(rng, 0, s.kernel[i] / 2 + 1);
        s.pads[s.n_spatial + i] = kiln_rng_range(rng, 0, s.kernel[i] / 2 + 1);
        const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
        s.in[i] = reach + kiln_rng_range(rng, 0, s.n_spatial == 3 ? 3 : 9);
    }
    return s;
}

static kiln_graph *random_depthwise(kiln_arena *a, kiln_rng *rng,
                                    const template_property *p) {
    kiln_graph *g = kiln_graph_new(a, "depthwise");
    const shape s = random_shape(rng);
    kiln_value *y = depthwise(g, &s, p->dtype, kiln_rng_range(rng, 0, 1) == 0);
    kiln_graph_add_output(g, random_epilogue(g, rng, y, 1), "y");
    return g;
}

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 2e-4, 120, NULL},
    {"f16_is_the_reference", KILN_F16, 4e-3, 4e-3, 12, NULL},
    {"f64_is_the_reference", KILN_F64, 1e-12, 1e-12, 12, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 12, NULL},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_depthwise, random_depthwise);
}

/* ---- what it takes --------------------------------------------------------------- */

typedef struct fit_row {
    const char *name;
    shape shape;
    bool want;
} fit_row;

#define PLANE                                                                          \
    .n_spatial = 2, .batch = 1, .in = {9, 9}, .kernel = {3, 3}, .stride = {1, 1},      \
    .dilation = {1, 1}

static fit_row fit_rows[] = {
    {"takes_a_group_for_each_channel", {PLANE, .c = 8, .multiplier = 1}, true},
    {"leaves_multipliers", {PLANE, .c = 8, .multiplier = 2}, false},
    {"leaves_wide_groups", {PLANE, .c = 8, .multiplier = 1, .groups = 4}, false},
    {"leaves_one_channel", {PLANE, .c = 1, .multiplier = 1}, false},
};

static void fits_as_said(void **state) {
    const fit_row *r = *state;
    kiln_workload w;
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(kiln_test_arena(), "depthwise");
    kiln_graph_add_output(g, depthwise(g, &r->shape, KILN_F32, false), "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_int_equal(kiln_template_depthwise.fits(&w, kiln_profile_at(0)), r->want);
}

static void refuses_long_bodies(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_workload w;
    kiln_space space;
    kiln_scheduled out;
    kiln_err err = {0};
    const shape s = {.n_spatial = 2,
                     .batch = 1,
                     .c = 16,
                     .multiplier = 1,
                     .in = {20, 20},
                     .kernel = {7, 7},
                     .stride = {1, 1},
                     .dilation = {1, 1}};
    const kiln_template *t = &kiln_template_depthwise;
    const kiln_profile *p = kiln_profile_at(0);
    kiln_graph *g = kiln_graph_new(a, "depthwise");
    kiln_graph_add_output(g, depthwise(g, &s, KILN_F32, false), "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&space, a);
    kiln_assert_status_ok(t->space(&w, p, &space, &err), &err);
    kiln_config c = t->guess(&w, p, &space);
    template_set_word(&space, &c, "taps", "all");
    assert_int_equal(kiln_template_apply(a, t, &w, p, &space, &c, &out, &err),
                     KILN_ERR_ARG);
    assert_string_equal(err.text, "depthwise: a body must have at most 256 steps, has "
                                  "343; make 'tile' smaller or unroll fewer 'taps'");
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct hot_row {
    const char *name, *profile;
    int64_t size, c, kernel, stride;
    int loads; /* at most, for 9 multiply-adds of the hottest loop */
} hot_row;

static hot_row hot_rows[] = {
    {"avx512_d1", "x86-avx512", 112, 32, 3, 1, 4},
    {"avx512_d2", "x86-avx512", 112, 64, 3, 2, 7},
    {"avx512_d5", "x86-avx512", 28, 256, 3, 1, 4},
    {"avx512_d9", "x86-avx512", 7, 1024, 3, 1, 4},
    {"avx2_d1", "x86-avx2", 112, 32, 3, 1, 5},
    {"avx2_d4", "x86-avx2", 56, 128, 3, 2, 7},
    {"avx2_d9", "x86-avx2", 7, 1024, 3, 1, 5},
};

static void loops_are_clean(void **state) {
    const hot_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_asm_loop *loop;
    const int64_t around = (r->kernel - 1) / 2;
    const shape x = {.n_spatial = 2,
                     .batch = 1,
                     .c = r->c,
                     .multiplier = 1,
                     .in = {r->size, r->size},
                     .kernel = {r->kernel, r->kernel},
                     .stride = {r->stride, r->stride},
                     .dilation = {1, 1},
                     .pads = {r->stride == 1 ? around : 0, r->stride == 1 ? around : 0,
                              around, around}};
    kiln_graph *g = kiln_graph_new(a, "depthwise");
    kiln_graph_add_output(g, depthwise(g, &x, KILN_F32, false), "y");
    const template_check t = {.tmpl = &kiln_template_depthwise};
    const size_t n = template_guess_loops(&t, g, r->profile, &loop);
    kiln_asm_loop hot = {.vector_fma = 0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(loop[i].spills, 0);
        if (loop[i].vector_fma > hot.vector_fma)
            hot = loop[i];
    }
    print_message("%d multiply-adds, %d loads of %d instructions\n", hot.vector_fma,
                  hot.vector_loads, hot.instructions);
    assert_true(hot.vector_fma >= 9);
    assert_true(hot.vector_loads * 9 <= r->loads * hot.vector_fma);
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(fits_as_said, fit_rows);
    kiln_test_add("refuses_long_bodies", refuses_long_bodies, NULL);
    kiln_test_add_rows(loops_are_clean, hot_rows);
    return kiln_test_run("template_depthwise");
}
