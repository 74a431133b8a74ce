/* The machine's limits, measured by kernels that kiln's own code generator makes.
 *
 * Peak: independent chains of vector multiply-adds in registers, more than latency
 * times throughput of today's cores (4 cycles x 2). Clock: one dependent chain of
 * additions and exclusive ors, one cycle each. The peak is the larger of what was
 * measured and multiply-adds per cycle x clock, where the former is the nearest whole
 * number: a slice that was disturbed then still gives the machine's peak.
 * Bandwidth: the larger of a copy (bytes read and written) and of a maximum over what
 * is read, each over a part of the level. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <string.h>

enum {
    FMA_STEPS = 4096,    /* of each chain in one call */
    CHAIN_STEPS = 32768, /* pairs of operations in one call */
    COPY_UNROLL = 4,
    FIRST_SLICES = 20
};

static const char fma_name[] = "kiln_meter_fma", chain_name[] = "kiln_meter_chain";

static kiln_status compile(kiln_arena *a, const kiln_profile *p, kiln_schedule *s,
                           const kiln_te *const *arg, size_t n, const char *name,
                           kiln_object *out, kiln_err *err) {
    kiln_program *prog;
    KILN_TRY(kiln_lower(a, s, arg, n, n - 1, name, &prog, err));
    KILN_TRY(kiln_program_optimize(prog, NULL, err));
    return kiln_codegen(a, prog, p, NULL, out, NULL, err);
}

static kiln_status load(kiln_arena *a, const kiln_profile *p, kiln_schedule *s,
                        const kiln_te *const *arg, size_t n, const char *name,
                        kiln_kernel_fn **out, kiln_err *err) {
    kiln_object o;
    KILN_TRY(compile(a, p, s, arg, n, name, &o, err));
    return kiln_object_load(a, &o, name, out, err);
}

/* y[chain, lane], reduced over one axis: all of y in registers. */
static kiln_status in_registers(kiln_arena *a, const kiln_te *y, kiln_schedule **out,
                                kiln_err *err) {
    kiln_schedule *s = kiln_schedule_new(a, &y, 1);
    kiln_stage *st = kiln_schedule_stage(s, y), *tile;
    KILN_TRY(kiln_cache_write(st, KILN_SCOPE_REGISTER, &tile, err));
    KILN_TRY(kiln_vectorize(st, kiln_stage_axis(st, 1), err));
    KILN_TRY(kiln_unroll(st, kiln_stage_axis(st, 0), err));
    kiln_iter *order[] = {kiln_stage_reduce(tile, 0), kiln_stage_axis(tile, 0),
                          kiln_stage_axis(tile, 1)};
    KILN_TRY(kiln_reorder(tile, order, 3, err));
    KILN_TRY(kiln_unroll(tile, order[1], err));
    KILN_TRY(kiln_vectorize(tile, order[2], err));
    *out = s;
    return KILN_OK;
}

/* y[i] = sum over r of x[0] * w[0]: every lane its own chain, no memory inside. */
static kiln_status make_fma(kiln_arena *a, const kiln_profile *p, kiln_meter_code *m,
                            kiln_err *err) {
    const int64_t lanes = p->vector_bytes / 4;
    const int64_t chains = p->vector_registers * 3 / 4, n = chains * lanes;
    const kiln_expr *zero = kiln_x_index(a, 0);
    const kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, (int64_t[]){1});
    const kiln_te *w = kiln_te_placeholder(a, "w", KILN_F32, 1, (int64_t[]){1});
    kiln_te *y = kiln_te_begin(a, "y", 2, (int64_t[]){chains, lanes});
    const kiln_axis *r = kiln_te_reduce_axis(y, "r", FMA_STEPS);
    const kiln_expr *body = kiln_te_sum(
        y, kiln_x_mul(a, kiln_te_read(a, x, &zero), kiln_te_read(a, w, &zero)), &r, 1);
    KILN_TRY(kiln_te_end(y, 1, &body, err));
    kiln_schedule *s;
    KILN_TRY(in_registers(a, y, &s, err));
    m->fma_flops = 2.0 * (double)n * FMA_STEPS;
    m->lanes = (double)lanes;
    const kiln_te *const arg[] = {x, w, y};
    return compile(a, p, s, arg, 3, fma_name, &m->fma, err);
}

