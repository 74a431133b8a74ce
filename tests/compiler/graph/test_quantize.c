/* Quantize_linear and dequantize_linear: rounding, saturation, special values, the
 * precision of the division, scales per tensor, axis and block, rejections. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/op_run.h"

#define INF HUGE_VAL
#define QNAN ((double)NAN)

#define SCALE(v) KILN_TF(KILN_F32, 0, (0), v)
#define X123 KILN_TF(KILN_F32, 1, (3), 1, 2, 3)
#define Q123 KILN_TI(KILN_U8, 1, (3), 1, 2, 3)
#define X24 KILN_TF(KILN_F32, 2, (2, 4), 1, 2, 3, 4, 5, 6, 7, 8)
#define Q23 KILN_TI(KILN_I8, 2, (2, 3), 1, 2, 3, -1, -2, -128)
#define U8 KILN_T_DTYPE("dtype", KILN_U8)
#define I8 KILN_T_DTYPE("dtype", KILN_I8)
#define I16 KILN_T_DTYPE("dtype", KILN_I16)
#define U16 KILN_T_DTYPE("dtype", KILN_U16)
#define F16 KILN_T_DTYPE("dtype", KILN_F16)
#define F32 KILN_T_DTYPE("dtype", KILN_F32)
#define AXIS(v) KILN_T_INT("axis", v)
#define BLOCK(v) KILN_T_INT("block", v)

static kiln_test_op_row quantize[] = {
    {"halves_go_to_even", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (6), -3, -1, 1, 3, 5, 7), SCALE(2)}, .args = {I8},
     .want = KILN_TI(KILN_I8, 1, (6), -2, 0, 0, 2, 2, 4)},
    {"rounds_before_zero_point", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), 1, 3), SCALE(2), KILN_TI(KILN_U8, 0, (0), 1)},
     .args = {U8}, .want = KILN_TI(KILN_U8, 1, (2), 1, 3)},
    {"saturates_u8", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (5), -1, 255, 256, INF, -INF), SCALE(1)}, .args = {U8},
     .want = KILN_TI(KILN_U8, 1, (5), 0, 255, 255, 255, 0)},
    {"saturates_i8_around_zero_point", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (4), -300, -228, 27, 28), SCALE(1),
            KILN_TI(KILN_I8, 0, (0), 100)},
     .args = {I8}, .want = KILN_TI(KILN_I8, 1, (4), -128, -128, 127, 127)},
    {"saturates_i16", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), 1e30, -1e30), SCALE(1)}, .args = {I16},
     .want = KILN_TI(KILN_I16, 1, (2), INT16_MAX, INT16_MIN)},
    {"saturates_u16", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), 1e30, -1e30), SCALE(1)}, .args = {U16},
     .want = KILN_TI(KILN_U16, 1, (2), UINT16_MAX, 0)},
    {"nan_is_smallest", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), QNAN, -QNAN), SCALE(1)}, .args = {I8},
     .want = KILN_TI(KILN_I8, 1, (2), -128, -128)},
    {"scale_0_saturates", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (3), 1, -1, 0), SCALE(0)}, .args = {I8},
     .want = KILN_TI(KILN_I8, 1, (3), 127, -128, -128)},
    {"negative_scale", &kiln_op_quantize_linear, .in = {X123, SCALE(-0.5)},
     .args = {I8}, .want = KILN_TI(KILN_I8, 1, (3), -2, -4, -6)},
    {"of_integers", &kiln_op_quantize_linear,
     .in = {KILN_TI(KILN_I32, 1, (3), -7, 10, INT32_MAX), SCALE(4)}, .args = {I8},
     .want = KILN_TI(KILN_I8, 1, (3), -2, 2, 127)},
    /* 6150 is between 6148 and 6152 in f16. */
    {"quotient_in_f16", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), 2049, 6150), SCALE(2)},
     .args = {I16, KILN_T_DTYPE("precision", KILN_F16)},
     .want = KILN_TI(KILN_I16, 1, (2), 1024, 3076)},
    {"quotient_in_f32", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 1, (2), 2051, 6150), SCALE(2)}, .args = {I16},
     .want = KILN_TI(KILN_I16, 1, (2), 1026, 3075)},
    {"per_column", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 1, (4), 1, 2, 0.5, -1),
            KILN_TI(KILN_I8, 1, (4), 0, 10, 20, 30)},
     .args = {I8}, .want = KILN_TI(KILN_I8, 2, (2, 4), 1, 11, 26, 26, 5, 13, 34, 22)},
    {"per_row_from_the_end", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 1, (2), 1, 0.1)}, .args = {U8, AXIS(-2)},
     .want = KILN_TI(KILN_U8, 2, (2, 4), 1, 2, 3, 4, 50, 60, 70, 80)},
    {"per_block", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 2, (2, 2), 1, 0.5, 0.25, -1),
            KILN_TI(KILN_I8, 2, (2, 2), 0, 1, 2, 3)},
     .args = {I8, AXIS(1), BLOCK(3)},
     .want = KILN_TI(KILN_I8, 2, (2, 4), 1, 2, 3, 9, 22, 26, 30, -5)},
    {"per_block_of_rows", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 2, (3, 2), 1, 2, 3, 4, 5, 6),
            KILN_TF(KILN_F32, 2, (2, 2), 1, 0.5, 5, 2)},
     .args = {U8, AXIS(0), BLOCK(2)},
     .want = KILN_TI(KILN_U8, 2, (3, 2), 1, 4, 3, 8, 1, 3)},
    {"scalar", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 0, (0), 9), KILN_TF(KILN_F32, 1, (1), 3)}, .args = {U8},
     .want = KILN_TI(KILN_U8, 0, (0), 3)},
    {"nothing", &kiln_op_quantize_linear,
     .in = {KILN_TF(KILN_F32, 2, (2, 0), 0), KILN_TF(KILN_F32, 1, (0), 0)},
     .args = {U8}, .want = KILN_TI(KILN_U8, 2, (2, 0), 0)},
    {"rejects_wide_result", &kiln_op_quantize_linear, .in = {X123, SCALE(1)},
     .args = {KILN_T_DTYPE("dtype", KILN_I32)}, .fails = KILN_ERR_SHAPE,
     .text = "dtype must be i8, u8, i16 or u16, is i32"},
    {"rejects_integer_precision", &kiln_op_quantize_linear, .in = {X123, SCALE(1)},
     .args = {U8, KILN_T_DTYPE("precision", KILN_I32)}, .fails = KILN_ERR_SHAPE,
     .text = "precision must be a float dtype, is i32"},
    {"rejects_zero_dtype", &kiln_op_quantize_linear,
     .in = {X123, SCALE(1), KILN_TI(KILN_I8, 0, (0), 0)}, .args = {U8},
     .fails = KILN_ERR_SHAPE, .text = "input 'zero' must be u8, is i8"},
    {"rejects_zero_shape", &kiln_op_quantize_linear,
     .in = {X123, SCALE(1), KILN_TI(KILN_U8, 1, (1), 0)}, .args = {U8},
     .fails = KILN_ERR_SHAPE, .text = "inputs 'scale' and 'zero' must have one shape"},
    {"rejects_scale_count", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 1, (3), 1, 1, 1)}, .args = {U8},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'scale' must have shape [4] or 1 element, is f32[3]"},
    {"rejects_block_count", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 2, (2, 1), 1, 1)}, .args = {U8, BLOCK(2)},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'scale' must have shape [2,2], is f32[2,1]"},
    {"rejects_negative_block", &kiln_op_quantize_linear, .in = {X24, SCALE(1)},
     .args = {U8, BLOCK(-1)}, .fails = KILN_ERR_SHAPE,
     .text = "block must be >= 0, is -1"},
    {"rejects_axis", &kiln_op_quantize_linear,
     .in = {X24, KILN_TF(KILN_F32, 1, (4), 1, 1, 1, 1)}, .args = {U8, AXIS(2)},
     .fails = KILN_ERR_SHAPE, .text = "axis 2 is outside [-2, 2)"},
    {"rejects_scales_of_scalar", &kiln_op_quantize_linear,
     .in = {SCALE(1), KILN_TF(KILN_F32, 1, (2), 1, 1)}, .args = {U8},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'scale' must have 1 element for a scalar 'x'"},
    {"rejects_integer_scale", &kiln_op_quantize_linear, .in = {X123, Q123},
     .args = {U8}, .fails = KILN_ERR_SHAPE, .text = "input 'scale' must be"},
};

