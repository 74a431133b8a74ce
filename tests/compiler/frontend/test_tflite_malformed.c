/* TensorFlow Lite files that lie: each ends in an error that names the file, or in a
 * graph that verifies. */
#include "compiler/frontend/frontend_internal.h"
#include "tests/support/import/mutants.h"
#include "tests/support/import/tflite_run.h"

#include <string.h>

/* A quantised convolution, an LSTM's kin, a slice: what reads most. */
static const kiln_tflite_case models[] = {
    {.name = "conv",
     .code = 3,
     .option = {{1, 4, 1}, {2, 4, 1}},
     .n_options = 2,
     .n_in = 3,
     .in = {{.shape = "1x2x2x1", .type = KILN_TFW_I8, .scale = 1},
            {.shape = "2x2x2x1", .type = KILN_TFW_I8, .scale = .5F, .is_const = true},
            {.shape = "2", .type = KILN_TFW_I32, .scale = .5F, .is_const = true}},
     .out = {{.shape = "1x2x2x2", .type = KILN_TFW_I8, .scale = 1}}},
    {.name = "slice",
     .code = 45,
     .option = {{1, 4, 1}, {4, 4, 1}},
     .n_options = 2,
     .n_in = 4,
     .in = {{.shape = "2x3", .type = KILN_TFW_F32},
            {.shape = "2", .type = KILN_TFW_I32, .v = {0, 1}, .is_const = true},
            {.shape = "2", .type = KILN_TFW_I32, .v = {1, 2}, .is_const = true},
            {.shape = "2", .type = KILN_TFW_I32, .v = {1, 1}, .is_const = true}},
     .out = {{.shape = "1", .type = KILN_TFW_F32}}},
    {.name = "svdf",
     .code = 27,
     .option = {{0, 4, 1}},
     .n_options = 1,
     .n_in = 5,
     .in = {{.shape = "1x1", .type = KILN_TFW_I8, .scale = 1},
            {.shape = "2x1", .type = KILN_TFW_I8, .scale = 1, .is_const = true},
            {.shape = "2x1", .type = KILN_TFW_I16, .scale = 1, .is_const = true},
            {.shape = "2", .type = KILN_TFW_I32, .scale = 1, .is_const = true},
            {.shape = "1x2", .type = KILN_TFW_I16, .scale = 1, .is_variable = true}},
     .out = {{.shape = "1x2", .type = KILN_TFW_I8, .scale = 1}}},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_frontend_tflite.import(a, bytes, "mutant.tflite", NULL, NULL, g, NULL,
                                       err);
}

/* The identifier stays, so that the reader is asked. */
static void mutants_end_in_a_named_error(void **state) {
    enum { IDENTIFIED = 8 };
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        const kiln_test_mutants m = {.file = "mutant.tflite",
                                     .whole = kiln_test_tflite_model(&models[i]),
                                     .import = import_mutant,
                                     .n_kept = IDENTIFIED};
        kiln_test_mutants_end(&m, KILN_TEST_MUTANTS / N_MODELS + 1);
    }
}

/* ---- what parts say of each other --------------------------------------------------- */

typedef struct row {
    const char *name;
    void (*spoil)(kiln_tfw *m);
    const char *text;
} row;

static const int32_t none[] = {0}, one_dim[] = {1}, far[] = {9}, below[] = {-7};

static void no_op(kiln_tfw *m) { (void)m; }
static void an_output_too_many(kiln_tfw *m) { kiln_tfw_output(m, 5); }
static void an_input_too_many(kiln_tfw *m) { kiln_tfw_op(m, 0, NULL, 1, far, 1, none); }
static void a_negative_output(kiln_tfw *m) {
    kiln_tfw_op(m, 0, NULL, 1, none, 1, below);
}
static void a_shape_below_zero(kiln_tfw *m) {
    kiln_tfw_tensor(m, "t", KILN_TFW_F32, 1, below, NULL, 0);
}
static void data_too_short(kiln_tfw *m) {
    const int t = kiln_tfw_tensor(m, "short", KILN_TFW_F32, 1, one_dim, "ab", 2);
    kiln_tfw_output(m, t);
}
static void a_tensor_of_nothing(kiln_tfw *m) {
    kiln_tfw_output(m, kiln_tfw_tensor(m, "empty", KILN_TFW_F32, 1, one_dim, NULL, 0));
}
static void strings(kiln_tfw *m) {
    kiln_tfw_input(m, kiln_tfw_tensor(m, "s", 5, 1, one_dim, NULL, 0));
}
static void an_input_twice(kiln_tfw *m) { kiln_tfw_input(m, 0); }

