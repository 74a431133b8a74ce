/* roi_align: the mean (or the largest term) of x at a grid of points in each cell of
 * each region.
 *
 * y[r,c,p,q] is taken over points of cell (p, q) of region r, in image
 * batch_indices[r]. A region is x1, y1, x2, y2; its size over the number of cells is a
 * cell's, which has sampling_ratio points on each axis, or as many as elements it
 * covers, rounded up. A point is read with the linear filter; more than one element
 * outside of x it counts as 0. mode max takes the largest weighted element, not the
 * largest point: so do ONNX's definition and those who follow it. Source: ONNX
 * RoiAlign-10, -16, -22 (He et al. 2017, section 3).
 *
 * Coordinates are in f64, here and in the code, so that both count the same points. A
 * region that is not finite has no point and gives 0. Large regions cost no more than
 * x has elements: points outside of it are skipped.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_extern.h"
#include "compiler/op/op_move.h"

enum { X, ROIS, BATCH };
enum { HEIGHT, WIDTH, SAMPLING_RATIO, SPATIAL_SCALE, MODE, HALF_PIXEL, N_ATTR };
enum { MAX_RATIO = 1 << 15, SLACK = 6 /* points: both ends, and roundings */ };

typedef enum mode { AVG, MAX } mode;
static const char *const modes[] = {"avg", "max", NULL};

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "height",
     .kind = KILN_ATTR_INT,
     .doc = "cells of a region, down",
     .is_required = true},
    {.name = "width",
     .kind = KILN_ATTR_INT,
     .doc = "cells of a region, across",
     .is_required = true},
    {.name = "sampling_ratio",
     .kind = KILN_ATTR_INT,
     .doc = "points of a cell on each axis; 0: as many as elements it covers"},
    {.name = "spatial_scale",
     .kind = KILN_ATTR_FLOAT,
     .doc = "elements of x in a unit of the regions",
     .default_f = 1},
    {.name = "mode",
     .kind = KILN_ATTR_WORD,
     .doc = "what becomes of the points",
     .choices = modes},
    {.name = "half_pixel",
     .kind = KILN_ATTR_BOOL,
     .doc = "element i lies at i + 0.5, and regions may be smaller than one element",
     .default_i = 1},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *rois = &n->in[ROIS]->type;
    KILN_TRY(kiln_check_rank(n, X, 4, err));
    KILN_TRY(kiln_check_dtype(n, ROIS, KILN_DT_FLOAT, err));
    KILN_TRY(kiln_check_rank(n, ROIS, 2, err));
    KILN_TRY(kiln_check_dtype(n, BATCH, KILN_DT_INDEX, err));
    KILN_TRY(kiln_check_rank(n, BATCH, 1, err));
    if (rois->dim[1] != 4 || n->in[BATCH]->type.dim[0] != rois->dim[0])
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "inputs 'rois' and 'batch_indices' must have shapes [R, 4] and "
            "[R], have [%" PRId64 ",%" PRId64 "] and [%" PRId64 "]",
            rois->dim[0], rois->dim[1], n->in[BATCH]->type.dim[0]);
    if (n->attr[HEIGHT].i < 1 || n->attr[WIDTH].i < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "height and width must be >= 1, are %" PRId64 " and %" PRId64,
                         n->attr[HEIGHT].i, n->attr[WIDTH].i);
    if (n->attr[SAMPLING_RATIO].i < 0 || n->attr[SAMPLING_RATIO].i > MAX_RATIO)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "sampling_ratio must be in [0, %d], is %" PRId64, MAX_RATIO,
                         n->attr[SAMPLING_RATIO].i);
    const int64_t dim[] = {rois->dim[0], x->dim[1], n->attr[HEIGHT].i,
                           n->attr[WIDTH].i};
    KILN_TRY(kiln_move_type(n, x->dtype, 4, dim, out, err));
    if (kiln_type_elems(out) > 0 && kiln_type_elems(x) == 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have elements where there are regions");
    return KILN_OK;
}

