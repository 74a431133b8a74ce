/* What Caffe layers become: small nets run by the reference, held to numbers that were
 * worked out by hand from Caffe's layers; which layers and outputs a net has. */
#include "compiler/frontend/caffe/caffe.h"

#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/model/caffe_writer.h"

enum { MAX_ELEMS = 64, MAX_OUTS = 4 };

/* One layer after an input. */
typedef struct row {
    const char *name;
    const char *shape; /* of the input, "1,2,2,2" */
    const char *in;
    const char *layer;   /* its text, without name, bottom and top */
    const char *weights; /* as kiln_test_caffe_layer.blobs; NULL: none */
    const char *out_shape, *out;
} row;

#define ONE_TO_8 "1 2 3 4 5 6 7 8"

static row rows[] = {
    {"convolution", "1,1,3,3", "1 2 3 4 5 6 7 8 9",
     "type: 'Convolution' convolution_param { num_output: 1 kernel_size: 2 }",
     "1,1,2,2: 1 0 0 1; 1: 0.5", "[1,1,2,2]", "6.5 8.5 12.5 14.5"},
    {"convolution_padded_by_axis", "1,1,2,2", "1 2 3 4",
     "type: 'Convolution' convolution_param { num_output: 1 kernel_h: 1 kernel_w: 3 "
     "pad_h: 0 pad_w: 1 stride_h: 1 stride_w: 2 bias_term: false }",
     "1,1,1,3: 1 10 100", "[1,1,2,1]", "210 430"},
    {"convolution_dilated", "1,1,1,5", "1 2 3 4 5",
     "type: 'Convolution' convolution_param { num_output: 1 kernel_h: 1 kernel_w: 2 "
     "dilation: 2 bias_term: false }",
     "1,1,1,2: 1 10", "[1,1,1,3]", "31 42 53"},
    {"convolution_in_groups", "1,2,1,1", "3 5",
     "type: 'Convolution' convolution_param { num_output: 2 group: 2 kernel_size: 1 "
     "bias_term: false }",
     "2,1,1,1: 10 100", "[1,2,1,1]", "30 500"},
    {"weights_of_four_axes", "1,2", "3 5",
     "type: 'InnerProduct' inner_product_param { num_output: 1 }",
     "1,1,1,2: 1 10; 1,1,1,1: 0.5", "[1,1]", "53.5"},
    {"deconvolution", "1,1,1,2", "1 2",
     "type: 'Deconvolution' convolution_param { num_output: 1 kernel_h: 1 kernel_w: 2 "
     "stride: 2 bias_term: false }",
     "1,1,1,2: 1 10", "[1,1,1,4]", "1 10 2 20"},
    {"inner_product", "1,2,1,2", "1 2 3 4",
     "type: 'InnerProduct' inner_product_param { num_output: 2 }",
     "2,4: 1 1 1 1 1 0 0 -1; 2: 0 0.5", "[1,2]", "10 -2.5"},
    {"inner_product_turned", "1,2", "1 2",
     "type: 'InnerProduct' inner_product_param { num_output: 3 transpose: true "
     "bias_term: false }",
     "2,3: 1 2 3 10 20 30", "[1,3]", "21 42 63"},
    {"inner_product_from_an_axis", "1,2,2", "1 2 3 4",
     "type: 'InnerProduct' inner_product_param { num_output: 1 axis: 2 bias_term: "
     "false "
     "}",
     "1,2: 1 10", "[1,2,1]", "21 43"},
    /* ceil((3 - 2) / 2) + 1 = 2 windows, the last cut off */
    {"pool_rounds_up", "1,1,1,3", "1 2 3",
     "type: 'Pooling' pooling_param { pool: MAX kernel_h: 1 kernel_w: 2 stride_h: 1 "
     "stride_w: 2 }",
     NULL, "[1,1,1,2]", "2 3"},
    {"pool_rounds_down_on_request", "1,1,1,3", "1 2 3",
     "type: 'Pooling' pooling_param { kernel_h: 1 kernel_w: 2 stride_h: 1 stride_w: 2 "
     "round_mode: FLOOR }",
     NULL, "[1,1,1,1]", "2"},
    /* windows {pad 1 2}, {2 3 4}, {4, pad}: the third's divisor ends with the padding */
    {"average_counts_padding", "1,1,1,4", "2 4 6 8",
     "type: 'Pooling' pooling_param { pool: AVE kernel_h: 1 kernel_w: 3 stride_h: 1 "
     "stride_w: 2 pad_h: 0 pad_w: 1 }",
     NULL, "[1,1,1,3]", "2 6 4"},
    /* ceil((3 + 2 - 2) / 2) + 1 = 3, but the third begins behind input and padding */
    {"pool_drops_a_window_in_the_padding", "1,1,3,3", "1 2 3 4 5 6 7 8 9",
     "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 pad: 1 }", NULL,
     "[1,1,2,2]", "1 3 7 9"},
    {"pool_of_all", "1,2,1,2", "1 3 5 9",
     "type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", NULL,
     "[1,2,1,1]", "2 7"},
    {"relu", "1,4", "-2 -1 0 3", "type: 'ReLU'", NULL, "[1,4]", "0 0 0 3"},
    {"relu_with_a_slope", "1,2", "-2 3",
     "type: 'ReLU' relu_param { negative_slope: 0.5 }", NULL, "[1,2]", "-1 3"},
    {"relu6", "1,3", "-2 3 7", "type: 'ReLU6'", NULL, "[1,3]", "0 3 6"},
    {"prelu", "1,2,1,1", "-2 -2", "type: 'PReLU'", "2: 0.5 0.25", "[1,2,1,1]",
     "-1 -0.5"},
    {"prelu_shared", "1,2", "-2 -4",
     "type: 'PReLU' prelu_param { channel_shared: true }", "1: 0.5", "[1,2]", "-1 -2"},
    {"elu", "1,2", "-1 2", "type: 'ELU' elu_param { alpha: 2 }", NULL, "[1,2]",
     "-1.2642411 2"},
    {"sigmoid", "1,2", "0 1", "type: 'Sigmoid'", NULL, "[1,2]", "0.5 0.73105858"},
    {"tanh", "1,2", "0 1", "type: 'TanH'", NULL, "[1,2]", "0 0.76159416"},
    {"absval", "1,2", "-3 2", "type: 'AbsVal'", NULL, "[1,2]", "3 2"},
    {"bnll", "1,1", "0", "type: 'BNLL'", NULL, "[1,1]", "0.69314718"},
    {"power", "1,2", "1 2", "type: 'Power' power_param { power: 3 scale: 2 shift: 1 }",
     NULL, "[1,2]", "27 125"},
    {"exp", "1,2", "1 2", "type: 'Exp' exp_param { base: 2 scale: 2 shift: 1 }", NULL,
     "[1,2]", "8 32"},
    {"exp_of_e", "1,1", "1", "type: 'Exp'", NULL, "[1,1]", "2.7182818"},
    {"log", "1,2", "1 8", "type: 'Log' log_param { base: 2 }", NULL, "[1,2]", "0 3"},
    {"threshold", "1,3", "1 2 3", "type: 'Threshold' threshold_param { threshold: 2 }",
     NULL, "[1,3]", "0 0 1"},
    {"clip", "1,3", "-5 0 5", "type: 'Clip' clip_param { min: -1 max: 2 }", NULL,
     "[1,3]", "-1 0 2"},
    {"swish", "1,1", "1", "type: 'Swish'", NULL, "[1,1]", "0.73105858"},
    {"dropout_is_nothing", "1,2", "1 2",
     "type: 'Dropout' dropout_param { dropout_ratio: 0.5 }", NULL, "[1,2]", "1 2"},
    /* mean 4 / 2, variance 8 / 2 */
    {"batch_norm", "1,1,1,2", "2 4", "type: 'BatchNorm' batch_norm_param { eps: 0 }",
     "1: 4; 1: 8; 1: 2", "[1,1,1,2]", "0 1"},
    {"batch_norm_of_the_batch", "2,1", "1 3",
     "type: 'BatchNorm' batch_norm_param { use_global_stats: false eps: 0 }", NULL,
     "[2,1]", "-1 1"},
    {"scale", "1,2,1,2", "1 2 3 4", "type: 'Scale' scale_param { bias_term: true }",
     "2: 10 100; 2: 1 2", "[1,2,1,2]", "11 21 302 402"},
    {"scale_of_all_axes", "1,2,2", "1 2 3 4",
     "type: 'Scale' scale_param { axis: 1 num_axes: -1 }", "2,2: 1 10 100 1000",
     "[1,2,2]", "1 20 300 4000"},
    {"scale_by_one_number", "1,2", "1 2", "type: 'Scale' scale_param { num_axes: 0 }",
     "1: 3", "[1,2]", "3 6"},
    {"bias", "1,2,1,1", "1 2", "type: 'Bias'", "2: 10 20", "[1,2,1,1]", "11 22"},
    {"lrn", "1,2,1,1", "1 2",
     "type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 1 k: 1 }", NULL, "[1,2,1,1]",
     "0.16666667 0.33333333"},
    /* the mean of nine, of which eight are padding */
    {"lrn_within_channels", "1,1,1,1", "3",
     "type: 'LRN' lrn_param { local_size: 3 alpha: 2 beta: 1 norm_region: "
     "WITHIN_CHANNEL }",
     NULL, "[1,1,1,1]", "1"},
    {"mvn", "1,2,1,2", "1 3 5 9", "type: 'MVN' mvn_param { eps: 0 }", NULL, "[1,2,1,2]",
     "-1 1 -1 1"},
    {"mvn_of_means", "1,1,1,2", "1 3",
     "type: 'MVN' mvn_param { normalize_variance: false }", NULL, "[1,1,1,2]", "-1 1"},
    {"normalize", "1,2,1,1", "3 4",
     "type: 'Normalize' norm_param { across_spatial: false channel_shared: false }",
     "2: 10 20", "[1,2,1,1]", "6 16"},
    {"softmax", "1,2,1,1", "0 1", "type: 'Softmax'", NULL, "[1,2,1,1]",
     "0.26894142 0.73105858"},
    {"flatten", "1,2,1,2", "1 2 3 4", "type: 'Flatten'", NULL, "[1,4]", "1 2 3 4"},
    {"flatten_some", "1,2,1,2", "1 2 3 4",
     "type: 'Flatten' flatten_param { axis: 0 end_axis: -2 }", NULL, "[2,2]",
     "1 2 3 4"},
    {"reshape", "1,2,2", "1 2 3 4",
     "type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 } }", NULL, "[1,4]",
     "1 2 3 4"},
    {"reshape_some", "1,4,1", "1 2 3 4",
     "type: 'Reshape' reshape_param { axis: 1 num_axes: 1 shape { dim: [2, 2] } }",
     NULL, "[1,2,2,1]", "1 2 3 4"},
    {"tile", "1,2", "1 2", "type: 'Tile' tile_param { tiles: 2 }", NULL, "[1,4]",
     "1 2 1 2"},
    {"permute", "1,2,2", "1 2 3 4",
     "type: 'Permute' permute_param { order: 0 order: 2 }", NULL, "[1,2,2]", "1 3 2 4"},
    {"shuffle_channel", "1,4", "1 2 3 4",
     "type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", NULL, "[1,4]",
     "1 3 2 4"},
    /* of equal values the last */
    {"argmax", "1,4", "1 5 5 2", "type: 'ArgMax'", NULL, "[1,1,1]", "2"},
    {"argmax_with_values", "1,3", "1 5 2",
     "type: 'ArgMax' argmax_param { out_max_val: true top_k: 2 }", NULL, "[1,2,2]",
     "1 2 5 2"},
    {"argmax_along_an_axis", "1,2,2", "1 5 3 4",
     "type: 'ArgMax' argmax_param { axis: 1 }", NULL, "[1,1,2]", "1 0"},
    {"reduction", "1,2,2", "1 2 3 -4",
     "type: 'Reduction' reduction_param { operation: ASUM axis: 1 coeff: 2 }", NULL,
     "[1]", "20"},
    {"reduction_to_a_mean", "2,2", "1 2 3 4",
     "type: 'Reduction' reduction_param { operation: MEAN axis: 1 }", NULL, "[2]",
     "1.5 3.5"},
    {"embed", "3", "1 0 1", "type: 'Embed' embed_param { num_output: 2 input_dim: 2 }",
     "2,2: 1 2 3 4; 2: 0.5 0", "[3,2]", "3.5 4 1.5 2 3.5 4"},
    {"interp", "1,1,1,2", "1 3", "type: 'Interp' interp_param { height: 1 width: 3 }",
     NULL, "[1,1,1,3]", "1 2 3"},
    {"upsample", "1,1,1,2", "1 2", "type: 'Upsample' upsample_param { scale: 2 }", NULL,
     "[1,1,2,4]", "1 1 2 2 1 1 2 2"},
};

