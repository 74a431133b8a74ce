/* The machine's peak, by kernels that the builder made: independent chains of
 * multiply-adds, and one chain of additions for the clock (pipeline/kernels/meter.c).
 */
#include "pipeline/measure/runner/runner_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FMA_RUNS = 16, CHAIN_RUNS = 4, FIRST_SLICES = 20, FMA_OUT_BYTES = 64 * 1024 };

typedef struct spread {
    kiln_kernel_fn *fn;
    void *const *tensor; /* n of each thread */
    size_t n;
    int runs;
} spread;

/* One kernel on each thread, with arguments of its own. */
static int run_part(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                    int64_t end, void *scratch) {
    (void)args;
    (void)ctx;
    (void)scratch;
    const spread *s = closure;
    kiln_ctx serial;
    kiln_ctx_init_serial(&serial, NULL);
    for (int64_t thread = begin; thread < end; thread++) {
        const kiln_args own = {.tensor = s->tensor + (size_t)thread * s->n};
        for (int i = 0; i < s->runs; i++)
            if (s->fn(&own, &serial) != 0)
                return 1;
    }
    return 0;
}

/* By the caller's own part: what others take of its processor is no part of the peak.
 */
double kiln_meter_kernels_run(kiln_pool *pool, kiln_kernel_fn *fn, void *const *tensor,
                              size_t n, int runs) {
    spread s = {fn, tensor, n, runs};
    const kiln_slice_clocks begin = kiln_slice_now();
    bool disturbed;
    int code;
    if (pool == NULL) {
        code = run_part(NULL, NULL, &s, 0, 1, NULL);
    } else {
        kiln_ctx *ctx = kiln_pool_ctx(pool);
        code = ctx->parallel_for(ctx, run_part, NULL, &s, kiln_pool_threads(pool));
    }
    const kiln_slice_clocks end = kiln_slice_now();
    return code == 0 ? kiln_slice_elapsed_ns(&begin, &end, 1, &disturbed) : 0;
}

kiln_peak_slice kiln_meter_kernels_slice(const kiln_meter_kernels *m, kiln_pool *pool) {
    const double n = pool == NULL ? 1 : (double)kiln_pool_threads(pool);
    const double chain_ns =
        kiln_meter_kernels_run(pool, m->chain, m->chain_tensor[0], 2, CHAIN_RUNS);
    const double fma_ns =
        kiln_meter_kernels_run(pool, m->fma, m->fma_tensor[0], 3, FMA_RUNS);
    return (kiln_peak_slice){.gflops = n * m->of.fma_flops * FMA_RUNS / fma_ns,
                             .clock_ghz = m->of.chain_steps * CHAIN_RUNS / chain_ns};
}

double kiln_meter_kernels_gflops(const kiln_meter_kernels *m, const kiln_peak_slice *s,
                                 int threads) {
    return fmax(s->gflops, threads * m->fma_per_cycle * 2 * m->of.lanes * s->clock_ghz);
}

kiln_status kiln_meter_kernels_load(kiln_str object, kiln_str name,
                                    kiln_kernel_fn **out, kiln_err *err) {
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT] = "", symbol[64];
    (void)snprintf(symbol, sizeof symbol, "%.*s", KILN_STR_ARG(name));
    if (kiln_code_open(object.p, object.n, &code, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s", symbol,
                         text);
    *out = kiln_code_kernel(code, symbol);
    return *out != NULL
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIB, "there is no kernel '%s'", symbol);
}

