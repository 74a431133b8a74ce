/* Building and changing graphs: names, constants, attributes, nodes; uses, order,
 * copies, costs. */
#include <math.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

static kiln_graph *new_graph(void) { return kiln_graph_new(kiln_test_arena(), "test"); }

static kiln_value *add_input(kiln_graph *g, const char *name) {
    const int64_t dim[2] = {2, 3};
    const kiln_type t = kiln_type_make(KILN_F32, 2, dim);
    return kiln_graph_add_input(g, name, &t);
}

static kiln_node *add_unary(kiln_graph *g, const char *name, kiln_value *x) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {
        .op = &kiln_op_relu, .name = name, .in = &x, .n_in = 1};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n;
}

static kiln_node *add_binary(kiln_graph *g, const char *name, kiln_value *x,
                             kiln_value *y) {
    kiln_err err = {0};
    kiln_node *n = NULL;
    kiln_value *in[2] = {x, y};
    const kiln_node_spec spec = {.op = &kiln_op_add, .name = name, .in = in, .n_in = 2};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    return n;
}

/* ---- names ----------------------------------------------------------------------- */

static void check_names(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    assert_string_equal(add_input(g, "x")->name, "x");
    /* A fresh name is only taken by what is made with it. */
    assert_string_equal(kiln_graph_fresh_value_name(g, "x"), "x.1");
    assert_string_equal(kiln_graph_fresh_value_name(g, "x"), "x.1");
    assert_string_equal(add_input(g, "x")->name, "x.1");
    assert_string_equal(add_input(g, "x.2")->name, "x.2");
    assert_string_equal(add_input(g, "x")->name, "x.3");
    assert_string_equal(add_input(g, "x.1")->name, "x.1.1");
    assert_string_equal(add_input(g, NULL)->name, "value");
    assert_string_equal(add_input(g, "")->name, "value.1");
    kiln_value *const x = add_input(g, "in");
    const kiln_node *const first = add_unary(g, NULL, x);
    assert_string_equal(first->name, "relu");
    assert_string_equal(first->out[0]->name, "relu");
    const kiln_node *const second = add_unary(g, "relu", x);
    assert_string_equal(second->name, "relu.1");
    assert_string_equal(second->out[0]->name, "relu.1");
}

/* A hundred thousand nodes of one name: quadratic search would take minutes and hit the
 * time limit. */
