/* What an if refuses: its condition, what its branches capture, outputs that differ. */
#include "compiler/graph/graph.h"

#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    const char *cond;                      /* type of the condition */
    const char *captured;                  /* inputs behind the condition */
    const char *then_branch, *else_branch; /* statements */
    const char *text;                      /* of the refusal; NULL: accepted */
} row;

#define X "input %x : f32[2] "

static row rows[] = {
    {"accepts_equal_branches", "bool[]", ", %x, %x", X "output %x", X "output %x",
     NULL},
    {"accepts_branches_that_capture_nothing", "bool[]", "",
     "const %k : i8[] = {1} output %k", "const %k : i8[] = {2} output %k", NULL},
    {"rejects_condition_that_is_no_scalar", "bool[1]", ", %x, %x", X "output %x",
     X "output %x", "input 'cond' must be a bool scalar, is bool[1]"},
    {"rejects_condition_that_is_no_bool", "i64[]", ", %x, %x", X "output %x",
     X "output %x", "input 'cond' must be bool, is i64"},
    {"rejects_captured_value_without_a_branch", "bool[]", ", %x, %x, %x", X "output %x",
     X "output %x",
     "then_branch and else_branch capture 1 and 1 values, inputs behind the condition "
     "are "
     "3"},
    {"rejects_captured_type", "bool[]", ", %x, %x", X "output %x",
     "input %x : f64[2] const %k : f32[2] = {1, 2} output %k",
     "input 'x' of else_branch must be f64[2], is f32[2]"},
    {"rejects_other_shape", "bool[]", ", %x", X "output %x",
     "const %k : f32[1,2] = {1, 2} output %k",
     "both branches must give one type, output 0 is f32[2] in then_branch and f32[1,2] "
     "in "
     "else_branch"},
    {"rejects_other_count", "bool[]", ", %x, %x", X "output %x output %x",
     X "output %x",
     "both branches must have 1 outputs, then_branch has 2 and else_branch 1"},
};

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const char *text = kiln_format(
        a,
        "graph \"g\" { input %%c : %s input %%x : f32[2] %%y = if(%%c%s) "
        "{then_branch=graph \"t\" { %s }, else_branch=graph \"e\" { %s }} output %%y }",
        r->cond, r->captured, r->then_branch, r->else_branch);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_status st = kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err);
    if (r->text == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_SHAPE, &err, r->text);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("if");
}
