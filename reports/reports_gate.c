/* The paired test of the gate: looks and verdicts. */
#include <math.h>

#include "reports/reports.h"

static const struct {
    size_t pairs;
    double alpha;
} looks[KILN_GATE_LOOKS] = {{10, .003}, {16, .003}, {24, .004}};

const char *kiln_gate_verdict_name(kiln_gate_verdict v) {
    static const char *const name[] = {[KILN_GATE_PASS] = "pass",
                                       [KILN_GATE_FAIL] = "fail",
                                       [KILN_GATE_MORE] = "more",
                                       [KILN_GATE_INCONCLUSIVE] = "inconclusive",
                                       [KILN_GATE_INVALID] = "invalid"};
    KILN_ASSERT((size_t)v < sizeof name / sizeof name[0], "no verdict %d", (int)v);
    return name[v];
}

size_t kiln_gate_pairs(int look) {
    KILN_ASSERT(look >= 0 && (size_t)look < sizeof looks / sizeof looks[0], "look %d",
                look);
    return looks[look].pairs;
}

static double *differences(kiln_arena *scratch, const double *candidate,
                           const double *control, size_t n) {
    double *d = kiln_array(scratch, double, n + 1);
    for (size_t i = 0; i < n; i++) {
        d[i] = log(candidate[i] / control[i]);
        if (!(candidate[i] > 0) || !(control[i] > 0) || !isfinite(d[i]))
            return NULL;
    }
    return d;
}

kiln_gate_limits kiln_gate_limits_of(kiln_gate_limits l) {
    static const kiln_gate_limits usual = {KILN_GATE_FAIL_ABOVE, KILN_GATE_PASS_BELOW};
    return l.fail_above == 0 && l.pass_below == 0 ? usual : l;
}

kiln_status kiln_gate_limits_check(kiln_gate_limits l, kiln_err *err) {
    if (l.fail_above >= 0 && l.fail_above < l.pass_below && l.pass_below <= 1)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "limits must be 0%% <= fail above < pass below <= 100%%, are %g%% "
                     "and %g%%",
                     100 * l.fail_above, 100 * l.pass_below);
}

static kiln_gate_verdict verdict(kiln_gate_limits l, kiln_stats_interval d, int look) {
    KILN_ASSERT(d.low <= d.high && look < KILN_GATE_LOOKS, "%g to %g at look %d", d.low,
                d.high, look);
    if (d.low > log1p(l.fail_above))
        return KILN_GATE_FAIL;
    if (d.high < log1p(l.pass_below))
        return KILN_GATE_PASS;
    return look + 1 < KILN_GATE_LOOKS ? KILN_GATE_MORE : KILN_GATE_INCONCLUSIVE;
}

kiln_gate_look kiln_gate_judge(kiln_arena *scratch, const double *candidate,
                               const double *control, size_t n) {
    return kiln_gate_judge_by(scratch, (kiln_gate_limits){0}, candidate, control, n);
}

kiln_gate_look kiln_gate_judge_by(kiln_arena *scratch, kiln_gate_limits given,
                                  const double *candidate, const double *control,
                                  size_t n) {
    const kiln_gate_limits l = kiln_gate_limits_of(given);
    kiln_gate_look out = {.verdict = KILN_GATE_INVALID, .look = -1, .p = 1};
    const double *d =
        n > KILN_STATS_MAX_PAIRS ? NULL : differences(scratch, candidate, control, n);
    for (int i = 0; i < KILN_GATE_LOOKS; i++)
        if (n >= looks[i].pairs)
            out.look = i;
    if (d == NULL || out.look < 0)
        return out;
    const kiln_stats_interval c =
        kiln_stats_centre(scratch, d, n, looks[out.look].alpha);
    out.verdict = verdict(l, c, out.look);
    out.slowdown =
        (kiln_stats_interval){expm1(c.estimate), expm1(c.low), expm1(c.high)};
    out.p = kiln_stats_signed_rank_p(scratch, d, n, log1p(l.fail_above));
    return out;
}

kiln_gate_verdict kiln_gate_confirm(kiln_gate_verdict first, kiln_gate_verdict second) {
    return first == KILN_GATE_FAIL && second != KILN_GATE_FAIL ? KILN_GATE_INCONCLUSIVE
                                                               : first;
}

/* Half the interval's width at the last look's error, as a logarithm. */
static double half_width(kiln_arena *scratch, const double *a, const double *b,
                         size_t n) {
    const double *d = n > KILN_STATS_MAX_PAIRS ? NULL : differences(scratch, a, b, n);
    if (d == NULL || n == 0)
        return (double)INFINITY;
    const kiln_stats_interval c =
        kiln_stats_centre(scratch, d, n, looks[KILN_GATE_LOOKS - 1].alpha);
    return (c.high - c.low) / 2;
}

double kiln_gate_detectable(kiln_arena *scratch, kiln_gate_limits given,
                            const double *a, const double *b, size_t n) {
    const kiln_gate_limits l = kiln_gate_limits_of(given);
    return l.fail_above + expm1(half_width(scratch, a, b, n));
}

double kiln_gate_pairs_needed(kiln_arena *scratch, kiln_gate_limits given,
                              const double *a, const double *b, size_t n) {
    const kiln_gate_limits l = kiln_gate_limits_of(given);
    const double room = log1p(l.pass_below) - log1p(l.fail_above);
    KILN_ASSERT(room > 0, "from %g to %g there is no room", l.fail_above, l.pass_below);
    const double share = 2 * half_width(scratch, a, b, n) / room;
    return fmax(ceil((double)n * share * share), (double)looks[0].pairs);
}
