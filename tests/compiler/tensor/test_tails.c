/* Which stages guard their tail lanes: those that would leave something else than zero
 * there, or do not know what they read. What they compute is test_compute.c's affair.
 */
#include "compiler/reference/reference.h"
#include "compiler/tensor/compute.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *text; /* all values of rank 4 in NCHW16c */
    bool guards;
} row;

#define X "graph \"g\" { input %x : f32[1,20,4,4] "
#define XY X "input %y : f32[1,20,4,4] "

static row rows[] = {
    {"relu", X "%z = relu(%x) output %z }", false},
    {"sum", XY "%z = add(%x, %y) output %z }", false},
    {"product", XY "%z = mul(%x, %y) output %z }", false},
    {"largest", XY "%z = max(%x, %y) output %z }", false},
    {"difference_of_functions",
     XY "%a = tanh(%x) %b = abs(%y) %z = sub(%a, %b) "
        "output %z }",
     false},
    {"clip_around_zero", X "%z = clip(%x) {min=-1, max=6} output %z }", false},
    {"clip_above_zero", X "%z = clip(%x) {min=1, max=6} output %z }", true},
    {"sigmoid", X "%z = sigmoid(%x) output %z }", true},
    {"exponential", X "%z = exp(%x) output %z }", true},
    {"quotient_of_zeros", XY "%z = div(%x, %y) output %z }", true},
    {"one_more", X "input %o : f32[] %z = add(%x, %o) output %z }", true},
    {"times_what_may_be_infinite", X "input %o : f32[] %z = mul(%x, %o) output %z }",
     true},
    {"largest_under_windows", X "%z = max_pool(%x) {kernel=[2,2]} output %z }", false},
    {"largest_with_padding",
     X "%z = max_pool(%x) {kernel=[3,3], pads=[1,1,1,1]} output %z }", true},
    {"mean_under_windows", X "%z = avg_pool(%x) {kernel=[2,2]} output %z }", false},
    {"mean_of_all", X "%z = reduce_mean(%x) {axes=[2,3]} output %z }", false},
    {"product_of_all", X "%z = reduce_prod(%x) {axes=[2,3]} output %z }", false},
    {"sum_of_exponentials", X "%a = exp(%x) %z = reduce_sum(%a) {axes=[2]} output %z }",
     true},
    {"moved_channels",
     X "%z = slice(%x) {starts=[0,1,0,0], steps=[1,1,1,1], sizes=[1,18,4,4]} output "
       "%z }",
     true},
};

static void see_guard(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found || e->kind == KILN_EXPR_SELECT;
}

/* In the stage or in those before it. */
static bool has_guard(const kiln_te *te) {
    bool found = false;
    for (int k = 0; k < te->n_out && te->kind != KILN_TE_PLACEHOLDER; k++) {
        const kiln_expr *body = te->body[k];
        const bool reduces = body->kind == KILN_EXPR_REDUCE;
        const int n = reduces ? body->u.reduce->reducer->n : 1;
        found = found || (reduces && body->u.reduce->cond != NULL);
        for (int i = 0; i < n; i++)
            kiln_expr_visit(reduces ? body->u.reduce->source[i] : body, see_guard,
                            &found);
    }
    for (int i = 0; i < te->n_in; i++)
        found = found || has_guard(te->in[i]);
    return found;
}

static bool guards(const char *text, bool trust_tails, unsigned *facts) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_te_graph te;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    kiln_layout *layout = kiln_array(a, kiln_layout, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.v[i]->type.rank == 4)
            layout[i] = (kiln_layout){.n_blocks = 1, .block = {{1, 16}}};
    kiln_assert_status_ok(kiln_graph_compute(a, g, layout, trust_tails, &te, &err),
                          &err);
    *facts = te.arg_type[te.n_args - 1].facts;
    return has_guard(te.arg[te.n_args - 1]);
}

static void stages_guard_what_they_must(void **state) {
    const row *r = *state;
    unsigned facts = 0;
    assert_int_equal(guards(r->text, true, &facts), r->guards);
    assert_int_equal(facts, KILN_FACT_TAIL_ZERO);
    /* Of what nobody knows anything, all is guarded. */
    assert_true(guards(r->text, false, &facts));
    assert_int_equal(facts, KILN_FACT_TAIL_ZERO);
}

int main(void) {
    kiln_test_add_rows(stages_guard_what_they_must, rows);
    return kiln_test_run("tails");
}
