/* How long a kernel takes: short slices of it, between slices of the peak kernel, so
 * that what disturbs one disturbs the other. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MIN_SLICES = 7, MAX_SLICES = 4096 };
static const double slice_ns = 1e6; /* long against the clock's steps, short against
                                       what else a machine does */

kiln_watch kiln_watch_now(void) {
    struct timespec t = {0};
    struct rusage u = {.ru_nivcsw = 0};
    (void)getrusage(RUSAGE_SELF, &u);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (kiln_watch){.wall_ns = kiln_now_ns(),
                        .cpu_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                        .preempted = (int64_t)u.ru_nivcsw};
}

double kiln_watch_ns(const kiln_watch *begin, int threads, bool *disturbed) {
    KILN_ASSERT(threads > 0, "a watch of %d threads", threads);
    const kiln_watch end = kiln_watch_now();
    const kiln_baseline_sample s = {.wall_ns = end.wall_ns - begin->wall_ns,
                                    .cpu_ns = end.cpu_ns - begin->cpu_ns,
                                    .preempted = end.preempted - begin->preempted};
    bool is_disturbed;
    const double ms = kiln_baseline_ms(&s, 1, threads, &is_disturbed);
    if (disturbed != NULL)
        *disturbed = is_disturbed;
    return fmax(1, ms * 1e6);
}

static kiln_status run_slice(kiln_call *c, int64_t runs, double *ns_each,
                             bool *disturbed, kiln_err *err) {
    const kiln_watch begin = kiln_watch_now();
    for (int64_t i = 0; i < runs; i++) {
        const int code = kiln_call_run(c);
        if (code != 0)
            return kiln_fail(err, KILN_ERR_LIB, "the kernel of '%s' returned %d",
                             c->kernel->work->name, code);
    }
    *ns_each = kiln_watch_ns(&begin, kiln_team_size(c->team), disturbed) / (double)runs;
    return KILN_OK;
}

/* Runs that fill a slice, found while caches and branch predictors warm up. */
static kiln_status warm_up(kiln_call *c, int64_t *runs, kiln_err *err) {
    double ns = 0;
    bool is_disturbed;
    *runs = 1;
    for (;;) {
        KILN_TRY(run_slice(c, *runs, &ns, &is_disturbed, err));
        if (ns * (double)*runs >= slice_ns / 2)
            break;
        *runs *= 2;
    }
    *runs = (int64_t)fmax(1, slice_ns / ns);
    return run_slice(c, *runs, &ns, &is_disturbed, err);
}

/* Bytes that a call touches: arguments as stored, and the workspace. */
static int64_t footprint(const kiln_call *c) {
    const kiln_te_graph *te = &c->kernel->scheduled.te;
    int64_t bytes = (int64_t)c->workspace.bytes;
    for (int i = 0; i < kiln_team_size(c->team); i++)
        bytes += (int64_t)c->scratch[i].bytes;
    for (size_t i = 0; i < te->n_args; i++)
        bytes += (int64_t)c->arg[i].bytes;
    return bytes;
}

static void add_roofline(kiln_call *c, kiln_meter *m, kiln_timing *t) {
    const kiln_cost *cost = &c->kernel->work->cost;
    const double gbs = kiln_meter_bandwidth(m, footprint(c), &t->bound);
    const double memory_ms = (double)cost->bytes / gbs * 1e-6;
    const double compute_ms = (double)cost->flops / t->peak.gflops * 1e-6;
    t->roofline_ms = fmax(memory_ms, compute_ms);
    if (compute_ms >= memory_ms)
        t->bound = "compute";
}

typedef struct slice {
    double ms, share, measured, clock, gflops;
    bool disturbed;
} slice;

