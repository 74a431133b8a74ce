/* gpu_matmul_mma: random products of halves in random configurations, interpreted under
 * three orders of blocks and threads, equal the reference; what is copied ahead meets no
 * bank twice. That waits are missed where they are taken away: test_fragments.c.
 *
 * Tolerance: halves are summed in f32 in another order than the reference's, and rounded
 * once. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

static const kiln_template *const tmpl = &kiln_template_gpu_matmul_mma;

typedef struct property {
    const char *name;
    kiln_dtype dtype;
    double tol;
    int runs;
    bool by_groups;
} property;

static property properties[] = {
    {"f16_is_the_reference", KILN_F16, 4e-3, 10, false},
    {"bf16_is_the_reference", KILN_BF16, 2e-2, 4, false},
    {"f16_by_warpgroups_is_the_reference", KILN_F16, 4e-3, 2, true},
    {"bf16_by_warpgroups_is_the_reference", KILN_BF16, 2e-2, 1, true}};

static kiln_profile profile(kiln_arena *a, const char *name) {
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_find(a, name, &p, &err), &err);
    return p;
}

/* What b's rows are, with or without a batch, and relu behind it. */
static kiln_graph *product(kiln_arena *a, kiln_dtype t, const int64_t *size,
                           bool b_along_k, bool has_batch) {
    const int64_t da[] = {2, size[0], size[1]};
    const int64_t db[] = {2, size[b_along_k ? 2 : 1], size[b_along_k ? 1 : 2]};
    const int skip = has_batch ? 0 : 1;
    const kiln_type ta = kiln_type_make(t, 3 - skip, da + skip),
                    tb = kiln_type_make(t, 3 - skip, db + skip);
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                         kiln_graph_add_input(g, "b", &tb)};
    const kiln_attr_arg turned = kiln_arg_bool("trans_b", b_along_k);
    const kiln_node_spec spec = {
        .op = &kiln_op_matmul, .in = in, .n_in = 2, .args = &turned, .n_args = 1};
    kiln_err err = {0};
    kiln_node *node = NULL;
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_graph_add_output(g, graph_node(g, &kiln_op_relu, node->out, 1), "y");
    return g;
}

static kiln_graph *draw(template_runs *r, kiln_dtype t, bool by_groups) {
    static const int64_t of_groups[] = {64, 64, 128};
    int64_t size[3];
    for (int i = 0; i < 3; i++)
        size[i] = by_groups
                      ? of_groups[i] * (i == 1 ? kiln_rng_range(&r->rng, 1, 4) : 1)
                      : 16 * kiln_rng_range(&r->rng, 1, i == 1 ? 5 : 3);
    const bool along_k = kiln_rng_range(&r->rng, 0, 1) == 0;
    return product(r->arena, t, size, along_k, kiln_rng_range(&r->rng, 0, 3) == 0);
}

/* One in which warpgroups multiply. */
static kiln_config draw_groups(template_runs *r, const kiln_space *s) {
    kiln_config c = kiln_config_random(s, &r->rng);
    template_set(s, &c, "step_k", 64);
    template_set_word(s, &c, "by", "warpgroups");
    return c;
}

static void random_configurations(void **state) {
    const property *x = *state;
    if (x->by_groups && x->dtype == KILN_BF16) /* f16's take the same way */
        kiln_test_skip_repeat();
    const kiln_profile p =
        profile(kiln_test_arena(), x->by_groups ? "cuda-sm90" : "cuda-sm80");
    template_runs runs = {.n = x->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        enum { TRIES = 500 };
        const bool is_guess = i % 4 == 0 && !x->by_groups;
        const template_check t = {.tmpl = tmpl,
                                  .profile = &p,
                                  .seed = (uint64_t)i,
                                  .compiled = i % 4 == 0,
                                  .rtol = x->tol,
                                  .atol = x->tol};
        kiln_workload w;
        kiln_space s;
        kiln_err err = {0};
        kiln_assert_status_ok(
            kiln_workload_of(draw(&runs, x->dtype, x->by_groups), &w, &err), &err);
        assert_true(tmpl->fits(&w, &p));
        kiln_space_init(&s, runs.arena);
        kiln_assert_status_ok(tmpl->space(&w, &p, &s, &err), &err);
        kiln_config c = tmpl->guess(&w, &p, &s);
        for (int k = 0; k < TRIES; k++) {
            if (!is_guess)
                c = x->by_groups ? draw_groups(&runs, &s)
                                 : kiln_config_random(&s, &runs.rng);
            if (template_check_run(runs.arena, &t, &w, &s, &c, &err)) {
                runs.n_checked++;
                break;
            }
            if (is_guess)
                fail_msg("what is guessed was refused: %s", err.text);
        }
    }
    assert_int_equal(runs.n_checked, runs.n);
}

