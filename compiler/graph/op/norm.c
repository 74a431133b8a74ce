/* Shared parts of layer_norm and rms_norm; see norm.h. */
#include "compiler/graph/op/norm.h"

#include "compiler/graph/op/window.h"

kiln_status kiln_norm_read(const kiln_node *n, kiln_norm_rows *r, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    *r = (kiln_norm_rows){.rows = 1, .n = 1};
    KILN_TRY(kiln_check_axis(n, KILN_NORM_AXIS, &r->axis, err));
    if (!(n->attr[KILN_NORM_EPSILON].f >= 0))
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'epsilon' must be >= 0, is %g",
                         n->attr[KILN_NORM_EPSILON].f);
    for (int i = 0; i < x->rank; i++) {
        int64_t *count = i < r->axis ? &r->rows : &r->n;
        *count *= x->dim[i];
    }
    return KILN_OK;
}

kiln_status kiln_norm_check_factor(const kiln_node *n, int in, kiln_err *err) {
    if (!kiln_has_in(n, in))
        return KILN_OK;
    const kiln_type *x = &n->in[0]->type, *f = &n->in[in]->type;
    KILN_TRY(kiln_check_same_dtype(n, 0, in, err));
    bool fits = f->rank <= x->rank;
    for (int i = 0; fits && i < f->rank; i++) {
        const int64_t dim = f->dim[i];
        fits = dim == 1 || dim == x->dim[x->rank - f->rank + i];
    }
    if (fits)
        return KILN_OK;
    kiln_arena a = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must stretch to %s, is %s",
                  kiln_in_name(n, in), kiln_shape_text(&a, x->rank, x->dim),
                  kiln_shape_text(&a, f->rank, f->dim));
    kiln_arena_fini(&a);
    return st;
}

void kiln_norm_affine_init(kiln_norm_affine *a, const kiln_node *n,
                           const kiln_eval_cx *cx) {
    *a = (kiln_norm_affine){0};
    /* An absent factor is walked as x is, and not read. */
    kiln_wide in[3] = {cx->in[0], cx->in[0], cx->in[0]};
    if (kiln_has_in(n, 1)) {
        a->scale = cx->in[1].f;
        in[1] = cx->in[1];
    }
    if (kiln_has_in(n, 2)) {
        a->bias = cx->in[2].f;
        in[2] = cx->in[2];
    }
    kiln_bcast_init(&a->bcast, &n->in[0]->type, in, 3);
}

double kiln_norm_affine_at(const kiln_norm_affine *a, int64_t index, double v) {
    int64_t at[KILN_BCAST_MAX_IN];
    kiln_bcast_at(&a->bcast, index, at);
    if (a->scale != NULL)
        v *= a->scale[at[1]];
    return a->bias != NULL ? v + a->bias[at[2]] : v;
}

void kiln_cost_norm(const kiln_node *n, kiln_cost *c) {
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[0]->type), 8);
}

kiln_bound kiln_bound_norm(int64_t group) {
    return (kiln_bound){
        .kind = KILN_BOUND_ULP, .c = 16.0, .floor = 64.0 + (double)group / 16.0};
}
