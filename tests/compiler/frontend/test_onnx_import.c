/* Import of well-formed models: what graph they become, and what the bindings do. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

typedef struct row {
    const char *name;
    kiln_str (*build)(kiln_arena *a);
    const kiln_shape_binding *shapes;
    size_t n_shapes;
    bool binds_n;         /* graph input 'n' is fixed to {2, 3} */
    bool hints_n;         /* the same as a hint */
    const char *want[4];  /* parts of the graph's text; NULL: no more */
    const char *lacks[2]; /* parts that must not be in it */
} row;

static const float some[4] = {1.0f, -2.0f, 0.5f, 4.0f};
static const int64_t two_three[2] = {2, 3};

static kiln_str relu(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* The nodes stand in the file in the wrong order. */
static kiln_str unsorted(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_node(&m, "Exp", "last", "h", "y");
    kiln_onnx_put_node(&m, "Neg", "middle", "k", "h");
    kiln_onnx_put_node(&m, "Relu", "first", "x", "k");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

static kiln_str dynamic(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "N,3");
    kiln_onnx_put_input(&m, "z", KILN_ONNX_FLOAT, "N,1");
    kiln_onnx_put_node(&m, "Add", "a", "x,z", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "N,M");
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* reshape(x, [shape(x)[1], -1]): shape arithmetic as exporters write it. */
static kiln_str shape_arithmetic(kiln_arena *a) {
    static const int64_t one[] = {1}, rest[] = {-1};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3,4");
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "one", "1", one, 1));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "rest", "1", rest, 1));
    kiln_onnx_put_node(&m, "Shape", "s", "x", "dims");
    kiln_onnx_put_node(&m, "Gather", "g", "dims,one", "dim");
    kiln_onnx_put_node(&m, "Concat", "c", "dim,rest", "target");
    kiln_onnx_put_attr_int(&m, "axis", 0);
    kiln_onnx_put_node(&m, "Reshape", "r", "x,target", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, 13);
}

static kiln_str shape_slice(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3,4");
    kiln_onnx_put_node(&m, "Shape", "s", "x", "y");
    kiln_onnx_put_attr_int(&m, "start", -2);
    kiln_onnx_put_attr_int(&m, "end", 9);
    kiln_onnx_put_node(&m, "Size", "n", "x", "n");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_INT64, "2");
    kiln_onnx_put_output(&m, "n", KILN_ONNX_INT64, "");
    return kiln_onnx_finish_model(&m, 8, 15);
}

/* reshape(x, n), where n is a graph input. */
static kiln_str reshape_by_input(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "6");
    kiln_onnx_put_input(&m, "n", KILN_ONNX_INT64, "2");
    kiln_onnx_put_node(&m, "Reshape", "r", "x,n", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* Weights listed among the inputs, as IR version 3 asks. */
static kiln_str old_weights(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,2");
    kiln_onnx_put_input(&m, "w", KILN_ONNX_FLOAT, "2,2");
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(a, "w", KILN_ONNX_FLOAT, "2,2", some, sizeof some));
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(a, "unused", "4", some, 4));
    kiln_onnx_put_node(&m, "MatMul", "", "x,w", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,2");
    return kiln_onnx_finish_model(&m, 3, 9);
}

static kiln_onnx_writer branch(kiln_arena *a, const char *op, const char *in) {
    kiln_onnx_writer g;
    kiln_onnx_writer_init(&g, a, op);
    kiln_onnx_put_node(&g, op, "inner", in, "o");
    kiln_onnx_put_output(&g, "o", KILN_ONNX_FLOAT, "2");
    return g;
}

static void put_branches(kiln_onnx_writer *m, kiln_arena *a) {
    kiln_onnx_writer yes = branch(a, "Add", "h,w"), no = branch(a, "Relu", "h");
    kiln_onnx_put_attr_graph(m, "then_branch", kiln_onnx_finish_graph(&yes));
    kiln_onnx_put_attr_graph(m, "else_branch", kiln_onnx_finish_graph(&no));
}

static kiln_str if_model(kiln_arena *a, bool is_const) {
    static const int32_t yes[] = {1};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    if (is_const)
        kiln_onnx_put_initializer(
            &m, kiln_onnx_int32_tensor(a, "b", KILN_ONNX_BOOL, "1", yes, 1));
    else
        kiln_onnx_put_input(&m, "b", KILN_ONNX_BOOL, "1");
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(a, "w", "2", some, 2));
    kiln_onnx_put_node(&m, "If", "choice", "b", "y");
    put_branches(&m, a);
    kiln_onnx_put_node(&m, "Exp", "e", "x", "h"); /* behind its user, who captures it */
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

