/* Layers that sum or search along axes: InnerProduct, Embed, ArgMax, Reduction. Source:
 * BVLC Caffe 1.0, the layers of these names. */
#include "compiler/frontend/caffe/caffe_internal.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_caffe_import_##name(kiln_caffe_cx *cx, const kiln_caffe_layer *l, \
                                         kiln_value *const *in, kiln_value **out)

static int64_t product(const int64_t *dim, int first, int end) {
    int64_t n = 1;
    for (int i = first; i < end; i++)
        n *= dim[i];
    return n;
}

static kiln_status check_outputs(kiln_caffe_cx *cx, int64_t n) {
    if (n >= 1 && n <= KILN_MAX_ELEMS)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                     "'num_output' must be 1 or more, is %" PRId64, n);
}

/* Axes from 'axis' on are one, of k elements; weights are [n, k], or [k, n]. */
IMPORTER(inner_product) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    const kiln_type t = in[0]->type;
    int axis;
    kiln_value *from[3] = {NULL};
    KILN_TRY(kiln_caffe_axis(cx, "axis", p->has_axis ? p->axis : 1, t.rank, &axis));
    KILN_TRY(check_outputs(cx, p->num_output));
    const int64_t k = product(t.dim, axis, t.rank), n = p->num_output;
    const int64_t flat[] = {product(t.dim, 0, axis), k};
    const int64_t dim[] = {p->transpose ? k : n, p->transpose ? n : k};
    int64_t made[KILN_MAX_RANK];
    KILN_TRY(kiln_caffe_weight(cx, l, 0, "weights", 2, dim, &from[1]));
    if (!p->has_bias_term || p->bias_term)
        KILN_TRY(kiln_caffe_weight(cx, l, 1, "bias", 1, &n, &from[2]));
    from[0] = kiln_compose_reshape(&c, in[0], 2, flat);
    const kiln_attr_arg trans = kiln_arg_bool("trans_b", !p->transpose);
    out[0] = kiln_compose_op(&c, &kiln_op_gemm, from, 3, &trans, 1);
    for (int i = 0; i < axis; i++)
        made[i] = t.dim[i];
    made[axis] = n;
    out[0] = kiln_compose_reshape(&c, out[0], axis + 1, made);
    return c.status;
}

/* Rows of the weights, by numbers that are whole. */
IMPORTER(embed) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    kiln_value *weights, *bias;
    KILN_TRY(check_outputs(cx, p->num_output));
    const int64_t n = p->num_output;
    const int64_t dim[] = {p->input_dim, n};
    if (p->input_dim < 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'input_dim' must be 1 or more, is %" PRId64, p->input_dim);
    KILN_TRY(kiln_caffe_weight(cx, l, 0, "weights", 2, dim, &weights));
    kiln_value *const at = kiln_compose_cast(&c, in[0], KILN_I64);
    out[0] = kiln_compose_axis(&c, &kiln_op_gather, weights, at, 0);
    if (p->has_bias_term && !p->bias_term)
        return c.status;
    KILN_TRY(kiln_caffe_weight(cx, l, 1, "bias", 1, &n, &bias));
    out[0] = kiln_compose_2(&c, &kiln_op_add, out[0], bias);
    return c.status;
}

/* The k largest along an axis and where they are, both as floats. Caffe sorts pairs, so
 * of equal values the last comes first: the axis is searched from behind. */
static void largest(kiln_compose *c, kiln_value *x, int axis, int64_t k,
                    kiln_value **value, kiln_value **where) {
    kiln_value *y[2] = {x, x};
    const int64_t n = x->type.dim[axis];
    x = kiln_compose_slice(c, x, axis, n - 1, -1, n);
    const kiln_attr_arg args[] = {kiln_arg_int("k", k), kiln_arg_int("axis", axis)};
    if (c->status == KILN_OK)
        kiln_compose_fail(
            c, kiln_import_emit(c->cx, c->site, &kiln_op_topk, &x, 1, args, 2, 2, y));
    *value = y[0];
    *where = kiln_compose_cast(c, y[1], KILN_F32);
    *where = kiln_compose_2(c, &kiln_op_sub,
                            kiln_import_scalar(c->cx, KILN_F32, (double)n - 1), *where);
}

IMPORTER(argmax) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    const kiln_type t = in[0]->type;
    const int64_t k = p->has_top_k ? p->top_k : 1;
    int axis = 1;
    kiln_value *x = in[0], *value, *where;
    KILN_TRY(kiln_caffe_need_rank(cx, x, 1));
    if (p->has_axis) {
        KILN_TRY(kiln_caffe_axis(cx, "axis", p->axis, t.rank, &axis));
    } else {
        const int64_t flat[] = {t.dim[0], product(t.dim, 1, t.rank)};
        x = kiln_compose_reshape(&c, x, 2, flat);
    }
    KILN_TRY(c.status);
    if (k < 1 || k > x->type.dim[axis])
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'top_k' must be in [1, %" PRId64 "], is %" PRId64,
                         x->type.dim[axis], k);
    largest(&c, x, axis, k, &value, &where);
    KILN_TRY(c.status);
    if (p->has_axis) {
        out[0] = p->out_max_val ? value : where;
        return c.status;
    }
    const int64_t row[] = {t.dim[0], 1, k};
    out[0] = kiln_compose_reshape(&c, where, 3, row);
    if (p->out_max_val)
        out[0] = kiln_compose_axis(&c, &kiln_op_concat, out[0],
                                   kiln_compose_reshape(&c, value, 3, row), 1);
    return c.status;
}

/* All axes from 'axis' on become one number. */
IMPORTER(reduction) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    int axis;
    KILN_TRY(kiln_caffe_axis(cx, "axis", p->axis, in[0]->type.rank, &axis));
    for (int i = axis; i < in[0]->type.rank; i++)
        axes[n++] = i;
    const kiln_op_def *const op =
        !p->has_operation                  ? &kiln_op_reduce_sum
        : p->operation == KILN_CAFFE_ASUM  ? &kiln_op_reduce_l1
        : p->operation == KILN_CAFFE_SUMSQ ? &kiln_op_reduce_sum_square
        : p->operation == KILN_CAFFE_MEAN  ? &kiln_op_reduce_mean
                                           : &kiln_op_reduce_sum;
    out[0] = kiln_compose_reduce(&c, op, in[0], axes, n, false);
    if (p->n_coeff > 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "'coeff' must be one number");
    if (p->n_coeff == 1 && p->coeff[0] != 1.0f)
        out[0] = kiln_compose_scalar(&c, &kiln_op_mul, out[0], (double)p->coeff[0]);
    return c.status;
}
