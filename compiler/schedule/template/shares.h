/* How evenly threads can share the parts of a parallel loop, for templates' guesses.
 * Parts are dealt out in equal numbers, in order (runtime/pool.h), and a package runs
 * on as many threads as its user says: every power of two up to the profile's cores
 * should be good. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_SHARES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_SHARES_H

#include "base/base.h"

/* The largest share of n equal parts among so many threads. */
static inline int64_t kiln_largest_share(int64_t n, int64_t threads) {
    return n / threads + (n % threads != 0);
}

/* Mean over 2, 4... threads up to `cores`: how much longer n equal parts take than if
 * they could be cut anywhere. 1: no thread ever waits; one core: 1. */
static inline double kiln_share_loss(int64_t n, int64_t cores) {
    double sum = 0;
    int counts = 0;
    for (int64_t threads = 2; threads <= cores; threads *= 2, counts++)
        sum += (double)(kiln_largest_share(n, threads) * threads) / (double)n;
    return counts > 0 ? sum / counts : 1;
}

#endif
