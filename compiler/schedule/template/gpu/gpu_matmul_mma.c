/* gpu_matmul_mma: matrix products of halves by tensor cores, summed in f32. */
#include "compiler/schedule/template/gpu/gpu_mma.h"
#include "compiler/schedule/template/product/product.h"

#include <inttypes.h>
#include <math.h>

enum { BLOCK, WARPS, STEP_K, STAGES, GROUP, BY };
enum { WARP = 32, WARPGROUP = 4, DEPTH = 16, SIDE = KILN_GPU_MMA_SIDE };

static const int64_t sides[] = {16, 32, 64, 128, 256};
static const int64_t warps[] = {1, 1, 1, 2, 2, 1, 2, 2, 1, 4, 4, 1, 2, 4, 4, 2, 4, 4};
static const int64_t steps[] = {16, 32, 64};
static const int64_t stages[] = {2, 3, 4, 5};
static const int64_t groups[] = {1, 4, 8, 16};

static const char *const by_words[] = {"warps", "warpgroups"};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static const char *intrin_of(const kiln_product *x, bool by_groups) {
    if (by_groups && x->a->type.dtype == KILN_F16)
        return x->b_along_n ? "wgmma_f16" : "wgmma_f16_t";
    if (by_groups)
        return x->b_along_n ? "wgmma_bf16" : "wgmma_bf16_t";
    if (x->a->type.dtype == KILN_F16)
        return x->b_along_n ? "mma_f16" : "mma_f16_t";
    return x->b_along_n ? "mma_bf16" : "mma_bf16_t";
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    if (!kiln_gpu_has_mma(p) || p->gpu.warp != WARP || !kiln_product_fits(w))
        return false;
    const kiln_product x = kiln_product_of(w, p);
    const kiln_dtype t = x.a->type.dtype;
    return (t == KILN_F16 || t == KILN_BF16) && x.b->type.dtype == t && x.a != x.b &&
           x.a->def == NULL && x.b->def == NULL && x.row >= 0 && x.col >= 0 &&
           x.a_along_k && (x.b_along_n || x.b_along_k) && x.m % SIDE == 0 &&
           x.n % SIDE == 0 && x.k % DEPTH == 0 && kiln_gpu_takes(w, p);
}

/* Could warpgroups multiply some block of it? */
static bool fits_groups(const kiln_product *x) {
    return kiln_gpu_has_wgmma(x->profile) && x->m % KILN_GPU_GROUP_ROWS == 0 &&
           x->n % (2 * (int64_t)KILN_GPU_GROUP_STEP) == 0 &&
           x->k % KILN_GPU_GROUP_STEP == 0;
}

