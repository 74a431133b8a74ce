#include "base/program.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

/* Linux: a link to the file that runs. */
kiln_status kiln_program_own(kiln_arena *a, char **out, kiln_err *err) {
    enum { PATH_BYTES = 4096 };
    char path[PATH_BYTES];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "cannot tell where this program lies: is /proc mounted?");
    path[n] = '\0';
    *out = kiln_str_dup(a, path);
    return KILN_OK;
}

static char *own_folder(kiln_arena *a) {
    char *path = NULL;
    return kiln_program_own(a, &path, NULL) == KILN_OK ? kiln_path_dir(a, path) : NULL;
}

static bool is_program(const char *path) {
    return kiln_file_exists(path) && access(path, X_OK) == 0;
}

kiln_status kiln_program_find(kiln_arena *a, const char *name, char **out,
                              kiln_err *err) {
    const char *told = getenv("KILN_LIBEXEC");
    const char *own = told == NULL || told[0] == '\0' ? own_folder(a) : NULL;
    if (own == NULL && (told == NULL || told[0] == '\0'))
        return kiln_fail(err, KILN_ERR_IO,
                         "program '%s': cannot tell where this program lies; set "
                         "KILN_LIBEXEC to the folder of kiln's programs",
                         name);
    const char *const folders[] = {
        own != NULL ? own : told,
        own != NULL ? kiln_path_join(a, own, "../libexec/kiln") : told};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = kiln_path_join(a, folders[i], name);
        if (!is_program(path))
            continue;
        *out = path;
        return KILN_OK;
    }
    return own == NULL
               ? kiln_fail(err, KILN_ERR_IO, "program '%s' is not in '%s'", name, told)
               : kiln_fail(err, KILN_ERR_IO,
                           "program '%s' is neither in '%s' nor in '%s'; 'make' builds "
                           "it, or set KILN_LIBEXEC to its folder",
                           name, folders[0], folders[1]);
}
