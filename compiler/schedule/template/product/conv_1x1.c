/* conv_1x1: convolutions of one tap, as matrix products over pixels.
 *
 * Layouts as conv_direct has them (NeoCPU, ATC'19, section 3.1): channels of x in
 * blocks of ic_block, weights [oc][ic][1...][ic_b][oc_b], channels of y in blocks of
 * oc_block. A tile is tile_p pixels by tile_oc blocks of output channels; every pixel's
 * input channel is broadcast over the blocks:
 *
 *     for batch, channel block, pixel block       one parallel loop, with panels or not
 *         for channel panel, pixel panel          in either order
 *             acc[tile_p][tile_oc][oc_b] = 0      registers
 *             for ic block, ic in block: acc += x[p, ic] * w[ic, oc]
 *             y = epilogue(acc)
 *
 * With unit strides a pixel is a pixel: the spatial axes are collapsed into one before
 * anything is computed, so that tiles run on over the ends of rows (7 x 7 pixels are
 * 49). The bytes of the arguments are the same. Otherwise a tile is tile_rows by tile_p
 * pixels of the last two axes. */
#include "compiler/schedule/template/product/conv_1x1.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/byte_dot.h"
#include "compiler/schedule/template/product/merge_axes.h"

#include <inttypes.h>

/* ---- the problem ----------------------------------------------------------------- */

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    (void)p;
    if (!kiln_is_conv(n) || n->in[0] == n->in[1] || n->in[0]->def != NULL ||
        n->in[1]->def != NULL || kiln_node_attr(n, "groups")->i != 1 ||
        kiln_pads_any(n) || !kiln_ends_element_wise(w))
        return false;
    const kiln_type *k = &n->in[1]->type, *y = &n->out[0]->type;
    for (int i = 2; i < k->rank; i++)
        if (k->dim[i] != 1)
            return false;
    return y->dim[1] > 1 && k->dim[1] > 0;
}

static kiln_merge pixels_of(const kiln_workload *w) {
    return (kiln_merge){.w = w, .first = 2, .n = w->anchor->out[0]->type.rank - 2};
}

static bool collapses(const kiln_workload *w) {
    const kiln_merge c = pixels_of(w);
    return kiln_attr_is_all(kiln_node_attr(w->anchor, "strides"), 1) && kiln_merges(&c);
}

kiln_conv_1x1 kiln_conv_1x1_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_type *x = &w->anchor->in[0]->type, *y = &w->anchor->out[0]->type;
    kiln_conv_1x1 p = {.w = w,
                       .profile = profile,
                       .n_spatial = x->rank - 2,
                       .collapses = collapses(w),
                       .images = x->dim[0],
                       .c = x->dim[1],
                       .o = y->dim[1],
                       .rows = 1,
                       .pixels = 1,
                       .elem_bytes = (int64_t)kiln_dtype_bytes(x->dtype)};
    for (int i = 2; i < y->rank; i++)
        p.pixels *= y->dim[i];
    p.cols = p.collapses ? p.pixels : y->dim[y->rank - 1];
    if (!p.collapses && p.n_spatial > 1)
        p.rows = y->dim[y->rank - 2];
    p.lanes = kiln_sum_lanes(w->anchor, profile);
    p.dot = kiln_dot_of(w->anchor, profile);
    return p;
}

/* ---- space ----------------------------------------------------------------------- */

static const int64_t tile_rows[] = {1, 2, 3, 4, 7, 8};
static const int64_t tile_ps[] = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                  11, 12, 13, 14, 16, 18, 20, 24, 28};
static const int64_t tile_ocs[] = {1, 2, 3, 4, 6, 8};
static const int64_t panels[] = {1, 2, 4, 8, 16, 32};
static const int64_t unrolls[] = {1, 2, 4, 8, 16};
#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static void add_panels(kiln_space *s, const char *name, const char *doc,
                       int64_t extent) {
    int64_t value[COUNT(panels) + 1] = {0};
    int n = 1;
    while (n <= COUNT(panels) && panels[n - 1] < extent) {
        value[n] = panels[n - 1];
        n++;
    }
    kiln_space_add_ints(s, name, doc, value, n);
}

