/* Rules for operators of counted values; see counted_rules.h. */
#include "compiler/frontend/counted_rules.h"

#include <math.h>

static kiln_status refuse(kiln_ruled *r, const char *why) {
    return r->format->refuse(r, why);
}

static void note(kiln_counted *c, kiln_value *v) {
    if (!kiln_value_is_counted(v))
        return;
    const int from_right = v->type.rank - v->bounded_axis;
    if (c->n++ == 0)
        *c = (kiln_counted){v, v->count, v->bounded_axis, from_right, 1};
    else if (v->count != c->count || from_right != c->from_right)
        c->axis = -1;
}

bool kiln_ruled_begin(kiln_ruled *r) {
    r->counted = (kiln_counted){.n = 0};
    for (int i = 0; i < r->n_in; i++)
        note(&r->counted, r->given[i]);
    if (r->counted.n == 0)
        return false;
    r->in = kiln_array(&r->c.cx->scratch, kiln_value *, r->n_in);
    for (int i = 0; i < r->n_in; i++)
        r->in[i] = r->given[i];
    return true;
}

kiln_status kiln_ruled_only_first(kiln_ruled *r, const char *why) {
    return r->counted.n == 1 && r->counted.value == r->in[0] ? KILN_OK : refuse(r, why);
}

/* ---- the operator, and its results -------------------------------------------------- */

kiln_status kiln_ruled_make(kiln_ruled *r) {
    for (int i = 0; i < r->n_in; i++)
        if (r->given[i] != NULL)
            r->given[i] = kiln_compose_uncounted(&r->c, r->given[i]);
    KILN_TRY(r->c.status);
    return r->format->make(r);
}

void kiln_ruled_fill(kiln_ruled *r, int i, double v) {
    r->given[i] = kiln_compose_fill(&r->c, r->in[i], v);
}

static kiln_value **result(kiln_ruled *r) {
    kiln_value **const y = r->format->result(r, 0);
    KILN_ASSERT(y != NULL && *y != NULL, "a rule made nothing");
    return y;
}

static kiln_status mark(kiln_ruled *r, int axis, kiln_value *count) {
    kiln_value **y;
    for (int i = 0; (y = r->format->result(r, i)) != NULL; i++)
        *y = kiln_compose_bounded(&r->c, *y, axis, count);
    return r->c.status;
}

kiln_status kiln_ruled_keep_as(kiln_ruled *r, int axis, kiln_value *count) {
    KILN_TRY(kiln_ruled_make(r));
    return mark(r, axis, count);
}

kiln_status kiln_ruled_keep(kiln_ruled *r, int axis) {
    return kiln_ruled_keep_as(r, axis, r->counted.count);
}

/* A number instead of what the operator gives. */
static kiln_status replace(kiln_ruled *r, kiln_value *y) {
    *result(r) = y;
    return r->c.status;
}

/* ---- each element by itself --------------------------------------------------------- */

/* Does v, broadcast against those that count, stretch along the axis? Else its own length
 * would have to be theirs, which nobody knows. */
static bool stretches(const kiln_counted *c, const kiln_value *v) {
    const kiln_type *const t = &v->type;
    return t->rank < c->from_right || t->dim[t->rank - c->from_right] == 1;
}

kiln_status kiln_rule_along(kiln_ruled *r) {
    const kiln_counted *const c = &r->counted;
    if (c->axis < 0)
        return refuse(r, "and another operand in another way");
    for (int i = 0; i < r->n_in; i++)
        if (r->in[i] != NULL && !kiln_value_is_counted(r->in[i]) &&
            !stretches(c, r->in[i]))
            return refuse(r, "and another operand's length is known");
    KILN_TRY(kiln_ruled_make(r));
    return mark(r, (*result(r))->type.rank - c->from_right, c->count);
}

kiln_status kiln_rule_softmax(kiln_ruled *r) {
    if (r->counted.from_right == 1)
        return refuse(r, "and sums are made along it");
    return kiln_rule_along(r);
}

