/* Barriers of what templates make for GPUs. */
#ifndef KILN_TESTS_SUPPORT_GPU_GPU_CHECK_H
#define KILN_TESTS_SUPPORT_GPU_GPU_CHECK_H

#include "tests/support/kernel/template_check.h"

/* A random configuration of the graph on a random GPU, as a program with its barriers:
 * takes each away in turn, which the interpreter must report. How many were; 0 too
 * where the template does not fit or refuses. */
int64_t gpu_check_barriers(template_runs *r, const kiln_template *tmpl,
                           const kiln_graph *g);

/* What the template guesses for the graph on every GPU's profile makes a schedule. */
void gpu_check_guesses(const kiln_template *t, const kiln_graph *g);
/* What a configuration, which must not be refused, moves when it is interpreted. */
void gpu_check_traffic(kiln_arena *a, const kiln_template *t, const kiln_workload *w,
                       const kiln_profile *p, const kiln_space *s, const kiln_config *c,
                       kiln_traffic *out);
/* Of the buffer so named; it must be there. */
const kiln_buffer_traffic *gpu_check_traffic_of(const kiln_traffic *t,
                                                const char *buffer);

#endif
