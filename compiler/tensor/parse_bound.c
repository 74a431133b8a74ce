/* What expressions of loop programs bind, out of text: let, loop, table. */
#include "compiler/tensor/text.h"

/* Variables that are open, and their values. */
typedef struct bindings {
    KILN_VEC(const kiln_var *) var;
    KILN_VEC(const kiln_expr *) value;
} bindings;

static kiln_status next_expr(kiln_expr_reader *r, const kiln_expr **out, int *height) {
    int h = 0;
    KILN_TRY(kiln_text_part(r, out, &h));
    *height = h > *height ? h : *height;
    return KILN_OK;
}

/* x = value, y = value; -- until the semicolon, which is taken. */
static kiln_status read_bindings(kiln_expr_reader *r, bindings *b, int *height) {
    do {
        const char *const at = kiln_lex_here(&r->lex), *name;
        const kiln_expr *e;
        const kiln_var *v;
        KILN_TRY(kiln_lex_name(&r->lex, "a variable", &name));
        KILN_TRY(kiln_lex_expect(&r->lex, "="));
        KILN_TRY(next_expr(r, &e, height));
        KILN_TRY(r->bind(r, at, name, e->dtype, e->lanes, &v));
        kiln_vec_push(r->lex.arena, &b->var, v);
        kiln_vec_push(r->lex.arena, &b->value, e);
    } while (kiln_lex_accept(&r->lex, ","));
    return kiln_lex_expect(&r->lex, ";");
}

static kiln_status close_bindings(kiln_expr_reader *r, const char *at, const char *what,
                                  const bindings *b, int lanes) {
    for (size_t i = b->var.n; i-- > 0;) {
        if (b->var.v[i]->lanes != 1 && b->var.v[i]->lanes != lanes)
            return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                                 "what '%s' binds must have 1 lane or the %d of its "
                                 "value, '%s' has %d",
                                 what, lanes, kiln_text_shown(r, b->var.v[i]->name),
                                 b->var.v[i]->lanes);
        r->unbind(r, b->var.v[i]);
    }
    return KILN_OK;
}

/* let(x = value, y = value; body) */
kiln_status kiln_text_let(kiln_expr_reader *r, const char *at, const kiln_expr **out,
                          int *height) {
    bindings b = {.var = {0}};
    const kiln_expr *body;
    KILN_TRY(kiln_text_enter(r));
    KILN_TRY(read_bindings(r, &b, height));
    KILN_TRY(next_expr(r, &body, height));
    kiln_text_leave(r);
    KILN_TRY(close_bindings(r, at, "let", &b, body->lanes));
    *out = kiln_x_let(r->lex.arena, b.var.v, b.value.v, (int)b.var.n, body);
    return kiln_lex_expect(&r->lex, ")");
}

/* One for each of the state, of its dtype and lanes. */
static kiln_status read_next(kiln_expr_reader *r, const bindings *state,
                             const kiln_expr **next, int *height) {
    for (size_t i = 0; i < state->var.n; i++) {
        const kiln_var *v = state->var.v[i];
        const char *const at = kiln_lex_here(&r->lex);
        if (i > 0)
            KILN_TRY(kiln_lex_expect(&r->lex, ","));
        KILN_TRY(next_expr(r, &next[i], height));
        if (next[i]->dtype != v->dtype || next[i]->lanes != v->lanes)
            return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                                 "the next '%s' must be %s of %d lanes, is %s of %d",
                                 kiln_text_shown(r, v->name), kiln_dtype_name(v->dtype),
                                 v->lanes, kiln_dtype_name(next[i]->dtype),
                                 next[i]->lanes);
    }
    return kiln_lex_expect(&r->lex, ";");
}

/* loop(x = first; cond; t = local; next; value), of which locals may be none. */
kiln_status kiln_text_loop(kiln_expr_reader *r, const char *at, const kiln_expr **out,
                           int *height) {
    bindings state = {.var = {0}}, local = {.var = {0}};
    kiln_loop_parts p = {.cond = NULL};
    KILN_TRY(kiln_text_enter(r));
    KILN_TRY(read_bindings(r, &state, height));
    KILN_TRY(next_expr(r, &p.cond, height));
    KILN_TRY(kiln_lex_expect(&r->lex, ";"));
    if (!kiln_lex_accept(&r->lex, ";"))
        KILN_TRY(read_bindings(r, &local, height));
    const kiln_expr **next = kiln_array(r->lex.arena, const kiln_expr *, state.var.n);
    KILN_TRY(read_next(r, &state, next, height));
    for (size_t i = local.var.n; i-- > 0;) /* not for the value */
        r->unbind(r, local.var.v[i]);
    KILN_TRY(next_expr(r, &p.value, height));
    kiln_text_leave(r);
    const int lanes = p.value->lanes;
    if (p.cond->dtype != KILN_BOOL || (p.cond->lanes != 1 && p.cond->lanes != lanes))
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'loop' must go on by bool of 1 lane or %d, goes on by %s "
                             "of %d",
                             lanes, kiln_dtype_name(p.cond->dtype), p.cond->lanes);
    KILN_TRY(close_bindings(r, at, "loop", &local, lanes));
    KILN_TRY(close_bindings(r, at, "loop", &state, lanes));
    p.turns =
        (kiln_turns){state.var.v, local.var.v, (int)state.var.n, (int)local.var.n};
    p.init = state.value.v;
    p.local = local.value.v;
    p.next = next;
    *out = kiln_x_loop(r->lex.arena, &p);
    return kiln_lex_expect(&r->lex, ")");
}

/* table_i32(1, 2, 3; index) */
kiln_status kiln_text_table(kiln_expr_reader *r, const char *at, kiln_dtype dtype,
                            const kiln_expr **out, int *height) {
    const kiln_dtype_info *const info = kiln_dtype_get(dtype);
    KILN_VEC(int64_t) v = {0};
    const kiln_expr *index;
    if (info->is_float || dtype == KILN_BOOL || dtype == KILN_U64)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE, "there is no table of %s",
                             kiln_dtype_name(dtype));
    do {
        int64_t x;
        KILN_TRY(kiln_lex_int(&r->lex, "a number", info->min_i, info->max_i, &x));
        kiln_vec_push(r->lex.arena, &v, x);
    } while (kiln_lex_accept(&r->lex, ","));
    KILN_TRY(kiln_lex_expect(&r->lex, ";"));
    KILN_TRY(kiln_text_enter(r));
    KILN_TRY(next_expr(r, &index, height));
    kiln_text_leave(r);
    if (v.n > KILN_MAX_TABLE || index->dtype != KILN_I64)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "a table must have at most %d numbers and an index of "
                             "i64, has %zu and one of %s",
                             KILN_MAX_TABLE, v.n, kiln_dtype_name(index->dtype));
    kiln_table *t = kiln_new(r->lex.arena, kiln_table);
    *t = (kiln_table){dtype, (int)v.n, v.v};
    *out = kiln_x_table(r->lex.arena, t, index);
    return kiln_lex_expect(&r->lex, ")");
}
