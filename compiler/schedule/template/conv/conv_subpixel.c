/* conv_subpixel: transposed convolutions whose taps lie side by side.
 *
 * Where the stride is the kernel, each output has one tap: a pixel of x makes as many
 * outputs as there are taps, and all of them are a matrix product of pixels by channels
 * and taps, a sub-pixel convolution (Shi et al., arXiv 1609.05158, section 3.2; that it
 * is the same: arXiv 1609.07009). Products are written where they belong: nothing
 * shuffles them afterwards.
 *
 * Layouts as conv_1x1 has them: channels of x in blocks of ic_block, those of y in blocks
 * of oc_block, and weights [oc][k...][ic][kw][ic_b][oc_b]: what makes one row of y is one
 * run. A tile is tile_p pixels of a row of x, all taps of the last axis and tile_rows of
 * the one before, by tile_oc blocks of channels; each element of x is broadcast over the
 * blocks of its taps:
 *
 *     for batch, spatial axes before the last two       one parallel loop, with panels
 *         for channel panel, row of y, pixel panel      or not; in either order
 *             acc[tile_rows][tile_p * s][tile_oc][oc_b] = 0         registers
 *             for ic block, ic in block: acc += x[p / s, ic] * w[p % s, ic, oc]
 *             y = epilogue(acc) */
#include "compiler/schedule/template.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/tiles.h"

#include <inttypes.h>

enum { OC_BLOCK, IC_BLOCK, TILE_ROWS, TILE_P, TILE_OC, UNROLL_IC, ORDER, PARALLEL };

typedef struct problem {
    const kiln_workload *w;
    const kiln_profile *profile;
    int n_spatial;
    int64_t around;     /* images, and places along axes before the last two */
    int64_t c, o;       /* channels of x, of y */
    int64_t rows, cols; /* of x: its last two axes; rows 1 where there is one axis */
    int64_t taps_h, taps_w; /* of the last two axes */
    int64_t taps;           /* of all axes */
    int64_t lanes;          /* of a vector of accumulators */
    int64_t elem_bytes;     /* of x */
} problem;

typedef struct plan {
    int64_t oc_block, ic_block, tile_rows, tile_p, tile_oc, unroll;
    bool channels_outer;
    kiln_tiles_parallel parallel;
} plan;

/* ---- the problem ----------------------------------------------------------------- */

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    if (n->op != &kiln_op_conv_transpose || n->in[0] == n->in[1] ||
        n->in[0]->def != NULL || n->in[1]->def != NULL ||
        kiln_node_attr(n, "groups")->i != 1 || kiln_pads_any(n) ||
        !kiln_ends_element_wise(w))
        return false;
    const kiln_type *x = &n->in[0]->type, *k = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *strides = kiln_node_attr(n, "strides");
    /* Without pads an axis of y is that long only where taps have no gaps. */
    for (int i = 2; i < k->rank; i++)
        if (k->dim[i] != kiln_attr_at(strides, i - 2, 1) ||
            y->dim[i] != k->dim[i] * x->dim[i])
            return false;
    return y->dim[1] > 1 && k->dim[0] > 0 &&
           kiln_tile_registers(1, k->dim[k->rank - 1]) <= p->vector_registers;
}

static problem problem_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_type *x = &w->anchor->in[0]->type, *k = &w->anchor->in[1]->type;
    const int last = x->rank - 1;
    const bool has_rows = x->rank > 3;
    problem p = {.w = w,
                 .profile = profile,
                 .n_spatial = x->rank - 2,
                 .around = x->dim[0],
                 .c = x->dim[1],
                 .o = k->dim[1],
                 .rows = has_rows ? x->dim[last - 1] : 1,
                 .cols = x->dim[last],
                 .taps_h = has_rows ? k->dim[last - 1] : 1,
                 .taps_w = k->dim[last],
                 .taps = 1,
                 .elem_bytes = (int64_t)kiln_dtype_bytes(x->dtype)};
    for (int i = 2; i < x->rank; i++) {
        p.taps *= k->dim[i];
        p.around *= i < last - 1 ? x->dim[i] * k->dim[i] : 1;
    }
    const bool is_half = x->dtype == KILN_F16 || x->dtype == KILN_BF16;
    p.lanes = profile->vector_bytes / (is_half ? 4 : p.elem_bytes);
    return p;
}

