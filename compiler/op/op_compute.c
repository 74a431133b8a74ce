/* Tensor expressions of whole families. */
#include "compiler/op/op_compute.h"
#include "base/fault.h"

kiln_status kiln_compute_unary(const kiln_node *n, kiln_compute_cx *cx) {
    KILN_ASSERT(n->op->x1 != NULL && n->n_in == 1, "'%s' is not of one input",
                n->op->name);
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, index));
    return kiln_compute_end(cx, 0, y, n->op->x1(cx->arena, x, n->attr));
}

kiln_status kiln_compute_binary(const kiln_node *n, kiln_compute_cx *cx) {
    KILN_ASSERT(n->op->x2 != NULL && n->n_in == 2, "'%s' is not of two inputs",
                n->op->name);
    const kiln_expr *index[KILN_MAX_RANK], *x[2];
    const kiln_type *t = &cx->out[0].type;
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    for (int i = 0; i < 2; i++)
        x[i] = kiln_compute_widened(
            cx, kiln_compute_read_broadcast(cx, KILN_FAULT(add_operand) ? 0 : i,
                                            t->rank, index));
    return kiln_compute_end(cx, 0, y, n->op->x2(cx->arena, x[0], x[1], n->attr));
}

kiln_status kiln_compute_copy(kiln_compute_cx *cx, int k, int i) {
    KILN_ASSERT(k >= 0 && k < cx->node->n_out && kiln_has_in(cx->node, i),
                "'%s' copies input %d to output %d", cx->node->name, i, k);
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *x = &cx->in[i].type;
    /* Who converts a layout to itself wants zeros in tail lanes. */
    if (kiln_layout_eq(&x->layout, &cx->out[k].type.layout) &&
        kiln_compute_has_zero_tails(x)) {
        kiln_compute_forward(cx, k, i);
        return KILN_OK;
    }
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[k].type, index);
    return kiln_compute_end(cx, k, y, kiln_compute_read(cx, i, index));
}

const kiln_expr *kiln_compute_safe_divisor(kiln_arena *a, const kiln_expr *y) {
    KILN_ASSERT(!kiln_dtype_is_float(y->dtype), "floats are divided by anything");
    const kiln_expr *bad = kiln_x_binary(a, KILN_EXPR_EQ, y, kiln_x_like(a, y, 0));
    if (kiln_dtype_is_in(y->dtype, KILN_DT_SIGNED))
        bad = kiln_x_binary(a, KILN_EXPR_OR, bad,
                            kiln_x_binary(a, KILN_EXPR_EQ, y, kiln_x_like(a, y, -1)));
    return kiln_x_select(a, bad, kiln_x_like(a, y, 1), y);
}

int kiln_compute_reduce_axes(kiln_te *te, const kiln_type *x, const bool *is_reduced,
                             bool keepdims, const kiln_expr *const *index,
                             const kiln_expr **at, const kiln_axis **axis) {
    static const char *const name[KILN_MAX_RANK] = {"r0", "r1", "r2", "r3",
                                                    "r4", "r5", "r6", "r7"};
    int n = 0, from = 0;
    for (int i = 0; i < x->rank; i++) {
        if (!is_reduced[i]) {
            at[i] = index[from++];
            continue;
        }
        axis[n] = kiln_te_reduce_axis(te, name[n], x->dim[i]);
        at[i] = kiln_axis_var(te->arena, axis[n++]);
        from += keepdims ? 1 : 0;
    }
    return n;
}

/* How far windows reach along an axis, counted from the first padded position. */
static int64_t reach(const kiln_window *w, int axis) {
    return (w->out[axis] - 1) * w->stride[axis] + kiln_window_extent(w, axis);
}

const kiln_expr *kiln_compute_within(kiln_arena *a, const kiln_expr *e, int64_t begin,
                                     int64_t end) {
    KILN_ASSERT(begin <= end, "a range from %lld to %lld", (long long)begin,
                (long long)end);
    const kiln_expr *lo = kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, begin), e);
    const kiln_expr *hi = kiln_x_binary(a, KILN_EXPR_LT, e, kiln_x_index(a, end));
    return kiln_x_binary(a, KILN_EXPR_AND, lo, hi);
}

