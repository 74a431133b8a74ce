/* A batch that is good and covers many options (Chen's thesis, equation 5.3). */
#include "compiler/tuner/tuner_search_internal.h"

typedef struct coverage {
    bool *has[KILN_MAX_KNOBS]; /* by option */
} coverage;

static int new_options(const kiln_space *s, const coverage *c, const kiln_config *x) {
    int n = 0;
    for (int k = 0; k < s->n; k++)
        n += c->has[k][x->option[k]] ? 0 : 1;
    return n;
}

/* 1 for the best of the pool, 0 for the worst. */
static void scale(const kiln_scored *pool, size_t n, double *quality) {
    float lo = pool[0].score, hi = pool[0].score;
    for (size_t i = 1; i < n; i++) {
        lo = pool[i].score < lo ? pool[i].score : lo;
        hi = pool[i].score > hi ? pool[i].score : hi;
    }
    const double range = (double)hi - (double)lo;
    for (size_t i = 0; i < n; i++)
        quality[i] = range > 0 ? ((double)pool[i].score - (double)lo) / range : 1;
}

size_t kiln_pick_diverse(kiln_arena *scratch, const kiln_space *space,
                         const kiln_scored *pool, size_t n_pool, double weight,
                         size_t n, uint64_t *out) {
    if (n_pool == 0)
        return 0;
    coverage c;
    for (int k = 0; k < space->n; k++)
        c.has[k] = kiln_array(scratch, bool, space->knob[k].n);
    kiln_config *config = kiln_array(scratch, kiln_config, n_pool);
    double *quality = kiln_array(scratch, double, n_pool);
    bool *is_taken = kiln_array(scratch, bool, n_pool);
    scale(pool, n_pool, quality);
    for (size_t i = 0; i < n_pool; i++)
        config[i] = kiln_config_at(space, pool[i].index);
    size_t n_out = 0;
    while (n_out < n && n_out < n_pool) {
        size_t best = n_pool;
        double best_gain = -1;
        for (size_t i = 0; i < n_pool; i++) {
            if (is_taken[i])
                continue;
            const double gain =
                quality[i] + weight * new_options(space, &c, &config[i]);
            if (gain > best_gain) {
                best = i;
                best_gain = gain;
            }
        }
        KILN_ASSERT(best < n_pool, "none of %zu candidates is best", n_pool);
        is_taken[best] = true;
        for (int k = 0; k < space->n; k++)
            c.has[k][config[best].option[k]] = true;
        out[n_out++] = pool[best].index;
    }
    return n_out;
}
