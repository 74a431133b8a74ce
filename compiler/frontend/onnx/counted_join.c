/* Counted values and what joins or cuts them: Concat, Slice, ScatterElements, If. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"
#include "compiler/frontend/onnx/list.h"

#include <inttypes.h>

/* ---- Concat ---- */

/* Side by side: all have the same rows. */
static kiln_status concat_beside(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_value *first = NULL;
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (first == NULL && kiln_value_is_counted(v))
            first = v;
    }
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (v == NULL || !kiln_value_is_counted(v) ||
            v->bounded_axis != first->bounded_axis ||
            !kiln_onnx_is_same_count(cx, v->count, first->count))
            return kiln_onnx_refuse_counted(
                cx, first, "what it is joined with is not seen to be as long");
    }
    KILN_TRY(kiln_onnx_import_given(cx, n, NULL, 0));
    return kiln_onnx_mark(cx, n, 0, first->bounded_axis, first->count);
}

/* One behind the other: all with their filling, then in an order that puts the filling
 * behind. */
static kiln_status concat_behind(kiln_onnx_cx *cx, const kiln_onnx_node *n, int axis) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const int n_in = kiln_onnx_n_in(n);
    kiln_value **const in = kiln_array(kiln_onnx_arena(cx), kiln_value *, n_in);
    kiln_value **const mask = kiln_array(kiln_onnx_arena(cx), kiln_value *, n_in);
    kiln_value *count;
    for (int i = 0; i < n_in; i++) {
        KILN_TRY(kiln_onnx_need(cx, n, i, "inputs", &in[i]));
        const int64_t d = in[i]->type.dim[axis];
        if (kiln_value_is_counted(in[i]) && in[i]->bounded_axis != axis)
            return kiln_onnx_refuse_counted(cx, in[i], "that is along another axis");
        mask[i] = kiln_compose_mask(&c, 1, 0, d, kiln_compose_length(&c, in[i], axis));
    }
    const kiln_attr_arg along = kiln_arg_int("axis", axis),
                        first = kiln_arg_int("axis", 0);
    kiln_value *const all = kiln_compose_op(&c, &kiln_op_concat, in, n_in, &along, 1);
    kiln_value *const counts =
        kiln_compose_op(&c, &kiln_op_concat, mask, n_in, &first, 1);
    kiln_value *const order = kiln_compose_partition(&c, counts, &count);
    kiln_value *const y = kiln_compose_axis(&c, &kiln_op_gather, all, order, axis);
    kiln_onnx_set(cx, n, 0, kiln_compose_counted(&c, y, axis, count));
    return c.status;
}

kiln_status kiln_onnx_counted_concat(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    int axis;
    bool is_along = false;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "inputs", &x));
    if (!kiln_onnx_has_attr(n, "axis") && cx->version >= 4) /* its importer says so */
        return kiln_onnx_import_given(cx, n, NULL, 0);
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 1), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    for (int i = 0; i < kiln_onnx_n_in(n); i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (v == NULL || v->type.rank != x->type.rank)
            return kiln_onnx_import_given(cx, n, NULL, 0); /* as above */
        is_along = is_along || (kiln_value_is_counted(v) && v->bounded_axis == axis);
    }
    if (!is_along)
        return concat_beside(cx, n);
    if (kiln_onnx_n_in(n) > 1)
        return concat_behind(cx, n, axis);
    kiln_onnx_set(cx, n, 0, x);
    return KILN_OK;
}

/* ---- Slice ---- */

/* One axis of a slice; NULL lists are those the node leaves out. */
typedef struct cut {
    kiln_value *starts, *ends, *steps;
    const int64_t *axes;
    int64_t n;
} cut;

static kiln_status read_cut(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_value *x, cut *s) {
    kiln_value *const axes = kiln_onnx_in(cx, n, 3);
    size_t count = 0;
    *s = (cut){.steps = kiln_onnx_in(cx, n, 4)};
    if (kiln_onnx_version(cx) < 10)
        return kiln_onnx_refuse_counted(
            cx, x, "slices of opset 9 and below have no rule for it");
    KILN_TRY(kiln_onnx_need(cx, n, 1, "starts", &s->starts));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "ends", &s->ends));
    if (axes != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, axes, "axes", &s->axes, &count));
    s->n = kiln_type_elems(&s->starts->type);
    if (s->n > KILN_MAX_RANK || kiln_type_elems(&s->ends->type) != s->n ||
        (axes != NULL && count != (size_t)s->n) ||
        (s->steps != NULL && kiln_type_elems(&s->steps->type) != s->n))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'starts', 'ends', 'axes' and 'steps' must have as many "
                              "entries each");
    return KILN_OK;
}

