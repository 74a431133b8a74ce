/* One operator measured by other processes: a builder makes its kernel, a runner proves
 * it and times short slices of it, between slices of the machine's peak, so that what
 * disturbs one disturbs the other. Between its slices others may take their turns. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { PEAK_SLICES = 50, MIN_SLICES = 7, MAX_SLICES = 4096, LOOK_MS = 100, LOOKS = 20 };
/* Kernels that nobody tuned may be slow, but not for ever. */
static const int64_t limit_ms = 60000;
/* What a kernel may take beyond its operands: a workspace that is as large as the
 * operator makes it. */
static const uint64_t run_bytes = UINT64_C(4) << 30;

/* ---- the machine ----------------------------------------------------------------- */

static void close_pool(void *pool) { kiln_measure_close(pool); }

static kiln_peak peak_of(const kiln_op_trials *t, const kiln_peak_slice *s) {
    return kiln_peak_of(t->profile, t->threads, t->peak.fma_per_cycle, s->gflops,
                        s->clock_ghz);
}

kiln_status kiln_op_trials_open(kiln_arena *a, const kiln_profile *p,
                                const kiln_op_trials_options *o, kiln_op_trials *out,
                                kiln_err *err) {
    const int64_t run_ms = o->workers->run_limit_ms,
                  build_ms = o->workers->build_limit_ms;
    const kiln_measure_options m = {
        .profile = p,
        .threads = o->threads,
        .n_builders = 1,
        .builder_argv = o->workers->builder_argv,
        .runner_argv = o->workers->runner_argv,
        .runner_addresses = o->workers->addresses,
        .priority = o->workers->priority,
        .seed = o->seed,
        .build_limit_ms = build_ms > 0 ? build_ms : limit_ms,
        .run_limit_ms = run_ms > 0 ? run_ms : limit_ms + (int64_t)(4000 * o->seconds),
        .run_bytes = run_bytes,
        .loser = -1,
        .measures_spilling = true,
        .is_alone = true};
    const kiln_wire_limits q = {.n_peaks = PEAK_SLICES};
    kiln_measure_limits limits;
    kiln_op_trials t = {.arena = a, .profile = p, .threads = o->threads};
    KILN_TRY(kiln_measure_open(a, &m, &t.pool, err));
    kiln_arena_defer(a, close_pool, t.pool);
    KILN_TRY(kiln_measure_ask_limits(t.pool, &q, &limits, err));
    t.peak.fma_per_cycle =
        kiln_peak_fma(p, t.threads, limits.peak.gflops, limits.peak.clock_ghz);
    t.peak = peak_of(&t, &limits.peak);
    *out = t;
    return KILN_OK;
}

static kiln_status ask_level(kiln_op_trials *t, const kiln_meter_level *made,
                             double *gbs, kiln_err *err) {
    kiln_measure_limits limits;
    kiln_wire_level one = {.copy = made->copy.bytes,
                           .read = made->read.bytes,
                           .copy_bytes = (uint64_t)made->copy_bytes,
                           .read_bytes = (uint64_t)made->read_bytes};
    const kiln_wire_limits q = {.n_levels = 1, .level = &one};
    KILN_TRY(kiln_measure_ask_limits(t->pool, &q, &limits, err));
    *gbs = limits.gbs[0];
    return KILN_OK;
}

/* Measured once for each level, one that nobody knows is the next one; and for what
 * crowds a cache, by copies and reads that crowd it as much. */
static kiln_status bandwidth(kiln_op_trials *t, int64_t bytes, double *gbs,
                             const char **name, kiln_err *err) {
    int level = kiln_level_of(t->profile, t->threads, bytes);
    kiln_meter_level made;
    if (kiln_level_is_crowded(t->profile, t->threads, level, bytes)) {
        KILN_TRY(kiln_meter_bytes_make(t->arena, t->profile, bytes / t->threads, &made,
                                       err));
        *name = kiln_level_name(level);
        return ask_level(t, &made, gbs, err);
    }
    for (; t->level_gbs[level] == 0; level++) {
        KILN_TRY(kiln_meter_level_make(t->arena, t->profile, level, &made, err));
        if (level < KILN_N_LEVELS - 1 && (made.copy_bytes == 0 || made.read_bytes == 0))
            continue;
        KILN_TRY(ask_level(t, &made, &t->level_gbs[level], err));
        break;
    }
    *gbs = t->level_gbs[level];
    *name = kiln_level_name(level);
    return KILN_OK;
}