static kiln_status space(const kiln_workload *w, const kiln_profile *profile,
                         kiln_space *s, kiln_err *err) {
    static const char *const order[] = {"channels", "pixels"};
    static const char *const pack[] = {"no", "panel"};
    (void)err;
    const kiln_conv_1x1 p = kiln_conv_1x1_of(w, profile);
    kiln_space_add_blocks(s, p.o, p.c, p.lanes, p.dot != NULL ? KILN_DOT_DEPTH : 1);
    kiln_space_add_up_to(s, "tile_rows", "rows of pixels in a tile", tile_rows,
                         COUNT(tile_rows), p.rows);
    kiln_space_add_up_to(s, "tile_p", "pixels (of a row) in a tile", tile_ps,
                         COUNT(tile_ps), p.cols);
    kiln_space_add_up_to(s, "tile_oc", "blocks of output channels in a tile", tile_ocs,
                         COUNT(tile_ocs), (p.o + p.lanes - 1) / p.lanes);
    add_panels(s, "block_p", "pixel panels in a block; 0: all", p.cols);
    add_panels(s, "block_oc", "channel panels in a block; 0: all",
               (p.o + p.lanes - 1) / p.lanes);
    kiln_space_add_up_to(s, "unroll_ic", "copies of the body of the channel loop",
                         unrolls, COUNT(unrolls), p.c);
    kiln_space_add_words(s, "order", "which panels are the outer loop", order, 2);
    kiln_space_add_words(s, "pack_x", "copy the pixels of a panel", pack, 2);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         kiln_tiles_parallel_words, KILN_N_TILES_PARALLEL);
    return KILN_OK;
}

kiln_conv_1x1_plan kiln_conv_1x1_plan_of(const kiln_space *s, const kiln_config *c) {
    const kiln_conv_1x1_plan p = {
        .oc_block = kiln_config_int(s, c, KILN_CONV_1X1_OC_BLOCK, 0),
        .ic_block = kiln_config_int(s, c, KILN_CONV_1X1_IC_BLOCK, 0),
        .tile_rows = kiln_config_int(s, c, KILN_CONV_1X1_TILE_ROWS, 0),
        .tile_p = kiln_config_int(s, c, KILN_CONV_1X1_TILE_P, 0),
        .tile_oc = kiln_config_int(s, c, KILN_CONV_1X1_TILE_OC, 0),
        .block_p = kiln_config_int(s, c, KILN_CONV_1X1_BLOCK_P, 0),
        .block_oc = kiln_config_int(s, c, KILN_CONV_1X1_BLOCK_OC, 0),
        .unroll = kiln_config_int(s, c, KILN_CONV_1X1_UNROLL_IC, 0),
        .channels_outer = kiln_config_is(s, c, KILN_CONV_1X1_ORDER, "channels"),
        .pack = kiln_config_is(s, c, KILN_CONV_1X1_PACK_X, "panel"),
        .parallel = (kiln_tiles_parallel)c->option[KILN_CONV_1X1_PARALLEL],
    };
    return p;
}

static kiln_status check(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p,
                         kiln_err *err) {
    enum { MAX_BODY = 448 }; /* multiply-adds of one unrolled body: 40 ms of LLVM */
    const int64_t pixels = p->tile_rows * p->tile_p;
    const int64_t vectors = p->tile_oc * ((p->oc_block + x->lanes - 1) / x->lanes);
    const int64_t need = kiln_tile_registers(pixels, vectors);
    if (need > x->profile->vector_registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tile_rows %" PRId64 " by tile_p %" PRId64
                         " by tile_oc %" PRId64 " needs %" PRId64
                         " vector registers, '%s' has %d",
                         p->tile_rows, p->tile_p, p->tile_oc, need, x->profile->name,
                         x->profile->vector_registers);
    if (pixels * vectors * p->unroll > MAX_BODY)
        return kiln_fail(err, KILN_ERR_ARG,
                         "unroll_ic %" PRId64 " makes a body of %" PRId64
                         " multiply-adds, at most %d",
                         p->unroll, pixels * vectors * p->unroll, MAX_BODY);
    return KILN_OK;
}

/* ---- one axis for all pixels ----------------------------------------------------- */

