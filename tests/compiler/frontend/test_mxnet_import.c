/* What MXNet's operators become: small models run by the reference, held to numbers that
 * were worked out by hand from MXNet's documentation; the files of parameters. */
#include "compiler/frontend/mxnet/mxnet.h"

#include <stdio.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/mxnet_writer.h"

enum { MAX_PARAMS = 4, MAX_IN = 4, MAX_OUTS = 4, MAX_ELEMS = 64 };

/* One operator on x, y (if there is one) and parameters. */
typedef struct row {
    const char *name, *op, *attrs; /* attrs: members, without braces */
    const char *x, *y;             /* "1,2: 3 4"; y NULL: none */
    const char *params[MAX_PARAMS];
    const char *out_shape, *out; /* of the first output */
} row;

static row rows[] = {
    {"convolution",
     "Convolution",
     "\"kernel\": \"(2, 2)\", \"num_filter\": \"1\", \"workspace\": \"1024\"",
     "1,1,3,3: 1 2 3 4 5 6 7 8 9",
     NULL,
     {"1,1,2,2: 1 0 0 1", "1: 0.5"},
     "[1,1,2,2]",
     "6.5 8.5 12.5 14.5"},
    {"convolution_of_lines",
     "Convolution",
     "\"kernel\": \"(2,)\", \"stride\": \"(2,)\", \"pad\": \"[1]\", \"num_filter\": "
     "\"1\", "
     "\"no_bias\": \"True\"",
     "1,1,3: 1 2 3",
     NULL,
     {"1,1,2: 1 10"},
     "[1,1,2]",
     "10 32"},
    {"convolution_in_groups",
     "Convolution",
     "\"kernel\": \"(1L, 1L)\", \"num_filter\": \"2\", \"num_group\": \"2\", "
     "\"no_bias\": "
     "\"1\"",
     "1,2,1,1: 3 5",
     NULL,
     {"2,1,1,1: 10 100"},
     "[1,2,1,1]",
     "30 500"},
    {"deconvolution",
     "Deconvolution",
     "\"kernel\": \"(1, 2)\", \"stride\": \"(1, 2)\", \"num_filter\": \"1\"",
     "1,1,1,2: 1 2",
     NULL,
     {"1,1,1,2: 1 10"},
     "[1,1,1,4]",
     "1 10 2 20"},
    {"deconvolution_adjusted",
     "Deconvolution",
     "\"kernel\": \"(1, 2)\", \"stride\": \"(1, 2)\", \"adj\": \"(0, 1)\", "
     "\"num_filter\": "
     "\"1\"",
     "1,1,1,2: 1 2",
     NULL,
     {"1,1,1,2: 1 10"},
     "[1,1,1,5]",
     "1 10 2 20 0"},
    /* 4 elements are made, 3 are wanted: one pad, and one more behind */
    {"deconvolution_to_a_size",
     "Deconvolution",
     "\"kernel\": \"(1, 2)\", \"stride\": \"(1, 2)\", \"target_shape\": \"(1, 3)\", "
     "\"num_filter\": \"1\"",
     "1,1,1,2: 1 2",
     NULL,
     {"1,1,1,2: 1 10"},
     "[1,1,1,3]",
     "10 2 20"},
    {"fully_connected",
     "FullyConnected",
     "\"num_hidden\": \"2\"",
     "1,2,1,2: 1 2 3 4",
     NULL,
     {"2,4: 1 1 1 1 1 0 0 -1", "2: 0 0.5"},
     "[1,2]",
     "10 -2.5"},
    {"fully_connected_along_the_last",
     "FullyConnected",
     "\"num_hidden\": \"1\", \"flatten\": \"False\", \"no_bias\": \"True\"",
     "1,2,2: 1 2 3 4",
     NULL,
     {"1,2: 1 10"},
     "[1,2,1]",
     "21 43"},
    {"batch_norm_of_fixed_gamma",
     "BatchNorm",
     "\"eps\": \"0\", \"momentum\": \"0.9\"",
     "1,1,1,2: 2 4",
     NULL,
     {"1: 7", "1: 10", "1: 2", "1: 4"},
     "[1,1,1,2]",
     "10 11"},
    {"batch_norm",
     "BatchNorm",
     "\"eps\": \"0\", \"fix_gamma\": \"False\"",
     "1,1,1,2: 2 4",
     NULL,
     {"1: 3", "1: 10", "1: 2", "1: 4"},
     "[1,1,1,2]",
     "10 13"},
    {"batch_norm_of_the_last_axis",
     "BatchNorm",
     "\"eps\": \"0\", \"fix_gamma\": \"False\", \"axis\": \"-1\"",
     "1,1,2: 2 4",
     NULL,
     {"2: 3 1", "2: 10 0", "2: 0 2", "2: 4 1"},
     "[1,1,2]",
     "13 2"},
    {"pooling",
     "Pooling",
     "\"kernel\": \"(1, 2)\", \"stride\": \"(1, 2)\"",
     "1,1,1,3: 1 2 3",
     NULL,
     {NULL},
     "[1,1,1,1]",
     "2"},
    {"pooling_full",
     "Pooling",
     "\"kernel\": \"(1, 2)\", \"stride\": \"(1, 2)\", \"pool_type\": \"max\", "
     "\"pooling_convention\": \"full\"",
     "1,1,1,3: 1 2 3",
     NULL,
     {NULL},
     "[1,1,1,2]",
     "2 3"},
    {"pooling_same",
     "Pooling",
     "\"kernel\": \"(2,)\", \"stride\": \"(2,)\", \"pool_type\": \"avg\", "
     "\"pooling_convention\": \"same\"",
     "1,1,3: 2 4 6",
     NULL,
     {NULL},
     "[1,1,2]",
     "3 6"},
    {"average_with_padding",
     "Pooling",
     "\"kernel\": \"(3,)\", \"stride\": \"(2,)\", \"pad\": \"(1,)\", \"pool_type\": "
     "\"avg\"",
     "1,1,3: 3 6 9",
     NULL,
     {NULL},
     "[1,1,2]",
     "3 5"},
    {"average_without_padding",
     "Pooling",
     "\"kernel\": \"(3,)\", \"stride\": \"(2,)\", \"pad\": \"(1,)\", \"pool_type\": "
     "\"avg\", \"count_include_pad\": \"False\"",
     "1,1,3: 3 6 9",
     NULL,
     {NULL},
     "[1,1,2]",
     "4.5 7.5"},
    {"pooling_to_sums",
     "Pooling",
     "\"kernel\": \"(2,)\", \"stride\": \"(1,)\", \"pool_type\": \"sum\"",
     "1,1,3: 1 2 3",
     NULL,
     {NULL},
     "[1,1,2]",
     "3 5"},
    {"pooling_of_all",
     "Pooling",
     "\"global_pool\": \"True\", \"kernel\": \"(7, 7)\", \"pool_type\": \"avg\"",
     "1,2,1,2: 1 3 5 9",
     NULL,
     {NULL},
     "[1,2,1,1]",
     "2 7"},
    {"activation",
     "Activation",
     "\"act_type\": \"softrelu\"",
     "1,1: 0",
     NULL,
     {NULL},
     "[1,1]",
     "0.69314718"},
    {"leaky",
     "LeakyReLU",
     "\"act_type\": \"leaky\", \"slope\": \"0.5\"",
     "1,2: -2 3",
     NULL,
     {NULL},
     "[1,2]",
     "-1 3"},
    {"prelu",
     "LeakyReLU",
     "\"act_type\": \"prelu\", \"slope\": \"0.25\"",
     "1,2,1: -2 -2",
     NULL,
     {"2: 0.5 0.25"},
     "[1,2,1]",
     "-1 -0.5"},
    {"elu",
     "LeakyReLU",
     "\"act_type\": \"elu\", \"slope\": \"2\"",
     "1,2: -1 2",
     NULL,
     {NULL},
     "[1,2]",
     "-1.2642411 2"},
    {"selu",
     "LeakyReLU",
     "\"act_type\": \"selu\"",
     "1,1: 1",
     NULL,
     {NULL},
     "[1,1]",
     "1.0507010"},
    {"gelu",
     "LeakyReLU",
     "\"act_type\": \"gelu\"",
     "1,1: 1",
     NULL,
     {NULL},
     "[1,1]",
     "0.84134475"},
    {"rrelu",
     "LeakyReLU",
     "\"act_type\": \"rrelu\", \"lower_bound\": \"0.25\", \"upper_bound\": \"0.75\"",
     "1,2: -2 2",
     NULL,
     {NULL},
     "[1,2]",
     "-1 2"},
    {"hard_sigmoid", "hard_sigmoid", "", "1,2: 1 9", NULL, {NULL}, "[1,2]", "0.7 1"},
    {"clip",
     "clip",
     "\"a_min\": \"-1\", \"a_max\": \"2\"",
     "3: -5 0 5",
     NULL,
     {NULL},
     "[3]",
     "-1 0 2"},
    {"softmax",
     "softmax",
     "\"axis\": \"1\", \"temperature\": \"None\"",
     "1,2,1: 0 1",
     NULL,
     {NULL},
     "[1,2,1]",
     "0.26894142 0.73105858"},
    {"log_softmax",
     "log_softmax",
     "",
     "1,2: 0 1",
     NULL,
     {NULL},
     "[1,2]",
     "-1.3132617 -0.31326169"},
    {"softmax_output",
     "SoftmaxOutput",
     "\"grad_scale\": \"1\"",
     "1,2: 0 1",
     "1: 0",
     {NULL},
     "[1,2]",
     "0.26894142 0.73105858"},
    {"softmax_activation",
     "SoftmaxActivation",
     "\"mode\": \"channel\"",
     "1,2,1,1: 0 1",
     NULL,
     {NULL},
     "[1,2,1,1]",
     "0.26894142 0.73105858"},
    {"logistic",
     "LogisticRegressionOutput",
     "",
     "1,1: 1",
     "1,1: 1",
     {NULL},
     "[1,1]",
     "0.73105858"},
    {"dropout_is_nothing",
     "Dropout",
     "\"p\": \"0.5\"",
     "2: 1 2",
     NULL,
     {NULL},
     "[2]",
     "1 2"},
    {"lrn",
     "LRN",
     "\"nsize\": \"3\", \"alpha\": \"3\", \"beta\": \"1\", \"knorm\": \"1\"",
     "1,2,1,1: 1 2",
     NULL,
     {NULL},
     "[1,2,1,1]",
     "0.16666667 0.33333333"},
    {"l2_normalization",
     "L2Normalization",
     "\"mode\": \"channel\"",
     "1,2,1: 3 4",
     NULL,
     {NULL},
     "[1,2,1]",
     "0.6 0.8"},
    {"instance_norm",
     "InstanceNorm",
     "\"eps\": \"0\"",
     "1,1,2: 1 3",
     NULL,
     {"1: 2", "1: 5"},
     "[1,1,2]",
     "3 7"},
    {"layer_norm",
     "LayerNorm",
     "\"eps\": \"0\"",
     "1,2: 1 3",
     NULL,
     {"2: 2 2", "2: 5 6"},
     "[1,2]",
     "3 8"},
    {"layer_norm_of_another_axis",
     "LayerNorm",
     "\"eps\": \"0\", \"axis\": \"0\"",
     "2,1: 1 3",
     NULL,
     {"2: 2 2", "2: 5 6"},
     "[2,1]",
     "3 8"},
    {"group_norm",
     "GroupNorm",
     "\"eps\": \"0\", \"num_groups\": \"1\"",
     "1,2,1: 1 3",
     NULL,
     {"2: 2 2", "2: 5 6"},
     "[1,2,1]",
     "3 8"},
    {"embedding",
     "Embedding",
     "\"input_dim\": \"2\", \"output_dim\": \"2\", \"dtype\": \"float32\"",
     "3: 1 0 9",
     NULL,
     {"2,2: 1 2 3 4"},
     "[3,2]",
     "3 4 1 2 3 4"},
    {"up_sampling",
     "UpSampling",
     "\"scale\": \"2\", \"sample_type\": \"nearest\"",
     "1,1,1,2: 1 2",
     NULL,
     {NULL},
     "[1,1,2,4]",
     "1 1 2 2 1 1 2 2"},
    {"bilinear_resize",
     "_contrib_BilinearResize2D",
     "\"height\": \"1\", \"width\": \"3\"",
     "1,1,1,2: 1 3",
     NULL,
     {NULL},
     "[1,1,1,3]",
     "1 2 3"},
    {"flatten", "Flatten", "", "1,2,2: 1 2 3 4", NULL, {NULL}, "[1,4]", "1 2 3 4"},
    {"reshape",
     "Reshape",
     "\"shape\": \"(0, -1)\"",
     "1,2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[1,4]",
     "1 2 3 4"},
    {"reshape_joins_and_keeps",
     "Reshape",
     "\"shape\": \"(-3, -2)\"",
     "2,2,1: 1 2 3 4",
     NULL,
     {NULL},
     "[4,1]",
     "1 2 3 4"},
    {"reshape_splits",
     "Reshape",
     "\"shape\": \"(-4, 2, -1, 0)\"",
     "4,1: 1 2 3 4",
     NULL,
     {NULL},
     "[2,2,1]",
     "1 2 3 4"},
    /* of MXNet's documentation: (10, 5, 4) by (-1, 0) is (40, 5), reversed (50, 4) */
    {"reshape_from_behind",
     "Reshape",
     "\"shape\": \"(-1, 0)\", \"reverse\": \"True\"",
     "2,1,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,2]",
     "1 2 3 4"},
    {"expand_dims",
     "expand_dims",
     "\"axis\": \"1\"",
     "2: 1 2",
     NULL,
     {NULL},
     "[2,1]",
     "1 2"},
    {"squeeze",
     "squeeze",
     "\"axis\": \"(0, 2)\"",
     "1,2,1,1: 1 2",
     NULL,
     {NULL},
     "[2,1]",
     "1 2"},
    {"squeeze_all", "squeeze", "", "1,2,1: 1 2", NULL, {NULL}, "[2]", "1 2"},
    {"transpose",
     "transpose",
     "\"axes\": \"(1, 0)\"",
     "2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,2]",
     "1 3 2 4"},
    {"transpose_turns_all",
     "transpose",
     "",
     "1,2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,2,1]",
     "1 3 2 4"},
    {"swap_axis",
     "SwapAxis",
     "\"dim1\": \"0\", \"dim2\": \"1\"",
     "2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,2]",
     "1 3 2 4"},
    {"depth_to_space",
     "depth_to_space",
     "\"block_size\": \"2\"",
     "1,4,1,1: 1 2 3 4",
     NULL,
     {NULL},
     "[1,1,2,2]",
     "1 2 3 4"},
    {"space_to_depth",
     "space_to_depth",
     "\"block_size\": \"2\"",
     "1,1,2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[1,4,1,1]",
     "1 2 3 4"},
    {"concat",
     "Concat",
     "\"num_args\": \"2\", \"dim\": \"0\"",
     "1: 1",
     "2: 2 3",
     {NULL},
     "[3]",
     "1 2 3"},
    {"stack",
     "stack",
     "\"num_args\": \"2\", \"axis\": \"1\"",
     "2: 1 2",
     "2: 3 4",
     {NULL},
     "[2,2]",
     "1 3 2 4"},
    {"tile",
     "tile",
     "\"reps\": \"(2, 1)\"",
     "2: 1 2",
     NULL,
     {NULL},
     "[2,2]",
     "1 2 1 2"},
    {"broadcast_to",
     "broadcast_to",
     "\"shape\": \"(2, 0)\"",
     "1,2: 1 2",
     NULL,
     {NULL},
     "[2,2]",
     "1 2 1 2"},
    {"broadcast_axis",
     "broadcast_axis",
     "\"axis\": \"(0,)\", \"size\": \"(2,)\"",
     "1,2: 1 2",
     NULL,
     {NULL},
     "[2,2]",
     "1 2 1 2"},
    {"broadcast_like",
     "broadcast_like",
     "",
     "1,2: 1 2",
     "2,2: 0 0 0 0",
     {NULL},
     "[2,2]",
     "1 2 1 2"},
    {"slice",
     "slice",
     "\"begin\": \"(0, None)\", \"end\": \"(1, -1)\"",
     "2,3: 1 2 3 4 5 6",
     NULL,
     {NULL},
     "[1,2]",
     "1 2"},
    {"slice_backwards",
     "slice",
     "\"begin\": \"(None,)\", \"end\": \"(None,)\", \"step\": \"(-2,)\"",
     "3: 1 2 3",
     NULL,
     {NULL},
     "[2]",
     "3 1"},
    {"slice_axis",
     "slice_axis",
     "\"axis\": \"-1\", \"begin\": \"1\", \"end\": \"None\"",
     "2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,1]",
     "2 4"},
    {"slice_like",
     "slice_like",
     "\"axes\": \"(1,)\"",
     "1,3: 1 2 3",
     "5,2: 0",
     {NULL},
     "[1,2]",
     "1 2"},
    {"slice_channel",
     "SliceChannel",
     "\"num_outputs\": \"2\", \"squeeze_axis\": \"True\"",
     "1,2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[1,2]",
     "1 2"},
    {"crop",
     "Crop",
     "\"num_args\": \"1\", \"offset\": \"(0, 1)\", \"h_w\": \"(1, 1)\"",
     "1,1,1,2: 1 2",
     NULL,
     {NULL},
     "[1,1,1,1]",
     "2"},
    {"pad",
     "Pad",
     "\"mode\": \"constant\", \"pad_width\": \"(0, 0, 1, 2)\", "
     "\"constant_value\": \"7\"",
     "1,1: 1",
     NULL,
     {NULL},
     "[1,4]",
     "7 1 7 7"},
    {"pad_with_the_edge",
     "Pad",
     "\"mode\": \"edge\", \"pad_width\": \"(0, 0, 1, 1)\"",
     "1,2: 1 2",
     NULL,
     {NULL},
     "[1,4]",
     "1 1 2 2"},
    {"cast", "Cast", "\"dtype\": \"float32\"", "1: 1.5", NULL, {NULL}, "[1]", "1.5"},
    {"mean", "mean", "\"axis\": \"1\"", "2,2: 1 2 3 4", NULL, {NULL}, "[2]", "1.5 3.5"},
    {"sum_of_all", "sum", "", "2,2: 1 2 3 4", NULL, {NULL}, "[1]", "10"},
    {"max_of_others",
     "max",
     "\"axis\": \"0\", \"exclude\": \"True\", \"keepdims\": \"1\"",
     "2,2: 1 2 3 4",
     NULL,
     {NULL},
     "[2,1]",
     "2 4"},
    {"norm", "norm", "\"axis\": \"1\"", "1,2: 3 4", NULL, {NULL}, "[1]", "5"},
    {"argmax", "argmax", "\"axis\": \"1\"", "1,3: 1 5 5", NULL, {NULL}, "[1]", "1"},
    {"dot",
     "dot",
     "\"transpose_b\": \"True\"",
     "1,2: 1 2",
     "2,2: 1 2 3 4",
     {NULL},
     "[1,2]",
     "5 11"},
    {"dot_of_lists", "dot", "", "2: 1 2", "2: 3 4", {NULL}, "[1]", "11"},
    {"batch_dot", "batch_dot", "", "1,1,2: 1 2", "1,2,1: 3 4", {NULL}, "[1,1,1]", "11"},
    {"take",
     "take",
     "\"axis\": \"0\", \"mode\": \"clip\"",
     "3: 5 6 7",
     "2: 2 9",
     {NULL},
     "[2]",
     "7 7"},
    {"where", "where", "", "2: 0 1", "2: 3 4", {"2: 5 6"}, "[2]", "5 4"},
    {"elemwise_add", "elemwise_add", "", "2: 1 2", "2: 3 4", {NULL}, "[2]", "4 6"},
    {"broadcast_sub", "broadcast_sub", "", "2: 1 2", "1: 3", {NULL}, "[2]", "-2 -1"},
    {"broadcast_greater",
     "broadcast_greater",
     "",
     "2: 1 4",
     "1: 3",
     {NULL},
     "[2]",
     "0 1"},
    {"plus_scalar",
     "_plus_scalar",
     "\"scalar\": \"1e-1\"",
     "1: 1",
     NULL,
     {NULL},
     "[1]",
     "1.1"},
    {"rminus_scalar",
     "_rminus_scalar",
     "\"scalar\": \"3\"",
     "1: 1",
     NULL,
     {NULL},
     "[1]",
     "2"},
    {"rdiv_scalar",
     "_RDivScalar",
     "\"scalar\": \"6\"",
     "1: 3",
     NULL,
     {NULL},
     "[1]",
     "2"},
    {"power_scalar",
     "_power_scalar",
     "\"scalar\": \"2\"",
     "1: 3",
     NULL,
     {NULL},
     "[1]",
     "9"},
    {"lesser_scalar",
     "_lesser_scalar",
     "\"scalar\": \"2\"",
     "2: 1 3",
     NULL,
     {NULL},
     "[2]",
     "1 0"},
    {"add_n", "add_n", "\"num_args\": \"2\"", "2: 1 2", "2: 3 4", {NULL}, "[2]", "4 6"},
    {"square", "square", "", "1: 3", NULL, {NULL}, "[1]", "9"},
    {"log1p", "log1p", "", "1: 0", NULL, {NULL}, "[1]", "0"},
    {"expm1", "expm1", "", "1: 0", NULL, {NULL}, "[1]", "0"},
    {"log2", "log2", "", "1: 8", NULL, {NULL}, "[1]", "3"},
    {"log10", "log10", "", "1: 100", NULL, {NULL}, "[1]", "2"},
    {"rint", "rint", "", "2: 0.5 1.5", NULL, {NULL}, "[2]", "0 2"},
    {"softmin", "softmin", "", "2: 0 1", NULL, {NULL}, "[2]", "0.73105858 0.26894142"},
    {"repeat",
     "repeat",
     "\"repeats\": \"2\", \"axis\": \"1\"",
     "1,2: 1 2",
     NULL,
     {NULL},
     "[1,4]",
     "1 1 2 2"},
    {"repeat_of_all",
     "repeat",
     "\"repeats\": \"2\"",
     "1,2: 1 2",
     NULL,
     {NULL},
     "[4]",
     "1 1 2 2"},
    {"reverse",
     "reverse",
     "\"axis\": \"(1,)\"",
     "1,3: 1 2 3",
     NULL,
     {NULL},
     "[1,3]",
     "3 2 1"},
    {"one_hot",
     "one_hot",
     "\"depth\": \"3\", \"on_value\": \"5\"",
     "2: 1 7",
     NULL,
     {NULL},
     "[2,3]",
     "0 5 0 0 0 0"},
    {"pick", "pick", "\"axis\": \"1\"", "2,2: 1 2 3 4", "2: 1 0", {NULL}, "[2]", "2 3"},
    {"topk",
     "topk",
     "\"k\": \"2\", \"ret_typ\": \"value\"",
     "1,3: 1 5 2",
     NULL,
     {NULL},
     "[1,2]",
     "5 2"},
    {"topk_of_least",
     "topk",
     "\"k\": \"1\", \"is_ascend\": \"True\"",
     "1,3: 4 1 2",
     NULL,
     {NULL},
     "[1,1]",
     "1"},
    {"ones_like", "ones_like", "", "2: 3 4", NULL, {NULL}, "[2]", "1 1"},
};

