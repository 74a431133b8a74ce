/* A process of our own, or behind a socket, that answers under time limits. It may hang,
 * crash, or say anything. */
#include "pipeline/talk/talk.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/measure/wire/transport.h"

enum {
    MAX_LINE = 1 << 20,
    TAIL = 600, /* of what it complained of */
    TICK_MS = 100,
    WIDE = 1 << 20 /* of a pipe */
};

struct kiln_talk {
    kiln_transport t;
    bool is_open; /* else it has ended */
    kiln_talk_options o;
    int64_t interrupted_ns; /* when it was seen; 0: not yet */
    const char *called;     /* "the process 'kiln-runner'", "the runner at ..." */
    char tail[TAIL + 1];
    size_t n_tail;
    char line[MAX_LINE];
    size_t n_line;
    char end[256]; /* how it ended */
};

static void end_child(void *talk) { kiln_talk_end(talk); }

void kiln_talk_end(kiln_talk *t) {
    kiln_transport_end how;
    if (t->is_open)
        t->t.def->end(&t->t, false, &how);
    t->is_open = false;
}

bool kiln_talk_is_there(const kiln_talk *t) { return t->is_open; }

static kiln_status open_it(kiln_arena *a, kiln_talk *t, kiln_talk **out,
                           kiln_err *err) {
    KILN_TRY(t->t.def->open(&t->t, err));
    t->is_open = true;
    kiln_arena_defer(a, end_child, t);
    *out = t;
    return KILN_OK;
}

kiln_status kiln_talk_open(kiln_arena *a, const char *const *argv,
                           const kiln_talk_options *o, kiln_talk **out, kiln_err *err) {
    const kiln_cpus any = {.n = 0};
    kiln_talk *t = kiln_new(a, kiln_talk);
    t->called = kiln_format(a, "the process '%s'", kiln_path_base(argv[0]));
    t->o = *o;
    kiln_transport_child(&t->t, argv, &any, t->called);
    t->t.shared = o->shared;
    KILN_TRY(open_it(a, t, out, err));
    if (o->is_wide)
        kiln_pipe_widen(t->t.in, WIDE);
    return KILN_OK;
}

kiln_status kiln_talk_connect(kiln_arena *a, const char *address,
                              const kiln_talk_options *o, kiln_talk **out,
                              kiln_err *err) {
    kiln_talk *t = kiln_new(a, kiln_talk);
    t->called = kiln_format(a, "the runner at %s", address);
    t->o = *o;
    kiln_transport_elsewhere(&t->t, kiln_str_dup(a, address), t->called);
    return open_it(a, t, out, err);
}

/* ---- pipes ----------------------------------------------------------------------- */

/* A write to somebody who died would raise SIGPIPE, and kiln has no handler of it. */
static ssize_t write_quietly(kiln_transport *to, const char *p, size_t n) {
    const struct timespec now = {.tv_sec = 0};
    sigset_t broken, old, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    (void)sigpending(&before);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &old);
    const ssize_t done = to->def->send(to, p, n);
    const int error = errno;
    if (done < 0 && error == EPIPE && sigismember(&before, SIGPIPE) != 1)
        (void)sigtimedwait(&broken, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return done;
}

/* Keeps the end of what comes. */
static void read_complaints(kiln_talk *t, int log) {
    char piece[TAIL];
    while (log >= 0) {
        const ssize_t got = read(log, piece, sizeof piece);
        if (got <= 0)
            return;
        const size_t n = (size_t)got;
        const size_t keep = t->n_tail + n > TAIL ? TAIL - n : t->n_tail;
        memmove(t->tail, t->tail + t->n_tail - keep, keep);
        memcpy(t->tail + keep, piece, n);
        t->n_tail = keep + n;
    }
}

/* Its last words, printable. */
static const char *complaint(kiln_talk *t, kiln_arena *a) {
    const kiln_str said = kiln_str_trim((kiln_str){t->tail, t->n_tail});
    char *text = kiln_str_dupv(a, said);
    for (char *c = text; *c != '\0'; c++)
        if (*c != '\n' && (*c < ' ' || *c > '~'))
            *c = '?';
    return said.n == 0 ? "" : kiln_format(a, "; it said last:\n%s", text);
}

static kiln_status ended(kiln_talk *t, kiln_arena *a, kiln_err *err) {
    kiln_transport_end how;
    const int log = t->t.log;
    t->t.log = -1; /* there is more to be read when it is over */
    t->t.def->end(&t->t, true, &how);
    t->is_open = false;
    read_complaints(t, log);
    if (log >= 0)
        close(log);
    if (how.kind == KILN_TRANSPORT_GONE)
        (void)snprintf(t->end, sizeof t->end, "is gone: %s", how.text);
    else if (!how.by_itself)
        (void)snprintf(t->end, sizeof t->end, "closed its pipe and did not end");
    else if (how.kind == KILN_TRANSPORT_SIGNAL)
        (void)snprintf(t->end, sizeof t->end, "was ended by signal %d", how.code);
    else
        (void)snprintf(t->end, sizeof t->end, "ended with code %d", how.code);
    return kiln_fail(err, KILN_ERR_LIB, "%s %s%s", t->called, t->end, complaint(t, a));
}

