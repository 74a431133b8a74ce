#include "tests/support/graph/random_layout.h"

static int pick(kiln_rng *rng, int n) { return (int)kiln_rng_range(rng, 0, n - 1); }

kiln_layout random_layout(kiln_rng *rng, int rank) {
    static const int32_t sizes[] = {2, 3, 4, 8, 16};
    kiln_layout l = {0};
    if (rank == 0 || pick(rng, 6) == 0)
        return l;
    if (pick(rng, 2) == 0) {
        l.n_order = (uint8_t)rank;
        for (int i = 0; i < rank; i++)
            l.order[i] = (uint8_t)i;
        for (int i = rank - 1; i > 0; i--) {
            const int j = pick(rng, i + 1);
            const uint8_t axis = l.order[i];
            l.order[i] = l.order[j];
            l.order[j] = axis;
        }
    }
    const int n = pick(rng, 8) == 0 ? 3 : pick(rng, 3);
    for (; l.n_blocks < n; l.n_blocks++)
        l.block[l.n_blocks] =
            (kiln_block){(uint8_t)pick(rng, rank), sizes[pick(rng, 5)]};
    return l;
}
