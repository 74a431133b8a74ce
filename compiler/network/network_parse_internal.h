/* The reader of executable graphs: what network_parse.c and parse_table.c share. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_PARSE_INTERNAL_H
#define KILN_COMPILER_NETWORK_NETWORK_PARSE_INTERNAL_H

#include "compiler/network/executable_internal.h"

/* The graph or a region of it, by the path of its steps. */
typedef struct kiln_net_region {
    const kiln_graph *g;
    const char *path;
} kiln_net_region;

typedef struct kiln_net_reader {
    kiln_lexer lex;
    kiln_net *n;
    KILN_VEC(kiln_net_region) region; /* the whole first */
    kiln_net_region here;             /* of the block that is being read */
    int depth;                        /* of blocks */
    const char *counted;              /* lines are counted as far as here; NULL: none */
    int line;
} kiln_net_reader;

/* Does the head of the text name the fact? */
bool kiln_net_text_has(const kiln_net_reader *r, unsigned fact);
/* Of places one behind the other. */
int kiln_net_line_of(kiln_net_reader *r, const char *at);
/* For messages: cut and printable. */
const char *kiln_net_shown(kiln_net_reader *r, const char *name);

/* A number of tensors, kernels or the like; of bytes, behind a word. */
kiln_status kiln_net_read_number(kiln_net_reader *r, const char *what, int min,
                                 int *out);
kiln_status kiln_net_read_bytes(kiln_net_reader *r, const char *word, int64_t *out);
kiln_status kiln_net_read_u64(kiln_net_reader *r, const char *word, uint64_t *out);
/* "(1, _, 3)"; `_` is -1. */
kiln_status kiln_net_read_list(kiln_net_reader *r, const int **out, int *n);
/* NULL: there is none. */
const kiln_net_region *kiln_net_region_at(const kiln_net_reader *r, const char *path);
/* "conv_1"; and with its operator in front: conv "conv_1". */
kiln_status kiln_net_node_of(kiln_net_reader *r, const kiln_graph *g, kiln_node **out);
kiln_status kiln_net_read_node(kiln_net_reader *r, const kiln_graph *g,
                               kiln_node **out);

/* parse_table.c: lines behind their words, which are at `at`; a step's choice. */
kiln_status kiln_net_read_tensor(kiln_net_reader *r, const char *at);
kiln_status kiln_net_read_kernel(kiln_net_reader *r, const char *at);
kiln_status kiln_net_read_chosen(kiln_net_reader *r, kiln_net_step *s);

#endif
