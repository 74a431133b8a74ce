/* Coordinates and weights of one resized axis as stages; the formulas are those of
 * resize_axis.c (ONNX Resize-19; Keys 1981). */
#include "compiler/op/image/resize_expr.h"

#include <math.h>

static const kiln_expr *num(const kiln_resize_expr *r, double v) {
    return kiln_x_float(r->arena, KILN_F64, v);
}

static const kiln_expr *plus(const kiln_resize_expr *r, const kiln_expr *x, double v) {
    return kiln_x_add(r->arena, x, num(r, v));
}

/* ---- positions ------------------------------------------------------------------- */

/* Position in the input of output element o, whose number is x. */
static const kiln_expr *source(const kiln_resize_expr *r, const kiln_expr *x) {
    const kiln_resize_axis_spec *s = &r->spec;
    kiln_arena *a = r->arena;
    const double in = (double)s->in, out = (double)s->out, length = s->scale * in;
    const kiln_expr *scale = num(r, s->scale);
    const kiln_expr *middle = kiln_x_div(a, plus(r, x, 0.5), scale);
    switch (s->coordinates) {
    case KILN_RESIZE_HALF_PIXEL:
        return plus(r, middle, -0.5);
    case KILN_RESIZE_HALF_PIXEL_SYMMETRIC:
        return plus(r, kiln_x_add(a, num(r, in / 2.0 * (1.0 - out / length)), middle),
                    -0.5);
    case KILN_RESIZE_PYTORCH_HALF_PIXEL:
        return s->out > 1 ? plus(r, middle, -0.5) : num(r, 0);
    case KILN_RESIZE_ALIGN_CORNERS:
        if (s->out == 1 || length == 1.0)
            return num(r, 0);
        return kiln_x_div(a, kiln_x_mul(a, x, num(r, in - 1.0)), num(r, length - 1.0));
    case KILN_RESIZE_ASYMMETRIC:
        return kiln_x_div(a, x, scale);
    case KILN_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return middle;
    case KILN_RESIZE_TF_CROP_AND_RESIZE:
        break;
    }
    const double width = (s->roi_end - s->roi_begin) * (in - 1.0);
    const double begin = s->roi_begin * (in - 1.0);
    if (s->out <= 1)
        return num(r, begin + 0.5 * width);
    const kiln_expr *step = kiln_x_div(a, x, num(r, out - 1.0));
    return plus(r, kiln_x_mul(a, step, num(r, width)), begin);
}

static const kiln_expr *nearest(const kiln_resize_expr *r, const kiln_expr *x) {
    kiln_arena *a = r->arena;
    switch (r->spec.rounding) {
    case KILN_RESIZE_ROUND_PREFER_FLOOR:
        return kiln_x_fn(a, KILN_INTRIN_ceil, plus(r, x, -0.5));
    case KILN_RESIZE_ROUND_PREFER_CEIL:
        return kiln_x_fn(a, KILN_INTRIN_floor, plus(r, x, 0.5));
    case KILN_RESIZE_FLOOR:
        return kiln_x_fn(a, KILN_INTRIN_floor, x);
    case KILN_RESIZE_CEIL:
        break;
    }
    return kiln_x_fn(a, KILN_INTRIN_ceil, x);
}

/* A whole number in f64 as an index of the axis, in so many bits; what lies outside moves
 * to the ends. */
static const kiln_expr *index_of(const kiln_resize_expr *r, const kiln_expr *at,
                                 kiln_dtype dtype) {
    kiln_arena *a = r->arena;
    const kiln_expr *zero = num(r, 0), *last = num(r, (double)(r->spec.in - 1));
    at = kiln_x_select(a, kiln_x_less(a, at, last), at, last);
    at = kiln_x_select(a, kiln_x_less(a, zero, at), at, zero);
    return kiln_x_cast(a, dtype, at);
}

