/* What stages leave in tail lanes: inside compiler/tensor (compute.c). */
#ifndef KILN_COMPILER_TENSOR_TAILS_H
#define KILN_COMPILER_TENSOR_TAILS_H

#include "compiler/tensor/compute.h"

/* The range of an index over the axes of a stage; false: not known. */
bool kiln_index_bounds(const kiln_te *te, const kiln_expr *e, int64_t *lo, int64_t *hi);

/* Does the body, a stage's of type t, read nothing but elements and tail lanes that
 * exist, wherever it is evaluated? */
bool kiln_tails_exist(const kiln_te *te, const kiln_expr *body);
/* Are tail lanes of all that it reads zero? */
bool kiln_tails_are_read_as_zero(const kiln_compute_cx *cx, const kiln_expr *body);
/* Is it zero in the tail lanes of t when nothing guards it, as what it reads is zero
 * there? */
bool kiln_tails_stay_zero(const kiln_compute_cx *cx, const kiln_te *te,
                          const kiln_type *t, const kiln_expr *body);

#endif
