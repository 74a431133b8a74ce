/* One nightly at a time in a folder of runs. The system gives the lock up when its
 * holder dies, however it dies. */
#include "pipeline/nightly/nightly_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static kiln_status refuse(int fd, const char *out, kiln_err *err) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "process %ld, another kiln nightly, is at work in '%s'; wait "
                         "for its end, or name another folder by --out",
                         (long)lock.l_pid, out);
    return kiln_fail(err, KILN_ERR_IO,
                     "another kiln nightly is at work in '%s'; wait for its end, or "
                     "name another folder by --out",
                     out);
}

kiln_status nightly_lock(kiln_arena *a, const char *out, int *fd, kiln_err *err) {
    const char *path = kiln_path_join(a, out, "nightly.lock");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot open '%s': %s", path,
                         strerror(errno));
    int result;
    do
        result = fcntl(*fd, F_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return KILN_OK;
    const int why = errno;
    const kiln_status st =
        why == EACCES || why == EAGAIN
            ? refuse(*fd, out, err)
            : kiln_fail(err, KILN_ERR_IO, "cannot lock '%s': %s", path, strerror(why));
    close(*fd);
    *fd = -1;
    return st;
}

void nightly_unlock(int fd) {
    if (fd >= 0)
        close(fd);
}
