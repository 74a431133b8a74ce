/* Barriers of what templates make for GPUs. */
#ifndef KILN_TESTS_SUPPORT_GPU_CHECK_H
#define KILN_TESTS_SUPPORT_GPU_CHECK_H

#include "tests/support/template_check.h"

/* A random configuration of the graph on a random GPU, as a program with its barriers:
 * takes each away in turn, which the interpreter must report. How many were; 0 too
 * where the template does not fit or refuses. */
int64_t gpu_check_barriers(template_runs *r, const kiln_template *tmpl,
                           const kiln_graph *g);

#endif
