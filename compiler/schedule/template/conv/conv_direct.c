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
 * Bytes are multiplied four at a time, neighbours in a block of x's channels or taps in a
 * row of one channel, by dot products.
 * Channels that no block divides have tail lanes of zeros (trust_tails). Blocks do not
 * cross groups. Convolutions over one axis have no rows; further axes are loops around.
 */
#include "compiler/schedule/template/conv/conv_direct.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/byte_dot.h"

enum { MAX_UNROLL = 16 * 112 };

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    const kiln_node *n = w->anchor;
    return kiln_is_conv(n) && n->in[0] != n->in[1] && n->in[0]->def == NULL &&
           n->in[1]->def == NULL && kiln_ends_element_wise(w);
}

/* ---- layouts --------------------------------------------------------------------- */

static const kiln_layout *layouts_of(kiln_arena *a, const kiln_conv_problem *p,
                                     const kiln_conv_plan *x) {
    const kiln_node *n = p->w->anchor;
    kiln_layout *layout =
        kiln_blocked_layouts(a, p->w->graph, n, x->ic_block, x->oc_block);
    kiln_layout *w = &layout[n->in[1]->id];
    const bool is_dot = kiln_conv_uses_dot(p, x);
    if (is_dot && !p->adds_taps) {
        kiln_conv_block_weights(n, p->profile, w, x->ic_block, x->oc_block);
        return layout;
    }
    kiln_layout_add_block(w, 1, x->ic_block);
    kiln_layout_add_block(w, 0, x->oc_block);
    if (is_dot)
        kiln_layout_add_block(w, p->n_spatial + 1, KILN_DOT_DEPTH);
    return layout;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct nest {
    const kiln_conv_problem *p;
    const kiln_conv_plan *x;
    kiln_blocked_stages stage;
    kiln_iter *chunk; /* of y: the parallel loop */
    kiln_iter *tile;  /* of y: the loop around a tile */
    kiln_iter *rows;  /* of y: over rows of tiles of a chunk; NULL: there are none */
    const kiln_te *weights;
    kiln_err *err;
} nest;

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
    KILN_TRY(kiln_split(k->stage.y, x, tile, &tiles, &out[2], k->err));
    const int64_t n_chunks = kiln_ceil_div(tiles->extent, kiln_ceil_div(chunk, tile));
    return kiln_split(k->stage.y, tiles, kiln_ceil_div(tiles->extent, n_chunks),
                      &out[0], &out[1], k->err);
}

static kiln_status schedule_y(nest *k) {
    kiln_stage *y = k->stage.y;
    const kiln_conv_plan *x = k->x;
    const int last = k->p->n_spatial + 1;
    const bool has_rows = k->p->n_spatial >= 2;
    kiln_iter *oc[3], *oh[3] = {NULL}, *ow[2], *order[KILN_MAX_AXES + 8];
    kiln_iter *channels = kiln_stage_axis(y, 1), *group = NULL;
    size_t n = 0;
    /* A loop of its own: within it the channels of x do not depend on those of y. */
    if (k->p->groups > 1)
        KILN_TRY(kiln_split(y, channels, k->p->o_group / x->oc_block, &group, &channels,
                            k->err));
    KILN_TRY(split_twice(k, channels, x->tile[KILN_CONV_TILE_OC], x->oc_chunk, oc));
    if (has_rows)
        KILN_TRY(split_twice(k, kiln_stage_axis(y, last - 1),
                             x->tile[KILN_CONV_TILE_OH], x->oh_chunk, oh));
    KILN_TRY(kiln_split(y, kiln_stage_axis(y, last), x->tile[KILN_CONV_TILE_OW], &ow[0],
                        &ow[1], k->err));
    kiln_iter *outer = kiln_stage_axis(y, 0);
    order[n++] = outer;
    if (group != NULL)
        order[n++] = group;
    const size_t n_chunk = n + (has_rows ? 2 : 1);
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
    k->rows = oh[1];
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
    for (size_t i = 1; i < n_chunk; i++)
        KILN_TRY(kiln_fuse(y, k->chunk, order[i], &k->chunk, k->err));
    return kiln_parallel(y, k->chunk, k->err);
}

/* Innermost first, whole loops become copies while steps are left, then a part of one.
 */
