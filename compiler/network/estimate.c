/* Estimates: a kernel takes as long as its arithmetic or as its memory, whichever is
 * more, and a call is not free.
 *
 *     arithmetic  multiply-adds, lanes of blocks that hold nothing included, at so many
 *                 a cycle as there are lanes in a block and ports; windows at the
 *                 rate of loads
 *     access      elements that lie in another order than they are made in, one by one
 *     memory      bytes as they lie, from the cache that holds them all
 *
 * As NeoCPU has it (ATC'19, section 3.3) these would be measured: see network_choose.h. */
#include "compiler/network/estimate.h"

#include "compiler/tensor/compute.h"

enum {
    FAR_LESS = 16, /* times: an input of so many elements less is no matter */
};
/* 4 GHz: no profile says how fast a cycle is. Estimates are compared with one another,
 * and with what was measured on a scale of their own (estimate.h). */
static const double ns_per_cycle = 0.25;
/* Multiply-adds of templates that keep no tile of sums in registers. */
static const double untiled = 4;
/* Of Winograd's algorithm, transforms beside its products. */
static const double transforms = 1.6;
/* Broadcasts from row-major images: elements of neighbouring channels are far apart. */
static const double far_channels = 1.04;
/* Columns as vectors, and where windows step over some of them. */
static const double columns_as_lanes = 1.5, strided_columns = 4;
/* Of an element that is moved by itself, in times a load and a store, and where both
 * layouts have blocks (kernels of the generic template on Zen 5, where these take 1.5
 * cycles: 24 x 80 x 80, 16 x 80 x 80). Some move in vectors. */
static const double scattered = 0.4, between_blocks = 0.87;

typedef struct subject {
    const kiln_profile *p;
    const kiln_op_work *w;
    const kiln_choice *c;
    const kiln_layout *layout;
} subject;

static kiln_type type_in(const kiln_value *v, const kiln_layout *layout) {
    kiln_type t = v->type;
    t.layout = *layout;
    return t;
}

/* The layout of an activation of the graph; NULL: it is none. */
static const kiln_layout *layout_of(const subject *s, const kiln_value *v) {
    const kiln_graph *g = s->w->graph;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.v[i] == v)
            return &s->layout[i];
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.v[i] == v)
            return &s->layout[g->inputs.n + i];
    return NULL;
}

static double lanes_of(const kiln_profile *p, const kiln_type *t) {
    const bool is_half = t->dtype == KILN_F16 || t->dtype == KILN_BF16;
    return (double)p->vector_bytes / (is_half ? 4 : (double)kiln_dtype_bytes(t->dtype));
}

static double at_most(double x, double y) { return x < y ? x : y; }
static double at_least(double x, double y) { return x > y ? x : y; }

static double move_cycles(const kiln_profile *p) {
    return 1.0 / p->core.load_ports + 1.0 / p->core.store_ports;
}

/* ---- memory ---------------------------------------------------------------------- */

/* Bytes a cycle of so many that are gone through. */
static double rate_of(const kiln_profile *p, double bytes) {
    return bytes <= (double)kiln_cache_l2(p) / 2      ? p->core.l2_rate
           : bytes <= (double)kiln_cache_reach(p) / 4 ? kiln_rate_behind_l2(p)
                                                      : p->core.memory_rate;
}

static double memory_cycles(const subject *s) {
    const kiln_graph *g = s->w->graph;
    double flowing = 0, constant = 0;
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        const kiln_layout *layout = layout_of(s, v);
        if (layout != NULL) {
            const kiln_type t = type_in(v, layout);
            flowing += (double)kiln_type_bytes(&t);
        } else if (kiln_value_is_const(v)) {
            constant += (double)kiln_type_bytes(&v->type);
        }
    }
    return flowing / rate_of(s->p, flowing) + constant / rate_of(s->p, constant);
}

/* ---- arithmetic ------------------------------------------------------------------ */

/* Lanes of its channels' blocks for each channel. */
static double waste_of(const kiln_type *t) {
    const int64_t block = kiln_layout_channel_block(&t->layout);
    if (block < 2 || t->rank < 2 || t->dim[1] == 0)
        return 1;
    const int64_t lanes = (t->dim[1] + block - 1) / block * block;
    return (double)lanes / (double)t->dim[1];
}

/* Where x and y of the anchor lie, as the group reads and writes it. */
static kiln_type type_of(const subject *s, const kiln_value *v) {
    static const kiln_layout plain = {.n_order = 0};
    const kiln_layout *layout = layout_of(s, v);
    const kiln_graph *g = s->w->graph;
    if (layout == NULL && v->def == s->w->workload.anchor) /* what is fused to it */
        layout = &s->layout[g->inputs.n];
    return type_in(v, layout != NULL ? layout : &plain);
}

