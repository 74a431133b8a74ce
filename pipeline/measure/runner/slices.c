/* How long a kernel takes: slices of it between slices of the machine's peak, so that
 * what disturbs one is seen in the other, until the interval of the median is narrow.
 *
 * Between slices, not inside of them, lie checks. Each slice has inputs of one of two
 * seeds, and writes to up to eight outputs, each in a random stretch of its calls;
 * elements of all of them are spoilt ahead of it and compared behind it (probe.c). So
 * the last call of every stretch is checked, and which that is nobody knows. Where not
 * every call is checked at least MIN_CHECKED are: a kernel that is wrong in one call of
 * seven passes them once in 470 times, (6/7)^40, in one of two once in 10^12; most
 * trials check a hundred calls and more.
 *
 * Times are the candidate's own word. They are held against two clocks that it cannot
 * reach: no slice lasts longer than it took by our wall, and none takes much less of
 * the processor than the system counted for its process. On a busy machine a slice is
 * told by the processor's clock, and a wall clock that was written changes nothing: that
 * it was written shows all the same, by its seal.
 *
 * The interval is that of order statistics (David and Nagaraja, Order Statistics, 3rd
 * ed., 7.1): no assumption about how times are distributed. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

enum { MIN_SLICES = 7, FEW_SLICES = 3, MAX_BUDGETS = 3, MIN_CHECKED = 40 };
/* Other inputs are cold: they come with a call that is not timed, once in so many that
 * are. And fewer calls than a slice has room for, so that what happens in every n-th
 * call is not always between the checked ones. */
enum { RUNS_OF_INPUTS = 16, FEWER_RUNS = 7 };
static const double slice_ns = 5e5, warm_ns = 3e6; /* of a call of more, one will do */
/* On a device outputs are spoilt and copied around each round: few rounds must do. */
enum { DEVICE_ROUNDS = 4 };
/* Of a turn: others take theirs between, and few are as short. */
static const double turn_ns = 1e6;
/* Ahead of every second slice lies one of the peak: ahead of each they take a third of
 * all timing. A peak that is low marks both slices beside it, and the one behind. */
enum { SLICES_OF_PEAK = 2 };
/* A peak this far below its best: the processor was not ours, or slower. */
static const double calm_peak = 0.93;
static const int64_t longest_cooling_ns = 2000000000; /* of a trial */

void kiln_median_interval(double *v, size_t n, double *median, double *low,
                          double *high) {
    KILN_ASSERT(n > 0, "the median of nothing");
    static const double z = 1.96; /* of the normal distribution, 95% */
    *median = kiln_median(v, n);
    const double half = z * sqrt((double)n) / 2, middle = (double)n / 2;
    const double first = floor(middle - half), last = ceil(middle + half);
    *low = v[first > 1 ? (size_t)first - 1 : 0];
    *high = v[last < (double)n - 1 ? (size_t)last : n - 1];
}

static uint64_t seal_of(const kiln_slice_clocks *c) {
    return kiln_hash64(c, offsetof(kiln_slice_clocks, seal), 0);
}

kiln_slice_clocks kiln_slice_now(void) {
    struct timespec t = {0};
    struct rusage u = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    (void)getrusage(RUSAGE_SELF, &u);
    kiln_slice_clocks now = {.wall_ns = kiln_now_ns(),
                             .cpu_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                             .preempted = (int64_t)u.ru_nivcsw};
    now.seal = seal_of(&now);
    return now;
}

bool kiln_slice_is_sealed(const kiln_slice_clocks *c) { return c->seal == seal_of(c); }

double kiln_slice_elapsed_ns(const kiln_slice_clocks *begin,
                             const kiln_slice_clocks *end, int threads,
                             bool *disturbed) {
    KILN_ASSERT(threads > 0, "a slice of %d threads", threads);
    const double wall = (double)(end->wall_ns - begin->wall_ns);
    const double cpu = (double)(end->cpu_ns - begin->cpu_ns);
    if (threads > 1) {
        *disturbed = end->preempted > begin->preempted;
        return fmax(1, wall);
    }
    *disturbed = cpu > 0 && wall - cpu > wall / 50;
    return fmax(1, *disturbed ? cpu : wall);
}

static const char in_a_slice[] = " (in a slice)";

