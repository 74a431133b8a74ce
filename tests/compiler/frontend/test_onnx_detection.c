/* Operators of detectors and of text: what they become, and what is refused. */
#include "tests/support/import/import_run.h"

#define F32(name, shape)                                                               \
    { (name), KILN_ONNX_FLOAT, (shape) }
#define I64(name, shape)                                                               \
    { (name), KILN_ONNX_INT64, (shape) }

static kiln_test_import_row regions[] = {
    {"roi_align_of_old_has_no_choice_of_coordinates", "RoiAlign", 10, "x,r,b", "y",
     .inputs = {F32("x", "1,2,6,8"), F32("r", "3,4"), I64("b", "3")},
     .attrs = {KILN_I_INT("output_height", 2), KILN_I_INT("output_width", 4)},
     .want = {"roi_align(%x, %r, %b) {height=2, width=4", "half_pixel=false",
              "f32[3,2,2,4]"}},
    {"roi_align_is_exact_by_default", "RoiAlign", 16, "x,r,b", "y",
     .inputs = {F32("x", "1,2,6,8"), F32("r", "3,4"), I64("b", "3")},
     .attrs = {KILN_I_TEXT("mode", "max"), KILN_I_FLOAT("spatial_scale", 0.25)},
     .want = {"spatial_scale=0x1p-2", "mode=max, half_pixel=true"}},
    {"rejects_other_coordinates", "RoiAlign", 22, "x,r,b", "y",
     .inputs = {F32("x", "1,2,6,8"), F32("r", "3,4"), I64("b", "3")},
     .attrs = {KILN_I_TEXT("coordinate_transformation_mode", "centre")},
     .fails = KILN_ERR_PARSE,
     .text = "must be half_pixel or output_half_pixel, is 'centre'"},
    {"rejects_regions_of_two_numbers", "RoiAlign", 22, "x,r,b", "y",
     .inputs = {F32("x", "1,2,6,8"), F32("r", "3,2"), I64("b", "3")},
     .fails = KILN_ERR_SHAPE,
     .text = "must have shapes [R, 4] and [R], have [3,2] and [3]"},
    {"rejects_too_many_points", "RoiAlign", 22, "x,r,b", "y",
     .inputs = {F32("x", "1,2,6,8"), F32("r", "3,4"), I64("b", "3")},
     .attrs = {KILN_I_INT("sampling_ratio", 100000)}, .fails = KILN_ERR_LIMIT,
     .text = "sampling_ratio must be in [0, 32768], is 100000"},
    {"rejects_regions_of_an_empty_image", "RoiAlign", 22, "x,r,b", "y",
     .inputs = {F32("x", "1,2,0,8"), F32("r", "3,4"), I64("b", "3")},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'x' must have elements where there are regions"},
};

static kiln_test_import_row deformed[] = {
    {"deform_conv_is_a_product_of_patches", "DeformConv", 19, "x,w,o", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,4,2,2"), F32("o", "1,8,4,5")},
     .want = {"deform_patches(%x, %o)", "kernel=[2, 2]", "matmul(", "f32[1,3,4,5]"}},
    {"deform_conv_in_groups", "DeformConv", 22, "x,w,o,b,m", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "6,2,2,2"), F32("o", "1,16,4,5"),
                F32("b", "6"), F32("m", "1,8,4,5")},
     .attrs = {KILN_I_INT("group", 2), KILN_I_INT("offset_group", 2)},
     .want = {"deform_patches(%x, %o, %m)", "groups=2", "f32[2,3,8]", "add(",
              "f32[1,6,4,5]"}},
    {"rejects_offsets_of_other_groups", "DeformConv", 22, "x,w,o", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,4,2,2"), F32("o", "1,8,4,5")},
     .attrs = {KILN_I_INT("offset_group", 2)}, .fails = KILN_ERR_SHAPE,
     .text = "input 'offset' must have shape [1,16, output...]"},
    {"rejects_a_mask_of_another_size", "DeformConv", 22, "x,w,o,,m", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,4,2,2"), F32("o", "1,8,4,5"),
                F32("m", "1,4,4,4")},
     .fails = KILN_ERR_SHAPE, .text = "input 'mask' must have shape [1,4, output...]"},
    {"rejects_offset_groups_that_do_not_divide", "DeformConv", 22, "x,w,o", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,4,2,2"), F32("o", "1,24,4,5")},
     .attrs = {KILN_I_INT("offset_group", 3)}, .fails = KILN_ERR_SHAPE,
     .text = "groups must be >= 1 and divide the 4 channels, is 3"},
    {"rejects_weights_of_other_channels", "DeformConv", 22, "x,w,o", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,3,2,2"), F32("o", "1,8,4,5")},
     .fails = KILN_ERR_SHAPE, .text = "with C and O divisible by 'group', 1"},
    {"rejects_a_bias_of_another_length", "DeformConv", 22, "x,w,o,b", "y",
     .inputs = {F32("x", "1,4,5,6"), F32("w", "3,4,2,2"), F32("o", "1,8,4,5"),
                F32("b", "4")},
     .fails = KILN_ERR_SHAPE, .text = "'B' must have 3 elements"},
};

