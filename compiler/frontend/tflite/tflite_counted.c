/* Operators of values that are as long as data has them (docs/bounded-outputs.md): what
 * WHERE gives, and what is picked by it, as tf.boolean_mask does, by the rules of
 * counted_rules.h; tflite_counted.def says which operator has which. */
#include "compiler/frontend/tflite/tflite_internal.h"

static kiln_tflite_cx *cx_of(const kiln_ruled *r) { return kiln_tflite_of(r->c.cx); }

/* ---- how operators are made --------------------------------------------------------- */

/* Operands are cx->in, which is r->given. */
static kiln_status make(kiln_ruled *r) {
    kiln_tflite_cx *const cx = cx_of(r);
    const kiln_tflite_row *const row = cx->row;
    kiln_tflite_row other = *row;
    if (r->op != NULL) {
        other.op = r->op;
        cx->row = &other;
    }
    const kiln_status st = row->import(cx);
    cx->row = row;
    return st;
}

static kiln_value **result(kiln_ruled *r, int i) {
    kiln_tflite_cx *const cx = cx_of(r);
    return i < kiln_tflite_n_out(cx) ? &cx->value[cx->op->output[i]] : NULL;
}

static kiln_status ints(kiln_ruled *r, int i, const char *name, const int64_t **v,
                        size_t *n) {
    return kiln_tflite_need_ints(cx_of(r), i, name, v, n);
}

static kiln_status refuse(kiln_ruled *r, const char *why) {
    return kiln_tflite_fail(
        cx_of(r), KILN_ERR_UNSUPPORTED,
        "'%s' is as long as data has it, %s; convert the model up to there",
        r->counted.value->name, why);
}

static const kiln_ruled_format format = {make, result, ints, refuse};

/* ---- rules: what operators say in options of their own ------------------------------ */

static kiln_status normalize(kiln_ruled *r, int64_t v, int rank, int *axis) {
    return kiln_axis_normalize(v, rank, axis, r->c.cx->err);
}

static kiln_status pick(kiln_ruled *r) {
    const kiln_tflite_options *const o = &cx_of(r)->opt;
    int axis;
    if (o->batch_dims != 0)
        return refuse(r, "and is picked of, or by, in batches");
    KILN_TRY(normalize(r, o->axis, r->in[0]->type.rank, &axis));
    return kiln_ruled_pick(r, axis, false);
}

static kiln_status slice(kiln_ruled *r) {
    kiln_counted_cut cut;
    KILN_TRY(kiln_ruled_only_first(r, "and decides a shape"));
    KILN_TRY(kiln_tflite_read_cut(cx_of(r), r->in[0], r->counted.axis, &cut));
    return kiln_ruled_slice(r, &cut);
}

static kiln_status expand(kiln_ruled *r) {
    const int64_t *v;
    size_t n;
    int at;
    KILN_TRY(kiln_ruled_only_first(r, "and decides an axis"));
    KILN_TRY(ints(r, 1, "axis", &v, &n));
    KILN_TRY(normalize(r, n == 1 ? v[0] : 0, r->in[0]->type.rank + 1, &at));
    return kiln_ruled_add_axis(r, at);
}

static kiln_status squeeze(kiln_ruled *r) {
    const kiln_tflite_options *const o = &cx_of(r)->opt;
    int64_t *const axes = kiln_array(&r->c.cx->scratch, int64_t, o->n_dims);
    for (size_t i = 0; i < o->n_dims; i++)
        axes[i] = o->dims[i];
    return kiln_ruled_drop_axes(r, axes, o->n_dims, "and may be none or several");
}

static kiln_status stack(kiln_ruled *r) {
    int at;
    KILN_TRY(normalize(r, cx_of(r)->opt.axis, r->counted.value->type.rank + 1, &at));
    return kiln_ruled_stack(r, at);
}

static kiln_status reduce(kiln_ruled *r) {
    const int64_t *axes;
    size_t n;
    KILN_TRY(ints(r, 1, "axis", &axes, &n));
    return kiln_ruled_reduce(r, axes, n, cx_of(r)->opt.keep_dims != 0);
}

static kiln_status extreme(kiln_ruled *r) {
    const int64_t *axes;
    size_t n;
    KILN_TRY(ints(r, 1, "dimension", &axes, &n));
    return kiln_ruled_reduce(r, axes, n, false);
}

/* ---- the way in --------------------------------------------------------------------- */

static const struct {
    kiln_status (*import)(kiln_tflite_cx *cx);
    kiln_rule *rule;
} rules[] = {
#define KILN_TFLITE_COUNTED(importer, rule) {kiln_tflite_import_##importer, rule},
#include "compiler/frontend/tflite/tflite_counted.def"
#undef KILN_TFLITE_COUNTED
};

kiln_status kiln_tflite_import_counted(kiln_tflite_cx *cx, bool *done) {
    kiln_ruled r = {.format = &format,
                    .c = kiln_tflite_compose(cx),
                    .given = cx->in,
                    .n_in = kiln_tflite_n_in(cx),
                    .row_op = cx->row->op};
    *done = kiln_ruled_begin(&r);
    if (!*done)
        return KILN_OK;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].import == cx->row->import)
            return rules[i].rule(&r);
    return refuse(&r, "and this operator has no rule for that");
}