static kiln_status import(const char *text, const kiln_test_caffe_layer *weights,
                          size_t n, const kiln_import_options *o, kiln_graph **g,
                          kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    return kiln_import_caffe_bytes(a, kiln_str_from(text),
                                   kiln_test_caffe_weights(a, weights, n),
                                   "net.prototxt", o, g, NULL, err);
}

static void check_output(const kiln_tensor *got, const char *shape, const char *want) {
    float v[MAX_ELEMS];
    const size_t n = kiln_test_numbers(want, v, MAX_ELEMS);
    assert_string_equal(
        kiln_shape_text(kiln_test_arena(), got->type.rank, got->type.dim), shape);
    assert_int_equal(kiln_type_elems(&got->type), n);
    kiln_assert_close(got->data, v, n, 8, 1e-6);
}

/* All inputs are fed the same numbers, as many as each has. */
static void run(kiln_graph *g, const char *in, kiln_tensor *out) {
    kiln_err err = {0};
    float v[MAX_ELEMS];
    kiln_tensor given[MAX_OUTS];
    const size_t n = kiln_test_numbers(in, v, MAX_ELEMS);
    assert_true(g->inputs.n <= MAX_OUTS && g->outputs.n <= MAX_OUTS);
    for (size_t i = 0; i < g->inputs.n; i++) {
        given[i] = (kiln_tensor){g->inputs.v[i]->type, v};
        assert_true(kiln_type_elems(&given[i].type) <= (int64_t)n);
    }
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_assert_status_ok(
        kiln_ref_run(kiln_test_arena(), g, given, g->inputs.n, out, &err), &err);
}

