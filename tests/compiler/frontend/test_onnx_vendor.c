/* Import of ONNX Runtime's own operators on floats: numbers small enough to be checked
 * by hand, and what is refused. */
#include "tests/support/import/import_value.h"

enum { F32 = KILN_ONNX_FLOAT, I32 = KILN_ONNX_INT32, I64 = KILN_ONNX_INT64 };

#define X(t, s, ...)                                                                   \
    {                                                                                  \
        .type = (t), .shape = (s), .v = { __VA_ARGS__ }                                \
    }
#define NONE                                                                           \
    { .type = 0 }
#define WANT(n, ...) .n_want = (n), .want = {__VA_ARGS__}

static kiln_test_value_row activations[] = {
    {"gelu_of_10", "Gelu", .in = {X(F32, "2", 0, 10)}, WANT(2, 0, 10)},
    {"quick_gelu_halves_at_alpha_0", "QuickGelu", .in = {X(F32, "2", 2, -4)},
     .attrs = {KILN_I_FLOAT("alpha", 0)}, WANT(2, 1, -2)},
    {"quick_gelu_has_alpha_1702", "QuickGelu", .in = {X(F32, "1", 1)},
     WANT(1, 0.845795)}, /* 1 / (1 + e^-1.702) */
    {"fast_gelu_adds_bias", "FastGelu", .in = {X(F32, "2", -1, 9), X(F32, "1", 1)},
     WANT(2, 0, 10)},
    {"fast_gelu_is_by_tanh", "FastGelu", .in = {X(F32, "1", 1)}, WANT(1, 0.841192)},
    {"bias_gelu_is_by_erf", "BiasGelu", .in = {X(F32, "2", 0, 9), X(F32, "2", 1, 1)},
     WANT(2, 0.841345, 10)},
    {"bias_add", "BiasAdd",
     .in = {X(F32, "1,1,1", 1), X(F32, "1", 2), X(F32, "1,1,1", 3)}, WANT(1, 6)},
    {"bias_split_gelu", "BiasSplitGelu",
     .in = {X(F32, "1,1,2", 3, 9), X(F32, "2", 0, 1)}, WANT(1, 30)},
    {"bias_split_gelu_rejects_odd", "BiasSplitGelu",
     .in = {X(F32, "1,1,3", 1, 2, 3), X(F32, "3", 0)}, .fails = KILN_ERR_SHAPE,
     .text = "the last axis of 'X' must be even"},
    {"bias_softmax", "BiasSoftmax",
     .in = {X(F32, "1,2", 0, 0), X(F32, "1,2", 0, 1.0986123)},
     .attrs = {KILN_I_INT("axis", 1), KILN_I_INT("is_inner_broadcast", 1)},
     WANT(2, 0.25, 0.75)},
    {"bias_softmax_over_two_axes", "BiasSoftmax",
     .in = {X(F32, "1,2,2", 0), X(F32, "1,1,1", 5)},
     .attrs = {KILN_I_INT("axis", 1), KILN_I_INT("is_inner_broadcast", 0)},
     WANT(4, 0.25, 0.25, 0.25, 0.25)},
    {"bias_softmax_rejects_growth", "BiasSoftmax",
     .in = {X(F32, "1,2", 0, 0), X(F32, "2,2", 0)},
     .attrs = {KILN_I_INT("axis", 1), KILN_I_INT("is_inner_broadcast", 1)},
     .fails = KILN_ERR_SHAPE, .text = "must not grow it to f32[2,2]"},
};

/* x * 2 - 3 for x = 1, 2, 3: -1, 1, 3. */
#define CONV3 X(F32, "1,1,3", 1, 2, 3), X(F32, "1,1,1", 2), X(F32, "1", -3)

