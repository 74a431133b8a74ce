/* TensorFlow graphs as they are imported, run by the reference on 0, 1, 2, ...: numbers
 * of small graphs, worked out by hand. */
#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/tf_writer.h"

enum { MAX_WANT = 24 };

typedef struct row {
    const char *name;
    const char *graph;
    int rank; /* of the first output */
    int64_t dim[4];
    double want[MAX_WANT];
} row;

#define X(shape) "x Placeholder dtype=t1 shape=S" shape "\n"
#define AXIS(name, v) name " Const value=I:" v " dtype=t3\n"

#define BOXES                                                                          \
    "b Const value=F4,4:0;0;1;1;0;0;1;0.9;2;2;3;3;0;0;1;1\nm Const value=I:3\n"        \
    "t Const value=F:0.5\ns Const value=F:1.5\n"

#define CLASSES "c Const value=F1,4,2:.9;.1;.8;.7;.3;.6;.2;.95\n"
#define LIMITS(each, all, score)                                                       \
    "m Const value=I:" each "\nn Const value=I:" all "\nt Const value=F:0.5\n"         \
    "s Const value=F:" score "\n"
#define COMBINED(each, all, score)                                                     \
    X("1")                                                                             \
    "b Const value=F1,4,1,4:0;0;1;1;0;.1;1;1.1;0;.5;1;1.5;.2;.2;.4;.4\n" CLASSES       \
    LIMITS(each, all, score) "q CombinedNonMaxSuppression b c m n t s\n"

