/* Importers of variables: what they hold is in the bundle beside the model, and does not
 * change. Calls of functions that the library lacks end here. */
#include "compiler/frontend/tensorflow/tf_internal.h"

/* The variable's value as a constant, made once. */
static kiln_status value_of(kiln_tf_cx *cx, kiln_tf_variable *v) {
    kiln_arena *const a = cx->common.arena;
    kiln_str bytes;
    kiln_tensor t;
    kiln_type type;
    if (v->value != NULL)
        return KILN_OK;
    KILN_TRY(kiln_tf_bundle_open(a, &cx->bundle, cx->common.err));
    const kiln_tf_entry *const e = kiln_tf_bundle_find(&cx->bundle, v->name);
    if (e == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "variable '%s' is not among those beside the model; are "
                            "they of this model?",
                            kiln_tf_show(cx, v->name));
    const kiln_tf_tensor declared = {.dtype = e->dtype, .shape = e->shape};
    KILN_TRY(kiln_tf_tensor_type(&declared, &type, cx->common.err));
    KILN_TRY(kiln_tf_bundle_bytes(a, &cx->bundle, e, &bytes, cx->common.err));
    KILN_TRY(kiln_tf_tensor_raw(&cx->common, &type, bytes, "the variable", &t));
    v->value = kiln_graph_add_const(cx->common.graph, kiln_str_dupv(a, v->name), &type,
                                    t.data);
    return KILN_OK;
}

static kiln_tf_variable *variable_of(kiln_tf_cx *cx, kiln_str name) {
    kiln_tf_variable *v = kiln_map_get(&cx->variables, name);
    if (v != NULL)
        return v;
    v = kiln_new(&cx->common.scratch, kiln_tf_variable);
    v->name = name;
    kiln_map_set(&cx->common.scratch, &cx->variables, name, v);
    return v;
}

kiln_status kiln_tf_import_var_handle(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_str name = kiln_tf_attr_s(cx, n, "shared_name", "");
    kiln_tf_find_attr(cx, n, "shape");
    kiln_tf_find_attr(cx, n, "debug_name");
    if (name.n == 0)
        name = n->name;
    const kiln_tf_slot slot = {.variable = variable_of(cx, name)};
    kiln_tf_set_slots(cx, n, &slot, 1);
    return KILN_OK;
}

/* Of old: the node is its value. */
kiln_status kiln_tf_import_variable(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_variable *const v = variable_of(cx, n->name);
    kiln_tf_find_attr(cx, n, "shape");
    kiln_tf_attr_s(cx, n, "shared_name", "");
    KILN_TRY(value_of(cx, v));
    return kiln_tf_set(cx, n, v->value);
}

static kiln_status need_variable(kiln_tf_cx *cx, const kiln_tf_node *n,
                                 kiln_value **out) {
    kiln_tf_slot slot;
    if (n->n_in < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input 0 ('resource') is missing");
    KILN_TRY(kiln_tf_operand(cx, n, 0, &slot));
    if (slot.variable == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "input 0 ('resource') must be a variable, is a tensor");
    KILN_TRY(value_of(cx, slot.variable));
    *out = slot.variable->value;
    return KILN_OK;
}

kiln_status kiln_tf_import_read_variable(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *v;
    KILN_TRY(need_variable(cx, n, &v));
    return kiln_tf_set(cx, n, v);
}

kiln_status kiln_tf_import_resource_gather(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *v, *indices;
    KILN_TRY(need_variable(cx, n, &v));
    KILN_TRY(kiln_tf_need(cx, n, 1, "indices", &indices));
    if (kiln_tf_attr_i(cx, n, "batch_dims", 0) != 0)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "'batch_dims' other than 0 is not read");
    return kiln_tf_end(&c, n, kiln_compose_axis(&c, &kiln_op_gather, v, indices, 0));
}

kiln_status kiln_tf_import_missing_call(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_attr *const f = kiln_tf_find_attr(cx, n, "f");
    return kiln_tf_fail(cx, KILN_ERR_PARSE,
                        "function '%s' is not in the graph's library; is the file "
                        "complete?",
                        f != NULL ? kiln_tf_show(cx, f->func) : "");
}
