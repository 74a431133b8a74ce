/* Folders and files for a while, and those that killed processes left. Linux, for
 * /proc.
 *
 * A name carries its owner's number and start, "kiln-PID-START-XXXXXX" in TMPDIR and
 * ".kiln-PID-START-..." beside what it becomes, and the owner holds a lock on it:
 * whoever sweeps leaves alone what either says is in use. The name is enough where both
 * see the same processes; containers that share a folder do not, but locks hold across
 * them. */
#include "base/files/file.h"
#include "base/host/host.h"
#include "base/files/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "kiln-", hidden[] = ".kiln-", file_ending[] = ".tmp";

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

static int lock_it(int fd) {
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int open_locked(const char *path) {
    return lock_it(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static kiln_status make_folder(kiln_arena *a, const char *parent, const char *begin,
                               const char *said, const char **out, kiln_err *err) {
    const int64_t self = (int64_t)getpid();
    temp *t = kiln_new(a, temp);
    t->path = kiln_path_join(a, parent,
                             kiln_format(a, "%s%" PRId64 "-%" PRIu64 "-XXXXXX", begin,
                                         self, kiln_process_start(self)));
    if (mkdtemp(t->path) == NULL)
        return kiln_fail(err, KILN_ERR_IO, "making a folder in '%s'%s: %s", parent,
                         said, strerror(errno));
    t->fd = open_locked(t->path);
    kiln_arena_defer(a, remove_temp, t);
    *out = t->path;
    return KILN_OK;
}

/* ---- what is left ---------------------------------------------------------------- */

/* Behind the process: six characters of mkdtemp's, or a number and an ending. */
static bool is_our_end(kiln_str rest) {
    int64_t number;
    if (rest.n == 6)
        return true;
    if (!kiln_str_ends(rest, file_ending))
        return false;
    rest.n -= sizeof file_ending - 1;
    return kiln_parse_i64(rest, &number) && number >= 0;
}

/* Of a process that has ended, as its name says. */
static bool is_orphan(const char *name, const char *begin) {
    kiln_str rest = kiln_str_from(name), pid, start;
    int64_t number, ticks;
    if (!kiln_str_starts(rest, begin))
        return false;
    rest.p += strlen(begin);
    rest.n -= strlen(begin);
    return kiln_str_cut(&rest, '-', &pid) && kiln_str_cut(&rest, '-', &start) &&
           is_our_end(rest) && kiln_parse_i64(pid, &number) && number > 0 &&
           kiln_parse_i64(start, &ticks) && ticks > 0 &&
           kiln_process_start(number) != (uint64_t)ticks;
}

/* A folder or a plain file of this user; links and the rest are nobody's. */
static bool is_ours(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
           st.st_uid == geteuid();
}

static int sweep(const char *parent, const char *begin) {
    kiln_arena a = {0};
    char **name = NULL;
    size_t n = 0;
    int n_gone = 0;
    if (kiln_dir_list(&a, parent, &name, &n, NULL) != KILN_OK)
        n = 0; /* nothing that could be swept */
    for (size_t i = 0; i < n; i++) {
        if (!is_orphan(name[i], begin))
            continue;
        const char *path = kiln_path_join(&a, parent, name[i]);
        if (!is_ours(path))
            continue;
        const int fd =
            lock_it(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (fd < 0)
            continue; /* somebody holds it */
        n_gone += kiln_remove_tree(path, NULL) == KILN_OK;
        close(fd);
    }
    kiln_arena_fini(&a);
    return n_gone;
}

int kiln_dir_temp_sweep(void) { return sweep(parent_of_all(), prefix); }

/* A folder that is written to often is looked through once. */
static void sweep_beside(const char *parent) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static dev_t device;
    static ino_t inode;
    struct stat st;
    if (stat(parent, &st) != 0)
        return;
    pthread_mutex_lock(&lock);
    const bool is_swept = st.st_dev == device && st.st_ino == inode;
    device = st.st_dev;
    inode = st.st_ino;
    pthread_mutex_unlock(&lock);
    if (!is_swept)
        (void)sweep(parent, hidden);
}

/* ---- making them ----------------------------------------------------------------- */

kiln_status kiln_dir_temp(kiln_arena *a, const char **out, kiln_err *err) {
    static atomic_flag was_swept = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&was_swept))
        (void)kiln_dir_temp_sweep();
    return make_folder(a, parent_of_all(), prefix, " (TMPDIR)", out, err);
}

kiln_status kiln_dir_temp_in(kiln_arena *a, const char *parent, const char **out,
                             kiln_err *err) {
    sweep_beside(parent);
    return make_folder(a, parent, hidden, "", out, err);
}

/* Its name does not hold the target's, which may be as long as a name can be. Somebody
 * who sweeps may find it before it is locked: then it has no name any more. */
int kiln_temp_file_open(const char *folder, char *path, size_t room) {
    enum { TRIES = 100 };
    static atomic_uint counter;
    const int64_t self = (int64_t)getpid();
    const uint64_t start = kiln_process_start(self);
    sweep_beside(folder[0] == '\0' ? "." : folder);
    for (int i = 0; i < TRIES; i++) {
        struct stat st;
        const int n =
            snprintf(path, room, "%s%s%" PRId64 "-%" PRIu64 "-%u%s", folder, hidden,
                     self, start, atomic_fetch_add(&counter, 1), file_ending);
        if (n < 0 || (size_t)n >= room) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return -1;
        /* No lock where the file system has none: the name says whose it is. */
        (void)flock(fd, LOCK_EX | LOCK_NB);
        if (fstat(fd, &st) == 0 && st.st_nlink > 0)
            return fd;
        close(fd);
    }
    return -1;
}
