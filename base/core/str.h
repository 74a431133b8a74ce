/* Strings: views into somebody's bytes, and a builder in an arena. */
#ifndef KILN_BASE_STR_H
#define KILN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/attr.h"

/* A view: not terminated, may hold any byte, borrowed from whoever owns the bytes. */
typedef struct kiln_str {
    const char *p;
    size_t n;
} kiln_str;

/* For "%.*s": the count is cut at INT_MAX. */
#define KILN_STR_ARG(s) kiln_str_int_len(s), (s).p == NULL ? "" : (s).p
#define KILN_STR_LIT(lit) ((kiln_str){(lit), sizeof(lit) - 1})

int kiln_str_int_len(kiln_str s);
kiln_str kiln_str_from(const char *z); /* NULL gives the empty view */
bool kiln_str_eq(kiln_str a, kiln_str b);
bool kiln_str_is(kiln_str a, const char *z);
bool kiln_str_starts(kiln_str a, const char *prefix);
bool kiln_str_ends(kiln_str a, const char *suffix);
/* memcmp order, shorter first on a tie. */
int kiln_str_cmp(kiln_str a, kiln_str b);
/* Cuts `*rest` at the first `sep`; false (and *head empty) once *rest is used up. "a,"
 * has two parts, the second empty; "" has one, the view {NULL, 0} none. */
bool kiln_str_cut(kiln_str *rest, char sep, kiln_str *head);
kiln_str kiln_str_trim(kiln_str s);

/* Terminated copies in the arena. */
char *kiln_str_dup(kiln_arena *a, const char *z);
char *kiln_str_dupv(kiln_arena *a, kiln_str s);
char *kiln_format(kiln_arena *a, const char *fmt, ...) KILN_PRINTF(2, 3);

/* Whole text or nothing: "12x" is not a number. No locale, no blanks; a sign may lead.
 */
bool kiln_parse_i64(kiln_str s, int64_t *out);
/* Decimal, hexadecimal (%a), inf, nan; correctly rounded. Refused: a finite spelling
 * that is too large for a double, and texts of KILN_F64_TEXT bytes or more. */
enum {
    KILN_F64_TEXT = 1280
}; /* the exact value of any double has at most 1079 characters */
bool kiln_parse_f64(kiln_str s, double *out);

/* True when the bytes are valid UTF-8 (RFC 3629). */
bool kiln_utf8_valid(kiln_str s);
/* Bytes of the sequence that starts s; 0 when it is not valid UTF-8, or s is empty. */
size_t kiln_utf8_len(kiln_str s);
/* A printable copy of at most max_bytes: bytes outside printable ASCII become \xNN,
 * what is too long ends in "...". For names from untrusted files that go into messages.
 */
char *kiln_str_printable(kiln_arena *a, kiln_str s, size_t max_bytes);
/* Behind a noun that is counted: "" of one, else "s". */
const char *kiln_plural(int64_t n);

/* `z` itself where it has at most max_bytes (5 at least), else a copy of so many with
 * ".." in its middle and twice as much of its end as of its beginning: names of a table
 * mostly differ at their ends. Whole letters of UTF-8. */
const char *kiln_str_fit(kiln_arena *a, const char *z, size_t max_bytes);

/* Text as a terminal may have it: control characters, also those of UTF-8 and bytes
 * that are no UTF-8, become \xNN; new lines, tabs and all else stay. `s` itself where
 * nothing has to. For what goes to people and holds names from files. */
kiln_str kiln_str_harmless(kiln_arena *a, kiln_str s);

/* Growing text in an arena. `p` is always terminated once anything was added; NULL
 * before. */
typedef struct kiln_buf {
    kiln_arena *arena; /* borrowed */
    char *p;
    size_t n, cap;
} kiln_buf;

void kiln_buf_init(kiln_buf *b, kiln_arena *a);
void kiln_buf_add(kiln_buf *b, const void *bytes, size_t n);
void kiln_buf_puts(kiln_buf *b, const char *z);
void kiln_buf_printf(kiln_buf *b, const char *fmt, ...) KILN_PRINTF(2, 3);
/* Appends a word of a command, as a shell reads it: quoted where it must be, behind a
 * space where something was there. */
void kiln_buf_put_word(kiln_buf *b, const char *word);
kiln_str kiln_buf_str(const kiln_buf *b);

#endif
