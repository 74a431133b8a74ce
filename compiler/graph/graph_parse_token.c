/* Tokens that only graph text has (docs/graph-text.md); the others are base's. */
#include "compiler/graph/graph_parse_internal.h"

static bool is_word(char c) {
    return (kiln_text_is_bare(c) && c != '/') || c == ':' || c == '+';
}

kiln_status kiln_parser_word(kiln_parser *p, const char *what, kiln_str *out) {
    const char *const at = kiln_lex_here(&p->lex);
    size_t n = 0;
    while (n < p->lex.rest.n && is_word(at[n]))
        n++;
    if (n == 0)
        return kiln_lex_expected(&p->lex, what);
    *out = (kiln_str){at, n};
    kiln_lex_advance(&p->lex, n);
    return KILN_OK;
}

kiln_status kiln_parser_name(kiln_parser *p, const char **out) {
    const char *const at = kiln_lex_here(&p->lex);
    if (!kiln_lex_accept(&p->lex, "%"))
        return kiln_lex_expected(&p->lex, "a value such as %x");
    size_t n = 0;
    while (n < p->lex.rest.n && kiln_text_is_bare(p->lex.rest.p[n]))
        n++;
    if (n > 0) {
        *out = kiln_str_dupv(p->lex.arena, (kiln_str){p->lex.rest.p, n});
        kiln_lex_advance(&p->lex, n);
        return KILN_OK;
    }
    if (p->lex.rest.n == 0 || p->lex.rest.p[0] != '"')
        return kiln_lex_expected(&p->lex, "a name behind '%'");
    KILN_TRY(kiln_lex_quoted(&p->lex, out));
    if ((*out)[0] == '\0')
        return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                             "a value's name must not be empty");
    return KILN_OK;
}
