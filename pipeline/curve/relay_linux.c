/* Bytes both ways: what is plain on this side, sealed on the other. Reads no more than it
 * can pass on: who is slow makes the other side wait, and memory does not grow. Linux, for
 * POLLRDHUP. */
#include "pipeline/curve/curve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_later(int error) { return error == EAGAIN || error == EINTR; }

/* As far as it goes. False: nobody reads it any more. */
static bool flush(int fd, const unsigned char *p, size_t *at, size_t *n) {
    while (*at < *n) {
        const ssize_t done = send(fd, p + *at, *n - *at, MSG_NOSIGNAL);
        if (done < 0)
            return is_later(errno);
        *at += (size_t)done;
    }
    *at = *n = 0;
    return true;
}

/* What the session makes of what is here; stops where what it gives has no room. */
static kiln_status digest(kiln_curve_relay *r, kiln_err *err) {
    kiln_curve_event e = {.what = KILN_CURVE_SENDS};
    while (e.what != KILN_CURVE_WANTS && r->n_net == 0 && r->n_plain == 0) {
        KILN_TRY(kiln_curve_next(&r->session, &e, err));
        unsigned char *to = e.what == KILN_CURVE_SENDS ? r->to_net : r->to_plain;
        if (e.what != KILN_CURVE_WANTS)
            memcpy(to, e.bytes.p, e.bytes.n);
        if (e.what == KILN_CURVE_SENDS)
            r->n_net = e.bytes.n;
        else if (e.what == KILN_CURVE_GIVES)
            r->n_plain = e.bytes.n;
        if (r->session.step == KILN_CURVE_OPEN && !r->is_open) {
            r->is_open = true;
            if (r->open != NULL)
                r->plain = r->open(r);
            if (r->plain < 0)
                return kiln_fail(err, KILN_ERR_IO, "curve: nobody is there to serve");
        }
    }
    return KILN_OK;
}

/* Notes why not. */
static bool goes_on(kiln_curve_relay *r, ssize_t n) {
    const int error = errno;
    if (n > 0 || (n < 0 && is_later(error)))
        return true;
    r->error = n < 0 ? error : 0;
    return false;
}

/* False: the other end has ended. */
static bool read_net(kiln_curve_relay *r) {
    size_t room;
    unsigned char *to = kiln_curve_room(&r->session, &room);
    const ssize_t n = recv(r->net, to, room, 0);
    if (n > 0)
        r->session.n_in += (size_t)n;
    return goes_on(r, n);
}

static bool read_plain(kiln_curve_relay *r) {
    const ssize_t n = recv(r->plain, r->from_plain, sizeof r->from_plain, 0);
    if (n > 0)
        r->n_net = kiln_curve_seal(&r->session, r->from_plain, (size_t)n, r->to_net);
    return goes_on(r, n);
}

static kiln_status too_late(kiln_err *err) {
    return kiln_fail(err, KILN_ERR_IO, "curve: no handshake within its time");
}

static struct pollfd watch(int fd, bool reads, bool writes, bool until_end) {
    const int events =
        (reads ? POLLIN : 0) | (writes ? POLLOUT : 0) | (until_end ? POLLRDHUP : 0);
    /* Of what nothing is wanted, an end would be told again and again. */
    return (struct pollfd){.fd = events != 0 ? fd : -1, .events = (short)events};
}

/* Reads where there is room, what the last words of a side that ends are too. */
static bool hear(kiln_curve_relay *r, const struct pollfd *net,
                 const struct pollfd *plain) {
    const int some = POLLIN | POLLHUP | POLLERR;
    if ((net->revents & some) != 0 && r->n_net == 0 && r->n_plain == 0 && !read_net(r))
        return false;
    if (!r->is_open || r->n_net > 0 || (plain->revents & some) == 0)
        return true;
    return read_plain(r);
}

/* One turn. *ended: either side has. */
static kiln_status turn(kiln_curve_relay *r, int64_t until_ns, bool *ended,
                        kiln_err *err) {
    KILN_TRY(digest(r, err));
    const int64_t left_ms = (until_ns - kiln_now_ns()) / 1000000;
    if (!r->is_open && left_ms <= 0)
        return too_late(err);
    const bool hears = r->n_net == 0 && r->n_plain == 0;
    /* A server's work for who has gone ends at once; before a session is open nothing is
     * read on this side, but it may be given up. */
    const bool is_server = r->session.is_server;
    struct pollfd fd[] = {
        watch(r->net, hears, r->n_net > 0, is_server),
        watch(r->plain, r->n_net == 0 && r->is_open, r->n_plain > 0, !r->is_open)};
    if (poll(fd, 2, r->is_open ? -1 : (int)left_ms + 1) < 0)
        return KILN_OK;
    *ended = (is_server && (fd[0].revents & POLLRDHUP) != 0) ||
             (!r->is_open && (fd[1].revents & POLLRDHUP) != 0) ||
             !flush(r->net, r->to_net, &r->at_net, &r->n_net) ||
             !flush(r->plain, r->to_plain, &r->at_plain, &r->n_plain) ||
             !hear(r, &fd[0], &fd[1]);
    return KILN_OK;
}

kiln_status kiln_curve_pass(kiln_curve_relay *r, kiln_err *err) {
    const int64_t until = kiln_now_ns() + r->patience_ms * 1000000;
    bool ended = false;
    r->is_open = false;
    r->error = 0;
    r->n_net = r->at_net = r->n_plain = r->at_plain = 0;
    while (!ended)
        KILN_TRY(turn(r, until, &ended, err));
    if (r->session.step != KILN_CURVE_OPEN)
        return kiln_fail(err, KILN_ERR_IO,
                         "curve: the other end closed the connection");
    return KILN_OK;
}
