/* Baselines at one number of threads, beside kiln's session: the same inputs, the same
 * rounds, the same expectation. One that fails is out, and the rest goes on. */
#include "pipeline/bench/bench_internal.h"

#include <math.h>
#include <stddef.h>

enum { BOOTSTRAP = 2000 };
static const double sample_ns = 1e6; /* a sample is at least about so long */

struct kiln_rivals {
    kiln_arena *arena;
    const kiln_subject *subject;
    kiln_net_side *side;
    kiln_baseline_session *session; /* one for each rival */
    kiln_baseline_job job;
};

static void fail(kiln_arena *a, kiln_net_rival *r, const kiln_err *err) {
    r->state = KILN_RIVAL_FAILED;
    r->reason = kiln_str_dup(a, err->text);
}

/* ---- making ready ------------------------------------------------------------------
 */

/* The session's inputs, and those that the import fixed: the file asks for all. */
static void make_job(kiln_rivals *r, const kiln_net_bench_options *o) {
    const kiln_subject *s = r->subject;
    const size_t n_own = (size_t)kiln_model_n_inputs(s->model);
    kiln_value_binding *in =
        kiln_array(r->arena, kiln_value_binding, n_own + s->n_fixed);
    const char **out = kiln_array(r->arena, const char *, s->n_want);
    for (size_t i = 0; i < n_own; i++) {
        kiln_port_info port;
        (void)kiln_model_input(s->model, (int)i, &port);
        in[i] = (kiln_value_binding){port.name, s->in[i]};
    }
    for (size_t i = 0; i < s->n_fixed; i++)
        in[n_own + i] = s->fixed[i];
    for (size_t i = 0; i < s->n_want; i++)
        out[i] = s->want[i].name;
    r->job = (kiln_baseline_job){.dir = o->baselines_dir,
                                 .model = s->file,
                                 .threads = r->side->threads,
                                 .in = in,
                                 .n_in = n_own + s->n_fixed,
                                 .out = out,
                                 .n_out = s->n_want,
                                 .limit_ms = o->baselines_limit_ms};
}

static kiln_status compare(kiln_rivals *r, kiln_net_rival *v,
                           const kiln_baseline_session *session, kiln_err *err) {
    const kiln_subject *s = r->subject;
    for (size_t i = 0; i < s->n_want; i++)
        KILN_TRY(kiln_check_wanted(r->arena, &v->check, &session->out[i], &s->want[i],
                                   &s->tolerance, err));
    if (v->check.outcome != KILN_PASSED) {
        v->state = KILN_RIVAL_WRONG;
        v->reason = v->check.reason;
    }
    return KILN_OK;
}

static kiln_status take_sample(const kiln_net_rival *v, int threads,
                               const kiln_baseline_session *session,
                               kiln_net_sample *out, kiln_err *err) {
    kiln_baseline_sample got;
    KILN_TRY(v->baseline->run(session, v->number.runs, &got, err));
    out->ms = kiln_baseline_ms(&got, v->number.runs, threads, &out->is_disturbed);
    return KILN_OK;
}

static kiln_status make_ready(kiln_rivals *r, kiln_net_rival *v,
                              kiln_baseline_session *session, kiln_err *err) {
    kiln_net_sample first = {0};
    kiln_baseline_here here;
    KILN_TRY(v->baseline->find(v->baseline, r->arena, r->job.dir, &here, err));
    if (!here.is_here) {
        v->state = KILN_RIVAL_ABSENT;
        v->reason = here.remedy;
        return KILN_OK;
    }
    v->version = here.version;
    KILN_TRY(v->baseline->open(v->baseline, r->arena, &r->job, session, err));
    KILN_TRY(compare(r, v, session, err));
    if (v->state != KILN_RIVAL_MEASURED)
        return KILN_OK;
    KILN_TRY(take_sample(v, r->side->threads, session, &first, err));
    v->number.runs = (int64_t)fmax(1, ceil(sample_ns * 1e-6 / fmax(first.ms, 1e-4)));
    return KILN_OK;
}

