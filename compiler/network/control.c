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

static int add_choice(kiln_net *n, kiln_net_step_kind kind, const kiln_node *node,
                      int partner) {
    const kiln_net_step step = {.kind = kind,
                                .partner = partner,
                                .name =
                                    kiln_format(n->arena, "%s%s", n->path, node->name),
                                .op = node->op->name};
    kiln_vec_push(n->arena, &n->step, step);
    return (int)n->step.n - 1;
}

/* Ends the block: `before`, its LOOP or ELSE, goes on behind the END. */
static void end_block(kiln_net *n, const kiln_node *node, int begin, int before) {
    const int end = add_choice(n, KILN_NET_END, node, begin);
    n->step.v[before].partner = end;
}

void kiln_net_loops(const kiln_net *n, kiln_flow *out) {
    kiln_flow_loop *loop = kiln_array(n->arena, kiln_flow_loop, n->step.n);
    out->n_loops = 0;
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *begin = &n->step.v[n->step.v[i].partner];
        if (n->step.v[i].kind == KILN_NET_END && begin->kind == KILN_NET_LOOP)
            loop[out->n_loops++] = (kiln_flow_loop){n->step.v[i].partner, (int)i};
    }
    out->loop = loop;
}

/* ---- what goes in and comes out -------------------------------------------------- */

static int add_place(kiln_net *n, const kiln_value *v, const kiln_layout *layout) {
    kiln_type t = v->type;
    t.layout = *layout;
    const kiln_net_slot slot = {.place = KILN_NET_ARENA,
                                .bytes = kiln_type_bytes(&t),
                                .view_of = -1,
                                .layout = *layout,
                                .value = v};
    return kiln_net_add_slot(n, &slot);
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
        *slot = n->slot_of[v->id];
        if (*slot < 0)
            KILN_TRY(kiln_net_slot_as(n, v, &plain, slot, err));
    }
    return KILN_OK;
}

static kiln_status add_region(kiln_net *n, const kiln_node *node, const char *attr,
                              const int *in, const kiln_layout *layout, int *out,
                              kiln_err *err) {
    const char *path = kiln_format(n->arena, "%s%s.%s/", n->path, node->name, attr);
    return kiln_net_add_graph(n, kiln_node_attr(node, attr)->graph, path, in, layout,
                              out, err);
}

/* ---- if -------------------------------------------------------------------------- */

/* Output k of a branch, made where the node's output is: what a step of the branch
 * makes and nobody else has a place for; the rest is copied. */
