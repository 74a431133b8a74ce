/* grid_sample: x read at the positions that a grid gives.
 *
 * y[b,c,o] = sum over taps of x[b,c,at] * product of the axes' weights. A coordinate of
 * the grid runs from -1 to 1 over an axis (the last axis of x first): over the centres
 * of its elements with align_corners, else over their outer borders. Positions outside
 * are 0, moved to the border, or reflected at it. Cubic weights: Keys 1981, a = -0.75.
 * Source: ONNX GridSample-22 (Jaderberg et al. 2015, section 3.3). A coordinate that is
 * not finite reads what lies outside, or gives NaN where it is interpolated.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/op_window.h"

enum { X, GRID };
enum { MODE, PADDING, ALIGN_CORNERS, N_ATTR };
enum { MAX_AXES = KILN_MAX_RANK - 2, MAX_TAPS = 4 };

typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
static const int64_t taps_of[] = {1, 2, 4}; /* by mode */

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "mode",
     .kind = KILN_ATTR_WORD,
     .doc = "the filter",
     .default_i = LINEAR,
     .choices = modes},
    {.name = "padding",
     .kind = KILN_ATTR_WORD,
     .doc = "what lies outside of x",
     .choices = paddings},
    {.name = "align_corners",
     .kind = KILN_ATTR_BOOL,
     .doc = "-1 and 1 are the centres of the outermost elements, not their borders"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *grid = &n->in[GRID]->type;
    KILN_TRY(kiln_check_dtype(n, X, KILN_DT_FLOAT, err));
    KILN_TRY(kiln_check_dtype(n, GRID, KILN_DT_FLOAT, err));
    if (x->rank < 3 || grid->rank != x->rank ||
        grid->dim[grid->rank - 1] != x->rank - 2 || grid->dim[0] != x->dim[0])
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "inputs 'x' and 'grid' must have shapes [N, C, spatial...] and "
            "[N, spatial..., axes], have rank %d and %d",
            x->rank, grid->rank);
    int64_t dim[KILN_MAX_RANK] = {x->dim[0], x->dim[1]};
    for (int i = 2; i < x->rank; i++)
        dim[i] = grid->dim[i - 1];
    *out = kiln_type_make(x->dtype, x->rank, dim);
    out->place = x->place;
    if (kiln_type_elems(out) > 0 && kiln_type_elems(x) == 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have elements where 'grid' has");
    return KILN_OK;
}

/* Folds v into [lo, hi] by reflections at both ends. */
static double reflect(double v, double lo, double hi) {
    const double range = hi - lo;
    if (range <= 0)
        return lo;
    const double t = fmod(fabs(v - lo), 2 * range);
    return lo + (t > range ? 2 * range - t : t);
}

