/* deform_patches: what a deformable convolution multiplies with its weights.
 *
 * y[n,c,k,o] is x at the place of tap k of output position o, moved by offset and read
 * with the linear filter, times mask: position o * stride + k * dilation - pad + offset
 * on each axis. What lies outside of x is 0. The channels of an offset group share one
 * offset and one mask: offset is [N, groups * taps * axes, out...] (axes fastest), mask
 * [N, groups * taps, out...]. Source: ONNX DeformConv-19, -22 (Dai et al. 2017,
 * equation 2; Zhu et al. 2019, equation 1). A place that is not finite is outside.
 *
 * Places are in f64, here and in the code.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { X, OFFSET, MASK, N_IN };
enum { KERNEL = KILN_WINDOW_N_ATTR, GROUPS, N_ATTR };
enum { MAX_AXES = 3, N_TAPS = 2 /* of the filter, on each axis */ };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_WINDOW_ATTRS,
    {.name = "kernel",
     .kind = KILN_ATTR_INTS,
     .doc = "taps along each spatial axis",
     .is_required = true},
    {.name = "groups",
     .kind = KILN_ATTR_INT,
     .doc = "channels fall into so many parts, each with offsets of its own",
     .default_i = 1},
};

static kiln_status read_window(const kiln_node *n, kiln_window *w, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    const int axes = x->rank - 2;
    if (axes < 1 || axes > MAX_AXES || n->attr[KERNEL].n != (size_t)axes)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have rank 3 to %d and 'kernel' one value for "
                         "each of its axes behind the second, have rank %d and %zu",
                         MAX_AXES + 2, x->rank, n->attr[KERNEL].n);
    KILN_TRY(kiln_window_read(w, axes, x->dim + 2, n->attr[KERNEL].ints, n->attr, err));
    return kiln_window_slide(w, false, err);
}

/* Input `in` has x's batch, `channels`, and one element for each output position. */
static kiln_status check_places(const kiln_node *n, int in, int64_t channels,
                                const kiln_window *w, kiln_err *err) {
    const kiln_type *t = &n->in[in]->type;
    bool fits = t->rank == w->n + 2 && t->dim[0] == n->in[X]->type.dim[0] &&
                t->dim[1] == channels;
    for (int i = 0; fits && i < w->n; i++)
        fits = t->dim[2 + i] == w->out[i];
    if (fits)
        return kiln_check_same_dtype(n, X, in, err);
    kiln_arena scratch = {0};
    const kiln_status st = kiln_fail(err, KILN_ERR_SHAPE,
                                     "input '%s' must have shape [%" PRId64 ",%" PRId64
                                     ", output...], is %s",
                                     kiln_in_name(n, in), n->in[X]->type.dim[0],
                                     channels, kiln_type_text(&scratch, t));
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    const int64_t groups = n->attr[GROUPS].i;
    kiln_window w;
    KILN_TRY(read_window(n, &w, err));
    if (groups < 1 || x->dim[1] % groups != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "groups must be >= 1 and divide the %" PRId64
                         " channels, is %" PRId64,
                         x->dim[1], groups);
    const int64_t taps = kiln_window_taps(&w), places = kiln_mul_sat(groups, taps);
    KILN_TRY(check_places(n, OFFSET, kiln_mul_sat(places, w.n), &w, err));
    if (kiln_has_in(n, MASK))
        KILN_TRY(check_places(n, MASK, places, &w, err));
    int64_t dim[KILN_MAX_RANK] = {x->dim[0], x->dim[1], taps};
    for (int i = 0; i < w.n; i++)
        dim[3 + i] = w.out[i];
    KILN_TRY(kiln_move_type(n, x->dtype, w.n + 3, dim, out, err));
    if (kiln_type_elems(out) > 0 && kiln_type_elems(x) == 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "input 'x' must have elements");
    return KILN_OK;
}

/* ---- the reference ---- */

/* The linear filter at `place` on the axes from i on, of what lies at `plane`. */
static double sample(const double *plane, const kiln_window *w, const int64_t *stride,
                     const double *place, double mask, int i) {
    if (i == w->n)
        return mask * *plane;
    const double low = floor(place[i]), away = place[i] - low;
    const double weight[N_TAPS] = {1 - away, away};
    double sum = 0;
    for (int t = 0; t < N_TAPS; t++)
        if (low + t >= 0 && low + t < (double)w->in[i]) {
            const double *at = plane + (int64_t)(low + t) * stride[2 + i];
            sum += weight[t] * sample(at, w, stride, place, mask, i + 1);
        }
    return sum;
}

