/* conv_direct: direct convolution in NCHW[x]c (NeoCPU, ATC'19, section 3.1).
 *
 * x has its channels in blocks of ic_block, weights are [oc][ic][k...][ic_b][oc_b], y
 * has its channels in blocks of oc_block: one vector. Accumulators of a tile of output
 * positions and channel blocks stay in registers for the whole reduction, each a
 * broadcast element of x times a vector of weights:
 *
 *     for batch, channel chunk, row chunk          one parallel loop
 *         pad what the chunk reads                 (or ahead, or in the reads)
 *         for channel tile, row tile, column tile  in this order or another
 *             acc[oh][ow][oc][oc_b] = 0            registers
 *             for ic block, k..., ic in block
 *                 acc += broadcast x[...] * w[...]
 *             y = epilogue(acc)
 *
 * One channel of x per block is the plain layout: first layers read images as they are.
 * Channels that no block divides have tail lanes of zeros (trust_tails). Blocks do not
 * cross groups. Convolutions over one axis have no rows; further axes are loops around.
 */
#include "compiler/schedule/template.h"

#include <inttypes.h>
#include <string.h>

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
    N_KNOBS
};

enum { TILE_OH, TILE_OW, TILE_OC };

static const char *const order_words[] = {"channels", "rows"};
static const char *const inner_words[] = {"channels", "rows"};
static const char *const reduce_words[] = {"channels", "taps"};
static const char *const pad_words[] = {"ahead", "chunk", "none"};

enum {
    MAX_TILE_OH = 8,
    MAX_TILE_OC = 8,
    MAX_BODY = 224, /* vector multiply-adds of one unrolled body: 20 to 40 ms of LLVM */
    MAX_TILES = 1024
};

typedef struct problem {
    const kiln_workload *w;
    const kiln_profile *profile;
    int n_spatial;
    int64_t groups, c, o;          /* channels of x, of y */
    int64_t c_group, o_group;      /* of one group */
    int64_t oh, ow;                /* rows are 1 where there is one spatial axis */
    int64_t kernel[KILN_MAX_RANK]; /* taps along each spatial axis */
    int64_t stride_h, stride_w;    /* of the last two axes */
    int64_t extent_h;              /* rows of x that one row of y reads */
    int64_t lanes;                 /* of a vector of accumulators */
    int64_t elem_bytes;            /* of x */
    bool pads;
} problem;

/* What a configuration says. */
typedef struct plan {
    int64_t oc_block, ic_block, tile[3], oc_chunk, oh_chunk, unroll;
    bool rows_outer, rows_inner, taps_outer;
    enum { PAD_AHEAD, PAD_CHUNK, PAD_NONE } pad;
} plan;

/* ---- the problem ----------------------------------------------------------------- */

static int64_t listed(const kiln_attr *a, int i, int64_t otherwise) {
    return a->n > 0 ? a->ints[i] : otherwise;
}

