/* Tensor expressions over fewer axes: neighbours that every stage walks through as if
 * they were one become one. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_COLLAPSE_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_COLLAPSE_H

#include "compiler/tensor/tensor.h"

/* args: placeholders, then outputs (n_inputs of n_args are placeholders); each is
 * replaced by one with the same elements in the same order, so that buffers stay what
 * they are. Axes of one element go too. */
kiln_status kiln_te_collapse(kiln_arena *a, const kiln_te **args, size_t n_args,
                             size_t n_inputs, kiln_err *err);

#endif