static const char *dims_text(const char *shape) {
    kiln_buf b;
    kiln_str rest = kiln_str_from(shape), one;
    kiln_buf_init(&b, kiln_test_arena());
    while (kiln_str_cut(&rest, ',', &one))
        kiln_buf_printf(&b, " dim: %.*s", KILN_STR_ARG(one));
    return kiln_buf_str(&b).p;
}

static void check_layer(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_tensor out[MAX_OUTS];
    const kiln_test_caffe_layer weights = {"l", r->weights};
    const char *text = kiln_format(
        kiln_test_arena(),
        "layer { name: 'x' type: 'Input' top: 'x' input_param { shape {%s } "
        "} }\nlayer { name: 'l' bottom: 'x' top: 'y' %s }",
        dims_text(r->shape), r->layer);
    kiln_assert_status_ok(import(text, &weights, 1, NULL, &g, &err), &err);
    assert_int_equal(g->outputs.n, 1);
    assert_string_equal(g->output_names.v[0], "y");
    run(g, r->in, out);
    check_output(&out[0], r->out_shape, r->out);
}

/* ---- nets ------------------------------------------------------------------------ */

#define INPUT_X "input: 'x' input_shape { dim: 1 dim: 2 } "
#define INPUT_Z                                                                        \
    "layer { name: 'z' type: 'Input' top: 'z' input_param { shape { dim: [1, 2] } } "  \
    "} "

