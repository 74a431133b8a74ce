/* Tokens of graph text (docs/graph-text.md): blanks, comments, words, quoted names,
 * places for messages. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/graph/parse_internal.h"

/* Lines and columns are counted from 1, columns in bytes. */
static void place(const kiln_parser *p, const char *at, size_t *line, size_t *column) {
    *line = 1;
    const char *start = p->text.p;
    for (const char *c = p->text.p; c < at; c++) {
        if (*c == '\n') {
            (*line)++;
            start = c + 1;
        }
    }
    *column = (size_t)(at - start) + 1;
}

kiln_status kiln_parser_fail(kiln_parser *p, const char *at, kiln_status status,
                             const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t line, column;
    place(p, at, &line, &column);
    return kiln_fail(p->err, status, "%s:%zu:%zu: %s", p->file, line, column, text);
}

kiln_status kiln_parser_note(kiln_parser *p, const char *at, kiln_status status) {
    size_t line, column;
    place(p, at, &line, &column);
    kiln_note(p->err, "reading %s:%zu:%zu", p->file, line, column);
    return status;
}

kiln_status kiln_parser_expected(kiln_parser *p, const char *what) {
    const char *const at = kiln_parser_here(p);
    if (p->rest.n == 0)
        return kiln_parser_fail(p, at, KILN_ERR_PARSE, "expected %s, the text ends",
                                what);
    const unsigned char c = (unsigned char)*at;
    if (c > ' ' && c < 0x7f)
        return kiln_parser_fail(p, at, KILN_ERR_PARSE, "expected %s, found '%c'", what,
                                c);
    return kiln_parser_fail(p, at, KILN_ERR_PARSE, "expected %s, found byte 0x%02x",
                            what, c);
}

static void advance(kiln_parser *p, size_t n) {
    p->rest = (kiln_str){p->rest.p + n, p->rest.n - n};
}

const char *kiln_parser_here(kiln_parser *p) {
    bool in_comment = false;
    size_t i = 0;
    for (; i < p->rest.n; i++) {
        const char c = p->rest.p[i];
        if (c == '#')
            in_comment = true;
        else if (c == '\n')
            in_comment = false;
        else if (!in_comment && c != ' ' && c != '\t' && c != '\r')
            break;
    }
    advance(p, i);
    return p->rest.p;
}

bool kiln_parser_accept(kiln_parser *p, const char *token) {
    (void)kiln_parser_here(p);
    return kiln_text_skip(&p->rest, token);
}

kiln_status kiln_parser_expect(kiln_parser *p, const char *token) {
    if (kiln_parser_accept(p, token))
        return KILN_OK;
    char what[32];
    (void)snprintf(what, sizeof what, "'%s'", token);
    return kiln_parser_expected(p, what);
}

static bool is_word(char c) {
    return (kiln_text_is_bare(c) && c != '/') || c == ':' || c == '+';
}

kiln_status kiln_parser_word(kiln_parser *p, const char *what, kiln_str *out) {
    const char *const at = kiln_parser_here(p);
    size_t n = 0;
    while (n < p->rest.n && is_word(at[n]))
        n++;
    if (n == 0)
        return kiln_parser_expected(p, what);
    *out = (kiln_str){at, n};
    advance(p, n);
    return KILN_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that the escape at the front of *s stands for, behind its backslash; -1 when
 * it is none. */
static int escape(kiln_str *s) {
    if (s->n == 0)
        return -1;
    const char c = s->p[0];
    *s = (kiln_str){s->p + 1, s->n - 1};
    if (c == '"' || c == '\\')
        return c;
    if (c != 'x' || s->n < 2 || hex_digit(s->p[0]) < 0 || hex_digit(s->p[1]) < 0)
        return -1;
    const int byte = hex_digit(s->p[0]) * 16 + hex_digit(s->p[1]);
    *s = (kiln_str){s->p + 2, s->n - 2};
    return byte;
}

kiln_status kiln_parser_quoted(kiln_parser *p, const char **out) {
    const char *const at = kiln_parser_here(p);
    if (!kiln_parser_accept(p, "\""))
        return kiln_parser_expected(p, "a quoted name");
    kiln_buf b;
    kiln_buf_init(&b, p->arena);
    while (p->rest.n > 0 && p->rest.p[0] != '"' && p->rest.p[0] != '\n') {
        const char *const start = p->rest.p;
        int c = (unsigned char)*start;
        advance(p, 1);
        if (c == '\\')
            c = escape(&p->rest);
        if (c < 0)
            return kiln_parser_fail(p, start, KILN_ERR_PARSE,
                                    "an escape must be \\\\, \\\" or \\xNN");
        if (c == 0)
            return kiln_parser_fail(p, start, KILN_ERR_PARSE,
                                    "a name must not hold a zero byte");
        const char byte = (char)c;
        kiln_buf_add(&b, &byte, 1);
    }
    if (p->rest.n == 0 || p->rest.p[0] != '"')
        return kiln_parser_fail(p, at, KILN_ERR_PARSE,
                                "a quoted name must end on its line");
    advance(p, 1);
    *out = b.p == NULL ? "" : b.p;
    return KILN_OK;
}

kiln_status kiln_parser_name(kiln_parser *p, const char **out) {
    const char *const at = kiln_parser_here(p);
    if (!kiln_parser_accept(p, "%"))
        return kiln_parser_expected(p, "a value such as %x");
    size_t n = 0;
    while (n < p->rest.n && kiln_text_is_bare(p->rest.p[n]))
        n++;
    if (n > 0) {
        *out = kiln_str_dupv(p->arena, (kiln_str){p->rest.p, n});
        advance(p, n);
        return KILN_OK;
    }
    if (p->rest.n == 0 || p->rest.p[0] != '"')
        return kiln_parser_expected(p, "a name behind '%'");
    KILN_TRY(kiln_parser_quoted(p, out));
    if ((*out)[0] == '\0')
        return kiln_parser_fail(p, at, KILN_ERR_PARSE,
                                "a value's name must not be empty");
    return KILN_OK;
}
