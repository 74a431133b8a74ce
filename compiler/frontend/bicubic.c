/* Resizing by cubic pieces. Positions are rounded to 1/1024 of a pixel, at which weights
 * are taken from a table: all of that is known at import, so each axis becomes four rows
 * of it for each result, weighted by constants. Source: TensorFlow,
 * resize_bicubic_op.cc; the cubic: Keys, Cubic Convolution Interpolation for Digital Image
 * Processing, 1981. */
#include "compiler/frontend/bicubic.h"

#include <inttypes.h>
#include <math.h>

enum { TAPS = 4, TABLE = 1024 };

/* The cubic at a distance of 0 to 1, and of 1 to 2 pixels, in single precision as the
 * table has it. */
static float near_weight(double a, int at) {
    const float x = (float)((double)at / TABLE);
    return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
}

static float far_weight(double a, int at) {
    const float x = (float)((double)(float)((double)at / TABLE) + 1);
    return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

typedef struct taps {
    int64_t at[TAPS];
    float weight[TAPS];
} taps;

static taps taps_of(float position, int64_t size, bool has_centers) {
    const double a = has_centers ? -0.5 : -0.75;
    const int64_t first = (int64_t)floorf(position);
    const int part = (int)lrintf((position - (float)first) * TABLE);
    taps t = {.weight = {far_weight(a, part), near_weight(a, part),
                         near_weight(a, TABLE - part), far_weight(a, TABLE - part)}};
    float sum = 0;
    for (int i = 0; i < TAPS; i++) {
        const int64_t at = first - 1 + i;
        t.at[i] = at < 0 ? 0 : at >= size ? size - 1 : at;
        if (has_centers && t.at[i] != at)
            t.weight[i] = 0;
        sum += t.weight[i];
    }
    for (int i = 0; i < TAPS && has_centers && fabsf(sum) > 1e-30f; i++)
        t.weight[i] *= 1.0f / sum;
    return t;
}

/* One axis of x [N, H, W, C]. */
static kiln_value *resize_axis(kiln_compose *c, kiln_value *x, int axis, int64_t size,
                               bool align_corners, bool has_centers) {
    const int64_t in = x->type.dim[axis], dim[] = {size, 1, 1};
    const bool has_corners = align_corners && size > 1;
    const float scale =
        has_corners ? (float)(in - 1) / (float)(size - 1) : (float)in / (float)size;
    const int rank =
        axis == 1 ? 3 : 2; /* of weights, against the axes from `axis` on */
    kiln_value *y = NULL;
    kiln_compose_fail(c, kiln_import_spend(c->cx, (int64_t)sizeof(taps) * size));
    if (c->status != KILN_OK)
        return x;
    taps *const all = kiln_array(&c->cx->scratch, taps, (size_t)size);
    int64_t *const at = kiln_array(&c->cx->scratch, int64_t, (size_t)size);
    double *const weight = kiln_array(&c->cx->scratch, double, (size_t)size);
    for (int64_t i = 0; i < size; i++) {
        const float position =
            has_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
        all[i] = taps_of(position, in, has_centers);
    }
    for (int k = 0; k < TAPS; k++) {
        for (int64_t i = 0; i < size; i++) {
            at[i] = all[i].at[k];
            weight[i] = (double)all[i].weight[k];
        }
        kiln_value *const rows = kiln_compose_axis(
            c, &kiln_op_gather, x, kiln_compose_ints(c, 1, &size, at), axis);
        kiln_value *const part =
            kiln_compose_2(c, &kiln_op_mul, rows,
                           kiln_compose_floats(c, x->type.dtype, rank, dim, weight));
        y = y == NULL ? part : kiln_compose_2(c, &kiln_op_add, y, part);
    }
    return y;
}

kiln_value *kiln_channels_last_bicubic(kiln_compose *c, kiln_value *x,
                                       const int64_t *size, bool align_corners,
                                       bool has_centers) {
    const kiln_type *const t = &x->type;
    if (c->status != KILN_OK)
        return x;
    bool is_good =
        t->rank == 4 && kiln_dtype_is_float(t->dtype) && kiln_type_elems(t) > 0;
    for (int i = 0; i < 2 && is_good; i++)
        is_good = size[i] >= 1 && size[i] <= INT32_MAX && t->dim[1 + i] <= INT32_MAX;
    if (!is_good) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "what is resized must be floats [n, height, "
                                       "width, channels] without a 0, is %s, and sizes "
                                       "1 to 2^31 - 1",
                                       kiln_type_text(&c->cx->scratch, t)));
        return x;
    }
    const int64_t first = size[0], second = size[1];
    x = resize_axis(c, x, 1, first, align_corners, has_centers);
    return resize_axis(c, x, 2, second, align_corners, has_centers);
}
