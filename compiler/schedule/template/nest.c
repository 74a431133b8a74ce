/* Rules for one stage's loops.
 *
 * Sources: register tiles of a reduction (Goto and van de Geijn, TOMS 34(3), 2008,
 * section 6: rows by vectors so that each load feeds several multiply-adds); partial
 * results by lanes where the output is narrow (rfactor: Suriana et al., CGO'17; Ansor,
 * OSDI'20, rule 6); two-dimensional tiles where a read runs across memory. */
#include "compiler/schedule/template/nest.h"

enum { MAX_UNROLLED_TAPS = 8, MAX_BODY = 96, TRANSPOSE_ROWS = 16, MAX_CANDIDATES = 32 };

static int64_t extent_at(const kiln_accesses *x, const int64_t *extent, int i) {
    return extent != NULL ? extent[i] : x->extent[i];
}

static int power_below(int64_t n, int most) {
    int p = 1;
    while (p <= n / 2 && p <= most / 2)
        p *= 2;
    return p;
}

/* ---- plans ----------------------------------------------------------------------- */

static int lanes_of(const kiln_nester *n, const kiln_accesses *x, int64_t extent) {
    int lanes = n->choice.lanes;
    if (lanes == 0) {
        lanes = n->profile->vector_bytes / (x->max_bytes > 0 ? x->max_bytes : 1);
        if (lanes < 1)
            lanes = 1;
    }
    return extent < lanes ? (int)extent : lanes;
}

static bool is_tuple(const kiln_te *te) {
    return te->n_out > 1 || (te->body[0]->kind == KILN_EXPR_REDUCE &&
                             te->body[0]->u.reduce->reducer->n > 1);
}

static bool may_be_vectors(const kiln_accesses *x, const int64_t *extent, int i,
                           uint64_t allowed) {
    return (allowed >> i & 1) != 0 && extent_at(x, extent, i) > 1 && !is_tuple(x->te);
}

/* The axis that is `rank`-th in cost; scalar code takes part. */
static int pick_axis(const kiln_nester *n, const kiln_accesses *x,
                     const int64_t *extent, uint64_t allowed) {
    double cost[MAX_CANDIDATES + 1];
    int axis[MAX_CANDIDATES + 1], n_axes = 0;
    if (n->choice.vector == 2)
        return -1;
    for (int i = x->n_axes - 1; i >= -1; i--) {
        if (i >= 0 && !may_be_vectors(x, extent, i, allowed))
            continue;
        const int lanes = i < 0 ? 1 : lanes_of(n, x, extent_at(x, extent, i));
        const double c = kiln_accesses_cost(x, extent, i, lanes);
        int at = n_axes++;
        for (; at > 0 && cost[at - 1] > c; at--) {
            cost[at] = cost[at - 1];
            axis[at] = axis[at - 1];
        }
        cost[at] = c;
        axis[at] = i;
    }
    return axis[n->choice.vector < n_axes ? n->choice.vector : n_axes - 1];
}

static bool is_reduction(const kiln_accesses *x) { return x->n_axes > x->n_spatial; }

static int pick_rows(const kiln_accesses *x, const int64_t *extent, int axis,
                     int lanes) {
    int best = -1;
    double most = 0;
    for (int i = x->n_spatial; i-- > 0;) {
        if (i == axis || extent_at(x, extent, i) < 2)
            continue;
        const double saved = kiln_accesses_reuse(x, i, axis, lanes);
        if (saved > most) {
            most = saved;
            best = i;
        }
    }
    return best;
}

/* The largest tile not above `most` that wastes least of `extent`. */
static int fit_rows(int64_t extent, int most) {
    int best = 1;
    int64_t least = INT64_MAX;
    if (extent <= most)
        return (int)extent;
    for (int r = most; r >= 1 && r * 2 >= most; r--) {
        const int64_t waste = (extent + r - 1) / r * r - extent;
        if (waste < least) {
            least = waste;
            best = r;
        }
    }
    return best;
}

