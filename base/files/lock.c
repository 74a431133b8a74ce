/* Locks between processes (POSIX fcntl): the system gives them up when their holder
 * dies, however it dies. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/files/file.h"

kiln_status kiln_file_lock(int fd, const char *path, long *holder, kiln_err *err) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;
    do
        result = fcntl(fd, F_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    *holder = 0;
    if (result == 0)
        return KILN_OK;
    if (errno != EACCES && errno != EAGAIN)
        return kiln_fail(err, KILN_ERR_IO, "cannot lock '%s': %s", path,
                         strerror(errno));
    const bool is_told = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    *holder = is_told && lock.l_pid > 0 ? (long)lock.l_pid : -1;
    return KILN_OK;
}
