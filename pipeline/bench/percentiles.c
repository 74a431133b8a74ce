/* Percentiles by the nearest rank (Hyndman and Fan, type 1): the smallest sample that
 * the wanted share of all is no larger than. What no sample lies above is not known: it
 * would be the largest of a few, and move with the next one. */
#include "pipeline/bench/bench.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const char *name;
    int64_t per_mille;
} percentile[] = {
    {"p50", 500}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p99.9", 999},
};
_Static_assert(sizeof percentile / sizeof percentile[0] == KILN_N_PERCENTILES,
               "one place for each");

const char *kiln_percentile_name(int i) {
    KILN_ASSERT(i >= 0 && i < KILN_N_PERCENTILES, "percentile %d of %d", i,
                (int)KILN_N_PERCENTILES);
    return percentile[i].name;
}

static int by_size(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

kiln_percentiles kiln_percentiles_of(double *v, size_t n) {
    kiln_percentiles p = {.n = n};
    double sum = 0;
    KILN_ASSERT(n > 0, "percentiles of nothing");
    qsort(v, n, sizeof *v, by_size);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    p.mean = sum / (double)n;
    p.min = v[0];
    p.max = v[n - 1];
    for (int i = 0; i < KILN_N_PERCENTILES; i++) {
        const size_t rank = (n * (size_t)percentile[i].per_mille + 999) / 1000;
        p.at[i] = rank < n ? v[rank - 1] : (double)NAN;
    }
    return p;
}
