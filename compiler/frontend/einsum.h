/* Einstein sums, as ONNX and TensorFlow spell them: letters name axes, "..." those that
 * broadcast, and what "->" does not name is summed. */
#ifndef KILN_COMPILER_FRONTEND_EINSUM_H
#define KILN_COMPILER_FRONTEND_EINSUM_H

#include "compiler/frontend/compose.h"

/* "ij,jk->ik" of n_in values. KILN_ERR_PARSE or KILN_ERR_SHAPE where the equation is none
 * or does not fit them. After a failure: any value, or NULL without inputs. */
kiln_value *kiln_compose_einsum(kiln_compose *c, kiln_str equation,
                                kiln_value *const *in, int n_in);

#endif
