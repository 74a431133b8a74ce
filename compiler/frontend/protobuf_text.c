/* Protobuf's text format by tables: see protobuf_text.h. Source: Protocol Buffers,
 * "Text Format Language Specification". */
#include "compiler/frontend/protobuf_text.h"

#include <string.h>

/* As for the wire format: "a{}" takes four bytes of text and a whole struct. */
static const uint64_t budget_base = (uint64_t)64 << 20;
static const uint64_t budget_per_byte = 16;

typedef struct reader {
    kiln_lexer l;
    kiln_arena *arena;
    uint64_t budget; /* bytes that may still be made */
} reader;

/* One message, being read. */
typedef struct message {
    const kiln_pb_message *m;
    char *out;
    bool is_given[KILN_PB_MAX_FIELDS];
    int depth;
} message;

static kiln_status read_fields(reader *r, message *to, const char *end);

/* ---- tokens ---------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A name, a number or a word: what is between blanks and punctuation. */
static kiln_str take_word(reader *r) {
    const char *const start = kiln_lex_here(&r->l);
    const bool is_hex =
        kiln_lex_peek(&r->l, 0) == '0' &&
        (kiln_lex_peek(&r->l, 1) == 'x' || kiln_lex_peek(&r->l, 1) == 'X');
    size_t n = 0;
    for (;; n++) {
        const char c = kiln_lex_peek(&r->l, n);
        const char before = n > 0 ? start[n - 1] : '\0';
        const bool is_exponent = n > 0 && !is_hex && !is_letter(start[0]) &&
                                 (before == 'e' || before == 'E');
        if (!is_letter(c) && !is_digit(c) && c != '.' &&
            !(is_exponent && (c == '+' || c == '-')))
            break;
    }
    kiln_lex_advance(&r->l, n);
    return (kiln_str){start, n};
}

static int hex_digit(char c) {
    return is_digit(c)              ? c - '0'
           : (c >= 'a' && c <= 'f') ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : -1;
}

/* Digits of one escape in base 8 or 16. */
static bool take_code(kiln_str *rest, int base, size_t max_digits, char *out) {
    int v = 0;
    size_t n = 0;
    for (; n < max_digits && n < rest->n; n++) {
        const int d = hex_digit(rest->p[n]);
        if (d < 0 || d >= base)
            break;
        v = v * base + d;
    }
    *rest = (kiln_str){rest->p + n, rest->n - n};
    *out = (char)(unsigned char)v;
    return n > 0 && v <= 0xff;
}

/* What follows a backslash. */
static bool take_escape(kiln_str *rest, char *out) {
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    if (rest->n == 0)
        return false;
    const char c = rest->p[0];
    const char *const at = c != '\0' ? strchr(from, c) : NULL;
    if (at == NULL && c != 'x' && c != 'X')
        return take_code(rest, 8, 3, out);
    *rest = (kiln_str){rest->p + 1, rest->n - 1};
    if (at == NULL)
        return take_code(rest, 16, 2, out);
    *out = to[at - from];
    return true;
}

static kiln_status unescape(reader *r, kiln_str raw, kiln_buf *to) {
    const char *const at = raw.p;
    while (raw.n > 0) {
        char c = raw.p[0];
        raw = (kiln_str){raw.p + 1, raw.n - 1};
        if (c == '\\' && !take_escape(&raw, &c))
            return kiln_lex_fail(&r->l, at, KILN_ERR_PARSE,
                                 "an escape of this string is none that protobuf has");
        kiln_buf_add(to, &c, 1);
    }
    return KILN_OK;
}

/* What lies between one pair of quotes, escapes and all. */
static kiln_status take_quoted(reader *r, kiln_str *raw) {
    const char *const at = kiln_lex_here(&r->l);
    const char quote = kiln_lex_peek(&r->l, 0);
    if (quote != '"' && quote != '\'')
        return kiln_lex_expected(&r->l, "a string");
    const char *const end = r->l.text.p + r->l.text.n;
    const char *p = at + 1;
    while (p < end && *p != quote && *p != '\n')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    if (p >= end || *p != quote)
        return kiln_lex_fail(&r->l, at, KILN_ERR_PARSE,
                             "a string must end on its line");
    *raw = (kiln_str){at + 1, (size_t)(p - at - 1)};
    kiln_lex_advance(&r->l, raw->n + 2);
    return KILN_OK;
}

static bool is_quote_next(reader *r) {
    (void)kiln_lex_here(&r->l);
    return kiln_lex_peek(&r->l, 0) == '"' || kiln_lex_peek(&r->l, 0) == '\'';
}

