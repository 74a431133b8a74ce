/* Strings: see str.h. UTF-8 after RFC 3629.
 *
 * Numbers are read by strtod in the locale the process starts in, which is "C": nothing
 * in kiln calls setlocale. The spelling is checked here first, so strtod's own extras
 * are not accepted.
 */
#include "base/core/str.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/status.h"

int kiln_str_int_len(kiln_str s) { return s.n > INT_MAX ? INT_MAX : (int)s.n; }

kiln_str kiln_str_from(const char *z) {
    if (z == NULL)
        return (kiln_str){NULL, 0};
    return (kiln_str){z, strlen(z)};
}

bool kiln_str_eq(kiln_str a, kiln_str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool kiln_str_is(kiln_str a, const char *z) { return kiln_str_eq(a, kiln_str_from(z)); }

bool kiln_str_starts(kiln_str a, const char *prefix) {
    const size_t n = strlen(prefix);
    return n <= a.n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

bool kiln_str_ends(kiln_str a, const char *suffix) {
    const size_t n = strlen(suffix);
    return n <= a.n && (n == 0 || memcmp(a.p + (a.n - n), suffix, n) == 0);
}

int kiln_str_cmp(kiln_str a, kiln_str b) {
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n == 0 ? 0 : memcmp(a.p, b.p, n);
    if (order != 0)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

bool kiln_str_cut(kiln_str *rest, char sep, kiln_str *head) {
    *head = (kiln_str){NULL, 0};
    if (rest->p == NULL)
        return false;
    const char *at = rest->n == 0 ? NULL : memchr(rest->p, sep, rest->n);
    if (at == NULL) {
        *head = *rest;
        *rest = (kiln_str){NULL, 0};
        return true;
    }
    const size_t n = (size_t)(at - rest->p);
    *head = (kiln_str){rest->p, n};
    *rest = (kiln_str){at + 1, rest->n - n - 1};
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

kiln_str kiln_str_trim(kiln_str s) {
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

char *kiln_str_dup(kiln_arena *a, const char *z) {
    return kiln_arena_dup(a, z, strlen(z) + 1);
}

char *kiln_str_dupv(kiln_arena *a, kiln_str s) {
    if (s.n == SIZE_MAX)
        kiln_out_of_memory(s.n);
    char *copy = kiln_arena_alloc_raw(a, s.n + 1);
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

char *kiln_format(kiln_arena *a, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    KILN_ASSERT(n >= 0, "'%s' could not be formatted", fmt);
    char *text = kiln_arena_alloc_raw(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool take_sign(kiln_str *s) {
    if (s->n == 0 || (s->p[0] != '-' && s->p[0] != '+'))
        return false;
    const bool negative = s->p[0] == '-';
    s->p++;
    s->n--;
    return negative;
}

bool kiln_parse_i64(kiln_str s, int64_t *out) {
    const bool negative = take_sign(&s);
    const uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (s.n == 0)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]))
            return false;
        const uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (v > (most - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (!negative)
        *out = (int64_t)v;
    else
        *out = v == most ? INT64_MIN : -(int64_t)v;
    return true;
}

static size_t count_digits(kiln_str *s, bool (*accepts)(char)) {
    size_t n = 0;
    while (n < s->n && accepts(s->p[n]))
        n++;
    s->p += n;
    s->n -= n;
    return n;
}

static bool take_char(kiln_str *s, char lower, char upper) {
    if (s->n == 0 || (s->p[0] != lower && s->p[0] != upper))
        return false;
    s->p++;
    s->n--;
    return true;
}

/* digits [. digits] [e sign digits], or 0x hexdigits [. hexdigits] p sign digits,
 * without sign. */
static bool is_float_spelling(kiln_str s) {
    const bool hex = s.n > 1 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X');
    if (hex) {
        s.p += 2;
        s.n -= 2;
    }
    bool (*const accepts)(char) = hex ? is_hex_digit : is_digit;
    size_t n_digits = count_digits(&s, accepts);
    if (take_char(&s, '.', '.'))
        n_digits += count_digits(&s, accepts);
    if (n_digits == 0)
        return false;
    if (take_char(&s, hex ? 'p' : 'e', hex ? 'P' : 'E')) {
        (void)take_sign(&s);
        if (count_digits(&s, is_digit) == 0)
            return false;
    }
    return s.n == 0;
}

bool kiln_parse_f64(kiln_str s, double *out) {
    char text[KILN_F64_TEXT];
    if (s.n == 0 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';

    const bool negative = take_sign(&s);
    if (kiln_str_is(s, "inf")) {
        *out = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (kiln_str_is(s, "nan")) {
        *out = negative ? -(double)NAN : (double)NAN;
        return true;
    }
    if (!is_float_spelling(s))
        return false;
    const double v = strtod(text, NULL);
    if (isinf(v))
        return false; /* too large: not the number that was written */
    *out = v;
    return true;
}

/* Bytes of the sequence that starts s, or 0 when it is not valid UTF-8. */
static size_t utf8_sequence(const unsigned char *p, size_t n) {
    const unsigned c = p[0];
    if (c < 0x80)
        return 1;
    /* The first continuation byte's range excludes overlong forms, surrogates and >
     * U+10FFFF. */
    size_t len = 0;
    unsigned lo = 0x80, hi = 0xBF;
    if (c >= 0xC2 && c <= 0xDF) {
        len = 2;
    } else if (c >= 0xE0 && c <= 0xEF) {
        len = 3;
        lo = c == 0xE0 ? 0xA0 : lo;
        hi = c == 0xED ? 0x9F : hi;
    } else if (c >= 0xF0 && c <= 0xF4) {
        len = 4;
        lo = c == 0xF0 ? 0x90 : lo;
        hi = c == 0xF4 ? 0x8F : hi;
    }
    if (len == 0 || len > n || p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return len;
}

size_t kiln_utf8_len(kiln_str s) {
    return s.n == 0 ? 0 : utf8_sequence((const unsigned char *)s.p, s.n);
}

bool kiln_utf8_valid(kiln_str s) {
    while (s.n > 0) {
        const size_t len = kiln_utf8_len(s);
        if (len == 0)
            return false;
        s.p += len;
        s.n -= len;
    }
    return true;
}

const char *kiln_plural(int64_t n) { return n == 1 ? "" : "s"; }

char *kiln_str_printable(kiln_arena *a, kiln_str s, size_t max_bytes) {
    enum { ESCAPE = 4, ELLIPSIS = 3 };
    static const char hex[] = "0123456789abcdef";
    /* Never more is looked at than can be shown, however long the name is. */
    const size_t n_shown = s.n < max_bytes ? s.n : max_bytes;
    char *text = kiln_arena_alloc_raw(a, n_shown * ESCAPE + 1);
    size_t n = 0, n_before_ellipsis = 0;
    size_t i = 0;
    for (; i < n_shown; i++) {
        const unsigned char c = (unsigned char)s.p[i];
        const bool plain = c >= 0x20 && c < 0x7F;
        if (n + (plain ? 1 : ESCAPE) > max_bytes)
            break;
        if (plain) {
            text[n++] = (char)c;
        } else {
            text[n++] = '\\';
            text[n++] = 'x';
            text[n++] = hex[c >> 4];
            text[n++] = hex[c & 15];
        }
        if (n + ELLIPSIS <= max_bytes)
            n_before_ellipsis = n;
    }
    if (i < s.n && max_bytes >= ELLIPSIS) {
        memcpy(text + n_before_ellipsis, "...", ELLIPSIS);
        n = n_before_ellipsis + ELLIPSIS;
    }
    text[n] = '\0';
    return text;
}

static bool is_inside_letter(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

const char *kiln_str_fit(kiln_arena *a, const char *z, size_t max_bytes) {
    static const char between[] = "..";
    const size_t n = strlen(z), n_between = sizeof between - 1;
    if (n <= max_bytes)
        return z;
    KILN_ASSERT(max_bytes > 2 * n_between, "no name fits into %zu letters", max_bytes);
    size_t head = (max_bytes - n_between) / 3;
    size_t tail = n - (max_bytes - n_between - head);
    while (head > 0 && is_inside_letter(z[head]))
        head--;
    while (tail < n && is_inside_letter(z[tail]))
        tail++;
    return kiln_format(a, "%.*s%s%s", (int)head, z, between, z + tail);
}

/* Bytes at the front that a terminal may have; 0: the first must be escaped. */
static size_t harmless_len(kiln_str s) {
    const unsigned char c = (unsigned char)s.p[0];
    if (c < 0x80)
        return (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t';
    /* U+0080 to U+009F: terminals take them for escape sequences too. */
    if (c == 0xC2 && s.n > 1 && (unsigned char)s.p[1] < 0xA0)
        return 0;
    return kiln_utf8_len(s);
}

kiln_str kiln_str_harmless(kiln_arena *a, kiln_str s) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    size_t done = 0;
    for (size_t i = 0; i < s.n;) {
        const size_t n = harmless_len((kiln_str){s.p + i, s.n - i});
        if (n > 0) {
            i += n;
            continue;
        }
        kiln_buf_add(&b, s.p + done, i - done);
        kiln_buf_printf(&b, "\\x%02x", (unsigned char)s.p[i]);
        done = ++i;
    }
    if (done == 0)
        return s;
    kiln_buf_add(&b, s.p + done, s.n - done);
    return kiln_buf_str(&b);
}

void kiln_buf_init(kiln_buf *b, kiln_arena *a) { *b = (kiln_buf){.arena = a}; }

/* Room for n more bytes and the terminator. */
static void buf_reserve(kiln_buf *b, size_t n) {
    if (n > SIZE_MAX / 4 - b->n)
        kiln_out_of_memory(n);
    const size_t need = b->n + n + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap < 64 ? 64 : b->cap * 2;
    if (cap < need)
        cap = need;
    char *p = kiln_arena_alloc_raw(b->arena, cap);
    if (b->n > 0)
        memcpy(p, b->p, b->n);
    p[b->n] = '\0';
    b->p = p;
    b->cap = cap;
}

void kiln_buf_add(kiln_buf *b, const void *bytes, size_t n) {
    buf_reserve(b, n);
    if (n > 0)
        memmove(b->p + b->n, bytes, n); /* may be part of the buffer itself */
    b->n += n;
    b->p[b->n] = '\0';
}

void kiln_buf_puts(kiln_buf *b, const char *z) { kiln_buf_add(b, z, strlen(z)); }

void kiln_buf_printf(kiln_buf *b, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    KILN_ASSERT(n >= 0, "'%s' could not be formatted", fmt);
    buf_reserve(b, (size_t)n);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    va_end(again);
    b->n += (size_t)n;
}

void kiln_buf_put_word(kiln_buf *b, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_+-.,/:=@%";
    if (b->n > 0)
        kiln_buf_puts(b, " ");
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        kiln_buf_puts(b, word);
        return;
    }
    kiln_buf_puts(b, "'");
    for (const char *c = word; *c != '\0'; c++)
        if (*c == '\'')
            kiln_buf_puts(b, "'\\''"); /* ends the quotes, and begins others */
        else
            kiln_buf_add(b, c, 1);
    kiln_buf_puts(b, "'");
}

kiln_str kiln_buf_str(const kiln_buf *b) {
    return (kiln_str){b->p == NULL ? "" : b->p, b->n};
}
