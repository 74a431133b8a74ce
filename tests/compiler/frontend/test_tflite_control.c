/* Subgraphs of TensorFlow Lite: IF with a condition that is known or not, WHILE with a
 * number of runs that is known or not, subgraphs that hold themselves. */
#include "compiler/reference/reference.h"
#include "tests/support/import/tflite_run.h"

enum { ADD = 0, MUL = 18, LESS = 58, LOGICAL_AND = 86, IF = 118, WHILE = 119 };

static const int32_t one[] = {1};

static int float_tensor(kiln_tfw *m, const char *name) {
    return kiln_tfw_tensor(m, name, KILN_TFW_F32, 1, one, NULL, 0);
}

static int float_const(kiln_tfw *m, float v) {
    return kiln_tfw_tensor(m, "k", KILN_TFW_F32, 1, one, &v, sizeof v);
}

static int int_const(kiln_tfw *m, int32_t v) {
    return kiln_tfw_tensor(m, "n", KILN_TFW_I32, 0, NULL, &v, sizeof v);
}

static int int_tensor(kiln_tfw *m, const char *name) {
    return kiln_tfw_tensor(m, name, KILN_TFW_I32, 0, NULL, NULL, 0);
}

static int bool_tensor(kiln_tfw *m) {
    return kiln_tfw_tensor(m, "c", KILN_TFW_BOOL, 0, NULL, NULL, 0);
}

static void two_in(kiln_tfw *m, int code, int x, int y, int out) {
    kiln_tfw_op(m, code, NULL, 2, (const int32_t[]){x, y}, 1, (const int32_t[]){out});
}

/* x op v as a subgraph of its own. */
static void branch(kiln_tfw *m, int code, float v) {
    kiln_tfw_next_subgraph(m);
    const int x = float_tensor(m, "x"), y = float_tensor(m, "y");
    kiln_tfw_input(m, x);
    kiln_tfw_output(m, y);
    two_in(m, code, x, float_const(m, v), y);
}

static kiln_status read(kiln_tfw *m, kiln_graph **g, kiln_err *err) {
    const kiln_status st =
        kiln_import(kiln_test_arena(), kiln_test_tflite_file(kiln_tfw_write(m)), NULL,
                    g, NULL, err);
    if (st == KILN_OK)
        kiln_assert_status_ok(kiln_graph_verify(*g, err), err);
    return st;
}

static float run(const kiln_graph *g, float x, bool c) {
    kiln_err err = {0};
    kiln_tensor out;
    const kiln_tensor in[] = {
        {g->inputs.v[0]->type, &x},
        {g->inputs.n > 1 ? g->inputs.v[1]->type : g->inputs.v[0]->type, &c}};
    kiln_assert_status_ok(
        kiln_ref_run(kiln_test_arena(), g, in, g->inputs.n, &out, &err), &err);
    return *(const float *)out.data;
}

/* ---- IF ----------------------------------------------------------------------------- */

/* is_known: the condition is a constant, true. */
static kiln_tfw if_model(bool is_known) {
    static const char yes = 1;
    kiln_tfw m = kiln_tfw_begin();
    const int x = float_tensor(&m, "x"), y = float_tensor(&m, "y");
    const int c = is_known ? kiln_tfw_tensor(&m, "c", KILN_TFW_BOOL, 0, NULL, &yes, 1)
                           : bool_tensor(&m);
    kiln_tfw_input(&m, x);
    if (!is_known)
        kiln_tfw_input(&m, c);
    kiln_tfw_output(&m, y);
    kiln_fbw_table *const o =
        kiln_tfw_op(&m, IF, NULL, 2, (const int32_t[]){c, x}, 1, (const int32_t[]){y});
    kiln_fbw_int(o, 0, 4, 1);
    kiln_fbw_int(o, 1, 4, 2);
    branch(&m, ADD, 10);
    branch(&m, MUL, 3);
    return m;
}

static void a_condition_that_is_not_known(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = if_model(false);
    kiln_assert_status_ok(read(&m, &g, &err), &err);
    assert_int_equal(g->nodes.n, 1);
    assert_float_equal(run(g, 2, true), 12, 0);
    assert_float_equal(run(g, 2, false), 6, 0);
}

static void a_condition_that_is_known(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = if_model(true);
    kiln_assert_status_ok(read(&m, &g, &err), &err);
    assert_ptr_equal(g->nodes.v[0]->op, &kiln_op_add);
    assert_float_equal(run(g, 2, true), 12, 0);
}

/* ---- WHILE -------------------------------------------------------------------------- */

/* while (i < limit) { i += 1; x *= 2 }, from a constant or from an input; `most` above
 * 0: while (i < limit and x < most). */