static void give_output(kiln_net *n, const kiln_node *node, const kiln_graph *region,
                        int k, int from) {
    const int to = n->slot_of[node->out[k]->id];
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
static kiln_status add_branch(kiln_net *n, const kiln_node *node, const char *attr,
                              const kiln_layout *layout, kiln_err *err) {
    const kiln_graph *region = kiln_node_attr(node, attr)->graph;
    int *in = kiln_array(n->arena, int, region->inputs.n);
    int *out = kiln_array(n->arena, int, region->outputs.n);
    KILN_TRY(captured(n, node, attr, in, err));
    KILN_TRY(add_region(n, node, attr, in, layout, out, err));
    for (int k = 0; k < node->n_out; k++) {
        if (layout == NULL) {
            const kiln_layout chosen = n->slot.v[out[k]].layout;
            n->slot_of[node->out[k]->id] = add_place(n, node->out[k], &chosen);
        }
        give_output(n, node, region, k, out[k]);
    }
    return KILN_OK;
}

static kiln_status add_if(kiln_net *n, const kiln_node *node, kiln_err *err) {
    int *condition = kiln_array(n->arena, int, 1);
    kiln_layout *layout = kiln_array(n->arena, kiln_layout, node->n_out);
    KILN_TRY(kiln_net_slot_as(n, node->in[0], &plain, condition, err));
    const int begin = add_choice(n, KILN_NET_IF, node, 0);
    n->step.v[begin].operand = condition;
    n->step.v[begin].n_operands = n->step.v[begin].n_read = 1;
    const bool swaps = KILN_FAULT(if_swapped);
    KILN_TRY(add_branch(n, node, swaps ? "else_branch" : "then_branch", NULL, err));
    const int other = add_choice(n, KILN_NET_ELSE, node, 0);
    n->step.v[begin].partner = other;
    for (int k = 0; k < node->n_out; k++)
        layout[k] = n->slot.v[n->slot_of[node->out[k]->id]].layout;
    KILN_TRY(add_branch(n, node, swaps ? "then_branch" : "else_branch", layout, err));
    end_block(n, node, begin, other);
    return KILN_OK;
}

/* ---- scan ------------------------------------------------------------------------ */

typedef struct scan {
    const kiln_node *node;
    const kiln_graph *body;
    int n_state, n_scan;
    int *in, *out; /* slots of the body's inputs and outputs */
    int *sequence; /* slots of the sequences */
} scan;

/* Slots of what the body takes. The states get their first values. */
static kiln_status begin_scan(kiln_net *n, scan *s, kiln_err *err) {
    const kiln_node *node = s->node;
    for (int k = 0; k < node->n_out; k++)
        n->slot_of[node->out[k]->id] = add_place(n, node->out[k], &plain);
    for (int k = 0; k < s->n_state; k++) {
        int first = 0;
        KILN_TRY(kiln_net_slot_as(n, node->in[k], &plain, &first, err));
        s->in[k] = n->slot_of[node->out[k]->id];
        kiln_net_add_copy(n, KILN_NET_COPY, first, s->in[k], node->out[k]->name);
    }
    for (int k = 0; k < s->n_scan; k++) {
        const int at = s->n_state + k;
        KILN_TRY(kiln_net_slot_as(n, node->in[at], &plain, &s->sequence[k], err));
        s->in[at] = add_place(n, s->body->inputs.v[at], &plain);
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
        const int aside = add_place(n, s->body->outputs.v[k], &plain);
        kiln_net_add_copy(n, KILN_NET_COPY, s->out[k], aside,
                          s->body->outputs.v[k]->name);
        s->out[k] = aside;
    }
    for (int k = 0; k < s->n_state; k++)
        if (kiln_net_root(n, s->out[k]) != s->in[k] && !KILN_FAULT(scan_state))
            kiln_net_add_copy(n, KILN_NET_COPY, s->out[k], s->in[k],
                              s->node->out[k]->name);
}

static kiln_status add_scan(kiln_net *n, const kiln_node *node, kiln_err *err) {
    const kiln_graph *body = kiln_node_attr(node, "body")->graph;
    const int64_t count = node->op->region_runs(node);
    scan s = {.node = node,
              .body = body,
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
    const int begin = add_choice(n, KILN_NET_LOOP, node, 0);
    n->step.v[begin].count = count - (count > 1 && KILN_FAULT(loop_count));
    for (int k = 0; k < s.n_scan; k++)
        kiln_net_add_copy(n, KILN_NET_TAKE, s.sequence[k], s.in[s.n_state + k],
                          body->inputs.v[s.n_state + k]->name);
    KILN_TRY(add_region(n, node, "body", s.in,
                        kiln_array(n->arena, kiln_layout, node->n_out), s.out, err));
    for (int k = s.n_state; k < node->n_out; k++)
        kiln_net_add_copy(n, KILN_NET_PUT, s.out[k], n->slot_of[node->out[k]->id],
                          node->out[k]->name);
    hand_states_on(n, &s);
    end_block(n, node, begin, begin);
    return KILN_OK;
}

/* ---- operators ------------------------------------------------------------------- */

static const struct {
    const kiln_op_def *op;
    kiln_status (*add)(kiln_net *n, const kiln_node *node, kiln_err *err);
} controls[] = {{&kiln_op_if, add_if}, {&kiln_op_scan, add_scan}};
enum { N_CONTROLS = sizeof controls / sizeof controls[0] };

bool kiln_net_is_control(const kiln_node *node) {
    for (int i = 0; i < N_CONTROLS; i++)
        if (node->op == controls[i].op)
            return true;
    return false;
}

kiln_status kiln_net_add_control(kiln_net *n, const kiln_node *node, kiln_err *err) {
    for (int i = 0; i < N_CONTROLS; i++)
        if (node->op == controls[i].op)
            return controls[i].add(n, node, err);
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "'%s' runs no region", node->op->name);
}
