/* What of libc a network may ask for, on a machine that has none: a byte at a time. */
#include "tests/tools/bare_metal/string.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    for (size_t i = 0; i < n; i++)
        t[i] = f[i];
    return to;
}

void *memset(void *to, int c, size_t n) {
    unsigned char *t = to;
    for (size_t i = 0; i < n; i++)
        t[i] = (unsigned char)c;
    return to;
}