static row rows[] = {
    /* ---- references, constants */
    {"identity_of_a_control", X("2") "c NoOp\ny Identity x ^c", 1, {2}, {0, 1}},
    {"constant_is_filled_up",
     X("4") "c Const value=F4:5;7 dtype=t1\ny Add x c",
     1,
     {4},
     {5, 8, 9, 10}},
    {"constant_of_one_value",
     X("3") "c Const value=F3:5\ny Add x c",
     1,
     {3},
     {5, 6, 7}},
    {"constant_of_raw_bytes",
     X("2") "c Const value=C2:5;-7\ny Add x c",
     1,
     {2},
     {5, -6}},
    {"constant_of_zeros", X("2") "c Const value=F2:\ny Add x c", 1, {2}, {0, 1}},
    {"what_is_not_needed_is_not_read",
     X("2") "a Assert x ^x\nu Unheard x\nn NoOp ^u\ny Relu x",
     1,
     {2},
     {0, 1}},
    {"second_output",
     X("4") AXIS("d", "0") "s Split d x num_split=i2\ny Relu s:1",
     1,
     {2},
     {2, 3}},
    {"placeholder_with_default",
     X("2") "k Const value=F:3\np PlaceholderWithDefault k dtype=t1 shape=S\n"
            "y Mul x p",
     1,
     {2},
     {0, 3}},
    {"switch_takes_one_branch",
     X("2") "p Const value=I:1\ns Switch x p\nt Identity s:1\nf Identity s\n"
            "a Const value=F:10 ^t\nb Const value=F:20 ^f\nm Merge b a\n"
            "u Add s m\nv Mul s:1 m\nw Merge u v\ny Relu w",
     1,
     {2},
     {0, 10}},
    /* ---- spectra: of 0, 1, 2, 3 they are 6, -2 + 2i, -2 */
    {"sizes_of_a_spectrum",
     X("4") AXIS("l", "4") "f RFFT x l\ny ComplexAbs f",
     1,
     {3},
     {6, 2.8284271, 2}},
    {"imaginary_part_of_a_spectrum",
     X("4") AXIS("l", "4") "f RFFT x l\ny Imag f",
     1,
     {3},
     {0, 2, 0}},
    {"spectrum_of_what_is_filled_up",
     X("2") AXIS("l", "4") "f RFFT x l\ny Real f",
     1,
     {3},
     {1, 0, -1}},
    {"spectrum_and_back",
     X("4") AXIS("l", "4") "f RFFT x l\ny IRFFT f l",
     1,
     {4},
     {0, 1, 2, 3}},
    {"power_of_a_spectrum",
     X("4") AXIS("l", "4") "f RFFT x l\nc Conj f\np Mul f c\ny Real p",
     1,
     {3},
     {36, 8, 4}},
    {"spectrum_that_is_moved",
     X("4") AXIS("l", "4") "s Const value=I2:3;1 dtype=t3\nf RFFT x l\n"
                           "r Reshape f s\nd AddV2 r r\ny ComplexAbs d",
     2,
     {3, 1},
     {12, 5.6568542, 4}},
    {"spectrum_of_an_image",
     X("2,2") "l Const value=I2:2;2 dtype=t3\nf RFFT2D x l\ny Real f",
     2,
     {2, 2},
     {6, -2, -4, 0}},
    {"transform_of_complex_numbers",
     X("2") "z Complex x x\nf FFT z\nb IFFT f\ny Imag b",
     1,
     {2},
     {0, 1}},
    {"angle_of_complex_numbers",
     X("2") "o OnesLike x\nz Complex x o\ny Angle z",
     1,
     {2},
     {1.5707963, 0.7853982}},
    /* ---- suppression of boxes: the last box suppresses two of three others */
    {"suppression_fills_up_with_zeros",
     X("4") BOXES "q NonMaxSuppressionV4 b x m t s pad_to_max_output_size=btrue\n"
                  "y Cast q DstT=t1",
     1,
     {3},
     {3, 2, 0}},
    {"suppression_gives_scores",
     X("4") BOXES "g Const value=F:0\n"
                  "q NonMaxSuppressionV5 b x m t s g pad_to_max_output_size=btrue\n"
                  "y Relu q:1",
     1,
     {3},
     {3, 2, 0}},
    {"suppression_counts",
     X("4") BOXES "q NonMaxSuppressionV4 b x m t s pad_to_max_output_size=btrue\n"
                  "y Cast q:1 DstT=t1",
     0,
     {0},
     {2}},
    /* Scores of two classes for four boxes; the numbers are TensorFlow's. */
    {"combined_suppression_of_boxes",
     COMBINED("2", "3", "0.25") "y Relu q",
     3,
     {1, 3, 4},
     {0.2, 0.2, 0.4, 0.4, 0, 0, 1, 1, 0, 0.1, 1, 1}},
    {"combined_suppression_of_scores",
     COMBINED("2", "4", "0.25") "y Relu q:1",
     2,
     {1, 4},
     {0.95, 0.9, 0.7, 0.3}},
    {"combined_suppression_of_classes",
     COMBINED("1", "3", "0.25") "y Relu q:2",
     2,
     {1, 3},
     {1, 0, 0}},
    {"combined_suppression_counts",
     COMBINED("1", "3", "0.25") "y Cast q:3 DstT=t1",
     1,
     {1},
     {2}},
    {"combined_suppression_pads_a_class",
     X("1") "b Const "
            "value=F1,4,2,4:0;0;1;1;.2;.2;.4;.4;0;.1;1;1.1;0;.5;1;1.5;0;.5;1;1.5;0;.1;"
            "1;1.1;"
            ".2;.2;.4;.4;0;0;1;1\n" CLASSES LIMITS(
                "2", "5",
                "0.25") "q CombinedNonMaxSuppression b c m n t s pad_per_class=btrue "
                        "clip_boxes=bfalse\ny Add q x",
     3,
     {1, 4, 4},
     {0, 0, 1, 1, 0, 0, 1, 1, 0, 0.5, 1, 1.5, 0, 0.5, 1, 1.5}},
    {"combined_suppression_of_two_images",
     X("1") "b Const "
            "value=F2,4,1,4:0;0;1;1;0;.1;1;1.1;0;.5;1;1.5;.2;.2;.4;.4;0;0;1;1;0;.1;1;1."
            "1;"
            "0;.5;1;1.5;.2;.2;.4;.4\n"
            "c Const "
            "value=F2,4,2:.9;.1;.8;.7;.3;.6;.2;.95;.2;.95;.3;.6;.8;.7;.9;.1\n" LIMITS(
                "1", "3",
                "0.25") "q CombinedNonMaxSuppression b c m n t s\ny Add q:1 x",
     2,
     {2, 3},
     {0.95, 0.9, 0, 0.95, 0.9, 0}},
    /* ---- element by element */
    {"squared_difference",
     X("3") "c Const value=F:1\ny SquaredDifference x c",
     1,
     {3},
     {1, 0, 1}},
    {"div_no_nan", X("3") "c Const value=F:6\ny DivNoNan c x", 1, {3}, {0, 6, 3}},
    {"floor_div_of_floats",
     X("3") "c Const value=F:-2\ny FloorDiv x c",
     1,
     {3},
     {0, -1, -1}},
    {"floor_div_of_integers",
     X("4") "i Cast x DstT=t3 SrcT=t1\nc Const value=I:-3\nd FloorDiv i c\n"
            "y Cast d DstT=t1",
     1,
     {4},
     {0, -1, -1, -1}},
    {"floor_mod", X("4") "c Const value=F:-3\ny FloorMod x c", 1, {4}, {0, -2, -1, 0}},
    {"expm1", X("2") "y Expm1 x", 1, {2}, {0, 1.718281828459045}},
    {"log1p", X("3") "y Log1p x", 1, {3}, {0, 0.6931471805599453, 1.0986122886681098}},
    {"relu6", X("8") "y Relu6 x", 1, {8}, {0, 1, 2, 3, 4, 5, 6, 6}},
    {"leaky_relu_has_its_own_default",
     X("2") "m Neg x\ny LeakyRelu m",
     1,
     {2},
     {0, -0.2}},
    {"not_equal_selects",
     X("3") "c Const value=F:1\nd NotEqual x c\nz ZerosLike x\ny Select d x z",
     1,
     {3},
     {0, 0, 2}},
    {"select_of_rows",
     X("2,2") "o Const value=F2:0;1\nc Const value=F2:1;1\nd Equal o c\nn Neg x\n"
              "y Select d x n",
     2,
     {2, 2},
     {0, -1, 2, 3}},
    {"clip_by_value",
     X("4") "l Const value=F:1\nh Const value=F:2\ny ClipByValue x l h",
     1,
     {4},
     {1, 1, 2, 2}},
    {"add_n", X("2") "y AddN x x x N=i3", 1, {2}, {0, 3}},
    /* ---- reductions */
    {"mean_of_one_axis",
     X("2,3") AXIS("a", "-1") "y Mean x a keep_dims=btrue",
     2,
     {2, 1},
     {1, 4}},
    {"sum_over_no_axis", X("2") "a Const value=I0:\ny Sum x a", 1, {2}, {0, 1}},
    {"any",
     X("2,2") "c Const value=F:2\ng Greater x c\na Const value=I:1\nb Any g a\n"
              "y Cast b DstT=t1",
     1,
     {2},
     {0, 1}},
    {"argmax",
     X("2,3") AXIS("a", "1") "m ArgMax x a\ny Cast m DstT=t1",
     1,
     {2},
     {2, 2}},
    {"cumsum_backwards",
     X("3") AXIS("a", "0") "y Cumsum x a exclusive=btrue reverse=btrue",
     1,
     {3},
     {3, 2, 0}},
    {"top_k",
     X("4") AXIS("k", "2") "t TopKV2 x k sorted=btrue\ni Cast t:1 DstT=t1\n"
                           "y Add t i",
     1,
     {2},
     {6, 4}},
    /* ---- shapes */
    {"reshape_by_its_own_shape",
     X("2,3") "s Shape x\nb Const value=I1:0\ne Const value=I1:1\no Const value=I1:1\n"
              "n StridedSlice s b e o shrink_axis_mask=i1\nr Const value=I:-1\n"
              "p Pack r n axis=i0 N=i2\ny Reshape x p",
     2,
     {3, 2},
     {0, 1, 2, 3, 4, 5}},
    {"expand_and_squeeze",
     X("2") AXIS("a", "-1") "e ExpandDims x a\nf ExpandDims e a\n"
                            "y Squeeze f squeeze_dims=l-1",
     2,
     {2, 1},
     {0, 1}},
    {"fill",
     X("2") "d Const value=I2:2,2\n"
            "s Const value=I2:2;2\nv Const value=F:7\n"
            "f Fill s v\ny Add f x",
     2,
     {2, 2},
     {7, 8, 7, 8}},
    {"range",
     X("3") "a Const value=I:1\nb Const value=I:8\nd Const value=I:3\nr Range a b d\n"
            "c Cast r DstT=t1\ny Add x c",
     1,
     {3},
     {1, 5, 9}},
    {"size_and_rank",
     X("2,2") "s Size x\nr Rank x\nm Mul s r\nc Cast m DstT=t1\ny Add x c",
     2,
     {2, 2},
     {8, 9, 10, 11}},
    /* ---- moves */
    {"transpose",
     X("2,3") "p Const value=I2:1;0\ny Transpose x p",
     2,
     {3, 2},
     {0, 3, 1, 4, 2, 5}},
    {"concat", X("2") AXIS("a", "0") "y ConcatV2 x x a N=i2", 1, {4}, {0, 1, 0, 1}},
    {"pack_behind", X("2") "y Pack x x axis=i-1 N=i2", 2, {2, 2}, {0, 0, 1, 1}},
    {"unpack", X("2,2") "u Unpack x num=i2 axis=i1\ny Sub u:1 u", 1, {2}, {1, 1}},
    {"split_with_a_rest",
     X("5") "s Const value=I2:2;-1\na Const value=I:0\nv SplitV x s a num_split=i2\n"
            "y Relu v:1",
     1,
     {3},
     {2, 3, 4}},
    {"pad_with_a_value",
     X("2") "p Const value=I1,2:1;2\nv Const value=F:9\ny PadV2 x p v",
     1,
     {5},
     {9, 0, 1, 9, 9}},
    {"mirror_pad_reflects",
     X("3") "p Const value=I1,2:2;1\ny MirrorPad x p mode=sREFLECT",
     1,
     {6},
     {2, 1, 0, 1, 2, 1}},
    {"mirror_pad_repeats_the_edge",
     X("3") "p Const value=I1,2:2;1\ny MirrorPad x p mode=sSYMMETRIC",
     1,
     {6},
     {1, 0, 0, 1, 2, 2}},
    {"tile", X("2") "m Const value=I1:2\ny Tile x m", 1, {4}, {0, 1, 0, 1}},
    {"reverse", X("3") "a Const value=I1:0\ny ReverseV2 x a", 1, {3}, {2, 1, 0}},
    {"gather",
     X("2,2") "i Const value=I2:1;0\na Const value=I:1\ny GatherV2 x i a",
     2,
     {2, 2},
     {1, 0, 3, 2}},
    {"gather_of_batches",
     X("2,2") "i Const value=I2,1:1;0\na Const value=I:1\n"
              "y GatherV2 x i a batch_dims=i1",
     2,
     {2, 1},
     {1, 2}},
    {"tensor_scatter_update",
     X("3") "i Const value=I1,1:1\nu Const value=F1:9\ny TensorScatterUpdate x i u",
     1,
     {3},
     {0, 9, 2}},
    {"matrix_band_part",
     X("2,3") "l Const value=I:0\nu Const value=I:1\ny MatrixBandPart x l u",
     2,
     {2, 3},
     {0, 1, 0, 0, 4, 5}},
    {"roll",
     X("4") "s Const value=I:1\na Const value=I:0\ny Roll x s a",
     1,
     {4},
     {3, 0, 1, 2}},
    {"lin_space",
     X("3") "a Const value=F:1\nb Const value=F:2\nn Const value=I:3\n"
            "l LinSpace a b n\ny Add x l",
     1,
     {3},
     {1, 2.5, 4}},
    {"inverse_of_a_permutation",
     X("2,3,1") "p Const value=I3:1;2;0\nq InvertPermutation p\nt Transpose x p\n"
                "y Transpose t q",
     3,
     {2, 3, 1},
     {0, 1, 2, 3, 4, 5}},
    {"broadcast_of_two_shapes",
     X("2,1") "o Const value=I2:1;2\ns Shape x\nb BroadcastArgs s o\n"
              "y BroadcastTo x b",
     2,
     {2, 2},
     {0, 0, 1, 1}},
    {"euclidean_norm",
     X("2,2") "a Const value=I:0\ny EuclideanNorm x a",
     1,
     {2},
     {2, 3.1622777}},
    {"one_hot",
     X("2") "i Const value=I2:1;0\nd Const value=I:2\no Const value=F:5\n"
            "f Const value=F:1\nh OneHot i d o f\ny Add h x",
     2,
     {2, 2},
     {1, 6, 5, 2}},
    /* ---- slices */
    {"slice_to_the_end",
     X("2,3") "b Const value=I2:0;1\ns Const value=I2:1;-1\ny Slice x b s",
     2,
     {1, 2},
     {1, 2}},
    {"strided_slice_backwards",
     X("5") "b Const value=I1:-1\ne Const value=I1:0\ns Const value=I1:-2\n"
            "y StridedSlice x b e s end_mask=i1",
     1,
     {3},
     {4, 2, 0}},
    {"strided_slice_of_everything",
     X("2,3") "b Const value=I3:0;0;1\ne Const value=I3:0;0;3\ns Const value=I3:1;1;1\n"
              "y StridedSlice x b e s ellipsis_mask=i1 new_axis_mask=i2",
     3,
     {2, 1, 2},
     {1, 2, 4, 5}},
    {"strided_slice_shrinks",
     X("2,3") "b Const value=I2:1;0\ne Const value=I2:2;9\ns Const value=I2:1;2\n"
              "y StridedSlice x b e s shrink_axis_mask=i1",
     1,
     {2},
     {3, 5}},
    {"strided_slice_of_nothing",
     X("3") "b Const value=I1:2\ne Const value=I1:1\ns Const value=I1:1\n"
            "y StridedSlice x b e s",
     1,
     {0},
     {0}},
    /* ---- products */
    {"matmul_of_a_transpose",
     X("2,2") "w Const value=F1,2:1;10\ny MatMul x w transpose_a=bfalse "
              "transpose_b=btrue",
     2,
     {2, 1},
     {10, 32}},
    {"matmul_transposes_both",
     X("2,1") "w Const value=F3,2:1;2;3;4;5;6\ny MatMul x w transpose_a=btrue "
              "transpose_b=btrue",
     2,
     {1, 3},
     {2, 4, 6}},
    {"einsum_of_a_transpose",
     X("2,2") "w Const value=F1,2:1;10\ny Einsum x w equation=sij,kj->ki",
     2,
     {1, 2},
     {10, 32}},
    {"batch_matmul",
     X("2,1,2") "y BatchMatMulV2 x x adj_x=bfalse adj_y=btrue",
     3,
     {2, 1, 1},
     {1, 13}},
    /* ---- windows */
    {"conv_same_pads_the_end",
     X("1,2,2,1") "w Const value=F2,2,1,1:1;1;1;1\n"
                  "y Conv2D x w strides=l1,1,1,1 padding=sSAME data_format=sNHWC",
     4,
     {1, 2, 2, 1},
     {6, 4, 5, 3}},
    {"conv_with_channels_first",
     X("1,2,1,2") "w Const value=F1,1,2,1:1;10\n"
                  "y Conv2D x w strides=l1,1,1,1 padding=sVALID data_format=sNCHW",
     4,
     {1, 1, 1, 2},
     {20, 31}},
    {"conv_with_given_pads",
     X("1,1,2,1") "w Const value=F1,1,1,1:2\ny Conv2D x w strides=l1,1,2,1 "
                  "padding=sEXPLICIT explicit_paddings=l0,0,0,0,1,2,0,0",
     4,
     {1, 1, 3, 1},
     {0, 2, 0}},
    {"depthwise_conv_with_a_multiplier",
     X("1,1,1,2") "w Const value=F1,1,2,2:1;2;3;4\n"
                  "y DepthwiseConv2dNative x w strides=l1,1,1,1 padding=sVALID",
     4,
     {1, 1, 1, 4},
     {0, 0, 3, 4}},
    {"conv_backprop_makes_it_large",
     X("1,1,2,1") "s Const value=I4:1;1;4;1\nw Const value=F1,2,1,1:1;10\n"
                  "y Conv2DBackpropInput s w x strides=l1,1,2,1 padding=sSAME",
     4,
     {1, 1, 4, 1},
     {0, 0, 1, 10}},
    {"bias_of_channels_first",
     X("1,2,2") "b Const value=F2:10;20\ny BiasAdd x b data_format=sNCHW",
     3,
     {1, 2, 2},
     {10, 11, 22, 23}},
    {"batch_norm",
     X("1,1,1,2") "s Const value=F2:2;2\no Const value=F2:1;1\nm Const value=F2:0;1\n"
                  "v Const value=F2:0.75;0.75\ny FusedBatchNormV3 x s o m v "
                  "is_training=bfalse epsilon=f0.25",
     4,
     {1, 1, 1, 2},
     {1, 1}},
    {"average_pool_counts_no_padding",
     X("1,1,3,1") "y AvgPool x ksize=l1,1,2,1 strides=l1,1,2,1 padding=sSAME",
     4,
     {1, 1, 2, 1},
     {0.5, 2}},
    {"max_pool_by_operands",
     X("1,1,4,1") "k Const value=I4:1;1;2;1\ns Const value=I4:1;1;2;1\n"
                  "y MaxPoolV2 x k s padding=sVALID",
     4,
     {1, 1, 2, 1},
     {1, 3}},
    {"resize_from_the_corner",
     X("1,1,2,1") "s Const value=I2:1;4\ny ResizeBilinear x s",
     4,
     {1, 1, 4, 1},
     {0, 0.5, 1, 1}},
    {"resize_of_half_pixels",
     X("1,1,2,1") "s Const value=I2:1;4\ny ResizeBilinear x s half_pixel_centers=btrue",
     4,
     {1, 1, 4, 1},
     {0, 0.25, 0.75, 1}},
    {"resize_to_corners",
     X("1,1,2,1") "s Const value=I2:1;3\ny ResizeNearestNeighbor x s "
                  "align_corners=btrue",
     4,
     {1, 1, 3, 1},
     {0, 1, 1}},
    {"space_to_depth",
     X("1,2,2,1") "y SpaceToDepth x block_size=i2",
     4,
     {1, 1, 1, 4},
     {0, 1, 2, 3}},
    {"depth_to_space",
     X("1,1,1,4") "y DepthToSpace x block_size=i2",
     4,
     {1, 2, 2, 1},
     {0, 1, 2, 3}},
    {"space_to_batch",
     X("1,4,1") "b Const value=I1:2\np Const value=I1,2:1;1\ny SpaceToBatchND x b p",
     3,
     {2, 3, 1},
     {0, 1, 3, 0, 2, 0}},
    {"batch_to_space",
     X("2,3,1") "b Const value=I1:2\nc Const value=I1,2:1;1\ny BatchToSpaceND x b c",
     3,
     {1, 4, 1},
     {3, 1, 4, 2}},
    {"lrn_adds_its_channels",
     X("1,1,1,2") "y LRN x depth_radius=i1 bias=f3 alpha=f1 beta=f0.5",
     4,
     {1, 1, 1, 2},
     {0, 0.5}},
    {"softmax", X("1,2") "z Sub x x\ny Softmax z", 2, {1, 2}, {0.5, 0.5}},
    /* ---- rounded as training does it; these numbers and those of images and diagonals
     * are TensorFlow's */
    {"fake_quant_of_a_range",
     X("6") "o Const value=F:1\ns Sub x o\n"
            "y FakeQuantWithMinMaxArgs s min=f-1 max=f3 num_bits=i4",
     1,
     {6},
     {-1.06666672, 0, 1.06666672, 2.13333344, 2.9333334, 2.9333334}},
    {"fake_quant_leaves_out_the_lowest_step",
     X("6") "m Const value=F:0.37\no Const value=F:1\nt Mul x m\ns Sub t o\n"
            "y FakeQuantWithMinMaxArgs s min=f-0.9 max=f1.2 num_bits=i3 "
            "narrow_range=btrue",
     1,
     {6},
     {-1.04999995, -0.699999988, -0.349999994, 0, 0.349999994, 0.699999988}},
    {"fake_quant_of_variables",
     X("6") "m Const value=F:0.3\nt Mul x m\na Const value=F:-0.2\n"
            "b Const value=F:1\ny FakeQuantWithMinMaxVars t a b num_bits=i8",
     1,
     {6},
     {0, 0.301176488, 0.602352977, 0.898823559, 0.997647107, 0.997647107}},
    {"fake_quant_of_nothing",
     X("3") "a Const value=F:0\ny FakeQuantWithMinMaxVars x a a",
     1,
     {3},
     {0, 0, 0}},
    {"fake_quant_of_channels",
     X("2,3") "a Const value=F3:-1;0;-0.5\nb Const value=F3:1;7;4.2\n"
              "y FakeQuantWithMinMaxVarsPerChannel x a b num_bits=i3",
     2,
     {2, 3},
     {0, 1, 2.01428556, 1.14285719, 4, 4.02857113}},
    {"crop_of_two_images",
     X("2,3,3,1") "b Const value=F2,4:0;0;1;1;0.25;0.25;0.75;1.2\n"
                  "i Const value=I2:1;0\ns Const value=I2:2;3\n"
                  "y CropAndResize x b i s extrapolation_value=f-9",
     4,
     {2, 2, 3, 1},
     {9, 10, 11, 15, 16, 17, 2, 2.94999981, -9, 5, 5.94999981, -9}},
    {"crop_upside_down_to_the_nearest",
     X("1,3,4,1") "b Const value=F1,4:0.9;1;0.1;0\ni Const value=I1:0\n"
                  "s Const value=I2:3;2\ny CropAndResize x b i s method=snearest",
     4,
     {1, 3, 2, 1},
     {11, 8, 7, 4, 3, 0}},
    {"crop_of_one_pixel_is_the_middle",
     X("1,3,4,1") "b Const value=F1,4:0;0.2;1;0.7\ni Const value=I1:0\n"
                  "s Const value=I2:1;1\ny CropAndResize x b i s",
     4,
     {1, 1, 1, 1},
     {5.3499999}},
    {"bicubic_from_the_corner",
     X("1,2,3,1") "s Const value=I2:3;5\ny ResizeBicubic x s",
     4,
     {1, 3, 5, 1},
     {0, 0.503601611, 1.27224016, 1.8478477, 2.10796475, 2.05661345, 2.56021476,
      3.32885361, 3.90446115, 4.16457844, 3.33333302, 3.8369348, 4.60557365, 5.18118095,
      5.44129801}},
    {"bicubic_of_half_pixels",
     X("1,2,3,1") "s Const value=I2:3;5\ny ResizeBicubic x s half_pixel_centers=btrue",
     4,
     {1, 3, 5, 1},
     {-0.273192048, 0.108696617, 0.802333415, 1.49597025, 1.87785888, 1.42447436,
      1.80636322, 2.5, 3.19363689, 3.57552552, 3.12214041, 3.50402927, 4.19766617,
      4.89130306, 5.27319193}},
    {"bicubic_to_corners",
     X("1,2,3,1") "s Const value=I2:1;4\ny ResizeBicubic x s align_corners=btrue",
     4,
     {1, 1, 4, 1},
     {0, 0.57442677, 1.42557335, 2}},
    {"matrix_of_a_diagonal",
     X("2,2") "y MatrixDiag x",
     3,
     {2, 2, 2},
     {0, 0, 0, 1, 2, 0, 0, 3}},
    {"matrix_of_a_diagonal_above",
     X("2") "k Const value=I:1\nm Const value=I:-1\nf Const value=F:7\n"
            "y MatrixDiagV3 x k m m f align=sRIGHT_LEFT",
     2,
     {3, 3},
     {7, 0, 7, 7, 7, 1, 7, 7, 7}},
    {"matrix_of_a_diagonal_below",
     X("2") "k Const value=I:-1\nm Const value=I:-1\nn Const value=I:3\n"
            "f Const value=F:7\ny MatrixDiagV3 x k m n f",
     2,
     {3, 3},
     {7, 7, 7, 0, 7, 7, 7, 1, 7}},
    {"matrix_taller_than_its_diagonal",
     X("2") "k Const value=I2:0;0\nm Const value=I:4\nn Const value=I:-1\n"
            "f Const value=F:7\ny MatrixDiagV2 x k m n f",
     2,
     {4, 2},
     {0, 7, 7, 1, 7, 7, 7, 7}},
    {"diagonal_is_set",
     X("2,3") "d Const value=F2:8;9\ny MatrixSetDiag x d",
     2,
     {2, 3},
     {8, 1, 2, 3, 9, 5}},
    {"diagonal_below_is_set",
     X("3,2") "d Const value=F2:8;9\nk Const value=I:-1\ny MatrixSetDiagV3 x d k",
     2,
     {3, 2},
     {0, 1, 8, 3, 4, 9}},
    {"diagonal_above_is_set",
     X("2,3") "d Const value=F1:8\nk Const value=I:2\ny MatrixSetDiagV2 x d k",
     2,
     {2, 3},
     {0, 1, 8, 3, 4, 5}},
    {"diagonals_are_taken", X("2,2,2") "y MatrixDiagPart x", 2, {2, 2}, {0, 3, 4, 7}},
    {"diagonal_below_is_taken",
     X("3,2") "k Const value=I:-1\nf Const value=F:0\ny MatrixDiagPartV3 x k f",
     1,
     {2},
     {2, 5}},
    {"diagonal_above_is_taken",
     X("2,4") "k Const value=I:2\nf Const value=F:0\ny MatrixDiagPartV2 x k f",
     1,
     {2},
     {2, 7}},
    {"places_of_the_largest",
     X("2,3,3,1") "n Neg x\nk Const value=F:7\nm FloorMod n k\n"
                  "p MaxPoolWithArgmax m ksize=l1,2,2,1 strides=l1,2,2,1 "
                  "padding=sSAME\n"
                  "y Cast p:1 DstT=t1",
     4,
     {2, 2, 2, 1},
     {1, 2, 6, 8, 0, 2, 6, 8}},
    {"places_of_the_largest_in_all_images",
     X("2,3,3,1") "n Neg x\nk Const value=F:7\nm FloorMod n k\n"
                  "p MaxPoolWithArgmax m ksize=l1,2,2,1 strides=l1,2,2,1 padding=sSAME "
                  "include_batch_in_index=btrue\ny Cast p:1 DstT=t1",
     4,
     {2, 2, 2, 1},
     {1, 2, 6, 8, 9, 11, 15, 17}},
    {"places_count_channels",
     X("1,2,2,2") "n Neg x\np MaxPoolWithArgmax n ksize=l1,2,1,1 strides=l1,1,1,1 "
                  "padding=sVALID\nc Cast p:1 DstT=t1\ny Sub c p",
     4,
     {1, 1, 2, 2},
     {0, 2, 4, 6}},
};

