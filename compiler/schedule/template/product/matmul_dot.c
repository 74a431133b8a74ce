/* matmul_dot: matrix products of operands that both lie along the terms: a matrix by a
 * vector, a by the transpose of b.
 *
 * Vectors run along k. Each element of a tile of y has vectors of partial sums in
 * registers, which are added up at its end:
 *
 *     for batch, column panel, row panel           in blocks, one parallel loop
 *         part[tile_m][tile_n][lanes] = 0          registers
 *         for k in vectors: part += a[tile_m, k..] * b[tile_n, k..]
 *         y = epilogue(sum over lanes of part)
 *
 * A constant b of many columns is packed for the matmul template, but for a large table by
 * one row: it comes from memory once either way, and where it is looked up too (words of
 * a language model) it is not there twice. One of few columns, whose sums in the matmul
 * template would wait for themselves, has its columns laid out along the terms ahead. */
#include "compiler/schedule/template/product/product.h"

#include <inttypes.h>

enum { TILE_M, TILE_N, VECTORS, UNROLL_K, BLOCK_M, ORDER, PARALLEL, N_KNOBS };

typedef struct plan {
    int64_t tile_m, tile_n, vectors, unroll_k, block_m;
    bool columns_outer;
    kiln_tiles_parallel parallel;
} plan;

/* What a template fits must not depend on what a core was measured to do: twice what
 * adding up 16 lanes takes; and as many columns as sums of one row hide a latency of
 * four cycles on one port, so that more never wait for themselves. */
enum { MIN_VECTORS = 16, FEW_VECTORS = 4 };

static bool is_long(const kiln_product *x) { return x->k >= MIN_VECTORS * x->lanes; }

/* One row by a constant, whose sums over lanes are few beside its terms. */
static bool is_long_row(const kiln_product *x) {
    return x->m == 1 && x->batch == 1 && x->b_along_k && is_long(x);
}

/* Long rows by a constant of few columns, along the terms or turned so ahead. */
static bool has_few_columns(const kiln_product *x) {
    return x->batch == 1 && x->b->type.rank == 2 && x->a != x->b &&
           x->n <= FEW_VECTORS * x->lanes && is_long(x);
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    if (!kiln_product_fits(w))
        return false;
    const kiln_product x = kiln_product_of(w, p);
    if (x.is_const_b && x.n > 1)
        return x.a_along_k && (is_long_row(&x) || has_few_columns(&x));
    return x.a_along_k && x.b_along_k;
}

static const int64_t tiles[] = {1, 2, 3, 4, 6, 8, 12, 16};
static const int64_t few[] = {1, 2, 4, 8};
static const int64_t panels[] = {0, 1, 2, 4, 8, 16, 32, 64};
#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    static const char *const order[] = {"columns", "rows"};
    (void)err;
    const kiln_product x = kiln_product_of(w, p);
    const int64_t n_vectors = (x.k + x.lanes - 1) / x.lanes;
    kiln_space_add_up_to(s, "tile_m", "rows of the register tile", tiles, COUNT(tiles),
                         x.m);
    kiln_space_add_up_to(s, "tile_n", "columns of the register tile", tiles,
                         COUNT(tiles), x.n);
    kiln_space_add_up_to(s, "vectors", "vectors of partial sums of an element", few,
                         COUNT(few), n_vectors);
    kiln_space_add_up_to(s, "unroll_k", "copies of the body of the k loop", few,
                         COUNT(few), n_vectors);
    kiln_space_add_up_to(s, "block_m", "row panels in a block; 0: all", panels,
                         COUNT(panels), x.m);
    kiln_space_add_words(s, "order", "which panels are the outer loop in a block",
                         order, 2);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         kiln_tiles_parallel_words, KILN_N_TILES_PARALLEL);
    return KILN_OK;
}

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    const plan p = {
        .tile_m = kiln_config_int(s, c, TILE_M, 0),
        .tile_n = kiln_config_int(s, c, TILE_N, 0),
        .vectors = kiln_config_int(s, c, VECTORS, 0),
        .unroll_k = kiln_config_int(s, c, UNROLL_K, 0),
        .block_m = kiln_config_int(s, c, BLOCK_M, 0),
        .columns_outer = kiln_config_is(s, c, ORDER, "columns"),
        .parallel = (kiln_tiles_parallel)c->option[PARALLEL],
    };
    return p;
}

/* Columns of which a tile has sums: more than a vector's are whole vectors of y. */
static int64_t summed_columns(const kiln_product *x, int64_t tile_n) {
    return tile_n <= x->lanes ? tile_n : (tile_n + x->lanes - 1) / x->lanes * x->lanes;
}

/* Partial sums, and what they are multiplied from: the vectors of one operand; the
 * other's come from memory. */
