/* Reading JSON (RFC 8259): see json.h. The only file that includes cJSON.h.
 *
 * cJSON accepts more than the standard does: numbers such as 01, control characters and
 * invalid UTF-8 in strings, a text cut by \u0000, numbers cut at 63 characters; and it
 * tells neither line nor reason. So a scanner checks the text first, and cJSON builds
 * the tree from a text known to be good.
 */
#include "base/text/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/files/files.h"
#include "base/core/core.h"

enum {
    CJSON_NUMBER_CHARS = 63, /* cJSON.c, parse_number: a buffer of 64 bytes */
    MAX_KEY_SHOWN = 100,     /* bytes of a key in a message */
    IS_REAL = 1 << 16        /* in cJSON.type, whose own flags end at 1 << 9 */
};

typedef struct scanner {
    kiln_arena *arena; /* scratch */
    kiln_str text;
    size_t at;
    int depth;
    const char *name;
    KILN_VEC(size_t)
    keys; /* where each member's key starts, in the order of the text */
    size_t n_keys_checked;
    KILN_VEC(bool) is_real; /* of each number, in that order */
    size_t n_numbers_marked;
    kiln_err *err;
} scanner;

static kiln_status fail_at(const scanner *s, size_t at, kiln_status status,
                           const char *fmt, ...) KILN_PRINTF(4, 5);