/* Tap `tap`, counted in row-major order, on axis `axis`. */
static int64_t tap_on(const kiln_window *w, int64_t tap, int axis) {
    for (int i = w->n - 1; i > axis; i--)
        tap /= w->kernel[i];
    return tap % w->kernel[axis];
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[X];
    const kiln_type *y = &cx->out[0].type;
    kiln_window w;
    KILN_TRY(read_window(n, &w, cx->err));
    int64_t stride[KILN_MAX_RANK], at[KILN_MAX_RANK] = {0}, flat = 0;
    if (kiln_type_elems(y) == 0)
        return KILN_OK;
    kiln_strides(x->type.rank, x->type.dim, stride);
    const int64_t groups = n->attr[GROUPS].i, taps = y->dim[2];
    const int64_t positions = kiln_window_outs(&w), size = y->dim[1] / groups;
    do {
        /* The same tap and position of the channel's group. */
        const int64_t place = (at[0] * groups + at[1] / size) * taps + at[2];
        const int64_t o = flat % positions;
        double where[MAX_AXES];
        for (int i = 0; i < w.n; i++)
            where[i] = (double)kiln_window_pos(&w, i, at[3 + i], tap_on(&w, at[2], i)) +
                       cx->in[OFFSET].f[(place * w.n + i) * positions + o];
        const double *plane = x->f + at[0] * stride[0] + at[1] * stride[1];
        const double mask =
            kiln_has_in(n, MASK) ? cx->in[MASK].f[place * positions + o] : 1;
        cx->out[0].f[flat++] = sample(plane, &w, stride, where, mask, 0);
    } while (kiln_next_coord(y->rank, y->dim, at));
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    const int axes = n->in[X]->type.rank - 2;
    c->flops =
        kiln_mul_sat(kiln_type_elems(&n->out[0]->type), ((int64_t)2 << axes) - 1);
}

/* A sum of 2^axes products of an element with axes + 1 factors, each rounded. */
static kiln_bound error_bound(const kiln_node *n) {
    const int64_t axes = n->in[X]->type.rank - 2;
    return (kiln_bound){
        .kind = KILN_BOUND_DOT, .c = 2.0, .k = ((int64_t)1 << axes) + 2 * axes + 2};
}

/* ---- tensor expressions ---- */

static const kiln_expr *num(kiln_arena *a, double v) {
    return kiln_x_float(a, KILN_F64, v);
}

/* Stage: element (-1: outside) and weight of each of two taps of the filter on one
 * axis, [N, groups * taps, out..., 2]. The first axis's weights have the mask. */
static kiln_status tap_stage(kiln_compute_cx *cx, const kiln_window *w, int axis,
                             kiln_dtype dtype, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *body[2];
    kiln_type t = cx->in[OFFSET].type;
    const int last = t.rank;
    t.dtype = dtype;
    t.layout = (kiln_layout){0};
    t.dim[1] /= w->n;
    t.dim[t.rank++] = N_TAPS;
    kiln_te *te = kiln_compute_begin(cx, kiln_format(a, "taps%d", axis), &t, index);
    const kiln_expr *tap = kiln_compute_mod(cx, index[1], kiln_window_taps(w));
    int64_t behind = 1;
    for (int i = w->n - 1; i > axis; i--)
        behind *= w->kernel[i];
    tap = kiln_compute_div(cx, tap, behind);
    tap = kiln_compute_mod(cx, tap, w->kernel[axis]);
    const kiln_expr *place =
        kiln_x_add(a, kiln_x_mul(a, index[2 + axis], kiln_x_index(a, w->stride[axis])),
                   kiln_x_mul(a, tap, kiln_x_index(a, w->dilation[axis])));
    place = kiln_x_sub(a, place, kiln_x_index(a, w->pad_begin[axis]));
    const kiln_expr *at[KILN_MAX_RANK];
    for (int i = 0; i < last; i++)
        at[i] = index[i];
    at[1] = kiln_x_add(a, kiln_x_mul(a, index[1], kiln_x_index(a, w->n)),
                       kiln_x_index(a, axis));
    const kiln_expr *moved =
        kiln_x_add(a, kiln_x_cast(a, KILN_F64, place),
                   kiln_x_cast(a, KILN_F64, kiln_compute_read(cx, OFFSET, at)));
    const kiln_expr *low = kiln_x_fn(a, KILN_INTRIN_floor, moved);
    const kiln_expr *is_second =
        kiln_x_binary(a, KILN_EXPR_EQ, index[last], kiln_x_index(a, 1));
    const kiln_expr *away = kiln_x_sub(a, moved, low);
    const kiln_expr *e = kiln_x_add(a, low, kiln_x_cast(a, KILN_F64, index[last]));
    const kiln_expr *is_inside =
        kiln_x_binary(a, KILN_EXPR_AND, kiln_x_binary(a, KILN_EXPR_LE, num(a, 0), e),
                      kiln_x_less(a, e, num(a, (double)w->in[axis])));
    body[0] =
        kiln_x_select(a, is_inside, kiln_x_cast(a, KILN_I64, e), kiln_x_index(a, -1));
    body[1] = kiln_x_cast(
        a, dtype, kiln_x_select(a, is_second, away, kiln_x_sub(a, num(a, 1), away)));
    if (axis == 0 && kiln_has_in(cx->node, MASK))
        body[1] = kiln_x_mul(a, body[1],
                             kiln_x_cast(a, dtype, kiln_compute_read(cx, MASK, index)));
    return kiln_compute_inner_tuple(cx, te, &t, 2, body, out);
}

