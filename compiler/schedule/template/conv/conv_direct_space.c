/* The knobs of conv_direct, what they say, and a good point by rule. */
#include "compiler/schedule/template/conv/conv_direct.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/byte_dot.h"

enum {
    OC_BLOCK,
    IC_BLOCK,
    TILE,
    OC_CHUNK,
    OH_CHUNK,
    ORDER,
    INNER,
    REDUCE,
    UNROLL,
    PAD,
    FETCH,
    N_KNOBS
};

static const char *const order_words[] = {"channels", "rows"};
static const char *const inner_words[] = {"channels", "rows"};
static const char *const reduce_words[] = {"channels", "taps"};
static const char *const pad_words[] = {"ahead", "chunk", "none"};
static const char *const fetch_words[] = {"off", "on"};
/* Vector multiply-adds of one unrolled body, for LLVM's sake: four tiles of 28 sums, the
 * most that 32 registers hold; with 16 registers eight. */
enum { MAX_BODY = 112 };

/* The knob's options: registers bound what fits, these how many there are to try. */
enum { MAX_TILE_OH = 8, MAX_TILE_OC = 8, MAX_TILES = 1024 };

/* ---- the problem ----------------------------------------------------------------- */

kiln_conv_problem kiln_conv_problem_of(const kiln_workload *w,
                                       const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *x = &n->in[0]->type, *k = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *strides = kiln_node_attr(n, "strides");
    const kiln_attr *dilations = kiln_node_attr(n, "dilations");
    kiln_conv_problem p = {.w = w,
                           .profile = profile,
                           .n_spatial = x->rank - 2,
                           .groups = kiln_node_attr(n, "groups")->i,
                           .c = x->dim[1],
                           .o = y->dim[1],
                           .c_group = k->dim[1],
                           .oh = 1,
                           .ow = y->dim[y->rank - 1],
                           .stride_h = 1,
                           .extent_h = 1,
                           .elem_bytes = (int64_t)kiln_dtype_bytes(x->dtype)};
    p.o_group = p.o / p.groups;
    p.pads = kiln_pads_any(n);
    if (p.n_spatial >= 2) {
        const int h = p.n_spatial - 2;
        p.oh = y->dim[y->rank - 2];
        p.stride_h = kiln_attr_at(strides, h, 1);
        p.extent_h = (k->dim[2 + h] - 1) * kiln_attr_at(dilations, h, 1) + 1;
    }
    p.lanes = kiln_sum_lanes(n, profile);
    p.adds_taps = p.c_group == 1 && k->dim[k->rank - 1] % KILN_DOT_DEPTH == 0 &&
                  kiln_attr_at(dilations, p.n_spatial - 1, 1) == 1;
    if (p.adds_taps || p.c_group > 2)
        p.dot = kiln_dot_of(n, profile);
    p.block = p.lanes;
    while (p.groups > 1 && p.o_group % p.block != 0)
        p.block /= 2;
    p.blocks = kiln_ceil_div(p.o_group, p.block);
    return p;
}

bool kiln_conv_uses_dot(const kiln_conv_problem *p, const kiln_conv_plan *x) {
    return p->dot != NULL && x->oc_block > 1 &&
           (p->adds_taps ? x->ic_block == 1 : x->ic_block % KILN_DOT_DEPTH == 0) &&
           !(p->pads && x->pad == KILN_CONV_PAD_NONE);
}

/* ---- space ----------------------------------------------------------------------- */

/* Accumulators, one vector of weights for each block of channels, the broadcast, its
 * product where that is not added at once, and with several blocks one that LLVM loads
 * ahead: without it a tile of 4 x 3 on 16 registers spills. */
static bool tile_fits(const kiln_conv_problem *p, int64_t oh, int64_t ow, int64_t oc) {
    const int64_t others = oc + 1 + (p->profile->has_fma ? 0 : 1) + (oc > 1 ? 1 : 0);
    return oh * ow * oc + others <= p->profile->vector_registers;
}

static void add_blocks(const kiln_conv_problem *p, kiln_space *s) {
    int64_t value[16];
    int n = 0;
    for (int64_t b = 1; b <= p->lanes; b *= 2)
        if ((p->groups == 1 && (b * 4 >= p->lanes || b == p->lanes)) ||
            (p->groups > 1 && p->o_group % b == 0))
            value[n++] = b;
    kiln_space_add_ints(s, "oc_block", "output channels of one vector", value, n);
    n = 0;
    for (int64_t b = 1; b <= 2 * p->lanes && n < 16; b *= 2)
        if (p->groups == 1 ? b < 2 * p->c : p->c_group % b == 0)
            value[n++] = b;
    if (p->groups == 1 && p->c < p->lanes && (p->c & (p->c - 1)) != 0 && n < 16)
        value[n++] = p->c; /* few, such as an image's: all of them, nothing filled up */
    kiln_space_add_ints(s, "ic_block", "input channels next to each other; 1: plain",
                        value, n);
}