static kiln_status import(const char *symbol, kiln_str params,
                          const kiln_import_options *o, kiln_graph **g, kiln_err *err) {
    return kiln_import_mxnet_bytes(kiln_test_arena(), kiln_str_from(symbol), params,
                                   "net-symbol.json", o, g, NULL, err);
}

static void bind(const char *name, const kiln_test_array *v, kiln_shape_binding *b) {
    *b = (kiln_shape_binding){.name = name, .rank = (int)v->rank};
    memcpy(b->dim, v->dim, v->rank * sizeof v->dim[0]);
}

/* x, y where there is one, parameters p0 ..., the operator. */
static const char *symbol_of(const row *r, size_t n_params) {
    kiln_buf b, in;
    size_t n = 0;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_buf_init(&in, kiln_test_arena());
    kiln_buf_puts(&b,
                  "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}");
    kiln_buf_puts(&in, "[0, 0, 0]");
    if (r->y != NULL)
        kiln_buf_puts(&b, ", {\"op\": \"null\", \"name\": \"y\", \"inputs\": []}");
    for (size_t i = 0; i < n_params; i++)
        kiln_buf_printf(&b, ", {\"op\": \"null\", \"name\": \"p%zu\", \"inputs\": []}",
                        i);
    for (n = 1; n < 1 + (r->y != NULL) + n_params; n++)
        kiln_buf_printf(&in, ", [%zu, 0, 0]", n);
    kiln_buf_printf(&b,
                    ", {\"op\": \"%s\", \"name\": \"z\", \"attrs\": {%s}, \"inputs\": "
                    "[%s]}], \"arg_nodes\": [0], \"heads\": [[%zu, 0, 0]]}",
                    r->op, r->attrs, kiln_buf_str(&in).p, n);
    return kiln_buf_str(&b).p;
}

