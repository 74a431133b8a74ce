/* Child processes: see process.h. Linux, for wait4 and pidfd_open.
 *
 * The parent prepares all that needs memory (program path, environment); until exec the
 * child makes system calls only (spawn.h). A pipe that exec closes tells how far the
 * child came: end of file is success, else a `report`.
 */
#include "base/host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/host/interrupt.h"
#include "base/host/spawn.h"
#include "base/core/core.h"

enum {
    DEFAULT_OUTPUT_LIMIT = 1024 * 1024,
    CHUNK_BYTES = 64 * 1024, /* what a pipe holds */
    /* How often to look whether the child has ended, where the kernel cannot tell at
     * once (no pidfd_open, before 5.3). */
    TICK_MS = 10,
    LONG_TICK_MS = 1000,
    READ_END = 0,
    WRITE_END = 1
};

typedef enum stage { STAGE_DIR, STAGE_LIMITS, STAGE_STDIO, STAGE_EXEC } stage;

/* What a child that could not become the program says. */
typedef struct report {
    stage stage;
    int error;
} report;

/* One of the child's output streams, read by us. */
typedef struct stream {
    int fd;     /* -1 at the end of file */
    int number; /* of the child's descriptor */
    kiln_buf text;
    bool is_cut;
} stream;

typedef struct run {
    const kiln_process_options *o;
    char *program; /* where argv[0] is */
    char **env;
    int in[2], out[2], err[2], report[2]; /* pipes; -1 once closed */
    sigset_t old_mask;
    pid_t self, pid;
    int pidfd; /* readable once the child has ended; -1: the kernel has none */
    bool timed_out, interrupted;
    kiln_str input;      /* what is still to be written */
    stream streams[2];   /* out, err */
    int64_t deadline_ns; /* INT64_MAX: none */
    int64_t silent_ns; /* since when it has written nothing, or who listens was told */
    size_t output_limit;
} run;

int64_t kiln_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp searches, except that relative parts of PATH are passed over: they would
 * mean the working folder, and nobody wants its files run by accident. NULL when there
 * is none. */
static char *find_program(kiln_arena *a, const char *name) {
    if (strchr(name, '/') != NULL)
        return kiln_str_dup(a, name);
    const char *path = getenv("PATH");
    kiln_str rest = kiln_str_from(path == NULL ? "/usr/local/bin:/usr/bin:/bin" : path);
    kiln_str part;
    while (kiln_str_cut(&rest, ':', &part)) {
        if (!kiln_str_starts(part, "/"))
            continue;
        char *candidate = kiln_format(a, "%.*s/%s", KILN_STR_ARG(part), name);
        if (is_program(candidate))
            return candidate;
    }
    return NULL;
}

static bool has_same_name(const char *a, const char *b) {
    const char *end = strchr(a, '=');
    const size_t n = end == NULL ? strlen(a) : (size_t)(end - a) + 1;
    return strncmp(a, b, n) == 0;
}

/* Ours, with what `added` sets replaced. */
static char **merge_env(kiln_arena *a, const char *const *added) {
    KILN_VEC(char *) merged = {0};
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        bool is_replaced = false;
        for (size_t i = 0; added != NULL && added[i] != NULL; i++)
            is_replaced = is_replaced || has_same_name(added[i], *e);
        if (!is_replaced)
            kiln_vec_push(a, &merged, *e);
    }
    for (size_t i = 0; added != NULL && added[i] != NULL; i++)
        kiln_vec_push(a, &merged, kiln_str_dup(a, added[i]));
    kiln_vec_push(a, &merged, NULL);
    return merged.v;
}

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipe(int fd[2]) {
    close_end(&fd[READ_END]);
    close_end(&fd[WRITE_END]);
}

/* False with errno. */
static bool open_pipes(run *r) {
    return kiln_spawn_pipe(r->in) && kiln_spawn_pipe(r->out) &&
           kiln_spawn_pipe(r->err) && kiln_spawn_pipe(r->report);
}

