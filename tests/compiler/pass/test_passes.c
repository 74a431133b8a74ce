/* Each pass by golden files, one folder a pass; the driver by its messages. */
#include "compiler/graph/graph.h"
#include "compiler/pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/kiln_test.h"

#define GOLDEN "tests/compiler/pass/golden"

static kiln_graph *parse(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

/* The pass whose folder the file is in. */
static const kiln_pass *pass_of(const char *path) {
    const char *name = kiln_path_base(kiln_path_dir(kiln_test_arena(), path));
    const kiln_pass *p = kiln_pass_find(kiln_str_from(name));
    if (p == NULL)
        fail_msg("no pass is named '%s'", name);
    return p;
}

static void check_golden(void **state) {
    kiln_test_golden golden;
    kiln_test_golden_read(*state, &golden);
    const kiln_pass *p = pass_of(golden.path);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), golden.input, golden.path, &g, &err), &err);
    g->facts |= p->needs;
    const kiln_pass_options o = {.check = true, .check_seed = kiln_test_seed()};
    kiln_assert_status_ok(kiln_pass_run(p, g, &o, &err), &err);
    g->facts = KILN_TYPED; /* the goldens show the rewriting, not the row's facts */
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_graph_print(&text, g, NULL);
    kiln_test_golden_check(&golden, kiln_buf_str(&text));
}

/* ---- the table ---- */

static void check_rows(void **state) {
    (void)state;
    unsigned made = KILN_TYPED;
    const kiln_pass *p;
    int n = 0;
    for (; (p = kiln_pass_at(n)) != NULL; n++) {
        assert_true(p->doc != NULL && p->doc[0] != '\0');
        assert_ptr_equal(kiln_pass_find(kiln_str_from(p->name)), p);
        /* The pipeline may run in this order from a freshly built graph. */
        assert_int_equal(p->needs & ~made, 0);
        made = (made & p->keeps) | p->makes;
    }
    assert_true(n > 0);
    assert_null(kiln_pass_at(-1));
    assert_null(kiln_pass_find(KILN_STR_LIT("no_such_pass")));
}

/* ---- the driver ---- */

static void check_needs(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[] output %x }");
    const kiln_pass *p = kiln_pass_find(KILN_STR_LIT("fold_constants"));
    kiln_assert_fails(kiln_pass_run(p, g, NULL, &err), KILN_ERR_ARG, &err,
                      "pass 'fold_constants' needs facts shapes_folded");
}

static void count_print(void *user, const char *pass_name, const kiln_graph *g) {
    int *n = user;
    (void)pass_name;
    (void)g;
    ++*n;
}

static void check_print_after(void **state) {
    (void)state;
    kiln_err err = {0};
    int n_all = 0, n_one = 0, n_rows = 0;
    while (kiln_pass_at(n_rows) != NULL)
        n_rows++;
    kiln_pass_options o = {.print_after = "all", .print = count_print, .user = &n_all};
    const char *text = "graph \"g\" { input %x : f32[] %y = relu(%x) output %y }";
    kiln_assert_status_ok(kiln_graph_optimize(parse(text), &o, &err), &err);
    assert_int_equal(n_all, n_rows);
    o.print_after = "merge_common";
    o.user = &n_one;
    kiln_assert_status_ok(kiln_graph_optimize(parse(text), &o, &err), &err);
    assert_int_equal(n_one, 1);
}

/* After the pipeline all facts hold, and a second run finds nothing to do. */
static void check_facts(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[2] const %c : f32[2] = {1, 2}"
                          " %a = neg(%c) %b = add(%x, %a) %d = add(%x, %a)"
                          " %i = identity(%d) %y = mul(%b, %i) output %y }");
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    const unsigned all = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED |
                         KILN_INFERENCE_ONLY | KILN_NO_DEAD_CODE | KILN_NO_DUPLICATES;
    assert_int_equal(g->facts, all);
    assert_int_equal(g->nodes.n, 2);
    kiln_buf once, twice;
    kiln_buf_init(&once, kiln_test_arena());
    kiln_buf_init(&twice, kiln_test_arena());
    kiln_graph_print(&once, g, NULL);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    kiln_graph_print(&twice, g, NULL);
    kiln_assert_text_equal(kiln_buf_str(&twice), kiln_buf_str(&once));
}

/* What merge_quantized takes, narrow_products and narrow_convs make products of bytes of:
 * no product of wider integers is left, and none is made where they would take nothing. */
