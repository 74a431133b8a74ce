/* Functions of each element, products, softmaxes. Source: CNTKLibrary.h of CNTK 2.7 and
 * the nodes that it names. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_cntk_import_##name(kiln_cntk_cx *cx, const kiln_cntk_function *f, \
                                        const kiln_cntk_value *in,                     \
                                        kiln_cntk_value *out)

/* What does nothing when a model is used: Dropout, StopGradient, NoOp. */
IMPORTER(same) {
    (void)cx;
    (void)f;
    *out = in[0];
    return KILN_OK;
}

IMPORTER(unary) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    out->v = kiln_compose_1(&c, cx->row->emits, in[0].v);
    return c.status;
}

/* Two values that meet axis by axis, from the fastest on. */
static void meet(kiln_compose *c, const kiln_cntk_value *x, const kiln_cntk_value *y,
                 kiln_value *out[2]) {
    const int rank =
        kiln_cntk_rank(x) > kiln_cntk_rank(y) ? kiln_cntk_rank(x) : kiln_cntk_rank(y);
    out[0] = kiln_cntk_widen(c, x, rank);
    out[1] = kiln_cntk_widen(c, y, rank);
}

IMPORTER(binary) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_value *v[2];
    meet(&c, &in[0], &in[1], v);
    out->v = kiln_compose_2(&c, cx->row->emits, v[0], v[1]);
    return c.status;
}

/* Comparisons give 0 and 1 of the inputs' type. */
IMPORTER(compare) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_value *v[2];
    meet(&c, &in[0], &in[1], v);
    kiln_value *const y = kiln_compose_2(&c, cx->row->emits, v[0], v[1]);
    out->v = kiln_compose_cast(&c, y, in[0].v->type.dtype);
    return c.status;
}

IMPORTER(not_equal) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_value *v[2];
    meet(&c, &in[0], &in[1], v);
    kiln_value *y = kiln_compose_2(&c, &kiln_op_equal, v[0], v[1]);
    y = kiln_compose_1(&c, &kiln_op_logical_not, y);
    out->v = kiln_compose_cast(&c, y, in[0].v->type.dtype);
    return c.status;
}

/* log(exp(x) + exp(y)), from the larger one on. */
IMPORTER(log_plus) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_value *v[2];
    meet(&c, &in[0], &in[1], v);
    kiln_value *const larger = kiln_compose_2(&c, &kiln_op_max, v[0], v[1]);
    kiln_value *y = kiln_compose_2(&c, &kiln_op_sub, v[0], v[1]);
    y = kiln_compose_1(&c, &kiln_op_abs, y);
    y = kiln_compose_1(&c, &kiln_op_neg, y);
    y = kiln_compose_1(&c, &kiln_op_softplus, y);
    out->v = kiln_compose_2(&c, &kiln_op_add, larger, y);
    return c.status;
}

IMPORTER(clip) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_value *v[2];
    meet(&c, &in[0], &in[1], v);
    const kiln_cntk_value y = {kiln_compose_2(&c, &kiln_op_max, v[0], v[1]),
                               in[0].has_batch || in[1].has_batch};
    meet(&c, &y, &in[2], v);
    out->v = kiln_compose_2(&c, &kiln_op_min, v[0], v[1]);
    return c.status;
}

/* What is not 0 is true. */
IMPORTER(select) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    int rank = 0;
    for (int i = 0; i < 3; i++)
        rank = kiln_cntk_rank(&in[i]) > rank ? kiln_cntk_rank(&in[i]) : rank;
    kiln_value *v[3];
    for (int i = 0; i < 3; i++)
        v[i] = kiln_cntk_widen(&c, &in[i], rank);
    out->v = kiln_compose_where(&c, kiln_compose_cast(&c, v[0], KILN_BOOL), v[1], v[2]);
    return c.status;
}

IMPORTER(elu) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_attr_arg alpha =
        kiln_arg_float("alpha", kiln_cntk_float(cx, f, "alpha", 1));
    out->v = kiln_compose_op(&c, &kiln_op_elu, &in[0].v, 1, &alpha, 1);
    return c.status;
}

IMPORTER(cast) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const int64_t type = kiln_cntk_int(cx, f, "newDataType", 0);
    kiln_dtype dtype;
    if (!kiln_cntk_dtype(type, &dtype))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "attribute 'newDataType' must be a float type, is %" PRId64,
                         type);
    out->v = kiln_compose_cast(&c, in[0].v, dtype);
    return c.status;
}

/* ---- softmaxes ------------------------------------------------------------------- */

