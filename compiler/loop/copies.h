/* Buffers that get one more axis in front: a copy for each virtual thread, or for each
 * half of a double buffer. Inside compiler/loop. */
#ifndef KILN_COMPILER_LOOP_COPIES_H
#define KILN_COMPILER_LOOP_COPIES_H

#include "compiler/loop/loop.h"

typedef struct kiln_copied {
    const kiln_buffer *old, *made; /* made: an axis of copies in front */
} kiln_copied;

typedef struct kiln_copies {
    kiln_arena *arena;
    const kiln_expr *which; /* copy that accesses go to: i64, from 0 */
    KILN_VEC(kiln_copied) list;
} kiln_copies;

/* `n` copies of b from here on. NULL: b has as many axes as a buffer may have. */
const kiln_buffer *kiln_copies_make(kiln_copies *c, const kiln_buffer *b, int64_t n);
/* What holds the copies of b; b itself where it has none. */
const kiln_buffer *kiln_copies_of(const kiln_copies *c, const kiln_buffer *b);
/* s with its accesses to buffers that have copies going to copy `which`. */
const kiln_stmt *kiln_copies_used(kiln_copies *c, const kiln_stmt *s);

#endif
