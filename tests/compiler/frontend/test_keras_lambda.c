/* Functions of TensorFlow in a model's code, as Keras 2 writes them: layers TFOpLambda and
 * SlicingOpLambda, on x = 0, 1, 2, 3. Calls are as tf_keras 2.21 writes them; numbers are
 * worked out by hand. */
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/keras_model.h"

#include <math.h>

enum { MAX_WANT = 12 };

typedef struct row {
    const char *name, *function;
    const char *call;  /* of it, in single quotes; x and s, x's shape, are there */
    const char *shape; /* of the result */
    double want[MAX_WANT];
} row;

typedef struct refusal {
    const char *name, *function, *call, *says;
} refusal;

#define X(arguments) "[['x', 0, 0, {" arguments "}]]"

static row rows[] = {
    {"a_number", "math.multiply", X("'y': 2.0, 'name': null"), "[1,2,2]", {0, 2, 4, 6}},
    {"an_integer_beside_floats",
     "__operators__.add",
     X("'y': 1"),
     "[1,2,2]",
     {1, 2, 3, 4}},
    {"a_number_before",
     "math.subtract",
     "[['_CONSTANT_VALUE', -1, 1.0, {'y': ['x', 0, 0], 'name': null}]]",
     "[1,2,2]",
     {1, 0, -1, -2}},
    {"numbers_in_a_list",
     "math.truediv",
     X("'y': [2.0, 4]"),
     "[1,2,2]",
     {0, .25, 1, .75}},
    {"numbers_in_lists",
     "math.add",
     X("'y': [[10, 20], [30, 40]]"),
     "[1,2,2]",
     {10, 21, 32, 43}},
    {"itself", "math.multiply", X("'y': ['x', 0, 0]"), "[1,2,2]", {0, 1, 4, 9}},
    {"several",
     "concat",
     "[[['x', 0, 0, {'axis': -1}], ['x', 0, 0, {'axis': -1}]]]",
     "[1,2,4]",
     {0, 1, 0, 1, 2, 3, 2, 3}},
    {"stacked",
     "stack",
     "[[['x', 0, 0, {'axis': 1}], ['x', 0, 0, {'axis': 1}]]]",
     "[1,2,2,2]",
     {0, 1, 2, 3, 0, 1, 2, 3}},
    {"a_column",
     "__operators__.getitem",
     X("'slice_spec': [{'start': null, 'stop': null, 'step': null}, "
       "{'class_name': '__ellipsis__'}, 1]"),
     "[1,2]",
     {1, 3}},
    {"backwards",
     "__operators__.getitem",
     X("'slice_spec': [{'start': null, 'stop': null, 'step': null}, "
       "{'start': null, 'stop': null, 'step': -1}, null]"),
     "[1,2,1,2]",
     {2, 3, 0, 1}},
    {"reshaped", "reshape", X("'shape': [-1, 4]"), "[1,4]", {0, 1, 2, 3}},
    {"reshaped_by_parts_of_a_shape",
     "reshape",
     X("'shape': [['n', 0, 0], -1, 1]"),
     "[1,4,1]",
     {0, 1, 2, 3}},
    {"reshaped_by_a_shape",
     "reshape",
     X("'shape': ['s', 0, 0]"),
     "[1,2,2]",
     {0, 1, 2, 3}},
    {"turned",
     "compat.v1.transpose",
     X("'perm': [0, 2, 1], 'name': 'transpose', 'conjugate': false"),
     "[1,2,2]",
     {0, 2, 1, 3}},
    {"product",
     "linalg.matmul",
     X("'b': ['x', 0, 0], 'transpose_b': true"),
     "[1,2,2]",
     {1, 3, 3, 13}},
    {"mean", "math.reduce_mean", X("'axis': [1]"), "[1,2]", {1, 2}},
    {"variance",
     "math.reduce_variance",
     X("'axis': -1, 'keepdims': true"),
     "[1,2,1]",
     {.25, .25}},
    {"deviation_of_all", "math.reduce_std", X(""), "[]", {1.1180340}},
    {"largest_place",
     "math.argmax",
     X("'axis': -1, 'output_type': 'int32'"),
     "[1,2]",
     {1, 1}},
    {"clipped",
     "clip_by_value",
     X("'clip_value_min': 0.5, 'clip_value_max': 2"),
     "[1,2,2]",
     {.5, 1, 2, 2}},
    {"softmax",
     "nn.softmax",
     X(""),
     "[1,2,2]",
     {.2689414, .7310586, .2689414, .7310586}},
    {"relu6", "nn.relu6", X(""), "[1,2,2]", {0, 1, 2, 3}},
    {"leaky_by_a_fifth", "nn.leaky_relu", X(""), "[1,2,2]", {0, 1, 2, 3}},
    {"gelu_without_tanh",
     "nn.gelu",
     X(""),
     "[1,2,2]",
     {0, .8413447, 1.9544997, 2.9959502}},
    {"silu_that_is_steeper",
     "nn.silu",
     X("'beta': 2"),
     "[1,2,2]",
     {0, .8807971, 1.9640276, 2.9925821}},
    {"of_length_1",
     "math.l2_normalize",
     X("'axis': -1"),
     "[1,2,2]",
     {0, 1, .5547002, .8320503}},
    {"bias",
     "nn.bias_add",
     X("'bias': [-1, 1], 'data_format': 'NHWC'"),
     "[1,2,2]",
     {-1, 2, 1, 4}},
    {"picked",
     "compat.v1.gather",
     X("'indices': [1, 1, 0], 'validate_indices': null, 'axis': 1, 'batch_dims': 0"),
     "[1,3,2]",
     {2, 3, 2, 3, 0, 1}},
    {"repeated",
     "tile",
     X("'multiples': [1, 1, 2]"),
     "[1,2,4]",
     {0, 1, 0, 1, 2, 3, 2, 3}},
    {"with_margins",
     "compat.v1.pad",
     X("'paddings': [[0, 0], [0, 1], [1, 0]], 'mode': 'CONSTANT', "
       "'constant_values': 7"),
     "[1,3,3]",
     {7, 0, 1, 7, 2, 3, 7, 7, 7}},
    {"a_part", "identity", "[['h', 0, 1, {}]]", "[1,2,1]", {1, 3}},
    {"a_part_of_what_is_left", "identity", "[['l', 0, 1, {}]]", "[1,1,2]", {2, 3}},
    {"an_element", "identity", "[['u', 0, 1, {}]]", "[1,2]", {2, 3}},
    {"chosen",
     "where",
     "[['p', 0, 0, {'x': ['x', 0, 0], 'y': 9.0}]]",
     "[1,2,2]",
     {9, 9, 2, 3}},
    {"channels_of_pixels",
     "nn.space_to_depth",
     "[['i', 0, 0, {'block_size': 2}]]",
     "[1,1,1,4]",
     {0, 1, 2, 3}},
    {"pixels_of_channels",
     "nn.depth_to_space",
     "[['c', 0, 0, {'block_size': 2}]]",
     "[1,2,2,1]",
     {0, 1, 2, 3}},
    {"remainder_below_zero",
     "math.floormod",
     "[['_CONSTANT_VALUE', -1, -7.0, {'y': ['d', 0, 0]}]]",
     "[1,2,2]",
     {0, 1, 2, 1}},
    {"rounded_down",
     "compat.v1.floor_div",
     "[['_CONSTANT_VALUE', -1, -7.0, {'y': ['d', 0, 0]}]]",
     "[1,2,2]",
     {-7, -4, -3, -2}},
    {"places_of_a_kind",
     "one_hot",
     "[['o', 0, 0, {'depth': 3}]]",
     "[1,2,3]",
     {0, 1, 0, 0, 0, 0}},
    {"places_in_front",
     "one_hot",
     "[['o', 0, 0, {'depth': 3, 'axis': 0, 'on_value': 5, 'off_value': -1}]]",
     "[3,1,2]",
     {-1, -1, 5, -1, -1, -1}},
    {"sums", "math.cumsum", X("'axis': 1"), "[1,2,2]", {0, 1, 2, 4}},
    {"sums_of_what_is_behind",
     "math.cumsum",
     X("'axis': 2, 'exclusive': true, 'reverse': true"),
     "[1,2,2]",
     {1, 0, 3, 0}},
    {"products", "math.cumprod", X("'axis': -1"), "[1,2,2]", {0, 0, 2, 6}},
    {"each_twice",
     "repeat",
     X("'repeats': 2, 'axis': 1"),
     "[1,4,2]",
     {0, 1, 0, 1, 2, 3, 2, 3}},
    {"all_twice", "repeat", X("'repeats': [2]"), "[8]", {0, 0, 1, 1, 2, 2, 3, 3}},
    {"some_more_often",
     "repeat",
     X("'repeats': [0, 3], 'axis': -1"),
     "[1,2,3]",
     {1, 1, 1, 3, 3, 3}},
    {"turned_round", "reverse", X("'axis': [-1, 1]"), "[1,2,2]", {3, 2, 1, 0}},
    {"rolled", "roll", X("'shift': [1, -3], 'axis': [1, 2]"), "[1,2,2]", {3, 2, 1, 0}},
    {"a_part_from_a_place_on",
     "slice",
     X("'begin': [0, 1, 0], 'size': [1, -1, 1]"),
     "[1,1,1]",
     {2}},
    {"with_reflected_margins",
     "compat.v1.pad",
     X("'paddings': [[0, 0], [0, 1], [1, 0]], 'mode': 'REFLECT', 'name': null, "
       "'constant_values': 0"),
     "[1,3,3]",
     {1, 0, 1, 3, 2, 3, 1, 0, 1}},
    {"length_of_all", "norm", X(""), "[]", {3.7416574}},
    {"length_of_lines",
     "norm",
     X("'ord': 'euclidean', 'axis': -1, 'keepdims': true"),
     "[1,2,1]",
     {1, 3.6055513}},
    {"length_by_sums", "norm", X("'ord': 1, 'axis': [1]"), "[1,2]", {2, 4}},
    {"length_by_cubes", "norm", X("'ord': 3.0, 'axis': 1"), "[1,2]", {2, 3.0365890}},
    {"largest", "math.top_k", X(""), "[1,2,1]", {1, 3}},
    {"places_of_the_largest", "identity", "[['t', 0, 1, {}]]", "[1,2,2]", {1, 0, 1, 0}},
    {"convolved",
     "compat.v1.nn.conv2d",
     "[['i', 0, 0, {'filter': [[[[1]]], [[[10]]]], 'strides': [1, 1, 1, 1], "
     "'padding': 'SAME', 'use_cudnn_on_gpu': true, 'data_format': 'NHWC', "
     "'dilations': null, 'name': null}]]",
     "[1,2,2,1]",
     {20, 31, 2, 3}},
    {"convolved_in_groups",
     "nn.convolution",
     "[['c', 0, 0, {'filters': [[[[1, 0], [10, 1]]]], 'padding': 'VALID'}]]",
     "[1,1,1,2]",
     {10, 3}},
    {"convolved_with_margins",
     "nn.conv2d",
     "[['i', 0, 0, {'filters': [[[[1]]], [[[10]]]], 'strides': 1, 'padding': [[0, 0], "
     "[1, 0], [0, 0], [0, 0]]}]]",
     "[1,2,2,1]",
     {0, 10, 20, 31}},
    {"lines_convolved",
     "compat.v1.nn.conv1d",
     X("'filters': [[[1], [10]], [[100], [1000]]], 'stride': 1, 'padding': 'SAME', "
       "'data_format': 'NWC'"),
     "[1,2,1]",
     {3210, 32}},
    {"channels_convolved",
     "compat.v1.nn.depthwise_conv2d",
     "[['c', 0, 0, {'filter': [[[[1], [10], [100], [1000]]]], 'strides': [1, 1, 1, 1], "
     "'padding': 'VALID', 'rate': null, 'data_format': null}]]",
     "[1,1,1,4]",
     {0, 10, 200, 3000}},
    {"channels_convolved_far_apart",
     "compat.v1.nn.depthwise_conv2d",
     "[['i', 0, 0, {'filter': [[[[1]], [[10]], [[100]]]], 'strides': [1, 1, 1, 1], "
     "'padding': 'SAME', 'rate': [1, 2]}]]",
     "[1,2,2,1]",
     {0, 10, 20, 30}},
    {"convolved_back",
     "nn.conv2d_transpose",
     "[['i', 0, 0, {'filters': [[[[1]], [[10]]]], 'output_shape': [['n', 0, 0], 2, 4, "
     "1], 'strides': [1, 2], 'padding': 'VALID'}]]",
     "[1,2,4,1]",
     {0, 0, 1, 10, 2, 20, 3, 30}},
    {"convolved_back_to_the_same",
     "nn.conv2d_transpose",
     "[['i', 0, 0, {'filters': [[[[1]], [[10]], [[100]]]], 'output_shape': [1, 2, 4, "
     "1], 'strides': [1, 2]}]]",
     "[1,2,4,1]",
     {0, 0, 1, 10, 2, 20, 203, 30}},
    {"largest_of_a_window",
     "nn.max_pool2d",
     "[['i', 0, 0, {'ksize': 2, 'strides': [1, 1], 'padding': 'SAME'}]]",
     "[1,2,2,1]",
     {3, 3, 3, 3}},
    {"mean_of_a_window",
     "nn.avg_pool",
     "[['i', 0, 0, {'ksize': [1, 2, 2, 1], 'strides': [1, 1, 1, 1], 'padding': "
     "'SAME'}]]",
     "[1,2,2,1]",
     {1.5, 2, 2.5, 3}},
    {"separably_convolved",
     "compat.v1.nn.separable_conv2d",
     "[['c', 0, 0, {'depthwise_filter': [[[[1], [10], [100], [1000]]]], "
     "'pointwise_filter': [[[[1, 0], [1, 0], [0, 1], [0, 2]]]], 'strides': [1, 1, 1, "
     "1], 'padding': 'VALID'}]]",
     "[1,1,1,2]",
     {10, 6200}},
    {"log1p", "math.log1p", X(""), "[1,2,2]", {0, .6931472, 1.0986123, 1.3862944}},
    {"expm1", "math.expm1", X(""), "[1,2,2]", {0, 1.7182818, 6.3890561, 19.0855369}},
    {"in_order", "sort", X("'direction': 'DESCENDING'"), "[1,2,2]", {1, 0, 3, 2}},
    {"places_of_the_order", "argsort", X("'axis': 1"), "[1,2,2]", {0, 0, 1, 1}},
    {"picked_by_rows_of_places",
     "compat.v1.gather_nd",
     X("'indices': [[0, 1, 1], [0, 0, 1]]"),
     "[2]",
     {3, 1}},
    {"picked_in_each_batch",
     "gather_nd",
     X("'indices': [[[1], [0]]], 'batch_dims': 1"),
     "[1,2,2]",
     {2, 3, 0, 1}},
    {"a_band",
     "linalg.band_part",
     X("'num_lower': 0, 'num_upper': -1"),
     "[1,2,2]",
     {0, 1, 0, 3}},
    {"summed_over_axes",
     "tensordot",
     X("'b': ['x', 0, 0], 'axes': [[0, 2], [0, 1]]"),
     "[2,2]",
     {2, 3, 6, 11}},
    {"blocks_in_the_batch",
     "space_to_batch_nd",
     "[['i', 0, 0, {'block_shape': [1, 2], 'paddings': [[0, 0], [1, 1]]}]]",
     "[2,2,2,1]",
     {0, 1, 0, 3, 0, 0, 2, 0}},
    {"blocks_of_the_batch",
     "batch_to_space",
     "[['q', 0, 0, {'block_shape': [2, 2], 'crops': [[0, 0], [1, 0]]}]]",
     "[1,2,1,1]",
     {1, 3}},
    {"resized",
     "image.resize",
     "[['i', 0, 0, {'size': [1, 4], 'method': 'nearest'}]]",
     "[1,1,4,1]",
     {2, 2, 3, 3}},
};