static int64_t min2(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static problem problem_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *x = &n->in[0]->type, *k = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *strides = kiln_node_attr(n, "strides");
    const kiln_attr *dilations = kiln_node_attr(n, "dilations");
    const kiln_attr *pads = kiln_node_attr(n, "pads");
    problem p = {.w = w,
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
    for (int i = 0; i < p.n_spatial; i++) {
        p.kernel[i] = k->dim[2 + i];
        p.pads |= listed(pads, i, 0) > 0 || listed(pads, p.n_spatial + i, 0) > 0;
    }
    p.stride_w = listed(strides, p.n_spatial - 1, 1);
    if (p.n_spatial >= 2) {
        const int h = p.n_spatial - 2;
        p.oh = y->dim[y->rank - 2];
        p.stride_h = listed(strides, h, 1);
        p.extent_h = (p.kernel[h] - 1) * listed(dilations, h, 1) + 1;
    }
    const bool is_half = x->dtype == KILN_F16 || x->dtype == KILN_BF16;
    p.lanes = profile->vector_bytes / (is_half ? 4 : p.elem_bytes);
    return p;
}

/* Element-wise on values of y's shape, so that y's tile is theirs. */
static bool is_epilogue(const kiln_node *n, const kiln_type *y) {
    return n->op->fuse == KILN_FUSE_INJECTIVE &&
           n->op->layout == KILN_LAYOUT_OBLIVIOUS && n->n_out == 1 &&
           kiln_type_same_shape(&n->out[0]->type, y);
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    const kiln_node *n = w->anchor;
    if (n->op != &kiln_op_conv || n->in[0] == n->in[1] || n->in[0]->def != NULL ||
        n->in[1]->def != NULL || w->graph->outputs.n != 1 ||
        w->graph->outputs.v[0]->def == NULL || kiln_type_elems(&n->out[0]->type) == 0)
        return false;
    for (size_t i = 0; i < w->graph->nodes.n; i++)
        if (w->graph->nodes.v[i] != n &&
            !is_epilogue(w->graph->nodes.v[i], &n->out[0]->type))
            return false;
    return true;
}

/* ---- space ----------------------------------------------------------------------- */

/* Accumulators, one vector of weights for each block of channels, the broadcast, its
 * product where that is not added at once, and one that LLVM loads ahead: without it a
 * tile of 4 x 3 on 16 registers spills. */
static bool tile_fits(const problem *p, int64_t oh, int64_t ow, int64_t oc) {
    return oh * ow * oc + oc + (p->profile->has_fma ? 2 : 3) <=
           p->profile->vector_registers;
}

static void add_blocks(const problem *p, kiln_space *s) {
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
    if (p->groups == 1 && p->c == 3)
        value[n++] = 3;
    kiln_space_add_ints(s, "ic_block", "input channels next to each other; 1: plain",
                        value, n);
}

static void add_tiles(const problem *p, kiln_space *s) {
    const int64_t blocks = ceil_div(p->o, p->lanes);
    const int64_t oh = min2(p->oh, MAX_TILE_OH), oc = min2(blocks, MAX_TILE_OC);
    const int64_t ow = min2(p->ow, p->profile->vector_registers - 2);
    /* Too few accumulators wait for each other. */
    const int64_t least = min2(oh * ow * oc, p->profile->vector_registers / 4);
    int64_t value[3 * MAX_TILES];
    int n = 0;
    for (int64_t i = 1; i <= oh; i++)
        for (int64_t j = 1; j <= ow; j++)
            for (int64_t k = 1; k <= oc && n < MAX_TILES; k++)
                if (tile_fits(p, i, j, k) && i * j * k >= least) {
                    value[3 * n + TILE_OH] = i;
                    value[3 * n + TILE_OW] = j;
                    value[3 * n++ + TILE_OC] = k;
                }
    kiln_space_add_tuples(s, "tile", "rows, columns, channel blocks in registers",
                          value, n, 3);
}

static kiln_status space(const kiln_workload *w, const kiln_profile *profile,
                         kiln_space *out, kiln_err *err) {
    static const int64_t chunk[] = {1, 2, 4, 8, 16, 32, 64, 128};
    static const int64_t unroll[] = {1, 2, 4, 8, 16};
    const problem p = problem_of(w, profile);
    (void)err;
    add_blocks(&p, out);
    add_tiles(&p, out);
    int n = 1;
    while (n < 8 && chunk[n - 1] < ceil_div(p.o, p.lanes))
        n++;
    kiln_space_add_ints(out, "oc_chunk", "channel blocks of one parallel part", chunk,
                        n);
    for (n = 1; n < 8 && chunk[n - 1] < p.oh; n++)
        ;
    kiln_space_add_ints(out, "oh_chunk", "rows of one parallel part", chunk, n);
    kiln_space_add_words(out, "order", "the outer of the loops over chunks",
                         order_words, 2);
    kiln_space_add_words(out, "inner", "the outer of the loops over tiles", inner_words,
                         2);
    kiln_space_add_words(out, "reduce", "the outer of the reduction loops",
                         reduce_words, 2);
    kiln_space_add_ints(out, "unroll", "steps of the reduction in one body, at most",
                        unroll, 5);
    kiln_space_add_words(out, "pad", "where zeros are put around x", pad_words,
                         p.pads ? 3 : 1);
    return KILN_OK;
}

/* The largest divisor of n that is at most `most`. */
static int64_t divisor(int64_t n, int64_t most) {
    int64_t d = min2(n, most);
    while (n % d != 0)
        d--;
    return d;
}

/* Tiles do not cross groups either. */
static plan plan_of(const problem *p, const kiln_space *s, const kiln_config *c) {
    plan x = {.oc_block = kiln_config_int(s, c, OC_BLOCK, 0),
              .ic_block = kiln_config_int(s, c, IC_BLOCK, 0),
              .oc_chunk = kiln_config_int(s, c, OC_CHUNK, 0),
              .oh_chunk = kiln_config_int(s, c, OH_CHUNK, 0),
              .unroll = kiln_config_int(s, c, UNROLL, 0),
              .rows_outer = c->option[ORDER] == 1,
              .rows_inner = c->option[INNER] == 1,
              .taps_outer = c->option[REDUCE] == 1,
              .pad = (int)c->option[PAD]};
    for (int i = 0; i < 3; i++)
        x.tile[i] = kiln_config_int(s, c, TILE, i);
    if (p->groups > 1)
        x.tile[TILE_OC] = divisor(p->o_group / x.oc_block, x.tile[TILE_OC]);
    return x;
}

/* ---- a good point without a search ----------------------------------------------- */

/* Cycles of one step of the reduction: two multiply-adds and two loads a cycle, each
 * accumulator waits four cycles for itself and a fifth for what comes between, and
 * loads are not all hidden: measured, a tenth of a cycle each. */
static double step_cycles(int64_t pixels, int64_t oc) {
    const double adds = (double)(pixels * oc) / 2, loads = (double)(pixels + oc);
    const double most = adds > loads / 2 ? adds : loads / 2;
    return (most > 5 ? most : 5) + loads / 10;
}

/* Of all tiles of the output; what a tile leaves over is a smaller tile. */
static double tile_cycles(const problem *p, const int64_t *tile) {
    const int64_t extent[3] = {p->oh, p->ow, ceil_div(p->o, p->lanes)};
    double sum = 0;
    for (int part = 0; part < 8; part++) {
        int64_t size[3];
        double n = 1;
        for (int i = 0; i < 3; i++) {
            const bool is_rest = (part >> i & 1) != 0;
            size[i] = is_rest ? extent[i] % tile[i] : min2(tile[i], extent[i]);
            n *= (double)(is_rest ? size[i] > 0 : extent[i] / tile[i]);
        }
        if (n > 0)
            sum += n * step_cycles(size[TILE_OH] * size[TILE_OW], size[TILE_OC]);
    }
    return sum;
}

/* All channels and as many rows as leave x in a part of the second cache, unless there
 * would be too few parts for the cores. */
static void guess_chunks(const problem *p, const kiln_space *s, kiln_config *c) {
    const int64_t cache = p->profile->l2_bytes > 0 ? p->profile->l2_bytes : 256 * 1024;
    const kiln_type *x = &p->w->anchor->in[0]->type;
    const int64_t row_bytes = x->dim[x->rank - 1] * p->c * p->elem_bytes;
    const int64_t blocks = ceil_div(p->o, p->lanes);
    int64_t oc = blocks, oh = p->oh;
    while (oh > 1 && (oh * p->stride_h + p->extent_h) * row_bytes > cache / 4)
        oh = ceil_div(oh, 2);
    while (x->dim[0] * ceil_div(blocks, oc) * ceil_div(p->oh, oh) < p->profile->cores &&
           (oc > 1 || oh > 1)) {
        if (oh > 4 || oc == 1)
            oh = ceil_div(oh, 2);
        else
            oc = ceil_div(oc, 2);
    }
    kiln_config_set(s, c, OC_CHUNK, &oc);
    kiln_config_set(s, c, OH_CHUNK, &oh);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *profile,
                         const kiln_space *s) {
    const problem p = problem_of(w, profile);
    kiln_config c = {.n = s->n};
    int64_t ic = p.lanes;
    kiln_config_set(s, &c, OC_BLOCK, &p.lanes);
    if (p.groups == 1 && p.c * 2 <= p.lanes)
        ic = 1;
    kiln_config_set(s, &c, IC_BLOCK, &ic);
    const int64_t unroll = 1;
    kiln_config_set(s, &c, UNROLL, &unroll);
    double best = 0;
    for (int i = 0; i < s->knob[TILE].n; i++) {
        const double cycles = tile_cycles(&p, s->knob[TILE].value + (size_t)i * 3);
        if (i == 0 || cycles < best) {
            best = cycles;
            c.option[TILE] = (int16_t)i;
        }
    }
    guess_chunks(&p, s, &c);
    c.option[PAD] = p.pads ? PAD_CHUNK : 0;
    return c;
}

/* ---- layouts --------------------------------------------------------------------- */

static void add_block(kiln_layout *l, int axis, int64_t size) {
    if (size > 1)
        l->block[l->n_blocks++] =
            (kiln_block){.axis = (uint8_t)axis, .size = (int32_t)size};
}

/* By value id: values of y's shape go with y. */
static const kiln_layout *layouts_of(kiln_arena *a, const problem *p, const plan *x) {
    const kiln_graph *g = p->w->graph;
    const kiln_node *n = p->w->anchor;
    kiln_layout *layout = kiln_array(a, kiln_layout, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        if (kiln_type_same_shape(&g->values.v[i]->type, &n->out[0]->type))
            add_block(&layout[i], 1, x->oc_block);
    kiln_layout *lx = &layout[n->in[0]->id], *lw = &layout[n->in[1]->id];
    *lx = *lw = (kiln_layout){0};
    add_block(lx, 1, x->ic_block);
    add_block(lw, 1, x->ic_block);
    add_block(lw, 0, x->oc_block);
    return layout;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct nest {
    const problem *p;
    const plan *x;
    kiln_stage *y, *conv, *pad; /* pad may be NULL */
    kiln_iter *chunk;           /* of y: the parallel loop */
    kiln_iter *tile;            /* of y: the loop around a tile */
    kiln_err *err;
} nest;

/* The conv stage becomes one of its own where it is the output; all between it and the
 * output is computed in place. */
static kiln_status find_stages(nest *k, kiln_schedule *s) {
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        if (strcmp(st->te->tag, "conv") == 0)
            k->conv = st;
        if (strcmp(st->te->tag, "pad") == 0)
            k->pad = st;
        if (st->is_output)
            k->y = st;
    }
    KILN_ASSERT(k->conv != NULL && k->y != NULL, "a convolution without its stages");
    if (k->conv == k->y)
        KILN_TRY(kiln_cache_write(k->y, KILN_SCOPE_REGISTER, &k->conv, k->err));
    for (size_t i = 0; i < s->stage.n; i++) {
        kiln_stage *st = s->stage.v[i];
        if (st != k->y && st != k->conv && st != k->pad)
            KILN_TRY(kiln_compute_inline(st, k->err));
    }
    return kiln_set_scope(k->conv, KILN_SCOPE_REGISTER, k->err);
}

static bool has_block(const nest *k) { return k->x->oc_block > 1; }

static kiln_iter *lanes_of(const nest *k, kiln_stage *st) {
    return has_block(k) ? kiln_stage_axis(st, k->p->n_spatial + 2) : NULL;
}

/* Unrolls the tile's loops, innermost the vector. */
static kiln_status unroll_tile(nest *k, kiln_stage *st, kiln_iter *const *loop, int n) {
    for (int i = 0; i < n; i++)
        KILN_TRY(kiln_unroll(st, loop[i], k->err));
    return has_block(k) ? kiln_vectorize(st, lanes_of(k, st), k->err) : KILN_OK;
}

/* x in tiles, and tiles in chunks of about one size. */
static kiln_status split_twice(nest *k, kiln_iter *x, int64_t tile, int64_t chunk,
                               kiln_iter *out[3]) {
    kiln_iter *tiles;
    KILN_TRY(kiln_split(k->y, x, tile, &tiles, &out[2], k->err));
    const int64_t n_chunks = ceil_div(tiles->extent, ceil_div(chunk, tile));
    return kiln_split(k->y, tiles, ceil_div(tiles->extent, n_chunks), &out[0], &out[1],
                      k->err);
}

static kiln_status schedule_y(nest *k) {
    kiln_stage *y = k->y;
    const plan *x = k->x;
    const int last = k->p->n_spatial + 1;
    const bool has_rows = k->p->n_spatial >= 2;
    kiln_iter *oc[3], *oh[3] = {NULL}, *ow[2], *order[KILN_MAX_AXES + 8];
    size_t n = 0;
    KILN_TRY(split_twice(k, kiln_stage_axis(y, 1), x->tile[TILE_OC], x->oc_chunk, oc));
    if (has_rows)
        KILN_TRY(split_twice(k, kiln_stage_axis(y, last - 1), x->tile[TILE_OH],
                             x->oh_chunk, oh));
    KILN_TRY(kiln_split(y, kiln_stage_axis(y, last), x->tile[TILE_OW], &ow[0], &ow[1],
                        k->err));
    kiln_iter *outer = kiln_stage_axis(y, 0);
    order[n++] = outer;
    for (int level = 0; level < 2; level++) {
        const bool rows_first = level == 0 ? x->rows_outer : x->rows_inner;
        if (has_rows && rows_first)
            order[n++] = oh[level];
        order[n++] = oc[level];
        if (has_rows && !rows_first)
            order[n++] = oh[level];
        for (int i = 2; level == 0 && i < last - 1; i++)
            order[n++] = kiln_stage_axis(y, i);
    }
    order[n++] = k->tile = ow[0];
    kiln_iter *const tile[] = {ow[1], oc[2], oh[2]};
    if (has_rows)
        order[n++] = oh[2];
    order[n++] = ow[1];
    order[n++] = oc[2];
    if (has_block(k))
        order[n++] = lanes_of(k, y);
    KILN_TRY(kiln_reorder(y, order, n, k->err));
    KILN_TRY(unroll_tile(k, y, tile, has_rows ? 3 : 2));
    k->chunk = outer;
    for (int i = 1; i < (has_rows ? 3 : 2); i++)
        KILN_TRY(kiln_fuse(y, k->chunk, order[i], &k->chunk, k->err));
    return kiln_parallel(y, k->chunk, k->err);
}

/* Steps of the reduction that one body may hold. */
static int64_t steps_of(const plan *x) {
    const int64_t tile = x->tile[0] * x->tile[1] * x->tile[2];
    const int64_t most = MAX_BODY / tile;
    return min2(x->unroll, most > 1 ? most : 1);
}

/* Innermost first, whole loops become copies while steps are left, then a part of one.
 */
static kiln_status unroll_steps(nest *k, kiln_iter **order, size_t *n) {
    int64_t steps = steps_of(k->x);
    for (size_t i = *n; i-- > 0 && steps > 1;) {
        const int64_t d = divisor(order[i]->extent, steps);
        if (d < order[i]->extent && d > 1) {
            kiln_iter *outer, *inner;
            KILN_TRY(kiln_split(k->conv, order[i], d, &outer, &inner, k->err));
            order[i] = outer;
            for (size_t j = (*n)++; j > i + 1; j--)
                order[j] = order[j - 1];
            order[i + 1] = inner;
            return kiln_unroll(k->conv, inner, k->err);
        }
        if (d < order[i]->extent)
            return KILN_OK;
        KILN_TRY(kiln_unroll(k->conv, order[i], k->err));
        steps /= d;
    }
    return KILN_OK;
}

static kiln_status schedule_conv(nest *k) {
    kiln_stage *conv = k->conv;
    const plan *x = k->x;
    const int n_spatial = k->p->n_spatial;
    kiln_iter *ic[2] = {kiln_stage_reduce(conv, 0), NULL};
    kiln_iter *order[KILN_MAX_AXES + 8];
    size_t n = 0;
    KILN_TRY(kiln_compute_at(conv, k->y, k->tile, k->err));
    if (x->ic_block > 1)
        KILN_TRY(kiln_split(conv, ic[0], x->ic_block, &ic[0], &ic[1], k->err));
    if (!x->taps_outer)
        order[n++] = ic[0];
    for (int i = 0; i < n_spatial; i++)
        order[n++] = kiln_stage_reduce(conv, 1 + i);
    if (x->taps_outer)
        order[n++] = ic[0];
    if (ic[1] != NULL)
        order[n++] = ic[1];
    KILN_TRY(unroll_steps(k, order, &n));
    kiln_iter *tile[KILN_MAX_AXES];
    int n_tile = 0;
    for (int i = 2; i < n_spatial + 2; i++)
        tile[n_tile++] = kiln_stage_axis(conv, i);
    tile[n_tile++] = kiln_stage_axis(conv, 1);
    for (int i = 0; i < n_tile; i++)
        order[n++] = tile[i];
    if (has_block(k))
        order[n++] = lanes_of(k, conv);
    KILN_TRY(kiln_reorder(conv, order, n, k->err));
    return unroll_tile(k, conv, tile, n_tile);
}

/* The pad stage's innermost axis in vectors: channels of a block, or columns. */
static kiln_status schedule_pad(nest *k) {
    kiln_stage *pad = k->pad;
    if (pad == NULL)
        return KILN_OK;
    if (k->x->pad == PAD_NONE)
        return kiln_compute_inline(pad, k->err);
    kiln_iter *inner =
        kiln_stage_axis(pad, k->p->n_spatial + (k->x->ic_block > 1 ? 2 : 1));
    if (inner->extent > k->p->lanes) {
        kiln_iter *outer;
        KILN_TRY(kiln_split(pad, inner, k->p->lanes, &outer, &inner, k->err));
    }
    KILN_TRY(kiln_vectorize(pad, inner, k->err));
    if (k->x->pad == PAD_CHUNK)
        return kiln_compute_at(pad, k->y, k->chunk, k->err);
    kiln_iter *rows;
    KILN_TRY(kiln_fuse(pad, kiln_stage_axis(pad, 0), kiln_stage_axis(pad, 1), &rows,
                       k->err));
    return kiln_parallel(pad, rows, k->err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const problem p = problem_of(w, profile);
    const plan x = plan_of(&p, s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 16 * MAX_BODY}};
    nest k = {.p = &p, .x = &x, .err = err};
    KILN_TRY(kiln_graph_compute(a, w->graph, layouts_of(a, &p, &x),
                                profile->numerics != KILN_NUMERICS_STRICT, &made.te,
                                err));
    const size_t n_inputs = made.te.n_inputs;
    made.schedule =
        kiln_schedule_new(a, made.te.arg + n_inputs, made.te.n_args - n_inputs);
    KILN_TRY(find_stages(&k, made.schedule));
    KILN_TRY(schedule_y(&k));
    KILN_TRY(schedule_conv(&k));
    KILN_TRY(schedule_pad(&k));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_conv_direct = {
    .name = "conv_direct",
    .doc = "direct convolution in NCHW[x]c with accumulators in registers",
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
