/* The rules of trend.h.
 *
 * A night's variance is that of its interval and of what nights differ by beside it
 * (layout of memory, other programs, the day's kernel): the latter is learnt from the
 * nights before, beginning with a guess that counts as much as ten of them. Since the
 * last finding the nights are one segment:
 *
 *   step   tonight against the mean of the segment's last 14 nights;
 *   drift  a line through the last 10, 20 and 40 nights of the segment climbs. Where a
 *          single step explains these nights better than the line, it is called one.
 *
 * Normal tails: what is asked for is so far out that only intervals of nights with
 * heavy tails, which are wide, could cross it. The limits are those of a chance of
 * 0.25% (step) and 0.1% (drift) a night, for all jobs together (Bonferroni). Simulated
 * years hold them to less than 0.5%: tests/reports/stats/test_trend.c. */
#include "reports/stats/trend.h"

#include <math.h>

static const double step_chance = 0.0025, drift_chance = 0.001; /* of a night */
/* Less is no news, however sure it is. */
static const double least_step = 0.01, least_drift = 0.0075;
static const double guessed_sd = 0.003; /* between nights, beside their intervals */
static const double guess_counts = 10;  /* nights */
static const double memory = 0.98; /* of what was learnt, a night: about 50 nights */
enum { REFERENCE = 14, KEPT_OF_DRIFT = 7 };
static const size_t windows[] = {10, 20, 40};
enum { N_WINDOWS = sizeof windows / sizeof windows[0] };

const char *kiln_trend_name(kiln_trend_word w) {
    static const char *const name[] = {[KILN_TREND_STABLE] = "stable",
                                       [KILN_TREND_STEP] = "step",
                                       [KILN_TREND_DRIFT] = "drift",
                                       [KILN_TREND_FASTER] = "faster"};
    KILN_ASSERT((size_t)w < sizeof name / sizeof name[0], "no way %d of a trend",
                (int)w);
    return name[w];
}

bool kiln_trend_night_of(const kiln_stats_interval *ratio, kiln_trend_night *out) {
    static const double width = 2 * 1.959963984540054; /* of 95%, in deviations */
    const double d = log(ratio->estimate);
    const double error = (log(ratio->high) - log(ratio->low)) / width;
    if (!(ratio->low > 0) || !isfinite(d) || !isfinite(error) || error < 0)
        return false;
    *out = (kiln_trend_night){d, error};
    return true;
}

/* z with a normal tail of p above it, 0 < p < 1/2, by halving. */
static double quantile(double p) {
    KILN_ASSERT(p > 0 && p < 0.5, "a tail of %g", p);
    double low = 0, high = 40;
    for (int i = 0; i < 80; i++) {
        const double z = (low + high) / 2;
        if (erfc(z / sqrt(2)) / 2 > p)
            low = z;
        else
            high = z;
    }
    return high;
}

typedef struct watch {
    const kiln_trend_night *night;
    double step_z, drift_z;
    double excess,
        weight;   /* variance between nights, and the nights it was learnt of */
    size_t begin; /* of the segment */
} watch;

/* ---- noise ----------------------------------------------------------------------- */

static double between(const watch *w) {
    const double guess = guessed_sd * guessed_sd * guess_counts;
    return fmax((guess + w->excess) / (guess_counts + w->weight), 0);
}

/* Of an exact night: nothing but rounding. */
static double variance(const watch *w, size_t i) {
    const double floor_sd = 1e-6, e = w->night[i].error;
    return e > 0 ? e * e + between(w) : floor_sd * floor_sd;
}

/* How much further than its interval says was a stable night from what was expected? */
static void learn(watch *w, size_t i, double off, double reference_variance) {
    const double v = variance(w, i), e = w->night[i].error;
    if (e <= 0)
        return;
    /* Both sides have noise; the night's share of it is its own. */
    const double own = off * off * v / (v + reference_variance);
    w->excess = w->excess * memory + own - e * e;
    w->weight = w->weight * memory + 1;
}

/* ---- a step ---------------------------------------------------------------------- */

typedef struct level {
    double mean, variance; /* weighted */
    size_t n;
} level;

static level level_of(const watch *w, size_t begin, size_t end) {
    double sum = 0, weight = 0;
    for (size_t i = begin; i < end; i++) {
        const double share = 1 / variance(w, i);
        sum += share * w->night[i].d;
        weight += share;
    }
    return (level){sum / weight, 1 / weight, end - begin};
}

/* ---- a line ---------------------------------------------------------------------- */

typedef struct line {
    double slope, deviation; /* a night */
    double rest;             /* sum of the squares that it leaves, in deviations */
    double centre, mean;     /* it passes through them */
} line;

static line line_of(const watch *w, size_t begin, size_t end) {
    double s = 0, st = 0, sd = 0, stt = 0, std = 0;
    for (size_t i = begin; i < end; i++) {
        const double share = 1 / variance(w, i);
        s += share;
        st += share * (double)(i - begin);
        sd += share * w->night[i].d;
    }
    const double t0 = st / s, d0 = sd / s;
    for (size_t i = begin; i < end; i++) {
        const double share = 1 / variance(w, i), t = (double)(i - begin) - t0;
        stt += share * t * t;
        std += share * t * (w->night[i].d - d0);
    }
    line l = {std / stt, 1 / sqrt(stt), 0, (double)begin + t0, d0};
    for (size_t i = begin; i < end; i++) {
        const double off = w->night[i].d - d0 - l.slope * ((double)(i - begin) - t0);
        l.rest += off * off / variance(w, i);
    }
    return l;
}