/* ---- space ----------------------------------------------------------------------- */

static const int64_t tile_ps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};
static const int64_t tile_ocs[] = {1, 2, 3, 4, 6, 8};
static const int64_t unrolls[] = {1, 2, 4, 8, 16};
#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static kiln_status space(const kiln_workload *w, const kiln_profile *profile,
                         kiln_space *s, kiln_err *err) {
    static const char *const order[] = {"channels", "pixels"};
    (void)err;
    const problem p = problem_of(w, profile);
    const int64_t rows[] = {1, p.taps_h};
    kiln_space_add_blocks(s, p.o, p.c, p.lanes, 1);
    kiln_space_add_ints(s, "tile_rows", "rows of the result in a tile", rows,
                        p.taps_h > 1 ? 2 : 1);
    kiln_space_add_up_to(s, "tile_p", "pixels of a row of x in a tile", tile_ps,
                         COUNT(tile_ps), p.cols);
    kiln_space_add_up_to(s, "tile_oc", "blocks of output channels in a tile", tile_ocs,
                         COUNT(tile_ocs), kiln_ceil_div(p.o, p.lanes));
    kiln_space_add_up_to(s, "unroll_ic", "copies of the body of the channel loop",
                         unrolls, COUNT(unrolls), p.c);
    kiln_space_add_words(s, "order", "which panels are the outer loop", order, 2);
    kiln_space_add_words(s, "parallel", "which loops run on several threads",
                         kiln_tiles_parallel_words, KILN_N_TILES_PARALLEL);
    return KILN_OK;
}

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    const plan p = {
        .oc_block = kiln_config_int(s, c, OC_BLOCK, 0),
        .ic_block = kiln_config_int(s, c, IC_BLOCK, 0),
        .tile_rows = kiln_config_int(s, c, TILE_ROWS, 0),
        .tile_p = kiln_config_int(s, c, TILE_P, 0),
        .tile_oc = kiln_config_int(s, c, TILE_OC, 0),
        .unroll = kiln_config_int(s, c, UNROLL_IC, 0),
        .channels_outer = kiln_config_is(s, c, ORDER, "channels"),
        .parallel = (kiln_tiles_parallel)c->option[PARALLEL],
    };
    return p;
}

static kiln_status check(const problem *x, const plan *p, kiln_err *err) {
    enum { MAX_BODY = 448 }; /* multiply-adds of one unrolled body: 40 ms of LLVM */
    const int64_t vectors =
        p->tile_rows * x->taps_w * p->tile_oc * kiln_ceil_div(p->oc_block, x->lanes);
    const int64_t need = kiln_tile_registers(p->tile_p, vectors);
    if (need > x->profile->vector_registers)
        return kiln_fail(err, KILN_ERR_ARG,
                         "tile_p %" PRId64 " by %" PRId64 " taps by tile_oc %" PRId64
                         " needs %" PRId64 " vector registers, '%s' has %d",
                         p->tile_p, p->tile_rows * x->taps_w, p->tile_oc, need,
                         x->profile->name, x->profile->vector_registers);
    if (p->tile_p * vectors * p->unroll > MAX_BODY)
        return kiln_fail(err, KILN_ERR_ARG,
                         "unroll_ic %" PRId64 " makes a body of %" PRId64
                         " multiply-adds, at most %d",
                         p->unroll, p->tile_p * vectors * p->unroll, MAX_BODY);
    return KILN_OK;
}

