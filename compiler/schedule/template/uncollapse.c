/* The other way round from collapse.c: an axis that a stage uses only divided, as v / b
 * and v % b, becomes two. Values that lie in blocks of channels are read so by who writes
 * them row-major, and as one axis their elements would come one by one: 64 channels of
 * 32x32 took 33 microseconds on Zen 5, as tiles that are turned in registers 4 to 8. */
#include "compiler/schedule/template/collapse.h"

typedef struct divided {
    const kiln_var *var;
    int64_t by; /* 0: not yet */
    bool has_rest, is_otherwise;
} divided;

static bool is_parted(const kiln_expr *e, const kiln_var *v, int64_t *by) {
    return (e->kind == KILN_EXPR_FLOORDIV || e->kind == KILN_EXPR_FLOORMOD) &&
           e->arg[0]->kind == KILN_EXPR_VAR && e->arg[0]->u.var == v &&
           kiln_x_is_int(e->arg[1], by);
}

static void look(divided *d, const kiln_expr *e) {
    int64_t by = 0;
    if (is_parted(e, d->var, &by)) {
        d->is_otherwise = d->is_otherwise || (d->by != 0 && d->by != by);
        d->by = by;
        d->has_rest = d->has_rest || e->kind == KILN_EXPR_FLOORMOD;
        return;
    }
    d->is_otherwise =
        d->is_otherwise || (e->kind == KILN_EXPR_VAR && e->u.var == d->var);
    for (int i = 0; i < e->n_arg; i++)
        look(d, e->arg[i]);
}

/* The axis of te that becomes two, and by what; -1: none does. */
static int axis_of(const kiln_te *te, int64_t *by) {
    for (int i = 0; i < te->rank; i++) {
        int64_t extent = 0;
        divided d = {.var = te->axis[i]->var};
        look(&d, te->body[0]);
        if (d.by > 1 && d.has_rest && !d.is_otherwise &&
            kiln_x_is_int(te->axis[i]->extent, &extent) && extent > d.by &&
            extent % d.by == 0) {
            *by = d.by;
            return i;
        }
    }
    return -1;
}

typedef struct rebuilding {
    const kiln_te *te;
    int axis;
    const kiln_expr *part[2];            /* of that axis: quotient and rest */
    const kiln_expr *var[KILN_MAX_AXES]; /* of the others */
} rebuilding;

static const kiln_expr *rebuilt(void *user, kiln_arena *a, const kiln_expr *e) {
    const rebuilding *r = user;
    int64_t by = 0;
    if (is_parted(e, r->te->axis[r->axis]->var, &by))
        return r->part[e->kind == KILN_EXPR_FLOORMOD];
    for (int i = 0; e->kind == KILN_EXPR_VAR && i < r->te->rank; i++)
        if (r->te->axis[i]->var == e->u.var)
            return r->var[i];
    return kiln_expr_map(a, e, rebuilt, user);
}

kiln_status kiln_te_uncollapse(kiln_arena *a, const kiln_te **args, size_t n_args,
                               size_t n_inputs, kiln_err *err) {
    const kiln_te *te = args[n_args - 1];
    int64_t dim[KILN_MAX_AXES], by = 0;
    int n = 0;
    if (n_args != n_inputs + 1 || te->kind != KILN_TE_COMPUTE || te->n_out != 1 ||
        te->n_reduce > 0 || te->rank == KILN_MAX_AXES)
        return KILN_OK;
    rebuilding r = {.te = te, .axis = axis_of(te, &by)};
    if (r.axis < 0)
        return KILN_OK;
    for (int i = 0; i < te->rank; i++) {
        int64_t extent = 0;
        if (!kiln_x_is_int(te->axis[i]->extent, &extent))
            return KILN_OK;
        dim[n++] = i == r.axis ? extent / by : extent;
        if (i == r.axis)
            dim[n++] = by;
    }
    kiln_te *made = kiln_te_begin(a, te->name, n, dim);
    made->tag = te->tag;
    for (int i = 0, k = 0; i < te->rank; i++) {
        r.var[i] = kiln_te_var(made, k++);
        if (i == r.axis) {
            r.part[0] = r.var[i];
            r.part[1] = kiln_te_var(made, k++);
        }
    }
    const kiln_expr *body = rebuilt(&r, a, te->body[0]);
    KILN_TRY(kiln_te_end(made, 1, &body, err));
    args[n_args - 1] = made;
    return KILN_OK;
}
