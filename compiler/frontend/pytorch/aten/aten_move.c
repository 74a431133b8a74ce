/* Makers of what joins, cuts, shifts and surrounds tensors. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

enum { MAX_PARTS = 1 << 16 };

/* ---- joining ---------------------------------------------------------------------- */

static kiln_value *joined(kiln_aten_args *k, kiln_value **in, size_t n, int axis) {
    KILN_ASSERT(n > 0, "nothing is joined along axis %d", axis);
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    if (n == 1)
        return in[0];
    return kiln_compose_op(&k->c, &kiln_op_concat, in, (int)n, &arg, 1);
}

/* Of one dtype, the widest. */
static void unify(kiln_aten_args *k, kiln_value **in, size_t n) {
    kiln_dtype d = in[0]->type.dtype;
    for (size_t i = 1; i < n; i++)
        d = kiln_aten_wider(d, in[i]->type.dtype);
    for (size_t i = 0; i < n; i++)
        in[i] = kiln_compose_cast(&k->c, in[i], d);
}

static size_t parts_of(kiln_aten_args *k, kiln_value ***in) {
    const size_t n = kiln_aten_tensors(k, "tensors", in);
    if (n == 0 && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: there are no tensors", k->row->name);
    if (n > 0)
        unify(k, *in, n);
    return k->c.status == KILN_OK ? n : 0;
}

/* Lists without elements are left out, whatever the rank of the others. */
kiln_status kiln_aten_make_cat(kiln_aten_args *k) {
    kiln_value **in;
    size_t n = parts_of(k, &in), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (in[i]->type.rank != 1 || in[i]->type.dim[0] > 0)
            in[kept++] = in[i];
    if (k->c.status != KILN_OK)
        return k->c.status;
    if (kept == 0)
        return kiln_aten_give(k, in[0]);
    const int axis = kiln_aten_axis(k, "dim", in[0]->type.rank);
    return kiln_aten_give(k, joined(k, in, kept, axis));
}

kiln_status kiln_aten_make_stack(kiln_aten_args *k) {
    kiln_value **in;
    int64_t dim[KILN_MAX_RANK];
    const size_t n = parts_of(k, &in);
    if (n == 0 || !kiln_aten_need_rank(k, in[0], 0, KILN_MAX_RANK - 1))
        return k->c.status;
    const kiln_type t = in[0]->type;
    const int rank = t.rank, axis = kiln_aten_axis(k, "dim", rank + 1);
    for (int i = 0, from = 0; i <= rank; i++)
        dim[i] = i == axis ? 1 : t.dim[from++];
    for (size_t i = 0; i < n; i++) {
        if (!kiln_type_same_shape(&in[i]->type, &t)) {
            kiln_aten_fail(k, KILN_ERR_SHAPE,
                           "stack: tensors must have one shape, tensor %zu is %s, the "
                           "first %s",
                           i, kiln_type_text(&k->c.cx->scratch, &in[i]->type),
                           kiln_type_text(&k->c.cx->scratch, &t));
            return k->c.status;
        }
        in[i] = kiln_compose_reshape(&k->c, in[i], rank + 1, dim);
    }
    return kiln_aten_give(k, joined(k, in, n, axis));
}

/* ---- cutting ---------------------------------------------------------------------- */

/* x cut along an axis into n parts. */
static kiln_value **cut(kiln_aten_args *k, kiln_value *x, int axis, const int64_t *size,
                        size_t n) {
    KILN_ASSERT(n > 0, "axis %d is cut into no parts", axis);
    kiln_value **const y = kiln_array(&k->c.cx->scratch, kiln_value *, n);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_ints("sizes", size, n)};
    if (n == 1)
        y[0] = x;
    else
        kiln_compose_fail(&k->c, kiln_import_emit(k->c.cx, k->c.site, &kiln_op_split,
                                                  &x, 1, args, 2, (int)n, y));
    return y;
}

/* Parts of `each` elements, the last of what is left. */
static kiln_status give_even(kiln_aten_args *k, kiln_value *x, int axis, int64_t each) {
    const int64_t all = x->type.dim[axis];
    const int64_t n = each > 0 ? (all + each - 1) / each : 0;
    if (k->c.status == KILN_OK && (n < 1 || n > MAX_PARTS))
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: %" PRId64 " elements cannot be cut into parts of %" PRId64
                       "; 1 to %d parts are possible",
                       k->row->name, all, each, MAX_PARTS);
    if (k->c.status != KILN_OK)
        return k->c.status;
    int64_t *const size = kiln_array(&k->c.cx->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        size[i] = i < n - 1 ? each : all - each * (n - 1);
    kiln_value **const y = cut(k, x, axis, size, (size_t)n);
    KILN_TRY(k->c.status);
    return kiln_aten_give_list(k, y, (size_t)n);
}

