/* Stages of Winograd's algorithm (compiler/graph/winograd.h), transforms one axis at a
 * time. A transformed axis is a choice between the rows of a small matrix: unrolled, it
 * is the row's arithmetic alone. Rows come in pairs that differ in signs, and are
 * written so that what they share is the same expression. */
#include "compiler/op/op_conv_winograd.h"

#include <string.h>

/* Axes of the logical types of tiles: [n, c, row of tiles, column, i, j]. */
enum { N, C, ROW, COLUMN, I, J, RANK };

/* acc + c * x; acc NULL: c * x. */
static const kiln_expr *add_term(kiln_arena *a, const kiln_expr *acc, double c,
                                 const kiln_expr *x) {
    const bool subtracts = acc != NULL && c < 0;
    const double k = subtracts ? -c : c;
    const kiln_expr *term = k == 1 ? x : kiln_x_mul(a, x, kiln_x_like(a, x, k));
    if (acc == NULL)
        return term;
    return subtracts ? kiln_x_sub(a, acc, term) : kiln_x_add(a, acc, term);
}

/* sum of c[k] x[k]: even terms, and odd ones with the sign of the first of them made
 * positive. Rows of B^T for points p and -p then share both parts. */
static const kiln_expr *by_parity(kiln_arena *a, const double *c, int n,
                                  const kiln_expr *const *x) {
    const kiln_expr *part[2] = {NULL, NULL};
    double sign[2] = {1, 0};
    for (int k = n; k-- > 0;) { /* the last has the factor 1 in most rows */
        const int odd = k % 2;
        if (c[k] == 0)
            continue;
        if (sign[odd] == 0)
            sign[odd] = c[k] < 0 ? -1 : 1;
        part[odd] = add_term(a, part[odd], c[k] * sign[odd], x[k]);
    }
    if (part[0] == NULL || part[1] == NULL)
        return part[0] != NULL ? part[0] : add_term(a, NULL, sign[1], part[1]);
    return sign[1] < 0 ? kiln_x_sub(a, part[0], part[1])
                       : kiln_x_add(a, part[0], part[1]);
}

/* The same in pairs x[1] +- x[2], x[3] +- x[4], ...: what rows of A^T share. */
static const kiln_expr *by_pairs(kiln_arena *a, const double *c, int n,
                                 const kiln_expr *const *x) {
    const kiln_expr *sum = c[0] == 0 ? NULL : add_term(a, NULL, c[0], x[0]);
    for (int k = 1; k < n; k++) {
        if (c[k] == 0)
            continue;
        const bool is_first = k % 2 == 1 && k + 1 < n;
        if (is_first && (c[k] == c[k + 1] || c[k] == -c[k + 1])) {
            const kiln_expr *pair = c[k] == c[k + 1] ? kiln_x_add(a, x[k], x[k + 1])
                                                     : kiln_x_sub(a, x[k], x[k + 1]);
            sum = add_term(a, sum, c[k], pair);
            k++;
        } else {
            sum = add_term(a, sum, c[k], x[k]);
        }
    }
    return sum;
}

/* Tiles of an image `like` [n, c, h, w], channels in its blocks; axes from slowest to
 * fastest by `order`. */
static kiln_type tiles_type(const kiln_type *like, const int64_t *tiles,
                            const kiln_winograd_pair *by, const uint8_t order[RANK]) {
    const int64_t dim[RANK] = {like->dim[0], like->dim[1], tiles[0],
                               tiles[1],     by->f[0]->n,  by->f[1]->n};
    kiln_type t = kiln_type_make(KILN_F32, RANK, dim);
    t.layout = like->layout;
    t.layout.n_order = RANK;
    memcpy(t.layout.order, order, RANK);
    return t;
}

bool kiln_conv_is_winograd(const kiln_compute_cx *cx, const kiln_window *w, int weights,
                           kiln_winograd_pair *f) {
    const kiln_type *has = &cx->in[weights].type, *of = &cx->node->in[weights]->type;
    if (kiln_type_same_shape(has, of))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t taps = of->rank == 4 ? of->dim[2 + i] : 0;
        f->f[i] = kiln_winograd_of((has->dim[2 + i] - taps) / w->stride[i] + 1, taps,
                                   w->stride[i]);
        KILN_ASSERT(f->f[i] != NULL, "'%s' has weights that are packed otherwise",
                    cx->node->name);
    }
    return true;
}

/* ---- x --------------------------------------------------------------------------- */

/* Of what the tile-th tile reads along an axis, the k-th. */
static const kiln_expr *place_of(kiln_arena *a, const kiln_expr *tile,
                                 const kiln_winograd *f, const kiln_expr *k) {
    const int64_t step = (int64_t)f->tile * f->stride;
    return kiln_x_add(a, kiln_x_mul(a, tile, kiln_x_index(a, step)), k);
}

