/* Where a series of nights changed, looked at afterwards: E-divisive.
 *
 * Matteson and James: A nonparametric approach for multiple change point analysis of
 * multivariate data, JASA 109, 2014; on nightly benchmarks: Daly, Brown, Ingo, O'Leary,
 * Bradford: The use of change point detection to identify software performance
 * regressions in a continuous integration system, ICPE 2020.
 *
 * Seeded: equal series give equal points on every machine. What tonight's night means
 * is not asked here but of reports/stats/trend.h: a point needs nights on both sides. */
#ifndef KILN_REPORTS_CHANGE_POINTS_H
#define KILN_REPORTS_CHANGE_POINTS_H

#include "base/base.h"

enum {
    KILN_CHANGE_MAX_NIGHTS = 1000,
    KILN_CHANGE_MIN_SEGMENT = 4 /* nights between two points, and at both ends */
};

/* Writes where segments begin, but for the first one, ascending, to `at` (room for n)
 * and returns how many. A point stands where at most 1% of 199 rearrangements of the
 * nights within their segments divide as well. n to KILN_CHANGE_MAX_NIGHTS, all finite.
 */
size_t kiln_change_points(kiln_arena *scratch, const double *v, size_t n, uint64_t seed,
                          size_t *at);

#endif
