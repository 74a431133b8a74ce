/* Nights for tests of what keeps and shows them. */
#ifndef KILN_TESTS_SUPPORT_SUPPORT_NIGHTS_H
#define KILN_TESTS_SUPPORT_SUPPORT_NIGHTS_H

#include "reports/nights/reports_nights.h"

enum { NIGHTS_MAX_JOBS = 12 };

/* A whole night of n_jobs jobs, in the test arena: model "net0" and so on; all ratios
 * noisy about `ratio` of the first job and 1 of the others. */
kiln_night nights_one(kiln_rng *rng, const char *out, int number, int n_jobs,
                      double ratio);
/* So many, the ratio of the first job being `ratio(i)`; NULL: 1. */
void nights_many(kiln_rng *rng, const char *out, int n, int n_jobs,
                 double (*ratio)(int), kiln_nights *nights);

#endif
