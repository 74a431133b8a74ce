/* Importers of tensor lists, as loops fill and read them: which element is meant is
 * constant in a loop that is unrolled, so that a list is gone after the import. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ITEMS = 1 << 16 };

static kiln_status need_items(kiln_tf_cx *cx, const kiln_tf_node *n,
                              const kiln_tf_items **out) {
    kiln_tf_slot slot;
    if (n->n_in < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input 0 ('input_handle') is missing");
    KILN_TRY(kiln_tf_operand(cx, n, 0, &slot));
    if (slot.items == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "input 0 ('input_handle') must be a tensor list");
    *out = slot.items;
    return KILN_OK;
}

kiln_status kiln_tf_new_items(kiln_tf_cx *cx, int64_t n, kiln_dtype dtype,
                              kiln_tf_items **out) {
    if (n < 0 || n > MAX_ITEMS)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT,
                            "a list may have 0 to %d elements, has %" PRId64, MAX_ITEMS,
                            n);
    KILN_TRY(kiln_import_spend(&cx->common, n * (int64_t)sizeof(kiln_value *)));
    kiln_tf_items *const items = kiln_new(&cx->common.scratch, kiln_tf_items);
    *items = (kiln_tf_items){
        .item = kiln_array(&cx->common.scratch, kiln_value *, n + 1),
        .n = (int)n,
        .dtype = dtype,
    };
    *out = items;
    return KILN_OK;
}

kiln_status kiln_tf_copy_items(kiln_tf_cx *cx, const kiln_tf_items *from, int64_t n,
                               kiln_tf_items **out) {
    KILN_TRY(kiln_tf_new_items(cx, n, from->dtype, out));
    (*out)->grows = from->grows;
    memcpy((*out)->item, from->item,
           (size_t)(from->n < (*out)->n ? from->n : (*out)->n) * sizeof *from->item);
    return KILN_OK;
}

static kiln_status set_items(kiln_tf_cx *cx, const kiln_tf_node *n,
                             const kiln_tf_items *items) {
    const kiln_tf_slot slot = {.items = items};
    kiln_tf_set_slots(cx, n, &slot, 1);
    return KILN_OK;
}

kiln_status kiln_tf_import_list_reserve(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_items *items;
    kiln_dtype dtype;
    int64_t count;
    KILN_TRY(kiln_tf_int(cx, n, 1, "num_elements", &count));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "element_dtype", KILN_F32, &dtype));
    KILN_TRY(kiln_tf_new_items(cx, count, dtype, &items));
    return set_items(cx, n, items);
}

kiln_status kiln_tf_import_list_empty(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_items *items;
    kiln_dtype dtype;
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "element_dtype", KILN_F32, &dtype));
    KILN_TRY(kiln_tf_new_items(cx, 0, dtype, &items));
    return set_items(cx, n, items);
}

kiln_status kiln_tf_import_list_from_tensor(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_tf_items *items;
    KILN_TRY(kiln_tf_need(cx, n, 0, "tensor", &x));
    if (x->type.rank < 1)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "a list is made of the rows of a tensor");
    KILN_TRY(kiln_tf_new_items(cx, x->type.dim[0], x->type.dtype, &items));
    for (int i = 0; i < items->n; i++) {
        kiln_value *const row = kiln_compose_slice(&c, x, 0, i, 1, 1);
        items->item[i] =
            kiln_compose_reshape(&c, row, x->type.rank - 1, x->type.dim + 1);
    }
    KILN_TRY(c.status);
    return set_items(cx, n, items);
}

static kiln_status need_index(kiln_tf_cx *cx, const kiln_tf_node *n,
                              const kiln_tf_items *items, int64_t *out) {
    KILN_TRY(kiln_tf_int(cx, n, 1, "index", out));
    if (*out >= 0 && *out < items->n)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                        "a list of %d elements has none of number %" PRId64, items->n,
                        *out);
}

kiln_status kiln_tf_import_list_get(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    int64_t i;
    KILN_TRY(need_items(cx, n, &items));
    KILN_TRY(need_index(cx, n, items, &i));
    if (items->item[i] == NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "element %" PRId64 " of the list is read before it is set",
                            i);
    return kiln_tf_set(cx, n, items->item[i]);
}

kiln_status kiln_tf_import_list_set(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *from;
    kiln_tf_items *items;
    kiln_value *v;
    int64_t i;
    KILN_TRY(need_items(cx, n, &from));
    KILN_TRY(kiln_tf_need(cx, n, 2, "item", &v));
    KILN_TRY(kiln_tf_int(cx, n, 1, "index", &i));
    const bool grows =
        kiln_tf_attr_b(cx, n, "resize_if_index_out_of_bounds", false) && i >= from->n;
    if (!grows)
        KILN_TRY(need_index(cx, n, from, &i));
    if (i >= MAX_ITEMS)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "a list may have %d elements",
                            MAX_ITEMS);
    KILN_TRY(kiln_tf_copy_items(cx, from, grows ? i + 1 : from->n, &items));
    items->item[i] = v;
    return set_items(cx, n, items);
}

kiln_status kiln_tf_import_list_push(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *from;
    kiln_tf_items *items;
    kiln_value *v;
    KILN_TRY(need_items(cx, n, &from));
    KILN_TRY(kiln_tf_need(cx, n, 1, "tensor", &v));
    KILN_TRY(kiln_tf_copy_items(cx, from, (int64_t)from->n + 1, &items));
    items->item[from->n] = v;
    return set_items(cx, n, items);
}

kiln_status kiln_tf_import_list_length(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    KILN_TRY(need_items(cx, n, &items));
    return kiln_tf_set(cx, n, kiln_import_scalar(&cx->common, KILN_I32, items->n));
}

kiln_status kiln_tf_stack_items(kiln_tf_cx *cx, const kiln_tf_node *n,
                                const kiln_tf_items *items) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const kiln_value *known = NULL;
    for (int i = 0; i < items->n && known == NULL; i++)
        known = items->item[i];
    if (known == NULL || known->type.rank == KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "a list is stacked of which no element was set, or whose "
                            "elements have %d axes",
                            KILN_MAX_RANK);
    const int rank = known->type.rank;
    int64_t dim[KILN_MAX_RANK] = {1};
    memcpy(dim + 1, known->type.dim, (size_t)rank * sizeof dim[0]);
    kiln_value **const part = kiln_array(&cx->common.scratch, kiln_value *, items->n);
    for (int i = 0; i < items->n; i++) {
        kiln_value *v = items->item[i];
        if (v == NULL)
            v = kiln_compose_expand(&c,
                                    kiln_import_scalar(&cx->common, items->dtype, 0),
                                    rank, known->type.dim);
        if (!kiln_type_eq(&v->type, &known->type))
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "what is stacked must have one type, but element %d is "
                                "%s, and another %s",
                                i, kiln_type_text(&cx->common.scratch, &v->type),
                                kiln_type_text(&cx->common.scratch, &known->type));
        part[i] = kiln_compose_reshape(&c, v, rank + 1, dim);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", 0);
    kiln_value *const y =
        items->n == 1 ? part[0]
                      : kiln_compose_op(&c, &kiln_op_concat, part, items->n, &arg, 1);
    return kiln_tf_end(&c, n, y);
}

kiln_status kiln_tf_import_list_stack(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_items *items;
    KILN_TRY(need_items(cx, n, &items));
    kiln_tf_attr_i(cx, n, "num_elements", -1);
    return kiln_tf_stack_items(cx, n, items);
}