/* c = (c + v) ^ w, over and over: no closed form that a compiler would know. */
static kiln_status make_chain(kiln_arena *a, const kiln_profile *p, kiln_meter_code *m,
                              kiln_err *err) {
    enum { UNROLL = 16 };
    kiln_buffer *x =
        kiln_buffer_new(a, "x", KILN_I64, 1, (int64_t[]){3}, KILN_SCOPE_GLOBAL);
    kiln_buffer *y =
        kiln_buffer_new(a, "y", KILN_I64, 1, (int64_t[]){1}, KILN_SCOPE_GLOBAL);
    const kiln_buffer *c =
        kiln_buffer_new(a, "c", KILN_I64, 1, (int64_t[]){1}, KILN_SCOPE_REGISTER);
    x->arg = 0;
    y->arg = 1;
    y->is_written = true;
    const kiln_expr *at[3];
    for (int i = 0; i < 3; i++)
        at[i] = kiln_x_index(a, i);
    const kiln_var *outer = kiln_var_new(a, "i", KILN_I64);
    const kiln_var *inner = kiln_var_new(a, "j", KILN_I64);
    const kiln_expr *sum = kiln_x_add(a, kiln_x_load(a, c, at, 1, NULL),
                                      kiln_x_load(a, x, at + 1, 1, NULL));
    const kiln_expr *next =
        kiln_x_binary(a, KILN_EXPR_XOR, sum, kiln_x_load(a, x, at + 2, 1, NULL));
    const kiln_stmt *step = kiln_s_store(a, c, at, next, NULL);
    step = kiln_s_for(a, inner, at[0], kiln_x_index(a, UNROLL), KILN_LOOP_UNROLLED,
                      NULL, step);
    const kiln_stmt *const seq[] = {
        kiln_s_store(a, c, at, kiln_x_load(a, x, at, 1, NULL), NULL),
        kiln_s_for(a, outer, at[0], kiln_x_index(a, CHAIN_STEPS / UNROLL),
                   KILN_LOOP_SERIAL, NULL, step),
        kiln_s_store(a, y, at, kiln_x_load(a, c, at, 1, NULL), NULL)};
    const kiln_buffer *arg[] = {x, y};
    kiln_program prog = {.name = chain_name,
                         .arena = a,
                         .arg = kiln_arena_dup(a, arg, sizeof arg),
                         .n_args = 2,
                         .n_inputs = 1,
                         .body = kiln_s_alloc(a, c, kiln_s_seq(a, seq, 3))};
    KILN_TRY(kiln_program_optimize(&prog, NULL, err));
    m->chain_steps = 2.0 * CHAIN_STEPS;
    return kiln_codegen(a, &prog, p, NULL, &m->chain, NULL, err);
}

kiln_status kiln_meter_code_make(kiln_arena *a, const kiln_profile *p,
                                 kiln_meter_code *out, kiln_err *err) {
    /* A profile without fused multiply-add needs two instructions for one: a pair every
     * two cycles is half a multiply-add. */
    kiln_meter_code m = {.fma_name = fma_name,
                         .chain_name = chain_name,
                         .fma_unit = p->has_fma ? 1 : 0.5};
    KILN_TRY(make_fma(a, p, &m, err));
    KILN_TRY(make_chain(a, p, &m, err));
    *out = m;
    return KILN_OK;
}