/* Strings side by side are one. */
static kiln_status read_string(reader *r, kiln_str *out) {
    kiln_str raw;
    KILN_TRY(take_quoted(r, &raw));
    if (!is_quote_next(r) && (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL)) {
        *out = raw;
        return KILN_OK;
    }
    kiln_buf b;
    kiln_buf_init(&b, r->arena);
    KILN_TRY(unescape(r, raw, &b));
    while (is_quote_next(r)) {
        KILN_TRY(take_quoted(r, &raw));
        KILN_TRY(unescape(r, raw, &b));
    }
    *out = kiln_buf_str(&b);
    return KILN_OK;
}

/* ---- scalars --------------------------------------------------------------------- */

/* Decimal, hexadecimal or octal, as in C. */
static bool parse_whole(kiln_str word, uint64_t *out) {
    uint64_t base = 10, v = 0;
    if (word.n > 2 && word.p[0] == '0' && (word.p[1] == 'x' || word.p[1] == 'X')) {
        base = 16;
        word = (kiln_str){word.p + 2, word.n - 2};
    } else if (word.n > 1 && word.p[0] == '0') {
        base = 8;
    }
    for (size_t i = 0; i < word.n; i++) {
        const int d = hex_digit(word.p[i]);
        if (d < 0 || (uint64_t)d >= base || v > (UINT64_MAX - (uint64_t)d) / base)
            return false;
        v = v * base + (uint64_t)d;
    }
    *out = v;
    return word.n > 0;
}