/* ---- one axis of a cell ---- */

/* Points `first` to `first + count` of a cell's `grid` are not farther out than x;
 * point i is at from + (i + 0.5) * step. */
typedef struct cell {
    double from, step, grid, first, count;
} cell;

/* What the row says of axis 0 (down) or 1. */
typedef struct axis_rule {
    double scale, offset, cells, length; /* of x */
    double ratio, most;                  /* points of a cell: 0 adaptive, at most */
    bool half_pixel;
} axis_rule;

static axis_rule rule_of(const kiln_node *n, int axis) {
    const int64_t ratio = n->attr[SAMPLING_RATIO].i;
    const double length = (double)n->in[X]->type.dim[2 + axis];
    return (axis_rule){.scale = n->attr[SPATIAL_SCALE].f,
                       .offset = n->attr[HALF_PIXEL].i != 0 ? 0.5 : 0,
                       .cells = (double)n->attr[axis == 0 ? HEIGHT : WIDTH].i,
                       .length = length,
                       .ratio = (double)ratio,
                       .most = ratio > 0 ? (double)ratio : 2 * length + SLACK,
                       .half_pixel = n->attr[HALF_PIXEL].i != 0};
}

/* Whichever is NaN stays NaN, as KILN_EXPR_MIN and MAX have it. */
static double lesser(double x, double y) { return isnan(x) || x < y ? x : y; }

static double greater(double x, double y) { return isnan(x) || x > y ? x : y; }

static cell cell_at(const axis_rule *r, double begin, double end, int64_t index) {
    const double start = begin * r->scale - r->offset;
    double size = end * r->scale - r->offset - start;
    if (!r->half_pixel)
        size = size < 1 ? 1 : size;
    const double bin = size / r->cells;
    cell c = {.from = start + (double)index * bin};
    c.grid = r->ratio > 0 ? r->ratio : ceil(bin);
    c.step = bin / c.grid;
    if (r->ratio == 0)
        c.first = greater(lesser(floor((-1 - c.from) / c.step - 0.5) - 1, c.grid), 0);
    c.count = greater(lesser(c.grid - c.first, r->most), 0);
    if (isnan(c.count))
        c.count = 0;
    return c;
}

/* The two elements that a point lies between, and its distance from the first. */
typedef struct point {
    bool is_inside;
    int64_t low, high;
    double away;
} point;

static point point_at(const axis_rule *r, const cell *c, int64_t i) {
    double at = c->from + (c->first + (double)i + 0.5) * c->step;
    point p = {.is_inside = at >= -1 && at <= r->length};
    if (!p.is_inside)
        return p;
    const int64_t last = (int64_t)r->length - 1;
    at = at < 0 ? 0 : at;
    p.low = (int64_t)at < last ? (int64_t)at : last;
    p.high = p.low < last ? p.low + 1 : last;
    p.away = p.low < last ? at - (double)p.low : 0;
    return p;
}

/* Has the cell points that are left out, or none at all? */
static bool has_rest(const cell *c) {
    return !(c->first == 0 && c->count == c->grid && c->grid >= 1);
}

/* One point of one plane: the sum of four weighted elements, or the largest. */
static double read_point(const double *plane, int64_t width, const point *y,
                         const point *x, mode m) {
    const double v[] = {
        (1 - y->away) * (1 - x->away) * plane[y->low * width + x->low],
        (1 - y->away) * x->away * plane[y->low * width + x->high],
        y->away * (1 - x->away) * plane[y->high * width + x->low],
        y->away * x->away * plane[y->high * width + x->high],
    };
    if (m == AVG)
        return v[0] + v[1] + v[2] + v[3];
    return greater(greater(v[0], v[1]), greater(v[2], v[3]));
}

