/* Functions of keras.ops in a model's code, as Keras 3 writes them: of x = 0, 1, 2, ... in
 * two lines of three. Numbers are worked out by hand. */
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/keras_model.h"

#include <math.h>

enum { MAX_WANT = 12 };

typedef struct function_row {
    const char *name, *kind; /* the class */
    const char *config;      /* its members */
    const char *args;
    const char *shape; /* NULL: it fails */
    double want[MAX_WANT];
    const char *says; /* how */
    double less;      /* than x */
} function_row;

#define OPS "'module': 'keras.src.ops.numpy', "
#define X_OF(layer)                                                                    \
    "{'class_name': '__keras_tensor__', 'config': {'keras_history': ['" layer          \
    "', 0, 0]}}"
#define X X_OF("x")
static function_row function_rows[] = {
    {"true_divide", "TrueDivide", "", X ", 4.0", "[2,3]",
     .want = {0, .25, .5, .75, 1, 1.25}},
    {"divides_a_number", "Divide", "", "2, " X, "[2,3]",
     .want = {2, 1, 2.0 / 3, 0.5, 0.4, 1.0 / 3}, .less = -1},
    {"power", "Power", "", X ", 2", "[2,3]", .want = {0, 1, 4, 9, 16, 25}},
    {"square", "Square", "", X, "[2,3]", .want = {0, 1, 4, 9, 16, 25}},
    {"negative", "Negative", "", X, "[2,3]", .want = {0, -1, -2, -3, -4, -5}},
    {"clip", "Clip", ", 'x_min': 1.5, 'x_max': 4", X, "[2,3]",
     .want = {1.5, 1.5, 2, 3, 4, 4}},
    {"mean_of_one_axis", "Mean", ", 'axis': -1", X, "[2]", .want = {1, 4}},
    {"sum_of_a_list_of_axes", "Sum", ", 'axis': [0, 1], 'keepdims': true", X, "[1,1]",
     .want = {15}},
    {"max_of_all", "Max", "", X, "[]", .want = {5}},
    {"reduces_no_axis", "Sum", ", 'axis': []", X, "[2,3]", .want = {0, 1, 2, 3, 4, 5}},
    {"reshape_with_the_batch", "Reshape", ", 'newshape': [-1, 2]", X, "[3,2]",
     .want = {0, 1, 2, 3, 4, 5}},
    {"transpose", "Transpose", ", 'axes': [1, 0]", X, "[3,2]",
     .want = {0, 3, 1, 4, 2, 5}},
    {"transpose_backwards", "Transpose", "", X, "[3,2]", .want = {0, 3, 1, 4, 2, 5}},
    {"expand_dims", "ExpandDims", ", 'axis': [-1, 0]", X, "[1,2,3,1]",
     .want = {0, 1, 2, 3, 4, 5}},
    {"concatenate", "Concatenate", ", 'axis': 0", "[" X "]", "[2,3]",
     .want = {0, 1, 2, 3, 4, 5}},
    {"stack", "Stack", ", 'axis': 0", "[" X "]", "[1,2,3]", .want = {0, 1, 2, 3, 4, 5}},
    {"sums_along_an_axis", "Cumsum", ", 'axis': 1, 'dtype': null", X, "[2,3]",
     .want = {0, 1, 3, 3, 7, 12}},
    {"sums_of_all_in_a_row", "Cumsum", ", 'axis': null", X, "[6]",
     .want = {0, 1, 3, 6, 10, 15}},
    {"products_as_integers", "Cumprod", ", 'axis': 0, 'dtype': 'int32'", X, "[2,3]",
     .want = {1, 2, 3, 4, 10, 18}, .less = -1},
    {"kinds", "OneHot",
     ", 'num_classes': 2, 'axis': -1, 'dtype': 'int32', 'sparse': false", X, "[2,3,2]",
     .want = {1, 0, 0, 1, 0, 0, 0, 0}},
    {"refuses_sparse_kinds", "OneHot", ", 'num_classes': 2, 'sparse': true", X,
     .says = "'sparse' is not read"},
    {"the_largest_ones", "TopK", ", 'k': 2, 'sorted': true", X, "[2,2]",
     .want = {2, 1, 5, 4}},
    {"backwards_along_all", "Flip", ", 'axis': null", X, "[2,3]",
     .want = {5, 4, 3, 2, 1, 0}},
    {"backwards_along_one", "Flip", ", 'axis': 1", X, "[2,3]",
     .want = {2, 1, 0, 5, 4, 3}},
    {"lines_twice", "Repeat", ", 'repeats': [0, 2], 'axis': 0", X, "[2,3]",
     .want = {3, 4, 5, 3, 4, 5}},
    {"length_of_lines", "Norm", ", 'ord': 1, 'axis': [1], 'keepdims': true", X, "[2,1]",
     .want = {3, 12}},
    {"length_of_all", "Norm", ", 'ord': null, 'axis': null", X, "[]",
     .want = {7.4161985}},
    {"refuses_norms_of_matrices", "Norm", ", 'ord': 1, 'axis': null", X,
     .says = "'ord' is not read"},
    {"in_order", "Sort", ", 'axis': 1", X_OF("n"), "[2,3]",
     .want = {-2, -1, 0, -5, -4, -3}},
    {"all_in_order", "Sort", ", 'axis': null", X_OF("n"), "[6]",
     .want = {-5, -4, -3, -2, -1, 0}},
    {"places_of_the_order", "Argsort", ", 'axis': 0", X_OF("n"), "[2,3]",
     .want = {1, 1, 1, 0, 0, 0}},
    {"place_of_the_largest", "Argmax", ", 'axis': 1, 'keepdims': true", X, "[2,1]",
     .want = {2, 2}},
    {"place_among_all", "Argmin", ", 'axis': null, 'keepdims': false", X_OF("n"), "[]",
     .want = {5}},
    {"turned_along_an_axis", "Roll", ", 'shift': 1, 'axis': 1", X, "[2,3]",
     .want = {2, 0, 1, 5, 3, 4}},
    {"picked_in_a_row", "Take", ", 'axis': null", X ", " X, "[2,3]",
     .want = {0, 1, 2, 3, 4, 5}},
    {"log1p_near_0", "Log1p", "", X_OF("s"), "[2,3]",
     .want = {0, 1e-10, 2e-10, 3e-10, 4e-10, 5e-10}},
    {"expm1_near_0", "Expm1", "", X_OF("s"), "[2,3]",
     .want = {0, 1e-10, 2e-10, 3e-10, 4e-10, 5e-10}},
    {"log2", "Log2", "", X, "[2,3]", .want = {0, 1, 1.5849625, 2, 2.3219281, 2.5849625},
     .less = -1},
    {"round", "Round", ", 'decimals': 0", X, "[2,3]", .want = {0, 0, 2, 2, 4, 4},
     .less = .5},
    {"refuses_decimals", "Round", ", 'decimals': 2", X,
     .says = "'decimals' is not read"},
    {"deviation", "Std", ", 'axis': 1, 'keepdims': false", X, "[2]",
     .want = {.8164966, .8164966}},
    {"log_softmax", "LogSoftmax", ", 'axis': -1", X, "[2,3]",
     .want = {-2.4076059, -1.4076059, -.4076059, -2.4076059, -1.4076059, -.4076059}},
    {"tensordot_of_lists", "Tensordot", ", 'axes': [[1], [1]]", X ", " X, "[2,2]",
     .want = {5, 14, 14, 50}},
    {"tensordot_of_two_axes", "Tensordot", ", 'axes': 2", X ", " X, "[]", .want = {55}},
    {"tensordot_of_axes_that_differ", "Tensordot", ", 'axes': [0, 1]", X ", " X,
     .says = "the axes that are summed over must have the same sizes"},
    {"tensordot_of_an_axis_twice", "Tensordot", ", 'axes': [[0, 0], [0, 1]]", X ", " X,
     .says = "'axes' is not read"},
    {"remainder_with_the_sign_of_what_divides", "Mod", "", X_OF("n") ", 4", "[2,3]",
     .want = {0, 3, 2, 1, 0, 3}},
    {"remainder_of_integers", "Mod", "", X_OF("i") ", -4", "[2,3]",
     .want = {0, -1, -2, -3, 0, -1}},
    {"remainder_with_the_sign_of_what_is_divided", "Fmod", "", X_OF("i") ", 4", "[2,3]",
     .want = {0, -1, -2, -3, 0, -1}},
    {"quotient_rounded_down", "FloorDivide", "", X_OF("n") ", 2", "[2,3]",
     .want = {0, -1, -1, -2, -2, -3}},
    {"quotient_of_integers_rounded_down", "FloorDivide", "", X_OF("i") ", 3", "[2,3]",
     .want = {0, -1, -1, -1, -2, -2}},
    {"integers_beside_floats", "Add", "", X ", " X_OF("i"), "[2,3]", .want = {0}},
    {"quotient_by_0", "DivideNoNan", "", "6, " X, "[2,3]",
     .want = {0, 6, 3, 2, 1.5, 1.2}},
    {"hypotenuse", "Hypot", "", X ", " X_OF("n"), "[2,3]",
     .want = {0, 1.4142136, 2.8284271, 4.2426407, 5.6568542, 7.0710678}},
    {"angle_of_points", "Arctan2", "", X_OF("n") ", -1", "[2,3]",
     .want = {-3.1415927, -2.3561945, -2.0344439, -1.8925469, -1.8157750, -1.7681919}},
    {"sum_of_powers", "Logaddexp", "", X ", 2", "[2,3]",
     .want = {2.1269280, 2.3132617, 2.6931472, 3.3132617, 4.1269280, 5.0485874}},
    {"sum_of_powers_of_2", "Logaddexp2", "", X ", 2", "[2,3]",
     .want = {2.3219281, 2.5849625, 3, 3.5849625, 4.3219281, 5.1699250}},
    {"step", "Heaviside", "", X ", 0.5", "[2,3]", .want = {0, .5, 1, 1, 1, 1},
     .less = 1},
    {"bits_of_both", "BitwiseAnd", "", X_OF("i") ", 6", "[2,3]",
     .want = {0, 6, 6, 4, 4, 2}},
    {"larger_known_one", "Fmax", "", X ", 2", "[2,3]", .want = {2, 2, 2, 3, 4, 5}},
    {"cube_root", "Cbrt", "", X_OF("n"), "[2,3]",
     .want = {0, -1, -1.2599210, -1.4422496, -1.5874011, -1.7099759}},
    {"power_of_2", "Exp2", "", X, "[2,3]", .want = {1, 2, 4, 8, 16, 32}},
    {"whole_part", "Trunc", "", X_OF("n"), "[2,3]", .want = {0, 0, -1, -2, -3, -4},
     .less = .5},
    {"is_finite", "Isfinite", "", X_OF("i"), "[2,3]", .want = {1, 1, 1, 1, 1, 1}},
    {"gated", "Glu", ", 'axis': 0", X, "[1,3]", .want = {0, .9820138, 1.9866143}},
    {"refuses_half_of_three", "Glu", ", 'axis': -1", X,
     .says = "it takes the halves of an axis of f32[2,3], of an even number"},
    {"shrunk", "SoftShrink", ", 'threshold': 1.5", X_OF("n"), "[2,3]",
     .want = {0, 0, -.5, -1.5, -2.5, -3.5}},
    {"kept_or_0", "HardShrink", ", 'threshold': 1.5", X_OF("n"), "[2,3]",
     .want = {0, 0, -2, -3, -4, -5}},
    {"between_two_limits", "HardTanh", "", X, "[2,3]", .want = {-1, -1, 0, 1, 1, 1},
     .less = 2},
    {"another_number_below", "Threshold", ", 'threshold': 1.5, 'default_value': -7", X,
     "[2,3]", .want = {-7, -7, 2, 3, 4, 5}},
    {"logarithm_of_sigmoid", "LogSigmoid", "", X, "[2,3]",
     .want = {-.6931472, -.3132617, -.1269280, -.0485874, -.0181499, -.0067153}},
    {"root_of_a_square", "Squareplus", ", 'b': 4", X, "[2,3]",
     .want = {1, 1.6180340, 2.4142136, 3.3027756, 4.2360680, 5.1925824}},
    {"bent_between_two_points", "SparsePlus", "", X, "[2,3]",
     .want = {0, 0, .25, 1, 2, 3}, .less = 2},
    {"product_of_lines", "Prod", ", 'axis': [1], 'dtype': null", X, "[2]",
     .want = {0, 60}},
    {"how_many_are_not_0", "CountNonzero", ", 'axis': [1]", X, "[2]", .want = {2, 3}},
    {"from_the_smallest_to_the_largest", "Ptp", ", 'axis': 0", X, "[3]",
     .want = {3, 3, 3}},
    {"weighted_mean", "Average", ", 'axis': 1",
     X
     ", {'class_name': '__numpy__', 'config': {'value': [1, 2, 1], 'dtype': 'int64'}}",
     "[2]", .want = {1, 4}},
    {"refuses_weights_of_other_lengths", "Average", ", 'axis': 0",
     X
     ", {'class_name': '__numpy__', 'config': {'value': [1, 2, 1], 'dtype': 'int64'}}",
     .says =
         "its weights must have the shape of its values, or be a list for one axis"},
    {"tiles_in_front", "Tile", ", 'repeats': [2, 1, 1]", X, "[2,2,3]",
     .want = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
    {"tiles_behind", "Tile", ", 'repeats': 2", X, "[2,6]",
     .want = {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
    {"axes_swapped", "Swapaxes", ", 'axis1': 0, 'axis2': -1", X, "[3,2]",
     .want = {0, 3, 1, 4, 2, 5}},
    {"axes_moved", "Moveaxis", ", 'source': [1], 'destination': [0]", X, "[3,2]",
     .want = {0, 3, 1, 4, 2, 5}},
    {"refuses_an_axis_moved_twice", "Moveaxis",
     ", 'source': [0, 0], 'destination': [0, 1]", X,
     .says = "an axis must be moved once"},
    {"turned_a_quarter", "Rot90", ", 'k': 1, 'axes': [0, 1]", X, "[3,2]",
     .want = {2, 5, 1, 4, 0, 3}},
    {"turned_half", "Rot90", ", 'k': -2, 'axes': [0, 1]", X, "[2,3]",
     .want = {5, 4, 3, 2, 1, 0}},
    {"joined_side_by_side", "Hstack", "", "[" X ", " X_OF("n") "]", "[2,6]",
     .want = {0, 1, 2, 0, -1, -2, 3, 4, 5, -3, -4, -5}},
    {"upper_triangle", "Triu", ", 'k': 1", X, "[2,3]", .want = {0, 1, 2, 0, 0, 5}},
    {"diagonal_below", "Diagonal", ", 'offset': -1, 'axis1': 0, 'axis2': 1", X, "[1]",
     .want = {3}},
    {"sum_of_the_diagonal", "Trace", ", 'offset': 0, 'axis1': 1, 'axis2': 0", X, "[]",
     .want = {4}},
    {"differences_twice", "Diff", ", 'n': 2, 'axis': -1", X, "[2,1]", .want = {0, 0}},
    {"refuses_more_differences_than_elements", "Diff", ", 'n': 4, 'axis': -1", X,
     .says =
         "axis 1 of 3 has no differences 4 times, or not that often: 64 times at most"},
    {"picked_along_an_axis", "TakeAlongAxis", ", 'axis': 1",
     X
     ", {'class_name': '__tensor__', 'config': {'value': [[-1, 0]], 'dtype': 'int32'}}",
     "[2,2]", .want = {2, 0, 5, 3}},
    {"lines_by_a_matrix", "Dot", "",
     X ", {'class_name': '__numpy__', 'config': {'value': [[1], [2], [3]], 'dtype': "
       "'float32'}}",
     "[2,1]", .want = {8, 26}},
    {"product_by_letters", "Einsum", ", 'subscripts': 'ij,kj->ik'", X ", " X, "[2,2]",
     .want = {5, 14, 14, 50}},
    {"filled_like", "FullLike", ", 'dtype': 'int32'", X ", 3", "[2,3]",
     .want = {3, 3, 3, 3, 3, 3}},
    {"margins_of_one_number", "Pad",
     ", 'pad_width': [[0, 0], [1, 0]], 'mode': 'constant'", X, "[2,4]",
     .want = {0, 0, 1, 2, 0, 3, 4, 5}},
    {"reflected_margins", "Pad", ", 'pad_width': [[0], [1]], 'mode': 'reflect'", X,
     "[2,5]", .want = {1, 0, 1, 2, 1, 4, 3, 4, 5, 4}},
    {"refuses_symmetric_margins", "Pad",
     ", 'pad_width': [[0, 0], [1, 0]], 'mode': 'symmetric'", X,
     .says = "'mode' is not read"},
    {"parts_that_begin_at_places", "Split", ", 'indices_or_sections': [1], 'axis': 1",
     X, "[2,1]", .want = {0, 3}},
    {"refuses_parts_that_do_not_fit", "Split", ", 'indices_or_sections': 2, 'axis': 1",
     X, .says = "axis 1 of 3 does not have these parts"},
    {"refuses_parts_that_go_back", "Split",
     ", 'indices_or_sections': [2, 1], 'axis': 1", X,
     .says = "axis 1 of 3 does not have these parts"},
    {"parts_as_even_as_they_get", "ArraySplit", ", 'indices_or_sections': 2, 'axis': 1",
     X, "[2,2]", .want = {0, 1, 3, 4}},
    {"lines_of_mean_0", "LayerNorm", ", 'axis': -1, 'epsilon': null", X ", null, null",
     "[2,3]", .want = {-1.2247448, 0, 1.2247448, -1.2247448, 0, 1.2247448}},
    {"lines_of_length_1", "Normalize", ", 'axis': -1, 'order': 1, 'epsilon': null", X,
     "[2,3]", .want = {0, 1 / 3.0, 2 / 3.0, .25, 1 / 3.0, 5 / 12.0}},
    {"an_array_of_doubles", "Multiply", "",
     X ", {'class_name': '__numpy__', 'config': {'value': [1, 0.5, 2], 'dtype': "
       "'float64'}}",
     "[2,3]", .want = {0, .5, 4, 3, 2, 10}},
    {"refuses_an_array_of_words", "Multiply", "",
     X ", {'class_name': '__numpy__', 'config': {'value': ['a'], 'dtype': 'float32'}}",
     .says = "its numbers must be in lists of one length"},
    {"refuses_an_array_of_complex_numbers", "Multiply", "",
     X ", {'class_name': '__numpy__', 'config': {'value': [1], 'dtype': 'complex64'}}",
     .says = "an array beside the model's values may be of float32, float64, bool"},
    {"mean_of_integers", "Mean", ", 'axis': [0]", X_OF("i"), "[3]",
     .want = {-1.5, -2.5, -3.5}},
    {"powers_of_integers", "Exp", "", X_OF("i"), "[2,3]",
     .want = {1, .3678794, .1353353, .0497871, .0183156, .0067379}},
    {"integers_joined_to_floats", "Concatenate", ", 'axis': 1",
     "[" X ", " X_OF("i") "]", "[2,6]",
     .want = {.5, 1.5, 2.5, 0, -1, -2, 3.5, 4.5, 5.5, -3, -4, -5}, .less = -.5},
    {"a_part_from_a_place_on", "Slice", ", 'shape': [2, -1]", X ", [0, 1]", "[2,2]",
     .want = {1, 2, 4, 5}},
    {"refuses_a_part_beyond", "Slice", ", 'shape': [2, 3]", X ", [0, 1]",
     .says = "axis 1 of 3 has no 3 elements from 1 on"},
    {"normalised_by_moments", "BatchNorm", ", 'axis': -1, 'epsilon': 0",
     X ", {'class_name': '__numpy__', 'config': {'value': [0, 1, 2], 'dtype': "
       "'float32'}}, {'class_name': '__numpy__', 'config': {'value': [1, 4, 0.25], "
       "'dtype': 'float32'}}, null, null",
     "[2,3]", .want = {0, 0, 0, 3, 1.5, 6}},
    {"refuses_attention_of_lines", "DotProductAttention", ", 'is_causal': false",
     X ", " X ", " X, .says = "queries, keys and values must be [N, T, heads, size]"},
    {"refuses_axes_twice", "Mean", ", 'axis': [1, -1]", X,
     .says = "its axes must be in [-2, 2), each once"},
    {"refuses_an_axis_outside", "Max", ", 'axis': 2", X,
     .says = "its axes must be in [-2, 2), each once"},
    {"refuses_axes_of_more_elements", "Squeeze", ", 'axis': 1", X,
     .says = "axis 1 must have 1 element, has 3"},
    {"refuses_a_shape_of_other_elements", "Reshape", ", 'newshape': [4, -1]", X,
     .says = "cannot become"},
    {"refuses_bounds_that_are_arrays", "Clip", ", 'x_min': 0, 'x_max': 'y'", X,
     .says = "'x_min' and 'x_max' must be numbers"},
    {"refuses_initial", "Max", ", 'initial': 3", X, .says = "'initial' is not read"},
};

/* Beside x: n, what it is below zero, i, that as integers, and s, ten thousand millionths
 * of x. */
static const char *model_of(kiln_arena *a, const function_row *r) {
    static const char function[] =
        "{" OPS "'class_name': '%s', 'name': '%s', 'config': {'name': '%s'%s}, "
        "'inbound_nodes': [{'args': [%s], 'kwargs': {}}]}";
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
                      "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': "
                      "'x', 'batch_shape': [2, 3]}, 'inbound_nodes': []}, ");
    kiln_buf_printf(&b, function, "Negative", "n", "n", "", X);
    kiln_buf_puts(&b, ", ");
    kiln_buf_printf(&b, function, "Cast", "i", "i", ", 'dtype': 'int32'", X_OF("n"));
    kiln_buf_puts(&b, ", ");
    kiln_buf_printf(&b, function, "Multiply", "s", "s", "", X ", 1e-10");
    kiln_buf_puts(&b, ", ");
    kiln_buf_printf(&b, function, r->kind, "f", "f", r->config, r->args);
    kiln_buf_puts(&b, "], 'input_layers': ['x', 0, 0], 'output_layers': ['f', 0, 0]}}");
    return kiln_test_quoted(a, b.p);
}

/* To five digits of the largest. */
static void check_numbers(kiln_arena *a, const kiln_tensor *y, const double *want) {
    const int64_t n = kiln_type_elems(&y->type);
    kiln_wide wide = kiln_wide_new(a, &y->type);
    double largest = 0;
    assert_in_range(n, 1, MAX_WANT);
    kiln_widen(&y->type, y->data, &wide);
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        const double got = wide.f != NULL ? wide.f[i] : (double)wide.i[i];
        if (!(fabs(got - want[i]) <= 1e-5 * (largest > 0 ? largest : 1)))
            fail_msg("element %lld must be %g, is %g", (long long)i, want[i], got);
    }
}

static void check_function(void **state) {
    enum { N = 6 };
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    const function_row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_tensor y;
    float x[N];
    const kiln_str bytes = kiln_test_keras_h5(a, model_of(a, r), "3.15.1", none);
    const kiln_status st = kiln_test_import_keras(a, bytes, NULL, &g, NULL, &err);
    if (r->says != NULL) {
        assert_int_not_equal(st, KILN_OK);
        kiln_assert_fails(st, st, &err, r->says);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i - r->less);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_tensor *const out = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    y = out[0];
    assert_string_equal(kiln_shape_text(a, y.type.rank, y.type.dim), r->shape);
    check_numbers(a, &y, r->want);
}

int main(void) {
    kiln_test_add_rows(check_function, function_rows);
    return kiln_test_run("keras_ops");
}