kiln_status kiln_aten_make_split(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_aten_value *const by = kiln_aten_get(k, "split_size");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    if (by->kind != KILN_ATEN_LIST)
        return give_even(k, x, axis, kiln_aten_int(k, "split_size"));
    if (by->n < 1 || by->n > MAX_PARTS) {
        kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: 1 to %d parts are possible, not %zu",
                       k->row->name, MAX_PARTS, by->n);
        return k->c.status;
    }
    int64_t *const size = kiln_array(&k->c.cx->scratch, int64_t, by->n);
    const size_t n = kiln_aten_ints(k, "split_size", size, by->n);
    KILN_TRY(k->c.status);
    kiln_value **const y = cut(k, x, axis, size, n);
    KILN_TRY(k->c.status);
    return kiln_aten_give_list(k, y, n);
}

kiln_status kiln_aten_make_chunk(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const int64_t chunks = kiln_aten_int(k, "chunks");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t all = x->type.dim[axis];
    return give_even(
        k, x, axis, chunks > 0 && chunks < INT32_MAX ? (all + chunks - 1) / chunks : 0);
}

/* x without an axis, at one place of it. */
static kiln_value *at(kiln_aten_args *k, kiln_value *x, int axis, int64_t i) {
    int64_t dim[KILN_MAX_RANK];
    for (int from = 0, to = 0; from < x->type.rank; from++)
        if (from != axis)
            dim[to++] = x->type.dim[from];
    kiln_value *const y = kiln_compose_slice(&k->c, x, axis, i, 1, 1);
    return kiln_compose_reshape(&k->c, y, x->type.rank - 1, dim);
}

kiln_status kiln_aten_make_unbind(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t n = x->type.dim[axis];
    if (n > MAX_PARTS)
        kiln_aten_fail(k, KILN_ERR_LIMIT, "unbind: at most %d parts are possible",
                       MAX_PARTS);
    KILN_TRY(k->c.status);
    kiln_value **const y = kiln_array(&k->c.cx->scratch, kiln_value *, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = at(k, x, axis, i);
    return kiln_aten_give_list(k, y, (size_t)n);
}

kiln_status kiln_aten_make_select(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    int64_t i = kiln_aten_int(k, "index");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t n = x->type.dim[axis];
    if (i < -n || i >= n) {
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "select: 'index' must be in [%" PRId64 ", %" PRId64
                       "), is %" PRId64,
                       -n, n, i);
        return k->c.status;
    }
    i += i < 0 ? n : 0;
    return kiln_aten_give(k, at(k, x, axis, i));
}

/* A place as Python's slices have it: from the end where it is negative, and cut to the
 * axis. */
static int64_t clamped(int64_t i, int64_t n) {
    i += i < 0 ? n : 0;
    return i < 0 ? 0 : i > n ? n : i;
}

/* Places [start, end) of an axis, step apart. */
typedef struct range {
    int axis;
    int64_t start, end, step, size;
} range;

static range range_of(kiln_aten_args *k, const kiln_value *x) {
    range r = {.axis = kiln_aten_axis(k, "dim", x->type.rank), .step = 1};
    const int64_t n = x->type.rank > 0 ? x->type.dim[r.axis] : 0;
    r.end = n;
    if (!kiln_aten_is_none(k, "start"))
        r.start = clamped(kiln_aten_int(k, "start"), n);
    if (!kiln_aten_is_none(k, "end"))
        r.end = clamped(kiln_aten_int(k, "end"), n);
    r.step = kiln_aten_int(k, "step");
    if (k->c.status == KILN_OK && (r.step < 1 || x->type.rank == 0))
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: steps must be 1 or more along an axis of %s", k->row->name,
                       kiln_type_text(&k->c.cx->scratch, &x->type));
    r.end = r.end < r.start ? r.start : r.end;
    if (k->c.status == KILN_OK)
        r.size = (r.end - r.start) / r.step + ((r.end - r.start) % r.step > 0);
    return r;
}

kiln_status kiln_aten_make_slice(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const range r = range_of(k, x);
    KILN_TRY(k->c.status);
    return kiln_aten_give(
        k, kiln_compose_slice(&k->c, x, r.axis, r.start, r.step, r.size));
}

