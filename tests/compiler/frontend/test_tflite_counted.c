/* TensorFlow Lite's operators of values that are as long as data has them: each reads what
 * a mask picks, as tf.boolean_mask becomes. Numbers are worked out by hand. */
#include "tests/support/import/tflite_run.h"

/* 3, 4 and 5 of six; 2 3, 4 5 and 6 7 of four rows. */
#define LIST                                                                           \
    { .shape = "6", .type = KILN_TFW_F32, .v = {-1, 3, 0, 4, 5, -2}, .is_masked = true }
#define ROWS                                                                           \
    {                                                                                  \
        .shape = "4x2", .type = KILN_TFW_F32, .v = {2, 3, -1, 1, 4, 5, 6, 7},          \
        .is_masked = true                                                              \
    }
#define AGAIN                                                                          \
    { .is_first = true }
#define C32(shape_, ...)                                                               \
    { .shape = (shape_), .type = KILN_TFW_F32, .v = {__VA_ARGS__}, .is_const = true }
#define I32(shape_, ...)                                                               \
    { .shape = (shape_), .type = KILN_TFW_I32, .v = {__VA_ARGS__}, .is_const = true }
#define F32(shape_, ...)                                                               \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_F32, .v = { __VA_ARGS__ }                  \
    }
/* A result, and how many of its rows count. */
#define COUNTS(shape_, n, ...)                                                         \
    .out = {F32(shape_, __VA_ARGS__)},                                                 \
    .next = {{.shape = "", .type = KILN_TFW_I64, .v = {n}}}
#define INT(slot_, v_) .option = {{slot_, 4, v_}}, .n_options = 1
#define BYTE(slot_, v_) .option = {{slot_, 1, v_}}, .n_options = 1

enum {
    ADD = 0,
    CONCATENATION = 2,
    FULLY_CONNECTED = 9,
    RESHAPE = 22,
    SOFTMAX = 25,
    GATHER = 36,
    TRANSPOSE = 39,
    MEAN = 40,
    STRIDED_SLICE = 45,
    TOPK_V2 = 48,
    ARG_MAX = 56,
    NEG = 59,
    EXPAND_DIMS = 70,
    SUM = 74,
    SHAPE = 77,
    PACK = 83,
    REDUCE_MIN = 89,
    CUMSUM = 128
};

