/* Functions that change shapes, and reductions. Source: PrimitiveFunction.cpp of CNTK
 * 2.7 (InferOutputs). Axes of files count from the fastest. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>
#include <string.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_cntk_import_##name(kiln_cntk_cx *cx, const kiln_cntk_function *f, \
                                        const kiln_cntk_value *in,                     \
                                        kiln_cntk_value *out)

/* The axes in the list `many`, or the one in `one`; in the Graph's order, the batch left
 * out. all: all of them are meant. */
static kiln_status read_axes(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                             const char *one, const char *many,
                             const kiln_cntk_value *x, int *axis, size_t *n,
                             bool *all) {
    const kiln_cntk_vector *const list = kiln_cntk_list(cx, f, many);
    const kiln_cntk_item *const single = kiln_cntk_get(f->attrs, one);
    *n = list != NULL ? list->n_item : single != NULL;
    *all = false;
    if (*n > KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "it has %zu axes", *n);
    for (size_t i = 0; i < *n; i++) {
        const kiln_cntk_item *const v = list != NULL ? &list->item[i] : single;
        *all = *all || (v->kind == KILN_CNTK_AXIS && v->axis != NULL &&
                        v->axis->index == KILN_CNTK_ALL_STATIC);
        if (!*all)
            KILN_TRY(kiln_cntk_axis_of(cx, v, x, kiln_cntk_rank(x), &axis[i]));
    }
    return KILN_OK;
}

/* ---- transposes ------------------------------------------------------------------ */

/* x with axes order[] (the Graph's order, without the batch). */
static kiln_value *turn(kiln_compose *c, const kiln_cntk_value *x, const int *order) {
    KILN_ASSERT(kiln_cntk_rank(x) >= 0, "'%s' has a batch and no axis", x->v->name);
    int64_t perm[KILN_MAX_RANK];
    perm[0] = 0;
    for (int i = 0; i < kiln_cntk_rank(x); i++)
        perm[x->has_batch + i] = x->has_batch + order[i];
    return kiln_compose_transpose(c, x->v, perm);
}

/* Two axes change places; one behind the slowest is an axis of 1. */
static kiln_status swap_axes(kiln_cntk_cx *cx, kiln_compose *c,
                             const kiln_cntk_function *f, const kiln_cntk_value *x,
                             kiln_value **out) {
    const char *const name[] = {"axis1", "axis2"};
    int at[2], order[KILN_MAX_RANK], rank = kiln_cntk_rank(x);
    for (int i = 0; i < 2; i++) {
        const kiln_cntk_item *const v = kiln_cntk_get(f->attrs, name[i]);
        const bool is_new = v != NULL && v->kind == KILN_CNTK_AXIS && v->axis != NULL &&
                            v->axis->index >= rank;
        KILN_TRY(
            kiln_cntk_axis_of(cx, v, x, is_new ? KILN_MAX_RANK - 1 : rank, &at[i]));
    }
    const int low = at[0] < at[1] ? at[0] : at[1], more = low < 0 ? -low : 0;
    kiln_cntk_value y = *x;
    if (more > 0) {
        int64_t dim[2 * KILN_MAX_RANK];
        for (int i = 0; i < rank + more; i++)
            dim[i] = i < more ? 1 : kiln_cntk_dim(x)[i - more];
        y.v = kiln_cntk_reshape(c, x, rank + more, dim);
        KILN_TRY(c->status);
    }
    rank += more;
    for (int i = 0; i < rank; i++)
        order[i] = i;
    KILN_ASSERT(rank <= KILN_MAX_RANK && low + more >= 0, "%d axes, from %d on", rank,
                low + more);
    order[at[0] + more] = at[1] + more;
    order[at[1] + more] = at[0] + more;
    *out = turn(c, &y, order);
    return c->status;
}

