/* matmul: matrix products, batched or not, with what is fused behind them.
 *
 * Loops as in Goto and van de Geijn, ACM TOMS 34(3), 2008, and BLIS (Van Zee and van de
 * Geijn, ACM TOMS 41(3), 2015): blocks of block_n columns and block_m rows, in them
 * tiles of tile_m x tile_n whose accumulators stay in registers while k runs:
 *
 *     for batch, column block, row block          one parallel loop
 *         for column panel, row panel             in either order
 *             acc[tile_m, tile_n] = 0             registers
 *             for k: acc += a[tile_m, k] * b[k, tile_n]
 *             y = epilogue(acc)
 *
 * With block_k the k loop is cut in front of the panels: sums of one block are kept in
 * memory between the cuts. A constant b is packed ahead as [n / tile_n][k][tile_n], so
 * that a panel is read in one stream; another b may be packed so on the way. Rows of a
 * may be copied next to each other: with rows of 4 KiB they would all fall into the
 * same sets of the L1 cache.
 *
 * f16 and bf16 are summed in f32 (the operator's compute says so). */
#include "compiler/schedule/template/product/product.h"
#include "compiler/schedule/template/shares.h"

#include <inttypes.h>

enum {
    TILE_M,
    TILE_N,
    BLOCK_M,
    BLOCK_N,
    BLOCK_K,
    UNROLL_K,
    ORDER,
    PACK_A,
    PACK_B,
    PARALLEL,
    N_KNOBS
};

enum {
    MIN_ROWS_TO_PACK = 24, /* a panel of b is read so often */
    MIN_BLOCKS = 16        /* so many are shared well by themselves */
};

typedef struct plan {
    int64_t tile_m, tile_n, block_m, block_n, block_k, unroll_k;
    bool columns_outer, pack_a, pack_b_ahead, pack_b_inside;
    kiln_tiles_parallel parallel;
} plan;

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    return kiln_product_fits(w);
}

/* ---- space ----------------------------------------------------------------------- */

/* 0 (not cut), and those of `all` below the extent. */
static void add_blocks(kiln_space *s, const char *name, const char *doc,
                       const int64_t *all, int n_all, int64_t extent) {
    int64_t value[32] = {0};
    int n = 1;
    for (int i = 0; i < n_all; i++)
        if (all[i] < extent)
            value[n++] = all[i];
    kiln_space_add_ints(s, name, doc, value, n);
}

static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28};
static const int64_t vectors[] = {1, 2, 3, 4, 6, 8, 12, 16};
static const int64_t row_panels[] = {1,  2,  4,  6,  8,  10, 12, 14,
                                     16, 20, 24, 28, 32, 48, 64};
