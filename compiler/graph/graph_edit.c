/* Changing graphs: uses, dropping and ordering nodes, copies. */
#include <string.h>

#include "compiler/graph/graph_internal.h"

void kiln_graph_renumber(kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.v[i]->index = (int)i;
}

void kiln_graph_replace_uses(kiln_graph *g, kiln_value *from, kiln_value *to) {
    KILN_ASSERT(from != to, "value '%s' would replace itself", from->name);
    for (size_t i = 0; i < g->nodes.n; i++) {
        kiln_node *const n = g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] == from)
                n->in[k] = to;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (g->outputs.v[i] == from)
            g->outputs.v[i] = to;
    }
    for (size_t i = 0; i < g->values.n; i++) {
        if (g->values.v[i]->count == from)
            g->values.v[i]->count = to;
    }
}

/* A bounded value uses the value that counts it. */
static void count_bound(int *uses, const kiln_value *v) {
    if (v->count != NULL)
        uses[v->count->id]++;
}

int *kiln_graph_count_uses(const kiln_graph *g, kiln_arena *a) {
    int *const uses = kiln_array(a, int, g->values.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *const n = g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] != NULL)
                uses[n->in[k]->id]++;
        }
        for (int k = 0; k < n->n_out; k++)
            count_bound(uses, n->out[k]);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        uses[g->outputs.v[i]->id]++;
    for (size_t i = 0; i < g->inputs.n; i++)
        count_bound(uses, g->inputs.v[i]);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *const v = g->values.v[i];
        if (v->data != NULL && uses[v->id] > 0)
            count_bound(uses, v);
    }
    return uses;
}

void kiln_graph_keep_nodes(kiln_graph *g, const bool *keep) {
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        kiln_node *const node = g->nodes.v[i];
        if (keep[i])
            g->nodes.v[n++] = node;
        else
            node->index = -1;
    }
    g->nodes.n = n;
    kiln_graph_renumber(g);
}

/* ---- order ----------------------------------------------------------------------- */

bool kiln_node_is_listed(const kiln_graph *g, const kiln_node *n) {
    return n->graph == g && n->index >= 0 && (size_t)n->index < g->nodes.n &&
           g->nodes.v[n->index] == n;
}

typedef enum visit_state { NEW, ON_PATH, DONE } visit_state;

typedef struct visit {
    kiln_node *node;
    int next; /* 2 * input + (0: the input, 1: its count) */
} visit;

typedef struct sorter {
    kiln_graph *g;
    unsigned char *state; /* visit_state by index before the sort */
    visit *path;
    size_t depth;
    kiln_node **order;
    size_t n_order;
} sorter;

/* The next node that must come before v->node, or NULL. */
static kiln_node *next_dependency(const kiln_graph *g, visit *v) {
    while (v->next < 2 * v->node->n_in) {
        const kiln_value *x = v->node->in[v->next / 2];
        if (v->next++ % 2 != 0 && x != NULL)
            x = x->count;
        if (x != NULL && x->def != NULL && kiln_node_is_listed(g, x->def))
            return x->def;
    }
    return NULL;
}

/* "nodes form a cycle: 'a' needs 'b' needs 'a'", at most 8 of them. */
static kiln_status fail_cycle(const sorter *s, const kiln_node *again, kiln_err *err) {
    enum { MAX_NAMES = 8 };
    kiln_arena scratch = {0};
    kiln_buf b;
    kiln_buf_init(&b, &scratch);
    size_t first = s->depth - 1;
    while (s->path[first].node != again)
        first--;
    const size_t n = s->depth - first;
    for (size_t i = first; i < s->depth && i < first + MAX_NAMES; i++)
        kiln_buf_printf(
            &b, "'%s' needs ",
            kiln_str_printable(&scratch, kiln_str_from(s->path[i].node->name), 60));
    const kiln_status st =
        kiln_fail(err, KILN_ERR_PARSE, "nodes must not form a cycle: %s%s'%s'", b.p,
                  n > MAX_NAMES ? "... needs " : "",
                  kiln_str_printable(&scratch, kiln_str_from(again->name), 60));
    kiln_arena_fini(&scratch);
    return st;
}

