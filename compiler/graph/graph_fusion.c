/* Groups of nodes, grown in topological order. */
#include "compiler/graph/graph_fusion.h"
#include "base/fault.h"

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
    cluster *cluster;          /* by index of the node that began it */
    int *of;                   /* by node->index; follow `into` */
    const kiln_growth *growth; /* or NULL */
    double *length;            /* by node->index: of its expression, in `fits` */
    bool (*stands_alone)(const kiln_node *n); /* or NULL */
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

static bool is_joint(const fusing *f, const kiln_node *n) {
    return f->stands_alone != NULL && f->stands_alone(n);
}

/* One element of the output for each of that input, at the same place. */
static bool is_elementwise(const kiln_node *n, const kiln_value *in) {
    return is_injective(n) && kiln_is_oblivious(n) && !is_view(n) &&
           kiln_type_same_shape(&in->type, &n->out[0]->type);
}

static int by_index(const void *x, const void *y) {
    const kiln_node *const *a = x, *const *b = y;
    return (*a)->index - (*b)->index;
}

/* Of n's expression, with those of the nodes that are marked put in place of reads. */
static double length_of(const fusing *f, const kiln_node *n) {
    const kiln_growth *own = f->growth != NULL ? &f->growth[n->index] : NULL;
    double sum = own != NULL && own->size > 1 ? own->size : 1;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL && n->in[i]->def != NULL)
            sum += f->length[n->in[i]->def->index] *
                   (own != NULL && own->reads != NULL ? own->reads[i] : 1);
    return sum;
}

/* Does no expression grow too long if the clusters become one kernel? */
static bool fits(const fusing *f, const cluster *x, const cluster *y) {
    bool all = true;
    kiln_node **node = kiln_array(f->arena, kiln_node *, x->node.n + y->node.n);
    size_t n = 0;
    for (size_t i = 0; i < x->node.n; i++)
        node[n++] = x->node.v[i];
    for (size_t i = 0; i < y->node.n; i++)
        node[n++] = y->node.v[i];
    qsort(node, n, sizeof *node, by_index);
    for (size_t i = 0; i < n; i++) {
        const double length = length_of(f, node[i]);
        all = all && length <= KILN_MAX_INLINED;
        /* What follows an anchor reads its result from where it lies. */
        f->length[node[i]->index] = is_injective(node[i]) ? length : 0;
    }
    for (size_t i = 0; i < n; i++)
        f->length[node[i]->index] = 0;
    return all;
}

/* Read by one node, once, and nobody else's business. */
static bool is_private(const fusing *f, const kiln_value *v) {
    return v != NULL && v->def != NULL && v->def->n_out == 1 && f->uses[v->id] == 1 &&
           v->count == NULL;
}

/* An operator may leave an input out (is_inf that detects nothing): what makes it would
 * vanish from their common kernel, and templates look for it. */
static bool is_read(const fusing *f, const kiln_node *n, const kiln_value *v) {
    const double *reads = f->growth != NULL ? f->growth[n->index].reads : NULL;
    for (int i = 0; reads != NULL && i < n->n_in; i++)
        if (n->in[i] == v && reads[i] > 0)
            return true;
    return reads == NULL;
}

/* What keeps n, which reads v, out of all kernels but its own; NULL: nothing. */
static const char *bars_both(const fusing *f, const kiln_node *n, const kiln_value *v) {
    if (!is_private(f, v))
        return "others read it too";
    if (is_view(v->def))
        return "it is a view of another value";
    if (is_joint(f, v->def))
        return "it may lie in the memory of what it is joined to";
    return is_read(f, n, v) ? NULL : "its elements are not read";
}

/* Why n may not run in the kernel that makes v; NULL: it may. */
static const char *bars_following(const fusing *f, const kiln_node *n,
                                  const kiln_value *v) {
    const char *bar = bars_both(f, n, v);
    if (bar != NULL)
        return bar;
    if (is_view(n) || !is_injective(n))
        return "no kernel goes on with such an operator";
    const cluster *c = &f->cluster[find(f, v->def)];
    if ((int)c->node.n >= f->max_nodes)
        return "its kernel has as many nodes as may be";
    if (!fits(f, c, &f->cluster[find(f, n)]))
        return "an expression would grow too long";
    if (c->anchor == NULL)
        return is_injective(v->def) ? NULL : "no kernel goes on with what makes it";
    if (c->anchor->op->fuse == KILN_FUSE_OPAQUE || c->anchor->n_out != 1)
        return "its kernel has code of its own";
    return is_elementwise(n, v) ? NULL : "elements change their places";
}

static bool can_follow(const fusing *f, const kiln_node *n, const kiln_value *v) {
    return bars_following(f, n, v) == NULL;
}