/* ---- rounds ---------------------------------------------------------------------- */

typedef struct slice {
    double ms, share, measured, clock, gflops;
    bool disturbed;
} slice;

typedef struct trial {
    kiln_arena *arena; /* of the row */
    kiln_op_trials *of;
    const kiln_op_work *work;
    kiln_bench_row *row;
    uint64_t id;
    kiln_rivals *rivals; /* NULL: there are none */
    slice *slice;
    size_t n;
    int64_t n_runs;
} trial;

static bool take(trial *x, const kiln_turn_order *o, kiln_turn *out) {
    return kiln_measure_take_turn(x->of->pool, x->id, o, out);
}

/* One round: the peak, the kernel, and rivals before it or behind in turns, as whoever
 * comes first is treated alike. Beside rivals each begins its turn after a rest, with a
 * run that is not timed: who ran before left its own data in the caches, and threads
 * sleep. */
static bool one_round(trial *x) {
    const bool alone = x->rivals == NULL, is_first = x->n % 2 == 0;
    const kiln_turn_order first = {.has_peak = true, .has_slice = alone},
                          second = {.n_ahead = 1, .has_slice = true};
    kiln_turn turn;
    if (!take(x, &first, &turn))
        return false;
    const kiln_peak peak = peak_of(x->of, &turn.peak);
    if (!alone && !is_first)
        kiln_rivals_round(x->rivals);
    if (!alone) {
        kiln_rest();
        if (!take(x, &second, &turn))
            return false;
    }
    if (!alone && is_first)
        kiln_rivals_round(x->rivals);
    const double flops = (double)x->work->cost.flops;
    x->slice[x->n++] = (slice){.ms = turn.ns * 1e-6,
                               .share = flops / turn.ns / peak.gflops,
                               .measured = peak.measured_gflops,
                               .clock = peak.clock_ghz,
                               .gflops = peak.gflops,
                               .disturbed = turn.is_disturbed};
    x->n_runs += (int64_t)turn.runs;
    const kiln_sample sample = {turn.ns * 1e-6, turn.is_disturbed};
    if (!alone)
        kiln_vec_push(x->arena, &x->row->sample, sample);
    return true;
}

static void all_rounds(trial *x, double seconds) {
    const int64_t end = kiln_now_ns() + (int64_t)(seconds * 1e9);
    while (x->n < MAX_SLICES &&
           (x->n < MIN_SLICES || (kiln_now_ns() < end && !kiln_interrupted())))
        if (!one_round(x))
            return;
    kiln_measure_end_turns(x->of->pool, x->id);
}

/* ---- what slices say ------------------------------------------------------------- */

static double middle(kiln_arena *a, const slice *s, size_t n, size_t offset) {
    double *v = kiln_array(a, double, n);
    for (size_t i = 0; i < n; i++)
        memcpy(&v[i], (const char *)&s[i] + offset, sizeof *v);
    return kiln_median(v, n);
}

/* Undisturbed ones come first; the number to count: those, or all where they are few.
 */
static size_t sort_out(slice *s, size_t n, size_t *n_disturbed) {
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++)
        if (!s[i].disturbed) {
            const slice good = s[i];
            s[i] = s[n_good];
            s[n_good++] = good;
        }
    *n_disturbed = n - n_good;
    return n_good >= MIN_SLICES ? n_good : n;
}