static int64_t registers(const kiln_product *x, int64_t tile_m, int64_t tile_n,
                         int64_t vectors) {
    const int64_t n = summed_columns(x, tile_n);
    return (tile_m * n + (tile_m < n ? tile_m : n)) * vectors + 1;
}

static kiln_status check(const kiln_product *x, const plan *p, kiln_err *err) {
    enum { MAX_BODY = 256 }; /* multiply-adds of one unrolled body, for LLVM's sake */
    const int64_t need = registers(x, p->tile_m, p->tile_n, p->vectors);
    const int64_t body = p->tile_m * p->tile_n * p->vectors * p->unroll_k;
    if (need > x->profile->vector_registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tile_m %" PRId64 " by tile_n %" PRId64 " by vectors %" PRId64
                         " needs %" PRId64 " vector registers, '%s' has %d",
                         p->tile_m, p->tile_n, p->vectors, need, x->profile->name,
                         x->profile->vector_registers);
    if (body > MAX_BODY)
        return kiln_fail(err, KILN_ERR_ARG,
                         "unroll_k %" PRId64 " makes a body of %" PRId64
                         " multiply-adds, at most %d",
                         p->unroll_k, body, MAX_BODY);
    return KILN_OK;
}

/* ---- schedule -------------------------------------------------------------------- */

/* The partial sums: their lanes are the last axis. */
static kiln_status accumulate(kiln_stage *part, const kiln_product *x, const plan *p,
                              kiln_err *err) {
    kiln_iter *order[KILN_MAX_AXES], *lane,
        *all = kiln_stage_axis(part, part->te->rank - 1);
    int n = 2;
    KILN_TRY(kiln_split(part, kiln_stage_reduce(part, 0), p->unroll_k, &order[0],
                        &order[1], err));
    KILN_TRY(kiln_unroll(part, order[1], err));
    if (x->row >= 0)
        order[n++] = kiln_stage_axis(part, x->row);
    if (x->col >= 0)
        order[n++] = kiln_stage_axis(part, x->col);
    for (int i = 2; i < n; i++)
        KILN_TRY(kiln_unroll(part, order[i], err));
    KILN_TRY(kiln_split(part, all, x->lanes, &order[n], &lane, err));
    KILN_TRY(kiln_unroll(part, order[n++], err));
    KILN_TRY(kiln_vectorize(part, lane, err));
    order[n++] = lane;
    KILN_TRY(kiln_reorder(part, order, (size_t)n, err));
    return kiln_set_scope(part, KILN_SCOPE_REGISTER, err);
}

static kiln_status unroll_first(kiln_stage *st, size_t n, kiln_err *err) {
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_unroll(st, st->leaf.v[i], err));
    return kiln_set_scope(st, KILN_SCOPE_REGISTER, err);
}

/* The `n` partial sums of each element as a tree: vectors to one, then its halves, so
 * that no sum waits for one lane after the other. */
static kiln_status add_up(kiln_stage *acc, kiln_stage *y, kiln_iter *tile, int64_t n,
                          int64_t lanes, kiln_err *err) {
    for (int64_t to = n > lanes ? lanes : n / 2; to > 1; to /= 2) {
        kiln_iter *rest, *kept, *order[KILN_MAX_AXES];
        kiln_stage *sum;
        KILN_TRY(kiln_split(acc, kiln_stage_reduce(acc, 0), to, &rest, &kept, err));
        KILN_TRY(kiln_rfactor_axis(acc, kept, acc->te->rank, &sum, err));
        KILN_TRY(kiln_compute_at(sum, y, tile, err));
        int at = 0;
        order[at++] = kiln_stage_reduce(sum, 0);
        for (int i = 0; i < sum->te->rank; i++)
            order[at++] = kiln_stage_axis(sum, i);
        KILN_TRY(kiln_reorder(sum, order, (size_t)at, err));
        KILN_TRY(unroll_first(sum, sum->leaf.n - 1, err));
        KILN_TRY(kiln_vectorize(sum, order[at - 1], err));
    }
    return unroll_first(acc, acc->leaf.n, err);
}

