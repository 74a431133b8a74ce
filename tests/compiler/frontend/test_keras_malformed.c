/* Keras files that are not well formed, or not read: each is refused with a message
 * that names file, layer and remedy. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/model/keras_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/mutants.h"

enum { MAX_W = 3 };

typedef struct row {
    const char *name;
    const char *layers; /* behind an input of [1, 2, 2, 1] */
    kiln_status want;
    const char *text[2];
    kiln_test_weight w[MAX_W];
} row;

#define L(class_name, members)                                                         \
    "{'class_name': '" class_name "', 'config': {'name': 'a'" members "}}"

static row rows[] = {
    {.name = "unknown_layers_all_at_once",
     .layers = L("Lambda", "") ", " L("Lambda", "") ", " L("MyOwn", ""),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"2 kinds of layer are not read: Lambda (first in layer 'a'; its code is "
              "Python's: replace it by layers that say what it does), MyOwn (first in "
              "layer 'a'; kiln has it not",
              "importing 'test.h5'"}},
    {.name = "missing_weights",
     .layers = L("Conv2D", ""),
     .want = KILN_ERR_PARSE,
     .text = {"the file has no weight 'kernel' for it; was the model saved without its "
              "weights?",
              "importing layer 'a' (Conv2D)"}},
    {.name = "weights_that_do_not_fit",
     .layers = L("BatchNormalization", ", 'center': false"),
     .want = KILN_ERR_SHAPE,
     .text = {"'gamma' must have shape [1], has [3]"},
     .w = {{"a", "a/gamma:0", "3:1 2 3"},
           {"a", "a/moving_mean:0", "3:1 2 3"},
           {"a", "a/moving_variance:0", "3:1 2 3"}}},
    {.name = "channels_first",
     .layers = L("MaxPooling2D", ", 'data_format': 'channels_first'"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"data_format 'channels_first' is not read"}},
    {.name = "numbers_that_are_none",
     .layers = L("MaxPooling2D", ", 'pool_size': 'two'"),
     .want = KILN_ERR_PARSE,
     .text = {"'pool_size' must be an integer or a list of 2"}},
    {.name = "windows_of_nothing",
     .layers = L("MaxPooling2D", ", 'pool_size': 0"),
     .want = KILN_ERR_SHAPE,
     .text = {"importing layer 'a' (MaxPooling2D)"}},
    {.name = "unknown_activations",
     .layers = L("Activation", ", 'activation': 'mine'"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"activation 'mine' is not read"}},
    {.name = "masks",
     .layers = L("Reshape", ", 'target_shape': [2, 2]") ", " L("Masking", "") ", " L(
         "ZeroPadding1D", ", 'padding': 1"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"with masks (of Masking, or an Embedding's mask_zero) it is not read",
              "importing layer 'a' (ZeroPadding1D)"}},
    {.name = "masks_of_planes",
     .layers = L("Embedding", ", 'mask_zero': true"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"a mask must be [N, T] for values [N, T, ...], is bool[1,2,2,1] for "},
     .w = {{"a", "a/embeddings:0", "4,2:1 2 3 4 5 6 7 8"}}},
    {.name = "masks_by_planes",
     .layers = L("Masking", ""),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"its values must be [N, T, C], are f32[1,2,2,1]"}},
    {.name = "states",
     .layers = L("Reshape", ", 'target_shape': [2, 2]") ", " L(
         "LSTM", ", 'units': 1, 'stateful': true"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"recurrent layers with 'stateful' are not read"}},
    {.name = "states_of_convolutions",
     .layers = L("ConvLSTM1D", ", 'filters': 1, 'return_state': true"),
     .want = KILN_ERR_UNSUPPORTED,
     .text = {"recurrent layers with 'return_state' are not read"}},
    {.name = "recurrent_convolutions_of_a_plane",
     .layers = L("Flatten", "") ", " L("ConvLSTM1D", ", 'filters': 1"),
     .want = KILN_ERR_SHAPE,
     .text = {"its input must be [N, steps, spatial..., C], is f32[1,4]",
              "importing layer 'a' (ConvLSTM1D)"}},
    {.name = "recurrent_convolutions_of_many_steps",
     .layers = L("ZeroPadding2D", ", 'padding': [[1023, 0], [0, 0]]") ", " L(
         "ConvLSTM1D", ", 'filters': 1"),
     .want = KILN_ERR_LIMIT,
     .text = {"at most 1024 steps are written out, there are 1025"}},
    {.name = "recurrent_convolutions_of_other_weights",
     .layers = L("ConvLSTM1D", ", 'filters': 1, 'kernel_size': [2], 'use_bias': false"),
     .want = KILN_ERR_SHAPE,
     .text = {"'kernel' must have shape [2,1,4], has [1,1,4]"},
     .w = {{"a", "a/kernel:0", "1,1,4:1 1 1 1"},
           {"a", "a/recurrent_kernel:0", "2,1,4:1 1 1 1 1 1 1 1"}}},
    {.name = "shapes_that_do_not_fit",
     .layers = L("Reshape", ", 'target_shape': [3]"),
     .want = KILN_ERR_SHAPE,
     .text = {"importing layer 'a' (Reshape)"}},
    {.name = "axes_outside",
     .layers = L("Softmax", ", 'axis': 4"),
     .want = KILN_ERR_SHAPE,
     .text = {"its axis must be in [-4, 4)"}},
    {.name = "crops_of_everything",
     .layers = L("Cropping2D", ", 'cropping': 1"),
     .want = KILN_ERR_SHAPE,
     .text = {"1 and 1 elements cannot be cut off an axis of 2"}},
    {.name = "layers_without_a_config",
     .layers = "{'class_name': 'ReLU'}",
     .want = KILN_ERR_PARSE,
     .text = {"a layer must have 'class_name' and 'config'"}},
};

