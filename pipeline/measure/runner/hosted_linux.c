/* Networks of who is behind a socket. Nothing is shared with them: a network comes as
 * blobs, which are put into memory here as who shares it would have. Several may be open,
 * and the connection is none of theirs: their code could say on it whatever it likes, for
 * all of them. So each has pipes to this process, which passes on one question at a time
 * and one answer to it, and keeps the lease meanwhile.
 *
 * Linux, for memory without a name and close_range. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FREE_FD = 10, END_MS = 1000 };
static const uint64_t most_bytes = UINT64_C(64) << 30; /* of a network */

/* ---- ends ------------------------------------------------------------------------- */

static void forget(kiln_runner *r, kiln_hosted *h) {
    close(h->to);
    close(h->from);
    kiln_region_close(&h->page);
    kiln_arena_fini(&h->arena);
    *h = (kiln_hosted){.pid = 0};
    r->n_hosted--;
    if (r->n_hosted == 0) /* of those that could not be confined */
        (void)kiln_trial_end_strays();
}

static void end(kiln_runner *r, kiln_hosted *h) {
    if (h->pid == 0)
        return;
    (void)kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    forget(r, h);
}

static kiln_status tell_end(kiln_runner *r, kiln_arena *a, uint32_t number,
                            const char *how, kiln_err *err) {
    const kiln_wire_ended ended = {.text = kiln_str_from(how), .guest = number};
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_wire_put(&text, KILN_WIRE_ENDED, &ended);
    return kiln_wire_write(r->peer.out, kiln_buf_str(&text), err);
}