typedef struct net_row {
    const char *name, *text;
    size_t n_out;
    const char *outputs[MAX_OUTS]; /* in order */
    const char *values[MAX_OUTS];  /* with inputs 1 2 ... */
} net_row;

static net_row nets[] = {
    {"of_layers_in_place",
     INPUT_X
     "layer { name: 'p' type: 'Power' bottom: 'x' top: 'y' power_param { shift: -2 } } "
     "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' } "
     "layer { name: 's' type: 'Power' bottom: 'y' top: 'y' power_param { shift: 5 } }",
     1,
     {"y"},
     {"5 5"}},
    {"of_old",
     "name: 'old' input: 'x' input_dim: 1 input_dim: 2 input_dim: 1 input_dim: 1 "
     "layers { name: 'r' type: POWER bottom: 'x' top: 'y' power_param { scale: 3 } "
     "blobs_lr: 1 weight_decay: 0 } layers { type: FLATTEN bottom: 'y' top: 'z' }",
     1,
     {"z"},
     {"3 6"}},
    {"of_several_outputs_in_the_order_they_are_made",
     INPUT_X
     "layer { name: 'a' type: 'AbsVal' bottom: 'x' top: 'b' } "
     "layer { name: 'c' type: 'Power' bottom: 'x' top: 'a' power_param { scale: 2 } }",
     2,
     {"b", "a"},
     {"1 2", "2 4"}},
    {"that_leaves_out_training",
     INPUT_X
     "layer { name: 'd' type: 'Data' top: 'x' include { phase: TRAIN } } "
     "layer { name: 'n' type: 'AbsVal' bottom: 'x' top: 'y' exclude { phase: TRAIN } } "
     "layer { name: 's' type: 'Python' bottom: 'y' top: 'w' include { stage: 'fit' } } "
     "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: "
     "'loss' "
     "loss_weight: 1 include { phase: TRAIN } include { phase: TEST } } "
     "layer { name: 'a' type: 'Accuracy' bottom: 'y' bottom: 'label' top: 'right' "
     "accuracy_param { top_k: 5 } }",
     1,
     {"y"},
     {"1 2"}},
    {"that_slices_and_silences",
     INPUT_X "layer { name: 's' type: 'Slice' bottom: 'x' top: 'a' top: 'b' "
             "slice_param { axis: 1 } } "
             "layer { name: 'q' type: 'Silence' bottom: 'a' } "
             "layer { name: 't' type: 'Split' bottom: 'b' top: 'c' top: 'd' }",
     2,
     {"c", "d"},
     {"2", "2"}},
    {"that_slices_at_points",
     "input: 'x' input_shape { dim: 4 } "
     "layer { name: 's' type: 'Slice' bottom: 'x' top: 'a' top: 'b' top: 'c' "
     "slice_param { axis: 0 slice_point: 1 slice_point: 3 } }",
     3,
     {"a", "b", "c"},
     {"1", "2 3", "4"}},
    {"that_joins",
     INPUT_X INPUT_Z
     "layer { name: 'c' type: 'Concat' bottom: 'x' bottom: 'z' top: 'y' }",
     1,
     {"y"},
     {"1 2 1 2"}},
    {"of_sums_with_factors",
     INPUT_X INPUT_Z
     "layer { name: 'e' type: 'Eltwise' bottom: 'x' bottom: 'z' top: 'y' "
     "eltwise_param { operation: SUM coeff: 1 coeff: -3 } }",
     1,
     {"y"},
     {"-2 -4"}},
    {"of_products",
     INPUT_X INPUT_Z
     "layer { name: 'e' type: 'Eltwise' bottom: 'x' bottom: 'z' top: 'y' "
     "eltwise_param { operation: PROD } }",
     1,
     {"y"},
     {"1 4"}},
    {"that_scales_by_another_blob",
     INPUT_X INPUT_Z "layer { name: 's' type: 'Scale' bottom: 'x' bottom: 'z' top: 'y' "
                     "scale_param { axis: 0 } }",
     1,
     {"y"},
     {"1 4"}},
    {"that_crops",
     "input: 'x' input_shape { dim: [1, 1, 2, 2] } "
     "layer { name: 'z' type: 'Input' top: 'z' input_param { shape { dim: [1, 1, 1, 1] "
     "} } } "
     "layer { name: 'c' type: 'Crop' bottom: 'x' bottom: 'z' top: 'y' "
     "crop_param { axis: 2 offset: 1 offset: 0 } }",
     1,
     {"y"},
     {"3"}},
    {"with_comments_and_lists",
     "# a comment\ninput: \"x\" input_shape: < dim: [1, 0x2], >;\n"
     "layer { name: 'two ' 'parts\\x21' type: \"AbsVal\" bottom: ['x'], top: 'y' }",
     1,
     {"y"},
     {"1 2"}},
};

