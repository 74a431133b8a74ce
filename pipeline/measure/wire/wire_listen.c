/* Listening where only this user, or this machine, can connect. */
#include "pipeline/measure/wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 16, ANSWER_MS = 5000 };

/* A runner, or a pool, greets who connects. The process that served for one that was killed may have
 * its socket a moment longer; then the connection ends without a word. */
static bool answers(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char first;
    const int got = poll(&p, 1, ANSWER_MS);
    return got <= 0 || recv(fd, &first, 1, MSG_PEEK) > 0;
}

/* A socket at which nobody answers is what somebody left who was killed. */
static kiln_status clear_path(const kiln_wire_address *a, kiln_err *err) {
    const char *path = a->at.local.sun_path;
    struct stat st;
    if (lstat(path, &st) != 0)
        return KILN_OK;
    if (!S_ISSOCK(st.st_mode))
        return kiln_fail(err, KILN_ERR_ARG, "'%s' is there, and no socket", path);
    const int fd = kiln_wire_address_socket(a);
    const bool is_taken =
        fd >= 0 && connect(fd, &a->at.any, a->bytes) == 0 && answers(fd);
    if (fd >= 0)
        close(fd);
    if (is_taken)
        return kiln_fail(err, KILN_ERR_ARG, "somebody listens at '%s' already", path);
    if (unlink(path) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot remove '%s': %s", path,
                         strerror(errno));
    return KILN_OK;
}

kiln_status kiln_wire_address_listen(kiln_wire_address *a, int *out, kiln_err *err) {
    char text[KILN_WIRE_ADDRESS_TEXT];
    const int on = 1;
    const bool is_unix = a->at.any.sa_family == AF_UNIX;
    KILN_TRY(kiln_wire_address_check_private(a, err));
    if (is_unix)
        KILN_TRY(clear_path(a, err));
    kiln_wire_address_text(a, text);
    const int fd = kiln_wire_address_socket(a);
    if (fd >= 0 && !is_unix)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const mode_t old = umask(S_IRWXG | S_IRWXO);
    const bool ok = fd >= 0 && bind(fd, &a->at.any, a->bytes) == 0 &&
                    listen(fd, BACKLOG) == 0 &&
                    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
    const int error = errno;
    (void)umask(old);
    if (!ok) {
        if (fd >= 0)
            close(fd);
        return kiln_fail(err, KILN_ERR_IO, "cannot listen on %s: %s", text,
                         strerror(error));
    }
    a->bytes = sizeof a->at;
    (void)getsockname(fd, &a->at.any, &a->bytes); /* the port that was chosen */
    *out = fd;
    return KILN_OK;
}