static refusal refusals[] = {
    {"an_unread_function", "image.rgb_to_hsv", X(""),
     "1 kind of layer is not read: tf.image.rgb_to_hsv (first in layer 'y'; kiln has "
     "it "
     "not: save the model as a SavedModel"},
    {"an_operand_that_was_not_written", "__operators__.add", X(""),
     "it must be called with 2 to 2 values, is with 1"},
    {"a_value_where_a_number_is_read", "nn.leaky_relu", X("'alpha': ['x', 0, 0]"),
     "and its other arguments be known"},
    {"parts_that_do_not_fit", "split", X("'num_or_size_splits': 3, 'axis': 1"),
     "axis 1 of 2 does not have these parts"},
    {"a_text", "math.add", X("'y': 'abc'"),
     "must be called with values of the model and numbers"},
    {"lists_of_two_lengths", "math.add", X("'y': [[1, 2], [3]]"),
     "its numbers must be in lists of one length"},
    {"channels_first", "nn.max_pool2d",
     "[['i', 0, 0, {'ksize': 2, 'strides': 1, 'padding': 'SAME', 'data_format': "
     "'NCHW'}]]",
     "data_format 'NCHW' is not read; save the model with channels last"},
    {"steps_over_the_batch", "nn.max_pool2d",
     "[['i', 0, 0, {'ksize': [2, 1, 1, 1], 'strides': 1, 'padding': 'SAME'}]]",
     "'ksize' must be 1 for the batch and the channels"},
    {"a_padding", "nn.avg_pool2d",
     "[['i', 0, 0, {'ksize': 2, 'strides': 1, 'padding': 'same'}]]",
     "'padding' is not read"},
    {"a_filter_of_other_channels", "nn.conv2d",
     "[['c', 0, 0, {'filters': [[[[1], [2], [3]]]], 'strides': 1, 'padding': "
     "'SAME'}]]",
     "its filter must be of channels that divide the input's"},
    {"a_filter_of_lines", "nn.conv2d",
     "[['i', 0, 0, {'filters': [[[1]]], 'strides': 1, 'padding': 'SAME'}]]",
     "its filter must have 4 axes, none empty, has shape [1,1,1]"},
    {"sizes_that_are_missing", "nn.conv2d_transpose",
     "[['i', 0, 0, {'filters': [[[[1]]]], 'output_shape': [1, 2], 'strides': 1}]]",
     "'output_shape' is not read"},
    {"no_kinds", "one_hot", "[['o', 0, 0, {'depth': 0}]]",
     "'depth' (or 'num_classes') must be 1 to 16777216, is 0"},
    {"an_axis_beyond", "one_hot", "[['o', 0, 0, {'depth': 2, 'axis': 3}]]", "axis 3"},
    {"a_length_of_matrices", "norm", X("'ord': 1, 'axis': [1, 2]"),
     "'ord' is not read"},
    {"repeats_of_some", "repeat", X("'repeats': [1, 2, 3], 'axis': 1"),
     "'repeats' must be one number, or one for each of 2 elements, has 3"},
    {"too_many_largest", "math.top_k", X("'k': 3"), "topk"},
    {"a_part_that_is_longer", "slice", X("'begin': [0, 1, 0], 'size': [1, 2, 1]"),
     "axis 1 of 2 has no 2 elements from 1 on"},
    {"a_shift_of_fewer_axes", "roll", X("'shift': 1, 'axis': [1, 2]"),
     "'shift' is not read"},
    {"margins_that_have_nothing_to_reflect", "pad",
     X("'paddings': [[0, 0], [0, 2], [0, 0]], 'mode': 'REFLECT'"),
     "reflected margins of axis 1 must be shorter than its 2 elements, one is 2"},
    {"points_of_other_channels", "nn.separable_conv2d",
     "[['c', 0, 0, {'depthwise_filter': [[[[1], [10], [100], [1000]]]], "
     "'pointwise_filter': [[[[1], [1]]]], 'strides': [1, 1, 1, 1], 'padding': "
     "'VALID'}]]",
     "'pointwise_filter' must be of one pixel and 4 channels"},
    {"places_that_are_ignored", "gather_nd",
     X("'indices': [[0, 1, 1]], 'bad_indices_policy': 'IGNORE'"),
     "'bad_indices_policy' is not read"},
    {"an_unknown_direction", "sort", X("'direction': 'UP'"), "'direction' is not read"},
    {"blocks_that_do_not_fit", "space_to_batch_nd",
     "[['i', 0, 0, {'block_shape': [3, 1], 'paddings': [[0, 0], [0, 0]]}]]",
     "axis 1 of 2 padded elements is not made of blocks of 3"},
    {"margins_of_fewer_axes", "space_to_batch_nd",
     "[['i', 0, 0, {'block_shape': [2, 1], 'paddings': [[0, 0]]}]]",
     "'paddings' is not read"},
    {"a_batch_of_other_blocks", "batch_to_space",
     "[['q', 0, 0, {'block_shape': [3, 1], 'crops': [[0, 0], [0, 0]]}]]",
     "the batch of 4 is not made of blocks"},
    {"a_mode_of_margins", "pad",
     X("'paddings': [[0, 0], [0, 1], [1, 0]], 'mode': 'SYMMETRIC'"),
     "'mode' is not read"},
};

