/* Caffe models that are not well formed: each is refused with a message that names file,
 * layer and remedy; and 300 damaged ones. */
#include "compiler/frontend/caffe/caffe.h"

#include <string.h>

#include "tests/support/model/caffe_writer.h"
#include "tests/support/import/mutants.h"

#define INPUT_X "input: 'x' input_shape { dim: [1, 2, 3, 3] } "
#define ONE(type, more)                                                                \
    INPUT_X "layer { name: 'l' type: '" type "' bottom: 'x' top: 'y' " more " }"

typedef struct row {
    const char *name, *text;
    const char *weights; /* blobs of layer 'l' */
    kiln_status want;
    const char *message;
} row;

static row rows[] = {
    /* text */
    {"nothing", "", NULL, KILN_ERR_PARSE, "the net must have a top that no layer uses"},
    {"an_open_message", INPUT_X "layer { name: 'l' ", NULL, KILN_ERR_PARSE,
     "expected a field's name, the text ends"},
    {"an_open_string", "input: 'x\n", NULL, KILN_ERR_PARSE,
     "net.prototxt:1:8: a string must end on its line"},
    {"a_bad_escape", "input: 'x\\q'", NULL, KILN_ERR_PARSE, "an escape of this string"},
    {"no_colon", "name 'x'", NULL, KILN_ERR_PARSE, "expected ':', found '''"},
    {"a_field_twice", "name: 'x' name: 'y'", NULL, KILN_ERR_PARSE,
     "field 'name' of NetParameter is given twice"},
    {"a_field_that_is_none", INPUT_X "layr { }", NULL, KILN_ERR_UNSUPPORTED,
     "NetParameter has no field 'layr' that kiln knows"},
    {"a_parameter_that_is_none", ONE("ReLU", "relu_param { slope: 1 }"), NULL,
     KILN_ERR_UNSUPPORTED, "net.prototxt:1:"},
    {"a_word_for_a_number", ONE("ReLU", "relu_param { negative_slope: much }"), NULL,
     KILN_ERR_PARSE,
     "field 'negative_slope' of ReLUParameter must be a number, is 'much'"},
    {"a_name_for_another", ONE("Pooling", "pooling_param { pool: MEAN }"), NULL,
     KILN_ERR_PARSE, "must be one of its enumeration's names, is 'MEAN'"},
    {"a_number_for_a_bool", ONE("InnerProduct", "inner_product_param { bias_term: 2 }"),
     NULL, KILN_ERR_PARSE, "must be true or false, is '2'"},
    {"a_number_too_large",
     ONE("InnerProduct", "inner_product_param { num_output: 99999999999999999999 }"),
     NULL, KILN_ERR_PARSE, "must be a whole number"},
    {"layers_of_both_versions", INPUT_X "layer { } layers { }", NULL, KILN_ERR_PARSE,
     "both 'layer' and 'layers'; upgrade it"},
    /* nets */
    {"types_that_are_not_known",
     INPUT_X
     "layer { name: 'a' type: 'Foo' bottom: 'x' top: 'y' foo_param { a: 1 b { } "
     "} } layer { name: 'b' type: 'Bar' } layer { type: 'Foo' }",
     NULL, KILN_ERR_UNSUPPORTED,
     "2 layer types are not read: Foo (2 times, first in node 'a'), Bar (1 time, first "
     "in node 'b')"},
    {"data", "layer { name: 'd' type: 'Data' top: 'x' data_param { source: 'db' } }",
     NULL, KILN_ERR_UNSUPPORTED, "put an Input layer with a shape in its place"},
    {"a_bottom_from_nowhere", INPUT_X "layer { name: 'l' type: 'ReLU' bottom: 'w' }",
     NULL, KILN_ERR_UNSUPPORTED, "it is read with 1 top, has 0"},
    {"a_bottom_that_is_none",
     INPUT_X "layer { name: 'l' type: 'ReLU' bottom: 'w' top: 'y' }", NULL,
     KILN_ERR_PARSE, "bottom 'w' is no input and no top of a layer before it"},
    {"a_top_twice",
     INPUT_X
     "layer { type: 'ReLU' bottom: 'x' top: 'y' } layer { type: 'AbsVal' bottom: "
     "'x' top: 'y' }",
     NULL, KILN_ERR_PARSE, "top 'y' is made by an earlier layer too"},
    {"too_many_bottoms",
     INPUT_X "layer { name: 'l' type: 'ReLU' bottom: 'x' bottom: 'x' top: 'y' }", NULL,
     KILN_ERR_UNSUPPORTED, "it is read with 1 to 1 bottoms, has 2"},
    {"parameters_of_another_layer", ONE("ReLU", "scores_param { a: 1 }"), NULL,
     KILN_ERR_UNSUPPORTED, "parameters of a kind that kiln does not know for its type"},
    {"parameters_of_two_layers", ONE("ReLU", "relu_param { } elu_param { }"), NULL,
     KILN_ERR_PARSE, "it has parameters of 2 types"},
    {"inputs_without_shapes", "input: 'x' input_dim: 1", NULL, KILN_ERR_PARSE,
     "1 inputs of the net must have as many 'input_shape'"},
    {"an_input_twice",
     INPUT_X "layer { type: 'Input' top: 'x' input_param { shape { dim: "
             "1 } } }",
     NULL, KILN_ERR_PARSE, "input 'x' is given twice"},
    {"a_negative_size", "input: 'x' input_shape { dim: -1 }", NULL, KILN_ERR_PARSE,
     "a dimension must be 0 or more, is -1"},
    /* layers */
    {"weights_that_are_missing",
     ONE("Convolution", "convolution_param { num_output: 1 kernel_size: 1 }"), NULL,
     KILN_ERR_PARSE, "which has no such layer, so 0; are the two files of one net?"},
    {"a_bias_that_is_missing",
     ONE("Convolution", "convolution_param { num_output: 1 kernel_size: 1 }"),
     "1,2,1,1: 1 2", KILN_ERR_PARSE, "its bias must be blob 1 of the layer"},
    {"weights_of_another_shape",
     ONE("Convolution", "convolution_param { num_output: 1 kernel_size: 1 }"),
     "1,3,1,1: 1 2 3", KILN_ERR_SHAPE,
     "its weights must have shape [1,2,1,1], has [1,3,1,1]"},
    {"weights_of_too_few_bytes",
     ONE("Convolution", "convolution_param { num_output: 1 kernel_size: 1 }"),
     "1,2,1,1: 1", KILN_ERR_PARSE,
     "a blob of 2 elements must have 8 bytes, has 4; is the file damaged?"},
    {"groups_that_do_not_divide",
     ONE("Convolution", "convolution_param { num_output: 2 group: 3 kernel_size: 1 }"),
     NULL, KILN_ERR_SHAPE, "'group', 3, must divide its channels, 2"},
    {"a_kernel_of_nothing", ONE("Convolution", "convolution_param { num_output: 1 }"),
     NULL, KILN_ERR_SHAPE, "'kernel' must be in [1, 1048576], is 0"},
    {"half_a_kernel", ONE("Pooling", "pooling_param { kernel_h: 1 }"), NULL,
     KILN_ERR_SHAPE, "'kernel' must be given once, once for each of 2 axes"},
    {"padding_as_large_as_the_kernel",
     ONE("Pooling", "pooling_param { kernel_size: 1 pad: 1 }"), NULL, KILN_ERR_SHAPE,
     "'pad', 1, must be less than the kernel, 1"},
    {"a_window_behind_the_input",
     ONE("Pooling", "pooling_param { kernel_size: 1 stride: 4 }"), NULL,
     KILN_ERR_UNSUPPORTED, "its last window would lie behind the 3 elements"},
    {"lots", ONE("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"), NULL,
     KILN_ERR_UNSUPPORTED, "'pool' must be MAX or AVE"},
    {"an_axis_too_far", ONE("Softmax", "softmax_param { axis: 4 }"), NULL,
     KILN_ERR_SHAPE, "'axis' must be in [-4, 4), is 4"},
    {"slices_that_do_not_fit",
     INPUT_X
     "layer { type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { axis: 2 } "
     "}",
     NULL, KILN_ERR_SHAPE, "2 tops must divide the 3 of axis 2"},
    {"a_slice_behind_the_end",
     INPUT_X
     "layer { type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { axis: 2 "
     "slice_point: 4 } }",
     NULL, KILN_ERR_SHAPE, "'slice_point' must rise within the 3 of axis 2"},
    {"a_shape_that_does_not_fit",
     ONE("Reshape", "reshape_param { shape { dim: 5 dim: -1 } }"), NULL, KILN_ERR_SHAPE,
     "18 elements are no multiple of 5"},
    {"a_shape_of_nothing_known",
     ONE("Reshape", "reshape_param { shape { dim: -1 dim: -1 } }"), NULL,
     KILN_ERR_SHAPE, "'shape' must hold sizes, 0, and -1 once, has -1"},
    {"a_shape_too_large",
     ONE("Reshape",
         "reshape_param { shape { dim: 1099511627776 dim: 1099511627776 } }"),
     NULL, KILN_ERR_SHAPE, "'shape' must hold sizes"},
    {"an_even_neighbourhood", ONE("LRN", "lrn_param { local_size: 4 }"), NULL,
     KILN_ERR_PARSE, "'local_size' must be odd"},
    {"a_base_below_nothing", ONE("Log", "log_param { base: -2 }"), NULL, KILN_ERR_PARSE,
     "'base' must be above 0"},
    {"more_than_all", ONE("ArgMax", "argmax_param { top_k: 19 }"), NULL, KILN_ERR_SHAPE,
     "'top_k' must be in [1, 18], is 19"},
    {"an_order_twice", ONE("Permute", "permute_param { order: 1 order: 1 }"), NULL,
     KILN_ERR_SHAPE, "'order' must name axes of [1,2,3,3] once, has 1"},
    {"half_an_element", ONE("Upsample", "upsample_param { scale: 1.5 }"), NULL,
     KILN_ERR_UNSUPPORTED, "'scale' must be a whole number in [1, 64], is 1.5"},
};

