/* The reducer against failures that are known: this program is its own `kiln build`,
 * which fails for graphs that hold what the row's profile names. What must be left is
 * written here in full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "pipeline/reduce/reduce.h"
#include "tests/support/kiln_test.h"

/* ---- the build ------------------------------------------------------------------- */

/* Also in regions. */
static const kiln_node *node_of(const kiln_graph *g, const char *op) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i], *inside = NULL;
        for (size_t k = 0; k < n->op->n_attr && inside == NULL; k++)
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                inside = node_of(n->attr[k].graph, op);
        if (strcmp(n->op->name, op) == 0)
            return n;
        if (inside != NULL)
            return inside;
    }
    return NULL;
}

/* "conv": there is one; "conv>=5": and its last extent is so large; "mul<conv": of
 * nodes, the first reads the second. */
static bool is_broken(const kiln_graph *g, const char *rule) {
    char op[32] = "", other[32] = "";
    long long least = 0;
    if (sscanf(rule, "%31[a-z_]<%31[a-z_]", op, other) == 2) {
        for (size_t i = 0; i < g->nodes.n; i++)
            for (int k = 0; k < g->nodes.v[i]->n_in; k++) {
                const kiln_node *n = g->nodes.v[i];
                if (strcmp(n->op->name, op) == 0 && n->in[k] != NULL &&
                    n->in[k]->def != NULL &&
                    strcmp(n->in[k]->def->op->name, other) == 0)
                    return true;
            }
        return false;
    }
    if (sscanf(rule, "%31[a-z_]>=%lld", op, &least) == 2) {
        const kiln_node *n = node_of(g, op);
        const kiln_type *t = n != NULL ? &n->out[0]->type : NULL;
        return t != NULL && t->rank > 0 && t->dim[t->rank - 1] >= least;
    }
    return node_of(g, rule) != NULL;
}

/* kiln build CANDIDATE --profile RULE ... */
static int build(int argc, char **argv) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    int code = 0;
    if (argc < 5 || strcmp(argv[1], "build") != 0)
        return 2; /* no inspect here */
    if (kiln_import(&a, argv[2], NULL, &g, NULL, &err) != KILN_OK)
        code = 3;
    else if (strcmp(argv[4], "abort") == 0)
        abort();
    else if (node_of(g, "tanh") != NULL) { /* always there, and not the one */
        fprintf(stderr, "other.c:1: broken invariant 'no tanh': it is there\n");
        code = 5;
    } else if (is_broken(g, argv[4])) {
        fprintf(stderr, "error: step 'x' is wrong\n");
        code = 5;
    }
    kiln_arena_fini(&a);
    return code;
}

/* ---- rows ------------------------------------------------------------------------ */

#define NET                                                                            \
    "graph \"g\" {\n"                                                                  \
    "  input %x : f32[2,6,32,32]\n"                                                    \
    "  const %w : f32[16,6,3,3] = {0.5 x 864}\n"                                       \
    "  const %b : f32[16] = {1 x 16}\n"                                                \
    "  const %s : f32[16,1,1] = {2 x 16}\n"                                            \
    "  const %W : f32[4096,10] = {0.25 x 40960}\n"                                     \
    "  %c = conv(%x, %w, %b) {strides=[2, 2], pads=[1, 1, 1, 1]}\n"                    \
    "  %r = relu(%c)\n"                                                                \
    "  %m = mul(%r, %s)\n"                                                             \
    "  %f = reshape(%m) {shape=[2, 4096]}\n"                                           \
    "  %y = matmul(%f, %W)\n"                                                          \
    "  %p = softmax(%y)\n"                                                             \
    "  output %p \"p\"\n"                                                              \
    "  output %r \"r\"\n"                                                              \
    "}\n"

typedef struct row {
    const char *name, *text, *rule, *expect, *want; /* want NULL: does not fail */
} row;