static void check_products_of_bytes(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t n_bytes;
    } row[] = {{GOLDEN "/merge_quantized/products.txt", 4},
               {GOLDEN "/merge_quantized/no_bytes.txt", 0},
               {GOLDEN "/merge_quantized/others.txt", 0}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_test_golden golden;
        size_t n_bytes = 0;
        kiln_test_golden_read(row[i].path, &golden);
        kiln_assert_status_ok(
            kiln_graph_parse(kiln_test_arena(), golden.input, golden.path, &g, &err),
            &err);
        kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
        for (size_t k = 0; k < g->nodes.n; k++) {
            const kiln_node *n = g->nodes.v[k];
            n_bytes += n->op == &kiln_op_conv_bytes;
            if (n->op == &kiln_op_conv || n->op == &kiln_op_matmul ||
                n->op == &kiln_op_gemm)
                assert_int_equal(n->out[0]->type.dtype, KILN_F32);
        }
        assert_int_equal(n_bytes, row[i].n_bytes);
    }
}

/* A pass that is wrong: relu for neg. */
static kiln_status wrong_run(kiln_graph *g, kiln_pass_cx *cx) {
    g->nodes.v[0]->op = &kiln_op_relu;
    cx->changed = true;
    return KILN_OK;
}

static void check_meaning(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_pass wrong = {.name = "wrong", .keeps = ~0u, .run = wrong_run};
    kiln_graph *g = parse("graph \"g\" { input %x : f32[64] %y = neg(%x) output %y }");
    const kiln_pass_options o = {.check = true, .check_seed = 1};
    kiln_assert_fails(kiln_pass_run(&wrong, g, &o, &err), KILN_ERR_ARG, &err,
                      "pass 'wrong' must keep output 'y', ");
}

/* ---- size ---- */

/* 100k nodes, most of which a pass removes: would take hours if a pass were quadratic.
 */
static void check_large(void **state) {
    (void)state;
    enum { N = 100000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = kiln_graph_new(&a, "large");
    const kiln_type t = kiln_type_scalar(KILN_F32);
    kiln_value *x = kiln_graph_add_input(g, "x", &t), *v = x;
    for (int i = 0; i < N; i++) {
        const kiln_op_def *op = i % 2 == 0 ? &kiln_op_identity : &kiln_op_add;
        kiln_value *const in[] = {v, kiln_graph_const_scalar(g, "c", KILN_F32, -0.0)};
        const kiln_node_spec spec = {.op = op, .in = in, .n_in = i % 2 == 0 ? 1 : 2};
        kiln_node *n = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
        v = n->out[0];
    }
    kiln_graph_add_output(g, v, "y");
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    assert_int_equal(g->nodes.n, 0);
    assert_ptr_equal(g->outputs.v[0], x);
    kiln_arena_fini(&a);
}

/* Large constants that begin and end alike are told apart by what is between. */
static void check_large_constants(void **state) {
    (void)state;
    enum { N = 1000 };
    static float data[4][N];
    data[1][N / 2] = data[2][N / 2] = 1;
    data[3][N / 2 + 1] = 1;
    kiln_arena *a = kiln_test_arena();
    kiln_graph *g = kiln_graph_new(a, "constants");
    const int64_t n = N;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_value *v = kiln_graph_add_input(g, "x", &t);
    kiln_err err = {0};
    for (int i = 0; i < 4; i++) {
        kiln_value *const in[] = {v, kiln_graph_add_const(g, "c", &t, data[i])};
        const kiln_node_spec spec = {.op = &kiln_op_add, .in = in, .n_in = 2};
        kiln_node *node = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
        v = node->out[0];
    }
    kiln_graph_add_output(g, v, "y");
    const kiln_pass *p = kiln_pass_find(KILN_STR_LIT("merge_common"));
    kiln_assert_status_ok(kiln_pass_run(p, g, NULL, &err), &err);
    assert_int_equal(g->nodes.n, 4);
    const void *const want[] = {data[0], data[1], data[1], data[3]};
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(g->nodes.v[i]->in[1]->data, want[i]);
}

int main(void) {
    kiln_test_add("rows_are_complete_and_in_order", check_rows, NULL);
    kiln_test_add("rejects_missing_facts", check_needs, NULL);
    kiln_test_add("prints_after_passes", check_print_after, NULL);
    kiln_test_add("makes_facts_and_is_stable", check_facts, NULL);
    kiln_test_add("makes_products_of_bytes", check_products_of_bytes, NULL);
    kiln_test_add("check_finds_a_wrong_pass", check_meaning, NULL);
    kiln_test_add("tells_large_constants_apart", check_large_constants, NULL);
    kiln_test_add("is_linear_in_nodes", check_large, NULL);
    for (int i = 0; kiln_pass_at(i) != NULL; i++)
        kiln_test_add_golden(
            kiln_format(kiln_test_arena(), GOLDEN "/%s", kiln_pass_at(i)->name),
            check_golden);
    return kiln_test_run("passes");
}
