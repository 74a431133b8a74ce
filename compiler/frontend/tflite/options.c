/* Options of operators as tables for the flatbuffers reader, all into one struct.
 * Source: TensorFlow Lite, schema.fbs, BuiltinOptions. */
#include "compiler/frontend/tflite/tflite_model.h"

/* clang-format off */
#define OPT(slot, name, kind) {slot, kind, #name, offsetof(kiln_tflite_options, name), 0, 0, NULL}
#define INT(slot, name) OPT(slot, name, KILN_FB_I32)
#define INT_1(slot, name) {slot, KILN_FB_I32, #name, offsetof(kiln_tflite_options, name), 0, 1, NULL}
#define ENUM(slot, name) OPT(slot, name, KILN_FB_I8)
#define BOOL(slot, name) OPT(slot, name, KILN_FB_BOOL)
#define BOOL_1(slot, name) {slot, KILN_FB_BOOL, #name, offsetof(kiln_tflite_options, name), 0, 1, NULL}
#define REAL(slot, name) OPT(slot, name, KILN_FB_F32)
#define INTS(slot, name) \
    {slot, KILN_FB_I32S, #name, offsetof(kiln_tflite_options, name), offsetof(kiln_tflite_options, n_##name), 0, NULL}
/* clang-format on */
#define OPTIONS(name, label)                                                           \
    const kiln_fb_table kiln_tflite_##name##_options = {                               \
        label, sizeof(kiln_tflite_options), name##_fields,                             \
        sizeof(name##_fields) / sizeof((name##_fields)[0])}

const kiln_fb_table kiln_tflite_no_options = {"options", sizeof(kiln_tflite_options),
                                              NULL, 0};

static const kiln_fb_field conv_2d_fields[] = {
    ENUM(0, padding),    INT(1, stride_w),     INT(2, stride_h),
    ENUM(3, activation), INT_1(4, dilation_w), INT_1(5, dilation_h),
};
OPTIONS(conv_2d, "Conv2DOptions");

static const kiln_fb_field depthwise_fields[] = {
    ENUM(0, padding),         INT(1, stride_w),    INT(2, stride_h),
    INT(3, depth_multiplier), ENUM(4, activation), INT_1(5, dilation_w),
    INT_1(6, dilation_h),
};
OPTIONS(depthwise, "DepthwiseConv2DOptions");

static const kiln_fb_field conv_3d_fields[] = {
    ENUM(0, padding),     INT(1, stride_d),     INT(2, stride_w),
    INT(3, stride_h),     ENUM(4, activation),  INT_1(5, dilation_d),
    INT_1(6, dilation_w), INT_1(7, dilation_h),
};
OPTIONS(conv_3d, "Conv3DOptions");

static const kiln_fb_field transpose_conv_fields[] = {
    ENUM(0, padding), INT(1, stride_w), INT(2, stride_h), ENUM(3, activation)};
OPTIONS(transpose_conv, "TransposeConvOptions");

static const kiln_fb_field pool_fields[] = {
    ENUM(0, padding), INT(1, stride_w), INT(2, stride_h),
    INT(3, filter_w), INT(4, filter_h), ENUM(5, activation),
};
OPTIONS(pool, "Pool2DOptions");

static const kiln_fb_field fully_connected_fields[] = {
    ENUM(0, activation), ENUM(1, weights_format), BOOL(2, keep_num_dims)};
OPTIONS(fully_connected, "FullyConnectedOptions");

static const kiln_fb_field softmax_fields[] = {REAL(0, beta)};
OPTIONS(softmax, "SoftmaxOptions");

static const kiln_fb_field concatenation_fields[] = {INT(0, axis), ENUM(1, activation)};
OPTIONS(concatenation, "ConcatenationOptions");

/* AddOptions, SubOptions, MulOptions, DivOptions, L2NormOptions */
static const kiln_fb_field fused_fields[] = {ENUM(0, activation)};
OPTIONS(fused, "options");

static const kiln_fb_field norm_fields[] = {INT(0, radius), REAL(1, bias),
                                            REAL(2, alpha), REAL(3, beta)};
OPTIONS(norm, "LocalResponseNormalizationOptions");

static const kiln_fb_field lstm_fields[] = {ENUM(0, activation), REAL(1, cell_clip),
                                            REAL(2, proj_clip), ENUM(3, kernel_type)};
OPTIONS(lstm, "LSTMOptions");

static const kiln_fb_field sequence_lstm_fields[] = {
    ENUM(0, activation), REAL(1, cell_clip), REAL(2, proj_clip), BOOL(3, time_major)};
OPTIONS(sequence_lstm, "UnidirectionalSequenceLSTMOptions");

static const kiln_fb_field sequence_rnn_fields[] = {BOOL(0, time_major),
                                                    ENUM(1, activation)};
OPTIONS(sequence_rnn, "SequenceRNNOptions");

static const kiln_fb_field bidirectional_lstm_fields[] = {
    ENUM(0, activation), REAL(1, cell_clip), REAL(2, proj_clip), BOOL(3, merges),
    BOOL_1(4, time_major)};
OPTIONS(bidirectional_lstm, "BidirectionalSequenceLSTMOptions");

static const kiln_fb_field bidirectional_rnn_fields[] = {
    BOOL(0, time_major), ENUM(1, activation), BOOL(2, merges)};
OPTIONS(bidirectional_rnn, "BidirectionalSequenceRNNOptions");

static const kiln_fb_field bilinear_fields[] = {BOOL(2, align_corners),
                                                BOOL(3, half_pixel)};
OPTIONS(bilinear, "ResizeBilinearOptions");

static const kiln_fb_field nearest_fields[] = {BOOL(0, align_corners),
                                               BOOL(1, half_pixel)};
OPTIONS(nearest, "ResizeNearestNeighborOptions");

/* ReshapeOptions, SqueezeOptions */
static const kiln_fb_field dims_fields[] = {INTS(0, dims)};
OPTIONS(dims, "options");

/* PackOptions, UnpackOptions */
static const kiln_fb_field pack_fields[] = {INT(0, count), INT(1, axis)};
OPTIONS(pack, "options");

/* SplitOptions, SplitVOptions */
static const kiln_fb_field count_fields[] = {INT(0, count)};
OPTIONS(count, "options");

static const kiln_fb_field strided_slice_fields[] = {
    INT(0, begin_mask),    INT(1, end_mask),    INT(2, ellipsis_mask),
    INT(3, new_axis_mask), INT(4, shrink_mask), BOOL(5, offset),
};
OPTIONS(strided_slice, "StridedSliceOptions");

static const kiln_fb_field gather_fields[] = {INT(0, axis), INT(1, batch_dims)};
OPTIONS(gather, "GatherOptions");

static const kiln_fb_field reducer_fields[] = {BOOL(0, keep_dims)};
OPTIONS(reducer, "ReducerOptions");

static const kiln_fb_field leaky_fields[] = {REAL(0, alpha)};
OPTIONS(leaky, "LeakyReluOptions");

static const kiln_fb_field mode_fields[] = {ENUM(0, mode)};
OPTIONS(mode, "MirrorPadOptions");

/* ArgMaxOptions, ArgMinOptions, ShapeOptions */
static const kiln_fb_field type_fields[] = {ENUM(0, type)};
OPTIONS(type, "options");

/* SpaceToDepthOptions, DepthToSpaceOptions */
static const kiln_fb_field block_fields[] = {INT(0, block_size)};
OPTIONS(block, "options");

static const kiln_fb_field matmul_fields[] = {BOOL(0, adj_x), BOOL(1, adj_y)};
OPTIONS(matmul, "BatchMatMulOptions");

static const kiln_fb_field cumsum_fields[] = {BOOL(0, exclusive), BOOL(1, reverse)};
OPTIONS(cumsum, "CumsumOptions");

static const kiln_fb_field axis_fields[] = {INT(0, axis)};
OPTIONS(axis, "OneHotOptions");

static const kiln_fb_field svdf_fields[] = {INT(0, rank), ENUM(1, activation)};
OPTIONS(svdf, "SVDFOptions");

static const kiln_fb_field approximate_fields[] = {BOOL(0, approximate)};
OPTIONS(approximate, "GeluOptions");

static const kiln_fb_field reverse_sequence_fields[] = {INT(0, seq_dim),
                                                        INT(1, batch_dim)};
OPTIONS(reverse_sequence, "ReverseSequenceOptions");

static const kiln_fb_field fake_quant_fields[] = {REAL(0, min), REAL(1, max),
                                                  INT(2, bits), BOOL(3, is_narrow)};
OPTIONS(fake_quant, "FakeQuantOptions");

/* IfOptions, WhileOptions */
static const kiln_fb_field branches_fields[] = {INT(0, first), INT(1, second)};
OPTIONS(branches, "options");
