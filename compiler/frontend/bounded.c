/* Values that are as long as data has them; see bounded.h. */
#include "compiler/frontend/bounded.h"

#include <inttypes.h>
#include <math.h>

kiln_value *kiln_compose_number(kiln_compose *c, int64_t v) {
    return kiln_compose_ints(c, 0, NULL, &v);
}

kiln_value *kiln_compose_uncounted(kiln_compose *c, kiln_value *v) {
    const bool was = c->cx->reads_counted;
    if (v->count == NULL)
        return v;
    c->cx->reads_counted = true;
    v = kiln_compose_1(c, &kiln_op_identity, v);
    c->cx->reads_counted = was;
    return v;
}

kiln_value *kiln_compose_mask(kiln_compose *c, int rank, int axis, int64_t dim,
                              kiln_value *count) {
    int64_t shape[KILN_MAX_RANK];
    KILN_ASSERT(rank <= KILN_MAX_RANK && axis >= 0 && axis < rank && count != NULL,
                "a mask along axis %d of rank %d", axis, rank);
    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? dim : 1;
    kiln_value *const at =
        kiln_compose_reshape(c, kiln_compose_iota(c, dim), rank, shape);
    return kiln_compose_2(c, &kiln_op_less, at, count);
}

kiln_value *kiln_compose_bounded(kiln_compose *c, kiln_value *v, int axis,
                                 kiln_value *count) {
    v = kiln_compose_1(c, &kiln_op_identity, v);
    if (c->status != KILN_OK)
        return v;
    if (kiln_value_is_const(count))
        return kiln_compose_slice(c, v, axis, 0, 1, *(const int64_t *)count->data);
    if (kiln_value_is_const(v)) /* evaluated at once: others may have the same */
        v = kiln_graph_add_const(c->cx->graph, v->name, &v->type, v->data);
    v->count = count;
    v->bounded_axis = axis;
    return v;
}

kiln_value *kiln_compose_partition(kiln_compose *c, kiln_value *mask,
                                   kiln_value **count) {
    KILN_ASSERT(c->status != KILN_OK ||
                    (mask->type.rank == 1 && mask->type.dtype == KILN_BOOL),
                "an order by %s of rank %d", kiln_dtype_name(mask->type.dtype),
                mask->type.rank);
    const int64_t n = mask->type.dim[0];
    kiln_value *const at = kiln_compose_iota(c, n);
    kiln_value *const one = kiln_compose_cast(c, mask, KILN_I64);
    *count = kiln_compose_reduce(c, &kiln_op_reduce_sum, one, NULL, 0, false);
    /* Where each element goes: chosen ones behind those before them, the others behind
     * all that are chosen. No two go to one place. */
    kiln_value *const through = kiln_compose_axis(c, &kiln_op_cumsum, one, NULL, 0);
    kiln_value *const first =
        kiln_compose_2(c, &kiln_op_sub, through, kiln_compose_number(c, 1));
    kiln_value *const behind = kiln_compose_2(
        c, &kiln_op_sub, kiln_compose_2(c, &kiln_op_add, at, *count), through);
    kiln_value *const to = kiln_compose_where(c, mask, first, behind);
    kiln_value *const in[] = {at, to, at};
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    return kiln_compose_op(c, &kiln_op_scatter_elements, in, 3, &axis, 1);
}

kiln_value *kiln_compose_places(kiln_compose *c, kiln_value *x) {
    const kiln_type t = x->type;
    const int64_t elems = kiln_type_elems(&t), column[] = {elems, 1};
    const kiln_attr_arg axis = kiln_arg_int("axis", 1);
    kiln_value *count, *part[KILN_MAX_RANK];
    KILN_ASSERT(t.rank >= 1 && elems >= 1, "places of %" PRId64 " elements", elems);
    if (t.dtype != KILN_BOOL)
        x = kiln_compose_1(c, &kiln_op_logical_not,
                           kiln_compose_scalar(c, &kiln_op_equal, x, 0));
    kiln_value *at =
        kiln_compose_partition(c, kiln_compose_reshape(c, x, 1, &elems), &count);
    at = kiln_compose_reshape(c, at, 2, column);
    for (int i = t.rank - 1; i >= 0; i--) {
        const double dim = (double)t.dim[i];
        part[i] = kiln_compose_scalar(c, &kiln_op_mod, at, dim);
        at = kiln_compose_scalar(c, &kiln_op_div, at, dim);
    }
    kiln_value *const rows =
        t.rank == 1 ? part[0]
                    : kiln_compose_op(c, &kiln_op_concat, part, t.rank, &axis, 1);
    return kiln_compose_bounded(c, rows, 0, count);
}

/* The lowest or highest number of an integer dtype; floats: an infinity. */
static kiln_value *extreme(kiln_compose *c, kiln_dtype dtype, bool is_low) {
    const kiln_dtype_info *const d = kiln_dtype_get(dtype);
    const kiln_type t = kiln_type_scalar(dtype);
    kiln_wide w = kiln_wide_new(c->cx->arena, &t);
    const kiln_tensor data = kiln_tensor_new(c->cx->arena, &t);
    if (kiln_dtype_is_float(dtype))
        return kiln_import_scalar(c->cx, dtype, is_low ? -HUGE_VAL : HUGE_VAL);
    w.i[0] = is_low ? d->min_i : dtype == KILN_U64 ? -1 : d->max_i;
    kiln_narrow(&w, data.data);
    return kiln_graph_add_const(c->cx->graph, "c", &t, data.data);
}

kiln_value *kiln_compose_fill(kiln_compose *c, kiln_value *x, double v) {
    const kiln_type t = x->type;
    const bool was = c->cx->reads_counted;
    if (x->count == NULL)
        return x;
    kiln_value *const other =
        isinf(v) ? extreme(c, t.dtype, v < 0) : kiln_import_scalar(c->cx, t.dtype, v);
    kiln_value *const mask =
        kiln_compose_mask(c, t.rank, x->bounded_axis, t.dim[x->bounded_axis], x->count);
    c->cx->reads_counted = true;
    kiln_value *const y = kiln_compose_where(c, mask, x, other);
    c->cx->reads_counted = was;
    return y;
}

kiln_value *kiln_compose_from_the_end(kiln_compose *c, kiln_value *index,
                                      kiln_value *length) {
    kiln_value *const zero = kiln_import_scalar(c->cx, index->type.dtype, 0);
    length = kiln_compose_cast(c, length, index->type.dtype);
    return kiln_compose_where(c, kiln_compose_2(c, &kiln_op_less, index, zero),
                              kiln_compose_2(c, &kiln_op_add, index, length), index);
}

kiln_value *kiln_compose_settled(kiln_compose *c, kiln_value *v) {
    kiln_value *const count = v->count;
    return count == NULL ? v
                         : kiln_compose_bounded(c, kiln_compose_fill(c, v, 0),
                                                v->bounded_axis, count);
}