#define MOST                                                                           \
    {                                                                                  \
        "m", "", KILN_ONNX_INT64, 1, {5}, { 0 }                                        \
    }
#define OVERLAP                                                                        \
    {                                                                                  \
        "t", "1", KILN_ONNX_FLOAT, 1, {0}, { 0.5 }                                     \
    }

static kiln_test_import_row suppression[] = {
    {"selection_is_bounded_and_its_count_an_output", "NonMaxSuppression", 11, "x,s,m,t",
     "y", .out_types = {KILN_ONNX_INT64},
     .inputs = {F32("x", "2,4,4"), F32("s", "2,3,4")}, .consts = {MOST, OVERLAP},
     .attrs = {KILN_I_INT("center_point_box", 1)},
     .want = {"non_max_suppression(%x, %s) {max_per_class=5, iou_threshold=0x1p-1",
              "center_point=true", "i64[24,3] bounded(0, %y.1)", "\"y.count\""}},
    {"no_boxes_are_asked_for_by_default", "NonMaxSuppression", 10, "x,s", "y",
     .out_types = {KILN_ONNX_INT64}, .inputs = {F32("x", "1,4,4"), F32("s", "1,3,4")},
     .want = {"max_per_class=0", "i64[0,3]"}},
    {"rejects_a_number_of_boxes_from_outside", "NonMaxSuppression", 11, "x,s,m", "y",
     .out_types = {KILN_ONNX_INT64},
     .inputs = {F32("x", "1,4,4"), F32("s", "1,3,4"), I64("m", "1")},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "it depends on graph input 'm'; fix its value with --bind m="},
    {"rejects_boxes_of_other_images", "NonMaxSuppression", 11, "x,s", "y",
     .out_types = {KILN_ONNX_INT64}, .inputs = {F32("x", "1,4,4"), F32("s", "2,3,4")},
     .fails = KILN_ERR_SHAPE, .text = "have [1,4,4] and [2,3,4]"},
    {"rejects_two_thresholds", "NonMaxSuppression", 11, "x,s,,t", "y",
     .out_types = {KILN_ONNX_INT64}, .inputs = {F32("x", "1,4,4"), F32("s", "1,3,4")},
     .consts = {{"t", "2", KILN_ONNX_FLOAT, 2, {0}, {0.5, 0.5}}},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'iou_threshold' must be one number, has 2"},
};

/* What reads a bounded value is bounded; what is constant is not. */
static void bounded_values_are_read(void **state) {
    (void)state;
    static const float boxes[] = {0, 0, 1, 1, 0, 0, 1, 1}, scores[] = {1, 2};
    static const int64_t most = 2;
    for (int is_const = 0; is_const < 2; is_const++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_import_report report = {0};
        kiln_onnx_writer m;
        kiln_graph *g;
        kiln_onnx_writer_init(&m, &a, "g");
        kiln_onnx_put_initializer(
            &m, kiln_onnx_raw_tensor(&a, "m", KILN_ONNX_INT64, "", &most, sizeof most));
        if (is_const != 0) {
            kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "x", KILN_ONNX_FLOAT,
                                                               "1,2,4", boxes,
                                                               sizeof boxes));
            kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(&a, "s", KILN_ONNX_FLOAT,
                                                               "1,1,2", scores,
                                                               sizeof scores));
        } else {
            kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "1,2,4");
            kiln_onnx_put_input(&m, "s", KILN_ONNX_FLOAT, "1,1,2");
        }
        kiln_onnx_put_node(&m, "NonMaxSuppression", "nms", "x,s,m", "n");
        kiln_onnx_put_node(&m, "Neg", "after", "n", "y");
        kiln_onnx_put_output(&m, "y", KILN_ONNX_INT64, NULL);
        const kiln_status st =
            kiln_import_onnx_bytes(&a, kiln_onnx_finish_model(&m, 8, 13), "test.onnx",
                                   NULL, NULL, &g, &report, &err);
        if (is_const != 0) {
            kiln_assert_status_ok(st, &err);
            assert_int_equal(g->outputs.n, 1);
            assert_int_equal(g->outputs.v[0]->type.dim[0], 1);
        } else {
            kiln_assert_status_ok(st, &err);
            assert_int_equal(g->outputs.n, 2);
            assert_int_equal(g->outputs.v[0]->type.dim[0], 2);
            assert_ptr_equal(g->outputs.v[0]->count, g->outputs.v[1]);
        }
        kiln_arena_fini(&a);
    }
}

