/* Operators of values that are as long as data has them (docs/bounded-outputs.md): what
 * WHERE gives, and what is picked by it, as tf.boolean_mask does. A rule makes the operator
 * on the largest shape and says how many elements of its result count; what has no rule
 * (tflite_counted.def) is refused. Filling is never read as if it counted. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <math.h>

typedef struct ruled {
    kiln_tflite_cx *cx;
    kiln_compose c;
    kiln_counted counted;
    kiln_value **in; /* operands as they are; the importer's are cx->in */
} ruled;

typedef kiln_status rule_fn(ruled *r);

static kiln_status refuse(ruled *r, const char *why) {
    return kiln_tflite_fail(
        r->cx, KILN_ERR_UNSUPPORTED,
        "'%s' is as long as data has it, %s; convert the model up to there",
        r->counted.value->name, why);
}

/* As if all elements counted. */
static kiln_status make(ruled *r) {
    for (int i = 0; i < kiln_tflite_n_in(r->cx); i++)
        if (r->cx->in[i] != NULL)
            r->cx->in[i] = kiln_compose_uncounted(&r->c, r->cx->in[i]);
    KILN_TRY(r->c.status);
    return r->cx->row->import(r->cx);
}

static kiln_value **result(const ruled *r) {
    return &r->cx->value[r->cx->op->output[0]];
}

static kiln_status mark(ruled *r, int axis, kiln_value *count) {
    *result(r) = kiln_compose_bounded(&r->c, *result(r), axis, count);
    return r->c.status;
}

static kiln_status make_and_mark(ruled *r, int axis) {
    KILN_TRY(make(r));
    return mark(r, axis, r->counted.count);
}

static void fill(ruled *r, int i, double v) {
    r->cx->in[i] = kiln_compose_fill(&r->c, r->in[i], v);
}

/* ---- rules -------------------------------------------------------------------------- */

static kiln_status along(ruled *r) {
    const kiln_counted *const c = &r->counted;
    if (c->axis < 0)
        return refuse(r, "and another operand in another way");
    for (int i = 0; i < kiln_tflite_n_in(r->cx); i++)
        if (r->in[i] != NULL && !kiln_value_is_counted(r->in[i]) &&
            !kiln_counted_stretches(c, r->in[i]))
            return refuse(r, "and another operand's length is known");
    KILN_TRY(make(r));
    return mark(r, (*result(r))->type.rank - c->from_right, c->count);
}

/* Rows of a matrix times weights. */
static kiln_status rows(ruled *r) {
    if (r->counted.n != 1 || r->in[0] != r->counted.value || r->counted.axis != 0 ||
        r->in[0]->type.rank != 2)
        return refuse(r, "and is no row of a matrix");
    KILN_TRY(make(r));
    if ((*result(r))->type.rank != 2 ||
        (*result(r))->type.dim[0] != r->in[0]->type.dim[0])
        return refuse(r, "and the weights fold its rows");
    return mark(r, 0, r->counted.count);
}

/* Where only the indices decide how long the result is. */
static kiln_status pick(ruled *r) {
    const kiln_value *const x = r->in[0], *const at = r->in[1];
    int axis;
    KILN_TRY(
        kiln_axis_normalize(r->cx->opt.axis, x->type.rank, &axis, r->cx->common.err));
    if (r->cx->opt.batch_dims != 0)
        return refuse(r, "and is picked of, or by, in batches");
    if (!kiln_value_is_counted(at))
        return refuse(r, "and what is picked may not be there");
    if (kiln_value_is_counted(x) && x->bounded_axis != axis)
        return refuse(r, "and is picked of along another axis by such a value");
    fill(r, 1, 0);
    KILN_TRY(make(r));
    return mark(r, axis + at->bounded_axis, at->count);
}

static kiln_status pick_points(ruled *r) {
    const kiln_value *const at = r->in[1];
    if (!kiln_value_is_counted(at) || at->bounded_axis == at->type.rank - 1)
        return refuse(r, "and what is picked may not be there");
    fill(r, 1, 0);
    KILN_TRY(make(r));
    return mark(r, at->bounded_axis, at->count);
}

