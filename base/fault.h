/* Planted faults: mistakes that kiln makes on purpose, to see that it finds them.
 *
 *     const int64_t stride = KILN_FAULT(conv_stride) ? 1 : attr[STRIDE];
 *
 * A debug build makes the one that the environment's KILN_FAULT names; a release build
 * has none of them. The table is faults.def. */
#ifndef KILN_BASE_FAULT_H
#define KILN_BASE_FAULT_H

#include <stdbool.h>

typedef enum kiln_fault {
#define KILN_FAULT_ROW(name, doc) KILN_FAULT_##name,
#include "base/faults.def"
#undef KILN_FAULT_ROW
    KILN_N_FAULTS
} kiln_fault;

typedef struct kiln_fault_row {
    const char *name;
    const char *doc; /* what it breaks */
} kiln_fault_row;

/* 0 <= i < KILN_N_FAULTS, in order of the table. */
const kiln_fault_row *kiln_fault_at(int i);

#ifdef NDEBUG
#define KILN_FAULT(name) ((void)KILN_FAULT_##name, false)
#else
#define KILN_FAULT(name) kiln_fault_is(KILN_FAULT_##name)
#endif

/* Is it the one to be made? The first time that it is, its name is added to the file
 * that the environment's KILN_FAULT_FIRED names: who tests can tell what was not found
 * from what was never done. A name that is no row's ends the process. From any thread.
 */
bool kiln_fault_is(kiln_fault f);

#endif