/* Says to those who look at ranges what holds anyway. */
static const kiln_expr *bounded(const kiln_resize_expr *r, const kiln_expr *at) {
    kiln_arena *a = r->arena;
    at = kiln_x_cast(a, KILN_I64, at);
    at = kiln_x_binary(a, KILN_EXPR_MIN, at, kiln_x_index(a, r->spec.in - 1));
    return kiln_x_binary(a, KILN_EXPR_MAX, at, kiln_x_index(a, 0));
}

/* Of tables of indexes: as wide as f32 where that is enough, so that vectors that are
 * interpolated are not cut by half. */
static kiln_dtype table_dtype(const kiln_resize_expr *r) {
    return r->spec.in <= INT32_MAX ? KILN_I32 : KILN_I64;
}

static kiln_status make_position(kiln_resize_expr *r, kiln_compute_cx *cx, int axis) {
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type t = kiln_type_make(KILN_F64, 1, &r->spec.out);
    kiln_te *te =
        kiln_compute_begin(cx, kiln_format(cx->arena, "position%d", axis), &t, index);
    const kiln_expr *x = kiln_x_cast(cx->arena, KILN_F64, index[0]);
    return kiln_compute_inner(cx, te, &t, source(r, x), &r->position);
}

/* ---- nearest elements in whole numbers ------------------------------------------- */

static int64_t gcd(int64_t x, int64_t y) {
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

static bool fits(const kiln_resize_expr *r, const kiln_resize_axis *table) {
    for (int64_t o = 0; o < r->spec.out; o++) {
        const int64_t at = (o * r->num + r->add) / r->den;
        if (table->at[o] != (at < r->spec.in ? at : r->spec.in - 1))
            return false;
    }
    return true;
}

/* Usual scales need no floating-point coordinates: (o * in + add) / out, both divided
 * by what they share, gives the elements that the formula gives. Tried, not derived. */
static bool find_rational(kiln_resize_expr *r, kiln_arena *a) {
    const kiln_resize_axis table = kiln_resize_axis_new(a, &r->spec);
    const int64_t shared = gcd(r->spec.in, r->spec.out);
    r->num = r->spec.in / shared;
    r->den = r->spec.out / shared;
    const int64_t candidates[] = {0, r->num / 2, r->den / 2, r->den - 1,
                                  (r->num + r->den) / 2};
    for (size_t i = 0; i < KILN_COUNT(candidates); i++) {
        r->add = candidates[i];
        if (fits(r, &table))
            return true;
    }
    return false;
}

/* ---- taps ------------------------------------------------------------------------ */

/* The filter at a distance from its middle. */
static const kiln_expr *filter(const kiln_resize_expr *r, const kiln_expr *distance) {
    kiln_arena *a = r->arena;
    const double c = r->spec.cubic_a;
    const kiln_expr *d = kiln_x_fn(a, KILN_INTRIN_abs, distance);
    const kiln_expr *zero = num(r, 0), *one = num(r, 1);
    if (r->spec.mode == KILN_RESIZE_LINEAR)
        return kiln_x_select(a, kiln_x_less(a, d, one), kiln_x_sub(a, one, d), zero);
    const kiln_expr *near = plus(r, kiln_x_mul(a, num(r, c + 2.0), d), -(c + 3.0));
    near = plus(r, kiln_x_mul(a, kiln_x_mul(a, near, d), d), 1.0);
    const kiln_expr *far = plus(r, kiln_x_mul(a, num(r, c), d), -5.0 * c);
    far = plus(r, kiln_x_mul(a, far, d), 8.0 * c);
    far = plus(r, kiln_x_mul(a, far, d), -4.0 * c);
    far = kiln_x_select(a, kiln_x_less(a, d, num(r, 2)), far, zero);
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_LE, d, one), near, far);
}

/* Linear taps whose weights are as they come: of those only the one behind may be 0,
 * where x is whole. It counts as half of the tap before it, which is the same, and so no
 * weight is 0: nobody has to look at weights, whatever is not finite beside them. */
static bool is_plain(const kiln_resize_axis_spec *s) {
    return s->mode == KILN_RESIZE_LINEAR && !s->antialias && !s->exclude_outside;
}

