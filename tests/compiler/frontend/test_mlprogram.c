/* Core ML's ML programs: operations with hand-checked numbers, weights beside the file,
 * refusals with their text. The input x holds 0, 1, 2, ... */
#include <math.h>
#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/mil_model.h"
#include "tests/support/import/mutants.h"

enum { MAX_WANT = 16, MAX_IN = 64 };

typedef struct row {
    const char *name, *x, *ops;
    const char *shape; /* of y */
    double want[MAX_WANT];
    kiln_status fails;
    const char *text;
} row;

static row rows[] = {
    {"conv", "1,1,3,3",
     "y = conv x=x weight=(1,1,2,2: 1 2 3 4) bias=(1: 10) pad_type='valid' "
     "strides=[1,1]",
     "[1,1,2,2]", .want = {37, 47, 67, 77}},
    {"conv_same", "1,1,2,2", "y = conv x=x weight=(1,1,2,2: 1 1 1 1) pad_type='same'",
     "[1,1,2,2]", .want = {6, 4, 5, 3}},
    {"conv_of_groups", "1,2,1,2",
     "y = conv x=x weight=(2,1,1,1: 2 3) pad_type='valid' groups=2", "[1,2,1,2]",
     .want = {0, 2, 6, 9}},
    {"conv_with_own_pads", "1,1,1,2",
     "y = conv x=x weight=(1,1,1,1: 2) pad_type='custom' pad=[0,0,1,0]", "[1,1,1,3]",
     .want = {0, 0, 2}},
    {"max_pool", "1,1,2,2",
     "y = max_pool x=x kernel_sizes=[2,2] strides=[2,2] pad_type='valid'", "[1,1,1,1]",
     .want = {3}},
    {"avg_pool_without_pads", "1,1,1,2",
     "y = avg_pool x=x kernel_sizes=[1,2] strides=[1,2] pad_type='custom' "
     "pad=[0,0,1,1] exclude_padding_from_average=true",
     "[1,1,1,2]", .want = {0, 1}},
    {"avg_pool_with_pads", "1,1,1,2",
     "y = avg_pool x=x kernel_sizes=[1,2] strides=[1,2] pad_type='custom' "
     "pad=[0,0,1,1]",
     "[1,1,1,2]", .want = {0, 0.5}},
    {"upsample_nearest", "1,1,1,2",
     "y = upsample_nearest_neighbor x=x scale_factor_height=1.0 scale_factor_width=2.0",
     "[1,1,1,4]", .want = {0, 0, 1, 1}},
    {"upsample_bilinear", "1,1,1,2",
     "y = upsample_bilinear x=x scale_factor_height=1 scale_factor_width=2 "
     "align_corners=false",
     "[1,1,1,4]", .want = {0, .25, .75, 1}},
    {"linear", "1,2", "y = linear x=x weight=(2,2: 1 2 3 4) bias=(2: 1 0)", "[1,2]",
     .want = {3, 4}},
    {"linear_of_more_axes", "1,1,2", "y = linear x=x weight=(1,2: 1 2)", "[1,1,1]",
     .want = {2}},
    {"matmul", "2,2", "y = matmul x=x y=x transpose_x=true transpose_y=false", "[2,2]",
     .want = {4, 6, 6, 10}},
    {"a_chain", "3", "a = add x=x y=1.0\nb = mul x=a y=a\ny = sub x=b y=x", "[3]",
     .want = {1, 3, 7}},
    {"real_div", "2", "y = real_div x=x y=2.0", "[2]", .want = {0, .5}},
    {"clip", "4", "y = clip x=x alpha=1.0 beta=2.0", "[4]", .want = {1, 1, 2, 2}},
    {"relu6", "8", "y = relu6 x=x", "[8]", .want = {0, 1, 2, 3, 4, 5, 6, 6}},
    {"leaky_relu", "2", "a = sub x=x y=1.0\ny = leaky_relu x=a alpha=0.5", "[2]",
     .want = {-.5, 0}},
    {"sigmoid_hard", "2", "y = sigmoid_hard x=x alpha=0.25 beta=0.5", "[2]",
     .want = {.5, .75}},
    {"silu", "1", "a = add x=x y=1.0\ny = silu x=a", "[1]", .want = {0.7310586}},
    {"gelu", "2", "y = gelu x=x mode='EXACT'", "[2]", .want = {0, 0.8413447}},
    {"square", "3", "y = square x=x", "[3]", .want = {0, 1, 4}},
    {"rsqrt", "1", "y = rsqrt x=x epsilon=0.25", "[1]", .want = {2}},
    {"cast_and_back", "2", "a = cast x=x dtype='int32'\ny = cast x=a dtype='fp32'",
     "[2]", .want = {0, 1}},
    {"reduce_mean", "2,2", "y = reduce_mean x=x axes=[-1] keep_dims=true", "[2,1]",
     .want = {.5, 2.5}},
    {"softmax", "1,1", "y = softmax x=x axis=-1", "[1,1]", .want = {1}},
    {"layer_norm", "1,2", "y = layer_norm x=x axes=[-1] epsilon=0.0 gamma=(2: 2 2)",
     "[1,2]", .want = {-2, 2}},
    {"batch_norm", "1,2,1",
     "y = batch_norm x=x mean=(2: 0 1) variance=(2: 1 1) epsilon=0.0", "[1,2,1]",
     .want = {0, 0}},
    {"reshape", "2,3", "y = reshape x=x shape=[3,-1]", "[3,2]",
     .want = {0, 1, 2, 3, 4, 5}},
    {"transpose", "2,2", "y = transpose x=x perm=[1,0]", "[2,2]", .want = {0, 2, 1, 3}},
    {"expand_and_squeeze", "2",
     "a = expand_dims x=x axes=[0,2]\ny = squeeze x=a axes=[-1]", "[1,2]",
     .want = {0, 1}},
    {"concat", "1,2", "y = concat values=x+x axis=1 interleave=false", "[1,4]",
     .want = {0, 1, 0, 1}},
    {"split", "4", "a,b = split x=x num_splits=2 axis=0\ny = sub x=b y=a", "[2]",
     .want = {2, 2}},
    {"slice", "2,4",
     "y = slice_by_index x=x begin=[1,3] end=[2,0] stride=[1,-2] squeeze_mask=[1,0]",
     "[2]", .want = {7, 5}},
    {"gather", "3", "y = gather x=x indices=[2,0] axis=0", "[2]", .want = {2, 0}},
    {"pad", "2", "y = pad x=x pad=[1,0] mode='constant' constant_val=5.0", "[3]",
     .want = {5, 0, 1}},

    {"unknown_operations", "2", "a = lstm x=x\nb = lstm x=a\ny = topk x=b",
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "2 operations are not read: lstm (2 times, first in node 'a'), topk"},
    {"operands_that_are_missing", "2", "y = add x=x", .fails = KILN_ERR_PARSE,
     .text = "operand 'y' is missing"},
    {"operands_of_nowhere", "2", "y = relu x=q", .fails = KILN_ERR_PARSE,
     .text = "operand 'x' is 'q', which nothing before makes"},
    {"words_as_tensors", "2", "y = relu x='x'", .fails = KILN_ERR_PARSE,
     .text = "operand 'x' must be a tensor"},
    {"too_few_elements", "2", "y = add x=x y=(3: 1 2)", .fails = KILN_ERR_PARSE,
     .text = "a constant must have 3 elements, has 2"},
    {"weights_of_nowhere", "2", "y = add x=x y=@64(2)", .fails = KILN_ERR_PARSE,
     .text = "weights must be in one file beside the model"},
    {"outputs_of_nowhere", "2", "z = relu x=x", .fails = KILN_ERR_PARSE,
     .text = "output 'y' is made by no operation"},
    {"perm_of_one_axis", "2,2", "y = transpose x=x perm=[0,0]", .fails = KILN_ERR_SHAPE,
     .text = "'perm' must have each of 2 axes once"},
    {"reflection", "2", "y = pad x=x pad=[1,0] mode='reflect'",
     .fails = KILN_ERR_UNSUPPORTED, .text = "'mode' must be constant, is 'reflect'"},
    {"open_sizes", "-1,2", "y = relu x=x", .fails = KILN_ERR_SHAPE,
     .text =
         "1 graph input is dynamic: 'x' [?,2]; bind them, for example --shape x:1x2"},
};

