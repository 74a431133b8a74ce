/* Where the elements of one axis of a resized tensor come from: the coordinates and
 * weights of ONNX Resize-19. */
#ifndef KILN_COMPILER_OP_IMAGE_RESIZE_AXIS_H
#define KILN_COMPILER_OP_IMAGE_RESIZE_AXIS_H

#include "base/base.h"

typedef enum kiln_resize_mode {
    KILN_RESIZE_NEAREST,
    KILN_RESIZE_LINEAR,
    KILN_RESIZE_CUBIC
} kiln_resize_mode;

typedef enum kiln_resize_coordinates {
    KILN_RESIZE_HALF_PIXEL,
    KILN_RESIZE_HALF_PIXEL_SYMMETRIC,
    KILN_RESIZE_PYTORCH_HALF_PIXEL,
    KILN_RESIZE_ALIGN_CORNERS,
    KILN_RESIZE_ASYMMETRIC,
    KILN_RESIZE_TF_HALF_PIXEL_FOR_NN,
    KILN_RESIZE_TF_CROP_AND_RESIZE
} kiln_resize_coordinates;

typedef enum kiln_resize_rounding {
    KILN_RESIZE_ROUND_PREFER_FLOOR,
    KILN_RESIZE_ROUND_PREFER_CEIL,
    KILN_RESIZE_FLOOR,
    KILN_RESIZE_CEIL
} kiln_resize_rounding;

typedef struct kiln_resize_axis_spec {
    int64_t in, out;           /* both >= 1 */
    double scale;              /* out / in, or what the model gives for it; > 0 */
    double roi_begin, roi_end; /* tf_crop_and_resize, in units of the axis */
    kiln_resize_mode mode;
    kiln_resize_coordinates coordinates;
    kiln_resize_rounding rounding;
    double cubic_a;
    bool antialias, exclude_outside;
} kiln_resize_axis_spec;

/* Output element o is the sum of weight[o * n_taps + t] * x[at[o * n_taps + t]]; with
 * is_outside[o] it is the extrapolation value. Taps of weight 0 do not count, whatever
 * x is there. */
typedef struct kiln_resize_axis {
    int64_t n_taps;
    int64_t *at; /* in [0, in) */
    double *weight;
    bool *is_outside;
} kiln_resize_axis;

kiln_resize_axis kiln_resize_axis_new(kiln_arena *a, const kiln_resize_axis_spec *s);

#endif
