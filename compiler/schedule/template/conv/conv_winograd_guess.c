/* A good point of conv_winograd without a search, and whether it beats conv_direct:
 * cycles of the products by their register tile, of the transforms, and of weights that
 * come from memory, which F(4, 3) has four times as many of as the convolution. */
#include "compiler/schedule/template/conv/conv_winograd.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/shares.h"
#include "compiler/schedule/template/tiles.h"

/* What follows is of what the code does, and how well a core hides it that runs ahead of
 * its loads; the bytes, ports and cycles that it multiplies are the machine's. Fitted to
 * 7,000 trials of 64 shapes on Zen 4: of those within 1.4 of a shape's best the mean
 * estimate is 0.75 to 1.19 times what was measured, 1.07 in most, and its choice took 1.05
 * of the best. */

/* Of what comes from behind the L2 cache again, what is hidden by as much; nothing of
 * what is written there too. */
static const double hidden_weights = 2, both_ways = 1;
/* Of weights that are fetched while others are multiplied, the part that is not hidden:
 * as cycles.c has it, where kiln_tile_shown is 1. */
static const double not_hidden = 0.3;
/* Of weights that nobody fetches and what is multiplied while they come, the less. */
static const double not_overlapped = 0.3;
/* Cycles of a transform for each term of its sums: those that are shared, loads and stores
 * included. An element of F(4, 3)'s tiles has 6.2 terms (the mean of x's and y's), and
 * took 3.5 cycles on Zen 5, 64 to 256 channels, with two ports for multiply-adds. Zen 4
 * has one, and others for sums. */
static const double term_work = 1.135;
enum { TERM_PORTS = 2 };
/* What the estimate must gain over conv_direct: weights that L3 has come sooner than both
 * estimates say, and there are fewer of the convolution's own. */
static const double least_gain = 1.05;

typedef struct guesser {
    const kiln_conv_problem *p;
    kiln_winograd_pair by;
    int64_t positions;             /* of a tile */
    int64_t images, rows, columns; /* of tiles */
    int64_t c_blocks;
    double cache, last_cache, weights; /* bytes */
} guesser;

static guesser guesser_of(const kiln_conv_problem *p, const kiln_winograd_pair *by) {
    const int64_t cache = kiln_cache_l2(p->profile);
    guesser g = {.p = p,
                 .by = *by,
                 .positions = kiln_winograd_positions(by),
                 .images = p->w->anchor->in[0]->type.dim[0],
                 .rows = kiln_winograd_tiles(p, by, 0),
                 .columns = kiln_winograd_tiles(p, by, 1),
                 .c_blocks = kiln_ceil_div(p->c, p->lanes),
                 .cache = (double)cache,
                 .last_cache = (double)kiln_cache_reach(p->profile)};
    g.weights = (double)(g.positions * p->c * p->blocks * p->lanes * p->elem_bytes);
    return g;
}

/* Bytes of x transformed, and of products, of so many rows of tiles. */
static double x_bytes(const guesser *g, int64_t rows) {
    return (double)(g->positions * rows * g->columns * g->c_blocks * g->p->lanes *
                    g->p->elem_bytes);
}

static double products_bytes(const guesser *g, int64_t rows, int64_t blocks) {
    return (double)(g->positions * rows * g->columns * blocks * g->p->lanes *
                    g->p->elem_bytes);
}

/* Products of so many rows and channel blocks, begin and end of the sums included. */
static double products_cycles(const guesser *g, const int64_t *tile, int64_t rows,
                              int64_t blocks) {
    const kiln_profile *p = g->p->profile;
    const int64_t extent[3] = {rows, g->columns, blocks};
    double n = 1, sums = 1;
    for (int i = 0; i < 3; i++) {
        n *= (double)kiln_ceil_div(extent[i], tile[i]);
        sums *= (double)extent[i];
    }
    return (double)g->positions *
           ((double)g->p->c * kiln_conv_tile_cycles(p, extent, tile) +
            n * kiln_tile_entry_cycles(p, sums / n, false));
}

static double memory_rate(const guesser *g) {
    return (double)g->p->profile->core.memory_rate;
}

/* Bytes a cycle of a region that the L2 cache does not hold. The last one is shared:
 * a quarter of it is counted on. */
static double behind(const guesser *g, double footprint, double share) {
    return footprint > g->last_cache / 4 ? memory_rate(g)
                                         : share * kiln_rate_behind_l2(g->p->profile);
}