/* Tap t, that many elements from floor(x), and its place there. */
static const kiln_expr *place_of(const kiln_resize_expr *r, const kiln_expr *x,
                                 const kiln_expr *tap) {
    kiln_arena *a = r->arena;
    return kiln_x_add(a, kiln_x_fn(a, KILN_INTRIN_floor, x),
                      kiln_x_cast(a, KILN_F64, tap));
}

static const kiln_expr *is_whole(const kiln_resize_expr *r, const kiln_expr *x) {
    return kiln_x_binary(r->arena, KILN_EXPR_EQ,
                         kiln_x_fn(r->arena, KILN_INTRIN_floor, x), x);
}

static kiln_status make_at(kiln_resize_expr *r, kiln_compute_cx *cx, int axis,
                           int64_t first, const kiln_type *t) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, kiln_format(a, "at%d", axis), t, index);
    const kiln_expr *x = kiln_compute_read_value(cx, &r->position, index + 1);
    const kiln_expr *tap = kiln_x_add(a, index[0], kiln_x_index(a, first));
    if (r->has_all_weights)
        tap = kiln_x_select(a, is_whole(r, x), kiln_x_index(a, 0), tap);
    return kiln_compute_inner(cx, te, t,
                              index_of(r, place_of(r, x, tap), table_dtype(r)), &r->at);
}

/* The weight before it is scaled. */
static const kiln_expr *weight_of(const kiln_resize_expr *r, const kiln_expr *x,
                                  const kiln_expr *tap, double shrink) {
    kiln_arena *a = r->arena;
    const kiln_expr *at = place_of(r, x, tap);
    const kiln_expr *w = filter(r, kiln_x_mul(a, kiln_x_sub(a, at, x), num(r, shrink)));
    if (r->has_all_weights)
        return kiln_x_select(a, is_whole(r, x), num(r, 0.5), w);
    if (!r->spec.exclude_outside)
        return w;
    const kiln_expr *below = kiln_x_less(a, at, num(r, 0));
    const kiln_expr *above = kiln_x_less(a, num(r, (double)(r->spec.in - 1)), at);
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_OR, below, above), num(r, 0), w);
}

/* Stages "at" and "weight" of an axis, tap by tap: a tap of neighbours is one vector.
 * And their sum where weights are scaled. */
static kiln_status make_taps(kiln_resize_expr *r, kiln_compute_cx *cx, int axis,
                             int64_t first, double shrink, kiln_dtype dtype) {
    kiln_arena *a = cx->arena;
    const kiln_resize_axis_spec *s = &r->spec;
    const kiln_expr *index[KILN_MAX_RANK];
    const int64_t dim[2] = {r->n_taps, s->out};
    const kiln_type t = kiln_type_make(KILN_F64, 2, dim);
    kiln_te_value weight, sum;
    KILN_TRY(make_at(r, cx, axis, first, &t));
    kiln_te *te = kiln_compute_begin(cx, kiln_format(a, "filter%d", axis), &t, index);
    const kiln_expr *x = kiln_compute_read_value(cx, &r->position, index + 1);
    const kiln_expr *tap = kiln_x_add(a, index[0], kiln_x_index(a, first));
    KILN_TRY(kiln_compute_inner(cx, te, &t, weight_of(r, x, tap, shrink), &weight));
    const bool is_scaled = s->antialias || s->exclude_outside;
    if (is_scaled) {
        const kiln_type row = kiln_type_make(KILN_F64, 1, dim + 1);
        te = kiln_compute_begin(cx, kiln_format(a, "sum%d", axis), &row, index + 1);
        const kiln_axis *over = kiln_te_reduce_axis(te, "t", r->n_taps);
        index[0] = kiln_axis_var(a, over);
        const kiln_expr *w = kiln_compute_read_value(cx, &weight, index);
        KILN_TRY(kiln_compute_inner(cx, te, &row, kiln_te_sum(te, w, &over, 1), &sum));
    }
    te = kiln_compute_begin(cx, kiln_format(a, "weight%d", axis), &t, index);
    const kiln_expr *w = kiln_compute_read_value(cx, &weight, index);
    if (is_scaled)
        w = kiln_x_div(a, w, kiln_compute_read_value(cx, &sum, index + 1));
    return kiln_compute_inner(cx, te, &t, kiln_x_cast(a, dtype, w), &r->weight);
}

