/* resize: interpolation along any axes: nearest, linear, cubic.
 *
 * y[o] = sum over taps of x[at] * product of the axes' weights; coordinates and
 * weights: resize_axis.h. Source: ONNX Resize-19 (sizes and scales are resolved by the
 * importer).
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/image/resize_axis.h"
#include "compiler/op/image/resize_expr.h"
#include "compiler/op/op_window.h"

enum {
    SIZES,
    SCALES,
    MODE,
    COORDINATES,
    ROUNDING,
    CUBIC_A,
    ANTIALIAS,
    EXCLUDE_OUTSIDE,
    EXTRAPOLATION,
    ROI,
    N_ATTR
};

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const coordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                        "floor", "ceil", NULL};

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "sizes",
     .kind = KILN_ATTR_INTS,
     .doc = "shape of the output",
     .is_required = true},
    {.name = "scales",
     .kind = KILN_ATTR_FLOATS,
     .doc = "output over input, one per axis, before it was cut to whole sizes",
     .is_required = true},
    {.name = "mode", .kind = KILN_ATTR_WORD, .doc = "the filter", .choices = modes},
    {.name = "coordinates",
     .kind = KILN_ATTR_WORD,
     .doc = "how positions of the output are mapped to the input",
     .choices = coordinates},
    {.name = "rounding",
     .kind = KILN_ATTR_WORD,
     .doc = "nearest: which neighbour a position belongs to",
     .choices = roundings},
    {.name = "cubic_a",
     .kind = KILN_ATTR_FLOAT,
     .doc = "cubic: slope of the filter at distance 1",
     .default_f = -0.75},
    {.name = "antialias",
     .kind = KILN_ATTR_BOOL,
     .doc = "the filter is widened by 1 / scale where that shrinks"},
    {.name = "exclude_outside",
     .kind = KILN_ATTR_BOOL,
     .doc =
         "weights outside of the input count 0, the others are scaled to a sum of 1"},
    {.name = "extrapolation",
     .kind = KILN_ATTR_FLOAT,
     .doc = "tf_crop_and_resize: value of positions outside of the input"},
    {.name = "roi",
     .kind = KILN_ATTR_FLOATS,
     .doc =
         "tf_crop_and_resize: begin of the region for each axis, then its end; empty: "
         "0 and 1"},
};

static kiln_status check_axis(const kiln_node *n, int axis, kiln_err *err) {
    const int64_t in = n->in[0]->type.dim[axis], out = n->attr[SIZES].ints[axis];
    const double scale = n->attr[SCALES].floats[axis];
    if (out < 0 || (out > 0 && in == 0))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "an axis of %" PRId64 " cannot be resized to %" PRId64, in,
                         out);
    /* A size is the product cut or rounded to a whole number, 0.5 at least becoming 1.
     */
    const double length = scale * (double)in;
    if (in > 0 && !(scale > 0 && fabs(length - (double)out) <= 1.0 + 1e-6 * length &&
                    (out == 0 || length > 0.49)))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "axis %d of %" PRId64 " with scale %g does not make %" PRId64,
                         axis, in, scale, out);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const size_t rank = (size_t)x->rank, n_roi = n->attr[ROI].n;
    if (n->attr[SIZES].n != rank || n->attr[SCALES].n != rank ||
        (n_roi != 0 && n_roi != 2 * rank))
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "attributes 'sizes' and 'scales' must have %d values and 'roi' "
            "none or %d, have %zu, %zu and %zu",
            x->rank, 2 * x->rank, n->attr[SIZES].n, n->attr[SCALES].n, n_roi);
    for (int i = 0; i < x->rank; i++)
        KILN_TRY(check_axis(n, i, err));
    if (n->attr[MODE].i != KILN_RESIZE_NEAREST)
        KILN_TRY(kiln_check_dtype(n, 0, KILN_DT_FLOAT, err));
    out[0] = kiln_type_make(x->dtype, x->rank, n->attr[SIZES].ints);
    return KILN_OK;
}

