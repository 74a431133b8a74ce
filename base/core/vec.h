/* Growing arrays in an arena, and a map from strings.
 *
 *     KILN_VEC(int64_t) dims = {0};
 *     kiln_vec_push(arena, &dims, 3);
 *     for (size_t i = 0; i < dims.n; i++) use(dims.v[i]);
 *
 * Growth leaves the old storage in the arena: at most as much again as the array
 * itself.
 */
#ifndef KILN_BASE_VEC_H
#define KILN_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/str.h"

#define KILN_VEC(T)                                                                    \
    struct {                                                                           \
        T *v;                                                                          \
        size_t n, cap;                                                                 \
    }

#define kiln_vec_push(a, vec, x)                                                       \
    ((vec)->v = kiln_vec_room((a), (vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v), \
     (vec)->v[(vec)->n++] = (x))

/* Storage with room for n + 1 elements of `size` bytes: v itself, or a larger copy. */
void *kiln_vec_room(kiln_arena *a, void *v, size_t n, size_t *cap, size_t size);

/* Map from strings to pointers; iteration is in order of insertion, so output never
 * depends on hashes. A zeroed struct is an empty map. Keys are copied into the arena.
 */
typedef struct kiln_map_entry {
    kiln_str key; /* terminated copy */
    void *value;  /* borrowed */
    uint64_t hash;
} kiln_map_entry;

typedef struct kiln_map {
    KILN_VEC(kiln_map_entry) entries;
    uint32_t *slot; /* open addressing: index of the entry + 1 */
    size_t n_slots; /* a power of two */
} kiln_map;

/* NULL when absent. */
void *kiln_map_get(const kiln_map *m, kiln_str key);
bool kiln_map_has(const kiln_map *m, kiln_str key);
/* Sets or replaces; returns true when the key is new. The map does not write to a value;
 * who has set a constant one does not write to what kiln_map_get gives. */
bool kiln_map_set(kiln_arena *a, kiln_map *m, kiln_str key, const void *value);

#endif
