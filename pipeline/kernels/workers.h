/* Who makes, proves and times kernels. */
#ifndef KILN_PIPELINE_KERNELS_WORKERS_H
#define KILN_PIPELINE_KERNELS_WORKERS_H

#include "base/base.h"

/* Programs and limits; zeroed: kiln's own. */
typedef struct kiln_workers {
    const char *const *builder_argv, *const *runner_argv; /* end in NULL */
    int64_t build_limit_ms; /* of the processor, for one kernel; 0: a minute */
    int64_t run_limit_ms; /* for all its runs; 0: a minute and four times the slices */
    /* A runner that listens proves and times them, in place of runner_argv: one address,
     * as of kiln_measure_options.runner_addresses; NULL: one of our own. */
    const char *const *addresses;
    int priority; /* said to a pool; 0: 10 */
} kiln_workers;

#endif
