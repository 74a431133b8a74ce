/* What must hold of an executable graph, fact by fact. What of it needs the whole walk
 * over memory is in network_check.c. */
#include "compiler/network/executable_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct verifier {
    const kiln_net *n;
    kiln_arena scratch;
    bool *is_made; /* by tensor, of those that have memory of their own */
    kiln_err *err;
} verifier;

static bool has(const verifier *v, unsigned fact) { return (v->n->facts & fact) != 0; }

/* Behind kiln_fail: where in the text, if it was read from one. */
static kiln_status in_line(verifier *v, int line) {
    if (line > 0)
        kiln_note(v->err, "reading line %d", line);
    return KILN_ERR_BUG;
}

#define fail(v, line, ...)                                                             \
    (kiln_fail((v)->err, KILN_ERR_BUG, __VA_ARGS__), in_line((v), (line)))

static bool is_shared(const kiln_net_step *s) {
    return s->kind == KILN_NET_VIEW || s->kind == KILN_NET_JOIN;
}

/* ---- steps over values: FUSED ---------------------------------------------------- */

/* One graph, the whole or a region, as far as its steps have been gone through. */
typedef struct stage {
    const kiln_graph *g;
    const char *path;
    bool *is_done; /* by node->index */
    bool *is_made; /* by value id */
} stage;

static kiln_status verify_graph(verifier *v, const kiln_graph *g, const char *path,
                                size_t begin, size_t end);

static kiln_status do_node(verifier *v, stage *s, const kiln_net_step *step,
                           const kiln_node *node) {
    if (node->graph != s->g)
        return fail(v, step->line,
                    "step '%s' has node '%s', which is not of graph '%s'", step->name,
                    node->name, s->g->name);
    if (s->is_done[node->index])
        return fail(v, step->line, "node '%s' is in step '%s' and in another",
                    node->name, step->name);
    for (int k = 0; k < node->n_in; k++) {
        const kiln_value *x = node->in[k];
        if (x != NULL && !kiln_value_is_const(x) && !s->is_made[x->id])
            return fail(v, step->line, "step '%s' reads '%s' before it is made",
                        step->name, x->name);
    }
    for (int k = 0; k < node->n_out; k++)
        s->is_made[node->out[k]->id] = true;
    s->is_done[node->index] = true;
    return KILN_OK;
}

/* Does the step at `at` begin a block whose steps' partners agree, of an operator that
 * runs such? */
static bool is_block(const kiln_net *n, size_t at, size_t end) {
    const kiln_net_step *s = &n->step.v[at];
    const size_t partner = (size_t)s->partner;
    if (s->node == NULL ||
        s->node->op != (s->kind == KILN_NET_LOOP ? &kiln_op_scan : &kiln_op_if) ||
        s->region == NULL || s->partner < 0 || partner <= at || partner >= end)
        return false;
    if (s->kind == KILN_NET_LOOP)
        return n->step.v[partner].kind == KILN_NET_END &&
               (size_t)n->step.v[partner].partner == at;
    const kiln_net_step *other = &n->step.v[partner];
    return other->kind == KILN_NET_ELSE && other->region != NULL &&
           strcmp(other->region, s->region) != 0 && other->partner > s->partner &&
           (size_t)other->partner < end &&
           n->step.v[other->partner].kind == KILN_NET_END &&
           (size_t)n->step.v[other->partner].partner == at;
}

static kiln_status verify_region(verifier *v, const kiln_net_step *step, size_t begin) {
    const kiln_attr *region = kiln_node_attr(step->node, step->region);
    if (region == NULL || region->graph == NULL)
        return fail(v, step->line, "step '%s' has no region '%s'", step->name,
                    step->region);
    return verify_graph(v, region->graph,
                        kiln_format(&v->scratch, "%s%s.%s/", step->path,
                                    step->node->name, step->region),
                        begin, (size_t)step->partner);
}