typedef struct plan {
    int rank;
    int64_t stride[KILN_MAX_RANK], n_taps[KILN_MAX_RANK];
    kiln_resize_axis axis[KILN_MAX_RANK];
} plan;

static kiln_resize_axis_spec axis_spec(const kiln_node *n, int i) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_attr *attr = n->attr;
    const bool has_roi = attr[ROI].n != 0;
    return (kiln_resize_axis_spec){
        .in = x->dim[i],
        .out = attr[SIZES].ints[i],
        .scale = attr[SCALES].floats[i],
        .roi_begin = has_roi ? attr[ROI].floats[i] : 0.0,
        .roi_end = has_roi ? attr[ROI].floats[x->rank + i] : 1.0,
        .mode = (kiln_resize_mode)attr[MODE].i,
        .coordinates = (kiln_resize_coordinates)attr[COORDINATES].i,
        .rounding = (kiln_resize_rounding)attr[ROUNDING].i,
        .cubic_a = attr[CUBIC_A].f,
        .antialias = attr[ANTIALIAS].i != 0,
        .exclude_outside = attr[EXCLUDE_OUTSIDE].i != 0,
    };
}

/* The output has elements, so that no axis is empty. */
static plan make_plan(const kiln_node *n, kiln_arena *a) {
    const kiln_type *x = &n->in[0]->type;
    plan p = {.rank = x->rank};
    kiln_strides(x->rank, x->dim, p.stride);
    for (int i = 0; i < x->rank; i++) {
        const kiln_resize_axis_spec spec = axis_spec(n, i);
        p.axis[i] = kiln_resize_axis_new(a, &spec);
        p.n_taps[i] = p.axis[i].n_taps;
    }
    return p;
}

/* One tap of each axis: its weight and the element it reads. */
static double weight_at(const plan *p, const int64_t *out, const int64_t *tap,
                        int64_t *at) {
    double weight = 1.0;
    *at = 0;
    for (int i = 0; i < p->rank; i++) {
        const int64_t j = out[i] * p->n_taps[i] + tap[i];
        weight *= p->axis[i].weight[j];
        *at += p->axis[i].at[j] * p->stride[i];
    }
    return weight;
}

static void element(const kiln_node *n, kiln_eval_cx *cx, const plan *p, int64_t index,
                    int64_t j) {
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    int64_t out[KILN_MAX_RANK], tap[KILN_MAX_RANK] = {0}, at;
    bool outside = false;
    kiln_unravel(index, p->rank, n->attr[SIZES].ints, out);
    for (int i = 0; i < p->rank; i++)
        outside = outside || p->axis[i].is_outside[out[i]];
    if (outside) {
        const double v = n->attr[EXTRAPOLATION].f;
        if (y->f != NULL)
            y->f[j] = cx->is_magnitude ? fabs(v) : v;
        else
            y->i[j] = kiln_i_from_f64(v, y->type.dtype);
        return;
    }
    if (n->attr[MODE].i == KILN_RESIZE_NEAREST) {
        (void)weight_at(p, out, tap, &at);
        kiln_wide to = *y;
        kiln_copy_elem(&to, j, x, at);
        return;
    }
    double sum = 0.0;
    do {
        const double weight = weight_at(p, out, tap, &at);
        if (weight != 0)
            sum += (cx->is_magnitude ? fabs(weight) : weight) * x->f[at];
    } while (kiln_next_coord(p->rank, p->n_taps, tap));
    y->f[j] = sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const int64_t elems = kiln_type_elems(&cx->out[0].type);
    if (elems == 0)
        return KILN_OK;
    const plan p = make_plan(n, cx->scratch);
    const int64_t count = kiln_pick_count(cx, elems);
    for (int64_t j = 0; j < count; j++)
        element(n, cx, &p, kiln_pick_at(cx, j), j);
    return KILN_OK;
}