static kiln_test_op_row dequantize[] = {
    {"per_tensor", &kiln_op_dequantize_linear,
     .in = {Q123, SCALE(0.5), KILN_TI(KILN_U8, 0, (0), 2)}, .args = {F32},
     .want = KILN_TF(KILN_F32, 1, (3), -0.5, 0, 0.5)},
    {"no_zero_point", &kiln_op_dequantize_linear, .in = {Q123, SCALE(-2)},
     .args = {F32}, .want = KILN_TF(KILN_F32, 1, (3), -2, -4, -6)},
    {"difference_is_not_wrapped", &kiln_op_dequantize_linear,
     .in = {KILN_TI(KILN_I8, 1, (1), -128), SCALE(1), KILN_TI(KILN_I8, 0, (0), 127)},
     .args = {F32}, .want = KILN_TF(KILN_F32, 1, (1), -255)},
    {"difference_of_i32", &kiln_op_dequantize_linear,
     .in = {KILN_TI(KILN_I32, 1, (1), INT32_MIN), SCALE(1),
            KILN_TI(KILN_I32, 0, (0), INT32_MAX)},
     .args = {F32}, .want = KILN_TF(KILN_F32, 1, (1), -0x1p32)},
    {"u16_to_f16_overflows", &kiln_op_dequantize_linear,
     .in = {KILN_TI(KILN_U16, 1, (2), 65535, 0), KILN_TF(KILN_F16, 0, (0), 1)},
     .args = {F16}, .want = KILN_TF(KILN_F16, 1, (2), INF, 0)},
    {"nan_scale", &kiln_op_dequantize_linear,
     .in = {KILN_TI(KILN_U8, 1, (2), 0, 1), SCALE(QNAN)}, .args = {F32},
     .want = KILN_TF(KILN_F32, 1, (2), QNAN, QNAN)},
    {"dq_per_column", &kiln_op_dequantize_linear,
     .in = {Q23, KILN_TF(KILN_F32, 1, (3), 1, 2, 4), KILN_TI(KILN_I8, 1, (3), 0, 1, 2)},
     .args = {F32}, .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 4, -1, -6, -520)},
    {"dq_per_row", &kiln_op_dequantize_linear,
     .in = {Q23, KILN_TF(KILN_F32, 1, (2), 10, -1)}, .args = {F32, AXIS(0)},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 10, 20, 30, 1, 2, 128)},
    {"dq_per_block_with_rest", &kiln_op_dequantize_linear,
     .in = {Q23, KILN_TF(KILN_F32, 2, (2, 2), 1, 10, 100, 0.5)},
     .args = {F32, AXIS(-1), BLOCK(2)},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 30, -100, -200, -64)},
    {"dq_block_of_everything", &kiln_op_dequantize_linear,
     .in = {Q23, KILN_TF(KILN_F32, 2, (2, 1), 1, 2)},
     .args = {F32, AXIS(1), BLOCK(INT64_MAX)},
     .want = KILN_TF(KILN_F32, 2, (2, 3), 1, 2, 3, -2, -4, -256)},
    {"dq_nothing", &kiln_op_dequantize_linear,
     .in = {KILN_TI(KILN_U8, 1, (0), 0), SCALE(1)}, .args = {F32},
     .want = KILN_TF(KILN_F32, 1, (0), 0)},
    {"dq_rejects_integer_result", &kiln_op_dequantize_linear, .in = {Q123, SCALE(1)},
     .args = {U8}, .fails = KILN_ERR_SHAPE,
     .text = "dtype must be a float dtype, is u8"},
    {"dq_rejects_float_input", &kiln_op_dequantize_linear, .in = {X123, SCALE(1)},
     .args = {F32}, .fails = KILN_ERR_SHAPE, .text = "is f32"},
    {"dq_rejects_zero_dtype", &kiln_op_dequantize_linear,
     .in = {Q123, SCALE(1), KILN_TI(KILN_I8, 0, (0), 0)}, .args = {F32},
     .fails = KILN_ERR_SHAPE, .text = "input 'zero' must be u8, is i8"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_op, quantize);
    kiln_test_add_rows(kiln_test_check_op, dequantize);
    return kiln_test_run("quantize");
}
