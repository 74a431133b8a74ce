/* What the template for matrix products takes without a search. */
#include "compiler/schedule/template/product/product_matmul.h"
#include "compiler/schedule/template/shares.h"

static int64_t vectors_of(const kiln_product *x, int64_t columns) {
    const int64_t n = columns < x->n ? columns : x->n;
    return kiln_ceil_div(n, x->lanes);
}

/* Rows a multiple of half a way apart lie in few sets of the L1 cache: copies help. */
static bool rows_meet(const kiln_product *x) {
    return x->a_along_k && x->a_row_bytes % (kiln_l1_way_bytes(x->profile) / 2) == 0 &&
           !kiln_matmul_is_by_itself(x);
}

/* Rows that meet lie beside each other while there are fewer than ways, and a quarter is
 * left for b. Not to copy then was 7 and 40% faster on Zen 5 (m=197 k=3072 n=768, m=16
 * k=2048 n=5632). */
bool kiln_matmul_needs_copies(const kiln_product *x, int64_t tile_m) {
    const int64_t ways = kiln_cache_l1(x->profile) / kiln_l1_way_bytes(x->profile);
    return rows_meet(x) && tile_m > ways / 4 * 3;
}

/* Of a tile: are its rows copied, for each block or each panel of b? Where half of the
 * L2 cache holds not even two tiles of them they are cut instead; and fewer rows than
 * these need panels of b so wide that copies cost less. */
static bool copies_rows(const kiln_product *x, int64_t tile_m) {
    enum { LEAST_ROWS = 7 };
    return x->m > tile_m && kiln_matmul_needs_copies(x, tile_m) &&
           !kiln_matmul_needs_copies(x, LEAST_ROWS) &&
           kiln_cache_l2(x->profile) / 2 / x->a_row_bytes / tile_m >= 2;
}

/* One row by packed b is as fast as b comes, at best from the last cache: twice the sums
 * that keep up with that, and panels so narrow are shared evenly. Zen 4, parameters in L3,
 * 64 columns in place of 256, one thread and two: 768 to 3072 .97 and .99 of the time,
 * 3072 to 768 .90 and .75, 768 to 768 .99 and .75, 650 to 10000 1.03 and .88. */
static int64_t most_vectors(const kiln_product *x) {
    enum { MARGIN = 2 };
    const kiln_profile *p = x->profile;
    const int64_t rate = p->l3_bytes > 0 ? kiln_rate_behind_l2(p) : p->core.l2_rate;
    return x->m > 1 || !x->is_const_b
               ? p->vector_registers
               : MARGIN * kiln_ceil_div(rate * p->core.fma_latency, p->vector_bytes);
}

static void guess_tile(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    /* Of rows that the tile's do not divide: the last block is code of its own too.
     * Measured with 1024 rows in tiles of 6 and of 4 by 3 vectors on 16 registers. */
    static const double last_block = 1.015;
    /* Tiles of 14 by 2 vectors take 1.06 ms and 7 by 3 take 0.87 for m=196 k=1536 n=384
     * on Zen 5. */
    static const double copies = 1.1;
    const int64_t most = most_vectors(x);
    double best = 0;
    for (int i = 0; i < s->knob[KILN_MATMUL_TILE_M].n; i++)
        for (int k = 0; k < s->knob[KILN_MATMUL_TILE_N].n; k++) {
            const int64_t m = s->knob[KILN_MATMUL_TILE_M].value[i],
                          n = s->knob[KILN_MATMUL_TILE_N].value[k];
            const double t = kiln_tiles_cycles(x->profile, x->m, vectors_of(x, x->n), m,
                                               kiln_ceil_div(n, x->lanes), false) *
                             (x->m > m && x->m % m > 0 ? last_block : 1) *
                             (copies_rows(x, m) ? copies : 1);
            if (kiln_tile_registers(m, vectors_of(x, n)) >
                    x->profile->vector_registers ||
                (best > 0 && (t >= best || kiln_ceil_div(n, x->lanes) > most)))
                continue;
            best = t;
            c->option[KILN_MATMUL_TILE_M] = (int16_t)i;
            c->option[KILN_MATMUL_TILE_N] = (int16_t)k;
        }
}