static kiln_tfw while_model(int32_t limit, bool is_known, float most) {
    kiln_tfw m = kiln_tfw_begin();
    const int x = float_tensor(&m, "x"), y = float_tensor(&m, "y");
    const int from = is_known ? int_const(&m, 0) : int_tensor(&m, "from");
    const int last = int_tensor(&m, "last");
    kiln_tfw_input(&m, x);
    if (!is_known)
        kiln_tfw_input(&m, from);
    kiln_tfw_output(&m, y);
    kiln_fbw_table *const o = kiln_tfw_op(
        &m, WHILE, NULL, 2, (const int32_t[]){from, x}, 2, (const int32_t[]){last, y});
    kiln_fbw_int(o, 0, 4, 1);
    kiln_fbw_int(o, 1, 4, 2);
    for (int body = 0; body < 2; body++) {
        kiln_tfw_next_subgraph(&m);
        const int i = int_tensor(&m, "i"), v = float_tensor(&m, "v");
        kiln_tfw_input(&m, i);
        kiln_tfw_input(&m, v);
        const int n = body ? int_tensor(&m, "next") : bool_tensor(&m);
        two_in(&m, body ? ADD : LESS, i, int_const(&m, body ? 1 : limit), n);
        if (!body && most > 0) {
            const int less = bool_tensor(&m), both = bool_tensor(&m);
            two_in(&m, LESS, v, float_const(&m, most), less);
            two_in(&m, LOGICAL_AND, n, less, both);
            kiln_tfw_output(&m, both);
            continue;
        }
        kiln_tfw_output(&m, n);
        if (!body)
            continue;
        const int w = float_tensor(&m, "w");
        two_in(&m, MUL, v, float_const(&m, 2), w);
        kiln_tfw_output(&m, w);
    }
    return m;
}

static void a_loop_is_written_out(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = while_model(3, true, 0);
    kiln_assert_status_ok(read(&m, &g, &err), &err);
    assert_int_equal(g->nodes.n, 3);
    assert_float_equal(run(g, 1.5F, false), 12, 0);
}

static void data_may_end_a_loop(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = while_model(4, true, 10);
    kiln_assert_status_ok(read(&m, &g, &err), &err);
    assert_float_equal(run(g, 1, false), 16, 0);
    assert_float_equal(run(g, 3, false), 12, 0);
    assert_float_equal(run(g, 10, false), 10, 0);
    assert_float_equal(run(g, .125F, false), 2, 0);
    m = while_model(2000, true, 10);
    kiln_assert_fails(read(&m, &g, &err), KILN_ERR_LIMIT, &err,
                      "the loop runs more than 1024 times; at most so many are written "
                      "out of one that data may end");
}

static void a_loop_of_no_known_length(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = while_model(3, false, 0);
    kiln_assert_fails(read(&m, &g, &err), KILN_ERR_UNSUPPORTED, &err,
                      "input 'condition' must be a constant, it depends on graph input "
                      "'from'; fix its value with --bind from=...\n"
                      "  while looking how often the loop runs");
}

static void a_loop_without_end(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = while_model(INT32_MAX, true, 0);
    kiln_assert_fails(read(&m, &g, &err), KILN_ERR_LIMIT, &err,
                      "the loop runs more than 4096 times");
}

/* ---- what is refused ---------------------------------------------------------------- */

static void a_subgraph_that_is_not_there(void **state) {
    static const char yes = 1;
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = kiln_tfw_begin();
    const int x = float_tensor(&m, "x");
    const int c = kiln_tfw_tensor(&m, "c", KILN_TFW_BOOL, 0, NULL, &yes, 1);
    kiln_tfw_input(&m, x);
    const int y = float_tensor(&m, "y");
    kiln_tfw_output(&m, y);
    kiln_fbw_int(
        kiln_tfw_op(&m, IF, NULL, 2, (const int32_t[]){c, x}, 1, (const int32_t[]){y}),
        0, 4, 7);
    kiln_assert_fails(read(&m, &g, &err), KILN_ERR_PARSE, &err,
                      "the file has no subgraph 7 for an operator");
}

static void a_subgraph_that_holds_itself(void **state) {
    static const char yes = 1;
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_tfw m = kiln_tfw_begin();
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            kiln_tfw_next_subgraph(&m);
        const int x = float_tensor(&m, "x"), y = float_tensor(&m, "y");
        const int c = kiln_tfw_tensor(&m, "c", KILN_TFW_BOOL, 0, NULL, &yes, 1);
        kiln_tfw_input(&m, x);
        kiln_tfw_output(&m, y);
        kiln_fbw_int(kiln_tfw_op(&m, IF, NULL, 2, (const int32_t[]){c, x}, 1,
                                 (const int32_t[]){y}),
                     0, 4, 1);
    }
    kiln_assert_fails(read(&m, &g, &err), KILN_ERR_LIMIT, &err,
                      "subgraphs lie more than 31 deep in each other");
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(a_condition_that_is_not_known),
        cmocka_unit_test(a_condition_that_is_known),
        cmocka_unit_test(a_loop_is_written_out),
        cmocka_unit_test(data_may_end_a_loop),
        cmocka_unit_test(a_loop_of_no_known_length),
        cmocka_unit_test(a_loop_without_end),
        cmocka_unit_test(a_subgraph_that_is_not_there),
        cmocka_unit_test(a_subgraph_that_holds_itself),
    };
    kiln_test_add_tests(unit);
    return kiln_test_run("tflite_control");
}
