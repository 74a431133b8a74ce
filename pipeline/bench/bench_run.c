/* Rounds of runs and slices of the peak, at every number of threads in turn. */
#include "pipeline/bench/bench_internal.h"

#include <stddef.h>
#include <string.h>

enum { STEP_RUNS = 20 };

typedef struct side {
    kiln_net_side *report;
    int session;
    kiln_rivals *rivals; /* NULL: none */
} side;

typedef struct bench {
    kiln_arena *arena;
    const kiln_subject *subject;
    const kiln_net_bench_options *o;
    side *side;
    kiln_net_bench *out;
    kiln_net_made made; /* for baselines */
} bench;

/* ---- one run --------------------------------------------------------------------- */

/* Names the side that failed: a crash ends all of them. */
static kiln_status take(const bench *b, const side *s, const kiln_remote_order *o,
                        kiln_remote_turn *out, kiln_err *err) {
    const kiln_status st =
        kiln_remote_take_turn(s->report->subject->remote, s->session, o, out, err);
    if (st != KILN_OK)
        kiln_note(err, "running '%s' on %d thread%s", b->subject->name,
                  s->report->threads, s->report->threads == 1 ? "" : "s");
    return st;
}

static kiln_sample sample_of(const kiln_remote_turn *t) {
    return (kiln_sample){t->ms, t->is_disturbed};
}

static kiln_status run_sample(const bench *b, const side *s, int n_ahead,
                              kiln_sample *out, kiln_err *err) {
    const kiln_remote_order o = {.n_ahead = n_ahead, .runs = s->report->runs};
    kiln_remote_turn turn;
    KILN_TRY(take(b, s, &o, &turn, err));
    *out = sample_of(&turn);
    return KILN_OK;
}

static kiln_status warm_up(const bench *b, side *s, kiln_err *err) {
    kiln_sample sample = {0};
    s->report->runs = 1;
    KILN_TRY(run_sample(b, s, 1, &sample, err));
    s->report->runs = kiln_sample_runs(sample.ms);
    return run_sample(b, s, 0, &sample, err);
}

static kiln_status open_side(bench *b, int i, kiln_err *err) {
    side *s = &b->side[i];
    kiln_net_side *r = &b->out->side.v[i];
    s->report = r;
    r->threads = b->o->threads[i];
    r->subject = b->o->each != NULL ? &b->o->each[i] : b->subject;
    return kiln_remote_session(r->subject->remote, r->threads, &s->session,
                               &r->session_bytes, err);
}

/* ---- numbers --------------------------------------------------------------------- */

/* Of the rounds whose samples count: one member of their peaks, at `offset`. */
static double *peaks(kiln_arena *a, const kiln_net_side *r, size_t offset) {
    const bool all = !kiln_samples_suffice(&r->sample);
    double *v = kiln_array(a, double, r->sample.n);
    size_t n = 0;
    for (size_t i = 0; i < r->sample.n; i++)
        if (all || !r->sample.v[i].is_disturbed)
            memcpy(&v[n++], (const char *)&r->round_peak.v[i] + offset, sizeof *v);
    return v;
}

static void add_up(const bench *b, kiln_net_side *r) {
    kiln_arena scratch = {0};
    const double flops = 2 * (double)b->subject->cost.muladds;
    size_t n;
    double *ms =
        kiln_samples_ms(&scratch, &r->sample, !kiln_samples_suffice(&r->sample), &n);
    double *gflops = peaks(&scratch, r, offsetof(kiln_peak, gflops));
    double *share = kiln_array(&scratch, double, n);
    for (size_t i = 0; i < n; i++)
        share[i] = flops * 1e-6 / ms[i] / gflops[i];
    r->peak_share = kiln_median(share, n);
    r->median_ms = kiln_median(ms, n); /* sorts */
    r->min_ms = ms[0];
    r->q1_ms = kiln_quantile(ms, n, 0.25);
    r->q3_ms = kiln_quantile(ms, n, 0.75);
    r->percentiles = kiln_percentiles_of(ms, n);
    r->gflops = flops * 1e-6 / r->median_ms;
    r->n_disturbed = kiln_samples_disturbed(&r->sample);
    r->peak = (kiln_peak){
        .gflops = kiln_median(gflops, n),
        .measured_gflops =
            kiln_median(peaks(&scratch, r, offsetof(kiln_peak, measured_gflops)), n),
        .clock_ghz = kiln_median(peaks(&scratch, r, offsetof(kiln_peak, clock_ghz)), n),
        .fma_per_cycle = r->round_peak.v[0].fma_per_cycle};
    kiln_arena_fini(&scratch);
}

/* A run with a clock read at each step, as run number `at` of those that count. */
static kiln_status profile_once(const bench *b, const side *s, int n,
                                double (*ms)[STEP_RUNS], int at, double *run_ms,
                                bool *is_disturbed, kiln_err *err) {
    const kiln_remote_order o = {.runs = 1, .has_steps = true};
    kiln_remote_turn turn;
    KILN_TRY(take(b, s, &o, &turn, err));
    *run_ms = turn.ms;
    *is_disturbed = turn.is_disturbed;
    for (int i = 0; i < n && i < (int)turn.n_steps; i++)
        ms[i][at] = (double)turn.step_ns[i] * 1e-6;
    return KILN_OK;
}

/* Apart from the rounds: reading a clock for each step takes time too. Runs in which
 * somebody else had a processor are taken again, as often as there are runs. */
