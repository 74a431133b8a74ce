/* Many nights of a pipeline: what the history keeps of each, what their series of
 * ratios say, and the page over all of them (docs/history.md).
 *
 * Nights stand in the order in which they were appended, which no clock decides. */
#ifndef KILN_REPORTS_REPORTS_NIGHTS_H
#define KILN_REPORTS_REPORTS_NIGHTS_H

#include "reports/results/results.h"
#include "reports/stats/trend.h"

enum {
    KILN_NIGHTS_SHOWN = 60, /* on a night's page */
    KILN_NIGHTS_MOST = 1000 /* that are judged, and on the index page: its newest */
};

/* Texts that are not known are NULL, numbers 0, intervals NaN. */
typedef struct kiln_night_baseline {
    const char *name;
    kiln_stats_interval ratio; /* kiln / baseline */
} kiln_night_baseline;

typedef struct kiln_night_job {
    const char *model, *profile;
    int threads;
    const char *status, *verdict; /* verdict: the gate's */
    double median_ms;
    kiln_stats_interval ratio;               /* candidate / frozen archive, 95% */
    const char *archive, *accepted, *frozen; /* SHA-256 */
    int64_t archive_bytes;
    KILN_VEC(kiln_night_baseline) baseline;
} kiln_night_job;

typedef struct kiln_night {
    int64_t seq;        /* its place in the order; 0: not appended yet */
    const char *folder; /* of the run */
    const char *run, *pipeline, *started, *status, *verdict;
    const char *kiln, *commit; /* version; of its sources */
    const char *cpu, *os;
    int cores;
    double seconds;
    int64_t bytes;  /* of the folder, when it was appended */
    bool is_pruned; /* the folder is gone */
    KILN_VEC(kiln_night_job) job;
} kiln_night;
typedef KILN_VEC(kiln_night) kiln_nights;

/* What the history keeps of results; texts are borrowed. */
kiln_night kiln_night_of(kiln_arena *a, const kiln_results *r);

/* ---- series ---------------------------------------------------------------------- */

/* One job through all nights that were compared with the archive that is its frozen one
 * in the last of them. */
typedef struct kiln_night_series {
    size_t job;             /* index in the last night */
    KILN_VEC(size_t) night; /* index of each point's night */
    KILN_VEC(const kiln_night_job *) point;
    kiln_trend_finding *finding; /* of each point */
    bool is_tonight;             /* the last point is of the last night */
} kiln_night_series;
typedef KILN_VEC(kiln_night_series) kiln_night_series_list;

/* A series for each job of the last night, empty where it has no ratio. */
void kiln_nights_series(kiln_arena *a, const kiln_nights *n,
                        kiln_night_series_list *out);

/* Fills `history` of the results and of each of its jobs. The results' own night is the
 * last of `n`. Findings that are a failure (steps; drifts too where `drift_fails`) make
 * the status of an "ok" job and night "regressed". */
void kiln_nights_fill(kiln_arena *a, const kiln_nights *n, bool drift_fails,
                      kiln_results *r);

/* What is different from the night before, a sentence each: versions, machine,
 * baselines, jobs, archives, verdicts. */
typedef KILN_VEC(const char *) kiln_night_sentences;
void kiln_nights_since(kiln_arena *a, const kiln_night *before, const kiln_night *now,
                       kiln_night_sentences *out);

/* ---- written down ---------------------------------------------------------------- */

/* A page over all nights: each a row with a link to its folder, relative to `out`, and
 * each job a line of its ratios. Loads and runs nothing. */
void kiln_nights_html(kiln_buf *page, const kiln_nights *n, const char *out);
void kiln_nights_text(kiln_buf *out, const kiln_nights *n); /* a line a night */
/* One night in full, as text. */
void kiln_nights_show(kiln_buf *out, const kiln_nights *n, size_t night);
void kiln_nights_csv(kiln_buf *out, const kiln_nights *n); /* a line a night and job */
void kiln_nights_json(kiln_buf *out, const kiln_nights *n);

#endif