/* The same, callable here. */
static kiln_status load_peak(kiln_arena *a, kiln_meter *m, kiln_err *err) {
    kiln_meter_code c;
    KILN_TRY(kiln_meter_code_make(a, m->profile, &c, err));
    m->fma_flops = c.fma_flops;
    m->chain_steps = c.chain_steps;
    m->lanes = c.lanes;
    m->fma_unit = c.fma_unit;
    KILN_TRY(kiln_object_load(a, &c.fma, fma_name, &m->fma, err));
    return kiln_object_load(a, &c.chain, chain_name, &m->chain, err);
}

/* Half of L1 and L2; of L3, which others share, three times L2 and no more than a
 * quarter; memory: 4 times the last cache, from 64 to 512 MiB. */
static int64_t level_bytes(const kiln_profile *p, int level) {
    const int64_t mib = INT64_C(1) << 20;
    int64_t last = 0;
    switch (level) {
    case 0:
        return p->l1d_bytes / 2;
    case 1:
        return p->l2_bytes / 2;
    case 2:
        return p->l3_bytes / 4 < 3 * p->l2_bytes ? p->l3_bytes / 4 : 3 * p->l2_bytes;
    default:
        last = p->l3_bytes > p->l2_bytes ? p->l3_bytes : p->l2_bytes;
        return last < 16 * mib ? 64 * mib : last > 128 * mib ? 512 * mib : 4 * last;
    }
}

/* y[c, l] = max over r of x[r, c, l]: reads all of x, writes next to nothing. */
static kiln_status make_read(kiln_arena *a, kiln_meter *m, int level, kiln_err *err) {
    enum { CHAINS = 8 };
    const int64_t lanes = m->profile->vector_bytes / 4;
    const int64_t rows = level_bytes(m->profile, level) / 4 / lanes / CHAINS;
    if (rows == 0)
        return KILN_OK;
    const kiln_te *x =
        kiln_te_placeholder(a, "x", KILN_I32, 3, (int64_t[]){rows, CHAINS, lanes});
    kiln_te *y = kiln_te_begin(a, "y", 2, (int64_t[]){CHAINS, lanes});
    const kiln_axis *r = kiln_te_reduce_axis(y, "r", rows);
    const kiln_expr *at[] = {kiln_axis_var(a, r), kiln_te_var(y, 0), kiln_te_var(y, 1)};
    const kiln_expr *source = kiln_te_read(a, x, at);
    const kiln_expr *body =
        kiln_x_reduce(a, kiln_reducer_max(a, KILN_I32), &source, &r, 1, NULL, 0);
    KILN_TRY(kiln_te_end(y, 1, &body, err));
    kiln_schedule *s;
    KILN_TRY(in_registers(a, y, &s, err));
    m->read_bytes[level] = rows * CHAINS * lanes * 4;
    const kiln_te *const arg[] = {x, y};
    return load(a, m->profile, s, arg, 2, "kiln_meter_read", &m->read[level], err);
}

static kiln_status make_copy(kiln_arena *a, kiln_meter *m, int level, kiln_err *err) {
    const int64_t lanes = m->profile->vector_bytes / 4;
    const int64_t step = lanes * COPY_UNROLL;
    const int64_t n = level_bytes(m->profile, level) / 8 / step * step;
    if (n == 0)
        return KILN_OK; /* the profile knows no such level */
    const kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, &n);
    kiln_te *y = kiln_te_begin(a, "y", 1, &n);
    const kiln_expr *i = kiln_te_var(y, 0), *body = kiln_te_read(a, x, &i);
    KILN_TRY(kiln_te_end(y, 1, &body, err));
    const kiln_te *out = y;
    kiln_schedule *s = kiln_schedule_new(a, &out, 1);
    kiln_stage *st = kiln_schedule_stage(s, y);
    kiln_iter *block, *vector, *outer, *inner;
    KILN_TRY(kiln_split(st, kiln_stage_axis(st, 0), lanes, &block, &vector, err));
    KILN_TRY(kiln_split(st, block, COPY_UNROLL, &outer, &inner, err));
    KILN_TRY(kiln_vectorize(st, vector, err));
    KILN_TRY(kiln_unroll(st, inner, err));
    m->copy_bytes[level] = n * 8;
    const kiln_te *const arg[] = {x, y};
    return load(a, m->profile, s, arg, 2, "kiln_meter_copy", &m->copy[level], err);
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

