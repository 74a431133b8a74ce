/* A model of a GPU: processors hold some blocks at a time; what these do in a step is
 * bounded by multiply-adds, by instructions, by shared memory, and by one warp's way from
 * its loads to its barrier, which other blocks hide; all together by the shared cache and
 * by memory.
 *
 * Latencies are those measured by Jia et al., "Dissecting the NVIDIA Volta GPU
 * architecture via microbenchmarking" (2018), tables 3.1 and 4.1, rounded; later
 * architectures differ little. */
#include "compiler/schedule/template/gpu/gpu_cycles.h"

#include <math.h>

enum {
    SCHEDULERS = 4,    /* of a processor: one instruction of a warp a cycle each */
    BLOCKS_HELD = 32,  /* by a processor */
    SHARED_BLOCKS = 3, /* a processor has so many times what a block may have */
    WAIT_MEMORY = 450, /* cycles until what is read from the shared cache is there */
    WAIT_SHARED = 60,  /* to the first sum from shared memory, and the barriers */
    BEGIN = 1200,      /* of a block: launched, its first addresses */
    AGAIN = 3000,      /* from one launch's end to the first sums of the next */
    AGAIN_BYTES = 20,  /* a cycle and processor, written and then read there */
    LINE_BYTES = 128,
    CACHE_BYTES = 40 /* a cycle and processor, of the shared cache */
};
static const double clock_ghz = 1.5; /* to tell lanes from a profile's peak */

/* Multiply-adds of 32 bits that a processor begins in a cycle. */
static double lanes_of(const kiln_gpu *g) {
    const double n = g->processors > 0 ? g->processors : 1;
    const double lanes = (double)g->peak_gflops / (2 * n * clock_ghz);
    return fmax(1, exp2(floor(log2(fmax(1, lanes)))));
}

static double least(double x, double y) { return x < y ? x : y; }

static double held_blocks(const kiln_gpu *g, const kiln_gpu_work *w) {
    double n = BLOCKS_HELD;
    const double threads = (double)w->threads;
    if (g->processor_threads > 0)
        n = least(n, floor(g->processor_threads / threads));
    if (g->processor_registers > 0)
        n = least(n, floor(g->processor_registers / (threads * (double)w->registers)));
    if (w->shared_bytes > 0)
        n = least(n, floor(SHARED_BLOCKS * (double)g->shared_bytes /
                           (double)w->shared_bytes));
    return fmax(1, n);
}

/* Of so many blocks that a processor holds, from begin to end. */
static double round_cycles(const kiln_gpu *g, const kiln_gpu_work *w, double blocks) {
    const double warp = g->warp > 0 ? g->warp : 1;
    const double warps = blocks * ceil((double)w->threads / warp);
    const double instructions = w->muladds + w->loads + w->others;
    const double sums = warps * w->muladds * warp / lanes_of(g);
    /* A scheduler has whole warps. */
    const double issued = ceil(warps / SCHEDULERS) * instructions;
    /* What is not a multiply-add comes between them, and is hidden badly. */
    const double between = 1.5 * ceil(warps / SCHEDULERS) * (w->loads + w->others);
    const double busy = fmax(fmax(sums, issued), warps * w->turns) + between;
    const double alone = 1.2 * instructions + WAIT_SHARED + w->waits * WAIT_MEMORY;
    const double step = fmax(busy, alone) + 0.25 * fmin(busy, alone);
    return w->steps * step + BEGIN + w->tail;
}

double kiln_gpu_cycles_again(const kiln_profile *p, double bytes) {
    const double processors = p->gpu.processors > 0 ? p->gpu.processors : 1;
    return AGAIN + 2 * bytes / (AGAIN_BYTES * processors);
}

double kiln_gpu_cycles(const kiln_profile *p, const kiln_gpu_work *w) {
    const kiln_gpu *g = &p->gpu;
    const double processors = g->processors > 0 ? g->processors : 1;
    const double held = held_blocks(g, w);
    const double rounds = floor((double)w->blocks / (processors * held));
    const double rest = (double)w->blocks - rounds * processors * held;
    double cycles = rounds * round_cycles(g, w, held);
    if (rest > 0)
        cycles += round_cycles(g, w, ceil(rest / processors));
    const double readers =
        w->is_streamed ? least(processors, (double)w->blocks) : processors;
    const double cache = w->cache_bytes / (CACHE_BYTES * readers);
    const double ghz = (double)g->peak_gflops / (2 * processors * lanes_of(g));
    const double memory =
        g->memory_gbs > 0 ? w->memory_bytes / (double)g->memory_gbs * ghz : 0;
    return fmax(cycles, fmax(cache, memory)) + 0.3 * (cache + memory);
}

double kiln_gpu_lines(const kiln_profile *p, int64_t along, int64_t bytes) {
    const double warp = p->gpu.warp > 0 ? p->gpu.warp : 1;
    const double n = fmin(warp, (double)(along > 0 ? along : 1));
    return ceil(warp / n) * fmax(1, n * (double)bytes / LINE_BYTES);
}