/* What runs on a value that is still in registers takes its other operands as they lie,
 * or makes them element by element: code for convolutions and products knows of nothing
 * else. */
static bool suits_epilogue(const cluster *c, const kiln_type *y) {
    for (size_t i = 0; i < c->node.n; i++) {
        const kiln_node *n = c->node.v[i];
        if (!kiln_is_oblivious(n) || !kiln_type_same_shape(&n->out[0]->type, y))
            return false;
    }
    return true;
}

/* Why the group that makes v, injective and read once an element, may not be computed
 * where n reads it; NULL: it may. */
static const char *bars_preceding(const fusing *f, const kiln_node *n,
                                  const kiln_value *v) {
    const char *bar = bars_both(f, n, v);
    if (bar != NULL)
        return bar;
    const cluster *c = &f->cluster[find(f, v->def)], *own = &f->cluster[find(f, n)];
    if (!is_injective(v->def) || c->anchor != NULL)
        return "what makes it is not computed element by element";
    if ((int)(c->node.n + own->node.n) > f->max_nodes)
        return "the kernel would have too many nodes";
    if (!fits(f, c, own))
        return "an expression would grow too long";
    if (own->anchor != NULL && own->anchor != n && !suits_epilogue(c, &n->out[0]->type))
        return "elements change their places on the way to what follows an anchor";
    if (is_injective(n))
        return kiln_type_elems(&n->out[0]->type) <= kiln_type_elems(&v->type)
                   ? NULL
                   : "its elements would be computed more than once";
    if (n->op->fuse != KILN_FUSE_REDUCTION || n->op->layout == KILN_LAYOUT_TOLERANT)
        return "its elements are read more than once"; /* windows are too */
    kiln_cost cost = {0};
    kiln_node_cost(n, &cost);
    return cost.flops <= 2 * kiln_type_elems(&v->type)
               ? NULL
               : "its elements are read more than once";
}

static bool can_precede(const fusing *f, const kiln_node *n, const kiln_value *v) {
    return bars_preceding(f, n, v) == NULL;
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
    if (n->op->fuse == KILN_FUSE_OPAQUE || n->n_out != 1 || is_view(n) ||
        is_joint(f, n))
        return;
    const int follows = best_to_follow(f, n);
    if (follows >= 0)
        merge(f, follows, n->index);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL && n->in[i]->def != NULL &&
            find(f, n->in[i]->def) != n->index && can_precede(f, n, n->in[i]))
            merge(f, find(f, n->in[i]->def), n->index);
}

/* ---- values that are read twice ----------------------------------------------------
 *
 * x * sigmoid(x): neither reader alone may run in the kernel that makes x, both
 * together may. */

enum { MAX_EVALUATED = 64 };

/* How many nodes are evaluated for n's result if each read within the cluster c is an
 * evaluation, as it is when code is made. */
static int n_evaluated(const fusing *f, const cluster *c, int own, const kiln_value *x,
                       int *size) {
    int last = 0;
    for (size_t i = 0; i < c->node.n; i++) {
        const kiln_node *n = c->node.v[i];
        int sum = 1;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == x)
                sum++;
            else if (n->in[k] != NULL && n->in[k]->def != NULL &&
                     find(f, n->in[k]->def) == own)
                sum += size[n->in[k]->def->index];
        size[n->index] = last = sum < MAX_EVALUATED ? sum : MAX_EVALUATED;
    }
    return last;
}

/* Is everything in the cluster element-wise on values of that shape, and are they all
 * who read x? */
static bool takes_all_of(const fusing *f, const cluster *c, const kiln_value *x) {
    int n_reads = 0;
    for (size_t i = 0; i < c->node.n; i++) {
        const kiln_node *n = c->node.v[i];
        if (!is_elementwise(n, x))
            return false;
        for (int k = 0; k < n->n_in; k++)
            n_reads += n->in[k] == x;
    }
    return n_reads == f->uses[x->id];
}

/* A value of another cluster that only c reads, more than once, and whose kernel can go
 * on with c; NULL: none. */
static const kiln_value *read_often(const fusing *f, const cluster *c, int own,
                                    int *size) {
    for (size_t i = 0; i < c->node.n; i++)
        for (int k = 0; k < c->node.v[i]->n_in; k++) {
            const kiln_value *x = c->node.v[i]->in[k];
            if (x == NULL || x->def == NULL || x->count != NULL || x->def->n_out != 1 ||
                is_view(x->def) || is_joint(f, x->def) || find(f, x->def) == own ||
                !is_read(f, c->node.v[i], x))
                continue;
            const cluster *from = &f->cluster[find(f, x->def)];
            const bool is_open = from->anchor == NULL
                                     ? is_injective(x->def)
                                     : from->anchor->op->fuse != KILN_FUSE_OPAQUE &&
                                           from->anchor->n_out == 1;
            if (is_open && (int)(from->node.n + c->node.n) <= f->max_nodes &&
                takes_all_of(f, c, x) &&
                n_evaluated(f, c, own, x, size) < MAX_EVALUATED && fits(f, from, c))
                return x;
        }
    return NULL;
}

