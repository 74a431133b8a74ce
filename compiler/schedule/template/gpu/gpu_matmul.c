/* gpu_matmul: matrix products in blocks whose operands pass through shared memory, each
 * thread with a tile of sums in registers. */
#include "compiler/schedule/template/gpu/gpu_cycles.h"
#include "compiler/schedule/template/gpu/gpu_tiles.h"
#include "compiler/schedule/template/product/product.h"

#include <inttypes.h>
#include <math.h>

enum {
    THREADS_M,
    THREADS_N,
    THREADS_K,
    TILE_M,
    TILE_N,
    VIRTUAL,
    STEP_K,
    FETCH,
    LANES,
    AHEAD,
    PAD,
    SPLITS
};

static const int64_t threads[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t parts[] = {1, 2, 4, 8, 16, 32, 64, 128};
static const int64_t tiles[] = {1, 2, 3, 4, 6, 8, 16};
static const int64_t virtuals[] = {1, 2};
static const int64_t steps[] = {1, 2, 4, 8, 16, 32};
static const int64_t lanes[] = {1, 2, 4, 8, 16};
static const int64_t pads[] = {0, 1, 4};
static const char *const fetch_words[] = {"none", "shared"};
static const int64_t splits[] = {1, 2, 4, 8, 16, 32};
static const char *const ahead_words[] = {"no", "ahead", "async"};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    return p->gpu.block_threads > 0 && kiln_product_fits(w) && kiln_gpu_takes(w, p);
}

static bool is_by_itself(const kiln_product *x) { return x->a == x->b; }

/* A constant b whose terms lie next to each other is turned round when it is packed:
 * neighbours of a warp have columns, and read whole lines. */
static bool turns_b(const kiln_product *x) {
    return x->is_const_b && !x->b_along_n && x->col >= 0 && !is_by_itself(x);
}

static kiln_product product_of(const kiln_workload *w, const kiln_profile *p) {
    kiln_product x = kiln_product_of(w, p);
    if (turns_b(&x)) {
        x.b_along_n = true;
        x.b_along_k = x.n == 1;
    }
    return x;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    const kiln_product x = product_of(w, p);
    (void)err;
    kiln_space_add_up_to(s, "threads_m", "threads of a block along rows", threads,
                         COUNT(threads), x.m);
    kiln_space_add_up_to(s, "threads_n", "threads of a block along columns", threads,
                         COUNT(threads), x.n);
    kiln_space_add_up_to(s, "threads_k", "threads that share one sum", parts,
                         COUNT(parts), x.k);
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
                         ahead_words, kiln_gpu_has_mma(p) ? 3 : 2);
    kiln_space_add_ints(s, "pad", "elements between rows of a step, for other banks",
                        pads, x.a_along_k || !x.b_along_n ? COUNT(pads) : 1);
    kiln_space_is_later(s,
                        kiln_space_add_up_to(s, "splits", "blocks that share one sum",
                                             splits, COUNT(splits), x.k));
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

typedef struct plan {
    int64_t threads_m, threads_n, threads_k, tile_m, tile_n, virtual, step_k, lanes,
        pad, splits;
    bool fetches, ahead, is_async; /* is_async: only with ahead */
} plan;

static plan plan_of(const kiln_product *x, const kiln_space *s, const kiln_config *c) {
    plan p = {.threads_m = kiln_config_int(s, c, THREADS_M, 0),
              .threads_n = kiln_config_int(s, c, THREADS_N, 0),
              .threads_k = kiln_config_int(s, c, THREADS_K, 0),
              .tile_m = kiln_config_int(s, c, TILE_M, 0),
              .tile_n = kiln_config_int(s, c, TILE_N, 0),
              .virtual = kiln_config_int(s, c, VIRTUAL, 0),
              .step_k = kiln_config_int(s, c, STEP_K, 0),
              .lanes = kiln_config_int(s, c, LANES, 0),
              .pad = kiln_config_int(s, c, PAD, 0),
              .splits = kiln_config_int(s, c, SPLITS, 0),
              .fetches = kiln_config_is(s, c, FETCH, "shared")};
    p.ahead = p.fetches && !kiln_config_is(s, c, AHEAD, "no") &&
              p.step_k * p.threads_k * p.splits < x->k;
    p.is_async = p.ahead && kiln_config_is(s, c, AHEAD, "async");
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
    const int64_t step = p->step_k * p->threads_k + p->pad;
    return p->fetches ? step * (bm * bytes_of(x->a) + bn * bytes_of(x->b)) : 0;
}

