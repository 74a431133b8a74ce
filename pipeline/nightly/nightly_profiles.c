/* Which profiles a file names, and where each is measured; paths and labels of what a file
 * names. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>

/* ---- names ----------------------------------------------------------------------- */

/* The folder's own path has no links, so each leading ".." is the folder above. */
const char *kiln_nightly_absolute(kiln_arena *a, const char *dir, const char *path) {
    const char *at = dir;
    for (;;) {
        if (strncmp(path, "./", 2) == 0) {
            path += 2;
        } else if (strncmp(path, "../", 3) == 0) {
            path += 3;
            at = kiln_path_dir(a, at);
        } else {
            break;
        }
    }
    return kiln_path_join(a, at, path);
}

/* A name, or the path of a file: what has a slash, or such an ending. */
bool kiln_nightly_is_path(const char *word, const char *ending) {
    return strchr(word, '/') != NULL ||
           (ending != NULL && kiln_str_ends(kiln_str_from(word), ending));
}

/* "a/b.json": "b". */
const char *kiln_nightly_label_of(kiln_arena *a, const char *word) {
    char *label = kiln_str_dup(a, kiln_path_base(word));
    char *dot = strrchr(label, '.');
    if (dot != NULL && dot != label && strchr(word, '/') != NULL)
        *dot = '\0';
    return label;
}

/* ---- profiles -------------------------------------------------------------------- */

/* `of`: what else is said of it. */
static void add_profile(kiln_problems *problems, const char *dir, const char *path,
                        const char *word, const kiln_nightly_profile *of,
                        kiln_nightly_profiles *out) {
    const bool is_file = kiln_nightly_is_path(word, ".json");
    kiln_nightly_profile p = *of;
    p.word = is_file ? kiln_nightly_absolute(problems->arena, dir, word) : word;
    if (p.label == NULL)
        p.label = is_file ? kiln_nightly_label_of(problems->arena, p.word) : word;
    kiln_profile profile;
    kiln_err why = {.status = KILN_OK};
    if (kiln_profile_find(problems->arena, p.word, &profile, &why) != KILN_OK) {
        kiln_problem(problems, path, "must be a profile: %s", why.text);
        return;
    }
    if (!kiln_fields_is_name(p.label)) {
        kiln_problem(problems, path, "must be a file whose name can name a folder too");
        return;
    }
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->v[i].label, p.label) == 0) {
            kiln_problem(problems, path, "is there twice: '%s'", p.label);
            return;
        }
    kiln_vec_push(problems->arena, out, p);
}

/* One, or a list of them. */
static void read_runners(const kiln_fields *f, kiln_nightly_words *out) {
    kiln_problems *problems = f->problems;
    const kiln_json *v = kiln_fields_get(f, "runner");
    const char *one = kiln_json_string(v, NULL);
    if (one != NULL)
        kiln_vec_push(problems->arena, out, one);
    if (v == NULL || one != NULL)
        return;
    for (const kiln_json *x = kiln_json_first(v); x != NULL; x = kiln_json_next(x)) {
        one = kiln_json_is_array(v) ? kiln_json_string(x, NULL) : NULL;
        if (one != NULL)
            kiln_vec_push(problems->arena, out, one);
        else
            break;
    }
    if (!kiln_json_is_array(v) || out->n == 0 || out->n != kiln_json_size(v))
        kiln_problem(
            problems, kiln_fields_path(f, "runner"),
            "must be a device or a list of devices, as kiln tune --runner takes "
            "them, is %s",
            kiln_fields_shown(problems->arena, v));
}

/* {"profile": "aarch64", "runner": "board"}: measured there. */
static void add_measured(kiln_problems *problems, const char *dir, const char *path,
                         const kiln_json *v, kiln_nightly_profiles *out) {
    static const char *const known[] = {"profile", "name",     "runner",
                                        "pool",    "priority", NULL};
    const kiln_fields f = kiln_fields_open(problems, v, path, known);
    const char *word = kiln_fields_text(&f, "profile");
    kiln_nightly_profile of = {.label = kiln_fields_name(&f, "name"),
                               .pool = kiln_fields_text(&f, "pool"),
                               .priority = kiln_fields_int(&f, "priority", 1, 100, 0)};
    read_runners(&f, &of.runner);
    if (word == NULL)
        kiln_problem(problems, kiln_fields_path(&f, "profile"), "must be there");
    if ((of.runner.n > 0) == (of.pool != NULL))
        kiln_problem(
            problems, path,
            "must say where it is measured: by one of \"runner\" and \"pool\"");
    if (of.priority > 0 && of.pool == NULL)
        kiln_problem(problems, kiln_fields_path(&f, "priority"),
                     "is said to a pool: without one there are no shares");
    if (word != NULL)
        add_profile(problems, dir, path, word, &of, out);
}

kiln_nightly_profiles kiln_nightly_profiles_read(const kiln_fields *f, const char *dir,
                                                 kiln_nightly_profiles otherwise) {
    kiln_problems *problems = f->problems;
    const kiln_json *list = kiln_fields_list(f, "profiles");
    kiln_nightly_profiles out = {.n = 0};
    if (list == NULL)
        return otherwise;
    size_t i = 0;
    for (const kiln_json *v = kiln_json_first(list); v != NULL;
         v = kiln_json_next(v), i++) {
        const char *path =
            kiln_format(problems->arena, "%s[%zu]", kiln_fields_path(f, "profiles"), i);
        const char *word = kiln_json_string(v, NULL);
        const kiln_nightly_profile here = {.word = word};
        if (kiln_json_is_object(v))
            add_measured(problems, dir, path, v, &out);
        else if (word == NULL)
            kiln_problem(problems, path,
                         "must be a profile's name or file, or an object of one and "
                         "where it is measured, is %s",
                         kiln_fields_shown(problems->arena, v));
        else
            add_profile(problems, dir, path, word, &here, &out);
    }
    if (i == 0)
        kiln_problem(problems, kiln_fields_path(f, "profiles"), "must not be empty");
    return out.n > 0 ? out : otherwise;
}
