/* Rounds of runs and slices of the peak, at every number of threads in turn. */
#include "pipeline/bench/bench_internal.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MIN_GOOD = 7, STEP_RUNS = 20 };
static const double sample_ns = 1e6; /* a sample is at least about so long */

typedef struct side {
    kiln_net_side *report;
    kiln_session *session;
    kiln_meter meter;
    kiln_rivals *rivals; /* NULL: none */
} side;

typedef struct bench {
    kiln_arena *arena;
    const kiln_subject *subject;
    const kiln_net_bench_options *o;
    side *side;
    kiln_net_bench *out;
} bench;

/* ---- one run -----------------------------------------------------------------------
 */

static int64_t n_preempted(void) {
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_nivcsw : 0;
}

/* One thread's time is what it got of the processor, where others took it away. Several
 * threads wait for each other, so only the wall's clock is theirs; that somebody took a
 * processor away is noted. */
static kiln_status run_sample(side *s, kiln_net_sample *out, kiln_err *err) {
    kiln_session *on = s->session;
    const int64_t preempted = n_preempted();
    const kiln_watch begin = kiln_watch_now();
    for (int64_t i = 0; i < s->report->runs; i++)
        if (kiln_session_run(on) != 0)
            return kiln_session_failed(on, err);
    const double wall = (double)(kiln_now_ns() - begin.wall_ns);
    bool is_disturbed = false;
    double ns = kiln_watch_ns(&begin, &is_disturbed);
    if (s->report->threads > 1) {
        ns = wall;
        is_disturbed = n_preempted() > preempted;
    }
    out->ms = ns * 1e-6 / (double)s->report->runs;
    out->is_disturbed = is_disturbed;
    return KILN_OK;
}

static kiln_status warm_up(side *s, kiln_err *err) {
    kiln_net_sample sample = {0};
    s->report->runs = 1;
    KILN_TRY(run_sample(s, &sample, err));
    KILN_TRY(run_sample(s, &sample, err));
    s->report->runs = (int64_t)fmax(1, ceil(sample_ns * 1e-6 / fmax(sample.ms, 1e-4)));
    return run_sample(s, &sample, err);
}

static void close_session(void *session) { kiln_session_close(session); }
static void close_pool(void *pool) { kiln_pool_close(pool); }

/* Neither the session's threads nor the meter's are pinned: both go where the system
 * puts them. The session comes first: its threads inherit our affinity. */
static kiln_status open_side(bench *b, int threads, side *s, kiln_err *err) {
    char text[KILN_ERROR_TEXT] = "";
    kiln_team team = {.pool = NULL};
    const kiln_session_options so = {.n_threads = threads};
    s->session = kiln_session_open(b->subject->model, &so, text);
    if (s->session == NULL)
        return kiln_fail(err, KILN_ERR_OOM, "%s", text);
    kiln_arena_defer(b->arena, close_session, s->session);
    const kiln_pool_options po = {.n_threads = threads};
    if (threads > 1 && kiln_pool_open(&po, &team.pool, text) != 0)
        return kiln_fail(err, KILN_ERR_OOM, "%d threads: %s", threads, text);
    kiln_arena_defer(b->arena, close_pool, team.pool);
    KILN_TRY(kiln_meter_new(b->arena, b->subject->profile, team, &s->meter, err));
    s->report->threads = threads;
    s->report->session_bytes = kiln_session_bytes(s->session);
    return KILN_OK;
}

/* ---- numbers -----------------------------------------------------------------------
 */

bool kiln_samples_suffice(const kiln_net_samples *s) {
    size_t n_good = 0;
    for (size_t i = 0; i < s->n; i++)
        n_good += !s->v[i].is_disturbed;
    return n_good >= MIN_GOOD;
}

double *kiln_samples_column(kiln_arena *a, const kiln_net_samples *s, bool all,
                            size_t member, size_t *n) {
    double *v = kiln_array(a, double, s->n);
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (all || !s->v[i].is_disturbed)
            memcpy(&v[(*n)++], (const char *)&s->v[i] + member, sizeof *v);
    return v;
}

static double *column(const bench *b, const kiln_net_side *r, size_t member,
                      size_t *n) {
    return kiln_samples_column(b->arena, &r->sample, !kiln_samples_suffice(&r->sample),
                               member, n);
}

static double share_of(const bench *b, const kiln_net_side *r) {
    const double flops = 2 * (double)b->subject->cost.muladds;
    size_t n, n_peak;
    double *ms = column(b, r, offsetof(kiln_net_sample, ms), &n);
    const double *peak = column(b, r, offsetof(kiln_net_sample, peak_gflops), &n_peak);
    for (size_t i = 0; i < n; i++)
        ms[i] = flops * 1e-6 / ms[i] / peak[i];
    return kiln_median(ms, n);
}

static void add_up(const bench *b, kiln_net_side *r, const kiln_meter *m) {
    size_t n;
    double *ms = column(b, r, offsetof(kiln_net_sample, ms), &n);
    r->median_ms = kiln_median(ms, n);
    r->min_ms = ms[0];
    r->q1_ms = kiln_quantile(ms, n, 0.25);
    r->q3_ms = kiln_quantile(ms, n, 0.75);
    r->gflops = 2e-6 * (double)b->subject->cost.muladds / r->median_ms;
    r->peak_share = share_of(b, r);
    for (size_t i = 0; i < r->sample.n; i++)
        r->n_disturbed += r->sample.v[i].is_disturbed;
    double *peak = column(b, r, offsetof(kiln_net_sample, peak_gflops), &n);
    r->peak.gflops = kiln_median(peak, n);
    peak = column(b, r, offsetof(kiln_net_sample, measured_gflops), &n);
    r->peak.measured_gflops = kiln_median(peak, n);
    peak = column(b, r, offsetof(kiln_net_sample, clock_ghz), &n);
    r->peak.clock_ghz = kiln_median(peak, n);
    r->peak.fma_per_cycle = m->fma_per_cycle;
}

