/* Inside pipeline: reading golden.json (one folder per model: cases with inputs and
 * outputs). */
#ifndef KILN_PIPELINE_GOLDEN_H
#define KILN_PIPELINE_GOLDEN_H

#include "pipeline/pipeline.h"

/* Makes an input again from its generator's description. */
kiln_status kiln_golden_generate(kiln_arena *a, const kiln_json *gen,
                                 const kiln_type *t, kiln_tensor *out, kiln_err *err);

#endif
