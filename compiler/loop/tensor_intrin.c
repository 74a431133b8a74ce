/* The table of tensor intrinsics, and matching expressions against a declaration. */
#include "compiler/loop/tensor_intrin.h"

static const kiln_tensor_intrin *const table[] = {
#define KILN_TENSOR_INTRIN(name) &kiln_tensor_##name,
#include "compiler/loop/tensor_intrins.def"
#undef KILN_TENSOR_INTRIN
};
enum { N_INTRINS = sizeof table / sizeof table[0] };

const kiln_tensor_intrin *kiln_tensor_intrin_at(int i) {
    return i >= 0 && i < N_INTRINS ? table[i] : NULL;
}

const kiln_tensor_intrin *kiln_tensor_intrin_find(kiln_str name) {
    for (int i = 0; i < N_INTRINS; i++)
        if (kiln_str_is(name, table[i]->name))
            return table[i];
    return NULL;
}

const kiln_expr *kiln_tensor_source(const kiln_te *te) {
    KILN_ASSERT(te->n_out == 1 && te->body[0]->kind == KILN_EXPR_REDUCE,
                "'%s' is declared as no reduction", te->name);
    return te->body[0]->u.reduce->source[0];
}

int kiln_tensor_combine(const kiln_te *te) {
    if (te->kind != KILN_TE_COMPUTE || te->n_out != 1 ||
        te->body[0]->kind != KILN_EXPR_REDUCE || te->body[0]->u.reduce->reducer->n != 1)
        return -1;
    const kiln_reducer *r = te->body[0]->u.reduce->reducer;
    const kiln_expr *e = r->result[0];
    const bool is_known = e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_MUL ||
                          e->kind == KILN_EXPR_MAX || e->kind == KILN_EXPR_MIN;
    return is_known && e->arg[0]->kind == KILN_EXPR_VAR &&
                   e->arg[0]->u.var == r->lhs[0] && e->arg[1]->kind == KILN_EXPR_VAR &&
                   e->arg[1]->u.var == r->rhs[0]
               ? (int)e->kind
               : -1;
}

static bool match_read(const kiln_te *te, const kiln_expr *pattern, const kiln_expr *e,
                       const kiln_expr **operand) {
    if ((e->kind != KILN_EXPR_READ && e->kind != KILN_EXPR_LOAD) ||
        e->dtype != pattern->dtype || e->lanes != 1)
        return false;
    int i = 0;
    while (i < te->n_in && te->in[i] != pattern->u.read.te)
        i++;
    KILN_ASSERT(i < te->n_in, "'%s' reads what it does not declare", te->name);
    if (operand[i] != NULL)
        return kiln_expr_eq(operand[i], e);
    operand[i] = e;
    return true;
}

static bool match_args(const kiln_te *te, const kiln_expr *pattern, const kiln_expr *e,
                       bool swapped, const kiln_expr **operand) {
    for (int i = 0; i < pattern->n_arg; i++)
        if (!kiln_tensor_match(te, pattern->arg[i], e->arg[swapped ? 1 - i : i],
                               operand))
            return false;
    return true;
}

bool kiln_tensor_match(const kiln_te *te, const kiln_expr *pattern, const kiln_expr *e,
                       const kiln_expr **operand) {
    if (pattern->kind == KILN_EXPR_READ)
        return match_read(te, pattern, e, operand);
    if (pattern->kind == KILN_EXPR_INT || pattern->kind == KILN_EXPR_FLOAT)
        return kiln_expr_eq(pattern, e);
    if (e->kind != pattern->kind || e->dtype != pattern->dtype || e->lanes != 1 ||
        e->n_arg != pattern->n_arg ||
        (e->kind == KILN_EXPR_CALL && e->u.intrin != pattern->u.intrin))
        return false;
    /* Depth is that of a declaration: a handful of nodes. */
    const kiln_expr *before[KILN_MAX_TE_OUTS];
    KILN_ASSERT(te->n_in <= KILN_MAX_TE_OUTS, "'%s' has too many operands", te->name);
    for (int i = 0; i < te->n_in; i++)
        before[i] = operand[i];
    if (match_args(te, pattern, e, false, operand))
        return true;
    for (int i = 0; i < te->n_in; i++)
        operand[i] = before[i];
    return e->kind == KILN_EXPR_MUL && match_args(te, pattern, e, true, operand);
}
