/* Values that are as long as data has them; see bounded.h. */
#include "compiler/frontend/bounded.h"

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

kiln_value *kiln_compose_settled(kiln_compose *c, kiln_value *v) {
    kiln_value *const count = v->count;
    const kiln_type t = v->type;
    const int axis = v->bounded_axis;
    if (count == NULL)
        return v;
    v = kiln_compose_where(c, kiln_compose_mask(c, t.rank, axis, t.dim[axis], count),
                           kiln_compose_uncounted(c, v),
                           kiln_import_scalar(c->cx, t.dtype, 0));
    return kiln_compose_bounded(c, v, axis, count);
}
