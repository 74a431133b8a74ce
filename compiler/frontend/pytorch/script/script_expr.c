/* Expressions of TorchScript's code, by precedence. */
#include "compiler/frontend/pytorch/script/script_syntax.h"

#include <string.h>

/* Operators from the loosest to the tightest; those of a row are equals. */
static const char *const levels[][10] = {
    {"or"},
    {"and"},
    {"not"}, /* in front */
    {"==", "!=", "<", ">", "<=", ">=", "is", "in"},
    {"|"},
    {"^"},
    {"&"},
    {"<<", ">>"},
    {"+", "-"},
    {"*", "/", "//", "%", "@"},
    {"-", "~"}, /* in front */
    {"**"},
};
enum { LEVEL_NOT = 2, LEVEL_SIGN = 10, N_LEVELS = sizeof levels / sizeof levels[0] };

static kiln_status parse_level(kiln_script_parser *p, int level,
                               kiln_script_expr **out);

bool kiln_script_is(const kiln_script_parser *p, const char *text) {
    return (p->at->kind == KILN_SCRIPT_TOKEN_NAME ||
            p->at->kind == KILN_SCRIPT_TOKEN_MARK) &&
           kiln_str_is(p->at->text, text);
}

bool kiln_script_accept(kiln_script_parser *p, const char *text) {
    const bool is = kiln_script_is(p, text);
    p->at += is;
    return is;
}

static kiln_status expected(kiln_script_parser *p, const char *what) {
    enum { SHOWN = 40 };
    const kiln_script_token *const t = p->at;
    return kiln_fail(p->err, KILN_ERR_PARSE, "%s:%d: expected %s, found %s", p->file,
                     t->line, what,
                     t->text.n > 0 ? kiln_str_printable(p->a, t->text, SHOWN)
                     : t->kind == KILN_SCRIPT_TOKEN_END ? "the end of the file"
                                                        : "the end of a line or block");
}

kiln_status kiln_script_expect(kiln_script_parser *p, const char *text) {
    return kiln_script_accept(p, text) ? KILN_OK
                                       : expected(p, kiln_format(p->a, "'%s'", text));
}

kiln_status kiln_script_take_name(kiln_script_parser *p, kiln_str *out) {
    if (p->at->kind != KILN_SCRIPT_TOKEN_NAME)
        return expected(p, "a name");
    *out = p->at++->text;
    return KILN_OK;
}

kiln_script_expr *kiln_script_expr_new(kiln_script_parser *p,
                                       kiln_script_expr_kind kind, size_t n) {
    kiln_script_expr *const e = kiln_new(p->a, kiln_script_expr);
    e->kind = kind;
    e->line = p->at->line;
    e->n = n;
    e->arg = n > 0 ? kiln_array(p->a, kiln_script_expr *, n) : NULL;
    return e;
}

/* Of what is made of others: a.b.c.d and a + b + c are deep without brackets. */
static kiln_status measure(kiln_script_parser *p, kiln_script_expr *e) {
    for (size_t i = 0; i < e->n; i++)
        if (e->arg[i] != NULL && e->arg[i]->height >= e->height)
            e->height = e->arg[i]->height + 1;
    if (e->height <= KILN_SCRIPT_MAX_HEIGHT)
        return KILN_OK;
    return kiln_fail(p->err, KILN_ERR_LIMIT, "%s:%d: an expression is deeper than %d",
                     p->file, e->line, KILN_SCRIPT_MAX_HEIGHT);
}

/* ---- what has no operators ------------------------------------------------------- */

static kiln_status parse_number(kiln_script_parser *p, kiln_script_expr **out) {
    kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_INT, 0);
    const kiln_str text = p->at->text;
    if (!kiln_parse_i64(text, &e->i)) {
        e->kind = KILN_SCRIPT_FLOAT;
        if (!kiln_parse_f64(text, &e->f))
            return expected(p, "a number");
    }
    p->at++;
    *out = e;
    return KILN_OK;
}

