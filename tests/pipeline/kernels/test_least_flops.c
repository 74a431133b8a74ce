/* What kernels compute without fail (kiln_program_least_flops), beside what their
 * operators come to: direct kernels do nearly all of it, in every configuration (not
 * what guards may skip: borders, tails), or the limit on their times would be none. */
#include "compiler/network/network_kernel.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *profile, *line;
    double least;     /* share of the operator's multiply-adds */
    const char *tmpl; /* NULL: the default */
} row;

static row rows[] = {
    {"a_convolution", "x86-avx512", "conv c h=14 ic=32 oc=48 k=3 act=relu",
     .least = 0.85, .tmpl = "conv_direct"},
    {"by_winograd", "x86-avx512", "conv c h=16 ic=32 oc=48 k=3", .least = 0.25,
     .tmpl = "conv_winograd"},
    {"with_odd_channels", "x86-avx2", "conv c h=9 ic=3 oc=17 k=5 s=2", .least = 0.85},
    {"of_1x1", "x86-avx512", "conv c h=7 ic=64 oc=64 k=1", .least = 0.85},
    {"on_arm", "aarch64", "conv c h=13 ic=16 oc=24 k=3", .least = 0.85,
     .tmpl = "conv_direct"},
    {"in_depth", "x86-avx512", "dw d h=14 c=32 k=3 act=relu", .least = 0.6},
    {"a_product", "x86-avx512", "matmul m m=33 k=65 n=50 bias=yes", .least = 0.85},
    {"a_vector", "x86-avx2", "matmul m m=1 k=256 n=100", .least = 0.85},
    {"bytes", "x86-avx512", "matmul m m=8 k=64 n=32 dtype=i8", .least = 0.2},
};

static double share_of(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                       const kiln_template *t, const kiln_space *s,
                       const kiln_config *c) {
    kiln_scheduled scheduled;
    kiln_program *program = NULL;
    kiln_err err = {0};
    kiln_cost cost;
    kiln_node_cost(w->workload.anchor, &cost);
    if (kiln_template_apply(a, t, &w->workload, p, s, c, &scheduled, &err) != KILN_OK ||
        kiln_scheduled_program(a, &scheduled, "f", &program, &err) != KILN_OK)
        return -1; /* the template refuses it */
    return kiln_program_least_flops(a, program) / (2 * (double)cost.muladds);
}

static void multiplies_all(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_line line;
    kiln_op_work w;
    kiln_choice c;
    kiln_rng rng;
    int n = 0;
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(a, r->line, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &w, &err), &err);
    kiln_assert_status_ok(
        kiln_choose(a, &w, &p, &(kiln_choose_options){.tmpl = r->tmpl}, &c, &err),
        &err);
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 12; i++) {
        kiln_arena scratch = {0};
        const kiln_config config =
            i == 0 ? c.config
                   : kiln_config_at(&c.space, kiln_rng_next(&rng) % c.space.size);
        const double share = share_of(&scratch, &w, &p, c.tmpl, &c.space, &config);
        kiln_arena_fini(&scratch);
        n += share >= 0;
        /* Tails of large tiles, which most of a small operator may be in. */
        const double least = i == 0 ? r->least : 0.4 * r->least;
        if (share >= 0 && share < least)
            fail_msg("%s: multiplies %g of it for certain, must be %g", c.tmpl->name,
                     share, least);
    }
    assert_true(n > 0);
}

int main(void) {
    kiln_test_add_rows(multiplies_all, rows);
    return kiln_test_run("least operations");
}
