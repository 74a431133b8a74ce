/* gpu_conv: random convolutions (dense, grouped, depthwise; one to three axes) and
 * configurations, interpreted under three orders of blocks and threads, equal the
 * reference; of every program each barrier is missed.
 *
 * Tolerance: as in test_template_conv_direct.c. */
#include "tests/support/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/opencl_leaks.h"
#include "tests/support/random_conv.h"

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-5, 2e-4, 30, NULL},
    {"f16_is_the_reference", KILN_F16, 2e-3, 1e-2, 4, NULL},
    {"f64_is_the_reference", KILN_F64, 1e-12, 1e-12, 4, NULL},
    {"i32_is_the_reference", KILN_I32, 0, 0, 4, NULL},
};
static template_property transposed = {
    "transposed_is_the_reference", KILN_F32, 1e-5, 2e-4, 16, NULL};

static kiln_graph *draw(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    return p == &transposed ? random_transposed(a, rng, p->dtype)
                            : random_convolution(a, rng, p->dtype, RANDOM_SMALL);
}

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_gpu_conv, draw);
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 8};
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        runs.n_checked += (int)gpu_check_barriers(
            &runs, &kiln_template_gpu_conv,
            random_convolution(runs.arena, &runs.rng, KILN_F32, RANDOM_SMALL));
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add(transposed.name, random_configurations, &transposed);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    return kiln_test_run("gpu_conv");
}
