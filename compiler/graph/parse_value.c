/* Numbers, constants and attributes in graph text (docs/graph-text.md). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/graph/graph_parse_internal.h"

/* For messages: a word of an untrusted text, cut to what fits. */
static const char *shown(kiln_parser *p, kiln_str word) {
    return kiln_str_printable(p->lex.arena, word, 60);
}

/* ---- numbers --------------------------------------------------------------------- */

static kiln_status bad_number(kiln_parser *p, kiln_str word, kiln_dtype dtype) {
    return kiln_lex_fail(&p->lex, word.p, KILN_ERR_PARSE, "'%s' is no %s",
                         shown(p, word), kiln_dtype_name(dtype));
}

/* Digits behind nan:0x, the bits of one element. */
static bool parse_nan_bits(kiln_str digits, kiln_dtype dtype, uint64_t *bits) {
    uint64_t v = 0;
    if (digits.n == 0 || digits.n > 2 * kiln_dtype_bytes(dtype))
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        const char c = digits.p[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'a' && c <= 'f'))
            return false;
        v = v << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    const kiln_type t = kiln_type_scalar(dtype);
    double x = 0;
    kiln_wide w = {.type = t, .f = &x};
    kiln_widen(&t, &v, &w);
    *bits = v;
    return isnan(x);
}

static kiln_status parse_float(kiln_parser *p, kiln_str word, kiln_dtype dtype,
                               uint64_t *bits) {
    kiln_str rest = word;
    if (kiln_text_skip(&rest, "nan:0x"))
        return parse_nan_bits(rest, dtype, bits) ? KILN_OK : bad_number(p, word, dtype);
    if (kiln_str_is(word, "nan")) {
        *bits = kiln_text_plain_nan(dtype);
        return KILN_OK;
    }
    double v;
    if (!kiln_parse_f64(word, &v) || isnan(v))
        return bad_number(p, word, dtype);
    const kiln_wide w = {.type = kiln_type_scalar(dtype), .f = &v};
    *bits = 0;
    kiln_narrow(&w, bits);
    return KILN_OK;
}

static kiln_status parse_int(kiln_parser *p, kiln_str word, kiln_dtype dtype,
                             uint64_t *bits) {
    const kiln_dtype_info *const info = kiln_dtype_get(dtype);
    kiln_str rest = word;
    int64_t v = 0;
    uint64_t u = 0;
    bool ok;
    if (dtype == KILN_U64)
        ok = kiln_text_u64(&rest, &u);
    else
        ok = kiln_text_i64(&rest, &v) && v >= info->min_i && v <= info->max_i;
    if (!ok || rest.n > 0)
        return bad_number(p, word, dtype);
    if (dtype == KILN_U64)
        memcpy(&v, &u, sizeof v);
    const kiln_wide w = {.type = kiln_type_scalar(dtype), .i = &v};
    *bits = 0;
    kiln_narrow(&w, bits);
    return KILN_OK;
}

/* One element, as its bytes at the front of *bits. */
static kiln_status parse_element(kiln_parser *p, kiln_dtype dtype, uint64_t *bits) {
    kiln_str word;
    KILN_TRY(kiln_parser_word(p, "an element", &word));
    return kiln_dtype_is_float(dtype) ? parse_float(p, word, dtype, bits)
                                      : parse_int(p, word, dtype, bits);
}

static kiln_status parse_f64(kiln_parser *p, double *out) {
    uint64_t bits;
    KILN_TRY(parse_element(p, KILN_F64, &bits));
    memcpy(out, &bits, sizeof *out);
    return KILN_OK;
}

static kiln_status parse_i64(kiln_parser *p, int64_t *out) {
    uint64_t bits;
    KILN_TRY(parse_element(p, KILN_I64, &bits));
    memcpy(out, &bits, sizeof *out);
    return KILN_OK;
}

/* ---- constants ------------------------------------------------------------------- */

