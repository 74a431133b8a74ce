/* Loops that data may end; see masked_loop.h. */
#include "compiler/frontend/masked_loop.h"

#include <string.h>

typedef enum verdict { NEVER, ALWAYS, BOUNDED, OPEN } verdict;

/* What is known of a condition: BOUNDED, where a part of it is known that may be false
 * another time. */
static verdict judge(const kiln_value *v) {
    const kiln_node *n = v->def;
    if (kiln_value_is_const(v))
        return *(const unsigned char *)v->data != 0 ? ALWAYS : NEVER;
    if (n == NULL)
        return OPEN;
    if (n->op == &kiln_op_reshape || n->op == &kiln_op_identity)
        return judge(n->in[0]);
    if (n->op != &kiln_op_logical_and)
        return OPEN;
    const verdict a = judge(n->in[0]), b = judge(n->in[1]);
    if (a == NEVER || b == NEVER)
        return NEVER;
    return a == OPEN && b == OPEN ? OPEN : BOUNDED;
}

/* The condition, where inputs that are fixed for the import decide it. */
static bool is_decided(kiln_import_cx *cx, kiln_value *cond, bool *is_true) {
    kiln_err *const err = cx->err;
    kiln_err own = {0};
    kiln_tensor t;
    cx->err = &own;
    const kiln_status st = kiln_import_const(cx, cond, "condition", &t);
    cx->err = err;
    if (st != KILN_OK)
        return false;
    *is_true = *(const unsigned char *)t.data != 0;
    return true;
}

static kiln_status refuse_steps(kiln_compose *c, int most, const char *why) {
    return kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                     "the loop runs more than %d times; at most so many are written "
                     "out%s",
                     most, why);
}

static kiln_status refuse_open(kiln_compose *c, kiln_value *cond) {
    kiln_tensor t;
    KILN_TRY(kiln_import_const(c->cx, cond, "condition", &t));
    return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                     "nothing says how often the loop runs at most");
}

kiln_status kiln_masked_loop_ask(kiln_masked_loop *l, kiln_compose *c, kiln_value *cond,
                                 bool has_bound, bool *goes_on) {
    kiln_import_cx *const cx = c->cx;
    if (cond->type.dtype != KILN_BOOL || kiln_type_elems(&cond->type) != 1)
        return kiln_fail(cx->err, KILN_ERR_SHAPE, "a condition must be one bool, is %s",
                         kiln_type_text(&cx->scratch, &cond->type));
    const verdict v = judge(cond);
    *goes_on = v != NEVER;
    if (v == NEVER)
        return KILN_OK;
    if (l->n_steps++ == KILN_LOOP_STEPS)
        return refuse_steps(c, KILN_LOOP_STEPS, "");
    if (v == ALWAYS || (l->alive == NULL && is_decided(cx, cond, goes_on)))
        return KILN_OK;
    if (v == OPEN && !has_bound) {
        const kiln_status st = refuse_open(c, cond);
        kiln_note(cx->err, "looking how often the loop runs, which must be known at "
                           "import, or have a bound: i < n and ...");
        return st;
    }
    if (l->n_masked++ == KILN_LOOP_MASKED_STEPS)
        return refuse_steps(c, KILN_LOOP_MASKED_STEPS, " of one that data may end");
    kiln_value *const one = kiln_compose_reshape(c, cond, 0, NULL);
    l->alive =
        l->alive == NULL ? one : kiln_compose_2(c, &kiln_op_logical_and, l->alive, one);
    return c->status;
}

kiln_status kiln_masked_loop_carry(const kiln_masked_loop *l, kiln_compose *c,
                                   kiln_value *made, kiln_carried *v) {
    KILN_ASSERT(v->now != NULL && v->result != NULL, "a loop carries nothing");
    if (l->alive != NULL && made != v->now) {
        if (!kiln_type_eq(&made->type, &v->result->type))
            return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                             "a loop that data may end must keep its shapes, but makes "
                             "%s of %s",
                             kiln_type_text(&c->cx->scratch, &made->type),
                             kiln_type_text(&c->cx->scratch, &v->result->type));
        v->result = kiln_compose_where(c, l->alive, made, v->result);
        v->now = kiln_value_is_const(made) ? made : v->result;
        return c->status;
    }
    if (l->alive == NULL)
        v->result = made;
    v->now = made;
    return KILN_OK;
}