/* A constant b whose columns do not lie along the terms is packed so. */
static const kiln_layout *layouts_of(kiln_arena *a, const kiln_product *x) {
    const size_t n = x->w->graph->values.n;
    if (x->b_along_k)
        return NULL;
    kiln_layout *layout = kiln_array(a, kiln_layout, n);
    for (size_t i = 0; i < n; i++)
        layout[i] = x->w->graph->values.v[i]->type.layout;
    for (const kiln_value *v = x->b;; v = v->def->in[0]) {
        layout[v->id] = (kiln_layout){.n_order = 2, .order = {1, 0}};
        if (v == kiln_product_source_of_b(x))
            return layout;
    }
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_product x = kiln_product_of(w, prof);
    const plan p = plan_of(s, c);
    kiln_stage *acc, *y, *part;
    kiln_iter *outer, *lanes;
    kiln_tile_loops t;
    KILN_TRY(check(&x, &p, err));
    KILN_TRY(kiln_product_compute(a, &x, layouts_of(a, &x), out, &acc, &y, err));
    kiln_tiles loops = kiln_product_tiles(&x, p.tile_m, p.tile_n, p.block_m, 0);
    loops.columns_outer = p.columns_outer;
    loops.parallel = p.parallel;
    KILN_TRY(kiln_tiles_nest(y, &loops, NULL, &t, err));
    KILN_TRY(kiln_tiles_fuse(y, &loops, &t, err));
    KILN_TRY(kiln_split(acc, kiln_stage_reduce(acc, 0), x.lanes * p.vectors, &outer,
                        &lanes, err));
    KILN_TRY(kiln_rfactor_axis(acc, lanes, acc->te->rank, &part, err));
    KILN_TRY(kiln_compute_at(acc, y, t.tile, err));
    KILN_TRY(kiln_compute_at(part, y, t.tile, err));
    KILN_TRY(accumulate(part, &x, &p, err));
    return add_up(acc, y, t.tile, x.lanes * p.vectors, x.lanes, err);
}

/* ---- without a search ------------------------------------------------------------ */

/* A matrix by a vector that comes from memory is as fast as that: of one stream, which
 * is what the hardware fetches ahead. On Zen 5, of 50257 rows of 768 elements, one at a
 * time took 3.3 ms, two 4.3, sixteen 4.1. */
static bool is_stream(const kiln_product *x) {
    const kiln_type *t = x->m == 1 ? &x->b->type : &x->a->type;
    return (x->m == 1 || x->n == 1) &&
           kiln_type_elems(t) * (int64_t)kiln_dtype_bytes(t->dtype) >
               kiln_cache_l2(x->profile);
}

/* Of one multiply-add of vectors, in a tile of m x n elements: what loads and sums take,
 * adding up to one number at the end, and what is multiplied with the zeros of a tail. */
static double cost_of(const kiln_product *x, int64_t m, int64_t n, int64_t vectors) {
    const kiln_core *core = &x->profile->core;
    const int64_t terms = x->lanes * vectors, steps = (x->k + terms - 1) / terms;
    const int64_t columns = summed_columns(x, n);
    const double work = (double)(m * columns * vectors) / core->fma_ports;
    const double loads = (double)((m + columns) * vectors) / core->load_ports;
    const double most = work > loads ? work : loads;
    const double least = core->fma_latency;
    const double cycles = (most > least ? most : least) + 0.2 * loads;
    double adds = (double)vectors - 1;
    for (int64_t i = x->lanes; i > 1; i /= 2)
        adds += 2; /* and a shuffle */
    const double sums = adds / core->fma_ports;
    return (cycles / (double)(m * n * vectors) +
            sums / (double)(vectors * (steps > 0 ? steps : 1))) *
           (double)(steps * terms);
}

/* The tile that takes least for what it computes; how much that is for an element. */
static double guess_tile(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    const bool is_single = is_stream(x);
    double best = 0;
    for (int i = 0; i < s->knob[TILE_M].n; i++)
        for (int k = 0; k < s->knob[TILE_N].n; k++)
            for (int v = 0; v < s->knob[VECTORS].n; v++) {
                const int64_t m = s->knob[TILE_M].value[i],
                              n = s->knob[TILE_N].value[k];
                const int64_t vectors = s->knob[VECTORS].value[v];
                const double cost = cost_of(x, m, n, vectors);
                if (registers(x, m, n, vectors) > x->profile->vector_registers ||
                    (is_single && m * n > 1) || (best > 0 && cost >= best))
                    continue;
                best = cost;
                c->option[TILE_M] = (int16_t)i;
                c->option[TILE_N] = (int16_t)k;
                c->option[VECTORS] = (int16_t)v;
            }
    return best / (double)x->lanes;
}