static void join_readers(fusing *f) {
    int *size = kiln_array(f->arena, int, f->g->nodes.n);
    for (int own = 0; own < (int)f->g->nodes.n; own++) {
        const cluster *c = &f->cluster[own];
        if (c->into >= 0 || c->anchor != NULL || is_view(c->node.v[0]))
            continue;
        qsort(c->node.v, c->node.n, sizeof(kiln_node *), by_index);
        const kiln_value *x = read_often(f, c, own, size);
        if (x != NULL)
            merge(f, find(f, x->def), own);
    }
}

/* KILN_LOG=fusion=debug: why each value between two kernels goes through memory. */
static void tell_borders(const fusing *f) {
    for (size_t i = 0; i < f->g->nodes.n; i++) {
        const kiln_node *n = f->g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++) {
            const kiln_value *v = n->in[k];
            if (v == NULL || v->def == NULL || find(f, v->def) == find(f, n))
                continue;
            const char *behind = bars_following(f, n, v);
            const char *before = bars_preceding(f, n, v);
            if (behind == NULL)
                behind = "another kernel was nearer";
            if (before == NULL)
                before = "it was taken already";
            if (behind == before)
                KILN_LOG(DEBUG, "fusion", "'%s' reads '%s' from memory: %s", n->name,
                         v->name, behind);
            else
                KILN_LOG(DEBUG, "fusion",
                         "'%s' reads '%s' from memory: it does not run in that kernel "
                         "(%s), nor is the value made where it is read (%s)",
                         n->name, v->name, behind, before);
        }
    }
}

void kiln_graph_fuse(kiln_arena *a, const kiln_graph *g, const kiln_fusion_options *o,
                     kiln_fusion *out) {
    fusing f = {.arena = a,
                .g = g,
                .uses = kiln_graph_count_uses(g, a),
                .max_nodes =
                    o != NULL && o->max_nodes > 0 ? o->max_nodes : DEFAULT_MAX_NODES,
                .cluster = kiln_array(a, cluster, g->nodes.n),
                .of = kiln_array(a, int, g->nodes.n),
                .growth = o != NULL ? o->growth : NULL,
                .stands_alone = o != NULL ? o->stands_alone : NULL,
                .length = kiln_array(a, double, g->nodes.n)};
    if (o != NULL && o->is_off)
        f.max_nodes = 1;
    for (size_t i = 0; i < g->nodes.n; i++)
        place(&f, g->nodes.v[i]);
    if (f.max_nodes > 1)
        join_readers(&f);
    if (kiln_log_is_on(KILN_LOG_DEBUG, "fusion"))
        tell_borders(&f);
    *out = (kiln_fusion){.group = kiln_array(a, kiln_group, g->nodes.n),
                         .of = kiln_array(a, int, g->nodes.n)};
    size_t n_placed = 0;
    /* A cluster is named after its last node, so this is an order of execution. */
    for (size_t i = 0; i < g->nodes.n; i++) {
        const cluster *c = &f.cluster[i];
        if (c->into >= 0)
            continue;
        n_placed += c->node.n;
        qsort(c->node.v, c->node.n, sizeof(kiln_node *), by_index);
        for (size_t k = 0; k < c->node.n; k++)
            out->of[c->node.v[k]->index] = out->n;
        out->group[out->n++] = (kiln_group){.node = c->node.v,
                                            .n = (int)c->node.n,
                                            .anchor = c->anchor,
                                            .is_view = is_view(c->node.v[0])};
    }
    KILN_ASSERT(n_placed == g->nodes.n, "groups of '%s' hold %zu of %zu nodes", g->name,
                n_placed, g->nodes.n);
}