/* Stages: the filter's taps on each axis, and the sum over all of them. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const char *const name[MAX_AXES] = {"t0", "t1", "t2"};
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const kiln_dtype dtype = t->dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK], *from[KILN_MAX_RANK];
    const kiln_axis *axis[MAX_AXES];
    kiln_te_value taps[MAX_AXES][2];
    kiln_window w;
    KILN_TRY(read_window(n, &w, cx->err));
    for (int i = 0; i < w.n; i++)
        KILN_TRY(tap_stage(cx, &w, i, dtype, taps[i]));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    const int64_t size = t->dim[1] > 0 ? t->dim[1] / n->attr[GROUPS].i : 1;
    from[0] = at[0] = index[0];
    at[1] = index[1];
    from[1] = kiln_x_add(a,
                         kiln_x_mul(a, kiln_compute_div(cx, index[1], size),
                                    kiln_x_index(a, kiln_window_taps(&w))),
                         index[2]);
    for (int i = 0; i < w.n; i++)
        from[2 + i] = index[3 + i];
    const kiln_expr *weight = NULL, *is_zero = kiln_x_int(a, KILN_BOOL, 0);
    for (int i = 0; i < w.n; i++) {
        axis[i] = kiln_te_reduce_axis(y, name[i], N_TAPS);
        from[2 + w.n] = kiln_axis_var(a, axis[i]);
        const kiln_expr *e = kiln_compute_read_value(cx, &taps[i][0], from);
        const kiln_expr *v = kiln_compute_read_value(cx, &taps[i][1], from);
        is_zero = kiln_x_binary(a, KILN_EXPR_OR, is_zero,
                                kiln_x_less(a, e, kiln_x_index(a, 0)));
        weight = weight == NULL ? v : kiln_x_mul(a, weight, v);
        e = kiln_x_binary(a, KILN_EXPR_MIN, e,
                          kiln_x_index(a, w.in[i] > 0 ? w.in[i] - 1 : 0));
        at[2 + i] = kiln_x_binary(a, KILN_EXPR_MAX, e, kiln_x_index(a, 0));
    }
    const kiln_expr *v = kiln_compute_widened(cx, kiln_compute_read(cx, X, at));
    KILN_ASSERT(weight != NULL, "a window without axes");
    v = kiln_x_mul(a, weight, v);
    v = kiln_x_select(a, is_zero, kiln_x_like(a, v, 0), v);
    return kiln_compute_end(cx, 0, y, kiln_te_sum(y, v, axis, w.n));
}

const kiln_op_def kiln_op_deform_patches = {
    .name = "deform_patches",
    .doc = "x at the taps of a window, each moved by an offset and weighted by a mask: "
           "[N, C, taps, out...]",
    .n_in_min = MASK,
    .n_in_max = N_IN,
    .in_names = (const char *const[]){"x", "offset", "mask", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .keeps_sign = 1u << OFFSET,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
