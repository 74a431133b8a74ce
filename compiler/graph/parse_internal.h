/* The reader of graph text: a cursor over the whole text, and what parse.c and
 * parse_value.c share. */
#ifndef KILN_COMPILER_GRAPH_PARSE_INTERNAL_H
#define KILN_COMPILER_GRAPH_PARSE_INTERNAL_H

#include "compiler/graph/graph_internal.h"

enum {
    /* Bytes of constants written as `{v x n}`: all else is bounded by the length of the
       text. */
    KILN_TEXT_MAX_SPLAT = 256 << 20,
};

typedef struct kiln_parser {
    kiln_arena *arena;
    const char *file; /* for messages */
    kiln_str text;    /* whole */
    kiln_str rest;    /* not read yet; a view into text */
    int depth;        /* of regions */
    size_t splat_bytes;
    kiln_err *err;
} kiln_parser;

/* Fails with "file:line:column: ..." of the byte at `at` (a pointer into the text). */
kiln_status kiln_parser_fail(kiln_parser *p, const char *at, kiln_status status,
                             const char *fmt, ...) KILN_PRINTF(4, 5);
/* Adds the place to a failure that has its text. */
kiln_status kiln_parser_note(kiln_parser *p, const char *at, kiln_status status);
/* "file:line:column: expected <what>, found ..." at the next token. */
kiln_status kiln_parser_expected(kiln_parser *p, const char *what);
/* Skips blanks and comments; the next token's place. */
const char *kiln_parser_here(kiln_parser *p);
/* Takes a token (punctuation) when it comes next. */
bool kiln_parser_accept(kiln_parser *p, const char *token);
kiln_status kiln_parser_expect(kiln_parser *p, const char *token);
/* A maximal run of letters, digits and _ . : + - ; KILN_ERR_PARSE "expected <what>"
 * when empty. */
kiln_status kiln_parser_word(kiln_parser *p, const char *what, kiln_str *out);
/* "..." with escapes undone; in the arena. */
kiln_status kiln_parser_quoted(kiln_parser *p, const char **out);
/* %name or %"name" */
kiln_status kiln_parser_name(kiln_parser *p, const char **out);

/* parse_value.c: a constant's {...}; an attribute's value behind `name=`. */
kiln_status kiln_parser_data(kiln_parser *p, const kiln_type *t, const void **out);
kiln_status kiln_parser_attr(kiln_parser *p, const kiln_attr_def *def,
                             kiln_attr_arg *out);
/* parse.c: one graph, for regions. */
kiln_status kiln_parser_graph(kiln_parser *p, kiln_graph **out);

#endif
