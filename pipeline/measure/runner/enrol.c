/* A runner that listens tells a pool that it is there, again and again (kiln device pool).
 * Between other things: no call here waits. */
#include "pipeline/measure/runner/runner_internal.h"
#include "pipeline/measure/wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t again_ns = 2 * INT64_C(1000000000),
                     beat_ns = 10 * INT64_C(1000000000);

static void hang_up(kiln_enrolment *e) {
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
    e->next_ns = kiln_now_ns() + again_ns;
}

static void call(kiln_enrolment *e) {
    kiln_wire_address a;
    if (kiln_wire_address_parse(e->pool, &a, NULL) != KILN_OK)
        return; /* it was looked at before */
    e->fd = kiln_wire_address_socket(&a);
    if (e->fd < 0)
        return;
    (void)fcntl(e->fd, F_SETFL, fcntl(e->fd, F_GETFL) | O_NONBLOCK);
    if (connect(e->fd, &a.at.any, a.bytes) != 0 && errno != EINPROGRESS)
        hang_up(e);
}

/* What the pool says is its greeting; false: it hung up. */
static bool listen_to(const kiln_enrolment *e) {
    char chunk[512];
    for (int i = 0; i < 16; i++) {
        const ssize_t n = read(e->fd, chunk, sizeof chunk);
        if (n < 0 && errno != EINTR)
            return errno == EAGAIN || errno == ENOTCONN;
        if (n == 0)
            return false;
    }
    return true;
}

static void say(kiln_enrolment *e) {
    kiln_arena scratch = {0};
    kiln_buf out;
    const kiln_wire_register r = {.name = kiln_str_from(e->name),
                                  .address = kiln_str_from(e->address),
                                  .degrees = kiln_heat_degrees()};
    kiln_buf_init(&out, &scratch);
    kiln_wire_put(&out, KILN_WIRE_REGISTER, &r);
    const ssize_t n = send(e->fd, out.p, out.n, MSG_NOSIGNAL);
    if (n == (ssize_t)out.n)
        e->next_ns = kiln_now_ns() + beat_ns;
    else if (n >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN))
        hang_up(e);
    kiln_arena_fini(&scratch);
}

void kiln_enrol(kiln_enrolment *e) {
    if (e->pool == NULL || (e->fd < 0 && kiln_now_ns() < e->next_ns))
        return;
    if (e->fd < 0) {
        call(e);
        e->next_ns = 0;
    }
    if (e->fd >= 0 && !listen_to(e))
        hang_up(e);
    if (e->fd >= 0 && kiln_now_ns() >= e->next_ns)
        say(e);
}
