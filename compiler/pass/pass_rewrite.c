/* One sweep over a graph's nodes with forwarding of replaced values: linear in the
 * graph. */
#include "compiler/pass/pass_internal.h"

#include <math.h>

/* Entries for values made since the last call. */
static void make_room(kiln_sweep *s) {
    while (s->to.n < s->g->values.n) {
        kiln_vec_push(s->cx->scratch, &s->to, NULL);
        kiln_vec_push(s->cx->scratch, &s->uses, 0);
        kiln_vec_push(s->cx->scratch, &s->is_dead, false);
    }
}

static kiln_value *resolve(const kiln_sweep *s, kiln_value *v) {
    while (v != NULL && (size_t)v->id < s->to.n && s->to.v[v->id] != NULL)
        v = s->to.v[v->id];
    return v;
}

/* A use of a bounded value is one of its count too. A node that was dead and is used
 * again (merge_common finds its equal) uses what it did. */
static void add_uses(kiln_sweep *s, kiln_value *v, int n) {
    KILN_VEC(kiln_value *) alive = {0};
    for (; v != NULL; v = v->count) {
        s->uses.v[v->id] += n;
        kiln_vec_push(s->cx->scratch, &alive, v);
    }
    while (n > 0 && alive.n > 0) {
        const kiln_node *d = alive.v[--alive.n]->def;
        if (d == NULL || !s->is_dead.v[d->out[0]->id])
            continue;
        s->is_dead.v[d->out[0]->id] = false;
        for (int k = 0; k < d->n_in; k++)
            for (kiln_value *in = d->in[k]; in != NULL; in = in->count) {
                s->uses.v[in->id]++;
                kiln_vec_push(s->cx->scratch, &alive, in);
            }
    }
}

void kiln_sweep_begin(kiln_sweep *s, kiln_graph *g, kiln_pass_cx *cx) {
    *s = (kiln_sweep){.g = g, .cx = cx, .n_old = g->nodes.n};
    const int *uses = kiln_graph_count_uses(g, cx->scratch);
    make_room(s);
    for (size_t i = 0; i < g->values.n; i++)
        s->uses.v[i] = uses[i];
    s->old = kiln_array(cx->scratch, kiln_node *, s->n_old);
    for (size_t i = 0; i < s->n_old; i++)
        s->old[i] = g->nodes.v[i];
    g->nodes.n = 0; /* filled again in order, so that new nodes need no sorting */
}

void kiln_sweep_resolve(const kiln_sweep *s, kiln_node *n) {
    for (int k = 0; k < n->n_in; k++)
        n->in[k] = resolve(s, n->in[k]);
}

kiln_node *kiln_sweep_next(kiln_sweep *s) {
    if (s->at == s->n_old)
        return NULL;
    kiln_node *n = s->old[s->at++];
    kiln_sweep_resolve(s, n);
    return n;
}

void kiln_sweep_keep(kiln_sweep *s, kiln_node *n) {
    KILN_ASSERT(s->at > 0, "a sweep keeps '%s' before it has begun", n->name);
    kiln_vec_push(s->g->arena, &s->g->nodes, n);
}

static bool is_unused(const kiln_sweep *s, const kiln_node *n) {
    for (int k = 0; k < n->n_out; k++)
        if (s->uses.v[n->out[k]->id] > 0)
            return false;
    return true;
}

void kiln_sweep_set_in(kiln_sweep *s, kiln_node *n, int k, kiln_value *v) {
    KILN_ASSERT(k >= 0 && k <= n->n_in, "input %d of '%s', which has %d", k, n->name,
                n->n_in);
    make_room(s);
    if (k == n->n_in) {
        kiln_value **in = kiln_array(s->g->arena, kiln_value *, k + 1);
        for (int i = 0; i < k; i++)
            in[i] = n->in[i];
        n->in = in;
        n->n_in = k + 1;
    }
    add_uses(s, n->in[k], -1);
    n->in[k] = v;
    add_uses(s, v, 1);
    s->cx->changed = true;
}

void kiln_sweep_remove_in(kiln_sweep *s, kiln_node *n, int k) {
    KILN_ASSERT(k >= 0 && k < n->n_in, "input %d of '%s', which has %d", k, n->name,
                n->n_in);
    add_uses(s, n->in[k], -1);
    for (int i = k; i + 1 < n->n_in; i++)
        n->in[i] = n->in[i + 1];
    n->n_in--;
    s->cx->changed = true;
}

