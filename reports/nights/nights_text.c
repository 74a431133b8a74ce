/* Nights as text, CSV and JSON: see reports_nights.h. */
#include <math.h>
#include <string.h>

#include "reports/nights/reports_nights.h"

static const char *or_dash(const char *text) { return text != NULL ? text : "-"; }
static const double mb = 1e-6;

/* ---- a line a night -------------------------------------------------------------- */

/* The night's largest ratio; 0: it has none. */
static double worst_ratio(const kiln_night *n) {
    double worst = 0;
    for (size_t i = 0; i < n->job.n; i++)
        worst = fmax(worst,
                     n->job.v[i].ratio.estimate > 0 ? n->job.v[i].ratio.estimate : 0);
    return worst;
}

void kiln_nights_text(kiln_buf *out, const kiln_nights *n) {
    double bytes = 0;
    kiln_buf_printf(out, "%-24s %-16s %-11s %-12s %4s %8s %10s  %s\n", "run",
                    "pipeline", "status", "verdict", "jobs", "slowest", "MB", "kiln");
    for (size_t i = 0; i < n->n; i++) {
        const kiln_night *v = &n->v[i];
        const double worst = worst_ratio(v);
        kiln_buf_printf(out, "%-24s %-16s %-11s %-12s %4zu ", v->run,
                        kiln_str_fit(out->arena, v->pipeline, 16), or_dash(v->status),
                        or_dash(v->verdict), v->job.n);
        if (worst > 0)
            kiln_buf_printf(out, "%8.4f", worst);
        else
            kiln_buf_printf(out, "%8s", "-");
        if (v->is_pruned)
            kiln_buf_printf(out, " %10s", "pruned");
        else
            kiln_buf_printf(out, " %10.1f", (double)v->bytes * mb);
        kiln_buf_printf(out, "  %s%s%.12s\n", or_dash(v->kiln),
                        v->commit != NULL ? " " : "",
                        v->commit != NULL ? v->commit : "");
        bytes += v->is_pruned ? 0 : (double)v->bytes;
    }
    kiln_buf_printf(out,
                    "%zu night%s, %.1f MB; slowest: the largest ratio to a frozen "
                    "archive\n",
                    n->n, kiln_plural((int64_t)n->n), bytes * mb);
}

/* ---- one in full ----------------------------------------------------------------- */

static void put_finding(kiln_buf *out, const kiln_nights *n,
                        const kiln_night_series *s) {
    if (!s->is_tonight)
        return;
    const kiln_trend_finding *f = &s->finding[s->point.n - 1];
    kiln_buf_printf(out, "  %s", kiln_trend_name(f->word));
    if (f->word != KILN_TREND_STABLE)
        kiln_buf_printf(out, " %+.2f%% since %s", 100 * f->change,
                        n->v[s->night.v[f->since]].run);
    else if (isfinite(f->step))
        kiln_buf_printf(out, "; a step of %.1f%% would be seen", 100 * f->step);
}

static void put_job(kiln_buf *out, const kiln_nights *n, const kiln_night_job *j,
                    const kiln_night_series *s) {
    kiln_buf_printf(out, "%s, %s, %d thread%s: %s, gate %s", j->model, j->profile,
                    j->threads, j->threads == 1 ? "" : "s", or_dash(j->status),
                    or_dash(j->verdict));
    if (j->median_ms > 0)
        kiln_buf_printf(out, ", %.4f ms", j->median_ms);
    if (j->ratio.estimate > 0)
        kiln_buf_printf(out, ", %.4f (%.4f to %.4f) of the frozen archive",
                        j->ratio.estimate, j->ratio.low, j->ratio.high);
    put_finding(out, n, s);
    kiln_buf_puts(out, "\n");
    for (size_t i = 0; i < j->baseline.n; i++)
        kiln_buf_printf(out, "  kiln / %s: %.3f (%.3f to %.3f)\n",
                        j->baseline.v[i].name, j->baseline.v[i].ratio.estimate,
                        j->baseline.v[i].ratio.low, j->baseline.v[i].ratio.high);
}

void kiln_nights_show(kiln_buf *out, const kiln_nights *n, size_t night) {
    KILN_ASSERT(night < n->n, "night %zu of %zu", night, n->n);
    const kiln_nights upto = {.v = n->v, .n = night + 1};
    const kiln_night *v = &n->v[night];
    kiln_night_series_list series;
    kiln_night_sentences since = {.n = 0};
    kiln_nights_series(out->arena, &upto, &series);
    kiln_buf_printf(out, "%s of %s, started %s, took %.0f s: %s\n", v->run, v->pipeline,
                    or_dash(v->started), v->seconds, or_dash(v->status));
    kiln_buf_printf(out, "kiln %s, commit %s, on %s, %d core%s, %s\n", or_dash(v->kiln),
                    or_dash(v->commit), or_dash(v->cpu), v->cores,
                    kiln_plural(v->cores), or_dash(v->os));
    kiln_buf_printf(out, "%s%s\n", v->folder, v->is_pruned ? " (pruned)" : "");
    for (size_t i = 0; i < v->job.n; i++)
        put_job(out, &upto, &v->job.v[i], &series.v[i]);
    if (night == 0)
        return;
    kiln_nights_since(out->arena, &n->v[night - 1], v, &since);
    kiln_buf_printf(out, "since %s:%s\n", n->v[night - 1].run,
                    since.n == 0 ? " nothing changed" : "");
    for (size_t i = 0; i < since.n; i++)
        kiln_buf_printf(out, "  %s\n", since.v[i]);
}