/* The option of a knob that is nearest below. */
static void set(const kiln_space *s, kiln_config *c, int knob, int64_t value) {
    kiln_config_set(s, c, knob, &value);
}

/* Terms between two cuts: so many that a tile's sums, which are loaded, added and stored
 * at each, take less than a hundredth of the time. */
int64_t kiln_matmul_guess_cut(const kiln_profile *p, int64_t rows, int64_t vectors) {
    return (int64_t)(128 * kiln_tile_entry_cycles(p, (double)(rows * vectors), true) /
                     kiln_tile_cycles(p, rows, vectors));
}

/* Rows so long that few of them fit into a cache: k is cut, and what is summed between
 * the cuts stays in half of the L2 cache, the piece of a in a quarter. */
static void guess_cuts(const kiln_product *x, int64_t cache, const kiln_space *s,
                       kiln_config *c) {
    const int64_t bytes = x->a_row_bytes / x->k;
    const int64_t tile_m = kiln_config_int(s, c, KILN_MATMUL_TILE_M, 0);
    const int64_t tile_n = kiln_config_int(s, c, KILN_MATMUL_TILE_N, 0);
    set(s, c, KILN_MATMUL_BLOCK_K,
        kiln_matmul_guess_cut(x->profile, tile_m, vectors_of(x, tile_n)));
    const int64_t cut = kiln_config_int(s, c, KILN_MATMUL_BLOCK_K, 0);
    const int64_t rows_kept = cache / 4 / (cut * bytes);
    if (x->m > rows_kept)
        set(s, c, KILN_MATMUL_BLOCK_M, rows_kept / tile_m);
    const int64_t high = x->m > rows_kept ? rows_kept : x->m;
    const int64_t wide = cache / 2 / (high * 4);
    if (x->n > wide)
        set(s, c, KILN_MATMUL_BLOCK_N, wide > tile_n ? wide / tile_n : 1);
    kiln_config_set_word(s, c, KILN_MATMUL_ORDER, "columns");
}

/* Blocks of one size, as far as the options go, of `kept` panels at most. None where
 * they are so few that cores would share them together with columns, and rows are left
 * over: all tiles of the last one would decide row by row, in the loop over k. Reading
 * a again for each panel of columns costs less (m=1000 k=700 n=700 on Zen 5: 43% of the
 * peak in blocks, 88% so). */
static void guess_block_m(const kiln_product *x, int64_t kept, const kiln_space *s,
                          kiln_config *c) {
    const int64_t tile_m = kiln_config_int(s, c, KILN_MATMUL_TILE_M, 0);
    const int64_t all = kiln_ceil_div(x->m, tile_m);
    set(s, c, KILN_MATMUL_BLOCK_M, kiln_ceil_div(all, kiln_ceil_div(all, kept)));
    const int64_t block = kiln_config_int(s, c, KILN_MATMUL_BLOCK_M, 0) * tile_m;
    if (block > 0 && x->m % block != 0 && x->m / block < KILN_MATMUL_MIN_BLOCKS)
        set(s, c, KILN_MATMUL_BLOCK_M, 0);
}

/* Packed b: all rows of a stay in half of the L2 cache while panels of b pass by, in
 * blocks of rows where they do not fit. Where they are few, a panel's rows wait for b
 * instead, if the L2 cache holds that. */