static kiln_str if_dynamic(kiln_arena *a) { return if_model(a, false); }
static kiln_str if_constant(kiln_arena *a) { return if_model(a, true); }

/* y = my.Twice(x; slope), which calls my.Once twice: leaky_relu(u) + u. */
static kiln_str functions(kiln_arena *a) {
    kiln_onnx_writer m, once, twice;
    kiln_onnx_writer_init(&once, a, "");
    kiln_onnx_put_node(&once, "LeakyRelu", "leak", "u", "h");
    kiln_onnx_put_attr_ref(&once, "alpha", "slope", 1);
    kiln_onnx_put_node(&once, "Add", "sum", "h,u", "v");
    kiln_onnx_writer_init(&twice, a, "");
    kiln_onnx_put_node(&twice, "Once", "first", "u", "t");
    kiln_onnx_put_domain(&twice, "my");
    kiln_onnx_put_attr_ref(&twice, "slope", "slope", 1);
    kiln_onnx_put_node(&twice, "Once", "second", "t", "v");
    kiln_onnx_put_domain(&twice, "my");
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_function(&m, &once, "my", "Once", "u", "v", "slope", 13);
    kiln_onnx_put_function(&m, &twice, "my", "Twice", "u", "v", "slope", 13);
    kiln_onnx_put_opset(&m, "my", 1);
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_node(&m, "Twice", "call", "x", "y");
    kiln_onnx_put_domain(&m, "my");
    kiln_onnx_put_attr_float(&m, "slope", 0.25f);
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

static kiln_str constants(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_node(&m, "Constant", "c1", "", "f");
    kiln_onnx_put_attr_float(&m, "value_float", 0.5f);
    kiln_onnx_put_node(&m, "Constant", "c2", "", "i");
    kiln_onnx_put_attr_ints(&m, "value_ints", two_three, 2);
    kiln_onnx_put_node(&m, "Mul", "m", "x,f", "y");
    kiln_onnx_put_node(&m, "Identity", "id", "i", "k");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_output(&m, "k", KILN_ONNX_INT64, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* Running sums of the rows of x. */
static kiln_str scan(kiln_arena *a) {
    kiln_onnx_writer m, body;
    kiln_onnx_writer_init(&body, a, "body");
    kiln_onnx_put_input(&body, "sum", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_input(&body, "row", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_node(&body, "Add", "add", "sum,row", "next");
    kiln_onnx_put_node(&body, "Identity", "id", "next", "out");
    kiln_onnx_put_output(&body, "next", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_output(&body, "out", KILN_ONNX_FLOAT, "2");
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "start", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "3,2");
    kiln_onnx_put_node(&m, "Scan", "scan", "start,x", "last,sums");
    kiln_onnx_put_attr_int(&m, "num_scan_inputs", 1);
    kiln_onnx_put_attr_graph(&m, "body", kiln_onnx_finish_graph(&body));
    kiln_onnx_put_output(&m, "last", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_output(&m, "sums", KILN_ONNX_FLOAT, "3,2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* Twice x + step, as the trip count says. */
static kiln_str loop(kiln_arena *a) {
    static const int64_t two[] = {2};
    kiln_onnx_writer m, body;
    kiln_onnx_writer_init(&body, a, "body");
    kiln_onnx_put_input(&body, "i", KILN_ONNX_INT64, "");
    kiln_onnx_put_input(&body, "go", KILN_ONNX_BOOL, "");
    kiln_onnx_put_input(&body, "v", KILN_ONNX_INT64, "2");
    kiln_onnx_put_node(&body, "Add", "add", "v,i", "w");
    kiln_onnx_put_node(&body, "Identity", "id", "go", "still");
    kiln_onnx_put_output(&body, "still", KILN_ONNX_BOOL, "");
    kiln_onnx_put_output(&body, "w", KILN_ONNX_INT64, "2");
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_INT64, "2");
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "n", "", two, 1));
    kiln_onnx_put_node(&m, "Loop", "loop", "n,,x", "y");
    kiln_onnx_put_attr_graph(&m, "body", kiln_onnx_finish_graph(&body));
    kiln_onnx_put_output(&m, "y", KILN_ONNX_INT64, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

/* At most four times x + step, as long as the sum is below 10; `gathers`: every step's. */
static kiln_str bounded_loop(kiln_arena *a, bool gathers) {
    static const int64_t four[] = {4}, ten[] = {10};
    kiln_onnx_writer m, body;
    kiln_onnx_writer_init(&body, a, "body");
    kiln_onnx_put_input(&body, "i", KILN_ONNX_INT64, "");
    kiln_onnx_put_input(&body, "go", KILN_ONNX_BOOL, "");
    kiln_onnx_put_input(&body, "v", KILN_ONNX_INT64, "2");
    kiln_onnx_put_node(&body, "Add", "add", "v,i", "w");
    kiln_onnx_put_node(&body, "ReduceSum", "sum", "w", "s");
    kiln_onnx_put_attr_int(&body, "keepdims", 0);
    kiln_onnx_put_node(&body, "Less", "less", "s,ten", "still");
    kiln_onnx_put_output(&body, "still", KILN_ONNX_BOOL, "");
    kiln_onnx_put_output(&body, "w", KILN_ONNX_INT64, "2");
    if (gathers)
        kiln_onnx_put_output(&body, "s", KILN_ONNX_INT64, "");
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_INT64, "2");
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "n", "", four, 1));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "ten", "", ten, 1));
    kiln_onnx_put_node(&m, "Loop", "loop", "n,,x", gathers ? "y,all" : "y");
    kiln_onnx_put_attr_graph(&m, "body", kiln_onnx_finish_graph(&body));
    kiln_onnx_put_output(&m, "y", KILN_ONNX_INT64, "2");
    return kiln_onnx_finish_model(&m, 8, 13);
}

static void data_may_end_a_loop(void **state) {
    (void)state;
    static const struct {
        int64_t x[2], want[2];
    } cases[] = {
        {{0, 0}, {6, 6}}, {{4, 4}, {5, 5}}, {{20, 0}, {20, 0}}, {{3, 2}, {6, 5}}};
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import_onnx_bytes(a, bounded_loop(a, false), "m.onnx",
                                                 NULL, NULL, &g, NULL, &err),
                          &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t x[2] = {cases[i].x[0], cases[i].x[1]};
        const kiln_tensor in = {g->inputs.v[0]->type, x};
        kiln_tensor y;
        kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &y, &err), &err);
        assert_memory_equal(y.data, cases[i].want, sizeof cases[i].want);
    }
    kiln_assert_fails(kiln_import_onnx_bytes(a, bounded_loop(a, true), "m.onnx", NULL,
                                             NULL, &g, NULL, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "a loop that data may end must have no scan outputs");
}