IMPORTER(transpose_axes) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const int rank = kiln_cntk_rank(&in[0]);
    int axis[KILN_MAX_RANK], order[KILN_MAX_RANK];
    size_t n;
    bool all, seen[KILN_MAX_RANK] = {false}, ok = true;
    if (kiln_cntk_get(f->attrs, "axisVec") == NULL)
        return swap_axes(cx, &c, f, &in[0], &out->v);
    KILN_TRY(read_axes(cx, f, "axis", "axisVec", &in[0], axis, &n, &all));
    for (size_t i = 0; !all && i < n; i++) {
        ok = ok && !seen[axis[i]];
        seen[axis[i]] = true;
    }
    if (all || !ok || n != (size_t)rank)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute 'axisVec' must name each axis of %s once",
                         kiln_cntk_shape_text(cx, &in[0]));
    for (int i = 0; i < rank; i++)
        order[rank - 1 - i] = axis[i];
    out->v = turn(&c, &in[0], order);
    return c.status;
}

/* ---- slices ---------------------------------------------------------------------- */

static int64_t whole(const kiln_cntk_item *v, int64_t otherwise) {
    if (v == NULL)
        return otherwise;
    return v->kind == KILN_CNTK_INT                                ? v->i
           : v->kind == KILN_CNTK_SIZE && v->size < KILN_CNTK_OPEN ? (int64_t)v->size
                                                                   : INT64_MIN;
}

/* Element i of the list `many`, or the attribute `one`. */
static int64_t slice_number(kiln_cntk_cx *cx, const kiln_cntk_function *f, size_t i,
                            const char *one, const char *many, int64_t otherwise) {
    const kiln_cntk_vector *const list = kiln_cntk_list(cx, f, many);
    if (list == NULL)
        return whole(kiln_cntk_get(f->attrs, one), otherwise);
    return i < list->n_item ? whole(&list->item[i], INT64_MIN) : INT64_MIN;
}

/* Numbers below 0 count from the end, an end of 0 is the end. */
IMPORTER(slice) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    int axis[KILN_MAX_RANK];
    size_t n;
    bool all;
    kiln_value *v = in[0].v;
    KILN_TRY(read_axes(cx, f, "axis", "axisVec", &in[0], axis, &n, &all));
    if (all || n == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "it must have axes");
    for (size_t i = 0; i < n; i++) {
        const int64_t size = kiln_cntk_dim(&in[0])[axis[i]];
        int64_t from = slice_number(cx, f, i, "beginIndex", "beginIndexVec", 0);
        int64_t to = slice_number(cx, f, i, "endIndex", "endIndexVec", 0);
        const int64_t step =
            slice_number(cx, f, i, "sliceStrides", "sliceStridesVec", 1);
        from += from < 0 && from >= -size ? size : 0;
        to += to <= 0 && to >= -size ? size : 0;
        if (from < 0 || to < from || to > size || step < 1)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "[%" PRId64 ", %" PRId64 ") in steps of %" PRId64
                             " is not within an axis of %" PRId64,
                             from, to, step, size);
        v = kiln_compose_slice(&c, v, in[0].has_batch + axis[i], from, step,
                               (to - from + step - 1) / step);
    }
    out->v = v;
    return c.status;
}

/* ---- reshapes -------------------------------------------------------------------- */

/* Where a range of axes begins or ends, from the fastest. */
static kiln_status read_bound(kiln_cntk_cx *cx, const kiln_cntk_function *f,
                              const char *name, int rank, int otherwise, int *out) {
    const kiln_cntk_item *const v = kiln_cntk_get(f->attrs, name);
    *out = otherwise;
    if (v == NULL)
        return KILN_OK;
    int64_t at =
        v->kind == KILN_CNTK_AXIS && v->axis != NULL ? v->axis->index : -rank - 1;
    if (at == KILN_CNTK_END)
        at = rank;
    at += at < 0 ? rank : 0;
    if (at < 0 || at > rank)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute '%s' must be an axis of the %d that its input has",
                         name, rank);
    *out = (int)at;
    return KILN_OK;
}

