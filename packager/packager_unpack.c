/* Opening archives. Unpacking reads an archive once: entries go into a private folder
 * beside the wanted one, hashed on the way, each held against the manifest before its
 * first byte is written. What is refused is surveyed, which says why. Only what has
 * passed every check is renamed to its place. What is only read for a while is held in
 * memory instead: the folder then has links to files that nobody can change. */
#include "packager/codec.h"
#include "packager/packager_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A huge page: what is written in whole ones lies so in memory where the file system
 * has them (ext4 since Linux 6.16), and parameters are mapped as they lie. */
enum { BLOCK_BYTES = 2 << 20 };

/* ---- the manifest ---------------------------------------------------------------- */

typedef kiln_status read_fn(kiln_arena *a, kiln_tar_source tar, void *user,
                            kiln_err *err);

/* Calls `read` on the frame's bytes, decompressed. */
static kiln_status with_tar(kiln_arena *a, kiln_str frame, read_fn *read, void *user,
                            kiln_err *err) {
    kiln_zstd_reader *zstd = NULL;
    KILN_TRY(kiln_zstd_reader_open(a, frame, &zstd, err));
    const kiln_tar_source tar = {kiln_zstd_reader_read, zstd};
    const kiln_status st = read(a, tar, user, err);
    kiln_zstd_reader_close(zstd);
    return st;
}

static kiln_status peek(kiln_arena *a, kiln_tar_source tar, void *user, kiln_err *err) {
    return kiln_package_peek(a, tar, user, err);
}

/* Where keys are required: bytes of our own, and signed. */
static kiln_status take_file(kiln_arena *scratch, kiln_arena *a, const char *path,
                             const kiln_keyring *keys, kiln_signed *says, kiln_str *out,
                             kiln_err *err) {
    kiln_signed own;
    KILN_TRY(kiln_file_map(scratch, path, 0, out, err));
    if (keys == NULL)
        return KILN_OK;
    out->p = kiln_arena_dup(scratch, out->p, out->n);
    return kiln_archive_check(a, keys, path, *out, says != NULL ? says : &own, err);
}

kiln_status kiln_package_inspect(kiln_arena *a, const char *path,
                                 kiln_package_facts *out, kiln_err *err) {
    return kiln_package_inspect_by(a, path, NULL, out, NULL, err);
}