/* Of bytes that are moved within a region, as far as the L2 cache does not hold it. */
static double far_cycles(const guesser *g, double footprint, double moved) {
    const double beyond = footprint - 0.75 * g->cache;
    if (beyond <= 0)
        return 0;
    const double share = 2 * beyond < footprint ? 2 * beyond / footprint : 1;
    return share * moved / behind(g, footprint, both_ways);
}

/* Of what panels of weights bring from the L2 cache to each tile they pass, what is not
 * hidden (as in tiles.c), beside what conv_direct's estimate of a tile has of it: what
 * comes in a cycle, where nothing else comes (late_cycles there). A last panel of fewer
 * channel blocks is code of its own (512 channels on Zen 5: 3 blocks of 16 at a time 4%
 * slower than 2). */
static double panels_cycles(const guesser *g, int64_t passes, bool fetches) {
    const kiln_profile *p = g->p->profile;
    const double cycles = (double)p->vector_bytes / p->core.l2_rate - (fetches ? 0 : 1);
    return 0.4 * kiln_tile_shown(p) * (cycles > 0 ? cycles : 0) *
           (double)(passes * g->positions * g->p->c * g->p->blocks);
}

static double last_panel(const guesser *g, const int64_t *tile, int64_t blocks) {
    const bool has_one = blocks > tile[2] && blocks % tile[2] > 0;
    return has_one ? 1 + 0.06 * kiln_tile_shown(g->p->profile) : 1;
}

/* Weights as they are read: from memory at first, then as often as chunks of rows ask
 * again, as far as the L2 cache has not kept the part that they ask for. */
typedef struct stream {
    double come, again;
} stream;

static stream stream_of(const guesser *g, double part, int64_t times) {
    const double again =
        part > g->cache / 2 ? (double)(times - 1) * g->weights / behind(g, part, 1) : 0;
    return (stream){g->weights / memory_rate(g), again};
}

static double together(double x, double y, double shown) {
    return x > y ? x + shown * y : y + shown * x;
}

/* The first tile that a panel passes waits for it, those behind it do not. */
static double waited_cycles(const stream *s, double products, int64_t tiles) {
    const double first = products / (double)tiles;
    return together(first, s->come, not_overlapped) + products - first +
           s->again / hidden_weights;
}

/* Weights that are fetched a panel ahead come while others are multiplied. */
static double fetched_cycles(const kiln_profile *p, const stream *s, double products) {
    return together(products, s->come + s->again, not_hidden * kiln_tile_shown(p));
}

static bool is_fetched(const guesser *g, const int64_t *tile, int64_t most_rows,
                       int64_t most_blocks) {
    const kiln_winograd_plan x = {.by = g->by,
                                  .oc_block = g->p->lanes,
                                  .ic_block = g->p->lanes,
                                  .tile = {tile[0], tile[1], tile[2]},
                                  .oc_chunk = most_blocks,
                                  .row_chunk = most_rows,
                                  .fetches = true};
    return kiln_winograd_fetches(g->p, &x) > 0;
}

static double n_terms(const double (*rows)[KILN_WINOGRAD_MAX_N], int n_rows, int n) {
    int terms = 0;
    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n; k++)
            terms += rows[i][k] != 0;
    return terms;
}

/* Of all vectors of x and of products, rows first. The axis of one tap has none. */
static double transforms_cycles(const guesser *g) {
    double x = 0, y = 0, left = 1;
    for (int i = 0; i < 2; i++) {
        const kiln_winograd *f = g->by.f[i];
        if (f->n == 1)
            continue;
        x += n_terms(f->bt, f->n, f->n) / f->n;
        y += left * n_terms(f->at, f->tile, f->n) / f->n;
        left = (double)f->tile / f->n;
    }
    const double vectors = (double)(g->positions * g->images * g->rows * g->columns);
    const int ports = g->p->profile->core.fma_ports;
    return vectors * term_work / (ports > TERM_PORTS ? ports : TERM_PORTS) *
           (x * (double)g->c_blocks + y * (double)g->p->blocks);
}

/* Elements of equal parts of an axis, each at most `most`. */
static int64_t part_of(int64_t extent, int64_t most) {
    return kiln_ceil_div(extent, kiln_ceil_div(extent, most));
}

