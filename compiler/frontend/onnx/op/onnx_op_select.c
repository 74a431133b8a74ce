/* Importers of operators whose result has as many elements as the data says: Compress
 * (9, 11), NonZero (9, 13), Unique (11), NonMaxSuppression (10, 11), where what decides
 * is a constant; kiln_onnx_const tells which input to fix. Boxes and scores need not
 * be: their result is bounded. counted_pick.c has NonZero and Compress of data. */
#include "compiler/frontend/onnx/counted.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* x's elements at the listed places of an axis; of all elements for axis -1. */
static kiln_value *pick(kiln_compose *c, kiln_value *x, int axis, const int64_t *at,
                        int64_t n) {
    const int64_t elems = kiln_type_elems(&x->type);
    if (axis < 0)
        x = kiln_compose_reshape(c, x, 1, &elems);
    return kiln_compose_axis(c, &kiln_op_gather, x, kiln_compose_ints(c, 1, &n, at),
                             axis < 0 ? 0 : axis);
}

/* The attribute 'axis' of x, or -1 where it is not given. */
static kiln_status optional_axis(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                 const kiln_value *x, int *axis) {
    *axis = -1;
    if (!kiln_onnx_has_attr(n, "axis"))
        return KILN_OK;
    return kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank, axis,
                               kiln_onnx_err(cx));
}

kiln_status kiln_onnx_import_compress(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *operand;
    const int64_t *condition;
    size_t count;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "condition", &operand));
    KILN_TRY(optional_axis(cx, n, x, &axis));
    KILN_TRY(kiln_onnx_const_ints(cx, operand, "condition", &condition, &count));
    const int64_t length = axis < 0 ? kiln_type_elems(&x->type) : x->type.dim[axis];
    if (count > (size_t)length)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'condition' must have at most %" PRId64
                              " elements, has %zu",
                              length, count);
    int64_t *const at = kiln_array(kiln_onnx_arena(cx), int64_t, count);
    int64_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (condition[i] != 0)
            at[kept++] = (int64_t)i;
    kiln_onnx_set(cx, n, 0, pick(&c, x, axis, at, kept));
    return c.status;
}

kiln_status kiln_onnx_import_non_zero(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    const double *v;
    size_t count;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_const_floats(cx, x, "X", &v, &count));
    const int rank = x->type.rank;
    int64_t dim[] = {rank, 0};
    for (size_t i = 0; i < count; i++)
        dim[1] += v[i] != 0;
    KILN_TRY(kiln_onnx_spend(cx, 8 * dim[0] * dim[1]));
    int64_t *const at = kiln_array(kiln_onnx_arena(cx), int64_t, dim[0] * dim[1]);
    int64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t rest = (int64_t)i;
        if (v[i] == 0)
            continue;
        for (int k = rank - 1; k >= 0; k--) {
            at[k * dim[1] + next] = rest % x->type.dim[k];
            rest /= x->type.dim[k];
        }
        next++;
    }
    kiln_onnx_set(cx, n, 0, kiln_compose_ints(&c, 2, dim, at));
    return c.status;
}

/* ---- Unique ---- */

/* n slices along an axis; one of f and i holds the elements. */
typedef struct slices {
    const double *f;
    const int64_t *i;
    bool is_unsigned;
    int64_t outer, n, inner;
} slices;

/* NaN is equal to itself and behind all numbers. */
static int order_floats(double x, double y) {
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int order_slices(const slices *s, int64_t a, int64_t b) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->inner; k++) {
            const int64_t x = (o * s->n + a) * s->inner + k;
            const int64_t y = (o * s->n + b) * s->inner + k;
            int order;
            if (s->f != NULL)
                order = order_floats(s->f[x], s->f[y]);
            else if (s->is_unsigned)
                order = ((uint64_t)s->i[x] > (uint64_t)s->i[y]) -
                        ((uint64_t)s->i[x] < (uint64_t)s->i[y]);
            else
                order = (s->i[x] > s->i[y]) - (s->i[x] < s->i[y]);
            if (order != 0)
                return order;
        }
    return 0;
}

/* Stable merge sort of the slices' numbers; `spare` is as long. */
static void sort_slices(const slices *s, int64_t *at, int64_t *spare) {
    for (int64_t width = 1; width < s->n; width *= 2) {
        for (int64_t first = 0; first < s->n; first += 2 * width) {
            const int64_t mid = first + width < s->n ? first + width : s->n;
            const int64_t end = first + 2 * width < s->n ? first + 2 * width : s->n;
            int64_t l = first, r = mid;
            for (int64_t k = first; k < end; k++)
                spare[k] = l < mid && (r == end || order_slices(s, at[l], at[r]) <= 0)
                               ? at[l++]
                               : at[r++];
        }
        for (int64_t k = 0; k < s->n; k++)
            at[k] = spare[k];
    }
}

