/* Margins around a tensor (ONNX Pad 21). Negative pads crop, and do so first: the other
 * modes then continue what is left.
 *
 *   constant  value, 0 when absent
 *   edge      the nearest element
 *   reflect   mirrored at the outermost element, without repeating it; back and forth
 *             past its end
 *   wrap      the tensor again, as on a torus */
#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { MODE, PADS, N_ATTR };

typedef enum pad_mode { CONSTANT, REFLECT, EDGE, WRAP } pad_mode;

static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL};

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "mode",
     .kind = KILN_ATTR_WORD,
     .doc = "what the margins hold",
     .default_i = CONSTANT,
     .choices = modes},
    {.name = "pads",
     .kind = KILN_ATTR_INTS,
     .doc = "elements added before each axis, then behind each axis",
     .is_required = true},
};

static const char *const names[] = {"x", "value", NULL};

static kiln_status check_value(const kiln_node *n, kiln_err *err) {
    if (!kiln_has_in(n, 1))
        return KILN_OK;
    KILN_TRY(kiln_check_same_dtype(n, 0, 1, err));
    if (n->attr[MODE].i != CONSTANT)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'value' must be absent when the mode is not constant");
    return kiln_check_rank(n, 1, 0, err);
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    const kiln_attr *pads = &n->attr[PADS];
    if (pads->n != 2 * (size_t)x->rank)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "'pads' must have two entries per axis of 'x' (%d), has %zu",
                         2 * x->rank, pads->n);
    KILN_TRY(check_value(n, err));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        const int64_t before = pads->ints[i], behind = pads->ints[x->rank + i];
        const bool sane = before >= -KILN_MAX_ELEMS && before <= KILN_MAX_ELEMS &&
                          behind >= -KILN_MAX_ELEMS && behind <= KILN_MAX_ELEMS;
        if (!sane)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "pads of axis %d must be within 2^40, are %" PRId64
                             " and %" PRId64,
                             i, before, behind);
        const int64_t kept =
            x->dim[i] + (before < 0 ? before : 0) + (behind < 0 ? behind : 0);
        dim[i] = x->dim[i] + before + behind;
        if (kept < 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "pads %" PRId64 " and %" PRId64
                             " take more from axis %d than its %" PRId64 " elements",
                             before, behind, i, x->dim[i]);
        if (kept == 0 && dim[i] > 0 && n->attr[MODE].i != CONSTANT)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "axis %d must keep an element for mode '%s' to repeat", i,
                             modes[n->attr[MODE].i]);
    }
    return kiln_move_type(n, x->dtype, x->rank, dim, out, err);
}

/* The element that position p, which may be outside [0, n), takes; -1: the constant. */
static int64_t source_of(pad_mode mode, int64_t p, int64_t n) {
    if (p >= 0 && p < n)
        return p;
    switch (mode) {
    case CONSTANT:
        return -1;
    case EDGE:
        return p < 0 ? 0 : n - 1;
    case WRAP:
        return (p % n + n) % n;
    case REFLECT:
        break;
    }
    if (n == 1)
        return 0;
    const int64_t period = 2 * (n - 1), q = (p % period + period) % period;
    return q < n ? q : period - q;
}

/* For each output coordinate of an axis the input coordinate, or -1. */
static int64_t *axis_map(const kiln_node *n, kiln_eval_cx *cx, int axis) {
    const kiln_type *x = &cx->in[0].type;
    const int64_t *pads = n->attr[PADS].ints;
    const int64_t before = pads[axis], behind = pads[x->rank + axis];
    const int64_t cut = before < 0 ? -before : 0;
    const int64_t kept = x->dim[axis] - cut + (behind < 0 ? behind : 0);
    const int64_t n_out = cx->out[0].type.dim[axis];
    int64_t *map = kiln_array(cx->scratch, int64_t, n_out);
    for (int64_t o = 0; o < n_out; o++) {
        const int64_t p = o - (before > 0 ? before : 0);
        const int64_t s = source_of((pad_mode)n->attr[MODE].i, p, kept);
        map[o] = s < 0 ? -1 : s + cut;
    }
    return map;
}

static void put_constant(const kiln_node *n, kiln_eval_cx *cx, int64_t at) {
    if (kiln_has_in(n, 1))
        kiln_copy_elem(&cx->out[0], at, &cx->in[1], 0);
    else if (cx->out[0].f != NULL)
        cx->out[0].f[at] = 0;
    else
        cx->out[0].i[at] = 0;
}

