/* Importers of matrix products: FULLY_CONNECTED and BATCH_MATMUL. Source: TensorFlow
 * Lite, reference kernels. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

kiln_status kiln_tflite_flatten_rows(kiln_tflite_cx *cx, kiln_compose *c,
                                     const kiln_value *w, kiln_value **x, int64_t *dim,
                                     int *rank) {
    const kiln_type t = (*x)->type;
    if (w->type.rank != 2 || w->type.dim[1] < 1 ||
        kiln_type_elems(&t) % w->type.dim[1] != 0)
        return kiln_tflite_fail(
            cx, KILN_ERR_SHAPE,
            "the weights must have shape [out, in] with as many in "
            "as divide the input, have %s for %s",
            kiln_shape_text(&cx->common.scratch, w->type.rank, w->type.dim),
            kiln_shape_text(&cx->common.scratch, t.rank, t.dim));
    const int64_t rows[] = {kiln_type_elems(&t) / w->type.dim[1], w->type.dim[1]};
    *rank = cx->opt.keep_num_dims && t.rank > 0 ? t.rank : 2;
    memcpy(dim, t.dim, sizeof t.dim);
    if (*rank == 2)
        dim[0] = rows[0];
    dim[*rank - 1] = w->type.dim[0];
    *x = kiln_compose_reshape(c, *x, 2, rows);
    return c->status;
}

kiln_status kiln_tflite_import_fully_connected(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *w, *bias = kiln_tflite_in(cx, 2);
    int64_t dim[KILN_MAX_RANK];
    int rank;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "weights", &w));
    if (cx->opt.weights_format != 0)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "weights of format %" PRId64 " are not read",
                                cx->opt.weights_format);
    w = kiln_tflite_real(cx, &c, 1);
    KILN_TRY(c.status);
    KILN_TRY(kiln_tflite_flatten_rows(cx, &c, w, &x, dim, &rank));
    kiln_value *const in[] = {x, w, bias};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    kiln_value *y = kiln_compose_op(&c, &kiln_op_gemm, in, 3, &arg, 1);
    y = kiln_tflite_activate(&c, y, cx->opt.activation);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, y, rank, dim));
}

/* The last two axes swapped. */
static kiln_value *adjoint(kiln_compose *c, kiln_value *x) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    if (rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return kiln_compose_transpose(c, x, perm);
}

kiln_status kiln_tflite_import_batch_matmul(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(kiln_tflite_need(cx, 0, "x", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "y", &y));
    if (cx->opt.adj_x)
        x = adjoint(&c, x);
    if (cx->opt.adj_y)
        y = adjoint(&c, y);
    return kiln_tflite_end(cx, &c, kiln_compose_2(&c, &kiln_op_matmul, x, y));
}
