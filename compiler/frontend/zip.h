/* ZIP archives as Keras and PyTorch write them: entries that are stored, found by the
 * directory at the end; those of more than 4 GB too (ZIP64).
 * Source: PKWARE, ".ZIP File Format Specification" 6.3, sections 4.3.7, 4.3.12 to 4.3.16
 * and 4.5.3. */
#ifndef KILN_COMPILER_FRONTEND_ZIP_H
#define KILN_COMPILER_FRONTEND_ZIP_H

#include "base/base.h"

typedef struct kiln_zip_entry {
    kiln_str name;  /* a view */
    bool is_stored; /* else packed: `bytes` is empty */
    kiln_str bytes; /* a view; p NULL: they lie outside of the archive */
    bool is_deflated;
    kiln_str packed;  /* of what is deflated: a view, as `bytes` */
    uint64_t n_bytes; /* once unpacked, as the directory says */
} kiln_zip_entry;

/* Goes through the directory. `at` is 0 first; false: there are no more. */
bool kiln_zip_next(kiln_str zip, uint64_t *at, kiln_zip_entry *out);
/* An entry by its whole name; out->p NULL: there is none. KILN_ERR_UNSUPPORTED where it
 * is packed: `writer` ("Keras") stores it. */
kiln_status kiln_zip_find(kiln_str zip, const char *name, const char *writer,
                          kiln_str *out, kiln_err *err);
/* The same without what is packed or damaged. */
bool kiln_zip_has(kiln_str zip, const char *name);
/* Does it begin as an archive does? */
bool kiln_zip_is(kiln_str bytes);

#endif
