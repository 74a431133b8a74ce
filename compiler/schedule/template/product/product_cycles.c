/* A matrix product's loops for the cycle model: batch, blocks of columns, of rows, cuts
 * of k, outer panels, inner panels, terms. */
#include "compiler/schedule/template/product/product.h"

enum { BATCH, COLUMN_BLOCKS, ROW_BLOCKS, CUTS, OUTER, INNER, TERMS, N_LOOPS };

typedef struct sizes {
    double m, n, k;              /* of all */
    double rows, columns, terms; /* of a block and a cut */
    double tile_m, tile_n;
} sizes;

static double least(double x, double y) { return x < y ? x : y; }

static sizes sizes_of(const kiln_product *x, const kiln_product_plan *p) {
    sizes s = {.m = (double)x->m, .n = (double)x->n, .k = (double)x->k};
    s.tile_m = least((double)p->tile_m, s.m);
    s.tile_n = least((double)p->tile_n, s.n);
    s.rows = p->block_m > 0 ? least((double)(p->block_m * p->tile_m), s.m) : s.m;
    s.columns = p->block_n > 0 ? least((double)(p->block_n * p->tile_n), s.n) : s.n;
    s.terms = p->block_k > 0 ? least((double)p->block_k, s.k) : s.k;
    return s;
}

/* Of an axis of the output: a tile, a block, all of it. */
typedef struct axis {
    double tile, block, all;
} axis;

/* How much of an axis of the output is touched while the loops of depth >= d run. */
static double reach(axis x, int d, int panels, int blocks) {
    return d > panels ? x.tile : d > blocks ? x.block : x.all;
}

static double reach_k(const sizes *s, int d) {
    return d > TERMS ? 1 : d > CUTS ? s->terms : s->k;
}

/* Cycles of the copies of rows of a, one for each part: a loop of its own over rows that
 * meet in the sets of the L1 cache (m=20 k=512 n=2048 on Zen 5: 13% of the time). Each
 * vector comes from the L2 cache, is loaded and stored, and pushes another out. */
static double copies_of(const kiln_product *x, double parts, const sizes *s,
                        double a_bytes) {
    const kiln_core *c = &x->profile->core;
    const double vectors =
        parts * s->rows * s->terms * a_bytes / x->profile->vector_bytes;
    return vectors * (2.0 * x->profile->vector_bytes / c->l2_rate +
                      1.0 / c->load_ports + 1.0 / c->store_ports);
}

/* Cycles of sums that are kept between cuts, beside what loads, adds and stores them
 * (kiln_tile_entry_cycles): they come from and go to the L2 cache, or the one behind it
 * where a block's do not stay, and are copied to the output behind the last cut. */
static double sums_of(const kiln_product *x, const sizes *s, double y_bytes) {
    const kiln_core *c = &x->profile->core;
    const double all = (double)x->batch * s->m * s->n * y_bytes;
    const bool stay =
        s->rows * s->columns * y_bytes <= (double)kiln_cache_l2(x->profile) / 4;
    const double rate = stay ? c->l2_rate : kiln_rate_behind_l2(x->profile);
    const double moved = (2 * s->k / s->terms + 1) * all;
    return moved / rate + all / x->profile->vector_bytes *
                              (1.0 / c->load_ports + 1.0 / c->store_ports);
}

kiln_cycles kiln_product_cycles(const kiln_product *x, const kiln_product_plan *p,
                                int threads) {
    const sizes s = sizes_of(x, p);
    const axis row = {s.tile_m, s.rows, s.m}, col = {s.tile_n, s.columns, s.n};
    const int row_panels = p->columns_outer ? INNER : OUTER;
    const int col_panels = p->columns_outer ? OUTER : INNER;
    const double a_bytes = (double)x->a_row_bytes / s.k;
    const double b_bytes = (double)kiln_dtype_bytes(x->b->type.dtype);
    const double y_bytes = (double)x->profile->vector_bytes / (double)x->lanes;
    const double row_count = s.rows / s.tile_m, col_count = s.columns / s.tile_n;
    const double vectors = s.tile_n / (double)x->lanes;
    const double width = vectors < 1 ? 1 : vectors;
    kiln_cycles_nest n = {.n_loops = N_LOOPS,
                          .extent = {[BATCH] = (double)x->batch,
                                     [COLUMN_BLOCKS] = s.n / s.columns,
                                     [ROW_BLOCKS] = s.m / s.rows,
                                     [CUTS] = s.k / s.terms,
                                     [OUTER] = p->columns_outer ? col_count : row_count,
                                     [INNER] = p->columns_outer ? row_count : col_count,
                                     [TERMS] = s.terms},
                          .n_streams = 3,
                          .muladds = s.tile_m * width,
                          .chains = s.tile_m * width,
                          .loads = s.tile_m + width,
                          .share = 1,
                          .parallel = (double)p->parallel};
    n.entry = kiln_tile_entry_cycles(x->profile, s.tile_m * width, s.terms < s.k);
    kiln_cycles_stream *a = &n.stream[0], *b = &n.stream[1], *y = &n.stream[2];
    b->is_cold = x->is_const_b;
    y->is_written = true;
    for (int d = 0; d <= N_LOOPS; d++) {
        const double r = reach(row, d, row_panels, ROW_BLOCKS);
        const double c = reach(col, d, col_panels, COLUMN_BLOCKS);
        const double k = reach_k(&s, d), batch = d > BATCH ? 1 : (double)x->batch;
        a->bytes[d] = batch * r * k * a_bytes;
        b->bytes[d] = (x->is_const_b ? 1 : batch) * c * k * b_bytes;
        if (d == INNER && p->fetches)
            b->bytes[d] = least(2 * b->bytes[d], b->bytes[d - 1]);
        /* Of the output only what is stored when the terms are summed. */
        y->bytes[d] = batch * r * c * y_bytes / (d > TERMS ? s.terms : 1);
    }
    kiln_cycles c = kiln_cycles_of_nest(x->profile, &n, threads);
    const double used = p->parallel > 1 ? least(threads, (double)p->parallel) : 1;
    if (s.terms < s.k) {
        const double sums = sums_of(x, &s, y_bytes) / used;
        c.core += sums;
        c.all += sums;
    }
    if (p->pack_a) {
        const double blocks = (double)x->batch * (s.n / s.columns) * (s.m / s.rows);
        const double parts = p->parallel > 1 ? (double)p->parallel : blocks;
        const double cuts = s.k / s.terms;
        const double copy =
            cuts * copies_of(x, parts, &s, a_bytes) / least(threads, parts);
        c.core += copy;
        c.all += copy;
    }
    return c;
}