/* ---- schedule -------------------------------------------------------------------- */

static const kiln_layout *layouts_of(kiln_arena *a, const problem *x, const plan *p) {
    const kiln_node *n = x->w->anchor;
    const int rank = n->in[1]->type.rank;
    kiln_layout *layout =
        kiln_blocked_layouts(a, x->w->graph, n, p->ic_block, p->oc_block);
    kiln_layout *w = &layout[n->in[1]->id];
    w->order[w->n_order++] = 1;
    for (int i = 2; i < rank - 1; i++)
        w->order[w->n_order++] = (uint8_t)i;
    w->order[w->n_order++] = 0;
    w->order[w->n_order++] = (uint8_t)(rank - 1);
    kiln_layout_add_block(w, 0, p->ic_block);
    kiln_layout_add_block(w, 1, p->oc_block);
    return layout;
}

static kiln_tiles tiles_of(const problem *x, const plan *p) {
    kiln_tiles t = {
        .has_col = true,
        .col = {1, p->tile_oc, 0},
        .lane_axis = 2 + x->n_spatial,
        .lanes = x->lanes,
        .columns_outer = p->channels_outer,
        .parallel = p->parallel,
    };
    t.outer[t.n_outer++] = 0;
    for (int i = 0; i < x->n_spatial; i++) {
        const int axis = 2 + i;
        if (i + 2 < x->n_spatial)
            t.outer[t.n_outer++] = axis;
        else if (i + 2 == x->n_spatial)
            t.row[t.n_row++] = (kiln_tile_axis){axis, p->tile_rows, 0};
        else
            t.row[t.n_row++] = (kiln_tile_axis){axis, p->tile_p * x->taps_w, 0};
    }
    return t;
}

static kiln_status accumulate(const plan *p, kiln_stage *st, const kiln_tiles *t,
                              kiln_err *err) {
    kiln_iter *order[3], *rest;
    const int64_t whole = p->ic_block > 1 ? p->ic_block : p->unroll;
    KILN_TRY(kiln_split(st, kiln_stage_reduce(st, 0), whole, &order[0], &rest, err));
    KILN_TRY(kiln_split(st, rest, p->unroll, &order[1], &order[2], err));
    KILN_TRY(kiln_unroll(st, order[2], err));
    return kiln_tiles_accumulate(st, t, 0, order, 3, err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const problem x = problem_of(w, profile);
    const plan p = plan_of(s, c);
    const kiln_tiles t = tiles_of(&x, &p);
    kiln_scheduled made = {.schedule = NULL};
    kiln_blocked_stages stage;
    kiln_tile_loops l;
    KILN_TRY(check(&x, &p, err));
    KILN_TRY(kiln_graph_compute(a, w->graph, layouts_of(a, &x, &p),
                                profile->numerics != KILN_NUMERICS_STRICT, &made.te,
                                err));
    made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                      made.te.n_args - made.te.n_inputs);
    KILN_TRY(kiln_blocked_stages_of(made.schedule, "conv_transpose", &stage, err));
    KILN_TRY(kiln_tiles_nest(stage.y, &t, NULL, &l, err));
    KILN_TRY(kiln_tiles_fuse(stage.y, &t, &l, err));
    KILN_TRY(kiln_compute_at(stage.anchor, stage.y, l.tile, err));
    KILN_TRY(accumulate(&p, stage.anchor, &t, err));
    *out = made;
    return KILN_OK;
}

/* ---- without a search ------------------------------------------------------------ */

/* Cycles of one term of all tiles. What a tile leaves over of a row of pixels is left in
 * each of them. */
static double tiles_cycles(const problem *x, int64_t rows, int64_t pixels, int64_t oc) {
    const int64_t taps = rows * x->taps_w; /* of a tile */
    const int64_t times = x->rows * (x->taps / taps);
    return (double)times * kiln_tiles_cycles(x->profile, x->cols,
                                             kiln_ceil_div(x->o, x->lanes) * taps,
                                             pixels, oc * taps, false);
}

