/* Messages of parameters as tables, which all fill one struct. Source: caffe.proto of BVLC
 * Caffe 1.0; numbers are those of the wire, though parameters are read from texts alone.
 * Fields that others added have none. */
#include "compiler/frontend/caffe/caffe_tables.h"

typedef kiln_caffe_params params;

/* ---- parameters ------------------------------------------------------------------ */

static const kiln_pb_field shape_fields[] = {
    LIST(1, kiln_caffe_shape, dim, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_shape_message =
    MESSAGE("BlobShape", kiln_caffe_shape, shape_fields);

static const kiln_pb_field conv_fields[] = {
    FIELD(1, params, num_output, KILN_PB_I64),
    FIELD_GIVEN(2, params, bias_term, KILN_PB_BOOL),
    LIST(3, params, pad, KILN_PB_I64),
    LIST(4, params, kernel_size, KILN_PB_I64),
    FIELD(5, params, group, KILN_PB_I64),
    LIST(6, params, stride, KILN_PB_I64),
    IGNORED(7, params, "weight_filler"),
    IGNORED(8, params, "bias_filler"),
    FIELD_GIVEN(9, params, pad_h, KILN_PB_I64),
    FIELD_GIVEN(10, params, pad_w, KILN_PB_I64),
    FIELD_GIVEN(11, params, kernel_h, KILN_PB_I64),
    FIELD_GIVEN(12, params, kernel_w, KILN_PB_I64),
    FIELD_GIVEN(13, params, stride_h, KILN_PB_I64),
    FIELD_GIVEN(14, params, stride_w, KILN_PB_I64),
    IGNORED(15, params, "engine"),
    FIELD_GIVEN(16, params, axis, KILN_PB_I64),
    IGNORED(17, params, "force_nd_im2col"),
    LIST(18, params, dilation, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_convolution_param =
    MESSAGE("ConvolutionParameter", params, conv_fields);

static const kiln_pb_field pool_value_fields[] = {VALUE(0, "MAX"), VALUE(1, "AVE"),
                                                  VALUE(2, "STOCHASTIC")};
static const kiln_pb_message pool_values = VALUES("PoolMethod", pool_value_fields);
static const kiln_pb_field round_value_fields[] = {VALUE(0, "CEIL"), VALUE(1, "FLOOR")};
static const kiln_pb_message round_values = VALUES("RoundMode", round_value_fields);

static const kiln_pb_field pool_fields[] = {
    ENUM(1, params, pool, pool_values),
    LIST(2, params, kernel_size, KILN_PB_I64),
    LIST(3, params, stride, KILN_PB_I64),
    LIST(4, params, pad, KILN_PB_I64),
    FIELD_GIVEN(5, params, kernel_h, KILN_PB_I64),
    FIELD_GIVEN(6, params, kernel_w, KILN_PB_I64),
    FIELD_GIVEN(7, params, stride_h, KILN_PB_I64),
    FIELD_GIVEN(8, params, stride_w, KILN_PB_I64),
    FIELD_GIVEN(9, params, pad_h, KILN_PB_I64),
    FIELD_GIVEN(10, params, pad_w, KILN_PB_I64),
    IGNORED(11, params, "engine"),
    FIELD(12, params, global_pooling, KILN_PB_BOOL),
    ENUM(13, params, round_mode, round_values),
    FIELD_GIVEN(0, params, ceil_mode, KILN_PB_BOOL), /* of descendants */
};
const kiln_pb_message kiln_caffe_pooling_param =
    MESSAGE("PoolingParameter", params, pool_fields);

static const kiln_pb_field product_fields[] = {
    FIELD(1, params, num_output, KILN_PB_I64),
    FIELD_GIVEN(2, params, bias_term, KILN_PB_BOOL),
    IGNORED(3, params, "weight_filler"),
    IGNORED(4, params, "bias_filler"),
    FIELD_GIVEN(5, params, axis, KILN_PB_I64),
    FIELD(6, params, transpose, KILN_PB_BOOL),
};
const kiln_pb_message kiln_caffe_inner_product_param =
    MESSAGE("InnerProductParameter", params, product_fields);

static const kiln_pb_field embed_fields[] = {
    FIELD(1, params, num_output, KILN_PB_I64),
    FIELD(2, params, input_dim, KILN_PB_I64),
    FIELD_GIVEN(3, params, bias_term, KILN_PB_BOOL),
    IGNORED(4, params, "weight_filler"),
    IGNORED(5, params, "bias_filler"),
};
const kiln_pb_message kiln_caffe_embed_param =
    MESSAGE("EmbedParameter", params, embed_fields);

static const kiln_pb_field relu_fields[] = {
    FIELD(1, params, negative_slope, KILN_PB_F32),
    IGNORED(2, params, "engine"),
};
const kiln_pb_message kiln_caffe_relu_param =
    MESSAGE("ReLUParameter", params, relu_fields);

static const kiln_pb_field prelu_fields[] = {
    IGNORED(1, params, "filler"),
    FIELD_GIVEN(2, params, channel_shared, KILN_PB_BOOL),
};
const kiln_pb_message kiln_caffe_prelu_param =
    MESSAGE("PReLUParameter", params, prelu_fields);

static const kiln_pb_field elu_fields[] = {FIELD_GIVEN(1, params, alpha, KILN_PB_F32)};
const kiln_pb_message kiln_caffe_elu_param =
    MESSAGE("ELUParameter", params, elu_fields);

static const kiln_pb_field engine_fields[] = {IGNORED(1, params, "engine")};
const kiln_pb_message kiln_caffe_sigmoid_param =
    MESSAGE("SigmoidParameter", params, engine_fields);
const kiln_pb_message kiln_caffe_tanh_param =
    MESSAGE("TanHParameter", params, engine_fields);

static const kiln_pb_field power_fields[] = {
    FIELD_GIVEN(1, params, power, KILN_PB_F32),
    FIELD_GIVEN(2, params, scale, KILN_PB_F32),
    FIELD_GIVEN(3, params, shift, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_power_param =
    MESSAGE("PowerParameter", params, power_fields);

static const kiln_pb_field exp_fields[] = {
    FIELD_GIVEN(1, params, base, KILN_PB_F32),
    FIELD_GIVEN(2, params, scale, KILN_PB_F32),
    FIELD_GIVEN(3, params, shift, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_exp_param =
    MESSAGE("ExpParameter", params, exp_fields);
const kiln_pb_message kiln_caffe_log_param =
    MESSAGE("LogParameter", params, exp_fields);

static const kiln_pb_field threshold_fields[] = {
    FIELD_GIVEN(1, params, threshold, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_threshold_param =
    MESSAGE("ThresholdParameter", params, threshold_fields);

static const kiln_pb_field swish_fields[] = {FIELD_GIVEN(1, params, beta, KILN_PB_F32)};
const kiln_pb_message kiln_caffe_swish_param =
    MESSAGE("SwishParameter", params, swish_fields);

static const kiln_pb_field clip_fields[] = {
    FIELD_GIVEN(1, params, min, KILN_PB_F32),
    FIELD_GIVEN(2, params, max, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_clip_param =
    MESSAGE("ClipParameter", params, clip_fields);

static const kiln_pb_field batch_norm_fields[] = {
    FIELD_GIVEN(1, params, use_global_stats, KILN_PB_BOOL),
    IGNORED(2, params, "moving_average_fraction"),
    FIELD_GIVEN(3, params, eps, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_batch_norm_param =
    MESSAGE("BatchNormParameter", params, batch_norm_fields);

static const kiln_pb_field scale_fields[] = {
    FIELD_GIVEN(1, params, axis, KILN_PB_I64),
    FIELD_GIVEN(2, params, num_axes, KILN_PB_I64),
    IGNORED(3, params, "filler"),
    FIELD_GIVEN(4, params, bias_term, KILN_PB_BOOL),
    IGNORED(5, params, "bias_filler"),
};
const kiln_pb_message kiln_caffe_scale_param =
    MESSAGE("ScaleParameter", params, scale_fields);

static const kiln_pb_field bias_fields[] = {
    FIELD_GIVEN(1, params, axis, KILN_PB_I64),
    FIELD_GIVEN(2, params, num_axes, KILN_PB_I64),
    IGNORED(3, params, "filler"),
};
const kiln_pb_message kiln_caffe_bias_param =
    MESSAGE("BiasParameter", params, bias_fields);

static const kiln_pb_field eltwise_value_fields[] = {VALUE(0, "PROD"), VALUE(1, "SUM"),
                                                     VALUE(2, "MAX")};
static const kiln_pb_message eltwise_values = VALUES("EltwiseOp", eltwise_value_fields);

static const kiln_pb_field eltwise_fields[] = {
    ENUM_HAS(1, params, operation, eltwise_values),
    LIST(2, params, coeff, KILN_PB_F32),
    IGNORED(3, params, "stable_prod_grad"),
};
const kiln_pb_message kiln_caffe_eltwise_param =
    MESSAGE("EltwiseParameter", params, eltwise_fields);

static const kiln_pb_field concat_fields[] = {
    FIELD_GIVEN(1, params, concat_dim, KILN_PB_I64),
    FIELD_GIVEN(2, params, axis, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_concat_param =
    MESSAGE("ConcatParameter", params, concat_fields);

static const kiln_pb_field slice_fields[] = {
    FIELD_GIVEN(1, params, slice_dim, KILN_PB_I64),
    LIST(2, params, slice_point, KILN_PB_I64),
    FIELD_GIVEN(3, params, axis, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_slice_param =
    MESSAGE("SliceParameter", params, slice_fields);

static const kiln_pb_field flatten_fields[] = {
    FIELD_GIVEN(1, params, axis, KILN_PB_I64),
    FIELD_GIVEN(2, params, end_axis, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_flatten_param =
    MESSAGE("FlattenParameter", params, flatten_fields);

static const kiln_pb_field reshape_fields[] = {
    SUBS(1, params, shape, kiln_caffe_shape_message),
    FIELD_GIVEN(2, params, axis, KILN_PB_I64),
    FIELD_GIVEN(3, params, num_axes, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_reshape_param =
    MESSAGE("ReshapeParameter", params, reshape_fields);

static const kiln_pb_field input_fields[] = {
    SUBS(1, params, shape, kiln_caffe_shape_message)};
const kiln_pb_message kiln_caffe_input_param =
    MESSAGE("InputParameter", params, input_fields);

static const kiln_pb_field crop_fields[] = {
    FIELD_GIVEN(1, params, axis, KILN_PB_I64),
    LIST(2, params, offset, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_crop_param =
    MESSAGE("CropParameter", params, crop_fields);

static const kiln_pb_field tile_fields[] = {
    FIELD_GIVEN(1, params, axis, KILN_PB_I64),
    FIELD(2, params, tiles, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_tile_param =
    MESSAGE("TileParameter", params, tile_fields);

static const kiln_pb_field permute_fields[] = {LIST(1, params, order, KILN_PB_I64)};
const kiln_pb_message kiln_caffe_permute_param =
    MESSAGE("PermuteParameter", params, permute_fields);

static const kiln_pb_field norm_fields[] = {
    FIELD_GIVEN(1, params, across_spatial, KILN_PB_BOOL),
    IGNORED(2, params, "scale_filler"),
    FIELD_GIVEN(3, params, channel_shared, KILN_PB_BOOL),
    FIELD_GIVEN(4, params, eps, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_norm_param =
    MESSAGE("NormalizeParameter", params, norm_fields);

static const kiln_pb_field region_value_fields[] = {VALUE(0, "ACROSS_CHANNELS"),
                                                    VALUE(1, "WITHIN_CHANNEL")};
static const kiln_pb_message region_values = VALUES("NormRegion", region_value_fields);

static const kiln_pb_field lrn_fields[] = {
    FIELD_GIVEN(1, params, local_size, KILN_PB_I64),
    FIELD_GIVEN(2, params, alpha, KILN_PB_F32),
    FIELD_GIVEN(3, params, beta, KILN_PB_F32),
    ENUM(4, params, norm_region, region_values),
    FIELD_GIVEN(5, params, k, KILN_PB_F32),
    IGNORED(6, params, "engine"),
};
const kiln_pb_message kiln_caffe_lrn_param =
    MESSAGE("LRNParameter", params, lrn_fields);

static const kiln_pb_field mvn_fields[] = {
    FIELD_GIVEN(1, params, normalize_variance, KILN_PB_BOOL),
    FIELD(2, params, across_channels, KILN_PB_BOOL),
    FIELD_GIVEN(3, params, eps, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_mvn_param =
    MESSAGE("MVNParameter", params, mvn_fields);

static const kiln_pb_field softmax_fields[] = {
    IGNORED(1, params, "engine"),
    FIELD_GIVEN(2, params, axis, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_softmax_param =
    MESSAGE("SoftmaxParameter", params, softmax_fields);

static const kiln_pb_field argmax_fields[] = {
    FIELD(1, params, out_max_val, KILN_PB_BOOL),
    FIELD_GIVEN(2, params, top_k, KILN_PB_I64),
    FIELD_GIVEN(3, params, axis, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_argmax_param =
    MESSAGE("ArgMaxParameter", params, argmax_fields);

static const kiln_pb_field reduction_value_fields[] = {
    VALUE(1, "SUM"), VALUE(2, "ASUM"), VALUE(3, "SUMSQ"), VALUE(4, "MEAN")};
static const kiln_pb_message reduction_values =
    VALUES("ReductionOp", reduction_value_fields);

static const kiln_pb_field reduction_fields[] = {
    ENUM_HAS(1, params, operation, reduction_values),
    FIELD_GIVEN(2, params, axis, KILN_PB_I64),
    LIST(3, params, coeff, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_reduction_param =
    MESSAGE("ReductionParameter", params, reduction_fields);

static const kiln_pb_field dropout_fields[] = {
    IGNORED(1, params, "dropout_ratio"),
    IGNORED(2, params, "scale_train"),
};
const kiln_pb_message kiln_caffe_dropout_param =
    MESSAGE("DropoutParameter", params, dropout_fields);

static const kiln_pb_field interp_fields[] = {
    FIELD(1, params, height, KILN_PB_I64),
    FIELD(2, params, width, KILN_PB_I64),
    FIELD(3, params, zoom_factor, KILN_PB_I64),
    FIELD(4, params, shrink_factor, KILN_PB_I64),
    FIELD(5, params, pad_beg, KILN_PB_I64),
    FIELD(6, params, pad_end, KILN_PB_I64),
};
const kiln_pb_message kiln_caffe_interp_param =
    MESSAGE("InterpParameter", params, interp_fields);

static const kiln_pb_field upsample_fields[] = {
    FIELD_GIVEN(1, params, scale, KILN_PB_F32),
};
const kiln_pb_message kiln_caffe_upsample_param =
    MESSAGE("UpsampleParameter", params, upsample_fields);

static const kiln_pb_field shuffle_fields[] = {FIELD(1, params, group, KILN_PB_I64)};
const kiln_pb_message kiln_caffe_shuffle_channel_param =
    MESSAGE("ShuffleChannelParameter", params, shuffle_fields);
