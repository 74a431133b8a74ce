/* conv_transpose: the adjoint of a convolution in its input; also called deconvolution.
 *
 * y[b, g*O/G + o, p * stride + t * dilation - pads] += x[b,c,p] * w[c,o,t] for all c of
 * group g, positions p and taps t; y is stride * (in - 1) + output_padding + extent -
 * pads long on each axis. Source: ONNX ConvTranspose-22 (auto_pad and output_shape are
 * resolved by the importer). Integers wrap.
 *
 * Each output plane adds, for its taps in ascending order, the product over the
 * channels (order: gemm_f64.h).
 */
#include "compiler/op/op_compute.h"

#include <inttypes.h>

#include "compiler/op/gemm_f64.h"
#include "compiler/op/op_window.h"

enum { X, W, BIAS };
enum { GROUPS = KILN_WINDOW_N_ATTR, OUTPUT_PADDING, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_WINDOW_ATTRS,
    {.name = "groups",
     .kind = KILN_ATTR_INT,
     .doc = "the channels are cut into this many groups, each with its own filters",
     .default_i = 1},
    {.name = "output_padding",
     .kind = KILN_ATTR_INTS,
     .doc = "elements added at the end of each spatial axis of y; empty: 0"},
};

/* The window slides over y: its `in` is y's size, its `out` is x's. */
typedef struct plan {
    kiln_window window;
    int64_t n_batch, n_groups, c, o; /* c, o: channels of one group */
    int64_t taps, ins, outs;         /* outs: elements of a plane of y */
} plan;

static kiln_status check_channels(const kiln_node *n, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *w = &n->in[W]->type;
    const int64_t groups = n->attr[GROUPS].i;
    if (groups < 1 || x->dim[1] % groups != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "groups must be >= 1 and divide the %" PRId64
                         " input channels, is %" PRId64,
                         x->dim[1], groups);
    if (w->dim[0] != x->dim[1])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'w' must have %" PRId64
                         " input channels, as 'x' has, has %" PRId64,
                         x->dim[1], w->dim[0]);
    if (!kiln_has_in(n, BIAS))
        return KILN_OK;
    KILN_TRY(kiln_check_same_dtype(n, X, BIAS, err));
    KILN_TRY(kiln_check_rank(n, BIAS, 1, err));
    const int64_t channels = kiln_mul_sat(w->dim[1], groups);
    if (n->in[BIAS]->type.dim[0] != channels)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'bias' must have %" PRId64 " elements, has %" PRId64,
                         channels, n->in[BIAS]->type.dim[0]);
    return KILN_OK;
}

/* Size of one axis of y. */
static kiln_status axis_size(const kiln_node *n, const kiln_window *w, int axis,
                             int64_t in, int64_t *size, kiln_err *err) {
    const kiln_attr *extra = &n->attr[OUTPUT_PADDING];
    if (extra->n != 0 && extra->n != (size_t)w->n)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute 'output_padding' must have %d values, has %zu",
                         w->n, extra->n);
    const int64_t more = extra->n == 0 ? 0 : extra->ints[axis];
    if (more < 0 || more > INT32_MAX)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "output_padding must be in [0, %d], is %" PRId64, INT32_MAX,
                         more);
    const int64_t grown = kiln_mul_sat(in > 0 ? in - 1 : 0, w->stride[axis]);
    const int64_t extent = kiln_window_extent(w, axis);
    if (grown > KILN_MAX_ELEMS || extent > KILN_MAX_ELEMS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "the output must be at most %" PRId64 " long on each axis",
                         KILN_MAX_ELEMS);
    *size = grown + more + extent - w->pad_begin[axis] - w->pad_end[axis];
    if (*size < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the output must be at least 1 long on spatial axis %d, is "
                         "%" PRId64,
                         axis, *size);
    return KILN_OK;
}