static kiln_status unroll_steps(nest *k, kiln_stage *st, kiln_iter **order, size_t *n) {
    int64_t steps = kiln_conv_steps(k->x);
    for (size_t i = *n; i-- > 0 && steps > 1;) {
        const int64_t d = kiln_conv_divisor(order[i]->extent, steps);
        if (d < order[i]->extent && d > 1) {
            kiln_iter *outer, *inner;
            KILN_TRY(kiln_split(st, order[i], d, &outer, &inner, k->err));
            order[i] = outer;
            for (size_t j = (*n)++; j > i + 1; j--)
                order[j] = order[j - 1];
            order[i + 1] = inner;
            return kiln_unroll(st, inner, k->err);
        }
        if (d < order[i]->extent)
            return KILN_OK;
        KILN_TRY(kiln_unroll(st, order[i], k->err));
        steps /= d;
    }
    return KILN_OK;
}

/* Weights come from far in every call of a network, and the first tile of a panel of
 * channels waits for each line of it while those behind find it in the L2 cache. So each
 * row of tiles fetches its part of the next panel, which lies behind this one: of a block
 * of channels what it reads of the panel's first one, so far on. `step`: the loop over
 * channels in a block, or what is left of it. */
static kiln_status prefetch(nest *k, kiln_iter *step) {
    const kiln_conv_plan *x = k->x;
    const int64_t passes = kiln_conv_fetches(k->p, x);
    if (passes == 0)
        return KILN_OK;
    const int64_t panel = x->tile[KILN_CONV_TILE_OC];
    const kiln_type *w = &k->p->w->anchor->in[1]->type;
    const int64_t terms = kiln_ceil_div(k->p->c, x->ic_block) * x->ic_block;
    const int64_t block = terms * w->dim[2] * w->dim[3] * x->oc_block;
    /* A pass takes an equal part of what each run of the loop reads, of all blocks: so
     * memory is asked all the time, and not in bursts. */
    const int64_t parts = kiln_conv_divisor(step->extent, passes);
    const int64_t steps = x->ic_block / step->extent;
    const int64_t line = kiln_line_bytes(k->p->profile) / k->p->elem_bytes;
    const int64_t each = kiln_ceil_div(steps * x->oc_block, parts);
    const int64_t lines = kiln_ceil_div(each, line);
    for (int64_t i = 0; i < panel * lines; i++) {
        const kiln_ahead ahead = {
            .elems = (panel + i / lines) * block + i % lines * line,
            .step_elems = each,
            .around = kiln_conv_row_passes(k->p, x) > 1 ? k->rows : k->tile,
            .around_wraps = parts,
            .around_elems = step->extent * each};
        KILN_TRY(kiln_prefetch(k->stage.anchor, k->weights, step, &ahead, k->err));
    }
    return KILN_OK;
}

/* The loops over terms, in their order; *four: those that `dot` adds up by itself. */
static kiln_status order_terms(nest *k, kiln_stage *conv, bool is_dot,
                               kiln_iter **order, size_t *n_order, kiln_iter **four) {
    const kiln_conv_plan *x = k->x;
    const int n_spatial = k->p->n_spatial;
    kiln_iter *ic[2] = {kiln_stage_reduce(conv, 0), NULL};
    size_t n = 0;
    if (x->ic_block > 1)
        KILN_TRY(kiln_split(conv, ic[0], x->ic_block, &ic[0], &ic[1], k->err));
    if (is_dot && !k->p->adds_taps)
        KILN_TRY(kiln_split(conv, ic[1], KILN_DOT_DEPTH, &ic[1], four, k->err));
    if (!x->taps_outer)
        order[n++] = ic[0];
    for (int i = 0; i < n_spatial; i++)
        order[n++] = kiln_stage_reduce(conv, 1 + i);
    if (is_dot && k->p->adds_taps)
        KILN_TRY(kiln_split(conv, order[n - 1], KILN_DOT_DEPTH, &order[n - 1], four,
                            k->err));
    if (x->taps_outer)
        order[n++] = ic[0];
    if (ic[1] != NULL)
        order[n++] = ic[1];
    *n_order = n;
    return KILN_OK;
}

