/* Importers of If and While, whose branches and bodies are functions. A constant
 * condition picks its branch, another one chooses between the results of both; loops
 * are unrolled, as often as they can run at most where data may end them. Switch and
 * Merge of old are tensorflow_op_switch.c. */
#include "compiler/frontend/masked_loop.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

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

kiln_status kiln_tf_read_condition(kiln_tf_cx *cx, kiln_value *v, bool *out) {
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

kiln_status kiln_tf_choose(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *cond,
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
        KILN_TRY(kiln_tf_read_condition(cx, cond, &is_true));
        KILN_TRY(kiln_tf_invoke(cx, n, branch[is_true], "", arg, n->n_in - 1, out[0]));
        kiln_tf_set_slots(cx, n, out[0], (int)count);
        return KILN_OK;
    }
    for (int i = 0; i < 2; i++)
        KILN_TRY(kiln_tf_invoke(cx, n, branch[i], i == 0 ? "else/" : "then/", arg,
                                n->n_in - 1, out[i]));
    out[2] = kiln_array(a, kiln_tf_slot, count + 1);
    KILN_TRY(kiln_tf_choose(cx, n, cond, out[1], out[0], (int)count, out[2]));
    kiln_tf_set_slots(cx, n, out[2], (int)count);
    return KILN_OK;
}

/* ---- While ------------------------------------------------------------------------ */

typedef struct loop {
    const kiln_tf_node *node;
    const kiln_tf_function *cond, *body;
    kiln_tf_slot *now, *result; /* what the next step reads; what the loop gives */
    kiln_masked_loop mask;
} loop;

/* Before a step. What is no bool is asked whether it is 0. */
static kiln_status goes_on(kiln_tf_cx *cx, loop *l, const char *step, bool *out) {
    kiln_compose c = kiln_tf_compose(cx, l->node);
    kiln_tf_slot *const made =
        kiln_array(&cx->common.scratch, kiln_tf_slot, l->cond->n_output + 1);
    KILN_TRY(kiln_tf_invoke(cx, l->node, l->cond, step, l->now, l->node->n_in, made));
    if (l->cond->n_output != 1 || made[0].value == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "function '%s' must give one tensor, the condition",
                            kiln_tf_show(cx, l->cond->name));
    kiln_value *const v = kiln_compose_cast(&c, made[0].value, KILN_BOOL);
    KILN_TRY(c.status);
    return kiln_masked_loop_ask(&l->mask, &c, v, false, out);
}

/* A list whose elements are what the step made of them where the loop came so far; one
 * that was not set was zeros. */
static kiln_status carry_items(kiln_tf_cx *cx, loop *l, const kiln_tf_items *made,
                               const kiln_tf_items *before, kiln_tf_slot *out) {
    kiln_compose c = kiln_tf_compose(cx, l->node);
    if (before == NULL || made->n != before->n)
        return kiln_tf_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "a loop that data may end must keep the length of its lists");
    kiln_tf_items *const items = kiln_new(&cx->common.scratch, kiln_tf_items);
    *items = *made;
    items->item = kiln_array(&cx->common.scratch, kiln_value *, made->n + 1);
    for (int i = 0; i < made->n; i++) {
        kiln_value *const was = before->item[i];
        kiln_carried v = {was, was};
        items->item[i] = was;
        if (made->item[i] == was)
            continue;
        if (was == NULL)
            v.now = v.result =
                kiln_compose_expand(&c, kiln_import_scalar(&cx->common, made->dtype, 0),
                                    made->item[i]->type.rank, made->item[i]->type.dim);
        KILN_TRY(c.status);
        KILN_TRY(kiln_masked_loop_carry(&l->mask, &c, made->item[i], &v));
        items->item[i] = v.result;
    }
    *out = (kiln_tf_slot){.items = items};
    return KILN_OK;
}

/* Behind a step. */
static kiln_status carry(kiln_tf_cx *cx, loop *l, const kiln_tf_slot *made, int i) {
    kiln_compose c = kiln_tf_compose(cx, l->node);
    if (l->mask.alive != NULL && made->items != NULL &&
        made->items != l->now[i].items) {
        KILN_TRY(carry_items(cx, l, made->items, l->now[i].items, &l->now[i]));
        l->result[i] = l->now[i];
        return KILN_OK;
    }
    if (l->mask.alive == NULL || made->value == NULL || l->now[i].value == NULL) {
        l->now[i] = l->result[i] = *made;
        return KILN_OK;
    }
    kiln_carried v = {l->now[i].value, l->result[i].value};
    KILN_TRY(kiln_masked_loop_carry(&l->mask, &c, made->value, &v));
    l->now[i].value = v.now;
    l->result[i].value = v.result;
    return KILN_OK;
}

kiln_status kiln_tf_import_while(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_arena *const a = &cx->common.scratch;
    loop l = {.node = n};
    bool is_on = false;
    kiln_tf_find_attr(cx, n, "output_shapes");
    KILN_TRY(need_function(cx, n, "cond", &l.cond));
    KILN_TRY(need_function(cx, n, "body", &l.body));
    KILN_TRY(need_slots(cx, n, 0, &l.now));
    if (l.body->n_output != (size_t)n->n_in)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "function '%s' must give what it takes, %d values, gives "
                            "%zu",
                            kiln_tf_show(cx, l.body->name), n->n_in, l.body->n_output);
    l.result = kiln_arena_dup(a, l.now, (size_t)(n->n_in + 1) * sizeof *l.now);
    for (int64_t t = 0;; t++) {
        const char *const step = kiln_format(a, "%" PRId64 "/", t);
        kiln_tf_slot *const made = kiln_array(a, kiln_tf_slot, n->n_in + 1);
        KILN_TRY(goes_on(cx, &l, step, &is_on));
        if (!is_on)
            break;
        KILN_TRY(kiln_tf_invoke(cx, n, l.body, step, l.now, n->n_in, made));
        l.now = kiln_arena_dup(a, l.now, (size_t)(n->n_in + 1) * sizeof *l.now);
        for (int i = 0; i < n->n_in; i++)
            KILN_TRY(carry(cx, &l, &made[i], i));
    }
    kiln_tf_set_slots(cx, n, l.result, n->n_in);
    return KILN_OK;
}
