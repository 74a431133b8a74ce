/* Random schedules for GPUs: those of random_schedule.h, with loops that become axes of a
 * grid and memory that a block shares. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_GPU_SCHEDULE_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_GPU_SCHEDULE_H

#include "tests/support/random/random_schedule.h"

/* As random_schedule. */
kiln_schedule *random_gpu_schedule(kiln_arena *a, kiln_rng *rng,
                                   const kiln_te *const *out, size_t n_out, int n,
                                   kiln_buf *log, random_schedule_stats *stats);

#endif
