/* Kernels that measure the machine's limits, made by kiln's own code generator.
 *
 * Peak: independent chains of vector multiply-adds in registers, more than latency
 * times throughput of today's cores (4 cycles x 2). Clock: one dependent chain of
 * additions and exclusive ors, one cycle each. Bandwidth: a copy, and a maximum over
 * what is read, each over a part of the level.
 *
 * The peak is the larger of what was measured and multiply-adds per cycle x clock, where
 * the former is the nearest whole number: a slice that was disturbed then still gives the
 * machine's peak. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>

enum {
    FMA_STEPS = 4096,    /* of each chain in one call */
    CHAIN_STEPS = 32768, /* pairs of operations in one call */
    COPY_UNROLL = 4
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

/* A profile without fused multiply-add needs two instructions for one: a pair every two
 * cycles is half a multiply-add. */
static double fma_unit(const kiln_profile *p) { return p->has_fma ? 1 : 0.5; }

kiln_status kiln_meter_code_make(kiln_arena *a, const kiln_profile *p,
                                 kiln_meter_code *out, kiln_err *err) {
    kiln_meter_code m = {
        .fma_name = fma_name, .chain_name = chain_name, .fma_unit = fma_unit(p)};
    KILN_TRY(make_fma(a, p, &m, err));
    KILN_TRY(make_chain(a, p, &m, err));
    *out = m;
    return KILN_OK;
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
static kiln_status make_read(kiln_arena *a, const kiln_profile *p, int64_t bytes,
                             kiln_meter_level *m, kiln_err *err) {
    enum { CHAINS = 8 };
    const int64_t lanes = p->vector_bytes / 4;
    const int64_t rows = bytes / 4 / lanes / CHAINS;
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
    m->read_bytes = rows * CHAINS * lanes * 4;
    const kiln_te *const arg[] = {x, y};
    return compile(a, p, s, arg, 2, "kiln_meter_read", &m->read, err);
}

static kiln_status make_copy(kiln_arena *a, const kiln_profile *p, int64_t bytes,
                             kiln_meter_level *m, kiln_err *err) {
    const int64_t lanes = p->vector_bytes / 4;
    const int64_t step = lanes * COPY_UNROLL;
    const int64_t n = bytes / 8 / step * step;
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
    m->copy_bytes = n * 8;
    const kiln_te *const arg[] = {x, y};
    return compile(a, p, s, arg, 2, "kiln_meter_copy", &m->copy, err);
}

kiln_status kiln_meter_level_make(kiln_arena *a, const kiln_profile *p, int level,
                                  kiln_meter_level *out, kiln_err *err) {
    KILN_ASSERT(level >= 0 && level < KILN_N_LEVELS, "no level %d of memory", level);
    return kiln_meter_bytes_make(a, p, level_bytes(p, level), out, err);
}

kiln_status kiln_meter_bytes_make(kiln_arena *a, const kiln_profile *p, int64_t bytes,
                                  kiln_meter_level *out, kiln_err *err) {
    kiln_meter_level m = {.copy_bytes = 0};
    KILN_TRY(make_copy(a, p, bytes, &m, err));
    KILN_TRY(make_read(a, p, bytes, &m, err));
    *out = m;
    return KILN_OK;
}

bool kiln_level_is_crowded(const kiln_profile *p, int threads, int level,
                           int64_t bytes) {
    return level < 2 && bytes / threads > level_bytes(p, level);
}

const char *kiln_level_name(int level) {
    KILN_ASSERT(level >= 0 && level < KILN_N_LEVELS, "no level %d of memory", level);
    static const char *const name[KILN_N_LEVELS] = {"L1", "L2", "L3", "memory"};
    return name[level];
}

int kiln_level_of(const kiln_profile *p, int threads, int64_t bytes) {
    KILN_ASSERT(threads > 0 && bytes >= 0, "%lld bytes on %d threads", (long long)bytes,
                threads);
    const int64_t cache[] = {threads * p->l1d_bytes, threads * p->l2_bytes,
                             p->l3_bytes};
    int at = 0;
    while (at < KILN_N_LEVELS - 1 && (bytes > cache[at] || cache[at] == 0))
        at++;
    return at;
}

double kiln_peak_fma(const kiln_profile *p, int threads, double measured_gflops,
                     double clock_ghz) {
    const double lanes = p->vector_bytes / 4.0, unit = fma_unit(p);
    KILN_ASSERT(threads > 0 && lanes > 0 && unit > 0, "%d threads of %g lanes", threads,
                lanes);
    const double per_cycle = measured_gflops / (threads * 2 * lanes * clock_ghz);
    return fmax(unit, unit * floor(per_cycle / unit + 0.5));
}

kiln_peak kiln_peak_of(const kiln_profile *p, int threads, double fma_per_cycle,
                       double measured_gflops, double clock_ghz) {
    const double lanes = p->vector_bytes / 4.0;
    KILN_ASSERT(threads > 0 && lanes > 0, "%d threads of %g lanes", threads, lanes);
    return (kiln_peak){.measured_gflops = measured_gflops,
                       .clock_ghz = clock_ghz,
                       .fma_per_cycle = fma_per_cycle,
                       .gflops = fmax(measured_gflops,
                                      threads * fma_per_cycle * 2 * lanes * clock_ghz)};
}

kiln_wire_meter kiln_meter_message(const kiln_meter_code *code) {
    return (kiln_wire_meter){.fma = code->fma.bytes,
                             .chain = code->chain.bytes,
                             .fma_name = kiln_str_from(code->fma_name),
                             .chain_name = kiln_str_from(code->chain_name),
                             .fma_flops = code->fma_flops,
                             .chain_steps = code->chain_steps,
                             .lanes = code->lanes,
                             .fma_unit = code->fma_unit};
}
