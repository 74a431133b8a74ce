/* Files: mapped reading, atomic writing, folders. Messages name the path and the
 * system's reason. */
#ifndef KILN_BASE_FILE_H
#define KILN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/core.h"

/* What to call a failed open: KILN_ERR_MISSING where the path leads to nothing, else
 * KILN_ERR_IO. */
kiln_status kiln_errno_status(int error);
/* What helps where something could not be written, to be put behind the reason: "; make
 * room there, ..."; "" where that is not plain. */
const char *kiln_errno_remedy(int error);

/* Maps a regular file read-only; the mapping is released with the arena. An empty file
 * gives n == 0 and a valid pointer. KILN_ERR_LIMIT above max_bytes (0: no limit),
 * KILN_ERR_MISSING where there is none, KILN_ERR_IO otherwise. */
kiln_status kiln_file_map(kiln_arena *a, const char *path, uint64_t max_bytes,
                          kiln_str *out, kiln_err *err);

/* Writes the whole file or leaves what was there: a temporary file in the same folder,
 * fsync, rename. The folder must exist. Devices, pipes and open descriptors by their
 * paths ("/dev/null", "/dev/stdout", "/dev/fd/3") are written through as they are; a
 * pipe waits for its reader. Temporary files in the folder that killed processes left
 * go. */
kiln_status kiln_file_write(const char *path, const void *p, size_t bytes,
                            kiln_err *err);

/* The pieces of the same for what is written bit by bit: write to *out, then commit or
 * abort. */
typedef struct kiln_file_writer kiln_file_writer;
kiln_status kiln_file_writer_open(kiln_file_writer **out, const char *path,
                                  kiln_err *err);
kiln_status kiln_file_writer_add(kiln_file_writer *w, const void *p, size_t bytes,
                                 kiln_err *err);
/* Renames into place and closes, also on failure (then nothing is left behind). */
kiln_status kiln_file_writer_commit(kiln_file_writer *w, kiln_err *err);
void kiln_file_writer_close(kiln_file_writer *w); /* abort; NULL is fine */

bool kiln_file_exists(const char *path);
bool kiln_dir_exists(const char *path);
/* All missing parents too; an existing folder is fine. */
kiln_status kiln_dir_make(const char *path, kiln_err *err);
/* Names in the folder without . and .., sorted by byte value, so that the order is the
 * same on every machine. */
kiln_status kiln_dir_list(kiln_arena *a, const char *path, char ***names,
                          size_t *n_names, kiln_err *err);
/* A new folder that only we may enter, in TMPDIR (else /tmp); removed with all that is
 * in it when the arena is reset. */
kiln_status kiln_dir_temp(kiln_arena *a, const char **out, kiln_err *err);
/* The same in a folder of the caller's, under a hidden name: for what is renamed into
 * its place there. */
kiln_status kiln_dir_temp_in(kiln_arena *a, const char *parent, const char **out,
                             kiln_err *err);
/* Removes such folders in TMPDIR of processes that ended without doing so (SIGKILL);
 * returns how many. Those of living ones, of other users, and other folders stay. */
int kiln_dir_temp_sweep(void);
/* An empty file in memory, open for writing, gone when it is closed. `path` (in the
 * arena) leads to it while it is open, for the processes of this user too. False where
 * the system has no such thing. */
bool kiln_memory_file(kiln_arena *a, int *fd, const char **path);
/* Its bytes stay as they are: nobody can write to it any more. Waits up to three seconds
 * for whoever is about to. */
kiln_status kiln_memory_file_seal(int fd, kiln_err *err);
/* What any such file holds by now is moved into huge pages, as files lie that a disk's
 * system wrote whole: one core reads it again at 30 GB/s in place of 20 (64 MiB, Zen 4).
 * It stays where it is where the system has none for it (Linux before 6.1). */
void kiln_memory_file_huge(int fd);
/* Bytes that could be had now without taking them from anybody, as far as the system
 * says: of the machine, or what this process's group may have. 0: not known. */
uint64_t kiln_memory_available(void);
/* A file or a whole tree; links are removed, not followed; a missing path is fine. */
kiln_status kiln_remove_tree(const char *path, kiln_err *err);

/* "dir" + "name" with one slash between; an absolute name stands alone. */
char *kiln_path_join(kiln_arena *a, const char *dir, const char *name);
char *kiln_path_dir(kiln_arena *a, const char *path); /* "." when there is no slash */
const char *kiln_path_base(const char *path);         /* view into `path` */
/* Absolute, without links and "..": of something that is there. */
kiln_status kiln_path_real(kiln_arena *a, const char *path, const char **out,
                           kiln_err *err);
/* True for a relative path without empty, "." or ".." parts, backslashes or control
 * characters: a path from an untrusted file that stays below the folder it is joined
 * to. */
bool kiln_path_is_contained(kiln_str path);

/* Tries to lock an open file for this process: until any descriptor of it that this
 * process has is closed, or the process ends. *holder: 0: it is ours; else the process
 * that has it, -1 where the system does not say which. KILN_ERR_IO where files cannot
 * be locked; `path` is for messages. */
kiln_status kiln_file_lock(int fd, const char *path, long *holder, kiln_err *err);

#endif