static kiln_status import(const char *text, const kiln_import_options *o,
                          kiln_graph **g, kiln_import_report *report, kiln_err *err) {
    kiln_arena *const a = kiln_test_arena();
    const kiln_str bytes = kiln_tf_graph_of(a, text);
    const char *const path = kiln_path_join(a, kiln_test_dir(), "graph.pb");
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, err), err);
    return kiln_import(a, path, o, g, report, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(import(r->graph, NULL, &g, NULL, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->inputs.n, 1);
    const kiln_type *const t = &g->inputs.v[0]->type;
    const kiln_tensor in = kiln_tensor_new(a, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        ((float *)in.data)[i] = (float)i;
    kiln_tensor *const out = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    assert_string_equal(g->output_names.v[0], "y");
    assert_int_equal(out[0].type.dtype, KILN_F32);
    assert_int_equal(out[0].type.rank, r->rank);
    for (int i = 0; i < r->rank; i++)
        assert_int_equal(out[0].type.dim[i], r->dim[i]);
    const size_t n = (size_t)kiln_type_elems(&out[0].type);
    float want[MAX_WANT];
    for (size_t i = 0; i < n; i++)
        want[i] = (float)r->want[i];
    kiln_assert_close(out[0].data, want, n, 2, 1e-7);
}

/* ---- inputs and outputs ----------------------------------------------------------- */

static void binds_what_is_dynamic(void **state) {
    (void)state;
    static const char text[] = "x Placeholder dtype=t1 shape=S-1,3\n"
                               "z Placeholder dtype=t1\ny Add x z";
    const kiln_shape_binding shapes[] = {{"x", 2, {2, 3}}, {"z", 0, {0}}};
    const kiln_import_options o = {.shapes = shapes, .n_shapes = 2};
    const kiln_import_options wrong = {.shapes = &(kiln_shape_binding){"x", 1, {3}},
                                       .n_shapes = 1};
    const kiln_import_options unknown = {.shapes = &(kiln_shape_binding){"q", 1, {3}},
                                         .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    kiln_assert_fails(import(text, NULL, &g, &report, &err), KILN_ERR_SHAPE, &err,
                      "2 graph inputs are dynamic: 'x' [?,3], 'z' of any rank; bind "
                      "them, for example --shape x:1x3 --shape z:1");
    assert_int_equal(report.n_unbound, 2);
    kiln_err_clear(&err);
    kiln_assert_fails(import(text, &wrong, &g, NULL, &err), KILN_ERR_SHAPE, &err,
                      "its shape is declared as [?,3], but [3] is given");
    kiln_err_clear(&err);
    kiln_assert_fails(import(text, &unknown, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "names 'q', which is no graph input; the inputs are: 'x' 'z'");
    kiln_err_clear(&err);
    kiln_assert_status_ok(import(text, &o, &g, &report, &err), &err);
    assert_int_equal(g->outputs.v[0]->type.dim[0], 2);
    assert_string_equal(report.format, "tensorflow");
    assert_int_equal(report.n_imported, 1);
}

/* What has a default, or no axes, is not asked for; of what has no shape, its name says
 * what it is. */
static void asks_for_what_is_needed(void **state) {
    (void)state;
    static const char text[] =
        "x Placeholder dtype=t1 shape=S-1,3\nr Placeholder dtype=t1 shape=S\n"
        "c Const value=F:1\nd PlaceholderWithDefault c dtype=t1\n"
        "net/Keep_Prob Placeholder dtype=t1\np Mul x r\nq Mul p d\n"
        "y RealDiv q net/Keep_Prob";
    const kiln_shape_binding shape = {"x", 2, {1, 3}};
    float one = 1;
    const kiln_type scalar = kiln_type_make(KILN_F32, 0, NULL);
    const kiln_value_binding value = {"net/Keep_Prob", {scalar, &one}};
    const kiln_import_options o = {
        .shapes = &shape, .n_shapes = 1, .values = &value, .n_values = 1};
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    kiln_assert_fails(import(text, NULL, &g, &report, &err), KILN_ERR_SHAPE, &err,
                      "2 graph inputs are dynamic: 'x' [?,3], 'net/Keep_Prob' of any "
                      "rank; bind them, for example --shape x:1x3 --bind "
                      "net/Keep_Prob=1");
    kiln_err_clear(&err);
    kiln_assert_status_ok(import(text, &o, &g, &report, &err), &err);
    assert_int_equal(g->inputs.n, 2);
}

static void names_all_outputs(void **state) {
    (void)state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(import(X("4") AXIS("d", "0") "s Split d x num_split=i2\n"
                                                       "r Relu x",
                                 NULL, &g, NULL, &err),
                          &err);
    assert_int_equal(g->outputs.n, 3);
    assert_string_equal(g->output_names.v[0], "s");
    assert_string_equal(g->output_names.v[1], "s:1");
    assert_string_equal(g->output_names.v[2], "r");
}

static void says_what_it_is(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const kiln_str bytes = kiln_tf_graph_of(
        a, "x Placeholder dtype=t1 shape=S-1,3\ns Placeholder dtype=t7\n"
           "w Const value=F3,2:1\nm MatMul x w\ny Unheard m s");
    const char *const path = kiln_path_join(a, kiln_test_dir(), "survey.pb");
    kiln_model_survey m;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_import_survey(a, path, &m, &err), &err);
    assert_string_equal(m.format, "tensorflow");
    assert_int_equal(m.n_inputs, 2);
    assert_string_equal(m.input[0].name, "x");
    assert_int_equal(m.input[0].rank, 2);
    assert_int_equal(m.input[0].dim[0], -1);
    assert_false(m.input[1].has_type);
    assert_string_equal(m.input[1].what, "a tensor of STRING");
    assert_int_equal(m.n_outputs, 1);
    assert_int_equal(m.n_params, 6);
    assert_int_equal(m.op.n, 4);
    assert_string_equal(m.op.v[3].op, "Unheard");
    assert_false(m.op.v[3].is_read);
}

static void refuses_complex_numbers_elsewhere(void **state) {
    (void)state;
    static const char *const text[][2] = {
        {X("4") AXIS("l", "4") "f RFFT x l\ny Relu f",
         "the operator is not read with complex numbers"},
        {X("4") AXIS("l", "4") "y RFFT x l", "output 'y' is complex"},
        {X("4") "y Real x", "input 0 must be complex"},
    };
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        kiln_graph *g = NULL;
        kiln_err err = {0};
        const kiln_status st = import(text[i][0], NULL, &g, NULL, &err);
        assert_int_not_equal(st, KILN_OK);
        kiln_assert_fails(st, st, &err, text[i][1]);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("refuses_complex_numbers_elsewhere",
                  refuses_complex_numbers_elsewhere, NULL);
    kiln_test_add("binds_what_is_dynamic", binds_what_is_dynamic, NULL);
    kiln_test_add("asks_for_what_is_needed", asks_for_what_is_needed, NULL);
    kiln_test_add("names_all_outputs", names_all_outputs, NULL);
    kiln_test_add("says_what_it_is", says_what_it_is, NULL);
    return kiln_test_run("tensorflow_import");
}
