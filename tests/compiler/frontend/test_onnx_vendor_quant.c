/* Import of ONNX Runtime's own operators on quantised tensors: numbers small enough to
 * be checked by hand, ties among them, and what is refused. */
#include "tests/support/import/import_value.h"

enum { F32 = KILN_ONNX_FLOAT, I32 = KILN_ONNX_INT32, U8 = 2, I8 = 3, I16 = 5 };

#define X(t, s, ...)                                                                   \
    {                                                                                  \
        .type = (t), .shape = (s), .v = { __VA_ARGS__ }                                \
    }
#define CONST(t, s, ...)                                                               \
    { .type = (t), .shape = (s), .v = {__VA_ARGS__}, .is_const = true }
#define NONE                                                                           \
    { .type = 0 }
#define S(v) X(F32, "", v)
#define Z(v) X(U8, "", v)
#define WANT(n, ...) .n_want = (n), .want = {__VA_ARGS__}

static kiln_test_value_row elements[] = {
    {"add", "QLinearAdd",
     .in = {X(U8, "2", 10, 250), S(1), Z(0), X(U8, "2", 5, 250), S(2), Z(1), S(2),
            Z(3)},
     WANT(2, 12, 255)},
    {"add_rounds_with_the_zero_point", "QLinearAdd",
     .in = {X(U8, "2", 1, 3), S(1), Z(0), X(U8, "1", 7), S(1), Z(7), S(2), Z(3)},
     WANT(2, 4, 4)}, /* 3.5 and 4.5 */
    {"add_of_i8", "QLinearAdd",
     .in = {X(I8, "1", -100), S(1), NONE, X(I8, "1", -100), S(1), NONE, S(1), NONE},
     WANT(1, -128)},
    {"add_rejects_zero_of_another_dtype", "QLinearAdd",
     .in = {X(I8, "1", 1), S(1), Z(0), X(I8, "1", 1), S(1), NONE, S(1), NONE},
     .fails = KILN_ERR_SHAPE,
     .text = "the zero point of 'A' must be i8 as it is, is u8"},
    {"add_rejects_a_missing_scale", "QLinearAdd",
     .in = {X(I8, "1", 1), NONE, NONE, X(I8, "1", 1), S(1)}, .fails = KILN_ERR_PARSE,
     .text = "input 1 ('A_scale')"},
    {"add_rejects_floats", "QLinearAdd",
     .in = {X(F32, "1", 1), S(1), NONE, X(F32, "1", 1), S(1), NONE, S(1), NONE},
     .fails = KILN_ERR_SHAPE, .text = "must be i8, u8, i16 or u16, is f32"},
    {"add_rejects_a_float_zero", "QLinearAdd",
     .in = {X(U8, "1", 1), S(1), NONE, X(U8, "1", 1), S(1), NONE, S(1), S(3)},
     .fails = KILN_ERR_SHAPE,
     .text = "a zero point must be i8, u8, i16 or u16, is f32"},
    {"add_rejects_lists_of_scales", "QLinearAdd",
     .in = {X(U8, "2", 1, 2), X(F32, "2", 1, 2), NONE, X(U8, "1", 1), S(1), NONE, S(1)},
     .fails = KILN_ERR_SHAPE,
     .text = "scale and zero point of 'A' must have 1 element"},
    {"mul", "QLinearMul",
     .in = {X(U8, "2", 3, 2), S(0.5), Z(0), X(U8, "1", 5), S(0.5), Z(0), S(1), Z(0)},
     WANT(2, 4, 2)}, /* 3.75 and 2.5 */
    {"sigmoid", "QLinearSigmoid",
     .in = {X(U8, "1", 9), S(1), Z(9), S(0.00390625), Z(0)}, WANT(1, 128)},
    {"leaky_relu", "QLinearLeakyRelu",
     .in = {X(I8, "2", -10, 10), S(1), NONE, S(1), NONE},
     .attrs = {KILN_I_FLOAT("alpha", 0.5)}, WANT(2, -5, 10)},
    {"softmax_takes_whole_steps", "QLinearSoftmax",
     .in = {X(U8, "1,2", 7, 7), S(1), Z(0), S(0.003), Z(1)},
     .attrs = {KILN_I_INT("opset", 13)}, WANT(2, 167, 167)}, /* 333 / 2 = 166.5 */
    {"softmax_saturates", "QLinearSoftmax",
     .in = {X(I8, "1,2", 127, -128), S(1), NONE, S(0.00390625), X(I8, "", -128)},
     .attrs = {KILN_I_INT("opset", 13)}, WANT(2, 127, -128)},
    {"softmax_flat_before_13", "QLinearSoftmax",
     .in = {X(U8, "1,2,2", 7, 7, 7, 7), S(1), Z(0), S(0.00390625), Z(0)},
     .attrs = {KILN_I_INT("opset", 12)}, WANT(4, 64, 64, 64, 64)},
    {"concat", "QLinearConcat",
     .in = {S(1), Z(0), X(U8, "1", 2), S(2), Z(1), X(U8, "2", 3, 200), S(2), Z(0)},
     .attrs = {KILN_I_INT("axis", 0)}, WANT(3, 2, 6, 255)},
    {"concat_rejects_a_part_without_scale", "QLinearConcat",
     .in = {S(1), Z(0), X(U8, "1", 2)}, .attrs = {KILN_I_INT("axis", 0)},
     .fails = KILN_ERR_PARSE, .text = "then three for each part, are 3"},
    {"where", "QLinearWhere",
     .in = {X(KILN_ONNX_BOOL, "2", 1, 0), X(U8, "1", 4), S(0.5), Z(0), X(U8, "1", 9),
            S(1), Z(0), S(1), Z(1)},
     WANT(2, 3, 10)},
    {"average_pool_rounds_with_the_zero_point", "QLinearAveragePool",
     .in = {X(U8, "1,1,2", 1, 2), S(1), Z(0), S(1), Z(1)},
     .attrs = {KILN_I_INTS("kernel_shape", 2)}, WANT(1, 2)}, /* 1.5 + 1 */
    {"average_pool_channels_last", "QLinearAveragePool",
     .in = {X(U8, "1,2,2", 1, 20, 3, 40), S(1), Z(0), S(1), Z(0)},
     .attrs = {KILN_I_INTS("kernel_shape", 2), KILN_I_INT("channels_last", 1)},
     WANT(2, 2, 30)},
    {"global_pool_rounds_before_the_zero_point", "QLinearGlobalAveragePool",
     .in = {X(U8, "1,1,4", 1, 2, 3, 4), S(1), Z(0), S(1), Z(1)}, WANT(1, 3)},
    {"global_pool_channels_last", "QLinearGlobalAveragePool",
     .in = {X(U8, "1,2,2", 1, 20, 3, 40), S(1), Z(0), S(1), Z(0)},
     .attrs = {KILN_I_INT("channels_last", 1)}, WANT(2, 2, 30)},
    {"reduce_mean", "QLinearReduceMean",
     .in = {X(U8, "2,2", 1, 2, 3, 5), S(1), Z(0), S(0.5), Z(0)},
     .attrs = {KILN_I_INTS("axes", 1), KILN_I_INT("keepdims", 0)}, WANT(2, 3, 8)},
    {"quantize_16_bits", "QuantizeLinear",
     .in = {X(F32, "2", -1, 30000), S(0.5), X(I16, "", 100)}, WANT(2, 98, 32767)},
    {"dequantize_16_bits", "DequantizeLinear",
     .in = {X(I16, "1", 300), S(0.5), X(I16, "", 100)}, WANT(1, 100)},
};