static kiln_status import(kiln_arena *a, kiln_str bytes, kiln_graph **g,
                          kiln_err *err) {
    return kiln_frontend_mlprogram.import(a, bytes, "model.mlmodel", NULL, NULL, g,
                                          NULL, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_str bytes = kiln_test_mil(a, r->x, r->ops);
    const kiln_status st = import(a, bytes, &g, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    float x[MAX_IN], want[MAX_WANT];
    for (int i = 0; i < MAX_IN; i++)
        x[i] = (float)i;
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_tensor y;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &y, &err), &err);
    assert_string_equal(kiln_shape_text(a, y.type.rank, y.type.dim), r->shape);
    const size_t n = (size_t)kiln_type_elems(&y.type);
    assert_true(n <= MAX_WANT);
    for (size_t i = 0; i < n; i++)
        want[i] = (float)r->want[i];
    kiln_assert_close(y.data, want, n, 4, 1e-6);
}

/* ---- a package --------------------------------------------------------------------- */

static void put(const char *path, kiln_str bytes) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
}

static const char *folder(const char *in, const char *name) {
    kiln_err err = {0};
    const char *const dir = kiln_path_join(kiln_test_arena(), in, name);
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    return dir;
}

static void packages_have_their_weights_beside(void **state) {
    (void)state;
    static const float w[] = {10, 20};
    kiln_arena *const a = kiln_test_arena();
    const char *const whole = folder(kiln_test_dir(), "m.mlpackage");
    const char *const inner = folder(folder(whole, "Data"), "com.apple.CoreML");
    const char *const weights =
        kiln_path_join(a, folder(inner, "weights"), "weight.bin");
    const kiln_str blob = kiln_test_mil_weights(a, w, 2);
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    put(kiln_path_join(a, inner, "model.mlmodel"),
        kiln_test_mil(a, "2", "y = add x=x y=@64(2)"));
    put(weights, blob);
    kiln_assert_status_ok(kiln_import(a, whole, NULL, &g, &report, &err), &err);
    assert_string_equal(report.format, "mlprogram");
    assert_int_equal(report.data.n, 1);
    const float x[] = {1, 2};
    const kiln_tensor in = {g->inputs.v[0]->type, (void *)(uintptr_t)x};
    kiln_tensor y;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &y, &err), &err);
    kiln_assert_close(y.data, ((const float[]){11, 22}), 2, 0, 0);
    for (size_t n = 0; n < blob.n; n += 16) {
        put(weights, (kiln_str){blob.p, n});
        assert_int_not_equal(kiln_import(a, whole, NULL, &g, &report, &err), KILN_OK);
        kiln_err_clear(&err);
    }
    put(weights, blob);
    put(kiln_path_join(a, inner, "model.mlmodel"),
        kiln_test_mil(a, "2", "y = add x=x y=@0(2)"));
    kiln_assert_fails(kiln_import(a, whole, NULL, &g, &report, &err), KILN_ERR_PARSE,
                      &err, "there is no blob at byte 0 of 'weights/weight.bin'");
}

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    (void)user;
    return import(a, bytes, g, err);
}

static void changed_files_end_in_errors(void **state) {
    (void)state;
    const kiln_test_mutants mutants = {
        .file = "importing 'model.mlmodel'",
        .whole = kiln_test_mil(
            kiln_test_arena(), "1,1,3,3",
            "a = conv x=x weight=(1,1,2,2: 1 2 3 4) pad_type='same' strides=[1,1]\n"
            "b = relu x=a\nc = reshape x=b shape=[1,-1]\ny = softmax x=c axis=-1"),
        .import = import_mutant};
    kiln_test_mutants_end(&mutants, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("packages_have_their_weights_beside",
                  packages_have_their_weights_beside, NULL);
    kiln_test_add("changed_files_end_in_errors", changed_files_end_in_errors, NULL);
    return kiln_test_run("mlprogram");
}
