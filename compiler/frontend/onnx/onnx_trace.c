/* What a value leads back to: the graph inputs that decide it, and, where it is a
 * comparison with a constant, the value of the input that makes it true. For messages
 * that name the input to bind. */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>

/* The place of a value: what regions capture is the outer graph's. */
typedef struct place {
    kiln_onnx_scope *scope; /* that owns a graph; NULL: nothing more */
    const kiln_value *value;
} place;

/* An input of a region goes back to what it captures; a formal one leads nowhere. */
static place leave_regions(kiln_onnx_scope *s, const kiln_value *v) {
    while (v->def == NULL && s->parent != NULL) {
        const kiln_value *outer = NULL;
        for (size_t i = 0; i < s->inner.n && outer == NULL; i++)
            if (s->inner.v[i] == v)
                outer = s->outer.v[i];
        if (outer == NULL)
            return (place){NULL, NULL};
        v = outer;
        s = kiln_onnx_owner(s->parent);
    }
    return (place){s, v};
}

typedef struct trace {
    kiln_onnx_cx *cx;
    kiln_map seen; /* values, by address */
    KILN_VEC(place) todo;
} trace;

static void want(trace *t, kiln_onnx_scope *s, const kiln_value *v) {
    if (v == NULL || v->data != NULL)
        return;
    const place p = leave_regions(s, v);
    const kiln_str key = {(const char *)&p.value, sizeof p.value};
    if (p.value != NULL && kiln_map_set(&t->cx->common.scratch, &t->seen, key, NULL))
        kiln_vec_push(&t->cx->common.scratch, &t->todo, p);
}

size_t kiln_onnx_leads_to(kiln_onnx_cx *cx, const kiln_value *v, const char **name,
                          size_t max) {
    trace t = {.cx = cx};
    size_t n = 0;
    KILN_ASSERT(v != NULL && (max == 0 || name != NULL), "what does nothing lead to?");
    want(&t, kiln_onnx_owner(cx->scope), v);
    while (t.todo.n > 0) {
        const place p = t.todo.v[--t.todo.n];
        const kiln_node *const def = p.value->def;
        if (def == NULL && n < max)
            name[n++] = p.value->name;
        for (int i = 0; def != NULL && i < def->n_in && !def->op->types_only; i++)
            want(&t, p.scope, def->in[i]);
    }
    return n;
}

/* ---- the value that decides ------------------------------------------------------ */

/* "16000", of a constant of one element; NULL: it is none. */
static const char *scalar_text(kiln_onnx_cx *cx, const kiln_value *v) {
    if (v == NULL || v->data == NULL || kiln_type_elems(&v->type) != 1)
        return NULL;
    kiln_wide w = kiln_wide_new(&cx->common.scratch, &v->type);
    kiln_widen(&v->type, v->data, &w);
    return w.f != NULL ? kiln_format(&cx->common.scratch, "%.9g", w.f[0])
                       : kiln_format(&cx->common.scratch, "%" PRId64, w.i[0]);
}

/* Follows what changes no value of a scalar to a graph input; NULL: to none. */
static const kiln_value *plain_input(kiln_onnx_scope *s, const kiln_value *v) {
    enum { MAX_STEPS = 64 };
    for (int i = 0; i < MAX_STEPS && v != NULL; i++) {
        const place p = leave_regions(s, v);
        const kiln_node *const def = p.value == NULL ? NULL : p.value->def;
        if (p.value == NULL || def == NULL)
            return p.value;
        if (def->op != &kiln_op_reshape && def->op != &kiln_op_cast &&
            def->op != &kiln_op_identity)
            return NULL;
        s = p.scope;
        v = def->in[0];
    }
    return NULL;
}

const char *kiln_onnx_value_for(kiln_onnx_cx *cx, const kiln_value *condition,
                                bool result) {
    enum { MAX_STEPS = 64 };
    kiln_onnx_scope *s = kiln_onnx_owner(cx->scope);
    const kiln_value *v = condition;
    KILN_ASSERT(s != NULL && v != NULL, "a condition of nothing");
    for (int i = 0; i < MAX_STEPS; i++) {
        const place p = leave_regions(s, v);
        const kiln_node *const def = p.value == NULL ? NULL : p.value->def;
        if (p.value == NULL || p.value->data != NULL)
            return NULL;
        if (def == NULL)
            return result ? "1" : "0";
        if (def->op == &kiln_op_equal && result) {
            const char *const left = scalar_text(cx, def->in[0]);
            const kiln_value *const other = def->in[left != NULL ? 1 : 0];
            return plain_input(p.scope, other) == NULL ? NULL
                   : left != NULL                      ? left
                                                       : scalar_text(cx, def->in[1]);
        }
        if (def->op == &kiln_op_logical_not)
            result = !result;
        else if (def->op != &kiln_op_reshape && def->op != &kiln_op_identity)
            return NULL;
        s = p.scope;
        v = def->in[0];
    }
    return NULL;
}
