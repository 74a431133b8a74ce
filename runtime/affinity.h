/* The affinity mask of a thread, which the process was given. Private to runtime/. */
#ifndef KILN_RUNTIME_AFFINITY_H
#define KILN_RUNTIME_AFFINITY_H

#include <pthread.h>

/* As many as glibc's fixed set holds; of a larger machine the first ones. */
enum { KILN_AFFINITY_BYTES = 128 };

typedef struct kiln_affinity {
    int n; /* CPUs in the set; 0: not known */
    _Alignas(8) unsigned char set[KILN_AFFINITY_BYTES];
} kiln_affinity;

/* Of the calling thread; threads that it makes inherit it. */
kiln_affinity kiln_affinity_get(void);
void kiln_affinity_set(const kiln_affinity *a);
/* Only the i-th CPU of a, modulo their number. Does nothing where none is known. */
void kiln_affinity_pin(const kiln_affinity *a, int i);
/* The CPU that runs the caller; -1: not known. Asks no system call where the system has
 * a faster way. */
int kiln_affinity_here(void);
/* `thread` may run on all of `a` but for these CPUs (-1: none) from now on, and moves at
 * once where it is on one of them. Nothing happens, and 0 is returned, where that leaves
 * it no CPU. */
int kiln_affinity_keep_off(const kiln_affinity *a, pthread_t thread, const int *cpu,
                           int n);

#endif