static double read_cell(const kiln_node *n, const double *plane, const cell *y,
                        const cell *x) {
    const axis_rule ry = rule_of(n, 0), rx = rule_of(n, 1);
    const mode m = (mode)n->attr[MODE].i;
    double all = m == AVG || has_rest(y) || has_rest(x) ? 0 : -HUGE_VAL;
    for (int64_t i = 0; i < (int64_t)y->count; i++) {
        const point py = point_at(&ry, y, i);
        for (int64_t j = 0; j < (int64_t)x->count; j++) {
            const point px = point_at(&rx, x, j);
            double v = 0;
            if (py.is_inside && px.is_inside)
                v = read_point(plane, (int64_t)rx.length, &py, &px, m);
            all = m == AVG ? all + v : greater(all, v);
        }
    }
    const double points = y->grid * x->grid;
    return m == AVG && points > 1 ? all / points : all;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_wide *x = &cx->in[X];
    const kiln_type *y = &cx->out[0].type;
    const axis_rule rule[] = {rule_of(n, 0), rule_of(n, 1)};
    int64_t stride[KILN_MAX_RANK], at[4] = {0};
    if (kiln_type_elems(y) == 0)
        return KILN_OK;
    kiln_strides(4, x->type.dim, stride);
    for (int64_t r = 0; r < y->dim[0]; r++)
        if (cx->in[BATCH].i[r] < 0 || cx->in[BATCH].i[r] >= x->type.dim[0])
            return kiln_fail(cx->err, KILN_ERR_ARG,
                             "entry %" PRId64 " of 'batch_indices' must be in [0, "
                             "%" PRId64 "), is %" PRId64,
                             r, x->type.dim[0], cx->in[BATCH].i[r]);
    int64_t flat = 0;
    do {
        const double *roi = cx->in[ROIS].f + 4 * at[0];
        const cell down = cell_at(&rule[0], roi[1], roi[3], at[2]);
        const cell across = cell_at(&rule[1], roi[0], roi[2], at[3]);
        const double *plane =
            x->f + cx->in[BATCH].i[at[0]] * stride[0] + at[1] * stride[1];
        cx->out[0].f[flat++] = read_cell(n, plane, &down, &across);
    } while (kiln_next_coord(4, y->dim, at));
    return KILN_OK;
}

/* Points of a cell, at most; adaptive cells mostly cover x once. */
static int64_t points_of(const kiln_node *n) {
    const int64_t ratio = n->attr[SAMPLING_RATIO].i;
    if (ratio > 0)
        return ratio * ratio;
    const kiln_type *x = &n->in[X]->type;
    const int64_t down = (x->dim[2] + n->attr[HEIGHT].i - 1) / n->attr[HEIGHT].i;
    return kiln_mul_sat(down, (x->dim[3] + n->attr[WIDTH].i - 1) / n->attr[WIDTH].i);
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->flops =
        kiln_mul_sat(kiln_type_elems(&n->out[0]->type), kiln_mul_sat(8, points_of(n)));
}

/* A sum of four products for each point; the points may be twice as many as elements.
 */
static kiln_bound error_bound(const kiln_node *n) {
    const int64_t k = n->attr[MODE].i == MAX ? 1 : kiln_mul_sat(4, points_of(n));
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 4.0, .k = kiln_mul_sat(4, k)};
}

/* ---- the extern stage ---- */

typedef struct params {
    axis_rule rule[2];
    int64_t images; /* of x */
    mode mode;
} params;

static const kiln_expr *num(kiln_arena *a, double v) {
    return kiln_x_float(a, KILN_F64, v);
}

static const kiln_expr *min_of(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_MIN, x, y);
}

static const kiln_expr *max_of(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_MAX, x, y);
}

static const kiln_expr *both(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_AND, x, y);
}

typedef struct cell_expr {
    const kiln_expr *from, *step, *grid, *first;
    const kiln_expr *count;   /* i64 */
    const kiln_expr *is_full; /* not has_rest */
} cell_expr;

