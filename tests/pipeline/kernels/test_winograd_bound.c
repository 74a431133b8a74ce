/* The error bound of Winograd's algorithm, c * k * 2^-24 * sum|a*b| * amplification for
 * each element: compiled kernels of random shapes keep it, whatever tiles a random
 * configuration has; strict numerics never come to need it. */
#include "compiler/graph/winograd.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/op_call.h"

enum { DRAWS = 24 };

static kiln_profile machine;

static void set_size(const kiln_space *s, kiln_config *c, int64_t size) {
    for (int k = 0; k < s->n; k++)
        if (kiln_str_is(kiln_str_from(s->knob[k].name), "size")) {
            kiln_config_set(s, c, k, &size);
            assert_int_equal(kiln_config_int(s, c, k, 0), size);
            return;
        }
    fail_msg("there is no knob 'size'");
}

typedef struct tiles_row {
    const char *name;
    int64_t size, taps[2], stride;
} tiles_row;

/* The largest error, as a part of its bound. */
static double one_draw(kiln_arena *a, kiln_rng *rng, const tiles_row *r,
                       uint64_t seed) {
    static const int channels[] = {4, 5, 8, 17, 32, 64, 128};
    const int c = channels[kiln_rng_range(rng, 0, 6)];
    const int o = channels[kiln_rng_range(rng, 0, 3)];
    const char *text =
        kiln_format(a, "conv x h=%d w=%d ic=%d oc=%d kh=%d kw=%d s=%d bias=%s%s",
                    (int)kiln_rng_range(rng, 1, 20), (int)kiln_rng_range(rng, 1, 20), c,
                    o, (int)r->taps[0], (int)r->taps[1], (int)r->stride,
                    kiln_rng_range(rng, 0, 1) == 1 ? "yes" : "no",
                    kiln_rng_range(rng, 0, 1) == 1 ? " act=relu" : "");
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_choice choice = {.tmpl = &kiln_template_conv_winograd};
    kiln_kernel kernel;
    kiln_kernel_fn *fn = NULL;
    kiln_test_call call;
    kiln_verdict v;
    const kiln_test_team alone = {.pool = NULL};
    kiln_assert_status_ok(kiln_op_line_of(a, text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &work, &err), &err);
    kiln_space_init(&choice.space, a);
    kiln_assert_status_ok(
        choice.tmpl->space(&work.workload, &machine, &choice.space, &err), &err);
    choice.config = kiln_config_random(&choice.space, rng);
    set_size(&choice.space, &choice.config, r->size);
    kiln_winograd_pair by;
    assert_true(kiln_winograd_pair_of(r->size, r->taps, r->stride, &by));
    assert_true(kiln_choice_amplification(&work, &choice) ==
                kiln_winograd_amplification(&by));
    kiln_assert_status_ok(kiln_kernel_make(a, &work, &choice, &machine, &kernel, &err),
                          &err);
    kiln_assert_status_ok(kiln_test_kernel_load(a, &machine, &kernel, &fn, &err), &err);
    kiln_assert_status_ok(kiln_test_call_new(a, &kernel, fn, alone, seed, &call, &err),
                          &err);
    kiln_assert_status_ok(kiln_test_call_check(a, &call, seed, &v, &err), &err);
    if (!v.ok)
        fail_msg("%s, tiles of %d: %s", text, (int)r->size, v.problem);
    assert_true(v.n_checked > 0);
    return v.worst;
}

static tiles_row tiles[] = {{"tiles_of_2", 2, {3, 3}, 1},
                            {"tiles_of_4", 4, {3, 3}, 1},
                            {"five_by_five", 2, {5, 5}, 1},
                            {"one_by_three", 4, {1, 3}, 1},
                            {"five_by_one", 4, {5, 1}, 1},
                            {"one_by_seven", 2, {1, 7}, 1},
                            {"seven_by_one", 2, {7, 1}, 1},
                            {"seven_by_three", 2, {7, 3}, 1},
                            {"steps_of_two", 2, {3, 3}, 2},
                            {"larger_steps_of_two", 3, {3, 3}, 2},
                            {"five_by_five_in_steps", 2, {5, 5}, 2},
                            {"one_by_three_in_steps", 3, {1, 3}, 2},
                            {"two_by_two", 2, {2, 2}, 1},
                            {"larger_two_by_two", 4, {2, 2}, 1},
                            {"four_by_four", 2, {4, 4}, 1},
                            {"seven_by_seven", 2, {7, 7}, 1},
                            {"four_by_four_in_steps", 2, {4, 4}, 2},
                            {"larger_four_by_four_in_steps", 3, {4, 4}, 2}};

static void keeps_its_bound(void **state) {
    const tiles_row *r = *state;
    kiln_rng rng;
    double worst = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < DRAWS; i++) {
        kiln_arena a = {0};
        const double error = one_draw(&a, &rng, r, kiln_test_seed() + (uint64_t)i);
        worst = error > worst ? error : worst;
        kiln_arena_fini(&a);
    }
    print_message("largest error: %.3g of the bound\n", worst);
    assert_true(worst > 0); /* something was rounded */
}

/* Whatever is asked for by name, too. */
static void strict_has_none(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_choice c;
    kiln_profile strict = machine;
    const kiln_choose_options any = {.tmpl = NULL};
    const kiln_choose_options named = {.tmpl = "conv_winograd"};
    strict.numerics = KILN_NUMERICS_STRICT;
    kiln_assert_status_ok(
        kiln_op_line_of(&a, "conv x h=28 ic=128 oc=128 k=3", &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(&a, &line, &work, &err), &err);
    kiln_assert_status_ok(kiln_choose(&a, &work, &machine, &any, &c, &err), &err);
    assert_string_equal(c.tmpl->name, "conv_winograd");
    assert_true(kiln_choice_amplification(&work, &c) > 1);
    kiln_assert_status_ok(kiln_choose(&a, &work, &strict, &any, &c, &err), &err);
    assert_string_equal(c.tmpl->name, "conv_direct");
    assert_true(kiln_choice_amplification(&work, &c) == 1);
    kiln_assert_fails(kiln_choose(&a, &work, &strict, &named, &c, &err), KILN_ERR_ARG,
                      &err, "template 'conv_winograd' does not fit 'x'");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err), &err);
    kiln_test_add_rows(keeps_its_bound, tiles);
    kiln_test_add("strict_has_none", strict_has_none, NULL);
    return kiln_test_run("winograd_bound");
}
