/* Vendor libraries beside a kernel: the same inputs, the same rounds, the same
 * expectation. One that fails is out, and the rest goes on. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <time.h>

enum { BOOTSTRAP = 2000, MIN_GOOD = 7 };
static const double sample_ns = 1e6; /* as long as a slice of the kernel */

struct kiln_op_rivals {
    kiln_arena *arena;
    kiln_bench_row *row;
    kiln_baseline_session *session; /* one for each rival */
    int threads;
};

void kiln_rest(void) {
    const struct timespec rest = {.tv_nsec = 3000000};
    (void)nanosleep(&rest, NULL);
}

static void fail(kiln_arena *a, kiln_op_rival *v, const kiln_err *err) {
    v->state = KILN_RIVAL_FAILED;
    v->reason = kiln_str_dup(a, err->text);
}

/* ---- making ready ------------------------------------------------------------------
 */

static kiln_status take_sample(const kiln_op_rivals *r, const kiln_op_rival *v,
                               const kiln_baseline_session *session,
                               kiln_op_sample *out, kiln_err *err) {
    kiln_baseline_sample got;
    KILN_TRY(v->baseline->run(session, v->number.runs, &got, err));
    out->ms = kiln_baseline_ms(&got, v->number.runs, r->threads, &out->is_disturbed);
    return KILN_OK;
}

static void compare(kiln_op_rivals *r, kiln_op_rival *v,
                    const kiln_baseline_session *session, const kiln_expected *want) {
    kiln_arena scratch = {0};
    kiln_expected_compare(&scratch, want, &session->out[0], "y", &v->verdict);
    if (!v->verdict.ok) {
        v->state = KILN_RIVAL_WRONG;
        v->reason = kiln_str_dup(r->arena, v->verdict.problem);
    }
    v->verdict.problem = v->reason;
    kiln_arena_fini(&scratch);
}

typedef struct subject {
    kiln_library_op op;
    kiln_err refusal; /* no status: there is a description */
    const kiln_expected *want;
    int64_t limit_ms;
} subject;

static kiln_status make_ready(kiln_op_rivals *r, kiln_arena *scratch, const subject *s,
                              kiln_op_rival *v, kiln_baseline_session *session,
                              kiln_err *err) {
    kiln_baseline_here here;
    kiln_op_sample first;
    const kiln_baseline_op_job job = {
        .op = &s->op, .threads = r->threads, .limit_ms = s->limit_ms};
    KILN_TRY(v->baseline->find(v->baseline, r->arena, "", &here, err));
    if (!here.is_here) {
        v->state = KILN_RIVAL_ABSENT;
        v->reason = here.remedy;
        return KILN_OK;
    }
    v->version = here.version;
    if (s->refusal.status != KILN_OK) {
        *err = s->refusal;
        return err->status;
    }
    KILN_TRY(v->baseline->open_op(v->baseline, scratch, &job, session, err));
    if (session->implementation != NULL)
        v->implementation = kiln_str_dup(r->arena, session->implementation);
    compare(r, v, session, s->want);
    if (v->state != KILN_RIVAL_MEASURED)
        return KILN_OK;
    /* The first run of all is slower than those that follow. */
    for (int i = 0; i < 2; i++)
        KILN_TRY(take_sample(r, v, session, &first, err));
    v->number.runs = (int64_t)fmax(1, ceil(sample_ns * 1e-6 / fmax(first.ms, 1e-4)));
    return KILN_OK;
}

