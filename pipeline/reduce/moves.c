/* Moves that take nodes, outputs and inputs away. */
#include "pipeline/reduce/reduce_internal.h"

const kiln_move *const kiln_moves[] = {&kiln_move_outputs,
                                       &kiln_move_chunks,
                                       &kiln_move_regions,
                                       &kiln_move_bypass,
                                       &kiln_move_constants,
                                       &kiln_move_merge,
                                       &kiln_move_shapes,
                                       &kiln_move_axes,
                                       &kiln_move_attributes,
                                       &kiln_move_values,
                                       NULL};

/* ---- outputs --------------------------------------------------------------------- */

/* One alone, then all but one. */
static kiln_move_answer make_outputs(kiln_edit *e, size_t i) {
    const kiln_graph *g = e->g;
    const size_t n = g->outputs.n, at = i % (n > 0 ? n : 1);
    if (i >= 2 * n)
        return KILN_MOVE_END;
    if (n == 1)
        return KILN_MOVE_NOTHING;
    e->out.n = e->out_name.n = 0;
    for (size_t k = 0; k < n; k++)
        if ((k == at) == (i < n)) {
            kiln_vec_push(e->arena, &e->out, g->outputs.v[k]);
            kiln_vec_push(e->arena, &e->out_name, g->output_names.v[k]);
        }
    return KILN_MOVE_EDIT;
}
const kiln_move kiln_move_outputs = {"outputs", make_outputs};

/* ---- nodes ----------------------------------------------------------------------- */

typedef struct range {
    int first, end; /* nodes by index */
} range;

static bool is_inside(const range *r, const kiln_node *n) {
    return n != NULL && n->index >= r->first && n->index < r->end;
}

static bool is_out(const kiln_edit *e, const kiln_value *v) {
    for (size_t i = 0; i < e->out.n; i++)
        if (e->out.v[i] == v)
            return true;
    return false;
}

/* What those nodes made comes from outside; outputs that they made are none. */
static void drop(kiln_edit *e, const range *r) {
    size_t n = 0;
    for (int i = r->first; i < r->end; i++) {
        const kiln_node *node = e->g->nodes.v[i];
        for (int k = 0; k < node->n_out; k++)
            e->value[node->out[k]->id].fate = KILN_EDIT_INPUT;
    }
    for (size_t i = 0; i < e->out.n; i++)
        if (!is_inside(r, e->out.v[i]->def)) {
            e->out.v[n] = e->out.v[i];
            e->out_name.v[n++] = e->out_name.v[i];
        }
    e->out.n = e->out_name.n = n;
}

/* What only they read becomes an output, so that who made it stays. */
static void keep_makers(kiln_edit *e, const range *r) {
    bool *is_read = kiln_array(e->arena, bool, e->g->values.n);
    for (size_t i = 0; i < e->g->nodes.n; i++) {
        const kiln_node *node = e->g->nodes.v[i];
        for (int k = 0; k < node->n_in && !is_inside(r, node); k++)
            if (node->in[k] != NULL)
                is_read[node->in[k]->id] = true;
    }
    for (int i = r->first; i < r->end; i++) {
        const kiln_node *node = e->g->nodes.v[i];
        for (int k = 0; k < node->n_in; k++) {
            const kiln_value *v = node->in[k];
            if (v == NULL || v->def == NULL || is_inside(r, v->def) || is_read[v->id] ||
                is_out(e, v))
                continue;
            kiln_vec_push(e->arena, &e->out, v);
            kiln_vec_push(e->arena, &e->out_name, v->name);
        }
    }
}

/* Halves, quarters, ... single nodes, the last first; without what came before them,
 * and with it. */
