/* The fleet's thread: moves bytes between queues and workers, watches the clock. */
#include "pipeline/measure/measure_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WAIT_MS = 1000, FDS_OF_ONE = 3 };
/* At one go: who talks, or takes, without end does not keep the others waiting. */
enum { MOST_READS = 64, MOST_WRITES = 64 };

void kiln_fleet_wake(kiln_measure *m) {
    const ssize_t n = write(m->wake[1], "", 1);
    (void)n; /* full: it will wake anyway */
}

/* ---- one worker's bytes ---------------------------------------------------------- */

static void keep_log(kiln_worker *w, const char *p, size_t n) {
    if (n > sizeof w->log) {
        p += n - sizeof w->log;
        n = sizeof w->log;
    }
    if (w->n_log + n > sizeof w->log) {
        const size_t gone = w->n_log + n - sizeof w->log;
        memmove(w->log, w->log + gone, w->n_log - gone);
        w->n_log -= gone;
    }
    memcpy(w->log + w->n_log, p, n);
    w->n_log += n;
}

/* At its end it is closed: a pipe that hung up would wake us again and again. */
static void read_log(kiln_worker *w) {
    char chunk[4096];
    if (w->t.log < 0)
        return;
    for (int i = 0; i < 16; i++) { /* one that writes for ever does not keep us here */
        const ssize_t n = read(w->t.log, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(w->t.log);
            w->t.log = -1;
            return;
        }
        keep_log(w, chunk, (size_t)n);
    }
}

static bool has_more(const kiln_worker *w) {
    return w->out_at < w->out.n || w->asked_first < w->asked.n;
}

static void write_out(kiln_worker *w) {
    for (int i = 0; i < MOST_WRITES && has_more(w); i++) {
        if (w->out_at == w->out.n) {
            w->out.n = w->out_at = 0;
            kiln_worker_give_piece(w);
        }
        const ssize_t n =
            w->t.def->send(&w->t, w->out.p + w->out_at, w->out.n - w->out_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* it reads no more: its output, or the clock, will say so */
            w->asked.n = w->asked_first = w->out.n = w->out_at = 0;
            return;
        }
        w->out_at += (size_t)n;
    }
    if (!has_more(w))
        w->out.n = w->out_at = 0;
}

static bool take_frames(kiln_measure *m, kiln_worker *w, kiln_err *err) {
    for (;;) {
        bool has;
        kiln_wire_frame f;
        if (kiln_wire_next(&w->in, &has, &f, err) != KILN_OK)
            return false;
        if (!has)
            return true;
        if (!kiln_worker_take(m, w, &f, err))
            return false;
    }
}

static void read_in(kiln_measure *m, kiln_worker *w) {
    kiln_err err = {.len = 0};
    for (int i = 0; i < MOST_READS; i++) {
        size_t room;
        unsigned char *to = kiln_wire_stream_room(&w->in, &room);
        const ssize_t n = read(w->t.in, to, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            read_log(w);
            kiln_worker_lost(m, w, NULL, false);
            return;
        }
        w->in.n += (size_t)n;
        if (!take_frames(m, w, &err)) {
            kiln_worker_lost(m, w, err.text, false);
            return;
        }
    }
}

/* ---- the loop -------------------------------------------------------------------- */

static bool is_up(const kiln_worker *w) { return w->state != KILN_WORKER_DOWN; }

static void look_at_clock(kiln_measure *m) {
    const int64_t now = kiln_now_ns();
    for (int i = 0; i < m->n_workers; i++) {
        kiln_worker *w = &m->worker[i];
        if (is_up(w) && w->state != KILN_WORKER_IDLE && now >= w->deadline_ns)
            kiln_worker_lost(m, w, "it had no answer in time", true);
        else if (w->is_runner && w->state == KILN_WORKER_IDLE && now >= w->lease_end_ns)
            kiln_worker_lost(m, w, "it was not heard of within its lease", false);
    }
}

static int wait_ms(const kiln_measure *m) {
    const int64_t now = kiln_now_ns();
    int64_t end = INT64_MAX;
    for (int i = 0; i < m->n_workers; i++) {
        const kiln_worker *w = &m->worker[i];
        const int64_t next = !is_up(w)                      ? w->retry_ns
                             : w->state != KILN_WORKER_IDLE ? w->deadline_ns
                                                            : INT64_MAX;
        /* What is to be started already waits for something else. */
        if (next < end && (is_up(w) || next > now))
            end = next;
    }
    const int64_t left = end == INT64_MAX ? INT64_MAX : (end - now) / 1000000;
    return left < 0 ? 0 : left < MAX_WAIT_MS ? (int)left + 1 : MAX_WAIT_MS;
}

static nfds_t list_fds(kiln_measure *m, struct pollfd *fd) {
    nfds_t n = 0;
    fd[n++] = (struct pollfd){.fd = m->wake[0], .events = POLLIN};
    for (int i = 0; i < m->n_workers; i++) {
        kiln_worker *w = &m->worker[i];
        const bool writes = is_up(w) && has_more(w);
        fd[n++] = (struct pollfd){.fd = is_up(w) ? w->t.in : -1, .events = POLLIN};
        fd[n++] = (struct pollfd){.fd = is_up(w) ? w->t.log : -1, .events = POLLIN};
        fd[n++] = (struct pollfd){.fd = writes ? w->t.out : -1, .events = POLLOUT};
    }
    return n;
}

static void serve(kiln_measure *m, const struct pollfd *fd) {
    char chunk[256];
    while (fd[0].revents != 0 && read(m->wake[0], chunk, sizeof chunk) > 0)
        ;
    for (int i = 0; i < m->n_workers; i++) {
        kiln_worker *w = &m->worker[i];
        const struct pollfd *own = fd + 1 + (size_t)i * FDS_OF_ONE;
        if (is_up(w) && own[1].revents != 0)
            read_log(w);
        if (is_up(w) && own[2].revents != 0)
            write_out(w);
        if (is_up(w) && own[0].revents != 0)
            read_in(m, w);
    }
}

static void end_all(kiln_measure *m) {
    for (int i = 0; i < m->n_workers; i++) {
        kiln_transport_end how;
        if (is_up(&m->worker[i]))
            m->worker[i].t.def->end(&m->worker[i].t, false, &how);
        kiln_arena_fini(&m->worker[i].arena);
    }
}

void *kiln_fleet_main(void *measure) {
    kiln_measure *m = measure;
    struct pollfd fd[1 + KILN_MAX_WORKERS * FDS_OF_ONE];
    kiln_cpus_use(&m->building);
    pthread_mutex_lock(&m->lock);
    while (!m->is_closing) {
        kiln_fleet_dispatch(m);
        for (int i = 0; i < m->n_workers; i++)
            if (is_up(&m->worker[i]))
                write_out(&m->worker[i]);
        const nfds_t n = list_fds(m, fd);
        const int ms = wait_ms(m);
        pthread_mutex_unlock(&m->lock);
        const int got = poll(fd, n, ms);
        pthread_mutex_lock(&m->lock);
        m->stats.wakes++;
        if (got > 0)
            serve(m, fd);
        look_at_clock(m);
    }
    end_all(m);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}
