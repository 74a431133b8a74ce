/* Layers of Keras: small models with hand-checked numbers. The input holds 0, 1, 2, ...
 * less what a row says. */
#include "compiler/frontend/frontend.h"

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/model/keras_model.h"
#include "tests/support/kiln_test.h"

enum { MAX_WANT = 32, MAX_IN = 64, MAX_W = 4 };

typedef struct row {
    const char *name;
    const char *layers; /* behind an input x */
    const char *x;      /* its shape, as JSON */
    kiln_test_weight w[MAX_W];
    double less;
    const char *shape; /* of the output */
    double want[MAX_WANT];
    const char *version; /* NULL: 2.10.0 */
} row;

/* One layer 'a' of a class with these members. */
#define L(class_name, members)                                                         \
    "{'class_name': '" class_name "', 'config': {'name': 'a'" members "}}"
#define W(name, text)                                                                  \
    { "a", "a/" name ":0", text }

static row rows[] = {
    {"conv", L("Conv2D", ", 'padding': 'same', 'activation': 'relu'"), "1, 1, 3, 1",
     .w = {W("kernel", "1,3,1,1:1 2 -1"), W("bias", "1:1")}, .shape = "[1,1,3,1]",
     .want = {0, 1, 6}},
    {"conv_1d_causal", L("Conv1D", ", 'padding': 'causal', 'use_bias': false"),
     "1, 3, 1", .w = {W("kernel", "2,1,1:10 1")}, .shape = "[1,3,1]",
     .want = {0, 1, 12}},
    {"conv_of_keras_1",
     L("Convolution2D", ", 'border_mode': 'valid', 'subsample': [1, 2], 'bias': true"),
     "1, 1, 4, 1", .w = {{"a", "a_W", "1,2,1,1:1 2"}, {"a", "a_b", "1:1"}},
     .shape = "[1,1,2,1]", .want = {3, 9}, .version = "1.2.2"},
    {"depthwise", L("DepthwiseConv2D", ", 'use_bias': false"), "1, 1, 1, 2",
     .w = {W("depthwise_kernel", "1,1,2,2:1 2 3 4")}, .less = -1, .shape = "[1,1,1,4]",
     .want = {1, 2, 6, 8}},
    {"separable", L("SeparableConv2D", ", 'use_bias': false"), "1, 1, 1, 2",
     .w = {W("depthwise_kernel", "1,1,2,1:2 3"), W("pointwise_kernel", "1,1,2,1:1 10")},
     .less = -1, .shape = "[1,1,1,1]", .want = {62}},
    {"conv_transpose", L("Conv2DTranspose", ", 'strides': 2, 'padding': 'same'"),
     "1, 1, 2, 1", .w = {W("kernel", "1,2,1,1:1 2"), W("bias", "1:0")}, .less = -1,
     .shape = "[1,2,4,1]", .want = {1, 2, 2, 4}},
    {"dense", L("Dense", ", 'activation': 'linear'"), "1, 2",
     .w = {W("kernel", "2,2:1 2 3 4"), W("bias", "2:10 20")}, .shape = "[1,2]",
     .want = {13, 24}},
    {"dense_over_the_last_axis", L("Dense", ", 'use_bias': false"), "1, 2, 2",
     .w = {W("kernel", "2,1:1 10")}, .shape = "[1,2,1]", .want = {10, 32}},
    {"embedding", L("Embedding", ""), "1, 2", .w = {W("embeddings", "2,2:1 2 3 4")},
     .shape = "[1,2,2]", .want = {1, 2, 3, 4}},
    {"batch_normalization", L("BatchNormalization", ", 'epsilon': 0, 'scale': false"),
     "1, 2",
     .w = {W("beta", "2:1 2"), W("moving_mean", "2:0 1"),
           W("moving_variance", "2:1 4")},
     .less = -2, .shape = "[1,2]", .want = {3, 3}},
    {"layer_normalization", L("LayerNormalization", ", 'axis': [1], 'epsilon': 1e-9"),
     "1, 2", .w = {W("gamma", "2:1 2"), W("beta", "2:0 1")}, .shape = "[1,2]",
     .want = {-1, 3}},
    {"layer_scale", L("LayerScale", ", 'projection_dim': 2"), "1, 2, 2",
     .w = {W("gamma", "2:10 100")}, .shape = "[1,2,2]", .want = {0, 100, 20, 300}},
    {"layer_scale_without_a_name", L("LayerScale", ""), "1, 2",
     .w = {W("variable_17", "2:10 100")}, .shape = "[1,2]", .want = {0, 100}},
    {"group_normalization", L("GroupNormalization", ", 'groups': 2, 'epsilon': 1e-9"),
     "1, 1, 4", .w = {W("gamma", "4:1 2 3 4"), W("beta", "4:0 1 0 1")},
     .shape = "[1,1,4]", .want = {-1, 3, -3, 5}},
    {"group_normalization_of_each_channel",
     L("GroupNormalization", ", 'groups': -1, 'epsilon': 1e-9, 'center': false"),
     "1, 2, 2", .w = {W("gamma", "2:1 2")}, .shape = "[1,2,2]", .want = {-1, -2, 1, 2}},
    {"rms_normalization", L("RMSNormalization", ", 'epsilon': 0"), "1, 2",
     .w = {W("scale", "2:5 5")}, .less = -3, .shape = "[1,2]",
     .want = {15 / 3.5355339, 20 / 3.5355339}},
    {"unit_normalization", L("UnitNormalization", ", 'axis': -1"), "1, 2", .less = -3,
     .shape = "[1,2]", .want = {0.6, 0.8}},
    {"depth_that_training_drops",
     L("StochasticDepth", ", 'drop_path_rate': 0.5") ", " L("Identity", ""), "1, 2",
     .shape = "[1,2]", .want = {0, 1}},
    {"activation", L("Activation", ", 'activation': 'softsign'"), "1, 2",
     .shape = "[1,2]", .want = {0, 0.5}},
    {"hard_sigmoid_of_keras_2", L("Activation", ", 'activation': 'hard_sigmoid'"),
     "1, 2", .shape = "[1,2]", .want = {0.5, 0.7}},
    {"hard_sigmoid_of_keras_3", L("Activation", ", 'activation': 'hard_sigmoid'"),
     "1, 4", .shape = "[1,4]", .want = {0.5, 2.0 / 3, 5.0 / 6, 1}, .version = "3.0.0"},
    {"relu_with_all_its_numbers",
     L("ReLU", ", 'max_value': 3, 'threshold': 1, 'negative_slope': 0.5"), "1, 6",
     .less = 1, .shape = "[1,6]", .want = {-1, -0.5, 1, 2, 3, 3}},
    {"leaky_relu", L("LeakyReLU", ", 'alpha': 0.25"), "1, 2", .less = 1,
     .shape = "[1,2]", .want = {-0.25, 0}},
    {"prelu", L("PReLU", ", 'shared_axes': [1]"), "1, 2, 2",
     .w = {W("alpha", "1,2:2 3")}, .less = 4, .shape = "[1,2,2]",
     .want = {-8, -9, -4, -3}},
    {"softmax", L("Softmax", ", 'axis': -1"), "1, 2", .shape = "[1,2]",
     .want = {0.26894142, 0.73105858}},
    {"max_pool", L("MaxPooling2D", ", 'pool_size': [1, 2], 'padding': 'same'"),
     "1, 1, 3, 1", .shape = "[1,1,2,1]", .want = {1, 2}},
    {"average_pool_skips_padding",
     L("AveragePooling1D", ", 'pool_size': [2], 'strides': [2], 'padding': 'same'"),
     "1, 3, 1", .shape = "[1,2,1]", .want = {0.5, 2}},
    {"global_pool_keeps_axes", L("GlobalAveragePooling2D", ", 'keepdims': true"),
     "1, 2, 1, 2", .shape = "[1,1,1,2]", .want = {1, 2}},
    {"adaptive_pool_of_windows_that_overlap",
     L("AdaptiveAveragePooling1D", ", 'output_size': [2]"), "1, 3, 1",
     .shape = "[1,2,1]", .want = {0.5, 1.5}},
    {"adaptive_pool_of_even_windows",
     L("AdaptiveAveragePooling2D", ", 'output_size': [1, 2]"), "1, 2, 2, 1",
     .shape = "[1,1,2,1]", .want = {1, 2}},
    {"adaptive_pool_of_the_largest",
     L("AdaptiveMaxPooling2D", ", 'output_size': [2, 1]"), "1, 3, 2, 1",
     .shape = "[1,2,1,1]", .want = {3, 5}},
    {"spectral_normalization_is_done",
     L("SpectralNormalization", ", 'layer': {'class_name': 'Dense', 'config': {'name': "
                                "'d', 'use_bias': false}}"),
     "1, 2", .w = {W("d/kernel", "2,1:1 10")}, .shape = "[1,1]", .want = {10}},
    {"zero_padding", L("ZeroPadding2D", ", 'padding': [[1, 0], [0, 1]]"), "1, 1, 1, 1",
     .less = -7, .shape = "[1,2,2,1]", .want = {0, 0, 7, 0}},
    {"cropping", L("Cropping1D", ", 'cropping': [1, 0]"), "1, 3, 1", .shape = "[1,2,1]",
     .want = {1, 2}},
    {"up_sampling", L("UpSampling2D", ", 'size': [1, 2]"), "1, 1, 2, 1",
     .shape = "[1,1,4,1]", .want = {0, 0, 1, 1}},
    {"up_sampling_linearly",
     L("UpSampling2D", ", 'size': [1, 2], 'interpolation': 'bilinear'"), "1, 1, 2, 1",
     .shape = "[1,1,4,1]", .want = {0, 0.25, 0.75, 1}},
    {"reshape", L("Reshape", ", 'target_shape': [-1, 2]"), "1, 4", .shape = "[1,2,2]",
     .want = {0, 1, 2, 3}},
    {"permute", L("Permute", ", 'dims': [2, 1]"), "1, 2, 2", .shape = "[1,2,2]",
     .want = {0, 2, 1, 3}},
    {"repeat_vector", L("RepeatVector", ", 'n': 2"), "1, 2", .shape = "[1,2,2]",
     .want = {0, 1, 0, 1}},
    {"dropout_is_nothing", L("Dropout", ", 'rate': 0.5"), "1, 2", .shape = "[1,2]",
     .want = {0, 1}},
    {"rescaling", L("Rescaling", ", 'scale': 2.0, 'offset': 1.0"), "1, 2",
     .shape = "[1,2]", .want = {1, 3}},
    {"rescaling_of_each_channel",
     L("Rescaling", ", 'scale': [2.0, 3.0], 'offset': 1.0"), "1, 2", .shape = "[1,2]",
     .want = {1, 4}},
    {"augmentation_is_nothing",
     L("RandomFlip", ", 'mode': 'horizontal'") ", " L("RandomZoom", ""), "1, 1, 2, 1",
     .shape = "[1,1,2,1]", .want = {0, 1}},
    {"resizing", L("Resizing", ", 'height': 1, 'width': 4"), "1, 1, 2, 1",
     .shape = "[1,1,4,1]", .want = {0, 0.25, 0.75, 1}},
    {"resizing_to_the_nearest",
     L("Resizing", ", 'height': 1, 'width': 4, 'interpolation': 'nearest'"),
     "1, 1, 2, 1", .shape = "[1,1,4,1]", .want = {0, 0, 1, 1}},
    /* TensorFlow's numbers */
    {"resizing_by_cubics",
     L("Resizing", ", 'height': 3, 'width': 5, 'interpolation': 'bicubic'"),
     "1, 2, 3, 1", .shape = "[1,3,5,1]",
     .want = {-0.273192048, 0.108696617, 0.802333415, 1.49597025, 1.87785888,
              1.42447436, 1.80636322, 2.5, 3.19363689, 3.57552552, 3.12214041,
              3.50402927, 4.19766617, 4.89130306, 5.27319193}},
    {"center_crop", L("CenterCrop", ", 'height': 1, 'width': 2"), "1, 2, 5, 1",
     .shape = "[1,1,2,1]", .want = {1, 2}},
    {"einsum_dense",
     L("EinsumDense",
       ", 'equation': 'abc,cd->abd', 'bias_axes': 'd', 'activation': 'relu'"),
     "1, 2, 2", .w = {W("kernel", "2,2:1 2 3 -4"), W("bias", "2:10 1")},
     .shape = "[1,2,2]", .want = {13, 0, 21, 0}},
    {"normalization", L("Normalization", ", 'axis': -1"), "1, 2",
     .w = {W("mean", "2:1 2"), W("variance", "2:4 1")}, .shape = "[1,2]",
     .want = {-0.5, -1}},
    {"normalization_by_its_config_and_back",
     L("Normalization", ", 'axis': [1], 'invert': true, 'mean': [1, 2], 'variance': 4"),
     "1, 2", .shape = "[1,2]", .want = {1, 4}},
    /* h = relu(x + h / 2) */
    {"simple_rnn",
     L("SimpleRNN", ", 'units': 1, 'activation': 'relu', 'return_sequences': true"),
     "1, 3, 1",
     .w = {W("kernel", "1,1:1"), W("recurrent_kernel", "1,1:0.5"), W("bias", "1:0")},
     .shape = "[1,3,1]", .want = {0, 1, 2.5}},
    {"simple_rnn_backwards",
     L("SimpleRNN", ", 'units': 1, 'activation': 'relu', 'return_sequences': true, "
                    "'go_backwards': true, 'use_bias': false"),
     "1, 3, 1", .w = {W("kernel", "1,1:1"), W("recurrent_kernel", "1,1:0.5")},
     .shape = "[1,3,1]", .want = {2, 2, 1}},
    /* all gates open: c = x + c, h = c */
    {"lstm",
     L("LSTM", ", 'units': 1, 'activation': 'linear', 'recurrent_activation': "
               "'sigmoid', 'return_sequences': true"),
     "1, 3, 1",
     .w = {W("kernel", "1,4:0 0 1 0"), W("recurrent_kernel", "1,4:0 0 0 0"),
           W("bias", "4:40 40 0 40")},
     .shape = "[1,3,1]", .want = {0, 1, 3}},
/* ---- steps that do not count: h = x + h over the others, 1 2 0 3 */
#define SUMS(more) L("SimpleRNN", ", 'units': 1, 'activation': 'linear'" more)
#define ONES W("kernel", "1,1:1"), W("recurrent_kernel", "1,1:1"), W("bias", "1:0")
#define MASKED L("Masking", ", 'mask_value': 2")
    {"mask_of_a_sum", MASKED ", " SUMS(""), "1, 4, 1", .w = {ONES}, .shape = "[1,1]",
     .want = {4}},
    {"mask_keeps_what_was", MASKED ", " SUMS(", 'return_sequences': true"), "1, 4, 1",
     .w = {ONES}, .less = -1, .shape = "[1,4,1]", .want = {1, 1, 4, 8}},
    {"mask_of_the_first_step", MASKED ", " SUMS(", 'return_sequences': true"),
     "1, 3, 1", .w = {ONES}, .less = -2, .shape = "[1,3,1]", .want = {0, 3, 7}},
    {"mask_with_zeros",
     MASKED ", " SUMS(", 'return_sequences': true, 'zero_output_for_mask': true"),
     "1, 4, 1", .w = {ONES}, .less = -1, .shape = "[1,4,1]", .want = {1, 0, 4, 8}},
    {"mask_backwards",
     MASKED ", " SUMS(", 'return_sequences': true, 'go_backwards': true"), "1, 4, 1",
     .w = {ONES}, .less = -1, .shape = "[1,4,1]", .want = {4, 7, 7, 8}},
    {"mask_of_two_batches", MASKED ", " SUMS(", 'return_sequences': true"), "2, 2, 1",
     .w = {ONES}, .shape = "[2,2,1]", .want = {0, 1, 0, 3}},
    {"mask_of_an_embedding",
     L("Embedding", ", 'mask_zero': true") ", " L("GlobalAveragePooling1D", ""), "1, 4",
     .w = {W("embeddings", "4,1:100 1 2 6")}, .shape = "[1,1]", .want = {3}},
    {"mask_that_layers_hand_on",
     MASKED ", " L("Dropout", "") ", " L("Rescaling", ", 'scale': 10") ", " SUMS(""),
     "1, 4, 1", .w = {ONES}, .shape = "[1,1]", .want = {40}},
    /* 1 2 1 4, of which the third step does not count */
    {"mask_that_a_layer_keeps",
     MASKED ", " L("Rescaling", ", 'scale': 1, 'offset': 1") ", " SUMS(""), "1, 4, 1",
     .w = {ONES}, .shape = "[1,1]", .want = {7}},
    {"mask_that_a_layer_drops",
     MASKED ", " L("Rescaling", ", 'scale': 1, 'offset': 1") ", " L(
         "Permute", ", 'dims': [1, 2]") ", " SUMS(""),
     "1, 4, 1", .w = {ONES}, .shape = "[1,1]", .want = {8}},
    /* the same of each place of a line */
    {"conv_lstm",
     L("ConvLSTM1D", ", 'filters': 1, 'kernel_size': [1], 'activation': 'linear', "
                     "'return_sequences': true"),
     "1, 2, 2, 1",
     .w = {W("kernel", "1,1,4:0 0 1 0"), W("recurrent_kernel", "1,1,4:0 0 0 0"),
           W("bias", "4:40 40 0 40")},
     .shape = "[1,2,2,1]", .want = {0, 1, 2, 4}},
    {"conv_lstm_backwards",
     L("ConvLSTM1D", ", 'filters': 1, 'kernel_size': [1], 'activation': 'linear', "
                     "'return_sequences': true, 'go_backwards': true"),
     "1, 2, 2, 1",
     .w = {W("kernel", "1,1,4:0 0 1 0"), W("recurrent_kernel", "1,1,4:0 0 0 0"),
           W("bias", "4:40 40 0 40")},
     .shape = "[1,2,2,1]", .want = {2, 3, 2, 4}},
    /* c = x + c + what is right of h */
    {"conv_lstm_of_its_neighbour",
     L("ConvLSTM1D", ", 'filters': 1, 'kernel_size': [3], 'padding': 'same', "
                     "'activation': 'linear'"),
     "1, 2, 2, 1",
     .w = {W("kernel", "3,1,4:0 0 0 0 0 0 1 0 0 0 0 0"),
           W("recurrent_kernel", "3,1,4:0 0 0 0 0 0 0 0 0 0 1 0"),
           W("bias", "4:40 40 0 40")},
     .shape = "[1,2,1]", .want = {3, 4}},
    /* half of the state is kept: h = h / 2 + x / 2 */
    {"gru",
     L("GRU", ", 'units': 1, 'activation': 'linear', 'recurrent_activation': "
              "'sigmoid', 'reset_after': true"),
     "1, 3, 1",
     .w = {W("kernel", "1,3:0 0 1"), W("recurrent_kernel", "1,3:0 0 0"),
           W("bias", "2,3:0 0 0 0 0 0")},
     .shape = "[1,1]", .want = {1.25}},
};

