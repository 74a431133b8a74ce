/* Beginning other programs. Linux: clone as glibc's posix_spawn calls it, on a stack of
 * the child's own, so that nothing of the caller's frame is written. */
#include "base/host/spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
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
