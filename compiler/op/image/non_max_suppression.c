/* non_max_suppression: of boxes that overlap, the one with the best score.
 *
 * For each image and class the boxes are taken from the best score down (of equal
 * scores the first), up to max_per_class of them; one whose overlap with a box taken
 * before (area of the intersection over that of the union) is larger than the threshold
 * is left out, as are scores that are not above theirs. Row by row in this order,
 * `selected` holds image, class and box; `count` says how many rows there are, the rest
 * are -1. Source: ONNX NonMaxSuppression-10, -11 (Girshick et al. 2014, section 2.2).
 * Without a score threshold (-inf) every score takes part but NaN. Overlaps are in f64,
 * here and in the code; exact, a selection.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "compiler/op/op_extern.h"
#include "compiler/op/op_move.h"

enum { BOXES, SCORES };
enum { MAX_PER_CLASS, IOU_THRESHOLD, SCORE_THRESHOLD, CENTER_POINT, N_ATTR };
enum { COLUMNS = 3, NOTHING = -1 };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "max_per_class",
     .kind = KILN_ATTR_INT,
     .doc = "boxes of one image and class, at most",
     .is_required = true},
    {.name = "iou_threshold",
     .kind = KILN_ATTR_FLOAT,
     .doc = "the largest overlap of two boxes that are both selected"},
    {.name = "score_threshold",
     .kind = KILN_ATTR_FLOAT,
     .doc = "selected are scores above it; -inf: all",
     .default_f = -HUGE_VAL},
    {.name = "center_point",
     .kind = KILN_ATTR_BOOL,
     .doc = "a box is centre and size (x, y, width, height), not two corners (y, x, "
            "y, x)"},
};

/* Boxes of one image and class, at most. */
static int64_t most_of(const kiln_node *n) {
    const int64_t boxes = n->in[BOXES]->type.dim[1], most = n->attr[MAX_PER_CLASS].i;
    return most < boxes ? most : boxes;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *boxes = &n->in[BOXES]->type, *scores = &n->in[SCORES]->type;
    KILN_TRY(kiln_check_rank(n, BOXES, 3, err));
    KILN_TRY(kiln_check_rank(n, SCORES, 3, err));
    KILN_TRY(kiln_check_dtype(n, SCORES, KILN_DT_FLOAT, err));
    if (boxes->dim[2] != 4 || scores->dim[0] != boxes->dim[0] ||
        scores->dim[2] != boxes->dim[1])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "inputs 'boxes' and 'scores' must have shapes [N, boxes, 4] "
                         "and [N, classes, boxes], have [%" PRId64 ",%" PRId64
                         ",%" PRId64 "] and [%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                         boxes->dim[0], boxes->dim[1], boxes->dim[2], scores->dim[0],
                         scores->dim[1], scores->dim[2]);
    if (n->attr[MAX_PER_CLASS].i < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "max_per_class must be >= 0, is %" PRId64,
                         n->attr[MAX_PER_CLASS].i);
    const int64_t rows =
        kiln_mul_sat(kiln_mul_sat(scores->dim[0], scores->dim[1]), most_of(n));
    KILN_TRY(
        kiln_move_type(n, KILN_I64, 2, (const int64_t[]){rows, COLUMNS}, &out[0], err));
    return kiln_move_type(n, KILN_I64, 0, NULL, &out[1], err);
}

/* ---- the reference ---- */

typedef struct corners {
    double lo[2], hi[2], area;
} corners;

static double lesser(double x, double y) { return y < x ? y : x; }
static double greater(double x, double y) { return x < y ? y : x; }

static corners box_at(const double *b, bool is_center) {
    corners r;
    for (int i = 0; i < 2; i++) {
        const double half = b[2 + i] / 2;
        r.lo[i] = is_center ? b[i] - half : lesser(b[i], b[2 + i]);
        r.hi[i] = is_center ? b[i] + half : greater(b[i], b[2 + i]);
    }
    r.area = (r.hi[0] - r.lo[0]) * (r.hi[1] - r.lo[1]);
    return r;
}

