/* The affinity mask of a thread, which the process was given. Private to runtime/. */
#ifndef KILN_RUNTIME_AFFINITY_H
#define KILN_RUNTIME_AFFINITY_H

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

#endif
