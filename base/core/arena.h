/* Arenas: memory with one lifetime, released all at once (house style, section 4).
 *
 * Three lifetimes, always passed, never global: process, model, scratch. Sanitizer
 * builds poison released memory; KILN_ARENA_EACH=1 in the environment gives each object
 * its own malloc, so that a stale pointer is reported where it is used.
 */
#ifndef KILN_BASE_ARENA_H
#define KILN_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/attr.h"

typedef struct kiln_arena_block kiln_arena_block;
typedef struct kiln_arena_cleanup kiln_arena_cleanup;

/* A zeroed struct is an empty arena, ready for use. Not thread-safe: one thread at a
 * time. */
typedef struct kiln_arena {
    kiln_arena_block *head;      /* newest block for small objects; owned */
    kiln_arena_block *big;       /* newest object with a block of its own; owned */
    kiln_arena_block *spare;     /* emptied blocks, kept for reuse; owned */
    kiln_arena_block *kept;      /* the same of large objects, newest first; owned */
    kiln_arena_cleanup *cleanup; /* newest deferred call; lives in the arena */
    size_t bytes;      /* handed out since the last reset, alignment included */
    size_t peak_bytes; /* largest `bytes` ever seen */
    size_t kept_bytes, keep_bytes; /* of `kept`: so many, and at most */
} kiln_arena;

/* Where an arena stood: kiln_arena_rewind releases all that came later. */
typedef struct kiln_arena_mark {
    kiln_arena_block *head;
    kiln_arena_block *big;
    size_t used;
    kiln_arena_cleanup *cleanup;
    size_t bytes;
} kiln_arena_mark;

void kiln_arena_init(kiln_arena *a);
/* Runs deferred calls in reverse and gives all memory back to the system. Accepts a
 * zeroed struct and may be called twice. */
void kiln_arena_fini(kiln_arena *a);
/* As fini, but keeps the blocks of small objects for reuse, as rewind does: the next
 * round of the same work takes none from the system. Objects above 256 KiB go back to
 * it. */
void kiln_arena_reset(kiln_arena *a);

/* From now on up to so many bytes of objects above 256 KiB are kept, too, until fini: for
 * rounds of work that take such each time, where fresh pages cost more than what is done
 * with them. */
void kiln_arena_keep(kiln_arena *a, size_t bytes);

kiln_arena_mark kiln_arena_save(const kiln_arena *a);
void kiln_arena_rewind(kiln_arena *a, kiln_arena_mark mark);

/* Zeroed memory aligned to 64 bytes when bytes >= 64, else to 16. bytes == 0 gives a
 * valid pointer to nothing. Ends the process when there is no memory, so never NULL;
 * hold sizes from outside against a limit first. Objects above 256 KiB get fresh pages
 * that are zero already and are not touched: what nobody writes costs no memory. */
void *kiln_arena_alloc(kiln_arena *a, size_t bytes) KILN_RETURNS_NONNULL;
/* The same without zeroing, for large buffers that are written whole. */
void *kiln_arena_alloc_raw(kiln_arena *a, size_t bytes) KILN_RETURNS_NONNULL;
/* A copy of `bytes` bytes at `p`. */
void *kiln_arena_dup(kiln_arena *a, const void *p, size_t bytes) KILN_RETURNS_NONNULL;

/* Calls fn(p) at rewind, reset or fini, newest first: for what an arena object owns
 * outside. */
void kiln_arena_defer(kiln_arena *a, void (*fn)(void *), void *p);

/* n objects of `size` bytes; the product is checked (an overflow counts as out of
 * memory). No other place multiplies sizes: use kiln_array. */
void *kiln_arena_array(kiln_arena *a, size_t n, size_t size) KILN_RETURNS_NONNULL;

#define kiln_array(a, T, n) ((T *)kiln_arena_array((a), (size_t)(n), sizeof(T)))
#define kiln_new(a, T) ((T *)kiln_arena_alloc((a), sizeof(T)))

#endif
