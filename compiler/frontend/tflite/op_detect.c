/* Importers of what ends a detector: NON_MAX_SUPPRESSION_V4 and V5, and the custom
 * operator TFLite_Detection_PostProcess (boxes out of anchors, suppression, the best of
 * each box or class). Results have as many rows as the file says, filled up with zeros,
 * and one output says how many count: so nothing is bounded by data. Boxes of equal
 * scores are taken from the first; overlaps are in f64. Source: TensorFlow Lite,
 * reference kernels and kernels/detection_postprocess. */
#include "compiler/frontend/suppress.h"
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/frontend/tflite/flex.h"

/* ---- suppression alone -------------------------------------------------------------- */

static kiln_status read_number(kiln_tflite_cx *cx, int i, const char *name,
                               double *out) {
    kiln_value *v;
    const double *given;
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, i, name, &v));
    KILN_TRY(kiln_import_const_floats(&cx->common, v, name, &given, &n));
    if (n != 1 || isnan(given[0]))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "'%s' must be one number", name);
    *out = given[0];
    return KILN_OK;
}

static kiln_status set_int(kiln_tflite_cx *cx, kiln_compose *c, int i, kiln_value *v) {
    v = kiln_compose_cast(c, v, KILN_I32);
    KILN_TRY(c->status);
    return kiln_tflite_set(cx, i, v);
}

/* Boxes [n, 4] and scores [n]; here an overlap as large as the threshold suppresses. */
kiln_status kiln_tflite_import_suppression(kiln_tflite_cx *cx) {
    enum { V5 = 121 };
    const bool has_scores = cx->row->code == V5;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *boxes, *scores;
    double most, iou, score, sigma = 0;
    kiln_selection s;
    KILN_TRY(kiln_tflite_need(cx, 0, "boxes", &boxes));
    KILN_TRY(kiln_tflite_need(cx, 1, "scores", &scores));
    KILN_TRY(read_number(cx, 2, "max_output_size", &most));
    KILN_TRY(read_number(cx, 3, "iou_threshold", &iou));
    KILN_TRY(read_number(cx, 4, "score_threshold", &score));
    if (has_scores)
        KILN_TRY(read_number(cx, 5, "soft_nms_sigma", &sigma));
    if (sigma > 0 || sigma < 0)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "soft_nms_sigma must be 0, is %g", sigma);
    if (boxes->type.rank != 2 || boxes->type.dim[1] != 4 || scores->type.rank != 1 ||
        scores->type.dim[0] != boxes->type.dim[0])
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "boxes must be [n, 4] and scores [n]");
    if (!(most >= 0 && most <= (double)KILN_MAX_ELEMS))
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "'max_output_size' is %g", most);
    const int64_t n = scores->type.dim[0], as_boxes[] = {1, n, 4},
                  as_scores[] = {1, 1, n};
    kiln_value *const list = scores;
    boxes = kiln_compose_reshape(&c, boxes, 3, as_boxes);
    scores = kiln_compose_reshape(&c, scores, 3, as_scores);
    KILN_TRY(kiln_compose_suppress(&c, boxes, scores, (int64_t)most,
                                   nextafter(iou, -HUGE_VAL), score, &s));
    kiln_value *const index = kiln_selection_rows(&c, kiln_compose_iota(&c, n), s.box,
                                                  s.is_none, (int64_t)most);
    KILN_TRY(set_int(cx, &c, 0, index));
    if (has_scores)
        KILN_TRY(kiln_tflite_set(
            cx, 1, kiln_selection_rows(&c, list, s.box, s.is_none, (int64_t)most)));
    return set_int(cx, &c, has_scores ? 2 : 1, s.count);
}

/* ---- detections --------------------------------------------------------------------- */

typedef struct options {
    int64_t max_detections, max_classes, per_class, n_classes;
    bool is_regular;
    double score, iou, scale[4]; /* of y, x, h, w */
} options;

static kiln_status read_count(kiln_tflite_cx *cx, const kiln_flex_map *m,
                              const char *key, int64_t otherwise, int64_t *out) {
    double v = (double)otherwise;
    kiln_flex_number(m, key, &v);
    if (!(v >= 1 && v <= 1e6))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "option '%s' must be from 1 to 1000000, is %g", key, v);
    *out = (int64_t)v;
    return KILN_OK;
}