static bool parse_signed(bool is_negative, kiln_str word, int64_t *out) {
    uint64_t v;
    if (!parse_whole(word, &v) || v > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static bool parse_float(bool is_negative, kiln_str word, double *out) {
    uint64_t whole;
    if (word.n > 1 && parse_whole(word, &whole)) {
        *out = (double)whole;
    } else {
        const bool has_suffix = word.n > 1 && is_digit(word.p[0]) &&
                                (kiln_str_ends(word, "f") || kiln_str_ends(word, "F"));
        if (has_suffix)
            word.n--;
        if (!kiln_parse_f64(word, out))
            return false;
    }
    *out = is_negative ? -*out : *out;
    return true;
}

static bool parse_bool(kiln_str word, bool *out) {
    static const char *const yes[] = {"true", "True", "t", "1"}, *const no[] = {
                                                                     "false", "False",
                                                                     "f", "0"};
    for (size_t i = 0; i < 4; i++)
        if (kiln_str_is(word, yes[i]) || kiln_str_is(word, no[i])) {
            *out = kiln_str_is(word, yes[i]);
            return true;
        }
    return false;
}

static bool parse_enum(const kiln_pb_message *values, kiln_str word, int64_t *out) {
    for (size_t i = 0; i < values->n_field; i++)
        if (kiln_str_is(word, values->field[i].name)) {
            *out = values->field[i].number;
            return true;
        }
    return false;
}

/* Whether the word is of the field's kind; then its value is at `to`. */
static bool store_word(const kiln_pb_field *f, bool is_negative, kiln_str word,
                       void *to) {
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    bool b = false, ok = false;
    switch (f->kind) {
    case KILN_PB_I64:
        ok = (f->sub != NULL && !is_negative && parse_enum(f->sub, word, &i)) ||
             parse_signed(is_negative, word, &i);
        memcpy(to, &i, sizeof i);
        return ok;
    case KILN_PB_I32: {
        ok = parse_signed(is_negative, word, &i) && i >= INT32_MIN && i <= INT32_MAX;
        const int32_t low = ok ? (int32_t)i : 0;
        memcpy(to, &low, sizeof low);
        return ok;
    }
    case KILN_PB_U64:
        ok = !is_negative && parse_whole(word, &u);
        memcpy(to, &u, sizeof u);
        return ok;
    case KILN_PB_BOOL:
        ok = !is_negative && parse_bool(word, &b);
        memcpy(to, &b, sizeof b);
        return ok;
    case KILN_PB_F32: {
        ok = parse_float(is_negative, word, &d);
        const float single = (float)d;
        memcpy(to, &single, sizeof single);
        return ok;
    }
    case KILN_PB_F64:
        ok = parse_float(is_negative, word, &d);
        memcpy(to, &d, sizeof d);
        return ok;
    case KILN_PB_BYTES:
    case KILN_PB_MESSAGE:
    case KILN_PB_INLINE:
    case KILN_PB_COUNT:
        return false;
    }
    return false;
}

static const char *kind_text(const kiln_pb_field *f) {
    switch (f->kind) {
    case KILN_PB_I64:
        return f->sub != NULL ? "one of its enumeration's names" : "a whole number";
    case KILN_PB_I32:
        return "a whole number";
    case KILN_PB_U64:
        return "a whole number of 0 or more";
    case KILN_PB_BOOL:
        return "true or false";
    case KILN_PB_F32:
    case KILN_PB_F64:
        return "a number";
    case KILN_PB_BYTES:
        return "a string";
    case KILN_PB_MESSAGE:
    case KILN_PB_INLINE:
        return "'{'";
    case KILN_PB_COUNT:
        return "a value";
    }
    return "a value";
}

static kiln_status read_scalar(reader *r, const message *in, const kiln_pb_field *f,
                               void *to) {
    if (f->kind == KILN_PB_BYTES) {
        kiln_str s;
        KILN_TRY(read_string(r, &s));
        memcpy(to, &s, sizeof s);
        return KILN_OK;
    }
    const char *const at = kiln_lex_here(&r->l);
    const bool is_negative = kiln_lex_accept(&r->l, "-");
    const kiln_str word = take_word(r);
    if (store_word(f, is_negative, word, to))
        return KILN_OK;
    return kiln_lex_fail(
        &r->l, at, KILN_ERR_PARSE, "field '%s' of %s must be %s, is '%s%.*s'", f->name,
        in->m->name, kind_text(f), is_negative ? "-" : "", KILN_STR_ARG(word));
}

/* ---- fields ---------------------------------------------------------------------- */

static kiln_status make(reader *r, const message *in, const kiln_pb_field *f, size_t n,
                        void **out) {
    const size_t size = kiln_pb_elem_bytes(f);
    if (size != 0 && n > r->budget / size)
        return kiln_lex_fail(
            &r->l, kiln_lex_here(&r->l), KILN_ERR_LIMIT,
            "%s, field '%s': %zu elements need more memory than such a file may ask "
            "for (64 MiB + 16 times its size)",
            in->m->name, f->name, n);
    r->budget -= n * size;
    *out = kiln_arena_array(r->arena, n, size);
    return KILN_OK;
}

/* Room for one more element of a repeated field: capacities are powers of two. */
static kiln_status next_element(reader *r, message *to, const kiln_pb_field *f,
                                void **elem) {
    size_t n;
    void *array;
    const size_t size = kiln_pb_elem_bytes(f);
    memcpy(&n, to->out + f->also, sizeof n);
    memcpy(&array, to->out + f->offset, sizeof array);
    if ((n & (n - 1)) == 0) {
        void *wider;
        KILN_TRY(make(r, to, f, n == 0 ? 1 : 2 * n, &wider));
        if (n > 0)
            memcpy(wider, array, n * size);
        array = wider;
        memcpy(to->out + f->offset, &array, sizeof array);
    }
    *elem = (char *)array + n * size;
    n++;
    memcpy(to->out + f->also, &n, sizeof n);
    return KILN_OK;
}

static kiln_status read_sub(reader *r, const kiln_pb_message *m, void *out, int depth) {
    message sub = {.m = m, .out = out, .depth = depth};
    const bool is_angle = kiln_lex_accept(&r->l, "<");
    if (!is_angle)
        KILN_TRY(kiln_lex_expect(&r->l, "{"));
    return read_fields(r, &sub, is_angle ? ">" : "}");
}

/* ---- what is skipped ------------------------------------------------------------- */

static kiln_status skip_message(reader *r, const char *end, int depth);

static kiln_status too_deep(reader *r) {
    return kiln_lex_fail(&r->l, kiln_lex_here(&r->l), KILN_ERR_LIMIT,
                         "messages are nested more than %d deep", KILN_PB_MAX_DEPTH);
}

static kiln_status skip_one(reader *r, int depth) {
    kiln_str s;
    if (kiln_lex_accept(&r->l, "{"))
        return skip_message(r, "}", depth + 1);
    if (kiln_lex_accept(&r->l, "<"))
        return skip_message(r, ">", depth + 1);
    if (is_quote_next(r))
        return read_string(r, &s);
    (void)kiln_lex_accept(&r->l, "-");
    return take_word(r).n > 0 ? KILN_OK : kiln_lex_expected(&r->l, "a value");
}

static kiln_status skip_value(reader *r, int depth) {
    (void)kiln_lex_accept(&r->l, ":");
    if (!kiln_lex_accept(&r->l, "["))
        return skip_one(r, depth);
    if (kiln_lex_accept(&r->l, "]"))
        return KILN_OK;
    do
        KILN_TRY(skip_one(r, depth));
    while (kiln_lex_accept(&r->l, ","));
    return kiln_lex_expect(&r->l, "]");
}

static bool take_separator(reader *r) {
    return kiln_lex_accept(&r->l, ",") || kiln_lex_accept(&r->l, ";");
}

static kiln_status skip_message(reader *r, const char *end, int depth) {
    if (depth > KILN_PB_MAX_DEPTH)
        return too_deep(r);
    while (!kiln_lex_accept(&r->l, end)) {
        if (take_word(r).n == 0)
            return kiln_lex_expected(&r->l, "a field's name");
        KILN_TRY(skip_value(r, depth));
        (void)take_separator(r);
    }
    return KILN_OK;
}

/* ---- messages -------------------------------------------------------------------- */

static const kiln_pb_field *find_field(const kiln_pb_message *m, kiln_str name) {
    const kiln_pb_field *others = NULL;
    for (size_t i = 0; i < m->n_field; i++) {
        if (kiln_str_is(name, m->field[i].name))
            return &m->field[i];
        if (m->field[i].name[0] == '*' && kiln_str_ends(name, m->field[i].name + 1))
            others = &m->field[i];
    }
    return others;
}

static kiln_status count_one(reader *r, message *to, const kiln_pb_field *f) {
    size_t n;
    memcpy(&n, to->out + f->offset, sizeof n);
    n++;
    memcpy(to->out + f->offset, &n, sizeof n);
    return skip_value(r, to->depth);
}

static kiln_status read_element(reader *r, message *to, const kiln_pb_field *f) {
    void *elem;
    KILN_TRY(next_element(r, to, f, &elem));
    if (f->kind == KILN_PB_MESSAGE)
        return read_sub(r, f->sub, elem, to->depth + 1);
    return read_scalar(r, to, f, elem);
}

static kiln_status read_repeated(reader *r, message *to, const kiln_pb_field *f) {
    if (!kiln_lex_accept(&r->l, "["))
        return read_element(r, to, f);
    if (kiln_lex_accept(&r->l, "]"))
        return KILN_OK;
    do
        KILN_TRY(read_element(r, to, f));
    while (kiln_lex_accept(&r->l, ","));
    return kiln_lex_expect(&r->l, "]");
}

static kiln_status read_single(reader *r, message *to, const kiln_pb_field *f,
                               const char *at) {
    const size_t i = (size_t)(f - to->m->field);
    if (to->is_given[i])
        return kiln_lex_fail(&r->l, at, KILN_ERR_PARSE,
                             "field '%s' of %s is given twice", f->name, to->m->name);
    to->is_given[i] = true;
    if (f->also != KILN_PB_NONE) {
        const bool given = true;
        memcpy(to->out + f->also, &given, sizeof given);
    }
    if (f->kind == KILN_PB_INLINE)
        return read_sub(r, f->sub, to->out + f->offset, to->depth + 1);
    if (f->kind != KILN_PB_MESSAGE)
        return read_scalar(r, to, f, to->out + f->offset);
    void *sub;
    KILN_TRY(make(r, to, f, 1, &sub));
    memcpy(to->out + f->offset, &sub, sizeof sub);
    return read_sub(r, f->sub, sub, to->depth + 1);
}

static kiln_status read_field(reader *r, message *to) {
    const char *const at = kiln_lex_here(&r->l);
    const kiln_str name = take_word(r);
    if (name.n == 0)
        return kiln_lex_expected(&r->l, "a field's name");
    const kiln_pb_field *const f = find_field(to->m, name);
    if (f == NULL)
        return kiln_lex_fail(&r->l, at, KILN_ERR_UNSUPPORTED,
                             "%s has no field '%.*s' that kiln knows", to->m->name,
                             KILN_STR_ARG(name));
    if (f->kind == KILN_PB_COUNT)
        return count_one(r, to, f);
    const bool has_colon = kiln_lex_accept(&r->l, ":");
    if (!has_colon && f->kind != KILN_PB_MESSAGE && f->kind != KILN_PB_INLINE)
        return kiln_lex_expected(&r->l, "':'");
    return f->is_repeated ? read_repeated(r, to, f) : read_single(r, to, f, at);
}

/* end NULL: of the text. */
static kiln_status read_fields(reader *r, message *to, const char *end) {
    KILN_ASSERT(to->m->n_field <= KILN_PB_MAX_FIELDS, "'%s' has too many fields",
                to->m->name);
    if (to->depth > KILN_PB_MAX_DEPTH)
        return too_deep(r);
    for (;;) {
        const char *const at = kiln_lex_here(&r->l);
        if (end == NULL ? at >= r->l.text.p + r->l.text.n : kiln_lex_accept(&r->l, end))
            return KILN_OK;
        KILN_TRY(read_field(r, to));
        (void)take_separator(r);
    }
}

kiln_status kiln_pb_read_text(kiln_arena *a, const kiln_pb_message *m, kiln_str text,
                              const char *file, void *out, kiln_err *err) {
    KILN_ASSERT(m->size > 0 && out != NULL, "'%s' is read into nothing", m->name);
    if (text.n > KILN_PB_TEXT_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "'%s' has %zu bytes; a text of %s may have %d", file, text.n,
                         m->name, KILN_PB_TEXT_MAX_BYTES);
    reader r = {.l = kiln_lexer_make(a, text, file, err), .arena = a};
    r.budget = budget_base + budget_per_byte * (uint64_t)text.n;
    message top = {.m = m, .out = out};
    memset(out, 0, m->size);
    return read_fields(&r, &top, NULL);
}
