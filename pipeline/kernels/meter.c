/* The machine's limits, measured in this process.
 *
 * The peak is the larger of what was measured and multiply-adds per cycle x clock,
 * where the former is the nearest whole number: a slice that was disturbed then still
 * gives the machine's peak. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FIRST_SLICES = 20 };

static kiln_status load_peak(kiln_arena *a, kiln_meter *m, kiln_err *err) {
    kiln_meter_code c;
    KILN_TRY(kiln_meter_code_make(a, m->profile, &c, err));
    m->fma_flops = c.fma_flops;
    m->fma_bytes = c.fma_bytes;
    m->chain_steps = c.chain_steps;
    m->lanes = c.lanes;
    m->fma_unit = c.fma_unit;
    KILN_TRY(kiln_object_load(a, &c.fma, c.fma_name, &m->fma, err));
    return kiln_object_load(a, &c.chain, c.chain_name, &m->chain, err);
}

/* ---- clocks ---------------------------------------------------------------------- */

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

/* ---- running --------------------------------------------------------------------- */

/* One kernel on every thread, each with its own arguments. */
typedef struct spread {
    kiln_kernel_fn *fn;
    void ***tensor; /* by thread */
    int runs;
} spread;

static int run_part(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                    int64_t end, void *scratch) {
    (void)args;
    (void)ctx;
    (void)scratch;
    const spread *s = closure;
    kiln_ctx serial;
    kiln_ctx_init_serial(&serial, NULL);
    for (int64_t thread = begin; thread < end; thread++) {
        const kiln_args own = {s->tensor[thread], NULL};
        for (int i = 0; i < s->runs; i++) {
            const int code = s->fn(&own, &serial);
            KILN_ASSERT(code == 0, "a measuring kernel returned %d", code);
        }
    }
    return 0;
}

/* Each thread does the same work, so the caller's own time is that of its part, even
 * where threads of others (a session's, which still spin) have a processor. */
static double run_ns(kiln_team team, kiln_kernel_fn *fn, void ***tensor, int runs) {
    spread s = {fn, tensor, runs};
    const kiln_watch begin = kiln_watch_now();
    if (team.pool == NULL) {
        (void)run_part(NULL, NULL, &s, 0, 1, NULL);
    } else {
        kiln_ctx *ctx = kiln_pool_ctx(team.pool);
        (void)ctx->parallel_for(ctx, run_part, NULL, &s, kiln_team_size(team));
    }
    return kiln_watch_ns(&begin, 1, NULL);
}

/* Zeros of a page of their own. */
static void *page_of(kiln_arena *a, size_t bytes) {
    static const size_t page = 4096;
    unsigned char *raw = kiln_arena_alloc(a, bytes + 2 * page);
    return raw + (page - (uintptr_t)raw % page) % page;
}

/* n arguments for each thread, of so many bytes each. */
static void ***own_args(kiln_arena *a, kiln_team team, int n, const size_t *bytes) {
    const int n_threads = kiln_team_size(team);
    void ***tensor = kiln_array(a, void **, n_threads);
    for (int t = 0; t < n_threads; t++) {
        tensor[t] = kiln_array(a, void *, n);
        for (int i = 0; i < n; i++) {
            tensor[t][i] = page_of(a, bytes[i]);
        }
    }
    return tensor;
}

/* x * w must be no zero, lest a processor take it for free; small, so that no sum
 * overflows. */
static void make_args(kiln_arena *a, kiln_meter *m) {
    static const float x = 1, w = 0x1p-30F;
    static const int64_t chain[] = {1, 0x1234567, 0x7654321};
    const size_t fma_bytes[] = {sizeof x, sizeof w, m->fma_bytes};
    const size_t chain_bytes[] = {sizeof chain, sizeof chain[0]};
    m->fma_args = own_args(a, m->team, 3, fma_bytes);
    m->chain_args = own_args(a, m->team, 2, chain_bytes);
    for (int t = 0; t < kiln_team_size(m->team); t++) {
        memcpy(m->fma_args[t][0], &x, sizeof x);
        memcpy(m->fma_args[t][1], &w, sizeof w);
        memcpy(m->chain_args[t][0], chain, sizeof chain);
    }
}

kiln_peak kiln_meter_slice(const kiln_meter *m) {
    enum { FMA_RUNS = 16, CHAIN_RUNS = 4 };
    const int n = kiln_team_size(m->team);
    kiln_peak p = {.fma_per_cycle = m->fma_per_cycle};
    const double chain_ns = run_ns(m->team, m->chain, m->chain_args, CHAIN_RUNS);
    const double fma_ns = run_ns(m->team, m->fma, m->fma_args, FMA_RUNS);
    p.clock_ghz = m->chain_steps * CHAIN_RUNS / chain_ns;
    p.measured_gflops = n * m->fma_flops * FMA_RUNS / fma_ns;
    p.gflops =
        fmax(p.measured_gflops, n * p.fma_per_cycle * 2 * m->lanes * p.clock_ghz);
    return p;
}

kiln_peak kiln_meter_best(const kiln_meter *m, int slices) {
    KILN_ASSERT(slices > 0, "a peak of %d slices", slices);
    kiln_peak best = {0};
    for (int i = 0; i < slices; i++) {
        const kiln_peak p = kiln_meter_slice(m);
        best.clock_ghz = fmax(best.clock_ghz, p.clock_ghz);
        best.measured_gflops = fmax(best.measured_gflops, p.measured_gflops);
        best.gflops = fmax(best.gflops, p.gflops);
        best.fma_per_cycle = p.fma_per_cycle;
    }
    return best;
}

/* From the best of several slices: one that was disturbed would give another number,
 * but seldom all. */
static double count_fma(const kiln_meter *m) {
    const kiln_peak best = kiln_meter_best(m, FIRST_SLICES);
    const double unit = m->fma_unit;
    const double per_cycle = best.measured_gflops /
                             (kiln_team_size(m->team) * 2 * m->lanes * best.clock_ghz);
    return fmax(unit, unit * floor(per_cycle / unit + 0.5));
}

int kiln_team_size(kiln_team t) {
    return t.pool != NULL ? kiln_pool_threads(t.pool) : 1;
}

kiln_status kiln_meter_new(kiln_arena *a, const kiln_profile *p, kiln_team team,
                           kiln_meter *out, kiln_err *err) {
    kiln_meter m = {.profile = p, .team = team};
    KILN_TRY(kiln_runs_here(p, err));
    const kiln_status st = load_peak(a, &m, err);
    if (st != KILN_OK) {
        kiln_note(err, "making the kernels that measure the machine");
        return st;
    }
    make_args(a, &m);
    m.fma_per_cycle = count_fma(&m);
    *out = m;
    return KILN_OK;
}