static kiln_status verify_block(verifier *v, stage *s, size_t at, size_t end) {
    const kiln_net_step *step = &v->n->step.v[at];
    if (!is_block(v->n, at, end))
        return fail(v, step->line, "step '%s' begins no block", step->name);
    KILN_TRY(do_node(v, s, step, step->node));
    KILN_TRY(verify_region(v, step, at + 1));
    return step->kind == KILN_NET_LOOP ? KILN_OK
                                       : verify_region(v, &v->n->step.v[step->partner],
                                                       (size_t)step->partner + 1);
}

static kiln_status verify_choice(verifier *v, const kiln_net_step *step) {
    const kiln_graph *part = kiln_group_graph(&v->scratch, step->g, step->group, NULL);
    kiln_workload w;
    if (part->outputs.n == 0)
        return KILN_OK; /* nobody reads it */
    if (step->choice == NULL || step->choice->tmpl == NULL)
        return fail(v, step->line, "step '%s' has no template", step->name);
    if (kiln_workload_of(part, &w, NULL) == KILN_OK &&
        kiln_template_fits(step->choice->tmpl, &w,
                           kiln_net_profile_of(v->n, step->choice->tmpl)))
        return KILN_OK;
    return fail(v, step->line, "step '%s' has template '%s', which does not take it",
                step->name, step->choice->tmpl->name);
}

static kiln_status verify_fused(verifier *v, stage *s, size_t at) {
    const kiln_net_step *step = &v->n->step.v[at];
    if (step->group == NULL || (step->kind != KILN_NET_CALL && !is_shared(step)))
        return fail(v, step->line, "step '%s' has no nodes", step->name);
    for (int i = 0; i < step->group->n; i++)
        if (step->group->node[i]->op->captures != NULL)
            return fail(v, step->line, "node '%s' runs regions and must begin a block",
                        step->group->node[i]->name);
    for (int i = 0; i < step->group->n; i++)
        KILN_TRY(do_node(v, s, step, step->group->node[i]));
    const kiln_arena_mark mark = kiln_arena_save(&v->scratch);
    kiln_status st = KILN_OK;
    if (step->kind == KILN_NET_CALL && has(v, KILN_NET_CHOSEN))
        st = verify_choice(v, step);
    kiln_arena_rewind(&v->scratch, mark);
    return st;
}

static kiln_status verify_graph(verifier *v, const kiln_graph *g, const char *path,
                                size_t begin, size_t end) {
    stage s = {.g = g,
               .path = path,
               .is_done = kiln_array(&v->scratch, bool, g->nodes.n),
               .is_made = kiln_array(&v->scratch, bool, g->values.n)};
    for (size_t i = 0; i < g->inputs.n; i++)
        s.is_made[g->inputs.v[i]->id] = true;
    for (size_t i = begin; i < end; i = kiln_net_step_behind(v->n->step.v, i)) {
        const kiln_net_step_kind kind = v->n->step.v[i].kind;
        if (kind == KILN_NET_ELSE || kind == KILN_NET_END)
            return fail(v, v->n->step.v[i].line, "step '%s' ends no block",
                        v->n->step.v[i].name);
        KILN_TRY(kind == KILN_NET_IF || kind == KILN_NET_LOOP
                     ? verify_block(v, &s, i, end)
                     : verify_fused(v, &s, i));
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!s.is_done[i])
            return fail(v, 0, "node '%s' of graph '%s' is in no step",
                        g->nodes.v[i]->name, g->name);
    return KILN_OK;
}

/* ---- tensors: LAID_OUT and on ---------------------------------------------------- */

static kiln_status verify_part(verifier *v, int i) {
    const kiln_net *n = v->n;
    const kiln_net_slot *s = &n->slot.v[i], *of = &n->slot.v[s->view_of];
    if (s->bytes > of->bytes)
        return fail(v, s->line,
                    "tensor %d, '%s', is larger than tensor %d, which it is "
                    "in",
                    i, s->value->name, s->view_of);
    if (has(v, KILN_NET_SHARED) &&
        (s->view_offset < 0 || s->view_offset > of->bytes - s->bytes))
        return fail(v, s->line,
                    "tensor %d, '%s', lies at byte %" PRId64 " of tensor %d, which has "
                    "%" PRId64 " bytes",
                    i, s->value->name, s->view_offset, s->view_of, of->bytes);
    return KILN_OK;
}