/* Beside x [1, 2, 2] its shape s, its batch n, p where it is above 1, i and c: pixels with
 * a channel, and a pixel with four; h, l and u: its parts; d, x + 1; o, the integers 1
 * and 3; t, its largest; q, four images of a pixel. */
static const struct {
    const char *class_name, *name, *function, *call;
} around[] = {
    {"TFOpLambda", "s", "compat.v1.shape", X("'out_type': 'int32'")},
    {"SlicingOpLambda", "n", "__operators__.getitem",
     "[['s', 0, 0, {'slice_spec': 0}]]"},
    {"TFOpLambda", "p", "math.greater", X("'y': 1")},
    {"TFOpLambda", "i", "reshape", X("'shape': [1, 2, 2, 1]")},
    {"TFOpLambda", "c", "reshape", X("'shape': [1, 1, 1, 4]")},
    {"TFOpLambda", "h", "split", X("'num_or_size_splits': 2, 'axis': -1")},
    {"TFOpLambda", "l", "split", X("'num_or_size_splits': [1, -1], 'axis': 1")},
    {"TFOpLambda", "u", "unstack", X("'axis': 1")},
    {"TFOpLambda", "d", "math.add", X("'y': 1")},
    {"TFOpLambda", "f", "math.argmax", X("'axis': 1, 'output_type': 'int32'")},
    {"TFOpLambda", "o", "math.multiply", "[['f', 0, 0, {'y': [1, 3]}]]"},
    {"TFOpLambda", "t", "math.top_k", X("'k': 2, 'sorted': true")},
    {"TFOpLambda", "q", "reshape", X("'shape': [4, 1, 1, 1]")},
};