static void guess_blocks(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    const int64_t cache = kiln_cache_l2(x->profile);
    const int64_t rows_kept = cache / 2 / x->a_row_bytes;
    const int64_t tile_m = kiln_config_int(s, c, KILN_MATMUL_TILE_M, 0);
    const int64_t all = kiln_ceil_div(x->m, tile_m), kept = rows_kept / tile_m;
    const bool is_large = x->m > rows_kept;
    if (is_large && kept < 3 && x->m >= KILN_MATMUL_MIN_ROWS) {
        guess_cuts(x, cache, s, c);
        return;
    }
    if (is_large)
        guess_block_m(x, kept > 1 ? kept : 1, s, c);
    /* What the L2 cache does not hold comes once, each panel while the one before it is
     * multiplied (product_fetch.c): on Zen 5 with weights from memory 26 to 70% faster
     * for 12 to 36 rows, 17 to 20% for 77, than all of b for each panel of rows. */
    const bool is_fetched = all > 1 && kiln_product_streams_b(x);
    /* Rows that meet are copied once for each block, or stay while columns pass by; few
     * rows would be copied for each panel that a thread begins with. */
    const bool is_cut = kiln_config_int(s, c, KILN_MATMUL_BLOCK_M, 0) > 0;
    const bool are_copied = is_large && kiln_matmul_needs_copies(x, tile_m);
    const bool by_columns =
        (is_large && (is_cut || !rows_meet(x))) || (is_fetched && !are_copied);
    kiln_config_set_word(s, c, KILN_MATMUL_ORDER, by_columns ? "columns" : "rows");
    if (by_columns && are_copied)
        kiln_config_set_word(s, c, KILN_MATMUL_PACK_A, "rows");
}

/* Where both loops over panels are fused into one, rows and columns that are left over
 * are decided inside the loop over k: such tiles take several times as long. */
static bool has_rest(const kiln_product *x, const kiln_matmul_plan *p) {
    return x->m % p->tile_m != 0 || x->n % p->tile_n != 0;
}

/* So only the outer loop is shared then: the one that cores share better, where b is in
 * a cache and either order will do (m=100 k=300 n=1000 on Zen 5: 55% of the peak fused,
 * 94% so). Large rows of a, and those that meet in the L1 cache, would rather stay: a
 * tenth must be gained. */
static void guess_order(const kiln_product *x, const kiln_profile *prof,
                        const kiln_space *s, kiln_config *c) {
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, c);
    if (!has_rest(x, &p) || p.block_m > 0 || p.pack_a)
        return;
    const int64_t row = kiln_ceil_div(x->m, p.tile_m),
                  col = kiln_ceil_div(x->n, p.tile_n);
    const double by_row = kiln_share_loss(x->batch * row, prof->cores);
    const double by_col = kiln_share_loss(x->batch * col, prof->cores);
    const bool meet = row > 1 && rows_meet(x);
    if (p.columns_outer && by_row * 1.1 < by_col) {
        kiln_config_set_word(s, c, KILN_MATMUL_ORDER, "rows");
    } else if (!p.columns_outer && by_col * (meet ? 1.1 : 1) < by_row) {
        kiln_config_set_word(s, c, KILN_MATMUL_ORDER, "columns");
        kiln_config_set_word(s, c, KILN_MATMUL_PACK_A, meet ? "rows" : "no");
    }
}

/* Which loops run on several threads; how many iterations those have. */
int64_t kiln_matmul_guess_parallel(const kiln_product *x, const kiln_profile *prof,
                                   const kiln_space *s, kiln_config *c) {
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, c);
    /* Copies and sums between cuts are made once for each parallel part. */
    const bool is_shared = p.pack_a || p.pack_b_inside || p.block_k > 0;
    const bool is_fusable = !is_shared && !has_rest(x, &p);
    /* Panels that share a cut's rows of a stay together. */
    const bool is_whole = p.block_k > 0 && p.block_n > 0;
    const kiln_tiles_parallel most = is_fusable ? KILN_TILES_ALL
                                     : is_whole ? KILN_TILES_BLOCKS
                                                : KILN_TILES_OUTER;
    const kiln_tile_counts n = kiln_product_counts(x, p.tile_m, p.tile_n, p.block_m,
                                                   p.block_n, p.columns_outer);
    const kiln_tiles_parallel kind =
        kiln_tiles_guess_parallel(prof, n, kiln_product_muladds(x), most);
    const int64_t count[] = {1, n.blocks, n.blocks * n.outer,
                             n.blocks * n.outer * n.inner};
    c->option[KILN_MATMUL_PARALLEL] = (int16_t)kind;
    return count[kind];
}

