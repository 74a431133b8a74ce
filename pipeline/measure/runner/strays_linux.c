/* Processes that a candidate started. A confined one starts none; where the system
 * cannot confine, this process has them all, however often they forked and whatever
 * session they made their own: it is their reaper (prctl, PR_SET_CHILD_SUBREAPER), and
 * who is orphaned becomes its child. Linux, for /proc. */
#include "pipeline/measure/runner/runner_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void kiln_trial_own_strays(void) { (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

static bool has_children(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The fourth field of stat: the second behind a name in brackets that may hold
 * anything.
 */
static bool is_child(const char *pid, pid_t parent) {
    char path[300], text[512];
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *behind = strrchr(text, ')');
    kiln_str rest = kiln_str_from(behind != NULL ? behind : ""), field = {NULL, 0};
    int64_t of = 0;
    for (int i = 0; i < 3 && kiln_str_cut(&rest, ' ', &field); i++)
        continue;
    return kiln_parse_i64(field, &of) && of == (int64_t)parent;
}

static void kill_children(void) {
    const pid_t self = getpid();
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (const struct dirent *e; (e = readdir(proc)) != NULL;) {
        int64_t pid;
        if (kiln_parse_i64(kiln_str_from(e->d_name), &pid) && is_child(e->d_name, self))
            (void)kill((pid_t)pid, SIGKILL);
    }
    (void)closedir(proc);
}

/* Who is killed leaves its own children to us: again, until there are none. */
int kiln_trial_end_strays(void) {
    enum { MOST = 100000 };
    int n = 0;
    while (n < MOST && has_children()) {
        kill_children();
        if (waitpid(-1, NULL, 0) > 0)
            n++;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            n++;
    }
    return n;
}
