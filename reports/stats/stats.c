#include "reports/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *sorted(kiln_arena *scratch, const double *v, size_t n) {
    double *s = kiln_arena_dup(scratch, v, n * sizeof *s);
    kiln_sort_f64(s, n);
    return s;
}

double kiln_stats_quantile(kiln_arena *scratch, const double *v, size_t n,
                           double share) {
    KILN_ASSERT(n > 0 && share >= 0 && share <= 1, "quantile %g of %zu", share, n);
    return kiln_quantile(sorted(scratch, v, n), n, share);
}

double kiln_stats_median(kiln_arena *scratch, const double *v, size_t n) {
    return kiln_stats_quantile(scratch, v, n, 0.5);
}

/* ---- bootstrap ------------------------------------------------------------------- */

static double drawn_median(kiln_rng *rng, const double *v, size_t n, double *room) {
    for (size_t i = 0; i < n; i++)
        room[i] = v[kiln_rng_next(rng) % n];
    return kiln_median(room, n);
}

static kiln_stats_interval ends(double *v, int n, double level, double estimate) {
    KILN_ASSERT(n > 0 && level > 0 && level < 1, "%d rounds at %g", n, level);
    kiln_sort_f64(v, (size_t)n);
    return (kiln_stats_interval){estimate, kiln_quantile(v, (size_t)n, (1 - level) / 2),
                                 kiln_quantile(v, (size_t)n, (1 + level) / 2)};
}

kiln_stats_interval kiln_stats_ratio(kiln_arena *scratch, const double *a, size_t n_a,
                                     const double *b, size_t n_b, double level,
                                     int rounds, uint64_t seed) {
    KILN_ASSERT(n_a > 0 && n_b > 0, "a ratio of %zu to %zu samples", n_a, n_b);
    kiln_rng rng;
    double *room = kiln_array(scratch, double, n_a > n_b ? n_a : n_b);
    double *ratio = kiln_array(scratch, double, rounds);
    kiln_rng_init(&rng, seed);
    for (int i = 0; i < rounds; i++) {
        const double top = drawn_median(&rng, a, n_a, room);
        ratio[i] = top / drawn_median(&rng, b, n_b, room);
    }
    return ends(ratio, rounds, level,
                kiln_stats_median(scratch, a, n_a) /
                    kiln_stats_median(scratch, b, n_b));
}

kiln_stats_interval kiln_stats_geomean(kiln_arena *scratch, const double *v, size_t n,
                                       double level, int rounds, uint64_t seed) {
    KILN_ASSERT(n > 0, "a mean of no numbers");
    kiln_rng rng;
    double *mean = kiln_array(scratch, double, rounds), whole = 0;
    kiln_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++)
        whole += log(v[i]);
    for (int k = 0; k < rounds; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += log(v[kiln_rng_next(&rng) % n]);
        mean[k] = exp(sum / (double)n);
    }
    return ends(mean, rounds, level, exp(whole / (double)n));
}

/* ---- signed ranks ---------------------------------------------------------------- */

/* probability[t]: that the sum of those of the n given (doubled) ranks that a fair coin
 * takes is t. The doubled ranks are whole numbers, also with ties. */
static double *rank_sums(kiln_arena *scratch, const int *rank2, size_t n, int *max) {
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += rank2[i];
    double *p = kiln_array(scratch, double, sum + 1);
    memset(p, 0, ((size_t)sum + 1) * sizeof *p);
    p[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (int t = sum; t >= 0; t--)
            p[t] = 0.5 * (p[t] + (t >= rank2[i] ? p[t - rank2[i]] : 0));
    *max = sum;
    return p;
}

/* The largest k with P(T <= k - 1) <= alpha / 2; 0: none. */
static size_t critical(kiln_arena *scratch, size_t n, double alpha) {
    int *rank2 = kiln_array(scratch, int, n), max = 0;
    for (size_t i = 0; i < n; i++)
        rank2[i] = 2 * ((int)i + 1);
    const double *p = rank_sums(scratch, rank2, n, &max);
    double below = 0;
    size_t k = 0;
    for (int t = 0; t <= max; t += 2) {
        below += p[t];
        if (below > alpha / 2)
            break;
        k++;
    }
    return k;
}

kiln_stats_interval kiln_stats_centre(kiln_arena *scratch, const double *d, size_t n,
                                      double alpha) {
    KILN_ASSERT(n > 0 && n <= KILN_STATS_MAX_PAIRS, "%zu pairs", n);
    KILN_ASSERT(alpha > 0 && alpha < 1, "an error of %g", alpha);
    const size_t n_means = n * (n + 1) / 2;
    double *mean = kiln_array(scratch, double, n_means);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            mean[at++] = 0.5 * (d[i] + d[k]);
    kiln_sort_f64(mean, n_means);
    const size_t k = critical(scratch, n, alpha);
    const kiln_stats_interval unbounded = {kiln_quantile(mean, n_means, 0.5),
                                           -(double)INFINITY, (double)INFINITY};
    return k == 0 ? unbounded
                  : (kiln_stats_interval){unbounded.estimate, mean[k - 1],
                                          mean[n_means - k]};
}

typedef struct ranked {
    double size;
    bool is_above;
} ranked;

static int by_size(const void *x, const void *y) {
    const double a = ((const ranked *)x)->size, b = ((const ranked *)y)->size;
    return (a > b) - (a < b);
}

double kiln_stats_signed_rank_p(kiln_arena *scratch, const double *d, size_t n,
                                double centre) {
    KILN_ASSERT(n <= KILN_STATS_MAX_PAIRS, "%zu pairs", n);
    ranked *r = kiln_array(scratch, ranked, n + 1);
    int *rank2 = kiln_array(scratch, int, n + 1), max = 0, above = 0;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (d[i] != centre)
            r[m++] = (ranked){fabs(d[i] - centre), d[i] > centre};
    qsort(r, m, sizeof *r, by_size);
    for (size_t i = 0; i < m;) {
        size_t end = i + 1;
        while (end < m && r[end].size == r[i].size)
            end++;
        for (size_t k = i; k < end; k++) {
            rank2[k] = (int)(i + 1 + end); /* twice the mean of ranks i + 1 to end */
            above += r[k].is_above ? rank2[k] : 0;
        }
        i = end;
    }
    const double *p = rank_sums(scratch, rank2, m, &max);
    double tail = 0;
    KILN_ASSERT(above <= max, "ranks above the centre sum to %d of %d", above, max);
    for (int t = max; t >= above; t--)
        tail += p[t];
    return fmin(tail, 1);
}

/* ---- many tests ------------------------------------------------------------------ */

size_t kiln_stats_rejected(kiln_arena *scratch, const double *p, size_t n, double q,
                           bool *rejected) {
    KILN_ASSERT(q >= 0 && q <= 1, "a share of %g false rejections", q);
    if (n == 0)
        return 0;
    const double *s = sorted(scratch, p, n);
    double limit = -1;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i] <= q * (double)(i + 1) / (double)n)
            limit = s[i];
    for (size_t i = 0; i < n; i++) {
        rejected[i] = p[i] <= limit;
        count += rejected[i];
    }
    return count;
}