static const kiln_test_weight no_weights[] = {{NULL, NULL, NULL}};

static void check_tensor(kiln_arena *a, const kiln_tensor *t, const char *shape,
                         const double *want) {
    assert_string_equal(kiln_shape_text(a, t->type.rank, t->type.dim), shape);
    const int64_t n = kiln_type_elems(&t->type);
    assert_true(n <= MAX_WANT);
    for (int64_t i = 0; i < n; i++) {
        const double got = (double)((const float *)t->data)[i];
        if (!(fabs(got - want[i]) <= 1e-5))
            fail_msg("element %lld must be %g, is %g", (long long)i, want[i], got);
    }
}

/* The first output of a model for 0, 1, 2, ... less `less`. */
static kiln_tensor run_model(kiln_arena *a, kiln_str bytes, double less) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    float *const x = kiln_array(a, float, MAX_IN);
    for (int i = 0; i < MAX_IN; i++)
        x[i] = (float)(i - less);
    kiln_assert_status_ok(kiln_test_import_keras(a, bytes, NULL, &g, NULL, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->inputs.n, 1);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    assert_true(kiln_type_elems(&in.type) <= MAX_IN);
    kiln_tensor *const out = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    return out[0];
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    const char *const model = kiln_test_sequential(&a, r->x, r->layers);
    const kiln_tensor y = run_model(
        &a,
        kiln_test_keras_h5(&a, model, r->version != NULL ? r->version : "2.10.0", r->w),
        r->less);
    check_tensor(&a, &y, r->shape, r->want);
    kiln_arena_fini(&a);
}

