/* What nodes and graphs cost: multiply-adds, operations, bytes. Sums stop at INT64_MAX,
 * as a model may ask for any size. */
#include "compiler/graph/graph.h"

static int64_t add_capped(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t mul_capped(int64_t a, int64_t b) {
    return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

static void add_cost(kiln_cost *sum, const kiln_cost *c) {
    sum->muladds = add_capped(sum->muladds, c->muladds);
    sum->flops = add_capped(sum->flops, c->flops);
    sum->bytes = add_capped(sum->bytes, c->bytes);
}

static bool is_larger(const kiln_cost *a, const kiln_cost *b) {
    return a->flops != b->flops ? a->flops > b->flops : a->bytes > b->bytes;
}

/* The largest region, as often as it runs; false when the node has none. */
static bool region_cost(const kiln_node *n, kiln_cost *c) {
    bool has_region = false;
    *c = (kiln_cost){0};
    for (size_t i = 0; i < n->op->n_attr; i++) {
        if (n->op->attr[i].kind != KILN_ATTR_GRAPH || n->attr[i].graph == NULL)
            continue;
        has_region = true;
        kiln_cost one;
        kiln_graph_cost(n->attr[i].graph, &one);
        if (is_larger(&one, c))
            *c = one;
    }
    if (has_region && n->op->region_runs != NULL) {
        const int64_t runs = n->op->region_runs(n);
        *c = (kiln_cost){.muladds = mul_capped(c->muladds, runs),
                         .flops = mul_capped(c->flops, runs),
                         .bytes = mul_capped(c->bytes, runs)};
    }
    return has_region;
}

/* Bytes of an input that a node reads, once each: all of it, but a movement, such as a
 * gather, reads no more elements than it writes. */
static int64_t bytes_read(const kiln_node *n, const kiln_type *in, bool is_movement) {
    int64_t written = 0;
    for (int i = 0; i < n->n_out; i++)
        written = add_capped(written, kiln_type_elems(&n->out[i]->type));
    if (!is_movement || written >= kiln_type_elems(in))
        return kiln_type_bytes(in);
    return mul_capped(written, (int64_t)kiln_dtype_bytes(in->dtype));
}

void kiln_node_cost(const kiln_node *n, kiln_cost *c) {
    kiln_cost region;
    const bool has_region = region_cost(n, &region);
    *c = (kiln_cost){0};
    if (n->op->cost != NULL)
        n->op->cost(n, c);
    else if (!has_region) {
        for (int i = 0; i < n->n_out; i++)
            c->flops = add_capped(c->flops, kiln_type_elems(&n->out[i]->type));
    }
    c->bytes = 0;
    const bool is_movement =
        n->op->fuse == KILN_FUSE_INJECTIVE && n->n_out > 0 && c->flops == 0;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] != NULL)
            c->bytes =
                add_capped(c->bytes, bytes_read(n, &n->in[i]->type, is_movement));
    }
    for (int i = 0; i < n->n_out; i++)
        c->bytes = add_capped(c->bytes, kiln_type_bytes(&n->out[i]->type));
    add_cost(c, &region);
    KILN_ASSERT(c->muladds >= 0 && c->flops >= 0 && c->bytes >= 0,
                "node '%s' costs less than nothing", n->name);
}

void kiln_graph_cost(const kiln_graph *g, kiln_cost *c) {
    *c = (kiln_cost){0};
    for (size_t i = 0; i < g->nodes.n; i++) {
        kiln_cost one;
        kiln_node_cost(g->nodes.v[i], &one);
        add_cost(c, &one);
    }
}