static const kiln_shape_binding bind_x[] = {{"x", 2, {4, 3}}};

static row rows[] = {
    {"names_and_types_come_from_the_file", relu,
     .want = {"graph \"g\"", "input %x : f32[2,3]", "%y = relu(%x) : f32[2,3] \"r\"",
              "output %y \"y\""}},
    {"nodes_are_sorted", unsorted,
     .want =
         {"%k = relu(%x) : f32[2] \"first\"\n  %h = neg(%k) : f32[2] \"middle\"\n  %y "
          "= exp(%h)"}},
    {"a_dimension_bound_once_is_bound_everywhere", dynamic, bind_x, 1,
     .want = {"input %x : f32[4,3]", "input %z : f32[4,1]", "f32[4,3] \"a\""}},
    {"shape_arithmetic_is_folded", shape_arithmetic,
     .want = {"%y = reshape(%x) {shape=[3, 8]} : f32[3,8] \"r\""},
     .lacks = {"gather", "concat"}},
    {"shape_has_start_and_end", shape_slice, .want = {"i64[2]", "{3, 4}", "{24}"},
     .lacks = {"shape("}},
    {"a_bound_input_becomes_a_constant", reshape_by_input, .binds_n = true,
     .want = {"reshape(%x) {shape=[2, 3]} : f32[2,3]"}, .lacks = {"input %n"}},
    {"a_hinted_input_stays_an_input", reshape_by_input, .hints_n = true,
     .want = {"reshape(%x) {shape=[2, 3]} : f32[2,3]", "input %n : i64[2]"}},
    {"weights_are_no_inputs", old_weights,
     .want = {"%y = matmul(%x, %w) {trans_b=false} : f32[2,2]"},
     .lacks = {"input %w", "unused"}},
    {"if_becomes_two_regions", if_dynamic,
     .want = {"then_branch=graph", "add(%h, %w)", "else_branch=graph", "relu(%h)"}},
    {"a_constant_if_is_inlined", if_constant,
     .want = {"%y = add(%h, %w) : f32[2] \"choice/inner\""},
     .lacks = {"then_branch", "relu"}},
    {"functions_are_inlined_with_their_attributes", functions,
     .want = {"leaky_relu(%x) {alpha=0x1p-2} : f32[2] \"call/first/leak\"",
              "\"call/second/leak\"", "\"call/second/sum\"", "output %y \"y\""}},
    {"scan_keeps_its_body", scan,
     .want = {"scan(%start, %x)", "n_state=1, n_scan=1", "add(%sum, %row)",
              ": f32[2], f32[3,2] \"scan\""}},
    {"loop_is_unrolled", loop,
     .want = {"\"loop/0/add\"", "\"loop/1/add\"", "output %y \"y\""},
     .lacks = {"loop/2/"}},
    {"constants_have_all_forms", constants,
     .want = {"%y = mul(%x, %f)", "output %i \"k\""}},
};

