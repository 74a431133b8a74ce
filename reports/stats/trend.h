/* What tonight means, told the night it happens: a step, a drift, or nothing.
 *
 * The gate's limits are 1 to 3%, and what is accepted moves on: a loss of a tenth of a
 * percent a night never meets them. So each night has a ratio to one archive that stays
 * (docs/history.md), and these rules watch it. They know what each night's interval
 * says of its noise, learn how much more the nights differ than that, and share a fixed
 * chance of a false alarm among all jobs of a night.
 *
 * Pure: nights in, findings out. Equal nights give equal findings, and the finding of a
 * night depends on no later one. */
#ifndef KILN_REPORTS_TREND_H
#define KILN_REPORTS_TREND_H

#include "reports/stats/stats.h"

typedef struct kiln_trend_night {
    double d;     /* ln of candidate / frozen */
    double error; /* its standard error within the night; 0: known exactly (the same
                     code), however much other nights differ */
} kiln_trend_night;
/* From a ratio with its 95% interval. False where there is none. */
bool kiln_trend_night_of(const kiln_stats_interval *ratio, kiln_trend_night *out);

typedef enum kiln_trend_word {
    KILN_TREND_STABLE,
    KILN_TREND_STEP, /* slower at once, found tonight; `since` may be some nights ago */
    KILN_TREND_DRIFT, /* slower little by little */
    KILN_TREND_FASTER /* at once, or little by little */
} kiln_trend_word;
const char *
kiln_trend_name(kiln_trend_word w); /* "stable", "step", "drift", "faster" */

typedef struct kiln_trend_finding {
    kiln_trend_word word;
    bool is_gradual; /* little by little */
    size_t since;    /* the night it began, as far as can be told */
    double change;   /* ratio - 1 that it makes up to tonight; stable: 0 */
    double sd;       /* of a night's ratio as it is known by now */
    double step;     /* the least step, ratio - 1, that would have been found tonight */
} kiln_trend_finding;

/* out[i]: what could be said in night i of nights 0 to i. n_jobs >= 1: series that are
 * judged each night and share the chance of a false alarm. */
void kiln_trend_judge(const kiln_trend_night *night, size_t n, int n_jobs,
                      kiln_trend_finding *out);

#endif
