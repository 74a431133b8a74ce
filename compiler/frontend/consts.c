/* Operands that must be constant at import because they decide a shape: what they lead
 * back to, and their value. */
#include "compiler/frontend/import_cx.h"

#include <inttypes.h>

#include "compiler/reference/reference.h"

enum {
    MAX_CONST_BYTES = 16 << 20, /* of one value on the way */
    MAX_CONST_NODES = 100000,
};
/* Work for one operand; a Resize's sizes take a dozen operations. All of a model's
 * together: cx->const_flops. */
static const int64_t max_const_flops = (int64_t)1 << 28;

static const kiln_tensor *hint_of(const kiln_import_cx *cx, const kiln_value *input) {
    for (size_t i = 0; i < cx->hinted.n; i++)
        if (cx->hinted.v[i] == input)
            return cx->hints.v[i];
    return NULL;
}

static kiln_import_origin origin_of(kiln_import_cx *cx, kiln_graph *g,
                                    const kiln_value *input, kiln_graph **around,
                                    const kiln_value **value) {
    return cx->format->origin != NULL ? cx->format->origin(cx, g, input, around, value)
                                      : KILN_IMPORT_GIVEN;
}

/* Walks back from a value to graph inputs. */
typedef struct cone {
    kiln_import_cx *cx;
    kiln_graph *graph;
    bool *is_seen; /* by value id */
    KILN_VEC(const kiln_value *) todo;
    int64_t flops, nodes;
} cone;

static void add_value(cone *c, const kiln_value *v) {
    if (v == NULL || v->data != NULL || v->known != NULL)
        return;
    KILN_ASSERT((size_t)v->id < c->graph->values.n,
                "'%s' is of another graph than '%s'", v->name, c->graph->name);
    if (c->is_seen[v->id])
        return;
    c->is_seen[v->id] = true;
    kiln_vec_push(&c->cx->scratch, &c->todo, v);
}

static kiln_status check_cone(kiln_import_cx *cx, kiln_graph *g, const kiln_value *v,
                              const char *what);

static kiln_status check_input(cone *c, const kiln_value *input, const char *what) {
    kiln_graph *around = NULL;
    const kiln_value *value = NULL;
    const char *const name = kiln_import_show(c->cx, kiln_str_from(input->name));
    switch (origin_of(c->cx, c->graph, input, &around, &value)) {
    case KILN_IMPORT_CAPTURED:
        KILN_ASSERT(around != NULL && value != NULL, "'%s' is captured from nowhere",
                    name);
        return check_cone(c->cx, around, value, what);
    case KILN_IMPORT_FORMAL:
        return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                         "input '%s' must be a constant, it depends on input '%s' "
                         "of a subgraph",
                         what, name);
    case KILN_IMPORT_GIVEN:
        break;
    }
    if (hint_of(c->cx, input) != NULL)
        return KILN_OK;
    return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                     "input '%s' must be a constant, it depends on graph input '%s'; "
                     "fix its value with --bind %s=...",
                     what, name, name);
}

static kiln_status check_cone(kiln_import_cx *cx, kiln_graph *g, const kiln_value *v,
                              const char *what) {
    cone c = {.cx = cx, .graph = g};
    c.is_seen = kiln_array(&cx->scratch, bool, g->values.n);
    add_value(&c, v);
    while (c.todo.n > 0) {
        const kiln_value *const next = c.todo.v[--c.todo.n];
        const kiln_node *const n = next->def;
        if (n == NULL) {
            KILN_TRY(check_input(&c, next, what));
            continue;
        }
        kiln_cost cost = {0};
        kiln_node_cost(n, &cost);
        c.flops += cost.flops < max_const_flops ? cost.flops : max_const_flops;
        c.nodes++;
        if (c.flops >= max_const_flops || c.flops > cx->const_flops ||
            c.nodes > MAX_CONST_NODES || kiln_type_bytes(&next->type) > MAX_CONST_BYTES)
            return kiln_fail(cx->err, KILN_ERR_LIMIT,
                             "input '%s' must be a constant, but computing it at "
                             "import takes too much work (at node '%s'); export "
                             "the model with constant folding",
                             what, kiln_import_show(cx, kiln_str_from(n->name)));
        KILN_TRY(kiln_import_spend(cx, kiln_type_bytes(&next->type)));
        for (int i = 0; i < n->n_in && !n->op->types_only; i++)
            add_value(&c, n->in[i]);
    }
    cx->const_flops -= c.flops;
    return KILN_OK;
}