kiln_status kiln_rule_rows(kiln_ruled *r) {
    const char *const why = "and is no row of the left of two matrices";
    KILN_TRY(kiln_ruled_only_first(r, why));
    if (r->counted.axis != 0 || r->in[0]->type.rank != 2)
        return refuse(r, why);
    KILN_TRY(kiln_ruled_make(r));
    const kiln_type *const t = &(*result(r))->type;
    if (t->rank < 2 || t->dim[t->rank - 2] != r->in[0]->type.dim[0])
        return refuse(r, "and its rows are folded");
    return mark(r, t->rank - 2, r->counted.count);
}

/* ---- axes --------------------------------------------------------------------------- */

kiln_status kiln_ruled_add_axis(kiln_ruled *r, int at) {
    return kiln_ruled_keep(r, r->counted.axis + (at <= r->counted.axis));
}

/* Is the axis among these of operand 0? *before: how many of them lie before it, *others:
 * elements along those that are not it. */
static kiln_status look_over(kiln_ruled *r, const int64_t *axes, size_t n,
                             bool *is_over, int *before, int64_t *others) {
    const kiln_type *const t = &r->in[0]->type;
    bool seen[KILN_MAX_RANK] = {false};
    KILN_TRY(kiln_ruled_only_first(r, "and decides which axes these are"));
    *before = 0;
    *others = 1;
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], t->rank, &axis, r->c.cx->err));
        if (!seen[axis] && axis != r->counted.axis)
            *others *= t->dim[axis];
        *before += !seen[axis] && axis < r->counted.axis;
        seen[axis] = true;
    }
    *is_over = seen[r->counted.axis];
    return KILN_OK;
}

kiln_status kiln_ruled_drop_axes(kiln_ruled *r, const int64_t *axes, size_t n,
                                 const char *why) {
    bool is_over;
    int before;
    int64_t others;
    if (n == 0)
        return refuse(r, "and may be one: name the axes that are to go");
    KILN_TRY(look_over(r, axes, n, &is_over, &before, &others));
    return is_over ? refuse(r, why) : kiln_ruled_keep(r, r->counted.axis - before);
}

/* Where the axis lies in a shape that is asked for with one entry open (-1), which must be
 * the axis, with as many elements before it as there were; -1: it is not so. */
static int open_entry(const kiln_counted *c, const int64_t *want, size_t n) {
    int64_t before = 1, product = 1;
    size_t open = 0;
    for (int i = 0; i < c->axis; i++)
        before *= c->value->type.dim[i];
    while (open < n && open < KILN_MAX_RANK && want[open] >= 0 &&
           (want[open] == 0 || product <= KILN_MAX_ELEMS / want[open]))
        product *= want[open++];
    return open < n && want[open] == -1 && product == before ? (int)open : -1;
}

/* The file leaves its length open (-1), and other axes lie around it as before. */
kiln_status kiln_rule_reshape(kiln_ruled *r) {
    const char *const why = "and the file says how long it is, or folds it into others";
    const int64_t *dim;
    size_t rank;
    KILN_TRY(kiln_ruled_only_first(r, why));
    if (r->n_in < 2 || r->in[1] == NULL)
        return refuse(r, why);
    KILN_TRY(r->format->ints(r, 1, "shape", &dim, &rank));
    const int open = open_entry(&r->counted, dim, rank);
    KILN_TRY(kiln_ruled_make(r));
    if (open < 0 || (*result(r))->type.dim[open] != r->in[0]->type.dim[r->counted.axis])
        return refuse(r, why);
    return mark(r, open, r->counted.count);
}

