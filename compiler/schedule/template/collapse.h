/* Tensor expressions over fewer axes: neighbours that every stage walks through as if
 * they were one become one; and over more, where one is walked through as if it were two.
 * Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_COLLAPSE_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_COLLAPSE_H

#include "compiler/tensor/tensor.h"

/* args: placeholders, then outputs (n_inputs of n_args are placeholders); each is
 * replaced by one with the same elements in the same order, so that buffers stay what
 * they are. Axes of one element go too. */
kiln_status kiln_te_collapse(kiln_arena *a, const kiln_te **args, size_t n_args,
                             size_t n_inputs, kiln_err *err);
/* Of one stage without reductions: an axis that is used divided, and not otherwise,
 * becomes two, as above. At most one does. */
kiln_status kiln_te_uncollapse(kiln_arena *a, const kiln_te **args, size_t n_args,
                               size_t n_inputs, kiln_err *err);

#endif
