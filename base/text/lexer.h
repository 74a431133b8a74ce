/* Reading text forms: a cursor over the whole text, with the place in every message.
 *
 * Blanks, tabs and line ends separate tokens and mean nothing else; `#` starts a
 * comment that ends with its line. */
#ifndef KILN_BASE_LEXER_H
#define KILN_BASE_LEXER_H

#include "base/core/core.h"

typedef struct kiln_lexer {
    kiln_arena *arena; /* borrowed: what is read is made there */
    const char *file;  /* for messages */
    kiln_str text;     /* whole */
    kiln_str rest;     /* not read yet; a view into text */
    kiln_err *err;
} kiln_lexer;

/* file NULL: "text". */
kiln_lexer kiln_lexer_make(kiln_arena *a, kiln_str text, const char *file,
                           kiln_err *err);

/* Fails with "file:line:column: ..." of the byte at `at` (a pointer into the text);
 * lines and columns are counted from 1, columns in bytes. */
kiln_status kiln_lex_fail(kiln_lexer *l, const char *at, kiln_status status,
                          const char *fmt, ...) KILN_PRINTF(4, 5);
/* Adds the place to a failure that has its text. */
kiln_status kiln_lex_note(kiln_lexer *l, const char *at, kiln_status status);
/* "file:line:column: expected <what>, found ..." at the next token. */
kiln_status kiln_lex_expected(kiln_lexer *l, const char *what);
/* Skips blanks and comments; the next token's place. */
const char *kiln_lex_here(kiln_lexer *l);
/* The byte i of what comes next; '\0' past the end. */
char kiln_lex_peek(kiln_lexer *l, size_t i);
void kiln_lex_advance(kiln_lexer *l, size_t n);
/* Takes a token (punctuation) when it comes next. */
bool kiln_lex_accept(kiln_lexer *l, const char *token);
kiln_status kiln_lex_expect(kiln_lexer *l, const char *token);
/* A name such as n, i0.outer or _x1: letters, digits and _, not a digit in front, and
 * dots between; false when none comes next. */
bool kiln_lex_bare(kiln_lexer *l, kiln_str *out);
/* Takes the name when it is this one. */
bool kiln_lex_word(kiln_lexer *l, const char *word);
/* "..." with escapes undone; in the arena. KILN_ERR_PARSE for anything else, a zero
 * byte included. */
kiln_status kiln_lex_quoted(kiln_lexer *l, const char **out);
/* A bare name or a quoted one, in the arena. */
kiln_status kiln_lex_name(kiln_lexer *l, const char *what, const char **out);
/* Digits, after one '-' where they are a number below zero. KILN_ERR_PARSE outside
 * [min, max]. */
kiln_status kiln_lex_int(kiln_lexer *l, const char *what, int64_t min, int64_t max,
                         int64_t *out);

/* "..." with \" \\ and \xNN for what is not printable ASCII. */
void kiln_buf_quote(kiln_buf *out, const char *z);
/* The name as kiln_lex_name reads it: bare where it can be and is none of the reserved
 * words (NULL, or a list that ends in NULL), else quoted. */
void kiln_buf_name(kiln_buf *out, const char *name, const char *const *reserved);

/* On views, without places. [0-9]+ (after one '-' where it is allowed) from the front
 * of *rest; false, with *rest unmoved, when there are no digits or the number does not
 * fit. */
bool kiln_text_u64(kiln_str *rest, uint64_t *out);
bool kiln_text_i64(kiln_str *rest, int64_t *out);
/* Takes `prefix` off the front when it is there. */
bool kiln_text_skip(kiln_str *rest, const char *prefix);

#endif