static const int64_t column_panels[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t cuts[] = {64, 128, 192, 256, 384, 512, 768, 1024, 2048};
static const int64_t unrolls[] = {1, 2, 4, 8};
#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

/* A copy of one would be read as the other, too: they stay where they are. */
static bool is_by_itself(const kiln_product *x) { return x->a == x->b; }

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    static const char *const order[] = {"columns", "rows"};
    static const char *const pack_a[] = {"no", "rows"};
    static const char *const ahead[] = {"no", "ahead"};
    static const char *const inside[] = {"no", "inside"};
    (void)err;
    const kiln_product x = kiln_product_of(w, p);
    int64_t wide[COUNT(vectors)];
    for (int i = 0; i < COUNT(vectors); i++)
        wide[i] = vectors[i] * x.lanes;
    kiln_space_add_up_to(s, "tile_m", "rows of the register tile", rows, COUNT(rows),
                         x.m);
    kiln_space_add_up_to(s, "tile_n", "columns of the register tile", wide, COUNT(wide),
                         x.n);
    add_blocks(s, "block_m", "row panels in a block; 0: all", row_panels,
               COUNT(row_panels), x.m);
    add_blocks(s, "block_n", "column panels in a block; 0: all", column_panels,
               COUNT(column_panels), ceil_div(x.n, x.lanes));
    add_blocks(s, "block_k", "terms summed before the next panel; 0: all", cuts,
               COUNT(cuts), x.k);
    kiln_space_add_up_to(s, "unroll_k", "copies of the body of the k loop", unrolls,
                         COUNT(unrolls), x.k);
    kiln_space_add_words(s, "order", "which panels are the outer loop in a block",
                         order, 2);
    kiln_space_add_words(s, "pack_a", "copy rows of a next to each other", pack_a,
                         x.m > 1 && !is_by_itself(&x) ? 2 : 1);
    kiln_space_add_words(s, "pack_b", "panels of b in one piece",
                         x.is_const_b ? ahead : inside,
                         x.col >= 0 && !is_by_itself(&x) ? 2 : 1);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         kiln_tiles_parallel_words, KILN_N_TILES_PARALLEL);
    return KILN_OK;
}

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    const plan p = {
        .tile_m = kiln_config_int(s, c, TILE_M, 0),
        .tile_n = kiln_config_int(s, c, TILE_N, 0),
        .block_m = kiln_config_int(s, c, BLOCK_M, 0),
        .block_n = kiln_config_int(s, c, BLOCK_N, 0),
        .block_k = kiln_config_int(s, c, BLOCK_K, 0),
        .unroll_k = kiln_config_int(s, c, UNROLL_K, 0),
        .columns_outer = kiln_config_is(s, c, ORDER, "columns"),
        .pack_a = kiln_config_is(s, c, PACK_A, "rows"),
        .pack_b_ahead = kiln_config_is(s, c, PACK_B, "ahead"),
        .pack_b_inside = kiln_config_is(s, c, PACK_B, "inside"),
        .parallel = (kiln_tiles_parallel)c->option[PARALLEL],
    };
    return p;
}

static int64_t vectors_of(const kiln_product *x, int64_t columns) {
    const int64_t n = columns < x->n ? columns : x->n;
    return ceil_div(n, x->lanes);
}

