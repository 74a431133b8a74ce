/* Evaluating one node: inputs widened, the row's eval_ref, outputs rounded once to
 * their dtype. */
#include "compiler/reference/reference_internal.h"

#include <inttypes.h>

kiln_status kiln_ref_check_type(const kiln_type *t, const char *what, const char *name,
                                kiln_err *err) {
    if (!kiln_layout_is_plain(&t->layout))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s '%s' must have a row-major layout for the reference "
                         "interpreter; run it before layouts are chosen",
                         what, name);
    if (kiln_type_elems(t) > KILN_REF_MAX_ELEMS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "%s '%s' has %" PRId64
                         " elements, the reference interpreter's "
                         "limit is %" PRId64,
                         what, name, kiln_type_elems(t), KILN_REF_MAX_ELEMS);
    return KILN_OK;
}

kiln_status kiln_ref_check_same(const kiln_type *want, const kiln_type *got,
                                const char *what, const char *name, kiln_err *err) {
    if (want->dtype == got->dtype && kiln_type_same_shape(want, got) &&
        kiln_layout_eq(&want->layout, &got->layout))
        return KILN_OK;
    kiln_arena a = {0};
    kiln_fail(err, KILN_ERR_SHAPE, "%s '%s' must be %s, is %s", what, name,
              kiln_type_text(&a, want), kiln_type_text(&a, got));
    kiln_arena_fini(&a);
    return KILN_ERR_SHAPE;
}

static kiln_status eval_region(kiln_eval_cx *cx, const kiln_graph *region,
                               const kiln_wide *in, kiln_wide *out, kiln_err *err) {
    const kiln_ref_eval *e = cx->user;
    if (e->depth + 1 >= KILN_REF_MAX_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "region '%s' is nested deeper than the limit of %d",
                         region->name, (int)KILN_REF_MAX_DEPTH);
    return kiln_ref_run_region(cx->scratch, region, in, out, e->depth + 1, e->noise,
                               err);
}

/* Storage for the chosen elements only; the type stays whole. */
static kiln_wide picked_new(kiln_arena *a, const kiln_type *t, int64_t n) {
    kiln_wide w = {.type = *t};
    if (kiln_dtype_is_float(t->dtype))
        w.f = kiln_array(a, double, n);
    else
        w.i = kiln_array(a, int64_t, n);
    return w;
}

kiln_status kiln_ref_eval_wide(const kiln_node *n, kiln_ref_eval *e, kiln_err *err) {
    for (int k = 0; k < n->n_out; k++) {
        const kiln_value *v = n->out[k];
        KILN_TRY(kiln_ref_check_type(&v->type, "value", v->name, err));
        e->out[k] = e->pick != NULL && k == 0
                        ? picked_new(e->scratch, &v->type, e->n_pick)
                        : kiln_wide_new(e->scratch, &v->type);
    }
    kiln_eval_cx cx = {.scratch = e->scratch,
                       .in = e->in,
                       .out = e->out,
                       .pick = e->pick,
                       .n_pick = e->n_pick,
                       .is_magnitude = e->is_magnitude,
                       .eval_region = eval_region,
                       .user = e,
                       .err = err};
    const kiln_status st = n->op->eval_ref(n, &cx);
    if (st != KILN_OK)
        kiln_note(err, "evaluating %s '%s'", n->op->name, n->name);
    return st;
}

kiln_status kiln_ref_check_input(const kiln_node *n, int k, const kiln_tensor *given,
                                 kiln_err *err) {
    const kiln_value *v = n->in[k];
    if (given->data == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "input '%s' of node '%s' must be given, is not", v->name,
                         n->name);
    KILN_TRY(kiln_ref_check_same(&v->type, &given->type, "input", v->name, err));
    return kiln_ref_check_type(&v->type, "input", v->name, err);
}

kiln_status kiln_ref_widen_inputs(kiln_arena *a, const kiln_node *n,
                                  const kiln_tensor *in, kiln_wide **out,
                                  kiln_err *err) {
    kiln_wide *w = kiln_array(a, kiln_wide, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        const kiln_value *v = n->in[k];
        if (v == NULL)
            continue;
        w[k].type = v->type;
        if (n->op->types_only)
            continue;
        KILN_TRY(kiln_ref_check_input(n, k, &in[k], err));
        w[k] = kiln_wide_new(a, &v->type);
        kiln_widen(&v->type, in[k].data, &w[k]);
    }
    *out = w;
    return KILN_OK;
}

kiln_status kiln_ref_eval_node(kiln_arena *a, const kiln_node *n, const kiln_tensor *in,
                               kiln_tensor *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_wide *wide_in = NULL;
    kiln_status st = kiln_ref_widen_inputs(&scratch, n, in, &wide_in, err);
    if (st != KILN_OK)
        goto out;
    kiln_ref_eval e = {.scratch = &scratch,
                       .in = wide_in,
                       .out = kiln_array(&scratch, kiln_wide, n->n_out)};
    st = kiln_ref_eval_wide(n, &e, err);
    if (st != KILN_OK)
        goto out;
    for (int k = 0; k < n->n_out; k++) {
        out[k] = kiln_tensor_new(a, &n->out[k]->type);
        kiln_narrow(&e.out[k], out[k].data);
    }
out:
    kiln_arena_fini(&scratch);
    return st;
}