static bool overlaps(const corners *a, const corners *b, double threshold) {
    double side[2];
    for (int i = 0; i < 2; i++)
        side[i] = lesser(a->hi[i], b->hi[i]) - greater(a->lo[i], b->lo[i]);
    const double common = side[0] * side[1], all = a->area + b->area - common;
    return side[0] > 0 && side[1] > 0 && a->area > 0 && b->area > 0 && all > 0 &&
           common / all > threshold;
}

typedef struct candidate {
    double score;
    int64_t index;
} candidate;

/* Best first; of equal ones the first. */
static int by_rank(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* One image and class: what takes part, in order of rank, and the boxes taken so far.
 */
typedef struct contest {
    candidate *entry;
    corners *taken;
    int64_t n_taken;
    double iou_threshold, score_threshold;
    bool is_center;
} contest;

static int64_t rank_all(const contest *c, const double *score, int64_t n_boxes) {
    int64_t n = 0;
    for (int64_t j = 0; j < n_boxes; j++) {
        const double s = score[j];
        if (c->score_threshold == -HUGE_VAL ? !isnan(s) : s > c->score_threshold)
            c->entry[n++] = (candidate){s, j};
    }
    if (n > 1)
        qsort(c->entry, (size_t)n, sizeof *c->entry, by_rank);
    return n;
}

static bool overlaps_taken(const contest *c, const corners *box) {
    for (int64_t k = 0; k < c->n_taken; k++)
        if (overlaps(box, &c->taken[k], c->iou_threshold))
            return true;
    return false;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *scores = &cx->in[SCORES].type;
    const int64_t n_boxes = scores->dim[2], most = most_of(n);
    int64_t *const row = cx->out[0].i;
    int64_t count = 0;
    contest c = {.entry = kiln_array(cx->scratch, candidate, n_boxes),
                 .taken = kiln_array(cx->scratch, corners, most),
                 .iou_threshold = n->attr[IOU_THRESHOLD].f,
                 .score_threshold = n->attr[SCORE_THRESHOLD].f,
                 .is_center = n->attr[CENTER_POINT].i != 0};
    for (int64_t i = 0; i < kiln_type_elems(&cx->out[0].type); i++)
        row[i] = NOTHING;
    for (int64_t lane = 0; lane < scores->dim[0] * scores->dim[1]; lane++) {
        const int64_t image = lane / scores->dim[1];
        const double *boxes = cx->in[BOXES].f + image * n_boxes * 4;
        const int64_t n_entries =
            rank_all(&c, cx->in[SCORES].f + lane * n_boxes, n_boxes);
        c.n_taken = 0;
        for (int64_t k = 0; k < n_entries && c.n_taken < most; k++) {
            const int64_t next = c.entry[k].index;
            const corners box = box_at(boxes + 4 * next, c.is_center);
            if (overlaps_taken(&c, &box))
                continue;
            c.taken[c.n_taken++] = box;
            row[count * COLUMNS] = image;
            row[count * COLUMNS + 1] = lane % scores->dim[1];
            row[count * COLUMNS + 2] = next;
            count++;
        }
    }
    cx->out[1].i[0] = count;
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[SCORES]->type), most_of(n));
}

/* ---- extern stages ---- */

typedef struct params {
    double iou_threshold, score_threshold;
    bool is_center;
    int64_t n_boxes;
} params;

static const kiln_expr *num(kiln_arena *a, double v) {
    return kiln_x_float(a, KILN_F64, v);
}

static const kiln_expr *both(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_binary(a, KILN_EXPR_AND, x, y);
}

static const kiln_expr *min_of(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_select(a, kiln_x_less(a, y, x), y, x);
}

static const kiln_expr *max_of(kiln_arena *a, const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_select(a, kiln_x_less(a, x, y), y, x);
}

typedef struct box_expr {
    const kiln_expr *lo[2], *hi[2], *area;
} box_expr;

