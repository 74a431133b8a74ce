/* Who gives which layout to whom.
 *
 * A template says what it takes (kiln_takes). One that lays out its kernels itself
 * (convolutions, pooling) hears how its inputs lie, and may go on with it; one that
 * knows row-major values only (products, recurrent steps) is given no other. Everything
 * else computes by logical indexes and takes its inputs as they were made; its results
 * go on in the blocks of an input where nothing is mixed along the blocked axis, so
 * that between two convolutions there is no conversion (NeoCPU, ATC'19, section 3.2).
 * What leaves the network, or was made row-major, is row-major. */
#include "compiler/network/executable_internal.h"
#include "compiler/tensor/compute.h"
#include "base/fault.h"

/* Does each element keep its place along the axis, where the length changes? */
static bool keeps_places(const kiln_node *node, int axis) {
    return (node->op == &kiln_op_pad &&
            kiln_node_attr(node, "pads")->ints[axis] == 0) ||
           (node->op == &kiln_op_slice &&
            kiln_node_attr(node, "starts")->ints[axis] == 0 &&
            kiln_node_attr(node, "steps")->ints[axis] == 1);
}

/* Do blocks of x become blocks of y? Along a blocked axis either nothing is done, as
 * its length shows, or whole blocks are put together or taken apart, or elements are
 * added or dropped at its end. */
static bool goes_on(const kiln_node *node, const kiln_type *x, const kiln_type *y) {
    if (kiln_layout_is_plain(&x->layout) || x->rank != y->rank ||
        node->op == &kiln_op_transpose) /* its axes are others */
        return false;
    for (int i = 0; i < x->rank; i++) {
        const int64_t size = kiln_type_blocked(x, i);
        const bool is_whole = x->dim[i] % size == 0 && y->dim[i] % size == 0;
        if (x->dim[i] != y->dim[i] && !is_whole && !keeps_places(node, i))
            return false;
    }
    return true;
}

/* The layout of node's result k: that of the largest input that can go on. */
static kiln_layout layout_of(const kiln_node *node, int k) {
    KILN_ASSERT(k >= 0 && k < node->n_out, "'%s' has no result %d", node->name, k);
    const kiln_type *y = &node->out[k]->type;
    const kiln_value *best = NULL;
    if (node->op->fuse == KILN_FUSE_OPAQUE || node->op == &kiln_op_reshape)
        return (kiln_layout){.n_order = 0};
    for (int i = 0; i < node->n_in; i++) {
        const kiln_value *x = node->in[i];
        if (x == NULL || !goes_on(node, &x->type, y))
            continue;
        if (best == NULL || kiln_type_elems(&x->type) > kiln_type_elems(&best->type))
            best = x;
    }
    return best != NULL ? best->type.layout : (kiln_layout){.n_order = 0};
}

/* Of a result of rank 1 at least: those who test may want another one. */
static void relayout(const kiln_net *n, kiln_type *t) {
    if (n->o != NULL && n->o->relayout != NULL && t->rank > 0)
        n->o->relayout(n->o->user, t, &t->layout);
}

bool kiln_net_leaves(const kiln_graph *g, const kiln_value *v) {
    bool is_output = false;
    for (size_t i = 0; i < g->outputs.n; i++)
        is_output = is_output || g->outputs.v[i] == v;
    for (size_t i = 0; is_output && i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] == v)
                return false;
    return is_output;
}

static void say(const kiln_net *n, const kiln_value *v, const kiln_type *t,
                const char *why) {
    KILN_LOG(DEBUG, "layout", "'%s%s' is made as %s: %s", n->walk->path, v->name,
             kiln_type_text(&n->walk->scratch, t), why);
}

static bool is_contraction(const kiln_net_group_part *p) {
    return p->group->anchor != NULL &&
           p->group->anchor->op->fuse == KILN_FUSE_OUT_FUSABLE;
}

/* Row-major values alone. */
static bool is_plain(const kiln_net_group_part *p, kiln_takes takes) {
    return takes == KILN_TAKES_PLAIN || (is_contraction(p) && takes == KILN_TAKES_ANY);
}

static const kiln_net_slot *made(const kiln_net *n, const kiln_net_group_part *p,
                                 const kiln_value *v) {
    return &n->slot.v[n->walk->slot_of[p->from[v->id]->id]];
}

void kiln_net_go_through(const kiln_graph *part) {
    for (size_t i = 0; i < part->nodes.n; i++) {
        const kiln_node *node = part->nodes.v[i];
        for (int k = 0; k < node->n_out; k++)
            node->out[k]->type.layout = layout_of(node, k);
    }
}

