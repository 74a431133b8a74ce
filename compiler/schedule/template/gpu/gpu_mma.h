/* What templates for tensor cores share: the output in blocks, warps and matrices of
 * 16 x 16, whose sums are fragments, and operands that come to shared memory some steps
 * ahead. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_MMA_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_MMA_H

#include "compiler/schedule/template/gpu/gpu.h"

typedef struct kiln_gpu_mma {
    int row, col;             /* axes of the output; all others are blocks of one */
    int64_t block_m, block_n; /* elements of a block; they divide the axes */
    int64_t warps_m, warps_n; /* of a block; warpgroups, with by_groups */
    int64_t step, depth;      /* terms that come at once; of one instruction */
    int stages;    /* of shared memory: steps that are there or on their way */
    int64_t group; /* blocks along rows that follow each other; 1: columns do */
    const kiln_te *operand[2]; /* a, b: their last axis lies in one piece */
    bool b_along_k;            /* b's last axis is that of the terms */
    /* Warpgroups multiply: `step` is KILN_GPU_GROUP_STEP, what a group has of the columns is
     * two or four times that, and there are three stages at least. */
    bool by_groups;
    const char *intrin;
} kiln_gpu_mma;

enum {
    KILN_GPU_MMA_SIDE = 16,   /* of what one call computes */
    KILN_GPU_GROUP_ROWS = 64, /* that one call computes for a warpgroup */
    KILN_GPU_GROUP_STEP = 64, /* terms that lie in one row of an operand, or columns */
    KILN_GPU_MMA_PIECE = 16 /* bytes that are copied at once, and rows are padded by */
};

/* `y`, untouched, has the axes of `acc`, the reduction that it reads, of one reduction
 * axis; both become one launch. */
kiln_status kiln_gpu_mma_apply(kiln_stage *y, kiln_stage *acc, const kiln_gpu_mma *t,
                               kiln_err *err);

#endif
