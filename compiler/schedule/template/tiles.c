/* Blocks, panels and register tiles (Goto and van de Geijn, ACM TOMS 34(3), 2008). */
#include "compiler/schedule/template/tiles.h"

#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/template/shares.h"

#include <string.h>

const char *const kiln_tiles_parallel_words[KILN_N_TILES_PARALLEL] = {"no", "blocks",
                                                                      "tiles", "all"};

/* One axis as block, panel and tile loops. */
typedef struct parts {
    kiln_iter *block, *panel, *inner;
} parts;

static kiln_status cut_axis(kiln_stage *st, const kiln_tile_axis *x, parts *out,
                            kiln_err *err) {
    kiln_iter *all = kiln_stage_axis(st, x->axis), *rest;
    const int64_t extent = all->extent > 0 ? all->extent : 1;
    const int64_t block = x->block == 0 || x->block > extent ? extent : x->block;
    KILN_TRY(kiln_split(st, all, block, &out->block, &rest, err));
    return kiln_split(st, rest, x->tile, &out->panel, &out->inner, err);
}

/* Vectors and lanes of a tile: the column's tile, then (or instead) the lane axis. With
 * `dot` lanes are not vectorised yet. */
static kiln_status cut_lanes(kiln_stage *st, const kiln_tiles *t, kiln_iter *col,
                             kiln_iter *lane, const kiln_tensor_intrin *dot,
                             kiln_iter **order, size_t *n, kiln_err *err) {
    kiln_iter *vector;
    if (lane != NULL && col != NULL) {
        KILN_TRY(kiln_unroll(st, col, err));
        order[(*n)++] = col;
    }
    if (lane == NULL)
        lane = col;
    if (lane == NULL)
        return KILN_OK;
    KILN_TRY(kiln_split(st, lane, t->lanes, &vector, &lane, err));
    KILN_TRY(kiln_unroll(st, vector, err));
    if (dot == NULL)
        KILN_TRY(kiln_vectorize(st, lane, err));
    order[(*n)++] = vector;
    order[(*n)++] = lane;
    return KILN_OK;
}

kiln_status kiln_tiles_nest(kiln_stage *st, const kiln_tiles *t, kiln_iter *cut,
                            kiln_tile_loops *out, kiln_err *err) {
    kiln_iter *order[KILN_MAX_AXES + 16], *panel[2][KILN_TILE_ROWS];
    parts row[KILN_TILE_ROWS], col = {NULL, NULL, NULL};
    int n_panel[2] = {0, 0};
    size_t n = 0;
    const int rows_at = t->columns_outer ? 1 : 0, cols_at = 1 - rows_at;
    kiln_tile_loops l = {.cut = cut};
    for (int i = 0; i < t->n_outer; i++)
        l.around[l.n_around++] = kiln_stage_axis(st, t->outer[i]);
    if (t->has_col) {
        KILN_TRY(cut_axis(st, &t->col, &col, err));
        l.around[l.n_around++] = col.block;
        panel[cols_at][n_panel[cols_at]++] = col.panel;
    }
    for (int i = 0; i < t->n_row; i++) {
        KILN_TRY(cut_axis(st, &t->row[i], &row[i], err));
        KILN_TRY(kiln_unroll(st, row[i].inner, err));
        l.around[l.n_around++] = row[i].block;
        panel[rows_at][n_panel[rows_at]++] = row[i].panel;
    }
    KILN_ASSERT(n_panel[0] + n_panel[1] > 0, "stage '%s' has neither rows nor columns",
                st->te->name);
    for (int i = 0; i < l.n_around; i++)
        order[n++] = l.around[i];
    if (cut != NULL)
        order[n++] = cut;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n_panel[side]; i++)
            order[n++] = panel[side][i];
    const int first = n_panel[0] > 0 ? 0 : 1;
    l.block = l.around[l.n_around - 1];
    l.n_outers = n_panel[first];
    for (int i = 0; i < l.n_outers; i++)
        l.outers[i] = panel[first][i];
    l.outer = l.outers[l.n_outers - 1];
    l.n_inners = first == 0 ? n_panel[1] : 0;
    for (int i = 0; i < l.n_inners; i++)
        l.inners[i] = panel[1][i];
    l.tile = order[n - 1];
    for (int i = 0; i < t->n_row; i++)
        order[n++] = row[i].inner;
    kiln_iter *lane = t->lane_axis >= 0 ? kiln_stage_axis(st, t->lane_axis) : NULL;
    KILN_TRY(cut_lanes(st, t, col.inner, lane, NULL, order, &n, err));
    *out = l;
    return kiln_reorder(st, order, n, err);
}