/* At most so many rows of tiles and blocks of y's channels at a time. x transformed is
 * written, and read for each chunk of channels; so are products, once. */
static double chunks_cycles(const guesser *g, const int64_t *tile, int64_t most_rows,
                            int64_t most_blocks, bool is_ahead, bool *fetches) {
    const int64_t rows = part_of(g->rows, most_rows);
    const int64_t each = part_of(g->p->blocks, most_blocks);
    const int64_t n_rows = kiln_ceil_div(g->rows, rows);
    const int64_t n_oc = kiln_ceil_div(g->p->blocks, each);
    const int64_t n_chunks = g->images * n_rows;
    const double n = (double)n_oc, all = (double)n_chunks;
    const double kept = products_bytes(g, rows, each);
    double products = (n - 1) * products_cycles(g, tile, rows, each) +
                      products_cycles(g, tile, rows, g->p->blocks - (n_oc - 1) * each);
    const double x =
        is_ahead ? x_bytes(g, g->rows) * (double)g->images : x_bytes(g, rows);
    const double moved = (n + 2) * x * (is_ahead ? 1 : all) + 3 * n * kept * all;
    const double part = is_ahead ? g->weights / n : g->weights;
    const int64_t parts = is_ahead ? n_chunks * n_oc : n_chunks;
    const double loss = kiln_share_loss(parts, g->p->profile->cores);
    const double far = far_cycles(g, x + kept, moved);
    const double calls = kiln_call_cycles(g->p->profile) * (double)parts;
    const int64_t passes =
        kiln_ceil_div(rows, tile[0]) * kiln_ceil_div(g->columns, tile[1]);
    const stream weights = stream_of(g, part, n_chunks);
    double with[2]; /* all of them: not fetched, fetched */
    for (int i = 0; i < 2; i++)
        with[i] = (all * (products + panels_cycles(g, passes, i == 1)) *
                       last_panel(g, tile, each) +
                   far) *
                  loss;
    const double waited = waited_cycles(&weights, with[0], passes * n_chunks);
    const double fetched = fetched_cycles(g->p->profile, &weights, with[1]);
    *fetches = is_fetched(g, tile, most_rows, most_blocks) && fetched < waited;
    return (*fetches ? fetched : waited) + calls;
}

typedef struct guess {
    double cycles; /* 0: none yet */
    int tile, oc_chunk, row_chunk;
    bool is_ahead, fetches;
} guess;

/* One tile with all chunks. */
static void guess_chunks(const guesser *g, const kiln_space *s, int tile, guess *best) {
    const kiln_knob *oc = &s->knob[KILN_WINOGRAD_OC_CHUNK];
    const kiln_knob *row = &s->knob[KILN_WINOGRAD_ROW_CHUNK];
    const int64_t *size = s->knob[KILN_WINOGRAD_TILE].value + 3 * (size_t)tile;
    for (int r = 0; r < row->n; r++) {
        if (r > 0 && row->value[r - 1] >= g->rows)
            break; /* larger ones mean the same */
        for (int k = 0; k < oc->n; k++)
            for (int ahead = 0; ahead < 2; ahead++) {
                bool fetches = false;
                const double cycles = chunks_cycles(g, size, row->value[r],
                                                    oc->value[k], ahead == 1, &fetches);
                if (best->cycles == 0 || cycles < best->cycles)
                    *best = (guess){cycles, tile, k, r, ahead == 1, fetches};
            }
    }
}

/* The least of all tiles, transforms and cold weights included. */
static guess guess_loops(const guesser *g, const kiln_space *s) {
    const kiln_knob *tiles = &s->knob[KILN_WINOGRAD_TILE];
    guess best = {.cycles = 0};
    double least = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < tiles->n; i++) {
            const int64_t *tile = tiles->value + 3 * (size_t)i;
            const double alone = products_cycles(g, tile, g->rows, g->p->blocks);
            if (pass == 0)
                least = i == 0 || alone < least ? alone : least;
            else if (alone <= 1.1 * least)
                guess_chunks(g, s, i, &best);
        }
    best.cycles += transforms_cycles(g);
    return best;
}