/* box_at: four reads, named once. */
static box_expr box_expr_at(kiln_lets *l, const params *p, const kiln_buffer *boxes,
                            const kiln_expr *image, const kiln_expr *j) {
    kiln_arena *a = l->a;
    box_expr b;
    for (int i = 0; i < 2; i++) {
        const kiln_expr *near[] = {image, j, kiln_x_index(a, i)};
        const kiln_expr *far[] = {image, j, kiln_x_index(a, 2 + i)};
        const kiln_expr *x = kiln_lets_add(
            l, "x", kiln_x_cast(a, KILN_F64, kiln_x_load(a, boxes, near, 3, NULL)));
        const kiln_expr *y = kiln_lets_add(
            l, "y", kiln_x_cast(a, KILN_F64, kiln_x_load(a, boxes, far, 3, NULL)));
        const kiln_expr *half = kiln_x_div(a, y, num(a, 2));
        b.lo[i] = kiln_lets_add(
            l, "lo", p->is_center ? kiln_x_sub(a, x, half) : min_of(a, x, y));
        b.hi[i] = kiln_lets_add(
            l, "hi", p->is_center ? kiln_x_add(a, x, half) : max_of(a, x, y));
    }
    b.area = kiln_lets_add(l, "area",
                           kiln_x_mul(a, kiln_x_sub(a, b.hi[0], b.lo[0]),
                                      kiln_x_sub(a, b.hi[1], b.lo[1])));
    return b;
}

static const kiln_expr *overlap_expr(kiln_arena *a, const box_expr *x,
                                     const box_expr *y, double threshold) {
    const kiln_expr *zero = num(a, 0), *side[2];
    for (int i = 0; i < 2; i++)
        side[i] =
            kiln_x_sub(a, min_of(a, x->hi[i], y->hi[i]), max_of(a, x->lo[i], y->lo[i]));
    const kiln_expr *common = kiln_x_mul(a, side[0], side[1]);
    const kiln_expr *all = kiln_x_sub(a, kiln_x_add(a, x->area, y->area), common);
    const kiln_expr *is =
        both(a, kiln_x_less(a, zero, side[0]), kiln_x_less(a, zero, side[1]));
    is = both(a, is,
              both(a, kiln_x_less(a, zero, x->area), kiln_x_less(a, zero, y->area)));
    is = both(a, is, kiln_x_less(a, zero, all));
    return both(a, is, kiln_x_less(a, num(a, threshold), kiln_x_div(a, common, all)));
}

/* Where the selection in one image and class stands. */
typedef struct search {
    kiln_arena *a;
    const params *p;
    const kiln_buffer *const *in, *keep;
    const kiln_expr *image, *class, *k;
    const kiln_buffer *open; /* boxes that may still be taken, in ascending order */
    const kiln_buffer *n_open, *n_left, *best, *best_score, *last, *is_out;
} search;

static const kiln_expr *score_at(const search *s, const kiln_expr *j) {
    const kiln_expr *at[] = {s->image, s->class, j};
    return kiln_x_cast(s->a, KILN_F64, kiln_x_load(s->a, s->in[SCORES], at, 3, NULL));
}

static const kiln_expr *open_at(const search *s, const kiln_expr *i) {
    return kiln_x_clamped(s->a, kiln_x_load(s->a, s->open, &i, 1, NULL), s->p->n_boxes);
}

/* open[n++] = j, if. */
static const kiln_stmt *append_if(const search *s, const kiln_buffer *n,
                                  const kiln_expr *is, const kiln_expr *j) {
    kiln_arena *a = s->a;
    const kiln_expr *at = kiln_x_clamped(a, kiln_cell_get(a, n), s->p->n_boxes);
    const kiln_stmt *more =
        kiln_cell_set(a, n, kiln_x_add(a, kiln_cell_get(a, n), kiln_x_index(a, 1)));
    return kiln_s_if(
        a, is, kiln_s_both(a, kiln_s_store(a, s->open, &at, j, NULL), more), NULL);
}