/* The sums of a tile: a stage over y's axes, of `dot` where there is one. */
static kiln_status schedule_sums(nest *k, kiln_stage *conv,
                                 const kiln_tensor_intrin *dot) {
    const int n_spatial = k->p->n_spatial;
    kiln_iter *order[KILN_MAX_AXES + 8], *four = NULL, *tile[KILN_MAX_AXES];
    size_t n = 0;
    int n_tile = 0;
    KILN_TRY(kiln_compute_at(conv, k->stage.y, k->tile, k->err));
    KILN_TRY(order_terms(k, conv, dot != NULL, order, &n, &four));
    const size_t innermost = n - 1;
    KILN_TRY(unroll_steps(k, conv, order, &n));
    /* Over channels of a block; where it was split, the part that is still a loop. */
    kiln_iter *step = k->x->ic_block > 1 ? order[innermost] : NULL;
    for (int i = 2; i < n_spatial + 2; i++)
        tile[n_tile++] = kiln_stage_axis(conv, i);
    tile[n_tile++] = kiln_stage_axis(conv, 1);
    for (int i = 0; i < n_tile; i++)
        order[n++] = tile[i];
    if (has_block(k))
        order[n++] = lanes_of(k, conv);
    if (four != NULL)
        order[n++] = four;
    KILN_TRY(kiln_reorder(conv, order, n, k->err));
    if (conv == k->stage.anchor && step != NULL)
        KILN_TRY(prefetch(k, step));
    if (dot == NULL)
        return unroll_tile(k, conv, tile, n_tile);
    for (int i = 0; i < n_tile; i++)
        KILN_TRY(kiln_unroll(conv, tile[i], k->err));
    return kiln_tensorize(conv, lanes_of(k, conv), dot, (int)k->x->oc_block, k->err);
}

/* And those of x that a zero point of the weights asks for. */
static kiln_status schedule_conv(nest *k) {
    const bool is_dot = kiln_conv_uses_dot(k->p, k->x);
    KILN_TRY(schedule_sums(k, k->stage.anchor, is_dot ? k->p->dot : NULL));
    if (k->stage.x_sum == NULL)
        return KILN_OK;
    return schedule_sums(k, k->stage.x_sum,
                         is_dot ? kiln_dot_sum_of(k->p->w->anchor) : NULL);
}

/* Few bytes of a block are moved at a time: a vector of them in one body. */
static kiln_status unroll_columns(nest *k, kiln_stage *pad) {
    kiln_iter *outer, *inner;
    const int64_t bytes = k->x->ic_block * k->p->elem_bytes;
    const int64_t n = k->p->profile->vector_bytes / bytes;
    if (k->p->dot == NULL || k->x->ic_block == 1 || n <= 1)
        return KILN_OK;
    KILN_TRY(kiln_split(pad, kiln_stage_axis(pad, k->p->n_spatial + 1), n, &outer,
                        &inner, k->err));
    return kiln_unroll(pad, inner, k->err);
}

/* The pad stage's innermost axis in vectors: channels of a block, or columns. */
static kiln_status schedule_pad(nest *k) {
    kiln_stage *pad = k->stage.pad;
    if (pad == NULL)
        return KILN_OK;
    if (k->x->pad == KILN_CONV_PAD_NONE)
        return kiln_compute_inline(pad, k->err);
    kiln_iter *inner =
        kiln_stage_axis(pad, k->p->n_spatial + (k->x->ic_block > 1 ? 2 : 1));
    if (inner->extent > k->p->lanes) {
        kiln_iter *outer;
        KILN_TRY(kiln_split(pad, inner, k->p->lanes, &outer, &inner, k->err));
    }
    KILN_TRY(kiln_vectorize(pad, inner, k->err));
    KILN_TRY(unroll_columns(k, pad));
    if (k->x->pad == KILN_CONV_PAD_CHUNK)
        return kiln_compute_at(pad, k->stage.y, k->chunk, k->err);
    kiln_iter *rows;
    KILN_TRY(kiln_fuse(pad, kiln_stage_axis(pad, 0), kiln_stage_axis(pad, 1), &rows,
                       k->err));
    return kiln_parallel(pad, rows, k->err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    const kiln_conv_plan x = kiln_conv_plan_of(&p, s, c);
    kiln_scheduled made = {.loop = {.max_unroll = MAX_UNROLL}};
    nest k = {.p = &p, .x = &x, .err = err};
    KILN_TRY(kiln_graph_compute(a, w->graph, layouts_of(a, &p, &x),
                                kiln_trusts_tails(w->anchor, profile), &made.te, err));
    k.weights = made.te.value[w->anchor->in[1]->id].te;
    const size_t n_inputs = made.te.n_inputs;
    made.schedule =
        kiln_schedule_new(a, made.te.arg + n_inputs, made.te.n_args - n_inputs);
    KILN_TRY(kiln_blocked_stages_of(made.schedule, "conv", &k.stage, err));
    KILN_TRY(schedule_y(&k));
    KILN_TRY(schedule_conv(&k));
    KILN_TRY(schedule_pad(&k));
    *out = made;
    return KILN_OK;
}

static const char *const layout_knobs[] = {"oc_block", "ic_block", NULL};

const kiln_template kiln_template_conv_direct = {
    .name = "conv_direct",
    .doc = "direct convolution in NCHW[x]c with accumulators in registers",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = kiln_conv_direct_space,
    .pays = kiln_conv_direct_pays,
    .guess = kiln_conv_direct_guess,
    .apply = apply,
};