static void add_tiles(const kiln_conv_problem *p, kiln_space *s) {
    const int64_t oh = kiln_conv_min(p->oh, MAX_TILE_OH),
                  oc = kiln_conv_min(p->blocks, MAX_TILE_OC);
    const int64_t ow = kiln_conv_min(p->ow, p->profile->vector_registers - 2);
    /* Too few accumulators wait for each other. */
    const int64_t least = kiln_conv_min(oh * ow * oc, p->profile->vector_registers / 4);
    int64_t value[3 * MAX_TILES];
    int n = 0;
    for (int64_t i = 1; i <= oh; i++)
        for (int64_t j = 1; j <= ow; j++)
            for (int64_t k = 1; k <= oc && n < MAX_TILES; k++)
                if (tile_fits(p, i, j, k) && i * j * k >= least) {
                    value[3 * n + KILN_CONV_TILE_OH] = i;
                    value[3 * n + KILN_CONV_TILE_OW] = j;
                    value[3 * n++ + KILN_CONV_TILE_OC] = k;
                }
    kiln_space_add_tuples(s, "tile", "rows, columns, channel blocks in registers",
                          value, n, 3);
}

/* Of one block of y's channels, filled up to whole blocks of x's. */
static int64_t block_bytes(const kiln_conv_problem *p, int64_t ic_block,
                           int64_t oc_block) {
    const kiln_type *k = &p->w->anchor->in[1]->type;
    int64_t taps = 1;
    for (int i = 2; i < k->rank; i++)
        taps *= k->dim[i];
    return kiln_ceil_div(p->c_group, ic_block) * ic_block * taps * oc_block *
           p->elem_bytes;
}

/* Are weights, at most, more than half of the L2 cache holds? */
static bool is_large(const kiln_conv_problem *p) {
    return p->blocks * block_bytes(p, 2 * p->lanes, p->block) >
           kiln_cache_l2(p->profile) / 2;
}

kiln_status kiln_conv_direct_space(const kiln_workload *w, const kiln_profile *profile,
                                   kiln_space *out, kiln_err *err) {
    static const int64_t unroll[] = {1, 2, 4, 8};
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    (void)err;
    add_blocks(&p, out);
    add_tiles(&p, out);
    kiln_space_add_parts(out, "oc_chunk", "channel blocks of one parallel part",
                         p.blocks);
    kiln_space_add_parts(out, "oh_chunk", "rows of one parallel part", p.oh);
    kiln_space_add_words(out, "order", "the outer of the loops over chunks",
                         order_words, 2);
    kiln_space_add_words(out, "inner", "the outer of the loops over tiles", inner_words,
                         2);
    kiln_space_add_words(out, "reduce", "the outer of the reduction loops",
                         reduce_words, 2);
    kiln_space_add_ints(out, "unroll", "steps of the reduction in one body, at most",
                        unroll, 4);
    kiln_space_add_words(out, "pad", "where zeros are put around x", pad_words,
                         p.pads ? 3 : 1);
    const int fetch =
        kiln_space_add_words(out, "fetch", "is the next panel of weights fetched ahead",
                             fetch_words, is_large(&p) ? 2 : 1);
    kiln_space_is_later(out, fetch);
    return KILN_OK;
}

/* Tiles do not cross groups either. */
kiln_conv_plan kiln_conv_plan_of(const kiln_conv_problem *p, const kiln_space *s,
                                 const kiln_config *c) {
    kiln_conv_plan x = {.oc_block = kiln_config_int(s, c, OC_BLOCK, 0),
                        .ic_block = kiln_config_int(s, c, IC_BLOCK, 0),
                        .oc_chunk = kiln_config_int(s, c, OC_CHUNK, 0),
                        .oh_chunk = kiln_config_int(s, c, OH_CHUNK, 0),
                        .unroll = kiln_config_int(s, c, UNROLL, 0),
                        .rows_outer = c->option[ORDER] == 1,
                        .rows_inner = c->option[INNER] == 1,
                        .taps_outer = c->option[REDUCE] == 1,
                        .pad = (int)c->option[PAD],
                        .fetches = c->option[FETCH] == 1};
    for (int i = 0; i < 3; i++)
        x.tile[i] = kiln_config_int(s, c, TILE, i);
    if (p->groups > 1)
        x.tile[KILN_CONV_TILE_OC] =
            kiln_conv_divisor(p->o_group / x.oc_block, x.tile[KILN_CONV_TILE_OC]);
    return x;
}

