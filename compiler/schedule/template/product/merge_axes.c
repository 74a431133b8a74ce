/* Adjacent axes as one. */
#include "compiler/schedule/template/product/merge_axes.h"
#include "base/fault.h"

/* The axis of t that is aligned with axis i of the output. */
static int aligned(const kiln_type *t, const kiln_type *y, int i) {
    return i - (y->rank - t->rank);
}

static bool merges_type(const kiln_merge *c, const kiln_type *t) {
    const kiln_type *y = &c->w->anchor->out[0]->type;
    bool all = true, none = true;
    for (int i = c->first; i < c->first + c->n; i++) {
        const int axis = aligned(t, y, i);
        const int64_t dim = axis < 0 ? 1 : t->dim[axis];
        all = all && axis >= 0 && dim == y->dim[i];
        none = none && dim == 1;
    }
    return t->rank <= y->rank && (all || none);
}

/* Inputs of the anchor that are not aligned with its output. */
static bool is_own(const kiln_merge *c, const kiln_value *v) {
    const kiln_node *n = c->w->anchor;
    bool own = v == c->kept;
    for (int i = 2; i < n->n_in; i++)
        own = own || v == n->in[i];
    return own;
}

bool kiln_merges(const kiln_merge *c) {
    const kiln_graph *g = c->w->graph;
    if (c->n < 2)
        return false;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++) {
            const kiln_value *v = n->in[k];
            if (v == NULL || (n == c->w->anchor && (k >= 2 || v == c->kept)))
                continue;
            if (is_own(c, v) || !merges_type(c, &v->type))
                return false;
        }
    }
    return !is_own(c, g->outputs.v[0]);
}

static void merge_type(const kiln_merge *c, kiln_type *t) {
    const kiln_type *y = &c->w->anchor->out[0]->type;
    int64_t dim[KILN_MAX_RANK], product = 1;
    int rank = 0;
    bool any = false;
    for (int axis = 0; axis < t->rank; axis++) {
        const int i = axis + (y->rank - t->rank);
        if (i >= c->first && i < c->first + c->n) {
            product *= t->dim[axis];
            any = true;
        }
        if (any && i + 1 == c->first + c->n)
            dim[rank++] = product;
        if (i < c->first || i >= c->first + c->n)
            dim[rank++] = t->dim[axis];
    }
    *t = kiln_type_make(t->dtype, rank, dim);
}

kiln_graph *kiln_merge_graph(kiln_arena *a, const kiln_merge *c) {
    kiln_graph *g = kiln_graph_clone(a, c->w->graph);
    for (size_t i = 0; i < g->values.n; i++)
        if (!is_own(c, c->w->graph->values.v[i]))
            merge_type(c, &g->values.v[i]->type);
    return g;
}

kiln_status kiln_merge_check(kiln_graph *g, kiln_err *err) {
    for (size_t i = 0; i < g->nodes.n; i++)
        KILN_TRY(kiln_node_infer(g->nodes.v[i], err));
    return KILN_OK;
}

void kiln_merge_restore(const kiln_merge *c, kiln_te_graph *te) {
    for (size_t i = 0; i < te->n_args; i++) {
        const kiln_value *v = c->w->graph->values.v[te->arg_value[i]->id];
        const kiln_type merged = te->arg_type[i];
        te->arg_value[i] = v;
        te->arg_type[i] = v->type;
        if (!KILN_FAULT(merged_layout))
            te->arg_type[i].layout = merged.layout;
        te->arg_type[i].facts = merged.facts;
    }
}
