/* TensorFlow graphs that are not well formed: each is refused with a message that names
 * file, node and remedy; mutated files are refused or import to a graph that verifies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/mutants.h"
#include "tests/support/model/tf_writer.h"

typedef struct row {
    const char *name;
    const char *graph;
    kiln_status want;
    const char *text[3]; /* parts of the message */
} row;

#define X(shape) "x Placeholder dtype=t1 shape=S" shape "\n"

static row rows[] = {
    /* ---- the graph */
    {"reads_nothing",
     "y Relu x",
     KILN_ERR_PARSE,
     {"node 'y' (Relu) reads 'x', but no node has this name", "importing '"}},
    {"two_of_one_name",
     X("2") X("2") "y Relu x",
     KILN_ERR_PARSE,
     {"node 'x' is given twice"}},
    {"cycle",
     X("2") "a Add x b\nb Relu a\ny Relu b",
     KILN_ERR_PARSE,
     {"nodes must not form a cycle, but these 2 do: 'b' (Relu), 'a' (Add)"}},
    {"no_outputs",
     X("2") "a Add x b\nb Relu a",
     KILN_ERR_PARSE,
     {"the graph has no outputs"}},
    {"control_before_operands",
     X("2") "c NoOp\ny Add ^c x x",
     KILN_ERR_PARSE,
     {"node 'y' must list its operands", "before its control inputs"}},
    {"unknown_operators",
     X("2") "a Enter x\nb Enter x\nc Unheard a b\ny Relu c",
     KILN_ERR_UNSUPPORTED,
     {"2 operators are not read:", "Unheard (1 time, first in node 'c')",
      "Enter (2 times, first in node 'b')"}},
    {"output_that_is_none",
     X("2") "a Relu x\ny Relu a:1",
     KILN_ERR_UNSUPPORTED,
     {"input 'a:1' is output 1 of a node that makes 1", "importing node 'y' (Relu)"}},
    {"reference_of_letters",
     X("2") "a Relu x\ny Relu a:b:c",
     KILN_ERR_PARSE,
     {"reads 'a:b:c', which names no output of node 'a' (Relu)"}},
    {"operand_missing", X("2") "y Add x", KILN_ERR_PARSE, {"input 1 ('y') is missing"}},
    /* ---- attributes */
    {"attribute_of_another_kind",
     X("2") "a Const value=I:0\ny Sum x a keep_dims=i1",
     KILN_ERR_PARSE,
     {"attribute 'keep_dims' must be a bool", "importing node 'y' (Sum)"}},
    {"attribute_that_no_one_knows",
     X("2") "y Relu x sharpness=i1",
     KILN_ERR_UNSUPPORTED,
     {"attribute 'sharpness' is not read"}},
    {"layout_of_a_vendor",
     X("1,1,2,2,4") "y AvgPool x data_format=sNCHW_VECT_C",
     KILN_ERR_UNSUPPORTED,
     {"must be NHWC, NCHW, NDHWC or NCDHW, is 'NCHW_VECT_C'"}},
    {"padding_of_its_own",
     X("1,2,2,1") "y AvgPool x ksize=l1,2,2,1 padding=sROUND",
     KILN_ERR_PARSE,
     {"must be SAME, VALID or EXPLICIT, is 'ROUND'"}},
    {"stride_of_channels",
     X("1,2,2,1") "y AvgPool x ksize=l1,2,2,1 strides=l1,1,1,2 padding=sSAME",
     KILN_ERR_UNSUPPORTED,
     {"attribute 'strides' must be 1 for the batch and the channels, is 2 on axis 3"}},
    {"stride_of_zero",
     X("1,2,2,1") "y AvgPool x ksize=l1,2,2,1 strides=l1,0,1,1 padding=sSAME",
     KILN_ERR_SHAPE,
     {"the stride of spatial axis 0 must be 1 to"}},
    {"training",
     X("1,1,1,1") "c Const value=F1:1\ny FusedBatchNorm x c c c c",
     KILN_ERR_UNSUPPORTED,
     {"is_training", "freeze the graph for inference"}},
    /* ---- tensors */
    {"constant_without_a_value",
     X("2") "c Const\ny Add x c",
     KILN_ERR_PARSE,
     {"attribute 'value' must be a tensor"}},
    {"constant_too_long",
     X("2") "c Const value=F1:1;2;3\ny Add x c",
     KILN_ERR_PARSE,
     {"f32[1] needs 1 elements in float_val, the file has 3"}},
    {"constant_cut_off",
     X("2") "c Const value=C2:1\ny Add x c",
     KILN_ERR_PARSE,
     {"f32[2] needs 8 bytes of tensor_content, the file has 4"}},
    {"constant_of_a_dynamic_shape",
     X("2") "c Const value=F-1:1\ny Add x c",
     KILN_ERR_SHAPE,
     {"importing node 'c' (Const)"}},
    {"constant_of_all_memory",
     X("2") "c Const value=F1000000,1000000:1\ny Add x c",
     KILN_ERR_LIMIT,
     {"the constants that import computes may have 512 MiB in all"}},
    {"placeholder_of_no_type",
     "x Placeholder shape=S2\ny Relu x",
     KILN_ERR_PARSE,
     {"attribute 'dtype' is missing", "binding graph input 'x'"}},
    {"placeholder_of_text",
     "x Placeholder dtype=t7 shape=S2\ny Identity x",
     KILN_ERR_UNSUPPORTED,
     {"element type STRING is not read"}},
    {"placeholder_of_many_axes",
     "x Placeholder dtype=t1 shape=S1,1,1,1,1,1,1,1,1\ny Relu x",
     KILN_ERR_LIMIT,
     {"rank must be at most 8, is 9"}},
    /* ---- shapes */
    {"shape_that_is_given",
     X("2") "s Placeholder dtype=t3 shape=S1\ny Reshape x s",
     KILN_ERR_UNSUPPORTED,
     {"must be a constant, it depends on graph input 's'"}},
    {"reshape_to_more",
     X("4") "s Const value=I2:3;-1\ny Reshape x s",
     KILN_ERR_SHAPE,
     {"f32[4] cannot be reshaped to"}},
    {"reshape_with_two_open",
     X("4") "s Const value=I2:-1;-1\ny Reshape x s",
     KILN_ERR_SHAPE,
     {"one may be -1"}},
    {"squeeze_of_two",
     X("2,1") "y Squeeze x squeeze_dims=l0",
     KILN_ERR_SHAPE,
     {"axis 0 must have one element to go, has 2"}},
    {"axis_beyond",
     X("2") "a Const value=I:3\ny ExpandDims x a",
     KILN_ERR_SHAPE,
     {"axis"}},
    {"concat_of_nothing",
     "a Const value=I:0\ny ConcatV2 a",
     KILN_ERR_PARSE,
     {"nothing is concatenated"}},
    {"pack_of_two_shapes",
     X("2") "a Const value=F3:1\ny Pack x a",
     KILN_ERR_SHAPE,
     {"what is stacked must have one shape, but operand 1 is f32[3]"}},
    {"split_of_odd",
     X("3") "d Const value=I:0\ns Split d x num_split=i2\ny Relu s",
     KILN_ERR_SHAPE,
     {"3 elements cannot be cut into 2 equal parts"}},
    {"slice_beyond",
     X("3") "b Const value=I1:2\ns Const value=I1:2\ny Slice x b s",
     KILN_ERR_SHAPE,
     {"axis 0 has 3 elements, of which 2 from 2 on are asked for"}},
    {"stride_of_nothing",
     X("3") "b Const value=I1:0\ns Const value=I1:0\ny StridedSlice x b b s",
     KILN_ERR_SHAPE,
     {"'strides' must not be 0"}},
    {"slice_of_more_axes",
     X("3") "b Const value=I2:0;0\ns Const value=I2:1;1\ny StridedSlice x b s s",
     KILN_ERR_SHAPE,
     {"more axes are sliced or made than f32[3] has"}},
    {"pads_that_crop",
     X("3") "p Const value=I1,2:-1;0\ny Pad x p",
     KILN_ERR_SHAPE,
     {"'paddings' must not be negative"}},
    {"reflection_too_long",
     X("3") "p Const value=I1,2:3;0\ny MirrorPad x p mode=sREFLECT",
     KILN_ERR_SHAPE,
     {"must be shorter than its 3 elements, one is 3"}},
    {"range_without_end",
     X("1") "a Const value=I:0\nb Const value=I:5\nr Range a b a\nc Cast r DstT=t1\n"
            "y Add x c",
     KILN_ERR_LIMIT,
     {"has no end"}},
    {"filter_of_other_channels",
     X("1,2,2,3") "w Const value=F1,1,2,1:1\n"
                  "y Conv2D x w strides=l1,1,1,1 padding=sSAME",
     KILN_ERR_SHAPE,
     {"the 3 channels must be a multiple of the filter's 2"}},
    {"gradient_that_does_not_fit",
     X("1,1,2,1") "s Const value=I4:1;1;9;1\nw Const value=F1,2,1,1:1;10\n"
                  "y Conv2DBackpropInput s w x strides=l1,1,2,1 padding=sSAME",
     KILN_ERR_SHAPE,
     {"an output 9 long on spatial axis 1 is made of"}},
    {"matmul_of_a_list",
     X("2") "y MatMul x x",
     KILN_ERR_SHAPE,
     {"operand 0 must be a matrix or more, is f32[2]"}},
    {"blocks_that_do_not_fit",
     X("1,3,3,1") "y SpaceToDepth x block_size=i2",
     KILN_ERR_SHAPE,
     {"3 x 3 are not made of blocks of 2"}},
    /* ---- rounded, cropped, diagonals */
    {"fake_quant_of_a_given_range",
     X("2") "a Placeholder dtype=t1 shape=S\ny FakeQuantWithMinMaxVars x a a",
     KILN_ERR_UNSUPPORTED,
     {"must be a constant, it depends on graph input 'a'"}},
    {"fake_quant_of_two_lengths",
     X("2") "a Const value=F2:0;0\nb Const value=F:1\n"
            "y FakeQuantWithMinMaxVars x a b",
     KILN_ERR_SHAPE,
     {"'min' and 'max' must have as many elements, have 2 and 1"}},
    {"fake_quant_without_zero",
     X("2") "y FakeQuantWithMinMaxArgs x min=f1 max=f2",
     KILN_ERR_SHAPE,
     {"a range must be finite and hold 0, is 1 to 2"}},
    {"fake_quant_of_many_bits",
     X("2") "y FakeQuantWithMinMaxArgs x num_bits=i17",
     KILN_ERR_SHAPE,
     {"it rounds floats to 2 to 16 bits", "there are f32[2], 17 bits and 1 ranges"}},
    {"fake_quant_of_other_channels",
     X("2,2") "a Const value=F3:0;0;0\nb Const value=F3:1;1;1\n"
              "y FakeQuantWithMinMaxVarsPerChannel x a b",
     KILN_ERR_SHAPE,
     {"there are f32[2,2], 8 bits and 3 ranges"}},
    {"crop_by_another_method",
     X("1,2,2,1") "b Const value=F1,4:0;0;1;1\ni Const value=I1:0\n"
                  "s Const value=I2:1;1\ny CropAndResize x b i s method=scubic",
     KILN_ERR_PARSE,
     {"attribute 'method' must be bilinear or nearest, is 'cubic'"}},
    {"crop_to_nothing",
     X("1,2,2,1") "b Const value=F1,4:0;0;1;1\ni Const value=I1:0\n"
                  "s Const value=I2:0;1\ny CropAndResize x b i s",
     KILN_ERR_SHAPE,
     {"'boxes' floats [n, 4], 'box_ind' [n] and 'crop_size' two sizes"}},
    {"crop_of_no_images",
     X("0,2,2,1") "b Const value=F1,4:0;0;1;1\ni Const value=I1:0\n"
                  "s Const value=I2:1;1\ny CropAndResize x b i s",
     KILN_ERR_SHAPE,
     {"images must be [n, height, width, channels] without a 0"}},
    {"bicubic_to_nothing",
     X("1,2,2,1") "s Const value=I2:0;1\ny ResizeBicubic x s",
     KILN_ERR_SHAPE,
     {"and sizes 1 to 2^31 - 1"}},
    {"bicubic_to_all_memory",
     X("1,2,2,1") "s Const value=I2:2000000000;1\ny ResizeBicubic x s",
     KILN_ERR_LIMIT,
     {"the constants that import computes may have 512 MiB in all"}},
    {"band_of_diagonals",
     X("2,2") "k Const value=I2:0;1\nf Const value=F:0\ny MatrixDiagPartV3 x k f",
     KILN_ERR_UNSUPPORTED,
     {"one diagonal at a time is read"}},
    {"diagonal_of_another_length",
     X("2,3") "d Const value=F3:1;2;3\ny MatrixSetDiag x d",
     KILN_ERR_SHAPE,
     {"diagonal 0 of f32[2,3] is not as long as what goes there"}},
    {"diagonal_outside",
     X("2,2") "k Const value=I:2\nf Const value=F:0\ny MatrixDiagPartV2 x k f",
     KILN_ERR_SHAPE,
     {"diagonal 2 of f32[2,2] is not as long"}},
    {"matrix_of_no_rows",
     X("2") "k Const value=I:0\nm Const value=I:0\nf Const value=F:0\n"
            "y MatrixDiagV3 x k m m f",
     KILN_ERR_SHAPE,
     {"a matrix of 0 rows and 0 columns is none"}},
    {"places_of_nothing",
     X("1,0,2,1") "p MaxPoolWithArgmax x ksize=l1,1,1,1 strides=l1,1,1,1 "
                  "padding=sVALID\ny Relu p",
     KILN_ERR_SHAPE,
     {"without a 0"}},
    {"where_of_a_number",
     "x Placeholder dtype=t1 shape=S\ny Where x",
     KILN_ERR_UNSUPPORTED,
     {"what is looked through must have an axis and an element"}},
};

