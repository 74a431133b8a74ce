/* A worker that is a process of our own, behind pipes. */
#include "pipeline/measure/wire/transport.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static kiln_status open_child(kiln_transport *t, kiln_err *err) {
    KILN_TRY(kiln_child_start(t->argv, t->shared, &t->cpus, &t->child, err));
    t->out = t->child.in;
    t->in = t->child.out;
    t->log = t->child.err;
    return KILN_OK;
}

static ssize_t send_child(kiln_transport *t, const void *p, size_t bytes) {
    return write(t->out, p, bytes);
}

static void end_child(kiln_transport *t, bool has_closed, kiln_transport_end *how) {
    bool by_itself;
    int status;
    if (has_closed)
        kiln_child_wait(&t->child);
    /* Who reads it closes a log that has ended. */
    t->child.err = t->log;
    kiln_child_end(&t->child, &by_itself, &status);
    t->in = t->out = t->log = -1;
    if (WIFSIGNALED(status)) {
        *how = (kiln_transport_end){.kind = KILN_TRANSPORT_SIGNAL,
                                    .code = WTERMSIG(status),
                                    .by_itself = by_itself};
        (void)snprintf(how->text, sizeof how->text, "signal %d (%s)", how->code,
                       strsignal(how->code));
    } else {
        *how = (kiln_transport_end){.kind = KILN_TRANSPORT_EXIT,
                                    .code = WEXITSTATUS(status),
                                    .by_itself = by_itself};
        (void)snprintf(how->text, sizeof how->text, "exit code %d", how->code);
    }
}

static const kiln_transport_def child = {
    .name = "child", .open = open_child, .send = send_child, .end = end_child};

void kiln_transport_child(kiln_transport *t, const char *const *argv,
                          const kiln_cpus *cpus, const char *called) {
    *t = (kiln_transport){.def = &child,
                          .called = called,
                          .argv = argv,
                          .cpus = *cpus,
                          .shared = -1,
                          .out = -1,
                          .in = -1,
                          .log = -1};
}