/* ---- models ---------------------------------------------------------------------- */

/* s = shared dense, m = a model of one dense: m(s(x)) + s(m(x)), by Keras 2. */
static const char functional[] =
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "
    "'batch_input_shape': [1, 1]}, 'inbound_nodes': []},"
    "{'class_name': 'Dense', 'name': 's', 'config': {'name': 's', 'use_bias': false}, "
    "'inbound_nodes': [[['x', 0, 0, {}]], [['m', 2, 0, {}]]]},"
    "{'class_name': 'Sequential', 'name': 'm', 'config': {'name': 'm', 'layers': "
    "[{'class_name': 'InputLayer', 'config': {'name': 'i', 'batch_input_shape': [null, "
    "1]}}, {'class_name': 'Dense', 'config': {'name': 'd'}}]}, "
    "'inbound_nodes': [[['s', 0, 0, {}]], [['x', 0, 0, {}]]]},"
    "{'class_name': 'Add', 'name': 'y', 'config': {'name': 'y'}, "
    "'inbound_nodes': [[['m', 1, 0, {}], ['s', 1, 0, {}]]]}],"
    "'input_layers': [['x', 0, 0]], 'output_layers': [['y', 0, 0]]}}";

/* The same by Keras 3: other words for references. */
static const char functional_3[] =
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "
    "'batch_shape': [1, 1]}, 'inbound_nodes': []},"
    "{'class_name': 'Dense', 'name': 's', 'config': {'name': 's', 'trainable': true, "
    "'use_bias': false}, "
    "'inbound_nodes': [{'args': [%s], 'kwargs': {}}, {'args': [%s], 'kwargs': {}}]},"
    "{'class_name': 'Sequential', 'name': 'm', 'config': {'name': 'm', 'trainable': "
    "true, 'layers': "
    "[{'class_name': 'InputLayer', 'config': {'name': 'i', 'batch_shape': [null, 1]}}, "
    "{'class_name': 'Dense', 'config': {'name': 'd'}}]}, "
    "'inbound_nodes': [{'args': [%s]}, {'args': [%s]}]},"
    "{'class_name': 'Add', 'name': 'y', 'config': {'name': 'y'}, "
    "'inbound_nodes': [{'args': [[%s, %s]]}]}],"
    "'input_layers': ['x', 0, 0], 'output_layers': ['y', 0, 0]}}";