/* The file leaves its length open (-1), and other axes lie around it as before. */
static kiln_status reshape(ruled *r) {
    const int64_t *dim;
    size_t rank;
    if (r->in[1] == NULL)
        return refuse(r, "and the file says how long it is");
    KILN_TRY(kiln_tflite_need_ints(r->cx, 1, "shape", &dim, &rank));
    const int open = kiln_counted_reshaped(&r->counted, dim, rank);
    KILN_TRY(make(r));
    if (open < 0 || (*result(r))->type.dim[open] != r->in[0]->type.dim[r->counted.axis])
        return refuse(r, "and the file says how long it is, or folds it into others");
    return mark(r, open, r->counted.count);
}

static kiln_status slice(ruled *r) {
    kiln_counted_cut cut;
    kiln_value *count = r->counted.count;
    if (r->counted.n != 1 || r->counted.value != r->in[0])
        return refuse(r, "and decides a shape");
    KILN_TRY(kiln_tflite_read_cut(r->cx, r->in[0], r->counted.axis, &cut));
    if (!cut.is_first || cut.axis < 0)
        return refuse(r, "and only its first elements may be cut off, x[:n]");
    if (cut.size < r->in[0]->type.dim[r->counted.axis])
        count = kiln_compose_2(&r->c, &kiln_op_min, count,
                               kiln_compose_number(&r->c, cut.size));
    KILN_TRY(make(r));
    return mark(r, cut.axis, count);
}

/* What is zero is not found. */
static kiln_status where(ruled *r) {
    fill(r, 0, 0);
    return make(r);
}

/* The sum of what counts, divided by how many they are. */
static kiln_status mean(ruled *r, int64_t others) {
    kiln_tflite_row row = *r->cx->row;
    row.op = &kiln_op_reduce_sum;
    r->cx->row = &row;
    fill(r, 0, 0);
    KILN_TRY(make(r));
    *result(r) = kiln_compose_mean_of(&r->c, &r->counted, *result(r), others);
    return r->c.status;
}

static kiln_status reduce(ruled *r) {
    const kiln_op_def *const op = r->cx->row->op;
    const int64_t *axes;
    size_t n;
    int before;
    int64_t others;
    bool is_over;
    KILN_TRY(kiln_tflite_need_ints(r->cx, 1, "axis", &axes, &n));
    KILN_TRY(kiln_counted_over(&r->counted, axes, n, &is_over, &before, &others,
                               r->cx->common.err));
    if (!is_over)
        return make_and_mark(r, r->counted.axis -
                                    (r->cx->opt.keep_dims != 0 ? 0 : before));
    if (op == &kiln_op_reduce_mean)
        return mean(r, others);
    const double v = kiln_counted_neutral(op);
    if (isnan(v))
        return refuse(r, "and no number leaves this reduction as it is");
    if (r->in[0]->type.dtype == KILN_BOOL)
        fill(r, 0, v > 0 ? 1 : 0);
    else
        fill(r, 0, v);
    return make(r);
}

/* ---- the way in --------------------------------------------------------------------- */

static const struct {
    kiln_status (*import)(kiln_tflite_cx *cx);
    rule_fn *rule;
} rules[] = {
#define KILN_TFLITE_COUNTED(importer, rule) {kiln_tflite_import_##importer, rule},
#include "compiler/frontend/tflite/tflite_counted.def"
#undef KILN_TFLITE_COUNTED
};

kiln_status kiln_tflite_import_counted(kiln_tflite_cx *cx, bool *done) {
    ruled r = {.cx = cx, .c = kiln_tflite_compose(cx)};
    const kiln_tflite_row *const row = cx->row;
    const size_t n = cx->op->n_input;
    *done = false;
    for (size_t i = 0; i < n; i++)
        kiln_counted_note(&r.counted, cx->in[i]);
    if (r.counted.n == 0)
        return KILN_OK;
    *done = true;
    r.in = kiln_array(&cx->common.scratch, kiln_value *, n);
    for (size_t i = 0; i < n; i++)
        r.in[i] = cx->in[i];
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].import == row->import) {
            const kiln_status st = rules[i].rule(&r);
            cx->row = row; /* a rule may have made it with another operator */
            return st;
        }
    return refuse(&r, "and this operator has no rule for that");
}
