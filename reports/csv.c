/* results.csv: a line for each job and operator, and one for each of their baselines
 * (docs/results-csv.md). RFC 4180. */
#include "reports/csv.h"
#include "reports/results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- cells ----------------------------------------------------------------------- */

/* 0 is not known. */
static void put_positive(kiln_buf *out, double v) {
    if (v > 0)
        kiln_csv_f64(out, v);
}

static void put_i64(kiln_buf *out, int64_t v) {
    if (v != 0)
        kiln_buf_printf(out, "%" PRId64, v);
}

/* ---- lines ----------------------------------------------------------------------- */

/* What one line says; a row of the table below is a column. */
typedef struct line {
    const kiln_results *r;
    const char *kind, *set, *name, *profile, *status, *library, *version,
        *implementation, *state, *problem, *verdict, *origin, *sha256;
    int threads;
    int64_t samples, disturbed, multiply_adds, archive_bytes, packed_bytes;
    double median_ms, q1_ms, q3_ms, min_ms, gflops, peak_share, open_ms;
    kiln_stats_interval ratio, slowdown;
    double max_abs_error, p;
} line;

#define COLUMNS(TEXT, F64, POSITIVE, I64)                                              \
    TEXT(run, l->r->run)                                                               \
    TEXT(commit, l->r->commit)                                                         \
    TEXT(kind, l->kind)                                                                \
    TEXT(set, l->set)                                                                  \
    TEXT(name, l->name)                                                                \
    TEXT(profile, l->profile)                                                          \
    I64(threads, l->threads)                                                           \
    TEXT(status, l->status)                                                            \
    TEXT(library, l->library)                                                          \
    TEXT(version, l->version)                                                          \
    TEXT(implementation, l->implementation)                                            \
    TEXT(state, l->state)                                                              \
    POSITIVE(median_ms, l->median_ms)                                                  \
    POSITIVE(q1_ms, l->q1_ms)                                                          \
    POSITIVE(q3_ms, l->q3_ms)                                                          \
    POSITIVE(min_ms, l->min_ms)                                                        \
    I64(samples, l->samples)                                                           \
    I64(disturbed, l->disturbed)                                                       \
    I64(multiply_adds, l->multiply_adds)                                               \
    POSITIVE(gflops, l->gflops)                                                        \
    POSITIVE(peak_share, l->peak_share)                                                \
    POSITIVE(ratio, l->ratio.estimate)                                                 \
    POSITIVE(ratio_low, l->ratio.low)                                                  \
    POSITIVE(ratio_high, l->ratio.high)                                                \
    F64(max_abs_error, l->max_abs_error)                                               \
    TEXT(origin, l->origin)                                                            \
    TEXT(verdict, l->verdict)                                                          \
    F64(slowdown, l->slowdown.estimate)                                                \
    F64(slowdown_low, l->slowdown.low)                                                 \
    F64(slowdown_high, l->slowdown.high)                                               \
    F64(p, l->p)                                                                       \
    I64(archive_bytes, l->archive_bytes)                                               \
    TEXT(archive_sha256, l->sha256)                                                    \
    I64(packed_bytes, l->packed_bytes)                                                 \
    POSITIVE(open_ms, l->open_ms)                                                      \
    TEXT(problem, l->problem)