static kiln_status import_bytes(kiln_str bytes, kiln_arena *a, kiln_graph **g,
                                kiln_err *err) {
    const kiln_frontend *const f = &kiln_frontend_tensorflow;
    kiln_import_report report;
    return f->import(a, bytes, "graph.pb", NULL, NULL, g, &report, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_status st = import_bytes(kiln_tf_graph_of(&a, r->graph), &a, &g, &err);
    for (int i = 0; i < 3 && r->text[i] != NULL; i++)
        kiln_assert_fails(st, r->want, &err, r->text[i]);
    kiln_assert_fails(st, r->want, &err, "importing 'graph.pb'");
    kiln_arena_fini(&a);
}

/* ---- mutations -------------------------------------------------------------------- */

/* What mutated files are made of: operators of every family. */
static const char *const seeds[] = {
    X("1,4,4,2") "w Const value=F2,2,2,2:1;2;3\nb Const value=F2:1;2\n"
                 "c Conv2D x w strides=l1,1,1,1 padding=sSAME dilations=l1,1,1,1 "
                 "data_format=sNHWC\na BiasAdd c b\nr Relu6 a\n"
                 "y MaxPool r ksize=l1,2,2,1 strides=l1,2,2,1 padding=sVALID",
    X("2,6") "s Shape x\nb Const value=I1:0\ne Const value=I1:1\n"
             "n StridedSlice s b e e shrink_axis_mask=i1\nr Const value=I:-1\n"
             "p Pack n r axis=i0 N=i2\nh Reshape x p\nk Const value=F6,3:1;2\n"
             "m MatMul h k transpose_b=bfalse\ny Softmax m",
    X("2,4") "d Const value=I:1\ns Split d x num_split=i2\ng Sigmoid s\nt Tanh s:1\n"
             "m Mul g t\na Const value=I:0\ny ConcatV2 m t a N=i2",
};

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    kiln_declared_input *in;
    kiln_model_survey survey;
    size_t n_in;
    (void)user;
    kiln_frontend_tensorflow.list_inputs(a, bytes, "graph.pb", &in, &n_in, NULL);
    kiln_frontend_tensorflow.survey(a, bytes, "graph.pb", &survey, NULL);
    return import_bytes(bytes, a, g, err);
}

