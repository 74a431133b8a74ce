#include "base/files/program.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/core/core.h"

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
    char *path;
    if (kiln_program_own(a, &path, NULL) != KILN_OK)
        return NULL;
    return kiln_path_dir(a, path);
}

static bool is_program(const char *path) {
    return kiln_file_exists(path) && access(path, X_OK) == 0;
}

/* What is looked for, and where. */
typedef struct place {
    const char *what;     /* "program" */
    const char *folder;   /* from the running program's, where make install puts it */
    const char *variable; /* of the environment: the only folder, where it is set */
    bool (*is_it)(const char *path);
} place;

static const place programs = {"program", "../libexec/kiln", "KILN_LIBEXEC",
                               is_program};
static const place data = {"file", "../share/kiln", "KILN_DATA", kiln_file_exists};

static kiln_status find(kiln_arena *a, const place *p, const char *name, char **out,
                        kiln_err *err) {
    const char *told = getenv(p->variable);
    const char *own = told == NULL || told[0] == '\0' ? own_folder(a) : NULL;
    if (own == NULL && (told == NULL || told[0] == '\0'))
        return kiln_fail(err, KILN_ERR_IO,
                         "%s '%s': cannot tell where this program lies; set %s to the "
                         "folder of kiln's %ss",
                         p->what, name, p->variable, p->what);
    const char *const folders[] = {own != NULL ? own : told,
                                   own != NULL ? kiln_path_join(a, own, p->folder)
                                               : told};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = kiln_path_join(a, folders[i], name);
        if (!p->is_it(path))
            continue;
        *out = path;
        return KILN_OK;
    }
    return own == NULL
               ? kiln_fail(err, KILN_ERR_IO, "%s '%s' is not in '%s'", p->what, name,
                           told)
               : kiln_fail(err, KILN_ERR_IO,
                           "%s '%s' is neither in '%s' nor in '%s'; 'make' builds it, "
                           "or set %s to its folder",
                           p->what, name, folders[0], folders[1], p->variable);
}

kiln_status kiln_program_find(kiln_arena *a, const char *name, char **out,
                              kiln_err *err) {
    return find(a, &programs, name, out, err);
}

kiln_status kiln_data_find(kiln_arena *a, const char *name, char **out, kiln_err *err) {
    return find(a, &data, name, out, err);
}

const char *kiln_program_in_path(kiln_arena *a, const char *name) {
    const char *path = getenv("PATH");
    kiln_str rest = kiln_str_from(path != NULL ? path : ""), folder;
    while (rest.n > 0 && kiln_str_cut(&rest, ':', &folder)) {
        const char *full = kiln_format(a, "%.*s/%s", KILN_STR_ARG(folder), name);
        if (is_program(full))
            return full;
    }
    return NULL;
}
