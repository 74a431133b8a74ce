/* What work costs where nobody measured it, by the profile's machine model. */
#ifndef KILN_COMPILER_NETWORK_ESTIMATE_H
#define KILN_COMPILER_NETWORK_ESTIMATE_H

#include "compiler/network/network_choose.h"

/* Nanoseconds of one call on one core: work done as chosen, with activations that lie in
 * these layouts (inputs of its graph, then outputs; the graph's own types are row-major
 * or not looked at). Caches are as between the steps of a network. Positive and finite.
 *
 * Estimates compare with one another, best of all those of one work; against what was
 * measured they are put on a scale by whoever has both. */
double kiln_work_estimate(const kiln_profile *p, const kiln_op_work *w,
                          const kiln_choice *c, const kiln_layout *layout);

/* The same of bringing a value from one layout into another: types of one shape. 0 where
 * each element lies in the same place in both. */
double kiln_conversion_estimate(const kiln_profile *p, const kiln_type *from,
                                const kiln_type *to);
/* The same of moving so many bytes. */
double kiln_copy_estimate(const kiln_profile *p, int64_t bytes);

#endif
