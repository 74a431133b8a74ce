#include "tests/support/damage.h"

void kiln_test_damage(kiln_rng *r, char *p, size_t *n) {
    if (*n > 0 && kiln_rng_range(r, 0, 4) == 0)
        *n = (size_t)kiln_rng_range(r, 0, (int64_t)*n - 1);
    for (int64_t k = kiln_rng_range(r, 1, 4); k > 0 && *n > 0; k--)
        p[kiln_rng_range(r, 0, (int64_t)*n - 1)] = (char)kiln_rng_range(r, 0, 127);
}
