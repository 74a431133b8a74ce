/* Operands and results of the node that is being imported, and the names of what it
 * becomes. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

const char *kiln_tf_show(kiln_tf_cx *cx, kiln_str name) {
    return kiln_import_show(&cx->common, name);
}

const char *kiln_tf_show_node(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return kiln_format(&cx->common.scratch, "'%s' (%s)", kiln_tf_show(cx, n->name),
                       kiln_tf_show(cx, n->op));
}

const char *kiln_tf_prefixed(kiln_tf_cx *cx, kiln_str name) {
    return kiln_format(&cx->common.scratch, "%s%.*s", cx->frame->prefix,
                       KILN_STR_ARG(name));
}

/* ---- names ------------------------------------------------------------------------ */

static const char *node_name(kiln_import_cx *common, const void *site) {
    return kiln_tf_prefixed(kiln_tf_of(common), ((const kiln_tf_node *)site)->name);
}

/* As TensorFlow spells it: the node's name, with the number of all but the first. */
static const char *out_name(kiln_import_cx *common, const void *site, int i) {
    const char *const name = node_name(common, site);
    return i == 0 ? name : kiln_format(&common->scratch, "%s:%d", name, i);
}

/* What no rule reads (tensorflow_counted.c): in branches and loops, too. */
static kiln_status refuse_bounded(kiln_import_cx *cx, kiln_value *const *in, int n_in) {
    for (int i = 0; i < n_in; i++)
        if (in[i] != NULL && in[i]->count != NULL)
            return kiln_fail(
                cx->err, KILN_ERR_UNSUPPORTED,
                "'%s' is as long as data has it, and is read where that has no rule; "
                "export the model up to there, or with pad_to_max_output_size",
                in[i]->name);
    return KILN_OK;
}

const kiln_import_format kiln_tf_format = {
    .node_name = node_name, .out_name = out_name, .may_read = refuse_bounded};

/* ---- operands --------------------------------------------------------------------- */

static bool is_empty(const kiln_tf_slot *s) {
    return s->value == NULL && s->variable == NULL && s->items == NULL &&
           s->parts == NULL && !s->is_dead;
}

kiln_status kiln_tf_slot_of(kiln_tf_cx *cx, const kiln_tf_frame *f,
                            const kiln_tf_node *n, kiln_str input, kiln_tf_slot *out) {
    size_t at;
    int k;
    KILN_TRY(kiln_tf_resolve(cx, f, n, input, &at, &k));
    if (at == 0) {
        *out = f->arg[k];
        return KILN_OK;
    }
    KILN_ASSERT(at <= f->n_node && k >= 0, "output %d of node %zu", k, at - 1);
    const kiln_tf_outs *const outs = &f->out[at - 1];
    KILN_ASSERT(outs->slot != NULL, "'%s' is read before it is made",
                kiln_tf_show(cx, input));
    if (outs->is_dead) {
        *out = (kiln_tf_slot){.is_dead = true};
        return KILN_OK;
    }
    if (k >= outs->n || is_empty(&outs->slot[k]))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "input '%s' is output %d of a node that makes %d; is the "
                            "file damaged?",
                            kiln_tf_show(cx, input), k, outs->n);
    *out = outs->slot[k];
    return KILN_OK;
}

kiln_status kiln_tf_operand(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                            kiln_tf_slot *out) {
    KILN_ASSERT(i >= 0 && i < n->n_in, "operand %d of %d", i, n->n_in);
    if (cx->given != NULL && cx->given[i] != NULL) {
        *out = (kiln_tf_slot){.value = cx->given[i]};
        return KILN_OK;
    }
    return kiln_tf_slot_of(cx, cx->frame, n, n->input[i], out);
}

