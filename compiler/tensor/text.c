/* Names and operators of text forms: what printers and readers share. */
#include "compiler/tensor/text.h"

const char *const kiln_text_reserved[] = {"true", "false", "nan", "inf",
                                          "in",   "else",  NULL};

/* ---- names ----------------------------------------------------------------------- */

const char *kiln_names_of(kiln_names *n, const void *thing, const char *want) {
    const kiln_str key = {(const char *)&thing, sizeof thing};
    const char *name = kiln_map_get(&n->by_thing, key);
    if (name != NULL)
        return name;
    /* by_text: for each name that was wanted, the next number to try. */
    name = want;
    uintptr_t next = (uintptr_t)kiln_map_get(&n->by_text, kiln_str_from(want));
    if (next == 0)
        next = 1;
    while (kiln_map_has(&n->by_text, kiln_str_from(name)))
        name = kiln_format(n->arena, "%s_%ju", want, (uintmax_t)next++);
    kiln_map_set(n->arena, &n->by_text, kiln_str_from(name), (void *)(uintptr_t)1);
    kiln_map_set(n->arena, &n->by_text, kiln_str_from(want), (void *)next);
    kiln_map_set(n->arena, &n->by_thing, key, (void *)(uintptr_t)name);
    return name;
}

/* ---- operators ------------------------------------------------------------------- */

/* Longer signs before those that they begin with. */
static const kiln_operator operators[] = {
    {"//", KILN_EXPR_FLOORDIV, KILN_LEVEL_PRODUCT, false},
    {"<<", KILN_EXPR_SHL, KILN_LEVEL_SHIFT, false},
    {">>", KILN_EXPR_SHR, KILN_LEVEL_SHIFT, false},
    {"<=", KILN_EXPR_LE, KILN_LEVEL_LESS, false},
    {"==", KILN_EXPR_EQ, KILN_LEVEL_EQUAL, false},
    {"!=", KILN_EXPR_NE, KILN_LEVEL_EQUAL, false},
    {"<", KILN_EXPR_LT, KILN_LEVEL_LESS, false},
    {"+", KILN_EXPR_ADD, KILN_LEVEL_SUM, false},
    {"-", KILN_EXPR_SUB, KILN_LEVEL_SUM, false},
    {"*", KILN_EXPR_MUL, KILN_LEVEL_PRODUCT, true},
    {"/", KILN_EXPR_DIV, KILN_LEVEL_PRODUCT, true},
    {"%", KILN_EXPR_FLOORMOD, KILN_LEVEL_PRODUCT, false},
    {"&", KILN_EXPR_AND, KILN_LEVEL_AND, false},
    {"|", KILN_EXPR_OR, KILN_LEVEL_OR, false},
    {"^", KILN_EXPR_XOR, KILN_LEVEL_XOR, false},
};
enum { N_OPERATORS = sizeof operators / sizeof operators[0] };

const kiln_operator *kiln_operator_of(kiln_expr_kind kind) {
    for (int i = 0; i < N_OPERATORS; i++)
        if (operators[i].kind == kind)
            return &operators[i];
    return NULL;
}

const kiln_operator *kiln_operator_here(kiln_lexer *l) {
    (void)kiln_lex_here(l);
    for (int i = 0; i < N_OPERATORS; i++)
        if (kiln_str_starts(l->rest, operators[i].text))
            return &operators[i];
    return NULL;
}
