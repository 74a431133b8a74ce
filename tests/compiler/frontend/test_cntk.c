/* CNTK models: small ones with hand-checked numbers, blocks and combinations, and what
 * is refused. Inputs x and z hold 0, 1, 2, ... less what a row says. */
#include "compiler/frontend/frontend.h"
#include "tests/support/graph/graph_run.h"
#include "tests/support/model/cntk_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/mutants.h"

#include <string.h>

enum { MAX_WANT = 16 };

typedef struct row {
    const char *name;
    const char *x, *z; /* shapes, fastest axis first */
    const char *variables, *functions;
    double less;       /* taken off the inputs */
    const char *shape; /* of the result, as the Graph has it */
    double want[MAX_WANT];
} row;

#define X CNTK_ITEM_TEXT("x")
#define Z CNTK_ITEM_TEXT("z")
#define W CNTK_ITEM_TEXT("w")
#define F(op, inputs, attrs) CNTK_FUNCTION("f", op, inputs, attrs)
#define PARAM(dims, values) CNTK_PARAMETER("w", dims, values)
#define SAME(v) CNTK_LIST("autoPadding", CNTK_ITEM_BOOL(v))
#define CONV(strides, more)                                                            \
    F("33", W X, CNTK_SHAPE("strides", strides) CNTK_BOOL("transpose", "0") more)
#define DECONV(strides, more)                                                          \
    F("33", W X, CNTK_SHAPE("strides", strides) CNTK_BOOL("transpose", "1") more)
#define POOL(type, window, strides, more)                                              \
    F("17", X,                                                                         \
      CNTK_SIZE("poolingType", type) CNTK_SHAPE("poolingWindowShape", window)          \
          CNTK_SHAPE("strides", strides) more)
#define REDUCE(op, axis, keeps)                                                        \
    F("39", X,                                                                         \
      CNTK_TEXT("reductionOpName", op) CNTK_AXIS("axis", axis)                         \
          CNTK_BOOL("reductionKeepDimensions", keeps))

