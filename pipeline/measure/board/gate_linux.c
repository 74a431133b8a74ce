/* One connection: a handshake, then bytes both ways. What strangers send is read here, by
 * a process that may do next to nothing. Linux, for no new privileges. */
#include "base/host/confine.h"
#include "pipeline/measure/board/board_internal.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, LAST_WORDS_MS = 2000, MAX_DATA = 16 << 20 };

typedef struct gate {
    kiln_curve_relay relay;
    int door;
    int two[2]; /* made before the process gives up making any: the runner's, ours */
} gate;

static void limit(int what, rlim_t most) {
    const struct rlimit l = {most, most};
    (void)setrlimit((__rlimit_resource_t)what, &l);
}

/* Where seccomp or Landlock is not to be had the limits hold all the same. */
static void give_up_rights(void) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_DATA, MAX_DATA);
    limit(RLIMIT_NPROC, 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)kiln_confine_paths();
    (void)kiln_confine_sockets();
}

/* The runner's end goes to the runner. */
static int let_in(kiln_curve_relay *r) {
    gate *g = r->user;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char byte = 1;
    struct iovec piece = {&byte, 1};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &g->two[0], sizeof(int));
    if (sendmsg(g->door, &m, MSG_NOSIGNAL) != 1)
        return -1;
    close(g->two[0]);
    close(g->door);
    return g->two[1];
}

/* What was sent last would be lost to a reset if there were anything unread. */
static void say_good_bye(int fd) {
    char rest[512];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    const int64_t until = kiln_now_ns() + LAST_WORDS_MS * INT64_C(1000000);
    (void)shutdown(fd, SHUT_WR);
    while (kiln_now_ns() < until && poll(&p, 1, LAST_WORDS_MS) > 0)
        if (recv(fd, rest, sizeof rest, 0) <= 0)
            return;
}

void kiln_board_gate(const kiln_board *b, int connection, int door) {
    static gate g;
    const int on = 1;
    g.door = door;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, g.two) != 0)
        _exit(1);
    (void)fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) | O_NONBLOCK);
    (void)fcntl(g.two[1], F_SETFL, fcntl(g.two[1], F_GETFL) | O_NONBLOCK);
    (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    g.relay = (kiln_curve_relay){.net = connection,
                                 .plain = -1,
                                 .open = let_in,
                                 .user = &g,
                                 .patience_ms = PATIENCE_MS};
    kiln_curve_serve(&g.relay.session, &b->pair, &b->allowed);
    give_up_rights();
    const kiln_status st = kiln_curve_pass(&g.relay, NULL);
    if (st == KILN_OK)
        say_good_bye(connection);
    kiln_curve_end(&g.relay.session);
    _exit(st == KILN_OK ? 0 : 1);
}
