/* What the template for convolutions of one tap takes without a search. */
#include "compiler/schedule/template/product/conv_1x1.h"
#include "compiler/schedule/template/byte_dot.h"
#include "compiler/schedule/template/product/product.h"

static double end_cycles(const kiln_conv_1x1 *x, int64_t sums) {
    return kiln_tile_entry_cycles(x->profile, (double)sums, false) +
           kiln_tile_late_cycles(x->w, x->profile, sums, x->lanes * x->elem_bytes);
}

/* Of all of y. */
static double tiles_cycles(const kiln_conv_1x1 *x, int64_t rows, int64_t cols,
                           int64_t oc) {
    const int64_t vectors = kiln_ceil_div(x->o, x->lanes);
    /* rows of tiles, the last of them lower */
    const int64_t whole = x->rows / rows, rest = x->rows % rows;
    double t = (double)whole * kiln_tiles_cycles(x->profile, x->cols * rows, vectors,
                                                 cols * rows, oc, true);
    if (rest > 0)
        t += kiln_tiles_cycles(x->profile, x->cols * rest, vectors, cols * rest, oc,
                               true);
    const int64_t n = kiln_ceil_div(x->rows, rows) * kiln_ceil_div(x->cols, cols) *
                      kiln_ceil_div(vectors, oc);
    return (double)x->c * t + (double)n * end_cycles(x, rows * cols * oc);
}

static void guess_tile(const kiln_conv_1x1 *x, const kiln_space *s, kiln_config *c) {
    double best = 0;
    for (int r = 0; r < s->knob[KILN_CONV_1X1_TILE_ROWS].n; r++)
        for (int i = 0; i < s->knob[KILN_CONV_1X1_TILE_P].n; i++)
            for (int k = 0; k < s->knob[KILN_CONV_1X1_TILE_OC].n; k++) {
                const int64_t rows = s->knob[KILN_CONV_1X1_TILE_ROWS].value[r];
                const int64_t cols = s->knob[KILN_CONV_1X1_TILE_P].value[i];
                const int64_t oc = s->knob[KILN_CONV_1X1_TILE_OC].value[k];
                if (kiln_tile_registers(rows * cols, oc) > x->profile->vector_registers)
                    continue;
                const double t = tiles_cycles(x, rows, cols, oc);
                if (best > 0 && t >= best)
                    continue;
                best = t;
                c->option[KILN_CONV_1X1_TILE_ROWS] = (int16_t)r;
                c->option[KILN_CONV_1X1_TILE_P] = (int16_t)i;
                c->option[KILN_CONV_1X1_TILE_OC] = (int16_t)k;
            }
}

/* A tile one vector wide loads as often as it multiplies and adds, and all loads of a step
 * are one channel of as many pixels, a block apart (likely one bank of the L1 cache; no
 * counter was asked). So four channels of a pixel are read in a row: 96 to 16 channels of
 * 55 x 55 pixels took 0.87 of the time on Emerald Rapids, 32 to 16 of 112 x 112 0.82. Not
 * with few registers, where four vectors of weights leave too little for sums: 32 to 8
 * channels in AVX2 took 1.10. */
static void guess_unroll(const kiln_conv_1x1 *x, const kiln_space *s, kiln_config *c) {
    const kiln_conv_1x1_plan p = kiln_conv_1x1_plan_of(s, c);
    const kiln_core *core = &x->profile->core;
    const int64_t four = 4, pixels = p.tile_rows * p.tile_p;
    const int64_t sums = kiln_sums_to_hide_latency(x->profile);
    const int64_t registers = x->profile->vector_registers;
    if (p.tile_oc * p.oc_block <= x->lanes && p.ic_block % four == 0 &&
        pixels >= sums && pixels + four <= registers &&
        kiln_tile_registers(2 * sums, 1) + four - 1 <= registers &&
        core->load_ports <= core->fma_ports)
        kiln_config_set(s, c, KILN_CONV_1X1_UNROLL_IC, &four);
}

/* Tiles at the ends of axes are decided inside the loop over terms where both loops over
 * panels are one; else they are code of their own. */
static bool has_rest(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p) {
    return x->cols % p->tile_p != 0 ||
           kiln_ceil_div(x->o, p->oc_block) % p->tile_oc != 0;
}

typedef struct axis {
    int64_t blocks, panels; /* panels of one block */
} axis;

static axis axis_of(int64_t extent, int64_t tile, int64_t block) {
    const int64_t all = kiln_ceil_div(extent, tile);
    const int64_t panels = block > 0 && block < all ? block : all;
    return (axis){kiln_ceil_div(all, panels), panels};
}

/* Sets which loops run on several threads; how many iterations those have. */
static int64_t guess_parallel(const kiln_conv_1x1 *x, const kiln_space *s,
                              kiln_config *c, kiln_tiles_parallel most) {
    const kiln_conv_1x1_plan p = kiln_conv_1x1_plan_of(s, c);
    const axis oc = axis_of(kiln_ceil_div(x->o, p.oc_block), p.tile_oc, p.block_oc);
    const axis row = axis_of(x->rows, p.tile_rows, 0);
    const axis col = axis_of(x->cols, p.tile_p, p.block_p);
    const int64_t pixels = row.panels * col.panels;
    /* Images, and of three spatial axes the first. */
    const int64_t around =
        x->images * (x->pixels / (x->rows * x->cols)) * oc.blocks * col.blocks;
    const kiln_tile_counts n = {around, p.channels_outer ? oc.panels : pixels,
                                p.channels_outer ? pixels : oc.panels};
    const double muladds =
        (double)(x->images * x->pixels) * (double)x->o * (double)x->c;
    const kiln_tiles_parallel kind =
        kiln_tiles_guess_parallel(x->profile, n, muladds, most);
    const int64_t count[] = {1, n.blocks, n.blocks * n.outer,
                             n.blocks * n.outer * n.inner};
    c->option[KILN_CONV_1X1_PARALLEL] = (int16_t)kind;
    return count[kind];
}