static double clamp(double v, double lo, double hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* One axis of one output position: elements read (-1: a zero) and their weights. */
typedef struct axis_taps {
    int64_t at[MAX_TAPS];
    double weight[MAX_TAPS];
} axis_taps;

typedef struct borders {
    double lo, hi;
} borders;

static borders borders_of(const kiln_node *n, int64_t length) {
    const double margin = n->attr[ALIGN_CORNERS].i != 0 ? 0.0 : 0.5;
    return (borders){-margin, (double)length - 1 + margin};
}

static int64_t resolve(const kiln_node *n, double at, int64_t length) {
    const double last = (double)length - 1;
    const borders b = borders_of(n, length);
    switch ((padding)n->attr[PADDING].i) {
    case ZEROS:
        return at >= 0 && at <= last ? (int64_t)at : -1;
    case BORDER:
        break;
    case REFLECTION:
        at = trunc(reflect(at, b.lo, b.hi));
        break;
    }
    return at >= 0 ? (int64_t)clamp(at, 0, last) : 0; /* NaN: 0 */
}

/* Where a coordinate is on an axis of x, outside positions moved by the padding. */
static double position(const kiln_node *n, double v, int64_t length) {
    const borders b = borders_of(n, length);
    double at = n->attr[ALIGN_CORNERS].i != 0 ? (v + 1) / 2 * (double)(length - 1)
                                              : ((v + 1) * (double)length - 1) / 2;
    if (n->attr[MODE].i == NEAREST)
        at = nearbyint(at);
    if (at >= b.lo && at <= b.hi)
        return at;
    switch ((padding)n->attr[PADDING].i) {
    case ZEROS:
        return at;
    case BORDER:
        return clamp(at, 0, (double)length - 1);
    case REFLECTION:
        return reflect(at, b.lo, b.hi);
    }
    return at;
}

/* Keys' kernel at distance d. */
static double cubic(double d) {
    const double a = -0.75, x = fabs(d);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void axis_at(const kiln_node *n, double v, int64_t length, axis_taps *t) {
    const double at = position(n, v, length);
    const mode m = (mode)n->attr[MODE].i;
    if (m == NEAREST) {
        t->at[0] = resolve(n, trunc(at), length);
        t->weight[0] = 1;
        return;
    }
    const double first = m == LINEAR ? floor(at) : floor(at) - 1;
    for (int i = 0; i < taps_of[m]; i++) {
        const double d = at - (first + i);
        t->at[i] = resolve(n, first + i, length);
        t->weight[i] = m == LINEAR ? 1 - fabs(d) : cubic(d);
    }
}

/* The sum over all taps, of the plane of x that starts at `base`. Cubic weights may be
 * negative: a magnitude takes their absolute values. */
static double sample(const kiln_node *n, const kiln_eval_cx *cx, int64_t base,
                     const axis_taps *t, const int64_t *stride) {
    const kiln_wide *const x = &cx->in[X];
    const int axes = x->type.rank - 2;
    int64_t tap[MAX_AXES] = {0}, n_taps[MAX_AXES];
    double sum = 0;
    for (int i = 0; i < axes; i++)
        n_taps[i] = taps_of[n->attr[MODE].i];
    do {
        int64_t at = base;
        double weight = 1;
        bool is_zero = false;
        for (int i = 0; i < axes; i++) {
            const int64_t e = t[i].at[tap[i]];
            is_zero = is_zero || e < 0;
            weight *=
                cx->is_magnitude ? fabs(t[i].weight[tap[i]]) : t[i].weight[tap[i]];
            at += e * stride[2 + i];
        }
        if (!is_zero)
            sum += n->attr[MODE].i == NEAREST ? x->f[at] : weight * x->f[at];
    } while (kiln_next_coord(axes, n_taps, tap));
    return sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[X], *grid = &cx->in[GRID];
    const kiln_type *y = &cx->out[0].type;
    const int axes = x->type.rank - 2;
    const int64_t elems = kiln_type_elems(y);
    if (elems == 0)
        return KILN_OK;
    const int64_t batch = y->dim[0], channels = y->dim[1];
    const int64_t points = elems / batch / channels;
    int64_t stride[KILN_MAX_RANK];
    axis_taps t[MAX_AXES];
    kiln_strides(x->type.rank, x->type.dim, stride);
    for (int64_t p = 0; p < batch * points; p++) {
        const int64_t b = p / points;
        for (int i = 0; i < axes; i++)
            axis_at(n, grid->f[p * axes + axes - 1 - i], x->type.dim[2 + i], &t[i]);
        for (int64_t c = 0; c < channels; c++)
            cx->out[0].f[(b * channels + c) * points + p % points] =
                sample(n, cx, b * stride[0] + c * stride[1], t, stride);
    }
    return KILN_OK;
}

static int64_t taps_per_element(const kiln_node *n) {
    int64_t taps = 1;
    for (int i = 2; i < n->in[X]->type.rank; i++)
        taps *= taps_of[n->attr[MODE].i];
    return taps;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->flops =
        kiln_mul_sat(kiln_type_elems(&n->out[0]->type), 2 * taps_per_element(n) - 1);
}

/* A coordinate carries a few roundings, which a large axis makes larger. */
static kiln_bound error_bound(const kiln_node *n) {
    int64_t longest = 1;
    for (int i = 2; i < n->in[X]->type.rank; i++)
        longest = n->in[X]->type.dim[i] > longest ? n->in[X]->type.dim[i] : longest;
    if (n->attr[MODE].i == NEAREST)
        return kiln_bound_exact(n);
    return (kiln_bound){
        .kind = KILN_BOUND_DOT, .c = 4.0, .k = 8 * taps_per_element(n) + longest};
}

/* ---- tensor expressions: coordinates in f64, as above ---- */

static const kiln_expr *num(kiln_arena *a, double v) {
    return kiln_x_float(a, KILN_F64, v);
}

static const kiln_expr *clamp_expr(kiln_arena *a, const kiln_expr *v, double lo,
                                   double hi) {
    v = kiln_x_select(a, kiln_x_less(a, v, num(a, lo)), num(a, lo), v);
    return kiln_x_select(a, kiln_x_less(a, num(a, hi), v), num(a, hi), v);
}

static const kiln_expr *between(kiln_arena *a, const kiln_expr *v, double lo,
                                double hi) {
    return kiln_x_binary(a, KILN_EXPR_AND,
                         kiln_x_binary(a, KILN_EXPR_LE, num(a, lo), v),
                         kiln_x_binary(a, KILN_EXPR_LE, v, num(a, hi)));
}

static const kiln_expr *reflect_expr(kiln_arena *a, const kiln_expr *v, borders b) {
    const double range = b.hi - b.lo;
    if (range <= 0)
        return num(a, b.lo);
    const kiln_expr *arg[2] = {
        kiln_x_fn(a, KILN_INTRIN_abs, kiln_x_sub(a, v, num(a, b.lo))),
        num(a, 2 * range)};
    const kiln_expr *t = kiln_x_call(a, KILN_INTRIN_fmod, arg);
    /* The nearer end of the period. */
    const kiln_expr *back = kiln_x_sub(a, arg[1], t);
    const kiln_expr *is_far = kiln_x_less(a, num(a, range), t);
    return kiln_x_add(a, num(a, b.lo), kiln_x_select(a, is_far, back, t));
}

/* Stage: `position` of each output point on one axis, [N, spatial...]. */
static kiln_status position_stage(kiln_compute_cx *cx, const kiln_type *points,
                                  int axis, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_node *n = cx->node;
    const kiln_expr *index[KILN_MAX_RANK + 1];
    const int64_t length = cx->in[X].type.dim[2 + axis];
    const int axes = points->rank - 1;
    const borders b = borders_of(n, length);
    kiln_te *te =
        kiln_compute_begin(cx, kiln_format(a, "position%d", axis), points, index);
    index[points->rank] = kiln_x_index(a, axes - 1 - axis);
    const kiln_expr *v = kiln_x_cast(a, KILN_F64, kiln_compute_read(cx, GRID, index));
    const kiln_expr *up = kiln_x_add(a, v, num(a, 1)), *at;
    if (n->attr[ALIGN_CORNERS].i != 0)
        at = kiln_x_mul(a, kiln_x_div(a, up, num(a, 2)), num(a, (double)(length - 1)));
    else
        at = kiln_x_div(
            a, kiln_x_sub(a, kiln_x_mul(a, up, num(a, (double)length)), num(a, 1)),
            num(a, 2));
    if (n->attr[MODE].i == NEAREST)
        at = kiln_x_fn(a, KILN_INTRIN_round, at);
    const kiln_expr *moved = at;
    switch ((padding)n->attr[PADDING].i) {
    case ZEROS:
        break;
    case BORDER:
        moved = clamp_expr(a, at, 0, (double)length - 1);
        break;
    case REFLECTION:
        moved = reflect_expr(a, at, b);
        break;
    }
    return kiln_compute_inner(
        cx, te, points, kiln_x_select(a, between(a, at, b.lo, b.hi), at, moved), out);
}

/* `resolve` of a whole number in f64; -1: a zero. */
static const kiln_expr *resolved(kiln_compute_cx *cx, const kiln_expr *at,
                                 int64_t length) {
    kiln_arena *a = cx->arena;
    const double last = (double)length - 1;
    const kiln_expr *is_inside = between(a, at, 0, last);
    switch ((padding)cx->node->attr[PADDING].i) {
    case ZEROS:
        return kiln_x_select(a, is_inside, kiln_x_cast(a, KILN_I64, at),
                             kiln_x_index(a, -1));
    case BORDER:
        break;
    case REFLECTION:
        at = kiln_x_fn(a, KILN_INTRIN_trunc,
                       reflect_expr(a, at, borders_of(cx->node, length)));
        break;
    }
    at = clamp_expr(a, at, 0, last);
    return kiln_x_cast(a, KILN_I64, at); /* NaN: 0 */
}

static const kiln_expr *cubic_expr(kiln_arena *a, const kiln_expr *d) {
    const double c = -0.75;
    const kiln_expr *x = kiln_x_fn(a, KILN_INTRIN_abs, d);
    const kiln_expr *near =
        kiln_x_sub(a, kiln_x_mul(a, num(a, c + 2), x), num(a, c + 3));
    near = kiln_x_add(a, kiln_x_mul(a, kiln_x_mul(a, near, x), x), num(a, 1));
    const kiln_expr *far = kiln_x_sub(a, kiln_x_mul(a, num(a, c), x), num(a, 5 * c));
    far = kiln_x_add(a, kiln_x_mul(a, far, x), num(a, 8 * c));
    far = kiln_x_sub(a, kiln_x_mul(a, far, x), num(a, 4 * c));
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_LE, x, num(a, 1)), near, far);
}

