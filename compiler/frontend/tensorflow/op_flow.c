/* Importers of If and While, whose branches and bodies are functions. A constant
 * condition picks its branch, another one chooses between the results of both; loops
 * are unrolled, so that the number of their steps must be constant. Of old, Switch and
 * Merge: what hangs on the other branch is left out. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

/* Beyond that the unrolled graph is no use; the node limit of an import holds too. */
enum { MAX_STEPS = 4096 };

static kiln_status need_function(kiln_tf_cx *cx, const kiln_tf_node *n,
                                 const char *name, const kiln_tf_function **out) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    *out = a != NULL && a->has_func ? kiln_map_get(&cx->functions, a->func) : NULL;
    if (*out == NULL)
        return kiln_tf_fail(
            cx, KILN_ERR_PARSE,
            "attribute '%s' must name a function of the graph's library", name);
    return KILN_OK;
}

/* Operands from `first` on; in scratch. */
static kiln_status need_slots(kiln_tf_cx *cx, const kiln_tf_node *n, int first,
                              kiln_tf_slot **out) {
    *out = kiln_array(&cx->common.scratch, kiln_tf_slot, n->n_in + 1);
    for (int i = first; i < n->n_in; i++)
        KILN_TRY(kiln_tf_operand(cx, n, i, &(*out)[i - first]));
    return KILN_OK;
}

static kiln_status read_condition(kiln_tf_cx *cx, kiln_value *v, bool *out) {
    const double *c;
    size_t count;
    KILN_TRY(kiln_import_const_floats(&cx->common, v, "cond", &c, &count));
    if (count != 1)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "the condition must be one value, has %zu", count);
    *out = c[0] != 0;
    return KILN_OK;
}

/* ---- If --------------------------------------------------------------------------- */

/* Of both branches, what the condition says. */
static kiln_status choose(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *cond,
                          const kiln_tf_slot *yes, const kiln_tf_slot *no, int count,
                          kiln_tf_slot *out) {
    kiln_compose c = kiln_tf_compose(cx, n);
    if (cond->type.dtype != KILN_BOOL || cond->type.rank != 0)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "a condition that is not constant must be one bool, is %s",
                            kiln_type_text(&cx->common.scratch, &cond->type));
    for (int i = 0; i < count; i++) {
        if (yes[i].value == NULL || no[i].value == NULL ||
            !kiln_type_eq(&yes[i].value->type, &no[i].value->type))
            return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                                "output %d of both branches must be a tensor of one "
                                "shape, as the condition is not constant",
                                i);
        out[i].value = kiln_compose_where(&c, cond, yes[i].value, no[i].value);
    }
    return c.status;
}

kiln_status kiln_tf_import_if(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const char *const names[] = {"else_branch", "then_branch"};
    kiln_arena *const a = &cx->common.scratch;
    const kiln_tf_function *branch[2];
    kiln_value *cond;
    kiln_tf_slot *arg, *out[3];
    kiln_tf_find_attr(cx, n, "output_shapes");
    KILN_TRY(kiln_tf_need(cx, n, 0, "cond", &cond));
    KILN_TRY(need_slots(cx, n, 1, &arg));
    for (int i = 0; i < 2; i++) {
        KILN_TRY(need_function(cx, n, names[i], &branch[i]));
        out[i] = kiln_array(a, kiln_tf_slot, branch[i]->n_output + 1);
    }
    const size_t count = branch[0]->n_output;
    if (branch[1]->n_output != count)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "both branches must have as many outputs, have %zu and %zu",
                            branch[1]->n_output, count);
    if (kiln_value_is_const(cond)) {
        bool is_true = false;
        KILN_TRY(read_condition(cx, cond, &is_true));
        KILN_TRY(kiln_tf_invoke(cx, n, branch[is_true], "", arg, n->n_in - 1, out[0]));
        kiln_tf_set_slots(cx, n, out[0], (int)count);
        return KILN_OK;
    }
    for (int i = 0; i < 2; i++)
        KILN_TRY(kiln_tf_invoke(cx, n, branch[i], i == 0 ? "else/" : "then/", arg,
                                n->n_in - 1, out[i]));
    out[2] = kiln_array(a, kiln_tf_slot, count + 1);
    KILN_TRY(choose(cx, n, cond, out[1], out[0], (int)count, out[2]));
    kiln_tf_set_slots(cx, n, out[2], (int)count);
    return KILN_OK;
}

/* ---- While ------------------------------------------------------------------------ */

static kiln_status goes_on(kiln_tf_cx *cx, const kiln_tf_node *n,
                           const kiln_tf_function *cond, const kiln_tf_slot *state,
                           const char *step, bool *out) {
    kiln_tf_slot *const c =
        kiln_array(&cx->common.scratch, kiln_tf_slot, cond->n_output + 1);
    KILN_TRY(kiln_tf_invoke(cx, n, cond, step, state, n->n_in, c));
    if (cond->n_output != 1 || c[0].value == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "function '%s' must give one tensor, the condition",
                            kiln_tf_show(cx, cond->name));
    return read_condition(cx, c[0].value, out);
}

kiln_status kiln_tf_import_while(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_function *cond, *body;
    kiln_tf_slot *state;
    bool is_on = false;
    kiln_tf_find_attr(cx, n, "output_shapes");
    KILN_TRY(need_function(cx, n, "cond", &cond));
    KILN_TRY(need_function(cx, n, "body", &body));
    KILN_TRY(need_slots(cx, n, 0, &state));
    if (body->n_output != (size_t)n->n_in)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "function '%s' must give what it takes, %d values, gives "
                            "%zu",
                            kiln_tf_show(cx, body->name), n->n_in, body->n_output);
    for (int64_t t = 0;; t++) {
        const char *const step = kiln_format(&cx->common.scratch, "%" PRId64 "/", t);
        KILN_TRY(goes_on(cx, n, cond, state, step, &is_on));
        if (!is_on)
            break;
        if (t == MAX_STEPS)
            return kiln_tf_fail(cx, KILN_ERR_LIMIT, "a loop may have at most %d steps",
                                MAX_STEPS);
        kiln_tf_slot *const next =
            kiln_array(&cx->common.scratch, kiln_tf_slot, n->n_in + 1);
        KILN_TRY(kiln_tf_invoke(cx, n, body, step, state, n->n_in, next));
        state = next;
    }
    kiln_tf_set_slots(cx, n, state, n->n_in);
    return KILN_OK;
}

/* ---- Switch and Merge ------------------------------------------------------------- */

kiln_status kiln_tf_import_switch(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *cond;
    kiln_tf_slot slot;
    bool is_true = false;
    KILN_TRY(kiln_tf_need(cx, n, 1, "pred", &cond));
    KILN_TRY(kiln_tf_operand(cx, n, 0, &slot));
    KILN_TRY(read_condition(cx, cond, &is_true));
    const kiln_tf_slot dead = {.is_dead = true};
    const kiln_tf_slot out[] = {is_true ? dead : slot, is_true ? slot : dead};
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}

/* The first operand of a branch that is taken, and its number. */
kiln_status kiln_tf_import_merge(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_slot slot = {.is_dead = true};
    int i = 0;
    for (; i < n->n_in && slot.is_dead; i++)
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
    if (slot.is_dead)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "no operand comes of a branch that is taken");
    const kiln_tf_slot out[] = {
        slot, {.value = kiln_import_scalar(&cx->common, KILN_I32, i - 1)}};
    kiln_tf_set_slots(cx, n, out, 2);
    return KILN_OK;
}