static double line_at(const line *l, size_t i) {
    return l->mean + l->slope * ((double)i - l->centre);
}

/* The best single step within the nights: where, how much, what it leaves. */
static double step_of(const watch *w, size_t begin, size_t end, size_t *at,
                      double *change) {
    double least = (double)INFINITY;
    for (size_t t = begin + 1; t < end; t++) {
        const level x = level_of(w, begin, t), y = level_of(w, t, end);
        double rest = 0;
        for (size_t i = begin; i < end; i++) {
            const double off = w->night[i].d - (i < t ? x.mean : y.mean);
            rest += off * off / variance(w, i);
        }
        if (rest < least) {
            least = rest;
            *at = t;
            *change = y.mean - x.mean;
        }
    }
    return least;
}

/* ---- one night ------------------------------------------------------------------- */

/* A line that climbed before already says that tonight is no step of its own. */
static bool is_on_its_way(const watch *w, size_t i, double off) {
    enum { FEWEST = 8 };
    static const double sure = 2.5; /* deviations */
    const size_t begin = i - w->begin > windows[1] ? i - windows[1] : w->begin;
    if (i - begin < FEWEST)
        return false;
    const line l = line_of(w, begin, i);
    const double sign = off > 0 ? 1 : -1;
    return sign * l.slope > sure * l.deviation &&
           sign * (w->night[i].d - line_at(&l, i)) < fabs(off) / 2;
}

static void look_for_step(watch *w, size_t i, kiln_trend_finding *out) {
    const size_t begin = i - w->begin > REFERENCE ? i - REFERENCE : w->begin;
    const level r = level_of(w, begin, i);
    const double off = w->night[i].d - r.mean;
    const double limit =
        fmax(w->step_z * sqrt(variance(w, i) + r.variance), log1p(least_step));
    out->step = expm1(limit);
    if (fabs(off) < limit) {
        learn(w, i, off, r.variance);
        return;
    }
    out->word = off < 0                    ? KILN_TREND_FASTER
                : is_on_its_way(w, i, off) ? KILN_TREND_DRIFT
                                           : KILN_TREND_STEP;
    out->is_gradual = out->word == KILN_TREND_DRIFT;
    out->since = out->is_gradual ? begin : i;
    out->change = expm1(off);
}

/* Nights [begin, i], whose line climbs or falls for sure. What did so in their first
 * half alone is over, and was found in its time. */
static void name_it(const watch *w, size_t begin, size_t i, const line *l,
                    kiln_trend_finding *out) {
    static const double clearly = 12; /* a step has one more freedom: where */
    const size_t middle = i + 1 - (i + 1 - begin) / 2;
    size_t at = begin;
    double change = 0;
    const bool is_step = step_of(w, begin, i + 1, &at, &change) + clearly < l->rest &&
                         fabs(change) > log1p(least_step);
    const line late = line_of(w, middle, i + 1);
    if (is_step ? at < middle : late.slope / l->slope < 0.5)
        return;
    out->word = l->slope < 0 ? KILN_TREND_FASTER
                : is_step    ? KILN_TREND_STEP
                             : KILN_TREND_DRIFT;
    out->is_gradual = !is_step;
    out->since = is_step ? at : begin;
    out->change = expm1(is_step ? change : l->slope * (double)(i - begin));
}

static void look_for_drift(const watch *w, size_t i, kiln_trend_finding *out) {
    for (int k = 0; k < N_WINDOWS && out->word == KILN_TREND_STABLE; k++) {
        if (i + 1 - w->begin < windows[k])
            return;
        const size_t begin = i + 1 - windows[k];
        const line l = line_of(w, begin, i + 1);
        if (fabs(l.slope) > w->drift_z * l.deviation &&
            fabs(l.slope) * (double)(i - begin) >= log1p(least_drift))
            name_it(w, begin, i, &l, out);
    }
}

/* What was found begins another segment; a drift goes on from its last nights. */
static void begin_anew(watch *w, size_t i, const kiln_trend_finding *f) {
    const size_t kept = i - w->begin > KEPT_OF_DRIFT ? i - KEPT_OF_DRIFT : i;
    w->begin = f->is_gradual ? kept : f->since;
    KILN_ASSERT(w->begin <= i, "night %zu begins a segment at %zu", i, w->begin);
}

void kiln_trend_judge(const kiln_trend_night *night, size_t n, int n_jobs,
                      kiln_trend_finding *out) {
    KILN_ASSERT(n == 0 || n_jobs > 0, "%d jobs", n_jobs);
    watch w = {.night = night,
               .step_z = quantile(step_chance / n_jobs),
               .drift_z = quantile(drift_chance / n_jobs)};
    for (size_t i = 0; i < n; i++) {
        out[i] = (kiln_trend_finding){.since = i, .step = (double)INFINITY};
        if (i > w.begin) {
            look_for_step(&w, i, &out[i]);
            if (out[i].word == KILN_TREND_STABLE)
                look_for_drift(&w, i, &out[i]);
            if (out[i].word != KILN_TREND_STABLE)
                begin_anew(&w, i, &out[i]);
        }
        out[i].sd = sqrt(variance(&w, i));
    }
}
