/* Tokens of TorchScript's code: indentation opens and closes blocks, brackets join lines. */
#include "compiler/frontend/pytorch/script/script_syntax.h"

#include <string.h>

enum { MAX_BRACKETS = 1000 };

typedef struct lexer {
    kiln_arena *a;
    kiln_err *err;
    const char *file;
    const char *p, *end;
    int line, brackets;
    KILN_VEC(kiln_script_token) out;
    KILN_VEC(int) indent; /* columns of the blocks that are open */
} lexer;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name(char c) { return is_name_start(c) || is_digit(c); }

static kiln_status bad(lexer *l, const char *what) {
    return kiln_fail(l->err, KILN_ERR_PARSE, "%s:%d: %s", l->file, l->line, what);
}

static void add(lexer *l, kiln_script_token_kind kind, size_t n) {
    const kiln_script_token t = {kind, l->line, {l->p, n}};
    kiln_vec_push(l->a, &l->out, t);
    l->p += n;
}

static size_t left(const lexer *l) { return (size_t)(l->end - l->p); }

static size_t name_length(const lexer *l) {
    size_t n = 0;
    while (n < left(l) && is_name(l->p[n]))
        n++;
    return n;
}

/* Digits, a point, an exponent; what they are worth is looked at later. */
static size_t number_length(const lexer *l) {
    size_t n = 0;
    for (; n < left(l); n++) {
        const char c = l->p[n];
        const bool is_sign = (c == '-' || c == '+') && n > 0 &&
                             (l->p[n - 1] == 'e' || l->p[n - 1] == 'E');
        if (!is_name(c) && c != '.' && !is_sign)
            break;
    }
    return n;
}

static kiln_status lex_text(lexer *l) {
    const char quote = l->p[0];
    size_t n = 1;
    while (n < left(l) && l->p[n] != quote && l->p[n] != '\n')
        n += l->p[n] == '\\' ? 2 : 1;
    if (n >= left(l) || l->p[n] != quote)
        return bad(l, "a text without its closing quote");
    add(l, KILN_SCRIPT_TOKEN_TEXT, n + 1);
    return KILN_OK;
}

/* Longest first. */
static kiln_status lex_mark(lexer *l) {
    static const char *const marks[] = {"->", "==", "!=", "<=", ">=", "//", "**", "<<",
                                        ">>", "(",  ")",  "[",  "]",  "{",  "}",  ",",
                                        ":",  ".",  "=",  "+",  "-",  "*",  "/",  "%",
                                        "<",  ">",  "|",  "&",  "^",  "~",  "@",  NULL};
    for (size_t i = 0; marks[i] != NULL; i++) {
        const size_t n = strlen(marks[i]);
        if (n > left(l) || memcmp(l->p, marks[i], n) != 0)
            continue;
        if (strchr("([{", marks[i][0]) != NULL && ++l->brackets > MAX_BRACKETS)
            return bad(l, "brackets are nested too deeply");
        if (strchr(")]}", marks[i][0]) != NULL && --l->brackets < 0)
            return bad(l, "a bracket is closed that is not open");
        add(l, KILN_SCRIPT_TOKEN_MARK, n);
        return KILN_OK;
    }
    return bad(l, "a character that TorchScript does not have");
}

static kiln_status lex_indent(lexer *l, int column) {
    const int now = l->indent.v[l->indent.n - 1];
    if (column > now) {
        if (l->indent.n > KILN_SCRIPT_MAX_NESTING)
            return kiln_fail(l->err, KILN_ERR_LIMIT,
                             "%s:%d: blocks are nested deeper than %d", l->file,
                             l->line, KILN_SCRIPT_MAX_NESTING);
        kiln_vec_push(l->a, &l->indent, column);
        add(l, KILN_SCRIPT_TOKEN_INDENT, 0);
    }
    while (l->indent.v[l->indent.n - 1] > column) {
        l->indent.n--;
        add(l, KILN_SCRIPT_TOKEN_DEDENT, 0);
    }
    return l->indent.v[l->indent.n - 1] == column
               ? KILN_OK
               : bad(l, "a line that is indented like none before it");
}