static kiln_status read_options(kiln_tflite_cx *cx, options *o) {
    static const char *const scales[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    enum { PER_CLASS = 100 }; /* where the file says nothing */
    kiln_flex_map m;
    double is_regular = 0;
    KILN_TRY(kiln_flex_open(cx->op->custom_options, &m, cx->common.err));
    *o = (options){.score = 0};
    KILN_TRY(read_count(cx, &m, "max_detections", 0, &o->max_detections));
    KILN_TRY(read_count(cx, &m, "max_classes_per_detection", 0, &o->max_classes));
    KILN_TRY(read_count(cx, &m, "detections_per_class", PER_CLASS, &o->per_class));
    KILN_TRY(read_count(cx, &m, "num_classes", 0, &o->n_classes));
    kiln_flex_number(&m, "use_regular_nms", &is_regular);
    o->is_regular = is_regular != 0;
    kiln_flex_number(&m, "nms_score_threshold", &o->score);
    kiln_flex_number(&m, "nms_iou_threshold", &o->iou);
    for (int i = 0; i < 4; i++) {
        kiln_flex_number(&m, scales[i], &o->scale[i]);
        if (!(o->scale[i] > 0 && o->scale[i] < 1e30))
            return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                    "option '%s' must be positive, is %g", scales[i],
                                    o->scale[i]);
    }
    if (!(o->iou > 0 && o->iou <= 1) || isnan(o->score))
        return kiln_tflite_fail(
            cx, KILN_ERR_PARSE,
            "option 'nms_iou_threshold' must be above 0 and at most "
            "1, is %g",
            o->iou);
    /* Scores as large as the threshold are kept. */
    o->score = (double)nextafterf((float)o->score, -HUGE_VALF);
    return KILN_OK;
}

/* Centre and size, in units of the anchor, to corners: [n, 4]. */
static kiln_value *decode(kiln_compose *c, const options *o, kiln_value *code,
                          kiln_value *anchor) {
    const int64_t two[] = {1, 2};
    kiln_value *part[2][2]; /* of code and anchor: centres, sizes */
    for (int i = 0; i < 2; i++) {
        const int64_t first = i == 0 ? 0 : 2;
        part[0][i] = kiln_compose_slice(c, code, 1, first, 1, 2);
        part[1][i] = kiln_compose_slice(c, anchor, 1, first, 1, 2);
        part[0][i] =
            kiln_compose_2(c, &kiln_op_div, part[0][i],
                           kiln_compose_floats(c, KILN_F32, 2, two, &o->scale[first]));
    }
    kiln_value *const center = kiln_compose_2(
        c, &kiln_op_add, kiln_compose_2(c, &kiln_op_mul, part[0][0], part[1][1]),
        part[1][0]);
    kiln_value *half = kiln_compose_scalar(
        c, &kiln_op_mul, kiln_compose_1(c, &kiln_op_exp, part[0][1]), 0.5);
    half = kiln_compose_2(c, &kiln_op_mul, half, part[1][1]);
    return kiln_compose_axis(c, &kiln_op_concat,
                             kiln_compose_2(c, &kiln_op_sub, center, half),
                             kiln_compose_2(c, &kiln_op_add, center, half), 1);
}

static kiln_status best(kiln_tflite_cx *cx, kiln_value *x, int64_t k, int64_t axis,
                        kiln_value **out) {
    const kiln_attr_arg args[] = {kiln_arg_int("k", k), kiln_arg_int("axis", axis),
                                  kiln_arg_bool("largest", true),
                                  kiln_arg_bool("sorted", true)};
    return kiln_import_emit(&cx->common, cx->op, &kiln_op_topk, &x, 1, args, 4, 2, out);
}

/* [n] or [n, k] behind each other, k of each box. */
static kiln_value *as_list(kiln_compose *c, kiln_value *x) {
    const int64_t n = kiln_type_elems(&x->type);
    return kiln_compose_reshape(c, kiln_compose_cast(c, x, KILN_F32), 1, &n);
}

static kiln_status set_all(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *const *y,
                           int64_t rows) {
    const int64_t boxes[] = {1, rows, 4}, list[] = {1, rows}, one = 1;
    kiln_value *const out[] = {
        kiln_compose_reshape(c, y[0], 3, boxes), kiln_compose_reshape(c, y[1], 2, list),
        kiln_compose_reshape(c, y[2], 2, list),
        kiln_compose_reshape(c, kiln_compose_cast(c, y[3], KILN_F32), 1, &one)};
    KILN_TRY(c->status);
    for (int i = 0; i < 4; i++)
        KILN_TRY(kiln_tflite_set(cx, i, out[i]));
    return KILN_OK;
}

/* Boxes suppress each other by their best class, whatever it is; each gives its best
 * classes. scores: [n, classes]. */
