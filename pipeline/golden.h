/* Inside pipeline: reading golden.json (one folder per model: cases with inputs and
 * outputs). */
#ifndef KILN_PIPELINE_GOLDEN_H
#define KILN_PIPELINE_GOLDEN_H

#include "pipeline/pipeline.h"

/* Makes an input again from its generator's description. */
kiln_status kiln_golden_generate(kiln_arena *a, const kiln_json *gen,
                                 const kiln_type *t, kiln_tensor *out, kiln_err *err);

/* The input that an output is for the next run (KILN_STATE_SUFFIX), in `a`; NULL: none. */
const char *kiln_golden_state_of(kiln_arena *a, const char *output);
/* Is the input a state, which one of n outputs goes on with? It begins with zeros. */
bool kiln_golden_begins(const char *input, const char *const *output, size_t n);

/* What the graph is run with: its own inputs alone, which may be fewer than the case's. */
kiln_status kiln_golden_inputs_of(kiln_arena *a, const kiln_graph *g,
                                  const kiln_value_binding *in, size_t n_in,
                                  kiln_tensor **out, kiln_err *err);

#endif