static kiln_value *entry(kiln_compose *c, kiln_value *list, int64_t i) {
    kiln_value *const one = kiln_compose_slice(c, list, 0, i, 1, 1);
    return kiln_compose_cast(c, kiln_compose_reshape(c, one, 0, NULL), KILN_I64);
}

/* How many elements are left between a known start and an end that depends on data:
 * entry i of `ends`, or all there are. */
static kiln_value *count_left(kiln_compose *c, kiln_value *x, int axis, int64_t start,
                              kiln_value *ends, int64_t i,
                              const kiln_onnx_extent *end) {
    kiln_value *const length = kiln_compose_length(c, x, axis), *at = NULL;
    if (end->lo < x->type.dim[axis])
        at = end->lo == end->hi ? kiln_compose_number(c, end->lo) : entry(c, ends, i);
    if (at != NULL && end->hi < 0)
        at = kiln_compose_2(c, &kiln_op_add, at, length);
    at = at == NULL ? length : kiln_compose_2(c, &kiln_op_min, at, length);
    if (start > 0)
        at = kiln_compose_2(c, &kiln_op_sub, at, kiln_compose_number(c, start));
    return start > 0 || end->lo < 0
               ? kiln_compose_2(c, &kiln_op_max, at, kiln_compose_number(c, 0))
               : at;
}

/* The one axis whose length is not known afterwards; the others are cut as ever. */
typedef struct open_axis {
    int axis; /* -1: none */
    kiln_value *count;
} open_axis;

static kiln_status cut_open(kiln_compose *c, kiln_value *x, const cut *s, int64_t i,
                            int axis, int64_t *start, int64_t *end, open_axis *open) {
    kiln_onnx_extent first, last, step;
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    const int64_t d = x->type.dim[axis];
    if (!kiln_onnx_find_extent(cx, s->starts, i, &first) ||
        !kiln_onnx_find_extent(cx, s->ends, i, &last) ||
        (s->steps != NULL && !kiln_onnx_find_extent(cx, s->steps, i, &step)))
        return kiln_onnx_refuse_counted(cx, x, "where it is cut has no bound");
    *start = first.lo;
    *end = last.hi;
    const bool is_whole = kiln_value_is_counted(x) && x->bounded_axis == axis;
    if (first.lo == first.hi && last.lo == last.hi && !is_whole)
        return KILN_OK;
    if (first.lo != first.hi || first.lo < 0 || (last.lo < 0 && last.hi >= 0) ||
        (s->steps != NULL && (step.lo != 1 || step.hi != 1)))
        return kiln_onnx_refuse_counted(
            cx, x,
            "a slice along it has a rule from a known place on in steps of 1 only");
    if (open->axis >= 0)
        return kiln_onnx_refuse_counted(cx, x, "two axes of the result would");
    *start = first.lo < d ? first.lo : d;
    *end = last.hi < 0 ? d + last.hi : last.hi;
    *open = (open_axis){axis, count_left(c, x, axis, first.lo, s->ends, i, &last)};
    return c->status;
}

kiln_status kiln_onnx_counted_slice(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    cut s;
    int64_t start[KILN_MAX_RANK], end[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(read_cut(cx, n, x, &s));
    open_axis open = {-1, NULL};
    bool touched = false;
    for (int64_t i = 0; i < s.n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(s.axes != NULL ? s.axes[i] : i, x->type.rank,
                                     &axis, kiln_onnx_err(cx)));
        touched = touched || axis == x->bounded_axis;
        KILN_TRY(cut_open(&c, x, &s, i, axis, &start[i], &end[i], &open));
    }
    if (kiln_value_is_counted(x) && !touched) {
        if (open.axis >= 0)
            return kiln_onnx_refuse_counted(cx, x, "two axes of the result would");
        open = (open_axis){x->bounded_axis, x->count};
    }
    kiln_value *const given[3] = {NULL, kiln_compose_ints(&c, 1, &s.n, start),
                                  kiln_compose_ints(&c, 1, &s.n, end)};
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, 3));
    return open.axis < 0 ? KILN_OK : kiln_onnx_mark(cx, n, 0, open.axis, open.count);
}