static row rows[] = {
    {"none", no_op, NULL},
    {"an_output_too_many", an_output_too_many,
     "an output of a subgraph must be one of 1, is 5"},
    {"an_input_too_many", an_input_too_many,
     "an input of an operator must be one of 1, is 9"},
    {"a_negative_output", a_negative_output,
     "an output of an operator must be one of 1, is -7"},
    {"a_shape_below_zero", a_shape_below_zero, "a tensor with a dimension of -7"},
    {"data_too_short", data_too_short,
     "a constant of type f32[1] must have 4 bytes, has 2"},
    {"a_tensor_of_nothing", a_tensor_of_nothing,
     "it has no data, and no operator before this one makes it"},
    {"strings", strings, "elements of type STRING are not read"},
    {"an_input_twice", an_input_twice, "graph input 'x' is given twice"},
};

static void check_row(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g;
    kiln_tfw m = kiln_tfw_begin();
    kiln_tfw_input(&m, kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 1, one_dim, NULL, 0));
    kiln_tfw_output(&m, 0);
    r->spoil(&m);
    const char *const path = kiln_test_tflite_file(kiln_tfw_write(&m));
    const kiln_status st = kiln_import(a, path, NULL, &g, NULL, &err);
    if (r->text == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, err.status, &err, r->text);
}

/* ---- inputs ------------------------------------------------------------------------- */

static kiln_status import_shaped(int rank, int64_t first, int64_t second,
                                 kiln_graph **g, kiln_err *err) {
    static const kiln_tflite_case relu = {.name = "relu",
                                          .code = 19,
                                          .n_in = 1,
                                          .in = {{.shape = "1x3"}},
                                          .out = {{.shape = "1x3"}}};
    const kiln_shape_binding shape = {"x0", rank, {first, second}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    return kiln_import(kiln_test_arena(),
                       kiln_test_tflite_file(kiln_test_tflite_model(&relu)), &o, g,
                       NULL, err);
}

static void the_batch_may_be_bound(void **state) {
    kiln_graph *g;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(import_shaped(2, 5, 3, &g, &err), &err);
    assert_int_equal(g->outputs.v[0]->type.dim[0], 5);
    kiln_assert_fails(
        import_shaped(2, 5, 4, &g, &err), KILN_ERR_SHAPE, &err,
        "its shape is declared as [1,3], but [5,4] is given; only the batch "
        "and dynamic dimensions (-1) can be bound");
}

static void a_survey_counts_operators(void **state) {
    kiln_model_survey s;
    kiln_err err = {0};
    (void)state;
    const char *const path = kiln_test_tflite_file(kiln_test_tflite_model(&models[0]));
    kiln_assert_status_ok(kiln_import_survey(kiln_test_arena(), path, &s, &err), &err);
    assert_string_equal(s.format, "tflite");
    assert_string_equal(s.producer, "made by a test");
    assert_true(s.op.n == 1 && s.op.v[0].count == 1 && s.op.v[0].is_read);
    assert_string_equal(s.op.v[0].op, "CONV_2D");
    assert_true(s.n_inputs == 1 && s.n_outputs == 1 && s.opset == 0);
    assert_string_equal(s.input[0].name, "x0");
    assert_int_equal(s.const_bytes, 8 + 8);
}

int main(void) {
    kiln_test_add("mutants_end_in_a_named_error", mutants_end_in_a_named_error, NULL);
    kiln_test_add("the_batch_may_be_bound", the_batch_may_be_bound, NULL);
    kiln_test_add("a_survey_counts_operators", a_survey_counts_operators, NULL);
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("tflite_malformed");
}
