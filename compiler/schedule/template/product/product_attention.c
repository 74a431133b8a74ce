/* attention: a few queries at a time, with all keys.
 *
 *     for batch, block of queries                            one parallel loop, or batch
 *         for panel of keys, tile of queries: scores         register tiles
 *         for query: max; weights = exp(scores - max); sum   rows of scores
 *         for tile of queries: weights v / sum               register tiles
 *
 * So scores are never in memory as a whole: those of a block stay in a cache from one
 * step to the next. (With a running maximum and sum, as in FlashAttention (Dao et al.,
 * 2022), not even a row of them is kept; a row of a thousand keys is 4 KiB, and CPUs
 * have room for it.) Tiles as those of product_matmul.c.
 *
 * With a cut the last of these loops goes inside one over parts of the keys, whose v stays
 * in the L1 cache for all tiles; sums are kept in memory between the parts.
 *
 * Queries, v and the result may be in any order of axes with columns next to each
 * other, keys with rows next to each other. */
#include "compiler/schedule/template.h"

#include "compiler/schedule/template/template_nest.h"
#include "compiler/schedule/template/shares.h"
#include "compiler/schedule/template/tiles.h"

#include <inttypes.h>
#include <string.h>

enum {
    BLOCK,
    SCORE_ROWS,
    SCORE_COLUMNS,
    MIXED_ROWS,
    MIXED_COLUMNS,
    ORDER,
    PACK_K,
    PARALLEL,
    CUT
};

static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};
static const int64_t widths[] = {1, 2, 3, 4, 6, 8}; /* in vectors */
static const int64_t cuts[] = {64, 96, 128, 192, 256, 384, 512, 768, 1024};
static const char *const order_words[] = {"columns", "rows"};
static const char *const pack_words[] = {"no", "inside"};
static const char *const parallel_words[] = {"no", "batch", "blocks"};
#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

/* Sizes as the operator names them; axes of [..., row, column]. */
typedef struct work {
    const kiln_node *node;
    const kiln_profile *profile;
    int row, col;
    int64_t batch, m, s, d, e;
    int64_t lanes, bytes; /* of an element that is summed */
} work;

/* The operand's axis for axis i of [..., row, column]; for y, the other way round. */
static int axis_of(const work *x, const char *perm, int i) {
    const kiln_attr *p = kiln_node_attr(x->node, perm);
    return p->n == 0 ? i : (int)p->ints[i];
}

static work work_of(const kiln_workload *w, const kiln_profile *p) {
    const kiln_type *q = &w->anchor->in[0]->type, *k = &w->anchor->in[1]->type;
    const kiln_type *v = &w->anchor->in[2]->type;
    work x = {.node = w->anchor,
              .profile = p,
              .row = q->rank - 2,
              .col = q->rank - 1,
              .batch = 1,
              .bytes = q->dtype == KILN_F64 ? 8 : 4};
    for (int i = 0; i < x.row; i++)
        x.batch *= q->dim[axis_of(&x, "perm_q", i)];
    x.m = q->dim[axis_of(&x, "perm_q", x.row)];
    x.d = q->dim[axis_of(&x, "perm_q", x.col)];
    x.s = k->dim[axis_of(&x, "perm_k", x.row)];
    x.e = v->dim[axis_of(&x, "perm_v", x.col)];
    x.lanes = p->vector_bytes / x.bytes;
    return x;
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    if (w->anchor->op != &kiln_op_attention || w->graph->nodes.n != 1)
        return false;
    const work x = work_of(w, p);
    return kiln_type_elems(&w->anchor->out[0]->type) > 0 && x.d > 0 &&
           axis_of(&x, "perm_q", x.col) == x.col &&
           axis_of(&x, "perm_k", x.row) == x.col &&
           axis_of(&x, "perm_v", x.col) == x.col &&
           axis_of(&x, "perm_y", x.col) == x.col;
}

/* ---- space ----------------------------------------------------------------------- */

