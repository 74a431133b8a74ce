/* A good point of conv_direct without a search: the register tile with the fewest
 * cycles, and chunks that keep what they read near and that threads can share. */
#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/conv/conv_direct.h"
#include "compiler/schedule/template/tiles.h"

/* Cycles of one step of the reduction: multiply-adds and loads as the ports take them;
 * each accumulator waits for itself, and a cycle for what comes between; loads are not
 * all hidden: measured on Zen 5, a fifth of the port's cycle. */
static double step_cycles(const kiln_profile *p, int64_t pixels, int64_t oc) {
    const kiln_core *core = &p->core;
    const double adds = (double)(pixels * oc) / core->fma_ports;
    const double loads =
        (double)pixels / kiln_broadcast_ports(p) + (double)oc / core->load_ports;
    const double most = adds > loads ? adds : loads;
    const double least = core->fma_latency + 1;
    return (most > least ? most : least) + kiln_tile_shown(p) * loads / 5;
}

/* Bytes a cycle from behind the L2 cache: half of what comes is hidden (fitted to 512
 * channels at 7x7 on Zen 5). */
static double stream_of(const kiln_profile *p) { return 2.0 * kiln_rate_behind_l2(p); }

/* What step_cycles shows of loads was fitted where a vector of weights comes from the L2
 * cache in a cycle. Where it takes longer, and the panel that a tile reads is too large
 * for L1, so much of the rest is not hidden either (as in tiles.c). */
static double late_cycles(const kiln_profile *p, int64_t panel_bytes, int64_t oc) {
    const double shown = 0.4 * kiln_tile_shown(p);
    const double late = (double)p->vector_bytes / p->core.l2_rate - 1;
    const bool is_near = panel_bytes <= kiln_cache_l1(p) / 4 * 3;
    return is_near || late <= 0 ? 0 : shown * late * (double)oc;
}

/* Of all tiles of rows x columns x channel blocks; what a tile leaves over is a smaller
 * tile. */
double kiln_conv_tile_cycles(const kiln_profile *p, const int64_t *extent,
                             const int64_t *tile) {
    int64_t size[3][2],
        n[3][2]; /* of the axis's whole tiles, and of what is left over */
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        size[i][0] = kiln_conv_min(tile[i], extent[i]);
        size[i][1] = extent[i] % tile[i];
        n[i][0] = extent[i] / tile[i];
        n[i][1] = size[i][1] > 0;
    }
    for (int part = 0; part < 8; part++) {
        const int rest[3] = {part & 1, part >> 1 & 1, part >> 2};
        const int64_t tiles = n[0][rest[0]] * n[1][rest[1]] * n[2][rest[2]];
        if (tiles > 0)
            sum += (double)tiles *
                   step_cycles(p,
                               size[KILN_CONV_TILE_OH][rest[KILN_CONV_TILE_OH]] *
                                   size[KILN_CONV_TILE_OW][rest[KILN_CONV_TILE_OW]],
                               size[KILN_CONV_TILE_OC][rest[KILN_CONV_TILE_OC]]);
    }
    return sum;
}

/* ---- chunks ---------------------------------------------------------------------- */

typedef struct guesser {
    const kiln_conv_problem *p;
    int64_t tile[3];
    int64_t cache;        /* bytes that stay near */
    double stream;        /* bytes a cycle of others */
    int64_t images;       /* and groups: each has all chunks */
    double steps;         /* of the reduction of one element */
    double weights;       /* bytes, of one channel block */
    double end;           /* cycles that nothing hides where a tile ends */
    int64_t x_row;        /* bytes of x, of one group */
    bool streams_weights; /* too many for the cache: they come once for each chunk */
} guesser;

static guesser guesser_of(const kiln_conv_problem *p, const int64_t *tile) {
    const kiln_type *x = &p->w->anchor->in[0]->type, *w = &p->w->anchor->in[1]->type;
    guesser g = {.p = p,
                 .tile = {tile[0], tile[1], tile[2]},
                 .cache = kiln_cache_l2(p->profile),
                 .stream = stream_of(p->profile),
                 .images = x->dim[0] * p->groups,
                 .steps = (double)p->c_group,
                 .x_row = p->c_group * p->elem_bytes};
    for (int i = 2; i < w->rank; i++)
        g.steps *= (double)w->dim[i];
    for (int i = 2; i < x->rank; i++)
        g.x_row *= i == x->rank - 2 ? 1 : x->dim[i];
    g.weights = g.steps * (double)(p->block * p->elem_bytes);
    g.end = kiln_tile_late_cycles(p->w, p->profile, tile[0] * tile[1] * tile[2],
                                  p->block * p->elem_bytes);
    g.streams_weights = g.weights * (double)p->blocks > (double)g.cache / 2;
    return g;
}

