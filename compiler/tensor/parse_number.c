/* Numbers out of text. */
#include "compiler/tensor/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t digits(kiln_str s, size_t at) {
    while (at < s.n && is_digit(s.p[at]))
        at++;
    return at;
}

static char byte_at(kiln_str s, size_t i) { return i < s.n ? s.p[i] : '\0'; }

/* [-] digits [. digits] [e [+-] digits] at the front of s; 0: none. */
static size_t number_length(kiln_str s, bool *is_whole) {
    const size_t first = byte_at(s, 0) == '-' ? 1 : 0;
    size_t n = digits(s, first);
    *is_whole = true;
    if (n == first)
        return 0;
    if (byte_at(s, n) == '.' && is_digit(byte_at(s, n + 1))) {
        n = digits(s, n + 1);
        *is_whole = false;
    }
    if (byte_at(s, n) != 'e')
        return n;
    const char sign = byte_at(s, n + 1);
    const size_t exponent = n + (sign == '-' || sign == '+' ? 2 : 1);
    if (!is_digit(byte_at(s, exponent)))
        return n;
    *is_whole = false;
    return digits(s, exponent);
}

static kiln_status make_float(kiln_expr_reader *r, kiln_str text, kiln_dtype dtype,
                              const kiln_expr **out) {
    double v;
    if (!kiln_parse_f64(text, &v))
        return kiln_lex_fail(&r->lex, text.p, KILN_ERR_PARSE, "this is no %s",
                             kiln_dtype_name(dtype));
    *out = kiln_x_float(r->lex.arena, dtype, kiln_round_f64(dtype, v));
    return KILN_OK;
}

kiln_status kiln_text_number(kiln_expr_reader *r, const kiln_expr **out) {
    kiln_lexer *const l = &r->lex;
    const char *const at = kiln_lex_here(l);
    bool is_whole;
    const size_t n = number_length(l->rest, &is_whole);
    const kiln_str text = {at, n};
    const bool has_f = n > 0 && byte_at(l->rest, n) == 'f';
    if (n == 0 || is_word(byte_at(l->rest, has_f ? n + 1 : n)))
        return kiln_lex_expected(l, "a number");
    kiln_lex_advance(l, has_f ? n + 1 : n);
    if (has_f)
        return make_float(r, text, KILN_F32, out);
    int64_t v;
    if (!is_whole)
        return kiln_lex_fail(l, at, KILN_ERR_PARSE,
                             "a float must have its dtype, as 0.5f or f64(0.5) have");
    if (!kiln_parse_i64(text, &v))
        return kiln_lex_fail(l, at, KILN_ERR_PARSE, "the number must fit i64");
    *out = kiln_x_index(l->arena, v);
    return KILN_OK;
}

/* Between the parentheses of f64(...): a number, nan, inf, -inf. */
static bool float_literal(kiln_expr_reader *r, kiln_str *out) {
    kiln_lexer l = r->lex;
    bool is_whole;
    const char *const at = kiln_lex_here(&l);
    size_t n = number_length(l.rest, &is_whole);
    if (n == 0) {
        const size_t sign = byte_at(l.rest, 0) == '-' ? 1 : 0;
        const kiln_str word = {l.rest.p + sign, l.rest.n - sign};
        if (!kiln_str_starts(word, "inf") && !kiln_str_starts(word, "nan"))
            return false;
        n = sign + 3;
    }
    kiln_lex_advance(&l, n);
    if (kiln_lex_peek(&l, 0) != ')')
        return false;
    *out = (kiln_str){at, n};
    r->lex.rest = l.rest;
    return true;
}

/* Between the parentheses of i32(...): a number that fits. */
static bool int_literal(kiln_expr_reader *r, kiln_dtype dtype, int64_t *out) {
    kiln_lexer l = r->lex;
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    (void)kiln_lex_here(&l);
    if (!kiln_text_i64(&l.rest, out) || kiln_lex_peek(&l, 0) != ')')
        return false;
    if (dtype != KILN_U64 && (*out < info->min_i || *out > info->max_i))
        return false;
    r->lex.rest = l.rest;
    return true;
}

kiln_status kiln_text_literal(kiln_expr_reader *r, kiln_dtype dtype,
                              const kiln_expr **out) {
    kiln_str text;
    int64_t v;
    *out = NULL;
    if (kiln_dtype_is_float(dtype) && float_literal(r, &text))
        return make_float(r, text, dtype, out);
    if (!kiln_dtype_is_float(dtype) && dtype != KILN_BOOL && int_literal(r, dtype, &v))
        *out = kiln_x_int(r->lex.arena, dtype, v);
    return KILN_OK;
}
