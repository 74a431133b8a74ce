/* Inside pipeline/measure/builder. */
#ifndef KILN_PIPELINE_MEASURE_BUILDER_INTERNAL_H
#define KILN_PIPELINE_MEASURE_BUILDER_INTERNAL_H

#include "compiler/network/kernel.h"
#include "pipeline/measure/wire/wire.h"

/* The kernel's arguments in terms of the workload's values, for runners. */
kiln_status kiln_operands_describe(kiln_arena *a, const kiln_te_graph *te,
                                   const kiln_wire_work *w, kiln_wire_code *out,
                                   kiln_err *err);

#endif