/* Rows of a block past which b is fetched: it takes half of what memory gives all
 * threads, if each passes all of it by. */
static int64_t least_rows(const kiln_profile *p) {
    enum { SHARE = 2 };
    const int all = p->core.memory_rate_all;
    const int64_t wanted =
        (int64_t)SHARE * p->cores * p->vector_bytes * p->core.fma_ports;
    return kiln_ceil_div(wanted, all > 0 ? all : p->core.memory_rate);
}

/* Threads that share rows have made themselves what the next step reads, in the caches
 * that are nearest to them; of columns half comes from another core, which may be far
 * away. So where rows can be dealt out evenly, in blocks that divide them and stay in
 * half of the L2 cache: all of b passes by for each. Zen 4, two threads, .95 of the time
 * for all of BERT mini, .96 to 1 for BERT-base; by one 1.01 and 1. */
static void guess_rows_apart(const kiln_product *x, const kiln_profile *prof,
                             const kiln_space *s, kiln_config *c) {
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, c);
    const kiln_knob *block = &s->knob[KILN_MATMUL_BLOCK_M];
    const int64_t each = x->m / (p.tile_m * prof->cores); /* panels of a core */
    const int64_t row = p.block_k > 0 ? p.block_k * (x->a_row_bytes / x->k) +
                                            x->n * (prof->vector_bytes / x->lanes)
                                      : x->a_row_bytes;
    const int64_t kept = kiln_cache_l2(prof) / 2 / row / p.tile_m;
    int64_t best = 0;
    if (prof->cores < 2 || x->m % (p.tile_m * prof->cores) != 0 || p.block_m > 0 ||
        !p.columns_outer)
        return;
    for (int i = 0; i < block->n; i++)
        if (block->value[i] > best && each % block->value[i] == 0 &&
            block->value[i] <= kept && block->value[i] * p.tile_m >= least_rows(prof))
            best = block->value[i];
    if (best == 0)
        return;
    set(s, c, KILN_MATMUL_BLOCK_M, best);
    set(s, c, KILN_MATMUL_BLOCK_N, 0);
    kiln_config_set_word(s, c, KILN_MATMUL_PACK_A,
                         kiln_matmul_needs_copies(x, p.tile_m) ? "rows" : "no");
    (void)kiln_matmul_guess_parallel(x, prof, s, c);
}

kiln_config kiln_matmul_guess(const kiln_workload *w, const kiln_profile *prof,
                              const kiln_space *s) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_config c = kiln_config_at(s, 0);
    guess_tile(&x, s, &c);
    /* A loop of few vectors is little beside its branch. */
    if (x.m == 1 && x.is_const_b)
        set(s, &c, KILN_MATMUL_UNROLL_K, 2);
    if (x.is_const_b) {
        guess_blocks(&x, s, &c);
        kiln_config_set_word(s, &c, KILN_MATMUL_PACK_B,
                             kiln_matmul_is_by_itself(&x) ? "no" : "ahead");
    } else if (x.b_along_n && x.m >= KILN_MATMUL_MIN_ROWS &&
               !kiln_matmul_is_by_itself(&x)) {
        /* Once for all rows: copying a panel again for each block costs more than
         * reading a again. */
        kiln_config_set_word(s, &c, KILN_MATMUL_PACK_B, "inside");
    }
    guess_order(&x, prof, s, &c);
    (void)kiln_matmul_guess_parallel(&x, prof, s, &c);
    /* Where the rule copies or cuts it is against what the model does not see. */
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, &c);
    const bool is_panelled =
        x.is_const_b && !kiln_matmul_is_by_itself(&x) && x.m > p.tile_m;
    if (is_panelled && p.block_k == 0 && !p.pack_a)
        c = kiln_matmul_by_cycles(&x, prof, s, &c);
    if (is_panelled && kiln_matmul_wants_cuts(&x, p.tile_n))
        c = kiln_matmul_by_cuts(&x, prof, s, &c);
    if (is_panelled)
        guess_rows_apart(&x, prof, s, &c);
    return c;
}
