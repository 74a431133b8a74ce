/* Stages for a whole graph: placeholders, each node's compute, a stage per output. */
#include "compiler/tensor/tails.h"

#include <string.h>

typedef struct builder {
    kiln_arena *arena;
    const kiln_graph *graph;
    const kiln_layout *layout;
    const kiln_op_def *const *packing; /* NULL: none */
    bool trust_tails;
    kiln_te_graph *out;
    KILN_VEC(const kiln_te *) arg;
    KILN_VEC(kiln_type) arg_type;
    KILN_VEC(const kiln_value *) arg_value;
    KILN_VEC(const kiln_op_def *) arg_packing;
    kiln_err *err;
} builder;

kiln_status kiln_packed_type(const kiln_op_def *packing, const kiln_type *constant,
                             kiln_type *out, kiln_err *err) {
    kiln_value from = {
        .type = kiln_type_make(constant->dtype, constant->rank, constant->dim)};
    kiln_value *in = &from;
    const kiln_node node = {.op = packing, .in = &in, .n_in = 1};
    *out = from.type;
    return packing != NULL ? packing->infer(&node, out, err) : KILN_OK;
}

static kiln_type type_of(const builder *b, const kiln_value *v) {
    kiln_type t = v->type;
    if (b->layout != NULL)
        t.layout = b->layout[v->id];
    return t;
}

static void push(builder *b, const kiln_te_value *x, const kiln_value *v,
                 const kiln_op_def *packing) {
    kiln_vec_push(b->arena, &b->arg, x->te);
    kiln_vec_push(b->arena, &b->arg_type, x->type);
    kiln_vec_push(b->arena, &b->arg_value, v);
    kiln_vec_push(b->arena, &b->arg_packing, packing);
}

static kiln_status placeholder(builder *b, const kiln_value *v) {
    kiln_te_value *x = &b->out->value[v->id];
    const kiln_op_def *packing = b->packing != NULL ? b->packing[v->id] : NULL;
    if (x->te != NULL)
        return KILN_OK; /* listed twice */
    int64_t dim[KILN_MAX_AXES];
    x->type = type_of(b, v);
    if (packing != NULL) {
        KILN_ASSERT(kiln_value_is_const(v), "'%s' is packed, and no constant", v->name);
        KILN_TRY(kiln_packed_type(packing, &v->type, &x->type, b->err));
        x->type.layout = b->layout[v->id];
    }
    if (b->trust_tails || kiln_value_is_const(v)) /* packed with zeros */
        x->type.facts |= KILN_FACT_TAIL_ZERO;
    if (!kiln_type_has_tails(&x->type))
        x->type.facts = 0;
    const int rank = kiln_type_physical(&x->type, dim);
    x->te = kiln_te_placeholder(b->arena, v->name, kiln_dtype_stored(x->type.dtype),
                                rank, dim);
    push(b, x, v, packing);
    return KILN_OK;
}

static kiln_status add_node(builder *b, const kiln_node *n) {
    if (n->op->compute == NULL)
        return kiln_fail(b->err, KILN_ERR_UNSUPPORTED,
                         "node '%s': operator '%s' has no tensor expression", n->name,
                         n->op->name);
    kiln_te_value *in = kiln_array(b->arena, kiln_te_value, n->n_in);
    kiln_te_value *out = kiln_array(b->arena, kiln_te_value, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != NULL)
            in[i] = b->out->value[n->in[i]->id];
    for (int k = 0; k < n->n_out; k++)
        out[k].type = type_of(b, n->out[k]);
    kiln_compute_cx cx = {
        .arena = b->arena, .node = n, .in = in, .out = out, .err = b->err};
    const kiln_status status = n->op->compute(n, &cx);
    if (status != KILN_OK) {
        kiln_note(b->err, "node '%s' (%s)", n->name, n->op->name);
        return status;
    }
    for (int k = 0; k < n->n_out; k++) {
        KILN_ASSERT(out[k].te != NULL, "%s made no output %d", n->op->name, k);
        b->out->value[n->out[k]->id] = out[k];
    }
    return KILN_OK;
}

/* A stage that several outputs would share, or that is an argument already, is copied;
 * so is one output of several of a stage. */
static bool needs_copy(const builder *b, const kiln_te_value *x) {
    if (x->te->kind == KILN_TE_PLACEHOLDER || x->te->n_out > 1)
        return true;
    for (size_t i = 0; i < b->arg.n; i++)
        if (b->arg.v[i] == x->te)
            return true;
    return false;
}

static kiln_status add_output(builder *b, const kiln_value *v) {
    kiln_te_value x = b->out->value[v->id];
    if (needs_copy(b, &x)) {
        const kiln_expr *index[KILN_MAX_AXES];
        int64_t dim[KILN_MAX_AXES];
        const int rank = kiln_type_physical(&x.type, dim);
        kiln_te *copy = kiln_te_begin(
            b->arena, kiln_format(b->arena, "%s.copy%zu", v->name, b->arg.n), rank,
            dim);
        for (int i = 0; i < rank; i++)
            index[i] = kiln_te_var(copy, i);
        const kiln_expr *body = kiln_x_read(b->arena, x.te, x.out, index, rank);
        copy->tag = "injective";
        KILN_TRY(kiln_te_end(copy, 1, &body, b->err));
        x.te = copy;
        x.out = 0;
    }
    push(b, &x, v, NULL);
    return KILN_OK;
}

kiln_status kiln_graph_compute(kiln_arena *a, const kiln_graph *g,
                               const kiln_layout *layout, bool trust_tails,
                               kiln_te_graph *out, kiln_err *err) {
    return kiln_graph_compute_packed(a, g, layout, NULL, trust_tails, out, err);
}

kiln_status kiln_graph_compute_packed(kiln_arena *a, const kiln_graph *g,
                                      const kiln_layout *layout,
                                      const kiln_op_def *const *packing,
                                      bool trust_tails, kiln_te_graph *out,
                                      kiln_err *err) {
    KILN_ASSERT(packing == NULL || layout != NULL, "'%s' is packed in no layout",
                g->name);
    builder b = {.arena = a,
                 .graph = g,
                 .layout = layout,
                 .packing = packing,
                 .trust_tails = trust_tails,
                 .out = out,
                 .err = err};
    *out = (kiln_te_graph){.value = kiln_array(a, kiln_te_value, g->values.n)};
    for (size_t i = 0; i < g->inputs.n; i++)
        KILN_TRY(placeholder(&b, g->inputs.v[i]));
    const int *uses = kiln_graph_count_uses(g, a);
    for (size_t i = 0; i < g->values.n; i++)
        if (kiln_value_is_const(g->values.v[i]) && uses[i] > 0)
            KILN_TRY(placeholder(&b, g->values.v[i]));
    out->n_inputs = b.arg.n;
    for (size_t i = 0; i < g->nodes.n; i++)
        KILN_TRY(add_node(&b, g->nodes.v[i]));
    for (size_t i = 0; i < g->outputs.n; i++)
        KILN_TRY(add_output(&b, g->outputs.v[i]));
    out->n_args = b.arg.n;
    KILN_ASSERT(out->n_args - out->n_inputs == g->outputs.n,
                "'%s' has %zu outputs, its stages %zu", g->name, g->outputs.n,
                out->n_args - out->n_inputs);
    out->arg = b.arg.v;
    out->arg_type = b.arg_type.v;
    out->arg_value = b.arg_value.v;
    out->arg_packing = b.arg_packing.v;
    return KILN_OK;
}
