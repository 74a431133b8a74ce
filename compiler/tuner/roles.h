/* What encodings of a lowered program share: magnitudes, and what accesses of one role
 * (compiler/loop/loop_nest.h) touch at each loop. Inside compiler/tuner. */
#ifndef KILN_COMPILER_TUNER_ROLES_H
#define KILN_COMPILER_TUNER_ROLES_H

#include "compiler/loop/loop_nest.h"

/* log2 of what counts something; 0 below 1. */
float kiln_magnitude(double x);
/* Of a step in elements: 0 for none, 1 + log2 of its length for all others, so that 0,
 * 1 and -1 are told apart from large ones. */
float kiln_step_magnitude(int64_t step);

/* Of one run of a loop: different elements, and accesses to them. Of the roles ALL and
 * REGISTERS both are bytes. */
typedef struct kiln_role_use {
    double touched, accesses;
} kiln_role_use;
/* out: for each loop of k. Of several accesses to a buffer the largest counts, of
 * several buffers the sum. */
void kiln_role_uses(kiln_arena *scratch, const kiln_nest *k, int role,
                    kiln_role_use *out);
/* Of all buffers that some access with the role touches, the bytes that it does. */
double kiln_role_bytes(const kiln_nest *k, int role);

#endif
