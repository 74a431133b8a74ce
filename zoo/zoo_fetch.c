/* From an entry of a catalog to a verified file. */
#include "zoo/zoo_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "zoo/download.h"

enum { DEFAULT_RETRIES = 5, LONGEST_WAIT_S = 60, HASH_BLOCK = 1 << 16 };

kiln_status kiln_fetch_cache(kiln_arena *a, const char **out, kiln_err *err) {
    const char *own = getenv("KILN_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (own != NULL && own[0] != '\0')
        *out = own;
    else if (xdg != NULL && xdg[0] == '/')
        *out = kiln_path_join(a, xdg, "kiln");
    else if (home != NULL && home[0] == '/')
        *out = kiln_path_join(a, home, ".cache/kiln");
    else
        return kiln_fail(err, KILN_ERR_ARG,
                         "no place for the cache: none of KILN_CACHE, XDG_CACHE_HOME "
                         "and HOME is set");
    return KILN_OK;
}

/* ---- places ---------------------------------------------------------------------- */

typedef struct fetching {
    kiln_arena *arena;
    const kiln_fetch_entry
        *e;             /* at the address where it is looked for; url may be NULL */
    const char *folder; /* in the cache: the hash of the model's first file */
    const kiln_fetch_options *o;
    const char *cache, *path, *partial;
    int fd;   /* of the partial file, locked */
    bool had; /* it held something from an earlier run */
} fetching;

/* What follows the last slash, without a query; never a way out of the folder. */
static const char *file_name(kiln_arena *a, const kiln_fetch_entry *e) {
    char *path = kiln_str_dup(a, e->path != NULL ? e->path : e->url);
    if (e->path == NULL)
        path[strcspn(path, "?#")] = '\0';
    const char *base = kiln_path_base(path);
    return kiln_path_is_contained(kiln_str_from(base)) ? base : "model";
}

static void name_places(fetching *f, const char *file) {
    kiln_arena *a = f->arena;
    KILN_ASSERT(f->cache != NULL && f->folder != NULL && f->e->sha256 != NULL,
                "'%s' has no place yet", f->e->name);
    KILN_ASSERT(kiln_path_is_contained(kiln_str_from(file)), "'%s' leads out", file);
    const char *folder = kiln_format(a, "%s/models/%s", f->cache, f->folder);
    f->path = kiln_path_join(a, folder, file);
    f->partial = kiln_format(a, "%s/partial/%s", f->cache, f->e->sha256);
}

/* By the descriptor: closing another one of the same file would end the lock. */
static kiln_status hash_of(int fd, const char *path, char hex[KILN_SHA256_HEX],
                           int64_t *bytes, kiln_err *err) {
    unsigned char block[HASH_BLOCK];
    kiln_sha256 h;
    ssize_t n;
    kiln_sha256_init(&h);
    *bytes = 0;
    while ((n = pread(fd, block, sizeof block, *bytes)) > 0) {
        kiln_sha256_add(&h, block, (size_t)n);
        *bytes += n;
    }
    if (n < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot read '%s': %s", path,
                         strerror(errno));
    kiln_sha256_hex(&h, hex);
    return KILN_OK;
}

static kiln_status hash_of_path(const char *path, char hex[KILN_SHA256_HEX],
                                kiln_err *err) {
    int64_t bytes = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot open '%s': %s", path,
                         strerror(errno));
    const kiln_status st = hash_of(fd, path, hex, &bytes, err);
    close(fd);
    return st;
}

/* Files under their final name were verified before they got it. One of another size or
 * hash was damaged since: it goes. Hashed each time: a flipped bit changes no date, and
 * who builds from it would be told the catalog's hash. */
