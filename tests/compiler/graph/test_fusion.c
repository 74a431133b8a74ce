/* Fusion by golden files: a graph, and its groups, "*" behind the anchor. And the
 * groups, each a graph of its own, run one after another by the reference, compute what
 * the whole graph does, to the bit. */
#include "compiler/graph/graph_fusion.h"
#include "compiler/reference/reference.h"
#include "compiler/tensor/compute.h"
#include "tests/support/kiln_test.h"
#include "compiler/network/groups.h"

#include <string.h>

/* Every group's inputs exist by the time it runs: tensors by value id of the whole. */
static void run_groups(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f,
                       kiln_tensor *tensor) {
    for (int i = 0; i < f->n; i++) {
        const kiln_value **from = NULL;
        kiln_graph *own = kiln_group_graph(a, g, &f->group[i], &from);
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_graph_verify(own, &err), &err);
        kiln_tensor *in = kiln_array(a, kiln_tensor, own->inputs.n);
        kiln_tensor *out = kiln_array(a, kiln_tensor, own->outputs.n);
        for (size_t k = 0; k < own->inputs.n; k++) {
            in[k] = tensor[from[own->inputs.v[k]->id]->id];
            if (in[k].data == NULL)
                fail_msg("group %d reads '%s' before it is made", i,
                         own->inputs.v[k]->name);
        }
        kiln_assert_status_ok(kiln_ref_run(a, own, in, own->inputs.n, out, &err), &err);
        for (size_t k = 0; k < own->outputs.n; k++)
            tensor[from[own->outputs.v[k]->id]->id] = out[k];
    }
}

static void check_meaning(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f) {
    kiln_err err = {0};
    kiln_tensor *tensor = kiln_array(a, kiln_tensor, g->values.n);
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    kiln_tensor *want = kiln_array(a, kiln_tensor, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        tensor[g->inputs.v[i]->id] = in[i] =
            kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed() + i);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, want, &err), &err);
    run_groups(a, g, f, tensor);
    for (size_t i = 0; i < g->outputs.n; i++)
        assert_memory_equal(tensor[g->outputs.v[i]->id].data, want[i].data,
                            (size_t)kiln_type_bytes(&want[i].type));
}

static void check_golden(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_test_golden golden;
    kiln_test_golden_read(*state, &golden);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, golden.path, &g, &err),
                          &err);
    kiln_graph_renumber(g);
    kiln_fusion f, off;
    const kiln_fusion_options o = {.stands_alone = kiln_network_can_join};
    kiln_graph_fuse(a, g, &o, &f);
    check_meaning(a, g, &f);
    kiln_graph_fuse(a, g, &(kiln_fusion_options){.is_off = true}, &off);
    assert_int_equal(off.n, g->nodes.n);
    check_meaning(a, g, &off);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_fusion_print(&text, &f);
    kiln_test_golden_check(&golden, kiln_buf_str(&text));
}

/* ---- epilogues ------------------------------------------------------------------- */

typedef struct epilogue_row {
    const char *name, *graph;
    const char *want; /* of the last group that has an anchor, else of the last */
} epilogue_row;

#define CONV "input %x : f32[1,8,6,6] input %w : f32[8,8,1,1] input %b : f32[8] "

static epilogue_row epilogues[] = {
    {"names_bias_and_what_follows",
     "graph \"g\" { " CONV "input %r : f32[1,8,6,6] %c = conv(%x, %w, %b) "
     "%s = add(%c, %r) %y = relu(%s) output %y }",
     "bias, add, relu"},
    {"has_no_bias_where_there_is_none",
     "graph \"g\" { " CONV "%c = conv(%x, %w) %y = relu(%c) output %y }", "relu"},
    {"takes_a_products_addend_as_bias",
     "graph \"g\" { input %a : f32[2,3] input %b : f32[3,4] input %c : f32[4] "
     "%y = gemm(%a, %b, %c) output %y }",
     "bias"},
    {"is_empty_behind_a_bare_product",
     "graph \"g\" { input %a : f32[2,3] input %b : f32[3,4] %y = matmul(%a, %b) "
     "output %y }",
     ""},
    {"leaves_out_what_comes_before",
     "graph \"g\" { input %x : f32[4,5] %r = relu(%x) %s = reduce_sum(%r) {axes=[1]} "
     "%y = sqrt(%s) output %y }",
     "sqrt"},
    {"is_empty_without_an_anchor",
     "graph \"g\" { input %x : f32[4] %r = relu(%x) %y = sqrt(%r) output %y }", ""},
};

