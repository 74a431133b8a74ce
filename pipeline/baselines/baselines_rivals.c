/* Baselines beside kiln: found, made ready, compared, sampled, added up. */
#include "pipeline/baselines/baselines_rivals.h"

#include <math.h>
#include <time.h>

enum { BOOTSTRAP = 2000, MIN_GOOD = 7 };
static const double sample_ms = 1;

struct kiln_rivals {
    kiln_arena *arena; /* of the list */
    kiln_rival_list *list;
    kiln_baseline_session *session; /* one for each */
    int threads;
};

/* ---- samples --------------------------------------------------------------------- */

size_t kiln_samples_disturbed(const kiln_sample_list *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->v[i].is_disturbed;
    return n;
}

bool kiln_samples_suffice(const kiln_sample_list *s) {
    return s->n - kiln_samples_disturbed(s) >= MIN_GOOD;
}

double *kiln_samples_ms(kiln_arena *a, const kiln_sample_list *s, bool all, size_t *n) {
    double *ms = kiln_array(a, double, s->n);
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (all || !s->v[i].is_disturbed)
            ms[(*n)++] = s->v[i].ms;
    return ms;
}

int64_t kiln_sample_runs(double ms_of_one) {
    KILN_ASSERT(isfinite(ms_of_one), "a run of %g ms", ms_of_one);
    return (int64_t)fmax(1, ceil(sample_ms / fmax(ms_of_one, 1e-4)));
}

void kiln_rest(void) {
    const struct timespec rest = {.tv_nsec = 3000000};
    (void)nanosleep(&rest, NULL);
}

/* ---- making ready ---------------------------------------------------------------- */

static void fail(kiln_rivals *r, kiln_rival *v, const kiln_err *err) {
    v->state = KILN_RIVAL_FAILED;
    v->reason = kiln_str_dup(r->arena, err->text);
}

static kiln_status take_sample(const kiln_rivals *r, const kiln_rival *v,
                               const kiln_baseline_session *session, kiln_sample *out,
                               kiln_err *err) {
    kiln_baseline_sample got;
    KILN_TRY(v->baseline->run(session, v->number.runs, &got, err));
    out->ms = kiln_baseline_ms(&got, v->number.runs, r->threads, &out->is_disturbed);
    return KILN_OK;
}

/* Of those that read neither the file nor what may be exported of it. */
static kiln_status leave_out(const kiln_rivals *r, const kiln_rivals_subject *s,
                             kiln_rival *v, const kiln_err *why) {
    v->state = KILN_RIVAL_ABSENT;
    v->is_left_out = true;
    v->reason = kiln_format(r->arena, "it reads files of %s, and '%s' is of %s%s%s",
                            kiln_baseline_formats(r->arena, v->baseline), s->file,
                            s->format, why != NULL ? "; not exported: " : "",
                            why != NULL ? why->text : "");
    return KILN_OK;
}

static const char exported_format[] = "onnx";

/* Which file is for it: the very one that kiln is given, else an exported one. */
static kiln_status give_file(const kiln_rivals *r, const kiln_rivals_subject *s,
                             kiln_rival *v) {
    kiln_err why = {.status = KILN_OK};
    if (s->format == NULL ||
        kiln_baseline_reads_here(v->baseline, r->arena, s->dir, s->format)) {
        v->file = s->file;
        return KILN_OK;
    }
    if (s->export == NULL)
        return leave_out(r, s, v, NULL);
    if (s->export(s->user, &v->file, &why) != KILN_OK)
        return leave_out(r, s, v, &why);
    v->is_exported = true;
    return KILN_OK;
}

static bool may_read(const kiln_rivals_subject *s, const kiln_baseline *b) {
    return s->format == NULL || kiln_baseline_reads(b, s->format) ||
           (s->export != NULL && kiln_baseline_reads(b, exported_format));
}