/* Texts that follow each other are one. */
static kiln_status parse_text(kiln_script_parser *p, kiln_script_expr **out) {
    kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_TEXT, 0);
    e->text = kiln_script_unquote(p->a, p->at++->text);
    while (p->at->kind == KILN_SCRIPT_TOKEN_TEXT) {
        const kiln_str more = kiln_script_unquote(p->a, p->at++->text);
        char *const both = kiln_array(p->a, char, e->text.n + more.n);
        if (e->text.n > 0)
            memcpy(both, e->text.p, e->text.n);
        if (more.n > 0)
            memcpy(both + e->text.n, more.p, more.n);
        e->text = (kiln_str){both, e->text.n + more.n};
    }
    *out = e;
    return KILN_OK;
}

static kiln_status parse_name(kiln_script_parser *p, kiln_script_expr **out) {
    kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_NAME, 0);
    e->text = p->at++->text;
    if (kiln_str_is(e->text, "None"))
        e->kind = KILN_SCRIPT_NONE;
    if (kiln_str_is(e->text, "True") || kiln_str_is(e->text, "False")) {
        e->kind = KILN_SCRIPT_BOOL;
        e->i = e->text.p[0] == 'T';
    }
    *out = e;
    return KILN_OK;
}

typedef KILN_VEC(kiln_script_expr *) exprs;

/* Items up to a closing bracket, a comma behind the last allowed. */
static kiln_status parse_items(kiln_script_parser *p, const char *close, bool is_dict,
                               exprs *out, bool *has_comma) {
    kiln_script_expr *e;
    *has_comma = false;
    while (!kiln_script_is(p, close)) {
        KILN_TRY(kiln_script_expr_parse(p, &e));
        kiln_vec_push(p->a, out, e);
        if (is_dict) {
            KILN_TRY(kiln_script_expect(p, ":"));
            KILN_TRY(kiln_script_expr_parse(p, &e));
            kiln_vec_push(p->a, out, e);
        }
        *has_comma = kiln_script_accept(p, ",");
        if (!*has_comma)
            break;
    }
    return kiln_script_expect(p, close);
}

static kiln_status parse_brackets(kiln_script_parser *p, kiln_script_expr **out) {
    const char open = p->at->text.p[0];
    kiln_script_expr *const e = kiln_script_expr_new(p,
                                                     open == '('   ? KILN_SCRIPT_TUPLE
                                                     : open == '[' ? KILN_SCRIPT_LIST
                                                                   : KILN_SCRIPT_DICT,
                                                     0);
    exprs items = {0};
    bool has_comma;
    p->at++;
    KILN_TRY(parse_items(p,
                         open == '('   ? ")"
                         : open == '[' ? "]"
                                       : "}",
                         open == '{', &items, &has_comma));
    e->arg = items.v;
    e->n = items.n;
    KILN_TRY(measure(p, e));
    *out = open == '(' && items.n == 1 && !has_comma ? items.v[0] : e;
    return KILN_OK;
}

static kiln_status parse_atom(kiln_script_parser *p, kiln_script_expr **out) {
    static const char *const keywords[] = {
        "if",     "else", "for",  "while", "in",   "is",     "and",   "or",    "not",
        "return", "def",  "pass", "class", "with", "lambda", "raise", "import"};
    switch (p->at->kind) {
    case KILN_SCRIPT_TOKEN_NAME:
        for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
            if (kiln_str_is(p->at->text, keywords[i]))
                return expected(p, "an expression");
        return parse_name(p, out);
    case KILN_SCRIPT_TOKEN_NUMBER:
        return parse_number(p, out);
    case KILN_SCRIPT_TOKEN_TEXT:
        return parse_text(p, out);
    case KILN_SCRIPT_TOKEN_MARK:
        if (strchr("([{", p->at->text.p[0]) != NULL)
            return parse_brackets(p, out);
        break;
    case KILN_SCRIPT_TOKEN_LINE:
    case KILN_SCRIPT_TOKEN_INDENT:
    case KILN_SCRIPT_TOKEN_DEDENT:
    case KILN_SCRIPT_TOKEN_END:
        break;
    }
    return expected(p, "an expression");
}

