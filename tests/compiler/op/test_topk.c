/* Topk: order among equal elements, NaN, infinities, zeros of both signs, unsigned
 * integers, axes, no elements, rejections. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/kernel/op_run.h"

#define INF HUGE_VAL
#define QNAN ((double)NAN)

#define K(v) KILN_T_INT("k", v)
#define AXIS(v) KILN_T_INT("axis", v)
#define SMALLEST KILN_T_BOOL("largest", 0)
#define UNSORTED KILN_T_BOOL("sorted", 0)
#define TIES KILN_TF(KILN_F32, 1, (6), 2, 1, 2, 3, 1, 2)
#define SPECIAL KILN_TF(KILN_F32, 1, (5), 1, QNAN, -INF, INF, QNAN)

static kiln_test_op_row rows[] = {
    {"largest_first_of_equals", &kiln_op_topk, .in = {TIES}, .args = {K(3)},
     .want = KILN_TF(KILN_F32, 1, (3), 3, 2, 2),
     .also = KILN_TI(KILN_I64, 1, (3), 3, 0, 2)},
    {"smallest_first_of_equals", &kiln_op_topk, .in = {TIES}, .args = {K(4), SMALLEST},
     .want = KILN_TF(KILN_F32, 1, (4), 1, 1, 2, 2),
     .also = KILN_TI(KILN_I64, 1, (4), 1, 4, 0, 2)},
    {"all_of_equals_in_order", &kiln_op_topk,
     .in = {KILN_TI(KILN_I32, 1, (4), 5, 5, 5, 5)}, .args = {K(4)},
     .want = KILN_TI(KILN_I32, 1, (4), 5, 5, 5, 5),
     .also = KILN_TI(KILN_I64, 1, (4), 0, 1, 2, 3)},
    {"unsorted_is_sorted_here", &kiln_op_topk, .in = {TIES}, .args = {K(2), UNSORTED},
     .want = KILN_TF(KILN_F32, 1, (2), 3, 2), .also = KILN_TI(KILN_I64, 1, (2), 3, 0)},
    {"nan_is_largest", &kiln_op_topk, .in = {SPECIAL}, .args = {K(3)},
     .want = KILN_TF(KILN_F32, 1, (3), QNAN, QNAN, INF),
     .also = KILN_TI(KILN_I64, 1, (3), 1, 4, 3)},
    {"nan_is_smallest_of_none", &kiln_op_topk, .in = {SPECIAL},
     .args = {K(4), SMALLEST}, .want = KILN_TF(KILN_F32, 1, (4), -INF, 1, INF, QNAN),
     .also = KILN_TI(KILN_I64, 1, (4), 2, 0, 3, 1)},
    {"negative_nan_is_largest_too", &kiln_op_topk,
     .in = {KILN_TF(KILN_F64, 1, (2), INF, -QNAN)}, .args = {K(1)},
     .want = KILN_TF(KILN_F64, 1, (1), QNAN), .also = KILN_TI(KILN_I64, 1, (1), 1)},
    {"zeros_are_equal", &kiln_op_topk, .in = {KILN_TF(KILN_F32, 1, (3), -0.0, 0, -0.0)},
     .args = {K(3)}, .want = KILN_TF(KILN_F32, 1, (3), -0.0, 0, -0.0),
     .also = KILN_TI(KILN_I64, 1, (3), 0, 1, 2)},
    {"negative_numbers_and_subnormals", &kiln_op_topk,
     .in = {KILN_TF(KILN_F64, 1, (4), -1, -0x1p-1074, -2, 0x1p-1074)}, .args = {K(4)},
     .want = KILN_TF(KILN_F64, 1, (4), 0x1p-1074, -0x1p-1074, -1, -2),
     .also = KILN_TI(KILN_I64, 1, (4), 3, 1, 0, 2)},
    {"u64_is_unsigned", &kiln_op_topk,
     .in = {KILN_TI(KILN_U64, 1, (3), 1, -1, INT64_MIN)}, .args = {K(2)},
     .want = KILN_TI(KILN_U64, 1, (2), -1, INT64_MIN),
     .also = KILN_TI(KILN_I64, 1, (2), 1, 2)},
    {"i64_is_signed", &kiln_op_topk,
     .in = {KILN_TI(KILN_I64, 1, (3), -1, INT64_MIN, INT64_MAX)},
     .args = {K(3), SMALLEST},
     .want = KILN_TI(KILN_I64, 1, (3), INT64_MIN, -1, INT64_MAX),
     .also = KILN_TI(KILN_I64, 1, (3), 1, 0, 2)},
    {"first_axis", &kiln_op_topk, .in = {KILN_TI(KILN_I8, 2, (3, 2), 1, 6, 5, 2, 3, 4)},
     .args = {K(2), AXIS(0)}, .want = KILN_TI(KILN_I8, 2, (2, 2), 5, 6, 3, 4),
     .also = KILN_TI(KILN_I64, 2, (2, 2), 1, 0, 2, 2)},
    {"middle_axis_from_the_end", &kiln_op_topk,
     .in = {KILN_TF(KILN_F32, 3, (2, 2, 2), 1, 4, 3, 2, 5, 5, 5, 6)},
     .args = {K(1), AXIS(-2)}, .want = KILN_TF(KILN_F32, 3, (2, 1, 2), 3, 4, 5, 6),
     .also = KILN_TI(KILN_I64, 3, (2, 1, 2), 1, 0, 0, 1)},
    {"k_0", &kiln_op_topk, .in = {TIES}, .args = {K(0)},
     .want = KILN_TF(KILN_F32, 1, (0), 0), .also = KILN_TI(KILN_I64, 1, (0), 0)},
    {"no_lanes", &kiln_op_topk, .in = {KILN_TF(KILN_F32, 2, (0, 3), 0)}, .args = {K(2)},
     .want = KILN_TF(KILN_F32, 2, (0, 2), 0), .also = KILN_TI(KILN_I64, 2, (0, 2), 0)},
    {"empty_lanes", &kiln_op_topk, .in = {KILN_TF(KILN_F32, 2, (2, 0), 0)},
     .args = {K(0)}, .want = KILN_TF(KILN_F32, 2, (2, 0), 0),
     .also = KILN_TI(KILN_I64, 2, (2, 0), 0)},
    {"rejects_k_beyond_axis", &kiln_op_topk, .in = {TIES}, .args = {K(7)},
     .fails = KILN_ERR_SHAPE, .text = "k must be in [0, 6], is 7"},
    {"rejects_negative_k", &kiln_op_topk, .in = {TIES}, .args = {K(-1)},
     .fails = KILN_ERR_SHAPE, .text = "k must be in [0, 6], is -1"},
    {"rejects_axis", &kiln_op_topk, .in = {TIES}, .args = {K(1), AXIS(1)},
     .fails = KILN_ERR_SHAPE, .text = "axis 1 is outside [-1, 1)"},
    {"rejects_scalar", &kiln_op_topk, .in = {KILN_TF(KILN_F32, 0, (0), 1)},
     .args = {K(1)}, .fails = KILN_ERR_SHAPE, .text = "must have an axis, is a scalar"},
    {"rejects_bool", &kiln_op_topk, .in = {KILN_TI(KILN_BOOL, 1, (1), 1)},
     .args = {K(1)}, .fails = KILN_ERR_SHAPE, .text = "is bool"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_op, rows);
    return kiln_test_run("topk");
}
