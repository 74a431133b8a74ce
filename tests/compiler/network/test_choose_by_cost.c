/* What is known decides, by distance and cost, whatever order it is told in and
 * whatever order templates have. */
#include "compiler/network/network_choose.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { MAX_TEMPLATES = 32 };

typedef struct fixture {
    kiln_arena *a;
    kiln_profile profile;
    kiln_op_work work;
    const kiln_template *fits[MAX_TEMPLATES]; /* in the table's order */
    int n;
} fixture;

static void set_up(fixture *f) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    *f = (fixture){.a = kiln_test_arena()};
    kiln_assert_status_ok(kiln_profile_find(f->a, "x86-avx512", &f->profile, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_workload_read(f->a,
                           kiln_str_from("conv{pads=[1,1,1,1]}(%0: f32[1,64,28,28], "
                                         "%1: const f32[64,64,3,3]) -> %2"),
                           &g, &err),
        &err);
    kiln_assert_status_ok(kiln_op_work_of(f->a, "g", g, &f->work, &err), &err);
    for (int i = 0; kiln_template_at(i) != NULL; i++)
        if (kiln_template_at(i)->fits(&f->work.workload, &f->profile))
            f->fits[f->n++] = kiln_template_at(i);
    assert_true(f->n >= 3); /* Winograd, direct, generic at least */
}

/* The template's configuration number `index`, its rule where -1; at that cost. */
static kiln_answer answer_of(const fixture *f, const kiln_template *t, int64_t index,
                             double ns, int distance) {
    kiln_err err = {0};
    kiln_space s;
    kiln_buf text;
    kiln_answer x = {.tmpl = t->name,
                     .origin = KILN_ORIGIN_TUNED,
                     .n_tried = 7,
                     .ns = ns,
                     .distance = distance};
    kiln_space_init(&s, f->a);
    kiln_assert_status_ok(t->space(&f->work.workload, &f->profile, &s, &err), &err);
    const kiln_config c = index < 0 ? t->guess(&f->work.workload, &f->profile, &s)
                                    : kiln_config_at(&s, (uint64_t)index);
    x.layouts = kiln_work_layouts(f->a, &f->work.workload, &f->profile, t, &s, &c);
    kiln_buf_init(&text, f->a);
    kiln_config_json(&text, t, &s, &c);
    kiln_assert_status_ok(
        kiln_json_parse(f->a, kiln_buf_str(&text), "test", &x.config, &err), &err);
    return x;
}

static kiln_status tell(void *user, kiln_arena *a, const kiln_op_work *w,
                        const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    const kiln_answers *known = user;
    (void)w;
    (void)p;
    (void)err;
    for (size_t i = 0; i < known->n; i++)
        kiln_vec_push(a, out, known->v[i]);
    return KILN_OK;
}

static kiln_choice choose(const fixture *f, const char *tmpl, kiln_answers *known) {
    kiln_err err = {0};
    kiln_choice c;
    const kiln_oracle oracle = {tell, known};
    const kiln_choose_options o = {.tmpl = tmpl, .oracle = &oracle};
    kiln_assert_status_ok(kiln_choose(f->a, &f->work, &f->profile, &o, &c, &err), &err);
    return c;
}

static void cheapest_of_all_templates(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    for (int i = 0; i < f.n; i++)
        for (int j = 0; j < f.n; j++) {
            kiln_answers known = {.n = 0};
            kiln_vec_push(f.a, &known, answer_of(&f, f.fits[i], -1, 100, 0));
            if (i != j)
                kiln_vec_push(f.a, &known, answer_of(&f, f.fits[j], -1, 200, 0));
            const kiln_choice c = choose(&f, NULL, &known);
            assert_string_equal(c.tmpl->name, f.fits[i]->name);
            assert_int_equal(c.origin, KILN_ORIGIN_TUNED);
            assert_int_equal(c.n_tried, 7);
        }
}