/* Boxes whose scores take part. */
static const kiln_stmt *collect(const search *s) {
    kiln_arena *a = s->a;
    kiln_var *jv = kiln_var_new(a, "j", KILN_I64);
    const kiln_expr *j = kiln_x_ref(a, jv);
    const kiln_expr *may = kiln_x_binary(
        a, s->p->score_threshold == -HUGE_VAL ? KILN_EXPR_LE : KILN_EXPR_LT,
        num(a, s->p->score_threshold), score_at(s, j));
    return kiln_s_both(a, kiln_cell_set(a, s->n_open, kiln_x_index(a, 0)),
                       kiln_s_times(a, jv, kiln_x_index(a, s->p->n_boxes),
                                    append_if(s, s->n_open, may, j)));
}

/* is_out: does box j overlap one that is taken? Behind the first that it does, nothing
 * is compared. */
static const kiln_stmt *compare_with_taken(const search *s, const kiln_expr *j) {
    kiln_arena *a = s->a;
    kiln_var *mv = kiln_var_new(a, "m", KILN_I64);
    kiln_lets own = {.a = a}, its = {.a = a};
    const kiln_expr *m = kiln_x_ref(a, mv), *at[] = {s->image, s->class, m};
    const box_expr b = box_expr_at(&own, s->p, s->in[BOXES], s->image, j);
    const kiln_expr *taken = kiln_lets_add(
        &its, "taken",
        kiln_x_clamped(a, kiln_x_load(a, s->keep, at, 3, NULL), s->p->n_boxes));
    const box_expr t = box_expr_at(&its, s->p, s->in[BOXES], s->image, taken);
    const kiln_stmt *compare = kiln_lets_around(
        &its,
        kiln_cell_set(a, s->is_out, overlap_expr(a, &b, &t, s->p->iou_threshold)));
    compare = kiln_s_if(a, kiln_x_not(a, kiln_cell_get(a, s->is_out)), compare, NULL);
    return kiln_lets_around(&own, kiln_s_times(a, mv, s->k, compare));
}

/* The best that overlaps none that is taken; of equal ones the first. Only boxes better
 * than those before are compared. What was taken last, and what is found to overlap,
 * leaves the list, which closes up. */
static const kiln_stmt *find_best(const search *s) {
    kiln_arena *a = s->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64);
    kiln_lets l = {.a = a};
    const kiln_expr *j = kiln_lets_add(&l, "j", open_at(s, kiln_x_ref(a, iv)));
    const kiln_expr *score = kiln_lets_add(&l, "score", score_at(s, j));
    const kiln_expr *is_last =
        kiln_x_binary(a, KILN_EXPR_EQ, j, kiln_cell_get(a, s->last));
    const kiln_expr *is_in = kiln_x_not(a, kiln_cell_get(a, s->is_out));
    const kiln_expr *is_better = kiln_x_binary(
        a, KILN_EXPR_OR, kiln_x_less(a, kiln_cell_get(a, s->best), kiln_x_index(a, 0)),
        kiln_x_less(a, kiln_cell_get(a, s->best_score), score));
    const kiln_stmt *take = kiln_s_both(a, kiln_cell_set(a, s->best, j),
                                        kiln_cell_set(a, s->best_score, score));
    take = kiln_s_both(a, compare_with_taken(s, j), kiln_s_if(a, is_in, take, NULL));
    const kiln_stmt *look[] = {
        kiln_cell_set(a, s->is_out, is_last),
        kiln_s_if(a, both(a, kiln_x_not(a, is_last), is_better), take, NULL),
        append_if(s, s->n_left, is_in, j),
    };
    const kiln_stmt *step[] = {
        kiln_cell_set(a, s->n_left, kiln_x_index(a, 0)),
        kiln_s_times(a, iv, kiln_cell_get(a, s->n_open),
                     kiln_lets_around(&l, kiln_s_seq(a, look, KILN_COUNT(look)))),
        kiln_cell_set(a, s->n_open, kiln_cell_get(a, s->n_left)),
    };
    return kiln_s_seq(a, step, KILN_COUNT(step));
}