static kiln_status look_in_cache(fetching *f, bool *found, kiln_err *err) {
    struct stat st;
    char hex[KILN_SHA256_HEX];
    *found =
        stat(f->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == f->e->bytes;
    if (*found) {
        KILN_TRY(hash_of_path(f->path, hex, err));
        *found = strcmp(hex, f->e->sha256) == 0;
    }
    if (!*found && unlink(f->path) != 0 && errno != ENOENT && errno != ENOTDIR)
        return kiln_fail(err, KILN_ERR_IO, "cannot remove the damaged '%s': %s",
                         f->path, strerror(errno));
    return KILN_OK;
}

static void pause_for(double seconds) {
    for (int64_t left = (int64_t)(seconds * 1000); left > 0 && !kiln_interrupted();
         left -= 50) {
        const struct timespec t = {0, 50000000};
        nanosleep(&t, NULL);
    }
}

/* By asking again: a signal does not end a wait for a lock (SA_RESTART). */
static kiln_status lock_partial(const fetching *f, kiln_err *err) {
    long holder;
    for (;;) {
        KILN_TRY(kiln_file_lock(f->fd, f->partial, &holder, err));
        if (holder == 0)
            return KILN_OK;
        if (kiln_interrupted())
            return kiln_fail(err, KILN_ERR_INTERRUPTED,
                             "interrupted while another process fetches it");
        pause_for(0.05);
    }
}

/* Opens and locks the partial file; waits for another process that has it. Whoever held
 * the lock may have renamed the file away: then ours is a new one. */
static kiln_status open_partial(fetching *f, kiln_err *err) {
    KILN_TRY(kiln_dir_make(kiln_path_dir(f->arena, f->partial), err));
    for (;;) {
        struct stat by_name, by_fd;
        f->fd = open(f->partial, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (f->fd < 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot make '%s': %s", f->partial,
                             strerror(errno));
        const kiln_status st = lock_partial(f, err);
        if (st != KILN_OK) {
            close(f->fd);
            return st;
        }
        if (stat(f->partial, &by_name) == 0 && fstat(f->fd, &by_fd) == 0 &&
            by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev)
            return KILN_OK;
        close(f->fd);
    }
}

static kiln_status check_space(const fetching *f, int64_t have, kiln_err *err) {
    struct statvfs fs;
    const int64_t wanted = f->e->bytes - have;
    if (fstatvfs(f->fd, &fs) != 0 || fs.f_frsize == 0)
        return KILN_OK; /* writing will tell */
    if ((uint64_t)fs.f_bavail >= (uint64_t)wanted / fs.f_frsize + 1)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_IO,
                     "the disk of '%s' has %" PRIu64 " MB left, %" PRId64
                     " MB are needed; make room or set KILN_CACHE",
                     f->cache, (uint64_t)fs.f_bavail * fs.f_frsize / 1000000,
                     wanted / 1000000 + 1);
}

/* ---- transfers ------------------------------------------------------------------- */

static void report(void *user, int64_t done) {
    const fetching *f = user;
    f->o->progress(f->o->user, f->e, done);
}

static kiln_status failed(const fetching *f, const kiln_download *d,
                          kiln_download_end end, kiln_err *err) {
    const char *kept = "; what has come is kept, the same command goes on";
    if (end == KILN_DOWNLOAD_INTERRUPTED)
        return kiln_fail(err, KILN_ERR_INTERRUPTED, "interrupted%s", kept);
    if (end == KILN_DOWNLOAD_DISK)
        return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s", f->partial,
                         d->text);
    if (end == KILN_DOWNLOAD_TOO_BIG)
        return kiln_fail(err, KILN_ERR_PARSE, "%s, where the catalog states so many",
                         d->text);
    return kiln_fail(err, KILN_ERR_IO, "%s%s", d->text,
                     end == KILN_DOWNLOAD_AGAIN ? kept : "");
}

/* Did it bring bytes as fast as one may ask? Else a server that trickles would never be
 * given up. */
static bool is_progress(const kiln_download *d, int64_t begin_ns) {
    const int64_t seconds = (kiln_now_ns() - begin_ns) / 1000000000;
    return d->n_written > 0 && d->n_written >= seconds * KILN_DOWNLOAD_SLOW;
}