static void check_epilogue(void **state) {
    const epilogue_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_fusion f;
    const char *got = "";
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(r->graph), r->name, &g, &err), &err);
    kiln_graph_renumber(g);
    kiln_graph_fuse(a, g, NULL, &f);
    for (int i = 0; i < f.n; i++)
        if (f.group[i].anchor != NULL || i + 1 == f.n)
            got = kiln_group_epilogue(a, &f.group[i]);
    assert_string_equal(got, r->want);
}

/* ---- length ---------------------------------------------------------------------- */

/* How often the group's last result reads its first input, put in place. */
static double reads_of_first(const kiln_group *group, const kiln_growth *growth) {
    double n = 1;
    for (int i = 0; i < group->n; i++)
        n *= growth[group->node[i]->index].reads[0];
    return n;
}

/* Each mish reads its input twice. */
static void a_chain_that_doubles_is_cut(void **state) {
    enum { N = 20 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_fusion whole, cut;
    kiln_buf text;
    (void)state;
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, "graph \"g\" { input %x0 : f32[4,5] ");
    for (int i = 0; i < N; i++)
        kiln_buf_printf(&text, "%%x%d = mish(%%x%d) ", i + 1, i);
    kiln_buf_printf(&text, "output %%x%d }", N);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_buf_str(&text), "chain", &g, &err),
                          &err);
    kiln_graph_renumber(g);
    kiln_graph_fuse(a, g, NULL, &whole);
    assert_int_equal(whole.n, 1);
    const kiln_fusion_options o = {.growth = kiln_graph_growth(a, g)};
    kiln_graph_fuse(a, g, &o, &cut);
    assert_true(cut.n > 1 && cut.n < N);
    for (int i = 0; i < cut.n; i++) {
        const double n = reads_of_first(&cut.group[i], o.growth);
        assert_true(n > 2 && n < KILN_MAX_INLINED);
    }
}

static void fuse_aloud(void *g) {
    kiln_fusion f;
    kiln_log_configure("fusion=debug");
    kiln_graph_fuse(kiln_test_arena(), g, NULL, &f);
}

static void borders_say_why(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_test_death child;
    (void)state;
    kiln_assert_status_ok(
        kiln_graph_parse(a,
                         kiln_str_from("graph \"g\" { input %x : f32[4,6] "
                                       "input %w : f32[6,6] %a = relu(%x) "
                                       "%b = matmul(%a, %w) %c = relu(%b) "
                                       "%d = transpose(%c) {perm=[1,0]} "
                                       "%e = softmax(%d) output %e output %c }"),
                         "borders", &g, &err),
        &err);
    kiln_graph_renumber(g);
    kiln_test_in_child(fuse_aloud, g, &child);
    assert_int_equal(child.exit_code, 0);
    assert_string_equal(
        child.stderr_text,
        "debug fusion: 'matmul' reads 'a' from memory: it does not run in that kernel "
        "(no kernel goes on with such an operator), nor is the value made where it is "
        "read (its elements are read more than once)\n"
        "debug fusion: 'transpose' reads 'c' from memory: others read it too\n"
        "debug fusion: 'softmax' reads 'd' from memory: it does not run in that kernel "
        "(no kernel goes on with such an operator), nor is the value made where it is "
        "read (its elements are read more than once)\n");
}

int main(void) {
    kiln_test_add("borders_say_why", borders_say_why, NULL);
    kiln_test_add("a_chain_that_doubles_is_cut", a_chain_that_doubles_is_cut, NULL);
    kiln_test_add_rows(check_epilogue, epilogues);
    kiln_test_add_golden("tests/compiler/graph/golden/fusion", check_golden);
    return kiln_test_run("fusion");
}
