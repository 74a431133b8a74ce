/* Windows of channels: see window.h. A tile of rows x columns of y is unrolled, column
 * by column, and within a column tap by tap: a vector of x is used again within a few
 * instructions, and stays in a register until its last use. */
#include "compiler/schedule/template/window/window.h"

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/byte_dot.h"
#include "compiler/schedule/template/template_rules.h"
#include "compiler/schedule/template/shares.h"

enum { C_BLOCK, TILE, OH_CHUNK, TAPS, INNER, PAD, N_KNOBS };
enum { TILE_OH, TILE_OW };

static const char *const taps_words[] = {"all", "row", "none"};
static const char *const inner_words[] = {"taps", "tile"};
static const char *const pad_words[] = {"none", "chunk", "ahead"};
enum { TAPS_ALL, TAPS_ROW, TAPS_NONE };
enum { PAD_NONE, PAD_CHUNK, PAD_AHEAD };

enum {
    MAX_TILE_OH = 4,
    MAX_TILE_OW = 28,
    MAX_TILES = 256,
    MAX_TAPS = 9, /* of a guess: all of the common window, or one row of a longer */
    MAX_TAPS_ROW = 18,
    /* Vector multiply-adds of one unrolled body, for LLVM's sake. */
    MAX_BODY = 256
};

typedef struct problem {
    const char *name; /* of the template, for messages */
    const char *tag;  /* of the stage that reduces: its last axes are the taps */
    const kiln_workload *w;
    const kiln_profile *profile;
    const kiln_value *weights; /* [c, 1, k...]; NULL: none */
    bool can_be_plain; /* a block of one channel: columns become vectors, by rule */
    int n_spatial;
    int64_t c, oh, ow, taps, taps_row; /* rows are 1 where there is one spatial axis */
    int64_t stride_w, dilation_w;
    int64_t lanes;
    bool pads;
} problem;

typedef struct plan {
    int64_t c_block, tile[2], oh_chunk;
    int taps, pad;
    bool tile_inside;
} plan;

/* ---- the problem ----------------------------------------------------------------- */

static int64_t min2(int64_t x, int64_t y) { return x < y ? x : y; }

static void measure(problem *p, const int64_t *kernel) {
    const kiln_node *n = p->w->anchor;
    const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
    p->n_spatial = x->rank - 2;
    p->c = x->dim[1];
    p->oh = p->n_spatial >= 2 ? y->dim[y->rank - 2] : 1;
    p->ow = y->dim[y->rank - 1];
    p->taps = 1;
    for (int i = 0; i < p->n_spatial; i++)
        p->taps *= kernel[i];
    p->pads = kiln_pads_any(n);
    p->taps_row = kernel[p->n_spatial - 1];
    p->stride_w = kiln_attr_at(kiln_node_attr(n, "strides"), p->n_spatial - 1, 1);
    p->dilation_w = kiln_attr_at(kiln_node_attr(n, "dilations"), p->n_spatial - 1, 1);
    p->lanes = kiln_sum_lanes(n, p->profile);
}

/* A convolution has weights, a pool says how large its windows are. */
static problem windows_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const bool is_conv = kiln_is_conv(n);
    problem p = {.name = is_conv ? "depthwise" : "pool",
                 .tag = is_conv ? "conv" : "pool",
                 .w = w,
                 .profile = profile,
                 .weights = is_conv ? n->in[1] : NULL,
                 .can_be_plain = !is_conv};
    measure(&p, is_conv ? n->in[1]->type.dim + 2 : kiln_node_attr(n, "kernel")->ints);
    return p;
}

bool kiln_windows_fit(const kiln_workload *w) {
    const kiln_node *n = w->anchor;
    return n->in[0]->def == NULL && n->in[0]->type.rank >= 3 && n->n_out == 1 &&
           kiln_ends_element_wise(w);
}

/* ---- space ----------------------------------------------------------------------- */

static int64_t unrolled_taps(const problem *p, int taps) {
    return taps == TAPS_ALL ? p->taps : taps == TAPS_ROW ? p->taps_row : 1;
}

