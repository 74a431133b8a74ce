/* A thread pool for kernels' parallel loops, after NeoCPU (Liu et al., USENIX ATC'19,
 * section 3.1.2): each thread has its part of the iterations before the loop starts;
 * fork and join are loads and stores of cache lines that one thread writes; who waits
 * spins for a while, then sleeps; at once where other processes want the processors.
 * The caller waits for parts that somebody works at, never for a thread that has not
 * come. A thread that another program kept from finishing its part gets none for a while
 * (20 ms to a second), and one that would wait for the caller's own CPU is sent to
 * another; neither with pins. A loop inside a parallel loop runs in place.
 *
 * A pool belongs to the thread that opened it: it calls the kernels, and takes part as
 * thread 0. Threads stay inside the process's affinity mask.
 */
#ifndef KILN_RUNTIME_POOL_H
#define KILN_RUNTIME_POOL_H

#include "runtime/kernel.h"

enum { KILN_POOL_MAX_THREADS = 1024, KILN_POOL_TEXT = 160 };

typedef struct kiln_pool kiln_pool;

typedef struct kiln_pool_options {
    int n_threads; /* with the caller; 0: as many as the affinity mask has CPUs */
    /* 0: iteration i of n is part i * n_threads / n, whatever it costs, and that part
     * is the thread's of this number, or the caller's where that has not come when the
     * caller is done. Else each thread's share is cut into so many chunks, and who is
     * free takes the next. */
    int chunks;
    int spin_us; /* before sleeping; 0: 50, or none with more threads than CPUs; -1:
                    none. 20 times as long between begin and end */
    int pins;    /* not 0: each thread on a CPU of its own, in the mask's order */
    size_t scratch_bytes; /* of each thread; kiln_pool_reserve changes it */
} kiln_pool_options;

/* 0, or `text` says what is missing. NULL options: all defaults. Its threads have begun
 * when it returns: what a thread asks the system for at its start is behind them. */
int kiln_pool_open(const kiln_pool_options *o, kiln_pool **out,
                   char text[KILN_POOL_TEXT]);
/* What kernels get; the caller's scratch is thread 0's. Borrowed until close. */
kiln_ctx *kiln_pool_ctx(kiln_pool *p);
/* At least so many bytes of scratch for each thread; 0, or not enough memory, and all
 * is as before. Not from inside a kernel. */
int kiln_pool_reserve(kiln_pool *p, size_t scratch_bytes);
/* Scratch of the caller's instead: n_threads pointers, 64-byte aligned. */
void kiln_pool_set_scratch(kiln_pool *p, void *const *scratch);
/* Loops will follow each other until the end: wakes the threads that sleep (50 us and
 * more), and keeps them awake through serial work between the loops. A hint, no need:
 * loops may run outside too. Not from inside a kernel, and not nested. */
void kiln_pool_begin(kiln_pool *p);
void kiln_pool_end(kiln_pool *p);
int kiln_pool_threads(const kiln_pool *p);
void kiln_pool_close(kiln_pool *p); /* NULL is fine */

#endif
