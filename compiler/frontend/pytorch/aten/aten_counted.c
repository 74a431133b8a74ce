/* Operators of values that are as long as data has them: what suppression of boxes
 * (torchvision::nms) and masks of bool give, and what is picked by it. A rule makes the
 * operator on the largest shape and says how many elements of its result count; what has
 * no rule (aten_counted.def) is refused. Filling is never read as if it counted: rules
 * are of operators that treat each element along the axis by itself. */
#include "compiler/frontend/bounded.h"
#include "compiler/frontend/pytorch/aten/aten_internal.h"
#include "compiler/frontend/suppress.h"

#include <inttypes.h>
#include <math.h>

typedef kiln_status rule_fn(kiln_aten_args *k, kiln_counted *c);

static kiln_status refuse(kiln_aten_args *k, const kiln_counted *c, const char *why) {
    return kiln_fail(k->c.cx->err, KILN_ERR_UNSUPPORTED,
                     "%s: '%s' is as long as data has it, %s; export the model up to "
                     "there",
                     k->row->name, c->value->name, why);
}

/* ---- arguments -------------------------------------------------------------------- */

/* All tensors of the call, in lists too. */
static kiln_status each(kiln_aten_args *k, kiln_counted *c, bool is_stripped) {
    for (int i = 0; i < k->n; i++) {
        kiln_aten_value *const v = &k->value[i];
        if (v->kind == KILN_ATEN_TENSOR) {
            if (is_stripped)
                v->tensor = kiln_compose_uncounted(&k->c, v->tensor);
            else
                kiln_counted_note(c, v->tensor);
        }
        if (v->kind != KILN_ATEN_LIST)
            continue;
        kiln_aten_value *const list =
            kiln_array(&k->c.cx->scratch, kiln_aten_value, v->n + 1);
        for (size_t j = 0; j < v->n; j++) {
            list[j] = v->list[j];
            if (list[j].kind != KILN_ATEN_TENSOR)
                continue;
            if (is_stripped)
                list[j].tensor = kiln_compose_uncounted(&k->c, list[j].tensor);
            else
                kiln_counted_note(c, list[j].tensor);
        }
        if (is_stripped)
            v->list = list;
    }
    return k->c.status;
}

static bool counts(const kiln_aten_value *v) {
    if (v->kind == KILN_ATEN_TENSOR)
        return kiln_value_is_counted(v->tensor);
    for (size_t j = 0; v->kind == KILN_ATEN_LIST && j < v->n; j++)
        if (counts(&v->list[j]))
            return true;
    return false;
}

bool kiln_aten_reads_counted(const kiln_aten_args *k) {
    for (int i = 0; i < k->n; i++)
        if (counts(&k->value[i]))
            return true;
    return false;
}

/* ---- the operator, and its results ------------------------------------------------ */

/* As if all elements counted. */
static kiln_status make(kiln_aten_args *k) {
    KILN_TRY(each(k, NULL, true));
    KILN_TRY(k->row->make(k));
    return k->c.status;
}

static kiln_status mark(kiln_aten_args *k, int axis, kiln_value *count) {
    for (size_t i = 0; i < k->n_out; i++)
        if (k->out[i].kind == KILN_ATEN_TENSOR)
            k->out[i].tensor =
                kiln_compose_bounded(&k->c, k->out[i].tensor, axis, count);
    return k->c.status;
}

static int rank_out(const kiln_aten_args *k) {
    return k->n_out > 0 && k->out[0].kind == KILN_ATEN_TENSOR
               ? k->out[0].tensor->type.rank
               : 0;
}

/* ---- rules ------------------------------------------------------------------------ */

/* Does a tensor whose length is known stretch along the axis? */
static bool is_stretched(const kiln_aten_args *k, const kiln_counted *c) {
    for (int i = 0; i < k->n; i++) {
        const kiln_aten_value *const v = &k->value[i];
        if (v->kind != KILN_ATEN_TENSOR || kiln_value_is_counted(v->tensor))
            continue;
        if (!kiln_counted_stretches(c, v->tensor))
            return false;
    }
    return true;
}

static kiln_status along(kiln_aten_args *k, kiln_counted *c) {
    if (c->axis < 0)
        return refuse(k, c, "and another operand in another way");
    if (!is_stretched(k, c))
        return refuse(k, c, "and another operand's length is known");
    KILN_TRY(make(k));
    return mark(k, rank_out(k) - c->from_right, c->count);
}

/* x[:, mask]: of what counts. */
static kiln_status pick_masked(kiln_aten_args *k, kiln_counted *c, kiln_value *x,
                               kiln_value *mask, int axis) {
    if (x->count == NULL || x->count != mask->count)
        return refuse(k, c, "and a mask of another length picks of it");
    kiln_value *const counts = kiln_compose_mask(
        &k->c, 1, 0, mask->type.dim[0] < 1 ? 1 : mask->type.dim[0], x->count);
    mask = kiln_compose_2(&k->c, &kiln_op_logical_and,
                          kiln_compose_uncounted(&k->c, mask), counts);
    x = kiln_compose_uncounted(&k->c, x);
    KILN_TRY(k->c.status);
    return kiln_aten_give_masked(k, x, mask, axis);
}

