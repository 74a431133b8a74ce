/* Folders and paths: see file.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/core/core.h"

bool kiln_file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool kiln_dir_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static char *copy_of(const char *path) {
    const size_t n = strlen(path);
    char *copy = malloc(n + 1);
    if (copy == NULL)
        kiln_out_of_memory(n + 1);
    memcpy(copy, path, n + 1);
    return copy;
}

/* mkdir -p on a buffer of our own; returns 0 or errno. */
static int make_parents_and(char *path) {
    for (char *p = path; *p != '\0';) {
        while (*p == '/')
            p++;
        while (*p != '/' && *p != '\0')
            p++;
        const char end = *p;
        *p = '\0';
        /* EEXIST, and on a read-only system EROFS, come for what is there: the check is
         * at the end. */
        const int error = path[0] == '\0' || mkdir(path, 0777) == 0 ? 0 : errno;
        const bool is_there = error == 0 || kiln_dir_exists(path);
        *p = end;
        if (!is_there)
            return error == EEXIST ? ENOTDIR : error;
    }
    return 0;
}

kiln_status kiln_dir_make(const char *path, kiln_err *err) {
    char *copy = copy_of(path);
    const int error = path[0] == '\0' ? ENOENT : make_parents_and(copy);
    free(copy);
    if (error != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot make the folder '%s': %s", path,
                         strerror(error));
    return KILN_OK;
}

static bool is_dot_or_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* As readdir, but past . and ..; NULL with *error 0 at the end. */
static const char *next_name(DIR *dir, int *error) {
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (e == NULL) {
            *error = errno;
            return NULL;
        }
        if (!is_dot_or_dots(e->d_name))
            return e->d_name;
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b); /* compares as unsigned char */
}

kiln_status kiln_dir_list(kiln_arena *a, const char *path, char ***names,
                          size_t *n_names, kiln_err *err) {
    DIR *dir = opendir(path);
    if (dir == NULL)
        return kiln_fail(err, kiln_errno_status(errno), "cannot list '%s': %s", path,
                         strerror(errno));
    KILN_VEC(char *) found = {0};
    int error = 0;
    for (const char *name = next_name(dir, &error); name != NULL;
         name = next_name(dir, &error))
        kiln_vec_push(a, &found, kiln_str_dup(a, name));
    closedir(dir);
    if (error != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot list '%s': %s", path,
                         strerror(error));
    if (found.n > 0)
        qsort(found.v, found.n, sizeof *found.v, compare_names);
    *names = found.v;
    *n_names = found.n;
    return KILN_OK;
}

static int remove_at(int parent, const char *name);

/* Takes over fd. Removes what is in the folder; returns 0 or errno. */
static int empty_folder(int fd) {
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        const int error = errno;
        close(fd);
        return error;
    }
    int error = 0;
    /* Once more after each round that removed something: whether reading goes on
     * properly in a folder that changes is left open by POSIX. */
    for (bool removed = true; removed && error == 0;) {
        removed = false;
        rewinddir(dir);
        for (const char *name = next_name(dir, &error); name != NULL;
             name = next_name(dir, &error)) {
            error = remove_at(dirfd(dir), name);
            removed = true;
            if (error != 0)
                break;
        }
    }
    closedir(dir);
    return error;
}

/* Relative to open folders throughout, so that a link put in place meanwhile is not
 * followed. Processes that are being killed may still make a file in a folder that was
 * empty a moment ago. */
static int remove_at(int parent, const char *name) {
    enum { MAX_ROUNDS = 100 };
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISDIR(st.st_mode))
        return unlinkat(parent, name, 0) == 0 || errno == ENOENT ? 0 : errno;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        const int fd =
            openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno == ENOENT ? 0 : errno;
        const int error = empty_folder(fd);
        if (error != 0)
            return error;
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return errno;
    }
    return ENOTEMPTY;
}

kiln_status kiln_remove_tree(const char *path, kiln_err *err) {
    char *copy = copy_of(path);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0'; /* "link/" would be the folder behind the link */
    const int error = remove_at(AT_FDCWD, copy);
    free(copy);
    if (error != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot remove '%s': %s", path,
                         strerror(error));
    return KILN_OK;
}

char *kiln_path_join(kiln_arena *a, const char *dir, const char *name) {
    if (name[0] == '/' || dir[0] == '\0')
        return kiln_str_dup(a, name);
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    const kiln_str head = {dir, n};
    const bool is_root = n == 1 && dir[0] == '/';
    return kiln_format(a, "%.*s%s%s", KILN_STR_ARG(head), is_root ? "" : "/", name);
}

char *kiln_path_dir(kiln_arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return kiln_str_dup(a, ".");
    size_t n = (size_t)(slash - path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n == 0 ? kiln_str_dup(a, "/") : kiln_str_dupv(a, (kiln_str){path, n});
}

const char *kiln_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool kiln_path_is_contained(kiln_str path) {
    for (size_t i = 0; i < path.n; i++) {
        const unsigned char c = (unsigned char)path.p[i];
        if (c < 0x20 || c == 0x7F || c == '\\')
            return false;
    }
    if (path.n == 0)
        return false;
    kiln_str part;
    while (kiln_str_cut(&path, '/', &part))
        if (part.n == 0 || kiln_str_is(part, ".") || kiln_str_is(part, ".."))
            return false;
    return true;
}
