/* Long-lived child processes with a pipe each way, the CPUs that they may use, and
 * memory that they share. */
#ifndef KILN_BASE_CHILD_H
#define KILN_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/core.h"

enum {
    KILN_CHILD_MAX_CPUS = 1024,
    KILN_CHILD_SHARED_FD = 3 /* the number of shared memory in a child */
};

/* A set of CPUs. n == 0: any. */
typedef struct kiln_cpus {
    int n;
    _Alignas(8) unsigned char set[KILN_CHILD_MAX_CPUS / 8];
} kiln_cpus;

/* Those of the calling thread. */
kiln_cpus kiln_cpus_own(void);
/* n of them, beginning with the first-th. */
kiln_cpus kiln_cpus_part(const kiln_cpus *c, int first, int n);
int kiln_cpus_first(const kiln_cpus *c); /* its number; -1: any */
/* For the calling thread. */
void kiln_cpus_use(const kiln_cpus *c);

typedef struct kiln_child {
    int pid;          /* 0: none */
    int in, out, err; /* ours: its standard input, output, error; not blocking */
} kiln_child;

/* argv[0] is a path. The child is a process group of its own, has no other descriptors
 * than these and `shared` (read-only, as KILN_CHILD_SHARED_FD; -1: none), leaves no
 * core file, and is killed when the calling thread ends. */
kiln_status kiln_child_start(const char *const *argv, int shared, const kiln_cpus *cpus,
                             kiln_child *out, kiln_err *err);
/* Waits up to three seconds for the end of one that closed its output. */
void kiln_child_wait(const kiln_child *c);
/* Kills its group and waits. *by_itself: it had ended before; *status: of wait. */
void kiln_child_end(kiln_child *c, bool *by_itself, int *status);

/* A pipe that is to take about so many bytes at a time, as far as the system lets: who
 * writes waits less often for who reads. */
void kiln_pipe_widen(int fd, int bytes);

/* Memory without a name that children can map: kiln_child_start's `shared`. */
kiln_status kiln_shared_open(int *write_fd, int *read_fd, kiln_err *err);

#endif