/* ---- calls, members, indexes ------------------------------------------------------ */

static kiln_status parse_call(kiln_script_parser *p, kiln_script_expr *of,
                              kiln_script_expr **out) {
    kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_CALL, 0);
    exprs args = {0};
    KILN_VEC(kiln_str) names = {0};
    kiln_vec_push(p->a, &args, of);
    kiln_vec_push(p->a, &names, ((kiln_str){NULL, 0}));
    while (!kiln_script_is(p, ")")) {
        kiln_script_expr *arg;
        kiln_str name = {NULL, 0};
        if (p->at->kind == KILN_SCRIPT_TOKEN_NAME && kiln_str_is(p->at[1].text, "=")) {
            name = p->at->text;
            p->at += 2;
        }
        KILN_TRY(kiln_script_expr_parse(p, &arg));
        kiln_vec_push(p->a, &args, arg);
        kiln_vec_push(p->a, &names, name);
        if (!kiln_script_accept(p, ","))
            break;
    }
    e->arg = args.v;
    e->keyword = names.v;
    e->n = args.n;
    *out = e;
    return kiln_script_expect(p, ")");
}

static bool is_part_end(const kiln_script_parser *p) {
    return kiln_script_is(p, ":") || kiln_script_is(p, "]");
}

static kiln_status parse_index(kiln_script_parser *p, kiln_script_expr *of,
                               kiln_script_expr **out) {
    enum { PARTS = 4 };
    kiln_script_expr *const slice = kiln_script_expr_new(p, KILN_SCRIPT_SLICE, PARTS);
    slice->arg[0] = of;
    if (!is_part_end(p)) {
        bool is_tuple;
        exprs items = {0};
        kiln_script_expr *first;
        KILN_TRY(kiln_script_expr_parse(p, &first));
        if (!kiln_script_is(p, ":")) {
            kiln_vec_push(p->a, &items, of);
            kiln_vec_push(p->a, &items, first);
            if (kiln_script_accept(p, ",")) {
                KILN_TRY(parse_items(p, "]", false, &items, &is_tuple));
            } else {
                KILN_TRY(kiln_script_expect(p, "]"));
            }
            kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_INDEX, 0);
            e->arg = items.v;
            e->n = items.n;
            *out = e;
            return KILN_OK;
        }
        slice->arg[1] = first;
    }
    for (size_t i = 2; i < PARTS && kiln_script_accept(p, ":"); i++)
        if (!is_part_end(p))
            KILN_TRY(kiln_script_expr_parse(p, &slice->arg[i]));
    *out = slice;
    return kiln_script_expect(p, "]");
}

static kiln_status parse_behind(kiln_script_parser *p, kiln_script_expr *e,
                                kiln_script_expr **out) {
    for (;;) {
        if (kiln_script_accept(p, ".")) {
            kiln_script_expr *const of = e;
            e = kiln_script_expr_new(p, KILN_SCRIPT_ATTR, 1);
            e->arg[0] = of;
            KILN_TRY(kiln_script_take_name(p, &e->text));
        } else if (kiln_script_accept(p, "(")) {
            KILN_TRY(parse_call(p, e, &e));
        } else if (kiln_script_accept(p, "[")) {
            KILN_TRY(parse_index(p, e, &e));
        } else {
            break;
        }
        KILN_TRY(measure(p, e));
    }
    *out = e;
    return KILN_OK;
}

/* ---- operators ------------------------------------------------------------------- */

