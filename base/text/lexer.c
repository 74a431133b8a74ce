#include "base/text/lexer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- places ---------------------------------------------------------------------- */

kiln_lexer kiln_lexer_make(kiln_arena *a, kiln_str text, const char *file,
                           kiln_err *err) {
    if (text.p == NULL)
        text = KILN_STR_LIT("");
    return (kiln_lexer){.arena = a,
                        .file = file == NULL ? "text" : file,
                        .text = text,
                        .rest = text,
                        .err = err};
}

static void place(const kiln_lexer *l, const char *at, size_t *line, size_t *column) {
    *line = 1;
    const char *start = l->text.p;
    for (const char *c = l->text.p; c < at; c++) {
        if (*c == '\n') {
            (*line)++;
            start = c + 1;
        }
    }
    *column = (size_t)(at - start) + 1;
}

kiln_status kiln_lex_fail(kiln_lexer *l, const char *at, kiln_status status,
                          const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t line, column;
    place(l, at, &line, &column);
    return kiln_fail(l->err, status, "%s:%zu:%zu: %s", l->file, line, column, text);
}

kiln_status kiln_lex_note(kiln_lexer *l, const char *at, kiln_status status) {
    size_t line, column;
    place(l, at, &line, &column);
    kiln_note(l->err, "reading %s:%zu:%zu", l->file, line, column);
    return status;
}

kiln_status kiln_lex_expected(kiln_lexer *l, const char *what) {
    const char *const at = kiln_lex_here(l);
    if (l->rest.n == 0)
        return kiln_lex_fail(l, at, KILN_ERR_PARSE, "expected %s, the text ends", what);
    const unsigned char c = (unsigned char)*at;
    if (c > ' ' && c < 0x7f)
        return kiln_lex_fail(l, at, KILN_ERR_PARSE, "expected %s, found '%c'", what, c);
    return kiln_lex_fail(l, at, KILN_ERR_PARSE, "expected %s, found byte 0x%02x", what,
                         c);
}

/* ---- tokens ---------------------------------------------------------------------- */

void kiln_lex_advance(kiln_lexer *l, size_t n) {
    KILN_ASSERT(n <= l->rest.n, "past the end of the text");
    l->rest = (kiln_str){l->rest.p + n, l->rest.n - n};
}

const char *kiln_lex_here(kiln_lexer *l) {
    bool in_comment = false;
    size_t i = 0;
    for (; i < l->rest.n; i++) {
        const char c = l->rest.p[i];
        if (c == '#')
            in_comment = true;
        else if (c == '\n')
            in_comment = false;
        else if (!in_comment && c != ' ' && c != '\t' && c != '\r')
            break;
    }
    kiln_lex_advance(l, i);
    return l->rest.p;
}

char kiln_lex_peek(kiln_lexer *l, size_t i) {
    (void)kiln_lex_here(l);
    return i < l->rest.n ? l->rest.p[i] : '\0';
}

bool kiln_lex_accept(kiln_lexer *l, const char *token) {
    (void)kiln_lex_here(l);
    return kiln_text_skip(&l->rest, token);
}

kiln_status kiln_lex_expect(kiln_lexer *l, const char *token) {
    if (kiln_lex_accept(l, token))
        return KILN_OK;
    char what[32];
    (void)snprintf(what, sizeof what, "'%s'", token);
    return kiln_lex_expected(l, what);
}

/* ---- names ----------------------------------------------------------------------- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/* Bytes of the bare name at the front of s; 0: none. */
static size_t bare_length(kiln_str s) {
    size_t n = 0;
    if (s.n == 0 || !is_letter(s.p[0]))
        return 0;
    while (n < s.n &&
           (is_word(s.p[n]) || (s.p[n] == '.' && n + 1 < s.n && is_word(s.p[n + 1]))))
        n++;
    return n;
}

bool kiln_lex_bare(kiln_lexer *l, kiln_str *out) {
    (void)kiln_lex_here(l);
    const size_t n = bare_length(l->rest);
    if (n == 0)
        return false;
    *out = (kiln_str){l->rest.p, n};
    kiln_lex_advance(l, n);
    return true;
}