/* x[:, at]: where only `at` decides how long the result is. */
static kiln_status pick(kiln_aten_args *k, kiln_counted *c) {
    const bool is_list = kiln_aten_find_name(k, "indices") >= 0;
    const kiln_aten_value *const self = kiln_aten_get(k, "self");
    const kiln_aten_value *at = kiln_aten_get(k, is_list ? "indices" : "index");
    int axis = -1;
    if (self->kind != KILN_ATEN_TENSOR)
        return refuse(k, c, "and what is picked of is no tensor");
    if (!is_list)
        axis = kiln_aten_axis(k, "dim", self->tensor->type.rank);
    for (size_t i = 0; is_list && at->kind == KILN_ATEN_LIST && i < at->n; i++)
        if (at->list[i].kind == KILN_ATEN_TENSOR) {
            if (axis >= 0)
                return refuse(k, c, "and there are two indices");
            axis = (int)i;
        }
    if (axis < 0)
        return refuse(k, c, "and there is no index");
    if (is_list)
        at = &at->list[axis];
    if (at->kind != KILN_ATEN_TENSOR || at->tensor->type.rank != 1)
        return refuse(k, c, "and the index is no list of places");
    kiln_value *const count = at->tensor->count;
    if (kiln_value_is_counted(self->tensor) && self->tensor->bounded_axis != axis)
        return refuse(k, c, "and is picked of along another axis");
    KILN_TRY(k->c.status);
    if (at->tensor->type.dtype == KILN_BOOL)
        return pick_masked(k, c, self->tensor, at->tensor, axis);
    KILN_TRY(make(k));
    return count == NULL ? KILN_OK : mark(k, axis, count);
}

/* The first elements, or parts of another axis. */
static kiln_status slice(kiln_aten_args *k, kiln_counted *c) {
    const kiln_value *const x = c->value;
    const int64_t dim = x->type.dim[c->axis];
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    kiln_value *count = c->count;
    if (axis == c->axis) {
        const int64_t start =
            kiln_aten_is_none(k, "start") ? 0 : kiln_aten_int(k, "start");
        const int64_t end = kiln_aten_is_none(k, "end") ? dim : kiln_aten_int(k, "end");
        if (start != 0 || end < 0 || kiln_aten_int(k, "step") != 1)
            return refuse(k, c, "and only its first elements may be cut off, x[:n]");
        if (end < dim)
            count = kiln_compose_2(&k->c, &kiln_op_min, count,
                                   kiln_compose_number(&k->c, end));
    }
    KILN_TRY(k->c.status);
    KILN_TRY(make(k));
    return mark(k, c->axis, count);
}

static kiln_status select(kiln_aten_args *k, kiln_counted *c) {
    const int axis = kiln_aten_axis(k, "dim", c->value->type.rank);
    if (axis == c->axis)
        return refuse(k, c, "and one of its elements may not be there");
    KILN_TRY(make(k));
    return mark(k, c->axis - (axis < c->axis), c->count);
}

static kiln_status unsqueeze(kiln_aten_args *k, kiln_counted *c) {
    const int axis = kiln_aten_axis(k, "dim", c->value->type.rank + 1);
    KILN_TRY(make(k));
    return mark(k, c->axis + (axis <= c->axis), c->count);
}

static size_t n_tensors(const kiln_aten_args *k) {
    return k->value[0].kind == KILN_ATEN_LIST ? k->value[0].n : 0;
}

static kiln_status join(kiln_aten_args *k, kiln_counted *c) {
    const int axis = kiln_aten_axis(k, "dim", c->value->type.rank);
    if (c->axis < 0 || (size_t)c->n != n_tensors(k))
        return refuse(k, c, "and what it is joined with is not so in the same way");
    if (axis == c->axis && c->n > 1)
        return refuse(k, c, "and is joined along the very axis");
    KILN_TRY(make(k));
    return mark(k, c->axis, c->count);
}

static kiln_status stack(kiln_aten_args *k, kiln_counted *c) {
    const int axis = kiln_aten_axis(k, "dim", c->value->type.rank + 1);
    if (c->axis < 0 || (size_t)c->n != n_tensors(k))
        return refuse(k, c, "and what it is joined with is not so in the same way");
    KILN_TRY(make(k));
    return mark(k, c->axis + (axis <= c->axis), c->count);
}

/* A number that nobody knows before data is there. */
static kiln_aten_value unknown(void) {
    return (kiln_aten_value){.kind = KILN_ATEN_OTHER};
}