/* References first: all that comes later follows them. */
static kiln_status verify_references(verifier *v) {
    const kiln_net *n = v->n;
    for (size_t i = 0; i < n->slot.n; i++) {
        size_t steps = 0;
        for (int at = (int)i; at >= 0; at = n->slot.v[at].view_of)
            if (n->slot.v[at].view_of >= (int)n->slot.n || steps++ > n->slot.n)
                return fail(v, n->slot.v[i].line,
                            "tensor %zu, '%s', is in no tensor that there is", i,
                            n->slot.v[i].value->name);
        const kiln_net_slot *s = &n->slot.v[i];
        for (int k = 0; s->means != NULL && k < s->means->n_in; k++)
            if (s->means_in[k] >= (int)n->slot.n)
                return fail(v, s->line, "tensor %zu, '%s', means none that there is", i,
                            s->value->name);
        if (s->means != NULL && s->means->out[s->means_out] != s->value)
            return fail(v, s->line, "tensor %zu, '%s', means another value", i,
                        s->value->name);
    }
    for (size_t i = 0; i < n->port.n; i++)
        if (n->port.v[i].slot < 0 || (size_t)n->port.v[i].slot >= n->slot.n)
            return fail(v, 0, "'%s' is no tensor that there is", n->port.v[i].name);
    if (n->n_inputs != n->g->inputs.n || n->n_outputs != n->g->outputs.n)
        return fail(v, 0,
                    "graph '%s' has %zu inputs and %zu outputs, the executable "
                    "%" PRIu32 " and %" PRIu32,
                    n->g->name, n->g->inputs.n, n->g->outputs.n, n->n_inputs,
                    n->n_outputs);
    return KILN_OK;
}

static kiln_status verify_slot(verifier *v, int i) {
    const kiln_net_slot *s = &v->n->slot.v[i];
    const kiln_type t = kiln_net_type_of(s);
    const uint32_t ports =
        s->place == KILN_NET_INPUT ? v->n->n_inputs : v->n->n_outputs;
    if (s->bytes != kiln_type_bytes(&t))
        return fail(v, s->line,
                    "tensor %d, '%s', has %" PRId64 " bytes, its type "
                    "%" PRId64,
                    i, s->value->name, s->bytes, kiln_type_bytes(&t));
    if ((s->place == KILN_NET_INPUT || s->place == KILN_NET_OUTPUT) &&
        s->index >= ports)
        return fail(v, s->line,
                    "tensor %d, '%s', is input or output %" PRIu32 " of %" PRIu32, i,
                    s->value->name, s->index, ports);
    if (s->device < 0 || (s->device > 0 && (size_t)s->device >= v->n->device.n))
        return fail(v, s->line, "tensor %d, '%s', is on no device that there is", i,
                    s->value->name);
    if (s->place == KILN_NET_OUTPUT && !has(v, KILN_NET_PLACED))
        return fail(v, s->line, "tensor %d, '%s', has a place too early", i,
                    s->value->name);
    return s->view_of >= 0 ? verify_part(v, i) : KILN_OK;
}

/* ---- steps over tensors ---------------------------------------------------------- */

/* How many tensors a step of the kind reads and writes; -1: as many as it likes. */
static const struct {
    int n_read, n_written;
} shape[KILN_NET_N_KINDS] = {
    [KILN_NET_CALL] = {-1, -1}, [KILN_NET_COPY] = {1, 1}, [KILN_NET_IF] = {1, 0},
    [KILN_NET_ELSE] = {0, 0},   [KILN_NET_LOOP] = {0, 0}, [KILN_NET_END] = {0, 0},
    [KILN_NET_TAKE] = {1, 1},   [KILN_NET_PUT] = {1, 1},  [KILN_NET_VIEW] = {-1, -1},
    [KILN_NET_JOIN] = {-1, 1},  [KILN_NET_WAIT] = {0, 0},
};