/* At the beginning of a line: empty ones and comments say nothing. */
static kiln_status lex_line_start(lexer *l) {
    while (l->p < l->end) {
        int column = 0;
        for (; l->p < l->end && *l->p == ' '; l->p++)
            column++;
        if (l->p < l->end && *l->p == '#')
            while (l->p < l->end && *l->p != '\n')
                l->p++;
        if (l->p < l->end && *l->p == '\r')
            l->p++;
        if (l->p < l->end && *l->p != '\n')
            return lex_indent(l, column);
        l->p += l->p < l->end;
        l->line++;
    }
    return lex_indent(l, 0);
}

static kiln_status lex_one(lexer *l) {
    const char c = *l->p;
    if (c == ' ' || c == '\t' || c == '\r') {
        l->p++;
        return KILN_OK;
    }
    if (c == '#') {
        while (l->p < l->end && *l->p != '\n')
            l->p++;
        return KILN_OK;
    }
    if (c == '\n') {
        const bool is_joined = l->brackets > 0;
        if (!is_joined)
            add(l, KILN_SCRIPT_TOKEN_LINE, 0);
        l->p++;
        l->line++;
        return is_joined ? KILN_OK : lex_line_start(l);
    }
    if (is_name_start(c))
        add(l, KILN_SCRIPT_TOKEN_NAME, name_length(l));
    else if (is_digit(c) || (c == '.' && left(l) > 1 && is_digit(l->p[1])))
        add(l, KILN_SCRIPT_TOKEN_NUMBER, number_length(l));
    else if (c == '"' || c == '\'')
        return lex_text(l);
    else
        return lex_mark(l);
    return KILN_OK;
}

kiln_status kiln_script_lex(kiln_arena *a, kiln_str code, const char *file,
                            kiln_script_token **out, kiln_err *err) {
    lexer l = {.a = a, .err = err, .file = file, .line = 1};
    if (code.n > KILN_SCRIPT_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT, "%s: code of more than %d bytes", file,
                         KILN_SCRIPT_MAX_BYTES);
    l.p = code.p != NULL ? code.p : "";
    l.end = l.p + code.n;
    kiln_vec_push(a, &l.indent, 0);
    KILN_TRY(lex_line_start(&l));
    while (l.p < l.end)
        KILN_TRY(lex_one(&l));
    if (l.brackets > 0)
        return bad(&l, "the file ends inside brackets; is it truncated?");
    add(&l, KILN_SCRIPT_TOKEN_LINE, 0);
    KILN_TRY(lex_indent(&l, 0));
    add(&l, KILN_SCRIPT_TOKEN_END, 0);
    *out = l.out.v;
    return KILN_OK;
}

/* ---- texts ----------------------------------------------------------------------- */

static int digit_of(char c, int base) {
    const int v = is_digit(c)            ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : base;
    return v < base ? v : -1;
}

/* The byte behind a backslash: \n, \x1f, \037. */
static char unescape(const char *p, size_t n, size_t *used) {
    static const char names[] = "n\nt\tr\ra\ab\bf\fv\v";
    const bool is_hex = p[0] == 'x';
    int v = 0;
    size_t i = is_hex;
    for (const size_t stop = 3; i < stop && i < n; i++) {
        const int d = digit_of(p[i], is_hex ? 16 : 8);
        if (d < 0)
            break;
        v = v * (is_hex ? 16 : 8) + d;
    }
    *used = i;
    if (i > (size_t)is_hex)
        return (char)(unsigned char)v;
    *used = 1;
    for (i = 0; names[i] != '\0'; i += 2)
        if (names[i] == p[0])
            return names[i + 1];
    return p[0];
}

kiln_str kiln_script_unquote(kiln_arena *a, kiln_str quoted) {
    const kiln_str in = {quoted.p + 1, quoted.n - 2};
    if (in.n == 0 || memchr(in.p, '\\', in.n) == NULL)
        return in;
    char *const out = kiln_array(a, char, in.n);
    size_t n = 0, used = 0;
    for (size_t i = 0; i < in.n; i++)
        if (in.p[i] == '\\' && i + 1 < in.n) {
            out[n++] = unescape(in.p + i + 1, in.n - i - 1, &used);
            i += used;
        } else {
            out[n++] = in.p[i];
        }
    return (kiln_str){out, n};
}
