/* Operators of values that are as long as data has them (docs/bounded-outputs.md): what
 * Where and NonMaxSuppression give, and what is picked by it, as tf.boolean_mask does. A
 * rule makes the operator on the largest shape and says how many elements of its result
 * count; what has no rule (tf_counted.def) is refused. Filling is never read as if it
 * counted: it is changed to what says nothing, or each element is treated by itself. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <math.h>

/* The node that is imported by its rule. */
typedef struct ruled {
    kiln_tf_cx *cx;
    const kiln_tf_node *node;
    kiln_compose c;
    kiln_counted counted;
    kiln_value **in;    /* operands; NULL: no tensor */
    kiln_value **given; /* those that the importer is to read instead; NULL: its own */
} ruled;

typedef kiln_status rule_fn(ruled *r);

static kiln_status refuse(ruled *r, const char *why) {
    int i = 0;
    while (r->in[i] != r->counted.value)
        i++;
    return kiln_tf_fail(
        r->cx, KILN_ERR_UNSUPPORTED,
        "'%s' is as long as data has it, %s; export the model up to there",
        kiln_tf_show(r->cx, r->node->input[i]), why);
}

/* ---- the operator, and its results -------------------------------------------------- */

/* As if all elements counted. */
static kiln_status make(ruled *r) {
    for (int i = 0; i < r->node->n_in; i++)
        if (kiln_value_is_counted(r->in[i]) && r->given[i] == NULL)
            r->given[i] = kiln_compose_uncounted(&r->c, r->in[i]);
    KILN_TRY(r->c.status);
    r->cx->given = r->given;
    const kiln_status st = r->cx->row->import(r->cx, r->node);
    r->cx->given = NULL;
    return st;
}

static kiln_tf_outs *outs_of(const ruled *r) {
    const kiln_tf_frame *const f = r->cx->frame;
    return &f->out[r->node - f->node];
}

static kiln_value *result(const ruled *r) {
    const kiln_tf_outs *const outs = outs_of(r);
    KILN_ASSERT(outs->n > 0 && outs->slot[0].value != NULL, "a rule made nothing");
    return outs->slot[0].value;
}

static kiln_status mark(ruled *r, int axis, kiln_value *count) {
    kiln_tf_outs *const outs = outs_of(r);
    for (int i = 0; i < outs->n; i++)
        outs->slot[i].value =
            kiln_compose_bounded(&r->c, outs->slot[i].value, axis, count);
    return r->c.status;
}

static kiln_status make_and_mark(ruled *r, int axis) {
    KILN_TRY(make(r));
    return mark(r, axis, r->counted.count);
}

/* Operand i with another filling. */
static void fill(ruled *r, int i, double v) {
    r->given[i] = kiln_compose_fill(&r->c, r->in[i], v);
}

static kiln_status need_axis(ruled *r, int i, int rank, int *axis) {
    return kiln_tf_axis(r->cx, r->node, i, "axis", rank, axis);
}

/* ---- rules: each element by itself ---------------------------------------------------
 */

/* What passes operands on as they are. */
static kiln_status pass(ruled *r) { return r->cx->row->import(r->cx, r->node); }

static kiln_status along(ruled *r) {
    const kiln_counted *const c = &r->counted;
    if (c->axis < 0)
        return refuse(r, "and another operand in another way");
    for (int i = 0; i < r->node->n_in; i++)
        if (r->in[i] != NULL && !kiln_value_is_counted(r->in[i]) &&
            !kiln_counted_stretches(c, r->in[i]))
            return refuse(r, "and another operand's length is known");
    KILN_TRY(make(r));
    return mark(r, result(r)->type.rank - c->from_right, c->count);
}

/* Rows of a matrix times a matrix. */
static kiln_status rows(ruled *r) {
    if (r->counted.n != 1 || r->in[0] != r->counted.value ||
        r->counted.from_right != 2 || r->in[0]->type.rank != 2 ||
        kiln_tf_attr_b(r->cx, r->node, "transpose_a", false) ||
        kiln_tf_attr_b(r->cx, r->node, "adj_x", false))
        return refuse(r, "and is no row of the left of two matrices");
    KILN_TRY(make(r));
    return mark(r, result(r)->type.rank - 2, r->counted.count);
}

static kiln_status softmax(ruled *r) {
    if (r->counted.from_right == 1)
        return refuse(r, "and sums are made along it");
    return along(r);
}

/* ---- rules: axes --------------------------------------------------------------------
 */

static kiln_status expand(ruled *r) {
    int at;
    KILN_TRY(need_axis(r, 1, r->in[0]->type.rank + 1, &at));
    return make_and_mark(r, r->counted.axis + (at <= r->counted.axis));
}

