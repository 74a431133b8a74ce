/* How long a launch takes, by a model of the machine: for guesses, and where nothing was
 * measured. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_CYCLES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_CYCLES_H

#include "compiler/schedule/template/gpu/gpu.h"

/* Blocks that go by steps: each fetches, waits for all of its threads, and sums. */
typedef struct kiln_gpu_work {
    int64_t blocks, threads; /* threads of one block */
    int64_t registers;       /* of a thread */
    int64_t shared_bytes;    /* of a block */
    double steps;
    /* Of one thread in one step. */
    double muladds, loads, others; /* instructions; loads from shared memory */
    double turns;                  /* that a warp's loads take of shared memory: one for
                                      128 bytes that differ */
    double waits;                  /* for memory, one after another */
    /* Of all. */
    bool is_streamed;    /* nothing is read twice: idle processors are missed */
    double cache_bytes;  /* read from the cache that all processors share */
    double memory_bytes; /* that must come from memory once */
    double tail;         /* cycles of a block behind its last step */
} kiln_gpu_work;

/* Cycles of the launch from its first block to its last. */
double kiln_gpu_cycles(const kiln_profile *p, const kiln_gpu_work *w);
/* Of one launch more, which reads what another wrote. */
double kiln_gpu_cycles_again(const kiln_profile *p, double bytes);

/* Lines of 128 bytes that one load of a warp reads of: so many neighbours along a row are
 * `bytes` apart, rows are far from each other. */
double kiln_gpu_lines(const kiln_profile *p, int64_t along, int64_t bytes);

/* Registers that addresses, counters and what is on its way take, beside sums and what a
 * term reads. */
enum { KILN_GPU_OTHER_REGISTERS = 24 };

#endif
