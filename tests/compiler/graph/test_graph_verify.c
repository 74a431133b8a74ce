/* The verifier: each way to break a graph is named, with node or value, and one fault
 * hides no other. */
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

/* Nodes: 0 'a' = relu(x), 1 'b' = add(a, c), 2 'choose' = if(cond, a) with regions
 * 'then' and 'else'. */
static const char text[] = "graph \"net\" {\n"
                           "  input %x : f32[2]\n"
                           "  input %cond : bool[]\n"
                           "  const %c : f32[2] = {1, 2}\n"
                           "  const %flag : bool[2] = {0, 1}\n"
                           "  %a = relu(%x) : f32[2] \"a\"\n"
                           "  %b = add(%a, %c) : f32[2] \"b\"\n"
                           "  %y = if(%cond, %a) {then_branch=graph \"then\" {\n"
                           "    input %p : f32[2]\n"
                           "    %q = relu(%p) : f32[2] \"inner\"\n"
                           "    output %q \"q\"\n"
                           "  }, else_branch=graph \"else\" {\n"
                           "    const %k : f32[2] = {3, 4}\n"
                           "    output %k \"k\"\n"
                           "  }} : f32[2] \"choose\"\n"
                           "  output %y \"y\"\n"
                           "  output %b \"b\"\n"
                           "  output %flag \"flag\"\n"
                           "}\n";

static kiln_graph *parse(kiln_arena *a) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "net", &g, &err),
                          &err);
    return g;
}

static kiln_value *value(kiln_graph *g, const char *name) {
    kiln_value *const v = kiln_map_get(&g->value_names, kiln_str_from(name));
    assert_non_null(v);
    return v;
}

/* ---- ways to break it ------------------------------------------------------------ */

static void swap_nodes(kiln_graph *g) {
    kiln_node *const a = g->nodes.v[0];
    g->nodes.v[0] = g->nodes.v[1];
    g->nodes.v[1] = a;
    kiln_graph_renumber(g);
}

static void drop_node(kiln_graph *g) {
    const bool keep[3] = {false, true, true};
    kiln_graph_keep_nodes(g, keep);
}

static void break_index(kiln_graph *g) { g->nodes.v[1]->index = 0; }

static void break_node_graph(kiln_graph *g) {
    g->nodes.v[1]->graph = g->nodes.v[2]->attr[0].graph;
}

static void break_def(kiln_graph *g) { value(g, "b")->def = g->nodes.v[0]; }

static void break_def_index(kiln_graph *g) { value(g, "b")->def_index = 1; }

static void lose_output(kiln_graph *g) { g->nodes.v[1]->out[0] = NULL; }

static void use_foreign_value(kiln_graph *g) {
    g->nodes.v[1]->in[0] = value(g->nodes.v[2]->attr[0].graph, "q");
}

static void use_floating_value(kiln_graph *g) { value(g, "c")->data = NULL; }

static void drop_input(kiln_graph *g) { g->nodes.v[1]->n_in = 1; }

static void clear_input(kiln_graph *g) { g->nodes.v[1]->in[0] = NULL; }

static void trail_absent_input(kiln_graph *g) { g->nodes.v[2]->in[1] = NULL; }

static void break_output_type(kiln_graph *g) { value(g, "b")->type.dim[0] = 3; }

static void break_input_type(kiln_graph *g) { value(g, "x")->type.dim[0] = 3; }

static void break_dtype(kiln_graph *g) { value(g, "c")->type.dtype = KILN_I32; }

static void break_rank(kiln_graph *g) { value(g, "x")->type.rank = 9; }

static void repeat_value_name(kiln_graph *g) { value(g, "b")->name = "a"; }

static void repeat_node_name(kiln_graph *g) { g->nodes.v[1]->name = "a"; }

static void clear_value_name(kiln_graph *g) { value(g, "c")->name = ""; }

static void break_id(kiln_graph *g) { value(g, "c")->id = 0; }

static void repeat_input(kiln_graph *g) {
    kiln_vec_push(g->arena, &g->inputs, g->inputs.v[0]);
}

static void make_input_constant(kiln_graph *g) { value(g, "x")->data = ""; }

static void list_node_output_as_input(kiln_graph *g) {
    kiln_vec_push(g->arena, &g->inputs, value(g, "a"));
}