/* Any permutation of the same answers gives the same choice, ties included. */
static void order_does_not_matter(void **state) {
    (void)state;
    fixture f;
    kiln_rng rng;
    set_up(&f);
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < 20; round++) {
        kiln_answers known = {.n = 0};
        const char *want = NULL;
        for (int i = 0; i < f.n; i++)
            kiln_vec_push(f.a, &known,
                          answer_of(&f, f.fits[i], -1,
                                    (double)kiln_rng_range(&rng, 1, 3),
                                    (int)kiln_rng_range(&rng, 0, 1)));
        for (int turn = 0; turn < 6; turn++) {
            for (size_t i = known.n - 1; i > 0; i--) {
                const size_t k = (size_t)kiln_rng_range(&rng, 0, (int64_t)i);
                const kiln_answer x = known.v[i];
                known.v[i] = known.v[k];
                known.v[k] = x;
            }
            const char *got = choose(&f, NULL, &known).tmpl->name;
            assert_string_equal(got, want != NULL ? want : got);
            want = got;
        }
    }
}

static void nearer_comes_before_cheaper(void **state) {
    (void)state;
    fixture f;
    kiln_answers known = {.n = 0};
    set_up(&f);
    kiln_vec_push(f.a, &known, answer_of(&f, f.fits[0], -1, 1, 4));
    kiln_vec_push(f.a, &known, answer_of(&f, f.fits[1], -1, 9, 2));
    assert_string_equal(choose(&f, NULL, &known).tmpl->name, f.fits[1]->name);
    /* What is named is had all the same. */
    assert_string_equal(choose(&f, f.fits[0]->name, &known).tmpl->name,
                        f.fits[0]->name);
}

/* Cheaper in layouts that neighbours would have to be converted to: not by this rule.
 */
static void other_layouts_are_left(void **state) {
    (void)state;
    fixture f;
    kiln_answers known = {.n = 0};
    int64_t other = -1;
    set_up(&f);
    const kiln_template *t = &kiln_template_conv_direct;
    const kiln_answer rule = answer_of(&f, t, -1, 100, 0);
    for (int64_t i = 0; i < 4096 && other < 0; i++) {
        const kiln_answer x = answer_of(&f, t, i, 1, 0);
        if (x.layouts != NULL && strcmp(x.layouts, rule.layouts) != 0)
            other = i;
    }
    assert_true(other >= 0);
    kiln_vec_push(f.a, &known, answer_of(&f, t, other, 1, 0));
    assert_int_equal(choose(&f, NULL, &known).origin, KILN_ORIGIN_GUESS);
    kiln_vec_push(f.a, &known, rule);
    const kiln_choice c = choose(&f, NULL, &known);
    const kiln_config guess = t->guess(&f.work.workload, &f.profile, &c.space);
    assert_ptr_equal(c.tmpl, t);
    assert_int_equal(c.origin, KILN_ORIGIN_TUNED);
    assert_int_equal(kiln_config_index(&c.space, &c.config),
                     kiln_config_index(&c.space, &guess));
}

static void what_has_no_cost_is_taken(void **state) {
    (void)state;
    fixture f;
    kiln_answers known = {.n = 0};
    set_up(&f);
    kiln_vec_push(f.a, &known, answer_of(&f, f.fits[0], -1, 1, 0));
    kiln_vec_push(f.a, &known, answer_of(&f, f.fits[f.n - 1], -1, 0, 9));
    assert_string_equal(choose(&f, NULL, &known).tmpl->name, f.fits[f.n - 1]->name);
}

static void strangers_are_left(void **state) {
    (void)state;
    fixture f;
    kiln_answers known = {.n = 0};
    set_up(&f);
    kiln_answer gone = answer_of(&f, f.fits[0], -1, 1, 0);
    gone.tmpl = "no_such_template";
    kiln_vec_push(f.a, &known, gone);
    gone.tmpl = "pool"; /* is there, but takes no convolution */
    kiln_vec_push(f.a, &known, gone);
    assert_int_equal(choose(&f, NULL, &known).origin, KILN_ORIGIN_GUESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheapest_of_all_templates),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(nearer_comes_before_cheaper),
        cmocka_unit_test(other_layouts_are_left),
        cmocka_unit_test(what_has_no_cost_is_taken),
        cmocka_unit_test(strangers_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
