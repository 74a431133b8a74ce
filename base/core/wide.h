/* Loops over doubles that whole networks run through, with four of them in a register
 * where this machine has such. AVX2 has no multiply-add that rounds once, so the bits are
 * the same.
 *
 *     static KILN_INLINE void add(double *v, int64_t n) {...}
 *
 *     KILN_WIDE static void add_wide(double *v, int64_t n) { add(v, n); }
 *     static void add_narrow(double *v, int64_t n) { add(v, n); }
 *
 *     (kiln_has_wide_registers() ? add_wide : add_narrow)(v, n);
 */
#ifndef KILN_BASE_CORE_WIDE_H
#define KILN_BASE_CORE_WIDE_H

#include <stdbool.h>

/* Inlined into whoever calls it, also where that is compiled for other instructions. What
 * a sanitizer does not watch (asked.h) says so itself. */
#define KILN_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define KILN_WIDE __attribute__((target("avx2")))
static inline bool kiln_has_wide_registers(void) {
    return __builtin_cpu_supports("avx2") != 0;
}
#else
#define KILN_WIDE
static inline bool kiln_has_wide_registers(void) { return false; }
#endif

#endif
