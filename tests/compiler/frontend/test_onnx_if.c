/* An If on a run-time input whose branches do not all fit the bound shapes: the message
 * names the branch, the input that decides, and what to bind it to. */
#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

#include <string.h>

typedef enum condition { EQUAL, NOT_EQUAL, BOTH_EQUAL, BOOL_INPUT, OF_SHAPE } condition;

typedef struct row {
    const char *name;
    condition condition;
    bool then_is_bad, else_is_bad;
    bool is_nested; /* the If is in a branch of another, on input 'outer' */
    int64_t sr;     /* 0: not given */
    bool is_hint;
    kiln_status fails;
    const char *text, *more;
} row;

static row rows[] = {
    {"takes_two_branches_that_fit", EQUAL, .fails = KILN_OK},
    {"names_the_value_that_leaves_the_else_branch_out", EQUAL, .else_is_bad = true,
     .fails = KILN_ERR_SHAPE,
     .text =
         "importing the else_branch of If 'choice' (If); the other branch fits: which "
         "one runs depends on graph input 'sr', so fix its value with --bind sr=16000",
     .more = "matmul"},
    {"names_no_value_where_any_other_would_do", EQUAL, .then_is_bad = true,
     .fails = KILN_ERR_SHAPE,
     .text =
         "the then_branch of If 'choice' (If); the other branch fits: which one runs "
         "depends on graph input 'sr', so fix its value with --bind sr=VALUE"},
    {"sees_through_not", NOT_EQUAL, .then_is_bad = true, .fails = KILN_ERR_SHAPE,
     .text = "with --bind sr=16000"},
    {"names_both_inputs", BOTH_EQUAL, .else_is_bad = true, .fails = KILN_ERR_SHAPE,
     .text = "--bind sr=VALUE", .more = "--bind mode=VALUE"},
    {"knows_a_flag", BOOL_INPUT, .then_is_bad = true, .fails = KILN_ERR_SHAPE,
     .text = "depends on graph input 'flag', so fix its value with --bind flag=0"},
    {"says_when_nothing_would_help", EQUAL, .then_is_bad = true, .else_is_bad = true,
     .fails = KILN_ERR_SHAPE,
     .text =
         "the then_branch of If 'choice' (If); the other branch does not fit either"},
    {"looks_out_of_regions", EQUAL, .else_is_bad = true, .is_nested = true,
     .fails = KILN_ERR_SHAPE,
     .text = "depends on graph input 'sr', so fix its value with --bind sr=16000"},
    {"needs_one_branch_of_a_bound_input", EQUAL, .else_is_bad = true, .sr = 16000,
     .fails = KILN_OK},
    {"needs_one_branch_of_a_hint", EQUAL, .else_is_bad = true, .sr = 16000,
     .is_hint = true, .fails = KILN_OK},
    {"refuses_the_branch_that_a_hint_takes", EQUAL, .else_is_bad = true, .sr = 8000,
     .is_hint = true, .fails = KILN_ERR_SHAPE, .text = "matmul"},
    {"folds_what_depends_on_shapes", OF_SHAPE, .else_is_bad = true, .fails = KILN_OK},
};

/* Relu, or a product that does not fit. */
static kiln_str branch(kiln_arena *a, const char *name, bool is_bad) {
    kiln_onnx_writer g;
    kiln_onnx_writer_init(&g, a, name);
    const char *const out = kiln_format(a, "%s_y", name);
    kiln_onnx_put_node(&g, is_bad ? "MatMul" : "Relu", "", is_bad ? "x,x" : "x", out);
    kiln_onnx_put_output(&g, out, KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_graph(&g);
}

static void put_condition(kiln_arena *a, kiln_onnx_writer *m, condition c) {
    static const int64_t rate[] = {16000}, two[] = {2};
    kiln_onnx_put_initializer(m, kiln_onnx_int64_tensor(a, "rate", "", rate, 1));
    kiln_onnx_put_initializer(m, kiln_onnx_int64_tensor(a, "two", "", two, 1));
    switch (c) {
    case EQUAL:
        kiln_onnx_put_node(m, "Equal", "", "sr,rate", "cond");
        break;
    case NOT_EQUAL:
        kiln_onnx_put_node(m, "Equal", "", "rate,sr", "same");
        kiln_onnx_put_node(m, "Not", "", "same", "cond");
        break;
    case BOTH_EQUAL:
        kiln_onnx_put_node(m, "Equal", "", "sr,rate", "same");
        kiln_onnx_put_node(m, "Equal", "", "mode,rate", "same2");
        kiln_onnx_put_node(m, "And", "", "same,same2", "cond");
        break;
    case BOOL_INPUT:
        kiln_onnx_put_node(m, "Identity", "", "flag", "cond");
        break;
    case OF_SHAPE:
        kiln_onnx_put_node(m, "Size", "", "x", "size");
        kiln_onnx_put_node(m, "Greater", "", "size,two", "cond");
        break;
    }
}

static void put_if(kiln_onnx_writer *g, const char *name, const char *cond,
                   const char *out, kiln_str yes, kiln_str no) {
    kiln_onnx_put_node(g, "If", name, cond, out);
    kiln_onnx_put_attr_graph(g, "then_branch", yes);
    kiln_onnx_put_attr_graph(g, "else_branch", no);
}

static kiln_str model(kiln_arena *a, const row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    kiln_onnx_put_input(&m, "sr", KILN_ONNX_INT64, "");
    kiln_onnx_put_input(&m, "mode", KILN_ONNX_INT64, "");
    kiln_onnx_put_input(&m, "flag", KILN_ONNX_BOOL, "");
    kiln_onnx_put_input(&m, "outer", KILN_ONNX_BOOL, "");
    put_condition(a, &m, r->condition);
    const kiln_str yes = branch(a, "yes", r->then_is_bad),
                   no = branch(a, "no", r->else_is_bad);
    if (r->is_nested) {
        kiln_onnx_writer g;
        kiln_onnx_writer_init(&g, a, "nest");
        put_if(&g, "choice", "cond", "nest_y", yes, no);
        kiln_onnx_put_output(&g, "nest_y", KILN_ONNX_FLOAT, NULL);
        put_if(&m, "around", "outer", "y", kiln_onnx_finish_graph(&g),
               branch(a, "plain", false));
    } else {
        put_if(&m, "choice", "cond", "y", yes, no);
    }
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, 13);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    int64_t sr = r->sr;
    const kiln_value_binding bind = {
        "sr", {kiln_type_make(KILN_I64, 0, (const int64_t[]){0}), &sr}};
    const kiln_import_options o = {.values = &bind,
                                   .n_values = r->sr != 0 && !r->is_hint,
                                   .hints = &bind,
                                   .n_hints = r->is_hint};
    const kiln_status st =
        kiln_import_onnx_bytes(&a, model(&a, r), "m.onnx", NULL, &o, &g, NULL, &err);
    if (r->fails == KILN_OK) {
        kiln_assert_status_ok(st, &err);
        assert_int_equal(kiln_graph_verify(g, &err), KILN_OK);
    } else {
        kiln_assert_fails(st, r->fails, &err, r->text);
        if (r->more != NULL)
            kiln_assert_fails(st, r->fails, &err, r->more);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("if");
}