bool kiln_lex_word(kiln_lexer *l, const char *word) {
    (void)kiln_lex_here(l);
    const size_t n = bare_length(l->rest);
    if (!kiln_str_is((kiln_str){l->rest.p, n}, word))
        return false;
    kiln_lex_advance(l, n);
    return true;
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

kiln_status kiln_lex_quoted(kiln_lexer *l, const char **out) {
    const char *const at = kiln_lex_here(l);
    if (!kiln_lex_accept(l, "\""))
        return kiln_lex_expected(l, "a quoted name");
    kiln_buf b;
    kiln_buf_init(&b, l->arena);
    while (l->rest.n > 0 && l->rest.p[0] != '"' && l->rest.p[0] != '\n') {
        const char *const start = l->rest.p;
        int c = (unsigned char)*start;
        kiln_lex_advance(l, 1);
        if (c == '\\')
            c = escape(&l->rest);
        if (c < 0)
            return kiln_lex_fail(l, start, KILN_ERR_PARSE,
                                 "an escape must be \\\\, \\\" or \\xNN");
        if (c == 0)
            return kiln_lex_fail(l, start, KILN_ERR_PARSE,
                                 "a name must not hold a zero byte");
        const char byte = (char)c;
        kiln_buf_add(&b, &byte, 1);
    }
    if (l->rest.n == 0 || l->rest.p[0] != '"')
        return kiln_lex_fail(l, at, KILN_ERR_PARSE,
                             "a quoted name must end on its line");
    kiln_lex_advance(l, 1);
    *out = b.p == NULL ? "" : b.p;
    return KILN_OK;
}

kiln_status kiln_lex_name(kiln_lexer *l, const char *what, const char **out) {
    kiln_str bare;
    if (kiln_lex_bare(l, &bare)) {
        *out = kiln_str_dupv(l->arena, bare);
        return KILN_OK;
    }
    return kiln_lex_peek(l, 0) == '"' ? kiln_lex_quoted(l, out)
                                      : kiln_lex_expected(l, what);
}

kiln_status kiln_lex_int(kiln_lexer *l, const char *what, int64_t min, int64_t max,
                         int64_t *out) {
    const char *const at = kiln_lex_here(l);
    int64_t v;
    if (!kiln_text_i64(&l->rest, &v))
        return kiln_lex_expected(l, what);
    if (v < min || v > max)
        return kiln_lex_fail(l, at, KILN_ERR_PARSE,
                             "%s must be in [%" PRId64 ", %" PRId64 "], is %" PRId64,
                             what, min, max, v);
    *out = v;
    return KILN_OK;
}

/* ---- writing --------------------------------------------------------------------- */

void kiln_buf_quote(kiln_buf *out, const char *z) {
    kiln_buf_puts(out, "\"");
    for (; *z != '\0'; z++) {
        const unsigned char c = (unsigned char)*z;
        if (c == '"' || c == '\\')
            kiln_buf_printf(out, "\\%c", c);
        else if (c < ' ' || c >= 0x7f)
            kiln_buf_printf(out, "\\x%02x", c);
        else
            kiln_buf_add(out, z, 1);
    }
    kiln_buf_puts(out, "\"");
}

void kiln_buf_name(kiln_buf *out, const char *name, const char *const *reserved) {
    bool is_bare = name[0] != '\0' && bare_length(kiln_str_from(name)) == strlen(name);
    for (int i = 0; is_bare && reserved != NULL && reserved[i] != NULL; i++)
        is_bare = strcmp(name, reserved[i]) != 0;
    if (is_bare)
        kiln_buf_puts(out, name);
    else
        kiln_buf_quote(out, name);
}

/* ---- views ----------------------------------------------------------------------- */

bool kiln_text_u64(kiln_str *rest, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;
    for (; i < rest->n && rest->p[i] >= '0' && rest->p[i] <= '9'; i++) {
        const uint64_t digit = (uint64_t)(rest->p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (i == 0)
        return false;
    *out = v;
    *rest = (kiln_str){rest->p + i, rest->n - i};
    return true;
}

bool kiln_text_i64(kiln_str *rest, int64_t *out) {
    kiln_str s = *rest;
    const bool minus = kiln_text_skip(&s, "-");
    uint64_t v;
    if (!kiln_text_u64(&s, &v) || v > (uint64_t)INT64_MAX + (minus ? 1U : 0U))
        return false;
    *out = !minus ? (int64_t)v : v > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)v;
    *rest = s;
    return true;
}

bool kiln_text_skip(kiln_str *rest, const char *prefix) {
    if (!kiln_str_starts(*rest, prefix))
        return false;
    const size_t n = kiln_str_from(prefix).n;
    *rest = (kiln_str){rest->p + n, rest->n - n};
    return true;
}