kiln_status kiln_rule_transpose(kiln_ruled *r) {
    const int64_t *perm;
    size_t n;
    KILN_TRY(kiln_ruled_only_first(r, "and decides an order"));
    KILN_TRY(r->format->ints(r, 1, "perm", &perm, &n));
    KILN_TRY(kiln_ruled_make(r));
    const int rank = r->in[0]->type.rank;
    for (int i = 0; i < rank; i++)
        if ((perm[i] + rank) % rank == r->counted.axis)
            return mark(r, i, r->counted.count);
    KILN_ASSERT(false, "'perm' names all axes");
    return KILN_OK;
}

kiln_status kiln_ruled_slice(kiln_ruled *r, const kiln_counted_cut *cut) {
    kiln_value *count = r->counted.count;
    if (!cut->is_first || cut->axis < 0)
        return refuse(r, "and only its first elements may be cut off, x[:n]");
    if (cut->size < r->in[0]->type.dim[r->counted.axis])
        count = kiln_compose_2(&r->c, &kiln_op_min, count,
                               kiln_compose_number(&r->c, cut->size));
    return kiln_ruled_keep_as(r, cut->axis, count);
}

/* ---- several values ----------------------------------------------------------------- */

static kiln_status need_alike(kiln_ruled *r) {
    int n = 0; /* an axis that is an operand is a scalar */
    for (int i = 0; i < r->n_in; i++)
        n += r->in[i] != NULL && r->in[i]->type.rank > 0;
    return r->counted.axis >= 0 && r->counted.n == n
               ? KILN_OK
               : refuse(r, "and what it is joined with is not so in the same way");
}

kiln_status kiln_rule_join(kiln_ruled *r) {
    const int axis = r->counted.axis;
    KILN_TRY(need_alike(r));
    KILN_TRY(kiln_ruled_make(r));
    if ((*result(r))->type.dim[axis] != r->counted.value->type.dim[axis])
        return refuse(r, "and is joined along the very axis");
    return mark(r, axis, r->counted.count);
}

kiln_status kiln_ruled_stack(kiln_ruled *r, int at) {
    KILN_TRY(need_alike(r));
    return kiln_ruled_add_axis(r, at);
}

/* ---- picking ------------------------------------------------------------------------ */

kiln_status kiln_ruled_pick(kiln_ruled *r, int axis, bool may_be_negative) {
    const kiln_value *const x = r->in[0], *const at = r->in[1];
    const bool is_along = kiln_value_is_counted(x) && x->bounded_axis == axis;
    if (kiln_value_is_counted(x) && !is_along) {
        if (kiln_value_is_counted(at))
            return refuse(r, "and is picked of along another axis by such a value");
        return kiln_ruled_keep(r, x->bounded_axis +
                                      (x->bounded_axis < axis ? 0 : at->type.rank - 1));
    }
    kiln_ruled_fill(r, 1, 0);
    if (is_along && may_be_negative)
        r->given[1] = kiln_compose_from_the_end(&r->c, r->given[1], x->count);
    return kiln_value_is_counted(at)
               ? kiln_ruled_keep_as(r, axis + at->bounded_axis, at->count)
               : kiln_ruled_make(r);
}

kiln_status kiln_rule_pick_points(kiln_ruled *r) {
    const kiln_value *const at = r->in[1];
    if (!kiln_value_is_counted(at) || at->bounded_axis == at->type.rank - 1)
        return refuse(r, "and what is picked may not be there");
    kiln_ruled_fill(r, 1, 0);
    return kiln_ruled_keep_as(r, at->bounded_axis, at->count);
}

kiln_status kiln_rule_where(kiln_ruled *r) {
    kiln_ruled_fill(r, 0, 0); /* what is zero is not found */
    return kiln_ruled_make(r);
}

/* ---- sums, extremes, lengths -------------------------------------------------------- */

