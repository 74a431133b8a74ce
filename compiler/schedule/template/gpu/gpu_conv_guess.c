/* What gpu_conv does where nothing was measured: all plans of some tiles, by the model of
 * the machine. */
#include "compiler/schedule/template/gpu/gpu_conv.h"
#include "compiler/schedule/template/gpu/gpu_cycles.h"

#include <math.h>

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

enum { OC = KILN_GPU_CONV_OC, OH = KILN_GPU_CONV_OH, OW = KILN_GPU_CONV_OW };

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

static bool has_room(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x) {
    kiln_err unused = {0};
    return kiln_gpu_conv_check(p, x, &unused) == KILN_OK;
}

static bool divides(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x) {
    return p->o % kiln_gpu_conv_block(x, OC) == 0 &&
           p->oh % kiln_gpu_conv_block(x, OH) == 0 &&
           p->ow % kiln_gpu_conv_block(x, OW) == 0 &&
           p->c % (x->step_ic * x->threads_k * x->splits) == 0;
}

static int64_t tiles_of(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x) {
    return p->batch * p->groups * kiln_ceil_div(p->o, kiln_gpu_conv_block(x, OC)) *
           kiln_ceil_div(p->oh, kiln_gpu_conv_block(x, OH)) *
           kiln_ceil_div(p->ow, kiln_gpu_conv_block(x, OW));
}

/* ---- one plan -------------------------------------------------------------------- */

/* Of so many neighbours' vectors of 16 bytes, turns of shared memory. */
static double turns_of(int64_t threads) { return fmax(1, (double)threads / 8); }

/* Bytes that a block reads for one input channel, in sectors of 32: rows of a patch begin
 * anywhere. */
static double sectors_of(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x) {
    enum { SECTOR = 32 };
    const int64_t columns = kiln_gpu_conv_columns(p, x);
    const int64_t oc = kiln_gpu_conv_block(x, OC);
    const int64_t row =
        (kiln_ceil_div(columns * p->bytes, SECTOR) + p->has_window) * SECTOR;
    const int64_t filters =
        p->is_packed ? p->taps * kiln_ceil_div(oc * p->bytes, SECTOR) * SECTOR
                     : oc * (p->taps * p->bytes + SECTOR);
    const int64_t rows = kiln_gpu_conv_patch(p, x) / columns;
    return (double)(row * rows + filters);
}

static kiln_gpu_work work_of(const kiln_gpu_conv_problem *p,
                             const kiln_gpu_conv_plan *x) {
    const double step = (double)x->step_ic;
    const double sums = (double)(x->tile[OC] * x->tile[OH] * x->tile[OW]);
    const int64_t threads = x->threads[OC] * x->threads[OH] * x->threads[OW];
    const int64_t warp = most(p->profile->gpu.warp, 1);
    const double rows =
        (double)(p->far * ((x->tile[OH] - 1) * p->step[0] + p->kernel[0]));
    const int64_t columns = (x->tile[OW] - 1) * p->step[1] + p->reach[1];
    /* Vectors where rows of a tile begin at a multiple of them. */
    const bool is_shared = x->fetch == KILN_GPU_CONV_SHARED;
    const bool in_fours =
        is_shared && (x->tile[OW] * p->step[1] % 4 == 0 || x->threads[OW] == 1);
    const double of_x = (p->is_depthwise ? (double)x->tile[OC] : 1) * rows *
                        (double)(in_fours ? kiln_ceil_div(columns, 4) : columns);
    const double of_w =
        (double)p->taps *
        (p->is_packed ? (double)kiln_ceil_div(x->tile[OC], 4) : (double)x->tile[OC]);
    /* Threads of a warp that differ in columns and rows, in channels. */
    const int64_t pixels = least(x->threads[OH] * x->threads[OW], warp);
    const int64_t channels = most(1, warp / pixels);
    const double patch = (double)kiln_gpu_conv_patch(p, x);
    const double filters = (double)(kiln_gpu_conv_block(x, OC) * p->taps);
    const double all = (double)(threads * x->threads_k);
    const int64_t tiles = tiles_of(p, x);
    kiln_gpu_work w = {
        .blocks = tiles * x->splits,
        .threads = threads * x->threads_k,
        .registers = (int64_t)sums + x->tile[OC] + columns * x->tile[OH] +
                     KILN_GPU_OTHER_REGISTERS,
        .shared_bytes = kiln_gpu_conv_shared(p, x) * (x->ahead ? 2 : 1) +
                        (x->threads_k > 1 ? (int64_t)(all * sums) * p->sum_bytes : 0),
        .steps = (double)kiln_ceil_div(p->c, x->step_ic * x->threads_k * x->splits),
        .muladds = sums * (double)p->taps * step,
        .loads = (of_x + of_w) * step,
        .turns = step * (of_x * turns_of(in_fours ? pixels : pixels / 4) +
                         of_w * turns_of(channels)),
        .waits = x->is_async ? 0.1 : (x->ahead ? 0.4 : 1),
        .tail = x->threads_k > 1 ? 200 + 6 * sums : 100,
    };
    /* Load and store of each element, some with bounds; filters four at a time. */
    const double fetched =
        step * (double)x->threads_k * (6 * patch + (p->is_packed ? 1 : 5) * filters);
    w.others = is_shared ? fetched / all + 20 : 1.5 * w.loads + 50;
    if (!is_shared) /* of the first cache: as many lines as a warp reads of */
        w.turns =
            step * (of_w + of_x * kiln_gpu_lines(p->profile, x->threads[OW],
                                                 x->tile[OW] * p->step[1] * p->bytes));
    w.cache_bytes = (double)(tiles * p->c) * sectors_of(p, x);
    w.memory_bytes = (double)p->bytes *
                     ((double)(p->filter_sets * p->o * p->c * p->groups * p->taps) +
                      (double)(p->batch * p->groups * (p->is_depthwise ? p->o : p->c) *
                               p->oh * p->ow * p->step[0] * p->step[1]) +
                      (double)(p->batch * p->groups * p->o * p->oh * p->ow));
    return w;
}

