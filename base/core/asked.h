/* What AddressSanitizer is asked once for a whole region, not for each element of it: inner
 * loops of what whole networks run through, whose every access lies in regions that are
 * known ahead. There an element each took most of the time of proving a network (in a
 * product in double: building ResNet-18 14.4 s of processor time, with panels asked for as
 * a whole 9.4). Without the sanitizer neither does anything.
 *
 *     KILN_ASKED_WHOLE static void add(const double *p, int64_t n) {...}
 *
 *     kiln_ask_whole(p, n * sizeof *p);
 *     add(p, n);
 */
#ifndef KILN_BASE_CORE_ASKED_H
#define KILN_BASE_CORE_ASKED_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define KILN_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_HAS_ASAN 1
#endif
#endif
#ifndef KILN_HAS_ASAN
#define KILN_HAS_ASAN 0
#endif

/* A function whose accesses somebody has asked for. */
#if KILN_HAS_ASAN
#define KILN_ASKED_WHOLE __attribute__((no_sanitize("address", "undefined")))
#else
#define KILN_ASKED_WHOLE
#endif

/* Ends the program where a byte of it is not ours to use. */
void kiln_ask_whole(const void *p, size_t bytes);

#endif