static kiln_status transform_x(kiln_compute_cx *cx, const kiln_winograd_pair *by,
                               const kiln_te_value *pad, const int64_t *tiles,
                               bool has_tiles_last, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    /* Positions outermost: what is multiplied for one lies together. Input
     * channels are neighbours, or tiles are: where weights have input channels before
     * output channels. */
    static const uint8_t by_channels[RANK] = {I, J, N, ROW, COLUMN, C},
                         by_tiles[RANK] = {I, J, N, C, ROW, COLUMN};
    const kiln_type t =
        tiles_type(&pad->type, tiles, by, has_tiles_last ? by_tiles : by_channels);
    kiln_te_value rows;
    for (int axis = 0; axis < 2; axis++) {
        const kiln_winograd *f = by->f[axis];
        const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
        const kiln_expr *x[KILN_WINOGRAD_MAX_N], *row[KILN_WINOGRAD_MAX_N];
        kiln_te *te = kiln_compute_begin(cx, axis == 0 ? "rows" : "tiles", &t, index);
        te->tag = axis == 0 ? "winograd.rows" : "winograd.x";
        for (int k = 0; k < f->n; k++) {
            if (axis == 0) {
                at[0] = index[N];
                at[1] = index[C];
                at[2] = place_of(a, index[ROW], f, kiln_x_index(a, k));
                at[3] = place_of(a, index[COLUMN], by->f[1], index[J]);
            } else {
                for (int i = 0; i < RANK; i++)
                    at[i] = i == J ? kiln_x_index(a, k) : index[i];
            }
            x[k] = kiln_compute_read_value(cx, axis == 0 ? pad : &rows, at);
        }
        for (int i = 0; i < f->n; i++)
            row[i] = by_parity(a, f->bt[i], f->n, x);
        KILN_TRY(kiln_compute_inner(
            cx, te, &t, kiln_x_choose(a, index[axis == 0 ? I : J], row, f->n),
            axis == 0 ? &rows : out));
    }
    return KILN_OK;
}

/* ---- products -------------------------------------------------------------------- */

static kiln_status multiply(kiln_compute_cx *cx, const kiln_winograd_pair *by,
                            const kiln_te_value *v, int weights, int64_t channels,
                            kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_type *y = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *xi[RANK], *wi[4];
    /* Blocks of channels around the tiles: each has weights of its own. */
    static const uint8_t order[RANK] = {I, J, N, C, ROW, COLUMN};
    const kiln_type t = tiles_type(y, &v->type.dim[ROW], by, order);
    kiln_te *te = kiln_compute_begin(cx, "products", &t, index);
    te->tag = "winograd.sum";
    const kiln_axis *c = kiln_te_reduce_axis(te, "ic", channels);
    for (int i = 0; i < RANK; i++)
        xi[i] = i == C ? kiln_axis_var(a, c) : index[i];
    wi[0] = index[C];
    wi[1] = xi[C];
    wi[2] = index[I];
    wi[3] = index[J];
    const kiln_expr *product = kiln_x_mul(a, kiln_compute_read_value(cx, v, xi),
                                          kiln_compute_read(cx, weights, wi));
    return kiln_compute_inner(cx, te, &t, kiln_te_sum(te, product, &c, 1), out);
}

/* ---- y --------------------------------------------------------------------------- */

static kiln_status transform_columns(kiln_compute_cx *cx, const kiln_winograd *f,
                                     const kiln_te_value *m, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_expr *x[KILN_WINOGRAD_MAX_N], *row[KILN_WINOGRAD_MAX_TILE];
    kiln_type t = m->type;
    t.dim[I] = f->tile;
    kiln_te *te = kiln_compute_begin(cx, "columns", &t, index);
    te->tag = "winograd.cols";
    for (int k = 0; k < f->n; k++) {
        for (int i = 0; i < RANK; i++)
            at[i] = i == I ? kiln_x_index(a, k) : index[i];
        x[k] = kiln_compute_read_value(cx, m, at);
    }
    for (int i = 0; i < f->tile; i++)
        row[i] = by_pairs(a, f->at[i], f->n, x);
    return kiln_compute_inner(cx, te, &t, kiln_x_choose(a, index[I], row, f->tile),
                              out);
}

const kiln_expr *kiln_conv_winograd_at(const kiln_compute_cx *cx,
                                       const kiln_winograd_pair *by,
                                       const kiln_te_value *columns,
                                       const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    const kiln_winograd *f = by->f[1];
    const kiln_expr *x[KILN_WINOGRAD_MAX_N], *row[KILN_WINOGRAD_MAX_TILE];
    const kiln_expr *at[RANK] = {
        [N] = index[0],
        [C] = index[1],
        [ROW] = kiln_compute_div(cx, index[2], by->f[0]->tile),
        [COLUMN] = kiln_compute_div(cx, index[3], f->tile),
        [I] = kiln_compute_mod(cx, index[2], by->f[0]->tile),
    };
    for (int k = 0; k < f->n; k++) {
        at[J] = kiln_x_index(a, k);
        x[k] = kiln_compute_read_value(cx, columns, at);
    }
    for (int i = 0; i < f->tile; i++)
        row[i] = by_pairs(a, f->at[i], f->n, x);
    return kiln_x_choose(a, kiln_compute_mod(cx, index[3], f->tile), row, f->tile);
}

kiln_status kiln_conv_winograd(kiln_compute_cx *cx, const kiln_window *w,
                               const kiln_winograd_pair *by, const kiln_te_value *x,
                               int weights, int64_t channels, kiln_te_value *out) {
    const kiln_layout *u = &cx->in[weights].type.layout;
    kiln_window whole = *w; /* every tile in full */
    int64_t tiles[2];
    kiln_te_value pad, v, m;
    KILN_ASSERT(w->n == 2, "'%s' is none of Winograd's", cx->node->name);
    for (int i = 0; i < 2; i++) {
        const int64_t tile = by->f[i]->tile;
        tiles[i] = (w->out[i] + tile - 1) / tile;
        whole.out[i] = tiles[i] * tile;
    }
    KILN_TRY(kiln_compute_pad(cx, x, &whole, kiln_x_number(cx->arena, x->type.dtype, 0),
                              &pad));
    KILN_TRY(transform_x(cx, by, &pad, tiles, u->n_order == 4 && u->order[2] == 1, &v));
    KILN_TRY(multiply(cx, by, &v, weights, channels, &m));
    return transform_columns(cx, by->f[0], &m, out);
}
