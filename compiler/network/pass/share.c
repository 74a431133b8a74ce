/* share: concat, slices and other views get their places in the tensors that they are
 * parts of, and say what they mean; no step is left for them. */
#include "compiler/network/executable_internal.h"

static void means(kiln_net *n, const kiln_net_step *s, int out) {
    kiln_net_slot *slot = &n->slot.v[s->operand[s->n_read + out]];
    slot->means = s->group->node[0];
    slot->means_out = out;
    slot->means_in = s->operand;
}

static kiln_status share(kiln_net *n, const kiln_net_step *s, kiln_err *err) {
    int64_t offset[KILN_NET_MAX_PARTS] = {0};
    const kiln_node *node = s->group->node[0];
    const bool is_join = s->kind == KILN_NET_JOIN;
    const int whole = is_join ? s->operand[s->n_read] : s->operand[0];
    const kiln_layout *layout = &n->slot.v[whole].layout;
    const bool is_part =
        is_join || node->op == &kiln_op_slice || node->op == &kiln_op_split;
    if (is_part && !(is_join ? kiln_net_part_places(node, layout, offset)
                             : kiln_net_slice_places(node, layout, offset)))
        return kiln_fail(err, KILN_ERR_BUG, "step '%s' has parts without places",
                         s->name);
    for (int k = 0; is_part && k < (is_join ? node->n_in : node->n_out); k++)
        n->slot.v[s->operand[is_join ? k : s->n_read + k]].view_offset = offset[k];
    for (int k = 0; k < node->n_out; k++)
        means(n, s, k);
    return KILN_OK;
}

static bool is_shared(const kiln_net_step *s) {
    return s->kind == KILN_NET_VIEW || s->kind == KILN_NET_JOIN;
}

/* Steps that are left close up, and blocks name their partners anew. */
static void close_up(kiln_net *n) {
    int *now = kiln_array(n->arena, int, n->step.n);
    size_t kept = 0;
    for (size_t i = 0; i < n->step.n; i++) {
        now[i] = (int)kept;
        kept += !is_shared(&n->step.v[i]);
    }
    for (size_t i = 0; i < n->step.n; i++) {
        kiln_net_step s = n->step.v[i];
        s.partner = now[s.partner];
        if (!is_shared(&s))
            n->step.v[now[i]] = s;
    }
    n->step.n = kept;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    for (size_t i = 0; i < n->step.n; i++)
        if (is_shared(&n->step.v[i]))
            KILN_TRY(share(n, &n->step.v[i], err));
    close_up(n);
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_share = {
    .name = "share",
    .doc = "concat, slices and views become parts of other tensors",
    .needs = KILN_NET_LAID_OUT | KILN_NET_PLACED,
    .makes = KILN_NET_SHARED,
    .run = run,
};
