/* Operators of values that are as long as data has them (docs/bounded-outputs.md): what
 * Where and NonMaxSuppression give, and what is picked by it, as tf.boolean_mask does,
 * by the rules of counted_rules.h; tf_counted.def says which operator has which. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <math.h>

static kiln_tf_cx *cx_of(const kiln_ruled *r) { return kiln_tf_of(r->c.cx); }

static const kiln_tf_node *node_of(const kiln_ruled *r) { return r->c.site; }

/* ---- how operators are made --------------------------------------------------------- */

static kiln_status make(kiln_ruled *r) {
    kiln_tf_cx *const cx = cx_of(r);
    const kiln_tf_op *const row = cx->row;
    kiln_tf_op other = *row;
    if (r->op != NULL) {
        other.op = r->op;
        cx->row = &other;
    }
    for (int i = 0; i < r->n_in; i++)
        if (r->given[i] == r->in[i])
            r->given[i] = NULL; /* its own */
    cx->given = r->given;
    const kiln_status st = row->import(cx, node_of(r));
    cx->given = NULL;
    cx->row = row;
    return st;
}

static kiln_value **result(kiln_ruled *r, int i) {
    const kiln_tf_frame *const f = cx_of(r)->frame;
    const kiln_tf_outs *const outs = &f->out[node_of(r) - f->node];
    return i < outs->n ? &outs->slot[i].value : NULL;
}

static kiln_status ints(kiln_ruled *r, int i, const char *name, const int64_t **v,
                        size_t *n) {
    return kiln_tf_ints(cx_of(r), node_of(r), i, name, v, n);
}

static kiln_status refuse(kiln_ruled *r, const char *why) {
    int i = 0;
    while (r->in[i] != r->counted.value)
        i++;
    return kiln_tf_fail(
        cx_of(r), KILN_ERR_UNSUPPORTED,
        "'%s' is as long as data has it, %s; export the model up to there",
        kiln_tf_show(cx_of(r), node_of(r)->input[i]), why);
}

static const kiln_ruled_format format = {make, result, ints, refuse};

/* ---- rules: what operators say in attributes of their own --------------------------- */

static kiln_status need_axis(kiln_ruled *r, int i, int rank, int *axis) {
    return kiln_tf_axis(cx_of(r), node_of(r), i, "axis", rank, axis);
}

static bool is_set(kiln_ruled *r, const char *name) {
    return kiln_tf_attr_b(cx_of(r), node_of(r), name, false);
}

/* What passes operands on as they are. */
static kiln_status pass(kiln_ruled *r) {
    return cx_of(r)->row->import(cx_of(r), node_of(r));
}

static kiln_status rows(kiln_ruled *r) {
    if (is_set(r, "transpose_a") || is_set(r, "adj_x"))
        return refuse(r, "and is no row of the left of two matrices");
    return kiln_rule_rows(r);
}

static kiln_status expand(kiln_ruled *r) {
    int at;
    KILN_TRY(kiln_ruled_only_first(r, "and decides an axis"));
    KILN_TRY(need_axis(r, 1, r->in[0]->type.rank + 1, &at));
    return kiln_ruled_add_axis(r, at);
}

static kiln_status squeeze(kiln_ruled *r) {
    const int64_t *axes;
    const size_t n = kiln_tf_attr_ints(cx_of(r), node_of(r), "squeeze_dims", &axes);
    return kiln_ruled_drop_axes(r, axes, n, "and may be none or several");
}

static kiln_status slice(kiln_ruled *r) {
    kiln_counted_cut cut;
    KILN_TRY(kiln_ruled_only_first(r, "and decides a shape"));
    KILN_TRY(kiln_tf_read_cut(cx_of(r), node_of(r), r->in[0], r->counted.axis, &cut));
    return kiln_ruled_slice(r, &cut);
}

static kiln_status stack(kiln_ruled *r) {
    int at;
    KILN_TRY(kiln_axis_normalize(kiln_tf_attr_i(cx_of(r), node_of(r), "axis", 0),
                                 r->counted.value->type.rank + 1, &at, r->c.cx->err));
    return kiln_ruled_stack(r, at);
}

static kiln_status pick(kiln_ruled *r) {
    int axis = 0;
    if (kiln_tf_attr_i(cx_of(r), node_of(r), "batch_dims", 0) != 0)
        return refuse(r, "and is picked of, or by, in batches");
    if (r->n_in > 2)
        KILN_TRY(need_axis(r, 2, r->in[0]->type.rank, &axis));
    return kiln_ruled_pick(r, axis, false);
}

/* Scores that do not count are the lowest, above which none is. */
static kiln_status suppress(kiln_ruled *r) {
    enum { BOXES, SCORES };
    if (r->counted.n != 2 || r->in[BOXES]->count != r->in[SCORES]->count ||
        r->in[BOXES]->bounded_axis != 0)
        return refuse(r, "and boxes and scores must be so in the same way");
    kiln_ruled_fill(r, SCORES, -HUGE_VAL);
    return kiln_ruled_make(r);
}

static kiln_status reduce(kiln_ruled *r) {
    const int64_t *axes;
    size_t n;
    KILN_TRY(ints(r, 1, "reduction_indices", &axes, &n));
    return kiln_ruled_reduce(r, axes, n, is_set(r, "keep_dims"));
}

static kiln_status extreme(kiln_ruled *r) {
    int axis = 0;
    if (r->n_in > 1)
        KILN_TRY(need_axis(r, 1, r->in[0]->type.rank, &axis));
    return kiln_ruled_reduce(r, &(int64_t){axis}, 1, false);
}

/* ---- the way in ---------------------------------------------------------------------
 */

static const struct {
    kiln_tf_importer import;
    kiln_rule *rule;
} rules[] = {
#define KILN_TF_COUNTED(importer, rule) {kiln_tf_import_##importer, rule},
#include "compiler/frontend/tensorflow/tf_counted.def"
#undef KILN_TF_COUNTED
};

kiln_status kiln_tf_import_counted(kiln_tf_cx *cx, const kiln_tf_node *n, bool *done) {
    kiln_ruled r = {.format = &format,
                    .c = kiln_tf_compose(cx, n),
                    .n_in = n->n_in,
                    .row_op = cx->row->op};
    *done = false;
    if (!cx->has_counted)
        return KILN_OK;
    r.given = kiln_array(&cx->common.scratch, kiln_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        kiln_tf_slot slot;
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
        r.given[i] = slot.value;
    }
    *done = kiln_ruled_begin(&r);
    if (!*done)
        return KILN_OK;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].import == cx->row->import)
            return rules[i].rule(&r);
    return refuse(&r, "and this operator has no rule for that");
}