/* cell_at, each value named once. */
static cell_expr cell_expr_at(kiln_lets *l, const axis_rule *r, const kiln_expr *begin,
                              const kiln_expr *end, const kiln_expr *index) {
    kiln_arena *a = l->a;
    cell_expr c;
    const kiln_expr *start = kiln_lets_add(
        l, "start",
        kiln_x_sub(a, kiln_x_mul(a, begin, num(a, r->scale)), num(a, r->offset)));
    const kiln_expr *size = kiln_x_sub(
        a, kiln_x_sub(a, kiln_x_mul(a, end, num(a, r->scale)), num(a, r->offset)),
        start);
    if (!r->half_pixel)
        size = kiln_x_select(a, kiln_x_less(a, size, num(a, 1)), num(a, 1), size);
    const kiln_expr *bin =
        kiln_lets_add(l, "bin", kiln_x_div(a, size, num(a, r->cells)));
    c.from = kiln_lets_add(
        l, "from",
        kiln_x_add(a, start, kiln_x_mul(a, kiln_x_cast(a, KILN_F64, index), bin)));
    c.grid = r->ratio > 0
                 ? num(a, r->ratio)
                 : kiln_lets_add(l, "grid", kiln_x_fn(a, KILN_INTRIN_ceil, bin));
    c.step = kiln_lets_add(l, "step", kiln_x_div(a, bin, c.grid));
    c.first = num(a, 0);
    if (r->ratio == 0) {
        const kiln_expr *lowest =
            kiln_x_div(a, kiln_x_sub(a, num(a, -1), c.from), c.step);
        lowest = kiln_x_fn(a, KILN_INTRIN_floor, kiln_x_sub(a, lowest, num(a, 0.5)));
        lowest = min_of(a, kiln_x_sub(a, lowest, num(a, 1)), c.grid);
        c.first = kiln_lets_add(l, "first", max_of(a, lowest, num(a, 0)));
    }
    const kiln_expr *count = min_of(a, kiln_x_sub(a, c.grid, c.first), num(a, r->most));
    count = kiln_lets_add(l, "points", max_of(a, count, num(a, 0)));
    c.count = kiln_lets_add(l, "count", kiln_x_cast(a, KILN_I64, count)); /* NaN: 0 */
    c.is_full = both(a,
                     both(a, kiln_x_binary(a, KILN_EXPR_EQ, c.first, num(a, 0)),
                          kiln_x_binary(a, KILN_EXPR_EQ, count, c.grid)),
                     kiln_x_binary(a, KILN_EXPR_LE, num(a, 1), c.grid));
    return c;
}

typedef struct point_expr {
    const kiln_expr *is_inside, *low, *high, *away;
} point_expr;

/* point_at, whose elements are inside of x wherever the point is. */
static point_expr point_expr_at(kiln_lets *l, const axis_rule *r, const cell_expr *c,
                                const kiln_expr *i) {
    kiln_arena *a = l->a;
    point_expr p;
    const int64_t length = (int64_t)r->length;
    const kiln_expr *last = kiln_x_index(a, length - 1);
    const kiln_expr *at = kiln_x_add(
        a, kiln_x_add(a, c->first, kiln_x_cast(a, KILN_F64, i)), num(a, 0.5));
    at = kiln_lets_add(l, "at", kiln_x_add(a, c->from, kiln_x_mul(a, at, c->step)));
    p.is_inside = both(a, kiln_x_binary(a, KILN_EXPR_LE, num(a, -1), at),
                       kiln_x_binary(a, KILN_EXPR_LE, at, num(a, r->length)));
    const kiln_expr *moved =
        kiln_x_select(a, kiln_x_less(a, at, num(a, 0)), num(a, 0), at);
    p.low = kiln_lets_add(l, "low",
                          kiln_x_clamped(a, kiln_x_cast(a, KILN_I64, moved), length));
    p.high = kiln_lets_add(
        l, "high", kiln_x_clamped(a, kiln_x_add(a, p.low, kiln_x_index(a, 1)), length));
    p.away = kiln_lets_add(
        l, "away",
        kiln_x_select(a, kiln_x_less(a, p.low, last),
                      kiln_x_sub(a, moved, kiln_x_cast(a, KILN_F64, p.low)),
                      num(a, 0)));
    return p;
}