/* It closed its pipe: it has ended, or is about to. */
static int wait_for(int pid) {
    const struct timespec tick = {.tv_nsec = 1000000};
    int status = 0;
    for (int ms = 0; ms < END_MS; ms++) {
        const pid_t got = waitpid((pid_t)pid, &status, WNOHANG);
        if (got == (pid_t)pid)
            return status;
        (void)nanosleep(&tick, NULL);
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static kiln_status is_gone(kiln_runner *r, kiln_arena *a, uint32_t number,
                           kiln_err *err) {
    kiln_hosted *h = &r->hosted[number];
    const int status = wait_for(h->pid);
    const char *how = kiln_guest_end(a, (kiln_page *)(void *)h->page.data, status);
    const bool is_told = h->was_refused && how[0] == '\0';
    forget(r, h);
    return is_told
               ? KILN_OK
               : tell_end(r, a, number, how[0] != '\0' ? how : "ended by itself", err);
}

/* ---- opening ---------------------------------------------------------------------- */

static kiln_status check(const kiln_wire_network *n, kiln_err *err) {
    uint64_t end = 0;
    if (n->folder.n > 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a network from elsewhere is in no folder here");
    if (n->driver.n > 0)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "a network from elsewhere gets no device with a driver: nothing "
            "of it could be confined");
    for (uint32_t i = 0; i < n->n_parts; i++) {
        if (n->part[i].bytes == 0)
            return kiln_fail(err, KILN_ERR_PARSE, "a network's part has no bytes");
        end = kiln_wire_part_at(end) + n->part[i].bytes;
        if (end > most_bytes)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "a network may have at most %" PRIu64 " bytes",
                             most_bytes);
    }
    return KILN_OK;
}

static kiln_status write_part(int fd, const kiln_wire_blob *b, uint64_t at,
                              kiln_err *err) {
    const char *from = b->data;
    for (uint64_t done = 0; done < b->bytes;) {
        const ssize_t n =
            pwrite(fd, from + done, (size_t)(b->bytes - done), (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return kiln_fail(err, KILN_ERR_OOM, "no memory for a network: %s",
                             strerror(errno));
        done += (uint64_t)n;
    }
    return KILN_OK;
}

/* In one piece, to be read only: what is kept for the next network is not in it. */
static kiln_status share(kiln_runner *r, kiln_arena *a, const kiln_wire_network *n,
                         int *read_fd, kiln_err *err) {
    kiln_wire_blob **want = kiln_array(a, kiln_wire_blob *, n->n_parts);
    uint64_t end = 0;
    int write_fd;
    bool asked;
    for (uint32_t i = 0; i < n->n_parts; i++)
        want[i] = &n->part[i];
    KILN_TRY(kiln_blobs_fetch(&r->blobs, &r->peer, want, n->n_parts, &asked, err));
    KILN_TRY(kiln_shared_open(&write_fd, read_fd, err));
    kiln_status st = KILN_OK;
    for (uint32_t i = 0; i < n->n_parts && st == KILN_OK; i++) {
        end = kiln_wire_part_at(end);
        st = write_part(write_fd, &n->part[i], end, err);
        end += n->part[i].bytes;
    }
    close(write_fd);
    if (st != KILN_OK)
        close(*read_fd);
    return st;
}

/* As if it had been started for this alone: pipes, and what is shared. */
static void child(kiln_runner *r, const kiln_wire_frame *f, kiln_page *page,
                  pid_t parent, const int *fd) {
    int high[3];
    for (int i = 0; i < 3; i++)
        high[i] = fcntl(fd[i], F_DUPFD, FIRST_FREE_FD);
    if (dup2(high[0], STDIN_FILENO) < 0 || dup2(high[1], STDOUT_FILENO) < 0 ||
        dup2(high[2], KILN_WIRE_SHARED_FD) < 0)
        _exit(1);
    (void)close_range(KILN_WIRE_SHARED_FD + 1, ~0U, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    r->peer = (kiln_wire_peer){.in = STDIN_FILENO, .out = STDOUT_FILENO};
    r->peer.stream.arena = &r->arena;
    r->lease_fd = -1;
    r->page = page;
    kiln_guest_be(r, f, (int)parent);
}

static kiln_status start(kiln_runner *r, kiln_hosted *h, const kiln_wire_frame *f,
                         int shared, kiln_err *err) {
    const pid_t self = getpid();
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    pid_t pid = -1;
    (void)signal(SIGPIPE, SIG_IGN); /* a process that has ended takes no question */
    if (pipe(to) == 0 && pipe(from) == 0)
        pid = fork();
    if (pid == 0) {
        const int fd[] = {to[0], from[1], shared};
        child(r, f, (kiln_page *)(void *)h->page.data, self, fd);
    }
    const int error = errno;
    for (int i = 0; i < 2; i++) {
        if (to[i] >= 0 && (i == 0 || pid < 0))
            close(to[i]);
        if (from[i] >= 0 && (i == 1 || pid < 0))
            close(from[i]);
    }
    if (pid < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot fork: %s", strerror(error));
    h->pid = (int)pid;
    h->to = to[1];
    h->from = from[0];
    h->in.arena = &h->arena;
    h->is_asked = true;
    r->n_hosted++;
    return KILN_OK;
}

kiln_status kiln_hosted_open(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                             kiln_err *err) {
    /* The way in is used again when parts come. */
    const kiln_wire_frame own = {f->kind,
                                 {kiln_arena_dup(a, f->body.p, f->body.n), f->body.n}};
    char why[KILN_CONFINE_TEXT];
    kiln_wire_network n;
    int shared = -1;
    KILN_TRY(kiln_wire_get(a, &own, &n, err));
    KILN_TRY(check(&n, err));
    kiln_hosted *h = &r->hosted[n.guest];
    end(r, h);
    KILN_TRY(share(r, a, &n, &shared, err));
    r->is_confined = r->is_confined || kiln_confine_works(why);
    kiln_status st = kiln_region_open(sizeof(kiln_page), true, &h->page, err);
    if (st == KILN_OK)
        st = start(r, h, &own, shared, err);
    if (st != KILN_OK)
        kiln_region_close(&h->page);
    close(shared);
    return st;
}

/* ---- questions and answers -------------------------------------------------------- */

/* Ahead of timed runs, as long as the clock is held back, for a while: a board that stays
 * too warm is measured as it is, and every turn says so. */
static void cool_down(kiln_runner *r) {
    static const int64_t longest_ns = 2000000000;
    const struct timespec rest = {.tv_nsec = 20000000};
    const int64_t begin = kiln_now_ns();
    if (!r->has_heat)
        kiln_heat_begin(&r->heat, (int)r->options.cpu);
    r->has_heat = true;
    bool is_throttled = kiln_heat_read(&r->heat).is_throttled;
    if (!is_throttled)
        r->cooled_ns = 0;
    while (is_throttled && r->cooled_ns + kiln_now_ns() - begin < longest_ns) {
        (void)nanosleep(&rest, NULL);
        is_throttled = kiln_heat_read(&r->heat).is_throttled;
    }
    r->cooled_ns += kiln_now_ns() - begin;
}

/* What the machine says of itself behind them: the guest, who cannot look, is not asked. */
static void tell_heat(kiln_runner *r, kiln_wire_told *told) {
    const kiln_heat_reading now = kiln_heat_read(&r->heat);
    told->clock_mhz = now.clock_mhz;
    told->degrees = now.degrees;
    told->is_throttled = now.is_throttled;
}

kiln_status kiln_hosted_ask(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                            kiln_buf *answer, kiln_err *err) {
    kiln_wire_ask q;
    KILN_TRY(kiln_wire_get(a, f, &q, err));
    kiln_hosted *h = &r->hosted[q.guest];
    if (h->pid == 0) /* that was told */
        return KILN_OK;
    if (q.what == KILN_ASK_END) {
        const kiln_wire_ended ended = {.text = KILN_STR_LIT("was closed"),
                                       .guest = q.guest};
        end(r, h);
        kiln_wire_put(answer, KILN_WIRE_ENDED, &ended);
        return KILN_OK;
    }
    if (q.what != KILN_ASK_STOP && h->is_asked)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "network %" PRIu32 " is asked before it has answered",
                         q.guest);
    kiln_buf question;
    kiln_buf_init(&question, a);
    kiln_wire_put(&question, KILN_WIRE_ASK, &q);
    h->is_asked = h->is_asked || q.what != KILN_ASK_STOP;
    if (q.what != KILN_ASK_STOP)
        h->is_timed = q.what == KILN_ASK_TURN && q.runs > 0;
    if (q.what == KILN_ASK_TURN && q.runs > 0)
        cool_down(r);
    (void)kiln_wire_write(h->to, kiln_buf_str(&question), NULL); /* else it is gone */
    return KILN_OK;
}

/* An answer that was asked for, and nothing else: it may be anybody's bytes. */
static kiln_status pass_on(kiln_runner *r, kiln_arena *a, uint32_t number,
                           const kiln_wire_frame *f, bool *makes_sense, kiln_err *err) {
    kiln_hosted *h = &r->hosted[number];
    kiln_wire_told told;
    kiln_buf answer;
    *makes_sense = h->is_asked &&
                   kiln_wire_expect(a, f, KILN_WIRE_TOLD, &told, NULL) == KILN_OK &&
                   told.guest == number;
    if (!*makes_sense)
        return KILN_OK;
    if (!h->has_begun)
        h->was_refused = told.problem.n > 0;
    h->has_begun = true;
    h->is_asked = false;
    told.clock_mhz = told.degrees = told.is_throttled = 0;
    if (h->is_timed && r->has_heat)
        tell_heat(r, &told);
    h->is_timed = false;
    kiln_buf_init(&answer, a);
    kiln_wire_put(&answer, KILN_WIRE_TOLD, &told);
    return kiln_wire_write(r->peer.out, kiln_buf_str(&answer), err);
}

static kiln_status take(kiln_runner *r, kiln_arena *a, uint32_t number, kiln_err *err) {
    kiln_hosted *h = &r->hosted[number];
    bool has = true, makes_sense = true;
    size_t room;
    unsigned char *to = kiln_wire_stream_room(&h->in, &room);
    const ssize_t n = read(h->from, to, room);
    if (n < 0 && errno == EINTR)
        return KILN_OK;
    if (n <= 0)
        return is_gone(r, a, number, err);
    h->in.n += (size_t)n;
    while (has && makes_sense) {
        kiln_wire_frame f;
        makes_sense = kiln_wire_next(&h->in, &has, &f, NULL) == KILN_OK;
        if (makes_sense && has)
            KILN_TRY(pass_on(r, a, number, &f, &makes_sense, err));
    }
    if (makes_sense)
        return KILN_OK;
    end(r, h);
    return tell_end(r, a, number, "was ended: it said what makes no sense", err);
}

static kiln_status take_all(kiln_runner *r, const struct pollfd *fd, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    for (uint32_t i = 0; i < KILN_WIRE_MAX_GUESTS && st == KILN_OK; i++) {
        if (fd[i].revents != 0)
            st = take(r, &scratch, i, err);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_hosted_wait(kiln_runner *r, int64_t wait_ms, kiln_err *err) {
    enum { LONGEST_MS = 1000000 };
    const int64_t end_ns = kiln_now_ns() + wait_ms * 1000000;
    bool is_heard = r->peer.stream.n > r->peer.stream.used;
    while (r->n_hosted > 0 && !is_heard) {
        struct pollfd fd[KILN_WIRE_MAX_GUESTS + 1];
        const int64_t left_ms = (end_ns - kiln_now_ns()) / 1000000;
        if (left_ms < 0)
            return kiln_fail(err, KILN_ERR_IO, "nothing came for %" PRId64 " ms",
                             wait_ms);
        for (int i = 0; i < KILN_WIRE_MAX_GUESTS; i++)
            fd[i] = (struct pollfd){
                .fd = r->hosted[i].pid != 0 ? r->hosted[i].from : -1, .events = POLLIN};
        fd[KILN_WIRE_MAX_GUESTS] = (struct pollfd){.fd = r->peer.in, .events = POLLIN};
        if (poll(fd, KILN_WIRE_MAX_GUESTS + 1,
                 left_ms < LONGEST_MS ? (int)left_ms + 1 : LONGEST_MS) <= 0)
            continue;
        KILN_TRY(take_all(r, fd, err));
        is_heard = fd[KILN_WIRE_MAX_GUESTS].revents != 0;
    }
    return KILN_OK;
}