/* A copy of the workload whose values have one spatial axis. */
static kiln_status collapse(kiln_arena *a, const kiln_merge *c, kiln_graph **out,
                            kiln_err *err) {
    kiln_graph *g = kiln_merge_graph(a, c);
    for (size_t i = 0; i < g->nodes.n; i++) {
        kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr && kiln_is_conv(n); k++)
            n->attr[k].n = 0; /* lists of strides, pads, dilations: all neutral */
    }
    *out = g;
    return kiln_merge_check(g, err);
}

/* ---- schedule -------------------------------------------------------------------- */

static const kiln_layout *layouts_of(kiln_arena *a, const kiln_conv_1x1 *x,
                                     const kiln_conv_1x1_plan *p, const kiln_graph *g) {
    const kiln_node *n = x->w->anchor;
    kiln_layout *layout = kiln_blocked_layouts(a, g, n, p->ic_block, p->oc_block);
    kiln_conv_block_weights(n, x->profile, &layout[n->in[1]->id], p->ic_block,
                            p->oc_block);
    return layout;
}

static kiln_tiles tiles_of(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p) {
    const int n_spatial = x->collapses ? 1 : x->n_spatial;
    kiln_tiles t = {
        .has_col = true,
        .col = {1, p->tile_oc, p->block_oc * p->tile_oc},
        .lane_axis = 2 + n_spatial,
        .lanes = x->lanes,
        .columns_outer = p->channels_outer,
        .parallel = p->parallel,
        .dot = x->dot,
    };
    if (x->dot != NULL && p->oc_block < x->lanes)
        t.lanes = p->oc_block;
    t.outer[t.n_outer++] = 0;
    for (int i = 0; i < n_spatial; i++) {
        const int axis = 2 + i;
        if (i + 2 < n_spatial)
            t.outer[t.n_outer++] = axis;
        else if (i + 2 == n_spatial)
            t.row[t.n_row++] = (kiln_tile_axis){axis, p->tile_rows, 0};
        else
            t.row[t.n_row++] =
                (kiln_tile_axis){axis, p->tile_p, p->block_p * p->tile_p};
    }
    return t;
}

/* A network's weights come from far in every call, and the first tile of pixels waits
 * for each line of its channel panel. So while a tile is summed, the panel behind its
 * own is fetched: every step fetches what that panel has in the step's place; blocks of
 * output channels lie one behind the other. Where it is worth it: several panels that
 * the L1 cache does not hold, two of them at a time in half of the L2 cache, of vectors
 * as long as a line. */
static kiln_status prefetch(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p,
                            kiln_stage *st, const kiln_te *weights, kiln_iter *step,
                            kiln_err *err) {
    const kiln_profile *profile = x->profile;
    const int64_t l1 = kiln_cache_l1(profile), l2 = kiln_cache_l2(profile);
    const int64_t terms = kiln_ceil_div(x->c, p->ic_block) * p->ic_block;
    const int64_t blocks = kiln_ceil_div(x->o, p->oc_block);
    const int64_t bytes = terms * p->oc_block * x->elem_bytes;
    if (p->ic_block == 1 || blocks <= p->tile_oc ||
        p->oc_block * x->elem_bytes < kiln_line_bytes(profile) ||
        blocks * bytes <= l1 || 2 * p->tile_oc * bytes > l2 / 2)
        return KILN_OK;
    for (int64_t i = 0; i < p->tile_oc; i++) {
        const kiln_ahead ahead = {.iterations = (p->tile_oc + i) * terms / p->unroll};
        KILN_TRY(kiln_prefetch(st, weights, step, &ahead, err));
    }
    return KILN_OK;
}

/* Input channels in blocks, taps (one iteration each) behind them, and what an
 * instruction adds up by itself. */
