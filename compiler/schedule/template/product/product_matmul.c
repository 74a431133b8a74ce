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
 * that a panel is read in one stream, and fetched (product_fetch.c); another b may be packed so on the way. Rows of a
 * may be copied next to each other: with rows of 4 KiB they would all fall into the
 * same sets of the L1 cache.
 *
 * f16 and bf16 are summed in f32 (the operator's compute says so). */
#include "compiler/schedule/template/product/product_matmul.h"

#include <inttypes.h>

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

bool kiln_matmul_is_by_itself(const kiln_product *x) { return x->a == x->b; }

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
               COUNT(column_panels), kiln_ceil_div(x.n, x.lanes));
    add_blocks(s, "block_k", "terms summed before the next panel; 0: all", cuts,
               COUNT(cuts), x.k);
    kiln_space_add_up_to(s, "unroll_k", "copies of the body of the k loop", unrolls,
                         COUNT(unrolls), x.k);
    kiln_space_add_words(s, "order", "which panels are the outer loop in a block",
                         order, 2);
    kiln_space_add_words(s, "pack_a", "copy rows of a next to each other", pack_a,
                         x.m > 1 && !kiln_matmul_is_by_itself(&x) ? 2 : 1);
    kiln_space_add_words(s, "pack_b", "panels of b in one piece",
                         x.is_const_b ? ahead : inside,
                         x.col >= 0 && !kiln_matmul_is_by_itself(&x) ? 2 : 1);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         kiln_tiles_parallel_words, KILN_N_TILES_PARALLEL);
    return KILN_OK;
}

kiln_matmul_plan kiln_matmul_plan_of(const kiln_space *s, const kiln_config *c) {
    const kiln_matmul_plan p = {
        .tile_m = kiln_config_int(s, c, KILN_MATMUL_TILE_M, 0),
        .tile_n = kiln_config_int(s, c, KILN_MATMUL_TILE_N, 0),
        .block_m = kiln_config_int(s, c, KILN_MATMUL_BLOCK_M, 0),
        .block_n = kiln_config_int(s, c, KILN_MATMUL_BLOCK_N, 0),
        .block_k = kiln_config_int(s, c, KILN_MATMUL_BLOCK_K, 0),
        .unroll_k = kiln_config_int(s, c, KILN_MATMUL_UNROLL_K, 0),
        .columns_outer = kiln_config_is(s, c, KILN_MATMUL_ORDER, "columns"),
        .pack_a = kiln_config_is(s, c, KILN_MATMUL_PACK_A, "rows"),
        .pack_b_ahead = kiln_config_is(s, c, KILN_MATMUL_PACK_B, "ahead"),
        .pack_b_inside = kiln_config_is(s, c, KILN_MATMUL_PACK_B, "inside"),
        .parallel = (kiln_tiles_parallel)c->option[KILN_MATMUL_PARALLEL],
    };
    return p;
}

static int64_t vectors_of(const kiln_product *x, int64_t columns) {
    const int64_t n = columns < x->n ? columns : x->n;
    return kiln_ceil_div(n, x->lanes);
}

static kiln_status check(const kiln_product *x, const kiln_matmul_plan *p,
                         kiln_err *err) {
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
    const kiln_matmul_plan *p;
    kiln_tiles tiles;
    kiln_schedule *s;
    kiln_err *err;
} build;

static kiln_tiles tiles_of(const kiln_product *x, const kiln_matmul_plan *p) {
    kiln_tiles t = kiln_product_tiles(x, p->tile_m, p->tile_n, p->block_m, p->block_n);
    t.columns_outer = p->columns_outer;
    t.parallel = p->parallel;
    return t;
}

/* What follows a panel: the one behind it; where terms are cut, of its own if it is by
 * itself, else of the next one, and behind the last of the first. */
static kiln_product_walk walk_of(const build *b, const kiln_tile_loops *loops,
                                 kiln_iter *k) {
    const kiln_matmul_plan *p = b->p;
    const kiln_tile_counts n =
        kiln_product_counts(b->x, p->tile_m, p->tile_n, p->block_m, p->block_n, true);
    const int64_t panel = b->x->k * p->tile_n, part = p->block_k * p->tile_n;
    kiln_product_walk w = {.rows = loops->tile,
                           .n_rows = n.inner,
                           .k = k,
                           .terms = b->x->k,
                           .tile_n = p->tile_n,
                           .next = panel};
    if (p->block_k == 0)
        return w;
    w.terms = p->block_k;
    if (p->parallel >= KILN_TILES_OUTER || n.outer == 1) {
        w.next = part;
    } else {
        w.cols = loops->outer;
        w.last_next = part - (n.outer - 1) * panel;
    }
    return w;
}

/* k is the stage's only reduction axis; `loops` are those around the register tile. */
static kiln_status accumulate(build *b, const kiln_te_graph *te, kiln_stage *st,
                              int skip, const kiln_tile_loops *loops) {
    kiln_iter *k[2];
    KILN_TRY(
        kiln_split(st, kiln_stage_reduce(st, 0), b->p->unroll_k, &k[0], &k[1], b->err));
    KILN_TRY(kiln_unroll(st, k[1], b->err));
    const kiln_product_walk walk = walk_of(b, loops, k[0]);
    const kiln_te *source = te->value[kiln_product_source_of_b(b->x)->id].te;
    if (b->p->pack_b_ahead && b->p->columns_outer)
        KILN_TRY(kiln_product_fetch(b->x, st, source, &walk, b->err));
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
        /* Rows begin in different sets of the L1 cache: a line past a multiple of as
         * many lines as a tile has rows, or more. */
        const int32_t line = (int32_t)kiln_line_bytes(b->x->profile) / bytes;
        if (b->x->a_along_k && ta->rank > 1)
            KILN_TRY(kiln_storage_align(copy, ta->rank - 2, 16 * line, line, b->err));
    }
    if (b->p->pack_b_inside)
        KILN_TRY(copy_of(b, tb, reader, at, panel, &copy));
    return KILN_OK;
}

static kiln_status schedule(build *b, const kiln_te_graph *te, kiln_stage *acc,
                            kiln_stage *out) {
    const kiln_matmul_plan *p = b->p;
    kiln_tile_loops t, u;
    KILN_TRY(kiln_tiles_nest(out, &b->tiles, NULL, &t, b->err));
    KILN_TRY(kiln_tiles_fuse(out, &b->tiles, &t, b->err));
    if (p->block_k == 0) {
        KILN_TRY(kiln_compute_at(acc, out, t.tile, b->err));
        KILN_TRY(accumulate(b, te, acc, 0, &t));
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
    KILN_TRY(accumulate(b, te, part, 1, &u));
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
    const kiln_matmul_plan p = kiln_matmul_plan_of(s, c);
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

const kiln_template kiln_template_matmul = {
    .name = "matmul",
    .doc = "Matrix products in cache blocks and register tiles, b in panels.",
    .takes = KILN_TAKES_PLAIN,
    .fits = fits,
    .space = space,
    .guess = kiln_matmul_guess,
    .apply = apply,
};