static row rows[] = {
    {"one_node", NET, "softmax", NULL,
     "graph \"g\" {\n  input %y : f32[1,1]\n"
     "  %p = softmax(%y) {axis=0} : f32[1,1] \"softmax\"\n  output %p \"p\"\n}\n"},
    {"two_nodes", NET, "mul<relu", NULL,
     "graph \"g\" {\n  input %c : f32[1,1,1,1]\n"
     "  const %s : f32[1,1,1] = {-0x1.a2a4c8p-2}\n"
     "  %r = relu(%c) : f32[1,1,1,1] \"relu\"\n"
     "  %m = mul(%r, %s) : f32[1,1,1,1] \"mul\"\n  output %m \"m\"\n}\n"},
    {"keeps_the_extent_that_matters", NET, "matmul>=5", NULL,
     "graph \"g\" {\n  input %f : f32[1,1]\n  const %W : f32[1,5] = random(2)\n"
     "  %y = matmul(%f, %W) {trans_b=false} : f32[1,5] \"matmul\"\n"
     "  output %y \"p\"\n}\n"},
    {"regions",
     "graph \"g\" {\n input %c : bool[]\n input %x : f32[8]\n"
     "%y = if(%c, %x, %x) {then_branch=graph \"t\" { input %a : f32[8] %b = exp(%a) "
     "%d = relu(%b) output %d }, else_branch=graph \"e\" { input %a : f32[8] "
     "output %a }}\n output %y }",
     "relu", NULL,
     "graph \"t\" {\n  input %a : f32[1]\n"
     "  %d = relu(%a) : f32[1] \"relu\"\n  output %d \"d\"\n}\n"},
    {"nothing_fails", NET, "sinh", NULL, NULL},
    {"nothing_says_what_is_expected", NET, "relu", "step 'y'", NULL},
    {"what_is_expected", NET, "relu", "step 'x'",
     "graph \"g\" {\n  input %c : f32[1,1,1,1]\n"
     "  %r = relu(%c) : f32[1,1,1,1] \"relu\"\n  output %r \"r\"\n}\n"},
};

static kiln_graph *parse(const char *text) {
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "t", &g, &err), &err);
    return g;
}

static void reduce(const char *text, const char *rule, const char *expect, int most,
                   kiln_reduced *r) {
    const char *option[] = {"--profile", rule};
    const kiln_reduce_options o = {.option = option,
                                   .n_options = 2,
                                   .expect = expect,
                                   .seconds = KILN_TEST_PATIENCE_S,
                                   .max_asked = most};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_reduce(kiln_test_arena(), parse(text), &o, r, &err),
                          &err);
}

static void check_row(void **state) {
    const row *w = *state;
    kiln_reduced r;
    reduce(w->text, w->rule, w->expect, 0, &r);
    assert_int_equal(r.is_reproduced, w->want != NULL);
    if (w->want == NULL)
        return;
    kiln_assert_text_equal(r.text, kiln_str_from(w->want));
    assert_true(r.is_finished);
    assert_string_equal(r.message, "error: step 'x' is wrong");
}

/* A failure of another kind on the way is not taken for this one. */
static void check_kind(void **state) {
    (void)state;
    kiln_reduced r;
    reduce("graph \"g\" { input %x : f32[4] %a = tanh(%x) %y = relu(%a) output %y }",
           "relu", NULL, 0, &r);
    assert_true(r.is_reproduced);
    assert_non_null(strstr(r.message, "other.c:1: broken invariant"));
    assert_int_equal(r.state.n_nodes, 1);
    assert_non_null(strstr(r.text.p, "tanh"));
}

static void check_signal(void **state) {
    (void)state;
    kiln_reduced r;
    reduce(NET, "abort", NULL, 0, &r);
    assert_true(r.is_reproduced);
    assert_string_equal(r.message, "ended by signal 6");
    assert_int_equal(r.state.n_nodes, 0); /* whatever it builds */
}

/* The same graph gives the same example; and an end that is asked for gives the best so
 * far. */
static void check_repeats(void **state) {
    (void)state;
    kiln_reduced a, b, cut;
    reduce(NET, "mul<relu", NULL, 0, &a);
    reduce(NET, "mul<relu", NULL, 0, &b);
    kiln_assert_text_equal(a.text, b.text);
    assert_int_equal(a.state.n_asked, b.state.n_asked);
    reduce(NET, "mul<relu", NULL, 3, &cut);
    assert_true(cut.is_reproduced && !cut.is_finished);
    assert_int_equal(cut.state.n_asked, 3);
    assert_true(cut.state.n_nodes >= a.state.n_nodes);
}

static void check_file(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "small one.kgraph");
    const char *option[] = {"--profile", "softmax"};
    const kiln_reduce_options o = {.option = option, .n_options = 2};
    kiln_reduced r;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_str text;
    reduce(NET, "softmax", NULL, 0, &r);
    kiln_assert_status_ok(kiln_reduced_write(&r, &o, path, &err), &err);
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &text, &err), &err);
    assert_true(kiln_str_starts(text, "# kiln build '"));
    kiln_assert_status_ok(kiln_import(a, path, NULL, &g, NULL, &err), &err);
    assert_int_equal(g->nodes.n, 1);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return build(argc, argv);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("keeps_to_the_kind_of_the_first_failure", check_kind, NULL);
    kiln_test_add("takes_a_signal_for_a_failure", check_signal, NULL);
    kiln_test_add("is_the_same_again_and_may_be_cut_short", check_repeats, NULL);
    kiln_test_add("writes_a_model", check_file, NULL);
    return kiln_test_run("reduce");
}
