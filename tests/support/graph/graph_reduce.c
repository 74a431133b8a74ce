#include "tests/support/graph/graph_reduce.h"

#include <string.h>

#include "tests/support/graph/graph_part.h"

/* ---- reducing -------------------------------------------------------------------- */

typedef struct reducer {
    kiln_arena *arena;
    graph_values *values;
    const graph_way *way;
    graph_outcome outcome;
    int limit_s;
} reducer;

typedef struct attempt {
    const graph_part *p;
    const reducer *r;
} attempt;

static void try_part(void *arg, graph_verdict *out) {
    const attempt *t = arg;
    kiln_arena a = {0};
    graph_values known;
    const kiln_graph *g = graph_part_make(&a, t->p, t->r->values, &known);
    graph_check(g, &known, t->r->way, out);
    kiln_arena_fini(&a);
}

static bool still_fails(const reducer *r, const graph_part *p) {
    attempt t = {p, r};
    graph_verdict v;
    graph_in_child(try_part, &t, r->limit_s, &v);
    return v.outcome == r->outcome;
}

/* One value alone, the first that will do; else one of the outputs; else all. */
static void fewer_outputs(const reducer *r, graph_part *p) {
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

static void more_inputs(const reducer *r, graph_part *p) {
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
    graph_part p = graph_part_all(a, g);
    fewer_outputs(&r, &p);
    more_inputs(&r, &p);
    return graph_part_make(a, &p, values, known);
}

/* ---- text ------------------------------------------------------------------------ */

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