static void check(void **state) {
    const row *const r = *state;
    kiln_test_weight w[MAX_W + 1] = {{NULL, NULL, NULL}};
    memcpy(w, r->w, sizeof r->w);
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    const kiln_str bytes = kiln_test_keras_h5(
        &a, kiln_test_sequential(&a, "1, 2, 2, 1", r->layers), "2.10.0", w);
    kiln_assert_fails(kiln_test_import_keras(&a, bytes, NULL, &g, &report, &err),
                      r->want, &err, r->text[0]);
    if (r->text[1] != NULL)
        assert_non_null(strstr(err.text, r->text[1]));
    assert_null(g);
    kiln_arena_fini(&a);
}

/* ---- whole models ---------------------------------------------------------------- */

typedef struct model_row {
    const char *name, *model;
    kiln_status want;
    const char *text;
} model_row;

#define INPUT                                                                          \
    "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', "               \
    "'batch_input_shape': [1, 2]}}"
#define RELU(name, from)                                                               \
    "{'class_name': 'ReLU', 'name': '" name "', 'config': {'name': '" name             \
    "'}, 'inbound_nodes': [[['" from "', 0, 0]]]}"
#define GRAPH(layers, in, out)                                                         \
    "{'class_name': 'Functional', 'config': {'layers': [" layers                       \
    "], 'input_layers': [" in "], 'output_layers': [" out "]}}"

static model_row models[] = {
    {"no_model", NULL, KILN_ERR_UNSUPPORTED,
     "it is an HDF5 file without a model (attribute 'model_config'): weights alone"},
    {"damaged_json", "{'class_name': ", KILN_ERR_PARSE, "model_config:1:"},
    {"models_of_code", "{'class_name': 'MyModel', 'config': {}}", KILN_ERR_UNSUPPORTED,
     "the model must be Sequential or Functional, is 'MyModel': its code is not in the "
     "file"},
    {"no_layers", "{'class_name': 'Sequential', 'config': {'layers': []}}",
     KILN_ERR_PARSE, "a layer must have 'class_name' and 'config'"},
    {"inputs_that_are_not_there", GRAPH(INPUT, "['z', 0, 0]", "['x', 0, 0]"),
     KILN_ERR_PARSE, "'input_layers' must name layers of the model, names 'z'"},
    {"outputs_that_are_not_there", GRAPH(INPUT, "['x', 0, 0]", ""), KILN_ERR_PARSE,
     "'output_layers' must name the model's outputs"},
    {"layers_in_a_ring",
     GRAPH(INPUT ", " RELU("p", "q") ", " RELU("q", "p"), "['x', 0, 0]", "['q', 0, 0]"),
     KILN_ERR_PARSE,
     "output 'q' is not computed: a layer before it is missing or waits for itself"},
    {"sequences_of_several_results",
     "{'class_name': 'Sequential', 'config': {'layers': [" INPUT
     ", {'class_name': 'TFOpLambda', 'name': 't', 'config': {'function': "
     "'math.top_k'}, 'inbound_nodes': []}]}}",
     KILN_ERR_PARSE, "layer 't' of a Sequential model must have one result, has 2"},
    {"sequences_of_several_values",
     GRAPH(INPUT ", {'class_name': 'Sequential', 'name': 's', 'config': {'name': 's', "
                 "'layers': [" INPUT
                 "]}, 'inbound_nodes': [[['x', 0, 0], ['x', 0, 0]]]}",
           "['x', 0, 0]", "['s', 0, 0]"),
     KILN_ERR_PARSE, "model 's' is Sequential and takes one value, is given 2"},
    {"twin_inputs", GRAPH(INPUT, "['x', 0, 0], ['x', 0, 0]", "['x', 0, 0]"),
     KILN_ERR_PARSE, "graph input 'x' is given twice"},
};