static int64_t elems_of(const kiln_product *x) { return x->batch * x->m * x->n; }

static kiln_gpu_tiles tiles_of(const kiln_product *x, const plan *p) {
    kiln_gpu_tiles t = {.step = {p->step_k},
                        .lanes = p->lanes,
                        .parts = p->threads_k,
                        .splits = p->splits,
                        .threads_after = kiln_gpu_threads_for(x->profile, elems_of(x)),
                        .double_buffer = p->ahead,
                        .is_async = p->is_async,
                        .max_unroll = 1024};
    if (x->row >= 0)
        t.axis[t.n++] = (kiln_gpu_axis){x->row, p->threads_m, p->tile_m, 1, 0};
    if (x->col >= 0)
        t.axis[t.n++] = (kiln_gpu_axis){x->col, p->threads_n, p->tile_n, p->virtual, 0};
    if (x->col < 0 || p->tile_n % p->lanes != 0)
        t.lanes = 1;
    return t;
}

/* Narrow numbers are summed in 32 bits. */
static int64_t sum_bytes(const kiln_product *x) {
    const int64_t bytes = bytes_of(x->w->anchor->out[0]);
    return bytes < 4 ? 4 : bytes;
}

static kiln_status check(const kiln_product *x, const plan *p, kiln_err *err) {
    const kiln_gpu_tiles t = tiles_of(x, p);
    if (p->splits > 1 && x->k % p->splits != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " blocks do not share %" PRId64 " terms equally",
                         p->splits, x->k);
    if (p->threads_k > 1 && p->threads_k * p->step_k > x->k / p->splits)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " threads of %" PRId64
                         " terms share sums of %" PRId64,
                         p->threads_k, p->step_k, x->k / p->splits);
    return kiln_gpu_tiles_check(&t, x->profile, shared_bytes(x, p),
                                p->tile_m + p->tile_n * p->virtual, sum_bytes(x), err);
}

/* ---- guess ----------------------------------------------------------------------- */

static double ceiling(int64_t x, int64_t y) { return (double)kiln_ceil_div(x, y); }

/* One row: b is read once, and how fast that is decides. */
static bool is_row(const kiln_product *x) { return x->m == 1; }

enum { SECTOR = 32 }; /* bytes */