/* Sums that blocks share are added by a launch more, which follows in the same graph. Their
 * steps are so few that most of a block runs code, unrolled whole, which no block of the
 * processor has run before. */
static double cycles_of_sharing(const kiln_gpu_conv_problem *p,
                                const kiln_gpu_conv_plan *x, const kiln_gpu_work *w) {
    static const double cold = 2; /* cycles for each instruction */
    const double bytes = (double)(p->elems * x->splits * p->sum_bytes);
    return 0.5 * kiln_gpu_cycles_again(p->profile, bytes) +
           cold * (w->muladds + w->loads + w->others);
}

/* What is cut off at the edges is guarded sum by sum: of three instructions one is a
 * multiply-add. Copies that nobody waits for leave multiply-adds more of the rest than
 * the model has. Both numbers are an H200's. */
double kiln_gpu_conv_cycles(const kiln_gpu_conv_problem *p,
                            const kiln_gpu_conv_plan *x) {
    const kiln_gpu_work w = work_of(p, x);
    /* Products alone, and what copies do not hold up, are as good as their share of
     * multiply-adds: the model, made for windows, overlooks what a short step has beside
     * them. */
    enum { BESIDE = 24 };
    const bool is_short = (p->filter_sets > 1 || x->is_async || x->splits > 1) &&
                          w.loads + BESIDE > 0.15 * w.muladds;
    return kiln_gpu_cycles(p->profile, &w) * (divides(p, x) ? 1 : 1.8) *
               (is_short ? 1.3 : 1) * (x->is_async ? 0.9 : 1) +
           (x->splits > 1 ? cycles_of_sharing(p, x, &w) : 0);
}

/* ---- threads that are loops of a CPU --------------------------------------------- */

static kiln_gpu_conv_plan cut_to_space(const kiln_space *s,
                                       const kiln_gpu_conv_plan *x) {
    const kiln_config c = kiln_gpu_conv_config(s, x);
    return kiln_gpu_conv_plan_of(s, &c);
}

/* One a block, with vectors of columns. */
static kiln_gpu_conv_plan guess_alone(const kiln_gpu_conv_problem *p,
                                      const kiln_space *s) {
    kiln_gpu_conv_plan x = {.threads = {1, 1, 1},
                            .tile = {6, 1, p->step[1] == 1 ? 16 : 4},
                            .threads_k = 1,
                            .splits = 1,
                            .step_ic = 32,
                            .lanes = p->step[1] == 1 ? 8 : 1,
                            .fetch = KILN_GPU_CONV_SHARED};
    for (x = cut_to_space(s, &x); !has_room(p, &x); x = cut_to_space(s, &x)) {
        if (x.tile[OC] > 1 &&
            !has_room(p, &(kiln_gpu_conv_plan){.threads = {1, 1, 1},
                                               .tile = {x.tile[0], 1, x.tile[2]},
                                               .threads_k = 1,
                                               .splits = 1,
                                               .step_ic = 1,
                                               .lanes = 1}))
            x.tile[OC] /= 2;
        else if (x.step_ic > 1)
            x.step_ic /= 2;
        else
            break;
    }
    while (x.lanes > 1 && x.tile[OW] % x.lanes != 0)
        x.lanes /= 2;
    if (!has_room(p, &x))
        x.fetch = KILN_GPU_CONV_NONE;
    return cut_to_space(s, &x);
}

