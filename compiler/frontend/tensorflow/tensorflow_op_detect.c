/* Importers of NonMaxSuppression, V2 to V5, boxes [n, 4] and scores [n], and of
 * CombinedNonMaxSuppression; an overlap above the threshold suppresses. Padded results have as many elements as the file says, zeros
 * behind those that count; others are bounded (docs/bounded-outputs.md). Source: TensorFlow, non_max_suppression_op.cc. */
#include "compiler/frontend/suppress.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <math.h>

typedef struct limits {
    int64_t most;
    double iou, score;
} limits;

static kiln_status read_number(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                               const char *name, double *out) {
    kiln_value *v;
    const double *given;
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, i, name, &v));
    KILN_TRY(kiln_import_const_floats(&cx->common, v, name, &given, &count));
    if (count != 1 || isnan(given[0]))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "'%s' must be one number", name);
    *out = given[0];
    return KILN_OK;
}

static kiln_status read_limits(kiln_tf_cx *cx, const kiln_tf_node *n, limits *out) {
    double sigma = 0;
    *out = (limits){.score = -HUGE_VAL};
    KILN_TRY(kiln_tf_int(cx, n, 2, "max_output_size", &out->most));
    if (n->n_in > 3)
        KILN_TRY(read_number(cx, n, 3, "iou_threshold", &out->iou));
    else
        out->iou = kiln_tf_attr_f(cx, n, "iou_threshold", 0.5);
    if (n->n_in > 4)
        KILN_TRY(read_number(cx, n, 4, "score_threshold", &out->score));
    if (n->n_in > 5)
        KILN_TRY(read_number(cx, n, 5, "soft_nms_sigma", &sigma));
    if (sigma > 0 || sigma < 0)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED, "soft_nms_sigma must be 0, is %g",
                            sigma);
    if (out->most < 0 || out->most > KILN_MAX_ELEMS)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "'max_output_size' must be 0 to 2^40");
    return KILN_OK;
}

static kiln_status select_all(kiln_compose *c, kiln_value *boxes, kiln_value *scores,
                              const limits *l, kiln_selection *out) {
    const int64_t n = scores->type.dim[0], as_boxes[] = {1, n, 4},
                  as_scores[] = {1, 1, n};
    boxes = kiln_compose_reshape(c, boxes, 3, as_boxes);
    scores = kiln_compose_reshape(c, scores, 3, as_scores);
    return kiln_compose_suppress(c, boxes, scores, l->most, l->iou, l->score, out);
}

/* ---- all classes together --------------------------------------------------------- */

enum { MAX_IMAGES = 64 };

typedef struct combined {
    limits limits; /* most: of each class */
    int64_t total, rows;
    int64_t images, n, own,
        classes; /* own: boxes of a place, 1 or as many as classes */
    bool is_clipped;
} combined;

static kiln_status read_combined(kiln_tf_cx *cx, const kiln_tf_node *n,
                                 const kiln_value *boxes, const kiln_value *scores,
                                 combined *o) {
    const kiln_type *const b = &boxes->type, *const s = &scores->type;
    KILN_TRY(kiln_tf_int(cx, n, 2, "max_output_size_per_class", &o->limits.most));
    KILN_TRY(kiln_tf_int(cx, n, 3, "max_total_size", &o->total));
    KILN_TRY(read_number(cx, n, 4, "iou_threshold", &o->limits.iou));
    KILN_TRY(read_number(cx, n, 5, "score_threshold", &o->limits.score));
    o->is_clipped = kiln_tf_attr_b(cx, n, "clip_boxes", true);
    if (b->rank != 4 || s->rank != 3 || b->dim[0] != s->dim[0] ||
        b->dim[1] != s->dim[1] || b->dim[3] != 4 || kiln_type_elems(s) < 1 ||
        (b->dim[2] != 1 && b->dim[2] != s->dim[2]))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "boxes must be [images, n, 1 or classes, 4] and scores "
                            "[images, n, classes], are %s and %s",
                            kiln_type_text(&cx->common.scratch, b),
                            kiln_type_text(&cx->common.scratch, s));
    o->images = s->dim[0];
    o->n = s->dim[1];
    o->own = b->dim[2];
    o->classes = s->dim[2];
    if (o->limits.most < 1 || o->total < 1 || o->total > KILN_MAX_ELEMS ||
        o->limits.most > KILN_MAX_ELEMS / o->classes || o->images > MAX_IMAGES)
        return kiln_tf_fail(
            cx, KILN_ERR_LIMIT,
            "'max_output_size_per_class' and 'max_total_size' must be 1 "
            "to 2^40, and there may be %d images",
            MAX_IMAGES);
    o->rows = o->total;
    if (kiln_tf_attr_b(cx, n, "pad_per_class", false) &&
        o->limits.most * o->classes < o->rows)
        o->rows = o->limits.most * o->classes;
    return KILN_OK;
}