static void add_up(kiln_arena *scratch, trial *x) {
    kiln_timing *t = &x->row->timing;
    slice *s = x->slice;
    t->n_slices = x->n;
    t->n_runs = x->n_runs;
    const size_t n = sort_out(s, x->n, &t->n_disturbed);
    double *ms = kiln_array(scratch, double, n);
    for (size_t i = 0; i < n; i++)
        ms[i] = s[i].ms;
    kiln_sort_f64(ms, n);
    t->min_ms = ms[0];
    t->q1_ms = kiln_quantile(ms, n, 0.25);
    t->median_ms = kiln_quantile(ms, n, 0.5);
    t->q3_ms = kiln_quantile(ms, n, 0.75);
    t->peak_share = middle(scratch, s, n, offsetof(slice, share));
    t->peak =
        (kiln_peak){.measured_gflops = middle(scratch, s, n, offsetof(slice, measured)),
                    .clock_ghz = middle(scratch, s, n, offsetof(slice, clock)),
                    .fma_per_cycle = x->of->peak.fma_per_cycle,
                    .gflops = middle(scratch, s, n, offsetof(slice, gflops))};
    t->gflops = (double)x->work->cost.flops / t->median_ms * 1e-6;
    t->gbs = (double)x->work->cost.bytes / t->median_ms * 1e-6;
}

/* Bytes that a call touches: arguments as stored, but of a table that a few rows are
 * read of no more than these, and the workspace. */
static int64_t footprint(const trial *x, const kiln_measured *m) {
    const uint64_t stored = m->facts.operand_bytes;
    const kiln_cost *cost = &x->work->cost;
    const uint64_t moved = cost->flops == 0 ? (uint64_t)cost->bytes : stored;
    return (int64_t)((moved < stored ? moved : stored) + m->workspace_bytes +
                     (uint64_t)x->of->threads * m->scratch_bytes);
}

/* What the instructions of the kernel's own loop program take, each thread with an
 * equal share: the slowest of the core's ports. A GPU's are not told. */
static kiln_status issue_ms(kiln_arena *scratch, const trial *x, double *out,
                            kiln_err *err) {
    const kiln_profile *p = x->of->profile;
    const kiln_core *c = &p->core;
    const kiln_choice *choice = &x->row->choice;
    const kiln_issue_machine machine = {
        p->vector_bytes, p->has_fma, kiln_arch_of(p->arch)->intrinsics.has_nan_min_max};
    kiln_scheduled scheduled;
    kiln_program *program;
    if (kiln_profile_is_gpu(p))
        return KILN_OK;
    KILN_TRY(kiln_template_apply(scratch, choice->tmpl, &x->work->workload, p,
                                 &choice->space, &choice->config, &scheduled, err));
    KILN_TRY(kiln_scheduled_program(scratch, &scheduled, "issue", &program, err));
    const kiln_issue n = kiln_program_issue(scratch, program, &machine);
    const double cycles =
        fmax(n.arithmetic / c->fma_ports,
             fmax(n.loads / c->load_ports, n.stores / c->store_ports));
    *out = cycles / x->row->timing.peak.clock_ghz * 1e-6 / x->of->threads;
    return KILN_OK;
}

static kiln_status add_roofline(kiln_arena *scratch, trial *x, int64_t bytes,
                                kiln_err *err) {
    const kiln_cost *cost = &x->work->cost;
    kiln_timing *t = &x->row->timing;
    double gbs = 0;
    KILN_TRY(bandwidth(x->of, bytes, &gbs, &t->bound, err));
    KILN_TRY(issue_ms(scratch, x, &t->instructions_ms, err));
    t->memory_ms = (double)cost->bytes / gbs * 1e-6;
    const double compute_ms = (double)cost->flops / t->peak.gflops * 1e-6;
    t->roofline_ms = fmax(t->memory_ms, fmax(compute_ms, t->instructions_ms));
    if (t->roofline_ms > t->memory_ms)
        t->bound = compute_ms < t->instructions_ms ? "instr" : "compute";
    return KILN_OK;
}

/* ---- one operator ---------------------------------------------------------------- */

static kiln_status interrupted(kiln_err *err) {
    return kiln_fail(err, KILN_ERR_INTERRUPTED, "interrupted");
}

