/* Where whole numbers come from: bytes less a zero point, moved about. Inside
 * compiler/pass: narrow_convs.c, narrow_products.c. */
#ifndef KILN_COMPILER_PASS_BYTE_SOURCE_H
#define KILN_COMPILER_PASS_BYTE_SOURCE_H

#include "compiler/pass/pass_internal.h"

enum { KILN_BYTE_SOURCE_MOVES = 4 };

/* v = moves(i32(x) - zero), or - by. */
typedef struct kiln_byte_source {
    kiln_value *x; /* 8 bits */
    int64_t zero;
    kiln_value *by; /* a zero point that is computed, one element; NULL: `zero` is it */
    const kiln_node *move[KILN_BYTE_SOURCE_MOVES]; /* the last first */
    int n_moves;                                   /* transpositions and reshapes */
} kiln_byte_source;

/* False: it is no such value, or its zero point is none of x's numbers. */
bool kiln_byte_source_of(kiln_value *v, kiln_byte_source *out);
/* The moves again, in their order, on *v, which has the shape of x. */
kiln_status kiln_byte_source_move(kiln_sweep *s, const kiln_byte_source *x,
                                  kiln_value **v);

#endif
