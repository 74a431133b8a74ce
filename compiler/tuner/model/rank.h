/* Gradients of the objectives that cost models learn. Inside compiler/tuner. */
#ifndef KILN_COMPILER_TUNER_MODEL_RANK_H
#define KILN_COMPILER_TUNER_MODEL_RANK_H

#include "compiler/tuner/tuner.h"

/* First and second derivative of the loss by each prediction; both have an
 * entry for each sample.
 *   rank       for each pair (i faster than j) of a group: w * log(1 + exp(f_j - f_i)),
 *              w = score_i - score_j, divided by the number of rows that each is
 *              compared with, so that a row counts the same in groups of all sizes
 *   regression (f_i - score_i)^2 / 2 */
void kiln_objective_gradient(kiln_arena *scratch, kiln_objective o,
                             const kiln_samples *s, const float *predicted,
                             float *gradient, float *hessian);

#endif
