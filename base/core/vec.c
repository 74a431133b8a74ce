/* Growing arrays and maps: see vec.h. */
#include "base/core/vec.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/status.h"

void *kiln_vec_room(kiln_arena *a, void *v, size_t n, size_t *cap, size_t size) {
    enum { FIRST_CAP = 8 };
    if (n < *cap)
        return v;
    if (*cap > SIZE_MAX / 2)
        kiln_out_of_memory(SIZE_MAX);
    const size_t larger_cap = *cap == 0 ? FIRST_CAP : *cap * 2;
    void *larger = kiln_arena_array(a, larger_cap, size);
    if (n > 0)
        memcpy(larger, v, n * size); /* cannot overflow: v has that size */
    *cap = larger_cap;
    return larger;
}

/* The slot that holds the key, or the empty one where it belongs. The map has an empty
 * slot. */
static size_t find_slot(const kiln_map *m, kiln_str key, uint64_t hash) {
    const size_t mask = m->n_slots - 1;
    size_t at = (size_t)hash & mask;
    while (m->slot[at] != 0) {
        const kiln_map_entry *e = &m->entries.v[m->slot[at] - 1];
        if (e->hash == hash && kiln_str_eq(e->key, key))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static const kiln_map_entry *find(const kiln_map *m, kiln_str key) {
    if (m->n_slots == 0)
        return NULL;
    const size_t at = find_slot(m, key, kiln_hash64(key.p, key.n, 0));
    return m->slot[at] == 0 ? NULL : &m->entries.v[m->slot[at] - 1];
}

void *kiln_map_get(const kiln_map *m, kiln_str key) {
    const kiln_map_entry *e = find(m, key);
    return e == NULL ? NULL : e->value;
}

bool kiln_map_has(const kiln_map *m, kiln_str key) { return find(m, key) != NULL; }

/* Keeps at least a quarter of the slots empty, so that searches stay short. */
static void make_room(kiln_arena *a, kiln_map *m) {
    enum { FIRST_SLOTS = 16 };
    if (m->entries.n < m->n_slots - m->n_slots / 4)
        return;
    KILN_ASSERT(m->n_slots <= UINT32_MAX / 2, "a map holds at most 2^31 slots");
    m->n_slots = m->n_slots == 0 ? FIRST_SLOTS : m->n_slots * 2;
    m->slot = kiln_array(a, uint32_t, m->n_slots);
    for (size_t i = 0; i < m->entries.n; i++) {
        const kiln_map_entry *e = &m->entries.v[i];
        m->slot[find_slot(m, e->key, e->hash)] = (uint32_t)(i + 1);
    }
}

bool kiln_map_set(kiln_arena *a, kiln_map *m, kiln_str key, const void *value) {
    make_room(a, m);
    void *const kept = (void *)(uintptr_t)value;
    const uint64_t hash = kiln_hash64(key.p, key.n, 0);
    const size_t at = find_slot(m, key, hash);
    if (m->slot[at] != 0) {
        m->entries.v[m->slot[at] - 1].value = kept;
        return false;
    }
    const kiln_map_entry e = {
        .key = {kiln_str_dupv(a, key), key.n}, .value = kept, .hash = hash};
    kiln_vec_push(a, &m->entries, e);
    m->slot[at] = (uint32_t)m->entries.n;
    return true;
}
