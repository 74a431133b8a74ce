/* Gather and scatter in their forms, reverse_sequence, trilu: negative indices, shapes
 * without elements, repeated targets, indices outside. Indices that are constants are
 * checked when the node is built, others when it is evaluated. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/kernel/op_run.h"

#define INF HUGE_VAL
#define QNAN ((double)NAN)

#define X123 KILN_TF(KILN_F32, 1, (3), 1, 2, 3)
#define X23 KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 3, 4, 5, 6)
#define X222 KILN_TF(KILN_F32, 3, (2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7)
#define SCALAR KILN_TF(KILN_F32, 0, (0), 7)
#define INDEX(...) KILN_TI(KILN_I64, 1, (1), __VA_ARGS__)
#define ADD KILN_T_WORD("reduction", "add")
#define MUL KILN_T_WORD("reduction", "mul")
#define MIN KILN_T_WORD("reduction", "min")
#define MAX KILN_T_WORD("reduction", "max")
#define AXIS(v) KILN_T_INT("axis", v)

static kiln_test_op_row gathers[] = {
    {"gather_rows", &kiln_op_gather, .in = {X23, KILN_TI(KILN_I64, 1, (3), 1, 0, -1)},
     .want = KILN_TF(KILN_F32, 2, (3, 3), 4, 5, 6, 1, 2, 3, 4, 5, 6)},
    {"gather_columns_by_matrix", &kiln_op_gather,
     .in = {X23, KILN_TI(KILN_I32, 2, (2, 1), -3, 2)}, .args = {AXIS(-1)},
     .want = KILN_TF(KILN_F32, 3, (2, 2, 1), 1, 3, 4, 6)},
    {"gather_by_scalar", &kiln_op_gather, .in = {X123, KILN_TI(KILN_I64, 0, (0), -2)},
     .want = KILN_TF(KILN_F32, 0, (0), 2)},
    {"gather_no_index", &kiln_op_gather, .in = {X23, KILN_TI(KILN_I64, 1, (0), 0)},
     .want = KILN_TF(KILN_F32, 2, (0, 3), 0)},
    {"gather_empty_rows", &kiln_op_gather,
     .in = {KILN_TF(KILN_F32, 2, (2, 0), 0), INDEX(1)},
     .want = KILN_TF(KILN_F32, 2, (1, 0), 0)},
    {"gather_rejects_index_behind", &kiln_op_gather, .in = {X123, INDEX(3)},
     .fails = KILN_ERR_SHAPE, .is_late = true,
     .text = "index 3 in input 'indices' is outside [-3, 3)"},
    {"gather_rejects_index_before", &kiln_op_gather, .in = {X123, INDEX(INT64_MIN)},
     .fails = KILN_ERR_SHAPE, .is_late = true,
     .text = "index -9223372036854775808 in input 'indices' is outside [-3, 3)"},
    {"gather_rejects_index_of_nothing", &kiln_op_gather,
     .in = {KILN_TF(KILN_F32, 1, (0), 0), INDEX(0)}, .fails = KILN_ERR_SHAPE,
     .is_late = true, .text = "index 0 in input 'indices' is outside [0, 0)"},
    {"gather_rejects_scalar", &kiln_op_gather, .in = {SCALAR, INDEX(0)},
     .fails = KILN_ERR_SHAPE, .text = "must have an axis, is a scalar"},
    {"gather_rejects_axis", &kiln_op_gather, .in = {X23, INDEX(0)}, .args = {AXIS(2)},
     .fails = KILN_ERR_SHAPE, .text = "axis 2 is outside [-2, 2)"},
    {"gather_rejects_float_index", &kiln_op_gather, .in = {X23, X123},
     .fails = KILN_ERR_SHAPE, .text = "input 'indices' must be i32 or i64, is f32"},
    {"elements_of_columns", &kiln_op_gather_elements,
     .in = {X23, KILN_TI(KILN_I64, 2, (1, 3), 1, -2, -1)},
     .want = KILN_TF(KILN_F32, 2, (1, 3), 4, 2, 6)},
    {"elements_of_rows", &kiln_op_gather_elements,
     .in = {X23, KILN_TI(KILN_I32, 2, (2, 4), 0, 0, 2, 1, -1, -2, -3, 0)},
     .args = {AXIS(1)}, .want = KILN_TF(KILN_F32, 2, (2, 4), 1, 1, 3, 2, 6, 5, 4, 4)},
    {"elements_none", &kiln_op_gather_elements,
     .in = {X23, KILN_TI(KILN_I64, 2, (2, 0), 0)}, .args = {AXIS(1)},
     .want = KILN_TF(KILN_F32, 2, (2, 0), 0)},
    {"elements_rejects_rank", &kiln_op_gather_elements, .in = {X23, INDEX(0)},
     .fails = KILN_ERR_SHAPE, .text = "input 'indices' must have rank 2, is i64[1]"},
    {"elements_rejects_longer_axis", &kiln_op_gather_elements,
     .in = {X23, KILN_TI(KILN_I64, 2, (3, 1), 0, 0, 0)}, .args = {AXIS(1)},
     .fails = KILN_ERR_SHAPE,
     .text = "axis 0 of 'indices' must have at most 2 elements, as 'x' has, has 3"},
    {"elements_rejects_index", &kiln_op_gather_elements,
     .in = {X23, KILN_TI(KILN_I64, 2, (1, 1), -3)}, .fails = KILN_ERR_SHAPE,
     .is_late = true, .text = "index -3 in input 'indices' is outside [-2, 2)"},
    {"nd_elements", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 2, (2, 3), 1, 0, 1, -1, -1, -2)},
     .want = KILN_TF(KILN_F32, 1, (2), 5, 6)},
    {"nd_slices", &kiln_op_gather_nd, .in = {X222, KILN_TI(KILN_I32, 2, (1, 1), -2)},
     .want = KILN_TF(KILN_F32, 3, (1, 2, 2), 0, 1, 2, 3)},
    {"nd_one_coordinate", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 1, (3), 1, 1, 0)},
     .want = KILN_TF(KILN_F32, 0, (0), 6)},
    {"nd_in_batches", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 2, (2, 1), 1, 0)},
     .args = {KILN_T_INT("batch_dims", 1)},
     .want = KILN_TF(KILN_F32, 2, (2, 2), 2, 3, 4, 5)},
    {"nd_no_coordinates", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 2, (0, 2), 0)},
     .want = KILN_TF(KILN_F32, 2, (0, 2), 0)},
    {"nd_rejects_index", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 1, (2), 0, 2)}, .fails = KILN_ERR_SHAPE,
     .is_late = true, .text = "index 2 in input 'indices' is outside [-2, 2)"},
    {"nd_rejects_depth", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 1, (4), 0, 0, 0, 0)}, .fails = KILN_ERR_SHAPE,
     .text = "the last axis of 'indices' must have 1 to 3 elements, has 4"},
    {"nd_rejects_no_depth", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 2, (1, 0), 0)}, .fails = KILN_ERR_SHAPE,
     .text = "must have 1 to 3 elements, has 0"},
    {"nd_rejects_batch_dims", &kiln_op_gather_nd, .in = {X222, INDEX(0)},
     .args = {KILN_T_INT("batch_dims", 1)}, .fails = KILN_ERR_SHAPE,
     .text = "batch_dims must be in [0, 1), is 1"},
    {"nd_rejects_other_batch", &kiln_op_gather_nd,
     .in = {X222, KILN_TI(KILN_I64, 2, (3, 1), 0, 0, 0)},
     .args = {KILN_T_INT("batch_dims", 1)}, .fails = KILN_ERR_SHAPE,
     .text = "batch axis 0 must be the same in 'x' and 'indices', has 2 and 3"},
    {"nd_rejects_scalar", &kiln_op_gather_nd, .in = {SCALAR, INDEX(0)},
     .fails = KILN_ERR_SHAPE,
     .text = "inputs 'x' and 'indices' must have rank >= 1, have 0 and 1"},
};

static kiln_test_op_row scatters[] = {
    {"scatter_last_wins", &kiln_op_scatter_elements,
     .in = {X123, KILN_TI(KILN_I64, 1, (3), 1, -2, 0),
            KILN_TF(KILN_F32, 1, (3), 8, 9, QNAN)},
     .want = KILN_TF(KILN_F32, 1, (3), QNAN, 9, 3)},
    {"scatter_rows", &kiln_op_scatter_elements,
     .in = {X23, KILN_TI(KILN_I32, 2, (2, 1), -1, 0),
            KILN_TF(KILN_F32, 2, (2, 1), 10, 20)},
     .args = {AXIS(1)}, .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 10, 20, 5, 6)},
    {"scatter_bools", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_BOOL, 1, (2), 0, 0), INDEX(1), KILN_TI(KILN_BOOL, 1, (1), 1)},
     .want = KILN_TI(KILN_BOOL, 1, (2), 0, 1)},
    {"scatter_nothing", &kiln_op_scatter_elements,
     .in = {X123, KILN_TI(KILN_I64, 1, (0), 0), KILN_TF(KILN_F32, 1, (0), 0)},
     .want = X123},
    {"scatter_add_again", &kiln_op_scatter_elements,
     .in = {X123, KILN_TI(KILN_I64, 1, (3), 0, 0, -3),
            KILN_TF(KILN_F32, 1, (3), 10, 100, 1000)},
     .args = {ADD}, .want = KILN_TF(KILN_F32, 1, (3), 1111, 2, 3)},
    {"scatter_add_wraps", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_I8, 1, (1), 100), INDEX(0), KILN_TI(KILN_I8, 1, (1), 100)},
     .args = {ADD}, .want = KILN_TI(KILN_I8, 1, (1), -56)},
    {"scatter_mul_of_largest_i64", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_I64, 1, (1), INT64_MAX), INDEX(0), INDEX(INT64_MAX)},
     .args = {MUL}, .want = KILN_TI(KILN_I64, 1, (1), 1)},
    {"scatter_min_takes_nan", &kiln_op_scatter_elements,
     .in = {KILN_TF(KILN_F32, 1, (3), QNAN, 1, 1), KILN_TI(KILN_I64, 1, (3), 0, 1, 2),
            KILN_TF(KILN_F32, 1, (3), -INF, QNAN, 0)},
     .args = {MIN}, .want = KILN_TF(KILN_F32, 1, (3), QNAN, QNAN, 0)},
    {"scatter_max_takes_nan", &kiln_op_scatter_elements,
     .in = {KILN_TF(KILN_F32, 1, (3), QNAN, 1, 1), KILN_TI(KILN_I64, 1, (3), 0, 1, 2),
            KILN_TF(KILN_F32, 1, (3), INF, QNAN, 2)},
     .args = {MAX}, .want = KILN_TF(KILN_F32, 1, (3), QNAN, QNAN, 2)},
    {"scatter_max_of_u64", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_U64, 1, (2), 1, -1), KILN_TI(KILN_I64, 1, (2), 0, 1),
            KILN_TI(KILN_U64, 1, (2), -2, 5)},
     .args = {MAX}, .want = KILN_TI(KILN_U64, 1, (2), -2, -1)},
    {"scatter_min_of_u64", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_U64, 1, (2), 1, -1), KILN_TI(KILN_I64, 1, (2), 0, 1),
            KILN_TI(KILN_U64, 1, (2), -2, 5)},
     .args = {MIN}, .want = KILN_TI(KILN_U64, 1, (2), 1, 5)},
    {"scatter_rejects_index", &kiln_op_scatter_elements,
     .in = {X123, INDEX(-4), INDEX(0)}, .fails = KILN_ERR_SHAPE, .text = "'updates'"},
    {"scatter_rejects_index_outside", &kiln_op_scatter_elements,
     .in = {X123, INDEX(-4), KILN_TF(KILN_F32, 1, (1), 0)}, .fails = KILN_ERR_SHAPE,
     .is_late = true, .text = "index -4 in input 'indices' is outside [-3, 3)"},
    {"scatter_rejects_shapes", &kiln_op_scatter_elements, .in = {X123, INDEX(0), X123},
     .fails = KILN_ERR_SHAPE,
     .text = "inputs 'indices' and 'updates' must have one shape, are i64[1] and "
             "f32[3]"},
    {"scatter_rejects_sum_of_bools", &kiln_op_scatter_elements,
     .in = {KILN_TI(KILN_BOOL, 1, (1), 0), INDEX(0), KILN_TI(KILN_BOOL, 1, (1), 1)},
     .args = {ADD}, .fails = KILN_ERR_SHAPE, .text = "is bool"},
    {"scatter_rejects_word", &kiln_op_scatter_elements,
     .in = {X123, INDEX(0), KILN_TF(KILN_F32, 1, (1), 0)},
     .args = {KILN_T_WORD("reduction", "mean")}, .fails = KILN_ERR_ARG,
     .text = "'mean'"},
    {"scatter_nd_slices", &kiln_op_scatter_nd,
     .in = {X23, KILN_TI(KILN_I64, 2, (2, 1), 1, -1),
            KILN_TF(KILN_F32, 2, (2, 3), 7, 8, 9, 10, 11, 12)},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 3, 10, 11, 12)},
    {"scatter_nd_element", &kiln_op_scatter_nd,
     .in = {X23, KILN_TI(KILN_I32, 1, (2), 1, -2), SCALAR},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 3, 4, 7, 6)},
    {"scatter_nd_adds_again", &kiln_op_scatter_nd,
     .in = {X123, KILN_TI(KILN_I64, 2, (3, 1), 2, 2, 0),
            KILN_TF(KILN_F32, 1, (3), 10, 100, 1000)},
     .args = {ADD}, .want = KILN_TF(KILN_F32, 1, (3), 1001, 2, 113)},
    {"scatter_nd_rejects_updates", &kiln_op_scatter_nd,
     .in = {X23, KILN_TI(KILN_I64, 2, (2, 1), 0, 1), X123}, .fails = KILN_ERR_SHAPE,
     .text = "input 'updates' must have shape [2,3], is f32[3]"},
    {"scatter_nd_rejects_index", &kiln_op_scatter_nd,
     .in = {X23, KILN_TI(KILN_I64, 1, (2), 0, 3), SCALAR}, .fails = KILN_ERR_SHAPE,
     .is_late = true, .text = "index 3 in input 'indices' is outside [-3, 3)"},
    {"scatter_nd_rejects_dtype", &kiln_op_scatter_nd,
     .in = {X123, INDEX(0), KILN_TI(KILN_I32, 0, (0), 1)}, .fails = KILN_ERR_SHAPE,
     .text = "'updates'"},
};

#define AXES(batch, time)                                                              \
    { KILN_T_INT("batch_axis", batch), KILN_T_INT("time_axis", time) }
#define TRI(is_upper, diagonal)                                                        \
    { KILN_T_BOOL("upper", is_upper), KILN_T_INT("k", diagonal) }

static kiln_test_op_row orders[] = {
    {"reverse_rows", &kiln_op_reverse_sequence,
     .in = {X23, KILN_TI(KILN_I64, 1, (2), 2, 3)}, .args = AXES(0, 1),
     .want = KILN_TF(KILN_F32, 2, (2, 3), 2, 1, 3, 6, 5, 4)},
    {"reverse_columns_by_default", &kiln_op_reverse_sequence,
     .in = {X23, KILN_TI(KILN_I32, 1, (3), 0, 1, 2)},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 6, 4, 5, 3)},
    {"reverse_with_axis_between", &kiln_op_reverse_sequence,
     .in = {X222, KILN_TI(KILN_I64, 1, (2), 2, 0)}, .args = AXES(-1, 0),
     .want = KILN_TF(KILN_F32, 3, (2, 2, 2), 4, 1, 6, 3, 0, 5, 2, 7)},
    {"reverse_no_batch", &kiln_op_reverse_sequence,
     .in = {KILN_TF(KILN_F32, 2, (2, 0), 0), KILN_TI(KILN_I64, 1, (0), 0)},
     .want = KILN_TF(KILN_F32, 2, (2, 0), 0)},
    {"reverse_rejects_long", &kiln_op_reverse_sequence,
     .in = {X23, KILN_TI(KILN_I64, 1, (2), 1, 4)}, .args = AXES(0, 1),
     .fails = KILN_ERR_SHAPE, .is_late = true,
     .text = "length 4 in input 'lens' is outside [0, 3]"},
    {"reverse_rejects_negative", &kiln_op_reverse_sequence,
     .in = {X23, KILN_TI(KILN_I64, 1, (2), 1, -1)}, .args = AXES(0, 1),
     .fails = KILN_ERR_SHAPE, .is_late = true, .text = "length -1 in input 'lens'"},
    {"reverse_rejects_one_axis", &kiln_op_reverse_sequence,
     .in = {X23, KILN_TI(KILN_I64, 1, (3), 1, 1, 1)}, .args = AXES(1, -1),
     .fails = KILN_ERR_SHAPE,
     .text = "batch_axis and time_axis must differ, both are 1"},
    {"reverse_rejects_count", &kiln_op_reverse_sequence, .in = {X23, INDEX(1)},
     .args = AXES(0, 1), .fails = KILN_ERR_SHAPE,
     .text = "input 'lens' must have 2 elements, one per batch, has 1"},
    {"trilu_upper", &kiln_op_trilu, .in = {X23},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 3, 0, 5, 6)},
    {"trilu_lower", &kiln_op_trilu, .in = {X23}, .args = TRI(0, 0),
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 0, 0, 4, 5, 0)},
    {"trilu_upper_below_diagonal", &kiln_op_trilu, .in = {X23}, .args = TRI(1, -1),
     .want = X23},
    {"trilu_lower_nothing", &kiln_op_trilu, .in = {X23}, .args = TRI(0, INT64_MIN),
     .want = KILN_TF(KILN_F32, 2, (2, 3), 0)},
    {"trilu_upper_nothing", &kiln_op_trilu, .in = {X23}, .args = TRI(1, INT64_MAX),
     .want = KILN_TF(KILN_F32, 2, (2, 3), 0)},
    {"trilu_drops_nan", &kiln_op_trilu,
     .in = {KILN_TF(KILN_F32, 2, (2, 2), QNAN, 1, QNAN, INF)},
     .want = KILN_TF(KILN_F32, 2, (2, 2), QNAN, 1, 0, INF)},
    {"trilu_each_matrix", &kiln_op_trilu,
     .in = {KILN_TI(KILN_BOOL, 3, (2, 2, 2), 1, 1, 1, 1, 1, 1, 1, 1)},
     .args = TRI(1, 1),
     .want = KILN_TI(KILN_BOOL, 3, (2, 2, 2), 0, 1, 0, 0, 0, 1, 0, 0)},
    {"trilu_of_nothing", &kiln_op_trilu, .in = {KILN_TF(KILN_F32, 2, (2, 0), 0)},
     .want = KILN_TF(KILN_F32, 2, (2, 0), 0)},
    {"trilu_rejects_list", &kiln_op_trilu, .in = {X123}, .fails = KILN_ERR_SHAPE,
     .text = "input 'x' must have rank >= 2, has 1"},
};

/* ---- constant indices ---- */