kiln_status kiln_aten_make_narrow(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t n = x->type.dim[axis], length = kiln_aten_int(k, "length");
    int64_t start = kiln_aten_int(k, "start");
    start += start < 0 ? n : 0;
    if (start < 0 || length < 0 || length > n || start > n - length)
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "narrow: %" PRId64 " elements from %" PRId64
                       " on are not inside of %" PRId64,
                       length, start, n);
    KILN_TRY(k->c.status);
    return kiln_aten_give(k, kiln_compose_slice(&k->c, x, axis, start, 1, length));
}

/* x with places [start, start + size) of an axis from y. */
static kiln_value *with_part(kiln_aten_args *k, kiln_value *x, kiln_value *y, int axis,
                             int64_t start, int64_t size) {
    const int64_t n = x->type.dim[axis];
    kiln_value *part[3];
    size_t count = 0;
    if (start > 0)
        part[count++] = kiln_compose_slice(&k->c, x, axis, 0, 1, start);
    part[count++] = kiln_compose_cast(&k->c, y, x->type.dtype);
    if (start + size < n)
        part[count++] =
            kiln_compose_slice(&k->c, x, axis, start + size, 1, n - start - size);
    return joined(k, part, count, axis);
}

kiln_status kiln_aten_make_slice_scatter(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *y = kiln_aten_tensor(k, "src");
    const range r = range_of(k, x);
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(k->c.status);
    if (r.step != 1 && r.size > 1)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "slice_scatter: steps of %" PRId64 " are not read", r.step);
    for (int i = 0; i < x->type.rank; i++)
        dim[i] = i == r.axis ? r.size : x->type.dim[i];
    y = kiln_compose_expand(&k->c, y, x->type.rank, dim);
    KILN_TRY(k->c.status);
    if (r.size == 0)
        return kiln_aten_give(k, x);
    return kiln_aten_give(k, with_part(k, x, y, r.axis, r.start, r.size));
}

kiln_status kiln_aten_make_select_scatter(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *y = kiln_aten_tensor(k, "src");
    int64_t dim[KILN_MAX_RANK], i = kiln_aten_int(k, "index");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t n = x->type.dim[axis];
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "select_scatter: 'index' is outside");
    for (int j = 0; j < x->type.rank; j++)
        dim[j] = j == axis ? 1 : x->type.dim[j];
    y = kiln_compose_reshape(&k->c, y, x->type.rank, dim);
    KILN_TRY(k->c.status);
    return kiln_aten_give(k, with_part(k, x, y, axis, i, 1));
}

/* ---- order ------------------------------------------------------------------------ */

kiln_status kiln_aten_make_flip(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    int64_t axes[KILN_MAX_RANK];
    const size_t n = kiln_aten_axes(k, "dims", x->type.rank, axes);
    for (size_t i = 0; i < n && k->c.status == KILN_OK; i++) {
        const int64_t size = x->type.dim[axes[i]];
        x = kiln_compose_slice(&k->c, x, (int)axes[i], size > 0 ? size - 1 : 0, -1,
                               size);
    }
    return kiln_aten_give(k, x);
}

/* Without axes, of all elements in a row. */
kiln_status kiln_aten_make_roll(kiln_aten_args *k) {
    kiln_value *const whole = kiln_aten_tensor(k, "self");
    kiln_value *x = whole;
    const kiln_type t = whole->type;
    int64_t shift[KILN_MAX_RANK], axes[KILN_MAX_RANK] = {0};
    const size_t n = kiln_aten_ints(k, "shifts", shift, KILN_MAX_RANK);
    size_t m = kiln_aten_axes(k, "dims", t.rank, axes);
    const bool is_flat = m == 0;
    if (is_flat) {
        x = kiln_compose_reshape(&k->c, x, 1, (int64_t[]){kiln_type_elems(&t)});
        m = 1;
    }
    if (k->c.status == KILN_OK && n != m)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "roll: %zu shifts of %zu axes", n, m);
    for (size_t i = 0; i < m && k->c.status == KILN_OK; i++) {
        const int axis = (int)axes[i];
        const int64_t size = x->type.dim[axis];
        const int64_t by = size > 0 ? (shift[i] % size + size) % size : 0;
        if (by == 0)
            continue;
        kiln_value *part[] = {kiln_compose_slice(&k->c, x, axis, size - by, 1, by),
                              kiln_compose_slice(&k->c, x, axis, 0, 1, size - by)};
        x = joined(k, part, 2, axis);
    }
    return kiln_aten_give(k,
                          is_flat ? kiln_compose_reshape(&k->c, x, t.rank, t.dim) : x);
}
