/* Listens, forks a gate for each connection, and keeps a runner. Linux, for dying with the
 * parent. */
#include "base/host/confine.h"
#include "pipeline/measure/board/board_internal.h"
#include "pipeline/measure/runner/runner.h"
#include "pipeline/measure/wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Gates: strangers hold theirs for the time of a handshake, and no machine has many. */
enum { BACKLOG = 32, MAX_GATES = 64, MAX_OF_ONE = 16, LONGEST_WAIT_MS = 500 };

typedef struct gate {
    pid_t pid; /* 0: none */
    unsigned char from[16];
} gate;

typedef struct server {
    kiln_board *board;
    int listener;
    int door[2]; /* gates write to 0, the runner reads 1 */
    pid_t runner;
    gate gate[MAX_GATES];
} server;

static volatile sig_atomic_t asked_to_end;

static void on_end(int number) {
    (void)number;
    asked_to_end = 1;
}

/* ---- listening ------------------------------------------------------------------- */

static kiln_status listen_at(kiln_wire_address *a, int *out, kiln_err *err) {
    const int on = 1;
    char text[KILN_WIRE_ADDRESS_TEXT];
    const int fd = kiln_wire_address_socket(a);
    kiln_wire_address_text(a, text);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, &a->at.any, a->bytes) != 0 || listen(fd, BACKLOG) != 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
        const int error = errno;
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

/* An address without its port: whose connections are counted together. */
static void from_of(const kiln_wire_address *a, unsigned char from[16]) {
    memset(from, 0, 16);
    if (a->at.any.sa_family == AF_INET6)
        memcpy(from, &a->at.ip6.sin6_addr, 16);
    else
        memcpy(from, &a->at.ip4.sin_addr, 4);
}

/* ---- processes ------------------------------------------------------------------- */

/* In the child; the parent may be gone already. */
static void die_with(pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
}

/* What is not the runner's: above all the secret key. */
static void start_runner(server *s) {
    const pid_t self = getpid();
    s->runner = fork();
    if (s->runner != 0)
        return;
    die_with(self);
    close(s->listener);
    close(s->door[0]);
    kiln_curve_wipe(&s->board->pair, sizeof s->board->pair);
    (void)kiln_confine_paths(); /* it and all that it starts */
    kiln_runner_lend(s->door[1], s->board->machine);
    _exit(0);
}

static gate *free_gate(server *s, const unsigned char from[16]) {
    gate *found = NULL;
    int of_one = 0;
    for (int i = 0; i < MAX_GATES; i++) {
        if (s->gate[i].pid == 0)
            found = &s->gate[i];
        else
            of_one += memcmp(s->gate[i].from, from, 16) == 0;
    }
    return of_one < MAX_OF_ONE ? found : NULL;
}

/* No room for it: it is closed without a word. */
static void take_connection(server *s) {
    kiln_wire_address who = {.bytes = sizeof who.at};
    unsigned char from[16];
    const pid_t self = getpid();
    const int fd = accept(s->listener, &who.at.any, &who.bytes);
    if (fd < 0)
        return;
    from_of(&who, from);
    gate *g = free_gate(s, from);
    const pid_t pid = g != NULL ? fork() : -1;
    if (pid == 0) {
        die_with(self);
        close(s->listener);
        close(s->door[1]);
        kiln_board_gate(s->board, fd, s->door[0]);
    }
    close(fd);
    if (pid > 0) {
        g->pid = pid;
        memcpy(g->from, from, sizeof from);
    }
}

static void reap(server *s) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (int i = 0; i < MAX_GATES; i++)
            if (s->gate[i].pid == pid)
                s->gate[i].pid = 0;
        if (pid == s->runner)
            s->runner = 0;
    }
}

/* The runner ends what it had started before it ends itself. */
static void end_all(server *s) {
    for (int i = 0; i < MAX_GATES; i++)
        if (s->gate[i].pid != 0)
            (void)kill(s->gate[i].pid, SIGKILL);
    if (s->runner > 0)
        (void)kill(s->runner, SIGTERM);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
}

static kiln_status open_door(server *s, kiln_err *err) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->door) == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_IO, "cannot make sockets: %s", strerror(errno));
}

static void tell(const server *s, const kiln_wire_address *a) {
    char text[KILN_WIRE_ADDRESS_TEXT], digits[KILN_CURVE_KEY_TEXT];
    kiln_wire_address_text(a, text);
    kiln_curve_key_text(&s->board->pair.public_key, digits);
    (void)printf("kiln-device listens on %s, its key is %s\n", text, digits);
    (void)fflush(stdout);
}

kiln_status kiln_board_serve(kiln_board *b, kiln_err *err) {
    const struct sigaction ask = {.sa_handler = on_end};
    kiln_wire_address a;
    server s = {.board = b, .listener = -1, .door = {-1, -1}};
    KILN_TRY(kiln_wire_address_parse(b->listen, &a, err));
    if (a.at.any.sa_family == AF_UNIX)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "kiln-device listens on tcp:ADDRESS:PORT; behind a Unix socket "
            "kiln-runner --serve needs no keys");
    KILN_TRY(open_door(&s, err));
    const kiln_status st = listen_at(&a, &s.listener, err);
    if (st == KILN_OK) {
        (void)sigaction(SIGTERM, &ask, NULL);
        (void)sigaction(SIGINT, &ask, NULL);
        (void)sigaction(SIGHUP, &ask, NULL);
        tell(&s, &a);
        while (asked_to_end == 0) {
            struct pollfd p = {.fd = s.listener, .events = POLLIN};
            if (s.runner <= 0)
                start_runner(&s);
            if (poll(&p, 1, LONGEST_WAIT_MS) > 0)
                take_connection(&s);
            reap(&s);
        }
        end_all(&s);
        close(s.listener);
    }
    close(s.door[0]);
    close(s.door[1]);
    return st;
}
