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

#include "compiler/graph/op/op_common.h"
#include "compiler/graph/op/window.h"

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

/* The sum over all taps, of the plane of x that starts at `base`. */
static double sample(const kiln_node *n, const kiln_wide *x, int64_t base,
                     const axis_taps *t, const int64_t *stride) {
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
            weight *= t[i].weight[tap[i]];
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
                sample(n, x, b * stride[0] + c * stride[1], t, stride);
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
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
};
