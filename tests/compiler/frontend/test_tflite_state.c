/* Variables of TensorFlow Lite as inputs and outputs (--state): what an operator begins
 * with, and what it leaves for the next run. */
#include "compiler/frontend/frontend_internal.h"
#include "tests/support/import/mutants.h"
#include "tests/support/import/tflite_run.h"

#include <string.h>

#define F32(shape_, ...)                                                               \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_F32, .v = { __VA_ARGS__ }                  \
    }
#define C32(shape_, ...)                                                               \
    { .shape = (shape_), .type = KILN_TFW_F32, .v = {__VA_ARGS__}, .is_const = true }
#define KEPT(shape_, ...)                                                              \
    { .shape = (shape_), .type = KILN_TFW_F32, .v = {__VA_ARGS__}, .is_variable = true }
#define NUMBER(type_, scale_, ...)                                                     \
    .type = (type_), .scale = (scale_), .v = {__VA_ARGS__}
#define ABSENT                                                                         \
    { .shape = NULL }
/* One cell; all gates are 1/2 but the cell's, tanh(1) = .761594. */
#define GATES                                                                          \
    C32("1x1", 0), C32("1x1", 0), C32("1x1", 1), C32("1x1", 0), C32("1x1", 0),         \
        C32("1x1", 0), C32("1x1", 0), C32("1x1", 0), ABSENT, ABSENT, ABSENT,           \
        C32("1", 0), C32("1", 0), C32("1", 0), C32("1", 0), ABSENT, ABSENT

static kiln_tflite_case rows[] = {
    /* features 1 and 2 push out 0 and 3: 9 + 18 + 10, 27 + 36 + 200 */
    {.name = "svdf_goes_on",
     .code = 27,
     .option = {{0, 4, 2}},
     .n_options = 1,
     .has_state = true,
     .n_in = 5,
     .in = {F32("1x2", 1, 2), C32("2x2", 1, 0, 0, 1), C32("2x3", 9, 9, 10, 9, 9, 100),
            C32("1", .5), KEPT("1x6", 0, 1, 2, 0, 3, 4)},
     .out = {F32("1x1", 300.5)},
     .next = {F32("1x6", 1, 2, 1, 3, 4, 2)}},
    {.name = "svdf_of_one_column_keeps_it",
     .code = 27,
     .option = {{0, 4, 1}},
     .n_options = 1,
     .has_state = true,
     .n_in = 5,
     .in = {F32("1x1", 3), C32("1x1", 2), C32("1x1", 10), ABSENT, KEPT("1x1", 5)},
     .out = {F32("1x1", 60)},
     .next = {F32("1x1", 6)}},
    /* features 3 and 6: 2 * 1 + 3 * 2 + 4 * 3 + 6 * 4, halved, and the bias of 1 */
    {.name = "svdf_of_integers",
     .code = 27,
     .option = {{0, 4, 2}, {1, 1, 1}},
     .n_options = 2,
     .has_state = true,
     .n_in = 5,
     .in = {{.shape = "1x1", .zero = 1, NUMBER(KILN_TFW_I8, 1, 4)},
            {.shape = "2x1", .is_const = true, NUMBER(KILN_TFW_I8, 1, 1, 2)},
            {.shape = "2x2", .is_const = true, NUMBER(KILN_TFW_I16, .5F, 1, 2, 3, 4)},
            {.shape = "1", .is_const = true, NUMBER(KILN_TFW_I32, .5F, 2)},
            {.shape = "1x4", .is_variable = true, NUMBER(KILN_TFW_I16, 1, 1, 2, 3, 4)}},
     .out = {{.shape = "1x1", .zero = 5, NUMBER(KILN_TFW_I8, 1, 28)}},
     .next = {F32("1x4", 2, 3, 4, 6)}},
    /* relu(1 * 2 + 2 * .5 + 1) = 4, relu(-1 * 2 + 4 * .5 + 1) = 1 */
    {.name = "sequence_rnn",
     .code = 35,
     .option = {{1, 1, 1}},
     .n_options = 1,
     .has_state = true,
     .n_in = 5,
     .in = {F32("1x2x1", 1, -1), C32("1x1", 2), C32("1x1", .5), C32("1", 1),
            KEPT("1x1", 2)},
     .out = {F32("1x2x1", 4, 1)},
     .next = {F32("1x1", 1)}},
    /* c .5 / 2 + .380797, h tanh(c) / 2 */
    {.name = "lstm_of_one_step",
     .code = 16,
     .option = {{0, 1, 4}},
     .n_options = 1,
     .has_state = true,
     .n_in = 20,
     .in = {F32("1x1", 1), GATES, KEPT("1x1", 7), KEPT("1x1", .5)},
     .out = {F32("1x1", .2793004)},
     .next = {F32("1x1", .2793004), F32("1x1", .6307971)}},
    /* Held at .5: c .05 + .380797, then .2153985 + .380797, too much. */
    {.name = "sequence_lstm_with_a_held_cell",
     .code = 44,
     .option = {{0, 1, 4}, {1, 0, .5}},
     .n_options = 2,
     .has_state = true,
     .n_in = 20,
     .in = {F32("1x2x1", 1, 1), GATES, KEPT("1x1", 7), KEPT("1x1", .1)},
     .out = {F32("1x2x1", 0.2029936, .2310586)},
     .next = {F32("1x1", .2310586), F32("1x1", .5)}},
    /* One step adds less than 1: beyond that a clip says nothing, but where the cell
     * begins with more. */
    {.name = "a_cell_that_begins_beyond_its_clip",
     .code = 44,
     .option = {{0, 1, 4}, {1, 0, 2}},
     .n_options = 2,
     .has_state = true,
     .n_in = 20,
     .in = {F32("1x1x1", 1), GATES, KEPT("1x1", 0), KEPT("1x1", 10)},
     .out = {F32("1x1x1", .4820138)},
     .next = {F32("1x1", .4820138), F32("1x1", 2)}},
    {.name = "a_model_that_keeps_nothing",
     .code = 101,
     .has_state = true,
     .n_in = 1,
     .in = {F32("1", -1)},
     .out = {F32("1", 1)},
     .fails = KILN_ERR_ARG,
     .text = "--state: the model keeps nothing between runs"},
};

