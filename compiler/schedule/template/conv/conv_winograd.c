/* conv_winograd: convolution in steps of one or two by Winograd's F(m, r) along each axis of
 * two to five or seven taps (Lavin and Gray, CVPR'16), in NCHW[x]c as conv_direct's, so
 * that either can take the other's place. Weights come packed, by winograd_weights.c.
 *
 *     for batch, row chunk of tiles                one parallel loop
 *         for row of tiles, block of x's channels      x ahead: a parallel loop before
 *             pad what the row reads                   the first cache holds it
 *             for tile
 *                 rows = B^T d                         a few vectors
 *                 v[i][j][tile][ic] = rows B
 *         for chunk of y's channels
 *             for i, j, register tile                  a matrix product each
 *                 acc[tiles][oc][oc_b] = 0
 *                 for ic: acc += broadcast v[i][j][tile][ic] * u[i][j][oc][ic][oc_b]
 *                 products[i][j][oc][tile] = acc
 *             for oc, tile
 *                 columns = A^T products
 *                 y = epilogue(columns A)
 *
 * What lies between is as large as a chunk makes it, and should stay in the second
 * cache. Outputs that no tile divides are computed in full and not stored. */
#include "compiler/schedule/template/conv/conv_winograd.h"

#include "compiler/schedule/template/blocked.h"

enum {
    MAX_BODY = 112, /* vector multiply-adds of one unrolled body: as conv_direct's */
    APART = KILN_WINOGRAD_MAX_POSITIONS /* lines between positions */
};

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    if (n->op != &kiln_op_conv || p->numerics == KILN_NUMERICS_STRICT ||
        !kiln_ends_element_wise(w))
        return false;
    const kiln_type *x = &n->in[0]->type, *k = &n->in[1]->type;
    kiln_winograd_pair by;
    return x->dtype == KILN_F32 && x->rank == 4 &&
           kiln_winograd_of_work(w, KILN_WINOGRAD_LEAST_SIZE, &by) &&
           k->dim[1] >= KILN_WINOGRAD_MIN_CHANNELS &&
           k->dim[0] >= KILN_WINOGRAD_MIN_CHANNELS && n->in[0]->def == NULL &&
           kiln_value_is_const(n->in[1]) && kiln_node_attr(n, "groups")->i == 1 &&
           kiln_attr_is_all(kiln_node_attr(n, "dilations"), 1);
}

/* Weights by positions, then blocks of y's channels, each in one piece. */
static const kiln_layout *layouts_of(kiln_arena *a, const kiln_conv_problem *p,
                                     const kiln_winograd_plan *x) {
    const kiln_node *n = p->w->anchor;
    kiln_layout *layout =
        kiln_blocked_layouts(a, p->w->graph, n, x->ic_block, x->oc_block);
    kiln_layout *w = &layout[n->in[1]->id];
    *w = (kiln_layout){.n_order = 4, .order = {2, 3, 0, 1}};
    kiln_layout_add_block(w, 1, x->ic_block);
    kiln_layout_add_block(w, 0, x->oc_block);
    return layout;
}

static const kiln_op_def *const *packings_of(kiln_arena *a, const kiln_workload *w,
                                             const kiln_winograd_plan *x) {
    const kiln_op_def **packing =
        kiln_array(a, const kiln_op_def *, w->graph->values.n);
    packing[w->anchor->in[1]->id] = x->packing;
    return packing;
}

/* ---- schedule -------------------------------------------------------------------- */

/* Physical axes: of y [n, c, h, w, lane]; of what is computed for tiles, positions
 * (i, j) first. */
enum { Y_N, Y_C, Y_H, Y_W, Y_LANE };
enum { V_I, V_J, V_N, V_ROW, V_COLUMN, V_C, V_LANE };
enum { M_I, M_J, M_N, M_C, M_ROW, M_COLUMN, M_LANE };