/* Multiplications of an element whose axes are taken one after another. */
static int64_t flops_per_element(const kiln_node *n) {
    static const int64_t taps[] = {1, 2, 4};
    int64_t flops = 1;
    for (int i = 0; i < n->in[0]->type.rank; i++) {
        if (n->in[0]->type.dim[i] != n->attr[SIZES].ints[i])
            flops *= taps[n->attr[MODE].i];
    }
    return flops;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->flops =
        kiln_mul_sat(kiln_type_elems(&n->out[0]->type), 2 * flops_per_element(n) - 1);
}

static int64_t longest_axis(const kiln_node *n) {
    int64_t longest = 1;
    for (int i = 0; i < n->in[0]->type.rank; i++)
        longest = n->in[0]->type.dim[i] > longest ? n->in[0]->type.dim[i] : longest;
    return longest;
}

/* Nearest copies. Else the weights carry an error of a few roundings of the coordinate,
 * which a large axis makes larger: up to in * 2^-24 of a step between neighbours. */
static kiln_bound error_bound(const kiln_node *n) {
    if (n->attr[MODE].i == KILN_RESIZE_NEAREST)
        return kiln_bound_exact(n);
    return (kiln_bound){.kind = KILN_BOUND_DOT,
                        .c = 4.0,
                        .k = 8 * flops_per_element(n) + longest_axis(n)};
}

/* Coordinates in f32 are off by up to half a unit in their last place, and all along a
 * row by about as much: no chance makes that smaller. Nor of what the polynomials of
 * weights lose. */
static kiln_bound elsewhere_bound(const kiln_node *n) {
    kiln_bound b = error_bound(n);
    b.c *= 8 + (double)longest_axis(n) / 8;
    return b;
}

/* Sum over the taps of axis i of v; taps of weight 0 do not count. */
static const kiln_expr *interpolated(kiln_compute_cx *cx, kiln_te *te,
                                     const kiln_resize_expr *r, int i,
                                     const kiln_te_value *v,
                                     const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    const kiln_axis *tap = kiln_te_reduce_axis(te, "t", r[i].n_taps);
    const kiln_expr *at[KILN_MAX_RANK], *weight = NULL;
    for (int k = 0; k < v->type.rank; k++)
        at[k] = index[k];
    at[i] = kiln_resize_tap(&r[i], cx, index[i], kiln_axis_var(a, tap), &weight);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read_value(cx, v, at));
    const kiln_expr *zero = kiln_x_like(a, x, 0), *part = kiln_x_mul(a, weight, x);
    if (!r[i].has_all_weights)
        part =
            kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_EQ, weight, zero), zero, part);
    return kiln_te_sum(te, part, &tap, 1);
}

/* The axis whose neighbours are neighbours in memory; -1: none has more elements than
 * one. */
static int innermost_axis(const kiln_type *t) {
    const kiln_layout *l = &t->layout;
    if (l->n_blocks > 0)
        return l->block[l->n_blocks - 1].axis;
    for (int i = t->rank; i-- > 0;) {
        const int axis = l->n_order == 0 ? i : l->order[i];
        if (t->dim[axis] > 1)
            return axis;
    }
    return -1;
}

/* All axes that are interpolated but one, one after another; *last: that one. Where
 * neighbours along the innermost axis are interpolated, it comes first, as gathers cost
 * most: before there are more elements. Else whole rows are added, and a row of results
 * needs but one of what was added before: from the first axis on. What is between lies
 * as the results do, so that those who read it find neighbours beside each other. */
static kiln_status interpolate_others(kiln_compute_cx *cx, const kiln_resize_expr *r,
                                      kiln_dtype dtype, kiln_te_value *v, int *last) {
    const kiln_expr *index[KILN_MAX_RANK];
    const int rank = v->type.rank, inner = innermost_axis(&cx->out[0].type);
    const bool is_backward = inner >= 0 && !r[inner].is_kept;
    int order[KILN_MAX_RANK], n = 0;
    for (int k = 0; k < rank; k++) {
        const int i = is_backward ? rank - 1 - k : k;
        if (!r[i].is_kept)
            order[n++] = i;
    }
    KILN_ASSERT(n > 0, "no axis of '%s' is interpolated", cx->node->name);
    *last = order[n - 1];
    for (int k = 0; k + 1 < n; k++) {
        const int i = order[k];
        kiln_type t = kiln_type_make(dtype, v->type.rank, v->type.dim);
        t.dim[i] = cx->out[0].type.dim[i];
        t.layout = cx->out[0].type.layout;
        kiln_te *te =
            kiln_compute_begin(cx, kiln_format(cx->arena, "axis%d", i), &t, index);
        KILN_TRY(
            kiln_compute_inner(cx, te, &t, interpolated(cx, te, r, i, v, index), v));
    }
    return KILN_OK;
}