static kiln_status squeeze(ruled *r) {
    const int64_t *v;
    int before = 0;
    const size_t n = kiln_tf_attr_ints(r->cx, r->node, "squeeze_dims", &v);
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(
            kiln_axis_normalize(v[i], r->in[0]->type.rank, &axis, r->cx->common.err));
        if (axis == r->counted.axis)
            return refuse(r, "and may be none or several");
        before += axis < r->counted.axis;
    }
    if (n == 0)
        return refuse(r, "and may be one: name the axes that are to go");
    return make_and_mark(r, r->counted.axis - before);
}

/* The file leaves its length open (-1), and other axes lie around it as before. */
static kiln_status reshape(ruled *r) {
    const int64_t *dim;
    size_t rank;
    KILN_TRY(kiln_tf_ints(r->cx, r->node, 1, "shape", &dim, &rank));
    const int open = kiln_counted_reshaped(&r->counted, dim, rank);
    KILN_TRY(make(r));
    if (open < 0 || result(r)->type.dim[open] != r->in[0]->type.dim[r->counted.axis])
        return refuse(r, "and the file says how long it is, or folds it into others");
    return mark(r, open, r->counted.count);
}

static kiln_status transpose(ruled *r) {
    const int64_t *perm;
    size_t n;
    KILN_TRY(kiln_tf_ints(r->cx, r->node, 1, "perm", &perm, &n));
    KILN_TRY(make(r));
    const int rank = r->in[0]->type.rank;
    for (int i = 0; i < rank; i++)
        if ((perm[i] + rank) % rank == r->counted.axis)
            return mark(r, i, r->counted.count);
    KILN_ASSERT(false, "'perm' names all axes");
    return KILN_OK;
}

static kiln_status slice(ruled *r) {
    kiln_counted_cut cut;
    kiln_value *count = r->counted.count;
    if (r->counted.n != 1 || r->counted.value != r->in[0])
        return refuse(r, "and decides a shape");
    KILN_TRY(kiln_tf_read_cut(r->cx, r->node, r->in[0], r->counted.axis, &cut));
    if (!cut.is_first || cut.axis < 0)
        return refuse(r, "and only its first elements may be cut off, x[:n]");
    if (cut.size < r->in[0]->type.dim[r->counted.axis])
        count = kiln_compose_2(&r->c, &kiln_op_min, count,
                               kiln_compose_number(&r->c, cut.size));
    KILN_TRY(make(r));
    return mark(r, cut.axis, count);
}

/* ---- rules: several values ----------------------------------------------------------
 */

static int n_tensors(const ruled *r) {
    int n = 0;
    for (int i = 0; i < r->node->n_in; i++)
        n += r->in[i] != NULL && r->in[i]->type.rank > 0;
    return n;
}

/* Along another axis. */
static kiln_status join(ruled *r) {
    if (r->counted.axis < 0 || r->counted.n != n_tensors(r))
        return refuse(r, "and what it is joined with is not so in the same way");
    KILN_TRY(make(r));
    const int axis = r->counted.axis;
    if (result(r)->type.dim[axis] != r->counted.value->type.dim[axis])
        return refuse(r, "and is joined along the very axis");
    return mark(r, axis, r->counted.count);
}

static kiln_status stack(ruled *r) {
    int at;
    if (r->counted.axis < 0 || r->counted.n != r->node->n_in)
        return refuse(r, "and what it is joined with is not so in the same way");
    KILN_TRY(kiln_axis_normalize(kiln_tf_attr_i(r->cx, r->node, "axis", 0),
                                 r->counted.value->type.rank + 1, &at,
                                 r->cx->common.err));
    return make_and_mark(r, r->counted.axis + (at <= r->counted.axis));
}

/* ---- rules: picking -----------------------------------------------------------------
 */

/* params[:, indices]: positions that count are of rows that count, else TensorFlow
 * stops. */
