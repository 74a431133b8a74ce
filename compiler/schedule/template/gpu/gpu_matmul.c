/* gpu_matmul: matrix products in blocks whose operands pass through shared memory, each
 * thread with a tile of sums in registers. */
#include "compiler/schedule/template/gpu/gpu_tiles.h"
#include "compiler/schedule/template/product/product.h"

#include <math.h>

enum {
    THREADS_M,
    THREADS_N,
    TILE_M,
    TILE_N,
    VIRTUAL,
    STEP_K,
    FETCH,
    LANES,
    AHEAD,
    PAD
};

static const int64_t threads[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t tiles[] = {1, 2, 3, 4, 6, 8, 16};
static const int64_t virtuals[] = {1, 2};
static const int64_t steps[] = {1, 2, 4, 8, 16, 32};
static const int64_t lanes[] = {1, 2, 4, 8, 16};
static const int64_t pads[] = {0, 1, 4};
static const char *const fetch_words[] = {"none", "shared"};
static const char *const ahead_words[] = {"no", "ahead"};

enum { BLOCKS_TOGETHER = 4 }; /* of a processor; more add little */

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    return p->gpu.block_threads > 0 && kiln_product_fits(w) && kiln_gpu_takes(w, p);
}

static bool is_by_itself(const kiln_product *x) { return x->a == x->b; }

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    const kiln_product x = kiln_product_of(w, p);
    (void)err;
    kiln_space_add_up_to(s, "threads_m", "threads of a block along rows", threads,
                         COUNT(threads), x.m);
    kiln_space_add_up_to(s, "threads_n", "threads of a block along columns", threads,
                         COUNT(threads), x.n);
    kiln_space_add_up_to(s, "tile_m", "rows of a thread's tile", tiles, COUNT(tiles),
                         x.m);
    kiln_space_add_up_to(s, "tile_n", "columns of a thread's tile", tiles, COUNT(tiles),
                         x.n);
    kiln_space_add_ints(s, "virtual", "tiles of a thread along columns", virtuals,
                        COUNT(virtuals));
    kiln_space_add_up_to(s, "step_k", "terms that are fetched at once", steps,
                         COUNT(steps), x.k);
    kiln_space_add_words(s, "fetch", "where the terms of a step lie", fetch_words,
                         is_by_itself(&x) ? 1 : 2);
    kiln_space_add_ints(s, "lanes", "columns of a vector", lanes,
                        x.b_along_n ? COUNT(lanes) : 1);
    kiln_space_add_words(s, "ahead", "is the next step fetched while one is summed",
                         ahead_words, 2);
    kiln_space_add_ints(s, "pad", "elements between rows of a step, for other banks",
                        pads, x.a_along_k || !x.b_along_n ? COUNT(pads) : 1);
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

typedef struct plan {
    int64_t threads_m, threads_n, tile_m, tile_n, virtual, step_k, lanes, pad;
    bool fetches, ahead;
} plan;

static plan plan_of(const kiln_product *x, const kiln_space *s, const kiln_config *c) {
    plan p = {.threads_m = kiln_config_int(s, c, THREADS_M, 0),
              .threads_n = kiln_config_int(s, c, THREADS_N, 0),
              .tile_m = kiln_config_int(s, c, TILE_M, 0),
              .tile_n = kiln_config_int(s, c, TILE_N, 0),
              .virtual = kiln_config_int(s, c, VIRTUAL, 0),
              .step_k = kiln_config_int(s, c, STEP_K, 0),
              .lanes = kiln_config_int(s, c, LANES, 0),
              .pad = kiln_config_int(s, c, PAD, 0),
              .fetches = kiln_config_is(s, c, FETCH, "shared")};
    p.ahead = p.fetches && kiln_config_is(s, c, AHEAD, "ahead") && p.step_k < x->k;
    return p;
}

