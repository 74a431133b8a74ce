/* A package's code may compute, and nothing else: once all files are open, a filter of
 * system calls leaves to the process what running kernels, writing to what is open, and
 * ending need. No file can be opened any more, no process, socket or mapping that can be
 * executed be made.
 *
 * Kernels without seccomp, and emulators, run packages as before; the report says which
 * it was. */
#include "pipeline/devices/runner/runner.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/host/confine.h"

/* On whichever thread it happened; the handler cannot be set again. */
static void on_trap(int number, siginfo_t *info, void *context) {
    char text[96];
    (void)number;
    (void)context;
    const int n = snprintf(text, sizeof text,
                           "error: the package's code made system call %d: not let "
                           "through\n",
                           info->si_syscall);
    const ssize_t written = n > 0 ? write(STDERR_FILENO, text, (size_t)n) : 0;
    (void)written;
    _exit(RUN_KERNEL);
}

int run_confine(void) {
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSYS, &action, NULL) == 0 && kiln_confine_files();
}