/* Names tell which output goes on with which input. */
static void states_have_names(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const char *const path = kiln_test_tflite_file(kiln_test_tflite_model(&rows[0]));
    const kiln_import_options o = {.has_state = true};
    kiln_import_report r;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, &r, &err), &err);
    assert_int_equal(g->inputs.n, 2);
    assert_string_equal(g->inputs.v[1]->name, "x4");
    assert_string_equal(g->output_names.v[1], "x4" KILN_STATE_SUFFIX);
    assert_non_null(strstr(r.notes.v[0].text, "1 variable; inputs, zeros at first"));
}

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    const kiln_import_options o = {.has_state = true};
    (void)user;
    return kiln_frontend_tflite.import(a, bytes, "mutant.tflite", NULL, &o, g, NULL,
                                       err);
}

static void damaged_files_end_in_errors(void **state) {
    (void)state;
    enum { N_MODELS = 3 };
    static const int which[N_MODELS] = {0, 2,
                                        5}; /* SVDF of floats, of integers, LSTM */
    for (int i = 0; i < N_MODELS; i++) {
        const kiln_test_mutants m = {.file = "mutant.tflite",
                                     .whole = kiln_test_tflite_model(&rows[which[i]]),
                                     .import = import_mutant};
        kiln_test_mutants_end(&m, KILN_TEST_MUTANTS / N_MODELS);
    }
}

static void other_formats_keep_nothing(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    static const char text[] =
        "graph g(x: f32[1]) {\n  y: f32[1] = relu(x)\n  return y\n}\n";
    const char *const path = kiln_path_join(a, kiln_test_dir(), "g.kgraph");
    const kiln_import_options o = {.has_state = true};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, sizeof text - 1, &err), &err);
    kiln_assert_fails(kiln_import(a, path, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "--state: models of format graph keep nothing between runs");
}

int main(void) {
    kiln_test_add_rows(kiln_test_check_tflite, rows);
    kiln_test_add("states_have_names", states_have_names, NULL);
    kiln_test_add("damaged_files_end_in_errors", damaged_files_end_in_errors, NULL);
    kiln_test_add("other_formats_keep_nothing", other_formats_keep_nothing, NULL);
    return kiln_test_run("tflite_state");
}