static const char *tensor_of(kiln_arena *a, const char *layer, int node) {
    return kiln_format(a,
                       "{'class_name': '__keras_tensor__', 'config': {'keras_history': "
                       "['%s', %d, 0]}}",
                       layer, node);
}

/* s: 2 x; m: 3 x + 1; (6 x + 1) + (6 x + 2) at x = 1 */
static const double shared_want[] = {15};

static void shared_layers_and_models_in_models(void **state) {
    (void)state;
    static const kiln_test_weight w[] = {{"s", "s/kernel:0", "1,1:2"},
                                         {"m", "d/kernel:0", "1,1:3"},
                                         {"m", "d/bias:0", "1:1"},
                                         {NULL, NULL, NULL}};
    kiln_arena a = {0};
    const kiln_tensor y = run_model(
        &a, kiln_test_keras_h5(&a, kiln_test_quoted(&a, functional), "2.10.0", w), -1);
    check_tensor(&a, &y, "[1,1]", shared_want);
    kiln_arena_fini(&a);
}

static kiln_str archive(kiln_arena *a) {
    const char *const config =
        kiln_format(a, functional_3, tensor_of(a, "x", 0), tensor_of(a, "m", 1),
                    tensor_of(a, "s", 0), tensor_of(a, "x", 0), tensor_of(a, "m", 0),
                    tensor_of(a, "s", 1));
    static const kiln_test_weight w[] = {
        {NULL, "layers/dense/vars/0", "1,1:2"},
        {NULL, "layers/sequential/layers/dense/vars/0", "1,1:3"},
        {NULL, "layers/sequential/layers/dense/vars/1", "1:1"},
        {NULL, NULL, NULL}};
    static const char *const names[] = {"metadata.json", "config.json",
                                        "model.weights.h5"};
    const kiln_str bytes[] = {KILN_STR_LIT("{\"keras_version\": \"3.15.1\"}"),
                              kiln_str_from(kiln_test_quoted(a, config)),
                              kiln_test_keras_weights(a, w)};
    return kiln_test_zip(a, names, bytes, 3);
}

