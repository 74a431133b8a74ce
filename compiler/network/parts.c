/* Concat, slices and pads without copies.
 *
 * Where an axis is the outermost that memory walks, blocks of channels included, a part
 * of a value is a run of its bytes: a slice is read where it lies, and what is put
 * together is made in its place of the whole. Parts begin at multiples of
 * KILN_NETWORK_ALIGN, as every tensor does. Zeros that a pad adds behind an axis are there
 * already where they fit into its tail lanes. */
#include "compiler/network/executable_internal.h"
#include "compiler/tensor/compute.h"
#include "base/fault.h"

#include <string.h>

/* Where `count` elements of an axis begin, in bytes; false: in several places, or where
 * no tensor may begin. */
static bool place_of(const kiln_type *t, int axis, int64_t begin, int64_t count,
                     int64_t *offset) {
    for (int i = 0; i < t->rank; i++) {
        const int outer = t->layout.n_order == 0 ? i : t->layout.order[i];
        if (outer == axis)
            break;
        if (t->dim[outer] > kiln_type_blocked(t, outer))
            return false;
    }
    const int64_t size = kiln_type_blocked(t, axis),
                  steps = (t->dim[axis] + size - 1) / size;
    if (steps == 0 || count == 0 || begin % size != 0 ||
        (count % size != 0 && begin + count != t->dim[axis]))
        return false;
    *offset = begin / size * (kiln_type_bytes(t) / steps);
    if (*offset > 0 && KILN_FAULT(part_offset))
        *offset -= KILN_NETWORK_ALIGN;
    return *offset % KILN_NETWORK_ALIGN == 0;
}

static kiln_type type_in(const kiln_value *v, const kiln_layout *layout) {
    KILN_ASSERT(layout != NULL, "'%s' lies in no layout", v->name);
    kiln_type t = v->type;
    t.layout = *layout;
    return t;
}

static int add_part(kiln_net *n, const kiln_value *v, const kiln_layout *layout,
                    int whole) {
    const kiln_type t = type_in(v, layout);
    const kiln_net_slot slot = {.place = KILN_NET_ARENA,
                                .bytes = kiln_type_bytes(&t),
                                .view_of = whole,
                                .layout = *layout,
                                .facts = n->slot.v[whole].facts,
                                .value = v};
    return kiln_net_add_slot(n, &slot);
}

/* ---- slices ---------------------------------------------------------------------- */

/* The one axis of which a slice takes a part, element after element. */
static bool find_slice(const kiln_node *node, int *axis, int64_t *begin) {
    KILN_ASSERT(node->op == &kiln_op_slice, "'%s' is read as a slice, is a %s",
                node->name, node->op->name);
    const int64_t *start = kiln_node_attr(node, "starts")->ints;
    const int64_t *step = kiln_node_attr(node, "steps")->ints;
    const kiln_type *x = &node->in[0]->type, *y = &node->out[0]->type;
    int n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (y->dim[i] > 1 && step[i] != 1)
            return false;
        if (x->dim[i] == y->dim[i])
            continue;
        *axis = i;
        *begin = start[i];
        n++;
    }
    return n == 1;
}

static bool find_split(const kiln_node *node, int *axis, int64_t *begin) {
    *begin = 0;
    return kiln_axis_normalize(kiln_node_attr(node, "axis")->i, node->in[0]->type.rank,
                               axis, NULL) == KILN_OK;
}

bool kiln_net_slice_places(const kiln_node *node, const kiln_layout *layout,
                           int64_t *offset) {
    int axis = 0;
    int64_t begin = 0;
    const kiln_type x = type_in(node->in[0], layout);
    const bool is_found = node->op == &kiln_op_slice   ? find_slice(node, &axis, &begin)
                          : node->op == &kiln_op_split ? find_split(node, &axis, &begin)
                                                       : false;
    for (int k = 0; is_found && k < node->n_out; k++) {
        const int64_t count = node->out[k]->type.dim[axis];
        if (!place_of(&x, axis, begin, count, &offset[k]))
            return false;
        begin += count;
    }
    return is_found;
}

