/* Writing results.json, by the table of its members (docs/results-json.md). */
#include "reports/results_fields.h"

#include <string.h>

static void write_object(kiln_json_writer *w, const kiln_results_table *t,
                         const unsigned char *p);

/* Copies, since a member's bytes are known by offset only. */
typedef const char *text;
#define GET(T, p) (*(const T *)(const void *)(p))

static void write_list(kiln_json_writer *w, const kiln_results_field *f,
                       const void *p) {
    const kiln_results_list list = kiln_results_list_at(p);
    if (f->kind == KILN_FIELD_NUMBERS)
        kiln_json_begin_row(w);
    else
        kiln_json_begin_array(w);
    const unsigned char *at = list.v;
    for (size_t i = 0; i < list.n; i++) {
        if (f->kind == KILN_FIELD_LIST) {
            write_object(w, f->of, at);
            at += f->of->bytes;
        } else if (f->kind == KILN_FIELD_NUMBERS) {
            kiln_json_put_f64(w, GET(double, at));
            at += sizeof(double);
        } else {
            kiln_json_put_string(w, kiln_str_from(GET(text, at)));
            at += sizeof(const char *);
        }
    }
    kiln_json_end_array(w);
}

static void write_text(kiln_json_writer *w, const char *z) {
    if (z == NULL)
        kiln_json_put_null(w);
    else
        kiln_json_put_string(w, kiln_str_from(z));
}

static void write_value(kiln_json_writer *w, const kiln_results_field *f,
                        const unsigned char *p) {
    switch (f->kind) {
    case KILN_FIELD_TEXT:
    case KILN_FIELD_WORD:
        write_text(w, GET(text, p));
        return;
    case KILN_FIELD_STATE:
        write_text(w, kiln_stage_state_name(GET(kiln_stage_state, p)));
        return;
    case KILN_FIELD_I64:
        kiln_json_put_i64(w, GET(int64_t, p));
        return;
    case KILN_FIELD_SIZE:
        kiln_json_put_i64(w, (int64_t)GET(size_t, p));
        return;
    case KILN_FIELD_INT:
        kiln_json_put_i64(w, GET(int, p));
        return;
    case KILN_FIELD_BOOL:
        kiln_json_put_bool(w, GET(bool, p));
        return;
    case KILN_FIELD_F64:
        kiln_json_put_f64(w, GET(double, p));
        return;
    case KILN_FIELD_POSITIVE:
        if (GET(double, p) > 0)
            kiln_json_put_f64(w, GET(double, p));
        else
            kiln_json_put_null(w);
        return;
    case KILN_FIELD_OBJECT:
        write_object(w, f->of, p);
        return;
    case KILN_FIELD_LIST:
    case KILN_FIELD_NUMBERS:
    case KILN_FIELD_TEXTS:
        write_list(w, f, p);
        return;
    }
}

static void write_members(kiln_json_writer *w, const kiln_results_table *t,
                          const unsigned char *p) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_results_field *f = &t->field[i];
        kiln_json_name(w, f->name);
        if (f->has_offset != 0 && !GET(bool, p + f->has_offset))
            kiln_json_put_null(w);
        else
            write_value(w, f, p + f->offset);
    }
}

static void write_object(kiln_json_writer *w, const kiln_results_table *t,
                         const unsigned char *p) {
    kiln_json_begin_object(w);
    write_members(w, t, p);
    kiln_json_end_object(w);
}

void kiln_results_json(kiln_buf *out, const kiln_results *r) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "schema", KILN_RESULTS_SCHEMA);
    write_members(&w, &kiln_results_root, (const unsigned char *)r);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