static void plan_reduction(const kiln_nester *n, const kiln_accesses *x,
                           const int64_t *extent, kiln_nest_plan *p) {
    const int64_t wide = p->axis >= 0 ? extent_at(x, extent, p->axis) : 1;
    const int64_t all = (wide + p->lanes - 1) / p->lanes;
    /* Two vectors of one operand, and one broadcast of the other, are in flight. */
    const int room = n->profile->vector_registers - 4;
    p->rows = pick_rows(x, extent, p->axis, p->lanes);
    p->n_vectors = p->rows >= 0 ? 2 : 4;
    if (p->n_vectors > all)
        p->n_vectors = (int)all;
    if (p->n_vectors > 1 && all % p->n_vectors != 0 && all < 8)
        p->n_vectors = all % 3 == 0 ? 3 : all % 2 == 0 ? 2 : 1;
    if (p->rows >= 0) {
        const int most = room / p->n_vectors;
        p->n_rows = fit_rows(extent_at(x, extent, p->rows), most < 12 ? most : 12);
    }
}

/* Of a tile. */
static int64_t most_vectors(const kiln_nester *n) {
    return 2 * (int64_t)n->profile->vector_registers;
}

/* Vectors as long as there are rows: squares, which are turned in registers (loop pass
 * turn_tiles). They need as many of these twice. */
static int square_side(const kiln_nester *n, const kiln_accesses *x,
                       const int64_t *extent, const kiln_nest_plan *p) {
    const int registers = n->profile->vector_registers / 2;
    const int most = registers < TRANSPOSE_ROWS ? registers : TRANSPOSE_ROWS;
    const int64_t rows = extent_at(x, extent, p->rows);
    if (!kiln_accesses_turned(x, p->rows, p->axis))
        return 1;
    return power_below(rows < p->lanes ? rows : p->lanes, most);
}

/* A transposition writes a few lines of a row before it goes on to other rows, and comes
 * back for what lies beside what it has read: so pages that it touches are touched again
 * soon on both sides. So many lines, and so many times that before it turns back. */
enum { LINES_OF_ROW = 4 };

/* So many squares of an axis that a tile has `lines` lines of it, or fewer: `most`, and
 * such that nothing is left over. */
static int squares_of(const kiln_nester *n, const kiln_accesses *x, int side,
                      int64_t extent, int lines, int64_t most) {
    const int64_t line = kiln_line_bytes(n->profile) / ((int64_t)side * x->max_bytes);
    const int64_t all = extent / side, wanted = (line > 1 ? line : 1) * lines;
    most = wanted < most ? wanted : most;
    while (most > 1 && (most > all || all % most != 0))
        most--;
    return (int)most;
}

static void plan_injective(const kiln_nester *n, const kiln_accesses *x,
                           const int64_t *extent, kiln_nest_plan *p) {
    if (p->axis < 0 || !kiln_accesses_strided(x, p->axis))
        return;
    for (int i = x->n_spatial; i-- > 0 && p->rows < 0;)
        if (i != p->axis && extent_at(x, extent, i) > 1 &&
            kiln_accesses_contiguous(x, i))
            p->rows = i;
    if (p->rows < 0)
        return;
    const int64_t rows = extent_at(x, extent, p->rows);
    const int side = square_side(n, x, extent, p);
    p->n_rows = fit_rows(rows, TRANSPOSE_ROWS);
    if (side < KILN_LEAST_TURNED || (n->choice.lanes > 0 && side != p->lanes))
        return;
    p->lanes = side;
    const int64_t room = most_vectors(n);
    p->n_rows = side * squares_of(n, x, side, rows, 1, room / side);
    p->n_vectors = squares_of(n, x, side, extent_at(x, extent, p->axis), LINES_OF_ROW,
                              room / p->n_rows);
    p->is_turned = true;
}

kiln_nest_plan kiln_nest_plan_of(const kiln_nester *n, const kiln_accesses *x,
                                 const int64_t *extent, uint64_t allowed) {
    kiln_nest_plan p = {.axis = pick_axis(n, x, extent, allowed),
                        .rows = -1,
                        .lanes = 1,
                        .n_vectors = 1,
                        .n_rows = 1};
    if (p.axis >= 0)
        p.lanes = lanes_of(n, x, extent_at(x, extent, p.axis));
    if (p.axis >= x->n_spatial) {
        const int64_t all = extent_at(x, extent, p.axis) / p.lanes;
        p.n_vectors = n->choice.accumulators > 0 ? n->choice.accumulators : 4;
        p.n_vectors = power_below(all, p.n_vectors);
        return p;
    }
    if (is_reduction(x))
        plan_reduction(n, x, extent, &p);
    else
        plan_injective(n, x, extent, &p);
    if (n->choice.vectors > 0 && p.axis >= 0)
        p.n_vectors = n->choice.vectors;
    if (n->choice.rows > 0 && p.rows >= 0)
        p.n_rows = n->choice.rows;
    return p;
}

