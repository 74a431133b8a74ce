/* gpu_conv: random convolutions (dense, grouped, depthwise; one to three axes) and
 * configurations, interpreted under three orders of blocks and threads, equal the
 * reference; of every program each barrier is missed.
 *
 * Tolerance: as in test_template_conv_direct.c. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_conv.h"

static const random_bytes bytes = {KILN_U8, KILN_I8, .is_small = true,
                                   .has_no_zero = true};

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 2e-4, 40, NULL},
    {"f16_is_the_reference", KILN_F16, 2e-3, 1e-2, 6, NULL},
    {"f64_is_the_reference", KILN_F64, 1e-12, 1e-12, 6, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 6, NULL},
    {"bytes_are_the_reference", KILN_U8, 0, 0, 6, &bytes},
};
static template_property transposed = {
    "transposed_is_the_reference", KILN_F32, 1e-5, 2e-4, 20, NULL};

static kiln_graph *draw(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    if (p->of != NULL)
        return random_conv_bytes(a, rng, p->of);
    return p == &transposed ? random_transposed(a, rng, p->dtype)
                            : random_convolution(a, rng, p->dtype, RANDOM_SMALL);
}

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_gpu_conv, draw);
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 16};
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        runs.n_checked += (int)gpu_check_barriers(
            &runs, &kiln_template_gpu_conv,
            random_convolution(runs.arena, &runs.rng, KILN_F32, RANDOM_SMALL));
}

/* Layers of ResNet-18 and MobileNet-v1: sizes that fill every tile. */
static void guesses_are_within_limits(void **state) {
    static const random_conv_shape shapes[] = {
        {2, 1, 1, 3, 64, {224, 224}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
        {2, 1, 1, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {2, 1, 1, 128, 256, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
        {2, 1, 1, 512, 512, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {2, 1, 1, 512, 1000, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
        {2, 1, 512, 1, 1, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        kiln_graph *g = kiln_graph_new(kiln_test_arena(), "convolution");
        kiln_graph_add_output(g, random_conv_of(g, &shapes[i], KILN_F32, true), "y");
        gpu_check_guesses(&kiln_template_gpu_conv, g);
    }
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add(transposed.name, random_configurations, &transposed);
    kiln_test_add("guesses_are_within_limits", guesses_are_within_limits, NULL);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    return kiln_test_run("gpu_conv");
}