static kiln_status wrong_count(kiln_parser *p, const char *at, size_t want) {
    return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                         "the constant must have %zu elements, has another number",
                         want);
}

/* Of constants that are longer than their text. */
static kiln_status take_bytes(kiln_parser *p, const char *at, size_t bytes) {
    if (bytes > KILN_TEXT_MAX_SPLAT - p->splat_bytes)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_LIMIT,
                             "constants of one repeated value, or random, may have %d "
                             "bytes together, have more",
                             KILN_TEXT_MAX_SPLAT);
    p->splat_bytes += bytes;
    return KILN_OK;
}

/* `{v x n}`, behind the x. */
static kiln_status parse_splat(kiln_parser *p, const char *at, size_t n, size_t size,
                               const uint64_t *first, const void **out) {
    kiln_str word;
    KILN_TRY(kiln_parser_word(p, "the number of elements", &word));
    uint64_t count;
    kiln_str rest = word;
    if (!kiln_text_u64(&rest, &count) || rest.n > 0 || count != n)
        return wrong_count(p, at, n);
    KILN_TRY(take_bytes(p, at, n * size));
    unsigned char *const data = kiln_arena_alloc(p->lex.arena, n * size);
    /* The arena's memory is zero: large zero constants cost nothing. */
    for (size_t i = 0; *first != 0 && i < n; i++)
        memcpy(data + i * size, first, size);
    *out = data;
    return kiln_lex_expect(&p->lex, "}");
}

/* `random(SEED)`, behind the word. */
static kiln_status parse_random(kiln_parser *p, const char *at, const kiln_type *t,
                                const void **out) {
    KILN_TRY(kiln_lex_expect(&p->lex, "("));
    kiln_str word;
    uint64_t seed;
    KILN_TRY(kiln_parser_word(p, "a seed", &word));
    kiln_str rest = word;
    if (!kiln_text_u64(&rest, &seed) || rest.n > 0)
        return kiln_lex_fail(&p->lex, word.p, KILN_ERR_PARSE, "'%s' is no seed",
                             shown(p, word));
    if (!kiln_layout_is_plain(&t->layout))
        return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                             "a random constant must be row-major, has a layout");
    KILN_TRY(take_bytes(p, at, (size_t)kiln_type_bytes(t)));
    *out = kiln_tensor_random(p->lex.arena, t, seed).data;
    return kiln_lex_expect(&p->lex, ")");
}

kiln_status kiln_parser_data(kiln_parser *p, const kiln_type *t, const void **out) {
    const char *const at = kiln_lex_here(&p->lex);
    const size_t n = (size_t)kiln_type_stored_elems(t);
    const size_t size = kiln_dtype_bytes(t->dtype);
    if (kiln_lex_accept(&p->lex, "random"))
        return parse_random(p, at, t, out);
    KILN_TRY(kiln_lex_expect(&p->lex, "{"));
    if (kiln_lex_accept(&p->lex, "..."))
        return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                             "the constant's data was left out; print the graph with "
                             "its data to read it back");
    if (kiln_lex_accept(&p->lex, "}")) {
        *out = "";
        return n == 0 ? KILN_OK : wrong_count(p, at, n);
    }
    uint64_t bits;
    KILN_TRY(parse_element(p, t->dtype, &bits));
    if (kiln_lex_accept(&p->lex, "x"))
        return parse_splat(p, at, n, size, &bits, out);
    /* Each element takes two bytes of text, so this bounds what a lie about the shape
     * costs. */
    if (n == 0 || n > p->lex.rest.n)
        return wrong_count(p, at, n);
    unsigned char *const data = kiln_arena_alloc(p->lex.arena, n * size);
    memcpy(data, &bits, size);
    for (size_t i = 1; i < n; i++) {
        if (!kiln_lex_accept(&p->lex, ","))
            return kiln_lex_accept(&p->lex, "}")
                       ? wrong_count(p, at, n)
                       : kiln_lex_expected(&p->lex, "',' or '}'");
        KILN_TRY(parse_element(p, t->dtype, &bits));
        memcpy(data + i * size, &bits, size);
    }
    if (kiln_lex_accept(&p->lex, ","))
        return wrong_count(p, at, n);
    *out = data;
    return kiln_lex_expect(&p->lex, "}");
}