/* ---- tiles ----------------------------------------------------------------------- */

/* Loops of a stage whose spatial axes are cut: outer ones, rows, vectors, lanes. */
typedef struct tiles {
    kiln_nest_outer outer;
    kiln_iter *inner[3];
    int n_inner;
} tiles;

static kiln_status cut(kiln_nester *n, kiln_stage *st, kiln_iter *x, int64_t factor,
                       kiln_iter **outer, kiln_iter **inner) {
    return kiln_split(st, x, factor, outer, inner, n->err);
}

/* Those that must go first do, each part in the order of the axes, tiled ones last. */
static void order_outer(const kiln_nester *n, kiln_stage *st, int axis, int rows,
                        uint64_t first, kiln_iter *vo, kiln_iter *ro,
                        kiln_nest_outer *out) {
    const bool inside = n->choice.rows_inside;
    out->n = 0;
    for (int goes_first = 1; goes_first >= 0; goes_first--) {
        for (int i = 0; i < st->te->rank; i++)
            if (i != axis && i != rows && (int)(first >> i & 1) == goes_first)
                out->loop[out->n++] = kiln_stage_axis(st, i);
        const bool has_v = vo != NULL && (int)(first >> axis & 1) == goes_first;
        const bool has_r = ro != NULL && (int)(first >> rows & 1) == goes_first;
        if (has_v && inside)
            out->loop[out->n++] = vo;
        if (has_r)
            out->loop[out->n++] = ro;
        if (has_v && !inside)
            out->loop[out->n++] = vo;
    }
}

static void put_before(kiln_nest_outer *out, const kiln_iter *at, kiln_iter *x) {
    int i = out->n++;
    for (; i > 0 && out->loop[i - 1] != at; i--)
        out->loop[i] = out->loop[i - 1];
    KILN_ASSERT(i > 0, "no loop to put '%s' before", x->name);
    out->loop[i] = out->loop[i - 1];
    out->loop[i - 1] = x;
}

static kiln_status cut_tiles(kiln_nester *n, kiln_stage *st, int axis, int rows,
                             const kiln_nest_plan *p, tiles *t) {
    kiln_iter *x = NULL, *vo = NULL, *vu = NULL, *vl = NULL, *vb = NULL;
    kiln_iter *ro = NULL, *ri = NULL;
    t->n_inner = 0;
    if (rows >= 0)
        KILN_TRY(cut(n, st, kiln_stage_axis(st, rows), p->n_rows, &ro, &ri));
    if (axis >= 0) {
        KILN_TRY(cut(n, st, kiln_stage_axis(st, axis), (int64_t)p->lanes * p->n_vectors,
                     &vo, &x));
        KILN_TRY(cut(n, st, x, p->lanes, &vu, &vl));
    }
    if (p->is_turned && p->first == 0)
        KILN_TRY(cut(n, st, vo, LINES_OF_ROW, &vb, &vo));
    order_outer(n, st, axis, rows, p->first, vo, ro, &t->outer);
    if (vb != NULL)
        put_before(&t->outer, ro, vb);
    if (ri != NULL && !p->is_turned)
        t->inner[t->n_inner++] = ri;
    if (vu != NULL)
        t->inner[t->n_inner++] = vu;
    if (ri != NULL && p->is_turned)
        t->inner[t->n_inner++] = ri;
    if (vl != NULL)
        t->inner[t->n_inner++] = vl;
    if (vl != NULL)
        KILN_TRY(kiln_vectorize(st, vl, n->err));
    if (vu != NULL)
        KILN_TRY(kiln_unroll(st, vu, n->err));
    return ri != NULL ? kiln_unroll(st, ri, n->err) : KILN_OK;
}

static kiln_status put_in_order(kiln_nester *n, kiln_stage *st, const tiles *t,
                                kiln_iter *const *reduce, int n_reduce) {
    kiln_iter *order[6 * KILN_MAX_AXES];
    size_t at = 0;
    for (int i = 0; i < t->outer.n; i++)
        order[at++] = t->outer.loop[i];
    for (int i = 0; i < n_reduce; i++)
        order[at++] = reduce[i];
    for (int i = 0; i < t->n_inner; i++)
        order[at++] = t->inner[i];
    return kiln_reorder(st, order, at, n->err);
}

