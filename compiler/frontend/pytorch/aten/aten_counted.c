/* Operators of values that are as long as data has them: what suppression of boxes
 * (torchvision::nms) and masks of bool give, and what is picked by it, by the rules of
 * counted_rules.h; aten_counted.def says which operator has which. */
#include "compiler/frontend/counted_rules.h"
#include "compiler/frontend/pytorch/aten/aten_internal.h"
#include "compiler/frontend/suppress.h"

#include <inttypes.h>
#include <math.h>

/* A call: its arguments, and where their tensors are, in lists too. */
typedef struct call {
    kiln_aten_args *k;
    kiln_value ***at;
} call;

static kiln_aten_args *args_of(const kiln_ruled *r) { return ((call *)r->call)->k; }

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

/* ---- how operators are made --------------------------------------------------------- */

/* Writes to `at` where the call's tensors are (NULL: only counts them), in lists that are
 * its own from now on. */
static int find_tensors(kiln_aten_args *k, kiln_value ***at) {
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        kiln_aten_value *v = &k->value[i], *own = v;
        size_t n_own = 1;
        if (v->kind == KILN_ATEN_LIST) {
            n_own = v->n;
            own = kiln_array(&k->c.cx->scratch, kiln_aten_value, n_own + 1);
            for (size_t j = 0; j < n_own; j++)
                own[j] = v->list[j];
            v->list = own;
        }
        for (size_t j = 0; j < n_own; j++) {
            if (own[j].kind != KILN_ATEN_TENSOR)
                continue;
            if (at != NULL)
                at[n] = &own[j].tensor;
            n++;
        }
    }
    return n;
}

static kiln_status make(kiln_ruled *r) {
    kiln_aten_args *const k = args_of(r);
    for (int i = 0; i < r->n_in; i++)
        *((call *)r->call)->at[i] = r->given[i];
    KILN_TRY(k->row->make(k));
    return k->c.status;
}

static kiln_value **result(kiln_ruled *r, int i) {
    kiln_aten_args *const k = args_of(r);
    return (size_t)i < k->n_out && k->out[i].kind == KILN_ATEN_TENSOR
               ? &k->out[i].tensor
               : NULL;
}

static kiln_status refuse(kiln_ruled *r, const char *why) {
    return kiln_fail(r->c.cx->err, KILN_ERR_UNSUPPORTED,
                     "%s: '%s' is as long as data has it, %s; export the model up to "
                     "there",
                     args_of(r)->row->name, r->counted.value->name, why);
}

static const kiln_ruled_format format = {
    .make = make, .result = result, .refuse = refuse};

/* ---- rules: what calls say in arguments of their own -------------------------------- */

static kiln_status need_axis(kiln_ruled *r, int rank, int *axis) {
    *axis = kiln_aten_axis(args_of(r), "dim", rank);
    return args_of(r)->c.status;
}

/* x[:, mask]: of what counts. */
static kiln_status pick_masked(kiln_ruled *r, int axis) {
    kiln_value *const x = r->in[0], *mask = r->in[1];
    if (x->count == NULL || x->count != mask->count || x->bounded_axis != axis)
        return refuse(r, "and a mask of another length picks of it");
    kiln_ruled_fill(r, 1, 0);
    mask = r->given[1];
    kiln_value *const y = kiln_compose_uncounted(&r->c, x);
    KILN_TRY(r->c.status);
    return kiln_aten_give_masked(args_of(r), y, mask, axis);
}

/* x[:, at], as index_select(x, 1, at) or index(x, [None, at]) */
static kiln_status pick(kiln_ruled *r) {
    kiln_aten_args *const k = args_of(r);
    const bool is_list = kiln_aten_find_name(k, "indices") >= 0;
    const kiln_aten_value *const at = kiln_aten_get(k, is_list ? "indices" : "index");
    int axis = 0;
    if (kiln_aten_get(k, "self")->kind != KILN_ATEN_TENSOR || r->n_in != 2 ||
        (is_list && at->kind != KILN_ATEN_LIST) || r->in[1]->type.rank != 1)
        return refuse(r, "and is not picked of by one list of places");
    if (!is_list)
        KILN_TRY(need_axis(r, r->in[0]->type.rank, &axis));
    while (is_list && at->list[axis].kind != KILN_ATEN_TENSOR)
        axis++;
    return r->in[1]->type.dtype == KILN_BOOL ? pick_masked(r, axis)
                                             : kiln_ruled_pick(r, axis, true);
}