/* ---- orders and blocks by the cycle model ------------------------------------------ */

/* The same loops as a matrix product: pixels by channels, weights from memory. */
static kiln_product product_of(const kiln_conv_1x1 *x) {
    return (kiln_product){.w = x->w,
                          .profile = x->profile,
                          .a = x->w->anchor->in[0],
                          .b = x->w->anchor->in[1],
                          .batch = x->images,
                          .m = x->pixels,
                          .n = x->o,
                          .k = x->c,
                          .lanes = x->lanes,
                          .is_const_b = true,
                          .a_row_bytes = x->c * x->elem_bytes};
}

/* By one thread, and by as many as there are cores: either may be what it is run on. */
static double cycles_of(const kiln_conv_1x1 *x, const kiln_product *product,
                        const kiln_space *s, kiln_config *c) {
    const kiln_conv_1x1_plan p = kiln_conv_1x1_plan_of(s, c);
    const kiln_product_plan loops = {
        .tile_m = p.tile_p,
        .tile_n = p.tile_oc * p.oc_block,
        .block_m = p.block_p,
        .block_n = p.block_oc,
        .columns_outer = p.channels_outer,
        .parallel = guess_parallel(
            x, s, c, has_rest(x, &p) ? KILN_TILES_OUTER : KILN_TILES_ALL)};
    const int cores = x->profile->cores;
    return kiln_product_cycles(product, &loops, 1).all +
           cores * kiln_product_cycles(product, &loops, cores).all;
}

/* A block that does not divide leaves code of its own for the last one, where all tiles
 * are decided one by one. */
static bool divides(int64_t extent, int64_t tile, int64_t panels) {
    return panels == 0 || extent % (tile * panels) == 0;
}

/* The rule's configuration, or an order and blocks that the cycle model likes better: at
 * most 98, each two microseconds. On Zen 3, where L1 has 32 KiB and a panel of 512 terms
 * takes all of it, 512 to 512 channels of 14 x 14 pixels took 0.89 of the time so, 1024
 * to 256 0.78. */
static kiln_config by_cycles(const kiln_conv_1x1 *x, const kiln_space *s,
                             const kiln_config *rule) {
    /* What the rule knows and no model does decides where there is no more to gain. */
    static const double least_gain = 0.95;
    const kiln_product product = product_of(x);
    const kiln_conv_1x1_plan p = kiln_conv_1x1_plan_of(s, rule);
    const int64_t vectors = kiln_ceil_div(x->o, p.oc_block);
    kiln_config best = *rule, c = *rule;
    double least = cycles_of(x, &product, s, &c) * least_gain;
    for (int i = 0; i < s->knob[KILN_CONV_1X1_BLOCK_P].n; i++)
        for (int k = 0; k < s->knob[KILN_CONV_1X1_BLOCK_OC].n; k++)
            for (int o = 0; o < s->knob[KILN_CONV_1X1_ORDER].n; o++) {
                if (!divides(x->cols, p.tile_p,
                             s->knob[KILN_CONV_1X1_BLOCK_P].value[i]) ||
                    !divides(vectors, p.tile_oc,
                             s->knob[KILN_CONV_1X1_BLOCK_OC].value[k]))
                    continue;
                c = *rule;
                c.option[KILN_CONV_1X1_BLOCK_P] = (int16_t)i;
                c.option[KILN_CONV_1X1_BLOCK_OC] = (int16_t)k;
                c.option[KILN_CONV_1X1_ORDER] = (int16_t)o;
                const double cycles = cycles_of(x, &product, s, &c);
                if (cycles < least) {
                    least = cycles;
                    best = c;
                }
            }
    return best;
}

kiln_config kiln_conv_1x1_guess(const kiln_workload *w, const kiln_profile *profile,
                                const kiln_space *s) {
    const kiln_conv_1x1 x = kiln_conv_1x1_of(w, profile);
    kiln_config c = kiln_config_at(s, 0);
    const int64_t cache = kiln_cache_l2(profile);
    kiln_config_set(s, &c, KILN_CONV_1X1_OC_BLOCK, &x.lanes);
    /* Few channels are read as they lie in images, or as they were made. */
    const int64_t made = kiln_layout_channel_block(&w->anchor->in[0]->type.layout);
    int64_t ic = made > 0 ? made : x.c < x.lanes / 2 ? 1 : x.lanes;
    if (x.dot != NULL && ic % KILN_DOT_DEPTH != 0)
        ic = x.c <= KILN_DOT_DEPTH || x.lanes < KILN_DOT_DEPTH ? KILN_DOT_DEPTH
                                                               : x.lanes;
    kiln_config_set(s, &c, KILN_CONV_1X1_IC_BLOCK, &ic);
    guess_tile(&x, s, &c);
    if (x.dot == NULL)
        guess_unroll(&x, s, &c);
    /* What is smaller passes by again and again: it should stay in the L2 cache. */
    const bool small_weights = x.c * x.o * x.elem_bytes <= cache / 2;
    kiln_config_set_word(s, &c, KILN_CONV_1X1_ORDER,
                         small_weights || x.o <= x.pixels ? "pixels" : "channels");
    (void)guess_parallel(&x, s, &c, KILN_TILES_ALL);
    return x.collapses ? by_cycles(&x, s, &c) : c;
}
