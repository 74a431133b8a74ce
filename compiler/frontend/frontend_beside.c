/* Files beside a model: see frontend_beside.h. */
#include "compiler/frontend/frontend_beside.h"

#include <string.h>

static bool is_below(const char *path, const char *folder) {
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 &&
           (n == 1 || path[n] == '/'); /* "/" holds everything */
}

/* Caches keep a model and its data as links into one folder: what lies where the model
 * itself lies is as near to it. */
static bool is_beside_model(kiln_arena *scratch, const char *real, const char *model) {
    const char *there = NULL;
    return model != NULL && kiln_path_real(scratch, model, &there, NULL) == KILN_OK &&
           is_below(real, kiln_path_dir(scratch, there));
}

kiln_status kiln_import_check_link(kiln_arena *scratch, const char *path,
                                   const char *dir, const char *model, kiln_err *err) {
    const char *real = NULL, *home = NULL;
    if (!kiln_file_exists(path))
        return KILN_OK;
    KILN_TRY(kiln_path_real(scratch, path, &real, err));
    KILN_TRY(kiln_path_real(scratch, dir, &home, err));
    if (is_below(real, home) || is_beside_model(scratch, real, model))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "'%s' is a link out of the model's folder, to '%s'; put a copy "
                     "there if that is meant",
                     path, kiln_str_printable(scratch, kiln_str_from(real), 200));
}