/* One output row along the last axis; `base` is the input row's start, -1 for a row of
 * constants. */
static void pad_row(const kiln_node *n, kiln_eval_cx *cx, const int64_t *map,
                    int64_t base, int64_t at) {
    const int64_t row = cx->out[0].type.dim[cx->out[0].type.rank - 1];
    for (int64_t o = 0; o < row; o++) {
        if (base < 0 || map[o] < 0)
            put_constant(n, cx, at + o);
        else
            kiln_copy_elem(&cx->out[0], at + o, &cx->in[0], base + map[o]);
    }
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *y = &cx->out[0].type;
    if (kiln_type_elems(y) == 0)
        return KILN_OK;
    if (x->rank == 0) {
        kiln_copy_elem(&cx->out[0], 0, &cx->in[0], 0);
        return KILN_OK;
    }
    int64_t *map[KILN_MAX_RANK], stride[KILN_MAX_RANK], coord[KILN_MAX_RANK] = {0};
    kiln_strides(x->rank, x->dim, stride);
    for (int i = 0; i < x->rank; i++)
        map[i] = axis_map(n, cx, i);
    const int last = x->rank - 1;
    int64_t at = 0;
    do {
        int64_t base = 0;
        for (int i = 0; i < last && base >= 0; i++)
            base = map[i][coord[i]] < 0 ? -1 : base + map[i][coord[i]] * stride[i];
        pad_row(n, cx, map[last], base, at);
        at += y->dim[last];
    } while (kiln_next_coord(last, y->dim, coord));
    return KILN_OK;
}

/* source_of as an expression, of the modes that repeat elements. */
static const kiln_expr *source_expr(kiln_arena *a, pad_mode mode, const kiln_expr *p,
                                    int64_t n) {
    const int64_t period =
        mode == REFLECT ? (n > 1 ? 2 * (n - 1) : 1) : (n > 0 ? n : 1);
    const kiln_expr *zero = kiln_x_index(a, 0);
    if (mode == EDGE)
        return kiln_x_binary(a, KILN_EXPR_MAX,
                             kiln_x_binary(a, KILN_EXPR_MIN, p, kiln_x_index(a, n - 1)),
                             zero);
    const kiln_expr *length = kiln_x_index(a, period);
    const kiln_expr *q = kiln_x_binary(a, KILN_EXPR_FLOORMOD, p, length);
    if (mode == WRAP)
        return q;
    /* The nearer of the ways from both ends of a period. */
    return kiln_x_binary(a, KILN_EXPR_MIN, q, kiln_x_sub(a, length, q));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *inside = NULL;
    const bool is_constant = n->attr[MODE].i == CONSTANT;
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < x->rank; i++) {
        const int64_t before = n->attr[PADS].ints[i],
                      behind = n->attr[PADS].ints[x->rank + i];
        const int64_t cut = before < 0 ? -before : 0;
        const int64_t kept = x->dim[i] - cut + (behind < 0 ? behind : 0);
        const kiln_expr *p =
            kiln_x_sub(a, index[i], kiln_x_index(a, before > 0 ? before : 0));
        if (before > 0 || behind > 0) {
            const kiln_expr *in =
                kiln_compute_within(a, p, 0, kept - (KILN_FAULT(pad_end) ? 1 : 0));
            if (!is_constant)
                p = source_expr(a, (pad_mode)n->attr[MODE].i, p, kept);
            else
                inside =
                    inside == NULL ? in : kiln_x_binary(a, KILN_EXPR_AND, inside, in);
        }
        index[i] = kiln_x_add(a, p, kiln_x_index(a, cut));
    }
    const kiln_expr *v = kiln_compute_read(cx, 0, index);
    if (inside != NULL)
        v = kiln_x_select(a, inside, v,
                          kiln_has_in(n, 1) ? kiln_compute_read(cx, 1, index)
                                            : kiln_x_like(a, v, 0));
    return kiln_compute_end(cx, 0, y, v);
}

const kiln_op_def kiln_op_pad = {
    KILN_ROW_MOVE,
    .name = "pad",
    .doc = "x with margins of a constant or of its own elements; negative pads crop",
    .n_in_min = 1,
    .n_in_max = 2,
    .in_names = names,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
