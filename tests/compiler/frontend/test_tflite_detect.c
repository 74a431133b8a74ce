/* What ends a detector in TensorFlow Lite: suppression, and the custom operator behind
 * SSDs; numbers by hand. */
#include "compiler/frontend/tflite/flex.h"
#include "tests/support/model/flex_writer.h"
#include "tests/support/import/tflite_run.h"

#include <string.h>

#define F32(shape_, ...)                                                               \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_F32, .v = { __VA_ARGS__ }                  \
    }
#define CONST(shape_, type_, ...)                                                      \
    {                                                                                  \
        .shape = (shape_), .type = (type_), .is_const = true, .v = { __VA_ARGS__ }     \
    }
#define I32(shape_, ...)                                                               \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_I32, .v = { __VA_ARGS__ }                  \
    }

/* Three boxes: the second overlaps the first by 1/2, the third is far away. */
#define BOXES F32("3x4", 0, 0, 1, 3, 0, 1, 1, 4, 5, 5, 6, 6)

/* Anchors are whole boxes here: centres and sizes; codes move none of them. Two classes
 * behind the background. */
#define CODES F32("1x3x4", 0)
#define ANCHORS CONST("3x4", KILN_TFW_F32, .5, 1.5, 1, 3, .5, 2.5, 1, 3, 5.5, 5.5, 1, 1)
#define CLASSES F32("1x3x3", .9, .8, .1, .9, .2, .7, .9, .3, .6)
#define OPTIONS(more_, iou_, classes_, regular_)                                       \
    "detections_per_class 5, h_scale 5.0, max_classes_per_detection " classes_         \
    ", max_detections 3, nms_iou_threshold " iou_ ", nms_score_threshold " more_       \
    ", num_classes 2, use_regular_nms " regular_                                       \
    ", w_scale 5.0, x_scale 10.0, y_scale 10.0"

static kiln_tflite_case rows[] = {
    {.name = "suppression_v4",
     .code = 120,
     .n_in = 5,
     .in = {BOXES, F32("3", .5, .9, .7), CONST("", KILN_TFW_I32, 4),
            CONST("", KILN_TFW_F32, .5), CONST("", KILN_TFW_F32, .1)},
     .n_out = 2,
     .out = {I32("4", 1, 2, 0, 0), I32("", 2)}},
    /* the overlap of 1/2 is below .6, and the third's score too low */
    {.name = "suppression_v5",
     .code = 121,
     .n_in = 6,
     .in = {BOXES, F32("3", .5, .9, .25), CONST("", KILN_TFW_I32, 3),
            CONST("", KILN_TFW_F32, .6), CONST("", KILN_TFW_F32, .25),
            CONST("", KILN_TFW_F32, 0)},
     .n_out = 3,
     .out = {I32("3", 1, 0, 0), F32("3", .9, .5, 0), I32("", 2)}},
    {.name = "soft_suppression",
     .code = 121,
     .n_in = 6,
     .in = {BOXES, F32("3", .5, .9, .25), CONST("", KILN_TFW_I32, 3),
            CONST("", KILN_TFW_F32, .6), CONST("", KILN_TFW_F32, .25),
            CONST("", KILN_TFW_F32, .5)},
     .n_out = 3,
     .out = {I32("3", 1, 0, 0), F32("3", .9, .5, 0), I32("", 2)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "soft_nms_sigma must be 0, is 0.5"},
    /* by the best class: .8 of the first, which takes the second along, .6 of the third */
    {.name = "detection_fast",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = OPTIONS("0.6", "0.4", "1", "0"),
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0, 0, 1, 3, 5, 5, 6, 6), F32("1x3", 0, 1), F32("1x3", .8, .6),
             F32("1", 2)}},
    {.name = "two_classes_of_each_box",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = OPTIONS("0.65", "0.4", "2", "0"),
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x6x4", 0, 0, 1, 3, 0, 0, 1, 3), F32("1x6", 0, 1), F32("1x6", .8, .1),
             F32("1", 1)}},
    /* each class by itself: .8 and .3 of the first, .7 and .6 of the second */
    {.name = "detection_by_class",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = OPTIONS("0.25", "0.4", "1", "1"),
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0, 0, 1, 3, 0, 1, 1, 4, 5, 5, 6, 6), F32("1x3", 0, 1, 1),
             F32("1x3", .8, .7, .6), F32("1", 3)}},
    {.name = "detection_of_nothing",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = OPTIONS("0.95", "0.4", "1", "1"),
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0), F32("1x3", 0), F32("1x3", 0), F32("1", 0)}},
    {.name = "options_that_are_missing",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = "max_detections 3, num_classes 2",
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0), F32("1x3", 0), F32("1x3", 0), F32("1", 0)},
     .fails = KILN_ERR_PARSE,
     .text = "option 'max_classes_per_detection' must be from 1 to 1000000, is 0"},
    {.name = "no_options",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .n_in = 3,
     .in = {CODES, CLASSES, ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0), F32("1x3", 0), F32("1x3", 0), F32("1", 0)},
     .fails = KILN_ERR_PARSE,
     .text = "its options must be a FlexBuffers map"},
    {.name = "classes_that_are_missing",
     .code = 32,
     .custom = "TFLite_Detection_PostProcess",
     .flex = OPTIONS("0.5", "0.4", "1", "0"),
     .n_in = 3,
     .in = {CODES, F32("1x3x1", 0), ANCHORS},
     .n_out = 4,
     .out = {F32("1x3x4", 0), F32("1x3", 0), F32("1x3", 0), F32("1", 0)},
     .fails = KILN_ERR_SHAPE,
     .text = "class predictions [1, n, classes] of 2 classes at least"},
};

static void maps_are_read(void **state) {
    kiln_flex_map m;
    kiln_err err = {0};
    double v = 7;
    (void)state;
    kiln_assert_status_ok(
        kiln_flex_open(kiln_test_flex_map("a -3, bc 0.5, d 70000"), &m, &err), &err);
    assert_true(kiln_flex_number(&m, "a", &v) && v == -3);
    assert_true(kiln_flex_number(&m, "bc", &v) && v == 0.5);
    assert_true(kiln_flex_number(&m, "d", &v) && v == 70000);
    assert_false(kiln_flex_number(&m, "b", &v));
    assert_true(v == 70000);
}

/* Every byte changed in many ways, and every end: nothing outside is read (under ASan, as
 * each copy is as long as it must be). */
static void damaged_maps_stay_inside(void **state) {
    const kiln_str good = kiln_test_flex_map("a -3, bc 0.5, d 70000");
    (void)state;
    for (size_t i = 0; i < good.n; i++)
        for (int k = 0; k < 9; k++) {
            const size_t n = k == 8 ? i : good.n;
            char *const bytes = kiln_arena_alloc(kiln_test_arena(), n + 1);
            memcpy(bytes, good.p, n);
            if (k < 8)
                bytes[i] = (char)(bytes[i] ^ (1 << k));
            kiln_flex_map m;
            kiln_err err = {0};
            double v;
            if (kiln_flex_open((kiln_str){bytes, n}, &m, &err) != KILN_OK)
                continue;
            kiln_flex_number(&m, "d", &v);
            kiln_flex_number(&m, "none", &v);
        }
}

int main(void) {
    kiln_test_add_rows(kiln_test_check_tflite, rows);
    kiln_test_add("maps_are_read", maps_are_read, NULL);
    kiln_test_add("damaged_maps_stay_inside", damaged_maps_stay_inside, NULL);
    return kiln_test_run("tflite_detect");
}