static void check_net(void **state) {
    const net_row *r = *state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_tensor out[MAX_OUTS];
    kiln_assert_status_ok(import(r->text, NULL, 0, NULL, &g, &err), &err);
    assert_int_equal(g->outputs.n, r->n_out);
    run(g, ONE_TO_8, out);
    for (size_t i = 0; i < r->n_out; i++) {
        float v[MAX_ELEMS];
        const size_t n = kiln_test_numbers(r->values[i], v, MAX_ELEMS);
        assert_string_equal(g->output_names.v[i], r->outputs[i]);
        assert_int_equal(kiln_type_elems(&out[i].type), n);
        kiln_assert_close(out[i].data, v, n, 4, 1e-6);
    }
}

/* Caffe reshapes a net to what it is fed. */
static void a_given_shape_goes_before_the_files(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {3, 2}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_assert_status_ok(
        import(INPUT_X "layer { name: 'a' type: 'AbsVal' bottom: 'x' top: 'y' }", NULL,
               0, &o, &g, &err),
        &err);
    assert_int_equal(g->outputs.v[0]->type.dim[0], 3);
}

static void weights_are_views(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_test_caffe_layer layer = {"l", "2: 10 20"};
    const kiln_str weights = kiln_test_caffe_weights(a, &layer, 1);
    const kiln_str text =
        KILN_STR_LIT(INPUT_X "layer { name: 'l' type: 'Bias' bottom: 'x' top: 'y' }");
    kiln_assert_status_ok(
        kiln_import_caffe_bytes(a, text, weights, "n.prototxt", NULL, &g, NULL, &err),
        &err);
    const char *at = g->nodes.v[0]->in[1]->data;
    assert_true(at >= weights.p && at < weights.p + weights.n);
}