/* A body of less than four cycles is there twice, so that its loop counts for less. */
static void guess_unroll(const kiln_product *x, const kiln_space *s, kiln_config *c) {
    const int64_t small = 4 * (int64_t)x->profile->core.fma_ports;
    const int64_t vectors = kiln_config_int(s, c, VECTORS, 0), two = 2;
    const int64_t body =
        vectors * kiln_config_int(s, c, TILE_M, 0) * kiln_config_int(s, c, TILE_N, 0);
    if (body < small && x->k % (2 * vectors * x->lanes) == 0)
        kiln_config_set(s, c, UNROLL_K, &two);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    const kiln_product x = kiln_product_of(w, prof);
    kiln_config c = kiln_config_at(s, 0);
    guess_tile(&x, s, &c);
    const int64_t m = kiln_config_int(s, &c, TILE_M, 0);
    const int64_t n = kiln_config_int(s, &c, TILE_N, 0);
    guess_unroll(&x, s, &c);
    c.option[PARALLEL] = (int16_t)kiln_tiles_guess_parallel(
        prof,
        kiln_product_counts(&x, m, n, 0, 0, kiln_config_is(s, &c, ORDER, "columns")),
        kiln_product_muladds(&x), KILN_TILES_ALL);
    return c;
}

/* ---- beside matmul --------------------------------------------------------------- */

/* Of the register tile that the matmul template would take: its columns are whole
 * vectors, and sums of few of them wait for themselves. */
static double packed_cycles(const kiln_product *x) {
    enum { MOST_ROWS = 28, MOST_VECTORS = 16 };
    const int64_t all = (x->n + x->lanes - 1) / x->lanes;
    double best = 0;
    for (int64_t m = 1; m <= x->m && m <= MOST_ROWS; m++)
        for (int64_t n = 1; n <= all && n <= MOST_VECTORS; n++) {
            const double t = kiln_tiles_cycles(x->profile, x->m, all, m, n, false);
            if (kiln_tile_registers(m, n) <= x->profile->vector_registers &&
                (best == 0 || t < best))
                best = t;
        }
    return best * (double)x->k;
}

static int64_t bytes_of_b(const kiln_product *x) {
    return x->k * x->n * (int64_t)kiln_dtype_bytes(x->b->type.dtype);
}

/* Rows of a and columns of b that a tile's loads bring again, from the L2 cache where the
 * L1 cache does not keep them from one tile to the next (m=24 k=3000 n=16 on Zen 5:
 * 1.5 times what the matmul template takes). */
static double again_cycles(const kiln_product *x, int64_t tile_m, int64_t tile_n) {
    const double bytes = (double)kiln_dtype_bytes(x->b->type.dtype);
    const double m = (double)x->m, n = (double)x->n, k = (double)x->k * bytes;
    const double rows = (double)(tile_m + tile_n);
    const double once = (m + n) * k;
    const double all = m * n * k * (1 / (double)tile_m + 1 / (double)tile_n);
    if (rows * k <= (double)kiln_cache_l1(x->profile) / 2 || all <= once)
        return 0;
    return (all - once) / x->profile->core.l2_rate;
}

/* Few columns: where it takes less than the matmul template, while b comes. */
static bool sums_pay(const kiln_workload *w, const kiln_product *x) {
    static const double least_gain = 1.15;
    kiln_arena scratch = {0};
    kiln_space s;
    kiln_space_init(&s, &scratch);
    const kiln_status st = space(w, x->profile, &s, NULL);
    kiln_config c = kiln_config_at(&s, 0);
    const int64_t bytes = bytes_of_b(x);
    const double stream = (double)bytes / (bytes > kiln_cache_l2(x->profile) / 2
                                               ? kiln_rate_behind_l2(x->profile)
                                               : x->profile->core.l2_rate);
    double sums = guess_tile(x, &s, &c) * (double)(x->m * x->n);
    sums = (sums > stream ? sums : stream) +
           again_cycles(x, kiln_config_int(&s, &c, TILE_M, 0),
                        kiln_config_int(&s, &c, TILE_N, 0));
    kiln_arena_fini(&scratch);
    return st == KILN_OK && sums * least_gain < packed_cycles(x);
}

/* A table that comes from memory, and whose rows are whole cache lines: loads of others
 * take two. Packed it was as fast on Zen 5 (768 terms), and 5 to 20% faster where rows
 * begin anywhere (650, 3130 terms), or 7 to 40% where it comes from the L3 cache. */
static bool is_far_table(const kiln_product *x) {
    return is_long_row(x) && bytes_of_b(x) > kiln_cache_reach(x->profile) &&
           bytes_of_b(x) / x->n % kiln_line_bytes(x->profile) == 0;
}

static bool pays(const kiln_workload *w, const kiln_profile *p) {
    const kiln_product x = kiln_product_of(w, p);
    if (!x.is_const_b || x.n == 1)
        return true;
    return is_far_table(&x) || (has_few_columns(&x) && sums_pay(w, &x));
}

const kiln_template kiln_template_matmul_dot = {
    .name = "matmul_dot",
    .doc = "Matrix by vector, and a times b transposed: vectors along the terms.",
    .takes = KILN_TAKES_PLAIN,
    .fits = fits,
    .pays = pays,
    .space = space,
    .guess = guess,
    .apply = apply,
};
