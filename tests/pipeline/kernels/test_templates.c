/* Every template, on every workload here that it fits, by its guess and by random
 * configurations, for each profile that this machine runs: what is not refused by name
 * compiles, links, and computes what the reference does. Sizes are odd, prime and 1, so
 * that nothing divides. One and two threads take turns. Random configurations are drawn
 * for a random profile, or none; KILN_CONFIGS=N draws N instead of one. */
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/op_call.h"

#include <stdlib.h>

typedef struct row {
    const char *name, *line;
} row;

static row rows[] = {
    {"conv_3_channels", "conv x h=11 w=9 ic=3 oc=20 k=3 s=2 act=relu"},
    {"conv_blocks", "conv x h=7 ic=32 oc=32 k=3 bias=yes"},
    {"conv_dilated", "conv x h=13 ic=17 oc=5 k=3 d=2 pad=1"},
    {"conv_grouped", "conv x h=6 ic=12 oc=20 k=3 groups=4 add=yes"},
    {"conv_one_tap", "conv x h=5 ic=20 oc=33 k=1 s=1 bias=yes act=relu"},
    {"conv_one_pixel", "conv x h=1 ic=7 oc=16 k=1"},
    {"conv_tall_window", "conv x h=9 w=6 ic=4 oc=8 kh=5 kw=1 pad=2,0,1,0"},
    {"conv_batch", "conv x n=2 h=5 ic=16 oc=16 k=3"},
    {"depthwise", "dw x h=9 c=20 k=3"},
    {"depthwise_strided", "dw x h=10 w=7 c=16 k=5 s=2 bias=yes act=relu"},
    {"depthwise_multiplied", "dw x h=6 c=3 m=2 k=3"},
    {"matmul", "matmul x m=17 k=31 n=37 bias=yes act=relu"},
    {"matmul_blocks", "matmul x m=32 k=64 n=64"},
    {"matmul_row", "matmul x m=1 k=33 n=50"},
    {"matmul_column", "matmul x m=19 k=20 n=1"},
    {"matmul_batch", "matmul x batch=3 m=5 k=7 n=9 b=input"},
    {"dense", "gemm x in=f32[6,10] const=f32[13,10] const=f32[13] trans_b=yes"},
    {"max_pool", "max_pool x in=f32[1,20,9,7] kernel=3,3 strides=2,2 pads=1,1,1,1"},
    {"avg_pool", "avg_pool x in=f32[2,3,8,8] kernel=2,3 strides=1,2"},
    {"reduce", "reduce_mean x in=f32[3,17,5,7] axes=2,3"},
    {"reduce_all", "reduce_max x in=f32[101]"},
    {"softmax", "softmax x in=f32[7,33] axis=-1"},
    {"broadcast", "mul x in=f32[3,20,5] const=f32[20,1] act=sigmoid"},
    {"transpose", "transpose x in=f32[4,9,5] perm=2,0,1"},
    {"half_floats", "matmul x m=9 k=16 n=20 dtype=f16"},
};

enum { MAX_PROFILES = 8 };
static kiln_profile profile[MAX_PROFILES];
static kiln_test_team team[2]; /* one thread, and two */
static int n_profiles, n_checked, n_refused;

static void check_config(kiln_arena *a, const kiln_op_work *w, const kiln_choice *c,
                         const kiln_profile *p) {
    kiln_err err = {0};
    kiln_kernel k;
    kiln_kernel_fn *fn = NULL;
    kiln_test_call call;
    kiln_verdict v;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_config_json(&text, c->tmpl, &c->space, &c->config);
    const kiln_status st = kiln_kernel_make(a, w, c, p, &k, &err);
    if (st == KILN_ERR_ARG || st == KILN_ERR_LIMIT) {
        n_refused++;
        return;
    }
    if (st != KILN_OK)
        fail_msg("%s on %s: %s\n%s", w->key.p, p->name, text.p, err.text);
    kiln_assert_status_ok(kiln_test_kernel_load(a, p, &k, &fn, &err), &err);
    kiln_assert_status_ok(kiln_test_call_new(a, &k, fn, team[n_checked % 2],
                                             kiln_test_seed(), &call, &err),
                          &err);
    kiln_assert_status_ok(kiln_test_call_check(a, &call, kiln_test_seed(), &v, &err),
                          &err);
    if (!v.ok)
        fail_msg("%s on %s: %s\n%s", w->key.p, p->name, text.p, v.problem);
    n_checked++;
}

/* The guess must be one that works; a random one may be refused. */
static void check_template(const kiln_op_work *w, const kiln_template *t,
                           const kiln_profile *p, kiln_rng *rng, int64_t n_random) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_choice c = {.tmpl = t};
    kiln_space_init(&c.space, &a);
    kiln_assert_status_ok(t->space(&w->workload, p, &c.space, &err), &err);
    c.config = t->guess(&w->workload, p, &c.space);
    const int refused = n_refused;
    check_config(&a, w, &c, p);
    assert_int_equal(n_refused, refused);
    for (int64_t i = 0; i < n_random; i++) {
        c.config = kiln_config_random(&c.space, rng);
        check_config(&a, w, &c, p);
    }
    kiln_arena_fini(&a);
}

static void templates_are_right(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_rng rng;
    int64_t n_random = 1;
    if (getenv("KILN_CONFIGS") != NULL)
        assert_true(kiln_parse_i64(kiln_str_from(getenv("KILN_CONFIGS")), &n_random));
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_op_line_of(&a, r->line, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(&a, &line, &work, &err), &err);
    int n_fit = 0;
    for (int i = 0; kiln_template_at(i) != NULL; i++)
        for (int p = 0; p < n_profiles; p++)
            if (kiln_template_at(i)->fits(&work.workload, &profile[p])) {
                n_fit++;
                const bool draws = p == kiln_rng_range(&rng, 0, n_profiles - 1);
                check_template(&work, kiln_template_at(i), &profile[p], &rng,
                               draws ? n_random : 0);
            }
    assert_true(n_fit >= n_profiles); /* the generic one at least */
    kiln_arena_fini(&a);
}

static void reports_counts(void **state) {
    (void)state;
    print_message("%d kernels right, %d configurations refused\n", n_checked,
                  n_refused);
    assert_true(n_checked > 0);
    assert_true(n_refused <= n_checked);
}

int main(void) {
    kiln_profile machine;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err), &err);
    team[1] = kiln_test_team_open(kiln_test_arena(), 2);
    for (int i = 0; kiln_profile_at(i) != NULL && n_profiles < MAX_PROFILES; i++) {
        char missing[128];
        if (kiln_profile_runs_on(kiln_profile_at(i), &machine, missing))
            profile[n_profiles++] = *kiln_profile_at(i);
        else
            print_message("not run here: %s\n", missing);
    }
    kiln_test_add_rows(templates_are_right, rows);
    kiln_test_add("reports_counts", reports_counts, NULL);
    return kiln_test_run("templates");
}
