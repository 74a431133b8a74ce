/* Grid search: every configuration once, in an order that spreads over the space: steps
 * of the golden ratio of its size (Knuth, The Art of Computer Programming 3, 6.4), made
 * coprime to it. */
#include "compiler/tuner/tuner_search_internal.h"

typedef struct grid {
    uint64_t step, at, n_visited;
} grid;

static uint64_t gcd(uint64_t x, uint64_t y) {
    while (y != 0) {
        const uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x;
}

static kiln_status init(kiln_search *s, kiln_err *err) {
    (void)err;
    grid *g = kiln_new(s->arena, grid);
    const uint64_t size = s->task->space.size;
    g->step = (uint64_t)((double)size * 0.6180339887498949);
    g->step = g->step > 0 ? g->step : 1;
    while (gcd(g->step, size) != 1)
        g->step++;
    s->state = g;
    return KILN_OK;
}

static kiln_status next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err) {
    (void)err;
    grid *g = s->state;
    const uint64_t size = s->task->space.size;
    while (*n_out < n && g->n_visited < size) {
        const uint64_t index = g->at;
        g->at = (g->at + g->step) % size;
        g->n_visited++;
        if (!kiln_search_is_free(s, index))
            continue;
        kiln_search_propose(s, index);
        out[(*n_out)++] = index;
    }
    if (g->n_visited == size) /* what was lost */
        kiln_search_fill(s, n, out, n_out);
    return KILN_OK;
}

const kiln_search_kind kiln_search_grid = {
    .name = "grid",
    .doc = "every configuration once, spread over the space",
    .init = init,
    .next = next,
};
