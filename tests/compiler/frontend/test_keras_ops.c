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

/* Beside x: n, what it is below zero, and s, ten thousand millionths of it. */
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