typedef struct timing {
    kiln_trial_run *t;
    kiln_trial_process process;
    kiln_rng rng;
    kiln_probe_window *window; /* by output */
    kiln_heat heat;
    int64_t cooled_ns; /* that it waited for the machine to cool down */
    double slice_ns;
    uint64_t runs;          /* of a slice */
    uint64_t turn;          /* calls so far, */
    uint64_t n_checked;     /* of which so many were checked */
    uint32_t set, n_of_set; /* inputs, and the timed calls that they had in a row */
    int set_of[KILN_MAX_BUFFERS]; /* whose outputs it holds; -1: no call's yet */
    size_t n_turns;
    double peak_gflops; /* of the last turn that had a slice of it */
    size_t n_calm;
    double calm[KILN_WIRE_MAX_SLICES], best_peak;
    double told_ns[KILN_WIRE_MAX_SLICES];   /* all of a slice's calls */
    double hidden_ns[KILN_WIRE_MAX_SLICES]; /* processor's time beyond that */
} timing;

/* ---- rounds ---------------------------------------------------------------------- */

static uint32_t below(timing *m, uint64_t n) {
    return (uint32_t)kiln_rng_range(&m->rng, 0, (int64_t)n - 1);
}

/* Buffers in random order, and random calls that end their stretches: one in each of as
 * many equal parts of the round, the last call of all among them. */
static void draw_segments(timing *m, kiln_round *r) {
    const uint32_t all = m->t->n_buffers;
    uint32_t order[KILN_MAX_BUFFERS];
    r->n_segments = r->runs < all ? (uint32_t)r->runs : all;
    for (uint32_t b = 0; b < all; b++)
        order[b] = b;
    for (uint32_t b = all - 1; b > 0; b--) { /* Fisher and Yates */
        const uint32_t other = below(m, b + 1), held = order[b];
        order[b] = order[other];
        order[other] = held;
    }
    for (uint32_t s = 0; s < r->n_segments; s++) {
        const uint64_t begin = r->runs * s / r->n_segments,
                       end = r->runs * (s + 1) / r->n_segments;
        r->segment[s].buffer = order[s];
        r->segment[s].end =
            s + 1 < r->n_segments ? begin + 1 + below(m, end - begin) : r->runs;
    }
    /* One that the round does not look at, if there is one. */
    r->warm_buffer = order[all - 1];
}

/* A slice may not last longer than the round did. */
static bool check_wall(timing *m, const kiln_round *r, const kiln_slice *s,
                       int64_t wall_ns) {
    const double slack_ns = 1000;
    const double all = s->ns * (double)r->runs;
    if (s->ns > 0 && isfinite(s->ns) && isfinite(s->peak_gflops) &&
        all <= (double)wall_ns + slack_ns)
        return true;
    return kiln_trial_fault(m->t, KILN_TRIAL_OUT_OF_BOUNDS,
                            "the record of its times was written: %.4g ns of a slice "
                            "that took %" PRId64 " ns by the wall",
                            all, wall_ns);
}

/* The peak, and calls that are not timed, ahead of a round. A round of its own: then
 * the processor's time between two looks at its clock is that of the timed calls. */
static bool run_ahead(timing *m, const kiln_round *r, kiln_slice *out) {
    const kiln_round ahead = {.turn = r->turn,
                              .n_warm = r->n_warm,
                              .warm_buffer = r->warm_buffer,
                              .set = r->set,
                              .has_peak = r->has_peak};
    if (!kiln_trial_do_round(m->t, &m->process, &ahead, out))
        return false;
    if (r->n_warm > 0)
        m->set_of[r->warm_buffer] = (int)r->set;
    m->turn += r->n_warm;
    return true;
}