static void add_tile(kiln_space *s, const work *x, const char *row, const char *column,
                     int64_t columns) {
    int64_t wide[COUNT(widths)];
    for (int i = 0; i < COUNT(widths); i++)
        wide[i] = widths[i] * x->lanes;
    kiln_space_add_up_to(s, row, "rows of the register tile", rows, COUNT(rows), x->m);
    kiln_space_add_up_to(s, column, "columns of the register tile", wide, COUNT(wide),
                         columns);
}

/* What came later. */
static void add_later(kiln_space *s, const work *x) {
    int64_t cut[COUNT(cuts) + 1] = {0};
    int n = 1; /* the first: 0 */
    for (int i = 0; i < COUNT(cuts) && cuts[i] < x->s; i++)
        cut[n++] = cuts[i];
    kiln_space_is_later(
        s, kiln_space_add_ints(
               s, "cut", "keys whose v is mixed before the next tile; 0: all", cut, n));
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    const work x = work_of(w, p);
    (void)err;
    kiln_space_add_parts(s, "block", "queries whose scores are computed at a time",
                         x.m);
    add_tile(s, &x, "score_rows", "score_columns", x.s);
    add_tile(s, &x, "mixed_rows", "mixed_columns", x.e);
    kiln_space_add_words(s, "order", "which tiles of scores are the outer loop",
                         order_words, 2);
    kiln_space_add_words(s, "pack_k", "panels of keys in one piece", pack_words, 2);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         parallel_words, p->cores > 1 ? COUNT(parallel_words) : 1);
    add_later(s, &x);
    return KILN_OK;
}

typedef struct plan {
    int64_t block, score_rows, score_columns, mixed_rows, mixed_columns, cut;
    bool columns_outer, pack_k, shares_batch, shares_blocks;
} plan;

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    return (plan){.block = kiln_config_int(s, c, BLOCK, 0),
                  .score_rows = kiln_config_int(s, c, SCORE_ROWS, 0),
                  .score_columns = kiln_config_int(s, c, SCORE_COLUMNS, 0),
                  .mixed_rows = kiln_config_int(s, c, MIXED_ROWS, 0),
                  .mixed_columns = kiln_config_int(s, c, MIXED_COLUMNS, 0),
                  .columns_outer = kiln_config_is(s, c, ORDER, "columns"),
                  .cut = kiln_config_int(s, c, CUT, 0),
                  .pack_k = kiln_config_is(s, c, PACK_K, "inside"),
                  .shares_batch = kiln_config_is(s, c, PARALLEL, "batch"),
                  .shares_blocks = kiln_config_is(s, c, PARALLEL, "blocks")};
}

/* ---- guess ----------------------------------------------------------------------- */

/* Sets the tile that takes least, and says how much for one term. Rows that are left over
 * take as long as a whole tile (blocks of 16 rows in tiles of 8 and of 6 on Zen 5: 0.263
 * and 0.287 ms for 12 heads of 128 tokens); `whole`: none may be. */
static double guess_tile(const work *x, const kiln_space *s, kiln_config *c, int row,
                         int64_t n_rows, int64_t columns, bool whole) {
    const int64_t all = kiln_ceil_div(columns, x->lanes);
    double best = -1;
    for (int i = 0; i < s->knob[row].n; i++)
        for (int k = 0; k < s->knob[row + 1].n; k++) {
            const int64_t wide = kiln_ceil_div(s->knob[row + 1].value[k], x->lanes);
            const int64_t m = s->knob[row].value[i], n = wide < all ? wide : all;
            const double t = kiln_tiles_cycles(x->profile, kiln_ceil_div(n_rows, m) * m,
                                               all, m, n, false);
            if (kiln_tile_registers(m, n) > x->profile->vector_registers ||
                (whole && n_rows % m != 0) || (best >= 0 && t >= best))
                continue;
            best = t;
            c->option[row] = (int16_t)i;
            c->option[row + 1] = (int16_t)k;
        }
    return best;
}

