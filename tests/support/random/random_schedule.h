/* Random schedules: any primitives with any arguments; what is refused is part of the
 * draw. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_SCHEDULE_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_SCHEDULE_H

#include "compiler/schedule/schedule.h"

typedef struct random_schedule_stats {
    int applied, refused;
} random_schedule_stats;

/* Draws up to `n` primitives. `log` receives one line for each that was
 * taken, as kiln_schedule_read takes it. */
kiln_schedule *random_schedule(kiln_arena *a, kiln_rng *rng, const kiln_te *const *out,
                               size_t n_out, int n, kiln_buf *log,
                               random_schedule_stats *stats);
/* Of those that the code generators of CPUs implement: no hardware threads, no double
 * buffers. */
kiln_schedule *random_cpu_schedule(kiln_arena *a, kiln_rng *rng,
                                   const kiln_te *const *out, size_t n_out, int n,
                                   kiln_buf *log, random_schedule_stats *stats);

#endif