/* A pinned team has pinned this thread too, and a child would inherit that. */
kiln_op_rivals *kiln_op_rivals_open(kiln_arena *a, kiln_arena *scratch,
                                    const kiln_call *c, const kiln_expected *want,
                                    const kiln_bench_options *o, kiln_bench_row *row) {
    kiln_op_rivals *r = kiln_new(scratch, kiln_op_rivals);
    subject s = {.want = want, .limit_ms = o->baselines_limit_ms};
    const kiln_op_work *work = c->kernel->work;
    const kiln_cpus own = kiln_cpus_own();
    *r = (kiln_op_rivals){.arena = a, .row = row, .threads = kiln_team_size(c->team)};
    (void)kiln_library_op_of(work->graph, work->workload.anchor, c->plain, &s.op,
                             &s.refusal);
    for (size_t i = 0; o->baseline[i] != NULL; i++) {
        const kiln_op_rival v = {.baseline = o->baseline[i],
                                 .state = KILN_RIVAL_MEASURED,
                                 .reason = "",
                                 .verdict = {.ok = true, .problem = ""},
                                 .number.runs = 1};
        kiln_vec_push(a, &row->rival, v);
    }
    r->session = kiln_array(scratch, kiln_baseline_session, row->rival.n);
    kiln_cpus_use(&c->team.cpus);
    for (size_t i = 0; i < row->rival.n; i++) {
        kiln_err err = {.status = KILN_OK};
        if (make_ready(r, scratch, &s, &row->rival.v[i], &r->session[i], &err) !=
            KILN_OK)
            fail(a, &row->rival.v[i], &err);
    }
    kiln_cpus_use(&own);
    return r;
}

/* ---- samples -----------------------------------------------------------------------
 */

void kiln_op_rivals_round(kiln_op_rivals *r) {
    kiln_rest();
    for (size_t i = 0; i < r->row->rival.n; i++) {
        kiln_op_rival *v = &r->row->rival.v[i];
        kiln_op_sample sample;
        kiln_err err = {.status = KILN_OK};
        if (v->state != KILN_RIVAL_MEASURED)
            continue;
        if (take_sample(r, v, &r->session[i], &sample, &err) == KILN_OK)
            kiln_vec_push(r->arena, &v->sample, sample);
        else if (!kiln_interrupted() || v->sample.n == 0) /* keeps what it has */
            fail(r->arena, v, &err);
    }
}

void kiln_op_rivals_own(kiln_op_rivals *r, double ms, bool is_disturbed) {
    const kiln_op_sample sample = {.ms = ms, .is_disturbed = is_disturbed};
    kiln_vec_push(r->arena, &r->row->sample, sample);
}

static size_t n_disturbed(const kiln_op_samples *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->v[i].is_disturbed;
    return n;
}

static bool suffice(const kiln_op_samples *s) {
    return s->n - n_disturbed(s) >= MIN_GOOD;
}

static double *column(kiln_arena *a, const kiln_op_samples *s, bool all, size_t *n) {
    double *ms = kiln_array(a, double, s->n);
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (all || !s->v[i].is_disturbed)
            ms[(*n)++] = s->v[i].ms;
    return ms;
}

void kiln_rival_numbers_spread(kiln_rival_numbers *n, double *ms, size_t n_ms) {
    n->median_ms = kiln_median(ms, n_ms);
    n->min_ms = ms[0];
    n->q1_ms = kiln_quantile(ms, n_ms, 0.25);
    n->q3_ms = kiln_quantile(ms, n_ms, 0.75);
}

/* The ratio takes both sides by one rule: without the disturbed samples of one alone,
 * the other would look slow for what somebody else did. */
static void add_up(const kiln_op_samples *kiln, kiln_op_rival *v) {
    kiln_arena scratch = {0};
    const bool all = !suffice(kiln) || !suffice(&v->sample);
    size_t n, n_own;
    const double *x = column(&scratch, kiln, all, &n);
    const double *y = column(&scratch, &v->sample, all, &n_own);
    v->number.ratio = kiln_stats_ratio(&scratch, x, n, y, n_own, 0.95, BOOTSTRAP, 1);
    double *ms = column(&scratch, &v->sample, !suffice(&v->sample), &n_own);
    kiln_rival_numbers_spread(&v->number, ms, n_own);
    v->number.n_disturbed = n_disturbed(&v->sample);
    kiln_arena_fini(&scratch);
}

void kiln_op_rivals_add_up(kiln_op_rivals *r) {
    for (size_t i = 0; i < r->row->rival.n; i++)
        if (r->row->rival.v[i].state == KILN_RIVAL_MEASURED)
            add_up(&r->row->sample, &r->row->rival.v[i]);
}