int64_t kiln_conv_steps(const kiln_conv_plan *x) {
    const int64_t tile = x->tile[0] * x->tile[1] * x->tile[2];
    const int64_t most = x->pad == KILN_CONV_PAD_NONE ? 1 : MAX_BODY / tile;
    return kiln_conv_min(x->unroll, most > 1 ? most : 1);
}

int64_t kiln_conv_row_passes(const kiln_conv_problem *p, const kiln_conv_plan *x) {
    const int64_t tile = x->tile[KILN_CONV_TILE_OH];
    const int64_t tiles = kiln_ceil_div(p->oh, tile);
    const int64_t chunks = kiln_ceil_div(tiles, kiln_ceil_div(x->oh_chunk, tile));
    return kiln_ceil_div(tiles, chunks);
}

/* Of weights that come from behind the L2 cache, while it holds two panels of them. The
 * loop over channels of a block asks for them, so there must be one. */
int64_t kiln_conv_fetches(const kiln_conv_problem *p, const kiln_conv_plan *x) {
    const int64_t rows = kiln_conv_row_passes(p, x);
    const int64_t columns = kiln_ceil_div(p->ow, x->tile[KILN_CONV_TILE_OW]);
    const int64_t passes = rows > 1 ? rows : columns;
    const int64_t cache = kiln_cache_l2(p->profile);
    const int64_t line = kiln_line_bytes(p->profile);
    const int64_t vector = x->oc_block * p->elem_bytes;
    const int64_t bytes = block_bytes(p, x->ic_block, x->oc_block);
    const bool has_loop = kiln_conv_steps(x) < x->ic_block;
    const bool pays = x->fetches && passes > 1 && has_loop && p->groups == 1 &&
                      !kiln_conv_uses_dot(p, x) && p->n_spatial == 2 &&
                      !x->rows_inner && kiln_value_is_const(p->w->anchor->in[1]) &&
                      p->blocks * bytes > cache / 2 &&
                      2 * x->tile[KILN_CONV_TILE_OC] * bytes <= cache / 4 * 3 &&
                      line % vector == 0 && x->ic_block * vector % line == 0;
    return pays ? passes : 0;
}

/* ---- a good point without a search ----------------------------------------------- */

/* Sums run over tail lanes too: a tenth more is borne, a quarter where x comes in such
 * blocks and would have to be converted. */
int64_t kiln_conv_direct_guess_ic_block(const kiln_conv_problem *p) {
    const int64_t made = kiln_layout_channel_block(&p->w->anchor->in[0]->type.layout);
    int64_t ic = p->lanes;
    const bool is_whole = p->dot == NULL || p->adds_taps || made % KILN_DOT_DEPTH == 0;
    if (made > 0 && made <= p->lanes && is_whole &&
        kiln_ceil_div(p->c, made) * made * 4 <= p->c * 5)
        return made;
    if (p->adds_taps)
        return 1;
    while (p->groups == 1 && kiln_ceil_div(p->c, ic) * ic * 10 > p->c * 11)
        ic /= 2;
    return p->groups == 1 && p->dot != NULL && ic < KILN_DOT_DEPTH ? KILN_DOT_DEPTH
                                                                   : ic;
}

kiln_config kiln_conv_direct_guess(const kiln_workload *w, const kiln_profile *profile,
                                   const kiln_space *s) {
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    kiln_config c = {.n = s->n};
    const int64_t ic = kiln_conv_direct_guess_ic_block(&p);
    kiln_config_set(s, &c, OC_BLOCK, &p.block);
    kiln_config_set(s, &c, IC_BLOCK, &ic);
    const int64_t unroll = 1;
    kiln_config_set(s, &c, UNROLL, &unroll);
    int option[3];
    kiln_conv_direct_guess_loops(&p, &s->knob[TILE], &s->knob[OC_CHUNK],
                                 &s->knob[OH_CHUNK], option);
    c.option[TILE] = (int16_t)option[0];
    c.option[OC_CHUNK] = (int16_t)option[1];
    c.option[OH_CHUNK] = (int16_t)option[2];
    c.option[PAD] = p.pads ? KILN_CONV_PAD_CHUNK : 0;
    kiln_conv_plan x = kiln_conv_plan_of(&p, s, &c);
    x.fetches = s->knob[FETCH].n > 1;
    c.option[FETCH] = kiln_conv_fetches(&p, &x) > 0;
    return c;
}

bool kiln_conv_direct_guess_fetches(const kiln_workload *w,
                                    const kiln_profile *profile) {
    kiln_arena scratch = {0};
    kiln_space s;
    kiln_space_init(&s, &scratch);
    const kiln_status st = kiln_conv_direct_space(w, profile, &s, NULL);
    bool fetches = false;
    if (st == KILN_OK && s.knob[FETCH].n > 1)
        fetches = kiln_conv_direct_guess(w, profile, &s).option[FETCH] == 1;
    kiln_arena_fini(&scratch);
    return fetches;
}
