/* The matrices of F(2, 3), points 0, 1, -1, and of F(4, 3), points 0, 1, -1, 2, -2; the
 * last row of each belongs to the point at infinity. */
#include "compiler/graph/winograd.h"

static const kiln_winograd all[] = {
    {.tile = 2,
     .n = 4,
     .amplification = 4,
     .at = {{1, 1, 1, 0}, {0, 1, -1, 1}},
     .bt = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
     .g = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 1}},
     .divisor = {1, 2, 2, 1}},
    {.tile = 4,
     .n = 6,
     .amplification = 30,
     .at = {{1, 1, 1, 1, 1, 0},
            {0, 1, -1, 2, -2, 0},
            {0, 1, 1, 4, 4, 0},
            {0, 1, -1, 8, -8, 1}},
     .bt = {{4, 0, -5, 0, 1, 0},
            {0, -4, -4, 1, 1, 0},
            {0, 4, -4, -1, 1, 0},
            {0, -2, -1, 2, 1, 0},
            {0, 2, -1, -2, 1, 0},
            {0, 4, 0, -5, 0, 1}},
     .g = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}},
     .divisor = {4, -6, -6, 24, 24, 1}},
};

const kiln_winograd *kiln_winograd_of(int tile) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].tile == tile)
            return &all[i];
    return NULL;
}