/* Apart from the rounds: reading a clock for each step takes time too. */
static kiln_status measure_steps(const bench *b, side *s, kiln_err *err) {
    const int n = kiln_session_n_steps(s->session);
    double *median = kiln_array(b->arena, double, n);
    double(*ms)[STEP_RUNS] = kiln_arena_array(b->arena, (size_t)n, sizeof *ms);
    int runs = 0;
    while (runs < STEP_RUNS && (runs == 0 || !kiln_interrupted())) {
        kiln_session_profile(s->session, 1); /* from zero */
        if (kiln_session_run(s->session) != 0)
            return kiln_session_failed(s->session, err);
        for (int i = 0; i < n; i++) {
            kiln_step_info info;
            kiln_session_step(s->session, i, &info);
            ms[i][runs] = (double)info.nanoseconds * 1e-6;
        }
        runs++;
    }
    kiln_session_profile(s->session, 0);
    for (int i = 0; i < n; i++)
        median[i] = kiln_median(ms[i], (size_t)runs);
    s->report->step_ms = median;
    return KILN_OK;
}

/* ---- rounds ------------------------------------------------------------------------
 */

/* Beside baselines, each begins a turn after a rest, with a run that is not timed: who
 * ran before left its own data in the caches, and threads sleep. */
static kiln_status take_turn(bench *b, side *s, const kiln_net_sample *peak,
                             kiln_err *err) {
    kiln_net_sample sample = *peak;
    if (s->rivals != NULL) {
        kiln_rest();
        if (kiln_session_run(s->session) != 0)
            return kiln_session_failed(s->session, err);
    }
    KILN_TRY(run_sample(s, &sample, err));
    kiln_vec_push(b->arena, &s->report->sample, sample);
    return KILN_OK;
}

/* kiln before the baselines and after them in turns: whoever comes first is treated
 * alike. */
static kiln_status one_round(bench *b, int round, kiln_err *err) {
    for (int i = 0; i < b->o->n_threads; i++) {
        side *s = &b->side[i];
        const bool is_first = round % 2 == 0;
        const kiln_peak p = kiln_meter_slice(&s->meter);
        const kiln_net_sample peak = {.peak_gflops = p.gflops,
                                      .measured_gflops = p.measured_gflops,
                                      .clock_ghz = p.clock_ghz};
        if (is_first)
            KILN_TRY(take_turn(b, s, &peak, err));
        if (s->rivals != NULL)
            kiln_rivals_round(s->rivals, &peak);
        if (!is_first)
            KILN_TRY(take_turn(b, s, &peak, err));
    }
    return KILN_OK;
}

static kiln_status all_rounds(bench *b, kiln_err *err) {
    int done = 0;
    while (done < b->o->rounds && !kiln_interrupted()) {
        if (b->o->progress != NULL)
            b->o->progress(b->o->user, done, b->o->rounds);
        KILN_TRY(one_round(b, done, err));
        done++;
    }
    if (done == 0)
        return kiln_fail(err, KILN_ERR_IO,
                         "interrupted before '%s' was measured: nothing is known",
                         b->subject->name);
    for (int i = 0; i < b->o->n_threads; i++) {
        add_up(b, b->side[i].report, &b->side[i].meter);
        if (b->side[i].rivals != NULL)
            kiln_rivals_add_up(b->side[i].rivals);
        if (b->o->steps)
            KILN_TRY(measure_steps(b, &b->side[i], err));
    }
    b->out->is_interrupted = done < b->o->rounds;
    if (b->o->bandwidth && !kiln_interrupted())
        b->out->bandwidth_gbs = kiln_copy_gbs(b->subject->profile, &b->out->machine);
    return KILN_OK;
}

static kiln_status check_all(bench *b, kiln_err *err) {
    for (int i = 0; i < b->o->n_threads; i++)
        KILN_TRY(kiln_subject_check(b->arena, b->subject, b->side[i].session,
                                    &b->out->check, err));
    return KILN_OK;
}

static kiln_status open_rivals(bench *b, kiln_err *err) {
    if (b->subject->file == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "baselines run the model's file: name the one that package "
                         "'%s' was built from",
                         b->subject->name);
    for (int i = 0; i < b->o->n_threads && !kiln_interrupted(); i++)
        b->side[i].rivals =
            kiln_rivals_open(b->arena, b->subject, b->o, b->side[i].report);
    return KILN_OK;
}

kiln_status kiln_net_bench_run(kiln_arena *a, const kiln_subject *s,
                               const kiln_net_bench_options *o, kiln_net_bench *out,
                               kiln_err *err) {
    *out = (kiln_net_bench){.subject = s,
                            .check = {.name = s->name, .group = "", .reason = ""}};
    bench b = {a, s, o, NULL, out};
    kiln_machine_read(a, &out->machine);
    b.side = kiln_array(a, side, o->n_threads);
    for (int i = 0; i < o->n_threads; i++)
        kiln_vec_push(a, &out->side, (kiln_net_side){0});
    for (int i = 0; i < o->n_threads; i++) {
        b.side[i].report = &out->side.v[i];
        KILN_TRY(open_side(&b, o->threads[i], &b.side[i], err));
    }
    KILN_TRY(check_all(&b, err));
    if (out->check.outcome != KILN_PASSED)
        return KILN_OK;
    if (o->baseline != NULL)
        KILN_TRY(open_rivals(&b, err));
    for (int i = 0; i < o->n_threads; i++)
        KILN_TRY(warm_up(&b.side[i], err));
    return all_rounds(&b, err);
}