/* ---- CSV ------------------------------------------------------------------------- */

/* RFC 4180. A text that a table might take for a formula gets an apostrophe. */
static void put_cell(kiln_buf *out, const char *text) {
    if (text == NULL)
        return;
    const bool is_formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    const bool is_plain = strpbrk(text, ",\"\r\n") == NULL && !is_formula;
    if (is_plain) {
        kiln_buf_puts(out, text);
        return;
    }
    kiln_buf_puts(out, is_formula ? "\"'" : "\"");
    for (const char *c = text; *c != '\0'; c++) {
        const char one[] = {*c, '\0'};
        kiln_buf_puts(out, *c == '"' ? "\"\"" : one);
    }
    kiln_buf_puts(out, "\"");
}

static void put_value(kiln_buf *out, double v) {
    kiln_buf_puts(out, ",");
    if (isfinite(v) && v > 0)
        kiln_buf_printf(out, "%.17g", v);
}

static void put_row(kiln_buf *out, const kiln_night *n, const kiln_night_job *j) {
    const char *const text[] = {n->run,    n->pipeline, n->started, n->kiln,
                                n->commit, n->cpu,      j->model,   j->profile};
    kiln_buf_printf(out, "%lld", (long long)n->seq);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        kiln_buf_puts(out, ",");
        put_cell(out, text[i]);
    }
    kiln_buf_printf(out, ",%d,", j->threads);
    put_cell(out, j->status);
    kiln_buf_puts(out, ",");
    put_cell(out, j->verdict);
    put_value(out, j->median_ms);
    put_value(out, j->ratio.estimate);
    put_value(out, j->ratio.low);
    put_value(out, j->ratio.high);
    const char *const sha256[] = {j->archive, j->accepted, j->frozen};
    for (size_t i = 0; i < sizeof sha256 / sizeof sha256[0]; i++) {
        kiln_buf_puts(out, ",");
        put_cell(out, sha256[i]);
    }
    kiln_buf_puts(out, "\r\n");
}

void kiln_nights_csv(kiln_buf *out, const kiln_nights *n) {
    kiln_buf_puts(out,
                  "night,run,pipeline,started,kiln,commit,cpu,model,profile,threads,"
                  "status,verdict,median_ms,ratio,ratio_low,ratio_high,archive,"
                  "accepted,frozen\r\n");
    for (size_t i = 0; i < n->n; i++)
        for (size_t k = 0; k < n->v[i].job.n; k++)
            put_row(out, &n->v[i], &n->v[i].job.v[k]);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_interval(kiln_json_writer *w, const char *key,
                         const kiln_stats_interval *v) {
    kiln_json_name(w, key);
    if (!(v->estimate > 0)) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "estimate", v->estimate);
    kiln_json_member_f64(w, "low", v->low);
    kiln_json_member_f64(w, "high", v->high);
    kiln_json_end_object(w);
}

static void put_job_json(kiln_json_writer *w, const kiln_night_job *j) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "model", j->model);
    kiln_json_member_str(w, "profile", j->profile);
    kiln_json_member_i64(w, "threads", j->threads);
    kiln_json_member_str(w, "status", j->status);
    kiln_json_member_str(w, "verdict", j->verdict);
    kiln_json_member_f64(w, "median_ms", j->median_ms > 0 ? j->median_ms : (double)NAN);
    put_interval(w, "ratio", &j->ratio);
    kiln_json_member_str(w, "archive", j->archive);
    kiln_json_member_str(w, "accepted", j->accepted);
    kiln_json_member_str(w, "frozen", j->frozen);
    kiln_json_member_i64(w, "archive_bytes", j->archive_bytes);
    kiln_json_name(w, "baselines");
    kiln_json_begin_object(w);
    for (size_t i = 0; i < j->baseline.n; i++)
        put_interval(w, j->baseline.v[i].name, &j->baseline.v[i].ratio);
    kiln_json_end_object(w);
    kiln_json_end_object(w);
}

void kiln_nights_json(kiln_buf *out, const kiln_nights *n) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "format", "kiln-history-1");
    kiln_json_name(&w, "nights");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < n->n; i++) {
        const kiln_night *v = &n->v[i];
        kiln_json_begin_object(&w);
        kiln_json_member_i64(&w, "night", v->seq);
        kiln_json_member_str(&w, "run", v->run);
        kiln_json_member_str(&w, "folder", v->folder);
        kiln_json_member_str(&w, "pipeline", v->pipeline);
        kiln_json_member_str(&w, "started", v->started);
        kiln_json_member_str(&w, "status", v->status);
        kiln_json_member_str(&w, "verdict", v->verdict);
        kiln_json_member_str(&w, "kiln", v->kiln);
        kiln_json_member_str(&w, "commit", v->commit);
        kiln_json_member_str(&w, "cpu", v->cpu);
        kiln_json_member_str(&w, "os", v->os);
        kiln_json_member_i64(&w, "cores", v->cores);
        kiln_json_member_f64(&w, "seconds", v->seconds);
        kiln_json_member_i64(&w, "bytes", v->bytes);
        kiln_json_member_bool(&w, "is_pruned", v->is_pruned);
        kiln_json_name(&w, "jobs");
        kiln_json_begin_array(&w);
        for (size_t k = 0; k < v->job.n; k++)
            put_job_json(&w, &v->job.v[k]);
        kiln_json_end_array(&w);
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
