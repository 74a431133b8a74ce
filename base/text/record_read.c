/* Structs from JSON: see record.h. */
#include "base/text/record.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/files/files.h"

/* Where we are: the innermost member, and what it is in. */
typedef struct place {
    const struct place *in;
    const char *name; /* NULL: an element */
    size_t index;
} place;

typedef struct reader {
    kiln_arena *arena;
    const kiln_record_document *document;
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
static void set_unknown(const kiln_record_table *t, unsigned char *p) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_F64)
            SET(double, p + f->offset, (double)NAN);
        else if (f->kind == KILN_RECORD_PART ||
                 (f->kind == KILN_RECORD_OBJECT && f->has_offset == 0))
            set_unknown(f->of, p + f->offset);
    }
}

static kiln_status read_object(reader *r, const place *at, const kiln_record_table *t,
                               const kiln_json *v, unsigned char *p);

/* Its place among the words a member may be; -1, and why, where it is none. */
static kiln_status read_word(reader *r, const place *at, const kiln_record_field *f,
                             const kiln_json *v, size_t *out) {
    const char *text = kiln_json_string(v, NULL);
    kiln_buf words;
    kiln_buf_init(&words, r->arena);
    for (size_t i = 0; f->word[i] != NULL; i++) {
        if (text != NULL && strcmp(f->word[i], text) == 0) {
            *out = i;
            return KILN_OK;
        }
        kiln_buf_printf(&words, "%s%s", i == 0 ? "one of " : ", ", f->word[i]);
    }
    return must_be(r, at, words.p, v);
}

static kiln_status read_text(reader *r, const place *at, const kiln_record_field *f,
                             const kiln_json *v, unsigned char *p) {
    size_t i = 0;
    if (kiln_json_is_null(v))
        return KILN_OK;
    if (!kiln_json_is_string(v))
        return must_be(r, at, "a text or null", v);
    if (f->kind == KILN_RECORD_WORD) {
        KILN_TRY(read_word(r, at, f, v, &i));
        SET(const char *, p, f->word[i]);
        return KILN_OK;
    }
    SET(const char *, p, kiln_str_dup(r->arena, kiln_json_string(v, "")));
    return KILN_OK;
}

static kiln_status read_enum(reader *r, const place *at, const kiln_record_field *f,
                             const kiln_json *v, unsigned char *p) {
    size_t i = 0;
    KILN_TRY(read_word(r, at, f, v, &i));
    SET(int, p, (int)i);
    return KILN_OK;
}

static void read_json(reader *r, const kiln_json *v, unsigned char *p) {
    kiln_buf text;
    kiln_json_writer w;
    if (kiln_json_is_null(v))
        return;
    kiln_buf_init(&text, r->arena);
    kiln_json_writer_init(&w, &text);
    kiln_json_put(&w, v);
    SET(const char *, p, text.p);
}

static kiln_status read_integer(reader *r, const place *at, const kiln_record_field *f,
                                const kiln_json *v, unsigned char *p) {
    int64_t i = 0;
    const bool is_int = f->kind == KILN_RECORD_INT;
    if (!kiln_json_i64(v, &i) || (!is_int && i < 0) ||
        (is_int && (i < INT_MIN || i > INT_MAX)))
        return must_be(
            r, at,
            is_int ? "a whole number of 32 bits" : "a whole number from 0 to 2^53", v);
    if (f->kind == KILN_RECORD_I64)
        SET(int64_t, p, i);
    else if (is_int)
        SET(int, p, (int)i);
    else
        SET(size_t, p, (size_t)i);
    return KILN_OK;
}

static kiln_status read_number(reader *r, const place *at, const kiln_record_field *f,
                               const kiln_json *v, unsigned char *p) {
    const bool is_positive = f->kind == KILN_RECORD_POSITIVE;
    if (kiln_json_is_null(v))
        return KILN_OK;
    const double number = kiln_json_number(v, -1);
    if (!kiln_json_is_number(v) || (is_positive && number < 0))
        return must_be(
            r, at, is_positive ? "a number above 0 or null" : "a number or null", v);
    SET(double, p, number);
    return KILN_OK;
}

static kiln_status read_member(reader *r, const place *at, const kiln_record_field *f,
                               const kiln_json *v, unsigned char *base);

static kiln_status read_row(reader *r, const place *at, const kiln_record_table *t,
                            const kiln_json *v, unsigned char *p) {
    if (!kiln_json_is_array(v))
        return must_be(r, at, "a list", v);
    if (kiln_json_size(v) != t->n_fields)
        return refuse(r, KILN_ERR_PARSE, at,
                      kiln_format(r->arena, "must have %zu values, has %zu",
                                  t->n_fields, kiln_json_size(v)));
    set_unknown(t, p);
    const kiln_json *e = kiln_json_first(v);
    for (size_t i = 0; i < t->n_fields; i++, e = kiln_json_next(e)) {
        const place here = {at, NULL, i};
        KILN_TRY(read_member(r, &here, &t->field[i], e, p));
    }
    return KILN_OK;
}

