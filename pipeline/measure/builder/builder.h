/* kiln-builder: makes candidates' code (docs/workers.md). One thread; answers messages
 * on standard input until it ends. */
#ifndef KILN_PIPELINE_MEASURE_BUILDER_H
#define KILN_PIPELINE_MEASURE_BUILDER_H

#include "compiler/network/network_kernel.h"

/* How code is made: kiln_kernel_make_listed, or what a test puts in its place to see
 * faults.
 */
typedef kiln_status kiln_builder_make_fn(kiln_arena *a, const kiln_op_work *w,
                                         const kiln_choice *choice,
                                         const kiln_profile *p, kiln_kernel *out,
                                         kiln_err *err);
/* The exit code. */
int kiln_builder_main(kiln_builder_make_fn *make);

#endif
