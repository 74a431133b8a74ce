/* Tokens of executable graphs' text, and the graph's things that they name. */
#include "compiler/network/network_parse_internal.h"

#include <string.h>

#define fail(r, at, ...) kiln_lex_fail(&(r)->lex, (at), KILN_ERR_PARSE, __VA_ARGS__)

enum { MAX_NUMBER = 1 << 24 }; /* of tensors, kernels, operands */
static const int64_t max_bytes = INT64_C(1) << 50;

bool kiln_net_text_has(const kiln_net_reader *r, unsigned fact) {
    return (r->n->facts & fact) != 0;
}

int kiln_net_line_of(kiln_net_reader *r, const char *at) {
    if (r->counted == NULL) {
        r->counted = r->lex.text.p;
        r->line = 1;
    }
    for (; r->counted < at; r->counted++)
        r->line += *r->counted == '\n';
    return r->line;
}

const char *kiln_net_shown(kiln_net_reader *r, const char *name) {
    return kiln_str_printable(r->lex.arena, kiln_str_from(name), 60);
}

/* ---- words ----------------------------------------------------------------------- */

kiln_status kiln_net_read_number(kiln_net_reader *r, const char *what, int min,
                                 int *out) {
    int64_t v = 0;
    KILN_TRY(kiln_lex_int(&r->lex, what, min, MAX_NUMBER, &v));
    *out = (int)v;
    return KILN_OK;
}

kiln_status kiln_net_read_bytes(kiln_net_reader *r, const char *word, int64_t *out) {
    KILN_TRY(kiln_lex_expect(&r->lex, word));
    return kiln_lex_int(&r->lex, "a number of bytes", 0, max_bytes, out);
}

kiln_status kiln_net_read_u64(kiln_net_reader *r, const char *word, uint64_t *out) {
    int64_t v = 0;
    KILN_TRY(kiln_net_read_bytes(r, word, &v));
    *out = (uint64_t)v;
    return KILN_OK;
}

/* "(1, _, 3)"; `_` is -1. */
kiln_status kiln_net_read_list(kiln_net_reader *r, const int **out, int *n) {
    KILN_VEC(int) v = {0};
    KILN_TRY(kiln_lex_expect(&r->lex, "("));
    while (kiln_lex_peek(&r->lex, 0) != ')') {
        int one = -1;
        if (v.n > 0)
            KILN_TRY(kiln_lex_expect(&r->lex, ","));
        if (!kiln_lex_accept(&r->lex, "_"))
            KILN_TRY(kiln_net_read_number(r, "the number of a tensor", 0, &one));
        kiln_vec_push(r->lex.arena, &v, one);
    }
    *out = v.v;
    *n = (int)v.n;
    return kiln_lex_expect(&r->lex, ")");
}

/* ---- the graph ------------------------------------------------------------------- */

const kiln_net_region *kiln_net_region_at(const kiln_net_reader *r, const char *path) {
    for (size_t i = 0; i < r->region.n; i++)
        if (strcmp(r->region.v[i].path, path) == 0)
            return &r->region.v[i];
    return NULL;
}

static kiln_node *find_node(const kiln_graph *g, const char *name) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (strcmp(g->nodes.v[i]->name, name) == 0)
            return g->nodes.v[i];
    return NULL;
}

kiln_status kiln_net_node_of(kiln_net_reader *r, const kiln_graph *g, kiln_node **out) {
    const char *name = NULL, *at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    *out = find_node(g, name);
    return *out != NULL ? KILN_OK
                        : fail(r, at, "graph '%s' has no node '%s'",
                               kiln_net_shown(r, g->name), kiln_net_shown(r, name));
}

/* `conv "conv_1"` */
kiln_status kiln_net_read_node(kiln_net_reader *r, const kiln_graph *g,
                               kiln_node **out) {
    const char *at = kiln_lex_here(&r->lex);
    kiln_str word;
    if (!kiln_lex_bare(&r->lex, &word))
        return kiln_lex_expected(&r->lex, "an operator");
    KILN_TRY(kiln_net_node_of(r, g, out));
    return kiln_str_is(word, (*out)->op->name)
               ? KILN_OK
               : fail(r, at, "node '%s' is of operator %s",
                      kiln_net_shown(r, (*out)->name), (*out)->op->name);
}