/* What is left of one image. */
static kiln_status combine_image(kiln_compose *c, const combined *o, kiln_value *boxes,
                                 kiln_value *scores, int64_t image, kiln_value *y[4]) {
    const int64_t planes[] = {o->n, o->own, 4}, swap[] = {1, 0, 2};
    const int64_t table[] = {o->n, o->classes}, turn[] = {1, 0};
    const int64_t per_image = o->own > 1 ? 1 : o->classes;
    const int64_t as_scores[] = {o->own, per_image, o->n}, flat[] = {o->own * o->n, 4};
    kiln_selection s;
    boxes = kiln_compose_slice(c, boxes, 0, image, 1, 1);
    boxes = kiln_compose_transpose(c, kiln_compose_reshape(c, boxes, 3, planes), swap);
    scores = kiln_compose_slice(c, scores, 0, image, 1, 1);
    scores = kiln_compose_transpose(c, kiln_compose_reshape(c, scores, 2, table), turn);
    KILN_TRY(kiln_compose_suppress(c, boxes,
                                   kiln_compose_reshape(c, scores, 3, as_scores),
                                   o->limits.most, o->limits.iou, o->limits.score, &s));
    KILN_TRY(kiln_selection_best(c, &s, kiln_compose_reshape(c, boxes, 2, flat), scores,
                                 o->total, o->rows, y));
    if (!o->is_clipped)
        return c->status;
    y[0] = kiln_compose_scalar(c, &kiln_op_max, y[0], 0);
    y[0] = kiln_compose_scalar(c, &kiln_op_min, y[0], 1);
    return c->status;
}

kiln_status kiln_tf_import_combined_suppression(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const int order[] = {0, 2, 1, 3}; /* boxes, scores, classes, how many */
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *boxes, *scores, *part[4][MAX_IMAGES], *y[4];
    combined o = {0};
    KILN_TRY(kiln_tf_need(cx, n, 0, "boxes", &boxes));
    KILN_TRY(kiln_tf_need(cx, n, 1, "scores", &scores));
    KILN_TRY(read_combined(cx, n, boxes, scores, &o));
    for (int64_t i = 0; i < o.images; i++) {
        KILN_TRY(combine_image(&c, &o, boxes, scores, i, y));
        const int64_t as_boxes[] = {1, o.rows, 4}, one = 1;
        for (int k = 0; k < 4; k++)
            part[k][i] =
                k == 3 ? kiln_compose_reshape(&c, kiln_compose_cast(&c, y[k], KILN_I32),
                                              1, &one)
                       : kiln_compose_reshape(&c, y[k], k == 0 ? 3 : 2, as_boxes);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    for (int k = 0; k < 4; k++) {
        kiln_value *const *const v = part[order[k]];
        y[k] = o.images == 1
                   ? v[0]
                   : kiln_compose_op(&c, &kiln_op_concat, v, (int)o.images, &axis, 1);
    }
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, 4);
}

/* ---- one class -------------------------------------------------------------------- */

kiln_status kiln_tf_import_suppression(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const int version = n->op.p[n->op.n - 1] - '0'; /* 'n': the first */
    kiln_value *boxes, *scores, *y[3];
    kiln_selection s;
    limits l;
    KILN_TRY(kiln_tf_need(cx, n, 0, "boxes", &boxes));
    KILN_TRY(kiln_tf_need(cx, n, 1, "scores", &scores));
    KILN_TRY(read_limits(cx, n, &l));
    if (boxes->type.rank != 2 || boxes->type.dim[1] != 4 || scores->type.rank != 1 ||
        scores->type.dim[0] != boxes->type.dim[0])
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "boxes must be [n, 4] and scores [n]");
    const bool is_padded = kiln_tf_attr_b(cx, n, "pad_to_max_output_size", false);
    int count = 0;
    KILN_TRY(select_all(&c, boxes, scores, &l, &s));
    const int64_t rows = is_padded ? l.most : s.rows;
    y[count++] = kiln_selection_rows(
        &c, kiln_compose_cast(&c, kiln_compose_iota(&c, scores->type.dim[0]), KILN_I32),
        s.box, s.is_none, rows);
    if (version == 5)
        y[count++] = kiln_selection_rows(&c, scores, s.box, s.is_none, rows);
    for (int i = 0; i < count && !is_padded; i++)
        y[i] = kiln_compose_bounded(&c, y[i], 0, s.count);
    if (version == 4 || version == 5)
        y[count++] = kiln_compose_cast(&c, s.count, KILN_I32);
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, count);
}