bool kiln_net_add_slices(kiln_net *n, const kiln_net_step *fused) {
    KILN_ASSERT((n->facts & KILN_NET_SHARED) == 0,
                "slices of '%s' are added behind what shares memory", n->g->name);
    const kiln_node *node = fused->group->node[0];
    int64_t offset[KILN_NET_MAX_PARTS];
    const int from = n->walk->slot_of[node->in[0]->id];
    if (from < 0 || node->n_out > KILN_NET_MAX_PARTS)
        return false;
    const kiln_layout layout = n->slot.v[from].layout;
    if (!kiln_net_slice_places(node, &layout, offset))
        return false;
    for (int k = 0; k < node->n_out; k++)
        n->walk->slot_of[node->out[k]->id] = add_part(n, node->out[k], &layout, from);
    kiln_net_add_shared(n, KILN_NET_VIEW, fused, NULL);
    return true;
}

/* ---- pads ------------------------------------------------------------------------ */

static bool pads_with_zeros(const kiln_node *node) {
    const kiln_value *fill = node->n_in > 1 ? node->in[1] : NULL;
    static const unsigned char zeros[8] = {0};
    return kiln_node_attr(node, "mode")->i == 0 && /* constant */
           (fill == NULL ||
            (kiln_value_is_const(fill) &&
             memcmp(fill->data, zeros, kiln_dtype_bytes(fill->type.dtype)) == 0));
}

bool kiln_net_add_tail(kiln_net *n, const kiln_net_step *fused) {
    const kiln_node *node = fused->group->node[0];
    if (node->op != &kiln_op_pad || !pads_with_zeros(node))
        return false;
    const int from = n->walk->slot_of[node->in[0]->id];
    const int64_t *pads = kiln_node_attr(node, "pads")->ints;
    if (from < 0 || (n->slot.v[from].facts & KILN_FACT_TAIL_ZERO) == 0)
        return false;
    const kiln_layout layout = n->slot.v[from].layout;
    const kiln_type x = type_in(node->in[0], &layout);
    for (int i = 0; i < x.rank; i++) {
        const int64_t size = kiln_type_blocked(&x, i),
                      room = (size - x.dim[i] % size) % size;
        const int64_t behind = pads[x.rank + i];
        if (pads[i] != 0 || behind < 0 || behind > room)
            return false;
    }
    n->walk->slot_of[node->out[0]->id] = add_part(n, node->out[0], &layout, from);
    kiln_net_add_shared(n, KILN_NET_VIEW, fused, NULL);
    return true;
}

/* ---- concat ---------------------------------------------------------------------- */

/* Can what makes the value write to a place in the whole? Not what comes from outside,
 * is a view, has a place in another whole, or is wanted here in two. */
static bool is_movable(const kiln_net *n, const kiln_node *node, const kiln_value *v,
                       int slot) {
    int n_uses = 0;
    for (int k = 0; k < node->n_in; k++)
        n_uses += node->in[k] == v;
    return slot >= 0 && n_uses == 1 && n->slot.v[slot].place == KILN_NET_ARENA &&
           n->slot.v[slot].view_of < 0 && n->slot.v[slot].value == v;
}

/* The layout of the largest part that can be made in place. */
static const kiln_layout *layout_of(const kiln_net *n, const kiln_node *node) {
    const kiln_net_slot *best = NULL;
    for (int k = 0; k < node->n_in; k++) {
        const int slot = n->walk->slot_of[node->in[k]->id];
        if (is_movable(n, node, node->in[k], slot) &&
            (best == NULL || n->slot.v[slot].bytes > best->bytes))
            best = &n->slot.v[slot];
    }
    return best != NULL ? &best->layout : NULL;
}

bool kiln_net_part_places(const kiln_node *node, const kiln_layout *layout,
                          int64_t *offset) {
    const kiln_type y = type_in(node->out[0], layout);
    int64_t begin = 0;
    int axis = 0;
    if (kiln_axis_normalize(kiln_node_attr(node, "axis")->i, y.rank, &axis, NULL) !=
        KILN_OK)
        return false;
    for (int k = 0; k < node->n_in; k++) {
        const int64_t count = node->in[k]->type.dim[axis];
        if (!place_of(&y, axis, begin, count, &offset[k]))
            return false;
        begin += count;
    }
    return true;
}

