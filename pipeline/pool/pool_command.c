/* The commands of who runs the pool: restart a device's server, cycle its power. */
#include "pipeline/pool/pool_internal.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t command_ms = 120000;

void kiln_lender_line_command(kiln_lender *p, int device, const char *command) {
    kiln_lender_line *l = &p->line[device];
    const char *const argv[] = {
        "/bin/sh",  "-c", command, "kiln-device-pool", p->core.device[device].name,
        l->address, NULL};
    const kiln_cpus any = {0};
    kiln_err err = {.len = 0};
    if (command == NULL || l->command.pid != 0)
        return;
    if (kiln_child_start(argv, -1, &any, &l->command, &err) != KILN_OK) {
        kiln_core_note(&p->core, kiln_lender_now_ms(), device, "%s", err.text);
        l->command.pid = 0;
        return;
    }
    l->command_end_ms = kiln_lender_now_ms() + command_ms;
}

/* What it writes is nobody's; only it must not wait for us. */
static void drain(int fd) {
    char chunk[4096];
    while (read(fd, chunk, sizeof chunk) > 0)
        continue;
}

void kiln_lender_line_command_tick(kiln_lender *p, int device, int64_t now) {
    kiln_lender_line *l = &p->line[device];
    siginfo_t info = {.si_pid = 0};
    bool by_itself;
    int status;
    if (l->command.pid == 0)
        return;
    drain(l->command.out);
    drain(l->command.err);
    const bool has_ended =
        waitid(P_PID, (id_t)l->command.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0;
    if (!has_ended && now < l->command_end_ms)
        return;
    kiln_child_end(&l->command, &by_itself, &status);
    if (!by_itself || status != 0)
        kiln_core_note(&p->core, now, device, "the command %s",
                       by_itself ? "failed" : "did not end, and was killed");
    l->command.pid = 0;
}
