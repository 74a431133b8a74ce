/* Finds a model file's format and hands it to the frontend of that format. */
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/frontend_inputs.h"

static const kiln_frontend *const rows[] = {
#define KILN_FRONTEND(name) &kiln_frontend_##name,
#include "compiler/frontend/frontends.def"
#undef KILN_FRONTEND
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static bool has_extension(const kiln_frontend *f, const char *path) {
    for (const char *const *e = f->extensions; *e != NULL; e++)
        if (kiln_str_ends(kiln_str_from(path), *e))
            return true;
    return false;
}

static const kiln_frontend *find(const kiln_frontend *own, kiln_str bytes) {
    if (own != NULL && own->sniff(bytes))
        return own;
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i]->sniff(bytes))
            return rows[i];
    return NULL;
}

static const kiln_frontend *find_by_name(const kiln_frontend *own, const char *path) {
    if (own != NULL && has_extension(own, path))
        return own;
    for (size_t i = 0; i < N_ROWS; i++)
        if (has_extension(rows[i], path))
            return rows[i];
    return NULL;
}

const char *kiln_import_file(kiln_arena *a, const char *path) {
    static const char *const files[] = {"saved_model.pb",
                                        "Data/com.apple.CoreML/model.mlmodel"};
    for (size_t i = 0; i < sizeof files / sizeof files[0] && kiln_dir_exists(path);
         i++) {
        const char *const file = kiln_path_join(a, path, files[i]);
        if (kiln_file_exists(file))
            return file;
    }
    return path;
}

/* own: one more format than the table has, or NULL. *at: a file, or a folder, which
 * becomes the file in it. */
static kiln_status open_model(kiln_arena *a, const kiln_frontend *own, const char **at,
                              kiln_str *bytes, const kiln_frontend **f, kiln_err *err) {
    const char *const path = *at = kiln_import_file(a, *at);
    if (kiln_dir_exists(path)) {
        KILN_TRY(kiln_foreign_check_folder(a, path, err));
        return kiln_fail(err, KILN_ERR_IO,
                         "'%s' is a folder without a model: kiln reads files, folders "
                         "with saved_model.pb (of TensorFlow) and packages of Core ML "
                         "(.mlpackage)",
                         path);
    }
    KILN_TRY(kiln_file_map(a, path, 0, bytes, err));
    if (bytes->n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is empty; fetch the model again",
                         path);
    if (kiln_str_starts(*bytes, "version https://git-lfs."))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is a Git LFS pointer, not the model; run 'git lfs pull'",
                         path);
    *f = find(own, *bytes);
    if (*f == NULL)
        KILN_TRY(kiln_foreign_check(path, *bytes, err));
    if (*f == NULL)
        *f = find_by_name(own, path);
    if (*f != NULL)
        return KILN_OK;
    kiln_buf known;
    kiln_buf_init(&known, a);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_buf_printf(&known, "%s%s (%s)", i == 0 ? "" : ", ", rows[i]->name,
                        rows[i]->extensions[0]);
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "'%s' is of no format that kiln reads: %s", path,
                     kiln_buf_str(&known).p);
}

kiln_status kiln_import(kiln_arena *a, const char *path, const kiln_import_options *o,
                        kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_str bytes;
    const kiln_frontend *f = NULL;
    if (report != NULL)
        *report = (kiln_import_report){.format = "", .producer = ""};
    if (o != NULL)
        KILN_TRY(kiln_import_check_options(o, err));
    KILN_TRY(open_model(a, o != NULL ? o->row : NULL, &path, &bytes, &f, err));
    if (o != NULL && o->signature != NULL && !f->has_signatures)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--signature: models of format %s have no signatures",
                         f->name);
    if (o != NULL && o->has_state && !f->has_variables)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--state: models of format %s keep nothing between runs",
                         f->name);
    if (o != NULL && o->as_reference && !f->has_roundings)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--rounding reference: models of format %s are rounded in one "
                         "way only",
                         f->name);
    return f->import(a, bytes, path, kiln_path_dir(a, path), o, out, report, err);
}

kiln_status kiln_import_inputs(kiln_arena *a, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_str bytes;
    const kiln_frontend *f = NULL;
    KILN_TRY(open_model(a, NULL, &path, &bytes, &f, err));
    const kiln_status st = f->list_inputs(a, bytes, path, out, n, err);
    if (st != KILN_OK)
        kiln_note(err, "reading the inputs of '%s'", path);
    return st;
}

kiln_status kiln_import_list_data(kiln_arena *a, const char *path,
                                  kiln_import_locations *out, kiln_err *err) {
    kiln_str bytes;
    const kiln_frontend *f = NULL;
    *out = (kiln_import_locations){.n = 0};
    KILN_TRY(open_model(a, NULL, &path, &bytes, &f, err));
    return f->list_data != NULL ? f->list_data(a, bytes, path, out, err) : KILN_OK;
}

kiln_status kiln_import_survey(kiln_arena *a, const char *path, kiln_model_survey *out,
                               kiln_err *err) {
    kiln_str bytes;
    const kiln_frontend *f = NULL;
    KILN_TRY(open_model(a, NULL, &path, &bytes, &f, err));
    if (f->survey == NULL) {
        *out = (kiln_model_survey){.format = f->name, .producer = "", .stride = 1};
        return kiln_import_inputs(a, path, &out->input, &out->n_inputs, err);
    }
    const kiln_status st = f->survey(a, bytes, path, out, err);
    if (st != KILN_OK)
        kiln_note(err, "reading what '%s' says about itself", path);
    return st;
}