/* ---- attributes ------------------------------------------------------------------ */

static kiln_status parse_word_index(kiln_parser *p, const kiln_attr_def *def,
                                    int64_t *out) {
    kiln_str word;
    KILN_TRY(kiln_parser_word(p, "a word", &word));
    *out = kiln_attr_choice(def, word);
    if (*out < 0)
        return kiln_lex_fail(&p->lex, word.p, KILN_ERR_PARSE,
                             "'%s' is no choice of attribute '%s'", shown(p, word),
                             def->name);
    return KILN_OK;
}

static kiln_status parse_list(kiln_parser *p, const kiln_attr_def *def,
                              kiln_attr *out) {
    KILN_VEC(int64_t) ints = {0};
    KILN_VEC(double) floats = {0};
    KILN_TRY(kiln_lex_expect(&p->lex, "["));
    if (kiln_lex_accept(&p->lex, "]"))
        return KILN_OK;
    do {
        int64_t i = 0;
        double f = 0;
        if (def->kind == KILN_ATTR_FLOATS)
            KILN_TRY(parse_f64(p, &f));
        else if (def->kind == KILN_ATTR_WORDS)
            KILN_TRY(parse_word_index(p, def, &i));
        else
            KILN_TRY(parse_i64(p, &i));
        if (def->kind == KILN_ATTR_FLOATS)
            kiln_vec_push(p->lex.arena, &floats, f);
        else
            kiln_vec_push(p->lex.arena, &ints, i);
    } while (kiln_lex_accept(&p->lex, ","));
    *out = (kiln_attr){.n = ints.n + floats.n, .ints = ints.v, .floats = floats.v};
    return kiln_lex_expect(&p->lex, "]");
}

static kiln_status parse_bool(kiln_parser *p, int64_t *out) {
    kiln_str word;
    KILN_TRY(kiln_parser_word(p, "true or false", &word));
    *out = kiln_str_is(word, "true") ? 1 : 0;
    if (*out == 0 && !kiln_str_is(word, "false"))
        return kiln_lex_fail(&p->lex, word.p, KILN_ERR_PARSE,
                             "expected true or false, found '%s'", shown(p, word));
    return KILN_OK;
}

static kiln_status parse_dtype(kiln_parser *p, int64_t *out) {
    kiln_str word;
    kiln_dtype dtype;
    KILN_TRY(kiln_parser_word(p, "an element type", &word));
    if (!kiln_dtype_parse(word, &dtype))
        return kiln_lex_fail(&p->lex, word.p, KILN_ERR_PARSE, "'%s' is no element type",
                             shown(p, word));
    *out = (int64_t)dtype;
    return KILN_OK;
}

kiln_status kiln_parser_attr(kiln_parser *p, const kiln_attr_def *def,
                             kiln_attr_arg *out) {
    *out = (kiln_attr_arg){.name = def->name, .kind = def->kind};
    switch (def->kind) {
    case KILN_ATTR_INT:
        return parse_i64(p, &out->value.i);
    case KILN_ATTR_BOOL:
        return parse_bool(p, &out->value.i);
    case KILN_ATTR_FLOAT:
        return parse_f64(p, &out->value.f);
    case KILN_ATTR_WORD:
        return parse_word_index(p, def, &out->value.i);
    case KILN_ATTR_DTYPE:
        return parse_dtype(p, &out->value.i);
    case KILN_ATTR_INTS:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
        return parse_list(p, def, &out->value);
    case KILN_ATTR_GRAPH:
        if (kiln_lex_accept(&p->lex, "none"))
            return KILN_OK;
        return kiln_parser_graph(p, &out->value.graph);
    }
    return KILN_OK;
}