/* false: half of the bytes and more would be copied all the same. */
static bool pays(const kiln_net *n, const kiln_node *node, const kiln_layout *layout) {
    const kiln_type y = type_in(node->out[0], layout);
    int64_t in_place = 0;
    for (int k = 0; k < node->n_in; k++) {
        const int slot = n->walk->slot_of[node->in[k]->id];
        if (is_movable(n, node, node->in[k], slot) &&
            kiln_layout_eq(&n->slot.v[slot].layout, layout))
            in_place += n->slot.v[slot].bytes;
    }
    return 2 * in_place > kiln_type_bytes(&y);
}

static kiln_status add_to(kiln_net *n, const kiln_node *node, int k, int whole,
                          int *part, kiln_err *err) {
    const kiln_layout layout = n->slot.v[whole].layout;
    const kiln_value *v = node->in[k];
    int slot = 0;
    KILN_TRY(kiln_net_slot_as(n, v, &layout, &slot, err));
    kiln_type t = type_in(v, &layout);
    t.facts = n->slot.v[slot].facts;
    if (!kiln_compute_has_zero_tails(&t))
        n->slot.v[whole].facts = 0;
    *part = slot;
    if (is_movable(n, node, v, slot)) {
        n->slot.v[slot].view_of = whole;
        return KILN_OK;
    }
    *part = add_part(n, v, &layout, whole);
    kiln_net_add_copy(n, KILN_NET_COPY, slot, *part, v->name);
    return KILN_OK;
}

/* The layout of the whole, by the greedy rule. false: a kernel makes it. */
static bool decide(const kiln_net *n, size_t at, kiln_layout *out) {
    const kiln_node *node = n->walk->fused[at].group->node[0];
    int64_t offset[KILN_NET_MAX_PARTS];
    if (node->n_in > KILN_NET_MAX_PARTS)
        return false;
    const kiln_layout *best = layout_of(n, node);
    if (best == NULL || !kiln_net_part_places(node, best, offset) ||
        !pays(n, node, best))
        return false;
    kiln_net_choice *choice = kiln_new(n->walk->notes, kiln_net_choice);
    choice->layout = kiln_arena_dup(n->walk->notes, best, sizeof *best);
    choice->n_layouts = 1;
    n->walk->choice[at] = choice;
    *out = *best;
    return true;
}

kiln_status kiln_net_add_concat(kiln_net *n, size_t at, bool *done, kiln_err *err) {
    KILN_ASSERT((n->facts & KILN_NET_SHARED) == 0,
                "parts of '%s' are joined behind what shares memory", n->g->name);
    const kiln_net_step *fused = &n->walk->fused[at];
    const kiln_net_choice *chosen = n->walk->choice[at];
    const kiln_node *node = fused->group->node[0];
    kiln_layout layout = {.n_order = 0};
    *done = false;
    if (chosen != NULL ? chosen->tmpl != NULL
                       : n->walk->notes == NULL || !decide(n, at, &layout))
        return KILN_OK;
    if (chosen != NULL)
        layout = chosen->layout[0];
    const kiln_value *v = node->out[0];
    const kiln_type y = type_in(v, &layout);
    const kiln_net_slot whole = {.place = KILN_NET_ARENA,
                                 .bytes = kiln_type_bytes(&y),
                                 .view_of = -1,
                                 .layout = y.layout,
                                 .facts = KILN_FACT_TAIL_ZERO, /* if all parts' are */
                                 .value = v};
    const int slot = kiln_net_add_slot(n, &whole);
    int *part = kiln_array(n->arena, int, node->n_in);
    n->walk->slot_of[v->id] = slot;
    for (int k = 0; k < node->n_in; k++)
        KILN_TRY(add_to(n, node, k, slot, &part[k], err));
    kiln_net_add_shared(n, KILN_NET_JOIN, fused, part);
    *done = true;
    return KILN_OK;
}