static kiln_tflite_case taken[] = {
    {.name = "each_element",
     .code = NEG,
     .n_in = 1,
     .in = {LIST},
     COUNTS("6", 3, -3, -4, -5)},
    {.name = "rows_and_a_row",
     .code = ADD,
     .n_in = 2,
     .in = {ROWS, C32("2", 10, 20)},
     COUNTS("4x2", 3, 12, 23, 14, 25, 16, 27)},
    {.name = "rows_times_weights",
     .code = FULLY_CONNECTED,
     .n_in = 3,
     .in = {ROWS, C32("1x2", 10, 1), C32("1", .5)},
     COUNTS("4x1", 3, 23.5, 45.5, 67.5)},
    {.name = "columns_of_rows",
     .code = GATHER,
     INT(0, 1),
     .n_in = 2,
     .in = {ROWS, I32("3", 1, 0, 1)},
     COUNTS("4x3", 3, 3, 2, 3, 5, 4, 5, 7, 6, 7)},
    {.name = "known_places_of_it",
     .code = GATHER,
     .n_in = 2,
     .in = {LIST, I32("2", 2, 0)},
     .out = {F32("2", 5, 3)}},
    {.name = "reshaped_around",
     .code = RESHAPE,
     .n_in = 2,
     .in = {ROWS, I32("3", -1, 2, 1)},
     COUNTS("4x2x1", 3, 2, 3, 4, 5, 6, 7)},
    {.name = "turned",
     .code = TRANSPOSE,
     .n_in = 2,
     .in = {ROWS, I32("2", 1, 0)},
     COUNTS("2x4", 3, 2, 4, 6, 0, 3, 5, 7, 0)},
    {.name = "first_of_them",
     .code = STRIDED_SLICE,
     .n_in = 4,
     .in = {LIST, I32("1", 0), I32("1", 2), I32("1", 1)},
     COUNTS("2", 2, 3, 4)},
    {.name = "an_axis_more",
     .code = EXPAND_DIMS,
     .n_in = 2,
     .in = {LIST, I32("1", 0)},
     COUNTS("1x6", 3, 3, 4, 5)},
    {.name = "joined_by_columns",
     .code = CONCATENATION,
     INT(0, 1),
     .n_in = 2,
     .in = {ROWS, AGAIN},
     COUNTS("4x4", 3, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7)},
    {.name = "stacked",
     .code = PACK,
     INT(1, 1),
     .n_in = 2,
     .in = {LIST, AGAIN},
     COUNTS("6x2", 3, 3, 3, 4, 4, 5, 5)},
    {.name = "softmax_of_rows",
     .code = SOFTMAX,
     .option = {{0, 0, 1}},
     .n_options = 1,
     .n_in = 1,
     .in = {ROWS},
     COUNTS("4x2", 3, .2689414, .7310586, .2689414, .7310586, .2689414, .7310586)},
    {.name = "sum_of_each_row",
     .code = SUM,
     .n_in = 2,
     .in = {ROWS, I32("1", 1)},
     COUNTS("4", 3, 5, 9, 13)},
    {.name = "sum_that_keeps_the_axis",
     .code = SUM,
     BYTE(0, 1),
     .n_in = 2,
     .in = {ROWS, I32("1", 1)},
     COUNTS("4x1", 3, 5, 9, 13)},
    {.name = "mean_of_what_counts",
     .code = MEAN,
     .n_in = 2,
     .in = {LIST, I32("1", 0)},
     .out = {F32("", 4)}},
    {.name = "least_of_what_counts",
     .code = REDUCE_MIN,
     .n_in = 2,
     .in = {LIST, I32("1", 0)},
     .out = {F32("", 3)}},
    {.name = "where_the_largest_is",
     .code = ARG_MAX,
     BYTE(0, 2),
     .n_in = 2,
     .in = {LIST, I32("", 0)},
     .out = {{.shape = "", .type = KILN_TFW_I32, .v = {2}}}},
    {.name = "summed_from_the_last",
     .code = CUMSUM,
     BYTE(1, 1),
     .n_in = 2,
     .in = {LIST, I32("", 0)},
     COUNTS("6", 3, 12, 9, 5)},
    {.name = "the_two_largest",
     .code = TOPK_V2,
     .n_in = 2,
     .in = {LIST, I32("", 2)},
     .n_out = 2,
     .out = {F32("2", 5, 4), {.shape = "2", .type = KILN_TFW_I32, .v = {2, 1}}}},
    {.name = "its_shape",
     .code = SHAPE,
     BYTE(0, 2),
     .n_in = 1,
     .in = {ROWS},
     .out = {{.shape = "2", .type = KILN_TFW_I32, .v = {3, 2}}}},
};

#define REFUSED(text_) .fails = KILN_ERR_UNSUPPORTED, .text = (text_)

static kiln_tflite_case refused[] = {
    {.name = "weights_that_fold_rows",
     .code = FULLY_CONNECTED,
     .n_in = 2,
     .in = {ROWS, C32("1x4", 1, 1, 1, 1)},
     .out = {F32("2x1", 0)},
     REFUSED("as long as data has it, and its rows are folded; convert the model")},
    {.name = "folded",
     .code = RESHAPE,
     .n_in = 2,
     .in = {ROWS, I32("1", -1)},
     .out = {F32("8", 0)},
     REFUSED("or folds it into others")},
    {.name = "joined_along_itself",
     .code = CONCATENATION,
     INT(0, 0),
     .n_in = 2,
     .in = {LIST, AGAIN},
     .out = {F32("12", 0)},
     REFUSED("and is joined along the very axis")},
    {.name = "of_two_masks",
     .code = ADD,
     .n_in = 2,
     .in = {LIST, LIST},
     .out = {F32("6", 0)},
     REFUSED("and another operand in another way")},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_tflite, taken);
    kiln_test_add_rows(kiln_test_check_tflite, refused);
    return kiln_test_run("tflite_counted");
}