static kiln_status check(const kiln_product *x, const plan *p, kiln_err *err) {
    const int64_t need = kiln_tile_registers(p->tile_m, vectors_of(x, p->tile_n));
    if (need > x->profile->vector_registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tile_m %" PRId64 " by tile_n %" PRId64 " needs %" PRId64
                         " vector registers, '%s' has %d",
                         p->tile_m, p->tile_n, need, x->profile->name,
                         x->profile->vector_registers);
    return KILN_OK;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct build {
    const kiln_product *x;
    const plan *p;
    kiln_tiles tiles;
    kiln_schedule *s;
    kiln_err *err;
} build;

static kiln_tiles tiles_of(const kiln_product *x, const plan *p) {
    kiln_tiles t = kiln_product_tiles(x, p->tile_m, p->tile_n, p->block_m, p->block_n);
    t.columns_outer = p->columns_outer;
    t.parallel = p->parallel;
    return t;
}

/* k is the stage's only reduction axis. */
static kiln_status accumulate(build *b, kiln_stage *st, int skip) {
    kiln_iter *k[2];
    KILN_TRY(
        kiln_split(st, kiln_stage_reduce(st, 0), b->p->unroll_k, &k[0], &k[1], b->err));
    KILN_TRY(kiln_unroll(st, k[1], b->err));
    return kiln_tiles_accumulate(st, &b->tiles, skip, k, 2, b->err);
}

static kiln_status copy_of(build *b, const kiln_te *te, kiln_stage *reader,
                           kiln_stage *at, kiln_iter *loop, kiln_stage **out) {
    const int64_t lanes =
        b->x->profile->vector_bytes / (int64_t)kiln_dtype_bytes(te->dtype[0]);
    return kiln_tile_copy(b->s, te, reader, at, loop, lanes, out, b->err);
}

/* Copies of what `reader` reads, made at loop `block` of `at`, those of b's panels at
 * loop `panel`. */
static kiln_status pack(build *b, const kiln_te_graph *te, kiln_stage *reader,
                        kiln_stage *at, kiln_iter *block, kiln_iter *panel) {
    const kiln_te *ta = te->value[b->x->a->id].te, *tb = te->value[b->x->b->id].te;
    kiln_stage *copy;
    if ((b->p->pack_a || b->p->pack_b_inside) && ta == tb)
        return kiln_fail(b->err, KILN_ERR_ARG,
                         "pack_a and pack_b: '%s' is multiplied by itself", ta->name);
    if (b->p->pack_a) {
        const int32_t bytes = (int32_t)kiln_dtype_bytes(ta->dtype[0]);
        KILN_TRY(copy_of(b, ta, reader, at, block, &copy));
        /* Rows begin in different sets of the L1 cache: 64 bytes past a KiB. */
        if (b->x->a_along_k && ta->rank > 1)
            KILN_TRY(kiln_storage_align(copy, ta->rank - 2, 1024 / bytes, 64 / bytes,
                                        b->err));
    }
    if (b->p->pack_b_inside)
        KILN_TRY(copy_of(b, tb, reader, at, panel, &copy));
    return KILN_OK;
}

static kiln_status schedule(build *b, const kiln_te_graph *te, kiln_stage *acc,
                            kiln_stage *out) {
    const plan *p = b->p;
    kiln_tile_loops t, u;
    KILN_TRY(kiln_tiles_nest(out, &b->tiles, NULL, &t, b->err));
    KILN_TRY(kiln_tiles_fuse(out, &b->tiles, &t, b->err));
    if (p->block_k == 0) {
        KILN_TRY(kiln_compute_at(acc, out, t.tile, b->err));
        KILN_TRY(accumulate(b, acc, 0));
        return pack(b, te, acc, out, t.block, p->columns_outer ? t.outer : t.block);
    }
    kiln_iter *cut, *rest;
    kiln_stage *part;
    KILN_TRY(
        kiln_split(acc, kiln_stage_reduce(acc, 0), p->block_k, &cut, &rest, b->err));
    KILN_TRY(kiln_rfactor(acc, cut, &part, b->err));
    KILN_TRY(kiln_compute_at(acc, out, t.block, b->err));
    KILN_TRY(kiln_set_scope(acc, KILN_SCOPE_LOCAL, b->err));
    KILN_TRY(kiln_tiles_nest(acc, &b->tiles, kiln_stage_reduce(acc, 0), &u, b->err));
    KILN_TRY(kiln_compute_at(part, acc, u.tile, b->err));
    KILN_TRY(accumulate(b, part, 1));
    return pack(b, te, part, acc, u.cut, p->columns_outer ? u.outer : u.cut);
}

/* ---- apply ----------------------------------------------------------------------- */

/* b in panels: its n axis outermost, then k, then the columns of a panel. */
static void panel_layout(const kiln_product *x, int64_t tile_n, kiln_layout *layout) {
    const kiln_type *b = &x->b->type;
    kiln_layout l = {.n_order = (uint8_t)b->rank, .n_blocks = 1};
    const int k_axis = 2 * b->rank - 3 - x->b_axis; /* the other of the last two */
    for (int i = 0; i < b->rank - 2; i++)
        l.order[i] = (uint8_t)i;
    l.order[b->rank - 2] = (uint8_t)x->b_axis;
    l.order[b->rank - 1] = (uint8_t)k_axis;
    l.block[0] = (kiln_block){.axis = (uint8_t)x->b_axis, .size = (int32_t)tile_n};
    for (const kiln_value *v = x->b;; v = v->def->in[0]) {
        layout[v->id] = l;
        if (v == kiln_product_source_of_b(x))
            break;
    }
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_product x = kiln_product_of(w, prof);
    const plan p = plan_of(s, c);
    KILN_TRY(check(&x, &p, err));
    kiln_layout *layout = kiln_array(a, kiln_layout, w->graph->values.n);
    for (size_t i = 0; i < w->graph->values.n; i++)
        layout[i] = w->graph->values.v[i]->type.layout;
    if (p.pack_b_ahead)
        panel_layout(&x, p.tile_n, layout);
    kiln_stage *acc, *y;
    KILN_TRY(kiln_product_compute(a, &x, layout, out, &acc, &y, err));
    build b = {
        .x = &x, .p = &p, .tiles = tiles_of(&x, &p), .s = out->schedule, .err = err};
    return schedule(&b, &out->te, acc, y);
}

/* ---- without a search ------------------------------------------------------------ */

static void guess_tile(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    /* Of rows that the tile's do not divide: the last block is code of its own too.
     * Measured with 1024 rows in tiles of 6 and of 4 by 3 vectors on 16 registers. */
    static const double last_block = 1.015;
    double best = 0;
    for (int i = 0; i < s->knob[TILE_M].n; i++)
        for (int k = 0; k < s->knob[TILE_N].n; k++) {
            const int64_t m = s->knob[TILE_M].value[i], n = s->knob[TILE_N].value[k];
            const double t = kiln_tiles_cycles(x->profile, x->m, vectors_of(x, x->n), m,
                                               ceil_div(n, x->lanes)) *
                             (x->m > m && x->m % m > 0 ? last_block : 1);
            if (kiln_tile_registers(m, vectors_of(x, n)) >
                    x->profile->vector_registers ||
                (best > 0 && t >= best))
                continue;
            best = t;
            c->option[TILE_M] = (int16_t)i;
            c->option[TILE_N] = (int16_t)k;
        }
}

/* The option of a knob that is nearest below. */
static void set(const kiln_space *s, kiln_config *c, int knob, int64_t value) {
    kiln_config_set(s, c, knob, &value);
}

/* Rows so long that few of them fit into a cache: k is cut, and what is summed between
 * the cuts stays in half of the L2 cache, the piece of a in a quarter. */
static void guess_cuts(const kiln_product *x, int64_t cache, const kiln_space *s,
                       kiln_config *c) {
    const int64_t cut = 512, bytes = x->a_row_bytes / x->k;
    const int64_t rows_kept = cache / 4 / (cut * bytes);
    const int64_t tile_m = kiln_config_int(s, c, TILE_M, 0);
    const int64_t tile_n = kiln_config_int(s, c, TILE_N, 0);
    set(s, c, BLOCK_K, cut);
    if (x->m > rows_kept)
        set(s, c, BLOCK_M, rows_kept / tile_m);
    const int64_t high = x->m > rows_kept ? rows_kept : x->m;
    const int64_t wide = cache / 2 / (high * 4);
    if (x->n > wide)
        set(s, c, BLOCK_N, wide > tile_n ? wide / tile_n : 1);
    kiln_config_set_word(s, c, ORDER, "columns");
}

/* Rows a multiple of 2 KiB apart lie in few sets of the L1 cache: copies help. */
static bool rows_meet(const kiln_product *x) {
    return x->a_along_k && x->a_row_bytes % 2048 == 0 && !is_by_itself(x);
}

/* Blocks of one size, as far as the options go, of `kept` panels at most. None where
 * they are so few that cores would share them together with columns, and rows are left
 * over: all tiles of the last one would decide row by row, in the loop over k. Reading
 * a again for each panel of columns costs less (m=1000 k=700 n=700 on Zen 5: 43% of the
 * peak in blocks, 88% so). */
static void guess_block_m(const kiln_product *x, int64_t kept, const kiln_space *s,
                          kiln_config *c) {
    const int64_t tile_m = kiln_config_int(s, c, TILE_M, 0);
    const int64_t all = ceil_div(x->m, tile_m);
    set(s, c, BLOCK_M, ceil_div(all, ceil_div(all, kept)));
    const int64_t block = kiln_config_int(s, c, BLOCK_M, 0) * tile_m;
    if (block > 0 && x->m % block != 0 && x->m / block < MIN_BLOCKS)
        set(s, c, BLOCK_M, 0);
}

/* Packed b: all rows of a stay in half of the L2 cache while panels of b pass by, in
 * blocks of rows where they do not fit. Where they are few, a panel's rows wait for b
 * instead: unless b is so large that it would come from memory for each of the panels
 * (m=35 k=650 n=10000 on Zen 5: 3.8 ms instead of 2.8). */
static void guess_blocks(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    const int64_t cache = kiln_cache_l2(x->profile);
    const int64_t rows_kept = cache / 2 / x->a_row_bytes;
    const int64_t tile_m = kiln_config_int(s, c, TILE_M, 0);
    const int64_t all = ceil_div(x->m, tile_m), kept = rows_kept / tile_m;
    const bool is_large = x->m > rows_kept;
    const bool is_far =
        all > 1 && x->n > kiln_cache_last(x->profile) / 2 / x->a_row_bytes;
    if (is_large && kept < 3 && x->m >= MIN_ROWS_TO_PACK) {
        guess_cuts(x, cache, s, c);
        return;
    }
    if (is_large)
        guess_block_m(x, kept > 1 ? kept : 1, s, c);
    /* Rows that meet are copied once for each block, or stay while columns pass by. */
    const bool is_cut = kiln_config_int(s, c, BLOCK_M, 0) > 0;
    const bool by_columns = is_far || (is_large && (is_cut || !rows_meet(x)));
    kiln_config_set_word(s, c, ORDER, by_columns ? "columns" : "rows");
    if (by_columns && rows_meet(x))
        kiln_config_set_word(s, c, PACK_A, "rows");
}

/* Where both loops over panels are fused into one, rows and columns that are left over
 * are decided inside the loop over k: such tiles take several times as long. */
static bool has_rest(const kiln_product *x, const plan *p) {
    return x->m % p->tile_m != 0 || x->n % p->tile_n != 0;
}

/* So only the outer loop is shared then: the one that cores share better, where b is in
 * a cache and either order will do (m=100 k=300 n=1000 on Zen 5: 55% of the peak fused,
 * 94% so). Large rows of a, and those that meet in the L1 cache, would rather stay: a
 * tenth must be gained. */
static void guess_order(const kiln_product *x, const kiln_profile *prof,
                        const kiln_space *s, kiln_config *c) {
    const plan p = plan_of(s, c);
    if (!has_rest(x, &p) || p.block_m > 0 || p.pack_a)
        return;
    const int64_t row = ceil_div(x->m, p.tile_m), col = ceil_div(x->n, p.tile_n);
    const double by_row = kiln_share_loss(x->batch * row, prof->cores);
    const double by_col = kiln_share_loss(x->batch * col, prof->cores);
    const bool meet = row > 1 && rows_meet(x);
    if (p.columns_outer && by_row * 1.1 < by_col) {
        kiln_config_set_word(s, c, ORDER, "rows");
    } else if (!p.columns_outer && by_col * (meet ? 1.1 : 1) < by_row) {
        kiln_config_set_word(s, c, ORDER, "columns");
        kiln_config_set_word(s, c, PACK_A, meet ? "rows" : "no");
    }
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_config c = kiln_config_at(s, 0);
    guess_tile(&x, s, &c);
    if (x.is_const_b) {
        guess_blocks(&x, s, &c);
        kiln_config_set_word(s, &c, PACK_B, is_by_itself(&x) ? "no" : "ahead");
    } else if (x.b_along_n && x.m >= MIN_ROWS_TO_PACK && !is_by_itself(&x)) {
        /* Once for all rows: copying a panel again for each block costs more than
         * reading a again. */
        kiln_config_set_word(s, &c, PACK_B, "inside");
    }
    guess_order(&x, prof, s, &c);
    const plan p = plan_of(s, &c);
    /* Copies and sums between cuts are made once for each parallel part. */
    const bool is_shared = p.pack_a || p.pack_b_inside || p.block_k > 0;
    const bool is_fusable = !is_shared && !has_rest(&x, &p);
    c.option[PARALLEL] = (int16_t)kiln_tiles_guess_parallel(
        kiln_product_counts(&x, p.tile_m, p.tile_n, p.block_m, p.block_n,
                            p.columns_outer),
        kiln_product_muladds(&x), prof->cores,
        is_fusable ? KILN_TILES_ALL : KILN_TILES_OUTER);
    return c;
}

const kiln_template kiln_template_matmul = {
    .name = "matmul",
    .doc = "Matrix products in cache blocks and register tiles, b in panels.",
    .takes = KILN_TAKES_PLAIN,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