static void close_pipes(run *r) {
    close_pipe(r->in);
    close_pipe(r->out);
    close_pipe(r->err);
    close_pipe(r->report);
}

/* ---- in the child, until exec: system calls only -------------------------------- */

static void child_fail(const run *r, stage at) {
    const report what = {.stage = at, .error = errno};
    const ssize_t n = write(r->report[WRITE_END], &what, sizeof what);
    (void)n; /* nobody is left to tell */
    _exit(127);
}

static int limit(unsigned resource, uint64_t soft, uint64_t hard) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return -1;
    if (hard < now.rlim_max) /* only root may raise it; a lower one stays */
        now.rlim_max = hard;
    now.rlim_cur = soft < now.rlim_max ? soft : now.rlim_max;
    return setrlimit(resource, &now);
}

static int child_limits(const kiln_process_options *o) {
    if (limit(RLIMIT_CORE, 0, 0) != 0)
        return -1;
    if (o->cpu_limit_s > 0 &&
        limit(RLIMIT_CPU, (uint64_t)o->cpu_limit_s, (uint64_t)o->cpu_limit_s + 1) != 0)
        return -1;
    if (o->data_limit_bytes > 0 &&
        limit(RLIMIT_DATA, o->data_limit_bytes, o->data_limit_bytes) != 0)
        return -1;
    return 0;
}

static void child(const void *arg) {
    const run *r = arg;
    if (!kiln_spawned_begin(r->self, r->in[READ_END], r->out[WRITE_END],
                            r->err[WRITE_END]))
        child_fail(r, STAGE_STDIO);
    if (r->o->dir != NULL && chdir(r->o->dir) != 0)
        child_fail(r, STAGE_DIR);
    if (child_limits(r->o) != 0)
        child_fail(r, STAGE_LIMITS);
    /* exec does not write to argv; its type is older than const. */
    char *const *argv;
    memcpy(&argv, &r->o->argv, sizeof argv);
    execve(r->program, argv, r->env);
    child_fail(r, STAGE_EXEC);
}

/* ---- in the parent --------------------------------------------------------------- */

static void kill_all(pid_t pid) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); /* in case it left its group */
}

/* Waits until the child is the program, or says why not. */
static bool read_report(run *r, report *what) {
    ssize_t n;
    do
        n = read(r->report[READ_END], what, sizeof *what);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *what;
}

/* False with errno ECHILD when somebody else reaped it: a handler, or SIGCHLD is
 * ignored. */
static bool reap(pid_t pid, int *status, struct rusage *usage) {
    pid_t got;
    do
        got = wait4(pid, status, 0, usage);
    while (got < 0 && errno == EINTR);
    return got == pid;
}

static kiln_status start_failed(const run *r, report what, kiln_err *err) {
    const char *program = r->o->argv[0], *reason = strerror(what.error);
    switch (what.stage) {
    case STAGE_DIR:
        return kiln_fail(err, KILN_ERR_IO, "cannot run '%s': cannot enter '%s': %s",
                         program, r->o->dir, reason);
    case STAGE_LIMITS:
        return kiln_fail(err, KILN_ERR_IO, "cannot run '%s': cannot set its limits: %s",
                         program, reason);
    case STAGE_STDIO:
    case STAGE_EXEC:
        break;
    }
    return kiln_fail(err, KILN_ERR_IO, "cannot run '%s': %s", program, reason);
}

static void set_nonblocking(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Begins the child. All signals are blocked meanwhile, so that none of our handlers runs
 * in the child; SIGPIPE stays blocked until the end, for the child may not read what we
 * write. */
static kiln_status start(run *r, kiln_err *err) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &r->old_mask);
    r->self = getpid();
    r->pid = kiln_spawn(child, r);
    const int error = errno;
    sigset_t mask = r->old_mask;
    sigaddset(&mask, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (r->pid < 0)
        return start_failed(r, (report){STAGE_EXEC, error}, err);

    close_end(&r->in[READ_END]);
    close_end(&r->out[WRITE_END]);
    close_end(&r->err[WRITE_END]);
    close_end(&r->report[WRITE_END]);
    report what;
    if (read_report(r, &what)) {
        int status = 0;
        struct rusage usage;
        (void)reap(r->pid, &status, &usage);
        return start_failed(r, what, err);
    }
    r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    set_nonblocking(r->in[WRITE_END]);
    set_nonblocking(r->out[READ_END]);
    set_nonblocking(r->err[READ_END]);
    return KILN_OK;
}

