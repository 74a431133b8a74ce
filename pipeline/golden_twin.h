/* Inside pipeline: golden cases that another runtime made with the same network from a
 * file of another format, which may keep channels last where this one has them first. */
#ifndef KILN_PIPELINE_GOLDEN_TWIN_H
#define KILN_PIPELINE_GOLDEN_TWIN_H

#include "pipeline/pipeline.h"

/* Is `last` what `first` is with its second axis behind all others? Negative dimensions
 * of `first` are open. Not where the shapes agree as they are. */
bool kiln_golden_is_turned(const kiln_type *last, int rank, const int64_t *first);

/* The second axis of t behind all others, or (to_first) the last one in second place. */
kiln_tensor kiln_golden_turn(kiln_arena *a, const kiln_tensor *t, bool to_first);

#endif