static char *print(kiln_arena *a, const kiln_graph *g) {
    const kiln_print_options o = {0};
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_graph_print(&b, g, &o);
    return b.p;
}

static void check_import(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report;
    kiln_graph *g = NULL;
    const int64_t dim[1] = {2};
    const kiln_type type = kiln_type_make(KILN_I64, 1, dim);
    kiln_value_binding n = {"n", kiln_tensor_new(&a, &type)};
    memcpy(n.value.data, two_three, sizeof two_three);
    const kiln_import_options o = {.shapes = r->shapes,
                                   .n_shapes = r->n_shapes,
                                   .values = &n,
                                   .n_values = r->binds_n,
                                   .hints = &n,
                                   .n_hints = r->hints_n};
    const kiln_status st =
        kiln_import_onnx_bytes(&a, r->build(&a), "m.onnx", NULL, &o, &g, &report, &err);
    if (st != KILN_OK)
        fail_msg("%s", err.text);
    if (kiln_graph_verify(g, &err) != KILN_OK)
        fail_msg("%s", err.text);
    const char *const text = print(&a, g);
    for (size_t i = 0; i < 4 && r->want[i] != NULL; i++)
        if (strstr(text, r->want[i]) == NULL)
            fail_msg("'%s' is not in:\n%s", r->want[i], text);
    for (size_t i = 0; i < 2 && r->lacks[i] != NULL; i++)
        if (strstr(text, r->lacks[i]) != NULL)
            fail_msg("'%s' should not be in:\n%s", r->lacks[i], text);
    assert_string_equal(report.format, "onnx");
    assert_string_equal(report.producer, "kiln");
    kiln_arena_fini(&a);
}

/* Unknown operators, also inside subgraphs and functions, are all listed at once. */
static void lists_unknown_operators(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_onnx_writer m, body, yes, no;
    kiln_onnx_writer_init(&body, &a, "");
    kiln_onnx_put_node(&body, "Frobnicate", "deep", "u", "v");
    yes = branch(&a, "Frobnicate", "x");
    no = branch(&a, "Relu", "x");
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_function(&m, &body, "my", "F", "u", "v", "", 13);
    kiln_onnx_put_opset(&m, "my", 1);
    kiln_onnx_put_opset(&m, "com.example", 2);
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    kiln_onnx_put_input(&m, "b", KILN_ONNX_BOOL, "");
    kiln_onnx_put_node(&m, "Mystery", "", "x", "p");
    kiln_onnx_put_domain(&m, "com.example");
    kiln_onnx_put_node(&m, "If", "choice", "b", "q");
    kiln_onnx_put_attr_graph(&m, "then_branch", kiln_onnx_finish_graph(&yes));
    kiln_onnx_put_attr_graph(&m, "else_branch", kiln_onnx_finish_graph(&no));
    kiln_onnx_put_node(&m, "F", "call", "p", "y");
    kiln_onnx_put_domain(&m, "my");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    assert_int_equal(kiln_import_onnx_bytes(&a, kiln_onnx_finish_model(&m, 8, 13),
                                            "m.onnx", NULL, NULL, &g, &report, &err),
                     KILN_ERR_UNSUPPORTED);
    assert_null(g);
    assert_int_equal(report.unsupported.n, 2);
    assert_string_equal(report.unsupported.v[0].op, "com.example.Mystery-2");
    assert_string_equal(report.unsupported.v[0].first_node, "#0");
    assert_string_equal(report.unsupported.v[1].op, "Frobnicate-13");
    assert_string_equal(report.unsupported.v[1].first_node, "inner");
    assert_int_equal(report.unsupported.v[1].count, 2);
    assert_int_equal(report.opset, 13);
    assert_non_null(strstr(err.text,
                           "2 operators are not read: com.example.Mystery-2 (1 "
                           "time, first in node '#0'; kiln has it at no opset), "
                           "Frobnicate-13 (2 times, first in node 'inner'; kiln has "
                           "it at no opset); no other opset has them for kiln: export "
                           "without them"));
    kiln_arena_fini(&a);
}

