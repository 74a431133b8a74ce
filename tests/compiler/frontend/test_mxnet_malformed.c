/* MXNet models that are not well formed: each is refused with a message that names file,
 * node and remedy; and 300 damaged ones. */
#include "compiler/frontend/mxnet/mxnet.h"

#include <string.h>

#include "tests/support/import/mutants.h"
#include "tests/support/model/mxnet_writer.h"

/* A variable x of 1x2x3x3, then nodes; the last is the output. */
#define SYMBOL(nodes, last)                                                            \
    "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}, " nodes         \
    "], \"arg_nodes\": [0], \"heads\": [[" last ", 0, 0]]}"
#define NODE(op, attrs, inputs)                                                        \
    "{\"op\": \"" op "\", \"name\": \"n\", \"attrs\": {" attrs                         \
    "}, \"inputs\": [" inputs "]}"
#define ONE(op, attrs) SYMBOL(NODE(op, attrs, "[0, 0, 0]"), "1")
#define WITH_W(op, attrs)                                                              \
    SYMBOL("{\"op\": \"null\", \"name\": \"w\", \"inputs\": []}, " NODE(               \
               op, attrs, "[0, 0, 0], [1, 0, 0]"),                                     \
           "2")

typedef struct row {
    const char *name, *symbol;
    const char *w; /* array arg:w; NULL: none */
    kiln_status want;
    const char *message;
} row;

static row rows[] = {
    {"nothing", "", NULL, KILN_ERR_PARSE, "net-symbol.json:1:1"},
    {"no_nodes", "{}", NULL, KILN_ERR_PARSE, "a symbol must have 'nodes'"},
    {"no_heads", "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}]}",
     NULL, KILN_ERR_PARSE, "a symbol must have 'heads', its outputs"},
    {"a_head_behind_the_end", SYMBOL(NODE("relu", "", "[0, 0, 0]"), "2"), NULL,
     KILN_ERR_PARSE, "head 0 must be an output of a node"},
    {"a_node_without_a_name", SYMBOL("{\"op\": \"relu\"}", "1"), NULL, KILN_ERR_PARSE,
     "node 1 must have an 'op' and a 'name'"},
    {"an_input_from_behind", SYMBOL(NODE("relu", "", "[1, 0, 0]"), "1"), NULL,
     KILN_ERR_PARSE, "input 0 of node 'n' must be an output of a node before it"},
    {"attributes_that_are_no_texts", ONE("relu", "\"a\": 1"), NULL, KILN_ERR_PARSE,
     "'attrs' of node 'n' must be an object of texts"},
    {"an_output_that_is_not_made",
     SYMBOL(NODE("relu", "", "[0, 0, 0]") ", " NODE("relu", "", "[1, 1, 0]"), "2"),
     NULL, KILN_ERR_UNSUPPORTED,
     "input 0 is output 1 of node 'n', which kiln does not compute"},
    {"operators_that_are_not_known", ONE("RNN", "\"state_size\": \"2\""), NULL,
     KILN_ERR_UNSUPPORTED, "1 operator is not read: RNN (1 time, first in node 'n')"},
    {"an_attribute_that_is_not_read", ONE("relu", "\"speed\": \"2\""), NULL,
     KILN_ERR_UNSUPPORTED, "attribute 'speed' is not read for this operator"},
    {"a_word_for_a_number", ONE("_plus_scalar", "\"scalar\": \"two\""), NULL,
     KILN_ERR_PARSE, "attribute 'scalar' must be a number, is 'two'"},
    {"a_word_for_a_bool", ONE("mean", "\"keepdims\": \"yes\""), NULL, KILN_ERR_PARSE,
     "attribute 'keepdims' must be True or False, is 'yes'"},
    {"a_word_that_is_none", ONE("Activation", "\"act_type\": \"step\""), NULL,
     KILN_ERR_PARSE, "attribute 'act_type' must be one of relu, sigmoid, tanh"},
    {"a_tuple_that_is_none", ONE("Pooling", "\"kernel\": \"(2, 2\""), NULL,
     KILN_ERR_PARSE, "attribute 'kernel' must be whole numbers"},
    {"a_parameter_that_is_missing",
     WITH_W("FullyConnected", "\"num_hidden\": \"1\", \"no_bias\": \"True\""), NULL,
     KILN_ERR_PARSE, "parameter 'w' is not in the file of parameters"},
    {"weights_of_another_shape",
     WITH_W("FullyConnected", "\"num_hidden\": \"1\", \"no_bias\": \"True\""),
     "1,3: 1 2 3", KILN_ERR_SHAPE, "its weights must have shape [1,18], have [1,3]"},
    {"no_bias", WITH_W("Convolution", "\"kernel\": \"(1, 1)\", \"num_filter\": \"1\""),
     "1,2,1,1: 1 2", KILN_ERR_PARSE, "it must have a bias, or 'no_bias' True"},
    {"too_few_inputs", ONE("FullyConnected", "\"num_hidden\": \"1\""), NULL,
     KILN_ERR_PARSE, "it must have 2 inputs at least, has 1"},
    {"groups_that_do_not_divide",
     WITH_W("Convolution",
            "\"kernel\": \"(1, 1)\", \"num_filter\": \"3\", \"num_group\": \"3\""),
     "1: 1", KILN_ERR_SHAPE, "'num_group', 3, must divide its channels, 2"},
    {"channels_last",
     WITH_W("Convolution", "\"kernel\": \"(1, 1)\", \"num_filter\": \"1\", \"layout\": "
                           "\"NHWC\""),
     "1: 1", KILN_ERR_UNSUPPORTED, "attribute 'layout' must be NCW, NCHW or NCDHW"},
    {"a_kernel_of_one_axis", ONE("Pooling", "\"kernel\": \"(2,)\""), NULL,
     KILN_ERR_SHAPE, "attribute 'kernel' must have 2 numbers"},
    {"a_window_behind_the_input",
     ONE("Pooling", "\"kernel\": \"(1, 1)\", \"stride\": \"(4, 4)\", "
                    "\"pooling_convention\": \"full\""),
     NULL, KILN_ERR_UNSUPPORTED, "its last window would lie behind the 3 elements"},
    {"an_axis_too_far", ONE("softmax", "\"axis\": \"4\""), NULL, KILN_ERR_SHAPE,
     "'axis' must be in [-4, 4), is 4"},
    {"a_shape_that_does_not_fit", ONE("Reshape", "\"shape\": \"(5, -1)\""), NULL,
     KILN_ERR_SHAPE, "attribute 'shape' does not fit its input, of shape [1,2,3,3]"},
    {"an_empty_slice",
     ONE("slice_axis", "\"axis\": \"2\", \"begin\": \"2\", \"end\": \"1\""), NULL,
     KILN_ERR_SHAPE, "of axis 2, which has 3, must not be empty"},
    {"a_block_that_does_not_divide", ONE("space_to_depth", "\"block_size\": \"2\""),
     NULL, KILN_ERR_SHAPE, "attribute 'block_size', 2, does not divide [1,2,3,3]"},
    {"a_type_that_is_none", ONE("Cast", "\"dtype\": \"complex64\""), NULL,
     KILN_ERR_UNSUPPORTED, "attribute 'dtype' must name a type that kiln has"},
    {"lots", ONE("Dropout", "\"mode\": \"always\""), NULL, KILN_ERR_UNSUPPORTED,
     "kiln draws no lots"},
};

