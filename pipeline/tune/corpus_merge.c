/* A corpus of which some works are measured anew: which, and their lines among those of
 * the others. */
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

/* ---- which works ----------------------------------------------------------------- */

static const kiln_tune_work *find(const kiln_tune_works *works, kiln_str name) {
    for (size_t i = 0; i < works->list.n; i++)
        if (kiln_str_is(name, works->list.v[i].op.name))
            return &works->list.v[i];
    return NULL;
}

static bool is_listed(const char *names, const char *name) {
    kiln_str rest = kiln_str_from(names), one;
    while (kiln_str_cut(&rest, ',', &one))
        if (kiln_str_is(one, name))
            return true;
    return false;
}

static kiln_status refuse(kiln_arena *a, const kiln_tune_works *works, kiln_str name,
                          kiln_err *err) {
    kiln_buf all;
    kiln_buf_init(&all, a);
    for (size_t i = 0; i < works->list.n; i++)
        kiln_buf_printf(&all, "%s%s", i > 0 ? ", " : "", works->list.v[i].op.name);
    return kiln_fail(err, KILN_ERR_ARG,
                     "no work of the corpus is called '%s': it has %s",
                     kiln_str_printable(a, name, 64), all.p);
}

kiln_status kiln_corpus_select(kiln_arena *a, const char *names, kiln_tune_works *works,
                               kiln_err *err) {
    kiln_tune_works kept = {.list = {.n = 0}};
    if (names == NULL)
        return KILN_OK;
    kiln_str rest = kiln_str_from(names), name;
    while (kiln_str_cut(&rest, ',', &name))
        if (find(works, name) == NULL)
            return refuse(a, works, name, err);
    for (size_t i = 0; i < works->list.n; i++)
        if (is_listed(names, works->list.v[i].op.name))
            kiln_vec_push(a, &kept.list, works->list.v[i]);
    works->list = kept.list;
    return KILN_OK;
}

/* ---- their lines ----------------------------------------------------------------- */

typedef struct work_line {
    const char *name; /* "": the head */
    kiln_str text;
    bool is_put;
} work_line;
typedef struct work_lines {
    KILN_VEC(work_line) list;
} work_lines;

static kiln_status read_lines(kiln_arena *a, kiln_str text, work_lines *out,
                              kiln_err *err) {
    kiln_str line;
    *out = (work_lines){.list = {.n = 0}};
    while (kiln_str_cut(&text, '\n', &line)) {
        const kiln_json *json = NULL;
        if (line.n == 0)
            continue;
        KILN_TRY(kiln_json_parse(a, line, "corpus", &json, err));
        const work_line x = {.name = kiln_json_string(kiln_json_get(json, "name"), ""),
                             .text = line};
        kiln_vec_push(a, &out->list, x);
    }
    return KILN_OK;
}

static void put(kiln_buf *out, work_line *x) {
    kiln_buf_add(out, x->text.p, x->text.n);
    kiln_buf_puts(out, "\n");
    x->is_put = true;
}

static work_line *named(work_lines *lines, const char *name) {
    for (size_t i = 0; i < lines->list.n; i++)
        if (strcmp(lines->list.v[i].name, name) == 0)
            return &lines->list.v[i];
    return NULL;
}

kiln_status kiln_corpus_merge(kiln_buf *out, kiln_arena *scratch, kiln_str old,
                              kiln_str made, kiln_err *err) {
    work_lines kept, anew;
    KILN_TRY(read_lines(scratch, old, &kept, err));
    KILN_TRY(read_lines(scratch, made, &anew, err));
    for (size_t i = 0; i < kept.list.n; i++) {
        work_line *x = named(&anew, kept.list.v[i].name);
        put(out, x != NULL ? x : &kept.list.v[i]);
    }
    for (size_t i = 0; i < anew.list.n; i++)
        if (!anew.list.v[i].is_put)
            put(out, &anew.list.v[i]);
    return KILN_OK;
}