static row rows[] = {
    {"relu", "3", .functions = F("3", X, ""), .less = 1, .shape = "[1,3]",
     .want = {0, 0, 1}},
    {"plus_a_number_for_each_channel", "2,1,2", .variables = PARAM("1,1,2", "10 20"),
     .functions = F("19", X W, ""), .shape = "[1,2,1,2]", .want = {10, 11, 22, 23}},
    {"plus_what_has_more_axes", "2", .variables = PARAM("2,2", "0 10 20 30"),
     .functions = F("19", X W, ""), .shape = "[1,2,2]", .want = {0, 11, 20, 31}},
    {"equal", "2", "2", .functions = F("22", X Z, ""), .shape = "[1,2]",
     .want = {1, 1}},
    {"not_equal", "2", .variables = PARAM("2", "0 7"), .functions = F("23", X W, ""),
     .shape = "[1,2]", .want = {0, 1}},
    {"select", "2", .variables = PARAM("2", "5 6"), .functions = F("42", X X W, ""),
     .shape = "[1,2]", .want = {5, 1}},
    {"clip", "4", .variables = CNTK_PARAMETER("low", "1", "1") PARAM("1", "2"),
     .functions = F("41", X CNTK_ITEM_TEXT("low") W, ""), .shape = "[1,4]",
     .want = {1, 1, 2, 2}},
    {"log_plus", "1", "1", .functions = F("52", X Z, ""), .shape = "[1,1]",
     .want = {0.69314718}},
    {"elu", "2", .functions = F("65", X, CNTK_FLOAT("alpha", "2")), .less = 1,
     .shape = "[1,2]", .want = {-1.26424112, 0}},
    {"softmax_of_all_axes", "1,2", .functions = F("10", X, ""), .shape = "[1,2,1]",
     .want = {0.26894142, 0.73105858}},

    {"times", "3", .variables = PARAM("2,3", "1 2 3 4 5 6"),
     .functions = F("31", W X, CNTK_SIZE("outputRank", "1")), .shape = "[1,2]",
     .want = {13, 16}},
    {"times_an_image", "2,1,2", .variables = PARAM("1,2,1,2", "1 1 1 2"),
     .functions = F("31", W X, CNTK_SIZE("outputRank", "1")), .shape = "[1,1]",
     .want = {9}},
    {"times_of_rows", "2,2", .variables = PARAM("1,2", "1 10"),
     .functions = F("31", W X, CNTK_SIZE("outputRank", "1")), .shape = "[1,2,1]",
     .want = {10, 32}},
    {"times_of_samples", "2,2", "2,1",
     .functions = F("31", X Z, CNTK_SIZE("outputRank", "1")), .shape = "[1,1,2]",
     .want = {2, 3}},
    {"transpose_times", "3", .variables = PARAM("3,2", "1 2 3 4 5 6"),
     .functions = F("32", W X, CNTK_SIZE("outputRank", "1")), .shape = "[1,2]",
     .want = {8, 17}},

    {"convolution", "3,3,1", .variables = PARAM("2,2,1,1", "1 2 3 4"),
     .functions = CONV("1", ""), .shape = "[1,1,2,2]", .want = {27, 37, 57, 67}},
    {"convolution_of_one_output", "2,1,2", .variables = PARAM("1,1,2", "1 2"),
     .functions = CONV("1", ""), .shape = "[1,1,1,2]", .want = {4, 7}},
    {"convolution_of_groups", "1,1,2", .variables = PARAM("1,1,1,2", "3 5"),
     .functions = CONV("1", CNTK_SIZE("groups", "2")), .shape = "[1,2,1,1]",
     .want = {0, 5}},
    {"convolution_padded_by_itself", "3,1,1", .variables = PARAM("3,1,1,1", "1 2 3"),
     .functions = CONV("1", SAME("1")), .shape = "[1,1,1,3]", .want = {3, 8, 5}},
    {"convolution_padded_in_strides", "4,1,1", .variables = PARAM("3,1,1,1", "1 2 3"),
     .functions = CONV("2", SAME("1")), .shape = "[1,1,1,2]", .want = {3, 14}},
    {"convolution_padded_behind", "3,1,1", .variables = PARAM("2,1,1,1", "1 2"),
     .functions = CONV("1", SAME("1")), .shape = "[1,1,1,3]", .want = {2, 5, 2}},
    {"convolution_that_skips", "6,1,1", .variables = PARAM("1,1,1,1", "1"),
     .functions = CONV("3", SAME("1")), .shape = "[1,1,1,2]", .want = {1, 4}},
    {"convolution_with_pads", "2,1,1", .variables = PARAM("2,1,1,1", "1 2"),
     .functions =
         CONV("1", CNTK_SHAPE("lowerPad", "1,0") CNTK_SHAPE("upperPad", "0,0")),
     .shape = "[1,1,1,2]", .want = {0, 2}},
    {"transposed", "2,1,1", .variables = PARAM("2,1,1,1", "1 2"),
     .functions = DECONV("2,1", ""), .shape = "[1,1,1,4]", .want = {0, 0, 1, 2}},
    {"transposed_padded_by_itself", "2,1,1", .variables = PARAM("2,1,1,1", "1 2"),
     .functions = DECONV("2,1", SAME("1")), .shape = "[1,1,1,3]", .want = {0, 0, 1}},
    {"transposed_to_a_size", "2,1,1", .variables = PARAM("2,1,1,1", "1 2"),
     .functions = DECONV("2,1", SAME("1") CNTK_SHAPE("outputShape", "4,1,1")),
     .shape = "[1,1,1,4]", .want = {0, 0, 1, 2}},
    {"max_pool", "2,2,1", .functions = POOL("0", "2,2", "2,2", ""),
     .shape = "[1,1,1,1]", .want = {3}},
    {"average_pool_leaves_padding_out", "3,1,1",
     .functions = POOL("1", "2,1", "2,1", SAME("1")), .shape = "[1,1,1,2]",
     .want = {0.5, 2}},
    {"average_pool_counts_padding", "3,1,1",
     .functions = POOL("1", "2,1", "2,1", SAME("1") CNTK_BOOL("includePad", "1")),
     .shape = "[1,1,1,2]", .want = {0.5, 1}},
    {"pool_rounds_up", "3,1,1",
     .functions = POOL("0", "2,1", "2,1", CNTK_BOOL("ceilOutDim", "1")),
     .shape = "[1,1,1,2]", .want = {1, 2}},
    {"pool_of_all", "2,2,1", .functions = POOL("1", "-2", "1", ""),
     .shape = "[1,1,1,1]", .want = {1.5}},
    {"batch_normalization", "1,1,2",
     .variables = PARAM("2", "1 2") CNTK_PARAMETER("b", "2", "0 1")
         CNTK_PARAMETER("v", "1,1,2", "0.99999 3.99999") CNTK_PARAMETER("n", "1", "0"),
     .functions = F("40",
                    X W CNTK_ITEM_TEXT("b") CNTK_ITEM_TEXT("b") CNTK_ITEM_TEXT("v")
                        CNTK_ITEM_TEXT("n"),
                    CNTK_BOOL("spatial", "1") CNTK_FLOAT("epsilon", "0.00001")),
     .shape = "[1,2,1,1]", .want = {0, 1}},

    {"reshape", "2,3", .functions = F("16", X, CNTK_SHAPE("newShape", "3,-1")),
     .shape = "[1,2,3]", .want = {0, 1, 2, 3, 4, 5}},
    {"reshape_of_some_axes", "2,3",
     .functions = F("16", X,
                    CNTK_SHAPE("newShape", "1,2") CNTK_AXIS("beginAxis", "0")
                        CNTK_AXIS("endAxis", "1")),
     .shape = "[1,3,2,1]", .want = {0, 1, 2, 3, 4, 5}},
    {"transpose_of_two", "2,3",
     .functions = F("12", X, CNTK_AXIS("axis1", "0") CNTK_AXIS("axis2", "-1")),
     .shape = "[1,2,3]", .want = {0, 2, 4, 1, 3, 5}},
    {"transpose_with_a_new_axis", "2",
     .functions = F("12", X, CNTK_AXIS("axis1", "0") CNTK_AXIS("axis2", "1")),
     .shape = "[1,2,1]", .want = {0, 1}},
    {"transpose_of_all", "2,3",
     .functions =
         F("12", X, CNTK_LIST("axisVec", CNTK_ITEM_AXIS("1") CNTK_ITEM_AXIS("0"))),
     .shape = "[1,2,3]", .want = {0, 2, 4, 1, 3, 5}},
    {"slice", "3",
     .functions = F("14", X,
                    CNTK_AXIS("axis", "0") CNTK_INT("beginIndex", "-2")
                        CNTK_INT("endIndex", "0")),
     .shape = "[1,2]", .want = {1, 2}},
    {"slice_of_two_axes", "3,2",
     .functions = F("14", X,
                    CNTK_LIST("axisVec", CNTK_ITEM_AXIS("0") CNTK_ITEM_AXIS("1"))
                        CNTK_LIST("beginIndexVec", "1:{2:2 4:0} 1:{2:2 4:1}") CNTK_LIST(
                            "endIndexVec", "1:{2:2 4:3} 1:{2:2 4:2}")
                            CNTK_LIST("sliceStridesVec", "1:{2:2 4:2} 1:{2:2 4:1}")),
     .shape = "[1,1,2]", .want = {3, 5}},
    {"splice", "2", "2", .functions = F("43", X Z, CNTK_AXIS("axis", "0")),
     .shape = "[1,4]", .want = {0, 1, 0, 1}},
    {"splice_along_a_new_axis", "2", .variables = PARAM("2", "8 9"),
     .functions = F("43", X W, CNTK_AXIS("axis", "1")), .shape = "[1,2,2]",
     .want = {0, 1, 8, 9}},
    {"pad", "2",
     .functions = F("83", X,
                    CNTK_LIST("paddingHead", CNTK_ITEM_SIZE("1"))
                        CNTK_LIST("paddingFoot", CNTK_ITEM_SIZE("0"))
                            CNTK_FLOAT("paddingConstantValue", "7")),
     .shape = "[1,3]", .want = {7, 0, 1}},
    {"squeeze", "2,1", .functions = F("88", X, ""), .shape = "[1,2]", .want = {0, 1}},
    {"reduce_one_axis", "2,2", .functions = REDUCE("Sum", "0", "0"), .shape = "[1,2]",
     .want = {1, 5}},
    {"reduce_all_axes", "2,2", .functions = REDUCE("Mean", "2147483646", "1"),
     .shape = "[1,1,1]", .want = {1.5}},
    {"argmax", "2,2", .functions = REDUCE("Argmax", "0", "1"), .shape = "[1,2,1]",
     .want = {1, 1}},
    /* p stands for x inside of a block that adds w; f is what it gives */
    {"block", "2", .variables = PARAM("2", "5 6") CNTK_PLACEHOLDER("p"),
     .functions =
         CNTK_FUNCTION("inside", "19", CNTK_ITEM_TEXT("p") W, "") CNTK_ITEM_DICT(
             CNTK_TEXT("type", "PrimitiveFunction") CNTK_TEXT("uid", "b")
                 CNTK_SIZE("op", "57") CNTK_LIST("inputs", X) CNTK_DICT(
                     "block_function_composite", CNTK_TEXT("root", "inside"))
                     CNTK_LIST("block_function_composite_arguments_map_keys",
                               CNTK_ITEM_TEXT("p"))
                         CNTK_LIST("block_function_composite_arguments_map_values", X))
             F("0", CNTK_ITEM_TEXT("b_Output_0"), ""),
     .shape = "[1,2]", .want = {-5, -7}},
};

