/* Importers of NegativeLogLikelihoodLoss (12, 13, 22) and SoftmaxCrossEntropyLoss (12,
 * 13), composed of canonical operators.
 *
 * loss[n, d] = -weight[target[n, d]] * x[n, target[n, d], d], 0 where target is
 * ignore_index; the mean divides by the sum of the weights that count. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

typedef struct loss {
    kiln_value *x, *target, *weight; /* [N, C, d...], [N, d...], [C] or NULL */
    kiln_value *is_ignored;          /* of target's shape, or NULL */
} loss;

static kiln_status check_shapes(kiln_onnx_cx *cx, const loss *l) {
    const kiln_type *x = &l->x->type, *t = &l->target->type;
    bool fits = x->rank >= 2 && t->rank == x->rank - 1 && t->dim[0] == x->dim[0];
    for (int i = 1; fits && i < t->rank; i++)
        fits = t->dim[i] == x->dim[i + 1];
    if (!fits)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "the labels must have the shape [N, ...] of scores [N, C, ...], scores "
            "have rank %d and labels have rank %d",
            x->rank, t->rank);
    if (l->weight != NULL &&
        (l->weight->type.rank != 1 || l->weight->type.dim[0] != x->dim[1]))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the weights must be a list of one for each of the "
                              "%" PRId64 " classes",
                              x->dim[1]);
    return KILN_OK;
}

/* What each label costs, of target's shape; *weight: what it counts for, or NULL where
 * all count alike. */
static kiln_value *cost_each(kiln_compose *c, const loss *l, kiln_value **weight) {
    const kiln_type t = l->target->type;
    const kiln_dtype dtype = l->x->type.dtype;
    kiln_value *const zero = kiln_import_scalar(c->cx, dtype, 0);
    kiln_value *label = l->target;
    /* An ignored label may name no class at all. */
    if (l->is_ignored != NULL)
        label = kiln_compose_where(c, l->is_ignored,
                                   kiln_import_scalar(c->cx, t.dtype, 0), label);
    int64_t wide[KILN_MAX_RANK] = {t.dim[0], 1};
    for (int i = 1; i < t.rank; i++)
        wide[i + 1] = t.dim[i];
    kiln_value *y = kiln_compose_reshape(c, label, t.rank + 1, wide);
    y = kiln_compose_axis(c, &kiln_op_gather_elements, l->x, y, 1);
    y = kiln_compose_reshape(c, y, t.rank, t.dim);
    y = kiln_compose_1(c, &kiln_op_neg, y);
    *weight = NULL;
    if (l->weight != NULL) {
        *weight = kiln_compose_axis(c, &kiln_op_gather, l->weight, label, 0);
        y = kiln_compose_2(c, &kiln_op_mul, y, *weight);
    }
    if (l->is_ignored != NULL) {
        kiln_value *const one = kiln_import_scalar(c->cx, dtype, 1);
        *weight =
            kiln_compose_where(c, l->is_ignored, zero, *weight != NULL ? *weight : one);
        y = kiln_compose_where(c, l->is_ignored, zero, y);
    }
    return y;
}

static kiln_status emit_loss(kiln_onnx_cx *cx, const kiln_onnx_node *n, loss *l) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const kiln_str reduction = kiln_onnx_attr_s(cx, n, "reduction", "mean");
    const bool is_mean = kiln_str_is(reduction, "mean");
    if (!is_mean && !kiln_str_is(reduction, "sum") && !kiln_str_is(reduction, "none"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "reduction must be none, sum or mean, is '%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), reduction, 32));
    KILN_TRY(check_shapes(cx, l));
    if (kiln_onnx_has_attr(n, "ignore_index")) {
        const int64_t ignore = kiln_onnx_attr_i(cx, n, "ignore_index", 0);
        kiln_value *const wide = kiln_compose_cast(&c, l->target, KILN_I64);
        kiln_value *const which =
            kiln_graph_const_i64(kiln_onnx_target(cx), "ignore_index", ignore);
        l->is_ignored = kiln_compose_2(&c, &kiln_op_equal, wide, which);
    }
    kiln_value *weight, *y = cost_each(&c, l, &weight);
    if (is_mean && weight == NULL) {
        y = kiln_compose_reduce(&c, &kiln_op_reduce_mean, y, NULL, 0, false);
    } else if (!kiln_str_is(reduction, "none")) {
        y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, NULL, 0, false);
        if (is_mean) {
            weight =
                kiln_compose_reduce(&c, &kiln_op_reduce_sum, weight, NULL, 0, false);
            y = kiln_compose_2(&c, &kiln_op_div, y, weight);
        }
    }
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

kiln_status kiln_onnx_import_nll_loss(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    loss l = {.weight = kiln_onnx_in(cx, n, 2)};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &l.x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "target", &l.target));
    return emit_loss(cx, n, &l);
}

kiln_status kiln_onnx_import_softmax_cross_entropy(kiln_onnx_cx *cx,
                                                   const kiln_onnx_node *n) {
    loss l = {.weight = kiln_onnx_in(cx, n, 2)};
    kiln_value *scores;
    const kiln_attr_arg axis = kiln_arg_int("axis", 1);
    KILN_TRY(kiln_onnx_need(cx, n, 0, "scores", &scores));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "labels", &l.target));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_log_softmax, scores, &axis, 1, &l.x));
    kiln_onnx_set(cx, n, 1, l.x);
    return emit_loss(cx, n, &l);
}
