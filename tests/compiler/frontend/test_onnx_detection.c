/* Operators of detectors and of text: what they become, and what is refused. */
#include "tests/support/import_run.h"

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
    {
        "roi_align_is_exact_by_default",
        "RoiAlign",
        16,
        "x,r,b",
        "y",
        .inputs = {F32("x", "1,2,6,8"), F32("r", "3,4"), I64("b", "3")},
        .attrs = {KILN_I_TEXT("mode", "max"), KILN_I_FLOAT("spatial_scale", 0.25)},
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

int main(void) {
    kiln_test_add_rows(kiln_test_check_import, regions);
    return kiln_test_run("onnx_detection");
}