/* ---- files ----------------------------------------------------------------------- */

static void either_file_is_named(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir(), *text = kiln_path_join(a, dir, "n.v1.prototxt"),
               *weights = kiln_path_join(a, dir, "n.v1.caffemodel");
    const char *const path[] = {text, weights};
    const kiln_test_caffe_layer layer = {"l", "2: 10 20"};
    const kiln_str bytes = kiln_test_caffe_weights(a, &layer, 1);
    const char net[] = INPUT_X "layer\n{ name: 'l' type: 'Bias' bottom: 'x' top: 'y' }";
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(text, net, sizeof net - 1, &err), &err);
    kiln_assert_status_ok(kiln_file_write(weights, bytes.p, bytes.n, &err), &err);
    for (int i = 0; i < 2; i++) {
        kiln_graph *g = NULL;
        kiln_import_report report;
        kiln_declared_input *in = NULL;
        kiln_import_locations data;
        kiln_model_survey survey;
        size_t n = 0;
        kiln_assert_status_ok(kiln_import(a, path[i], NULL, &g, &report, &err), &err);
        assert_string_equal(report.format, "caffe");
        assert_int_equal(report.data.n, 1);
        kiln_assert_status_ok(kiln_import_list_data(a, path[i], &data, &err), &err);
        assert_string_equal(data.v[0], i == 0 ? "n.v1.caffemodel" : "n.v1.prototxt");
        kiln_assert_status_ok(kiln_import_inputs(a, path[i], &in, &n, &err), &err);
        assert_int_equal(n, 1);
        assert_string_equal(in[0].name, "x");
        kiln_assert_status_ok(kiln_import_survey(a, path[i], &survey, &err), &err);
        assert_int_equal(survey.n_params, 2);
        assert_int_equal(survey.op.n, 1);
        assert_true(survey.op.v[0].is_read);
    }
}

int main(void) {
    kiln_test_add_rows(check_layer, rows);
    kiln_test_add_rows(check_net, nets);
    kiln_test_add("a_given_shape_goes_before_the_files",
                  a_given_shape_goes_before_the_files, NULL);
    kiln_test_add("weights_are_views", weights_are_views, NULL);
    kiln_test_add("either_file_is_named", either_file_is_named, NULL);
    return kiln_test_run("caffe_import");
}