static bool run_round(timing *m, kiln_round *r, kiln_slice *out, double *hidden_ns) {
    kiln_trial_run *t = m->t;
    kiln_slice peak = {.peak_gflops = 0};
    draw_segments(m, r);
    r->set = m->set;
    r->turn = t->r->turn + m->turn;
    kiln_probes_spoil(t, &m->rng, r, m->window);
    if ((r->n_warm > 0 || r->has_peak) && !run_ahead(m, r, &peak))
        return false;
    r->turn += r->n_warm;
    r->n_warm = r->has_peak = 0;
    const int64_t begin = kiln_now_ns(), cpu = kiln_trial_cpu_ns(&m->process);
    if (!kiln_trial_do_round(t, &m->process, r, out))
        return false;
    const int64_t used = kiln_trial_cpu_ns(&m->process) - cpu;
    out->peak_gflops = peak.peak_gflops;
    if (!check_wall(m, r, out, kiln_now_ns() - begin) ||
        !kiln_probes_check(t, r, m->window))
        return false;
    for (uint32_t s = 0; s < r->n_segments; s++)
        m->set_of[r->segment[s].buffer] = (int)r->set;
    m->turn += r->runs;
    m->n_checked += r->n_segments;
    *hidden_ns = (double)used / t->threads - out->ns * (double)r->runs;
    return true;
}

/* ---- proofs on a device ---------------------------------------------------------- */

static void stop_hopeless(timing *m, double ns) {
    m->t->timed = (kiln_timed){
        .slice[0] = {.ns = ns, .peak_gflops = m->peak_gflops, .disturbed = true},
        .n_slices = 1,
        .is_slow = true,
        .is_noisy = true};
}

/* One call on each seed; where there is no process for each. */
static bool prove_here(timing *m) {
    kiln_trial_run *t = m->t;
    kiln_wire_ran *o = t->out;
    if (t->r->device == NULL)
        return true;
    o->n_seeds = 0;
    o->n_compared = o->n_elems = 0;
    t->when = "";
    for (uint32_t seed = 0; seed < t->n_given && !t->timed.is_slow; seed++) {
        const kiln_round r = {
            .runs = 1, .set = seed, .n_segments = 1, .segment[0] = {0, 1}};
        kiln_slice s = {.ns = 0};
        kiln_trial_poison(t);
        const int64_t begin = kiln_now_ns();
        if (!kiln_trial_do_round(t, &m->process, &r, &s) ||
            !check_wall(m, &r, &s, kiln_now_ns() - begin) ||
            !kiln_trial_check(t, seed, 0))
            return false;
        o->n_seeds++;
        m->turn++;
        m->set_of[0] = (int)seed;
        if (seed == 0 && kiln_trial_is_hopeless(t, s.ns))
            stop_hopeless(m, s.ns);
    }
    t->when = in_a_slice;
    return true;
}

/* ---- timing ---------------------------------------------------------------------- */

/* On a device each call of a round has outputs of its own, all of which are spoilt, and
 * looked at: so calls may follow one another without a look between. */
static uint64_t runs_at_most(const timing *m, uint64_t runs) {
    const uint64_t most = m->t->n_buffers;
    return m->t->r->device != NULL && runs > most ? most : runs;
}

/* Until caches and predictors are warm; then how many runs make a slice. */
static bool warm_up(timing *m) {
    const bool is_host = m->t->r->device == NULL;
    kiln_slice s;
    double all = 0, hidden_ns;
    m->runs = 1;
    for (int i = 0; all < warm_ns && (is_host || i < DEVICE_ROUNDS); i++) {
        kiln_round r = {.runs = m->runs};
        if (!run_round(m, &r, &s, &hidden_ns))
            return false;
        all += s.ns * (double)r.runs;
        m->runs = (uint64_t)fmax(1, fmin(2 * (double)m->runs, m->slice_ns / s.ns));
        m->runs = runs_at_most(m, m->runs);
    }
    m->runs = (uint64_t)fmax(1, m->slice_ns / s.ns);
    m->runs = runs_at_most(m, m->runs);
    return true;
}

static kiln_round next_slice(timing *m) {
    const uint32_t all = m->t->n_buffers;
    const bool is_host = m->t->r->device == NULL;
    kiln_round r = {.runs = m->runs,
                    .has_peak = !is_host || m->t->timed.n_slices % SLICES_OF_PEAK == 0};
    if (r.runs > all) {
        const uint64_t room = r.runs - all < r.runs / 4 ? r.runs - all : r.runs / 4;
        r.runs -= below(m, (room < FEWER_RUNS ? room : FEWER_RUNS) + 1);
    }
    if (m->t->n_sets > 1 && m->n_of_set >= RUNS_OF_INPUTS) {
        m->set = (m->set + 1) % m->t->n_sets;
        m->n_of_set = 0;
        r.n_warm = 1;
    }
    m->n_of_set += r.runs < RUNS_OF_INPUTS ? (uint32_t)r.runs : RUNS_OF_INPUTS;
    return r;
}

