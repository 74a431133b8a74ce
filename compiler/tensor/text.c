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
    size_t next = kiln_numbers_get(&n->by_text, kiln_str_from(want));
    if (next == 0)
        next = 1;
    while (kiln_numbers_get(&n->by_text, kiln_str_from(name)) > 0)
        name = kiln_format(n->arena, "%s_%zu", want, next++);
    kiln_numbers_set(n->arena, &n->by_text, kiln_str_from(name), 1);
    kiln_numbers_set(n->arena, &n->by_text, kiln_str_from(want), next);
    kiln_map_set(n->arena, &n->by_thing, key, name);
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