/* Over all that a sample has, as one list, unless an axis is given. */
IMPORTER(softmax) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const kiln_cntk_item *const given = kiln_cntk_get(f->attrs, "axis");
    const int rank = kiln_cntk_rank(&in[0]);
    const int64_t *const dim = kiln_cntk_dim(&in[0]);
    int axis = 0;
    if (given != NULL) {
        KILN_TRY(kiln_cntk_axis_of(cx, given, &in[0], rank, &axis));
        out->v = kiln_compose_axis(&c, cx->row->emits, in[0].v, NULL,
                                   in[0].has_batch + axis);
        return c.status;
    }
    int64_t size = 1;
    for (int i = 0; i < rank; i++)
        size *= dim[i];
    kiln_cntk_value y = {kiln_cntk_reshape(&c, &in[0], 1, &size), in[0].has_batch};
    y.v = kiln_compose_axis(&c, cx->row->emits, y.v, NULL, y.has_batch);
    out->v = kiln_cntk_reshape(&c, &y, rank, dim);
    return c.status;
}

/* ---- products -------------------------------------------------------------------- */

/* x [batch, rows..., depth...] by w [batch, depth..., columns...], of which the last
 * n_columns axes are columns: every row by every column. */
static kiln_status product(kiln_cntk_cx *cx, kiln_compose *c, const kiln_cntk_value *w,
                           const kiln_cntk_value *x, int n_columns,
                           kiln_cntk_value *out) {
    const int n_depth = kiln_cntk_rank(w) - n_columns,
              n_rows = kiln_cntk_rank(x) - n_depth;
    const int64_t *const wd = kiln_cntk_dim(w), *const xd = kiln_cntk_dim(x);
    int64_t depth = 1, rows = 1, columns = 1, dim[2 * KILN_MAX_RANK];
    int n = 0;
    bool fits = n_depth >= 0 && n_columns >= 0 && n_rows >= 0;
    for (int i = 0; fits && i < n_depth; i++) {
        fits = wd[i] == xd[n_rows + i];
        depth *= wd[i];
    }
    if (!fits || n_rows + n_columns > KILN_MAX_RANK - 1)
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "a left operand of shape %s with %d axes of output cannot be "
            "multiplied with one of %s (shapes with the slowest axis first)",
            kiln_cntk_shape_text(cx, w), n_columns, kiln_cntk_shape_text(cx, x));
    for (int i = 0; i < n_rows; i++)
        rows *= dim[n++] = xd[i];
    for (int i = 0; i < n_columns; i++)
        columns *= dim[n++] = wd[n_depth + i];
    const int64_t of_w[] = {depth, columns}, of_x[] = {rows, depth};
    kiln_value *const b = kiln_cntk_reshape(c, w, 2, of_w);
    kiln_cntk_value y = {NULL, x->has_batch || w->has_batch};
    if (w->has_batch || !x->has_batch) {
        y.v = kiln_compose_2(c, &kiln_op_matmul, kiln_cntk_reshape(c, x, 2, of_x), b);
    } else { /* one matrix for all samples: they are rows, too */
        const int64_t batch = x->v->type.dim[0], flat[] = {batch * rows, depth};
        const int64_t apart[] = {batch, rows, columns};
        y.v = kiln_compose_2(c, &kiln_op_matmul, kiln_compose_reshape(c, x->v, 2, flat),
                             b);
        y.v = kiln_compose_reshape(c, y.v, 3, apart);
    }
    *out = (kiln_cntk_value){kiln_cntk_reshape(c, &y, n, dim), y.has_batch};
    return c->status;
}

/* In the file's order the left operand has its outputs first: a Graph's last axes. */
IMPORTER(times) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    const int64_t n = kiln_cntk_int(cx, f, "outputRank", 1);
    if (n < 0 || n > KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "attribute 'outputRank' must be in [0, %d], is %" PRId64,
                         KILN_MAX_RANK, n);
    return product(cx, &c, &in[0], &in[1], (int)n, out);
}

/* The left operand has one axis of depth, or one and one of outputs. */
IMPORTER(transpose_times) {
    kiln_compose c = kiln_cntk_compose(cx, f);
    kiln_cntk_value w = in[0];
    const int rank = kiln_cntk_rank(&w);
    if (rank < 1 || rank > 2)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its left operand must have 1 or 2 axes, has shape %s",
                         kiln_cntk_shape_text(cx, &w));
    if (rank == 1) {
        const int64_t dim[] = {kiln_cntk_dim(&w)[0], 1};
        w.v = kiln_cntk_reshape(&c, &w, 2, dim);
    } else {
        static const int64_t perm[] = {1, 0}, behind[] = {0, 2, 1};
        w.v = kiln_compose_transpose(&c, w.v, w.has_batch ? behind : perm);
    }
    KILN_TRY(c.status);
    return product(cx, &c, &w, &in[1], 1, out);
}
