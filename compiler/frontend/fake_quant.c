/* Fake quantisation, in the steps and the single precision of TensorFlow's kernel, so
 * that ties fall to the same side:
 *
 *     y = floor((clip(x, low, high) - low) * (steps / (max - min)) - zero + 0.5) * scale
 *
 * where low and high are min and max moved by less than a step, so that zero is at a
 * step. Source: TensorFlow, fake_quant_ops_functor.h. */
#include "compiler/frontend/fake_quant.h"

#include <inttypes.h>
#include <math.h>

typedef struct range {
    float low, high, scale, inverse, zero;
} range;

/* Where it is 0 to 0, all results are 0: clipped to 0, with a scale of 0. */
static range nudged(float min, float max, float first, float last) {
    range r = {0};
    if (min == 0.0f && max == 0.0f)
        return r;
    r.scale = (max - min) / (last - first);
    r.inverse = (last - first) / (max - min);
    const float zero = first - min / r.scale;
    const float at = zero < first ? first : zero > last ? last : roundf(zero);
    r.low = (first - at) * r.scale;
    r.high = (last - at) * r.scale;
    r.zero = floorf(-r.low * r.inverse + 0.5f);
    return r;
}

enum { LOW, HIGH, INVERSE, ZERO, SCALE, N_PARTS };

/* part[i]: a scalar, or a list along the last axis. */
static bool read_ranges(kiln_compose *c, const double *min, const double *max, size_t n,
                        float first, float last, bool is_list, kiln_value **part) {
    kiln_import_cx *const cx = c->cx;
    double *v[N_PARTS];
    for (int i = 0; i < N_PARTS; i++)
        v[i] = kiln_array(&cx->scratch, double, n);
    for (size_t k = 0; k < n; k++) {
        const bool is_range =
            isfinite(min[k]) && isfinite(max[k]) && min[k] <= 0 && max[k] >= 0;
        if (!is_range) {
            kiln_compose_fail(c, kiln_fail(cx->err, KILN_ERR_SHAPE,
                                           "a range must be finite and hold 0, is %g "
                                           "to %g",
                                           min[k], max[k]));
            return false;
        }
        const range r = nudged((float)min[k], (float)max[k], first, last);
        v[LOW][k] = (double)r.low;
        v[HIGH][k] = (double)r.high;
        v[INVERSE][k] = (double)r.inverse;
        v[ZERO][k] = (double)r.zero;
        v[SCALE][k] = (double)r.scale;
    }
    const int64_t dim = (int64_t)n;
    for (int i = 0; i < N_PARTS; i++)
        part[i] = kiln_compose_floats(c, KILN_F32, is_list ? 1 : 0, &dim, v[i]);
    return c->status == KILN_OK;
}

kiln_value *kiln_compose_fake_quant(kiln_compose *c, kiln_value *x, const double *min,
                                    const double *max, size_t n, int64_t bits,
                                    bool is_narrow) {
    enum { MIN_BITS = 2, MAX_BITS = 16 };
    const kiln_type *const t = &x->type;
    kiln_value *part[N_PARTS];
    if (c->status != KILN_OK)
        return x;
    const bool is_list = n != 1;
    if (bits < MIN_BITS || bits > MAX_BITS || t->dtype != KILN_F32 || n < 1 ||
        (is_list && (t->rank < 1 || t->dim[t->rank - 1] != (int64_t)n))) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "it rounds floats to %d to %d bits by a range, "
                                       "or one for each channel; there are %s, %" PRId64
                                       " bits and %zu ranges",
                                       MIN_BITS, MAX_BITS,
                                       kiln_type_text(&c->cx->scratch, t), bits, n));
        return x;
    }
    const float first = is_narrow ? 1 : 0, last = (float)((1 << bits) - 1);
    if (!read_ranges(c, min, max, n, first, last, is_list, part))
        return x;
    x = kiln_compose_2(c, &kiln_op_min, x, part[HIGH]);
    x = kiln_compose_2(c, &kiln_op_max, x, part[LOW]);
    x = kiln_compose_2(c, &kiln_op_sub, x, part[LOW]);
    x = kiln_compose_2(c, &kiln_op_mul, x, part[INVERSE]);
    x = kiln_compose_2(c, &kiln_op_sub, x, part[ZERO]);
    x = kiln_compose_scalar(c, &kiln_op_add, x, 0.5);
    x = kiln_compose_1(c, &kiln_op_floor, x);
    return kiln_compose_2(c, &kiln_op_mul, x, part[SCALE]);
}
