/* Random programs of blocks and threads that depend on each other through shared and
 * global memory, without barriers; and what they compute when threads take every step
 * together. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_THREADS_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_THREADS_H

#include "compiler/loop/loop.h"

typedef struct random_threads {
    kiln_program *program; /* (x: i64[n], out y: i64[n]) */
    const char *text;      /* that it was read from */
    int64_t n;
    int64_t *x, *want;
} random_threads;

/* Cooperative writes at permuted indexes, reads of others' elements, serial loops,
 * guards of threads and of blocks, thread loops beside each other. */
void random_threads_make(kiln_arena *a, uint64_t seed, random_threads *out);

#endif
