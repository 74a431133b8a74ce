/* Nights of a pipeline as series: see reports_nights.h. */
#include "reports/nights/reports_nights.h"

#include <math.h>
#include <string.h>

#include "reports/stats/change_points.h"

enum { SEED = 1 };

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- one night ------------------------------------------------------------------- */

static kiln_stats_interval known(kiln_stats_interval v) {
    kiln_trend_night unused;
    return kiln_trend_night_of(&v, &unused)
               ? v
               : (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
}

static kiln_night_job job_of(kiln_arena *a, const kiln_results_job *j) {
    kiln_night_job out = {.model = j->model,
                          .profile = j->profile,
                          .threads = j->threads,
                          .status = j->status,
                          .median_ms = j->has_latency ? j->latency.median_ms : 0,
                          .ratio = {(double)NAN, (double)NAN, (double)NAN}};
    if (j->has_archive) {
        out.archive = j->archive.sha256;
        out.archive_bytes = j->archive.bytes;
    }
    if (j->has_gate) {
        out.verdict = j->gate.verdict;
        out.accepted = j->gate.accepted_sha256;
        out.frozen = j->gate.frozen_sha256;
        out.ratio = known(j->gate.frozen);
    }
    for (size_t i = 0; i < j->baseline.n; i++) {
        const kiln_night_baseline b = {j->baseline.v[i].name,
                                       known(j->baseline.v[i].ratio)};
        if (b.name != NULL && b.ratio.estimate > 0)
            kiln_vec_push(a, &out.baseline, b);
    }
    return out;
}

kiln_night kiln_night_of(kiln_arena *a, const kiln_results *r) {
    kiln_night out = {.run = r->run,
                      .pipeline = r->name,
                      .started = r->started,
                      .status = r->status,
                      .verdict = r->verdict,
                      .kiln = r->kiln,
                      .commit = r->commit,
                      .cpu = r->machine.cpu,
                      .os = r->machine.os,
                      .cores = r->machine.cores,
                      .seconds = r->seconds};
    for (size_t i = 0; i < r->job.n; i++)
        kiln_vec_push(a, &out.job, job_of(a, &r->job.v[i]));
    return out;
}

/* ---- series ---------------------------------------------------------------------- */

static const kiln_night_job *find_job(const kiln_night *n, const kiln_night_job *like) {
    for (size_t i = 0; i < n->job.n; i++) {
        const kiln_night_job *j = &n->job.v[i];
        if (j->threads == like->threads && is_same(j->model, like->model) &&
            is_same(j->profile, like->profile))
            return j;
    }
    return NULL;
}

/* The archive that a job's nights are held against: the last night's, or the last one
 * that it had. */
static const char *frozen_of(const kiln_nights *n, const kiln_night_job *like) {
    for (size_t i = n->n; i-- > 0;) {
        const kiln_night_job *j = find_job(&n->v[i], like);
        if (j != NULL && j->frozen != NULL)
            return j->frozen;
    }
    return NULL;
}

static void take_series(kiln_arena *a, const kiln_nights *n, kiln_night_series *s) {
    KILN_ASSERT(n->n > 0 && s->job < n->v[n->n - 1].job.n, "job %zu is not of tonight",
                s->job);
    const kiln_night_job *like = &n->v[n->n - 1].job.v[s->job];
    const char *frozen = frozen_of(n, like);
    for (size_t i = 0; i < n->n && frozen != NULL; i++) {
        const kiln_night_job *j = find_job(&n->v[i], like);
        if (j == NULL || !is_same(j->frozen, frozen) || !(j->ratio.estimate > 0))
            continue;
        kiln_vec_push(a, &s->night, i);
        kiln_vec_push(a, &s->point, j);
        s->is_tonight = i + 1 == n->n;
    }
}

static void judge(kiln_arena *a, kiln_night_series *s, int n_jobs) {
    kiln_trend_night *night = kiln_array(a, kiln_trend_night, s->point.n + 1);
    s->finding = kiln_array(a, kiln_trend_finding, s->point.n + 1);
    for (size_t i = 0; i < s->point.n; i++)
        (void)kiln_trend_night_of(&s->point.v[i]->ratio, &night[i]);
    kiln_trend_judge(night, s->point.n, n_jobs, s->finding);
}

void kiln_nights_series(kiln_arena *a, const kiln_nights *n,
                        kiln_night_series_list *out) {
    int n_jobs = 0;
    *out = (kiln_night_series_list){.n = 0};
    for (size_t i = 0; n->n > 0 && i < n->v[n->n - 1].job.n; i++) {
        kiln_night_series s = {.job = i};
        take_series(a, n, &s);
        n_jobs += s.point.n > 0;
        kiln_vec_push(a, out, s);
    }
    for (size_t i = 0; i < out->n; i++)
        judge(a, &out->v[i], n_jobs > 0 ? n_jobs : 1);
}

/* ---- into results ---------------------------------------------------------------- */

static void mark_changes(kiln_arena *a, kiln_results_history *h) {
    double *d = kiln_array(a, double, h->night.n + 1);
    size_t *at = kiln_array(a, size_t, h->night.n + 1);
    for (size_t i = 0; i < h->night.n; i++)
        d[i] = log(h->night.v[i].ratio.estimate);
    const size_t found = kiln_change_points(a, d, h->night.n, SEED, at);
    for (size_t i = 0; i < found; i++)
        h->night.v[at[i]].is_change = true;
}

static bool is_other(const char *now, const char *before) {
    return now != NULL && before != NULL && strcmp(now, before) != 0;
}

static bool is_alarm(kiln_trend_word w) {
    return w == KILN_TREND_STEP || w == KILN_TREND_DRIFT;
}

/* The last of the series. Marks say how a night differs from the point before it, also
 * where that is no longer shown. */
static void take_nights(kiln_arena *a, const kiln_nights *n, const kiln_night_series *s,
                        kiln_results_history *out) {
    const size_t n_points = s->point.n;
    const size_t first =
        n_points > KILN_NIGHTS_SHOWN ? n_points - KILN_NIGHTS_SHOWN : 0;
    for (size_t i = first; i < n_points; i++) {
        const kiln_night_job *j = s->point.v[i];
        const kiln_night *of = &n->v[s->night.v[i]];
        const kiln_night *before = i > 0 ? &n->v[s->night.v[i - 1]] : NULL;
        const kiln_results_night night = {
            .run = of->run,
            .started = of->started,
            .ratio = j->ratio,
            .verdict = j->verdict,
            .trend = kiln_trend_name(s->finding[i].word),
            .is_accepted = i > 0 && is_other(j->accepted, s->point.v[i - 1]->accepted),
            .is_commit = before != NULL && (is_other(of->commit, before->commit) ||
                                            is_other(of->kiln, before->kiln))};
        kiln_vec_push(a, &out->night, night);
        out->alarms += is_alarm(s->finding[i].word);
    }
    mark_changes(a, out);
}

static const char *reason_of(kiln_arena *a, const kiln_nights *n,
                             const kiln_night_series *s) {
    const size_t last = s->point.n - 1;
    const kiln_trend_finding *f = &s->finding[last];
    const char *since = n->v[s->night.v[f->since]].run;
    since = since != NULL ? since : "?";
    switch (f->word) {
    case KILN_TREND_STABLE:
        return last == 0 ? "the first night against this frozen archive"
                         : kiln_format(a, "no change; a step of %.1f%% would be seen",
                                       100 * f->step);
    case KILN_TREND_STEP:
        return f->since == last
                   ? kiln_format(a, "slower by %.1f%% than the nights before",
                                 100 * f->change)
                   : kiln_format(a, "slower by %.1f%% since %s: small, and now certain",
                                 100 * f->change, since);
    case KILN_TREND_DRIFT:
        return kiln_format(a, "slower little by little: %.1f%% since %s",
                           100 * f->change, since);
    case KILN_TREND_FASTER:
        return kiln_format(a, "faster by %.1f%% since %s", -100 * f->change, since);
    }
    return NULL;
}

static void fill_job(kiln_arena *a, const kiln_nights *n, const kiln_night_series *s,
                     kiln_results_job *j) {
    kiln_results_history h = {.change = (double)NAN, .findable = (double)NAN};
    if (s->point.n == 0)
        return;
    take_nights(a, n, s, &h);
    if (s->is_tonight) {
        const kiln_trend_finding *f = &s->finding[s->point.n - 1];
        h.trend = kiln_trend_name(f->word);
        h.reason = reason_of(a, n, s);
        h.change = f->word == KILN_TREND_STABLE ? (double)NAN : f->change;
        h.findable = isfinite(f->step) ? f->step : (double)NAN;
        h.ratio = s->point.v[s->point.n - 1]->ratio;
    } else {
        h.reason = "tonight has no ratio to the frozen archive";
    }
    j->has_history = true;
    j->history = h;
}

/* In ascending order of concern. */
static const char *const by_concern[] = {"stable", "faster", "drift", "step"};
enum { N_WORDS = sizeof by_concern / sizeof by_concern[0], DRIFT = 2, STEP = 3 };

static int concern_of(const char *trend) {
    for (int i = 0; i < N_WORDS; i++)
        if (is_same(trend, by_concern[i]))
            return i;
    return -1;
}

/* What was "ok" is not where its series says otherwise. */
static void set_status(bool drift_fails, kiln_results *r) {
    const int fails_from = drift_fails ? DRIFT : STEP;
    for (size_t i = 0; i < r->job.n; i++) {
        kiln_results_job *j = &r->job.v[i];
        if (!j->has_history || concern_of(j->history.trend) < fails_from)
            continue;
        j->status = is_same(j->status, "ok") ? "regressed" : j->status;
        r->status = is_same(r->status, "ok") ? "regressed" : r->status;
    }
}

static const char *note_of(kiln_arena *a, const kiln_night *before,
                           const kiln_night *now) {
    if (before->started == NULL || now->started == NULL ||
        strcmp(now->started, before->started) >= 0)
        return NULL;
    return kiln_format(a,
                       "the clock was set back: this run says that it began at %s, the "
                       "one before it at %s; nights stand in the order they ended",
                       now->started, before->started);
}

void kiln_nights_fill(kiln_arena *a, const kiln_nights *n, bool drift_fails,
                      kiln_results *r) {
    kiln_night_series_list series;
    kiln_results_past past = {.nights = (int64_t)n->n};
    int worst = -1;
    kiln_nights_series(a, n, &series);
    for (size_t i = 0; i < series.n && i < r->job.n; i++) {
        fill_job(a, n, &series.v[i], &r->job.v[i]);
        const int c = concern_of(r->job.v[i].history.trend);
        worst = c > worst ? c : worst;
    }
    past.trend = worst >= 0 ? by_concern[worst] : NULL;
    if (n->n > 1) {
        const kiln_night *before = &n->v[n->n - 2], *now = &n->v[n->n - 1];
        kiln_night_sentences since = {.n = 0};
        past.before = before->run;
        past.note = note_of(a, before, now);
        kiln_nights_since(a, before, now, &since);
        for (size_t i = 0; i < since.n; i++)
            kiln_vec_push(a, &past.since, since.v[i]);
    }
    set_status(drift_fails, r);
    r->has_past = true;
    r->past = past;
}

/* ---- what changed ---------------------------------------------------------------- */

typedef struct teller {
    kiln_arena *arena;
    kiln_night_sentences *out;
} teller;

static const char *word(const char *text) { return text != NULL ? text : "not known"; }

static void tell_text(teller *t, const char *what, const char *before,
                      const char *now) {
    if (!is_same(before, now))
        kiln_vec_push(
            t->arena, t->out,
            kiln_format(t->arena, "%s: %s, was %s", what, word(now), word(before)));
}

static const char *name_of(kiln_arena *a, const kiln_night_job *j) {
    return kiln_format(a, "%s, %s, %d thread%s", word(j->model), word(j->profile),
                       j->threads, j->threads == 1 ? "" : "s");
}

enum { DIGITS = 12 };

static const char *digits(kiln_arena *a, const char *sha256) {
    return sha256 == NULL ? NULL : kiln_format(a, "%.*s", DIGITS, sha256);
}

/* Ratios whose intervals do not meet. */
static void tell_baselines(teller *t, const char *name, const kiln_night_job *before,
                           const kiln_night_job *now) {
    for (size_t i = 0; i < now->baseline.n; i++)
        for (size_t k = 0; k < before->baseline.n; k++) {
            const kiln_night_baseline *x = &now->baseline.v[i];
            const kiln_night_baseline *y = &before->baseline.v[k];
            if (is_same(x->name, y->name) &&
                (x->ratio.low > y->ratio.high || x->ratio.high < y->ratio.low))
                kiln_vec_push(t->arena, t->out,
                              kiln_format(t->arena, "%s: kiln / %s is %.3f, was %.3f",
                                          name, x->name, x->ratio.estimate,
                                          y->ratio.estimate));
        }
}

static void tell_job(teller *t, const kiln_night_job *before,
                     const kiln_night_job *now) {
    kiln_arena *a = t->arena;
    const char *name = name_of(a, now);
    tell_text(t, kiln_format(a, "%s: status", name), before->status, now->status);
    tell_text(t, kiln_format(a, "%s: verdict", name), before->verdict, now->verdict);
    tell_text(t, kiln_format(a, "%s: archive", name), digits(a, before->archive),
              digits(a, now->archive));
    tell_text(t, kiln_format(a, "%s: accepted archive", name),
              digits(a, before->accepted), digits(a, now->accepted));
    tell_text(t, kiln_format(a, "%s: frozen archive", name), digits(a, before->frozen),
              digits(a, now->frozen));
    tell_baselines(t, name, before, now);
}

void kiln_nights_since(kiln_arena *a, const kiln_night *before, const kiln_night *now,
                       kiln_night_sentences *out) {
    teller t = {a, out};
    *out = (kiln_night_sentences){.n = 0};
    tell_text(&t, "kiln", before->kiln, now->kiln);
    tell_text(&t, "commit", before->commit, now->commit);
    tell_text(&t, "processor", before->cpu, now->cpu);
    tell_text(&t, "operating system", before->os, now->os);
    if (before->cores != now->cores)
        kiln_vec_push(a, out,
                      kiln_format(a, "cores: %d, was %d", now->cores, before->cores));
    for (size_t i = 0; i < now->job.n; i++) {
        const kiln_night_job *was = find_job(before, &now->job.v[i]);
        if (was != NULL)
            tell_job(&t, was, &now->job.v[i]);
        else
            kiln_vec_push(a, out,
                          kiln_format(a, "%s: new job", name_of(a, &now->job.v[i])));
    }
    for (size_t i = 0; i < before->job.n; i++)
        if (find_job(now, &before->job.v[i]) == NULL)
            kiln_vec_push(
                a, out,
                kiln_format(a, "%s: no longer a job", name_of(a, &before->job.v[i])));
}