/* What the file asserts of a length is not checked; who computes with it is refused. */
static kiln_status size(kiln_aten_args *k, kiln_counted *c) {
    const bool is_all = kiln_aten_is_none(k, "dim");
    const int axis = is_all ? 0 : kiln_aten_axis(k, "dim", c->value->type.rank);
    KILN_TRY(make(k));
    if (!is_all && axis == c->axis)
        k->out[0] = unknown();
    if (!is_all || k->out[0].kind != KILN_ATEN_LIST)
        return KILN_OK;
    kiln_aten_value *const v =
        kiln_array(&k->c.cx->scratch, kiln_aten_value, k->out[0].n + 1);
    for (size_t i = 0; i < k->out[0].n; i++)
        v[i] = (int)i == c->axis ? unknown() : k->out[0].list[i];
    k->out[0].list = v;
    return KILN_OK;
}

static kiln_status numel(kiln_aten_args *k, kiln_counted *c) {
    (void)c;
    KILN_TRY(make(k));
    k->out[0] = unknown();
    return KILN_OK;
}

/* Numbers that do not depend on the length. */
static kiln_status number(kiln_aten_args *k, kiln_counted *c) {
    (void)c;
    return make(k);
}

static const struct {
    kiln_aten_maker *make;
    rule_fn *rule;
} rules[] = {
#define KILN_ATEN_COUNTED(maker, rule) {kiln_aten_make_##maker, rule},
#include "compiler/frontend/pytorch/aten/aten_counted.def"
#undef KILN_ATEN_COUNTED
};

kiln_status kiln_aten_make_counted(kiln_aten_args *k) {
    kiln_counted c = {.n = 0};
    KILN_TRY(each(k, &c, false));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].make == k->row->make)
            return rules[i].rule(k, &c);
    return refuse(k, &c, "and this operator has no rule for that");
}

kiln_status kiln_aten_may_read(kiln_import_cx *cx, kiln_value *const *in, int n_in) {
    for (int i = 0; i < n_in; i++)
        if (kiln_value_is_counted(in[i]))
            return kiln_fail(cx->err, KILN_ERR_UNSUPPORTED,
                             "'%s' is as long as data has it, and is written or read "
                             "where that has no rule; export the model up to there",
                             in[i]->name);
    return KILN_OK;
}

kiln_status kiln_aten_settle(kiln_import_cx *cx, const void *site, kiln_value **v) {
    kiln_compose c = {.cx = cx, .site = site};
    *v = kiln_compose_settled(&c, *v);
    return c.status;
}

/* ---- where counts come from ------------------------------------------------------- */

/* torchvision: all boxes by their scores, without those that overlap a better one. */
kiln_status kiln_aten_make_nms(kiln_aten_args *k) {
    kiln_value *boxes = kiln_aten_tensor(k, "dets");
    kiln_value *scores = kiln_aten_tensor(k, "scores");
    const double iou = kiln_aten_float(k, "iou_threshold");
    kiln_selection s;
    KILN_TRY(k->c.status);
    if (boxes->type.rank != 2 || boxes->type.dim[1] != 4 || scores->type.rank != 1 ||
        scores->type.dim[0] != boxes->type.dim[0] || scores->type.dim[0] < 1)
        return kiln_fail(k->c.cx->err, KILN_ERR_SHAPE,
                         "nms: boxes must be [n, 4] and scores [n]");
    const int64_t n = scores->type.dim[0], as_boxes[] = {1, n, 4},
                  as_scores[] = {1, 1, n};
    boxes = kiln_compose_reshape(&k->c, kiln_compose_cast(&k->c, boxes, KILN_F32), 3,
                                 as_boxes);
    scores = kiln_compose_reshape(&k->c, kiln_compose_cast(&k->c, scores, KILN_F32), 3,
                                  as_scores);
    KILN_TRY(kiln_compose_suppress(&k->c, boxes, scores, n, iou, -HUGE_VAL, &s));
    return kiln_aten_give(k, kiln_compose_bounded(&k->c, s.box, 0, s.count));
}

/* x[:, mask]: elements along an axis where a list of bools is true. */
kiln_status kiln_aten_give_masked(kiln_aten_args *k, kiln_value *x, kiln_value *mask,
                                  int axis) {
    kiln_value *count;
    if (mask->type.rank != 1 || mask->type.dim[0] != x->type.dim[axis])
        return kiln_fail(k->c.cx->err, KILN_ERR_UNSUPPORTED,
                         "%s: a mask of bool picks as many elements as it has; such "
                         "sizes are read where the mask is a list as long as the axis "
                         "that it picks of: else use torch.where",
                         k->row->name);
    kiln_value *const at = kiln_compose_partition(&k->c, mask, &count);
    x = kiln_compose_axis(&k->c, &kiln_op_gather, x, at, axis);
    return kiln_aten_give(k, kiln_compose_bounded(&k->c, x, axis, count));
}
