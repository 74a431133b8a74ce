/* results.csv: a line for each job and operator, one for each of their baselines, and one
 * for what tuning a job or list found (docs/results-csv.md). RFC 4180. */
#include "reports/text/csv.h"
#include "reports/results/results.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
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
        *implementation, *state, *problem, *verdict, *origin, *sha256, *file;
    int threads;
    int64_t samples, disturbed, multiply_adds, archive_bytes, packed_bytes;
    double median_ms, q1_ms, q3_ms, min_ms, gflops, peak_share, open_ms;
    kiln_stats_interval ratio, slowdown;
    double max_abs_error, p;
    const kiln_results_tuning *tuning; /* NULL: this line is not of tuning */
} line;

/* ---- tuning ---------------------------------------------------------------------- */

static const kiln_results_card *card_of(const line *l) {
    return l->tuning != NULL && l->tuning->has_card ? &l->tuning->card : NULL;
}

/* 0: not known. */
static double card_number(const line *l, size_t offset) {
    const kiln_results_card *c = card_of(l);
    return c != NULL ? *(const double *)(const void *)((const char *)c + offset)
                     : (double)NAN;
}

static double trials_to(const line *l, double share) {
    const kiln_results_card *c = card_of(l);
    for (size_t i = 0; c != NULL && i < c->reached.n; i++)
        if (fabs(c->reached.v[i].share - share) < 1e-9)
            return c->reached.v[i].trials;
    return 0;
}

static double share_after(const line *l, int64_t trials) {
    const kiln_results_card *c = card_of(l);
    for (size_t i = 0; c != NULL && i < c->look.n; i++)
        if (c->look.v[i].trials == trials)
            return c->look.v[i].share;
    return 0;
}

static int64_t failed_trials(const line *l) {
    int64_t n = 0;
    for (size_t i = 0; l->tuning != NULL && i < l->tuning->by_error.n; i++)
        n += l->tuning->by_error.v[i].n;
    return n;
}

#define TUNED(member) (l->tuning != NULL ? l->tuning->member : 0)
#define CARD(member) card_number(l, offsetof(kiln_results_card, member))

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
    TEXT(file, l->file)                                                                \
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
    I64(new_trials, TUNED(new_trials))                                                 \
    I64(failed_trials, failed_trials(l))                                               \
    POSITIVE(tuning_s, TUNED(seconds))                                                 \
    POSITIVE(start_ns, TUNED(start_ns))                                                \
    POSITIVE(best_ns, TUNED(best_ns))                                                  \
    I64(searches, card_of(l) != NULL ? card_of(l)->searches : 0)                       \
    I64(taught, card_of(l) != NULL ? card_of(l)->taught : 0)                           \
    POSITIVE(trials_to_90, trials_to(l, 0.90))                                         \
    POSITIVE(trials_to_95, trials_to(l, 0.95))                                         \
    POSITIVE(trials_to_99, trials_to(l, 0.99))                                         \
    POSITIVE(after_1, share_after(l, 1))                                               \
    POSITIVE(after_4, share_after(l, 4))                                               \
    POSITIVE(after_8, share_after(l, 8))                                               \
    POSITIVE(after_16, share_after(l, 16))                                             \
    POSITIVE(after_32, share_after(l, 32))                                             \
    POSITIVE(taught_trials, CARD(taught_trials))                                       \
    POSITIVE(alone_trials, CARD(alone_trials))                                         \
    F64(accuracy, CARD(accuracy))                                                      \
    F64(recall, CARD(recall))                                                          \
    F64(build_s, CARD(build_s))                                                        \
    F64(run_s, CARD(run_s))                                                            \
    F64(model_s, CARD(model_s))                                                        \
    F64(search_s, CARD(search_s))                                                      \
    F64(think_cpu_s, CARD(think_cpu_s))                                                \
    POSITIVE(now_ns, CARD(now_ns))                                                     \
    POSITIVE(later_ns, CARD(later_ns))                                                 \
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
        l.file = v->file;
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

/* Of a job or of a list of operators, where it was tuned. */
static void put_tuning(kiln_buf *out, const line *from, bool has,
                       const kiln_results_tuning *t) {
    line l = line_of(from);
    if (!has)
        return;
    l.kind = "tuning";
    l.library = "kiln";
    l.version = from->r->kiln;
    l.tuning = t;
    put_line(out, &l);
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
    put_tuning(out, &from, j->has_tuning, &j->tuning);
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
    for (size_t i = 0; i < r->ops.n; i++) {
        const kiln_results_ops *o = &r->ops.v[i];
        const line from = {.r = r,
                           .set = o->set,
                           .profile = o->profile,
                           .threads = o->threads,
                           .status = o->status};
        for (size_t k = 0; k < o->row.n; k++)
            put_op(out, r, o, &o->row.v[k]);
        put_tuning(out, &from, o->has_tuning, &o->tuning);
    }
}
