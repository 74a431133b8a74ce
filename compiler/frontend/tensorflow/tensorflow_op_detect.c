/* Importers of NonMaxSuppression, V2 to V5: boxes [n, 4] and scores [n]; an overlap above
 * the threshold suppresses. Padded results have as many elements as the file says, zeros
 * behind those that count; others are bounded (docs/bounded-outputs.md), and may only be
 * outputs. Source: TensorFlow, non_max_suppression_op.cc. */
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

/* The first `count` elements of v, zeros behind them. */
static kiln_value *bounded(kiln_compose *c, kiln_value *v, kiln_value *count) {
    v = kiln_compose_1(c, &kiln_op_identity, v);
    if (c->status != KILN_OK)
        return v;
    if (kiln_value_is_const(count)) /* of constant boxes */
        return kiln_compose_slice(c, v, 0, 0, 1, *(const int64_t *)count->data);
    v->count = count;
    v->bounded_axis = 0;
    return v;
}

static kiln_status select_all(kiln_compose *c, kiln_value *boxes, kiln_value *scores,
                              const limits *l, kiln_selection *out) {
    const int64_t n = scores->type.dim[0], as_boxes[] = {1, n, 4},
                  as_scores[] = {1, 1, n};
    boxes = kiln_compose_reshape(c, boxes, 3, as_boxes);
    scores = kiln_compose_reshape(c, scores, 3, as_scores);
    return kiln_compose_suppress(c, boxes, scores, l->most, l->iou, l->score, out);
}

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
        y[i] = bounded(&c, y[i], s.count);
    if (version == 4 || version == 5)
        y[count++] = kiln_compose_cast(&c, s.count, KILN_I32);
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, count);
}
