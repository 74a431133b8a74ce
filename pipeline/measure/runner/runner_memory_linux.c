/* Memory between guards. Linux, for anonymous mappings and /proc. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xC3, POISON = 0xFF };
/* Costs no memory; a loop that runs far past an end is caught all the same. */
static const size_t guard_bytes = (size_t)1 << 20;

static kiln_status open_region(size_t bytes, bool is_shared, bool is_huge,
                               kiln_region *out, kiln_err *err) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    kiln_region r = {.bytes = bytes, .room = (bytes + page - 1) / page * page};
    r.map_bytes = r.room + 2 * guard_bytes;
    const int flags = MAP_ANONYMOUS | (is_shared ? MAP_SHARED : MAP_PRIVATE);
    void *map = mmap(NULL, r.map_bytes, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_ERR_OOM, "no memory for %zu bytes: %s", bytes,
                         strerror(errno));
    r.map = map;
    r.data = r.map + guard_bytes;
    KILN_ASSERT(r.room >= r.bytes && r.map_bytes > r.room,
                "%zu bytes in a region of %zu", r.bytes, r.map_bytes);
    if (r.room > 0 && mprotect(r.data, r.room, PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(map, r.map_bytes);
        return kiln_fail(err, KILN_ERR_OOM, "no memory for %zu bytes: %s", bytes,
                         strerror(errno));
    }
    if (is_huge &&
        r.room > 0) /* a system that has none says so: then it has small ones */
        (void)madvise(r.data, r.room, MADV_HUGEPAGE);
    kiln_region_populate(&r, true);
    memset(r.data + bytes, CANARY, r.room - bytes);
    *out = r;
    return KILN_OK;
}

kiln_status kiln_region_open(size_t bytes, bool is_shared, kiln_region *out,
                             kiln_err *err) {
    return open_region(bytes, is_shared, false, out, err);
}

kiln_status kiln_region_open_huge(size_t bytes, kiln_region *out, kiln_err *err) {
    return open_region(bytes, false, true, out, err);
}

void kiln_region_close(kiln_region *r) {
    if (r->map != NULL)
        (void)munmap(r->map, r->map_bytes);
    *r = (kiln_region){.map = NULL};
}

void kiln_region_poison(kiln_region *r) { memset(r->data, POISON, r->bytes); }

void kiln_region_protect(kiln_region *r) {
    KILN_ASSERT(r->map != NULL, "a region that is not open is protected");
    if (r->room > 0)
        (void)mprotect(r->data, r->room, PROT_READ);
}

void kiln_region_unprotect(kiln_region *r) {
    if (r->map != NULL && r->room > 0)
        (void)mprotect(r->data, r->room, PROT_READ | PROT_WRITE);
}

void kiln_region_pass_on(const kiln_region *r, bool yes) {
    (void)madvise(r->map, r->map_bytes, yes ? MADV_DOFORK : MADV_DONTFORK);
}

void kiln_region_populate(const kiln_region *r, bool writes) {
    /* Kernels before 5.14 refuse; then pages come one by one. */
    if (r->room > 0)
        (void)madvise(r->data, r->room,
                      writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

bool kiln_region_is_broken(const kiln_region *r, size_t *at) {
    KILN_ASSERT(r->bytes <= r->room, "%zu bytes in room for %zu", r->bytes, r->room);
    for (size_t i = r->bytes; i < r->room; i++)
        if (r->data[i] != CANARY) {
            *at = i;
            return true;
        }
    return false;
}

bool kiln_region_has(const kiln_region *r, uint64_t address, bool whole) {
    const uint64_t map = (uint64_t)(uintptr_t)r->map,
                   data = (uint64_t)(uintptr_t)r->data;
    if (r->map == NULL || address < map || address >= map + r->map_bytes)
        return false;
    return whole || address < data || address >= data + r->room;
}
