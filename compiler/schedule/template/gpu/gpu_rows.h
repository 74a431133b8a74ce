/* Chains of reductions over rows (softmax, norms, sums): a block has some rows, and all
 * that is summed of them stays in shared memory. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_ROWS_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_ROWS_H

#include "compiler/schedule/template/gpu/gpu.h"

/* One stage: axis i of it is axis map[i] of the output; -1: none. */
typedef struct kiln_gpu_row_stage {
    kiln_stage *stage;
    const kiln_te *te; /* inlined; NULL: the stage is */
    int map[KILN_MAX_AXES];
} kiln_gpu_row_stage;

typedef struct kiln_gpu_rows {
    kiln_schedule *schedule;
    kiln_gpu_row_stage *stage; /* the output last */
    int n;
    uint64_t common; /* axes of the output that all stages have: the rows */
    int64_t threads; /* along a row */
    int64_t rows;    /* of a block */
    const kiln_profile *profile;
} kiln_gpu_rows;

/* Which axes all stages of s have in common; what is injective and keeps more of a row
 * than a block has room for is inlined. The output must not be a reduction. */
kiln_status kiln_gpu_rows_of(kiln_schedule *s, const kiln_profile *p, int64_t threads,
                             int64_t rows, kiln_gpu_rows *out, kiln_err *err);
/* KILN_ERR_ARG: more than a block may have. */
kiln_status kiln_gpu_rows_apply(kiln_gpu_rows *r, kiln_err *err);

#endif