/* Axes [beginAxis, endAxis) become newShape, one of which may be left open. */
IMPORTER(reshape) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_cntk_shape *const s = kiln_cntk_shape_of(cx, f, "newShape");
    const int rank = kiln_cntk_rank(&in[0]);
    const int64_t *const from = kiln_cntk_dim(&in[0]);
    int64_t made[KILN_MAX_RANK], dim[2 * KILN_MAX_RANK], old = 1, known = 1;
    int n_made, first, last, open = -1, n = 0;
    if (s == NULL)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "it has no 'newShape'");
    KILN_TRY(kiln_cntk_turn_shape(s, &n_made, made, cx->common.err));
    KILN_TRY(read_bound(cx, f, "beginAxis", rank, 0, &first));
    KILN_TRY(read_bound(cx, f, "endAxis", rank, rank, &last));
    if (first > last || rank - (last - first) + n_made > KILN_MAX_RANK - 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "axes %d to %d of %s cannot become %d axes", first, last,
                         kiln_cntk_shape_text(cx, &in[0]), n_made);
    for (int i = rank - last; i < rank - first; i++)
        old *= from[i];
    for (int i = 0; i < n_made; i++) {
        if (made[i] < 0 && open >= 0)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "'newShape' leaves two axes open");
        if (made[i] < 0)
            open = i;
        else if (made[i] > 0 && known > KILN_MAX_ELEMS / made[i])
            return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "'newShape' is too large");
        else
            known *= made[i];
    }
    if (open >= 0)
        made[open] = known > 0 ? old / known : 0;
    for (int i = 0; i < rank - last; i++)
        dim[n++] = from[i];
    for (int i = 0; i < n_made; i++)
        dim[n++] = made[i];
    for (int i = rank - first; i < rank; i++)
        dim[n++] = from[i];
    out->v = kiln_cntk_reshape(&c, &in[0], n, dim);
    return c.status;
}

/* Axes of 1 go: those that are named, or all. */
IMPORTER(squeeze) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const int rank = kiln_cntk_rank(&in[0]);
    const int64_t *const from = kiln_cntk_dim(&in[0]);
    int axis[KILN_MAX_RANK], left = 0;
    int64_t dim[KILN_MAX_RANK];
    size_t n;
    bool all, goes[KILN_MAX_RANK] = {false};
    KILN_TRY(read_axes(cx, f, "axis", "axisVec", &in[0], axis, &n, &all));
    for (size_t i = 0; !all && i < n; i++)
        goes[axis[i]] = true;
    for (int i = 0; i < rank; i++) {
        if (goes[i] && from[i] != 1)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "an axis of %" PRId64 " is none of 1", from[i]);
        if (!(goes[i] || ((all || n == 0) && from[i] == 1)))
            dim[left++] = from[i];
    }
    out->v = kiln_cntk_reshape(&c, &in[0], left, dim);
    return c.status;
}

/* ---- joins and margins ----------------------------------------------------------- */

/* Along one axis, which may be one behind the slowest. */
IMPORTER(splice) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_cntk_item *const v = kiln_cntk_get(f->attrs, "axis");
    kiln_value **const part = kiln_array(&cx->common.scratch, kiln_value *, f->n_in);
    int rank = 0, axis, first = 0;
    int64_t batch = 1;
    for (size_t i = 0; i < f->n_in; i++) {
        rank = kiln_cntk_rank(&in[i]) > rank ? kiln_cntk_rank(&in[i]) : rank;
        batch = in[i].has_batch ? in[i].v->type.dim[0] : batch;
    }
    const bool is_new = v != NULL && v->kind == KILN_CNTK_AXIS && v->axis != NULL &&
                        v->axis->index == rank;
    while ((size_t)first + 1 < f->n_in && kiln_cntk_rank(&in[first]) < rank)
        first++;
    KILN_TRY(kiln_cntk_axis_of(cx, v, &in[first], rank + is_new, &axis));
    rank += is_new;
    axis += is_new;
    for (size_t i = 0; i < f->n_in; i++) {
        int64_t dim[2 * KILN_MAX_RANK];
        const int own = kiln_cntk_rank(&in[i]);
        for (int k = 0; k < rank; k++)
            dim[out->has_batch + k] =
                k < rank - own ? 1 : kiln_cntk_dim(&in[i])[k - (rank - own)];
        part[i] = kiln_cntk_reshape(&c, &in[i], rank, dim + out->has_batch);
        dim[0] = out->has_batch ? batch : dim[0];
        if (out->has_batch && !in[i].has_batch)
            part[i] = kiln_compose_expand(&c, part[i], rank + 1, dim);
    }
    const kiln_attr_arg at = kiln_arg_int("axis", out->has_batch + axis);
    KILN_TRY(c.status);
    out->v = kiln_compose_op(&c, &kiln_op_concat, part, (int)f->n_in, &at, 1);
    return c.status;
}

