/* Shape arithmetic becomes constants: operators that read types only (shape, size), and
 * what depends on them and on other constants alone. Shapes are static, so nothing of
 * it is left for run time. */
#include "compiler/pass/pass_internal.h"

/* Values that a shape operator leads to, by id; grows with the graph. */
typedef KILN_VEC(bool) marks;

static bool is_marked(const marks *m, const kiln_value *v) {
    return v != NULL && (size_t)v->id < m->n && m->v[v->id];
}

static bool comes_from_shape(const kiln_node *n, const marks *m) {
    if (n->op->types_only)
        return true;
    if (!kiln_fold_is_ready(n))
        return false;
    for (int k = 0; k < n->n_in; k++)
        if (is_marked(m, n->in[k]))
            return true;
    return false;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    marks m = {0};
    for (size_t i = 0; i < g->values.n; i++)
        kiln_vec_push(cx->scratch, &m, false);
    kiln_sweep s;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; (n = kiln_sweep_next(&s)) != NULL;) {
        bool done = false;
        if (comes_from_shape(n, &m))
            kiln_fold_node(g, n, cx->budget, &done);
        if (!done) {
            kiln_sweep_keep(&s, n);
            continue;
        }
        for (int k = 0; k < n->n_out; k++)
            m.v[n->out[k]->id] = true;
        kiln_sweep_drop(&s, n);
    }
    kiln_sweep_end(&s);
    return KILN_OK;
}

const kiln_pass kiln_pass_fold_shapes = {
    .name = "fold_shapes",
    .doc = "shape arithmetic becomes constants",
    .needs = KILN_TYPED,
    .makes = KILN_SHAPES_FOLDED,
    .keeps = KILN_TYPED | KILN_INFERENCE_ONLY,
    .is_exact = true,
    .run = run,
};
