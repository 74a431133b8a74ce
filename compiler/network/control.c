/* Control flow: regions' steps between those that choose and repeat (runtime/plan.h).
 *
 * A region is compiled like the whole graph, in its place among the steps. What it
 * captures lies where its maker put it. Both branches of an if make the node's outputs
 * in one place, in the layouts that the first one chose.
 *
 * A scan's states are copied to places of their own, which are the node's outputs. An
 * iteration takes an element of each sequence, runs the body, puts what is stacked, and
 * copies the next states over the old ones. */
#include "compiler/network/executable_internal.h"
#include "base/fault.h"

static const kiln_layout plain = {.n_order = 0};

/* ---- steps that choose and repeat ------------------------------------------------ */

/* The block's step, as fusion made it; partners have new numbers. */
static int add_block(kiln_net *n, size_t fused, int partner) {
    kiln_net_step step = n->walk->fused[fused];
    step.partner = partner;
    kiln_vec_push(n->arena, &n->step, step);
    return (int)n->step.n - 1;
}

/* ---- what goes in and comes out -------------------------------------------------- */

/* path: of the region whose value it is; NULL: of the one that is being laid out. */
static int add_place(kiln_net *n, const kiln_value *v, const char *path,
                     const kiln_layout *layout) {
    const kiln_net_slot slot = {.place = KILN_NET_ARENA,
                                .bytes = kiln_net_bytes_as(v, layout),
                                .view_of = -1,
                                .layout = *layout,
                                .value = v,
                                .path = path};
    return kiln_net_add_slot(n, &slot);
}

/* The steps behind a block's step, up to the one that ends them. */
static kiln_net_part region_of(const kiln_net *n, size_t block) {
    const kiln_net_step *step = &n->walk->fused[block];
    return (kiln_net_part){.g = kiln_node_attr(step->node, step->region)->graph,
                           .path = kiln_format(n->arena, "%s%s.%s/", step->path,
                                               step->node->name, step->region),
                           .begin = block + 1,
                           .end = (size_t)step->partner};
}

/* Values that a region captures, as they were made; constants row-major. */
static kiln_status captured(kiln_net *n, const kiln_node *node, const char *attr,
                            int *in, kiln_err *err) {
    const kiln_attr *region = kiln_node_attr(node, attr);
    size_t of_node = 0, of_region = 0;
    node->op->captures(node, (size_t)(region - node->attr), &of_node, &of_region);
    const size_t n_captured = region->graph->inputs.n - of_region;
    for (size_t i = 0; i < n_captured; i++) {
        const kiln_value *v = node->in[of_node + i];
        int *slot = &in[of_region + i];
        *slot = n->walk->slot_of[v->id];
        if (*slot < 0)
            KILN_TRY(kiln_net_slot_as(n, v, &plain, slot, err));
    }
    return KILN_OK;
}

/* ---- if -------------------------------------------------------------------------- */

/* Output k of a branch, made where the node's output is: what a step of the branch
 * makes and nobody else has a place for; the rest is copied. */
static void give_output(kiln_net *n, const kiln_node *node, const kiln_graph *region,
                        int k, int from) {
    const int to = n->walk->slot_of[node->out[k]->id];
    kiln_net_slot *made = &n->slot.v[from];
    if (made->place == KILN_NET_ARENA && made->view_of < 0 &&
        made->value == region->outputs.v[k]) {
        made->view_of = to;
        made->is_given = true;
    } else {
        kiln_net_add_copy(n, KILN_NET_COPY, from, to, node->out[k]->name);
    }
}

/* layout: of the outputs; NULL: the branch chooses, and the outputs get their places.
 */
static kiln_status add_branch(kiln_net *n, size_t block, const kiln_layout *layout,
                              kiln_err *err) {
    const kiln_node *node = n->walk->fused[block].node;
    const kiln_net_part region = region_of(n, block);
    int *in = kiln_array(n->arena, int, region.g->inputs.n);
    int *out = kiln_array(n->arena, int, region.g->outputs.n);
    KILN_TRY(captured(n, node, n->walk->fused[block].region, in, err));
    KILN_TRY(kiln_net_add_graph(n, &region, in, layout, out, err));
    for (int k = 0; k < node->n_out; k++) {
        if (layout == NULL) {
            const kiln_layout chosen = n->slot.v[out[k]].layout;
            n->walk->slot_of[node->out[k]->id] =
                add_place(n, node->out[k], NULL, &chosen);
        }
        give_output(n, node, region.g, k, out[k]);
    }
    return KILN_OK;
}