static kiln_status read_slices(kiln_onnx_cx *cx, kiln_value *x, int axis, slices *s) {
    size_t count;
    *s = (slices){.outer = 1, .n = kiln_type_elems(&x->type), .inner = 1};
    if (axis >= 0)
        s->n = x->type.dim[axis];
    for (int i = 0; axis >= 0 && i < x->type.rank; i++) {
        s->outer *= i < axis ? x->type.dim[i] : 1;
        s->inner *= i > axis ? x->type.dim[i] : 1;
    }
    s->is_unsigned = x->type.dtype == KILN_U64;
    if (kiln_dtype_is_float(x->type.dtype))
        return kiln_onnx_const_floats(cx, x, "X", &s->f, &count);
    return kiln_onnx_const_ints(cx, x, "X", &s->i, &count);
}

/* Distinct slices in the order asked for. */
typedef struct groups {
    int64_t n;
    int64_t *first, *count; /* n entries: where it is first, how often it is there */
    int64_t *of;            /* per slice */
} groups;

static groups find_groups(kiln_arena *a, const slices *s, bool is_sorted) {
    int64_t *const at = kiln_array(a, int64_t, s->n), *const spare =
                                                          kiln_array(a, int64_t, s->n);
    groups g = {.first = kiln_array(a, int64_t, s->n),
                .count = kiln_array(a, int64_t, s->n),
                .of = kiln_array(a, int64_t, s->n)};
    for (int64_t i = 0; i < s->n; i++)
        at[i] = i;
    sort_slices(s, at, spare);
    /* Each slice's first equal one; sorting was stable, so it comes first. */
    for (int64_t k = 0; k < s->n; k++)
        spare[at[k]] =
            k > 0 && order_slices(s, at[k - 1], at[k]) == 0 ? spare[at[k - 1]] : at[k];
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t i = is_sorted ? at[k] : k;
        if (spare[i] == i) {
            g.of[i] = g.n;
            g.first[g.n] = i;
            g.count[g.n++] = 0;
        }
        g.of[i] = g.of[spare[i]];
        g.count[g.of[i]]++;
    }
    return g;
}

kiln_status kiln_onnx_import_unique(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    slices s;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(optional_axis(cx, n, x, &axis));
    KILN_TRY(read_slices(cx, x, axis, &s));
    KILN_TRY(kiln_onnx_spend(cx, INT64_C(40) * s.n));
    const groups g =
        find_groups(kiln_onnx_arena(cx), &s, kiln_onnx_attr_i(cx, n, "sorted", 1) != 0);
    kiln_onnx_set(cx, n, 0, pick(&c, x, axis, g.first, g.n));
    kiln_onnx_set(cx, n, 1, kiln_compose_ints(&c, 1, &g.n, g.first));
    kiln_onnx_set(cx, n, 2, kiln_compose_ints(&c, 1, &s.n, g.of));
    kiln_onnx_set(cx, n, 3, kiln_compose_ints(&c, 1, &g.n, g.count));
    return c.status;
}

/* ---- NonMaxSuppression ---- */

/* An optional operand of one element (or none: then *v stays). */
static kiln_status read_option(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                               const char *name, double *v) {
    kiln_value *const operand = kiln_onnx_in(cx, n, i);
    const double *given;
    size_t count;
    if (operand == NULL)
        return KILN_OK;
    KILN_TRY(kiln_onnx_const_floats(cx, operand, name, &given, &count));
    if (count > 1 || (count == 1 && isnan(given[0])))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input '%s' must be one number, has %zu", name, count);
    if (count == 1)
        *v = given[0];
    return KILN_OK;
}

kiln_status kiln_onnx_import_non_max_suppression(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[2], *out[2];
    double most = 0, iou = 0, score = -HUGE_VAL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "boxes", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "scores", &in[1]));
    KILN_TRY(read_option(cx, n, 2, "max_output_boxes_per_class", &most));
    KILN_TRY(read_option(cx, n, 3, "iou_threshold", &iou));
    KILN_TRY(read_option(cx, n, 4, "score_threshold", &score));
    most = most < 0 ? 0 : most > (double)KILN_MAX_ELEMS ? (double)KILN_MAX_ELEMS : most;
    const kiln_attr_arg args[] = {
        kiln_arg_int("max_per_class", (int64_t)most),
        kiln_arg_float("iou_threshold", iou),
        kiln_arg_float("score_threshold", score),
        kiln_arg_bool("center_point",
                      kiln_onnx_attr_i(cx, n, "center_point_box", 0) != 0),
    };
    KILN_TRY(
        kiln_onnx_emit(cx, n, &kiln_op_non_max_suppression, in, 2, args, 4, 2, out));
    if (kiln_value_is_const(out[1])) { /* all of it is: so the count is known */
        int64_t count;
        memcpy(&count, out[1]->data, sizeof count);
        out[0] = kiln_compose_slice(&c, out[0], 0, 0, 1, count);
    } else {
        out[0] = kiln_compose_counted(&c, out[0], 0, out[1]);
    }
    kiln_onnx_set(cx, n, 0, out[0]);
    return c.status;
}
