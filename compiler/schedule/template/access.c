/* Steps of reads by axis, and what vectorising an axis would cost. The measure is the
 * one of Ansor's sketch rules (OSDI'20, section 4.1) without a learnt model: count
 * vector instructions, a gather as one load a lane. */
#include "compiler/schedule/template/access.h"

#include <math.h>

/* ---- steps ----------------------------------------------------------------------- */

/* d e / d v where it is constant. */
static int64_t slope(const kiln_expr *e, const kiln_var *v) {
    int64_t x = 0, y = 0, c = 0;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return 0;
    case KILN_EXPR_VAR:
        return e->u.var == v ? 1 : 0;
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        x = slope(e->arg[0], v);
        y = slope(e->arg[1], v);
        if (x == KILN_NO_STEP || y == KILN_NO_STEP)
            return KILN_NO_STEP;
        return e->kind == KILN_EXPR_ADD ? x + y : x - y;
    case KILN_EXPR_MUL:
        if (kiln_x_is_int(e->arg[1], &c))
            x = slope(e->arg[0], v);
        else if (kiln_x_is_int(e->arg[0], &c))
            x = slope(e->arg[1], v);
        else
            break;
        return x == KILN_NO_STEP ? x : x * c;
    case KILN_EXPR_FLOAT:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return kiln_expr_uses(e, v) ? KILN_NO_STEP : 0;
}

static const kiln_axis *axis_at(const kiln_te *te, int i) {
    return i < te->rank ? te->axis[i] : te->reduce[i - te->rank];
}

/* Where a read's element lies, in elements from the start. */
static const kiln_expr *flat_index(kiln_arena *a, const kiln_ranges *ranges,
                                   const kiln_expr *read) {
    const kiln_te *te = read->u.read.te;
    const kiln_expr *sum = kiln_x_index(a, 0);
    int64_t stride = 1;
    for (int i = te->rank; i-- > 0;) {
        sum = kiln_x_add(a, sum, kiln_x_mul(a, read->arg[i], kiln_x_index(a, stride)));
        stride *= kiln_te_dim(te, i);
    }
    return kiln_simplify_expr(ranges, a, sum);
}

/* Instructions, not a machine's cycles: code generation makes functions of about 15
 * multiply-adds; a division keeps its port as long as about six of them, and one
 * of whole numbers is a multiplication, shifts and additions. */
static double node_work(const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPR_CALL:
        return 15;
    case KILN_EXPR_DIV:
        return 6;
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return 4;
    case KILN_EXPR_INT:
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_READ:
    case KILN_EXPR_REDUCE:
        return 0;
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return e->dtype == KILN_I64 ? 0.25 : 1; /* indexes mostly vanish */
}

static void add_work(void *user, const kiln_expr *e) {
    *(double *)user += node_work(e);
}

double kiln_expr_work(const kiln_expr *e) {
    double work = 0;
    kiln_expr_visit(e, add_work, &work);
    return work;
}

typedef struct collector {
    kiln_arena *arena;
    kiln_ranges ranges;
    kiln_accesses *out;
} collector;

static void add_read(void *user, const kiln_expr *e) {
    collector *c = user;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (size_t i = 0; i < c->out->read.n; i++)
        if (kiln_expr_eq(c->out->read.v[i].read, e))
            return;
    kiln_access x = {.read = e};
    const kiln_expr *flat = flat_index(c->arena, &c->ranges, e);
    for (int i = 0; i < c->out->n_axes; i++)
        x.step[i] = slope(flat, axis_at(c->out->te, i)->var);
    const int bytes = (int)kiln_dtype_bytes(e->dtype);
    if (bytes > c->out->max_bytes)
        c->out->max_bytes = bytes;
    kiln_vec_push(c->arena, &c->out->read, x);
}

int kiln_accesses_lane_bytes(const kiln_accesses *x, int axis) {
    int most = 1;
    for (int k = 0; k < x->te->n_out; k++) {
        const int bytes = (int)kiln_dtype_bytes(x->te->dtype[k]);
        most = bytes > most ? bytes : most;
    }
    for (size_t i = 0; i < x->read.n; i++) {
        const kiln_access *r = &x->read.v[i];
        const int bytes = (int)kiln_dtype_bytes(r->read->dtype);
        const bool is_place = r->read->dtype == KILN_I64 && r->step[axis] == 0;
        most = bytes > most && !is_place ? bytes : most;
    }
    return most;
}