static kiln_status make_plan(const kiln_node *n, plan *p, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *w = &n->in[W]->type;
    *p = (plan){.n_batch = x->dim[0],
                .n_groups = n->attr[GROUPS].i,
                .c = x->dim[1] / n->attr[GROUPS].i,
                .o = w->dim[1]};
    kiln_window *win = &p->window;
    KILN_TRY(kiln_window_read(win, x->rank - 2, x->dim + 2, w->dim + 2, n->attr, err));
    for (int i = 0; i < win->n; i++) {
        win->out[i] = x->dim[2 + i];
        KILN_TRY(axis_size(n, win, i, win->out[i], &win->in[i], err));
    }
    p->taps = kiln_window_taps(win);
    p->ins = kiln_window_outs(win);
    p->outs = kiln_window_ins(win);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    plan p;
    KILN_TRY(kiln_check_same_dtype(n, X, W, err));
    if (x->rank < 3)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, spatial...], has rank %d",
                         x->rank);
    KILN_TRY(kiln_check_rank(n, W, x->rank, err));
    KILN_TRY(check_channels(n, err));
    KILN_TRY(make_plan(n, &p, err));
    int64_t dim[KILN_MAX_RANK] = {x->dim[0], kiln_mul_sat(p.o, p.n_groups)};
    for (int i = 0; i < p.window.n; i++)
        dim[2 + i] = p.window.in[i];
    out[0] = kiln_type_make(x->dtype, x->rank, dim);
    return KILN_OK;
}

/* Adds one tap's products, one per position of x, into a plane of y. */
static void scatter(const kiln_window *w, const int64_t *tap, const double *from,
                    double *y) {
    const int last = w->n - 1;
    int64_t pos[KILN_MAX_SPATIAL] = {0}, lo, hi;
    kiln_window_range(w, last, tap[last], &lo, &hi);
    do {
        pos[last] = lo;
        const int64_t at = lo < hi ? kiln_window_index(w, pos, tap) : -1;
        for (int64_t i = lo; at >= 0 && i < hi; i++)
            y[at + (i - lo) * w->stride[last]] += from[i];
        from += w->out[last];
    } while (kiln_next_coord(last, w->out, pos));
}

/* Planes [o, o + n_o) of one group of one image. `cols` has room for n_o * taps * ins.
 */
static void run_planes(const plan *p, int64_t o, int64_t n_o, const double *x,
                       const double *w, double *cols, double *y, kiln_arena *scratch) {
    const kiln_gemm_matrix right = {x, p->ins, 1};
    const kiln_gemm_f64 g = {.m = n_o * p->taps,
                             .n = p->ins,
                             .k = p->c,
                             .a = w + o * p->taps,
                             .a_row = 1,
                             .a_col = p->o * p->taps,
                             .pack_b = kiln_gemm_pack_matrix,
                             .user = &right,
                             .c = cols,
                             .c_row = p->ins};
    kiln_gemm_f64_run(&g, scratch);
    for (int64_t i = 0; i < n_o; i++) {
        double *plane = y + (o + i) * p->outs;
        int64_t tap[KILN_MAX_SPATIAL] = {0};
        for (int64_t j = 0; j < p->outs; j++)
            plane[j] = 0.0;
        do {
            scatter(&p->window, tap, cols, plane);
            cols += p->ins;
        } while (kiln_next_coord(p->window.n, p->window.kernel, tap));
    }
}

static void run_f(const plan *p, kiln_eval_cx *cx) {
    /* Enough rows that packing x is paid for. */
    const int64_t most = KILN_GEMM_MC / p->taps;
    const int64_t step = most < 1 ? 1 : most > p->o ? p->o : most;
    double *cols = kiln_array(cx->scratch, double, step * p->taps * p->ins);
    for (int64_t i = 0; i < p->n_batch * p->n_groups; i++) {
        const int64_t group = i % p->n_groups;
        for (int64_t o = 0; o < p->o; o += step) {
            const int64_t n_o = p->o - o < step ? p->o - o : step;
            run_planes(p, o, n_o, cx->in[X].f + i * p->c * p->ins,
                       cx->in[W].f + group * p->c * p->o * p->taps, cols,
                       cx->out[0].f + i * p->o * p->outs, cx->scratch);
        }
    }
}