static kiln_move_answer make_chunks(kiln_edit *e, size_t i) {
    const size_t n = e->g->nodes.n;
    size_t chunk = n / 2, at = i / 2;
    if (n < 2)
        return KILN_MOVE_END;
    while (chunk > 0 && at >= (n + chunk - 1) / chunk) {
        at -= (n + chunk - 1) / chunk;
        chunk /= 2;
    }
    if (chunk == 0)
        return KILN_MOVE_END;
    const size_t end = n - at * chunk;
    const range r = {end > chunk ? (int)(end - chunk) : 0, (int)end};
    drop(e, &r);
    if (i % 2 == 1)
        keep_makers(e, &r);
    return e->out.n > 0 ? KILN_MOVE_EDIT : KILN_MOVE_NOTHING;
}
const kiln_move kiln_move_chunks = {"chunks", make_chunks};

static uint64_t seed_of(const kiln_value *v) {
    return (uint64_t)v->id % KILN_REDUCE_SEEDS + 1;
}

/* A node's values are constants. */
static kiln_move_answer make_constants(kiln_edit *e, size_t i) {
    if (i >= e->g->nodes.n)
        return KILN_MOVE_END;
    const kiln_node *n = e->g->nodes.v[i];
    const range r = {n->index, n->index + 1};
    drop(e, &r);
    for (int k = 0; k < n->n_out; k++) {
        e->value[n->out[k]->id].fate = KILN_EDIT_CONST;
        e->value[n->out[k]->id].seed = seed_of(n->out[k]);
    }
    return e->out.n > 0 ? KILN_MOVE_EDIT : KILN_MOVE_NOTHING;
}
const kiln_move kiln_move_constants = {"constants", make_constants};

/* An input of the same type in place of what the node makes. */
static kiln_move_answer make_bypass(kiln_edit *e, size_t i) {
    enum { MOST = 4 };
    const size_t k = i % MOST;
    if (i / MOST >= e->g->nodes.n)
        return KILN_MOVE_END;
    const kiln_node *n = e->g->nodes.v[i / MOST];
    if ((int)k >= n->n_in || n->n_out != 1 || n->in[k] == NULL ||
        !kiln_type_eq(&n->in[k]->type, &n->out[0]->type))
        return KILN_MOVE_NOTHING;
    kiln_edit_value *v = &e->value[n->out[0]->id];
    v->fate = KILN_EDIT_OTHER;
    v->other = n->in[k];
    return KILN_MOVE_EDIT;
}
const kiln_move kiln_move_bypass = {"bypass", make_bypass};

/* ---- regions --------------------------------------------------------------------- */

/* What a node runs is the whole graph. */
static kiln_move_answer make_regions(kiln_edit *e, size_t i) {
    for (size_t k = 0; k < e->g->nodes.n; k++) {
        const kiln_node *n = e->g->nodes.v[k];
        for (size_t j = 0; j < n->op->n_attr; j++) {
            if (n->op->attr[j].kind != KILN_ATTR_GRAPH || n->attr[j].graph == NULL)
                continue;
            if (i-- > 0)
                continue;
            kiln_graph *region = kiln_graph_clone(e->arena, n->attr[j].graph);
            kiln_graph_renumber(region);
            kiln_edit_init(e, e->arena, region);
            return KILN_MOVE_EDIT;
        }
    }
    return KILN_MOVE_END;
}
const kiln_move kiln_move_regions = {"regions", make_regions};

/* ---- inputs ---------------------------------------------------------------------- */

/* Two inputs, or two constants, of one type are one. */
static kiln_move_answer make_merge(kiln_edit *e, size_t i) {
    enum { MOST = 24 };
    const kiln_value *leaf[MOST];
    size_t n = 0;
    for (size_t k = 0; k < e->g->values.n && n < MOST; k++)
        if (e->g->values.v[k]->def == NULL)
            leaf[n++] = e->g->values.v[k];
    if (i >= n * n)
        return KILN_MOVE_END;
    const kiln_value *from = leaf[i / n], *to = leaf[i % n];
    if (i % n >= i / n || !kiln_type_eq(&from->type, &to->type) ||
        (from->data == NULL) != (to->data == NULL))
        return KILN_MOVE_NOTHING;
    e->value[from->id].fate = KILN_EDIT_OTHER;
    e->value[from->id].other = to;
    return KILN_MOVE_EDIT;
}
const kiln_move kiln_move_merge = {"merge", make_merge};
