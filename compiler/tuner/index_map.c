/* A hash map from indexes of configurations to small numbers. */
#include "compiler/tuner/tuner_search_internal.h"

#include <string.h>

static size_t slot_of(const kiln_index_map *m, uint64_t key) {
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (m->cap - 1);
    while (m->used[at] && m->key[at] != key)
        at = (at + 1) & (m->cap - 1);
    return at;
}

uint32_t *kiln_index_map_get(const kiln_index_map *m, uint64_t key) {
    if (m->cap == 0)
        return NULL;
    const size_t at = slot_of(m, key);
    return m->used[at] ? &m->value[at] : NULL;
}

/* Twice as many slots; the old ones stay in the arena. */
static void grow(kiln_arena *a, kiln_index_map *m) {
    enum { FIRST_SLOTS = 256 };
    const size_t cap = m->cap == 0 ? FIRST_SLOTS : 2 * m->cap;
    kiln_index_map next = {.key = kiln_array(a, uint64_t, cap),
                           .value = kiln_array(a, uint32_t, cap),
                           .used = kiln_array(a, uint8_t, cap),
                           .cap = cap};
    for (size_t i = 0; i < m->cap; i++)
        if (m->used[i])
            kiln_index_map_put(a, &next, m->key[i], m->value[i]);
    *m = next;
}

void kiln_index_map_put(kiln_arena *a, kiln_index_map *m, uint64_t key,
                        uint32_t value) {
    if (2 * (m->n + 1) > m->cap)
        grow(a, m);
    const size_t at = slot_of(m, key);
    KILN_ASSERT(at < m->cap, "slot %zu of %zu", at, m->cap);
    m->n += m->used[at] ? 0 : 1;
    m->used[at] = 1;
    m->key[at] = key;
    m->value[at] = value;
}

void kiln_index_map_clear(kiln_index_map *m) {
    if (m->cap > 0)
        memset(m->used, 0, m->cap * sizeof *m->used);
    m->n = 0;
}