/* The innermost reduction loop, a few iterations side by side. */
static kiln_status unroll_reduction(kiln_nester *n, kiln_stage *st, int64_t body,
                                    kiln_iter **reduce, int *n_reduce) {
    kiln_iter *last = NULL, *outer, *inner;
    if (*n_reduce == 0)
        return KILN_OK;
    last = reduce[*n_reduce - 1];
    int64_t factor = n->choice.unroll;
    if (factor == 0) {
        factor = MAX_BODY / (body > 0 ? body : 1);
        factor = factor < 1 ? 1 : factor;
        if (last->extent <= MAX_UNROLLED_TAPS && last->extent <= factor)
            factor = last->extent;
        else
            factor = power_below(factor, 4);
    }
    if (factor == 1)
        return KILN_OK;
    if (factor >= last->extent)
        return kiln_unroll(st, last, n->err);
    KILN_TRY(cut(n, st, last, factor, &outer, &inner));
    reduce[*n_reduce - 1] = outer;
    reduce[(*n_reduce)++] = inner;
    return kiln_unroll(st, inner, n->err);
}

/* A reduction whose accumulators are the tile: reduction loops around it. */
static kiln_status reduce_in_tiles(kiln_nester *n, kiln_stage *st, int axis, int rows,
                                   const kiln_nest_plan *p, tiles *t) {
    kiln_iter *reduce[2 * KILN_MAX_AXES];
    int n_reduce = 0;
    for (; n_reduce < st->te->n_reduce; n_reduce++)
        reduce[n_reduce] = kiln_stage_reduce(st, n_reduce);
    KILN_TRY(cut_tiles(n, st, axis, rows, p, t));
    KILN_TRY(
        unroll_reduction(n, st, (int64_t)p->n_rows * p->n_vectors, reduce, &n_reduce));
    return put_in_order(n, st, t, reduce, n_reduce);
}

/* ---- lanes that meet ------------------------------------------------------------- */

/* Inside the spatial loops of `st`, which is one element there. */
static kiln_status compute_beside(kiln_nester *n, kiln_stage *part, kiln_stage *st,
                                  const kiln_nest_outer *outer) {
    part->scope = KILN_SCOPE_REGISTER;
    if (outer->n > 0)
        return kiln_compute_at(part, st, outer->loop[outer->n - 1], n->err);
    if (st->attach == KILN_ATTACH_AT)
        return kiln_compute_at(part, st->at_stage, st->at_iter, n->err);
    return KILN_OK;
}

/* Factors out `factor` lanes of reduction loop x. */
static kiln_status factor_out(kiln_nester *n, kiln_stage *st, kiln_iter *x,
                              int64_t factor, kiln_stage **part) {
    kiln_iter *outer, *inner;
    KILN_TRY(cut(n, st, x, factor, &outer, &inner));
    KILN_TRY(kiln_rfactor(st, inner, part, n->err));
    return KILN_OK;
}

/* The factored axis comes first: behind all other loops, in vectors. */
static kiln_status order_partial(kiln_nester *n, kiln_stage *part, int lanes,
                                 bool unroll_last) {
    kiln_iter *order[6 * KILN_MAX_AXES], *u, *l;
    size_t at = 0;
    kiln_iter *first = kiln_stage_axis(part, 0);
    const int n_loops = part->te->rank + part->te->n_reduce;
    for (int i = 1; i < n_loops; i++)
        order[at++] = part->root.v[i];
    if (unroll_last && part->te->n_reduce > 0)
        KILN_TRY(kiln_unroll(part, order[at - 1], n->err));
    KILN_TRY(cut(n, part, first, lanes, &u, &l));
    order[at++] = u;
    order[at++] = l;
    KILN_TRY(kiln_unroll(part, u, n->err));
    KILN_TRY(kiln_vectorize(part, l, n->err));
    return kiln_reorder(part, order, at, n->err);
}

