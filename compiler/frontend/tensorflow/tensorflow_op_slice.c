/* Importers of Slice and StridedSlice. Source: array_ops.cc, "StridedSlice": masks say
 * for each entry of begin, end and strides what it means. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

kiln_status kiln_tf_import_slice(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *begin, *size;
    size_t n_begin, n_size;
    int64_t sizes[KILN_MAX_RANK], steps[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "begin", &begin, &n_begin));
    KILN_TRY(kiln_tf_ints(cx, n, 2, "size", &size, &n_size));
    const size_t rank = (size_t)x->type.rank;
    if (n_begin != rank || n_size != rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'begin' and 'size' must have %zu entries, have %zu and "
                            "%zu",
                            rank, n_begin, n_size);
    for (size_t i = 0; i < rank; i++) {
        const int64_t all = x->type.dim[i];
        const bool is_inside = begin[i] >= 0 && begin[i] <= all;
        sizes[i] = is_inside && size[i] == -1 ? all - begin[i] : size[i];
        steps[i] = 1;
        if (!is_inside || sizes[i] < 0 || sizes[i] > all - begin[i])
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "axis %zu has %" PRId64 " elements, of which %" PRId64
                                " from %" PRId64 " on are asked for",
                                i, all, size[i], begin[i]);
    }
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", begin, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_slice, &x, 1, args, 3));
}

/* ---- StridedSlice ----------------------------------------------------------------- */

/* New axes have entries too. */
enum { MAX_ENTRIES = 2 * KILN_MAX_RANK };

typedef struct strided {
    const int64_t *begin, *end, *step;
    size_t n; /* entries */
    uint64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;

    /* What it is for each axis of x, and the shape of the result. */
    int64_t starts[KILN_MAX_RANK], steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    int64_t dim[KILN_MAX_RANK];
    int at[KILN_MAX_RANK]; /* of each axis of x: where it lies in the result, or -1 */
    bool is_from_end[KILN_MAX_RANK]; /* its ends depend on how long it is */
    int axis, rank;                  /* filled so far */
} strided;

static bool bit(uint64_t mask, size_t i) { return i < 64 && (mask >> i & 1) != 0; }

static kiln_status read_strided(kiln_tf_cx *cx, const kiln_tf_node *n, strided *s) {
    size_t n_end, n_step;
    KILN_TRY(kiln_tf_ints(cx, n, 1, "begin", &s->begin, &s->n));
    KILN_TRY(kiln_tf_ints(cx, n, 2, "end", &s->end, &n_end));
    KILN_TRY(kiln_tf_ints(cx, n, 3, "strides", &s->step, &n_step));
    s->begin_mask = (uint64_t)kiln_tf_attr_i(cx, n, "begin_mask", 0);
    s->end_mask = (uint64_t)kiln_tf_attr_i(cx, n, "end_mask", 0);
    s->ellipsis_mask = (uint64_t)kiln_tf_attr_i(cx, n, "ellipsis_mask", 0);
    s->new_axis_mask = (uint64_t)kiln_tf_attr_i(cx, n, "new_axis_mask", 0);
    s->shrink_mask = (uint64_t)kiln_tf_attr_i(cx, n, "shrink_axis_mask", 0);
    if (s->n == n_end && s->n == n_step && s->n <= MAX_ENTRIES)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "'begin', 'end' and 'strides' must have the same number of "
                        "entries, at most %d, have %zu, %zu and %zu",
                        MAX_ENTRIES, s->n, n_end, n_step);
}

static kiln_status too_many(kiln_tf_cx *cx, const kiln_value *x) {
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "more axes are sliced or made than %s has, or kiln's %d",
                        kiln_type_text(&cx->common.scratch, &x->type), KILN_MAX_RANK);
}

