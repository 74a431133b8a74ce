#include "base/core/asked.h"

#include <stdint.h>

#include "base/core/status.h"

#if KILN_HAS_ASAN
#include <sanitizer/asan_interface.h>

void kiln_ask_whole(const void *p, size_t bytes) {
    const void *bad = __asan_region_is_poisoned((void *)(uintptr_t)p, bytes);
    KILN_ASSERT(bad == NULL, "%p, of %zu bytes at %p, is nobody's", bad, bytes, p);
}
#else
void kiln_ask_whole(const void *p, size_t bytes) {
    (void)p;
    (void)bytes;
}
#endif