void kiln_sweep_replace(kiln_sweep *s, const kiln_value *from, kiln_value *to) {
    make_room(s);
    KILN_ASSERT(from != to, "value '%s' would replace itself", from->name);
    KILN_ASSERT(from->type.dtype == to->type.dtype, "'%s' of %s would become %s",
                from->name, kiln_dtype_name(from->type.dtype),
                kiln_dtype_name(to->type.dtype));
    s->to.v[from->id] = to;
    add_uses(s, to, s->uses.v[from->id]);
    s->uses.v[from->id] = 0;
    s->cx->changed = true;
}

/* A node before that nothing uses any more is dead: what it used is used once less too,
 * so that "the only use" means what it says. eliminate_dead drops it. */
void kiln_sweep_drop(kiln_sweep *s, const kiln_node *n) {
    make_room(s);
    KILN_VEC(const kiln_node *) dead = {0};
    kiln_vec_push(s->cx->scratch, &dead, n);
    while (dead.n > 0) {
        const kiln_node *d = dead.v[--dead.n];
        s->is_dead.v[d->out[0]->id] = true;
        for (int k = 0; k < d->n_in; k++) {
            for (const kiln_value *v = d->in[k]; v != NULL; v = v->count) {
                s->uses.v[v->id]--;
                KILN_ASSERT(s->uses.v[v->id] >= 0, "'%s' is used less than never",
                            v->name);
                if (v->def != NULL && is_unused(s, v->def))
                    kiln_vec_push(s->cx->scratch, &dead, v->def);
            }
        }
    }
    s->cx->changed = true;
}

void kiln_sweep_count(kiln_sweep *s, const kiln_node *n) {
    make_room(s);
    for (int k = 0; k < n->n_in; k++)
        add_uses(s, n->in[k], 1);
}

int kiln_sweep_uses(const kiln_sweep *s, const kiln_value *v) {
    return (size_t)v->id < s->uses.n ? s->uses.v[v->id] : 0;
}

kiln_status kiln_sweep_add(kiln_sweep *s, const kiln_op_def *op, const kiln_node *like,
                           kiln_value *const *in, int n_in, const kiln_attr_arg *args,
                           size_t n_args, kiln_value **out) {
    const char *out_name = like->out[0]->name;
    const kiln_node_spec spec = {.op = op,
                                 .name = like->name,
                                 .in = in,
                                 .n_in = n_in,
                                 .out_names = &out_name,
                                 .args = args,
                                 .n_args = n_args};
    kiln_node *n = NULL;
    KILN_TRY(kiln_graph_add_node(s->g, &spec, &n, s->cx->err));
    kiln_sweep_count(s, n);
    s->cx->changed = true;
    *out = n->out[0];
    return KILN_OK;
}

void kiln_sweep_end(kiln_sweep *s) {
    kiln_graph *g = s->g;
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.v[i] = resolve(s, g->outputs.v[i]);
    for (size_t i = 0; i < g->values.n; i++)
        g->values.v[i]->count = resolve(s, g->values.v[i]->count);
    kiln_graph_renumber(g);
}

kiln_status kiln_sweep_by(kiln_graph *g, kiln_pass_cx *cx, kiln_sweep_rule *rule) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;) {
        kiln_value *same = NULL;
        st = rule(&s, n, &same);
        if (same == NULL) {
            kiln_sweep_keep(&s, n);
            continue;
        }
        kiln_sweep_replace(&s, n->out[0], same);
        kiln_sweep_drop(&s, n);
    }
    kiln_sweep_end(&s);
    return st;
}

bool kiln_pass_number(const kiln_value *v, double *out) {
    if (!kiln_value_is_const(v) || !kiln_layout_is_plain(&v->type.layout) ||
        kiln_type_elems(&v->type) != 1 || !kiln_dtype_is_float(v->type.dtype))
        return false;
    const kiln_type t = kiln_type_scalar(v->type.dtype);
    kiln_widen(&t, v->data, &(kiln_wide){.type = t, .f = out});
    return isfinite(*out);
}