static void archives_have_weights_by_place(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_tensor y = run_model(&a, archive(&a), -1);
    check_tensor(&a, &y, "[1,1]", shared_want);
    kiln_arena_fini(&a);
}

/* 2 - (x + 3) / 2, as code of Keras 3 makes it: functions of keras.ops, which .h5 does
 * not tell from layers by a module. */
#define FUNCTION(module, kind, name, args)                                             \
    "{" module "'class_name': '" kind "', 'name': '" name                              \
    "', 'config': {'name': '" name "'}, 'inbound_nodes': [{'args': [" args             \
    "], 'kwargs': {}}]}"
#define OPS "'module': 'keras.src.ops.numpy', "
#define X_OF(layer)                                                                    \
    "{'class_name': '__keras_tensor__', 'config': {'keras_history': ['" layer          \
    "', 0, 0]}}"
#define X X_OF("x")
#define FUNCTIONS(list, last)                                                          \
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["                 \
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "               \
    "'batch_shape': [1, 2]}, 'inbound_nodes': []}, " list                              \
    "], 'input_layers': ['x', 0, 0], 'output_layers': ['" last "', 0, 0]}}"

static void functions_take_numbers(void **state) {
    (void)state;
    static const double want[] = {0.5, 0};
    static const char model[] = FUNCTIONS(
        FUNCTION(OPS, "Add", "a", X_OF("x") ", 3.0") ", " FUNCTION(
            "", "Multiply", "m", X_OF("a") ", 0.5") ", " FUNCTION(OPS, "Subtract", "s",
                                                                  "2, " X_OF("m")),
        "s");
    kiln_arena a = {0};
    const kiln_tensor y = run_model(
        &a, kiln_test_keras_h5(&a, kiln_test_quoted(&a, model), "3.15.1", no_weights),
        0);
    check_tensor(&a, &y, "[1,2]", want);
    kiln_arena_fini(&a);
}

/* An input x of these sizes, the layers behind it, and the last one's result. */
static const char *model_of(kiln_arena *a, const char *sizes, const char *layers,
                            const char *last) {
    return kiln_test_quoted(
        a, kiln_format(a,
                       "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': "
                       "[{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': "
                       "'x', 'batch_shape': [%s]}, 'inbound_nodes': []}, %s], "
                       "'input_layers': ['x', 0, 0], 'output_layers': ['%s', 0, 0]}}",
                       sizes, layers, last));
}

/* Of x = 0, 1, 2, ... less `less`; or how the file fails to come in. */
static void check_file(kiln_arena *a, kiln_str bytes, double less, const char *shape,
                       const double *want, const char *says) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    if (says == NULL) {
        const kiln_tensor y = run_model(a, bytes, less);
        check_tensor(a, &y, shape, want);
        return;
    }
    const kiln_status st = kiln_test_import_keras(a, bytes, NULL, &g, NULL, &err);
    assert_int_not_equal(st, KILN_OK);
    kiln_assert_fails(st, st, &err, says);
}

typedef struct pair_row {
    const char *name, *kind, *config, *keywords;
    double want[2];
    const char *says; /* NULL: want is right */
} pair_row;