static int divisors(const int64_t *list, int n, int64_t of, int64_t *out) {
    int k = 0;
    for (int i = 0; i < n; i++)
        if (of % list[i] == 0)
            out[k++] = list[i];
    return k;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    const kiln_product x = kiln_product_of(w, p);
    int64_t block[2 * COUNT(sides) * COUNT(sides)], m[COUNT(sides)], n[COUNT(sides)];
    int64_t step[COUNT(steps)];
    const int n_m = divisors(sides, COUNT(sides), x.m, m);
    const int n_n = divisors(sides, COUNT(sides), x.n, n);
    const int64_t most = 32768; /* sums of 8 warps in registers */
    int n_blocks = 0;
    (void)err;
    for (int i = 0; i < n_m * n_n; i++) {
        const int64_t rows = m[i / n_n], columns = n[i % n_n];
        if (rows * columns > most)
            continue;
        block[n_blocks++] = rows;
        block[n_blocks++] = columns;
    }
    kiln_space_add_tuples(s, "block", "rows and columns of a block", block,
                          n_blocks / 2, 2);
    kiln_space_add_tuples(s, "warps", "warps of a block, along rows and columns", warps,
                          COUNT(warps) / 2, 2);
    kiln_space_add_ints(s, "step_k", "terms that are fetched at once", step,
                        divisors(steps, COUNT(steps), x.k, step));
    kiln_space_add_ints(s, "stages", "steps that are there or on their way", stages,
                        COUNT(stages));
    kiln_space_add_ints(s, "group", "blocks of rows that run one after another", groups,
                        COUNT(groups));
    kiln_space_is_later(s, kiln_space_add_words(s, "by", "who multiplies together",
                                                by_words, fits_groups(&x) ? 2 : 1));
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

static kiln_gpu_mma plan_of(const kiln_product *x, const kiln_space *s,
                            const kiln_config *c) {
    const bool by_groups = kiln_config_is(s, c, BY, "warpgroups");
    return (kiln_gpu_mma){.row = x->row,
                          .col = x->col,
                          .block_m = kiln_config_int(s, c, BLOCK, 0),
                          .block_n = kiln_config_int(s, c, BLOCK, 1),
                          .warps_m = kiln_config_int(s, c, WARPS, 0),
                          .warps_n = kiln_config_int(s, c, WARPS, 1),
                          .step = kiln_config_int(s, c, STEP_K, 0),
                          .depth = DEPTH,
                          .stages = (int)kiln_config_int(s, c, STAGES, 0),
                          .group = kiln_config_int(s, c, GROUP, 0),
                          .b_along_k = !x->b_along_n,
                          .by_groups = by_groups,
                          .intrin = intrin_of(x, by_groups)};
}

static int64_t shared_bytes(const kiln_product *x, const kiln_gpu_mma *t) {
    const int64_t pad = t->by_groups ? 0 : KILN_GPU_MMA_PIECE / 2;
    const int64_t a = t->block_m * (t->step + pad);
    const int64_t b =
        x->b_along_n ? t->step * (t->block_n + pad) : t->block_n * (t->step + pad);
    return 2 * (a + b) * t->stages;
}

static int64_t threads_of(const kiln_gpu_mma *t) {
    return t->warps_m * t->warps_n * WARP * (t->by_groups ? WARPGROUP : 1);
}

/* Of a thread: sums, operands of a term, addresses. */
static int64_t registers_of(const kiln_gpu_mma *t) {
    enum { FOR_INDEXES = 40 };
    const int64_t m = t->block_m / t->warps_m, n = t->block_n / t->warps_n;
    if (t->by_groups)
        return m * n / ((int64_t)WARPGROUP * WARP) + FOR_INDEXES;
    return (m * n + (m + n) * DEPTH / 2) / WARP + FOR_INDEXES;
}

static kiln_status check_groups(const kiln_gpu_mma *t, kiln_err *err) {
    enum { MIN_STAGES = 3, MAX_COLUMNS = 256 };
    const int64_t step = KILN_GPU_GROUP_STEP, rows = t->warps_m * KILN_GPU_GROUP_ROWS;
    if (t->block_m % rows != 0 || t->block_n % (t->warps_n * 2 * step) != 0 ||
        t->block_n / t->warps_n > MAX_COLUMNS)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "%" PRId64 " x %" PRId64 " warpgroups do not share a block of "
            "%" PRId64 " x %" PRId64 " in rows of %d and 128 or 256 columns",
            t->warps_m, t->warps_n, t->block_m, t->block_n, KILN_GPU_GROUP_ROWS);
    if (t->step != step || t->stages < MIN_STAGES)
        return kiln_fail(err, KILN_ERR_ARG,
                         "warpgroups multiply steps of %" PRId64 " terms, of which %d "
                         "at least are there or on their way; these are %" PRId64
                         " and %d",
                         step, MIN_STAGES, t->step, t->stages);
    return KILN_OK;
}