static kiln_status fail_at(const scanner *s, size_t at, kiln_status status,
                           const char *fmt, ...) {
    size_t line = 1, line_start = 0;
    for (size_t i = 0; i < at; i++) {
        if (s->text.p[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return kiln_fail(s->err, status, "%s:%zu:%zu: %s", s->name, line,
                     at - line_start + 1, what);
}

static int peek(const scanner *s) {
    return s->at < s->text.n ? (unsigned char)s->text.p[s->at] : -1;
}

static kiln_status unexpected(const scanner *s, const char *expected) {
    const int c = peek(s);
    if (c < 0)
        return fail_at(s, s->at, KILN_ERR_PARSE, "expected %s, found the end",
                       expected);
    if (c > 0x20 && c < 0x7F)
        return fail_at(s, s->at, KILN_ERR_PARSE, "expected %s, found '%c'", expected,
                       c);
    return fail_at(s, s->at, KILN_ERR_PARSE, "expected %s, found byte 0x%02x", expected,
                   (unsigned)c);
}

static void skip_blanks(scanner *s) {
    for (int c = peek(s); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(s))
        s->at++;
}

/* Four hexadecimal digits at s->at. */
static bool scan_hex4(scanner *s, unsigned *out) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        const int c = peek(s);
        if (c >= '0' && c <= '9')
            v = v * 16 + (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            v = v * 16 + (unsigned)(c - 'A') + 10;
        else
            return false;
    }
    *out = v;
    return true;
}

/* Behind "\u". Characters above U+FFFF are two escapes, a high and a low surrogate. */
static kiln_status scan_unicode_escape(scanner *s) {
    const size_t start = s->at - 2;
    unsigned high = 0, low = 0;
    if (!scan_hex4(s, &high))
        return unexpected(s, "a hexadecimal digit");
    if (high == 0)
        return fail_at(s, start, KILN_ERR_PARSE, "\\u0000 is not read in strings");
    if (high < 0xD800 || high > 0xDFFF)
        return KILN_OK;
    bool is_pair = high < 0xDC00 && peek(s) == '\\';
    if (is_pair) {
        s->at++;
        is_pair = peek(s) == 'u';
    }
    if (is_pair) {
        s->at++;
        is_pair = scan_hex4(s, &low) && low >= 0xDC00 && low <= 0xDFFF;
    }
    if (!is_pair)
        return fail_at(s, start, KILN_ERR_PARSE, "this surrogate has no partner");
    return KILN_OK;
}

static kiln_status scan_escape(scanner *s) {
    s->at++;
    const int c = peek(s);
    if (c <= 0 || strchr("\"\\/bfnrtu", c) == NULL)
        return unexpected(s, "one of \"\\/bfnrtu behind a backslash");
    s->at++;
    return c == 'u' ? scan_unicode_escape(s) : KILN_OK;
}

static kiln_status scan_string(scanner *s) {
    const size_t start = s->at++;
    for (;;) {
        const int c = peek(s);
        if (c < 0)
            return fail_at(s, start, KILN_ERR_PARSE, "this string has no end");
        if (c == '"') {
            s->at++;
            return KILN_OK;
        }
        if (c == '\\') {
            KILN_TRY(scan_escape(s));
            continue;
        }
        if (c < 0x20)
            return fail_at(s, s->at, KILN_ERR_PARSE,
                           "control character 0x%02x in a string must be escaped",
                           (unsigned)c);
        const size_t len =
            kiln_utf8_len((kiln_str){s->text.p + s->at, s->text.n - s->at});
        if (len == 0)
            return fail_at(s, s->at, KILN_ERR_PARSE,
                           "byte 0x%02x does not start a UTF-8 sequence", (unsigned)c);
        s->at += len;
    }
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static kiln_status scan_digits(scanner *s) {
    if (!is_digit(peek(s)))
        return unexpected(s, "a digit");
    while (is_digit(peek(s)))
        s->at++;
    return KILN_OK;
}

static kiln_status scan_number(scanner *s) {
    const size_t start = s->at;
    bool is_real = false;
    if (peek(s) == '-')
        s->at++;
    if (peek(s) == '0') {
        s->at++;
        if (is_digit(peek(s)))
            return fail_at(s, start, KILN_ERR_PARSE, "a number must not start with 0");
    } else {
        KILN_TRY(scan_digits(s));
    }
    if (peek(s) == '.') {
        is_real = true;
        s->at++;
        KILN_TRY(scan_digits(s));
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        is_real = true;
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        KILN_TRY(scan_digits(s));
    }
    const kiln_str number = {s->text.p + start, s->at - start};
    double v = 0;
    if (number.n > CJSON_NUMBER_CHARS)
        return fail_at(s, start, KILN_ERR_PARSE,
                       "a number must have at most %d characters, this has %zu",
                       (int)CJSON_NUMBER_CHARS, number.n);
    if (!kiln_parse_f64(number, &v))
        return fail_at(s, start, KILN_ERR_PARSE,
                       "this number is too large for a double");
    kiln_vec_push(s->arena, &s->is_real, is_real);
    return KILN_OK;
}

static kiln_status scan_word(scanner *s, const char *word) {
    const kiln_str rest = {s->text.p + s->at, s->text.n - s->at};
    if (!kiln_str_starts(rest, word))
        return unexpected(s, "a value");
    s->at += strlen(word);
    return KILN_OK;
}

static kiln_status scan_value(scanner *s);

static kiln_status scan_member(scanner *s) {
    if (peek(s) != '"')
        return unexpected(s, "a key in double quotes");
    kiln_vec_push(s->arena, &s->keys, s->at);
    KILN_TRY(scan_string(s));
    skip_blanks(s);
    if (peek(s) != ':')
        return unexpected(s, "':'");
    s->at++;
    return scan_value(s);
}

/* An object or an array, at its opening bracket. */
static kiln_status scan_container(scanner *s) {
    const bool is_object = peek(s) == '{';
    const char close = is_object ? '}' : ']';
    if (s->depth == KILN_JSON_MAX_DEPTH)
        return fail_at(s, s->at, KILN_ERR_LIMIT, "nesting is deeper than %d",
                       (int)KILN_JSON_MAX_DEPTH);
    s->depth++;
    s->at++;
    skip_blanks(s);
    if (peek(s) != close) {
        for (;;) {
            skip_blanks(s);
            KILN_TRY(is_object ? scan_member(s) : scan_value(s));
            skip_blanks(s);
            if (peek(s) != ',')
                break;
            s->at++;
        }
        if (peek(s) != close)
            return unexpected(s, is_object ? "',' or '}'" : "',' or ']'");
    }
    s->at++;
    s->depth--;
    return KILN_OK;
}

static kiln_status scan_value(scanner *s) {
    skip_blanks(s);
    const int c = peek(s);
    if (c == '{' || c == '[')
        return scan_container(s);
    if (c == '"')
        return scan_string(s);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    if (c == 't')
        return scan_word(s, "true");
    if (c == 'f')
        return scan_word(s, "false");
    return scan_word(s, "null");
}

/* On the tree, where keys are decoded: "a" and "\u0061" are one key. Members and numbers
 * come in the order of the text, so the n-th is the n-th that the scanner noted. */
static kiln_status check_tree(scanner *s, cJSON *v) {
    const kiln_arena_mark mark = kiln_arena_save(s->arena);
    kiln_map seen = {0};
    if (kiln_json_is_number(v) && s->is_real.v[s->n_numbers_marked++])
        v->type |= IS_REAL;
    for (cJSON *m = v->child; m != NULL; m = m->next) {
        if (kiln_json_is_object(v)) {
            const size_t at = s->keys.v[s->n_keys_checked++];
            if (!kiln_map_set(s->arena, &seen, kiln_str_from(m->string), s))
                return fail_at(s, at, KILN_ERR_PARSE, "key '%s' appears twice",
                               kiln_str_printable(s->arena, kiln_str_from(m->string),
                                                  MAX_KEY_SHOWN));
        }
        KILN_TRY(check_tree(s, m));
    }
    kiln_arena_rewind(s->arena, mark);
    return KILN_OK;
}

static kiln_status scan_document(scanner *s) {
    if (s->text.n > KILN_JSON_MAX_BYTES)
        return kiln_fail(s->err, KILN_ERR_LIMIT,
                         "'%s' has %zu bytes; at most %d are read", s->name, s->text.n,
                         (int)KILN_JSON_MAX_BYTES);
    KILN_TRY(scan_value(s));
    skip_blanks(s);
    if (s->at != s->text.n)
        return unexpected(s, "nothing more");
    return KILN_OK;
}

static void delete_tree(void *p) { cJSON_Delete(p); }

static kiln_status parse(scanner *s, kiln_arena *a, const kiln_json **out) {
    KILN_TRY(scan_document(s));
    cJSON *tree = cJSON_ParseWithLength(s->text.p, s->text.n);
    if (tree == NULL)
        return kiln_fail(s->err, KILN_ERR_LIB,
                         "cJSON refuses '%s', or is out of memory: %zu bytes", s->name,
                         s->text.n);
    const kiln_status st = check_tree(s, tree);
    if (st != KILN_OK) {
        cJSON_Delete(tree);
        return st;
    }
    kiln_arena_defer(a, delete_tree, tree);
    *out = tree;
    return KILN_OK;
}

kiln_status kiln_json_parse(kiln_arena *a, kiln_str text, const char *name,
                            const kiln_json **out, kiln_err *err) {
    kiln_arena scratch = {0};
    scanner s = {.arena = &scratch, .text = text, .name = name, .err = err};
    const kiln_status st = parse(&s, a, out);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_json_read(kiln_arena *a, const char *path, const kiln_json **out,
                           kiln_err *err) {
    kiln_arena scratch = {0}; /* the tree holds copies: the file is not needed later */
    kiln_str text;
    kiln_status st = kiln_file_map(&scratch, path, KILN_JSON_MAX_BYTES, &text, err);
    if (st == KILN_OK)
        st = kiln_json_parse(a, text, path, out, err);
    kiln_arena_fini(&scratch);
    return st;
}

bool kiln_json_is_object(const kiln_json *v) { return cJSON_IsObject(v) != 0; }

bool kiln_json_is_array(const kiln_json *v) { return cJSON_IsArray(v) != 0; }

bool kiln_json_is_number(const kiln_json *v) { return cJSON_IsNumber(v) != 0; }

bool kiln_json_is_string(const kiln_json *v) { return cJSON_IsString(v) != 0; }

bool kiln_json_is_bool(const kiln_json *v) { return cJSON_IsBool(v) != 0; }

bool kiln_json_is_null(const kiln_json *v) { return cJSON_IsNull(v) != 0; }

const kiln_json *kiln_json_get(const kiln_json *object, const char *key) {
    return kiln_json_is_object(object) ? cJSON_GetObjectItemCaseSensitive(object, key)
                                       : NULL;
}

const kiln_json *kiln_json_first(const kiln_json *container) {
    return kiln_json_is_object(container) || kiln_json_is_array(container)
               ? container->child
               : NULL;
}

const kiln_json *kiln_json_next(const kiln_json *element) {
    return element == NULL ? NULL : element->next;
}

const kiln_json *kiln_json_at(const kiln_json *array, size_t i) {
    const kiln_json *v = kiln_json_first(array);
    while (v != NULL && i-- > 0)
        v = v->next;
    return v;
}

const char *kiln_json_key(const kiln_json *member) {
    return member == NULL ? NULL : member->string;
}

size_t kiln_json_size(const kiln_json *container) {
    size_t n = 0;
    for (const kiln_json *v = kiln_json_first(container); v != NULL; v = v->next)
        n++;
    return n;
}

const char *kiln_json_string(const kiln_json *v, const char *otherwise) {
    return kiln_json_is_string(v) ? v->valuestring : otherwise;
}

bool kiln_json_is_real(const kiln_json *v) {
    return kiln_json_is_number(v) && (v->type & IS_REAL) != 0;
}

double kiln_json_number(const kiln_json *v, double otherwise) {
    return kiln_json_is_number(v) ? v->valuedouble : otherwise;
}

bool kiln_json_bool(const kiln_json *v, bool otherwise) {
    return cJSON_IsBool(v) ? cJSON_IsTrue(v) != 0 : otherwise;
}

bool kiln_json_i64(const kiln_json *v, int64_t *out) {
    const double most = 0x1p53; /* above, doubles skip integers */
    if (!kiln_json_is_number(v) || fabs(v->valuedouble) > most)
        return false;
    const int64_t i = (int64_t)v->valuedouble;
    if ((double)i != v->valuedouble)
        return false;
    *out = i;
    return true;
}