/* Position in a plane of x whose tap writes to y's position; -1 where there is none. */
static int64_t source(const kiln_window *w, const int64_t *y, const int64_t *tap) {
    int64_t at = 0;
    for (int i = 0; i < w->n; i++) {
        const int64_t v = y[i] + w->pad_begin[i] - tap[i] * w->dilation[i];
        if (v < 0 || v % w->stride[i] != 0 || v / w->stride[i] >= w->out[i])
            return -1;
        at = at * w->out[i] + v / w->stride[i];
    }
    return at;
}

/* Element `index` of y into out[0][j]. */
static void run_at(const plan *p, kiln_eval_cx *cx, int64_t index, int64_t j) {
    const kiln_wide *x = &cx->in[X], *w = &cx->in[W];
    const int64_t plane = index / p->outs, image_group = plane / p->o;
    const int64_t from = image_group * p->c * p->ins;
    int64_t weight = (image_group % p->n_groups * p->c * p->o + plane % p->o) * p->taps;
    int64_t y[KILN_MAX_SPATIAL], tap[KILN_MAX_SPATIAL] = {0};
    kiln_unravel(index % p->outs, p->window.n, p->window.in, y);
    double sum = 0.0;
    uint64_t sum_i = 0;
    do {
        const int64_t at = source(&p->window, y, tap);
        if (at >= 0 && x->f != NULL)
            sum += kiln_dot_f64(p->c, w->f + weight, p->o * p->taps, x->f + from + at,
                                p->ins);
        for (int64_t c = 0; at >= 0 && x->f == NULL && c < p->c; c++)
            sum_i += (uint64_t)w->i[weight + c * p->o * p->taps] *
                     (uint64_t)x->i[from + c * p->ins + at];
        weight++;
    } while (kiln_next_coord(p->window.n, p->window.kernel, tap));
    if (x->f != NULL)
        cx->out[0].f[j] = sum;
    else
        cx->out[0].i[j] = (int64_t)sum_i;
}

static void add_bias(const plan *p, kiln_eval_cx *cx, int64_t count) {
    const int64_t channels = p->n_groups * p->o;
    for (int64_t j = 0; j < count; j++) {
        const int64_t channel = kiln_pick_at(cx, j) / p->outs % channels;
        if (cx->out[0].f != NULL)
            cx->out[0].f[j] += cx->in[BIAS].f[channel];
        else
            cx->out[0].i[j] = (int64_t)((uint64_t)cx->out[0].i[j] +
                                        (uint64_t)cx->in[BIAS].i[channel]);
    }
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    plan p;
    KILN_TRY(make_plan(n, &p, cx->err));
    const int64_t count = kiln_pick_count(cx, p.n_batch * p.n_groups * p.o * p.outs);
    if (cx->pick == NULL && cx->out[0].f != NULL) {
        run_f(&p, cx);
    } else {
        for (int64_t j = 0; j < count; j++)
            run_at(&p, cx, kiln_pick_at(cx, j), j);
    }
    if (kiln_has_in(n, BIAS))
        add_bias(&p, cx, count);
    return KILN_OK;
}

/* Published counts: every element of x meets every tap of its group's filters. */
static void cost(const kiln_node *n, kiln_cost *c) {
    const kiln_type *w = &n->in[W]->type;
    int64_t per_element = w->dim[1];
    for (int i = 2; i < w->rank; i++)
        per_element = kiln_mul_sat(per_element, w->dim[i]);
    c->muladds = kiln_mul_sat(kiln_type_elems(&n->in[X]->type), per_element);
    c->flops = kiln_mul_sat(c->muladds, 2);
}