/* Layers that are called with x = 0, 1 [1, 2, 1] twice. */
static pair_row pair_rows[] = {
    {"scaled_add", "CustomScaleLayer", ", 'scale': 0.5", "", {0, 1.5}, NULL},
    {"attention_of_products", "Attention", "", "", {0.5, 0.7310586}, NULL},
    {"attention_of_sums",
     "AdditiveAttention",
     ", 'use_scale': false",
     "",
     {0.6816998, 0.5504381},
     NULL},
    {"attention_refuses_other_scores",
     "Attention",
     ", 'score_mode': 'concat'",
     "",
     {0},
     "score_mode must be dot"},
    {"attention_refuses_scores_as_results",
     "Attention",
     "",
     "'return_attention_scores': true",
     {0},
     "'return_attention_scores' is not read"},
    {"attention_refuses_a_missing_scale",
     "Attention",
     ", 'use_scale': true",
     "",
     {0},
     "the file has no weight 'scale' for it"},
};

static void check_pair(void **state) {
    const pair_row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    const char *const layer =
        kiln_format(a,
                    "{'class_name': '%s', 'name': 'p', 'config': {'name': 'p'%s}, "
                    "'inbound_nodes': [[['x', 0, 0, {%s}], ['x', 0, 0, {}]]]}",
                    r->kind, r->config, r->keywords);
    check_file(
        a,
        kiln_test_keras_h5(a, model_of(a, "1, 2, 1", layer, "p"), "2.10.0", no_weights),
        0, "[1,2,1]", r->want, r->says);
}

/* What a layer of the name would take another way, and what is no number. */
static void other_functions_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *model, *says;
    } bad[] = {
        {FUNCTIONS(FUNCTION(OPS, "Cross", "c", X_OF("x") ", " X_OF("x")), "c"),
         "keras.ops.Cross (first in layer 'c'"},
        {FUNCTIONS(FUNCTION("", "Flatten", "c", X_OF("x")), "c"),
         "keras.ops.Flatten (first in layer 'c'"},
        {FUNCTIONS(FUNCTION(OPS, "Add", "c",
                            X_OF("x") ", {'class_name': '__numpy__', "
                                      "'config': {'value': [1, 2]}}"),
                   "c"),
         "an array beside the model's values may be of float32"},
        {FUNCTIONS(FUNCTION(OPS, "Add", "c", X_OF("x") ", 'y'"), "c"),
         "function 'c' (Add) must be called with tensors of the model, arrays and"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kiln_arena *const a = kiln_test_arena();
        kiln_err err = {0};
        kiln_graph *g = NULL;
        const kiln_str bytes = kiln_test_keras_h5(a, kiln_test_quoted(a, bad[i].model),
                                                  "3.15.1", no_weights);
        kiln_assert_fails(kiln_test_import_keras(a, bytes, NULL, &g, NULL, &err),
                          KILN_ERR_UNSUPPORTED, &err, bad[i].says);
    }
}

/* ---- attention ------------------------------------------------------------------- */

/* Of one head: queries of 4 ln(3) / 2 and keys of 4 times x, values of 2 x, and y = 10 v
 * + 1. So query 1 of x = 0, 1 weighs keys with 1/4 and 3/4, query 0 with 1/2 each. */
