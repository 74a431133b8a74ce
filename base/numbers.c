#include "base/numbers.h"

#include "base/core/core.h"

/* A pointer that is never followed. */
size_t kiln_numbers_get(const kiln_numbers *m, kiln_str key) {
    return (size_t)(uintptr_t)kiln_map_get(&m->map, key);
}

bool kiln_numbers_set(kiln_arena *a, kiln_numbers *m, kiln_str key, size_t number) {
    KILN_ASSERT(number > 0, "'%.*s' is given 0, which means that it is absent",
                KILN_STR_ARG(key));
    return kiln_map_set(a, &m->map, key, (void *)(uintptr_t)number);
}
