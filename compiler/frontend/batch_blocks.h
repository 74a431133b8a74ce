/* Spatial axes that are cut into blocks, whose elements lie in the batch: SpaceToBatchND and
 * BatchToSpaceND, as TensorFlow has them. */
#ifndef KILN_COMPILER_FRONTEND_BATCH_BLOCKS_H
#define KILN_COMPILER_FRONTEND_BATCH_BLOCKS_H

#include "compiler/frontend/compose.h"

typedef struct kiln_blocks {
    const int64_t *block,
        *pair; /* a size for each of the first spatial axes, from 1 on;
                                    its margins before and behind */
    size_t n_block, n_pair;
} kiln_blocks;

/* x [N, spatial..., rest]: zeros around, each axis cut into blocks, and what lies inside of
 * them moved to the batch. KILN_ERR_SHAPE where blocks do not fit. */
kiln_value *kiln_compose_space_to_batch(kiln_compose *c, kiln_value *x,
                                        const kiln_blocks *b);
/* Back: the parts of the batch go between the elements, and the margins are cut off. */
kiln_value *kiln_compose_batch_to_space(kiln_compose *c, kiln_value *x,
                                        const kiln_blocks *b);

#endif
