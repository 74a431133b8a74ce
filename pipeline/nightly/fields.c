#include "pipeline/nightly/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- problems -------------------------------------------------------------------- */

void problem(problems *p, const char *path, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kiln_vec_push(p->arena, &p->line,
                  kiln_format(p->arena, "%s: %s%s%s", p->file, path,
                              path[0] != '\0' ? " " : "", text));
}

kiln_status problems_end(const problems *p, kiln_err *err) {
    enum { ROOM = 160 }; /* for the line that says how many are left out */
    kiln_buf text;
    kiln_buf_init(&text, p->arena);
    for (size_t i = 0; i < p->line.n; i++) {
        const bool fits = text.n + strlen(p->line.v[i]) + ROOM < KILN_ERR_TEXT;
        if (i > 0 && !fits) {
            kiln_buf_printf(&text, "\n%s: and %zu more", p->file, p->line.n - i);
            break;
        }
        kiln_buf_printf(&text, "%s%s", i > 0 ? "\n" : "", p->line.v[i]);
    }
    return p->line.n == 0 ? KILN_OK : kiln_fail(err, KILN_ERR_PARSE, "%s", text.p);
}

/* ---- objects --------------------------------------------------------------------- */

const char *shown(kiln_arena *a, const kiln_json *v) {
    enum { MAX_SHOWN = 64 };
    if (kiln_json_is_string(v))
        return kiln_format(
            a, "'%s'",
            kiln_str_printable(a, kiln_str_from(kiln_json_string(v, "")), MAX_SHOWN));
    if (kiln_json_is_number(v))
        return kiln_format(a, "%.15g", kiln_json_number(v, 0));
    if (kiln_json_is_object(v))
        return "an object";
    if (kiln_json_is_array(v))
        return "a list";
    const bool is_bool = kiln_json_bool(v, true) == kiln_json_bool(v, false);
    return is_bool ? (kiln_json_bool(v, false) ? "true" : "false") : "null";
}

static bool is_known(const char *const *known, const char *key) {
    for (; *known != NULL; known++)
        if (strcmp(*known, key) == 0)
            return true;
    return false;
}

static const char *listed(kiln_arena *a, const char *const *known) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (size_t i = 0; known[i] != NULL; i++)
        kiln_buf_printf(&text, "%s%s", i > 0 ? ", " : "", known[i]);
    return text.p;
}

fields fields_open(problems *p, const kiln_json *v, const char *path,
                   const char *const *known) {
    fields f = {.problems = p, .path = path};
    if (v == NULL)
        return f;
    if (!kiln_json_is_object(v)) {
        problem(p, path, "must be an object, is %s", shown(p->arena, v));
        return f;
    }
    f.object = v;
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m))
        if (!is_known(known, kiln_json_key(m)))
            problem(p,
                    fields_path(&f, kiln_str_printable(
                                        p->arena, kiln_str_from(kiln_json_key(m)), 64)),
                    "is no known member; there are %s", listed(p->arena, known));
    return f;
}

const char *fields_path(const fields *f, const char *member) {
    return f->path[0] == '\0'
               ? member
               : kiln_format(f->problems->arena, "%s.%s", f->path, member);
}

static bool is_null(const kiln_json *v) {
    return !kiln_json_is_object(v) && !kiln_json_is_array(v) &&
           !kiln_json_is_string(v) && !kiln_json_is_number(v) &&
           kiln_json_bool(v, true) != kiln_json_bool(v, false);
}

const kiln_json *fields_get(const fields *f, const char *member) {
    const kiln_json *v = kiln_json_get(f->object, member);
    return is_null(v) ? NULL : v;
}

/* ---- members --------------------------------------------------------------------- */

const char *fields_text(const fields *f, const char *member) {
    const kiln_json *v = fields_get(f, member);
    const char *text = kiln_json_string(v, NULL);
    if (v != NULL && (text == NULL || text[0] == '\0')) {
        problem(f->problems, fields_path(f, member), "must be a text, is %s",
                shown(f->problems->arena, v));
        return NULL;
    }
    return text;
}

bool is_name(const char *z) {
    enum { MAX_NAME = 100 };
    const size_t n = strlen(z);
    return n > 0 && n <= MAX_NAME && z[0] != '.' && z[0] != '-' &&
           strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789._+-") == n;
}

const char *fields_name(const fields *f, const char *member) {
    const char *text = fields_text(f, member);
    if (text == NULL || is_name(text))
        return text;
    problem(f->problems, fields_path(f, member),
            "must be a word of letters, digits and . _ + - (it names a folder), is %s",
            shown(f->problems->arena, fields_get(f, member)));
    return NULL;
}

const char *word_of(problems *p, const char *path, const kiln_json *v,
                    const char *(*name_at)(int i)) {
    const char *word = kiln_json_string(v, NULL);
    kiln_buf all;
    kiln_buf_init(&all, p->arena);
    for (int i = 0; name_at(i) != NULL; i++) {
        if (word != NULL && strcmp(word, name_at(i)) == 0)
            return word;
        kiln_buf_printf(&all, "%s%s", i > 0 ? ", " : "", name_at(i));
    }
    problem(p, path, "must be one of %s, is %s", all.p, shown(p->arena, v));
    return NULL;
}

const char *fields_word(const fields *f, const char *member,
                        const char *(*name_at)(int i)) {
    const kiln_json *v = fields_get(f, member);
    return v == NULL ? NULL : word_of(f->problems, fields_path(f, member), v, name_at);
}

int fields_int(const fields *f, const char *member, int min, int max, int otherwise) {
    const kiln_json *v = fields_get(f, member);
    int64_t n = 0;
    if (v == NULL)
        return otherwise;
    if (kiln_json_i64(v, &n) && n >= min && n <= max)
        return (int)n;
    problem(f->problems, fields_path(f, member),
            "must be a whole number from %d to %d, is %s", min, max,
            shown(f->problems->arena, v));
    return otherwise;
}

double fields_number(const fields *f, const char *member, double min, double max,
                     double otherwise) {
    const kiln_json *v = fields_get(f, member);
    const double n = kiln_json_number(v, otherwise);
    if (v == NULL || (kiln_json_is_number(v) && n >= min && n <= max))
        return n;
    problem(f->problems, fields_path(f, member),
            "must be a number from %g to %g, is %s", min, max,
            shown(f->problems->arena, v));
    return otherwise;
}

bool fields_bool(const fields *f, const char *member, bool otherwise) {
    const kiln_json *v = fields_get(f, member);
    if (v != NULL && kiln_json_bool(v, true) != kiln_json_bool(v, false))
        problem(f->problems, fields_path(f, member), "must be true or false, is %s",
                shown(f->problems->arena, v));
    return kiln_json_bool(v, otherwise);
}

const kiln_json *fields_list(const fields *f, const char *member) {
    const kiln_json *v = fields_get(f, member);
    if (v == NULL || kiln_json_is_array(v))
        return v;
    problem(f->problems, fields_path(f, member), "must be a list, is %s",
            shown(f->problems->arena, v));
    return NULL;
}
