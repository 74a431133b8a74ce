/* Long-lived children. Linux, for memfd_create and sets of processors. */
#include "base/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/host/spawn.h"

enum { FIRST_FREE_FD = 10 };

_Static_assert(sizeof(cpu_set_t) == sizeof((kiln_cpus *)0)->set, "glibc's set");

kiln_cpus kiln_cpus_own(void) {
    kiln_cpus c = {.n = 0};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return c;
    c.n = CPU_COUNT(&set);
    memcpy(c.set, &set, sizeof set);
    return c;
}

kiln_cpus kiln_cpus_part(const kiln_cpus *c, int first, int n) {
    KILN_ASSERT(first >= 0 && n >= 0, "%d processors from %d on", n, first);
    kiln_cpus part = {.n = 0};
    cpu_set_t all, some;
    int nth = 0;
    memcpy(&all, c->set, sizeof all);
    CPU_ZERO(&some);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        if (nth >= first && nth < first + n) {
            CPU_SET(cpu, &some);
            part.n++;
        }
        nth++;
    }
    memcpy(part.set, &some, sizeof some);
    return part;
}

int kiln_cpus_first(const kiln_cpus *c) {
    cpu_set_t set;
    memcpy(&set, c->set, sizeof set);
    for (size_t cpu = 0; c->n > 0 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            return (int)cpu;
    return -1;
}

void kiln_cpus_use(const kiln_cpus *c) {
    cpu_set_t set;
    memcpy(&set, c->set, sizeof set);
    if (c->n > 0)
        (void)sched_setaffinity(0, sizeof set, &set);
}

kiln_status kiln_shared_open(int *write_fd, int *read_fd, kiln_err *err) {
    char path[64];
    *write_fd = memfd_create("kiln-measure", MFD_CLOEXEC);
    *read_fd = -1;
    if (*write_fd >= 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", *write_fd);
        *read_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (*read_fd >= 0)
        return KILN_OK;
    const int error = errno;
    if (*write_fd >= 0)
        close(*write_fd);
    *write_fd = -1;
    return kiln_fail(err, KILN_ERR_IO, "cannot make memory to share with workers: %s",
                     strerror(error));
}

/* ---- pipes ----------------------------------------------------------------------- */

typedef struct pipes {
    int in[2], out[2], err[2];
} pipes;

static void close_fd(int fd) {
    if (fd >= 0)
        close(fd);
}

static void close_all(pipes *p) {
    for (int i = 0; i < 2; i++) {
        close_fd(p->in[i]);
        close_fd(p->out[i]);
        close_fd(p->err[i]);
    }
}

typedef struct start {
    const char *const *argv;
    const pipes *p;
    int shared; /* -1: none */
    const kiln_cpus *cpus;
    pid_t parent;
} start;

/* Until exec: system calls only (spawn.h). */
static void child(const void *arg) {
    const start *s = arg;
    const pipes *p = s->p;
    const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    if (!kiln_spawned_begin(s->parent, p->in[0], p->out[1], p->err[1]) ||
        (s->shared >= 0 && dup2(s->shared, KILN_CHILD_SHARED_FD) < 0))
        _exit(127);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    kiln_cpus_use(s->cpus);
    /* exec does not write to argv; its type is older than const. */
    char *const *argv;
    memcpy(&argv, &s->argv, sizeof argv);
    (void)execv(argv[0], argv);
    _exit(127);
}

static void set_nonblocking(int fd) {
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

kiln_status kiln_child_start(const char *const *argv, int shared, const kiln_cpus *cpus,
                             kiln_child *out, kiln_err *err) {
    pipes p = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t pid = -1;
    int high = -1;
    if (access(argv[0], X_OK) != 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "cannot run the worker '%s': %s; it is installed beside kiln",
                         argv[0], strerror(errno));
    if (kiln_spawn_pipe(p.in) && kiln_spawn_pipe(p.out) && kiln_spawn_pipe(p.err) &&
        (shared < 0 || (high = fcntl(shared, F_DUPFD_CLOEXEC, FIRST_FREE_FD)) >= 0)) {
        sigset_t all, old;
        sigfillset(&all); /* none of our handlers may run in the child */
        (void)sigprocmask(SIG_SETMASK, &all, &old);
        const start s = {argv, &p, high, cpus, getpid()};
        pid = kiln_spawn(child, &s);
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
    }
    const int error = errno;
    close_fd(high);
    if (pid < 0) {
        close_all(&p);
        return kiln_fail(err, KILN_ERR_IO, "cannot start the worker '%s': %s", argv[0],
                         strerror(error));
    }
    close(p.in[0]);
    close(p.out[1]);
    close(p.err[1]);
    *out = (kiln_child){.pid = pid, .in = p.in[1], .out = p.out[0], .err = p.err[0]};
    set_nonblocking(out->in);
    set_nonblocking(out->out);
    set_nonblocking(out->err);
    return KILN_OK;
}

void kiln_pipe_widen(int fd, int bytes) { (void)fcntl(fd, F_SETPIPE_SZ, bytes); }

void kiln_child_wait(const kiln_child *c) {
    enum { MOST_MS = 3000 };
    const struct timespec tick = {.tv_nsec = 1000000};
    for (int i = 0; i < MOST_MS; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == c->pid)
            return;
        (void)nanosleep(&tick, NULL);
    }
}

void kiln_child_end(kiln_child *c, bool *by_itself, int *status) {
    *by_itself = false;
    *status = 0;
    if (c->pid == 0)
        return;
    siginfo_t info = {0};
    *by_itself = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                 info.si_pid == c->pid;
    /* What it left in its group goes too; as long as it is not reaped, the number is
     * nobody else's. */
    (void)kill(-c->pid, SIGKILL);
    (void)kill(c->pid, SIGKILL);
    while (waitpid(c->pid, status, 0) < 0 && errno == EINTR)
        ;
    close_fd(c->in);
    close_fd(c->out);
    close_fd(c->err);
    *c = (kiln_child){.in = -1, .out = -1, .err = -1};
}
