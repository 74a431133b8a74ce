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
    /* half of the state is kept: h = h / 2 + x / 2 */
    {"gru",
     L("GRU", ", 'units': 1, 'activation': 'linear', 'recurrent_activation': "
              "'sigmoid', 'reset_after': true"),
     "1, 3, 1",
     .w = {W("kernel", "1,3:0 0 1"), W("recurrent_kernel", "1,3:0 0 0"),
           W("bias", "2,3:0 0 0 0 0 0")},
     .shape = "[1,1]", .want = {1.25}},
};

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
#define FUNCTIONS(list, last)                                                          \
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["                 \
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "               \
    "'batch_shape': [1, 2]}, 'inbound_nodes': []}, " list                              \
    "], 'input_layers': ['x', 0, 0], 'output_layers': ['" last "', 0, 0]}}"

static void functions_take_numbers(void **state) {
    (void)state;
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    static const double want[] = {0.5, 0};
    static const char model[] = FUNCTIONS(
        FUNCTION(OPS, "Add", "a", X_OF("x") ", 3.0") ", " FUNCTION(
            "", "Multiply", "m", X_OF("a") ", 0.5") ", " FUNCTION(OPS, "Subtract", "s",
                                                                  "2, " X_OF("m")),
        "s");
    kiln_arena a = {0};
    const kiln_tensor y = run_model(
        &a, kiln_test_keras_h5(&a, kiln_test_quoted(&a, model), "3.15.1", none), 0);
    check_tensor(&a, &y, "[1,2]", want);
    kiln_arena_fini(&a);
}

/* What a layer of the name would take another way, and what is no number. */
static void other_functions_are_refused(void **state) {
    (void)state;
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    static const struct {
        const char *model, *says;
    } bad[] = {
        {FUNCTIONS(FUNCTION(OPS, "Concatenate", "c", "[" X_OF("x") ", " X_OF("x") "]"),
                   "c"),
         "keras.ops.Concatenate (first in layer 'c'"},
        {FUNCTIONS(FUNCTION("", "Flatten", "c", X_OF("x")), "c"),
         "keras.ops.Flatten (first in layer 'c'"},
        {FUNCTIONS(FUNCTION(OPS, "Add", "c",
                            X_OF("x") ", {'class_name': '__numpy__', "
                                      "'config': {'value': [1, 2]}}"),
                   "c"),
         "function 'c' (Add) must be called with tensors of the model and numbers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kiln_arena *const a = kiln_test_arena();
        kiln_err err = {0};
        kiln_graph *g = NULL;
        const kiln_str bytes =
            kiln_test_keras_h5(a, kiln_test_quoted(a, bad[i].model), "3.15.1", none);
        kiln_assert_fails(kiln_test_import_keras(a, bytes, NULL, &g, NULL, &err),
                          KILN_ERR_UNSUPPORTED, &err, bad[i].says);
    }
}

static void dynamic_axes_are_bound(void **state) {
    (void)state;
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    const kiln_shape_binding s = {.name = "x", .rank = 3, .dim = {2, 5, 3}};
    const kiln_import_options o = {.shapes = &s, .n_shapes = 1};
    const kiln_str bytes = kiln_test_keras_h5(
        &a, kiln_test_sequential(&a, "null, null, 3", L("Flatten", "")), "2.10.0",
        none);
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
    kiln_test_add("shared_layers_and_models_in_models",
                  shared_layers_and_models_in_models, NULL);
    kiln_test_add("archives_have_weights_by_place", archives_have_weights_by_place,
                  NULL);
    kiln_test_add("functions_take_numbers", functions_take_numbers, NULL);
    kiln_test_add("other_functions_are_refused", other_functions_are_refused, NULL);
    kiln_test_add("dynamic_axes_are_bound", dynamic_axes_are_bound, NULL);
    return kiln_test_run("keras_import");
}