/* The SIGPIPE that a failed write left behind must not come when we unblock it; one
 * that was pending before cannot be told apart, and says the same. */
static void forget_sigpipe(void) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    const struct timespec now = {0};
    while (sigtimedwait(&only, NULL, &now) < 0 && errno == EINTR)
        ;
}

static void feed(run *r) {
    while (r->input.n > 0) {
        const ssize_t n = write(r->in[WRITE_END], r->input.p, r->input.n);
        if (n >= 0) {
            r->input.p += n;
            r->input.n -= (size_t)n;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            if (errno == EPIPE)
                forget_sigpipe();
            break; /* the child does not want the rest */
        }
    }
    close_end(&r->in[WRITE_END]);
}

/* Reads what is there, but not more than max_bytes (and one chunk): a child that writes
 * for ever must not keep us here. Keeps what the limit allows. */
static void drain(run *r, stream *s, size_t max_bytes) {
    char chunk[CHUNK_BYTES];
    for (size_t done = 0; s->fd >= 0 && done < max_bytes;) {
        const ssize_t n = read(s->fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            s->fd = -1; /* closed with the other ends of the pipes */
            return;
        }
        const size_t room = r->output_limit - s->text.n;
        const size_t kept = (size_t)n < room ? (size_t)n : room;
        s->is_cut = s->is_cut || kept < (size_t)n;
        kiln_buf_add(&s->text, chunk, kept);
        if (r->o->heard != NULL)
            r->o->heard(r->o->user, s->number, chunk, (size_t)n);
        done += (size_t)n;
    }
}

/* What the child wrote before it ended is all in the pipe, and that is not larger than
 * this. A process that left the group may go on writing: its output is not waited for.
 */
static void drain_rest(run *r, stream *s) {
    const int bytes = s->fd < 0 ? 0 : fcntl(s->fd, F_GETPIPE_SZ);
    drain(r, s, bytes > 0 ? (size_t)bytes : CHUNK_BYTES);
}

static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    /* WNOWAIT: as long as it is not reaped, its group's number is nobody else's. */
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid;
}

/* A Ctrl-C does not reach the child by itself: its group is not the terminal's. */
static void stop_if_interrupted(run *r) {
    if (r->interrupted || !kiln_interrupted())
        return;
    r->interrupted = true;
    kill_all(r->pid);
}

/* Whoever listens may have something to say of a child that has not. */
static void tell_of_silence(run *r) {
    const int64_t now = kiln_now_ns();
    if (r->o->heard == NULL || now - r->silent_ns < INT64_C(1000000) * LONG_TICK_MS)
        return;
    r->silent_ns = now;
    r->o->heard(r->o->user, -1, NULL, 0);
}

/* One round: waits for a pipe, the next tick or the deadline. */
static void pump(run *r) {
    stop_if_interrupted(r);
    const int64_t left_ns = r->deadline_ns - kiln_now_ns();
    if (left_ns <= 0) {
        r->timed_out = true;
        kill_all(r->pid);
        r->deadline_ns = INT64_MAX;
        return;
    }
    const int64_t left_ms = left_ns / 1000000 + 1;
    const int tick_ms = r->pidfd >= 0 ? LONG_TICK_MS : TICK_MS;
    struct pollfd fds[4] = {
        {.fd = r->streams[0].fd, .events = POLLIN},
        {.fd = r->streams[1].fd, .events = POLLIN},
        {.fd = r->in[WRITE_END], .events = POLLOUT},
        {.fd = r->pidfd, .events = POLLIN},
    };
    const int n = poll(fds, 4, left_ms < tick_ms ? (int)left_ms : tick_ms);
    if (n == 0)
        tell_of_silence(r);
    if (n <= 0)
        return;
    r->silent_ns = kiln_now_ns();
    for (int i = 0; i < 2; i++)
        if (fds[i].revents != 0)
            drain(r, &r->streams[i], CHUNK_BYTES);
    if (fds[2].revents != 0)
        feed(r);
}