static void check_op(void **state) {
    static const char *const names[] = {"arg:p0", "arg:p1", "aux:p2", "aux:p3"};
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_test_mxnet_array params[MAX_PARAMS];
    kiln_test_array *x = kiln_new(a, kiln_test_array),
                    *y = kiln_new(a, kiln_test_array);
    kiln_shape_binding shapes[2];
    kiln_import_options o = {.shapes = shapes, .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor in[MAX_IN], out[MAX_OUTS];
    float want[MAX_ELEMS];
    size_t n = 0;
    while (n < MAX_PARAMS && r->params[n] != NULL) {
        params[n] = (kiln_test_mxnet_array){names[n], r->params[n]};
        n++;
    }
    kiln_test_array_read(a, kiln_str_from(r->x), x);
    bind("x", x, &shapes[0]);
    const bool is_label = kiln_str_ends(kiln_str_from(r->op), "Output");
    if (r->y != NULL && !is_label) {
        kiln_test_array_read(a, kiln_str_from(r->y), y);
        bind("y", y, &shapes[o.n_shapes++]);
    }
    kiln_assert_status_ok(
        import(symbol_of(r, n), kiln_test_mxnet_params(a, 2, params, n), &o, &g, &err),
        &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->inputs.n, o.n_shapes);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = (kiln_tensor){g->inputs.v[i]->type, i == 0 ? x->v : y->v};
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, out, &err), &err);
    const size_t n_want = kiln_test_numbers(r->out, want, MAX_ELEMS);
    assert_string_equal(kiln_shape_text(a, out[0].type.rank, out[0].type.dim),
                        r->out_shape);
    assert_int_equal(kiln_type_elems(&out[0].type), n_want);
    kiln_assert_close(out[0].data, want, n_want, 8, 1e-6);
}