static void mutations_end_in_a_named_error(void **state) {
    enum { N = sizeof seeds / sizeof seeds[0] };
    (void)state;
    for (size_t i = 0; i < N; i++) {
        const kiln_test_mutants m = {.file = "importing 'graph.pb'",
                                     .whole =
                                         kiln_tf_graph_of(kiln_test_arena(), seeds[i]),
                                     .import = import_mutant};
        kiln_test_mutants_end(&m, KILN_TEST_MUTANTS / N);
    }
}

/* ---- formats ---------------------------------------------------------------------- */

/* Other formats of protobuf are not taken for graphs, nor graphs for them. */
static void knows_its_own(void **state) {
    (void)state;
    static const char *const others[] = {"files/samplenet_onnx/samplenet.onnx",
                                         "files/samplenet_caffe/SampLeNet.caffemodel",
                                         "files/hourglass_mlmodel/hourglass.mlmodel"};
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_str own = kiln_tf_graph_of(a, seeds[0]);
    assert_true(kiln_frontend_tensorflow.sniff(own));
    assert_false(kiln_frontend_onnx.sniff(own));
    assert_false(kiln_frontend_tensorflow.sniff(KILN_STR_LIT("")));
    assert_false(kiln_frontend_tensorflow.sniff(KILN_STR_LIT("\x0a\x02\x0a\x00")));
    assert_false(kiln_frontend_tensorflow.sniff((kiln_str){own.p, own.n - 1}));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *const path = kiln_format(a, "../shared/models/%s", others[i]);
        kiln_str bytes;
        if (!kiln_file_exists(path))
            continue;
        kiln_assert_status_ok(kiln_file_map(a, path, 0, &bytes, &err), &err);
        if (kiln_frontend_tensorflow.sniff(bytes))
            fail_msg("'%s' is taken for a TensorFlow graph", path);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("mutations_end_in_a_named_error", mutations_end_in_a_named_error,
                  NULL);
    kiln_test_add("knows_its_own", knows_its_own, NULL);
    return kiln_test_run("tensorflow_malformed");
}