static kiln_bound error_bound(const kiln_node *n) {
    const kiln_type *w = &n->in[W]->type;
    if (!kiln_dtype_is_float(n->in[X]->type.dtype))
        return kiln_bound_exact(n);
    /* Higham 3.1: at most channels * taps terms, bias and final rounding. */
    int64_t k = w->dim[0] / n->attr[GROUPS].i;
    for (int i = 2; i < w->rank; i++)
        k = kiln_mul_sat(k, w->dim[i]);
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = k + 2};
}

/* x with its elements `stride` apart and zeros between and around them: tap t of output
 * p, counted from the last, reads p + t * dilation. */
static kiln_status spread(kiln_compute_cx *cx, const kiln_window *w,
                          kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_te_value *x = &cx->in[X];
    const kiln_expr *index[KILN_MAX_RANK], *cond = kiln_x_int(a, KILN_BOOL, 1);
    kiln_type t = x->type;
    for (int i = 0; i < w->n; i++)
        t.dim[2 + i] = w->in[i] + kiln_window_extent(w, i) - 1;
    kiln_te *te = kiln_compute_begin(cx, "pad", &t, index);
    te->tag = "pad";
    for (int i = 0; i < w->n; i++) {
        const kiln_expr *stride = kiln_x_index(a, w->stride[i]);
        const int64_t shift = w->pad_begin[i] - (kiln_window_extent(w, i) - 1);
        const kiln_expr *v = kiln_x_add(a, index[2 + i], kiln_x_index(a, shift));
        const kiln_expr *rest = kiln_x_binary(a, KILN_EXPR_FLOORMOD, v, stride);
        const kiln_expr *hits =
            kiln_x_binary(a, KILN_EXPR_EQ, rest, kiln_x_index(a, 0));
        index[2 + i] = kiln_x_binary(a, KILN_EXPR_FLOORDIV, v, stride);
        cond = kiln_x_binary(a, KILN_EXPR_AND, cond, hits);
        cond = kiln_x_binary(a, KILN_EXPR_AND, cond,
                             kiln_compute_within(a, index[2 + i], 0, w->out[i]));
    }
    const kiln_expr *v = kiln_compute_read_value(cx, x, index);
    return kiln_compute_inner(cx, te, &t,
                              kiln_x_select(a, cond, v, kiln_x_like(a, v, 0)), out);
}

/* Reduction axes: channel within the group, then the taps. */
static const kiln_expr *contraction(kiln_compute_cx *cx, kiln_te *y, const plan *p,
                                    const kiln_te_value *x,
                                    const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    kiln_window w = p->window;
    const kiln_axis *axis[1 + KILN_MAX_SPATIAL];
    const kiln_expr *at[KILN_MAX_RANK], *wi[KILN_MAX_RANK];
    axis[0] = kiln_te_reduce_axis(y, "ic", p->c);
    for (int i = 0; i < w.n; i++)
        w.stride[i] = 1;
    kiln_compute_taps(y, &w, index, at, axis + 1);
    const kiln_expr *group = kiln_x_index(a, 0);
    wi[1] = index[1];
    if (p->n_groups > 1) {
        group = kiln_compute_div(cx, index[1], p->o);
        wi[1] = kiln_compute_mod(cx, index[1], p->o);
    }
    at[1] = wi[0] = kiln_x_add(a, kiln_x_mul(a, group, kiln_x_index(a, p->c)),
                               kiln_axis_var(a, axis[0]));
    for (int i = 0; i < w.n; i++)
        wi[2 + i] = kiln_x_sub(a, kiln_x_index(a, w.kernel[i] - 1),
                               kiln_axis_var(a, axis[1 + i]));
    const kiln_expr *product =
        kiln_x_mul(a, kiln_compute_widened(cx, kiln_compute_read_value(cx, x, at)),
                   kiln_compute_widened(cx, kiln_compute_read(cx, W, wi)));
    return kiln_te_sum(y, product, axis, 1 + w.n);
}