/* The whole of the next axis of x. */
static void take_all(strided *s, const kiln_value *x) {
    s->starts[s->axis] = 0;
    s->steps[s->axis] = 1;
    s->sizes[s->axis] = x->type.dim[s->axis];
    s->at[s->axis] = s->rank;
    s->dim[s->rank++] = x->type.dim[s->axis++];
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* Entry i speaks of the next axis of x. */
static kiln_status take_entry(kiln_tf_cx *cx, strided *s, const kiln_value *x,
                              size_t i) {
    const int64_t all = x->type.dim[s->axis], step = s->step[i];
    const bool is_one = bit(s->shrink_mask, i);
    if (step == 0 || step == INT64_MIN || (is_one && step < 0))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'strides' must not be 0, and positive where one element "
                            "is taken, entry %zu is %" PRId64,
                            i, step);
    /* The ends that a slice may have: between elements, or before the first. */
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? all : all - 1;
    int64_t from = s->begin[i], to = s->end[i];
    from = from < 0 && from >= -all ? from + all : from;
    if (is_one) {
        if (from < 0 || from >= all)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "axis %d has %" PRId64 " elements, of which %" PRId64
                                " is asked for",
                                s->axis, all, s->begin[i]);
        s->starts[s->axis] = from;
        s->steps[s->axis] = s->sizes[s->axis] = 1;
        s->at[s->axis++] = -1;
        return KILN_OK;
    }
    to = to < 0 && to >= -all ? to + all : to;
    /* What is still negative lies before the first element. */
    from = bit(s->begin_mask, i) ? (step > 0 ? low : high) : clamp(from, low, high);
    to = bit(s->end_mask, i) ? (step > 0 ? high : low) : clamp(to, low, high);
    const int64_t span = step > 0 ? to - from : from - to;
    const int64_t stride = step > 0 ? step : -step;
    const int64_t size = span > 0 ? (span - 1) / stride + 1 : 0;
    s->starts[s->axis] = size > 0 ? from : 0;
    s->steps[s->axis] = size > 1 ? step : 1;
    s->is_from_end[s->axis] = step < 0 || (!bit(s->begin_mask, i) && s->begin[i] < 0) ||
                              (!bit(s->end_mask, i) && s->end[i] < 0);
    s->sizes[s->axis] = size;
    s->at[s->axis++] = s->rank;
    s->dim[s->rank++] = size;
    return KILN_OK;
}

/* Entries behind the ellipsis that speak of an axis of x. */
static int behind(const strided *s, size_t i) {
    int count = 0;
    for (i++; i < s->n; i++)
        count += !bit(s->new_axis_mask, i);
    return count;
}

static kiln_status take_entries(kiln_tf_cx *cx, strided *s, const kiln_value *x) {
    bool has_ellipsis = false;
    for (size_t i = 0; i < s->n; i++) {
        if (bit(s->ellipsis_mask, i) && has_ellipsis)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE, "there may be one ellipsis");
        if (bit(s->ellipsis_mask, i)) {
            has_ellipsis = true;
            const int rest = behind(s, i);
            while (s->axis < x->type.rank - rest && s->rank < KILN_MAX_RANK)
                take_all(s, x);
            continue;
        }
        const bool is_new = bit(s->new_axis_mask, i);
        if (s->rank == KILN_MAX_RANK || (!is_new && s->axis == x->type.rank))
            return too_many(cx, x);
        if (is_new)
            s->dim[s->rank++] = 1;
        else
            KILN_TRY(take_entry(cx, s, x, i));
    }
    while (s->axis < x->type.rank && s->rank < KILN_MAX_RANK)
        take_all(s, x);
    return s->axis == x->type.rank ? KILN_OK : too_many(cx, x);
}

kiln_status kiln_tf_read_cut(kiln_tf_cx *cx, const kiln_tf_node *n, const kiln_value *x,
                             int of, kiln_counted_cut *out) {
    strided s = {.axis = 0};
    KILN_TRY(read_strided(cx, n, &s));
    KILN_TRY(take_entries(cx, &s, x));
    *out =
        (kiln_counted_cut){s.at[of], s.sizes[of],
                           s.starts[of] == 0 && s.steps[of] == 1 && !s.is_from_end[of]};
    return KILN_OK;
}

kiln_status kiln_tf_import_strided_slice(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    strided s = {.axis = 0};
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(read_strided(cx, n, &s));
    KILN_TRY(take_entries(cx, &s, x));
    const size_t rank = (size_t)x->type.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", s.starts, rank),
                                  kiln_arg_ints("steps", s.steps, rank),
                                  kiln_arg_ints("sizes", s.sizes, rank)};
    bool is_all = true;
    for (size_t i = 0; i < rank; i++)
        is_all = is_all && s.sizes[i] == x->type.dim[i] && s.steps[i] == 1;
    if (!is_all)
        x = kiln_compose_op(&c, &kiln_op_slice, &x, 1, args, 3);
    return kiln_tf_end(&c, n, kiln_compose_reshape(&c, x, s.rank, s.dim));
}