/* ---- whole models ---------------------------------------------------------------- */

/* w * x of two numbers, described as MXNet 0.8 did. */
static const char old_symbol[] =
    "{\"nodes\": [{\"op\": \"null\", \"param\": {}, \"name\": \"x\", \"inputs\": [], "
    "\"backward_source_id\": -1, \"attr\": {\"__shape__\": \"(0, 2)\"}}, "
    "{\"op\": \"null\", \"param\": {}, \"name\": \"w\", \"inputs\": []}, "
    "{\"op\": \"FullyConnected\", \"param\": {\"no_bias\": \"True\", \"num_hidden\": "
    "\"1\"}, \"attr\": {\"lr_mult\": \"2\"}, \"name\": \"f\", \"inputs\": [[0, 0], [1, "
    "0]]}, "
    "{\"op\": \"SliceChannel\", \"param\": {\"num_outputs\": \"2\"}, \"name\": \"s\", "
    "\"inputs\": [[0, 0]]}], "
    "\"arg_nodes\": [0, 1], \"heads\": [[2, 0], [3, 1]]}";

static void check_old(int version) {
    kiln_arena *a = kiln_test_arena();
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {1, 2}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out[2];
    float x[] = {2, 3};
    kiln_assert_status_ok(
        import(old_symbol, kiln_test_mxnet_params(a, version, &w, 1), &o, &g, &err),
        &err);
    assert_string_equal(g->output_names.v[0], "f");
    assert_string_equal(g->output_names.v[1], "s_output1");
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    assert_true(*(const float *)out[0].data == 32.0f);
    assert_true(*(const float *)out[1].data == 3.0f);
}

