/* Flatbuffers for tests: a tree of tables is put together, then written out forwards.
 * Everything is made in the test arena. */
#ifndef KILN_TESTS_SUPPORT_MODEL_FLATBUFFER_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_FLATBUFFER_WRITER_H

#include "base/base.h"

typedef struct kiln_fbw_table kiln_fbw_table;
typedef struct kiln_fbw_list kiln_fbw_list; /* a vector of tables */

kiln_fbw_table *kiln_fbw_new(void);
/* Fields of a table, each slot once. `bytes`: 1, 2, 4 or 8. */
void kiln_fbw_int(kiln_fbw_table *t, unsigned slot, size_t bytes, int64_t v);
void kiln_fbw_float(kiln_fbw_table *t, unsigned slot, float v);
void kiln_fbw_text(kiln_fbw_table *t, unsigned slot, const char *z);
/* n elements of so many bytes each, as they lie in memory. */
void kiln_fbw_vector(kiln_fbw_table *t, unsigned slot, const void *v, size_t n,
                     size_t bytes);
void kiln_fbw_ints(kiln_fbw_table *t, unsigned slot, const int32_t *v, size_t n);
kiln_fbw_table *kiln_fbw_sub(kiln_fbw_table *t, unsigned slot);
kiln_fbw_list *kiln_fbw_tables(kiln_fbw_table *t, unsigned slot);
kiln_fbw_table *kiln_fbw_add(kiln_fbw_list *l);
/* The file, with an identifier of four letters. */
kiln_str kiln_fbw_write(const kiln_fbw_table *root, const char *identifier);

#endif
