/* What a scan refuses: counts, sequences, types of its body; and what it costs. */
#include "compiler/graph/graph.h"

#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    const char *in;    /* the node's inputs */
    const char *attrs; /* n_state and n_scan */
    const char *body;  /* statements */
    const char *text;  /* of the refusal; NULL: accepted */
} row;

#define S "input %s : f32[2] "
#define E "input %e : f32[2] "

static row rows[] = {
    {"accepts_state_and_sequence", "%s, %x", "n_state=1, n_scan=1",
     S E "%t = add(%s, %e) output %t", NULL},
    {"accepts_captured_value", "%s, %x, %s", "n_state=1, n_scan=1",
     S E "input %k : f32[2] %t = add(%s, %k) output %t", NULL},
    {"rejects_no_sequence", "%s", "n_state=1, n_scan=0", S "output %s",
     "n_state must be >= 0, n_scan >= 1 and their sum at most the 1 inputs, are 1 and "
     "0"},
    {"rejects_counts_beyond_inputs", "%s, %x", "n_state=2, n_scan=1", S E "output %s",
     "their sum at most the 2 inputs, are 2 and 1"},
    {"rejects_body_with_fewer_inputs", "%s, %x", "n_state=1, n_scan=1", S "output %s",
     "body must take the node's 2 inputs, takes 1"},
    {"rejects_body_without_its_state", "%s, %x, %s", "n_state=2, n_scan=1",
     S E "input %k : f32[2] output %s",
     "body must give the node's 1 outputs, of which 2 are states, gives 1"},
    {"rejects_scalar_sequence", "%s, %c", "n_state=1, n_scan=1",
     S "input %e : f32[] output %s",
     "sequences must have one length on axis 0, are f32[] and f32[]"},
    {"rejects_lengths_that_differ", "%s, %x, %s", "n_state=1, n_scan=2",
     S E "input %k : f32[] output %s",
     "sequences must have one length on axis 0, are f32[3,2] and f32[2]"},
    {"rejects_element_type", "%s, %x", "n_state=1, n_scan=1",
     S "input %e : f32[3,2] output %s", "body's input 1 must be f32[2], is f32[3,2]"},
    {"rejects_state_that_changes_type", "%s, %x", "n_state=1, n_scan=1",
     S E "%t = cast(%s) {to=f64} output %t",
     "body's state 0 must be f32[2], is f64[2]"},
};

static kiln_status parse(const row *r, kiln_graph **g, kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    const char *text = kiln_format(a,
                                   "graph \"g\" { input %%s : f32[2] input %%x : "
                                   "f32[3,2] input %%c : f32[] %%y = scan(%s) "
                                   "{body=graph \"b\" { %s }, %s} output %%y }",
                                   r->in, r->body, r->attrs);
    return kiln_graph_parse(a, kiln_str_from(text), "test", g, err);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_status st = parse(r, &g, &err);
    if (r->text == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_SHAPE, &err, r->text);
}

/* Three steps of two additions each. */
static void check_cost(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(parse(&rows[0], &g, &err), &err);
    kiln_cost c;
    kiln_graph_cost(g, &c);
    assert_int_equal(c.flops, 6);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("costs_its_body_as_often_as_it_runs", check_cost, NULL);
    return kiln_test_run("scan");
}