static void check_many_names(void **state) {
    (void)state;
    kiln_arena arena = {0};
    kiln_graph *const g = kiln_graph_new(&arena, "many");
    kiln_value *x = add_input(g, "x");
    enum { N = 100000 };
    for (int i = 0; i < N; i++)
        x = add_unary(g, "relu", x)->out[0];
    assert_string_equal(x->name, "relu.99999");
    assert_int_equal(g->nodes.n, N);
    kiln_err err = {0};
    kiln_graph_add_output(g, x, NULL);
    kiln_assert_status_ok(kiln_graph_sort(g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_arena_fini(&arena);
}

/* ---- constants ------------------------------------------------------------------- */

typedef struct scalar_row {
    const char *name;
    kiln_dtype dtype;
    double v;
    uint64_t bits;
} scalar_row;

static scalar_row scalar_rows[] = {
    {"f32_is_rounded", KILN_F32, 0.1, 0x3dcccccd},
    {"f16_is_rounded", KILN_F16, 0.1, 0x2e66},
    {"i8_wraps", KILN_I8, 130, 0x82},
    {"i64_is_cut_towards_zero", KILN_I64, -2.9, UINT64_C(0xfffffffffffffffe)},
    {"i64_stops_at_its_largest", KILN_I64, 1e300, INT64_MAX},
    {"i64_stops_at_its_smallest", KILN_I64, -1e300, (uint64_t)INT64_MIN},
    {"i64_of_nan_is_zero", KILN_I64, (double)NAN, 0},
    {"u64_reaches_past_int64", KILN_U64, 0x1p63, UINT64_C(1) << 63},
    {"u64_stops_at_its_largest", KILN_U64, 0x1p64, UINT64_MAX},
    {"bool_is_not_zero", KILN_BOOL, 0.5, 1},
};

static void check_scalar(void **state) {
    const scalar_row *const row = *state;
    kiln_graph *const g = new_graph();
    const kiln_value *const v = kiln_graph_const_scalar(g, "c", row->dtype, row->v);
    uint64_t bits = 0;
    memcpy(&bits, v->data, kiln_dtype_bytes(row->dtype));
    assert_int_equal(bits, row->bits);
    assert_int_equal(v->type.rank, 0);
    assert_true(kiln_value_is_const(v));
}

static void check_int_constants(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    int64_t list[2] = {3, -4};
    const kiln_value *const v = kiln_graph_const_i64s(g, "list", list, 2);
    const kiln_value *const one = kiln_graph_const_i64(g, "one", list[1]);
    list[0] = list[1] = 0;
    assert_int_equal(((const int64_t *)v->data)[0], 3);
    assert_int_equal(((const int64_t *)v->data)[1], -4);
    assert_int_equal(*(const int64_t *)one->data, -4);
    const kiln_value *const none = kiln_graph_const_i64s(g, "none", NULL, 0);
    assert_true(kiln_value_is_const(none));
    assert_int_equal(kiln_type_elems(&none->type), 0);
}

/* ---- refused nodes --------------------------------------------------------------- */

/* An operator of the test's own, with an attribute of each kind. */
static const char *const modes[] = {"up", "down", NULL};
static const kiln_attr_def all_attrs[] = {
    {.name = "size", .kind = KILN_ATTR_INT, .doc = "a number", .is_required = true},
    {.name = "flag", .kind = KILN_ATTR_BOOL, .doc = "a switch", .default_i = 1},
    {.name = "alpha", .kind = KILN_ATTR_FLOAT, .doc = "a factor", .default_f = 0.5},
    {.name = "mode",
     .kind = KILN_ATTR_WORD,
     .doc = "a word",
     .default_i = 1,
     .choices = modes},
    {.name = "to", .kind = KILN_ATTR_DTYPE, .doc = "a dtype"},
    {.name = "pads", .kind = KILN_ATTR_INTS, .doc = "numbers"},
    {.name = "scales", .kind = KILN_ATTR_FLOATS, .doc = "factors"},
    {.name = "modes", .kind = KILN_ATTR_WORDS, .doc = "words", .choices = modes},
    {.name = "body", .kind = KILN_ATTR_GRAPH, .doc = "a region"},
};

static kiln_status infer_same(const kiln_node *n, kiln_type *out, kiln_err *err) {
    (void)err;
    for (int i = 0; i < n->n_out; i++)
        out[i] = n->in[0]->type;
    return KILN_OK;
}

static kiln_status infer_too_large(const kiln_node *n, kiln_type *out, kiln_err *err) {
    (void)err;
    out[0] = n->in[0]->type;
    out[0].dim[0] = KILN_MAX_ELEMS;
    return KILN_OK;
}

static const char *const in_names[] = {"x", "w", "b", NULL};
static const kiln_op_def op_all = {
    .name = "all_attrs",
    .n_in_min = 2,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 2,
    .in_names = in_names,
    .attr = all_attrs,
    .n_attr = sizeof all_attrs / sizeof all_attrs[0],
    .dtypes = KILN_DT(KILN_F32) | KILN_DT(KILN_F64),
    .infer = infer_same,
};
static const kiln_op_def op_list = {
    .name = "list", .n_in_min = 1, .n_in_max = KILN_VARIADIC, .infer = infer_same};
static const kiln_op_def op_large = {
    .name = "large", .n_in_min = 1, .n_in_max = 1, .infer = infer_too_large};

typedef struct refuse_row {
    const char *name;
    const kiln_op_def *op;
    int n_in, absent; /* absent: index of the input left out; -1: none */
    int n_out;
    kiln_dtype dtype;
    kiln_attr_arg arg[2];
    size_t n_args;
    kiln_status want;
    const char *message;
} refuse_row;

#define SIZE                                                                           \
    { .name = "size", .kind = KILN_ATTR_INT }

static refuse_row refuse_rows[] = {
    {"rejects_too_few_inputs",
     &op_all,
     1,
     -1,
     1,
     KILN_F32,
     {SIZE},
     1,
     KILN_ERR_ARG,
     "operator 'all_attrs' takes 2 to 3 inputs, has 1\n  while adding node 'n' "
     "(all_attrs)"},
    {"rejects_too_many_inputs",
     &op_all,
     4,
     -1,
     1,
     KILN_F32,
     {SIZE},
     1,
     KILN_ERR_ARG,
     "operator 'all_attrs' takes 2 to 3 inputs, has 4"},
    {"rejects_absent_required_input",
     &op_all,
     3,
     1,
     1,
     KILN_F32,
     {SIZE},
     1,
     KILN_ERR_ARG,
     "input 'w' of 'all_attrs' must be given"},
    {"rejects_absent_input_in_list",
     &op_list,
     3,
     1,
     1,
     KILN_F32,
     {SIZE},
     0,
     KILN_ERR_ARG,
     "input '1' of 'list' must be given"},
    {"rejects_empty_list",
     &op_list,
     0,
     -1,
     1,
     KILN_F32,
     {SIZE},
     0,
     KILN_ERR_ARG,
     "operator 'list' takes at least 1 inputs, has 0"},
    {"rejects_too_many_outputs",
     &op_all,
     2,
     -1,
     3,
     KILN_F32,
     {SIZE},
     1,
     KILN_ERR_ARG,
     "operator 'all_attrs' makes 1 to 2 outputs, has 3"},
    {"rejects_second_output_of_simple_row",
     &op_list,
     1,
     -1,
     2,
     KILN_F32,
     {SIZE},
     0,
     KILN_ERR_ARG,
     "operator 'list' makes 1 outputs, has 2"},
    {"rejects_missing_attribute",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE},
     0,
     KILN_ERR_ARG,
     "attribute 'size' must be given"},
    {"rejects_unknown_attribute",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {{.name = "depth", .kind = KILN_ATTR_INT}},
     1,
     KILN_ERR_ARG,
     "operator 'all_attrs' has no attribute 'depth'"},
    {"rejects_attribute_twice",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE, SIZE},
     2,
     KILN_ERR_ARG,
     "attribute 'size' is given twice"},
    {"rejects_attribute_of_other_kind",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {{.name = "size", .kind = KILN_ATTR_FLOAT}},
     1,
     KILN_ERR_ARG,
     "attribute 'size' must be of kind int, is of kind float"},
    {"rejects_word_that_is_no_choice",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE, {.name = "mode", .kind = KILN_ATTR_WORD, .word = "left"}},
     2,
     KILN_ERR_ARG,
     "attribute 'mode' must be one of 'up', 'down', is 'left'"},
    {"rejects_index_that_is_no_choice",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE, {.name = "mode", .kind = KILN_ATTR_WORD, .value.i = 2}},
     2,
     KILN_ERR_ARG,
     "attribute 'mode' must be a choice in [0, 2), is 2"},
    {"rejects_bool_of_two",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE, {.name = "flag", .kind = KILN_ATTR_BOOL, .value.i = 2}},
     2,
     KILN_ERR_ARG,
     "attribute 'flag' must be 0 or 1, is 2"},
    {"rejects_dtype_past_the_table",
     &op_all,
     2,
     -1,
     1,
     KILN_F32,
     {SIZE, {.name = "to", .kind = KILN_ATTR_DTYPE, .value.i = KILN_N_DTYPES}},
     2,
     KILN_ERR_ARG,
     "attribute 'to' must be a dtype, is 23"},
    {"rejects_dtype_that_the_row_does_not_list",
     &op_all,
     2,
     -1,
     1,
     KILN_I8,
     {SIZE},
     1,
     KILN_ERR_SHAPE,
     "input 'x' must be f32 or f64, is i8\n  while inferring the type of node 'n' "
     "(all_attrs)"},
    {"rejects_output_past_the_limit",
     &op_large,
     1,
     -1,
     1,
     KILN_F32,
     {SIZE},
     0,
     KILN_ERR_LIMIT,
     "passes that\n  while checking output 0\n  while inferring"},
};