static void guess_tile(const problem *x, const kiln_space *s, kiln_config *c) {
    double best = 0;
    for (int r = 0; r < s->knob[TILE_ROWS].n; r++)
        for (int i = 0; i < s->knob[TILE_P].n; i++)
            for (int k = 0; k < s->knob[TILE_OC].n; k++) {
                const int64_t rows = s->knob[TILE_ROWS].value[r];
                const int64_t pixels = s->knob[TILE_P].value[i];
                const int64_t oc = s->knob[TILE_OC].value[k];
                const double t = tiles_cycles(x, rows, pixels, oc);
                if (kiln_tile_registers(pixels, rows * x->taps_w * oc) >
                        x->profile->vector_registers ||
                    (best > 0 && t >= best))
                    continue;
                best = t;
                c->option[TILE_ROWS] = (int16_t)r;
                c->option[TILE_P] = (int16_t)i;
                c->option[TILE_OC] = (int16_t)k;
            }
}

/* Which panels pass by again and again: those that fewer bytes come from behind the L2
 * cache for. */
static bool guess_channels_outer(const problem *x, const plan *p) {
    const double cache = (double)kiln_cache_l2(x->profile) / 2;
    const double pixels = (double)(x->rows * x->cols);
    const double in = pixels * (double)(x->c * x->elem_bytes);
    const double weights = (double)(x->c * x->o * x->taps * x->elem_bytes);
    const double tiles = (double)(x->rows * kiln_ceil_div(x->cols, p->tile_p));
    const double panels =
        (double)kiln_ceil_div(kiln_ceil_div(x->o, p->oc_block), p->tile_oc);
    const double by_pixels = in + weights * (weights > cache ? tiles : 1);
    const double by_channels = weights + in * (in > cache ? panels : 1);
    return by_channels < by_pixels;
}

static kiln_tiles_parallel guess_parallel(const problem *x, const plan *p) {
    const int64_t channels =
        kiln_ceil_div(kiln_ceil_div(x->o, p->oc_block), p->tile_oc);
    const int64_t pixels =
        x->rows * (x->taps_h / p->tile_rows) * kiln_ceil_div(x->cols, p->tile_p);
    const kiln_tile_counts n = {x->around, p->channels_outer ? channels : pixels,
                                p->channels_outer ? pixels : channels};
    const double muladds = (double)(x->around * x->rows * x->cols) *
                           (double)(x->taps_h * x->taps_w) * (double)x->o *
                           (double)x->c;
    return kiln_tiles_guess_parallel(x->profile, n, muladds, KILN_TILES_ALL);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *profile,
                         const kiln_space *s) {
    const problem x = problem_of(w, profile);
    kiln_config c = kiln_config_at(s, 0);
    kiln_config_set(s, &c, OC_BLOCK, &x.lanes);
    /* Few channels are read as they lie in images, or as they were made. */
    const int64_t made = kiln_layout_channel_block(&w->anchor->in[0]->type.layout);
    const int64_t ic = made > 0 ? made : x.c < x.lanes / 2 ? 1 : x.lanes;
    kiln_config_set(s, &c, IC_BLOCK, &ic);
    guess_tile(&x, s, &c);
    plan p = plan_of(s, &c);
    p.channels_outer = guess_channels_outer(&x, &p);
    kiln_config_set_word(s, &c, ORDER, p.channels_outer ? "channels" : "pixels");
    c.option[PARALLEL] = (int16_t)guess_parallel(&x, &p);
    return c;
}

static const char *const layout_knobs[] = {"oc_block", "ic_block", NULL};

const kiln_template kiln_template_conv_subpixel = {
    .name = "conv_subpixel",
    .doc = "transposed convolutions whose stride is their kernel, as matrix products "
           "of pixels by taps and channels, in blocked layouts",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