kiln_status kiln_windows_space(const kiln_workload *w, const kiln_profile *profile,
                               kiln_space *out, kiln_err *err) {
    (void)err;
    const problem x = windows_of(w, profile), *const p = &x;
    int64_t value[2 * MAX_TILES];
    int n = 0;
    if (p->can_be_plain)
        value[n++] = 1;
    for (int64_t b = 2; b <= 2 * p->lanes; b *= 2)
        if (b * 4 >= p->lanes && (b <= p->lanes || b <= p->c))
            value[n++] = b;
    kiln_space_add_ints(out, "c_block", "channels next to each other", value, n);
    n = 0;
    for (int64_t i = 1; i <= min2(p->oh, MAX_TILE_OH); i++)
        for (int64_t j = 1; j <= min2(p->ow, MAX_TILE_OW) && n < MAX_TILES; j++)
            if (i * j <= p->profile->vector_registers) {
                value[2 * n + TILE_OH] = i;
                value[2 * n++ + TILE_OW] = j;
            }
    kiln_space_add_tuples(out, "tile", "rows, columns of y in one body", value, n, 2);
    kiln_space_add_parts(out, "oh_chunk", "rows of one parallel part", p->oh);
    kiln_space_add_words(out, "taps", "how much of the window is unrolled", taps_words,
                         3);
    kiln_space_add_words(out, "inner", "what runs fastest in a body", inner_words, 2);
    kiln_space_add_words(out, "pad", "where zeros are put around x", pad_words,
                         p->pads ? 3 : 1);
    return KILN_OK;
}

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    return (plan){.c_block = kiln_config_int(s, c, C_BLOCK, 0),
                  .tile = {kiln_config_int(s, c, TILE, TILE_OH),
                           kiln_config_int(s, c, TILE, TILE_OW)},
                  .oh_chunk = kiln_config_int(s, c, OH_CHUNK, 0),
                  .taps = c->option[TAPS],
                  .tile_inside = c->option[INNER] == 1,
                  .pad = c->option[PAD]};
}

/* Vectors of x that one body of columns loads, for each multiply-add. */
static double loads_per_add(const problem *p, int64_t columns) {
    const int64_t reach = (p->taps_row - 1) * p->dilation_w + 1;
    const int64_t touched = (columns - 1) * p->stride_w + reach;
    return (double)min2(touched, columns * p->taps_row) /
           (double)(columns * p->taps_row);
}

/* Columns of a guess: sums that hide the latency, or what a quarter of the registers
 * holds, since neighbours share what they load. Longer bodies measured slower (Zen 5).
 */
static int64_t most_columns(const problem *p) {
    const int64_t few = p->profile->vector_registers / 4;
    const int64_t sums = kiln_sums_to_hide_latency(p->profile);
    return few > sums ? few : sums;
}

/* Rows of a parallel part: as many as threads can share well, four at least. */
static int64_t guess_rows(const problem *p, const kiln_space *s, int64_t c_block) {
    static const double gain = 1.03; /* that smaller parts must bring */
    const kiln_knob *rows = &s->knob[OH_CHUNK];
    const int64_t around =
        p->w->anchor->in[0]->type.dim[0] * kiln_ceil_div(p->c, c_block);
    const int64_t cores = p->profile->cores;
    int64_t best = p->oh;
    for (int i = rows->n - 1; i-- > 0 && rows->value[i] >= 4;)
        if (kiln_share_loss(around * kiln_ceil_div(p->oh, rows->value[i]), cores) *
                gain <
            kiln_share_loss(around * kiln_ceil_div(p->oh, best), cores))
            best = rows->value[i];
    return best;
}

kiln_config kiln_windows_guess(const kiln_workload *w, const kiln_profile *profile,
                               const kiln_space *s) {
    const problem x = windows_of(w, profile), *const p = &x;
    kiln_config c = {.n = s->n};
    const int64_t block = kiln_layout_channel_block(&p->w->anchor->in[0]->type.layout);
    kiln_config_set(s, &c, C_BLOCK, block > 0 ? &block : &p->lanes);
    c.option[TAPS] = p->taps <= MAX_TAPS           ? TAPS_ALL
                     : p->taps_row <= MAX_TAPS_ROW ? TAPS_ROW
                                                   : TAPS_NONE;
    const int64_t unrolled = unrolled_taps(p, c.option[TAPS]);
    const int64_t taps = p->weights != NULL ? unrolled : 0;
    double best = 0;
    int64_t tile[2] = {1, 1};
    /* Weights, columns, and what slides between them share the registers. */
    const int64_t registers = p->profile->vector_registers;
    const int64_t room =
        p->weights != NULL ? registers - taps - 3 - (p->stride_w > 1) : registers / 4;
    const int64_t most = min2(p->ow, min2(room > 1 ? room : 1, most_columns(p)));
    for (int64_t columns = 1; columns <= most; columns++) {
        const int64_t all = kiln_ceil_div(p->ow, columns) * columns;
        const double cost = (1 + loads_per_add(p, columns)) * (double)all +
                            0.5 * (double)all / (double)columns;
        if (columns == 1 || cost < best) {
            best = cost;
            tile[TILE_OW] = columns;
        }
    }
    kiln_config_set(s, &c, TILE, tile);
    const int64_t oh = guess_rows(p, s, kiln_config_int(s, &c, C_BLOCK, 0));
    kiln_config_set(s, &c, OH_CHUNK, &oh);
    /* A tile and all its taps in registers want more than 16. */
    c.option[INNER] = p->profile->vector_registers < 32;
    c.option[PAD] = PAD_NONE;
    return c;
}

