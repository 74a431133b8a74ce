/* kiln-runner --serve: lent to one connection at a time, which a process of its own
 * serves. Others are told until when.
 *
 * That process, and what it had started, ends with its connection or its lease, whatever
 * it is doing. Linux, for POLLRDHUP and for dying with the parent. */
#include "pipeline/measure/runner/runner_internal.h"
#include "pipeline/measure/wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITE_S = 60, LONGEST_WAIT_MS = 1000 };
/* Until who was lent the runner says for how long; and for the last answer of one whose
 * lease is over. */
static const int64_t first_ns = 25 * INT64_C(1000000000), grace_ns = 2000000000;

typedef struct session {
    pid_t pid; /* 0: it is lent to nobody */
    int connection, notes;
    kiln_lease_note lease;
} session;

static volatile sig_atomic_t asked_to_end;

static void on_end(int number) {
    (void)number;
    asked_to_end = 1;
}

static int complain(const kiln_err *err) {
    (void)fprintf(stderr, "kiln-runner: %s\n", err->text);
    return 5;
}

/* ---- one connection ----------------------------------------------------------------- */

static void serve(int listener, int connection, int notes, const char *machine) {
    const struct timeval most = {.tv_sec = WRITE_S};
    close(listener);
    (void)setpgid(0, 0);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    /* A fleet that reads nothing does not keep us. */
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    _exit(kiln_runner_talk(connection, connection, notes, machine));
}

static void end(session *s) {
    if (s->pid == 0)
        return;
    (void)kill(-s->pid, SIGKILL);
    (void)kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)kiln_trial_end_strays();
    close(s->connection);
    close(s->notes);
    *s = (session){.connection = -1, .notes = -1};
}

static void begin(session *s, int listener, int connection, const char *machine) {
    const pid_t self = getpid();
    int notes[2];
    if (pipe(notes) != 0) {
        close(connection);
        return;
    }
    for (int i = 0; i < 2; i++) /* neither waits for the other */
        (void)fcntl(notes[i], F_SETFL, O_NONBLOCK);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(0);
        close(notes[0]);
        serve(listener, connection, notes[1], machine);
    }
    close(notes[1]);
    if (pid < 0) {
        close(notes[0]);
        close(connection);
        return;
    }
    (void)setpgid(pid, pid); /* as it does itself: whoever is first */
    *s = (session){.pid = pid,
                   .connection = connection,
                   .notes = notes[0],
                   .lease = {.end_ns = kiln_now_ns() + first_ns,
                             .owner = "somebody who has not said yet who they are"}};
}

/* Never waits: who does not read it has had his chance. */
static void refuse(const session *s, int connection) {
    kiln_arena scratch = {0};
    kiln_buf out;
    const kiln_wire_lent lent = {.owner = kiln_str_from(s->lease.owner),
                                 .left_ms =
                                     (s->lease.end_ns - kiln_now_ns()) / 1000000};
    kiln_buf_init(&out, &scratch);
    kiln_wire_put(&out, KILN_WIRE_LENT, &lent);
    (void)send(connection, out.p, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(connection);
    kiln_arena_fini(&scratch);
}

/* What somebody else has let in (kiln_runner_lend); -1: nothing. */
static int receive(int door) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    int fd = -1;
    const ssize_t n = recvmsg(door, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (n == 0) /* nobody is left who would */
        asked_to_end = 1;
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static void take_connection(session *s, int listener, bool is_door,
                            const char *machine) {
    const int connection = is_door ? receive(listener) : accept(listener, NULL, NULL);
    if (connection < 0)
        return;
    if (s->pid != 0)
        refuse(s, connection);
    else
        begin(s, listener, connection, machine);
}

/* False: the process that serves it has ended. */
static bool take_notes(session *s) {
    kiln_lease_note note;
    for (;;) {
        const ssize_t n = read(s->notes, &note, sizeof note);
        if (n == 0)
            return false;
        if (n != (ssize_t)sizeof note)
            return true;
        note.owner[sizeof note.owner - 1] = '\0';
        s->lease = note;
    }
}

static int wait_ms(const session *s) {
    const int64_t left = (s->lease.end_ns + grace_ns - kiln_now_ns()) / 1000000;
    return s->pid == 0              ? LONGEST_WAIT_MS
           : left < 0               ? 0
           : left < LONGEST_WAIT_MS ? (int)left + 1
                                    : LONGEST_WAIT_MS;
}

static void lend(int listener, bool is_door, kiln_enrolment *pool,
                 const char *machine) {
    session s = {.connection = -1, .notes = -1};
    while (asked_to_end == 0) {
        kiln_enrol(pool);
        struct pollfd fd[] = {{.fd = listener, .events = POLLIN},
                              {.fd = s.notes, .events = POLLIN},
                              {.fd = s.connection, .events = POLLRDHUP}};
        if (poll(fd, 3, wait_ms(&s)) < 0)
            continue;
        const bool has_ended = fd[1].revents != 0 && !take_notes(&s);
        if (s.pid != 0 && (has_ended || fd[2].revents != 0 ||
                           kiln_now_ns() > s.lease.end_ns + grace_ns))
            end(&s);
        if (fd[0].revents != 0)
            take_connection(&s, listener, is_door, machine);
    }
    end(&s);
}

static void begin_lending(void) {
    const struct sigaction ask = {.sa_handler = on_end};
    (void)sigaction(SIGTERM, &ask, NULL);
    (void)sigaction(SIGINT, &ask, NULL);
    (void)sigaction(SIGHUP, &ask, NULL);
    kiln_trial_own_strays();
}

void kiln_runner_lend(int door, const char *machine) {
    kiln_enrolment nowhere = {.fd = -1};
    begin_lending();
    lend(door, true, &nowhere, machine);
}

int kiln_runner_listen(const char *address, const char *pool, const char *name,
                       const char *machine) {
    kiln_wire_address a;
    kiln_err err = {.len = 0};
    char text[KILN_WIRE_ADDRESS_TEXT];
    int listener = -1;
    kiln_wire_address to;
    if (kiln_wire_address_parse(address, &a, &err) != KILN_OK ||
        (pool != NULL && kiln_wire_address_parse(pool, &to, &err) != KILN_OK) ||
        kiln_wire_address_listen(&a, &listener, &err) != KILN_OK)
        return complain(&err);
    begin_lending();
    kiln_wire_address_text(&a, text);
    (void)printf("kiln-runner listens on %s\n", text);
    (void)fflush(stdout);
    kiln_enrolment with = {
        .pool = pool, .name = name != NULL ? name : text, .address = text, .fd = -1};
    lend(listener, false, &with, machine);
    if (with.fd >= 0)
        close(with.fd);
    close(listener);
    if (a.at.any.sa_family == AF_UNIX)
        (void)unlink(a.at.local.sun_path);
    return 0;
}
