#include "tests/support/graph_reduce.h"

#include <string.h>

#include "tests/support/kiln_test.h"

/* ---- parts of graphs -------------------------------------------------------------
 */

/* What is left of a graph: some outputs, and values that come from outside. */
typedef struct part {
    const kiln_graph *whole;
    bool *is_cut, *is_output; /* by value id */
} part;

static part part_new(kiln_arena *a, const kiln_graph *g) {
    part p = {g, kiln_array(a, bool, g->values.n), kiln_array(a, bool, g->values.n)};
    for (size_t i = 0; i < g->outputs.n; i++)
        p.is_output[g->outputs.v[i]->id] = true;
    return p;
}

static bool *needed_nodes(kiln_arena *a, const part *p, bool *is_read) {
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

static kiln_node *copy_node(kiln_graph *g, const kiln_node *n, kiln_value **of) {
    kiln_attr_arg *args = kiln_array(g->arena, kiln_attr_arg, n->op->n_attr);
    kiln_value **in = kiln_array(g->arena, kiln_value *, n->n_in);
    kiln_err err = {.status = KILN_OK};
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
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &copy, &err), &err);
    return copy;
}

static void know(kiln_graph *g, const kiln_value *old, kiln_value *now,
                 graph_values *from, graph_values *to) {
    static const graph_value unknown;
    while (to->of.n <= (size_t)now->id)
        kiln_vec_push(g->arena, &to->of, unknown);
    to->of.v[now->id] = *graph_values_get(from, old);
}

static kiln_graph *part_graph(kiln_arena *a, const part *p, graph_values *from,
                              graph_values *to) {
    const kiln_graph *g = p->whole;
    kiln_graph *out = kiln_graph_new(a, g->name);
    kiln_value **of = kiln_array(a, kiln_value *, g->values.n);
    bool *is_read = kiln_array(a, bool, g->values.n);
    const bool *is_needed = needed_nodes(a, p, is_read);
    graph_values_init(to, a, 0);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        const bool is_made =
            v->def != NULL && is_needed[v->def->index] && !p->is_cut[v->id];
        if (!is_read[v->id] || is_made)
            continue;
        of[i] = kiln_value_is_const(v)
                    ? kiln_graph_add_const(out, v->name, &v->type, v->data)
                    : kiln_graph_add_input(out, v->name, &v->type);
        know(out, v, of[i], from, to);
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (!is_needed[i])
            continue;
        const kiln_node *copy = copy_node(out, g->nodes.v[i], of);
        for (int k = 0; k < copy->n_out; k++) {
            const kiln_value *v = g->nodes.v[i]->out[k];
            if (!p->is_cut[v->id])
                of[v->id] = copy->out[k];
            know(out, v, copy->out[k], from, to);
        }
    }
    for (size_t i = 0; i < g->values.n; i++)
        if (p->is_output[i] && of[i] != NULL)
            kiln_graph_add_output(out, of[i], kiln_format(a, "y%zu", i));
    kiln_graph_renumber(out);
    return out;
}

/* ---- reducing --------------------------------------------------------------------
 */

typedef struct reducer {
    kiln_arena *arena;
    graph_values *values;
    const graph_way *way;
    graph_outcome outcome;
    int limit_s;
} reducer;

typedef struct attempt {
    const part *p;
    const reducer *r;
} attempt;

static void try_part(void *arg, graph_verdict *out) {
    const attempt *t = arg;
    kiln_arena a = {0};
    graph_values known;
    const kiln_graph *g = part_graph(&a, t->p, t->r->values, &known);
    graph_check(g, &known, t->r->way, out);
    kiln_arena_fini(&a);
}

static bool still_fails(const reducer *r, const part *p) {
    attempt t = {p, r};
    graph_verdict v;
    graph_in_child(try_part, &t, r->limit_s, &v);
    return v.outcome == r->outcome;
}

/* One value alone, the first that will do; else one of the outputs; else all. */
static void fewer_outputs(const reducer *r, part *p) {
    const size_t n = p->whole->values.n;
    bool *all = p->is_output;
    p->is_output = kiln_array(r->arena, bool, n);
    for (size_t i = 0; i < p->whole->nodes.n; i++)
        for (int k = 0; k < p->whole->nodes.v[i]->n_out; k++) {
            memset(p->is_output, 0, n * sizeof *p->is_output);
            p->is_output[p->whole->nodes.v[i]->out[k]->id] = true;
            if (still_fails(r, p))
                return;
        }
    memcpy(p->is_output, all, n * sizeof *all);
    for (size_t v = 0; v < n; v++) {
        const bool was = p->is_output[v];
        p->is_output[v] = false;
        p->is_output[v] = was && !still_fails(r, p);
    }
}

static void more_inputs(const reducer *r, part *p) {
    for (size_t i = p->whole->nodes.n; i-- > 0;) {
        const kiln_node *n = p->whole->nodes.v[i];
        for (int k = 0; k < n->n_out; k++) {
            if (p->is_output[n->out[k]->id])
                continue;
            p->is_cut[n->out[k]->id] = true;
            p->is_cut[n->out[k]->id] = still_fails(r, p);
        }
    }
}

kiln_graph *graph_reduce(kiln_arena *a, const kiln_graph *g, graph_values *values,
                         const graph_way *w, graph_outcome outcome, int limit_s,
                         graph_values *known) {
    const reducer r = {a, values, w, outcome, limit_s};
    part p = part_new(a, g);
    fewer_outputs(&r, &p);
    more_inputs(&r, &p);
    return part_graph(a, &p, values, known);
}

/* ---- text ------------------------------------------------------------------------
 */

static const char prefix[] = "const_";

/* Numbers that anything may stand for. */
static bool is_any(const kiln_value *v) {
    enum { FEW = 4 };
    const int64_t n = kiln_type_elems(&v->type);
    const size_t bytes = kiln_dtype_bytes(v->type.dtype);
    if (!kiln_value_is_const(v) || !kiln_dtype_is_float(v->type.dtype) || n <= FEW)
        return false;
    for (int64_t i = 1; i < n; i++)
        if (memcmp((const char *)v->data + (size_t)i * bytes, v->data, bytes) != 0)
            return true;
    return false; /* one number, shortly printed */
}

void graph_put_text(kiln_buf *out, const kiln_graph *g) {
    kiln_arena a = {0};
    kiln_graph *copy = kiln_graph_clone(&a, g);
    for (size_t i = 0; i < copy->values.n; i++) {
        kiln_value *v = copy->values.v[i];
        if (!is_any(v))
            continue;
        v->name =
            kiln_graph_fresh_value_name(copy, kiln_format(&a, "%s%s", prefix, v->name));
        v->data = NULL;
        kiln_vec_push(&a, &copy->inputs, v);
    }
    kiln_graph_print(out, copy, NULL);
    kiln_arena_fini(&a);
}

kiln_status graph_read_text(kiln_arena *a, kiln_str text, const char *where,
                            kiln_graph **out, kiln_err *err) {
    kiln_graph *g = NULL;
    size_t n = 0;
    KILN_TRY(kiln_graph_parse(a, text, where, &g, err));
    for (size_t i = 0; i < g->inputs.n; i++) {
        kiln_value *v = g->inputs.v[i];
        if (strncmp(v->name, prefix, sizeof prefix - 1) != 0)
            g->inputs.v[n++] = v;
        else
            v->data = kiln_ref_random(a, &v->type, 7 + i).data;
    }
    g->inputs.n = n;
    kiln_graph_renumber(g);
    *out = g;
    return KILN_OK;
}
