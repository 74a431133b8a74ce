/* Reading results.json, by the table of its members (docs/results-json.md). Whatever
 * the file says ends in a message that names the member, or in a struct whose every
 * number is one. */
#include "reports/results_fields.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Where we are: the innermost member, and what it is in. */
typedef struct place {
    const struct place *in;
    const char *name; /* NULL: an element */
    size_t index;
} place;

typedef struct reader {
    kiln_arena *arena;
    const char *file;
    size_t n_items;
    kiln_err *err;
} reader;

enum { MAX_NAME_SHOWN = 64, MAX_TEXT_SHOWN = 100 };

static void put_place(kiln_buf *out, const place *at) {
    if (at->in != NULL)
        put_place(out, at->in);
    if (at->name == NULL)
        kiln_buf_printf(out, "[%zu]", at->index);
    else
        kiln_buf_printf(
            out, "%s%s", out->n > 0 ? "." : "",
            kiln_str_printable(out->arena, kiln_str_from(at->name), MAX_NAME_SHOWN));
}

static kiln_status refuse(reader *r, kiln_status status, const place *at,
                          const char *what) {
    kiln_buf path;
    kiln_buf_init(&path, r->arena);
    put_place(&path, at);
    return kiln_fail(r->err, status, "'%s': %s: %s", r->file, path.p, what);
}

static const char *what_is(reader *r, const kiln_json *v) {
    if (kiln_json_is_object(v))
        return "an object";
    if (kiln_json_is_array(v))
        return "a list";
    if (kiln_json_is_string(v))
        return kiln_format(r->arena, "'%s'",
                           kiln_str_printable(r->arena,
                                              kiln_str_from(kiln_json_string(v, "")),
                                              MAX_TEXT_SHOWN));
    if (kiln_json_is_number(v))
        return kiln_format(r->arena, "%.15g", kiln_json_number(v, 0));
    if (kiln_json_is_null(v))
        return "null";
    return kiln_json_bool(v, false) ? "true" : "false";
}

static kiln_status must_be(reader *r, const place *at, const char *wanted,
                           const kiln_json *v) {
    return refuse(r, KILN_ERR_PARSE, at,
                  kiln_format(r->arena, "must be %s, is %s", wanted, what_is(r, v)));
}

#define SET(T, p, v) (*(T *)(void *)(p) = (v))

/* What a member is that is not there. The struct is zeroed. */
static void set_unknown(const kiln_results_table *t, unsigned char *p) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_results_field *f = &t->field[i];
        if (f->kind == KILN_FIELD_F64)
            SET(double, p + f->offset, (double)NAN);
        else if (f->kind == KILN_FIELD_OBJECT && f->has_offset == 0)
            set_unknown(f->of, p + f->offset);
    }
}

static kiln_status read_object(reader *r, const place *at, const kiln_results_table *t,
                               const kiln_json *v, unsigned char *p);

static kiln_status read_text(reader *r, const place *at, const kiln_results_field *f,
                             const kiln_json *v, unsigned char *p) {
    if (kiln_json_is_null(v))
        return KILN_OK;
    if (!kiln_json_is_string(v))
        return must_be(r, at, "a text or null", v);
    const char *text = kiln_json_string(v, "");
    if (f->kind == KILN_FIELD_WORD) {
        kiln_buf words;
        kiln_buf_init(&words, r->arena);
        for (size_t i = 0; f->word[i] != NULL; i++) {
            if (strcmp(f->word[i], text) == 0) {
                SET(const char *, p, f->word[i]);
                return KILN_OK;
            }
            kiln_buf_printf(&words, "%s%s", i == 0 ? "one of " : ", ", f->word[i]);
        }
        return must_be(r, at, words.p, v);
    }
    SET(const char *, p, kiln_str_dup(r->arena, text));
    return KILN_OK;
}

static kiln_status read_integer(reader *r, const place *at, const kiln_results_field *f,
                                const kiln_json *v, unsigned char *p) {
    int64_t i = 0;
    const bool is_int = f->kind == KILN_FIELD_INT;
    if (!kiln_json_i64(v, &i) || (!is_int && i < 0) ||
        (is_int && (i < INT_MIN || i > INT_MAX)))
        return must_be(
            r, at,
            is_int ? "a whole number of 32 bits" : "a whole number from 0 to 2^53", v);
    if (f->kind == KILN_FIELD_I64)
        SET(int64_t, p, i);
    else if (is_int)
        SET(int, p, (int)i);
    else
        SET(size_t, p, (size_t)i);
    return KILN_OK;
}

static kiln_status read_number(reader *r, const place *at, const kiln_results_field *f,
                               const kiln_json *v, unsigned char *p) {
    const bool is_positive = f->kind == KILN_FIELD_POSITIVE;
    if (kiln_json_is_null(v))
        return KILN_OK;
    const double number = kiln_json_number(v, -1);
    if (!kiln_json_is_number(v) || (is_positive && number < 0))
        return must_be(
            r, at, is_positive ? "a number above 0 or null" : "a number or null", v);
    SET(double, p, number);
    return KILN_OK;
}

static kiln_status read_state(reader *r, const place *at, const kiln_json *v,
                              unsigned char *p) {
    kiln_stage_state state;
    if (!kiln_json_is_string(v) ||
        !kiln_stage_state_of(kiln_json_string(v, ""), &state))
        return must_be(r, at, "one of done, failed, timed out, skipped", v);
    SET(kiln_stage_state, p, state);
    return KILN_OK;
}