typedef struct nest {
    const kiln_conv_problem *p;
    const kiln_winograd_plan *x;
    kiln_schedule *s;
    kiln_stage *y, *columns, *products, *v, *rows, *pad; /* pad: NULL: there is none */
    kiln_iter *chunk;    /* of y: where x is transformed */
    kiln_iter *channels; /* of y: where products are computed */
    kiln_iter *tile;     /* of y: the loop around one tile */
    kiln_iter *outputs;  /* of y: the loop around a row of a tile's outputs */
    const kiln_te *weights;
    kiln_err *err;
} nest;

static kiln_status find_stages(nest *k) {
    const kiln_tagged_stage named[] = {{"winograd.cols", &k->columns},
                                       {"winograd.sum", &k->products},
                                       {"winograd.x", &k->v},
                                       {"winograd.rows", &k->rows},
                                       {"pad", &k->pad}};
    return kiln_tagged_stages(k->s, named, sizeof named / sizeof named[0], &k->y,
                              k->err);
}

/* An axis in parts of about one size, of so many elements at most. */
static kiln_status split_even(kiln_stage *st, kiln_iter *x, int64_t most,
                              kiln_iter *out[2], kiln_err *err) {
    const int64_t n = kiln_ceil_div(x->extent, most);
    return kiln_split(st, x, kiln_ceil_div(x->extent, n), &out[0], &out[1], err);
}

static kiln_status fuse_all(kiln_stage *st, kiln_iter *const *loop, int n,
                            kiln_iter **out, kiln_err *err) {
    *out = loop[0];
    for (int i = 1; i < n; i++)
        KILN_TRY(kiln_fuse(st, *out, loop[i], out, err));
    return KILN_OK;
}

static kiln_status schedule_y(nest *k) {
    kiln_stage *y = k->y;
    const kiln_winograd_plan *x = k->x;
    kiln_iter *h[2], *w[2], *row[2], *oc[2], *fused;
    KILN_TRY(
        kiln_split(y, kiln_stage_axis(y, Y_H), x->by.f[0]->tile, &h[0], &h[1], k->err));
    KILN_TRY(
        kiln_split(y, kiln_stage_axis(y, Y_W), x->by.f[1]->tile, &w[0], &w[1], k->err));
    KILN_TRY(split_even(y, h[0], x->row_chunk, row, k->err));
    KILN_TRY(split_even(y, kiln_stage_axis(y, Y_C), x->oc_chunk, oc, k->err));
    kiln_iter *n = kiln_stage_axis(y, Y_N);
    kiln_iter *ahead[] = {oc[0], n, row[0]}, *within[] = {n, row[0], oc[0]};
    kiln_iter *const *outer = x->is_ahead ? ahead : within;
    kiln_iter *const order[] = {outer[0], outer[1], outer[2],
                                oc[1],    row[1],   w[0],
                                h[1],     w[1],     kiln_stage_axis(y, Y_LANE)};
    KILN_TRY(kiln_reorder(y, order, sizeof order / sizeof order[0], k->err));
    KILN_TRY(kiln_unroll(y, w[1], k->err));
    KILN_TRY(kiln_vectorize(y, kiln_stage_axis(y, Y_LANE), k->err));
    KILN_TRY(fuse_all(y, outer, x->is_ahead ? 3 : 2, &fused, k->err));
    k->chunk = fused;
    k->channels = x->is_ahead ? fused : oc[0];
    k->tile = w[0];
    k->outputs = h[1];
    return kiln_parallel(y, fused, k->err);
}

/* Of a cache line. */
static int32_t line_elems(const nest *k) {
    return (int32_t)(kiln_line_bytes(k->p->profile) / k->p->elem_bytes);
}

/* What `reader` reads of st in its loop x, in registers: one vector for each position
 * along the axis, so that every vector is loaded once. */
static kiln_status hold(nest *k, kiln_stage *st, kiln_stage *reader, kiln_iter *x,
                        int axis, int lane) {
    kiln_stage *held;
    KILN_TRY(kiln_cache_read(k->s, st->origin, KILN_SCOPE_REGISTER, &reader, 1, &held,
                             k->err));
    KILN_TRY(kiln_compute_at(held, reader, x, k->err));
    KILN_TRY(kiln_unroll(held, kiln_stage_axis(held, axis), k->err));
    return kiln_vectorize(held, kiln_stage_axis(held, lane), k->err);
}