static void arrays_of_all_versions_are_read(void **state) {
    (void)state;
    for (int version = 0; version <= 3; version++)
        check_old(version);
}

/* x + 0, 1, 1.5 ... of no input */
static void values_of_no_input_are_made(void **state) {
    (void)state;
    static const char symbol[] =
        "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": [], \"attrs\": "
        "{\"__shape__\": \"(2,)\", \"__dtype__\": \"0\"}}, {\"op\": \"_arange\", "
        "\"name\": "
        "\"a\", \"attrs\": {\"start\": \"1\", \"stop\": \"2\", \"step\": \"0.5\"}, "
        "\"inputs\": "
        "[]}, {\"op\": \"_ones\", \"name\": \"o\", \"attrs\": {\"shape\": \"(2,)\", "
        "\"ctx\": "
        "\"cpu(0)\"}, \"inputs\": []}, {\"op\": \"add_n\", \"name\": \"s\", "
        "\"inputs\": [[0, "
        "0, 0], [1, 0, 0], [2, 0, 0]]}], \"arg_nodes\": [0], \"heads\": [[3, 0, 0]]}";
    kiln_arena *a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out;
    float x[] = {10, 20};
    static const float want[] = {12, 22.5f};
    kiln_assert_status_ok(
        import(symbol, kiln_test_mxnet_params(a, 2, NULL, 0), NULL, &g, &err), &err);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    kiln_assert_close(out.data, want, 2, 1, 0);
}

