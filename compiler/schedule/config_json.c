/* Configurations as JSON: one member a knob, in the template's order. */
#include "compiler/schedule/template.h"

#include <inttypes.h>
#include <string.h>

static const int64_t *parts_of(const kiln_knob *knob, int option) {
    return knob->value + (ptrdiff_t)option * knob->n_parts;
}

void kiln_knob_put_option(kiln_json_writer *w, const kiln_knob *knob, int option) {
    KILN_ASSERT(option >= 0 && option < knob->n, "knob '%s' has no option %d",
                knob->name, option);
    if (knob->word != NULL) {
        kiln_json_put_string(w, kiln_str_from(knob->word[option]));
        return;
    }
    const int64_t *v = parts_of(knob, option);
    if (knob->n_parts == 1) {
        kiln_json_put_i64(w, v[0]);
        return;
    }
    kiln_json_begin_row(w);
    for (int p = 0; p < knob->n_parts; p++)
        kiln_json_put_i64(w, v[p]);
    kiln_json_end_array(w);
}

void kiln_config_put(kiln_json_writer *w, const kiln_template *t, const kiln_space *s,
                     const kiln_config *c) {
    KILN_ASSERT(c->n == s->n,
                "template '%s': a configuration of %d knobs for a space of %d", t->name,
                c->n, s->n);
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "template", t->name);
    for (int k = 0; k < s->n; k++) {
        kiln_json_name(w, s->knob[k].name);
        kiln_knob_put_option(w, &s->knob[k], c->option[k]);
    }
    kiln_json_end_object(w);
}

void kiln_config_json(kiln_buf *out, const kiln_template *t, const kiln_space *s,
                      const kiln_config *c) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_config_put(&w, t, s, c);
}

/* ---- reading --------------------------------------------------------------------- */

/* "16", "[14, 1]", "inner": as JSON would have it. */
void kiln_knob_option_text(kiln_buf *out, const kiln_knob *knob, int option) {
    KILN_ASSERT(option >= 0 && option < knob->n, "knob '%s' has no option %d",
                knob->name, option);
    if (knob->word != NULL) {
        kiln_buf_printf(out, "\"%s\"", knob->word[option]);
        return;
    }
    const int64_t *v = parts_of(knob, option);
    kiln_buf_puts(out, knob->n_parts > 1 ? "[" : "");
    for (int p = 0; p < knob->n_parts; p++)
        kiln_buf_printf(out, "%s%" PRId64, p > 0 ? ", " : "", v[p]);
    kiln_buf_puts(out, knob->n_parts > 1 ? "]" : "");
}

/* A list of hundreds helps nobody: the first and the last ones. */
enum { LISTED_HEAD = 24, LISTED_TAIL = 4 };

static const char *options_text(kiln_arena *a, const kiln_knob *knob) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (int i = 0; i < knob->n; i++) {
        if (i == LISTED_HEAD && knob->n > LISTED_HEAD + LISTED_TAIL) {
            i = knob->n - LISTED_TAIL;
            kiln_buf_puts(&out, ", ...");
        }
        kiln_buf_puts(&out, i > 0 ? ", " : "");
        kiln_knob_option_text(&out, knob, i);
    }
    return out.p;
}

static const char *knobs_text(kiln_arena *a, const kiln_space *s) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (int k = 0; k < s->n; k++)
        kiln_buf_printf(&out, "%s%s", k > 0 ? ", " : "", s->knob[k].name);
    return s->n > 0 ? out.p : "none";
}

/* Longest piece of a file that a message shows. */
enum { SHOWN_BYTES = 60 };

static const char *shown(kiln_arena *a, const char *z) {
    return kiln_str_printable(a, kiln_str_from(z), SHOWN_BYTES);
}

static bool is_option(const kiln_knob *knob, int option, const kiln_json *v) {
    if (knob->word != NULL)
        return kiln_json_is_string(v) &&
               strcmp(kiln_json_string(v, ""), knob->word[option]) == 0;
    const int64_t *want = parts_of(knob, option);
    int64_t got;
    if (knob->n_parts == 1)
        return kiln_json_i64(v, &got) && got == want[0];
    if (!kiln_json_is_array(v) || kiln_json_size(v) != (size_t)knob->n_parts)
        return false;
    const kiln_json *e = kiln_json_first(v);
    for (int p = 0; p < knob->n_parts; p++, e = kiln_json_next(e))
        if (!kiln_json_i64(e, &got) || got != want[p])
            return false;
    return true;
}

static kiln_status read_knob(kiln_arena *a, const kiln_json *v, const kiln_template *t,
                             const kiln_knob *knob, int16_t *out, kiln_err *err) {
    if (v == NULL && knob->is_later) {
        *out = 0;
        return KILN_OK;
    }
    if (v == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "template '%s': knob '%s' is missing; its options are %s",
                         t->name, knob->name, options_text(a, knob));
    for (int i = 0; i < knob->n; i++)
        if (is_option(knob, i, v)) {
            *out = (int16_t)i;
            return KILN_OK;
        }
    return kiln_fail(err, KILN_ERR_ARG,
                     "template '%s': the value of knob '%s' is none of its %d options: "
                     "%s",
                     t->name, knob->name, knob->n, options_text(a, knob));
}

static const kiln_knob *find_knob(const kiln_space *s, const char *name) {
    for (int k = 0; k < s->n; k++)
        if (strcmp(s->knob[k].name, name) == 0)
            return &s->knob[k];
    return NULL;
}

static kiln_status parse(kiln_arena *a, const kiln_json *json, const kiln_template *t,
                         const kiln_space *s, kiln_config *out, kiln_err *err) {
    if (!kiln_json_is_object(json))
        return kiln_fail(err, KILN_ERR_ARG,
                         "a configuration must be a JSON object of the knobs %s",
                         knobs_text(a, s));
    const kiln_json *name = kiln_json_get(json, "template");
    if (name != NULL && strcmp(kiln_json_string(name, ""), t->name) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "the configuration is of template '%s', not of '%s'",
                         shown(a, kiln_json_string(name, "")), t->name);
    for (const kiln_json *m = kiln_json_first(json); m != NULL; m = kiln_json_next(m))
        if (strcmp(kiln_json_key(m), "template") != 0 &&
            find_knob(s, kiln_json_key(m)) == NULL)
            return kiln_fail(err, KILN_ERR_ARG,
                             "template '%s' has no knob '%s' for this workload; it "
                             "has %s",
                             t->name, shown(a, kiln_json_key(m)), knobs_text(a, s));
    kiln_config c = {.n = s->n};
    for (int k = 0; k < s->n; k++)
        KILN_TRY(read_knob(a, kiln_json_get(json, s->knob[k].name), t, &s->knob[k],
                           &c.option[k], err));
    *out = c;
    return KILN_OK;
}

kiln_status kiln_config_parse(const kiln_json *json, const kiln_template *t,
                              const kiln_space *s, kiln_config *out, kiln_err *err) {
    kiln_arena scratch = {0}; /* for messages only */
    const kiln_status st = parse(&scratch, json, t, s, out, err);
    kiln_arena_fini(&scratch);
    return st;
}