/* Partial results by lanes; then halves onto halves until two are left. */
static kiln_status reduce_by_lanes(kiln_nester *n, kiln_stage *st,
                                   const kiln_accesses *x, const kiln_nest_plan *p,
                                   kiln_nest_outer *outer) {
    int64_t width = (int64_t)p->lanes * p->n_vectors;
    kiln_stage *part[16];
    int n_parts = 0;
    kiln_iter *k = kiln_stage_reduce(st, p->axis - x->n_spatial);
    KILN_TRY(factor_out(n, st, k, width, &part[n_parts]));
    KILN_TRY(order_partial(n, part[n_parts++], p->lanes, false));
    while (width > 2 && (width & (width - 1)) == 0 && n_parts < 16) {
        width = width > p->lanes ? p->lanes : width / 2;
        KILN_TRY(factor_out(n, st, kiln_stage_reduce(st, 0), width, &part[n_parts]));
        KILN_TRY(order_partial(n, part[n_parts++], (int)width, true));
    }
    order_outer(n, st, -1, -1, p->first, NULL, NULL, outer);
    KILN_TRY(kiln_reorder(st, outer->loop, (size_t)outer->n, n->err));
    for (int i = n_parts; i-- > 0;)
        KILN_TRY(compute_beside(n, part[i], st, outer));
    return kiln_unroll(st, kiln_stage_reduce(st, 0), n->err);
}

static kiln_status check_registers(const kiln_nester *n, const kiln_stage *st,
                                   const kiln_nest_plan *p) {
    const int64_t need = (int64_t)p->n_rows * p->n_vectors;
    const int64_t most = most_vectors(n);
    if (need <= most)
        return KILN_OK;
    return kiln_fail(n->err, KILN_ERR_ARG,
                     "generic: a tile of stage '%s' must have at most %d vectors, has "
                     "%d rows of %d",
                     st->te->name, (int)most, p->n_rows, p->n_vectors);
}

/* ---- rows far apart -------------------------------------------------------------- */

enum {
    FAR_BYTES = 1024, /* between rows */
    ROWS_AT_ONCE = 8, /* streams that prefetchers follow */
    CHUNK = 2048      /* results of one pass: 8 KiB of f32 */
};

bool kiln_nest_wants_across(const kiln_accesses *x, const kiln_nest_plan *p) {
    const int k = x->n_spatial;
    bool is_far = false;
    if (x->n_axes != k + 1 || p->axis < 0 || p->axis >= k || p->rows >= 0 ||
        x->extent[k] < (int64_t)2 * ROWS_AT_ONCE ||
        x->extent[p->axis] < 8 * (int64_t)p->lanes)
        return false;
    for (size_t i = 0; i < x->read.n; i++)
        is_far = is_far || (x->read.v[i].step[p->axis] == 1 &&
                            x->read.v[i].step[k] != KILN_NO_STEP &&
                            x->read.v[i].step[k] >= FAR_BYTES / x->max_bytes);
    return is_far;
}

/* A few rows added in registers, and that to the results. */
static kiln_status order_rows(kiln_nester *n, kiln_stage *part, int axis, int lanes) {
    kiln_iter *order[4 * KILN_MAX_AXES], *u, *l;
    size_t at = 0;
    KILN_TRY(cut(n, part, kiln_stage_axis(part, axis), lanes, &u, &l));
    for (int i = 0; i < part->te->rank; i++)
        if (i != axis)
            order[at++] = kiln_stage_axis(part, i);
    order[at++] = kiln_stage_reduce(part, 0);
    order[at++] = u;
    order[at++] = l;
    KILN_TRY(kiln_reorder(part, order, at, n->err));
    KILN_TRY(kiln_unroll(part, order[at - 3], n->err));
    KILN_TRY(kiln_unroll(part, u, n->err));
    part->scope = KILN_SCOPE_REGISTER;
    return kiln_vectorize(part, l, n->err);
}