/* The better size of tiles. */
static guess guess_size(const kiln_conv_problem *p, const kiln_space *s,
                        int64_t *size) {
    guess best = {.cycles = 0};
    for (int i = 0; i < s->knob[KILN_WINOGRAD_SIZE].n; i++) {
        const int64_t one = s->knob[KILN_WINOGRAD_SIZE].value[i];
        kiln_winograd_pair by;
        (void)kiln_winograd_of_work(p->w, one, &by);
        const guesser g = guesser_of(p, &by);
        const guess found = guess_loops(&g, s);
        if (best.cycles == 0 || found.cycles < best.cycles) {
            best = found;
            *size = one;
        }
    }
    return best;
}

/* Small tiles several times in one body, so that the loop itself, a cycle, is little of
 * it: as far as registers are left for what LLVM then loads ahead. */
static int64_t guess_unroll(const kiln_conv_problem *p, const int64_t *tile) {
    enum { CYCLES = 20 };
    const int64_t body = CYCLES * (int64_t)p->profile->core.fma_ports;
    const int64_t rows = tile[0] * tile[1], all = rows * tile[2];
    const int64_t ahead = 2 * kiln_conv_min(rows, tile[2]) + 1;
    return all + ahead <= p->profile->vector_registers && body > all ? body / all : 1;
}

kiln_config kiln_winograd_guess(const kiln_workload *w, const kiln_profile *profile,
                                const kiln_space *s) {
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    const int64_t ic = kiln_conv_direct_guess_ic_block(&p);
    kiln_config c = {.n = s->n};
    int64_t size = 0;
    const guess best = guess_size(&p, s, &size);
    kiln_config_set(s, &c, KILN_WINOGRAD_SIZE, &size);
    kiln_config_set(s, &c, KILN_WINOGRAD_OC_BLOCK, &p.lanes);
    kiln_config_set(s, &c, KILN_WINOGRAD_IC_BLOCK, &ic);
    c.option[KILN_WINOGRAD_TILE] = (int16_t)best.tile;
    const int64_t unroll =
        guess_unroll(&p, s->knob[KILN_WINOGRAD_TILE].value + 3 * (size_t)best.tile);
    kiln_config_set(s, &c, KILN_WINOGRAD_UNROLL, &unroll);
    c.option[KILN_WINOGRAD_OC_CHUNK] = (int16_t)best.oc_chunk;
    c.option[KILN_WINOGRAD_ROW_CHUNK] = (int16_t)best.row_chunk;
    c.option[KILN_WINOGRAD_TRANSFORM] = best.is_ahead;
    kiln_winograd_plan x = kiln_winograd_plan_of(w, s, &c);
    x.fetches = best.fetches && s->knob[KILN_WINOGRAD_FETCH].n > 1;
    c.option[KILN_WINOGRAD_FETCH] = kiln_winograd_fetches(&p, &x) > 0;
    return c;
}

/* conv_direct runs at the peak of multiply-adds, all but a fiftieth, in tiles of half the
 * registers by two; weights are waited for, or fetched, as here. */
static double direct_cycles(const kiln_conv_problem *p) {
    const int64_t pixels = p->profile->vector_registers / 2;
    const kiln_node *n = p->w->anchor;
    const int64_t images = n->in[0]->type.dim[0];
    const int64_t taps = n->in[1]->type.dim[2] * n->in[1]->type.dim[3];
    const double terms = (double)(taps * p->c * p->blocks);
    double sum =
        1.02 / p->profile->core.fma_ports * (double)(images * p->oh * p->ow) * terms;
    sum *= kiln_share_loss(images * p->oh * p->blocks, p->profile->cores);
    const double weights = terms * (double)(p->lanes * p->elem_bytes);
    const stream come = {weights / (double)p->profile->core.memory_rate, 0};
    return kiln_conv_direct_guess_fetches(p->w, p->profile)
               ? fetched_cycles(p->profile, &come, sum)
               : waited_cycles(&come, sum, kiln_ceil_div(p->oh * p->ow, pixels));
}

bool kiln_winograd_pays(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    kiln_arena scratch = {0};
    kiln_space s;
    int64_t size = 0;
    if (p.c < p.lanes || p.o < p.lanes)
        return false;
    kiln_space_init(&s, &scratch);
    const kiln_status st = kiln_winograd_space(w, profile, &s, NULL);
    const double cycles = st == KILN_OK ? guess_size(&p, &s, &size).cycles : 0;
    kiln_arena_fini(&scratch);
    return st == KILN_OK && cycles * least_gain < direct_cycles(&p);
}