static kiln_status make_args(kiln_meter_kernels *m, int threads, kiln_err *err) {
    static const float x = 1, w = 0x1p-30F; /* no zero, and no sum overflows */
    static const int64_t chain[] = {1, 0x1234567, 0x7654321};
    for (int t = 0; t < threads; t++) {
        if (m->fma_tensor[t][0] != NULL)
            continue;
        const size_t fma_bytes[] = {sizeof x, sizeof w, FMA_OUT_BYTES};
        const size_t chain_bytes[] = {sizeof chain, sizeof chain[0]};
        for (int i = 0; i < 3; i++) {
            KILN_TRY(kiln_region_open(fma_bytes[i], false, &m->fma_arg[t][i], err));
            m->fma_tensor[t][i] = m->fma_arg[t][i].data;
        }
        for (int i = 0; i < 2; i++) {
            KILN_TRY(kiln_region_open(chain_bytes[i], false, &m->chain_arg[t][i], err));
            m->chain_tensor[t][i] = m->chain_arg[t][i].data;
        }
        memcpy(m->fma_tensor[t][0], &x, sizeof x);
        memcpy(m->fma_tensor[t][1], &w, sizeof w);
        memcpy(m->chain_tensor[t][0], chain, sizeof chain);
    }
    return KILN_OK;
}

/* What one thread reads of memory that no cache holds: the library's own search for a
 * byte that is not there, which reads as fast as it can and writes nothing. All threads
 * together read at most so many times that. In huge pages, as copies of weights lie: with
 * small ones it read 10.9 GB/s where it reads 13.9 so, and 512 MiB of them, for a cache of
 * 260, took 0.15 s to come instead of 0.06, each time that a runner starts. */
static double memory_gbs(const kiln_runner *r) {
    enum { PASSES = 4 };
    static const uint64_t least = UINT64_C(64) << 20, most = UINT64_C(512) << 20;
    const uint64_t cache = r->options.last_cache_bytes;
    const uint64_t bytes = cache > most / 2    ? most
                           : cache > least / 2 ? 2 * cache
                                               : least;
    kiln_region memory;
    double best = 0;
    if (kiln_region_open_huge((size_t)bytes, &memory, NULL) != KILN_OK)
        return 0;
    for (int i = 0; i < PASSES; i++) {
        bool disturbed;
        const kiln_slice_clocks begin = kiln_slice_now();
        if (memchr(memory.data, 1, memory.bytes) != NULL)
            break; /* never: it is all zeros */
        const kiln_slice_clocks end = kiln_slice_now();
        best = fmax(best,
                    (double)bytes / kiln_slice_elapsed_ns(&begin, &end, 1, &disturbed));
    }
    kiln_region_close(&memory);
    return best * (double)r->options.threads;
}

void kiln_meter_kernels_again(kiln_meter_kernels *m, uint32_t threads) {
    for (int i = 0; i < FIRST_SLICES; i++) {
        const kiln_peak_slice s = kiln_meter_kernels_slice(m, NULL);
        m->best_gflops =
            fmax(m->best_gflops, (double)threads * kiln_meter_kernels_gflops(m, &s, 1));
    }
}

kiln_status kiln_meter_kernels_load_peak(kiln_meter_kernels *m, int threads,
                                         kiln_err *err) {
    if (m->fma == NULL)
        KILN_TRY(kiln_meter_kernels_load(m->of.fma, m->of.fma_name, &m->fma, err));
    if (m->chain == NULL)
        KILN_TRY(
            kiln_meter_kernels_load(m->of.chain, m->of.chain_name, &m->chain, err));
    return make_args(m, threads, err);
}

kiln_status kiln_meter_kernels_open(kiln_runner *r, kiln_err *err) {
    kiln_meter_kernels *m = &r->meter;
    m->of = r->options.meter;
    KILN_TRY(kiln_meter_kernels_load_peak(m, (int)r->options.threads, err));
    /* Multiply-adds per cycle are a whole number of units: from the best slices, by
     * one thread. */
    double best = 0, clock = 0;
    for (int i = 0; i < FIRST_SLICES; i++) {
        const kiln_peak_slice s = kiln_meter_kernels_slice(m, NULL);
        best = fmax(best, s.gflops);
        clock = fmax(clock, s.clock_ghz);
    }
    const double unit = m->of.fma_unit > 0 ? m->of.fma_unit : 1;
    m->fma_per_cycle =
        fmax(unit, unit * floor(best / (2 * m->of.lanes * clock) / unit + 0.5));
    m->best_gflops = best * (double)r->options.threads;
    kiln_meter_kernels_again(m, r->options.threads);
    m->memory_gbs = memory_gbs(r);
    return KILN_OK;
}
