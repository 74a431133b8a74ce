#include "pipeline/nightly/nightly_fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- problems -------------------------------------------------------------------- */

void kiln_problem(kiln_problems *p, const char *path, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kiln_vec_push(p->arena, &p->line,
                  kiln_format(p->arena, "%s: %s%s%s", p->file, path,
                              path[0] != '\0' ? " " : "", text));
}

kiln_status kiln_problems_end(const kiln_problems *p, kiln_err *err) {
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

const char *kiln_fields_shown(kiln_arena *a, const kiln_json *v) {
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

kiln_fields kiln_fields_open(kiln_problems *p, const kiln_json *v, const char *path,
                             const char *const *known) {
    kiln_fields f = {.problems = p, .path = path};
    if (v == NULL)
        return f;
    if (!kiln_json_is_object(v)) {
        kiln_problem(p, path, "must be an object, is %s",
                     kiln_fields_shown(p->arena, v));
        return f;
    }
    f.object = v;
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m))
        if (!is_known(known, kiln_json_key(m)))
            kiln_problem(p,
                         kiln_fields_path(
                             &f, kiln_str_printable(
                                     p->arena, kiln_str_from(kiln_json_key(m)), 64)),
                         "is no known member; there are %s", listed(p->arena, known));
    return f;
}

const char *kiln_fields_path(const kiln_fields *f, const char *member) {
    return f->path[0] == '\0'
               ? member
               : kiln_format(f->problems->arena, "%s.%s", f->path, member);
}

static bool is_null(const kiln_json *v) {
    return !kiln_json_is_object(v) && !kiln_json_is_array(v) &&
           !kiln_json_is_string(v) && !kiln_json_is_number(v) &&
           kiln_json_bool(v, true) != kiln_json_bool(v, false);
}

const kiln_json *kiln_fields_get(const kiln_fields *f, const char *member) {
    const kiln_json *v = kiln_json_get(f->object, member);
    return is_null(v) ? NULL : v;
}

/* ---- members --------------------------------------------------------------------- */

const char *kiln_fields_text(const kiln_fields *f, const char *member) {
    const kiln_json *v = kiln_fields_get(f, member);
    const char *text = kiln_json_string(v, NULL);
    if (v != NULL && (text == NULL || text[0] == '\0')) {
        kiln_problem(f->problems, kiln_fields_path(f, member), "must be a text, is %s",
                     kiln_fields_shown(f->problems->arena, v));
        return NULL;
    }
    return text;
}

bool kiln_fields_is_name(const char *z) {
    enum { MAX_NAME = 100 };
    const size_t n = strlen(z);
    return n > 0 && n <= MAX_NAME && z[0] != '.' && z[0] != '-' &&
           strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789._+-") == n;
}

const char *kiln_fields_name(const kiln_fields *f, const char *member) {
    const char *text = kiln_fields_text(f, member);
    if (text == NULL || kiln_fields_is_name(text))
        return text;
    kiln_problem(
        f->problems, kiln_fields_path(f, member),
        "must be a word of letters, digits and . _ + - (it names a folder), is %s",
        kiln_fields_shown(f->problems->arena, kiln_fields_get(f, member)));
    return NULL;
}

const char *kiln_fields_word_of(kiln_problems *p, const char *path, const kiln_json *v,
                                const char *(*name_at)(int i)) {
    KILN_ASSERT(name_at(0) != NULL, "%s: no word would do", path);
    const char *word = kiln_json_string(v, NULL);
    kiln_buf all;
    kiln_buf_init(&all, p->arena);
    for (int i = 0; name_at(i) != NULL; i++) {
        if (word != NULL && strcmp(word, name_at(i)) == 0)
            return word;
        kiln_buf_printf(&all, "%s%s", i > 0 ? ", " : "", name_at(i));
    }
    kiln_problem(p, path, "must be one of %s, is %s", all.p,
                 kiln_fields_shown(p->arena, v));
    return NULL;
}

const char *kiln_fields_word(const kiln_fields *f, const char *member,
                             const char *(*name_at)(int i)) {
    const kiln_json *v = kiln_fields_get(f, member);
    return v == NULL ? NULL
                     : kiln_fields_word_of(f->problems, kiln_fields_path(f, member), v,
                                           name_at);
}

int kiln_fields_int(const kiln_fields *f, const char *member, int min, int max,
                    int otherwise) {
    KILN_ASSERT(min <= max, "'%s' must be from %d to %d", member, min, max);
    const kiln_json *v = kiln_fields_get(f, member);
    int64_t n = 0;
    if (v == NULL)
        return otherwise;
    if (kiln_json_i64(v, &n) && n >= min && n <= max)
        return (int)n;
    kiln_problem(f->problems, kiln_fields_path(f, member),
                 "must be a whole number from %d to %d, is %s", min, max,
                 kiln_fields_shown(f->problems->arena, v));
    return otherwise;
}

double kiln_fields_number(const kiln_fields *f, const char *member, double min,
                          double max, double otherwise) {
    KILN_ASSERT(min <= max, "'%s' must be from %g to %g", member, min, max);
    const kiln_json *v = kiln_fields_get(f, member);
    const double n = kiln_json_number(v, otherwise);
    if (v == NULL || (kiln_json_is_number(v) && n >= min && n <= max))
        return n;
    kiln_problem(f->problems, kiln_fields_path(f, member),
                 "must be a number from %g to %g, is %s", min, max,
                 kiln_fields_shown(f->problems->arena, v));
    return otherwise;
}

bool kiln_fields_bool(const kiln_fields *f, const char *member, bool otherwise) {
    const kiln_json *v = kiln_fields_get(f, member);
    if (v != NULL && kiln_json_bool(v, true) != kiln_json_bool(v, false))
        kiln_problem(f->problems, kiln_fields_path(f, member),
                     "must be true or false, is %s",
                     kiln_fields_shown(f->problems->arena, v));
    return kiln_json_bool(v, otherwise);
}

const kiln_json *kiln_fields_list(const kiln_fields *f, const char *member) {
    const kiln_json *v = kiln_fields_get(f, member);
    if (v == NULL || kiln_json_is_array(v))
        return v;
    kiln_problem(f->problems, kiln_fields_path(f, member), "must be a list, is %s",
                 kiln_fields_shown(f->problems->arena, v));
    return NULL;
}