/* Of one chunk of so many rows and channel blocks. */
static double chunk_cycles(const guesser *g, int64_t rows, int64_t blocks) {
    const kiln_conv_problem *p = g->p;
    const int64_t extent[3] = {rows, p->ow, blocks};
    const double x = (double)(((rows - 1) * p->stride_h + p->extent_h) * g->x_row);
    const int64_t panels = kiln_ceil_div(blocks, g->tile[KILN_CONV_TILE_OC]);
    const int64_t tiles = kiln_ceil_div(rows, g->tile[KILN_CONV_TILE_OH]) *
                          kiln_ceil_div(p->ow, g->tile[KILN_CONV_TILE_OW]);
    const double panel = g->weights * (double)g->tile[KILN_CONV_TILE_OC];
    double sum =
        kiln_call_cycles(p->profile) +
        kiln_conv_tile_cycles(p->profile, extent, g->tile) * g->steps +
        late_cycles(p->profile, (int64_t)panel, blocks) * (double)tiles * g->steps +
        g->end * (double)(tiles * panels);
    if (p->pads) /* a vector is read and written */
        sum +=
            2 * x / (double)(p->lanes * p->elem_bytes) / p->profile->core.store_ports;
    if (g->streams_weights)
        sum += g->weights * (double)blocks / g->stream;
    /* Each tile of pixels reads its panel's weights. */
    if (panel > 0.75 * (double)g->cache)
        sum += g->weights * (double)(blocks * tiles) / g->stream;
    /* Each panel of channels reads all of x; where that does not stay near, from far.
     */
    if (x > (double)g->cache / (g->streams_weights ? 2 : 4))
        sum += x * (double)panels / g->stream;
    return sum;
}

/* An axis in chunks of equal numbers of tiles, as conv_direct makes them. */
typedef struct chunks {
    int64_t n, size, last; /* in elements */
} chunks;

static chunks chunks_of(int64_t extent, int64_t tile, int64_t size) {
    const int64_t tiles = kiln_ceil_div(extent, tile);
    const int64_t n = kiln_ceil_div(tiles, kiln_ceil_div(size, tile));
    const int64_t each = kiln_ceil_div(tiles, n);
    const chunks c = {.n = kiln_ceil_div(tiles, each), .size = each * tile};
    return (chunks){c.n, c.size, extent - (c.n - 1) * c.size};
}

/* Cycles of a chunk by what is last of its axis: [channels][rows]; channel chunks are
 * the outer loop. */
typedef struct chunk_costs {
    chunks oc, oh;
    double cycles[2][2];
} chunk_costs;

/* Of the first n chunks of all images. */
static double first_cycles(const chunk_costs *c, int64_t n) {
    const int64_t image = c->oc.n * c->oh.n, at = n % image;
    const int64_t images = n / image, rows = at / c->oh.n; /* whole ones */
    double row[2];
    for (int i = 0; i < 2; i++)
        row[i] = (double)(c->oh.n - 1) * c->cycles[i][0] + c->cycles[i][1];
    const double whole = (double)(c->oc.n - 1) * row[0] + row[1];
    return (double)images * whole + (double)rows * row[0] +
           (double)(at % c->oh.n) * c->cycles[rows == c->oc.n - 1][0];
}

/* Until the last of so many threads is done. */
static double threads_cycles(const chunk_costs *c, int64_t n, int64_t threads) {
    double longest = 0, before = 0;
    for (int64_t t = 1; t <= threads; t++) {
        const double until =
            first_cycles(c, n / threads * t + n % threads * t / threads);
        longest = until - before > longest ? until - before : longest;
        before = until;
    }
    return longest;
}