typedef struct constant_row {
    const char *name, *node;
    const char *text; /* KILN_ERR_SHAPE; NULL: fine */
} constant_row;

static constant_row constants[] = {
    {"constant_index_inside", "gather(%x, %i) {axis=1} : f32[2,2]", NULL},
    {"constant_index_outside", "gather(%x, %i) {axis=0} : f32[2,3]",
     "index 2 in input 'indices' is outside [-2, 2)"},
    {"constant_i32_outside", "gather_elements(%x, %narrow) {axis=1} : f32[1,1]",
     "index 3 in input 'indices' is outside [-3, 3)"},
    {"constant_coordinates_inside", "gather_nd(%x, %pair) {batch_dims=0} : f32[]",
     NULL},
    {"constant_coordinate_outside",
     "scatter_nd(%x, %turned, %value) {reduction=none} : f32[2,3]",
     "index 2 in input 'indices' is outside [-2, 2)"},
};

static void check_constant(void **state) {
    const constant_row *row = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *text = kiln_format(a,
                                   "graph \"g\" {\n"
                                   "  input %%x : f32[2,3]\n"
                                   "  const %%i : i64[2] = {2, -3}\n"
                                   "  const %%narrow : i32[1,1] = {3}\n"
                                   "  const %%pair : i64[2] = {1, 2}\n"
                                   "  const %%turned : i64[2] = {2, 1}\n"
                                   "  const %%value : f32[] = {1}\n"
                                   "  %%y = %s\n"
                                   "  output %%y\n"
                                   "}\n",
                                   row->node);
    kiln_status st = kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err);
    if (st == KILN_OK)
        st = kiln_graph_verify(g, &err);
    if (row->text != NULL)
        kiln_assert_fails(st, KILN_ERR_SHAPE, &err, row->text);
    else
        kiln_assert_status_ok(st, &err);
}

int main(void) {
    kiln_test_add_rows(kiln_test_check_op, gathers);
    kiln_test_add_rows(kiln_test_check_op, scatters);
    kiln_test_add_rows(kiln_test_check_op, orders);
    kiln_test_add_rows(check_constant, constants);
    return kiln_test_run("index");
}