static kiln_status import(const char *text, kiln_str weights, kiln_err *err) {
    kiln_graph *g = NULL;
    return kiln_import_caffe_bytes(kiln_test_arena(), kiln_str_from(text), weights,
                                   "net.prototxt", NULL, &g, NULL, err);
}

static void check(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    const kiln_test_caffe_layer layer = {"l", r->weights};
    const kiln_str weights =
        kiln_test_caffe_weights(kiln_test_arena(), &layer, r->weights != NULL);
    kiln_assert_fails(import(r->text, weights, &err), r->want, &err, r->message);
    assert_non_null(strstr(err.text, "importing 'net.prototxt'"));
}

static void depth_has_a_limit(void **state) {
    (void)state;
    kiln_buf b;
    kiln_err err = {0};
    kiln_buf_init(&b, kiln_test_arena());
    kiln_buf_puts(&b, "state");
    for (int i = 0; i < 100000; i++)
        kiln_buf_puts(&b, "{a");
    kiln_assert_fails(import(kiln_buf_str(&b).p, KILN_STR_LIT(""), &err),
                      KILN_ERR_LIMIT, &err, "nested more than 100 deep");
}

static void half_a_model_is_refused(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *text = kiln_path_join(a, kiln_test_dir(), "half.prototxt"),
               *weights = kiln_path_join(a, kiln_test_dir(), "other.bin");
    const char net[] = ONE("ReLU", "");
    const kiln_test_caffe_layer layer = {"l", "1: 1"};
    const kiln_str bytes = kiln_test_caffe_weights(a, &layer, 1);
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(text, net, sizeof net - 1, &err), &err);
    kiln_assert_status_ok(kiln_file_write(weights, bytes.p, bytes.n, &err), &err);
    kiln_assert_fails(kiln_import(a, text, NULL, &g, NULL, &err), KILN_ERR_MISSING,
                      &err,
                      "is a Caffe description of layers; its weights, "
                      "'half.caffemodel', must lie beside it");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_import(a, weights, NULL, &g, NULL, &err), KILN_ERR_MISSING,
                      &err,
                      "is a Caffe model's weights; the description of its layers, "
                      "'other.prototxt', must lie beside it");
}