/* What helps depends on whether kiln has the operators at another opset. */
typedef struct remedy_row {
    const char *name;
    const char *op[2];
    const char *text;
} remedy_row;

static remedy_row remedy_rows[] = {
    {"another_opset_for_what_is_known_at_one",
     {"Gelu", "Mish"},
     "read from opset 18 on); export with another opset\n"},
    {"no_other_opset_for_what_is_known_at_none",
     {"Frobnicate"},
     "no other opset has them for kiln: export without them\n"},
    {"both_where_both_are",
     {"Frobnicate", "Gelu"},
     "export with another opset, and without those that kiln has at none\n"},
    {"a_reason_where_there_is_one", {"StringConcat"}, "; kiln has no strings)"},
};

static void check_remedy(void **state) {
    const remedy_row *const r = *state;
    kiln_arena a = {0};
    kiln_onnx_writer m;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    for (int i = 0; i < 2 && r->op[i] != NULL; i++)
        kiln_onnx_put_node(&m, r->op[i], "", i == 0 ? "x" : "y0", i == 0 ? "y0" : "y1");
    kiln_onnx_put_output(&m, "y0", KILN_ONNX_FLOAT, NULL);
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 13);
    kiln_assert_fails(
        kiln_import_onnx_bytes(&a, bytes, "m.onnx", NULL, NULL, &g, NULL, &err),
        KILN_ERR_UNSUPPORTED, &err, r->text);
    kiln_arena_fini(&a);
}

/* A file that asks for what cannot be is bad input, not a wrong call of kiln. */
static void calls_a_bad_index_the_files_fault(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3};
    static const int64_t index[] = {3};
    kiln_arena a = {0};
    kiln_onnx_writer m;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(&a, "x", "3", x, 3));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(&a, "i", "1", index, 1));
    kiln_onnx_put_node(&m, "Gather", "pick", "x,i", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 13);
    kiln_assert_fails(
        kiln_import_onnx_bytes(&a, bytes, "m.onnx", NULL, NULL, &g, NULL, &err),
        KILN_ERR_SHAPE, &err, "index 3 in input 'indices' is outside [-3, 3)");
    kiln_arena_fini(&a);
}

/* Types whose elements lie in int32_data and friends, and raw data at odd addresses. */
static void reads_tensors_of_every_kind(void **state) {
    (void)state;
    static const int32_t half[] = {0x3c00, 0xc000}, bits[] = {7, 0};
    kiln_arena a = {0};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_initializer(
        &m, kiln_onnx_int32_tensor(&a, "h", KILN_ONNX_FLOAT16, "2", half, 2));
    kiln_onnx_put_initializer(
        &m, kiln_onnx_int32_tensor(&a, "b", KILN_ONNX_BOOL, "2", bits, 2));
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(&a, "odd", KILN_ONNX_FLOAT, "2,2", some, 16));
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(&a, "none", KILN_ONNX_FLOAT, "0,2", NULL, 0));
    kiln_onnx_put_output(&m, "h", KILN_ONNX_FLOAT16, "2");
    kiln_onnx_put_output(&m, "b", KILN_ONNX_BOOL, "2");
    kiln_onnx_put_output(&m, "odd", KILN_ONNX_FLOAT, "2,2");
    kiln_onnx_put_output(&m, "none", KILN_ONNX_FLOAT, "0,2");
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 13);
    for (size_t shift = 0; shift < 4; shift++) {
        char *const copy = kiln_arena_alloc(&a, bytes.n + shift);
        memcpy(copy + shift, bytes.p, bytes.n);
        kiln_graph *g = NULL;
        kiln_err err = {0};
        const kiln_str at = {copy + shift, bytes.n};
        if (kiln_import_onnx_bytes(&a, at, "m.onnx", NULL, NULL, &g, NULL, &err) !=
            KILN_OK)
            fail_msg("%s", err.text);
        const uint16_t *const h = g->outputs.v[0]->data;
        const unsigned char *const b = g->outputs.v[1]->data;
        assert_int_equal(h[0], 0x3c00);
        assert_int_equal(h[1], 0xc000);
        assert_int_equal(b[0], 1);
        assert_int_equal(b[1], 0);
        assert_memory_equal(g->outputs.v[2]->data, some, sizeof some);
        assert_int_equal(kiln_type_elems(&g->outputs.v[3]->type), 0);
    }
    kiln_arena_fini(&a);
}

