/* kiln_ref_constant: what depends on constants alone, what depends on given inputs,
 * limits, long chains. */
#include "compiler/reference/reference.h"

#include "tests/support/kiln_test.h"

static kiln_graph *parse(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

static const kiln_value *find(const kiln_graph *g, const char *name) {
    const kiln_value *v = kiln_map_get(&g->value_names, kiln_str_from(name));
    assert_non_null(v);
    return v;
}

static const char *const text =
    "graph \"g\" { input %x : f32[2,3] input %k : i64[] const %c : i64[2] = {10, 20} "
    "%s = shape(%x) %t = add(%s, %c) %u = mul(%t, %k) %w = neg(%t) "
    "output %u output %w }";

static void check_values(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse(text);
    kiln_tensor out;
    kiln_assert_status_ok(
        kiln_ref_constant(g, find(g, "w"), 1024, NULL, NULL, &out, &err), &err);
    const int64_t *i = out.data;
    assert_int_equal(i[0], -12);
    assert_int_equal(i[1], -23);
    kiln_assert_status_ok(
        kiln_ref_constant(g, find(g, "c"), 1024, NULL, NULL, &out, &err), &err);
    assert_ptr_equal(out.data, find(g, "c")->data);
}

static void check_input(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse(text);
    kiln_tensor out;
    kiln_assert_fails(kiln_ref_constant(g, find(g, "u"), 1024, NULL, NULL, &out, &err),
                      KILN_ERR_ARG, &err, "depends on graph input 'k'");
    kiln_assert_fails(kiln_ref_constant(g, find(g, "x"), 1024, NULL, NULL, &out, &err),
                      KILN_ERR_ARG, &err, "depends on graph input 'x'");
}

static bool give(void *user, const kiln_value *input, kiln_tensor *out) {
    out->type = input->type;
    out->data = user;
    return kiln_str_is(kiln_str_from(input->name), "k");
}

/* What follows from a given value is no constant to those who do not give it. */
static void check_given(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse(text);
    kiln_tensor out;
    int64_t two = 2;
    kiln_assert_status_ok(
        kiln_ref_constant(g, find(g, "u"), 1024, give, &two, &out, &err), &err);
    assert_int_equal(((const int64_t *)out.data)[1], 46);
    kiln_assert_fails(kiln_ref_constant(g, find(g, "u"), 1024, NULL, NULL, &out, &err),
                      KILN_ERR_ARG, &err, "depends on graph input 'k'");
    kiln_assert_fails(kiln_ref_constant(g, find(g, "x"), 1024, give, &two, &out, &err),
                      KILN_ERR_ARG, &err, "depends on graph input 'x'");
}

static bool give_wrong(void *user, const kiln_value *input, kiln_tensor *out) {
    (void)input;
    out->type = kiln_type_scalar(KILN_F32);
    out->data = user;
    return true;
}

static void check_given_type(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse(text);
    kiln_tensor out;
    float f = 0;
    kiln_assert_fails(
        kiln_ref_constant(g, find(g, "u"), 1024, give_wrong, &f, &out, &err),
        KILN_ERR_SHAPE, &err, "the value given for input 'k' must be i64[], is f32[]");
}

static void check_limit(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { const %c : f32[] = {1} "
                          "%y = expand(%c) {shape=[1000]} output %y }");
    kiln_tensor out;
    kiln_assert_fails(
        kiln_ref_constant(g, find(g, "y"), 3999, NULL, NULL, &out, &err),
        KILN_ERR_LIMIT, &err,
        "value 'y' has 4000 bytes, a value that is computed ahead may have "
        "3999");
    kiln_assert_status_ok(
        kiln_ref_constant(g, find(g, "y"), 4000, NULL, NULL, &out, &err), &err);
}

/* A chain of 100k nodes, each of which is asked for: no deep recursion, no repeated
 * work. */
static void check_chain(void **state) {
    (void)state;
    enum { N = 100000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(&a, "chain");
    kiln_value *one = kiln_graph_const_i64(g, "one", 1), *v = one;
    for (int i = 0; i < N; i++) {
        kiln_value *const in[] = {v, one};
        const kiln_node_spec spec = {.op = &kiln_op_add, .in = in, .n_in = 2};
        kiln_node *n = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
        v = n->out[0];
    }
    kiln_tensor out;
    kiln_assert_status_ok(kiln_ref_constant(g, v, 8, NULL, NULL, &out, &err), &err);
    assert_int_equal(((const int64_t *)out.data)[0], N + 1);
    for (size_t i = 0; i < g->nodes.n; i++)
        kiln_assert_status_ok(
            kiln_ref_constant(g, g->nodes.v[i]->out[0], 8, NULL, NULL, &out, &err),
            &err);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("computes_what_constants_decide", check_values, NULL);
    kiln_test_add("names_the_input_it_depends_on", check_input, NULL);
    kiln_test_add("takes_given_values", check_given, NULL);
    kiln_test_add("rejects_a_given_value_of_another_type", check_given_type, NULL);
    kiln_test_add("rejects_large_values", check_limit, NULL);
    kiln_test_add("is_linear_in_a_chain", check_chain, NULL);
    return kiln_test_run("reference_constant");
}