IMPORTER(pad) {
    enum { CONSTANT, REFLECT };
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_cntk_vector *const head = kiln_cntk_list(cx, f, "paddingHead"),
                                  *const foot = kiln_cntk_list(cx, f, "paddingFoot");
    const int64_t mode = kiln_cntk_int(cx, f, "paddingMode", CONSTANT);
    const double value = kiln_cntk_float(cx, f, "paddingConstantValue", 0);
    const int rank = kiln_cntk_rank(&in[0]), all = in[0].v->type.rank;
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    if (mode != CONSTANT)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'paddingMode' must be 0 (constant), is %" PRId64, mode);
    if (head == NULL || foot == NULL || head->n_item != (size_t)rank ||
        foot->n_item != (size_t)rank)
        return kiln_fail(
            cx->common.err, KILN_ERR_PARSE,
            "'paddingHead' and 'paddingFoot' must have one number for each "
            "axis of %s",
            kiln_cntk_shape_text(cx, &in[0]));
    for (int i = 0; i < rank; i++) {
        const int64_t before = whole(&head->item[rank - 1 - i], 0),
                      behind = whole(&foot->item[rank - 1 - i], 0);
        if (before < 0 || behind < 0 || before > KILN_MAX_ELEMS ||
            behind > KILN_MAX_ELEMS)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "margins must be sizes, are %" PRId64 " and %" PRId64,
                             before, behind);
        pads[in[0].has_batch + i] = before;
        pads[all + in[0].has_batch + i] = behind;
    }
    out->v = kiln_compose_pad(&c, in[0].v, pads, value);
    return c.status;
}

/* ---- reductions ------------------------------------------------------------------ */

static const struct {
    const char *name;
    const kiln_op_def *op;
    bool is_place; /* argmax and argmin: of one axis */
} reductions[] = {
    {"Sum", &kiln_op_reduce_sum, false},
    {"Mean", &kiln_op_reduce_mean, false},
    {"Max", &kiln_op_reduce_max, false},
    {"Min", &kiln_op_reduce_min, false},
    {"Prod", &kiln_op_reduce_prod, false},
    {"LogSum", &kiln_op_reduce_log_sum_exp, false},
    {"Argmax", &kiln_op_argmax, true},
    {"Argmin", &kiln_op_argmin, true},
};

IMPORTER(reduce_elements) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_str name = kiln_cntk_text(cx, f, "reductionOpName");
    const bool keeps = kiln_cntk_bool(cx, f, "reductionKeepDimensions", true);
    const int rank = kiln_cntk_rank(&in[0]);
    int axis[KILN_MAX_RANK];
    int64_t axes[KILN_MAX_RANK];
    size_t n, at = 0;
    bool all;
    while (at < sizeof reductions / sizeof reductions[0] &&
           !kiln_str_is(name, reductions[at].name))
        at++;
    KILN_TRY(read_axes(cx, f, "axis", "axisVec", &in[0], axis, &n, &all));
    n = all ? (size_t)rank : n;
    if (at == sizeof reductions / sizeof reductions[0] ||
        (reductions[at].is_place && n != 1))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "reduction '%s' over %zu axes is not read",
                         kiln_import_show(&cx->common, name), n);
    for (size_t i = 0; i < n; i++)
        axes[i] = in[0].has_batch + (all ? (int64_t)i : axis[i]);
    if (n == 0)
        out->v = in[0].v;
    else if (!reductions[at].is_place)
        out->v = kiln_compose_reduce(&c, reductions[at].op, in[0].v, axes, n, keeps);
    else {
        const kiln_attr_arg args[] = {kiln_arg_int("axis", axes[0]),
                                      kiln_arg_bool("keepdims", keeps)};
        out->v = kiln_compose_op(&c, reductions[at].op, &in[0].v, 1, args, 2);
        out->v = kiln_compose_cast(&c, out->v, in[0].v->type.dtype);
    }
    return c.status;
}
