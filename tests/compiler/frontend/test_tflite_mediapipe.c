/* MediaPipe's operators for TensorFlow Lite. Numbers are those of its kernels' loops, written down again in NumPy;
 * TensorFlow Lite's own interpreter has none of them. */
#include "tests/support/import/tflite_run.h"

#define F32(shape_, ...)                                                               \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_F32, .v = { __VA_ARGS__ }                  \
    }
/* TfLitePoolParams: padding, strides and filter (width, height), activation. */
#define POOL(padding, stride_w, stride_h, filter_w, filter_h, activation)              \
    .n_raw = 6, .raw = {padding, stride_w, stride_h, filter_w, filter_h, activation}
#define MATRIX F32("1x4x4", .5, .25, 0, .25, 0, 1, 0, -.5, 0, 0, 1, 0, 0, 0, 0, 1)

enum { CUSTOM = 32, SAME = 1, VALID = 2 };

static kiln_tflite_case rows[] = {
    {.name = "pool_says_where_in_its_window",
     .code = CUSTOM,
     .custom = "MaxPoolingWithArgmax2D",
     POOL(SAME, 2, 2, 2, 2, 0),
     .n_in = 1,
     .in = {F32("1x3x5x1", 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9)},
     .n_out = 2,
     .out = {F32("1x2x3x1", 9, 6, 5, 8, 9, 9),
             F32("1x2x3x1", 2.1, 2.1, .1, 1.1, .1, .1)}},
    {.name = "pool_that_begins_in_the_padding",
     .code = CUSTOM,
     .custom = "MaxPoolingWithArgmax2D",
     POOL(SAME, 2, 1, 3, 3, 3),
     .n_in = 1,
     .in = {F32("1x3x5x1", 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9)},
     .n_out = 2,
     .out = {F32("1x3x3x1", 6, 6, 5, 6, 6, 6, 6, 6, 6),
             F32("1x3x3x1", 7.1, 7.1, 4.1, 4.1, 7.1, 7.1, 1.1, 4.1, 4.1)}},
    {.name = "pool_of_two_images_and_channels",
     .code = CUSTOM,
     .custom = "MaxPoolingWithArgmax2D",
     POOL(VALID, 1, 2, 1, 2, 0),
     .n_in = 1,
     .in = {F32("2x2x1x2", 1, -2, 3, 4, 5, -6, -7, 8)},
     .n_out = 2,
     .out = {F32("2x1x1x2", 3, 4, 5, 8), F32("2x1x1x2", 1.1, 1.1, .1, 1.1)}},
    {.name = "unpool_of_two_images_and_channels",
     .code = CUSTOM,
     .custom = "MaxUnpooling2D",
     POOL(SAME, 2, 2, 2, 2, 0),
     .n_in = 2,
     .in = {F32("2x1x1x2", 7, 8, 9, 10), F32("2x1x1x2", .1, 3.1, 2.1, 1.1)},
     .out = {F32("2x2x2x2", 7, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 10, 9, 0, 0, 0)}},
    {.name = "unpool_whose_windows_lie_apart",
     .code = CUSTOM,
     .custom = "MaxUnpooling2D",
     POOL(SAME, 5, 3, 3, 3, 0),
     .n_in = 2,
     .in = {F32("1x1x2x1", 1, 2), F32("1x1x2x1", 5.1, 7.1)},
     .out = {F32("1x3x6x1", 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)}},
    {.name = "transformed_image",
     .code = CUSTOM,
     .custom = "TransformTensorBilinear",
     .flex = "output_height 3, output_width 3",
     .n_in = 2,
     .in = {F32("1x3x3x1", 0, 1, 2, 3, 4, 5, 6, 7, 8), MATRIX},
     .out = {F32("1x3x3x1", 0, 0, 0, 1.875, 2.375, 2.875, 5.125, 5.625, 6.125)}},
    /* ---- refused */
    {.name = "pool_without_options",
     .code = CUSTOM,
     .custom = "MaxPoolingWithArgmax2D",
     .n_in = 1,
     .in = {F32("1x1x1x1", 1)},
     .n_out = 2,
     .out = {F32("1x1x1x1", 1), F32("1x1x1x1", 1)},
     .fails = KILN_ERR_PARSE,
     .text = "its options must have 24 bytes, have 0"},
    {.name = "pool_of_no_stride",
     .code = CUSTOM,
     .custom = "MaxPoolingWithArgmax2D",
     POOL(VALID, 0, 1, 1, 1, 0),
     .n_in = 1,
     .in = {F32("1x1x1x1", 1)},
     .n_out = 2,
     .out = {F32("1x1x1x1", 1), F32("1x1x1x1", 1)},
     .fails = KILN_ERR_PARSE,
     .text = "strides and filter 1 to 1024, are 2, 1 x 0 and 1 x 1"},
    {.name = "unpool_of_two_shapes",
     .code = CUSTOM,
     .custom = "MaxUnpooling2D",
     POOL(SAME, 2, 2, 2, 2, 0),
     .n_in = 2,
     .in = {F32("1x1x2x1", 1, 2), F32("1x2x1x1", 0, 0)},
     .out = {F32("1x2x4x1", 0)},
     .fails = KILN_ERR_SHAPE,
     .text = "input and indices must have rank 4, one shape and no 0"},
    {.name = "transformed_to_no_size",
     .code = CUSTOM,
     .custom = "TransformTensorBilinear",
     .flex = "output_height 3",
     .n_in = 2,
     .in = {F32("1x1x1x1", 0), MATRIX},
     .out = {F32("1x1x1x1", 0)},
     .fails = KILN_ERR_PARSE,
     .text = "output_height and output_width must be 1 to 2^31 - 1, are 3 and 0"},
    {.name = "two_transformed_images",
     .code = CUSTOM,
     .custom = "TransformTensorBilinear",
     .flex = "output_height 1, output_width 1",
     .n_in = 2,
     .in = {F32("2x1x1x1", 0, 0), MATRIX},
     .out = {F32("2x1x1x1", 0)},
     .fails = KILN_ERR_SHAPE,
     .text = "it takes one image of floats and a matrix of 4 x 4, not f32[2,1,1,1]"},
};

int main(void) {
    kiln_test_add_rows(kiln_test_check_tflite, rows);
    return kiln_test_run("tflite_mediapipe");
}
