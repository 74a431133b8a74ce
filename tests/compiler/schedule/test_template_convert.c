/* The convert template: any pair of layouts of any value equals the reference, tails
 * included; the rule follows how values lie, and no build takes it. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

static const char *const dtypes[] = {"f32", "f16", "bf16", "i8", "i32"};

static kiln_graph *identity_of(kiln_arena *a, const kiln_type *t) {
    kiln_graph *g = kiln_graph_new(a, "convert");
    kiln_value *x = random_operand(g, "x", t, false, 0);
    kiln_graph_add_output(g, graph_node(g, &kiln_op_identity, &x, 1), "y");
    return g;
}

static kiln_graph *random_value(kiln_arena *a, kiln_rng *rng,
                                const template_property *p) {
    static const int64_t channels[] = {1, 3, 8, 16, 17, 24, 40};
    int64_t dim[KILN_MAX_RANK];
    const int rank = (int)kiln_rng_range(rng, 3, 5);
    dim[0] = kiln_rng_range(rng, 1, 2);
    dim[1] = random_pick(rng, channels, 7);
    for (int i = 2; i < rank; i++)
        dim[i] = kiln_rng_range(rng, 1, 9);
    const kiln_type t = kiln_type_make(p->dtype, rank, dim);
    return identity_of(a, &t);
}

static void any_pair_of_layouts(void **state) {
    template_property p = {.name = *state, .runs = 40};
    assert_true(kiln_dtype_parse(kiln_str_from(p.name), &p.dtype));
    assert_int_equal(template_property_check(&p, &kiln_template_convert, random_value),
                     0);
}

static void the_rule_follows_how_values_lie(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_workload w;
    kiln_space s;
    const kiln_type t = kiln_type_make(KILN_F32, 4, (int64_t[]){1, 24, 7, 7});
    kiln_graph *g = identity_of(a, &t);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &p, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(kiln_template_convert.space(&w, &p, &s, &err), &err);
    w.anchor->in[0]->type.layout =
        (kiln_layout){.n_blocks = 1, .block = {{.axis = 1, .size = 8}}};
    kiln_config c = kiln_template_convert.guess(&w, &p, &s);
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 8);
    assert_int_equal(kiln_config_int(&s, &c, 1, 0), 1);
    assert_true(kiln_template_fits(&kiln_template_convert, &w, &p));
    assert_ptr_equal(kiln_template_for(&w, &p), &kiln_template_generic);
}

/* A value with a function behind it is another template's. */
static void takes_identities_alone(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_workload w;
    const kiln_type t = kiln_type_make(KILN_F32, 4, (int64_t[]){1, 24, 7, 7});
    kiln_graph *g = kiln_graph_new(a, "two");
    kiln_value *x = random_operand(g, "x", &t, false, 0);
    kiln_value *y = graph_node(g, &kiln_op_identity, &x, 1);
    kiln_graph_add_output(g, graph_node(g, &kiln_op_relu, &y, 1), "y");
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &p, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_false(kiln_template_fits(&kiln_template_convert, &w, &p));
}

int main(void) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        kiln_test_add(dtypes[i], any_pair_of_layouts, (void *)(uintptr_t)dtypes[i]);
    kiln_test_add("the_rule_follows_how_values_lie", the_rule_follows_how_values_lie,
                  NULL);
    kiln_test_add("takes_identities_alone", takes_identities_alone, NULL);
    return kiln_test_run("template_convert");
}