/* Taps that lie side by side: each output has one, and its position is in x. */
static bool has_one_tap(const kiln_window *w) {
    for (int i = 0; i < w->n; i++)
        if (w->kernel[i] != w->stride[i] || (w->kernel[i] > 1 && w->dilation[i] != 1) ||
            w->in[i] + w->pad_begin[i] > w->stride[i] * w->out[i])
            return false;
    return true;
}

/* Of one tap: the rest of its position by the stride, read at the quotient. */
static const kiln_expr *product(kiln_compute_cx *cx, kiln_te *y, const plan *p,
                                const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    const kiln_expr *at[KILN_MAX_RANK] = {index[0]}, *wi[KILN_MAX_RANK] = {NULL};
    const bool has_groups = p->n_groups > 1;
    const kiln_axis *axis = kiln_te_reduce_axis(
        y, "ic",
        has_groups
            ? p->c
            : kiln_compute_common_extent(&cx->in[X].type, 1, &cx->in[W].type, 0));
    at[1] = kiln_axis_var(a, axis);
    wi[1] = index[1];
    if (has_groups) {
        const kiln_expr *group = kiln_compute_div(cx, index[1], p->o);
        at[1] = kiln_x_add(a, kiln_x_mul(a, group, kiln_x_index(a, p->c)), at[1]);
        wi[1] = kiln_compute_mod(cx, index[1], p->o);
    }
    wi[0] = at[1];
    for (int i = 0; i < p->window.n; i++) {
        const int64_t stride = p->window.stride[i];
        const kiln_expr *v =
            kiln_x_add(a, index[2 + i], kiln_x_index(a, p->window.pad_begin[i]));
        at[2 + i] = kiln_compute_div(cx, v, stride);
        wi[2 + i] = kiln_compute_mod(cx, v, stride);
    }
    const kiln_expr *term =
        kiln_x_mul(a, kiln_compute_widened(cx, kiln_compute_read(cx, X, at)),
                   kiln_compute_widened(cx, kiln_compute_read(cx, W, wi)));
    return kiln_te_sum(y, term, &axis, 1);
}

/* Stages: "pad" (x spread out; not where each output has one tap), the convolution, and
 * the bias where there is one. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *t = &cx->out[0].type;
    kiln_te_value x, sum;
    plan p;
    KILN_TRY(make_plan(n, &p, cx->err));
    const bool has_bias = kiln_has_in(n, BIAS), is_product = has_one_tap(&p.window);
    if (!is_product)
        KILN_TRY(spread(cx, &p.window, &x));
    kiln_te *y = kiln_compute_begin(cx, has_bias ? "conv" : "", t, index);
    y->tag = "conv_transpose";
    const kiln_expr *body =
        is_product ? product(cx, y, &p, index) : contraction(cx, y, &p, &x, index);
    if (!has_bias)
        return kiln_compute_end(cx, 0, y, body);
    KILN_TRY(kiln_compute_inner(cx, y, t, body, &sum));
    kiln_te *z = kiln_compute_begin(cx, "", t, index);
    z->tag = "bias";
    const kiln_expr *bias =
        kiln_compute_widened(cx, kiln_compute_read(cx, BIAS, index + 1));
    return kiln_compute_end(
        cx, 0, z,
        kiln_x_add(cx->arena, kiln_compute_read_value(cx, &sum, index), bias));
}

const kiln_op_def kiln_op_conv_transpose = {
    KILN_ROW_CONTRACTION,
    .name = "conv_transpose",
    .doc = "Transposed convolution: y[b,o,p*stride+t*dilation-pads] += "
           "x[b,c,p] * w[c,o,t].",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "w", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .layout = KILN_LAYOUT_TOLERANT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
