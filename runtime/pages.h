/* Large blocks in huge pages, where the system gives them. Private to runtime/.
 *
 * What a product reads again and again should stay in the L2 cache, whose sets are chosen
 * by physical addresses: pages of 4 KiB fill some sets twice and others not at all. A huge
 * page fills all alike, and costs one entry of the TLB in place of 512. A stream from
 * memory is fetched ahead across the end of each small page, but later: 28 GB/s by one
 * thread in place of 33 (Zen 5). */
#ifndef KILN_RUNTIME_PAGES_H
#define KILN_RUNTIME_PAGES_H

#include <stddef.h>

enum { KILN_HUGE_PAGE = 2 << 20 }; /* bytes, of x86-64 and of AArch64 with 4 KiB */

/* `align` bytes aligned, those of a huge page or more to its beginning. NULL: there is
 * no memory. What is smaller than a huge page is as malloc has it. */
void *kiln_pages_alloc(size_t align, size_t bytes);
void kiln_pages_release(void *block); /* takes NULL */
/* A file that was mapped to be read, before anything reads it: what is not in memory yet
 * comes in huge pages, where the file system has them, and so three times as fast (ext4
 * on Linux 6.18: 10 MB in 3.3 ms in place of 10). What is already there stays as it is. */
void kiln_pages_advise(void *map, size_t bytes);

#endif