static int64_t rows_of(const plan *p) { return p->threads_m * p->tile_m; }
static int64_t columns_of(const plan *p) {
    return p->threads_n * p->tile_n * p->virtual;
}

static int64_t bytes_of(const kiln_value *v) {
    return (int64_t)kiln_dtype_bytes(v->type.dtype);
}

/* Of one step. */
static int64_t shared_bytes(const kiln_product *x, const plan *p) {
    const int64_t bm = x->row >= 0 ? rows_of(p) : 1;
    const int64_t bn = x->col >= 0 ? columns_of(p) : 1;
    const int64_t step = p->step_k + p->pad;
    return p->fetches ? step * (bm * bytes_of(x->a) + bn * bytes_of(x->b)) : 0;
}

static kiln_gpu_tiles tiles_of(const kiln_product *x, const plan *p) {
    kiln_gpu_tiles t = {.step = {p->step_k},
                        .lanes = p->lanes,
                        .double_buffer = p->ahead,
                        .max_unroll = 1024};
    if (x->row >= 0)
        t.axis[t.n++] = (kiln_gpu_axis){x->row, p->threads_m, p->tile_m, 1, 0};
    if (x->col >= 0)
        t.axis[t.n++] = (kiln_gpu_axis){x->col, p->threads_n, p->tile_n, p->virtual, 0};
    if (x->col < 0 || p->tile_n % p->lanes != 0)
        t.lanes = 1;
    return t;
}

static kiln_status check(const kiln_product *x, const plan *p, kiln_err *err) {
    const kiln_gpu_tiles t = tiles_of(x, p);
    return kiln_gpu_tiles_check(&t, x->profile, shared_bytes(x, p),
                                p->tile_m + p->tile_n * p->virtual,
                                bytes_of(x->w->anchor->out[0]), err);
}

/* ---- guess ----------------------------------------------------------------------- */

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

/* Cycles of a processor, roughly: rounds of blocks, each of multiply-adds and of loads
 * from shared memory, of which fewer are done at once, and what comes from
 * memory. */
static double cost_of(const kiln_product *x, const plan *p) {
    const kiln_gpu *g = &x->profile->gpu;
    const double bm = (double)rows_of(p), bn = (double)columns_of(p);
    const double blocks = (double)x->batch * (double)ceil_div(x->m, rows_of(p)) *
                          (double)ceil_div(x->n, columns_of(p));
    const double threads_all = (double)(p->threads_m * p->threads_n);
    const double rounds = ceil(blocks / (double)g->processors);
    /* A processor hides latency by many warps, of one block or of some: with few it
     * waits. */
    const double together = threads_all * fmin(rounds, BLOCKS_TOGETHER);
    const double busy =
        g->warp > 1 ? fmin(1, fmax(threads_all / 128, together / 256)) : 1;
    /* Tiles of more than 16 bytes a row meet in the same banks. */
    const double meets = p->tile_n * bytes_of(x->b) > 16 ? 2 : 1;
    const double loads =
        bm * bn * (1 / (double)(p->tile_n * p->virtual) + meets / (double)p->tile_m);
    /* What is cut off at the edges is guarded sum by sum. */
    const double guards = x->m % p->tile_m != 0 || x->n % p->tile_n != 0 ? 1.25 : 1;
    const double waste = threads_all < g->warp ? (double)g->warp / threads_all : 1;
    return rounds * (bm * bn + loads + 8 * (bm + bn)) * waste * guards / busy;
}

static kiln_config with(const kiln_space *s, const plan *p) {
    kiln_config c = {.n = s->n};
    kiln_config_set(s, &c, THREADS_M, &p->threads_m);
    kiln_config_set(s, &c, THREADS_N, &p->threads_n);
    kiln_config_set(s, &c, TILE_M, &p->tile_m);
    kiln_config_set(s, &c, TILE_N, &p->tile_n);
    kiln_config_set(s, &c, VIRTUAL, &p->virtual);
    kiln_config_set(s, &c, STEP_K, &p->step_k);
    kiln_config_set(s, &c, LANES, &p->lanes);
    kiln_config_set(s, &c, PAD, &p->pad);
    if (s->knob[FETCH].n > 1)
        kiln_config_set_word(s, &c, FETCH, fetch_words[p->fetches]);
    return c;
}