static kiln_status read_element(reader *r, const place *at, const kiln_record_field *f,
                                const kiln_json *v, unsigned char *p) {
    if (f->kind == KILN_RECORD_LIST)
        return read_object(r, at, f->of, v, p);
    if (f->kind == KILN_RECORD_ROWS)
        return read_row(r, at, f->of, v, p);
    if (f->kind == KILN_RECORD_NUMBERS) {
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

static size_t element_bytes(const kiln_record_field *f) {
    return f->of != NULL ? f->of->bytes : sizeof(double);
}

static kiln_status read_list(reader *r, const place *at, const kiln_record_field *f,
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
    if (r->n_items > KILN_RECORD_MAX_ITEMS)
        return refuse(r, KILN_ERR_LIMIT, at,
                      kiln_format(r->arena,
                                  "all lists together have more than %d elements",
                                  (int)KILN_RECORD_MAX_ITEMS));
    kiln_record_list list = {0};
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

static kiln_status read_member(reader *r, const place *at, const kiln_record_field *f,
                               const kiln_json *v, unsigned char *base) {
    unsigned char *p = base + f->offset;
    switch (f->kind) {
    case KILN_RECORD_TEXT:
    case KILN_RECORD_WORD:
        return read_text(r, at, f, v, p);
    case KILN_RECORD_ENUM:
        return read_enum(r, at, f, v, p);
    case KILN_RECORD_JSON:
        read_json(r, v, p);
        return KILN_OK;
    case KILN_RECORD_I64:
    case KILN_RECORD_SIZE:
    case KILN_RECORD_INT:
        return read_integer(r, at, f, v, p);
    case KILN_RECORD_BOOL:
        if (!kiln_json_is_bool(v))
            return must_be(r, at, "true or false", v);
        SET(bool, p, kiln_json_bool(v, false));
        return KILN_OK;
    case KILN_RECORD_F64:
    case KILN_RECORD_POSITIVE:
        return read_number(r, at, f, v, p);
    case KILN_RECORD_PART: /* its members are found by their own names */
    case KILN_RECORD_OBJECT:
        if (f->has_offset != 0) {
            if (kiln_json_is_null(v))
                return KILN_OK;
            SET(bool, base + f->has_offset, true);
        }
        return read_object(r, at, f->of, v, p);
    case KILN_RECORD_LIST:
    case KILN_RECORD_ROWS:
    case KILN_RECORD_NUMBERS:
    case KILN_RECORD_TEXTS:
        return read_list(r, at, f, v, p);
    }
    return KILN_OK;
}

/* Also among those of its parts; *base: the struct that it is of. */
static const kiln_record_field *field_of(const kiln_record_table *t, const char *name,
                                         unsigned char **base) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_PART) {
            unsigned char *part = *base + f->offset;
            const kiln_record_field *found = field_of(f->of, name, &part);
            if (found == NULL)
                continue;
            *base = part;
            return found;
        }
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

static bool is_format(const reader *r, const place *at) {
    return at->in == NULL && strcmp(at->name, r->document->format_key) == 0;
}

static kiln_status read_object(reader *r, const place *at, const kiln_record_table *t,
                               const kiln_json *v, unsigned char *p) {
    if (!kiln_json_is_object(v))
        return must_be(r, at, "an object", v);
    set_unknown(t, p);
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        const place here = {at, kiln_json_key(m), 0};
        unsigned char *base = p;
        const kiln_record_field *f = field_of(t, kiln_json_key(m), &base);
        if (f != NULL)
            KILN_TRY(read_member(r, &here, f, m, base));
        else if (!is_format(r, &here))
            return refuse(r, KILN_ERR_PARSE, &here,
                          kiln_format(r->arena, "is no member of %s; see %s",
                                      r->document->is_list ? r->document->what
                                                           : r->document->format,
                                      r->document->docs));
    }
    return KILN_OK;
}

/* ---- documents ------------------------------------------------------------------- */

static kiln_status read_bare_list(reader *r, const kiln_json *v, unsigned char *p) {
    const kiln_record_field *f = &r->document->table->field[0];
    const place root = {NULL, "", 0};
    return read_list(r, &root, f, v, p + f->offset);
}

static kiln_status check_format(reader *r, const kiln_json *v) {
    const kiln_record_document *d = r->document;
    const kiln_json *member = kiln_json_get(v, d->format_key);
    const char *format = kiln_json_string(member, NULL);
    if (format != NULL && strcmp(format, d->format) == 0)
        return KILN_OK;
    return kiln_fail(r->err, KILN_ERR_PARSE, "'%s': %s: must be '%s', is %s; is it %s?",
                     r->file, d->format_key, d->format,
                     format == NULL ? "not there" : what_is(r, member), d->what);
}

kiln_status kiln_record_parse(kiln_arena *a, kiln_str text, const char *name,
                              const kiln_record_document *d, void *out, kiln_err *err) {
    const kiln_json *v;
    KILN_TRY(kiln_json_parse(a, text, name, &v, err));
    reader r = {a, d, name, 0, err};
    unsigned char *read = kiln_arena_array(a, 1, d->table->bytes);
    if (d->is_list) {
        KILN_TRY(read_bare_list(&r, v, read));
    } else {
        KILN_TRY(check_format(&r, v));
        KILN_TRY(read_object(&r, NULL, d->table, v, read));
    }
    memcpy(out, read, d->table->bytes);
    return KILN_OK;
}

kiln_status kiln_record_read(kiln_arena *a, const char *path,
                             const kiln_record_document *d, void *out, kiln_err *err) {
    kiln_str text;
    KILN_TRY(kiln_file_map(a, path, KILN_JSON_MAX_BYTES, &text, err));
    return kiln_record_parse(a, text, path, d, out, err);
}
