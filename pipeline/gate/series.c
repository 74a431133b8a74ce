/* A series: pairs of fresh processes in random order, looked at after 10, 16 and 24,
 * with the control against itself between them. Who runs them is the caller's. */
#include "pipeline/gate/gate_internal.h"

#include <math.h>

enum {
    ATTEMPTS = 3,  /* at one process, disturbed ones included */
    MIN_GOOD = 5,  /* undisturbed runs that a quartile needs */
    CLOCK_LAST = 5 /* processes before it, that a process's clock is compared with */
};
static const double clock_band = 0.05;
/* Of processes that stay disturbed however often they are taken. */
static const double bad_share = 0.25;

const char *kiln_gate_side_name(kiln_gate_side s) {
    KILN_ASSERT((int)s >= 0 && s < KILN_N_GATE_SIDES, "no side %d of the gate", (int)s);
    static const char *const name[KILN_N_GATE_SIDES] = {"candidate", "control",
                                                        "again"};
    return name[s];
}

typedef struct series {
    kiln_arena *arena;
    const kiln_gate_bench *bench;
    kiln_gate_series *out;
    kiln_rng rng;
    double ms[KILN_N_GATE_SIDES][KILN_GATE_MAX_PAIRS];
    size_t n;             /* pairs taken */
    size_t n_used, n_bad; /* processes; bad ones were used all the same */
    size_t n_warm;        /* bad ones with throttled runs */
    size_t n_wanted;      /* processes, by the next look */
    bool is_open, is_itself_open;
} series;

/* ---- one process ----------------------------------------------------------------- */

static bool is_control(kiln_gate_side s) { return s != KILN_GATE_CANDIDATE; }

/* The median clock of the last few processes of the same program: a program may have a
 * clock of its own, where wide vectors slow it down, and all may drift. 0: too few. */
static double usual_clock(series *s, kiln_gate_side side) {
    double clock[CLOCK_LAST];
    size_t n = 0;
    for (size_t i = s->out->sample.n; i-- > 0 && n < CLOCK_LAST;) {
        const kiln_gate_sample *x = &s->out->sample.v[i];
        if (x->is_used && is_control(x->side) == is_control(side))
            clock[n++] = x->process.clock_ghz;
    }
    return n < CLOCK_LAST ? 0 : kiln_stats_median(s->arena, clock, n);
}

static bool is_good(series *s, kiln_gate_side side, const kiln_gate_process *p) {
    const double usual = usual_clock(s, side);
    return p->n_runs - p->n_disturbed >= MIN_GOOD && 2 * p->n_disturbed <= p->n_runs &&
           (usual <= 0 || fabs(p->clock_ghz / usual - 1) <= clock_band);
}

/* Whatever follows, too many of those that the next look needs are bad: to go on would
 * only take time. */
static bool is_hopeless(const series *s) {
    return (double)s->n_bad > bad_share * (double)s->n_wanted;
}

/* The last attempt counts, whatever it is: what stays disturbed is noise that the
 * intervals show, and too much of it ends the series. */
static kiln_status take(series *s, kiln_gate_side side, double *ms, kiln_err *err) {
    kiln_gate_sample x = {.pair = (int)s->n, .side = side};
    for (int i = 1; !x.is_used; i++) {
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(s->bench->run(s->bench->user, side, &x.process, err));
        const bool good = is_good(s, side, &x.process);
        x.is_used = good || i == ATTEMPTS;
        s->n_bad += x.is_used && !good;
        s->n_warm += x.is_used && !good && x.process.n_throttled > 0;
        s->out->n_retaken += !x.is_used;
        s->out->n_throttled += x.process.n_throttled > 0;
        if (x.process.degrees > s->out->degrees)
            s->out->degrees = x.process.degrees;
        kiln_vec_push(s->arena, &s->out->sample, x);
    }
    s->n_used++;
    *ms = x.process.ms;
    return KILN_OK;
}

/* There and back, the faster of both: who comes first by chance has no advantage from
 * drift, and what slows one process down is seldom there twice. */
