/* What putting expressions in place of reads costs. Expressions are trees when code is
 * made: what is read k times is there k times, and a chain of n such nodes k^n times.
 */
#include "compiler/tensor/compute.h"

typedef struct counting {
    kiln_arena *arena;
    const kiln_te *const *in; /* placeholders, by the node's inputs; NULL: absent */
    int n_in;
    kiln_growth *sum; /* of the body that is walked */
    struct done *done;
} counting;

/* Stages of the node's own that have been counted. */
typedef struct done {
    const kiln_te *te;
    kiln_growth growth;
    struct done *next;
} done;

static const kiln_growth *count_stage(counting *c, const kiln_te *te);

static void add(kiln_growth *to, const kiln_growth *x, int n_in) {
    to->size += x->size;
    for (int i = 0; i < n_in; i++)
        to->reads[i] += x->reads[i];
}

static void count_node(void *user, const kiln_expr *e) {
    counting *c = user;
    c->sum->size++;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] == e->u.read.te) {
            c->sum->reads[i]++;
            return;
        }
    if (e->u.read.te->kind == KILN_TE_COMPUTE) {
        kiln_growth *sum = c->sum;
        const kiln_growth *inner = count_stage(c, e->u.read.te);
        c->sum = sum;
        add(sum, inner, c->n_in);
    }
}

static const kiln_growth *count_stage(counting *c, const kiln_te *te) {
    for (const done *d = c->done; d != NULL; d = d->next)
        if (d->te == te)
            return &d->growth;
    done *d = kiln_new(c->arena, done);
    d->te = te;
    d->growth.reads = kiln_array(c->arena, double, c->n_in + 1);
    for (int k = 0; k < te->n_out; k++) {
        c->sum = &d->growth;
        kiln_expr_visit(te->body[k], count_node, c);
    }
    d->next = c->done;
    c->done = d;
    return &d->growth;
}

static kiln_growth growth_of(kiln_arena *a, const kiln_node *n) {
    kiln_growth out = {.size = 1, .reads = kiln_array(a, double, n->n_in + 1)};
    kiln_te_value *in = kiln_array(a, kiln_te_value, n->n_in);
    const kiln_te **te = kiln_array(a, const kiln_te *, n->n_in);
    kiln_te_value value = {.type = n->out[0]->type};
    kiln_err err = {.status = KILN_OK};
    kiln_compute_cx cx = {.arena = a, .node = n, .in = in, .out = &value, .err = &err};
    for (int i = 0; i < n->n_in; i++) {
        int64_t dim[KILN_MAX_AXES];
        out.reads[i] = 1;
        if (n->in[i] == NULL)
            continue;
        const int rank = kiln_type_physical(&n->in[i]->type, dim);
        in[i].type = n->in[i]->type;
        in[i].te = te[i] = kiln_te_placeholder(
            a, n->in[i]->name, kiln_dtype_stored(n->in[i]->type.dtype), rank, dim);
    }
    /* What has no expression is refused where it is compiled. */
    if (n->op->compute == NULL || n->op->compute(n, &cx) != KILN_OK ||
        value.te->kind != KILN_TE_COMPUTE)
        return out;
    counting c = {.arena = a, .in = te, .n_in = n->n_in};
    return *count_stage(&c, value.te);
}

kiln_growth *kiln_graph_growth(kiln_arena *a, const kiln_graph *g) {
    kiln_growth *out = kiln_array(a, kiln_growth, g->nodes.n);
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op->fuse == KILN_FUSE_INJECTIVE && g->nodes.v[i]->n_out == 1)
            out[i] = growth_of(a, g->nodes.v[i]);
    return out;
}