static kiln_status pick(ruled *r) {
    const kiln_value *const x = r->in[0], *const at = r->in[1];
    const bool is_known = !kiln_value_is_counted(at);
    int axis = 0;
    if (kiln_tf_attr_i(r->cx, r->node, "batch_dims", 0) != 0)
        return refuse(r, "and is picked of, or by, in batches");
    if (r->node->n_in > 2)
        KILN_TRY(need_axis(r, 2, x->type.rank, &axis));
    if (!kiln_value_is_counted(x)) {
        fill(r, 1, 0);
        return make_and_mark(r, axis + at->bounded_axis);
    }
    if (is_known && x->bounded_axis != axis)
        return make_and_mark(r, x->bounded_axis +
                                    (x->bounded_axis < axis ? 0 : at->type.rank - 1));
    if (is_known)
        return refuse(r, "and what is picked may not be there");
    if (x->bounded_axis != axis)
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

/* Scores that do not count are the lowest, above which none is. */
static kiln_status suppress(ruled *r) {
    enum { BOXES, SCORES };
    if (r->counted.n != 2 || r->in[BOXES]->count != r->in[SCORES]->count ||
        r->in[BOXES]->bounded_axis != 0)
        return refuse(r, "and boxes and scores must be so in the same way");
    fill(r, SCORES, -HUGE_VAL);
    return make(r);
}

/* What is zero is not found. */
static kiln_status where(ruled *r) {
    fill(r, 0, 0);
    return make(r);
}

/* ---- rules: sums, extremes, lengths -------------------------------------------------
 */

static kiln_status set_number(ruled *r, kiln_value *v) {
    kiln_tf_slot *const slot = outs_of(r)->slot;
    slot->value = v;
    return r->c.status;
}

/* The sum of what counts, divided by how many they are. */
static kiln_status mean(ruled *r, int64_t others) {
    kiln_tf_op row = *r->cx->row;
    row.op = &kiln_op_reduce_sum;
    r->cx->row = &row;
    fill(r, 0, 0);
    KILN_TRY(make(r));
    return set_number(r, kiln_compose_mean_of(&r->c, &r->counted, result(r), others));
}

static kiln_status reduce(ruled *r) {
    const kiln_op_def *const op = r->cx->row->op;
    const int64_t *axes;
    size_t n;
    int before;
    int64_t others;
    bool is_over;
    KILN_TRY(kiln_tf_ints(r->cx, r->node, 1, "reduction_indices", &axes, &n));
    KILN_TRY(kiln_counted_over(&r->counted, axes, n, &is_over, &before, &others,
                               r->cx->common.err));
    if (!is_over)
        return make_and_mark(
            r, r->counted.axis -
                   (kiln_tf_attr_b(r->cx, r->node, "keep_dims", false) ? 0 : before));
    if (op == &kiln_op_reduce_mean)
        return mean(r, others);
    const double v = kiln_counted_neutral(op);
    if (isnan(v))
        return refuse(r, "and no number leaves this reduction as it is");
    if (r->in[0]->type.dtype == KILN_BOOL) /* All, Any */
        fill(r, 0, v > 0 ? 1 : 0);
    else
        fill(r, 0, v);
    return make(r);
}

static kiln_status extreme(ruled *r) {
    int axis = 0;
    if (r->node->n_in > 1)
        KILN_TRY(need_axis(r, 1, r->in[0]->type.rank, &axis));
    if (axis != r->counted.axis)
        return make_and_mark(r, r->counted.axis - (axis < r->counted.axis));
    fill(r, 0, kiln_counted_neutral(r->cx->row->op));
    return make(r);
}

static kiln_status size(ruled *r) {
    const kiln_type *const t = &r->in[0]->type;
    const int64_t all = t->dim[r->counted.axis];
    KILN_TRY(make(r));
    kiln_value *const n =
        kiln_compose_scalar(&r->c, &kiln_op_mul, r->counted.count,
                            (double)(all > 0 ? kiln_type_elems(t) / all : 0));
    return set_number(r, kiln_compose_cast(&r->c, n, result(r)->type.dtype));
}

static kiln_status shape(ruled *r) {
    const int64_t rank = r->in[0]->type.rank;
    KILN_TRY(make(r));
    kiln_value *const dims = result(r);
    kiln_value *const is_it = kiln_compose_scalar(
        &r->c, &kiln_op_equal, kiln_compose_iota(&r->c, rank), (double)r->counted.axis);
    return set_number(r, kiln_compose_where(&r->c, is_it,
                                            kiln_compose_cast(&r->c, r->counted.count,
                                                              dims->type.dtype),
                                            dims));
}

/* ---- the way in ---------------------------------------------------------------------
 */

static const struct {
    kiln_tf_importer import;
    rule_fn *rule;
} rules[] = {
#define KILN_TF_COUNTED(importer, rule) {kiln_tf_import_##importer, rule},
#include "compiler/frontend/tensorflow/tf_counted.def"
#undef KILN_TF_COUNTED
};

kiln_status kiln_tf_import_counted(kiln_tf_cx *cx, const kiln_tf_node *n, bool *done) {
    ruled r = {.cx = cx, .node = n, .c = kiln_tf_compose(cx, n)};
    const kiln_tf_op *const row = cx->row;
    *done = false;
    if (!cx->has_counted)
        return KILN_OK;
    r.in = kiln_array(&cx->common.scratch, kiln_value *, n->n_in);
    r.given = kiln_array(&cx->common.scratch, kiln_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        kiln_tf_slot slot;
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
        r.in[i] = slot.value;
        kiln_counted_note(&r.counted, slot.value);
    }
    if (r.counted.n == 0)
        return KILN_OK;
    *done = true;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].import == row->import) {
            const kiln_status st = rules[i].rule(&r);
            cx->row = row; /* a rule may have made it with another operator */
            return st;
        }
    return refuse(&r, "and this operator has no rule for that");
}