/* Of a cache so much surely stays that is read again and again: sets fill unevenly. */
static bool stays_in_l2(const kiln_profile *p, int64_t bytes) {
    return bytes <= kiln_cache_l2(p) / 4 * 3;
}

/* Bytes a cycle of so many that are not in the L1 cache. */
static double rate_of(const kiln_profile *p, int64_t bytes, bool stays_in_l2) {
    const kiln_core *c = &p->core;
    return stays_in_l2                        ? c->l2_rate
           : bytes <= kiln_cache_reach(p) / 2 ? kiln_rate_behind_l2(p)
                                              : c->memory_rate;
}

/* Bytes a cycle from where the scores of a block lie, of which half and as much of their
 * weights are in use together. */
static double rate_of_scores(const kiln_profile *p, int64_t bytes) {
    return bytes <= kiln_cache_l1(p) / 2
               ? (double)p->core.load_ports * p->vector_bytes
               : rate_of(p, 2 * bytes, bytes <= kiln_cache_l2(p) / 2);
}

/* A last block of another size has code of its own where the loop over blocks is one by
 * itself. Fused with that over the batch, all of it would be decided query by query. */
static bool divides(const work *x, int64_t block) {
    return block >= x->m || x->m % block == 0;
}

/* Of the smaller part so much is not hidden behind the larger (as in cycles.c). */
static double together(double x, double y) {
    static const double not_hidden = 0.3;
    return x > y ? x + not_hidden * y : y + not_hidden * x;
}

/* Cycles in which keys and v come for a block: once, and v again for each tile of queries
 * where its keys are not cut. They stay beside the scores and weights, or come anew: d=128,
 * s=1500 on an Intel Xeon, in blocks of 84, takes 0.87 of the time when keys are cut. */
static double cycles_to_come(const work *x, int64_t block, int64_t tile_rows,
                             int64_t cut, int64_t scores) {
    const int64_t v = x->s * x->e * x->bytes, read = x->s * x->d * x->bytes + v;
    const int64_t tiles = cut > 0 ? 1 : kiln_ceil_div(block, tile_rows);
    const int64_t all = read + 2 * scores;
    return (double)(read + (tiles - 1) * v) /
           rate_of(x->profile, all, stays_in_l2(x->profile, all));
}

/* Sums of all tiles of a block, kept from one part of the keys to the next. */
static double cycles_of_cuts(const work *x, int64_t block, int64_t tile_rows,
                             int64_t tile_columns, int64_t cut) {
    if (cut == 0)
        return 0;
    const int64_t columns = tile_columns < x->e ? tile_columns : x->e;
    const int64_t sums = tile_rows * kiln_ceil_div(columns, x->lanes);
    const int64_t tiles = block / tile_rows * kiln_ceil_div(x->e, columns);
    return (double)(kiln_ceil_div(x->s, cut) * tiles) *
           kiln_tile_entry_cycles(x->profile, (double)sums, true);
}

/* Sets the most keys whose v, as wide as a tile, takes half of the L1 cache, and says how
 * many; 0: all. */
static int64_t guess_cut(const work *x, const kiln_space *s, kiln_config *c) {
    const int64_t row = kiln_config_int(s, c, MIXED_COLUMNS, 0) * x->bytes;
    c->option[CUT] = 0;
    for (int i = 1; i < s->knob[CUT].n; i++)
        if (s->knob[CUT].value[i] * row <= kiln_cache_l1(x->profile) / 2)
            c->option[CUT] = (int16_t)i;
    return kiln_config_int(s, c, CUT, 0);
}

/* Cycles of all blocks of so many queries: products, while keys and v come from where
 * they lie, and passes over the scores (written, read for the maximum and for exp,
 * weights written, summed and read). Negative: there are no such tiles. */