/* ---- layouts --------------------------------------------------------------------- */

static const kiln_layout *layouts_of(kiln_arena *a, const problem *p, const plan *x) {
    kiln_layout *layout =
        kiln_blocked_layouts(a, p->w->graph, p->w->anchor, x->c_block, x->c_block);
    if (p->weights != NULL)
        kiln_layout_add_block(&layout[p->weights->id], 0, x->c_block);
    return layout;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct nest {
    const problem *p;
    const plan *x;
    kiln_blocked_stages stage;
    kiln_iter *chunk, *tile; /* of y: the parallel loop, the one around a tile */
    kiln_err *err;
} nest;

static kiln_iter *lanes_of(const nest *k, kiln_stage *st) {
    return k->x->c_block > 1 ? kiln_stage_axis(st, k->p->n_spatial + 2) : NULL;
}

static kiln_status schedule_y(nest *k) {
    kiln_stage *y = k->stage.y;
    const plan *x = k->x;
    const int last = k->p->n_spatial + 1;
    const bool has_rows = k->p->n_spatial >= 2;
    kiln_iter *oh[3] = {NULL}, *ow[2], *tiles, *order[KILN_MAX_AXES + 8];
    size_t n = 0;
    if (has_rows) {
        const int64_t chunk = x->oh_chunk / x->tile[TILE_OH];
        KILN_TRY(kiln_split(y, kiln_stage_axis(y, last - 1), x->tile[TILE_OH], &tiles,
                            &oh[2], k->err));
        KILN_TRY(kiln_split(y, tiles, chunk > 1 ? chunk : 1, &oh[0], &oh[1], k->err));
    }
    KILN_TRY(kiln_split(y, kiln_stage_axis(y, last), x->tile[TILE_OW], &ow[0], &ow[1],
                        k->err));
    order[n++] = kiln_stage_axis(y, 0);
    order[n++] = kiln_stage_axis(y, 1);
    if (has_rows)
        order[n++] = oh[0];
    const int n_chunk = (int)n;
    for (int i = 2; i < last - 1; i++)
        order[n++] = kiln_stage_axis(y, i);
    if (has_rows)
        order[n++] = oh[1];
    order[n++] = k->tile = ow[0];
    if (has_rows)
        order[n++] = oh[2];
    order[n++] = ow[1];
    if (lanes_of(k, y) != NULL)
        order[n++] = lanes_of(k, y);
    KILN_TRY(kiln_reorder(y, order, n, k->err));
    if (has_rows)
        KILN_TRY(kiln_unroll(y, oh[2], k->err));
    KILN_TRY(kiln_unroll(y, ow[1], k->err));
    if (lanes_of(k, y) != NULL)
        KILN_TRY(kiln_vectorize(y, lanes_of(k, y), k->err));
    k->chunk = order[0];
    for (int i = 1; i < n_chunk; i++)
        KILN_TRY(kiln_fuse(y, k->chunk, order[i], &k->chunk, k->err));
    return kiln_parallel(y, k->chunk, k->err);
}

/* Taps that stay loops, columns, rows, unrolled taps, lanes; or taps before the tile.
 */
static kiln_status schedule_conv(nest *k) {
    kiln_stage *conv = k->stage.anchor;
    const plan *x = k->x;
    const int n_spatial = k->p->n_spatial;
    kiln_iter *order[2 * KILN_MAX_AXES], *tile[KILN_MAX_AXES], *tap[KILN_MAX_AXES];
    size_t n = 0;
    int n_tile = 0, n_taps = 0;
    KILN_TRY(kiln_compute_at(conv, k->stage.y, k->tile, k->err));
    const int before = conv->te->n_reduce - n_spatial; /* channels of a group: one */
    for (int i = 0; i < before; i++)
        order[n++] = kiln_stage_reduce(conv, i);
    for (int i = 0; i < n_spatial; i++) {
        kiln_iter *loop = kiln_stage_reduce(conv, before + i);
        const bool is_body =
            x->taps == TAPS_ALL || (x->taps == TAPS_ROW && i == n_spatial - 1);
        if (is_body) {
            KILN_TRY(kiln_unroll(conv, loop, k->err));
            tap[n_taps++] = loop;
        } else {
            order[n++] = loop;
        }
    }
    for (int i = n_spatial + 1; i >= 2; i--) {
        tile[n_tile++] = kiln_stage_axis(conv, i);
        KILN_TRY(kiln_unroll(conv, tile[n_tile - 1], k->err));
    }
    for (int i = 0; i < n_taps && x->tile_inside; i++)
        order[n++] = tap[i];
    for (int i = 0; i < n_tile; i++)
        order[n++] = tile[i];
    for (int i = 0; i < n_taps && !x->tile_inside; i++)
        order[n++] = tap[i];
    if (lanes_of(k, conv) != NULL) {
        order[n++] = lanes_of(k, conv);
        KILN_TRY(kiln_vectorize(conv, lanes_of(k, conv), k->err));
    }
    return kiln_reorder(conv, order, n, k->err);
}

static kiln_status schedule_pad(nest *k) {
    kiln_stage *pad = k->stage.pad;
    if (pad == NULL)
        return KILN_OK;
    if (k->x->pad == PAD_NONE)
        return kiln_compute_inline(pad, k->err);
    kiln_iter *rows;
    if (lanes_of(k, pad) != NULL)
        KILN_TRY(kiln_vectorize(pad, lanes_of(k, pad), k->err));
    if (k->x->pad == PAD_CHUNK)
        return kiln_compute_at(pad, k->stage.y, k->chunk, k->err);
    KILN_TRY(kiln_fuse(pad, kiln_stage_axis(pad, 0), kiln_stage_axis(pad, 1), &rows,
                       k->err));
    return kiln_parallel(pad, rows, k->err);
}

static kiln_status check_body(const problem *p, const plan *x, kiln_err *err) {
    const int64_t tile = x->tile[TILE_OH] * x->tile[TILE_OW];
    const int64_t body = tile * unrolled_taps(p, x->taps);
    if (body <= MAX_BODY)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "%s: a body must have at most %d steps, has %d; "
                     "make 'tile' smaller or unroll fewer 'taps'",
                     p->name, MAX_BODY, (int)min2(body, INT32_MAX));
}

