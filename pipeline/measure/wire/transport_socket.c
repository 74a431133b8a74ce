/* A worker behind a stream socket: it was started by others, and may serve others. */
#include "pipeline/measure/wire/transport.h"
#include "pipeline/measure/wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A connection that is not there at once comes, or fails, when something is read. */
static kiln_status open_socket(kiln_transport *t, kiln_err *err) {
    kiln_wire_address a;
    KILN_TRY(kiln_wire_address_parse(t->address, &a, err));
    const int fd = kiln_wire_address_socket(&a);
    if (fd >= 0) {
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        if (connect(fd, &a.at.any, a.bytes) == 0 || errno == EINPROGRESS) {
            t->in = t->out = fd;
            return KILN_OK;
        }
    }
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return kiln_fail(err, KILN_ERR_IO, "no runner answers at %s: %s", t->address,
                     strerror(error));
}

static ssize_t send_socket(kiln_transport *t, const void *p, size_t bytes) {
    return send(t->out, p, bytes, MSG_NOSIGNAL);
}

static void end_socket(kiln_transport *t, bool has_closed, kiln_transport_end *how) {
    close(t->in);
    t->in = t->out = -1;
    *how = (kiln_transport_end){.kind = KILN_TRANSPORT_GONE};
    (void)snprintf(how->text, sizeof how->text, "the connection was closed%s",
                   has_closed ? " by the other side" : "");
}

static kiln_status check_socket(const char *address, kiln_err *err) {
    kiln_wire_address a;
    return kiln_wire_address_parse(address, &a, err);
}

static const char *const begins[] = {"unix:", "tcp:", NULL};
const kiln_transport_def kiln_transport_socket_def = {.name = "socket",
                                                      .open = open_socket,
                                                      .send = send_socket,
                                                      .end = end_socket,
                                                      .is_far = true,
                                                      .begins = begins,
                                                      .check = check_socket};
