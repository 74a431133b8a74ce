/* gpu_pool: random windows and configurations, interpreted under three orders of blocks
 * and threads, equal the reference. Tolerance: as in test_template_pool.c. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_pool.h"
#include "tests/support/kernel/template_check.h"

static template_property properties[] = {
    {"largest_f32", KILN_F32, 0, 0, 20, &kiln_op_max_pool},
    {"largest_i8", KILN_I8, 0, 0, 5, &kiln_op_max_pool},
    {"mean_f32", KILN_F32, 1e-5, 1e-5, 15, &kiln_op_avg_pool},
    {"mean_f16", KILN_F16, 2e-3, 2e-3, 5, &kiln_op_avg_pool},
    {"norm_f32", KILN_F32, 1e-5, 1e-5, 5, &kiln_op_lp_pool},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_gpu_pool, random_pool);
}

/* ResNet's first pooling: one launch, and no more of a block than there is. */
static void guesses_are_within_limits(void **state) {
    (void)state;
    gpu_check_guesses(&kiln_template_gpu_pool, resnet_pool(kiln_test_arena()));
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add("guesses_are_within_limits", guesses_are_within_limits, NULL);
    return kiln_test_run("gpu_pool");
}
