/* Functions of a graph's library: which a node calls, and its body in place of the call.
 * Source: function.proto. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <string.h>

kiln_status kiln_tf_add_functions(kiln_tf_cx *cx) {
    for (size_t i = 0; i < cx->graph->n_function; i++) {
        const kiln_tf_function *const f = &cx->graph->function[i];
        if (!kiln_map_set(&cx->common.scratch, &cx->functions, f->name, f))
            return kiln_tf_fail(
                cx, KILN_ERR_PARSE,
                "function '%s' is given twice; give one of them another "
                "name",
                kiln_tf_show(cx, f->name));
    }
    return KILN_OK;
}

/* By attribute 'f', or as an operator of the function's name. */
const kiln_tf_function *kiln_tf_find_function(kiln_tf_cx *cx, const kiln_tf_node *n) {
    if (cx->functions.entries.n == 0)
        return NULL;
    if (!kiln_str_is(n->op, "PartitionedCall") &&
        !kiln_str_is(n->op, "StatefulPartitionedCall"))
        return kiln_map_get(&cx->functions, n->op);
    for (size_t i = 0; i < n->n_attr; i++)
        if (kiln_str_is(n->attr[i].name, "f") && n->attr[i].has_func)
            return kiln_map_get(&cx->functions, n->attr[i].func);
    return NULL;
}

/* What output i of a function is, as its body names it. */
static kiln_status result_of(kiln_tf_cx *cx, const kiln_tf_function *function, size_t i,
                             kiln_str *out) {
    for (size_t k = 0; k < function->n_ret; k++)
        if (kiln_str_eq(function->ret[k].key, function->output[i].name)) {
            *out = function->ret[k].value;
            return KILN_OK;
        }
    return kiln_tf_fail(
        cx, KILN_ERR_PARSE, "function '%s' has no value for its output '%s'",
        kiln_tf_show(cx, function->name), kiln_tf_show(cx, function->output[i].name));
}

kiln_status kiln_tf_frame_of(kiln_tf_cx *cx, kiln_tf_frame *f,
                             const kiln_tf_function *function, const size_t **root,
                             size_t *n_root) {
    size_t *const list = kiln_array(&cx->common.scratch, size_t, function->n_output);
    size_t count = 0;
    KILN_TRY(kiln_tf_frame_init(cx, f, function->node, function->n_node));
    f->function = function;
    for (size_t i = 0; i < function->n_output; i++) {
        kiln_str name;
        size_t at;
        int k;
        KILN_TRY(result_of(cx, function, i, &name));
        KILN_TRY(kiln_tf_resolve(cx, f, NULL, name, &at, &k));
        KILN_ASSERT(at <= function->n_node, "node %zu of %zu", at - 1,
                    function->n_node);
        if (at > 0)
            list[count++] = at - 1;
    }
    *root = list;
    *n_root = count;
    return KILN_OK;
}

static kiln_status run_body(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root,
                            size_t n_root, kiln_tf_slot *out) {
    const kiln_tf_function *const function = f->function;
    cx->frame = f;
    KILN_TRY(kiln_tf_import_nodes(cx, root, n_root));
    for (size_t i = 0; i < function->n_output; i++) {
        kiln_str name;
        KILN_TRY(result_of(cx, function, i, &name));
        KILN_TRY(kiln_tf_slot_of(cx, f, NULL, name, &out[i]));
    }
    return KILN_OK;
}

static kiln_status enter(kiln_tf_cx *cx, const kiln_tf_node *n,
                         const kiln_tf_function *function, const char *step,
                         const kiln_tf_slot *arg, kiln_tf_slot *out) {
    kiln_tf_frame *const around = cx->frame;
    kiln_tf_frame f;
    const size_t *root;
    size_t n_root;
    KILN_TRY(kiln_tf_frame_of(cx, &f, function, &root, &n_root));
    f.arg = arg;
    f.depth = around->depth + 1;
    f.prefix =
        kiln_format(&cx->common.scratch, "%s/%s", kiln_tf_prefixed(cx, n->name), step);
    const kiln_status st = run_body(cx, &f, root, n_root, out);
    cx->frame = around;
    return st;
}

kiln_status kiln_tf_invoke(kiln_tf_cx *cx, const kiln_tf_node *n,
                           const kiln_tf_function *function, const char *step,
                           const kiln_tf_slot *arg, int n_arg, kiln_tf_slot *out) {
    const kiln_tf_op *const row = cx->row;
    const kiln_tf_node *const node = cx->node;
    uint64_t attrs_read[sizeof cx->attrs_read / sizeof cx->attrs_read[0]];
    memcpy(attrs_read, cx->attrs_read, sizeof attrs_read);
    cx->nodes_left -= 1 + (int64_t)(function->n_node + (size_t)n_arg / 8);
    if (cx->frame->depth == KILN_TF_MAX_CALLS || cx->nodes_left < 0)
        return kiln_tf_fail(
            cx, KILN_ERR_LIMIT,
            "functions may call one another %d deep, and make the graph "
            "16 times as large as the file; does '%s' call itself?",
            KILN_TF_MAX_CALLS, kiln_tf_show(cx, function->name));
    if ((size_t)n_arg != function->n_input)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "function '%s' takes %zu operands, %d are given",
                            kiln_tf_show(cx, function->name), function->n_input, n_arg);
    const kiln_tf_frame *const frame = cx->frame;
    const kiln_status st = enter(cx, n, function, step, arg, out);
    KILN_ASSERT(cx->frame == frame, "a call does not come back to its caller");
    cx->row = row;
    cx->node = node;
    memcpy(cx->attrs_read, attrs_read, sizeof attrs_read);
    if (st != KILN_OK)
        kiln_note(cx->common.err, "calling function '%s'",
                  kiln_tf_show(cx, function->name));
    return st;
}

kiln_status kiln_tf_call(kiln_tf_cx *cx, const kiln_tf_node *n,
                         const kiln_tf_function *function) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_tf_slot *const arg = kiln_array(a, kiln_tf_slot, n->n_in + 1);
    kiln_tf_slot *const out = kiln_array(a, kiln_tf_slot, function->n_output + 1);
    for (int i = 0; i < n->n_in; i++)
        KILN_TRY(kiln_tf_operand(cx, n, i, &arg[i]));
    KILN_TRY(kiln_tf_invoke(cx, n, function, "", arg, n->n_in, out));
    kiln_tf_set_slots(cx, n, out, (int)function->n_output);
    return KILN_OK;
}
