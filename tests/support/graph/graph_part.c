#include "tests/support/graph/graph_part.h"

#include <string.h>

graph_part graph_part_all(kiln_arena *a, const kiln_graph *g) {
    graph_part p = {g, kiln_array(a, bool, g->values.n),
                    kiln_array(a, bool, g->values.n)};
    for (size_t i = 0; i < g->outputs.n; i++)
        p.is_output[g->outputs.v[i]->id] = true;
    return p;
}

static bool *needed_nodes(kiln_arena *a, const graph_part *p, bool *is_read) {
    const kiln_graph *g = p->whole;
    bool *is_needed = kiln_array(a, bool, g->nodes.n);
    memcpy(is_read, p->is_output, g->values.n * sizeof *is_read);
    for (size_t i = g->nodes.n; i-- > 0;) {
        const kiln_node *n = g->nodes.v[i];
        for (int k = 0; k < n->n_out; k++)
            is_needed[i] =
                is_needed[i] || (is_read[n->out[k]->id] && !p->is_cut[n->out[k]->id]);
        for (int k = 0; k < n->n_in && is_needed[i]; k++)
            if (n->in[k] != NULL)
                is_read[n->in[k]->id] = true;
    }
    return is_needed;
}

graph_part graph_part_window(kiln_arena *a, const kiln_graph *g, size_t first,
                             size_t n) {
    graph_part p = {g, kiln_array(a, bool, g->values.n),
                    kiln_array(a, bool, g->values.n)};
    bool *is_made = kiln_array(a, bool, g->values.n);
    bool *is_read = kiln_array(a, bool, g->values.n);
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_out; k++)
            is_made[g->nodes.v[i]->out[k]->id] = i >= first && i < first + n;
    for (size_t i = first; i < first + n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] != NULL)
                is_read[g->nodes.v[i]->in[k]->id] = true;
    for (size_t v = 0; v < g->values.n; v++)
        p.is_cut[v] = !is_made[v];
    for (size_t i = 0; i < g->outputs.n; i++)
        p.is_output[g->outputs.v[i]->id] = is_made[g->outputs.v[i]->id];
    for (size_t i = first + n; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_in; k++)
            if (g->nodes.v[i]->in[k] != NULL && is_made[g->nodes.v[i]->in[k]->id])
                p.is_output[g->nodes.v[i]->in[k]->id] = true;
    for (size_t v = 0; v < g->values.n; v++)
        p.is_output[v] = p.is_output[v] || (is_made[v] && !is_read[v]);
    return p;
}

/* NULL: its operator does not take these values. */
static kiln_node *copy_node(kiln_graph *g, const kiln_node *n, kiln_value **of) {
    kiln_attr_arg *args = kiln_array(g->arena, kiln_attr_arg, n->op->n_attr);
    kiln_value **in = kiln_array(g->arena, kiln_value *, n->n_in);
    kiln_node *copy = NULL;
    for (int k = 0; k < n->n_in; k++)
        in[k] = n->in[k] != NULL ? of[n->in[k]->id] : NULL;
    for (size_t i = 0; i < n->op->n_attr; i++)
        args[i] = (kiln_attr_arg){.name = n->op->attr[i].name,
                                  .kind = n->op->attr[i].kind,
                                  .value = n->attr[i]};
    const kiln_node_spec spec = {.op = n->op,
                                 .name = n->name,
                                 .in = in,
                                 .n_in = n->n_in,
                                 .n_out = n->n_out,
                                 .args = args,
                                 .n_args = n->op->n_attr};
    return kiln_graph_add_node(g, &spec, &copy, NULL) == KILN_OK ? copy : NULL;
}

static void know(kiln_graph *g, const kiln_value *old, const kiln_value *now,
                 graph_values *from, graph_values *to) {
    static const graph_value unknown;
    while (to != NULL && to->of.n <= (size_t)now->id)
        kiln_vec_push(g->arena, &to->of, unknown);
    if (to != NULL)
        to->of.v[now->id] = *graph_values_get(from, old);
}

static kiln_type smaller(const kiln_type *t, int64_t max_side) {
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dim[i] = t->rank == 4 && i >= 2 && max_side > 0 && t->dim[i] > max_side
                     ? max_side
                     : t->dim[i];
    return kiln_type_make(t->dtype, t->rank, dim);
}

typedef struct copying {
    kiln_graph *out;
    kiln_value **of; /* by value id of the whole */
    const bool *is_needed;
    graph_values *from, *to;
} copying;

static void add_outside(const graph_part *p, const bool *is_read, int64_t max_side,
                        copying *c) {
    const kiln_graph *g = p->whole;
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        const bool is_made =
            v->def != NULL && c->is_needed[v->def->index] && !p->is_cut[v->id];
        if (!is_read[v->id] || is_made)
            continue;
        const kiln_type t = smaller(&v->type, max_side);
        c->of[i] = kiln_value_is_const(v)
                       ? kiln_graph_add_const(c->out, v->name, &v->type, v->data)
                       : kiln_graph_add_input(c->out, v->name, &t);
        know(c->out, v, c->of[i], c->from, c->to);
    }
}

static bool add_nodes(const graph_part *p, copying *c) {
    for (size_t i = 0; i < p->whole->nodes.n; i++) {
        if (!c->is_needed[i])
            continue;
        const kiln_node *n = p->whole->nodes.v[i], *copy = copy_node(c->out, n, c->of);
        if (copy == NULL)
            return false;
        for (int k = 0; k < copy->n_out; k++) {
            if (!p->is_cut[n->out[k]->id])
                c->of[n->out[k]->id] = copy->out[k];
            know(c->out, n->out[k], copy->out[k], c->from, c->to);
        }
        for (int k = 0; k < copy->n_out; k++)
            if (n->out[k]->count != NULL) {
                copy->out[k]->count = c->of[n->out[k]->count->id];
                copy->out[k]->bounded_axis = n->out[k]->bounded_axis;
            }
    }
    return true;
}

static kiln_graph *make(kiln_arena *a, const graph_part *p, int64_t max_side,
                        graph_values *from, graph_values *to) {
    const kiln_graph *g = p->whole;
    bool *is_read = kiln_array(a, bool, g->values.n);
    copying c = {.out = kiln_graph_new(a, g->name),
                 .of = kiln_array(a, kiln_value *, g->values.n),
                 .is_needed = needed_nodes(a, p, is_read),
                 .from = from,
                 .to = to};
    add_outside(p, is_read, max_side, &c);
    if (!add_nodes(p, &c))
        return NULL;
    for (size_t i = 0; i < g->values.n; i++)
        if (p->is_output[i] && c.of[i] != NULL)
            kiln_graph_add_output(c.out, c.of[i], kiln_format(a, "y%zu", i));
    kiln_graph_renumber(c.out);
    return c.out;
}

kiln_graph *graph_part_make(kiln_arena *a, const graph_part *p, graph_values *from,
                            graph_values *to) {
    graph_values_init(to, a, 0);
    kiln_graph *g = make(a, p, 0, from, to);
    KILN_ASSERT(g != NULL, "a part of '%s' is no graph", p->whole->name);
    return g;
}

kiln_graph *graph_part_small(kiln_arena *a, const graph_part *p, int64_t max_side) {
    return make(a, p, max_side, NULL, NULL);
}