/* Stage: element and weight of each tap of one axis, [N, spatial..., taps]. */
static kiln_status tap_stage(kiln_compute_cx *cx, const kiln_type *points, int axis,
                             kiln_dtype dtype, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const mode m = (mode)cx->node->attr[MODE].i;
    const kiln_expr *index[KILN_MAX_RANK], *body[2];
    kiln_te_value position;
    kiln_type t = *points;
    t.dim[t.rank++] = taps_of[m];
    KILN_TRY(position_stage(cx, points, axis, &position));
    kiln_te *te = kiln_compute_begin(cx, kiln_format(a, "taps%d", axis), &t, index);
    const kiln_expr *at = kiln_compute_read_value(cx, &position, index);
    const int64_t length = cx->in[X].type.dim[2 + axis];
    if (m == NEAREST) {
        body[0] = resolved(cx, kiln_x_fn(a, KILN_INTRIN_trunc, at), length);
        body[1] = num(a, 1);
    } else {
        const kiln_expr *tap = kiln_x_cast(a, KILN_F64, index[points->rank]);
        const kiln_expr *first = kiln_x_fn(a, KILN_INTRIN_floor, at);
        if (m == CUBIC)
            first = kiln_x_sub(a, first, num(a, 1));
        tap = kiln_x_add(a, first, tap);
        const kiln_expr *d = kiln_x_sub(a, at, tap);
        body[0] = resolved(cx, tap, length);
        body[1] = m == LINEAR
                      ? kiln_x_sub(a, num(a, 1), kiln_x_fn(a, KILN_INTRIN_abs, d))
                      : cubic_expr(a, d);
    }
    body[1] = kiln_x_cast(a, dtype, body[1]);
    return kiln_compute_inner_tuple(cx, te, &t, 2, body, out);
}