static kiln_gpu_work work_of(const kiln_product *x, const plan *p) {
    const double step = (double)p->step_k;
    const int64_t all = p->threads_m * p->threads_n * p->threads_k;
    const double tile_n = (double)(p->tile_n * p->virtual);
    const double sums = (double)p->tile_m * tile_n;
    const double bm = (double)rows_of(p), bn = (double)columns_of(p);
    const int64_t bytes = bytes_of(x->b), four = bytes < 16 ? 16 / bytes : 1;
    const double blocks =
        (double)x->batch * ceiling(x->m, rows_of(p)) * ceiling(x->n, columns_of(p));
    /* Vectors along terms, or along the tile. */
    const double of_a = x->a_along_k ? (double)p->tile_m * ceiling(p->step_k, four)
                                     : step * ceiling(p->tile_m, four);
    const double of_b = x->b_along_n
                            ? step * (double)p->virtual * ceiling(p->tile_n, four)
                            : tile_n * ceiling(p->step_k, four);
    /* Tiles of more than 16 bytes a row meet in the same banks. */
    const double meets = p->tile_n > four ? 2 : 1;
    const double wide = fmin((double)x->profile->gpu.warp, (double)p->threads_n) / 8;
    const double fetched = step * (double)p->threads_k * (bm + bn);
    /* Memory comes in sectors; what begins anywhere touches one more. */
    const double row = bn * (double)bytes;
    const bool is_aligned = x->n * bytes % SECTOR == 0;
    const double sectors = (ceil(row / SECTOR) + (is_aligned ? 0 : 1)) * SECTOR / row;
    kiln_gpu_work w = {
        .blocks = (int64_t)blocks * p->splits,
        .threads = all,
        .registers =
            (int64_t)sums + p->tile_m + (int64_t)tile_n + KILN_GPU_OTHER_REGISTERS,
        .shared_bytes = shared_bytes(x, p) * (p->ahead ? 2 : 1) +
                        (p->threads_k > 1 ? all * (int64_t)sums * sum_bytes(x) : 0),
        .steps = ceiling(x->k, p->step_k * p->threads_k * p->splits),
        .muladds = sums * step,
        .loads = of_a + of_b,
        .others = p->fetches ? 4 * fetched / (double)all + 20 : of_a + of_b + 8,
        .turns = of_a + of_b * meets * fmax(1, wide),
        .waits = p->is_async ? 0.1 : (p->ahead ? 0.4 : 1),
        .cache_bytes = blocks * (double)x->k * (bm + bn) * (double)bytes,
        .memory_bytes = (double)(x->batch * bytes) *
                        (double)(x->m * x->k + x->n * x->k + x->m * x->n),
        .tail = p->threads_k > 1 ? 300 + 12 * sums : 100,
    };
    if (is_row(x)) { /* parts are added one after another */
        w.tail = p->threads_k > 1 ? 200 + 8 * (double)p->threads_k : 100;
        w.cache_bytes *= x->b_along_n ? sectors : 1;
        w.is_streamed = true;
    }
    if (!p->fetches) /* neighbours along terms read what is far apart */
        w.turns *= x->b_along_n ? 2 : 16;
    return w;
}

static double cost_of(const kiln_product *x, const plan *p) {
    const kiln_gpu_work w = work_of(x, p);
    /* What is cut off at the edges is guarded sum by sum. */
    const bool cuts_terms = x->k % (p->step_k * p->threads_k * p->splits) != 0;
    /* A row's vectors are whole or not there, and its last terms are a loop of their
     * own. */
    const bool has_edge =
        is_row(x) && !p->fetches
            ? x->n % p->tile_n != 0
            : x->m % rows_of(p) != 0 || x->n % columns_of(p) != 0 || cuts_terms;
    return kiln_gpu_cycles(x->profile, &w) * (has_edge ? 1.5 : 1);
}

static kiln_config with(const kiln_space *s, const plan *p) {
    kiln_config c = {.n = s->n};
    kiln_config_set(s, &c, THREADS_M, &p->threads_m);
    kiln_config_set(s, &c, THREADS_N, &p->threads_n);
    kiln_config_set(s, &c, THREADS_K, &p->threads_k);
    kiln_config_set(s, &c, TILE_M, &p->tile_m);
    kiln_config_set(s, &c, TILE_N, &p->tile_n);
    kiln_config_set(s, &c, VIRTUAL, &p->virtual);
    kiln_config_set(s, &c, STEP_K, &p->step_k);
    kiln_config_set(s, &c, LANES, &p->lanes);
    kiln_config_set(s, &c, PAD, &p->pad);
    kiln_config_set(s, &c, SPLITS, &p->splits);
    kiln_config_set_word(s, &c, AHEAD,
                         ahead_words[p->is_async ? 2 : (p->ahead ? 1 : 0)]);
    if (s->knob[FETCH].n > 1)
        kiln_config_set_word(s, &c, FETCH, fetch_words[p->fetches]);
    return c;
}

