/* gpu_winograd: random convolutions and configurations, interpreted under three orders of
 * blocks and threads, equal the reference; each barrier of the products is missed.
 *
 * Tolerance: as in test_template_conv_winograd.c. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_conv.h"

static template_property property = {
    "f32_is_the_reference", KILN_F32, 1e-4, 2e-3, 24, NULL};

/* 3 x 3 in steps of one, extents that no tile divides, uneven padding, batches. */
static kiln_graph *draw_any(kiln_arena *a, kiln_rng *rng) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9},
                         channels[] = {4, 6, 8, 13};
    random_conv_shape s = {.n_spatial = 2,
                           .batch = kiln_rng_range(rng, 1, 4) == 1 ? 2 : 1,
                           .groups = 1,
                           .c = channels[kiln_rng_range(rng, 0, 3)],
                           .o = channels[kiln_rng_range(rng, 0, 3)],
                           .kernel = {3, 3},
                           .stride = {1, 1},
                           .dilation = {1, 1}};
    for (int i = 0; i < 2; i++)
        s.in[i] = extents[kiln_rng_range(rng, 0, 7)];
    for (int i = 0; i < 4; i++)
        s.pads[i] = kiln_rng_range(rng, 0, 1);
    for (int i = 0; i < 2; i++)
        if (s.in[i] + s.pads[i] + s.pads[i + 2] < 3)
            s.pads[i] = s.pads[i + 2] = 1;
    kiln_graph *g = kiln_graph_new(a, "convolution");
    kiln_graph_add_output(g, random_conv_of(g, &s, KILN_F32, true), "y");
    return g;
}

static kiln_graph *draw(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    (void)p;
    return draw_any(a, rng);
}

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_gpu_winograd, draw);
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 24};
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        runs.n_checked += (int)gpu_check_barriers(&runs, &kiln_template_gpu_winograd,
                                                  draw_any(runs.arena, &runs.rng));
}

/* Layers of ResNet-18. */
static void guesses_are_within_limits(void **state) {
    static const random_conv_shape shapes[] = {
        {2, 1, 1, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {2, 1, 1, 512, 512, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        kiln_graph *g = kiln_graph_new(kiln_test_arena(), "convolution");
        kiln_graph_add_output(g, random_conv_of(g, &shapes[i], KILN_F32, true), "y");
        gpu_check_guesses(&kiln_template_gpu_winograd, g);
    }
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    kiln_test_add(property.name, random_configurations, &property);
    kiln_test_add("guesses_are_within_limits", guesses_are_within_limits, NULL);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    return kiln_test_run("gpu_winograd");
}