void kiln_accesses_of(kiln_arena *a, const kiln_te *te, kiln_accesses *out) {
    collector c = {.arena = a, .ranges = {.arena = a}, .out = out};
    *out = (kiln_accesses){
        .te = te, .n_axes = te->rank + te->n_reduce, .n_spatial = te->rank};
    int64_t stride = 1;
    for (int i = out->n_axes; i-- > 0;) {
        const bool is_const = kiln_x_is_int(axis_at(te, i)->extent, &out->extent[i]);
        KILN_ASSERT(is_const, "axis %d of stage '%s' has no constant extent", i,
                    te->name);
        kiln_ranges_push(&c.ranges, axis_at(te, i)->var, 0, out->extent[i] - 1);
        if (i < te->rank) {
            out->store_step[i] = stride;
            stride *= out->extent[i];
        }
    }
    for (int k = 0; k < te->n_out; k++) {
        const int bytes = (int)kiln_dtype_bytes(te->dtype[k]);
        out->max_bytes = bytes > out->max_bytes ? bytes : out->max_bytes;
        kiln_expr_visit(te->body[k], add_read, &c);
        out->ops += kiln_expr_work(te->body[k]);
    }
    if (out->n_axes > out->n_spatial)
        out->ops += 1;
}

enum { MOST_NEAR = 4 };

/* ---- costs ----------------------------------------------------------------------- */

/* Instructions that one read takes for all lanes. A few steps apart, code generation
 * makes as many vectors of neighbours of it, and a shuffle for each but the first. */
static double load_cost(int64_t step, int lanes) {
    if (step == 0)
        return 0.5; /* often an operand of the arithmetic, or out of the loop */
    if (step == 1)
        return 1;
    if (step == -1)
        return 2;
    if (step > 1 && step <= MOST_NEAR && 4 * (step - 1) <= lanes)
        return 2.0 * (double)step - 1;
    return step == KILN_NO_STEP ? 2.0 * lanes : 1.25 * lanes;
}

static double store_cost(int64_t step, int lanes) {
    return step == 1 ? 1 : 1.25 * lanes;
}

static bool is_turned(const kiln_access *read, int rows, int axis) {
    const int64_t step = read->step[axis];
    return read->step[rows] == 1 && step != KILN_NO_STEP && (step > 1 || step < -1);
}

/* Rows that lie side by side are turned in registers, as many at a time as there are
 * lanes: a load and a shuffle of two for each halving. */
static double read_cost(const kiln_accesses *x, const int64_t *extent,
                        const kiln_access *read, int axis, int lanes) {
    const double cost = load_cost(read->step[axis], lanes);
    const bool is_whole = x->n_axes == x->n_spatial && x->store_step[axis] == 1;
    for (int i = 0; i < x->n_spatial && is_whole; i++) {
        const double turned = 1 + log2((double)lanes);
        if (is_turned(read, i, axis) && turned < cost &&
            (extent != NULL ? extent[i] : x->extent[i]) >= KILN_LEAST_TURNED)
            return turned;
    }
    return cost;
}

double kiln_accesses_cost(const kiln_accesses *x, const int64_t *extent, int axis,
                          int lanes) {
    double evaluations = 1, elems = 1;
    if (axis < 0)
        lanes = 1;
    for (int i = 0; i < x->n_axes; i++) {
        const int64_t n = extent != NULL ? extent[i] : x->extent[i];
        const int64_t whole = (n + lanes - 1) / lanes;
        const double groups = (double)(i == axis ? whole : n);
        evaluations *= groups;
        if (i < x->n_spatial)
            elems *= groups;
    }
    double each = x->ops;
    for (size_t i = 0; i < x->read.n; i++)
        each += axis < 0 ? 1 : read_cost(x, extent, &x->read.v[i], axis, lanes);
    double store = 1;
    if (axis >= 0 && axis < x->n_spatial)
        store = store_cost(x->store_step[axis], lanes);
    else if (axis >= 0) /* lanes meet in one element */
        store = 4 + 3 * log2((double)lanes);
    return evaluations * each + elems * store;
}

double kiln_accesses_reuse(const kiln_accesses *x, int axis, int vector_axis,
                           int lanes) {
    double saved = 0;
    for (size_t i = 0; i < x->read.n; i++)
        if (x->read.v[i].step[axis] == 0)
            saved +=
                vector_axis < 0 ? 1 : load_cost(x->read.v[i].step[vector_axis], lanes);
    return saved;
}

bool kiln_accesses_contiguous(const kiln_accesses *x, int axis) {
    for (size_t i = 0; i < x->read.n; i++)
        if (x->read.v[i].step[axis] == 1)
            return true;
    return false;
}

bool kiln_accesses_strided(const kiln_accesses *x, int axis) {
    for (size_t i = 0; i < x->read.n; i++) {
        const int64_t s = x->read.v[i].step[axis];
        if (s != 0 && s != 1)
            return true;
    }
    return false;
}

bool kiln_accesses_turned(const kiln_accesses *x, int rows, int axis) {
    for (size_t i = 0; i < x->read.n; i++)
        if (is_turned(&x->read.v[i], rows, axis))
            return true;
    return false;
}
