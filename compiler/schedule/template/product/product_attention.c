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
 * Queries, v and the result may be in any order of axes with columns next to each
 * other, keys with rows next to each other. */
#include "compiler/schedule/template.h"

#include "compiler/schedule/template/template_nest.h"
#include "compiler/schedule/template/shares.h"
#include "compiler/schedule/template/tiles.h"

#include <inttypes.h>

enum {
    BLOCK,
    SCORE_ROWS,
    SCORE_COLUMNS,
    MIXED_ROWS,
    MIXED_COLUMNS,
    ORDER,
    PACK_K,
    PARALLEL
};

static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};
static const int64_t vectors[] = {1, 2, 3, 4, 6, 8};
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
    int64_t wide[COUNT(vectors)];
    for (int i = 0; i < COUNT(vectors); i++)
        wide[i] = vectors[i] * x->lanes;
    kiln_space_add_up_to(s, row, "rows of the register tile", rows, COUNT(rows), x->m);
    kiln_space_add_up_to(s, column, "columns of the register tile", wide, COUNT(wide),
                         columns);
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
    return KILN_OK;
}

typedef struct plan {
    int64_t block, score_rows, score_columns, mixed_rows, mixed_columns;
    bool columns_outer, pack_k, shares_batch, shares_blocks;
} plan;

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    return (plan){.block = kiln_config_int(s, c, BLOCK, 0),
                  .score_rows = kiln_config_int(s, c, SCORE_ROWS, 0),
                  .score_columns = kiln_config_int(s, c, SCORE_COLUMNS, 0),
                  .mixed_rows = kiln_config_int(s, c, MIXED_ROWS, 0),
                  .mixed_columns = kiln_config_int(s, c, MIXED_COLUMNS, 0),
                  .columns_outer = kiln_config_is(s, c, ORDER, "columns"),
                  .pack_k = kiln_config_is(s, c, PACK_K, "inside"),
                  .shares_batch = kiln_config_is(s, c, PARALLEL, "batch"),
                  .shares_blocks = kiln_config_is(s, c, PARALLEL, "blocks")};
}

/* ---- guess ----------------------------------------------------------------------- */

/* Sets the tile that takes least, and says how much for one term. Rows that are left over
 * take as long as a whole tile (blocks of 16 rows in tiles of 8 and of 6 on Zen 5: 0.263
 * and 0.287 ms for 12 heads of 128 tokens). */
static double guess_tile(const work *x, const kiln_space *s, kiln_config *c, int row,
                         int64_t n_rows, int64_t columns) {
    const int64_t all = kiln_ceil_div(columns, x->lanes);
    double best = -1;
    for (int i = 0; i < s->knob[row].n; i++)
        for (int k = 0; k < s->knob[row + 1].n; k++) {
            const int64_t wide = kiln_ceil_div(s->knob[row + 1].value[k], x->lanes);
            const int64_t m = s->knob[row].value[i], n = wide < all ? wide : all;
            const double t =
                kiln_tiles_cycles(x->profile, kiln_ceil_div(n_rows, m) * m, all, m, n);
            if (kiln_tile_registers(m, n) > x->profile->vector_registers ||
                (best >= 0 && t >= best))
                continue;
            best = t;
            c->option[row] = (int16_t)i;
            c->option[row + 1] = (int16_t)k;
        }
    return best;
}

/* Bytes a cycle from where so many bytes lie that are read again and again. */
static double rate_of(const kiln_profile *p, int64_t bytes) {
    if (bytes <= kiln_cache_l1(p) / 2)
        return (double)p->core.load_ports * p->vector_bytes;
    return bytes <= kiln_cache_l2(p) / 2 ? p->core.l2_rate : kiln_rate_behind_l2(p);
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

/* Cycles of all blocks of so many queries: products, while keys and v come from where
 * they lie, and passes over the scores (written, read for the maximum and for exp,
 * weights written, summed and read). */
static double cycles_of(const work *x, const kiln_space *s, kiln_config *c,
                        int64_t block) {
    enum { PASSES = 6 };
    const int64_t scores = block * x->s * x->bytes;
    const int64_t read = x->s * (x->d + x->e) * x->bytes;
    const int64_t blocks = kiln_ceil_div(x->m, block);
    const int64_t shared = divides(x, block) ? x->batch * blocks : x->batch;
    const double products =
        (double)x->d * guess_tile(x, s, c, SCORE_ROWS, block, x->s) +
        (double)x->s * guess_tile(x, s, c, MIXED_ROWS, block, x->e);
    /* Weights follow their scores query by query: half of both are in use together. */
    const double come = (double)read / rate_of(x->profile, read + scores);
    const double passes = (double)(PASSES * scores) / rate_of(x->profile, scores);
    return (double)(x->batch * blocks) * kiln_share_loss(shared, x->profile->cores) *
           (together(products, come) + passes);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    const work x = work_of(w, p);
    kiln_config c = kiln_config_at(s, 0), best = c;
    double least = -1;
    for (int i = 0; i < s->knob[BLOCK].n; i++) {
        const int64_t block = s->knob[BLOCK].value[i];
        c.option[BLOCK] = (int16_t)i;
        const double t = cycles_of(&x, s, &c, block);
        if (least >= 0 && t >= least)
            continue;
        least = t;
        best = c;
    }
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

/* The result in blocks and tiles; *block: the loop whose body does one block. */
static kiln_status mix(build *b, kiln_iter **block) {
    const work *at = b->x;
    kiln_stage *y = b->s->stage.v[b->s->stage.n - 1];
    kiln_stage *mixed = kiln_stage_tagged(b->s, "mixed");
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
    KILN_TRY(kiln_compute_at(mixed, y, l.tile, b->err));
    kiln_iter *j = kiln_stage_reduce(mixed, 0);
    *block = l.block;
    return kiln_tiles_accumulate(mixed, &t, 0, &j, 1, b->err);
}

/* Computed for one block, in memory that is its thread's. */
static kiln_status keep(build *b, kiln_stage *st, kiln_iter *block) {
    KILN_TRY(kiln_compute_at(st, b->s->stage.v[b->s->stage.n - 1], block, b->err));
    return kiln_set_scope(st, KILN_SCOPE_LOCAL, b->err);
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
    KILN_TRY(keep(b, scores, block));
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
