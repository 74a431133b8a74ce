/* The reader of graph text: what graph_parse.c and parse_value.c share. */
#ifndef KILN_COMPILER_GRAPH_GRAPH_PARSE_INTERNAL_H
#define KILN_COMPILER_GRAPH_GRAPH_PARSE_INTERNAL_H

#include "compiler/graph/graph_internal.h"

enum {
    /* Bytes of constants written as `{v x n}` or `random(n)`: all else is bounded by
       the length of the text. */
    KILN_TEXT_MAX_SPLAT = 256 << 20,
};

typedef struct kiln_parser {
    kiln_lexer lex;
    int depth; /* of regions */
    size_t splat_bytes;
} kiln_parser;

/* A maximal run of letters, digits and _ . : + - ; KILN_ERR_PARSE "expected <what>"
 * when empty. */
kiln_status kiln_parser_word(kiln_parser *p, const char *what, kiln_str *out);
/* %name or %"name" */
kiln_status kiln_parser_name(kiln_parser *p, const char **out);

/* parse_value.c: a constant's {...}; an attribute's value behind `name=`. */
kiln_status kiln_parser_data(kiln_parser *p, const kiln_type *t, const void **out);
kiln_status kiln_parser_attr(kiln_parser *p, const kiln_attr_def *def,
                             kiln_attr_arg *out);
/* graph_parse.c: one graph, for regions. */
kiln_status kiln_parser_graph(kiln_parser *p, kiln_graph **out);

#endif