/* One rank: the best box, NOTHING where none is left. */
static const kiln_stmt *rank(const search *s) {
    kiln_arena *a = s->a;
    const kiln_expr *at[] = {s->image, s->class, s->k};
    const kiln_stmt *step[] = {
        kiln_cell_set(a, s->best, kiln_x_index(a, NOTHING)),
        kiln_cell_set(a, s->best_score, num(a, 0)),
        find_best(s),
        kiln_s_store(a, s->keep, at, kiln_cell_get(a, s->best), NULL),
        kiln_cell_set(a, s->last, kiln_cell_get(a, s->best)),
    };
    return kiln_s_seq(a, step, KILN_COUNT(step));
}

static const kiln_buffer *list_new(kiln_arena *a, const kiln_te *te, int64_t n) {
    kiln_buffer *b = kiln_buffer_new(a, kiln_format(a, "%s.open", te->name), KILN_I64,
                                     1, &n, KILN_SCOPE_LOCAL);
    b->arg = -1;
    return b;
}

/* keep[image, class, k]: the box of rank k, or NOTHING. Classes are independent. */
static const kiln_stmt *build_keep(kiln_arena *a, const kiln_te *te,
                                   const kiln_buffer *const *in,
                                   const kiln_buffer *const *out) {
    const int64_t extent[] = {kiln_te_dim(te, 1), kiln_te_dim(te, 0)};
    const params *p = te->ext->data;
    if (kiln_te_elems(te) == 0)
        return kiln_s_nothing(a);
    kiln_nest_loops l = kiln_loops_new(a, 2, extent);
    l.is_parallel = true;
    kiln_var *kv = kiln_var_new(a, "k", KILN_I64);
    const search s = {.a = a,
                      .p = p,
                      .in = in,
                      .keep = out[0],
                      .image = l.index[1],
                      .class = l.index[0],
                      .k = kiln_x_ref(a, kv),
                      .open = list_new(a, te, p->n_boxes),
                      .n_open = kiln_cell_new(a, te, "n_open", KILN_I64),
                      .n_left = kiln_cell_new(a, te, "n_left", KILN_I64),
                      .best = kiln_cell_new(a, te, "best", KILN_I64),
                      .best_score = kiln_cell_new(a, te, "best_score", KILN_F64),
                      .last = kiln_cell_new(a, te, "last", KILN_I64),
                      .is_out = kiln_cell_new(a, te, "is_out", KILN_BOOL)};
    const kiln_buffer *const memory[] = {s.open,       s.n_open, s.n_left, s.best,
                                         s.best_score, s.last,   s.is_out};
    const kiln_stmt *body =
        kiln_s_times(a, kv, kiln_x_index(a, kiln_te_dim(te, 2)), rank(&s));
    body = kiln_s_both(a, collect(&s), body);
    body = kiln_s_both(a, kiln_cell_set(a, s.last, kiln_x_index(a, NOTHING)), body);
    for (size_t i = 0; i < KILN_COUNT(memory); i++)
        body = kiln_s_alloc(a, memory[i], body);
    return kiln_loops_around(&l, body);
}

/* What is kept, in the order of images, classes and ranks, without gaps. */
static const kiln_stmt *build_rows(kiln_arena *a, const kiln_te *te,
                                   const kiln_buffer *const *in,
                                   const kiln_buffer *const *out) {
    const kiln_type *keep = te->ext->data;
    const int64_t rows = kiln_te_dim(te, 0), extent[] = {rows, COLUMNS};
    if (rows == 0)
        return kiln_s_nothing(a);
    const kiln_nest_loops fill = kiln_loops_new(a, 2, extent);
    const kiln_stmt *first = kiln_loops_around(
        &fill, kiln_s_store(a, out[0], fill.index, kiln_x_index(a, NOTHING), NULL));
    const kiln_nest_loops l = kiln_loops_new(a, 3, keep->dim);
    const kiln_buffer *count = kiln_cell_new(a, te, "count", KILN_I64);
    kiln_lets lets = {.a = a};
    const kiln_expr *box =
        kiln_lets_add(&lets, "box", kiln_x_load(a, in[0], l.index, 3, NULL));
    const kiln_expr *row =
        kiln_lets_add(&lets, "row", kiln_x_clamped(a, kiln_cell_get(a, count), rows));
    const kiln_expr *column[COLUMNS] = {l.index[0], l.index[1], box};
    const kiln_stmt *put[COLUMNS + 1];
    for (int i = 0; i < COLUMNS; i++) {
        const kiln_expr *at[] = {row, kiln_x_index(a, i)};
        put[i] = kiln_s_store(a, out[0], at, column[i], NULL);
    }
    put[COLUMNS] = kiln_cell_set(a, count, kiln_x_add(a, row, kiln_x_index(a, 1)));
    const kiln_stmt *move =
        kiln_s_if(a, kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, 0), box),
                  kiln_s_seq(a, put, COLUMNS + 1), NULL);
    move = kiln_loops_around(&l, kiln_lets_around(&lets, move));
    move = kiln_s_both(a, kiln_cell_set(a, count, kiln_x_index(a, 0)), move);
    return kiln_s_both(a, first, kiln_s_alloc(a, count, move));
}

