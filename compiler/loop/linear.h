/* Linear forms of i64 expressions: constant + sum of factor * term. Inside
 * compiler/loop. */
#ifndef KILN_COMPILER_LOOP_LINEAR_H
#define KILN_COMPILER_LOOP_LINEAR_H

#include "compiler/loop/loop.h"

enum { KILN_LINEAR_MAX = 24 }; /* terms; more than any index here has */

typedef struct kiln_linear {
    int64_t constant;
    int n;
    struct {
        const kiln_expr *expr; /* no sum, no constant, no multiple */
        int64_t factor;        /* not 0 */
    } term[KILN_LINEAR_MAX];
} kiln_linear;

/* False for other dtypes, vectors, too many terms, or a constant outside +-2^62. Equal
 * terms are one. */
bool kiln_linear_of(const kiln_expr *e, kiln_linear *out);
/* x += factor * y; false as above. */
bool kiln_linear_add(kiln_linear *x, const kiln_linear *y, int64_t factor);
kiln_interval kiln_linear_interval(const kiln_ranges *r, const kiln_linear *l);
/* The expression again, terms in order of first appearance, subtractions written as
 * such. */
const kiln_expr *kiln_linear_expr(kiln_arena *a, const kiln_linear *l);

#endif