static double contraction_cycles(const subject *s) {
    const kiln_node *n = s->w->workload.anchor;
    const kiln_type x = type_of(s, n->in[0]), y = type_of(s, n->out[0]);
    const double lanes = lanes_of(s->p, &y);
    const int64_t block = kiln_layout_channel_block(&y.layout);
    const bool is_conv = n->op == &kiln_op_conv || n->op == &kiln_op_conv_bytes;
    const bool is_window = is_conv && kiln_node_attr(n, "groups")->i == x.dim[1];
    double work = (double)s->w->cost.muladds * waste_of(&y);
    if (s->c->tmpl->takes == KILN_TAKES_ANY)
        return work * untiled / (lanes * s->p->core.fma_ports);
    if (s->c->tmpl->share != NULL)
        work *= transforms * kiln_template_share(s->c->tmpl, &s->w->workload,
                                                 &s->c->space, &s->c->config);
    if (block > 1)
        work *= lanes / at_most((double)block, lanes);
    if (is_window)
        return work / (lanes * s->p->core.load_ports);
    if (is_conv)
        work *= kiln_layout_is_plain(&x.layout) ? far_channels : waste_of(&x);
    return work / (lanes * s->p->core.fma_ports);
}

/* Pools: a load for each step. */
static double window_cycles(const subject *s) {
    const kiln_node *n = s->w->workload.anchor;
    const kiln_type x = type_of(s, n->in[0]), y = type_of(s, n->out[0]);
    const double lanes = lanes_of(s->p, &x);
    const kiln_attr *strides = kiln_node_attr(n, "strides");
    const int64_t block = kiln_layout_channel_block(&x.layout);
    double work = (double)s->w->cost.flops * waste_of(&y);
    if (block > 1)
        work *= lanes / at_most((double)block, lanes);
    else
        work *= strides->n > 0 && strides->ints[strides->n - 1] > 1 ? strided_columns
                                                                    : columns_as_lanes;
    return work / (lanes * s->p->core.load_ports);
}

/* Elements that are made in another order than the first result. */
static double access_cycles(const subject *s) {
    const kiln_graph *g = s->w->graph;
    const kiln_type y = type_in(g->outputs.v[0], &s->layout[g->inputs.n]);
    double cycles = 0;
    for (size_t i = 0; i < g->inputs.n + g->outputs.n; i++) {
        const bool is_read = i < g->inputs.n;
        const kiln_value *v = is_read ? g->inputs.v[i] : g->outputs.v[i - g->inputs.n];
        const kiln_type t = type_in(v, &s->layout[i]);
        if (kiln_layout_eq(&t.layout, &y.layout) ||
            (kiln_layout_is_plain(&t.layout) &&
             kiln_type_elems(&t) * FAR_LESS < kiln_type_elems(&y)))
            continue;
        cycles += scattered * move_cycles(s->p) * (double)kiln_type_elems(&t);
    }
    return cycles;
}

static double arithmetic_cycles(const subject *s) {
    const kiln_node *n = s->w->workload.anchor;
    const kiln_type *y = &s->w->graph->outputs.v[0]->type;
    if (n->op->fuse == KILN_FUSE_OUT_FUSABLE)
        return contraction_cycles(s);
    if (s->c->tmpl->takes == KILN_TAKES_ITS_OWN)
        return window_cycles(s);
    return (double)s->w->cost.flops / (lanes_of(s->p, y) * s->p->core.fma_ports) +
           (s->c->tmpl->takes == KILN_TAKES_ANY ? access_cycles(s) : 0);
}

double kiln_work_estimate(const kiln_profile *p, const kiln_op_work *w,
                          const kiln_choice *c, const kiln_layout *layout) {
    KILN_ASSERT(c->tmpl != NULL && layout != NULL && w->graph->outputs.n > 0,
                "what '%s' costs as nobody chose it", w->name);
    const subject s = {p, w, c, layout};
    return ns_per_cycle *
           (kiln_call_cycles(p) + at_least(arithmetic_cycles(&s), memory_cycles(&s)));
}

/* ---- conversions ----------------------------------------------------------------- */

double kiln_conversion_estimate(const kiln_profile *p, const kiln_type *from,
                                const kiln_type *to) {
    KILN_ASSERT(kiln_type_same_shape(from, to) && from->dtype == to->dtype,
                "a conversion to another type");
    if (kiln_type_same_places(from, to))
        return 0;
    const double bytes = (double)kiln_type_bytes(from) + (double)kiln_type_bytes(to);
    const double elems = at_least((double)kiln_type_stored_elems(from),
                                  (double)kiln_type_stored_elems(to));
    const double each = from->layout.n_blocks > 0 && to->layout.n_blocks > 0
                            ? between_blocks
                            : scattered;
    return ns_per_cycle * (kiln_call_cycles(p) + at_least(each * move_cycles(p) * elems,
                                                          bytes / rate_of(p, bytes)));
}

double kiln_copy_estimate(const kiln_profile *p, int64_t bytes) {
    KILN_ASSERT(bytes >= 0, "%lld bytes are moved", (long long)bytes);
    const double moved = 2 * (double)bytes;
    return ns_per_cycle * (kiln_call_cycles(p) + moved / rate_of(p, moved));
}