kiln_status kiln_package_inspect_by(kiln_arena *a, const char *path,
                                    const kiln_keyring *keys, kiln_package_facts *out,
                                    char sha256[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str file, frame;
    kiln_status st = take_file(&scratch, a, path, keys, NULL, &file, err);
    if (st == KILN_OK)
        st = kiln_seal_cut(file, path, &frame, err);
    if (st == KILN_OK && sha256 != NULL)
        kiln_sha256_of(file.p, file.n, sha256);
    if (st == KILN_OK) {
        st = with_tar(a, frame, peek, out, err);
        if (st != KILN_OK)
            kiln_note(err, "reading the package '%s'", path);
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- entries into a folder ------------------------------------------------------- */

typedef enum unpacking {
    DURABLE, /* a power cut must leave what was renamed as it is */
    FOR_NOW,
    HELD /* in memory, if it fits */
} unpacking;

typedef struct unpack {
    uint64_t archive_bytes;
    const char *folder; /* where entries go */
    unpacking how;
    bool is_held; /* entries are files in memory, the folder has links to them */
    kiln_package_list list;
    /* Entries' files stay open: they are made durable only once all are known to be
     * good, so that refusing costs no waiting for disks. */
    int fd[KILN_PACKAGE_ALL_ENTRIES + 1];
    size_t n_fds;
} unpack;

static kiln_status survey(kiln_arena *a, kiln_tar_source tar, void *user,
                          kiln_err *err) {
    const unpack *u = user;
    kiln_package_list list;
    return kiln_package_survey(a, tar, u->archive_bytes, &list, err);
}

static kiln_status cannot_write(const char *path, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s%s", path, strerror(errno),
                     kiln_errno_remedy(errno));
}

static kiln_status write_all(int fd, const char *path, const unsigned char *p, size_t n,
                             kiln_err *err) {
    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return cannot_write(path, err);
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return KILN_OK;
}

/* An entry's bytes on their way: while one block is hashed, the next is read. */
typedef struct copying {
    unsigned char *block[2];
    kiln_sha256 h;
    const void *next; /* to be hashed */
    size_t next_bytes;
    kiln_task task;
} copying;

static void hash_next(void *user) {
    copying *c = user;
    kiln_sha256_add(&c->h, c->next, c->next_bytes);
}

/* In the order of calls; the bytes are borrowed until the next one, or a wait for the
 * task. What is less than a block is hashed sooner than a thread is worth. */
static void hash_beside(copying *c, const void *p, size_t n) {
    KILN_ASSERT(n <= BLOCK_BYTES, "a block of %zu bytes", n);
    kiln_task_wait(&c->task);
    c->next = p;
    c->next_bytes = n;
    if (n == BLOCK_BYTES)
        kiln_task_start(&c->task, hash_next, c);
    else
        hash_next(c);
}

static kiln_status copy_blocks(copying *c, kiln_tar_reader *r, int fd, const char *path,
                               kiln_err *err) {
    const double all_mb = (double)r->left * 1e-6;
    const bool is_large = r->left > BLOCK_BYTES;
    for (int i = 0; r->left > 0; i ^= 1) {
        if (is_large)
            kiln_progress_step("opening the package", "MB",
                               all_mb - (double)r->left * 1e-6, all_mb, NULL);
        const size_t n = r->left < BLOCK_BYTES ? (size_t)r->left : BLOCK_BYTES;
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(kiln_tar_read(r, c->block[i], n, err));
        hash_beside(c, c->block[i], n);
        KILN_TRY(write_all(fd, path, c->block[i], n, err));
    }
    return KILN_OK;
}

/* Of what could be had, half: whoever runs the package needs memory too. */
static bool fits_in_memory(const kiln_package_list *l) {
    return kiln_package_list_bytes(l) <= kiln_memory_available() / 2;
}

static bool has_memory_files(kiln_arena *a) {
    const char *path = NULL;
    int fd = -1;
    const bool has = kiln_memory_file(a, &fd, &path);
    if (has)
        close(fd);
    return has;
}

/* A link to a file in memory. */
static int make_held(kiln_arena *a, const char *path) {
    const char *in_memory = NULL;
    int fd = -1;
    if (!kiln_memory_file(a, &fd, &in_memory)) {
        errno = ENOMEM;
        return -1;
    }
    if (symlink(in_memory, path) == 0)
        return fd;
    close(fd);
    return -1;
}

static kiln_status make_file(kiln_arena *a, unpack *u, const char *name,
                             const char **path, int *fd, kiln_err *err) {
    *path = kiln_path_join(a, u->folder, name);
    KILN_TRY(kiln_dir_make(kiln_path_dir(a, *path), err));
    *fd = u->is_held
              ? make_held(a, *path)
              : open(*path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd < 0)
        return cannot_write(*path, err);
    KILN_ASSERT(u->n_fds < sizeof u->fd / sizeof u->fd[0], "%zu entries are open",
                u->n_fds);
    u->fd[u->n_fds++] = *fd;
    return KILN_OK;
}

static kiln_status write_entry(kiln_arena *a, unpack *u, kiln_tar_reader *r,
                               const kiln_package_entry *want, copying *c,
                               kiln_err *err) {
    char sha256[KILN_SHA256_HEX];
    const char *path = NULL;
    int fd = -1;
    KILN_TRY(make_file(a, u, want->name, &path, &fd, err));
    kiln_sha256_init(&c->h);
    const kiln_status st = copy_blocks(c, r, fd, path, err);
    kiln_task_wait(&c->task);
    if (st != KILN_OK)
        return st;
    kiln_sha256_hex(&c->h, sha256);
    if (strcmp(want->sha256, sha256) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': its SHA-256 is not the manifest's", want->name);
    return KILN_OK;
}

/* Whose hash nobody knows. */
static kiln_status write_manifest(kiln_arena *a, unpack *u, kiln_tar_reader *r,
                                  kiln_err *err) {
    kiln_str text;
    const char *path = NULL;
    int fd = -1;
    KILN_TRY(kiln_package_take_manifest(a, r, &u->list, &text, err));
    KILN_TRY(kiln_package_check_limits(text.n + kiln_package_list_bytes(&u->list),
                                       u->archive_bytes, err));
    u->is_held = u->how == HELD && has_memory_files(a) && fits_in_memory(&u->list);
    KILN_TRY(make_file(a, u, KILN_ENTRY_MANIFEST, &path, &fd, err));
    return write_all(fd, path, (const unsigned char *)text.p, text.n, err);
}

static kiln_status is_not_listed(const kiln_tar_reader *r, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "entry '%s' is not what the manifest lists there", r->name);
}

static kiln_status extract(kiln_arena *a, kiln_tar_source tar, void *user,
                           kiln_err *err) {
    unpack *u = user;
    kiln_tar_reader r = kiln_tar_reader_make(tar);
    copying c = {.block = {kiln_arena_alloc_raw(a, BLOCK_BYTES),
                           kiln_arena_alloc_raw(a, BLOCK_BYTES)}};
    kiln_tar_entry e;
    bool found = false;
    KILN_TRY(write_manifest(a, u, &r, err));
    for (size_t i = 0; i < u->list.n_entries; i++) {
        const kiln_package_entry *want = &u->list.entry[i];
        KILN_TRY(kiln_tar_next(&r, &e, &found, err));
        if (!found || strcmp(e.name, want->name) != 0 || e.bytes != want->bytes)
            return is_not_listed(&r, err);
        KILN_TRY(write_entry(a, u, &r, want, &c, err));
    }
    KILN_TRY(kiln_tar_next(&r, &e, &found, err));
    return found ? is_not_listed(&r, err) : KILN_OK;
}

/* The survey's reason, if it has one, is the first and says more: which entries are
 * missing, which come too often. */
static kiln_status tell_why(kiln_arena *a, kiln_str frame, unpack *u, kiln_status st,
                            kiln_err *err) {
    kiln_err why = {0};
    if (st != KILN_ERR_PARSE && st != KILN_ERR_LIMIT)
        return st;
    const kiln_status first = with_tar(a, frame, survey, u, &why);
    if (first == KILN_OK)
        return st;
    *err = why;
    return first;
}

/* ---- the folder itself ----------------------------------------------------------- */

static kiln_status refuse_existing(const char *folder, kiln_err *err) {
    struct stat st;
    if (lstat(folder, &st) == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' exists; name a folder that does not, or remove it",
                         folder);
    return KILN_OK;
}

/* What was renamed is on disk once the folder that holds it is. */
static kiln_status sync_folder(const char *path, kiln_err *err) {
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = fd < 0 ? errno : fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    if (fd >= 0)
        close(fd);
    if (error == 0 || error == EACCES)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_IO, "cannot write the folder '%s': %s", path,
                     strerror(error));
}

static kiln_status sync_all(kiln_arena *a, const unpack *u, kiln_err *err) {
    for (size_t i = 0; i < u->n_fds; i++)
        if (fsync(u->fd[i]) != 0)
            return cannot_write(u->folder, err);
    for (size_t i = 0; i < u->list.n_variants; i++) {
        const char *own = kiln_path_join(a, u->folder, kiln_variant_folder(a, i));
        KILN_TRY(sync_folder(kiln_path_join(a, own, "selftest"), err));
        KILN_TRY(sync_folder(own, err));
    }
    if (u->list.n_variants == 0)
        KILN_TRY(sync_folder(kiln_path_join(a, u->folder, "selftest"), err));
    return sync_folder(u->folder, err);
}

static kiln_status put_in_place(kiln_arena *a, const unpack *u, const char *folder,
                                kiln_err *err) {
    if (u->how == DURABLE)
        KILN_TRY(sync_all(a, u, err));
    for (size_t i = 0; u->is_held && i < u->n_fds; i++) {
        kiln_memory_file_huge(u->fd[i]);
        KILN_TRY(kiln_memory_file_seal(u->fd[i], err));
    }
    KILN_TRY(refuse_existing(folder, err));
    if (rename(u->folder, folder) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot make '%s': %s", folder,
                         strerror(errno));
    return u->how == DURABLE ? sync_folder(kiln_path_dir(a, folder), err) : KILN_OK;
}

/* The seal's hash is made meanwhile; a damaged archive has no other reason. */
static kiln_status extract_sealed(kiln_arena *a, kiln_str frame, const char *path,
                                  unpack *u, kiln_err *err) {
    kiln_sealing sealing;
    kiln_err damaged = {0};
    kiln_sealing_begin(&sealing, frame, path);
    kiln_status st = with_tar(a, frame, extract, u, err);
    if (kiln_sealing_end(&sealing, &damaged) != KILN_OK) {
        *err = damaged;
        return damaged.status;
    }
    return st == KILN_OK ? kiln_seal_check_frame(frame, path, err)
                         : tell_why(a, frame, u, st, err);
}

static void close_files(void *p) {
    unpack *u = p;
    for (size_t i = 0; i < u->n_fds; i++)
        close(u->fd[i]);
    u->n_fds = 0;
}

/* Each variant's folder is a package's, whose parameters are everybody's. */
static kiln_status link_params(kiln_arena *a, const unpack *u, kiln_err *err) {
    for (size_t i = 0; i < u->list.n_variants; i++) {
        const char *own = kiln_path_join(a, u->folder, kiln_variant_folder(a, i));
        const char *path = kiln_path_join(a, own, KILN_ENTRY_PARAMS);
        KILN_TRY(kiln_dir_make(own, err));
        if (symlink("../" KILN_ENTRY_PARAMS, path) != 0)
            return cannot_write(path, err);
    }
    return KILN_OK;
}

static kiln_status check_list(kiln_arena *a, const unpack *u, kiln_err *err) {
    kiln_package_facts all;
    if (u->list.n_variants > 0) {
        KILN_TRY(kiln_variants_inspect(a, u->folder, u->list.n_variants, &all, err));
        KILN_TRY(kiln_variants_check(a, &u->list, all.variant[0].facts, err));
        KILN_TRY(link_params(a, u, err));
    }
    return kiln_package_check_folder(a, u->folder, &u->list, err);
}

static kiln_status unpack_into(kiln_arena *a, kiln_str frame, const char *path,
                               const char *private, const char *folder, unpack *u,
                               kiln_err *err) {
    u->folder = kiln_path_join(a, private, "package");
    kiln_status st = extract_sealed(a, frame, path, u, err);
    if (st == KILN_OK)
        st = check_list(a, u, err);
    if (st == KILN_OK)
        st = put_in_place(a, u, folder, err);
    if (st != KILN_OK || !u->is_held)
        close_files(u);
    return st;
}

static kiln_status unpack_file(kiln_arena *a, kiln_str file, const char *path,
                               const char *folder, unpack *u, kiln_err *err) {
    kiln_str frame;
    const char *private = NULL;
    u->archive_bytes = file.n;
    KILN_TRY(kiln_seal_cut(file, path, &frame, err));
    /* Beside `folder`, so that renaming stays on one file system. */
    KILN_TRY(kiln_dir_temp_in(a, kiln_path_dir(a, folder), &private, err));
    const kiln_status st = unpack_into(a, frame, path, private, folder, u, err);
    const kiln_status removed = kiln_remove_tree(private, st == KILN_OK ? err : NULL);
    return st != KILN_OK ? st : removed;
}

/* "x/" is the folder x: a name behind the last slash is needed. */
static const char *without_slashes(kiln_arena *a, const char *folder) {
    char *copy = kiln_str_dup(a, folder);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    return copy;
}

/* u is in `a`: files in memory are closed with it. */
kiln_status kiln_package_unpack_by(kiln_arena *a, const char *path, const char *folder,
                                   const kiln_unpack_options *o,
                                   kiln_package_facts *out, kiln_err *err) {
    kiln_arena scratch = {0};
    unpack *u = kiln_new(a, unpack);
    kiln_str file;
    u->how = o->is_held ? HELD : o->is_for_now ? FOR_NOW : DURABLE;
    folder = without_slashes(a, folder);
    kiln_status st = refuse_existing(folder, err);
    if (st == KILN_OK)
        st = take_file(&scratch, a, path, o->keys, o->says, &file, err);
    if (st == KILN_OK) {
        st = unpack_file(&scratch, file, path, folder, u, err);
        if (st != KILN_OK)
            kiln_note(err, "unpacking the package '%s'", path);
    }
    kiln_arena_fini(&scratch);
    if (u->is_held)
        kiln_arena_defer(a, close_files, u);
    if (st == KILN_OK && out != NULL)
        st = kiln_package_inspect_folder(a, folder, out, err);
    return st;
}

kiln_status kiln_package_unpack(kiln_arena *a, const char *path, const char *folder,
                                kiln_package_facts *out, kiln_err *err) {
    const kiln_unpack_options o = {.is_for_now = false};
    return kiln_package_unpack_by(a, path, folder, &o, out, err);
}

kiln_status kiln_package_unpack_for_now(kiln_arena *a, const char *path,
                                        const char *folder, kiln_package_facts *out,
                                        kiln_err *err) {
    const kiln_unpack_options o = {.is_for_now = true};
    return kiln_package_unpack_by(a, path, folder, &o, out, err);
}

kiln_status kiln_package_hold(kiln_arena *a, const char *path, const char *folder,
                              kiln_package_facts *out, kiln_err *err) {
    const kiln_unpack_options o = {.is_held = true};
    return kiln_package_unpack_by(a, path, folder, &o, out, err);
}