static void check_refused(void **state) {
    refuse_row *const row = *state;
    kiln_graph *const g = new_graph();
    const int64_t dim[2] = {2, 3};
    const kiln_type t = kiln_type_make(row->dtype, 2, dim);
    kiln_value *const x = kiln_graph_add_input(g, "x", &t);
    kiln_value *in[4] = {x, x, x, x};
    if (row->absent >= 0)
        in[row->absent] = NULL;
    const kiln_node_spec spec = {.op = row->op,
                                 .name = "n",
                                 .in = in,
                                 .n_in = row->n_in,
                                 .n_out = row->n_out,
                                 .args = row->arg,
                                 .n_args = row->n_args};
    kiln_err err = {0};
    kiln_node *n = NULL;
    kiln_assert_fails(kiln_graph_add_node(g, &spec, &n, &err), row->want, &err,
                      row->message);
    assert_null(n);
    assert_int_equal(g->nodes.n, 0);
    assert_int_equal(g->values.n, 1);
}

static void check_attributes(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    kiln_value *const x = add_input(g, "x");
    kiln_value *in[3] = {x, x, NULL};
    int64_t pads[2] = {1, 2};
    double scales[1] = {0.25};
    static const char *const words[] = {"down", "up", "down"};
    const kiln_attr_arg args[] = {
        kiln_arg_words("modes", words, 3), kiln_arg_floats("scales", scales, 1),
        kiln_arg_ints("pads", pads, 2),    kiln_arg_dtype("to", KILN_I8),
        kiln_arg_word("mode", "up"),       kiln_arg_int("size", -5),
        kiln_arg_graph("body", g),
    };
    const kiln_node_spec spec = {
        .op = &op_all, .in = in, .n_in = 3, .n_out = 2, .args = args, .n_args = 7};
    kiln_node *n = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    pads[0] = 9;
    scales[0] = 9;
    assert_int_equal(n->n_in, 2); /* the trailing absent input is dropped */
    assert_string_equal(n->out[1]->name, "all_attrs_1");
    assert_int_equal(kiln_node_attr(n, "size")->i, -5);
    assert_int_equal(kiln_node_attr(n, "flag")->i, 1);
    assert_true(kiln_node_attr(n, "alpha")->f == 0.5);
    assert_int_equal(kiln_node_attr(n, "mode")->i, 0);
    assert_int_equal(kiln_node_attr(n, "to")->i, KILN_I8);
    assert_int_equal(kiln_node_attr(n, "pads")->ints[0], 1);
    assert_int_equal(kiln_node_attr(n, "pads")->n, 2);
    assert_true(kiln_node_attr(n, "scales")->floats[0] == 0.25);
    assert_int_equal(kiln_node_attr(n, "modes")->n, 3);
    assert_int_equal(kiln_node_attr(n, "modes")->ints[0], 1);
    assert_int_equal(kiln_node_attr(n, "modes")->ints[1], 0);
    assert_ptr_equal(kiln_node_attr(n, "body")->graph, g);
}