/* Products that a barrier does not wait for, and copies: the program's text with one number
 * more. */
static void waits_that_are_missing_are_found(void **state) {
    static const char *const change[][3] = {
        {"@products = 1", "@products = 2", "which products still read"},
        {"@async = 1", "@async = 2", "which is still being copied"}};
    static const int64_t size[] = {64, 384, 128};
    enum { M = 64, K = 384, N = 128 };
    static uint16_t x[M * K], w[K * N], y[M * N];
    void *arg[] = {x, w, y};
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = profile(a, "cuda-sm90");
    kiln_err err = {0};
    kiln_workload work;
    kiln_space s;
    kiln_buf text;
    (void)state;
    kiln_assert_status_ok(
        kiln_workload_of(product(a, KILN_F16, size, false, false), &work, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(tmpl->space(&work, &p, &s, &err), &err);
    kiln_config c = tmpl->guess(&work, &p, &s);
    const int64_t block[] = {M, N}, one[] = {1, 1};
    kiln_config_set(&s, &c, 0, block);
    kiln_config_set(&s, &c, 1, one);
    template_set(&s, &c, "step_k", 64);
    template_set(&s, &c, "stages", 4);
    template_set_word(&s, &c, "by", "warpgroups");
    kiln_scheduled scheduled;
    kiln_program *program = NULL;
    kiln_assert_status_ok(
        kiln_template_apply(a, tmpl, &work, &p, &s, &c, &scheduled, &err), &err);
    kiln_assert_status_ok(kiln_scheduled_program(a, &scheduled, "k", &program, &err),
                          &err);
    kiln_buf_init(&text, a);
    kiln_program_print(&text, program);
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        char *changed = kiln_str_dup(a, text.p);
        for (char *at = changed; (at = strstr(at, change[i][0])) != NULL; at++)
            memcpy(at, change[i][1], strlen(change[i][1]));
        kiln_assert_status_ok(
            kiln_program_parse(a, kiln_str_from(changed), NULL, &program, &err), &err);
        const kiln_status st = kiln_program_run(a, program, arg, NULL, &err);
        if (st == KILN_OK || strstr(err.text, change[i][2]) == NULL)
            fail_msg("%s must say '%s', says '%s'", change[i][1], change[i][2],
                     err.text);
    }
}

/* What is fetched comes in whole sectors; rows of 128 bytes are stored in as few turns as
 * can be. */
static void no_bank_is_met_twice(void **state) {
    static const int64_t size[] = {64, 64, 64};
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = profile(a, "cuda-sm90");
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_assert_status_ok(
        kiln_workload_of(product(a, KILN_F16, size, false, false), &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(tmpl->space(&w, &p, &s, &err), &err);
    kiln_config c = tmpl->guess(&w, &p, &s);
    template_set(&s, &c, "step_k", 64);
    kiln_traffic of = {.arena = a, .warp = p.gpu.warp};
    gpu_check_traffic(a, tmpl, &w, &p, &s, &c, &of);
    for (size_t i = 0; i < of.of.n; i++) {
        const kiln_buffer_traffic *t = &of.of.v[i];
        print_message("%s: %d transactions, %d at least\n", t->buffer->name,
                      (int)t->transactions, (int)t->least);
        if (strcmp(t->buffer->name, "a") == 0 || strcmp(t->buffer->name, "b") == 0 ||
            strcmp(t->buffer->name, "a.shared") == 0)
            assert_int_equal(t->transactions, t->least);
    }
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add("waits_that_are_missing_are_found", waits_that_are_missing_are_found,
                  NULL);
    kiln_test_add("no_bank_is_met_twice", no_bank_is_met_twice, NULL);
    return kiln_test_run("gpu_matmul_mma");
}