void kiln_net_give_layouts(const kiln_net *n, const kiln_net_group_part *p,
                           kiln_takes takes) {
    const kiln_graph *part = p->graph;
    if (is_plain(p, takes)) {
        for (size_t i = 0; i < part->outputs.n; i++)
            say(n, p->from[part->outputs.v[i]->id], &part->outputs.v[i]->type,
                "its template takes row-major values alone");
        return;
    }
    for (size_t i = 0; i < part->inputs.n; i++) {
        kiln_value *v = part->inputs.v[i];
        v->type.layout = made(n, p, v)->layout;
        v->type.facts = made(n, p, v)->facts;
    }
    if (!is_contraction(p))
        kiln_net_go_through(part);
    for (size_t i = 0; i < part->outputs.n && !is_contraction(p); i++)
        relayout(n, &part->outputs.v[i]->type);
    for (size_t i = 0; i < part->outputs.n; i++) {
        kiln_type *t = &part->outputs.v[i]->type;
        const kiln_value *v = p->from[part->outputs.v[i]->id];
        const bool is_last = kiln_net_leaves(n->walk->g, v);
        if (is_last)
            t->layout = (kiln_layout){.n_order = 0};
        say(n, v, t,
            is_last             ? "it leaves the network"
            : is_contraction(p) ? "until its template lays it out"
            : kiln_layout_is_plain(&t->layout)
                ? "no input's blocks can go on"
                : "the largest input whose blocks can go on lies so");
    }
}

void kiln_net_take_layouts(const kiln_net *n, const kiln_net_group_part *p,
                           const kiln_net_choice *c) {
    const kiln_graph *part = p->graph;
    KILN_ASSERT((size_t)c->n_layouts == part->inputs.n + part->outputs.n,
                "'%s' has %zu activations, its choice %d layouts", part->name,
                part->inputs.n + part->outputs.n, c->n_layouts);
    if (is_plain(p, c->tmpl->takes))
        return;
    for (size_t i = 0; i < part->inputs.n; i++) {
        kiln_value *v = part->inputs.v[i];
        v->type.layout = c->layout[i];
        v->type.facts = made(n, p, v)->facts;
    }
    if (is_contraction(p))
        return;
    kiln_net_go_through(part);
    for (size_t i = 0; i < part->outputs.n; i++)
        part->outputs.v[i]->type.layout = c->layout[part->inputs.n + i];
}

/* Activations among the arguments come first and last: constants are between. */
static const kiln_type *activation(const kiln_graph *part, const kiln_te_graph *te,
                                   size_t i) {
    return i < part->inputs.n ? &te->arg_type[i]
                              : &te->arg_type[te->n_inputs + i - part->inputs.n];
}

kiln_net_choice *kiln_net_choice_of(kiln_arena *a, const kiln_graph *part,
                                    const kiln_choice *c, const kiln_scheduled *s) {
    const size_t n = part->inputs.n + part->outputs.n;
    kiln_layout *layout = kiln_array(a, kiln_layout, n);
    kiln_net_choice *made = kiln_new(a, kiln_net_choice);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_config_json(&text, c->tmpl, &c->space, &c->config);
    for (size_t i = 0; i < n; i++)
        layout[i] = activation(part, &s->te, i)->layout;
    *made = (kiln_net_choice){.tmpl = c->tmpl,
                              .config = c->config,
                              .origin = c->origin,
                              .n_tried = c->n_tried,
                              .text = text.p,
                              .layout = layout,
                              .n_layouts = (int)n};
    return made;
}

kiln_status kiln_net_check_layouts(const kiln_net *n, const kiln_graph *part,
                                   const kiln_scheduled *s, const kiln_net_choice *c,
                                   kiln_err *err) {
    for (size_t i = 0; i < part->inputs.n + part->outputs.n; i++) {
        const kiln_type *is = activation(part, &s->te, i);
        kiln_type chosen = *is;
        chosen.layout = c->layout[i];
        if (!kiln_layout_eq(&is->layout, &c->layout[i]))
            return kiln_fail(err, KILN_ERR_BUG,
                             "activation %zu was chosen as %s, and is scheduled as %s",
                             i, kiln_type_text(&n->walk->scratch, &chosen),
                             kiln_type_text(&n->walk->scratch, is));
    }
    return KILN_OK;
}

bool kiln_net_same_places(const kiln_type *shape, const kiln_layout *a,
                          const kiln_layout *b) {
    kiln_type x = *shape, y = *shape;
    x.layout = *a;
    y.layout = *b;
    return kiln_type_same_places(&x, &y) || KILN_FAULT(conversion_skipped);
}