static kiln_test_value_row fused[] = {
    {"conv_adds_z_before_relu", "FusedConv", .in = {CONV3, X(F32, "1,1,3", 0, -5, 1)},
     .attrs = {KILN_I_TEXT("activation", "Relu")}, WANT(3, 0, 0, 4)},
    {"conv_without_activation", "FusedConv", .in = {CONV3}, WANT(3, -1, 1, 3)},
    {"conv_leaky", "FusedConv", .in = {CONV3},
     .attrs = {KILN_I_TEXT("activation", "LeakyRelu")}, .params = {0.5}, .n_params = 1,
     WANT(3, -0.5, 1, 3)},
    {"conv_clip", "FusedConv", .in = {CONV3},
     .attrs = {KILN_I_TEXT("activation", "Clip")}, .params = {0, 2}, .n_params = 2,
     WANT(3, 0, 1, 2)},
    {"conv_hard_sigmoid", "FusedConv", .in = {CONV3},
     .attrs = {KILN_I_TEXT("activation", "HardSigmoid")}, .params = {0.25, 0.5},
     .n_params = 2, WANT(3, 0.25, 0.75, 1)},
    {"conv_rejects_z_of_another_shape", "FusedConv", .in = {CONV3, X(F32, "1,1,1", 0)},
     .fails = KILN_ERR_SHAPE, .text = "input 'Z' must have the shape of the result"},
    {"conv_rejects_unknown_activation", "FusedConv", .in = {CONV3},
     .attrs = {KILN_I_TEXT("activation", "Sine")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "activation 'Sine' is not read; save the model before"},
    {"conv_rejects_many_parameters", "FusedConv", .in = {CONV3},
     .attrs = {KILN_I_TEXT("activation", "Relu")}, .params = {1}, .n_params = 1,
     .fails = KILN_ERR_SHAPE, .text = "must have at most 0 values for this activation"},
    {"nhwc_fused_conv_has_usual_weights", "NhwcFusedConv",
     .in = {X(F32, "1,1,2,2", 1, 5, -3, 2), X(F32, "1,2,1,1", 10, 1), X(F32, "1", 1),
            X(F32, "1,1,2,1", 0, 3)},
     .attrs = {KILN_I_TEXT("activation", "Relu")}, WANT(2, 16, 0)},
    {"nhwc_conv_has_weights_of_its_layout", "NhwcConv",
     .in = {X(F32, "1,1,2,2", 1, 5, -3, 2), X(F32, "1,1,2,2", 10, 1, 100, 0)},
     WANT(1, -285)}, /* 10 + 5 - 300 */
    {"nhwc_max_pool", "NhwcMaxPool", .in = {X(2, "1,1,2,2", 1, 5, 3, 2)},
     .attrs = {KILN_I_INTS("kernel_shape", 1, 2)}, WANT(2, 3, 5)},
    {"gemm", "FusedGemm",
     .in = {X(F32, "1,2", 1, 2), X(F32, "2,2", 1, -1, 1, -1), X(F32, "2", -7, 10)},
     .attrs = {KILN_I_FLOAT("alpha", 2), KILN_I_TEXT("activation", "LeakyRelu"),
               KILN_I_FLOAT("activation_alpha", 0.25)},
     WANT(2, -0.25, 4)},
    {"matmul_batch_behind_rows", "FusedMatMul",
     .in = {X(F32, "2,2,1", 1, 2, 3, 4), X(F32, "2,1,1", 10, 100)},
     .attrs = {KILN_I_INT("transBatchA", 1), KILN_I_FLOAT("alpha", 0.5)},
     WANT(4, 5, 15, 100, 200)},
    {"matmul_turned", "FusedMatMul", .in = {X(F32, "2,1", 1, 2), X(F32, "1,2", 3, 4)},
     .attrs = {KILN_I_INT("transA", 1), KILN_I_INT("transB", 1)}, WANT(1, 11)},
    {"transpose_matmul", "TransposeMatMul",
     .in = {X(F32, "2,1", 1, 2), X(F32, "2,1", 3, 4)},
     .attrs = {KILN_I_INT("transA", 1)}, WANT(1, 11)},
    {"transpose_matmul_has_no_batches", "TransposeMatMul",
     .in = {X(F32, "2,1", 1, 2), X(F32, "1,1", 3)},
     .attrs = {KILN_I_INT("transBatchA", 1)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'transBatchA'"},
    {"matmul_activation", "FusedMatMulActivation",
     .in = {X(F32, "1,1", -1), X(F32, "1,2", 2, -2)},
     .attrs = {KILN_I_TEXT("activation", "Relu")}, WANT(2, 0, 2)},
    {"gemm_fast_gelu", "GemmFastGelu",
     .in = {X(F32, "1,1", 5), X(F32, "1,1", 2), X(F32, "1", 0)}, WANT(1, 10)},
    {"matmul_of_16_bits", "MatMulInteger16",
     .in = {X(5, "1,1", 1000), X(5, "1,1", -1000)}, WANT(1, -1000000)},
    {"matmul_of_16_bits_rejects_floats", "MatMulInteger16",
     .in = {X(F32, "1,1", 1), X(5, "1,1", 1)}, .fails = KILN_ERR_SHAPE,
     .text = "must be i16, are f32 and i16"},
};

/* Sum 1, -1: mean 0, variance 1. */
#define SKIPPED X(F32, "1,1,2", 1, 0), X(F32, "1,1,2", 0, -1), X(F32, "2", 2, 3)
#define NO_EPSILON KILN_I_FLOAT("epsilon", 0)
#define TABLES                                                                         \
    X(I32, "1,3", 0, 1, 0), NONE, X(F32, "2,2", 1, 2, 3, 4),                           \
        X(F32, "3,2", 10, 20, 30, 40, 50, 60), NONE, X(F32, "2", 1, 1),                \
        X(F32, "2", 0, 0)

static kiln_test_value_row norms[] = {
    {"skip_layer_norm", "SkipLayerNormalization", .in = {SKIPPED, X(F32, "2", 0, 1)},
     .attrs = {NO_EPSILON}, WANT(2, 2, -2)},
    {"skip_layer_norm_bias", "SkipLayerNormalization",
     .in = {SKIPPED, NONE, X(F32, "2", 5, 5)}, .attrs = {NO_EPSILON}, WANT(2, 2, -3)},
    {"skip_layer_norm_gives_the_sum", "SkipLayerNormalization", .out = "y,,,s",
     .in = {SKIPPED, NONE, X(F32, "2", 5, 5)}, .attrs = {NO_EPSILON}, WANT(2, 6, 4)},
    {"skip_layer_norm_rejects_growth", "SkipLayerNormalization",
     .in = {X(F32, "1,1,2", 1, 0), X(F32, "2,1,2", 0), X(F32, "2", 1, 1)},
     .fails = KILN_ERR_SHAPE,
     .text = "what is added to f32[1,1,2] must broadcast to it"},
    {"skip_rms_norm", "SkipSimplifiedLayerNormalization", .in = {SKIPPED},
     .attrs = {NO_EPSILON}, WANT(2, 2, -3)},
    {"rms_norm_of_ai_onnx", "SimplifiedLayerNormalization", "",
     .in = {X(F32, "1,2", 1, -1), X(F32, "2", 2, 3)}, .attrs = {NO_EPSILON},
     WANT(2, 2, -3)},
    {"layer_norm_below_opset_17", "LayerNormalization", "",
     .in = {X(F32, "1,2", 3, 1), X(F32, "2", 2, 3)}, .attrs = {NO_EPSILON},
     WANT(2, 2, -3)},
    {"embeddings_are_summed", "EmbedLayerNormalization", .out = "y,,s", .in = {TABLES},
     WANT(6, 11, 22, 33, 44, 51, 62)},
    {"positions_are_given", "EmbedLayerNormalization", .out = "y,,s",
     .in = {TABLES, NONE, X(I32, "1,3", 2, 0, 0)}, WANT(6, 51, 62, 13, 24, 11, 22)},
    {"mask_is_counted", "EmbedLayerNormalization", .out = "y,m",
     .in = {TABLES, X(I32, "1,3", 1, 1, 0)}, WANT(1, 2)},
    {"no_mask_counts_0", "EmbedLayerNormalization", .out = "y,m", .in = {TABLES},
     WANT(1, 0)},
    {"quantised_embeddings", "QEmbedLayerNormalization",
     .in = {X(I32, "1,1", 1), NONE, X(2, "2,2", 1, 1, 5, 3), X(2, "1,2", 1, 1), NONE,
            X(2, "2", 3, 5), X(2, "2", 1, 1), NONE, X(F32, "", 0.5), X(F32, "", 1),
            NONE, X(F32, "", 2), X(F32, "", 1), X(2, "", 1), X(2, "", 1), NONE,
            X(2, "", 1), X(2, "", 0)},
     .attrs = {NO_EPSILON}, WANT(2, 5, -7)}, /* 2, 1 -> 1, -1 times 4, 8 plus 1 */
    {"group_norm_channels_last", "GroupNorm",
     .in = {X(F32, "1,2,1,2", 1, -1, 1, -1), X(F32, "2", 2, 3), X(F32, "2", 0, 1)},
     .attrs = {NO_EPSILON, KILN_I_INT("groups", 1), KILN_I_INT("activation", 0)},
     WANT(4, 2, -2, 2, -2)},
    {"group_norm_silu", "GroupNorm",
     .in = {X(F32, "1,2,1,2", 1, -1, 1, -1), X(F32, "2", 20, 0), X(F32, "2", 0, 0)},
     .attrs = {NO_EPSILON, KILN_I_INT("groups", 1), KILN_I_INT("activation", 1)},
     WANT(4, 20, 0, 20, 0)},
    {"group_norm_rejects_activation_2", "GroupNorm",
     .in = {X(F32, "1,2,1,2", 0), X(F32, "2", 2, 3), X(F32, "2", 0, 1)},
     .attrs = {KILN_I_INT("groups", 1), KILN_I_INT("activation", 2)},
     .fails = KILN_ERR_PARSE, .text = "attribute 'activation' must be 0 or 1, is 2"},
    {"skip_group_norm_adds_channels", "SkipGroupNorm", .out = "y,s",
     .in = {X(F32, "1,1,2,2", 1, 2, 3, 4), X(F32, "2", 1, 1), X(F32, "2", 0, 0),
            X(F32, "1,2", 10, 20), X(F32, "2", 100, 200)},
     .attrs = {KILN_I_INT("groups", 1), KILN_I_INT("activation", 0)},
     WANT(4, 111, 222, 113, 224)},
};

/* Two tokens 1 and 2 whose queries and keys are 0: values 3 and 6, weighted alike. */
#define TOKENS X(F32, "1,2,1", 1, 2), X(F32, "1,3", 0, 0, 3)
#define ONE_HEAD KILN_I_INT("num_heads", 1)
#define MHA X(F32, "1,1,1", 0), X(F32, "1,2,1", 0, 0), X(F32, "1,2,1", 2, 4)

static kiln_test_value_row attention[] = {
    {"attention_averages", "Attention", .in = {TOKENS, X(F32, "3", 0, 0, 1)},
     .attrs = {ONE_HEAD}, WANT(2, 5.5, 5.5)},
    {"attention_causal", "Attention", .in = {TOKENS},
     .attrs = {ONE_HEAD, KILN_I_INT("unidirectional", 1)}, WANT(2, 3, 4.5)},
    {"mask_of_keys", "Attention", .in = {TOKENS, NONE, X(I32, "1,2", 1, 0)},
     .attrs = {ONE_HEAD}, WANT(2, 3, 3)},
    {"mask_of_lengths", "Attention", .in = {TOKENS, NONE, X(I32, "1", 1)},
     .attrs = {ONE_HEAD}, WANT(2, 3, 3)},
    {"mask_of_ends_and_beginnings", "Attention",
     .in = {TOKENS, NONE, X(I32, "2", 2, 1)}, .attrs = {ONE_HEAD}, WANT(2, 6, 6)},
    {"mask_of_pairs", "Attention", .in = {TOKENS, NONE, X(I32, "1,2,2", 0, 1, 1, 1)},
     .attrs = {ONE_HEAD}, WANT(2, 6, 4.5)},
    {"mask_filter_value", "Attention", .in = {TOKENS, NONE, X(I32, "1,2", 0, 1)},
     .attrs = {ONE_HEAD, KILN_I_FLOAT("mask_filter_value", -1.0986123F)},
     WANT(2, 5.25, 5.25)}, /* (3 / 3 + 6) / (4 / 3) */
    {"past_comes_first", "Attention",
     .in = {TOKENS, NONE, NONE, X(F32, "2,1,1,1,1", 0, 9)},
     .attrs = {ONE_HEAD, KILN_I_INT("unidirectional", 1)}, WANT(2, 6, 6)},
    {"present_is_keys_then_values", "Attention", .out = "y,p",
     .in = {TOKENS, NONE, NONE, X(F32, "2,1,1,1,1", 7, 9)}, .attrs = {ONE_HEAD},
     WANT(6, 7, 0, 0, 9, 3, 6)},
    {"added_to_scores", "Attention",
     .in = {TOKENS, NONE, NONE, NONE, X(F32, "1,1,2,2", 0, -99, -99, 0)},
     .attrs = {ONE_HEAD}, WANT(2, 3, 6)},
    {"scale", "Attention", .in = {X(F32, "1,2,1", 1, 2), X(F32, "1,3", 1, 1, 1)},
     .attrs = {ONE_HEAD, KILN_I_FLOAT("scale", 100)}, WANT(2, 2, 2)},
    {"rejects_masks_of_rank_4", "Attention",
     .in = {TOKENS, NONE, X(I32, "1,1,2,2", 1, 1, 1, 1)}, .attrs = {ONE_HEAD},
     .fails = KILN_ERR_UNSUPPORTED, .text = "one of shape [1,1,2,2] is not read"},
    {"rejects_a_shared_buffer", "Attention", .in = {TOKENS},
     .attrs = {ONE_HEAD, KILN_I_INT("past_present_share_buffer", 1)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "'past_present_share_buffer' must be 0; export without it"},
    {"rejects_heads_that_do_not_divide", "Attention", .in = {TOKENS},
     .attrs = {KILN_I_INT("num_heads", 2)}, .fails = KILN_ERR_SHAPE,
     .text = "each a multiple of num_heads, 2"},
    {"cross_attention", "MultiHeadAttention", .in = {MHA}, .attrs = {ONE_HEAD},
     WANT(1, 3)},
    {"bias_of_projections", "MultiHeadAttention", .in = {MHA, X(F32, "3", 0, 0, 10)},
     .attrs = {ONE_HEAD}, WANT(1, 13)},
    {"packed", "MultiHeadAttention", .in = {X(F32, "1,1,1,3,1", 0, 0, 5)},
     .attrs = {ONE_HEAD}, WANT(1, 5)},
    {"packed_keys_and_values", "MultiHeadAttention",
     .in = {X(F32, "1,1,1", 0), X(F32, "1,2,1,2,1", 0, 2, 0, 4)}, .attrs = {ONE_HEAD},
     WANT(1, 3)},
    {"presents", "MultiHeadAttention", .out = "y,k,v",
     .in = {MHA, NONE, NONE, NONE, X(F32, "1,1,1,1", 7), X(F32, "1,1,1,1", 8)},
     .attrs = {ONE_HEAD}, WANT(3, 8, 2, 4)},
    {"scores", "MultiHeadAttention", .out = "y,,,s",
     .in = {X(F32, "1,1,1", 3), X(F32, "1,2,1", 1, 2), X(F32, "1,2,1", 2, 4)},
     .attrs = {ONE_HEAD}, WANT(2, 3, 6)},
    {"rejects_a_missing_value", "MultiHeadAttention",
     .in = {X(F32, "1,1,1", 0), X(F32, "1,2,1", 0, 0)}, .attrs = {ONE_HEAD},
     .fails = KILN_ERR_SHAPE, .text = "beside 'key' and 'value'"},
    {"rejects_half_a_past", "MultiHeadAttention",
     .in = {MHA, NONE, NONE, NONE, X(F32, "1,1,1,1", 7)}, .attrs = {ONE_HEAD},
     .fails = KILN_ERR_PARSE, .text = "must be given together"},
    {"rejects_a_short_bias", "MultiHeadAttention", .in = {MHA, X(F32, "2", 0, 0)},
     .attrs = {ONE_HEAD}, .fails = KILN_ERR_SHAPE,
     .text = "'bias' must be a list of one"},
};

/* cos 0, sin 1 at position 1: (a, b) becomes (-b, a). */
#define QUARTER X(F32, "2,1", 1, 0), X(F32, "2,1", 0, 1)

static kiln_test_value_row rotary[] = {
    {"rotation_by_positions", "RotaryEmbedding",
     .in = {X(F32, "1,2,2", 1, 2, 3, 4), X(I64, "1,2", 1, 0), QUARTER},
     WANT(4, -2, 1, 3, 4)},
    {"rotation_from_a_first_position", "RotaryEmbedding",
     .in = {X(F32, "1,2,2", 1, 2, 3, 4), X(I64, "1", 0), QUARTER},
     WANT(4, 1, 2, -4, 3)},
    {"rotation_of_two_heads", "RotaryEmbedding",
     .in = {X(F32, "1,1,4", 1, 2, 3, 4), X(I64, "1", 1), QUARTER},
     WANT(4, -2, 1, -4, 3)},
    {"rotation_rejects_packed_batches", "RotaryEmbedding",
     .in = {X(F32, "1,1,2", 1, 2), X(I64, "1", 0), QUARTER},
     .attrs = {KILN_I_INT("is_packed_batching", 1)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "must be 0 and 1; export without them"},
};

static kiln_test_value_row refused[] = {
    {"blocked_layouts", "Conv", "com.microsoft.nchwc", .in = {X(F32, "1", 1)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "ORT_ENABLE_EXTENDED, not ORT_ENABLE_ALL"},
    {"inverse", "Inverse", .in = {X(F32, "1,1", 1)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "export the inverse as a constant"},
    {"group_query_attention", "GroupQueryAttention", .in = {X(F32, "1,1", 1)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "Attention of ai.onnx, opset 23"},
    {"what_nobody_named", "SomethingNew", .in = {X(F32, "1,1", 1)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "save the model before ONNX Runtime optimised or quantised it"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_value, activations);
    kiln_test_add_rows(kiln_test_check_value, fused);
    kiln_test_add_rows(kiln_test_check_value, norms);
    kiln_test_add_rows(kiln_test_check_value, attention);
    kiln_test_add_rows(kiln_test_check_value, rotary);
    kiln_test_add_rows(kiln_test_check_value, refused);
    return kiln_test_run("onnx_vendor");
}
