/* Reading and writing files: see file.h. Folders and paths are in dir.c. */
#include "base/files/file.h"
#include "base/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/temp.h"

typedef struct mapping {
    void *p;
    size_t n;
} mapping;

static void unmap(void *p) {
    const mapping *m = p;
    munmap(m->p, m->n);
}

static kiln_status map_open_file(kiln_arena *a, int fd, const char *path,
                                 uint64_t max_bytes, kiln_str *out, kiln_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot read '%s': %s", path,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return kiln_fail(err, KILN_ERR_IO, "cannot read '%s': not a regular file",
                         path);
    const uint64_t bytes = (uint64_t)st.st_size;
    if ((max_bytes != 0 && bytes > max_bytes) || bytes > SIZE_MAX / 2)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "'%s' has %" PRIu64 " bytes; at most %" PRIu64 " are read",
                         path, bytes,
                         max_bytes != 0 ? max_bytes : (uint64_t)(SIZE_MAX / 2));
    if (bytes == 0) {
        *out = (kiln_str){"", 0};
        return KILN_OK;
    }
    void *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return kiln_fail(err, KILN_ERR_IO, "cannot map '%s': %s", path,
                         strerror(errno));
    mapping *m = kiln_new(a, mapping);
    *m = (mapping){p, (size_t)bytes};
    kiln_arena_defer(a, unmap, m);
    *out = (kiln_str){p, (size_t)bytes};
    return KILN_OK;
}

kiln_status kiln_errno_status(int error) {
    return error == ENOENT || error == ENOTDIR ? KILN_ERR_MISSING : KILN_ERR_IO;
}

kiln_status kiln_file_map(kiln_arena *a, const char *path, uint64_t max_bytes,
                          kiln_str *out, kiln_err *err) {
    /* O_NONBLOCK: opening a FIFO that nobody writes would wait for ever. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return kiln_fail(err, kiln_errno_status(errno), "cannot open '%s': %s", path,
                         strerror(errno));
    const kiln_status st = map_open_file(a, fd, path, max_bytes, out, err);
    close(fd); /* the mapping stays */
    return st;
}

static bool has_place(const void *p, const void *user) {
    const mapping *const m = p;
    const char *const first = m->p, *const at = user;
    return at >= first && at < first + m->n;
}

void kiln_file_rest(const kiln_arena *a, const void *p, size_t bytes) {
    const mapping *const m = kiln_arena_find_deferred(a, unmap, has_place, p);
    const long page = sysconf(_SC_PAGESIZE);
    if (m == NULL || bytes == 0 || page < 1)
        return;
    /* Clean pages of a file: nothing is lost with those that are only touched. */
    const size_t at = (size_t)((const char *)p - (const char *)m->p);
    const size_t first = at - at % (size_t)page;
    const size_t end = bytes < m->n - at ? at + bytes : m->n;
    kiln_memory_forget((char *)m->p + first, end - first);
}

enum { WRITER_BUFFER_BYTES = 64 * 1024 };

struct kiln_file_writer {
    int fd;
    int error;    /* errno of the first write that failed, else 0 */
    char *path;   /* owned */
    char *folder; /* owned; ends in a slash, or empty for the current one */
    char *temp;   /* owned; in the same folder, so that renaming does not copy; NULL:
                     written through */
    size_t n;     /* bytes waiting in buffer */
    unsigned char buffer[WRITER_BUFFER_BYTES];
};

static void *must_malloc(size_t bytes) {
    void *p = malloc(bytes);
    if (p == NULL)
        kiln_out_of_memory(bytes);
    return p;
}

/* A copy of the first n bytes of p, terminated, with room for `extra` more. */
static char *copy_with_room(const char *p, size_t n, size_t extra) {
    char *copy = must_malloc(n + extra + 1);
    memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

static void writer_free(kiln_file_writer *w) {
    free(w->path);
    free(w->folder);
    free(w->temp);
    free(w);
}

const char *kiln_errno_remedy(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "; make room there, then run the same command again";
    case EFBIG:
        return "; it is larger than files may be here (ulimit -f)";
    case EROFS:
        return "; name a place that can be written to";
    default:
        return "";
    }
}

static kiln_status write_failed(const kiln_file_writer *w, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s%s", w->path,
                     strerror(w->error), kiln_errno_remedy(w->error));
}

/* ---- what is no regular file ----------------------------------------------------- */

/* The number of a descriptor of ours that the path stands for; -1: none. Opened by its
 * path, a file behind it would be written from its beginning, over what we print. */
