/* Structs as JSON, and their documentation: see record.h. */
#include "base/text/record.h"

#include <string.h>

kiln_record_list kiln_record_list_at(const void *p) {
    kiln_record_list list;
    memcpy(&list, p, sizeof list);
    return list;
}

/* ---- JSON ------------------------------------------------------------------------ */

static void write_value(kiln_json_writer *w, const kiln_record_field *f,
                        const unsigned char *p);

typedef const char *text;
#define GET(T, p) (*(const T *)(const void *)(p))

/* Of a row: values without names. */
static void write_row(kiln_json_writer *w, const kiln_record_table *t,
                      const unsigned char *p) {
    kiln_json_begin_row(w);
    for (size_t i = 0; i < t->n_fields; i++)
        write_value(w, &t->field[i], p + t->field[i].offset);
    kiln_json_end_array(w);
}

static void write_list(kiln_json_writer *w, const kiln_record_field *f, const void *p) {
    const kiln_record_list list = kiln_record_list_at(p);
    const size_t bytes = f->of != NULL ? f->of->bytes : sizeof(double);
    _Static_assert(sizeof(double) == sizeof(const char *), "numbers, texts are alike");
    if (f->kind == KILN_RECORD_NUMBERS)
        kiln_json_begin_row(w);
    else
        kiln_json_begin_array(w);
    for (size_t i = 0; i < list.n; i++) {
        const unsigned char *at = list.v + i * bytes;
        if (f->kind == KILN_RECORD_LIST)
            kiln_record_put(w, f->of, at);
        else if (f->kind == KILN_RECORD_ROWS)
            write_row(w, f->of, at);
        else if (f->kind == KILN_RECORD_NUMBERS)
            kiln_json_put_f64(w, GET(double, at));
        else
            kiln_json_put_string(w, kiln_str_from(GET(text, at)));
    }
    kiln_json_end_array(w);
}

static void write_text(kiln_json_writer *w, const char *z) {
    if (z == NULL)
        kiln_json_put_null(w);
    else
        kiln_json_put_string(w, kiln_str_from(z));
}

/* What is no JSON, which whoever filled it in must not do, is null. */
static void write_json(kiln_json_writer *w, const char *z) {
    const kiln_json *v = NULL;
    kiln_err err = {.status = KILN_OK};
    if (z != NULL)
        (void)kiln_json_parse(w->out->arena, kiln_str_from(z), "value", &v, &err);
    KILN_ASSERT(z == NULL || v != NULL, "a member that must be JSON is some");
    if (v == NULL)
        kiln_json_put_null(w);
    else
        kiln_json_put(w, v);
}

static void write_value(kiln_json_writer *w, const kiln_record_field *f,
                        const unsigned char *p) {
    switch (f->kind) {
    case KILN_RECORD_TEXT:
    case KILN_RECORD_WORD:
        write_text(w, GET(text, p));
        return;
    case KILN_RECORD_ENUM:
        write_text(w, f->word[GET(int, p)]);
        return;
    case KILN_RECORD_JSON:
        write_json(w, GET(text, p));
        return;
    case KILN_RECORD_I64:
        kiln_json_put_i64(w, GET(int64_t, p));
        return;
    case KILN_RECORD_SIZE:
        kiln_json_put_i64(w, (int64_t)GET(size_t, p));
        return;
    case KILN_RECORD_INT:
        kiln_json_put_i64(w, GET(int, p));
        return;
    case KILN_RECORD_BOOL:
        kiln_json_put_bool(w, GET(bool, p));
        return;
    case KILN_RECORD_F64:
        kiln_json_put_f64(w, GET(double, p));
        return;
    case KILN_RECORD_POSITIVE:
        if (GET(double, p) > 0)
            kiln_json_put_f64(w, GET(double, p));
        else
            kiln_json_put_null(w);
        return;
    case KILN_RECORD_OBJECT:
    case KILN_RECORD_PART:
        kiln_record_put(w, f->of, p);
        return;
    case KILN_RECORD_LIST:
    case KILN_RECORD_ROWS:
    case KILN_RECORD_NUMBERS:
    case KILN_RECORD_TEXTS:
        write_list(w, f, p);
        return;
    }
}

