/* HDF5 as far as Keras writes it: groups, attributes of text, arrays of numbers. The
 * wrapper of libhdf5: nothing else includes its header.
 *
 * The library reads the mapped file in place. It is not proof against hostile files;
 * what is asked of it here is held small: no links, external or virtual data, and no
 * filters from elsewhere. */
#ifndef KILN_COMPILER_FRONTEND_KERAS_HDF5_H
#define KILN_COMPILER_FRONTEND_KERAS_HDF5_H

#include "compiler/frontend/import_cx.h"

typedef struct kiln_hdf5 kiln_hdf5;

/* Borrows the bytes; closed when `a` is reset. */
kiln_status kiln_hdf5_open(kiln_arena *a, kiln_str bytes, kiln_hdf5 **out,
                           kiln_err *err);
/* A group or dataset, by hard links alone. "/" is there. */
bool kiln_hdf5_has(const kiln_hdf5 *h, const char *path);
/* One text of an attribute, or a list of them, copied into `a`. Where there is no such
 * attribute, an out->p of NULL, and a list of none. */
kiln_status kiln_hdf5_text(const kiln_hdf5 *h, kiln_arena *a, const char *path,
                           const char *attr, kiln_str *out, kiln_err *err);
kiln_status kiln_hdf5_texts(const kiln_hdf5 *h, kiln_arena *a, const char *path,
                            const char *attr, const char *const **out, size_t *n,
                            kiln_err *err);
/* A dataset of numbers as f32: a view into the file where it lies so, else computed
 * (kiln_import_spend). */
kiln_status kiln_hdf5_numbers(const kiln_hdf5 *h, kiln_import_cx *cx, const char *path,
                              kiln_tensor *out);

#endif