kiln_rivals *kiln_rivals_open(kiln_arena *a, const kiln_subject *s,
                              const kiln_net_bench_options *o, kiln_net_side *side) {
    kiln_rivals *r = kiln_new(a, kiln_rivals);
    *r = (kiln_rivals){.arena = a, .subject = s, .side = side};
    make_job(r, o);
    for (size_t i = 0; o->baseline[i] != NULL; i++) {
        const kiln_net_rival v = {.baseline = o->baseline[i],
                                  .state = KILN_RIVAL_MEASURED,
                                  .reason = "",
                                  .check = {.name = s->name, .group = "", .reason = ""},
                                  .number.runs = 1};
        kiln_vec_push(a, &side->rival, v);
    }
    r->session = kiln_array(a, kiln_baseline_session, side->rival.n);
    for (size_t i = 0; i < side->rival.n; i++) {
        kiln_err err = {.status = KILN_OK};
        if (make_ready(r, &side->rival.v[i], &r->session[i], &err) != KILN_OK)
            fail(a, &side->rival.v[i], &err);
    }
    return r;
}

/* ---- samples -----------------------------------------------------------------------
 */

void kiln_rivals_round(kiln_rivals *r, const kiln_net_sample *peak) {
    kiln_rest();
    for (size_t i = 0; i < r->side->rival.n; i++) {
        kiln_net_rival *v = &r->side->rival.v[i];
        kiln_net_sample sample = *peak;
        kiln_err err = {.status = KILN_OK};
        if (v->state != KILN_RIVAL_MEASURED)
            continue;
        if (take_sample(v, r->side->threads, &r->session[i], &sample, &err) == KILN_OK)
            kiln_vec_push(r->arena, &v->sample, sample);
        else if (!kiln_interrupted() || v->sample.n == 0) /* keeps what it has */
            fail(r->arena, v, &err);
    }
}

/* Both sides by one rule: without the disturbed samples of one alone, the other would
 * look slow for what somebody else did. */
static kiln_stats_interval ratio(kiln_rivals *r, const kiln_net_rival *v) {
    const size_t ms = offsetof(kiln_net_sample, ms);
    const kiln_net_samples *kiln = &r->side->sample;
    const bool all = !kiln_samples_suffice(kiln) || !kiln_samples_suffice(&v->sample);
    size_t n, n_own;
    const double *x = kiln_samples_column(r->arena, kiln, all, ms, &n);
    const double *y = kiln_samples_column(r->arena, &v->sample, all, ms, &n_own);
    return kiln_stats_ratio(r->arena, x, n, y, n_own, 0.95, BOOTSTRAP, 1);
}

static void add_up(kiln_rivals *r, kiln_net_rival *v) {
    size_t n;
    double *ms =
        kiln_samples_column(r->arena, &v->sample, !kiln_samples_suffice(&v->sample),
                            offsetof(kiln_net_sample, ms), &n);
    v->number.ratio = ratio(r, v);
    kiln_rival_numbers_spread(&v->number, ms, n);
    for (size_t i = 0; i < v->sample.n; i++)
        v->number.n_disturbed += v->sample.v[i].is_disturbed;
}

void kiln_rivals_add_up(kiln_rivals *r) {
    for (size_t i = 0; i < r->side->rival.n; i++)
        if (r->side->rival.v[i].state == KILN_RIVAL_MEASURED)
            add_up(r, &r->side->rival.v[i]);
}

bool kiln_net_bench_is_compared(const kiln_net_bench *b) {
    for (size_t i = 0; i < b->side.n; i++)
        for (size_t k = 0; k < b->side.v[i].rival.n; k++)
            if (b->side.v[i].rival.v[k].state != KILN_RIVAL_MEASURED)
                return false;
    return true;
}
