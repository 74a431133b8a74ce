/* Paths as the system resolves them: see file.h. Linux, for realpath, which POSIX has
 * among its extensions. */
#include "base/files/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

kiln_status kiln_path_real(kiln_arena *a, const char *path, const char **out,
                           kiln_err *err) {
    char real[PATH_MAX];
    if (realpath(path, real) == NULL)
        return kiln_fail(err, kiln_errno_status(errno), "cannot find '%s': %s", path,
                         strerror(errno));
    *out = kiln_str_dup(a, real);
    return KILN_OK;
}
