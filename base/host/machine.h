/* The machine that this process runs on, as reports name it. */
#ifndef KILN_BASE_MACHINE_H
#define KILN_BASE_MACHINE_H

#include "base/core/core.h"

typedef struct kiln_machine {
    const char *cpu;      /* as the system names it; "" where it does not */
    const char *os;       /* "Linux 6.1.0 x86_64" */
    int cores;            /* that this process may use; at least 1 */
    int64_t memory_bytes; /* 0: not known */
} kiln_machine;
/* Texts are in `a`, and printable. */
void kiln_machine_read(kiln_arena *a, kiln_machine *out);
/* "process 7 on a machine with ...": who we are, for people elsewhere. In `a`. */
const char *kiln_machine_process(kiln_arena *a);

/* The value of the first "key : value" line of such a file in /proc; NULL: no such file
 * or line. In `a`. */
const char *kiln_proc_value(kiln_arena *a, const char *path, const char *key);

#endif