/* What the machine says of itself behind a slice. */
static void look_at_heat(timing *m, kiln_slice *s) {
    const kiln_heat_reading now = kiln_heat_read(&m->heat);
    s->clock_mhz = now.clock_mhz;
    s->degrees = now.degrees;
    s->is_throttled = now.is_throttled;
    s->disturbed = s->disturbed || now.is_throttled;
}

/* Before the next slice, as long as the clock is held back, for a while: a board that
 * stays too warm is measured as it is, and every slice says so. */
static void cool_down(timing *m, const kiln_slice *last) {
    const struct timespec rest = {.tv_nsec = 20000000};
    const int64_t begin = kiln_now_ns();
    bool is_throttled = last->is_throttled;
    while (is_throttled && m->cooled_ns + kiln_now_ns() - begin < longest_cooling_ns) {
        (void)nanosleep(&rest, NULL);
        is_throttled = kiln_heat_read(&m->heat).is_throttled;
    }
    m->cooled_ns += kiln_now_ns() - begin;
    m->t->deadline_ns += kiln_now_ns() - begin;
}

static bool is_calm(const timing *m) {
    return m->peak_gflops >= calm_peak * m->best_peak;
}

/* The last slice had no peak behind it until now, and that is low. */
static void doubt_last(timing *m) {
    kiln_timed *timed = &m->t->timed;
    if (timed->n_slices == 0 || timed->slice[timed->n_slices - 1].disturbed)
        return;
    timed->slice[timed->n_slices - 1].disturbed = true;
    m->n_calm--;
}

static bool add_slice(timing *m) {
    kiln_timed *timed = &m->t->timed;
    kiln_round r = next_slice(m);
    const bool has_peak = r.has_peak;
    kiln_slice *s = &timed->slice[timed->n_slices];
    if (!run_round(m, &r, s, &m->hidden_ns[timed->n_slices]))
        return false;
    look_at_heat(m, s);
    m->told_ns[timed->n_slices] = s->ns * (double)r.runs;
    if (has_peak) {
        m->peak_gflops = s->peak_gflops;
        m->best_peak = fmax(m->best_peak, m->peak_gflops);
        if (!is_calm(m))
            doubt_last(m);
    }
    s->peak_gflops = m->peak_gflops;
    s->disturbed = s->disturbed || !is_calm(m);
    if (!s->disturbed)
        m->calm[m->n_calm++] = s->ns;
    timed->n_slices++;
    return true;
}

static bool is_slow(const timing *m) {
    const double loser = m->t->r->options.loser, best = m->t->q->best_ns;
    const kiln_timed *timed = &m->t->timed;
    if (loser <= 0 || best <= 0 || timed->n_slices < FEW_SLICES)
        return false;
    for (uint32_t i = 0; i < timed->n_slices; i++)
        if (timed->slice[i].ns <= best * loser)
            return false;
    return true;
}

/* By how much it is surely slower than the best, as a part of that. */
static double gap_of(const timing *m, double low) {
    const double best = m->t->r->options.loser > 0 ? m->t->q->best_ns : 0;
    return best > 0 ? low / best - 1 : 0;
}

/* What is surely behind needs no more than a model needs to learn from it: half of what
 * lies between it and the best. */
static bool is_narrow(timing *m, bool *behind) {
    static const double rough = 0.05, behind_by = 0.02;
    double median, low, high, width = m->t->r->options.precision;
    *behind = false;
    if (m->n_calm < MIN_SLICES)
        return false;
    kiln_median_interval(m->calm, m->n_calm, &median, &low, &high);
    const double gap = gap_of(m, low);
    *behind = gap > behind_by;
    if (*behind)
        width = fmax(width, fmin(rough, gap / 2));
    return high - low <= width * median;
}

/* A look is over with the first slice that is not slow. */
static bool has_looked(const timing *m) {
    const kiln_timed *timed = &m->t->timed;
    const double least = m->t->q->best_ns * m->t->r->options.loser;
    for (uint32_t i = 0; i < timed->n_slices && m->t->is_look; i++)
        if (timed->slice[i].ns <= least)
            return true;
    return false;
}