/* ---- rewriting ------------------------------------------------------------------- */

static void check_uses(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    kiln_value *const x = add_input(g, "x");
    kiln_value *const y = add_input(g, "y");
    kiln_node *const sum = add_binary(g, "sum", x, x);
    kiln_graph_add_output(g, x, "again");
    kiln_graph_add_output(g, sum->out[0], NULL);
    const int *uses = kiln_graph_count_uses(g, kiln_test_arena());
    assert_int_equal(uses[x->id], 3);
    assert_int_equal(uses[y->id], 0);
    assert_int_equal(uses[sum->out[0]->id], 1);
    kiln_graph_replace_uses(g, x, y);
    uses = kiln_graph_count_uses(g, kiln_test_arena());
    assert_int_equal(uses[x->id], 0);
    assert_int_equal(uses[y->id], 3);
    assert_ptr_equal(sum->in[1], y);
    assert_ptr_equal(g->outputs.v[0], y);
    assert_string_equal(g->output_names.v[0], "again");
}

static void check_sort(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    kiln_value *const x = add_input(g, "x");
    kiln_node *const a = add_unary(g, "a", x);
    kiln_node *const b = add_unary(g, "b", x);
    kiln_node *const c = add_unary(g, "c", x);
    kiln_node *const d = add_unary(g, "d", c->out[0]);
    /* As after a pass that inserted d, and c before it, in front of b's input. */
    b->in[0] = d->out[0];
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_sort(g, &err), &err);
    kiln_node *const want[] = {a, c, d, b};
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(g->nodes.v[i], want[i]);
        assert_int_equal(want[i]->index, i);
    }
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    c->in[0] = b->out[0];
    kiln_assert_fails(kiln_graph_sort(g, &err), KILN_ERR_PARSE, &err,
                      "nodes must not form a cycle: 'c' needs 'b' needs 'd' needs 'c'");
    assert_int_equal(g->nodes.n, 4);
}

static void check_keep(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    kiln_value *const x = add_input(g, "x");
    kiln_node *const a = add_unary(g, "a", x);
    kiln_node *const b = add_unary(g, "b", x);
    const bool keep[2] = {false, true};
    kiln_graph_keep_nodes(g, keep);
    assert_int_equal(g->nodes.n, 1);
    assert_int_equal(b->index, 0);
    assert_int_equal(a->index, -1);
    assert_string_equal(kiln_graph_fresh_node_name(g, "a"), "a.1");
}