/* The sum of what each number of threads takes, weighted alike. */
static double chunks_cycles(const guesser *g, chunks oc, chunks oh) {
    const chunk_costs c = {
        oc,
        oh,
        {{chunk_cycles(g, oh.size, oc.size), chunk_cycles(g, oh.last, oc.size)},
         {chunk_cycles(g, oh.size, oc.last), chunk_cycles(g, oh.last, oc.last)}}};
    double sum = 0;
    for (int64_t threads = 1; threads <= g->p->profile->cores; threads *= 2)
        sum += (double)threads * threads_cycles(&c, g->images * oc.n * oh.n, threads);
    return sum;
}

typedef struct guess {
    double cycles; /* 0: none yet */
    int tile, oc_chunk, oh_chunk;
} guess;

static void guess_chunks(const guesser *g, int tile, const kiln_knob *oc_chunk,
                         const kiln_knob *oh_chunk, guess *best) {
    for (int i = oc_chunk->n; i-- > 0;)
        for (int k = oh_chunk->n; k-- > 0;) {
            const chunks oc =
                chunks_of(g->p->blocks, g->tile[KILN_CONV_TILE_OC], oc_chunk->value[i]);
            const chunks oh =
                chunks_of(g->p->oh, g->tile[KILN_CONV_TILE_OH], oh_chunk->value[k]);
            const double cycles = chunks_cycles(g, oc, oh);
            if (best->cycles == 0 || cycles < best->cycles)
                *best = (guess){cycles, tile, i, k};
        }
}

void kiln_conv_direct_guess_loops(const kiln_conv_problem *p, const kiln_knob *tiles,
                                  const kiln_knob *oc_chunk, const kiln_knob *oh_chunk,
                                  int option[3]) {
    /* A tile that is so much slower alone cannot win by what threads share better. */
    static const double slower = 1.15;
    const int64_t extent[3] = {p->oh, p->ow, p->blocks};
    double least = 0;
    guess best = {.cycles = 0};
    for (int i = 0; i < tiles->n; i++) {
        const double cycles =
            kiln_conv_tile_cycles(p->profile, extent, &tiles->value[3 * (size_t)i]);
        least = i == 0 || cycles < least ? cycles : least;
    }
    for (int i = 0; i < tiles->n; i++) {
        const int64_t *tile = &tiles->value[3 * (size_t)i];
        const guesser g = guesser_of(p, tile);
        if (kiln_conv_tile_cycles(p->profile, extent, tile) <= slower * least)
            guess_chunks(&g, i, oc_chunk, oh_chunk, &best);
    }
    option[0] = best.tile;
    option[1] = best.oc_chunk;
    option[2] = best.oh_chunk;
}

/* ---- few channels ------------------------------------------------------------------- */

/* Of how many terms is an output of x the sum, for each channel of x? */
static int64_t taps_of(const kiln_conv_problem *p) {
    const kiln_type *k = &p->w->anchor->in[1]->type;
    int64_t taps = 1;
    for (int i = 2; i < k->rank; i++)
        taps *= k->dim[i];
    return taps;
}

/* Vectors of channels are mostly empty where y has few: images, masks. There the generic
 * template has vectors of neighbouring pixels, of values that lie row-major, at half the
 * rate of full tiles or more, behind a conversion of x. On Zen 5, AVX-512, 64 to 3
 * channels of 128x128 by 3x3 take 1.30 and 0.39 ms so, 128 to 3 of 32x32 by 2x2 0.074
 * and 0.025; AVX2, 64 to 3 of 64x64 by 3x3, 0.33 and 0.17. */
bool kiln_conv_direct_pays(const kiln_workload *w, const kiln_profile *profile) {
    static const double rate = 0.5, least_gain = 1.15;
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    const kiln_type *x = &w->anchor->in[0]->type;
    const kiln_attr *strides = kiln_node_attr(w->anchor, "strides");
    if (p.groups != 1 || p.n_spatial != 2 || x->dtype != KILN_F32 || p.ow < p.lanes ||
        kiln_attr_at(strides, 1, 1) != 1)
        return true;
    const double ports = profile->core.fma_ports, taps = (double)taps_of(&p);
    const double columns = (double)(kiln_ceil_div(p.ow, p.lanes) * p.lanes);
    const double full = columns / (double)p.ow * (double)p.o / (double)p.lanes;
    const double by_pixels = taps * full / ports / rate +
                             2.0 * (double)p.elem_bytes / kiln_rate_behind_l2(profile);
    const double by_channels = taps / ports * (double)p.blocks;
    return by_channels < least_gain * by_pixels;
}