static void add_layer(kiln_buf *b, const char *class_name, const char *name,
                      const char *function, const char *call) {
    kiln_buf_printf(b,
                    ", {'class_name': '%s', 'name': '%s', 'config': {'name': '%s', "
                    "'trainable': true, 'dtype': 'float32', 'function': '%s'}, "
                    "'inbound_nodes': %s}",
                    class_name, name, name, function, call);
}

static const char *model_of(kiln_arena *a, const char *function, const char *call) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
                      "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': "
                      "'x', 'batch_input_shape': [1, 2, 2]}, 'inbound_nodes': []}");
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        add_layer(&b, around[i].class_name, around[i].name, around[i].function,
                  around[i].call);
    add_layer(&b, "TFOpLambda", "y", function, call);
    kiln_buf_puts(&b, "], 'input_layers': [['x', 0, 0]], "
                      "'output_layers': [['y', 0, 0]]}}");
    return kiln_test_quoted(a, b.p);
}

static kiln_status import(const char *function, const char *call, kiln_graph **g,
                          kiln_err *err) {
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    kiln_arena *const a = kiln_test_arena();
    const kiln_str bytes =
        kiln_test_keras_h5(a, model_of(a, function, call), "2.15.0", none);
    return kiln_test_import_keras(a, bytes, NULL, g, NULL, err);
}

static void refuses(void **state) {
    const refusal *const r = *state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_status st = import(r->function, r->call, &g, &err);
    kiln_assert_fails(st, st, &err, r->says);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(import(r->function, r->call, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    float x[] = {0, 1, 2, 3};
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_tensor y;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &y, &err), &err);
    assert_string_equal(kiln_shape_text(a, y.type.rank, y.type.dim), r->shape);
    const size_t n = (size_t)kiln_type_elems(&y.type);
    assert_in_range(n, 1, MAX_WANT);
    kiln_wide got = kiln_wide_new(a, &y.type);
    kiln_widen(&y.type, y.data, &got);
    for (size_t i = 0; i < n; i++) {
        const double v = got.f != NULL ? got.f[i] : (double)got.i[i];
        if (!(fabs(v - r->want[i]) <= 1e-6))
            fail_msg("element %zu must be %g, is %g", i, r->want[i], v);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(refuses, refusals);
    return kiln_test_run("keras_lambda");
}
