/* kiln_ref_run and kiln_ref_eval_node: values, regions, outputs that are inputs or
 * constants, rejections, and memory that stays that of the live set. */
#include "compiler/reference/reference.h"

#include <math.h>
#include <sys/resource.h>

#include "tests/support/kiln_test.h"

static kiln_graph *parse(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

static kiln_tensor vector(float *v, int64_t n) {
    return (kiln_tensor){.type = kiln_type_make(KILN_F32, 1, &n), .data = v};
}

/* ---- values ---- */

typedef struct row {
    const char *name;
    const char *graph;
    float in[2], want[2]; /* input x and first output, f32[2] */
} row;

static row rows[] = {
    {"reads_constants",
     "graph \"g\" { input %x : f32[2] const %c : f32[2] = {10, 20} %y = add(%x, %c) "
     "output %y }",
     {1, 2},
     {11, 22}},
    {"uses_a_value_many_times",
     "graph \"g\" { input %x : f32[2] %a = neg(%x) %b = mul(%a, %a) %c = add(%b, %a) "
     "%y = add(%c, %b) output %y }",
     {1, 2},
     {1, 6}},
    {"rounds_between_nodes", /* 1 + 2^-24 is 1 in f32, so nothing is left */
     "graph \"g\" { input %x : f32[2] const %e : f32[] = {0x1p-24} "
     "%a = add(%x, %e) %y = sub(%a, %x) output %y }",
     {1, 2},
     {0, 0}},
    {"gives_an_input_back",
     "graph \"g\" { input %x : f32[2] output %x }",
     {3, 4},
     {3, 4}},
    {"gives_a_constant",
     "graph \"g\" { input %x : f32[2] const %c : f32[2] = {5, 6} output %c }",
     {3, 4},
     {5, 6}},
    {"ignores_dead_nodes",
     "graph \"g\" { input %x : f32[2] %d = neg(%x) %e = neg(%d) %y = relu(%x) output "
     "%y "
     "}",
     {-1, 2},
     {0, 2}},
    {"runs_the_then_branch",
     "graph \"g\" { input %x : f32[2] const %c : bool[] = {1} %y = if(%c, %x, %x) "
     "{then_branch=graph \"t\" { input %x : f32[2] %y = neg(%x) output %y }, "
     "else_branch=graph \"e\" { input %x : f32[2] output %x }} output %y }",
     {1, 2},
     {-1, -2}},
    {"runs_the_else_branch_inside_another",
     "graph \"g\" { input %x : f32[2] const %c : bool[] = {0} %y = if(%c, %c, %x) "
     "{then_branch=graph \"t\" { const %k : f32[2] = {7, 7} output %k }, "
     "else_branch=graph \"e\" { input %c : bool[] input %x : f32[2] %y = if(%c, %x, "
     "%x) "
     "{then_branch=graph \"t\" { input %x : f32[2] output %x }, "
     "else_branch=graph \"e\" { input %x : f32[2] %a = add(%x, %x) %y = neg(%a) output "
     "%y "
     "}} output %y }} output %y }",
     {1, 2},
     {-2, -4}},
    {"knows_shapes",
     "graph \"g\" { input %x : f32[2] %s = shape(%x) %n = size(%x) %t = add(%s, %n) "
     "%f = cast(%t) {to=f32} %y = mul(%x, %f) output %y }",
     {1, 2},
     {4, 8}},
};

static void check_row(void **state) {
    row *r = *state;
    kiln_err err = {0};
    kiln_graph *g = parse(r->graph);
    const kiln_tensor in = vector(r->in, 2);
    kiln_tensor out[1];
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err), &err);
    kiln_assert_close(out[0].data, r->want, 2, 0, 0);
    assert_ptr_not_equal(out[0].data, in.data);
}

static void check_output_twice(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[2] %a = neg(%x) %b = neg(%a) "
                          "output %a \"p\" output %b output %a \"q\" }");
    float x[] = {1, 2};
    const float minus[] = {-1, -2};
    const kiln_tensor in = vector(x, 2);
    kiln_tensor out[3];
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err), &err);
    kiln_assert_close(out[0].data, minus, 2, 0, 0);
    kiln_assert_close(out[1].data, x, 2, 0, 0);
    kiln_assert_close(out[2].data, minus, 2, 0, 0);
}

/* What counts of a value stays as long as the value does, however many read that. */
static void check_count(void **state) {
    (void)state;
    kiln_graph *const g = parse(
        "graph \"g\" { input %x : f32[3] const %one : i64[] = {1} %k = cast(%x) "
        "{to=i64} %s = reduce_max(%k) {keepdims=false} %n = add(%s, %one) : i64[] "
        "%v = relu(%x) : f32[3] bounded(0, %n) %a = neg(%v) %b = abs(%v) %c = neg(%v) "
        "output %a output %b output %c output %n }");
    float x[] = {0, 1, 1};
    const kiln_tensor in = vector(x, 3);
    kiln_tensor out[4];
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err), &err);
    assert_non_null(out[3].data);
    assert_int_equal(*(const int64_t *)out[3].data, 2);
}

static void check_empty(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[0] %y = relu(%x) output %y }");
    float none[1];
    const kiln_tensor in = vector(none, 0);
    kiln_tensor out[1];
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err), &err);
    assert_int_equal(kiln_type_elems(&out[0].type), 0);
}