/* Threads that are loops of a CPU: one a block, with vectors, and no copies. */
static kiln_config guess_alone(const kiln_product *x, const kiln_space *s) {
    plan p = {.threads_m = 1,
              .threads_n = 1,
              .threads_k = 1,
              .tile_m = x->m < 6 ? x->m : 6,
              .tile_n = 16,
              .virtual = 1,
              .splits = 1,
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

typedef struct search {
    const kiln_product *x;
    const kiln_space *s;
    kiln_config best;
    double least;
} search;

static void consider(search *g, const plan *p) {
    kiln_err unused = {0};
    if (cost_of(g->x, p) >= g->least)
        return;
    const kiln_config c = with(g->s, p);
    const plan q = plan_of(g->x, g->s, &c);
    const double cost = cost_of(g->x, &q);
    if (cost < g->least && check(g->x, &q, &unused) == KILN_OK) {
        g->least = cost;
        g->best = c;
    }
}

/* The widest vector of a thread's columns, up to 16 bytes. */
static int64_t vector_of(const kiln_product *x, int64_t tile_n) {
    const int64_t bytes = bytes_of(x->b);
    int64_t n = bytes < 16 ? 16 / bytes : 1;
    while (n > 1 && (x->n % n != 0 || tile_n % n != 0))
        n /= 2;
    return n;
}

/* How many threads share a sum, how many terms a step has; blocks that share sums and
 * copies that nobody waits for are knobs alone, as gpu_conv's. Terms that are left over are
 * guarded: where b is not fetched that is a loop behind the others. */
static void try_terms(search *g, plan *p) {
    enum { MOST_THREADS = 512, LEAST_STEP = 4 };
    const bool is_vector = p->tile_m * p->threads_m == 1, is_alone = is_row(g->x);
    /* No step divides the terms, and what is cut off cannot be fetched together: not all
     * threads would come to it. */
    const bool is_odd = g->x->k % LEAST_STEP != 0;
    p->splits = 1;
    for (p->threads_k = 1; p->threads_k <= (is_alone ? 128 : 64); p->threads_k *= 2)
        for (p->step_k = LEAST_STEP; p->step_k <= 16; p->step_k *= 2) {
            const int64_t all = p->threads_m * p->threads_n * p->threads_k;
            const bool divides = g->x->k % (p->threads_k * p->step_k) == 0;
            if (all > MOST_THREADS || (all < 32 && p->threads_k < 64) ||
                p->threads_k * p->step_k > g->x->k ||
                (!divides && !is_alone && !is_odd))
                continue;
            p->fetches = true;
            p->lanes = 1;
            /* Nothing of a row's b is read twice. */
            if (divides && !(is_alone && g->x->b_along_n))
                consider(g, p);
            p->fetches = false;
            if (g->x->b_along_n)
                p->lanes = vector_of(g->x, p->tile_n);
            /* A row's columns are one vector of each thread: what neighbours read in one
             * instruction is whole sectors. */
            const bool is_whole =
                p->tile_n == p->lanes &&
                p->threads_n * p->tile_n * bytes_of(g->x->b) >= SECTOR;
            if (is_odd && !is_alone)
                consider(g, p);
            else if (is_vector && g->x->b_along_n && (!is_alone || is_whole))
                consider(g, p);
        }
}

/* Others are read one element at a time. */
static bool is_power_of_two(int64_t x) { return (x & (x - 1)) == 0; }

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    const kiln_product x = product_of(w, prof);
    search g = {.x = &x, .s = s, .least = HUGE_VAL};
    if (prof->gpu.warp <= 1)
        return guess_alone(&x, s);
    g.best = with(s, &(plan){.threads_m = 1,
                             .threads_n = 1,
                             .threads_k = 1,
                             .tile_m = 1,
                             .tile_n = 1,
                             .virtual = 1,
                             .step_k = 1,
                             .splits = 1,
                             .lanes = 1});
    for (int i = 0; i < s->knob[THREADS_M].n * s->knob[THREADS_N].n; i++)
        for (int k = 0; k < 2 * s->knob[TILE_M].n * s->knob[TILE_N].n; k++) {
            kiln_config c = {.n = s->n};
            c.option[THREADS_M] = (int16_t)(i % s->knob[THREADS_M].n);
            c.option[THREADS_N] = (int16_t)(i / s->knob[THREADS_M].n);
            c.option[TILE_M] = (int16_t)(k / 2 % s->knob[TILE_M].n);
            c.option[TILE_N] = (int16_t)(k / 2 / s->knob[TILE_M].n);
            plan p = plan_of(&x, s, &c);
            p.virtual = 1 + k % 2;
            p.pad = 4;
            if (is_power_of_two(p.tile_m) && is_power_of_two(p.tile_n))
                try_terms(&g, &p);
        }
    return g.best;
}

/* ---- apply ----------------------------------------------------------------------- */

/* 16 bytes at once where rows of the operand, and of its part, are whole ones of them. */
static int64_t lanes_of(const kiln_product *x, int64_t bytes, int64_t all, int64_t row,
                        int64_t stride) {
    int64_t n = bytes < 16 ? 16 / bytes : 1;
    while (n > 1 && (all % n != 0 || row % n != 0 || stride % n != 0))
        n /= 2;
    return x->profile->gpu.warp > 1 ? n : 1;
}

static kiln_gpu_fetched fetched_of(const kiln_product *x, const plan *p,
                                   const kiln_te *te, bool is_a) {
    const bool along_k = is_a ? x->a_along_k : !x->b_along_n;
    const int64_t step = p->step_k * p->threads_k;
    const int64_t block = is_a ? rows_of(p) : columns_of(p);
    const bool pads_rows = p->pad > 0 && along_k && te->rank > 1;
    kiln_gpu_fetched f = {.te = te,
                          .lanes = 1,
                          .plane_axis = te->rank > 1 ? te->rank - 2 : -1,
                          .planes = along_k ? block : step,
                          .plane = along_k ? step : block,
                          .pad_axis = pads_rows ? te->rank - 2 : -1,
                          .stride = (int32_t)(step + p->pad)};
    if (te->rank > 1)
        f.lanes =
            lanes_of(x, bytes_of(is_a ? x->a : x->b), kiln_te_dim(te, te->rank - 1),
                     f.plane, pads_rows ? f.stride : f.plane);
    return f;
}

/* b with its last two axes in the other order, and what it is computed from. NULL: all
 * lie as they are typed. */
static const kiln_layout *layouts_of(kiln_arena *a, const kiln_product *x) {
    const kiln_product typed = kiln_product_of(x->w, x->profile);
    const kiln_graph *g = x->w->graph;
    const int rank = x->b->type.rank;
    if (!turns_b(&typed))
        return NULL;
    kiln_layout *layout = kiln_array(a, kiln_layout, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        layout[i] = g->values.v[i]->type.layout;
    kiln_layout l = {.n_order = (uint8_t)rank};
    for (int i = 0; i < rank; i++)
        l.order[i] = (uint8_t)(i < rank - 2 ? i : 2 * rank - 3 - i);
    for (const kiln_value *v = x->b;; v = v->def->in[0]) {
        layout[v->id] = l;
        if (v == kiln_product_source_of_b(x))
            return layout;
    }
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_product x = product_of(w, prof);
    const plan p = plan_of(&x, s, c);
    kiln_stage *acc, *y;
    KILN_TRY(check(&x, &p, err));
    KILN_TRY(kiln_product_compute(a, &x, layouts_of(a, &x), out, &acc, &y, err));
    out->loop = (kiln_loop_options){
        .max_unroll = 4096, .keep_large_loops = true, .whole_vectors = true};
    kiln_gpu_tiles t = tiles_of(&x, &p);
    const kiln_te *operand[] = {out->te.value[x.a->id].te, out->te.value[x.b->id].te};
    for (int i = 0; i < 2 && p.fetches && !is_by_itself(&x); i++)
        t.fetched[t.n_fetched++] = fetched_of(&x, &p, operand[i], i == 0);
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
