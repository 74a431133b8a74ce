/* reports: what was measured, judged and shown. Statistics (stats.h) and the gate's
 * verdicts here; reports are made from data alone, so equal data gives equal bytes.
 */
#ifndef KILN_REPORTS_H
#define KILN_REPORTS_H

#include "reports/stats/stats.h"

/* ---- the gate's paired test ---------------------------------------------------------
 *
 * Candidate and control (the accepted archive) run in pairs of fresh processes, in
 * random order. d = ln(candidate / control), so drift that both share falls out. After
 * 10, 16 and 24 pairs there is a look: the Hodges-Lehmann centre with its exact
 * interval at the look's share of an error of 1% in all.
 */

typedef enum kiln_gate_verdict {
    KILN_GATE_PASS,         /* slower by less than pass_below, at most */
    KILN_GATE_FAIL,         /* slower by more than fail_above, at least */
    KILN_GATE_MORE,         /* another look may tell */
    KILN_GATE_INCONCLUSIVE, /* no look is left */
    KILN_GATE_INVALID       /* what was measured cannot be judged: the text says why */
} kiln_gate_verdict;
const char *kiln_gate_verdict_name(kiln_gate_verdict v); /* "pass", ... */

enum { KILN_GATE_LOOKS = 3, KILN_GATE_MAX_PAIRS = 24 };
#define KILN_GATE_FAIL_ABOVE 0.01 /* of slowdown: ln 1.01, ln 1.03 are compared */
#define KILN_GATE_PASS_BELOW 0.03

/* Shares of slowdown. What both are 0 of stands for those two. */
typedef struct kiln_gate_limits {
    double fail_above, pass_below;
} kiln_gate_limits;
/* With what stands for zeros. */
kiln_gate_limits kiln_gate_limits_of(kiln_gate_limits l);
/* KILN_ERR_ARG where they are not 0 <= fail_above < pass_below <= 1. */
kiln_status kiln_gate_limits_check(kiln_gate_limits l, kiln_err *err);

size_t kiln_gate_pairs(int look); /* 10, 16, 24 */

typedef struct kiln_gate_look {
    kiln_gate_verdict verdict;
    int look;
    kiln_stats_interval slowdown; /* candidate / control - 1 */
    double p; /* signed ranks against a slowdown of at most fail_above */
} kiln_gate_look;
/* The look that n pairs are enough for: all n are used. n below the first look's, or a
 * time that is not positive and finite: INVALID. */
kiln_gate_look kiln_gate_judge(kiln_arena *scratch, const double *candidate,
                               const double *control, size_t n);
/* By other limits than 1% and 3%. */
kiln_gate_look kiln_gate_judge_by(kiln_arena *scratch, kiln_gate_limits given,
                                  const double *candidate, const double *control,
                                  size_t n);

/* A failure must be found by a second, fresh series too. */
kiln_gate_verdict kiln_gate_confirm(kiln_gate_verdict first, kiln_gate_verdict second);

/* Slowdown that so many pairs of an A/A run would have caught: half the width of the
 * interval at the last look's error, above the limit. */
double kiln_gate_detectable(kiln_arena *scratch, kiln_gate_limits given,
                            const double *a, const double *b, size_t n);
/* As many pairs as these, of an A/A run, would need for an interval that is narrower
 * than what lies between the limits: then every slowdown is one or the other. It goes
 * down with the square root of the pairs. At least the first look's; infinite where
 * nothing can be said. */
double kiln_gate_pairs_needed(kiln_arena *scratch, kiln_gate_limits given,
                              const double *a, const double *b, size_t n);

#endif
