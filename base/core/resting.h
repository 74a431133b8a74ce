/* Memory of mapped files that need not stay: who has read a large file once says so, and
 * does not keep all of it in memory beside what was made of it. */
#ifndef KILN_BASE_RESTING_H
#define KILN_BASE_RESTING_H

#include "base/core/arena.h"

/* Pages of files that the arena has mapped, from p on, are read again when somebody looks
 * at them. What no mapping of the arena has is left alone. */
void kiln_file_rest(const kiln_arena *a, const void *p, size_t bytes);

/* ---- what it is made of ------------------------------------------------------------ */

/* The newest deferred call of fn (kiln_arena_defer) whose p is accepted; NULL: there is
 * none. */
void *kiln_arena_find_deferred(const kiln_arena *a, void (*fn)(void *),
                               bool (*is_it)(const void *p, const void *user),
                               const void *user);
/* Whole pages of a read-only mapping of a file. */
void kiln_memory_forget(void *p, size_t bytes);

#endif