static kiln_status check(const kiln_product *x, const kiln_gpu_mma *t, kiln_err *err) {
    const kiln_gpu *g = &x->profile->gpu;
    const int64_t bytes = shared_bytes(x, t), registers = registers_of(t);
    if (t->by_groups)
        KILN_TRY(check_groups(t, err));
    if (t->block_m % (t->warps_m * SIDE) != 0 || t->block_n % (t->warps_n * SIDE) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " x %" PRId64 " warps do not share a block of "
                         "%" PRId64 " x %" PRId64 " in blocks of %d x %d",
                         t->warps_m, t->warps_n, t->block_m, t->block_n, SIDE, SIDE);
    if (bytes > kiln_gpu_shared_most(x->profile))
        return kiln_fail(err, KILN_ERR_ARG,
                         "%d steps take %" PRId64 " bytes of shared memory, a block of "
                         "'%s' has %" PRId64,
                         t->stages, bytes, x->profile->name,
                         kiln_gpu_shared_most(x->profile));
    if (threads_of(t) > g->block_threads || registers > g->registers ||
        registers * threads_of(t) > g->processor_registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " threads of %" PRId64 " registers are more than a "
                         "processor of '%s' has",
                         threads_of(t), registers, x->profile->name);
    return KILN_OK;
}

/* ---- guess ----------------------------------------------------------------------- */

/* Cycles of a processor for all its blocks, by what is busiest: products (1024 a cycle),
 * operands from shared memory (128 bytes a cycle), or from L2 (about 40). */
static double cost_of(const kiln_product *x, const kiln_gpu_mma *t) {
    enum { PRODUCTS = 1024, SHARED = 128, L2 = 40, WARPS_WANTED = 8 };
    const kiln_gpu *g = &x->profile->gpu;
    const double m = (double)t->block_m, n = (double)t->block_n;
    const double n_warps = (double)(t->warps_m * t->warps_n);
    const int64_t rows = x->m / t->block_m, columns = x->n / t->block_n;
    const double blocks = (double)(x->batch * rows * columns);
    const double bytes = (double)shared_bytes(x, t);
    const double together =
        fmax(1, fmin(floor((double)kiln_gpu_shared_most(x->profile) / bytes),
                     floor((double)g->processor_registers /
                           (double)(registers_of(t) * threads_of(t)))));
    const double products = m * n / PRODUCTS * DEPTH;
    const double operands =
        (m * (double)t->warps_n + n * (double)t->warps_m + m + n) * 2 * DEPTH / SHARED;
    const double fetched = (m + n) * 2 * DEPTH / L2;
    const double at_once = fmin(together, blocks / (double)g->processors);
    const double busy = fmin(1, 0.5 + 0.5 * n_warps * fmax(1, at_once) / WARPS_WANTED);
    const double each = fmax(products, fmax(operands, fetched)) / busy;
    const int64_t n_terms = x->k / DEPTH;
    const double steps_all = (double)n_terms;
    const double ends =
        40 * (double)t->step / DEPTH + 300; /* first step, last stores */
    const double waits = 30 * DEPTH / (double)t->step * (t->stages > 2 ? 1 : 4);
    return (double)kiln_ceil_div((int64_t)blocks, g->processors) *
           (steps_all * (each + waits) + ends);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_config best = {.n = s->n};
    double least_cost = HUGE_VAL;
    for (uint64_t i = 0; i < s->size; i++) {
        kiln_err unused = {0};
        const kiln_config c = kiln_config_at(s, i);
        const kiln_gpu_mma t = plan_of(&x, s, &c);
        /* Products by warpgroups are tuning's to try until a device has run them. */
        if (t.group != 8 || t.by_groups || check(&x, &t, &unused) != KILN_OK)
            continue;
        const double cost = cost_of(&x, &t);
        if (cost < least_cost) {
            least_cost = cost;
            best = c;
        }
    }
    return best;
}

/* ---- apply ----------------------------------------------------------------------- */

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_gpu_mma t = plan_of(&x, s, c);
    kiln_stage *acc, *y;
    KILN_TRY(check(&x, &t, err));
    KILN_TRY(kiln_product_compute(a, &x, NULL, out, &acc, &y, err));
    out->loop = (kiln_loop_options){.max_unroll = 4096, .keep_large_loops = true};
    t.operand[0] = out->te.value[x.a->id].te;
    t.operand[1] = out->te.value[x.b->id].te;
    return kiln_gpu_mma_apply(y, acc, &t, err);
}

const kiln_template kiln_template_gpu_matmul_mma = {
    .name = "gpu_matmul_mma",
    .doc = "matrix products of halves by tensor cores, operands some steps ahead",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
