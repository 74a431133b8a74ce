/* Statements, functions and classes of TorchScript's code. */
#include "compiler/frontend/pytorch/script/script_syntax.h"

#include <string.h>

typedef KILN_VEC(kiln_script_stmt) stmts;

static kiln_status parse_block(kiln_script_parser *p, kiln_script_block *out);

static kiln_status end_line(kiln_script_parser *p) {
    if (p->at->kind != KILN_SCRIPT_TOKEN_LINE)
        return kiln_fail(p->err, KILN_ERR_PARSE, "%s:%d: expected the end of the line",
                         p->file, p->at->line);
    p->at++;
    return KILN_OK;
}

static kiln_status refuse(kiln_script_parser *p, const char *what) {
    return kiln_fail(p->err, KILN_ERR_UNSUPPORTED,
                     "%s:%d: '%s' is not read; save a traced model (torch.jit.trace), "
                     "or export it with torch.export.save",
                     p->file, p->at->line, what);
}

/* `a = x`, `a, b, = x`, or an expression alone. */
static kiln_status parse_simple(kiln_script_parser *p, kiln_script_stmt *s) {
    kiln_script_expr **list;
    size_t n;
    bool is_tuple;
    s->kind = KILN_SCRIPT_DO;
    KILN_TRY(kiln_script_exprs_parse(p, &list, &n, &is_tuple));
    if (n == 1 && kiln_script_accept(p, ":")) { /* a : type = x */
        kiln_script_expr *type;
        KILN_TRY(kiln_script_expr_parse(p, &type));
    }
    if (kiln_script_accept(p, "=")) {
        s->kind = KILN_SCRIPT_ASSIGN;
        s->target = list;
        s->n_targets = n;
        s->is_unpacking = is_tuple;
        if (n == 1 && list[0]->kind == KILN_SCRIPT_TUPLE) { /* (a, b) = x */
            s->target = list[0]->arg;
            s->n_targets = list[0]->n;
            s->is_unpacking = true;
        }
        KILN_TRY(kiln_script_exprs_parse(p, &list, &n, &is_tuple));
    }
    s->value = list[0];
    if (is_tuple) {
        s->value = kiln_script_expr_new(p, KILN_SCRIPT_TUPLE, 0);
        s->value->arg = list;
        s->value->n = n;
    }
    return end_line(p);
}

static kiln_status parse_if(kiln_script_parser *p, kiln_script_stmt *s) {
    s->kind = KILN_SCRIPT_IF;
    KILN_TRY(kiln_script_expr_parse(p, &s->value));
    KILN_TRY(parse_block(p, &s->body));
    if (kiln_script_accept(p, "else"))
        return parse_block(p, &s->orelse);
    if (kiln_script_is(p, "elif")) {
        p->at++;
        s->orelse.stmt = kiln_new(p->a, kiln_script_stmt);
        s->orelse.stmt->line = p->at->line;
        s->orelse.n = 1;
        if (++p->depth > KILN_SCRIPT_MAX_NESTING)
            return refuse(p, "elif");
        KILN_TRY(parse_if(p, s->orelse.stmt));
        p->depth--;
    }
    return KILN_OK;
}

static kiln_status parse_for(kiln_script_parser *p, kiln_script_stmt *s) {
    s->kind = KILN_SCRIPT_FOR;
    s->target = kiln_array(p->a, kiln_script_expr *, 1);
    s->n_targets = 1;
    s->target[0] = kiln_script_expr_new(p, KILN_SCRIPT_NAME, 0);
    KILN_TRY(kiln_script_take_name(p, &s->target[0]->text));
    KILN_TRY(kiln_script_expect(p, "in"));
    KILN_TRY(kiln_script_expr_parse(p, &s->value));
    return parse_block(p, &s->body);
}