/* ---- one channel a group --------------------------------------------------------- */

/* How far a block of so many threads is from what is wanted; what is cut off at an edge
 * is guarded sum by sum. */
static double distance_of(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x,
                          int64_t wanted) {
    enum { PIECES = 8 };
    const int64_t threads = x->threads[OC] * x->threads[OH] * x->threads[OW];
    const double edges = (p->o % x->threads[OC] != 0) +
                         (p->oh % kiln_gpu_conv_block(x, OH) != 0) +
                         (p->ow % x->threads[OW] != 0);
    return fabs(log2((double)threads / (double)wanted)) + edges +
           (double)kiln_ceil_div(p->ow, x->threads[OW]) / PIECES;
}

/* A thread has some rows of one column: neighbours read neighbours, so that every load is
 * whole lines, and all of a thread's are on their way at once. As many rows as leave each
 * of a processor's four schedulers two warps, two blocks for each processor: blocks begin
 * one after another, and launches of a millionth of a second are not long enough for
 * more. */
static kiln_gpu_conv_plan guess_column(const kiln_gpu_conv_problem *p,
                                       const kiln_space *s) {
    enum { WARPS_EACH = 8, BLOCKS_EACH = 2, MOST_THREADS = 256, MOST_CHANNELS = 64 };
    const kiln_gpu *g = &p->profile->gpu;
    const int64_t processors = most(g->processors, 1);
    kiln_gpu_conv_plan best = {.threads = {1, 1, 1},
                               .tile = {1, 4, 1},
                               .threads_k = 1,
                               .splits = 1,
                               .step_ic = 1,
                               .lanes = 1,
                               .fetch = KILN_GPU_CONV_LOCAL};
    while (best.tile[OH] > 1 &&
           (p->oh % best.tile[OH] != 0 || !has_room(p, &best) ||
            p->elems / best.tile[OH] < processors * WARPS_EACH * g->warp))
        best.tile[OH] /= 2;
    const int64_t down = kiln_ceil_div(p->oh, best.tile[OH]),
                  wanted =
                      least(most(p->elems / best.tile[OH] / (BLOCKS_EACH * processors),
                                 2 * (int64_t)g->warp),
                            MOST_THREADS);
    double nearest = HUGE_VAL;
    for (int64_t oc = 1; oc <= p->o && oc <= MOST_CHANNELS; oc *= 2)
        for (int64_t h = 1; h <= least(down, 14); h++)
            for (int64_t w = 1; w <= least(p->ow, 8); w++) {
                kiln_gpu_conv_plan x = best;
                x.threads[OC] = oc;
                x.threads[OH] = kiln_ceil_div(down, h);
                x.threads[OW] = kiln_ceil_div(p->ow, w);
                x = cut_to_space(s, &x);
                const double distance = distance_of(p, &x, wanted);
                if (distance >= nearest || !has_room(p, &x))
                    continue;
                nearest = distance;
                best = x;
            }
    return best;
}

/* ---- search ---------------------------------------------------------------------- */

typedef struct search {
    const kiln_gpu_conv_problem *p;
    const kiln_space *s;
    kiln_gpu_conv_plan best;
    double least;
    int64_t splits;
    bool is_async; /* how plans that are looked at now fetch */
} search;

static void consider(search *k, const kiln_gpu_conv_plan *plan) {
    if (kiln_gpu_conv_cycles(k->p, plan) >= k->least)
        return;
    const kiln_gpu_conv_plan x = cut_to_space(k->s, plan);
    const double cost = kiln_gpu_conv_cycles(k->p, &x);
    if (cost < k->least && has_room(k->p, &x)) {
        k->least = cost;
        k->best = x;
    }
}

/* Steps that are unrolled whole, as few as shared memory has room for. */
static void try_steps(search *k, kiln_gpu_conv_plan *x) {
    x->splits = k->splits;
    x->ahead = x->is_async = k->is_async;
    x->fetch = KILN_GPU_CONV_SHARED;
    for (x->step_ic = 1; x->step_ic <= 16 && x->step_ic * x->threads_k <= k->p->c;
         x->step_ic *= 2)
        if (x->step_ic * k->p->taps <= 80 &&
            (x->threads_k == 1 || k->p->c % (x->step_ic * x->threads_k) == 0))
            consider(k, x);
}