static kiln_status make_ready(kiln_rivals *r, const kiln_rivals_subject *s,
                              kiln_rival *v, kiln_baseline_session *session,
                              kiln_err *err) {
    kiln_sample first = {0};
    kiln_baseline_here here;
    if (!may_read(s, v->baseline))
        return leave_out(r, s, v, NULL);
    KILN_TRY(v->baseline->find(v->baseline, r->arena, s->dir, &here, err));
    if (!here.is_here) {
        v->state = KILN_RIVAL_ABSENT;
        v->reason = here.remedy;
        return KILN_OK;
    }
    v->version = here.version;
    KILN_TRY(give_file(r, s, v));
    if (v->is_left_out)
        return KILN_OK;
    KILN_TRY(s->open(s->user, v, session, err));
    if (session->implementation != NULL)
        v->implementation = kiln_str_dup(r->arena, session->implementation);
    KILN_TRY(s->compare(s->user, session, v, err));
    if (v->state == KILN_RIVAL_MEASURED && here.is_emulated) {
        v->state = KILN_RIVAL_EMULATED;
        v->reason = "its outputs are right; an emulator's times are not compared";
    }
    if (v->state != KILN_RIVAL_MEASURED)
        return KILN_OK;
    /* The first run of all is slower than those that follow. */
    for (int i = 0; i < 2; i++)
        KILN_TRY(take_sample(r, v, session, &first, err));
    v->number.runs = kiln_sample_runs(first.ms);
    return KILN_OK;
}

kiln_rivals *kiln_rivals_open(kiln_arena *a, kiln_arena *sessions,
                              const kiln_baseline *const *which,
                              const kiln_rivals_subject *s, kiln_rival_list *out) {
    KILN_ASSERT(s->threads > 0 && s->open != NULL, "rivals on %d threads", s->threads);
    kiln_rivals *r = kiln_new(sessions, kiln_rivals);
    *r = (kiln_rivals){.arena = a, .list = out, .threads = s->threads};
    for (size_t i = 0; which[i] != NULL; i++) {
        const kiln_rival v = {.baseline = which[i],
                              .state = KILN_RIVAL_MEASURED,
                              .reason = "",
                              .number.runs = 1};
        kiln_vec_push(a, out, v);
    }
    r->session = kiln_array(sessions, kiln_baseline_session, out->n);
    for (size_t i = 0; i < out->n; i++) {
        kiln_err err = {.status = KILN_OK};
        if (make_ready(r, s, &out->v[i], &r->session[i], &err) != KILN_OK)
            fail(r, &out->v[i], &err);
    }
    return r;
}

/* ---- rounds ---------------------------------------------------------------------- */

void kiln_rivals_round(kiln_rivals *r) {
    KILN_ASSERT(r->session != NULL || r->list->n == 0, "rivals without sessions");
    kiln_rest();
    for (size_t i = 0; i < r->list->n; i++) {
        kiln_rival *v = &r->list->v[i];
        kiln_sample sample;
        kiln_err err = {.status = KILN_OK};
        if (v->state != KILN_RIVAL_MEASURED)
            continue;
        if (take_sample(r, v, &r->session[i], &sample, &err) == KILN_OK)
            kiln_vec_push(r->arena, &v->sample, sample);
        else if (!kiln_interrupted() || v->sample.n == 0) /* keeps what it has */
            fail(r, v, &err);
    }
}

/* The ratio takes both sides by one rule: without the disturbed samples of one alone,
 * the other would look slow for what somebody else did. */
static void add_up(kiln_rival *v, const kiln_sample_list *own) {
    kiln_arena scratch = {0};
    kiln_rival_numbers *n = &v->number;
    const bool all = !kiln_samples_suffice(own) || !kiln_samples_suffice(&v->sample);
    size_t n_x, n_y, n_ms;
    const double *x = kiln_samples_ms(&scratch, own, all, &n_x);
    const double *y = kiln_samples_ms(&scratch, &v->sample, all, &n_y);
    n->ratio = kiln_stats_ratio(&scratch, x, n_x, y, n_y, 0.95, BOOTSTRAP, 1);
    double *ms =
        kiln_samples_ms(&scratch, &v->sample, !kiln_samples_suffice(&v->sample), &n_ms);
    n->median_ms = kiln_median(ms, n_ms); /* sorts */
    n->min_ms = ms[0];
    n->q1_ms = kiln_quantile(ms, n_ms, 0.25);
    n->q3_ms = kiln_quantile(ms, n_ms, 0.75);
    n->n_disturbed = kiln_samples_disturbed(&v->sample);
    kiln_arena_fini(&scratch);
}

void kiln_rivals_add_up(kiln_rivals *r, const kiln_sample_list *own) {
    for (size_t i = 0; i < r->list->n; i++)
        if (r->list->v[i].state == KILN_RIVAL_MEASURED)
            add_up(&r->list->v[i], own);
}

bool kiln_rivals_are_measured(const kiln_rival_list *list) {
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].state != KILN_RIVAL_MEASURED &&
            list->v[i].state != KILN_RIVAL_EMULATED && !list->v[i].is_left_out)
            return false;
    return true;
}