/* Depth first with a stack of its own, as chains may be as long as the graph. */
static kiln_status visit_from(sorter *s, kiln_node *root, kiln_err *err) {
    s->path[s->depth++] = (visit){root, 0};
    s->state[root->index] = ON_PATH;
    while (s->depth > 0) {
        visit *const top = &s->path[s->depth - 1];
        kiln_node *const before = next_dependency(s->g, top);
        if (before == NULL) {
            s->state[top->node->index] = DONE;
            s->order[s->n_order++] = top->node;
            s->depth--;
        } else if (s->state[before->index] == ON_PATH) {
            return fail_cycle(s, before, err);
        } else if (s->state[before->index] == NEW) {
            s->state[before->index] = ON_PATH;
            s->path[s->depth++] = (visit){before, 0};
        }
    }
    return KILN_OK;
}

kiln_status kiln_graph_sort(kiln_graph *g, kiln_err *err) {
    kiln_graph_renumber(g);
    kiln_arena scratch = {0};
    sorter s = {.g = g,
                .state = kiln_array(&scratch, unsigned char, g->nodes.n),
                .path = kiln_array(&scratch, visit, g->nodes.n),
                .order = kiln_array(&scratch, kiln_node *, g->nodes.n)};
    kiln_status st = KILN_OK;
    for (size_t i = 0; st == KILN_OK && i < g->nodes.n; i++) {
        if (s.state[i] == NEW)
            st = visit_from(&s, g->nodes.v[i], err);
    }
    if (st == KILN_OK && g->nodes.n > 0)
        memcpy(g->nodes.v, s.order, g->nodes.n * sizeof g->nodes.v[0]);
    kiln_arena_fini(&scratch);
    kiln_graph_renumber(g);
    return st;
}

/* ---- copies ---------------------------------------------------------------------- */

/* Ids stay, so that side tables of the original serve the copy. */
static void copy_values(kiln_graph *to, const kiln_graph *g) {
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *const v = g->values.v[i];
        kiln_value *const w = kiln_arena_dup(to->arena, v, sizeof *v);
        w->name = kiln_str_dup(to->arena, v->name);
        w->def = NULL;
        w->known = NULL;
        w->known_by_given = false;
        kiln_vec_push(to->arena, &to->values, w);
        kiln_map_set(to->arena, &to->value_names, kiln_str_from(w->name), w);
    }
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *const count = g->values.v[i]->count;
        to->values.v[i]->count = count == NULL ? NULL : to->values.v[count->id];
    }
}

static kiln_attr *copy_attrs(kiln_arena *a, const kiln_node *n) {
    kiln_attr *const attr =
        kiln_arena_dup(a, n->attr, n->op->n_attr * sizeof n->attr[0]);
    for (size_t i = 0; i < n->op->n_attr; i++) {
        const kiln_attr *const from = &n->attr[i];
        if (from->ints != NULL)
            attr[i].ints =
                kiln_arena_dup(a, from->ints, from->n * sizeof from->ints[0]);
        if (from->floats != NULL)
            attr[i].floats =
                kiln_arena_dup(a, from->floats, from->n * sizeof from->floats[0]);
        if (from->graph != NULL)
            attr[i].graph = kiln_graph_clone(a, from->graph);
    }
    return attr;
}

static void copy_node(kiln_graph *to, const kiln_node *n) {
    kiln_arena *const a = to->arena;
    kiln_node *const m = kiln_arena_dup(a, n, sizeof *n);
    m->name = kiln_str_dup(a, n->name);
    m->graph = to;
    m->index = (int)to->nodes.n;
    m->attr = copy_attrs(a, n);
    m->in = kiln_array(a, kiln_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        m->in[i] = n->in[i] == NULL ? NULL : to->values.v[n->in[i]->id];
    m->out = kiln_array(a, kiln_value *, n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        m->out[i] = to->values.v[n->out[i]->id];
        m->out[i]->def = m;
    }
    kiln_vec_push(a, &to->nodes, m);
    kiln_map_set(a, &to->node_names, kiln_str_from(m->name), m);
}

kiln_graph *kiln_graph_clone(kiln_arena *a, const kiln_graph *g) {
    kiln_graph *const to = kiln_graph_new(a, g->name);
    to->facts = g->facts;
    copy_values(to, g);
    for (size_t i = 0; i < g->nodes.n; i++)
        copy_node(to, g->nodes.v[i]);
    for (size_t i = 0; i < g->inputs.n; i++)
        kiln_vec_push(a, &to->inputs, to->values.v[g->inputs.v[i]->id]);
    for (size_t i = 0; i < g->outputs.n; i++)
        kiln_graph_add_output(to, to->values.v[g->outputs.v[i]->id],
                              g->output_names.v[i]);
    KILN_ASSERT(to->nodes.n == g->nodes.n && to->values.n == g->values.n,
                "a copy of '%s' has %zu of %zu nodes", g->name, to->nodes.n,
                g->nodes.n);
    return to;
}
