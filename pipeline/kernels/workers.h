/* Who makes, proves and times kernels. */
#ifndef KILN_PIPELINE_KERNELS_WORKERS_H
#define KILN_PIPELINE_KERNELS_WORKERS_H

#include "base/base.h"

/* Programs and limits; zeroed: kiln's own. */
typedef struct kiln_workers {
    const char *const *builder_argv, *const *runner_argv; /* end in NULL */
    int64_t build_limit_ms; /* of the processor, for one kernel; 0: a minute */
    int64_t run_limit_ms; /* for all its runs; 0: a minute and four times the slices */
} kiln_workers;

#endif