/* Who asks: kiln_ref_constant gives this back for graph inputs. */
typedef struct asker {
    kiln_import_cx *cx;
    kiln_graph *graph;
} asker;

static kiln_status evaluate(kiln_import_cx *cx, kiln_graph *g, const kiln_value *v,
                            kiln_tensor *out);

static bool given(void *user, const kiln_value *input, kiln_tensor *out) {
    const asker *const a = user;
    kiln_graph *around = NULL;
    const kiln_value *value = NULL;
    if (origin_of(a->cx, a->graph, input, &around, &value) == KILN_IMPORT_CAPTURED)
        return evaluate(a->cx, around, value, out) == KILN_OK;
    const kiln_tensor *const hint = hint_of(a->cx, input);
    if (hint != NULL)
        *out = *hint;
    return hint != NULL;
}

static kiln_status evaluate(kiln_import_cx *cx, kiln_graph *g, const kiln_value *v,
                            kiln_tensor *out) {
    asker a = {cx, g};
    return kiln_ref_constant(g, v, MAX_CONST_BYTES, given, &a, out, cx->err);
}

kiln_status kiln_import_const(kiln_import_cx *cx, kiln_value *v, const char *what,
                              kiln_tensor *out) {
    KILN_ASSERT(v != NULL && what != NULL, "the constant of no operand");
    if (kiln_value_is_const(v)) {
        *out = (kiln_tensor){v->type, (void *)(uintptr_t)v->data};
        return KILN_OK;
    }
    const kiln_arena_mark mark = kiln_arena_save(&cx->scratch);
    const kiln_status st = check_cone(cx, cx->graph, v, what);
    kiln_arena_rewind(&cx->scratch, mark);
    KILN_TRY(st);
    return evaluate(cx, cx->graph, v, out);
}

static kiln_status widen(kiln_import_cx *cx, kiln_value *v, const char *what,
                         kiln_wide *out) {
    kiln_tensor t;
    KILN_TRY(kiln_import_const(cx, v, what, &t));
    if (kiln_type_bytes(&t.type) > MAX_CONST_BYTES)
        return kiln_fail(cx->err, KILN_ERR_LIMIT,
                         "input '%s' decides a shape or structure and must have at "
                         "most %d bytes, has %" PRId64,
                         what, (int)MAX_CONST_BYTES, kiln_type_bytes(&t.type));
    KILN_TRY(kiln_import_spend(cx, 8 * kiln_type_elems(&t.type)));
    *out = kiln_wide_new(cx->arena, &t.type);
    kiln_widen(&t.type, t.data, out);
    return KILN_OK;
}

kiln_status kiln_import_const_ints(kiln_import_cx *cx, kiln_value *v, const char *what,
                                   const int64_t **out, size_t *n) {
    if (kiln_dtype_is_float(v->type.dtype))
        return kiln_fail(cx->err, KILN_ERR_PARSE,
                         "input '%s' must hold integers, is %s", what,
                         kiln_type_text(&cx->scratch, &v->type));
    kiln_wide w;
    KILN_TRY(widen(cx, v, what, &w));
    *out = w.i;
    *n = (size_t)kiln_type_elems(&w.type);
    return KILN_OK;
}

kiln_status kiln_import_const_floats(kiln_import_cx *cx, kiln_value *v,
                                     const char *what, const double **out, size_t *n) {
    kiln_wide w;
    KILN_TRY(widen(cx, v, what, &w));
    const size_t n_elems = (size_t)kiln_type_elems(&w.type);
    if (w.f == NULL) {
        w.f = kiln_array(cx->arena, double, n_elems);
        for (size_t i = 0; i < n_elems; i++)
            w.f[i] =
                v->type.dtype == KILN_U64 ? (double)(uint64_t)w.i[i] : (double)w.i[i];
    }
    *out = w.f;
    *n = n_elems;
    return KILN_OK;
}