static double cycles_of(const work *x, const kiln_space *s, kiln_config *c,
                        int64_t block, bool is_cut) {
    enum { PASSES = 6 };
    const int64_t scores = block * x->s * x->bytes;
    const int64_t blocks = kiln_ceil_div(x->m, block);
    const int64_t shared = divides(x, block) ? x->batch * blocks : x->batch;
    const double scored = guess_tile(x, s, c, SCORE_ROWS, block, x->s, false);
    const double mixed = guess_tile(x, s, c, MIXED_ROWS, block, x->e, is_cut);
    if (mixed < 0)
        return -1;
    c->option[CUT] = 0;
    const int64_t cut = is_cut ? guess_cut(x, s, c) : 0;
    const double products = (double)x->d * scored + (double)x->s * mixed;
    const int64_t rows_of_tile = kiln_config_int(s, c, MIXED_ROWS, 0);
    const int64_t columns_of_tile = kiln_config_int(s, c, MIXED_COLUMNS, 0);
    const double come = cycles_to_come(x, block, rows_of_tile, cut, scores);
    const double passes =
        (double)(PASSES * scores) / rate_of_scores(x->profile, scores);
    return (double)(x->batch * blocks) * kiln_share_loss(shared, x->profile->cores) *
           (together(products, come) + passes +
            cycles_of_cuts(x, block, rows_of_tile, columns_of_tile, cut));
}

/* Panels of keys that crowd the L1 cache where they lie, by all lines that their rows
 * begin and end in, or by rows that meet in few of its sets; and that enough tiles read
 * to pay for the copy. */