/* Elements of 4 and 2 bits, first ones lowest, in raw_data and int32_data; 8-bit floats
 * as they are. */
static void unpacks_low_bit_types(void **state) {
    (void)state;
    enum { F8 = 17, U4 = 21, I4 = 22, F4 = 23, U2 = 25, I2 = 26 };
    static const unsigned char nibbles[] = {0xA7, 0x0F}, fp8[] = {0x7E, 0xFF};
    static const int32_t two[] = {0xB4, 0x02};
    static const struct {
        int n;
        signed char want[5];
    } cases[] = {{3, {7, -6, -1}},        {3, {7, 10, 15}},     {3, {7, 10, 15}},
                 {5, {0, 1, -1, -2, -2}}, {5, {0, 1, 3, 2, 2}}, {2, {0x7E, -1}}};
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "i4", I4, "3", nibbles, 2));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "u4", U4, "3", nibbles, 2));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "f4", F4, "3", nibbles, 2));
    kiln_onnx_put_initializer(&m, kiln_onnx_int32_tensor(&a, "i2", I2, "5", two, 2));
    kiln_onnx_put_initializer(&m, kiln_onnx_int32_tensor(&a, "u2", U2, "5", two, 2));
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "f8", F8, "2", fp8, 2));
    kiln_onnx_put_output(&m, "i4", I4, "3");
    kiln_onnx_put_output(&m, "u4", U4, "3");
    kiln_onnx_put_output(&m, "f4", F4, "3");
    kiln_onnx_put_output(&m, "i2", I2, "5");
    kiln_onnx_put_output(&m, "u2", U2, "5");
    kiln_onnx_put_output(&m, "f8", F8, "2");
    const kiln_str bytes = kiln_onnx_finish_model(&m, 14, 27); /* the newest of both */
    kiln_assert_status_ok(
        kiln_import_onnx_bytes(&a, bytes, "m.onnx", NULL, NULL, &g, NULL, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(kiln_type_elems(&g->outputs.v[i]->type), cases[i].n);
        assert_memory_equal(g->outputs.v[i]->data, cases[i].want, (size_t)cases[i].n);
    }
    kiln_arena_fini(&a);
}

/* kiln_import_inputs says what a caller must supply. */
static void lists_declared_inputs(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_declared_input *in = NULL;
    size_t n = 0;
    const char *const path = kiln_path_join(&a, kiln_test_dir(), "dynamic.onnx");
    const kiln_str bytes = dynamic(&a);
    if (kiln_file_write(path, bytes.p, bytes.n, &err) != KILN_OK ||
        kiln_import_inputs(&a, path, &in, &n, &err) != KILN_OK)
        fail_msg("%s", err.text);
    assert_int_equal(n, 2);
    assert_string_equal(in[0].name, "x");
    assert_true(in[0].has_type);
    assert_int_equal(in[0].rank, 2);
    assert_int_equal(in[0].dim[0], -1);
    assert_int_equal(in[0].dim[1], 3);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("data_may_end_a_loop", data_may_end_a_loop, NULL);
    kiln_test_add_rows(check_import, rows);
    kiln_test_add("lists_unknown_operators", lists_unknown_operators, NULL);
    kiln_test_add_rows(check_remedy, remedy_rows);
    kiln_test_add("calls_a_bad_index_the_files_fault",
                  calls_a_bad_index_the_files_fault, NULL);
    kiln_test_add("reads_tensors_of_every_kind", reads_tensors_of_every_kind, NULL);
    kiln_test_add("unpacks_low_bit_types", unpacks_low_bit_types, NULL);
    kiln_test_add("lists_declared_inputs", lists_declared_inputs, NULL);
    return kiln_test_run("onnx_import");
}