kiln_group kiln_group_of(kiln_node **node, int n) {
    kiln_group group = {.node = node, .n = n, .is_view = is_view(node[0])};
    for (int i = 0; i < n && group.anchor == NULL; i++)
        if (!is_injective(node[i]) && !is_view(node[i]))
            group.anchor = node[i];
    return group;
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

/* ---- a group as a graph ---------------------------------------------------------- */

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
        m->in[i] = copied_input(
            c, n->in[n->n_in == 2 && c->to->nodes.n > 0 && KILN_FAULT(fused_operands)
                         ? 1 - i
                         : i]);
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

typedef struct members {
    const bool *is_result; /* of values, by id: somebody outside reads them */
    bool *waits;           /* nodes of the group, by id of their output 0 */
    const kiln_node **order;
    int n;
} members;

/* The nodes of the group that `root` depends on, and it: arguments first. Without
 * recursion: groups may be deep. */
static void order_below(kiln_arena *a, members *m, const kiln_node *root, int n_nodes) {
    typedef struct frame {
        const kiln_node *node;
        int next;
    } frame;
    frame *const stack = kiln_array(a, frame, n_nodes);
    int depth = 0;
    stack[depth++] = (frame){.node = root};
    m->waits[root->out[0]->id] = false;
    while (depth > 0) {
        frame *const f = &stack[depth - 1];
        if (f->next == f->node->n_in) {
            m->order[m->n++] = f->node;
            depth--;
            continue;
        }
        const kiln_value *const v = f->node->in[f->next++];
        const kiln_node *const by = v != NULL ? v->def : NULL;
        if (by == NULL || !m->waits[by->out[0]->id])
            continue;
        m->waits[by->out[0]->id] = false;
        stack[depth++] = (frame){.node = by};
    }
}

static bool gives_result(const members *m, const kiln_node *n) {
    for (int k = 0; k < n->n_out; k++)
        if (m->is_result[n->out[k]->id])
            return true;
    return false;
}

/* In an order that follows from the results alone, as a workload's key has it: who has
 * equal work reads the same operands in the same places, and one kernel serves both. */
static const kiln_node **order_by_results(kiln_arena *a, const kiln_graph *g,
                                          const kiln_group *group,
                                          const bool *is_result) {
    members m = {.is_result = is_result,
                 .waits = kiln_array(a, bool, g->values.n),
                 .order = kiln_array(a, const kiln_node *, group->n)};
    for (int i = 0; i < group->n; i++)
        m.waits[group->node[i]->out[0]->id] = true;
    for (int of_results = 1; of_results >= 0; of_results--)
        for (int i = 0; i < group->n; i++) {
            const kiln_node *const n = group->node[i];
            if (m.waits[n->out[0]->id] && (of_results == 0 || gives_result(&m, n)))
                order_below(a, &m, n, group->n);
        }
    KILN_ASSERT(m.n == group->n, "%d of a group's %d nodes are ordered", m.n, group->n);
    return m.order;
}

/* Which values of the group somebody outside of it reads, by id. */
static bool *results_of(kiln_arena *a, const kiln_graph *g, const kiln_group *group) {
    const int *const uses = kiln_graph_count_uses(g, a);
    int *const own = kiln_array(a, int, g->values.n);
    bool *const is_result = kiln_array(a, bool, g->values.n);
    for (int i = 0; i < group->n; i++) {
        const kiln_node *const n = group->node[i];
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL)
                own[n->in[k]->id]++;
    }
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->node[i]->n_out; k++) {
            const int id = group->node[i]->out[k]->id;
            is_result[id] = uses[id] > own[id];
        }
    return is_result;
}

kiln_graph *kiln_group_graph(kiln_arena *a, const kiln_graph *g,
                             const kiln_group *group, const kiln_value ***from) {
    KILN_ASSERT(group->n > 0, "a group of '%s' has no node", g->name);
    copying c = {.to = kiln_graph_new(a, group->node[group->n - 1]->name),
                 .copy = kiln_array(a, kiln_value *, g->values.n)};
    const bool *const is_result = results_of(a, g, group);
    const kiln_node **const order = order_by_results(a, g, group, is_result);
    for (int i = 0; i < group->n; i++)
        copy_node(&c, order[i]);
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->node[i]->n_out; k++) {
            const kiln_value *v = group->node[i]->out[k];
            if (is_result[v->id])
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

/* ---- what is behind the anchor --------------------------------------------------- */

/* Does it read what one of the first `n` nodes that count makes? */
static bool reads_one(const kiln_node *node, const kiln_group *group,
                      const bool *counts, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; counts[i] && k < node->n_in; k++)
            if (node->in[k] != NULL && node->in[k]->def == group->node[i])
                return true;
    return false;
}

const char *kiln_group_epilogue(kiln_arena *a, const kiln_group *group) {
    enum { BIAS = 2 }; /* of convolutions and products: what they add to their sums */
    const kiln_node *anchor = group->anchor;
    bool *counts = kiln_array(a, bool, group->n);
    kiln_buf text;
    if (anchor == NULL)
        return "";
    kiln_buf_init(&text, a);
    if (anchor->op->fuse == KILN_FUSE_OUT_FUSABLE && anchor->n_in > BIAS &&
        anchor->in[BIAS] != NULL)
        kiln_buf_puts(&text, "bias");
    for (int i = 0; i < group->n; i++) {
        const kiln_node *node = group->node[i];
        counts[i] = node == anchor || reads_one(node, group, counts, i);
        if (counts[i] && node != anchor)
            kiln_buf_printf(&text, "%s%s", text.n > 0 ? ", " : "", node->op->name);
    }
    return text.n > 0 ? text.p : "";
}
