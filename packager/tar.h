/* The one form of tar that packages have: POSIX ustar (IEEE Std 1003.1, pax, "ustar
 * Interchange Format"), regular files of mode 0644, owner 0, no names of people, all of
 * one time. Every header is a function of name, size and time; what differs from it in
 * any bit is refused, and the message says how it differs. So libarchive, which packs
 * and unpacks the compressed bytes (codec.c), has no part in this: it could write such
 * headers, but it reads whatever a tar can be, and would mend silently what has to be
 * refused. */
#ifndef KILN_PACKAGER_TAR_H
#define KILN_PACKAGER_TAR_H

#include "base/base.h"

enum { KILN_TAR_BLOCK = 512, KILN_TAR_NAME = 100 /* with its end */ };
/* Sizes and times are eleven octal digits. */
#define KILN_TAR_MAX_NUMBER (((uint64_t)1 << 33) - 1)

typedef struct kiln_tar_entry {
    char name[KILN_TAR_NAME];
    uint64_t bytes;
    int64_t time_s;
} kiln_tar_entry;

/* name: shorter than KILN_TAR_NAME; bytes, time_s: at most KILN_TAR_MAX_NUMBER. */
void kiln_tar_header(const kiln_tar_entry *e, unsigned char block[KILN_TAR_BLOCK]);
/* Zeros that follow so many bytes of an entry. */
size_t kiln_tar_padding(uint64_t bytes);

/* Where the archive's bytes come from: fills p but for the end; *got < n is the end. */
typedef struct kiln_tar_source {
    kiln_status (*read)(void *user, void *p, size_t n, size_t *got, kiln_err *err);
    void *user;
} kiln_tar_source;

typedef struct kiln_tar_reader {
    kiln_tar_source source;
    uint64_t left; /* of the current entry */
    size_t padding;
    int n_entries;
    int64_t time_s; /* of the first entry: of all */
    char name[KILN_TAR_NAME];
} kiln_tar_reader;

kiln_tar_reader kiln_tar_reader_make(kiln_tar_source source);
/* The next entry's header, past what is left of the current one; false at the end,
 * which is two zero blocks and nothing behind them. */
kiln_status kiln_tar_next(kiln_tar_reader *r, kiln_tar_entry *out, bool *found,
                          kiln_err *err);
/* The next n bytes of the entry; n is at most what is left. */
kiln_status kiln_tar_read(kiln_tar_reader *r, void *p, size_t n, kiln_err *err);

#endif