/* ---- rejections ---- */

static void check_rejections(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[2] output %x }");
    float x[3] = {0};
    kiln_tensor in = vector(x, 3), out[1] = {{.data = x}};
    kiln_arena *a = kiln_test_arena();
    kiln_assert_fails(kiln_ref_run(a, g, &in, 1, out, &err), KILN_ERR_SHAPE, &err,
                      "input 'x' must be f32[2], is f32[3]");
    kiln_assert_fails(kiln_ref_run(a, g, NULL, 0, out, &err), KILN_ERR_ARG, &err,
                      "graph 'g' has 1 inputs, 0 tensors are given");
    in = vector(NULL, 2);
    kiln_assert_fails(kiln_ref_run(a, g, &in, 1, out, &err), KILN_ERR_ARG, &err,
                      "input 'x' must have data, has none");
    assert_ptr_equal(out[0].data, x); /* left alone */
}

static void check_layout(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[1,20]{block=1x16} output %x }");
    float x[32] = {0};
    const kiln_tensor in = {.type = g->inputs.v[0]->type, .data = x};
    kiln_tensor out[1];
    kiln_assert_fails(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "input 'x' must have a row-major layout for the reference "
                      "interpreter");
}

/* ---- memory and size ---- */

/* 100k nodes in a row: the driver is linear, and the result's arena holds the result
 * only. */
static void check_chain(void **state) {
    (void)state;
    enum { N_NODES = 100000, N = 3 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(&a, "chain");
    const int64_t n = N;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_value *v = kiln_graph_add_input(g, "x", &t);
    for (int i = 0; i < N_NODES; i++) {
        const kiln_node_spec spec = {.op = &kiln_op_neg, .in = &v, .n_in = 1};
        kiln_node *node = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
        v = node->out[0];
    }
    kiln_graph_add_output(g, v, "y");
    float x[N] = {1, 2, 3};
    const kiln_tensor in = vector(x, N);
    kiln_tensor out[1];
    kiln_arena result = {0};
    kiln_assert_status_ok(kiln_ref_run(&result, g, &in, 1, out, &err), &err);
    kiln_assert_close(out[0].data, x, N, 0, 0);
    assert_true(result.peak_bytes < 4096);
    kiln_arena_fini(&result);
    kiln_arena_fini(&a);
}

/* Thirty values of 16 MiB in a row, of which two are alive at a time: kept all, they
 * would be 480 MiB. Sanitizers keep what was freed, so only plain builds can tell. */
static void check_memory(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    kiln_test_skip("the sanitizer keeps what was freed");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    kiln_test_skip("the sanitizer keeps what was freed");
#endif
#endif
    enum { N_NODES = 30, N = 4 << 20 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(&a, "wide");
    const kiln_type t = kiln_type_make(KILN_F32, 1, &(const int64_t){N});
    kiln_value *v = kiln_graph_add_input(g, "x", &t);
    for (int i = 0; i < N_NODES; i++) {
        const kiln_node_spec spec = {.op = &kiln_op_neg, .in = &v, .n_in = 1};
        kiln_node *node = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
        v = node->out[0];
    }
    kiln_graph_add_output(g, v, "y");
    const kiln_tensor in = kiln_tensor_new(&a, &t);
    kiln_tensor out[1];
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    kiln_assert_status_ok(kiln_ref_run(&a, g, &in, 1, out, &err), &err);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    /* in, out and two values native (64 MiB), one node's operands wide (64 MiB) */
    assert_true(after.ru_maxrss - before.ru_maxrss < 200 * 1024);
    kiln_arena_fini(&a);
}

/* ---- one node ---- */

static void check_eval_node(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse(
        "graph \"g\" { input %a : f32[2] input %b : f32[2] %y = div(%a, %b) output "
        "%y }");
    float a[] = {1, 1}, b[] = {3, 0};
    const float want[] = {1.0F / 3.0F, (float)HUGE_VAL};
    kiln_tensor in[] = {vector(a, 2), vector(b, 2)}, out[1];
    const kiln_node *n = g->nodes.v[0];
    kiln_assert_status_ok(kiln_ref_eval_node(kiln_test_arena(), n, in, out, &err),
                          &err);
    kiln_assert_close(out[0].data, want, 2, 0, 0);
    in[1].data = NULL;
    kiln_assert_fails(kiln_ref_eval_node(kiln_test_arena(), n, in, out, &err),
                      KILN_ERR_ARG, &err,
                      "input 'b' of node 'div' must be given, is not");
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("lists_a_value_twice", check_output_twice, NULL);
    kiln_test_add("keeps_what_counts", check_count, NULL);
    kiln_test_add("runs_on_nothing", check_empty, NULL);
    kiln_test_add("rejects_wrong_inputs", check_rejections, NULL);
    kiln_test_add("rejects_blocked_layouts", check_layout, NULL);
    kiln_test_add("is_linear_in_nodes", check_chain, NULL);
    kiln_test_add("frees_values_after_their_last_use", check_memory, NULL);
    kiln_test_add("evaluates_one_node", check_eval_node, NULL);
    return kiln_test_run("reference_run");
}
