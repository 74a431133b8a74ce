/* Groups of nodes, grown in topological order. */
#include "compiler/graph/fusion.h"

#include <stdlib.h>

enum { DEFAULT_MAX_NODES = 24 };

typedef struct cluster {
    KILN_VEC(kiln_node *) node;
    kiln_node *anchor;
    int into; /* merged into that cluster; -1: it stands */
} cluster;

typedef struct fusing {
    kiln_arena *arena;
    const kiln_graph *g;
    const int *uses; /* by value id */
    int max_nodes;
    cluster *cluster; /* by index of the node that began it */
    int *of;          /* by node->index; follow `into` */
} fusing;

static int find(const fusing *f, const kiln_node *n) {
    int c = f->of[n->index];
    while (f->cluster[c].into >= 0)
        c = f->cluster[c].into;
    return c;
}

static bool is_injective(const kiln_node *n) {
    return n->op->fuse == KILN_FUSE_INJECTIVE && n->n_out == 1;
}

static bool is_view(const kiln_node *n) {
    return n->op == &kiln_op_reshape || n->op == &kiln_op_identity;
}

/* One element of the output for each of that input, at the same place. */
static bool is_elementwise(const kiln_node *n, const kiln_value *in) {
    return is_injective(n) && n->op->layout == KILN_LAYOUT_OBLIVIOUS && !is_view(n) &&
           kiln_type_same_shape(&in->type, &n->out[0]->type);
}

/* Read by one node, once, and nobody else's business. */
static bool is_private(const fusing *f, const kiln_value *v) {
    return v != NULL && v->def != NULL && v->def->n_out == 1 && f->uses[v->id] == 1 &&
           v->count == NULL;
}

/* May n run in the kernel that makes v? */
static bool can_follow(const fusing *f, const kiln_node *n, const kiln_value *v) {
    if (!is_private(f, v) || is_view(v->def) || is_view(n) || !is_injective(n))
        return false;
    const cluster *c = &f->cluster[find(f, v->def)];
    if ((int)c->node.n >= f->max_nodes)
        return false;
    if (c->anchor == NULL)
        return is_injective(v->def);
    return c->anchor->op->fuse != KILN_FUSE_OPAQUE && c->anchor->n_out == 1 &&
           is_elementwise(n, v);
}

/* An injective group whose result the consumer reads once an element: it is computed
 * where it is read. */
static bool can_precede(const fusing *f, const kiln_node *n, const kiln_value *v,
                        int own) {
    if (!is_private(f, v) || is_view(v->def) || !is_injective(v->def))
        return false;
    const cluster *c = &f->cluster[find(f, v->def)];
    if (c->anchor != NULL || (int)(c->node.n + f->cluster[own].node.n) > f->max_nodes)
        return false;
    if (is_injective(n))
        return kiln_type_elems(&n->out[0]->type) <= kiln_type_elems(&v->type);
    if (n->op->fuse != KILN_FUSE_REDUCTION)
        return false;
    kiln_cost cost = {0};
    kiln_node_cost(n, &cost);
    return cost.flops <= 2 * kiln_type_elems(&v->type); /* not so: windows overlap */
}

static void merge(fusing *f, int from, int into) {
    cluster *x = &f->cluster[from], *y = &f->cluster[into];
    for (size_t i = 0; i < x->node.n; i++)
        kiln_vec_push(f->arena, &y->node, x->node.v[i]);
    if (x->anchor != NULL)
        y->anchor = x->anchor;
    x->into = into;
}

/* Of the kernels that n could follow, the one with an anchor that was begun last: the
 * others' results are inputs that are ready by then. */
static int best_to_follow(const fusing *f, const kiln_node *n) {
    int best = -1;
    for (int i = 0; i < n->n_in; i++) {
        if (!can_follow(f, n, n->in[i]))
            continue;
        const int c = find(f, n->in[i]->def);
        const bool has_anchor = f->cluster[c].anchor != NULL;
        const bool best_has = best >= 0 && f->cluster[best].anchor != NULL;
        if (best < 0 || (has_anchor && !best_has) ||
            (has_anchor == best_has && c > best))
            best = c;
    }
    return best;
}

static void place(fusing *f, kiln_node *n) {
    cluster *own = &f->cluster[n->index];
    f->of[n->index] = n->index;
    own->into = -1;
    kiln_vec_push(f->arena, &own->node, n);
    if (!is_injective(n) && !is_view(n))
        own->anchor = n;
    if (n->op->fuse == KILN_FUSE_OPAQUE || n->n_out != 1 || is_view(n))
        return;
    const int follows = best_to_follow(f, n);
    if (follows >= 0)
        merge(f, follows, n->index);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL && n->in[i]->def != NULL &&
            find(f, n->in[i]->def) != n->index && can_precede(f, n, n->in[i], n->index))
            merge(f, find(f, n->in[i]->def), n->index);
}