static void write_members(kiln_json_writer *w, const kiln_record_table *t,
                          const unsigned char *p) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_PART) {
            write_members(w, f->of, p + f->offset);
            continue;
        }
        kiln_json_name(w, f->name);
        if (f->has_offset != 0 && !GET(bool, p + f->has_offset))
            kiln_json_put_null(w);
        else
            write_value(w, f, p + f->offset);
    }
}

void kiln_record_put(kiln_json_writer *w, const kiln_record_table *t,
                     const void *from) {
    kiln_json_begin_object(w);
    write_members(w, t, from);
    kiln_json_end_object(w);
}

void kiln_record_write(kiln_buf *out, const kiln_record_document *d, const void *from) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    if (d->is_list) {
        const kiln_record_field *f = &d->table->field[0];
        write_list(&w, f, (const unsigned char *)from + f->offset);
    } else {
        kiln_json_begin_object(&w);
        kiln_json_member_str(&w, d->format_key, d->format);
        write_members(&w, d->table, from);
        kiln_json_end_object(&w);
    }
    kiln_buf_puts(out, "\n");
}

/* ---- documentation --------------------------------------------------------------- */

typedef KILN_VEC(const kiln_record_table *) tables;

static void add(kiln_arena *a, tables *all, const kiln_record_table *t);

static void add_members(kiln_arena *a, tables *all, const kiln_record_table *t) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_PART)
            add_members(a, all, f->of);
        else if (f->of != NULL && f->kind != KILN_RECORD_ROWS)
            add(a, all, f->of);
    }
}

static void add(kiln_arena *a, tables *all, const kiln_record_table *t) {
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i] == t)
            return;
    kiln_vec_push(a, all, t);
    add_members(a, all, t);
}

static const char *kind_name(const kiln_record_field *f) {
    switch (f->kind) {
    case KILN_RECORD_TEXT:
        return "text";
    case KILN_RECORD_WORD:
    case KILN_RECORD_ENUM:
        return "word";
    case KILN_RECORD_JSON:
        return "any";
    case KILN_RECORD_I64:
    case KILN_RECORD_SIZE:
    case KILN_RECORD_INT:
        return "integer";
    case KILN_RECORD_BOOL:
        return "true, false";
    case KILN_RECORD_F64:
    case KILN_RECORD_POSITIVE:
        return "number";
    case KILN_RECORD_OBJECT:
    case KILN_RECORD_PART:
        return "object";
    case KILN_RECORD_LIST:
        return "list";
    case KILN_RECORD_ROWS:
        return "rows";
    case KILN_RECORD_NUMBERS:
        return "list of numbers";
    case KILN_RECORD_TEXTS:
        return "list of texts";
    }
    return "";
}

/* A row has no names: its columns are told here. */
static void put_columns(kiln_buf *out, const kiln_record_table *t) {
    kiln_buf_puts(out, ". Of each row: ");
    for (size_t i = 0; i < t->n_fields; i++)
        kiln_buf_printf(out, "%s`%s` (%s)", i > 0 ? ", " : "", t->field[i].name,
                        t->field[i].doc);
}

static void put_rows(kiln_buf *out, const kiln_record_table *t) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_PART) {
            put_rows(out, f->of);
            continue;
        }
        const bool is_named = f->of != NULL && f->kind != KILN_RECORD_ROWS;
        kiln_buf_printf(out, "| `%s` | %s%s%s | %s", f->name, kind_name(f),
                        is_named ? ": " : "", is_named ? f->of->title : "", f->doc);
        if (f->kind == KILN_RECORD_ROWS)
            put_columns(out, f->of);
        kiln_buf_puts(out, " |\n");
    }
}

void kiln_record_markdown(kiln_buf *out, const kiln_record_document *d) {
    tables all = {.n = 0};
    if (d->is_list)
        add_members(out->arena, &all, d->table);
    else
        add(out->arena, &all, d->table);
    for (size_t i = 0; i < all.n; i++) {
        kiln_buf_printf(out,
                        "\n### %s\n\n| member | kind | is |\n| --- | --- | --- |\n",
                        all.v[i]->title);
        if (i == 0 && !d->is_list)
            kiln_buf_printf(out, "| `%s` | text | `%s` |\n", d->format_key, d->format);
        put_rows(out, all.v[i]);
    }
}