static void check_clone(void **state) {
    (void)state;
    kiln_arena copy_arena = {0};
    kiln_arena arena = {0};
    kiln_graph *const g = kiln_graph_new(&arena, "original");
    kiln_graph *const region = kiln_graph_new(&arena, "inner");
    kiln_graph_add_output(
        region, add_unary(region, "r", add_input(region, "ri"))->out[0], "ro");
    kiln_value *const x = add_input(g, "x");
    kiln_value *in[2] = {x, kiln_graph_const_scalar(g, "c", KILN_F32, 2)};
    const int64_t pads[2] = {1, 2};
    const kiln_attr_arg args[] = {kiln_arg_int("size", 1),
                                  kiln_arg_ints("pads", pads, 2),
                                  kiln_arg_graph("body", region)};
    const kiln_node_spec spec = {
        .op = &op_all, .in = in, .n_in = 2, .args = args, .n_args = 3};
    kiln_node *n = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, &err), &err);
    kiln_graph_add_output(g, n->out[0], "out");
    g->facts |= KILN_NO_DEAD_CODE;
    const void *const data = in[1]->data;
    kiln_graph *const copy = kiln_graph_clone(&copy_arena, g);
    kiln_buf before, after;
    kiln_buf_init(&before, kiln_test_arena());
    kiln_buf_init(&after, kiln_test_arena());
    kiln_graph_print(&before, g, NULL);
    /* Only constant data is shared: give the copy its own before the original goes. */
    assert_ptr_equal(copy->values.v[in[1]->id]->data, data);
    const float two = 2;
    copy->values.v[in[1]->id]->data = &two;
    kiln_arena_fini(&arena);
    kiln_graph_print(&after, copy, NULL);
    kiln_assert_text_equal(kiln_buf_str(&after), kiln_buf_str(&before));
    kiln_assert_status_ok(kiln_graph_verify(copy, &err), &err);
    kiln_arena_fini(&copy_arena);
}

/* ---- costs ----------------------------------------------------------------------- */

static void add_region_cost(const kiln_node *n, kiln_cost *c) {
    (void)n;
    c->flops = INT64_MAX - 1;
}

static void check_costs(void **state) {
    (void)state;
    kiln_graph *const g = new_graph();
    kiln_graph *const region = new_graph();
    kiln_value *const rx = add_input(region, "rx");
    kiln_graph_add_output(region, add_unary(region, "r", rx)->out[0], NULL);
    kiln_value *const x = add_input(g, "x");
    kiln_cost c;
    kiln_node_cost(add_binary(g, "sum", x, x), &c);
    assert_int_equal(c.muladds, 0);
    assert_int_equal(c.flops, 6);
    assert_int_equal(c.bytes, 3 * 24);
    kiln_op_def large = op_all;
    large.cost = add_region_cost;
    kiln_value *in[2] = {x, x};
    const kiln_attr_arg args[] = {kiln_arg_int("size", 1),
                                  kiln_arg_graph("body", region)};
    kiln_node_spec spec = {
        .op = &op_all, .in = in, .n_in = 2, .args = args, .n_args = 2};
    kiln_node *n = NULL;
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, NULL), NULL);
    kiln_node_cost(n, &c); /* the region's: nothing of its own is known */
    assert_int_equal(c.flops, 6);
    assert_int_equal(c.bytes, 3 * 24 + 2 * 24);
    spec.op = &large;
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &n, NULL), NULL);
    kiln_graph_cost(g, &c);
    assert_int_equal(c.flops, INT64_MAX);
    assert_int_equal(c.bytes, 3 * 24 + 2 * (3 * 24 + 2 * 24));
}

int main(void) {
    kiln_test_add("names_are_fresh", check_names, NULL);
    kiln_test_add("names_stay_cheap_in_large_graphs", check_many_names, NULL);
    kiln_test_add_rows(check_scalar, scalar_rows);
    kiln_test_add("integer_constants_are_copied", check_int_constants, NULL);
    kiln_test_add_rows(check_refused, refuse_rows);
    kiln_test_add("attributes_are_copied_and_defaulted", check_attributes, NULL);
    kiln_test_add("uses_are_counted_and_replaced", check_uses, NULL);
    kiln_test_add("sort_is_stable_and_names_cycles", check_sort, NULL);
    kiln_test_add("keep_drops_and_renumbers", check_keep, NULL);
    kiln_test_add("clone_is_deep", check_clone, NULL);
    kiln_test_add("costs_add_up_and_stop_at_the_end", check_costs, NULL);
    return kiln_test_run("build");
}