static kiln_status give_up(kiln_talk *t, const char *why, kiln_err *err) {
    (void)snprintf(t->end, sizeof t->end, "%s", why);
    kiln_talk_end(t);
    return kiln_fail(err, KILN_ERR_LIB, "%s %s", t->called, why);
}

/* ---- one question ---------------------------------------------------------------- */

static bool is_too_late(kiln_talk *t) {
    if (!kiln_interrupted())
        return false;
    if (t->interrupted_ns == 0)
        t->interrupted_ns = kiln_now_ns();
    return kiln_now_ns() - t->interrupted_ns >= t->o.grace_ms * 1000000;
}

/* Waits until it takes (`writes`) or gives something; reads complaints meanwhile. */
static kiln_status wait_for(kiln_talk *t, bool writes, int64_t deadline_ns,
                            kiln_err *err) {
    for (;;) {
        struct pollfd fd[] = {
            {.fd = writes ? t->t.out : t->t.in, .events = writes ? POLLOUT : POLLIN},
            {.fd = t->t.log, .events = POLLIN}};
        const int64_t left_ms = (deadline_ns - kiln_now_ns()) / 1000000 + 1;
        if (left_ms <= 0)
            break;
        (void)poll(fd, 2, left_ms < TICK_MS ? (int)left_ms : TICK_MS);
        read_complaints(t, t->t.log);
        if (fd[0].revents != 0)
            return KILN_OK;
        if (t->o.tick != NULL)
            t->o.tick(t->o.user);
        if (is_too_late(t))
            return give_up(t, "was ended: interrupted", err);
        if ((fd[1].revents & POLLHUP) != 0) { /* poll would not wait any more */
            const struct timespec tick = {.tv_nsec = 1000000};
            (void)nanosleep(&tick, NULL);
        }
    }
    return t->o.outlives_silence
               ? kiln_fail(err, KILN_ERR_LIB, "%s did not answer in time", t->called)
               : give_up(t, "did not answer in time and was ended", err);
}

static kiln_status is_there(const kiln_talk *t, kiln_err *err) {
    return t->is_open ? KILN_OK
                      : kiln_fail(err, KILN_ERR_LIB, "%s %s before", t->called, t->end);
}

kiln_status kiln_talk_send(kiln_talk *t, kiln_arena *a, kiln_str bytes,
                           int64_t deadline_ns, kiln_err *err) {
    KILN_TRY(is_there(t, err));
    while (bytes.n > 0) {
        const ssize_t n = write_quietly(&t->t, bytes.p, bytes.n);
        if (n >= 0)
            bytes = (kiln_str){bytes.p + n, bytes.n - (size_t)n};
        else if (errno != EAGAIN && errno != EINTR)
            /* Elsewhere its last words may be on their way: reading will tell. */
            return t->t.def->is_far ? KILN_OK : ended(t, a, err);
        else
            KILN_TRY(wait_for(t, true, deadline_ns, err));
    }
    return KILN_OK;
}

kiln_status kiln_talk_read(kiln_talk *t, kiln_arena *a, void *to, size_t room,
                           int64_t deadline_ns, size_t *got, kiln_err *err) {
    KILN_ASSERT(room > 0, "nothing is read into no room");
    KILN_TRY(is_there(t, err));
    for (;;) {
        KILN_TRY(wait_for(t, false, deadline_ns, err));
        const ssize_t n = read(t->t.in, to, room);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            return ended(t, a, err);
        *got = (size_t)n;
        return KILN_OK;
    }
}

kiln_status kiln_talk_refuse(kiln_talk *t, const char *why, kiln_err *err) {
    return give_up(t, why, err);
}

static kiln_status read_line(kiln_talk *t, kiln_arena *a, int64_t deadline_ns,
                             kiln_str *answer, kiln_err *err) {
    size_t searched = 0;
    for (;;) {
        const char *end = memchr(t->line + searched, '\n', t->n_line - searched);
        searched = t->n_line;
        if (end != NULL) {
            const size_t n = (size_t)(end - t->line);
            *answer = kiln_str_from(kiln_str_dupv(a, (kiln_str){.p = t->line, .n = n}));
            t->n_line -= n + 1;
            memmove(t->line, end + 1, t->n_line);
            return KILN_OK;
        }
        if (t->n_line == MAX_LINE)
            return give_up(t, "answered a megabyte that is no line", err);
        size_t got;
        KILN_TRY(kiln_talk_read(t, a, t->line + t->n_line, MAX_LINE - t->n_line,
                                deadline_ns, &got, err));
        t->n_line += got;
    }
}

kiln_status kiln_talk_ask(kiln_talk *t, kiln_arena *a, kiln_str line, int64_t limit_ms,
                          kiln_str *answer, kiln_err *err) {
    KILN_ASSERT(limit_ms > 0, "an answer is awaited for %" PRId64 " ms", limit_ms);
    KILN_ASSERT(line.n > 0 && memchr(line.p, '\n', line.n) == NULL,
                "a request is one line");
    const int64_t deadline_ns = kiln_now_ns() + limit_ms * 1000000;
    KILN_TRY(kiln_talk_send(t, a, line, deadline_ns, err));
    KILN_TRY(kiln_talk_send(t, a, KILN_STR_LIT("\n"), deadline_ns, err));
    return read_line(t, a, deadline_ns, answer, err);
}