static bool wants_packed_keys(const work *x, int64_t tiles, int64_t columns) {
    enum { TILES = 4 };
    const kiln_profile *p = x->profile;
    const int64_t way = kiln_l1_way_bytes(p), l1 = kiln_cache_l1(p);
    const kiln_type *k = &x->node->in[1]->type;
    int64_t step = x->bytes;
    for (int i = axis_of(x, "perm_k", x->col) + 1; i < k->rank; i++)
        step *= k->dim[i];
    const bool meet = step % (way / 2) == 0 && x->d > l1 / way;
    return tiles >= TILES &&
           (meet || x->d * (columns * x->bytes + kiln_line_bytes(p)) >= l1 / 2);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    /* What cutting must gain: sums that are kept are work that no model sees. */
    static const double gain = 1.02;
    const work x = work_of(w, p);
    kiln_config c = kiln_config_at(s, 0), best = c;
    double least = -1;
    for (int i = 0; i < s->knob[BLOCK].n; i++)
        for (int k = 0; k < 2; k++) {
            c.option[BLOCK] = (int16_t)i;
            const double t = (k == 1 ? gain : 1) *
                             cycles_of(&x, s, &c, s->knob[BLOCK].value[i], k == 1);
            if (t < 0 || (least >= 0 && t >= least))
                continue;
            least = t;
            best = c;
        }
    const int64_t tiles =
        kiln_config_int(s, &best, BLOCK, 0) / kiln_config_int(s, &best, SCORE_ROWS, 0);
    if (wants_packed_keys(&x, tiles, kiln_config_int(s, &best, SCORE_COLUMNS, 0)))
        kiln_config_set_word(s, &best, PACK_K, "inside");
    kiln_cost cost = {0};
    kiln_node_cost(w->anchor, &cost);
    if (p->cores > 1 && kiln_is_worth_fork(p, (double)cost.muladds))
        kiln_config_set_word(
            s, &best, PARALLEL,
            divides(&x, kiln_config_int(s, &best, BLOCK, 0)) ? "blocks" : "batch");
    return best;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct build {
    const work *x;
    const plan *p;
    kiln_schedule *s;
    kiln_arena *arena;
    kiln_err *err;
} build;

static kiln_status check_tile(const build *b, int64_t tile_rows, int64_t columns,
                              int64_t all) {
    const int64_t n = kiln_ceil_div(columns < all ? columns : all, b->x->lanes);
    const int64_t need = kiln_tile_registers(tile_rows, n);
    if (need <= b->x->profile->vector_registers)
        return KILN_OK;
    return kiln_fail(b->err, KILN_ERR_ARG,
                     "a tile of %" PRId64 " rows by %" PRId64 " columns needs %" PRId64
                     " vector registers, '%s' has %d",
                     tile_rows, columns, need, b->x->profile->name,
                     b->x->profile->vector_registers);
}

/* One parallel loop of those over the batch, which are outermost. */
static kiln_status share_batch(const build *b, kiln_stage *y, kiln_iter *const *loop,
                               int n) {
    kiln_iter *fused = n > 0 ? loop[0] : NULL;
    for (int i = 1; i < n; i++)
        KILN_TRY(kiln_fuse(y, fused, loop[i], &fused, b->err));
    return fused != NULL && fused->extent > 1 ? kiln_parallel(y, fused, b->err)
                                              : KILN_OK;
}

/* Computed for one block, in memory that is its thread's. */
static kiln_status keep(build *b, kiln_stage *st, kiln_iter *block) {
    KILN_TRY(kiln_compute_at(st, b->s->stage.v[b->s->stage.n - 1], block, b->err));
    return kiln_set_scope(st, KILN_SCOPE_LOCAL, b->err);
}

/* Sums over the keys, tile by tile of the result: over all of them, or over parts, which
 * are added up in memory of the block's. */
static kiln_status mix_tiles(build *b, const kiln_tiles *t, kiln_stage *y,
                             const kiln_tile_loops *l) {
    kiln_stage *mixed = kiln_stage_tagged(b->s, "mixed"), *part;
    kiln_iter *j = kiln_stage_reduce(mixed, 0), *cut;
    kiln_tile_loops u;
    if (b->p->cut == 0) {
        KILN_TRY(kiln_compute_at(mixed, y, l->tile, b->err));
        return kiln_tiles_accumulate(mixed, t, 0, &j, 1, b->err);
    }
    KILN_TRY(kiln_split(mixed, j, b->p->cut, &cut, &j, b->err));
    KILN_TRY(kiln_rfactor(mixed, cut, &part, b->err));
    KILN_TRY(keep(b, mixed, l->block));
    KILN_TRY(kiln_tiles_nest(mixed, t, kiln_stage_reduce(mixed, 0), &u, b->err));
    KILN_TRY(kiln_compute_at(part, mixed, u.tile, b->err));
    j = kiln_stage_reduce(part, 0);
    return kiln_tiles_accumulate(part, t, 1, &j, 1, b->err);
}

/* The result in blocks and tiles; *block: the loop whose body does one block. */
static kiln_status mix(build *b, kiln_iter **block) {
    const work *at = b->x;
    kiln_stage *y = b->s->stage.v[b->s->stage.n - 1];
    kiln_tiles t = {.n_row = 1,
                    .has_col = true,
                    .lane_axis = -1,
                    .lanes = b->x->lanes,
                    .columns_outer = true,
                    .parallel =
                        b->p->shares_blocks ? KILN_TILES_BLOCKS : KILN_TILES_SERIAL,
                    .col = {at->col, b->p->mixed_columns, 0}};
    for (int i = 0; i < at->col; i++)
        if (axis_of(b->x, "perm_y", i) == at->row)
            t.row[0] = (kiln_tile_axis){i, b->p->mixed_rows, b->p->block};
        else
            t.outer[t.n_outer++] = i;
    kiln_tile_loops l;
    KILN_TRY(kiln_tiles_nest(y, &t, NULL, &l, b->err));
    KILN_TRY(kiln_tiles_fuse(y, &t, &l, b->err));
    if (b->p->shares_batch)
        KILN_TRY(share_batch(b, y, l.around, t.n_outer));
    *block = l.block;
    return mix_tiles(b, &t, y, &l);
}

/* Each row by a whole number of lines behind the one above it, an odd one: vectors of it
 * lie in one line each, and rows of one column in different sets of the cache. */
static kiln_status keep_rows(build *b, kiln_stage *st, kiln_iter *block) {
    const int32_t line = (int32_t)(kiln_line_bytes(b->x->profile) / (int)b->x->bytes);
    KILN_TRY(keep(b, st, block));
    return kiln_storage_align(st, b->x->row, 2 * line, line, b->err);
}

static kiln_status score(build *b, const kiln_te *k, kiln_iter *block) {
    const work *at = b->x;
    kiln_stage *scores = kiln_stage_tagged(b->s, "scores");
    kiln_stage *products = kiln_stage_tagged(b->s, "products"), *copy;
    kiln_tiles t = {.n_outer = at->row,
                    .n_row = 1,
                    .row = {{at->row, b->p->score_rows, 0}},
                    .has_col = true,
                    .col = {at->col, b->p->score_columns, 0},
                    .lane_axis = -1,
                    .lanes = b->x->lanes,
                    .columns_outer = b->p->columns_outer};
    kiln_tile_loops l;
    for (int i = 0; i < at->row; i++)
        t.outer[i] = i;
    KILN_TRY(keep_rows(b, scores, block));
    KILN_TRY(kiln_tiles_nest(scores, &t, NULL, &l, b->err));
    KILN_TRY(kiln_compute_at(products, scores, l.tile, b->err));
    kiln_iter *terms = kiln_stage_reduce(products, 0);
    KILN_TRY(kiln_tiles_accumulate(products, &t, 0, &terms, 1, b->err));
    if (!b->p->pack_k)
        return KILN_OK;
    return kiln_tile_copy(b->s, k, products, scores,
                          b->p->columns_outer ? l.outer : l.block, b->x->lanes, &copy,
                          b->err);
}

/* Row by row, along the keys. */
static kiln_status pass(build *b, const char *tag, kiln_iter *block) {
    const work *at = b->x;
    kiln_stage *st = kiln_stage_tagged(b->s, tag);
    kiln_nester n = {.arena = b->arena, .profile = b->x->profile, .err = b->err};
    int64_t extent[KILN_MAX_STAGE_AXES];
    kiln_accesses x;
    kiln_nest_outer outer;
    if (strcmp(tag, "weights") == 0)
        KILN_TRY(keep_rows(b, st, block));
    else
        KILN_TRY(keep(b, st, block));
    kiln_accesses_of(b->arena, st->te, &x);
    for (int i = 0; i < x.n_axes; i++)
        extent[i] = i < at->row ? 1 : x.extent[i];
    extent[at->row] = b->p->block < at->m ? b->p->block : at->m;
    /* The last axis, of weights or of what is reduced: its elements are neighbours. */
    const uint64_t keys = UINT64_C(1) << (x.n_axes - 1);
    const kiln_nest_plan nest = kiln_nest_plan_of(&n, &x, extent, keys);
    return kiln_nest_apply(&n, st, &x, extent, &nest, &outer);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    static const char *const passes[] = {"sum", "weights", "max"};
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    const work x = work_of(w, prof);
    const plan p = plan_of(s, c);
    build b = {.x = &x, .p = &p, .arena = a, .err = err};
    kiln_iter *block;
    KILN_TRY(check_tile(&b, p.score_rows, p.score_columns, x.s));
    KILN_TRY(check_tile(&b, p.mixed_rows, p.mixed_columns, x.e));
    KILN_TRY(kiln_graph_compute(a, w->graph, NULL, true, &made.te, err));
    b.s = made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                            made.te.n_args - made.te.n_inputs);
    const kiln_te *k = made.te.value[w->anchor->in[1]->id].te;
    KILN_TRY(mix(&b, &block));
    for (int i = 0; i < COUNT(passes); i++)
        KILN_TRY(pass(&b, passes[i], block));
    KILN_TRY(score(&b, k, block));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_attention = {
    .name = "attention",
    .doc = "Attention in blocks of queries: their scores stay in a cache.",
    .takes = KILN_TAKES_PLAIN,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
