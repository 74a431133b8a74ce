/* Core ML files that are not well formed, or not read: each is refused with a message
 * that names file, layer and remedy. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/model/coreml_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/mutants.h"
#include "tests/support/model/pb_text.h"

typedef struct row {
    const char *name;
    const char *layers; /* of a network with an input x of [1,2,2] */
    kiln_status want;
    const char *text[2];
    bool is_exact;
} row;

#define L(kind) "1:{1:'a' 2:'x' 3:'y' " kind "}"

static row rows[] = {
    {"unknown_layers_all_at_once",
     "1:{1:'a' 2:'x' 3:'p' 500:{}} 1:{1:'b' 2:'p' 3:'y' 1999:{}}"
     "1:{1:'c' 2:'p' 3:'q' 500:{}}",
     KILN_ERR_UNSUPPORTED,
     .text = {"2 kinds of layer are not read: custom (first in layer 'a'; its code is "
              "not in "
              "the file), layer type 1999 (first in layer 'b'",
              "importing 'test.mlmodel'"}},
    {"a_layer_of_no_kind", L(""), KILN_ERR_UNSUPPORTED,
     .text = {"no layer (first in layer"}},
    {"values_that_are_not_there", "1:{1:'a' 2:'w' 3:'y' 130:{10:{}}}", KILN_ERR_PARSE,
     .text = {"input 'w' is not defined", "importing layer 'a' (activation)"}},
    {"outputs_that_are_not_there", "1:{1:'a' 2:'x' 3:'q' 130:{10:{}}}", KILN_ERR_PARSE,
     .text = {"output 'y' is not defined by any layer"}},
    {"missing_inputs", "1:{1:'a' 3:'y' 130:{10:{}}}", KILN_ERR_PARSE,
     .text = {"it must have 1 to 1 inputs, has 0"}},
    {"missing_weights", L("100:{1:1 2:1 20:[1,1] 50:{}}"), KILN_ERR_PARSE,
     .text = {"'weights' must hold numbers of shape [1,1,1,1], and is missing"}},
    {"short_weights", L("140:{1:4 2:2 20:w(1 2 3)}"), KILN_ERR_PARSE,
     .text = {"'weights' must have 32 bytes for its 8 numbers, has 12"}},
    {"weights_without_scales", L("140:{1:4 2:1 20:{30:'abcd' 40:{1:8}}}"),
     KILN_ERR_PARSE,
     .text =
         {"'weights' is quantised to 8 bits without a table of 256 numbers or scales"}},
    {"integer_products", L("140:{1:4 2:1 20:w(1 2 3 4) 22:1}"), KILN_ERR_UNSUPPORTED,
     .text = {"int8DynamicQuantize"}},
    {"huge_weights", L("140:{1:4 2:1000000000000 20:w(1)}"), KILN_ERR_LIMIT,
     .text = {"a value may have at most 2^40 elements", "reading 'weights'"}},
    {"wrong_channels", L("100:{1:1 2:3 20:[1,1] 50:{} 90:w(1 2 3)}"), KILN_ERR_SHAPE,
     .text = {"kernelChannels must be 1 for an input of 1 channels, is 3"}},
    {"strides_of_zero", L("100:{1:1 2:1 20:[1,1] 30:[0,1] 50:{} 90:w(1)}"),
     KILN_ERR_PARSE, .text = {"'stride' must be 1 at least, is 0"}},
    {"kernels_larger_than_the_input",
     L("100:{1:1 2:1 20:[3,3] 50:{} "
       "90:w(1 2 3 4 5 6 7 8 9)}"),
     KILN_ERR_SHAPE, .text = {"importing layer 'a' (convolution)"}},
    {"crops_of_everything", L("190:{1:{10:{1:2} 10:{}}}"), KILN_ERR_SHAPE,
     .text = {"0 elements from 2 on must lie in an axis of 2"}},
    {"reshapes_that_do_not_fit", L("300:{1:[1,1,3]}"), KILN_ERR_SHAPE,
     .text = {"f32[1,1,2,2] cannot become [0,1,1,3]"}},
    {"axes_outside", L("950:{1:3}"), KILN_ERR_SHAPE,
     .text = {"axis 3 is outside [-3, 3)"}, .is_exact = true},
    {"batch_moments", L("160:{1:1 5:1 15:w(1) 16:w(1)}"), KILN_ERR_UNSUPPORTED,
     .text = {"computeMeanVar"}},
    {"unknown_functions", L("220:{1:8}"), KILN_ERR_UNSUPPORTED,
     .text = {"its function must be 0 to 7, is 8"}},
    {"damaged_parameters", L("100:'\xff\xff'"), KILN_ERR_PARSE,
     .text = {"protobuf: ConvolutionLayerParams"}},
};

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    const kiln_str bytes =
        kiln_test_coreml(&a, r->is_exact, "1,2,2", NULL, r->layers, NULL);
    kiln_assert_fails(kiln_test_import_coreml(&a, bytes, NULL, &g, &report, &err),
                      r->want, &err, r->text[0]);
    if (r->text[1] != NULL)
        assert_non_null(strstr(err.text, r->text[1]));
    assert_null(g);
    kiln_arena_fini(&a);
}