static kiln_status take_pair(series *s, kiln_err *err) {
    kiln_gate_side order[KILN_N_GATE_SIDES];
    int n = 0;
    order[n++] = KILN_GATE_CONTROL;
    if (s->is_open)
        order[n++] = KILN_GATE_CANDIDATE;
    if (s->is_itself_open)
        order[n++] = KILN_GATE_AGAIN;
    for (int i = n - 1; i > 0; i--) { /* Fisher and Yates */
        const int64_t j = kiln_rng_range(&s->rng, 0, i);
        const kiln_gate_side held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
    for (int i = 0; i < 2 * n; i++) {
        const kiln_gate_side side = order[i < n ? i : 2 * n - 1 - i];
        double ms = 0;
        KILN_TRY(take(s, side, &ms, err));
        s->out->gave_up = is_hopeless(s);
        if (s->out->gave_up)
            return KILN_OK;
        double *of_pair = &s->ms[side][s->n];
        *of_pair = i < n || ms < *of_pair ? ms : *of_pair;
    }
    s->n++;
    return KILN_OK;
}

/* ---- looks ----------------------------------------------------------------------- */

/* Alike in both directions. The interval is that of the second control over the first.
 */
static kiln_gate_look judge_itself(series *s) {
    const double *again = s->ms[KILN_GATE_AGAIN], *control = s->ms[KILN_GATE_CONTROL];
    const kiln_gate_limits by = s->bench->limits;
    kiln_gate_look l = kiln_gate_judge_by(s->arena, by, again, control, s->n);
    const kiln_gate_verdict other =
        kiln_gate_judge_by(s->arena, by, control, again, s->n).verdict;
    const kiln_gate_verdict in_order[] = {KILN_GATE_INVALID, KILN_GATE_FAIL,
                                          KILN_GATE_MORE, KILN_GATE_INCONCLUSIVE};
    for (size_t i = 0; i < sizeof in_order / sizeof in_order[0]; i++)
        if (l.verdict == in_order[i] || other == in_order[i]) {
            l.verdict = in_order[i];
            break;
        }
    return l;
}

/* For series of nights, which want a fixed level, not the looks' own. */
static kiln_stats_interval ratio_of(series *s) {
    static const double alpha = 0.05;
    double *d = kiln_array(s->arena, double, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        d[i] = log(s->ms[KILN_GATE_CANDIDATE][i] / s->ms[KILN_GATE_CONTROL][i]);
        if (!isfinite(d[i]))
            return (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    }
    const kiln_stats_interval c = kiln_stats_centre(s->arena, d, s->n, alpha);
    return (kiln_stats_interval){exp(c.estimate), exp(c.low), exp(c.high)};
}

/* A side that is decided stays decided: it is not looked at again. */
static void look(series *s) {
    kiln_gate_series *out = s->out;
    if (s->is_open) {
        out->look =
            kiln_gate_judge_by(s->arena, s->bench->limits, s->ms[KILN_GATE_CANDIDATE],
                               s->ms[KILN_GATE_CONTROL], s->n);
        out->pairs = (int)s->n;
        s->is_open = out->look.verdict == KILN_GATE_MORE;
        out->ratio = ratio_of(s);
    }
    if (s->is_itself_open) {
        out->itself = judge_itself(s);
        out->detectable =
            kiln_gate_detectable(s->arena, s->bench->limits, s->ms[KILN_GATE_AGAIN],
                                 s->ms[KILN_GATE_CONTROL], s->n);
        out->pairs_needed =
            kiln_gate_pairs_needed(s->arena, s->bench->limits, s->ms[KILN_GATE_AGAIN],
                                   s->ms[KILN_GATE_CONTROL], s->n);
        s->is_itself_open = out->itself.verdict == KILN_GATE_MORE;
    }
}

/* An interval gets narrower as the root of the pairs: will it be narrow enough with all
 * of them? Its narrower side is asked, since one slow process of ten pairs makes the
 * other as wide as it is slow, and of more pairs does not; and twice the width is
 * allowed, for the noise of ten pairs is a guess. */
static bool is_too_noisy(const series *s) {
    static const double allowance = 2;
    const kiln_stats_interval *v = &s->out->itself.slowdown;
    const double all = (double)kiln_gate_pairs(KILN_GATE_LOOKS - 1);
    const double side = fmin(v->high - v->estimate, v->estimate - v->low);
    const kiln_gate_limits l = kiln_gate_limits_of(s->bench->limits);
    return s->is_itself_open &&
           side * sqrt((double)s->n / all) > allowance * l.pass_below;
}

static const char *percent(kiln_arena *a, kiln_stats_interval v) {
    return kiln_format(a, "%+.2f%% (%+.2f%% to %+.2f%%)", 100 * v.estimate, 100 * v.low,
                       100 * v.high);
}

/* Who made them so: others, or the machine's own heat. */
static const char *who_disturbs(const series *s) {
    const kiln_gate_series *out = s->out;
    if (2 * s->n_warm < s->n_bad)
        return "others use the machine";
    return out->degrees > 0 ? kiln_format(s->arena,
                                          "the machine holds its clock back, it is too "
                                          "warm (%u degrees)",
                                          (unsigned)out->degrees)
                            : "the machine holds its clock back, it is too warm";
}

/* The control must be like itself, where that was asked. */
static const char *trouble_of(const series *s) {
    kiln_arena *a = s->arena;
    const kiln_gate_series *out = s->out;
    if (is_hopeless(s))
        return kiln_format(a,
                           "given up after %zu of %zu processes: %zu of them were "
                           "disturbed, or ran at another clock, each of the %d times "
                           "they were taken, and no more than a quarter may be: %s",
                           s->n_used, s->n_wanted, s->n_bad, ATTEMPTS, who_disturbs(s));
    if (out->look.verdict == KILN_GATE_INVALID ||
        (out->has_itself && out->itself.verdict == KILN_GATE_INVALID))
        return "a process reported a time of 0";
    if (out->has_itself && out->itself.verdict == KILN_GATE_FAIL)
        return kiln_format(a,
                           "the accepted archive differs from itself by %s: the "
                           "machine, not the code, makes the difference",
                           percent(a, out->itself.slowdown));
    if (out->has_itself && out->itself.verdict != KILN_GATE_PASS)
        return kiln_format(a,
                           "the machine is too noisy: the accepted archive against "
                           "itself gives %s after %zu pairs%s",
                           percent(a, out->itself.slowdown), s->n,
                           out->gave_up ? ", and more would not be enough" : "");
    if ((double)s->n_bad > bad_share * (double)s->n_used)
        return kiln_format(a,
                           "%zu of %zu processes were disturbed, or ran at another "
                           "clock, each time they were taken: %s",
                           s->n_bad, s->n_used, who_disturbs(s));
    return NULL;
}

/* And who did it: a machine that is too noisy has a reason, too. */
static const char *problem_of(const series *s) {
    const char *what = trouble_of(s);
    const char *who = kiln_busy_text(s->arena, &s->out->others);
    return what == NULL || who == NULL
               ? what
               : kiln_format(s->arena, "%s; meanwhile %s", what, who);
}

/* ---- a series -------------------------------------------------------------------- */

static const kiln_stats_interval unknown = {(double)NAN, (double)NAN, (double)NAN};

static void begin(series *s, const kiln_gate_bench *b, uint64_t seed) {
    const kiln_gate_look none = {
        .verdict = KILN_GATE_INVALID, .slowdown = unknown, .p = (double)NAN};
    s->out->look = s->out->itself = none;
    s->out->ratio = unknown;
    s->out->detectable = (double)NAN;
    kiln_rng_init(&s->rng, seed);
    if (b->others != NULL)
        b->others(b->others_user, s->arena, NULL);
}

/* So many pairs in all, unless it gives up. */
static kiln_status take_pairs(series *s, size_t pairs, kiln_err *err) {
    const kiln_gate_bench *b = s->bench;
    const size_t sides = 1 + (size_t)s->is_open + (size_t)s->is_itself_open;
    s->n_wanted = s->n_used + 2 * sides * (pairs - s->n);
    while (s->n < pairs && !s->out->gave_up) {
        if (b->progress != NULL)
            b->progress(b->progress_user, (int)s->n, (int)pairs);
        KILN_TRY(take_pair(s, err));
    }
    return KILN_OK;
}

static void end(series *s) {
    const kiln_gate_bench *b = s->bench;
    if (b->others != NULL)
        b->others(b->others_user, s->arena, &s->out->others);
}

kiln_status kiln_gate_series_run(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                                 bool with_itself, kiln_gate_series *out,
                                 kiln_err *err) {
    KILN_ASSERT(b->run != NULL, "nobody runs the processes of a series");
    series s = {.arena = a,
                .bench = b,
                .out = out,
                .is_open = true,
                .is_itself_open = with_itself};
    *out = (kiln_gate_series){.has_itself = with_itself};
    begin(&s, b, seed);
    for (int i = 0; i < KILN_GATE_LOOKS && (s.is_open || s.is_itself_open); i++) {
        KILN_TRY(take_pairs(&s, kiln_gate_pairs(i), err));
        if (out->gave_up)
            break;
        look(&s);
        out->gave_up = is_too_noisy(&s);
        if (out->gave_up || (with_itself && out->itself.verdict == KILN_GATE_FAIL))
            break;
    }
    end(&s);
    out->problem = problem_of(&s);
    return KILN_OK;
}

kiln_status kiln_gate_ratio_run(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                                int pairs, kiln_gate_series *out, kiln_err *err) {
    series s = {.arena = a, .bench = b, .out = out, .is_open = true};
    *out = (kiln_gate_series){.pairs = pairs};
    KILN_ASSERT(pairs > 0 && pairs <= KILN_GATE_MAX_PAIRS, "%d pairs", pairs);
    begin(&s, b, seed);
    KILN_TRY(take_pairs(&s, (size_t)pairs, err));
    end(&s);
    out->look.verdict = KILN_GATE_MORE; /* nobody asks for one */
    if (!out->gave_up)
        out->ratio = ratio_of(&s);
    if (isnan(out->ratio.estimate) && !out->gave_up)
        out->problem = "a process reported a time of 0";
    else
        out->problem = problem_of(&s);
    return KILN_OK;
}

/* ---- the verdict ----------------------------------------------------------------- */

static const char *reason_of(kiln_arena *a, const kiln_gate_timing *t) {
    const kiln_gate_look *l = &t->first.look;
    const char *by = percent(a, l->slowdown);
    const int pairs = t->first.pairs;
    const double pass = 100 * t->limits.pass_below, fail = 100 * t->limits.fail_above;
    if (t->outcome == KILN_GATED_PASS)
        return kiln_format(a, "%s after %d pairs: below %g%%", by, pairs, pass);
    if (t->outcome == KILN_GATED_FAIL)
        return kiln_format(a, "slower by %s after %d pairs, and by %s in a second run",
                           by, pairs, percent(a, t->second.look.slowdown));
    if (t->has_second)
        return kiln_format(a, "slower by %s after %d pairs, but a second run found %s",
                           by, pairs, percent(a, t->second.look.slowdown));
    return kiln_format(a,
                       "%s after %d pairs: neither below %g%% nor above %g%% for sure; "
                       "slowdowns from %.1f%% can be seen here",
                       by, pairs, pass, fail, 100 * t->first.detectable);
}

static kiln_gate_outcome outcome_of(kiln_gate_verdict v) {
    return v == KILN_GATE_PASS   ? KILN_GATED_PASS
           : v == KILN_GATE_FAIL ? KILN_GATED_FAIL
                                 : KILN_GATED_INCONCLUSIVE;
}

kiln_status kiln_gate_time(kiln_arena *a, const kiln_gate_bench *b, uint64_t seed,
                           kiln_gate_timing *out, kiln_err *err) {
    kiln_gate_timing t = {.seed = seed, .limits = kiln_gate_limits_of(b->limits)};
    KILN_TRY(kiln_gate_series_run(a, b, seed, true, &t.first, err));
    kiln_gate_verdict v = t.first.look.verdict;
    t.has_second = t.first.problem == NULL && v == KILN_GATE_FAIL;
    if (t.has_second) {
        KILN_TRY(kiln_gate_series_run(a, b, seed + 1, false, &t.second, err));
        v = kiln_gate_confirm(v, t.second.look.verdict);
    }
    const char *problem = t.has_second ? t.second.problem : t.first.problem;
    t.outcome = problem != NULL ? KILN_GATED_INVALID : outcome_of(v);
    KILN_ASSERT(!t.has_second || t.first.problem == NULL,
                "a series that came to nothing is confirmed");
    t.reason = problem != NULL ? problem : reason_of(a, &t);
    *out = t;
    return KILN_OK;
}