static bool add_slices(timing *m) {
    enum { PART = 3 }; /* of the budget, for what is behind */
    kiln_timed *timed = &m->t->timed;
    const int64_t begin = kiln_now_ns();
    const double budget_ns = m->t->q->budget_ms * 1e6;
    bool behind = false;
    while (timed->n_slices < KILN_WIRE_MAX_SLICES && !is_narrow(m, &behind)) {
        const double spent =
            (double)(kiln_now_ns() - begin - m->cooled_ns) * (behind ? PART : 1);
        const bool is_enough = timed->n_slices >= MIN_SLICES && spent >= budget_ns;
        /* Foreign load: measured again and again, but not for ever. */
        if (is_enough && (m->n_calm >= MIN_SLICES || spent >= MAX_BUDGETS * budget_ns))
            break;
        timed->is_slow = is_slow(m);
        if (timed->is_slow || has_looked(m))
            return true;
        if (timed->n_slices > 0)
            cool_down(m, &timed->slice[timed->n_slices - 1]);
        if (!add_slice(m))
            return false;
    }
    timed->is_noisy = !is_narrow(m, &behind);
    return true;
}

/* ---- turns ----------------------------------------------------------------------- */

static bool take_peak(timing *m, kiln_turn *out) {
    const kiln_round r = {.set = m->set, .has_peak = true};
    const kiln_peak_slice *peak = &m->t->r->page->peak;
    kiln_slice s = {.ns = 0};
    if (!run_ahead(m, &r, &s))
        return false;
    out->peak = (kiln_peak_slice){peak->gflops, peak->clock_ghz};
    m->peak_gflops = s.peak_gflops;
    if (isfinite(out->peak.gflops) && out->peak.gflops > 0 &&
        isfinite(out->peak.clock_ghz) && out->peak.clock_ghz > 0)
        return true;
    return kiln_trial_fault(m->t, KILN_TRIAL_OUT_OF_BOUNDS,
                            "the record of the machine's peak was written");
}

/* The last KILN_WIRE_MAX_SLICES are kept. */
static bool take_turn(timing *m, const kiln_wire_turn *o, kiln_turn *out) {
    kiln_timed *timed = &m->t->timed;
    *out = (kiln_turn){.ns = 0};
    const kiln_wire_runner *limits = &m->t->r->options;
    m->t->deadline_ns =
        kiln_now_ns() + (m->t->r->device != NULL
                             ? kiln_device_limit_ns(limits)
                             : limits->time_limit_ms * 1000000 * KILN_WIRE_WALL_LIMITS);
    if (o->has_peak != 0 && !take_peak(m, out))
        return false;
    if (o->has_slice == 0)
        return true;
    if (m->n_turns > 0)
        cool_down(m, &timed->slice[(m->n_turns - 1) % KILN_WIRE_MAX_SLICES]);
    const size_t at = m->n_turns++ % KILN_WIRE_MAX_SLICES;
    kiln_slice *s = &timed->slice[at];
    kiln_round r = next_slice(m);
    r.has_peak = false;
    r.n_warm = r.n_warm > o->n_ahead ? r.n_warm : o->n_ahead;
    if (!run_round(m, &r, s, &m->hidden_ns[at]))
        return false;
    look_at_heat(m, s);
    s->peak_gflops = m->peak_gflops;
    m->told_ns[at] = s->ns * (double)r.runs;
    timed->n_slices += timed->n_slices < KILN_WIRE_MAX_SLICES;
    out->ns = s->ns;
    out->runs = r.runs;
    out->is_disturbed = s->disturbed;
    return true;
}

static bool take_turns(timing *m) {
    kiln_wire_turn next;
    kiln_turn done = {.ns = 0};
    while (kiln_runner_next_turn(m->t->r, m->t->q->id, &done, &next))
        if (!take_turn(m, &next, &done))
            return false;
    for (uint32_t i = 0; i < m->t->timed.n_slices; i++)
        m->n_calm += !m->t->timed.slice[i].disturbed;
    return true;
}

/* ---- may it be believed? --------------------------------------------------------- */

