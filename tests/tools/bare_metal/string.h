/* All that C source asks of libc. */
#ifndef KILN_TESTS_BARE_METAL_STRING_H
#define KILN_TESTS_BARE_METAL_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);

#endif
