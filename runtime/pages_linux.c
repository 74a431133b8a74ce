#include "runtime/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Only whole huge pages are asked for: what is behind them is not touched for nothing. A
 * system that has none says so, and small ones do. */
void *kiln_pages_alloc(size_t align, size_t bytes) {
    void *block = NULL;
    if (bytes > SIZE_MAX - align)
        return NULL;
    if (bytes < KILN_HUGE_PAGE)
        return aligned_alloc(align, (bytes + align - 1) / align * align);
    if (posix_memalign(&block, KILN_HUGE_PAGE, bytes) != 0)
        return NULL;
    (void)madvise(block, bytes / KILN_HUGE_PAGE * KILN_HUGE_PAGE, MADV_HUGEPAGE);
    return block;
}

void kiln_pages_release(void *block) { free(block); }

void kiln_pages_advise(void *map, size_t bytes) {
    if (bytes >= KILN_HUGE_PAGE)
        (void)madvise(map, bytes, MADV_HUGEPAGE);
}