/* The file's bytes, all of them. Tries that bring bytes are no failures. */
static kiln_status transfer(fetching *f, kiln_err *err) {
    const kiln_fetch_options *o = f->o;
    const int retries = o->retries == 0 ? DEFAULT_RETRIES : o->retries;
    double wait = o->first_wait_s > 0 ? o->first_wait_s : 1;
    for (int failures = 0, restarts = 0;;) {
        KILN_ASSERT(f->fd >= 0 && f->e->bytes > 0, "'%s' has no file yet", f->e->name);
        const off_t have = lseek(f->fd, 0, SEEK_END);
        if (have >= f->e->bytes)
            return KILN_OK;
        KILN_TRY(check_space(f, have, err));
        kiln_download d = {.url = f->e->url,
                           .fd = f->fd,
                           .offset = have,
                           .max_bytes = f->e->bytes,
                           .allow_http = o->allow_http,
                           .connect_s = o->connect_s > 0 ? o->connect_s : 30,
                           .stall_s = o->stall_s > 0 ? o->stall_s : 60,
                           .progress = o->progress != NULL ? report : NULL,
                           .user = f};
        const int64_t begin_ns = kiln_now_ns();
        const kiln_download_end end = kiln_download_run(&d);
        const bool progress = is_progress(&d, begin_ns);
        if (end == KILN_DOWNLOAD_DONE && have + d.n_written < f->e->bytes)
            snprintf(d.text, sizeof d.text,
                     "the server sends %" PRId64 " bytes, the catalog states %" PRId64,
                     (int64_t)have + d.n_written, f->e->bytes);
        else if (end == KILN_DOWNLOAD_DONE)
            return KILN_OK;
        /* Each cut costs the whole there; so often its file is shorter than stated. */
        if (end == KILN_DOWNLOAD_RESTART && restarts++ <= retries &&
            ftruncate(f->fd, 0) == 0)
            continue;
        failures = progress ? 1 : failures + 1;
        const bool may_pass = end == KILN_DOWNLOAD_AGAIN || end == KILN_DOWNLOAD_DONE;
        if (!may_pass || failures > retries)
            return failed(f, &d, may_pass ? KILN_DOWNLOAD_AGAIN : end, err);
        if (progress)
            wait = o->first_wait_s > 0 ? o->first_wait_s : 1;
        const double now = d.retry_after_s > wait ? d.retry_after_s : wait;
        const double seconds = now < LONGEST_WAIT_S ? now : LONGEST_WAIT_S;
        if (o->waits != NULL)
            o->waits(o->user, f->e, d.text, seconds);
        pause_for(seconds);
        wait *= 2;
    }
}

/* ---- the whole ------------------------------------------------------------------- */

static kiln_status sync_folder(const char *path, kiln_err *err) {
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(fd) == 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return ok ? KILN_OK
              : kiln_fail(err, KILN_ERR_IO, "cannot write folder '%s': %s", path,
                          strerror(error));
}

static kiln_status accept_file(fetching *f, kiln_err *err) {
    const char *folder = kiln_path_dir(f->arena, f->path);
    KILN_TRY(kiln_dir_make(folder, err));
    if (fsync(f->fd) != 0 || rename(f->partial, f->path) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot put '%s' in place: %s", f->path,
                         strerror(errno));
    return sync_folder(folder, err);
}

/* What an earlier run left may be damaged: then once more from zero. */
static kiln_status complete(fetching *f, kiln_err *err) {
    for (;;) {
        char hex[KILN_SHA256_HEX];
        int64_t bytes = 0;
        KILN_TRY(transfer(f, err));
        KILN_TRY(hash_of(f->fd, f->partial, hex, &bytes, err));
        if (bytes == f->e->bytes && strcmp(hex, f->e->sha256) == 0)
            return accept_file(f, err);
        if (ftruncate(f->fd, 0) != 0 || lseek(f->fd, 0, SEEK_SET) != 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot empty '%s': %s", f->partial,
                             strerror(errno));
        if (!f->had) {
            unlink(f->partial);
            return kiln_fail(err, KILN_ERR_PARSE,
                             "what came has SHA-256 %s, the catalog states %s; the "
                             "file has changed, or somebody meddles with it",
                             hex, f->e->sha256);
        }
        f->had = false;
    }
}

