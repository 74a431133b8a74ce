/* Folders for a while, and those that killed processes left. Linux, for /proc.
 *
 * A folder's name carries its owner's number and start, "kiln-PID-START-XXXXXX", and
 * the owner holds a lock on it: whoever sweeps leaves alone what either says is in use.
 * The name is enough where both see the same processes; containers that share a folder
 * do not, but locks hold across them. */
#include "base/file.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "kiln-";

static const char *parent_of_all(void) {
    const char *dir = getenv("TMPDIR");
    return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

typedef struct temp {
    char *path;
    int fd; /* the lock */
} temp;

static void remove_temp(void *p) {
    const temp *t = p;
    (void)kiln_remove_tree(t->path, NULL);
    if (t->fd >= 0)
        close(t->fd);
}

static int open_locked(const char *path) {
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

kiln_status kiln_dir_temp(kiln_arena *a, const char **out, kiln_err *err) {
    const char *parent = parent_of_all();
    const int64_t self = (int64_t)getpid();
    temp *t = kiln_new(a, temp);
    t->path = kiln_path_join(a, parent,
                             kiln_format(a, "%s%" PRId64 "-%" PRIu64 "-XXXXXX", prefix,
                                         self, kiln_process_start(self)));
    if (mkdtemp(t->path) == NULL)
        return kiln_fail(err, KILN_ERR_IO, "making a folder in '%s' (TMPDIR): %s",
                         parent, strerror(errno));
    t->fd = open_locked(t->path);
    kiln_arena_defer(a, remove_temp, t);
    *out = t->path;
    return KILN_OK;
}

/* ---- what is left ------------------------------------------------------------------
 */

/* A folder of a process that has ended, as its name says. */
static bool is_orphan(const char *name) {
    kiln_str rest = kiln_str_from(name), pid, start;
    int64_t number, ticks;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    rest.p += sizeof prefix - 1;
    rest.n -= sizeof prefix - 1;
    return kiln_str_cut(&rest, '-', &pid) && kiln_str_cut(&rest, '-', &start) &&
           rest.n == 6 && kiln_parse_i64(pid, &number) && number > 0 &&
           kiln_parse_i64(start, &ticks) && ticks > 0 &&
           kiln_process_start(number) != (uint64_t)ticks;
}

static bool is_ours(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int kiln_dir_temp_sweep(void) {
    kiln_arena a = {0};
    char **name = NULL;
    size_t n = 0;
    int n_gone = 0;
    const char *parent = parent_of_all();
    if (kiln_dir_list(&a, parent, &name, &n, NULL) != KILN_OK)
        n = 0; /* nothing that could be swept */
    for (size_t i = 0; i < n; i++) {
        const char *path = kiln_path_join(&a, parent, name[i]);
        if (!is_orphan(name[i]) || !is_ours(path))
            continue;
        const int fd = open_locked(path);
        if (fd < 0)
            continue; /* somebody holds it */
        n_gone += kiln_remove_tree(path, NULL) == KILN_OK;
        close(fd);
    }
    kiln_arena_fini(&a);
    return n_gone;
}