static void put_head(kiln_buf *out) {
    const char *comma = "";
#define NAME(name, value)                                                              \
    kiln_buf_printf(out, "%s%s", comma, #name);                                        \
    comma = ",";
    COLUMNS(NAME, NAME, NAME, NAME)
#undef NAME
    kiln_buf_puts(out, KILN_CSV_END);
}

static void put_line(kiln_buf *out, const line *l) {
    const char *comma = "";
#define CELL(put, value)                                                               \
    kiln_buf_puts(out, comma);                                                         \
    put(out, value);                                                                   \
    comma = ",";
#define TEXT(name, value) CELL(kiln_csv_text, value)
#define F64(name, value) CELL(kiln_csv_f64, value)
#define POSITIVE(name, value) CELL(put_positive, value)
#define I64(name, value) CELL(put_i64, value)
    COLUMNS(TEXT, F64, POSITIVE, I64)
    kiln_buf_puts(out, KILN_CSV_END);
}

static const double nan_ = (double)NAN;

/* What a line has of its job or operator; everything else is not known yet. */
static line line_of(const line *from) {
    return (line){.r = from->r,
                  .kind = from->kind,
                  .set = from->set,
                  .name = from->name,
                  .profile = from->profile,
                  .threads = from->threads,
                  .status = from->status,
                  .multiply_adds = from->multiply_adds,
                  .slowdown = {nan_, nan_, nan_},
                  .max_abs_error = nan_,
                  .p = nan_};
}

static void put_baselines(kiln_buf *out, const line *from,
                          const kiln_results_baselines *b) {
    for (size_t i = 0; i < b->n; i++) {
        const kiln_results_baseline *v = &b->v[i];
        const bool has_run = v->state != NULL && (strcmp(v->state, "measured") == 0 ||
                                                  strcmp(v->state, "wrong") == 0);
        line l = line_of(from);
        l.library = v->name;
        l.version = v->version;
        l.implementation = v->implementation;
        l.state = v->state;
        l.problem = v->problem;
        l.max_abs_error = has_run ? v->max_abs_error : nan_;
        if (v->state != NULL && strcmp(v->state, "measured") == 0) {
            l.median_ms = v->median_ms;
            l.q1_ms = v->q1_ms;
            l.q3_ms = v->q3_ms;
            l.min_ms = v->min_ms;
            l.ratio = v->ratio;
        }
        put_line(out, &l);
    }
}

static void put_job(kiln_buf *out, const kiln_results *r, const kiln_results_job *j) {
    const line from = {.r = r,
                       .kind = "job",
                       .name = j->model,
                       .profile = j->profile,
                       .threads = j->threads,
                       .status = j->status};
    line l = line_of(&from);
    l.library = "kiln";
    l.version = r->kiln;
    l.max_abs_error = j->max_abs_error;
    l.packed_bytes = j->memory.packed;
    l.open_ms = j->open_ms;
    if (j->has_latency) {
        l.state = "measured";
        l.median_ms = j->latency.median_ms;
        l.q1_ms = j->latency.q1_ms;
        l.q3_ms = j->latency.q3_ms;
        l.min_ms = j->latency.min_ms;
        l.samples = (int64_t)j->latency.n_samples;
        l.disturbed = (int64_t)j->latency.n_disturbed;
        l.gflops = j->latency.gflops;
        l.peak_share = j->latency.peak_share;
    }
    if (j->has_gate)
        l.verdict = j->gate.verdict;
    if (j->has_gate && j->gate.pairs > 0) {
        l.slowdown = j->gate.slowdown;
        l.p = j->gate.p;
    }
    if (j->has_archive) {
        l.archive_bytes = j->archive.bytes;
        l.sha256 = j->archive.sha256;
    }
    for (size_t i = 0; i < j->stage.n && l.problem == NULL; i++)
        if (j->stage.v[i].state == KILN_STAGE_FAILED ||
            j->stage.v[i].state == KILN_STAGE_TIMED_OUT)
            l.problem = j->stage.v[i].message;
    put_line(out, &l);
    put_baselines(out, &from, &j->baseline);
}

static void put_op(kiln_buf *out, const kiln_results *r, const kiln_results_ops *o,
                   const kiln_results_op *v) {
    const line from = {.r = r,
                       .kind = "operator",
                       .set = o->set,
                       .name = v->name,
                       .profile = o->profile,
                       .threads = o->threads,
                       .status = o->status,
                       .multiply_adds = v->multiply_adds};
    line l = line_of(&from);
    l.library = "kiln";
    l.version = r->kiln;
    l.state = v->median_ms > 0 ? "measured" : NULL;
    l.median_ms = v->median_ms;
    l.gflops = v->gflops;
    l.peak_share = v->peak_share;
    l.origin = v->origin;
    l.implementation = v->tmpl;
    put_line(out, &l);
    put_baselines(out, &from, &v->baseline);
}

void kiln_results_csv(kiln_buf *out, const kiln_results *r) {
    put_head(out);
    for (size_t i = 0; i < r->job.n; i++)
        put_job(out, r, &r->job.v[i]);
    for (size_t i = 0; i < r->ops.n; i++)
        for (size_t k = 0; k < r->ops.v[i].row.n; k++)
            put_op(out, r, &r->ops.v[i], &r->ops.v[i].row.v[k]);
}