static void list_foreign_input(kiln_graph *g) {
    g->inputs.v[0] = value(g->nodes.v[2]->attr[0].graph, "q");
}

static void break_output(kiln_graph *g) {
    g->outputs.v[0] = value(g->nodes.v[2]->attr[0].graph, "q");
}

static void drop_output_name(kiln_graph *g) { g->output_names.n--; }

static void break_bool(kiln_graph *g) {
    static const unsigned char bytes[2] = {1, 2};
    value(g, "flag")->data = bytes;
}

static void drop_region(kiln_graph *g) { g->nodes.v[2]->attr[1].graph = NULL; }

static void break_region(kiln_graph *g) {
    kiln_graph *const region = g->nodes.v[2]->attr[0].graph;
    region->nodes.v[0]->in[0] = value(g, "x");
}

static void break_region_type(kiln_graph *g) {
    kiln_graph *const region = g->nodes.v[2]->attr[1].graph;
    const int64_t three = 3;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &three);
    region->outputs.v[0] = kiln_graph_add_const(region, "k3", &t, "0123456789ab");
}

static void nest_forever(kiln_graph *g) {
    kiln_node *const n = g->nodes.v[2];
    n->attr[0].graph = g;
}

static void bound_by_float(kiln_graph *g) { value(g, "x")->count = value(g, "c"); }

static void bound_past_rank(kiln_graph *g) {
    value(g, "x")->count = kiln_graph_const_i64(g, "count", 1);
    value(g, "x")->bounded_axis = 1;
}

static void bound_by_later_value(kiln_graph *g) {
    value(g, "a")->count = value(g, "b");
}

static void break_three(kiln_graph *g) {
    break_output_type(g);
    break_region(g);
    drop_output_name(g);
}

typedef struct row {
    const char *name;
    void (*damage)(kiln_graph *g);
    kiln_status want;
    const char *message;
} row;