static void keep_code(kiln_bench_row *row, const kiln_measured *m) {
    const kiln_code_facts *f = &m->facts;
    row->lower_ms = f->lower_ms;
    row->codegen_ms = f->codegen_ms;
    row->code_bytes = m->code_bytes;
    row->workspace_bytes = m->workspace_bytes;
    row->scratch_bytes = m->scratch_bytes;
    row->spread = (kiln_spread){.threads = 2,
                                .forks = f->forks,
                                .iterations = f->iterations,
                                .work = f->work,
                                .serial = f->serial,
                                .longest = f->longest};
    row->n_loops = (int)f->n_loops;
    row->spills = m->spills;
    row->vector_registers = m->vector_registers;
    row->hot_instructions = m->hot_instructions;
    row->hot_fma = m->hot_fma;
}

/* Neither times nor samples of what cannot be believed. */
static void keep_failure(trial *x, const kiln_measured *m) {
    kiln_bench_row *row = x->row;
    const char *name = kiln_trial_error_name(m->error);
    const char *text = kiln_str_dup(x->arena, m->text);
    row->sample.n = row->rival.n = 0;
    if (m->error == KILN_TRIAL_REFUSED) {
        row->refusal = text;
        return;
    }
    row->failure = name;
    if (m->error == KILN_TRIAL_WRONG)
        row->verdict.problem = text;
    else
        row->refusal = kiln_format(x->arena, "%s: %s", name, text);
}

static kiln_status conclude(kiln_arena *scratch, trial *x, const kiln_measured *m,
                            kiln_err *err) {
    const bool is_good = m->error == KILN_TRIAL_GOOD;
    const int64_t bytes = footprint(x, m); /* m lives until the next question */
    keep_code(x->row, m);
    x->row->verdict = (kiln_verdict){.ok = is_good,
                                     .problem = "",
                                     .worst = m->worst,
                                     .max_abs = m->max_abs,
                                     .n_checked = m->n_compared,
                                     .n_elems = m->n_elems};
    if (!is_good) {
        keep_failure(x, m);
        return KILN_OK;
    }
    if (x->rivals != NULL)
        kiln_rivals_add_up(x->rivals, &x->row->sample);
    add_up(scratch, x);
    return add_roofline(scratch, x, bytes, err);
}

static kiln_status measure(kiln_arena *scratch, trial *x, int work, double seconds,
                           const kiln_op_others *others, kiln_err *err) {
    const kiln_choice *c = &x->row->choice;
    kiln_measure *pool = x->of->pool;
    const kiln_measure_candidate candidate = {
        .work = work,
        .tmpl = c->tmpl,
        .config = kiln_config_index(&c->space, &c->config),
        .never_stops_early = true,
        .takes_turns = true};
    kiln_turns_state state;
    kiln_measured got;
    KILN_TRY(kiln_measure_submit(pool, &candidate, &x->id, err));
    do {
        state = kiln_measure_await_turns(pool, x->id, LOOK_MS);
        if (state != KILN_TURNS_OVER && kiln_interrupted())
            return interrupted(err);
    } while (state == KILN_TURNS_NOT_YET);
    if (state == KILN_TURNS_READY && others != NULL)
        x->rivals = others->open(others->user);
    if (state == KILN_TURNS_READY)
        all_rounds(x, seconds);
    for (int looks = 0; !kiln_measure_poll(pool, LOOK_MS, &got);) {
        looks += kiln_interrupted();
        if (looks > LOOKS)
            return interrupted(err);
    }
    return conclude(scratch, x, &got, err);
}

kiln_status kiln_op_trial(kiln_arena *a, kiln_op_trials *t, const kiln_op_work *w,
                          double seconds, const kiln_op_others *others,
                          kiln_bench_row *row, kiln_err *err) {
    KILN_ASSERT(row->choice.tmpl != NULL, "no template is chosen for '%s'", w->name);
    kiln_arena scratch = {0};
    trial x = {.arena = a, .of = t, .work = w, .row = row};
    int work = -1;
    x.slice = kiln_array(&scratch, slice, MAX_SLICES);
    kiln_status st = kiln_measure_add_work(t->pool, w->graph, false, &work, err);
    if (st == KILN_OK) {
        st = measure(&scratch, &x, work, seconds, others, err);
        (void)kiln_measure_drop_work(t->pool, work);
    }
    kiln_arena_fini(&scratch);
    return st;
}