static kiln_status verify_operands(verifier *v, const kiln_net_step *s) {
    const int n_written = s->n_operands - s->n_read;
    const bool is_right =
        (shape[s->kind].n_read < 0 || shape[s->kind].n_read == s->n_read) &&
        (shape[s->kind].n_written < 0 || shape[s->kind].n_written == n_written);
    if (!is_right)
        return fail(v, s->line, "step '%s' reads %d tensors and writes %d", s->name,
                    s->n_read, n_written);
    for (int k = 0; k < s->n_operands; k++)
        if (s->operand[k] >= (int)v->n->slot.n ||
            (s->operand[k] < 0 && (!is_shared(s) || k >= s->n_read)))
            return fail(v, s->line, "step '%s' has operand %d, which is no tensor",
                        s->name, k);
    for (int k = 0; k < s->n_takeable; k++) {
        bool is_read = false;
        for (int i = 0; i < s->n_read; i++)
            is_read = is_read || s->operand[i] == s->takeable[k];
        if (!is_read)
            return fail(v, s->line, "step '%s' takes what it does not read", s->name);
    }
    return KILN_OK;
}

static kiln_status verify_types(verifier *v, const kiln_net_step *s, bool is_open) {
    const kiln_net *n = v->n;
    if (s->kernel < 0 || (size_t)s->kernel >= n->kernel.n)
        return fail(v, s->line, "step '%s' calls no kernel that there is", s->name);
    const kiln_network_kernel *k = &n->kernel.v[s->kernel];
    if (s->n_operands != k->n_operands || s->n_read != k->n_operands - k->n_written)
        return fail(
            v, s->line,
            "step '%s' gives %d operands, %d of them to read; its kernel has %d "
            "and %d",
            s->name, s->n_operands, s->n_read, k->n_operands,
            k->n_operands - k->n_written);
    for (int i = 0; i < s->n_operands && !is_open; i++) {
        const kiln_type t = kiln_net_type_of(&n->slot.v[s->operand[i]]);
        if (!kiln_net_same_bytes(&k->operand[i], &t))
            return fail(v, s->line, "operand %d of step '%s' is %s, its kernel has %s",
                        i, s->name, kiln_type_text(&v->scratch, &t),
                        kiln_type_text(&v->scratch, &k->operand[i]));
    }
    return KILN_OK;
}

static bool is_outside(kiln_net_place place) {
    return place == KILN_NET_INPUT || place == KILN_NET_PARAM ||
           place == KILN_NET_PACKED;
}

/* Before it is on devices a step's is 0, which need not be there yet. */
static kiln_status verify_device(verifier *v, const kiln_net_step *s) {
    const kiln_net *n = v->n;
    const bool is_there = has(v, KILN_NET_ON_DEVICES)
                              ? s->device >= 0 && (size_t)s->device < n->device.n
                              : s->device == 0;
    if (!is_there)
        return fail(v, s->line, "step '%s' runs on no device that there is", s->name);
    if (s->kind != KILN_NET_WAIT)
        return KILN_OK;
    if (s->partner < 0 || (size_t)s->partner >= n->step.n ||
        n->step.v[s->partner].n_operands == 0 ||
        n->step.v[s->partner].kind == KILN_NET_IF)
        return fail(v, s->line, "step '%s' waits for step %d, which does no work",
                    s->name, s->partner);
    return KILN_OK;
}

static kiln_status verify_step(verifier *v, const kiln_net_step *s) {
    const kiln_net *n = v->n;
    KILN_TRY(verify_operands(v, s));
    if (is_shared(s) && (s->group == NULL || has(v, KILN_NET_SHARED)))
        return fail(v, s->line, "step '%s' is a view or a join, and must be none",
                    s->name);
    if (is_shared(s) && (s->n_read != s->group->node[0]->n_in ||
                         s->n_operands - s->n_read != s->group->node[0]->n_out))
        return fail(v, s->line, "step '%s' has not its node's inputs and results",
                    s->name);
    if (s->kind == KILN_NET_CALL)
        KILN_TRY(verify_types(v, s, false));
    KILN_TRY(verify_device(v, s));
    for (int k = 0; k < s->n_operands; k++) {
        if (s->operand[k] < 0)
            continue;
        const int root = kiln_net_root(n, s->operand[k]);
        const bool is_there = is_outside(n->slot.v[root].place);
        if (k >= s->n_read && is_there && !is_shared(s))
            return fail(v, s->line, "step '%s' writes '%s', which is given", s->name,
                        n->slot.v[root].value->name);
        if (k < s->n_read && !is_there && !v->is_made[root])
            return fail(v, s->line,
                        "step '%s' reads tensor %d, '%s', before it is made", s->name,
                        s->operand[k], n->slot.v[s->operand[k]].value->name);
        v->is_made[root] = v->is_made[root] || k >= s->n_read;
    }
    return KILN_OK;
}