static bool accept_operator(kiln_script_parser *p, int level, kiln_str *out) {
    if (level == 3 && kiln_script_is(p, "not") && kiln_str_is(p->at[1].text, "in")) {
        *out = KILN_STR_LIT("not in");
        p->at += 2;
        return true;
    }
    for (size_t i = 0; i < 10 && levels[level][i] != NULL; i++)
        if (kiln_script_accept(p, levels[level][i])) {
            *out = kiln_str_from(levels[level][i]);
            if (kiln_str_is(*out, "is") && kiln_script_accept(p, "not"))
                *out = KILN_STR_LIT("is not");
            return true;
        }
    return false;
}

static kiln_status parse_prefix(kiln_script_parser *p, int level,
                                kiln_script_expr **out) {
    kiln_str op;
    if (!accept_operator(p, level, &op))
        return parse_level(p, level + 1, out);
    kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_UNARY, 1);
    e->text = op;
    if (++p->depth > KILN_SCRIPT_MAX_NESTING)
        return kiln_fail(p->err, KILN_ERR_LIMIT,
                         "%s:%d: expressions are nested deeper than %d", p->file,
                         p->at->line, KILN_SCRIPT_MAX_NESTING);
    KILN_TRY(parse_prefix(p, level, &e->arg[0]));
    KILN_TRY(measure(p, e));
    p->depth--;
    *out = e;
    return KILN_OK;
}

static kiln_status parse_level(kiln_script_parser *p, int level,
                               kiln_script_expr **out) {
    kiln_str op;
    kiln_script_expr *left;
    if (level == N_LEVELS) {
        KILN_TRY(parse_atom(p, &left));
        return parse_behind(p, left, out);
    }
    if (level == LEVEL_NOT || level == LEVEL_SIGN)
        return parse_prefix(p, level, out);
    KILN_TRY(parse_level(p, level + 1, &left));
    while (accept_operator(p, level, &op)) {
        kiln_script_expr *const e = kiln_script_expr_new(p, KILN_SCRIPT_BINARY, 2);
        e->text = op;
        e->arg[0] = left;
        KILN_TRY(parse_level(p, level + 1, &e->arg[1]));
        KILN_TRY(measure(p, e));
        left = e;
    }
    *out = left;
    return KILN_OK;
}

kiln_status kiln_script_expr_parse(kiln_script_parser *p, kiln_script_expr **out) {
    kiln_script_expr *e;
    if (++p->depth > KILN_SCRIPT_MAX_NESTING)
        return kiln_fail(p->err, KILN_ERR_LIMIT,
                         "%s:%d: expressions are nested deeper than %d", p->file,
                         p->at->line, KILN_SCRIPT_MAX_NESTING);
    KILN_TRY(parse_level(p, 0, &e));
    if (kiln_script_accept(p, "if")) {
        kiln_script_expr *const choice = kiln_script_expr_new(p, KILN_SCRIPT_CHOICE, 3);
        choice->arg[1] = e;
        KILN_TRY(parse_level(p, 0, &choice->arg[0]));
        KILN_TRY(kiln_script_expect(p, "else"));
        KILN_TRY(kiln_script_expr_parse(p, &choice->arg[2]));
        KILN_TRY(measure(p, choice));
        e = choice;
    }
    p->depth--;
    *out = e;
    return KILN_OK;
}

kiln_status kiln_script_exprs_parse(kiln_script_parser *p, kiln_script_expr ***out,
                                    size_t *n, bool *is_tuple) {
    exprs list = {0};
    kiln_script_expr *e;
    *is_tuple = false;
    do {
        if (list.n > 0)
            *is_tuple = true;
        if (kiln_script_is(p, "=") || p->at->kind == KILN_SCRIPT_TOKEN_LINE)
            break;
        KILN_TRY(kiln_script_expr_parse(p, &e));
        kiln_vec_push(p->a, &list, e);
    } while (kiln_script_accept(p, ","));
    if (list.n == 0)
        return expected(p, "an expression");
    *out = list.v;
    *n = list.n;
    return KILN_OK;
}
