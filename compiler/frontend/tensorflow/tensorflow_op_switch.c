/* Importers of Switch and Merge, branches of TensorFlow 1. What hangs on a branch that a
 * constant condition does not take is left out. Where data decides, both branches are
 * computed, each value knows which it lies on (kiln_tf_branch), and Merge chooses. */
#include "compiler/frontend/compose.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

/* Both outputs are the operand, each on a branch of its own. */
static void part(kiln_tf_cx *cx, kiln_value *cond, const kiln_tf_slot *slot,
                 kiln_tf_slot out[2]) {
    for (int side = 0; side < 2; side++) {
        kiln_tf_branch *const b = kiln_new(&cx->common.scratch, kiln_tf_branch);
        *b = (kiln_tf_branch){cond, side == 1, cx->branch,
                              cx->branch == NULL ? 1 : cx->branch->depth + 1};
        out[side] = *slot;
        out[side].branch = b;
    }
}

kiln_status kiln_tf_import_switch(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *cond;
    kiln_tf_slot slot, out[2] = {{.is_dead = true}, {.is_dead = true}};
    bool is_true = false;
    KILN_TRY(kiln_tf_need(cx, n, 1, "pred", &cond));
    KILN_TRY(kiln_tf_operand(cx, n, 0, &slot));
    slot.branch = cx->branch;
    if (kiln_value_is_const(cond)) {
        KILN_TRY(kiln_tf_read_condition(cx, cond, &is_true));
        out[is_true] = slot;
    } else {
        part(cx, cond, &slot, out);
    }
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}

/* Are they the two branches of one condition? What lies around it is as good as the
 * other branch: constants need none. */
static bool are_opposite(const kiln_tf_branch *inner, const kiln_tf_branch *other) {
    if (other == inner->around)
        return true;
    return other != NULL && other->cond == inner->cond &&
           other->depth == inner->depth && other->side != inner->side;
}

/* Of two operands that are computed both. */
static kiln_status merge(kiln_tf_cx *cx, const kiln_tf_node *n,
                         const kiln_tf_slot in[2]) {
    const int depth[] = {in[0].branch == NULL ? 0 : in[0].branch->depth,
                         in[1].branch == NULL ? 0 : in[1].branch->depth};
    const int inner = depth[1] > depth[0];
    const kiln_tf_branch *const b = in[inner].branch;
    if (b == NULL || !are_opposite(b, in[1 - inner].branch))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "the operands must come of the two branches of one Switch; "
                            "export the model with control flow of TensorFlow 2 "
                            "(functions)");
    const int yes = b->side ? inner : 1 - inner; /* the operand of the true branch */
    kiln_tf_slot out[2] = {{0}, {0}};
    kiln_tf_slot place[2];
    for (int i = 0; i < 2; i++)
        place[i] =
            (kiln_tf_slot){.value = kiln_import_scalar(&cx->common, KILN_I32, i)};
    KILN_TRY(kiln_tf_choose(cx, n, b->cond, &in[yes], &in[1 - yes], 1, &out[0]));
    KILN_TRY(kiln_tf_choose(cx, n, b->cond, &place[yes], &place[1 - yes], 1, &out[1]));
    out[0].branch = out[1].branch = b->around;
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}

/* Else the first operand of a branch that is taken, and its number. */
kiln_status kiln_tf_import_merge(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_slot taken[2] = {{.is_dead = true}, {.is_dead = true}}, slot;
    int count = 0, first = 0;
    for (int i = 0; i < n->n_in; i++) {
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
        if (slot.is_dead)
            continue;
        if (count == 0)
            first = i;
        if (count < 2)
            taken[count] = slot;
        count++;
    }
    if (count == 2 && (taken[0].branch != NULL || taken[1].branch != NULL))
        return merge(cx, n, taken);
    if (count == 0)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "no operand comes of a branch that is taken");
    const kiln_tf_slot out[] = {
        taken[0],
        {.value = kiln_import_scalar(&cx->common, KILN_I32, first),
         .branch = taken[0].branch}};
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}