/* What one statement for all channels is made of. */
typedef struct site {
    kiln_arena *a;
    const kiln_te *te;
    const params *p;
    const kiln_buffer *const *in, *const *out;
    const kiln_expr *image, *at[4]; /* at[1]: the channel, bound by each loop */
} site;

/* for c: out[r, c, p, q] = value, in which at[1] is c. */
static const kiln_stmt *each_channel(site *s,
                                     const kiln_expr *(*value)(site *, const void *),
                                     const void *user) {
    kiln_var *c = kiln_var_new(s->a, "c", KILN_I64);
    s->at[1] = kiln_x_ref(s->a, c);
    const kiln_stmt *put = kiln_s_store(s->a, s->out[0], s->at, value(s, user), NULL);
    return kiln_s_times(s->a, c, kiln_x_index(s->a, kiln_te_dim(s->te, 1)), put);
}

static const kiln_expr *so_far(site *s) {
    return kiln_x_load(s->a, s->out[0], s->at, 4, NULL);
}

static const kiln_expr *given(site *s, const void *value) {
    (void)s;
    return value;
}

static const kiln_expr *or_zero(site *s, const void *user) {
    (void)user;
    const kiln_expr *now = so_far(s);
    return max_of(s->a, now, kiln_x_like(s->a, now, 0));
}

static const kiln_expr *over(site *s, const void *points) {
    return kiln_x_div(s->a, so_far(s), points);
}

typedef struct corners {
    const kiln_expr *weight[4], *y[4], *x[4];
} corners;

static const kiln_expr *folded(site *s, const void *user) {
    const corners *k = user;
    const kiln_expr *all = so_far(s);
    for (int i = 0; i < 4; i++) {
        const kiln_expr *at[] = {s->image, s->at[1], k->y[i], k->x[i]};
        const kiln_expr *v =
            kiln_x_mul(s->a, k->weight[i], kiln_x_load(s->a, s->in[X], at, 4, NULL));
        all = s->p->mode == AVG ? kiln_x_add(s->a, all, v) : max_of(s->a, all, v);
    }
    return all;
}

/* One point of all channels: let weights = ...; if inside, for c: fold. */
static const kiln_stmt *take_point(site *s, const point_expr *y, const point_expr *x) {
    kiln_arena *a = s->a;
    kiln_lets l = {.a = a};
    corners k;
    for (int i = 0; i < 4; i++) {
        const kiln_expr *wy = i < 2 ? kiln_x_sub(a, num(a, 1), y->away) : y->away;
        const kiln_expr *wx = i % 2 == 0 ? kiln_x_sub(a, num(a, 1), x->away) : x->away;
        k.weight[i] = kiln_lets_add(
            &l, "weight", kiln_x_cast(a, s->te->dtype[0], kiln_x_mul(a, wy, wx)));
        k.y[i] = i < 2 ? y->low : y->high;
        k.x[i] = i % 2 == 0 ? x->low : x->high;
    }
    const kiln_stmt *take = kiln_lets_around(&l, each_channel(s, folded, &k));
    return kiln_s_if(a, both(a, y->is_inside, x->is_inside), take,
                     s->p->mode == MAX ? each_channel(s, or_zero, NULL) : NULL);
}