/* Stages: position and taps of each axis, and the sum over all taps. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const char *const name[MAX_AXES] = {"t0", "t1", "t2", "t3", "t4", "t5"};
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[X].type, *t = &cx->out[0].type;
    const int axes = x->rank - 2;
    const kiln_dtype dtype = t->dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK], *from[KILN_MAX_RANK];
    const kiln_axis *axis[MAX_AXES];
    kiln_te_value taps[MAX_AXES][2];
    const kiln_type points = kiln_type_make(KILN_F64, 1 + axes, cx->in[GRID].type.dim);
    for (int i = 0; i < axes; i++)
        KILN_TRY(tap_stage(cx, &points, i, dtype, taps[i]));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    from[0] = at[0] = index[0];
    at[1] = index[1];
    for (int i = 0; i < axes; i++)
        from[1 + i] = index[2 + i];
    const kiln_expr *weight = NULL, *is_zero = kiln_x_int(a, KILN_BOOL, 0);
    for (int i = 0; i < axes; i++) {
        const int64_t length = x->dim[2 + i];
        axis[i] = kiln_te_reduce_axis(y, name[i], taps_of[n->attr[MODE].i]);
        from[1 + axes] = kiln_axis_var(a, axis[i]);
        const kiln_expr *e = kiln_compute_read_value(cx, &taps[i][0], from);
        const kiln_expr *w = kiln_compute_read_value(cx, &taps[i][1], from);
        is_zero = kiln_x_binary(a, KILN_EXPR_OR, is_zero,
                                kiln_x_less(a, e, kiln_x_index(a, 0)));
        weight = weight == NULL ? w : kiln_x_mul(a, weight, w);
        e = kiln_x_binary(a, KILN_EXPR_MIN, e,
                          kiln_x_index(a, length > 0 ? length - 1 : 0));
        at[2 + i] = kiln_x_binary(a, KILN_EXPR_MAX, e, kiln_x_index(a, 0));
    }
    const kiln_expr *v = kiln_compute_widened(cx, kiln_compute_read(cx, X, at));
    if (n->attr[MODE].i != NEAREST)
        v = kiln_x_mul(a, weight, v);
    v = kiln_x_select(a, is_zero, kiln_x_like(a, v, 0), v);
    return kiln_compute_end(cx, 0, y, kiln_te_sum(y, v, axis, axes));
}

const kiln_op_def kiln_op_grid_sample = {
    .name = "grid_sample",
    .doc = "x read at positions that a grid gives: nearest element, linear or cubic "
           "filter",
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = (const char *const[]){"x", "grid", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .keeps_sign = 1u << GRID,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