kiln_status kiln_tf_need(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         kiln_value **out) {
    kiln_tf_slot slot;
    if (i >= n->n_in)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input %d ('%s') is missing", i, name);
    KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
    if (slot.value == NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "input %d ('%s') is a %s, which this operator is not read "
                            "with; it must be a tensor of real numbers",
                            i, name,
                            slot.items != NULL   ? "list"
                            : slot.parts != NULL ? "complex tensor"
                                                 : "variable");
    *out = slot.value;
    return KILN_OK;
}

kiln_status kiln_tf_need_list(kiln_tf_cx *cx, const kiln_tf_node *n, int first,
                              int count, kiln_value ***out) {
    KILN_ASSERT(first >= 0 && first <= n->n_in, "operands from %d on of %d", first,
                n->n_in);
    if (count < 0 || count > n->n_in - first)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "it must have %d operands more, has %d inputs", count,
                            n->n_in);
    kiln_value **const list = kiln_array(&cx->common.scratch, kiln_value *, count);
    for (int i = 0; i < count; i++)
        KILN_TRY(kiln_tf_need(cx, n, first + i, "values", &list[i]));
    *out = list;
    return KILN_OK;
}

kiln_status kiln_tf_ints(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         const int64_t **out, size_t *count) {
    kiln_value *v;
    KILN_TRY(kiln_tf_need(cx, n, i, name, &v));
    return kiln_import_const_ints(&cx->common, v, name, out, count);
}

kiln_status kiln_tf_floats(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                           const char *name, const double **out, size_t *count) {
    kiln_value *v;
    KILN_TRY(kiln_tf_need(cx, n, i, name, &v));
    return kiln_import_const_floats(&cx->common, v, name, out, count);
}

kiln_status kiln_tf_int(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                        int64_t *out) {
    const int64_t *v;
    size_t count;
    KILN_TRY(kiln_tf_ints(cx, n, i, name, &v, &count));
    if (count != 1)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "input '%s' must be one integer, has %zu", name, count);
    *out = v[0];
    return KILN_OK;
}

kiln_status kiln_tf_axis(kiln_tf_cx *cx, const kiln_tf_node *n, int i, const char *name,
                         int rank, int *out) {
    int64_t axis;
    KILN_TRY(kiln_tf_int(cx, n, i, name, &axis));
    return kiln_axis_normalize(axis, rank, out, cx->common.err);
}

/* ---- results ---------------------------------------------------------------------- */

static kiln_tf_outs *outs_of(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const size_t i = (size_t)(n - cx->frame->node);
    KILN_ASSERT(i < cx->frame->n_node, "a node of another frame");
    return &cx->frame->out[i];
}

void kiln_tf_set_slots(kiln_tf_cx *cx, const kiln_tf_node *n, const kiln_tf_slot *slot,
                       int count) {
    kiln_tf_outs *const outs = outs_of(cx, n);
    KILN_ASSERT(count >= 0, "a node of %d outputs", count);
    *outs = (kiln_tf_outs){
        .slot = kiln_array(&cx->common.scratch, kiln_tf_slot, count + 1), .n = count};
    for (int i = 0; i < count; i++)
        outs->slot[i] = slot[i];
}

kiln_status kiln_tf_set_all(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *const *y,
                            int count) {
    kiln_tf_outs *const outs = outs_of(cx, n);
    *outs = (kiln_tf_outs){
        .slot = kiln_array(&cx->common.scratch, kiln_tf_slot, count + 1), .n = count};
    for (int i = 0; i < count; i++) {
        outs->slot[i].value = y[i];
        cx->has_counted = cx->has_counted || (y[i] != NULL && y[i]->count != NULL);
    }
    return KILN_OK;
}

kiln_status kiln_tf_set(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *y) {
    return kiln_tf_set_all(cx, n, &y, 1);
}

kiln_status kiln_tf_end(kiln_compose *c, const kiln_tf_node *n, kiln_value *y) {
    if (c->status != KILN_OK)
        return c->status;
    KILN_ASSERT(y != NULL, "an importer made nothing");
    return kiln_tf_set(kiln_tf_of(c->cx), n, y);
}