static kiln_status add_if(kiln_net *n, size_t at, kiln_err *err) {
    const kiln_node *node = n->walk->fused[at].node;
    const size_t otherwise = (size_t)n->walk->fused[at].partner;
    const size_t end = (size_t)n->walk->fused[otherwise].partner;
    int *condition = kiln_array(n->arena, int, 1);
    kiln_layout *layout = kiln_array(n->arena, kiln_layout, node->n_out);
    KILN_TRY(kiln_net_slot_as(n, node->in[0], &plain, condition, err));
    const int begin = add_block(n, at, 0);
    n->step.v[begin].operand = condition;
    n->step.v[begin].n_operands = n->step.v[begin].n_read = 1;
    KILN_TRY(add_branch(n, at, NULL, err));
    const int other = add_block(n, otherwise, 0);
    n->step.v[begin].partner = other;
    for (int k = 0; k < node->n_out; k++)
        layout[k] = n->slot.v[n->walk->slot_of[node->out[k]->id]].layout;
    KILN_TRY(add_branch(n, otherwise, layout, err));
    const int ends = add_block(n, end, begin); /* steps may move */
    n->step.v[other].partner = ends;
    return KILN_OK;
}

/* ---- scan ------------------------------------------------------------------------ */

typedef struct scan {
    const kiln_node *node;
    kiln_net_part body;
    int n_state, n_scan;
    int *in, *out; /* slots of the body's inputs and outputs */
    int *sequence; /* slots of the sequences */
} scan;

/* Slots of what the body takes. The states get their first values. */
static kiln_status begin_scan(kiln_net *n, scan *s, kiln_err *err) {
    const kiln_node *node = s->node;
    for (int k = 0; k < node->n_out; k++)
        n->walk->slot_of[node->out[k]->id] = add_place(n, node->out[k], NULL, &plain);
    for (int k = 0; k < s->n_state; k++) {
        int first = 0;
        KILN_TRY(kiln_net_slot_as(n, node->in[k], &plain, &first, err));
        s->in[k] = n->walk->slot_of[node->out[k]->id];
        kiln_net_add_copy(n, KILN_NET_COPY, first, s->in[k], node->out[k]->name);
    }
    for (int k = 0; k < s->n_scan; k++) {
        const int at = s->n_state + k;
        KILN_TRY(kiln_net_slot_as(n, node->in[at], &plain, &s->sequence[k], err));
        s->in[at] = add_place(n, s->body.g->inputs.v[at], s->body.path, &plain);
    }
    return captured(n, node, "body", s->in, err);
}

/* The next states replace the old ones all at once: one that is another's old value is
 * put aside first. */
static void hand_states_on(kiln_net *n, const scan *s) {
    for (int k = 0; k < s->n_state; k++) {
        bool is_state = false;
        for (int j = 0; j < s->n_state; j++)
            is_state |= j != k && kiln_net_root(n, s->out[k]) == s->in[j];
        if (!is_state)
            continue;
        const kiln_value *next = s->body.g->outputs.v[k];
        const int aside = add_place(n, next, s->body.path, &plain);
        kiln_net_add_copy(n, KILN_NET_COPY, s->out[k], aside, next->name);
        s->out[k] = aside;
    }
    for (int k = 0; k < s->n_state; k++)
        if (kiln_net_root(n, s->out[k]) != s->in[k] && !KILN_FAULT(scan_state))
            kiln_net_add_copy(n, KILN_NET_COPY, s->out[k], s->in[k],
                              s->node->out[k]->name);
}

static kiln_status add_scan(kiln_net *n, size_t at, kiln_err *err) {
    const kiln_net_step *fused = &n->walk->fused[at];
    const kiln_node *node = fused->node;
    const int64_t count = fused->count;
    scan s = {.node = node,
              .body = region_of(n, at),
              .n_state = (int)kiln_node_attr(node, "n_state")->i,
              .n_scan = (int)kiln_node_attr(node, "n_scan")->i,
              .in = kiln_array(n->arena, int, node->n_in),
              .out = kiln_array(n->arena, int, node->n_out),
              .sequence = kiln_array(n->arena, int, node->n_in)};
    if (count > KILN_NETWORK_MAX_RUNS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a sequence must have at most %d elements, has %lld",
                         KILN_NETWORK_MAX_RUNS, (long long)count);
    KILN_TRY(begin_scan(n, &s, err));
    const int begin = add_block(n, at, 0);
    n->step.v[begin].count = count - (count > 1 && KILN_FAULT(loop_count));
    for (int k = 0; k < s.n_scan; k++)
        kiln_net_add_copy(n, KILN_NET_TAKE, s.sequence[k], s.in[s.n_state + k],
                          s.body.g->inputs.v[s.n_state + k]->name);
    KILN_TRY(kiln_net_add_graph(
        n, &s.body, s.in, kiln_array(n->arena, kiln_layout, node->n_out), s.out, err));
    for (int k = s.n_state; k < node->n_out; k++)
        kiln_net_add_copy(n, KILN_NET_PUT, s.out[k], n->walk->slot_of[node->out[k]->id],
                          node->out[k]->name);
    hand_states_on(n, &s);
    const int ends = add_block(n, (size_t)fused->partner, begin); /* steps may move */
    n->step.v[begin].partner = ends;
    return KILN_OK;
}

kiln_status kiln_net_add_control(kiln_net *n, size_t at, kiln_err *err) {
    return n->walk->fused[at].kind == KILN_NET_IF ? add_if(n, at, err)
                                                  : add_scan(n, at, err);
}