static kiln_status read_element(reader *r, const place *at, const kiln_results_field *f,
                                const kiln_json *v, unsigned char *p) {
    if (f->kind == KILN_FIELD_LIST)
        return read_object(r, at, f->of, v, p);
    if (f->kind == KILN_FIELD_NUMBERS) {
        if (!kiln_json_is_number(v))
            return must_be(r, at, "a number", v);
        SET(double, p, kiln_json_number(v, 0));
        return KILN_OK;
    }
    if (!kiln_json_is_string(v))
        return must_be(r, at, "a text", v);
    SET(const char *, p, kiln_str_dup(r->arena, kiln_json_string(v, "")));
    return KILN_OK;
}

static size_t element_bytes(const kiln_results_field *f) {
    _Static_assert(sizeof(double) == sizeof(const char *), "numbers, texts are alike");
    return f->kind == KILN_FIELD_LIST ? f->of->bytes : sizeof(double);
}

static kiln_status read_list(reader *r, const place *at, const kiln_results_field *f,
                             const kiln_json *v, unsigned char *p) {
    if (!kiln_json_is_array(v))
        return must_be(r, at, "a list", v);
    const size_t n = kiln_json_size(v);
    const size_t bytes = element_bytes(f);
    if (f->most != 0 && n > f->most)
        return refuse(r, KILN_ERR_LIMIT, at,
                      kiln_format(r->arena, "has %zu elements; at most %zu are read", n,
                                  f->most));
    r->n_items += n; /* both are far below 2^32: the document's size is limited */
    if (r->n_items > KILN_RESULTS_MAX_ITEMS)
        return refuse(r, KILN_ERR_LIMIT, at,
                      kiln_format(r->arena,
                                  "all lists together have more than %d elements",
                                  (int)KILN_RESULTS_MAX_ITEMS));
    kiln_results_list list = {0};
    list.v = n > 0 ? kiln_arena_array(r->arena, n, bytes) : NULL;
    list.n = list.cap = n;
    const kiln_json *e = kiln_json_first(v);
    for (size_t i = 0; i < n; i++, e = kiln_json_next(e)) {
        const place here = {at, NULL, i};
        KILN_TRY(read_element(r, &here, f, e, list.v + i * bytes));
    }
    memcpy(p, &list, sizeof list);
    return KILN_OK;
}

static kiln_status read_member(reader *r, const place *at, const kiln_results_field *f,
                               const kiln_json *v, unsigned char *struct_) {
    unsigned char *p = struct_ + f->offset;
    switch (f->kind) {
    case KILN_FIELD_TEXT:
    case KILN_FIELD_WORD:
        return read_text(r, at, f, v, p);
    case KILN_FIELD_STATE:
        return read_state(r, at, v, p);
    case KILN_FIELD_I64:
    case KILN_FIELD_SIZE:
    case KILN_FIELD_INT:
        return read_integer(r, at, f, v, p);
    case KILN_FIELD_BOOL:
        if (!kiln_json_is_bool(v))
            return must_be(r, at, "true or false", v);
        SET(bool, p, kiln_json_bool(v, false));
        return KILN_OK;
    case KILN_FIELD_F64:
    case KILN_FIELD_POSITIVE:
        return read_number(r, at, f, v, p);
    case KILN_FIELD_OBJECT:
        if (f->has_offset != 0) {
            if (kiln_json_is_null(v))
                return KILN_OK;
            SET(bool, struct_ + f->has_offset, true);
        }
        return read_object(r, at, f->of, v, p);
    case KILN_FIELD_LIST:
    case KILN_FIELD_NUMBERS:
    case KILN_FIELD_TEXTS:
        return read_list(r, at, f, v, p);
    }
    return KILN_OK;
}

static const kiln_results_field *field_of(const kiln_results_table *t,
                                          const char *name) {
    for (size_t i = 0; i < t->n_fields; i++)
        if (strcmp(t->field[i].name, name) == 0)
            return &t->field[i];
    return NULL;
}

static kiln_status read_object(reader *r, const place *at, const kiln_results_table *t,
                               const kiln_json *v, unsigned char *p) {
    if (!kiln_json_is_object(v))
        return must_be(r, at, "an object", v);
    set_unknown(t, p);
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        const place here = {at, kiln_json_key(m), 0};
        const kiln_results_field *f = field_of(t, kiln_json_key(m));
        if (f != NULL)
            KILN_TRY(read_member(r, &here, f, m, p));
        else if (at != NULL || strcmp(here.name, "schema") != 0)
            return refuse(r, KILN_ERR_PARSE, &here,
                          "is no member of " KILN_RESULTS_SCHEMA
                          "; see docs/results-json.md");
    }
    return KILN_OK;
}

kiln_status kiln_results_parse(kiln_arena *a, kiln_str text, const char *name,
                               kiln_results *out, kiln_err *err) {
    const kiln_json *v;
    KILN_TRY(kiln_json_parse(a, text, name, &v, err));
    reader r = {a, name, 0, err};
    const char *schema = kiln_json_string(kiln_json_get(v, "schema"), NULL);
    if (schema == NULL || strcmp(schema, KILN_RESULTS_SCHEMA) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': schema: must be '%s', is %s; is it a results.json of "
                         "'kiln nightly'?",
                         name, KILN_RESULTS_SCHEMA,
                         schema == NULL ? "not there"
                                        : what_is(&r, kiln_json_get(v, "schema")));
    kiln_results *read = kiln_new(a, kiln_results);
    KILN_TRY(read_object(&r, NULL, &kiln_results_root, v, (unsigned char *)read));
    *out = *read;
    return KILN_OK;
}

kiln_status kiln_results_read(kiln_arena *a, const char *path, kiln_results *out,
                              kiln_err *err) {
    kiln_str text;
    KILN_TRY(kiln_file_map(a, path, KILN_JSON_MAX_BYTES, &text, err));
    return kiln_results_parse(a, text, path, out, err);
}
