/* Tasks run once, beside their caller, and also where no thread can be had. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

typedef struct work {
    int n_calls;
    pthread_t thread;
    bool takes_signals;
    int go[2]; /* a pipe: the caller must go on for this to end; -1: none */
} work;

static void run(void *user) {
    work *w = user;
    sigset_t blocked;
    char byte = 0;
    if (w->go[0] >= 0 && read(w->go[0], &byte, 1) != 1)
        return; /* n_calls tells */
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    w->takes_signals = sigismember(&blocked, SIGTERM) == 0;
    w->thread = pthread_self();
    w->n_calls++;
}

static void runs_beside(void **state) {
    (void)state;
    kiln_task task[3];
    work w[3] = {{.n_calls = 0}};
    sigset_t before, after;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pipe(w[i].go), 0);
        kiln_task_start(&task[i], run, &w[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
    for (int i = 2; i >= 0; i--) {
        assert_int_equal(write(w[i].go[1], "x", 1), 1);
        kiln_task_wait(&task[i]);
        assert_int_equal(w[i].n_calls, 1);
        assert_false(pthread_equal(w[i].thread, pthread_self()));
        assert_false(w[i].takes_signals);
        kiln_task_wait(&task[i]); /* once more does nothing */
        close(w[i].go[0]);
        close(w[i].go[1]);
    }
}

/* Without memory for a stack there is no thread. */
static void without_threads(void *user) {
    (void)user;
    const struct rlimit none = {0, 0};
    kiln_task task;
    work w = {.go = {-1, -1}};
    if (setrlimit(RLIMIT_AS, &none) != 0)
        _exit(2);
    kiln_task_start(&task, run, &w);
    kiln_task_wait(&task);
    _exit(w.n_calls == 1 && pthread_equal(w.thread, pthread_self()) ? 0 : 1);
}

static void runs_without_threads(void **state) {
    (void)state;
    kiln_test_death death;
    if (kiln_test_is_sanitized())
        kiln_test_skip("sanitizers need memory of their own");
    kiln_test_in_child(without_threads, NULL, &death);
    assert_int_equal(death.exit_code, 0);
}

int main(void) {
    /* First: stacks of threads that ended are kept. */
    kiln_test_add("runs_without_threads", runs_without_threads, NULL);
    kiln_test_add("runs_beside", runs_beside, NULL);
    return kiln_test_run("task");
}