kiln_status kiln_compute_pad(kiln_compute_cx *cx, const kiln_te_value *x,
                             const kiln_window *w, const kiln_expr *fill,
                             kiln_te_value *out) {
    KILN_ASSERT(x->type.rank == w->n + 2, "a window of %d axes over rank %d", w->n,
                x->type.rank);
    kiln_arena *a = cx->arena;
    kiln_type t = x->type;
    bool pads = false;
    for (int i = 0; i < w->n; i++) {
        t.dim[2 + i] = reach(w, i);
        pads |= w->pad_begin[i] > 0 || reach(w, i) > w->in[i];
    }
    *out = *x;
    if (!pads)
        return KILN_OK;
    const kiln_expr *index[KILN_MAX_RANK], *cond = NULL;
    kiln_te *te = kiln_compute_begin(cx, "pad", &t, index);
    te->tag = "pad";
    for (int i = 0; i < w->n; i++) {
        if (w->pad_begin[i] == 0 && reach(w, i) <= w->in[i])
            continue;
        const int64_t begin = w->pad_begin[i], end = begin + w->in[i];
        const kiln_expr *in = kiln_compute_within(a, index[2 + i], begin, end);
        cond = cond == NULL ? in : kiln_x_binary(a, KILN_EXPR_AND, cond, in);
        index[2 + i] = kiln_x_sub(a, index[2 + i], kiln_x_index(a, w->pad_begin[i]));
    }
    KILN_ASSERT(cond != NULL, "'%s' pads no axis", te->name);
    const kiln_expr *v = kiln_compute_read_value(cx, x, index);
    return kiln_compute_inner(cx, te, &t, kiln_x_select(a, cond, v, fill), out);
}

void kiln_compute_taps(kiln_te *te, const kiln_window *w, const kiln_expr *const *index,
                       const kiln_expr **at, const kiln_axis **axis) {
    static const char *const name[KILN_MAX_SPATIAL] = {"k0", "k1", "k2",
                                                       "k3", "k4", "k5"};
    KILN_ASSERT(w->n >= 1 && w->n <= KILN_MAX_SPATIAL, "a window of %d axes", w->n);
    kiln_arena *a = te->arena;
    at[0] = index[0];
    at[1] = index[1];
    for (int i = 0; i < w->n; i++) {
        axis[i] = kiln_te_reduce_axis(
            te, name[i], w->kernel[i] - (KILN_FAULT(window_last_tap) ? 1 : 0));
        at[2 + i] = kiln_x_add(
            a, kiln_x_mul(a, index[2 + i], kiln_x_index(a, w->stride[i])),
            kiln_x_mul(a, kiln_axis_var(a, axis[i]), kiln_x_index(a, w->dilation[i])));
    }
}

int64_t kiln_compute_common_extent(const kiln_type *x, int axis, const kiln_type *w,
                                   int w_axis) {
    const int64_t n = w->dim[w_axis];
    if (!kiln_compute_has_zero_tails(x) || !kiln_compute_has_zero_tails(w) ||
        n != x->dim[axis])
        return n;
    const int64_t bx = kiln_type_blocked(x, axis), bw = kiln_type_blocked(w, w_axis);
    const int64_t px = (n + bx - 1) / bx * bx, pw = (n + bw - 1) / bw * bw;
    return px < pw ? px : pw;
}

const kiln_expr *kiln_compute_index(kiln_compute_cx *cx, int in,
                                    const kiln_expr *const *index, int64_t dim) {
    KILN_ASSERT(kiln_has_in(cx->node, in) && dim >= 0,
                "'%s' takes input %d as an index of %lld elements", cx->node->name, in,
                (long long)dim);
    kiln_arena *a = cx->arena;
    const kiln_expr *v = kiln_x_cast(a, KILN_I64, kiln_compute_read(cx, in, index));
    const kiln_expr *zero = kiln_x_index(a, 0);
    v = kiln_x_select(a, kiln_x_less(a, v, zero),
                      kiln_x_add(a, v, kiln_x_index(a, dim)), v);
    v = kiln_x_binary(a, KILN_EXPR_MIN, v,
                      kiln_x_index(a, dim - (KILN_FAULT(gather_clamp) ? 2 : 1)));
    return kiln_x_binary(a, KILN_EXPR_MAX, v, zero);
}
