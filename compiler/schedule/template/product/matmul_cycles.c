/* Which of a few configurations of a matrix product the cycle model likes best
 * (cycles.h): orders and blocks, and cuts of the terms. What it starts with is the rule's
 * (matmul_guess.c). */
#include "compiler/schedule/template/product/product_matmul.h"

static int64_t vectors_of(const kiln_product *x, int64_t columns) {
    const int64_t n = columns < x->n ? columns : x->n;
    return kiln_ceil_div(n, x->lanes);
}

/* The option of a knob that is nearest below. */
static void set(const kiln_space *s, kiln_config *c, int knob, int64_t value) {
    kiln_config_set(s, c, knob, &value);
}

/* ---- orders and blocks ------------------------------------------------------------- */

/* What a configuration takes by one thread and by as many as there are cores: either may
 * be what it is run on. */
typedef struct price {
    double all;    /* cycles, */
    double far;    /* those that wait for what lies behind the L2 cache, */
    double memory; /* and of these, behind all caches */
} price;

typedef struct search {
    const kiln_product *x;
    const kiln_profile *prof;
    const kiln_space *s;
    kiln_config rule, best;
    double cycles; /* of the best */
    price as_ruled;
} search;

/* The loops of a configuration, once it says which are parallel: where panels of
 * columns are, each is cut by itself. */
static kiln_product_plan loops_of(const search *g, kiln_config *c) {
    const int64_t parallel = kiln_matmul_guess_parallel(g->x, g->prof, g->s, c);
    const kiln_matmul_plan p = kiln_matmul_plan_of(g->s, c);
    const bool are_apart = p.block_k > 0 && p.parallel == KILN_TILES_OUTER;
    return (kiln_product_plan){.tile_m = p.tile_m,
                               .tile_n = p.tile_n,
                               .block_m = p.block_m,
                               .block_n = are_apart ? 1 : p.block_n,
                               .block_k = p.block_k,
                               .columns_outer = p.columns_outer,
                               .pack_a = p.pack_a,
                               .parallel = parallel};
}

static price price_of(const search *g, kiln_config *c) {
    const kiln_product_plan loops = loops_of(g, c);
    const int cores = g->prof->cores;
    const kiln_cycles one = kiln_product_cycles(g->x, &loops, 1);
    const kiln_cycles each = kiln_product_cycles(g->x, &loops, cores);
    return (price){.all = one.all + cores * each.all,
                   .far = one.l3 + one.memory + cores * (each.l3 + each.memory),
                   .memory = one.memory + cores * each.memory};
}

/* A block that does not divide leaves code of its own for the last one, where all tiles
 * are decided row by row: fine only where there are many. */
static bool divides(int64_t extent, int64_t panels, int64_t tile) {
    const int64_t block = panels * tile;
    return block == 0 || extent % block == 0 ||
           extent / block >= KILN_MATMUL_MIN_BLOCKS;
}

/* Blocks whose tiles do not divide what they are cut from decide rows and columns that
 * are left over in more places (m=3136 k=700 n=700 in blocks of 168 rows: 15% slower). */
static bool has_cut_rest(const kiln_product *x, const kiln_matmul_plan *p) {
    return (p->block_m > 0 || p->block_n > 0) &&
           (x->m % p->tile_m != 0 || x->n % p->tile_n != 0);
}

/* What must be left. What the rule knows and no model does (tails, sets of the L1 cache,
 * what is fetched while something else is multiplied) decides where there is no more to
 * gain than this: on Zen 5, of ten products for which the model liked the other order by
 * 6 to 11%, five were slower so, by up to 9%. But what comes from behind the L2 cache is
 * waited for longer than the model has it, as rows begin anew: where less than half as
 * much does, a little is enough, even if all of b must be waited for once. On an Intel
 * Xeon 16 such products of 784 to 4096 rows, of which the model saw 4 to 10%, took 0.76
 * to 0.99 of the time. */
static double most_cycles(const search *g, const kiln_matmul_plan *p, const price *x) {
    static const double least_gain = 0.85, of_far = 0.97;
    const price *rule = &g->as_ruled;
    return x->far < rule->far / 2 && !has_cut_rest(g->x, p)
               ? of_far * rule->all - x->memory
               : least_gain * rule->all;
}

