/* Inside the programs of oneDNN, whichever version. */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_INTERNAL_H
#define KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_INTERNAL_H

#include "pipeline/baselines/library/onednn_api.h"

/* What one operator can be computed by: the library is asked for each, and the fastest
 * stays. */
typedef struct kiln_onednn_way {
    kiln_onednn_algorithm algorithm;
    kiln_onednn_layout layout; /* of the input, where the library does not choose it */
} kiln_onednn_way;
/* Ways of an operator; returns how many. */
enum { KILN_ONEDNN_MAX_WAYS = 4 };
int kiln_onednn_ways(const kiln_library_op *op, kiln_onednn_way *out);

/* Plain operands of the request: row-major, as they come. */
typedef struct kiln_onednn_plan {
    kiln_onednn_request request;
    int bias_tensor, sum_tensor; /* of the operator's; sum: added in place; -1: none */
} kiln_onednn_plan;
/* KILN_ERR_UNSUPPORTED where no primitive is this operator. Borrows op. */
kiln_status kiln_onednn_plan_make(const kiln_library_op *op, const kiln_onednn_way *way,
                                  kiln_onednn_plan *out, kiln_err *err);

#endif