/* Pool: 2 and 3 alone, then the pair 5, 4. */
#define POOL                                                                           \
    KILN_I_INT("min_gram_length", 1), KILN_I_INT("max_gram_length", 2),                \
        KILN_I_INTS("pool_int64s", 2, 3, 5, 4), KILN_I_INTS("ngram_counts", 0, 2)

static kiln_test_import_row vectors[] = {
    {"counts_each_length", "TfIdfVectorizer", 9, "x", "y", .inputs = {I64("x", "12")},
     .attrs = {POOL, KILN_I_TEXT("mode", "TF"), KILN_I_INTS("ngram_indexes", 0, 1, 2),
               KILN_I_INT("max_skip_count", 5)},
     .want = {"{skips=0} : i64[1,2]", "{skips=5} : i64[1,1]", "concat(", "f32[3]"},
     .lacks = "scatter"},
    {"puts_counts_where_indexes_say", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {{"x", KILN_ONNX_INT32, "4,3"}},
     .attrs = {POOL, KILN_I_TEXT("mode", "IDF"), KILN_I_INTS("ngram_indexes", 4, 0, 1),
               KILN_I_INT("max_skip_count", 5)},
     .want = {"{skips=1} : i64[4,1]", "scatter_elements(", "where(", "f32[4,5]"}},
    {"rows_may_be_shorter_than_an_n_gram", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {I64("x", "1")},
     .attrs = {POOL, KILN_I_TEXT("mode", "TFIDF"),
               KILN_I_INTS("ngram_indexes", 0, 1, 2), KILN_I_INT("max_skip_count", 1)},
     .want = {"{skips=0} : i64[1,1]"}},
    {"rejects_counts_beyond_the_pool", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {I64("x", "12")},
     .attrs = {KILN_I_INT("min_gram_length", 1), KILN_I_INT("max_gram_length", 2),
               KILN_I_INTS("pool_int64s", 2, 3, 5), KILN_I_INTS("ngram_counts", 0, 2),
               KILN_I_TEXT("mode", "TF"), KILN_I_INTS("ngram_indexes", 0, 1, 2)},
     .fails = KILN_ERR_PARSE,
     .text = "must cut the pool of 3 into n-grams, those of length 2 are [2, 3)"},
    {"rejects_an_index_below_0", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {I64("x", "12")},
     .attrs = {POOL, KILN_I_TEXT("mode", "TF"), KILN_I_INTS("ngram_indexes", 0, -1, 2)},
     .fails = KILN_ERR_LIMIT, .text = "entries of 'ngram_indexes' must be in"},
    {"rejects_n_grams_without_an_index", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {I64("x", "12")},
     .attrs = {POOL, KILN_I_TEXT("mode", "TF"), KILN_I_INTS("ngram_indexes", 0, 1)},
     .fails = KILN_ERR_PARSE, .text = "must have an entry for each n-gram"},
    {"rejects_an_unknown_measure", "TfIdfVectorizer", 9, "x", "y",
     .inputs = {I64("x", "12")}, .attrs = {POOL, KILN_I_TEXT("mode", "BM25")},
     .fails = KILN_ERR_PARSE, .text = "must be TF, IDF or TFIDF, is 'BM25'"},
    {"rejects_strings", "TfIdfVectorizer", 9, "x", "y", .inputs = {I64("x", "12")},
     .attrs = {KILN_I_TEXT("mode", "TF"), KILN_I_TEXT("pool_strings", "a")},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'pool_strings' is not read: kiln has no strings"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_import, regions);
    kiln_test_add_rows(kiln_test_check_import, deformed);
    kiln_test_add_rows(kiln_test_check_import, suppression);
    kiln_test_add("bounded_values_are_read", bounded_values_are_read, NULL);
    kiln_test_add_rows(kiln_test_check_import, vectors);
    return kiln_test_run("onnx_detection");
}