static const kiln_expr *any_outside(kiln_compute_cx *cx, const kiln_resize_expr *r,
                                    const kiln_expr *const *index) {
    const kiln_expr *any = NULL;
    for (int i = 0; i < cx->in[0].type.rank; i++) {
        const kiln_expr *one = kiln_resize_outside(&r[i], cx, index[i]);
        if (one != NULL)
            any = any == NULL ? one : kiln_x_binary(cx->arena, KILN_EXPR_OR, any, one);
    }
    return any;
}

static const kiln_expr *extrapolated(const kiln_node *n, kiln_compute_cx *cx,
                                     const kiln_expr *outside, const kiln_expr *v) {
    const double value = n->attr[EXTRAPOLATION].f;
    const kiln_expr *e =
        kiln_dtype_is_float(v->dtype)
            ? kiln_x_float(cx->arena, v->dtype, value)
            : kiln_x_int(cx->arena, v->dtype, kiln_i_from_f64(value, v->dtype));
    return outside == NULL ? v : kiln_x_select(cx->arena, outside, e, v);
}

/* Stages: positions of each resized axis, taps and weights where it is interpolated, y.
 */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_type *t = &cx->out[0].type;
    const kiln_dtype dtype = t->dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_resize_expr r[KILN_MAX_RANK];
    kiln_te_value sum;
    bool is_copied = true;
    if (kiln_type_elems(t) == 0) { /* no axis of x needs to have elements */
        kiln_te *none = kiln_compute_begin(cx, "", t, index);
        return kiln_compute_end(cx, 0, none, kiln_x_number(cx->arena, t->dtype, 0));
    }
    for (int i = 0; i < t->rank; i++) {
        const kiln_resize_axis_spec spec = axis_spec(n, i);
        KILN_TRY(kiln_resize_expr_init(&r[i], cx, i, &spec, dtype));
        is_copied = is_copied && (r[i].is_kept || r[i].is_nearest);
    }
    const bool is_crop = n->attr[COORDINATES].i == KILN_RESIZE_TF_CROP_AND_RESIZE;
    kiln_te_value x = cx->in[0];
    int last = 0;
    if (!is_copied)
        KILN_TRY(interpolate_others(cx, r, dtype, &x, &last));
    kiln_te *y =
        kiln_compute_begin(cx, is_copied || !is_crop ? "" : "inside", t, index);
    if (is_copied) {
        for (int i = 0; i < t->rank; i++)
            at[i] = kiln_resize_index(&r[i], cx, index[i]);
        const kiln_expr *v = kiln_compute_read(cx, 0, at);
        return kiln_compute_end(cx, 0, y,
                                extrapolated(n, cx, any_outside(cx, r, index), v));
    }
    const kiln_expr *v = interpolated(cx, y, r, last, &x, index);
    if (!is_crop)
        return kiln_compute_end(cx, 0, y, v);
    KILN_TRY(kiln_compute_inner(cx, y, t, v, &sum));
    y = kiln_compute_begin(cx, "", t, index);
    v = kiln_compute_read_value(cx, &sum, index);
    return kiln_compute_end(cx, 0, y,
                            extrapolated(n, cx, any_outside(cx, r, index), v));
}

const kiln_op_def kiln_op_resize = {
    .name = "resize",
    .doc = "Interpolation to other sizes: nearest element, linear or cubic filter.",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .elsewhere_bound = elsewhere_bound,
    .compute = compute,
};