/* Threads that are loops of a CPU: one a block, with vectors, and no copies. */
static kiln_config guess_alone(const kiln_product *x, const kiln_space *s) {
    plan p = {.threads_m = 1,
              .threads_n = 1,
              .tile_m = x->m < 6 ? x->m : 6,
              .tile_n = 16,
              .virtual = 1,
              .step_k = 4,
              .lanes = 8};
    if (!x->b_along_n)
        p.tile_n = 4;
    kiln_config c = with(s, &p);
    kiln_err unused = {0};
    for (plan q = plan_of(x, s, &c); q.tile_m > 1 && check(x, &q, &unused) != KILN_OK;
         q = plan_of(x, s, &c)) {
        p.tile_m = q.tile_m / 2;
        c = with(s, &p);
    }
    const int64_t tile_n = kiln_config_int(s, &c, TILE_N, 0);
    for (p.lanes = 8; p.lanes > tile_n || tile_n % p.lanes != 0;)
        p.lanes /= 2;
    kiln_config_set(s, &c, LANES, &p.lanes);
    return c;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_config best = {.n = s->n};
    double least = HUGE_VAL;
    if (prof->gpu.warp <= 1)
        return guess_alone(&x, s);
    for (int i = 0; i < s->knob[THREADS_M].n * s->knob[THREADS_N].n; i++)
        for (int k = 0; k < 2 * s->knob[TILE_M].n * s->knob[TILE_N].n; k++) {
            kiln_err unused = {0};
            plan p = {.virtual = 1 + k % 2,
                      .step_k = 8,
                      .lanes = 1,
                      .pad = 4,
                      .fetches = true};
            kiln_config c = with(s, &p);
            c.option[THREADS_M] = (int16_t)(i % s->knob[THREADS_M].n);
            c.option[THREADS_N] = (int16_t)(i / s->knob[THREADS_M].n);
            c.option[TILE_M] = (int16_t)(k / 2 % s->knob[TILE_M].n);
            c.option[TILE_N] = (int16_t)(k / 2 / s->knob[TILE_M].n);
            p = plan_of(&x, s, &c);
            const double cost = cost_of(&x, &p);
            if (cost < least && check(&x, &p, &unused) == KILN_OK) {
                least = cost;
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
    const plan p = plan_of(&x, s, c);
    kiln_stage *acc, *y;
    KILN_TRY(check(&x, &p, err));
    KILN_TRY(kiln_product_compute(a, &x, NULL, out, &acc, &y, err));
    out->loop = (kiln_loop_options){.max_unroll = 4096, .keep_large_loops = true};
    kiln_gpu_tiles t = tiles_of(&x, &p);
    const kiln_te *operand[] = {out->te.value[x.a->id].te, out->te.value[x.b->id].te};
    const bool along_k[] = {x.a_along_k, !x.b_along_n};
    for (int i = 0; i < 2 && p.fetches && !is_by_itself(&x); i++) {
        const bool pads_rows = p.pad > 0 && along_k[i] && operand[i]->rank > 1;
        t.fetched[t.n_fetched++] =
            (kiln_gpu_fetched){.te = operand[i],
                               .lanes = 1,
                               .pad_axis = pads_rows ? operand[i]->rank - 2 : -1,
                               .stride = (int32_t)(p.step_k + p.pad)};
    }
    return kiln_gpu_tiles_apply(y, acc, &t, err);
}

const kiln_template kiln_template_gpu_matmul = {
    .name = "gpu_matmul",
    .doc = "matrix products on a GPU: tiles of sums, operands through shared memory",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