/* ---- whole files ----------------------------------------------------------------- */

typedef struct file_row {
    const char *name, *model;
    kiln_status want;
    const char *text;
} file_row;

#define IN_OUT "2:{1:{1:'x' 3:{5:{1:[2]}}} 10:{1:'y' 3:{5:{}}}}"
#define RELU "1:{1:'a' 2:'x' 3:'y' 130:{10:{}}}"

static file_row files[] = {
    {"ml_programs", "1:7 " IN_OUT " 502:{}", KILN_ERR_UNSUPPORTED,
     "it must hold a neural network, is an ML program; its format is 'mlprogram'"},
    {"pipelines", "1:3 " IN_OUT " 202:{}", KILN_ERR_UNSUPPORTED,
     "is a pipeline; import the networks in it alone"},
    {"other_models", "1:3 " IN_OUT " 402:{}", KILN_ERR_UNSUPPORTED,
     "is a model of another kind (field 402 of Model)"},
    {"no_description", "1:3 500:{}", KILN_ERR_PARSE, "Model has no description"},
    {"versions_to_come", "1:99 " IN_OUT " 500:{" RELU "}", KILN_ERR_UNSUPPORTED,
     "specificationVersion must be 1 to 9, is 99"},
    {"inputs_of_strings",
     "1:3 2:{1:{1:'x' 3:{3:{}}} 10:{1:'y' 3:{5:{}}}} 500:{" RELU "}",
     KILN_ERR_UNSUPPORTED, "it must be an image or an array, is a string"},
    {"inputs_without_a_shape",
     "1:3 2:{1:{1:'x' 3:{5:{}}} 10:{1:'y' 3:{5:{}}}} 500:{" RELU "}", KILN_ERR_SHAPE,
     "shapes must be known, but 1 graph input is dynamic: 'x' of any rank; bind"},
    {"negative_sizes",
     "1:3 2:{1:{1:'x' 3:{5:{1:[-3]}}} 10:{1:'y' 3:{5:{}}}} 500:{" RELU "}",
     KILN_ERR_SHAPE, "its axes must have 1 element at least"},
    {"twin_inputs",
     "1:3 2:{1:{1:'x' 3:{5:{1:[3]}}} 1:{1:'x' 3:{5:{1:[3]}}} 10:{1:'y' 3:{5:{}}}} "
     "500:{" RELU "}",
     KILN_ERR_PARSE, "graph input 'x' is given twice"},
    {"no_outputs", "1:3 2:{1:{1:'x' 3:{5:{1:[3]}}}} 500:{" RELU "}", KILN_ERR_PARSE,
     "the model must have outputs"},
};

static void check_file(void **state) {
    const file_row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(
        kiln_test_import_coreml(&a, kiln_test_pb(&a, r->model), NULL, &g, NULL, &err),
        r->want, &err, r->text);
    kiln_arena_fini(&a);
}

/* ---- damaged files --------------------------------------------------------------- */

static const char whole[] =
    "1:{1:'c' 2:'x' 3:'p' 100:{1:2 2:1 20:[2,2] 50:{} 70:1 90:w(1 2 3 4 5 6 7 8) "
    "91:w(1 2)}} 1:{1:'n' 2:'p' 3:'q' 160:{1:2 15:w(1 2) 16:w(0 1) 17:w(0 1) "
    "18:w(1 2)}} 1:{1:'l' 2:'q' 3:'f' 301:{}} 1:{1:'i' 2:'f' 3:'s' 140:{1:2 2:2 "
    "20:{30:'\x1b' 40:{1:2 101:{1:(1 10) 2:(0 -1)}}}}} 1:{1:'m' 2:'s' 3:'y' 175:{}}";

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_test_import_coreml(a, bytes, NULL, g, NULL, err);
}

static void damaged_files_end_in_a_named_error(void **state) {
    (void)state;
    const kiln_test_mutants m = {
        .file = "importing 'test.mlmodel'",
        .whole = kiln_test_coreml(kiln_test_arena(), false, "1,2,2", NULL, whole, NULL),
        .import = import_mutant};
    kiln_test_mutants_end(&m, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_file, files);
    kiln_test_add("damaged_files_end_in_a_named_error",
                  damaged_files_end_in_a_named_error, NULL);
    return kiln_test_run("coreml_malformed");
}