static kiln_status import(kiln_arena *a, const char *symbol, size_t n, kiln_str params,
                          kiln_graph **g, kiln_err *err) {
    const kiln_shape_binding shape = {.name = "x", .rank = 4, .dim = {1, 2, 3, 3}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    return kiln_import_mxnet_bytes(a, (kiln_str){symbol, n}, params, "net-symbol.json",
                                   &o, g, NULL, err);
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_test_mxnet_array w = {"arg:w", r->w};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(import(a, r->symbol, strlen(r->symbol),
                             kiln_test_mxnet_params(a, 2, &w, r->w != NULL), &g, &err),
                      r->want, &err, r->message);
    assert_non_null(strstr(err.text, "importing 'net-symbol.json'"));
}

/* ---- arrays ---------------------------------------------------------------------- */

#define HEAD(n) "\x12\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0" n "\0\0\0\0\0\0\0"
#define BYTES(s) (s), sizeof(s) - 1

typedef struct array_row {
    const char *name, *bytes;
    size_t n;
    kiln_status want;
    const char *message;
} array_row;

static array_row arrays[] = {
    {"no_magic", BYTES("hello, world"), KILN_ERR_PARSE, "must begin with 0x112"},
    {"an_end_in_the_head", BYTES("\x12\x01\0"), KILN_ERR_PARSE,
     "the list of arrays ends at byte 3"},
    {"too_many_arrays", BYTES(HEAD("\x7f")), KILN_ERR_PARSE,
     "the list must hold 127 arrays, but only 0 bytes are left"},
    {"a_sparse_array",
     BYTES(HEAD("\1") "\xc9\xfa\x93\xf9\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0"),
     KILN_ERR_UNSUPPORTED, "the array at byte 24 is sparse (storage 1); save it dense"},
    {"too_many_axes", BYTES(HEAD("\1") "\xc9\xfa\x93\xf9\0\0\0\0\x09\0\0\0\0\0\0\0"),
     KILN_ERR_PARSE, "must have 0 to 8 axes, has 9"},
    {"an_axis_too_long",
     BYTES(
         HEAD("\1") "\xc9\xfa\x93\xf9\0\0\0\0\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f"),
     KILN_ERR_PARSE, "axis 0 of the array at byte 32 has 9223372036854775807 elements"},
    {"a_type_that_is_none",
     BYTES(HEAD("\1") "\xc9\xfa\x93\xf9\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                      "\x63\0\0\0"),
     KILN_ERR_UNSUPPORTED, "has elements of type 99, which kiln does not read"},
    {"elements_that_are_cut_off",
     BYTES(HEAD("\1") "\xc9\xfa\x93\xf9\0\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                      "\0\0\0\0\0\0\0\0"),
     KILN_ERR_PARSE, "in the midst of an entry; is the file truncated?"},
    /* an array of no axes, which is none */
    {"no_names", BYTES(HEAD("\1") "\0\0\0\0\0\0\0\0\0\0\0\0"), KILN_ERR_PARSE,
     "1 arrays must have as many names, have 0"},
};

static void check_arrays(void **state) {
    const array_row *r = *state;
    static const char symbol[] = ONE("relu", "");
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(import(kiln_test_arena(), symbol, sizeof symbol - 1,
                             (kiln_str){r->bytes, r->n}, &g, &err),
                      r->want, &err, r->message);
    assert_non_null(strstr(err.text, "reading 'the parameters'"));
}

static void half_a_model_is_refused(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *symbol = kiln_path_join(a, kiln_test_dir(), "half-symbol.json"),
               *params = kiln_path_join(a, kiln_test_dir(), "other-0003.params");
    static const char text[] = ONE("relu", "");
    const kiln_test_mxnet_array w = {"arg:w", "1: 1"};
    const kiln_str bytes = kiln_test_mxnet_params(a, 2, &w, 1);
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(symbol, text, sizeof text - 1, &err), &err);
    kiln_assert_status_ok(kiln_file_write(params, bytes.p, bytes.n, &err), &err);
    kiln_assert_fails(kiln_import(a, symbol, NULL, &g, NULL, &err), KILN_ERR_MISSING,
                      &err,
                      "is an MXNet symbol; its parameters, 'half-0000.params' or");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_import(a, params, NULL, &g, NULL, &err), KILN_ERR_MISSING,
                      &err,
                      "is a file of MXNet parameters; the symbol, 'other-symbol.json', "
                      "must lie beside it");
}

/* ---- damage ---------------------------------------------------------------------- */

static const char whole[] = SYMBOL(
    "{\"op\": \"null\", \"name\": \"w\", \"inputs\": []}, "
    "{\"op\": \"null\", \"name\": \"b\", \"inputs\": []}, "
    "{\"op\": \"Convolution\", \"name\": \"c\", \"attrs\": {\"kernel\": \"(2, 2)\", "
    "\"pad\": "
    "\"(1, 1)\", \"num_filter\": \"2\"}, \"inputs\": [[0, 0, 0], [1, 0, 0], [2, 0, "
    "0]]}, "
    "{\"op\": \"Pooling\", \"name\": \"p\", \"attrs\": {\"kernel\": \"(2, 2)\", "
    "\"pool_type\": "
    "\"avg\"}, \"inputs\": [[3, 0, 0]]}, "
    "{\"op\": \"Reshape\", \"name\": \"r\", \"attrs\": {\"shape\": \"(0, -3, -1)\"}, "
    "\"inputs\": [[4, 0, 0]]}, " NODE("softmax", "\"axis\": \"1\"", "[5, 0, 0]"),
    "6");

typedef struct two_files {
    kiln_str symbol, params;
} two_files;

static kiln_status import_bad_symbol(kiln_arena *a, kiln_str bytes, const void *user,
                                     kiln_graph **g, kiln_err *err) {
    const two_files *const f = user;
    return import(a, bytes.p, bytes.n, f->params, g, err);
}

static kiln_status import_bad_params(kiln_arena *a, kiln_str bytes, const void *user,
                                     kiln_graph **g, kiln_err *err) {
    const two_files *const f = user;
    return import(a, f->symbol.p, f->symbol.n, bytes, g, err);
}

static void damaged_files_are_named(void **state) {
    (void)state;
    const kiln_test_mxnet_array arrays_of[] = {
        {"arg:w", "2,2,2,2: 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8"}, {"arg:b", "2: 1 2"}};
    const two_files f = {KILN_STR_LIT(whole),
                         kiln_test_mxnet_params(kiln_test_arena(), 2, arrays_of, 2)};
    const kiln_test_mutants symbol = {.file = "importing 'net-symbol.json'",
                                      .whole = f.symbol,
                                      .import = import_bad_symbol,
                                      .user = &f},
                            params = {.file = "importing 'net-symbol.json'",
                                      .whole = f.params,
                                      .import = import_bad_params,
                                      .user = &f};
    kiln_test_mutants_end(&symbol, KILN_TEST_MUTANTS);
    kiln_test_mutants_end(&params, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_arrays, arrays);
    kiln_test_add("half_a_model_is_refused", half_a_model_is_refused, NULL);
    kiln_test_add("damaged_files_are_named", damaged_files_are_named, NULL);
    return kiln_test_run("mxnet_malformed");
}