static int own_descriptor(const char *path) {
    static const char *const folder[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number = -1;
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++) {
        const size_t n = strlen(folder[i]);
        if (strncmp(path, folder[i], n) == 0 &&
            kiln_parse_i64(kiln_str_from(path + n), &number) && number >= 0 &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* Devices, pipes and what is open already are written through: a file in their place
 * would be another thing under their name. *fd stays -1 for all others. */
static int open_through(const char *path, int *fd) {
    struct stat st;
    const int own = own_descriptor(path);
    if (own >= 0) {
        *fd = fcntl(own, F_DUPFD_CLOEXEC, 0);
        return *fd < 0 ? errno : 0;
    }
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return 0;
    *fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return *fd < 0 ? errno : 0;
}

/* ---- writing --------------------------------------------------------------------- */

kiln_status kiln_file_writer_open(kiln_file_writer **out, const char *path,
                                  kiln_err *err) {
    const char *slash = strrchr(path, '/');
    const size_t folder_len = slash == NULL ? 0 : (size_t)(slash - path) + 1;

    kiln_file_writer *w = must_malloc(sizeof *w);
    w->n = 0;
    w->fd = -1;
    w->temp = NULL;
    w->path = copy_with_room(path, strlen(path), 0);
    w->folder = copy_with_room(path, folder_len, 0);
    w->error = open_through(path, &w->fd);
    if (w->error == 0 && w->fd < 0) {
        w->temp = copy_with_room(path, folder_len, KILN_TEMP_NAME_BYTES);
        w->fd =
            kiln_temp_file_open(w->folder, w->temp, folder_len + KILN_TEMP_NAME_BYTES);
        w->error = w->fd < 0 ? errno : 0;
    }
    if (w->fd < 0) {
        const kiln_status st = write_failed(w, err);
        writer_free(w);
        return st;
    }
    *out = w;
    return KILN_OK;
}

/* Writes all, or sets w->error. */
static void write_out(kiln_file_writer *w, const unsigned char *p, size_t n) {
    /* Linux writes at most 2 GiB - 4 KiB at once; other systems fail above INT_MAX. */
    const size_t most = (size_t)1 << 30;
    while (n > 0 && w->error == 0) {
        const ssize_t done = write(w->fd, p, n < most ? n : most);
        if (done < 0) {
            if (errno != EINTR)
                w->error = errno;
            continue;
        }
        p += done;
        n -= (size_t)done;
    }
}

static void flush(kiln_file_writer *w) {
    write_out(w, w->buffer, w->n);
    w->n = 0;
}

kiln_status kiln_file_writer_add(kiln_file_writer *w, const void *p, size_t bytes,
                                 kiln_err *err) {
    if (bytes > WRITER_BUFFER_BYTES - w->n)
        flush(w);
    if (bytes > WRITER_BUFFER_BYTES) {
        write_out(w, p, bytes);
    } else if (bytes > 0) {
        memcpy(w->buffer + w->n, p, bytes);
        w->n += bytes;
    }
    return w->error == 0 ? KILN_OK : write_failed(w, err);
}

/* The rename is on disk only once the folder is. Some file systems cannot sync folders
 * (EINVAL). */
static int sync_folder(const char *folder) {
    const int fd =
        open(folder[0] == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0
                               : errno; /* a folder may be writable, but not readable */
    const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error;
}

/* Pipes and devices have nothing to sync. */
static int sync_file(int fd) {
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP
               ? 0
               : errno;
}

kiln_status kiln_file_writer_commit(kiln_file_writer *w, kiln_err *err) {
    flush(w);
    if (w->error == 0)
        w->error = sync_file(w->fd);
    /* Renamed while it is locked: nobody takes it for what a dead process left. */
    if (w->error == 0 && w->temp != NULL && rename(w->temp, w->path) != 0)
        w->error = errno;
    if (close(w->fd) != 0 && w->error == 0)
        w->error = errno;
    if (w->error != 0 && w->temp != NULL)
        unlink(w->temp);
    else if (w->error == 0 && w->temp != NULL)
        w->error = sync_folder(w->folder);
    const kiln_status st = w->error == 0 ? KILN_OK : write_failed(w, err);
    writer_free(w);
    return st;
}

void kiln_file_writer_close(kiln_file_writer *w) {
    if (w == NULL)
        return;
    if (w->temp != NULL)
        unlink(w->temp);
    close(w->fd);
    writer_free(w);
}

kiln_status kiln_file_write(const char *path, const void *p, size_t bytes,
                            kiln_err *err) {
    kiln_file_writer *w = NULL;
    KILN_TRY(kiln_file_writer_open(&w, path, err));
    const kiln_status st = kiln_file_writer_add(w, p, bytes, err);
    if (st != KILN_OK) {
        kiln_file_writer_close(w);
        return st;
    }
    return kiln_file_writer_commit(w, err);
}