static kiln_status accumulate(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p,
                              kiln_stage *st, const kiln_tiles *t,
                              const kiln_te *weights, kiln_err *err) {
    kiln_iter *order[KILN_MAX_RANK + 4], *rest, *four = NULL;
    int n = 0;
    const int64_t whole = p->ic_block > 1 ? p->ic_block : p->unroll;
    KILN_TRY(kiln_split(st, kiln_stage_reduce(st, 0), whole, &order[0], &rest, err));
    if (t->dot != NULL)
        KILN_TRY(kiln_split(st, rest, KILN_DOT_DEPTH, &rest, &four, err));
    KILN_TRY(kiln_split(st, rest, p->unroll, &order[1], &order[2], err));
    KILN_TRY(kiln_unroll(st, order[2], err));
    n = 3;
    const int n_spatial = x->collapses ? 1 : x->n_spatial;
    for (int i = 0; i < n_spatial; i++)
        order[n++] = kiln_stage_reduce(st, 1 + i);
    if (four != NULL)
        order[n++] = four;
    if (weights != NULL)
        KILN_TRY(prefetch(x, p, st, weights, order[1], err));
    return kiln_tiles_accumulate(st, t, 0, order, n, err);
}

/* Sums of x for the zero point of weights, in the same tiles. */
static kiln_status sum_of_x(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p,
                            kiln_schedule *s, kiln_stage *out, const kiln_tiles *t,
                            const kiln_tile_loops *l, kiln_err *err) {
    kiln_stage *sums = kiln_stage_tagged(s, "x_sum");
    kiln_tiles own = *t;
    if (t->dot != NULL)
        own.dot = kiln_dot_sum_of(x->w->anchor);
    KILN_TRY(kiln_compute_at(sums, out, l->tile, err));
    return accumulate(x, p, sums, &own, NULL, err);
}

static kiln_status schedule(const kiln_conv_1x1 *x, const kiln_conv_1x1_plan *p,
                            kiln_schedule *s, const kiln_te *input,
                            const kiln_te *weights, kiln_err *err) {
    const kiln_tiles t = tiles_of(x, p);
    kiln_stage *acc = kiln_stage_tagged(s, "conv"), *copy;
    kiln_tile_loops l;
    KILN_TRY(kiln_inline_injective(s, err));
    if (acc->is_output)
        KILN_TRY(kiln_cache_write(acc, KILN_SCOPE_REGISTER, &acc, err));
    kiln_stage *out = s->stage.v[s->stage.n - 1];
    KILN_TRY(kiln_tiles_nest(out, &t, NULL, &l, err));
    KILN_TRY(kiln_tiles_fuse(out, &t, &l, err));
    KILN_TRY(kiln_compute_at(acc, out, l.tile, err));
    KILN_TRY(accumulate(x, p, acc, &t, weights, err));
    if (kiln_conv_has_zero_point(x->w->anchor))
        KILN_TRY(sum_of_x(x, p, s, out, &t, &l, err));
    if (!p->pack)
        return KILN_OK;
    return kiln_tile_copy(s, input, acc, out, p->channels_outer ? l.block : l.outer,
                          x->lanes, &copy, err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_conv_1x1 x = kiln_conv_1x1_of(w, profile);
    const kiln_conv_1x1_plan p = kiln_conv_1x1_plan_of(s, c);
    kiln_graph *collapsed = NULL;
    KILN_TRY(check(&x, &p, err));
    const kiln_merge pixels = pixels_of(w);
    if (x.collapses)
        KILN_TRY(collapse(a, &pixels, &collapsed, err));
    const kiln_graph *g = collapsed != NULL ? collapsed : w->graph;
    *out = (kiln_scheduled){.schedule = NULL};
    KILN_TRY(kiln_graph_compute(a, g, layouts_of(a, &x, &p, g),
                                kiln_trusts_tails(w->anchor, profile), &out->te, err));
    kiln_merge_restore(&pixels, &out->te);
    out->schedule = kiln_schedule_new(a, out->te.arg + out->te.n_inputs,
                                      out->te.n_args - out->te.n_inputs);
    return schedule(&x, &p, out->schedule, out->te.value[w->anchor->in[0]->id].te,
                    out->te.value[w->anchor->in[1]->id].te, err);
}

static const char *const layout_knobs[] = {"oc_block", "ic_block", NULL};

const kiln_template kiln_template_conv_1x1 = {
    .name = "conv_1x1",
    .doc =
        "Convolutions of one tap as matrix products over pixels, in blocked layouts.",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = space,
    .guess = kiln_conv_1x1_guess,
    .apply = apply,
};