static kiln_status fetch(fetching *f, kiln_err *err) {
    bool found = false;
    const char *none; /* no address: an error that says where it is from */
    KILN_TRY(look_in_cache(f, &found, err));
    if (found)
        return KILN_OK;
    if (f->o->offline)
        return kiln_fail(
            err, KILN_ERR_IO,
            "it is not in the cache '%s', and --offline forbids to fetch it", f->cache);
    if (f->e->url == NULL)
        return kiln_fetch_address(f->arena, f->e, NULL, &none, err);
    KILN_TRY(open_partial(f, err));
    struct stat st;
    f->had = fstat(f->fd, &st) == 0 && st.st_size > 0;
    kiln_status status = look_in_cache(f, &found, err); /* somebody else was faster */
    if (status == KILN_OK && found)
        unlink(f->partial);
    if (status == KILN_OK && !found)
        status = complete(f, err);
    close(f->fd);
    return status;
}

/* A file of the entry's. Without an address it may still be in the cache. */
static kiln_status fetch_file(fetching *f, const char *file, kiln_err *err) {
    name_places(f, file);
    const kiln_status st = fetch(f, err);
    if (st == KILN_OK)
        return KILN_OK;
    if (f->e->url != NULL)
        kiln_note(err, "fetching '%s' from '%s'", f->e->name, f->e->url);
    else
        kiln_note(err, "fetching '%s'", f->e->name);
    return st;
}

/* At the same place as the first file, wherever that is. */
static kiln_status fetch_beside(fetching *f, const kiln_fetch_entry *first,
                                const kiln_fetch_beside *b, kiln_err *err) {
    kiln_arena *a = f->arena;
    kiln_fetch_entry *e = kiln_new(a, kiln_fetch_entry); /* a failure names it */
    *e = *first;
    e->name = kiln_format(a, "%s: %s", first->name, b->path);
    e->path = kiln_path_join(a, kiln_path_dir(a, kiln_fetch_path(a, first)), b->path);
    e->sha256 = b->sha256;
    e->bytes = b->bytes;
    if (first->url != NULL)
        e->url = kiln_url_below(a, kiln_path_dir(a, first->url), b->path);
    f->e = e;
    return fetch_file(f, b->path, err);
}

static kiln_status fetch_all(fetching *f, kiln_fetch_entry *e, kiln_err *err) {
    kiln_arena *a = f->arena;
    const char *file = file_name(a, e), *path = kiln_fetch_path(a, e), *first;
    if (f->cache == NULL)
        KILN_TRY(kiln_fetch_cache(a, &f->cache, err));
    f->folder = e->sha256;
    if (e->url != NULL || f->o->mirror != NULL)
        KILN_TRY(kiln_fetch_address(a, e, f->o->mirror, &e->url, err));
    e->path = path;
    KILN_TRY(fetch_file(f, file, err));
    first = f->path;
    for (size_t i = 0; i < e->n_beside; i++)
        KILN_TRY(fetch_beside(f, e, &e->beside[i], err));
    f->path = first;
    return KILN_OK;
}

kiln_status kiln_fetch(kiln_arena *a, const kiln_fetch_entry *e,
                       const kiln_fetch_options *o, const char **path, kiln_err *err) {
    static const kiln_fetch_options none = {.cache = NULL};
    kiln_fetch_entry at = *e; /* gets the address where it is looked for */
    fetching f = {.arena = a, .e = &at, .o = o != NULL ? o : &none, .fd = -1};
    f.cache = f.o->cache;
    const kiln_status st = fetch_all(&f, &at, err);
    if (st != KILN_OK) {
        if (f.o->mirror != NULL)
            kiln_note(err, "looking for '%s' in the mirror '%s', which must have '%s'",
                      e->name, f.o->mirror, kiln_fetch_path(a, f.e));
        return st;
    }
    *path = f.path;
    return KILN_OK;
}