/* ---- ScatterElements ---- */

/* What the filling of the updates goes to: elements behind the last, one for each of
 * its places, which are cut off again. */
kiln_status kiln_onnx_counted_scatter_elements(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    enum { DATA, INDICES, UPDATES, N };
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *index, *update, *given[N] = {NULL};
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, DATA, "data", &x));
    KILN_TRY(kiln_onnx_need(cx, n, INDICES, "indices", &index));
    KILN_TRY(kiln_onnx_need(cx, n, UPDATES, "updates", &update));
    const int rank = x->type.rank;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), rank, &axis,
                                 kiln_onnx_err(cx)));
    if (kiln_value_is_counted(index) != kiln_value_is_counted(update) ||
        (kiln_value_is_counted(index) &&
         (index->bounded_axis != update->bounded_axis ||
          !kiln_onnx_is_same_count(cx, index->count, update->count))))
        return kiln_onnx_refuse_counted(
            cx, kiln_value_is_counted(index) ? index : update,
            "'indices' and 'updates' are not seen to have as many");
    if (index->type.rank != rank) /* its importer says so */
        return kiln_onnx_import_given(cx, n, NULL, 0);
    const int64_t d = x->type.dim[axis], extra = index->type.dim[axis];
    const kiln_dtype dtype = index->type.dtype;
    kiln_value *const zero = kiln_onnx_scalar(cx, dtype, 0);
    kiln_value *const length =
        kiln_compose_cast(&c, kiln_compose_length(&c, x, axis), dtype);
    kiln_value *at =
        kiln_compose_where(&c, kiln_compose_2(&c, &kiln_op_less, index, zero),
                           kiln_compose_2(&c, &kiln_op_add, index, length), index);
    if (kiln_value_is_counted(index)) {
        int64_t shape[KILN_MAX_RANK], pads[2 * KILN_MAX_RANK] = {0};
        for (int i = 0; i < rank; i++)
            shape[i] = i == axis ? extra : 1;
        pads[rank + axis] = extra;
        kiln_value *const behind = kiln_compose_scalar(
            &c, &kiln_op_add,
            kiln_compose_reshape(&c, kiln_compose_iota(&c, extra), rank, shape),
            (double)d);
        kiln_value *const mask =
            kiln_compose_mask(&c, rank, index->bounded_axis,
                              index->type.dim[index->bounded_axis], index->count);
        at = kiln_compose_where(&c, mask, at, kiln_compose_cast(&c, behind, dtype));
        given[DATA] = kiln_compose_pad(&c, kiln_compose_uncounted(&c, x), pads, 0);
    }
    given[INDICES] = at;
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_import_given(cx, n, given, N));
    if (!kiln_onnx_wants(n, 0))
        return KILN_OK;
    kiln_value *y = kiln_map_get(&cx->scope->values, n->output[0]);
    y = kiln_compose_slice(&c, y, axis, 0, 1, d);
    if (kiln_value_is_counted(x))
        y = kiln_compose_counted(&c, y, x->bounded_axis, x->count);
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

/* ---- If ---- */

static bool names_counted(kiln_onnx_cx *cx, const kiln_onnx_graph *g, int depth) {
    for (size_t i = 0; i < g->n_node; i++) {
        const kiln_onnx_node *const n = &g->node[i];
        for (size_t k = 0; k < n->n_input; k++) {
            kiln_value *v = NULL;
            if (n->input[k].n > 0 &&
                kiln_onnx_lookup(cx, cx->scope, n->input[k], &v) == KILN_OK &&
                kiln_value_is_counted(v))
                return true;
        }
        for (size_t k = 0; k < n->n_attribute && depth < KILN_ONNX_MAX_CALL_DEPTH; k++)
            if (n->attribute[k].g != NULL &&
                names_counted(cx, n->attribute[k].g, depth + 1))
                return true;
    }
    return false;
}