static void a_shape_of_another_rank_is_refused(void **state) {
    (void)state;
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {3, 2}},
                             other = {.name = "z", .rank = 1, .dim = {1}};
    const kiln_shape_binding *given[] = {&shape, &other};
    static const char *const text[] = {"ranks must be equal",
                                       "names 'z', which is no graph input; the inputs "
                                       "are: 'x'"};
    static const kiln_status want[] = {KILN_ERR_SHAPE, KILN_ERR_ARG};
    for (int i = 0; i < 2; i++) {
        const kiln_import_options o = {.shapes = given[i], .n_shapes = 1};
        kiln_graph *g = NULL;
        kiln_err err = {0};
        kiln_assert_fails(
            kiln_import_caffe_bytes(kiln_test_arena(), KILN_STR_LIT(ONE("ReLU", "")),
                                    KILN_STR_LIT(""), "n.prototxt", &o, &g, NULL, &err),
            want[i], &err, text[i]);
    }
}

/* ---- damage ---------------------------------------------------------------------- */

#define LENET                                                                          \
    INPUT_X "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "              \
            "convolution_param { num_output: 2 kernel_size: 2 pad: 1 group: 2 } }\n"   \
            "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }\n"                  \
            "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' "                  \
            "pooling_param { pool: AVE kernel_size: 2 stride: 2 } }\n"                 \
            "layer { name: 'i' type: 'InnerProduct' bottom: 'p' top: 'i' "             \
            "inner_product_param { num_output: 2 bias_term: false } }\n"               \
            "layer { name: 's' type: 'Softmax' bottom: 'i' top: 's' }\n"