static void check_model(void **state) {
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    const model_row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *const model = r->model != NULL ? kiln_test_quoted(&a, r->model) : NULL;
    kiln_assert_fails(
        kiln_test_import_keras(&a, kiln_test_keras_h5(&a, model, "2.10.0", none), NULL,
                               &g, NULL, &err),
        r->want, &err, r->text);
    kiln_arena_fini(&a);
}

/* ---- archives -------------------------------------------------------------------- */

static void check_archive(kiln_arena *a, kiln_str zip, kiln_status want,
                          const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(kiln_test_import_keras(a, zip, NULL, &g, NULL, &err), want, &err,
                      text);
}

static void archives_are_whole(void **state) {
    (void)state;
    static const char *const names[] = {"config.json", "model.weights.h5"};
    kiln_arena a = {0};
    const kiln_str entries[] = {KILN_STR_LIT("{}"), KILN_STR_LIT("not HDF5")};
    const kiln_str zip = kiln_test_zip(&a, names, entries, 2);
    check_archive(&a, zip, KILN_ERR_UNSUPPORTED, "the model must be Sequential");
    check_archive(&a, kiln_test_zip(&a, names + 1, entries + 1, 1), KILN_ERR_PARSE,
                  "the archive must have 'config.json' and 'model.weights.h5'");
    char *const packed = kiln_arena_dup(&a, zip.p, zip.n);
    for (size_t i = 0; i + 4 < zip.n; i++)
        if (memcmp(packed + i, "PK\x01\x02", 4) == 0)
            packed[i + 10] = 8; /* deflate */
    check_archive(&a, (kiln_str){packed, zip.n}, KILN_ERR_UNSUPPORTED,
                  "'config.json' in the archive is compressed");
    check_archive(&a, KILN_STR_LIT("PK\x03\x04nothing"), KILN_ERR_PARSE,
                  "the archive must have");
    kiln_arena_fini(&a);
}

static void truncated_files_are_refused(void **state) {
    (void)state;
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    kiln_arena a = {0};
    kiln_str h5 = kiln_test_keras_h5(
        &a, kiln_test_sequential(&a, "1, 2", L("ReLU", "")), "2.10.0", none);
    h5.n = h5.n / 2;
    check_archive(&a, h5, KILN_ERR_PARSE,
                  "libhdf5 does not read it; is the file truncated or damaged?");
    kiln_arena_fini(&a);
}

/* ---- damaged JSON ---------------------------------------------------------------- */

static const char whole[] = GRAPH(
    INPUT ", " RELU("p", "x") ", " RELU(
        "q",
        "p") ", "
             "{'class_name': 'Reshape', 'name': 'r', 'config': {'name': 'r', "
             "'target_shape': [2, -1]}, 'inbound_nodes': [[['q', 0, 0]]]}, "
             "{'class_name': 'MaxPooling1D', 'name': 'm', 'config': {'name': 'm', "
             "'pool_size': [2], 'padding': 'same'}, 'inbound_nodes': [[['r', 0, 0]]]}, "
             "{'class_name': 'Dense', 'name': 'd', 'config': {'name': 'd', "
             "'use_bias': false}, 'inbound_nodes': [[['m', 0, 0]]]}",
    "['x', 0, 0]", "['d', 0, 0]");

static kiln_status import_mutant(kiln_arena *a, kiln_str json, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    return kiln_test_import_keras(
        a, kiln_test_keras_h5(a, kiln_str_dupv(a, json), "2.10.0", user), NULL, g, NULL,
        err);
}

/* Numbers, quotes, names and brackets change their places. */
static void damaged_json_ends_in_a_named_error(void **state) {
    (void)state;
    static const kiln_test_weight w[] = {{"d", "d/kernel:0", "1,1:2"},
                                         {NULL, NULL, NULL}};
    const kiln_test_mutants m = {
        .file = "importing 'test.h5'",
        .whole = kiln_str_from(kiln_test_quoted(kiln_test_arena(), whole)),
        .import = import_mutant,
        .user = w,
        .alphabet = "0123456789-'\"[]{},:x"};
    kiln_test_mutants_end(&m, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_model, models);
    kiln_test_add("archives_are_whole", archives_are_whole, NULL);
    kiln_test_add("truncated_files_are_refused", truncated_files_are_refused, NULL);
    kiln_test_add("damaged_json_ends_in_a_named_error",
                  damaged_json_ends_in_a_named_error, NULL);
    return kiln_test_run("keras_malformed");
}
