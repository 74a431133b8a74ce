/* One nightly at a time in a folder of runs. The system gives the lock up when its
 * holder dies, however it dies. */
#include "pipeline/nightly/nightly_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static kiln_status refuse(kiln_arena *a, long holder, const char *out, kiln_err *err) {
    const char *who = holder > 0
                          ? kiln_format(a, "process %ld, another kiln nightly,", holder)
                          : "another kiln nightly";
    return kiln_fail(err, KILN_ERR_IO,
                     "%s is at work in '%s'; wait for its end, or name another folder "
                     "by --out",
                     who, out);
}

kiln_status kiln_nightly_lock(kiln_arena *a, const char *out, int *fd, kiln_err *err) {
    const char *path = kiln_path_join(a, out, "nightly.lock");
    long holder = 0;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot open '%s': %s", path,
                         strerror(errno));
    kiln_status st = kiln_file_lock(*fd, path, &holder, err);
    if (st == KILN_OK && holder != 0)
        st = refuse(a, holder, out, err);
    if (st == KILN_OK)
        return KILN_OK;
    close(*fd);
    *fd = -1;
    return st;
}

void kiln_nightly_unlock(int fd) {
    if (fd >= 0)
        close(fd);
}