typedef struct two_files {
    kiln_str text, weights;
} two_files;

static kiln_status import_bad_text(kiln_arena *a, kiln_str bytes, const void *user,
                                   kiln_graph **g, kiln_err *err) {
    const two_files *const f = user;
    return kiln_import_caffe_bytes(a, bytes, f->weights, "bad.prototxt", NULL, g, NULL,
                                   err);
}

static kiln_status import_bad_weights(kiln_arena *a, kiln_str bytes, const void *user,
                                      kiln_graph **g, kiln_err *err) {
    const two_files *const f = user;
    return kiln_import_caffe_bytes(a, f->text, bytes, "bad.prototxt", NULL, g, NULL,
                                   err);
}

static void damaged_files_are_named(void **state) {
    (void)state;
    const kiln_test_caffe_layer layers[] = {
        {"c", "2,1,2,2: 1 2 3 4 5 6 7 8; 2: 1 2"},
        {"i", "2,8: 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8"}};
    const two_files f = {KILN_STR_LIT(LENET),
                         kiln_test_caffe_weights(kiln_test_arena(), layers, 2)};
    const kiln_test_mutants text = {.file = "importing 'bad.prototxt'",
                                    .whole = f.text,
                                    .import = import_bad_text,
                                    .user = &f},
                            weights = {.file = "importing 'bad.prototxt'",
                                       .whole = f.weights,
                                       .import = import_bad_weights,
                                       .user = &f};
    kiln_test_mutants_end(&text, KILN_TEST_MUTANTS);
    kiln_test_mutants_end(&weights, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("depth_has_a_limit", depth_has_a_limit, NULL);
    kiln_test_add("half_a_model_is_refused", half_a_model_is_refused, NULL);
    kiln_test_add("a_shape_of_another_rank_is_refused",
                  a_shape_of_another_rank_is_refused, NULL);
    kiln_test_add("damaged_files_are_named", damaged_files_are_named, NULL);
    return kiln_test_run("caffe_malformed");
}