/* A^T of one tile's products, column by column. */
static kiln_status schedule_columns(nest *k) {
    kiln_stage *c = k->columns;
    KILN_TRY(kiln_compute_at(c, k->y, k->tile, k->err));
    KILN_TRY(kiln_set_scope(c, KILN_SCOPE_LOCAL, k->err));
    kiln_iter *i = kiln_stage_axis(c, M_I), *j = kiln_stage_axis(c, M_J);
    kiln_iter *const order[] = {j, i};
    KILN_TRY(kiln_reorder(c, order, 2, k->err));
    KILN_TRY(kiln_unroll(c, i, k->err));
    KILN_TRY(kiln_vectorize(c, kiln_stage_axis(c, M_LANE), k->err));
    return KILN_OK;
}

/* Weights come from far in every call of a network, and the first tiles of a panel of
 * channels wait for each line of it while those behind find it in the L2 cache. So each
 * row of tiles fetches its part of the next panel: positions lie one behind the other, and
 * in each the blocks of channels; behind a chunk's last panel comes its first one of the
 * next position. `panel`: the loop over panels. */
static kiln_status prefetch(nest *k, kiln_stage *acc, kiln_iter *step, kiln_iter *panel,
                            kiln_iter *row, kiln_iter *column) {
    const kiln_winograd_plan *x = k->x;
    const int64_t passes = kiln_winograd_fetches(k->p, x);
    if (passes == 0)
        return KILN_OK;
    const int64_t terms = kiln_ceil_div(k->p->c, x->ic_block) * x->ic_block;
    const int64_t block = terms * x->oc_block, blocks = k->p->blocks;
    const int64_t chunk = kiln_winograd_chunk(k->p, x);
    const bool is_all = chunk == blocks, is_one = chunk == x->tile[2];
    const int64_t each = kiln_ceil_div(x->tile[2], passes);
    const int64_t steps = x->ic_block / step->extent,
                  next = is_one ? blocks : x->tile[2];
    /* Lines of one block's vectors that an iteration reads. Where those are shorter than
     * a line and one iteration reads one, two iterations ask for the same line. */
    const int64_t line = line_elems(k);
    const int64_t lines = kiln_ceil_div(steps * x->oc_block, line);
    for (int64_t i = 0; i < each * lines; i++) {
        const kiln_ahead ahead = {
            .elems = (next + i / lines) * block + i % lines * line,
            .step_elems = steps * x->oc_block,
            .around = kiln_winograd_row_passes(k->p, x) > 1 ? row : column,
            .around_wraps = kiln_ceil_div(x->tile[2], each),
            .around_elems = each * block,
            .last = is_all || is_one ? NULL : panel,
            .last_elems = (blocks - chunk) * block,
            .last_extent = chunk / x->tile[2]};
        KILN_TRY(kiln_prefetch(acc, k->weights, step, &ahead, k->err));
    }
    return KILN_OK;
}

