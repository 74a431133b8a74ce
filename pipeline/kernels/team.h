/* Who runs kernels in this process. */
#ifndef KILN_PIPELINE_KERNELS_TEAM_H
#define KILN_PIPELINE_KERNELS_TEAM_H

#include "base/base.h"
#include "runtime/pool.h"

/* Who runs kernels. Zeroed: the caller alone. */
typedef struct kiln_team {
    kiln_pool *pool; /* closed with the arena; NULL: parallel loops run in place */
} kiln_team;
int kiln_team_size(kiln_team t);

#endif
