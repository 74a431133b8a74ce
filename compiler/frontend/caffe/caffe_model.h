/* A Caffe net as its files hold it: NetParameter, layers of both versions in one struct.
 * Names are those of caffe.proto. Everything is in the arena of the decoding; strings and
 * weights are views into the files. */
#ifndef KILN_COMPILER_FRONTEND_CAFFE_CAFFE_MODEL_H
#define KILN_COMPILER_FRONTEND_CAFFE_CAFFE_MODEL_H

#include "base/base.h"

typedef struct kiln_caffe_shape {
    const int64_t *dim;
    size_t n_dim;
} kiln_caffe_shape;

/* BlobProto: weights. Exactly one of data and double_data, little endian, packed. */
typedef struct kiln_caffe_blob {
    kiln_caffe_shape *shape; /* NULL: num, channels, height, width */
    int64_t num, channels, height, width;
    kiln_str data, double_data;
} kiln_caffe_blob;

typedef struct kiln_caffe_rule { /* NetStateRule */
    int64_t phase, min_level, max_level;
    bool has_phase, has_min_level, has_max_level;
    const kiln_str *stage, *not_stage;
    size_t n_stage, n_not_stage;
} kiln_caffe_rule;

/* Parameters of a layer: the fields of all its messages that have one, in one struct. A
 * layer is of one type, so no two of them meet, and each importer knows which it may ask.
 * What is not given is 0 (false, empty), and its has_ is false. */
typedef struct kiln_caffe_params {
    size_t n_ignored; /* fields that cannot change a result of inference */

    /* convolution_param, pooling_param, inner_product_param, embed_param */
    int64_t num_output, group, input_dim;
    bool bias_term, has_bias_term, transpose;
    const int64_t *kernel_size, *pad, *stride, *dilation;
    size_t n_kernel_size, n_pad, n_stride, n_dilation;
    int64_t kernel_h, kernel_w, pad_h, pad_w, stride_h, stride_w;
    bool has_kernel_h, has_kernel_w, has_pad_h, has_pad_w, has_stride_h, has_stride_w;
    int64_t pool, round_mode;
    bool global_pooling, ceil_mode, has_ceil_mode;

    /* axes, of many */
    int64_t axis, num_axes, end_axis, concat_dim, slice_dim;
    bool has_axis, has_num_axes, has_end_axis, has_concat_dim, has_slice_dim;
    const int64_t *slice_point, *offset, *order;
    size_t n_slice_point, n_offset, n_order;
    kiln_caffe_shape *shape; /* reshape_param; input_param: several */
    size_t n_shape;
    int64_t tiles, operation, top_k;
    bool has_operation, has_top_k, out_max_val;
    const float *coeff;
    size_t n_coeff;

    /* numbers; which of them were given */
    float alpha, beta, k, eps, base, scale, shift, power, threshold, negative_slope,
        min, max;
    bool has_alpha, has_beta, has_k, has_eps, has_base, has_scale, has_shift, has_power,
        has_threshold, has_min, has_max;
    int64_t local_size, norm_region;
    bool has_local_size;
    bool use_global_stats, has_use_global_stats;
    bool normalize_variance, has_normalize_variance, across_channels;
    bool across_spatial, has_across_spatial, channel_shared, has_channel_shared;

    /* interp_param, upsample_param */
    int64_t height, width, zoom_factor, shrink_factor, pad_beg, pad_end;
} kiln_caffe_params;

/* Places of messages of parameters in has_params. */
enum {
#define KILN_CAFFE_PARAM(number, old, name) KILN_CAFFE_HAS_##name,
#define KILN_CAFFE_NEW_PARAM(number, name) KILN_CAFFE_HAS_##name,
#include "compiler/frontend/caffe/caffe_params.def"
#undef KILN_CAFFE_NEW_PARAM
#undef KILN_CAFFE_PARAM
    KILN_CAFFE_N_PARAMS
};

typedef struct kiln_caffe_layer {
    kiln_str name, type;
    int64_t v1_type; /* V1LayerParameter, whose `type` is then filled in */
    const kiln_str *bottom, *top;
    size_t n_bottom, n_top;
    kiln_caffe_blob *blobs;
    size_t n_blobs;
    kiln_caffe_rule *include, *exclude;
    size_t n_include, n_exclude;
    int64_t phase;
    bool has_phase;
    bool has_params[KILN_CAFFE_N_PARAMS]; /* by message: KILN_CAFFE_HAS_ */
    kiln_caffe_params p;
    size_t n_other; /* messages of parameters that kiln does not know */
    size_t n_ignored;
    size_t index; /* in the net */
} kiln_caffe_layer;

typedef struct kiln_caffe_net {
    kiln_str name;
    const kiln_str *input;
    size_t n_input;
    kiln_caffe_shape *input_shape;
    size_t n_input_shape;
    const int64_t *input_dim; /* of old: four of each input */
    size_t n_input_dim;
    kiln_caffe_layer *layer;
    size_t n_layer;
    kiln_caffe_layer *layers; /* V1; after decoding, `layer` has them */
    size_t n_layers;
    size_t n_ignored;
} kiln_caffe_net;

enum { KILN_CAFFE_TEST = 1 }; /* Phase */
enum { KILN_CAFFE_PROD = 0, KILN_CAFFE_SUM = 1, KILN_CAFFE_MAX = 2 };
enum { KILN_CAFFE_POOL_MAX = 0, KILN_CAFFE_POOL_AVE = 1 };
enum { KILN_CAFFE_ASUM = 2, KILN_CAFFE_SUMSQ = 3, KILN_CAFFE_MEAN = 4 };

/* The description: a text with parameters of layers. */
kiln_status kiln_caffe_decode_text(kiln_arena *a, kiln_str text, const char *file,
                                   kiln_caffe_net *out, kiln_err *err);
/* The weights: names, types and blobs. */
kiln_status kiln_caffe_decode_weights(kiln_arena *a, kiln_str bytes,
                                      kiln_caffe_net *out, kiln_err *err);

/* Of the content: a description, weights. */
bool kiln_caffe_is_text(kiln_str bytes);
bool kiln_caffe_is_weights(kiln_str bytes);

#endif