/* n arguments for each thread, of so many bytes each. */
static void ***own_args(kiln_arena *a, kiln_team team, int n, const size_t *bytes) {
    const int n_threads = kiln_team_size(team);
    void ***tensor = kiln_array(a, void **, n_threads);
    for (int t = 0; t < n_threads; t++) {
        tensor[t] = kiln_array(a, void *, n);
        for (int i = 0; i < n; i++) {
            tensor[t][i] = kiln_guarded_new(a, bytes[i]).data;
            memset(tensor[t][i], 0, bytes[i]);
        }
    }
    return tensor;
}

/* x * w must be no zero, lest a processor take it for free; small, so that no sum
 * overflows. */
static void make_args(kiln_arena *a, kiln_meter *m) {
    static const float x = 1, w = 0x1p-30F;
    static const int64_t chain[] = {1, 0x1234567, 0x7654321};
    const size_t y_bytes = (size_t)m->fma_flops / FMA_STEPS / 2 * sizeof(float);
    const size_t fma_bytes[] = {sizeof x, sizeof w, y_bytes};
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

kiln_status kiln_meter_new(kiln_arena *a, const kiln_profile *p, kiln_team team,
                           kiln_meter *out, kiln_err *err) {
    kiln_meter m = {.profile = p, .team = team};
    KILN_TRY(kiln_runs_here(p, err));
    kiln_status st = load_peak(a, &m, err);
    for (int level = 0; st == KILN_OK && level < KILN_N_LEVELS; level++) {
        st = make_copy(a, &m, level, err);
        if (st == KILN_OK)
            st = make_read(a, &m, level, err);
    }
    if (st != KILN_OK) {
        kiln_note(err, "making the kernels that measure the machine");
        return st;
    }
    make_args(a, &m);
    m.fma_per_cycle = count_fma(&m);
    *out = m;
    return KILN_OK;
}

static double best_gbs(const kiln_meter *m, kiln_kernel_fn *fn, void ***arg,
                       int64_t bytes) {
    enum { SLICES = 7 };
    static const double slice_bytes = 4e6; /* a few hundred microseconds at most */
    const int runs = (int)(slice_bytes / (double)bytes) + 1;
    const double all = (double)bytes * runs * kiln_team_size(m->team);
    double best = 0;
    for (int i = 0; i < SLICES; i++)
        best = fmax(best, all / run_ns(m->team, fn, arg, runs));
    return best;
}

static double measure_level(const kiln_meter *m, int level) {
    kiln_arena scratch = {0};
    const size_t bytes = (size_t)m->read_bytes[level];
    void ***arg = own_args(&scratch, m->team, 2, (const size_t[]){bytes, bytes});
    const double copy = best_gbs(m, m->copy[level], arg, m->copy_bytes[level]);
    const double read = best_gbs(m, m->read[level], arg, m->read_bytes[level]);
    kiln_arena_fini(&scratch);
    return fmax(copy, read);
}

const char *kiln_level_name(int level) {
    KILN_ASSERT(level >= 0 && level < KILN_N_LEVELS, "no level %d of memory", level);
    static const char *const name[KILN_N_LEVELS] = {"L1", "L2", "L3", "memory"};
    return name[level];
}

double kiln_meter_bandwidth(kiln_meter *m, int64_t bytes, const char **level) {
    const int n = kiln_team_size(m->team);
    const int64_t cache[] = {n * m->profile->l1d_bytes, n * m->profile->l2_bytes,
                             m->profile->l3_bytes};
    int at = 0;
    while (at < KILN_N_LEVELS - 1 && (bytes > cache[at] || m->copy[at] == NULL))
        at++;
    if (m->level_gbs[at] == 0)
        m->level_gbs[at] = measure_level(m, at);
    *level = kiln_level_name(at);
    return m->level_gbs[at];
}