/* Loops of one iteration step aside: fused, they would only hide what others are. */
kiln_status kiln_tiles_fuse(kiln_stage *st, const kiln_tiles *t, kiln_tile_loops *l,
                            kiln_err *err) {
    kiln_iter *part[KILN_MAX_AXES + 2 * KILN_TILE_ROWS];
    kiln_iter *order[KILN_MAX_AXES + 2 * KILN_TILE_ROWS];
    const bool all = t->parallel == KILN_TILES_ALL;
    const bool outer = t->parallel >= KILN_TILES_OUTER;
    const bool has_tile = all || (outer && l->outer == l->tile);
    size_t n = 0, at = 0, n_once = 0;
    for (int i = 0; i < l->n_around; i++)
        part[n++] = l->around[i];
    for (int i = 0; i < l->n_outers && outer; i++)
        part[n++] = l->outers[i];
    for (int i = 0; i < l->n_inners && all; i++)
        part[n++] = l->inners[i];
    for (int many = 0; many < 2; many++)
        for (size_t i = 0; i < n; i++)
            if ((part[i]->extent > 1) == (many == 1))
                order[at++] = part[i];
    while (n_once < n && order[n_once]->extent == 1)
        n_once++;
    if (t->parallel == KILN_TILES_SERIAL || n_once == n)
        return KILN_OK;
    KILN_TRY(kiln_reorder(st, order, at, err));
    kiln_iter *fused = order[n_once];
    for (size_t i = n_once + 1; i < n; i++)
        KILN_TRY(kiln_fuse(st, fused, order[i], &fused, err));
    l->block = fused;
    if (outer)
        l->outer = fused;
    if (has_tile)
        l->tile = fused;
    return kiln_parallel(st, fused, err);
}

kiln_status kiln_tiles_accumulate(kiln_stage *st, const kiln_tiles *t, int skip,
                                  kiln_iter *const *reduce, int n_reduce,
                                  kiln_err *err) {
    kiln_iter *order[KILN_MAX_AXES + 8];
    size_t n = 0;
    for (int i = 0; i < n_reduce - (t->dot != NULL ? 1 : 0); i++)
        order[n++] = reduce[i];
    for (int i = 0; i < t->n_row; i++) {
        kiln_iter *row = kiln_stage_axis(st, skip + t->row[i].axis);
        KILN_TRY(kiln_unroll(st, row, err));
        order[n++] = row;
    }
    kiln_iter *col = t->has_col ? kiln_stage_axis(st, skip + t->col.axis) : NULL;
    kiln_iter *lane =
        t->lane_axis >= 0 ? kiln_stage_axis(st, skip + t->lane_axis) : NULL;
    KILN_TRY(cut_lanes(st, t, col, lane, t->dot, order, &n, err));
    lane = n > 0 ? order[n - 1] : NULL;
    if (t->dot != NULL)
        order[n++] = reduce[n_reduce - 1];
    KILN_TRY(kiln_reorder(st, order, n, err));
    if (t->dot != NULL)
        KILN_TRY(kiln_tensorize(st, lane, t->dot, (int)t->lanes, err));
    return kiln_set_scope(st, KILN_SCOPE_REGISTER, err);
}

/* ---- costs ----------------------------------------------------------------------- */

int64_t kiln_tile_registers(int64_t rows, int64_t vectors) {
    /* What one row multiplies is used once, and comes from memory. */
    return rows == 1 ? vectors + 2 : rows * vectors + vectors + 1;
}

/* Ports of half a vector's width take it in two turns (Zen 4's 512 bits). */
static bool takes_turns(const kiln_profile *p) {
    enum { HALF = 32 }; /* bytes */
    return p->core.fma_ports == 1 && p->core.load_ports == 1 && p->vector_bytes > HALF;
}

/* What guesses say of it was fitted on Zen 5, which begins two multiply-adds in a cycle.
 * Where wide vectors take turns, what is narrow has the more time (7,000 trials of
 * conv_winograd and 300 of conv_1x1 on Zen 4). */
double kiln_tile_shown(const kiln_profile *p) { return takes_turns(p) ? 0.25 : 1; }

int kiln_broadcast_ports(const kiln_profile *p) {
    return takes_turns(p) ? 2 : p->core.load_ports;
}

/* Multiply-adds as the ports take them, but no sum before it can be added to again.
 * Some of what broadcasts and panels from the L2 cache cost is not hidden (fitted to
 * tiles of 24 and 28 accumulators on Zen 5: two loads a cycle, a vector from the L2
 * cache in one). */
static double tile_cycles(const kiln_profile *p, int64_t rows, int64_t vectors,
                          bool has_turns) {
    const kiln_core *core = &p->core;
    const double work = (double)(rows * vectors) / core->fma_ports;
    const double shown = has_turns ? kiln_tile_shown(p) : 1;
    const int ports = has_turns ? kiln_broadcast_ports(p) : core->load_ports;
    const double load = shown * 0.3 / ports;
    const double panel = shown * 0.4 * p->vector_bytes / core->l2_rate;
    return (work > core->fma_latency ? work : core->fma_latency) + load * (double)rows +
           panel * (double)vectors;
}

double kiln_tile_cycles(const kiln_profile *p, int64_t rows, int64_t vectors) {
    return tile_cycles(p, rows, vectors, false);
}

double kiln_tile_entry_cycles(const kiln_profile *p, double sums, bool are_added) {
    const kiln_core *c = &p->core;
    double each = 1.0 / c->store_ports;
    if (are_added)
        each += 1.0 / c->load_ports + 1.0 / c->fma_ports;
    return sums * each + c->fma_latency + kiln_branch_cycles(p);
}