static kiln_status detect_fast(kiln_tflite_cx *cx, kiln_compose *c, const options *o,
                               kiln_value *boxes, kiln_value *scores) {
    const int64_t n = scores->type.dim[0], as_boxes[] = {1, n, 4},
                  as_scores[] = {1, 1, n};
    const int64_t k =
        o->max_classes < scores->type.dim[1] ? o->max_classes : scores->type.dim[1];
    const int64_t most = o->max_detections, rows = most * o->max_classes;
    kiln_value *top[2], *y[4];
    kiln_selection s;
    KILN_TRY(c->status);
    KILN_TRY(best(cx, scores, k, 1, top));
    KILN_TRY(kiln_compose_suppress(
        c, kiln_compose_reshape(c, boxes, 3, as_boxes),
        kiln_compose_reshape(c, kiln_compose_slice(c, top[0], 1, 0, 1, 1), 3,
                             as_scores),
        most, o->iou, o->score, &s));
    const int64_t apart[] = {most, 1, 4}, wide[] = {most, k, 4}, flat[] = {most * k, 4};
    y[0] = kiln_selection_rows(c, boxes, s.box, s.is_none, most);
    y[0] = kiln_compose_expand(c, kiln_compose_reshape(c, y[0], 3, apart), 3, wide);
    y[0] = kiln_compose_reshape(c, y[0], 2, flat);
    y[1] = as_list(c, kiln_selection_rows(c, kiln_compose_cast(c, top[1], KILN_F32),
                                          s.box, s.is_none, most));
    y[2] = as_list(c, kiln_selection_rows(c, top[0], s.box, s.is_none, most));
    for (int i = 0; i < 3 && rows > most * k; i++) {
        int64_t pads[4] = {0};
        pads[i == 0 ? 2 : 1] = rows - most * k;
        y[i] = kiln_compose_pad(c, y[i], pads, 0);
    }
    y[3] = s.count;
    return set_all(cx, c, y, rows);
}

/* Boxes suppress others of their class; the best of all classes are given. */
static kiln_status detect_regular(kiln_tflite_cx *cx, kiln_compose *c, const options *o,
                                  kiln_value *boxes, kiln_value *scores) {
    const int64_t n = scores->type.dim[0], classes = scores->type.dim[1];
    const int64_t as_boxes[] = {1, n, 4}, as_scores[] = {1, classes, n};
    const int64_t rows = o->max_detections * o->max_classes, perm[] = {1, 0};
    kiln_value *y[4];
    kiln_selection s;
    scores = kiln_compose_transpose(c, scores, perm);
    KILN_TRY(kiln_compose_suppress(c, kiln_compose_reshape(c, boxes, 3, as_boxes),
                                   kiln_compose_reshape(c, scores, 3, as_scores),
                                   o->per_class, o->iou, o->score, &s));
    KILN_TRY(kiln_selection_best(c, &s, boxes, scores, o->max_detections, rows, y));
    return set_all(cx, c, y, rows);
}

kiln_status kiln_tflite_import_detection(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *code, *scores, *anchor;
    options o;
    KILN_TRY(kiln_tflite_need(cx, 0, "box encodings", &code));
    KILN_TRY(kiln_tflite_need(cx, 1, "class predictions", &scores));
    KILN_TRY(kiln_tflite_need(cx, 2, "anchors", &anchor));
    KILN_TRY(read_options(cx, &o));
    const int64_t n = anchor->type.rank == 2 ? anchor->type.dim[0] : -1;
    const int64_t given = scores->type.rank == 3 ? scores->type.dim[2] : 0;
    if (code->type.rank != 3 || code->type.dim[0] != 1 || code->type.dim[1] != n ||
        code->type.dim[2] < 4 || given < o.n_classes || scores->type.dim[0] != 1 ||
        scores->type.dim[1] != n || n < 1 || anchor->type.dim[1] != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "boxes must be [1, n, 4], class predictions [1, n, "
                                "classes] of %" PRId64 " classes at least, and anchors "
                                "[n, 4]",
                                o.n_classes);
    const int64_t boxes[] = {n, code->type.dim[2]}, list[] = {n, given};
    code = kiln_compose_reshape(&c, code, 2, boxes);
    scores = kiln_compose_reshape(&c, scores, 2, list);
    /* The background comes first, where there is one. */
    scores = kiln_compose_slice(&c, scores, 1, given - o.n_classes, 1, o.n_classes);
    kiln_value *const decoded = decode(&c, &o, code, anchor);
    return o.is_regular ? detect_regular(cx, &c, &o, decoded, scores)
                        : detect_fast(cx, &c, &o, decoded, scores);
}