/* Stage: how many are kept. */
static kiln_status count_stage(kiln_compute_cx *cx, const kiln_te_value *keep) {
    kiln_arena *a = cx->arena;
    kiln_te *te = kiln_compute_begin(cx, "count", &cx->out[1].type, NULL);
    if (kiln_type_elems(&keep->type) == 0)
        return kiln_compute_end(cx, 1, te, kiln_x_index(a, 0));
    static const char *const name[] = {"image", "class", "rank"};
    const kiln_axis *axis[3];
    const kiln_expr *at[3];
    for (int i = 0; i < 3; i++) {
        axis[i] = kiln_te_reduce_axis(te, name[i], keep->type.dim[i]);
        at[i] = kiln_axis_var(a, axis[i]);
    }
    const kiln_expr *is_kept = kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, 0),
                                             kiln_compute_read_value(cx, keep, at));
    return kiln_compute_end(
        cx, 1, te, kiln_te_sum(te, kiln_x_cast(a, KILN_I64, is_kept), axis, 3));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_dtype dtype = KILN_I64;
    const kiln_type *scores = &cx->in[SCORES].type, *t = &cx->out[0].type;
    const int64_t dim[] = {scores->dim[0], scores->dim[1], most_of(n)};
    kiln_te_value in[2], keep, rows;
    params *p = kiln_new(cx->arena, params);
    *p = (params){.iou_threshold = n->attr[IOU_THRESHOLD].f,
                  .score_threshold = n->attr[SCORE_THRESHOLD].f,
                  .is_center = n->attr[CENTER_POINT].i != 0,
                  .n_boxes = scores->dim[2]};
    const kiln_dtype box = kiln_compute_wide_dtype(cx->in[BOXES].type.dtype);
    const kiln_dtype score = kiln_compute_wide_dtype(scores->dtype);
    KILN_TRY(kiln_compute_plain(cx, "boxes", &cx->in[BOXES], box, &in[BOXES]));
    KILN_TRY(kiln_compute_plain(cx, "scores", &cx->in[SCORES], score, &in[SCORES]));
    kiln_extern_spec spec = {.name = "nms_keep",
                             .build = build_keep,
                             .data = p,
                             .in = in,
                             .n_in = 2,
                             .n_out = 1,
                             .rank = 3,
                             .dim = dim,
                             .dtype = &dtype};
    kiln_compute_extern(cx, "keep", &spec, &keep);
    kiln_type *kept = kiln_new(cx->arena, kiln_type);
    *kept = keep.type;
    spec = (kiln_extern_spec){.name = "nms_rows",
                              .build = build_rows,
                              .data = kept,
                              .in = &keep,
                              .n_in = 1,
                              .n_out = 1,
                              .rank = t->rank,
                              .dim = t->dim,
                              .dtype = &dtype};
    kiln_compute_extern(cx, "rows", &spec, &rows);
    KILN_TRY(kiln_compute_give(cx, 0, "", &rows));
    return count_stage(cx, &keep);
}

const kiln_op_def kiln_op_non_max_suppression = {
    .name = "non_max_suppression",
    .doc = "image, class and box of the best boxes that overlap little, and how many "
           "there are; the rest is -1",
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 2,
    .n_out_max = 2,
    .in_names = (const char *const[]){"boxes", "scores", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