static int by_index(const void *x, const void *y) {
    const kiln_node *const *a = x, *const *b = y;
    return (*a)->index - (*b)->index;
}

void kiln_graph_fuse(kiln_arena *a, const kiln_graph *g, const kiln_fusion_options *o,
                     kiln_fusion *out) {
    fusing f = {.arena = a,
                .g = g,
                .uses = kiln_graph_count_uses(g, a),
                .max_nodes =
                    o != NULL && o->max_nodes > 0 ? o->max_nodes : DEFAULT_MAX_NODES,
                .cluster = kiln_array(a, cluster, g->nodes.n),
                .of = kiln_array(a, int, g->nodes.n)};
    if (o != NULL && o->is_off)
        f.max_nodes = 1;
    for (size_t i = 0; i < g->nodes.n; i++)
        place(&f, g->nodes.v[i]);
    *out = (kiln_fusion){.group = kiln_array(a, kiln_group, g->nodes.n),
                         .of = kiln_array(a, int, g->nodes.n)};
    /* A cluster is named after its last node, so this is an order of execution. */
    for (size_t i = 0; i < g->nodes.n; i++) {
        const cluster *c = &f.cluster[i];
        if (c->into >= 0)
            continue;
        qsort(c->node.v, c->node.n, sizeof(kiln_node *), by_index);
        for (size_t k = 0; k < c->node.n; k++)
            out->of[c->node.v[k]->index] = out->n;
        out->group[out->n++] = (kiln_group){.node = c->node.v,
                                            .n = (int)c->node.n,
                                            .anchor = c->anchor,
                                            .is_view = is_view(c->node.v[0])};
    }
}

void kiln_fusion_print(kiln_buf *out, const kiln_fusion *f) {
    for (int i = 0; i < f->n; i++) {
        const kiln_group *group = &f->group[i];
        kiln_buf_printf(out, "g%d%s:", i, group->is_view ? " (view)" : "");
        for (int k = 0; k < group->n; k++)
            kiln_buf_printf(out, "%s %s%s", k > 0 ? " +" : "", group->node[k]->name,
                            group->node[k] == group->anchor ? "*" : "");
        kiln_buf_puts(out, "\n");
    }
}

/* ---- a group as a graph ------------------------------------------------------------
 */

typedef struct copying {
    kiln_graph *to;
    kiln_value **copy; /* by id in the whole graph */
} copying;

static kiln_value *copied_input(copying *c, const kiln_value *v) {
    if (v == NULL)
        return NULL;
    if (c->copy[v->id] == NULL)
        c->copy[v->id] = kiln_value_is_const(v)
                             ? kiln_graph_add_const(c->to, v->name, &v->type, v->data)
                             : kiln_graph_add_input(c->to, v->name, &v->type);
    return c->copy[v->id];
}

static void copy_node(copying *c, const kiln_node *n) {
    kiln_arena *a = c->to->arena;
    kiln_node *m = kiln_new(a, kiln_node);
    *m = *n;
    m->graph = c->to;
    m->index = (int)c->to->nodes.n;
    m->in = kiln_array(a, kiln_value *, n->n_in);
    m->out = kiln_array(a, kiln_value *, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        m->in[i] = copied_input(c, n->in[i]);
    for (int k = 0; k < n->n_out; k++) {
        kiln_value *v = kiln_graph_add_input(c->to, n->out[k]->name, &n->out[k]->type);
        c->to->inputs.n--; /* made by the node, not given */
        v->def = m;
        v->def_index = k;
        c->copy[n->out[k]->id] = v;
        m->out[k] = v;
    }
    kiln_vec_push(a, &c->to->nodes, m);
}

kiln_graph *kiln_group_graph(kiln_arena *a, const kiln_graph *g,
                             const kiln_group *group, const kiln_value ***from) {
    copying c = {.to = kiln_graph_new(a, group->node[group->n - 1]->name),
                 .copy = kiln_array(a, kiln_value *, g->values.n)};
    const int *uses = kiln_graph_count_uses(g, a);
    int *own = kiln_array(a, int, g->values.n);
    for (int i = 0; i < group->n; i++) {
        const kiln_node *n = group->node[i];
        copy_node(&c, n);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL)
                own[n->in[k]->id]++;
    }
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->node[i]->n_out; k++) {
            const kiln_value *v = group->node[i]->out[k];
            if (uses[v->id] > own[v->id])
                kiln_graph_add_output(c.to, c.copy[v->id], v->name);
        }
    c.to->facts = g->facts;
    if (from != NULL) {
        *from = kiln_array(a, const kiln_value *, c.to->values.n);
        for (size_t i = 0; i < g->values.n; i++)
            if (c.copy[i] != NULL)
                (*from)[c.copy[i]->id] = g->values.v[i];
    }
    return c.to;
}
