/* Layers of Core ML: small networks with hand-checked numbers. Inputs x and z hold 0,
 * 1, 2, ... less what a row says. */
#include "compiler/frontend/frontend.h"

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/graph/graph_run.h"
#include "tests/support/model/coreml_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/pb_text.h"

enum { MAX_WANT = 24 };

typedef struct row {
    const char *name;
    const char *layers;
    const char *x, *z; /* shapes */
    double less;       /* taken off the inputs */
    const char *shape; /* of y */
    double want[MAX_WANT];
    bool is_exact;
    const char *more;
} row;

/* One layer from x (and z) to y. */
#define L(kind) "1:{1:'a' 2:'x' 3:'y' " kind "}"
#define L2(kind) "1:{1:'a' 2:'x' 2:'z' 3:'y' " kind "}"

static row rows[] = {
    {"convolution", L("100:{1:1 2:1 10:1 20:[2,2] 50:{} 70:1 90:w(1 2 3 4) 91:w(10)}"),
     "1,3,3", .shape = "[1,1,2,2]", .want = {37, 47, 67, 77}},
    {"convolution_same_bottom_heavy", L("100:{1:1 2:1 20:[2,2] 51:{} 90:w(1 1 1 1)}"),
     "1,2,2", .shape = "[1,1,2,2]", .want = {6, 4, 5, 3}},
    {"convolution_same_top_heavy", L("100:{1:1 2:1 20:[2,2] 51:{1:1} 90:w(1 1 1 1)}"),
     "1,2,2", .shape = "[1,1,2,2]", .want = {0, 1, 2, 6}},
    {"convolution_of_groups", L("100:{1:2 2:1 10:2 20:[1,1] 50:{} 90:w(2 3)}"), "2,1,2",
     .shape = "[1,2,1,2]", .want = {0, 2, 6, 9}},
    {"convolution_of_three_axes",
     L("100:{1:1 2:1 20:[1,1] 50:{1:{10:{1:1 2:0} 10:{}}} 90:w(2)}"), "1,1,2",
     .shape = "[1,2,2]", .want = {0, 0, 0, 2}, .is_exact = true},
    {"deconvolution", L("100:{1:1 2:1 20:[2,2] 30:[2,2] 50:{} 60:1 90:w(1 2 3 4)}"),
     "1,1,2", .shape = "[1,1,2,4]", .want = {0, 0, 1, 2, 0, 0, 3, 4}},
    {"deconvolution_same", L("100:{1:1 2:1 20:[1,3] 30:[1,2] 51:{} 60:1 90:w(1 2 3)}"),
     "1,1,2", .less = -1, .shape = "[1,1,1,4]", .want = {1, 2, 5, 4}},
    {"quantised_linearly", /* codes 0 1 2 3 of 2 bits: 0x1b */
     L("140:{1:2 2:2 20:{30:'\x1b' 40:{1:2 101:{1:(1 10) 2:(0 -1)}}}}"), "2",
     .shape = "[1,2,1,1]", .want = {1, 29}},
    {"quantised_by_table", L("140:{1:2 2:2 20:{30:'\x1b' 40:{1:2 102:{1:(5 6 7 8)}}}}"),
     "2", .shape = "[1,2,1,1]", .want = {6, 8}},
    {"half_weights", L("140:{1:2 2:1 20:{2:'@<@D'}}"), "2", .shape = "[1,1,1,1]",
     .want = {4.25}},
    {"inner_product", L("140:{1:4 2:2 10:1 20:w(1 1 1 1 0 0 0 2) 21:w(0 1)}"), "1,2,2",
     .shape = "[1,2,1,1]", .want = {6, 7}},
    {"inner_product_of_exact_arrays", L("140:{1:2 2:1 20:w(1 10)}"), "2,2",
     .shape = "[2,1]", .want = {10, 32}, .is_exact = true},
    {"embedding", L("150:{1:3 2:2 10:1 20:w(0 1 2 10 11 12) 21:w(1 1)}"), "1",
     .less = -2, .shape = "[1,2,1,1]", .want = {3, 13}},
    {"embedding_nd", L("1040:{1:2 2:2 20:w(0 1 10 11)}"), "2,1", .shape = "[2,2]",
     .want = {0, 10, 1, 11}, .is_exact = true},
    {"batchnorm",
     L("160:{1:2 10:f0.0001 15:w(1 2) 16:w(0 1) 17:w(0 1) 18:w(0.9999 3.9999)}"),
     "2,1,1", .shape = "[1,2,1,1]", .want = {0, 1}},
    {"instance_norm", L("160:{1:1 5:1 6:1 10:f1e-9 15:w(2) 16:w(1)}"), "1,1,2",
     .shape = "[1,1,1,2]", .want = {-1, 3}},
    {"mvn", L("165:{2:1 3:f1e-9}"), "1,1,2", .shape = "[1,1,1,2]", .want = {-1, 1}},
    {"l2normalize", L("170:{1:f1e-9}"), "1,1,2", .less = -3, .shape = "[1,1,1,2]",
     .want = {0.6, 0.8}},
    {"softmax", L("175:{}"), "2,1,1", .shape = "[1,2,1,1]",
     .want = {0.26894142, 0.73105858}},
    {"lrn", L("180:{1:f3 2:f1 3:3 4:f1}"), "2,1,1", .shape = "[1,2,1,1]",
     .want = {0, 0.5}},
    {"crop", L("190:{1:{10:{1:1} 10:{2:1}}}"), "1,2,2", .shape = "[1,1,1,1]",
     .want = {2}},
    {"crop_like", L2("190:{5:[1,1]}"), "1,3,3", "1,1,2", .shape = "[1,1,1,2]",
     .want = {4, 5}},
    {"padding", L("200:{1:{1:f7} 10:{10:{1:1} 10:{}}}"), "1,1,2", .shape = "[1,1,2,2]",
     .want = {7, 7, 0, 1}},
    {"padding_by_reflection", L("200:{2:{} 10:{10:{} 10:{1:2}}}"), "1,1,3",
     .shape = "[1,1,1,5]", .want = {2, 1, 0, 1, 2}},
    {"padding_by_replication", L("200:{3:{} 10:{10:{} 10:{2:1}}}"), "1,1,2",
     .shape = "[1,1,1,3]", .want = {0, 1, 1}},
    {"upsample", L("210:{1:[1,2]}"), "1,1,2", .shape = "[1,1,1,4]",
     .want = {0, 0, 1, 1}},
    {"upsample_linearly", L("210:{1:[1,2] 5:1}"), "1,1,2", .shape = "[1,1,1,4]",
     .want = {0, 0.5, 1, 1}},
    {"upsample_by_half_pixels", L("210:{1:[1,2] 5:1 6:2}"), "1,1,2",
     .shape = "[1,1,1,4]", .want = {0, 0.25, 0.75, 1}},
    {"resize_bilinear", L("211:{1:[1,3]}"), "1,1,2", .shape = "[1,1,1,3]",
     .want = {0, 0.5, 1}},
    {"unary_power", L("220:{1:3 2:f3 4:f1 5:f2}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {1, 27}},
    {"unary_inverse", L("220:{1:2 3:f1}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {1, 0.5}},
    {"unary_threshold", L("220:{1:7 2:f0.5}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {0.5, 1}},
    {"add_stretches", L2("230:{}"), "2,1,2", "2,1,1", .shape = "[1,2,1,2]",
     .want = {0, 1, 3, 4}},
    {"multiply_by_a_number", L("231:{1:f3}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {0, 3}},
    {"average", L2("240:{}"), "1,1,2", "1,1,2", .shape = "[1,1,1,2]", .want = {0, 1}},
    {"scale", L("245:{1:[2] 2:w(2 3) 3:1 4:[1] 5:w(1)}"), "2,1,1", .shape = "[1,2,1,1]",
     .want = {1, 4}},
    {"bias", L("250:{1:[1,1,2] 2:w(5 6)}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {5, 7}},
    {"dot", L2("270:{}"), "2,1,1", "2,1,1", .less = -1, .shape = "[1,1,1,1]",
     .want = {5}},
    {"cosine", L2("270:{1:1}"), "2,1,1", "2,1,1", .less = -1, .shape = "[1,1,1,1]",
     .want = {1}},
    {"reduce_average_of_rows_and_columns", L("280:{1:1 3:1}"), "2,1,2",
     .shape = "[1,2,1,1]", .want = {0.5, 2.5}},
    {"reduce_argmax", L("280:{1:9 3:2}"), "2,1,2", .shape = "[1,1,1,2]",
     .want = {1, 1}},
    {"reshape_channels_last", L("300:{1:[1,2,2] 2:1}"), "2,1,2", .shape = "[1,1,2,2]",
     .want = {0, 2, 1, 3}},
    {"flatten_channels_last", L("301:{1:1}"), "2,1,2", .shape = "[1,4,1,1]",
     .want = {0, 2, 1, 3}},
    {"permute", L("310:{1:[0,3,1,2]}"), "2,1,2", .shape = "[1,2,2,1]",
     .want = {0, 2, 1, 3}},
    {"concat", L2("320:{}"), "1,1,2", "2,1,2", .shape = "[1,3,1,2]",
     .want = {0, 1, 0, 1, 2, 3}},
    {"split", "1:{1:'a' 2:'x' 3:'p' 3:'y' 330:{1:2}}", "2,1,2", .shape = "[1,1,1,2]",
     .want = {2, 3}},
    {"sequence_repeat", L("340:{1:2}"), "1,1,2", .shape = "[2,1,1,2]",
     .want = {0, 1, 0, 1}},
    {"space_to_depth", L("345:{2:2}"), "1,2,2", .shape = "[1,4,1,1]",
     .want = {0, 1, 2, 3}},
    /* the example of NeuralNetwork.proto, less 1 */
    {"depth_to_space", L("345:{1:1 2:2}"), "8,1,2", .shape = "[1,2,2,4]",
     .want = {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}},
    {"pixel_shuffle", L("345:{1:2 2:2}"), "8,1,2", .shape = "[1,2,2,4]",
     .want = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}},
    {"slice", L("350:{1:1 2:-1 3:2 4:2}"), "1,1,6", .shape = "[1,1,1,2]",
     .want = {1, 3}},
    {"pool_with_the_last_pixel", L("120:{10:[1,2] 20:[1,2] 32:{10:[0,0]}}"), "1,1,3",
     .shape = "[1,1,1,2]", .want = {1, 2}},
    {"average_pool_counts_padding",
     L("120:{1:1 10:[1,2] 20:[1,2] 30:{1:{10:{} 10:{1:1 2:1}}}}"), "1,1,2", .less = -2,
     .shape = "[1,1,1,2]", .want = {1, 1.5}},
    {"average_pool_skips_padding",
     L("120:{1:1 10:[1,2] 20:[1,2] 30:{1:{10:{} 10:{1:1 2:1}}} 50:1}"), "1,1,2",
     .less = -2, .shape = "[1,1,1,2]", .want = {2, 3}},
    {"global_pool", L("120:{1:1 60:1}"), "2,1,2", .shape = "[1,2,1,1]",
     .want = {0.5, 2.5}},
    {"linear", L("130:{5:{1:f2 2:f1}}"), "1,1,2", .shape = "[1,1,1,2]", .want = {1, 3}},
    {"leaky_relu", L("130:{15:{1:f0.5}}"), "1,1,2", .less = 1, .shape = "[1,1,1,2]",
     .want = {-0.5, 0}},
    {"thresholded_relu_keeps_the_threshold", L("130:{20:{1:f1}}"), "1,1,3",
     .shape = "[1,1,1,3]", .want = {0, 1, 2}},
    {"prelu", L("130:{25:{1:w(2 3)}}"), "2,1,1", .less = 2, .shape = "[1,2,1,1]",
     .want = {-4, -3}},
    {"scaled_tanh", L("130:{31:{1:f2 2:f0.5}}"), "1,1,2", .shape = "[1,1,1,2]",
     .want = {0, 0.92423431}},
    {"hard_sigmoid", L("130:{41:{1:f0.25 2:f0.5}}"), "1,1,4", .shape = "[1,1,1,4]",
     .want = {0.5, 0.75, 1, 1}},
    {"parametric_softplus", L("130:{71:{1:w(2) 2:w(1)}}"), "1,1,1",
     .shape = "[1,1,1,1]", .want = {1.38629436}},
    {"slice_static", L("995:{1:[0,1] 2:[0,0] 3:[0,3] 4:[1,0] 5:[1,2] 6:[0,0]}"), "2,4",
     .shape = "[2,1]", .want = {1, 5}, .is_exact = true},
    {"matrix_product", L("1045:{5:2 6:1 7:1 8:w(1 10) 9:w(5)}"), "2,2",
     .shape = "[2,1]", .want = {15, 37}, .is_exact = true},
    {"stack", L2("925:{1:1}"), "2", "2", .shape = "[2,2]", .want = {0, 0, 1, 1},
     .is_exact = true},
    {"squeeze_and_expand",
     "1:{1:'a' 2:'x' 3:'p' 1120:{1:[-1]}} 1:{1:'b' 2:'p' 3:'y' 1125:{1:[0]}}", "2,1",
     .shape = "[1,2]", .want = {0, 1}, .is_exact = true},
    {"split_nd", "1:{1:'a' 2:'x' 3:'y' 3:'q' 975:{1:0 3:[1,2]}}", "3", .shape = "[1]",
     .want = {0}, .is_exact = true},
    {"constant_pad", L("1155:{1:f9 2:[1,0]}"), "2", .shape = "[3]", .want = {9, 0, 1},
     .is_exact = true},
    {"layer_normalization", L("1350:{1:[2] 2:f1e-9 3:w(1 2) 4:w(0 1)}"), "1,2",
     .shape = "[1,2]", .want = {-1, 3}, .is_exact = true},
    {"reduce_nd", L("1270:{1:[1] 2:0}"), "2,2", .shape = "[2]", .want = {1, 5},
     .is_exact = true},
    {"compare", L("830:{2:f0.5}"), "2", .shape = "[2]", .want = {0, 1},
     .is_exact = true},
    {"gather", L2("930:{}"), "2", "2", .shape = "[2]", .want = {0, 1},
     .is_exact = true},
    {"load_constant",
     "1:{1:'c' 3:'k' 1070:{1:[2] 2:w(3 4)}} "
     "1:{1:'a' 2:'x' 2:'k' 3:'y' 880:{}}",
     "2", .shape = "[2]", .want = {3, 5}, .is_exact = true},
    {"load_constant_of_an_image",
     "1:{1:'c' 3:'k' 290:{1:[1,1,2] 2:w(3 4)}} "
     "1:{1:'a' 2:'x' 2:'k' 3:'y' 880:{}}",
     "2", .shape = "[1,1,1,2]", .want = {3, 5}, .is_exact = true},
};

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_test_import_coreml(
            &a, kiln_test_coreml(&a, r->is_exact, r->x, r->z, r->layers, r->more), NULL,
            &g, NULL, &err),
        &err);
    kiln_test_counted(&a, g, r->less, r->shape, r->want, MAX_WANT);
    kiln_arena_fini(&a);
}

/* ---- inputs ---------------------------------------------------------------------- */

/* An image of colour space 20 (RGB) or 30 (BGR). */
static kiln_str image(kiln_arena *a, int color, const char *size, const char *more) {
    return kiln_test_pb(
        a, kiln_format(a,
                       "1:4 2:{1:{1:'x' 3:{4:{%s 3:%d}}} 10:{1:'y' 3:{5:{}}}} "
                       "500:{1:{1:'a' 2:'x' 3:'y' 130:{10:{}}} %s}",
                       size, color, more));
}

static void check_scaled(int color, const float *want) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    static float x[] = {1, 2, 3};
    kiln_assert_status_ok(
        kiln_test_import_coreml(
            &a,
            image(&a, color, "1:1 2:1",
                  "2:{1:'x' 10:{10:f2 20:f1 21:f2 22:f3}} 2:{11:{1:(1 1 0)}}"),
            NULL, &g, NULL, &err),
        &err);
    kiln_tensor in = {g->inputs.v[0]->type, x}, out;
    kiln_assert_status_ok(kiln_ref_run(&a, g, &in, 1, &out, &err), &err);
    kiln_assert_close(out.data, want, 3, 1, 0);
    kiln_arena_fini(&a);
}

static void images_are_scaled_by_color(void **state) {
    (void)state;
    check_scaled(20, (const float[]){4, 5, 7}); /* 2 x + (3, 2, 1) - (1, 1, 0) */
    check_scaled(30, (const float[]){2, 5, 9});
}

static kiln_status import_sized(kiln_arena *a, const char *size, const int64_t *dim,
                                kiln_graph **g, kiln_err *err) {
    kiln_shape_binding s = {.name = "x", .rank = 4};
    memcpy(s.dim, dim, 4 * sizeof *dim);
    const kiln_import_options o = {.shapes = &s, .n_shapes = 1};
    return kiln_test_import_coreml(a, image(a, 20, size, ""), &o, g, NULL, err);
}

static void images_have_a_batch_and_open_sizes(void **state) {
    (void)state;
    static const char range[] = "1:4 2:4 31:{1:{1:2 2:8} 2:{1:2 2:-1}}";
    static const char some[] = "1:4 2:4 21:{1:{1:6 2:5}}";
    static const int64_t batch[] = {2, 3, 4, 4}, larger[] = {1, 3, 90, 8};
    static const int64_t listed[] = {1, 3, 5, 6}, wide[] = {1, 3, 4, 9};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(import_sized(&a, "1:4 2:4", batch, &g, &err), &err);
    assert_int_equal(g->outputs.v[0]->type.dim[0], 2);
    kiln_assert_status_ok(import_sized(&a, range, larger, &g, &err), &err);
    kiln_assert_status_ok(import_sized(&a, some, listed, &g, &err), &err);
    kiln_assert_fails(import_sized(&a, range, wide, &g, &err), KILN_ERR_SHAPE, &err,
                      "its shape is declared as [1,3,4,4], but [1,3,4,9] is given");
    kiln_arena_fini(&a);
}

static void a_classifier_gives_probabilities(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_test_import_coreml(
            &a,
            kiln_test_pb(&a, "1:1 2:{1:{1:'x' 3:{5:{1:[2]}}} 10:{1:'p' 3:{6:{2:{}}}} "
                             "10:{1:'label' 3:{3:{}}} 11:'label' 12:'p'} "
                             "403:{1:{1:'a' 2:'x' 3:'s' 175:{}} 200:'s'}"),
            NULL, &g, NULL, &err),
        &err);
    assert_int_equal(g->outputs.n, 1);
    assert_string_equal(g->output_names.v[0], "p");
    assert_int_equal(g->outputs.v[0]->type.rank, 2);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("images_are_scaled_by_color", images_are_scaled_by_color, NULL);
    kiln_test_add("images_have_a_batch_and_open_sizes",
                  images_have_a_batch_and_open_sizes, NULL);
    kiln_test_add("a_classifier_gives_probabilities", a_classifier_gives_probabilities,
                  NULL);
    return kiln_test_run("coreml_import");
}
