/* Tasks: see task.h. */
#include "base/host/task.h"
#include "base/core/core.h"

#include <signal.h>

static void *run(void *p) {
    const kiln_task *t = p;
    t->fn(t->user);
    return NULL;
}

void kiln_task_start(kiln_task *t, void (*fn)(void *user), void *user) {
    sigset_t all, old;
    KILN_ASSERT(fn != NULL, "a task of nothing");
    *t = (kiln_task){.fn = fn, .user = user};
    sigfillset(&all); /* signals are the caller's */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    t->has_thread = pthread_create(&t->thread, NULL, run, t) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!t->has_thread)
        fn(user);
}

void kiln_task_wait(kiln_task *t) {
    if (t->has_thread)
        (void)pthread_join(t->thread, NULL);
    t->has_thread = false;
}
