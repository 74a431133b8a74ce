/* Coordinates and weights along one axis; see resize_axis.h. Linear and cubic filters:
 * Keys, Cubic Convolution Interpolation (IEEE Trans. ASSP 29, 1981); antialiasing
 * stretches the filter by 1 / scale where that is above 1.
 */
#include "compiler/op/image/resize_axis.h"

#include <math.h>

/* Position in the input of output element o. */
static double source(const kiln_resize_axis_spec *s, int64_t o) {
    const double x = (double)o, in = (double)s->in, out = (double)s->out;
    const double length = s->scale * in; /* before it was cut to a whole number */
    switch (s->coordinates) {
    case KILN_RESIZE_HALF_PIXEL:
        return (x + 0.5) / s->scale - 0.5;
    case KILN_RESIZE_HALF_PIXEL_SYMMETRIC:
        return in / 2.0 * (1.0 - out / length) + (x + 0.5) / s->scale - 0.5;
    case KILN_RESIZE_PYTORCH_HALF_PIXEL:
        return s->out > 1 ? (x + 0.5) / s->scale - 0.5 : 0.0;
    case KILN_RESIZE_ALIGN_CORNERS:
        return s->out == 1 || length == 1.0 ? 0.0 : x * (in - 1.0) / (length - 1.0);
    case KILN_RESIZE_ASYMMETRIC:
        return x / s->scale;
    case KILN_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return (x + 0.5) / s->scale;
    case KILN_RESIZE_TF_CROP_AND_RESIZE:
        break;
    }
    const double width = (s->roi_end - s->roi_begin) * (in - 1.0);
    const double step = s->out > 1 ? x / (out - 1.0) : 0.5;
    return s->roi_begin * (in - 1.0) + (s->out > 1 ? step * width : 0.5 * width);
}

static double nearest(kiln_resize_rounding rounding, double x) {
    switch (rounding) {
    case KILN_RESIZE_ROUND_PREFER_FLOOR:
        return ceil(x - 0.5);
    case KILN_RESIZE_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case KILN_RESIZE_FLOOR:
        return floor(x);
    case KILN_RESIZE_CEIL:
        break;
    }
    return ceil(x);
}

/* The filter at a distance from its middle. */
static double filter(const kiln_resize_axis_spec *s, double distance) {
    const double d = fabs(distance), a = s->cubic_a;
    if (s->mode == KILN_RESIZE_LINEAR)
        return d < 1.0 ? 1.0 - d : 0.0;
    if (d <= 1.0)
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;
}

static int64_t clamp(double at, int64_t n) {
    if (!(at > 0))
        return 0;
    return at >= (double)n ? n - 1 : (int64_t)at;
}

/* Taps floor(x) + first ... of one output element. */
static void fill(const kiln_resize_axis_spec *s, double x, int64_t first, double shrink,
                 const kiln_resize_axis *axis, int64_t o) {
    const double base = floor(x);
    double *weight = axis->weight + o * axis->n_taps, sum = 0.0;
    for (int64_t t = 0; t < axis->n_taps; t++) {
        const double at = base + (double)(first + t);
        const bool outside = at < 0 || at > (double)(s->in - 1);
        weight[t] = outside && s->exclude_outside ? 0.0 : filter(s, (at - x) * shrink);
        axis->at[o * axis->n_taps + t] = clamp(at, s->in);
        sum += weight[t];
    }
    for (int64_t t = 0; (s->antialias || s->exclude_outside) && t < axis->n_taps; t++)
        weight[t] /= sum;
}

/* An axis that is not resized stays as it is, whatever the coordinates would make of
 * it. */
static bool is_kept(const kiln_resize_axis_spec *s) {
    return s->in == s->out && s->scale == 1.0 &&
           s->coordinates != KILN_RESIZE_TF_CROP_AND_RESIZE;
}

kiln_resize_axis kiln_resize_axis_new(kiln_arena *a, const kiln_resize_axis_spec *s) {
    KILN_ASSERT(s->in >= 0 && s->out >= 0 && s->scale > 0,
                "an axis of %lld is resized to %lld by %g", (long long)s->in,
                (long long)s->out, s->scale);
    const bool is_copy = s->mode == KILN_RESIZE_NEAREST || is_kept(s);
    const double shrink = s->antialias && s->scale < 1.0 ? s->scale : 1.0;
    const double reach = s->mode == KILN_RESIZE_CUBIC ? 2.0 : 1.0;
    const int64_t first = is_copy ? 0 : (int64_t)floor(-reach / shrink) + 1;
    kiln_resize_axis axis = {.n_taps = is_copy ? 1 : 2 - 2 * first};
    axis.at = kiln_array(a, int64_t, s->out * axis.n_taps);
    axis.weight = kiln_array(a, double, s->out *axis.n_taps);
    axis.is_outside = kiln_array(a, bool, s->out);
    for (int64_t o = 0; o < s->out; o++) {
        const double x = source(s, o);
        axis.is_outside[o] = s->coordinates == KILN_RESIZE_TF_CROP_AND_RESIZE &&
                             !(x >= 0 && x <= (double)(s->in - 1));
        if (is_copy) {
            axis.at[o] = is_kept(s) ? o : clamp(nearest(s->rounding, x), s->in);
            axis.weight[o] = 1.0;
        } else {
            fill(s, x, first, shrink, &axis, o);
        }
    }
    return axis;
}