double kiln_counted_neutral(const kiln_op_def *op) {
    static const struct {
        const kiln_op_def *op;
        double v;
    } known[] = {
        {&kiln_op_reduce_sum, 0},
        {&kiln_op_reduce_l1, 0},
        {&kiln_op_reduce_l2, 0},
        {&kiln_op_reduce_log_sum, 0},
        {&kiln_op_reduce_sum_square, 0},
        {&kiln_op_reduce_prod, 1},
        {&kiln_op_reduce_max, -HUGE_VAL},
        {&kiln_op_reduce_min, HUGE_VAL},
        {&kiln_op_reduce_log_sum_exp, -HUGE_VAL},
        {&kiln_op_argmax, -HUGE_VAL},
        {&kiln_op_argmin, HUGE_VAL},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].op == op)
            return known[i].v;
    return (double)NAN;
}

/* The sum of what counts, divided by how many they are. */
static kiln_status mean(kiln_ruled *r, int64_t others) {
    r->op = &kiln_op_reduce_sum;
    kiln_ruled_fill(r, 0, 0);
    KILN_TRY(kiln_ruled_make(r));
    kiln_value *const sum = *result(r);
    kiln_value *const n =
        kiln_compose_scalar(&r->c, &kiln_op_mul, r->counted.count, (double)others);
    return replace(r, kiln_compose_2(&r->c, &kiln_op_div, sum,
                                     kiln_compose_cast(&r->c, n, sum->type.dtype)));
}

kiln_status kiln_ruled_reduce(kiln_ruled *r, const int64_t *axes, size_t n,
                              bool keeps) {
    bool is_over;
    int before;
    int64_t others;
    KILN_TRY(look_over(r, axes, n, &is_over, &before, &others));
    if (!is_over)
        return kiln_ruled_keep(r, r->counted.axis - (keeps ? 0 : before));
    if (r->row_op == &kiln_op_reduce_mean)
        return mean(r, others);
    const double v = kiln_counted_neutral(r->row_op);
    if (isnan(v))
        return refuse(r, "and no number leaves this reduction as it is");
    if (r->in[0]->type.dtype == KILN_BOOL) /* all, any */
        kiln_ruled_fill(r, 0, v > 0 ? 1 : 0);
    else
        kiln_ruled_fill(r, 0, v);
    return kiln_ruled_make(r);
}

kiln_status kiln_rule_cumulative(kiln_ruled *r) {
    KILN_TRY(kiln_ruled_only_first(r, "and decides an axis"));
    kiln_ruled_fill(r, 0, r->row_op == &kiln_op_cumprod ? 1 : 0);
    return kiln_ruled_keep(r, r->counted.axis);
}

/* The lowest number that does not count is behind its equals. */
kiln_status kiln_rule_largest(kiln_ruled *r) {
    KILN_TRY(kiln_ruled_only_first(r, "and decides how many there are"));
    if (r->counted.from_right != 1)
        return kiln_ruled_keep(r, r->counted.axis);
    kiln_ruled_fill(r, 0, -HUGE_VAL);
    return kiln_ruled_make(r);
}

kiln_status kiln_rule_size(kiln_ruled *r) {
    const kiln_type *const t = &r->in[0]->type;
    const int64_t all = t->dim[r->counted.axis];
    KILN_TRY(kiln_ruled_make(r));
    kiln_value *const n =
        kiln_compose_scalar(&r->c, &kiln_op_mul, r->counted.count,
                            (double)(all > 0 ? kiln_type_elems(t) / all : 0));
    return replace(r, kiln_compose_cast(&r->c, n, (*result(r))->type.dtype));
}

kiln_status kiln_rule_shape(kiln_ruled *r) {
    const int64_t rank = r->in[0]->type.rank;
    KILN_TRY(kiln_ruled_make(r));
    kiln_value *const dims = *result(r);
    kiln_value *const is_it = kiln_compose_scalar(
        &r->c, &kiln_op_equal, kiln_compose_iota(&r->c, rank), (double)r->counted.axis);
    return replace(r, kiln_compose_where(
                          &r->c, is_it,
                          kiln_compose_cast(&r->c, r->counted.count, dims->type.dtype),
                          dims));
}