static kiln_status finish(run *r, int64_t start_ns, kiln_process_result *out,
                          kiln_err *err) {
    kill_all(r->pid); /* what is left of its group */
    drain_rest(r, &r->streams[0]);
    drain_rest(r, &r->streams[1]);
    int status = 0;
    struct rusage usage = {0};
    if (!reap(r->pid, &status, &usage))
        return kiln_fail(err, KILN_ERR_IO, "cannot learn how '%s' ended: %s",
                         r->o->argv[0], strerror(errno));
    if (r->interrupted)
        return kiln_interrupt_check(err);
    const bool is_signaled = WIFSIGNALED(status);
    *out = (kiln_process_result){
        /* It may have ended by itself in the moment before the kill. */
        .end = !is_signaled   ? KILN_PROCESS_EXITED
               : r->timed_out ? KILN_PROCESS_TIMED_OUT
                              : KILN_PROCESS_SIGNALED,
        .code = is_signaled ? WTERMSIG(status) : WEXITSTATUS(status),
        .out = kiln_buf_str(&r->streams[0].text),
        .err = kiln_buf_str(&r->streams[1].text),
        .out_cut = r->streams[0].is_cut,
        .err_cut = r->streams[1].is_cut,
        .wall_ms = (kiln_now_ns() - start_ns) / 1000000,
        .peak_rss_bytes = (int64_t)usage.ru_maxrss * 1024, /* Linux counts KiB */
    };
    return KILN_OK;
}

static kiln_status run_child(kiln_arena *a, run *r, kiln_process_result *out,
                             kiln_err *err) {
    const int64_t start_ns = kiln_now_ns();
    if (!open_pipes(r))
        return start_failed(r, (report){STAGE_STDIO, errno}, err);
    kiln_status st = start(r, err);
    if (st == KILN_OK) {
        const int64_t limit_ms = r->o->time_limit_ms;
        const bool is_limited = limit_ms > 0 && limit_ms < INT64_MAX / 4000000;
        r->deadline_ns = is_limited ? start_ns + limit_ms * 1000000 : INT64_MAX;
        r->streams[0].fd = r->out[READ_END];
        r->streams[0].number = STDOUT_FILENO;
        r->streams[1].fd = r->err[READ_END];
        r->streams[1].number = STDERR_FILENO;
        kiln_buf_init(&r->streams[0].text, a);
        kiln_buf_init(&r->streams[1].text, a);
        r->silent_ns = start_ns;
        feed(r);
        while (!has_ended(r->pid))
            pump(r);
        st = finish(r, start_ns, out, err);
    }
    pthread_sigmask(SIG_SETMASK, &r->old_mask, NULL);
    return st;
}

kiln_status kiln_process_run(kiln_arena *a, const kiln_process_options *o,
                             kiln_process_result *out, kiln_err *err) {
    if (o->argv == NULL || o->argv[0] == NULL || o->argv[0][0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG, "a process needs a program to run");
    kiln_arena scratch = {0};
    run r = {
        .o = o,
        .program = find_program(&scratch, o->argv[0]),
        .env = merge_env(&scratch, o->env),
        .in = {-1, -1},
        .out = {-1, -1},
        .err = {-1, -1},
        .report = {-1, -1},
        .pidfd = -1,
        .input = o->input,
        .output_limit =
            o->output_limit_bytes > 0 ? o->output_limit_bytes : DEFAULT_OUTPUT_LIMIT,
    };
    const kiln_status st =
        r.program == NULL ? kiln_fail(err, KILN_ERR_IO,
                                      "cannot run '%s': not found in PATH", o->argv[0])
                          : run_child(a, &r, out, err);
    close_pipes(&r);
    close_end(&r.pidfd);
    kiln_arena_fini(&scratch);
    return st;
}