/* Plain layouts: columns, or all pixels, become vectors by rule. */
static kiln_status apply_rules(kiln_arena *a, const problem *p, kiln_scheduled *made,
                               kiln_err *err) {
    const kiln_rules rules = {.parallel = p->profile->cores > 1};
    KILN_TRY(kiln_rules_begin(a, p->w, NULL, made, err));
    return kiln_rules_apply(made->schedule, p->profile, &rules, err);
}

kiln_status kiln_windows_apply(kiln_arena *a, const kiln_workload *w,
                               const kiln_profile *profile, const kiln_space *s,
                               const kiln_config *c, kiln_scheduled *out,
                               kiln_err *err) {
    const problem windows = windows_of(w, profile), *const p = &windows;
    const plan x = plan_of(s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 16 * MAX_BODY}};
    nest k = {.p = p, .x = &x, .err = err};
    if (x.c_block == 1) {
        KILN_TRY(apply_rules(a, p, &made, err));
        *out = made;
        return KILN_OK;
    }
    KILN_TRY(check_body(p, &x, err));
    KILN_TRY(kiln_graph_compute(a, p->w->graph, layouts_of(a, p, &x),
                                kiln_trusts_tails(w->anchor, p->profile), &made.te,
                                err));
    const size_t n_inputs = made.te.n_inputs;
    made.schedule =
        kiln_schedule_new(a, made.te.arg + n_inputs, made.te.n_args - n_inputs);
    KILN_TRY(kiln_blocked_stages_of(made.schedule, p->tag, &k.stage, err));
    KILN_TRY(schedule_y(&k));
    KILN_TRY(schedule_conv(&k));
    KILN_TRY(schedule_pad(&k));
    *out = made;
    return KILN_OK;
}
