/* Inside the program of oneDNN. */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_INTERNAL_H
#define KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_INTERNAL_H

#include "pipeline/baselines/library/library.h"

#include <oneapi/dnnl/dnnl.h>

/* What one operator can be computed by: the library is asked for each, and the fastest
 * stays. */
typedef struct kiln_onednn_way {
    dnnl_alg_kind_t algorithm;
    dnnl_format_tag_t tag; /* of the input, where the library does not choose it */
} kiln_onednn_way;
/* Ways of an operator; returns how many. */
enum { KILN_ONEDNN_MAX_WAYS = 4 };
int kiln_onednn_ways(const kiln_library_op *op, kiln_onednn_way *out);

/* The operands as oneDNN names them. Plain: row-major, as they come. */
typedef struct kiln_onednn_plan {
    dnnl_primitive_desc_t desc;
    dnnl_memory_desc_t x, w, bias, out; /* plain */
    bool has_w, has_bias;
    int bias_tensor, sum_tensor; /* of the operator's; sum: added in place; -1: none */
} kiln_onednn_plan;
/* KILN_ERR_UNSUPPORTED where the library has nothing for it. desc is the caller's. */
kiln_status kiln_onednn_plan_make(const kiln_library_op *op, dnnl_engine_t engine,
                                  const kiln_onednn_way *way, kiln_onednn_plan *out,
                                  kiln_err *err);

/* KILN_ERR_UNSUPPORTED where the library says that it has none such. */
kiln_status kiln_onednn_check(dnnl_status_t st, const char *doing, kiln_err *err);

#endif
