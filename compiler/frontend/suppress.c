/* Suppression of boxes; see suppress.h. */
#include "compiler/frontend/suppress.h"

#include <float.h>

kiln_value *kiln_compose_column(kiln_compose *c, kiln_value *x, int i) {
    x = kiln_compose_slice(c, x, 1, i, 1, 1);
    return kiln_compose_reshape(c, x, 1, &x->type.dim[0]);
}

kiln_status kiln_compose_suppress(kiln_compose *c, kiln_value *boxes,
                                  kiln_value *scores, int64_t most, double iou,
                                  double score, kiln_selection *out) {
    kiln_value *const in[] = {boxes, scores}, *got[2];
    const kiln_attr_arg args[] = {
        kiln_arg_int("max_per_class", most),
        kiln_arg_float("iou_threshold", iou),
        kiln_arg_float("score_threshold", score),
        kiln_arg_bool("center_point", false),
    };
    KILN_TRY(c->status);
    KILN_TRY(kiln_import_emit(c->cx, c->site, &kiln_op_non_max_suppression, in, 2, args,
                              4, 2, got));
    out->rows = got[0]->type.dim[0];
    out->image = kiln_compose_column(c, got[0], 0);
    out->class = kiln_compose_column(c, got[0], 1);
    out->box = kiln_compose_column(c, got[0], 2);
    out->is_none = kiln_compose_scalar(c, &kiln_op_less, out->box, 0);
    out->image = kiln_compose_scalar(c, &kiln_op_max, out->image, 0);
    out->box = kiln_compose_scalar(c, &kiln_op_max, out->box, 0);
    out->class = kiln_compose_scalar(c, &kiln_op_max, out->class, 0);
    out->count = got[1];
    return c->status;
}

kiln_value *kiln_selection_rows(kiln_compose *c, kiln_value *x, kiln_value *row,
                                kiln_value *is_none, int64_t n) {
    x = kiln_compose_axis(c, &kiln_op_gather, x, row, 0);
    const int64_t count = row->type.dim[0], dim[] = {count, 1};
    if (x->type.rank == 2)
        is_none = kiln_compose_reshape(c, is_none, 2, dim);
    if (c->status != KILN_OK)
        return x;
    x = kiln_compose_where(c, is_none, kiln_import_scalar(c->cx, x->type.dtype, 0), x);
    int64_t pads[4] = {0};
    pads[x->type.rank] = n - count;
    return n > count ? kiln_compose_pad(c, x, pads, 0) : x;
}

kiln_status kiln_selection_best(kiln_compose *c, const kiln_selection *s,
                                kiln_value *boxes, kiln_value *scores, int64_t most,
                                int64_t rows, kiln_value *y[4]) {
    const double lowest = -(double)FLT_MAX;
    const int64_t n = scores->type.dim[1], all = kiln_type_elems(&scores->type);
    const bool is_own = boxes->type.dim[0] == all && scores->type.dim[0] > 1;
    kiln_value *const class = is_own ? s->image : s->class;
    kiln_value *const at =
        kiln_compose_2(c, &kiln_op_add,
                       kiln_compose_scalar(c, &kiln_op_mul, class, (double)n), s->box);
    kiln_value *kept = kiln_compose_axis(
        c, &kiln_op_gather, kiln_compose_reshape(c, scores, 1, &all), at, 0);
    KILN_TRY(c->status);
    kept = kiln_compose_where(c, s->is_none,
                              kiln_import_scalar(c->cx, KILN_F32, lowest), kept);
    KILN_TRY(c->status);
    kiln_value *top[2];
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", s->rows < most ? s->rows : most), kiln_arg_int("axis", 0),
        kiln_arg_bool("largest", true), kiln_arg_bool("sorted", true)};
    KILN_TRY(
        kiln_import_emit(c->cx, c->site, &kiln_op_topk, &kept, 1, args, 4, 2, top));
    kiln_value *const is_none =
        kiln_compose_axis(c, &kiln_op_gather, s->is_none, top[1], 0);
    kiln_value *const box =
        kiln_compose_axis(c, &kiln_op_gather, is_own ? at : s->box, top[1], 0);
    y[0] = kiln_selection_rows(c, boxes, box, is_none, rows);
    y[1] = kiln_selection_rows(c, kiln_compose_cast(c, class, KILN_F32), top[1],
                               is_none, rows);
    y[2] = kiln_selection_rows(c, kept, top[1], is_none, rows);
    y[3] = kiln_compose_scalar(c, &kiln_op_min, s->count, (double)most);
    return c->status;
}