static void consider(search *g, kiln_config c) {
    const kiln_matmul_plan p = kiln_matmul_plan_of(g->s, &c);
    if (!divides(g->x->m, p.block_m, p.tile_m) ||
        !divides(g->x->n, p.block_n, p.tile_n))
        return;
    const price x = price_of(g, &c);
    if (x.all < g->cycles && x.all < most_cycles(g, &p, &x)) {
        g->cycles = x.all;
        g->best = c;
    }
}

/* 0, and blocks of equal size of which one takes at most that many bytes. */
static int panels_that_fit(int64_t extent, int64_t tile, int64_t row_bytes,
                           int64_t cache, int64_t out[3]) {
    const int64_t all = kiln_ceil_div(extent, tile);
    int n = 1;
    out[0] = 0;
    for (int64_t share = 2; share <= 4; share *= 2) {
        const int64_t most = cache / share / (tile * row_bytes);
        if (most >= 1 && most < all)
            out[n++] = kiln_ceil_div(all, kiln_ceil_div(all, most));
    }
    return n;
}

/* Orders, and blocks of rows and columns for the L2 cache: at most 18, each a
 * microsecond. Cuts of k are the rule's alone: what streams from L2 is hidden better
 * than the model has it (m=128 k=768 n=768 on Zen 5: cut at 128, 9% slower). */
kiln_config kiln_matmul_by_cycles(const kiln_product *x, const kiln_profile *prof,
                                  const kiln_space *s, const kiln_config *rule) {
    search g = {.x = x, .prof = prof, .s = s, .rule = *rule, .best = *rule};
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, rule);
    const int64_t b_bytes = (int64_t)kiln_dtype_bytes(x->b->type.dtype);
    const int64_t l2 = kiln_cache_l2(prof);
    int64_t row[3], col[3];
    const int n_row = panels_that_fit(x->m, p.tile_m, x->a_row_bytes, l2, row);
    const int n_col = panels_that_fit(x->n, p.tile_n, x->k * b_bytes, l2, col);
    g.as_ruled = price_of(&g, &g.best);
    g.cycles = g.as_ruled.all;
    for (int i = 0; i < n_row * n_col * 2; i++) {
        kiln_config c = *rule;
        const bool by_columns = i % 2 == 0;
        set(s, &c, KILN_MATMUL_BLOCK_M, row[i / 2 % n_row]);
        set(s, &c, KILN_MATMUL_BLOCK_N, col[i / 2 / n_row]);
        kiln_config_set_word(s, &c, KILN_MATMUL_ORDER, by_columns ? "columns" : "rows");
        kiln_config_set_word(
            s, &c, KILN_MATMUL_PACK_A,
            by_columns && kiln_matmul_needs_copies(x, p.tile_m) ? "rows" : "no");
        consider(&g, c);
    }
    return g.best;
}

/* ---- cuts -------------------------------------------------------------------------- */

/* What a cut is for is behind the L2 cache, and what it costs is the core's. */
static double far_cycles(const search *g, kiln_config *c, int threads) {
    static const double not_hidden = 0.3; /* as the model has it: cycles.c */
    kiln_product_plan loops = loops_of(g, c);
    loops.fetches = loops.columns_outer;
    const kiln_cycles t = kiln_product_cycles(g->x, &loops, threads);
    const double far = t.l3 + t.memory;
    return far > t.core ? far + not_hidden * t.core : t.core + not_hidden * far;
}

static double far_cycles_of(const search *g, kiln_config *c) {
    const int cores = g->prof->cores;
    return far_cycles(g, c, 1) + cores * far_cycles(g, c, cores);
}

/* So many rows of a, `terms` long, lie in a cache of `bytes` beside the panel of b that
 * passes them, the next one, and their sums; below 0: not even these. */
static int64_t rows_that_stay(const kiln_product *x, int64_t bytes, int64_t terms,
                              int64_t tile_n) {
    const int64_t b_bytes = (int64_t)kiln_dtype_bytes(x->b->type.dtype);
    const int64_t sum = x->profile->vector_bytes / x->lanes;
    const int64_t row = terms * (x->a_row_bytes / x->k) + tile_n * sum;
    return (bytes - 2 * terms * tile_n * b_bytes) / row;
}