static void an_open_shape_is_asked_for(void **state) {
    (void)state;
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(
        import(old_symbol, kiln_test_mxnet_params(kiln_test_arena(), 2, &w, 1), NULL,
               &g, &err),
        KILN_ERR_SHAPE, &err,
        "1 graph input is open: 'x' [?,2]; bind them, for example --shape x:1x2");
}

static void either_file_is_named(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir(),
               *symbol = kiln_path_join(a, dir, "n.v1-symbol.json"),
               *params = kiln_path_join(a, dir, "n.v1-0010.params"),
               *later = kiln_path_join(a, dir, "n.v1-0011.params");
    const char *const path[] = {symbol, params};
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    const kiln_str bytes = kiln_test_mxnet_params(a, 2, &w, 1);
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {1, 2}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_file_write(symbol, old_symbol, sizeof old_symbol - 1, &err), &err);
    kiln_assert_status_ok(kiln_file_write(params, bytes.p, bytes.n, &err), &err);
    for (int i = 0; i < 2; i++) {
        kiln_import_report report;
        kiln_declared_input *in = NULL;
        kiln_import_locations data;
        kiln_model_survey survey;
        size_t n = 0;
        kiln_assert_status_ok(kiln_import(a, path[i], &o, &g, &report, &err), &err);
        assert_string_equal(report.format, "mxnet");
        kiln_assert_status_ok(kiln_import_list_data(a, path[i], &data, &err), &err);
        assert_string_equal(data.v[0],
                            i == 0 ? "n.v1-0010.params" : "n.v1-symbol.json");
        kiln_assert_status_ok(kiln_import_inputs(a, path[i], &in, &n, &err), &err);
        assert_int_equal(n, 1);
        assert_int_equal(in[0].dim[0], -1);
        kiln_assert_status_ok(kiln_import_survey(a, path[i], &survey, &err), &err);
        assert_int_equal(survey.n_params, 2);
        assert_int_equal(survey.op.n, 2);
    }
    kiln_assert_status_ok(kiln_file_write(later, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_import(a, later, &o, &g, NULL, &err), &err);
    kiln_assert_fails(kiln_import(a, symbol, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "2 files of parameters beside it, up to 'n.v1-0011.params'; name "
                      "the one to take");
}

int main(void) {
    kiln_test_add_rows(check_op, rows);
    kiln_test_add("arrays_of_all_versions_are_read", arrays_of_all_versions_are_read,
                  NULL);
    kiln_test_add("values_of_no_input_are_made", values_of_no_input_are_made, NULL);
    kiln_test_add("an_open_shape_is_asked_for", an_open_shape_is_asked_for, NULL);
    kiln_test_add("either_file_is_named", either_file_is_named, NULL);
    return kiln_test_run("mxnet_import");
}
