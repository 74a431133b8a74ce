/* Inputs of a graph: its placeholders, of the types that they declare, with dynamic
 * dimensions as the caller binds them. */
#include "compiler/frontend/tensorflow/tf_internal.h"
#include "compiler/frontend/frontend_inputs.h"

/* TensorFlow leaves such placeholders behind where it takes loops apart; nobody reads
 * them. */
static bool is_left_behind(const kiln_tf_node *n) {
    return kiln_str_starts(n->name, "unused_control_flow_input");
}

bool kiln_tf_is_input(const kiln_tf_node *n) {
    if (n->is_hidden || is_left_behind(n))
        return false;
    return kiln_str_is(n->op, "Placeholder") || kiln_str_is(n->op, "PlaceholderV2");
}

/* With a value that holds where the caller says nothing of it. */
static bool is_optional(const kiln_tf_node *n) {
    return !n->is_hidden && kiln_str_is(n->op, "PlaceholderWithDefault");
}

/* A default holds unless the caller names the input. */
static bool is_wanted(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_import_options *const o = cx->options;
    bool is_named = false;
    for (size_t i = 0; i < o->n_shapes; i++)
        is_named = is_named || kiln_str_is(n->label, o->shapes[i].name);
    for (size_t i = 0; i < o->n_values; i++)
        is_named = is_named || kiln_str_is(n->label, o->values[i].name);
    return kiln_tf_is_input(n) || (is_named && is_optional(n));
}

static const kiln_tf_attr *attr_of(const kiln_tf_node *n, const char *name) {
    for (size_t i = 0; i < n->n_attr; i++)
        if (kiln_str_is(n->attr[i].name, name))
            return &n->attr[i];
    return NULL;
}

/* NULL: any shape fits. */
static const kiln_tf_shape *shape_of(const kiln_tf_node *n) {
    const kiln_tf_attr *const a = attr_of(n, "shape");
    return a == NULL || a->shape == NULL || a->shape->is_unknown ? NULL : a->shape;
}

static kiln_status check_declared(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_attr *const type = attr_of(n, "dtype");
    const kiln_tf_shape *const s = shape_of(n);
    kiln_dtype dtype;
    if (type == NULL || !type->has_type)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "attribute 'dtype' is missing");
    KILN_TRY(kiln_tf_dtype(type->type, &dtype, cx->common.err));
    if (s != NULL && s->n_dim > KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                            KILN_MAX_RANK, s->n_dim);
    return KILN_OK;
}

kiln_status kiln_tf_bind_inputs(kiln_tf_cx *cx, kiln_tf_frame *f) {
    static const kiln_input_rules rules = {.may_have = NULL};
    kiln_arena *const a = &cx->common.scratch;
    size_t n = 0, *const at = kiln_array(a, size_t, f->n_node);
    for (size_t i = 0; i < f->n_node; i++)
        if (is_wanted(cx, &f->node[i]))
            at[n++] = i;
    kiln_declared_input *const in = kiln_array(a, kiln_declared_input, n);
    kiln_value **const v = kiln_array(a, kiln_value *, n);
    for (size_t i = 0; i < n; i++) {
        const kiln_status st = check_declared(cx, &f->node[at[i]]);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "binding graph input '%s'",
                      kiln_tf_show(cx, f->node[at[i]].label));
            return st;
        }
        kiln_tf_declare(a, &f->node[at[i]], &in[i]);
    }
    KILN_TRY(
        kiln_import_bind_by(&cx->common, cx->options, in, n, &rules, cx->report, v));
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_tf_set(cx, &f->node[at[i]], v[i]));
    return KILN_OK;
}

/* ---- listing --------------------------------------------------------------------- */

void kiln_tf_declare(kiln_arena *a, const kiln_tf_node *n, kiln_declared_input *out) {
    const kiln_tf_attr *const type = attr_of(n, "dtype");
    const kiln_tf_shape *const s = shape_of(n);
    char buf[32];
    *out = (kiln_declared_input){.name = kiln_str_dupv(a, n->label), .rank = -1};
    if (type == NULL || !type->has_type)
        out->what = "of no type";
    else if (kiln_tf_dtype(type->type, &out->dtype, NULL) == KILN_OK)
        out->has_type = true;
    else
        out->what =
            kiln_format(a, "a tensor of %s", kiln_tf_type_name(type->type, buf));
    if (s == NULL || s->n_dim > KILN_MAX_RANK)
        return;
    out->rank = (int)s->n_dim;
    for (size_t i = 0; i < s->n_dim; i++)
        out->dim[i] = s->dim[i].size < 0 ? -1 : s->dim[i].size;
}
