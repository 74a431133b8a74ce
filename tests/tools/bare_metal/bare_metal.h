/* Between startup code and the program that runs a network's self-test. */
#ifndef KILN_TESTS_BARE_METAL_H
#define KILN_TESTS_BARE_METAL_H

#include <stddef.h>
#include <stdint.h>

/* By startup code, on a stack. Do not return. */
void bare_main(void);
void bare_fault(void);
/* A call of the emulator's: the operation, and what it is given. */
uintptr_t bare_ask(uintptr_t operation, const void *what);

#endif