/* *is_any: false of `pass`, which is nothing. */
static kiln_status parse_stmt(kiln_script_parser *p, kiln_script_stmt *s,
                              bool *is_any) {
    static const char *const refused[] = {"with",  "try",      "del",   "global",
                                          "break", "continue", "lambda"};
    *s = (kiln_script_stmt){.line = p->at->line};
    *is_any = true;
    if (kiln_script_accept(p, "pass")) {
        *is_any = false;
        return end_line(p);
    }
    if (kiln_script_accept(p, "if"))
        return parse_if(p, s);
    if (kiln_script_accept(p, "for"))
        return parse_for(p, s);
    if (kiln_script_accept(p, "while")) {
        s->kind = KILN_SCRIPT_WHILE;
        KILN_TRY(kiln_script_expr_parse(p, &s->value));
        return parse_block(p, &s->body);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (kiln_script_is(p, refused[i]))
            return refuse(p, refused[i]);
    const bool is_raise = kiln_script_is(p, "raise");
    if (is_raise || kiln_script_is(p, "return")) {
        p->at++;
        if (p->at->kind == KILN_SCRIPT_TOKEN_LINE)
            p->at++;
        else
            KILN_TRY(parse_simple(p, s));
        if (s->kind != KILN_SCRIPT_DO && s->value != NULL)
            return refuse(p, "an assignment behind return");
        s->kind = is_raise ? KILN_SCRIPT_RAISE : KILN_SCRIPT_RETURN;
        return KILN_OK;
    }
    return parse_simple(p, s);
}

/* ": LINE INDENT statements DEDENT" */
static kiln_status open_block(kiln_script_parser *p) {
    KILN_TRY(kiln_script_expect(p, ":"));
    KILN_TRY(end_line(p));
    if (p->at->kind != KILN_SCRIPT_TOKEN_INDENT)
        return kiln_fail(p->err, KILN_ERR_PARSE, "%s:%d: expected an indented block",
                         p->file, p->at->line);
    p->at++;
    return KILN_OK;
}

static bool close_block(kiln_script_parser *p) {
    if (p->at->kind != KILN_SCRIPT_TOKEN_DEDENT)
        return false;
    p->at++;
    return true;
}

static kiln_status parse_block(kiln_script_parser *p, kiln_script_block *out) {
    stmts list = {0};
    KILN_TRY(open_block(p));
    while (!close_block(p)) {
        kiln_script_stmt s;
        bool is_any;
        KILN_TRY(parse_stmt(p, &s, &is_any));
        if (is_any)
            kiln_vec_push(p->a, &list, s);
    }
    out->stmt = list.v;
    out->n = list.n;
    return KILN_OK;
}

/* ---- functions and classes -------------------------------------------------------- */

static kiln_status parse_param(kiln_script_parser *p, kiln_script_param *out) {
    kiln_script_expr *e;
    *out = (kiln_script_param){.type = NULL};
    KILN_TRY(kiln_script_take_name(p, &out->name));
    if (kiln_script_accept(p, ":")) {
        KILN_TRY(kiln_script_expr_parse(p, &e));
        out->type = e;
    }
    if (kiln_script_accept(p, "=")) {
        KILN_TRY(kiln_script_expr_parse(p, &e));
        out->otherwise = e;
    }
    return KILN_OK;
}

static kiln_status parse_function(kiln_script_parser *p, kiln_script_function **out) {
    kiln_script_function *const f = kiln_new(p->a, kiln_script_function);
    KILN_VEC(kiln_script_param) params = {0};
    kiln_script_expr *type;
    f->file = p->file;
    f->line = p->at->line;
    KILN_TRY(kiln_script_take_name(p, &f->name));
    KILN_TRY(kiln_script_expect(p, "("));
    while (!kiln_script_is(p, ")")) {
        kiln_script_param one;
        KILN_TRY(parse_param(p, &one));
        kiln_vec_push(p->a, &params, one);
        if (!kiln_script_accept(p, ","))
            break;
    }
    f->param = params.v;
    f->n_params = params.n;
    KILN_TRY(kiln_script_expect(p, ")"));
    if (kiln_script_accept(p, "->"))
        KILN_TRY(kiln_script_expr_parse(p, &type));
    *out = f;
    return parse_block(p, &f->body);
}

/* `name : type`, `name : Final[type] = value`, `__annotations__["0"] = type`,
 * `__parameters__ = [...]`. */
static kiln_status parse_member(kiln_script_parser *p, kiln_script_class *c) {
    kiln_script_member m = {.type = NULL};
    kiln_script_expr *first, *e;
    KILN_TRY(kiln_script_expr_parse(p, &first));
    m.name = first->text;
    if (kiln_script_accept(p, ":")) {
        KILN_TRY(kiln_script_expr_parse(p, &e));
        m.type = e;
    }
    if (kiln_script_accept(p, "=")) {
        KILN_TRY(kiln_script_expr_parse(p, &e));
        m.value = e;
    }
    if (first->kind == KILN_SCRIPT_NAME)
        kiln_vec_push(p->a, &c->member, m);
    return end_line(p);
}

static kiln_status parse_class(kiln_script_parser *p, kiln_script_class **out) {
    kiln_script_class *const c = kiln_new(p->a, kiln_script_class);
    KILN_TRY(kiln_script_take_name(p, &c->name));
    if (kiln_script_accept(p, "(")) {
        if (!kiln_script_is(p, ")"))
            KILN_TRY(kiln_script_take_name(p, &c->base));
        KILN_TRY(kiln_script_expect(p, ")"));
    }
    KILN_TRY(open_block(p));
    while (!close_block(p)) {
        if (kiln_script_accept(p, "def")) {
            kiln_script_function *f;
            KILN_TRY(parse_function(p, &f));
            kiln_vec_push(p->a, &c->function, f);
        } else if (kiln_script_accept(p, "pass")) {
            KILN_TRY(end_line(p));
        } else {
            KILN_TRY(parse_member(p, c));
        }
    }
    *out = c;
    return KILN_OK;
}

static void skip_line(kiln_script_parser *p) {
    while (p->at->kind != KILN_SCRIPT_TOKEN_LINE &&
           p->at->kind != KILN_SCRIPT_TOKEN_END)
        p->at++;
    p->at += p->at->kind == KILN_SCRIPT_TOKEN_LINE;
}

kiln_status kiln_script_parse(kiln_arena *a, kiln_str code, const char *file,
                              kiln_script_file *out, kiln_err *err) {
    kiln_script_token *tokens = NULL;
    kiln_script_parser p = {.a = a, .err = err, .file = file};
    *out = (kiln_script_file){.name = file};
    KILN_TRY(kiln_script_lex(a, code, file, &tokens, err));
    p.at = tokens;
    while (p.at->kind != KILN_SCRIPT_TOKEN_END) {
        if (kiln_script_accept(&p, "def")) {
            kiln_script_function *f;
            KILN_TRY(parse_function(&p, &f));
            kiln_vec_push(a, &out->function, f);
        } else if (kiln_script_accept(&p, "class")) {
            kiln_script_class *c;
            KILN_TRY(parse_class(&p, &c));
            kiln_vec_push(a, &out->class_, c);
        } else if (kiln_script_is(&p, "import") || kiln_script_is(&p, "from") ||
                   kiln_script_is(&p, "op_version_set") ||
                   p.at->kind == KILN_SCRIPT_TOKEN_LINE) {
            skip_line(&p); /* names are whole, and files found by them */
        } else {
            return kiln_script_expect(&p, "def");
        }
    }
    return KILN_OK;
}