/* The first elements, or parts of another axis. */
static kiln_status slice(kiln_ruled *r) {
    kiln_aten_args *const k = args_of(r);
    const kiln_counted *const c = &r->counted;
    int axis;
    KILN_TRY(need_axis(r, c->value->type.rank, &axis));
    if (axis != c->axis)
        return kiln_ruled_keep(r, c->axis);
    const int64_t start = kiln_aten_is_none(k, "start") ? 0 : kiln_aten_int(k, "start");
    const int64_t dim = c->value->type.dim[axis];
    const int64_t end = kiln_aten_is_none(k, "end") ? dim : kiln_aten_int(k, "end");
    const bool is_first = start == 0 && end >= 0 && kiln_aten_int(k, "step") == 1;
    KILN_TRY(k->c.status);
    return kiln_ruled_slice(r, &(kiln_counted_cut){axis, end, is_first});
}

static kiln_status select(kiln_ruled *r) {
    int axis;
    KILN_TRY(need_axis(r, r->counted.value->type.rank, &axis));
    return kiln_ruled_drop_axes(r, &(int64_t){axis}, 1,
                                "and one of its elements may not be there");
}

static kiln_status unsqueeze(kiln_ruled *r) {
    int at;
    KILN_TRY(need_axis(r, r->counted.value->type.rank + 1, &at));
    return kiln_ruled_add_axis(r, at);
}

static kiln_status stack(kiln_ruled *r) {
    int at;
    KILN_TRY(need_axis(r, r->counted.value->type.rank + 1, &at));
    return kiln_ruled_stack(r, at);
}

/* A number that nobody knows before data is there. */
static kiln_aten_value unknown(void) {
    return (kiln_aten_value){.kind = KILN_ATEN_OTHER};
}

/* What the file asserts of a length is not checked; who computes with it is refused. */
static kiln_status size(kiln_ruled *r) {
    kiln_aten_args *const k = args_of(r);
    const bool is_all = kiln_aten_is_none(k, "dim");
    int axis = 0;
    if (!is_all)
        KILN_TRY(need_axis(r, r->counted.value->type.rank, &axis));
    KILN_TRY(kiln_ruled_make(r));
    if (!is_all && axis == r->counted.axis)
        k->out[0] = unknown();
    if (!is_all || k->out[0].kind != KILN_ATEN_LIST)
        return KILN_OK;
    kiln_aten_value *const v =
        kiln_array(&k->c.cx->scratch, kiln_aten_value, k->out[0].n + 1);
    for (size_t i = 0; i < k->out[0].n; i++)
        v[i] = (int)i == r->counted.axis ? unknown() : k->out[0].list[i];
    k->out[0].list = v;
    return KILN_OK;
}

static kiln_status numel(kiln_ruled *r) {
    KILN_TRY(kiln_ruled_make(r));
    args_of(r)->out[0] = unknown();
    return KILN_OK;
}

static const struct {
    kiln_aten_maker *make;
    kiln_rule *rule;
} rules[] = {
#define KILN_ATEN_COUNTED(maker, rule) {kiln_aten_make_##maker, rule},
#include "compiler/frontend/pytorch/aten/aten_counted.def"
#undef KILN_ATEN_COUNTED
};

kiln_status kiln_aten_make_counted(kiln_aten_args *k) {
    call of = {.k = k};
    kiln_ruled r = {.format = &format,
                    .call = &of,
                    .c = k->c,
                    .n_in = find_tensors(k, NULL),
                    .row_op = k->row->op};
    of.at = kiln_array(&k->c.cx->scratch, kiln_value **, r.n_in);
    r.given = kiln_array(&k->c.cx->scratch, kiln_value *, r.n_in);
    (void)find_tensors(k, of.at);
    for (int i = 0; i < r.n_in; i++)
        r.given[i] = *of.at[i];
    (void)kiln_ruled_begin(&r);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].make == k->row->make)
            return rules[i].rule(&r);
    return refuse(&r, "and this operator has no rule for that");
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