static row rows[] = {
    {"finds_use_before_definition", swap_nodes, KILN_ERR_ARG,
     "graph 'net' has 1 fault: node 'b' uses 'a' before node 'a' makes it"},
    {"finds_dropped_node", drop_node, KILN_ERR_ARG,
     "has 2 faults: node 'b' uses 'a', whose node 'a' is not in the graph; node "
     "'choose' uses 'a', whose node 'a' is not in the graph"},
    {"finds_stale_index", break_index, KILN_ERR_ARG,
     "node 'b' must be number 1 of its graph, is not"},
    {"finds_node_of_another_graph", break_node_graph, KILN_ERR_ARG,
     "node 'b' must be number 1 of its graph, is not"},
    {"finds_stale_definition", break_def, KILN_ERR_ARG,
     "output 0 of node 'b', 'b', must link back to it, does not"},
    {"finds_stale_definition_index", break_def_index, KILN_ERR_ARG,
     "output 0 of node 'b', 'b', must link back to it, does not"},
    {"finds_missing_output", lose_output, KILN_ERR_ARG,
     "output 0 of node 'b' is no value of the graph"},
    {"finds_value_of_another_graph", use_foreign_value, KILN_ERR_ARG,
     "node 'b' uses 'q', which belongs to another graph"},
    {"finds_value_from_nowhere", use_floating_value, KILN_ERR_ARG,
     "node 'b' uses 'c', which is no input, no constant and made by no node"},
    {"finds_missing_input", drop_input, KILN_ERR_ARG,
     "node 'b': operator 'add' takes 2 inputs, has 1"},
    {"finds_absent_required_input", clear_input, KILN_ERR_ARG, "must be given"},
    {"finds_trailing_absent_input", trail_absent_input, KILN_ERR_ARG,
     "node 'choose' must not list an absent input last"},
    {"finds_type_that_is_not_inferred", break_output_type, KILN_ERR_SHAPE,
     "graph 'net' has 1 fault: output 'b' of node 'b' must be f32[2], is f32[3]"},
    {"finds_each_type_behind_a_changed_input", break_input_type, KILN_ERR_SHAPE,
     "has 1 fault: output 'a' of node 'a' must be f32[3], is f32[2]"},
    {"finds_input_that_the_operator_refuses", break_dtype, KILN_ERR_SHAPE,
     "while inferring the type of node 'b' (add)"},
    {"finds_impossible_type", break_rank, KILN_ERR_LIMIT,
     "value 'x': rank must be in [0, 8], is 9"},
    {"finds_repeated_value_name", repeat_value_name, KILN_ERR_ARG,
     "the name 'a' must be one value's, is another's too"},
    {"finds_repeated_node_name", repeat_node_name, KILN_ERR_ARG,
     "the name 'a' must be one node's, is another's too"},
    {"finds_missing_value_name", clear_value_name, KILN_ERR_ARG, "has no name"},
    {"finds_wrong_id", break_id, KILN_ERR_ARG, "value 'c' must have the id 2, has 0"},
    {"finds_repeated_input", repeat_input, KILN_ERR_ARG,
     "input 'x' must be listed once, is listed again"},
    {"finds_constant_input", make_input_constant, KILN_ERR_ARG,
     "input 'x' must not be a constant too"},
    {"finds_input_made_by_a_node", list_node_output_as_input, KILN_ERR_ARG,
     "input 'a' must not be made by a node too"},
    {"finds_input_of_another_graph", list_foreign_input, KILN_ERR_ARG,
     "input 'q' belongs to another graph"},
    {"finds_output_of_another_graph", break_output, KILN_ERR_ARG,
     "graph output 0 uses 'q', which belongs to another graph"},
    {"finds_missing_output_name", drop_output_name, KILN_ERR_ARG,
     "a graph of 3 outputs must have as many names, has 2"},
    {"finds_bool_of_two", break_bool, KILN_ERR_ARG,
     "constant 'flag' must hold bytes 0 and 1, holds 2 at 1"},
    {"finds_missing_region", drop_region, KILN_ERR_ARG,
     "node 'choose': attribute 'else_branch' must be given"},
    {"finds_open_region", break_region, KILN_ERR_ARG,
     "region 'then_branch' of node 'choose': node 'inner' uses 'x', which belongs to "
     "another graph"},
    {"finds_region_of_other_type", break_region_type, KILN_ERR_SHAPE,
     "while inferring the type of node 'choose' (if)"},
    {"finds_endless_nesting", nest_forever, KILN_ERR_LIMIT, "regions may nest 32 deep"},
    {"finds_count_that_is_no_integer", bound_by_float, KILN_ERR_SHAPE,
     "bounded value 'x' must have a count of type i64[], has f32[2]"},
    {"finds_bound_past_the_rank", bound_past_rank, KILN_ERR_SHAPE,
     "bounded value 'x' must be bounded on an axis in [0, 1), is on 1"},
    {"finds_count_that_comes_later", bound_by_later_value, KILN_ERR_ARG,
     "bounded value 'a' uses 'b' before node 'b' makes it"},
    {"names_every_fault", break_three, KILN_ERR_SHAPE,
     "graph 'net' has 3 faults: output 'b' of node 'b' must be f32[2], is f32[3]; "
     "region 'then_branch' of node 'choose': node 'inner' uses 'x', which belongs to "
     "another graph; a graph of 3 outputs must have as many names, has 2"},
};

static void check_damage(void **state) {
    const row *const r = *state;
    kiln_arena arena = {0};
    kiln_err err = {0};
    kiln_graph *const g = parse(&arena);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    r->damage(g);
    kiln_assert_fails(kiln_graph_verify(g, &err), r->want, &err, r->message);
    kiln_arena_fini(&arena);
}

/* More faults than a message holds: they are counted, and the text is cut. */
static void check_many_faults(void **state) {
    (void)state;
    kiln_arena arena = {0};
    kiln_err err = {0};
    kiln_graph *const g = parse(&arena);
    kiln_value *x = value(g, "x");
    for (int i = 0; i < 1000; i++) {
        const kiln_node_spec spec = {
            .op = &kiln_op_relu, .name = "more", .in = &x, .n_in = 1};
        kiln_node *n = NULL;
        kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
        n->out[0]->type.dtype = KILN_F16;
    }
    kiln_assert_fails(kiln_graph_verify(g, &err), KILN_ERR_SHAPE, &err,
                      "graph 'net' has 1000 faults: output 'more' of node 'more'");
    assert_string_equal(err.text + strlen(err.text) - 3, "...");
    kiln_arena_fini(&arena);
}

int main(void) {
    kiln_test_add_rows(check_damage, rows);
    kiln_test_add("counts_more_faults_than_fit", check_many_faults, NULL);
    return kiln_test_run("verify");
}