/* Short rounds, until enough calls were checked; none where all of them were. */
static bool check_more(timing *m) {
    const bool is_host = m->t->r->device == NULL; /* else all were */
    while (is_host && m->n_checked < MIN_CHECKED && m->n_checked < m->turn) {
        kiln_slice s;
        double hidden_ns;
        kiln_round r = {.runs = 1 + below(m, 2 * (uint64_t)m->t->n_buffers)};
        if (!run_round(m, &r, &s, &hidden_ns))
            return false;
    }
    return true;
}

/* Of the slices that count half at least must account for what their process took: the
 * kernel's calls, and some for the way to and from here, on which threads that wait
 * spin for a while: longer where there are others to wait for. Those that tell the half
 * of their time, or less, do not. */
static bool check_processor(timing *m) {
    static const double share = 0.25;
    const kiln_timed *timed = &m->t->timed;
    const bool takes_all = m->n_calm < KILN_WIRE_FEW_SLICES; /* as sum_up does */
    const double way_ns = m->t->threads > 1 ? 3e5 : 1.5e5;
    double hidden_ns[KILN_WIRE_MAX_SLICES];
    size_t n = 0;
    for (uint32_t i = 0; i < timed->n_slices; i++)
        if (takes_all || !timed->slice[i].disturbed)
            hidden_ns[n++] = m->hidden_ns[i] - share * m->told_ns[i];
    if (n < FEW_SLICES || m->t->r->device != NULL) /* the driver's threads work too */
        return true;
    const double median_ns = kiln_median(hidden_ns, n);
    if (median_ns <= way_ns)
        return true;
    return kiln_trial_fault(m->t, KILN_TRIAL_OUT_OF_BOUNDS,
                            "the record of its times was written: slices took %.4g ns "
                            "of the processor beyond %g times what they tell",
                            median_ns, 1 + share);
}

/* The whole of one buffer too; no tail lane, and no canary, has been looked at yet. */
static bool check_all(timing *m) {
    uint32_t buffer = below(m, m->t->n_buffers);
    while (m->set_of[buffer] < 0) /* one was written: there was a round */
        buffer = (buffer + 1) % m->t->n_buffers;
    return kiln_trial_check(m->t, (uint32_t)m->set_of[buffer], buffer);
}

static bool begin(timing *m, kiln_trial_run *t, double ns) {
    *m = (timing){.t = t, .slice_ns = ns, .best_peak = t->r->meter.best_gflops};
    m->peak_gflops = m->best_peak;
    kiln_heat_begin(&m->heat, (int)t->r->options.cpu);
    t->timed = (kiln_timed){.n_slices = 0};
    for (uint32_t b = 0; b < t->n_buffers; b++)
        m->set_of[b] = -1;
    t->is_timed = true;
    t->when = in_a_slice;
    kiln_rng_init(&m->rng, (uint64_t)kiln_now_ns() ^ t->q->id << 48);
    m->window = kiln_array(t->arena, kiln_probe_window,
                           t->q->code.n_operands - t->q->code.n_inputs);
    if (t->probe == NULL)
        kiln_probes_make(t, &m->rng);
    return kiln_trial_start(t, &m->process);
}

static bool finish(timing *m, bool is_timed) {
    m->t->timed.n_runs = m->turn;
    if (!kiln_trial_finish(m->t, &m->process))
        return false;
    if (!is_timed)
        return kiln_trial_fault(m->t, KILN_TRIAL_EXIT, "it ended before it was timed");
    return check_all(m);
}

bool kiln_trial_time(kiln_trial_run *t) {
    timing m;
    if (!begin(&m, t, slice_ns))
        return false;
    const bool is_timed =
        prove_here(&m) &&
        (t->timed.is_slow ||
         (warm_up(&m) && add_slices(&m) &&
          (t->timed.is_slow || t->is_look || check_more(&m)) && check_processor(&m)));
    return finish(&m, is_timed);
}

bool kiln_trial_take_turns(kiln_trial_run *t) {
    timing m;
    if (!begin(&m, t, turn_ns))
        return false;
    const bool is_timed = prove_here(&m) && warm_up(&m) && take_turns(&m) &&
                          check_more(&m) && check_processor(&m);
    return finish(&m, is_timed);
}