bool kiln_onnx_if_reads_counted(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_value *const cond = kiln_onnx_in(cx, n, 0);
    static const char *const branch[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2 && cx->counts.n > 0 && cond != NULL; i++) {
        const kiln_onnx_graph *const g = kiln_onnx_attr_graph(cx, n, branch[i]);
        if (!kiln_value_is_const(cond) && g != NULL && names_counted(cx, g, 0))
            return true;
    }
    return false;
}

/* x with `dim` elements along the axis: zeros behind its own. */
static kiln_value *lengthen(kiln_compose *c, kiln_value *x, int axis, int64_t dim) {
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    x = kiln_compose_uncounted(c, x);
    pads[x->type.rank + axis] = dim - x->type.dim[axis];
    if (x->type.dim[axis] > 0)
        return kiln_compose_pad(c, x, pads, 0);
    kiln_type t = x->type;
    t.dim[axis] = dim;
    return kiln_compose_expand(c, kiln_import_scalar(c->cx, t.dtype, 0), t.rank, t.dim);
}

/* The axis along which two results may differ, -1: none; -2: they differ otherwise. */
static int differing_axis(const kiln_value *x, const kiln_value *y) {
    int axis = x->count != NULL   ? x->bounded_axis
               : y->count != NULL ? y->bounded_axis
                                  : -1;
    if (x->type.rank != y->type.rank || x->type.dtype != y->type.dtype ||
        (x->count != NULL && y->count != NULL && x->bounded_axis != y->bounded_axis))
        return -2;
    for (int i = 0; i < x->type.rank; i++) {
        if (x->type.dim[i] == y->type.dim[i] || i == axis)
            continue;
        if (axis >= 0)
            return -2;
        axis = i;
    }
    return axis;
}

/* Both branches in place, as they only compute; the condition chooses between their
 * results, and between their lengths. */
kiln_status kiln_onnx_counted_if(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const name[] = {"then_branch", "else_branch"};
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *cond, **out[2];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "cond", &cond));
    for (int i = 0; i < 2; i++) {
        const kiln_onnx_graph *const g = kiln_onnx_attr_graph(cx, n, name[i]);
        if (g == NULL || g->n_output < n->n_output)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "attribute '%s' must be a graph with %zu outputs",
                                  name[i], n->n_output);
        out[i] = kiln_array(kiln_onnx_arena(cx), kiln_value *, g->n_output);
        KILN_TRY(kiln_onnx_inline(cx, n, g, out[i]));
    }
    cx->in_rule = true; /* the branches' nodes had rules of their own */
    cond = kiln_compose_reshape(&c, cond, 0, NULL);
    for (size_t i = 0; i < n->n_output; i++) {
        kiln_value *x = out[0][i], *y = out[1][i];
        if (kiln_onnx_as_list(x) != NULL || kiln_onnx_as_list(y) != NULL)
            return kiln_onnx_refuse_counted(cx, cond, "a branch gives a sequence");
        const int axis = differing_axis(x, y);
        if (axis < -1)
            return kiln_onnx_fail(
                cx, KILN_ERR_UNSUPPORTED,
                "the branches give %s and %s, which differ in more than "
                "the length of one axis",
                kiln_type_text(&cx->common.scratch, &x->type),
                kiln_type_text(&cx->common.scratch, &y->type));
        if (axis < 0) {
            kiln_onnx_set(cx, n, (int)i, kiln_compose_where(&c, cond, x, y));
            continue;
        }
        kiln_value *const count =
            kiln_compose_where(&c, cond, kiln_compose_length(&c, x, axis),
                               kiln_compose_length(&c, y, axis));
        const int64_t d = x->type.dim[axis], other = y->type.dim[axis];
        const int64_t most = d > other ? d : other;
        kiln_value *const z = kiln_compose_where(&c, cond, lengthen(&c, x, axis, most),
                                                 lengthen(&c, y, axis, most));
        kiln_onnx_set(cx, n, (int)i, kiln_compose_counted(&c, z, axis, count));
    }
    return c.status;
}