static kiln_status measure_steps(const bench *b, side *s, kiln_err *err) {
    const int n = s->report->subject->n_steps;
    double *median = kiln_array(b->arena, double, n);
    double(*ms)[STEP_RUNS] = kiln_arena_array(b->arena, (size_t)n, sizeof *ms);
    double run_ms[STEP_RUNS] = {0};
    int runs = 0, again = STEP_RUNS;
    while (runs < STEP_RUNS && (runs == 0 || !kiln_interrupted())) {
        bool is_disturbed = false;
        kiln_progress_step("timing each step", "runs", runs, STEP_RUNS, NULL);
        KILN_TRY(profile_once(b, s, n, ms, runs, &run_ms[runs], &is_disturbed, err));
        if (!is_disturbed || again-- <= 0)
            runs++;
    }
    for (int i = 0; i < n; i++)
        median[i] = kiln_median(ms[i], (size_t)runs);
    s->report->step_ms = median;
    s->report->steps_run_ms = kiln_median(run_ms, (size_t)runs);
    return KILN_OK;
}

/* ---- rounds ---------------------------------------------------------------------- */

/* What a run is held to: the processor's peak as it was just measured; of a network on a
 * GPU that device's, by its profile (nothing is measured there between runs). */
static kiln_peak peak_of(const kiln_profile *p, const kiln_peak *measured) {
    const kiln_profile *d = p->device;
    if (d == NULL || !kiln_profile_is_gpu(d) || !(d->gpu.peak_gflops > 0))
        return *measured;
    kiln_peak peak = *measured; /* the clock is the host's */
    peak.gflops = peak.measured_gflops = d->gpu.peak_gflops;
    return peak;
}

static void keep(bench *b, side *s, const kiln_peak *peak, const kiln_sample *sample) {
    kiln_vec_push(b->arena, &s->report->sample, *sample);
    kiln_vec_push(b->arena, &s->report->round_peak, peak_of(b->subject->profile, peak));
}

/* The peak and the runs behind it in one turn: whoever is asked twice sleeps between,
 * while the meter's threads still spin. */
static kiln_status take_turn_alone(bench *b, side *s, kiln_err *err) {
    const kiln_remote_order both = {.n_peaks = 1, .runs = s->report->runs};
    kiln_remote_turn turn;
    KILN_TRY(take(b, s, &both, &turn, err));
    const kiln_sample sample = sample_of(&turn);
    keep(b, s, &turn.peak, &sample);
    return KILN_OK;
}

/* Beside baselines, each begins a turn after a rest, with a run that is not timed: who
 * ran before left its own data in the caches, and threads sleep. kiln comes before the
 * baselines and after them in turns: whoever comes first is treated alike. */
static kiln_status take_turns(bench *b, side *s, bool is_first, kiln_err *err) {
    const kiln_remote_order peak = {.n_peaks = 1};
    kiln_remote_turn turn;
    kiln_sample sample;
    KILN_TRY(take(b, s, &peak, &turn, err));
    if (!is_first)
        kiln_rivals_round(s->rivals);
    kiln_rest();
    KILN_TRY(run_sample(b, s, 1, &sample, err));
    keep(b, s, &turn.peak, &sample);
    if (is_first)
        kiln_rivals_round(s->rivals);
    return KILN_OK;
}

static kiln_status one_round(bench *b, int round, kiln_err *err) {
    for (int i = 0; i < b->o->n_threads; i++) {
        side *s = &b->side[i];
        KILN_TRY(s->rivals == NULL ? take_turn_alone(b, s, err)
                                   : take_turns(b, s, round % 2 == 0, err));
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
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted before '%s' was measured: nothing is known",
                         b->subject->name);
    for (int i = 0; i < b->o->n_threads; i++) {
        add_up(b, b->side[i].report);
        if (b->side[i].rivals != NULL)
            kiln_rivals_add_up(b->side[i].rivals, &b->side[i].report->sample);
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
        KILN_TRY(kiln_subject_check(b->arena, b->side[i].report->subject,
                                    b->side[i].session, &b->out->check, err));
    return KILN_OK;
}

static kiln_status open_rivals(bench *b, kiln_err *err) {
    if (b->subject->file == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "baselines run the model's file: name the one that package "
                         "'%s' was built from",
                         b->subject->name);
    for (int i = 0; i < b->o->n_threads && !kiln_interrupted(); i++) {
        kiln_progress_step("preparing baselines", NULL, i, b->o->n_threads, NULL);
        b->side[i].rivals = kiln_net_rivals_open(b->arena, b->subject, b->o, &b->made,
                                                 b->side[i].report);
    }
    return KILN_OK;
}

kiln_status kiln_net_bench_run(kiln_arena *a, const kiln_subject *s,
                               const kiln_net_bench_options *o, kiln_net_bench *out,
                               kiln_err *err) {
    KILN_ASSERT(s->remote != NULL && s->n_want > 0,
                "'%s' has nothing to be compared with", s->name);
    *out = (kiln_net_bench){.subject = s,
                            .check = {.name = s->name, .group = "", .reason = ""}};
    bench b = {.arena = a, .subject = s, .o = o, .out = out};
    kiln_bench_machine(a, s, &out->machine);
    b.side = kiln_array(a, side, o->n_threads);
    for (int i = 0; i < o->n_threads; i++)
        kiln_vec_push(a, &out->side, (kiln_net_side){0});
    for (int i = 0; i < o->n_threads; i++)
        KILN_TRY(open_side(&b, i, err));
    KILN_TRY(check_all(&b, err));
    if (out->check.outcome != KILN_PASSED)
        return KILN_OK;
    if (o->baseline != NULL)
        KILN_TRY(open_rivals(&b, err));
    for (int i = 0; i < o->n_threads; i++)
        KILN_TRY(warm_up(&b, &b.side[i], err));
    return all_rounds(&b, err);
}