kiln_status kiln_resize_expr_init(kiln_resize_expr *r, kiln_compute_cx *cx, int axis,
                                  const kiln_resize_axis_spec *spec, kiln_dtype dtype) {
    KILN_ASSERT(axis >= 0 && axis < cx->in[0].type.rank, "axis %d of rank %d", axis,
                cx->in[0].type.rank);
    const bool is_crop = spec->coordinates == KILN_RESIZE_TF_CROP_AND_RESIZE;
    *r = (kiln_resize_expr){.spec = *spec, .arena = cx->arena, .n_taps = 1};
    r->is_kept = spec->in == spec->out && spec->scale == 1.0 && !is_crop;
    if (r->is_kept)
        return KILN_OK;
    r->is_nearest = spec->mode == KILN_RESIZE_NEAREST;
    r->is_rational = r->is_nearest && !is_crop && find_rational(r, cx->arena);
    if (r->is_rational)
        return KILN_OK;
    KILN_TRY(make_position(r, cx, axis));
    if (r->is_nearest)
        return KILN_OK;
    const double shrink = spec->antialias && spec->scale < 1.0 ? spec->scale : 1.0;
    const double reach = spec->mode == KILN_RESIZE_CUBIC ? 2.0 : 1.0;
    const int64_t first = (int64_t)floor(-reach / shrink) + 1;
    r->n_taps = 2 - 2 * first;
    r->has_all_weights = is_plain(spec);
    return make_taps(r, cx, axis, first, shrink, dtype);
}

/* ---- use ------------------------------------------------------------------------- */

const kiln_expr *kiln_resize_index(const kiln_resize_expr *r, const kiln_compute_cx *cx,
                                   const kiln_expr *o) {
    kiln_arena *a = r->arena;
    if (r->is_kept)
        return o;
    if (r->is_rational) {
        const kiln_expr *at = kiln_x_mul(a, o, kiln_x_index(a, r->num));
        at = kiln_compute_div(cx, kiln_x_add(a, at, kiln_x_index(a, r->add)), r->den);
        const bool may_pass =
            ((r->spec.out - 1) * r->num + r->add) / r->den >= r->spec.in;
        return may_pass ? kiln_x_binary(a, KILN_EXPR_MIN, at,
                                        kiln_x_index(a, r->spec.in - 1))
                        : at;
    }
    const kiln_expr *x = kiln_compute_read_value(cx, &r->position, &o);
    return bounded(r, index_of(r, nearest(r, x), KILN_I64));
}

const kiln_expr *kiln_resize_tap(const kiln_resize_expr *r, const kiln_compute_cx *cx,
                                 const kiln_expr *o, const kiln_expr *t,
                                 const kiln_expr **weight) {
    const kiln_expr *at[2] = {t, o};
    *weight = kiln_compute_read_value(cx, &r->weight, at);
    return bounded(r, kiln_compute_read_value(cx, &r->at, at));
}

const kiln_expr *kiln_resize_outside(const kiln_resize_expr *r,
                                     const kiln_compute_cx *cx, const kiln_expr *o) {
    kiln_arena *a = r->arena;
    if (r->spec.coordinates != KILN_RESIZE_TF_CROP_AND_RESIZE)
        return NULL;
    const kiln_expr *x = kiln_compute_read_value(cx, &r->position, &o);
    const kiln_expr *above = kiln_x_binary(a, KILN_EXPR_LE, num(r, 0), x);
    const kiln_expr *below =
        kiln_x_binary(a, KILN_EXPR_LE, x, num(r, (double)(r->spec.in - 1)));
    return kiln_x_not(a, kiln_x_binary(a, KILN_EXPR_AND, above, below));
}
