/* Import of quantisation and of products of quantised tensors: defaults of each
 * version, shapes of scales and zero points, what is refused. */
#include "tests/support/import/import_run.h"

enum { /* TensorProto.DataType */
       U8 = 2,
       I8 = 3,
       I16 = 5,
       I32 = KILN_ONNX_INT32,
       F32 = KILN_ONNX_FLOAT,
       F16 = KILN_ONNX_FLOAT16,
       F8 = 17, /* FLOAT8E4M3FN */
       I4 = 22,
       E8M0 = 24,
       U2 = 25
};

static kiln_test_import_row quantize[] = {
    {"quantize_to_u8_by_default", "QuantizeLinear", 13, "x,s", "y", .out_types = {U8},
     .inputs = {{"x", F32, "2,3"}, {"s", F32, ""}},
     .want = {"quantize_linear(%x, %s) {axis=1, block=0, dtype=u8, precision=f32, "
              "tame=false}"}},
    {"quantize_to_the_zero_points_dtype", "QuantizeLinear", 21, "x,s,z", "y",
     .out_types = {I16},
     .inputs = {{"x", F16, "2,3"}, {"s", F16, "2"}, {"z", I16, "2"}},
     .attrs = {KILN_I_INT("axis", 0)},
     .want = {"{axis=0, block=0, dtype=i16, precision=f16, tame=false} : i16[2,3]"}},
    {"quantize_to_output_dtype_in_blocks", "QuantizeLinear", 25, "x,s", "y",
     .out_types = {I8}, .inputs = {{"x", F32, "2,5"}, {"s", F32, "2,3"}},
     .attrs = {KILN_I_INT("block_size", 2), KILN_I_INT("output_dtype", I8),
               KILN_I_INT("precision", F16)},
     .want = {"{axis=1, block=2, dtype=i8, precision=f16, tame=false} : i8[2,5]"}},
    {"quantize_with_a_list_of_one_zero_point", "QuantizeLinear", 13, "x,s,z", "y",
     .out_types = {U8}, .inputs = {{"x", F32, "3"}, {"s", F32, ""}, {"z", U8, "1"}},
     .want = {"reshape(%z) {shape=[]}"}},
    {"quantize_rejects_two_dtypes", "QuantizeLinear", 21, "x,s,z", "y",
     .out_types = {U8}, .inputs = {{"x", F32, "3"}, {"s", F32, ""}, {"z", U8, ""}},
     .attrs = {KILN_I_INT("output_dtype", I8)}, .fails = KILN_ERR_SHAPE,
     .text = "attribute 'output_dtype' must be that of 'y_zero_point', u8, is i8"},
    {"quantize_to_8_bit_floats", "QuantizeLinear", 21, "x,s", "y", .out_types = {F8},
     .inputs = {{"x", F32, "3"}, {"s", F32, ""}},
     .attrs = {KILN_I_INT("output_dtype", F8)},
     .want = {"quantize_linear(%x, %s) {axis=1, block=0, dtype=f32, precision=f32, "
              "tame=false}",
              "cast_low(", "{to=f8e4m3fn, saturate=true, round=up} : f8e4m3fn[3]"}},
    {"quantize_without_saturation", "QuantizeLinear", 19, "x,s,z", "y",
     .out_types = {F8}, .inputs = {{"x", F16, "3"}, {"s", F16, ""}, {"z", F8, ""}},
     .attrs = {KILN_I_INT("saturate", 0)},
     .want = {"cast(%z) {to=f16}", "dtype=f16, precision=f16, tame=false}",
              "{to=f8e4m3fn, saturate=false, round=up}"}},
    {"quantize_leaves_out_a_zero_point_of_zero", "QuantizeLinear", 19, "x,s,z", "y",
     .out_types = {F8}, .inputs = {{"x", F32, "3"}, {"s", F32, ""}},
     .consts = {{"z", "", F8, 1, .i = {0}}},
     .want = {"quantize_linear(%x, %s) {axis=1, block=0, dtype=f32"}},
    {"quantize_to_i4_with_scales_of_e8m0", "QuantizeLinear", 25, "x,s", "y",
     .out_types = {I4}, .inputs = {{"x", F16, "2,4"}, {"s", E8M0, "2,2"}},
     .attrs = {KILN_I_INT("block_size", 2), KILN_I_INT("output_dtype", I4)},
     .want = {"{axis=1, block=2, dtype=i4, precision=f32, tame=false} : i4[2,4]"}},
    {"quantize_rejects_e8m0", "QuantizeLinear", 25, "x,s", "y", .out_types = {E8M0},
     .inputs = {{"x", F32, "3"}, {"s", F32, ""}},
     .attrs = {KILN_I_INT("output_dtype", E8M0)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "f8e8m0 holds scales: nothing is quantised to it; use Cast"},
    {"dequantize_low_types", "DequantizeLinear", 25, "x,s,z", "y", .out_types = {F32},
     .inputs = {{"x", U2, "2,3"}, {"s", F32, "3"}, {"z", U2, "3"}},
     .want = {"dequantize_linear(%x, %s, %z) {axis=1, block=0, dtype=f32} : f32[2,3]"}},
    {"dequantize_by_e8m0_must_say_to_what", "DequantizeLinear", 25, "x,s", "y",
     .inputs = {{"x", F8, "3"}, {"s", E8M0, ""}}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'output_dtype' must say what scales of f8e8m0 make"},
    {"cast_saturates_by_default", "Cast", 19, "x", "y", .out_types = {F8},
     .inputs = {{"x", F32, "3"}}, .attrs = {KILN_I_INT("to", F8)},
     .want = {"cast_low(%x) {to=f8e4m3fn, saturate=true, round=up} : f8e4m3fn[3]"}},
    {"cast_rounds_as_it_says", "Cast", 24, "x", "y", .out_types = {E8M0},
     .inputs = {{"x", F32, "3"}},
     .attrs = {KILN_I_INT("to", E8M0), KILN_I_INT("saturate", 0),
               KILN_I_TEXT("round_mode", "nearest")},
     .want = {"{to=f8e8m0, saturate=false, round=nearest}"}},
    {"cast_ignores_saturation_of_others", "Cast", 25, "x", "y", .out_types = {I4},
     .inputs = {{"x", F32, "3"}},
     .attrs = {KILN_I_INT("to", I4), KILN_I_INT("saturate", 0)},
     .want = {"cast(%x) {to=i4} : i4[3]"}},
    {"cast_like_takes_the_attributes", "CastLike", 19, "x,l", "y", .out_types = {F8},
     .inputs = {{"x", F16, "3"}, {"l", F8, "1"}}, .attrs = {KILN_I_INT("saturate", 0)},
     .want = {"cast_low(%x) {to=f8e4m3fn, saturate=false, round=up}"}},
    {"cast_rejects_unknown_rounding", "Cast", 24, "x", "y", .out_types = {E8M0},
     .inputs = {{"x", F32, "3"}},
     .attrs = {KILN_I_INT("to", E8M0), KILN_I_TEXT("round_mode", "sideways")},
     .fails = KILN_ERR_PARSE,
     .text = "attribute 'round_mode' must be up, down or nearest, is 'sideways'"},
    {"arithmetic_on_8_bit_floats_is_refused", "Add", 14, "x,z", "y", .out_types = {F8},
     .inputs = {{"x", F8, "3"}, {"z", F8, "3"}}, .fails = KILN_ERR_SHAPE,
     .text = "low-bit types are stored and converted only: cast to f32 or f16 first"},
    {"quantize_rejects_a_missing_scale", "QuantizeLinear", 13, "x", "y",
     .out_types = {U8}, .inputs = {{"x", F32, "3"}}, .fails = KILN_ERR_PARSE,
     .text = "input 1 ('y_scale')"},
    {"quantize_is_not_read_before_10", "QuantizeLinear", 9, "x,s", "y",
     .out_types = {U8}, .inputs = {{"x", F32, "3"}, {"s", F32, ""}},
     .fails = KILN_ERR_UNSUPPORTED, .text = "read from opset 10 on"},
    {"dequantize_to_the_scales_dtype", "DequantizeLinear", 19, "x,s,z", "y",
     .out_types = {F16}, .inputs = {{"x", U8, "2,3"}, {"s", F16, "3"}, {"z", U8, "3"}},
     .want = {"dequantize_linear(%x, %s, %z) {axis=1, block=0, dtype=f16} : f16[2,3]"}},
    {"dequantize_to_output_dtype", "DequantizeLinear", 23, "x,s", "y",
     .inputs = {{"x", I32, "3"}, {"s", F16, ""}},
     .attrs = {KILN_I_INT("output_dtype", F32)}, .want = {"dtype=f32} : f32[3]"}},
    {"dynamic_has_three_results", "DynamicQuantizeLinear", 11, "x", "y,s,z",
     .out_types = {U8, F32, U8}, .inputs = {{"x", F32, "3"}},
     .want = {"reduce_min(%x)", "reduce_max(%x)", "{min=0x0p+0, max=0x1.fep+7}",
              "round(", "quantize_linear(%x,"}},
    {"dynamic_rejects_f16", "DynamicQuantizeLinear", 11, "x", "y,s,z",
     .out_types = {U8, F32, U8}, .inputs = {{"x", F16, "3"}}, .fails = KILN_ERR_SHAPE,
     .text = "input 'x' must be f32, is f16"},
};

#define A23                                                                            \
    { "a", U8, "2,3" }
#define B34                                                                            \
    { "b", I8, "3,4" }
#define X                                                                              \
    { "x", U8, "1,1,3,3" }
#define W                                                                              \
    { "w", U8, "2,1,2,2" }
#define QL_A(zero, scale)                                                              \
    {"a", U8, "2,3"}, {"as", F32, scale}, { "az", U8, zero }
#define QL_B(zero, scale)                                                              \
    {"b", I8, "3,4"}, {"bs", F32, scale}, { "bz", I8, zero }
#define QL_X(scale)                                                                    \
    {"x", U8, "1,1,3,3"}, {"xs", F32, scale}, { "xz", U8, scale }
#define QL_W                                                                           \
    {"w", U8, "2,1,2,2"}, {"ws", F32, "2"}, { "wz", U8, "2" }
#define QL_Y                                                                           \
    {"ys", F32, ""}, { "yz", U8, "" }

static kiln_test_import_row products[] = {
    {"matmul_of_bytes_is_exact", "MatMulInteger", 10, "a,b", "y", .out_types = {I32},
     .inputs = {A23, B34},
     .want = {"cast(%a) {to=i32}", "cast(%b) {to=i32}", "matmul("}, .lacks = "sub("},
    {"matmul_zero_point_per_row", "MatMulInteger", 10, "a,b,z", "y", .out_types = {I32},
     .inputs = {A23, B34, {"z", U8, "2"}},
     .want = {"reshape(%z) {shape=[2, 1]}", "sub(", ": i32[2,4]"}},
    {"matmul_zero_point_per_column", "MatMulInteger", 10, "a,b,,z", "y",
     .out_types = {I32}, .inputs = {A23, B34, {"z", I8, "4"}},
     .want = {"cast(%z) {to=i32}", "sub("}, .lacks = "reshape("},
    {"matmul_rejects_floats", "MatMulInteger", 10, "a,b", "y", .out_types = {I32},
     .inputs = {{"a", F32, "2,3"}, B34}, .fails = KILN_ERR_SHAPE,
     .text = "input 'A' must be i8 or u8, is f32"},
    {"matmul_rejects_zero_of_another_dtype", "MatMulInteger", 10, "a,b,z", "y",
     .out_types = {I32}, .inputs = {A23, B34, {"z", I8, ""}}, .fails = KILN_ERR_SHAPE,
     .text = "the zero point of 'A' must be u8 as it is, is i8"},
    {"matmul_rejects_zero_that_grows_it", "MatMulInteger", 10, "a,b,z", "y",
     .out_types = {I32}, .inputs = {A23, B34, {"z", U8, "5,1,1"}},
     .fails = KILN_ERR_SHAPE,
     .text = "the zero point must broadcast to 'A', must not grow it"},
    {"matmul_rejects_list_for_a_vector", "MatMulInteger", 10, "a,b,z", "y",
     .out_types = {I32}, .inputs = {{"a", U8, "3"}, B34, {"z", U8, "3"}},
     .fails = KILN_ERR_SHAPE, .text = "must have 1 element for operands of rank 1"},
    {"qlinear_matmul_scales_rows_and_columns", "QLinearMatMul", 10,
     "a,as,az,b,bs,bz,ys,yz", "y", .out_types = {U8},
     .inputs = {QL_A("2", "2"), QL_B("4", "4"), QL_Y},
     .want = {"reshape(%as) {shape=[2, 1]}", "matmul(", "mul(", "quantize_linear(",
              ": u8[2,4]"}},
    {"qlinear_matmul_rejects_scales_that_grow_it", "QLinearMatMul", 21,
     "a,as,az,b,bs,bz,ys,yz", "y", .out_types = {U8},
     .inputs = {QL_A("", "5,1,1"), QL_B("", ""), QL_Y}, .fails = KILN_ERR_SHAPE,
     .text = "scales must broadcast to the product, must not grow it"},
    {"conv_of_bytes", "ConvInteger", 10, "x,w,z", "y", .out_types = {I32},
     .inputs = {X, W, {"z", U8, ""}}, .want = {"sub(", "conv(", ": i32[1,2,2,2]"}},
    {"conv_zero_point_per_filter", "ConvInteger", 10, "x,w,,z", "y", .out_types = {I32},
     .inputs = {X, W, {"z", U8, "2"}}, .want = {"reshape(%z) {shape=[2, 1, 1, 1]}"}},
    {"conv_rejects_list_of_zero_points", "ConvInteger", 10, "x,w,z", "y",
     .out_types = {I32}, .inputs = {X, W, {"z", U8, "3"}}, .fails = KILN_ERR_SHAPE,
     .text = "'x' must have 1 element, has 3"},
    {"conv_rejects_other_ranks", "ConvInteger", 10, "x,w", "y", .out_types = {I32},
     .inputs = {X, {"w", U8, "2,1,2"}}, .fails = KILN_ERR_SHAPE,
     .text = "input 'w' must have the rank of 'x', 4, has 3"},
    {"qlinear_conv_scales_channels", "QLinearConv", 10, "x,xs,xz,w,ws,wz,ys,yz", "y",
     .out_types = {U8}, .inputs = {QL_X(""), QL_W, QL_Y},
     .want = {"{shape=[2, 1, 1, 1]}", "{shape=[1, 2, 1, 1]}", "conv(",
              "quantize_linear(", ": u8[1,2,2,2]"}},
    {"qlinear_conv_rejects_scales_of_x", "QLinearConv", 10, "x,xs,xz,w,ws,wz,ys,yz",
     "y", .out_types = {U8}, .inputs = {QL_X("3"), QL_W, QL_Y}, .fails = KILN_ERR_SHAPE,
     .text = "'x' must have 1 element, has 3"},
    {"qlinear_conv_rejects_missing_scale", "QLinearConv", 10, "x,xs,xz,w,ws,wz,,yz",
     "y", .out_types = {U8}, .inputs = {QL_X(""), QL_W, QL_Y}, .fails = KILN_ERR_PARSE,
     .text = "input 6 ('y_scale')"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_import, quantize);
    kiln_test_add_rows(kiln_test_check_import, products);
    return kiln_test_run("onnx_quantize");
}