static double *column(kiln_arena *a, const slice *s, size_t n, size_t offset) {
    double *v = kiln_array(a, double, n);
    for (size_t i = 0; i < n; i++)
        memcpy(&v[i], (const char *)&s[i] + offset, sizeof *v);
    return v;
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

/* One round: the peak, the kernel, and rivals before it or behind in turns, as whoever
 * comes first is treated alike. Beside rivals each begins its turn after a rest, with a
 * run that is not timed: who ran before left its own data in the caches, and threads
 * sleep. */
static kiln_status one_round(kiln_call *c, kiln_meter *m, int64_t runs, size_t round,
                             kiln_rivals *rivals, slice *out, kiln_err *err) {
    double ns;
    const kiln_peak peak = kiln_meter_slice(m);
    if (rivals != NULL && round % 2 == 1)
        kiln_rivals_round(rivals);
    if (rivals != NULL) {
        kiln_rest();
        KILN_TRY(run_slice(c, 1, &ns, &out->disturbed, err));
    }
    KILN_TRY(run_slice(c, runs, &ns, &out->disturbed, err));
    out->ms = ns * 1e-6;
    out->share = (double)c->kernel->work->cost.flops / ns / peak.gflops;
    out->measured = peak.measured_gflops;
    out->clock = peak.clock_ghz;
    out->gflops = peak.gflops;
    if (rivals != NULL && round % 2 == 0)
        kiln_rivals_round(rivals);
    return KILN_OK;
}

kiln_status kiln_call_time_beside(kiln_arena *a, kiln_call *c, kiln_meter *m,
                                  double seconds, kiln_rivals *rivals,
                                  kiln_sample_list *own, kiln_timing *out,
                                  kiln_err *err) {
    const double flops = (double)c->kernel->work->cost.flops;
    slice *s = kiln_array(a, slice, MAX_SLICES);
    int64_t runs = 0;
    size_t n = 0, n_disturbed = 0;
    KILN_TRY(warm_up(c, &runs, err));
    const int64_t end = kiln_now_ns() + (int64_t)(seconds * 1e9);
    while (n < MAX_SLICES &&
           (n < MIN_SLICES || (kiln_now_ns() < end && !kiln_interrupted()))) {
        KILN_TRY(one_round(c, m, runs, n, rivals, &s[n], err));
        const kiln_sample sample = {.ms = s[n].ms, .is_disturbed = s[n].disturbed};
        if (rivals != NULL)
            kiln_vec_push(a, own, sample);
        n++;
    }
    const size_t counted = sort_out(s, n, &n_disturbed);
    double *ms = column(a, s, counted, offsetof(slice, ms));
    kiln_sort_f64(ms, counted);
    kiln_timing t = {
        .n_slices = n,
        .n_disturbed = n_disturbed,
        .n_runs = (int64_t)n * runs,
        .min_ms = ms[0],
        .q1_ms = kiln_quantile(ms, counted, 0.25),
        .median_ms = kiln_quantile(ms, counted, 0.5),
        .q3_ms = kiln_quantile(ms, counted, 0.75),
        .peak_share =
            kiln_median(column(a, s, counted, offsetof(slice, share)), counted),
    };
    t.peak = (kiln_peak){
        .measured_gflops =
            kiln_median(column(a, s, counted, offsetof(slice, measured)), counted),
        .clock_ghz =
            kiln_median(column(a, s, counted, offsetof(slice, clock)), counted),
        .fma_per_cycle = m->fma_per_cycle,
        .gflops = kiln_median(column(a, s, counted, offsetof(slice, gflops)), counted)};
    t.gflops = flops / t.median_ms * 1e-6;
    t.gbs = (double)c->kernel->work->cost.bytes / t.median_ms * 1e-6;
    add_roofline(c, m, &t);
    *out = t;
    return KILN_OK;
}

kiln_status kiln_call_time(kiln_arena *a, kiln_call *c, kiln_meter *m, double seconds,
                           kiln_timing *out, kiln_err *err) {
    return kiln_call_time_beside(a, c, m, seconds, NULL, NULL, out, err);
}