static const kiln_stmt *points_of_cell(site *s, const cell_expr *y,
                                       const cell_expr *x) {
    kiln_arena *a = s->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64), *jv = kiln_var_new(a, "j", KILN_I64);
    kiln_lets ly = {.a = a}, lx = {.a = a};
    const point_expr py = point_expr_at(&ly, &s->p->rule[0], y, kiln_x_ref(a, iv));
    const point_expr px = point_expr_at(&lx, &s->p->rule[1], x, kiln_x_ref(a, jv));
    const kiln_stmt *row =
        kiln_s_times(a, jv, x->count, kiln_lets_around(&lx, take_point(s, &py, &px)));
    return kiln_s_times(a, iv, y->count, kiln_lets_around(&ly, row));
}

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const params *p = te->ext->data;
    const int64_t extent[] = {kiln_te_dim(te, 0), kiln_te_dim(te, 2),
                              kiln_te_dim(te, 3)};
    if (kiln_te_elems(te) == 0)
        return kiln_s_nothing(a);
    kiln_nest_loops l = kiln_loops_new(a, 3, extent);
    l.is_parallel = true;
    const kiln_expr *edge[4];
    for (int i = 0; i < 4; i++) {
        const kiln_expr *at[] = {l.index[0], kiln_x_index(a, i)};
        edge[i] = kiln_x_load(a, in[ROIS], at, 2, NULL);
    }
    kiln_lets image = {.a = a}, ly = {.a = a}, lx = {.a = a};
    const kiln_expr *batch = kiln_x_load(a, in[BATCH], l.index, 1, NULL);
    site s = {.a = a,
              .te = te,
              .p = p,
              .in = in,
              .out = out,
              .image =
                  kiln_lets_add(&image, "image", kiln_x_clamped(a, batch, p->images)),
              .at = {l.index[0], NULL, l.index[1], l.index[2]}};
    const cell_expr y = cell_expr_at(&ly, &p->rule[0], edge[1], edge[3], l.index[1]);
    const cell_expr x = cell_expr_at(&lx, &p->rule[1], edge[0], edge[2], l.index[2]);
    const kiln_dtype dtype = te->dtype[0];
    const kiln_expr *zero = kiln_x_float(a, dtype, 0), *init = zero;
    const kiln_expr *points = kiln_x_mul(a, y.grid, x.grid);
    points = kiln_x_select(a, kiln_x_less(a, num(a, 1), points), points, num(a, 1));
    points = kiln_lets_add(&lx, "all", kiln_x_cast(a, dtype, points));
    if (p->mode == MAX)
        init = kiln_x_select(a, both(a, y.is_full, x.is_full),
                             kiln_x_float(a, dtype, -HUGE_VAL), zero);
    const kiln_stmt *step[] = {
        each_channel(&s, given, init), points_of_cell(&s, &y, &x),
        p->mode == AVG ? each_channel(&s, over, points) : kiln_s_nothing(a)};
    const kiln_stmt *body = kiln_s_seq(a, step, 3);
    body = kiln_lets_around(&ly, kiln_lets_around(&lx, body));
    return kiln_loops_around(&l, kiln_lets_around(&image, body));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_type *t = &cx->out[0].type;
    const kiln_dtype dtype = kiln_compute_wide_dtype(t->dtype);
    kiln_te_value in[3], y;
    params *p = kiln_new(cx->arena, params);
    *p = (params){.rule = {rule_of(n, 0), rule_of(n, 1)},
                  .images = cx->in[X].type.dim[0],
                  .mode = (mode)n->attr[MODE].i};
    KILN_TRY(kiln_compute_plain(cx, "x", &cx->in[X], dtype, &in[X]));
    KILN_TRY(kiln_compute_plain(cx, "rois", &cx->in[ROIS], KILN_F64, &in[ROIS]));
    KILN_TRY(kiln_compute_plain(cx, "images", &cx->in[BATCH], KILN_I64, &in[BATCH]));
    const kiln_extern_spec spec = {.name = "roi_align",
                                   .build = build,
                                   .data = p,
                                   .in = in,
                                   .n_in = 3,
                                   .n_out = 1,
                                   .rank = 4,
                                   .dim = t->dim,
                                   .dtype = &dtype};
    kiln_compute_extern(cx, "cells", &spec, &y);
    return kiln_compute_give(cx, 0, "", &y);
}

const kiln_op_def kiln_op_roi_align = {
    .name = "roi_align",
    .doc = "mean or maximum of x at points inside each cell of each region",
    .n_in_min = 3,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "rois", "batch_indices", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .keeps_sign = 1u << ROIS,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