static void try_tile(search *k, const int64_t *tile) {
    enum { MOST_THREADS = 512, MOST_SHARING = 256 };
    const kiln_gpu_conv_problem *p = k->p;
    const int64_t most_threads = k->splits > 1 ? MOST_SHARING : MOST_THREADS;
    const int64_t across[] = {kiln_ceil_div(p->o, tile[OC]),
                              kiln_ceil_div(p->oh, tile[OH]),
                              kiln_ceil_div(p->ow, tile[OW])};
    kiln_gpu_conv_plan x = {.lanes = 1};
    for (int i = 0; i < 3; i++)
        x.tile[i] = tile[i];
    for (int64_t oc = 1; oc < 2 * across[OC] && oc <= 64; oc *= 2)
        for (int64_t h = 0; h < 14; h++)
            for (int64_t w = 0; w < 8; w++)
                for (int64_t parts = 1; parts <= 64 && parts <= p->c; parts *= 2) {
                    x.threads[OC] = oc;
                    x.threads[OH] = kiln_ceil_div(across[OH], h + 1);
                    x.threads[OW] = kiln_ceil_div(across[OW], w + 1);
                    x.threads_k = parts;
                    if (x.threads[OH] * h >= across[OH] ||
                        x.threads[OW] * w >= across[OW])
                        break; /* seen already */
                    const int64_t all = oc * x.threads[OH] * x.threads[OW] * parts;
                    if (all >= 32 && all <= most_threads)
                        try_steps(k, &x);
                }
}

/* Few rows, some channels. */
static void try_tiles(search *k) {
    static const int64_t channels[] = {1, 2, 4, 8}, rows[] = {1, 2},
                         columns[] = {1, 2, 4, 7, 8};
    const kiln_gpu_conv_problem *p = k->p;
    for (int i = p->o == 1 ? 0 : 1; i < COUNT(channels); i++)
        for (int h = 0; h < COUNT(rows); h++)
            for (int c = 0; c < COUNT(columns); c++)
                try_tile(k, (int64_t[]){least(channels[i], p->o), least(rows[h], p->oh),
                                        least(columns[c], p->ow)});
}

/* Windows that are apart: patches are large, their rows meet in the same banks. Where many
 * threads share a sum each reads so little of them that it need not lie in shared memory:
 * nobody waits for others. */
static bool reads_by_itself(search *k) {
    enum { MANY = 16 };
    const kiln_gpu_conv_problem *p = k->p;
    kiln_gpu_conv_plan x = k->best;
    if (p->taps == 1 || p->step[0] * p->step[1] == 1 || x.threads_k < MANY)
        return false;
    x.fetch = KILN_GPU_CONV_LOCAL;
    x.step_ic = p->c % (2 * x.threads_k) == 0 ? 2 : 1;
    if (!has_room(p, &x))
        return false;
    k->best = x;
    return true;
}

/* Copies that nobody waits for, and blocks that share sums, as an H200 has them. Of
 * windows: a step of one tap has too little to hide a copy behind. Sums are not shared
 * where windows are apart: there measured plans were slower than the model has them. */
static void try_more(search *k) {
    enum { MOST_SPLITS = 8 };
    const kiln_gpu_conv_problem *p = k->p;
    if (p->taps == 1 || p->filter_sets > 1)
        return;
    k->is_async = kiln_gpu_has_mma(p->profile);
    if (k->is_async)
        try_tiles(k);
    for (k->splits = 2; k->splits <= MOST_SPLITS && p->c % k->splits == 0 &&
                        p->step[0] == 1 && p->step[1] == 1;
         k->splits *= 2)
        try_tiles(k);
}

kiln_gpu_conv_plan kiln_gpu_conv_best(const kiln_gpu_conv_problem *p,
                                      const kiln_space *s) {
    search k = {.p = p, .s = s, .least = HUGE_VAL, .splits = 1};
    if (p->profile->gpu.warp <= 1)
        return guess_alone(p, s);
    if (p->is_depthwise)
        return guess_column(p, s);
    k.best = (kiln_gpu_conv_plan){.threads = {1, 1, 1},
                                  .tile = {1, 1, 1},
                                  .threads_k = 1,
                                  .splits = 1,
                                  .step_ic = 1,
                                  .lanes = 1};
    try_tiles(&k);
    if (!reads_by_itself(&k))
        try_more(&k);
    return k.best;
}

kiln_config kiln_gpu_conv_guess(const kiln_workload *w, const kiln_profile *prof,
                                const kiln_space *s) {
    const kiln_gpu_conv_problem p = kiln_gpu_conv_problem_of(w, prof);
    const kiln_gpu_conv_plan best = kiln_gpu_conv_best(&p, s);
    return kiln_gpu_conv_config(s, &best);
}