#define HEAD(before, more, node)                                                       \
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["                 \
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "               \
    "'batch_shape': [1, 2, 1]}, 'inbound_nodes': []}, " before                         \
    "{'class_name': 'MultiHeadAttention', 'name': 'query', 'config': {'name': "        \
    "'query', "                                                                        \
    "'trainable': true, 'num_heads': 1, 'key_dim': 4, 'value_dim': 1" more             \
    "}, 'inbound_nodes': [" node "]}"                                                  \
    "], 'input_layers': ['x', 0, 0], 'output_layers': ['query', 0, 0]}}"
#define ATTENTION(more, node) HEAD("", more, node)
#define ATTENTION_WITH(before, node) HEAD(before, "", node)
#define PRODUCTS                                                                       \
    "{'class_name': 'Dot', 'name': 'm', 'config': {'name': 'm', 'axes': [2, 2]}, "     \
    "'inbound_nodes': [[['x', 0, 0, {}], ['x', 0, 0, {}]]]}, "
/* Without what is 0. */
#define STEPS                                                                          \
    "{'class_name': 'Masking', 'name': 'm', 'config': {'name': 'm', 'mask_value': "    \
    "0}, "                                                                             \
    "'inbound_nodes': [[['x', 0, 0, {}]]]}, "
#define LN_3_HALF "0.5493061443340549"

static const char *const projection[] = {"query", "key", "value", "attention_output"};
static const char *const member[] = {"query_dense", "key_dense", "value_dense",
                                     "output_dense"};
static const char *const numbers[] = {"1,1,4:" LN_3_HALF " " LN_3_HALF " " LN_3_HALF
                                      " " LN_3_HALF,
                                      "1,4:0 0 0 0",
                                      "1,1,4:1 1 1 1",
                                      "1,4:0 0 0 0",
                                      "1,1,1:2",
                                      "1,1:0",
                                      "1,1,1:10",
                                      "1:1"};
enum { N_HEAD = sizeof numbers / sizeof numbers[0] };

/* A layer named as one of its projections is: by name in .h5. */
static kiln_str attention_h5(kiln_arena *a, const char *model) {
    kiln_test_weight w[N_HEAD + 1] = {{NULL, NULL, NULL}};
    for (int i = 0; i < N_HEAD; i++)
        w[i] = (kiln_test_weight){"query",
                                  kiln_format(a, "query/%s/%s", projection[i / 2],
                                              i % 2 == 0 ? "kernel" : "bias"),
                                  numbers[i]};
    return kiln_test_keras_h5(a, kiln_test_quoted(a, model), "3.15.1", w);
}

/* By place in .keras; `before` the members' names: "_" of Keras 2. */
static kiln_str attention_archive(kiln_arena *a, const char *model,
                                  const char *before) {
    kiln_test_weight w[N_HEAD + 1] = {{NULL, NULL, NULL}};
    for (int i = 0; i < N_HEAD; i++)
        w[i] = (kiln_test_weight){
            NULL,
            kiln_format(a, "layers/multi_head_attention/%s%s/vars/%d", before,
                        member[i / 2], i % 2),
            numbers[i]};
    static const char *const names[] = {"metadata.json", "config.json",
                                        "model.weights.h5"};
    const kiln_str bytes[] = {KILN_STR_LIT("{\"keras_version\": \"3.15.1\"}"),
                              kiln_str_from(kiln_test_quoted(a, model)),
                              kiln_test_keras_weights(a, w)};
    return kiln_test_zip(a, names, bytes, 3);
}

typedef struct attention_row {
    const char *name, *model;
    double want[2];
    const char *says; /* NULL: want is right */
} attention_row;

static attention_row attention_rows[] = {
    {"attention_to_all", ATTENTION("", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .want = {11, 16}},
    {"attention_to_earlier",
     ATTENTION("", "{'args': [" X "], 'kwargs': {'value': " X
                   ", 'use_causal_mask': true}}"),
     .want = {1, 16}},
    {"attention_of_keras_2",
     ATTENTION(", 'attention_axes': [1], 'output_shape': null",
               "[['x', 0, 0, {'value': ['x', 0, 0], 'key': ['x', 0, 0], "
               "'use_causal_mask': true}]]"),
     .want = {1, 16}},
    /* x x^T: query 1 sees key 1 alone, query 0 sees none, and so sees both. */
    {"attention_by_a_mask",
     ATTENTION_WITH(PRODUCTS, "{'args': [" X ", " X
                              "], 'kwargs': {'attention_mask': " X_OF("m") "}}"),
     .want = {11, 21}},
    {"attention_by_a_mask_of_keras_2",
     ATTENTION_WITH(PRODUCTS, "[['x', 0, 0, {'value': ['x', 0, 0], 'attention_mask': "
                              "['m', 0, 0]}]]"),
     .want = {11, 21}},
    {"attention_to_steps_that_count",
     ATTENTION_WITH(STEPS, "{'args': [" X ", " X_OF("m") "], 'kwargs': {}}"),
     .want = {21, 21}},
    {"attention_by_other_masks",
     ATTENTION("", "{'args': [" X ", " X "], 'kwargs': {'query_mask': " X "}}"),
     .says = "it is called with 3 values, of which 2 are query, value, key or"},
    {"attention_places_with_nothing_between",
     ATTENTION("", "{'args': [" X ", " X ", null, " X "], 'kwargs': {}}"),
     .says = "it is called with 3 values, of which 2 are query, value, key or"},
    {"attention_without_values", ATTENTION("", "{'args': [" X "], 'kwargs': {}}"),
     .says = "it must be called with a query and a value"},
    {"attention_that_gives_scores",
     ATTENTION("",
               "{'args': [" X ", " X "], 'kwargs': {'return_attention_scores': true}}"),
     .says = "return_attention_scores is not read"},
    {"attention_with_gates_that_are_missing",
     ATTENTION(", 'use_gate': true", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .says = "the file has no weight 'gate/kernel' for it"},
    /* each query sees its own place alone */
    {"attention_of_a_window",
     ATTENTION(", 'sliding_window': 1", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .want = {1, 21}},
    {"attention_of_no_window",
     ATTENTION(", 'sliding_window': 0", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .says = "'sliding_window' must be 1 or more"},
    {"attention_over_other_axes",
     ATTENTION(", 'attention_axes': [2]", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .says = "attention_axes must be the one between batch and channels"},
    {"attention_of_other_weights",
     ATTENTION(", 'output_shape': [3]", "{'args': [" X ", " X "], 'kwargs': {}}"),
     .says = "'attention_output/kernel' must have shape [1,1,3], has [1,1,1]"},
};

static void check_attention(void **state) {
    const attention_row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    const kiln_str files[] = {attention_h5(a, r->model),
                              attention_archive(a, r->model, ""),
                              attention_archive(a, r->model, "_")};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        check_file(a, files[i], 0, "[1,2,1]", r->want, r->says);
}

/* ---- parts of tensors ------------------------------------------------------------ */

#define SLICE(start, stop, step)                                                       \
    "{'class_name': '__slice__', 'config': {'start': " start ", 'stop': " stop         \
    ", 'step': " step "}}"
#define ALL SLICE("null", "null", "null")
#define REST "{'class_name': '__ellipsis__', 'config': {}}"

typedef struct part_row {
    const char *name, *key; /* what picks of [0 1 2; 3 4 5; 6 7 8; 9 10 11], batch 1 */
    const char *shape;
    double want[MAX_WANT];
    const char *says; /* NULL: want is right */
} part_row;

static part_row part_rows[] = {
    {"part_at_a_place", "[" ALL ", 1]", "[1,3]", .want = {3, 4, 5}},
    {"part_counted_from_the_end", "[" REST ", -1]", "[1,4]", .want = {2, 5, 8, 11}},
    {"part_by_slices",
     "[" ALL ", " SLICE("1", "-1", "null") ", " SLICE("null", "null", "2") "]",
     "[1,2,2]", .want = {3, 5, 6, 8}},
    {"part_backwards", "[0, " SLICE("null", "null", "-3") ", 0]", "[2]",
     .want = {9, 0}},
    {"part_backwards_to_an_end", "[0, " SLICE("-2", "0", "-1") ", 2]", "[2]",
     .want = {8, 5}},
    {"part_past_the_ends", "[0, " SLICE("-9", "9", "2") ", 0]", "[2]", .want = {0, 6}},
    {"part_with_nothing", "[0, " SLICE("3", "1", "null") "]", "[0,3]", .want = {0}},
    {"part_with_new_axes", "[0, null, 1, " REST ", null]", "[1,3,1]",
     .want = {3, 4, 5}},
    {"part_by_one_number", "0", "[4,3]",
     .want = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"part_outside", "[0, 4]",
     .says = "index 4 is outside of axis 1, which has 4 elements"},
    {"part_of_too_many_axes", "[0, 0, 0, 0]", .says = "it picks from more axes than"},
    {"part_by_two_ellipses", "[" REST ", " REST "]",
     .says = "it may have one ellipsis"},
    {"part_by_steps_of_nothing", "[" SLICE("0", "1", "0") "]",
     .says = "'step' of a slice must be an integer of 32 bits but 0"},
    {"part_by_words", "['first']", .says = "it picks by something other than integers"},
    {"part_by_tensors", "[" X "]", .says = "it must be called with 1 to 1 values"},
};

static void check_part(void **state) {
    const part_row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    const char *const layer = kiln_format(
        a,
        "{" OPS "'class_name': 'GetItem', 'name': 'p', 'config': {'name': 'p'}, "
        "'inbound_nodes': [{'args': [" X ", %s], 'kwargs': {}}]}",
        r->key);
    check_file(
        a,
        kiln_test_keras_h5(a, model_of(a, "1, 4, 3", layer, "p"), "3.15.1", no_weights),
        0, r->shape, r->want, r->says);
}

/* Numbers beside integers are integers, unless they are written as fractions or the
 * result's reader says that it is of floats. */
static void numbers_beside_integers(void **state) {
    (void)state;
    static const struct {
        const char *layers, *last;
        kiln_dtype dtype;
        double want[2];
    } cases[] = {
        {FUNCTION(OPS, "Add", "a", X ", 1"), "a", KILN_I32, {4, 6}},
        {FUNCTION("", "Maximum", "a", "4, " X), "a", KILN_I32, {4, 5}},
        {FUNCTION(OPS, "Add", "a", X ", 0.5"), "a", KILN_F32, {3.5, 5.5}},
        {FUNCTION(OPS, "TrueDivide", "a", X ", 2"), "a", KILN_F32, {1.5, 2.5}},
        {FUNCTION(OPS, "Multiply", "a", X ", 2.0"), "a", KILN_F32, {6, 10}},
        {FUNCTION(OPS, "NotEqual", "a", X ", 3"), "a", KILN_BOOL, {0, 1}},
        {FUNCTION(OPS, "Multiply", "a", X ", 2") ", " FUNCTION(
             OPS, "Negative", "b",
             "{'class_name': '__keras_tensor__', 'config': {'dtype': 'float32', "
             "'keras_history': ['a', 0, 0]}}"),
         "b",
         KILN_F32,
         {-6, -10}},
        {FUNCTION(OPS, "GreaterEqual", "g",
                  X ", 4") ", " FUNCTION(OPS, "Where", "a", X_OF("g") ", " X ", 0"),
         "a",
         KILN_I32,
         {0, 5}},
        {FUNCTION(OPS, "LogicalNot", "n", X) ", " FUNCTION(OPS, "Any", "a", X_OF("n")),
         "a",
         KILN_BOOL,
         {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln_arena *const a = kiln_test_arena();
        kiln_err err = {0};
        kiln_graph *g = NULL;
        int32_t x[] = {3, 5};
        const char *const model = model_of(a, "2], 'dtype': 'int32', 'more': [0",
                                           cases[i].layers, cases[i].last);
        kiln_assert_status_ok(kiln_test_import_keras(
                                  a, kiln_test_keras_h5(a, model, "3.15.1", no_weights),
                                  NULL, &g, NULL, &err),
                              &err);
        kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
        const kiln_tensor in = {g->inputs.v[0]->type, x};
        kiln_tensor out;
        kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
        assert_int_equal(out.type.dtype, cases[i].dtype);
        kiln_wide w = kiln_wide_new(a, &out.type);
        kiln_widen(&out.type, out.data, &w);
        for (int64_t k = 0; k < kiln_type_elems(&out.type); k++)
            assert_true(fabs((w.f != NULL ? w.f[k] : (double)w.i[k]) -
                             cases[i].want[k]) < 1e-6);
    }
}

static void dynamic_axes_are_bound(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    const kiln_shape_binding s = {.name = "x", .rank = 3, .dim = {2, 5, 3}};
    const kiln_import_options o = {.shapes = &s, .n_shapes = 1};
    const kiln_str bytes = kiln_test_keras_h5(
        &a, kiln_test_sequential(&a, "null, null, 3", L("Flatten", "")), "2.10.0",
        no_weights);
    kiln_assert_fails(
        kiln_test_import_keras(&a, bytes, NULL, &g, &report, &err), KILN_ERR_SHAPE,
        &err,
        "shapes must be known, but 1 graph input is dynamic: 'x' [?,?,3]; bind "
        "them, for example --shape x:1x16x3");
    assert_int_equal(report.n_unbound, 1);
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_test_import_keras(&a, bytes, &o, &g, &report, &err),
                          &err);
    assert_int_equal(g->outputs.v[0]->type.dim[1], 15);
    assert_string_equal(report.producer, "Keras 2.10.0");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_attention, attention_rows);
    kiln_test_add_rows(check_part, part_rows);
    kiln_test_add_rows(check_pair, pair_rows);
    kiln_test_add("shared_layers_and_models_in_models",
                  shared_layers_and_models_in_models, NULL);
    kiln_test_add("archives_have_weights_by_place", archives_have_weights_by_place,
                  NULL);
    kiln_test_add("functions_take_numbers", functions_take_numbers, NULL);
    kiln_test_add("other_functions_are_refused", other_functions_are_refused, NULL);
    kiln_test_add("numbers_beside_integers", numbers_beside_integers, NULL);
    kiln_test_add("dynamic_axes_are_bound", dynamic_axes_are_bound, NULL);
    return kiln_test_run("keras_import");
}