/* One position's products of a register tile, summed over the channels of x. */
static kiln_status accumulate(nest *k, kiln_stage *acc, kiln_iter *panel,
                              kiln_iter *row, kiln_iter *tile) {
    kiln_iter *ic[2], *order[8], *inner = NULL;
    const kiln_winograd_plan *x = k->x;
    size_t n = 0;
    KILN_TRY(kiln_set_scope(acc, KILN_SCOPE_REGISTER, k->err));
    KILN_TRY(kiln_compute_at(acc, k->products, tile, k->err));
    KILN_TRY(kiln_split(acc, kiln_stage_reduce(acc, 0), x->ic_block, &ic[0], &ic[1],
                        k->err));
    const int64_t body = x->tile[0] * x->tile[1] * x->tile[2];
    const int64_t most = kiln_conv_min(x->unroll, MAX_BODY / body);
    const int64_t steps = kiln_conv_divisor(x->ic_block, most > 1 ? most : 1);
    order[n++] = ic[0];
    if (steps > 1) {
        KILN_TRY(kiln_split(acc, ic[1], steps, &ic[1], &inner, k->err));
        KILN_TRY(kiln_unroll(acc, inner, k->err));
    }
    KILN_TRY(prefetch(k, acc, ic[1], panel, row, tile));
    order[n++] = ic[1];
    if (inner != NULL)
        order[n++] = inner;
    static const int axis[] = {M_ROW, M_COLUMN, M_C};
    for (int i = 0; i < 3; i++) {
        order[n] = kiln_stage_axis(acc, axis[i]);
        KILN_TRY(kiln_unroll(acc, order[n++], k->err));
    }
    order[n++] = kiln_stage_axis(acc, M_LANE);
    KILN_TRY(kiln_reorder(acc, order, n, k->err));
    return kiln_vectorize(acc, kiln_stage_axis(acc, M_LANE), k->err);
}

static kiln_status schedule_products(nest *k) {
    kiln_stage *m = k->products, *acc;
    const int64_t *size = k->x->tile;
    kiln_iter *row[2], *column[2], *oc[2];
    KILN_TRY(kiln_cache_write(m, KILN_SCOPE_REGISTER, &acc, k->err));
    KILN_TRY(kiln_compute_at(m, k->y, k->channels, k->err));
    KILN_TRY(kiln_set_scope(m, KILN_SCOPE_LOCAL, k->err));
    /* Positions a line apart from a multiple of as many lines as there are positions, so
     * that those of a tile do not all want the same lines of the first cache. */
    const int32_t line = line_elems(k);
    KILN_TRY(kiln_storage_align(m, M_J, APART * line, line, k->err));
    KILN_TRY(
        kiln_split(m, kiln_stage_axis(m, M_ROW), size[0], &row[0], &row[1], k->err));
    KILN_TRY(kiln_split(m, kiln_stage_axis(m, M_COLUMN), size[1], &column[0],
                        &column[1], k->err));
    KILN_TRY(kiln_split(m, kiln_stage_axis(m, M_C), size[2], &oc[0], &oc[1], k->err));
    kiln_iter *lane = kiln_stage_axis(m, M_LANE);
    kiln_iter *const order[] = {kiln_stage_axis(m, M_I),
                                kiln_stage_axis(m, M_J),
                                kiln_stage_axis(m, M_N),
                                oc[0],
                                row[0],
                                column[0],
                                row[1],
                                column[1],
                                oc[1],
                                lane};
    KILN_TRY(kiln_reorder(m, order, sizeof order / sizeof order[0], k->err));
    KILN_TRY(kiln_unroll(m, row[1], k->err));
    KILN_TRY(kiln_unroll(m, column[1], k->err));
    KILN_TRY(kiln_unroll(m, oc[1], k->err));
    KILN_TRY(kiln_vectorize(m, lane, k->err));
    return accumulate(k, acc, oc[0], row[0], column[0]);
}

