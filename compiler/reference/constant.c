/* The constant that a value must have: evaluation on demand, remembered in the values.
 *
 * Two steps. First the nodes that the value depends on are collected, with a stack of
 * our own, since a chain may be 100k nodes long; a graph input on the way ends the
 * search before anything is computed. Then they are evaluated in the order in which
 * they were completed.
 */
#include "compiler/reference/reference.h"

#include <inttypes.h>

typedef struct visit {
    const kiln_node *node;
    int next_in; /* the input to look at next */
} visit;

typedef struct demand {
    kiln_graph *g;
    int64_t max_bytes;
    kiln_ref_given_fn given;
    void *user;
    kiln_arena scratch;
    kiln_map seen; /* nodes, by address; its order is that of insertion, so addresses
                      decide nothing */
    KILN_VEC(visit) stack;
    KILN_VEC(const kiln_node *) order; /* to evaluate */
    kiln_err *err;
} demand;

/* The memo of a value. The frontend's demands take values as const; what they are known
 * to be is no part of their meaning, so it is written through the graph's own list. */
static kiln_value *own(demand *d, const kiln_value *v) {
    KILN_ASSERT(v->id >= 0 && (size_t)v->id < d->g->values.n &&
                    d->g->values.v[v->id] == v,
                "value '%s' is not of graph '%s'", v->name, d->g->name);
    return d->g->values.v[v->id];
}

static const void *bytes_of(const demand *d, const kiln_value *v) {
    if (kiln_value_is_const(v))
        return v->data;
    return v->known_by_given && d->given == NULL ? NULL : v->known;
}

static kiln_status check_bytes(const demand *d, const kiln_value *v) {
    const int64_t bytes = kiln_type_bytes(&v->type);
    if (bytes <= d->max_bytes)
        return KILN_OK;
    return kiln_fail(d->err, KILN_ERR_LIMIT,
                     "value '%s' has %" PRId64
                     " bytes, a value that is computed ahead may have %" PRId64,
                     v->name, bytes, d->max_bytes);
}

static kiln_status take_given(demand *d, const kiln_value *v) {
    kiln_tensor t;
    if (d->given == NULL || !d->given(d->user, v, &t))
        return kiln_fail(d->err, KILN_ERR_ARG, "depends on graph input '%s'", v->name);
    if (t.type.dtype != v->type.dtype || !kiln_type_same_shape(&t.type, &v->type) ||
        !kiln_layout_is_plain(&t.type.layout))
        return kiln_fail(d->err, KILN_ERR_SHAPE,
                         "the value given for input '%s' must be %s, is %s", v->name,
                         kiln_type_text(&d->scratch, &v->type),
                         kiln_type_text(&d->scratch, &t.type));
    kiln_value *mine = own(d, v);
    mine->known = t.data;
    mine->known_by_given = true;
    return KILN_OK;
}

/* Puts the node that makes v on the stack, unless v is known already. */
static kiln_status want(demand *d, const kiln_value *v) {
    if (bytes_of(d, v) != NULL)
        return KILN_OK;
    if (v->def == NULL)
        return take_given(d, v);
    const kiln_node *n = v->def;
    const kiln_str key = {(const char *)&n, sizeof n};
    if (!kiln_map_set(&d->scratch, &d->seen, key, NULL))
        return KILN_OK;
    for (int k = 0; k < n->n_out; k++)
        KILN_TRY(check_bytes(d, n->out[k]));
    kiln_vec_push(&d->scratch, &d->stack, ((visit){.node = n}));
    return KILN_OK;
}

static kiln_status collect(demand *d, const kiln_value *v) {
    KILN_TRY(want(d, v));
    while (d->stack.n > 0) {
        visit *top = &d->stack.v[d->stack.n - 1];
        if (top->next_in < top->node->n_in && !top->node->op->types_only) {
            const kiln_value *in = top->node->in[top->next_in++];
            if (in != NULL)
                KILN_TRY(want(d, in)); /* may move the stack */
            continue;
        }
        kiln_vec_push(&d->scratch, &d->order, top->node);
        d->stack.n--;
    }
    return KILN_OK;
}

static kiln_status compute(demand *d, const kiln_node *n) {
    kiln_tensor *in = kiln_array(&d->scratch, kiln_tensor, n->n_in);
    kiln_tensor *out = kiln_array(&d->scratch, kiln_tensor, n->n_out);
    bool by_given = false;
    for (int k = 0; k < n->n_in && !n->op->types_only; k++) {
        if (n->in[k] == NULL)
            continue;
        const kiln_value *v = n->in[k];
        in[k].type = v->type;
        /* eval_node only reads; its argument type is the tensor of those who write. */
        union {
            const void *from;
            void *to;
        } data = {.from = bytes_of(d, v)};
        in[k].data = data.to;
        by_given = by_given || (!kiln_value_is_const(v) && v->known_by_given);
    }
    KILN_TRY(kiln_ref_eval_node(d->g->arena, n, in, out, d->err));
    for (int k = 0; k < n->n_out; k++) {
        kiln_value *v = own(d, n->out[k]);
        v->known = out[k].data;
        v->known_by_given = by_given;
    }
    return KILN_OK;
}

kiln_status kiln_ref_constant(kiln_graph *g, const kiln_value *v, int64_t max_bytes,
                              kiln_ref_given_fn given, void *user, kiln_tensor *out,
                              kiln_err *err) {
    demand d = {
        .g = g, .max_bytes = max_bytes, .given = given, .user = user, .err = err};
    kiln_status st = collect(&d, v);
    for (size_t i = 0; st == KILN_OK && i < d.order.n; i++)
        st = compute(&d, d.order.v[i]);
    if (st == KILN_OK) {
        union {
            const void *from;
            void *to;
        } data = {.from = bytes_of(&d, v)};
        *out = (kiln_tensor){.type = v->type, .data = data.to};
    }
    kiln_arena_fini(&d.scratch);
    return st;
}
