/* The statistics behind verdicts: medians with intervals, and the signed-rank test.
 *
 * Everything is exact or seeded: equal samples give equal numbers on every machine.
 * Samples are finite; that is the caller's promise.
 */
#ifndef KILN_REPORTS_STATS_H
#define KILN_REPORTS_STATS_H

#include "base/base.h"

/* Linear interpolation between order statistics (Hyndman and Fan, type 7). `share` in
 * 0 to 1, n > 0. */
double kiln_stats_quantile(kiln_arena *scratch, const double *v, size_t n,
                           double share);
double kiln_stats_median(kiln_arena *scratch, const double *v, size_t n);

typedef struct kiln_stats_interval {
    double estimate, low, high;
} kiln_stats_interval;

/* ratio of medians a / b, with a percentile bootstrap interval of `level` (0.95):
 * both sides are drawn anew `rounds` times. All samples above 0. */
kiln_stats_interval kiln_stats_ratio(kiln_arena *scratch, const double *a, size_t n_a,
                                     const double *b, size_t n_b, double level,
                                     int rounds, uint64_t seed);
/* Geometric mean of n ratios, with a bootstrap interval over them. */
kiln_stats_interval kiln_stats_geomean(kiln_arena *scratch, const double *v, size_t n,
                                       double level, int rounds, uint64_t seed);

/* ---- Wilcoxon's signed ranks -----------------------------------------------------
 * Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, chapter 3. */

enum { KILN_STATS_MAX_PAIRS = 200 };

/* The centre of symmetric differences (Hodges and Lehmann: median of the means of all
 * pairs d_i, d_k, i <= k), with the interval that the exact distribution of the signed
 * ranks gives: it holds the centre with probability 1 - alpha or more. Where so few
 * pairs cannot give that much, low and high are infinite. n from 1 to
 * KILN_STATS_MAX_PAIRS. */
kiln_stats_interval kiln_stats_centre(kiln_arena *scratch, const double *d, size_t n,
                                      double alpha);
/* How likely are signed ranks as large as these where the centre is at most `centre`?
 * Exact, given the ranks: ties have their mean rank, differences of 0 none. 1 where
 * nothing differs. */
double kiln_stats_signed_rank_p(kiln_arena *scratch, const double *d, size_t n,
                                double centre);

/* Benjamini and Hochberg: rejected[i] where p[i] is among those that keep the expected
 * share of false rejections at most q. Returns how many. */
size_t kiln_stats_rejected(kiln_arena *scratch, const double *p, size_t n, double q,
                           bool *rejected);

#endif
