/* A driver's library, opened when a device of its kind is: it is never linked, so that a
 * machine without it runs everything else. */
#ifndef KILN_RUNTIME_DEVICE_DRIVER_H
#define KILN_RUNTIME_DEVICE_DRIVER_H

#include "runtime/kiln.h"

typedef struct kiln_driver_symbol {
    const char *name;
    size_t offset; /* of the pointer to it in the table */
    int is_needed; /* else NULL where there is none */
} kiln_driver_symbol;

typedef struct kiln_driver_library {
    const char *file;     /* as the system's linker finds it */
    const char *variable; /* of the environment: another file instead */
    const char *remedy;   /* what to do where it is not there */
    const kiln_driver_symbol *symbol;
    size_t n_symbols;
} kiln_driver_library;

/* Fills `functions`, a table of pointers. 0, or -1 with the reason. What was opened stays
 * open: drivers have threads of their own. */
int kiln_driver_open(const kiln_driver_library *library, void *functions,
                     char error[KILN_ERROR_TEXT]);

#endif