static kiln_status verify_tensors(verifier *v) {
    const kiln_net *n = v->n;
    v->is_made = kiln_array(&v->scratch, bool, n->slot.n);
    KILN_TRY(verify_references(v));
    for (size_t i = 0; i < n->slot.n; i++)
        KILN_TRY(verify_slot(v, (int)i));
    for (size_t i = 0; i < n->open.n; i++) {
        KILN_TRY(verify_operands(v, &n->open.v[i]));
        KILN_TRY(verify_device(v, &n->open.v[i]));
        if (n->open.v[i].kind == KILN_NET_CALL)
            KILN_TRY(verify_types(v, &n->open.v[i], true));
        if (n->open.v[i].n_operands != 2)
            return fail(v, n->open.v[i].line, "step '%s' packs more than one constant",
                        n->open.v[i].name);
    }
    for (size_t i = 0; i < n->step.n; i++)
        KILN_TRY(verify_step(v, &n->step.v[i]));
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const kiln_net_port *p = &n->port.v[n->n_inputs + i];
        const kiln_net_slot *root = &n->slot.v[kiln_net_root(n, p->slot)];
        if (has(v, KILN_NET_PLACED) &&
            (root->place != KILN_NET_OUTPUT || root->index != i))
            return fail(v, root->line, "output '%s' is not made in the caller's memory",
                        p->name);
    }
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

/* A fact holds only where those hold that its pass needs. */
static kiln_status verify_facts(verifier *v) {
    for (int i = 0; kiln_net_pass_at(i) != NULL; i++) {
        const kiln_net_pass *p = kiln_net_pass_at(i);
        if (has(v, p->makes) && (p->needs & ~v->n->facts) != 0)
            return fail(v, 0, "what pass '%s' makes holds, what it needs does not",
                        p->name);
    }
    return KILN_OK;
}

/* No arena is larger than all that may lie in it. */
static kiln_status verify_room(verifier *v) {
    uint64_t bytes = 0;
    if (!has(v, KILN_NET_PLANNED))
        return KILN_OK;
    for (size_t i = 0; i < v->n->slot.n; i++)
        bytes += (uint64_t)v->n->slot.v[i].bytes + KILN_NETWORK_ALIGN;
    return v->n->arena_bytes >= 0 && (uint64_t)v->n->arena_bytes <= bytes
               ? KILN_OK
               : fail(v, 0,
                      "the arena has %" PRId64 " bytes, all tensors together %" PRIu64,
                      v->n->arena_bytes, bytes);
}

static kiln_status verify(verifier *v) {
    KILN_TRY(verify_facts(v));
    KILN_TRY(verify_room(v));
    if (has(v, KILN_NET_LAID_OUT))
        return verify_tensors(v);
    return has(v, KILN_NET_FUSED) ? verify_graph(v, v->n->g, "", 0, v->n->step.n)
                                  : KILN_OK;
}

kiln_status kiln_net_verify(const kiln_net *n, kiln_err *err) {
    verifier v = {.n = n, .err = err};
    const kiln_status st = verify(&v);
    kiln_arena_fini(&v.scratch);
    if (st != KILN_OK) {
        kiln_note(err, "holding the steps of '%s' against one another", n->g->name);
        return st;
    }
    return has(&v, KILN_NET_PLANNED) ? kiln_net_check(n, err) : KILN_OK;
}