/* A - 1 = 2, 4; B = 1, -1: -2, plus C = 10: 8. */
#define GEMM                                                                           \
    X(U8, "1,2", 3, 5), S(0.5), Z(1), X(I8, "2,1", 1, -1), S(1), X(I8, "", 0),         \
        X(I32, "1", 10)
/* 16 weights, 8 and 9 by turns; the zero point is 8. */
#define NBITS                                                                          \
    X(F32, "1,16", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),                    \
        CONST(U8, "1,1,8", 0x98, 0x98, 0x98, 0x98, 0x98, 0x98, 0x98, 0x98),            \
        CONST(F32, "1,1", 2)
#define NBITS_SIZE KILN_I_INT("K", 16), KILN_I_INT("N", 1), KILN_I_INT("block_size", 16)
/* Input and output gates open, forget gate shut: h = tanh(tanh(100)). */
#define LSTM(scale)                                                                    \
    X(F32, "1,1,1", 1), X(I8, "1,1,4", 50, 50, -50, 50), X(I8, "1,1,4", 0, 0, 0, 0),   \
        NONE, NONE, NONE, NONE, NONE, scale, X(I8, "1", 0), X(F32, "1", 1),            \
        X(I8, "1", 0)

static kiln_test_value_row products[] = {
    {"gemm_to_u8", "QGemm", .in = {GEMM, S(2), Z(100)}, WANT(1, 102)},
    {"gemm_to_float", "QGemm", .in = {GEMM}, .attrs = {KILN_I_FLOAT("alpha", 3)},
     WANT(1, 12)},
    {"gemm_turned", "QGemm",
     .in = {X(U8, "2,1", 3, 5), S(0.5), Z(1), X(I8, "1,2", 1, -1), X(F32, "1", 1),
            X(I8, "1", 0)},
     .attrs = {KILN_I_INT("transA", 1), KILN_I_INT("transB", 1)}, WANT(1, -1)},
    {"gemm_columns", "QGemm",
     .in = {X(U8, "1,1", 3), S(1), Z(1), X(U8, "1,2", 5, 5), X(F32, "2", 1, 10),
            X(U8, "2", 4, 6)},
     WANT(2, 2, -20)},
    {"gemm_rejects_scale_without_zero", "QGemm", .in = {GEMM, S(2)},
     .fails = KILN_ERR_PARSE, .text = "must be given together"},
    {"gemm_rejects_scales_of_rows", "QGemm",
     .in = {X(U8, "1,2", 3, 5), X(F32, "2", 1, 1), Z(1), X(I8, "2,1", 1, -1), S(1)},
     .fails = KILN_ERR_SHAPE,
     .text = "scale and zero point of 'A' must have 1 element"},
    {"gemm_rejects_floats", "MatMulIntegerToFloat",
     .in = {X(F32, "1,1", 3), X(I8, "1,1", 1), S(0.5), S(1)}, .fails = KILN_ERR_SHAPE,
     .text = "a quantised tensor must be i8, u8, i16 or u16, is f32"},
    {"integer_to_float", "MatMulIntegerToFloat",
     .in = {X(U8, "1,2", 3, 5), X(I8, "2,1", 1, -1), S(0.5), S(1), Z(1), NONE,
            X(F32, "1", 1)},
     WANT(1, 0)},
    {"dynamic", "DynamicQuantizeMatMul",
     .in = {X(F32, "1,2", 0, 255), X(U8, "2,1", 1, 2), S(0.5), NONE, X(F32, "1", 1)},
     WANT(1, 256)},
    {"dynamic_of_zeros", "DynamicQuantizeMatMul",
     .in = {X(F32, "1,2", 0, 0), X(U8, "2,1", 1, 2), S(0.5)}, WANT(1, 0)},
    {"dynamic_rounds_to_steps", "DynamicQuantizeMatMul",
     .in = {X(F32, "1,3", -1, 254, 2.4), X(U8, "3,1", 1, 0, 1), S(1)}, WANT(1, 1)},
    {"four_bits", "MatMulNBits", .in = {NBITS}, .attrs = {NBITS_SIZE}, WANT(1, 16)},
    {"four_bits_zero_point", "MatMulNBits", .in = {NBITS, CONST(U8, "1,1", 0x79)},
     .attrs = {NBITS_SIZE}, WANT(1, -16)},
    {"four_bits_float_zero_point", "MatMulNBits", .in = {NBITS, CONST(F32, "1,1", 8.5)},
     .attrs = {NBITS_SIZE}, WANT(1, 0)},
    {"nbits_rejects_3_bits", "MatMulNBits", .in = {NBITS},
     .attrs = {NBITS_SIZE, KILN_I_INT("bits", 3)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'bits' must be 2, 4 or 8, is 3"},
    {"nbits_rejects_other_sizes", "MatMulNBits", .in = {NBITS},
     .attrs = {KILN_I_INT("K", 17), KILN_I_INT("N", 1), KILN_I_INT("block_size", 16)},
     .fails = KILN_ERR_SHAPE, .text = "input 'B' must have 16 elements, has 8"},
    {"nbits_rejects_block_17", "MatMulNBits", .in = {NBITS},
     .attrs = {KILN_I_INT("K", 16), KILN_I_INT("N", 1), KILN_I_INT("block_size", 17)},
     .fails = KILN_ERR_SHAPE, .text = "must be a power of 2"},
    {"nbits_rejects_huge_sizes", "MatMulNBits", .in = {NBITS},
     .attrs = {KILN_I_INT("K", INT64_MAX), KILN_I_INT("N", INT64_MAX),
               KILN_I_INT("block_size", 16)},
     .fails = KILN_ERR_SHAPE, .text = "'K' and 'N' must be >= 1"},
    {"nbits_rejects_weights_that_are_no_constant", "MatMulNBits",
     .in = {X(F32, "1,16", 1), X(U8, "1,1,8", 0), CONST(F32, "1,1", 2)},
     .attrs = {NBITS_SIZE}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "must be a constant"},
    {"conv_channels_last", "QLinearConv",
     .in = {X(U8, "1,1,2,2", 1, 5, 3, 2), S(1), Z(0), X(U8, "1,2,1,1", 10, 1), S(1),
            Z(0), S(1), Z(0)},
     .attrs = {KILN_I_INT("channels_last", 1)}, WANT(2, 15, 32)},
    {"attention_projects_in_8_bits", "QAttention",
     .in = {X(U8, "1,2,1", 130, 140), X(I8, "1,3", 0, 0, 2), X(F32, "3", 0, 0, 1),
            S(0.5), S(1), NONE, Z(128)},
     .attrs = {KILN_I_INT("num_heads", 1), KILN_I_INT("unidirectional", 1)},
     WANT(2, 3, 8)}, /* values 1 * 2 + 1 and 6 * 2 + 1 */
    {"lstm", "DynamicQuantizeLSTM", .in = {LSTM(X(F32, "1", 2))},
     .attrs = {KILN_I_INT("hidden_size", 1)}, WANT(1, 0.7615942)},
    {"lstm_scales_of_columns", "DynamicQuantizeLSTM",
     .in = {LSTM(X(F32, "1,4", 2, 2, 2, 0.01))},
     .attrs = {KILN_I_INT("hidden_size", 1)}, WANT(1, 0.4318014)}, /* tanh(tanh(0.5)) */
    {"lstm_rejects_other_scales", "DynamicQuantizeLSTM",
     .in = {LSTM(X(F32, "1,3", 2, 2, 2))}, .attrs = {KILN_I_INT("hidden_size", 1)},
     .fails = KILN_ERR_SHAPE, .text = "must have shape [1] or [1, 4]"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_value, elements);
    kiln_test_add_rows(kiln_test_check_value, products);
    return kiln_test_run("onnx_vendor_quant");
}
