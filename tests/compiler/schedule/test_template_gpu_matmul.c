/* gpu_matmul: random products and configurations, interpreted under three orders of
 * blocks and threads, equal the reference; of every program each barrier is missed.
 *
 * Tolerance: as in test_template_matmul.c. */
#include "tests/support/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_matmul.h"
#include "tests/support/random_work.h"
#include "tests/support/template_check.h"

#include <string.h>

typedef struct property {
    const char *name;
    kiln_dtype dtype, sums;
    double rtol, atol;
    int runs;
} property;

static property properties[] = {
    {"f32_is_the_reference", KILN_F32, KILN_F32, 1e-5, 3e-4, 40},
    {"f16_is_the_reference", KILN_F16, KILN_F16, 4e-3, 4e-3, 6},
    {"f64_is_the_reference", KILN_F64, KILN_F64, 1e-12, 1e-12, 6},
    {"i8_summed_in_i32_is_the_reference", KILN_I8, KILN_I32, 0, 0, 8},
};

static kiln_graph *draw(template_runs *r, const property *p) {
    return p->dtype == p->sums && kiln_rng_range(&r->rng, 0, 2) == 0
               ? random_gemm(r->arena, &r->rng, p->dtype, RANDOM_SMALL)
               : random_matmul(r->arena, &r->rng, p->dtype, p->sums, RANDOM_SMALL);
}

static void random_configurations(void **state) {
    const property *p = *state;
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        const template_check t = {
            .tmpl = &kiln_template_gpu_matmul, .rtol = p->rtol, .atol = p->atol};
        (void)template_runs_check(&runs, &t, draw(&runs, p));
    }
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 12};
    int64_t n = 0;
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        n += gpu_check_barriers(&runs, &kiln_template_gpu_matmul,
                                draw(&runs, &properties[0]));
        runs.n_checked = (int)n;
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    return kiln_test_run("gpu_matmul");
}
