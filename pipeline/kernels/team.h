/* Who runs kernels in this process. */
#ifndef KILN_PIPELINE_KERNELS_TEAM_H
#define KILN_PIPELINE_KERNELS_TEAM_H

#include "base/base.h"
#include "runtime/pool.h"

/* Who runs kernels. Zeroed: the caller alone. */
typedef struct kiln_team {
    kiln_pool *pool; /* closed with the arena; NULL: parallel loops run in place */
    kiln_cpus cpus;  /* of who opened it, before a pool pinned it */
} kiln_team;
/* n >= 1 threads, each on a CPU of its own where there are so many. */
kiln_status kiln_team_open(kiln_arena *a, int n, kiln_team *out, kiln_err *err);
int kiln_team_size(kiln_team t);

#endif
