/* Rules for one stage's loops.
 *
 * Sources: register tiles of a reduction (Goto and van de Geijn, TOMS 34(3), 2008,
 * section 6: rows by vectors so that each load feeds several multiply-adds); partial
 * results by lanes where the output is narrow (rfactor: Suriana et al., CGO'17; Ansor,
 * OSDI'20, rule 6); two-dimensional tiles where a read runs across memory. */
#include "compiler/schedule/template/template_nest.h"

/* Not of a machine: what LLVM compiles in some milliseconds. A body of so many operations
 * is 1 KiB of code, of which the smallest caches of decoded instructions (1536 of
 * Skylake's) hold several. */
enum { MAX_UNROLLED_TAPS = 8, MAX_BODY = 96 };

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
        KILN_TRY(cut(n, st, vo, KILN_LINES_OF_ROW, &vb, &vo));
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
            factor = kiln_power_below(factor, 4);
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
    const int64_t most = kiln_nest_most_vectors(n);
    if (need <= most)
        return KILN_OK;
    return kiln_fail(n->err, KILN_ERR_ARG,
                     "generic: a tile of stage '%s' must have at most %d vectors, has "
                     "%d rows of %d",
                     st->te->name, (int)most, p->n_rows, p->n_vectors);
}

/* ---- rows far apart -------------------------------------------------------------- */

enum {
    FAR_LINES = 16,  /* between rows: a page has four such at most, and streams of
                        hardware end with it */
    ROWS_AT_ONCE = 8 /* streams: a quarter of the 32 that Intel's prefetcher follows for
                        all threads of a core (Optimization Reference Manual) */
};

/* Results of one pass over rows stay in the L1 cache beside the rows: a quarter of it. */
static int64_t results_of_pass(const kiln_nester *n, const kiln_accesses *x) {
    const int64_t room = kiln_cache_l1(n->profile) / 4;
    const int64_t bytes = x->max_bytes > 0 ? x->max_bytes : 1;
    return kiln_power_below(room / bytes, INT32_MAX);
}

bool kiln_nest_wants_across(const kiln_nester *n, const kiln_accesses *x,
                            const kiln_nest_plan *p) {
    const int64_t far = FAR_LINES * kiln_line_bytes(n->profile);
    const int k = x->n_spatial;
    bool is_far = false;
    if (x->n_axes != k + 1 || p->axis < 0 || p->axis >= k || p->rows >= 0 ||
        x->extent[k] < (int64_t)2 * ROWS_AT_ONCE ||
        x->extent[p->axis] < 8 * (int64_t)p->lanes)
        return false;
    for (size_t i = 0; i < x->read.n; i++)
        is_far = is_far || (x->read.v[i].step[p->axis] == 1 &&
                            x->read.v[i].step[k] != KILN_NO_STEP &&
                            x->read.v[i].step[k] >= far / x->max_bytes);
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
    const int64_t pass = results_of_pass(n, x);
    const int64_t chunk_size = (pass + tile - 1) / tile * tile;
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
        if (kiln_nest_extent(x, extent, i) > tile)
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
    if (!kiln_accesses_reduce(x)) {
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
