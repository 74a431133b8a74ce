/* Two runs side by side: what differs, and what may be why. Data in, text out; what was
 * measured on other machines or nights is set beside one another, never judged. */
#ifndef KILN_REPORTS_REPORTS_COMPARE_H
#define KILN_REPORTS_REPORTS_COMPARE_H

#include "reports/results/results.h"

typedef KILN_VEC(const char *) kiln_compare_lines;

/* One job of both, or of one of them. */
typedef struct kiln_compare_job {
    const char *model, *profile;
    int threads;
    const kiln_results_job *a, *b; /* NULL: that run has no such job */
    double ratio;                  /* median b / median a; NaN: one was not measured */
    bool is_apart;                 /* their middle halves do not meet */
    kiln_compare_lines why;        /* archive, steps, configurations, verdicts */
} kiln_compare_job;

typedef struct kiln_compare {
    const kiln_results *a, *b;
    kiln_compare_lines
        around; /* versions, machine, baselines: what holds for all jobs */
    KILN_VEC(kiln_compare_job) job; /* those of a, then those that b has more */
    int n_differ;                   /* jobs with a line, or apart */
} kiln_compare;

/* Borrows the results. */
void kiln_compare_results(kiln_arena *a, const kiln_results *x, const kiln_results *y,
                          kiln_compare *out);
void kiln_compare_text(kiln_buf *out, const kiln_compare *c);
void kiln_compare_json(kiln_buf *out, const kiln_compare *c);

#endif
