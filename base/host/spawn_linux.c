/* Beginning other programs. Linux: clone as glibc's posix_spawn calls it, on a stack of
 * the child's own, so that nothing of the caller's frame is written; close_range, and
 * dying with the parent. */
#include "base/host/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/core/core.h"

typedef struct beginning {
    void (*f)(const void *arg);
    const void *arg;
} beginning;

static int begin(void *p) {
    const beginning *b = p;
    b->f(b->arg);
    _exit(127);
}

int kiln_spawn(void (*f)(const void *arg), const void *arg) {
    enum { STACK_BYTES = 64 * 1024 };
    kiln_arena scratch = {0};
    beginning b = {.f = f, .arg = arg};
    char *stack = kiln_arena_alloc_raw(&scratch, STACK_BYTES);
    const int pid =
        clone(begin, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &b);
    const int error = errno;
    kiln_arena_fini(&scratch);
    errno = error;
    return pid;
}

bool kiln_spawn_pipe(int fd[2]) {
    enum { FIRST_FREE_FD = 10 };
    int low[2];
    fd[0] = fd[1] = -1;
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    fd[0] = fcntl(low[0], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    if (fd[0] >= 0)
        fd[1] = fcntl(low[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    const int error = errno;
    close(low[0]);
    close(low[1]);
    errno = error;
    return fd[1] >= 0;
}

static void close_on_exec(void) {
    const unsigned first = STDERR_FILENO + 1;
    if (close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    /* Kernels before 5.11. */
    const int most = 1 << 16;
    for (int fd = (int)first; fd < most; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool kiln_spawned_begin(int parent, int in, int out, int err) {
    sigset_t none;
    (void)setpgid(0, 0);
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL); /* fails for SIGKILL and the like, which is fine */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* it died before it could be asked for */
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        return false;
    close_on_exec();
    return true;
}