kiln_status kiln_nest_across(kiln_nester *n, kiln_stage *st, const kiln_accesses *x,
                             const kiln_nest_plan *p, kiln_nest_outer *outer) {
    kiln_iter *order[4 * KILN_MAX_AXES], *ko, *ki, *chunk, *rest, *vo, *vi, *u, *l;
    kiln_stage *part;
    size_t at = 0;
    const int64_t rows = n->choice.unroll > 1 ? n->choice.unroll : ROWS_AT_ONCE;
    KILN_TRY(check_registers(n, st, p));
    KILN_TRY(cut(n, st, kiln_stage_reduce(st, 0), rows, &ko, &ki));
    KILN_TRY(kiln_rfactor(st, ko, &part, n->err));
    const int64_t tile = (int64_t)p->lanes * p->n_vectors;
    const int64_t chunk_size = (CHUNK + tile - 1) / tile * tile;
    KILN_TRY(cut(n, st, kiln_stage_axis(st, p->axis), chunk_size, &chunk, &rest));
    KILN_TRY(cut(n, st, rest, tile, &vo, &vi));
    KILN_TRY(cut(n, st, vi, p->lanes, &u, &l));
    outer->n = 0;
    for (int i = 0; i < x->n_spatial; i++)
        outer->loop[outer->n++] = i == p->axis ? chunk : kiln_stage_axis(st, i);
    for (int i = 0; i < outer->n; i++)
        order[at++] = outer->loop[i];
    order[at++] = kiln_stage_reduce(st, 0);
    order[at++] = vo;
    order[at++] = u;
    order[at++] = l;
    KILN_TRY(kiln_reorder(st, order, at, n->err));
    KILN_TRY(kiln_unroll(st, u, n->err));
    KILN_TRY(kiln_vectorize(st, l, n->err));
    KILN_TRY(order_rows(n, part, p->axis + 1, p->lanes));
    return kiln_compute_at(part, st, vo, n->err);
}

/* ---- one stage ------------------------------------------------------------------- */

/* Does the region fit into one tile? */
static bool is_one_tile(const kiln_accesses *x, const int64_t *extent,
                        const kiln_nest_plan *p) {
    for (int i = 0; i < x->n_spatial; i++) {
        int64_t tile = 1;
        if (i == p->axis)
            tile = (int64_t)p->lanes * p->n_vectors;
        else if (i == p->rows)
            tile = p->n_rows;
        if (extent_at(x, extent, i) > tile)
            return false;
    }
    return true;
}

kiln_status kiln_nest_apply(kiln_nester *n, kiln_stage *st, const kiln_accesses *x,
                            const int64_t *extent, const kiln_nest_plan *p,
                            kiln_nest_outer *outer) {
    tiles t, inner;
    kiln_stage *acc = NULL;
    KILN_TRY(check_registers(n, st, p));
    if (p->axis >= x->n_spatial)
        return reduce_by_lanes(n, st, x, p, outer);
    if (!is_reduction(x)) {
        KILN_TRY(cut_tiles(n, st, p->axis, p->rows, p, &t));
        KILN_TRY(put_in_order(n, st, &t, NULL, 0));
        *outer = t.outer;
        return KILN_OK;
    }
    if (!st->is_output && is_one_tile(x, extent, p)) {
        st->scope = KILN_SCOPE_REGISTER;
        KILN_TRY(reduce_in_tiles(n, st, p->axis, p->rows, p, &t));
        *outer = t.outer;
        return KILN_OK;
    }
    KILN_TRY(kiln_cache_write(st, KILN_SCOPE_REGISTER, &acc, n->err));
    KILN_TRY(cut_tiles(n, st, p->axis, p->rows, p, &t));
    KILN_TRY(put_in_order(n, st, &t, NULL, 0));
    KILN_TRY(reduce_in_tiles(n, acc, p->axis, p->rows, p, &inner));
    *outer = t.outer;
    if (t.outer.n > 0)
        return kiln_compute_at(acc, st, t.outer.loop[t.outer.n - 1], n->err);
    return st->attach == KILN_ATTACH_AT
               ? kiln_compute_at(acc, st->at_stage, st->at_iter, n->err)
               : KILN_OK;
}

kiln_status kiln_nest_fused(kiln_nester *n, kiln_stage *st, kiln_stage *reduction,
                            const kiln_accesses *x, const int *map,
                            const kiln_nest_plan *p, kiln_nest_outer *outer) {
    tiles t, inner;
    (void)x;
    KILN_TRY(check_registers(n, st, p));
    KILN_TRY(cut_tiles(n, st, p->axis >= 0 ? map[p->axis] : -1,
                       p->rows >= 0 ? map[p->rows] : -1, p, &t));
    KILN_TRY(put_in_order(n, st, &t, NULL, 0));
    KILN_TRY(reduce_in_tiles(n, reduction, p->axis, p->rows, p, &inner));
    *outer = t.outer;
    reduction->scope = KILN_SCOPE_REGISTER;
    return kiln_compute_at(reduction, st, t.outer.loop[t.outer.n - 1], n->err);
}