/* Passes over memory of y's shape: to and fro, and what the epilogue reads. */
static int64_t end_passes(const kiln_workload *w) {
    const kiln_node *n = w->anchor;
    int64_t passes = 2;
    for (size_t i = 0; i < w->graph->inputs.n; i++) {
        const kiln_value *v = w->graph->inputs.v[i];
        passes += v != n->in[0] && kiln_type_same_shape(&v->type, &n->out[0]->type);
    }
    return passes;
}

/* Where y is more than the L2 cache holds. Lines that are not there come and go at a third
 * of the rate of those that are read in their order from an L3 cache, or as memory has
 * them, and a core that runs ahead hides so many cycles of that behind the next tile's
 * sums. Zen 4, one thread: 64 to 256 channels of 56 x 56 pixels, 1 x 1, took 1.07 of the
 * time in tiles of 14 x 2 vectors that it took in 8 x 1, added to others 1.24; 3 to 32
 * channels of 224 x 224, 3 x 3 in steps of two, 1.22. Zen 5: 32 to 64 of 112 x 112, 1 x 1,
 * 1.02, 64 to 128 of 56 x 56 1.00. */
double kiln_tile_late_cycles(const kiln_workload *w, const kiln_profile *p,
                             int64_t vectors, int64_t vector_bytes) {
    static const double part = 3;
    const int64_t bytes = vectors * vector_bytes * end_passes(w);
    const double ahead = takes_turns(p) ? 200 : 340;
    const double rate = kiln_rate_behind_l2(p) / part, memory = p->core.memory_rate;
    const double cycles = (double)bytes / (rate > memory ? rate : memory);
    const bool is_far = kiln_type_bytes(&w->anchor->out[0]->type) > kiln_cache_l2(p);
    return is_far && cycles > ahead ? cycles - ahead : 0;
}

double kiln_tiles_cycles(const kiln_profile *p, int64_t rows, int64_t vectors,
                         int64_t tile_rows, int64_t tile_vectors, bool has_turns) {
    const int64_t rest_r = rows % tile_rows, rest_v = vectors % tile_vectors;
    const int64_t whole_r = rows / tile_rows, whole_v = vectors / tile_vectors;
    const double n_r = (double)whole_r, n_v = (double)whole_v;
    double sum = n_r * n_v * tile_cycles(p, tile_rows, tile_vectors, has_turns);
    if (rest_r > 0)
        sum += n_v * tile_cycles(p, rest_r, tile_vectors, has_turns);
    if (rest_v > 0)
        sum += n_r * tile_cycles(p, tile_rows, rest_v, has_turns);
    if (rest_r > 0 && rest_v > 0)
        sum += tile_cycles(p, rest_r, rest_v, has_turns);
    /* Tails are code of their own, and what they cost beside their work. */
    return sum * (1 + (rest_r > 0 ? 0.01 : 0) + (rest_v > 0 ? 0.01 : 0));
}

kiln_tiles_parallel kiln_tiles_guess_parallel(const kiln_profile *p, kiln_tile_counts n,
                                              double muladds,
                                              kiln_tiles_parallel most) {
    /* What fusing further must gain: tails are decided tile by tile then. */
    static const double gain = 1.03;
    const int64_t count[] = {1, n.blocks, n.blocks * n.outer,
                             n.blocks * n.outer * n.inner};
    int best = KILN_TILES_SERIAL;
    for (int k = KILN_TILES_BLOCKS; k <= (int)most && kiln_is_worth_fork(p, muladds);
         k++)
        if (count[k] > 1 && kiln_share_loss(count[k], p->cores) * gain <
                                kiln_share_loss(count[best], p->cores))
            best = k;
    return (kiln_tiles_parallel)best;
}

/* ---- stages ---------------------------------------------------------------------- */

kiln_status kiln_tile_copy(kiln_schedule *s, const kiln_te *te, kiln_stage *reader,
                           kiln_stage *at, kiln_iter *x, int64_t lanes,
                           kiln_stage **out, kiln_err *err) {
    kiln_iter *outer, *lane;
    KILN_TRY(kiln_cache_read(s, te, KILN_SCOPE_LOCAL, &reader, 1, out, err));
    KILN_TRY(kiln_compute_at(*out, at, x, err));
    KILN_TRY(kiln_split(*out, kiln_stage_axis(*out, te->rank - 1), lanes, &outer, &lane,
                        err));
    return kiln_vectorize(*out, lane, err);
}

kiln_status kiln_inline_injective(kiln_schedule *s, kiln_err *err) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (!s->stage.v[i]->is_output && kiln_te_is_injective(s->stage.v[i]->te))
            KILN_TRY(kiln_compute_inline(s->stage.v[i], err));
    return KILN_OK;
}

kiln_stage *kiln_stage_tagged(kiln_schedule *s, const char *tag) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (strcmp(s->stage.v[i]->te->tag, tag) == 0)
            return s->stage.v[i];
    KILN_ASSERT(false, "no stage is tagged '%s'", tag);
    return NULL;
}
