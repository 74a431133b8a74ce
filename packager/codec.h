/* zstd (RFC 8878), in and out, by libarchive: codec.c alone includes its header.
 *
 * Level and number of threads are fixed, so that equal bytes in give equal bytes out.
 */
#ifndef KILN_PACKAGER_CODEC_H
#define KILN_PACKAGER_CODEC_H

#include "base/base.h"

/* Level: of weights little more can be had at any price (7 to 9%), and 3 is ten times
 * faster than 9. */
enum { KILN_ZSTD_LEVEL = 3 };

/* Where compressed bytes go. */
typedef struct kiln_sink {
    kiln_status (*add)(void *user, const void *p, size_t n, kiln_err *err);
    void *user;
} kiln_sink;

/* "1.5.4": of the library that compresses. */
const char *kiln_zstd_version(void);

typedef struct kiln_zstd_writer kiln_zstd_writer;
kiln_status kiln_zstd_writer_open(kiln_arena *a, kiln_sink sink, kiln_zstd_writer **out,
                                  kiln_err *err);
kiln_status kiln_zstd_writer_add(kiln_zstd_writer *w, const void *p, size_t n,
                                 kiln_err *err);
/* Writes the frame's end. */
kiln_status kiln_zstd_writer_finish(kiln_zstd_writer *w, kiln_err *err);
void kiln_zstd_writer_close(kiln_zstd_writer *w); /* NULL is fine */

typedef struct kiln_zstd_reader kiln_zstd_reader;
/* `bytes` is borrowed until the reader is closed. */
kiln_status kiln_zstd_reader_open(kiln_arena *a, kiln_str bytes, kiln_zstd_reader **out,
                                  kiln_err *err);
/* Fills p but for the end of the data: *got < n. user: the reader (kiln_tar_source). */
kiln_status kiln_zstd_reader_read(void *user, void *p, size_t n, size_t *got,
                                  kiln_err *err);
void kiln_zstd_reader_close(kiln_zstd_reader *r); /* NULL is fine */

#endif