/* x transformed: a row of tiles of one block of channels at a time. */
static kiln_status schedule_v(nest *k) {
    kiln_stage *v = k->v;
    kiln_iter *i = kiln_stage_axis(v, V_I), *j = kiln_stage_axis(v, V_J);
    kiln_iter *n = kiln_stage_axis(v, V_N), *row = kiln_stage_axis(v, V_ROW);
    kiln_iter *column = kiln_stage_axis(v, V_COLUMN), *c = kiln_stage_axis(v, V_C);
    kiln_iter *lane = kiln_stage_axis(v, V_LANE), *at = c;
    kiln_iter *const order[] = {n, row, c, column, i, j, lane};
    const int32_t line = line_elems(k);
    KILN_TRY(kiln_storage_align(v, V_J, APART * line, line, k->err));
    KILN_TRY(kiln_reorder(v, order, sizeof order / sizeof order[0], k->err));
    KILN_TRY(kiln_unroll(v, j, k->err));
    KILN_TRY(kiln_vectorize(v, lane, k->err));
    if (k->x->is_ahead) {
        KILN_TRY(fuse_all(v, order, 3, &at, k->err));
        KILN_TRY(kiln_parallel(v, at, k->err));
    } else {
        KILN_TRY(kiln_set_scope(v, KILN_SCOPE_LOCAL, k->err));
        KILN_TRY(kiln_compute_at(v, k->y, k->chunk, k->err));
    }
    kiln_stage *rows = k->rows;
    KILN_TRY(kiln_compute_at(rows, v, column, k->err));
    KILN_TRY(kiln_set_scope(rows, KILN_SCOPE_LOCAL, k->err));
    kiln_iter *ri = kiln_stage_axis(rows, V_I), *rj = kiln_stage_axis(rows, V_J);
    kiln_iter *const swapped[] = {rj, ri};
    KILN_TRY(kiln_reorder(rows, swapped, 2, k->err));
    KILN_TRY(kiln_unroll(rows, ri, k->err));
    KILN_TRY(kiln_vectorize(rows, kiln_stage_axis(rows, V_LANE), k->err));
    if (k->pad == NULL)
        return KILN_OK;
    KILN_TRY(kiln_compute_at(k->pad, v, at, k->err));
    KILN_TRY(kiln_set_scope(k->pad, KILN_SCOPE_LOCAL, k->err));
    return kiln_vectorize(k->pad, kiln_stage_axis(k->pad, Y_LANE), k->err);
}

/* Vectors that rows of a transform share. */
static kiln_status hold_vectors(nest *k) {
    KILN_TRY(hold(k, k->rows, k->v, kiln_stage_axis(k->v, V_I), V_J, V_LANE));
    KILN_TRY(hold(k, k->products, k->columns, kiln_stage_axis(k->columns, M_J), M_I,
                  M_LANE));
    if (k->pad != NULL)
        KILN_TRY(hold(k, k->pad, k->rows, kiln_stage_axis(k->rows, V_J), Y_H, Y_LANE));
    return KILN_OK;
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_conv_problem p = kiln_conv_problem_of(w, profile);
    const kiln_winograd_plan x = kiln_winograd_plan_of(w, s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 16 * MAX_BODY}};
    nest k = {.p = &p, .x = &x, .err = err};
    KILN_TRY(kiln_graph_compute_packed(a, w->graph, layouts_of(a, &p, &x),
                                       packings_of(a, w, &x), true, &made.te, err));
    k.weights = made.te.value[w->anchor->in[1]->id].te;
    const size_t n_inputs = made.te.n_inputs;
    k.s = made.schedule =
        kiln_schedule_new(a, made.te.arg + n_inputs, made.te.n_args - n_inputs);
    KILN_TRY(find_stages(&k));
    KILN_TRY(schedule_y(&k));
    KILN_TRY(schedule_columns(&k));
    KILN_TRY(schedule_products(&k));
    KILN_TRY(schedule_v(&k));
    KILN_TRY(hold_vectors(&k));
    *out = made;
    return KILN_OK;
}

static double amplification(const kiln_workload *w, const kiln_space *s,
                            const kiln_config *c) {
    const kiln_winograd_plan x = kiln_winograd_plan_of(w, s, c);
    return kiln_winograd_amplification(&x.by);
}

static double share(const kiln_workload *w, const kiln_space *s, const kiln_config *c) {
    const kiln_winograd_plan x = kiln_winograd_plan_of(w, s, c);
    return kiln_winograd_share(&x.by);
}

static const char *const layout_knobs[] = {"oc_block", "ic_block", NULL};

const kiln_template kiln_template_conv_winograd = {
    .name = "conv_winograd",
    .doc = "convolution of windows by Winograd's algorithm in NCHW[x]c",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = kiln_winograd_space,
    .pays = kiln_winograd_pays,
    .guess = kiln_winograd_guess,
    .apply = apply,
    .amplification = amplification,
    .share = share,
    .least_share = KILN_WINOGRAD_LEAST_SHARE,
};