/* Either rows wait in blocks and all of b passes again for each, or all of a passes for
 * each panel of b. Blocks of twice as many rows as a panel has columns bring less, and
 * leave time to fetch b; fewer do not. */
bool kiln_matmul_wants_cuts(const kiln_product *x, int64_t tile_n) {
    const int64_t stay = rows_that_stay(x, kiln_cache_l2(x->profile), x->k, tile_n);
    return kiln_product_streams_b(x) && x->m >= KILN_MATMUL_MIN_ROWS && stay < x->m &&
           stay < 2 * tile_n;
}

/* The longest of the options that divides the terms and is cut rarely enough; 0: there
 * is none. Where a shorter cut is left over every tile asks for each of its terms. */
static int64_t equal_cut(const kiln_product *x, const kiln_space *s,
                         const kiln_matmul_plan *p) {
    const kiln_knob *cut = &s->knob[KILN_MATMUL_BLOCK_K];
    const int64_t most =
        kiln_matmul_guess_cut(x->profile, p->tile_m, vectors_of(x, p->tile_n));
    int64_t best = 0;
    for (int i = 0; i < cut->n; i++)
        if (cut->value[i] > best && cut->value[i] <= most && x->k % cut->value[i] == 0)
            best = cut->value[i];
    return best;
}

/* Where a cut's columns and rows are in blocks that divide them: is it faster? */
static void consider_cut(search *g, kiln_config c, int64_t block_n) {
    set(g->s, &c, KILN_MATMUL_BLOCK_N, block_n);
    const kiln_matmul_plan p = kiln_matmul_plan_of(g->s, &c);
    if (!divides(g->x->m, p.block_m, p.tile_m) ||
        !divides(g->x->n, p.block_n, p.tile_n))
        return;
    const double cycles = far_cycles_of(g, &c);
    if (cycles < g->cycles) {
        g->cycles = cycles;
        g->best = c;
    }
}

/* Rows of a that the L2 cache does not hold as they are: either all of b passes again
 * for each block of them, or they pass for each panel of b. Cut, both come once, and
 * sums are loaded and stored again; columns in as many blocks as there are cores, or in
 * smaller ones whose sums stay in a quarter of the cache. On Zen 5 with weights from
 * memory k=3072, n=768 is 2 to 4% faster so with m=128, 1 to 2% with 197, 6 to 7% with
 * 77; by two threads 13, 4 and 12%. */
kiln_config kiln_matmul_by_cuts(const kiln_product *x, const kiln_profile *prof,
                                const kiln_space *s, const kiln_config *rule) {
    static const double least_gain = 0.99;
    search g = {.x = x, .prof = prof, .s = s, .rule = *rule, .best = *rule};
    kiln_config c = *rule;
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, rule);
    const int64_t cut = equal_cut(x, s, &p);
    const int64_t cache = kiln_cache_l2(prof) / 4 * 3;
    const int64_t kept =
        cut > 0 ? rows_that_stay(x, cache, cut, p.tile_n) / p.tile_m : 0;
    const int64_t row = kiln_ceil_div(x->m, p.tile_m),
                  col = kiln_ceil_div(x->n, p.tile_n);
    if (kept < 1)
        return *rule;
    set(s, &c, KILN_MATMUL_BLOCK_K, cut);
    set(s, &c, KILN_MATMUL_BLOCK_M,
        kept < row ? kiln_ceil_div(row, kiln_ceil_div(row, kept)) : 0);
    kiln_config_set_word(s, &c, KILN_MATMUL_ORDER, "columns");
    kiln_config_set_word(s, &c, KILN_MATMUL_PACK_A,
                         kiln_matmul_needs_copies(x, p.tile_m) ? "rows" : "no");
    const int64_t high = kept < row ? kept * p.tile_m : x->m;
    const int64_t sums = high * p.tile_n * (prof->vector_bytes / x->lanes);
    const int64_t share = kiln_ceil_div(col, prof->cores);
    const int64_t near = kiln_cache_l2(prof) / 4 / sums;
    kiln_config as_it_is = *rule;
    g.cycles = least_gain * far_cycles_of(&g, &as_it_is);
    consider_cut(&g, c, share < col ? share : 0);
    if (near >= 1 && near < share)
        consider_cut(&g, c, near);
    return g.best;
}
