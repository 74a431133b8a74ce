/* Importers of tensor arrays, lists of TensorFlow 1. A handle says which array, and a
 * flow, one float, in which order it is written; here the flow is the list itself
 * (op_list.c), as it stands behind each write. */
#include "compiler/frontend/compose.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

static kiln_status need_flow(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                             const kiln_tf_items **out) {
    kiln_tf_slot slot = {0};
    if (i < n->n_in)
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
    if (slot.items == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "input %d ('flow_in') must be the flow of a tensor array",
                            i);
    *out = slot.items;
    return KILN_OK;
}

/* Elements that a list of indices names; all in bounds. */
static kiln_status need_places(kiln_tf_cx *cx, const kiln_tf_node *n,
                               const kiln_tf_items *items, bool grows,
                               const int64_t **at, size_t *count, int64_t *end) {
    KILN_TRY(kiln_tf_ints(cx, n, 1, "indices", at, count));
    *end = items->n;
    for (size_t i = 0; i < *count; i++) {
        if ((*at)[i] < 0 || ((*at)[i] >= items->n && !grows))
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "an array of %d elements has none of number %" PRId64,
                                items->n, (*at)[i]);
        if ((*at)[i] >= *end)
            *end = (*at)[i] + 1;
    }
    return KILN_OK;
}

kiln_status kiln_tf_import_array(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_items *items;
    kiln_dtype dtype;
    int64_t count;
    KILN_TRY(kiln_tf_int(cx, n, 0, "size", &count));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "dtype", KILN_F32, &dtype));
    KILN_TRY(kiln_tf_new_items(cx, count, dtype, &items));
    items->grows = kiln_tf_attr_b(cx, n, "dynamic_size", false);
    const kiln_tf_slot out[] = {{.items = items}, {.items = items}};
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}

kiln_status kiln_tf_import_array_read(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    const int64_t *at;
    size_t count;
    int64_t end;
    KILN_TRY(need_flow(cx, n, 2, &items));
    KILN_TRY(need_places(cx, n, items, false, &at, &count, &end));
    if (count != 1 || items->item[at[0]] == NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "one element of the array must be read, behind its write");
    return kiln_tf_set(cx, n, items->item[at[0]]);
}

/* Elements of the array become those of v, rows of it or v itself. */
static kiln_status write_items(kiln_tf_cx *cx, const kiln_tf_node *n, bool is_whole) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const kiln_tf_items *from;
    kiln_tf_items *items;
    kiln_value *v;
    const int64_t *at;
    size_t count;
    int64_t end;
    KILN_TRY(kiln_tf_need(cx, n, 2, "value", &v));
    KILN_TRY(need_flow(cx, n, 3, &from));
    KILN_TRY(need_places(cx, n, from, from->grows, &at, &count, &end));
    if (is_whole ? count != 1 : v->type.rank < 1 || v->type.dim[0] != (int64_t)count)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "a tensor must have as many rows as there are indices, %zu",
                            count);
    KILN_TRY(kiln_tf_copy_items(cx, from, end, &items));
    for (size_t i = 0; i < count; i++) {
        kiln_value *row = v;
        if (!is_whole)
            row =
                kiln_compose_reshape(&c, kiln_compose_slice(&c, v, 0, (int64_t)i, 1, 1),
                                     v->type.rank - 1, v->type.dim + 1);
        items->item[at[i]] = row;
    }
    KILN_TRY(c.status);
    const kiln_tf_slot slot = {.items = items};
    kiln_tf_set_slots(cx, n, &slot, 1);
    return KILN_OK;
}

kiln_status kiln_tf_import_array_write(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return write_items(cx, n, true);
}

kiln_status kiln_tf_import_array_scatter(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return write_items(cx, n, false);
}

kiln_status kiln_tf_import_array_gather(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    kiln_tf_items *picked;
    const int64_t *at;
    size_t count;
    int64_t end;
    KILN_TRY(need_flow(cx, n, 2, &items));
    KILN_TRY(need_places(cx, n, items, false, &at, &count, &end));
    KILN_TRY(kiln_tf_new_items(cx, (int64_t)count, items->dtype, &picked));
    for (size_t i = 0; i < count; i++)
        picked->item[i] = items->item[at[i]];
    return kiln_tf_stack_items(cx, n, picked);
}

kiln_status kiln_tf_import_array_size(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    KILN_TRY(need_flow(cx, n, 1, &items));
    return kiln_tf_set(cx, n, kiln_import_scalar(&cx->common, KILN_I32, items->n));
}
