/* Holding programs against what a back end implements. */
#include "compiler/loop/backend.h"

#include "compiler/loop/loop_words.h"

#include <stdio.h>
#include <string.h>

static const char *const stmt_names[KILN_N_STMT_KINDS] = {
    [KILN_STMT_FOR] = "loop",        [KILN_STMT_SEQ] = "sequence",
    [KILN_STMT_IF] = "branch",       [KILN_STMT_LET] = "let",
    [KILN_STMT_ALLOC] = "alloc",     [KILN_STMT_STORE] = "store",
    [KILN_STMT_EVAL] = "statement",  [KILN_STMT_ATTR] = "attribute",
    [KILN_STMT_BARRIER] = "barrier", [KILN_STMT_CALL] = "call",
    [KILN_STMT_LAUNCH] = "launch",   [KILN_STMT_COPY] = "copy",
};

static const char *const expr_names[KILN_N_EXPR_KINDS] = {
    [KILN_EXPR_INT] = "integer",
    [KILN_EXPR_FLOAT] = "float",
    [KILN_EXPR_VAR] = "variable",
    [KILN_EXPR_ADD] = "add",
    [KILN_EXPR_SUB] = "subtract",
    [KILN_EXPR_MUL] = "multiply",
    [KILN_EXPR_DIV] = "divide",
    [KILN_EXPR_FLOORDIV] = "floor divide",
    [KILN_EXPR_FLOORMOD] = "modulo",
    [KILN_EXPR_MIN] = "min",
    [KILN_EXPR_MAX] = "max",
    [KILN_EXPR_EQ] = "equal",
    [KILN_EXPR_NE] = "not equal",
    [KILN_EXPR_LT] = "less",
    [KILN_EXPR_LE] = "less or equal",
    [KILN_EXPR_AND] = "and",
    [KILN_EXPR_OR] = "or",
    [KILN_EXPR_XOR] = "exclusive or",
    [KILN_EXPR_SHL] = "shift left",
    [KILN_EXPR_SHR] = "shift right",
    [KILN_EXPR_NOT] = "not",
    [KILN_EXPR_CAST] = "cast",
    [KILN_EXPR_BITCAST] = "bitcast",
    [KILN_EXPR_SELECT] = "select",
    [KILN_EXPR_CALL] = "call",
    [KILN_EXPR_READ] = "read of a tensor expression",
    [KILN_EXPR_REDUCE] = "reduction",
    [KILN_EXPR_LOAD] = "load",
    [KILN_EXPR_RAMP] = "ramp",
    [KILN_EXPR_BROADCAST] = "broadcast",
    [KILN_EXPR_SHUFFLE] = "shuffle",
    [KILN_EXPR_LET] = "let",
    [KILN_EXPR_LOOP] = "loop",
    [KILN_EXPR_TABLE] = "table",
};

const char *kiln_expr_kind_name(kiln_expr_kind kind) { return expr_names[kind]; }

typedef struct checker {
    const kiln_backend *b;
    kiln_status status;
    kiln_err *err;
} checker;

static bool refuses(const checker *c, const char *entry) {
    return c->status == KILN_OK && (entry == NULL || entry[0] != '\0');
}

/* "llvm_cpu has no WHAT 'NAME': what to do instead" */
static void refuse(checker *c, const char *entry, const char *what, const char *name) {
    c->status = kiln_fail(
        c->err, KILN_ERR_UNSUPPORTED, "%s has no %s%s%s%s: %s", c->b->name, what,
        name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "",
        entry != NULL ? entry : "its table says nothing of it; add a row");
}

static void check_node(void *user, const kiln_expr *e) {
    checker *c = user;
    const char *entry = c->b->expr[e->kind];
    if (refuses(c, entry))
        refuse(c, entry, "expression", expr_names[e->kind]);
}

static void check_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, check_node, user);
}

static void check_loop(checker *c, const kiln_stmt *s) {
    const char *entry = c->b->loop[s->u.loop.kind];
    char what[64];
    if (!refuses(c, entry))
        return;
    (void)snprintf(what, sizeof what, "%s loop", kiln_loop_words[s->u.loop.kind]);
    refuse(c, entry, what, s->u.loop.tag != NULL ? s->u.loop.tag : s->u.loop.var->name);
}

static void check_buffer(checker *c, const kiln_buffer *b) {
    const bool is_declared = b->scope >= KILN_SCOPE_TARGET;
    const char *entry = c->b->scope[is_declared ? KILN_N_SCOPES - 1 : b->scope];
    char what[64];
    if (refuses(c, entry)) {
        if (is_declared)
            (void)snprintf(what, sizeof what, "scope%d memory for", (int)b->scope);
        else
            (void)snprintf(what, sizeof what, "%s memory for",
                           kiln_scope_name(b->scope));
        refuse(c, entry, what, b->name);
    }
}

static void check_eval(checker *c, const kiln_expr *e) {
    if (e->kind != KILN_EXPR_CALL || kiln_intrin_get(e->u.intrin)->is_pure) {
        if (refuses(c, c->b->value))
            refuse(c, c->b->value, "statement without effect", expr_names[e->kind]);
        return;
    }
    const char *entry = c->b->effect[e->u.intrin];
    if (refuses(c, entry))
        refuse(c, entry, "effect", kiln_intrin_get(e->u.intrin)->name);
}

static void check_program(checker *c, const kiln_program *p);

static bool is_instruction(const kiln_backend *b, const kiln_stmt *s) {
    for (int i = 0;
         s->kind == KILN_STMT_CALL && b->calls != NULL && b->calls[i] != NULL; i++)
        if (strcmp(s->u.call.program->name, b->calls[i]) == 0)
            return true;
    return false;
}

static void check_stmt(void *user, const kiln_stmt *s) {
    checker *c = user;
    const char *entry = c->b->stmt[s->kind];
    const bool is_call = kiln_stmt_is_call(s);
    if (refuses(c, entry) && !is_instruction(c->b, s))
        refuse(c, entry, stmt_names[s->kind], is_call ? s->u.call.program->name : NULL);
    if (is_call)
        check_program(c, s->u.call.program);
    if (s->kind == KILN_STMT_FOR)
        check_loop(c, s);
    if (s->kind == KILN_STMT_ALLOC)
        check_buffer(c, s->u.alloc.buffer);
    if (s->kind == KILN_STMT_EVAL)
        check_eval(c, s->u.eval);
    if (s->kind == KILN_STMT_ATTR && refuses(c, c->b->attr[s->u.attr.key]))
        refuse(c, c->b->attr[s->u.attr.key], kiln_attr_words[s->u.attr.key],
               s->u.attr.text);
    kiln_stmt_exprs(s, check_expr, c);
}

static void check_program(checker *c, const kiln_program *p) {
    for (int i = 0; i < p->n_args && c->status == KILN_OK; i++)
        check_buffer(c, p->arg[i]);
    if (c->status == KILN_OK)
        kiln_stmt_visit(p->body, check_stmt, c);
}

kiln_status kiln_backend_check(const kiln_backend *b, const kiln_program *p,
                               kiln_err *err) {
    KILN_ASSERT(p->body != NULL && p->n_inputs <= p->n_args,
                "program '%s' was not lowered", p->name);
    checker c = {.b = b, .err = err};
    if (p->n_params > 0 && refuses(&c, b->param))
        refuse(&c, b->param, "parameter", p->param[0]->name);
    check_program(&c, p);
    return c.status;
}