static kiln_status import(kiln_arena *a, const row *r, kiln_graph **g, kiln_err *err) {
    return kiln_test_import_cntk(
        a,
        kiln_test_cntk(a, r->x, r->z, r->variables != NULL ? r->variables : "",
                       r->functions, "f"),
        NULL, g, NULL, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(import(&a, r, &g, &err), &err);
    kiln_test_counted(&a, g, r->less, r->shape, r->want, MAX_WANT);
    kiln_arena_fini(&a);
}

/* ---- whole models ---------------------------------------------------------------- */

#define TWO                                                                            \
    CNTK_FUNCTION("a", "3", X, "")                                                     \
    CNTK_FUNCTION("b", "0", CNTK_ITEM_TEXT("a_Output_0"), "")
#define COMBINED                                                                       \
    TWO CNTK_FUNCTION("f", "44",                                                       \
                      CNTK_ITEM_TEXT("b_Output_0") CNTK_ITEM_TEXT("a_Output_0"), "")

static void a_combination_gives_its_inputs(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const row r = {.x = "2", .functions = COMBINED};
    kiln_assert_status_ok(import(&a, &r, &g, &err), &err);
    assert_int_equal(g->outputs.n, 2);
    assert_string_equal(g->output_names.v[0], "b");
    assert_string_equal(g->output_names.v[1], "a");
    kiln_arena_fini(&a);
}

static void the_batch_is_the_callers(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_shape_binding s = {.name = "x", .rank = 2, .dim = {5, 3}};
    const kiln_import_options o = {.shapes = &s, .n_shapes = 1};
    const kiln_str bytes =
        kiln_test_cntk(&a, "3", NULL, PARAM("2,3", "1 2 3 4 5 6"),
                       F("31", W X, CNTK_SIZE("outputRank", "1")), "f");
    kiln_assert_status_ok(kiln_test_import_cntk(&a, bytes, &o, &g, NULL, &err), &err);
    assert_string_equal(
        kiln_shape_text(&a, g->outputs.v[0]->type.rank, g->outputs.v[0]->type.dim),
        "[5,2]");
    s.dim[1] = 4;
    kiln_assert_fails(kiln_test_import_cntk(&a, bytes, &o, &g, NULL, &err),
                      KILN_ERR_SHAPE, &err,
                      "its shape is declared as [1,3], but [5,4] is given");
    kiln_arena_fini(&a);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct bad_row {
    const char *name, *variables, *functions; /* of a model with x of 2,2 */
    kiln_status want;
    const char *text;
} bad_row;

static bad_row bad_rows[] = {
    {"unknown_functions_all_at_once", "",
     CNTK_FUNCTION("a", "49", X, "")
         CNTK_FUNCTION("b", "777", CNTK_ITEM_TEXT("a_Output_0"), "")
             F("35", CNTK_ITEM_TEXT("b_Output_0"), ""),
     KILN_ERR_UNSUPPORTED,
     "3 functions are not read: OptimizedRNNStack (1 time, first in node"},
    {"recurrences", "",
     CNTK_FUNCTION("a", "19", X CNTK_ITEM_TEXT("f_Output_0"), "")
         F("3", CNTK_ITEM_TEXT("a_Output_0"), ""),
     KILN_ERR_UNSUPPORTED, "recurrences (PastValue, FutureValue) are not read"},
    {"inputs_that_are_not_there", "", F("3", CNTK_ITEM_TEXT("q"), ""), KILN_ERR_PARSE,
     "nothing has the uid 'q'"},
    {"placeholders_of_nothing", CNTK_PLACEHOLDER("p"), F("3", CNTK_ITEM_TEXT("p"), ""),
     KILN_ERR_PARSE, "placeholder 'p' stands for nothing"},
    {"a_root_that_is_not_there", "", CNTK_FUNCTION("g", "3", X, ""), KILN_ERR_PARSE,
     "its root 'f' is none of its functions"},
    {"missing_inputs", "", F("19", X, ""), KILN_ERR_PARSE,
     "it must have 2 inputs at least, has 1"},
    {"short_weights",
     CNTK_ITEM_DICT(
         CNTK_TEXT("uid", "w") CNTK_SIZE("kind", "2") CNTK_SIZE("data_type", "1")
             CNTK_SHAPE("shape",
                        "3") "2:{1:'value' 2:{2:11 13:{1:1 3:{1:[3]} 4:{1:(1 2)}}}}"),
     F("19", X W, ""), KILN_ERR_PARSE, "its value has 8 bytes, which is not [3]"},
    {"huge_weights",
     CNTK_ITEM_DICT(
         CNTK_TEXT("uid", "w") CNTK_SIZE("kind", "2") CNTK_SIZE("data_type", "1")
             CNTK_SHAPE("shape",
                        "3") "2:{1:'value' 2:{2:11 13:{1:1 3:{1:[4000000000000]}}}}"),
     F("19", X W, ""), KILN_ERR_LIMIT, "it has an axis of 4000000000000"},
    {"products_that_do_not_fit", PARAM("2,3", "1 2 3 4 5 6"),
     F("31", W X, CNTK_SIZE("outputRank", "1")), KILN_ERR_SHAPE,
     "cannot be multiplied with one of [2,2]"},
    {"wrong_channels", PARAM("1,1,2,1", "1 2"), CONV("1", ""), KILN_ERR_SHAPE,
     "weights of shape [1,2,1,1] do not go with 2 channels"},
    {"attributes_of_another_kind", "", F("17", X, CNTK_SIZE("poolingWindowShape", "2")),
     KILN_ERR_PARSE, "attribute 'poolingWindowShape' must be a shape"},
    {"axes_of_sequences", "", REDUCE("Sum", "2147483647", "1"), KILN_ERR_UNSUPPORTED,
     "along a sequence or the batch it is not read"},
    {"slices_outside", "",
     F("14", X,
       CNTK_AXIS("axis", "0") CNTK_INT("beginIndex", "1") CNTK_INT("endIndex", "5")),
     KILN_ERR_SHAPE, "[1, 5) in steps of 1 is not within an axis of 2"},
    {"reshapes_that_do_not_fit", "", F("16", X, CNTK_SHAPE("newShape", "3")),
     KILN_ERR_SHAPE, "importing function 'f' (Reshape)"},
    {"blocks_inside_of_each_other", "",
     CNTK_ITEM_DICT(
         CNTK_TEXT("type", "PrimitiveFunction") CNTK_TEXT("uid", "f")
             CNTK_SIZE("op", "57") CNTK_LIST("inputs", X) CNTK_DICT(
                 "block_function_composite", CNTK_TEXT("root", "f"))
                 CNTK_LIST("block_function_composite_arguments_map_keys", "")
                     CNTK_LIST("block_function_composite_arguments_map_values", "")),
     KILN_ERR_PARSE, "blocks are inside of each other"},
};

static void refuses(void **state) {
    const bad_row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const row as = {.x = "2,2", .variables = r->variables, .functions = r->functions};
    const kiln_status st = import(&a, &as, &g, &err);
    kiln_assert_fails(st, r->want, &err, r->text);
    assert_non_null(strstr(err.text, "importing 'test.model'"));
    kiln_arena_fini(&a);
}

/* ---- damaged files --------------------------------------------------------------- */

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_test_import_cntk(a, bytes, NULL, g, NULL, err);
}

static void damaged_files_end_in_a_named_error(void **state) {
    (void)state;
    const kiln_str good = kiln_test_cntk(
        kiln_test_arena(), "3,3,1", NULL, PARAM("2,2,1,1", "1 2 3 4"),
        CNTK_FUNCTION("c", "33", W X, CNTK_SHAPE("strides", "1") SAME("1"))
            CNTK_FUNCTION("r", "3", CNTK_ITEM_TEXT("c_Output_0"), "")
                F("17", CNTK_ITEM_TEXT("r_Output_0"),
                  CNTK_SIZE("poolingType", "0") CNTK_SHAPE("poolingWindowShape", "2,2")
                      CNTK_SHAPE("strides", "1,1")),
        "f");
    const kiln_test_mutants m = {
        .file = "importing 'test.model'", .whole = good, .import = import_mutant};
    kiln_test_mutants_end(&m, KILN_TEST_MUTANTS);
}

/* Its dictionary is not taken for another format's. */
static void knows_its_own(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    const char *const path = kiln_path_join(a, kiln_test_dir(), "no_name");
    const kiln_str bytes = kiln_test_cntk(a, "3", NULL, "", F("3", X, ""), "f");
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_import(a, path, NULL, &g, &report, &err), &err);
    assert_string_equal(report.format, "cntk");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(refuses, bad_rows);
    kiln_test_add("a_combination_gives_its_inputs", a_combination_gives_its_inputs,
                  NULL);
    kiln_test_add("the_batch_is_the_callers", the_batch_is_the_callers, NULL);
    kiln_test_add("damaged_files_end_in_a_named_error",
                  damaged_files_end_in_a_named_error, NULL);
    kiln_test_add("knows_its_own", knows_its_own, NULL);
    return kiln_test_run("cntk");
}
