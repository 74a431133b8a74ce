/* Contractions on a GPU: the output in blocks, threads and register tiles, its terms in
 * steps, what a step reads fetched into shared memory by the whole block (TVM, OSDI'18,
 * section 4.2). Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_TILES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_TILES_H

#include "compiler/schedule/template/gpu/gpu.h"

/* One axis of the output: a block computes `virtual` groups of `threads` tiles. Tiles of
 * one thread are a group apart: so neighbours read neighbouring tiles. */
typedef struct kiln_gpu_axis {
    int axis;
    int64_t threads, tile;
    int64_t virtual; /* 1: one group */
    int64_t within;  /* blocks do not cross multiples of it; 0: no matter */
} kiln_gpu_axis;

/* What a block has in shared memory for each step. */
typedef struct kiln_gpu_fetched {
    const kiln_te *te;
    bool is_own; /* each thread has what it reads, in registers; nothing else counts */
    int64_t lanes;  /* copied at once; 1: one after another */
    int plane_axis; /* of it there are `planes`, of `plane` elements each; -1: all are
                       copied as they lie */
    int64_t planes, plane;
    int pad_axis; /* from one of its elements to the next there are `stride` elements, as
                     banks count: modulo 32; -1: none is padded */
    int32_t stride, modulo; /* modulo: another than 32; 0: that */
} kiln_gpu_fetched;

enum { KILN_GPU_AXES = 6, KILN_GPU_FETCHES = 4 };
typedef struct kiln_gpu_tiles {
    int n; /* axes that threads share, at most 3 of a sum, 5 of what is none; all others
              are blocks of one element */
    kiln_gpu_axis axis[KILN_GPU_AXES]; /* the last one's threads are neighbours */
    int64_t step[KILN_MAX_AXES];       /* iterations of each reduction axis in a step */
    int64_t lanes;                     /* of the tile along the last axis; 1: scalars */
    int n_fetched;
    kiln_gpu_fetched fetched[KILN_GPU_FETCHES];
    int64_t parts;  /* threads that share one sum: each has every so manieth step of the
                      first reduction axis; 1 or less: one has all */
    int64_t splits; /* blocks that share one sum: each has an equal piece of the first
                       reduction axis, a second launch adds what they leave in memory;
                       1 or less: one has all */
    int64_t threads_after; /* of a block of that launch */
    bool double_buffer;    /* the next step is fetched while one is summed */
    bool is_async;         /* and nobody waits for it meanwhile: see kiln_fill_ahead */
    int64_t max_unroll;    /* multiply-adds that a step may be unrolled to */
} kiln_gpu_tiles;

/* `copy`, in shared memory, by so many threads of the block. */
kiln_status kiln_gpu_fetch(kiln_stage *copy, const kiln_gpu_fetched *f, int64_t threads,
                           kiln_err *err);

/* `y`, untouched, has the axes of `acc`, the reduction that it reads; both become one
 * launch, or two where sums are split. */
kiln_status kiln_gpu_tiles_apply(kiln_stage *y, kiln_stage *acc,
                                 const kiln_gpu_tiles *t, kiln_err *err);

/* The same of a stage that sums nothing: *thread is the loop whose iterations compute a
 * tile each. */
kiln_status kiln_gpu_tiles_map(kiln_stage *y, const kiln_gpu_tiles *t,
                               kiln_iter **thread, kiln_err *err);

/* Of one block, or thread. */
int64_t kiln_gpu_tiles_threads(const kiln_gpu_tiles *t);
int64_t kiln_gpu_tiles_sums(const kiln_gpu_tiles *t); /* of a thread */
/* KILN_ERR_ARG names what is more than the profile has. `shared`: bytes for one step;
 * `operands`: registers for what a term reads. */
kiln_status kiln_gpu_tiles_check(const kiln_gpu_tiles *t, const kiln_profile *p,
                                 int64_t shared, int64_t operands, int64_t sum_bytes,
                                 kiln_err *err);

#endif
