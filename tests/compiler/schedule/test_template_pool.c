/* The pool template: random windows, layouts and configurations equal the reference;
 * the hot loop of ResNet's first pooling holds no spill. Maxima are exact; means of at
 * most 35 terms are within 1e-5, f16 rounds once more. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_pool.h"
#include "tests/support/kernel/template_check.h"

static template_property properties[] = {
    {"largest_f32", KILN_F32, 0, 0, 80, &kiln_op_max_pool},
    {"largest_f16", KILN_F16, 0, 0, 10, &kiln_op_max_pool},
    {"largest_i8", KILN_I8, 0, 0, 10, &kiln_op_max_pool},
    {"mean_f32", KILN_F32, 1e-5, 1e-5, 60, &kiln_op_avg_pool},
    {"mean_f16", KILN_F16, 2e-3, 2e-3, 10, &kiln_op_avg_pool},
    {"norm_f32", KILN_F32, 1e-5, 1e-5, 15, &kiln_op_lp_pool},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_pool, random_pool);
}

static void loops_are_clean(void **state) {
    const char *profile = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_asm_loop *loop;
    kiln_graph *g = resnet_pool(a);
    const template_check t = {.tmpl = &kiln_template_pool};
    const size_t n = template_guess_loops(&t, g, profile, &loop);
    bool has_loads = false;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(loop[i].spills, 0);
        has_loads = has_loads || loop[i].vector_loads >= 9;
    }
    assert_true(has_loads);
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add("avx512_is_clean", loops_are_clean, (void *)(uintptr_t) "x86-avx512");
    kiln_test_add("avx2_is_clean", loops_are_clean, (void *)(uintptr_t) "x86-avx2");
    return kiln_test_run("template_pool");
}
